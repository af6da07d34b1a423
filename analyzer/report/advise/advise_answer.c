/* The first sentences of memana advise: what to change, how much that saves, whether it is enough, how sure; and what happened. */
#include <ctype.h>
#include <string.h>
#include "advise.h"
#include "advise_choice.h"
#include "memtrace/base.h"
#include "report/oom/oom_words.h"
#include "report/peak_points.h"
#include "report/peak_verdict.h"
#include "report/top_host.h"

#define ALL_SHARES 0.95 /* of the engines of a GPU together: the rest is contexts and what no share counts */

const char *advise_range_words(char out[ADVISE_RANGE_MAX], struct advise_range range)
{
	char low[TEXT_SIZE_MAX], high[TEXT_SIZE_MAX], *unit, *same;

	text_bytes(low, range.low);
	text_bytes(high, range.high);
	if (!strcmp(low, high)) {
		snprintf(out, ADVISE_RANGE_MAX, "%s", high);
		return out;
	}
	unit = strchr(low, ' ');
	same = strchr(high, ' ');
	if (unit && same && !strcmp(unit, same))
		*unit = '\0';
	snprintf(out, ADVISE_RANGE_MAX, "%.20s to %.20s", range.low ? low : "0", high);
	return out;
}

static int is_in_a_word(int letter)
{
	return isalnum(letter) || letter == '_';
}

/* By its own name, without what it is in. */
int advise_is_named(const struct advice *advice, const struct mt_knob *knob)
{
	char name[128];
	const char *begin = knob->name.key, *at, *words;
	size_t size, i;

	for (at = begin; *at && at[1]; at++)
		begin = *at == '.' || *at == '(' || (*at == '-' && at == begin) ? at + 1 : begin;
	size = strcspn(begin, ")");
	snprintf(name, sizeof(name), "%.*s", (int)(size < sizeof(name) ? size : sizeof(name) - 1), begin);
	size = strlen(name);
	for (i = 0; i < advice->refusals && size; i++)
		for (words = advice->refusal[i].instead; (at = strstr(words, name)) != NULL; words = at + size)
			if ((at == advice->refusal[i].instead || !is_in_a_word((unsigned char)at[-1])) &&
			    !is_in_a_word((unsigned char)at[size]))
				return 1;
	return 0;
}

/* ---- enough? ---------------------------------------------------------------------------------------------------------- */

/* "enough for this request": nobody knows what comes after it. */
static int is_for_request(const struct advice *advice)
{
	return advice->run.failed && advice->run.replay.later.from == REPLAY_LATER_UNKNOWN;
}

const char *advise_enough_words(const struct advice *advice, const struct advise_row *row)
{
	if (!advice->needed)
		return "";
	if (row->fits && is_for_request(advice))
		return row->probable ? "probably enough for this request" : "enough for this request";
	if (row->fits && advise_is_starting(advice))
		return row->probable ? "probably enough so far" : "enough so far";
	if (row->fits)
		return row->probable ? "probably enough" : "enough";
	return row->saved.high >= advice->needed ? "perhaps enough" : "not enough alone";
}

/* What the request lacked, of what the device had free; 0: nobody knows. */
static uint64_t missing_of_request(const struct advise_run *run)
{
	const struct oom_failure *it = run->oom.it;

	return run->failed && it->free >= 0 && (uint64_t)it->free < it->requested ? it->requested - (uint64_t)it->free
										  : 0;
}

/* ---- what to change ----------------------------------------------------------------------------------------------------- */

const char *advise_relative_words(const struct mt_knob *knob)
{
	return knob->saves == MT_KNOB_SAVES_HIGHER ? "twice what it is now" : "half of what it is now";
}

const char *advise_change_words(const struct advise_row *row, char out[ADVISE_EVIDENCE_MAX])
{
	if (row->halves && *row->now && !advise_is_null(row->now))
		snprintf(out, ADVISE_EVIDENCE_MAX, "= %s (%s)", advise_relative_words(row->knob), row->now_words);
	else if (row->halves)
		snprintf(out, ADVISE_EVIDENCE_MAX, "= %s", advise_relative_words(row->knob));
	else
		snprintf(out, ADVISE_EVIDENCE_MAX, "= %s, now %s", row->to, row->now_words);
	return out;
}

