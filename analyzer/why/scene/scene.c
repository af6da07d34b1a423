#include "scene.h"

#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "rows/kept.h"
#include "scene_impl.h"

/* ---- the request ---- */

static const struct oom_failure *choose(const struct oom_failures *all, int64_t id)
{
	const struct oom_failure *found = NULL;
	size_t i;

	for (i = 0; i < all->count; i++)
		if (id ? all->failure[i].id == id : !all->failure[i].is_part)
			found = &all->failure[i];
	return found;
}

static void take_failure(struct scene_request *request, const struct oom_failure *failure)
{
	request->failure = failure;
	request->device = failure->device;
	request->number = failure->number;
	mt_copy_text(request->kind, sizeof(request->kind), failure->kind);
	request->total = failure->total;
	request->requested = failure->requested;
	request->missing = oom_missing(failure);
	request->free = failure->free;
	request->when = (struct alive_moment){ .time = failure->time,
					       .process = failure->process,
					       .seq = failure->seq };
	request->category = mt_category_parse(failure->category);
	request->step = failure->step;
	request->from_driver = !strcmp(failure->source, "driver");
}

/* Without a failed request, the moment is a peak: of the device that came nearest to its limit. A device without a limit comes last. */
static int take_peak(struct scene *scene, const struct db_stmt *row, void *context MT_UNUSED)
{
	struct scene_request *request = &scene->request;

	request->device = db_int(row, 0);
	request->number = db_int(row, 1);
	mt_copy_text(request->kind, sizeof(request->kind), db_text(row, 2));
	request->total = (uint64_t)db_int(row, 3);
	request->when = (struct alive_moment){ .time = db_int(row, 4),
					       .process = db_int(row, 5),
					       .seq = db_int(row, 6) };
	request->step = db_int(row, 7);
	request->free = -1;
	scene->peak = (struct scene_peak){ .bytes = (uint64_t)db_int(row, 8),
					   .used = (uint64_t)db_int(row, 9),
					   .phase = scene_phase(db_text(row, 10)),
					   .steps = db_int(row, 11),
					   .is_usual = db_int(row, 12) };
	return 0;
}

static int find_peak(struct scene *scene)
{
	return scene_each(
		scene,
		"SELECT *, EXISTS (SELECT 1 FROM step_device AS later WHERE later.device = it.id AND "
		"later.step > it.step + run_steps / 4 AND later.peak_bytes >= it.bytes * 0.95) FROM ("
		"SELECT device.id, number, kind, ifnull(total_bytes, 0), peak.time, peak.process, peak.seq, peak.step, peak.bytes, "
		"ifnull(most, 0) AS used, peak.phase, (SELECT ifnull(max(steps), 0) FROM process) AS run_steps "
		"FROM peak JOIN device ON device.id = peak.device LEFT JOIN (SELECT device AS sampled, max(used_bytes) AS most "
		"FROM gpu_sample GROUP BY device) ON sampled = device.id ORDER BY "
		"kind = 'cpu', ifnull(max(peak.bytes, used) * 1.0 / nullif(total_bytes, 0), 0) DESC, peak.bytes DESC, number LIMIT 1) AS it",
		NULL, 0, take_peak, NULL);
}

/* ---- the same place before ---- */

/* Earlier allocations at the place of the request, oldest first. */
struct earlier {
	struct place_call *at;
	size_t count;
};

static int take_earlier(struct scene *scene MT_UNUSED, const struct db_stmt *row, void *context)
{
	struct earlier *earlier = context;
	struct place_call *call = scene_add(&earlier->at, &earlier->count, sizeof(*call));

	if (call)
		*call = (struct place_call){ .seq = db_int(row, 0), .time = db_int(row, 1) };
	return call ? 0 : -MT_E_MEMORY;
}

static int find_earlier(struct scene *scene, struct earlier *earlier)
{
	const struct scene_request *request = &scene->request;
	const int64_t parameter[] = { request->when.process, request->failure->node, request->when.seq };

	return scene_each(
		scene,
		"SELECT since_seq, since_time FROM allocation_span JOIN site ON site.id = site "
		"WHERE allocation_span.process = ?1 AND site.node = ?2 AND since_seq < ?3 AND bytes > 0 ORDER BY 1",
		parameter, 3, take_earlier, earlier);
}

static const struct scene_span *last_span(const struct scene *scene, const struct scene_process *process)
{
	const struct scene_span *span = &scene->span[process->first_span], *found = NULL;
	uint32_t i;

	for (i = 0; i < process->spans && span[i].first_seq <= scene->request.when.seq; i++)
		found = &span[i];
	return found;
}

