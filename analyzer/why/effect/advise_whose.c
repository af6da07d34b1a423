/*
 * The owners of bytes: critic, reference, teacher or reward model, by stacks or process; the engine; bytes that the failed phase
 * itself brought; and the owner in question.
 */
#include "advise_run.h"

#include <stdio.h>
#include <string.h>
#include "memtrace/base.h"
#include "query/alive.h"
#include "report/answer.h"

#define SQL_MAX 2048

int advise_frame_condition(char *sql, size_t size, const char *word)
{
	size_t length = strlen(word);

	if (!length || strpbrk(word, "'\""))
		return 0;
	if (word[length - 1] == '/')
		return (size_t)snprintf(sql, size, "instr('/' || file, '/%s')", word) < size;
	return (size_t)snprintf(
		       sql, size,
		       "(function = '%s' OR substr(function, -%zu) = '.%s' OR file = '%s' OR substr(file, -%zu) = '/%s')",
		       word, length + 1, word, word, length + 1, word) < size;
}

/* ---- models ---------------------------------------------------------------------------------------------------------- */

struct marking {
	struct replay *replay;
	uint32_t role; /* bit */
};

static int take_marked(void *context, struct db_stmt *row)
{
	struct marking *marking = context;
	struct replay *replay = marking->replay;
	int64_t id = db_int(row, 0);
	uint32_t at = id > 0 && id < replay->ids ? replay->index[id] : UINT32_MAX;

	if (at != UINT32_MAX)
		replay->site[at].roles |= marking->role;
	return 0;
}

/* Sites whose stacks go through the function, file or folder. 0 or -MT_E_x. */
static int mark(struct advise_run *run, const char *word, uint32_t role)
{
	struct marking marking = { &run->replay, role };
	char sql[SQL_MAX], condition[SQL_MAX / 2];

	if (!advise_frame_condition(condition, sizeof(condition), word))
		return 0;
	snprintf(sql, sizeof(sql),
		 "WITH RECURSIVE own(id) AS (SELECT stack_node.id FROM stack_node JOIN frame ON frame.id = stack_node.frame WHERE %s "
		 "UNION SELECT stack_node.id FROM own JOIN stack_node ON stack_node.parent = own.id) "
		 "SELECT site.id FROM own JOIN site ON site.node = own.id",
		 condition);
	return answer_rows(run->db, sql, NULL, take_marked, &marking);
}

/* A process that works for one marked model alone: its unmarked bytes, such as loaded weights, are that model's, too. */
static void mark_process(struct advise_run *run, int64_t process)
{
	struct replay *replay = &run->replay;
	uint32_t others = 1u << MT_PHASE_FORWARD | 1u << MT_PHASE_BACKWARD | 1u << MT_PHASE_OPTIMIZER |
			  1u << MT_PHASE_ROLLOUT,
		 roles = 0, i;

	for (i = 0; i < replay->sites; i++) {
		if (replay->site[i].process != process)
			continue;
		if (!replay->site[i].roles && others & 1u << replay->site[i].phase)
			return;
		roles |= replay->site[i].roles;
	}
	if (!roles || roles & (roles - 1))
		return;
	run->elsewhere |= roles;
	for (i = 0; i < replay->sites; i++)
		if (replay->site[i].process == process)
			replay->site[i].roles = roles;
}

static int trains(const struct replay *replay, int64_t process)
{
	uint32_t i;

	for (i = 0; i < replay->sites; i++)
		if (replay->site[i].process == process && (replay->site[i].category == MT_CATEGORY_GRADIENTS ||
							   replay->site[i].category == MT_CATEGORY_OPTIMIZER_STATE))
			return 1;
	return 0;
}

/*
 * A process with weights that waits while another process trains does not hold the trained model. Among the framework's models,
 * the reference waits like this.
 */
static void mark_beside(struct advise_run *run)
{
	const struct scene *scene = run->scene;
	const struct scene_process *beside;
	struct replay *replay = &run->replay;
	uint32_t i, at;

	if (!run->failed || !trains(replay, run->it->process))
		return;
	for (i = 0; i < replay->sites; i++) {
		at = scene_site_of(scene, replay->site[i].id);
		beside = at == SCENE_NONE ? NULL : &scene->process[scene->site[at].process];
		if (beside && beside->id != run->it->process && beside->who == MT_WHO_MODEL && !replay->site[i].roles &&
		    !trains(replay, beside->id))
			run->elsewhere |= replay->site[i].roles = 1u << MT_KNOB_PROCESS_REFERENCE;
	}
}

static int knows(const struct mt_knob_file *file, enum mt_knob_process process)
{
	uint32_t i;

	for (i = 0; i < file->models; i++)
		if (file->model[i].process == process)
			return 1;
	return 0;
}

