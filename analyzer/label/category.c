#include "category.h"

#include <stdlib.h>
#include <string.h>
#include "category_sizes.h"

/* ---- what is counted on the way ---- */

void categories_release(struct categories *categories)
{
	uint32_t i;

	for (i = 0; i < categories->processes * 2; i++)
		free(categories->sizes[i]);
	free(categories->sizes);
	free(categories->site);
	memset(categories, 0, sizeof(*categories));
}

static struct category_sizes *make_sizes(struct categories *categories, uint32_t process, int driver)
{
	struct category_sizes **grown, **sizes;

	if (process >= categories->processes) {
		grown = realloc(categories->sizes, ((size_t)process + 1) * 2 * sizeof(*grown));
		if (!grown)
			return NULL;
		memset(grown + (size_t)categories->processes * 2, 0,
		       ((size_t)process + 1 - categories->processes) * 2 * sizeof(*grown));
		categories->sizes = grown;
		categories->processes = process + 1;
	}
	sizes = &categories->sizes[process * 2 + (driver != 0)];
	*sizes = calloc(1, sizeof(**sizes));
	return *sizes;
}

/* NULL: out of memory; sizes are then just not told apart. */
static inline struct category_sizes *sizes_of(struct categories *categories, uint32_t process, int driver)
{
	struct category_sizes *sizes = NULL;

	if (process < categories->processes)
		sizes = categories->sizes[process * 2 + (driver != 0)];
	return sizes ? sizes : make_sizes(categories, process, driver);
}

uint8_t category_size(struct categories *categories, uint32_t process, int driver, uint64_t size, uint8_t phase,
		      uint32_t stack)
{
	struct category_sizes *sizes = sizes_of(categories, process, driver);
	uint8_t number;

	if (!sizes)
		return 0;
	if (!mt_phase_is_early(phase) && (phase != MT_PHASE_OTHER || stack))
		sizes->closed = 1;
	number = sizes_number(sizes, size);
	if (!sizes->closed && number)
		sizes->weights[number]++;
	return number;
}

int category_is_logits(const struct categories *categories, const struct census *census, uint32_t process,
		       uint64_t size)
{
	const struct category_sizes *sizes = process < categories->processes ? categories->sizes[process * 2] : NULL;
	uint64_t figure[3];

	if (!sizes)
		return 0;
	if (census->words[0])
		return census_logits(census, sizes, size, figure);
	return sizes->loss_least && size >= sizes->loss_least / 2 && sizes_is_of_loss(sizes, size);
}

struct category_site *category_site(struct categories *categories, uint32_t number)
{
	size_t room = categories->room ? (size_t)categories->room * 2 : 256;
	struct category_site *grown;

	if (number < categories->room)
		return &categories->site[number];
	while (room <= number)
		room *= 2;
	grown = realloc(categories->site, room * sizeof(*grown));
	if (!grown)
		return NULL;
	memset(grown + categories->room, 0, (room - categories->room) * sizeof(*grown));
	categories->site = grown;
	categories->room = (uint32_t)room;
	return &grown[number];
}

void category_born(struct category_site *site, uint64_t size, uint32_t step)
{
	if (!site->born++) {
		site->first_step = step;
		site->smallest = size;
	}
	site->last_step = step;
	if (size > site->largest)
		site->largest = size;
	if (size < site->smallest)
		site->smallest = size;
}

void category_loss(struct categories *categories, uint32_t process, uint64_t size)
{
	struct category_sizes *sizes = sizes_of(categories, process, 0);

	if (sizes)
		sizes_note_loss(sizes, size);
}

void category_refused(struct categories *categories, uint32_t process, uint64_t size)
{
	struct category_sizes *sizes = sizes_of(categories, process, 0);

	if (sizes)
		sizes->refused = size;
}

