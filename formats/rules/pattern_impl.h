/* pattern_impl.h - a compiled pattern and its states; for formats/rules/pattern*.c only. */
#ifndef FORMATS_PATTERN_IMPL_H
#define FORMATS_PATTERN_IMPL_H

#include "pattern.h"

#include <stdint.h>

#define STATES_MAX \
	(2 * PATTERN_MAX + 4) /* two for each byte of the pattern; an empty state, a join and the match for the whole */
#define NOWHERE 0xffffu       /* no state */
#define ENDLESS UINT32_MAX    /* bytes: no bound */

_Static_assert(STATES_MAX < NOWHERE, "states are numbered in 16 bits");

struct set {
	uint64_t word[4]; /* one bit for each byte value */
};

/* The condition of a move from one state to the next. The first two take a byte of the text. */
enum move {
	MOVE_BYTE,  /* the next byte of the text is `byte` */
	MOVE_SET,   /* the next byte is in set number `other` */
	MOVE_FREE,  /* no byte: go on at `next` */
	MOVE_FORK,  /* no byte: go on at `next` and at `other` */
	MOVE_BEGIN, /* no byte: only at the beginning of the text */
	MOVE_END,   /* no byte: only at the end of the text */
	MOVE_MATCH, /* the text matches */
};

struct state {
	uint8_t move, byte;
	uint16_t next, other;
};

struct pattern {
	struct state *state;
	struct set *set;
	char *literal;   /* text that is in each match; NULL: none */
	uint32_t before; /* largest number of bytes that a match has before the literal */
	uint32_t states, sets;
	uint16_t start;
	uint8_t fold;          /* 1: `byte` and sets are in lower case */
	uint8_t only_at_begin; /* 1: each match starts at the beginning of the text */
	/* The possible first and second bytes of a match; all bytes if a match can be shorter. Index 1: of matches at the beginning of the text. */
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

/* Fills `first`, `second` and `only_at_begin`. All other members must be complete. */
void pattern_know_beginnings(struct pattern *pattern);

#endif
