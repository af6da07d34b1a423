#include "query_steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/array.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "report/answer.h"
#include "report/finding.h"

#define LITTLE (64 << 10) /* bytes: smaller changes do not count */

/* ---- rows ---- */

static int same_lane(const struct steps_lane *lane, int64_t process, int64_t device)
{
	return lane->process == process && lane->device == device;
}

static struct steps_lane *add_lane(struct steps *steps, const struct db_stmt *stmt)
{
	struct steps_lane *lane;

	if (MT_ARRAY_ROOM(steps->lane, steps->count, steps->room))
		return NULL;
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
	struct steps_row *row;

	if (MT_ARRAY_ROOM(lane->row, lane->count, lane->room))
		return NULL;
	row = &lane->row[lane->count++];
	memset(row, 0, sizeof(*row));
	return row;
}

/* The text of the newest row; most rows have that of the row before. NULL: out of memory. */
static char *closed_by(const struct steps_lane *lane, const char *text)
{
	char *before = lane->count > 1 ? lane->row[lane->count - 2].closed_by : NULL;

	return before && !strcmp(before, text) ? before : strdup(text);
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
	row->closed_by = closed_by(lane, db_text(stmt, 11));
	if (!row->closed_by)
		return -MT_E_MEMORY;
	row->step = row->first = db_int(stmt, 8);
	row->ended = db_type(stmt, 10) != DB_NULL;
	row->begin = db_int(stmt, 9);
	row->end = row->ended ? db_int(stmt, 10) : db_int(stmt, 17);
	row->peak = (uint64_t)db_int(stmt, 12);
	row->peak_time = db_int(stmt, 13);
	row->own_phase = mt_phase_name(finding_phase(db_text(stmt, 14)));
	row->held = (uint64_t)db_int(stmt, 15);
	row->slack = (uint64_t)db_int(stmt, 16);
	row->peak_tensors = (uint64_t)db_int(stmt, 18);
	row->peak_process = db_int(stmt, 19);
	row->peak_pid = db_int(stmt, 20);
	row->peak_phase = mt_phase_name(finding_phase(db_text(stmt, 21)));
	row->peak_rank = db_type(stmt, 22) == DB_NULL ? -1 : db_int(stmt, 22);
	row->failed = db_int(stmt, 23) != 0;
	lane->ended += row->ended != 0;
	return 0;
}

/* An unfinished step began when the step before ended. */
static const char rows_sql[] =
	"SELECT it.process, it.device, pid, rank, number, kind, device.name, total_bytes, it.step, "
	"ifnull(begin_time, (SELECT ifnull(max(end_time), first_time) FROM step WHERE step.process = it.process)), "
	"end_time, closed_by, peak_bytes, peak_time, peak_phase, held_bytes, slack_bytes, last_time, "
	"peak_tensor_bytes, peak_process, (SELECT pid FROM process AS actor WHERE actor.id = peak_process), "
	"CASE WHEN peak_process = it.process THEN peak_phase ELSE ifnull((SELECT phase FROM phase_span AS span "
	"WHERE span.process = peak_process AND first_seq <= peak_seq ORDER BY first_seq DESC LIMIT 1), 'other') END, "
	"(SELECT rank FROM process AS actor WHERE actor.id = peak_process), end_time IS NULL AND EXISTS (SELECT 1 FROM oom "
	"WHERE oom.process = it.process AND oom.device = it.device AND oom.step = it.step AND NOT had) "
	"FROM step_device AS it JOIN process ON process.id = it.process JOIN device ON device.id = it.device "
	"LEFT JOIN step ON step.process = it.process AND step.step = it.step "
	"WHERE number IS NOT NULL AND EXISTS (SELECT 1 FROM peak WHERE peak.device = it.device AND bytes > 0) "
	"ORDER BY it.process, it.device, it.step";

/* ---- memory in use at the ends ---- */

static int by_lane(const void *a, const void *b)
{
	const struct steps_lane *one = a, *two = b;

	if (one->process != two->process)
		return one->process < two->process ? -1 : 1;
	return (one->device > two->device) - (one->device < two->device);
}

/* Lanes are in the order of rows_sql. */
static struct steps_lane *find_lane(struct steps *steps, int64_t process, int64_t device)
{
	const struct steps_lane key = { .process = process, .device = device };

