/*
 * filter.h - the filter of shown places: turns the words that a person typed into a yes or no for every cell.
 *
 *     forward                 a phase, a category or an owner, by its name or the beginning of it
 *     phase=other             just that phase, category, owner or process ("process=rank-3"); '-' stands for a blank, too
 *     >1GiB  <64MiB           places that have held more or less than that
 *     attention.py            anything else: a piece of a function, a file or a process's name, case ignored
 *
 * Several words all have to be true; a word after '!' must not be.
 */
#ifndef MEMANA_TUI_FILTER_H
#define MEMANA_TUI_FILTER_H

#include <stddef.h>
#include <stdint.h>
#include "timeline/model.h"

#define FILTER_TEXT_MAX 256u

struct filter {
	char text[FILTER_TEXT_MAX]; /* as typed; "": everything */
	uint8_t *shown;             /* by cell */
	uint32_t cells, room;
};

/*
 * Sets the words. Returns 0, or -MT_E_ARGUMENT for a bad size: nothing has changed. A zeroed filter shows everything.
 */
int filter_set(struct filter *filter, const char *text);
void filter_release(struct filter *filter);

/* Computes `shown` for all cells of the model, under its lock. Returns 0 or -MT_E_MEMORY. */
int filter_make(struct filter *filter, const struct model *model);

/* Whether the function, the file, the module or the place of a frame has `words` in it, case ignored. */
int filter_frame_has(const struct callstack_frame *frame, const char *words);

/* The same of any frame of the site's stack. */
int filter_site_has(const struct model *model, uint32_t site, const char *words);

#endif
