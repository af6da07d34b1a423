#include "grid.h"

#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "memtrace/clean.h"
#include "memtrace/phase.h"

#define GAP 2      /* columns between columns */
#define SIDEWAYS 8 /* columns that LEFT and RIGHT move by */

/* Columns of the screen that a column takes. */
static int grid_column(const struct grid *grid, const struct worker_answer *answer, uint32_t column)
{
	return column < GRID_COLUMNS ? grid->column[column] : answer->column[column].width;
}

#define WORDS_LEAST 32  /* least columns for words if there is no room for all */
#define WORDS_BRIEF 24  /* the same, of a column that is to leave room for others */
#define WORDS_FEWEST 10 /* and that are better than none, in the last column that is in sight */

static int least_of(const struct worker_column *column)
{
	int least = column->brief ? WORDS_BRIEF : WORDS_LEAST;

	return column->numbers || column->whole || column->width < least ? column->width : least;
}

/*
 * Sets the widths of the columns, and returns their sum. If not all fit, words are shortened before columns are
 * dropped: as many of the first columns as possible are in sight, with as much of their words as there is room for.
 */
static int fit_widths(struct grid *grid, const struct worker_answer *answer, int room)
{
	uint32_t i, fit = 0;
	int width = 0, more;

	for (i = 0; i < answer->columns && i < GRID_COLUMNS; i++) {
		more = least_of(&answer->column[i]) + (i ? GAP : 0);
		grid->column[i] = answer->column[i].width;
		if (fit == i && width + more <= room) {
			width += more;
			fit++;
		}
	}
	for (i = 0; i < fit; i++) {
		more = answer->column[i].width - least_of(&answer->column[i]);
		more = more > room - width ? room - width : more;
		grid->column[i] = least_of(&answer->column[i]) + more;
		width += more;
	}
	more = room - width - GAP;
	if (fit < answer->columns && fit < GRID_COLUMNS && !answer->column[fit].numbers && !answer->column[fit].whole &&
	    more >= WORDS_FEWEST)
		grid->column[fit] = more < grid->column[fit] ? more : grid->column[fit];
	for (width = 0, i = 0; i < answer->columns; i++)
		width += grid_column(grid, answer, i) + (i ? GAP : 0);
	return width;
}

int grid_is_wider(const struct worker_answer *answer, int width)
{
	int all = 0;
	uint32_t i;

	for (i = 0; i < answer->columns; i++)
		all += answer->column[i].width + (i ? GAP : 0);
	return all > width;
}

void grid_rest(char *out, size_t size, const struct grid *grid, const struct worker_answer *answer)
{
	const char *const *text = answer->text + (size_t)grid->list.chosen * answer->columns;
	int x = -grid->left, width;
	size_t at = 0;
	uint32_t i;

	*out = '\0';
	for (i = 0; i < answer->columns; i++, x += width + GAP) {
		width = grid_column(grid, answer, i);
		if (x >= 0 && x + width <= grid->room && columns_of(text[i]) <= width)
			continue;
		if (*text[i] && at < size)
			at += (size_t)snprintf(out + at, size - at, "%s%s: %s", at ? "; " : "", answer->column[i].title,
					       text[i]);
	}
}

/* Draws a cell at x. A cell that begins outside on the left shows its end. */
static void draw_cell(struct area row, int x, int room, const struct worker_column *column, uint8_t style,
		      const char *words)
{
	char text[WORKER_TEXT_MAX];
	int width, at;
	uint32_t code;

	text_fit(text, sizeof(text), words, (size_t)room, 0);
	width = columns_of(text);
	at = column->numbers ? x + room - width : x;
	if (at >= row.width || at + width <= 0 || (column->numbers && at + width > row.width))
		return;                         /* the beginning of a number would look like another number */
	for (words = text; *words && at < 0;) { /* characters that are scrolled out */
		size_t size = mt_utf8(words, strlen(words), &code);
		char one[8] = "";

		memcpy(one, words, size ? size : 1);
		at += columns_of(one);
		words += size ? size : 1;
	}
	area_text(row, at, 0, style, words);
}

/* Colours the first letter of a phase, as in the letters before the timeline's rows. */
static void colour_phase(struct area row, int x, const char *words)
{
	int phase = mt_phase_parse(words, strlen(words));
	char letter[2] = { *words };

	if (phase >= 0 && x >= 0)
		area_put(row, x, 0, letter, STYLE_LAYER(phase), STYLE_NO_BACKGROUND);
}

