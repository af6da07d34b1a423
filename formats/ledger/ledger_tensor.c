#include "ledger_impl.h"

#include "memtrace/error.h"

/* The lowest region in [addr, end). */
static struct region *first_region(struct mt_ledger *ledger, uint64_t addr, uint64_t end)
{
	struct region **recent, *region;

	if (!ledger->regions.count)
		return NULL;
	recent = &ledger->recent[(addr >> LEDGER_RECENT_SHIFT) % LEDGER_RECENT];
	region = *recent;
	if (region && region->addr <= addr && addr < region->end)
		return region;
	if (addr >= end)
		return NULL;
	region = rangemap_first(&ledger->regions, addr, end);
	if (region && region->addr <= addr) {
		*recent = region;
		region->is_recent = 1;
	}
	return region;
}

static int takes(const struct region *region, uint32_t device)
{
	return region->memory && region->memory->live.device == device && ledger_memory_on_device(region->memory);
}

static uint64_t overlap(const struct region *region, const struct mt_live *live)
{
	uint64_t end = ledger_end(live->addr, live->size);
	uint64_t low = region->addr > live->addr ? region->addr : live->addr;
	uint64_t high = region->end < end ? region->end : end;

	return high > low ? high - low : 0;
}

/* The memory holds its first tensor: from now on its other bytes are the allocator's slack. */
static void mark_seen(struct mt_ledger *ledger, struct memory *memory)
{
	uint64_t residual = ledger_memory_capacity(memory) - memory->used;

	if (memory->live.tensors_seen)
		return;
	memory->live.tensors_seen = 1;
	ledger_move(ledger, memory->live.device, memory->live.tag, 0, -residual);
	ledger_move(ledger, memory->live.device, memory->live.tag, 1, residual);
}

static void piece_link(struct piece *piece, struct tensor *tensor, struct region *region)
{
	piece->region = region;
	piece->tensor = tensor;
	piece->region_prev = NULL;
	piece->region_next = region->pieces;
	if (region->pieces)
		region->pieces->region_prev = piece;
	region->pieces = piece;
	piece->tensor_prev = NULL;
	piece->tensor_next = tensor->pieces;
	if (tensor->pieces)
		tensor->pieces->tensor_prev = piece;
	tensor->pieces = piece;
}

static void piece_unlink(struct mt_ledger *ledger, struct piece *piece)
{
	if (piece->region_prev)
		piece->region_prev->region_next = piece->region_next;
	else
		piece->region->pieces = piece->region_next;
	if (piece->region_next)
		piece->region_next->region_prev = piece->region_prev;
	if (piece->tensor_prev)
		piece->tensor_prev->tensor_next = piece->tensor_next;
	else
		piece->tensor->pieces = piece->tensor_next;
	if (piece->tensor_next)
		piece->tensor_next->tensor_prev = piece->tensor_prev;
	piece->region = NULL;
	if (piece != &piece->tensor->first)
		pool_give(&ledger->piece_pool, piece);
}

/*
 * Puts the overlap of `tensor` and `region` into the region's memory, as far as it has bytes left. The tensor's own
 * bytes shrink by the overlap.
 */
static void enter(struct mt_ledger *ledger, struct tensor *tensor, struct region *region)
{
	struct memory *memory = region->memory;
	struct ledger_device *figures = &ledger->device[tensor->live.device];
	uint64_t inside = overlap(region, &tensor->live);
	uint64_t room = ledger_memory_capacity(memory) - memory->used;
	uint64_t taken = inside < room ? inside : room;
	uint64_t given = inside < tensor->own ? inside : tensor->own;
	struct piece *piece = tensor->first.region ? pool_take(&ledger->piece_pool) : &tensor->first;

	mark_seen(ledger, memory);
	piece_link(piece, tensor, region);
	piece->bytes = taken;
	memory->used += taken;
	ledger_move(ledger, memory->live.device, memory->live.tag, 1, -taken);
	ledger_move(ledger, tensor->live.device, tensor->live.tag, 0, taken - given);
	tensor->inside += taken;
	tensor->own -= given;
	figures->holding += taken - given;
	figures->held -= given;
}

