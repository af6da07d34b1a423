/* Which settings to try: a new value for each that moves bytes of the peak, tried, and put in order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "advise.h"
#include "memtrace/base.h"
#include "memtrace/error.h"

#define WORTH 200.0       /* less than one part in so many is no reason to relaunch */
#define PIECE_ROWS 1024.0 /* of logits, where nobody has said how many */
#define SHARE_STEP 0.05
#define GIB (1024.0 * 1024 * 1024)
#define RANK_USUAL 16.0
#define AIM 2.0 /* what is about the very bytes that were too many counts so many times */

struct choice {
	struct advise_turn turn;
	struct advise_value now;
	char to[ADVISE_VALUE_MAX], pretend[ADVISE_VALUE_MAX]; /* pretend: a value now, of one that is not known */
	int taken;
	char only[ADVISE_WORDS_MAX]; /* what has to be so for it to count; "": nothing */
};

struct choices {
	struct advice *advice;
	struct choice *choice;
	struct advise_trial *trial;
	size_t count, room;
};

/* ---- a new value ------------------------------------------------------------------------------------------------------- */

static uint8_t phase_in_question(const struct advice *advice)
{
	int phase = mt_phase_parse(advice->run.phase, strlen(advice->run.phase));

	return phase < 0 ? MT_PHASE_OTHER : (uint8_t)phase;
}

static const char *text_of(struct choice *choice, double number)
{
	return advise_value_text(choice->to, choice->turn.knob, number);
}

static int is_outlier(const struct advice *advice)
{
	const struct oom_logits *logits = &advice->run.oom.logits;

	return advice->run.failed && logits->earlier && logits->tokens > 2 * logits->earlier;
}

/* The next multiple of `step` that is not above. */
static double floor_to(double number, uint64_t step)
{
	uint64_t whole = (uint64_t)number;

	whole -= whole % step;
	return (double)whole;
}

/* Half of it, but not below the floor. NULL: it is there. */
static const char *lower_tokens(const struct choices *choices, struct choice *choice, double now)
{
	const struct mt_knob *knob = choice->turn.knob;
	double tokens = (double)advise_tokens_in(&choices->advice->run, knob->phases), floor, to;

	if (knob->of == MT_KNOB_OF_PADDING)
		return NULL;
	/* How long samples are nobody leaves at its default. */
	if (knob->of != MT_KNOB_OF_MICRO_BATCH && choice->now.origin <= ADVISE_DEFAULT) {
		choice->turn.now = choice->now.text = NULL;
		now = -1;
	}
	/* One that is far above all before it is one long sample, whatever the budget. */
	if (knob->of != MT_KNOB_OF_MICRO_BATCH && now <= 0 && is_outlier(choices->advice)) {
		choice->turn.now = advise_value_text(choice->pretend, knob, tokens);
		return text_of(choice, (double)choices->advice->run.oom.logits.earlier);
	}
	if (knob->of == MT_KNOB_OF_MICRO_BATCH && choice->now.origin <= ADVISE_DEFAULT && tokens > now)
		choice->turn.now = choice->now.text = NULL; /* the recording says that it is another */
	if (knob->of == MT_KNOB_OF_MICRO_BATCH && tokens > 0 && (now <= 0 || tokens < now || !choice->now.text))
		now = tokens;
	if (now <= 0)
		return NULL;
	floor = advise_floor(choices->advice->config, knob, ADVISE_AS_IS, &choices->advice->facts);
	to = now / 2 > floor ? now / 2 : floor;
	to = to >= 512 ? floor_to(to, 256) : floor_to(to, 1);
	return to >= 1 && to < now ? text_of(choice, to) : NULL;
}

/* As much less of the GPU as is missing, in steps; where nobody says what it is now, what the cache has. */
static const char *lower_share(const struct choices *choices, struct choice *choice, double now)
{
	const struct advice *advice = choices->advice;
	double total = (double)advice->run.total, less, held = 0;
	uint32_t phase;

	if (total <= 0)
		return NULL;
	for (phase = 0; phase < MT_PHASE_COUNT; phase++)
		if ((double)advise_held(&advice->run, choice->turn.knob->categories, (uint8_t)phase) > held)
			held = (double)advise_held(&advice->run, choice->turn.knob->categories, (uint8_t)phase);
	if (now <= 0) {
		now = (double)(int)(held / total / SHARE_STEP + 0.5) * SHARE_STEP;
		if (now <= 0)
			return NULL;
		choice->turn.now = advise_value_text(choice->pretend, choice->turn.knob, now);
	}
	less = (double)advice->needed / total;
	less = (double)(int)(less / SHARE_STEP + 0.999) * SHARE_STEP;
	less = less > 0 ? less : 2 * SHARE_STEP;
	return now - less >= SHARE_STEP ? text_of(choice, now - less) : NULL;
}

