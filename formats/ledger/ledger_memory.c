#include "ledger_impl.h"

#include "memtrace/error.h"

static int is_host(const struct mt_live *live)
{
	return live->flags == MT_SPACE_PINNED || live->flags == MT_SPACE_HOST;
}

int ledger_memory_on_device(const struct memory *memory)
{
	return !is_host(&memory->live);
}

/*
 * Bytes that the memory can hold. Imported memory counts in its exporter; a multicast object has no bytes of its own.
 */
uint64_t ledger_memory_capacity(const struct memory *memory)
{
	if (memory->live.flags == MT_SPACE_IMPORTED || memory->live.flags == MT_SPACE_MULTICAST)
		return 0;
	return memory->live.size;
}

/*
 * 1: memory of another process, opened at an address. A further opening gives the same address, and the memory stays
 * until as many closings. `references` counts the openings.
 */
static int is_opened(const struct mt_live *live)
{
	return live->kind == MT_DRIVER_ALLOC && live->flags == MT_SPACE_IMPORTED;
}

int ledger_memory_holds(const struct memory *memory)
{
	return memory->references || memory->mappings;
}

/* Adds the memory's bytes to the figures (`begins` 1) or takes them off. The memory must have no tensor. */
static void account(struct mt_ledger *ledger, const struct memory *memory, int begins)
{
	uint64_t bytes = ledger_memory_capacity(memory);

	if (!begins)
		bytes = -bytes;
	if (is_host(&memory->live)) {
		ledger->pinned += bytes;
		return;
	}
	ledger->device[memory->live.device].held += bytes;
	ledger_move(ledger, memory->live.device, memory->live.tag, memory->live.tensors_seen, bytes);
}

static int goes_with_context(const struct memory *memory)
{
	return memory->live.kind == MT_DRIVER_ALLOC && memory->live.handle;
}

/* Needs room in `contexts`. */
static void enter_context(struct mt_ledger *ledger, struct memory *memory)
{
	if (!goes_with_context(memory))
		return;
	memory->context_next = addrmap_put(&ledger->contexts, memory->live.handle, memory);
	if (memory->context_next)
		memory->context_next->context_prev = memory;
}

static void leave_context(struct mt_ledger *ledger, struct memory *memory)
{
	struct memory *prev = memory->context_prev, *next = memory->context_next;

	if (!goes_with_context(memory))
		return;
	if (next)
		next->context_prev = prev;
	if (prev)
		prev->context_next = next;
	else if (next)
		addrmap_put(&ledger->contexts, memory->live.handle, next);
	else
		addrmap_remove(&ledger->contexts, memory->live.handle);
}

/* Sets the counts and updates the figures. Ends memory without references and mappings. */
static void recount(struct mt_ledger *ledger, struct memory *memory, uint64_t references, uint64_t mappings)
{
	int held = ledger_memory_holds(memory);

	memory->references = references;
	memory->mappings = mappings;
	if (memory->live.kind == MT_VMM_CREATE || is_opened(&memory->live))
		memory->live.offset = references;
	if (held != ledger_memory_holds(memory))
		account(ledger, memory, !held);
	if (ledger_memory_holds(memory))
		return;
	ledger_died(ledger, &memory->live);
	if (memory->named)
		addrmap_remove(&ledger->handles, memory->live.handle);
	if (memory->prev)
		memory->prev->next = memory->next;
	else
		ledger->memories = memory->next;
	if (memory->next)
		memory->next->prev = memory->prev;
	leave_context(ledger, memory);
	ledger->count--;
	pool_give(&ledger->memory_pool, memory);
}

/* Adds memory with counts of 0. The pool and `contexts` must have room. */
static struct memory *memory_add(struct mt_ledger *ledger, const struct mt_live *live)
{
	struct memory *memory = pool_take(&ledger->memory_pool);

	/*
	 * Each member is set by itself, here and in region_add, because compilers clear the whole struct first, which
	 * takes most of the time.
	 */
	memory->live = *live;
	memory->used = memory->references = memory->mappings = 0;
	memory->named = 0;
	memory->prev = memory->context_prev = memory->context_next = NULL;
	memory->regions = NULL;
	memory->next = ledger->memories;
	if (memory->next)
		memory->next->prev = memory;
	ledger->memories = memory;
	enter_context(ledger, memory);
	ledger->count++;
	ledger_index_loose(ledger, live->device);
	return memory;
}