int category_died(struct categories *categories, uint32_t process, const struct mt_live *live,
		  const struct mt_label *label)
{
	int is_home = label->phase == live->phase && label->step == live->step;
	struct category_sizes *sizes;
	struct category_site *site;
	uint8_t number;

	if (!live->tag || live->tag >= categories->room)
		return 0;
	categories->home = is_home;
	site = &categories->site[live->tag];
	site->died++;
	site->home += (uint64_t)is_home;
	site->in_backward += label->phase == MT_PHASE_BACKWARD && live->phase != MT_PHASE_BACKWARD;
	site->in_optimizer += label->phase == MT_PHASE_OPTIMIZER && live->phase != MT_PHASE_OPTIMIZER;
	site->later += label->step > live->step;
	site->old += label->step >= live->step + 2;
	sizes = sizes_of(categories, process, live->kind != MT_TENSOR_ALLOC);
	number = sizes && !sizes->closed ? sizes_find(sizes, live->size) : 0;
	if (number && sizes->weights[number])
		sizes->weights[number]--;
	return is_home;
}

void category_passed(struct category_site *site, uint64_t epoch, uint64_t size)
{
	if (site->passing.epoch != epoch)
		site->passing.bytes = site->passing.count = 0;
	site->passing.epoch = epoch;
	site->passing.bytes += size;
	site->passing.count++;
}

/* How it seemed to have died is not known any more; that it did not, is what counts. */
void category_back(struct categories *categories, const struct mt_live *live)
{
	if (live->tag && live->tag < categories->room && categories->site[live->tag].died)
		categories->site[live->tag].died--;
}

void category_kept(struct category_site *site, const struct mt_live *live, uint32_t step)
{
	site->old += step >= live->step + 2;
}

void category_phase_over(struct categories *categories, const struct attribution *attribution, uint32_t process,
			 uint8_t phase)
{
	uint32_t i;

	for (i = 1; i < attribution->sites && i < categories->room; i++)
		if (attribution->site[i].key.phase == phase && attribution->site[i].key.process == process &&
		    attribution->site[i].now.count > categories->site[i].after)
			categories->site[i].after = attribution->site[i].now.count;
}

/* ---- the verdict on one site ---- */

struct judge {
	const struct site *site;
	const struct category_told *told; /* of its process */
	struct category_site *facts;
	const struct category_sizes *sizes; /* NULL: none */
	uint64_t most;                      /* births at one site of its process */
	uint8_t opinion;
};

#define LAYERS_MIN 4u /* times as often as the head's, once in a forward, something of the layers is born */
#define FEW 2u        /* births, of a recording that is over at once */
#define HEAP 4u       /* alive at once, none gone: no workspace */

static void say(const struct judge *judge, uint8_t category, enum evidence why)
{
	judge->facts->category = category;
	judge->facts->why = (uint8_t)why;
}

static void say_of(const struct judge *judge, uint8_t category, enum evidence why, uint64_t count)
{
	say(judge, category, why);
	judge->facts->figure[0] = count;
	judge->facts->figure[1] = judge->facts->born;
}

/* It has the size of one of the weights. */
static int is_sized(const struct site *site)
{
	return site->key.size && site->key.size < SIZES_LOGITS;
}

/* With a census it is arithmetic. */
static int is_vocabulary(const struct judge *judge, uint64_t bytes, uint64_t figure[3])
{
	if (!judge->told->census->words[0])
		return sizes_vocabulary(judge->sizes, bytes, figure);
	return census_logits(judge->told->census, judge->sizes, bytes, figure);
}

/* It has the size of what another layer makes, too, and there are as many as there are layers. */
static int is_of_a_layer(const struct judge *judge)
{
	const struct census *census = judge->told->census;
	uint32_t i;

	for (i = 0; i < census->others; i++)
		if (judge->facts->born * 2 >= census->other[i].count * (judge->told->steps ? judge->told->steps : 1) &&
		    sizes_of_layer(judge->sizes, judge->facts->largest, census->other[i].rows, census->width))
			return 1;
	return 0;
}

/*
 * Logits in two bytes, of which the same in four could not be had: that is asked for once, and of nothing in the layers. Or
 * as many bytes as that.
 */
