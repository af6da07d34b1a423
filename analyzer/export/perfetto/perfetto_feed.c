/* perfetto_feed.c - makes counters from moves of bytes and from samples. */
#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "perfetto.h"

#define PLAIN_EVENTS 100000 /* a run with more events is written in buckets of time */
#define BUCKETS 16384       /* number of buckets of all processes together */
#define BUCKETS_LEAST 1024  /* smallest number of buckets of a process */

/* ---- moves ------------------------------------------------------------------------------------------------------- */

static void init_counters(struct perfetto_counters *counters, uint64_t track, uint32_t values)
{
	counters->track = track;
	counters->values = values;
	counters->bucket = -1;
}

static struct perfetto_pair *add_pair(struct perfetto *perfetto, uint32_t process, uint32_t device)
{
	uint32_t room = perfetto->pair_room ? 2 * perfetto->pair_room : 8;
	struct perfetto_pair *pair = perfetto->pair;

	if (perfetto->pairs == perfetto->pair_room) {
		pair = realloc(pair, room * sizeof(*pair));
		if (!pair)
			return NULL;
		perfetto->pair = pair;
		perfetto->pair_room = room;
	}
	pair += perfetto->pairs++;
	*pair = (struct perfetto_pair){ .process = process,
					.device = device,
					.next = perfetto->process[process].first_pair,
					.number = perfetto->process[process].pairs++,
					.user = UINT32_MAX };
	perfetto->process[process].first_pair = perfetto->pairs;
	init_counters(&pair->held, perfetto_pair_track(pair) + PERFETTO_TRACK_HELD, PERFETTO_VALUES_MAX);
	init_counters(&pair->gpu, perfetto_pair_track(pair) + PERFETTO_TRACK_GPU, PERFETTO_GPU_VALUES);
	return pair;
}

struct perfetto_pair *perfetto_pair_of(struct perfetto *perfetto, uint32_t process, uint32_t device)
{
	struct perfetto_pair *pair;
	uint32_t i;

	for (i = perfetto->process[process].first_pair; i; i = perfetto->pair[i - 1].next)
		if (perfetto->pair[i - 1].device == device)
			return &perfetto->pair[i - 1];
	pair = add_pair(perfetto, process, device);
	if (!pair)
		perfetto_fail(perfetto, -MT_E_MEMORY);
	return pair;
}

static int site_room(struct perfetto *perfetto, uint32_t site)
{
	uint32_t room = perfetto->sites ? perfetto->sites : 256;
	struct perfetto_site *grown;

	while (room <= site && room < UINT32_MAX / 2)
		room *= 2;
	grown = room > site ? realloc(perfetto->site, room * sizeof(*grown)) : NULL;
	if (!grown)
		return -MT_E_MEMORY;
	memset(grown + perfetto->sites, 0, (room - perfetto->sites) * sizeof(*grown));
	perfetto->site = grown;
	perfetto->sites = room;
	return 0;
}

void perfetto_site_is(struct perfetto *perfetto, uint32_t number, const struct perfetto_site_key *key)
{
	struct perfetto_pair *pair = perfetto_pair_of(perfetto, key->process, key->device);
	struct perfetto_site *site;

	if (pair && number >= perfetto->sites)
		perfetto_fail(perfetto, site_room(perfetto, number));
	if (perfetto->error)
		return;
	site = &perfetto->site[number];
	site->pair = (uint32_t)(pair - perfetto->pair) + 1;
	site->next = pair->first_site;
	site->node = key->node;
	site->phase = key->phase < MT_PHASE_COUNT ? key->phase : MT_PHASE_OTHER;
	site->driver = key->driver != 0;
	pair->first_site = number;
}

void perfetto_change_end(struct perfetto *perfetto)
{
	struct perfetto_pair *pair;
	uint32_t i;

	for (i = 0; i < perfetto->dirties; i++) {
		pair = &perfetto->pair[perfetto->dirty[i]];
		pair->dirty = 0;
		pair->now.time = perfetto->change_time;
		perfetto_count(perfetto, &pair->held, &pair->now);
	}
	perfetto->dirties = 0;
}