/* Needs room in the pool, and an empty range. */
static struct region *region_add(struct mt_ledger *ledger, struct memory *memory, uint64_t addr, uint64_t size,
				 const struct mt_live *map)
{
	struct region *region = pool_take(&ledger->region_pool);
	struct region **list = memory ? &memory->regions : &ledger->strays;

	region->addr = addr;
	region->end = ledger_end(addr, size);
	region->memory = memory;
	region->live.kind = 0;
	region->is_recent = 0;
	region->pieces = NULL;
	region->prev = NULL;
	region->next = *list;
	if (map) {
		region->live = *map;
		ledger->count++;
	}
	if (region->next)
		region->next->prev = region;
	*list = region;
	rangemap_insert(&ledger->regions, region->addr, region->end, region);
	if (memory)
		recount(ledger, memory, memory->references, memory->mappings + 1);
	ledger_attract(ledger, region);
	return region;
}

/* Takes the region out of the cache, at each 2 MiB of its addresses. */
static void forget_recent(struct mt_ledger *ledger, const struct region *region)
{
	uint64_t at = region->addr >> LEDGER_RECENT_SHIFT, last = (region->end - 1) >> LEDGER_RECENT_SHIFT;
	uint32_t i;

	for (i = 0; region->is_recent && i < LEDGER_RECENT && at <= last; i++, at++)
		if (ledger->recent[at % LEDGER_RECENT] == region)
			ledger->recent[at % LEDGER_RECENT] = NULL;
}

static void region_drop(struct mt_ledger *ledger, struct region *region)
{
	struct memory *memory = region->memory;
	int is_map = region->live.kind != 0;

	ledger_expel(ledger, region);
	if (is_map) {
		ledger_died(ledger, &region->live);
		ledger->count--;
	}
	if (region->prev)
		region->prev->next = region->next;
	else
		*(memory ? &memory->regions : &ledger->strays) = region->next;
	if (region->next)
		region->next->prev = region->prev;
	rangemap_remove(&ledger->regions, region->addr);
	forget_recent(ledger, region);
	pool_give(&ledger->region_pool, region);
	if (memory) /* an allocation ends with its addresses, whatever its counts */
		recount(ledger, memory, is_map ? memory->references : 0, memory->mappings - 1);
}

static struct region *region_in(const struct mt_ledger *ledger, uint64_t addr, uint64_t end)
{
	return addr < end ? rangemap_first(&ledger->regions, addr, end) : NULL;
}

/*
 * Makes room for the end of all regions in the range, of an object at its start, and for their replacement. *regions:
 * number of regions in the range.
 */
static int reserve(struct mt_ledger *ledger, uint32_t device, uint64_t addr, uint64_t end, size_t *regions)
{
	const struct region *region;
	uint64_t at = addr;

	for (*regions = 0; at < end && (region = rangemap_seek(&ledger->regions, at, end)); ++*regions)
		at = region->end;
	if (ledger_died_reserve(ledger, 2 + 2 * *regions) || pool_reserve(&ledger->memory_pool, 1) ||
	    pool_reserve(&ledger->region_pool, 1) || rangemap_reserve(&ledger->regions) ||
	    addrmap_reserve(&ledger->objects) || addrmap_reserve(&ledger->handles) ||
	    addrmap_reserve(&ledger->contexts))
		return -MT_E_MEMORY;
	ledger_index_loose(ledger, device);
	return ledger_reserve_pieces(ledger, device, addr, end);
}

/* Returns the lowest region in the range. `exact` 1: only a region that begins at `addr`. */
static struct region *rival(const struct mt_ledger *ledger, uint64_t addr, uint64_t end, int exact)
{
	struct region *region = region_in(ledger, addr, end);

	return region && exact && region->addr != addr ? NULL : region;
}

/*
 * 1: the thing has a range of addresses. Host memory and arrays have only an address, because no tensor of a device
 * lies in them.
 */
static int has_range(const struct mt_live *live)
{
	return live->kind == MT_VMM_MAP || (live->size && !is_host(live) && live->flags != MT_SPACE_ARRAY);
}

int ledger_is_taken(const struct mt_ledger *ledger, const struct mt_live *live)
{
	uint64_t end = ledger_end(live->addr, has_range(live) ? live->size : 1);

	return addrmap_find(&ledger->objects, live->addr) || rival(ledger, live->addr, end, !has_range(live));
}

