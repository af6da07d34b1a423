/* Other processes on the device, and who asked. */
#include "oom_neighbour.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "label/owner.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "query/alive.h"
#include "query/callstack.h"
#include "report/answer.h"

#define LITTLE (16u << 20) /* bytes: less a step is no growth */
#define UNSEEN_SHARE 8     /* of the device: what contexts, code and drivers take is less than one part in so many */

/* ---- which library asked ---- */

static int find_asker(struct oom *oom, struct db *db)
{
	struct callstack stack = { .count = 0 };
	char owner[OWNER_NAME_MAX] = "";
	size_t i;
	int error;

	if (strcmp(oom->it->source, "driver"))
		return 0;
	error = callstack_load(&stack, db, oom->it->node, NULL);
	for (i = 0; i < stack.count && !*owner && !error; i++)
		if (!stack.frame[i]->native || !owner_of_path(owner, stack.frame[i]->module))
			*owner = '\0';
	if (!error && strcmp(owner, OWNER_PYTORCH))
		mt_copy_text(oom->asked_by, sizeof(oom->asked_by), owner);
	callstack_release(&stack);
	return error;
}

/* ---- what stays ---- */

/* Places in the order of all events: ends of steps, and last the failure itself. */
struct instant {
	int64_t time, process, seq;
	int64_t bytes; /* that come there; added up: that are there */
};

struct instants {
	struct instant *at;
	size_t count, room;
};

static int add_instant(struct instants *all, int64_t time, int64_t process, int64_t seq)
{
	size_t room = all->room ? all->room * 2 : 16;
	struct instant *grown;

	if (all->count == all->room) {
		grown = realloc(all->at, room * sizeof(*grown));
		if (!grown)
			return -MT_E_MEMORY;
		all->at = grown;
		all->room = room;
	}
	all->at[all->count++] = (struct instant){ .time = time, .process = process, .seq = seq };
	return 0;
}

static int take_end(void *context, struct db_stmt *stmt)
{
	return add_instant(context, db_int(stmt, 0), db_int(stmt, 1), db_int(stmt, 2));
}

static int compare(const struct instant *one, const struct instant *two)
{
	if (one->time != two->time)
		return one->time < two->time ? -1 : 1;
	if (one->process != two->process)
		return one->process < two->process ? -1 : 1;
	return one->seq < two->seq ? -1 : one->seq > two->seq;
}

