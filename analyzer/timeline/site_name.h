/*
 * site_name.h - what a person calls a place, from the definitions of a trace: before any symbol is looked up. Names are long
 * and many stacks have the same ones, so what comes of a frame is kept, by its number.
 */
#ifndef MEMANA_SITE_NAME_H
#define MEMANA_SITE_NAME_H

#include <stdint.h>
#include "base/tuple.h"
#include "memtrace/defs.h"
#include "query/callstack.h"

#define SITE_NAME_MAX 256u

struct site_name {
	char function[SITE_NAME_MAX], place[SITE_NAME_MAX]; /* "": unknown */
};

/* Zeroed at first. */
struct site_names {
	struct callstack stack;        /* the one at hand, */
	struct callstack_frame *frame; /* its frames, */
	uint32_t *id;                  /* and their numbers */
	struct tuple_table learned;    /* facts of a frame of a process */
	struct tuple_table known;      /* by the frames of struct callstack_parts: which of `name` */
	struct site_name *name;
	uint32_t count, room;
};

/*
 * The frame of stack `node` that a person would call his own. `process` numbers the definitions. 0 or -MT_E_MEMORY.
 */
int site_name(struct site_name *name, struct site_names *names, uint32_t process, const struct mt_defs *defs,
	      uint32_t node);
void site_names_release(struct site_names *names);

#endif
