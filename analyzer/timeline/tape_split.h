/*
 * tape_split.h - a tape on which bytes that were of one cell are of two.
 *
 * Some sites turn out at the end to have held two kinds of things (attribution_split). What is on a tape stays as it
 * is, for others may be reading it: there is another one then.
 */
#ifndef MEMANA_TUI_TAPE_SPLIT_H
#define MEMANA_TUI_TAPE_SPLIT_H

#include <stdint.h>
#include "tape.h"

/* `from` keeps that much of what it holds at any moment, or all if it is less; the rest is of `to`. */
struct tape_share {
	uint32_t from, to; /* cells */
	uint64_t bytes, count;
};

/*
 * *split: all events of the tape, settled, with each `from` shared. No cell is in two shares. The caller's to free with
 * tape_free. 0 or an error of tape_add; *split is NULL then.
 */
int tape_split(struct tape **split, const struct tape *tape, const struct tape_share *share, uint32_t shares);

#endif
