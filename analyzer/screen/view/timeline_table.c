/* The table of live memory at the cursor, by place. */
#include <string.h>
#include "base/text.h"
#include "memtrace/phase.h"
#include "screen/draw/chart.h"
#include "timeline.h"

/* ---- columns ---- */

/* The begins of the columns in a table of `width` columns; width 0: it is not there. */
struct table_columns {
	int size, bar, share, count, phase, category, place; /* x */
	int bar_width, category_width, place_width;
	int has_share, has_count, has_phase, has_process;
};

#define SIZE_COLUMNS 9
#define SHARE_COLUMNS 5
#define COUNT_COLUMNS 7
#define PHASE_COLUMNS 13 /* weight-update */
#define BAR_COLUMNS 10
#define CATEGORY_COLUMNS 15      /* optimizer state */
#define CATEGORY_COLUMNS_WIDE 22 /* recomputed activations */

/*
 * The places matter most. On narrow screens the count makes room for them, unless it orders the rows. With several processes the phase, or the
 * process's name, goes if the letter before the row shows the same.
 */
static struct table_columns table_columns(const struct app *app, int width, int several)
{
	int is_wide = width >= 100;
	struct table_columns columns = { .size = 2 };
	int x = columns.size + SIZE_COLUMNS;

	columns.has_process = several && (is_wide || app->by != PALETTE_BY_PROCESS);
	columns.has_share = width >= 48;
	columns.has_phase = is_wide || (width >= 64 && !(several && app->by == PALETTE_BY_PHASE));
	columns.has_count = is_wide || (width >= 64 && app->sort == LIVESET_SORT_COUNT);
	columns.bar_width = is_wide ? BAR_COLUMNS : 0;
	columns.category_width = is_wide ? CATEGORY_COLUMNS_WIDE : width >= 72 ? CATEGORY_COLUMNS : 0;
	columns.share = x + 1;
	x += columns.has_share ? 1 + SHARE_COLUMNS : 0;
	columns.bar = x + 1;
	x += columns.bar_width ? 1 + columns.bar_width : 0;
	columns.count = x + 1;
	x += columns.has_count ? 1 + COUNT_COLUMNS : 0;
	columns.phase = x + 1;
	x += columns.has_phase ? 1 + PHASE_COLUMNS : 0;
	columns.category = x + 1;
	x += columns.category_width ? 1 + columns.category_width : 0;
	columns.place = x + 1;
	columns.place_width = width - columns.place;
	return columns;
}

int timeline_table_heads(int height)
{
	return height < 1 ? 0 : height < 5 ? 1 : 2;
}

/* ---- heads ---- */

/* ", step 3, backward", or ", step 3, rank 0 in backward" where there are several. */
static void say_phase(struct sentence *sentence, const struct model *model, uint32_t process, int64_t time, int several)
{
	uint32_t span = model_span_at(model, process, time);
	char name[PALETTE_NAME_MAX];

	if (span == model->spans || model->span[span].first > time)
		return;
	if (model->steps)
		sentence_say(sentence, ", step %u", model->span[span].step);
	if (several)
		sentence_say(sentence, ", %s in", palette_process_name(name, model, process));
	sentence_say(sentence, "%s %s", several ? "" : ",", mt_phase_name(model->span[span].phase));
}

/* Words that have no room are not said. */
static void say_if_fits(struct sentence *sentence, int width, const char *words)
{
	if (columns_of(sentence->text) + columns_of(words) <= width)
		sentence_say(sentence, "%s", words);
}

/* "Alive at 12.4 s, step 3, backward: 65.9 GiB of 80.0 GiB, 812 allocations, by size" */
static void draw_title(const struct timeline *timeline, const struct app *app, struct area area, int several)
{
	const struct model *model = app->model;
	int is_part = app->filter.text[0] || (app->hidden & timeline_processes(app));
	uint64_t total = app->device < model->devices ? model->device[app->device].total : 0;
	char text[TEXT_SIZE_MAX], count[64], words[96];
	struct sentence sentence = { 0 };
	uint32_t process;

	sentence_say(&sentence, "%s%s", area.width < 60 ? "" : "Alive at ",
		     chart_time_text(text, app->scale.cursor, &app->scale));
	if (!timeline_peak_process(app, &process))
		process = timeline_process(timeline, app);
	say_phase(&sentence, model, process, app->scale.cursor, several);
	sentence_say(&sentence, ": %s", text_bytes(text, app->live.bytes));
	if (is_part)
		sentence_say(&sentence, " of what is shown");
	snprintf(words, sizeof(words), " of %s", text_bytes(text, total));
	if (!is_part && total)
		say_if_fits(&sentence, area.width, words);
	snprintf(words, sizeof(words), ", %s", text_count(count, sizeof(count), app->live.count, "allocation"));
	say_if_fits(&sentence, area.width, words);
	snprintf(words, sizeof(words), ", by %s", liveset_sort_words[app->sort]);
	say_if_fits(&sentence, area.width, words);
	area_fit(area, 0, 0, area.width, STYLE_HEAD, sentence.text, 0);
}

static void draw_heads(const struct table_columns *columns, struct area area)
{
	area_print_right(area, columns->size + SIZE_COLUMNS, 1, STYLE_DIM, "size");
	if (columns->has_share)
		area_print_right(area, columns->share + SHARE_COLUMNS, 1, STYLE_DIM, "share");
	if (columns->has_count)
		area_print_right(area, columns->count + COUNT_COLUMNS, 1, STYLE_DIM, "count");
	if (columns->has_phase)
		area_text(area, columns->phase, 1, STYLE_DIM, "phase");
	if (columns->category_width)
		area_text(area, columns->category, 1, STYLE_DIM, "category");
	area_text(area, columns->place, 1, STYLE_DIM, "place");
}

