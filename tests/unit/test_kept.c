/* test_kept.c - the moment that a pass keeps for memana oom: what was alive, sums of what was over, and its reference. */
#include "rows/kept.h"
#include "test.h"

enum { PASSING = 1, REQUESTED, HELD, SITES }; /* sites; their stacks are 10 times as much */

static struct site site[SITES];
static struct analysis_device gpu;
static struct analysis_process process;
static struct analysis_oom oom[2];
static struct analysis analysis;
static uint64_t seq;

static struct kept *begin(void)
{
	uint32_t i;

	memset(&gpu, 0, sizeof(gpu));
	gpu.kind = MT_DEVICE_CUDA;
	gpu.used = 1;
	memset(&process, 0, sizeof(process));
	process.steps = 1;
	for (i = 1; i < SITES; i++)
		site[i].key.stack = 10 * i;
	analysis = (struct analysis){ .process = &process, .processes = 1, .device = &gpu, .devices = 1, .oom = oom };
	analysis.attribution.site = site;
	analysis.attribution.sites = SITES;
	seq = 0;
	return kept_new(&analysis, 0);
}

static struct mt_live born(uint32_t number, uint32_t step, uint64_t bytes)
{
	++seq;
	return (struct mt_live){
		.kind = MT_TENSOR_ALLOC, .tag = number, .seq = seq, .time = 100 * seq, .size = bytes, .step = step
	};
}

static void dies(struct kept *kept, const struct mt_live *live, uint32_t step)
{
	const struct mt_event event = { .kind = MT_TENSOR_FREE, .seq = ++seq, .time = 100 * seq };

	kept_gone(kept, 0, live, &event, step, 0, 0);
}

static void stays(struct kept *kept, const struct mt_live *live)
{
	kept_gone(kept, 0, live, NULL, 0, 0, 0);
}

static void spans(struct kept *kept, uint8_t phase, uint32_t step, uint64_t first, uint64_t last)
{
	const struct mt_event begin = { .seq = first, .time = 100 * first }, end = { .seq = last, .time = 100 * last };

	kept_span(kept, 0, phase, step, &begin, &end);
}

static void pass(struct kept *kept, uint32_t count, uint32_t step)
{
	struct mt_live live;

	while (count--) {
		live = born(PASSING, step, 512);
		dies(kept, &live, step);
	}
}

static void fails(struct kept *kept, uint32_t step, uint32_t kind)
{
	oom[analysis.ooms++] = (struct analysis_oom){
		.seq = ++seq, .time = 100 * (int64_t)seq, .stack = 10 * REQUESTED, .step = step, .kind = kind
	};
	kept_reached(kept, 0, 1);
}

static const struct kept_sum *sum_of(const struct kept_moment *moment, uint32_t number, int died)
{
	uint32_t i;

	for (i = 0; i < moment->sums; i++)
		if (moment->sum[i].site == number && moment->sum[i].died == died)
			return &moment->sum[i];
	return NULL;
}

/* One step with a call of the place in the middle of a forward; the next step fails at the same call. */
TEST(the_matching_call_is_the_reference)
{
	struct kept *kept = begin();
	struct kept_moment moment;
	struct mt_live call, there = born(HELD, 1, 4096), held = born(HELD, 1, 1000), late;
	uint64_t first;

	call = born(REQUESTED, 1, 2048);
	first = call.seq;
	dies(kept, &there, 1);
	dies(kept, &call, 1);
	spans(kept, MT_PHASE_FORWARD, 1, 1, seq);
	pass(kept, 10, 2);
	late = born(HELD, 2, 3000);
	fails(kept, 2, MT_TENSOR_OOM);
	dies(kept, &late, 2);
	pass(kept, 5, 2);
	spans(kept, MT_PHASE_FORWARD, 2, first + 3, seq);
	stays(kept, &held);
	CHECK(!kept_find(kept, &moment));
	CHECK(moment.there);
	CHECK_EQ(moment.seq, oom[0].seq);
	CHECK_EQ(moment.before, KEPT_SAME_PLACE);
	CHECK_EQ(moment.before_seq, first - 1);
	CHECK_EQ(moment.before_time, (int64_t)(100 * first));
	CHECK(moment.lives >= 2 && moment.life[0].seq == held.seq && moment.life[1].seq == late.seq);
	CHECK_EQ(sum_of(&moment, PASSING, 1)->freed, 10);
	CHECK_EQ(sum_of(&moment, HELD, 1)->freed, 1);
	CHECK_EQ(sum_of(&moment, HELD, 1)->before_bytes, 4096);
	CHECK_EQ(sum_of(&moment, HELD, 1)->largest, 4096);
	CHECK_EQ(sum_of(&moment, PASSING, 1)->largest, 0); /* all of them are of the step */
	CHECK_EQ(sum_of(&moment, REQUESTED, 1)->before_bytes, 0);
	kept_moment_release(&moment);
	kept_free(kept);
}

/* `between` deaths lie between the call and the request. */
static int is_kept(uint32_t between)
{
	struct kept *kept = begin();
	struct kept_moment moment;
	struct mt_live call = born(REQUESTED, 1, 2048);
	int there;

	dies(kept, &call, 1);
	spans(kept, MT_PHASE_FORWARD, 1, 1, seq);
	pass(kept, between, 2);
	spans(kept, MT_PHASE_BACKWARD, 2, 3, seq);
	fails(kept, 3, MT_TENSOR_OOM);
	spans(kept, MT_PHASE_FORWARD, 3, seq, seq);
	pass(kept, between, 3);
	CHECK(!kept_find(kept, &moment));
	there = moment.there;
	if (there) {
		CHECK_EQ(moment.before_seq, 0);
		CHECK_EQ(sum_of(&moment, PASSING, 1)->freed, between);
	}
	kept_moment_release(&moment);
	kept_free(kept);
	return there;
}

