#include "phase_use.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"

#define RUNS_MOST (1u << 22)
#define MORE_MOST (1u << 20)
#define WAITING_MOST (1u << 20)

/*
 * A source of bytes that stay after a run: tensors of a device, or driver memory of a site. Only the end of the pass knows whether a site's driver
 * memory counts as in use.
 */
#define SOURCE_SITE MT_LEDGER_DEVICES /* smaller numbers are devices, others sites */

/* A run of a phase that has ended. */
struct run {
	uint64_t first, last; /* numbers of events */
	uint64_t left;        /* bytes of `source` */
	uint32_t source;
	uint8_t phase;
};

struct total {
	uint64_t bytes, count;
};

/* The end of an allocation of the running run, or a change of its resident bytes. */
struct waiting {
	uint64_t birth, seq, bytes;
	uint32_t source;
	uint8_t phase;
};

/* A tensor of which some pages were gone at the end of its run. */
struct asleep {
	uint64_t birth, bytes;
};

/* Times of births that can make a device fuller. */
struct growing {
	int any;
	int64_t first, newest;
	int64_t before; /* time of the newest birth up to the phase's peak, if `newest` is later; INT64_MIN: none */
};

struct phase_use {
	const struct analysis *analysis;
	int none; /* 1: the figures were given up */
	struct run *run;
	size_t runs, run_room;
	struct tuple_table more; /* number of a sum by run and source, for sources other than run.source */
	uint64_t *sum;
	size_t sums, sum_room;
	struct total *total; /* by site */
	size_t totals;
	struct waiting *death, *change;
	size_t deaths, death_room, changes, change_room;
	uint64_t told; /* the waiting deaths came after this event, the newest with a phase */
	struct asleep *asleep;
	size_t sleepers, sleeper_room;
	struct growing growing[MT_LEDGER_DEVICES][MT_PHASE_COUNT];
};

struct phase_use *phase_use_new(const struct analysis *analysis)
{
	struct phase_use *use = calloc(1, sizeof(*use));

	if (use)
		use->analysis = analysis;
	return use;
}

static void give_up(struct phase_use *use)
{
	free(use->run);
	free(use->sum);
	free(use->total);
	free(use->death);
	free(use->change);
	free(use->asleep);
	tuple_release(&use->more);
	*use = (struct phase_use){ .analysis = use->analysis, .none = 1 };
}

void phase_use_free(struct phase_use *use)
{
	if (use)
		give_up(use);
	free(use);
}

/* Returns the array with room for one more element. NULL: out of memory, or the array has `most`. */
static void *room_for(void *array, size_t count, size_t *room, size_t size, size_t most)
{
	size_t more = *room ? *room * 2 : 64;
	void *grown;

	if (count < *room)
		return array;
	grown = count < most ? realloc(array, more * size) : NULL;
	if (grown)
		*room = more;
	return grown;
}

/* Makes room for one more element of `array`; without room gives up `use` and returns. */
#define ROOM_FOR(use, array, count, room, most)                                                                 \
	do {                                                                                                    \
		void *grown_ = room_for((use)->array, (use)->count, &(use)->room, sizeof(*(use)->array), most); \
		if (!grown_) {                                                                                  \
			give_up(use);                                                                           \
			return;                                                                                 \
		}                                                                                               \
		(use)->array = grown_;                                                                          \
	} while (0)

static int is_tensor(const struct mt_live *live)
{
	return live->kind == MT_TENSOR_ALLOC;
}

/* Whether memory of this kind can count as in use, by the rule of allocation_span in schema.sql. */
static int may_count(const struct mt_live *live)
{
	return is_tensor(live) ||
	       (!live->tensors_seen && live->flags != MT_SPACE_PINNED && live->flags != MT_SPACE_HOST &&
		live->flags != MT_SPACE_IMPORTED && live->flags != MT_SPACE_MULTICAST);
}

static const struct site *site_of(const struct phase_use *use, const struct mt_live *live)
{
	return live->tag && live->tag < use->analysis->attribution.sites ? &use->analysis->attribution.site[live->tag]
									 : NULL;
}

static uint32_t source_of(const struct mt_live *live, const struct site *site)
{
	return is_tensor(live) ? site->key.device : SOURCE_SITE + (uint32_t)live->tag;
}

/* ---- what a run left ---- */

