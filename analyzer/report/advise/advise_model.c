#include "advise_model.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "report/answer.h"

#define CATEGORY(name) (1u << MT_CATEGORY_##name)
#define ROLE(name) (1u << MT_KNOB_PROCESS_##name)
#define ALL_PHASES ((1u << MT_PHASE_COUNT) - 1)

/* What a micro-batch makes and lets go. The rest stays from one to the next. */
#define PASSING \
	(CATEGORY(ACTIVATIONS) | CATEGORY(RECOMPUTED) | CATEGORY(LOGITS) | CATEGORY(WORKSPACE) | CATEGORY(OTHER))

/* Boundaries of the layers, of all that is kept for the backward pass: between one part in so many. */
#define BOUNDARY_LEAST 40.0
#define BOUNDARY_MOST 8.0
#define LAYERS_USUAL 24.0 /* where nobody tells */

/* A bucket is closed by the weight that fills it: how full it is, and by how much it is too full. */
#define BUCKET_LEAST 0.5
#define BUCKET_MOST 1.6
#define FLOOR_USUAL 0.4  /* of a micro-batch: its longest sample may be as long */
#define CAP_LEAST 0.125  /* of logits: what is smaller is something else */
#define KEPT_MOST 1.25   /* of gradients that wait: what is added to them is there beside them */
#define BUCKET_OFTEN 1.5 /* times in a step, of as many as are there at once */

const char *advise_silence_words(enum advise_silence silence)
{
#define ADVISE_SILENCE_WORDS(name, words) words,
	static const char *const all[] = { ADVISE_SILENCE_LIST(ADVISE_SILENCE_WORDS) };
#undef ADVISE_SILENCE_WORDS

	return all[silence];
}

static void as_it_was(struct replay_effect *effect, uint32_t sites)
{
	uint32_t i, phase;

	for (i = 0; i < sites; i++) {
		effect[i] = (struct replay_effect){ .cap = UINT64_MAX };
		for (phase = 0; phase < MT_PHASE_COUNT; phase++)
			effect[i].keep[phase] = 1;
	}
}

int advise_scenario_init(struct advise_scenario *scenario, const struct advise_run *run)
{
	*scenario = (struct advise_scenario){ 0 };
	scenario->lean = malloc(2 * ((size_t)run->replay.sites + 1) * sizeof(*scenario->lean));
	if (!scenario->lean)
		return -MT_E_MEMORY;
	scenario->heavy = scenario->lean + run->replay.sites;
	as_it_was(scenario->lean, 2 * run->replay.sites);
	return 0;
}

void advise_scenario_release(struct advise_scenario *scenario)
{
	free(scenario->lean);
	*scenario = (struct advise_scenario){ 0 };
}

/* ---- what a change is about ------------------------------------------------------------------------------------------ */

struct turn {
	struct advise_scenario *scenario;
	const struct advise_run *run;
	struct advise_config *config;
	const struct mt_knob *knob;
	const char *now_text, *to_text;
	double now, to; /* numbers; now < 0: not known */
	int is_number;  /* 0: words */
	int sure;       /* the samples of a micro-batch are not just the default */
	int effects;    /* sites to which something happened */
	enum advise_silence silence;
};

static int takes_frame(void *context, struct db_stmt *row)
{
	const struct mt_knob *knob = context;
	uint32_t i;

	for (i = 0; i < knob->withins; i++)
		if (strstr(db_text(row, 0), knob->within[i]))
			return 1;
	return 0;
}

/* Whether the inner frames of the site's stack are one of the functions that the row names. 1, 0 or an error. */
static int has_frame(const struct advise_run *run, const struct mt_knob *knob, const struct replay_site *site)
{
	/* Of the outer ones much else is made. */
	static const char sql[] =
		"WITH RECURSIVE up(id, depth) AS (SELECT ?1, 0 UNION ALL SELECT parent, depth + (kind = 'python') FROM up JOIN node "
		"USING (id) JOIN frame ON frame.id = node.frame WHERE parent IS NOT NULL AND depth < 3) "
		"SELECT function FROM up JOIN node USING (id) JOIN frame ON frame.id = node.frame "
		"WHERE function IS NOT NULL AND depth < 3";
	const int64_t node[ANSWER_PARAMETERS] = { site->node };

	if (!knob->withins)
		return 1;
	return site->node ? answer_rows(run->db, sql, node, takes_frame, (void *)(uintptr_t)knob) : 0;
}

/*
 * Phases that the row speaks of. What is neither forward nor optimizer and lies between them - a loss, an iteration's
 * bookkeeping - is "other" in the recording: rows that speak of both, or of the forward pass, speak of it.
 */
