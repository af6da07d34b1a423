/* The caching allocator of a process: sizes and habits are PyTorch's, without expandable segments. */
#include <string.h>
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

/* Index in `tensor` of the first tensor at or behind `addr`. */
static uint32_t tensors_below(const struct process *process, uint64_t addr)
{
	uint32_t low = 0, high = process->tensors, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (process->tensor[middle]->addr < addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void add_tensor(struct process *process, struct thing *thing)
{
	uint32_t at = tensors_below(process, thing->addr);

	memmove(process->tensor + at + 1, process->tensor + at, (process->tensors - at) * sizeof(process->tensor[0]));
	process->tensor[at] = thing;
	process->tensors++;
}

void process_remove_tensor(struct process *process, const struct thing *thing)
{
	uint32_t at = tensors_below(process, thing->addr);

	process->tensors--;
	memmove(process->tensor + at, process->tensor + at + 1, (process->tensors - at) * sizeof(process->tensor[0]));
}

/* The tensor of that index if it is in the segment, else NULL. */
static const struct thing *tensor_in(const struct process *process, const struct segment *segment, uint32_t index)
{
	if (index == process->tensors || process->tensor[index]->addr >= segment->addr + segment->size)
		return NULL;
	return process->tensor[index];
}

/* The smallest hole of the segment that is large enough, if it is smaller than *best: its address; else 0. */
static uint64_t find_hole(const struct process *process, const struct segment *segment, uint64_t size, uint64_t *best)
{
	uint64_t addr = segment->addr, end, found = 0;
	uint32_t index = tensors_below(process, addr);
	const struct thing *next;

	do {
		next = tensor_in(process, segment, index++);
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
		if (!segment->size || tensor_in(process, segment, tensors_below(process, segment->addr)))
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
	add_tensor(process, thing);
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
