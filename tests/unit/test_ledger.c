/*
 * test_ledger.c - the ledger by examples, and against a slow model over random streams of sense and nonsense.
 */
#include "memtrace/base.h"
#include "memtrace/ledger.h"
#include "test.h"

#define KIB 1024ull
#define MIB (1024 * KIB)
#define TAGS 2048

/* What the moves add up to, by tag; [1]: slack. */
static int64_t moved[TAGS][2];
static int64_t moved_device[MT_LEDGER_DEVICES];

static void on_move(void *context, uint32_t device, uint64_t tag, int slack, int64_t bytes)
{
	(void)context;
	CHECK(tag < TAGS && device < MT_LEDGER_DEVICES);
	moved[tag][slack] += bytes;
	moved_device[device] += bytes;
}

static struct mt_ledger *fresh(void)
{
	struct mt_ledger *ledger = mt_ledger_new(on_move, NULL);

	CHECK(ledger != NULL);
	memset(moved, 0, sizeof(moved));
	memset(moved_device, 0, sizeof(moved_device));
	return ledger;
}

static uint64_t next_seq = 1;

static struct mt_ledger_change feed(struct mt_ledger *ledger, struct mt_event event, uint64_t tag)
{
	struct mt_ledger_change change;
	uint32_t i;

	event.seq = next_seq++;
	CHECK_EQ(mt_ledger_event(ledger, &event, tag, 0, 0, &change), 0);
	for (i = 0; i < MT_LEDGER_DEVICES; i++)
		CHECK_EQ(moved_device[i], mt_ledger_held(ledger, i));
	CHECK(mt_ledger_check(ledger));
	return change;
}

#define FEED(ledger, tag, k, ...) feed(ledger, (struct mt_event){ .kind = MT_##k, __VA_ARGS__ }, tag)

TEST(tensors_take_bytes_from_their_segment)
{
	struct mt_ledger *ledger = fresh();
	struct mt_ledger_change change;

	change = FEED(ledger, 1, DRIVER_ALLOC, .device = 1, .addr = 0x10000000, .size = 20 * MIB);
	CHECK(change.born && change.born->kind == MT_DRIVER_ALLOC && !change.born->tensors_seen);
	CHECK_EQ(moved[1][0], 20 * MIB);
	change = FEED(ledger, 2, TENSOR_ALLOC, .device = 1, .addr = 0x10000000, .size = 12 * MIB, .total = 12 * MIB);
	CHECK(change.born && change.born->resident && !change.total_differs);
	CHECK_EQ(moved[1][0], 0);
	CHECK_EQ(moved[1][1], 8 * MIB);
	CHECK_EQ(moved[2][0], 12 * MIB);
	CHECK_EQ(mt_ledger_held(ledger, 1), 20 * MIB);
	CHECK_EQ(mt_ledger_slack(ledger, 1), 8 * MIB);
	change = FEED(ledger, 0, TENSOR_FREE, .device = 1, .addr = 0x10000000, .size = 12 * MIB, .total = 0);
	CHECK(change.died_count == 1 && change.died->tag == 2 && !change.total_differs);
	CHECK_EQ(moved[2][0], 0);
	CHECK_EQ(moved[1][1], 20 * MIB);
	change = FEED(ledger, 0, DRIVER_FREE, .addr = 0x10000000);
	CHECK(change.died_count == 1 && change.died->tag == 1);
	CHECK_EQ(mt_ledger_held(ledger, 1), 0);
	CHECK_EQ(mt_ledger_count(ledger), 0);
	mt_ledger_free(ledger);
}

TEST(tensor_outside_every_region_holds_itself)
{
	struct mt_ledger *ledger = fresh();

	FEED(ledger, 3, TENSOR_ALLOC, .device = 2, .addr = 0x5000, .size = 100, .total = 100);
	CHECK_EQ(mt_ledger_held(ledger, 2), 100);
	CHECK_EQ(mt_ledger_nonresident(ledger, 2), 0);
	CHECK_EQ(moved[3][0], 100);
	/* The driver memory below it is told later. */
	FEED(ledger, 4, DRIVER_ALLOC, .device = 2, .addr = 0x4000, .size = 0x2000);
	CHECK_EQ(mt_ledger_held(ledger, 2), 0x2000);
	CHECK_EQ(moved[3][0], 100);
	CHECK_EQ(moved[4][1], 0x2000 - 100);
	mt_ledger_free(ledger);
}

