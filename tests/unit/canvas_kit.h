/* canvas_kit.h - looks at a canvas cell by cell. */
#ifndef CANVAS_KIT_H
#define CANVAS_KIT_H

#include "screen/draw/canvas.h"
#include "test.h"

static inline struct canvas canvas_of(int width, int height, int colours, int ascii)
{
	struct canvas canvas = { .colours = colours, .ascii = ascii };

	CHECK_EQ(canvas_resize(&canvas, width, height), 0);
	return canvas;
}

static inline const char *dump_with(int (*dump)(const struct canvas *, FILE *), const struct canvas *canvas)
{
	static char *text; /* each call leaves its text behind: a test ends soon */
	static size_t size;
	FILE *file = open_memstream(&text, &size);

	CHECK_EQ(dump(canvas, file), 0);
	fclose(file);
	return text;
}

#define CHECK_TEXT(canvas, want) CHECK_STR(dump_with(canvas_dump, &(canvas)), want)
#define CHECK_STYLES(canvas, want) CHECK_STR(dump_with(canvas_dump_styles, &(canvas)), want)

static inline const struct canvas_cell *cell(const struct canvas *canvas, int x, int y)
{
	return &canvas->cell[y * canvas->width + x];
}

#endif
