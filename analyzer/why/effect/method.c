#include "method.h"

#include <string.h>
#include "memtrace/base.h"
#include "stack_words.h"

#define LAYERS_USUAL 24.0 /* number of layers of an unknown model */

/* ---- the sites of a row --------------------------------------------------------------------------------------------------- */

/*
 * Returns the phases that the row changes. Rows of the forward include the phase "other", in which a loss runs. Caches and captured graphs
 * change in all phases.
 */
uint32_t method_phases(const struct mt_knob *knob)
{
	int is_cache = !(knob->categories & ~CATEGORY(KV_CACHE)) &&
		       (knob->method == MT_KNOB_METHOD_BUCKET || knob->method == MT_KNOB_METHOD_DIVIDED);
	int is_weights = knob->method == MT_KNOB_METHOD_DIVIDED && knob->categories & CATEGORY(WEIGHTS);

	if (is_cache || knob->method == MT_KNOB_METHOD_SHARE || !(knob->categories & ~CATEGORY(GRAPHS)))
		return ALL_PHASES;
	return knob->phases | (knob->phases & 1u << MT_PHASE_FORWARD ? 1u << MT_PHASE_OTHER : 0) |
	       (is_weights ? 1u << MT_PHASE_INIT : 0);
}

/* Whether the bytes stay if trainer and engine get different GPUs: the bytes of the side with the request or the peak stay. */
static int stays_apart(const struct method *method, const struct replay_site *site)
{
	const struct advise_run *run = method->run;
	uint32_t both = RUN_ROLE(TRAINER) | RUN_ROLE(ENGINE);
	int engine_asks;

	if ((method->knob->processes & both) != both || method->knob->method != MT_KNOB_METHOD_REMOVED ||
	    method->knob->measure != MT_KNOB_UNIT_SWITCH)
		return 0;
	engine_asks = run->it ? (advise_roles_of(run, &run->replay.site[run->replay.request.site]) &
				 RUN_ROLE(ENGINE)) != 0
			      : !strcmp(run->phase, mt_phase_name(MT_PHASE_ROLLOUT));
	return ((advise_roles_of(run, site) & RUN_ROLE(ENGINE)) != 0) == engine_asks;
}

/* Whether the site has a category of the row, or one that its method changes along with these. */
static int has_category(const struct method *method, const struct replay_site *site)
{
	const struct mt_knob *knob = method->knob;
	uint32_t categories = knob->categories;

	if (knob->method == MT_KNOB_METHOD_TOKENS && categories & RUN_PASSING)
		categories |= CATEGORY(RECOMPUTED) | CATEGORY(WORKSPACE) | CATEGORY(OTHER);
	if (knob->method == MT_KNOB_METHOD_DIVIDED && categories & CATEGORY(ACTIVATIONS))
		categories |= CATEGORY(RECOMPUTED);
	return categories & 1u << site->category ||
	       (knob->method == MT_KNOB_METHOD_LOGITS && categories & CATEGORY(LOGITS) &&
		advise_is_logits(method->run, site));
}

/*
 * Whether a micro-batch made the bytes in a phase of the row. Bytes that wait for a backward come from a forward, even if the stack does not show the
 * forward. Bytes that stay during the optimizer belong to no micro-batch.
 */
static int has_phase(const struct method *method, const struct replay_site *site)
{
	int waits = site->held[MT_PHASE_BACKWARD] && !mt_phase_is_early(site->phase);
	uint32_t born = 1u << site->phase | (waits ? 1u << MT_PHASE_FORWARD : 0);
	int stays = site->phase != MT_PHASE_OPTIMIZER && site->held[MT_PHASE_OPTIMIZER] > advise_site_held(site) / 2;
	int is_drivers = site->driver && site->category == MT_CATEGORY_OTHER &&
			 method->knob->method == MT_KNOB_METHOD_TOKENS;

	return !stays && !is_drivers && method_phases(method->knob) & born;
}

