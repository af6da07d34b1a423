/* memana tui - the timeline: a run in a terminal, from its traces or a database. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "memtrace/error.h"
#include "report/command.h"
#include "screen/input/ui.h"
#include "screen/view/app.h"

#define BUDGET (1u << 20) /* events between two looks at the keyboard */
#define FRAME_MS 50       /* between frames while something is going on */
#define PARTS_MS 200      /* between frames of a chart that is being made */
#define IDLE_MS 250

static const char options_help[] = COMMAND_RULES_HELP;

static const struct option long_options[] = { COMMAND_RULES_OPTION, COMMAND_OPTIONS };

/* What the screen shows, and who works for it. */
struct session {
	struct source source;
	struct model model;
	struct feed *feed;
	struct worker *worker;
	struct app app;
	int model_begun, app_begun;
};

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Takes what has come, waiting at most `timeout` ms for the first of it. 1: something came. */
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

/*
 * Draws what changed: at once what a person did, and what goes on by itself not more often than eyes can see. A chart
 * that is made anew is not shown half made, unless that takes long.
 */
static void loop(struct app *app)
{
	int64_t drawn = 0, since;
	int more, waits, waited = 0, typed = 0;

	while (!app->quit) {
		more = app_tick(app, BUDGET);
		waits = app_is_waiting(app);
		app->changed |= waited && !waits;
		since = now_ms() - drawn;
		if (app->changed ? !more || since >= (typed ? FRAME_MS : PARTS_MS) : waits && since >= FRAME_MS) {
			app_draw(app);
			ui_show(&app->canvas);
			drawn = now_ms();
			typed = 0;
		}
		waited = waits;
		typed |= take_input(app, more ? 0 : waits ? FRAME_MS : IDLE_MS);
	}
}

static int begin(struct session *session, char *const *paths, uint32_t count, const struct ui_size *size)
{
	int error = model_init(&session->model);

	session->model_begun = 1;
	if (!error)
		error = feed_new(&session->feed, &session->model, &session->source);
	if (!error)
		error = worker_new(&session->worker, &session->model, session->feed, paths, count);
	if (error)
		return error;
	session->app_begun = 1;
	return app_init(&session->app, &session->model, session->worker, size->width, size->height, size->colours,
			size->ascii);
}

static void end(struct session *session)
{
	if (session->app_begun)
		app_release(&session->app);
	worker_free(session->worker);
	feed_free(session->feed);
	if (session->model_begun)
		model_release(&session->model);
	source_release(&session->source);
}

/* What is wrong with the traces is said once more where it stays; the exit code for it. */
static int report_trouble(const struct model *model)
{
	int error = model->error ? model->error : -MT_E_CORRUPT;

	return model->trouble[0] ? command_fail(mt_exit_code(error), "%s", model->trouble) : 0;
}

static int show(struct session *session, char *const *paths, uint32_t count)
{
	struct ui_size size;
	char why[256];
	int error, number, status = 0;

	if (ui_open(&size, why, sizeof(why)))
		return command_fail(mt_exit_code(MT_E_SYSTEM), "tui: %s", why);
	error = begin(session, paths, count, &size);
	if (!error)
		loop(&session->app);
	number = ui_signal();
	ui_close();
	if (error)
		status = command_fail(mt_exit_code(error), "tui: %s", mt_strerror(error));
	else
		status = report_trouble(&session->model);
	return number ? 128 + number : status;
}

int cmd_tui(int argc, char **argv)
{
	static struct session session; /* large */
	int option, damage, status = 0;

	while (!status && (option = command_getopt(argc, argv, ":h", long_options)) != -1) {
		if (option == 'h')
			return command_help("tui", options_help);
		status = option == COMMAND_RULES ? command_rules(optarg) : command_bad_option(argc, argv, option);
	}
	if (status)
		return status;
	if (optind == argc)
		return command_fail(EXIT_USAGE, "tui: no trace named (memana tui trace.zst)");
	status = command_open(&session.source, argv + optind, (uint32_t)(argc - optind), 1);
	if (!status)
		status = show(&session, argv + optind, (uint32_t)(argc - optind));
	damage = session.source.damage;
	end(&session);
	return status ? status : mt_exit_code(damage);
}