int advise_is_by_micro_batch(const struct mt_knob *knob)
{
	return knob->method == MT_KNOB_METHOD_TOKENS && knob->of == MT_KNOB_OF_MICRO_BATCH &&
	       (knob->measure == MT_KNOB_UNIT_TOKENS || knob->measure == MT_KNOB_UNIT_SAMPLES);
}

int advise_splits(const struct mt_knob *knob)
{
	return knob->method == MT_KNOB_METHOD_TOKENS && knob->measure == MT_KNOB_UNIT_PARTS;
}

double advise_share_of_each(const struct advice *advice)
{
	return advice->run.engine.engines > 1 && advice->run.failed && !advice->run.oom.asleep
		       ? ALL_SHARES / advice->run.engine.engines
		       : 0;
}

const char *advise_whose_share(const struct advice *advice, const struct mt_knob *knob, char out[ADVISE_WHOSE_MAX])
{
	*out = '\0';
	if (knob->method == MT_KNOB_METHOD_SHARE && advice->run.engine.engines > 1)
		snprintf(out, ADVISE_WHOSE_MAX, " of the engine of pid %lld", (long long)advice->run.engine.pid);
	return out;
}

const char *advise_foreign_words(const struct advice *advice, const struct mt_knob *knob, char out[ADVISE_WHOSE_MAX])
{
	const struct advise_part *part = advise_config_part(advice->config, knob), *first = &advice->config->part[0];
	int in_code = knob->written == MT_KNOB_WRITTEN_ARGUMENT || knob->written == MT_KNOB_WRITTEN_CODE;
	uint32_t i;

	*out = '\0';
	if (!part || part == first || knob->written == MT_KNOB_WRITTEN_ENVIRONMENT ||
	    (in_code && first->file->written == MT_KNOB_WRITTEN_ARGUMENT))
		return out;
	for (i = 0; i < first->file->hands; i++)
		if (!strcmp(first->file->hand[i].framework, part->file->framework))
			return out;
	snprintf(out, ADVISE_WHOSE_MAX, in_code ? " (of %.32s, in the code)" : " of %.32s", part->file->framework);
	return out;
}

/* The switch that one of them needs, and that the other is not read with; `on` tells which. NULL: there is none. */
static const char *switch_between(const struct mt_knob *one, const struct mt_knob *other, int *on)
{
	const struct mt_knob_constraint *first, *second;
	uint32_t i, k;

	for (i = 0; i < one->constraints; i++)
		for (k = 0; k < other->constraints; k++) {
			first = &one->constraint[i];
			second = &other->constraint[k];
			*on = second->kind == MT_KNOB_CONSTRAINT_NEEDS;
			if ((*on ? first->kind == MT_KNOB_CONSTRAINT_EXCLUDES
				 : first->kind == MT_KNOB_CONSTRAINT_NEEDS &&
					     second->kind == MT_KNOB_CONSTRAINT_EXCLUDES) &&
			    !strcmp(first->key, second->key))
				return first->key;
		}
	return NULL;
}

/* 2: it is; 1: by a default; 0: it is not. */
static int value_is_known(const struct advise_row *row)
{
	return !row->halves ? 2 : *row->now && !advise_is_null(row->now);
}

const struct advise_row *advise_alternative(const struct advice *advice, const struct advise_row *row, const char **key,
					    int *on)
{
	const struct advise_row *other, *found = NULL;
	const char *between;
	size_t i;
	int is_on;

	for (i = 0; i < advice->rows && advise_is_by_micro_batch(row->knob); i++) {
		other = &advice->row[i];
		if (!*other->only == !*row->only || !advise_is_by_micro_batch(other->knob) ||
		    other->knob->measure == row->knob->measure || !(other->knob->phases & row->knob->phases) ||
		    !(other->knob->processes & row->knob->processes))
			continue;
		between = switch_between(row->knob, other->knob, &is_on);
		if (!between || (found && value_is_known(found) >=
						  value_is_known(other))) /* one of a known value, if there is one */
			continue;
		found = other;
		*key = between;
		*on = is_on;
	}
	return found;
}

