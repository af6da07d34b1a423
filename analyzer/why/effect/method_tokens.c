/* The effects of fewer tokens, fewer samples, and fewer rows of logits. */
#include <math.h>
#include <string.h>
#include "memtrace/base.h"
#include "method.h"
#include "stack_words.h"

#define FLOOR_USUAL 0.4  /* part of a micro-batch: its longest sample can have as much */
#define BUDGET_LOOSE 1.1 /* factor: micro-batches are not filled alike */
#define ROUNDLY 1.02     /* factor: rounding changes sizes and lengths by less */
#define BATCHES_MANY 4   /* pieces at one time: one batch keeps fewer */

/* ---- tokens ---------------------------------------------------------------------------------------------------------- */

/*
 * Returns the number of samples of a micro-batch in the row's phases, by the rows that set this number; 0: unknown. *sure 0: the number is a default
 * that divides the tokens.
 */
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
			if (row->method != MT_KNOB_METHOD_TOKENS || row->measure != MT_KNOB_UNIT_SAMPLES ||
			    row->withins || !(row->phases & method->knob->phases) ||
			    !(row->categories & CATEGORY(ACTIVATIONS)))
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

/* Whether micro-batches have different numbers of tokens: the place of the largest logits also has logits with fewer rows. */
static int varies(const struct advise_run *run)
{
	const struct replay_site *site, *end = run->replay.site + run->replay.sites;

	for (site = run->replay.site; site < end && run->tokens; site++)
		if (advise_rows(site) == run->tokens)
			return site->smallest < site->largest && site->smallest >= site->largest / run->tokens;
	return 0;
}

/*
 * Whether the site scales with the micro-batch. Outputs that are kept of all batches do not; outputs that an evaluation gathers from ranks are of one
 * batch. A cache with many allocations of different sizes grows with the answer; a cache of one size is set aside in advance.
 */
static int follows(const struct method *method, const struct replay_site *site)
{
	if (RUN_PASSING & 1u << site->category)
		return 1;
	if (site->category == MT_CATEGORY_EVALUATION)
		return site->many < BATCHES_MANY || site->tags & MT_TAG_BIT(GATHER);
	return site->births >= 4 * method->run->model.layers + 16 && site->largest > site->smallest;
}

/* Whether the site may be a bucket or a library's workspace: it has one size in all micro-batches. */
static int may_be_fixed(const struct replay_site *site)
{
	return (CATEGORY(WORKSPACE) | CATEGORY(OTHER)) & 1u << site->category &&
	       (double)site->largest <= ROUNDLY * (double)site->smallest;
}

/* The smallest and the largest part that stays, in either order; logits have parts of their own. */
struct parts {
	double one, other, logits_one, logits_other;
};

/* Scales passing bytes, kept outputs and growing caches. Attention scores grow with the square of a sample's length. */
static void keep_tokens(struct method *method, struct parts part)
{
	int by_sample = method->knob->of != MT_KNOB_OF_MICRO_BATCH, is_square;
	const struct replay_site *site = NULL;

	while ((site = method_next(method, site))) {
		if (!follows(method, site))
			continue;
		is_square = by_sample && stack_inner_tags(method->run->scene, site->node, INNER) & MT_TAG_BIT(SCORES);
		if (may_be_fixed(site))
			method_keep(method, site, part.one < 1 ? part.one : 1, part.one < 1 ? 1 : part.other);
		else if (site->category == MT_CATEGORY_LOGITS)
			method_keep(method, site, part.logits_one, part.logits_other);
		else
			method_keep(method, site, is_square ? part.one * part.one : part.one, part.other);
	}
}

static enum advise_silence keep_all_tokens(struct method *method, double one, double other)
{
	keep_tokens(method, (struct parts){ one, other, one, other });
	return ADVISE_SILENT_NONE;
}

/*
 * A smaller budget cuts a step into more micro-batches: the gradients of the first one are resident while the next ones run. With a larger budget,
 * the largest micro-batch can be the first of its step, without gradients.
 */
