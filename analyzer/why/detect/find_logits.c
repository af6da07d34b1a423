/*
 * Logits, tokens x vocabulary: the request with the equal pieces beside it, and other resident pieces.
 *
 * The request is for logits if a rule or its function says so, or if the process has made logits of this size.
 */
#include "detectors.h"

#define BLOCK 512           /* bytes: allocators round sizes up to a multiple */
#define SMALL (16ull << 20) /* bytes: smaller pieces can be masks and means */
#define MANY 6              /* pieces of one size: one forward makes three (float32, softmax, gradient) */

static int is_of_loss(const struct scene *scene, const struct scene_site *site)
{
	if (site->category == MT_CATEGORY_LOGITS)
		return 1;
	if (site->category != MT_CATEGORY_ACTIVATIONS && site->category != MT_CATEGORY_WORKSPACE &&
	    site->category != MT_CATEGORY_OTHER && site->category != MT_CATEGORY_EVALUATION)
		return 0;
	return (find_own_tags(scene, site->node) & (MT_TAG_BIT(LOSS) | MT_TAG_BIT(HEAD))) != 0;
}

static int is_same(uint64_t one, uint64_t two)
{
	return one <= two + BLOCK && two <= one + BLOCK;
}

static uint64_t each_of(const struct scene_site *site)
{
	return site->count_at[SCENE_NOW] ? site->most : site->most_before;
}

/* Whether the requesting process has, or had, a piece of logits of equally many elements at the site. */
static int is_alike(const struct scene *scene, const struct scene_site *site)
{
	uint64_t each = each_of(site), asked = scene->request.requested;

	return scene->request.failure && asked >= SMALL &&
	       (is_same(each, asked) || is_same(2 * each, asked) || is_same(each, 2 * asked)) &&
	       find_is_own(scene, site) && find_is_here(scene, site) && is_of_loss(scene, site);
}

/* A chunk as the request is one. */
static int is_chunk(const struct scene *scene, const struct scene_site *site)
{
	return is_alike(scene, site) && site->count_at[SCENE_NOW] && is_same(site->most, scene->request.requested);
}

/* Pieces of equally many elements: `each` bytes in the candidate, `most` bytes at the site. */
static void say_size(struct candidate *candidate, uint64_t each, const struct scene_site *site, uint64_t most)
{
	uint64_t element = site->element;

	if (element == 2 && is_same(each, 2 * most))
		element = 4;
	else if (element == 4 && is_same(2 * each, most))
		element = 2;
	candidate->fact[FACT_EACH] = (int64_t)each;
	if (!site->words || !element)
		return;
	candidate->fact[FACT_VOCABULARY] = (int64_t)site->words;
	candidate->fact[FACT_ELEMENT] = (int64_t)element;
	candidate->fact[FACT_TOKENS] = (int64_t)(each / site->words / element);
}

/* Many pieces are the chunks of a loss. Chunks save nothing while the program keeps each one for the backward. */
static int are_chunks(struct candidate *candidate, uint64_t pieces)
{
	candidate->fact[FACT_PIECES] = (int64_t)pieces;
	if (pieces < MANY)
		return 0;
	candidate->need = MT_NEED_LATER;
	return 1;
}

/* Many equal pieces count in full. For a few (float32, softmax, gradient) the request alone counts. */
static void add_asked(struct find *find, int is_named)
{
	const struct scene *scene = find->scene;
	struct candidate *candidate = find_add_request(find);
	const struct scene_site *site, *most = NULL;
	uint64_t pieces = 0;
	uint32_t i;

	for (i = 0; candidate && i < scene->sites; i++) {
		site = &scene->site[i];
		if (!is_alike(scene, site))
			continue;
		pieces += is_chunk(scene, site) ? site->count_at[SCENE_NOW] : 0;
		most = !most || site->at[SCENE_NOW] > most->at[SCENE_NOW] ? site : most;
		if (site->words)
			say_size(candidate, scene->request.requested, site, each_of(site));
	}
	if (!candidate)
		return;
	candidate->category = MT_CATEGORY_LOGITS;
	candidate->known = is_named ? SCENE_RULE : SCENE_PROBABLE;
	candidate->fact[FACT_EACH] = (int64_t)scene->request.requested;
	/* A request of autograd's thread has no telling function: take the forward that made the logits. */
	if (most && scene_telling(scene, scene->request.node) == SCENE_NONE)
		candidate->node = candidate->stack = most->node;
	if (!are_chunks(candidate, pieces + 1))
		return;
	for (i = 0; i < scene->sites; i++)
		if (is_chunk(scene, &scene->site[i]))
			find_part(find, candidate, i, scene->site[i].at[SCENE_NOW]);
}

static int is_resident(const struct scene *scene, const struct scene_site *site)
{
	return site->category == MT_CATEGORY_LOGITS && !is_alike(scene, site);
}

/* A few resident pieces are weak evidence, while the request is not for logits. */
static void say_resident(struct find *find, struct candidate *candidate)
{
	const struct scene_site *site = &find->scene->site[candidate->part[0].site];

	if (candidate->fact[FACT_EACH])
		say_size(candidate, (uint64_t)candidate->fact[FACT_EACH], site, site->most);
	candidate->doubt = !are_chunks(candidate, (uint64_t)candidate->fact[FACT_PIECES]);
}

void find_logits(struct find *find)
{
	const struct find_how how = { .need = MT_NEEDS, .done = say_resident };
	const struct scene *scene = find->scene;
	const struct scene_request *request = &scene->request;
	int is_named = request->failure && request->node != SCENE_NONE &&
		       (request->category == MT_CATEGORY_LOGITS ||
			(find_own_tags(scene, request->node) & (MT_TAG_BIT(LOSS) | MT_TAG_BIT(HEAD))));
	size_t i;

	for (i = 0; i < scene->sites && !is_named; i++)
		if (request->node != SCENE_NONE && is_alike(scene, &scene->site[i]))
			break;
	if (is_named || (i < scene->sites && request->node != SCENE_NONE))
		add_asked(find, is_named);
	find_sites(find, &how, is_resident);
}
