#include "tally.h"

#include <stdlib.h>
#include <string.h>
#include "history.h"
#include "memtrace/array.h"
#include "memtrace/error.h"
#include "memtrace/phase.h"

struct cohort {
	uint32_t stack, device, step;
	uint8_t phase, driver;
	uint8_t used, dirty;
	uint32_t generation;                        /* how often the number was used before */
	int64_t plain, slack, count;                /* now, */
	int64_t told_plain, told_slack, told_count; /* and at the newest record */
};

struct tally {
	struct cohort *cohort; /* cohort[0]: bytes without a cohort */
	uint32_t cohorts, room;
	uint32_t *slot; /* hash table of numbers, 0: free */
	uint32_t slots, filled;
	uint32_t *free_number; /* numbers to use again */
	uint32_t frees, free_room;
	uint32_t *dirty; /* numbers of cohorts that changed since the newest record */
	uint32_t dirties, dirty_room;
	struct mt_summary_device device[MT_LEDGER_DEVICES]; /* the peaks */
	uint8_t seen[MT_LEDGER_DEVICES], moved[MT_LEDGER_DEVICES];
	uint32_t moves; /* devices in `moved` */
	int anew, failed;
	struct mt_summary_device told_device[MT_LEDGER_DEVICES];
	struct mt_summary_row *row;
	uint32_t row_room;
};

struct tally *tally_new(void)
{
	struct tally *tally = calloc(1, sizeof(*tally));

	if (!tally)
		return NULL;
	tally->slots = 256;
	tally->room = 64;
	tally->slot = calloc(tally->slots, sizeof(*tally->slot));
	tally->cohort = calloc(tally->room, sizeof(*tally->cohort));
	tally->cohorts = 1;
	tally->anew = 1;
	if (!tally->slot || !tally->cohort) {
		tally_free(tally);
		return NULL;
	}
	tally->cohort[0].used = 1;
	return tally;
}

void tally_free(struct tally *tally)
{
	if (!tally)
		return;
	free(tally->cohort);
	free(tally->slot);
	free(tally->free_number);
	free(tally->dirty);
	free(tally->row);
	free(tally);
}

/* ---- cohorts ---- */

static int is_same(const struct cohort *one, const struct cohort *two)
{
	return one->stack == two->stack && one->device == two->device && one->step == two->step &&
	       one->phase == two->phase && one->driver == two->driver;
}

static uint32_t place_of(const struct tally *tally, const struct cohort *key)
{
	uint64_t hash = ((uint64_t)key->stack << 32 | key->step) * 0x9e3779b97f4a7c15ull;

	hash ^= ((uint64_t)key->device << 16 | (uint64_t)key->phase << 1 | key->driver) * 0xbf58476d1ce4e5b9ull;
	return (uint32_t)(hash >> 40) & (tally->slots - 1);
}

static uint32_t *find(const struct tally *tally, const struct cohort *key)
{
	uint32_t at = place_of(tally, key);

	while (tally->slot[at] && !is_same(&tally->cohort[tally->slot[at]], key))
		at = (at + 1) & (tally->slots - 1);
	return &tally->slot[at];
}

static int grow(struct tally *tally)
{
	uint32_t *old = tally->slot, slots = tally->slots, i, *grown = calloc((size_t)slots * 2, sizeof(*grown));

	if (!grown)
		return -MT_E_MEMORY;
	tally->slot = grown;
	tally->slots = slots * 2;
	for (i = 0; i < slots; i++)
		if (old[i])
			*find(tally, &tally->cohort[old[i]]) = old[i];
	free(old);
	return 0;
}

/* Removes a cohort from the table. Cohorts behind it that had to pass its slot move up. */
static void erase(struct tally *tally, const struct cohort *key)
{
	uint32_t mask = tally->slots - 1, hole = (uint32_t)(find(tally, key) - tally->slot), at, home;

	for (at = (hole + 1) & mask; tally->slot[at]; at = (at + 1) & mask) {
		home = place_of(tally, &tally->cohort[tally->slot[at]]);
		if (((at - home) & mask) < ((at - hole) & mask))
			continue;
		tally->slot[hole] = tally->slot[at];
		hole = at;
	}
	tally->slot[hole] = 0;
	tally->filled--;
}

