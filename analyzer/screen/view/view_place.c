/* One place: its bytes and the evidence for its category, its stack, its life over time, and the code that freed it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "app.h"
#include "base/text.h"
#include "grid.h"
#include "memtrace/error.h"
#include "place_stacks.h"
#include "report/answer.h"
#include "screen/draw/chart.h"

#define SERIES_BUDGET 2000000u /* events of the tape that one drawing reads; these take a few ms */

enum place_pane { PANE_STACK, PANE_LIFE };

struct view_place {
	struct view view;
	uint32_t site;
	int slack; /* 1: the allocator's slack in the memory that the site took */
	enum place_pane pane;
	struct list stack;
	struct place_stacks stacks;
	int place_chosen; /* 1: the frame that names the site was looked for */
	struct grid life;
	struct worker *worker;
	uint32_t number;              /* number of the question */
	struct worker_answer *answer; /* NULL: not yet */
	/* The series of this place alone, and its inputs. */
	struct series *series;
	const struct tape *tape;
	uint8_t *mine, *layer_of; /* by cell: whether the cell is of the place; its layer in the series */
	uint32_t cells, cells_room;
	int begun, growing;
	struct scale scale; /* scale of the strip */
	struct series_column *column;
	int columns_room;
	struct area strip, frames, rows; /* drawn last */
};

/* The areas of the parts. */
struct place_layout {
	int head, strip, times, stack, life; /* rows of each; stack and life with their titles */
};

/* ---- beginning and end ---- */

static int open_place(struct view *view, struct app *app, const void *argument)
{
	struct view_place *self = (struct view_place *)view;
	struct worker_question question = { .kind = WORKER_LIFE };

	self->site = ((const struct view_place_argument *)argument)->site;
	self->slack = ((const struct view_place_argument *)argument)->slack;
	self->worker = app->worker;
	self->series = series_new();
	if (!self->series)
		return -MT_E_MEMORY;
	question.site = self->site;
	if (self->worker)
		self->number = worker_ask(self->worker, &question);
	return 0;
}

static void release_place(struct view *view)
{
	struct view_place *self = (struct view_place *)view;

	worker_answer_free(self->answer);
	series_free(self->series);
	free(self->mine);
	free(self->layer_of);
	free(self->column);
	place_stacks_release(&self->stacks);
}

static void fetch(struct view_place *self)
{
	struct worker_question question = { .kind = WORKER_LIFE, .site = self->site };

	if (!self->worker || self->answer)
		return;
	self->answer = worker_answer(self->worker, self->number);
	if (!self->answer && !worker_pending(self->worker, self->number))
		self->number = worker_ask(self->worker, &question); /* another view has asked since */
}

static int site_waits(struct view *view)
{
	const struct view_place *self = (struct view_place *)view;

	return self->growing || (self->worker && !self->answer);
}

/* ---- the series ---- */

static uint8_t category_of(const struct view_place *self, const struct model *model)
{
	return model_category(model, TAPE_CELL(self->site, self->slack));
}

static int is_hidden(const struct app *app, uint32_t cell)
{
	return cell < app->palette.cells && app->palette.layer_of[cell] == SERIES_HIDDEN;
}

/* Marks the cells of one row of the first screen. Hidden cells are left out, as in the row, unless all are hidden. */
static void mark_cells(const struct view_place *self, const struct app *app, uint8_t *mine)
{
	const struct model *model = app->model;
	int all = is_hidden(app, TAPE_CELL(self->site, self->slack));
	uint8_t category = category_of(self, model);
	uint32_t i;

	mine[0] = mine[1] = 0;
	for (i = TAPE_CELL(1, 0); i < self->cells; i++)
		mine[i] = model_same_line(model, TAPE_SITE(i), self->site) &&
			  model->site[TAPE_SITE(i)].phase == model->site[self->site].phase &&
			  model_category(model, i) == category && (all || !is_hidden(app, i));
}

