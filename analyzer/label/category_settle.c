/* Compares all sites with each other, after the last event. */
#include <stdlib.h>
#include "category_impl.h"
#include "memtrace/error.h"

/*
 * Counts for one size in one process: gradients, tensors of optimizer state, and tensors of unknown purpose (`bare`). `left` and `taken`: of unknown
 * purpose, and alive, or freed by the optimizer. `loaded`, `weights` and `restored` count memory from a checkpoint.
 */
struct tally {
	uint64_t gradients, state, bare;
	uint64_t named; /* weights by other evidence than their number */
	uint64_t left, taken;
	uint64_t loaded, weights; /* alive: state dicts of init; weights */
	uint64_t restored;        /* alive: optimizer state that was made in init */
	struct moved {
		uint64_t kept, gone;
	} of_weights, of_state; /* tensors that are alive; tensors that were freed, such as moved to the host */
	uint64_t nameless;      /* tensors of unknown purpose that are alive */
	uint64_t died;          /* tensors of unknown purpose that were freed */
	uint64_t trained;       /* number of gradients and states made in the run */
};

/* Whether the memory is from before the first computation and of unknown purpose. */
static int is_nameless(const struct judge *judge)
{
	return !judge->told->census->rows && judge->facts->category == MT_CATEGORY_OTHER &&
	       judge->facts->why == EVIDENCE_NONE && is_sized(judge->site) &&
	       (mt_phase_is_early(judge->site->key.phase) || judge->site->key.phase == MT_PHASE_OTHER);
}

/*
 * Weights and gradients can share buffers from init. Rules call all these buffers gradients. A buffer of half the size holds the weights: two bytes
 * for each weight, and four for each gradient.
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

/*
 * Returns the number of allocations while the program worked: those that are never freed. A program that ends in order frees all; the number at the
 * peak then counts.
 */
static uint64_t staying(const struct judge *judge)
{
	uint64_t left = judge->facts->born - judge->facts->died;

	return mt_phase_is_early(judge->site->key.phase) && judge->at_peak > left ? judge->at_peak : left;
}

/* Whether the tensors can be weights and optimizer state. An optimizer that makes new state frees the old state, but never a weight. */
static int is_mixed(const struct judge *judge)
{
	const struct category_site *facts = judge->facts;

	return is_nameless(judge) && !judge->site->key.driver && facts->died < facts->born &&
	       facts->died * 2 >= facts->born && facts->in_optimizer == facts->died;
}

/* Whether the tensors can be weights. Init may make a tensor in several steps: torch.randn(n, n) * 0.02. */
static int is_bare(const struct judge *judge)
{
	if (!is_nameless(judge) || is_mixed(judge))
		return 0;
	return mt_phase_is_early(judge->site->key.phase) ? staying(judge) > 0
							 : judge->facts->died * 2 < judge->facts->born;
}

/*
 * Whether a rule names a function that loads files or returns loaded data. A rule cannot know whether the model uses the tensor itself or a copy.
 * Tensors that other rules call state dict are made to be copied.
 */
static int is_loaded(const struct judge *judge)
{
	return judge->facts->category == MT_CATEGORY_STATE_DICT && judge->facts->why == EVIDENCE_RULE &&
	       judge->facts->is_handed && is_sized(judge->site) && judge->site->key.phase == MT_PHASE_INIT &&
	       !judge->site->key.driver;
}

static void count_loaded(struct tally *tally, const struct judge *judge)
{
	uint64_t kept = judge->facts->born - judge->facts->died;

	if (is_loaded(judge))
		tally->loaded += kept;
	if (judge->facts->category == MT_CATEGORY_WEIGHTS)
		tally->weights += kept;
	if (judge->facts->category == MT_CATEGORY_OPTIMIZER_STATE && judge->site->key.phase == MT_PHASE_INIT)
		tally->restored += kept;
}

#define MODEL_SHARE 4 /* loaded pieces for one new weight, at most: fewer weights are a head or an adapter */

/*
 * Whether loaded tensors are for the optimizer: FSDP gathers whole states to load their shards. The optimizer has some state already, and the model's
 * weights have other sizes.
 */
