#include "facts_join.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"

/* The move of one process's analysis into the run. */
struct move {
	struct facts_joining *joining;
	struct analysis *run, *one;
	uint32_t process;
	int64_t later;          /* ns to add to times */
	uint32_t *site, *owner; /* numbers in the run, by number in `one` */
	uint32_t device[MT_LEDGER_DEVICES];
};

/* Returns the ns from the begin of the run to the begin of the process: facts count times from the latter. */
static int64_t later_of(const struct analysis_process *process)
{
	return (int64_t)(process->info->start_monotonic - (uint64_t)process->origin);
}

/* Moves a turn like a time. INT64_MIN is before all events and stays. */
static int64_t turn_of(const struct move *move, int64_t turn)
{
	return turn == INT64_MIN ? turn : turn + move->later;
}

/* ---- the process ---- */

static void move_lives(const struct move *move, struct parameter_birth *birth, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		birth[i].time += birth[i].seq ? move->later : 0;
		birth[i].died += birth[i].seq && birth[i].died_seq != UINT64_MAX ? move->later : 0;
	}
}

static void move_census(const struct move *move, struct analysis_process *process)
{
	struct parameter_lives *lives = &process->lives;
	uint32_t i;

	census_reorder(&process->census, move->site);
	parameter_lives_reorder(lives, &process->census, move->site);
	move_lives(move, lives->known, lives->known ? process->census.known_slots : 0);
	for (i = 0; lives->group && i < lives->groups; i++) {
		move_lives(move, lives->group[i].birth, lives->group[i].births);
		move_lives(move, lives->group[i].saved, lives->group[i].saves);
	}
}

static void move_times(const struct move *move, struct analysis_process *process)
{
	int64_t later = process->events ? move->later : 0;
	uint32_t i;

	process->first_time += later;
	process->last_time += later;
	process->step_time += later;
	process->over_time += process->over ? later : 0;
	process->host.time += process->host.samples ? later : 0;
	for (i = 0; i < MT_LOSS_COUNT; i++) {
		process->loss[i].first_time += process->loss[i].records ? later : 0;
		process->loss[i].last_time += process->loss[i].records ? later : 0;
	}
	for (i = 0; i < MT_SOURCE_COUNT; i++)
		process->source[i].time += process->source[i].seen ? later : 0;
}

static void move_process(const struct move *move)
{
	struct analysis_process *to = &move->run->process[move->process], *from = &move->one->process[0];
	int64_t origin = to->origin;

	*to = *from;
	*from = (struct analysis_process){ 0 };
	to->origin = origin;
	move_times(move, to);
	move_census(move, to);
}

/* ---- devices ---- */

/* Whether no process of the run uses the device so far. 1, 0, or -MT_E_MEMORY. */
static int is_own(const struct move *move, const struct analysis_device *device)
{
	const char *name = device->kind == MT_DEVICE_CPU ? device->boot_id : device->uuid;
	const struct tuple key = { { tuple_text(name), device->kind, 0, 0 } };

	if (device->users != 1)
		return 0;
	if (!device->known || !*name)
		return 1;
	if (tuple_find(&move->joining->device, &key) != TUPLE_NONE)
		return 0;
	return tuple_add(&move->joining->device, &key, move->process) ? -MT_E_MEMORY : 1;
}

/* 1; 0: a GPU without a UUID may be the GPU of another process. */
static int have_names(const struct move *move)
{
	struct facts_joining *joining = move->joining;
	uint32_t cuda = 0, nameless = 0, i;

	for (i = 0; i < move->one->devices; i++) {
		const struct analysis_device *device = &move->one->device[i];

		cuda += device->known && device->kind == MT_DEVICE_CUDA;
		nameless += device->known && device->kind == MT_DEVICE_CUDA && !*device->uuid;
	}
	if ((nameless && joining->cuda) || (cuda && joining->nameless))
		return 0;
	joining->cuda += cuda;
	joining->nameless += nameless;
	return 1;
}

static void move_sample(const struct move *move, struct gpu_total_parts *parts)
{
	parts->sample.time += parts->sample.total ? move->later : 0;
}

/* Moves NVML's figures: `device` has times of the run already, `was` the times of the process. Only GPUs have such figures. */
static void move_totals(const struct move *move, struct analysis_device *device, const struct analysis_device *was)
{
	struct analysis_gpu_total *gpu;
	uint32_t i;

	for (i = 0; device->gpu && i < ANALYSIS_PEAKS; i++) {
		gpu = &device->gpu[i];
		if (device->known && device->kind == MT_DEVICE_CUDA && gpu->peak_time == analysis_peak_time(was, i))
			gpu->peak_time = analysis_peak_time(device, i);
		move_sample(move, &gpu->after);
		move_sample(move, &gpu->before);
	}
}