static int make_room(struct view_place *self, uint32_t cells)
{
	uint8_t *grown;

	if (cells <= self->cells_room)
		return 0;
	grown = realloc(self->mine, cells);
	if (!grown)
		return -MT_E_MEMORY;
	self->mine = grown;
	grown = realloc(self->layer_of, cells);
	if (!grown)
		return -MT_E_MEMORY;
	self->layer_of = grown;
	memset(self->layer_of + self->cells_room, SERIES_HIDDEN, cells - self->cells_room);
	self->cells_room = cells;
	return 0;
}

/* Marks the cells of the place. *changed: the marks of known cells changed. */
static int follow_cells(struct view_place *self, const struct app *app, int *changed)
{
	uint32_t known = self->cells, i;
	int error = make_room(self, TAPE_CELL(app->model->sites, 0));

	*changed = 0;
	if (error)
		return error;
	self->cells = TAPE_CELL(app->model->sites, 0);
	mark_cells(self, app, self->mine);
	for (i = 0; i < self->cells; i++) {
		uint8_t layer = self->mine[i] ? 0 : SERIES_HIDDEN;

		*changed |= i < known && self->layer_of[i] != layer;
		self->layer_of[i] = layer;
	}
	return 0;
}

/* Takes new events into the series, some at a time. */
static int follow(struct view_place *self, const struct app *app)
{
	const struct model *model = app->model;
	uint32_t known = self->cells;
	int changed, more, error = follow_cells(self, app, &changed);

	if (error)
		return error;
	if (!self->begun || changed || self->tape != model->tape) {
		error = series_begin(self->series, self->layer_of, self->cells, SERIES_HIDDEN, SERIES_HIDDEN, 1);
		self->begun = !error;
		self->tape = model->tape;
	} else if (self->cells != known) {
		error = series_extend(self->series, self->layer_of, self->cells);
	}
	if (error)
		return error;
	more = series_more(self->series, model->tape, model->events, SERIES_BUDGET);
	self->growing = more > 0;
	return more < 0 ? more : 0;
}

/* ---- the head ---- */

/* The bytes and allocations of the place at the cursor, as its row has them. */
static struct tape_held held_now(const struct view_place *self, const struct app *app)
{
	struct tape_held sum = { 0 };
	const struct tape_held *held;
	uint32_t i;

	for (i = 0; i < app->live.helds; i++) {
		held = &app->live.held[i];
		if (held->cell >= self->cells || !self->mine[held->cell])
			continue;
		sum.bytes += held->bytes;
		sum.count += held->count;
	}
	return sum;
}

static void draw_amounts(const struct view_place *self, const struct app *app, struct area area, int y)
{
	char now[TEXT_SIZE_MAX], most[TEXT_SIZE_MAX], time[TEXT_SIZE_MAX], at[TEXT_SIZE_MAX], number[64];
	struct tape_held held = held_now(self, app);
	int64_t when = 0;
	uint64_t peak = series_peak(self->series, &when);
	struct sentence sentence = { 0 };
	int x;

	x = area_print(area, 0, y, STYLE_BOLD, "%s", text_bytes(now, held.bytes));
	if (held.bytes)
		sentence_say(&sentence, " in %s", text_count(number, sizeof(number), held.count, "allocation"));
	sentence_say(&sentence, " at %s", text_time(time, app->scale.cursor));
	if (self->growing)
		sentence_say(&sentence, "; the most is being looked up");
	else
		sentence_say(&sentence, "; the most was %s at %s", text_bytes(most, peak), text_time(at, when));
	area_fit(area, x, y, area.width - x, STYLE_PLAIN, sentence.text, 0);
}

