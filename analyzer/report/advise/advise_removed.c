/* What goes, is divided, or stays: offload, recomputation, shards, types, buckets, caches. */
#include "advise_turn.h"

#include <string.h>
#include "memtrace/base.h"

/* Boundaries of the layers, of all that is kept for the backward pass: between one part in so many. */
#define BOUNDARY_LEAST 40.0
#define BOUNDARY_MOST 8.0

/* A bucket is closed by the weight that fills it: how full it is, and by how much it is too full. */
#define BUCKET_LEAST 0.5
#define BUCKET_MOST 1.6
#define ADAPTERS_FEW 10 /* of the weights: fewer trained ones than one part in so many are adapters */
#define IN_BLOCKS \
	2.0 /* bytes of an element in all its states: up to so many they are kept in blocks, with a scale for each */
#define BUCKET_OFTEN 1.5   /* times in a step, of as many as are there at once */
#define ADAPTERS_MOST 1.25 /* of more of them: as many numbers a token as their rank are activations */
#define STEPS_MOST 0.2     /* of all batches: the newest, and what is made of it */
#define KEPT_MOST 1.25     /* of gradients that wait: what is added to them is there beside them */

/* ---- what goes -------------------------------------------------------------------------------------------------------- */

/* Of what the layers keep: a vector a token and layer, and one layer's at a time. Memory outside of the layers stays. */
static int keep_boundaries(struct turn *turn)
{
	const struct advise_run *run = turn->run;
	double layers = turn_layers(run), inside = 0, vectors, least, most;
	uint64_t tokens = advise_tokens_in(run, turn_phases(turn->knob));
	uint32_t i;
	int meant = 0;

	for (i = 0; i < run->replay.sites; i++)
		if (turn_means(turn, &run->replay.site[i]) > 0 && turn_alive(&run->replay.site[i]) >= layers / 2)
			inside += (double)turn_held_anywhere(&run->replay.site[i]);
	if (inside <= 0)
		return turn_silent(turn, ADVISE_SILENT_NO_BYTES);
	vectors = (double)tokens * (double)run->model.width * layers;
	least = vectors > 0 ? vectors * (double)(run->model.element ? run->model.element : 2) / inside
			    : 1 / BOUNDARY_LEAST;
	most = vectors > 0 ? vectors * 4 / inside : 1 / BOUNDARY_MOST;
	/* While the logits are there, no layer is computed again yet. */
	least = least < 0.5 ? least : 0.5;
	most = 1 / layers + (most < 0.8 ? most : 0.8);
	for (i = 0; i < run->replay.sites && meant >= 0; i++) {
		meant = turn_means(turn, &run->replay.site[i]);
		if (meant > 0 && turn_alive(&run->replay.site[i]) >= layers / 2)
			turn_keep(turn, i, least, most < 1 ? most : 1);
	}
	return meant < 0 ? meant : 0;
}

/* Adapters of rank r beside matrices of a x b: r * (a + b) numbers, for two of a layer's matrices, or for all of them. */
static double adapters_of(const struct turn *turn, int all)
{
	const struct advise_model *model = &turn->run->model;
	double rank = turn->is_number && turn->to > 1 ? turn->to : 16, matrices = all ? 7 : 2,
	       width = (double)model->width;

	if (!model->elements)
		return all ? 0.05 : 0.002;
	return rank * matrices * (all ? 4 : 2) * width * turn_layers(turn->run) / (double)model->elements;
}

static int turn_share_of(struct turn *turn)
{
	double part = turn->to - (turn->now > 0 ? turn->now : 0), held;

	if (turn->knob->measure == MT_KNOB_UNIT_SHARE)
		part = turn->knob->saves == MT_KNOB_SAVES_LOWER ? -part : part;
	else if (turn->knob->measure == MT_KNOB_UNIT_GIB || turn->knob->measure == MT_KNOB_UNIT_BYTES)
		part = (held = turn_held_most(turn, turn->knob->phases)) > 0 ? part / held : 0;
	else
		return turn_silent(turn, ADVISE_SILENT_NO_ESTIMATE);
	return turn_keep_all(turn, 1 - part, 1 - part);
}