/* Returns the ended run that contains event `seq`, or NULL. The search starts at the newest, where most births are. */
static struct run *run_of(const struct phase_use *use, uint64_t seq)
{
	size_t step = 1, low, high = use->runs, middle;

	while (step < high && use->run[high - step].last >= seq)
		step *= 2;
	for (low = step < high ? high - step : 0; low < high;) {
		middle = (low + high) / 2;
		if (use->run[middle].last < seq)
			low = middle + 1;
		else
			high = middle;
	}
	return low < use->runs && use->run[low].first <= seq ? &use->run[low] : NULL;
}

static void add_more(struct phase_use *use, const struct tuple *key, uint64_t bytes)
{
	uint32_t number = tuple_find(&use->more, key);

	if (number != TUPLE_NONE) {
		use->sum[number] += bytes;
		return;
	}
	ROOM_FOR(use, sum, sums, sum_room, MORE_MOST);
	use->sum[use->sums] = bytes;
	if (tuple_add(&use->more, key, (uint32_t)use->sums++))
		give_up(use);
}

static void add_left(struct phase_use *use, struct run *run, uint32_t source, uint64_t bytes)
{
	const struct tuple key = { { (uint64_t)(run - use->run), source, 0, 0 } };

	if (!run->left)
		run->source = source;
	if (run->source == source)
		run->left += bytes;
	else
		add_more(use, &key, bytes);
}

/* Returns the resident bytes of an allocation at the end of the run of its birth. */
static uint64_t bytes_left(const struct phase_use *use, uint64_t birth, uint64_t bytes)
{
	size_t low = 0, high = use->sleepers, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (use->asleep[middle].birth < birth)
			low = middle + 1;
		else
			high = middle;
	}
	return low < use->sleepers && use->asleep[low].birth == birth ? use->asleep[low].bytes : bytes;
}

static void note_death(struct phase_use *use, const struct waiting *death)
{
	struct run *run = run_of(use, death->birth);
	uint64_t bytes = run && run->phase == death->phase && death->seq > run->last
				 ? bytes_left(use, death->birth, death->bytes)
				 : 0;

	if (bytes)
		add_left(use, run, death->source, bytes);
}

/* ---- the running run ---- */

/*
 * Keeps a death back: only the next event with a phase shows whether the death is inside its run or after it. Waiting deaths are later than the
 * newest event with a phase.
 */
static void wait_for_phase(struct phase_use *use, const struct mt_live *live, uint64_t seq, const struct site *site)
{
	const struct analysis_process *process = &use->analysis->process[0];
	struct waiting *death;

	if (live->seq < process->phase_first || live->seq > process->phase_last)
		return;
	if (use->told != process->phase_last)
		use->deaths = 0;
	use->told = process->phase_last;
	ROOM_FOR(use, death, deaths, death_room, WAITING_MOST);
	death = &use->death[use->deaths++];
	death->birth = live->seq;
	death->seq = seq;
	death->bytes = live->size;
	death->source = source_of(live, site);
	death->phase = site->key.phase;
}

static int by_birth(const void *a, const void *b)
{
	const struct waiting *one = a, *two = b;

	if (one->birth != two->birth)
		return one->birth < two->birth ? -1 : 1;
	return (one->seq > two->seq) - (one->seq < two->seq);
}

static void add_asleep(struct phase_use *use, const struct waiting *change)
{
	ROOM_FOR(use, asleep, sleepers, sleeper_room, WAITING_MOST);
	use->asleep[use->sleepers++] = (struct asleep){ change->birth, change->bytes };
}

/* Takes the newest change of each tensor born in the run. One event may change a tensor several times. */
static void take_changes(struct phase_use *use, uint64_t first, uint64_t last)
{
	size_t count = 0, i;

	for (i = 0; i < use->changes; i++)
		if (use->change[i].birth >= first && use->change[i].birth <= last && use->change[i].seq <= last) {
			use->change[count] = use->change[i];
			use->change[count++].seq = i; /* the order of the calls */
		}
	use->changes = 0;
	if (count > 1)
		qsort(use->change, count, sizeof(*use->change), by_birth);
	for (i = 0; i < count && !use->none; i++)
		if (i + 1 == count || use->change[i + 1].birth != use->change[i].birth)
			add_asleep(use, &use->change[i]);
}

