/* rank.h - measures what the removal of each candidate frees, and sorts the candidates. The order depends on the candidates alone. */
#ifndef MEMANA_WHY_RANK_H
#define MEMANA_WHY_RANK_H

#include "why/find/find.h"

/* Runs all detectors of detectors.h. Returns 0 or -MT_E_x. The caller calls find_release(), also after an error. */
int find_all(struct find *find, const struct scene *scene);

/* Fills freed_low, freed_high, fits, next_peak and fix of each candidate. */
void measure_all(struct find *find);

/* The candidate's question to the fixes of formats/why. */
struct mt_fix_question rank_question(const struct scene *scene, const struct candidate *candidate);

/* Sorts the candidates, best first, keeps at most 256, and sets `within` of those that a better candidate covers. */
void rank_all(struct find *find);

#define RANK_NOISE 2 /* a value of RANK_PLAIN: the candidate has too few bytes for a row next to another candidate */

/* Returns the bytes that two candidates have in common. Both arrays of parts are sorted by site. */
uint64_t rank_shared(const struct candidate_part *one, size_t ones, const struct candidate_part *two, size_t twos);

/* Whether the candidate is the request itself: no byte of it is resident. */
static inline int rank_is_request(const struct candidate *candidate)
{
	return !candidate->parts && candidate->fact[FACT_REQUESTED];
}

/* The parts of the key in their order, with the words of --why. A smaller value is better. */
#define RANK_KEY_LIST(X)                                                          \
	X(FITS, "fits")   /* 0: the request fits without these bytes */           \
	X(PLAIN, "plain") /* 1: many bytes and no other evidence, 2: noise */     \
	X(DOUBT, "doubt") /* 1: weak evidence */                                  \
	X(SHARE, "size")  /* class of bytes, largest first */                     \
	X(KIND, "kind")   /* kind of the detector (detectors.h) */                \
	X(NEED, "need")   /* never, later, now; of the largest, the start last */ \
	X(KNOWN, "known") /* census, rule, probable */                            \
	X(BYTES, "bytes")                                                         \
	X(CAUSE, "cause")                                                         \
	X(SITE, "site")

enum rank_key {
#define RANK_KEY_ENUM(name, word) RANK_##name,
	RANK_KEY_LIST(RANK_KEY_ENUM)
#undef RANK_KEY_ENUM
		RANK_KEYS
};

#endif