	return steps->count ? bsearch(&key, steps->lane, steps->count, sizeof(key), by_lane) : NULL;
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

/* Sums may wrap around in a forged trace only. */
static int64_t sum(int64_t one, int64_t two)
{
	return (int64_t)((uint64_t)one + (uint64_t)two);
}

static int64_t difference(int64_t one, int64_t two)
{
	return (int64_t)((uint64_t)one - (uint64_t)two);
}

/* Adds to row `at` of a lane's array, which is made with its first bytes. 0 or -MT_E_MEMORY. */
static int add_part(const struct steps_lane *lane, int64_t **part, size_t at, int64_t bytes)
{
	if (!*part)
		*part = calloc(lane->count, sizeof(**part));
	if (!*part)
		return -MT_E_MEMORY;
	(*part)[at] = sum((*part)[at], bytes);
	return 0;
}

static int add_bytes(struct steps_lane *lane, size_t at, const struct db_stmt *stmt, int sign)
{
	int64_t bytes = sign < 0 ? difference(0, db_int(stmt, 5)) : db_int(stmt, 5);
	int error = at < lane->count ? 0 : 1;

	if (!error)
		error = add_part(lane, &lane->category[mt_category_parse(db_text(stmt, 2))], at, bytes);
	if (!error)
		error = add_part(lane, &lane->phase[finding_phase(db_text(stmt, 7))], at, bytes);
	if (!error)
		lane->row[at].asleep += (uint64_t)(sign < 0 ? difference(0, db_int(stmt, 6)) : db_int(stmt, 6));
	return error < 0 ? error : 0;
}

/* Notes bytes at the steps where they come and go. They are added up later. */
static int take_bytes(void *context, struct db_stmt *stmt)
{
	struct steps_lane *lane = find_lane(context, db_int(stmt, 0), db_int(stmt, 1));
	size_t from, to;

	if (!lane)
		return 0;
	from = row_from(lane, db_int(stmt, 3));
	to = db_type(stmt, 4) == DB_NULL ? lane->count : row_from(lane, db_int(stmt, 4));
	return add_bytes(lane, from, stmt, 1) || add_bytes(lane, to, stmt, -1) ? -MT_E_MEMORY : 0;
}

/* As analysis_is_higher(). */
static int is_higher(const struct steps_row *one, const struct steps_row *two)
{
	return one->peak > two->peak || (one->peak == two->peak && one->peak_tensors > two->peak_tensors);
}

/* Whether the recording ended in this step before it did anything that a reader looks for. */
static int is_empty(const struct steps_row *row)
{
	return !row->ended && !row->failed && row->held == row[-1].held && row->in_use == row[-1].in_use &&
	       !is_higher(row, &row[-1]);
}

/* Sets the changes against another row; NULL: no row is before it. */
static void compare(struct steps_row *row, const struct steps_row *before)
{
	int64_t most = 0, grown;
	uint32_t category;

	row->change = before ? difference((int64_t)row->in_use, (int64_t)before->in_use) : COLUMN_NONE;
	row->grown = -1;
	for (category = 0; before && category < MT_CATEGORY_COUNT; category++) {
		grown = difference(steps_category(row, category), steps_category(before, category));
		if (grown > most) {
			most = grown;
			row->grown = (int8_t)category;
		}
	}
}

static void add_row_up(struct steps_row *row, const struct steps_row *before)
{
	uint32_t i;

	row->asleep += before ? before->asleep : 0;
	for (i = 0; i < MT_CATEGORY_COUNT; i++)
		row->in_use += (uint64_t)steps_category(row, i);
	/* Held memory is in use or in reserve. */
	row->slack = row->held > row->in_use ? row->held - row->in_use : 0;
	compare(row, before);
}

static void free_closed_by(const struct steps_lane *lane, size_t at)
{
	if (!at || lane->row[at].closed_by != lane->row[at - 1].closed_by)
		free(lane->row[at].closed_by);
}

static void drop_last(struct steps_lane *lane)
{
	free_closed_by(lane, --lane->count);
}

/* Differences become bytes. */
static void add_part_up(const struct steps_lane *lane, int64_t *part)
{
	size_t i;

	for (i = 1; part && i < lane->count; i++)
		part[i] = sum(part[i], part[i - 1]);
}

static void add_up(struct steps_lane *lane)
{
	size_t i;

	for (i = 0; i < MT_PHASE_COUNT; i++)
		add_part_up(lane, lane->phase[i]);
	for (i = 0; i < MT_CATEGORY_COUNT; i++)
		add_part_up(lane, lane->category[i]);
	for (i = 0; i < lane->count; i++) {
		lane->row[i].lane = lane;
		lane->row[i].at = (uint32_t)i;
		add_row_up(&lane->row[i], i ? &lane->row[i - 1] : NULL);
		if (i && i + 1 == lane->count && is_empty(&lane->row[i])) {
			drop_last(lane);
			break;
		}
		if (!lane->highest || is_higher(&lane->row[i], lane->highest))
			lane->highest = &lane->row[i];
	}
}

static const char bytes_sql[] =
	"SELECT process, device, category, since_step, until_step, bytes, asleep_bytes, phase FROM in_use_span";

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
	/* In a growing run the first step differs in any case. */
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

int steps_load(struct steps *steps, struct db *db, const struct growth *growth)
{
	size_t i;
	int error;

	memset(steps, 0, sizeof(*steps));
	error = db_rows(db, rows_sql, NULL, take_row, steps);
	if (!error)
		error = db_rows(db, bytes_sql, NULL, take_bytes, steps);
	for (i = 0; i < steps->count && !error; i++)
		error = look_back(&steps->lane[i], growth);
	return error;
}

static void release_lane(struct steps_lane *lane)
{
	size_t i;

	for (i = 0; i < lane->count; i++)
		free_closed_by(lane, i);
	for (i = 0; i < MT_PHASE_COUNT; i++)
		free(lane->phase[i]);
	for (i = 0; i < MT_CATEGORY_COUNT; i++)
		free(lane->category[i]);
	free(lane->row);
}

void steps_release(struct steps *steps)
{
	size_t i;

	for (i = 0; i < steps->count; i++)
		release_lane(&steps->lane[i]);
	free(steps->lane);
	memset(steps, 0, sizeof(*steps));
}

/* ---- fewer rows ---- */

/* Joins the rows from `from` to `to`. */
static struct steps_row join_rows(const struct steps_row *from, const struct steps_row *to)
{
	const struct steps_row *highest = from, *row;
	struct steps_row joined = *to;