void phase_use_span(struct phase_use *use, uint8_t phase, uint64_t first, uint64_t last)
{
	size_t i, deaths = use->told == last ? use->deaths : 0;

	if (use->none)
		return;
	ROOM_FOR(use, run, runs, run_room, RUNS_MOST);
	use->run[use->runs++] = (struct run){ .first = first, .last = last, .phase = phase };
	use->deaths = 0;
	take_changes(use, first, last);
	for (i = 0; i < deaths && !use->none; i++)
		note_death(use, &use->death[i]);
}

/* ---- lives ---- */

/* Returns the total of the site. NULL: out of memory. */
static struct total *total_of(struct phase_use *use, size_t site)
{
	size_t room = use->totals;
	struct total *grown;

	if (site < room)
		return &use->total[site];
	room = site + site / 2 + 64;
	grown = realloc(use->total, room * sizeof(*grown));
	if (!grown) {
		give_up(use);
		return NULL;
	}
	memset(grown + use->totals, 0, (room - use->totals) * sizeof(*grown));
	use->total = grown;
	use->totals = room;
	return &grown[site];
}

void phase_use_gone(struct phase_use *use, const struct mt_live *live, const struct mt_event *event)
{
	const struct site *site = site_of(use, live);
	struct total *total;

	if (use->none || !site || !may_count(live))
		return;
	total = total_of(use, (size_t)live->tag);
	if (!total)
		return;
	total->bytes += live->size;
	total->count++;
	if (!use->runs || live->seq > use->run[use->runs - 1].last) {
		if (event)
			wait_for_phase(use, live, event->seq, site);
		return;
	}
	note_death(use, &(struct waiting){ .birth = live->seq,
					   .seq = event ? event->seq : UINT64_MAX,
					   .bytes = live->size,
					   .source = source_of(live, site),
					   .phase = site->key.phase });
}

void phase_use_resident(struct phase_use *use, const struct mt_live *tensor, uint64_t bytes,
			const struct mt_event *event)
{
	if (use->none || (use->runs && tensor->seq <= use->run[use->runs - 1].last))
		return;
	ROOM_FOR(use, change, changes, change_room, WAITING_MOST);
	use->change[use->changes++] = (struct waiting){ .birth = tensor->seq, .seq = event->seq, .bytes = bytes };
}

/* ---- what makes a device fuller ---- */

static int holds_bytes(const struct mt_live *live)
{
	return live->kind == MT_TENSOR_ALLOC || live->kind == MT_DRIVER_ALLOC || live->kind == MT_VMM_CREATE;
}

static void note_time(struct growing *growing, const struct analysis_phase_peak *peak, int64_t time)
{
	int64_t before = INT64_MIN;

	if (!growing->any)
		*growing = (struct growing){ 1, time, time, INT64_MIN };
	if (peak->ran && growing->newest <= peak->time)
		before = growing->newest;
	else if (peak->ran && time < growing->newest && time <= peak->time)
		before = time;
	growing->before = before > growing->before ? before : growing->before;
	growing->first = time < growing->first ? time : growing->first;
	growing->newest = time > growing->newest ? time : growing->newest;
}

/* Driver memory makes a GPU fuller; on the CPU, tensors count, too. */
void phase_use_born(struct phase_use *use, const struct mt_live *live)
{
	const struct site *site = site_of(use, live);
	const struct analysis_device *device;

	if (use->none || !site || !holds_bytes(live))
		return;
	device = &use->analysis->device[site->key.device];
	if (!is_tensor(live) || device->kind == MT_DEVICE_CPU)
		note_time(&use->growing[site->key.device][site->key.phase], &device->phase_peak[site->key.phase],
			  analysis_time(&use->analysis->process[0], live->time));
}

/* Whether a birth made the device fuller: before the phase's peak, and after the device's peak if the phase's peak is later. */
static int has_grown(const struct phase_use *use, uint32_t device, uint32_t phase)
{
	const struct growing *growing = &use->growing[device][phase];
	const struct analysis_phase_peak *peak = &use->analysis->device[device].phase_peak[phase];
	int64_t all = use->analysis->device[device].peak.time;

	if (!growing->any || !peak->ran)
		return 0;
	if (peak->time <= all)
		return growing->first <= peak->time;
	return (growing->newest <= peak->time ? growing->newest : growing->before) > all;
}

/* ---- the figures ---- */

