#include "method.h"

#include <string.h>
#include "stack_words.h"

#define LAYERS_USUAL 24.0 /* number of layers, if unknown */
#define INNER 3           /* number of inner functions that name an allocation */

/* ---- the sites of a row --------------------------------------------------------------------------------------------------- */

/*
 * Work between forward and optimizer, such as a loss, has the phase "other" in the recording: rows of the forward include it. A
 * smaller cache is smaller in all phases, and a captured graph stays.
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

int advise_is_of_reference(const struct mt_knob *knob)
{
	return knob->method == MT_KNOB_METHOD_REMOVED && knob->processes & RUN_ROLE(REFERENCE) &&
	       !(knob->categories & ~CATEGORY(WEIGHTS));
}

int advise_waits_on_host(const struct mt_knob *knob)
{
	uint32_t states = CATEGORY(WEIGHTS) | CATEGORY(GRADIENTS) | CATEGORY(OPTIMIZER_STATE);
	uint32_t work = 1u << MT_PHASE_LOGPROB | 1u << MT_PHASE_REF | 1u << MT_PHASE_CRITIC | TRAINING;

	return knob->method == MT_KNOB_METHOD_REMOVED && knob->leaves == MT_KNOB_LEAVES_NOTHING &&
	       knob->measure == MT_KNOB_UNIT_SWITCH && knob->saves == MT_KNOB_SAVES_ON && knob->categories & states &&
	       !(knob->categories & ~states) && knob->phases & 1u << MT_PHASE_ROLLOUT && (knob->phases & work) != work;
}

/*
 * Whether the bytes stay after trainer and engine are parted. The bytes of the one that made the request or the peak stay, and the
 * other's go.
 */
static int stays_apart(const struct method *method, const struct replay_site *site)
{
	const struct advise_run *run = method->run;
	uint32_t both = RUN_ROLE(TRAINER) | RUN_ROLE(ENGINE);
	int engine_asks;

	if ((method->knob->processes & both) != both || method->knob->method != MT_KNOB_METHOD_REMOVED ||
	    method->knob->measure != MT_KNOB_UNIT_SWITCH)
		return 0;
	engine_asks = run->failed ? (advise_roles_of(run, &run->replay.site[run->replay.request.site]) &
				     RUN_ROLE(ENGINE)) != 0
				  : !strcmp(run->phase, mt_phase_name(MT_PHASE_ROLLOUT));
	return ((advise_roles_of(run, site) & RUN_ROLE(ENGINE)) != 0) == engine_asks;
}

/* The row's categories, and those that go along by its method. */
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
 * Whether the row is about the phase in which a micro-batch made the bytes. Bytes that wait for a backward come from a forward, even
 * if the stack was too deep to show this. Bytes that stay during the optimizer are of no micro-batch.
 */
static int has_phase(const struct method *method, const struct replay_site *site)
{
	int waits = site->held[MT_PHASE_BACKWARD] && !mt_phase_is_early(site->phase);
	uint32_t born = 1u << site->phase | (waits ? 1u << MT_PHASE_FORWARD : 0);
	int stays = site->phase != MT_PHASE_OPTIMIZER && site->held[MT_PHASE_OPTIMIZER] > advise_site_held(site) / 2;
	int is_drivers = site->driver && site->category == MT_CATEGORY_OTHER &&
			 method->knob->method == MT_KNOB_METHOD_TOKENS;

	return !(RUN_PASSING & 1u << site->category) || (!stays && !is_drivers && method_phases(method->knob) & born);
}

/* Whole numbers are no floats, which a type makes smaller. */
static int is_beyond(const struct method *method, const struct replay_site *site)
{
	const struct mt_knob *knob = method->knob;
	const struct scene *scene = method->run->scene;

	return stack_is_within(scene, site->node, knob->outside, knob->outsides, INNER) ||
	       (knob->weighs && RUN_PASSING & 1u << site->category &&
		stack_inner_tags(scene, site->node, INNER) & MT_TAG_BIT(INTEGERS));
}

