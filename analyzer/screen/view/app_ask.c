/* Requests that ask the user a question, or open another view. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "app.h"
#include "base/text.h"

/* ---- words to look for ---- */

static void search_answered(struct app *app, const char *text)
{
	struct input input = { .kind = INPUT_KEY, .key = request_entries[REQUEST_SEARCH_ON].key };

	mt_copy_text(app->search, sizeof(app->search), text);
	app->live_time = APP_NO_TIME; /* marks the matching rows once more */
	if (app->search[0])
		app->view->ops->request(app->view, app, REQUEST_SEARCH_ON, &input);
}

static void ask_search(struct app *app)
{
	if (app->view->ops->searches)
		app_ask(app, "/", "", search_answered);
	else
		app_say(app, "/ does nothing in this view (? has the keys)");
}

static void filter_answered(struct app *app, const char *text)
{
	if (filter_set(&app->filter, text))
		app_say_bad(app, "filter: a size looks like >1GiB or <64MiB");
	else if (!text[0])
		app_say(app, "everything is shown");
	else
		app_say(app, "filter: %s (Esc shows everything)", text);
	app_stale(app);
}

static void ask_filter(struct app *app)
{
	app_ask(app, "filter: ", "", filter_answered);
}

/* ---- questions to the worker ---- */

static void sql_answered(struct app *app, const char *text)
{
	struct worker_question question = { .kind = WORKER_SQL, .device = app->device };

	if (!text[strspn(text, " ;")])
		return;
	mt_copy_text(question.text, sizeof(question.text), text);
	app_ask_worker(app, text, &question);
}

static void ask_sql(struct app *app)
{
	app_ask(app, "SQL: ", "", sql_answered);
}

static void ask_between(struct app *app)
{
	struct worker_question question = { .kind = WORKER_BETWEEN, .device = app->device };
	char title[128], from[TEXT_SIZE_MAX], to[TEXT_SIZE_MAX];
	int64_t a = app->mark_a, b = app->mark_b;

	if (a == APP_NO_TIME || b == APP_NO_TIME || a == b) {
		app_say(app, "needs two marks: press m at two moments, or drag (2 compares steps)");
		return;
	}
	question.from = a < b ? a : b;
	question.to = a < b ? b : a;
	text_time(from, question.from);
	snprintf(title, sizeof(title), "What grew between %s and %s", question.from ? from : "the beginning",
		 text_time(to, question.to));
	app_ask_worker(app, title, &question);
}

static void ask_retained(struct app *app)
{
	struct worker_question question = { .kind = WORKER_RETAINED, .device = app->device };

	app_ask_worker(app, "What outlives the step or phase that made it", &question);
}

static void ask_modules(struct app *app)
{
	struct worker_question question = { .kind = WORKER_MODULES, .device = app->device, .to = app->scale.cursor };
	char title[64], time[TEXT_SIZE_MAX];

	snprintf(title, sizeof(title), "What each module holds at %s", text_time(time, question.to));
	app_ask_worker(app, title, &question);
}

static void ask_advice(struct app *app)
{
	struct worker_question question = { .kind = WORKER_ADVICE, .device = app->device };

	app_ask_worker(app, "Which setting would have helped", &question);
}

static void open_flame(struct app *app)
{
	app_open(app, &view_flame_ops, NULL);
}

static void open_map(struct app *app)
{
	app_open(app, &view_map_ops, NULL);
}

static void open_help(struct app *app)
{
	app_open(app, &view_help_ops, NULL);
}

/* ---- the screen as a file ---- */

/* Draws the screen once more, without the question, into `file`, which it closes. */
static void write_screen(struct app *app, FILE *file)
{
	int error;

	if (!file) {
		app_say_bad(app, "%s: %s", app->file, strerror(errno));
		return;
	}
	app_draw(app);
	error = canvas_dump(&app->canvas, file);
	if (fclose(file) || error)
		app_say_bad(app, "%s: only a part of the screen was written: %s", app->file, strerror(errno));
	else
		app_say(app, "wrote %d lines to %s", app->canvas.height, app->file);
}

static void overwrite_answered(struct app *app, const char *text)
{
	if (text[0] == 'y' || text[0] == 'Y')
		write_screen(app, fopen(app->file, "w"));
	else
		app_say(app, "nothing was written");
}

static void write_answered(struct app *app, const char *text)
{
	int descriptor;

	if (!text[0] || strlen(text) >= sizeof(app->file)) {
		app_say(app, text[0] ? "the name is too long" : "nothing was written");
		return;
	}
	mt_copy_text(app->file, sizeof(app->file), text);
	descriptor = open(text, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (descriptor < 0 && errno == EEXIST)
		app_ask(app, "it exists; overwrite it (y, n)? ", "", overwrite_answered);
	else
		write_screen(app, descriptor < 0 ? NULL : fdopen(descriptor, "w"));
}

static void ask_write(struct app *app)
{
	app_ask(app, "write the screen to: ", "memana-screen.txt", write_answered);
}

app_request_fn *const app_questions[REQUEST_COUNT] = {
	[REQUEST_SEARCH] = ask_search,   [REQUEST_FILTER] = ask_filter,     [REQUEST_SQL] = ask_sql,
	[REQUEST_DIFF] = ask_between,    [REQUEST_RETAINED] = ask_retained, [REQUEST_ADVICE] = ask_advice,
	[REQUEST_MAP] = open_map,        [REQUEST_GOTO] = app_ask_moment,   [REQUEST_STEPS] = app_ask_steps,
	[REQUEST_MODULES] = ask_modules, [REQUEST_FLAME] = open_flame,      [REQUEST_HELP] = open_help,
	[REQUEST_WRITE] = ask_write,
};
