/* test_fold_before.c - memrec attach, memrec start: what was there before becomes the live set that the trace begins with. */
#include "fold_kit.h"
#include "memtrace/summary.h"

static struct kit kit;

static void put(enum ring_record_kind record, uint32_t kind, uint64_t addr, uint64_t size, uint64_t value)
{
	struct ring_event event = kit_event(kind);

	if (kind != MT_MARK) {
		event.device_type = MT_DEVICE_CUDA;
		event.device_index = 0;
	}
	event.thread = 1;
	event.time = 100;
	event.addr = addr;
	event.size = size;
	event.value = value;
	ring_builder_record(&kit.builder, 0, event, record);
}

static void begin(void)
{
	kit_init(&kit, 1, 1 << 16);
	ring_builder_thread(&kit.builder, 1, 77, "main");
	put(RING_BEFORE, MT_MARK, 0, 0, RING_BEFORE_BEGINS);
}

static void finish(void)
{
	put(RING_BEFORE, MT_MARK, 0, 0, RING_BEFORE_ENDS);
	put(RING_EVENT, MT_TENSOR_ALLOC, 0x9000, 9, 0);
	kit_fold(&kit, NULL);
}

/* Bytes at the address in the live set that the trace begins with. */
static uint64_t alive(uint64_t addr)
{
	const struct mt_event *events;
	uint64_t bytes = 0;
	size_t count, i;
	int checkpoint;

	mt_reader_rewind(kit.reader);
	while (!mt_reader_next(kit.reader, &events, &count, &checkpoint) && count)
		for (i = 0; i < count && checkpoint; i++)
			if (events[i].addr == addr && events[i].phase == MT_PHASE_BEFORE)
				bytes += events[i].size;
	return bytes;
}

TEST(what_was_told_is_alive_and_no_event)
{
	begin();
	put(RING_BEFORE, MT_DRIVER_ALLOC, 0x1000, 0x1000, 0);
	put(RING_BEFORE, MT_TENSOR_ALLOC, 0x1000, 512, 0);
	put(RING_BEFORE, MT_TENSOR_ALLOC, 0x1200, 1024, 0);
	finish();
	CHECK_EQ(alive(0x1000), 0x1000 + 512);
	CHECK_EQ(alive(0x1200), 1024);
	CHECK_EQ(kit_find(&kit, MT_TENSOR_ALLOC, 0)->size, 9);
	CHECK(!kit_find(&kit, MT_TENSOR_ALLOC, 1));
	CHECK(!kit_find(&kit, MT_MARK, 0));
	CHECK_EQ(kit.summary.lost, 0);
	kit_release(&kit);
}

/* The answer is older than the events of other threads that came in between. */
TEST(an_event_knows_better)
{
	begin();
	put(RING_EVENT, MT_TENSOR_FREE, 0x1000, 512, 0);  /* in the answer still */
	put(RING_EVENT, MT_TENSOR_ALLOC, 0x2000, 700, 0); /* in it already */
	put(RING_EVENT, MT_TENSOR_ALLOC, 0x3000, 800, 0); /* came and went */
	put(RING_EVENT, MT_TENSOR_FREE, 0x3000, 800, 0);
	put(RING_BEFORE, MT_TENSOR_ALLOC, 0x1000, 512, 0);
	put(RING_BEFORE, MT_TENSOR_ALLOC, 0x2000, 700, 0);
	put(RING_BEFORE, MT_TENSOR_ALLOC, 0x3000, 800, 0);
	put(RING_BEFORE, MT_TENSOR_ALLOC, 0x4000, 900, 0);
	put(RING_EVENT, MT_TENSOR_FREE, 0x4000, 900, 0); /* after it was told */
	put(RING_BEFORE, MT_TENSOR_ALLOC, 0x5000, 1000, 0);
	finish();
	CHECK_EQ(alive(0x1000), 0);
	CHECK_EQ(alive(0x2000), 0); /* alive, by its own event */
	CHECK_EQ(alive(0x3000), 0);
	CHECK_EQ(alive(0x4000), 0);
	CHECK_EQ(alive(0x5000), 1000);
	CHECK_EQ(kit.summary.peak_bytes, 700 + 1000 + 9);
	kit_release(&kit);
}

/* No end comes: the process has ended. */
TEST(a_telling_without_an_end)
{
	begin();
	put(RING_BEFORE, MT_TENSOR_ALLOC, 0x1000, 512, 0);
	put(RING_EVENT, MT_TENSOR_ALLOC, 0x2000, 700, 0);
	kit_fold(&kit, NULL);
	CHECK_EQ(alive(0x1000), 512);
	CHECK_EQ(kit_find(&kit, MT_END, 0)->value, MT_END_EXIT);
	kit_release(&kit);
}

/* A ring may be a stranger's: a telling belongs to the begin of a recording. */
TEST(a_telling_in_the_middle_says_nothing)
{
	kit_init(&kit, 1, 1 << 16);
	ring_builder_thread(&kit.builder, 1, 77, "main");
	put(RING_EVENT, MT_TENSOR_ALLOC, 0x8000, 8, 0);
	put(RING_BEFORE, MT_MARK, 0, 0, RING_BEFORE_BEGINS);
	put(RING_BEFORE, MT_TENSOR_ALLOC, 0x1000, 512, 0);
	put(RING_BEFORE, MT_RANGE_PUSH, 0x1000, 512, 0);
	finish();
	CHECK_EQ(alive(0x1000), 0);
	CHECK_EQ(kit_find(&kit, MT_TENSOR_ALLOC, 0)->size, 8);
	CHECK_EQ(kit_find(&kit, MT_TENSOR_ALLOC, 1)->size, 9);
	CHECK_EQ(kit.summary.lost, 0);
	kit_release(&kit);
}

static int take_peak(void *context, const struct mt_summary *summary)
{
	if (summary->why == MT_SUMMARY_STEP && summary->devices)
		*(uint64_t *)context = summary->device[0].peak;
	return 0;
}

/* Memory that came and went while it was told is not in the trace. The peak of that step begins with the live set. */
TEST(a_peak_while_it_was_told_is_of_no_step)
{
	uint64_t peak = 0;

	begin();
	put(RING_EVENT, MT_TENSOR_ALLOC, 0x3000, 5000, 0);
	put(RING_EVENT, MT_TENSOR_FREE, 0x3000, 5000, 0);
	put(RING_BEFORE, MT_TENSOR_ALLOC, 0x4000, 900, 0);
	put(RING_BEFORE, MT_MARK, 0, 0, RING_BEFORE_ENDS);
	put(RING_EVENT, MT_STEP_MARK, 0, 0, 0);
	finish();
	CHECK_EQ(mt_reader_summaries(kit.reader, take_peak, &peak), 0);
	CHECK_EQ(peak, 900);
	kit_release(&kit);
}

/* memrec start: a further recording in the same ring has a telling of its own. */
TEST(a_telling_of_a_further_recording)
{
	kit_init(&kit, 1, 1 << 16);
	ring_builder_thread(&kit.builder, 1, 77, "main");
	kit.builder.header->first_seq = 41;
	atomic_store(&kit.builder.header->next_seq, 41);
	put(RING_BEFORE, MT_MARK, 0, 0, RING_BEFORE_BEGINS);
	put(RING_BEFORE, MT_TENSOR_ALLOC, 0x1000, 512, 0);
	finish();
	CHECK_EQ(alive(0x1000), 512);
	CHECK_EQ(kit_find(&kit, MT_TENSOR_ALLOC, 0)->size, 9);
	kit_release(&kit);
}

TEST_MAIN()
