/* Loads the processes of the run, their phase spans and their sites. */
#include <string.h>
#include "memtrace/error.h"
#include "memtrace/event.h"
#include "scene_impl.h"

enum mt_phase scene_phase(const char *word)
{
	int phase = mt_phase_parse(word, strlen(word));

	return phase < 0 ? MT_PHASE_OTHER : (enum mt_phase)phase;
}

int scene_before(int64_t time, int64_t process, int64_t seq, const struct alive_moment *when)
{
	if (time != when->time)
		return time < when->time;
	if (process != when->process)
		return process < when->process;
	return seq <= when->seq;
}

static int take_process(struct scene *scene, const struct db_stmt *row, void *context MT_UNUSED)
{
	struct scene_process *process = scene_add(&scene->process, &scene->processes, sizeof(*process));

	if (!process)
		return -MT_E_MEMORY;
	process->id = db_int(row, 0);
	process->pid = db_int(row, 1);
	process->rank = db_type(row, 2) == DB_NULL ? -1 : db_int(row, 2);
	process->steps = db_int(row, 3);
	process->over_time = db_type(row, 4) == DB_NULL ? -1 : db_int(row, 4);
	process->over_seq = db_int(row, 5);
	process->killed = !strcmp(db_text(row, 6), mt_end_name(MT_END_KILLED));
	process->pin = SCENE_NONE;
	process->ended = process->over_time >= 0 &&
			 scene_before(process->over_time, process->id, process->over_seq, &scene->request.when);
	return 0;
}

/* The newest span that began at or before the moment gives the process its phase and step. */
static void note_span(struct scene_process *process, const struct scene_span *span, const struct alive_moment *when)
{
	if (!scene_before(span->first_time, process->id, span->first_seq, when))
		return;
	process->phase = span->phase;
	process->step = span->step;
	if (span->phase == MT_PHASE_BACKWARD)
		process->backward_end = span->last_seq;
	if (span->phase == MT_PHASE_OPTIMIZER)
		process->optimizer_end = span->last_seq;
}

static int take_span(struct scene *scene, const struct db_stmt *row, void *context MT_UNUSED)
{
	uint32_t index = scene_process_of(scene, db_int(row, 0));
	struct scene_process *process;
	struct scene_span *span;

	if (index == SCENE_NONE)
		return 0;
	process = &scene->process[index];
	span = scene_add(&scene->span, &scene->spans, sizeof(*span));
	if (!span)
		return -MT_E_MEMORY;
	*span = (struct scene_span){ .phase = scene_phase(db_text(row, 1)),
				     .step = db_int(row, 2),
				     .first_seq = db_int(row, 3),
				     .last_seq = db_int(row, 4),
				     .first_time = db_int(row, 5) };
	if (!process->spans++)
		process->first_span = (uint32_t)(span - scene->span);
	note_span(process, span, &scene->request.when);
	return 0;
}

/* A trainer's round begins with a step or after a backward, not with each phase: phases alternate inside a forward that gathers weights. */
static void number_rounds(const struct scene_process *process, struct scene_span *span)
{
	uint32_t i;

	for (i = 1; i < process->spans; i++)
		span[i].round = span[i - 1].round +
				(span[i].step != span[i - 1].step || !process->backward_end ||
				 (span[i - 1].phase == MT_PHASE_BACKWARD && span[i].phase != MT_PHASE_BACKWARD));
}

static int take_holder(struct scene *scene, const struct db_stmt *row, void *context MT_UNUSED)
{
	uint32_t index = scene_process_of(scene, db_int(row, 0));

	if (index == SCENE_NONE)
		return 0;
	scene->process[index].held = (uint64_t)db_int(row, 1);
	scene->process[index].slack = (uint64_t)db_int(row, 2);
	scene->process[index].on_device = db_int(row, 1) > 0;
	scene->held += (uint64_t)db_int(row, 1);
	scene->slack += (uint64_t)db_int(row, 2);
	return 0;
}

int scene_load_processes(struct scene *scene)
{
	int64_t oom = scene->request.failure ? scene->request.failure->id : 0;
	size_t i;
	int error = scene_each(
		scene,
		"SELECT id, ifnull(pid, 0), rank, steps, over_time, ifnull(over_seq, 0), ifnull(ended, '') FROM process "
		"ORDER BY id",
		NULL, 0, take_process, NULL);

	if (!error)
		error = scene_each(scene,
				   "SELECT process, phase, step, first_seq, last_seq, first_time FROM phase_span "
				   "ORDER BY process, first_seq",
				   NULL, 0, take_span, NULL);
	for (i = 0; i < scene->processes; i++)
		number_rounds(&scene->process[i], &scene->span[scene->process[i].first_span]);
	return error ? error
		     : scene_each(scene,
				  oom ? "SELECT process, held_bytes, slack_bytes FROM oom_holder WHERE oom = ?1"
				      : "SELECT process, sum(bytes), sum(CASE category WHEN 'allocator slack' THEN bytes ELSE 0 END) "
					"FROM peak_part WHERE device = ?1 GROUP BY process",
				  oom ? &oom : &scene->request.device, 1, take_holder, NULL);
}

/* ---- sites ---- */

static enum scene_known known_of(const char *word)
{
	return !strcmp(word, "census") ? SCENE_CENSUS : !strcmp(word, "rule") ? SCENE_RULE : SCENE_PROBABLE;
}

static int take_site(struct scene *scene, const struct db_stmt *row, void *context MT_UNUSED)
{
	struct scene_site *site = scene_add(&scene->site, &scene->sites, sizeof(*site));

	if (!site)
		return -MT_E_MEMORY;
	site->id = db_int(row, 0);
	site->process = scene_process_of(scene, db_int(row, 1));
	site->device = db_int(row, 2);
	site->node = scene_node_of(scene, db_int(row, 3));
	site->driver = strcmp(db_text(row, 4), "tensor") != 0;
	site->caching = site->driver && db_int(row, 11);
	site->phase = scene_phase(db_text(row, 5));
	site->category = mt_category_parse(db_text(row, 6));
	site->owner = scene_keep(scene, db_text(row, 7));
	site->known = known_of(db_text(row, 8));
	site->words = (uint64_t)db_int(row, 9);
	site->element = (uint64_t)db_int(row, 10);
	site->tags = scene_tags(scene, site->node);
	site->engine = (site->tags & MT_TAG_BIT(ENGINE)) != 0;
	return site->owner && site->process != SCENE_NONE ? 0 : site->owner ? -MT_E_CORRUPT : -MT_E_MEMORY;
}

int scene_load_sites(struct scene *scene)
{
	return scene_each(scene,
			  "SELECT id, process, device, ifnull(node, 0), memory, phase, category, owner, known, ifnull(words, 0), "
			  "ifnull(element, 0), tensors_inside FROM site ORDER BY id",
			  NULL, 0, take_site, NULL);
}
