/*
 * Logits (tokens x vocabulary): the request with the resident pieces of its size, and other resident logits.
 *
 * The request is for logits if a rule or its function says this, or if the process has made logits of this size.
 */
#include "detectors.h"

#define BLOCK 512           /* bytes: allocators round sizes up to a multiple */
#define SMALL (16ull << 20) /* bytes: a smaller piece can be a mask or a mean */
#define MANY 6              /* pieces of one size: one forward makes only three (float32, softmax, gradient) */

#define MAY_BE_LOGITS (SCENE_SET(ACTIVATIONS) | SCENE_SET(WORKSPACE) | SCENE_SET(OTHER) | SCENE_SET(EVALUATION))

static int is_at_loss(const struct scene *scene, uint32_t node)
{
	return (find_own_tags(scene, node) & (MT_TAG_BIT(LOSS) | MT_TAG_BIT(HEAD) | MT_TAG_BIT(WORDS))) != 0;
}

static int is_of_loss(const struct scene *scene, const struct scene_site *site)
{
	return site->category == MT_CATEGORY_LOGITS ||
	       (scene_is_of(site->category, MAY_BE_LOGITS) && is_at_loss(scene, site->node));
}

static int is_same(uint64_t one, uint64_t two)
{
	return one <= two + BLOCK && two <= one + BLOCK;
}

static uint64_t each_of(const struct scene_site *site)
{
	return site->count_at[SCENE_NOW] ? site->most : site->most_before;
}

/* Whether the site has, or had, a piece of logits of the requesting process with as many elements as the request. */
static int is_alike(const struct scene *scene, const struct scene_site *site)
{
	uint64_t each = each_of(site), asked = scene->request.requested;

	return scene->request.failure && asked >= SMALL &&
	       (is_same(each, asked) || is_same(2 * each, asked) || is_same(each, 2 * asked)) &&
	       find_is_own(scene, site) && find_is_here(scene, site) && is_of_loss(scene, site);
}

/* Stores bytes, vocabulary and tokens of a piece. `each` bytes in the candidate have as many elements as `most` bytes at the site. */
static void say_size(struct candidate *candidate, uint64_t each, const struct scene_site *site, uint64_t most)
{
	uint64_t element = most ? (site->element * each + most / 2) / most : 0;

	element = element == 2 || element == 4 ? element : site->element;
	candidate->fact[FACT_EACH] = (int64_t)each;
	if (!site->words || !element)
		return;
	candidate->fact[FACT_VOCABULARY] = (int64_t)site->words;
	candidate->fact[FACT_ELEMENT] = (int64_t)element;
	candidate->fact[FACT_TOKENS] = (int64_t)(each / site->words / element);
}

/* Many pieces are the chunks of a loss. Chunking saves no memory while the program keeps each chunk for the backward. */
static int are_chunks(struct candidate *candidate, uint64_t pieces)
{
	if (pieces < MANY)
		return 0;
	candidate->fact[FACT_PIECES] = (int64_t)pieces;
	candidate->need = MT_NEED_LATER;
	return 1;
}

/* Adds the request. Resident pieces of its size count if they are chunks. A few (float32, softmax, gradient) do not count. */
static void add_asked(struct find *find)
{
	const struct scene *scene = find->scene;
	const struct scene_request *request = &scene->request;
	const struct scene_site *site, *most = NULL, *end = scene->site + scene->sites;
	int is_named = request->category == MT_CATEGORY_LOGITS ||
		       (scene_is_of(request->category, MAY_BE_LOGITS) && is_at_loss(scene, request->node));
	struct candidate *candidate;
	uint64_t pieces = 0;

	for (site = scene->site; site < end; site++)
		if (is_alike(scene, site) && (!most || site->at[SCENE_NOW] > most->at[SCENE_NOW]))
			most = site;
	if ((!is_named && !most) || request->phase == MT_PHASE_OPTIMIZER)
		return; /* a state of the head can have the size of logits */
	candidate = find_add_request(find);
	candidate->category = MT_CATEGORY_LOGITS;
	candidate->known = is_named ? SCENE_RULE : SCENE_PROBABLE;
	candidate->fact[FACT_EACH] = (int64_t)request->requested;
	/* A request on autograd's thread has no telling function. The place is then the forward that made the logits. */
	if (most && scene_telling(scene, request->node) == SCENE_NONE)
		candidate->node = candidate->stack = most->node;
	for (site = scene->site; most && site < end; site++) {
		if (!is_alike(scene, site))
			continue;
		if (site->words)
			say_size(candidate, request->requested, site, each_of(site));
		if (is_same(site->most, request->requested))
			pieces += find->take[site - scene->site] = site->count_at[SCENE_NOW];
	}
	if (are_chunks(candidate, pieces + 1))
		for (site = scene->site; site < end; site++)
			if (find->take[site - scene->site])
				find_part(find, candidate, (uint32_t)(site - scene->site), site->at[SCENE_NOW]);
	memset(find->take, 0, scene->sites * sizeof(*find->take));
}

static int is_resident(const struct scene *scene, const struct scene_site *site)
{
	return site->category == MT_CATEGORY_LOGITS && !is_alike(scene, site);
}

/* Fewer resident pieces than MANY are weak evidence. */
static void say_resident(struct find *find, struct candidate *candidate)
{
	const struct scene_site *site = &find->scene->site[candidate->part[0].site];

	if (candidate->fact[FACT_EACH])
		say_size(candidate, (uint64_t)candidate->fact[FACT_EACH], site, site->most);
	candidate->doubt = !are_chunks(candidate, (uint64_t)candidate->fact[FACT_PIECES]);
}

void find_logits(struct find *find)
{
	if (find->scene->request.failure && find->scene->request.node != SCENE_NONE)
		add_asked(find);
	find_sites(find, &(struct find_how){ .need = MT_NEEDS, .done = say_resident }, is_resident);
}