static void move_gradients(struct method *method, int more)
{
	const struct advise_run *run = method->run;
	const struct replay_site *site, *end = run->replay.site + run->replay.sites;
	double held[MT_PHASE_COUNT] = { 0 }, most = 0;
	uint32_t phase;
	int wait;

	for (site = run->replay.site; site < end; site++)
		for (phase = 0; phase < MT_PHASE_COUNT && site->category == MT_CATEGORY_GRADIENTS; phase++)
			if (advise_roles_of(run, site) & method->knob->processes)
				held[phase] += (double)site->held[phase];
	for (phase = 0; phase < MT_PHASE_COUNT; phase++)
		most = held[phase] > most ? held[phase] : most;
	wait = held[MT_PHASE_FORWARD] > floor(most / 2);
	for (phase = 0; phase < MT_PHASE_COUNT && method->effects; phase++)
		if (TRAINING & method->knob->phases & 1u << phase && !more)
			method_add(method, 1u << phase, -held[phase], 0);
		else if (TRAINING & method->knob->phases & 1u << phase && !wait)
			method_add(method, 1u << phase, most - held[phase], most - held[phase]);
}

/* A budget scales with the largest micro-batch. The packing of samples decides how full micro-batches are. */
static enum advise_silence move_budget(struct method *method, double tokens)
{
	double ratio = 0, loose;

	if (tokens > 0 && (method->now < 0 || method->to < method->now))
		ratio = method->to < tokens ? method->to / tokens : 1;
	else if (method->now > 0) /* a micro-batch above the budget is one long sample, or is overfilled */
		ratio = method->to / (tokens > method->now ? tokens : method->now);
	if (ratio <= 0 || ratio == 1)
		return ratio == 1 ? ADVISE_SILENT_SAME : ADVISE_SILENT_NO_VALUE;
	/* A sample above the budget gets a micro-batch of its own. The lengths of samples are unknown. */
	loose = ratio * BUDGET_LOOSE;
	loose = loose < FLOOR_USUAL ? FLOOR_USUAL : loose < 1 ? loose : 1;
	if (ratio > 1)
		keep_all_tokens(method, 1 + 0.8 * (ratio - 1), ratio);
	else
		keep_all_tokens(method, 0.85 * ratio, loose);
	move_gradients(method, ratio < 1);
	return ADVISE_SILENT_NONE;
}

/*
 * A sample is a prompt and an answer. Its length is known if the number of samples in a micro-batch is known. Otherwise, a prompt counts as at most
 * as long as an answer. Logits can be of the answers alone.
 */
static enum advise_silence move_part(struct method *method, double length, int sure)
{
	double ratio = method->to / method->now, half = (1 + ratio) / 2, whole = half;
	int is_answer = method->knob->of == MT_KNOB_OF_ANSWER, is_longer = length > method->now * ROUNDLY;
	struct parts part = { half, whole, is_answer ? half : 1, whole };

	if (is_longer)
		part.other = part.logits_other = whole = (length - method->now + method->to) / length;
	if (is_longer && sure)
		return keep_all_tokens(method, whole, whole);
	if (length > 0 && !is_longer)
		part = (struct parts){ ratio, half, is_answer ? ratio : 1, is_answer ? ratio : 1 };
	keep_tokens(method, part);
	return ADVISE_SILENT_NONE;
}

/* A limit of the length changes only samples that are as long as the limit. */
static enum advise_silence move_length(struct method *method)
{
	const struct advise_run *run = method->run;
	int sure, is_one = run->it && method->now > 0 && (double)run->asked.tokens == floor(method->now);
	double samples = samples_of(method, &sure), ratio = method->to / method->now;
	double length = samples > 0 ? (double)advise_tokens_in(run, method_phases(method->knob)) / samples : 0;
	enum mt_knob_of of = method->knob->of;

	if (method->now <= 0)
		return ADVISE_SILENT_NO_VALUE;
	/* The failed micro-batch is one sample. The length of its prompt is unknown. */
	if (is_one && (of == MT_KNOB_OF_SAMPLE || of == MT_KNOB_OF_ANSWER))
		return keep_all_tokens(method, ratio, of == MT_KNOB_OF_SAMPLE ? ratio : (1 + ratio) / 2);
	if (of != MT_KNOB_OF_SAMPLE)
		return move_part(method, length, sure);
	if (sure && length > 0 && length < method->now / ROUNDLY)
		ratio = method->to < length ? method->to / length : 1;
	return keep_all_tokens(method, ratio, varies(run) && ratio < 1 ? (1 + ratio) / 2 : ratio);
}

/* Fewer samples can include the longest one. More samples can include a longer one. */
static enum advise_silence move_samples(struct method *method)
{
	double ratio = method->to / method->now;
	int vary = varies(method->run);

