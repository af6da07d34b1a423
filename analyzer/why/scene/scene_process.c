/* The processes of the run, their phase spans and their sites. */
#include <string.h>
#include "memtrace/error.h"
#include "memtrace/event.h"
#include "scene_impl.h"

static int process_by_id(const void *key, const void *process)
{
	int64_t id = *(const int64_t *)key, other = ((const struct scene_process *)process)->id;

	return id < other ? -1 : id > other;
}

uint32_t scene_process_of(const struct scene *scene, int64_t id)
{
	const struct scene_process *found;

	if (!scene->processes)
		return SCENE_NONE;
	found = bsearch(&id, scene->process, scene->processes, sizeof(*found), process_by_id);
	return found ? (uint32_t)(found - scene->process) : SCENE_NONE;
}

static enum mt_phase phase_of(const char *word)
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

static int take_process(struct scene *scene, const struct db_stmt *row, void *context)
{
	struct scene_process *grown = scene_room(scene->process, scene->processes, sizeof(*grown)), *process;

	(void)context;
	if (!grown)
		return -MT_E_MEMORY;
	scene->process = grown;
	process = &grown[scene->processes++];
	process->id = db_int(row, 0);
	process->pid = db_int(row, 1);
	process->rank = db_type(row, 2) == DB_NULL ? -1 : db_int(row, 2);
	process->steps = db_int(row, 3);
	process->complete = db_int(row, 4) != 0;
	process->over_time = db_type(row, 5) == DB_NULL ? -1 : db_int(row, 5);
	process->over_seq = db_int(row, 6);
	process->killed = !strcmp(db_text(row, 7), mt_end_name(MT_END_KILLED));
	process->pin = SCENE_NONE;
	process->ended = process->over_time >= 0 &&
			 scene_before(process->over_time, process->id, process->over_seq, &scene->request.when);
	return 0;
}

/* The newest span that begins before the moment gives the process its phase and step. */
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

static int take_span(struct scene *scene, const struct db_stmt *row, void *context)
{
	struct scene_span *grown = scene_room(scene->span, scene->spans, sizeof(*grown));
	uint32_t index = scene_process_of(scene, db_int(row, 0));
	struct scene_process *process;

	(void)context;
	if (!grown)
		return -MT_E_MEMORY;
	scene->span = grown;
	if (index == SCENE_NONE)
		return 0;
	process = &scene->process[index];
	grown[scene->spans] = (struct scene_span){ .phase = phase_of(db_text(row, 1)),
						   .step = db_int(row, 2),
						   .first_seq = db_int(row, 3),
						   .last_seq = db_int(row, 4),
						   .first_time = db_int(row, 5),
						   .last_time = db_int(row, 6) };
	if (!process->spans)
		process->first_span = (uint32_t)scene->spans;
	process->spans++;
	note_span(process, &grown[scene->spans], &scene->request.when);
	scene->spans++;
	return 0;
}

static int take_holder(struct scene *scene, const struct db_stmt *row, void *context)
{
	uint32_t index = scene_process_of(scene, db_int(row, 0));

	(void)context;
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
	int error = scene_each(
		scene,
		"SELECT id, ifnull(pid, 0), rank, steps, complete, over_time, ifnull(over_seq, 0), ifnull(ended, '') FROM process "
		"ORDER BY id",
		NULL, 0, take_process, NULL);

	if (!error)
		error = scene_each(scene,
				   "SELECT process, phase, step, first_seq, last_seq, first_time, last_time FROM phase_span "
				   "ORDER BY process, first_seq",
				   NULL, 0, take_span, NULL);
	if (!error && oom)
		return scene_each(scene, "SELECT process, held_bytes, slack_bytes FROM oom_holder WHERE oom = ?1", &oom,
				  1, take_holder, NULL);
	if (!error)
		error = scene_each(scene,
				   "SELECT process, sum(bytes), sum(CASE category WHEN 'allocator slack' THEN bytes ELSE 0 END) "
				   "FROM peak_part WHERE device = ?1 GROUP BY process",
				   &scene->request.device, 1, take_holder, NULL);
	return error;
}

/* ---- sites ---- */

static enum scene_known known_of(const char *word)
{
	return !strcmp(word, "census") ? SCENE_CENSUS : !strcmp(word, "rule") ? SCENE_RULE : SCENE_PROBABLE;
}

static int take_site(struct scene *scene, const struct db_stmt *row, void *context)
{
	struct scene_site *grown = scene_room(scene->site, scene->sites, sizeof(*grown)), *site;

	(void)context;
	if (!grown)
		return -MT_E_MEMORY;
	scene->site = grown;
	site = &grown[scene->sites++];
	site->id = db_int(row, 0);
	site->process = scene_process_of(scene, db_int(row, 1));
	site->device = db_int(row, 2);
	site->node = scene_node_of(scene, db_int(row, 3));
	site->driver = strcmp(db_text(row, 4), "tensor") != 0;
	site->phase = phase_of(db_text(row, 5));
	site->category = mt_category_parse(db_text(row, 6));
	site->owner = scene_keep(scene, db_text(row, 7));
	site->known = known_of(db_text(row, 8));
	site->words = (uint64_t)db_int(row, 9);
	site->element = (uint64_t)db_int(row, 10);
	site->tags = site->node == SCENE_NONE ? 0 : scene->node[site->node].tags;
	site->engine = (site->tags & MT_TAG_BIT(ENGINE)) != 0;
	return site->owner && site->process != SCENE_NONE ? 0 : site->owner ? -MT_E_CORRUPT : -MT_E_MEMORY;
}

int scene_load_sites(struct scene *scene)
{
	return scene_each(scene,
			  "SELECT id, process, device, ifnull(node, 0), memory, phase, category, owner, known, ifnull(words, 0), "
			  "ifnull(element, 0) FROM site ORDER BY id",
			  NULL, 0, take_site, NULL);
}

static int site_by_id(const void *key, const void *site)
{
	int64_t id = *(const int64_t *)key, other = ((const struct scene_site *)site)->id;

	return id < other ? -1 : id > other;
}

uint32_t scene_site_of(const struct scene *scene, int64_t id)
{
	const struct scene_site *found;

	found = scene->sites ? bsearch(&id, scene->site, scene->sites, sizeof(*found), site_by_id) : NULL;
	return found ? (uint32_t)(found - scene->site) : SCENE_NONE;
}
