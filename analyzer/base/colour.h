/*
 * colour.h - the colours of phases, categories and all other layers of the chart, for screen and reports. A phase has one colour everywhere. Also
 * finds the number of colours of a terminal.
 */
#ifndef MEMANA_COLOUR_H
#define MEMANA_COLOUR_H

#include "memtrace/phase.h"

#define COLOUR_LAYERS 16 /* the layer of a phase or category is its number */

/* Memory outside of tensors has its own layer, regardless of the site of its segment. */
#define COLOUR_SLACK MT_CATEGORY_SLACK

/* Colour numbers of a terminal: bright and pale for 256 colours; one for 8. */
struct colour {
	int bright, pale, of_8;
};

extern const struct colour colour_of_layer[COLOUR_LAYERS];

/* Returns the number of colours to use on a terminal with `colours`: 256, 8 or 0. */
int colour_depth(int colours);

/* The same for the terminal that TERM names; 8 if terminfo does not have it. The caller handles NO_COLOR. */
int colour_of_terminal(void);

/* Returns a colour of 256 as 0xRRGGBB, as terminals have it by default. Colours below 16 depend on the terminal and stay as they are. */
int colour_direct(int colour);

#endif