static int is_for_optimizer(const struct tally *tally, const struct site_key *key)
{
	const struct tally *first = tally - key->size;
	uint64_t loaded = 0, weights = 0, restored = 0;
	uint32_t i;

	for (i = 0; i < SIZES_KEYS; i++) {
		loaded += first[i].weights ? 0 : first[i].loaded;
		weights += first[i].weights;
		restored += first[i].restored;
	}
	return restored && weights > loaded / MODEL_SHARE;
}

/* If no weights or states have the size of a loaded tensor, the tensor was not copied: it is a weight. */
static void judge_loaded(const struct judge *judge, const struct tally *tally)
{
	if (is_loaded(judge) && tally->loaded && !tally->weights && !tally->restored &&
	    !is_for_optimizer(tally, &judge->site->key))
		say_of(judge, MT_CATEGORY_WEIGHTS, EVIDENCE_LOADED, tally->loaded);
}

static void count_moved(struct tally *tally, const struct judge *judge)
{
	const struct category_site *facts = judge->facts;
	struct moved *moved = facts->category == MT_CATEGORY_WEIGHTS           ? &tally->of_weights
			      : facts->category == MT_CATEGORY_OPTIMIZER_STATE ? &tally->of_state
									       : NULL;

	if (is_nameless(judge))
		tally->nameless += facts->born - facts->died;
	if (moved && !judge->site->key.driver) {
		moved->kept += facts->born - facts->died;
		moved->gone += facts->died;
	}
}

static int came_back(const struct tally *tally, const struct moved *moved)
{
	return moved->gone && !moved->kept && tally->nameless == moved->gone;
}

/*
 * NeMo-RL moves a model or its optimizer to the host and back, by functions that move any tensor. As many tensors of each size come back as were
 * freed.
 */
static int judge_back(const struct judge *judge, const struct tally *tally)
{
	int weights = came_back(tally, &tally->of_weights), state = came_back(tally, &tally->of_state);

	if (!is_nameless(judge) || judge->site->key.driver || judge->facts->born == judge->facts->died ||
	    weights == state)
		return 0;
	say_of(judge, weights ? MT_CATEGORY_WEIGHTS : MT_CATEGORY_OPTIMIZER_STATE, EVIDENCE_BACK,
	       weights ? tally->of_weights.gone : tally->of_state.gone);
	judge->facts->figure[1] = tally->nameless;
	return 1;
}

static void count_site(struct tally *tally, const struct judge *judge)
{
	const struct category_site *facts = judge->facts;

	count_loaded(tally, judge);
	count_moved(tally, judge);
	if (is_bare(judge)) {
		tally->bare += staying(judge);
		tally->died += facts->died;
	} else if (facts->category == MT_CATEGORY_WEIGHTS)
		tally->named += staying(judge);
	if (is_mixed(judge)) {
		tally->left += facts->born - facts->died;
		tally->taken += facts->died;
	}
	if (facts->category == MT_CATEGORY_GRADIENTS || facts->category == MT_CATEGORY_OPTIMIZER_STATE)
		tally->trained += facts->born;
	if (facts->category == MT_CATEGORY_GRADIENTS)
		tally->gradients += facts->after ? facts->after : facts->born - facts->died;
	if (facts->category == MT_CATEGORY_OPTIMIZER_STATE)
		tally->state += facts->after ? facts->after : facts->born - facts->died;
}

/* Each trained weight has one gradient of its size, and with Adam two tensors of state. */
static void judge_bare(const struct judge *judge, const struct tally *tally)
{
	if (!is_bare(judge))
		return;
	if (tally->gradients && (tally->bare == tally->gradients || tally->bare + tally->named == tally->gradients))
		say_of(judge, MT_CATEGORY_WEIGHTS, EVIDENCE_AS_GRADIENTS, tally->gradients);
	else if (tally->state && tally->bare * 2 == tally->state)
		say_of(judge, MT_CATEGORY_WEIGHTS, EVIDENCE_AS_STATE, tally->state);
	else if (tally->gradients && !tally->named && tally->bare % tally->gradients == 0 &&
		 tally->bare / tally->gradients <= 4)
		say_of(judge, MT_CATEGORY_OTHER, EVIDENCE_SEVERAL, tally->gradients);
	else
		return;
	judge->facts->figure[1] = tally->bare + (tally->bare < tally->gradients ? tally->named : 0);
}

