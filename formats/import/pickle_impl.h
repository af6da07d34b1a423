/* pickle_impl.h - the values of a pickle and the machine's state, shared by the files of pickle. */
#ifndef FORMATS_PICKLE_IMPL_H
#define FORMATS_PICKLE_IMPL_H

#include "pickle.h"

enum { VALUE_NONE, VALUE_FALSE, VALUE_TRUE, VALUES_FIXED };

struct value {
	uint32_t type;  /* enum pickle_type */
	uint32_t count; /* bytes of a text, items of a container (a pair is two) */
	union {
		int64_t number;
		double real;
		const char *text; /* in the file */
		pickle_id *item;  /* NULL: none yet */
	};
};

/* Items of many containers, one after the other; those of a large one have a block of their own. */
struct block {
	struct block *next;
	size_t left; /* items at its end that are not taken */
	pickle_id item[];
};

/* Growing array of numbers. */
struct ids {
	uint32_t *id;
	size_t count, room;
};

struct pickle {
	const unsigned char *data;
	size_t size, at;
	struct value *value;
	size_t values, room;
	struct ids stack, marks, memo; /* marks: heights of the stack */
	struct block *blocks;          /* the newest first */
	int stopped;
};

/*
 * Runs the pickle's opcodes from pickle->at to STOP; pickle->at is then behind them, or where it failed. A pickle that breaks off
 * or is damaged gives what stands before, and *damage is -MT_E_TRUNCATED or -MT_E_CORRUPT. -MT_E_MEMORY, -MT_E_LIMIT,
 * -MT_E_REFUSED, or *damage itself where nothing stands before it (pickle_machine.c).
 */
int pickle_run(struct pickle *pickle, int *damage);

/* Runs the opcodes that pickle_plain.c knows, up to one that it leaves to pickle_run. */
void pickle_plain(struct pickle *pickle);

#endif