TEST(a_reference_that_is_too_old_is_not_guessed)
{
	CHECK(is_kept(100));
	CHECK(is_kept(KEPT_WINDOW / 2));
	CHECK(!is_kept(KEPT_WINDOW * 5));
}

/* Peak after peak, each with more than the window behind it: the newest is the one, and what was alive then. */
TEST(the_newest_peak_counts)
{
	struct kept *kept = begin();
	struct kept_moment moment;
	struct mt_live held[4];
	uint32_t i;

	for (i = 0; i < 4; i++) {
		pass(kept, KEPT_WINDOW * 2, i + 1);
		held[i] = born(HELD, i + 1, 1 << 20);
		gpu.peak.bytes += 1 << 20;
		gpu.peak.seq = seq;
		gpu.peak.time = 100 * (int64_t)seq;
		gpu.peak.step = i + 1;
		kept_reached(kept, 0, 0);
		spans(kept, MT_PHASE_FORWARD, i + 1, seq, seq);
	}
	dies(kept, &held[0], 4);
	pass(kept, KEPT_WINDOW * 4, 4);
	for (i = 1; i < 4; i++)
		stays(kept, &held[i]);
	CHECK(!kept_find(kept, &moment));
	CHECK(moment.there);
	CHECK_EQ(moment.seq, held[3].seq);
	CHECK(moment.lives >= 4);
	for (i = 0; i < 4; i++)
		CHECK_EQ(moment.life[i].seq, held[i].seq);
	CHECK_EQ(sum_of(&moment, PASSING, 1)->freed, 8 * KEPT_WINDOW);
	CHECK_EQ(sum_of(&moment, PASSING, 1)->largest, 512);
	kept_moment_release(&moment);
	kept_free(kept);
}

TEST(a_refusal_that_had_its_memory_is_not_the_moment)
{
	struct kept *kept = begin();
	struct kept_moment moment;

	fails(kept, 1, MT_TENSOR_OOM);
	pass(kept, 3, 1);
	fails(kept, 1, MT_DRIVER_FAIL);
	oom[1].had = 1;
	CHECK(!kept_find(kept, &moment));
	CHECK(moment.there);
	CHECK_EQ(moment.seq, oom[0].seq);
	CHECK_EQ(sum_of(&moment, PASSING, 1)->freed, 0);
	oom[1].had = 0;
	kept_moment_release(&moment);
	CHECK(!kept_find(kept, &moment));
	CHECK_EQ(moment.seq, oom[1].seq);
	CHECK_EQ(sum_of(&moment, PASSING, 1)->freed, 3);
	kept_moment_release(&moment);
	kept_free(kept);
}

/* Both are noted by their places in the log, which moves on. */
TEST(the_newest_given_back_is_known_when_the_log_has_moved_on)
{
	struct kept *kept = begin();
	struct kept_moment moment;
	struct mt_live memory = born(HELD, 1, 4096), newest;
	struct mt_event free_call = { .kind = MT_DRIVER_FREE, .seq = ++seq };

	memory.kind = MT_DRIVER_ALLOC;
	memory.flags = MT_SPACE_DEVICE;
	kept_gone(kept, 0, &memory, &free_call, 1, 7, 0);
	pass(kept, 4 * KEPT_WINDOW, 1);
	newest = born(HELD, 1, 100);
	dies(kept, &newest, 1);
	fails(kept, 1, MT_TENSOR_OOM);
	CHECK(!kept_find(kept, &moment));
	CHECK(moment.there);
	CHECK_EQ(moment.lives, 2);
	CHECK_EQ(moment.life[0].seq, newest.seq);
	CHECK_EQ(moment.life[0].free_node, 0);
	CHECK_EQ(moment.life[1].seq, memory.seq);
	CHECK_EQ(moment.life[1].free_node, 7);
	kept_moment_release(&moment);
	kept_free(kept);
}

/* Both GPUs have the same peak. The second has the lower number. */
static uint32_t fullest(uint64_t used_of_first)
{
	static struct analysis_device pair[2];
	struct kept *kept = begin();
	struct kept_moment moment;
	uint32_t i;

	for (i = 0; i < 2; i++)
		pair[i] = (struct analysis_device){ .kind = MT_DEVICE_CUDA,
						    .known = 1,
						    .used = 1,
						    .index = 1 - i,
						    .total = 100,
						    .peak = { .bytes = 50, .seq = 1 + i } };
	pair[0].most_used = used_of_first;
	analysis.device = pair;
	analysis.devices = 2;
	kept_reached(kept, 0, 0);
	kept_reached(kept, 1, 0);
	CHECK(!kept_find(kept, &moment));
	CHECK(moment.there);
	CHECK_EQ(moment.seq, 1 + moment.device);
	i = moment.device;
	kept_moment_release(&moment);
	kept_free(kept);
	return i;
}

TEST(the_moment_is_of_the_gpu_that_the_page_names)
{
	CHECK_EQ(fullest(0), 1);
	CHECK_EQ(fullest(50), 1);
	CHECK_EQ(fullest(60), 0);
}

TEST_MAIN()