static int is_meant(const struct method *method, const struct replay_site *site)
{
	const struct mt_knob *knob = method->knob;
	const struct scene *scene = method->run->scene;
	int is_share = knob->method == MT_KNOB_METHOD_SHARE, is_made = (RUN_PASSING & 1u << site->category) != 0;
	int64_t engine = method->run->engine.process;

	if (site->ignored || (is_share && engine && site->process != engine))
		return 0;
	if (is_share && advise_is_set_aside(site))
		return 1;
	if (!(advise_roles_of(method->run, site) & knob->processes) || !has_category(method, site) ||
	    (is_made && !has_phase(method, site)) || stays_apart(method, site) ||
	    stack_is_within(scene, site->node, knob->outside, knob->outsides, INNER))
		return 0;
	/* A narrower type makes floats smaller, but not whole numbers. */
	if (knob->weighs && is_made && stack_inner_tags(scene, site->node, INNER) & MT_TAG_BIT(INTEGERS))
		return 0;
	return !knob->withins || stack_is_within(scene, site->node, knob->within, knob->withins, INNER);
}

const struct replay_site *method_next(const struct method *method, const struct replay_site *site)
{
	const struct replay *replay = &method->run->replay;
	const struct replay_site *end = replay->site + replay->sites;

	for (site = site ? site + 1 : replay->site; site < end; site++)
		if (is_meant(method, site))
			return site;
	return NULL;
}

/* ---- what stays ------------------------------------------------------------------------------------------------------------ */

/*
 * Whether a switch that moves a model's states to the host between its phases leaves the site alone: the failed phase brought these bytes for its own
 * work.
 */
static int is_at_work(const struct method *method, const struct replay_site *site)
{
	const uint32_t states = CATEGORY(WEIGHTS) | CATEGORY(GRADIENTS) | CATEGORY(OPTIMIZER_STATE);
	const uint32_t work = 1u << MT_PHASE_LOGPROB | 1u << MT_PHASE_REF | 1u << MT_PHASE_CRITIC | TRAINING;
	const struct mt_knob *knob = method->knob;

	return method->run->it && site->phase == method->run->replay.request.phase && !mt_phase_is_early(site->phase) &&
	       knob->method == MT_KNOB_METHOD_REMOVED && knob->leaves == MT_KNOB_LEAVES_NOTHING &&
	       knob->measure == MT_KNOB_UNIT_SWITCH && knob->saves == MT_KNOB_SAVES_ON &&
	       !(knob->categories & ~states) && knob->phases & 1u << MT_PHASE_ROLLOUT && (knob->phases & work) != work;
}

void method_keep(struct method *method, const struct replay_site *site, double one, double other)
{
	ptrdiff_t number = site - method->run->replay.site;
	struct replay_effect *lean = &method->scenario->lean.effect[number],
			     *heavy = &method->scenario->heavy.effect[number];
	uint32_t phases = RUN_PASSING & 1u << site->category ? ALL_PHASES : method_phases(method->knob), phase;
	double least = one < other ? one : other, most = one < other ? other : one;

	if ((one == 1 && other == 1) || !phases || is_at_work(method, site))
		return;
	for (phase = 0; phase < MT_PHASE_COUNT; phase++) {
		if (!(phases & 1u << phase))
			continue;
		lean->keep[phase] *= (float)(least > 0 ? least : 0);
		heavy->keep[phase] *= (float)(most > 0 ? most : 0);
	}
	lean->used = heavy->used = 1;
	method->effects++;
}

void method_keep_all(struct method *method, double one, double other)
{
	const struct replay_site *site = NULL;

	while ((site = method_next(method, site)))
		method_keep(method, site, one, other);
}

void method_add(struct method *method, uint32_t phases, double lean, double heavy)
{
	uint32_t phase;

	for (phase = 0; phase < MT_PHASE_COUNT; phase++)
		if (phases & 1u << phase) {
			method->scenario->lean.extra[phase] += lean;
			method->scenario->heavy.extra[phase] += heavy;
		}
}

/* Returns the bytes of the row's sites at the peak of the phase, among these, where they have most. */
static double held_most(const struct method *method, uint32_t phases)
{
	const struct replay *replay = &method->run->replay;
	double sum[MT_PHASE_COUNT] = { 0 }, most = 0;
	const struct replay_site *site = NULL;
	uint32_t phase;

	while ((site = method_next(method, site))) {
		for (phase = 0; phase < MT_PHASE_COUNT; phase++)
			sum[phase] += (double)site->held[phase];
		sum[replay->later.phase] += replay_later_of(replay, (uint32_t)(site - replay->site));
	}
	for (phase = 0; phase < MT_PHASE_COUNT; phase++)
		most = phases & 1u << phase && sum[phase] > most ? sum[phase] : most;
	return most;
}

