/* pickle_impl.h - the values of a pickle and the state of its machine, shared by the files of pickle.h. */
#ifndef FORMATS_PICKLE_IMPL_H
#define FORMATS_PICKLE_IMPL_H

#include "pickle.h"

enum { VALUE_NONE, VALUE_FALSE, VALUE_TRUE, VALUES_FIXED };

struct value {
	uint32_t type;  /* enum pickle_type */
	uint32_t count; /* bytes of a text; items of a container, with two for each pair */
	union {
		int64_t number;
		const char *text; /* part of the mapped file */
		pickle_id *item;  /* NULL: no items so far */
	};
};

/* Items of several containers, one after the other. A large container has a block of its own. */
struct block {
	struct block *next;
	size_t left; /* number of free items; they are at the end */
	pickle_id item[];
};

/* A growing array of numbers. */
struct ids {
	uint32_t *id;
	size_t count, room;
};

struct pickle {
	const unsigned char *data;
	size_t size, at;
	struct value *value;
	size_t values, room;
	struct ids stack, marks, memo; /* marks: heights of the stack at the open marks */
	struct block *blocks;          /* newest first */
	int stopped;
};

/*
 * Runs the pickle's opcodes from pickle->at to STOP. pickle->at is then after STOP, or where the run failed. If the pickle is torn or damaged, the
 * values before the damage stay, and *damage is -MT_E_TRUNCATED or -MT_E_CORRUPT. Returns 0, -MT_E_MEMORY, -MT_E_LIMIT, -MT_E_REFUSED, or *damage if
 * no value is before it (pickle_machine.c).
 */
int pickle_run(struct pickle *pickle, int *damage);

/* Runs opcodes that pickle_plain.c has, up to the first one that pickle_run must run. */
void pickle_plain(struct pickle *pickle);

#endif
