/* The order of causes is strict: it depends on the candidates, not on the order in which detectors found them. */
#include <stdlib.h>
#include "memtrace/base.h"
#include "test.h"
#include "why/rank/rank.h"

#define CANDIDATES 60
#define SHUFFLES 50

static struct oom_failure failure;
static struct scene scene = { .request = { .failure = &failure, .missing = 1000 } };

/* Many have equal keys but for the last: bytes, kinds and needs are of few values. */
static void fill(struct find *find, struct candidate *candidate, struct candidate_part *part)
{
	uint32_t i;

	*find = (struct find){ .scene = &scene, .candidate = candidate, .candidates = CANDIDATES };
	for (i = 0; i < CANDIDATES; i++) {
		part[i] = (struct candidate_part){ .site = i, .bytes = 1024u << i % 3 };
		candidate[i] = (struct candidate){ .cause = (enum mt_cause)(i % 4),
						   .need = (enum mt_need)(i % 2),
						   .freed_high = part[i].bytes,
						   .bytes = part[i].bytes,
						   .fits = i % 5 == 0,
						   .within = SCENE_NONE,
						   .part = &part[i],
						   .parts = 1 };
	}
}

static void shuffle(struct candidate *candidate)
{
	struct candidate other;
	int i, k;

	for (i = CANDIDATES - 1; i > 0; i--) {
		k = rand() % (i + 1);
		other = candidate[i];
		candidate[i] = candidate[k];
		candidate[k] = other;
	}
}

TEST(the_order_is_strict)
{
	struct candidate candidate[CANDIDATES], shuffled[CANDIDATES];
	struct candidate_part part[CANDIDATES];
	struct find find, again;
	int i, round, different = 0;

	srand(1);
	fill(&find, candidate, part);
	rank_all(&find);
	for (round = 0; round < SHUFFLES; round++) {
		fill(&again, shuffled, part);
		shuffle(shuffled);
		rank_all(&again);
		for (i = 0; i < CANDIDATES; i++)
			different += candidate[i].part != shuffled[i].part;
	}
	CHECK_EQ(different, 0);
	for (i = 1; i < CANDIDATES; i++)
		CHECK(candidate[i - 1].fits >= candidate[i].fits);
}

TEST(a_part_of_a_better_one_is_no_row)
{
	struct candidate_part part[] = { { 1, 800 }, { 2, 200 }, { 1, 800 } };
	struct candidate candidate[] = {
		{ .cause = MT_CAUSE_GROWS,
		  .freed_high = 1000,
		  .bytes = 1000,
		  .fits = 1,
		  .within = SCENE_NONE,
		  .part = part,
		  .parts = 2 },
		{ .cause = MT_CAUSE_LARGEST,
		  .freed_high = 800,
		  .bytes = 800,
		  .need = MT_NEED_NOW,
		  .within = SCENE_NONE,
		  .part = part + 2,
		  .parts = 1 },
	};
	struct find find = { .scene = &scene, .candidate = candidate, .candidates = MT_ARRAY_SIZE(candidate) };

	rank_all(&find);
	CHECK_EQ(candidate[0].cause, MT_CAUSE_GROWS);
	CHECK_EQ(candidate[0].within, SCENE_NONE);
	CHECK_EQ(candidate[1].within, 0);
}

/* Bytes that came since the step before are a part of what grows, however few. Another detector's part has a row. */
TEST(a_part_of_growth_is_no_row)
{
	static const enum mt_cause better[] = { MT_CAUSE_GROWS, MT_CAUSE_TWICE };
	struct candidate_part part[] = { { 1, 800 }, { 2, 200 }, { 2, 200 } };
	struct candidate candidate[2];
	struct find find = { .scene = &scene, .candidate = candidate, .candidates = MT_ARRAY_SIZE(candidate) };
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(better); i++) {
		candidate[0] = (struct candidate){
			.cause = better[i], .bytes = 1000, .fits = 1, .part = part, .parts = 2
		};
		candidate[1] = (struct candidate){
			.cause = MT_CAUSE_MORE_THAN_BEFORE, .bytes = 200, .part = part + 2, .parts = 1
		};
		rank_all(&find);
		CHECK_EQ(candidate[0].cause, better[i]);
		CHECK_EQ(candidate[1].within, better[i] == MT_CAUSE_GROWS ? 0 : SCENE_NONE);
	}
}

/* Bytes of the start are the last of the largest in a class of bytes. A smaller class comes later. The request is not of the start. */
TEST(the_start_is_the_last_of_the_largest)
{
	static const uint64_t bytes[] = { 700, 600, 50 };
	struct candidate_part part[] = { { 1, 700 }, { 2, 600 }, { 3, 50 } };
	struct candidate candidate[MT_ARRAY_SIZE(bytes)];
	struct find find = { .scene = &scene, .candidate = candidate, .candidates = MT_ARRAY_SIZE(candidate) };
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(bytes); i++)
		candidate[i] = (struct candidate){ .cause = MT_CAUSE_LARGEST,
						   .phase = i ? MT_PHASE_FORWARD : MT_PHASE_INIT,
						   .freed_high = bytes[i],
						   .bytes = bytes[i],
						   .fits = 1,
						   .part = &part[i],
						   .parts = 1 };
	rank_all(&find);
	CHECK_EQ(candidate[0].bytes, 600);
	CHECK_EQ(candidate[1].bytes, 700);
	CHECK_EQ(candidate[2].bytes, 50);
	for (i = 0; i < MT_ARRAY_SIZE(bytes); i++) {
		candidate[i].phase = MT_PHASE_INIT;
		candidate[i].parts = candidate[i].bytes != 600;
	}
	rank_all(&find);
	CHECK_EQ(candidate[0].bytes, 600);
}

static struct candidate request_of(enum mt_cause cause, uint64_t bytes, int doubt)
{
	struct candidate candidate = { .cause = cause, .freed_high = bytes, .bytes = bytes, .within = SCENE_NONE };

	candidate.doubt = doubt;
	candidate.fits = 1;
	candidate.fact[FACT_REQUESTED] = 1000;
	return candidate;
}

/* Two detectors of the request make one row, unless the first one doubts. */
TEST(the_request_is_one_row)
{
	struct candidate candidate[] = { request_of(MT_CAUSE_OUTLIER, 1000, 0), request_of(MT_CAUSE_LOGITS, 2000, 0) };
	struct candidate doubtful[] = { request_of(MT_CAUSE_OUTLIER, 1000, 1), request_of(MT_CAUSE_LOGITS, 2000, 1) };
	struct find find = { .scene = &scene, .candidate = candidate, .candidates = MT_ARRAY_SIZE(candidate) };

	rank_all(&find);
	CHECK_EQ(candidate[0].within, SCENE_NONE);
	CHECK_EQ(candidate[1].within, 0);
	find.candidate = doubtful;
	rank_all(&find);
	CHECK_EQ(doubtful[1].within, SCENE_NONE);
}

TEST_MAIN()