/* The most that is there of what it speaks of, in whole GiB; less than two are not worth it. Bytes; -1: so it is. */
static double most_held(const struct advice *advice, const struct mt_knob *knob, struct choice *choice)
{
	double held = 0;
	uint32_t phase;

	for (phase = 0; phase < MT_PHASE_COUNT; phase++)
		if (knob->phases & 1u << phase &&
		    (double)advise_held(&advice->run, knob->categories, (uint8_t)phase) > held)
			held = (double)advise_held(&advice->run, knob->categories, (uint8_t)phase);
	held = (double)(uint64_t)(held / (knob->copies ? knob->copies : 1) / GIB + 0.5) * GIB;
	if (held < 2 * GIB)
		return -1;
	choice->turn.now = advise_value_text(choice->pretend, knob, held);
	return held;
}

/* What there is less of: half. Where nobody says how many, half of whatever it is. */
static const char *lower(const struct choices *choices, struct choice *choice, double now)
{
	const struct mt_knob *knob = choice->turn.knob;

	if (knob->leaves == MT_KNOB_LEAVES_PIECE)
		return text_of(choice, now > 0 ? (double)(uint64_t)((now + 1) / 2) : PIECE_ROWS);
	if (knob->measure == MT_KNOB_UNIT_TOKENS)
		return lower_tokens(choices, choice, now);
	if (knob->measure == MT_KNOB_UNIT_SHARE)
		return lower_share(choices, choice, now);
	if (knob->measure == MT_KNOB_UNIT_GIB && now <= 0) /* as much as is there of it */
		now = most_held(choices->advice, knob, choice);
	if (now == 1 || now == 0)
		return NULL;
	if (now > 1)
		return text_of(choice, knob->measure == MT_KNOB_UNIT_BYTES || knob->measure == MT_KNOB_UNIT_MIB ||
						       knob->measure == MT_KNOB_UNIT_GIB
					       ? now / 2
					       : (double)(uint64_t)(now / 2));
	if (knob->measure != MT_KNOB_UNIT_SAMPLES)
		return NULL;
	choice->turn.now = "2";
	return text_of(choice, 1);
}

static const char *higher(const struct choices *choices, struct choice *choice, double now)
{
	const struct mt_knob *knob = choice->turn.knob;
	uint32_t i;

	for (i = 0; i < knob->constraints; i++) /* of a model without experts nobody shares the experts */
		if (knob->constraint[i].kind == MT_KNOB_CONSTRAINT_DIVIDES &&
		    knob->constraint[i].fact == MT_KNOB_FACT_EXPERTS &&
		    !choices->advice->facts.fact[MT_KNOB_FACT_EXPERTS])
			return NULL;
	if (choice->now.text && now < 1 && knob->measure == MT_KNOB_UNIT_PARTS) /* -1, 0: as many as there are */
		return NULL;

	if (knob->measure == MT_KNOB_UNIT_SHARE)
		return text_of(choice, 1);
	if (knob->measure == MT_KNOB_UNIT_STAGE)
		return now >= 3 ? NULL : text_of(choice, now < 0 ? 3 : now + 1);
	if (knob->measure != MT_KNOB_UNIT_PARTS)
		return NULL;
	return text_of(choice, now > 0 ? 2 * now : 2);
}

/* What failed, or what is the largest part of the peak, is of the knob. */
static int is_named(const struct advice *advice, const struct mt_knob *knob)
{
	uint8_t category = MT_CATEGORY_OTHER, i;
	uint64_t most = 0;

	if (advice->run.failed)
		return (knob->categories & 1u << mt_category_parse(advice->run.oom.rule_category)) != 0;
	for (i = 0; i < MT_CATEGORY_COUNT; i++)
		if (advise_held_then(&advice->run, 1u << i) > most) {
			most = advise_held_then(&advice->run, 1u << i);
			category = i;
		}
	return (knob->categories & 1u << category) != 0;
}