/* "x = 2, now 4 (default): it saves 2.0 to 3.0 GiB. 1.5 GiB of the 80.0 GiB needed is missing, so that is enough." */
static void say_row(struct sentence *answer, const struct advice *advice, const struct advise_row *row)
{
	const char *enough = advise_enough_words(advice, row);
	char range[ADVISE_RANGE_MAX], size[TEXT_SIZE_MAX], all[TEXT_SIZE_MAX], change[ADVISE_EVIDENCE_MAX];
	char whose[ADVISE_WHOSE_MAX], foreign[ADVISE_WHOSE_MAX], with[ADVISE_WORDS_MAX];
	const struct advise_row *other;
	const char *key;
	int on;

	if (row->knob->written == MT_KNOB_WRITTEN_CODE)
		sentence_say(answer, "%s", row->knob->what);
	else if (*row->by && row->knob->method == MT_KNOB_METHOD_SHARE && advise_share_of_each(advice) > 0)
		sentence_say(answer,
			     "%s%s of each of the %u engines on this GPU at most %.2f, where they are alike (that of pid %lld lower by %s in "
			     "any case), now %s",
			     row->knob->name.key, advise_foreign_words(advice, row->knob, foreign),
			     advice->run.engine.engines, advise_share_of_each(advice),
			     (long long)advice->run.engine.pid, row->by, row->now_words);
	else if (*row->by)
		sentence_say(answer, "%s%s%s lower by %s, to %s or less, now %s", row->knob->name.key,
			     advise_foreign_words(advice, row->knob, foreign),
			     advise_whose_share(advice, row->knob, whose), row->by, row->to, row->now_words);
	else
		sentence_say(answer, "%s%s %s%s", row->knob->name.key, advise_foreign_words(advice, row->knob, foreign),
			     advise_change_words(row, change),
			     advise_taken_with(advice->config, (struct advise_change){ row->knob, row->to }, with));
	other = *row->only ? NULL : advise_alternative(advice, row, &key, &on);
	if (other)
		sentence_say(answer, " (where %s is %s: %s %s)", key, on ? "on" : "off", other->knob->name.key,
			     advise_change_words(other, change));
	if (!*row->only && advise_may_end_run(advice, row->knob))
		sentence_say(answer, ", if no sample is longer than that (one that is ends the run with an error)");
	sentence_say(answer, ": it saves %s%s%s.", row->probable ? "probably " : "",
		     advise_range_words(range, row->saved), advice->run.failed ? "" : " of the peak");
	if (*enough)
		sentence_say(answer, " %s%s of the %s needed %s, so that is %s.",
			     advice->run.replay.later.from == REPLAY_LATER_SERIES ? "At least " : "",
			     text_bytes(size, advice->needed), text_bytes(all, advice->base),
			     advice->fit ? "must go" : "is missing", enough);
}

static void say_rest_of_start(struct sentence *answer, const struct advice *advice)
{
	if (advise_is_starting(advice))
		sentence_say(answer, " The work that begins after the start is not counted: leave room for it.");
}

void advise_say_later(struct sentence *answer, const struct advice *advice)
{
	const struct replay *replay = &advice->run.replay;
	char size[TEXT_SIZE_MAX];

	if (!advice->needed || !advice->run.failed)
		return;
	switch (replay->later.from) {
	case REPLAY_LATER_STEPS:
		if (replay->later.bytes)
			sentence_say(answer,
				     " That counts %s more, which the step takes after it, as earlier ones did.",
				     text_bytes(size, replay->later.bytes));
		return;
	case REPLAY_LATER_ROUND:
	case REPLAY_LATER_LAYERS:
		sentence_say(answer, " That counts %s %u more like it that come%s next%s: %u of %u were there.",
			     replay->later.least ? "at least" : "the", replay->later.count,
			     replay->later.count == 1 ? "s" : "",
			     replay->later.from == REPLAY_LATER_ROUND ? ", as in an earlier round" : "",
			     replay->later.of - replay->later.count - 1, replay->later.of);
		say_rest_of_start(answer, advice);
		return;
	case REPLAY_LATER_SERIES:
		sentence_say(answer,
			     " It is one of a series, and %u were there: how many more come is not in the recording, and they "
			     "are not counted.",
			     replay->later.of);
		say_rest_of_start(answer, advice);
		return;
	case REPLAY_LATER_NOTHING:
		sentence_say(answer, " Earlier steps took nothing more after it.");
		return;
	case REPLAY_LATER_UNKNOWN:
		if (advise_is_starting(advice))
			sentence_say(answer,
				     " What comes after this request is not counted: the rest of the start, and then "
				     "the work itself.");
		else
			sentence_say(answer, " What comes after this request is not counted.");
	}
}