/* vLLM and torch_memory_saver: unmap and release, later create and map at the same addresses. */
TEST(sleep_and_wake)
{
	struct mt_ledger *ledger = fresh();
	struct mt_ledger_change change;

	FEED(ledger, 1, VMM_CREATE, .device = 1, .handle = 7, .size = 4 * MIB);
	FEED(ledger, 2, VMM_MAP, .addr = 0x700000, .size = 4 * MIB, .handle = 7);
	FEED(ledger, 3, TENSOR_ALLOC, .device = 1, .addr = 0x700000, .size = 3 * MIB, .total = 3 * MIB);
	CHECK_EQ(mt_ledger_held(ledger, 1), 4 * MIB);
	change = FEED(ledger, 0, VMM_UNMAP, .addr = 0x700000, .size = 4 * MIB);
	CHECK(change.died_count == 1 && change.died->kind == MT_VMM_MAP);
	CHECK_EQ(moved[3][0], 0);
	CHECK_EQ(moved[1][1], 4 * MIB);
	CHECK_EQ(mt_ledger_nonresident(ledger, 1), 3 * MIB);
	change = FEED(ledger, 0, VMM_RELEASE, .handle = 7);
	CHECK(change.died_count == 1 && change.died->kind == MT_VMM_CREATE && change.died->tag == 1);
	CHECK_EQ(mt_ledger_held(ledger, 1), 0);
	CHECK_EQ(mt_ledger_tensors(ledger, 1), 3 * MIB);
	FEED(ledger, 5, VMM_CREATE, .device = 1, .handle = 9, .size = 4 * MIB);
	FEED(ledger, 6, VMM_MAP, .addr = 0x700000, .size = 4 * MIB, .handle = 9);
	CHECK_EQ(moved[3][0], 3 * MIB);
	CHECK_EQ(moved[5][1], 1 * MIB);
	CHECK_EQ(mt_ledger_nonresident(ledger, 1), 0);
	mt_ledger_free(ledger);
}

TEST(released_memory_lives_by_its_mapping)
{
	struct mt_ledger *ledger = fresh();
	struct mt_ledger_change change;

	FEED(ledger, 1, VMM_CREATE, .device = 1, .handle = 7, .size = MIB);
	FEED(ledger, 2, VMM_MAP, .addr = 0x700000, .size = MIB, .handle = 7);
	FEED(ledger, 0, VMM_RELEASE, .handle = 7);
	CHECK_EQ(mt_ledger_held(ledger, 1), MIB);
	/* The number is used again while the old memory is still mapped. */
	FEED(ledger, 3, VMM_CREATE, .device = 1, .handle = 7, .size = 2 * MIB);
	CHECK_EQ(mt_ledger_held(ledger, 1), 3 * MIB);
	FEED(ledger, 0, VMM_RETAIN, .addr = 0x700000, .handle = 8);
	FEED(ledger, 0, VMM_UNMAP, .addr = 0x700000, .size = MIB);
	CHECK_EQ(mt_ledger_held(ledger, 1), 3 * MIB);
	change = FEED(ledger, 0, VMM_RELEASE, .handle = 8);
	CHECK(change.died_count == 1 && change.died->tag == 1);
	CHECK_EQ(mt_ledger_held(ledger, 1), 2 * MIB);
	change = FEED(ledger, 0, VMM_RELEASE, .handle = 8);
	CHECK(change.unknown && !change.died);
	mt_ledger_free(ledger);
}

/* A block of an expandable segment: one tensor, many mappings. */
TEST(tensor_spans_mappings)
{
	struct mt_ledger *ledger = fresh();
	uint64_t i;

	for (i = 0; i < 5; i++) {
		FEED(ledger, 10 + i, VMM_CREATE, .device = 1, .handle = 100 + i, .size = 20 * MIB);
		FEED(ledger, 0, VMM_MAP, .addr = 0x40000000 + i * 20 * MIB, .size = 20 * MIB, .handle = 100 + i);
	}
	FEED(ledger, 1, TENSOR_ALLOC, .device = 1, .addr = 0x40000000 + 10 * MIB, .size = 70 * MIB, .total = 70 * MIB);
	CHECK_EQ(moved[1][0], 70 * MIB);
	CHECK_EQ(moved[10][1], 10 * MIB);
	CHECK_EQ(moved[12][1], 0);
	CHECK_EQ(moved[14][0], 20 * MIB);
	FEED(ledger, 0, VMM_UNMAP, .addr = 0x40000000 + 20 * MIB, .size = 40 * MIB);
	CHECK_EQ(mt_ledger_nonresident(ledger, 1), 40 * MIB);
	CHECK_EQ(moved[1][0], 30 * MIB);
	FEED(ledger, 0, TENSOR_FREE, .device = 1, .addr = 0x40000000 + 10 * MIB, .total = 0);
	CHECK_EQ(mt_ledger_held(ledger, 1), 100 * MIB);
	mt_ledger_free(ledger);
}

TEST(imported_and_host_memory_hold_nothing_on_the_device)
{
	struct mt_ledger *ledger = fresh();

	FEED(ledger, 1, DRIVER_ALLOC, .device = 1, .addr = 0x9000, .size = MIB, .flags = MT_SPACE_IMPORTED);
	FEED(ledger, 2, DRIVER_ALLOC, .device = 1, .addr = 0x7f0000, .size = MIB, .flags = MT_SPACE_PINNED);
	FEED(ledger, 3, VMM_CREATE, .device = 1, .handle = 5, .size = MIB, .flags = MT_SPACE_IMPORTED);
	CHECK_EQ(mt_ledger_held(ledger, 1), 0);
	CHECK_EQ(mt_ledger_pinned(ledger), MIB);
	FEED(ledger, 4, DRIVER_ALLOC, .device = 1, .addr = 0x8, .size = MIB, .flags = MT_SPACE_ARRAY);
	FEED(ledger, 5, DRIVER_ALLOC, .device = 1, .addr = 0x10, .size = MIB, .flags = MT_SPACE_ARRAY);
	FEED(ledger, 6, DRIVER_ALLOC, .device = 1, .addr = 0x30000000, .size = MIB, .flags = MT_SPACE_MANAGED);
	FEED(ledger, 7, DRIVER_ALLOC, .device = 1, .addr = 0x40000000, .size = MIB, .flags = MT_SPACE_ASYNC);
	CHECK_EQ(mt_ledger_held(ledger, 1), 4 * MIB);
	FEED(ledger, 0, DRIVER_FREE, .addr = 0x7f0000);
	CHECK_EQ(mt_ledger_pinned(ledger), 0);
	mt_ledger_free(ledger);
}