/* ---- rows ---- */

/* A share of the columns in eighths, or in whole ones. */
static void draw_bar(struct area area, int x, int width, uint8_t style, uint64_t part, uint64_t whole)
{
	static const char *const eighths[] = { " ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█" };
	int ascii = area.canvas->ascii, parts = ascii ? 1 : 8, units = scale_height(part, whole, width, parts), i, here;

	for (i = 0; i < width && units > i * parts; i++) {
		here = units - i * parts < parts ? units - i * parts : parts;
		area_put(area, x + i, 0, ascii ? "#" : eighths[here], style, STYLE_NO_BACKGROUND);
	}
}

#define FUNCTION_LEAST 6 /* columns of a function's name, at least; fewer are unreadable */

/* "rank 3  loss.py:12 compute_loss": the place is cut at its beginning, the function goes first. */
static void draw_place(struct area area, int x, int columns, uint8_t style, const char *process,
		       const struct model_site *site)
{
	const char *nothing = site->stack ? "unknown place" : "no stack was recorded";
	const char *place = *site->place ? site->place : *site->function ? site->function : nothing;
	int end = x + columns;

	if (*process) {
		area_fit(area, x, 0, columns, style, process, 0);
		x += columns_of(process) + 2;
	}
	area_fit(area, x, 0, end - x, style, place, 1);
	x += columns_of(place) + 1;
	if (*site->place && *site->function && (end - x >= FUNCTION_LEAST || end - x >= columns_of(site->function)))
		area_fit(area, x, 0, end - x, style, site->function, 0);
}

/* Draws the letter of the row's layer, in its colour, as in the chart. */
static void draw_chip(const struct app *app, struct area area, uint8_t layer)
{
	char letter[2] = "";

	if (layer >= app->palette.layers)
		return;
	letter[0] = app->palette.letter[layer];
	area_put(area, 0, 0, letter, area.canvas->colours >= 8 ? STYLE_PLAIN : STYLE_BOLD,
		 area.canvas->colours >= 8 ? STYLE_LAYER(layer) : STYLE_NO_BACKGROUND);
}

static uint8_t layer_of_row(const struct app *app, const struct liveset_row *row)
{
	uint32_t cell = TAPE_CELL(row->site, row->category == MT_CATEGORY_SLACK);

	return cell < app->palette.cells ? app->palette.layer_of[cell] : PALETTE_REST;
}

/* One row of the list, which the area is. */
static void draw_row(const struct app *app, struct area area, const struct table_columns *columns,
		     const struct liveset_row *row, uint8_t style)
{
	const struct model_site *site = &app->model->site[row->site];
	uint8_t layer = layer_of_row(app, row), bar_style = style, place_style = style;
	char text[TEXT_SIZE_MAX], name[PALETTE_NAME_MAX] = "";

	if (style != STYLE_PLAIN) {
		area_style_row(area, 0, style);
	} else {
		bar_style = layer < app->palette.layers ? STYLE_LAYER(layer) : style;
		if (app->search[0] && row->is_found)
			place_style = STYLE_WARN;
	}
	area_print_right(area, columns->size + SIZE_COLUMNS, 0, style, "%s", text_bytes(text, row->bytes));
	if (columns->has_share)
		area_print_right(area, columns->share + SHARE_COLUMNS, 0, style, "%s",
				 text_percent(text, row->bytes, app->live.bytes));
	if (columns->bar_width)
		draw_bar(area, columns->bar, columns->bar_width, bar_style, row->bytes, app->live.bytes);
	if (columns->has_count)
		area_print_right(area, columns->count + COUNT_COLUMNS, 0, style, "%s", text_number(text, row->count));
	if (columns->has_phase)
		area_fit(area, columns->phase, 0, PHASE_COLUMNS, style, mt_phase_name(site->phase), 0);
	if (columns->category_width)
		area_fit(area, columns->category, 0, columns->category_width, style, mt_category_name(row->category),
			 0);
	if (columns->has_process)
		palette_process_name(name, app->model, site->process);
	draw_place(area, columns->place, columns->place_width, place_style, name, site);
	draw_chip(app, area, layer);
}

void timeline_draw_table(struct timeline *timeline, struct app *app, struct area area)
{
	struct list *list = &timeline->table;
	int heads = timeline_table_heads(area.height), y;
	struct area rows = area_part(area, 0, heads, area.width, area.height - heads);
	uint64_t processes = timeline_processes(app) & ~app->hidden;
	int several = (processes & (processes - 1)) != 0;
	struct table_columns columns = table_columns(app, area.width - 1, several);
	uint8_t chosen = timeline->legend_has_focus ? STYLE_BOLD : STYLE_CHOSEN;
	int64_t row;

	list_fit(list, app->live.rows, rows.height);
	if (heads > 0)
		draw_title(timeline, app, area, several);
	if (heads > 1)
		draw_heads(&columns, area);
	for (y = 0; y < rows.height; y++) {
		row = list_row_at(list, y);
		if (row >= 0)
			draw_row(app, area_part(rows, 0, y, rows.width - 1, 1), &columns, &app->live.row[row],
				 row == list->chosen ? chosen : STYLE_PLAIN);
	}
	list_bar(list, area_part(rows, rows.width - 1, 0, 1, rows.height));
}
