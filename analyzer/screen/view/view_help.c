/* The help: all keys, from the list of requests, and the meanings of the chart's signs. */
#include <stdio.h>
#include <string.h>
#include "app.h"
#include "memtrace/phase.h"
#include "view.h"

#define KEYS_WIDTH 14
#define COLUMN_WIDTH 84 /* least columns of the terminal */
#define COLUMN_GAP 2

struct view_help {
	struct view view;
	int first, rows, height; /* the uppermost row of all, and the number that fits */
};

/* Draws the visible rows. */
struct page {
	struct area area;
	int first, row; /* the uppermost row in sight, and the next one */
	int columns;    /* columns, each of as many rows as the area */
};

static struct area next_row(struct page *page)
{
	int y = page->row++ - page->first, width = page->area.width / page->columns;

	if (page->columns > 1 && page->area.height)
		return area_part(page->area, y / page->area.height * width, y % page->area.height, width - COLUMN_GAP,
				 1);
	return area_part(page->area, 0, y, page->area.width, y >= 0);
}

static void draw_keys(struct page *page, enum key_group group)
{
	const struct request_entry *entry;
	struct area row;
	char word[16];
	int i, x;

	for (i = REQUEST_NONE + 1; i < REQUEST_MOUSE; i++) {
		entry = &request_entries[i];
		if (entry->group != group)
			continue;
		row = next_row(page);
		x = area_text(row, 2, 0, STYLE_KEY, request_key_word(word, entry->key));
		if (entry->other)
			area_text(row, x + 1, 0, STYLE_KEY, request_key_word(word, entry->other));
		area_fit(row, KEYS_WIDTH, 0, row.width - KEYS_WIDTH, STYLE_PLAIN, entry->words, 0);
	}
}

static void draw_phases(struct page *page)
{
	struct area row;
	char letter[2] = "";
	uint8_t phase;

	for (phase = 0; phase < MT_PHASE_COUNT; phase++) {
		letter[0] = palette_phase_letter(phase);
		row = next_row(page);
		area_put(row, 2, 0, letter, STYLE_PLAIN, STYLE_LAYER(phase));
		area_text(row, KEYS_WIDTH, 0, STYLE_PLAIN, mt_phase_name(phase));
	}
}

/* A sign, the same in ASCII, its style, and its meaning. X(sign, ascii, style, words) */
#define SIGN_LIST(X)                                                         \
	X("│", "|", MARK, "the cursor: the table says what was alive there") \
	X("┊", ":", MARK, "marks A and B")                                   \
	X("▼", "v", MARK, "the peak of what is shown")                       \
	X("X", "X", BAD, "an out-of-memory error")                           \
	X("─", "-", LINE, "all the memory that the device has")              \
	X("▏", "|", LINE, "a step begins, with its number")

static const struct {
	const char *sign, *ascii;
	enum style style;
	const char *words;
} signs[] = {
#define SIGN_ENTRY(sign, ascii, style, words) { sign, ascii, STYLE_##style, words },
	SIGN_LIST(SIGN_ENTRY)
#undef SIGN_ENTRY
};

static void draw_signs(struct page *page)
{
	struct area row;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(signs); i++) {
		row = next_row(page);
		area_text(row, 2, 0, (uint8_t)signs[i].style, row.canvas->ascii ? signs[i].ascii : signs[i].sign);
		area_fit(row, KEYS_WIDTH, 0, row.width - KEYS_WIDTH, STYLE_PLAIN, signs[i].words, 0);
	}
}

/* Broken at blanks where the row is too short. */
static void draw_words(struct page *page, const char *words)
{
	int room = page->area.width / page->columns - 2 - COLUMN_GAP;
	char line[256];
	size_t end, next;

	while (*words) {
		for (end = next = 0; words[end]; end = next) {
			next = end + 1 + strcspn(words + end + 1, " ");
			if (end && (int)next > room)
				break;
		}
		mt_copy_text(line, end < sizeof(line) ? end + 1 : sizeof(line), words);
		area_fit(next_row(page), 2, 0, room, STYLE_PLAIN, line, 0);
		words += end + (words[end] == ' ');
	}
}