/* A word that turns it on: "full", a number of layers, a rank. */
static int is_turned_on(const struct turn *turn)
{
	static const char *const off[] = { "null", "None", "none", "0", "false", "False", "no", "" };
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(off); i++)
		if (!strcmp(turn->to_text, off[i]))
			return 0;
	return 1;
}

/* Where the bytes go to, if that is no GPU. */
static int is_elsewhere(const char *text)
{
	return !strcmp(text, "cpu") || !strcmp(text, "nvme");
}

/* What was computed again of one layer is what every layer would keep. */
static int keep_everything(struct turn *turn)
{
	const struct replay *replay = &turn->run->replay;
	double kept = 0, again = 0, more;
	uint32_t i;
	int meant;

	for (i = 0; i < replay->sites; i++) {
		kept += replay->site[i].category == MT_CATEGORY_ACTIVATIONS
				? (double)turn_held_anywhere(&replay->site[i])
				: 0;
		again += replay->site[i].category == MT_CATEGORY_RECOMPUTED
				 ? (double)turn_held_anywhere(&replay->site[i])
				 : 0;
	}
	if (kept <= 0 || again <= 0)
		return turn_silent(turn, ADVISE_SILENT_NOT_RECORDED);
	more = again * turn_layers(turn->run) / kept;
	for (i = 0; i < replay->sites; i++) {
		meant = turn_means(turn, &replay->site[i]);
		if (meant < 0)
			return meant;
		if (meant && replay->site[i].category == MT_CATEGORY_ACTIVATIONS &&
		    turn_alive(&replay->site[i]) >= turn_layers(turn->run) / 2)
			turn_keep(turn, i, more * 0.7, more * 1.2);
	}
	return 0;
}

/* The reference's weights, or whatever no optimizer has beside the model that one has. */
static int keep_trained(struct turn *turn)
{
	double left = 1 - advise_untrained(turn->run);

	return turn_keep_all(turn, left, left);
}

/* What is trained are adapters already: they, their gradients, which are as large, and their states go with the rank. */
static int keep_adapters(struct turn *turn, double ratio)
{
	double more = (double)turn->run->model.gradients * (ratio - 1);
	uint32_t phase;

	for (phase = 0; phase < MT_PHASE_COUNT; phase++) {
		turn->scenario->lean_extra.bytes[phase] += more;
		turn->scenario->heavy_extra.bytes[phase] += more * ADAPTERS_MOST;
	}
	return turn_keep_all(turn, ratio, ratio);
}