static uint32_t phases_of(const struct mt_knob *knob)
{
	/* A smaller cache is smaller wherever it is awake. */
	if (knob->method == MT_KNOB_METHOD_SHARE ||
	    (!(knob->categories & ~CATEGORY(KV_CACHE)) &&
	     (knob->method == MT_KNOB_METHOD_BUCKET || knob->method == MT_KNOB_METHOD_DIVIDED)))
		return ALL_PHASES;
	return knob->phases | (knob->phases & 1u << MT_PHASE_FORWARD ? 1u << MT_PHASE_OTHER : 0) |
	       (knob->method == MT_KNOB_METHOD_DIVIDED && knob->categories & CATEGORY(WEIGHTS) ? 1u << MT_PHASE_INIT
											       : 0);
}

/* What waits for the backward pass was made by a forward pass that has one, whatever the stack was too deep to tell. */
static uint32_t born_in(const struct replay_site *site)
{
	return 1u << site->phase | (site->held[MT_PHASE_BACKWARD] ? 1u << MT_PHASE_FORWARD : 0);
}

/* Weights that are not the trained model's. */
static int is_of_reference(const struct mt_knob *knob)
{
	return knob->method == MT_KNOB_METHOD_REMOVED && knob->processes & ROLE(REFERENCE) &&
	       !(knob->categories & ~CATEGORY(WEIGHTS));
}

/* What an engine has set aside, where nothing tells that it is its cache. */
static int is_set_aside(const struct replay_site *site)
{
	return site->phase == MT_PHASE_ROLLOUT && site->category == MT_CATEGORY_OTHER;
}

/* Bytes that the knob speaks of: of its category, of who has it, and what passes of its phases. 1, 0 or an error. */
static int is_meant(const struct turn *turn, const struct replay_site *site)
{
	const struct mt_knob *knob = turn->knob;
	uint32_t categories = knob->categories;

	if (site->ignored)
		return 0;
	if (knob->method == MT_KNOB_METHOD_SHARE && is_set_aside(site))
		return 1;
	if (!(advise_roles_of(turn->run, site) & knob->processes))
		return 0;
	if (knob->method == MT_KNOB_METHOD_TOKENS && categories & PASSING)
		categories |= CATEGORY(RECOMPUTED) | CATEGORY(WORKSPACE) | CATEGORY(OTHER);
	if (categories & CATEGORY(ACTIVATIONS) && knob->method == MT_KNOB_METHOD_DIVIDED)
		categories |= CATEGORY(RECOMPUTED);
	if (!(categories & 1u << site->category) &&
	    !(knob->method == MT_KNOB_METHOD_LOGITS && categories & CATEGORY(LOGITS) &&
	      advise_is_logits(turn->run, site)))
		return 0;
	if (PASSING & 1u << site->category && !(phases_of(knob) & born_in(site)))
		return 0;
	if (!(knob->processes & ~ROLE(CRITIC)) && !(turn->run->phases & 1u << MT_PHASE_CRITIC))
		return 0;
	if (is_of_reference(knob) && (1u << site->category == CATEGORY(WEIGHTS)) && !turn->run->model.untrained)
		return 0;
	return has_frame(turn->run, knob, site);
}

/* Two numbers of how much stays, in either order. */
static void keep(struct turn *turn, uint32_t site, double one, double other)
{
	uint32_t passing = PASSING & 1u << turn->run->replay.site[site].category, phase;
	double lean = one < other ? one : other, heavy = one < other ? other : one;
	struct replay_effect *at[2] = { &turn->scenario->lean[site], &turn->scenario->heavy[site] };

	if (lean == 1 && heavy == 1)
		return;
	for (phase = 0; phase < MT_PHASE_COUNT; phase++) {
		if (!passing && !(phases_of(turn->knob) & 1u << phase))
			continue;
		at[0]->keep[phase] *= (float)(lean > 0 ? lean : 0);
		at[1]->keep[phase] *= (float)(heavy > 0 ? heavy : 0);
	}
	at[0]->used = at[1]->used = 1;
	turn->effects++;
}

/* The same for all that is meant. 0 or an error. */
static int keep_all(struct turn *turn, double one, double other)
{
	const struct replay *replay = &turn->run->replay;
	uint32_t i;
	int meant;

	for (i = 0; i < replay->sites; i++) {
		meant = is_meant(turn, &replay->site[i]);
		if (meant < 0)
			return meant;
		if (meant)
			keep(turn, i, one, other);
	}
	return 0;
}

/* The most that is held of what is meant at the peak of one of these phases. Bytes. */
static double held_most(const struct turn *turn, uint32_t phases)
{
	const struct replay *replay = &turn->run->replay;
	double sum, most = 0;
	uint32_t i, phase;

	for (phase = 0; phase < MT_PHASE_COUNT; phase++) {
		if (!(phases & 1u << phase))
			continue;
		for (sum = 0, i = 0; i < replay->sites; i++)
			sum += is_meant(turn, &replay->site[i]) > 0 ? (double)replay->site[i].held[phase] : 0;
		most = sum > most ? sum : most;
	}
	return most;
}

static int silent(struct turn *turn, enum advise_silence silence)
{
	turn->silence = silence;
	return 0;
}

/* ---- tokens ---------------------------------------------------------------------------------------------------------- */