/* Returns the layers of the model; if unknown, a usual number. */
static double layers_of(const struct advise_run *run)
{
	return run->layers > 1 ? run->layers : LAYERS_USUAL;
}

int method_direction(const struct method *method)
{
	const struct mt_knob *knob = method->knob;

	if (knob->saves != MT_KNOB_SAVES_ON && knob->saves != MT_KNOB_SAVES_OFF)
		return 0;
	if (knob->turned_off)
		return mt_knob_is_off(knob, method->to_text) -
		       (method->now_text && mt_knob_is_off(knob, method->now_text));
	if (!method->is_number || method->now == method->to)
		return 0;
	return (method->to != 0) == (knob->saves == MT_KNOB_SAVES_ON) ? 1 : -1;
}

/* Fill of a bucket, smallest and largest: a bucket is closed after the weight that fills it. */
#define BUCKET_LEAST 0.5
#define BUCKET_MOST 1.6
#define BUCKET_OFTEN 1.5 /* allocations in a step for each resident piece */
#define KEPT_MOST 1.25   /* factor for waiting gradients: each added gradient exists a second time */

#define COMPUTED (CATEGORY(ACTIVATIONS) | CATEGORY(RECOMPUTED) | CATEGORY(LOGITS))

/* ---- types --------------------------------------------------------------------------------------------------------------- */

double advise_weight_of(const struct mt_knob *knob, const char *value)
{
	double number;
	uint32_t i;

	if (!value)
		return -1;
	if (knob->measure == MT_KNOB_UNIT_SWITCH && !advise_value_number(knob, value, &number))
		value = number > 0 ? "true" : "false"; /* also for True and 1 */
	value += strncmp(value, "torch.", 6) ? 0 : 6;
	for (i = 0; i < knob->weighs; i++)
		if (!strcmp(knob->weigh[i].value, value))
			return knob->weigh[i].weight;
	return -1;
}

/*
 * Scales the row's bytes, results in the weights' type, and an optimizer's temporaries. If logits have the weights' type, the model computes in this
 * type. Logits can also stay in 32 bits.
 */
static void keep_types(struct method *method, double left)
{
	const struct advise_run *run = method->run;
	const struct replay_site *site, *end = run->replay.site + run->replay.sites, *logits = run->replay.site;
	uint32_t own = method->knob->categories;
	int computes;

	while (logits < end && !(logits->category == MT_CATEGORY_LOGITS && logits->element))
		logits++;
	computes = own & CATEGORY(WEIGHTS) && logits < end && logits->element == run->model.element;
	for (site = run->replay.site; site < end; site++) {
		if (own & 1u << site->category || !(advise_roles_of(run, site) & method->knob->processes))
			continue;
		if (own & CATEGORY(OPTIMIZER_STATE) && site->category == MT_CATEGORY_WORKSPACE &&
		    site->phase == MT_PHASE_OPTIMIZER)
			method_keep(method, site, left < 1 ? 0 : 1, left < 1 ? 1 : 1 / left);
		else if (computes && COMPUTED & 1u << site->category)
			method_keep(method, site, left, site->category == MT_CATEGORY_LOGITS ? 1 : left);
	}
	method_keep_all(method, left, left);
}

/* A switch leaves some bytes in the old type, and adds copies of the weights in the new type. */
static enum advise_silence keep_switched(struct method *method, double to, double left)
{
	const struct advise_model *model = &method->run->model;
	int is_computed = !(method->knob->categories & ~COMPUTED);

	/* Computed bytes have the weights' type: two bytes cannot be halved. If this type is unknown, all or none of the bytes go. */
	if (is_computed && model->element == 2 && to >= 2)
		return ADVISE_SILENT_SAME;
	method_keep_all(method, left, is_computed && !model->element ? 1 : (1 + left) / 2);
	if (method->effects)
		method_add(method, method_phases(method->knob), 0, (double)model->bytes[MT_CATEGORY_WEIGHTS] * left);
	return ADVISE_SILENT_NONE;
}

static enum advise_silence keep_weighed(struct method *method)
{
	int is_switch = method->knob->measure == MT_KNOB_UNIT_SWITCH; /* a switch without a value is off */
	const char *text = !method->now_text && is_switch ? "false" : method->now_text;
	double now = advise_weight_of(method->knob, text), to = advise_weight_of(method->knob, method->to_text);
	const struct advise_model *model = &method->run->model;
	uint32_t i;

