/* site_name.h - what a person calls a place, from the definitions of a trace: before any symbol is looked up. */
#ifndef MEMANA_TUI_SITE_NAME_H
#define MEMANA_TUI_SITE_NAME_H

#include <stdint.h>
#include "memtrace/defs.h"
#include "query/callstack.h"

#define SITE_NAME_MAX 256u

struct site_name {
	char function[SITE_NAME_MAX], place[SITE_NAME_MAX]; /* "": unknown */
};

/*
 * Of the frame of stack `node` that a person would call his own. `scratch`: zeroed at first, to be used again; free its
 * `frame` at the end. 0 or -MT_E_MEMORY.
 */
int site_name(struct site_name *name, const struct mt_defs *defs, uint32_t node, struct callstack *scratch);

#endif
