#include "diff.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/array.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "memtrace/phase.h"
#include "report/answer.h"
#include "report/finding.h"

#define FLOOR (1u << 20)       /* bytes: a smaller change does not count */
#define FACTOR_MIN (64u << 10) /* bytes: a smaller place may double by chance */
#define PARTS(column)                                                                                             \
	"SELECT number, part." #column ", part." #column ", sum(bytes), sum(count), NULL FROM peak_part AS part " \
	"JOIN device ON device.id = part.device GROUP BY number, part." #column

/* Columns: device number, key, label, bytes, allocations, phase. */
static const char *const questions[DIFF_COUNT] = {
	[DIFF_DEVICE] = "SELECT number, kind, iif(kind = 'cpu', 'CPU', 'GPU ' || number), bytes, 1, NULL FROM peak "
			"JOIN device ON device.id = device",
	[DIFF_PHASE_PEAK] =
		"SELECT number, phase, phase, bytes, 1, NULL FROM phase_peak JOIN device ON device.id = device",
	/* The peak of the step in which the recording ended is unknown. */
	[DIFF_STEP_PEAK] = "SELECT number, it.step, 'step ' || it.step, max(peak_bytes), 1, NULL FROM step_device AS it "
			   "JOIN device ON device.id = device JOIN step USING (process, step) GROUP BY number, it.step",
	[DIFF_PHASE] = PARTS(phase),
	[DIFF_CATEGORY] = PARTS(category),
	[DIFF_OWNER] = PARTS(owner),
	/* Layers are summed up: the runs can have different numbers of layers. */
	[DIFF_MODULE] =
		"SELECT number, ifnull(pattern, char(30)), ifnull(pattern, 'outside any module'), sum(bytes), sum(count), NULL "
		"FROM peak_module_site AS part JOIN device ON device.id = part.device LEFT JOIN submodule "
		"ON submodule.id = part.submodule WHERE EXISTS (SELECT 1 FROM submodule) GROUP BY number, 2",
	/*
	 * The file name is the part of a path after its last '/', found by trimming. Slack of the allocator has no place: it is not part of the
	 * tensors at the line that caused the segment.
	 */
	[DIFF_SITE] =
		"WITH named AS (SELECT node, function, place, replace(file, rtrim(file, replace(file, '/', '')), '') "
		"AS base FROM place) "
		"SELECT number, iif(part.category = 'allocator slack', char(30), ifnull(function || char(31) || base, '')) || "
		"char(31) || iif(part.category = 'allocator slack', '', part.phase), iif(part.category = 'allocator slack', "
		"'allocator slack', ifnull(max(iif(function = '', place, function || ' (' || place || ')')), "
		"'code without a stack')), sum(bytes), sum(count), "
		"iif(part.category = 'allocator slack', '', part.phase) FROM peak_part AS part JOIN site ON site.id = part.site "
		"JOIN device ON device.id = part.device LEFT JOIN named ON named.node = site.node GROUP BY number, 2",
};

/* ---- loading ---- */

struct loading {
	struct diff_table *table;
	int second;      /* 1: the rows are of the second run */
	int allocations; /* as in struct diff_row */
};

static int by_key(const void *a, const void *b)
{
	const struct diff_row *one = a, *two = b;

	if (one->device != two->device)
		return one->device < two->device ? -1 : 1;
	return strcmp(one->key, two->key);
}

static int add_row(void *context, struct db_stmt *stmt)
{
	struct loading *loading = context;
	struct diff_table *table = loading->table;
	struct diff_figure figure = { .in = 1,
				      .count = (uint64_t)db_int(stmt, 4),
				      .bytes = (uint64_t)finding_int(stmt, 3, 0, FINDING_BYTES_MAX) };
	struct diff_row *rows;
	int phase = mt_phase_parse(db_text(stmt, 5), strlen(db_text(stmt, 5)));

	if (MT_ARRAY_ROOM(table->row, table->count, table->room))
		return -MT_E_MEMORY;
	rows = &table->row[table->count++];
	*rows = (struct diff_row){ .device = db_int(stmt, 0),
				   .key = strdup(db_text(stmt, 1)),
				   .label = strdup(db_text(stmt, 2)),
				   .phase = phase < 0 ? NULL : mt_phase_name((uint32_t)phase),
				   .allocations = loading->allocations &&
						  strcmp(db_text(stmt, 2), mt_category_name(MT_CATEGORY_SLACK)) };
	*(loading->second ? &rows->b : &rows->a) = figure;
	return rows->key && rows->label ? 0 : -MT_E_MEMORY;
}

static void free_row(struct diff_row *row)
{
	free(row->key);
	free(row->label);
}

/* Joins the two runs' rows of one name; a run has each name once. The joined row has the second run's label. */
static void pair_up(struct diff_table *table)
{
	struct diff_row *row, *last;
	size_t i, count = 0;

	if (table->count)
		qsort(table->row, table->count, sizeof(*table->row), by_key);
	for (i = 0; i < table->count; i++) {
		row = &table->row[i];
		last = count ? &table->row[count - 1] : NULL;
		if (!last || by_key(last, row)) {
			table->row[count++] = *row;
			continue;
		}
		if (row->b.in) {
			row->a = last->a;
			free_row(last);
			*last = *row;
		} else {
			last->a = row->a;
			free_row(row);
		}
	}
	table->count = count;
}