/* The first instant that is not before it; `count`: all are. */
static size_t first_from(const struct instants *all, const struct instant *event)
{
	size_t low = 0, high = all->count, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (compare(&all->at[middle], event) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* An allocation: its bytes come at the first instant after its birth, and go at the first after its death. */
static int take_life(void *context, struct db_stmt *stmt)
{
	struct instants *all = context;
	struct instant birth = { .time = db_int(stmt, 1), .process = db_int(stmt, 0), .seq = db_int(stmt, 2) };
	struct instant death = { .time = db_int(stmt, 3), .process = db_int(stmt, 0), .seq = db_int(stmt, 4) };
	int64_t bytes = db_int(stmt, 5);
	size_t from = first_from(all, &birth);
	size_t to = db_type(stmt, 4) == DB_NULL ? all->count : first_from(all, &death);

	if (from >= to)
		return 0;
	all->at[from].bytes = (int64_t)((uint64_t)all->at[from].bytes + (uint64_t)bytes);
	if (to < all->count)
		all->at[to].bytes = (int64_t)((uint64_t)all->at[to].bytes - (uint64_t)bytes);
	return 0;
}

/* Rises from each instant to the next, from number `first` on, and has not gone back since the last step. */
static int rises(const struct instants *all, size_t first)
{
	size_t i;

	if (all->count < first + 3) /* two ends of steps, and the failure */
		return 0;
	for (i = first + 1; i + 1 < all->count; i++)
		if (all->at[i].bytes < all->at[i - 1].bytes + LITTLE)
			return 0;
	return all->at[i].bytes >= all->at[i - 1].bytes;
}

static int by_size(const void *a, const void *b)
{
	int64_t one = *(const int64_t *)a, two = *(const int64_t *)b;

	return (one > two) - (one < two);
}

/* The median of the rises from one end to the next: an optimizer's first states, or ends that fell into its work, are no growth. */
static uint64_t rise_of(const struct instants *all, size_t first, size_t last)
{
	int64_t *rise = calloc(last - first, sizeof(*rise)), middle;
	size_t i;

	if (!rise) /* the mean does */
		return (uint64_t)(all->at[last].bytes - all->at[first].bytes) / (last - first);
	for (i = first; i < last; i++)
		rise[i - first] = all->at[i + 1].bytes - all->at[i].bytes;
	qsort(rise, last - first, sizeof(*rise), by_size);
	middle = rise[(last - first - 1) / 2];
	free(rise);
	return middle > 0 ? (uint64_t)middle : 0;
}

/* `steps`: they are ends of steps, and no moments in the course of anything. */
static void judge(struct oom_holder *holder, const struct instants *all, int steps)
{
	size_t first = 0, last = all->count - 2, i;
	uint64_t grown;

	for (i = 1; i < all->count; i++)
		all->at[i].bytes = (int64_t)((uint64_t)all->at[i].bytes + (uint64_t)all->at[i - 1].bytes);
	holder->staying = all->at[all->count - 1].bytes > 0 ? (uint64_t)all->at[all->count - 1].bytes : 0;
	if (!rises(all, first)) /* the first step sets things up */
		first++;
	if (!rises(all, first))
		return;
	grown = (uint64_t)(all->at[last].bytes - all->at[first].bytes);
	holder->each = rise_of(all, first, last);
	holder->grown = steps && holder->each * (last - first) < grown ? holder->each * (last - first) : grown;
}

/* At the ends of the steps of `steps_of`. */
static int look_at(const struct oom *oom, struct db *db, struct oom_holder *holder, int64_t steps_of)
{
	static const char ends_sql[] = "SELECT end_time, process, end_seq FROM step WHERE process = ?1 AND "
				       "(end_time, process, end_seq) <= (?2, ?3, ?4) ORDER BY 1, 3";
	/* Of a pool that sleeps nothing counts: it is there or not as the moment wants it. */
	static const char lives_sql[] =
		"SELECT process, since_time, since_seq, until_time, until_seq, bytes FROM in_use_span "
		"WHERE process = ?1 AND device = ?2 AND id NOT IN (SELECT allocation FROM resident_span)";
	const int64_t until[ANSWER_PARAMETERS] = { steps_of, oom->it->time, oom->it->process, oom->it->seq };
	const int64_t whose[ANSWER_PARAMETERS] = { holder->process, oom->it->device };
	struct instants all = { .count = 0 };
	int error = answer_rows(db, ends_sql, until, take_end, &all);

	if (!error)
		error = add_instant(&all, oom->it->time, oom->it->process, oom->it->seq);
	if (!error)
		error = answer_rows(db, lives_sql, whose, take_life, &all);
	if (!error)
		judge(holder, &all, 1);
	free(all.at);
	return error;
}

/* ---- where no step ends ---- */

#define SLICES 8        /* of the time that the process is at work */
#define PIECES_LEAST 16 /* fewer are things that it has, and no growth */

/* Of no phase that anything on the stack says: a process is in init until something else is seen. */
#define UNDECIDED "(SELECT id FROM site WHERE decided_by = '' AND phase IN ('init', 'other'))"

struct work {
	int64_t first; /* time, ns */
	int64_t pieces;
};

static int take_work(void *context, struct db_stmt *stmt)
{
	struct work *work = context;

	work->first = db_int(stmt, 0);
	work->pieces = db_int(stmt, 1);
	return 0;
}

/*
 * A process that has no phases beside one that has no steps, such as the tokenizer of a server, which keeps pictures on the GPU:
 * it grows if it holds more at each of several moments. What a model is loaded by does not count, nor what a forward or a
 * backward holds, which rises and falls.
 */
static int look_at_time(const struct oom *oom, struct db *db, struct oom_holder *holder)
{
	static const char work_sql[] =
		"SELECT min(alloc_time), count(*) FILTER (WHERE free_seq IS NULL OR free_time > ?3) FROM allocation "
		"WHERE process = ?1 AND device = ?2 AND memory = 'tensor' AND alloc_time <= ?3 AND site IN " UNDECIDED;
	static const char lives_sql[] =
		"SELECT process, since_time, since_seq, until_time, until_seq, bytes FROM in_use_span WHERE process = ?1 AND device = ?2 "
		"AND id NOT IN (SELECT allocation FROM resident_span) AND site IN " UNDECIDED;
	const int64_t parameter[ANSWER_PARAMETERS] = { holder->process, oom->it->device, oom->it->time };
	struct work work = { .pieces = 0 };
	struct oom_holder other = { .held = 0 };
	struct instants all = { .count = 0 };
	int error = answer_rows(db, work_sql, parameter, take_work, &work), i;

	if (error || work.pieces < PIECES_LEAST || work.first >= oom->it->time)
		return error;
	for (i = 1; i < SLICES && !error; i++)
		error = add_instant(&all, work.first + (oom->it->time - work.first) / SLICES * i, 0, 0);
	if (!error)
		error = add_instant(&all, oom->it->time, oom->it->process, oom->it->seq);
	if (!error)
		error = answer_rows(db, lives_sql, parameter, take_life, &all);
	if (!error)
		judge(&other, &all, 0);
	free(all.at);
	holder->grown = other.grown;
	return error;
}

static int has_steps(struct db *db, int64_t one, int64_t other)
{
	static const char sql[] = "SELECT EXISTS (SELECT 1 FROM step WHERE process IN (?1, ?2))";
	const int64_t parameter[ANSWER_PARAMETERS] = { one, other };
	int steps = 0, error = answer_flag(db, sql, parameter, &steps);

	return error ? error : steps;
}

static int look_without_steps(const struct oom *oom, struct db *db, struct oom_holder *holder)
{
	int steps = has_steps(db, oom->it->process, holder->process);

	return steps ? (steps < 0 ? steps : 0) : look_at_time(oom, db, holder);
}

/*
 * What grows comes with each step. What came back once, because somebody did not take it away again, has another cause: what
 * is there since the first step was made in one stretch between two ends of steps.
 */
static int comes_again(const struct oom *oom, struct db *db, const struct oom_holder *holder)
{
	static const char sql[] =
		"SELECT count(DISTINCT (SELECT count(*) FROM step WHERE end_time <= since_time)) > 1 FROM in_use_span WHERE process = ?1 "
		"AND device = ?2 AND bytes >= 1 << 20 AND id NOT IN (SELECT allocation FROM resident_span) "
		"AND since_time > (SELECT ifnull(min(end_time), 0) FROM step) AND " ALIVE_SPAN_AT("?3", "?4", "?5");
	const int64_t parameter[ANSWER_PARAMETERS] = { holder->process, oom->it->device, oom->it->time,
						       oom->it->process, oom->it->seq };
	int again = 0, error = answer_flag(db, sql, parameter, &again);

	return error ? error : again;
}

/* ---- who has nothing but a context ---- */

static int take_idlers(void *context, struct db_stmt *stmt)
{
	struct oom_idlers *idlers = context;

	*idlers = (struct oom_idlers){ .count = (uint64_t)db_int(stmt, 0),
				       .bytes = (uint64_t)db_int(stmt, 1),
				       .pid = db_int(stmt, 2) };
	return 0;
}

/* Workers of data loaders that touch CUDA, ranks that took the first GPU: each process by its newest sample, as its own collector saw it. */
static int find_idlers(struct oom *oom, struct db *db)
{
	static const char sql[] =
		"SELECT count(*), sum(bytes), min(pid) FROM (SELECT process, max(time), ifnull(process_bytes, 0) AS bytes FROM gpu_sample "
		"WHERE device = ?1 AND time <= ?2 GROUP BY process) AS newest JOIN process ON process.id = newest.process "
		"WHERE process.id <> ?3 AND NOT EXISTS (SELECT 1 FROM site WHERE site.process = process.id AND site.device = ?1) "
		"AND process.last_time >= ?2";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->device, oom->it->time, oom->it->process };

	return answer_rows(db, sql, parameter, take_idlers, &oom->idlers);
}

static int take_crowd(void *context, struct db_stmt *stmt)
{
	*(struct oom_crowd *)context = (struct oom_crowd){ (uint64_t)db_int(stmt, 0), (uint64_t)db_int(stmt, 1) };
	return 0;
}

/* Trials or workers that share a GPU: each has a context, beside tensors that may be less. */
static int find_crowd(struct oom *oom, struct db *db)
{
	static const char sql[] =
		"SELECT count(*), sum(bytes) FROM (SELECT process, max(time), ifnull(context_bytes, 0) + ifnull(code_bytes, 0) AS bytes "
		"FROM gpu_sample WHERE device = ?1 AND time <= ?2 GROUP BY process) AS newest JOIN process ON process.id = newest.process "
		"WHERE bytes > 0 AND process.last_time >= ?2";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->device, oom->it->time };

	return answer_rows(db, sql, parameter, take_crowd, &oom->crowd);
}