	if (method->now <= 0 || method->to <= 0)
		return ADVISE_SILENT_NO_VALUE;
	ratio = method->knob->saves == MT_KNOB_SAVES_HIGHER ? 1 / ratio : ratio;
	if (vary && ratio < 1)
		return keep_all_tokens(method, 0.8 * ratio, ratio);
	return keep_all_tokens(method, ratio, vary ? 1.1 * ratio : ratio);
}

enum advise_silence method_tokens(struct method *method)
{
	double tokens = (double)advise_tokens_in(method->run, method_phases(method->knob));

	if (method->knob->measure == MT_KNOB_UNIT_SWITCH || !method->is_number)
		return ADVISE_SILENT_NO_ESTIMATE;
	if (method->knob->of == MT_KNOB_OF_PADDING) { /* none to all of the tokens are padding */
		if (tokens <= 0 || method->now < 0)
			return ADVISE_SILENT_NO_VALUE;
		return keep_all_tokens(method, 1 + (method->to - method->now) / tokens, 1);
	}
	if (method->knob->of != MT_KNOB_OF_MICRO_BATCH)
		return move_length(method);
	return method->knob->measure == MT_KNOB_UNIT_TOKENS ? move_budget(method, tokens) : move_samples(method);
}

/* ---- logits ----------------------------------------------------------------------------------------------------------- */

/* Scales logits to the rows of one piece. */
static enum advise_silence keep_pieces(struct method *method)
{
	const struct replay_site *site = NULL;
	int by_sample = method->knob->of == MT_KNOB_OF_SAMPLE, sure = 1;
	double samples = by_sample ? samples_of(method, &sure) : 1, least, most, rows;
	int is_known = sure && samples > 0;

	if (method->to <= 0)
		return ADVISE_SILENT_NOT_RECORDED;
	while ((site = method_next(method, site))) {
		rows = (double)advise_rows(site);
		if (rows <= 0)
			rows = advise_is_logits(method->run, site) ? (double)method->run->tokens : 0;
		if (rows <= 0)
			continue;
		least = method->to * (is_known ? samples : 1) / rows;
		/* Several tensors hold one piece at a time; if the number of samples is unknown, there can be more. */
		most = (!by_sample ? 2 : is_known ? 1 : 8) * least;
		method_keep(method, site, least < 1 ? least : 1, most < 1 ? most : 1);
	}
	return ADVISE_SILENT_NONE;
}

/* A loss that never has all logits. Kernels keep less than a program in PyTorch. */
static enum advise_silence keep_chunks(struct method *method)
{
	const struct advise_model *model = &method->run->model;
	const struct replay_site *site = NULL;
	double head = (double)model->words * (double)model->width * (double)(model->element ? model->element : 2);

	while ((site = method_next(method, site)))
		if (advise_is_logits(method->run, site))
			method_keep(method, site, 0, method->knob->withins ? 0.5 : 0.25);
		else
			method_keep(method, site, 0.7, 1);
	/*
	 * The head runs piece by piece: the gradient of one piece can be resident with the sum of all. A program's own pieces have both, after the
	 * first piece and while activations wait.
	 */
	if (method->effects && !method->knob->withins)
		method_add(method, TRAINING & method->knob->phases, 0,
			   method->knob->written == MT_KNOB_WRITTEN_CODE ? 2 * head : head);
	return ADVISE_SILENT_NONE;
}

enum advise_silence method_logits(struct method *method)
{
	const struct mt_knob *knob = method->knob;
	int way = method_direction(method), is_piece = knob->leaves == MT_KNOB_LEAVES_PIECE;

	if (is_piece && method->is_number)
		return keep_pieces(method);
	if (is_piece || way < 0)
		return ADVISE_SILENT_NOT_RECORDED;
	if (knob->leaves == MT_KNOB_LEAVES_BOUNDARIES) /* made twice; bytes of other calls are unknown */
		return ADVISE_SILENT_NO_ESTIMATE;
	if (way)
		return keep_chunks(method);
	if (method->now <= 0 || method->to <= 0 || knob->saves != MT_KNOB_SAVES_LOWER)
		return ADVISE_SILENT_NO_ESTIMATE;
	method_keep_all(method, method->to / method->now, method->to / method->now);
	return ADVISE_SILENT_NONE;
}