TEST(keep_undoes_the_newest_free)
{
	struct mt_ledger *ledger = fresh();
	struct mt_ledger_change change;

	FEED(ledger, 1, DRIVER_ALLOC, .device = 1, .addr = 0x10000, .size = 0x1000);
	FEED(ledger, 2, TENSOR_ALLOC, .device = 1, .addr = 0x10100, .size = 0x100, .total = 0x100);
	FEED(ledger, 0, DRIVER_FREE, .addr = 0x10000);
	CHECK_EQ(mt_ledger_held(ledger, 1), 0);
	change = FEED(ledger, 0, DRIVER_KEEP, .addr = 0x10000, .result = 1);
	CHECK(change.born && change.born->tag == 1 && !change.unknown);
	CHECK_EQ(moved[1][1], 0xf00);
	CHECK_EQ(moved[2][0], 0x100);
	change = FEED(ledger, 0, DRIVER_KEEP, .addr = 0x10000, .result = 1);
	CHECK(change.unknown && !change.born);

	FEED(ledger, 3, VMM_CREATE, .device = 1, .handle = 0x77, .size = 0x3000);
	FEED(ledger, 0, VMM_RELEASE, .handle = 0x77);
	change = FEED(ledger, 0, DRIVER_KEEP, .addr = 0x77, .result = 1);
	CHECK(change.born && change.born->tag == 3);
	FEED(ledger, 0, VMM_MAP, .addr = 0x20000, .size = 0x1000, .handle = 0x77);
	FEED(ledger, 0, VMM_MAP, .addr = 0x21000, .size = 0x1000, .handle = 0x77);
	FEED(ledger, 0, VMM_RELEASE, .handle = 0x77);
	FEED(ledger, 0, VMM_UNMAP, .addr = 0x20000, .size = 0x2000);
	CHECK_EQ(mt_ledger_held(ledger, 1), 0x1000);
	FEED(ledger, 0, DRIVER_KEEP, .addr = 0x20000, .result = 1);
	CHECK_EQ(mt_ledger_held(ledger, 1), 0x4000);
	FEED(ledger, 0, VMM_UNMAP, .addr = 0x20000, .size = 0x1000);
	CHECK_EQ(mt_ledger_held(ledger, 1), 0x4000);
	FEED(ledger, 0, VMM_UNMAP, .addr = 0x21000, .size = 0x1000);
	CHECK_EQ(mt_ledger_held(ledger, 1), 0x1000);
	mt_ledger_free(ledger);
}

TEST(missed_frees_give_way)
{
	struct mt_ledger *ledger = fresh();
	struct mt_ledger_change change;

	FEED(ledger, 1, TENSOR_ALLOC, .device = 0, .addr = 0x100, .size = 10, .total = 10);
	change = FEED(ledger, 2, TENSOR_ALLOC, .device = 0, .addr = 0x100, .size = 20, .total = 20);
	CHECK(change.born && change.died_count == 1 && change.died->tag == 1 && !change.total_differs);
	FEED(ledger, 3, DRIVER_ALLOC, .device = 1, .addr = 0x10000, .size = 0x1000);
	FEED(ledger, 4, DRIVER_ALLOC, .device = 1, .addr = 0x11000, .size = 0x1000);
	change = FEED(ledger, 5, DRIVER_ALLOC, .device = 1, .addr = 0x10800, .size = 0x1000);
	CHECK_EQ(change.died_count, 2);
	CHECK_EQ(mt_ledger_held(ledger, 1), 0x1000);
	mt_ledger_free(ledger);
}

TEST(totals_are_compared)
{
	struct mt_ledger *ledger = fresh();
	struct mt_ledger_change change;

	/* 1000 bytes were there before the recording began. */
	change = FEED(ledger, 1, TENSOR_ALLOC, .device = 1, .addr = 0x100, .size = 10, .total = 1010);
	CHECK(!change.total_differs);
	change = FEED(ledger, 1, TENSOR_ALLOC, .device = 1, .addr = 0x200, .size = 5, .flags = MT_FLAG_NO_TOTAL, .total = 3);
	CHECK(!change.total_differs);
	change = FEED(ledger, 0, TENSOR_FREE, .device = 1, .addr = 0x50, .size = 300, .total = 710);
	CHECK(change.unknown && !change.total_differs);
	change = FEED(ledger, 1, TENSOR_ALLOC, .device = 1, .addr = 0x300, .size = 10, .total = 730);
	CHECK(change.total_differs);
	FEED(ledger, 0, LOST, .value = 1);
	change = FEED(ledger, 1, TENSOR_ALLOC, .device = 1, .addr = 0x400, .size = 10, .total = 740);
	CHECK(!change.total_differs);
	change = FEED(ledger, 0, TENSOR_FREE, .device = 1, .addr = 0x400, .size = 10, .total = 730);
	CHECK(!change.total_differs);
	mt_ledger_free(ledger);
}

