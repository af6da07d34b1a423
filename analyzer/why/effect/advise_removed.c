/* Effects of offload, recomputation, shards, types, buckets and caches. */
#include "advise_turn.h"

#include <string.h>
#include "memtrace/base.h"

/* Divisors: layer boundaries are between 1/40 and 1/8 of the bytes that wait for the backward. */
#define BOUNDARY_LEAST 40.0
#define BOUNDARY_MOST 8.0

/* Fill of a bucket, least and most: the weight that fills a bucket closes it. */
#define BUCKET_LEAST 0.5
#define BUCKET_MOST 1.6
#define ADAPTERS_FEW 10    /* divisor: trained weights below 1/10 of all weights are adapters */
#define IN_BLOCKS 2.0      /* bytes of all states of an element: smaller states come in blocks with a scale */
#define BUCKET_OFTEN 1.5   /* births in a step for each piece at once */
#define ADAPTERS_MOST 1.25 /* factor for larger adapters: their activations have the rank's width */
#define STEPS_MOST 0.2     /* part of all batches: the newest one and its outputs */
#define KEPT_MOST 1.25     /* factor for waiting gradients: the added gradient lies beside them */

/* ---- removal ---------------------------------------------------------------------------------------------------------- */

/* Layers keep one vector for each token and layer, and all bytes of one layer at a time. Memory outside of layers stays. */
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
	/* While logits are resident, no layer is recomputed yet. */
	least = least < 0.5 ? least : 0.5;
	most = 1 / layers + (most < 0.8 ? most : 0.8);
	for (i = 0; i < run->replay.sites && meant >= 0; i++) {
		meant = turn_means(turn, &run->replay.site[i]);
		if (meant > 0 && turn_alive(&run->replay.site[i]) >= layers / 2)
			turn_keep(turn, i, least, most < 1 ? most : 1);
	}
	return meant < 0 ? meant : 0;
}

/* The weights' part of adapters: rank r at a matrix of a x b takes r * (a + b) numbers. all: at all matrices of a layer, else two. */
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

/* Whether the new value turns the setting on: "full", a number of layers, a rank. */
static int is_turned_on(const struct turn *turn)
{
	static const char *const off[] = { "null", "None", "none", "0", "false", "False", "no", "" };
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(off); i++)
		if (!strcmp(turn->to_text, off[i]))
			return 0;
	return 1;
}

/* Whether the value names a place outside of the GPU. */
static int is_elsewhere(const char *text)
{
	return !strcmp(text, "cpu") || !strcmp(text, "nvme");
}

/* Without recomputation, every layer keeps the bytes that were recomputed for one layer. */
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

/* Removes the reference's weights: the weights that no optimizer has. */
static int keep_trained(struct turn *turn)
{
	double left = 1 - advise_untrained(turn->run);

	return turn_keep_all(turn, left, left);
}

/* The run already trains adapters: adapters, gradients and states scale with the rank. */
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
	if (turn->knob->measure == MT_KNOB_UNIT_STEPS) /* kept steps, of the present number or of all */
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
		/* Implementations differ in the part of the bytes that goes to the host. */
		if (turn->knob->categories == CATEGORY(GRADIENTS)) /* shards stay: half of the bytes on two GPUs */
			return turn_keep_all(turn, 1 / layers, 0.5);
		return turn_keep_all(turn, 1 / layers,
				     turn->knob->categories & CATEGORY(ACTIVATIONS) ? 0.6 : 3 / layers);
	case MT_KNOB_LEAVES_ADAPTERS:
		if (turn->is_number && turn->now > 0)
			return keep_adapters(turn, turn->to / turn->now);
		return turn_keep_all(turn, adapters_of(turn, 0), adapters_of(turn, 1));
	default:
		/* The recording does not show which weights are a critic's. */
		return turn_keep_all(turn, 0, turn->knob->processes & ~ROLE(CRITIC) ? 0 : 1);
	}
}

/* ---- parts and types ------------------------------------------------------------------------------------------------- */

/* The weight of a value in the row; -1: none. */
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

/* Bytes of an element by the census, if no type is known; -1: unknown. */
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

/* Logits of the weights' type show that the model computes in this type. */
static int computes_in_weights(const struct advise_run *run)
{
	uint32_t i;

	for (i = 0; i < run->replay.sites; i++)
		if (run->replay.site[i].category == MT_CATEGORY_LOGITS && advise_element(run, &run->replay.site[i]))
			return advise_element(run, &run->replay.site[i]) == run->model.element;
	return 0;
}

/* Few trained weights are adapters: they and their results stay in 32 bits for any type of the model. */
static int has_adapters(const struct advise_model *model)
{
	return model->trained && model->trained < model->elements / ADAPTERS_FEW;
}

/* Logits, and results of adapters, can stay in 32 bits. */
static void keep_computed(struct turn *turn, uint32_t site, double left)
{
	int wide = turn->run->replay.site[site].category == MT_CATEGORY_LOGITS || has_adapters(&turn->run->model);

	turn_keep(turn, site, left, wide ? 1 : left);
}

/* The largest part that is left of the states: optimizers with states in blocks can keep the embedding's states. */
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

/* An engine's and a reference's weights can have another type than the trainer's: only sites of the row's processes count. */
static int is_of_whom(const struct turn *turn, const struct replay_site *site)
{
	return (advise_roles_of(turn->run, site) & turn->knob->processes) != 0;
}

/* A new type of the model can leave adapters, their gradients and their states unchanged. */
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

/* Another optimizer can have other temporaries. */
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
							    : turn->now_text; /* a switch without a value is off */
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
	/* Computed bytes follow the weights' type: two bytes cannot be halved. With an unknown type, all or nothing goes. */
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

/* ZeRO stages: 1 divides states, 2 also gradients, 3 also weights. */
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
	/* Parts with a chosen number are copies beside the whole, and the recording has none of them. */
	if (!turn->is_number || turn->to <= 0 || turn->now == 0 || turn->knob->saves == MT_KNOB_SAVES_CHOOSE)
		return turn_silent(turn, ADVISE_SILENT_NO_ESTIMATE);
	ratio = (turn->now > 0 ? turn->now : 1) / turn->to;
	if (turn->knob->saves == MT_KNOB_SAVES_LOWER)
		ratio = 1 / ratio;
	/* Each part also keeps its undivided activations. */
	return turn_keep_all(turn, ratio, turn->knob->categories & CATEGORY(ACTIVATIONS) ? (1 + ratio) / 2 : ratio);
}

/* ---- pieces and shares ------------------------------------------------------------------------------------------------ */

/* A bucket comes and goes more than once in a step, and has about its largest allowed size. */
static int is_bucket(const struct turn *turn, const struct replay_site *site, double bytes)
{
	double steps = turn->run->steps > 0 ? (double)turn->run->steps : 1, each = (double)site->births / steps;

	return each > BUCKET_OFTEN * turn_alive(site) && (double)site->largest >= bytes * BUCKET_LEAST &&
	       (double)site->largest <= bytes * BUCKET_MOST;
}

/* The value is the size of the whole cache, in one piece for each layer. */
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
			/* The weight that overfills a bucket closes it. Another size can have another excess. */
			over = (double)replay->site[i].largest - turn->now * scale;
			turn_keep(turn, i, kept - (over > 0 ? over / (double)replay->site[i].largest : 0), kept);
			continue;
		}
		/* The stack proves a bucket, but not its excess: the excess scales with the value, or is 0. */
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
 * Gradients that wait for the next micro-batch are resident while it runs. Gradients of a single micro-batch come one by one while
 * its activations go.
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
