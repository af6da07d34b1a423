/* rank.h - the bytes that the removal of each candidate frees, and one strict order: it depends on the candidates alone. */
#ifndef MEMANA_WHY_RANK_H
#define MEMANA_WHY_RANK_H

#include "why/find/find.h"

/* Runs all detectors of detectors.h. 0 or -MT_E_x. find_release() in any case. */
int find_all(struct find *find, const struct scene *scene);

/* Fills freed, fits, next peak and fix of each candidate. */
void measure_all(struct find *find);

/* The question for the candidate's fixes. */
struct mt_fix_question rank_question(const struct scene *scene, const struct candidate *candidate);

/* Sorts the candidates, best first, and marks those within a better one. */
void rank_all(struct find *find);

/* Whether the bytes are too few to tell of beside another candidate. After rank_all(). */
int rank_is_noise(const struct candidate *candidate);

/* Bytes that both have. Parts are in the order of sites. */
uint64_t rank_shared(const struct candidate_part *one, size_t ones, const struct candidate_part *two, size_t twos);

/* Whether the candidate is the request itself: no byte of it is resident. */
static inline int rank_is_request(const struct candidate *candidate)
{
	return !candidate->parts && candidate->fact[FACT_REQUESTED];
}

/* The parts of the key in their order, with the words of --why. */
#define RANK_KEY_LIST(X)                                                       \
	X(FITS, "fits")   /* 0: without these bytes the request fits */        \
	X(PLAIN, "plain") /* 1: many bytes without other evidence, 2: noise */ \
	X(DOUBT, "doubt") /* 1: weak evidence */                               \
	X(SHARE, "size")  /* bytes in powers of eight, many first */           \
	X(KIND, "kind")   /* certainty of the detector (detectors.h) */        \
	X(NEED, "need")   /* never, later, now */                              \
	X(KNOWN, "known") /* census, rule, probable */                         \
	X(BYTES, "bytes")                                                      \
	X(CAUSE, "cause")                                                      \
	X(SITE, "site")

enum rank_key {
#define RANK_KEY_ENUM(name, word) RANK_##name,
	RANK_KEY_LIST(RANK_KEY_ENUM)
#undef RANK_KEY_ENUM
		RANK_KEYS
};

#endif