static int is_type_of_model(const struct mt_knob *knob)
{
	uint32_t all = 1u << MT_CATEGORY_WEIGHTS | 1u << MT_CATEGORY_OPTIMIZER_STATE;

	return knob->weighs && knob->measure == MT_KNOB_UNIT_WORD && (knob->categories & all) == all;
}

/* The next lighter one of a type; what turns a word on. */
static const char *choose(const struct choices *choices, struct choice *choice, double now)
{
	const struct mt_knob *knob = choice->turn.knob;
	double weight = -1;
	/* One byte a number does for a cache, and for states in blocks; not for weights. */
	uint32_t least = knob->categories & ~(1u << MT_CATEGORY_KV_CACHE | 1u << MT_CATEGORY_OPTIMIZER_STATE) ? 2 : 1,
		 i;

	if (knob->measure == MT_KNOB_UNIT_RANK)
		return now > 0 ? NULL : text_of(choice, RANK_USUAL);
	if (knob->measure == MT_KNOB_UNIT_STEPS)
		return now > 0 ? NULL : text_of(choice, 1);
	if (knob->leaves == MT_KNOB_LEAVES_PIECE)
		return now > 0 ? NULL : text_of(choice, PIECE_ROWS);
	if (knob->leaves == MT_KNOB_LEAVES_BOUNDARIES && strstr(knob->name.key, "granularity"))
		return choice->now.text && !strcmp(choice->now.text, "full") ? NULL : "full";
	/* What nobody says of an optimizer is what most take, which the rows name first. */
	if (!choice->now.text && knob->weighs && knob->categories == 1u << MT_CATEGORY_OPTIMIZER_STATE) {
		mt_copy_text(choice->pretend, sizeof(choice->pretend), knob->weigh[0].value);
		choice->turn.now = choice->pretend;
		weight = knob->weigh[0].weight;
	}
	/* A type that nobody tells is the widest, if the census says so; else that is what has to be so for it to count. */
	if (!choice->now.text && is_type_of_model(knob)) {
		if ((choices->advice->run.model.element && choices->advice->run.model.element < 4) ||
		    !is_named(choices->advice, knob))
			return NULL;
		mt_copy_text(choice->pretend, sizeof(choice->pretend), knob->weigh[0].value);
		choice->turn.now = choice->pretend;
		weight = knob->weigh[0].weight;
		if (!choices->advice->run.model.element)
			snprintf(choice->only, sizeof(choice->only),
				 "only where the model is %.32s now, which the recording "
				 "does not tell: next(model.parameters()).dtype",
				 knob->weigh[0].value);
	}
	for (i = 0; i < knob->weighs; i++)
		if (choice->now.text && !strcmp(knob->weigh[i].value, choice->now.text))
			weight = knob->weigh[i].weight;
	for (i = 0; i < knob->weighs && weight > 0; i++)
		if (knob->weigh[i].weight < weight && knob->weigh[i].weight >= least)
			return knob->weigh[i].value;
	return NULL;
}

/* NULL: there is none to try. */
static const char *propose(const struct choices *choices, struct choice *choice)
{
	const struct mt_knob *knob = choice->turn.knob;
	double now = -1;

	if (choice->now.text && advise_value_number(knob, choice->now.text, &now))
		now = -1;
	switch (knob->saves) {
	case MT_KNOB_SAVES_ON:
		return now == 1 ? NULL : text_of(choice, 1);
	case MT_KNOB_SAVES_OFF:
		return now == 0 ? NULL : text_of(choice, 0);
	case MT_KNOB_SAVES_LOWER:
		return lower(choices, choice, now);
	case MT_KNOB_SAVES_HIGHER:
		return higher(choices, choice, now);
	case MT_KNOB_SAVES_CHOOSE:
		return choose(choices, choice, now);
	default:
		return NULL;
	}
}

static struct advise_row *add_row(struct advice *advice)
{
	size_t room = advice->row_room ? advice->row_room * 2 : 16;
	struct advise_row *grown;

	if (advice->rows == advice->row_room) {
		grown = realloc(advice->row, room * sizeof(*grown));
		if (!grown)
			return NULL;
		advice->row = grown;
		advice->row_room = room;
	}
	grown = &advice->row[advice->rows++];
	memset(grown, 0, sizeof(*grown));
	return grown;
}

