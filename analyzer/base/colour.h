/*
 * colour.h - the colours of phases, categories and all other layers of the chart, in one table for the screen and for
 * the reports. A phase has one colour everywhere. Also tells the number of colours of a terminal.
 */
#ifndef MEMANA_COLOUR_H
#define MEMANA_COLOUR_H

#include "memtrace/phase.h"

#define COLOUR_LAYERS 16 /* a phase and a category have the layer of their number */

/* Memory that no tensor uses has a layer of its own, regardless of who took the segment. */
#define COLOUR_SLACK MT_CATEGORY_SLACK

/* Colour numbers of a terminal: bright and pale among 256; one among 8. */
struct colour {
	int bright, pale, of_8;
};

extern const struct colour colour_of_layer[COLOUR_LAYERS];

/* The number of colours that are used on a terminal with `colours`: 256, 8, or 0. */
int colour_depth(int colours);

/* The same for the terminal of TERM; 8 if terminfo does not know it. The caller handles NO_COLOR. */
int colour_of_terminal(void);

/*
 * A colour of 256 as 0xRRGGBB, by the terminals' default. Colours below 16 depend on the terminal, and are returned
 * unchanged.
 */
int colour_direct(int colour);

#endif