/* Ends known memory in the range of new memory: its free was not seen. `regions`: most regions to end. */
static void drop_older(struct mt_ledger *ledger, const struct mt_live *live, size_t regions)
{
	uint64_t end = ledger_end(live->addr, has_range(live) ? live->size : 1);
	struct memory *object = addrmap_remove(&ledger->objects, live->addr);
	struct region *region;

	if (object)
		recount(ledger, object, 0, 0);
	while (regions-- && (region = rival(ledger, live->addr, end, !has_range(live))))
		region_drop(ledger, region);
}

/* Driver memory that was handed out at this address; NULL: none. */
static struct memory *allocated_at(struct mt_ledger *ledger, uint64_t addr)
{
	struct memory *object = addrmap_find(&ledger->objects, addr);
	struct region *region;

	if (object || ledger_is_nowhere(addr))
		return object;
	region = rangemap_seek(&ledger->regions, addr, addr + 1);
	return region && region->addr == addr && !region->live.kind ? region->memory : NULL;
}

int ledger_open_again(struct mt_ledger *ledger, const struct mt_live *live)
{
	struct memory *memory = is_opened(live) ? allocated_at(ledger, live->addr) : NULL;

	if (!memory || !is_opened(&memory->live) || memory->live.size != live->size)
		return 0;
	recount(ledger, memory, memory->references + 1, memory->mappings);
	return 1;
}

int ledger_driver_alloc(struct mt_ledger *ledger, const struct mt_live *live, struct mt_live **born)
{
	uint64_t end = ledger_end(live->addr, has_range(live) ? live->size : 1);
	uint64_t openings = live->offset ? live->offset : 1;
	struct memory *memory;
	size_t regions;

	if (ledger_is_nowhere(live->addr) || ledger_open_again(ledger, live))
		return 0;
	if (reserve(ledger, live->device, live->addr, end, &regions))
		return -MT_E_MEMORY;
	drop_older(ledger, live, regions);
	memory = memory_add(ledger, live);
	if (has_range(live))
		region_add(ledger, memory, live->addr, live->size, NULL);
	else
		addrmap_put(&ledger->objects, live->addr, memory);
	if (is_opened(live))
		recount(ledger, memory, openings, memory->mappings);
	else if (!has_range(live))
		recount(ledger, memory, 1, 0);
	*born = &memory->live;
	return 0;
}

/* Ends memory that was handed out at an address, with its addresses. */
static void memory_drop(struct mt_ledger *ledger, struct memory *memory)
{
	if (memory->regions) {
		region_drop(ledger, memory->regions);
	} else {
		addrmap_remove(&ledger->objects, memory->live.addr);
		recount(ledger, memory, 0, 0);
	}
}

int ledger_driver_free(struct mt_ledger *ledger, uint64_t addr, int *unknown)
{
	struct memory *memory = allocated_at(ledger, addr);
	struct undo *undo;

	*unknown = !memory;
	undo = ledger_undo_slot(ledger, addr); /* an entry even without memory: this is the newest free of `addr` */
	if (*unknown)
		return 0;
	undo->memory = memory->live;
	undo->gone = !is_opened(&memory->live) || memory->references == 1;
	if (undo->gone)
		memory_drop(ledger, memory);
	else
		recount(ledger, memory, memory->references - 1, memory->mappings);
	return 0;
}

int ledger_context_gone(struct mt_ledger *ledger, uint64_t context)
{
	struct memory *first = context ? addrmap_find(&ledger->contexts, context) : NULL, *memory, *next;
	size_t count = 0;

	for (memory = first; memory; memory = memory->context_next)
		count++;
	if (ledger_died_reserve(ledger, count))
		return -MT_E_MEMORY;
	for (memory = first; memory; memory = next) {
		next = memory->context_next;
		memory_drop(ledger, memory);
	}
	return 0;
}

/* 1: the imported handle was already known (own, or imported before); it has one reference more. */
static int imported_again(struct mt_ledger *ledger, const struct mt_live *live)
{
	struct memory *memory = live->flags == MT_SPACE_IMPORTED ? addrmap_find(&ledger->handles, live->handle) : NULL;

	if (!memory || !memory->references)
		return 0;
	recount(ledger, memory, memory->references + 1, memory->mappings);
	return 1;
}

/*
 * Adds memory with a handle. Older memory with the same handle has lost its last reference, seen or unseen, and lives
 * on by its mappings alone.
 */