uint64_t advise_tokens_in(const struct advise_run *run, uint32_t phases)
{
	uint64_t most = 0, rows;
	uint32_t i;

	if (run->failed && run->oom.logits.tokens && phases & 1u << run->replay.request.phase)
		most = run->oom.logits.tokens;
	for (i = 0; i < run->replay.sites; i++) {
		rows = phases & 1u << run->replay.site[i].phase ? advise_rows(run, &run->replay.site[i]) : 0;
		most = rows > most ? rows : most;
	}
	return most;
}

/* 1: the row says how many samples a micro-batch has in the phases of `knob`. */
static int tells_samples(const struct mt_knob *row, const struct mt_knob *knob)
{
	return row->method == MT_KNOB_METHOD_TOKENS && row->measure == MT_KNOB_UNIT_SAMPLES && !row->withins &&
	       row->phases & knob->phases && row->categories & CATEGORY(ACTIVATIONS);
}

double advise_samples(const struct advise_run *run, struct advise_config *config, const struct mt_knob *knob, int *sure)
{
	const struct mt_knob_file *file;
	struct advise_value value;
	double number, found = 0;
	uint64_t tokens = advise_tokens_in(run, phases_of(knob));
	uint32_t i, part;

	*sure = 0;
	for (part = 0; part < config->parts; part++)
		for (file = config->part[part].file, i = 0; i < file->knobs; i++) {
			if (!tells_samples(&file->knob[i], knob))
				continue;
			value = advise_config_value(config, &file->knob[i], ADVISE_AS_IS);
			if (!value.text || advise_value_number(&file->knob[i], value.text, &number) || number < 1)
				continue;
			*sure = value.origin > ADVISE_DEFAULT;
			if (*sure)
				return number;
			if (!found && tokens && !(tokens % (uint64_t)number))
				found = number;
		}
	return found;
}

/* Some micro-batches are smaller than others. */
static int varies(const struct advise_run *run)
{
	return run->tokens_least && run->tokens_least < run->tokens;
}

/* The sizes of attention's scores go with the square of a sample's length. */
static int is_square(const struct turn *turn, const struct replay_site *site)
{
	static const struct mt_knob scores = { .within = { "eager_attention", "softmax", "attn_weights" },
					       .withins = 3 };

	return site->category != MT_CATEGORY_LOGITS && has_frame(turn->run, &scores, site) > 0;
}

/* Of what passes, and of a cache that grows with the answer; the size of a weight does not change with the tokens. */
static int keep_tokens(struct turn *turn, double one, double other, double logits_one, double logits_other)
{
	const struct replay *replay = &turn->run->replay;
	const struct replay_site *site;
	int by_sample = turn->knob->of != MT_KNOB_OF_MICRO_BATCH, meant;
	uint32_t i;

	for (i = 0; i < replay->sites; i++) {
		site = &replay->site[i];
		meant = is_meant(turn, site);
		if (meant < 0)
			return meant;
		if (!meant || (!(PASSING & 1u << site->category) && site->births < 4 * turn->run->model.layers + 16))
			continue;
		if (site->largest == site->smallest && advise_is_weight(&turn->run->model, site->largest)) {
			if (site->category == MT_CATEGORY_ACTIVATIONS)
				keep(turn, i, one, 1);
		} else if (site->category == MT_CATEGORY_LOGITS) {
			keep(turn, i, logits_one, logits_other);
		} else if (by_sample && is_square(turn, site)) {
			keep(turn, i, one * one, other);
		} else {
			keep(turn, i, one, other);
		}
	}
	return 0;
}

/*
 * A smaller budget makes more micro-batches of the same step. Where a step had one, its gradients came while its activations
 * went; now those of the first are there while the next ones run.
 */
static void wait_for_more(struct turn *turn)
{
	const struct advise_run *run = turn->run;
	uint32_t training = 1u << MT_PHASE_FORWARD | 1u << MT_PHASE_BACKWARD, phase;
	double gradients = 0, held;

	if (!(turn->knob->phases & training))
		return;
	for (phase = 0; phase < MT_PHASE_COUNT; phase++) {
		held = (double)advise_held(run, CATEGORY(GRADIENTS), (uint8_t)phase);
		gradients = held > gradients ? held : gradients;
	}
	if ((double)advise_held(run, CATEGORY(GRADIENTS), MT_PHASE_FORWARD) > gradients / 2)
		return;
	for (phase = 0; phase < MT_PHASE_COUNT; phase++)
		if (training & 1u << phase) {
			held = (double)advise_held(run, CATEGORY(GRADIENTS), (uint8_t)phase);
			turn->scenario->lean_extra.bytes[phase] += gradients - held;
			turn->scenario->heavy_extra.bytes[phase] += gradients - held;
		}
}

