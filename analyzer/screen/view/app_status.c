/* Drawing: the view, and the last row, with the shown part on the left, news in the middle, and keys on the right. */
#include <stdio.h>
#include <string.h>
#include "app.h"
#include "base/text.h"
#include "memtrace/defs.h"
#include "screen/draw/layout.h"

const char *app_device_name(const struct app *app, uint32_t device, char out[32])
{
	const struct model *model = app->model;

	if (device >= model->devices)
		return "no device";
	if (model->device[device].kind == MT_DEVICE_CPU)
		return "CPU";
	snprintf(out, 32, "GPU %u", model->device[device].number);
	return out;
}

void app_oom(const struct app *app, const struct model_oom *oom, struct oom_failure *failure)
{
	const struct model *model = app->model;
	const struct model_process *process = oom->process < model->processes ? &model->process[oom->process] : NULL;
	const struct model_device *device = oom->device < model->devices ? &model->device[oom->device] : NULL;
	uint32_t span = model_span_at(model, oom->process, oom->time);

	*failure = (struct oom_failure){ .time = oom->time,
					 .requested = oom->requested,
					 .free = -1,
					 .had = oom->had,
					 .number = device ? device->number : oom->device,
					 .processes = process ? model->processes : 0 };
	snprintf(failure->kind, sizeof(failure->kind), "%s", device && device->kind == MT_DEVICE_CPU ? "cpu" : "cuda");
	mt_copy_text(failure->phase, sizeof(failure->phase), mt_phase_name(oom->phase));
	failure->pid = process ? process->pid : 0;
	failure->rank = process ? process->rank : -1;
	if (span < model->spans && model->span[span].first <= oom->time) {
		failure->step = model->span[span].step;
		failure->steps = model->steps;
	}
}

/* The word for a recording that runs, or has just ended. */
static const char *follow_word(const struct app *app)
{
	if (app->model->follow != MODEL_FOLLOWS)
		return "ended";
	return app->held ? "held" : "live";
}

/* "reading 42%", "loading the database 7%", what is wrong with the traces; "": nothing to say. */
static int state_words(const struct app *app, char *out, size_t size)
{
	static const char *const doing[] = { "naming functions", "naming functions", "loading the database" };
	const struct model *model = app->model;
	enum worker_state state = WORKER_READY;
	char percent[TEXT_SIZE_MAX], lost[64];
	const char *why = "";
	int done = 0;

	out[0] = '\0';
	if (app->worker)
		state = worker_state(app->worker, &done, &why);
	if (model->trouble[0])
		snprintf(out, size, "%s", model->trouble);
	else if (model->follow != MODEL_WHOLE && state == WORKER_LOADING)
		snprintf(out, size, "%s, loading the database %d%%", follow_word(app), done);
	else if (model->follow != MODEL_WHOLE && model->state == MODEL_READING)
		snprintf(out, size, "%s", follow_word(app));
	else if (model->state == MODEL_READING)
		snprintf(out, size, "%sreading %s", model->outlined ? "outline, " : "",
			 text_percent(percent, model->bytes_read, model->bytes_total));
	else if (state <= WORKER_LOADING)
		snprintf(out, size, "%s %d%%", doing[state], done);
	else if (state == WORKER_FAILED)
		snprintf(out, size, "no database: %s", why);
	else if (model->lost)
		snprintf(out, size, "%s lost", text_count(lost, sizeof(lost), model->lost, "event"));
	else if (*model->unended)
		snprintf(out, size, "not complete");
	return model->trouble[0] || state == WORKER_FAILED ? STYLE_BAD : STYLE_BAR;
}

static void what_is_shown(const struct app *app, char *out, size_t size)
{
	char device[32];

	out[0] = '\0';
	if (!app->model->devices)
		return;
	snprintf(out, size, "%s by %s%s%s", app_device_name(app, app->device, device), palette_by_words[app->by],
		 app->filter.text[0] ? ", only " : "", app->filter.text);
}

/* Removes the piece at `at` from a hint, with the blanks before it, or behind it for the first piece. */
static void drop_piece(char *hint, char *at)
{
	char *end = strstr(at, "  ");

	if (end)
		memmove(at, end + 2, strlen(end + 2) + 1);
	else
		*(at - hint >= 2 ? at - 2 : at) = '\0';
}

