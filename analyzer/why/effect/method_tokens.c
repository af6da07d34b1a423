/* Effects of fewer tokens, samples or rows of logits. */
#include <math.h>
#include <string.h>
#include "memtrace/base.h"
#include "method.h"
#include "stack_words.h"

#define FLOOR_USUAL 0.4  /* part of a micro-batch: its longest sample may be as long */
#define BUDGET_LOOSE 1.1 /* factor: micro-batches are not filled alike */
#define ROUNDLY 1.02     /* factor of sizes that differ by their rounding */
#define BIRTHS_TELLING 3 /* births of one size that tell it from those of the micro-batches */
#define BATCHES_MANY 4   /* pieces that are kept at once: of one batch there are fewer */
#define CAP_LEAST 0.125  /* part of logits: smaller allocations are others */
#define INNER 3          /* number of inner frames that name an allocation */

/* ---- tokens ---------------------------------------------------------------------------------------------------------- */

/* Whether the row sets the number of samples of a micro-batch in the phases of `knob`. */
static int tells_samples(const struct mt_knob *row, const struct mt_knob *knob)
{
	return row->method == MT_KNOB_METHOD_TOKENS && row->measure == MT_KNOB_UNIT_SAMPLES && !row->withins &&
	       row->phases & knob->phases && row->categories & CATEGORY(ACTIVATIONS);
}

/* Number of samples of a micro-batch in the row's phases; 0: unknown. *sure 0: by a default that divides the tokens. */
static double samples_of(const struct method *method, int *sure)
{
	const struct advise_part *part = method->config->part, *end = part + method->config->parts;
	uint64_t tokens = advise_tokens_in(method->run, method_phases(method->knob));
	const struct mt_knob *row;
	struct advise_value value;
	double number, found = 0;

	*sure = 0;
	for (; part < end; part++)
		for (row = part->file->knob; row < part->file->knob + part->file->knobs; row++) {
			if (!tells_samples(row, method->knob))
				continue;
			value = advise_config_value(method->config, row);
			if (!value.text || advise_value_number(row, value.text, &number) || number < 1)
				continue;
			*sure = value.origin > ADVISE_DEFAULT;
			if (*sure)
				return number;
			if (!found && tokens && !(tokens % (uint64_t)number))
				found = number;
		}
	return found;
}

/* Whether micro-batches have different numbers of tokens. */
static int varies(const struct advise_run *run)
{
	return run->tokens_least && run->tokens_least < run->tokens;
}

static int differs(const struct replay_site *site)
{
	return (double)site->largest > ROUNDLY * (double)site->smallest;
}

/* Whether most computed bytes have different sizes in different micro-batches. */
static int batches_differ(const struct advise_run *run)
{
	const struct replay_site *site, *end = run->replay.site + run->replay.sites;
	uint64_t all = 0, differing = 0;

	for (site = run->replay.site; site < end; site++) {
		if (!((CATEGORY(ACTIVATIONS) | CATEGORY(LOGITS)) & 1u << site->category) || site->ignored ||
		    mt_phase_is_early(site->phase))
			continue;
		all += advise_site_held(site);
		differing += differs(site) ? advise_site_held(site) : 0;
	}
	return all && differing > all / 2;
}

/* Whether a site follows the micro-batch. */
enum follows {
	FOLLOWS_NOT, /* like a bucket or a library's workspace, of one size in all micro-batches, or what is kept of all batches */
	FOLLOWS_MAYBE,
	FOLLOWS
};

/* A cache grows with the answer if it has many births of different sizes. A cache of one size is set aside in advance. */
static enum follows follows(const struct method *method, const struct replay_site *site, int batches_differ)
{
	const struct advise_run *run = method->run;
	int is_weight = !differs(site) && advise_is_weight(&run->model, site->largest);