/* A budget counts by the largest micro-batch; how full they are is the packing's. */
static int turn_budget(struct turn *turn)
{
	double tokens = (double)advise_tokens_in(turn->run, phases_of(turn->knob)), least = turn->to, ratio, loose;

	if (tokens > 0 && (turn->now < 0 || turn->to < turn->now))
		ratio = least < tokens ? least / tokens : 1;
	else if (turn->now > 0)
		ratio = turn->to / turn->now;
	else
		return silent(turn, ADVISE_SILENT_NO_VALUE);
	if (ratio == 1)
		return silent(turn, ADVISE_SILENT_SAME);
	if (ratio > 1)
		return keep_tokens(turn, 1 + 0.8 * (ratio - 1), ratio, 1 + 0.8 * (ratio - 1), ratio);
	/* A sample that is longer is a micro-batch of its own; how long they are is not known. */
	loose = ratio * 1.1;
	loose = loose < FLOOR_USUAL ? FLOOR_USUAL : loose < 1 ? loose : 1;
	wait_for_more(turn);
	return keep_tokens(turn, 0.85 * ratio, loose, 0.85 * ratio, loose);
}

/*
 * A sample is a prompt and an answer. Where it is known how many samples a micro-batch has, its tokens tell how long they
 * are; else a prompt is taken for as long as an answer at most. Logits may be those of the answers alone.
 */
static int turn_part(struct turn *turn, double length)
{
	double ratio = turn->to / turn->now, half = (1 + ratio) / 2, whole = half;
	int is_answer = turn->knob->of == MT_KNOB_OF_ANSWER;

	if (length > turn->now * 1.02)
		whole = (length - turn->now + turn->to) / length;
	if (length > turn->now * 1.02 && turn->sure)
		return keep_tokens(turn, whole, whole, whole, whole);
	if (length > 0 && length <= turn->now * 1.02)
		return keep_tokens(turn, ratio, half, is_answer ? ratio : 1, is_answer ? ratio : 1);
	return keep_tokens(turn, half, whole, is_answer ? half : 1, whole);
}

/* Samples are cut, or made longer, only as far as they are that long. */
static int turn_length(struct turn *turn)
{
	double samples = advise_samples(turn->run, turn->config, turn->knob, &turn->sure), ratio, loose;
	double length = samples > 0 ? (double)advise_tokens_in(turn->run, phases_of(turn->knob)) / samples : 0;

	if (turn->now <= 0)
		return silent(turn, ADVISE_SILENT_NO_VALUE);
	if (turn->knob->of != MT_KNOB_OF_SAMPLE)
		return turn_part(turn, length);
	ratio = turn->to / turn->now;
	if (turn->sure && length > 0 && length < turn->now * 0.98)
		ratio = turn->to < length ? turn->to / length : 1;
	loose = varies(turn->run) && ratio < 1 ? (1 + ratio) / 2 : ratio;
	return keep_tokens(turn, ratio, loose, ratio, loose);
}

/* Between none and all of what is filled up. */
static int turn_padding(struct turn *turn)
{
	double tokens = (double)advise_tokens_in(turn->run, phases_of(turn->knob)), ratio;

	if (tokens <= 0 || turn->now < 0)
		return silent(turn, ADVISE_SILENT_NO_VALUE);
	ratio = 1 + (turn->to - turn->now) / tokens;
	return keep_tokens(turn, ratio, 1, ratio, 1);
}

static int turn_tokens(struct turn *turn)
{
	double ratio;

	if (turn->knob->measure == MT_KNOB_UNIT_SWITCH || !turn->is_number)
		return silent(turn, ADVISE_SILENT_NO_ESTIMATE);
	if (turn->knob->of == MT_KNOB_OF_PADDING)
		return turn_padding(turn);
	if (turn->knob->of != MT_KNOB_OF_MICRO_BATCH)
		return turn_length(turn);
	if (turn->knob->measure == MT_KNOB_UNIT_TOKENS)
		return turn_budget(turn);
	if (turn->now <= 0 || turn->to <= 0)
		return silent(turn, ADVISE_SILENT_NO_VALUE);
	ratio = turn->knob->saves == MT_KNOB_SAVES_HIGHER ? turn->now / turn->to : turn->to / turn->now;
	/* Of fewer samples the longest may be the same; among more there may be a longer one. */
	if (varies(turn->run) && ratio < 1)
		return keep_tokens(turn, 0.8 * ratio, ratio, 0.8 * ratio, ratio);
	if (varies(turn->run))
		return keep_tokens(turn, ratio, 1.1 * ratio, ratio, 1.1 * ratio);
	return keep_tokens(turn, ratio, ratio, ratio, ratio);
}

/* ---- what goes -------------------------------------------------------------------------------------------------------- */

/* How many of a site's allocations live at once, where its phase has most. */
static uint32_t alive(const struct replay_site *site)
{
	uint32_t phase, most = 0;

	for (phase = 0; phase < MT_PHASE_COUNT; phase++)
		most = site->count[phase] > most ? site->count[phase] : most;
	return most;
}

static double layers_of(const struct advise_run *run)
{
	return run->model.layers > 1 ? (double)run->model.layers : LAYERS_USUAL;
}