static void leave(struct mt_ledger *ledger, struct piece *piece)
{
	struct tensor *tensor = piece->tensor;
	struct memory *memory = piece->region->memory;

	tensor->inside -= piece->bytes;
	ledger->device[tensor->live.device].holding -= piece->bytes;
	memory->used -= piece->bytes;
	ledger_move(ledger, tensor->live.device, tensor->live.tag, 0, -piece->bytes);
	ledger_move(ledger, memory->live.device, memory->live.tag, 1, piece->bytes);
	piece_unlink(ledger, piece);
}

static void tell(struct mt_ledger *ledger, struct tensor *tensor)
{
	if (tensor->told == tensor->own + tensor->inside)
		return;
	tensor->told = tensor->own + tensor->inside;
	if (ledger->reside)
		ledger->reside(ledger->watcher, &tensor->live, tensor->told);
}

/* Updates all that depends on `own` and `inside`. */
static void settle(struct mt_ledger *ledger, struct tensor *tensor)
{
	struct ledger_device *figures = &ledger->device[tensor->live.device];
	int is_loose = figures->indexed && tensor->inside < tensor->live.size;

	tensor->live.offset = tensor->live.size - tensor->own;
	tensor->live.resident = tensor->own + tensor->inside == tensor->live.size;
	tell(ledger, tensor);
	if (is_loose == tensor->is_loose)
		return;
	tensor->is_loose = is_loose;
	if (is_loose) {
		tensor->loose = (struct range){ .addr = tensor->live.addr,
						.end = ledger_end(tensor->live.addr, tensor->live.size) };
		rangetree_insert(&figures->loose, &tensor->loose);
	} else {
		rangetree_remove(&figures->loose, &tensor->loose);
	}
}

/* Takes the tensor out of everything but the map. */
static void bury(struct mt_ledger *ledger, struct tensor *tensor)
{
	struct ledger_device *figures = &ledger->device[tensor->live.device];

	ledger_died(ledger, &tensor->live);
	while (tensor->pieces)
		leave(ledger, tensor->pieces);
	if (tensor->is_loose)
		rangetree_remove(&figures->loose, &tensor->loose);
	ledger_move(ledger, tensor->live.device, tensor->live.tag, 0, -tensor->own);
	figures->held -= tensor->own;
	figures->holding -= tensor->own;
	figures->tensors -= tensor->live.size;
	if (!(tensor->live.flags & MT_FLAG_NO_TOTAL))
		figures->counted -= tensor->live.size;
	ledger->count--;
	pool_give(&ledger->tensor_pool, tensor);
}

/* How many pieces a tensor at [addr, end) needs. */
static size_t count_pieces(struct mt_ledger *ledger, uint32_t device, uint64_t addr, uint64_t end)
{
	struct region *region;
	size_t count = 0;

	while (addr < end && (region = first_region(ledger, addr, end))) {
		count += takes(region, device);
		addr = region->end;
	}
	return count;
}

static void hold_own(struct mt_ledger *ledger, struct tensor *tensor, uint64_t bytes)
{
	struct ledger_device *figures = &ledger->device[tensor->live.device];

	tensor->own += bytes;
	figures->held += bytes;
	figures->holding += bytes;
	ledger_move(ledger, tensor->live.device, tensor->live.tag, 0, bytes);
}

/*
 * Finds the regions of a new tensor. Bytes outside all regions are the tensor's own. A tensor from a checkpoint
 * (`restored`) has the number of its own bytes.
 */
static void place(struct mt_ledger *ledger, struct tensor *tensor, int restored)
{
	uint64_t addr = tensor->live.addr, end = ledger_end(addr, tensor->live.size);
	struct region *region;
	uint64_t missing;

	if (!restored)
		hold_own(ledger, tensor, tensor->live.size);
	while (addr < end && (region = first_region(ledger, addr, end))) {
		if (takes(region, tensor->live.device))
			enter(ledger, tensor, region);
		addr = region->end;
	}
	missing = tensor->live.offset > tensor->inside ? tensor->live.offset : tensor->inside;
	if (restored && missing < tensor->live.size)
		hold_own(ledger, tensor, tensor->live.size - missing);
	settle(ledger, tensor);
}

