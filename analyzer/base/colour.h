/*
 * colour.h - the colours of phases, categories and all other layers of the chart. One table for the screen and for
 * the reports: a phase has one colour everywhere. And how many of them a terminal has.
 */
#ifndef MEMANA_COLOUR_H
#define MEMANA_COLOUR_H

#include "memtrace/phase.h"

#define COLOUR_LAYERS 16 /* a phase and a category have the layer of their number */

/* Memory that no tensor uses has a layer of its own, regardless of who took the segment. */
#define COLOUR_SLACK MT_CATEGORY_SLACK

/* Styles: of 256 colours bright and pale; of 8. Numbers as terminals have them. */
struct colour {
	int bright, pale, of_8;
};

extern const struct colour colour_of_layer[COLOUR_LAYERS];

/* The number of colours used when `colours` are there: 256, 8, or 0. */
int colour_depth(int colours);

/* The same of the terminal that TERM names; 8 where terminfo does not know it. NO_COLOR is the caller's. */
int colour_of_terminal(void);

/* A colour of 256 as 0xRRGGBB, as terminals have it by default. Those below 16 are the terminal's own: they stay what they are. */
int colour_direct(int colour);

#endif
