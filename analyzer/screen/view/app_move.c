/* Requests that move in time, and requests that choose what is shown, for all views. */
#include <string.h>
#include "app.h"
#include "base/text.h"
#include "memtrace/defs.h"

void app_go(struct app *app, int64_t time)
{
	scale_go(&app->scale, time);
	app->placed = APP_NO_TIME; /* also if it does not move */
	app->moment.time = APP_NO_TIME;
}

void app_go_highest(struct app *app, const struct series_column *column)
{
	app_go(app, column->time);
	app->moment.time = column->time;
	app->moment.events = column->upto;
}

void app_go_column(struct app *app, int number)
{
	int64_t from = scale_time(&app->scale, number), to = scale_time(&app->scale, number + 1);
	struct series_column column = { .time = from };

	if (app->tape)
		series_columns(app->series, app->tape, from, to > from ? to : from + 1, &column, 1);
	if (column.max)
		app_go_highest(app, &column);
	else
		app_go(app, from);
}

/* ---- columns ---- */

static void move(struct app *app, int columns)
{
	scale_move(&app->scale, columns);
	app_go_column(app, scale_column(&app->scale, app->scale.cursor));
}

static void move_left(struct app *app)
{
	move(app, -1);
}

static void move_right(struct app *app)
{
	move(app, 1);
}

static void zoom_in(struct app *app)
{
	scale_zoom(&app->scale, app->scale.cursor, 1, 2);
}

static void zoom_out(struct app *app)
{
	scale_zoom(&app->scale, app->scale.cursor, 2, 1);
}

static void show_all(struct app *app)
{
	scale_all(&app->scale);
}

/* Goes to the newest moment and follows it, or stops following. */
static void follow(struct app *app)
{
	enum model_follow follows;
	char time[TEXT_SIZE_MAX];

	model_lock(app->model);
	follows = app->model->follow;
	model_unlock(app->model);
	if (follows != MODEL_FOLLOWS) {
		app_say(app, "the recording has ended: there is nothing to follow");
	} else if (app->held || app->placed != app->scale.cursor) {
		app->held = 0;
		app->placed = app->scale.cursor;
		app_say(app, "following the recording (F holds still)");
	} else {
		app->held = 1;
		app_say(app, "held at %s: the recording goes on (F follows it again)",
			text_time(time, app->scale.cursor));
	}
}

/* ---- phases and steps ---- */

static int is_on_device(const struct model *model, uint32_t process, uint32_t device)
{
	uint32_t i;

	for (i = 1; i < model->sites; i++)
		if (model->site[i].process == process && model->site[i].device == device)
			return 1;
	return 0;
}

uint32_t app_process(const struct app *app)
{
	const struct model *model = app->model;
	uint32_t process, span, first = 0;
	int found = 0;

	for (process = 0; process < model->processes; process++) {
		if (!is_on_device(model, process, app->device))
			continue;
		span = model_span_at(model, process, app->scale.cursor);
		if (span < model->spans && model->span[span].first <= app->scale.cursor &&
		    model->span[span].phase != MT_PHASE_OTHER)
			return process;
		if (!found)
			first = process;
		found = 1;
	}
	return first;
}

/* Whether the screen would change there: another column, or another phase or step. */
static int is_elsewhere(const struct app *app, const struct model_span *span, const struct model_span *here)
{
	return !here || span->phase != here->phase || span->step != here->step ||
	       scale_column(&app->scale, span->first) != scale_column(&app->scale, app->scale.cursor);
}

/*
 * Finds the first stretch of a phase after the cursor, or the last one before it; `spans`: none. Skips unknown phases,
 * and stretches that would not change the screen.
 */
static uint32_t span_beside(const struct app *app, uint32_t process, int on)
{
	const struct model *model = app->model;
	int64_t cursor = app->scale.cursor;
	uint32_t at = model_span_at(model, process, cursor), i;
	const struct model_span *span,
		*here = at < model->spans && model->span[at].first <= cursor ? &model->span[at] : NULL;

	for (i = on || at == model->spans ? at : at + 1; on ? i < model->spans : i-- > 0; i += on != 0) {
		span = &model->span[i];
		if (span->process == process && span->phase != MT_PHASE_OTHER &&
		    (on ? span->first > cursor : span->first < cursor) && is_elsewhere(app, span, here))
			return i;
	}
	return model->spans;
}

