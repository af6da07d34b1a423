/* The app at work: input of a person, and updates while a run is still being read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "app.h"
#include "base/text.h"
#include "memtrace/defs.h"
#include "memtrace/error.h"
#include "screen/draw/layout.h"

/* ---- beginning and end ---- */

static int resize(struct app *app, int width, int height)
{
	int error = canvas_resize(&app->canvas, width, height);

	if (!error)
		scale_resize(&app->scale, layout_make(width, height, (struct layout_wants){ 0 }).chart.width);
	return error;
}

int app_init(struct app *app, struct model *model, struct worker *worker, int width, int height, int colours, int ascii)
{
	memset(app, 0, sizeof(*app));
	app->model = model;
	app->worker = worker;
	app->canvas.colours = colours;
	app->canvas.ascii = ascii;
	app->mark_a = app->mark_b = app->live_time = app->moment.time = APP_NO_TIME;
	app->stale = app->changed = 1;
	scale_init(&app->scale, 0, 0, 1);
	app->placed = app->scale.cursor;
	app->series = series_new();
	if (!app->series || resize(app, width, height))
		return -MT_E_MEMORY;
	return app_open(app, &view_timeline_ops, NULL);
}

void app_release(struct app *app)
{
	while (app->view)
		app_close(app);
	series_free(app->series);
	palette_release(&app->palette);
	liveset_release(&app->live);
	filter_release(&app->filter);
	prompt_release(&app->prompt);
	canvas_release(&app->canvas);
	free(app->shown);
	memset(app, 0, sizeof(*app));
}

void app_change(struct app *app, struct model *model, struct worker *worker)
{
	app->model = model;
	app->worker = worker;
	app->named = app->held = 0;
	app->live_time = APP_NO_TIME;
	app_stale(app);
	model_lock(model);
	if (model->follow == MODEL_WHOLE)
		app_say(app, "the recording has ended: this is all of it (q leaves)");
	model_unlock(model);
}

/* ---- input ---- */

static void answer_prompt(struct app *app, int key)
{
	char text[PROMPT_TEXT_MAX];

	if (prompt_key(&app->prompt, key) != PROMPT_DONE)
		return;
	mt_copy_text(text, sizeof(text), app->prompt.text); /* `asked` may open the prompt again */
	app->asked(app, text);
}

/* Esc cancels the newest action, also a filter. It never quits the program by itself. */
static void go_back(struct app *app, const struct input *input)
{
	int is_escape = input->kind == INPUT_KEY && input->key == KEY_CODE_ESCAPE;

	if (!app->view->below && is_escape && app->filter.text[0]) {
		filter_set(&app->filter, "");
		app_stale(app);
		app_say(app, "everything is shown again");
	} else if (!app->view->below && is_escape) {
		app_say(app, "q leaves");
	} else {
		app_close(app);
	}
}

static void take_request(struct app *app, enum request request, const struct input *input)
{
	char word[16];

	if (app->view->ops->request(app->view, app, request, input))
		return;
	if (app_moves[request])
		app_moves[request](app);
	else if (app_questions[request])
		app_questions[request](app);
	else if (request == REQUEST_BACK)
		go_back(app, input);
	else if (request == REQUEST_QUIT)
		app->quit = 1;
	else if (request != REQUEST_MOUSE && request != REQUEST_REDRAW && input->kind == INPUT_KEY)
		app_say(app, "%s does nothing in this view (? has the keys)", request_key_word(word, input->key));
}

static void take_key(struct app *app, const struct input *input)
{
	enum request request = request_of_key(input->key);
	char word[16];

	if (app->prompt.open) {
		answer_prompt(app, input->key);
		return;
	}
	app->message[0] = '\0';
	if ((request == REQUEST_SEARCH_ON || request == REQUEST_SEARCH_BACK) && !app->search[0])
		app_say(app, "nothing was searched for yet: press /");
	else if (request != REQUEST_NONE)
		take_request(app, request, input);
	else
		app_say(app, "%s is no key here (? has the keys)", request_key_word(word, input->key));
}

