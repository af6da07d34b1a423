#include "slept.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "past_impl.h"
#include "query/package.h"
#include "query/stack_tree.h"
#include "report/answer.h"

#define LATE_NS INT64_C(10000000000) /* after the request: what goes later goes for another reason */

/* A trainer is at work: an engine that is awake meanwhile has not slept for it. */
#define COMPUTING "('logprob', 'ref', 'critic', 'forward', 'backward', 'optimizer')"

/* When the pool slept and when it was awake, one after the other, up to the request. */
struct stretch {
	int64_t since; /* time */
	int awake;
	int calls; /* 1: the call ran in it */
	int64_t works; /* spans in which the process that asked computed; until all are counted, more than in the one before */
};

struct history {
	const struct slept_question *question;
	struct db *db;
	struct slept *slept;
	int64_t pool; /* the allocation that stands for it */
	struct stretch *at;
	size_t count, room;
	char function[256], file[1024]; /* of the call; "": nobody knows */
	int64_t *site;                  /* of the call, ids in order */
	size_t sites, site_room;
	struct stack_tree *tree;
	struct callstack stack;
};

/* ---- which pool ---- */

static int take_pool(void *context, struct db_stmt *stmt)
{
	struct history *history = context;

	*history->slept = (struct slept){ .process = db_int(stmt, 0),
					  .pid = db_int(stmt, 1),
					  .rank = db_type(stmt, 2) == DB_NULL ? -1 : db_int(stmt, 2),
					  .bytes = (uint64_t)db_int(stmt, 3),
					  .since = db_int(stmt, 4) };
	mt_copy_text(history->slept->category, sizeof(history->slept->category),
		     mt_category_name(MT_CATEGORY_KV_CACHE));
	history->pool = db_int(stmt, 5);
	return 0;
}

/* The cache of an engine, which is awake; what never sleeps has no rows there. Its largest piece stands for all of it. */
static int find_pool(struct history *history)
{
	static const char sql[] =
		"SELECT allocation.process, pid, rank, sum(resident_span.bytes), since_time, allocation.id, max(allocation.bytes) "
		"FROM resident_span JOIN allocation ON allocation.id = resident_span.allocation JOIN process ON process.id = allocation.process "
		"WHERE device = ?2 AND allocation.process <> ?1 AND category = 'kv cache' AND resident_span.bytes > 0 "
		"AND since_time <= ?3 AND (until_time IS NULL OR until_time > ?3) GROUP BY 1 ORDER BY 4 DESC LIMIT 1";
	const struct slept_question *it = history->question;
	const int64_t parameter[ANSWER_PARAMETERS] = { it->process, it->device, it->time };

	return answer_rows(history->db, sql, parameter, take_pool, history);
}

static int take_stretch(void *context, struct db_stmt *stmt)
{
	struct history *history = context;
	void *grown = past_room(history->at, history->count, &history->room, sizeof(*history->at));

	if (!grown)
		return -MT_E_MEMORY;
	history->at = grown;
	history->at[history->count++] = (struct stretch){ .since = db_int(stmt, 0), .awake = db_int(stmt, 1) > 0 };
	return 0;
}

static int find_stretches(struct history *history)
{
	static const char sql[] =
		"SELECT since_time, bytes FROM resident_span WHERE allocation = ?1 AND since_time <= ?2 ORDER BY since_seq";
	const int64_t parameter[ANSWER_PARAMETERS] = { history->pool, history->question->time };

	return answer_rows(history->db, sql, parameter, take_stretch, history);
}