	for (row = from; row <= to; row++)
		highest = is_higher(row, highest) ? row : highest;
	joined.first = from->step;
	joined.begin = from->begin;
	joined.peak = highest->peak;
	joined.peak_tensors = highest->peak_tensors;
	joined.peak_time = highest->peak_time;
	joined.peak_process = highest->peak_process;
	joined.peak_pid = highest->peak_pid;
	joined.peak_rank = highest->peak_rank;
	joined.peak_phase = highest->peak_phase;
	joined.own_phase = highest->own_phase;
	return joined;
}

struct steps_row *steps_thin(const struct steps_lane *lane, size_t most, size_t *rows)
{
	size_t each = lane->count > most ? (lane->count - 2 + most - 3) / (most - 2) : 1, at, to;
	struct steps_row *thin = calloc((lane->count < most ? lane->count : most) + 1, sizeof(*thin));

	*rows = 0;
	for (at = 0; thin && at < lane->count; at = to) {
		to = at && at + 1 < lane->count ? at + each : at + 1;
		to = at && at + 1 < lane->count && to >= lane->count ? lane->count - 1 : to;
		thin[*rows] = join_rows(&lane->row[at], &lane->row[to - 1]);
		compare(&thin[*rows], at ? &lane->row[at - 1] : NULL);
		++*rows;
	}
	return thin;
}

/* ---- columns ---- */

static void list_parts(struct doc *doc, const char *key, const char *what, const struct steps_row *row, uint32_t count,
		       int64_t (*bytes)(const struct steps_row *row, uint32_t number),
		       const char *(*name)(uint32_t number))
{
	uint32_t i;

	doc_array(doc, key);
	for (i = 0; i < count; i++) {
		if (!bytes(row, i))
			continue;
		doc_object(doc, NULL);
		doc_string(doc, what, name(i));
		doc_int(doc, "bytes", bytes(row, i));
		doc_end(doc);
	}
	doc_end(doc);
}

static void list_categories(struct doc *doc, const char *key, const void *row)
{
	list_parts(doc, key, "category", row, MT_CATEGORY_COUNT, steps_category, mt_category_name);
}

static void list_phases(struct doc *doc, const char *key, const void *row)
{
	list_parts(doc, key, "phase", row, MT_PHASE_COUNT, steps_phase, mt_phase_name);
}

/* "12 ", "14-26 "; "13*" for an unfinished step. */
static const char *step_words(char store[COLUMN_STORE], const struct steps_row *row)
{
	if (row->first != row->step)
		snprintf(store, COLUMN_STORE, "%lld-%lld%s", (long long)row->first, (long long)row->step,
			 row->ended ? " " : "*");
	else
		snprintf(store, COLUMN_STORE, "%lld%s", (long long)row->step, row->ended ? " " : "*");
	return store;
}

#define STEPS_COLUMNS(X, T)                                                                             \
	X(T, steps, FIGURE, "step ", step_words(value->store, it), "number of the step; * did not end") \
	X(T, step, NUMBER, NULL, it->step, "number of the step")                                        \
	X(T, ended, FLAG, NULL, it->ended, "false: the recording ended in it")                          \
	X(T, closed_by, WORD, NULL, it->closed_by, "function or mark that ended it")                    \
	X(T, begin_ns, MOMENT, NULL, it->begin, "its begin")                                            \
	X(T, end_ns, MOMENT, NULL, it->end, "its end")                                                  \
	X(T, time_ns, DURATION, "time", it->end - it->begin, "its length")                              \
	X(T, peak_bytes, BYTES, "peak", it->peak, "most that the device held in it, all processes")     \
	X(T, peak_ns, MOMENT, NULL, it->peak_time, "moment of the peak")                                \
	X(T, peak_phase, PHASE, "in", it->peak_phase, "phase of the peak, of the process that made it") \
	X(T, peak_pid, PID, NULL, it->peak_pid, "that process")                                         \
	X(T, peak_rank, NUMBER, NULL, COLUMN_IF(it->peak_rank >= 0, it->peak_rank), "its rank")         \
	X(T, own_phase, WORD, NULL, it->own_phase, "phase of the process of this row meanwhile")        \
	X(T, held_bytes, BYTES, NULL, it->held, "held by the process at its end")                       \
	X(T, slack_bytes, BYTES, NULL, it->slack, "held and not in use at its end")                     \
	X(T, in_use_bytes, BYTES, "at end", it->in_use, "in use by the process at its end")             \
	X(T, asleep_bytes, BYTES, NULL, it->asleep, "allocated in a pool that sleeps at its end")       \
	X(T, change_bytes, CHANGE, "change", COLUMN_IF(it->change != COLUMN_NONE, it->change),          \
	  "in use more than at the end before")                                                         \
	X(T, most_grown, LABEL, "mostly", it->grown < 0 ? "" : mt_category_name((uint32_t)it->grown),   \
	  "category that has most of the change")                                                       \
	X(T, in_use_by_category, LIST, NULL, list_categories, "in use at its end, by category")         \
	X(T, in_use_by_phase, LIST, NULL, list_phases, "in use at its end, by the phase that allocated it")

COLUMN_TABLE(steps, struct steps_row, STEPS_COLUMNS)

static const char *lane_process(char store[COLUMN_STORE], const struct steps_lane *lane)
{
	char word[TEXT_SIZE_MAX];

	snprintf(store, COLUMN_STORE, "%s", answer_process(word, lane->rank, lane->pid));
	return store;
}

static const char *lane_device(char store[COLUMN_STORE], const struct steps_lane *lane)
{
	char word[TEXT_SIZE_MAX];

	snprintf(store, COLUMN_STORE, "%s", answer_device(word, lane->number, lane->kind));
	return store;
}

#define STEPS_LANE_COLUMNS(X, T)                                                                                 \
	X(T, process, LABEL, "process", lane_process(value->store, it), "rank or pid")                           \
	X(T, on, LABEL, "on", lane_device(value->store, it), "device")                                           \
	X(T, pid, PID, NULL, it->pid, "the process")                                                             \
	X(T, rank, NUMBER, NULL, COLUMN_IF(it->rank >= 0, it->rank), "its rank")                                 \
	X(T, device, NUMBER, NULL, it->number, "number of the device")                                           \
	X(T, kind, WORD, NULL, it->kind, "cuda or cpu")                                                          \
	X(T, ended, NUMBER, "steps", it->ended, "steps that ended")                                              \
	X(T, last_end_bytes, BYTES, "at last end", it->ended ? it->row[it->ended - 1].in_use : 0, "in use then") \
	X(T, state, WORD, NULL, growth_state_word(it->state), "unknown, steady or growing")                      \
	X(T, growth_bytes_per_step, CHANGE, "kept a step", COLUMN_IF(it->state != GROWTH_UNKNOWN, it->each),     \
	  "kept of each step")                                                                                   \
	X(T, growth_bytes, BYTES, NULL, COLUMN_IF(it->state != GROWTH_UNKNOWN, it->grown), "kept so far")        \
	X(T, first_step_atypical, FLAG, NULL, it->atypical, "leave the first step out when comparing")

COLUMN_TABLE(steps_lane, struct steps_lane, STEPS_LANE_COLUMNS)
