/*
 * Logits, tokens x vocabulary: the request and equal pieces, or else resident pieces.
 *
 *     asked     a rule or the function says so, or the request has the size of resident logits
 *     whole     the request is a chunk, and pieces of many such chunks are resident
 *     chunks    many resident pieces of one size, from a loop that needs one at a time
 */
#include "detectors.h"
#include "why/find/find.h"

#define BLOCK 512            /* bytes: allocators round sizes up to a multiple */
#define ODD_LEAST 32         /* odd part of a vocabulary: any size is a multiple of powers of two */
#define SMALL (16ull << 20)  /* bytes: smaller pieces can be masks and means */
#define MANY 6               /* pieces of one size: one forward makes three (float32, softmax, gradient) */
#define TOKENS_TOP (1 << 24) /* more tokens than a micro-batch has */
#define CHUNKS 4             /* least number of chunks in a whole piece: fewer can be another dtype or a shifted copy */
#define POOL 8               /* times the request: a pool this large can easily give up the bytes */

static uint64_t each_of(const struct scene_site *site)
{
	return site->count_at[SCENE_NOW] ? site->most : site->most_before;
}

static int is_same(uint64_t one, uint64_t two)
{
	return one <= two + BLOCK && two <= one + BLOCK;
}

/* Whether the sizes can have equally many elements, of equal, half or double width. */
static int is_as_many(uint64_t one, uint64_t two)
{
	return is_same(one, two) || is_same(2 * one, two) || is_same(one, 2 * two);
}

static int is_of_loss(const struct scene *scene, const struct scene_site *site)
{
	if (site->category == MT_CATEGORY_LOGITS)
		return 1;
	if (site->category != MT_CATEGORY_ACTIVATIONS && site->category != MT_CATEGORY_WORKSPACE &&
	    site->category != MT_CATEGORY_OTHER && site->category != MT_CATEGORY_EVALUATION)
		return 0;
	return (find_own_tags(scene, site->node) & (MT_TAG_BIT(LOSS) | MT_TAG_BIT(HEAD))) != 0;
}

static uint64_t odd_part(uint64_t number)
{
	while (number && !(number & 1))
		number >>= 1;
	return number;
}

/* The element size that makes `bytes` a whole number of tokens; 0: none. */
static uint64_t element_of(uint64_t bytes, uint64_t words)
{
	uint64_t element;

	for (element = 4; element >= 2 && words; element /= 2)
		if (bytes % (words * element) < BLOCK && bytes / (words * element) < TOKENS_TOP)
			return element;
	return 0;
}

/* The request's size and vocabulary, and the evidence that it is logits. */
struct asked {
	uint64_t bytes, words, element;
	int is_logits, is_named; /* named: by rule or function, not by size alone */
};

static void compare(struct asked *asked, const struct scene *scene, const struct scene_site *site)
{
	uint64_t each = each_of(site);

	if (each < SMALL || asked->bytes < SMALL || !find_is_own(scene, site) || !is_of_loss(scene, site) ||
	    !is_as_many(asked->bytes, each))
		return;
	asked->is_logits = 1;
	if (!site->words || asked->words)
		return;
	asked->words = site->words;
	asked->element = is_same(asked->bytes, each) ? site->element : element_of(asked->bytes, site->words);
}

static struct asked look_at(struct find *find)
{
	const struct scene *scene = find->scene;
	const struct scene_request *request = &scene->request;
	struct asked asked = { .bytes = request->requested };
	size_t i;

	if (!request->failure || request->node == SCENE_NONE)
		return asked;
	asked.is_named = request->category == MT_CATEGORY_LOGITS ||
			 (find_own_tags(scene, request->node) & (MT_TAG_BIT(LOSS) | MT_TAG_BIT(HEAD)));
	asked.is_logits = asked.is_named;
	for (i = 0; i < scene->sites; i++)
		compare(&asked, scene, &scene->site[i]);
	return asked;
}

