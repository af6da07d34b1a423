/* Which settings to try: a new value for each that moves bytes of the peak, tried, and put in order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "advise.h"
#include "advise_choice.h"
#include "advise_turn.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "report/oom/oom_words.h"

#define MOST 3  /* of what is in use: one part in so many is most of it by far */
#define AIM 2.0 /* what is about the very bytes that were too many counts so many times */

struct choices {
	struct advice *advice;
	struct choice *choice;
	struct advise_trial *trial;
	size_t count, room;
};

static uint8_t phase_in_question(const struct advice *advice)
{
	int phase = mt_phase_parse(advice->run.phase, strlen(advice->run.phase));

	return phase < 0 ? MT_PHASE_OTHER : (uint8_t)phase;
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

static int add_idle(struct advice *advice, const struct advise_idle *idle)
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
	advice->idle[advice->idles++] = *idle;
	return 0;
}

/* What is in use shows that a default does not hold here: it is not on, whatever the releases say. */
static int is_doubted(const struct advice *advice, const struct mt_knob *knob)
{
	size_t size = strlen(knob->name.key), i;

	for (i = 0; i < advice->refusals; i++)
		if (advice->refusal[i].reason == ADVISE_REASON_IGNORED &&
		    !strncmp(advice->refusal[i].evidence, knob->name.key, size) &&
		    advice->refusal[i].evidence[size] == ' ')
			return 1;
	return 0;
}

/* Settings that people try for what fills the device here, and that would do nothing: they are told. */
static int note_idle(struct advice *advice, const struct mt_knob *knob, const char *why, int from_default)
{
	uint8_t phase = phase_in_question(advice);
	struct advise_idle idle = { .knob = knob, .from_default = from_default };
	char size[TEXT_SIZE_MAX];

	/* Whole gradients wait for a next micro-batch, whatever is so by default. */
	if (knob->method == MT_KNOB_METHOD_KEPT && advice->run.failed && oom_has_whole_gradients(&advice->run.oom))
		return 0;
	if (!*why || !(knob->phases & 1u << phase) || advise_is_named(advice, knob) || is_doubted(advice, knob))
		return 0;
	idle.bytes = advise_meant(&advice->run, knob);
	if (idle.bytes <= advice->base / 20)
		return 0;
	mt_copy_text(idle.why, sizeof(idle.why), why);
	if (knob->leaves == MT_KNOB_LEAVES_BOUNDARIES && advice->apart.bytes)
		snprintf(idle.why, sizeof(idle.why), "%.200s, but not for what %.100s (%.100s) makes: %s", why,
			 advice->apart.function, advice->apart.place, text_bytes(size, advice->apart.bytes));
	return add_idle(advice, &idle);
}

