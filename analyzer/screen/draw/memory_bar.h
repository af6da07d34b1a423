/*
 * memory_bar.h - a segment of the caching allocator as characters, by address: what most of the bytes of each are, and
 * how full it is. Pure.
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
	uint8_t layer;  /* layer of most of the used bytes; SERIES_HIDDEN: of what a filter hides */
	uint8_t is_odd; /* it is full of one tensor, every second one: so one sees where it ends */
};

/* The layer of a tensor, or SERIES_HIDDEN. */
typedef uint8_t memory_bar_layer(const void *context, const struct segment_block *block);

/* Cuts the segment into `cells` equal parts; bytes that cannot be cut further leave some of them without any. */
void memory_bar_fill(struct memory_bar_cell *cell, int cells, const struct segment *segment,
		     const struct segment_block *block, memory_bar_layer *layer, const void *context);

/* Draws them row by row into an area with room for all. `letter`: of the layers, where colours cannot tell them apart. */
void memory_bar_draw(struct area area, const struct memory_bar_cell *cell, int cells, const char *letter);

/* The sign for a hole. */
const char *memory_bar_hole(const struct canvas *canvas);

#endif