TEST(nonsense_is_survived)
{
	struct mt_ledger *ledger = fresh();
	uint64_t top = UINT64_MAX - 0x100;

	FEED(ledger, 1, TENSOR_ALLOC, .device = 1, .addr = top, .size = UINT64_MAX);
	FEED(ledger, 2, DRIVER_ALLOC, .device = 1, .addr = top - 0x100, .size = UINT64_MAX);
	FEED(ledger, 3, TENSOR_ALLOC, .device = 1ull << 40, .addr = 1, .size = 0);
	FEED(ledger, 4, TENSOR_ALLOC, .device = 1, .addr = 0, .size = 10);
	FEED(ledger, 5, VMM_MAP, .addr = 0x1000, .size = 0x1000, .handle = 55);
	FEED(ledger, 6, VMM_MAP, .addr = 0x1000, .size = 0, .handle = 55);
	FEED(ledger, 7, TENSOR_ALLOC, .device = 1, .addr = 0x1100, .size = 0x10);
	CHECK_EQ(moved[7][0], 0x10);
	FEED(ledger, 0, VMM_UNMAP, .addr = 0, .size = UINT64_MAX);
	FEED(ledger, 0, DRIVER_KEEP, .addr = 0);
	CHECK(FEED(ledger, 0, DRIVER_FREE, .addr = 4).unknown);
	CHECK(FEED(ledger, 0, VMM_RETAIN, .addr = 4, .handle = 4).unknown);
	CHECK(FEED(ledger, 0, VMM_RELEASE, .handle = 4).unknown);
	FEED(ledger, 8, LIVE, .value = 200, .addr = 3);
	FEED(ledger, 8, LIVE, .value = MT_DRIVER_FREE, .addr = 3);
	mt_ledger_clear(ledger);
	CHECK(mt_ledger_count(ledger) == 0 && mt_ledger_check(ledger));
	mt_ledger_free(ledger);
}

/* ---- random streams against a slow model ---- */

#define MANY 400
#define UNIT 16ull
#define UNITS 48

struct m_memory {
	int alive, is_vmm, is_named, refs, seen;
	uint64_t addr, size, handle, tag;
	uint32_t device, space;
};

struct m_region {
	int alive, is_map, memory; /* memory -1: unknown handle */
	uint64_t addr, end, handle, tag;
};

struct m_tensor {
	int alive;
	uint64_t addr, end, own, tag;
	uint32_t device;
};

/* One undone step; records live in a ring of 64 like the ledger's, but are found by walking the list. */
struct m_undo {
	uint64_t key, event, handle;
	int memory, region, gone; /* -1: none */
};

struct model {
	struct m_memory memory[MANY];
	struct m_region region[MANY];
	struct m_tensor tensor[MANY];
	uint64_t share[MANY][MANY]; /* [tensor][region] */
	struct m_undo undo[4 * MANY];
	int memories, regions, tensors, undos;
	uint64_t event;
};

static uint64_t m_capacity(const struct m_memory *memory)
{
	return memory->space == MT_SPACE_IMPORTED ? 0 : memory->size;
}

static int m_is_host(const struct m_memory *memory)
{
	return memory->space == MT_SPACE_PINNED || memory->space == MT_SPACE_HOST;
}

static int m_ranged(const struct m_memory *memory)
{
	return memory->size && memory->space != MT_SPACE_ARRAY && !m_is_host(memory);
}

static uint64_t m_used(const struct model *m, int memory)
{
	uint64_t used = 0;
	int t, r;

	for (r = 0; r < m->regions; r++)
		for (t = 0; m->region[r].alive && m->region[r].memory == memory && t < m->tensors; t++)
			used += m->share[t][r];
	return used;
}

static int m_mappings(const struct model *m, int memory)
{
	int r, n = 0;

	for (r = 0; r < m->regions; r++)
		n += m->region[r].alive && m->region[r].memory == memory;
	return n;
}

static uint64_t m_inside(const struct model *m, int tensor)
{
	uint64_t bytes = 0;
	int r;

	for (r = 0; r < m->regions; r++)
		bytes += m->share[tensor][r];
	return bytes;
}

static void m_enter(struct model *m, int t, int r)
{
	struct m_tensor *tensor = &m->tensor[t];
	struct m_region *region = &m->region[r];
	struct m_memory *memory = region->memory < 0 ? NULL : &m->memory[region->memory];
	uint64_t low = tensor->addr > region->addr ? tensor->addr : region->addr;
	uint64_t high = tensor->end < region->end ? tensor->end : region->end;
	uint64_t room;

	if (high <= low || !memory || memory->device != tensor->device || m_is_host(memory))
		return;
	room = m_capacity(memory) - m_used(m, region->memory);
	memory->seen = 1;
	m->share[t][r] = high - low < room ? high - low : room;
	tensor->own -= high - low < tensor->own ? high - low : tensor->own;
}