int turn_removed(struct turn *turn)
{
	double layers = turn_layers(turn->run);
	int way = turn_direction(turn);

	if (turn->knob->measure == MT_KNOB_UNIT_STEPS && turn->to < 1)
		return turn_silent(turn, ADVISE_SILENT_NO_ESTIMATE);
	if (turn->knob->measure == MT_KNOB_UNIT_STEPS) /* what is kept of so many, or of all */
		return turn->now >= 1 ? turn_keep_all(turn, turn->to / turn->now, turn->to / turn->now)
				      : turn_keep_all(turn, 0, STEPS_MOST);
	if (turn_is_of_reference(turn->knob) && way >= 0 && !(turn->run->elsewhere & ROLE(REFERENCE))) {
		if (advise_untrained(turn->run) <= 0)
			return turn_silent(turn, ADVISE_SILENT_NO_BYTES);
		if (way || (turn->is_number && turn->to == 0))
			return keep_trained(turn);
	}

	if (way < 0 && turn->knob->leaves == MT_KNOB_LEAVES_BOUNDARIES)
		return keep_everything(turn);
	if (way < 0)
		return turn_silent(turn, ADVISE_SILENT_NOT_RECORDED);
	if (!way && turn->knob->leaves == MT_KNOB_LEAVES_NOTHING && turn->knob->saves != MT_KNOB_SAVES_CHOOSE)
		return turn_share_of(turn);
	if (!way && !is_turned_on(turn))
		return turn_silent(turn, ADVISE_SILENT_NOT_RECORDED);
	if (!way && turn->knob->leaves == MT_KNOB_LEAVES_NOTHING && turn->now_text && is_elsewhere(turn->now_text))
		return turn_silent(turn, ADVISE_SILENT_SAME);
	if (!way && turn->knob->leaves == MT_KNOB_LEAVES_NOTHING && !is_elsewhere(turn->to_text))
		return turn_silent(turn, ADVISE_SILENT_NO_ESTIMATE);
	if (turn->knob->measure == MT_KNOB_UNIT_SHARE)
		return turn_share_of(turn);
	switch (turn->knob->leaves) {
	case MT_KNOB_LEAVES_BOUNDARIES:
		return strcmp(turn->to_text, "selective") ? keep_boundaries(turn) : turn_keep_all(turn, 0.5, 1);
	case MT_KNOB_LEAVES_LAYER:
		/* How much of them is of a kind that goes to the host differs from one implementation to the next. */
		if (turn->knob->categories == CATEGORY(GRADIENTS)) /* shards stay beside it, of two GPUs the half */
			return turn_keep_all(turn, 1 / layers, 0.5);
		return turn_keep_all(turn, 1 / layers,
				     turn->knob->categories & CATEGORY(ACTIVATIONS) ? 0.6 : 3 / layers);
	case MT_KNOB_LEAVES_ADAPTERS:
		if (turn->is_number && turn->now > 0)
			return keep_adapters(turn, turn->to / turn->now);
		return turn_keep_all(turn, adapters_of(turn, 0), adapters_of(turn, 1));
	default:
		/* Which of the weights are a critic's nobody can see. */
		return turn_keep_all(turn, 0, turn->knob->processes & ~ROLE(CRITIC) ? 0 : 1);
	}
}

/* ---- parts and types ------------------------------------------------------------------------------------------------- */

/* The number that the row gives a value; -1: none. */
static double weight_of(const struct mt_knob *knob, const char *value)
{
	double number;
	uint32_t i;

	if (knob->measure == MT_KNOB_UNIT_SWITCH && !advise_value_number(knob, value, &number))
		value = number > 0 ? "true" : "false"; /* and not True, or 1 */
	if (!strncmp(value, "torch.", 6))
		value += 6;
	for (i = 0; i < knob->weighs; i++)
		if (!strcmp(knob->weigh[i].value, value))
			return knob->weigh[i].weight;
	return -1;
}

/* Of types nobody named: what the census saw of these categories. */
static double weight_seen(const struct turn *turn)
{
	const struct advise_model *model = &turn->run->model;

	if (turn->knob->categories & CATEGORY(OPTIMIZER_STATE) && model->state)
		return model->wide[2] > model->state / 2 ? 4 : 2;
	if (turn->knob->categories & CATEGORY(GRADIENTS) && model->gradients)
		return model->wide[1] > model->gradients / 2 ? 4 : 2;
	if (turn->knob->categories & CATEGORY(WEIGHTS) && model->weights)
		return model->wide[0] > model->weights / 2 ? 4 : 2;
	return -1;
}

#define COMPUTED (CATEGORY(ACTIVATIONS) | CATEGORY(RECOMPUTED) | CATEGORY(LOGITS))

/* The logits are of the weights' type: nothing converts in between, so what is computed follows the weights. */
static int computes_in_weights(const struct advise_run *run)
{
	uint32_t i;

	for (i = 0; i < run->replay.sites; i++)
		if (run->replay.site[i].category == MT_CATEGORY_LOGITS && advise_element(run, &run->replay.site[i]))
			return advise_element(run, &run->replay.site[i]) == run->model.element;
	return 0;
}