/* Returns the row of the source. NULL: its memory does not count. */
static struct phase_use_row *row_of(const struct phase_use *use, struct phase_use_row *row, uint32_t source,
				    uint32_t phase)
{
	const struct site *site;

	if (source < SOURCE_SITE)
		return &row[source * MT_PHASE_COUNT + phase];
	site = &use->analysis->attribution.site[source - SOURCE_SITE];
	return site->tensors_seen ? NULL : &row[site->key.device * MT_PHASE_COUNT + phase];
}

static void add_totals(const struct phase_use *use, struct phase_use_row *row)
{
	const struct site *site;
	size_t i;

	for (i = 1; i < use->totals && i < use->analysis->attribution.sites; i++) {
		site = &use->analysis->attribution.site[i];
		if (site->key.driver && site->tensors_seen)
			continue;
		row[site->key.device * MT_PHASE_COUNT + site->key.phase].bytes += use->total[i].bytes;
		row[site->key.device * MT_PHASE_COUNT + site->key.phase].count += use->total[i].count;
	}
}

struct part {
	size_t run;
	uint32_t device;
	uint64_t bytes;
};

static int by_run(const void *a, const void *b)
{
	const struct part *one = a, *two = b;

	if (one->run != two->run)
		return one->run < two->run ? -1 : 1;
	return (one->device > two->device) - (one->device < two->device);
}

static void keep_most(struct phase_use_row *row, uint64_t bytes)
{
	if (row->left < bytes)
		row->left = bytes;
}

static void add_part(const struct phase_use *use, struct phase_use_row *row, size_t run, uint32_t source,
		     uint64_t bytes, struct part *part, size_t *parts)
{
	const struct phase_use_row *of = bytes ? row_of(use, row, source, use->run[run].phase) : NULL;

	if (of)
		part[(*parts)++] = (struct part){ run, (uint32_t)((size_t)(of - row) / MT_PHASE_COUNT), bytes };
}

/* Adds the runs that left memory of several sources. 0 or -MT_E_MEMORY. */
static int add_several(const struct phase_use *use, struct phase_use_row *row)
{
	struct part *part = malloc((2 * use->sums + 1) * sizeof(*part));
	const struct tuple_slot *slot;
	const struct run *run;
	size_t parts = 0, i, to;
	uint64_t bytes;

	if (!part)
		return -MT_E_MEMORY;
	for (slot = use->more.slot; slot < use->more.slot + use->more.slots; slot++)
		if (slot->value)
			add_part(use, row, (size_t)slot->key.at[0], (uint32_t)slot->key.at[1],
				 use->sum[slot->value - 1], part, &parts);
	qsort(part, parts, sizeof(*part), by_run);
	for (i = 0; i < parts; i = to) {
		run = &use->run[part[i].run];
		bytes = row_of(use, row, run->source, run->phase) == &row[part[i].device * MT_PHASE_COUNT + run->phase]
				? run->left
				: 0;
		for (to = i; to < parts && !by_run(&part[to], &part[i]); to++)
			bytes += part[to].bytes;
		keep_most(&row[part[i].device * MT_PHASE_COUNT + run->phase], bytes);
	}
	free(part);
	return 0;
}

static int add_runs(const struct phase_use *use, struct phase_use_row *row)
{
	struct phase_use_row *of;
	size_t i;

	for (i = 0; i < use->runs; i++) {
		of = use->run[i].left ? row_of(use, row, use->run[i].source, use->run[i].phase) : NULL;
		if (of)
			keep_most(of, use->run[i].left);
	}
	return use->sums ? add_several(use, row) : 0;
}

static int is_empty(const struct phase_use_row *row)
{
	return !row->grew && !row->count;
}

int phase_use_find(struct phase_use *use, struct phase_use_list *list)
{
	uint32_t rows = use->analysis->devices * MT_PHASE_COUNT, i;

	*list = (struct phase_use_list){ .row = NULL };
	if (use->none)
		return 0;
	list->row = calloc((size_t)rows + 1, sizeof(*list->row));
	if (!list->row)
		return -MT_E_MEMORY;
	add_totals(use, list->row);
	if (add_runs(use, list->row))
		return -MT_E_MEMORY;
	for (i = 0; i < rows; i++) {
		list->row[i].device = i / MT_PHASE_COUNT;
		list->row[i].phase = i % MT_PHASE_COUNT;
		list->row[i].grew = (uint32_t)has_grown(use, list->row[i].device, list->row[i].phase);
		if (!is_empty(&list->row[i]))
			list->row[list->rows++] = list->row[i];
	}
	return 1;
}