/* What the recording proves, before what a default says; most bytes first. */
static int by_proof(const void *a, const void *b)
{
	const struct advise_idle *x = a, *y = b;

	if (x->from_default != y->from_default)
		return x->from_default - y->from_default;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return strcmp(x->knob->name.key, y->knob->name.key);
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

/*
 * Where the request is one of a series of which nobody knows the end, room for this one is not enough: what takes most of the
 * series itself away is.
 */
static int ends_series(const struct advice *advice, const struct mt_knob *knob, struct advise_range saved)
{
	const struct replay *replay = &advice->run.replay;
	const struct replay_site *site = &replay->site[replay->request.site];

	return replay->later.from != REPLAY_LATER_SERIES || !advice->run.failed ||
	       (knob->categories & 1u << site->category && saved.low >= site->then / 4 * 3);
}

static int consider_allocator(struct advice *advice, const struct mt_knob *knob, struct advise_value now)
{
	struct advise_row it = { .knob = NULL }, *row;
	int found = advise_allocator_row(advice, knob, now, &it);

	if (found <= 0 || (double)it.saved.high < (double)advice->base / ADVISE_WORTH)
		return found < 0 ? found : 0;
	row = add_row(advice);
	if (!row)
		return -MT_E_MEMORY;
	*row = it;
	/* Room for the request is none for what comes after it. */
	row->fits = row->fits && row->saved.low >= advice->needed && ends_series(advice, knob, row->saved);
	row->cost = knob->cost;
	return advise_as_it_was(advice, &row->outcome);
}

/* What keeps it from counting is another setting's default: why, as what has to be otherwise. */
static void say_condition(char only[ADVISE_WORDS_MAX], const char *why)
{
	static const char begins[] = "has no effect here: ";

	why += strncmp(why, begins, sizeof(begins) - 1) ? 0 : sizeof(begins) - 1;
	snprintf(only, ADVISE_WORDS_MAX, "this was changed: %.*s", ADVISE_WORDS_MAX - 24, why);
}

static int take_any(void *context, struct db_stmt *row MT_UNUSED)
{
	*(int *)context = 1;
	return 0;
}

/* What a compiler made of the model computes again without a frame that says so. An error counts as that. */
static int is_compiled(const struct advice *advice)
{
	static const char sql[] =
		"WITH RECURSIVE up(id) AS (SELECT node FROM site WHERE category = 'activations' AND phase = 'forward' AND node IS NOT "
		"NULL UNION SELECT parent FROM up JOIN stack_node USING (id) WHERE parent IS NOT NULL) SELECT 1 FROM up JOIN stack_node USING (id) "
		"JOIN frame ON frame.id = stack_node.frame WHERE file LIKE '%torch/_functorch/%' OR file LIKE '%torch/_inductor/%' "
		"OR file LIKE '%torchinductor_%' LIMIT 1";
	int seen = 0;

	return answer_rows(advice->run.db, sql, NULL, take_any, &seen) || seen;
}

/*
 * It is on by default, and was turned off, or another release has another default: passes backward were recorded, the activations of
 * passes forward waited for them, and nothing was computed again; or it failed before, with those of many layers that nothing is around.
 */
static int is_shown_off(struct advice *advice, const struct mt_knob *knob)
{
	struct advise_value now = advise_config_value(advice->config, knob, ADVISE_AS_IS);
	const struct replay_site *site;
	uint64_t waiting = 0;
	uint32_t i;

	if (now.origin != ADVISE_DEFAULT || knob->leaves != MT_KNOB_LEAVES_BOUNDARIES || !knob->proofs ||
	    knob->measure != MT_KNOB_UNIT_SWITCH || knob->saves != MT_KNOB_SAVES_ON)
		return 0;
	if (advice->nothing_again)
		return 1;
	for (i = 0; i < advice->run.replay.sites && advice->run.steps > 0; i++) {
		site = &advice->run.replay.site[i];
		if (site->category == MT_CATEGORY_RECOMPUTED)
			return 0;
		if (site->category == MT_CATEGORY_ACTIVATIONS && site->phase == MT_PHASE_FORWARD)
			waiting += site->held[MT_PHASE_BACKWARD];
	}
	return waiting > advice->base / ADVISE_WORTH && !is_compiled(advice);
}

/* A switch, or a word, that saves where it is off: what runs only where it is on was recorded. */
static int is_shown_on(struct advice *advice, const struct mt_knob *knob)
{
	struct advise_value now = advise_config_value(advice->config, knob, ADVISE_AS_IS);
	char why[ADVISE_WORDS_MAX];

	return now.origin <= ADVISE_DEFAULT && (knob->measure == MT_KNOB_UNIT_SWITCH || knob->turned_off) &&
	       knob->saves == MT_KNOB_SAVES_OFF && advise_is_proved(advice, knob, why);
}

/*
 * Whoever runs the framework with defaults of its own may have turned it on already, or what it needs off: nobody can tell, and a row
 * that does something whatever is set goes first.
 */
static void say_unknown(struct advice *advice, struct choice *choice)
{
	const struct mt_knob *knob = choice->turn.knob;
	const struct mt_knob_constraint *constraint;
	char words[ADVISE_WORDS_MAX];
	uint32_t i;

	if (!advice->config->wrapper || advise_is_anybodys(knob))
		return;
	for (i = 0; i < knob->constraints && !*choice->only; i++) {
		constraint = &knob->constraint[i];
		if (constraint->kind == MT_KNOB_CONSTRAINT_NEEDS &&
		    advise_constraint_holds(advice->config, knob, constraint, NULL, ADVISE_AS_IS, &advice->facts,
					    words) == ADVISE_HOLDS_UNKNOWN)
			snprintf(choice->only, sizeof(choice->only), "%.200s allows it", constraint->key);
	}
	if (!*choice->only && choice->now.origin == ADVISE_NOBODY && knob->measure == MT_KNOB_UNIT_SWITCH)
		snprintf(choice->only, sizeof(choice->only), "it is %s now",
			 knob->saves == MT_KNOB_SAVES_ON ? "off" : "on");
}

/*
 * What a forward keeps is copies of weights in another type: no micro-batch makes it less, and to compute in that type is what made
 * them.
 */
static int is_of_copies(const struct advice *advice, const struct mt_knob *knob)
{
	return advice->run.failed && advice->run.oom.again.kind == OOM_AGAIN_NARROW &&
	       knob->categories & CATEGORY(ACTIVATIONS) && !(knob->categories & CATEGORY(WEIGHTS));
}

static int consider(struct choices *choices, const struct mt_knob *knob)
{
	struct advice *advice = choices->advice;
	struct choice choice = { .turn = { .knob = knob } };
	enum advise_standing standing;
	char why[ADVISE_WORDS_MAX] = "";
	const char *to, *shown;
	int backend;

	if (knob->instead || advise_config_through(advice->config, knob) || !advise_is_meant(advice, knob))
		return 0;
	standing = advise_config_standing(advice->config, knob, ADVISE_AS_IS, &advice->facts, why);
	backend = advise_backend(advice, knob);
	if (standing == ADVISE_STANDING_ABSENT || (advice->blind && backend < 0))
		return 0;
	if (knob->saves != MT_KNOB_SAVES_OFF && advise_is_proved(advice, knob, why))
		return note_idle(advice, knob, why, 0);
	if (advice->apart.bytes && knob->leaves == MT_KNOB_LEAVES_BOUNDARIES && knob->measure == MT_KNOB_UNIT_SWITCH)
		return note_idle(advice, knob, "already on", 0);
	if (advice->pieces_kept && knob->method == MT_KNOB_METHOD_LOGITS && knob->withins &&
	    knob->saves != MT_KNOB_SAVES_OFF)
		return note_idle(advice, knob, "its pieces are all kept at once: see above", 0);
	if (is_of_copies(advice, knob))
		return 0;
	if (advise_is_forward_only(advice) && knob->method == MT_KNOB_METHOD_REMOVED &&
	    knob->leaves == MT_KNOB_LEAVES_BOUNDARIES)
		return note_idle(advice, knob, "no backward comes that would compute anything again: see above", 0);
	/* Where nobody has told how the run was configured, a default of another setting keeps none from counting. */
	if (standing == ADVISE_STANDING_NO_EFFECT && advice->blind && backend > 0)
		standing = ADVISE_STANDING_OPEN;
	if (standing == ADVISE_STANDING_NO_EFFECT && advice->blind) {
		say_condition(choice.only, why);
		choice.unread = 1;
	}
	shown = is_shown_on(advice, knob)                                           ? knob->turned_off ? "on" : "true"
		: standing == ADVISE_STANDING_ALREADY && is_shown_off(advice, knob) ? "false"
										    : NULL;
	choice.now = advise_config_value(advice->config, knob, ADVISE_AS_IS);
	if (standing != ADVISE_STANDING_OPEN && !*choice.only && !shown)
		return note_idle(advice, knob, why, advice->blind && choice.now.origin <= ADVISE_DEFAULT);
	if (knob->method == MT_KNOB_METHOD_NONE || knob->saves == MT_KNOB_SAVES_NONE)
		return 0;
	if (shown)
		choice_show(&choice, shown);
	if (knob->method == MT_KNOB_METHOD_ALLOCATOR)
		return consider_allocator(advice, knob, choice.now);
	choice.turn.now = choice.now.text;
	to = choice_propose(advice, &choice);
	if (!to)
		return 0;
	if (to != choice.to)
		mt_copy_text(choice.to, sizeof(choice.to), to);
	if (knob->written == MT_KNOB_WRITTEN_CODE && knob->weighs && !advice->run.model.element)
		snprintf(choice.only, sizeof(choice.only), "%s",
			 knob->categories == CATEGORY(OPTIMIZER_STATE) ? "these are states of an Adam, in float32"
								       : "the forward pass computes in float32 now");
	if (!*choice.only)
		say_unknown(advice, &choice);
	return add_choice(choices, &choice);
}

/* The texts in it, once it stays where it is. */
static void settle(struct choice *choice)
{
	choice->turn.to = choice->to;
	if (!*choice->pretend)
		return;
	choice->turn.now = choice->pretend;
	if (choice->now.origin == ADVISE_SHOWN)
		choice->now.text = choice->pretend;
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
		settle(&choices->choice[i]);
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

/* More GPUs for one model are there, by the recording, or else they have to come first. */
static enum mt_knob_cost cost_of(const struct advice *advice, const struct choice *choice)
{
	const struct mt_knob *knob = choice->turn.knob;
	double to = strtod(choice->to, NULL);

	return knob->measure == MT_KNOB_UNIT_GPUS && knob->saves == MT_KNOB_SAVES_HIGHER &&
			       knob->cost < MT_KNOB_COST_GPUS && to > (double)advice->run.world
		       ? MT_KNOB_COST_GPUS
		       : knob->cost;
}

/* Cheap bytes first: what costs time, or changes results, has to save more. */
static double worth(enum mt_knob_cost cost, struct advise_range saved)
{
	static const double price[MT_KNOB_COSTS] = { 1, 0.8, 0.4, 0.2, 0.15 };

	return price[cost] * ((double)saved.low + (double)saved.high) / 2;
}

/* ---- rows --------------------------------------------------------------------------------------------------------------- */

/* In a process of its own, while another one asks. */
static int reference_waits(const struct advise_run *run)
{
	uint32_t reference = 1u << MT_KNOB_PROCESS_REFERENCE;

	return run->elsewhere & reference && run->failed &&
	       !(advise_roles_of(run, &run->replay.site[run->replay.request.site]) & reference);
}

/*
 * It reaches what is too much, of who has it: an engine's setting is about nothing of a trainer's, whatever kind that is. Rows that
 * divide everything are about nothing.
 */
static int is_aimed(const struct advice *advice, const struct mt_knob *knob, const struct advise_reach *reach)
{
	uint8_t phase = phase_in_question(advice);
	/* A loss may lie between the passes, in neither. */
	uint32_t phases = knob->phases | (knob->phases & 1u << MT_PHASE_FORWARD ? 1u << MT_PHASE_OTHER : 0);

	if (turn_is_of_reference(knob) && (advise_untrained(&advice->run) > 0 || reference_waits(&advice->run)))
		return 1; /* nobody needs it there */
	return reach->wanted && knob->categories & 1u << advice->run.question.category &&
	       (phases & 1u << phase || knob->method == MT_KNOB_METHOD_SHARE) &&
	       !(knob->categories & 1u << MT_CATEGORY_WEIGHTS && knob->categories & 1u << MT_CATEGORY_ACTIVATIONS);
}

/* It is about nothing but what there is most of by far, and changes no results. */
static int is_of_most(const struct advice *advice, const struct mt_knob *knob, const struct advise_reach *reach)
{
	uint8_t i, most = 0;

	for (i = 1; i < MT_CATEGORY_COUNT; i++)
		if (advise_held_then(&advice->run, 1u << i) > advise_held_then(&advice->run, 1u << most))
			most = i;
	return knob->categories == 1u << most && knob->cost <= MT_KNOB_COST_MUCH_TIME &&
	       reach->bytes[most] > advice->base / MOST;
}

static void say_by(const struct advice *advice, char by[ADVISE_BY_MAX], const struct choice *choice)
{
	if (choice->by > 0)
		snprintf(by, ADVISE_BY_MAX, "%s%.2f", advise_is_starting(advice) ? "at least " : "", choice->by);
	else
		*by = '\0';
}

/* What a setting says of itself that does something, but nothing then. */
static const char *nothing_words(const struct advice *advice, const struct mt_knob *knob)
{
	const struct replay *replay = &advice->run.replay;
	uint64_t brought = 0;
	uint32_t i;

	if (knob->while_ == MT_KNOB_WHILE_ITSELF)
		return "counts only while the process that has these bytes is in that phase itself";
	for (i = 0; i < replay->sites && advise_waits_on_host(knob); i++)
		brought += knob->categories & 1u << replay->site[i].category ? replay->site[i].brought : 0;
	return (double)brought < (double)advice->base / ADVISE_WORTH
		       ? "moves next to nothing of what was there"
		       : "these bytes were brought to the GPU for this very phase, which needs them";
}

static int take_row(struct advice *advice, const struct choice *choice, const struct advise_trial *trial)
{
	struct advise_range saved = saved_of(advice, &trial->outcome);
	const struct advise_reach *reach = &trial->reach;
	struct advise_row *row;

	/* What is loose in the figures saves no more than is there. */
	if (saved.high > reach->all && saved.low <= reach->all)
		saved.high = reach->all;
	if ((double)saved.high < (double)advice->base / ADVISE_WORTH)
		return note_idle(advice, choice->turn.knob, nothing_words(advice, choice->turn.knob), 0);
	if (advise_is_beside(choice->turn.knob, reach))
		return 0;
	row = add_row(advice);
	if (!row)
		return -MT_E_MEMORY;
	row->knob = choice->turn.knob;
	mt_copy_text(row->now, sizeof(row->now), choice->now.text ? choice->now.text : "");
	row->now_from = choice->now.where;
	choice_now_words(choice, advice->blind, row->now_words);
	mt_copy_text(row->to, sizeof(row->to), choice->to);
	say_by(advice, row->by, choice);
	row->saved = saved;
	row->outcome = trial->outcome;
	row->fits = fits(advice, &trial->outcome) && ends_series(advice, row->knob, saved);
	row->halves = choice->halves;
	row->asks = choice->asks;
	row->unread = choice->unread;
	row->cost = cost_of(advice, choice);
	row->aims_if = is_aimed(advice, row->knob, reach);
	row->aims = row->aims_if && !*choice->only;
	row->of_most = is_of_most(advice, row->knob, reach) && row->cost <= MT_KNOB_COST_MUCH_TIME && !*choice->only;
	row->of_request = reach->request && advice->run.replay.request.bytes > advice->base / 2;
	row->sample = advise_is_outlier(advice) && row->knob->method == MT_KNOB_METHOD_TOKENS &&
		      row->knob->of != MT_KNOB_OF_MICRO_BATCH && row->knob->of != MT_KNOB_OF_PADDING;
	mt_copy_text(row->only, sizeof(row->only), choice->only);
	advise_take_evidence(advice, row, reach);
	return 0;
}

/* 1: the row is about what failed, and not about everything. */
static int aims(const struct advise_row *row)
{
	return row->aims;
}

static int changes_results(const struct advise_row *row)
{
	return row->cost == MT_KNOB_COST_RESULTS;
}

static int is_share(const struct advise_row *row)
{
	return row->knob->method == MT_KNOB_METHOD_SHARE;
}

static int needs_gpus(const struct advise_row *row)
{
	return row->cost == MT_KNOB_COST_GPUS;
}

static int by_worth(const void *a, const void *b)
{
	const struct advise_row *x = a, *y = b;
	double one = worth(x->cost, x->saved) * (aims(x) ? AIM : 1),
	       other = worth(y->cost, y->saved) * (aims(y) ? AIM : 1);

	if (!*x->only != !*y->only) /* what may not count comes last */
		return *x->only ? 1 : -1;
	if (x->fits != y->fits)
		return y->fits - x->fits;
	if (x->fits && x->sample && y->sample) /* the one that cuts least */
		return strtod(x->to, NULL) > strtod(y->to, NULL) ? -1 : 1;
	if (x->fits && needs_gpus(x) != needs_gpus(y)) /* nor GPUs that nobody has seen */
		return needs_gpus(x) - needs_gpus(y);
	if (x->fits && changes_results(x) != changes_results(y)) /* not while something else is enough */
		return changes_results(x) - changes_results(y);
	if (x->fits && aims(x) != aims(y)) /* what failed is what has to be less */
		return aims(y) - aims(x);
	if (x->fits && !aims(x) && x->of_most != y->of_most) /* then what has most, whatever asked */
		return y->of_most - x->of_most;
	if (x->fits && x->cost != y->cost) /* enough is enough: the cheapest first */
		return x->cost < y->cost ? -1 : 1;
	if (x->fits && x->of_request != y->of_request) /* one request that is more than all else: it has to be less */
		return y->of_request - x->of_request;
	if (x->fits && x->halves != y->halves) /* it may be 1 already */
		return x->halves - y->halves;
	if (x->fits && is_share(x) != is_share(y)) /* of as much as is missing: other rows take all that they can */
		return is_share(y) - is_share(x);
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
		value = worth(cost_of(advice, &choices->choice[i]), saved);
		if ((double)saved.low < (double)advice->base / ADVISE_WORTH || it_fits < best_fits)
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
		mt_copy_text(advice->turn_now[advice->turns], ADVISE_VALUE_MAX,
			     choices->choice[best].turn.now ? choices->choice[best].turn.now : "");
		advice->turn[advice->turns].now = choices->choice[best].turn.now ? advice->turn_now[advice->turns]
										 : NULL;
		advice->turn_halves[advice->turns] = (uint8_t)choices->choice[best].halves;
		say_by(advice, advice->turn_by[advice->turns], &choices->choice[best]);
		advice->turns++;
		advice->outcome = choices->trial[best].outcome;
		advice->together_fits = fits(advice, &advice->outcome);
		advice->predicted = 1;
	}
	return error;
}

/* Another row takes it with it, and what it saves is the same bytes. */
static int is_companion(const struct advice *advice, const struct advise_row *row)
{
	const struct advise_row *other;
	size_t i;

	for (i = 0; i < advice->rows; i++) {
		other = &advice->row[i];
		if (other != row && other->knob && other->saved.low == row->saved.low &&
		    other->saved.high == row->saved.high &&
		    advise_takes(advice->config, (struct advise_change){ other->knob, other->to }, row->knob))
			return 1;
	}
	return 0;
}

static void drop_companions(struct advice *advice)
{
	size_t kept = 0, i;

	for (i = 0; i < advice->rows; i++)
		if (is_companion(advice, &advice->row[i]))
			advice->row[i].knob = NULL;
	for (i = 0; i < advice->rows; i++)
		if (advice->row[i].knob)
			advice->row[kept++] = advice->row[i];
	advice->rows = kept;
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
		else if (choices.trial[i].silence == ADVISE_SILENT_FILLED)
			error = note_idle(advice, choices.choice[i].turn.knob,
					  advise_silence_words(ADVISE_SILENT_FILLED), 0);
	drop_companions(advice);
	if (!error && advice->rows)
		qsort(advice->row, advice->rows, sizeof(*advice->row), by_worth);
	if (!error && advice->idles)
		qsort(advice->idle, advice->idles, sizeof(*advice->idle), by_proof);
	if (!error && choices.count && !advice->turns && advice->needed &&
	    (advice->fit || !advice->rows || !advice->row->fits))
		error = combine(&choices);
	free(choices.choice);
	free(choices.trial);
	return error;
}