static int is_refused(const struct judge *judge, uint64_t bytes)
{
	return judge->sizes->refused && (bytes == judge->sizes->refused || bytes * 2 == judge->sizes->refused);
}

/* As the loss shows; of a process whose loss no rule names, by the weights, and only what comes once in a forward. */
static int is_size_of_logits(const struct judge *judge, uint64_t bytes, uint64_t figure[3])
{
	if (judge->sizes->losses)
		return sizes_of_loss(judge->sizes, bytes, judge->facts->born, figure);
	if (is_refused(judge, judge->facts->largest))
		return sizes_vocabulary(judge->sizes, bytes, figure);
	return (judge->facts->born <= FEW || judge->facts->born * LAYERS_MIN <= judge->most) &&
	       sizes_vocabulary(judge->sizes, bytes, figure);
}

/*
 * The rest of what such a line allocates is a number or two, a loss perhaps. What has the size of a weight is none: the
 * gradient of an embedding is as large as the logits of as many tokens as a vector has elements.
 */
static int is_logits(const struct judge *judge)
{
	struct category_site *facts = judge->facts;
	uint64_t figure[3];

	if (is_sized(judge->site) || !judge->sizes || judge->told->census->words[0] ||
	    !is_size_of_logits(judge, facts->largest, facts->figure))
		return 0; /* with a census, what has the size is a site of its own */
	return facts->smallest <= facts->largest / 1000 || is_size_of_logits(judge, facts->smallest, figure);
}

static void say_logits(const struct judge *judge)
{
	say(judge, MT_CATEGORY_LOGITS,
	    !judge->facts->figure[1]                   ? EVIDENCE_LOSS
	    : is_refused(judge, judge->facts->largest) ? EVIDENCE_REFUSED
						       : EVIDENCE_VOCABULARY);
}

/* For a rule's logits. */
static int has_figures(const struct judge *judge)
{
	if (judge->site->key.size == SIZES_LOGITS && judge->told->census->words[0])
		return is_vocabulary(judge, judge->facts->largest, judge->facts->figure);
	return !is_sized(judge->site) && judge->sizes && !judge->told->census->words[0] &&
	       sizes_vocabulary(judge->sizes, judge->facts->largest, judge->facts->figure);
}

static void judge_weights(const struct judge *judge)
{
	const struct category_site *facts = judge->facts;

	if (facts->home == facts->born)
		say_of(judge, MT_CATEGORY_WORKSPACE, EVIDENCE_TEMPORARY, facts->home);
	else if (facts->old)
		say_of(judge, MT_CATEGORY_WEIGHTS, EVIDENCE_STAYS, facts->old);
	else
		say(judge, MT_CATEGORY_WEIGHTS, EVIDENCE_OPINION);
}

/* Several, all of which are there: a workspace goes before the next one comes. Of whole layers, where weights are shards. */
static int is_heap(const struct category_site *facts)
{
	return facts->born >= HEAP && !facts->died && facts->smallest * 2 > facts->largest;
}

static void judge_gradients(const struct judge *judge)
{
	const struct category_site *facts = judge->facts;
	uint64_t kept = facts->born - facts->home;

	if (is_logits(judge))
		say_logits(judge);
	else if (!kept)
		say_of(judge, MT_CATEGORY_WORKSPACE, EVIDENCE_TEMPORARY, facts->home);
	else if (is_sized(judge->site))
		say_of(judge, MT_CATEGORY_GRADIENTS, EVIDENCE_SIZED_GRADIENT, kept);
	else if (facts->old * 2 > facts->born)
		say_of(judge, MT_CATEGORY_OTHER, EVIDENCE_RETAINED, facts->old);
	else if (facts->home * 2 > facts->born)
		say_of(judge, MT_CATEGORY_WORKSPACE, EVIDENCE_TEMPORARY, facts->home);
	else if (!facts->after && judge->sizes && judge->sizes->numbers && !is_heap(facts))
		say(judge, MT_CATEGORY_WORKSPACE, EVIDENCE_NOT_A_WEIGHT);
	else
		say_of(judge, MT_CATEGORY_GRADIENTS, EVIDENCE_GRADIENT, kept);
}

