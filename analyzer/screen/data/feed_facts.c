#include "feed_facts.h"

#include <stdlib.h>
#include <string.h>
#include "facts/facts.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "timeline/inflow.h"

/* ---- rows ---- */

#define ANY_ROW(table) struct load_##table table;
union any_row {
	LOAD_TABLES(ANY_ROW)
};
#undef ANY_ROW

struct taking {
	struct model *model;
	union any_row row; /* the newest row */
	int table;         /* table of the newest row; -1: none */
	int error;
};

/* The newest row is complete. The process has number 0: the facts are of one process alone. */
static void take_row(struct taking *taking)
{
	const struct load_phase_span *span = &taking->row.phase_span;
	const struct load_step *step = &taking->row.step;
	int phase, error = 0;

	if (taking->table == LOAD_phase_span) {
		phase = span->phase ? mt_phase_parse(span->phase, strlen(span->phase)) : -1;
		error = model_add_span(taking->model,
				       &(struct model_span){ .first = span->first_time,
							     .last = span->last_time,
							     .step = (uint32_t)span->step,
							     .phase = phase < 0 ? MT_PHASE_OTHER : (uint8_t)phase });
	} else if (taking->table == LOAD_step) {
		error = model_add_step(taking->model,
				       &(struct model_step){ .time = step->end_time, .number = (uint32_t)step->step });
	}
	taking->error = taking->error ? taking->error : error;
	taking->table = -1;
}

static void *new_row(void *context, enum load_table table, int *error)
{
	struct taking *taking = context;

	take_row(taking);
	taking->table = (int)table;
	*error = taking->error;
	return *error ? NULL : &taking->row;
}

static int no_death(void *context MT_UNUSED, int64_t process MT_UNUSED, int64_t alloc_seq MT_UNUSED)
{
	return 0;
}

static int no_change(void *context MT_UNUSED, const struct row_residence *change MT_UNUSED)
{
	return 0;
}

/* ---- the tape ---- */

static int copy_tape(struct tape *to, const struct tape *from)
{
	uint64_t events = tape_count(from), i;
	uint32_t run;
	int error = 0;

	for (i = 0; i < events && !error; i++)
		error = tape_add_event(to, tape_at(from, i, &run));
	return error;
}

/* The first tape of the model must stay the first: only the exact tape replaces it. */
static int fill_tape(struct model *model, const struct analysis *analysis, const struct course_moves *outline)
{
	struct tape *whole;
	int error = inflow_tape(&whole, analysis, outline);

	if (!error)
		error = copy_tape(model->tape, whole);
	tape_free(whole);
	return error;
}

/* The most bytes of each site, as far as the outline has them. */
static int note_most(struct model *model)
{
	uint64_t events = tape_count(model->tape), i, *held = calloc((size_t)model->sites + 1, sizeof(*held));
	const struct tape_event *event;
	uint32_t run, site;

	if (!held)
		return -MT_E_MEMORY;
	for (i = 0; i < events; i++) {
		event = tape_at(model->tape, i, &run);
		site = TAPE_SITE((uint32_t)event->cell);
		if (site >= model->sites)
			continue;
		held[site] += (uint64_t)event->bytes;
		if (!event->more && held[site] > model->site[site].most)
			model->site[site].most = held[site];
	}
	free(held);
	return 0;
}

static void settle_sites(struct model *model, const struct analysis *analysis)
{
	uint32_t i;

	for (i = 1; i < model->sites && i < analysis->attribution.sites; i++)
		model->site[i].category = category_of_site(&analysis->categories, &analysis->attribution, i);
}

static int publish(struct model *model, struct analysis *analysis)
{
	struct inflow inflow = { 0 };
	int error;

	(void)inflow_sink(&inflow, model, analysis);
	inflow.change = tape_count(model->tape);
	error = inflow_publish(&inflow, 0);
	inflow_release(&inflow);
	return error;
}

static int copy_rows(struct model *model, const struct model *rows)
{
	uint32_t i;
	int error = 0;

	model_lock(model);
	for (i = 0; i < rows->spans && !error; i++)
		error = model_add_span(model, &rows->span[i]);
	for (i = 0; i < rows->steps && !error; i++)
		error = model_add_step(model, &rows->step[i]);
	model_unlock(model);
	return error;
}

int feed_facts(struct model *model, struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
	       const struct mt_rules *rules)
{
	struct model told; /* filled first: damaged facts are noticed only after some calls */
	struct taking taking = { .model = &told, .table = -1 };
	const struct row_maker maker = { &taking, new_row, no_death, no_change };
	struct course_moves outline = { 0 };
	struct row_freed freed = { 0 };
	const struct facts_taker taker = { .maker = &maker, .freed = &freed, .outline = &outline };
	int found = inputs == 1, error = model_init(&told);

	if (!error)
		error = model_add_process(&told, &(struct model_process){ 0 });
	if (!error && found)
		found = facts_run_rows(analysis, input, inputs, rules, &taker);
	take_row(&taking);
	error = error ? error : taking.error;
	if (!error && found > 0)
		error = fill_tape(model, analysis, &outline);
	if (!error && found > 0)
		error = copy_rows(model, &told);
	model_release(&told);
	row_freed_release(&freed);
	free(outline.move);
	if (found <= 0)
		return error ? error : found == -MT_E_CORRUPT ? 0 : found;
	if (!error)
		error = publish(model, analysis);
	model_lock(model);
	if (!error)
		error = note_most(model);
	settle_sites(model, analysis);
	model->outlined = 1;
	model_unlock(model);
	if (error)
		analysis_release(analysis);
	return error ? error : 1;
}

/* ---- the exact tape ---- */

int feed_facts_replace(struct model *model, struct model *exact)
{
	uint32_t i;

	if (model->sites != exact->sites || model->devices != exact->devices || model->ooms != exact->ooms)
		return -MT_E_CORRUPT;
	model_lock(model);
	for (i = 1; i < model->sites; i++) {
		model->site[i].most = exact->site[i].most;
		model->site[i].category = exact->site[i].category;
	}
	for (i = 0; i < model->devices; i++)
		model->device[i].peak_changes = exact->device[i].peak_changes;
	for (i = 0; i < model->ooms; i++)
		model->oom[i].changes = exact->oom[i].changes;
	model_replace_tape(model, exact->tape);
	model->first_time = exact->first_time;
	model->last_time = exact->last_time;
	model->outlined = 0;
	exact->tape = NULL;
	model_unlock(model);
	return 0;
}