static void m_bury(struct model *m, int t)
{
	m->tensor[t].alive = 0;
	memset(m->share[t], 0, sizeof(m->share[t]));
}

static void m_check_memory(struct model *m, int i)
{
	if (i >= 0 && !m->memory[i].refs && !m_mappings(m, i))
		m->memory[i].alive = 0;
}

static void m_drop_region(struct model *m, int r)
{
	int t;

	m->region[r].alive = 0;
	for (t = 0; t < m->tensors; t++)
		m->share[t][r] = 0;
}

/* Things without a range (end == addr) meet what begins at the same address only. */
static int m_meets(const struct m_region *region, uint64_t addr, uint64_t end)
{
	return region->alive && (region->addr == addr || (end > addr && region->addr < end && region->end > addr));
}

static void m_drop_older(struct model *m, uint64_t addr, uint64_t end)
{
	int i;

	for (i = 0; i < m->memories; i++)
		if (m->memory[i].alive && !m->memory[i].is_vmm && m->memory[i].refs && m->memory[i].addr == addr)
			m->memory[i].alive = m->memory[i].refs = 0;
	for (i = 0; i < m->regions; i++)
		if (m_meets(&m->region[i], addr, end))
			m_drop_region(m, i);
}

static void m_sweep(struct model *m)
{
	int i;

	for (i = 0; i < m->memories; i++)
		if (m->memory[i].alive)
			m_check_memory(m, i);
}

static int m_named(const struct model *m, uint64_t handle)
{
	int i;

	for (i = m->memories - 1; i >= 0; i--)
		if (m->memory[i].alive && m->memory[i].is_named && m->memory[i].handle == handle)
			return i;
	return -1;
}

static void m_add_region(struct model *m, int memory, uint64_t addr, uint64_t size, int is_map, uint64_t handle, uint64_t tag)
{
	int r = m->regions++, t, next;
	uint64_t after = 0;

	m_drop_older(m, addr, addr + size);
	m->region[r] = (struct m_region){ 1, is_map, memory, addr, addr + size, handle, tag };
	m_sweep(m);
	for (;;) { /* lowest first */
		for (next = -1, t = 0; t < m->tensors; t++)
			if (m->tensor[t].alive && m->tensor[t].addr >= after && m->tensor[t].end > m->tensor[t].addr &&
			    m_inside(m, t) < m->tensor[t].end - m->tensor[t].addr && memory >= 0 &&
			    m->tensor[t].device == m->memory[memory].device &&
			    (next < 0 || m->tensor[t].addr < m->tensor[next].addr))
				next = t;
		if (next < 0)
			break;
		m_enter(m, next, r);
		after = m->tensor[next].addr + 1;
	}
}

static void m_tensor_alloc(struct model *m, const struct mt_event *e, uint64_t tag)
{
	int t, r, next, me = m->tensors;
	uint64_t after = 0;

	for (t = 0; t < m->tensors; t++)
		if (m->tensor[t].alive && m->tensor[t].addr == e->addr && m->tensor[t].device == e->device)
			m_bury(m, t);
	m->tensor[m->tensors++] = (struct m_tensor){ 1, e->addr, e->addr + e->size, e->size, tag, (uint32_t)e->device };
	for (;; after = m->region[next].addr + 1) {
		for (next = -1, r = 0; r < m->regions; r++)
			if (m->region[r].alive && m->region[r].addr >= after &&
			    (next < 0 || m->region[r].addr < m->region[next].addr))
				next = r;
		if (next < 0)
			break;
		m_enter(m, me, next);
	}
}

static void m_driver_alloc(struct model *m, const struct mt_event *e, uint64_t tag)
{
	struct m_memory memory = { .alive = 1, .addr = e->addr, .size = e->size, .tag = tag,
				   .device = (uint32_t)e->device, .space = (uint32_t)e->flags };
	int i = m->memories++;

	if (!m_ranged(&memory)) {
		m_drop_older(m, e->addr, e->addr);
		m_sweep(m);
		memory.refs = 1;
	}
	m->memory[i] = memory;
	if (m_ranged(&memory))
		m_add_region(m, i, e->addr, e->size, 0, 0, tag);
}

static struct m_undo *m_undo(struct model *m, uint64_t key)
{
	struct m_undo *undo = &m->undo[m->undos++];

	*undo = (struct m_undo){ key, m->event, 0, -1, -1, 0 };
	return undo;
}

static void m_driver_free(struct model *m, uint64_t addr)
{
	struct m_undo *undo;
	int i;

	for (i = 0; i < m->memories; i++) {
		struct m_memory *memory = &m->memory[i];

		if (!memory->alive || memory->is_vmm || memory->addr != addr)
			continue;
		undo = m_undo(m, addr);
		undo->memory = i;
		undo->gone = 1;
		memory->alive = memory->refs = 0;
		for (i = 0; i < m->regions; i++)
			if (m->region[i].alive && m->region[i].memory == undo->memory)
				m_drop_region(m, i);
		return;
	}
}