int ledger_vmm_create(struct mt_ledger *ledger, const struct mt_live *live, struct mt_live **born)
{
	struct memory *memory, *older;

	if (imported_again(ledger, live))
		return 0;
	if (ledger_died_reserve(ledger, 1) || pool_reserve(&ledger->memory_pool, 1) ||
	    addrmap_reserve(&ledger->handles))
		return -MT_E_MEMORY;
	memory = memory_add(ledger, live);
	memory->named = 1;
	older = addrmap_put(&ledger->handles, live->handle, memory);
	if (older) {
		older->named = 0;
		recount(ledger, older, 0, older->mappings);
	}
	if (live->offset)
		recount(ledger, memory, live->offset, 0);
	*born = &memory->live;
	return 0;
}

int ledger_vmm_release(struct mt_ledger *ledger, uint64_t handle, int *unknown)
{
	struct memory *memory = addrmap_find(&ledger->handles, handle);
	struct undo *undo;

	*unknown = !memory || !memory->references;
	undo = ledger_undo_slot(ledger, handle); /* an entry even without memory to restore */
	if (*unknown)
		return 0;
	undo->memory = memory->live;
	undo->gone = memory->references == 1 && !memory->mappings;
	recount(ledger, memory, memory->references - 1, memory->mappings);
	return 0;
}

/* Gives memory without references a handle again, which may be a new one. */
static int rename_memory(struct mt_ledger *ledger, struct memory *memory, uint64_t handle)
{
	struct memory *older;
	struct region *region;

	if (memory->named && (memory->live.handle == handle || memory->references))
		return 0;
	if (addrmap_reserve(&ledger->handles))
		return -MT_E_MEMORY;
	if (memory->named)
		addrmap_remove(&ledger->handles, memory->live.handle);
	older = addrmap_put(&ledger->handles, handle, memory);
	memory->named = 1;
	memory->live.handle = memory->live.addr = handle;
	for (region = memory->regions; region; region = region->next)
		region->live.handle = handle;
	if (older) {
		older->named = 0;
		recount(ledger, older, 0, older->mappings);
	}
	return 0;
}

int ledger_vmm_retain(struct mt_ledger *ledger, uint64_t addr, uint64_t handle, int *unknown)
{
	struct region *region = region_in(ledger, addr, ledger_end(addr, 1));
	struct memory *memory = region && region->live.kind ? region->memory : NULL;

	if (!memory)
		memory = addrmap_find(&ledger->handles, handle);
	*unknown = !memory;
	if (*unknown)
		return 0;
	if (rename_memory(ledger, memory, handle))
		return -MT_E_MEMORY;
	recount(ledger, memory, memory->references + 1, memory->mappings);
	return 0;
}

int ledger_vmm_map(struct mt_ledger *ledger, const struct mt_live *live, struct mt_live **born)
{
	struct memory *memory = addrmap_find(&ledger->handles, live->handle);
	struct mt_live map = *live;
	uint64_t end = ledger_end(live->addr, live->size);
	size_t regions;

	if (ledger_is_nowhere(live->addr) || !live->size)
		return 0;
	map.device = memory ? memory->live.device : 0;
	if (reserve(ledger, map.device, live->addr, end, &regions))
		return -MT_E_MEMORY;
	/* A mapping in the range may be the last one of the same memory: count one more during the exchange. */
	if (memory)
		recount(ledger, memory, memory->references, memory->mappings + 1);
	drop_older(ledger, live, regions);
	*born = &region_add(ledger, memory, live->addr, live->size, &map)->live;
	if (memory)
		recount(ledger, memory, memory->references, memory->mappings - 1);
	return 0;
}

static void unmap_one(struct mt_ledger *ledger, struct region *region, uint64_t key)
{
	struct memory *memory = region->memory;
	struct undo *undo = ledger_undo_slot(ledger, key);

	undo->map = region->live;
	if (memory) {
		undo->memory = memory->live;
		undo->gone = !memory->references && memory->mappings == 1;
	}
	region_drop(ledger, region);
}

/*
 * Ends each mapping that the range touches, because the driver unmaps whole mappings only. Size 0: the mapping at
 * `addr`.
 */
int ledger_vmm_unmap(struct mt_ledger *ledger, uint64_t addr, uint64_t size, int *unknown)
{
	uint64_t at = addr, end = ledger_end(addr, size ? size : 1);
	struct region *region;
	size_t regions;

	if (reserve(ledger, 0, addr, end, &regions))
		return -MT_E_MEMORY;
	*unknown = 1;
	while ((region = region_in(ledger, at, end))) {
		at = region->end;
		if (!region->live.kind)
			continue;
		unmap_one(ledger, region, addr);
		*unknown = 0;
	}
	return 0;
}