/* ---- candidates --------------------------------------------------------------------------------------------------------- */

/* What most of the bytes are that the knob speaks of; and how many. */
static uint64_t main_category(const struct advice *advice, const struct mt_knob *knob, uint8_t *category)
{
	uint64_t bytes, most = 0;
	uint8_t i;

	*category = MT_CATEGORY_OTHER;
	for (i = 0; i < MT_CATEGORY_COUNT; i++) {
		bytes = knob->categories & 1u << i ? advise_held_then(&advice->run, 1u << i) : 0;
		if (bytes > most) {
			most = bytes;
			*category = i;
		}
	}
	return most;
}

static int add_idle(struct advice *advice, const struct mt_knob *knob, const char *why)
{
	size_t room = advice->idle_room ? advice->idle_room * 2 : 16;
	struct advise_idle *grown;

	if (advice->idles == advice->idle_room) {
		grown = realloc(advice->idle, room * sizeof(*grown));
		if (!grown)
			return -MT_E_MEMORY;
		advice->idle = grown;
		advice->idle_room = room;
	}
	grown = &advice->idle[advice->idles++];
	grown->knob = knob;
	mt_copy_text(grown->why, sizeof(grown->why), why);
	return 0;
}

/* Settings that people try for what fills the device here, and that would do nothing: they are told. */
static int note_idle(struct advice *advice, const struct mt_knob *knob, const char *why)
{
	uint8_t phase = phase_in_question(advice), category;
	int concerned = knob->phases & 1u << phase && main_category(advice, knob, &category) > advice->base / 20;

	return *why && (concerned || (knob->not_so && why == knob->not_so)) ? add_idle(advice, knob, why) : 0;
}

static int add_choice(struct choices *choices, const struct choice *choice)
{
	size_t room = choices->room ? choices->room * 2 : 64;
	struct choice *grown;

	if (choices->count == choices->room) {
		grown = realloc(choices->choice, room * sizeof(*grown));
		if (!grown)
			return -MT_E_MEMORY;
		choices->choice = grown;
		choices->room = room;
	}
	choices->choice[choices->count++] = *choice;
	return 0;
}

static int consider_allocator(struct advice *advice, const struct mt_knob *knob, struct advise_value now)
{
	struct advise_row it = { .knob = NULL }, *row;
	int found = advise_allocator_row(advice, knob, now, &it);

	if (found <= 0 || (double)it.saved.high < (double)advice->base / WORTH)
		return found < 0 ? found : 0;
	row = add_row(advice);
	if (!row)
		return -MT_E_MEMORY;
	*row = it;
	return advise_as_it_was(advice, &row->outcome);
}

static int consider(struct choices *choices, const struct mt_knob *knob)
{
	struct advice *advice = choices->advice;
	struct choice choice = { .turn = { .knob = knob } };
	enum advise_standing standing;
	char why[ADVISE_WORDS_MAX] = "";
	const char *to;
	int backend;

	if (knob->instead || advise_config_through(advice->config, knob) || !advise_is_meant(advice, knob))
		return 0;
	standing = advise_config_standing(advice->config, knob, ADVISE_AS_IS, &advice->facts, why);
	backend = advise_backend(advice, knob);
	if (standing == ADVISE_STANDING_ABSENT || (advice->blind && backend < 0))
		return 0;
	if (advise_is_proved(advice, knob, why))
		return note_idle(advice, knob, why);
	if (advice->pieces_kept && knob->method == MT_KNOB_METHOD_LOGITS && knob->withins)
		return note_idle(advice, knob, "its pieces are all kept at once: see above");
	/* Where nobody has told how the run was configured, a default of another setting keeps none from counting. */
	if (standing == ADVISE_STANDING_NO_EFFECT && advice->blind && backend > 0)
		standing = ADVISE_STANDING_OPEN;
	if (standing == ADVISE_STANDING_NO_EFFECT && advice->blind)
		snprintf(choice.only, sizeof(choice.only), "by the defaults it %.*s", ADVISE_WORDS_MAX - 20, why);
	else if (standing != ADVISE_STANDING_OPEN)
		return note_idle(advice, knob, why);
	if (knob->method == MT_KNOB_METHOD_NONE || knob->saves == MT_KNOB_SAVES_NONE)
		return 0;
	choice.now = advise_config_value(advice->config, knob, ADVISE_AS_IS);
	if (knob->method == MT_KNOB_METHOD_ALLOCATOR)
		return consider_allocator(advice, knob, choice.now);
	choice.turn.now = choice.now.text;
	to = propose(choices, &choice);
	if (!to)
		return 0;
	if (to != choice.to)
		mt_copy_text(choice.to, sizeof(choice.to), to);
	return add_choice(choices, &choice);
}

