/* The worker's answer as a table: new memory between two marks, retained memory, SQL. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "app.h"
#include "base/text.h"
#include "grid.h"
#include "memtrace/error.h"

#define REST_ROWS 4   /* rows for the hidden parts of the chosen row, with a blank row before */
#define REST_LEAST 10 /* least rows of a table that makes room for these */

struct view_answer {
	struct view view;
	char title[128];
	struct worker_question question;
	struct worker *worker;
	uint32_t number;              /* number of the question */
	struct worker_answer *answer; /* NULL: not yet */
	struct grid grid;
	struct area at; /* area of the table, drawn last */
	int opened;     /* 1: all of the chosen row is shown, instead of table and verdict */
};

static int open_answer(struct view *view, struct app *app, const void *argument)
{
	struct view_answer *self = (struct view_answer *)view;
	const struct view_answer_argument *asked = argument;

	mt_copy_text(self->title, sizeof(self->title), asked->title);
	self->question = *asked->question;
	self->worker = app->worker;
	if (self->worker)
		self->number = worker_ask(self->worker, &self->question);
	return 0;
}

/* Fetches the answer. Asks again if another view has asked another question. */
static void fetch(struct view_answer *self)
{
	if (!self->worker || self->answer)
		return;
	self->answer = worker_answer(self->worker, self->number);
	if (!self->answer && !worker_pending(self->worker, self->number))
		self->number = worker_ask(self->worker, &self->question);
}

static void draw_head(const struct view_answer *self, struct area area)
{
	const struct worker_answer *answer = self->answer;
	char count[64];
	int room = area.width;

	if (answer && !*answer->trouble) {
		text_count(count, sizeof(count), answer->rows, "row");
		room -= (int)strlen(count) + (answer->cut ? 20 : 2);
		area_print_right(area, area.width, 0, STYLE_DIM, "%s%s", answer->cut ? "only the first " : "", count);
	}
	area_fit(area, 0, 0, room, STYLE_HEAD, self->title, 0);
}

/* All columns of the chosen row, as many as have room. */
static void draw_opened(const struct view_answer *self, struct area area)
{
	const struct worker_answer *answer = self->answer;
	const char *const *text = answer->text + (size_t)self->grid.list.chosen * answer->columns;
	struct sentence words;
	uint32_t i;
	int y = 0;

	for (i = 0; i < answer->columns && y < area.height; i++) {
		if (!*text[i])
			continue;
		words = (struct sentence){ 0 };
		sentence_say(&words, "%s: %s", answer->column[i].title, text[i]);
		y = grid_words(area, y, area.height - y, STYLE_PLAIN, words.text);
	}
}

static void draw_answer(struct view *view, struct app *app, struct area area)
{
	struct view_answer *self = (struct view_answer *)view;
	char words[128], rest_words[2048];
	int y, rest;

	(void)app;
	fetch(self);
	draw_head(self, area);
	self->at = area_part(area, 0, area.height, 0, 0);
	if (!self->worker) {
		area_text(area, 0, 2, STYLE_WARN, "there is no database to ask");
		return;
	}
	if (!self->answer) {
		grid_words(area, 2, 2, STYLE_DIM, grid_waiting(words, sizeof(words), self->worker));
		return;
	}
	if (*self->answer->trouble) {
		grid_words(area, 2, area.height - 2, STYLE_BAD, self->answer->trouble);
		return;
	}
	if (self->opened) {
		draw_opened(self, area_part(area, 0, 1, area.width, area.height - 1));
		return;
	}
	y = grid_words(area, 1, area.height > 18 ? 5 : area.height > 14 ? 3 : 2, STYLE_BOLD, self->answer->verdict);
	if (area.height > 14)
		y++;
	rest = area.height - y > REST_LEAST && grid_is_wider(self->answer, area.width) ? REST_ROWS : 0;
	self->at = area_part(area, 0, y, area.width, area.height - y - rest);
	if (self->answer->rows)
		grid_draw(&self->grid, self->answer, self->at, 1);
	if (self->answer->rows && rest) {
		grid_rest(rest_words, sizeof(rest_words), &self->grid, self->answer);
		grid_words(area, area.height - rest + 1, rest - 1, STYLE_DIM, rest_words);
	}
	if (self->answer->rows)
		return;
	if (self->answer->columns)
		area_text(self->at, 0, 0, STYLE_DIM, "no rows");
}

