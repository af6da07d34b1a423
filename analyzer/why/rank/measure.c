/* Computes for each candidate the bytes that its removal frees, the next peak after the removal, and its fix. */
#include "rank.h"

static void measure(const struct scene *scene, struct candidate *candidate)
{
	const struct scene_request *request = &scene->request;
	uint64_t excess = candidate->bytes > candidate->expected ? candidate->bytes - candidate->expected : 0;

	candidate->freed_high = excess;
	candidate->freed_low = candidate->known == SCENE_PROBABLE ? excess / 2 : excess;
	candidate->fits = candidate->cause == MT_CAUSE_TOO_LARGE || candidate->cause == MT_CAUSE_CRASHED ||
			  (request->failure && excess >= request->missing && excess > 0);
}

/* The next peak after the removal is the larger of two: the moment of the request, and the recorded peak of each other phase. */
static void foretell(const struct scene *scene, struct candidate *candidate)
{
	const struct scene_request *request = &scene->request;
	int phase;

	if (!request->failure || !candidate->fits || candidate->freed_high > scene->held)
		return;
	candidate->next_peak = scene->held - candidate->freed_high + request->requested;
	candidate->next_phase = request->phase;
	for (phase = 0; phase < MT_PHASE_COUNT; phase++)
		if (phase != (int)request->phase && scene->phase_peak[phase] > candidate->next_peak) {
			candidate->next_peak = scene->phase_peak[phase];
			candidate->next_phase = (enum mt_phase)phase;
		}
}

static int is_of_engine(const struct scene *scene, const struct candidate *candidate)
{
	return candidate->parts ? scene->site[candidate->part[0].site].engine
				: (candidate->tags & MT_TAG_BIT(ENGINE)) != 0;
}

struct mt_fix_question rank_question(const struct scene *scene, const struct candidate *candidate)
{
	const struct scene_process *process = &scene->process[candidate->process];
	int library = scene->request.from_driver || candidate->process != scene->request.process;

	return (struct mt_fix_question){ .cause = candidate->cause,
					 .category = candidate->category,
					 .phase = candidate->phase,
					 .asking = scene->request.phase,
					 .who = is_of_engine(scene, candidate) ? MT_WHO_ENGINE : process->who,
					 .need = candidate->need,
					 .asker = library ? MT_ASKER_LIBRARY : MT_ASKER_ALLOCATOR,
					 .alone = process->rank < 0,
					 .tags = candidate->tags };
}

void measure_all(struct find *find)
{
	struct candidate *it = find->candidate, *end = it + find->candidates;
	struct mt_fix_question question;

	for (; it < end; it++) {
		measure(find->scene, it);
		foretell(find->scene, it);
		question = rank_question(find->scene, it);
		it->fix = mt_why_fix(find->scene->why, &question);
	}
}
