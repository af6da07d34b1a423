/* Effects of shards, types, buckets, and shares of a cache. */
#include <string.h>
#include "method.h"

/* Fill of a bucket, least and most: the weight that fills a bucket closes it. */
#define BUCKET_LEAST 0.5
#define BUCKET_MOST 1.6
#define ADAPTERS_FEW 10  /* divisor: trained weights below 1/10 of all weights are adapters */
#define IN_BLOCKS 2.0    /* bytes of all states of an element: smaller states come in blocks with a scale */
#define BUCKET_OFTEN 1.5 /* births in a step for each piece at once */
#define KEPT_MOST 1.25   /* factor for waiting gradients: the added gradient lies beside them */

#define COMPUTED (CATEGORY(ACTIVATIONS) | CATEGORY(RECOMPUTED) | CATEGORY(LOGITS))

/* ---- types --------------------------------------------------------------------------------------------------------------- */

/* The weight of a value in the row; -1: none. */
static double weight_of(const struct mt_knob *knob, const char *value)
{
	double number;
	uint32_t i;

	if (!value)
		return -1;
	if (knob->measure == MT_KNOB_UNIT_SWITCH && !advise_value_number(knob, value, &number))
		value = number > 0 ? "true" : "false"; /* and not True, or 1 */
	value += strncmp(value, "torch.", 6) ? 0 : 6;
	for (i = 0; i < knob->weighs; i++)
		if (!strcmp(knob->weigh[i].value, value))
			return knob->weigh[i].weight;
	return -1;
}

/* Bytes of an element by the census, if no type is known; -1: unknown. */
static double weight_seen(const struct method *method)
{
	const struct advise_model *model = &method->run->model;
	uint32_t categories = method->knob->categories;

	if (categories & CATEGORY(OPTIMIZER_STATE) && model->state)
		return model->wide[2] > model->state / 2 ? 4 : 2;
	if (categories & CATEGORY(GRADIENTS) && model->gradients)
		return model->wide[1] > model->gradients / 2 ? 4 : 2;
	if (categories & CATEGORY(WEIGHTS) && model->weights)
		return model->wide[0] > model->weights / 2 ? 4 : 2;
	return -1;
}

/* Logits of the weights' type show that the model computes in this type. */
static int computes_in_weights(const struct advise_run *run)
{
	const struct replay_site *site, *end = run->replay.site + run->replay.sites;

	for (site = run->replay.site; site < end; site++)
		if (site->category == MT_CATEGORY_LOGITS && advise_element(run, site))
			return advise_element(run, site) == run->model.element;
	return 0;
}

/* Few trained weights are adapters: they and their results stay in 32 bits for any type of the model. */
static int has_adapters(const struct advise_model *model)
{
	return model->trained && model->trained < model->elements / ADAPTERS_FEW;
}

/* The largest part that is left of the row's site: adapters, and an embedding's states beside states in blocks, can stay. */
static double left_at_most(const struct method *method, const struct replay_site *site, double to, double left)
{
	const struct advise_model *model = &method->run->model;
	double embedding = (double)model->words * (double)model->width, trained = (double)model->trained;

	if (method->knob->categories & CATEGORY(WEIGHTS) && has_adapters(model) && left < 1)
		return site->category == MT_CATEGORY_WEIGHTS ? left + (1 - left) * trained / (double)model->elements
							     : 1;
	if (method->knob->categories != CATEGORY(OPTIMIZER_STATE) || to <= 0 || to > IN_BLOCKS || left >= 1 ||
	    embedding >= trained)
		return left;
	return left + (1 - left) * embedding / trained;
}

/*
 * Scales results that are computed in the weights' type, and an optimizer's temporaries. Logits
 * can stay in 32 bits.
 */
