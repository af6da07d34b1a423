/* Effects of fewer tokens, samples or rows of logits. */
#include "advise_turn.h"

#include <math.h>
#include <string.h>
#include "memtrace/base.h"

#define FLOOR_USUAL 0.4  /* of a micro-batch: its longest sample may be as long */
#define BIRTHS_TELLING 3 /* so often a size must come again to be told from those of the micro-batches */
#define PICTURES_MANY 64 /* pieces of one place that no pass of a model has made */
#define BATCHES_MANY 4   /* pieces that are kept at once: of one batch there are fewer */
#define CAP_LEAST 0.125  /* of logits: what is smaller is something else */

/* ---- tokens ---------------------------------------------------------------------------------------------------------- */

uint64_t advise_tokens_in(const struct advise_run *run, uint32_t phases)
{
	uint64_t most = 0, rows;
	uint32_t i;

	if (run->failed && run->asked.tokens && phases & 1u << run->replay.request.phase)
		most = run->asked.tokens;
	for (i = 0; i < run->replay.sites; i++) {
		rows = phases & 1u << run->replay.site[i].phase ? advise_rows(run, &run->replay.site[i]) : 0;
		most = rows > most ? rows : most;
	}
	return most;
}

/* Whether the row sets the number of samples of a micro-batch in the phases of `knob`. */
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
	uint64_t tokens = advise_tokens_in(run, turn_phases(knob));
	uint32_t i, part;

	*sure = 0;
	for (part = 0; part < config->parts; part++)
		for (file = config->part[part].file, i = 0; i < file->knobs; i++) {
			if (!tells_samples(&file->knob[i], knob))
				continue;
			value = advise_config_value(config, &file->knob[i]);
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

/* Whether micro-batches have different numbers of tokens. */
static int varies(const struct advise_run *run)
{
	return run->tokens_least && run->tokens_least < run->tokens;
}

/* Whether the bytes are attention scores: their size grows with the square of a sample's length. */
static int is_square(const struct turn *turn, const struct replay_site *site)
{
	return site->category != MT_CATEGORY_LOGITS && turn_inner_tags(turn->run, site) & MT_TAG_BIT(SCORES);
}

/* Sizes differ by more than their rounding. */
static int differs(const struct replay_site *site)
{
	return (double)site->largest > 1.02 * (double)site->smallest;
}

#define COMPUTED (CATEGORY(ACTIVATIONS) | CATEGORY(LOGITS))

/* Whether most computed bytes have different sizes in different micro-batches. */
static int batches_differ(const struct advise_run *run)
{
	uint64_t all = 0, differing = 0;
	const struct replay_site *site;
	uint32_t i;

	for (i = 0; i < run->replay.sites; i++) {
		site = &run->replay.site[i];
		if (!(COMPUTED & 1u << site->category) || site->ignored || mt_phase_is_early(site->phase))
			continue;
		all += turn_held_anywhere(site);
		differing += differs(site) ? turn_held_anywhere(site) : 0;
	}
	return all && differing > all / 2;
}

/* Whether the site has the size of computed bytes, or a small multiple: a gradient of an activation has. */
static int is_shaped_as_computed(const struct advise_run *run, const struct replay_site *site)
{
	const struct replay_site *other;
	uint64_t times;
	uint32_t i;

	for (i = 0; i < run->replay.sites; i++) {
		other = &run->replay.site[i];
		if (!(COMPUTED & 1u << other->category) || other == site || !other->largest)
			continue;
		for (times = 1; times <= 4; times++)
			if (site->largest == other->largest * times || other->largest == site->largest * times)
				return 1;
	}
	return 0;
}

/*
 * Whether bytes follow the micro-batch. 1: they do; 0: they do not, like a bucket or a library's workspace, which have one size in
 * all micro-batches; -1: unknown.
 */
static int follows(const struct turn *turn, const struct replay_site *site)
{
	if (!(TURN_BESIDE & 1u << site->category) || differs(site))
		return 1;
	if (turn->batches_differ && site->births >= BIRTHS_TELLING)
		return 0;
	return is_shaped_as_computed(turn->run, site) ? 1 : -1;
}

/* Whether the cache grows with the answer: many births of different sizes. A cache of one size is set aside in advance. */
static int is_growing(const struct advise_run *run, const struct replay_site *site)
{
	return site->births >= 4 * run->model.layers + 16 && site->largest > site->smallest;
}

/*
 * Outputs of all batches of an evaluation: smaller batches are more of them. Outputs gathered from ranks do not count, as the number
 * of ranks stays. And pictures of a whole batch, made before it is cut.
 */
static int is_of_all_batches(const struct advise_run *run, const struct replay_site *site)
{
	uint64_t tags = advise_tags(run, site);

	if (site->category == MT_CATEGORY_EVALUATION)
		return turn_alive(site) >= BATCHES_MANY && !(tags & MT_TAG_BIT(GATHER));
	return tags & MT_TAG_BIT(IMAGES) && site->phase == MT_PHASE_OTHER && site->then_count >= PICTURES_MANY;
}

/* Passing categories, and outputs that are kept. */
#define FOLLOWING (TURN_PASSING | CATEGORY(EVALUATION))

/* Scales passing bytes, and caches that grow with the answer. Sizes of weights do not change with the tokens. */
static int keep_tokens(struct turn *turn, double one, double other, double logits_one, double logits_other)
{
	const struct replay *replay = &turn->run->replay;
	const struct replay_site *site;
	int by_sample = turn->knob->of != MT_KNOB_OF_MICRO_BATCH, meant, moves;
	uint32_t i;

	turn->batches_differ = batches_differ(turn->run);
	for (i = 0; i < replay->sites; i++) {
		site = &replay->site[i];
		meant = turn_means(turn, site);
		if (meant < 0)
			return meant;
		if (!meant || (!(FOLLOWING & 1u << site->category) && !is_growing(turn->run, site)) ||
		    is_of_all_batches(turn->run, site))
			continue;
		moves = TURN_PASSING & 1u << site->category ? follows(turn, site) : 1;
		if (!moves)
			continue;
		if (site->largest == site->smallest && advise_is_weight(&turn->run->model, site->largest)) {
			if (site->category == MT_CATEGORY_ACTIVATIONS)
				turn_keep(turn, i, one, 1);
		} else if (site->category == MT_CATEGORY_LOGITS) {
			turn_keep(turn, i, logits_one, logits_other);
		} else if (moves < 0) {
			turn_keep(turn, i, one < 1 ? one : 1, one < 1 ? 1 : other);
		} else if (by_sample && is_square(turn, site)) {
			turn_keep(turn, i, one * one, other);
		} else {
			turn_keep(turn, i, one, other);
		}
	}
	return 0;
}

/*
 * A smaller budget makes more micro-batches of one step. Gradients of the first micro-batch are then resident while the next ones
 * run. With a single micro-batch, gradients came while its activations went.
 */
static void wait_for_more(struct turn *turn)
{
	const struct advise_run *run = turn->run;
	uint32_t training = 1u << MT_PHASE_FORWARD | 1u << MT_PHASE_BACKWARD, phase;
	double gradients = 0, held;

	if (!(turn->knob->phases & training))
		return;
	for (phase = 0; phase < MT_PHASE_COUNT; phase++) {
		held = (double)advise_held(run, turn->knob->processes, CATEGORY(GRADIENTS), (uint8_t)phase);
		gradients = held > gradients ? held : gradients;
	}
	if ((double)advise_held(run, turn->knob->processes, CATEGORY(GRADIENTS), MT_PHASE_FORWARD) > gradients / 2)
		return;
	for (phase = 0; phase < MT_PHASE_COUNT; phase++)
		if (training & 1u << phase) {
			held = (double)advise_held(run, turn->knob->processes, CATEGORY(GRADIENTS), (uint8_t)phase);
			turn->scenario->lean_extra.bytes[phase] += gradients - held;
			turn->scenario->heavy_extra.bytes[phase] += gradients - held;
		}
}

/* The reverse: with fewer micro-batches, the largest can be the first of its step, without waiting gradients. */
static void wait_no_more(struct turn *turn)
{
	uint32_t training = 1u << MT_PHASE_FORWARD | 1u << MT_PHASE_BACKWARD, phase;

	for (phase = 0; phase < MT_PHASE_COUNT; phase++)
		if (training & 1u << phase & turn->knob->phases)
			turn->scenario->lean_extra.bytes[phase] -= (double)advise_held(turn->run, turn->knob->processes,
										       CATEGORY(GRADIENTS),
										       (uint8_t)phase);
}

/* A budget scales with the largest micro-batch. The packing decides how full micro-batches are. */
static int turn_budget(struct turn *turn)
{
	double tokens = (double)advise_tokens_in(turn->run, turn_phases(turn->knob)), least = turn->to, ratio, loose;
	int error;

	if (tokens > 0 && (turn->now < 0 || turn->to < turn->now))
		ratio = least < tokens ? least / tokens : 1;
	else if (turn->now > 0) /* a micro-batch above the budget is one sample, or packed above it */
		ratio = turn->to / (tokens > turn->now ? tokens : turn->now);
	else
		return turn_silent(turn, ADVISE_SILENT_NO_VALUE);
	if (ratio == 1)
		return turn_silent(turn, ADVISE_SILENT_SAME);
	if (ratio > 1) {
		error = keep_tokens(turn, 1 + 0.8 * (ratio - 1), ratio, 1 + 0.8 * (ratio - 1), ratio);
		if (!error && turn->effects)
			wait_no_more(turn);
		return error;
	}
	/* A sample above the budget is its own micro-batch. The lengths of samples are unknown. */
	loose = ratio * 1.1;
	loose = loose < FLOOR_USUAL ? FLOOR_USUAL : loose < 1 ? loose : 1;
	error = keep_tokens(turn, 0.85 * ratio, loose, 0.85 * ratio, loose);
	if (!error && turn->effects)
		wait_for_more(turn);
	return error;
}

/*
 * A sample is a prompt and an answer. A known number of samples in a micro-batch gives their length. Otherwise a prompt is assumed
 * to be at most as long as an answer. Logits can be those of the answers alone.
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

/* A limit of length affects only samples of this length. */
static int turn_length(struct turn *turn)
{
	double samples = advise_samples(turn->run, turn->config, turn->knob, &turn->sure), ratio, loose;
	int is_one = turn->run->failed && (double)turn->run->asked.tokens == floor(turn->now > 0 ? turn->now : 0);
	double length = samples > 0 ? (double)advise_tokens_in(turn->run, turn_phases(turn->knob)) / samples : 0;

	if (turn->now <= 0)
		return turn_silent(turn, ADVISE_SILENT_NO_VALUE);
	ratio = turn->to / turn->now;
	loose = (1 + ratio) / 2;
	if (is_one && turn->knob->of == MT_KNOB_OF_SAMPLE) /* the failed micro-batch is one sample */
		return keep_tokens(turn, ratio, ratio, ratio, ratio);
	if (is_one && turn->knob->of == MT_KNOB_OF_ANSWER) /* the length of its prompt is unknown */
		return keep_tokens(turn, ratio, loose, ratio, loose);
	if (turn->knob->of != MT_KNOB_OF_SAMPLE)
		return turn_part(turn, length);
	if (turn->sure && length > 0 && length < turn->now * 0.98)
		ratio = turn->to < length ? turn->to / length : 1;
	loose = varies(turn->run) && ratio < 1 ? (1 + ratio) / 2 : ratio;
	return keep_tokens(turn, ratio, loose, ratio, loose);
}

/* The padding is between none and all of the tokens up to the value. */
static int turn_padding(struct turn *turn)
{
	double tokens = (double)advise_tokens_in(turn->run, turn_phases(turn->knob)), ratio;

	if (tokens <= 0 || turn->now < 0)
		return turn_silent(turn, ADVISE_SILENT_NO_VALUE);
	ratio = 1 + (turn->to - turn->now) / tokens;
	return keep_tokens(turn, ratio, 1, ratio, 1);
}

int turn_tokens(struct turn *turn)
{
	double ratio;

	if (turn->knob->measure == MT_KNOB_UNIT_SWITCH || !turn->is_number)
		return turn_silent(turn, ADVISE_SILENT_NO_ESTIMATE);
	if (turn->knob->of == MT_KNOB_OF_PADDING)
		return turn_padding(turn);
	if (turn->knob->of != MT_KNOB_OF_MICRO_BATCH)
		return turn_length(turn);
	if (turn->knob->measure == MT_KNOB_UNIT_TOKENS)
		return turn_budget(turn);
	if (turn->now <= 0 || turn->to <= 0)
		return turn_silent(turn, ADVISE_SILENT_NO_VALUE);
	ratio = turn->knob->saves == MT_KNOB_SAVES_HIGHER ? turn->now / turn->to : turn->to / turn->now;
	/* Fewer samples can have an equal longest one. More samples can have a longer one. */
	if (varies(turn->run) && ratio < 1)
		return keep_tokens(turn, 0.8 * ratio, ratio, 0.8 * ratio, ratio);
	if (varies(turn->run))
		return keep_tokens(turn, ratio, 1.1 * ratio, ratio, 1.1 * ratio);
	return keep_tokens(turn, ratio, ratio, ratio, ratio);
}

/* ---- logits ----------------------------------------------------------------------------------------------------------- */

/*
 * Caps the allocations of a place that also allocates other bytes, such as a whole backward. Allocations smaller than logits stay.
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
		turn_keep(turn, site, least, most);
	else
		cap_logits(turn, site, least, most);
}

static double rows_of(const struct advise_run *run, const struct replay_site *site)
{
	uint64_t rows = advise_rows(run, site);

	return (double)(rows ? rows : advise_is_logits(run, site) ? run->tokens : 0);
}

/* Scales logits to the rows of one piece. */
static int keep_pieces(struct turn *turn)
{
	const struct replay *replay = &turn->run->replay;
	double samples = 1, least, most, rows;
	uint32_t i;
	int meant;

	if (turn->to <= 0)
		return turn_silent(turn, ADVISE_SILENT_NOT_RECORDED);
	if (turn->knob->of == MT_KNOB_OF_SAMPLE)
		samples = advise_samples(turn->run, turn->config, turn->knob, &turn->sure);
	if (turn->knob->of == MT_KNOB_OF_SAMPLE && !turn->sure)
		samples = 0;
	for (i = 0; i < replay->sites; i++) {
		meant = turn_means(turn, &replay->site[i]);
		rows = meant > 0 ? rows_of(turn->run, &replay->site[i]) : 0;
		if (meant < 0)
			return meant;
		if (rows <= 0)
			continue;
		least = turn->to * (samples > 0 ? samples : 1) / rows;
		least = least < 1 ? least : 1;
		/* Several tensors work on one piece. With an unknown number of samples, there can be more. */
		most = turn->knob->of != MT_KNOB_OF_SAMPLE ? 2 * least : samples > 0 ? least : 8 * least;
		keep_logits(turn, i, least, most < 1 ? most : 1);
	}
	return 0;
}

/*
 * A loss without logits goes through the head piece by piece, in forward or backward. A piece's gradient of the head can lie beside
 * the sum that it is added to.
 */
static void add_piece_of_head(struct turn *turn)
{
	const struct advise_model *model = &turn->run->model;
	double bytes = (double)model->words * (double)model->width * (double)(model->element ? model->element : 2);
	uint32_t training = 1u << MT_PHASE_FORWARD | 1u << MT_PHASE_BACKWARD, phase;

	for (phase = 0; phase < MT_PHASE_COUNT && turn->effects; phase++)
		if (training & turn->knob->phases & 1u << phase)
			turn->scenario->heavy_extra.bytes[phase] += bytes;
}

int turn_logits(struct turn *turn)
{
	const struct replay *replay = &turn->run->replay;
	double most = turn->knob->withins ? 0.5 : 0.25;
	uint32_t i;
	int meant, way = turn_direction(turn);

	if (turn->knob->leaves == MT_KNOB_LEAVES_PIECE)
		return turn->is_number ? keep_pieces(turn) : turn_silent(turn, ADVISE_SILENT_NOT_RECORDED);
	/* The logits are made twice. The bytes of the running call stay, and those of earlier calls are unknown. */
	if (turn->knob->leaves == MT_KNOB_LEAVES_BOUNDARIES)
		return turn_silent(turn, ADVISE_SILENT_NO_ESTIMATE);
	if (way < 0)
		return turn_silent(turn, ADVISE_SILENT_NOT_RECORDED);
	if (!way && (turn->now <= 0 || turn->to <= 0 || turn->knob->saves != MT_KNOB_SAVES_LOWER))
		return turn_silent(turn, ADVISE_SILENT_NO_ESTIMATE);
	for (i = 0; i < replay->sites; i++) {
		meant = turn_means(turn, &replay->site[i]);
		if (meant < 0)
			return meant;
		if (!meant)
			continue;
		if (!way)
			turn_keep(turn, i, turn->to / turn->now, turn->to / turn->now);
		else if (advise_is_logits(turn->run, &replay->site[i]))
			keep_logits(turn, i, 0, most);
		else /* these kernels keep less than PyTorch's: the part is unknown */
			turn_keep(turn, i, 0.7, 1);
	}
	if (way > 0 && !turn->knob->withins)
		add_piece_of_head(turn);
	return 0;
}
