/* Samples that the collector hands in: their place among the events, their numbers, and when the collector looks. */
#include "collect/gpu_names.c"
#include "collect/gpu_sample.c"
#include "collect/host_sample.c"
#include "collect/nvml.c"
#include "collect/sampling.c"
#include "fold_kit.h"

#define SLOT_BYTES 65536u

static struct kit kit;
static uint32_t slot;

static void start(const struct mt_fold_options *options)
{
	kit_init(&kit, 2, SLOT_BYTES);
	slot = ring_builder_claim(&kit.builder);
	kit_open(&kit, options);
}

/* An allocation on GPU 0, folded. */
static void alloc(uint64_t addr)
{
	struct ring_event event = kit_event(MT_DRIVER_ALLOC);
	uint64_t folded;

	event.addr = addr << 12;
	event.size = 100;
	event.device_type = MT_DEVICE_CUDA;
	event.device_index = 0;
	event.time = 1000 * addr;
	ring_builder_event(&kit.builder, slot, event, NULL, NULL);
	CHECK(mt_fold_run(kit.fold, 0, &folded) >= 0);
	CHECK_EQ(folded, 1);
}

static int sample(uint64_t index, uint64_t used, uint64_t time)
{
	struct mt_event event = { .kind = MT_GPU_SAMPLE, .device = index, .size = used, .time = time, .flags = 1 };

	return mt_fold_sample(kit.fold, &event);
}

static void finish(void)
{
	CHECK(kit_run_final(&kit) >= 0);
	kit_close(&kit, MT_END_EXIT);
	kit_read(&kit, kit.trace);
}

TEST(a_sample_follows_the_newest_event_and_keeps_its_time)
{
	const struct mt_event *event;

	start(NULL);
	alloc(1);
	CHECK_EQ(mt_fold_held(kit.fold, 0), 100);
	CHECK_EQ(mt_fold_held(kit.fold, 1), -1);
	CHECK_EQ(sample(0, 77, 900), 0);
	alloc(2);
	CHECK_EQ(mt_fold_held(kit.fold, 0), 200);
	finish();
	event = kit_find(&kit, MT_GPU_SAMPLE, 0);
	CHECK(event != NULL);
	CHECK_EQ(event->size, 77);
	CHECK_EQ(event->time, 900);
	CHECK_EQ(event->device, kit_find(&kit, MT_DRIVER_ALLOC, 0)->device);
	CHECK(event->seq > 1ull << KIT_SHIFT && event->seq < 2ull << KIT_SHIFT);
	CHECK_EQ(kit_find(&kit, MT_DRIVER_ALLOC, 1)->time, 2000);
	kit_release(&kit);
}

/* Without ring events there are few numbers: samples leave some, and the newest of each device is not lost. */
TEST(samples_thin_out_where_no_events_come)
{
	struct mt_event host = { .kind = MT_HOST_SAMPLE, .size = 5 };
	const struct mt_event *event, *newest = NULL;
	uint64_t i;
	size_t count;

	start(NULL);
	alloc(1);
	for (i = 1; i <= 1000; i++)
		CHECK_EQ(sample(0, i, i), 0);
	host.time = 1001;
	CHECK_EQ(mt_fold_sample(kit.fold, &host), 0);
	/* An event that must not be missing still has its number. */
	atomic_store(&kit.builder.header->source_state[MT_SOURCE_CUPTI], MT_SOURCE_ON + 1);
	alloc(2);
	finish();
	for (count = 0; (event = kit_find(&kit, MT_GPU_SAMPLE, count)); count++)
		newest = event;
	CHECK(count > 10 && count < 60);
	CHECK_EQ(newest->size, 1000);
	CHECK(newest->seq > 2ull << KIT_SHIFT);
	CHECK(kit_find(&kit, MT_HOST_SAMPLE, 0) != NULL);
	CHECK(kit_find(&kit, MT_SOURCE, 0)->seq < 2ull << KIT_SHIFT);
	kit_release(&kit);
}

