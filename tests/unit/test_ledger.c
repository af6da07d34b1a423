/*
 * test_ledger.c - the ledger by examples, and against the model over random streams of sense and nonsense.
 */
#include "ledger_model.h"
#include "memtrace/base.h"
#include "memtrace/ledger.h"
#include "test.h"

#define KIB 1024ull
#define MIB (1024 * KIB)
#define TAGS 2048

/* The sums of the moves, by tag; [1]: slack. */
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

TEST(region_that_is_gone_takes_nothing)
{
	struct mt_ledger *ledger = fresh();
	uint64_t high = 1ull << 63;

	FEED(ledger, 1, DRIVER_ALLOC, .device = 1, .addr = high, .size = MIB);
	FEED(ledger, 2, TENSOR_ALLOC, .device = 1, .addr = high + 512, .size = 512, .total = 512);
	FEED(ledger, 0, TENSOR_FREE, .device = 1, .addr = high + 512, .size = 512, .total = 0);
	FEED(ledger, 0, DRIVER_FREE, .addr = high);
	FEED(ledger, 3, TENSOR_ALLOC, .device = 1, .addr = high + 512, .size = 512, .total = 512);
	CHECK_EQ(mt_ledger_held(ledger, 1), 512);
	CHECK_EQ(moved[3][0], 512);
	mt_ledger_free(ledger);
}