const struct advise_row *advise_conditional(const struct advice *advice)
{
	const struct advise_row *first = advice->row;
	size_t i;

	for (i = 1; i < advice->rows && !*first->only; i++)
		if (advice->row[i].asks && advice->row[i].fits >= first->fits && advice->row[i].aims_if &&
		    (!first->fits || first->knob->cost == MT_KNOB_COST_RESULTS ||
		     advice->row[i].knob->cost != MT_KNOB_COST_RESULTS) &&
		    advice->row[i].saved.low > first->saved.low)
			return &advice->row[i];
	return NULL;
}

/* "Try", "Or try", "If the model is float32 now, try": begins is "" or what the sentence begins with. */
static void say_try(struct sentence *answer, const char *begins, const char *only)
{
	if (*begins)
		sentence_say(answer,
			     *only                   ? "%s, if %s, try "
			     : !strstr(begins, "Or") ? "%s, try "
						     : "%s try ",
			     begins, only);
	else if (*only)
		sentence_say(answer, "If %s, try ", only);
	else
		sentence_say(answer, "Try ");
}

static void say_rows(struct advice *advice, const char *begins)
{
	const struct advise_row *other = advise_conditional(advice), *first = advice->row;
	struct sentence *answer = &advice->answer;

	if (other) {
		say_try(answer, begins, other->only);
		say_row(answer, advice, other);
		sentence_say(answer, " Else try ");
	} else {
		say_try(answer, begins, first->only);
	}
	say_row(answer, advice, first);
	if (advice->config->wrapper && !advise_is_anybodys(first->knob))
		sentence_say(answer, " That is the key of %s: in %s, which runs it here, it may have another name.",
			     advise_config_part(advice->config, first->knob)->file->framework, advice->config->wrapper);
	if (first->fits || advice->run.replay.later.from == REPLAY_LATER_SERIES)
		advise_say_later(answer, advice);
	if (!first->fits && advice->turns > 1 && !advice->asked && advice->together_fits)
		sentence_say(answer, " With the others of \"What fits\" it is.");
}

/* The remedy is about logits from before a backward that is over. */
static int is_about_stale(const struct oom *oom)
{
	const char *remedy = oom->stale ? oom_special_remedy(oom) : NULL;

	return remedy && strstr(remedy, "whose backward is over");
}

/* What would come back, where the remedy is about bytes that nobody needs then; 0: it is about something else. */
static uint64_t given_back(const struct advice *advice)
{
	const struct oom *oom = &advice->run.oom;
	enum advise_reason reason = advice->refusal[0].reason;

	if (!advice->run.failed || !advice->refusal[0].told)
		return 0;
	if (oom->rule == OOM_RETAINED)
		return oom->growth.graphs
			       ? oom_bytes_of(oom, oom->it->process, mt_category_name(MT_CATEGORY_GRAPHS), -1)
			       : oom->growth.bytes;
	if (oom->clone.bytes || (oom->loading && oom->loader == OOM_LOADER_GATHERED)) /* less the parts, which stay */
		return 0;
	if (oom->spare && oom->place)
		return oom->place->whole;
	if (oom->idle_model.bytes)
		return oom->idle_model.bytes;
	if (oom->should_sleep)
		return oom->slept.leaves ? oom->slept.leaves : oom->slept.bytes;
	if (oom->before.is_why)
		return oom->before.bytes;
	if (advise_copy_leads(advice))
		return oom->copy.bytes;
	if (is_about_stale(oom))
		return oom->stale;
	if (oom_goes_for_nothing(oom))
		return oom->place->bytes;
	return reason == ADVISE_REASON_NEIGHBOUR || reason == ADVISE_REASON_IDLE_CACHE || oom->left_over ||
			       oom->own_engine
		       ? oom->rule_bytes
		       : 0;
}

