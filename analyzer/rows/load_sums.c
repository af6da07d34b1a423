#include "load_sums.h"

#include <stdlib.h>
#include <string.h>
#include "database/db.h"
#include "memtrace/array.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "row_id.h"

#define SUMS_MOST 16384u /* sums in one table (5 MiB): one interval may end allocations of all steps */

#define ALLOCATIONS_MOST \
	(1ull << 38) /* most of one row: 2^24 such rows cannot wrap to 0, which would mark a free slot */

/* The allocations of one site that were born in one interval and ended in the running interval. */
struct sum {
	struct load_death first;
	uint32_t interval; /* interval of the births */
	uint64_t count;    /* 0: a free slot */
	int64_t device;
};

struct sum_table {
	struct sum *slot;
	size_t slots, used;
};

struct load_sums_process {
	uint64_t *instant; /* numbers of events, ascending */
	size_t instants, room;
	size_t until;                      /* while sums are summed once more (add_row): interval of the newest death */
	struct sum_table crossing, inside; /* inside: born and ended in one interval */
	/* Deaths of the newest event, kept back: the next call may place an instant before this event. */
	struct sum *waiting;
	size_t waits, wait_room;
};

/* ---- tables ---- */

static size_t place_of(const struct sum_table *table, const struct sum *key)
{
	uint64_t hash = ((uint64_t)key->first.site << 32 | (key->interval ^ key->first.step << 16)) *
			0x9e3779b97f4a7c15ull;

	/* Use the high bits: the site is in the upper half of the key and hardly reaches the low bits. */
	return (size_t)(hash >> 44) & (table->slots - 1);
}

/*
 * Births of one interval can have several steps: a checkpoint adds older allocations after a gap and before the first event. Deaths of one interval
 * can, if ends of steps are no instants.
 */
static int is_same(const struct sum *one, const struct sum *two)
{
	return one->first.site == two->first.site && one->interval == two->interval &&
	       one->first.step == two->first.step && one->first.gone_step == two->first.gone_step &&
	       one->first.memory == two->first.memory && one->first.tensors_inside == two->first.tensors_inside &&
	       one->first.home == two->first.home && !one->first.gone_seq == !two->first.gone_seq;
}

static struct sum *find(const struct sum_table *table, const struct sum *key)
{
	size_t at = place_of(table, key);

	while (table->slot[at].count && !is_same(&table->slot[at], key))
		at = (at + 1) & (table->slots - 1);
	return &table->slot[at];
}

static int grow(struct sum_table *table)
{
	struct sum_table grown = { .slots = table->slots ? 2 * table->slots : 64, .used = table->used };
	size_t i;

	grown.slot = calloc(grown.slots, sizeof(*grown.slot));
	if (!grown.slot)
		return -MT_E_MEMORY;
	for (i = 0; i < table->slots; i++)
		if (table->slot[i].count)
			*find(&grown, &table->slot[i]) = table->slot[i];
	free(table->slot);
	*table = grown;
	return 0;
}

static int add(struct sum_table *table, const struct sum *one)
{
	struct sum *sum;

	if (table->used * 2 >= table->slots && grow(table))
		return -MT_E_MEMORY;
	sum = find(table, one);
	if (!sum->count) {
		*sum = *one;
		table->used++;
		return 0;
	}
	sum->count += one->count;
	sum->first.bytes += one->first.bytes;
	return 0;
}

/* ---- rows ---- */