/* Makes a site of the freed tensors. All tensors have one size, and their number at the peak is known. */
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
					 .first_seq = facts->first_seq,
					 .last_seq = facts->last_seq,
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

/* Whether some allocations die in their own phase, and the others live on. Activations that live on must die in backward. */
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
		return facts->after && !category_has_logits(judge);
	case MT_CATEGORY_ACTIVATIONS:
	case MT_CATEGORY_RECOMPUTED:
		return facts->in_backward && !category_has_logits(judge);
	default:
		return 0;
	}
}

/* Moves the bytes of the peak that died in their own phase to `twin`, at most the bytes that the site held. */
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

/* Makes a site of workspace from the allocations that died in their own phase. The other ones are judged without them. */
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
					   .first_seq = facts->first_seq,
					   .last_seq = facts->last_seq,
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
			       .at_peak = attribution_at_peak(attribution, number).count,
			       .opinion = site->key.category };

	if (site->key.process < categories->processes)
		judge.sizes = categories->sizes[site->key.process * 2 + site->key.driver];
	return judge;
}

static size_t tally_index(const struct site_key *key)
{
	return ((size_t)key->process * 2 + key->driver) * SIZES_KEYS + key->size;
}

/* ---- a model that is not trained ---- */

#define LAYERS_FEW 4   /* least number of tensors of a size: one for each layer */
#define LAYERS_SIZES 3 /* least number of such sizes: attention, feed-forward, vectors */
#define LAYERS_APART 4 /* factor: a tensor larger than the next one by more is no matrix of a layer */

/* Facts of a process: its memory from before the trace, and its work. */
struct layers {
	int trained, computed;
	uint32_t sizes;         /* number of sizes with several tensors */
	uint64_t least, matrix; /* bytes: smallest of these sizes; largest one but the cache */
	uint64_t cache;         /* bytes of the cache of one layer; 0: no cache */
	uint64_t there, kept;   /* bytes from before the trace: all; those that were never freed */
};

static int is_of_before(const struct judge *judge)
{
	return judge->site->key.phase == MT_PHASE_BEFORE && !judge->site->key.driver && is_bare(judge);
}

static void note_work(struct layers *layers, const struct site_key *key)
{
	layers->trained |= key->phase == MT_PHASE_BACKWARD || key->phase == MT_PHASE_OPTIMIZER;
	layers->computed |= !mt_phase_is_early(key->phase) && key->phase != MT_PHASE_OTHER;
}

static void note_before(struct layers *layers, const struct judge *judge)
{
	const struct category_site *facts = judge->facts;

	if (judge->site->key.phase != MT_PHASE_BEFORE || judge->site->key.driver)
		return;
	layers->there += facts->born * facts->smallest;
	layers->kept += (facts->born - facts->died) * facts->smallest;
}

#define KEPT_PART 4 /* divisor: a program that ends in order keeps less of its memory */

/* Whether most of the tensors were freed while the program went on: outputs of an earlier forward, which the next one replaced. */
static int is_let_go(const struct layers *layers, const struct category_site *facts)
{
	return facts->died * 2 > facts->born && layers->kept >= layers->there / KEPT_PART;
}

/* Whether gradients or states that were trained have this size, or the size of the same tensor in another element type. */
static int has_trained(const struct category_sizes *sizes, const struct tally *tally, uint64_t size)
{
	const struct tally *other;
	uint64_t times;

	for (times = 1; times <= 16; times *= 2) { /* 4 is the size itself */
		other = &tally[sizes_find(sizes, size * times / 4)];
		if (other != tally && other->trained)
			return 1;
	}
	return 0;
}

/* Whether tensors have the size, and training did not change tensors of this size. */
static int is_frozen(const struct layers *layers, const struct category_sizes *sizes, const struct tally *tally,
		     uint32_t number)
{
	return tally[number].bare &&
	       (!layers->trained || (!tally[number].died && !has_trained(sizes, tally, sizes->size[number])));
}