/* Few of the weights are trained: adapters, which stay in 32 bits whatever the model is in, and what they compute with them. */
static int has_adapters(const struct advise_model *model)
{
	return model->trained && model->trained < model->elements / ADAPTERS_FEW;
}

/* Losses often go on in 32 bits. Phases: wherever it is. */
static void keep_computed(struct turn *turn, uint32_t site, double left)
{
	int wide = turn->run->replay.site[site].category == MT_CATEGORY_LOGITS || has_adapters(&turn->run->model);

	turn_keep(turn, site, left, wide ? 1 : left);
}

/* Of states in blocks of a byte a number those of the embedding may stay as they were. What is left of all, at most. */
static double left_at_most(const struct turn *turn, double to, double left)
{
	const struct advise_model *model = &turn->run->model;
	double embedding = (double)model->words * (double)model->width, share;

	if (turn->knob->categories != CATEGORY(OPTIMIZER_STATE) || to <= 0 || to > IN_BLOCKS || left >= 1 ||
	    !model->trained)
		return left;
	share = embedding / (double)model->trained;
	return share < 1 ? left + (1 - left) * share : left;
}

/* An engine's weights are of another type than those of the process that trains, and a reference's may be, too. */
static int is_of_whom(const struct turn *turn, const struct replay_site *site)
{
	return (advise_roles_of(turn->run, site) & turn->knob->processes) != 0;
}

/* Of a change of the model's type: what trains beside it, adapters, their gradients and states, may stay as it was. */
static int keep_with_adapters(struct turn *turn, double left)
{
	const struct advise_run *run = turn->run;
	double share = (double)run->model.trained / (double)run->model.elements;
	uint32_t i;
	int meant;

	for (i = 0; i < run->replay.sites; i++) {
		meant = turn_means(turn, &run->replay.site[i]);
		if (meant < 0)
			return meant;
		if (meant)
			turn_keep(turn, i, left,
				  run->replay.site[i].category == MT_CATEGORY_WEIGHTS ? left + (1 - left) * share : 1);
	}
	return 0;
}

/* Another optimizer works with other temporaries. */
static int keep_types(struct turn *turn, double to, double left)
{
	const struct replay *replay = &turn->run->replay;
	uint32_t i;

	for (i = 0; i < replay->sites && turn->knob->categories & CATEGORY(OPTIMIZER_STATE); i++)
		if (replay->site[i].category == MT_CATEGORY_WORKSPACE && replay->site[i].phase == MT_PHASE_OPTIMIZER &&
		    is_of_whom(turn, &replay->site[i]))
			turn_keep(turn, i, left < 1 ? 0 : 1, left < 1 ? 1 : 1 / left);
	if (turn->knob->categories & CATEGORY(WEIGHTS) && computes_in_weights(turn->run))
		for (i = 0; i < replay->sites; i++)
			if (COMPUTED & 1u << replay->site[i].category && is_of_whom(turn, &replay->site[i]) &&
			    !(turn->knob->categories & 1u << replay->site[i].category))
				keep_computed(turn, i, left);
	if (turn->knob->categories & CATEGORY(WEIGHTS) && has_adapters(&turn->run->model) && left < 1)
		return keep_with_adapters(turn, left);
	return turn_keep_all(turn, left, left_at_most(turn, to, left));
}

static int is_of_computed(const struct mt_knob *knob)
{
	return !(knob->categories & ~COMPUTED);
}