static void draw_words(const struct view_place *self, const struct app *app, struct area area, int y)
{
	const struct model *model = app->model;
	const struct model_site *site = &model->site[self->site];
	const struct model_process *process = site->process < model->processes ? &model->process[site->process] : NULL;
	char word[TEXT_SIZE_MAX], words[512];
	int x = area_text(area, 0, y, STYLE_PLAIN, site->driver ? "taken from the driver in " : "allocated in ");

	x = area_text(area, x, y, STYLE_LAYER(site->phase), mt_phase_name(site->phase));
	x = area_print(area, x, y, STYLE_PLAIN, ", %s", answer_category(mt_category_name(category_of(self, model))));
	if (site->owner < model->owners)
		x = area_print(area, x, y, STYLE_PLAIN, ", owner %s", model->owner[site->owner]);
	if (process && model->processes > 1)
		area_print(area, x, y, STYLE_PLAIN, ", %s", answer_process(word, process->rank, process->pid));
	else if (process && process->pid)
		area_print(area, x, y, STYLE_PLAIN, ", pid %lld", (long long)process->pid);
	if (area.height <= y + 1 || !site->evidence || category_of(self, model) != site->category)
		return;
	snprintf(words, sizeof(words), "%s%s%s%s", *site->evidence ? "because: " : "", site->evidence,
		 site->decided_by && *site->decided_by ? (*site->evidence ? "; phase by " : "phase by ") : "",
		 site->decided_by ? site->decided_by : "");
	area_fit(area, 0, y + 1, area.width, STYLE_DIM, words, 0);
}

/* Draws the other bytes of the line at the cursor: "backward gradients 3.0 GiB". Without any: no row. */
static void draw_parts(const struct view_place *self, const struct app *app, struct area area, int y)
{
	const struct model *model = app->model;
	const struct liveset_row *row;
	struct sentence sentence = { 0 };
	char bytes[TEXT_SIZE_MAX];
	uint32_t i;

	for (i = 0; i < app->live.rows; i++) {
		row = &app->live.row[i];
		if (!model_same_line(model, row->site, self->site) ||
		    (model->site[row->site].phase == model->site[self->site].phase &&
		     row->category == category_of(self, model)))
			continue;
		sentence_say(&sentence, "%s %s %s in %s",
			     *sentence.text ? "," : "this line holds, too:", text_bytes(bytes, row->bytes),
			     answer_category(mt_category_name(row->category)),
			     mt_phase_name(model->site[row->site].phase));
	}
	area_fit(area, 0, y, area.width, STYLE_PLAIN, sentence.text, 0);
}

static void draw_head(const struct view_place *self, const struct app *app, struct area area)
{
	const struct model_site *site = &app->model->site[self->site];
	char place[1024];

	if (*site->function && *site->place)
		snprintf(place, sizeof(place), "%s (%s)", site->function, site->place);
	else
		snprintf(place, sizeof(place), "%s",
			 *site->function ? site->function
			 : *site->place  ? site->place
					 : "no stack was recorded");
	area_fit(area, 0, 0, area.width, STYLE_HEAD, place, 0);
	draw_amounts(self, app, area, 1);
	if (area.height > 2)
		draw_words(self, app, area, 2);
	if (area.height > 4)
		draw_parts(self, app, area, 4);
}

/* ---- strip, stack and life ---- */

static int draw_strip(struct view_place *self, const struct app *app, struct area area, int times)
{
	struct series_column *column = self->column;
	int cursor, y, width = area.width;

	if (width > self->columns_room) {
		column = realloc(column, (size_t)width * sizeof(*column));
		if (!column)
			return -MT_E_MEMORY;
		self->column = column;
		self->columns_room = width;
	}
	self->scale = app->scale;
	scale_resize(&self->scale, width);
	self->strip = area_part(area, 0, 0, width, area.height - times);
	series_columns(self->series, app->model->tape, self->scale.from, self->scale.to, column, (uint32_t)width);
	chart_strip(self->strip, column, STYLE_LAYER(app->model->site[self->site].phase));
	cursor = scale_column(&self->scale, app->scale.cursor);
	for (y = 0; y < self->strip.height; y++)
		area_style_row(area_part(self->strip, cursor, y, 1, 1), 0, STYLE_MARK);
	if (!column[cursor].max) /* there would be nothing to see */
		area_put(self->strip, cursor, self->strip.height - 1, area.canvas->ascii ? "|" : "╵", STYLE_MARK,
			 STYLE_NO_BACKGROUND);
	if (times)
		chart_times(area_part(area, 0, area.height - 1, width, 1), &self->scale);
	return 0;
}