/* Returns the largest size with a tensor for each layer, below `below` (0: no bound); 0: no such size. *count: its tensors. */
static uint64_t largest_of(const struct layers *layers, const struct category_sizes *sizes, const struct tally *tally,
			   uint64_t below, uint64_t *count)
{
	uint64_t most = 0;
	uint32_t number;

	for (number = 1; number <= sizes->numbers; number++)
		if (tally[number].bare >= LAYERS_FEW && sizes->size[number] > most &&
		    (!below || sizes->size[number] < below) && is_frozen(layers, sizes, tally, number)) {
			most = sizes->size[number];
			*count = tally[number].bare;
		}
	return most;
}

/*
 * Finds the cache of a layer: one tensor for each layer, far larger than the layer's other tensors and than an embedding (one or two tensors). A
 * cache is no weight.
 */
static void note_sizes(struct layers *layers, const struct category_sizes *sizes, const struct tally *tally)
{
	uint64_t lone = 0, fewest = UINT64_MAX, count = 0, unused, next, size;
	uint32_t number;

	layers->matrix = largest_of(layers, sizes, tally, 0, &count);
	next = largest_of(layers, sizes, tally, layers->matrix, &unused);
	for (number = 1; number <= sizes->numbers; number++) {
		size = sizes->size[number];
		if (!is_frozen(layers, sizes, tally, number))
			continue;
		if (tally[number].bare < LAYERS_FEW) {
			lone = size > lone ? size : lone;
			continue;
		}
		layers->least = !layers->sizes++ || size < layers->least ? size : layers->least;
		if (size != layers->matrix && tally[number].bare < fewest)
			fewest = tally[number].bare;
	}
	if (layers->sizes > LAYERS_SIZES && layers->matrix > next * LAYERS_APART && layers->matrix > lone &&
	    count >= fewest / 2) {
		layers->cache = layers->matrix;
		layers->matrix = next;
	}
}

/*
 * A model that only computes, or is frozen, has no gradients or states to compare with. Its weights are many tensors in each of a few sizes. A single
 * tensor is an embedding if its size is near the largest matrix, and a multiple of the smallest size.
 */
static void judge_layers(const struct judge *judge, const struct layers *layers, const struct tally *tally)
{
	uint64_t size = judge->facts->largest;
	uint8_t number = judge->site->key.size;

	if (layers->sizes < LAYERS_SIZES || !is_of_before(judge) || !judge->sizes ||
	    (!layers->computed && !judge->site->key.stack) || size != judge->facts->smallest || size == layers->cache ||
	    !is_frozen(layers, judge->sizes, tally, number) || is_let_go(layers, judge->facts))
		return;
	if (tally[number].bare >= LAYERS_FEW || (size >= layers->matrix / 4 * 3 && size % layers->least == 0))
		say_of(judge, MT_CATEGORY_WEIGHTS, EVIDENCE_LAYERS, tally[number].bare);
}

/* Judges the untrained models of all processes. Returns 0 or -MT_E_MEMORY. */
static int settle_layers(struct categories *categories, struct attribution *attribution,
			 const struct category_told *told, const struct tally *tally, uint32_t sites,
			 uint32_t processes)
{
	struct layers *layers = calloc((size_t)processes + 1, sizeof(*layers));
	struct judge judge;
	uint32_t i;

	if (!layers)
		return -MT_E_MEMORY;
	for (i = 1; i < sites; i++)
		if (categories->site[i].born) {
			judge = judge_of(categories, attribution, told, i);
			note_work(&layers[judge.site->key.process], &judge.site->key);
			note_before(&layers[judge.site->key.process], &judge);
		}
	for (i = 0; i < processes; i++)
		if (i < categories->processes && categories->sizes[i * 2])
			note_sizes(&layers[i], categories->sizes[i * 2], &tally[(size_t)i * 2 * SIZES_KEYS]);
	for (i = 1; i < sites; i++) {
		judge = judge_of(categories, attribution, told, i);
		if (judge.facts->born)
			judge_layers(&judge, &layers[judge.site->key.process],
				     &tally[(size_t)judge.site->key.process * 2 * SIZES_KEYS]);
	}
	free(layers);
	return 0;
}

