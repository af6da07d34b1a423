#include "facts_peers.h"

#include <stdlib.h>
#include <string.h>
#include "engine/host.h"
#include "facts_join.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "rows/row_sink.h"

#define PEERS_MOST (1 + KEPT_PEERS)

/* The processes that memana oom compares, in the order of the run. */
struct peers {
	const struct analysis *run;
	const struct facts_place *place;
	struct kept_when asked;       /* the event of the moment: its process in the run, and its number */
	uint32_t process[PEERS_MOST]; /* numbers in the run */
	uint32_t count;
	struct analysis_input input[PEERS_MOST];
	struct analysis part; /* the analysis of these processes' events */
	uint32_t *site;       /* numbers in the run, by number in `part` */
};

/* ---- which ---- */

static int has_gpu(const struct peers *peers, uint32_t number)
{
	const struct facts_place *place = &peers->place[number];
	const struct analysis_device *device;
	uint32_t i;

	for (i = 0; i < place->devices; i++) {
		device = &peers->run->device[place->device[i]];
		if (device->kind == MT_DEVICE_CUDA && device->used)
			return 1;
	}
	return 0;
}

/* Adds other ranks, as far as there is room. `same_command` 1: with the command of the requesting process; 0: with another command. */
static void add_ranks(struct peers *peers, int same_command)
{
	const struct analysis_process *process = peers->run->process, *mine = &process[peers->asked.process];
	uint32_t i;

	for (i = 0; i < peers->run->processes && peers->count < PEERS_MOST; i++)
		if (process[i].events && process[i].info->rank >= 0 && process[i].info->rank != mine->info->rank &&
		    (strcmp(process[i].info->command, mine->info->command) == 0) == same_command && has_gpu(peers, i))
			peers->process[peers->count++] = i;
}

static int by_number(const void *a, const void *b)
{
	const uint32_t *one = a, *two = b;

	return (*one > *two) - (*one < *two);
}

/* Chooses the ranks that the scene (why/scene) compares with. */
static void choose(struct peers *peers, const struct analysis_input *input)
{
	uint32_t i;

	peers->process[peers->count++] = peers->asked.process;
	if (peers->run->process[peers->asked.process].info->rank >= 0) {
		add_ranks(peers, 1);
		add_ranks(peers, 0);
	}
	qsort(peers->process, peers->count, sizeof(*peers->process), by_number);
	for (i = 0; i < peers->count; i++)
		peers->input[i] = input[peers->process[i]];
}

/* Whether the host's memory was full at the end of a process. memana oom then looks at the newest event of each process. */
static int any_host_is_full(const struct analysis *run)
{
	uint32_t i;

	for (i = 0; i < run->processes; i++)
		if (host_verdict(run, i))
			return 1;
	return 0;
}

/* ---- their events ---- */

#define ANY_ROW(table) struct load_##table table;
union any_row {
	LOAD_TABLES(ANY_ROW)
};
#undef ANY_ROW

/* A maker that drops all rows: the facts have them. */
static void *no_row(void *context, enum load_table table MT_UNUSED, int *error)
{
	*error = 0;
	return context;
}

static int no_death(void *context MT_UNUSED, int64_t process MT_UNUSED, int64_t alloc_seq MT_UNUSED)
{
	return 0;
}

static int no_change(void *context MT_UNUSED, const struct row_residence *change MT_UNUSED)
{
	return 0;
}

static int is_asked(const struct peers *peers, const struct kept_moment *moment)
{
	return moment->there && peers->process[moment->process] == peers->asked.process &&
	       moment->seq == peers->asked.seq;
}

/* Reads the events and keeps their moment. 1; 0: the moment could not be kept; or an error. */
static int read_events(struct peers *peers, struct kept_moment *moment)
{
	union any_row row;
	const struct row_maker maker = { &row, no_row, no_death, no_change };
	struct kept *kept = kept_new(&peers->part, 0);
	struct analysis_sink sink;
	struct row_sink rows;
	uint32_t i;
	int error = kept ? 0 : -MT_E_MEMORY;

	row_sink_init(&rows, &sink, &peers->part, &maker, 0);
	row_sink_keep(&rows, &sink, kept, 1);
	for (i = 0; i < peers->count; i++) {
		mt_reader_rewind(peers->input[i].reader);
		if (kept && peers->process[i] == peers->asked.process)
			kept_only(kept, i);
	}
	if (!error)
		error = analysis_run(&peers->part, peers->input, peers->count, peers->run->rules, &sink);
	if (!error)
		error = kept_find(kept, moment);
	row_sink_release(&rows);
	kept_free(kept);
	if (error)
		return error == -MT_E_BUSY ? 0 : error;
	return is_asked(peers, moment);
}

