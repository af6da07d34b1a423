#include "canvas.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "memtrace/error.h"

#define PRINT_MAX 1024 /* bytes that one area_print may make */

/* ---- canvas ---- */

static void cell_blank(struct canvas_cell *cell)
{
	memset(cell, 0, sizeof(*cell));
	cell->text[0] = ' ';
}

void canvas_clear(struct canvas *canvas)
{
	size_t i, cells = (size_t)canvas->width * (size_t)canvas->height;

	for (i = 0; i < cells; i++)
		cell_blank(&canvas->cell[i]);
}

int canvas_resize(struct canvas *canvas, int width, int height)
{
	size_t cells;
	struct canvas_cell *grown;

	width = width > 0 ? width : 0;
	height = height > 0 ? height : 0;
	cells = (size_t)width * (size_t)height;
	if (cells > canvas->room) {
		grown = realloc(canvas->cell, cells * sizeof(*grown));
		if (!grown)
			return -MT_E_MEMORY;
		canvas->cell = grown;
		canvas->room = cells;
	}
	canvas->width = width;
	canvas->height = height;
	canvas_clear(canvas);
	return 0;
}

void canvas_release(struct canvas *canvas)
{
	free(canvas->cell);
	memset(canvas, 0, sizeof(*canvas));
}

struct area canvas_area(struct canvas *canvas)
{
	return (struct area){ canvas, 0, 0, canvas->width, canvas->height };
}

/* Clips [*from, *from + *size) to [0, limit). */
static void clip(int *from, int *size, int limit)
{
	int64_t end = (int64_t)*from + (*size > 0 ? *size : 0);

	if (end > limit)
		end = limit;
	if (*from < 0)
		*from = 0;
	if (*from > limit)
		*from = limit;
	*size = end > *from ? (int)(end - *from) : 0;
}

struct area area_part(struct area area, int x, int y, int width, int height)
{
	clip(&x, &width, area.width);
	clip(&y, &height, area.height);
	return (struct area){ area.canvas, area.x + x, area.y + y, width, height };
}

static struct canvas_cell *cell_at(struct area area, int x, int y)
{
	if (x < 0 || y < 0 || x >= area.width || y >= area.height)
		return NULL;
	x += area.x;
	y += area.y;
	if (x < 0 || y < 0 || x >= area.canvas->width || y >= area.canvas->height)
		return NULL;
	return &area.canvas->cell[(size_t)y * (size_t)area.canvas->width + (size_t)x];
}

/* A wide character whose half is overwritten loses the other half, too. */
static void split_wide(struct area area, struct canvas_cell *cell)
{
	size_t column = (size_t)(cell - area.canvas->cell) % (size_t)area.canvas->width;

	if (!cell->text[0] && column)
		mt_copy_text(cell[-1].text, sizeof(cell->text), " ");
	if (column + 1 < (size_t)area.canvas->width && !cell[1].text[0])
		mt_copy_text(cell[1].text, sizeof(cell->text), " ");
}

static void set_cell(struct area area, int x, int y, const char *text, uint8_t style, uint8_t behind)
{
	struct canvas_cell *cell = cell_at(area, x, y);

	if (!cell)
		return;
	split_wide(area, cell);
	memset(cell->text, 0, sizeof(cell->text));
	mt_copy_text(cell->text, sizeof(cell->text), text);
	cell->style = style;
	cell->behind = behind;
}

/* Adds a combining character to the character that ends before column x. */
static void put_combining(struct area area, int x, int y, const char *text)
{
	struct canvas_cell *cell = cell_at(area, x - 1, y);
	size_t have;

	if (cell && !cell->text[0])
		cell = cell_at(area, x - 2, y);
	if (!cell || area.canvas->ascii || !cell->text[0])
		return;
	have = strlen(cell->text);
	if (have + strlen(text) < sizeof(cell->text))
		mt_copy_text(cell->text + have, sizeof(cell->text) - have, text);
}

static void put_character(struct area area, int x, int y, const struct columns_character *character, uint8_t style,
			  uint8_t behind)
{
	const char *text = character->text;

	if (!character->columns) {
		put_combining(area, x, y, text);
		return;
	}
	if (area.canvas->ascii && (unsigned char)text[0] >= 0x80)
		text = "?";
	if (character->columns == 2 && *text != '?' && (!cell_at(area, x, y) || !cell_at(area, x + 1, y)))
		text = " "; /* half of it would be outside */
	set_cell(area, x, y, text, style, behind);
	if (character->columns == 2)
		set_cell(area, x + 1, y, *text == '?' || *text == ' ' ? text : "", style, behind);
}