static void keep_followers(struct method *method, double left)
{
	const struct advise_run *run = method->run;
	uint32_t own = method->knob->categories, i;
	int computes = own & CATEGORY(WEIGHTS) && computes_in_weights(run), wide;
	const struct replay_site *site;

	for (i = 0; i < run->replay.sites; i++) {
		site = &run->replay.site[i];
		if (own & 1u << site->category || !(advise_roles_of(run, site) & method->knob->processes))
			continue;
		wide = site->category == MT_CATEGORY_LOGITS || has_adapters(&run->model);
		if (own & CATEGORY(OPTIMIZER_STATE) && site->category == MT_CATEGORY_WORKSPACE &&
		    site->phase == MT_PHASE_OPTIMIZER)
			method_keep(method, i, left < 1 ? 0 : 1, left < 1 ? 1 : 1 / left);
		else if (computes && COMPUTED & 1u << site->category)
			method_keep(method, i, left, wide ? 1 : left);
	}
}

static void keep_types(struct method *method, double to, double left)
{
	const struct replay *replay = &method->run->replay;
	uint32_t i;

	keep_followers(method, left);
	for (i = method_next(method, 0); i < replay->sites; i = method_next(method, i + 1))
		method_keep(method, i, left, left_at_most(method, &replay->site[i], to, left));
}

/* A switch leaves some bytes in the old type, and copies of the weights come in the new one. */
static void keep_switched(struct method *method, double to, double left)
{
	const struct advise_model *model = &method->run->model;
	int is_computed = !(method->knob->categories & ~COMPUTED);

	/* Computed bytes follow the weights' type: two bytes cannot be halved. With an unknown type, all or nothing goes. */
	if (is_computed && model->element == 2 && to >= 2) {
		method_silent(method, ADVISE_SILENT_SAME);
		return;
	}
	method_keep_all(method, left, is_computed && !model->element ? 1 : (1 + left) / 2);
	if (method->effects)
		method_add(method, method_phases(method->knob), 0, (double)model->weights * left);
}

static void keep_weighed(struct method *method)
{
	int is_switch = method->knob->measure == MT_KNOB_UNIT_SWITCH;
	const char *text = !method->now_text && is_switch ? "false"
							  : method->now_text; /* a switch without a value is off */
	double now = weight_of(method->knob, text), to = weight_of(method->knob, method->to_text);

	if (now < 0 && !is_switch)
		now = weight_seen(method);
	if (to < 0 || now <= 0 || now == to)
		method_silent(method, to < 0      ? ADVISE_SILENT_NO_ESTIMATE
				      : now < 0   ? ADVISE_SILENT_NO_VALUE
				      : now == to ? ADVISE_SILENT_SAME
						  : ADVISE_SILENT_NOT_RECORDED);
	else if (is_switch)
		keep_switched(method, to, to / now);
	else
		keep_types(method, to, to / now);
}

/* ---- shards -------------------------------------------------------------------------------------------------------------- */

/* ZeRO stages: 1 divides states, 2 also gradients, 3 also weights. */
static void keep_stage(struct method *method)
{
	static const uint32_t divides[] = { 0, CATEGORY(OPTIMIZER_STATE), CATEGORY(GRADIENTS), CATEGORY(WEIGHTS) };
	const struct replay *replay = &method->run->replay;
	double gpus = (double)method->run->gpus;
	uint32_t moved = 0, i;
	int stage;

	for (stage = 1; stage <= 3; stage++)
		moved |= stage > method->now && stage <= method->to ? divides[stage] : 0;
	if (gpus < 2 || method->now < 0) {
		method_silent(method, gpus < 2 ? ADVISE_SILENT_NO_ESTIMATE : ADVISE_SILENT_NO_VALUE);
		return;
	}
	for (i = method_next(method, 0); i < replay->sites; i = method_next(method, i + 1))
		if (moved & 1u << replay->site[i].category)
			method_keep(method, i, 1 / gpus, 1 / gpus);
}