static void move_phase(struct app *app, int on)
{
	struct model *model = app->model;
	char time[TEXT_SIZE_MAX];
	uint32_t span;

	model_lock(model);
	span = span_beside(app, app_process(app), on);
	if (span == model->spans) {
		app_say(app, on ? "no other phase begins after this" : "no other phase began before this");
	} else {
		app_go(app, model->span[span].first);
		app_say(app, "%s of step %u, from %s on", mt_phase_name(model->span[span].phase),
			model->span[span].step, text_time(time, model->span[span].first));
	}
	model_unlock(model);
}

static void phase_on(struct app *app)
{
	move_phase(app, 1);
}

static void phase_back(struct app *app)
{
	move_phase(app, 0);
}

/*
 * The moment at which a step that began at `time` visibly begins: `time`, or its first phase if none runs yet.
 * APP_NO_TIME: the step has no phase.
 */
static int64_t step_begin(const struct model *model, uint32_t process, int64_t time, int64_t end)
{
	uint32_t i = model_span_at(model, process, time);
	const struct model_span *span;

	if (process >= model->processes)
		return APP_NO_TIME;
	for (; i < model->spans && model->span[i].first < end; i++) {
		span = &model->span[i];
		if (span->process == process && span->phase != MT_PHASE_OTHER && span->last > time)
			return span->first > time ? span->first : time;
	}
	return model->process[process].spans ? APP_NO_TIME : time;
}

/*
 * The end of the step before the one that begins next, or began last before the cursor. NULL: none. *begin: its
 * beginning.
 */
static const struct model_step *step_beside(const struct app *app, uint32_t process, int on, int64_t *begin)
{
	const struct model *model = app->model;
	const struct model_step *found = NULL, *before = NULL, *step;
	int64_t time;
	uint32_t i;

	for (i = 0; i <= model->steps; i++) {
		step = i < model->steps ? &model->step[i] : NULL;
		if (step && step->process != process)
			continue;
		if (before) {
			time = step_begin(model, process, before->time, step ? step->time : INT64_MAX);
			if (time != APP_NO_TIME && (on ? time > app->scale.cursor : time < app->scale.cursor)) {
				found = before;
				*begin = time;
			}
			if (on ? found != NULL : before->time >= app->scale.cursor)
				break;
		}
		before = step;
	}
	return found;
}

static void move_step(struct app *app, int on)
{
	struct model *model = app->model;
	const struct model_step *before;
	char time[TEXT_SIZE_MAX];
	int64_t begin = 0;

	model_lock(model);
	before = step_beside(app, app_process(app), on, &begin);
	if (before) {
		app_go(app, begin);
		app_say(app, "step %u begins, at %s", before->number + 1, text_time(time, begin));
	} else if (!on && app->scale.cursor > app->scale.first) {
		app_go(app, app->scale.first);
		app_say(app, "the beginning of the run");
	} else {
		app_say(app, on ? "no step begins after this" : "this is the beginning of the run");
	}
	model_unlock(model);
}

static void step_on(struct app *app)
{
	move_step(app, 1);
}

static void step_back(struct app *app)
{
	move_step(app, 0);
}

/* ---- peak and errors ---- */

uint64_t app_peak(const struct app *app, int64_t *time)
{
	const struct model *model = app->model;
	uint64_t peak = series_peak(app->series, time);

	if (peak && app->device < model->devices && model->device[app->device].peak == peak)
		*time = model->device[app->device].peak_time;
	return peak;
}

uint64_t app_used_peak(const struct app *app, int64_t *time)
{
	uint64_t peak = series_used_peak(app->series, time);

	return series_peaks_differ(app->series) ? peak : 0;
}

/* Goes to the moment with the most held; from there to the one with the most in use. */
static void go_to_peak(struct app *app)
{
	char size[TEXT_SIZE_MAX], time[TEXT_SIZE_MAX];
	int64_t when, used_when;
	uint64_t peak, used;
	int is_there;

	model_lock(app->model);
	peak = app_peak(app, &when);
	used = app_used_peak(app, &used_when);
	model_unlock(app->model);
	if (!peak) {
		app_say(app, "nothing was allocated here");
		return;
	}
	is_there = app->scale.cursor == when && app->placed == APP_NO_TIME;
	if (used && is_there) {
		app_go(app, used_when);
		app_say(app, "most in use: %s at %s (p: the most held)", text_bytes(size, used),
			text_time(time, used_when));
		return;
	}
	app_go(app, when);
	app_say(app, "peak: %s at %s%s", text_bytes(size, peak), text_time(time, when),
		used ? " (p: the most in use)" : "");
}