static void draw_title(struct area area, const char *title, int focus)
{
	area_fill(area_part(area, 0, 0, area.width, 1), area.canvas->ascii ? "-" : "─", STYLE_LINE);
	area_print(area, 1, 0, focus ? STYLE_HEAD : STYLE_LINE, " %s ", title);
}

/* Chooses the frame that names the place; further inner frames are helpers and libraries. */
static void choose_place(struct view_place *self, const struct model_site *site)
{
	char function[512], place[512];
	uint32_t i;

	for (i = 0; i < self->stacks.rows; i++) {
		callstack_function(function, sizeof(function), place_stacks_frame(&self->stacks, i));
		callstack_place(place, sizeof(place), place_stacks_frame(&self->stacks, i));
		if (!strcmp(function, site->function) && !strcmp(place, site->place)) {
			list_choose(&self->stack, i);
			break;
		}
	}
	self->place_chosen = self->stacks.is_named;
}

static void draw_frame(const struct app *app, struct area row, const struct callstack_frame *frame)
{
	char function[512], place[512] = "";
	uint8_t style = callstack_is_user(frame) ? STYLE_BOLD : STYLE_DIM;
	int width, room;

	if (app->search[0] && filter_frame_has(frame, app->search))
		style = STYLE_WARN;
	if (frame->elided) {
		area_text(row, 2, 0, STYLE_DIM, "... frames beyond the recorded depth");
		return;
	}
	if (*frame->file || *frame->module || frame->native)
		callstack_place(place, sizeof(place), frame);
	callstack_function(function, sizeof(function), frame);
	width = columns_of(place);
	room = row.width - 3 - (width < row.width / 2 ? width : row.width / 2);
	if (callstack_is_user(frame) && *place)
		area_put(row, 0, 0, row.canvas->ascii ? ">" : "▸", STYLE_KEY, STYLE_NO_BACKGROUND);
	area_fit(row, 2, 0, room - 1, style, *function ? function : "(no name)", 0);
	area_fit(row, 2 + room, 0, row.width - 2 - room, style, place, 1);
}

#define BYTES_COLUMNS 10 /* " 121.7 MiB" */
#define INDENT_MOST 3    /* one part in 3 of a row, at most */

/* Draws a row. A branch of several stacks has its bytes, and is indented below the frame that the branch called. */
static void draw_row(const struct view_place *self, const struct app *app, struct area row, uint32_t number)
{
	const struct place_stacks_row *it = &self->stacks.row[number];
	char bytes[TEXT_SIZE_MAX];
	int x = 0, most = row.width / INDENT_MOST;

	if (self->stacks.stacks > 1) {
		x = (int)(it->indent < 1000 ? it->indent * 2 : 2000);
		x = x < most - BYTES_COLUMNS ? x : most - BYTES_COLUMNS;
		x = BYTES_COLUMNS + 1 + (x > 0 ? x : 0);
		if (it->has_bytes && self->stacks.is_alive)
			area_print_right(row, BYTES_COLUMNS, 0, STYLE_PLAIN, "%s",
					 text_bytes(bytes, self->stacks.tree.node[it->node].bytes));
	}
	draw_frame(app, area_part(row, x, 0, row.width - x, 1), place_stacks_frame(&self->stacks, number));
	if (self->pane == PANE_STACK && number == self->stack.chosen)
		area_style_row(row, 0, STYLE_CHOSEN);
}

static void draw_stack_title(const struct view_place *self, struct area area)
{
	char title[128] = "Stack, innermost first", count[64];

	if (self->stacks.stacks > 1)
		snprintf(title, sizeof(title), "%s, innermost first%s",
			 text_count(count, sizeof(count), self->stacks.stacks, "stack"),
			 self->stacks.is_alive ? "" : "; none is alive at the cursor");
	draw_title(area, title, self->pane == PANE_STACK);
}