/* Begins a part with its title; in the next column if this one has no room for its `rows` rows. */
static void title(struct page *page, const char *words, int rows)
{
	int height = page->area.height, left = height ? height - page->row % height : 0;

	if (page->columns > 1 && rows < height && rows + 2 > left)
		page->row += left;
	else if (page->row && (page->columns == 1 || left < height))
		next_row(page);
	area_text(next_row(page), 0, 0, STYLE_HEAD, words);
}

static void scroll(struct view_help *help, int rows)
{
	help->first += rows;
	if (help->rows && help->first > help->rows - help->height)
		help->first = help->rows - help->height;
	if (help->first < 0)
		help->first = 0;
}

static int keys_of(enum key_group group)
{
	int i, count = 0;

	for (i = REQUEST_NONE + 1; i < REQUEST_MOUSE; i++)
		count += request_entries[i].group == group;
	return count;
}

static void draw_page(struct page *page)
{
	int group;

	for (group = 0; group < KEY_GROUP_COUNT; group++) {
		title(page, key_group_titles[group], keys_of((enum key_group)group));
		draw_keys(page, (enum key_group)group);
	}
	title(page, "Phases, by letter and colour", MT_PHASE_COUNT);
	draw_phases(page);
	title(page, "Letters and colours of other things", 3);
	draw_words(page, "The chart is coloured by phase, or by what c has chosen; the legend says what a letter is.");
	draw_words(page, "The letter before a row of the table is that of the colour that it is a part of.");
	draw_words(page, "Paler, of the same hue: was there at the most, but not all the time of the column.");
	title(page, "Signs in the chart", MT_ARRAY_SIZE(signs));
	draw_signs(page);
}

/* Draws the help in `columns` columns, from the first row in sight on. Returns 1 if all of it fits. */
static int draw_columns(struct view_help *help, struct area area, int columns)
{
	struct page page = { .area = area, .columns = columns };

	help->height = area.height * columns;
	scroll(help, columns > 1 ? -help->first : 0); /* the window may have grown */
	page.first = help->first;
	draw_page(&page);
	help->rows = page.row;
	return help->rows <= help->height;
}

/* Draws one scrolling column if several have no room for all. */
static void draw(struct view *view, struct app *app, struct area area)
{
	struct view_help *help = (struct view_help *)view;
	int columns = area.width / COLUMN_WIDTH, first = help->first;

	(void)app;
	if (columns > 1 && draw_columns(help, area, columns))
		return;
	area_fill(area, " ", STYLE_PLAIN);
	help->first = first;
	draw_columns(help, area, 1);
}

static int mouse(struct view_help *help, const struct input *input)
{
	if (input->button == MOUSE_WHEEL_UP)
		scroll(help, -3);
	else if (input->button == MOUSE_WHEEL_DOWN)
		scroll(help, 3);
	return 1;
}

static int request(struct view *view, struct app *app, enum request request, const struct input *input)
{
	struct view_help *help = (struct view_help *)view;

	switch (request) {
	case REQUEST_UP:
		scroll(help, -1);
		return 1;
	case REQUEST_DOWN:
		scroll(help, 1);
		return 1;
	case REQUEST_PAGE_UP:
		scroll(help, -help->height);
		return 1;
	case REQUEST_PAGE_DOWN:
		scroll(help, help->height);
		return 1;
	case REQUEST_FIRST:
		scroll(help, -help->rows);
		return 1;
	case REQUEST_LAST:
		scroll(help, help->rows);
		return 1;
	case REQUEST_HELP:
	case REQUEST_ENTER:
		app_close(app);
		return 1;
	case REQUEST_MOUSE:
		return mouse(help, input);
	default:
		return 0;
	}
}

static int is_idle(const struct view *view, const char *piece)
{
	const struct view_help *help = (const struct view_help *)view;

	return !strncmp(piece, "Down", 4) && help->first + help->height >= help->rows;
}

const struct view_ops view_help_ops = {
	.name = "help",
	.size = sizeof(struct view_help),
	.draw = draw,
	.request = request,
	.hint = "Down more  q back",
	.is_idle = is_idle,
};
