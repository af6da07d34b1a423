/*
 * memory_bar.h - draws a segment of the caching allocator by address. Each character shows the main layer of its bytes,
 * and how full they are. Pure.
 *
 *     ████▆▁···▁··████      the height is the part of its bytes that tensors have; a dot is a hole
 */
#ifndef MEMANA_TUI_MEMORY_BAR_H
#define MEMANA_TUI_MEMORY_BAR_H

#include "canvas.h"
#include "device/segment_map.h"
#include "palette.h"

struct memory_bar_cell {
	uint64_t bytes, used;
	uint8_t layer;  /* layer of most used bytes; SERIES_HIDDEN: a filter hides them */
	uint8_t is_odd; /* 1: full of one tensor, for every second tensor: shows the tensors' ends */
};

/* The layer of a tensor, or SERIES_HIDDEN. */
typedef uint8_t memory_bar_layer(const void *context, const struct segment_block *block);

/* Cuts the segment into `cells` equal parts. A small segment leaves some cells empty. */
void memory_bar_fill(struct memory_bar_cell *cell, int cells, const struct segment *segment,
		     const struct segment_block *block, memory_bar_layer *layer, const void *context);

/*
 * Draws the cells row by row into an area with room for all. `letter`: letters of the layers, for terminals without
 * colours.
 */
void memory_bar_draw(struct area area, const struct memory_bar_cell *cell, int cells, const char *letter);

/* The sign for a hole. */
const char *memory_bar_hole(const struct canvas *canvas);

#endif