static uint64_t held_anywhere(const struct replay_site *site)
{
	uint64_t most = 0;
	uint32_t phase;

	for (phase = 0; phase < MT_PHASE_COUNT; phase++)
		most = site->held[phase] > most ? site->held[phase] : most;
	return most;
}

/* Of what the layers keep: a vector a token and layer, and one layer's at a time. Memory outside of the layers stays. */
static int keep_boundaries(struct turn *turn)
{
	const struct advise_run *run = turn->run;
	double layers = layers_of(run), inside = 0, vectors, least, most;
	uint64_t tokens = advise_tokens_in(run, phases_of(turn->knob));
	uint32_t i;
	int meant = 0;

	for (i = 0; i < run->replay.sites; i++)
		if (is_meant(turn, &run->replay.site[i]) > 0 && alive(&run->replay.site[i]) >= layers / 2)
			inside += (double)held_anywhere(&run->replay.site[i]);
	if (inside <= 0)
		return silent(turn, ADVISE_SILENT_NO_BYTES);
	vectors = (double)tokens * (double)run->model.width * layers;
	least = vectors > 0 ? vectors * (double)(run->model.element ? run->model.element : 2) / inside
			    : 1 / BOUNDARY_LEAST;
	most = vectors > 0 ? vectors * 4 / inside : 1 / BOUNDARY_MOST;
	/* While the logits are there, no layer is computed again yet. */
	least = least < 0.5 ? least : 0.5;
	most = 1 / layers + (most < 0.8 ? most : 0.8);
	for (i = 0; i < run->replay.sites && meant >= 0; i++) {
		meant = is_meant(turn, &run->replay.site[i]);
		if (meant > 0 && alive(&run->replay.site[i]) >= layers / 2)
			keep(turn, i, least, most < 1 ? most : 1);
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
	return rank * matrices * (all ? 4 : 2) * width * layers_of(turn->run) / (double)model->elements;
}

static int turn_share_of(struct turn *turn)
{
	double part = turn->to - (turn->now > 0 ? turn->now : 0), held;

	if (turn->knob->measure == MT_KNOB_UNIT_SHARE)
		part = turn->knob->saves == MT_KNOB_SAVES_LOWER ? -part : part;
	else if (turn->knob->measure == MT_KNOB_UNIT_GIB || turn->knob->measure == MT_KNOB_UNIT_BYTES)
		part = (held = held_most(turn, turn->knob->phases)) > 0 ? part / held : 0;
	else
		return silent(turn, ADVISE_SILENT_NO_ESTIMATE);
	return keep_all(turn, 1 - part, 1 - part);
}

/* 1: the new value is the one that saves, -1: the old one was, 0: neither, or it is no switch. */
static int direction(const struct turn *turn)
{
	int saves_on = turn->knob->saves == MT_KNOB_SAVES_ON;

	if (turn->knob->saves != MT_KNOB_SAVES_ON && turn->knob->saves != MT_KNOB_SAVES_OFF)
		return 0;
	if (!turn->is_number || turn->now == turn->to)
		return 0;
	return (turn->to != 0) == saves_on ? 1 : -1;
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

/* What was computed again of one layer is what every layer would keep. */
static int keep_everything(struct turn *turn)
{
	const struct replay *replay = &turn->run->replay;
	double kept = 0, again = 0, more;
	uint32_t i;
	int meant;

	for (i = 0; i < replay->sites; i++) {
		kept += replay->site[i].category == MT_CATEGORY_ACTIVATIONS ? (double)held_anywhere(&replay->site[i])
									    : 0;
		again += replay->site[i].category == MT_CATEGORY_RECOMPUTED ? (double)held_anywhere(&replay->site[i])
									    : 0;
	}
	if (kept <= 0 || again <= 0)
		return silent(turn, ADVISE_SILENT_NOT_RECORDED);
	more = again * layers_of(turn->run) / kept;
	for (i = 0; i < replay->sites; i++) {
		meant = is_meant(turn, &replay->site[i]);
		if (meant < 0)
			return meant;
		if (meant && replay->site[i].category == MT_CATEGORY_ACTIVATIONS &&
		    alive(&replay->site[i]) >= layers_of(turn->run) / 2)
			keep(turn, i, more * 0.7, more * 1.2);
	}
	return 0;
}

/* The reference's weights, or whatever no optimizer has beside the model that one has. */
static int keep_trained(struct turn *turn)
{
	double left = 1 - (double)turn->run->model.untrained / (double)turn->run->model.weights;

	return keep_all(turn, left, left);
}

static int turn_removed(struct turn *turn)
{
	double layers = layers_of(turn->run);
	int way = direction(turn);

	if (is_of_reference(turn->knob) && way >= 0) {
		if (!turn->run->model.untrained)
			return silent(turn, ADVISE_SILENT_NO_BYTES);
		if (way || (turn->is_number && turn->to == 0))
			return keep_trained(turn);
	}

	if (way < 0 && turn->knob->leaves == MT_KNOB_LEAVES_BOUNDARIES)
		return keep_everything(turn);
	if (way < 0)
		return silent(turn, ADVISE_SILENT_NOT_RECORDED);
	if (!way && turn->knob->leaves == MT_KNOB_LEAVES_NOTHING && turn->knob->saves != MT_KNOB_SAVES_CHOOSE)
		return turn_share_of(turn);
	if (!way && !is_turned_on(turn))
		return silent(turn, ADVISE_SILENT_NOT_RECORDED);
	if (!way && turn->knob->leaves == MT_KNOB_LEAVES_NOTHING)
		return silent(turn, ADVISE_SILENT_NO_ESTIMATE);
	switch (turn->knob->leaves) {
	case MT_KNOB_LEAVES_BOUNDARIES:
		return strcmp(turn->to_text, "selective") ? keep_boundaries(turn) : keep_all(turn, 0.5, 1);
	case MT_KNOB_LEAVES_LAYER:
		/* How much of them is of a kind that goes to the host differs from one implementation to the next. */
		return keep_all(turn, 1 / layers, turn->knob->categories & CATEGORY(ACTIVATIONS) ? 0.6 : 3 / layers);
	case MT_KNOB_LEAVES_ADAPTERS:
		return keep_all(turn, adapters_of(turn, 0), adapters_of(turn, 1));
	default:
		/* Which of the weights are a critic's nobody can see. */
		return keep_all(turn, 0, turn->knob->processes & ~ROLE(CRITIC) ? 0 : 1);
	}
}

/* ---- logits ----------------------------------------------------------------------------------------------------------- */

/*
 * A line that allocates much else, too, as all of a backward pass does: of its allocations those as large as logits. Smaller
 * ones stay as they are.
 */
static void cap_logits(struct turn *turn, uint32_t number, double least, double most)
{
	const struct replay_site *site = &turn->run->replay.site[number];
	struct replay_effect *at[2] = { &turn->scenario->lean[number], &turn->scenario->heavy[number] };
	double part[2] = { least, most };
	uint64_t cap;
	int i;

	for (i = 0; i < 2; i++) {
		cap = (uint64_t)((double)site->largest * (part[i] > CAP_LEAST ? part[i] : CAP_LEAST));
		at[i]->cap = cap < at[i]->cap ? cap : at[i]->cap;
		at[i]->used = 1;
	}
	turn->effects++;
}

static void keep_logits(struct turn *turn, uint32_t site, double least, double most)
{
	if (turn->run->replay.site[site].category == MT_CATEGORY_LOGITS)
		keep(turn, site, least, most);
	else
		cap_logits(turn, site, least, most);
}

static double rows_of(const struct advise_run *run, const struct replay_site *site)
{
	uint64_t rows = advise_rows(run, site);

	return (double)(rows ? rows : advise_is_logits(run, site) ? run->tokens : 0);
}

/* Rows that are there at once, of those that were. */
static int keep_pieces(struct turn *turn)
{
	const struct replay *replay = &turn->run->replay;
	double samples = 1, least, most, rows;
	uint32_t i;
	int meant;

	if (turn->to <= 0)
		return silent(turn, ADVISE_SILENT_NOT_RECORDED);
	if (turn->knob->of == MT_KNOB_OF_SAMPLE)
		samples = advise_samples(turn->run, turn->config, turn->knob, &turn->sure);
	if (turn->knob->of == MT_KNOB_OF_SAMPLE && !turn->sure)
		samples = 0;
	for (i = 0; i < replay->sites; i++) {
		meant = is_meant(turn, &replay->site[i]);
		rows = meant > 0 ? rows_of(turn->run, &replay->site[i]) : 0;
		if (meant < 0)
			return meant;
		if (rows <= 0)
			continue;
		least = turn->to * (samples > 0 ? samples : 1) / rows;
		least = least < 1 ? least : 1;
		/* A piece is worked on in several tensors; of samples of unknown number there may be more. */
		most = turn->knob->of != MT_KNOB_OF_SAMPLE ? 2 * least : samples > 0 ? least : 8 * least;
		keep_logits(turn, i, least, most < 1 ? most : 1);
	}
	return 0;
}

static int turn_logits(struct turn *turn)
{
	const struct replay *replay = &turn->run->replay;
	double most = turn->knob->withins ? 0.5 : 0.25;
	uint32_t i;
	int meant, way = direction(turn);

	if (turn->knob->leaves == MT_KNOB_LEAVES_PIECE)
		return turn->is_number ? keep_pieces(turn) : silent(turn, ADVISE_SILENT_NOT_RECORDED);
	if (way < 0)
		return silent(turn, ADVISE_SILENT_NOT_RECORDED);
	if (!way && (turn->now <= 0 || turn->to <= 0 || turn->knob->saves != MT_KNOB_SAVES_LOWER))
		return silent(turn, ADVISE_SILENT_NO_ESTIMATE);
	for (i = 0; i < replay->sites; i++) {
		meant = is_meant(turn, &replay->site[i]);
		if (meant < 0)
			return meant;
		if (!meant)
			continue;
		if (!way)
			keep(turn, i, turn->to / turn->now, turn->to / turn->now);
		else if (advise_is_logits(turn->run, &replay->site[i]))
			keep_logits(turn, i, 0, most);
		else /* kernels that keep less than PyTorch's: how much, nobody can see here */
			keep(turn, i, 0.7, 1);
	}
	return 0;
}

/* ---- parts and types ------------------------------------------------------------------------------------------------- */

/* The number that the row gives a value; -1: none. */
static double weight_of(const struct mt_knob *knob, const char *value)
{
	uint32_t i;

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

/* Losses often go on in 32 bits. Phases: wherever it is. */
static void keep_computed(struct turn *turn, uint32_t site, double left)
{
	int logits = turn->run->replay.site[site].category == MT_CATEGORY_LOGITS;

	keep(turn, site, left, logits ? 1 : left);
}

/* Another optimizer works with other temporaries. */
static int keep_types(struct turn *turn, double left)
{
	const struct replay *replay = &turn->run->replay;
	uint32_t i;

	for (i = 0; i < replay->sites && turn->knob->categories & CATEGORY(OPTIMIZER_STATE); i++)
		if (replay->site[i].category == MT_CATEGORY_WORKSPACE && replay->site[i].phase == MT_PHASE_OPTIMIZER)
			keep(turn, i, left < 1 ? 0 : 1, left < 1 ? 1 : 1 / left);
	if (turn->knob->categories & CATEGORY(WEIGHTS) && computes_in_weights(turn->run))
		for (i = 0; i < replay->sites; i++)
			if (COMPUTED & 1u << replay->site[i].category &&
			    !(turn->knob->categories & 1u << replay->site[i].category))
				keep_computed(turn, i, left);
	return keep_all(turn, left, left);
}

static int turn_types(struct turn *turn)
{
	double now = turn->now_text ? weight_of(turn->knob, turn->now_text) : -1,
	       to = weight_of(turn->knob, turn->to_text);
	int is_switch = turn->knob->measure == MT_KNOB_UNIT_SWITCH;
	uint32_t phase;

	if (now < 0 && !is_switch)
		now = weight_seen(turn);
	if (to < 0)
		return silent(turn, ADVISE_SILENT_NO_ESTIMATE);
	if (now < 0)
		return silent(turn, ADVISE_SILENT_NO_VALUE);
	if (now == to)
		return silent(turn, ADVISE_SILENT_SAME);
	if (now == 0)
		return silent(turn, ADVISE_SILENT_NOT_RECORDED);
	if (!is_switch)
		return keep_types(turn, to / now);
	/* A switch of types leaves some in the old one, and copies of the weights come in the new one. */
	for (phase = 0; phase < MT_PHASE_COUNT; phase++)
		if (phases_of(turn->knob) & 1u << phase)
			turn->scenario->heavy_extra.bytes[phase] += (double)turn->run->model.weights * to / now;
	return keep_all(turn, to / now, (1 + to / now) / 2);
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
		return silent(turn, gpus < 2 ? ADVISE_SILENT_NO_ESTIMATE : ADVISE_SILENT_NO_VALUE);
	for (i = 0; i < replay->sites; i++)
		if (is_meant(turn, &replay->site[i]) > 0 && moved & 1u << replay->site[i].category)
			keep(turn, i, 1 / gpus, 1 / gpus);
	return 0;
}

static int turn_divided(struct turn *turn)
{
	double gpus = (double)turn->run->gpus, ratio;

	if (turn->knob->weighs)
		return turn_types(turn);
	if (turn->knob->measure == MT_KNOB_UNIT_STAGE && turn->is_number)
		return turn_stage(turn);
	if (direction(turn) > 0)
		return gpus > 1 ? keep_all(turn, 1 / gpus, 1 / gpus) : silent(turn, ADVISE_SILENT_NO_ESTIMATE);
	if (direction(turn) < 0)
		return silent(turn, ADVISE_SILENT_NOT_RECORDED);
	if (!turn->is_number || turn->to <= 0 || turn->now == 0 || turn->knob->measure == MT_KNOB_UNIT_WORD)
		return silent(turn, ADVISE_SILENT_NO_ESTIMATE);
	ratio = (turn->now > 0 ? turn->now : 1) / turn->to;
	if (turn->knob->saves == MT_KNOB_SAVES_LOWER)
		ratio = 1 / ratio;
	/* What is computed beside the divided part is there on each. */
	return keep_all(turn, ratio, turn->knob->categories & CATEGORY(ACTIVATIONS) ? (1 + ratio) / 2 : ratio);
}

/* ---- pieces and shares ------------------------------------------------------------------------------------------------ */

/* A bucket comes and goes, more than once in a step, and is about as large as it may be. */
static int is_bucket(const struct turn *turn, const struct replay_site *site, double bytes)
{
	double steps = turn->run->steps > 0 ? (double)turn->run->steps : 1, each = (double)site->births / steps;

	return each > BUCKET_OFTEN * alive(site) && (double)site->largest >= bytes * BUCKET_LEAST &&
	       (double)site->largest <= bytes * BUCKET_MOST;
}

static int turn_bucket(struct turn *turn)
{
	const struct replay *replay = &turn->run->replay;
	double scale = 1, more, kept;
	uint32_t i;
	int meant;

	if (!turn->is_number || direction(turn))
		return silent(turn, ADVISE_SILENT_NO_ESTIMATE);
	if (turn->now <= 0)
		return silent(turn, ADVISE_SILENT_NO_VALUE);
	if (turn->knob->measure == MT_KNOB_UNIT_ELEMENTS)
		scale = turn->run->model.element ? (double)turn->run->model.element : 2;
	more = (turn->to - turn->now) * scale;
	for (i = 0; i < replay->sites; i++) {
		meant = is_meant(turn, &replay->site[i]);
		if (meant < 0)
			return meant;
		if (!meant || !is_bucket(turn, &replay->site[i], turn->now * scale))
			continue;
		kept = ((double)replay->site[i].largest + more) / (double)replay->site[i].largest;
		keep(turn, i, kept, kept);
	}
	return 0;
}

static int turn_share(struct turn *turn)
{
	double held = held_most(turn, ALL_PHASES), less;

	if (!turn->is_number || !turn->run->total)
		return silent(turn, ADVISE_SILENT_NO_ESTIMATE);
	if (turn->now < 0)
		return silent(turn, ADVISE_SILENT_NO_VALUE);
	if (held <= 0)
		return silent(turn, ADVISE_SILENT_NO_BYTES);
	less = (turn->now - turn->to) * (double)turn->run->total / held;
	return keep_all(turn, 1 - less, 1 - 0.9 * less);
}

/*
 * Gradients that wait for the next micro-batch are there while it runs; those of a single one come one by one while its
 * activations go.
 */
static int turn_kept(struct turn *turn)
{
	double held = held_most(turn, ALL_PHASES);
	uint32_t phase;
	int waits = turn->to > 1, waited = turn->now > 1, error;

	if (!turn->is_number || turn->now < 0)
		return silent(turn, ADVISE_SILENT_NO_VALUE);
	if (waits == waited)
		return silent(turn, ADVISE_SILENT_NO_METHOD);
	error = keep_all(turn, 0, waits ? 0 : 1);
	for (phase = 0; phase < MT_PHASE_COUNT && waits && turn->effects; phase++)
		if (turn->knob->phases & 1u << phase) {
			turn->scenario->lean_extra.bytes[phase] += held;
			turn->scenario->heavy_extra.bytes[phase] += held * KEPT_MOST;
		}
	return error;
}

/* ---- a change ---------------------------------------------------------------------------------------------------------- */

static int take_values(struct turn *turn)
{
	int now = turn->now_text ? advise_value_number(turn->knob, turn->now_text, &turn->now) : 1;
	int to = advise_value_number(turn->knob, turn->to_text, &turn->to);

	if (to < 0)
		return to;
	turn->is_number = !to;
	if (now)
		turn->now = -1;
	/* A switch that nobody has set is off. */
	if (now && turn->knob->measure == MT_KNOB_UNIT_SWITCH)
		turn->now = 0;
	return 0;
}

static int model_turn(struct turn *turn)
{
	switch (turn->knob->method) {
	case MT_KNOB_METHOD_TOKENS:
		return turn_tokens(turn);
	case MT_KNOB_METHOD_LOGITS:
		return turn_logits(turn);
	case MT_KNOB_METHOD_DIVIDED:
		return turn_divided(turn);
	case MT_KNOB_METHOD_REMOVED:
		return turn_removed(turn);
	case MT_KNOB_METHOD_BUCKET:
		return turn_bucket(turn);
	case MT_KNOB_METHOD_SHARE:
		return turn_share(turn);
	case MT_KNOB_METHOD_KEPT:
		return turn_kept(turn);
	case MT_KNOB_METHOD_ALLOCATOR:
		return silent(turn, ADVISE_SILENT_NO_ESTIMATE);
	default:
		return silent(turn, ADVISE_SILENT_NO_METHOD);
	}
}

int advise_model_turn(struct advise_scenario *scenario, const struct advise_run *run, struct advise_config *config,
		      const struct advise_turn *change, enum advise_silence *silence)
{
	struct turn turn = { .scenario = scenario,
			     .run = run,
			     .config = config,
			     .knob = change->knob,
			     .now_text = change->now,
			     .to_text = change->to };
	int error = take_values(&turn);

	if (error)
		return error;
	error = model_turn(&turn);
	if (error < 0)
		return error;
	if (!turn.effects && !turn.silence)
		turn.silence = ADVISE_SILENT_NO_BYTES;
	*silence = turn.effects ? ADVISE_SILENT_NONE : turn.silence;
	return turn.effects > 0;
}