static void mark(struct perfetto *perfetto, struct perfetto_pair *pair, int64_t time)
{
	if (perfetto->dirties == MT_ARRAY_SIZE(perfetto->dirty))
		perfetto_change_end(perfetto);
	perfetto->change_time = time;
	if (pair->dirty)
		return;
	pair->dirty = 1;
	perfetto->dirty[perfetto->dirties++] = (uint32_t)(pair - perfetto->pair);
}

void perfetto_moved(struct perfetto *perfetto, uint32_t number, int slack, int64_t bytes, int64_t time)
{
	struct perfetto_site *site = &perfetto->site[number];
	struct perfetto_pair *pair = &perfetto->pair[site->pair - 1];
	uint64_t *value = pair->now.value;

	*(slack ? &site->now.slack : &site->now.plain) += (uint64_t)bytes;
	value[PERFETTO_HELD] += (uint64_t)bytes;
	value[PERFETTO_PHASE + site->phase] += (uint64_t)bytes;
	if (slack || !site->driver)
		value[PERFETTO_RESERVED] += (uint64_t)bytes;
	if (!slack && !site->driver)
		value[PERFETTO_TENSORS] += (uint64_t)bytes;
	mark(perfetto, pair, time);
}

/* ---- the width of a bucket --------------------------------------------------------------------------------------- */

void perfetto_set_width(struct perfetto *perfetto, int64_t first, int64_t last, uint64_t events)
{
	int64_t buckets = BUCKETS / (perfetto->processes ? perfetto->processes : 1);

	buckets = buckets > BUCKETS_LEAST ? buckets : BUCKETS_LEAST;
	first = first > perfetto->range.first ? first : perfetto->range.first;
	last = last < perfetto->range.last ? last : perfetto->range.last;
	if (events > PLAIN_EVENTS && last > first)
		perfetto->width = (last - first) / buckets + 1;
}

int perfetto_processes(struct perfetto *perfetto, uint32_t processes)
{
	uint32_t i;

	perfetto->process = calloc((size_t)processes + 1, sizeof(*perfetto->process));
	if (!perfetto->process)
		return -MT_E_MEMORY;
	perfetto->processes = processes;
	for (i = 0; i < processes; i++) {
		perfetto->process[i].slice_end = perfetto->process[i].step_end = INT64_MIN;
		perfetto->process[i].slice_skip = -1;
		init_counters(&perfetto->process[i].host, perfetto_track(i) + PERFETTO_TRACK_HOST,
			      PERFETTO_HOST_VALUES);
	}
	return 0;
}

void perfetto_finish(struct perfetto *perfetto)
{
	uint32_t i;

	perfetto_change_end(perfetto);
	for (i = 0; i < perfetto->pairs; i++) {
		perfetto_count_end(perfetto, &perfetto->pair[i].held);
		perfetto_count_end(perfetto, &perfetto->pair[i].gpu);
	}
	for (i = 0; i < perfetto->processes; i++)
		perfetto_count_end(perfetto, &perfetto->process[i].host);
}

void perfetto_host(struct perfetto *perfetto, uint32_t process, int64_t time, uint64_t resident, uint64_t pinned,
		   uint64_t cgroup)
{
	struct perfetto_point point = {
		.time = time,
		.value = { [PERFETTO_RESIDENT] = resident, [PERFETTO_PINNED] = pinned, [PERFETTO_CGROUP] = cgroup }
	};

	perfetto_count(perfetto, &perfetto->process[process].host, &point);
}

void perfetto_gpu(struct perfetto *perfetto, uint32_t process, uint32_t device, int64_t time, uint64_t used,
		  uint64_t own)
{
	struct perfetto_point point = { .time = time,
					.value = { [PERFETTO_GPU_USED] = used, [PERFETTO_GPU_OWN] = own } };
	struct perfetto_pair *pair = perfetto_pair_of(perfetto, process, device);

	if (pair)
		perfetto_count(perfetto, &pair->gpu, &point);
}
