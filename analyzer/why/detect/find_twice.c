/*
 * The same data a second time.
 *
 *     copies      blocks with the sizes of earlier weights, in the same or another dtype
 *     in transit  weights on their way to an engine, and state dicts
 *     request     the failed request is a copy of resident bytes
 */
#include "detectors.h"
#include "why/find/find_sizes.h"

#define NEAR 2 /* percent: padding of buckets and adapters of a model take less */

/* Ratios of copy and original: equal; double and half (float32 and 16 bits); four and eight (8 or 4 bits made 16 or 32). */
static const struct find_sizes_ratio ratios[] = { { 1, 1 }, { 2, 1 }, { 1, 2 }, { 4, 1 }, { 1, 4 }, { 8, 1 } };

#define RATIOS (sizeof(ratios) / sizeof(ratios[0]))

/* ---- comparison ---- */

/* The ratio that matches most bytes of the site; bytes 0: none. */
static struct find_sizes_match best_match(const struct find_sizes *sizes, const struct find_sizes *site, int64_t since)
{
	struct find_sizes_match best = { .bytes = 0 }, match;
	size_t i;

	for (i = 0; i < RATIOS; i++) {
		match = find_sizes_match(sizes, site, ratios[i], since);
		if (match.bytes > best.bytes)
			best = match;
	}
	return best;
}

static int is_most(const struct find_sizes_match *match)
{
	return match->bytes > 0 && match->bytes >= match->of / 100 * FIND_SIZES_MOST;
}

/*
 * A copy matches in several sizes, or has at most as many pieces of one size as its original. An embedding and a head of equal size
 * are no copies, unless a copying function made the second.
 */
static int is_copy(const struct find_sizes_match *match, const struct scene_site *site)
{
	return is_most(match) && (match->pieces >= FIND_SIZES_MANY || (site->tags & MT_TAG_BIT(COPY))) &&
	       (match->kinds > 1 || match->pieces <= match->there);
}

static int is_near(uint64_t bytes, uint64_t other)
{
	return bytes >= other / 100 * (100 - NEAR) && bytes <= other / 100 * (100 + NEAR);
}

/* Whether the site's category is, or can be, a part of a model. */
static int may_be_copy(const struct scene *scene, const struct scene_site *site)
{
	return find_is_here(scene, site) && !site->driver &&
	       (site->category == MT_CATEGORY_WEIGHTS || site->category == MT_CATEGORY_OTHER ||
		site->category == MT_CATEGORY_WORKSPACE);
}

static void take_copies(struct find *find, uint32_t process, int engine, const struct find_sizes *weights)
{
	const struct scene *scene = find->scene;
	const struct scene_site *site;
	struct find_sizes_match match;
	struct find_sizes sizes;
	size_t from, to;

	for (from = 0; from < scene->blocks && !find->failed; from = to) {
		to = find_site_end(scene, from);
		site = &scene->site[scene->block[from].site];
		if (site->process != process || site->engine != engine || !may_be_copy(scene, site))
			continue;
		find->failed = find_sizes_site(&sizes, scene, from, to);
		match = best_match(weights, &sizes, scene->block[from].seq);
		find->take[scene->block[from].site] = is_copy(&match, site) ? match.bytes : 0;
		find_sizes_release(&sizes);
	}
}

/* An engine inside a trainer has its own weights by design: compare each with itself. */
static void take_process(struct find *find, uint32_t process, int engine)
{
	struct find_sizes weights;
	int error = find_sizes_load(&weights, find->scene, process, engine);

	if (error)
		find->failed = error;
	else
		take_copies(find, process, engine, &weights);
	find_sizes_release(&weights);
}

/* ---- copies ---- */

/* The model computes with one of the two copies, and never with a state dict. */
static void say_not_now(struct find *find, struct candidate *candidate)
{
	(void)find;
	find_not_now(candidate);
}