/* ---- as of the run ---- */

/*
 * Finds the sites of `part` in the run. Sites that were split off at the end come last; no life refers to them. 1; 0: events and facts differ in
 * their sites; or -MT_E_MEMORY.
 */
static int place_sites(struct peers *peers)
{
	const struct attribution *part = &peers->part.attribution;
	uint32_t told[PEERS_MOST] = { 0 }, of, i;
	const struct facts_place *place;
	int all = 1;

	peers->site = calloc(part->sites, sizeof(*peers->site));
	if (!peers->site)
		return -MT_E_MEMORY;
	for (i = 1; i < part->sites; i++) {
		of = part->site[i].key.process;
		place = &peers->place[peers->process[of]];
		if (told[of] < place->sites)
			peers->site[i] = place->site[told[of]++];
	}
	for (i = 0; i < peers->count; i++)
		all &= told[i] == peers->place[peers->process[i]].sites;
	return all;
}

/* Returns the ns to add to times of `part`, so that they count from the begin of the run. */
static int64_t later(const struct peers *peers, uint32_t process)
{
	return peers->part.process[process].origin - peers->run->process[peers->process[process]].origin;
}

/* Finds a device of `part` in the run: a process has its devices in the same order in both. */
static uint32_t place_device(const struct peers *peers, uint32_t process, uint32_t device)
{
	const struct facts_place *place = &peers->place[peers->process[process]];
	uint32_t before = 0, i;

	for (i = 0; i < device; i++)
		before += peers->part.device[i].user[0] == process;
	return before < place->devices ? place->device[before] : UINT32_MAX;
}

static void place_lives(const struct peers *peers, struct kept_moment *moment)
{
	struct kept_life *life;
	int64_t more;

	for (life = moment->life; life < moment->life + moment->lives; life++) {
		more = later(peers, peers->part.attribution.site[life->site].key.process);
		life->site = peers->site[life->site];
		life->time += more;
		life->gone_time += life->gone_seq == KEPT_STAYS ? 0 : more;
	}
}

static void place_moment(const struct peers *peers, struct kept_moment *moment)
{
	struct kept_mapping *mapping;
	uint32_t i;
	int64_t more;

	place_lives(peers, moment);
	for (i = 0; i < moment->sums; i++)
		moment->sum[i].site = peers->site[moment->sum[i].site];
	for (mapping = moment->mapping; mapping < moment->mapping + moment->mappings; mapping++) {
		more = later(peers, mapping->process);
		mapping->process = peers->process[mapping->process];
		mapping->time += more;
		mapping->gone_time += mapping->gone_seq == KEPT_STAYS ? 0 : more;
	}
	moment->before_time += moment->before == KEPT_NO_BEFORE ? 0 : later(peers, moment->process);
	moment->device = place_device(peers, moment->process, moment->device);
	moment->process = peers->asked.process;
}

static int find(struct peers *peers, const struct analysis_input *input, struct kept_moment *moment)
{
	int found;

	choose(peers, input);
	found = read_events(peers, moment);
	if (found > 0)
		found = place_sites(peers);
	if (found > 0)
		place_moment(peers, moment);
	else
		kept_moment_release(moment);
	analysis_release(&peers->part);
	free(peers->site);
	return found;
}

int facts_peers(const struct analysis *run, const struct analysis_input *input, struct kept_moment *moment)
{
	struct peers peers = { .run = run };
	struct facts_place *place;
	int found;

	if (!kept_asked(run, &peers.asked) || any_host_is_full(run))
		return 0;
	place = facts_places(run);
	if (!place)
		return -MT_E_MEMORY;
	peers.place = place;
	found = find(&peers, input, moment);
	free(place);
	return found;
}
