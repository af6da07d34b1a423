/* One place: how much it holds and why it is called what it is, its stack, its life over time, and who freed it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "app.h"
#include "base/text.h"
#include "grid.h"
#include "memtrace/error.h"
#include "report/answer.h"
#include "screen/draw/chart.h"

#define SERIES_BUDGET 2000000u /* events of the tape that one drawing takes in, a few ms */

enum site_pane { PANE_STACK, PANE_LIFE };

struct view_site {
	struct view view;
	uint32_t site;
	enum site_pane pane;
	struct list stack;
	int place_chosen; /* the frame that the site is called by has been looked for */
	struct grid life;
	struct worker *worker;
	uint32_t number;              /* number of the question */
	struct worker_answer *answer; /* NULL: not yet */
	/* The series of this place alone, and what it was made of. */
	struct series *series;
	uint8_t *layer_of; /* by cell */
	uint32_t cells, cells_room;
	unsigned edition;
	int begun, growing;
	struct scale scale; /* scale of the strip */
	struct series_column *column;
	int columns_room;
	struct area strip, frames, rows; /* drawn last */
};

/* The areas of the parts. */
struct site_layout {
	int head, strip, times, stack, life; /* rows of each; stack and life with their titles */
};

/* ---- beginning and end ---- */

static int open_site(struct view *view, struct app *app, const void *argument)
{
	struct view_site *self = (struct view_site *)view;
	struct worker_question question = { .kind = WORKER_LIFE };

	self->site = ((const struct view_site_argument *)argument)->site;
	self->worker = app->worker;
	self->series = series_new();
	if (!self->series)
		return -MT_E_MEMORY;
	question.site = self->site;
	if (self->worker)
		self->number = worker_ask(self->worker, &question);
	return 0;
}

static void release_site(struct view *view)
{
	struct view_site *self = (struct view_site *)view;

	worker_answer_free(self->answer);
	series_free(self->series);
	free(self->layer_of);
	free(self->column);
}

static void fetch(struct view_site *self)
{
	struct worker_question question = { .kind = WORKER_LIFE, .site = self->site };

	if (!self->worker || self->answer)
		return;
	self->answer = worker_answer(self->worker, self->number);
	if (!self->answer && !worker_pending(self->worker, self->number))
		self->number = worker_ask(self->worker, &question); /* another view has asked meanwhile */
}

static int site_waits(struct view *view)
{
	const struct view_site *self = (struct view_site *)view;

	return self->growing || (self->worker && !self->answer);
}

/* ---- the series ---- */

/* Sites that are one row of the first screen. */
static int same_place(const struct model *model, uint32_t one, uint32_t two)
{
	const struct model_site *a = &model->site[one], *b = &model->site[two];

	return model_same_line(model, one, two) && a->phase == b->phase && a->category == b->category &&
	       a->driver == b->driver;
}

static int mark_cells(struct view_site *self, const struct model *model)
{
	uint32_t cells = TAPE_CELL(model->sites, 0), i;
	uint8_t *layer_of = self->layer_of;

	if (cells > self->cells_room) {
		layer_of = realloc(layer_of, cells);
		if (!layer_of)
			return -MT_E_MEMORY;
		self->layer_of = layer_of;
		self->cells_room = cells;
	}
	for (i = 0; i < cells; i++)
		layer_of[i] = TAPE_SITE(i) && same_place(model, TAPE_SITE(i), self->site) ? 0 : SERIES_HIDDEN;
	self->cells = cells;
	return 0;
}

/* Takes in what the series lacks, some at a time. */
static int follow(struct view_site *self, const struct model *model)
{
	int error = 0, more;

	if (!self->begun || self->edition != model->edition) {
		error = mark_cells(self, model);
		if (!error)
			error = series_begin(self->series, self->layer_of, self->cells, SERIES_HIDDEN, SERIES_HIDDEN,
					     1);
		self->begun = !error;
		self->edition = model->edition;
	} else if (self->cells != TAPE_CELL(model->sites, 0)) {
		error = mark_cells(self, model);
		if (!error)
			error = series_extend(self->series, self->layer_of, self->cells);
	}
	if (error)
		return error;
	more = series_more(self->series, model->tape, model->events, SERIES_BUDGET);
	self->growing = more > 0;
	return more < 0 ? more : 0;
}

/* ---- the head ---- */

/* Allocations of the place that are alive at the cursor, as the first screen counts them; -1: it does not show them. */
static int64_t count_now(const struct view_site *self, const struct app *app)
{
	int64_t count = -1;
	uint32_t i;

	for (i = 0; i < app->live.rows; i++)
		if (same_place(app->model, app->live.row[i].site, self->site))
			count = (count < 0 ? 0 : count) + (int64_t)app->live.row[i].count;
	return count;
}

static uint64_t bytes_now(const struct view_site *self, const struct app *app)
{
	struct series_column column;

	series_columns(self->series, app->model->tape, app->scale.cursor, scale_later(app->scale.cursor, 1), &column,
		       1);
	return column.max;
}

