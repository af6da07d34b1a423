#include "inflow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/progress.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "tape.h"

#define PUBLISH_EVENTS 65536u
#define PUBLISH_AFTER 20000000  /* ns */
#define EDITION_AFTER 500000000 /* wait before the first edition; doubles with each edition */

static void fail(struct inflow *inflow, int error)
{
	if (error && !inflow->error)
		inflow->error = error;
}

/* Doubles an array that is full. 0 or -MT_E_MEMORY. */
static int grow(struct inflow *inflow, void **array, uint32_t count, uint32_t *room, size_t size)
{
	size_t wanted = *room ? (size_t)*room * 2 : 256;
	void *grown;

	if (count < *room)
		return 0;
	grown = wanted <= UINT32_MAX ? realloc(*array, wanted * size) : NULL;
	if (!grown) {
		fail(inflow, -MT_E_MEMORY);
		return -MT_E_MEMORY;
	}
	*array = grown;
	*room = (uint32_t)wanted;
	return 0;
}

static void note_disk(struct inflow *inflow, int error)
{
	inflow->no_disk = error == -MT_E_SYSTEM;
	inflow->disk_errno = errno;
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

static int grow_sites(struct inflow *inflow)
{
	uint32_t sites = inflow->analysis->attribution.site_room;
	struct inflow_site *grown = realloc(inflow->site, sites * sizeof(*grown));

	if (!grown)
		return -MT_E_MEMORY;
	memset(grown + inflow->sites, 0, (sites - inflow->sites) * sizeof(*grown));
	inflow->site = grown;
	inflow->sites = sites;
	return 0;
}

/* Ends a change: raises the most that its sites have held. A change that an error cut short does not count. */
static void end_change(struct inflow *inflow)
{
	const struct tape *tape = inflow->model->tape;
	uint64_t last = tape_count(tape), i;
	const struct tape_event *event;
	struct inflow_site *site;
	uint32_t run;

	if (inflow->error)
		return;
	for (i = inflow->change; i < last; i++) {
		event = tape_at(tape, i, &run);
		inflow->site[TAPE_SITE(event->cell)].held += (uint64_t)event->bytes;
	}
	for (i = inflow->change; i < last; i++) {
		site = &inflow->site[TAPE_SITE(tape_at(tape, i, &run)->cell)];
		if (site->held > site->most)
			site->most = site->held;
	}
	inflow->change = last;
}

/* All moves during one event of one process are one change. */
static void add(struct inflow *inflow, uint32_t cell, int64_t bytes, int32_t count, int64_t time)
{
	const struct analysis *analysis = inflow->analysis;
	uint32_t process = analysis->attribution.site[TAPE_SITE(cell)].key.process;
	uint64_t event = analysis->process[process].events;
	struct tape *tape = inflow->model->tape;
	int error = 0;

	if (inflow->error)
		return;
	if (TAPE_SITE(cell) >= inflow->sites)
		error = grow_sites(inflow);
	if (process != inflow->process || event != inflow->event)
		end_change(inflow);
	if (time > inflow->time || !tape_count(tape))
		inflow->time = time;
	if (!error && inflow->change < tape_count(tape))
		error = tape_add_part(tape, inflow->time, cell, bytes, count);
	else if (!error)
		error = tape_add(tape, inflow->time, cell, bytes, count);
	inflow->process = process;
	inflow->event = event;
	note_disk(inflow, error);
	fail(inflow, error);
}

static void moved(void *context, uint32_t site, int slack, int64_t bytes, int64_t time)
{
	add(context, TAPE_CELL(site, slack), bytes, 0, time);
}

static void counted(void *context, uint32_t site, int change, int64_t time)
{
	add(context, TAPE_CELL(site, 0), 0, change, time);
}

/* ---- moments ----------------------------------------------------------------------------------------------------- */

/*
 * Notes the number of tape events up to a peak or a failed request. The number of changes at its time is computed
 * later.
 */
static void reached(void *context, uint32_t device, int oom)
{
	struct inflow *inflow = context;
	void *array = oom ? inflow->oom : inflow->peak;
	uint32_t *room = oom ? &inflow->oom_room : &inflow->peak_room, number = oom ? inflow->ooms : device;

	while (number >= *room) {
		if (grow(inflow, &array, *room, room, sizeof(*inflow->peak)))
			return;
		*(oom ? &inflow->oom : &inflow->peak) = array;
	}
	(oom ? inflow->oom : inflow->peak)[number] = tape_count(inflow->model->tape);
	if (oom)
		inflow->ooms++;
	else if (device >= inflow->peaks)
		inflow->peaks = device + 1;
}

/* ---- phases and steps -------------------------------------------------------------------------------------------- */

static int ended_span(void *context, uint32_t process, uint8_t phase, uint32_t step, const struct mt_event *first,
		      const struct mt_event *last)
{
	struct inflow *inflow = context;
	const struct analysis_process *owner = &inflow->analysis->process[process];
	void *array = inflow->span;
	int error = grow(inflow, &array, inflow->spans, &inflow->span_room, sizeof(*inflow->span));

	inflow->span = array;
	if (error)
		return error;
	inflow->span[inflow->spans++] = (struct model_span){
		.first = analysis_time(owner, first->time),
		.last = analysis_time(owner, last->time),
		.process = process,
		.step = step,
		.phase = phase,
	};
	return 0;
}

static int ended_step(void *context, uint32_t process, const struct mt_event *event)
{
	struct inflow *inflow = context;
	void *array = inflow->step;
	int error = grow(inflow, &array, inflow->steps, &inflow->step_room, sizeof(*inflow->step));

	inflow->step = array;
	if (error)
		return error;
	inflow->step[inflow->steps++] = (struct model_step){
		.time = analysis_time(&inflow->analysis->process[process], event->time),
		.process = process,
		.number = event->value <= UINT32_MAX ? (uint32_t)event->value : UINT32_MAX,
	};
	return 0;
}

/*
 * ---- the present state, while the traces are being written ----------------------------------------------------------
 */

/* If the process is in the same stretch as before, the model makes the stretch longer (model_add_span). */
static int running_span(void *context, uint32_t process, uint8_t phase, uint32_t step, const struct mt_event *first,
			const struct mt_event *last)
{
	return ended_span(context, process, phase, step, first, last);
}

/* Available bytes of the machine, from the samples of its collectors. */
static uint64_t available_on(const struct analysis *analysis, const struct analysis_device *device)
{
	uint64_t available = 0;
	int64_t time = 0;
	uint32_t i;

	for (i = 0; i < device->users && device->kind == MT_DEVICE_CPU; i++) {
		const struct analysis_host *host = &analysis->process[device->user[i]].host;

		if (!host->samples || host->time < time)
			continue;
		time = host->time;
		available = host->available;
	}
	return available;
}

static void publish_now(struct inflow *inflow)
{
	const struct analysis *analysis = inflow->analysis;
	const struct analysis_process *process;
	struct model *model = inflow->model;
	uint32_t i;

	for (i = 0; i < model->devices; i++) {
		model->device[i].now.held = analysis->attribution.device[i].held;
		model->device[i].now.tensors = analysis->device[i].tensors_now;
		model->device[i].now.available = available_on(analysis, &analysis->device[i]);
	}
	for (i = 0; i < analysis->processes && i < model->processes; i++) {
		process = &analysis->process[i];
		model->process[i].now.known = process->phase_known;
		model->process[i].now.phase = process->phase;
		model->process[i].now.step = process->step;
	}
}

static int idle(void *context)
{
	struct inflow *inflow = context;

	if (inflow_publish(inflow, 0))
		return inflow->error;
	if (inflow->stopped)
		return -MT_E_BUSY;
	return inflow->wait(inflow->wait_context);
}

/* ---- corrections at the end -------------------------------------------------------------------------------------- */

/* Whether a site has allocations of two sites. The site keeps those that live on, as many as at the peak. */
static int share_of(const struct analysis *analysis, uint32_t number, struct tape_share *share)
{
	const struct category_site *facts = &analysis->categories.site[number];

	if (!facts->twin)
		return 0;
	*share = (struct tape_share){ .from = TAPE_CELL(number, 0),
				      .to = TAPE_CELL(facts->twin, 0),
				      .bytes = facts->share,
				      .count = facts->share_count };
	return 1;
}

/* Splits the most bytes: together both sites have the bytes that the first seemed to hold. */
static void share_most(struct inflow *inflow, const struct tape_share *share)
{
	struct inflow_site *from = &inflow->site[TAPE_SITE(share->from)], *to = &inflow->site[TAPE_SITE(share->to)];

	if (from->most <= share->bytes)
		return;
	to->most = from->most - share->bytes;
	from->most = share->bytes;
}

/* Sites that the categories have split, at the end. *share: the caller's, also after an error. */
static int find_shares(const struct analysis *analysis, struct tape_share **share, uint32_t *shares)
{
	uint32_t sites = analysis->attribution.sites, i;

	*shares = 0;
	*share = calloc((size_t)sites + 1, sizeof(**share));
	if (!*share)
		return -MT_E_MEMORY;
	if (sites > analysis->categories.room)
		sites = analysis->categories.room;
	for (i = 1; i < sites; i++)
		*shares += (uint32_t)share_of(analysis, i, &(*share)[*shares]);
	return 0;
}

static int add_moves(struct tape *tape, const struct course_moves *course)
{
	const struct course_move *move;
	uint32_t i;
	int error = 0;

	for (i = 0; i < course->moves && !error; i++) {
		move = &course->move[i];
		error = tape_add_event(tape,
				       &(struct tape_event){ .time = move->time,
							     .bytes = move->bytes,
							     .more = move->more & 1u,
							     .cell = TAPE_CELL(move->site, move->slack) & INT32_MAX,
							     .count = move->count });
	}
	tape_settle(tape);
	return error;
}

int inflow_tape(struct tape **tape, const struct analysis *analysis, const struct course_moves *moves)
{
	struct tape *whole = tape_new();
	struct tape_share *share = NULL;
	uint32_t shares = 0;
	int error = whole ? find_shares(analysis, &share, &shares) : -MT_E_MEMORY;

	*tape = NULL;
	if (!error)
		error = add_moves(whole, moves);
	if (!error && shares)
		error = tape_split(tape, whole, share, shares);
	else if (!error)
		*tape = whole;
	free(share);
	if (*tape != whole)
		tape_free(whole);
	return error;
}

static int split_tape(struct inflow *inflow, const struct tape_share *share, uint32_t shares)
{
	uint32_t i;
	int error = inflow->analysis->attribution.sites > inflow->sites ? grow_sites(inflow) : 0;

	if (!error)
		error = tape_split(&inflow->split, inflow->model->tape, share, shares);
	for (i = 0; i < shares && !error; i++)
		share_most(inflow, &share[i]);
	note_disk(inflow, error);
	return error;
}

/* Splits sites on the tape where the categories have split them (attribution_split). */
static int split_sites(struct inflow *inflow)
{
	struct tape_share *share;
	uint32_t shares;
	int error = find_shares(inflow->analysis, &share, &shares);

	if (!error && shares)
		error = split_tape(inflow, share, shares);
	free(share);
	return error;
}

/* ---- publishing -------------------------------------------------------------------------------------------------- */

/* Names of the sites from `first` on, looked up without the lock. */
static int name_sites(struct inflow *inflow, uint32_t first)
{
	const struct attribution *attribution = &inflow->analysis->attribution;
	const struct site *site;
	void *array = inflow->name;
	uint32_t i;
	int error = 0;

	for (i = first; i < attribution->sites && !error; i++) {
		error = grow(inflow, &array, i - first, &inflow->name_room, sizeof(*inflow->name));
		inflow->name = array;
		site = &attribution->site[i];
		if (!error)
			error = site_name(&inflow->name[i - first], &inflow->names, site->key.process,
					  inflow->analysis->process[site->key.process].defs, site->key.stack);
	}
	return error;
}

static int publish_site(struct inflow *inflow, uint32_t number, const struct site_name *name)
{
	const struct site *site = &inflow->analysis->attribution.site[number];
	struct model_site row = {
		.process = site->key.process,
		.device = site->key.device,
		.owner = model_owner(inflow->model, inflow->analysis->owner[site->owner]),
		.stack = site->key.stack,
		.phase = site->key.phase,
		.category = site->key.category,
		.driver = site->key.driver,
		.all_slack = site->tensors_seen != 0,
		.function = model_text(inflow->model, name->function),
		.place = model_text(inflow->model, name->place),
	};

	if (row.owner == UINT32_MAX || !row.function || !row.place)
		return -MT_E_MEMORY;
	return model_add_site(inflow->model, number, &row);
}

/*
 * The facts of a site may change until the end. A change makes results stale, and the screen starts anew. Each restart
 * takes longer, because there are more events.
 */
static void renew_sites(struct inflow *inflow, int end, int64_t now)
{
	const struct attribution *attribution = &inflow->analysis->attribution;
	struct model *model = inflow->model;
	int changed = 0, may = end || now - inflow->edition_time >= inflow->edition_wait;
	struct model_site *site;
	uint8_t category;
	uint32_t i;

	for (i = 1; i < model->sites; i++) {
		site = &model->site[i];
		if (i < inflow->sites)
			site->most = inflow->site[i].most;
		if (!may)
			continue;
		changed |= !site->all_slack && attribution->site[i].tensors_seen;
		site->all_slack |= attribution->site[i].tensors_seen != 0;
		category = end ? category_of_site(&inflow->analysis->categories, &inflow->analysis->attribution, i)
			       : site->category;
		changed |= category != site->category;
		site->category = category;
	}
	if (!changed)
		return;
	inflow->edition_time = now;
	inflow->edition_wait *= 2;
	model->edition++;
}

static int publish_sites(struct inflow *inflow, uint32_t first)
{
	uint32_t i;
	int error = 0;

	for (i = first; i < inflow->analysis->attribution.sites && !error; i++)
		error = publish_site(inflow, i, &inflow->name[i - first]);
	return error;
}

/* Devices get their numbers for people at the end. Until then a device has the number of its process (feed.c). */
static int publish_devices(struct inflow *inflow)
{
	struct model *model = inflow->model;
	const struct analysis_device *from;
	struct model_device *device, none = { 0 };
	uint32_t i;
	int error = 0;

	while (!error && model->devices < inflow->analysis->devices) {
		none.number = inflow->analysis->device[model->devices].index;
		error = model_add_device(model, &none);
	}
	for (i = 0; i < model->devices; i++) {
		from = &inflow->analysis->device[i];
		device = &model->device[i];
		device->kind = from->kind;
		device->total = from->total;
		device->peak = from->peak.bytes;
		device->peak_time = from->peak.time;
		if (i < inflow->peaks && from->peak.bytes)
			device->peak_changes = tape_changes(model->tape, inflow->peak[i], from->peak.time);
		if (*from->name)
			mt_copy_text(device->name, sizeof(device->name), from->name);
		else
			mt_copy_text(device->name, sizeof(device->name), from->kind == MT_DEVICE_CPU ? "CPU" : "GPU");
	}
	return error;
}

static int publish_happenings(struct inflow *inflow)
{
	const struct analysis *analysis = inflow->analysis;
	struct model *model = inflow->model;
	uint32_t i;
	int error = 0;

	for (i = 0; i < inflow->spans && !error; i++)
		error = model_add_span(model, &inflow->span[i]);
	for (i = 0; i < inflow->steps && !error; i++)
		error = model_add_step(model, &inflow->step[i]);
	for (i = model->ooms; i < analysis->ooms && !error; i++)
		error = model_add_oom(model,
				      &(struct model_oom){
					      .time = analysis->oom[i].time,
					      .requested = analysis->oom[i].requested,
					      .changes = i < inflow->ooms ? tape_changes(model->tape, inflow->oom[i],
											 analysis->oom[i].time)
									  : 0,
					      .device = analysis->oom[i].device,
					      .process = analysis->oom[i].process,
					      .phase = analysis->oom[i].phase });
	inflow->spans = inflow->steps = 0;
	return error;
}

/* The events so far. */
static void publish_events(struct inflow *inflow)
{
	struct model *model = inflow->model;

	tape_settle(model->tape);
	model->events = inflow->published = inflow->change;
	if (inflow->split) {
		model_replace_tape(model, inflow->split);
		inflow->published = inflow->change = model->events;
		inflow->split = NULL;
	}
}

/* Publishes the times of the run so far, and the missing parts. */
static void publish_totals(struct inflow *inflow)
{
	const struct analysis *analysis = inflow->analysis;
	const struct analysis_process *process;
	struct model *model = inflow->model;
	uint32_t i, why;
	int started = 0, is_end = 0; /* the newest moves may be those of an ended process: they come after its time */

	model->bytes_read += inflow->bytes;
	inflow->bytes = 0;
	model->lost = 0;
	for (i = 0; i < analysis->processes; i++) {
		process = &analysis->process[i];
		for (why = 0; why < MT_LOSS_COUNT; why++)
			model->lost += process->loss[why].count;
		if (!process->events)
			continue;
		if (!started || process->first_time < model->first_time)
			model->first_time = process->first_time;
		if (!started || process->last_time > model->last_time)
			model->last_time = process->last_time;
		is_end |= process->over && process->over_time == inflow->time;
		started = 1;
	}
	if (model->events && model->last_time < inflow->time && !is_end)
		model->last_time = inflow->time;
}

int inflow_publish(struct inflow *inflow, int end)
{
	struct model *model = inflow->model;
	uint32_t first = model->sites ? model->sites : 1;
	int64_t now = progress_now();
	int error;

	end_change(inflow);
	error = end ? split_sites(inflow) : 0;
	if (!error)
		error = name_sites(inflow, first);
	model_lock(model);
	if (!error)
		error = publish_sites(inflow, first);
	if (!error)
		error = publish_devices(inflow);
	if (!error)
		error = publish_happenings(inflow);
	if (!error) {
		renew_sites(inflow, end, now);
		publish_events(inflow);
		publish_totals(inflow);
		if (inflow->wait)
			publish_now(inflow);
	}
	inflow->stopped |= model->stop;
	model_unlock(model);
	inflow->publish_time = now;
	fail(inflow, error);
	return inflow->error;
}

/* Between two batches every change is complete, also before a checkpoint that stands for missing events. */
static int next_batch(void *context, uint32_t process, uint64_t events, uint64_t bytes)
{
	struct inflow *inflow = context;

	(void)process;
	(void)events;
	inflow->bytes += bytes;
	end_change(inflow);
	if (inflow->error)
		return inflow->error;
	if (tape_count(inflow->model->tape) - inflow->published < PUBLISH_EVENTS &&
	    progress_now() - inflow->publish_time < PUBLISH_AFTER)
		return 0;
	if (inflow_publish(inflow, 0))
		return inflow->error;
	return inflow->stopped ? -MT_E_BUSY : 0;
}

struct analysis_sink inflow_sink(struct inflow *inflow, struct model *model, struct analysis *analysis)
{
	inflow->model = model;
	inflow->analysis = analysis;
	inflow->publish_time = inflow->edition_time = progress_now();
	inflow->edition_wait = EDITION_AFTER;
	return (struct analysis_sink){
		.context = inflow,
		.moved = moved,
		.counted = counted,
		.batch = next_batch,
		.span = ended_span,
		.step = ended_step,
		.reached = reached,
		.idle = inflow->wait ? idle : NULL,
		.span_now = running_span,
		.quiet = 1,
	};
}

void inflow_release(struct inflow *inflow)
{
	tape_free(inflow->split);
	free(inflow->site);
	free(inflow->peak);
	free(inflow->oom);
	free(inflow->span);
	free(inflow->step);
	free(inflow->name);
	site_names_release(&inflow->names);
	memset(inflow, 0, sizeof(*inflow));
}