static void judge_state(const struct judge *judge)
{
	const struct category_site *facts = judge->facts;
	uint64_t kept = facts->born - facts->home;

	if (kept * 2 < facts->born || !kept)
		say_of(judge, MT_CATEGORY_WORKSPACE, EVIDENCE_TEMPORARY, facts->home);
	else if (facts->first_step != facts->last_step && !facts->old)
		say_of(judge, MT_CATEGORY_OTHER, EVIDENCE_ANEW, kept);
	else
		say_of(judge, MT_CATEGORY_OPTIMIZER_STATE,
		       is_sized(judge->site) ? EVIDENCE_SIZED_STATE : EVIDENCE_STATE, kept);
}

static void judge_activations(const struct judge *judge)
{
	const struct category_site *facts = judge->facts;

	if (is_logits(judge))
		say_logits(judge);
	else if (facts->old * 2 > facts->born)
		say_of(judge, MT_CATEGORY_OTHER, EVIDENCE_RETAINED, facts->old);
	else if (facts->in_backward * 2 >= facts->born)
		say_of(judge, judge->opinion, EVIDENCE_FOR_BACKWARD, facts->in_backward);
	else if (facts->home * 2 >= facts->born)
		say_of(judge, judge->opinion, EVIDENCE_PASSING, facts->home);
	else
		say(judge, judge->opinion, EVIDENCE_OPINION);
}

static void judge_by_life(const struct judge *judge)
{
	switch (judge->opinion) {
	case MT_CATEGORY_WEIGHTS:
		judge_weights(judge);
		break;
	case MT_CATEGORY_GRADIENTS:
		judge_gradients(judge);
		break;
	case MT_CATEGORY_OPTIMIZER_STATE:
		judge_state(judge);
		break;
	case MT_CATEGORY_ACTIVATIONS:
	case MT_CATEGORY_RECOMPUTED:
		judge_activations(judge);
		break;
	case MT_CATEGORY_OTHER:
		break;
	default:
		say(judge, judge->opinion, EVIDENCE_OPINION);
	}
}

/* The backward of a loss that has the head in it makes the head's gradient, too, which waits for the optimizer. */
static int is_gradient_of_loss(const struct judge *judge)
{
	const struct category_site *facts = judge->facts;

	return judge->opinion == MT_CATEGORY_LOGITS && judge->site->key.phase == MT_PHASE_BACKWARD &&
	       (facts->later + facts->in_optimizer) * 2 > facts->born;
}

static void judge_site(const struct judge *judge)
{
	if (judge->site->key.size == SIZES_KNOWN)
		say_of(judge, judge->opinion, EVIDENCE_CENSUS, judge->facts->born);
	else if (judge->site->key.size == SIZES_ALIKE)
		say_of(judge, judge->opinion, EVIDENCE_AS_CENSUS, judge->facts->born);
	else if (judge->facts->by_owner)
		say(judge, judge->opinion, EVIDENCE_OWNER);
	else if (judge->site->key.size == SIZES_LOGITS && judge->told->census->words[0] && !judge->facts->by_rule &&
		 !is_of_a_layer(judge) && is_vocabulary(judge, judge->facts->largest, judge->facts->figure))
		say(judge, MT_CATEGORY_LOGITS, EVIDENCE_CENSUS_VOCABULARY);
	else if (judge->facts->by_rule && is_gradient_of_loss(judge))
		say_of(judge, MT_CATEGORY_GRADIENTS, EVIDENCE_GRADIENT, judge->facts->born - judge->facts->home);
	else if (judge->facts->by_rule)
		say(judge, judge->opinion,
		    judge->opinion == MT_CATEGORY_LOGITS && has_figures(judge) ? EVIDENCE_RULE_VOCABULARY
									       : EVIDENCE_RULE);
	else
		judge_by_life(judge);
}

/* ---- all sites, and what they tell of each other ---- */

