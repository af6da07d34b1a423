/* Reads the lives of all allocations in one pass: bytes of each site at each moment, and resident blocks. */
#include "memtrace/error.h"
#include "query/lives.h"
#include "scene_impl.h"

/* Whether the allocation is alive at the moment, as query/alive.h defines. */
static int is_there(const struct life *life, const struct scene_process *process, const struct alive_moment *when)
{
	if (!scene_before(life->since_time, process->id, life->since_seq, when))
		return 0;
	if (life->ends)
		return !scene_before(life->until_time, process->id, life->until_seq, when);
	return process->over_time < 0 || !scene_before(process->over_time, process->id, process->over_seq, when);
}

/* ---- blocks ---- */

#define B(member) FACTS_MEMBER(scene_block, member)
static const struct facts_member members[] = { B(site), B(step), B(seq), B(time), B(bytes) };
#undef B

struct packed scene_no_blocks(void)
{
	return packed_of(members, MT_ARRAY_SIZE(members), sizeof(struct scene_block));
}

static int by_birth(const void *one, const void *two)
{
	const struct scene_block *a = one, *b = two;

	return a->seq != b->seq ? MT_ORDER(a->seq, b->seq) : MT_ORDER(a->time, b->time);
}

/* ---- lives ---- */

struct lives {
	struct scene *scene;
	const struct scene_moments *moments;
	int64_t newest; /* block */
	int disordered; /* 1: blocks do not come in order of birth, as those of a kept moment do */
};

static int add_block(struct lives *lives, uint32_t site, const struct life *life)
{
	const struct scene_block block = {
		.site = site, .step = (uint32_t)life->step, .seq = life->seq, .time = life->time, .bytes = life->bytes
	};

	lives->disordered |= life->seq < lives->newest;
	lives->newest = life->seq;
	return packed_add(&lives->scene->blocks, &block);
}

static void note_block(struct scene_site *site, const struct life *life)
{
	if (!site->count_at[SCENE_NOW] || life->bytes < site->least)
		site->least = life->bytes;
	if (life->bytes > site->most)
		site->most = life->bytes;
	if (!site->count_at[SCENE_NOW] || life->step < site->first_step)
		site->first_step = life->step;
	if (life->step > site->last_step)
		site->last_step = life->step;
}

/* Counts the site's allocations before the moment, those freed, and those freed in the step of their birth. */
static void note_history(struct scene_site *site, const struct life *life, struct scene *scene,
			 const struct scene_moments *moments)
{
	struct scene_process *process = &scene->process[site->process];
	uint64_t bytes = life->bytes + life->asleep;
	int is_over, is_earlier;

	if (!scene_before(life->since_time, process->id, life->since_seq, &scene->request.when))
		return;
	process->sleeps |= life->asleep > 0;
	if (life->since_seq == life->seq)
		site->made++;
	is_earlier = site->process == scene->request.process ? life->step < scene->request.step
							     : life->time < moments->early_time;
	is_over = life->ends && scene_before(life->until_time, process->id, life->until_seq, &scene->request.when);
	if ((moments->freed_is_early ? is_over : is_earlier) && bytes > site->most_before)
		site->most_before = bytes;
	if (is_over) {
		site->freed++;
		site->freed_home += life->free_step == life->step;
	}
}

/* Whether the kept sums have this life. They have all lives but sleepers and the lives on the request's device at the moment. */
static int is_in_sums(const struct scene *scene, const struct scene_moments *moments, const struct scene_site *site,
		      const struct life *life)
{
	return scene->kept && !life->slept &&
	       (site->device != scene->request.device ||
		!is_there(life, &scene->process[site->process], &moments->at[SCENE_NOW]));
}

/* Returns the moment at which the site's bytes count; NULL: the site has no such moment. */
static const struct alive_moment *moment_of(const struct scene *scene, const struct scene_moments *moments,
					    const struct scene_site *site, int at)
{
	const struct scene_process *process = &scene->process[site->process];

	if (at == SCENE_PEER)
		return process->is_peer ? &process->peer : NULL;
	return moments->has[at] && site->device == scene->request.device ? &moments->at[at] : NULL;
}

static int take_life(void *context, const struct life *life)
{
	struct lives *lives = context;
	struct scene *scene = lives->scene;
	const struct scene_moments *moments = lives->moments;
	uint32_t index = scene_site_of(scene, life->site);
	const struct alive_moment *when;
	struct scene_site *site;
	int at, is_summed, error = 0;

	if (index == SCENE_NONE)
		return -MT_E_CORRUPT;
	site = &scene->site[index];
	if (!life->counts || site->caching)
		return 0;
	site->in_use = 1;
	is_summed = is_in_sums(scene, moments, site, life);
	if (!is_summed)
		note_history(site, life, scene, moments);
	for (at = is_summed ? SCENE_PEER : 0; at < SCENE_ATS && !error; at++) {
		when = moment_of(scene, moments, site, at);
		if (!when || !is_there(life, &scene->process[site->process], when))
			continue;
		if (at == SCENE_NOW) {
			note_block(site, life);
			site->asleep += life->asleep;
			error = add_block(lives, index, life);
		}
		site->at[at] += life->bytes;
		site->count_at[at]++;
	}
	return error;
}

int scene_load_lives(struct scene *scene, struct scene_moments *moments)
{
	struct lives lives = { .scene = scene, .moments = moments };
	int error = lives_each(scene->db, scene->kept, take_life, &lives);
	size_t i;

	if (!error && lives.disordered)
		error = packed_sort(&scene->blocks, by_birth);
	if (error)
		return error;
	for (i = 0; i < scene->sites; i++) {
		scene->in_use += scene->site[i].at[SCENE_NOW];
		scene->process[scene->site[i].process].in_use += scene->site[i].at[SCENE_NOW];
		scene->process[scene->site[i].process].asleep += scene->site[i].asleep;
	}
	return 0;
}
