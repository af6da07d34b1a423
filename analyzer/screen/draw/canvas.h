/*
 * canvas.h - the screen as cells, before any terminal sees it. All views draw here; ui.c shows it; tests read it.
 *
 * A style is the meaning of a cell. The palette gives it a look, for terminals of 256, 8 or no colours (palette.h).
 */
#ifndef MEMANA_TUI_CANVAS_H
#define MEMANA_TUI_CANVAS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "base/colour.h"
#include "base/text.h"
#include "memtrace/base.h"

/* X(NAME, letter) - the letter stands for the style in a dump. */
#define STYLE_LIST(X)                                    \
	X(PLAIN, '.')                                    \
	X(BOLD, 'B')                                     \
	X(DIM, 'd')                                      \
	X(HEAD, 'H')   /* titles of panes and columns */ \
	X(BAR, 'b')    /* the status line */             \
	X(CHOSEN, 'C') /* the row under the cursor */    \
	X(GOOD, 'g')                                     \
	X(WARN, 'w')                                     \
	X(BAD, 'X')  /* OOM, damage, over capacity */    \
	X(KEY, 'k')  /* a key to press */                \
	X(MARK, 'm') /* cursor, marks, peak */           \
	X(LINE, 'l') /* frames and axes */

enum style {
#define STYLE_ENUM(name, letter) STYLE_##name,
	STYLE_LIST(STYLE_ENUM)
#undef STYLE_ENUM
		STYLE_COUNT
};

/* Styles of the chart's layers: foreground STYLE_COUNT + n is layer n. A pale style for each layer follows. */
#define STYLE_LAYERS COLOUR_LAYERS
#define STYLE_LAYER(n) ((uint8_t)(STYLE_COUNT + (n)))
#define STYLE_LAYER_PALE(n) ((uint8_t)(STYLE_COUNT + STYLE_LAYERS + (n)))
#define STYLE_ALL (STYLE_COUNT + 2 * STYLE_LAYERS) /* number of styles */
#define STYLE_NO_BACKGROUND 0

struct canvas_cell {
	char text[8];   /* one character in UTF-8; "": the right half of a wide one */
	uint8_t style;  /* enum style, STYLE_LAYER(n) or STYLE_LAYER_PALE(n) */
	uint8_t behind; /* a layer's style for the background, or STYLE_NO_BACKGROUND */
};

struct canvas {
	int width, height;
	int ascii;                /* 1: ASCII only; other characters become '?' */
	int colours;              /* 0: none, letters distinguish the layers; 8; 256 */
	struct canvas_cell *cell; /* height rows of width */
	size_t room;
};

/* A rectangle of a canvas. Drawing is clipped to it. Coordinates are relative to it. */
struct area {
	struct canvas *canvas;
	int x, y, width, height; /* may be empty, never negative */
};

/* Sets the size, and blanks all cells. A zeroed canvas is empty. Returns 0, or -MT_E_MEMORY: the size is unchanged. */
int canvas_resize(struct canvas *canvas, int width, int height);
void canvas_clear(struct canvas *canvas);
void canvas_release(struct canvas *canvas);

struct area canvas_area(struct canvas *canvas);

/* A part of an area, clipped to it. */
struct area area_part(struct area area, int x, int y, int width, int height);

/* One character; nothing where it is outside. */
void area_put(struct area area, int x, int y, const char *character, uint8_t style, uint8_t behind);

/*
 * Draws text from x on, as far as there is room. Control characters, characters that hide or reverse text, and broken
 * UTF-8 become '?'. Returns the column after the text.
 */
int area_text(struct area area, int x, int y, uint8_t style, const char *text);
int area_print(struct area area, int x, int y, uint8_t style, const char *format, ...) MT_PRINTF(5, 6);

/* The same, ending before column x. */
void area_print_right(struct area area, int x, int y, uint8_t style, const char *format, ...) MT_PRINTF(5, 6);

/* Text cut to `columns` columns with "...": at its beginning when keep_end, else at its end. */
void area_fit(struct area area, int x, int y, int columns, uint8_t style, const char *text, int keep_end);

/* Gives all cells of a row, or of the area, the style; texts stay. */
void area_style_row(struct area area, int y, uint8_t style);

/* Fills with one character. */
void area_fill(struct area area, const char *character, uint8_t style);

/* Writes the texts, a line for each row, without blanks at the ends. Returns 0 or -MT_E_SYSTEM. */
int canvas_dump(const struct canvas *canvas, FILE *file);

/* The styles: a letter a cell, layers (pale or not) as 0-9P-U. For tests. */
int canvas_dump_styles(const struct canvas *canvas, FILE *file);

#endif