/* What can be given back, where that is known, of what is missing: for the request, and for what comes after it. */
static void say_given_back(struct advice *advice)
{
	int series = advice->run.replay.later.from == REPLAY_LATER_SERIES;
	int round = advice->run.replay.later.from == REPLAY_LATER_ROUND;
	uint64_t missing = missing_of_request(&advice->run), bytes = given_back(advice);
	char back[TEXT_SIZE_MAX], size[TEXT_SIZE_MAX];

	if (!bytes || (bytes < missing && !is_about_stale(&advice->run.oom)))
		return;
	sentence_say(&advice->answer, " Up to %s can come back so", text_bytes(back, bytes));
	if (missing && advice->needed > missing && advice->run.replay.later.bytes)
		sentence_say(&advice->answer, ", and %s%s is missing with what comes after the request%s",
			     series ? "at least " : "", text_bytes(size, advice->needed),
			     bytes >= advice->needed ? ": enough" : ": not enough alone");
	else if (missing)
		sentence_say(&advice->answer, ", and %s%s is missing: %s", series ? "at least " : "",
			     text_bytes(size, missing), bytes >= missing ? "enough" : "not enough alone");
	sentence_say(&advice->answer, "%s.",
		     missing && bytes >= missing && is_for_request(advice) ? " for this request" : "");
	if ((series || round || (missing && is_for_request(advice))) &&
	    !advise_settings_too(advice)) /* with rows it is said there */
		advise_say_later(&advice->answer, advice);
}

/* Weights of a process that does not compute meanwhile. 1: it was said. */
static int say_beside(struct advice *advice)
{
	const struct oom *oom = &advice->run.oom;
	char size[TEXT_SIZE_MAX];

	if (!advice->run.failed || oom->rule != OOM_LARGEST || !oom->beside.bytes || oom_is_others(oom))
		return 0;
	sentence_say(&advice->answer,
		     "Let pid %lld take its weights, %s, to the host while this one trains, or give it a GPU of its own.",
		     (long long)oom->beside.pid, text_bytes(size, oom->beside.bytes));
	return 1;
}

/* That is enough, and what a setting does to the work itself costs more. */
static int is_beside_first(const struct advice *advice)
{
	return advice->run.failed && advice->needed && advice->run.oom.beside.bytes >= advice->needed &&
	       advice->row->knob->cost >= MT_KNOB_COST_MUCH_TIME;
}

/* No row: what can be said without a setting's name, and who does it. */
static void say_remedy(struct advice *advice)
{
	const struct advise_run *run = &advice->run;
	const char *framework = advice->config->parts ? advice->config->part[0].file->framework : "no framework";
	const char *remedy = oom_remedy(run->failed ? run->oom.rule_category : advise_largest_category(run));
	char size[TEXT_SIZE_MAX];

	if (run->failed && oom_others_remedy(&run->oom))
		remedy = oom_others_remedy(&run->oom);
	if (say_beside(advice))
		return;
	if (run->failed && run->oom.rule == OOM_TOO_LARGE)
		sentence_say(&advice->answer,
			     "Make this one request of %s smaller: fewer or shorter samples at a time, or what it is for in pieces.%s",
			     text_bytes(size, run->oom.it->requested), advice->rows ? "" : " ");
	else if (remedy)
		sentence_say(&advice->answer, "%s%s. ", (char[2]){ (char)(remedy[0] - 'a' + 'A'), '\0' }, remedy + 1);
	if (advice->rows) /* a part of it they do */
		return;
	sentence_say(&advice->answer, "None of the settings of %s that are known here does that", framework);
	if (*advice->doer.function && advice->doer.function[0] != '<')
		sentence_say(&advice->answer,
			     ": %s (%s) makes it so, see whether it, or another version of it, can do it piece by piece",
			     advice->doer.function, advice->doer.place);
	sentence_say(&advice->answer,
		     strcmp(framework, "pytorch") ? "." : "; if this is another framework's run, say --framework.");
}

/* With everybody's memory, where somebody counted it. */
static uint64_t fullest(const struct advise_run *run)
{
	return run->used > run->peak ? run->used : run->peak;
}