/* The first error on the device after the cursor, else the first of all. */
static const struct model_oom *next_oom(const struct app *app)
{
	const struct model *model = app->model;
	const struct model_oom *first = NULL;
	uint32_t i;

	for (i = 0; i < model->ooms; i++) {
		const struct model_oom *oom = &model->oom[i];

		if (oom->device != app->device)
			continue;
		if (oom->time > app->scale.cursor)
			return oom;
		if (!first)
			first = oom;
	}
	return first;
}

static void go_to_oom(struct app *app)
{
	struct model *model = app->model;
	const struct model_oom *oom;
	struct oom_failure failure;
	struct sentence words = { 0 };
	char name[32];

	model_lock(model);
	oom = next_oom(app);
	if (oom) {
		app_go(app, oom->time);
		app_oom(app, oom, &failure);
		*failure.kind = '\0'; /* the row above the chart has the rest */
		failure.processes = failure.steps = 0;
		oom_say_failure(&words, "out of memory", &failure, "");
		app_say_bad(app, "%s", words.text);
	} else if (model->ooms) {
		app_say(app, "none here, but on %s: press D", app_device_name(app, model->oom[0].device, name));
	} else {
		app_say(app, "no out-of-memory error was recorded");
	}
	model_unlock(model);
}

/* ---- marks ---- */

static void set_mark(struct app *app)
{
	char time[TEXT_SIZE_MAX];

	text_time(time, app->scale.cursor);
	if (app->mark_a == APP_NO_TIME) {
		app->mark_a = app->scale.cursor;
		app_say(app, "mark A at %s; move on and press m for mark B", time);
	} else if (app->mark_b == APP_NO_TIME && app->mark_a == app->scale.cursor) {
		app_say(app, "mark A is here: move on and press m for mark B");
	} else if (app->mark_b == APP_NO_TIME) {
		app->mark_b = app->scale.cursor;
		app_say(app, "mark B at %s; d: what is new between, z: zoom", time);
	} else {
		app->mark_a = app->mark_b = APP_NO_TIME;
		app_say(app, "no marks");
	}
}

static void show_span(struct app *app)
{
	int64_t a = app->mark_a, b = app->mark_b;

	if (a == APP_NO_TIME || b == APP_NO_TIME || a == b)
		app_say(app, "needs two marks: press m at two moments, or drag");
	else
		scale_span(&app->scale, a < b ? a : b, a < b ? b : a);
}

/* ---- what is shown ---- */

static void next_colour(struct app *app)
{
	app->by = (app->by + 1) % PALETTE_BY_COUNT;
	app_stale(app);
	app_say(app, "colours are by %s", palette_by_words[app->by]);
}

static void next_device(struct app *app)
{
	struct model *model = app->model;
	uint32_t i, device = app->device;
	char name[32];

	model_lock(model);
	for (i = 0; i < model->devices; i++) {
		device = (device + 1) % model->devices;
		if (model->device[device].peak)
			break;
	}
	if (device == app->device) {
		app_say(app, "memory was taken on one device only");
	} else {
		app->device = device;
		app->device_chosen = 1;
		app_stale(app);
		app_say(app, "%s %s", app_device_name(app, device, name), model->device[device].name);
	}
	model_unlock(model);
}

static void next_sort(struct app *app)
{
	if (app->view->below) {
		app_say(app, "only the table of the first screen is sorted (q leads there)");
		return;
	}
	app->sort = (app->sort + 1) % LIVESET_SORTS;
	app->live_time = APP_NO_TIME;
	app_say(app, "sorted by %s", liveset_sort_words[app->sort]);
}

app_request_fn *const app_moves[REQUEST_COUNT] = {
	[REQUEST_LEFT] = move_left,      [REQUEST_RIGHT] = move_right,      [REQUEST_ZOOM_IN] = zoom_in,
	[REQUEST_ZOOM_OUT] = zoom_out,   [REQUEST_ALL] = show_all,          [REQUEST_FOLLOW] = follow,
	[REQUEST_PHASE_ON] = phase_on,   [REQUEST_PHASE_BACK] = phase_back, [REQUEST_STEP_ON] = step_on,
	[REQUEST_STEP_BACK] = step_back, [REQUEST_PEAK] = go_to_peak,       [REQUEST_OOM] = go_to_oom,
	[REQUEST_MARK] = set_mark,       [REQUEST_SPAN] = show_span,        [REQUEST_COLOUR] = next_colour,
	[REQUEST_DEVICE] = next_device,  [REQUEST_SORT] = next_sort,
};