static void draw_amounts(const struct view_site *self, const struct app *app, struct area area, int y)
{
	char now[TEXT_SIZE_MAX], most[TEXT_SIZE_MAX], time[TEXT_SIZE_MAX], at[TEXT_SIZE_MAX], number[64];
	int64_t when = 0, count = count_now(self, app);
	uint64_t peak = series_peak(self->series, &when);
	struct sentence sentence = { 0 };
	int x;

	text_bytes(now, bytes_now(self, app));
	x = area_print(area, 0, y, STYLE_BOLD, "%s", now);
	if (count >= 0)
		sentence_say(&sentence, " in %s", text_count(number, sizeof(number), (uint64_t)count, "allocation"));
	sentence_say(&sentence, " at %s", text_time(time, app->scale.cursor));
	if (self->growing)
		sentence_say(&sentence, "; the most is being looked up");
	else
		sentence_say(&sentence, "; the most was %s at %s", text_bytes(most, peak), text_time(at, when));
	area_fit(area, x, y, area.width - x, STYLE_PLAIN, sentence.text, 0);
}

static void draw_words(const struct view_site *self, const struct app *app, struct area area, int y)
{
	const struct model *model = app->model;
	const struct model_site *site = &model->site[self->site];
	const struct model_process *process = site->process < model->processes ? &model->process[site->process] : NULL;
	char word[TEXT_SIZE_MAX], words[512];
	int x = area_text(area, 0, y, STYLE_PLAIN, site->driver ? "taken from the driver in " : "allocated in ");

	x = area_text(area, x, y, STYLE_LAYER(site->phase), mt_phase_name(site->phase));
	x = area_print(area, x, y, STYLE_PLAIN, ", %s", answer_category(mt_category_name(site->category)));
	if (site->owner < model->owners)
		x = area_print(area, x, y, STYLE_PLAIN, ", owner %s", model->owner[site->owner]);
	if (process && model->processes > 1)
		area_print(area, x, y, STYLE_PLAIN, ", %s", answer_process(word, process->rank, process->pid));
	else if (process && process->pid)
		area_print(area, x, y, STYLE_PLAIN, ", pid %lld", (long long)process->pid);
	if (area.height <= y + 1 || !site->evidence)
		return;
	snprintf(words, sizeof(words), "%s%s%s%s", *site->evidence ? "because: " : "", site->evidence,
		 site->decided_by && *site->decided_by ? (*site->evidence ? "; phase by " : "phase by ") : "",
		 site->decided_by ? site->decided_by : "");
	area_fit(area, 0, y + 1, area.width, STYLE_DIM, words, 0);
}

/* The other bytes of the line at the cursor: "backward gradients 3.0 GiB". If there is nothing: no row. */
static void draw_parts(const struct view_site *self, const struct app *app, struct area area, int y)
{
	const struct model *model = app->model;
	const struct liveset_row *row;
	struct sentence sentence = { 0 };
	char bytes[TEXT_SIZE_MAX];
	uint32_t i;

	for (i = 0; i < app->live.rows; i++) {
		row = &app->live.row[i];
		if (!model_same_line(model, row->site, self->site) ||
		    (same_place(model, row->site, self->site) && row->category == model->site[self->site].category))
			continue;
		sentence_say(&sentence, "%s %s %s in %s",
			     *sentence.text ? "," : "this line holds, too:", text_bytes(bytes, row->bytes),
			     answer_category(mt_category_name(row->category)),
			     mt_phase_name(model->site[row->site].phase));
	}
	area_fit(area, 0, y, area.width, STYLE_PLAIN, sentence.text, 0);
}

static void draw_head(const struct view_site *self, const struct app *app, struct area area)
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

static int draw_strip(struct view_site *self, const struct app *app, struct area area, int times)
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

/* Chooses the frame that the place is called by: what is further in are helpers and libraries. */
static void choose_place(struct view_site *self, const struct model_site *site)
{
	char function[512], place[512];
	size_t i;

	for (i = 0; i < site->callstack->count; i++) {
		callstack_function(function, sizeof(function), site->callstack->frame[i]);
		callstack_place(place, sizeof(place), site->callstack->frame[i]);
		if (!strcmp(function, site->function) && !strcmp(place, site->place)) {
			list_choose(&self->stack, (uint32_t)i);
			break;
		}
	}
	self->place_chosen = 1;
}

