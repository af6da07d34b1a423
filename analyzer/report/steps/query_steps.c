#include "query_steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "report/answer.h"

#define LITTLE (64 << 10) /* bytes: less is no difference */

/* ---- rows ---- */

static int same_lane(const struct steps_lane *lane, int64_t process, int64_t device)
{
	return lane->process == process && lane->device == device;
}

static struct steps_lane *add_lane(struct steps *steps, const struct db_stmt *stmt)
{
	size_t room = steps->room ? steps->room * 2 : 4;
	struct steps_lane *lane;

	if (steps->count == steps->room) {
		lane = realloc(steps->lane, room * sizeof(*lane));
		if (!lane)
			return NULL;
		steps->lane = lane;
		steps->room = room;
	}
	lane = &steps->lane[steps->count++];
	memset(lane, 0, sizeof(*lane));
	lane->process = db_int(stmt, 0);
	lane->device = db_int(stmt, 1);
	lane->pid = db_int(stmt, 2);
	lane->rank = db_type(stmt, 3) == DB_NULL ? -1 : db_int(stmt, 3);
	lane->number = db_int(stmt, 4);
	mt_copy_text(lane->kind, sizeof(lane->kind), db_text(stmt, 5));
	mt_copy_text(lane->name, sizeof(lane->name), db_text(stmt, 6));
	lane->total = (uint64_t)db_int(stmt, 7);
	return lane;
}

static struct steps_row *add_row(struct steps_lane *lane)
{
	size_t room = lane->room ? lane->room * 2 : 8;
	struct steps_row *row;

	if (lane->count == lane->room) {
		row = realloc(lane->row, room * sizeof(*row));
		if (!row)
			return NULL;
		lane->row = row;
		lane->room = room;
	}
	row = &lane->row[lane->count++];
	memset(row, 0, sizeof(*row));
	return row;
}

static int take_row(void *context, struct db_stmt *stmt)
{
	struct steps *steps = context;
	struct steps_lane *lane = steps->count ? &steps->lane[steps->count - 1] : NULL;
	struct steps_row *row;

	if (!lane || !same_lane(lane, db_int(stmt, 0), db_int(stmt, 1)))
		lane = add_lane(steps, stmt);
	row = lane ? add_row(lane) : NULL;
	if (!row)
		return -MT_E_MEMORY;
	row->step = db_int(stmt, 8);
	row->ended = db_type(stmt, 10) != DB_NULL;
	row->begin = db_int(stmt, 9);
	row->end = row->ended ? db_int(stmt, 10) : db_int(stmt, 17);
	mt_copy_text(row->closed_by, sizeof(row->closed_by), db_text(stmt, 11));
	row->peak = (uint64_t)db_int(stmt, 12);
	row->peak_time = db_int(stmt, 13);
	mt_copy_text(row->own_phase, sizeof(row->own_phase), db_text(stmt, 14));
	row->held = (uint64_t)db_int(stmt, 15);
	row->slack = (uint64_t)db_int(stmt, 16);
	row->peak_tensors = (uint64_t)db_int(stmt, 18);
	row->peak_process = db_int(stmt, 19);
	row->peak_pid = db_int(stmt, 20);
	mt_copy_text(row->peak_phase, sizeof(row->peak_phase), db_text(stmt, 21));
	row->peak_rank = db_type(stmt, 22) == DB_NULL ? -1 : db_int(stmt, 22);
	lane->ended += row->ended != 0;
	return 0;
}

/* A step that did not end began when the one before ended. */
static const char rows_sql[] =
	"SELECT it.process, it.device, pid, rank, number, kind, device.name, total_bytes, it.step, "
	"ifnull(begin_time, (SELECT ifnull(max(end_time), first_time) FROM step WHERE step.process = it.process)), "
	"end_time, closed_by, peak_bytes, peak_time, peak_phase, held_bytes, slack_bytes, last_time, "
	"peak_tensor_bytes, peak_process, (SELECT pid FROM process AS actor WHERE actor.id = peak_process), "
	"CASE WHEN peak_process = it.process THEN peak_phase ELSE ifnull((SELECT phase FROM phase_span AS span "
	"WHERE span.process = peak_process AND first_seq <= peak_seq ORDER BY first_seq DESC LIMIT 1), 'other') END, "
	"(SELECT rank FROM process AS actor WHERE actor.id = peak_process) FROM step_device AS it JOIN process ON process.id = it.process JOIN device ON device.id = it.device "
	"LEFT JOIN step ON step.process = it.process AND step.step = it.step "
	"WHERE number IS NOT NULL AND EXISTS (SELECT 1 FROM peak WHERE peak.device = it.device AND bytes > 0) "
	"ORDER BY it.process, it.device, it.step";

/* ---- memory in use at the ends ---- */

static int category_number(const char *word)
{
	int i;

	for (i = 0; i < MT_CATEGORY_COUNT; i++)
		if (!strcmp(word, mt_category_name((uint32_t)i)))
			return i;
	return MT_CATEGORY_OTHER;
}

static struct steps_lane *find_lane(struct steps *steps, int64_t process, int64_t device)
{
	size_t i;

	for (i = 0; i < steps->count; i++)
		if (same_lane(&steps->lane[i], process, device))
			return &steps->lane[i];
	return NULL;
}

