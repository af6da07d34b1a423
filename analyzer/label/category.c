#include "category.h"

#include <stdlib.h>
#include <string.h>
#include "category_impl.h"
#include "memtrace/error.h"

/* ---- counting while events are read ---- */

void categories_release(struct categories *categories)
{
	uint32_t i;

	for (i = 0; i < categories->processes * 2; i++) {
		if (categories->sizes[i])
			sizes_release(categories->sizes[i]);
		free(categories->sizes[i]);
	}
	free(categories->sizes);
	free(categories->site);
	memset(categories, 0, sizeof(*categories));
}

int category_take_sizes(struct categories *categories, uint32_t process, int driver, struct category_sizes *sizes)
{
	struct category_sizes **grown;

	if (process >= categories->processes) {
		grown = realloc(categories->sizes, ((size_t)process + 1) * 2 * sizeof(*grown));
		if (!grown)
			return -MT_E_MEMORY;
		memset(grown + (size_t)categories->processes * 2, 0,
		       ((size_t)process + 1 - categories->processes) * 2 * sizeof(*grown));
		categories->sizes = grown;
		categories->processes = process + 1;
	}
	categories->sizes[process * 2 + (driver != 0)] = sizes;
	return 0;
}

static struct category_sizes *make_sizes(struct categories *categories, uint32_t process, int driver)
{
	struct category_sizes *sizes = calloc(1, sizeof(*sizes));

	if (!sizes || !category_take_sizes(categories, process, driver, sizes))
		return sizes;
	free(sizes);
	return NULL;
}

/* NULL: out of memory; the process then has no size classes. */
static inline struct category_sizes *sizes_of(struct categories *categories, uint32_t process, int driver)
{
	struct category_sizes *sizes = NULL;

	if (process < categories->processes)
		sizes = categories->sizes[process * 2 + (driver != 0)];
	return sizes ? sizes : make_sizes(categories, process, driver);
}