int advise_find_models(struct advise_run *run, const struct mt_knob_file *file)
{
	uint32_t i, k;
	size_t process;
	int error = 0;

	for (i = 0; i < file->models && !error; i++)
		for (k = 0; k < file->model[i].seens && !error; k++)
			error = mark(run, file->model[i].seen[k], 1u << file->model[i].process);
	for (process = 0; process < run->replay.processes && !error && file->models; process++)
		mark_process(run, run->replay.process[process].id);
	if (!error && knows(file, MT_KNOB_PROCESS_REFERENCE))
		mark_beside(run);
	return error;
}

/* ---- engines --------------------------------------------------------------------------------------------------------- */

#define ENGINE_LEAST 200 /* divisor: less than 1/200 of the device is no engine */

/* Whether the process generates without an engine, with a model's own cache. */
static int generates_itself(const struct replay *replay, int64_t process)
{
	uint32_t i;

	for (i = 0; i < replay->sites; i++)
		if (replay->site[i].process == process && replay->site[i].own_cache)
			return 1;
	return 0;
}

int advise_is_set_aside(const struct replay_site *site)
{
	return site->phase == MT_PHASE_ROLLOUT && site->category == MT_CATEGORY_OTHER;
}

/* Whether the site is the engine's. All sites of a process with only an engine are. */
static int is_its(const struct advise_run *run, const struct replay_site *site)
{
	return !site->ignored && (advise_is_engines(site) || advise_is_set_aside(site) ||
				  advise_roles_of(run, site) == 1u << MT_KNOB_PROCESS_ENGINE);
}

static int is_cache(const struct replay_site *site)
{
	return (site->category == MT_CATEGORY_KV_CACHE && !site->own_cache) || advise_is_set_aside(site);
}

/* Bytes of an engine's process at one moment. */
struct engine_sum {
	double cache, certain, weights, all;
};

/* The sum at the peak of a phase; MT_PHASE_COUNT: at the moment in question. */
static struct engine_sum sum_at(const struct advise_run *run, int64_t process, uint32_t phase)
{
	const struct replay *replay = &run->replay;
	int later = phase < MT_PHASE_COUNT && replay->later.changes && replay->later.phase == phase;
	const struct replay_site *site;
	struct engine_sum sum = { 0 };
	double bytes;
	uint32_t i;

	for (i = 0; i < replay->sites; i++) {
		site = &replay->site[i];
		if (site->process != process || !is_its(run, site))
			continue;
		bytes = (double)(phase < MT_PHASE_COUNT ? site->held[phase] : site->then);
		bytes += later ? advise_later_of(run, i) : 0;
		sum.all += bytes;
		if (advise_tags(run, site) & MT_TAG_BIT(DRAFT))
			continue;
		sum.certain += (is_cache(site) || site->category == MT_CATEGORY_WEIGHTS) ? bytes : 0;
		sum.cache += is_cache(site) ? bytes : 0;
	}
	sum.weights = sum.certain - sum.cache;
	return sum;
}

static struct engine_sum sum_most(const struct advise_run *run, int64_t process)
{
	struct engine_sum most = { 0 }, sum;
	uint32_t phase;

	for (phase = 0; phase <= MT_PHASE_COUNT; phase++) {
		sum = sum_at(run, process, phase);
		most.all = sum.all > most.all ? sum.all : most.all;
		most.certain = sum.certain > most.certain ? sum.certain : most.certain;
		most.cache = sum.cache > most.cache ? sum.cache : most.cache;
		most.weights = sum.weights > most.weights ? sum.weights : most.weights;
	}
	return most;
}

/* Whether the engine is complete. An engine whose start failed is not, unless `later` has the rest of the series. */
static int is_whole(const struct advise_run *run, int64_t process)
{
	const struct replay_site *asker = &run->replay.site[run->replay.request.site];

	return !run->failed || asker->process != process || run->replay.request.phase != MT_PHASE_INIT ||
	       run->replay.later.from == REPLAY_LATER_LAYERS || run->replay.later.from == REPLAY_LATER_ROUND ||
	       !is_its(run, asker) ||
	       !(1u << asker->category & (1u << MT_CATEGORY_WEIGHTS | 1u << MT_CATEGORY_KV_CACHE)) ||
	       advise_tags(run, asker) & MT_TAG_BIT(DRAFT);
}

void advise_find_engine(struct advise_run *run)
{
	struct advise_engine *engine = &run->engine;
	const struct replay_process *process;
	struct engine_sum sum, most = { 0 };
	size_t i;

	for (i = 0; i < run->replay.processes; i++) {
		process = &run->replay.process[i];
		sum = sum_most(run, process->id);
		if (generates_itself(&run->replay, process->id) || sum.all <= (double)run->total / ENGINE_LEAST)
			continue;
		engine->engines++;
		if (engine->process && (sum.cache < most.cache || (sum.cache <= most.cache && sum.all <= most.all)))
			continue;
		most = sum;
		engine->process = process->id;
		engine->pid = (int64_t)process->pid;
	}
	engine->certain = (uint64_t)most.certain;
	engine->weights = (uint64_t)most.weights;
	engine->all = (uint64_t)most.all;
	engine->has_cache = most.cache > 0;
	engine->whole = engine->has_cache && is_whole(run, engine->process);
}