static void move_peaks(const struct move *move, struct analysis_device *device, const struct attribution_device *held)
{
	struct analysis_step_peak *step = device->step_peak;
	uint32_t i;

	device->peak.time += held->epoch ? move->later : 0;
	device->peak.process = held->epoch ? move->process : 0;
	for (i = 0; i < MT_PHASE_COUNT; i++) {
		device->phase_peak[i].time += device->phase_peak[i].ran ? move->later : 0;
		device->phase_peak[i].process = device->phase_peak[i].ran ? move->process : 0;
	}
	if (step && step->seq) {
		step->time += move->later;
		step->process = move->process;
	}
}

/* Adds a device to the run. 1 or -MT_E_MEMORY. */
static int move_device(struct move *move, uint32_t number)
{
	struct analysis *run = move->run;
	struct analysis_device *device = &move->one->device[number], was = *device, *grown;

	grown = realloc(run->device, ((size_t)run->devices + 1) * sizeof(*grown));
	if (!grown)
		return -MT_E_MEMORY;
	run->device = grown;
	if (attribution_device(&run->attribution) < 0)
		return -MT_E_MEMORY;
	run->attribution.device[run->devices] = move->one->attribution.device[number];
	device->turn = turn_of(move, device->turn);
	device->user[0] = move->process;
	move_peaks(move, device, &run->attribution.device[run->devices]);
	move_totals(move, device, &was);
	move->device[number] = run->devices;
	run->device[run->devices++] = *device;
	*device = (struct analysis_device){ 0 };
	return 1;
}

/* Adds all devices. 1; 0: another process uses one of them; or -MT_E_MEMORY. */
static int move_devices(struct move *move)
{
	uint32_t i;
	int own = have_names(move);

	for (i = 0; i < move->one->devices && own > 0; i++)
		own = is_own(move, &move->one->device[i]);
	for (i = 0; i < move->one->devices && own > 0; i++)
		own = move_device(move, i);
	return own;
}

/* ---- owners and sites ---- */

/* Finds or adds an owner in the run. 0 or -MT_E_MEMORY. */
static int move_owner(struct move *move, uint32_t number)
{
	struct analysis *run = move->run;
	const char *name = move->one->owner[number];
	void *grown;
	uint32_t i;

	for (i = 0; i < run->owners && strcmp(run->owner[i], name) != 0; i++)
		;
	if (i == run->owners) {
		grown = realloc(run->owner, ((size_t)i + 1) * sizeof(*run->owner));
		if (!grown)
			return -MT_E_MEMORY;
		run->owner = grown;
		memcpy(run->owner[run->owners++], name, sizeof(*run->owner));
	}
	move->owner[number] = i;
	return 0;
}

static int move_site(struct move *move, uint32_t number)
{
	struct analysis *run = move->run;
	const struct site *site = &move->one->attribution.site[number];
	struct site_key key = site->key;
	struct category_site *facts;

	key.process = move->process;
	key.device = move->device[key.device];
	move->site[number] = attribution_site(&run->attribution, &key);
	facts = move->site[number] ? category_site(&run->categories, move->site[number]) : NULL;
	if (!facts)
		return -MT_E_MEMORY;
	*facts = move->one->categories.site[number];
	run->attribution.site[move->site[number]] = *site;
	run->attribution.site[move->site[number]].key = key;
	run->attribution.site[move->site[number]].owner = move->owner[site->owner];
	run->attribution.site[move->site[number]].turn = turn_of(move, site->turn);
	return 0;
}

static int move_sizes(const struct move *move)
{
	struct categories *from = &move->one->categories;
	uint32_t i;

	for (i = 0; i < 2 && from->processes; i++) {
		if (!from->sizes[i])
			continue;
		if (category_take_sizes(&move->run->categories, move->process, (int)i, from->sizes[i]))
			return -MT_E_MEMORY;
		from->sizes[i] = NULL;
	}
	return 0;
}

static int move_outlived(const struct move *move)
{
	return outlived_reorder(&move->one->process[0].outlived, move->site);
}

/* ---- failed requests ---- */