static int collect(struct choices *choices)
{
	const struct advise_config *config = choices->advice->config;
	uint32_t part, i;
	int error = 0;

	for (part = 0; part < config->parts && !error; part++)
		for (i = 0; i < config->part[part].file->knobs && !error && advise_is_there(choices->advice, part); i++)
			error = consider(choices, &config->part[part].file->knob[i]);
	for (i = 0; i < choices->count; i++) /* they have found their place */
		if (choices->choice[i].turn.now && *choices->choice[i].pretend &&
		    choices->choice[i].turn.now != choices->choice[i].now.text)
			choices->choice[i].turn.now = choices->choice[i].pretend;
	for (i = 0; i < choices->count; i++)
		choices->choice[i].turn.to = choices->choice[i].to;
	return error;
}

/* ---- what they save ----------------------------------------------------------------------------------------------------- */

static uint64_t less(uint64_t base, uint64_t now)
{
	return now < base ? base - now : 0;
}

static struct advise_range saved_of(const struct advice *advice, const struct advise_outcome *outcome)
{
	const struct advise_range *range = advice->run.failed ? &outcome->asked : &outcome->peak;

	return (struct advise_range){ less(advice->base, range->high), less(advice->base, range->low) };
}

static int fits(const struct advice *advice, const struct advise_outcome *outcome)
{
	uint64_t most = advice->run.failed ? outcome->asked.high : outcome->peak.high;

	return advice->limit && most <= advice->limit && (!advice->fit || outcome->peak.high <= advice->limit);
}

/* Cheap bytes first: what costs time, or changes results, has to save more. */
static double worth(const struct mt_knob *knob, struct advise_range saved)
{
	static const double price[MT_KNOB_COSTS] = { 1, 0.8, 0.4, 0.2, 0.15 };

	return price[knob->cost] * ((double)saved.low + (double)saved.high) / 2;
}

/* ---- the evidence ------------------------------------------------------------------------------------------------------- */

static const struct replay_site *largest_site(const struct advice *advice, uint8_t category)
{
	const struct replay_site *site, *most = NULL;
	uint32_t i;

	for (i = 0; i < advice->run.replay.sites; i++) {
		site = &advice->run.replay.site[i];
		if (site->category == category && (!most || site->then > most->then))
			most = site;
	}
	return most && most->then ? most : NULL;
}

static int is_probable(const struct advice *advice, uint8_t category)
{
	uint64_t all = 0, guessed = 0;
	uint32_t i;

	for (i = 0; i < advice->run.replay.sites; i++) {
		if (advice->run.replay.site[i].category != category)
			continue;
		all += advice->run.replay.site[i].then;
		guessed += advice->run.replay.site[i].known ? 0 : advice->run.replay.site[i].then;
	}
	return guessed > all / 2;
}

/* What has no known purpose by its stack, but woke up: what had slept. */
static const char *category_words(const struct advice *advice, const struct advise_row *row)
{
	return row->category == MT_CATEGORY_OTHER && *advice->run.oom.waking ? advice->run.oom.waking
									     : mt_category_name(row->category);
}