static int add_number(uint32_t **list, uint32_t *count, uint32_t *room, uint32_t number)
{
	if (MT_ARRAY_ROOM(*list, *count, *room))
		return -MT_E_MEMORY;
	(*list)[(*count)++] = number;
	return 0;
}

/* A number for a new cohort; 0: out of memory. */
static uint32_t take_number(struct tally *tally)
{
	struct cohort *grown;

	if (tally->frees)
		return tally->free_number[--tally->frees];
	if (tally->cohorts == tally->room) {
		grown = realloc(tally->cohort, (size_t)tally->room * 2 * sizeof(*grown));
		if (!grown)
			return 0;
		memset(grown + tally->room, 0, tally->room * sizeof(*grown));
		tally->cohort = grown;
		tally->room *= 2;
	}
	return tally->cohorts++;
}

static uint32_t make(struct tally *tally, const struct cohort *key)
{
	uint32_t number, generation;

	if (tally->filled * 2 >= tally->slots && grow(tally))
		return 0;
	number = take_number(tally);
	if (!number)
		return 0;
	generation = tally->cohort[number].generation;
	tally->cohort[number] = *key;
	tally->cohort[number].generation = generation;
	tally->cohort[number].used = 1;
	*find(tally, key) = number;
	tally->filled++;
	return number;
}

/* ---- events ---- */

static int brings_life(const struct mt_event *event, uint8_t *driver)
{
	uint64_t kind = event->kind == MT_LIVE ? event->value : event->kind;

	*driver = kind != MT_TENSOR_ALLOC;
	return kind == MT_TENSOR_ALLOC || kind == MT_DRIVER_ALLOC || kind == MT_VMM_CREATE;
}

uint64_t tally_tag(struct tally *tally, const struct mt_event *event, uint32_t phase, uint32_t step)
{
	struct cohort key = { .stack = event->stack <= UINT32_MAX ? (uint32_t)event->stack : 0,
			      .device = event->device < MT_LEDGER_DEVICES ? (uint32_t)event->device : 0,
			      .step = step,
			      .phase = phase < MT_PHASE_COUNT ? (uint8_t)phase : MT_PHASE_OTHER };
	uint32_t number;

	if (!brings_life(event, &key.driver))
		return 0;
	number = *find(tally, &key);
	if (!number)
		number = make(tally, &key);
	tally->failed |= !number;
	return (uint64_t)tally->cohort[number].generation << 32 | number;
}

/* The cohort of a tag. An undone free can bring back bytes with an old tag: they go to cohort 0. */
static struct cohort *cohort_of(struct tally *tally, uint64_t tag)
{
	uint32_t number = (uint32_t)tag;

	if (number >= tally->cohorts || tally->cohort[number].generation != tag >> 32)
		number = 0;
	if (!tally->cohort[number].dirty) {
		tally->failed |= add_number(&tally->dirty, &tally->dirties, &tally->dirty_room, number) != 0;
		tally->cohort[number].dirty = 1;
	}
	return &tally->cohort[number];
}

void tally_move(struct tally *tally, uint32_t device, uint64_t tag, int slack, int64_t bytes)
{
	struct cohort *cohort = cohort_of(tally, tag);

	if (slack)
		cohort->slack += bytes;
	else
		cohort->plain += bytes;
	if (device < MT_LEDGER_DEVICES && !tally->moved[device]) {
		tally->moved[device] = 1;
		tally->moves++;
	}
}

static void take_peak(struct tally *tally, const struct mt_ledger *ledger, const struct mt_event *event, uint32_t phase,
		      uint32_t device)
{
	struct mt_summary_device *figures = &tally->device[device];
	uint64_t held = mt_ledger_held(ledger, device), tensors = mt_ledger_tensors(ledger, device);

	if (tally->seen[device] &&
	    (held < figures->peak || (held == figures->peak && tensors <= figures->peak_tensors)))
		return;
	tally->seen[device] = 1;
	figures->peak = held;
	figures->peak_tensors = tensors;
	figures->peak_phase = phase < MT_PHASE_COUNT ? phase : MT_PHASE_OTHER;
	figures->peak_seq = event->seq;
	figures->peak_time = event->time;
}

static int holds_bytes(const struct mt_live *live)
{
	return live->kind != MT_VMM_MAP;
}