static void draw_row(const struct grid *grid, const struct worker_answer *answer, struct area row, uint8_t style,
		     const char *const *text)
{
	int x = -grid->left;
	uint32_t i;

	for (i = 0; i < answer->columns; i++) {
		draw_cell(row, x, grid_column(grid, answer, i), &answer->column[i], style,
			  text ? text[i] : answer->column[i].title);
		if (text && answer->column[i].phase)
			colour_phase(row, x, text[i]);
		x += grid_column(grid, answer, i) + GAP;
	}
}

void grid_draw(struct grid *grid, const struct worker_answer *answer, struct area area, int focus)
{
	int height = area.height > 1 ? area.height - 1 : 0, bar, y;
	struct area row;
	int64_t number;

	list_fit(&grid->list, answer->rows, height);
	bar = (int64_t)answer->rows > height;
	grid->y = 1;
	grid->room = area.width - bar;
	grid->width = fit_widths(grid, answer, grid->room);
	if (grid->left > grid->width - grid->room)
		grid->left = grid->width > grid->room ? grid->width - grid->room : 0;
	draw_row(grid, answer, area_part(area, 0, 0, grid->room, 1), STYLE_HEAD, NULL);
	for (y = 0; y < height && (number = list_row_at(&grid->list, y)) >= 0; y++) {
		row = area_part(area, 0, y + 1, grid->room, 1);
		draw_row(grid, answer, row, STYLE_PLAIN, answer->text + (size_t)number * answer->columns);
		if (focus && (uint32_t)number == grid->list.chosen)
			area_style_row(row, 0, STYLE_CHOSEN);
	}
	list_bar(&grid->list, area_part(area, 0, 1, area.width, height));
}

int grid_request(struct grid *grid, enum request request)
{
	if (request == REQUEST_LEFT)
		grid->left = grid->left > SIDEWAYS ? grid->left - SIDEWAYS : 0;
	else if (request == REQUEST_RIGHT && grid->left + grid->room < grid->width)
		grid->left += SIDEWAYS; /* drawing keeps it inside */
	else if (request != REQUEST_RIGHT)
		return list_request(&grid->list, request);
	return 1;
}

int64_t grid_row_at(const struct grid *grid, int y)
{
	return list_row_at(&grid->list, y - grid->y);
}

const char *grid_waiting(char *out, size_t size, struct worker *worker)
{
	static const char *const words[] = { [WORKER_WAITING] = "the traces are being read",
					     [WORKER_NAMING] = "names are looked up",
					     [WORKER_LOADING] = "the traces are loaded into a database" };
	const char *why;
	int percent;
	enum worker_state state = worker_state(worker, &percent, &why);

	if (state == WORKER_READY || state == WORKER_FAILED)
		snprintf(out, size, "asking the database ...");
	else if (state == WORKER_WAITING)
		snprintf(out, size, "waiting: %s", words[state]);
	else
		snprintf(out, size, "waiting: %s, %d%%", words[state], percent);
	return out;
}

int grid_words(struct area area, int y, int rows, uint8_t style, const char *words)
{
	const char *blank, *end;
	char line[512];
	size_t size;

	for (; *words && rows > 0; rows--, y++) {
		if (rows == 1 || columns_of(words) <= area.width) {
			area_fit(area, 0, y, area.width, style, words, 0);
			return y + 1;
		}
		for (end = NULL, blank = strchr(words, ' '); blank; blank = strchr(blank + 1, ' ')) {
			size = (size_t)(blank - words) < sizeof(line) - 1 ? (size_t)(blank - words) : sizeof(line) - 1;
			memcpy(line, words, size);
			line[size] = '\0';
			if (columns_of(line) > area.width)
				break;
			end = blank;
		}
		if (!end) { /* one word is wider than the area */
			area_fit(area, 0, y, area.width, style, words, 0);
			return y + 1;
		}
		mt_copy_text(line, (size_t)(end - words) + 1 < sizeof(line) ? (size_t)(end - words) + 1 : sizeof(line),
			     words);
		area_text(area, 0, y, style, line);
		words = end + 1;
	}
	return y;
}