int oom_look_around(struct oom *oom, struct db *db)
{
	int error = find_asker(oom, db), again;
	size_t i;

	for (i = 0; i < oom->holders && !error; i++) {
		if (oom->holder[i].process == oom->it->process)
			continue;
		error = look_at(oom, db, &oom->holder[i], oom->it->process);
		if (!error && !oom->holder[i].grown)
			error = look_at(oom, db, &oom->holder[i], oom->holder[i].process);
		if (!error && oom->holder[i].grown) {
			again = comes_again(oom, db, &oom->holder[i]);
			error = again < 0 ? again : 0;
			oom->holder[i].grown = again ? oom->holder[i].grown : 0;
		}
		if (!error && !oom->holder[i].grown)
			error = look_without_steps(oom, db, &oom->holder[i]);
	}
	if (!error)
		error = find_crowd(oom, db);
	return error ? error : find_idlers(oom, db);
}

/* ---- where ---- */

static int take_place(void *context, struct db_stmt *stmt)
{
	struct oom_growth *growth = context;

	growth->there = (uint64_t)db_int(stmt, 2);
	mt_copy_text(growth->function, sizeof(growth->function), db_text(stmt, 0));
	mt_copy_text(growth->place, sizeof(growth->place), db_text(stmt, 1));
	return 0;
}