/*
 * Of one size of one process: how many gradients, tensors of optimizer state, and of no known purpose there are; and of
 * these that the optimizer took some of, how many are left and how many are not.
 */
struct tally {
	uint64_t gradients, state, bare;
	uint64_t left, taken;
};

/* There before anything was computed, and nobody saw it being made. */
static int is_nameless(const struct judge *judge)
{
	return !judge->told->census->rows && judge->facts->category == MT_CATEGORY_OTHER &&
	       judge->facts->why == EVIDENCE_NONE && is_sized(judge->site) &&
	       (mt_phase_is_early(judge->site->key.phase) || judge->site->key.phase == MT_PHASE_OTHER);
}

/*
 * Of the buffers of weights and gradients that are made in init, all of them gradients by a rule: one half as large as
 * another has the weights, in two bytes where their gradients have four.
 */
static void judge_half(const struct categories *categories, const struct attribution *attribution,
		       const struct judge *judge, uint32_t sites)
{
	const struct category_site *facts = judge->facts, *other;
	uint32_t i;

	if (facts->category != MT_CATEGORY_GRADIENTS || facts->why != EVIDENCE_RULE ||
	    facts->smallest != facts->largest || judge->site->key.phase != MT_PHASE_INIT || judge->site->key.driver)
		return;
	for (i = 1; i < sites; i++) {
		other = &categories->site[i];
		if (attribution->site[i].key.process != judge->site->key.process || !other->born ||
		    attribution->site[i].key.phase != MT_PHASE_INIT || other->category != MT_CATEGORY_GRADIENTS ||
		    other->why != EVIDENCE_RULE || other->born != facts->born || other->smallest != other->largest ||
		    other->largest != facts->largest * 2)
			continue;
		say_of(judge, MT_CATEGORY_WEIGHTS, EVIDENCE_HALF, other->largest);
		return;
	}
}

/* What may be weights: never freed. */
static int is_bare(const struct judge *judge)
{
	return is_nameless(judge) && judge->facts->died * 2 < judge->facts->born;
}

/* What may be weights and optimizer state: an optimizer that makes new state frees the old, and never a weight. */
static int is_mixed(const struct judge *judge)
{
	const struct category_site *facts = judge->facts;

	return is_nameless(judge) && !is_bare(judge) && !judge->site->key.driver && facts->died < facts->born &&
	       facts->in_optimizer == facts->died;
}

static void count_site(struct tally *tally, const struct judge *judge)
{
	const struct category_site *facts = judge->facts;

	if (is_bare(judge))
		tally->bare += facts->born - facts->died;
	if (is_mixed(judge)) {
		tally->left += facts->born - facts->died;
		tally->taken += facts->died;
	}
	if (facts->category == MT_CATEGORY_GRADIENTS)
		tally->gradients += facts->after ? facts->after : facts->born - facts->died;
	if (facts->category == MT_CATEGORY_OPTIMIZER_STATE)
		tally->state += facts->after ? facts->after : facts->born - facts->died;
}

/* Every weight that is trained has one gradient of its size, and with Adam two tensors of state. */
static void judge_bare(const struct judge *judge, const struct tally *tally)
{
	if (!is_bare(judge))
		return;
	if (tally->gradients && tally->bare == tally->gradients)
		say_of(judge, MT_CATEGORY_WEIGHTS, EVIDENCE_AS_GRADIENTS, tally->gradients);
	else if (tally->state && tally->bare * 2 == tally->state)
		say_of(judge, MT_CATEGORY_WEIGHTS, EVIDENCE_AS_STATE, tally->state);
	else if (tally->gradients && tally->bare % tally->gradients == 0 && tally->bare / tally->gradients <= 4)
		say_of(judge, MT_CATEGORY_OTHER, EVIDENCE_SEVERAL, tally->gradients);
	else
		return;
	judge->facts->figure[1] = tally->bare;
}