/* A copy of less than a hundredth of the device is no cause. */
static void find_copies(struct find *find)
{
	const struct find_how how = { .cause = MT_CAUSE_TWICE,
				      .reference = REFERENCE_MODEL,
				      .by_category = 1,
				      .need = MT_NEEDS,
				      .least = find->scene->request.total / 100 };
	uint32_t process;

	find_begin(find);
	for (process = 0; process < find->scene->processes && !find->failed; process++) {
		if (!find->scene->process[process].in_use)
			continue;
		take_process(find, process, 0);
		take_process(find, process, 1);
	}
	find_groups(find, &how, say_not_now);
}

/* ---- in transit ---- */

/* Weights on their way to an engine are also in the trainer or in the engine. */
static void find_sent(struct find *find)
{
	const struct find_how how = { .cause = MT_CAUSE_TWICE, .reference = REFERENCE_MODEL, .need = MT_NEEDS };
	const struct scene *scene = find->scene;
	size_t i;

	find_begin(find);
	for (i = 0; i < scene->sites; i++)
		if (find_is_here(scene, &scene->site[i]) && scene->site[i].category == MT_CATEGORY_WEIGHT_BUFFERS)
			find->take[i] = scene->site[i].at[SCENE_NOW];
	find_groups(find, &how, NULL);
}

/* A state dict of the model's own tensors allocates nothing: its own bytes are a copy. find_unsharded.c has gathered state dicts. */
static void find_state_dicts(struct find *find)
{
	const struct find_how how = {
		.cause = MT_CAUSE_TWICE, .reference = REFERENCE_MODEL, .by_function = 1, .need = MT_NEEDS
	};
	const struct scene *scene = find->scene;
	const struct scene_site *site;
	size_t i;

	find_begin(find);
	for (i = 0; i < scene->sites; i++) {
		site = &scene->site[i];
		if (find_is_here(scene, site) && site->category == MT_CATEGORY_STATE_DICT &&
		    !(site->tags & MT_TAG_BIT(GATHER)))
			find->take[i] = site->at[SCENE_NOW];
	}
	find_groups(find, &how, say_not_now);
}

/* ---- the request ---- */

/* Whether the request has the bytes of all weights, or double (float32 beside 16 bits). */
static int is_all_weights(const struct find *find, uint64_t bytes)
{
	const struct scene *scene = find->scene;
	const struct scene_site *site;
	uint64_t all = 0;
	size_t i;

	for (i = 0; i < scene->sites; i++) {
		site = &scene->site[i];
		if (find_is_here(scene, site) && find_is_own(scene, site) && !site->driver &&
		    site->category == MT_CATEGORY_WEIGHTS)
			all += site->at[SCENE_NOW];
	}
	return all >= scene->request.total / 10 && (is_near(bytes, all) || is_near(bytes, 2 * all));
}

/* Whether another stack made a block of the requested size in the same step and phase. */
static int is_there(const struct find *find, uint64_t bytes)
{
	const struct scene *scene = find->scene;
	const struct scene_request *request = &scene->request;
	const struct scene_site *site;
	size_t i;

	for (i = 0; i < scene->blocks; i++) {
		site = &scene->site[scene->block[i].site];
		if (find_is_own(scene, site) && find_is_here(scene, site) && site->phase == request->phase &&
		    site->node != request->node && scene->block[i].step == request->step &&
		    find_sizes_are_equal(bytes, scene->block[i].bytes))
			return 1;
	}
	return 0;
}

static void find_requested(struct find *find)
{
	const struct scene_request *request = &find->scene->request;
	uint64_t tags = request->node == SCENE_NONE ? 0 : find->scene->node[request->node].tags;
	int all, copies;

	if (!request->failure || request->node == SCENE_NONE || request->requested < request->total / 100)
		return;
	all = request->category != MT_CATEGORY_GRADIENTS && request->category != MT_CATEGORY_OPTIMIZER_STATE &&
	      !request->from_driver && is_all_weights(find, request->requested);
	copies = (request->category == MT_CATEGORY_WEIGHT_BUFFERS || (tags & MT_TAG_BIT(COPY))) &&
		 is_there(find, request->requested);
	if (all || copies)
		find_add_request(find, MT_CAUSE_TWICE, request->requested);
}

void find_twice(struct find *find)
{
	find_copies(find);
	find_sent(find);
	find_state_dicts(find);
	find_requested(find);
}
