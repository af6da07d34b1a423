/* Effects of offload, recomputation, adapters and fewer kept results. */
#include <string.h>
#include "memtrace/base.h"
#include "method.h"

/* Divisors: layer boundaries are between 1/40 and 1/8 of the bytes that wait for the backward. */
#define BOUNDARY_LEAST 40.0
#define BOUNDARY_MOST 8.0
#define ADAPTERS_MOST 1.25 /* factor for larger adapters: their activations have the rank's width */
#define STEPS_MOST 0.2     /* part of all batches: the newest one and its outputs */

/* Whether the site has a piece of most layers. */
static int is_of_layers(const struct advise_run *run, const struct replay_site *site)
{
	return site->many > 1 && site->many >= method_layers(run) / 2;
}

/* Layers keep one vector for each token and layer, and all bytes of one layer at a time. Memory outside of layers stays. */
static void keep_boundaries(struct method *method)
{
	const struct advise_run *run = method->run;
	const struct replay *replay = &run->replay;
	double layers = method_layers(run), inside = 0, vectors, least, most;
	const struct replay_site *site;
	uint64_t largest = 0;
	uint32_t i;

	for (i = method_next(method, 0); i < replay->sites; i = method_next(method, i + 1)) {
		site = &replay->site[i];
		if (!is_of_layers(run, site))
			continue;
		inside += (double)advise_site_held(site);
		largest = site->largest > largest ? site->largest : largest;
	}
	if (inside <= 0) {
		method_silent(method, ADVISE_SILENT_NO_BYTES);
		return;
	}
	vectors = (double)advise_tokens_in(run, method_phases(method->knob)) * (double)run->model.width * layers;
	least = vectors > 0 ? vectors * (double)(run->model.element ? run->model.element : 2) / inside
			    : 1 / BOUNDARY_LEAST;
	most = vectors > 0 ? vectors * 4 / inside : 1 / BOUNDARY_MOST;
	/* While logits are resident, no layer is recomputed yet. */
	least = least < 0.5 ? least : 0.5;
	most = 1 / layers + (most < 0.8 ? most : 0.8);
	for (i = method_next(method, 0); i < replay->sites; i = method_next(method, i + 1))
		if (is_of_layers(run, &replay->site[i]))
			method_keep(method, i, least, most < 1 ? most : 1);
	/* The gradient of a result lies beside the recomputed layer. */
	if (method->effects)
		method_add(method, method->knob->phases & 1u << MT_PHASE_BACKWARD, 0, (double)largest);
}

/* Without recomputation, every layer keeps the bytes that were recomputed for one layer. */
static void keep_everything(struct method *method)
{
	const struct replay *replay = &method->run->replay;
	double kept = 0, again = 0, more;
	uint32_t i;

	for (i = 0; i < replay->sites; i++) {
		if (replay->site[i].category == MT_CATEGORY_ACTIVATIONS)
			kept += (double)advise_site_held(&replay->site[i]);
		if (replay->site[i].category == MT_CATEGORY_RECOMPUTED)
			again += (double)advise_site_held(&replay->site[i]);
	}
	if (kept <= 0 || again <= 0) {
		method_silent(method, ADVISE_SILENT_NOT_RECORDED);
		return;
	}
	more = again * method_layers(method->run) / kept;
	for (i = method_next(method, 0); i < replay->sites; i = method_next(method, i + 1))
		if (replay->site[i].category == MT_CATEGORY_ACTIVATIONS && is_of_layers(method->run, &replay->site[i]))
			method_keep(method, i, more * 0.7, more * 1.2);
}

/*
 * The weights' part of adapters: rank r at a matrix of a x b takes r * (a + b) numbers. all: at all matrices of a layer, else two.
 */
static double adapters_of(const struct method *method, int all)
{
	const struct advise_model *model = &method->run->model;
	double rank = method->is_number && method->to > 1 ? method->to : 16, matrices = all ? 7 : 2;

	if (!model->elements)
		return all ? 0.05 : 0.002;
	return rank * matrices * (all ? 4 : 2) * (double)model->width * method_layers(method->run) /
	       (double)model->elements;
}

/* The run can already train adapters: then adapters, gradients and states scale with the rank. */
static void keep_adapters(struct method *method)
{
	double ratio = method->to / method->now, more = (double)method->run->model.gradients * (ratio - 1);

	if (!method->is_number || method->now <= 0) {
		method_keep_all(method, adapters_of(method, 0), adapters_of(method, 1));
		return;
	}
	method_add(method, ALL_PHASES, more, more * ADAPTERS_MOST);
	method_keep_all(method, ratio, ratio);
}