static void draw_stack(struct view_place *self, const struct app *app, struct area area)
{
	const struct model_site *site = &app->model->site[self->site];
	int64_t number;
	int y, bar;

	draw_stack_title(self, area);
	self->frames = area_part(area, 0, 1, area.width, area.height - 1);
	list_fit(&self->stack, self->stacks.rows, self->frames.height);
	if (!self->place_chosen)
		choose_place(self, site);
	bar = self->stacks.rows > (uint32_t)self->frames.height;
	for (y = 0; y < self->frames.height && (number = list_row_at(&self->stack, y)) >= 0; y++)
		draw_row(self, app, area_part(self->frames, 0, y, self->frames.width - bar, 1), (uint32_t)number);
	list_bar(&self->stack, self->frames);
}

static void draw_life(struct view_place *self, struct area area)
{
	char words[128];
	int y;

	draw_title(area, "Its life", self->pane == PANE_LIFE);
	self->rows = area_part(area, 0, area.height, 0, 0);
	if (!self->worker) {
		area_text(area, 0, 1, STYLE_DIM, "there is no database to ask");
		return;
	}
	if (!self->answer) {
		grid_words(area, 1, area.height - 1, STYLE_DIM, grid_waiting(words, sizeof(words), self->worker));
		return;
	}
	if (*self->answer->trouble) {
		grid_words(area, 1, area.height - 1, STYLE_BAD, self->answer->trouble);
		return;
	}
	y = grid_words(area, 1, area.height >= 6 ? 2 : 1, STYLE_BOLD, self->answer->verdict);
	self->rows = area_part(area, 0, y, area.width, area.height - y);
	if (self->answer->rows)
		grid_draw(&self->life, self->answer, self->rows, self->pane == PANE_LIFE);
}

/* ---- the whole ---- */

/* On a small screen the pane with the keys gets most of the room. */
static struct place_layout layout_of(int height, uint32_t frames, enum place_pane pane)
{
	struct place_layout layout = { .head = height >= 20 ? 5 : height >= 14 ? 4 : height >= 11 ? 3 : 2 };
	int left, wanted = (int)(frames < 1000 ? frames : 1000) + 1;

	layout.strip = height >= 20 ? height / 7 : height >= 14 ? 2 : 1;
	layout.times = height >= 16;
	left = height - layout.head - layout.strip - layout.times;
	layout.stack = left >= 12 ? left / 2 : pane == PANE_STACK ? left - 2 : 2;
	if (layout.stack > wanted)
		layout.stack = wanted > 2 ? wanted : 2;
	layout.life = left - layout.stack;
	return layout;
}

static void draw_place(struct view *view, struct app *app, struct area area)
{
	struct view_place *self = (struct view_place *)view;
	struct place_layout layout;
	int error, y;

	if (self->site >= app->model->sites) {
		area_text(area, 0, 0, STYLE_DIM, "there is no such place");
		return;
	}
	fetch(self);
	error = follow(self, app);
	if (!error)
		error = place_stacks_make(&self->stacks, app, self->mine, self->cells);
	layout = layout_of(area.height, self->stacks.rows, self->pane);
	y = layout.head;
	if (!error) {
		draw_head(self, app, area_part(area, 0, 0, area.width, layout.head));
		error = draw_strip(self, app, area_part(area, 0, y, area.width, layout.strip + layout.times),
				   layout.times);
	}
	if (error)
		area_text(area, 0, y, STYLE_BAD, mt_strerror(error));
	y += layout.strip + layout.times;
	draw_stack(self, app, area_part(area, 0, y, area.width, layout.stack));
	draw_life(self, area_part(area, 0, y + layout.stack, area.width, layout.life));
}

/* ---- requests ---- */

static void go_to_row(const struct view_place *self, struct app *app)
{
	char time[TEXT_SIZE_MAX];

	if (!self->answer || !self->answer->rows || self->answer->time[self->life.list.chosen] < 0)
		return;
	app_go(app, self->answer->time[self->life.list.chosen]);
	app_say(app, "the cursor is where it was born, at %s", text_time(time, app->scale.cursor));
}