/*
 * Of what is there when it failed, that which came since the first step that ended in the run; where none did, since init. The place
 * of which most has outlived an end of a step: what the last one works with is no growth.
 */
int oom_find_grown_place(struct oom *oom, struct db *db, const struct oom_holder *holder)
{
	static const char sql[] =
		"SELECT function, place, sum(bytes) FROM in_use_span LEFT JOIN place USING (node) "
		"WHERE process = ?1 AND device = ?2 AND id NOT IN (SELECT allocation FROM resident_span) "
		"AND since_time > (SELECT ifnull(min(end_time), 0) FROM step) "
		"AND (EXISTS (SELECT 1 FROM step) OR site IN " UNDECIDED ") AND " ALIVE_SPAN_AT(
			"?3", "?4",
			"?5") " GROUP BY function, file, place ORDER BY "
			      "sum(bytes) FILTER (WHERE since_time <= (SELECT end_time FROM step WHERE end_time <= ?3 "
			      "ORDER BY end_time DESC LIMIT 1 OFFSET 1)) DESC, 3 DESC, 2 LIMIT 1";
	const int64_t parameter[ANSWER_PARAMETERS] = { holder->process, oom->it->device, oom->it->time,
						       oom->it->process, oom->it->seq };

	return answer_rows(db, sql, parameter, take_place, &oom->growth);
}

/* ---- whether it works ---- */

int oom_is_at_work(const struct oom *oom, struct db *db, int64_t process)
{
	static const char sql[] = "SELECT EXISTS (SELECT 1 FROM phase_span WHERE process = ?1 AND first_time <= ?2 AND "
				  "last_time >= ?2 AND phase IN ('forward', 'backward', 'optimizer'))";
	const int64_t parameter[ANSWER_PARAMETERS] = { process, oom->it->time };
	int at_work = 0, error = answer_flag(db, sql, parameter, &at_work);

	return error ? error : at_work;
}

/* ---- when it woke up before ---- */

struct wake {
	int64_t time, seq; /* 0: it never did */
};

static int take_wake(void *context, struct db_stmt *stmt)
{
	*(struct wake *)context = (struct wake){ db_int(stmt, 0), db_int(stmt, 1) };
	return 0;
}

