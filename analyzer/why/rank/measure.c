/* Bytes that the removal of a candidate frees, the peak after it, and its fix: one computation for all detectors. */
#include "rank.h"

static int has_wrong_size(const struct candidate *candidate)
{
	return candidate->cause == MT_CAUSE_TOO_LARGE || candidate->cause == MT_CAUSE_CRASHED;
}

static void measure(const struct scene *scene, struct candidate *candidate)
{
	const struct scene_request *request = &scene->request;
	uint64_t excess = candidate->bytes > candidate->expected ? candidate->bytes - candidate->expected : 0;

	candidate->freed_high = excess;
	candidate->freed_low = candidate->known == SCENE_PROBABLE ? excess / 2 : excess;
	candidate->fits = has_wrong_size(candidate) || (request->failure && excess >= request->missing && excess > 0);
}

/* The next peak after the removal: the moment of the request, or the recorded peak of another phase, the larger of the two. */
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

#define FIXES 8

/* The known facts of the candidate, as bits of mt_fix.facts. */
static uint32_t facts_of(const struct candidate *candidate)
{
	uint32_t facts = 1u << MT_FACT_PROCESS | 1u << MT_FACT_PHASE | 1u << MT_FACT_CATEGORY;

	facts |= (uint32_t)(candidate->bytes > 0) << MT_FACT_BYTES;
	facts |= (uint32_t)(candidate->node != SCENE_NONE) << MT_FACT_PLACE;
	facts |= (uint32_t)(candidate->fact[FACT_PIECES] > 0) << MT_FACT_PIECES;
	facts |= (uint32_t)(candidate->fact[FACT_EACH] > 0) << MT_FACT_EACH;
	facts |= (uint32_t)(candidate->fact[FACT_TOKENS] > 0) << MT_FACT_TOKENS;
	facts |= (uint32_t)(candidate->fact[FACT_VOCABULARY] > 0) << MT_FACT_VOCABULARY;
	facts |= (uint32_t)(candidate->fact[FACT_STEPS] > 0) << MT_FACT_STEPS;
	return facts | (uint32_t)(candidate->fact[FACT_RANKS] > 0) << MT_FACT_RANKS;
}

/* Chooses the best fix with known facts only; without one, the best fix. */
static void choose_fix(const struct mt_why *why, struct candidate *candidate, const struct mt_fix_question *question)
{
	const struct mt_fix *fix[FIXES];
	uint32_t facts = facts_of(candidate);
	size_t fixes, i;

	candidate->fix = mt_why_fix(why, question);
	if (!(candidate->fix->facts & ~facts))
		return;
	fixes = mt_why_fixes(why, question, fix, FIXES);
	for (i = fixes; i-- > 0;)
		if (!(fix[i]->facts & ~facts))
			candidate->fix = fix[i];
}

void measure_all(struct find *find)
{
	const struct scene *scene = find->scene;
	struct candidate *candidate;
	struct mt_fix_question question;
	size_t i;

	for (i = 0; i < find->candidates; i++) {
		candidate = &find->candidate[i];
		measure(scene, candidate);
		foretell(scene, candidate);
		question = (struct mt_fix_question){ .cause = candidate->cause,
						     .category = candidate->category,
						     .phase = candidate->phase,
						     .asking = scene->request.phase,
						     .who = scene->process[candidate->process].who,
						     .need = candidate->need,
						     .asker = scene->request.from_driver ? MT_ASKER_LIBRARY
											 : MT_ASKER_ALLOCATOR,
						     .alone = scene->process[candidate->process].rank < 0,
						     .tags = candidate->tags };
		if (candidate->parts ? scene->site[candidate->part[0].site].engine
				     : (candidate->tags & MT_TAG_BIT(ENGINE)) != 0)
			question.who = MT_WHO_ENGINE;
		choose_fix(scene->why, candidate, &question);
	}
}