/* Drops modules if only one run has recorded them. */
static void drop_one_sided(struct diff_table *table)
{
	int a = 0, b = 0;
	size_t i;

	for (i = 0; i < table->count; i++) {
		a |= table->row[i].a.in;
		b |= table->row[i].b.in;
	}
	for (i = 0; i < table->count && !(a && b); i++)
		free_row(&table->row[i]);
	table->count = a && b ? table->count : 0;
}

/* Drops steps that only one run has: the cost of a step is the same without them. */
static void drop_single(struct diff_table *table)
{
	size_t i, count = 0;

	for (i = 0; i < table->count; i++) {
		if (table->row[i].a.in && table->row[i].b.in)
			table->row[count++] = table->row[i];
		else
			free_row(&table->row[i]);
	}
	table->count = count;
}

static int by_change(const void *a, const void *b)
{
	const struct diff_row *one = a, *two = b;
	int64_t change_one = diff_change(one), change_two = diff_change(two);

	change_one = change_one < 0 ? -change_one : change_one;
	change_two = change_two < 0 ? -change_two : change_two;
	if (change_one != change_two)
		return change_one < change_two ? 1 : -1;
	return by_key(a, b);
}

static int load_table(struct diff *diff, enum diff_kind kind, struct db *a, struct db *b)
{
	struct loading loading = { .table = &diff->table[kind],
				   .allocations = kind == DIFF_CATEGORY || kind == DIFF_SITE };
	int error = db_rows(a, questions[kind], NULL, add_row, &loading);

	loading.second = 1;
	if (!error)
		error = db_rows(b, questions[kind], NULL, add_row, &loading);
	if (error)
		return error;
	pair_up(loading.table);
	if (kind == DIFF_STEP_PEAK)
		drop_single(loading.table);
	if (kind == DIFF_MODULE)
		drop_one_sided(loading.table);
	if (loading.table->count)
		qsort(loading.table->row, loading.table->count, sizeof(*loading.table->row), by_change);
	return 0;
}

static int count_row(void *context, struct db_stmt *row)
{
	uint64_t *counts = context;

	counts[0] = (uint64_t)db_int(row, 0);
	counts[1] = (uint64_t)db_int(row, 1);
	return 0;
}

/* Counts steps and micro-batches. A micro-batch begins with a forward that does not follow a forward. */
static int count_parts(struct db *db, uint64_t *steps, uint64_t *batches)
{
	uint64_t counts[2] = { 0 };
	int error =
		db_rows(db,
			"SELECT (SELECT max(steps) FROM process), (SELECT max(count) FROM (SELECT count(*) AS count FROM ("
			"SELECT process, step, phase, lag(phase) OVER (PARTITION BY process, step ORDER BY first_seq) AS "
			"before FROM phase_span WHERE phase IN ('forward', 'backward')) "
			"WHERE phase = 'forward' AND before IS NOT 'forward' GROUP BY process, step))",
			NULL, count_row, counts);

	*steps = counts[0];
	*batches = counts[1];
	return error;
}

int diff_load(struct diff *diff, struct db *a, struct db *b)
{
	uint64_t lost = 0;
	int kind, error;

	memset(diff, 0, sizeof(*diff));
	error = count_parts(a, &diff->a.steps, &diff->a.batches);
	if (!error)
		error = count_parts(b, &diff->b.steps, &diff->b.batches);
	if (!error)
		error = answer_say_lost(&diff->a.lost, a, &lost);
	if (!error)
		error = answer_say_lost(&diff->b.lost, b, &lost);
	for (kind = 0; kind < DIFF_COUNT && !error; kind++)
		error = load_table(diff, (enum diff_kind)kind, a, b);
	return error;
}

void diff_release(struct diff *diff)
{
	size_t i;
	int kind;

	for (kind = 0; kind < DIFF_COUNT; kind++) {
		for (i = 0; i < diff->table[kind].count; i++)
			free_row(&diff->table[kind].row[i]);
		free(diff->table[kind].row);
	}
	memset(diff, 0, sizeof(*diff));
}

/* ---- questions about a row ---- */

int64_t diff_change(const struct diff_row *row)
{
	return (int64_t)row->b.bytes - (int64_t)row->a.bytes;
}

int diff_differs(const struct diff_row *row, uint64_t permille)
{
	uint64_t larger = row->a.bytes > row->b.bytes ? row->a.bytes : row->b.bytes;
	int64_t change = diff_change(row);
	uint64_t by = (uint64_t)(change < 0 ? -change : change);

	return by > FLOOR && by > larger / 1000 * permille;
}

/* Whether `large` is twice `small`, up to a hundredth: allocators round sizes. */
static int is_twice(uint64_t small, uint64_t large)
{
	return small >= FACTOR_MIN && large > small &&
	       (large - small > small ? large - 2 * small : 2 * small - large) <= small / 50;
}

int diff_factor(const struct diff_row *row)
{
	if (!row->allocations || row->a.count != row->b.count || !row->a.in || !row->b.in)
		return 0;
	return is_twice(row->a.bytes, row->b.bytes) ? 2 : is_twice(row->b.bytes, row->a.bytes) ? -2 : 0;
}