	if (site->category == MT_CATEGORY_EVALUATION) /* outputs gathered from ranks are those of one batch */
		return site->many < BATCHES_MANY || site->tags & MT_TAG_BIT(GATHER) ? FOLLOWS : FOLLOWS_NOT;
	if (!(RUN_PASSING & 1u << site->category))
		return site->births >= 4 * run->model.layers + 16 && site->largest > site->smallest ? FOLLOWS
												    : FOLLOWS_NOT;
	if (is_weight)
		return site->category == MT_CATEGORY_ACTIVATIONS ? FOLLOWS_MAYBE : FOLLOWS_NOT;
	if (!((CATEGORY(WORKSPACE) | CATEGORY(OTHER)) & 1u << site->category) || differs(site))
		return FOLLOWS;
	return batches_differ && site->births >= BIRTHS_TELLING ? FOLLOWS_NOT : FOLLOWS_MAYBE;
}

/* The parts that stay, in either order; of logits, others. */
struct parts {
	double one, other, logits_one, logits_other;
};

/* Scales passing bytes, kept outputs, and caches that grow. Attention scores grow with the square of a sample's length. */
static void keep_tokens(struct method *method, struct parts part)
{
	const struct replay *replay = &method->run->replay;
	int by_sample = method->knob->of != MT_KNOB_OF_MICRO_BATCH, differ = batches_differ(method->run), is_square;
	const struct replay_site *site;
	enum follows does;
	uint32_t i;

	for (i = method_next(method, 0); i < replay->sites; i = method_next(method, i + 1)) {
		site = &replay->site[i];
		does = follows(method, site, differ);
		is_square = by_sample && stack_inner_tags(method->run->scene, site->node, INNER) & MT_TAG_BIT(SCORES);
		if (does == FOLLOWS_MAYBE)
			method_keep(method, i, part.one < 1 ? part.one : 1, part.one < 1 ? 1 : part.other);
		else if (does == FOLLOWS && site->category == MT_CATEGORY_LOGITS)
			method_keep(method, i, part.logits_one, part.logits_other);
		else if (does == FOLLOWS)
			method_keep(method, i, is_square ? part.one * part.one : part.one, part.other);
	}
}

static void keep_all_tokens(struct method *method, double one, double other)
{
	keep_tokens(method, (struct parts){ one, other, one, other });
}

/*
 * A smaller budget makes more micro-batches of one step. Gradients of the first micro-batch are then resident while the next ones
 * run. With a larger budget, the largest micro-batch can be the first one of its step, without them.
 */
static void move_gradients(struct method *method, int more)
{
	const struct advise_run *run = method->run;
	uint32_t roles = method->knob->processes, phase;
	double most = (double)advise_held_most(run, roles, CATEGORY(GRADIENTS), ALL_PHASES), held;
	int wait = (double)advise_held(run, roles, CATEGORY(GRADIENTS), MT_PHASE_FORWARD) > most / 2;

	for (phase = 0; phase < MT_PHASE_COUNT && method->effects; phase++) {
		held = (double)advise_held(run, roles, CATEGORY(GRADIENTS), phase);
		if (!(TRAINING & method->knob->phases & 1u << phase))
			continue;
		if (!more)
			method_add(method, 1u << phase, -held, 0);
		else if (!wait)
			method_add(method, 1u << phase, most - held, most - held);
	}
}

/* A budget scales with the largest micro-batch. The packing decides how full micro-batches are. */
static void move_budget(struct method *method)
{
	double tokens = (double)advise_tokens_in(method->run, method_phases(method->knob)), ratio = 0, loose;

	if (tokens > 0 && (method->now < 0 || method->to < method->now))
		ratio = method->to < tokens ? method->to / tokens : 1;
	else if (method->now > 0) /* a micro-batch above the budget is one sample, or packed above it */
		ratio = method->to / (tokens > method->now ? tokens : method->now);
	if (ratio <= 0 || ratio == 1) {
		method_silent(method, ratio == 1 ? ADVISE_SILENT_SAME : ADVISE_SILENT_NO_VALUE);
		return;
	}
	/* A sample above the budget is its own micro-batch. The lengths of samples are unknown. */
	loose = ratio * BUDGET_LOOSE;
	loose = loose < FLOOR_USUAL ? FLOOR_USUAL : loose < 1 ? loose : 1;
	if (ratio > 1)
		keep_all_tokens(method, 1 + 0.8 * (ratio - 1), ratio);
	else
		keep_all_tokens(method, 0.85 * ratio, loose);
	move_gradients(method, ratio < 1);
}

