/* Bytes that the driver counts beyond recorded calls, and the largest bytes of each phase. */
#include <string.h>
#include "memtrace/error.h"
#include "report/answer.h"
#include "scene_impl.h"

/* The newest sample gives context and unexplained bytes of a process. */
static int take_context(struct scene *scene, const struct db_stmt *row, void *context MT_UNUSED)
{
	uint32_t index = scene_process_of(scene, db_int(row, 0));
	struct scene_process *process = &scene->process[index == SCENE_NONE ? 0 : index];

	if (index == SCENE_NONE || process->has_context)
		return 0;
	process->has_context = 1;
	process->context = (uint64_t)db_int(row, 1);
	process->unexplained = (uint64_t)db_int(row, 2);
	return 0;
}

/* Sums up the recorded bytes at each sample, to subtract them from the used bytes. */
struct count {
	uint64_t *recorded; /* bytes of each process at its newest sample; before its first sample, its held bytes */
	uint64_t sum, newest;
	struct scene_climb climb;
	const struct scene_moments *moments;
};

static int take_sample(struct scene *scene, const struct db_stmt *row, void *context)
{
	struct count *count = context;
	uint32_t process = scene_process_of(scene, db_int(row, 0));
	uint64_t used = (uint64_t)db_int(row, 2);
	int64_t time = db_int(row, 1);

	if (process == SCENE_NONE)
		return 0;
	count->sum += (uint64_t)db_int(row, 3) - count->recorded[process];
	count->recorded[process] = (uint64_t)db_int(row, 3);
	count->newest = used > count->sum ? used - count->sum : 0;
	if (count->moments->has[SCENE_BEFORE] && time <= count->moments->at[SCENE_BEFORE].time)
		scene->request.outside_before = count->newest;
	scene_climb(&count->climb, scene_span_at(scene, scene->request.process, time), count->newest);
	return 0;
}

/* Without a query of free bytes, takes them from the newest sample, unless the request would fit then. */
static void tell_free(struct scene_request *request, uint64_t held, uint64_t outside)
{
	if (!request->failure || (request->free >= 0 && strcmp(request->failure->free_by, "bound")) || !outside ||
	    held + outside > request->total || request->total - held - outside >= request->requested)
		return;
	request->free = (int64_t)(request->total - held - outside);
	request->missing = request->requested - (uint64_t)request->free;
}

static int load_samples(struct scene *scene, const struct scene_moments *moments)
{
	struct count count = { .recorded = calloc(scene->processes + 1, sizeof(*count.recorded)), .moments = moments };
	struct scene_request *request = &scene->request;
	const int64_t parameter[] = { request->device, request->when.time };
	size_t i;
	int error = count.recorded ? 0 : -MT_E_MEMORY;

	for (i = 0; i < scene->processes && !error; i++)
		count.sum += count.recorded[i] = scene->process[i].held;
	if (!error)
		error = scene_each(
			scene,
			"SELECT process, time, used_bytes, recorded_bytes FROM gpu_sample WHERE device = ?1 AND time <= ?2 "
			"AND recorded_bytes IS NOT NULL ORDER BY time",
			parameter, 2, take_sample, &count);
	tell_free(request, scene->held, count.newest);
	request->outside_steps = scene_climbed(&count.climb);
	request->outside_first = count.climb.first;
	free(count.recorded);
	return error;
}

/* A sample may be older than a peak of recorded calls. At this peak, outside bytes had at most the rest of the device. */
static int bound_outside(struct scene *scene)
{
	struct scene_request *request = &scene->request;
	const int64_t parameter[DB_PARAMETERS] = { request->device, request->when.time };
	uint64_t held = 0, rest;
	int error = answer_bytes(scene->db,
				 "SELECT ifnull(max(bytes), 0) FROM phase_peak WHERE device = ?1 AND time < ?2",
				 parameter, &held);

	rest = request->total > held ? request->total - held : 0;
	if (held && rest < request->outside_before)
		request->outside_before = rest;
	return error;
}

int scene_load_outside(struct scene *scene, const struct scene_moments *moments)
{
	struct scene_request *request = &scene->request;
	int error = load_samples(scene, moments);

	if (request->failure && request->total && request->free >= 0 &&
	    (uint64_t)request->free + scene->held < request->total)
		request->outside = request->total - (uint64_t)request->free - scene->held;
	if (!error && request->failure && request->outside)
		error = bound_outside(scene);
	return error ? error
		     : scene_each(scene,
				  "SELECT process, max(0, process_bytes - recorded_bytes), max(0, ifnull(unexplained_bytes, 0)) FROM gpu_sample "
				  "WHERE device = ?1 AND process_bytes IS NOT NULL AND recorded_bytes IS NOT NULL ORDER BY time DESC",
				  &request->device, 1, take_context, NULL);
}

/* Once the request fits, the largest peak of another phase is the next limit. */
static int take_phase_peak(struct scene *scene, const struct db_stmt *row, void *context MT_UNUSED)
{
	scene->phase_peak[scene_phase(db_text(row, 0))] = (uint64_t)db_int(row, 1);
	return 0;
}

int scene_load_peaks(struct scene *scene)
{
	return scene_each(scene, "SELECT phase, bytes FROM phase_peak WHERE device = ?1", &scene->request.device, 1,
			  take_phase_peak, NULL);
}