/* Of what is asleep now, and at least as much as was asked for. */
static int find_wake(const struct oom *oom, struct db *db, struct wake *wake)
{
	static const char sql[] =
		"SELECT ifnull(max(since_time), 0), ifnull(since_seq, 0) FROM resident_span WHERE bytes > 0 AND since_seq < ?3 "
		"AND allocation IN (SELECT allocation FROM resident_span JOIN allocation ON allocation.id = resident_span.allocation "
		"WHERE process = ?1 AND device = ?2 AND resident_span.bytes = 0 AND allocation.bytes >= ?4 AND since_seq <= ?3 "
		"AND (until_seq IS NULL OR until_seq > ?3)) "
		"AND EXISTS (SELECT 1 FROM resident_span AS slept WHERE slept.allocation = resident_span.allocation AND slept.bytes = 0 "
		"AND slept.since_seq < resident_span.since_seq)";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->process, oom->it->device, oom->it->seq,
						       (int64_t)oom->it->requested };

	return answer_rows(db, sql, parameter, take_wake, wake);
}

/* What a process had in use when this one was at `time` and `seq`. */
static int had(const struct oom *oom, struct db *db, int64_t process, struct wake when, uint64_t *bytes)
{
	static const char sql[] = "SELECT ifnull(sum(bytes), 0) FROM in_use_span WHERE process = ?1 AND device = ?2 "
				  "AND " ALIVE_SPAN_AT("?3", "?4", "?5");
	const int64_t parameter[ANSWER_PARAMETERS] = { process, oom->it->device, when.time, oom->it->process,
						       when.seq };

	return answer_bytes(db, sql, parameter, bytes);
}

static int take_between(void *context, struct db_stmt *stmt)
{
	struct oom_before *before = context;
	const char *file = db_text(stmt, 1), *slash = strrchr(file, '/');

	mt_copy_text(before->function, sizeof(before->function), db_text(stmt, 0));
	snprintf(before->place, sizeof(before->place), "%.200s:%lld", slash ? slash + 1 : file,
		 (long long)db_int(stmt, 2));
	return 0;
}

/*
 * What a training does now and then, between its steps, and what moves the model and its optimizer, or keeps them: a checkpoint, a
 * validation. The outermost such function that was on a stack since then, and on none before.
 */
static int find_between(struct oom *oom, struct db *db, struct wake wake)
{
	static const char sql[] =
		"WITH RECURSIVE seen(node, late) AS MATERIALIZED (SELECT node, max(alloc_time > ?2) FROM allocation "
		"WHERE process = ?1 AND alloc_time <= ?3 AND node IS NOT NULL GROUP BY node UNION SELECT free_node, "
		"max(free_time > ?2) FROM allocation WHERE process = ?1 AND free_time <= ?3 AND free_node IS NOT NULL "
		"GROUP BY free_node), up(id, late, depth) AS (SELECT node, late, 0 FROM seen UNION SELECT parent, late, depth + 1 "
		"FROM up JOIN stack_node USING (id) WHERE parent IS NOT NULL), "
		"rare AS (SELECT function, file, line, late, depth FROM up JOIN stack_node USING (id) JOIN frame ON frame.id = stack_node.frame "
		"WHERE kind = 'python' AND (function GLOB '*save_c[hk]*' OR function GLOB '*save_model*' OR "
		"function GLOB '*save_pretrained*' OR function GLOB '*save_hf*' OR function GLOB '*async_save*' OR "
		"function GLOB '*validat*' OR function GLOB '*evaluat*')) "
		"SELECT function, file, line FROM rare AS now WHERE late "
		"AND NOT EXISTS (SELECT 1 FROM rare WHERE rare.function = now.function AND NOT rare.late) "
		"ORDER BY depth DESC LIMIT 1";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->before.process, wake.time, oom->it->time };

	return answer_rows(db, sql, parameter, take_between, &oom->before);
}

static int take_category(void *context, struct db_stmt *stmt)
{
	struct oom_before *before = context;

	mt_copy_text(before->category, sizeof(before->category), db_text(stmt, 0));
	before->category_bytes = (uint64_t)db_int(stmt, 1);
	return 0;
}

/* Of what came since then, and is there. */
static int find_category(struct oom *oom, struct db *db)
{
	static const char sql[] =
		"SELECT category, sum(bytes) FROM in_use_span WHERE process = ?1 AND device = ?2 AND since_time > ?5 "
		"AND " ALIVE_SPAN_AT("?3", "?1", "?4") " GROUP BY category ORDER BY 2 DESC, 1 LIMIT 1";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->before.process, oom->it->device, oom->it->time, INT64_MAX,
						       oom->before.time };

	return answer_rows(db, sql, parameter, take_category, &oom->before);
}

