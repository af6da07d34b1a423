/*
 * show.c - the loop between a run and the terminal.
 *
 * A session reads a run and works for the screen. After the end of a followed recording, a second session reads the whole run: the first session's
 * facts were found without its end. The second session takes over when it is ready and the timeline is on the screen.
 */
#include "show.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/progress.h"
#include "base/text.h"
#include "memtrace/error.h"
#include "report/command.h"
#include "screen/input/ui.h"
#include "screen/view/app.h"
#include "source/folder.h"

#define BUDGET (1u << 20) /* largest number of events between two looks at the keyboard */
#define FRAME_MS 50       /* ms between two frames while the picture changes */
#define PARTS_MS 200      /* ms between two frames of a chart that is being made */
#define IDLE_MS 250
#define AGAIN_MS 1000      /* ms between two checks for new or replaced traces */
#define FOLLOW_NICENESS 10 /* niceness while a recording runs: the recording has priority */

/* A reader thread and its screen. */
struct session {
	char **path; /* existing traces; the caller owns the strings */
	uint32_t count;
	struct source source;
	struct model model;
	struct feed *feed;
	struct worker *worker;
	int model_begun;
};

struct show {
	char *const *paths;
	uint32_t count;
	struct session *session, *next; /* next: the session that reads the run anew; NULL: none */
	struct app app;
	int app_begun;
	int64_t looked_at;
};

/* ---- sessions ---- */

/* Makes a session for those traces that still exist. NULL: out of memory. */
static struct session *session_new(char *const *paths, uint32_t count)
{
	struct session *session = calloc(1, sizeof(*session));
	uint32_t i;

	if (!session)
		return NULL;
	session->path = calloc((size_t)count + 1, sizeof(*session->path));
	for (i = 0; session->path && i < count; i++)
		if (!access(paths[i], F_OK))
			session->path[session->count++] = paths[i];
	if (session->path)
		return session;
	free(session);
	return NULL;
}

/* Starts the session. The session owns the source, also after an error. */
static int session_begin(struct session *session, const struct source *source)
{
	int error;

	session->source = *source;
	error = model_init(&session->model);
	session->model_begun = 1;
	if (!error)
		error = feed_new(&session->feed, &session->model, &session->source);
	if (!error)
		error = worker_new(&session->worker, &session->model, session->feed, session->path, session->count);
	return error;
}

static void session_free(struct session *session)
{
	if (!session)
		return;
	worker_free(session->worker);
	feed_free(session->feed);
	if (session->model_begun)
		model_release(&session->model);
	source_release(&session->source);
	free(session->path);
	free(session);
}

/* Returns the number of files in the named folders. */
static uint32_t files_in(char *const *paths, uint32_t count)
{
	struct folder folder;
	uint32_t files = 0, i;

	for (i = 0; i < count; i++) {
		if (!folder_is(paths[i]))
			continue;
		if (!folder_list(&folder, paths[i]))
			files += folder.count;
		folder_release(&folder);
	}
	return files;
}

static uint32_t files_read(const struct source *source)
{
	uint32_t files = 0, i;

	for (i = 0; i < source->folders; i++)
		files += source->folder[i].count;
	return files;
}

/* Whether the files have more data than the session. */
static int is_out_of_date(struct session *session, char *const *paths, uint32_t count)
{
	enum model_follow follow;

	model_lock(&session->model);
	follow = session->model.follow;
	model_unlock(&session->model);
	if (follow != MODEL_FOLLOWS)
		return follow != MODEL_WHOLE;
	return session->source.folders && files_in(paths, count) != files_read(&session->source);
}

/* Starts the next session. A file that is being replaced cannot be opened: the next check tries again. */
static void begin_next(struct show *show)
{
	struct session *next = session_new(show->paths, show->count);
	struct source source = { 0 };

	if (!next)
		return;
	if (!next->count || source_open_live(&source, next->path, next->count, show->session->source.follow)) {
		source_release(&source);
		session_free(next);
		return;
	}
	source_know(&source);
	if (session_begin(next, &source)) {
		session_free(next);
		return;
	}
	show->next = next;
}

/* Whether the next session can take over: at once for a recording that continues in another file, else when all is read. */
static int is_ready(struct session *session)
{
	int ready;

	model_lock(&session->model);
	ready = session->model.state != MODEL_READING ||
		(session->model.follow == MODEL_FOLLOWS && session->model.events);
	model_unlock(&session->model);
	return ready;
}