void app_input(struct app *app, const struct input *input)
{
	if (input->kind == INPUT_NONE || !app->view)
		return;
	app->changed = 1;
	if (input->kind == INPUT_QUIT) {
		app->quit = 1;
	} else if (input->kind == INPUT_RESIZE) {
		if (resize(app, input->x, input->y))
			app_say_bad(app, "no memory for a screen of %dx%d", input->x, input->y);
	} else if (input->kind == INPUT_KEY) {
		take_key(app, input);
	} else if (!app->prompt.open) {
		if (input->button == MOUSE_PRESS)
			app->message[0] = '\0';
		take_request(app, REQUEST_MOUSE, input);
	}
}

/* ---- keeping up ---- */

static int is_cpu(const struct model_device *device)
{
	return device->kind == MT_DEVICE_CPU;
}

/* The order of the verdict: a GPU before the CPU, then the fuller one, then the one that held more. */
static int is_fuller(const struct model_device *one, const struct model_device *other)
{
	double full = one->total ? (double)one->peak / (double)one->total : 0;
	double other_full = other->total ? (double)other->peak / (double)other->total : 0;

	if (!one->peak || !other->peak)
		return one->peak > other->peak;
	if (is_cpu(one) != is_cpu(other))
		return is_cpu(other);
	return full != other_full ? full > other_full : one->peak > other->peak;
}

/*
 * Shows the fullest device. While the run is read, the device changes only if the shown one is no GPU in use: colours
 * should not flicker.
 */
static void choose_device(struct app *app)
{
	const struct model *model = app->model;
	uint32_t i, best = app->device;

	if (app->device_chosen || app->device >= model->devices ||
	    (model->state == MODEL_READING && !model->outlined && model->device[app->device].peak &&
	     !is_cpu(&model->device[app->device])))
		return;
	for (i = 0; i < model->devices; i++)
		if (is_fuller(&model->device[i], &model->device[best]))
			best = i;
	if (best != app->device)
		app_stale(app);
	app->device = best;
}

/* The first time that is shown: the run's beginning, unless its recording began much later. */
static int64_t first_time(const struct model *model)
{
	return model->first_time > model->last_time / 65 ? model->first_time : 0;
}

/* Updates the scale: the run may have grown. */
static void follow_scale(struct app *app)
{
	struct model *model = app->model;
	int64_t first = first_time(model), last = scale_later(model->last_time, 1);

	if (!app->begun && model->events) {
		app->begun = app->changed = 1;
		scale_init(&app->scale, first, last, app->scale.columns);
		app->placed = app->scale.cursor;
	} else if (app->begun && (last > app->scale.last || first < app->scale.first)) {
		scale_extend(&app->scale, first, last);
		app->changed = 1;
	}
}

/* Moves the shown part with the newest moment, like paper out of a recorder. */
static void go_to_newest(struct scale *scale, int64_t time)
{
	int64_t span = scale->to - scale->from;

	if (time >= scale->to)
		scale_span(scale, scale_later(time, 1 - span), scale_later(time, 1));
	scale_go(scale, time);
}

/*
 * The cursor stays at the run's peak until the person moves it; while the recording runs, at its newest moment. If
 * `held`, the screen stands still.
 */
static void follow_run(struct app *app)
{
	const struct model *model = app->model;

	if (!app->held || !app->begun)
		follow_scale(app);
	choose_device(app);
	if (app->held || app->scale.cursor != app->placed || app->device >= model->devices ||
	    !model->device[app->device].peak)
		return;
	if (model->follow == MODEL_WHOLE)
		scale_go(&app->scale, model->device[app->device].peak_time);
	else
		go_to_newest(&app->scale, model->last_time);
	app->changed |= app->scale.cursor != app->placed;
	app->placed = app->scale.cursor;
}

/* Marks the cells of the live set: those with a layer. */
static int make_shown(struct app *app)
{
	const struct palette *palette = &app->palette;
	uint8_t *shown;
	uint32_t i;

	if (app->shown_room < palette->cells) {
		shown = realloc(app->shown, palette->cells);
		if (!shown)
			return -MT_E_MEMORY;
		app->shown = shown;
		app->shown_room = palette->cells;
	}
	for (i = 0; i < palette->cells; i++)
		app->shown[i] = palette->layer_of[i] != SERIES_HIDDEN;
	return 0;
}

