#include "ledger_impl.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"

struct mt_ledger *mt_ledger_new(mt_ledger_move *move, void *context)
{
	struct mt_ledger *ledger = malloc(sizeof(*ledger));

	if (!ledger)
		return NULL;
	memset(ledger, 0, offsetof(struct mt_ledger, undo));
	ledger->move = move;
	ledger->context = context;
	pool_init(&ledger->tensor_pool, sizeof(struct tensor));
	pool_init(&ledger->piece_pool, sizeof(struct piece));
	pool_init(&ledger->memory_pool, sizeof(struct memory));
	pool_init(&ledger->region_pool, sizeof(struct region));
	rangemap_init(&ledger->regions);
	return ledger;
}

void mt_ledger_watch(struct mt_ledger *ledger, mt_ledger_reside *reside, void *context)
{
	ledger->reside = reside;
	ledger->watcher = context;
}

static void release(struct mt_ledger *ledger)
{
	uint32_t i;

	for (i = 0; i < MT_LEDGER_DEVICES; i++)
		addrmap_release(&ledger->device[i].map);
	addrmap_release(&ledger->contexts);
	addrmap_release(&ledger->handles);
	addrmap_release(&ledger->objects);
	pool_release(&ledger->tensor_pool);
	pool_release(&ledger->piece_pool);
	pool_release(&ledger->memory_pool);
	pool_release(&ledger->region_pool);
	rangemap_release(&ledger->regions);
	free(ledger->died);
}

void mt_ledger_free(struct mt_ledger *ledger)
{
	if (!ledger)
		return;
	release(ledger);
	free(ledger);
}

/* Reports all held bytes as given back. */
static void give_back(struct mt_ledger *ledger)
{
	const struct memory *memory;
	const struct tensor *tensor;
	size_t cursor;
	uint32_t i;

	for (i = 0; i < MT_LEDGER_DEVICES; i++)
		for (cursor = 0; (tensor = addrmap_next(&ledger->device[i].map, &cursor));)
			ledger_move(ledger, i, tensor->live.tag, 0, -(tensor->own + tensor->inside));
	for (memory = ledger->memories; memory; memory = memory->next)
		if (ledger_memory_on_device(memory) && ledger_memory_holds(memory))
			ledger_move(ledger, memory->live.device, memory->live.tag, memory->live.tensors_seen,
				    memory->used - ledger_memory_capacity(memory));
}

void mt_ledger_clear(struct mt_ledger *ledger)
{
	const size_t begin = offsetof(struct mt_ledger, device), end = offsetof(struct mt_ledger, undo);

	give_back(ledger);
	release(ledger);
	memset((char *)ledger + begin, 0, end - begin);
}

/* `bytes` is modulo 2^64: bytes that leave are negative. */
void ledger_move(struct mt_ledger *ledger, uint32_t device, uint64_t tag, int slack, uint64_t bytes)
{
	struct ledger_device *figures = &ledger->device[device];

	if (!bytes)
		return;
	figures->moved += bytes;
	if (slack)
		figures->slack += bytes;
	if (ledger->move)
		ledger->move(ledger->context, device, tag, slack, (int64_t)bytes);
}

int ledger_died_grow(struct mt_ledger *ledger, size_t count)
{
	size_t max = ledger->died_max ? ledger->died_max : 16;
	struct mt_live *larger;

	while (max < count)
		max *= 2;
	larger = realloc(ledger->died, max * sizeof(*larger));
	if (!larger)
		return -MT_E_MEMORY;
	ledger->died = larger;
	ledger->died_max = max;
	return 0;
}

void ledger_died(struct mt_ledger *ledger, const struct mt_live *live)
{
	ledger->died[ledger->died_count++] = *live;
}

uint64_t ledger_end(uint64_t addr, uint64_t size)
{
	return addr + size < addr ? UINT64_MAX : addr + size;
}

static uint32_t device_of(const struct mt_event *event)
{
	return event->device < MT_LEDGER_DEVICES ? (uint32_t)event->device : 0;
}

/* See struct mt_live. */
static uint64_t offset_of(const struct mt_event *event)
{
	switch (event->kind) {
	case MT_LIVE:
	case MT_VMM_MAP:
		return event->offset;
	case MT_VMM_CREATE:
		return 1;
	default:
		return 0;
	}
}