/* ---- bytes that the phase brought --------------------------------------------------------------------------------------------- */

#define CAME_BACK_REST 8 /* divisor: at least 7/8 of the brought bytes were resident before */

static int take_brought(void *context, struct db_stmt *row)
{
	struct replay *replay = context;
	int64_t id = db_int(row, 0);
	struct replay_site *site;

	if (id <= 0 || id >= replay->ids || replay->index[id] == UINT32_MAX)
		return 0;
	site = &replay->site[replay->index[id]];
	site->brought = (uint64_t)db_int(row, 1);
	site->brought = site->brought < site->then ? site->brought : site->then;
	return 0;
}

/*
 * Finds bytes that the phase brought since the last other phase. The phase needs these bytes: an offload while they are unused does
 * not make them fewer.
 */
static int find_brought(struct advise_run *run, const char *phase, int64_t since)
{
	static const char form[] =
		"SELECT site, sum(bytes) FROM in_use_span WHERE process = ?1 AND device = ?2 AND memory = 'tensor' AND phase = '%s' AND "
		"category IN ('weights', 'gradients', 'optimizer state') AND alloc_seq > ?5 AND " ALIVE_SPAN_AT(
			"?4", "?1", "?3") " GROUP BY site";
	const struct oom_failure *it = run->it;
	const int64_t parameter[ANSWER_PARAMETERS] = { it->process, it->device, it->seq, it->time, since };
	char sql[sizeof(form) + 32];

	snprintf(sql, sizeof(sql), form, phase);
	return answer_rows(run->db, sql, parameter, take_brought, &run->replay);
}

static int take_came_back(void *context, struct db_stmt *row)
{
	uint64_t all = (uint64_t)db_int(row, 0), before = (uint64_t)db_int(row, 1);

	*(int *)context = all && before >= all - all / CAME_BACK_REST;
	return 0;
}

/* Whether weights of init with the same sizes were resident at once, and went before the phase began. */
static int find_came_back(struct advise_run *run, const char *phase, int64_t since)
{
	static const char form[] =
		"WITH back AS MATERIALIZED (SELECT bytes, count(*) AS pieces FROM in_use_span WHERE process = ?1 AND device = ?2 AND memory = 'tensor' "
		"AND phase = '%s' AND category = 'weights' AND alloc_seq > ?5 AND " ALIVE_SPAN_AT(
			"?4", "?1",
			"?3") " GROUP BY bytes), "
			      "gone AS MATERIALIZED (SELECT bytes, alloc_seq, free_seq FROM allocation WHERE process = ?1 AND device = ?2 AND "
			      "memory = 'tensor' AND phase = 'init' AND free_seq <= ?5 AND bytes IN (SELECT bytes FROM back)), "
			      "before AS MATERIALIZED (SELECT bytes, count(*) AS pieces FROM gone WHERE free_seq > (SELECT max(alloc_seq) FROM gone) "
			      "GROUP BY bytes) "
			      "SELECT sum(back.bytes * back.pieces), sum(back.bytes * min(back.pieces, ifnull(before.pieces, 0))) "
			      "FROM back LEFT JOIN before ON before.bytes = back.bytes";
	const struct oom_failure *it = run->it;
	const int64_t parameter[ANSWER_PARAMETERS] = { it->process, it->device, it->seq, it->time, since };
	char sql[sizeof(form) + 32];

	snprintf(sql, sizeof(sql), form, phase);
	return answer_rows(run->db, sql, parameter, take_came_back, &run->came_back);
}

int advise_find_brought(struct advise_run *run)
{
	static const char form[] =
		"SELECT ifnull(max(last_seq), 0) FROM phase_span WHERE process = ?1 AND first_seq <= ?2 AND phase NOT IN ('other', '%s')";
	const struct oom_failure *it = run->failed ? run->it : NULL;
	const int64_t parameter[ANSWER_PARAMETERS] = { it ? it->process : 0, it ? it->seq : 0 };
	const char *phase = it ? mt_phase_name(run->replay.request.phase) : "";
	char sql[sizeof(form) + 32];
	uint64_t since = 0;
	int error;

	if (!it || run->replay.request.phase == MT_PHASE_OTHER || run->replay.request.phase == MT_PHASE_INIT)
		return 0;
	snprintf(sql, sizeof(sql), form, phase);
	error = answer_bytes(run->db, sql, parameter, &since);
	if (!error)
		error = find_brought(run, phase, (int64_t)since);
	return error ? error : find_came_back(run, phase, (int64_t)since);
}

/* ---- bytes in question --------------------------------------------------------------------------------------------------- */

static int is_engines(const struct advise_run *run, const struct replay_site *site)
{
	return advise_is_engines(site) || advise_roles_of(run, site) == 1u << MT_KNOB_PROCESS_ENGINE;
}

int advise_is_in_question(const struct advise_run *run, const struct replay_site *site)
{
	return site->process == run->question.process && is_engines(run, site) == run->question.engine;
}