/* Its first and its last bytes lie in two stretches of 2 MiB, of which the newest regions are remembered. */
TEST(region_that_is_gone_is_not_remembered)
{
	struct mt_ledger *ledger = fresh();
	const uint64_t addr = 0x7fff00100000, second = addr + 5 * MIB / 4;

	FEED(ledger, 1, DRIVER_ALLOC, .device = 1, .addr = addr, .size = 3 * MIB / 2);
	FEED(ledger, 2, TENSOR_ALLOC, .device = 1, .addr = addr, .size = KIB, .total = KIB);
	FEED(ledger, 3, TENSOR_ALLOC, .device = 1, .addr = second, .size = KIB, .total = 2 * KIB);
	CHECK_EQ(moved[1][1], 3 * MIB / 2 - 2 * KIB);
	FEED(ledger, 0, TENSOR_FREE, .device = 1, .addr = addr, .size = KIB, .total = KIB);
	FEED(ledger, 0, TENSOR_FREE, .device = 1, .addr = second, .size = KIB, .total = 0);
	FEED(ledger, 0, DRIVER_FREE, .addr = addr);
	FEED(ledger, 4, TENSOR_ALLOC, .device = 1, .addr = addr, .size = KIB, .total = KIB);
	FEED(ledger, 5, TENSOR_ALLOC, .device = 1, .addr = second, .size = KIB, .total = 2 * KIB);
	CHECK_EQ(mt_ledger_held(ledger, 1), 2 * KIB);
	CHECK_EQ(moved[4][0] + moved[5][0], 2 * KIB);
	/* A tensor that begins below the next region is no hit for what begins there later. */
	FEED(ledger, 6, DRIVER_ALLOC, .device = 1, .addr = addr + 4 * MIB, .size = MIB);
	FEED(ledger, 7, TENSOR_ALLOC, .device = 1, .addr = addr + 3 * MIB, .size = 3 * MIB / 2,
	     .total = 2 * KIB + 3 * MIB / 2);
	FEED(ledger, 0, DRIVER_FREE, .addr = addr + 4 * MIB);
	FEED(ledger, 8, TENSOR_ALLOC, .device = 1, .addr = addr + 4 * MIB + 3 * MIB / 4, .size = KIB,
	     .total = 3 * KIB + 3 * MIB / 2);
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
	change = FEED(ledger, 0, DRIVER_KEEP, .addr = 0x20000, .result = 1);
	CHECK(change.born && change.born->tag == 3);
	CHECK_EQ(mt_ledger_held(ledger, 1), 0x4000);
	CHECK_EQ(mt_ledger_count(ledger), 5); /* both mappings */
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
	change = FEED(ledger, 1, TENSOR_ALLOC, .device = 1, .addr = 0x200, .size = 5, .flags = MT_FLAG_NO_TOTAL,
		      .total = 3);
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

TEST(a_free_has_a_total_when_its_allocation_had_one)
{
	struct mt_ledger *ledger = fresh();
	struct mt_ledger_change change;

	FEED(ledger, 1, TENSOR_ALLOC, .device = 1, .addr = 0x100, .size = 10, .total = 10);
	FEED(ledger, 1, TENSOR_ALLOC, .device = 1, .addr = 0x200, .size = 5, .flags = MT_FLAG_NO_TOTAL);
	change = FEED(ledger, 0, TENSOR_FREE, .device = 1, .addr = 0x200, .size = 5);
	CHECK(!change.total_known && !change.total_differs);
	change = FEED(ledger, 0, TENSOR_FREE, .device = 1, .addr = 0x300, .size = 7);
	CHECK(change.unknown && !change.total_known);
	change = FEED(ledger, 0, TENSOR_FREE, .device = 1, .addr = 0x100, .size = 10);
	CHECK(change.total_known && !change.total_differs);
	change = FEED(ledger, 1, TENSOR_ALLOC, .device = 1, .addr = 0x100, .size = 10, .total = 11);
	CHECK(change.total_known && change.total_differs);
	mt_ledger_free(ledger);
}

/* Two threads count under the allocator's lock and report after it, in the other order. */
TEST(the_first_event_may_be_the_second)
{
	struct mt_ledger *ledger = fresh();
	struct mt_ledger_change change;

	FEED(ledger, 1, TENSOR_ALLOC, .device = 1, .addr = 0x100, .size = 10, .total = 30);
	change = FEED(ledger, 1, TENSOR_ALLOC, .device = 1, .addr = 0x200, .size = 20, .total = 20);
	CHECK(change.total_differs);
	change = FEED(ledger, 1, TENSOR_ALLOC, .device = 1, .addr = 0x300, .size = 5, .total = 35);
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

/* An end cannot lie behind the last address: what claims to begin there is nowhere, like what begins at 0. */
TEST(nothing_lies_at_the_last_address)
{
	struct mt_ledger *ledger = fresh();

	FEED(ledger, 0, VMM_CREATE, .device = 1, .handle = 9, .size = MIB);
	FEED(ledger, 1, TENSOR_ALLOC, .device = 1, .addr = UINT64_MAX, .size = MIB);
	FEED(ledger, 2, DRIVER_ALLOC, .device = 1, .addr = UINT64_MAX, .size = MIB);
	FEED(ledger, 3, VMM_MAP, .addr = UINT64_MAX, .size = MIB, .handle = 9);
	CHECK_EQ(mt_ledger_count(ledger), 1);
	FEED(ledger, 4, DRIVER_ALLOC, .device = 1, .addr = UINT64_MAX - 1, .size = MIB);
	CHECK(FEED(ledger, 5, TENSOR_ALLOC, .device = 1, .addr = UINT64_MAX - 1, .size = MIB).born != NULL);
	CHECK_EQ(FEED(ledger, 0, DRIVER_FREE, .addr = UINT64_MAX - 1).died_count, 1);
	mt_ledger_free(ledger);
}

TEST(a_context_takes_along_what_was_allocated_in_it)
{
	struct mt_ledger *ledger = fresh();
	struct mt_ledger_change change;

	FEED(ledger, 1, DRIVER_ALLOC, .device = 1, .addr = 0x10000000, .size = 20 * MIB, .handle = 0xc1);
	FEED(ledger, 2, TENSOR_ALLOC, .device = 1, .addr = 0x10000000, .size = 12 * MIB, .total = 12 * MIB);
	FEED(ledger, 3, DRIVER_ALLOC, .device = 1, .addr = 0x8, .size = MIB, .flags = MT_SPACE_ARRAY, .handle = 0xc1);
	FEED(ledger, 4, DRIVER_ALLOC, .addr = 0x7f0000, .size = MIB, .flags = MT_SPACE_PINNED, .handle = 0xc1);
	FEED(ledger, 5, DRIVER_ALLOC, .device = 1, .addr = 0x20000000, .size = MIB, .handle = 0xc2);
	FEED(ledger, 6, DRIVER_ALLOC, .device = 1, .addr = 0x30000000, .size = MIB);
	FEED(ledger, 7, VMM_CREATE, .device = 1, .handle = 0xc1, .size = MIB); /* the same number, another thing */
	FEED(ledger, 8, DRIVER_ALLOC, .device = 1, .addr = 0x40000000, .size = MIB, .flags = MT_SPACE_GRAPH);
	CHECK_EQ(mt_ledger_held(ledger, 1), 25 * MIB);
	change = FEED(ledger, 0, CONTEXT_GONE, .device = 1, .handle = 0xc1);
	CHECK_EQ(change.died_count, 3);
	CHECK_EQ(mt_ledger_held(ledger, 1), 4 * MIB);
	CHECK_EQ(mt_ledger_pinned(ledger), 0);
	CHECK_EQ(mt_ledger_nonresident(ledger, 1), 12 * MIB);
	CHECK_EQ(moved[1][1], 0);
	CHECK_EQ(moved[2][0], 0);
	change = FEED(ledger, 0, CONTEXT_GONE, .device = 1, .handle = 0);
	CHECK(!change.died_count && mt_ledger_held(ledger, 1) == 4 * MIB);
	change = FEED(ledger, 0, DRIVER_FREE, .addr = 0x10000000);
	CHECK(change.unknown);
	mt_ledger_free(ledger);
}

TEST(what_is_opened_twice_is_closed_twice)
{
	struct mt_ledger *ledger = fresh();
	int sized;

	for (sized = 0; sized < 2; sized++) {
		uint64_t size = sized * MIB;

		FEED(ledger, 1, DRIVER_ALLOC, .device = 1, .addr = 0x9000, .size = size, .flags = MT_SPACE_IMPORTED);
		FEED(ledger, 1, DRIVER_ALLOC, .device = 1, .addr = 0x9000, .size = size, .flags = MT_SPACE_IMPORTED);
		CHECK_EQ(mt_ledger_count(ledger), 1);
		CHECK(!FEED(ledger, 0, DRIVER_FREE, .addr = 0x9000).died_count);
		CHECK(!FEED(ledger, 0, DRIVER_KEEP, .addr = 0x9000, .result = 1).unknown);
		CHECK(!FEED(ledger, 0, DRIVER_FREE, .addr = 0x9000).died_count);
		CHECK_EQ(FEED(ledger, 0, DRIVER_FREE, .addr = 0x9000).died_count, 1);
		CHECK(FEED(ledger, 0, DRIVER_FREE, .addr = 0x9000).unknown);
	}
	mt_ledger_free(ledger);
}

/* cuMemImportFromShareableHandle of what the process exported itself gives the same handle once more. */
TEST(importing_ones_own_is_one_reference_more)
{
	struct mt_ledger *ledger = fresh();

	FEED(ledger, 1, VMM_CREATE, .device = 1, .handle = 7, .size = MIB);
	FEED(ledger, 2, VMM_CREATE, .device = 1, .handle = 7, .size = MIB, .flags = MT_SPACE_IMPORTED);
	CHECK_EQ(mt_ledger_held(ledger, 1), MIB);
	FEED(ledger, 0, VMM_RELEASE, .handle = 7);
	CHECK_EQ(mt_ledger_held(ledger, 1), MIB);
	CHECK_EQ(FEED(ledger, 0, VMM_RELEASE, .handle = 7).died_count, 1);
	CHECK_EQ(mt_ledger_held(ledger, 1), 0);
	mt_ledger_free(ledger);
}

TEST(clearing_gives_back_what_was_held)
{
	struct mt_ledger *ledger = fresh();

	FEED(ledger, 1, DRIVER_ALLOC, .device = 1, .addr = 0x10000000, .size = 20 * MIB);
	FEED(ledger, 2, TENSOR_ALLOC, .device = 1, .addr = 0x10000000, .size = 12 * MIB);
	FEED(ledger, 3, TENSOR_ALLOC, .device = 2, .addr = 0x20000000, .size = MIB);
	FEED(ledger, 4, DRIVER_ALLOC, .addr = 0x7f0000, .size = MIB, .flags = MT_SPACE_PINNED);
	mt_ledger_clear(ledger);
	CHECK(!moved[1][0] && !moved[1][1] && !moved[2][0] && !moved[3][0]);
	CHECK(!moved_device[1] && !moved_device[2]);
	CHECK(mt_ledger_check(ledger) && !mt_ledger_pinned(ledger));
	mt_ledger_free(ledger);
}

/* ---- random streams against a slow model ---- */

#define UNIT 16ull
#define UNITS 48

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
	static const uint32_t kinds[] = { MT_TENSOR_ALLOC, MT_TENSOR_ALLOC, MT_TENSOR_ALLOC, MT_TENSOR_FREE,
					  MT_TENSOR_FREE,  MT_DRIVER_ALLOC, MT_DRIVER_ALLOC, MT_DRIVER_FREE,
					  MT_DRIVER_KEEP,  MT_VMM_CREATE,   MT_VMM_CREATE,   MT_VMM_RELEASE,
					  MT_VMM_RETAIN,   MT_VMM_MAP,      MT_VMM_MAP,      MT_VMM_MAP,
					  MT_VMM_UNMAP,    MT_VMM_UNMAP,    MT_CONTEXT_GONE };
	static const uint32_t spaces[] = { MT_SPACE_DEVICE,   MT_SPACE_DEVICE,  MT_SPACE_DEVICE,   MT_SPACE_DEVICE,
					   MT_SPACE_ASYNC,    MT_SPACE_MANAGED, MT_SPACE_PINNED,   MT_SPACE_ARRAY,
					   MT_SPACE_IMPORTED, MT_SPACE_HOST,    MT_SPACE_IMPORTED, MT_SPACE_GRAPH,
					   MT_SPACE_MULTICAST };
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

/* The watcher's last news, and how often. */
struct told {
	uint64_t addr, bytes;
	int times;
};

static void on_reside(void *context, const struct mt_live *tensor, uint64_t bytes)
{
	struct told *told = context;

	*told = (struct told){ .addr = tensor->addr, .bytes = bytes, .times = told->times + 1 };
}

#define CHECK_TOLD(told, tensor, many, how_often)  \
	do {                                       \
		CHECK_EQ((told).addr, tensor);     \
		CHECK_EQ((told).bytes, many);      \
		CHECK_EQ((told).times, how_often); \
	} while (0)

TEST(a_watcher_is_told_when_pages_go_and_come)
{
	struct mt_ledger *ledger = fresh();
	struct told told = { 0 };

	mt_ledger_watch(ledger, on_reside, &told);
	FEED(ledger, 1, VMM_CREATE, .device = 1, .handle = 9, .size = 4 * MIB);
	FEED(ledger, 1, VMM_MAP, .addr = 0x10000000, .size = 4 * MIB, .handle = 9);
	FEED(ledger, 2, TENSOR_ALLOC, .device = 1, .addr = 0x10000000, .size = 3 * MIB);
	FEED(ledger, 2, TENSOR_ALLOC, .device = 1, .addr = 0x90000000, .size = 3 * MIB);
	CHECK_EQ(told.times, 0); /* all of both is there */
	FEED(ledger, 0, VMM_UNMAP, .addr = 0x10000000, .size = 4 * MIB);
	CHECK_TOLD(told, 0x10000000, 0, 1);
	FEED(ledger, 1, VMM_CREATE, .device = 1, .handle = 10, .size = 2 * MIB);
	FEED(ledger, 1, VMM_MAP, .addr = 0x10000000, .size = 2 * MIB, .handle = 10);
	CHECK_TOLD(told, 0x10000000, 2 * MIB, 2);
	FEED(ledger, 1, VMM_MAP, .addr = 0x10200000, .size = 2 * MIB, .handle = 9);
	CHECK_TOLD(told, 0x10000000, 3 * MIB, 3);
	FEED(ledger, 0, TENSOR_FREE, .device = 1, .addr = 0x10000000);
	CHECK_EQ(told.times, 3); /* its death is no news of its pages */
	mt_ledger_clear(ledger);
	FEED(ledger, 2, LIVE, .value = MT_TENSOR_ALLOC, .device = 1, .addr = 0x10000000, .size = 3 * MIB,
	     .offset = 3 * MIB);
	CHECK_TOLD(told, 0x10000000, 0, 4);
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