uint8_t category_size(struct categories *categories, uint32_t process, int driver, uint64_t size, uint8_t phase,
		      uint32_t stack, int there)
{
	struct category_sizes *sizes = sizes_of(categories, process, driver);
	int computed = !mt_phase_is_early(phase) && (phase != MT_PHASE_OTHER || stack);
	uint8_t number;

	if (!sizes)
		return 0;
	if (computed && there)
		return sizes_find(sizes, size);
	if (computed)
		sizes->closed = 1;
	number = sizes_number(sizes, size);
	sizes_count(sizes, number);
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

void category_born(struct category_site *site, const struct mt_live *live)
{
	if (!site->born++) {
		site->first_step = live->step;
		site->smallest = live->size;
		site->first_seq = live->seq;
	}
	site->last_step = live->step;
	if (live->size > site->largest)
		site->largest = live->size;
	if (live->size < site->smallest)
		site->smallest = live->size;
	if (live->seq < site->first_seq)
		site->first_seq = live->seq;
	if (live->seq > site->last_seq)
		site->last_seq = live->seq;
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

/* A class that is a number is that of the size. */
static void uncount(struct category_sizes *sizes, uint8_t size_class, uint64_t size)
{
	uint8_t number = size_class && size_class < SIZES_NUMBERS ? size_class : sizes_find(sizes, size);

	if (number && sizes->weights[number])
		sizes->weights[number]--;
}

int category_died(struct categories *categories, uint32_t process, const struct mt_live *live, uint8_t size_class,
		  const struct mt_label *label, int unwinds)
{
	int is_home = !unwinds && label->phase == live->phase && label->step == live->step;
	struct category_sizes *sizes;
	struct category_site *site;

	if (!live->tag || live->tag >= categories->room)
		return 0;
	categories->home = is_home;
	site = &categories->site[live->tag];
	site->died++;
	site->home += (uint64_t)is_home;
	site->in_backward += label->phase == MT_PHASE_BACKWARD && live->phase != MT_PHASE_BACKWARD;
	site->in_optimizer += label->phase == MT_PHASE_OPTIMIZER &&
			      (live->phase != MT_PHASE_OPTIMIZER || label->step > live->step);
	site->later += label->step > live->step;
	site->old += label->step >= live->step + 2;
	sizes = sizes_of(categories, process, live->kind != MT_TENSOR_ALLOC);
	if (sizes && !sizes->closed)
		uncount(sizes, size_class, live->size);
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

/* Takes back the death alone. The other counts of the allocation (home, later and so on) stay: its death is no longer known. */
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

#define LAYERS_MIN 4u /* births of a layer's line for one birth of the head's line, at least */
#define FEW 2u        /* births in a recording of one or two steps */
#define HEAP 4u       /* allocations alive at one time, none freed: they are no workspace */

/* With the vocabulary of a census, the answer is exact; otherwise it is guessed from the sizes. */
static int is_vocabulary(const struct judge *judge, uint64_t bytes, uint64_t figure[3])
{
	if (!judge->told->census->words[0])
		return sizes_vocabulary(judge->sizes, bytes, figure);
	return census_logits(judge->told->census, judge->sizes, bytes, figure);
}

/* Whether the allocations have the size of another layer's output, and are about one for each layer. */
static int is_of_a_layer(const struct judge *judge)
{
	const struct census *census = judge->told->census;
	uint32_t i;

	for (i = 0; i < census->others; i++)
		if (judge->births * 2 >= census->other[i].count * (judge->told->steps ? judge->told->steps : 1) &&
		    sizes_of_layer(judge->sizes, judge->facts->largest, census->other[i].rows, census->width))
			return 1;
	return 0;
}

/* Whether the request for these bytes was refused, or for the same elements in four bytes. */
static int is_refused(const struct judge *judge, uint64_t bytes)
{
	return judge->sizes->refused && (bytes == judge->sizes->refused || bytes * 2 == judge->sizes->refused);
}

/* Compares with the loss if a rule names the loss; else with the sizes of the weights, if the line allocates only once in a forward. */
static int is_size_of_logits(const struct judge *judge, uint64_t bytes, uint64_t figure[3])
{
	if (judge->sizes->losses)
		return sizes_of_loss(judge->sizes, bytes, judge->births, figure);
	return (judge->births <= FEW || judge->births * LAYERS_MIN <= judge->most) &&
	       sizes_vocabulary(judge->sizes, bytes, figure);
}

/*
 * Besides logits, such a line allocates only a few numbers, such as a loss. A tensor with the size of a weight is not logits. The gradient of an
 * embedding can have the size of logits: as many tokens as a vector has elements.
 */
int category_has_logits(const struct judge *judge)
{
	struct category_site *facts = judge->facts;
	uint64_t figure[3];

	if (is_sized(judge->site) || !judge->sizes || judge->told->census->words[0] ||
	    !is_size_of_logits(judge, facts->largest, facts->figure))
		return 0; /* with a census, logits have sites of their own */
	return facts->smallest <= facts->largest / 1000 || is_size_of_logits(judge, facts->smallest, figure);
}

static void say_logits(const struct judge *judge)
{
	say(judge, MT_CATEGORY_LOGITS,
	    !judge->facts->figure[1]                   ? EVIDENCE_LOSS
	    : is_refused(judge, judge->facts->largest) ? EVIDENCE_REFUSED
						       : EVIDENCE_VOCABULARY);
}

/* Finds the figures of logits that a rule names. */
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

/*
 * Whether several allocations were made and none was freed. A workspace is freed before the next one comes. If weights are shards, the allocations
 * have the sizes of whole layers.
 */
static int is_heap(const struct category_site *facts)
{
	return facts->born >= HEAP && !facts->died && facts->smallest * 2 > facts->largest;
}

static void judge_gradients(const struct judge *judge)
{
	const struct category_site *facts = judge->facts;
	uint64_t kept = facts->born - facts->home;

	if (category_has_logits(judge))
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
	else if (facts->first_step != facts->last_step && !facts->old && facts->in_optimizer * 2 >= kept)
		say_of(judge, MT_CATEGORY_OPTIMIZER_STATE, EVIDENCE_IN_PLACE, kept);
	else if (facts->first_step != facts->last_step && !facts->old)
		say_of(judge, MT_CATEGORY_OTHER, EVIDENCE_ANEW, kept);
	else
		say_of(judge, MT_CATEGORY_OPTIMIZER_STATE,
		       is_sized(judge->site) ? EVIDENCE_SIZED_STATE : EVIDENCE_STATE, kept);
}

static void judge_activations(const struct judge *judge)
{
	const struct category_site *facts = judge->facts;

	if (category_has_logits(judge))
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
	const struct category_site *facts = judge->facts;

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
		/* A forward in functions that no rule knows: autograd alone keeps tensors until its backward. */
		if (!judge->site->key.driver && facts->in_backward && facts->in_backward * 2 >= facts->born)
			say_of(judge, MT_CATEGORY_ACTIVATIONS, EVIDENCE_FOR_BACKWARD, facts->in_backward);
		break;
	default:
		say(judge, judge->opinion, EVIDENCE_OPINION);
	}
}

/* The backward of a loss with the head inside also makes the head's gradient. This gradient lives until the optimizer. */
static int is_gradient_of_loss(const struct judge *judge)
{
	const struct category_site *facts = judge->facts;

	return judge->opinion == MT_CATEGORY_LOGITS && judge->site->key.phase == MT_PHASE_BACKWARD &&
	       (facts->later + facts->in_optimizer) * 2 > facts->born;
}

void category_judge(const struct judge *judge)
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