	/* If the type is unknown, the census gives the bytes of an element. */
	for (i = MT_CATEGORY_OPTIMIZER_STATE; i >= MT_CATEGORY_WEIGHTS && now < 0 && !is_switch; i--)
		if (method->knob->categories & 1u << i && model->bytes[i])
			now = model->wide[i] > model->bytes[i] / 2 ? 4 : 2;
	if (to < 0)
		return ADVISE_SILENT_NO_ESTIMATE;
	if (now <= 0)
		return now < 0 ? ADVISE_SILENT_NO_VALUE : ADVISE_SILENT_NOT_RECORDED;
	if (now == to)
		return ADVISE_SILENT_SAME;
	if (is_switch)
		return keep_switched(method, to, to / now);
	keep_types(method, to / now);
	return ADVISE_SILENT_NONE;
}

/* ---- shards -------------------------------------------------------------------------------------------------------------- */

enum advise_silence method_divided(struct method *method)
{
	const struct mt_knob *knob = method->knob;
	int way = method_direction(method);
	double ratio;

	if (knob->weighs)
		return keep_weighed(method);
	if (way < 0)
		return ADVISE_SILENT_NOT_RECORDED;
	/* A switch and a stage divide by a number of GPUs that the recording does not have. Chosen parts are copies, and the whole stays. */
	if (way || knob->measure == MT_KNOB_UNIT_STAGE || !method->is_number || method->to <= 0 || method->now == 0 ||
	    knob->saves == MT_KNOB_SAVES_CHOOSE)
		return ADVISE_SILENT_NO_ESTIMATE;
	ratio = (method->now > 0 ? method->now : 1) / method->to;
	ratio = knob->saves == MT_KNOB_SAVES_LOWER ? 1 / ratio : ratio;
	/* Each part also keeps activations that are not divided. */
	method_keep_all(method, ratio, knob->categories & CATEGORY(ACTIVATIONS) ? (1 + ratio) / 2 : ratio);
	return ADVISE_SILENT_NONE;
}

/* ---- pieces and shares ------------------------------------------------------------------------------------------------ */

/*
 * A bucket is allocated more than once in a step, with about its largest allowed size. A stack that proves a bucket allows any size. The last weight
 * overfills a bucket, by another excess for each size.
 */
static void keep_bucket(struct method *method, const struct replay_site *site, double now, double to)
{
	double steps = method->run->steps > 0 ? (double)method->run->steps : 1, each = (double)site->births / steps;
	double largest = (double)site->largest, over = largest - now;
	double kept = (largest + to - now) / largest, least = to / largest;

	if (method->knob->withins)
		method_keep(method, site, to / now, least < 1 && to < now ? least : kept);
	else if (each > BUCKET_OFTEN * site->many && largest >= now * BUCKET_LEAST && largest <= now * BUCKET_MOST)
		method_keep(method, site, kept - (over > 0 ? over / largest : 0), kept);
}

enum advise_silence method_bucket(struct method *method)
{
	const struct replay_site *site = NULL;
	double element = method->run->model.element ? (double)method->run->model.element : 2, held, left;
	double scale = method->knob->measure == MT_KNOB_UNIT_ELEMENTS ? element : 1;

	if (!method->is_number || method_direction(method))
		return ADVISE_SILENT_NO_ESTIMATE;
	if (method->now <= 0)
		return ADVISE_SILENT_NO_VALUE;
	if (method->knob->categories == CATEGORY(KV_CACHE)) { /* the value is the size of the whole cache */
		held = held_most(method, ALL_PHASES);
		left = held > 0 ? 1 - (method->now - method->to) / held : 1;
		method_keep_all(method, left, left);
		return ADVISE_SILENT_NONE;
	}
	while ((site = method_next(method, site)))
		keep_bucket(method, site, method->now * scale, method->to * scale);
	return ADVISE_SILENT_NONE;
}

enum advise_silence method_share(struct method *method)
{
	double held = held_most(method, ALL_PHASES), less;

	if (!method->is_number || !method->run->total)
		return ADVISE_SILENT_NO_ESTIMATE;
	if (method->now < 0 || held <= 0)
		return method->now < 0 ? ADVISE_SILENT_NO_VALUE : ADVISE_SILENT_NO_BYTES;
	less = (method->now - method->to) * (double)method->run->total / held;
	method_keep_all(method, 1 - less, 1 - 0.9 * less);
	return ADVISE_SILENT_NONE;
}