/* "37.2 GiB of activations in use, most at once 28 x 1.3 GiB; 16,384 tokens in the largest micro-batch" */
static void say_evidence(const struct advice *advice, struct advise_row *row)
{
	const struct replay_site *site = largest_site(advice, row->category);
	char size[TEXT_SIZE_MAX], number[TEXT_SIZE_MAX], words[TEXT_SIZE_MAX];
	uint64_t tokens = site ? advise_rows(&advice->run, site) : 0;
	size_t used;

	used = (size_t)snprintf(row->evidence, sizeof(row->evidence), "%s of %s%s at the %s",
				text_bytes(size, advise_held_then(&advice->run, 1u << row->category)),
				row->probable ? "probably " : "", category_words(advice, row),
				advice->run.failed ? "failed request" : "peak");
	if (tokens && site->words)
		used += (size_t)snprintf(row->evidence + used, sizeof(row->evidence) - used,
					 "; the largest are %s tokens x %s words x %llu bytes",
					 text_number(number, tokens), text_number(words, site->words),
					 (unsigned long long)site->element);
	else if (site && site->then_count > 1 && used < sizeof(row->evidence))
		used += (size_t)snprintf(row->evidence + used, sizeof(row->evidence) - used,
					 "; the largest place has %s of them in %u pieces",
					 text_bytes(size, site->then), site->then_count);
	tokens = advise_tokens_in(&advice->run, row->knob->phases);
	if (row->knob->method == MT_KNOB_METHOD_TOKENS && tokens && used < sizeof(row->evidence))
		used += (size_t)snprintf(row->evidence + used, sizeof(row->evidence) - used,
					 "; %s tokens in the largest micro-batch", text_number(number, tokens));
	if (row->knob->method == MT_KNOB_METHOD_TOKENS && is_outlier(advice) && used < sizeof(row->evidence))
		snprintf(row->evidence + used, sizeof(row->evidence) - used,
			 row->sample ? ", %s at most before it: probably one sample"
				     : ", %s at most before it: if that is one sample, this does nothing",
			 text_number(number, advice->run.oom.logits.earlier));
}

/* ---- rows --------------------------------------------------------------------------------------------------------------- */

/* The category of what failed, or of most at the peak, in its phase; rows that divide everything are about nothing. */
static int is_aimed(const struct advice *advice, const struct mt_knob *knob, uint8_t phase)
{
	const struct replay *replay = &advice->run.replay;
	uint64_t held, most = 0;
	uint8_t i, category = MT_CATEGORY_OTHER;

	for (i = 0; i < MT_CATEGORY_COUNT; i++) {
		held = advise_held_then(&advice->run, 1u << i);
		if (held > most) {
			most = held;
			category = i;
		}
	}
	if (advice->run.failed && advice->run.oom.rule == OOM_LARGEST && *advice->run.oom.rule_category)
		category = (uint8_t)mt_category_parse(advice->run.oom.rule_category); /* that the first sentence names */
	else if (advice->run.failed && replay->site[replay->request.site].category != MT_CATEGORY_OTHER)
		category = replay->site[replay->request.site].category;
	return knob->categories & 1u << category && knob->phases & 1u << phase &&
	       !(knob->categories & 1u << MT_CATEGORY_WEIGHTS && knob->categories & 1u << MT_CATEGORY_ACTIVATIONS);
}

static int take_row(struct advice *advice, const struct choice *choice, const struct advise_trial *trial)
{
	struct advise_range saved = saved_of(advice, &trial->outcome);
	uint64_t there = advise_held_then(&advice->run, choice->turn.knob->categories);
	uint8_t phase = phase_in_question(advice);
	struct advise_row *row;

	if ((double)saved.high < (double)advice->base / WORTH)
		return note_idle(advice, choice->turn.knob,
				 choice->turn.knob->not_so ? choice->turn.knob->not_so
							   : "moves next to nothing of what was there");
	row = add_row(advice);
	if (!row)
		return -MT_E_MEMORY;
	row->knob = choice->turn.knob;
	row->now = choice->now;
	mt_copy_text(row->to, sizeof(row->to), choice->to);
	/* What is loose in the figures saves no more than is there. */
	if (saved.high > there && saved.low <= there)
		saved.high = there;
	row->saved = saved;
	row->outcome = trial->outcome;
	row->fits = fits(advice, &trial->outcome);
	row->aims = is_aimed(advice, row->knob, phase) && !*choice->only;
	main_category(advice, row->knob, &row->category);
	row->probable = is_probable(advice, row->category);
	row->sample = is_outlier(advice) && row->knob->method == MT_KNOB_METHOD_TOKENS &&
		      row->knob->of != MT_KNOB_OF_MICRO_BATCH && row->knob->of != MT_KNOB_OF_PADDING;
	mt_copy_text(row->only, sizeof(row->only), choice->only);
	say_evidence(advice, row);
	return 0;
}

/* 1: the row is about what failed, and not about everything. */
static int aims(const struct advise_row *row)
{
	return row->aims;
}