/* The stretch that holds the time, from 1; 0: before all. */
static size_t stretch_at(const struct history *history, int64_t time)
{
	size_t low = 0, high = history->count, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (history->at[middle].since <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ---- what the process that asked did meanwhile ---- */

static int take_work(void *context, struct db_stmt *stmt)
{
	struct history *history = context;
	size_t from = stretch_at(history, db_int(stmt, 0)), to = stretch_at(history, db_int(stmt, 1));

	if (!to || from > to)
		return 0;
	history->at[from ? from - 1 : 0].works++;
	if (to < history->count)
		history->at[to].works--;
	return 0;
}

/* What it computed before; where it computes now, the same. */
static int find_work(struct history *history)
{
	static const char sql[] =
		"SELECT first_time, last_time FROM phase_span WHERE process = ?1 AND first_time <= ?2 AND phase IN " COMPUTING
		" AND (NOT ?4 OR phase = (SELECT phase FROM oom WHERE id = ?3))";
	const struct slept_question *it = history->question;
	const int64_t parameter[ANSWER_PARAMETERS] = { it->process, it->time, it->oom, it->computes };
	int error = answer_rows(history->db, sql, parameter, take_work, history);
	size_t i;

	for (i = 1; i < history->count; i++)
		history->at[i].works += history->at[i - 1].works;
	return error;
}

/* Outermost first: the first that is somebody's. */
static int take_frame(void *context, struct db_stmt *stmt)
{
	struct history *history = context;
	const struct callstack_frame frame = {
		.function = db_text(stmt, 0), .file = db_text(stmt, 1), .module = "", .line = (unsigned)db_int(stmt, 2)
	};

	if (*history->function || package_is_nobodys(&frame))
		return 0;
	mt_copy_text(history->function, sizeof(history->function), frame.function);
	mt_copy_text(history->file, sizeof(history->file), frame.file);
	callstack_function(history->slept->function, sizeof(history->slept->function), &frame);
	callstack_place(history->slept->place, sizeof(history->slept->place), &frame);
	return 0;
}

/* The call that asked: where its stack parts from all that computes, save_checkpoint() or wake_up(). */
static int find_call(struct history *history)
{
	static const char sql[] =
		"WITH RECURSIVE up(id) AS (SELECT node FROM site WHERE process = ?1 AND node IS NOT NULL AND phase IN " COMPUTING
		" UNION SELECT parent FROM up JOIN stack_node USING (id) WHERE parent IS NOT NULL), "
		"computing AS MATERIALIZED (SELECT DISTINCT function, file FROM up JOIN stack_node USING (id) JOIN frame ON "
		"frame.id = stack_node.frame WHERE kind = 'python'), "
		"asked(id, depth) AS (SELECT ?2, 0 UNION SELECT parent, depth + 1 FROM asked JOIN stack_node USING (id) "
		"WHERE parent IS NOT NULL AND depth < ?3) "
		"SELECT function, file, line FROM asked JOIN stack_node USING (id) JOIN frame ON frame.id = stack_node.frame "
		"WHERE kind = 'python' AND function IS NOT NULL AND file IS NOT NULL "
		"AND (function, file) NOT IN (SELECT function, file FROM computing WHERE function IS NOT NULL AND file IS NOT NULL) "
		"ORDER BY depth DESC";
	const struct slept_question *it = history->question;
	const int64_t parameter[ANSWER_PARAMETERS] = { it->process, it->node, MT_STACK_DEPTH_MAX };

	return it->node && !it->computes ? answer_rows(history->db, sql, parameter, take_frame, history) : 0;
}

static int take_site(void *context, struct db_stmt *stmt)
{
	struct history *history = context;
	int error = stack_tree_load(history->tree, db_int(stmt, 1), &history->stack);
	const struct callstack_frame *frame;
	void *grown;
	size_t i;

	for (i = 0; i < history->stack.count && !error; i++) {
		frame = history->stack.frame[i];
		if (strcmp(frame->function, history->function) || strcmp(frame->file, history->file))
			continue;
		grown = past_room(history->site, history->sites, &history->site_room, sizeof(*history->site));
		if (!grown)
			return -MT_E_MEMORY;
		history->site = grown;
		history->site[history->sites++] = db_int(stmt, 0);
		break;
	}
	return error;
}

static int by_id(const void *a, const void *b)
{
	int64_t one = *(const int64_t *)a, two = *(const int64_t *)b;

	return (one > two) - (one < two);
}

static int take_call(void *context, struct db_stmt *stmt)
{
	struct history *history = context;
	int64_t site = db_int(stmt, 0);
	size_t at = stretch_at(history, db_int(stmt, 1));

	if (at && bsearch(&site, history->site, history->sites, sizeof(site), by_id))
		history->at[at - 1].calls = 1;
	return 0;
}

/* In which stretches it ran. */
static int find_calls(struct history *history)
{
	static const char sites[] = "SELECT id, node FROM site WHERE process = ?1 AND node IS NOT NULL ORDER BY id";
	static const char lives[] =
		"SELECT site, alloc_time FROM allocation_raw WHERE process = ?1 AND alloc_time <= ?2";
	const struct slept_question *it = history->question;
	const int64_t parameter[ANSWER_PARAMETERS] = { it->process, it->time };
	int error;

	history->tree = *history->function ? stack_tree_new(history->db, NULL) : NULL;
	if (!history->tree)
		return *history->function ? -MT_E_MEMORY : 0;
	error = answer_rows(history->db, sites, parameter, take_site, history);
	return error || !history->sites ? error : answer_rows(history->db, lives, parameter, take_call, history);
}

/* ---- what follows ---- */

/* Of all stretches but the last, which is now: it slept whenever there was work, and whenever the call ran; or nothing is said. */
static void judge(struct history *history)
{
	struct slept *slept = history->slept;
	const struct stretch *stretch;
	uint64_t works = 0, calls = 0;
	size_t i;

	for (i = 0; i + 1 < history->count; i++) {
		stretch = &history->at[i];
		if (stretch->awake && (stretch->works > 0 || stretch->calls))
			return;
		works += stretch->works > 0;
		calls += stretch->calls != 0;
	}
	slept->works = works;
	slept->calls = calls;
}

/* A whole step beside it: then that is how it runs by now. */
static int ran_beside(const struct history *history)
{
	static const char sql[] =
		"SELECT EXISTS (SELECT 1 FROM step WHERE process = ?1 AND begin_time >= ?2 AND end_time <= ?3)";
	const struct slept_question *it = history->question;
	const int64_t parameter[ANSWER_PARAMETERS] = { it->process, history->slept->since, it->time };
	int ran = 0, error = answer_flag(history->db, sql, parameter, &ran);

	return error ? error : ran;
}

static int find_habit(struct history *history)
{
	int error = find_pool(history), ran = 0;

	if (error || history->slept->bytes < history->question->missing) {
		*history->slept = (struct slept){ .bytes = 0 };
		return error;
	}
	error = find_stretches(history);
	if (!error)
		ran = ran_beside(history);
	if (error || ran)
		return ran < 0 ? ran : error;
	error = find_work(history);
	if (!error)
		error = find_call(history);
	if (!error)
		error = find_calls(history);
	if (!error)
		judge(history);
	return error;
}

/* ---- what went too late ---- */

struct leaving {
	struct slept now, most;
};

/* Of one process after the other, what it had most of first. */
static int take_leaving(void *context, struct db_stmt *stmt)
{
	struct leaving *leaving = context;
	struct slept *now = &leaving->now;
	int64_t late = db_int(stmt, 5);

	if (db_int(stmt, 0) != now->process) {
		*now = (struct slept){ .process = db_int(stmt, 0),
				       .pid = db_int(stmt, 1),
				       .rank = db_type(stmt, 2) == DB_NULL ? -1 : db_int(stmt, 2),
				       .bytes = (uint64_t)db_int(stmt, 3) };
		mt_copy_text(now->category, sizeof(now->category), db_text(stmt, 4));
	}
	now->leaves += (uint64_t)db_int(stmt, 3);
	now->late = late > now->late ? late : now->late;
	if (now->leaves > leaving->most.leaves)
		leaving->most = *now;
	return 0;
}

/* What a pool of another process let go of soon after. A tensor that is freed, as at the end of a process, has not slept. */
static int find_late(struct history *history)
{
	static const char sql[] =
		"SELECT allocation.process, pid, rank, sum(resident_span.bytes), category, max(until_time) - ?3 FROM resident_span "
		"JOIN allocation ON allocation.id = resident_span.allocation JOIN process ON process.id = allocation.process "
		"WHERE device = ?2 AND allocation.process <> ?1 AND resident_span.bytes > 0 AND since_time <= ?3 AND until_time > ?3 "
		"AND until_time - ?3 <= ?4 AND EXISTS (SELECT 1 FROM resident_span AS after WHERE after.allocation = resident_span.allocation "
		"AND after.since_seq = resident_span.until_seq AND after.bytes = 0) GROUP BY 1, category ORDER BY 1, 4 DESC, category";
	const struct slept_question *it = history->question;
	const int64_t parameter[ANSWER_PARAMETERS] = { it->process, it->device, it->time, LATE_NS };
	struct slept *slept = history->slept;
	struct leaving leaving = { .now = { .process = 0 } };
	int error = answer_rows(history->db, sql, parameter, take_leaving, &leaving);

	if (error || leaving.most.leaves < it->missing)
		return error;
	if (leaving.most.process != slept->process) {
		mt_copy_text(leaving.most.function, sizeof(leaving.most.function), slept->function);
		mt_copy_text(leaving.most.place, sizeof(leaving.most.place), slept->place);
		*slept = leaving.most;
		return 0;
	}
	slept->leaves = leaving.most.leaves;
	slept->late = leaving.most.late;
	return 0;
}

int slept_find(struct slept *slept, struct db *db, const struct slept_question *question)
{
	struct history history = { .question = question, .db = db, .slept = slept };
	int error;

	*slept = (struct slept){ .bytes = 0 };
	error = find_habit(&history);
	if (!error)
		error = find_late(&history);
	if (history.tree)
		callstack_release(&history.stack);
	stack_tree_free(history.tree);
	free(history.site);
	free(history.at);
	return error;
}
