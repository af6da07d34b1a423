/* Host memory of the recorded processes, and its rise over the steps. */
#include <string.h>
#include "memtrace/error.h"
#include "memtrace/phase.h"
#include "scene_impl.h"
#include "store/load.h"

#define RATE_STEPS 3 /* fewer steps can be a start, a warm-up and a single step */
#define MUCH 8       /* divisor: a rise below 1/8 of the resident bytes is noise */

static int take_host(struct scene *scene, const struct db_stmt *row, void *context MT_UNUSED)
{
	uint32_t process = scene_process_of(scene, db_int(row, 0));
	struct scene_host *host;

	if (process == SCENE_NONE)
		return 0;
	host = scene_add(&scene->host, &scene->hosts, sizeof(*host));
	if (!host)
		return -MT_E_MEMORY;
	*host = (struct scene_host){ .process = process,
				     .node = SCENE_NONE,
				     .function = "",
				     .phase = MT_PHASE_OTHER,
				     .resident = (uint64_t)db_int(row, 1),
				     .used = (uint64_t)db_int(row, 2),
				     .room = (uint64_t)db_int(row, 3),
				     .time = db_int(row, 4),
				     .is_full = db_int(row, 5) != 0,
				     .machine = (uint32_t)db_int(row, 6) };
	return 0;
}

const struct scene_span *scene_span_at(const struct scene *scene, uint32_t index, int64_t time)
{
	const struct scene_process *process = &scene->process[index];
	const struct scene_span *span = &scene->span[process->first_span];
	uint32_t low = 0, high = process->spans, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (span[middle].first_time <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &span[low - 1] : NULL;
}

void scene_climb(struct scene_climb *climb, const struct scene_span *span, uint64_t bytes)
{
	if (!span || span->phase == MT_PHASE_INIT || span->phase == MT_PHASE_BEFORE)
		return;
	if (!climb->from) {
		climb->from = climb->to = span->step;
		climb->first = climb->last = bytes;
		return;
	}
	if (span->step > climb->to)
		climb->falls |= bytes <= climb->last;
	climb->to = span->step;
	climb->last = bytes;
}

int64_t scene_climbed(const struct scene_climb *climb)
{
	return climb->to - climb->from >= RATE_STEPS && !climb->falls && climb->last > climb->first
		       ? climb->to - climb->from
		       : 0;
}

struct look {
	struct scene_host *host;
	const struct scene_span *last;
	uint64_t before; /* bytes at the last sample before the newest phase */
	struct scene_climb climb;
};

static int take_sample(struct scene *scene, const struct db_stmt *row, void *context)
{
	struct look *look = context;
	struct scene_host *host = look->host;
	uint64_t resident = (uint64_t)db_int(row, 1);

	if (!host->first) {
		host->first = look->before = resident;
		host->used_first = (uint64_t)db_int(row, 2);
	}
	if (look->last && db_int(row, 0) < look->last->first_time)
		look->before = resident;
	scene_climb(&look->climb, scene_span_at(scene, host->process, db_int(row, 0)), resident);
	return 0;
}

static int take_place(struct scene *scene, const struct db_stmt *row, void *context)
{
	struct scene_host *host = context;
	const struct scene_span *span = scene_span_at(scene, host->process, db_int(row, 1));
	uint32_t node;

	host->node = scene_node_of(scene, db_int(row, 0));
	host->phase = span ? span->phase : MT_PHASE_OTHER;
	node = scene_telling(scene, host->node);
	if (node != SCENE_NONE)
		host->function = scene->frame[scene->node[node].frame].frame.function;
	return 0;
}

static void tell_rise(struct scene_host *host, uint64_t before)
{
	uint64_t much = host->resident / MUCH, rise = host->resident > before ? host->resident - before : 0;

	if (rise < much)
		rise = host->resident > host->first ? host->resident - host->first : 0;
	host->rise = rise;
	host->rose = rise > 0 && rise >= much;
}

/* Reads samples and place of one process. A release can be the place, too: an engine that goes to sleep only releases. */
static int look_at(struct scene *scene, struct scene_host *host)
{
	const int64_t process = scene->process[host->process].id;
	struct look look = { .host = host, .last = scene_span_at(scene, host->process, INT64_MAX) };
	int error =
		scene_each(scene,
			   "SELECT time, rss_bytes, cgroup_bytes FROM host_sample WHERE process = ?1 AND rss_bytes IS NOT NULL "
			   "ORDER BY time",
			   &process, 1, take_sample, &look);

	host->steps = scene_climbed(&look.climb);
	host->rate = host->steps ? (look.climb.last - look.climb.first) / (uint64_t)host->steps : 0;
	tell_rise(host, look.before);
	if (error)
		return error;
	return scene_each(
		scene,
		"SELECT node, time FROM (SELECT * FROM (SELECT alloc_seq AS seq, node, alloc_time AS time FROM allocation WHERE process = ?1 "
		"ORDER BY alloc_seq DESC LIMIT 1) UNION ALL SELECT * FROM (SELECT free_seq, "
		"ifnull((SELECT shared FROM temp.freed_as AS own WHERE own.node = free_node), free_node), free_time FROM allocation WHERE "
		"process = ?1 AND memory = 'device' AND free_node IS NOT NULL ORDER BY free_seq DESC LIMIT 1)) ORDER BY seq DESC LIMIT 1",
		&process, 1, take_place, host);
}

static int by_place(const void *one, const void *two)
{
	const struct scene_host *a = one, *b = two;
	int order = MT_ORDER(a->machine, b->machine);

	order = order ? order : strcmp(a->function, b->function);
	order = order ? order : MT_ORDER(b->rise, a->rise);
	return order ? order : MT_ORDER(a->process, b->process);
}

int scene_host_is_full(const struct scene *scene)
{
	size_t i;

	for (i = 0; i < scene->hosts; i++)
		if (scene->host[i].is_full)
			return 1;
	return 0;
}

/* Reads samples and places only if a host was full: they need a pass over all allocations of each process. */
int scene_load_hosts(struct scene *scene)
{
	size_t i;
	int error = scene_each(
		    scene,
		    "SELECT process, rss_bytes, cgroup_bytes, ifnull(cgroup_limit_bytes, cgroup_bytes + available_bytes), time, "
		    "verdict IS NOT NULL, dense_rank() OVER (ORDER BY boot_id) "
		    "FROM host_memory JOIN process AS it ON it.id = process ORDER BY process",
		    NULL, 0, take_host, NULL),
	    is_full = scene_host_is_full(scene);

	if (is_full && !error)
		error = db_execute(scene->db, LOAD_FREED_AS);
	for (i = 0; i < scene->hosts && is_full && !error; i++)
		error = look_at(scene, &scene->host[i]);
	if (scene->hosts)
		qsort(scene->host, scene->hosts, sizeof(*scene->host), by_place);
	return error;
}