static int by_worth(const void *a, const void *b)
{
	const struct advise_row *x = a, *y = b;
	double one = worth(x->knob, x->saved) * (aims(x) ? AIM : 1),
	       other = worth(y->knob, y->saved) * (aims(y) ? AIM : 1);

	if (!*x->only != !*y->only) /* what may not count comes last */
		return *x->only ? 1 : -1;
	if (x->fits != y->fits)
		return y->fits - x->fits;
	if (x->sample != y->sample) /* one sample was too long: it is what has to be shorter */
		return y->sample - x->sample;
	if (x->fits && aims(x) != aims(y)) /* what failed is what has to be less */
		return aims(y) - aims(x);
	if (x->fits && x->knob->cost != y->knob->cost) /* enough is enough: the cheapest first */
		return x->knob->cost < y->knob->cost ? -1 : 1;
	return one < other ? 1 : one > other ? -1 : strcmp(x->knob->name.key, y->knob->name.key);
}

/* ---- several ------------------------------------------------------------------------------------------------------------ */

/* The one that helps most on top of what is chosen; -1: none helps. */
static int best_of(const struct choices *choices)
{
	const struct advice *advice = choices->advice;
	double value, most = 0;
	int best = -1, best_fits = 0, it_fits;
	uint64_t base = advice->turns ? (advice->run.failed ? advice->outcome.asked.high : advice->outcome.peak.high)
				      : advice->base;
	struct advise_range saved;
	size_t i;

	for (i = 0; i < choices->count; i++) {
		if (choices->choice[i].taken || !choices->trial[i].works)
			continue;
		saved = (struct advise_range){ less(base, advice->run.failed ? choices->trial[i].outcome.asked.high
									     : choices->trial[i].outcome.peak.high),
					       0 };
		it_fits = fits(advice, &choices->trial[i].outcome);
		value = worth(choices->choice[i].turn.knob, saved);
		if ((double)saved.low < (double)advice->base / WORTH || it_fits < best_fits)
			continue;
		if (it_fits > best_fits || value > most) {
			best = (int)i;
			most = value;
			best_fits = it_fits;
		}
	}
	return best;
}

/* Step by step the one that helps most, until it fits. */
static int combine(struct choices *choices)
{
	struct advice *advice = choices->advice;
	int best, error = 0;
	size_t i;

	while (advice->turns < ADVISE_TOGETHER_MAX && !advice->together_fits) {
		if (advice->turns) {
			for (i = 0; i < choices->count; i++)
				choices->trial[i] = (struct advise_trial){ .turn = choices->choice[i].turn };
			error = advise_try(advice, advice->turn, advice->turns, choices->trial, choices->count);
		}
		best = error ? -1 : best_of(choices);
		if (best < 0)
			break;
		choices->choice[best].taken = 1;
		advice->turn[advice->turns] = choices->choice[best].turn;
		mt_copy_text(advice->turn_to[advice->turns], ADVISE_VALUE_MAX, choices->choice[best].to);
		advice->turn[advice->turns].to = advice->turn_to[advice->turns];
		advice->turn[advice->turns].now = choices->choice[best].now.text;
		advice->turns++;
		advice->outcome = choices->trial[best].outcome;
		advice->together_fits = fits(advice, &advice->outcome);
		advice->predicted = 1;
	}
	return error;
}

static int is_refused(const struct advice *advice)
{
	size_t i;

	for (i = 0; i < advice->refusals; i++)
		if (advice->refusal[i].whole)
			return 1;
	return 0;
}

int advise_choose(struct advice *advice)
{
	struct choices choices = { .advice = advice };
	size_t i;
	int error = is_refused(advice) ? 0 : collect(&choices);

	if (!error && choices.count) {
		choices.trial = calloc(choices.count, sizeof(*choices.trial));
		error = choices.trial ? 0 : -MT_E_MEMORY;
	}
	for (i = 0; i < choices.count && !error; i++)
		choices.trial[i].turn = choices.choice[i].turn;
	if (!error && choices.count)
		error = advise_try(advice, NULL, 0, choices.trial, choices.count);
	for (i = 0; i < choices.count && !error; i++)
		if (choices.trial[i].works)
			error = take_row(advice, &choices.choice[i], &choices.trial[i]);
	if (!error && advice->rows)
		qsort(advice->row, advice->rows, sizeof(*advice->row), by_worth);
	if (!error && choices.count && !advice->turns && advice->needed &&
	    (advice->fit || !advice->rows || !advice->row->fits))
		error = combine(&choices);
	free(choices.choice);
	free(choices.trial);
	return error;
}