static int is_alike(const struct scene *scene, const struct scene_site *site, uint64_t bytes)
{
	return find_is_own(scene, site) && find_is_here(scene, site) && site->count_at[SCENE_NOW] &&
	       is_as_many(site->most, bytes) && site->least >= site->most / 2 && is_of_loss(scene, site);
}

static void say_size(struct candidate *candidate, uint64_t each, uint64_t words, uint64_t element)
{
	candidate->fact[FACT_EACH] = (int64_t)each;
	if (!words || !element)
		return;
	candidate->fact[FACT_VOCABULARY] = (int64_t)words;
	candidate->fact[FACT_ELEMENT] = (int64_t)element;
	candidate->fact[FACT_TOKENS] = (int64_t)(each / words / element);
}

/* Number of resident logits pieces beside the request. */
struct pieces {
	uint64_t all, same; /* same: pieces of the request's size and step; older pieces belong to `grows` */
	uint32_t node;      /* node of the largest site */
};

static int is_same_run(const struct scene *scene, const struct scene_site *site)
{
	return is_same(site->most, scene->request.requested) && site->first_step == scene->request.step;
}

static struct pieces count_pieces(const struct scene *scene)
{
	struct pieces pieces = { .node = SCENE_NONE };
	const struct scene_site *site;
	uint64_t most = 0;
	size_t i;

	for (i = 0; i < scene->sites; i++) {
		site = &scene->site[i];
		if (!is_alike(scene, site, scene->request.requested))
			continue;
		pieces.all += site->count_at[SCENE_NOW];
		pieces.node = site->at[SCENE_NOW] > most ? site->node : pieces.node;
		most = site->at[SCENE_NOW] > most ? site->at[SCENE_NOW] : most;
		pieces.same += is_same_run(scene, site) ? site->count_at[SCENE_NOW] : 0;
	}
	return pieces;
}

/* Many equal pieces count in full. For a few (float32, softmax, gradient) the request alone counts. */
static void add_pieces(struct find *find, struct candidate *candidate)
{
	const struct scene *scene = find->scene;
	const struct pieces pieces = count_pieces(scene);
	size_t i;

	/* A request of autograd's thread has no telling function: take the forward that made the logits. */
	if (scene_telling(scene, scene->request.node) == SCENE_NONE && pieces.node != SCENE_NONE)
		candidate->node = candidate->stack = pieces.node;
	candidate->fact[FACT_PIECES] = (int64_t)pieces.all + 1;
	if (pieces.same < MANY)
		return;
	candidate->fact[FACT_PIECES] = (int64_t)pieces.same + 1;
	for (i = 0; i < scene->sites; i++)
		if (is_alike(scene, &scene->site[i], scene->request.requested) && is_same_run(scene, &scene->site[i]))
			find_part(find, candidate, (uint32_t)i, scene->site[i].at[SCENE_NOW]);
}

/* Many equal pieces show a chunked loss. Chunks save nothing if the program keeps each one. */
static void add_kept_chunks(struct find *find, size_t index)
{
	struct candidate *copy = find_add_request(find, MT_CAUSE_SETTING_IGNORED, find->scene->request.requested);
	const struct candidate *logits = &find->candidate[index];
	size_t i;

	if (!copy)
		return;
	for (i = 0; i < logits->parts; i++)
		find_part(find, copy, logits->part[i].site, logits->part[i].bytes);
	copy->bytes = logits->bytes;
	copy->node = logits->node;
	copy->stack = logits->stack;
	copy->category = logits->category;
	copy->known = logits->known;
	copy->fact[FACT_PIECES] = logits->fact[FACT_PIECES];
	copy->fact[FACT_EACH] = logits->fact[FACT_EACH];
}

static uint64_t own_pool(const struct scene *scene)
{
	const struct scene_site *site;
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < scene->sites; i++) {
		site = &scene->site[i];
		if (find_is_own(scene, site) && find_is_here(scene, site) && find_is_pool(scene, site))
			bytes += site->at[SCENE_NOW];
	}
	return bytes;
}