int advise_is_healthy(const struct advice *advice)
{
	const struct advise_run *run = &advice->run;

	return !run->failed && !advice->fit && !advice->refusals && run->total && run->peak < run->total / 10 * 9 &&
	       fullest(run) < run->total / 20 * 19;
}

/* What nobody needs is enough, and to let go of it costs nothing. */
static int is_enough_already(const struct advice *advice)
{
	const struct oom *oom = &advice->run.oom;
	uint64_t missing = missing_of_request(&advice->run);

	missing = advice->needed > missing ? advice->needed : missing;
	return advice->run.failed && advice->refusal[0].told && oom->left_over && !oom->clone.bytes && missing &&
	       oom->rule_bytes >= missing;
}

/* A setting that costs nothing, and is enough alone. */
static int is_free_and_enough(const struct advice *advice)
{
	const struct advise_row *first = advice->row;

	return advice->rows && first->fits && !first->probable && !*first->only && first->cost == MT_KNOB_COST_FREE;
}

/* What was said first is not enough alone. */
static int is_too_little(const struct advice *advice)
{
	uint64_t back = given_back(advice);

	if (!advice->run.failed || !advice->refusal[0].told || !advice->needed)
		return 0;
	return back ? back < advice->needed
		    : advice->run.oom.rule == OOM_FRAGMENTATION && !advise_pieces_are_enough(advice);
}

int advise_settings_too(const struct advice *advice)
{
	enum mt_knob_cost cost = advice->rows ? advice->row->knob->cost : MT_KNOB_COST_FREE;

	/* A row aims at what is in use, and what is idle is not. */
	if (advice->refusals && advice->refusal[0].reason == ADVISE_REASON_FRAGMENTATION &&
	    is_free_and_enough(advice) && !advise_pieces_are_enough(advice))
		return 1;
	if (!advice->refusals || !advice->rows || !advice->row->aims)
		return 0;
	/* Fewer samples are no news where something better was said. */
	if (advice->row->halves && advice->row->knob->written == MT_KNOB_WRITTEN_CODE)
		return 0;
	if (advise_is_named(advice, advice->row->knob))
		return 1;
	switch (advice->refusal[0].reason) {
	case ADVISE_REASON_LEFT:
		return cost == MT_KNOB_COST_FREE || !is_enough_already(advice);
	case ADVISE_REASON_OUTLIER:
	case ADVISE_REASON_UNEVEN:
		return 1;
	case ADVISE_REASON_NEIGHBOUR: /* with a setting that says the same, and no word against it */
		if (advice->run.oom.rule != OOM_LARGEST ||
		    (advice->row->knob->not_so && !advice->run.oom.should_sleep) ||
		    advice->run.oom.slept.leaves) /* a matter of time, and of no size */
			return 0;
		/* fall through */
	case ADVISE_REASON_IGNORED:
		return advice->row->fits && !*advice->row->only && cost <= MT_KNOB_COST_SOME_TIME;
	default:
		return 0;
	}
}

/* What by the defaults has no effect, and not what has one if only the recording told what is set. */
int advise_is_idle_by_default(const struct advise_row *row)
{
	return *row->only && *row->now && !row->asks;
}

const struct advise_row *advise_pointed_at(const struct advice *advice)
{
	size_t i;

	for (i = 0; i < advice->rows && advice->points; i++)
		if (advice->row[i].knob->processes == 1u << MT_KNOB_PROCESS_ENGINE &&
		    !advise_is_idle_by_default(&advice->row[i]) && advice->row[i].category == advice->asleep)
			return &advice->row[i];
	return NULL;
}

static void say_healthy(struct advice *advice)
{
	const struct advise_run *run = &advice->run;
	char size[TEXT_SIZE_MAX], share[TEXT_SIZE_MAX];

	sentence_say(&advice->answer, "%s: nothing failed, and %s was never %s, so the highest is %s of the device.%s",
		     advice->points ? "It runs as it is" : "Nothing has to change",
		     text_bytes(size, run->total - fullest(run)), run->used > run->peak ? "in use by anybody" : "held",
		     text_percent(share, fullest(run), run->total),
		     !advice->points             ? ""
		     : advise_pointed_at(advice) ? " What is out of the ordinary, and could be less, is below."
						 : " What is out of the ordinary is said next.");
}