static void m_create(struct model *m, const struct mt_event *e, uint64_t tag)
{
	int older = m_named(m, e->handle);

	if (older >= 0) {
		m->memory[older].is_named = m->memory[older].refs = 0;
		m_check_memory(m, older);
	}
	m->memory[m->memories++] = (struct m_memory){ .alive = 1, .is_vmm = 1, .is_named = 1, .refs = 1, .size = e->size,
						      .handle = e->handle, .tag = tag, .device = (uint32_t)e->device,
						      .space = (uint32_t)e->flags };
}

static void m_release(struct model *m, uint64_t handle)
{
	int i = m_named(m, handle);
	struct m_undo *undo;

	if (i < 0 || !m->memory[i].refs)
		return;
	undo = m_undo(m, handle);
	undo->memory = i;
	undo->handle = handle;
	m->memory[i].refs--;
	m_check_memory(m, i);
	undo->gone = !m->memory[i].alive;
}

static void m_retain(struct model *m, const struct mt_event *e)
{
	int i = -1, r, older;

	for (r = 0; r < m->regions; r++)
		if (m->region[r].alive && m->region[r].is_map && m->region[r].addr <= e->addr && e->addr < m->region[r].end)
			i = m->region[r].memory;
	if (i < 0)
		i = m_named(m, e->handle);
	if (i < 0)
		return;
	if (!m->memory[i].is_named || (m->memory[i].handle != e->handle && !m->memory[i].refs)) {
		older = m_named(m, e->handle);
		if (older >= 0) {
			m->memory[older].is_named = m->memory[older].refs = 0;
			m_check_memory(m, older);
		}
		m->memory[i].is_named = 1;
		m->memory[i].handle = e->handle;
	}
	m->memory[i].refs++;
}

static void m_unmap(struct model *m, const struct mt_event *e)
{
	uint64_t end = e->addr + (e->size ? e->size : 1), after = 0;
	int r, next;
	struct m_undo *undo;

	for (;;) {
		for (next = -1, r = 0; r < m->regions; r++)
			if (m->region[r].alive && m->region[r].is_map && m->region[r].addr >= after &&
			    m->region[r].addr < end && m->region[r].end > e->addr &&
			    (next < 0 || m->region[r].addr < m->region[next].addr))
				next = r;
		if (next < 0)
			break;
		after = m->region[next].end;
		undo = m_undo(m, e->addr);
		undo->region = next;
		undo->memory = m->region[next].memory;
		undo->handle = m->region[next].handle;
		m_drop_region(m, next);
		if (undo->memory >= 0) {
			undo->handle = m->memory[undo->memory].handle;
			m_check_memory(m, undo->memory);
			undo->gone = !m->memory[undo->memory].alive;
		}
	}
}

static int m_taken(const struct model *m, uint64_t addr, uint64_t end)
{
	int i;

	for (i = 0; i < m->memories; i++)
		if (m->memory[i].alive && !m->memory[i].is_vmm && m->memory[i].refs && m->memory[i].addr == addr)
			return 1;
	for (i = 0; i < m->regions; i++)
		if (m_meets(&m->region[i], addr, end))
			return 1;
	return 0;
}

static void m_keep_map(struct model *m, const struct m_undo *undo)
{
	struct m_memory *memory = undo->memory < 0 ? NULL : &m->memory[undo->memory];
	struct m_region region = m->region[undo->region];
	int holder = m_named(m, undo->handle);
	int there = memory && holder == undo->memory;

	if (m_taken(m, region.addr, region.end) || (!there && holder >= 0) || (!there && !undo->gone && memory))
		return;
	if (!there && undo->gone) {
		memory->alive = memory->is_named = 1;
		memory->refs = 0;
		memory->handle = undo->handle;
	}
	m_add_region(m, undo->memory, region.addr, region.end - region.addr, 1, undo->handle, region.tag);
}

static void m_keep_one(struct model *m, const struct m_undo *undo)
{
	struct m_memory *memory = undo->memory < 0 ? NULL : &m->memory[undo->memory];
	int holder = m_named(m, undo->handle);

	if (undo->region >= 0) {
		m_keep_map(m, undo);
	} else if (memory->is_vmm && holder == undo->memory) {
		memory->refs++;
	} else if (memory->is_vmm && undo->gone && holder < 0) {
		memory->alive = memory->is_named = memory->refs = 1;
		memory->handle = undo->handle;
	} else if (!memory->is_vmm && !m_taken(m, memory->addr, memory->addr + (m_ranged(memory) ? memory->size : 0))) {
		struct mt_event e = { .addr = memory->addr, .size = memory->size, .device = memory->device, .flags = memory->space };
		int seen = memory->seen;

		m_driver_alloc(m, &e, memory->tag);
		m->memory[m->memories - 1].seen |= seen;
	}
}