/* Returns the births of all sites alike, by site. The caller frees the array. NULL: out of memory. */
static uint64_t *births_of(const struct categories *categories, const uint32_t *first, uint32_t sites)
{
	uint64_t *births = calloc((size_t)sites + 1, sizeof(*births));
	uint32_t i;

	for (i = 1; i < sites && births; i++)
		births[first[i]] += categories->site[i].born;
	for (i = 1; i < sites && births; i++)
		births[i] = births[first[i]];
	return births;
}

/* Returns the most births of one line outside of init and optimizer, by process. The caller frees the array. NULL: out of memory. */
static uint64_t *most_births(const uint64_t *births, const struct attribution *attribution, uint32_t sites,
			     uint32_t processes)
{
	uint64_t *most = calloc((size_t)processes + 1, sizeof(*most));
	const struct site_key *key;
	uint32_t i;

	for (i = 1; i < sites && most; i++) {
		key = &attribution->site[i].key;
		if (key->phase != MT_PHASE_INIT && key->phase != MT_PHASE_OPTIMIZER && births[i] > most[key->process])
			most[key->process] = births[i];
	}
	return most;
}

/* Judges each site by its own lifetimes, and counts it in `tally`. Splits off allocations that died in their own phase. */
static void settle_sites(struct categories *categories, struct attribution *attribution,
			 const struct category_told *told, struct tally *tally, uint32_t sites, const uint64_t *births,
			 const uint64_t *most)
{
	struct judge judge;
	uint64_t born;
	uint32_t i;

	for (i = 1; i < sites; i++) {
		judge = judge_of(categories, attribution, told, i);
		judge.facts->category = judge.opinion;
		if (!judge.facts->born)
			continue;
		judge.births = births[i];
		judge.most = most[judge.site->key.process];
		if (is_twofold(&judge)) {
			born = judge.facts->born;
			split_home(categories, attribution, i);
			judge = judge_of(categories, attribution, told, i);
			judge.births = births[i] - (born - judge.facts->born);
			judge.most = most[judge.site->key.process];
		}
		category_judge(&judge);
		count_site(&tally[tally_index(&judge.site->key)], &judge);
	}
}

/* Judges each site by comparison with all sites of the same size. */
static void settle_sizes(struct categories *categories, struct attribution *attribution,
			 const struct category_told *told, const struct tally *tally, uint32_t sites)
{
	const struct tally *size;
	struct judge judge;
	uint32_t i;

	for (i = 1; i < sites; i++) {
		judge = judge_of(categories, attribution, told, i);
		if (!judge.facts->born)
			continue;
		judge_half(categories, attribution, &judge, sites);
		size = &tally[tally_index(&judge.site->key)];
		judge_loaded(&judge, size);
		if (judge_back(&judge, size))
			continue;
		if (is_mixed(&judge) && size->left == size->gradients && size->taken == size->state)
			split(categories, attribution, i, size);
		else
			judge_bare(&judge, size);
	}
}

int categories_settle(struct categories *categories, struct attribution *attribution, const struct category_told *told,
		      uint32_t processes, const uint32_t *first)
{
	uint32_t sites = attribution->sites < categories->room ? attribution->sites : categories->room;
	struct tally *tally = calloc(((size_t)processes * 2 + 1) * SIZES_KEYS, sizeof(*tally));
	uint64_t *births = births_of(categories, first, sites);
	uint64_t *most = births ? most_births(births, attribution, sites, processes) : NULL;
	int error = tally && most ? 0 : -MT_E_MEMORY;
	uint32_t i;

	for (i = 0; i < 2 * categories->processes; i++)
		if (categories->sizes[i])
			categories->sizes[i]->tried = 0;
	if (!error) {
		settle_sites(categories, attribution, told, tally, sites, births, most);
		settle_sizes(categories, attribution, told, tally, sites);
		error = settle_layers(categories, attribution, told, tally, sites, processes);
	}
	free(tally);
	free(most);
	free(births);
	return error;
}

uint8_t category_of_site(const struct categories *categories, const struct attribution *attribution, uint32_t number)
{
	if (number >= categories->room || !categories->site[number].born)
		return attribution->site[number].key.category;
	return categories->site[number].category;
}