/* The piece to drop next: the last but one, or the only one. */
static char *expendable(char *hint)
{
	char *last = hint, *before = hint, *next;

	while ((next = strstr(last, "  "))) {
		before = last;
		last = next + 2;
	}
	return before;
}

static int is_idle(const struct app *app, const char *piece)
{
	const struct view_ops *ops = app->view->ops;

	if (!strncmp(piece, "o OOM", 5))
		return !app->model->ooms;
	return ops->is_idle && ops->is_idle(app->view, piece);
}

/* Drops keys that have no effect now. */
static void drop_idle(const struct app *app, char *hint)
{
	char *piece = hint;

	while (*piece) {
		if (is_idle(app, piece)) {
			drop_piece(hint, piece);
			if (piece > hint && !*(piece - 2)) /* no piece remains */
				return;
			continue;
		}
		piece = strstr(piece, "  ");
		if (!piece)
			return;
		piece += 2;
	}
}

/*
 * Draws the hint at the right edge, two blanks between its pieces. If it is too long, pieces go; the way to quit goes
 * last.
 */
static void draw_hint(const struct app *app, struct area row, int room)
{
	char text[160];

	mt_copy_text(text, sizeof(text), app->view->ops->hint);
	drop_idle(app, text);
	while (columns_of(text) > room && text[0])
		drop_piece(text, expendable(text));
	area_print_right(row, row.width, 0, STYLE_BAR, "%s", text);
}

#define LEAVE 8       /* columns of "  q back" */
#define WHAT_LEAST 10 /* columns of the shown part, at least; fewer are unreadable */

static void draw_status(struct app *app, struct area row)
{
	char shown[FILTER_TEXT_MAX + 64], news[sizeof(app->message)];
	int style = STYLE_BAR, left, middle, room = row.width - 2;

	area_fill(row, " ", STYLE_BAR);
	if (app->message[0]) {
		area_fit(row, 1, 0, room, app->message_is_bad ? STYLE_BAD : STYLE_BAR, app->message, 0);
		return;
	}
	what_is_shown(app, shown, sizeof(shown));
	style = state_words(app, news, sizeof(news));
	left = columns_of(shown);
	middle = columns_of(news);
	if (middle > room - 14)
		left = 0; /* a fault is worth the row */
	if (left > room - middle - 2 - LEAVE)
		left = room - middle - 2 - LEAVE;
	if (left < WHAT_LEAST)
		left = 0;
	if (left > 0)
		area_fit(row, 1, 0, left, STYLE_BAR, shown, 0);
	left = left > 0 ? left + 3 : 1;
	area_fit(row, left, 0, row.width - left - 1, (uint8_t)style, news, 0);
	left += middle + (middle ? 2 : 0);
	draw_hint(app, area_part(row, 0, 0, row.width - 1, 1), row.width - 1 - left);
}

/* The wanted size comes first if there is no room for a sentence. */
static void draw_too_small(struct area all)
{
	struct sentence words = { 0 };

	sentence_say(&words, "memana: %dx%d is too small: %dx%d at least", all.width, all.height, LAYOUT_MIN_WIDTH,
		     LAYOUT_MIN_HEIGHT);
	if (columns_of(words.text) > all.width) {
		words = (struct sentence){ 0 };
		sentence_say(&words, "%dx%d at least: %dx%d is too small", LAYOUT_MIN_WIDTH, LAYOUT_MIN_HEIGHT,
			     all.width, all.height);
	}
	area_print(all, 0, 0, STYLE_WARN, "%s", words.text);
}

void app_draw(struct app *app)
{
	struct area all = canvas_area(&app->canvas), row = area_part(all, 0, all.height - 1, all.width, 1);

	canvas_clear(&app->canvas);
	app->changed = 0;
	if (all.width < LAYOUT_MIN_WIDTH || all.height < LAYOUT_MIN_HEIGHT) {
		draw_too_small(all);
		return;
	}
	model_lock(app->model);
	app->view->ops->draw(app->view, app, area_part(all, 0, 0, all.width, all.height - 1));
	draw_status(app, row);
	model_unlock(app->model);
	if (app->prompt.open)
		prompt_draw(&app->prompt, row);
}