/* Before its first step a trainer has no states yet. */
static int find_trained(struct oom *oom, struct db *db)
{
	static const char sql[] =
		"SELECT EXISTS (SELECT 1 FROM phase_span WHERE process = ?1 AND phase = 'optimizer' AND last_time < ?2)";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->before.process, oom->before.time };

	return answer_flag(db, sql, parameter, &oom->before.trained);
}

/* How much more it has than it had when this one woke up; a process that had nothing had not begun. 0: not as much as is missing. */
static int look_back(const struct oom *oom, struct db *db, const struct oom_holder *holder, struct wake wake,
		     uint64_t *more)
{
	const struct wake now = { oom->it->time, oom->it->seq };
	uint64_t then = 0, has = 0;
	int error = had(oom, db, holder->process, wake, &then);

	if (!error)
		error = had(oom, db, holder->process, now, &has);
	*more = then && has > then && has - then >= oom_missing(oom->it) ? has - then : 0;
	return error;
}

int oom_find_before(struct oom *oom, struct db *db)
{
	struct wake wake = { 0 };
	uint64_t more;
	size_t i;
	int error = *oom->waking ? find_wake(oom, db, &wake) : 0;

	for (i = 0; i < oom->holders && wake.time && !error; i++) {
		if (oom->holder[i].process == oom->it->process)
			continue;
		error = look_back(oom, db, &oom->holder[i], wake, &more);
		if (!error && more > oom->before.bytes)
			oom->before = (struct oom_before){ .bytes = more,
							   .process = oom->holder[i].process,
							   .pid = oom->holder[i].pid,
							   .rank = oom->holder[i].rank,
							   .time = wake.time };
	}
	if (!error && oom->before.bytes)
		error = find_category(oom, db);
	if (!error && oom->before.bytes)
		error = find_between(oom, db, wake);
	return error || !*oom->before.function ? error : find_trained(oom, db);
}

/* ---- what no call tells of ---- */

/*
 * A renderer takes memory by Vulkan or OpenGL: NVML counts it as the process's, and CUDA does not know. What was there before the
 * recording, contexts, code, graphs and pools have names of their own in the samples, so none of them is among it.
 */
static const char unseen_sql[] =
	"SELECT unexplained_bytes, (SELECT unexplained_bytes FROM gpu_sample WHERE process = ?1 AND device = ?2 "
	"AND unexplained_bytes IS NOT NULL ORDER BY time LIMIT 1) FROM gpu_sample WHERE process = ?1 AND device = ?2 AND time <= ?3 "
	"AND process_bytes IS NOT NULL AND unexplained_bytes IS NOT NULL "
	/* Where driver calls were not recorded, nobody knows what is unseen. */
	"AND NOT EXISTS (SELECT 1 FROM source WHERE process = ?1 AND name = 'cupti' AND state <> 'on') ORDER BY time DESC LIMIT 1";

static int take_unseen(void *context, struct db_stmt *stmt)
{
	struct oom *oom = context;
	int64_t now = db_int(stmt, 0), first = db_int(stmt, 1);

	oom->unseen.bytes = now > 0 ? (uint64_t)now : 0;
	oom->unseen.first = first > 0 ? (uint64_t)first : 0;
	return 0;
}

int oom_find_unseen(struct oom *oom, struct db *db)
{
	const struct oom_failure *it = oom->it;
	const int64_t parameter[ANSWER_PARAMETERS] = { it->process, it->device, it->time };
	uint64_t held = oom->unrecorded + (it->free > 0 ? (uint64_t)it->free : 0);
	int error = answer_rows(db, unseen_sql, parameter, take_unseen, oom);
	size_t i;

	/* No more than is left of the device: the sample is older than the request. */
	for (i = 0; i < oom->holders; i++)
		held += oom->holder[i].held;
	if (oom->unseen.bytes > (held < it->total ? it->total - held : 0))
		oom->unseen.bytes = held < it->total ? it->total - held : 0;
	if (oom->unseen.bytes < oom_missing(it) || oom->unseen.bytes < it->total / UNSEEN_SHARE)
		oom->unseen = (struct oom_unseen){ .bytes = 0 };
	return error;
}