/* ---- drawing ---- */

void area_put(struct area area, int x, int y, const char *text, uint8_t style, uint8_t behind)
{
	struct columns_character character;

	if (!*text)
		return;
	columns_next(&character, text);
	put_character(area, x, y, &character, style, behind);
}

/* Draws the characters that begin in columns [skip, skip + columns) of the text. */
static int draw_columns(struct area area, int x, int y, uint8_t style, const char *text, int skip, int columns)
{
	struct columns_character character;
	int column = 0, at = x;

	while (*text) {
		text += columns_next(&character, text);
		if (column + character.columns > skip + columns)
			break;
		if (column >= skip && (character.columns || column > skip)) {
			put_character(area, at, y, &character, style, STYLE_NO_BACKGROUND);
			at += character.columns;
		}
		column += character.columns;
	}
	return at;
}

int area_text(struct area area, int x, int y, uint8_t style, const char *text)
{
	if (x >= area.width)
		return x;
	return draw_columns(area, x, y, style, text, 0, area.width - x);
}

int area_print(struct area area, int x, int y, uint8_t style, const char *format, ...)
{
	char text[PRINT_MAX];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return area_text(area, x, y, style, text);
}

void area_print_right(struct area area, int x, int y, uint8_t style, const char *format, ...)
{
	char text[PRINT_MAX];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	area_text(area, x - columns_of(text), y, style, text);
}

void area_fit(struct area area, int x, int y, int columns, uint8_t style, const char *text, int keep_end)
{
	int have, dots;

	if (columns <= 0)
		return;
	have = columns_of(text);
	dots = have > columns && columns > 3 ? 3 : 0;
	if (have <= columns) {
		area_text(area, x, y, style, text);
	} else if (keep_end) {
		area_text(area, x, y, style, dots ? "..." : "");
		draw_columns(area, x + dots, y, style, text, have - columns + dots, columns - dots);
	} else {
		x = draw_columns(area, x, y, style, text, 0, columns - dots);
		area_text(area, x, y, style, dots ? "..." : "");
	}
}

void area_style_row(struct area area, int y, uint8_t style)
{
	struct canvas_cell *cell;
	int x;

	for (x = 0; x < area.width; x++) {
		cell = cell_at(area, x, y);
		if (!cell)
			continue;
		cell->style = style;
		cell->behind = STYLE_NO_BACKGROUND;
	}
}

void area_fill(struct area area, const char *character, uint8_t style)
{
	int x, y;

	for (y = 0; y < area.height; y++)
		for (x = 0; x < area.width; x++)
			area_put(area, x, y, character, style, STYLE_NO_BACKGROUND);
}

/* ---- dumps ---- */

int canvas_dump(const struct canvas *canvas, FILE *file)
{
	const struct canvas_cell *row;
	int x, y, end;

	for (y = 0; y < canvas->height; y++) {
		row = canvas->cell + (size_t)y * (size_t)canvas->width;
		for (end = canvas->width; end && !strcmp(row[end - 1].text, " "); end--)
			;
		for (x = 0; x < end; x++)
			fputs(row[x].text, file);
		fputc('\n', file);
	}
	return ferror(file) ? -MT_E_SYSTEM : 0;
}

static char style_letter(uint8_t style)
{
	static const char letters[] = {
#define STYLE_LETTER(name, letter) letter,
		STYLE_LIST(STYLE_LETTER)
#undef STYLE_LETTER
	};
	static const char layers[] = "0123456789PQRSTU";

	if (style < STYLE_COUNT)
		return letters[style];
	return layers[(style - STYLE_COUNT) % STYLE_LAYERS];
}

int canvas_dump_styles(const struct canvas *canvas, FILE *file)
{
	const struct canvas_cell *cell = canvas->cell;
	int x, y;

	for (y = 0; y < canvas->height; y++) {
		for (x = 0; x < canvas->width; x++, cell++)
			fputc(style_letter(cell->style), file);
		fputc('\n', file);
	}
	return ferror(file) ? -MT_E_SYSTEM : 0;
}