/* What to do. What goes before any setting goes before it here, too. */
static void say_answer(struct advice *advice)
{
	struct sentence *answer = &advice->answer;
	int named = 0;
	size_t i;

	for (i = 0; i < advice->refusals; i++)
		if (advice->refusal[i].whole) {
			sentence_say(answer, "%s: %s.",
				     advice->refusal[i].reason == ADVISE_REASON_HOST
					     ? "The host is short of memory, not the GPU"
				     : advice->refusal[i].reason == ADVISE_REASON_IDLE_CACHE ? "No setting is needed"
											     : "No setting fixes this",
				     advice->refusal[i].instead);
			if (!i)
				say_given_back(advice);
			return;
		}
	if (advice->refusals && is_free_and_enough(advice) && is_too_little(advice)) {
		say_rows(advice, "");
		sentence_say(answer, " What helps beside that, and is not enough alone: %s.",
			     advice->refusal[0].instead);
		return;
	}
	if (advice->refusals) {
		named = advise_settings_too(advice) && advise_is_named(advice, advice->row->knob);
		if (named)
			sentence_say(answer, "%c%s.", toupper((unsigned char)advice->refusal[0].instead[0]),
				     advice->refusal[0].instead + 1);
		else
			sentence_say(answer, "Before any setting: %s.", advice->refusal[0].instead);
		say_given_back(advice);
		if (advise_settings_too(advice))
			sentence_say(answer, " ");
	}
	if (advice->refusals && !advise_settings_too(advice))
		return;
	if (advice->refusals)
		say_rows(advice, named ? "" : "Or");
	else if (advise_is_healthy(advice))
		say_healthy(advice);
	else if (!advice->rows || (advice->run.failed && advice->run.oom.rule == OOM_TOO_LARGE && !advice->row->fits))
		say_remedy(advice);
	else if (is_beside_first(advice) && say_beside(advice))
		say_rows(advice, " Or");
	else
		say_rows(advice, advice->run.failed || advice->fit ? "" : "To make the peak lower");
}

/* ---- what happened ------------------------------------------------------------------------------------------------------ */

static void say_peak(struct advice *advice)
{
	const struct advise_run *run = &advice->run;
	struct sentence *verdict = &advice->verdict;
	char size[TEXT_SIZE_MAX], total[TEXT_SIZE_MAX], device[TEXT_SIZE_MAX];
	const char *category = advise_largest_category(run);

	sentence_say(verdict, "Peak %s held", text_bytes(size, run->peak));
	if (run->total)
		sentence_say(verdict, " of %s", text_bytes(total, run->total));
	sentence_say(verdict, " on %s, ", answer_device(device, run->number, run->kind));
	peak_say_phase(verdict, run->phase, 0, 0);
	sentence_say(verdict, ".");
	if (*category)
		sentence_say(verdict, " The largest part of it is %s, %s.",
			     mt_category_parse(category) == MT_CATEGORY_OTHER ? "of no known purpose" : category,
			     text_bytes(size, advise_held_then(run, 1u << mt_category_parse(category))));
}

/* What the host ended begins with the host: how high the GPU was has nothing to do with it. */
static int say_verdict(struct advice *advice)
{
	int points = 0, error = 0;

	if (advice->run.failed) {
		oom_say_briefly(&advice->verdict, &advice->run.oom);
		if (advice->verdict.size && advice->verdict.text[advice->verdict.size - 1] != '.')
			sentence_say(&advice->verdict, ".");
		return 0;
	}
	error = top_host_say(&advice->verdict, advice->run.db);
	if (error < 0 || advice->verdict.size)
		return error < 0 ? error : 0;
	say_peak(advice);
	if (advice->run.history && strcmp(advice->run.kind, "cpu") != 0)
		points = peak_points_say(&advice->verdict, advice->run.db, advice->run.device, &advice->asleep);
	advice->points = points > 0;
	return points < 0 ? points : 0;
}

int advise_answer(struct advice *advice)
{
	int error = say_verdict(advice);

	if (!error)
		say_answer(advice);
	return error;
}
