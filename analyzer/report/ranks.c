#include "ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "places.h"
#include "query/stack_tree.h"

const char *ranks_name(char out[RANKS_WORD_MAX], const struct rank *rank)
{
	if (rank->rank >= 0)
		snprintf(out, RANKS_WORD_MAX, "rank %lld", (long long)rank->rank);
	else
		snprintf(out, RANKS_WORD_MAX, "GPU %lld", (long long)rank->number);
	return out;
}

/* ---- GPUs ---- */

static void take_rank(struct rank *rank, const struct db_stmt *stmt)
{
	rank->device = db_int(stmt, 0);
	rank->number = db_int(stmt, 1);
	rank->rank = db_type(stmt, 2) == DB_NULL ? -1 : db_int(stmt, 2);
	rank->pid = db_int(stmt, 3);
	rank->bytes = (uint64_t)db_int(stmt, 4);
	rank->step = db_int(stmt, 5);
	mt_copy_text(rank->phase, sizeof(rank->phase), db_text(stmt, 6));
}

static int load_peaks(struct ranks *ranks, struct db *db)
{
	struct db_stmt *stmt = NULL;
	int64_t room = 0;
	int error = db_number(db, "SELECT count(*) FROM device JOIN peak ON peak.device = id WHERE kind = 'cuda'", NULL,
			      &room);
	int more = 0;

	ranks->rank = calloc((size_t)room + 1, sizeof(*ranks->rank));
	if (!error && !ranks->rank)
		error = -MT_E_MEMORY;
	if (!error)
		error = db_prepare(db, &stmt,
				   "SELECT device.id, number, rank, pid, peak.bytes, peak.step, peak.phase FROM device "
				   "JOIN peak ON peak.device = device.id JOIN process ON process.id = peak.process "
				   "WHERE kind = 'cuda' AND peak.bytes > 0 ORDER BY number");
	while (!error && ranks->count < room && (more = db_step(stmt)) == 1)
		take_rank(&ranks->rank[ranks->count++], stmt);
	db_finish(stmt);
	return error ? error : more < 0 ? more : 0;
}

/* ---- the largest places ---- */

static int load_place(struct rank *rank, struct db *db, struct stack_tree *tree)
{
	const struct callstack_frame *frame;
	const struct place *place;
	struct places places = { 0 };
	int error = places_load_frames(&places, db, rank->device, tree);

	place = !error && places.count ? &places.place[0] : NULL;
	if (place)
		rank->site_bytes = place->bytes;
	if (place && place->user != CALLSTACK_NO_FRAME) {
		frame = place->stack->frame[place->user];
		mt_copy_text(rank->function, sizeof(rank->function), frame->function);
		mt_copy_text(rank->file, sizeof(rank->file), *frame->file ? frame->file : frame->module);
		rank->line = frame->line;
	}
	places_release(&places);
	return error;
}

/* Loads the places of all ranks. Ranks run the same code: each frame is read once. */
static int load_places(struct ranks *ranks, struct db *db, struct symbols *symbols)
{
	struct stack_tree *tree = stack_tree_new(db, symbols);
	uint32_t i;
	int error = tree ? 0 : -MT_E_MEMORY;

	for (i = 0; i < ranks->count && !error; i++) {
		error = load_place(&ranks->rank[i], db, tree);
		stack_tree_trim(tree);
	}
	stack_tree_free(tree);
	return error;
}

static int same_place(const struct rank *a, const struct rank *b)
{
	return !strcmp(a->function, b->function) && !strcmp(text_base_name(a->file), text_base_name(b->file));
}

/* Sorts pointers into one array; equal places keep the array's order. */
static int by_place(const void *a, const void *b)
{
	const struct rank *one = *(const struct rank *const *)a, *two = *(const struct rank *const *)b;
	int order = strcmp(one->function, two->function);

	if (!order)
		order = strcmp(text_base_name(one->file), text_base_name(two->file));
	return order ? order : one < two ? -1 : one > two;
}

/* Finds the place that most GPUs share. The first GPU's place wins a tie. */
static int find_usual(struct ranks *ranks)
{
	const struct rank **order = calloc(ranks->count, sizeof(*order));
	uint32_t i, end, usual;

	if (!order)
		return -MT_E_MEMORY;
	for (i = 0; i < ranks->count; i++)
		order[i] = &ranks->rank[i];
	qsort(order, ranks->count, sizeof(*order), by_place);
	for (i = 0; i < ranks->count; i = end) {
		for (end = i + 1; end < ranks->count && same_place(order[i], order[end]);)
			end++;
		usual = (uint32_t)(order[i] - ranks->rank);
		if (end - i > ranks->usual_count || (end - i == ranks->usual_count && usual < ranks->usual)) {
			ranks->usual = usual;
			ranks->usual_count = end - i;
		}
	}
	free(order);
	for (i = 0; i < ranks->count; i++)
		ranks->rank[i].is_usual = same_place(&ranks->rank[i], &ranks->rank[ranks->usual]);
	return 0;
}