/* The ones that were taken become a site of their own. All have one size, so that it is known how many were there. */
static void split(struct categories *categories, struct attribution *attribution, uint32_t number,
		  const struct tally *tally)
{
	struct category_site *facts = &categories->site[number], *state;
	struct site_bytes at_peak = attribution_at_peak(attribution, number);
	struct site_key key = attribution->site[number].key;
	uint64_t left = facts->born - facts->died, bytes = facts->largest;
	uint32_t sites = attribution->sites, twin;

	if (at_peak.slack || at_peak.count < left || at_peak.plain != at_peak.count * bytes)
		return;
	key.category = MT_CATEGORY_OPTIMIZER_STATE;
	twin = attribution_site(attribution, &key);
	state = twin == sites ? category_site(categories, twin) : NULL;
	if (!state)
		return;
	attribution_split(attribution, number, twin, at_peak.count - left, (at_peak.count - left) * bytes);
	facts = &categories->site[number];
	*state = (struct category_site){ .born = facts->died,
					 .died = facts->died,
					 .largest = bytes,
					 .smallest = bytes,
					 .category = key.category,
					 .why = EVIDENCE_REPLACED,
					 .figure = { tally->taken } };
	facts->category = MT_CATEGORY_WEIGHTS;
	facts->why = EVIDENCE_AS_GRADIENTS;
	facts->figure[0] = tally->gradients;
	facts->figure[1] = tally->left;
	facts->twin = twin;
	facts->share = left * bytes;
	facts->share_count = left;
}

/* Some of it goes where it came, and some does not: in forward, if backward is what it waits for. */
static int is_twofold(const struct judge *judge)
{
	const struct category_site *facts = judge->facts;

	if (judge->site->key.driver || judge->site->key.size == SIZES_LOGITS || judge->site->key.size == SIZES_KNOWN ||
	    facts->by_rule || facts->by_owner || !facts->home || facts->home >= facts->born)
		return 0;
	switch (judge->opinion) {
	case MT_CATEGORY_WEIGHTS:
	case MT_CATEGORY_OPTIMIZER_STATE:
		return 1;
	case MT_CATEGORY_GRADIENTS:
		return facts->after && !is_logits(judge);
	case MT_CATEGORY_ACTIVATIONS:
	case MT_CATEGORY_RECOMPUTED:
		return facts->in_backward && !is_logits(judge);
	default:
		return 0;
	}
}

/* Of what stood in the peak, those that died at home since; never more than the site held. */
static void share_peak(struct attribution *attribution, uint32_t number, uint32_t twin, struct category_site *facts)
{
	struct site_bytes held = attribution_at_peak(attribution, number);
	uint64_t epoch = attribution->device[attribution->site[number].key.device].epoch;
	uint64_t bytes = facts->passing.epoch == epoch ? facts->passing.bytes : 0;
	uint64_t count = facts->passing.epoch == epoch ? facts->passing.count : 0;

	if (held.slack || !epoch)
		bytes = count = 0;
	bytes = bytes < held.plain ? bytes : held.plain;
	count = count < held.count ? count : held.count;
	attribution_split(attribution, number, twin, count, bytes);
	facts->share = held.plain - bytes;
	facts->share_count = held.count - count;
}

/* Those that died at home become a site of their own, of workspace. The rest is judged as if they had never been. */
static void split_home(struct categories *categories, struct attribution *attribution, uint32_t number)
{
	struct category_site *facts, *passing;
	struct site_key key = attribution->site[number].key;
	uint32_t sites = attribution->sites, twin;

	key.category = MT_CATEGORY_WORKSPACE;
	twin = attribution_site(attribution, &key);
	passing = twin == sites ? category_site(categories, twin) : NULL;
	if (!passing)
		return;
	facts = &categories->site[number];
	attribution->site[twin].owner = attribution->site[number].owner;
	attribution->site[twin].turn = attribution->site[number].turn;
	share_peak(attribution, number, twin, facts);
	*passing = (struct category_site){ .born = facts->home,
					   .died = facts->home,
					   .home = facts->home,
					   .largest = facts->largest,
					   .smallest = facts->smallest,
					   .rule_frame = facts->rule_frame,
					   .category = MT_CATEGORY_WORKSPACE,
					   .why = EVIDENCE_TEMPORARY,
					   .figure = { facts->home, facts->born } };
	facts->born -= facts->home;
	facts->died -= facts->home;
	facts->home = 0;
	facts->twin = twin;
	facts->twin_home = 1;
}