void ledger_fill(struct mt_live *live, const struct birth *birth)
{
	const struct mt_event *event = birth->event;

	live->addr = birth->kind == MT_VMM_CREATE ? event->handle : event->addr;
	live->size = event->size < LEDGER_SIZE_MAX ? event->size : LEDGER_SIZE_MAX;
	live->seq = event->seq;
	live->time = event->time;
	live->tag = birth->tag;
	live->handle = event->handle;
	live->offset = offset_of(event);
	live->stack = (uint32_t)event->stack;
	live->thread = (uint32_t)event->thread;
	live->device = device_of(event);
	live->entry = (uint32_t)event->entry;
	live->kind = birth->kind;
	live->flags = (uint32_t)event->flags;
	live->phase = birth->phase;
	live->step = birth->step;
	live->resident = 0;
	/* Only checkpoints and import know; events of a trace have no such field when they are not LIVE. */
	live->tensors_seen = (birth->kind == MT_DRIVER_ALLOC || birth->kind == MT_VMM_CREATE) && event->reserved;
}

static int bear(struct mt_ledger *ledger, const struct birth *birth, struct mt_live **born)
{
	struct mt_live live;

	if (birth->kind == MT_TENSOR_ALLOC)
		return ledger_tensor_alloc(ledger, birth, device_of(birth->event), born);
	ledger_fill(&live, birth);
	switch (birth->kind) {
	case MT_DRIVER_ALLOC:
		return ledger_driver_alloc(ledger, &live, born);
	case MT_VMM_CREATE:
		return ledger_vmm_create(ledger, &live, born);
	case MT_VMM_MAP:
		return ledger_vmm_map(ledger, &live, born);
	default:
		return 0;
	}
}

/*
 * 1: the allocator's total contradicts the ledger. The two differ by a constant, the bytes from before the recording.
 * The first event shows the constant: 0 if this event is the first allocation at all. After lost events the constant is
 * learned again.
 *
 * With threads that report outside the allocator's lock, the first event may not be the first one. So a total equal to
 * the ledger's sets the constant to 0.
 */
static int total_differs(struct mt_ledger *ledger, const struct mt_event *event, int unknown)
{
	struct ledger_device *figures = &ledger->device[device_of(event)];

	if (!figures->anchored)
		figures->ahead = event->total - figures->counted;
	else if (unknown)
		figures->ahead -= event->size; /* the block was one from before the recording */
	figures->anchored = 1;
	if (event->total == figures->counted)
		figures->ahead = 0;
	return event->total != figures->counted + figures->ahead;
}

/*
 * 1: the event has a total to compare with. A free has one if its allocation had. A free of a shared-memory map has a
 * total of 0; the last free of all other blocks has 0 as well.
 */
static int has_total(const struct mt_event *event, const struct mt_ledger_change *change)
{
	if (event->kind == MT_TENSOR_FREE && change->died_count)
		return !(change->died[change->died_count - 1].flags & MT_FLAG_NO_TOTAL);
	if (event->kind == MT_TENSOR_FREE)
		return event->total != 0 && !(event->flags & MT_FLAG_NO_TOTAL);
	return event->kind == MT_TENSOR_ALLOC && !(event->flags & MT_FLAG_NO_TOTAL);
}

static void forget_totals(struct mt_ledger *ledger)
{
	uint32_t i;

	for (i = 0; i < MT_LEDGER_DEVICES; i++)
		ledger->device[i].anchored = 0;
}

/* Everything but births. */
static int apply(struct mt_ledger *ledger, const struct mt_event *event, struct mt_ledger_change *change)
{
	switch (event->kind) {
	case MT_TENSOR_FREE:
		change->unknown = ledger_tensor_free(ledger, device_of(event), event->addr);
		return 0;
	case MT_DRIVER_FREE:
		return ledger_driver_free(ledger, event->addr, &change->unknown);
	case MT_DRIVER_KEEP:
		return ledger_keep(ledger, event->addr, &change->born, &change->unknown);
	case MT_CONTEXT_GONE:
		return ledger_context_gone(ledger, event->handle);
	case MT_VMM_RELEASE:
		return ledger_vmm_release(ledger, event->handle, &change->unknown);
	case MT_VMM_RETAIN:
		return ledger_vmm_retain(ledger, event->addr, event->handle, &change->unknown);
	case MT_VMM_UNMAP:
		return ledger_vmm_unmap(ledger, event->addr, event->size, &change->unknown);
	case MT_LOST:
		forget_totals(ledger);
		return 0;
	default:
		return 0;
	}
}