static void m_keep(struct model *m, uint64_t key)
{
	int i, first = m->undos > 64 ? m->undos - 64 : 0;
	uint64_t event = 0;

	for (i = first; i < m->undos; i++)
		if (m->undo[i].key == key)
			event = m->undo[i].event;
	for (i = m->undos - 1; event && i >= first; i--) {
		if (m->undo[i].event != event || !m->undo[i].key)
			continue;
		m->undo[i].key = 0;
		m_keep_one(m, &m->undo[i]);
		m->undo[i].event = 0;
	}
}

static void m_event(struct model *m, const struct mt_event *e, uint64_t tag)
{
	int t;

	m->event++;
	switch (e->kind) {
	case MT_TENSOR_ALLOC:
		m_tensor_alloc(m, e, tag);
		break;
	case MT_TENSOR_FREE:
		for (t = 0; t < m->tensors; t++)
			if (m->tensor[t].alive && m->tensor[t].addr == e->addr && m->tensor[t].device == e->device)
				m_bury(m, t);
		break;
	case MT_DRIVER_ALLOC:
		m_driver_alloc(m, e, tag);
		break;
	case MT_DRIVER_FREE:
		m_driver_free(m, e->addr);
		break;
	case MT_DRIVER_KEEP:
		m_keep(m, e->addr);
		break;
	case MT_VMM_CREATE:
		m_create(m, e, tag);
		break;
	case MT_VMM_RELEASE:
		m_release(m, e->handle);
		break;
	case MT_VMM_RETAIN:
		m_retain(m, e);
		break;
	case MT_VMM_MAP:
		if (e->size)
			m_add_region(m, m_named(m, e->handle), e->addr, e->size, 1, e->handle, tag);
		break;
	case MT_VMM_UNMAP:
		m_unmap(m, e);
		break;
	}
}

static void m_compare(const struct model *m, const struct mt_ledger *ledger, uint64_t tags)
{
	static int64_t want[TAGS][2];
	uint64_t held[4] = { 0 }, tensors[4] = { 0 }, holding[4] = { 0 }, pinned = 0;
	size_t count = 0;
	int i;

	memset(want, 0, sizeof(want));
	for (i = 0; i < m->memories; i++) {
		const struct m_memory *memory = &m->memory[i];

		if (!memory->alive)
			continue;
		count++;
		if (m_is_host(memory)) {
			pinned += memory->size;
			continue;
		}
		held[memory->device] += m_capacity(memory);
		want[memory->tag][memory->seen] += (int64_t)(m_capacity(memory) - m_used(m, i));
	}
	for (i = 0; i < m->regions; i++)
		count += m->region[i].alive && m->region[i].is_map;
	for (i = 0; i < m->tensors; i++) {
		const struct m_tensor *tensor = &m->tensor[i];

		if (!tensor->alive)
			continue;
		count++;
		held[tensor->device] += tensor->own;
		tensors[tensor->device] += tensor->end - tensor->addr;
		holding[tensor->device] += tensor->own + m_inside(m, i);
		want[tensor->tag][0] += (int64_t)(tensor->own + m_inside(m, i));
	}
	for (i = 0; i < 4; i++) {
		CHECK_EQ(mt_ledger_held(ledger, i), held[i]);
		CHECK_EQ(moved_device[i], held[i]);
		CHECK_EQ(mt_ledger_tensors(ledger, i), tensors[i]);
		CHECK_EQ(mt_ledger_nonresident(ledger, i), tensors[i] - holding[i]);
	}
	CHECK_EQ(mt_ledger_pinned(ledger), pinned);
	CHECK_EQ(mt_ledger_count(ledger), count);
	for (i = 0; (uint64_t)i <= tags; i++) {
		CHECK_EQ(moved[i][0], want[i][0]);
		CHECK_EQ(moved[i][1], want[i][1]);
	}
	CHECK(mt_ledger_check(ledger));
}

static uint64_t random_state;

static uint64_t below(uint64_t n)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (random_state >> 33) % n;
}

static struct mt_event random_event(void)
{
	static const uint32_t kinds[] = { MT_TENSOR_ALLOC, MT_TENSOR_ALLOC, MT_TENSOR_ALLOC, MT_TENSOR_FREE, MT_TENSOR_FREE,
					  MT_DRIVER_ALLOC, MT_DRIVER_ALLOC, MT_DRIVER_FREE, MT_DRIVER_KEEP, MT_VMM_CREATE,
					  MT_VMM_CREATE, MT_VMM_RELEASE, MT_VMM_RETAIN, MT_VMM_MAP, MT_VMM_MAP, MT_VMM_MAP,
					  MT_VMM_UNMAP, MT_VMM_UNMAP };
	static const uint32_t spaces[] = { MT_SPACE_DEVICE, MT_SPACE_DEVICE, MT_SPACE_DEVICE, MT_SPACE_DEVICE, MT_SPACE_ASYNC,
					   MT_SPACE_MANAGED, MT_SPACE_PINNED, MT_SPACE_ARRAY, MT_SPACE_IMPORTED, MT_SPACE_HOST };
	struct mt_event e = { .kind = kinds[below(MT_ARRAY_SIZE(kinds))] };

