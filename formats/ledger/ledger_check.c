/*
 * ledger_check.c - computes each figure again from the live set and compares it. No sum that events kept is used.
 */
#include "ledger_impl.h"

#include <stdlib.h>

struct sums {
	uint64_t held[MT_LEDGER_DEVICES], tensors[MT_LEDGER_DEVICES], holding[MT_LEDGER_DEVICES];
	uint64_t slack[MT_LEDGER_DEVICES], counted[MT_LEDGER_DEVICES];
	uint64_t pinned;
	size_t count, loose;
};

static uint64_t pieces_of_region(const struct region *region, int *good)
{
	const struct piece *piece;
	uint64_t bytes = 0;

	for (piece = region->pieces; piece; piece = piece->region_next) {
		*good &= piece->region == region;
		bytes += piece->bytes;
	}
	return bytes;
}

static int is_found(const struct mt_ledger *ledger, const struct region *region)
{
	return rangemap_first(&ledger->regions, region->addr, region->end) == region &&
	       rangemap_first(&ledger->regions, region->end - 1, region->end) == region;
}

/* 1: the chain of the memory's context contains this memory and begins with the newest. */
static int is_with_context(const struct mt_ledger *ledger, const struct memory *memory)
{
	const struct memory *prev = memory->context_prev, *next = memory->context_next;

	if (memory->live.kind != MT_DRIVER_ALLOC || !memory->live.handle)
		return !prev && !next;
	if (next && (next->context_prev != memory || next->live.handle != memory->live.handle))
		return 0;
	return prev ? prev->context_next == memory : addrmap_find(&ledger->contexts, memory->live.handle) == memory;
}

static int check_memory(const struct mt_ledger *ledger, const struct memory *memory, struct sums *sums)
{
	uint64_t used = 0, mappings = 0, capacity = ledger_memory_capacity(memory);
	uint32_t device = memory->live.device;
	const struct region *region;
	int good = is_with_context(ledger, memory);

	for (region = memory->regions; region; region = region->next) {
		good &= region->memory == memory && is_found(ledger, region);
		used += pieces_of_region(region, &good);
		mappings++;
		sums->count += region->live.kind != 0;
	}
	sums->count++;
	if (!ledger_memory_holds(memory))
		capacity = 0;
	if (!ledger_memory_on_device(memory)) {
		sums->pinned += capacity;
	} else {
		sums->held[device] += capacity;
		sums->slack[device] += memory->live.tensors_seen ? capacity - used : 0;
	}
	return good && used == memory->used && used <= capacity && mappings == memory->mappings;
}

static int check_tensor(const struct tensor *tensor, const struct ledger_device *figures, struct sums *sums)
{
	uint32_t device = tensor->live.device;
	const struct piece *piece;
	uint64_t inside = 0;
	int good = 1;

	for (piece = tensor->pieces; piece; piece = piece->tensor_next) {
		good &= piece->tensor == tensor;
		inside += piece->bytes;
	}
	sums->count++;
	sums->tensors[device] += tensor->live.size;
	sums->holding[device] += tensor->own + inside;
	sums->held[device] += tensor->own;
	sums->loose += tensor->is_loose;
	if (!(tensor->live.flags & MT_FLAG_NO_TOTAL))
		sums->counted[device] += tensor->live.size;
	return good && inside == tensor->inside && tensor->own + inside <= tensor->live.size &&
	       tensor->live.resident == (tensor->own + inside == tensor->live.size) &&
	       tensor->is_loose == (figures->indexed && inside < tensor->live.size);
}

static void count_range(void *context, struct range *range)
{
	(void)range;
	++*(size_t *)context;
}

static int check_device(const struct mt_ledger *ledger, uint32_t i, struct sums *sums)
{
	const struct ledger_device *figures = &ledger->device[i];
	const struct tensor *tensor;
	size_t cursor = 0, loose = 0;
	int good = 1;

	sums->loose = 0;
	while ((tensor = addrmap_next(&figures->map, &cursor)))
		good &= tensor->live.device == i && check_tensor(tensor, figures, sums);
	rangetree_each(&figures->loose, 0, UINT64_MAX, count_range, &loose);
	return good && loose == sums->loose && figures->held == sums->held[i] && figures->moved == figures->held &&
	       figures->tensors == sums->tensors[i] && figures->holding == sums->holding[i] &&
	       figures->slack == sums->slack[i] && figures->counted == sums->counted[i];
}

static int check(const struct mt_ledger *ledger, struct sums *sums)
{
	const struct memory *memory;
	const struct region *region;
	size_t listed = 0;
	int good = 1;
	uint32_t i;

	for (memory = ledger->memories; memory; memory = memory->next) {
		good &= check_memory(ledger, memory, sums);
		listed += memory->mappings;
	}
	for (region = ledger->strays; region; region = region->next) {
		good &= !region->memory && !region->pieces && is_found(ledger, region);
		sums->count++;
		listed++;
	}
	for (i = 0; i < MT_LEDGER_DEVICES; i++)
		good &= check_device(ledger, i, sums);
	return good && ledger->regions.count == listed && sums->count == ledger->count &&
	       sums->pinned == ledger->pinned;
}

int mt_ledger_check(const struct mt_ledger *ledger)
{
	struct sums *sums = calloc(1, sizeof(*sums));
	int good = sums && check(ledger, sums);

	free(sums);
	return good;
}
