#include "rank.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"
#include "why/detect/detectors.h"

#define WITHIN 80      /* percent of a better candidate's bytes: with as many in common, it covers the candidate */
#define TOLD 20        /* percent of a candidate's bytes: with fewer in common, no candidate covers it */
#define POOL_TIMES 16  /* times the missing bytes: larger pools count as equally large */
#define NOISE 100      /* divisor: one percent of the held bytes is noise, unless its removal makes the request fit */
#define TINY 1000      /* divisor: 0.1 % of the held bytes is noise for any request */
#define MINOR 16       /* divisor: without a failed request, fewer of the held bytes go behind the largest */
#define RANKED_MAX 256 /* largest number of candidates that are compared */

const struct detector detectors[MT_CAUSES] = {
#define DETECTOR_ROW(name, function, kind, says) [MT_CAUSE_##name] = { function, kind, says },
	DETECTOR_LIST(DETECTOR_ROW)
#undef DETECTOR_ROW
};

int find_all(struct find *find, const struct scene *scene)
{
	int cause;

	memset(find, 0, sizeof(*find));
	find->scene = scene;
	find->take = calloc(scene->sites + 1, sizeof(*find->take));
	find->expect = calloc(scene->sites + 1, sizeof(*find->expect));
	find->node_sum = calloc(scene->nodes + 1, sizeof(*find->node_sum));
	find->process_sum = calloc(scene->processes + 1, sizeof(*find->process_sum));
	if (!find->take || !find->expect || !find->node_sum || !find->process_sum)
		return -MT_E_MEMORY;
	if (!scene->processes)
		return 0;
	for (cause = 0; cause < MT_CAUSES; cause++) {
		find->cause = (enum mt_cause)cause;
		detectors[cause].run(find);
	}
	return find->failed;
}

/* A class is a factor of eight in bytes. Within a class, the kind of a cause says more than its bytes. */
static uint64_t size_class(uint64_t bytes)
{
	return ((uint64_t)__builtin_clzll(bytes | 1) + 1) / 3;
}

/* A pool counts at most as POOL_TIMES the missing bytes: a setting gives its size, and a smaller pool serves as well. */
static uint64_t weight_of(const struct scene *scene, const struct candidate *candidate)
{
	uint64_t excess = candidate->freed_high, most = scene->request.missing * POOL_TIMES;

	return candidate->cause == MT_CAUSE_ENGINE_SHARE && most < excess ? most : excess;
}

/* Whether the candidate has less than 1/part of the held bytes. Growth counts by its rate. */
static int is_below(const struct scene *scene, const struct candidate *candidate, uint64_t part)
{
	return candidate->parts && candidate->cause != MT_CAUSE_GROWS && candidate->freed_high < scene->held / part;
}

static void set_key(const struct scene *scene, struct candidate *candidate)
{
	candidate->key[RANK_DOUBT] = candidate->doubt != 0;
	candidate->key[RANK_PLAIN] = is_below(scene, candidate, candidate->fits ? TINY : NOISE)
					     ? RANK_NOISE
					     : candidate->cause == MT_CAUSE_LARGEST ||
						       (!scene->request.failure && is_below(scene, candidate, MINOR));
	candidate->key[RANK_FITS] = scene->request.failure ? !candidate->fits : 0;
	/* The largest are all needed now. Bytes of the start had room in all steps since, and hardly can be fewer. */
	candidate->key[RANK_NEED] = candidate->cause == MT_CAUSE_LARGEST
					    ? candidate->parts && mt_phase_is_early(candidate->phase)
					    : candidate->need;
	candidate->key[RANK_KIND] = detectors[candidate->cause].kind;
	candidate->key[RANK_SHARE] = size_class(weight_of(scene, candidate));
	candidate->key[RANK_KNOWN] = candidate->known;
	candidate->key[RANK_BYTES] = UINT64_MAX - candidate->freed_high;
	candidate->key[RANK_CAUSE] = candidate->cause;
	candidate->key[RANK_SITE] = (uint64_t)candidate->process << 32 |
				    (candidate->parts ? candidate->part[0].site : SCENE_NONE);
}

static int order(const void *one, const void *two)
{
	const struct candidate *a = one, *b = two;
	int i;

	for (i = 0; i < RANK_KEYS; i++)
		if (a->key[i] != b->key[i])
			return a->key[i] < b->key[i] ? -1 : 1;
	return 0;
}

uint64_t rank_shared(const struct candidate_part *one, size_t ones, const struct candidate_part *two, size_t twos)
{
	const struct candidate_part *end = one + ones, *last = two + twos;
	uint64_t bytes = 0;
	int side;

	while (one < end && two < last) {
		side = MT_ORDER(one->site, two->site);
		if (!side)
			bytes += one->bytes < two->bytes ? one->bytes : two->bytes;
		one += side <= 0;
		two += side >= 0;
	}
	return bytes;
}

/* The logits of one loss: log_softmax, its backward and the gradient are made one from the other, and one action makes all of them fewer. */
static int is_one_loss(const struct candidate *candidate, const struct candidate *better)
{
	return candidate->cause == MT_CAUSE_LOGITS && better->cause == MT_CAUSE_LOGITS &&
	       candidate->process == better->process && candidate->fix && better->fix &&
	       candidate->fix->action == better->fix->action;
}

static int is_within(const struct candidate *candidate, const struct candidate *better)
{
	uint64_t shared = rank_shared(candidate->part, candidate->parts, better->part, better->parts);

	if (is_one_loss(candidate, better))
		return 1;
	if (rank_is_request(candidate) && rank_is_request(better))
		return better->cause != MT_CAUSE_LARGEST && (!better->doubt || candidate->cause == MT_CAUSE_LARGEST);
	if (!candidate->parts || !better->parts || better->process != candidate->process)
		return 0;
	return (shared >= better->bytes / 100 * WITHIN && shared >= candidate->bytes / 100 * TOLD) ||
	       ((candidate->cause == MT_CAUSE_LARGEST || better->cause == MT_CAUSE_GROWS ||
		 (candidate->fix && candidate->fix == better->fix)) &&
		shared >= candidate->bytes / 100 * WITHIN);
}

static void note_within(struct find *find)
{
	size_t i, k;

	for (i = 0; i < find->candidates; i++) {
		find->candidate[i].within = SCENE_NONE;
		for (k = 0; k < i && find->candidate[i].within == SCENE_NONE; k++)
			if (find->candidate[k].within == SCENE_NONE &&
			    is_within(&find->candidate[i], &find->candidate[k]))
				find->candidate[i].within = (uint32_t)k;
	}
}

void rank_all(struct find *find)
{
	size_t i;

	for (i = 0; i < find->candidates; i++)
		set_key(find->scene, &find->candidate[i]);
	if (find->candidates)
		qsort(find->candidate, find->candidates, sizeof(*find->candidate), order);
	/* A run of a thousand ranks has a thousand rows of each cause: keep the best. */
	while (find->candidates > RANKED_MAX)
		free(find->candidate[--find->candidates].part);
	note_within(find);
}