static int move_holders(const struct move *move, uint32_t first)
{
	struct analysis *run = move->run;
	const struct analysis *one = move->one;
	size_t room = (size_t)run->oom_holders + one->oom_holders;
	struct analysis_oom_holder *grown = realloc(run->oom_holder, (room + 1) * sizeof(*grown));
	uint32_t i;

	if (!grown)
		return -MT_E_MEMORY;
	run->oom_holder = grown;
	for (i = 0; i < one->oom_holders; i++) {
		grown[run->oom_holders] = one->oom_holder[i];
		grown[run->oom_holders].process = move->process;
		grown[run->oom_holders++].oom += first;
	}
	return 0;
}

/*
 * Adds the failed requests. 1; 0: the run has more than an analysis keeps, and the kept ones would have to be chosen over all processes; or
 * -MT_E_MEMORY.
 */
static int move_ooms(const struct move *move)
{
	struct analysis *run = move->run;
	const struct analysis *one = move->one;
	uint32_t first = run->ooms, i;
	struct analysis_oom *oom;

	run->oom_count += one->oom_count;
	if (!one->ooms)
		return 1;
	if (run->oom_count > ANALYSIS_OOMS_MAX)
		return 0;
	if (!run->oom && !(run->oom = calloc(ANALYSIS_OOMS_MAX, sizeof(*run->oom))))
		return -MT_E_MEMORY;
	for (i = 0; i < one->ooms; i++) {
		oom = &run->oom[run->ooms++];
		*oom = one->oom[i];
		oom->process = move->process;
		oom->device = move->device[oom->device];
		oom->time += move->later;
		oom->turn = turn_of(move, oom->turn);
	}
	return move_holders(move, first) ? -MT_E_MEMORY : 1;
}

/* ---- all of it ---- */

static int move_all(struct move *move)
{
	uint32_t i;
	int moved = move_devices(move);

	for (i = 0; i < move->one->owners && moved > 0; i++)
		moved = move_owner(move, i) ? -MT_E_MEMORY : 1;
	for (i = 1; i < move->one->attribution.sites && moved > 0; i++)
		moved = move_site(move, i) ? -MT_E_MEMORY : 1;
	if (moved > 0 && (move_sizes(move) || move_outlived(move)))
		moved = -MT_E_MEMORY;
	if (moved > 0)
		moved = move_ooms(move);
	if (moved > 0)
		move_process(move);
	return moved;
}

int facts_joining_add(struct facts_joining *joining, struct analysis *one, uint32_t number)
{
	struct move move = { .joining = joining,
			     .run = joining->run,
			     .one = one,
			     .process = number,
			     .later = later_of(&joining->run->process[number]) };
	int moved = -MT_E_MEMORY;

	move.site = calloc(one->attribution.sites, sizeof(*move.site));
	move.owner = calloc(one->owners, sizeof(*move.owner));
	if (move.site && move.owner)
		moved = move_all(&move);
	free(move.site);
	free(move.owner);
	return moved;
}

void facts_joining_init(struct facts_joining *joining, struct analysis *run)
{
	*joining = (struct facts_joining){ .run = run };
}

void facts_joining_release(struct facts_joining *joining)
{
	tuple_release(&joining->device);
}

int facts_joining_end(struct facts_joining *joining)
{
	joining->run->attribution.turn = INT64_MAX;
	return joining->run->processes > 1 ? analysis_number(joining->run) : 0;
}

/* ---- where things are in the run ---- */

/* Lists the sites of the run by process. Sites of one process keep their order, because both numberings follow the turns. */
static void place_sites(struct facts_place *place, uint32_t *site, const struct analysis *run)
{
	const struct attribution *attribution = &run->attribution;
	uint32_t i, first = 0;

	for (i = 1; i < attribution->sites; i++)
		place[attribution->site[i].key.process].sites++;
	for (i = 0; i < run->processes; i++) {
		place[i].site = site + first;
		first += place[i].sites;
		place[i].sites = 0;
	}
	for (i = 1; i < attribution->sites; i++) {
		struct facts_place *of = &place[attribution->site[i].key.process];

		site[(of->site - site) + of->sites++] = i;
	}
}

struct facts_place *facts_places(const struct analysis *run)
{
	size_t places = run->processes * sizeof(struct facts_place);
	struct facts_place *place = calloc(1, places + run->attribution.sites * sizeof(uint32_t)), *of;
	uint32_t i;

	if (!place)
		return NULL;
	for (i = 0; i < run->processes; i++) {
		place[i].process = i;
		place[i].later = later_of(&run->process[i]);
	}
	place_sites(place, (uint32_t *)(place + run->processes), run);
	for (i = 0; i < run->devices; i++) {
		of = &place[run->device[i].user[0]];
		of->device[of->devices++] = i;
	}
	return place;
}