	e.device = below(8) ? 1 : below(3);
	e.addr = (1 + below(UNITS)) * UNIT;
	e.handle = (1 + below(6)) * UNIT; /* meets addresses: keeps must not confuse the two for long */
	e.size = below(10) ? (1 + below(8)) * UNIT : below(UNIT);
	if (e.kind == MT_DRIVER_ALLOC || e.kind == MT_VMM_CREATE) {
		e.flags = spaces[below(MT_ARRAY_SIZE(spaces))];
		e.size *= 2;
	}
	return e;
}

static void random_stream(uint64_t seed)
{
	static struct model model;
	struct mt_ledger *ledger = fresh();
	struct mt_ledger_change change;
	uint64_t tag;

	random_state = seed;
	memset(&model, 0, sizeof(model));
	for (tag = 1; tag <= 150; tag++) {
		struct mt_event event = random_event();

		event.seq = tag;
		CHECK_EQ(mt_ledger_event(ledger, &event, tag, 0, 0, &change), 0);
		m_event(&model, &event, tag);
		m_compare(&model, ledger, tag);
	}
	mt_ledger_free(ledger);
}

TEST(random_streams_agree_with_a_slow_model)
{
	uint64_t seed;

	for (seed = 1; seed <= 300; seed++)
		random_stream(seed);
}

/* ---- checkpoints ---- */

static int replay(void *context, const struct mt_live *live)
{
	struct mt_event event;

	mt_live_event(live, &event);
	return mt_ledger_event(context, &event, live->tag, live->phase, live->step, NULL);
}

TEST(checkpoint_builds_the_same_set)
{
	struct mt_ledger *ledger = fresh(), *copy = mt_ledger_new(NULL, NULL);
	uint64_t tag;
	uint32_t i;

	random_state = 4711;
	for (tag = 1; tag <= 1500; tag++) {
		struct mt_event event = random_event();

		event.seq = tag;
		CHECK_EQ(mt_ledger_event(ledger, &event, tag, 3, 4, NULL), 0);
		mt_ledger_clear(copy);
		CHECK_EQ(mt_ledger_each(ledger, replay, copy), 0);
		CHECK(mt_ledger_check(copy));
		CHECK_EQ(mt_ledger_count(copy), mt_ledger_count(ledger));
		CHECK_EQ(mt_ledger_pinned(copy), mt_ledger_pinned(ledger));
		for (i = 0; i < 4; i++) {
			CHECK_EQ(mt_ledger_held(copy, i), mt_ledger_held(ledger, i));
			CHECK_EQ(mt_ledger_tensors(copy, i), mt_ledger_tensors(ledger, i));
		}
	}
	mt_ledger_free(copy);
	mt_ledger_free(ledger);
}

TEST(checkpoint_keeps_who_sleeps_and_who_was_seen)
{
	struct mt_ledger *ledger = fresh(), *copy = mt_ledger_new(NULL, NULL);

	FEED(ledger, 1, VMM_CREATE, .device = 1, .handle = 7, .size = 4 * MIB);
	FEED(ledger, 2, VMM_MAP, .addr = 0x700000, .size = 4 * MIB, .handle = 7);
	FEED(ledger, 3, TENSOR_ALLOC, .device = 1, .addr = 0x700000, .size = 3 * MIB, .total = 3 * MIB);
	FEED(ledger, 4, TENSOR_ALLOC, .device = 1, .addr = 0x70000000, .size = MIB, .total = 4 * MIB);
	FEED(ledger, 0, VMM_UNMAP, .addr = 0x700000, .size = 4 * MIB);
	CHECK_EQ(mt_ledger_each(ledger, replay, copy), 0);
	CHECK_EQ(mt_ledger_held(copy, 1), 5 * MIB);
	CHECK_EQ(mt_ledger_slack(copy, 1), 4 * MIB);
	CHECK_EQ(mt_ledger_nonresident(copy, 1), 3 * MIB);
	mt_ledger_free(copy);
	mt_ledger_free(ledger);
}

TEST(many_tensors_in_any_order)
{
	enum { N = 20000 };
	struct mt_ledger *ledger = fresh();
	struct mt_event event = { .device = 1 };
	uint64_t i;

	event.kind = MT_DRIVER_ALLOC;
	event.addr = 1ull << 40;
	event.size = N * 512ull;
	CHECK_EQ(mt_ledger_event(ledger, &event, 1, 0, 0, NULL), 0);
	event.size = 512;
	for (i = 0; i < N; i++) {
		event.kind = MT_TENSOR_ALLOC;
		event.addr = (1ull << 40) + i * 7919 % N * 512;
		CHECK_EQ(mt_ledger_event(ledger, &event, 2, 0, 0, NULL), 0);
	}
	CHECK_EQ(mt_ledger_slack(ledger, 1), 0);
	CHECK(mt_ledger_check(ledger));
	for (i = 0; i < N; i++) {
		event.kind = MT_TENSOR_FREE;
		event.addr = (1ull << 40) + i * 104729 % N * 512;
		CHECK_EQ(mt_ledger_event(ledger, &event, 0, 0, 0, NULL), 0);
	}
	CHECK_EQ(mt_ledger_count(ledger), 1);
	CHECK_EQ(mt_ledger_slack(ledger, 1), N * 512);
	CHECK(mt_ledger_check(ledger));
	mt_ledger_free(ledger);
}

TEST_MAIN()