static void enter(struct view_answer *self, struct app *app)
{
	struct view_place_argument argument = { 0 };
	uint32_t row = self->grid.list.chosen;
	char time[TEXT_SIZE_MAX];

	if (self->answer->site[row]) {
		argument.site = self->answer->site[row];
		app_open(app, &view_place_ops, &argument);
	} else if (self->answer->time[row] >= 0) {
		app_go(app, self->answer->time[row]);
		app_say(app, "the cursor is at %s now (q: what was alive there)", text_time(time, app->scale.cursor));
	} else {
		self->opened = !self->opened;
	}
}

/* The next row with the words in one of its columns. */
static void search(struct view_answer *self, struct app *app, int on)
{
	const struct worker_answer *answer = self->answer;
	struct list_hits hits = { .from = self->grid.list.chosen, .on = on };
	size_t cells = (size_t)answer->rows * answer->columns, i;

	for (i = 0; i < cells; i++) {
		if (!strcasestr(answer->text[i], app->search))
			continue;
		list_hit(&hits, (uint32_t)(i / answer->columns));
		i += answer->columns - 1 - i % answer->columns;
	}
	if (hits.count)
		list_choose(&self->grid.list, hits.row);
	app_say_hits(app, &hits, "row");
}

static int point(struct view_answer *self, struct app *app, const struct input *input)
{
	int64_t row = -1;

	if (input->button == MOUSE_WHEEL_UP || input->button == MOUSE_WHEEL_DOWN)
		return grid_request(&self->grid, input->button == MOUSE_WHEEL_UP ? REQUEST_UP : REQUEST_DOWN);
	if (input->y >= self->at.y && input->y < self->at.y + self->at.height)
		row = grid_row_at(&self->grid, input->y - self->at.y);
	if (row < 0)
		return 1;
	list_choose(&self->grid.list, (uint32_t)row);
	if (input->button == MOUSE_DOUBLE)
		enter(self, app);
	return 1;
}

static int request_answer(struct view *view, struct app *app, enum request request, const struct input *input)
{
	struct view_answer *self = (struct view_answer *)view;

	if (!self->answer || !self->answer->rows)
		return request == REQUEST_LEFT || request == REQUEST_RIGHT || request == REQUEST_ENTER ||
		       request == REQUEST_MOUSE || request == REQUEST_SEARCH_ON || request == REQUEST_SEARCH_BACK;
	if (request == REQUEST_MOUSE)
		return point(self, app, input);
	if (request == REQUEST_ENTER) {
		enter(self, app);
		return 1;
	}
	if (request == REQUEST_SEARCH_ON || request == REQUEST_SEARCH_BACK) {
		search(self, app, request == REQUEST_SEARCH_ON);
		return 1;
	}
	if (request == REQUEST_BACK && self->opened) {
		self->opened = 0;
		return 1;
	}
	return grid_request(&self->grid, request);
}

static int answer_waits(struct view *view)
{
	const struct view_answer *self = (struct view_answer *)view;

	return self->worker && !self->answer;
}

static void release_answer(struct view *view)
{
	worker_answer_free(((struct view_answer *)view)->answer);
}

/* "Enter" has two uses, of which one applies; "Left Right" has no effect if all is in sight. */
static int answer_is_idle(const struct view *view, const char *piece)
{
	const struct view_answer *self = (const struct view_answer *)view;
	uint32_t row = self->grid.list.chosen;
	int rows = self->answer && self->answer->rows;
	int leads = rows && (self->answer->site[row] || self->answer->time[row] >= 0);

	if (!strncmp(piece, "Enter the p", 11))
		return !leads;
	if (!strncmp(piece, "Enter", 5))
		return !rows || leads || !grid_is_wider(self->answer, self->grid.room);
	return !strncmp(piece, "Left", 4) && (!rows || self->opened || self->grid.width <= self->grid.room);
}

const struct view_ops view_answer_ops = {
	.name = "answer",
	.size = sizeof(struct view_answer),
	.open = open_answer,
	.draw = draw_answer,
	.request = request_answer,
	.hint = "Enter the place  Enter all of it  Left Right sideways  q back",
	.searches = 1,
	.is_idle = answer_is_idle,
	.release = release_answer,
	.waits = answer_waits,
};