static struct palette_scope scope_of(const struct app *app)
{
	int all = !app->filter.text[0];

	return (struct palette_scope){ app->device, app->hidden, all ? NULL : app->filter.shown,
				       all ? 0 : app->filter.cells };
}

/* Rebuilds all data that depends on names and categories of sites. */
static int begin_anew(struct app *app)
{
	struct palette_scope scope;
	int error = filter_make(&app->filter, app->model);

	scope = scope_of(app);
	if (!error)
		error = palette_make(&app->palette, app->model, app->by, &scope);
	if (app->tape != app->model->tape)
		app->moment.time = APP_NO_TIME;
	if (!error) {
		app->tape = app->model->tape;
		error = series_begin(app->series, app->palette.layer_of, app->palette.cells, PALETTE_REST,
				     PALETTE_SLACK, app->palette.layers);
	}
	if (!error)
		error = make_shown(app);
	app->live_time = APP_NO_TIME;
	app->edition = app->model->edition;
	app->sites = app->model->sites;
	app->stale = 0;
	return error;
}

/* More sites are known. */
static int extend(struct app *app)
{
	struct palette_scope scope;
	int error = filter_make(&app->filter, app->model);

	scope = scope_of(app);
	if (!error)
		error = palette_extend(&app->palette, app->model, &scope);
	if (!error)
		error = series_extend(app->series, app->palette.layer_of, app->palette.cells);
	if (!error)
		error = make_shown(app);
	app->sites = app->model->sites;
	return error;
}

/* The number of events of the tape that count at the cursor. */
static uint64_t events_at_cursor(const struct app *app)
{
	return app->moment.time == app->scale.cursor ? app->moment.events
						     : model_events_at(app->model, app->device, app->scale.cursor);
}

static int live_is_stale(const struct app *app)
{
	return app->live_time != app->scale.cursor ||
	       (app->live_time == app->moment.time && app->live_events != app->moment.events) ||
	       (app->live_seen != app->model->events && app->live_events != events_at_cursor(app));
}

static int refresh_live(struct app *app)
{
	int error;

	if (!live_is_stale(app))
		return 0;
	app->live_time = app->scale.cursor;
	app->live_seen = app->model->events;
	app->live_events = events_at_cursor(app);
	error = liveset_at(&app->live, app->model, app->live_events, app->shown, app->palette.cells, app->sort);
	if (!error && app->search[0])
		app_find(app);
	app->changed = 1;
	return error;
}

/* The worker's thread finds names. When all are known, a filter may match other places. */
static void follow_worker(struct app *app)
{
	const char *why;
	int percent;

	if (!app->worker || app->named || worker_state(app->worker, &percent, &why) <= WORKER_NAMING)
		return;
	app->named = 1;
	if (app->filter.text[0])
		app_stale(app);
}

int app_tick(struct app *app, uint64_t budget)
{
	struct model *model = app->model;
	uint64_t events, before = series_events(app->series);
	int error = 0, more;

	follow_worker(app);
	model_lock(model);
	follow_run(app);
	if (app->stale || app->edition != model->edition)
		error = begin_anew(app);
	else if (app->sites != model->sites)
		error = extend(app);
	if (!error)
		error = refresh_live(app);
	events = model->events;
	model_unlock(model);
	more = error ? error : series_more(app->series, app->tape, events, budget);
	app->changed |= series_events(app->series) != before;
	if (more < 0 && !app->message[0])
		app_say_bad(app, "%s: not everything is shown", mt_strerror(more));
	return more > 0;
}

int app_is_waiting(struct app *app)
{
	enum worker_state state;
	const char *why;
	int percent, waits;

	model_lock(app->model);
	waits = app->model->state == MODEL_READING;
	model_unlock(app->model);
	state = app->worker ? worker_state(app->worker, &percent, &why) : WORKER_READY;
	return waits || state < WORKER_READY ||
	       (app->view && app->view->ops->waits && app->view->ops->waits(app->view));
}