static int64_t capped(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static int write_row(struct load_sums *sums, uint32_t process, const struct sum *sum)
{
	const struct load_death *first = &sum->first;
	int error;
	struct load_allocation_raw *row = sums->maker->row(sums->maker->context, LOAD_allocation_raw, &error);

	if (!row)
		return error;
	*row = (struct load_allocation_raw){
		.id = DB_CELL_NULL,
		.process = row_process_id(process),
		.device = sum->device,
		.site = first->site,
		.memory = first->memory,
		.bytes = capped(first->bytes),
		.alloc_seq = capped(first->seq),
		.alloc_time = first->time,
		.free_seq = first->gone_seq ? capped(first->gone_seq) : DB_CELL_NULL,
		.free_time = first->gone_seq ? first->gone_time : DB_CELL_NULL,
		.thread = DB_CELL_NULL,
		.step = first->step,
		.free_step = first->gone_seq ? first->gone_step : DB_CELL_NULL,
		.free_node = DB_CELL_NULL,
		.tensors_inside = first->tensors_inside,
		.at_home = first->home,
		.allocations = capped(sum->count),
	};
	return 0;
}

static int by_site(const void *a, const void *b)
{
	const struct sum *one = a, *two = b;

	if (one->first.site != two->first.site)
		return one->first.site < two->first.site ? -1 : 1;
	return (one->first.seq > two->first.seq) - (one->first.seq < two->first.seq);
}

/* Moves the used slots to the front and returns their number. At most instants few slots are used. */
static size_t gather(struct sum_table *table)
{
	size_t i, count = 0;

	for (i = 0; count < table->used; i++) {
		if (!table->slot[i].count)
			continue;
		if (i != count) {
			table->slot[count] = table->slot[i];
			table->slot[i].count = 0;
		}
		count++;
	}
	return count;
}

/* Writes and empties the table. Sorted, so that equal runs write equal rows. */
static int write_table(struct load_sums *sums, uint32_t process, struct sum_table *table)
{
	size_t i, count = gather(table);
	int error = 0;

	if (count > 1)
		qsort(table->slot, count, sizeof(*table->slot), by_site);
	for (i = 0; i < count; i++) {
		if (!error)
			error = write_row(sums, process, &table->slot[i]);
		table->slot[i].count = 0;
	}
	table->used = 0;
	return error;
}

/* ---- instants ---- */

/* Returns the number of instants before event `seq`. The search starts at the newest, where most events are. */
static size_t instants_before(const struct load_sums_process *of, uint64_t seq)
{
	size_t step = 1, low, high = of->instants, middle;

	if (!high || of->instant[high - 1] < seq)
		return high;
	while (step < high && of->instant[high - step] >= seq)
		step *= 2;
	for (low = step < high ? high - step : 0; low < high;) {
		middle = (low + high) / 2;
		if (of->instant[middle] < seq)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int add_bounded(struct load_sums *sums, uint32_t process, struct sum_table *table, const struct sum *sum)
{
	int error = add(table, sum);

	return !error && table->used == SUMS_MOST ? write_table(sums, process, table) : error;
}

static int add_crossing(struct load_sums *sums, uint32_t process, struct load_sums_process *of, const struct sum *sum)
{
	return add_bounded(sums, process, &of->crossing, sum);
}

static int add_inside(struct load_sums *sums, uint32_t process, struct load_sums_process *of, struct sum *sum)
{
	sum->interval = 0;
	if (!sum->first.by_step)
		sum->first.step = sum->first.gone_step = 0;
	return sums->seen_alone ? 0 : add_bounded(sums, process, &of->inside, sum);
}

static int settle_waiting(struct load_sums *sums, uint32_t process, struct load_sums_process *of)
{
	size_t i;
	int error = 0;

	for (i = 0; i < of->waits && !error; i++) {
		struct sum *sum = &of->waiting[i];

		sum->interval = (uint32_t)instants_before(of, sum->first.seq);
		if (sum->interval == of->instants && sum->first.gone_seq && sum->first.gone_step == sum->first.step)
			error = add_inside(sums, process, of, sum);
		else
			error = add_crossing(sums, process, of, sum);
	}
	of->waits = 0;
	return error;
}

static int add_instant(struct load_sums_process *of, uint64_t seq)
{
	if (MT_ARRAY_ROOM(of->instant, of->instants, of->room))
		return -MT_E_MEMORY;
	of->instant[of->instants++] = seq;
	return 0;
}

static struct load_sums_process *add_process(struct load_sums *sums, size_t number)
{
	size_t room = number + 1 + number / 2;
	struct load_sums_process *grown = realloc(sums->process, room * sizeof(*grown));

	if (!grown)
		return NULL;
	memset(grown + sums->processes, 0, (room - sums->processes) * sizeof(*grown));
	sums->process = grown;
	sums->processes = (uint32_t)room;
	return &grown[number];
}

static inline struct load_sums_process *process_of(struct load_sums *sums, uint32_t process)
{
	size_t number = process - sums->first;

	return number < sums->processes ? &sums->process[number] : add_process(sums, number);
}

static int take_instant(struct load_sums *sums, uint32_t process, uint64_t seq)
{
	struct load_sums_process *of = process_of(sums, process);
	int error = of ? 0 : -MT_E_MEMORY;

	if (error || (of->instants && of->instant[of->instants - 1] >= seq))
		return error;
	if (of->waits && of->waiting[0].first.gone_seq <= seq)
		error = settle_waiting(sums, process, of);
	if (!error)
		error = write_table(sums, process, &of->crossing);
	return error ? error : add_instant(of, seq);
}

void load_sums_instant(struct load_sums *sums, uint32_t process, uint64_t seq)
{
	if (!sums->error)
		sums->error = take_instant(sums, process, seq);
}

/* ---- deaths ---- */

/* Makes room for one more waiting death. 0 or -MT_E_MEMORY. */
static int wait_room(struct load_sums_process *of)
{
	size_t room = of->wait_room ? of->wait_room * 2 : 16;
	struct sum *grown = realloc(of->waiting, room * sizeof(*grown));

	if (!grown)
		return -MT_E_MEMORY;
	of->waiting = grown;
	of->wait_room = room;
	return 0;
}

struct load_death *load_sums_gone(struct load_sums *sums, uint32_t process, int64_t device, uint64_t gone_seq)
{
	struct load_sums_process *of = process_of(sums, process);
	struct sum *sum;

	if (!of && !sums->error)
		sums->error = -MT_E_MEMORY;
	if (!sums->error && of->waits && (!gone_seq || of->waiting[0].first.gone_seq != gone_seq))
		sums->error = settle_waiting(sums, process, of);
	if (!sums->error && of->waits == of->wait_room)
		sums->error = wait_room(of);
	if (sums->error)
		return NULL;
	sum = &of->waiting[of->waits++];
	sum->count = 1;
	sum->device = device;
	sum->first.gone_seq = gone_seq;
	return &sum->first;
}

int load_sums_leave_out(struct load_sums *sums, uint32_t process, uint64_t seq)
{
	const struct tuple key = { { process, seq, 0, 0 } };

	return load_sums_is_left_out(sums, process, seq) ? 0 : tuple_add(&sums->single, &key, 0);
}

/* Writes all sums of the process with this index. */
static int write_tables(struct load_sums *sums, uint32_t index)
{
	struct load_sums_process *of = &sums->process[index];
	int error = write_table(sums, sums->first + index, &of->crossing);

	return error ? error : write_table(sums, sums->first + index, &of->inside);
}

/* ---- sums of sums ---- */

int load_sums_begin_again(struct load_sums *sums)
{
	uint32_t i;

	for (i = 0; i < sums->processes && !sums->error; i++) {
		sums->error = write_tables(sums, i);
		sums->process[i].instants = sums->process[i].until = 0;
	}
	return sums->error;
}

static struct sum sum_of(const struct load_allocation_raw *row)
{
	struct sum sum = { .first = { .site = (uint32_t)row->site,
				      .step = (uint32_t)row->step,
				      .memory = row->memory,
				      .tensors_inside = row->tensors_inside != 0,
				      .bytes = (uint64_t)row->bytes,
				      .seq = (uint64_t)row->alloc_seq,
				      .time = row->alloc_time,
				      .home = row->at_home != 0 },
			   .count = (uint64_t)row->allocations,
			   .device = row->device };

	if (row->free_seq != DB_CELL_NULL) {
		sum.first.gone_seq = (uint64_t)row->free_seq;
		sum.first.gone_time = row->free_time;
		sum.first.gone_step = (uint32_t)row->free_step;
	}
	return sum;
}

/* Adds a row of sums between old instants. The new instants are some of the old ones, so rows stay in the order of their deaths. */
static int add_row(struct load_sums *sums, uint32_t process, struct load_sums_process *of, struct sum *sum)
{
	size_t born = instants_before(of, sum->first.seq),
	       gone = sum->first.gone_seq ? instants_before(of, sum->first.gone_seq) : of->instants;
	int error = 0;

	if (born == gone && sum->first.gone_seq && sum->first.gone_step == sum->first.step)
		return add_inside(sums, process, of, sum);
	if (gone != of->until)
		error = write_table(sums, process, &of->crossing);
	of->until = gone;
	sum->interval = (uint32_t)born;
	return error ? error : add_crossing(sums, process, of, sum);
}

int load_sums_row(struct load_sums *sums, uint32_t process, const struct load_allocation_raw *row)
{
	struct load_sums_process *of = process_of(sums, process);
	struct sum sum = sum_of(row);

	if (!of && !sums->error)
		sums->error = -MT_E_MEMORY;
	if (!sums->error && (!sum.count || sum.count > ALLOCATIONS_MOST))
		sums->error = -MT_E_CORRUPT;
	if (!sums->error)
		sums->error = add_row(sums, process, of, &sum);
	return sums->error;
}

int load_sums_finish(struct load_sums *sums)
{
	uint32_t i;

	for (i = 0; i < sums->processes && !sums->error; i++) {
		sums->error = settle_waiting(sums, sums->first + i, &sums->process[i]);
		if (!sums->error)
			sums->error = write_tables(sums, i);
	}
	return sums->error;
}

void load_sums_release(struct load_sums *sums)
{
	uint32_t i;

	for (i = 0; i < sums->processes; i++) {
		free(sums->process[i].instant);
		free(sums->process[i].waiting);
		free(sums->process[i].crossing.slot);
		free(sums->process[i].inside.slot);
	}
	free(sums->process);
	tuple_release(&sums->single);
}