/* Returns scene_moments.early_time. */
static int64_t early_time(const struct scene *scene)
{
	const struct scene_request *request = &scene->request;
	const struct scene_process *process = &scene->process[request->process];
	const struct scene_span *now = last_span(scene, process), *span;
	int64_t time = now ? now->first_time : request->when.time;

	for (span = now; span && span >= &scene->span[process->first_span]; span--)
		if (span->step == request->step && process->steps)
			time = span->first_time;
	return time;
}

/* Returns the index of the matching call in an earlier span of the phase; else SAME_CALL_NONE. Sets *error to 0 or -MT_E_MEMORY. */
static size_t find_call(const struct scene *scene, const struct scene_process *process, const struct scene_span *now,
			const struct earlier *earlier, int *error)
{
	const struct scene_span *first = &scene->span[process->first_span], *it;
	size_t spans = (size_t)(now - first) + 1, index;
	struct call_span *span = malloc(spans * sizeof(*span));
	int matches;

	*error = span ? 0 : -MT_E_MEMORY;
	for (it = first; span && it <= now; it++)
		span[it - first] = (struct call_span){ (int)it->phase, it->first_seq, it->last_seq };
	index = span ? same_call(span, spans, earlier->at, earlier->count, &matches) : SAME_CALL_NONE;
	free(span);
	return index;
}

static int find_before(struct scene *scene, struct scene_moments *moments)
{
	struct scene_request *request = &scene->request;
	const struct scene_process *process = &scene->process[request->process];
	const struct scene_span *now = last_span(scene, process);
	struct earlier earlier = { NULL, 0 };
	size_t index;
	int error = 0;

	if (request->failure && request->node != SCENE_NONE)
		error = find_earlier(scene, &earlier);
	index = !error && now && earlier.count ? find_call(scene, process, now, &earlier, &error) : SAME_CALL_NONE;
	if (index != SAME_CALL_NONE) {
		moments->has[SCENE_BEFORE] = 1;
		request->has_before = SCENE_SAME_PLACE;
		moments->at[SCENE_BEFORE] = (struct alive_moment){ .time = earlier.at[index].time,
								   .process = process->id,
								   .seq = earlier.at[index].seq - 1 };
	}
	free(earlier.at);
	return error;
}

static int take_step_before(struct scene *scene, const struct db_stmt *row, void *context)
{
	struct scene_moments *moments = context;

	moments->has[SCENE_BEFORE] = 1;
	scene->request.has_before = SCENE_STEP_BEFORE;
	moments->at[SCENE_BEFORE] = (struct alive_moment){ .time = db_int(row, 0),
							   .process = db_int(row, 1),
							   .seq = db_int(row, 2) };
	return 0;
}

/* Takes the peak of the step before as reference, for a peak and for a request at a place without earlier allocations. */
static int find_step_before(struct scene *scene, struct scene_moments *moments)
{
	const struct scene_request *request = &scene->request;
	const int64_t parameter[] = { request->step - 1, request->when.process, request->device };

	return scene_each(
		scene,
		"SELECT time, process, seq FROM named_moment WHERE name = 'step:' || ?1 AND process = ?2 AND device = ?3",
		parameter, 3, take_step_before, moments);
}

/* ---- other ranks ---- */

/* Another rank's peak in the request's step, on another device; without this peak, the end of that rank's recording. */
static int take_peer(struct scene *scene, const struct db_stmt *row, void *context MT_UNUSED)
{
	uint32_t index = scene_process_of(scene, db_int(row, 0));
	struct scene_process *process = &scene->process[index == SCENE_NONE ? 0 : index];

	if (index == SCENE_NONE || process->is_peer || scene->peers == KEPT_PEERS)
		return 0;
	process->is_peer = 1;
	process->peer = (struct alive_moment){ .time = db_int(row, 1),
					       .process = db_int(row, 2),
					       .seq = db_int(row, 3) };
	scene->peers++;
	return 0;
}

static int find_peers(struct scene *scene)
{
	const struct scene_request *request = &scene->request;
	const int64_t parameter[] = { request->when.process, request->device, request->step };

	if (scene->process[request->process].rank < 0)
		return 0;
	return scene_each(
		scene,
		"SELECT it.id, named.time, named.process, named.seq FROM process AS it JOIN process AS mine ON mine.id = ?1 "
		"JOIN named_moment AS named ON named.process = it.id AND named.device <> ?2 AND named.name IN ('step:' || ?3, 'end') "
		"JOIN device ON device.id = named.device AND device.kind = 'cuda' AND device.number IS NOT NULL "
		"WHERE it.id <> mine.id AND it.rank IS NOT NULL AND it.rank <> mine.rank "
		"ORDER BY it.command = mine.command DESC, it.id, named.name = 'end'",
		parameter, 3, take_peer, NULL);
}