static void draw_frame(struct area row, const struct callstack_frame *frame, int chosen)
{
	char function[512], place[512];
	uint8_t style = callstack_is_user(frame) ? STYLE_BOLD : STYLE_DIM;
	int width, room;

	if (frame->elided) {
		area_text(row, 2, 0, STYLE_DIM, "... frames beyond the recorded depth");
	} else {
		callstack_place(place, sizeof(place), frame);
		callstack_function(function, sizeof(function), frame);
		width = columns_of(place);
		room = row.width - 3 - (width < row.width / 2 ? width : row.width / 2);
		if (callstack_is_user(frame))
			area_put(row, 0, 0, row.canvas->ascii ? ">" : "▸", STYLE_KEY, STYLE_NO_BACKGROUND);
		area_fit(row, 2, 0, room - 1, style, *function ? function : "(no name)", 0);
		area_fit(row, 2 + room, 0, row.width - 2 - room, style, place, 1);
	}
	if (chosen)
		area_style_row(row, 0, STYLE_CHOSEN);
}

static void draw_stack(struct view_site *self, const struct app *app, struct area area)
{
	const struct model_site *site = &app->model->site[self->site];
	const struct callstack *stack = site->callstack;
	int64_t number;
	int y, bar;

	draw_title(area, "Stack, innermost first", self->pane == PANE_STACK);
	self->frames = area_part(area, 0, 1, area.width, area.height - 1);
	if (!stack || !stack->count) {
		list_fit(&self->stack, 0, self->frames.height);
		area_text(self->frames, 0, 0, STYLE_DIM,
			  !site->stack || stack ? "no stack was recorded"
			  : !self->worker       ? "not looked up"
						: "not looked up yet");
		return;
	}
	list_fit(&self->stack, (uint32_t)stack->count, self->frames.height);
	if (!self->place_chosen)
		choose_place(self, site);
	bar = stack->count > (size_t)self->frames.height;
	for (y = 0; y < self->frames.height && (number = list_row_at(&self->stack, y)) >= 0; y++)
		draw_frame(area_part(self->frames, 0, y, self->frames.width - bar, 1), stack->frame[number],
			   self->pane == PANE_STACK && (uint32_t)number == self->stack.chosen);
	list_bar(&self->stack, self->frames);
}

static void draw_life(struct view_site *self, struct area area)
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

/* If there is little room, the pane with the keys has most of it. */
static struct site_layout layout_of(int height, uint32_t frames, enum site_pane pane)
{
	struct site_layout layout = { .head = height >= 20 ? 5 : height >= 14 ? 4 : height >= 11 ? 3 : 2 };
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

static void draw_site(struct view *view, struct app *app, struct area area)
{
	struct view_site *self = (struct view_site *)view;
	const struct model_site *site = &app->model->site[self->site];
	struct site_layout layout;
	int error, y;

	if (self->site >= app->model->sites) {
		area_text(area, 0, 0, STYLE_DIM, "there is no such place");
		return;
	}
	layout = layout_of(area.height, site->callstack ? (uint32_t)site->callstack->count : 1, self->pane);
	fetch(self);
	error = follow(self, app->model);
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

static void go_to_row(const struct view_site *self, struct app *app)
{
	char time[TEXT_SIZE_MAX];

	if (!self->answer || !self->answer->rows || self->answer->time[self->life.list.chosen] < 0)
		return;
	app_go(app, self->answer->time[self->life.list.chosen]);
	app_say(app, "the cursor is where it was born, at %s", text_time(time, app->scale.cursor));
}

/* The whole path of the chosen frame, which has no room in its row. */
static void tell_frame(const struct view_site *self, struct app *app)
{
	const struct callstack_frame *frame;
	const struct callstack *stack;

	model_lock(app->model);
	stack = app->model->site[self->site].callstack;
	if (stack && self->stack.chosen < stack->count) {
		frame = stack->frame[self->stack.chosen];
		if (*frame->file)
			app_say(app, "%.200s:%u", frame->file, frame->line);
		else
			app_say(app, "%.200s+0x%llx", *frame->module ? frame->module : "unknown",
				(unsigned long long)frame->offset);
	}
	model_unlock(app->model);
}

static void enter(const struct view_site *self, struct app *app)
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

static int point(struct view_site *self, struct app *app, const struct input *input)
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

static int request_site(struct view *view, struct app *app, enum request request, const struct input *input)
{
	struct view_site *self = (struct view_site *)view;

	switch (request) {
	case REQUEST_MOUSE:
		return point(self, app, input);
	case REQUEST_PANE:
		self->pane = self->pane == PANE_STACK ? PANE_LIFE : PANE_STACK;
		return 1;
	case REQUEST_ENTER:
		enter(self, app);
		return 1;
	case REQUEST_LEFT:
	case REQUEST_RIGHT: /* in time, which is the app's, unless the table does not fit */
		return self->pane == PANE_LIFE && self->life.width > self->life.room &&
		       grid_request(&self->life, request);
	default:
		return self->pane == PANE_STACK ? list_request(&self->stack, request)
						: grid_request(&self->life, request);
	}
}

const struct view_ops view_site_ops = {
	.name = "place",
	.size = sizeof(struct view_site),
	.open = open_site,
	.draw = draw_site,
	.request = request_site,
	.hint = "Tab stack, life  Enter go there  q back",
	.release = release_site,
	.waits = site_waits,
};
