/* Going to a moment by its name, and comparing two steps. */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "app.h"
#include "base/text.h"
#include "engine/moment.h"

void app_ask_worker(struct app *app, const char *title, const struct worker_question *question)
{
	struct view_answer_argument argument = { title, question };
	const char *why = "there is none";
	int percent;

	if (!app->worker || worker_state(app->worker, &percent, &why) == WORKER_FAILED)
		app_say_bad(app, "no database to ask: %s", why);
	else
		app_open(app, &view_answer_ops, &argument);
}

/* ---- runs of a phase ---- */

/* Stretches of a phase in one step of a process, with only unknown phases between them. */
struct phase_run {
	int64_t first, last;
	uint32_t step, count; /* number of such runs */
};

/* Finds the number-th run of a phase, from 1. Returns 1 if there is one. `count`: number of runs. */
static int find_run(struct phase_run *run, const struct model *model, uint32_t process, uint8_t phase, uint32_t number)
{
	const struct model_span *span, *before = NULL;
	uint32_t i;
	int begins;

	*run = (struct phase_run){ 0 };
	for (i = 0; i < model->spans; i++) {
		span = &model->span[i];
		if (span->process != process || span->phase == MT_PHASE_OTHER)
			continue;
		begins = span->phase == phase && (!before || before->phase != phase || before->step != span->step);
		before = span;
		run->count += (uint32_t)begins;
		if (span->phase != phase || run->count != number)
			continue;
		run->first = begins ? span->first : run->first;
		run->last = span->last;
		run->step = span->step;
	}
	return number && run->count >= number;
}

static int is_prefix(const char *word, size_t size, const char *name)
{
	size_t i;

	for (i = 0; i < size && name[i]; i++)
		if (tolower((unsigned char)word[i]) != name[i])
			return 0;
	return i == size;
}

/* The phase with this letter in the row of phases, or with a name that begins so; -1: none. */
static int phase_called(const char *word, size_t size)
{
	uint8_t phase;

	for (phase = 0; phase < MT_PHASE_COUNT && size == 1; phase++)
		if (phase != MT_PHASE_OTHER && palette_phase_letter(phase) == *word)
			return phase;
	for (phase = 0; phase < MT_PHASE_COUNT && size; phase++)
		if (phase != MT_PHASE_OTHER && is_prefix(word, size, mt_phase_name(phase)))
			return phase;
	return -1;
}

/* ---- going there ---- */

/* Shows the run of a phase at its highest moment, with an equal stretch of time on both sides. */
static void show_run(struct app *app, const struct phase_run *run)
{
	int64_t first = scale_later(run->first, 0), end = scale_later(run->last, 1), length = end - first;
	struct series_column column;

	series_columns(app->series, app->tape, first, end, &column, 1);
	scale_span(&app->scale, scale_later(first, -length), scale_later(end, length));
	if (column.max)
		app_go_highest(app, &column);
	else
		app_go(app, first);
}

static void go_to_phase(struct app *app, int phase, uint32_t number)
{
	const char *name = mt_phase_name((uint32_t)phase);
	char count[64], from[TEXT_SIZE_MAX], to[TEXT_SIZE_MAX];
	struct phase_run run;

	if (find_run(&run, app->model, app_process(app), (uint8_t)phase, number)) {
		show_run(app, &run);
		app_say(app, "%s %u of %u, in step %u: %s to %s", name, number, run.count, run.step,
			text_time(from, run.first), text_time(to, run.last));
	} else if (run.count) {
		app_say_bad(app, "there is no %s %u: it ran %s", name, number,
			    text_count(count, sizeof(count), run.count, "time"));
	} else {
		app_say_bad(app, "no %s was recorded here", name);
	}
}

/* Goes to the beginning of a step: the end of the step before. Returns 0: no such step. */
static int go_to_step(struct app *app, uint32_t number)
{
	const struct model *model = app->model;
	uint32_t i, process = app_process(app);
	char time[TEXT_SIZE_MAX];

	for (i = 0; i < model->spans; i++) {
		if (model->span[i].process != process || model->span[i].step != number ||
		    model->span[i].phase == MT_PHASE_OTHER)
			continue;
		app_go(app, model->span[i].first);
		app_say(app, "step %u: %s, from %s on", number, mt_phase_name(model->span[i].phase),
			text_time(time, model->span[i].first));
		return 1;
	}
	return 0;
}

/* The number at the end of the text; 0: no number; UINT32_MAX: the text is empty. */
static uint32_t number_at(const char *text)
{
	char *end;
	unsigned long number;

	text += strspn(text, " :");
	if (!*text)
		return UINT32_MAX;
	number = isdigit((unsigned char)*text) ? strtoul(text, &end, 10) : 0;
	return number && number < UINT32_MAX && !end[strspn(end, " ")] ? (uint32_t)number : 0;
}