/* Shows the whole path of the chosen frame: the row has no room for the path. */
static void tell_frame(const struct view_place *self, struct app *app)
{
	const struct callstack_frame *frame;

	if (self->stack.chosen >= self->stacks.rows)
		return;
	frame = place_stacks_frame(&self->stacks, self->stack.chosen);
	if (*frame->file)
		app_say(app, "%.200s:%u", frame->file, frame->line);
	else if (*frame->module || frame->native)
		app_say(app, "%.200s+0x%llx", *frame->module ? frame->module : "unknown",
			(unsigned long long)frame->offset);
}

/* The next frame, round and round, with the words in it. */
static void search(struct view_place *self, struct app *app, int on)
{
	struct list_hits hits = { .from = self->stack.chosen, .on = on };
	uint32_t i;

	self->pane = PANE_STACK;
	for (i = 0; i < self->stacks.rows; i++)
		if (filter_frame_has(place_stacks_frame(&self->stacks, i), app->search))
			list_hit(&hits, i);
	if (hits.count)
		list_choose(&self->stack, hits.row);
	app_say_hits(app, &hits, "frame of these stacks");
}

static void enter(const struct view_place *self, struct app *app)
{
	if (self->pane == PANE_LIFE)
		go_to_row(self, app);
	else
		tell_frame(self, app);
}

static int is_in(struct area area, const struct input *input)
{
	return input->x >= area.x && input->x < area.x + area.width && input->y >= area.y &&
	       input->y < area.y + area.height;
}

static int point(struct view_place *self, struct app *app, const struct input *input)
{
	int wheel = input->button == MOUSE_WHEEL_UP ? REQUEST_UP : input->button == MOUSE_WHEEL_DOWN ? REQUEST_DOWN : 0;
	int64_t row;

	if (is_in(self->strip, input) && !wheel) {
		app_go_highest(app, &self->column[input->x - self->strip.x]);
	} else if (is_in(self->frames, input)) {
		self->pane = PANE_STACK;
		row = list_row_at(&self->stack, input->y - self->frames.y);
		if (wheel)
			list_request(&self->stack, (enum request)wheel);
		else if (row >= 0)
			list_choose(&self->stack, (uint32_t)row);
	} else if (is_in(self->rows, input)) {
		self->pane = PANE_LIFE;
		row = grid_row_at(&self->life, input->y - self->rows.y);
		if (wheel)
			grid_request(&self->life, (enum request)wheel);
		else if (row >= 0)
			list_choose(&self->life.list, (uint32_t)row);
	}
	if (input->button == MOUSE_DOUBLE)
		enter(self, app);
	return 1;
}

static int request_place(struct view *view, struct app *app, enum request request, const struct input *input)
{
	struct view_place *self = (struct view_place *)view;

	switch (request) {
	case REQUEST_MOUSE:
		return point(self, app, input);
	case REQUEST_PANE:
		self->pane = self->pane == PANE_STACK ? PANE_LIFE : PANE_STACK;
		return 1;
	case REQUEST_ENTER:
		enter(self, app);
		return 1;
	case REQUEST_SEARCH_ON:
	case REQUEST_SEARCH_BACK:
		search(self, app, request == REQUEST_SEARCH_ON);
		return 1;
	case REQUEST_LEFT:
	case REQUEST_RIGHT: /* these keys move in time, as in the app, unless the table is too wide */
		return self->pane == PANE_LIFE && self->life.width > self->life.room &&
		       grid_request(&self->life, request);
	default:
		return self->pane == PANE_STACK ? list_request(&self->stack, request)
						: grid_request(&self->life, request);
	}
}

const struct view_ops view_place_ops = {
	.name = "place",
	.size = sizeof(struct view_place),
	.open = open_place,
	.draw = draw_place,
	.request = request_place,
	.hint = "Tab stack, life  Enter go there  q back",
	.searches = 1,
	.release = release_place,
	.waits = site_waits,
};