static int turn_types(struct turn *turn)
{
	int is_switch = turn->knob->measure == MT_KNOB_UNIT_SWITCH;
	const char *now_text = !turn->now_text && is_switch ? "false"
							    : turn->now_text; /* nobody has set it: it is off */
	double now = now_text ? weight_of(turn->knob, now_text) : -1, to = weight_of(turn->knob, turn->to_text);
	uint32_t phase;
	int error;

	if (now < 0 && !is_switch)
		now = weight_seen(turn);
	if (to < 0)
		return turn_silent(turn, ADVISE_SILENT_NO_ESTIMATE);
	if (now < 0)
		return turn_silent(turn, ADVISE_SILENT_NO_VALUE);
	if (now == to)
		return turn_silent(turn, ADVISE_SILENT_SAME);
	if (now == 0)
		return turn_silent(turn, ADVISE_SILENT_NOT_RECORDED);
	if (!is_switch)
		return keep_types(turn, to, to / now);
	/* What is computed goes by the weights' type: of two bytes there is nothing to halve; where nobody tells, all or nothing. */
	if (is_of_computed(turn->knob) && turn->run->model.element == 2 && to >= 2)
		return turn_silent(turn, ADVISE_SILENT_SAME);
	/* A switch of types leaves some in the old one, and copies of the weights come in the new one. */
	error = turn_keep_all(turn, to / now,
			      is_of_computed(turn->knob) && !turn->run->model.element ? 1 : (1 + to / now) / 2);
	for (phase = 0; phase < MT_PHASE_COUNT && turn->effects; phase++)
		if (turn_phases(turn->knob) & 1u << phase)
			turn->scenario->heavy_extra.bytes[phase] += (double)turn->run->model.weights * to / now;
	return error;
}

/* ZeRO: 1 divides states, 2 gradients, too, 3 weights, too. */
static int turn_stage(struct turn *turn)
{
	static const uint32_t divides[] = { 0, CATEGORY(OPTIMIZER_STATE), CATEGORY(GRADIENTS), CATEGORY(WEIGHTS) };
	const struct replay *replay = &turn->run->replay;
	double gpus = (double)turn->run->gpus;
	uint32_t moved = 0, i;
	int stage;

	for (stage = 1; stage <= 3; stage++)
		if (stage > turn->now && stage <= turn->to)
			moved |= divides[stage];
	if (gpus < 2 || turn->now < 0)
		return turn_silent(turn, gpus < 2 ? ADVISE_SILENT_NO_ESTIMATE : ADVISE_SILENT_NO_VALUE);
	for (i = 0; i < replay->sites; i++)
		if (turn_means(turn, &replay->site[i]) > 0 && moved & 1u << replay->site[i].category)
			turn_keep(turn, i, 1 / gpus, 1 / gpus);
	return 0;
}

int turn_divided(struct turn *turn)
{
	double gpus = (double)turn->run->gpus, ratio;

	if (turn->knob->weighs)
		return turn_types(turn);
	if (turn->knob->measure == MT_KNOB_UNIT_STAGE && turn->is_number)
		return turn_stage(turn);
	if (turn_direction(turn) > 0)
		return gpus > 1 ? turn_keep_all(turn, 1 / gpus, 1 / gpus)
				: turn_silent(turn, ADVISE_SILENT_NO_ESTIMATE);
	if (turn_direction(turn) < 0)
		return turn_silent(turn, ADVISE_SILENT_NOT_RECORDED);
	/* Parts of which one chooses the number are copies beside the whole: none of them is in the recording. */
	if (!turn->is_number || turn->to <= 0 || turn->now == 0 || turn->knob->saves == MT_KNOB_SAVES_CHOOSE)
		return turn_silent(turn, ADVISE_SILENT_NO_ESTIMATE);
	ratio = (turn->now > 0 ? turn->now : 1) / turn->to;
	if (turn->knob->saves == MT_KNOB_SAVES_LOWER)
		ratio = 1 / ratio;
	/* What is computed beside the divided part is there on each. */
	return turn_keep_all(turn, ratio, turn->knob->categories & CATEGORY(ACTIVATIONS) ? (1 + ratio) / 2 : ratio);
}

/* ---- pieces and shares ------------------------------------------------------------------------------------------------ */

