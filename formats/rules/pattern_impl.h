/* pattern_impl.h - a compiled pattern and its states; for formats/pattern*.c only. */
#ifndef FORMATS_PATTERN_IMPL_H
#define FORMATS_PATTERN_IMPL_H

#include "pattern.h"

#include <stdint.h>

#define STATES_MAX \
	(2 * PATTERN_MAX + 4) /* one state for each byte; for the whole pattern an empty state, a join and the match */
#define NOWHERE 0xffffu       /* no state */
#define ENDLESS UINT32_MAX    /* bytes */

_Static_assert(STATES_MAX < NOWHERE, "states are numbered in 16 bits");

struct set {
	uint64_t word[4]; /* a bit for each byte */
};

/* The condition for a move from a state to the next one. The first two wait for a byte. */
enum move {
	MOVE_BYTE,  /* the next byte of the text is `byte` */
	MOVE_SET,   /* .. is in the set of number `other` */
	MOVE_FREE,  /* nothing */
	MOVE_FORK,  /* no byte: go on at `next` and at `other` */
	MOVE_BEGIN, /* no byte: only at the beginning of the text */
	MOVE_END,   /* .. the end */
	MOVE_MATCH, /* the text matches */
};

struct state {
	uint8_t move, byte;
	uint16_t next, other;
};

struct pattern {
	struct state *state;
	struct set *set;
	char *literal;   /* text in every match; NULL: none */
	uint32_t before; /* most bytes of a match before the literal */
	uint32_t states, sets;
	uint16_t start;
	uint8_t fold;          /* `byte` and sets are lower case */
	uint8_t only_at_begin; /* every match begins at the beginning of the text */
	/*
	 * Possible first two bytes of a match; all bytes if a match may end before. Index 1: matches at the text's
	 * beginning.
	 */
	struct set first[2], second[2];
};

static inline void set_add(struct set *set, unsigned char byte)
{
	set->word[byte >> 6] |= 1ull << (byte & 63);
}

static inline int set_has(const struct set *set, unsigned char byte)
{
	return set->word[byte >> 6] >> (byte & 63) & 1;
}

static inline unsigned char fold_byte(unsigned char byte)
{
	return byte >= 'A' && byte <= 'Z' ? (unsigned char)(byte + ('a' - 'A')) : byte;
}

/* Fills in `first`, `second` and `only_at_begin` of a pattern that is complete otherwise. */
void pattern_know_beginnings(struct pattern *pattern);

#endif
