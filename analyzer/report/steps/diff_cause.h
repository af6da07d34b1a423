/*
 * diff_cause.h - finds the cause of a difference between two runs by the bytes of their places.
 *
 *     data type  places of init (the weights) have the same number of allocations, with twice or half the bytes
 *     tokens     the weights are equal; places of forward, log-probs and backward have the same number of allocations,
 *                and their bytes differ by one factor
 *     copy       a new place has as many allocations and bytes as the other run's weights; or the place of the weights
 *                has twice as many: the run has the weights twice
 */
#ifndef MEMANA_DIFF_CAUSE_H
#define MEMANA_DIFF_CAUSE_H

#include "diff.h"

/* X(NAME, word in JSON) */
#define DIFF_CAUSE_LIST(X)  \
	X(UNKNOWN, "")      \
	X(DTYPE, "dtype")   \
	X(TOKENS, "tokens") \
	X(COPY, "copy")

enum diff_cause_kind {
#define DIFF_CAUSE_ENUM(name, word) DIFF_CAUSE_##name,
	DIFF_CAUSE_LIST(DIFF_CAUSE_ENUM)
#undef DIFF_CAUSE_ENUM
};

struct diff_cause {
	enum diff_cause_kind kind;
	double factor;              /* DTYPE, TOKENS: bytes in B divided by bytes in A */
	uint64_t bytes;             /* sum of the differences at the places with this cause */
	const struct diff_row *row; /* COPY: place of the copy; lives as long as the diff */
};

/* Returns the cause of the difference on the device with this number. */
struct diff_cause diff_cause(const struct diff *diff, int64_t device);

const char *diff_cause_word(enum diff_cause_kind kind);

#endif