/*
 * A sample is a prompt and an answer. A known number of samples in a micro-batch gives their length. Otherwise a prompt is assumed
 * to be at most as long as an answer. Logits can be those of the answers alone.
 */
static void move_part(struct method *method, double length, int sure)
{
	double ratio = method->to / method->now, half = (1 + ratio) / 2, whole = half;
	int is_answer = method->knob->of == MT_KNOB_OF_ANSWER;

	if (length > method->now * ROUNDLY)
		whole = (length - method->now + method->to) / length;
	if (length > method->now * ROUNDLY && sure)
		keep_all_tokens(method, whole, whole);
	else if (length > 0 && length <= method->now * ROUNDLY)
		keep_tokens(method, (struct parts){ ratio, half, is_answer ? ratio : 1, is_answer ? ratio : 1 });
	else
		keep_tokens(method, (struct parts){ half, whole, is_answer ? half : 1, whole });
}

/* A limit of length affects only samples of this length. */
static void move_length(struct method *method)
{
	const struct advise_run *run = method->run;
	int sure, is_one = run->failed && method->now > 0 && (double)run->asked.tokens == floor(method->now);
	double samples = samples_of(method, &sure), ratio = method->to / method->now;
	double length = samples > 0 ? (double)advise_tokens_in(run, method_phases(method->knob)) / samples : 0;

	if (method->now <= 0)
		method_silent(method, ADVISE_SILENT_NO_VALUE);
	else if (is_one && method->knob->of == MT_KNOB_OF_SAMPLE) /* the failed micro-batch is one sample */
		keep_all_tokens(method, ratio, ratio);
	else if (is_one && method->knob->of == MT_KNOB_OF_ANSWER) /* the length of its prompt is unknown */
		keep_all_tokens(method, ratio, (1 + ratio) / 2);
	else if (method->knob->of != MT_KNOB_OF_SAMPLE)
		move_part(method, length, sure);
	else {
		if (sure && length > 0 && length < method->now / ROUNDLY)
			ratio = method->to < length ? method->to / length : 1;
		keep_all_tokens(method, ratio, varies(run) && ratio < 1 ? (1 + ratio) / 2 : ratio);
	}
}

/* The padding is between none and all of the tokens up to the value. */
static void move_padding(struct method *method)
{
	double tokens = (double)advise_tokens_in(method->run, method_phases(method->knob));

	if (tokens <= 0 || method->now < 0)
		method_silent(method, ADVISE_SILENT_NO_VALUE);
	else
		keep_all_tokens(method, 1 + (method->to - method->now) / tokens, 1);
}

/* Fewer samples can have an equal longest one. More samples can have a longer one. */
static void move_samples(struct method *method)
{
	double ratio = method->to / method->now;
	int vary = varies(method->run);

	if (method->now <= 0 || method->to <= 0) {
		method_silent(method, ADVISE_SILENT_NO_VALUE);
		return;
	}
	ratio = method->knob->saves == MT_KNOB_SAVES_HIGHER ? 1 / ratio : ratio;
	if (vary && ratio < 1)
		keep_all_tokens(method, 0.8 * ratio, ratio);
	else
		keep_all_tokens(method, ratio, vary ? 1.1 * ratio : ratio);
}

void method_tokens(struct method *method)
{
	if (method->knob->measure == MT_KNOB_UNIT_SWITCH || !method->is_number)
		method_silent(method, ADVISE_SILENT_NO_ESTIMATE);
	else if (method->knob->of == MT_KNOB_OF_PADDING)
		move_padding(method);
	else if (method->knob->of != MT_KNOB_OF_MICRO_BATCH)
		move_length(method);
	else if (method->knob->measure == MT_KNOB_UNIT_TOKENS)
		move_budget(method);
	else
		move_samples(method);
}

/* ---- logits ----------------------------------------------------------------------------------------------------------- */