static void keep_up(struct show *show)
{
	int64_t now = progress_now() / 1000000;

	if (!show->session->source.written)
		return;
	if (show->next && !show->app.view->below && is_ready(show->next)) {
		app_change(&show->app, &show->next->model, show->next->worker);
		session_free(show->session);
		show->session = show->next;
		show->next = NULL;
	}
	if (show->next || now - show->looked_at < AGAIN_MS)
		return;
	show->looked_at = now;
	if (is_out_of_date(show->session, show->paths, show->count))
		begin_next(show);
}

/* ---- the loop ---- */

/* Takes input; waits at most `timeout` ms for it. Returns 1 if there was input. */
static int take_input(struct app *app, int timeout)
{
	struct input input = ui_read(timeout);
	int any = input.kind != INPUT_NONE;

	while (input.kind != INPUT_NONE && !app->quit) {
		if (input.kind == INPUT_KEY && request_of_key(input.key) == REQUEST_REDRAW)
			ui_forget();
		app_input(app, &input);
		input = ui_read(0);
	}
	return any;
}

/* Draws changes: after input at once, otherwise at the rate of frames. A new chart is shown half made only if it takes long. */
static void loop(struct show *show)
{
	struct app *app = &show->app;
	int64_t drawn = 0, since;
	int more, waits, waited = 0, typed = 0;

	while (!app->quit) {
		keep_up(show);
		more = app_tick(app, BUDGET);
		waits = app_is_waiting(app);
		app->changed |= waited && !waits;
		since = progress_now() / 1000000 - drawn;
		if (app->changed ? !more || since >= (typed ? FRAME_MS : PARTS_MS) : waits && since >= FRAME_MS) {
			app_draw(app);
			ui_show(&app->canvas);
			drawn = progress_now() / 1000000;
			typed = 0;
		}
		waited = waits;
		typed |= take_input(app, more ? 0 : waits ? FRAME_MS : IDLE_MS);
	}
}

static int begin(struct show *show, const struct source *source, const struct ui_size *size)
{
	int error = session_begin(show->session, source);
	uint32_t left_outs = show->session->source.left_outs;
	char traces[64];

	if (error)
		return error;
	show->app_begun = 1;
	error = app_init(&show->app, &show->session->model, show->session->worker, size->width, size->height,
			 size->colours, size->ascii);
	if (!error && left_outs)
		app_say(&show->app, "left out: %s of other runs (--all takes all)",
			text_count(traces, sizeof(traces), left_outs, "trace"));
	return error;
}

static void end(struct show *show)
{
	if (show->app_begun)
		app_release(&show->app);
	session_free(show->next);
	session_free(show->session);
}

/* Prints the faults of the traces again, for a terminal that keeps its text. Returns their exit status. */
static int report_trouble(const struct model *model)
{
	int error = model->error ? model->error : -MT_E_CORRUPT;

	return model->trouble[0] ? command_fail(mt_exit_code(error), "%s", model->trouble) : 0;
}

static int run(const char *command, struct show *show, struct source *source)
{
	struct ui_size size;
	char why[256];
	int error, number, status;

	if (ui_open(&size, why, sizeof(why))) {
		source_release(source);
		return command_fail(mt_exit_code(MT_E_SYSTEM), "%s: %s", command, why);
	}
	error = begin(show, source, &size);
	if (!error)
		loop(show);
	number = ui_signal();
	ui_close();
	if (error)
		status = command_fail(mt_exit_code(error), "%s: %s", command, mt_strerror(error));
	else
		status = report_trouble(&show->session->model);
	return number ? 128 + number : status;
}

int show_run(const char *command, struct source *source, char *const *paths, uint32_t count)
{
	static struct show show; /* too large for the stack */
	int status, damage = source->damage;

	memset(&show, 0, sizeof(show));
	show.paths = paths;
	show.count = count;
	show.session = session_new(paths, count);
	if (!show.session) {
		source_release(source);
		return command_fail(mt_exit_code(MT_E_MEMORY), "%s: %s", command, mt_strerror(-MT_E_MEMORY));
	}
	if (source->written)
		(void)!nice(FOLLOW_NICENESS);
	status = run(command, &show, source);
	end(&show);
	return status ? status : mt_exit_code(damage);
}