/* Finds all moments, after processes and sites are loaded. Returns 0 or -MT_E_x; -MT_E_BUSY: see scene_take_kept. */
static int find_moments(struct scene *scene, struct scene_moments *moments)
{
	int error = scene_take_kept(scene, moments);

	moments->early_time = early_time(scene);
	moments->freed_is_early = !scene->process[scene->request.process].steps;
	moments->has[SCENE_NOW] = 1;
	moments->at[SCENE_NOW] = scene->request.when;
	scene->kept = error == 1;
	if (!error)
		error = find_before(scene, moments);
	if (!error && !scene->request.has_before && !scene->peak.is_usual)
		error = find_step_before(scene, moments);
	return error < 0 ? error : find_peers(scene);
}

/* ---- kind of each process ---- */

/* Whether the site shows a trainer that has had no backward and no optimizer step so far: a training function runs a forward. */
static int is_training(const struct scene_site *site)
{
	return (site->tags & MT_TAG_BIT(TRAINING)) && site->phase == MT_PHASE_FORWARD && site->at[SCENE_NOW];
}

static void note_site(struct scene *scene, const struct scene_site *site)
{
	struct scene_process *process = &scene->process[site->process];
	struct scene_request *request = &scene->request;

	if (site->node == request->node && site->process == request->process &&
	    site->most_before > request->earlier_most)
		request->earlier_most = site->most_before;
	if (site->engine || site->category == MT_CATEGORY_KV_CACHE)
		process->engine += site->at[SCENE_NOW] + site->asleep;
	if (is_training(site))
		process->who = MT_WHO_TRAINER;
	if (site->device != request->device || !site->in_use)
		return;
	process->weights += scene_is_weights(site) ? site->at[SCENE_NOW] : 0;
	if (site->category == MT_CATEGORY_GRADIENTS && !mt_phase_is_early(site->phase))
		process->gradients += site->at[SCENE_NOW];
}

static void tell_who(struct scene *scene)
{
	struct scene_process *process;
	size_t i;

	for (i = 0; i < scene->sites; i++)
		note_site(scene, &scene->site[i]);
	for (process = scene->process; process < scene->process + scene->processes; process++) {
		if (process->backward_end || process->optimizer_end)
			process->who = MT_WHO_TRAINER;
		else if (process->engine > (process->in_use + process->asleep) / 4)
			process->who = MT_WHO_ENGINE;
		else if (process->who != MT_WHO_TRAINER)
			process->who = MT_WHO_MODEL;
	}
}

/* ---- the whole scene ---- */

static int load_moments(struct scene *scene)
{
	struct scene_moments moments = { .has = { 0 } };
	struct scene_request *request = &scene->request;
	int error = scene_load_sites(scene);

	if (error)
		return error;
	request->process = scene_process_of(scene, request->when.process);
	if (request->process == SCENE_NONE)
		return -MT_E_CORRUPT;
	request->node = request->failure ? scene_node_of(scene, request->failure->node) : SCENE_NONE;
	request->phase = request->failure ? scene_phase(request->failure->phase)
					  : scene->process[request->process].phase;
	error = find_moments(scene, &moments);
	if (!error)
		error = scene_load_lives(scene, &moments);
	if (!error && scene->kept)
		error = scene_load_kept(scene);
	if (!error)
		error = scene_load_outside(scene, &moments);
	if (!error)
		error = scene_load_peaks(scene);
	if (!error)
		error = scene_load_slack(scene, 0);
	if (!error)
		tell_who(scene);
	return error;
}

int scene_load(struct scene *scene, struct db *db, const struct mt_why *why, int64_t oom)
{
	int error;

	memset(scene, 0, sizeof(*scene));
	scene->db = db;
	scene->why = why;
	scene->outermost = scene->request.node = SCENE_NONE;
	scene->blocks = scene_no_blocks();
	error = oom_failures_load(&scene->failures, db);
	if (error)
		return error;
	scene->request.failure = choose(&scene->failures, oom);
	if (oom && !scene->request.failure)
		return -MT_E_ARGUMENT;
	if (scene->request.failure)
		take_failure(&scene->request, scene->request.failure);
	else
		error = find_peak(scene);
	if (!error)
		error = scene_load_stacks(scene);
	if (!error)
		error = scene_load_processes(scene);
	if (!error)
		error = scene_load_hosts(scene);
	/* A run without a device has no moment. Host memory may still show the cause. */
	return error || !*scene->request.kind ? error : load_moments(scene);
}

void scene_release(struct scene *scene)
{
	mt_texts_free(&scene->texts);
	oom_failures_release(&scene->failures);
	free(scene->process);
	free(scene->span);
	free(scene->site);
	packed_release(&scene->blocks);
	free(scene->node);
	free(scene->host);
	free(scene->frame);
	memset(scene, 0, sizeof(*scene));
}