void method_divided(struct method *method)
{
	const struct mt_knob *knob = method->knob;
	int way = method_direction(method);
	double gpus = (double)method->run->gpus, ratio;

	if (knob->weighs) {
		keep_weighed(method);
	} else if (knob->measure == MT_KNOB_UNIT_STAGE && method->is_number) {
		keep_stage(method);
	} else if (way > 0 && gpus > 1) {
		method_keep_all(method, 1 / gpus, 1 / gpus);
	} else if (way < 0) {
		method_silent(method, ADVISE_SILENT_NOT_RECORDED);
	} else if (way || !method->is_number || method->to <= 0 || method->now == 0 ||
		   knob->saves == MT_KNOB_SAVES_CHOOSE) { /* chosen parts are copies beside the whole */
		method_silent(method, ADVISE_SILENT_NO_ESTIMATE);
	} else {
		ratio = (method->now > 0 ? method->now : 1) / method->to;
		ratio = knob->saves == MT_KNOB_SAVES_LOWER ? 1 / ratio : ratio;
		/* Each part also keeps its undivided activations. */
		method_keep_all(method, ratio, knob->categories & CATEGORY(ACTIVATIONS) ? (1 + ratio) / 2 : ratio);
	}
}

/* ---- pieces and shares ------------------------------------------------------------------------------------------------ */

/* A bucket comes and goes more than once in a step, and has about its largest allowed size. */
static int is_bucket(const struct method *method, const struct replay_site *site, double bytes)
{
	double steps = method->run->steps > 0 ? (double)method->run->steps : 1, each = (double)site->births / steps;

	return each > BUCKET_OFTEN * site->many && (double)site->largest >= bytes * BUCKET_LEAST &&
	       (double)site->largest <= bytes * BUCKET_MOST;
}

/* The weight that overfills a bucket closes it: another size can have another excess. A stack proves a bucket of any size. */
static void keep_bucket(struct method *method, uint32_t number, double now, double to)
{
	double largest = (double)method->run->replay.site[number].largest, over = largest - now;
	double kept = (largest + to - now) / largest, least = to / largest;

	if (!method->knob->withins)
		method_keep(method, number, kept - (over > 0 ? over / largest : 0), kept);
	else
		method_keep(method, number, to / now, least < 1 && to < now ? least : kept);
}

void method_bucket(struct method *method)
{
	const struct replay *replay = &method->run->replay;
	double element = method->run->model.element ? (double)method->run->model.element : 2, held, left;
	double scale = method->knob->measure == MT_KNOB_UNIT_ELEMENTS ? element : 1;
	uint32_t i;

	if (!method->is_number || method_direction(method) || method->now <= 0) {
		method_silent(method, method->is_number && !method_direction(method) ? ADVISE_SILENT_NO_VALUE
										     : ADVISE_SILENT_NO_ESTIMATE);
		return;
	}
	if (method->knob->categories == CATEGORY(KV_CACHE)) { /* the value is the size of the whole cache */
		held = method_held_most(method, ALL_PHASES);
		left = held > 0 ? 1 - (method->now - method->to) / held : 1;
		method_keep_all(method, left, left);
		return;
	}
	for (i = method_next(method, 0); i < replay->sites; i = method_next(method, i + 1))
		if (method->knob->withins || is_bucket(method, &replay->site[i], method->now * scale))
			keep_bucket(method, i, method->now * scale, method->to * scale);
}

void method_share(struct method *method)
{
	double held = method_held_most(method, ALL_PHASES), less;

	if (!method->is_number || !method->run->total || method->now < 0 || held <= 0) {
		method_silent(method, !method->is_number || !method->run->total ? ADVISE_SILENT_NO_ESTIMATE
				      : method->now < 0                         ? ADVISE_SILENT_NO_VALUE
										: ADVISE_SILENT_NO_BYTES);
		return;
	}
	less = (method->now - method->to) * (double)method->run->total / held;
	method_keep_all(method, 1 - less, 1 - 0.9 * less);
}

/*
 * Gradients that wait for the next micro-batch are resident while it runs. Gradients of a single micro-batch come one by one while
 * its activations go.
 */
void method_kept(struct method *method)
{
	double held = method_held_most(method, ALL_PHASES);
	int waits = method->to > 1, waited = method->now > 1;

	if (!method->is_number || method->now < 0 || waits == waited) {
		method_silent(method, waits == waited ? ADVISE_SILENT_NO_METHOD : ADVISE_SILENT_NO_VALUE);
		return;
	}
	method_keep_all(method, 0, waits ? 0 : 1);
	if (waits && method->effects)
		method_add(method, method->knob->phases, held, held * KEPT_MOST);
}