/*
 * Caps the allocations of a place that also allocates other bytes, such as a whole backward. Allocations smaller than logits stay.
 */
static void cap_logits(struct method *method, uint32_t number, double least, double most)
{
	const struct replay_site *site = &method->run->replay.site[number];
	struct replay_effect *at[2] = { &method->scenario->lean[number], &method->scenario->heavy[number] };
	double part[2] = { least, most };
	uint64_t cap;
	int i;

	for (i = 0; i < 2; i++) {
		cap = (uint64_t)((double)site->largest * (part[i] > CAP_LEAST ? part[i] : CAP_LEAST));
		at[i]->cap = cap < at[i]->cap ? cap : at[i]->cap;
		at[i]->used = 1;
	}
	method->effects++;
}

static void keep_logits(struct method *method, uint32_t site, double least, double most)
{
	if (method->run->replay.site[site].category == MT_CATEGORY_LOGITS)
		method_keep(method, site, least, most);
	else
		cap_logits(method, site, least, most);
}

/* Scales logits to the rows of one piece. */
static void keep_pieces(struct method *method)
{
	const struct replay *replay = &method->run->replay;
	int by_sample = method->knob->of == MT_KNOB_OF_SAMPLE, sure = 1;
	double samples = by_sample ? samples_of(method, &sure) : 1, least, most, rows;
	uint32_t i;

	if (method->to <= 0) {
		method_silent(method, ADVISE_SILENT_NOT_RECORDED);
		return;
	}
	for (i = method_next(method, 0); i < replay->sites; i = method_next(method, i + 1)) {
		rows = (double)advise_rows(method->run, &replay->site[i]);
		if (rows <= 0)
			rows = advise_is_logits(method->run, &replay->site[i]) ? (double)method->run->tokens : 0;
		if (rows <= 0)
			continue;
		least = method->to * (sure && samples > 0 ? samples : 1) / rows;
		/* Several tensors work on one piece. With an unknown number of samples, there can be more. */
		most = (!by_sample ? 2 : sure && samples > 0 ? 1 : 8) * least;
		keep_logits(method, i, least < 1 ? least : 1, most < 1 ? most : 1);
	}
}

/* A loss without logits at once. Its kernels keep less than PyTorch's. */
static void keep_chunks(struct method *method)
{
	const struct advise_model *model = &method->run->model;
	const struct replay *replay = &method->run->replay;
	double head = (double)model->words * (double)model->width * (double)(model->element ? model->element : 2);
	uint32_t i;

	for (i = method_next(method, 0); i < replay->sites; i = method_next(method, i + 1))
		if (advise_is_logits(method->run, &replay->site[i]))
			keep_logits(method, i, 0, method->knob->withins ? 0.5 : 0.25);
		else
			method_keep(method, i, 0.7, 1);
	/*
	 * The head runs piece by piece: a piece's gradient of the head can lie beside the sum that it is added to. In a program's own
	 * pieces both come after the first one, and activations still wait.
	 */
	if (method->effects && !method->knob->withins)
		method_add(method, TRAINING & method->knob->phases, 0,
			   method->knob->written == MT_KNOB_WRITTEN_CODE ? 2 * head : head);
}

void method_logits(struct method *method)
{
	const struct mt_knob *knob = method->knob;
	int way = method_direction(method);

	if (knob->leaves == MT_KNOB_LEAVES_PIECE && method->is_number)
		keep_pieces(method);
	else if (knob->leaves == MT_KNOB_LEAVES_PIECE || way < 0)
		method_silent(method, ADVISE_SILENT_NOT_RECORDED);
	else if (knob->leaves ==
		 MT_KNOB_LEAVES_BOUNDARIES) /* logits are made twice, and those of earlier calls are unknown */
		method_silent(method, ADVISE_SILENT_NO_ESTIMATE);
	else if (way)
		keep_chunks(method);
	else if (method->now > 0 && method->to > 0 && knob->saves == MT_KNOB_SAVES_LOWER)
		method_keep_all(method, method->to / method->now, method->to / method->now);
	else
		method_silent(method, ADVISE_SILENT_NO_ESTIMATE);
}