/* A bucket comes and goes, more than once in a step, and is about as large as it may be. */
static int is_bucket(const struct turn *turn, const struct replay_site *site, double bytes)
{
	double steps = turn->run->steps > 0 ? (double)turn->run->steps : 1, each = (double)site->births / steps;

	return each > BUCKET_OFTEN * turn_alive(site) && (double)site->largest >= bytes * BUCKET_LEAST &&
	       (double)site->largest <= bytes * BUCKET_MOST;
}

/* A cache is what its size says in all, in as many pieces as there are layers. */
static int keep_cache(struct turn *turn)
{
	double held = turn_held_most(turn, ALL_PHASES), left;

	if (held <= 0)
		return turn_silent(turn, ADVISE_SILENT_NO_BYTES);
	left = 1 - (turn->now - turn->to) / held;
	return turn_keep_all(turn, left, left);
}

int turn_bucket(struct turn *turn)
{
	const struct replay *replay = &turn->run->replay;
	double scale = 1, more, kept, least, over;
	uint32_t i;
	int meant;

	if (!turn->is_number || turn_direction(turn))
		return turn_silent(turn, ADVISE_SILENT_NO_ESTIMATE);
	if (turn->now <= 0)
		return turn_silent(turn, ADVISE_SILENT_NO_VALUE);
	if (turn->knob->categories == CATEGORY(KV_CACHE))
		return keep_cache(turn);
	if (turn->knob->measure == MT_KNOB_UNIT_ELEMENTS)
		scale = turn->run->model.element ? (double)turn->run->model.element : 2;
	more = (turn->to - turn->now) * scale;
	for (i = 0; i < replay->sites; i++) {
		meant = turn_means(turn, &replay->site[i]);
		if (meant < 0)
			return meant;
		if (!meant || (!turn->knob->withins && !is_bucket(turn, &replay->site[i], turn->now * scale)))
			continue;
		kept = ((double)replay->site[i].largest + more) / (double)replay->site[i].largest;
		if (!turn->knob->withins) {
			/* The weight that overfills one completes it: by how much, another size need not have, too. */
			over = (double)replay->site[i].largest - turn->now * scale;
			turn_keep(turn, i, kept - (over > 0 ? over / (double)replay->site[i].largest : 0), kept);
			continue;
		}
		/* The stack says that it is one, not by how much it is larger than the value says: as many times, or not at all. */
		least = turn->to * scale / (double)replay->site[i].largest;
		turn_keep(turn, i, turn->to / turn->now, least < 1 && turn->to < turn->now ? least : kept);
	}
	return 0;
}

int turn_share(struct turn *turn)
{
	double held = turn_held_most(turn, ALL_PHASES), less;

	if (!turn->is_number || !turn->run->total)
		return turn_silent(turn, ADVISE_SILENT_NO_ESTIMATE);
	if (turn->now < 0)
		return turn_silent(turn, ADVISE_SILENT_NO_VALUE);
	if (held <= 0)
		return turn_silent(turn, ADVISE_SILENT_NO_BYTES);
	less = (turn->now - turn->to) * (double)turn->run->total / held;
	return turn_keep_all(turn, 1 - less, 1 - 0.9 * less);
}

/*
 * Gradients that wait for the next micro-batch are there while it runs; those of a single one come one by one while its
 * activations go.
 */
int turn_kept(struct turn *turn)
{
	double held = turn_held_most(turn, ALL_PHASES);
	uint32_t phase;
	int waits = turn->to > 1, waited = turn->now > 1, error;

	if (!turn->is_number || turn->now < 0)
		return turn_silent(turn, ADVISE_SILENT_NO_VALUE);
	if (waits == waited)
		return turn_silent(turn, ADVISE_SILENT_NO_METHOD);
	error = turn_keep_all(turn, 0, waits ? 0 : 1);
	for (phase = 0; phase < MT_PHASE_COUNT && waits && turn->effects; phase++)
		if (turn->knob->phases & 1u << phase) {
			turn->scenario->lean_extra.bytes[phase] += held;
			turn->scenario->heavy_extra.bytes[phase] += held * KEPT_MOST;
		}
	return error;
}
