#include "memory_bar.h"

#include <string.h>

#define LEVELS 8

/* The facts of the cell that is being filled. */
struct filling {
	uint64_t bytes[SERIES_LAYERS_MAX + 1]; /* by layer; the last one: hidden */
	const struct segment_block *only;      /* the only block in it; see `blocks` */
	int blocks;
};

static uint64_t edge(const struct segment *segment, int cells, int cell)
{
	uint64_t all = (uint64_t)cells, at = (uint64_t)cell;

	return segment->address + segment->bytes / all * at + segment->bytes % all * at / all;
}

static void note(struct filling *filling, const struct segment_block *block, uint64_t bytes, uint8_t layer)
{
	filling->bytes[layer < SERIES_LAYERS_MAX ? layer : SERIES_LAYERS_MAX] += bytes;
	filling->blocks += filling->only != block;
	filling->only = block;
}

static void finish(struct memory_bar_cell *cell, const struct filling *filling, const struct segment_block *first)
{
	uint32_t i, most = 0;

	for (i = 0; i <= SERIES_LAYERS_MAX; i++) {
		cell->used += filling->bytes[i];
		if (filling->bytes[i] > filling->bytes[most])
			most = i;
	}
	cell->layer = most < SERIES_LAYERS_MAX ? (uint8_t)most : SERIES_HIDDEN;
	cell->is_odd = cell->used == cell->bytes && filling->blocks == 1 && (filling->only - first) % 2;
}

void memory_bar_fill(struct memory_bar_cell *cell, int cells, const struct segment *segment,
		     const struct segment_block *block, memory_bar_layer *layer, const void *context)
{
	struct segment_walk walk = segment_walk_begin(segment, block);
	struct segment_part part = { 0, 0, NULL };
	int i, more = segment_walk_next(&walk, &part);
	struct filling filling;
	uint64_t from, to, end;

	for (i = 0; i < cells; i++) {
		from = edge(segment, cells, i);
		end = edge(segment, cells, i + 1);
		cell[i] = (struct memory_bar_cell){ .bytes = end - from };
		memset(&filling, 0, sizeof(filling));
		while (more && part.from < end) {
			to = part.to < end ? part.to : end;
			if (part.block && to > from)
				note(&filling, part.block, to - from, layer(context, part.block));
			from = to;
			if (part.to > end)
				break;
			more = segment_walk_next(&walk, &part);
		}
		finish(&cell[i], &filling, block + segment->first_block);
	}
}

/* ---- drawing ---- */

const char *memory_bar_hole(const struct canvas *canvas)
{
	return canvas->ascii ? "." : "·";
}

static const char *level_of(const struct memory_bar_cell *cell)
{
	static const char *const levels[LEVELS] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	int level = (int)((double)cell->used / (double)cell->bytes * LEVELS);

	level = level < 1 ? 1 : level > LEVELS ? LEVELS : level;
	if (level == LEVELS && cell->used < cell->bytes)
		level--;
	return levels[level - 1];
}

static void draw_cell(struct area area, int x, int y, const struct memory_bar_cell *cell, const char *letter)
{
	const struct canvas *canvas = area.canvas;
	char letters[2] = { cell->layer < SERIES_LAYERS_MAX ? letter[cell->layer] : '-', '\0' };
	int is_hidden = cell->layer == SERIES_HIDDEN, has_colour = canvas->colours >= 8 && !is_hidden;
	uint8_t style = is_hidden ? STYLE_DIM : cell->is_odd ? STYLE_LAYER_PALE(cell->layer) : STYLE_LAYER(cell->layer);

	if (!cell->bytes)
		return;
	if (!cell->used)
		area_put(area, x, y, memory_bar_hole(canvas), STYLE_LINE, STYLE_NO_BACKGROUND);
	else if (canvas->ascii || canvas->colours < 8)
		area_put(area, x, y, letters, has_colour ? STYLE_PLAIN : STYLE_BOLD,
			 has_colour ? style : STYLE_NO_BACKGROUND);
	else
		area_put(area, x, y, level_of(cell), style, STYLE_NO_BACKGROUND);
}

void memory_bar_draw(struct area area, const struct memory_bar_cell *cell, int cells, const char *letter)
{
	int i;

	for (i = 0; i < cells && area.width > 0; i++)
		draw_cell(area, i % area.width, i / area.width, &cell[i], letter);
}