static void go_to_word(struct app *app, const char *text)
{
	size_t letters = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-");
	uint32_t number = number_at(text + letters);
	int phase = phase_called(text, letters),
	    is_step = !letters || (letters <= 4 && is_prefix(text, letters, "step"));
	char time_word[64];
	int64_t time;

	mt_copy_text(time_word, sizeof(time_word), text);
	if (is_step && number && number != UINT32_MAX) {
		if (!go_to_step(app, number))
			app_say_bad(app, "no step %u was recorded here", number);
	} else if (phase >= 0 && number) {
		go_to_phase(app, phase, number == UINT32_MAX ? 1 : number);
	} else if (!letters && !moment_time(time_word, &time)) {
		app_go(app, time);
		app_say(app, "%s", text_time(time_word, app->scale.cursor));
	} else {
		app_say_bad(app, "%.40s: no time (12.5s), step (3) or phase with its number (r2, rollout 2)", text);
	}
}

static void moment_answered(struct app *app, const char *text)
{
	static const struct {
		const char *word;
		enum request request;
	} words[] = { { "peak", REQUEST_PEAK }, { "oom", REQUEST_OOM } };
	size_t i;

	text += strspn(text, " ");
	for (i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(text, words[i].word)) {
			app_moves[words[i].request](app);
			return;
		}
	if (!*text)
		return;
	model_lock(app->model);
	go_to_word(app, text);
	model_unlock(app->model);
}

void app_ask_moment(struct app *app)
{
	app_ask(app, "go to: ", "", moment_answered);
}

/* ---- comparing steps ---- */

/* The end of a step of the process; NULL: it did not end. number 0: the first step, UINT32_MAX: the last. */
static const struct model_step *step_end(const struct app *app, uint32_t process, uint32_t number)
{
	const struct model *model = app->model;
	const struct model_step *found = NULL;
	uint32_t i;

	for (i = 0; i < model->steps; i++) {
		if (model->step[i].process != process || (found && number != UINT32_MAX) ||
		    (number && number != UINT32_MAX && model->step[i].number != number))
			continue;
		found = &model->step[i];
	}
	return found;
}

/*
 * The two steps of a question. No number: the first and the last; one number: the first and this one. Returns 0: not
 * steps.
 */
static int steps_of(const char *text, uint32_t number[2])
{
	char *end;
	int count = 0;

	number[0] = 0;
	number[1] = UINT32_MAX;
	for (text += strspn(text, " ,-"); *text; text = end + strspn(end, " ,-")) {
		unsigned long value = isdigit((unsigned char)*text) ? strtoul(text, &end, 10) : 0;

		if (!value || value >= UINT32_MAX || count == 2)
			return 0;
		number[count++] = (uint32_t)value;
	}
	if (count == 1) {
		number[1] = number[0];
		number[0] = 0;
	}
	return 1;
}

static void compare(struct app *app, const struct model_step *from, const struct model_step *to)
{
	struct worker_question question = { .kind = WORKER_BETWEEN, .device = app->device };
	char title[128], begin[TEXT_SIZE_MAX], end[TEXT_SIZE_MAX];

	question.from = from->time;
	question.to = to->time;
	snprintf(title, sizeof(title), "What grew from the end of step %u (%s) to that of step %u (%s)", from->number,
		 text_time(begin, from->time), to->number, text_time(end, to->time));
	app_ask_worker(app, title, &question);
}

static void steps_answered(struct app *app, const char *text)
{
	struct model *model = app->model;
	struct model_step step[2];
	const struct model_step *found;
	uint32_t number[2], process;
	int i;

	if (!steps_of(text, number)) {
		app_say_bad(app, "a step, or two: 3, or 2 5");
		return;
	}
	model_lock(model);
	process = app_process(app);
	for (i = 0; i < 2; i++) {
		found = step_end(app, process, number[i]);
		if (!found)
			break;
		step[i] = *found;
	}
	model_unlock(model);
	if (i < 2 && number[i] && number[i] != UINT32_MAX)
		app_say_bad(app, "step %u did not end in this recording (m and d compare any two moments)", number[i]);
	else if (i < 2 || step[0].number == step[1].number)
		app_say_bad(app, "that is one step: two are compared (m and d compare any two moments)");
	else
		compare(app, &step[step[0].time > step[1].time], &step[step[0].time <= step[1].time]);
}

void app_ask_steps(struct app *app)
{
	const struct model_step *first, *last;
	char question[48];
	int found;

	model_lock(app->model);
	first = step_end(app, app_process(app), 0);
	last = step_end(app, app_process(app), UINT32_MAX);
	found = first && last && first != last;
	if (found)
		snprintf(question, sizeof(question), "since step %u, to (%u): ", first->number, last->number);
	model_unlock(app->model);
	if (!found) {
		app_say(app, "needs two steps that ended (m and d compare any two moments)");
		return;
	}
	app_ask(app, question, "", steps_answered);
}