/* The first row of `step` or later. */
static size_t row_from(const struct steps_lane *lane, int64_t step)
{
	size_t low = 0, high = lane->count, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (lane->row[middle].step < step)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Sizes of a forged trace may go round; nothing else does. */
static int64_t sum(int64_t one, int64_t two)
{
	return (int64_t)((uint64_t)one + (uint64_t)two);
}

static int64_t difference(int64_t one, int64_t two)
{
	return (int64_t)((uint64_t)one - (uint64_t)two);
}

/* Bytes that come with a step and those that go are written down where they do, and added up later. */
static int take_bytes(void *context, struct db_stmt *stmt)
{
	struct steps_lane *lane = find_lane(context, db_int(stmt, 0), db_int(stmt, 1));
	int category = category_number(db_text(stmt, 2));
	size_t from, to;

	if (!lane)
		return 0;
	from = row_from(lane, db_int(stmt, 3));
	to = db_type(stmt, 4) == DB_NULL ? lane->count : row_from(lane, db_int(stmt, 4));
	if (from < lane->count) {
		lane->row[from].category[category] = sum(lane->row[from].category[category], db_int(stmt, 5));
		lane->row[from].asleep += (uint64_t)db_int(stmt, 6);
	}
	if (to < lane->count) {
		lane->row[to].category[category] = difference(lane->row[to].category[category], db_int(stmt, 5));
		lane->row[to].asleep -= (uint64_t)db_int(stmt, 6);
	}
	return 0;
}

/* The recording ended in this step before it had done anything. */
static int is_empty(const struct steps_row *row)
{
	return !row->ended && row->held == row[-1].held && row->in_use == row[-1].in_use && row->peak <= row[-1].peak;
}

/* As analysis_is_higher(). */
static int is_higher(const struct steps_row *one, const struct steps_row *two)
{
	return one->peak > two->peak || (one->peak == two->peak && one->peak_tensors > two->peak_tensors);
}

/* Memory that is held is in use or in reserve. */
static void add_up(struct steps_lane *lane)
{
	size_t i;
	int category;

	for (i = 0; i < lane->count; i++) {
		if (i)
			lane->row[i].asleep += lane->row[i - 1].asleep;
		for (category = 0; category < MT_CATEGORY_COUNT; category++) {
			if (i)
				lane->row[i].category[category] = sum(lane->row[i].category[category],
								      lane->row[i - 1].category[category]);
			lane->row[i].in_use += (uint64_t)lane->row[i].category[category];
		}
		lane->row[i].slack = lane->row[i].held > lane->row[i].in_use ? lane->row[i].held - lane->row[i].in_use
									     : 0;
		if (i && i + 1 == lane->count && is_empty(&lane->row[i])) {
			lane->count--;
			break;
		}
		if (!lane->highest || is_higher(&lane->row[i], lane->highest))
			lane->highest = &lane->row[i];
	}
}

static const char bytes_sql[] =
	"SELECT process, device, category, since_step, until_step, bytes, asleep_bytes FROM in_use_span";

int steps_grown_category(const struct steps_row *row)
{
	int64_t most = 0, grown;
	int category, found = -1;

	for (category = 0; category < MT_CATEGORY_COUNT; category++) {
		grown = difference(row->category[category], row[-1].category[category]);
		if (grown > most) {
			most = grown;
			found = category;
		}
	}
	return found;
}

/* ---- the first step ---- */

static int by_number(const void *a, const void *b)
{
	const uint64_t *one = a, *two = b;

	return (*one > *two) - (*one < *two);
}

static int is_off(uint64_t value, uint64_t usual)
{
	uint64_t gap = value > usual ? value - usual : usual - value;

	return gap >= LITTLE && gap >= usual / 20;
}

/* 0, 1, or -MT_E_MEMORY. */
static int first_is_atypical(const struct steps_lane *lane)
{
	size_t others = lane->ended - 1, i;
	uint64_t *value = calloc(others * 2, sizeof(*value));
	int off;

	if (!value)
		return -MT_E_MEMORY;
	for (i = 0; i < others; i++) {
		value[i] = lane->row[i + 1].peak;
		value[others + i] = lane->row[i + 1].in_use;
	}
	qsort(value, others, sizeof(*value), by_number);
	qsort(value + others, others, sizeof(*value), by_number);
	off = is_off(lane->row[0].peak, value[others / 2]) || is_off(lane->row[0].in_use, value[others + others / 2]);
	/* The first of steps that grow is off in any case. */
	if (lane->state == GROWTH_GROWING)
		off = is_off(lane->row[0].peak, lane->row[1].peak) || is_off(lane->row[0].in_use, lane->row[1].in_use);
	free(value);
	return off;
}

static int look_back(struct steps_lane *lane, const struct growth *growth)
{
	const struct growth_lane *grown = growth_lane(growth, lane->process, lane->device);
	int atypical;

	add_up(lane);
	if (grown) {
		lane->state = grown->state;
		lane->each = grown->each;
		lane->grown = grown->bytes;
	}
	if (lane->ended < 3)
		return 0;
	atypical = first_is_atypical(lane);
	lane->atypical = atypical > 0;
	return atypical < 0 ? atypical : 0;
}

int steps_load(struct steps *steps, struct db *db)
{
	size_t i;
	int error;

	memset(steps, 0, sizeof(*steps));
	error = answer_rows(db, rows_sql, NULL, take_row, steps);
	if (!error)
		error = answer_rows(db, bytes_sql, NULL, take_bytes, steps);
	if (!error)
		error = growth_load(&steps->growth, db);
	for (i = 0; i < steps->count && !error; i++)
		error = look_back(&steps->lane[i], &steps->growth);
	return error;
}

void steps_release(struct steps *steps)
{
	size_t i;

	for (i = 0; i < steps->count; i++)
		free(steps->lane[i].row);
	growth_release(&steps->growth);
	free(steps->lane);
	memset(steps, 0, sizeof(*steps));
}