/* ---- least, median, most ---- */

static int by_size(const void *a, const void *b)
{
	const uint64_t *one = a, *two = b;

	return *one < *two ? -1 : *one > *two;
}

/* Finds the median; of an even number, the lower one of the two in the middle: a measured value. */
static int find_median(struct ranks *ranks)
{
	uint64_t *sizes = calloc(ranks->count, sizeof(*sizes));
	uint32_t i;

	if (!sizes)
		return -MT_E_MEMORY;
	for (i = 0; i < ranks->count; i++) {
		sizes[i] = ranks->rank[i].bytes;
		if (sizes[i] > ranks->rank[ranks->highest].bytes)
			ranks->highest = i;
		if (sizes[i] < ranks->rank[ranks->lowest].bytes)
			ranks->lowest = i;
	}
	qsort(sizes, ranks->count, sizeof(*sizes), by_size);
	ranks->median = sizes[(ranks->count - 1) / 2];
	free(sizes);
	return 0;
}

/* ---- phases ---- */

static const struct rank *rank_of(const struct ranks *ranks, int64_t device)
{
	uint32_t i = 0;

	while (i < ranks->count - 1 && ranks->rank[i].device != device)
		i++;
	return &ranks->rank[i];
}

static void take_phase(struct ranks *ranks, const struct db_stmt *stmt)
{
	struct rank_phase *phase = &ranks->phase[ranks->phases++];

	mt_copy_text(phase->phase, sizeof(phase->phase), db_text(stmt, 0));
	phase->ranks = (uint32_t)db_int(stmt, 1);
	phase->least = (uint64_t)db_int(stmt, 2);
	phase->median = (uint64_t)db_int(stmt, 3);
	phase->most = (uint64_t)db_int(stmt, 4);
	phase->highest = rank_of(ranks, db_int(stmt, 5));
}

static int load_phases(struct ranks *ranks, struct db *db)
{
	struct db_stmt *stmt = NULL;
	int64_t room = 0;
	int error = db_number(db, "SELECT count(DISTINCT phase) FROM phase_peak", NULL, &room), more = 0;

	ranks->phase = calloc((size_t)room + 1, sizeof(*ranks->phase));
	if (!error && !ranks->phase)
		error = -MT_E_MEMORY;
	if (!error)
		error = db_prepare(db, &stmt,
				   "WITH one AS (SELECT run.phase AS phase, run.bytes AS bytes, run.device AS device, "
				   "count(*) OVER (PARTITION BY run.phase) AS ranks, row_number() OVER "
				   "(PARTITION BY run.phase ORDER BY run.bytes, number DESC) AS place "
				   "FROM phase_peak AS run JOIN device ON device.id = run.device "
				   "JOIN peak ON peak.device = run.device WHERE kind = 'cuda' AND peak.bytes > 0) "
				   "SELECT phase, max(ranks), min(bytes), max(CASE WHEN place = (ranks + 1) / 2 THEN bytes END), "
				   "max(bytes), max(CASE WHEN place = ranks THEN device END) FROM one "
				   "GROUP BY phase HAVING max(bytes) > 0 ORDER BY max(bytes) DESC, phase");
	while (!error && ranks->phases < room && (more = db_step(stmt)) == 1)
		take_phase(ranks, stmt);
	db_finish(stmt);
	return error ? error : more < 0 ? more : 0;
}

int ranks_load(struct ranks *ranks, struct db *db, struct symbols *symbols)
{
	int error;

	memset(ranks, 0, sizeof(*ranks));
	error = load_peaks(ranks, db);
	if (error || ranks->count < 2)
		return error;
	error = load_places(ranks, db, symbols);
	if (error)
		return error;
	error = find_usual(ranks);
	if (!error)
		error = find_median(ranks);
	return error ? error : load_phases(ranks, db);
}

void ranks_release(struct ranks *ranks)
{
	free(ranks->rank);
	free(ranks->phase);
	memset(ranks, 0, sizeof(*ranks));
}