/* The value is a part of the bytes, or a number of them. */
static void keep_share(struct method *method)
{
	const struct mt_knob *knob = method->knob;
	double part = method->to - (method->now > 0 ? method->now : 0), held;

	if (mt_knob_unit_kind(knob->measure) == MT_KNOB_KIND_SIZE) {
		held = method_held_most(method, knob->phases);
		part = held > 0 ? part / held : 0;
	} else if (knob->measure != MT_KNOB_UNIT_SHARE) {
		method_silent(method, ADVISE_SILENT_NO_ESTIMATE);
		return;
	}
	part = knob->saves == MT_KNOB_SAVES_LOWER ? -part : part;
	method_keep_all(method, 1 - part, 1 - part);
}

/* The bytes of one layer stay. Implementations differ in the part of activations and gradients that goes. */
static void keep_layer(struct method *method)
{
	double layers = method_layers(method->run), most = 3 / layers;

	if (method->knob->categories == CATEGORY(GRADIENTS)) /* shards stay: half of the bytes on two GPUs */
		most = 0.5;
	else if (method->knob->categories & CATEGORY(ACTIVATIONS))
		most = 0.6;
	method_keep_all(method, 1 / layers, most);
}

/* Whether the value names a place outside of the GPU. */
static int is_elsewhere(const char *text)
{
	return text && (!strcmp(text, "cpu") || !strcmp(text, "nvme"));
}

/* Whether the new value turns the setting on: "full", a number of layers, a rank. */
static int is_turned_on(const struct method *method)
{
	return !advise_is_null(method->to_text) && strcmp(method->to_text, "none") != 0 &&
	       !(method->is_number && method->to == 0);
}

/* Why a value that is no switch removes nothing; ADVISE_SILENT_NONE: it does. */
static enum advise_silence why_not(const struct method *method)
{
	if (!is_turned_on(method))
		return ADVISE_SILENT_NOT_RECORDED;
	if (method->knob->leaves != MT_KNOB_LEAVES_NOTHING)
		return ADVISE_SILENT_NONE;
	if (is_elsewhere(method->now_text))
		return ADVISE_SILENT_SAME;
	return is_elsewhere(method->to_text) ? ADVISE_SILENT_NONE : ADVISE_SILENT_NO_ESTIMATE;
}

/* Removes the reference's weights: the weights that no optimizer has. 0: the row is about other bytes. */
static int keep_trained(struct method *method, int way)
{
	double trained = 1 - advise_untrained(method->run);

	if (!advise_is_of_reference(method->knob) || way < 0 || method->run->elsewhere & RUN_ROLE(REFERENCE))
		return 0;
	if (trained >= 1)
		method_silent(method, ADVISE_SILENT_NO_BYTES);
	else if (way || (method->is_number && method->to == 0))
		method_keep_all(method, trained, trained);
	else
		return 0;
	return 1;
}

/* The value is the number of kept steps, of the present number or of all. */
static void keep_steps(struct method *method)
{
	double ratio = method->to / method->now;

	if (method->to < 1)
		method_silent(method, ADVISE_SILENT_NO_ESTIMATE);
	else if (method->now >= 1)
		method_keep_all(method, ratio, ratio);
	else
		method_keep_all(method, 0, STEPS_MOST);
}

static void keep_rest(struct method *method)
{
	switch (method->knob->leaves) {
	case MT_KNOB_LEAVES_BOUNDARIES:
		if (strcmp(method->to_text, "selective") != 0)
			keep_boundaries(method);
		else
			method_keep_all(method, 0.5, 1);
		break;
	case MT_KNOB_LEAVES_LAYER:
		keep_layer(method);
		break;
	case MT_KNOB_LEAVES_ADAPTERS:
		keep_adapters(method);
		break;
	default: /* the recording does not show which weights are a critic's */
		method_keep_all(method, 0, method->knob->processes == RUN_ROLE(CRITIC));
	}
}

void method_removed(struct method *method)
{
	const struct mt_knob *knob = method->knob;
	int way = method_direction(method);
	enum advise_silence silence;

	if (knob->measure == MT_KNOB_UNIT_STEPS) {
		keep_steps(method);
		return;
	}
	if (keep_trained(method, way))
		return;
	if (way < 0 && knob->leaves == MT_KNOB_LEAVES_BOUNDARIES) {
		keep_everything(method);
		return;
	}
	if (knob->measure == MT_KNOB_UNIT_SHARE ||
	    (!way && knob->leaves == MT_KNOB_LEAVES_NOTHING && knob->saves != MT_KNOB_SAVES_CHOOSE)) {
		keep_share(method);
		return;
	}
	silence = way < 0 ? ADVISE_SILENT_NOT_RECORDED : way ? ADVISE_SILENT_NONE : why_not(method);
	if (silence)
		method_silent(method, silence);
	else
		keep_rest(method);
}
