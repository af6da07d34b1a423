/*
 * site_name.h - the name of a place for a person, from the definitions of a trace, before symbols are looked up. Names
 * are long, and many stacks share them: the facts of a frame are kept by its number.
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
	struct callstack stack;        /* current stack */
	struct callstack_frame *frame; /* frames of `stack` */
	uint32_t *id;                  /* numbers of these frames */
	struct tuple_table learned;    /* facts of the frames of each process */
	struct tuple_table known;      /* index in `name`, by the frames of struct callstack_parts */
	struct site_name *name;
	uint32_t count, room;
};

/*
 * Finds the frame of stack `node` that a person would call his own code. `process` numbers the definitions. Returns 0
 * or -MT_E_MEMORY.
 */
int site_name(struct site_name *name, struct site_names *names, uint32_t process, const struct mt_defs *defs,
	      uint32_t node);
void site_names_release(struct site_names *names);

#endif