static struct judge judge_of(const struct categories *categories, const struct attribution *attribution,
			     const struct category_told *told, uint32_t number)
{
	const struct site *site = &attribution->site[number];
	struct judge judge = { .site = site,
			       .told = &told[site->key.process],
			       .facts = &categories->site[number],
			       .opinion = site->key.category };

	if (site->key.process < categories->processes)
		judge.sizes = categories->sizes[site->key.process * 2 + site->key.driver];
	return judge;
}

static struct tally *tally_of(struct tally *tally, const struct site_key *key)
{
	return &tally[(key->process * 2 + key->driver) * SIZES_KEYS + key->size];
}

/* By process: the most births at a site of something computed. NULL: out of memory. */
static uint64_t *most_births(const struct categories *categories, const struct attribution *attribution, uint32_t sites,
			     uint32_t processes)
{
	uint64_t *most = calloc((size_t)processes + 1, sizeof(*most));
	const struct site_key *key;
	uint32_t i;

	for (i = 1; i < sites && most; i++) {
		key = &attribution->site[i].key;
		if (key->phase != MT_PHASE_INIT && key->phase != MT_PHASE_OPTIMIZER &&
		    categories->site[i].born > most[key->process])
			most[key->process] = categories->site[i].born;
	}
	return most;
}

void categories_settle(struct categories *categories, struct attribution *attribution, const struct category_told *told,
		       uint32_t processes)
{
	uint32_t sites = attribution->sites < categories->room ? attribution->sites : categories->room;
	struct tally *tally = calloc(((size_t)processes * 2 + 1) * SIZES_KEYS, sizeof(*tally));
	const struct tally *size;
	uint64_t *most = most_births(categories, attribution, sites, processes);
	struct judge judge;
	uint32_t i;

	for (i = 1; i < sites; i++) {
		judge = judge_of(categories, attribution, told, i);
		judge.facts->category = judge.opinion;
		if (!judge.facts->born)
			continue;
		judge.most = most ? most[judge.site->key.process] : 0;
		if (is_twofold(&judge)) {
			split_home(categories, attribution, i);
			judge = judge_of(categories, attribution, told, i);
			judge.most = most ? most[judge.site->key.process] : 0;
		}
		judge_site(&judge);
		if (tally)
			count_site(tally_of(tally, &judge.site->key), &judge);
	}
	for (i = 1; i < sites && tally; i++) {
		judge = judge_of(categories, attribution, told, i);
		if (!judge.facts->born)
			continue;
		judge_half(categories, attribution, &judge, sites);
		size = tally_of(tally, &judge.site->key);
		if (is_mixed(&judge) && size->left == size->gradients && size->taken == size->state)
			split(categories, attribution, i, size);
		else
			judge_bare(&judge, size);
	}
	free(tally);
	free(most);
}

uint8_t category_so_far(const struct categories *categories, const struct attribution *attribution,
			const struct category_told *told, uint32_t number)
{
	const struct site *site = &attribution->site[number];
	struct judge judge = { .site = site, .told = told, .opinion = site->key.category };
	struct category_site facts;

	if (number >= categories->room || !categories->site[number].born)
		return site->key.category;
	facts = categories->site[number]; /* the verdict is for now, the facts are not to be touched */
	judge.facts = &facts;
	if (site->key.process < categories->processes)
		judge.sizes = categories->sizes[site->key.process * 2 + site->key.driver];
	facts.category = judge.opinion;
	judge_site(&judge);
	return facts.category;
}

uint8_t category_of_site(const struct categories *categories, const struct attribution *attribution, uint32_t number)
{
	if (number >= categories->room || !categories->site[number].born)
		return attribution->site[number].key.category;
	return categories->site[number].category;
}
