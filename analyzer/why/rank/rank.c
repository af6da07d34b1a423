#include "rank.h"

#include <stdlib.h>
#include <string.h>
#include "why/detect/detectors.h"

#define REPEATS 1      /* number of better rows of the same cause that push a row back */
#define WITHIN 80      /* percent of shared bytes: a better candidate with this share covers the candidate */
#define RANKED_MAX 256 /* most candidates to compare with each other */

static uint64_t kind_of(enum mt_cause cause)
{
	static const unsigned char kinds[MT_CAUSES] = {
#define KIND_ROW(name, function, kind, says) [MT_CAUSE_##name] = kind,
		DETECTOR_LIST(KIND_ROW)
#undef KIND_ROW
	};

	return kinds[cause];
}

/* Bytes in powers of eight: within a class, the kind of a cause tells more than its bytes. */
static uint64_t size_class(uint64_t bytes)
{
	uint64_t log = 0;

	while (bytes >>= 1)
		log++;
	return (64 - log) / 3;
}

static void set_key(const struct scene *scene, struct candidate *candidate)
{
	uint64_t excess = candidate->freed_high;

	candidate->key[RANK_DOUBT] = candidate->doubt != 0;
	candidate->key[RANK_PLAIN] = candidate->cause == MT_CAUSE_LARGEST;
	candidate->key[RANK_FITS] = scene->request.failure ? !candidate->fits : 0;
	candidate->key[RANK_NEED] = candidate->cause == MT_CAUSE_LARGEST ? 0 : candidate->need;
	candidate->key[RANK_KIND] = kind_of(candidate->cause);
	candidate->key[RANK_SHARE] = size_class(excess);
	candidate->key[RANK_KNOWN] = candidate->known;
	candidate->key[RANK_BYTES] = UINT64_MAX - excess;
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

/* Bytes that both candidates have. Parts are in the order of sites. */
static uint64_t shared(const struct candidate *one, const struct candidate *two)
{
	uint64_t bytes = 0, a, b;
	size_t i = 0, k = 0;

	while (i < one->parts && k < two->parts) {
		if (one->part[i].site == two->part[k].site) {
			a = one->part[i++].bytes;
			b = two->part[k++].bytes;
			bytes += a < b ? a : b;
		} else if (one->part[i].site < two->part[k].site) {
			i++;
		} else {
			k++;
		}
	}
	return bytes;
}

static int is_within(const struct candidate *candidate, const struct candidate *better)
{
	if (!candidate->parts || !better->parts || better->process != candidate->process)
		return 0;
	return shared(candidate, better) >= better->bytes / 100 * WITHIN ||
	       (candidate->cause == MT_CAUSE_LARGEST && shared(candidate, better) >= candidate->bytes / 100 * WITHIN);
}

static void sort(struct find *find)
{
	if (find->candidates)
		qsort(find->candidate, find->candidates, sizeof(*find->candidate), order);
}

/* A run of a thousand ranks has a thousand rows of each cause: keep the best. */
static void cut(struct find *find)
{
	while (find->candidates > RANKED_MAX)
		free(find->candidate[--find->candidates].part);
}

/* Three causes with one row each tell more than three rows of one cause. */
static void note_repeats(struct find *find)
{
	uint64_t better;
	size_t i, k;

	for (i = 0; i < find->candidates; i++) {
		for (better = k = 0; k < i; k++)
			better += find->candidate[k].cause == find->candidate[i].cause &&
				  find->candidate[k].within == SCENE_NONE &&
				  find->candidate[k].process == find->candidate[i].process;
		find->candidate[i].key[RANK_REPEAT] = better >= REPEATS ? better : 0;
	}
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
	sort(find);
	cut(find);
	note_within(find);
	note_repeats(find);
	sort(find);
	note_within(find);
}
