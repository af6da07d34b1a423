/* The caching allocator of a process: sizes and habits are PyTorch's, without expandable segments. */
#include "world.h"

#define MIB (1ull << 20)
#define SMALL (1 * MIB)  /* up to here tensors come from the small pool */
#define LARGE (10 * MIB) /* from here on a tensor gets a segment of its own size */
#define SMALL_SEGMENT (2 * MIB)
#define LARGE_SEGMENT (20 * MIB)
#define ENTRY_ALLOC 243u
#define ENTRY_FREE 245u
#define ENTRY_GET_INFO 242u

static uint64_t round_up(uint64_t size, uint64_t unit)
{
	return (size + unit - 1) / unit * unit;
}

static uint64_t segment_size(uint64_t size)
{
	return size <= SMALL ? SMALL_SEGMENT : size < LARGE ? LARGE_SEGMENT : round_up(size, 2 * MIB);
}

static int is_small(uint64_t segment_bytes)
{
	return segment_bytes == SMALL_SEGMENT;
}

/* The tensor that begins first at or behind `addr` in the segment; NULL: none does. */
static const struct thing *next_tensor(const struct process *process, const struct segment *segment, uint64_t addr)
{
	const struct thing *thing, *next = NULL;
	uint32_t i;

	for (i = 0; i < process->things; i++) {
		thing = &process->thing[i];
		if (thing->kind == THING_TENSOR && thing->addr >= addr && thing->addr < segment->addr + segment->size &&
		    (!next || thing->addr < next->addr))
			next = thing;
	}
	return next;
}

/* The smallest hole of the segment that is large enough, if it is smaller than *best: its address; else 0. */
static uint64_t find_hole(const struct process *process, const struct segment *segment, uint64_t size, uint64_t *best)
{
	uint64_t addr = segment->addr, end, found = 0;
	const struct thing *next;

	do {
		next = next_tensor(process, segment, addr);
		end = next ? next->addr : segment->addr + segment->size;
		if (end - addr >= size && end - addr < *best) {
			*best = end - addr;
			found = addr;
		}
		addr = next ? next->addr + next->size : 0;
	} while (next);
	return found;
}

static uint64_t best_hole(const struct process *process, uint64_t size)
{
	uint64_t best = UINT64_MAX, found = 0, addr;
	uint32_t i;

	for (i = 0; i < process->segments; i++) {
		if (!process->segment[i].size || is_small(process->segment[i].size) != (size <= SMALL))
			continue;
		addr = find_hole(process, &process->segment[i], size, &best);
		found = addr ? addr : found;
	}
	return found;
}

static uint64_t new_segment(struct world *world, struct process *process, uint64_t size)
{
	struct segment *segment;
	uint32_t i = 0;

	if (!process_take(world, process, size, ENTRY_ALLOC))
		return 0;
	while (i < process->segments && process->segment[i].size)
		i++;
	if (i == WORLD_MANY)
		die("%s has too many segments", process->name);
	process->segments += i == process->segments;
	segment = &process->segment[i];
	segment->size = size;
	segment->addr = process_address(process, size);
	process->reserved += size;
	process_event(world, process,
		      (struct mt_event){ .kind = MT_DRIVER_ALLOC,
					 .device = process->device,
					 .stack = process->stack,
					 .addr = segment->addr,
					 .size = size,
					 .entry = ENTRY_ALLOC });
	return segment->addr;
}

void process_empty_cache(struct world *world, struct process *process)
{
	struct segment *segment;
	uint32_t i;

	for (i = 0; i < process->segments; i++) {
		segment = &process->segment[i];
		if (!segment->size || next_tensor(process, segment, segment->addr))
			continue;
		process_event(world, process,
			      (struct mt_event){ .kind = MT_DRIVER_FREE,
						 .stack = process->stack,
						 .addr = segment->addr,
						 .entry = ENTRY_FREE });
		process->reserved -= segment->size;
		process_give_back(process, segment->size);
		segment->size = 0;
	}
}

static void give_up(struct world *world, struct process *process, uint64_t size)
{
	process_event(world, process,
		      (struct mt_event){ .kind = MT_DRIVER_NOTE,
					 .stack = process->stack,
					 .device = process->device,
					 .value = process->gpu->total - process->gpu->used,
					 .entry = ENTRY_GET_INFO });
	process_event(world, process,
		      (struct mt_event){ .kind = MT_TENSOR_OOM,
					 .device = process->device,
					 .stack = process->stack,
					 .size = size,
					 .total = process->allocated,
					 .reserved = process->reserved });
}

void process_alloc(struct world *world, struct process *process, const char *name, uint64_t size, int fails)
{
	uint64_t rounded = round_up(size, 512), addr = best_hole(process, rounded);
	struct thing *thing;

	if (!addr)
		addr = new_segment(world, process, segment_size(rounded));
	if (!addr) {
		process_empty_cache(world, process);
		addr = new_segment(world, process, segment_size(rounded));
	}
	process_check(process, name, addr == 0, fails);
	if (!addr) {
		give_up(world, process, rounded);
		return;
	}
	thing = process_name(process, name, THING_TENSOR);
	thing->addr = addr;
	thing->size = rounded;
	process->allocated += rounded;
	process_event(world, process,
		      (struct mt_event){ .kind = MT_TENSOR_ALLOC,
					 .device = process->device,
					 .stack = process->stack,
					 .addr = addr,
					 .size = rounded,
					 .total = process->allocated,
					 .reserved = process->reserved });
}