/* The kind of the thing that this event brings to life; 0: none. */
static uint32_t kind_born(const struct mt_event *event)
{
	switch (event->kind) {
	case MT_LIVE:
		return event->value <= MT_KIND_MAX ? (uint32_t)event->value : 0;
	case MT_TENSOR_ALLOC:
	case MT_DRIVER_ALLOC:
	case MT_VMM_CREATE:
	case MT_VMM_MAP:
		return event->kind;
	default:
		return 0;
	}
}

int mt_ledger_event(struct mt_ledger *ledger, const struct mt_event *event, uint64_t tag, uint32_t phase, uint32_t step,
		    struct mt_ledger_change *change)
{
	struct birth birth = { .event = event, .tag = tag, .kind = kind_born(event), .phase = phase, .step = step };
	struct mt_ledger_change unseen;
	int error;

	if (!change)
		change = &unseen;
	*change = (struct mt_ledger_change){ 0 };
	ledger->died_count = 0;
	ledger->serial++;
	error = ledger_died_reserve(ledger, 1);
	if (!error)
		error = birth.kind ? bear(ledger, &birth, &change->born) : apply(ledger, event, change);
	if (error)
		return error;
	if (ledger->died_count)
		change->died = ledger->died;
	change->died_count = ledger->died_count;
	change->total_known = has_total(event, change);
	if (change->total_known)
		change->total_differs = total_differs(ledger, event, change->unknown);
	return 0;
}

void mt_live_event(const struct mt_live *live, struct mt_event *event)
{
	*event = (struct mt_event){
		.kind = MT_LIVE,
		.seq = live->seq,
		.time = live->time,
		.thread = live->thread,
		.stack = live->stack,
		.device = live->device,
		.addr = live->addr,
		.size = live->size,
		.reserved = live->tensors_seen,
		.handle = live->handle,
		.offset = live->offset,
		.entry = live->entry,
		.value = live->kind,
		.flags = live->flags,
		.phase = live->phase,
		.step = live->step,
	};
}

static const struct ledger_device *figures_of(const struct mt_ledger *ledger, uint32_t device)
{
	static const struct ledger_device none;

	return device < MT_LEDGER_DEVICES ? &ledger->device[device] : &none;
}

uint64_t mt_ledger_held(const struct mt_ledger *ledger, uint32_t device)
{
	return figures_of(ledger, device)->held;
}

uint64_t mt_ledger_tensors(const struct mt_ledger *ledger, uint32_t device)
{
	return figures_of(ledger, device)->tensors;
}

uint64_t mt_ledger_nonresident(const struct mt_ledger *ledger, uint32_t device)
{
	return figures_of(ledger, device)->tensors - figures_of(ledger, device)->holding;
}

uint64_t mt_ledger_slack(const struct mt_ledger *ledger, uint32_t device)
{
	return figures_of(ledger, device)->slack;
}

uint64_t mt_ledger_pinned(const struct mt_ledger *ledger)
{
	return ledger->pinned;
}

size_t mt_ledger_count(const struct mt_ledger *ledger)
{
	return ledger->count;
}

static int each_region(const struct region *region, int (*visit)(void *context, const struct mt_live *live),
		       void *context)
{
	int result = 0;

	for (; region && !result; region = region->next)
		if (region->live.kind)
			result = visit(context, &region->live);
	return result;
}

static int each_memory(const struct memory *memory, int named, int (*visit)(void *context, const struct mt_live *live),
		       void *context)
{
	int result = 0;

	for (; memory && !result; memory = memory->next) {
		if (memory->named != named)
			continue;
		result = visit(context, &memory->live);
		if (!result)
			result = each_region(memory->regions, visit, context);
	}
	return result;
}

/*
 * A mapping comes after its memory, and before other memory that has the handle now. So a ledger fed in this order
 * finds the same owners.
 */
int mt_ledger_each(const struct mt_ledger *ledger, int (*visit)(void *context, const struct mt_live *live),
		   void *context)
{
	const struct tensor *tensor;
	size_t cursor;
	int result = each_region(ledger->strays, visit, context);
	uint32_t i;

	if (!result)
		result = each_memory(ledger->memories, 0, visit, context);
	if (!result)
		result = each_memory(ledger->memories, 1, visit, context);
	for (i = 0; i < MT_LEDGER_DEVICES && !result; i++)
		for (cursor = 0; !result && (tensor = addrmap_next(&ledger->device[i].map, &cursor));)
			result = visit(context, &tensor->live);
	return result;
}