static void find_asked_logits(struct find *find, const struct asked *asked)
{
	struct candidate *candidate = find_add_request(find, MT_CAUSE_LOGITS, find->scene->request.requested);

	if (!candidate)
		return;
	add_pieces(find, candidate);
	candidate->category = MT_CATEGORY_LOGITS;
	candidate->known = asked->is_named ? SCENE_RULE : SCENE_PROBABLE;
	/* Logits below 1/50 of the device, or small beside an engine's pool, fail by chance. */
	candidate->doubt = candidate->bytes < find->scene->request.total / 50 ||
			   own_pool(find->scene) >= POOL * candidate->bytes;
	say_size(candidate, asked->bytes, asked->words, asked->element);
	if (candidate->bytes > asked->bytes)
		add_kept_chunks(find, find->candidates - 1);
}

/* Resident pieces, while the request is not for logits. */
static void say_pieces(struct find *find, struct candidate *candidate)
{
	const struct scene_site *site = &find->scene->site[candidate->part[0].site];

	if (candidate->fact[FACT_EACH])
		say_size(candidate, (uint64_t)candidate->fact[FACT_EACH], site->words, site->element);
}

static void say_doubt(struct find *find, struct candidate *candidate)
{
	say_pieces(find, candidate);
	candidate->doubt = 1;
}

/* Kept logits can have any category: set the right one. */
static void say_whole(struct find *find, struct candidate *candidate)
{
	say_pieces(find, candidate);
	candidate->category = MT_CATEGORY_LOGITS;
}

static uint64_t common(uint64_t one, uint64_t two)
{
	uint64_t rest;

	while (two) {
		rest = one % two;
		one = two;
		two = rest;
	}
	return one;
}

/* Whether both sizes are multiples of one row of the vocabulary. Rows of hidden states have another size. */
static int is_whole_of(const struct scene *scene, const struct scene_site *site, uint64_t chunk)
{
	return find_is_own(scene, site) && find_is_here(scene, site) &&
	       (site->category == MT_CATEGORY_ACTIVATIONS || site->category == MT_CATEGORY_LOGITS) &&
	       site->least >= CHUNKS * chunk && odd_part(common(site->most, chunk)) >= ODD_LEAST;
}

static void find_whole_pieces(struct find *find, const struct asked *asked)
{
	const struct find_how how = { .cause = MT_CAUSE_LOGITS, .need = MT_NEEDS };
	const struct scene *scene = find->scene;
	size_t i;

	for (i = 0; i < scene->sites && asked->is_named; i++)
		if (is_whole_of(scene, &scene->site[i], asked->bytes))
			find->take[i] = scene->site[i].at[SCENE_NOW];
	find_groups(find, &how, say_whole);
}

static int is_chunks(const struct scene_site *site)
{
	return site->count_at[SCENE_NOW] >= MANY && site->least >= site->most / 2;
}

/* Takes resident pieces. Kept chunks are stronger evidence than a few pieces. */
static void find_there(struct find *find, const struct asked *asked, int chunks)
{
	const struct find_how how = { .cause = MT_CAUSE_LOGITS, .need = MT_NEEDS };
	const struct scene *scene = find->scene;
	const struct scene_site *site;
	size_t i;

	find_begin(find);
	for (i = 0; i < scene->sites; i++) {
		site = &scene->site[i];
		if (find_is_here(scene, site) && site->category == MT_CATEGORY_LOGITS && is_chunks(site) == chunks &&
		    !(asked->is_logits && is_alike(scene, site, asked->bytes)))
			find->take[i] = site->at[SCENE_NOW];
	}
	find_groups(find, &how, chunks ? say_pieces : say_doubt);
}

void find_logits(struct find *find)
{
	struct asked asked = look_at(find);

	if (asked.is_logits)
		find_asked_logits(find, &asked);
	find_whole_pieces(find, &asked);
	find_there(find, &asked, 1);
	find_there(find, &asked, 0);
}