void tally_event(struct tally *tally, const struct mt_ledger *ledger, const struct mt_event *event,
		 const struct mt_ledger_change *change, uint32_t phase)
{
	uint32_t device;
	size_t i;

	if (change->born && holds_bytes(change->born))
		cohort_of(tally, change->born->tag)->count++;
	for (i = 0; i < change->died_count; i++)
		if (holds_bytes(&change->died[i]))
			cohort_of(tally, change->died[i].tag)->count--;
	for (device = 0; tally->moves && device < MT_LEDGER_DEVICES; device++)
		if (tally->moved[device]) {
			tally->moved[device] = 0;
			tally->moves--;
			take_peak(tally, ledger, event, phase, device);
		}
}

/* ---- records ---- */

static uint32_t fill_devices(struct tally *tally, const struct mt_ledger *ledger)
{
	struct mt_summary_device *figures;
	uint32_t device, count = 0;

	for (device = 0; device < MT_LEDGER_DEVICES; device++) {
		if (!tally->seen[device])
			continue;
		figures = &tally->told_device[count++];
		*figures = tally->device[device];
		figures->device = device;
		figures->held = mt_ledger_held(ledger, device);
		figures->slack = mt_ledger_slack(ledger, device);
		figures->tensors = mt_ledger_tensors(ledger, device);
	}
	return count;
}

/* Starts new peaks with the bytes that are held now. */
static void begin_peaks(struct tally *tally, const struct mt_summary *record)
{
	uint32_t i;

	for (i = 0; i < record->devices; i++) {
		struct mt_summary_device *figures = &tally->device[record->device[i].device];

		figures->peak = record->device[i].held;
		figures->peak_tensors = record->device[i].tensors;
		figures->peak_phase = MT_PHASE_OTHER;
		figures->peak_seq = record->seq;
		figures->peak_time = record->time;
	}
}

void tally_begin(struct tally *tally, const struct mt_ledger *ledger, const struct mt_event *event)
{
	struct mt_summary record = { .seq = event->seq, .time = event->time, .device = tally->told_device };

	record.devices = fill_devices(tally, ledger);
	begin_peaks(tally, &record);
}

static struct mt_summary_row difference(const struct cohort *cohort)
{
	return (struct mt_summary_row){ .stack = cohort->stack,
					.device = cohort->device,
					.step = cohort->step,
					.phase = cohort->phase,
					.driver = cohort->driver,
					.plain = cohort->plain - cohort->told_plain,
					.slack = cohort->slack - cohort->told_slack,
					.count = cohort->count - cohort->told_count };
}

/* Marks a cohort as reported. A cohort without bytes is removed. */
static void settle(struct tally *tally, uint32_t number)
{
	struct cohort *cohort = &tally->cohort[number];

	cohort->dirty = 0;
	cohort->told_plain = cohort->plain;
	cohort->told_slack = cohort->slack;
	cohort->told_count = cohort->count;
	if (!number || cohort->plain || cohort->slack || cohort->count ||
	    add_number(&tally->free_number, &tally->frees, &tally->free_room, number))
		return;
	erase(tally, cohort);
	*cohort = (struct cohort){ .generation = cohort->generation + 1 };
}

static int fill_rows(struct tally *tally, uint32_t *rows)
{
	uint32_t i, count = 0;

	if (tally->row_room < tally->dirties) {
		free(tally->row);
		tally->row = malloc((size_t)tally->dirties * 2 * sizeof(*tally->row));
		tally->row_room = tally->row ? tally->dirties * 2 : 0;
	}
	if (tally->dirties && !tally->row)
		return -MT_E_MEMORY;
	for (i = 0; i < tally->dirties; i++) {
		struct mt_summary_row row = difference(&tally->cohort[tally->dirty[i]]);

		if (row.plain || row.slack || row.count)
			tally->row[count++] = row;
		settle(tally, tally->dirty[i]);
	}
	tally->dirties = 0;
	if (count)
		qsort(tally->row, count, sizeof(*tally->row), history_row_order);
	*rows = count;
	return 0;
}

int tally_record(struct tally *tally, const struct mt_ledger *ledger, struct mt_summary *record)
{
	int error = 0;

	if (!tally->failed)
		error = fill_rows(tally, &record->rows);
	tally->failed |= error != 0;
	if (tally->failed)
		return -MT_E_MEMORY;
	record->row = tally->row;
	record->anew = tally->anew != 0;
	record->device = tally->told_device;
	record->devices = fill_devices(tally, ledger);
	begin_peaks(tally, record);
	tally->anew = 0;
	return 0;
}
