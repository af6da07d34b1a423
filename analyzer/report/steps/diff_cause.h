/*
 * diff_cause.h - the cause of a difference between two runs, by the bytes of their places:
 *
 *     data type   what init allocates, the weights, is as many allocations of twice (or half) the size
 *     tokens      the weights are the same; places of forward, log-probs and backward, as many allocations each, have all the
 *                 same factor, whatever it is
 *     copy        a new place has as many bytes, in as many allocations, as the weights of the other run, or their own place
 *                 has twice as many: they are there twice
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
	uint64_t bytes;             /* sum of the differences of the places with the cause */
	const struct diff_row *row; /* COPY: place of the copy; lives as long as the diff */
};

/* On the device with this number. */
struct diff_cause diff_cause(const struct diff *diff, int64_t device);

const char *diff_cause_word(enum diff_cause_kind kind);

#endif