/*
 * If gradients wait for the next micro-batch, all are resident while it runs. In a single micro-batch, gradients come one by one while its
 * activations go.
 */
enum advise_silence method_kept(struct method *method)
{
	double held = held_most(method, ALL_PHASES);
	int waits = method->to > 1, waited = method->now > 1;

	if (waits == waited)
		return ADVISE_SILENT_NO_METHOD;
	if (!method->is_number || method->now < 0)
		return ADVISE_SILENT_NO_VALUE;
	method_keep_all(method, 0, waits ? 0 : 1);
	if (waits && method->effects)
		method_add(method, method->knob->phases, held, held * KEPT_MOST);
	return ADVISE_SILENT_NONE;
}

/* ---- offload, recomputation, adapters and fewer kept results -------------------------------------------------------------------- */

/* Divisors of the bytes that wait for the backward: boundaries of layers are between 1/40 and 1/8 of these. */
#define BOUNDARY_LEAST 40.0
#define BOUNDARY_MOST 8.0
#define ADAPTERS_MOST 1.25 /* factor: activations of larger adapters have the rank's width */
#define STEPS_MOST 0.2     /* part of all batches: the newest batch and its outputs */
#define SHARDS_MOST 0.5    /* part of gradients that stays as shards, on two GPUs */
#define RESULTS_MOST 0.6   /* part of activations that is not in one layer */

/* Whether the site has a piece in at least half of the layers. */
static int is_of_layers(const struct advise_run *run, const struct replay_site *site)
{
	return site->many > 1 && site->many >= layers_of(run) / 2;
}

/* Recomputation keeps one vector for each token and layer, and all bytes of one layer at a time. Bytes outside of layers stay. */
static enum advise_silence keep_boundaries(struct method *method)
{
	const struct advise_run *run = method->run;
	double layers = layers_of(run), inside = 0, vectors, least, most;
	const struct replay_site *site = NULL;
	uint64_t largest = 0;

	while ((site = method_next(method, site))) {
		if (!is_of_layers(run, site))
			continue;
		inside += (double)advise_site_held(site);
		largest = site->largest > largest ? site->largest : largest;
	}
	if (inside <= 0)
		return ADVISE_SILENT_NO_BYTES;
	vectors = (double)advise_tokens_in(run, method_phases(method->knob)) * (double)run->model.width * layers;
	least = vectors > 0 ? vectors * (double)(run->model.element ? run->model.element : 2) / inside
			    : 1 / BOUNDARY_LEAST;
	most = vectors > 0 ? vectors * 4 / inside : 1 / BOUNDARY_MOST;
	/* No layer is recomputed while logits are resident. */
	least = least < 0.5 ? least : 0.5;
	most = 1 / layers + (most < 0.8 ? most : 0.8);
	while ((site = method_next(method, site)))
		if (is_of_layers(run, site))
			method_keep(method, site, least, most < 1 ? most : 1);
	/* The gradient of a layer's result is resident with the recomputed layer. */
	if (method->effects)
		method_add(method, method->knob->phases & 1u << MT_PHASE_BACKWARD, 0, (double)largest);
	return ADVISE_SILENT_NONE;
}

/*
 * A run that trains adapters scales adapters, gradients and states with the rank. In other runs, a new adapter of rank r at an a x b matrix has r *
 * (a + b) numbers, at two matrices of each layer or at all.
 */
static void keep_adapters(struct method *method)
{
	const struct advise_model *model = &method->run->model;
	double ratio = method->to / method->now, more = (double)model->bytes[MT_CATEGORY_GRADIENTS] * (ratio - 1);
	double rank = method->is_number && method->to > 1 ? method->to : 16, all = (double)model->elements;
	double vectors = rank * (double)model->width * layers_of(method->run);

	if (method->is_number && method->now > 0) {
		method_add(method, ALL_PHASES, more, more * ADAPTERS_MOST);
		method_keep_all(method, ratio, ratio);
	} else {
		method_keep_all(method, all > 0 ? 2 * 2 * vectors / all : 0.002,
				all > 0 ? 7 * 4 * vectors / all : 0.05);
	}
}

/* The value is a share of the bytes, or a number of bytes. */
static enum advise_silence keep_share(struct method *method)
{
	const struct mt_knob *knob = method->knob;
	double part = method->to - (method->now > 0 ? method->now : 0), held;

