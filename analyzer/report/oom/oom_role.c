#include "oom_role.h"

#include <string.h>
#include "memtrace/base.h"
#include "memtrace/phase.h"
#include "report/answer.h"

#define FORWARDS 3 /* this one, and more than a warming up before it */

static int take_flag(void *context, struct db_stmt *stmt)
{
	*(int *)context = db_int(stmt, 0) != 0;
	return 0;
}

/* The largest part of a process tells whose it is: an engine's weights and cache are made below its own functions. */
static int is_engine(const struct oom *oom, struct db *db, int64_t process)
{
	static const char sql[] =
		"SELECT EXISTS (WITH RECURSIVE up(id) AS (SELECT ?1 UNION SELECT parent FROM up JOIN node USING (id) "
		"WHERE parent IS NOT NULL) SELECT 1 FROM up JOIN node USING (id) JOIN frame ON frame.id = node.frame "
		"WHERE file LIKE '%vllm/%' OR file LIKE '%sglang/%')";
	int64_t parameter[ANSWER_PARAMETERS] = { 0 };
	int engine = 0, error;
	size_t i;

	for (i = 0; i < oom->parts && oom->part[i].process != process; i++)
		;
	if (i == oom->parts || !oom->part[i].node)
		return 0;
	parameter[0] = oom->part[i].node;
	error = answer_rows(db, sql, parameter, take_flag, &engine);
	return error ? error : engine;
}

/* An engine makes its cache when it is set up; what generate() of a library makes comes with the tokens. */
static uint64_t cache_of(const struct oom *oom, int64_t process)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < oom->parts; i++)
		if (oom->part[i].process == process &&
		    !strcmp(oom->part[i].category, mt_category_name(MT_CATEGORY_KV_CACHE)) &&
		    !strcmp(oom->part[i].phase, mt_phase_name(MT_PHASE_INIT)))
			bytes += oom->part[i].bytes;
	return bytes;
}

static int find_training(struct oom *oom, struct db *db)
{
	static const char sql[] =
		"SELECT NOT EXISTS (SELECT 1 FROM phase_span WHERE first_time <= ?1 AND phase IN ('forward', 'backward', "
		"'optimizer', 'logprob', 'ref', 'critic', 'weight-update'))";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->time };
	int nobody = 0, engine = 1, error = answer_rows(db, sql, parameter, take_flag, &nobody);
	size_t i;

	for (i = 0; i < oom->holders && !error && nobody && engine; i++) {
		engine = is_engine(oom, db, oom->holder[i].process);
		error = engine < 0 ? engine : 0;
	}
	oom->nobody_trains = !error && nobody && engine && oom->holders;
	return error;
}

static int find_serving(struct oom *oom, struct db *db)
{
	static const char sql[] =
		"SELECT NOT EXISTS (SELECT 1 FROM phase_span WHERE process = ?1 AND first_seq <= ?2 AND phase IN ('backward', "
		"'optimizer'))";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->process, oom->it->seq };
	int error = answer_rows(db, sql, parameter, take_flag, &oom->evaluates);

	oom->serves = !error && oom->evaluates && !strcmp(oom->it->source, "tensor") && !*oom->waking &&
		      !strcmp(oom->it->phase, mt_phase_name(MT_PHASE_ROLLOUT)) &&
		      cache_of(oom, oom->it->process) >= oom_missing(oom->it);
	return error;
}

int oom_find_roles(struct oom *oom, struct db *db)
{
	int error = find_training(oom, db);

	return error ? error : find_serving(oom, db);
}

int oom_is_inference(const struct oom *oom, struct db *db)
{
	static const char sql[] = "SELECT count(*) >= ?3 FROM phase_span WHERE process = ?1 AND first_seq <= ?2 "
				  "AND phase IN ('forward', 'logprob', 'ref')";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->process, oom->it->seq, FORWARDS };
	int infers = 0, error = oom->evaluates ? answer_rows(db, sql, parameter, take_flag, &infers) : 0;

	return error ? error : infers;
}