static int is_meant(const struct method *method, const struct replay_site *site)
{
	const struct mt_knob *knob = method->knob;
	int is_share = knob->method == MT_KNOB_METHOD_SHARE;
	int64_t engine = method->run->engine.process;

	if (site->ignored || (is_share && engine && site->process != engine))
		return 0;
	if (is_share && advise_is_set_aside(site))
		return 1;
	return advise_roles_of(method->run, site) & knob->processes && has_category(method, site) &&
	       has_phase(method, site) && !stays_apart(method, site) && !is_beyond(method, site) &&
	       (!knob->withins || stack_is_within(method->run->scene, site->node, knob->within, knob->withins, INNER));
}

uint32_t method_next(const struct method *method, uint32_t from)
{
	const struct replay *replay = &method->run->replay;

	while (from < replay->sites && !is_meant(method, &replay->site[from]))
		from++;
	return from;
}

/* ---- what stays ------------------------------------------------------------------------------------------------------------ */

/* The part that stays for any value, 0 to 1: bytes that the phase brought for its own work. */
static double needed_in(const struct method *method, const struct replay_site *site, uint32_t phase)
{
	const struct advise_run *run = method->run;

	if (!run->failed || phase != run->replay.request.phase || !site->brought || !advise_waits_on_host(method->knob))
		return 0;
	return (double)site->brought / (double)site->then;
}

void method_keep(struct method *method, uint32_t number, double one, double other)
{
	const struct replay_site *site = &method->run->replay.site[number];
	struct replay_effect *lean = &method->scenario->lean[number], *heavy = &method->scenario->heavy[number];
	uint32_t phases = RUN_PASSING & 1u << site->category ? ALL_PHASES : method_phases(method->knob), phase;
	double least = one < other ? one : other, most = one < other ? other : one, needed;

	if ((one == 1 && other == 1) || !phases)
		return;
	for (phase = 0; phase < MT_PHASE_COUNT; phase++) {
		if (!(phases & 1u << phase))
			continue;
		needed = needed_in(method, site, phase);
		lean->keep[phase] *= (float)(needed + (1 - needed) * (least > 0 ? least : 0));
		heavy->keep[phase] *= (float)(needed + (1 - needed) * (most > 0 ? most : 0));
	}
	lean->used = heavy->used = 1;
	method->effects++;
}

void method_keep_all(struct method *method, double one, double other)
{
	uint32_t i;

	for (i = method_next(method, 0); i < method->run->replay.sites; i = method_next(method, i + 1))
		method_keep(method, i, one, other);
}

void method_add(struct method *method, uint32_t phases, double lean, double heavy)
{
	uint32_t phase;

	for (phase = 0; phase < MT_PHASE_COUNT; phase++)
		if (phases & 1u << phase) {
			method->scenario->lean_extra.bytes[phase] += lean;
			method->scenario->heavy_extra.bytes[phase] += heavy;
		}
}

double method_held_most(const struct method *method, uint32_t phases)
{
	const struct replay *replay = &method->run->replay;
	double sum[MT_PHASE_COUNT] = { 0 }, most = 0;
	uint32_t i, phase;

	for (i = method_next(method, 0); i < replay->sites; i = method_next(method, i + 1)) {
		for (phase = 0; phase < MT_PHASE_COUNT; phase++)
			sum[phase] += (double)replay->site[i].held[phase];
		sum[replay->later.phase] += replay_later_of(replay, i);
	}
	for (phase = 0; phase < MT_PHASE_COUNT; phase++)
		most = phases & 1u << phase && sum[phase] > most ? sum[phase] : most;
	return most;
}

void method_silent(struct method *method, enum advise_silence silence)
{
	method->silence = silence;
}

double method_layers(const struct advise_run *run)
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