	if (mt_knob_unit_kind(knob->measure) == MT_KNOB_KIND_SIZE) {
		held = held_most(method, knob->phases);
		part = held > 0 ? part / held : 0;
	} else if (knob->measure != MT_KNOB_UNIT_SHARE) {
		return ADVISE_SILENT_NO_ESTIMATE;
	}
	part = knob->saves == MT_KNOB_SAVES_LOWER ? -part : part;
	method_keep_all(method, 1 - part, 1 - part);
	return ADVISE_SILENT_NONE;
}

/*
 * Returns why a value of no switch removes nothing; ADVISE_SILENT_NONE: it removes bytes. "full", a number of layers and a rank turn the setting on.
 */
static enum advise_silence why_not(const struct method *method)
{
	const char *now = method->now_text ? method->now_text : "", *to = method->to_text;

	if (advise_is_null(to) || !strcmp(to, "none") || (method->is_number && method->to == 0))
		return ADVISE_SILENT_NOT_RECORDED;
	if (method->knob->leaves != MT_KNOB_LEAVES_NOTHING)
		return ADVISE_SILENT_NONE;
	if (!strcmp(now, "cpu") || !strcmp(now, "nvme")) /* already outside of the GPU */
		return ADVISE_SILENT_SAME;
	return !strcmp(to, "cpu") || !strcmp(to, "nvme") ? ADVISE_SILENT_NONE : ADVISE_SILENT_NO_ESTIMATE;
}

static enum advise_silence keep_rest(struct method *method)
{
	double layers = layers_of(method->run), most = 3 / layers;
	uint32_t categories = method->knob->categories;

	switch (method->knob->leaves) {
	case MT_KNOB_LEAVES_BOUNDARIES:
		if (strcmp(method->to_text, "selective") != 0)
			return keep_boundaries(method);
		method_keep_all(method, 0.5, 1);
		break;
	case MT_KNOB_LEAVES_LAYER: /* implementations free different parts */
		if (categories == CATEGORY(GRADIENTS) || categories & CATEGORY(ACTIVATIONS))
			most = categories == CATEGORY(GRADIENTS) ? SHARDS_MOST : RESULTS_MOST;
		method_keep_all(method, 1 / layers, most);
		break;
	case MT_KNOB_LEAVES_ADAPTERS:
		keep_adapters(method);
		break;
	default: /* the recording does not show which weights belong to the critic */
		method_keep_all(method, 0, method->knob->processes == RUN_ROLE(CRITIC));
	}
	return ADVISE_SILENT_NONE;
}

enum advise_silence method_removed(struct method *method)
{
	const struct mt_knob *knob = method->knob;
	int is_of_reference = knob->processes & RUN_ROLE(REFERENCE) && !(knob->categories & ~CATEGORY(WEIGHTS)) &&
			      !(method->run->elsewhere & RUN_ROLE(REFERENCE)); /* a reference in a trainer's process */
	int way = method_direction(method), goes = way > 0 || (!way && method->is_number && method->to == 0);
	const struct advise_model *model = &method->run->model;
	double weights = (double)model->bytes[MT_CATEGORY_WEIGHTS]; /* weights of all models */
	double trained = weights > 0 ? 1 - (double)model->untrained / weights : 1;
	enum advise_silence silence;

	if (knob->measure == MT_KNOB_UNIT_STEPS) { /* the value is the number of steps that are kept */
		if (method->to < 1)
			return ADVISE_SILENT_NO_ESTIMATE;
		method_keep_all(method, method->now >= 1 ? method->to / method->now : 0,
				method->now >= 1 ? method->to / method->now : STEPS_MOST);
		return ADVISE_SILENT_NONE;
	}
	if (is_of_reference && way >= 0 && (goes || trained >= 1)) { /* the reference's weights have no optimizer */
		method_keep_all(method, trained, trained);
		return ADVISE_SILENT_NONE;
	}
	if (knob->measure == MT_KNOB_UNIT_SHARE ||
	    (!way && knob->leaves == MT_KNOB_LEAVES_NOTHING && knob->saves != MT_KNOB_SAVES_CHOOSE))
		return keep_share(method);
	silence = way < 0 ? ADVISE_SILENT_NOT_RECORDED : way ? ADVISE_SILENT_NONE : why_not(method);
	return silence ? silence : keep_rest(method);
}