TEST(what_waits_is_written_at_the_end)
{
	const struct mt_event *event, *newest = NULL;
	uint64_t i;
	size_t count;

	start(NULL);
	alloc(1);
	for (i = 1; i <= 100; i++)
		CHECK_EQ(sample(0, i, i), 0);
	finish();
	for (count = 0; (event = kit_find(&kit, MT_GPU_SAMPLE, count)); count++)
		newest = event;
	CHECK_EQ(newest->size, 100);
	CHECK_EQ(kit_find(&kit, MT_END, 0)->seq, (1ull << KIT_SHIFT) + 63);
	kit_release(&kit);
}

TEST(skipped_steps_take_no_samples)
{
	const struct mt_fold_options options = { .skip = 1 };

	start(&options);
	alloc(1);
	CHECK_EQ(sample(0, 1, 1), 1);
	finish();
	CHECK(!kit_find(&kit, MT_GPU_SAMPLE, 0));
	kit_release(&kit);
}

TEST(what_is_worth_a_look_is_counted)
{
	static const uint32_t kinds[] = { MT_TENSOR_OOM, MT_DRIVER_NOTE, MT_CONTEXT_GONE, MT_DRIVER_FAIL, MT_MARK };
	struct ring_event event;
	uint64_t folded;
	size_t i;

	start(NULL);
	for (i = 0; i < MT_ARRAY_SIZE(kinds); i++) {
		event = kit_event(kinds[i]);
		event.result = kinds[i] == MT_DRIVER_FAIL ? 2 : 0;
		ring_builder_event(&kit.builder, slot, event, NULL, NULL);
		event.kind = MT_DRIVER_FAIL; /* for another reason */
		event.result = 1;
		ring_builder_event(&kit.builder, slot, event, NULL, NULL);
	}
	CHECK(mt_fold_run(kit.fold, 0, &folded) >= 0);
	CHECK_EQ(mt_fold_notable(kit.fold), 4);
	finish();
	kit_release(&kit);
}

/* ---- when to look ---- */

TEST(the_calm_rate)
{
	struct sampling s = { .asked = 1000 };

	CHECK(!sampling_is_due(&s, 1999, 0, 0)); /* nothing happens */
	CHECK(sampling_is_due(&s, 2000, 0, 0));
	s.events = 5; /* events come */
	CHECK(!sampling_is_due(&s, 1099, 5, 0));
	CHECK(sampling_is_due(&s, 1100, 5, 0));
	CHECK(!sampling_is_due(&s, 1019, 0, 0)); /* they came, and pause */
	CHECK(sampling_is_due(&s, 1020, 0, 0));
	s.asked_events = 5;
	CHECK(!sampling_is_due(&s, 1999, 0, 0));
	CHECK(!sampling_is_due(&s, 1009, 0, 1)); /* a call worth a look */
	CHECK(sampling_is_due(&s, 1010, 0, 1));
}

TEST(the_host_is_looked_at_no_sooner_after_a_pause)
{
	struct sampling s = { .host_looked = 1000 };

	CHECK(!sampling_host_is_due(&s, 1999, 0)); /* nothing happens */
	CHECK(sampling_host_is_due(&s, 2000, 0));
	s.events = 5; /* events came, whether they pause or not */
	CHECK(!sampling_host_is_due(&s, 1099, 0));
	CHECK(sampling_host_is_due(&s, 1100, 0));
	CHECK(!sampling_host_is_due(&s, 1009, 1)); /* a call worth a look */
	CHECK(sampling_host_is_due(&s, 1010, 1));
	s.host_events = 5;
	s.host_notable = 1;
	CHECK(!sampling_host_is_due(&s, 1999, 1));
}

TEST(looking_takes_a_hundredth_of_the_time_at_most)
{
	struct sampling s = { .asked = 1000, .micros = 20000, .events = 1 };

	CHECK(!sampling_is_due(&s, 2999, 1, 1));
	CHECK(sampling_is_due(&s, 3000, 1, 1));
}

TEST_MAIN()