/* Makes room for one tensor and its pieces beyond the first, which is inside the tensor. */
static int reserve(struct mt_ledger *ledger, const struct mt_event *event, uint32_t device)
{
	uint64_t size = event->size < LEDGER_SIZE_MAX ? event->size : LEDGER_SIZE_MAX;
	size_t pieces = count_pieces(ledger, device, event->addr, ledger_end(event->addr, size));

	if (pool_reserve(&ledger->tensor_pool, 1) || addrmap_reserve(&ledger->device[device].map) ||
	    (pieces > 1 && pool_reserve(&ledger->piece_pool, pieces)))
		return -MT_E_MEMORY;
	return 0;
}

int ledger_tensor_alloc(struct mt_ledger *ledger, const struct birth *birth, uint32_t device, struct mt_live **born)
{
	struct ledger_device *figures = &ledger->device[device];
	struct tensor *tensor, *older;

	if (ledger_is_nowhere(birth->event->addr))
		return 0;
	if (reserve(ledger, birth->event, device))
		return -MT_E_MEMORY;
	tensor = pool_take(&ledger->tensor_pool);
	ledger_fill(&tensor->live, birth);
	tensor->own = tensor->inside = 0;
	tensor->told = birth->event->kind == MT_LIVE ? UINT64_MAX : tensor->live.size;
	tensor->pieces = NULL;
	tensor->first.region = NULL;
	tensor->is_loose = 0;
	older = addrmap_put(&figures->map, tensor->live.addr, tensor);
	if (older)
		bury(ledger, older);
	ledger->count++;
	figures->tensors += tensor->live.size;
	if (!(tensor->live.flags & MT_FLAG_NO_TOTAL))
		figures->counted += tensor->live.size;
	place(ledger, tensor, birth->event->kind == MT_LIVE);
	*born = &tensor->live;
	return 0;
}

int ledger_tensor_free(struct mt_ledger *ledger, uint32_t device, uint64_t addr)
{
	struct tensor *tensor = addrmap_remove(&ledger->device[device].map, addr);

	if (!tensor)
		return 1;
	bury(ledger, tensor);
	return 0;
}

void ledger_index_tensors(struct mt_ledger *ledger, uint32_t device)
{
	struct ledger_device *figures = &ledger->device[device];
	struct tensor *tensor;
	size_t cursor = 0;

	figures->indexed = 1;
	while ((tensor = addrmap_next(&figures->map, &cursor)))
		settle(ledger, tensor);
}

struct search {
	struct tensor *found, **tail;
	size_t count;
};

static void add_found(void *context, struct range *range)
{
	struct tensor *tensor = (struct tensor *)((char *)range - offsetof(struct tensor, loose));
	struct search *search = context;

	tensor->found = NULL;
	*search->tail = tensor;
	search->tail = &tensor->found;
	search->count++;
}

/* Collects the loose tensors by address. If memory is short, the lower address gets the bytes. */
static void find_loose(struct mt_ledger *ledger, uint32_t device, uint64_t addr, uint64_t end, struct search *search)
{
	*search = (struct search){ .tail = &search->found };
	rangetree_each(&ledger->device[device].loose, addr, end, add_found, search);
}

/* Makes room for the pieces of all tensors that ledger_attract will find. */
int ledger_reserve_pieces(struct mt_ledger *ledger, uint32_t device, uint64_t addr, uint64_t end)
{
	struct search search;

	if (!ledger->device[device].loose.root)
		return 0;
	find_loose(ledger, device, addr, end, &search);
	return pool_reserve(&ledger->piece_pool, search.count);
}

void ledger_attract(struct mt_ledger *ledger, struct region *region)
{
	struct search search;
	struct tensor *tensor;

	if (!region->memory || !ledger_memory_on_device(region->memory) ||
	    !ledger->device[region->memory->live.device].loose.root)
		return;
	find_loose(ledger, region->memory->live.device, region->addr, region->end, &search);
	for (tensor = search.found; tensor; tensor = tensor->found) {
		enter(ledger, tensor, region);
		settle(ledger, tensor);
	}
}

void ledger_expel(struct mt_ledger *ledger, struct region *region)
{
	struct tensor *tensor;

	while (region->pieces) {
		tensor = region->pieces->tensor;
		leave(ledger, region->pieces);
		settle(ledger, tensor);
	}
}
