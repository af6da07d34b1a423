/* The page of memana advise; and what speaks for each row: the bytes that it reaches. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "advise.h"
#include "advise_choice.h"
#include "memtrace/error.h"
#include "report/peak_points.h"

#define IDLES_SHOWN 2
#define INDENT 5
#define SLACK_SHARE 100 /* of what is in use: less slack than one part in so many is not missed in a sum */
#define TYPED (1u << MT_CATEGORY_ACTIVATIONS | 1u << MT_CATEGORY_RECOMPUTED | 1u << MT_CATEGORY_LOGITS)

const char advise_nothing_held[] = "Nothing was held on any device: there is nothing to advise on.";

static void print_wrapped(const struct text *text, int indent, const char *format, ...) MT_PRINTF(3, 4);
static void print_wrapped(const struct text *text, int indent, const char *format, ...)
{
	struct sentence sentence = { .size = 0 };
	char words[1024];
	va_list list;

	va_start(list, format);
	vsnprintf(words, sizeof(words), format, list);
	va_end(list);
	sentence_say(&sentence, "%s", words);
	text_print(text, "%*s", indent, "");
	text_wrap(text, indent, indent, sentence.text);
}

/* ---- settings ---- */

const char *advise_cost_words(enum mt_knob_cost cost)
{
	static const char *const words[MT_KNOB_COSTS] = { "costs nothing", "costs some time", "costs much time",
							  "needs more GPUs", "changes results" };

	return words[cost];
}

static const char *cost_words(char out[64], const struct advise_row *row)
{
	if (row->cost == MT_KNOB_COST_GPUS && row->knob->cost != MT_KNOB_COST_GPUS)
		snprintf(out, 64, "needs %.20s GPUs, and %s", row->to, advise_cost_words(row->knob->cost));
	else
		snprintf(out, 64, "%s", advise_cost_words(row->cost));
	return out;
}

/* "half of what it is now (8 by default; where it is 1, this does nothing)" */
static void relative_words(char out[ADVISE_EVIDENCE_MAX], const struct advise_row *row)
{
	const struct mt_knob *knob = row->knob;
	const char *known = *row->now && !advise_is_null(row->now) ? row->now_words : "", *nothing = "";

	if (knob->measure == MT_KNOB_UNIT_SAMPLES || knob->measure == MT_KNOB_UNIT_SEQUENCES ||
	    knob->measure == MT_KNOB_UNIT_STEPS)
		nothing = "where it is 1, this does nothing";
	else if (advise_splits(knob))
		nothing = "what is one sample cannot be split";
	snprintf(out, ADVISE_EVIDENCE_MAX, "%s%s%s%s%s%s", advise_relative_words(knob), *known || *nothing ? " (" : "",
		 known, *known && *nothing ? "; " : "", nothing, *known || *nothing ? ")" : "");
}

/*
 * What the peak is then: of another moment, where what is saved is not what it falls by. What the allocator holds idle is in no such
 * figure: a setting of its own moves nothing that is in use.
 */
static void print_then(const struct text *text, const struct advice *advice, const struct advise_row *row)
{
	const struct advise_outcome *then = &row->outcome;
	int other = advice->run.failed && then->asked.high && then->peak.low > then->asked.high;
	const char *so_far = advice->needed && advice->run.replay.later.from == REPLAY_LATER_UNKNOWN ? ", so far," : "";
	char range[ADVISE_RANGE_MAX], was[TEXT_SIZE_MAX], slack[TEXT_SIZE_MAX];

	if (row->knob->method == MT_KNOB_METHOD_ALLOCATOR)
		return;
	advise_range_words(range, then->peak);
	if (other)
		print_wrapped(text, INDENT, "then the peak%s is that of another moment, %s, in %s", so_far, range,
			      mt_phase_name(then->in));
	else if (!advice->run.failed && advice->run.slack > advice->base / SLACK_SHARE)
		print_wrapped(text, INDENT,
			      "then the peak is %s, in %s (of what is in use, now %s: the %s of slack are not in it)",
			      range, mt_phase_name(then->in), text_bytes(was, advice->base),
			      text_bytes(slack, advice->run.slack));
	else
		print_wrapped(text, INDENT, "then the peak%s is %s, in %s", so_far, range, mt_phase_name(then->in));
}

/* Engines that take turns share nothing at once. */
static void print_engines(const struct text *text, const struct advice *advice)
{
	const struct advise_engine *engine = &advice->run.engine;
	double each = advise_share_of_each(advice);
	char alike[64] = "";

	if (each > 0)
		snprintf(alike, sizeof(alike), ": at most %.2f each, where they are alike", each);
	print_wrapped(text, INDENT,
		      "It is about the engine of pid %lld: %u of them are on this GPU, each has its own share, and all of them together "
		      "have to be less than 1%s",
		      (long long)engine->pid, engine->engines, alike);
}

/* `before`: the row above, whose evidence is not said twice; NULL: there is none. */
static void print_row(const struct text *text, const struct advice *advice, const struct advise_row *row, size_t number,
		      const struct advise_row *before)
{
	const struct mt_knob_name *name[MT_KNOB_OLDER_MAX + 1];
	uint32_t names = advise_config_names(advice->config, row->knob, name), i;
	char saved[ADVISE_RANGE_MAX], change[ADVISE_EVIDENCE_MAX], cost[64];
	char foreign[ADVISE_WHOSE_MAX], with[ADVISE_WORDS_MAX];
	const char *enough = advise_enough_words(advice, row), *effect = advise_effect(advice, row->knob), *key;
	const struct advise_row *other;
	int on;

	text_print(text, "%3zu. ", number);
	text_style(text, TEXT_BOLD);
	text_print(text, "%s", row->knob->name.key);
	text_style(text, TEXT_PLAIN);
	for (i = 1; i < names && i < 2; i++)
		text_print(text, " (before: %s)", name[i]->key);
	text_print(text, "%s\n", advise_foreign_words(advice, row->knob, foreign));
	if (row->knob->written == MT_KNOB_WRITTEN_CODE)
		snprintf(change, sizeof(change), "%s%s", row->knob->what,
			 !row->halves || row->knob->measure == MT_KNOB_UNIT_TOKENS
				 ? ""
				 : " (where it is 1, this does nothing)");
	else if (*row->by)
		snprintf(change, sizeof(change), "%s -> lower by %s, to %s or less", row->now_words, row->by, row->to);
	else if (row->halves)
		relative_words(change, row);
	else
		snprintf(change, sizeof(change), "%s -> %s%s", row->now_words, row->to,
			 advise_taken_with(advice->config, (struct advise_change){ row->knob, row->to }, with));
	print_wrapped(text, INDENT, "%s: saves %s%s%s%s; %s", change, row->probable ? "probably " : "",
		      advise_range_words(saved, row->saved), *enough ? ", " : "", enough, cost_words(cost, row));
	if (!advice->needed || row->fits)
		print_then(text, advice, row);
	text_style(text, TEXT_DIM);
	if (!before || strcmp(before->evidence, row->evidence) != 0)
		print_wrapped(text, INDENT, "%s", row->evidence);
	text_style(text, TEXT_PLAIN);
	if (*row->only)
		print_wrapped(text, INDENT, "It counts only if %s", row->only);
	other = advise_alternative(advice, row, &key, &on);
	if (other && !*row->only)
		print_wrapped(text, INDENT, "Where %s is %s, this is not read, but %s %s; it saves %s%s", key,
			      on ? "on" : "off", other->knob->name.key, advise_change_words(other, change),
			      advise_range_words(saved, other->saved),
			      advise_ends_run(other->knob)
				      ? "; a sample that is longer than that ends the run with an error"
				      : "");
	if (row->knob->method == MT_KNOB_METHOD_SHARE && advice->run.engine.engines > 1)
		print_engines(text, advice);
	if (effect && (number == 1 || row->knob->turned_on))
		print_wrapped(text, INDENT, row->knob->turned_on ? "%s" : "Effect: %s", effect);
	if (advise_ends_run(row->knob) && !strstr(row->only, "ends the run"))
		print_wrapped(text, INDENT, "Note: a sample that is longer than this ends the run with an error");
	for (i = 0; i < row->knob->constraints; i++)
		if (row->knob->constraint[i].kind == MT_KNOB_CONSTRAINT_WORDS)
			print_wrapped(text, INDENT, "Note: %s", row->knob->constraint[i].says);
	if (row->knob->not_so)
		print_wrapped(text, INDENT, "Note: %s", row->knob->not_so);
}

/* A budget by which what failed goes, if only it is read, where no other row is about the size of micro-batches. */
static int is_other_budget(const struct advice *advice, const struct advise_row *row)
{
	size_t i;

	for (i = 0; i < advice->rows; i++)
		if (&advice->row[i] != row && !advice->row[i].unread && advise_is_by_micro_batch(advice->row[i].knob) &&
		    advice->row[i].knob->phases & row->knob->phases)
			return 0;
	return advise_is_idle_by_default(row) && row->fits && row->aims_if && advise_is_by_micro_batch(row->knob);
}

/* It may do nothing, and may not count or changes results: no news beside a row that does something. */
static int may_save_nothing(const struct advise_row *row)
{
	return !row->saved.low && (*row->only || row->cost == MT_KNOB_COST_RESULTS);
}

/* The same bytes by another name: a key for each backend, a class's and a function's. */
static int is_twin(const struct advice *advice, size_t at)
{
	const struct advise_row *row = &advice->row[at], *other;
	size_t i;

	for (i = 0; i < at; i++) {
		other = &advice->row[i];
		if (other->saved.low == row->saved.low && other->saved.high == row->saved.high &&
		    other->cost == row->cost && !strcmp(other->to, row->to) &&
		    !strcmp(other->evidence, row->evidence) && !*other->only == !*row->only)
			return 1;
	}
	return 0;
}

/* Of the default page: what does nothing as it is set, may do nothing, or was said, waits for who asks for all. */
static int is_shown(const struct advice *advice, size_t at, size_t shown)
{
	const struct advise_row *row = &advice->row[at];

	return !advise_is_idle_by_default(row) && !(shown && (may_save_nothing(row) || is_twin(advice, at)));
}

static void print_rows(const struct text *text, const struct advice *advice, int64_t limit)
{
	const struct advise_part *part = &advice->config->part[0];
	char title[160];
	const struct advise_row *before = NULL;
	size_t shown = 0, i;
	int all = limit == INT64_MAX;

	if (!advice->rows)
		return;
	snprintf(title, sizeof(title), "Settings of %s%s%s that would %s", part->file->framework,
		 *part->version ? " " : "", part->version,
		 !advice->run.failed ? "make the peak lower"
		 : advice->refusals  ? "help, too"
				     : "have helped");
	answer_title(text, title);
	for (i = 0; i < advice->rows && (int64_t)shown < limit; i++)
		if (all || is_shown(advice, i, shown)) {
			print_row(text, advice, &advice->row[i], ++shown, before);
			before = &advice->row[i];
		}
	for (; i < advice->rows; i++)
		if (is_other_budget(advice, &advice->row[i])) {
			print_row(text, advice, &advice->row[i], ++shown, before);
			before = &advice->row[i];
		}
	if (!shown)
		text_print(text, "  none as it is set now; %zu if other settings were changed, too (-n 0 shows all)\n",
			   advice->rows);
	else if (shown < advice->rows)
		text_print(text, "     %zu more (-n 0 shows all)\n", advice->rows - shown);
}

static void print_idles(const struct text *text, const struct advice *advice, int64_t limit)
{
	int64_t most = limit < INT64_MAX ? IDLES_SHOWN : limit;
	const struct advise_idle *idle;
	char foreign[ADVISE_WHOSE_MAX];
	size_t i;

	if (!advice->idles)
		return;
	for (i = 0; i < advice->idles && (int64_t)i < most; i++) {
		idle = &advice->idle[i];
		if (!i || idle->from_default != idle[-1].from_default) /* what is proved comes first */
			answer_title(text, idle->from_default
						   ? "No help by the defaults: see that nothing sets them otherwise"
						   : "Settings that would not have helped");
		print_wrapped(text, 2, "%s%s: %s", idle->knob->name.key,
			      advise_foreign_words(advice, idle->knob, foreign), idle->why);
	}
	if (i < advice->idles)
		text_print(text, "  %zu more (-n 0 shows all)\n", advice->idles - i);
}

/* ---- what if, and what to paste ---- */

static void print_turn(const struct text *text, const struct advice *advice, size_t i)
{
	const struct advise_turn *turn = &advice->turn[i];
	const char *silence = advise_silence_words(advice->silence[i]);

	if (turn->knob->written == MT_KNOB_WRITTEN_CODE && !*silence)
		print_wrapped(text, 2, "%s: %s", turn->knob->name.key, turn->knob->what);
	else if (advice->turn_halves[i])
		print_wrapped(text, 2, "%s: %s", turn->knob->name.key, advise_relative_words(turn->knob));
	else if (*advice->turn_by[i])
		print_wrapped(text, 2, "%s: lower by %s, to %s or less", turn->knob->name.key, advice->turn_by[i],
			      turn->to);
	else
		print_wrapped(text, 2, "%s: %s -> %s%s%s", turn->knob->name.key, turn->now ? turn->now : "?", turn->to,
			      *silence ? ": " : "", silence);
}

static void print_outcome(const struct text *text, const struct advice *advice)
{
	char was[TEXT_SIZE_MAX], range[ADVISE_RANGE_MAX];
	uint32_t phase;

	text_print(text, "\n  %-15s %12s   %s\n", "in use", "was", "would be");
	for (phase = 0; phase < MT_PHASE_COUNT; phase++) {
		if (!advice->run.replay.peak[phase].bytes)
			continue;
		text_print(text, "  %-15s %12s   %s\n", mt_phase_name(phase),
			   text_bytes(was, advice->run.replay.peak[phase].bytes),
			   advise_range_words(range, advice->outcome.phase[phase]));
	}
	if (advice->reserved.known)
		print_wrapped(
			text, 2,
			"Reserved by the allocator, at its peak: %s was, %s would be (a model, %.1f %% off on the recording).",
			text_bytes(was, advice->reserved.recorded), text_bytes(range, advice->reserved.modelled),
			100 * advice->reserved.off);
	else if (advice->run.slack)
		print_wrapped(text, 2,
			      "The allocator kept %s beside it at the peak; how much it would keep is not in these figures.",
			      text_bytes(was, advice->run.slack));
	if (advice->limit)
		text_print(text, "  %s\n",
			   advice->together_fits ? "It fits then." : "That does not make it fit for certain.");
}

/* Changes that stand on the page as a table of their own; a single one of our own choice is a row. */
static int shows_turns(const struct advice *advice)
{
	return advice->predicted && (advice->asked || advice->fit || advice->turns > 1);
}

int advise_can_paste(const struct advice *advice, const struct mt_knob *knob, const char *by)
{
	return !*by && (!advice->config->wrapper || advise_is_anybodys(knob)) &&
	       (knob->method != MT_KNOB_METHOD_SHARE || advice->run.engine.engines < 2);
}

static int print_paste(const struct text *text, const struct advice *advice)
{
	struct advise_change change[ADVISE_TURNS_MAX];
	size_t i, changes = 0;
	const struct advise_row *first = NULL;
	char *paste, *line, *rest;

	for (i = 0; shows_turns(advice) && i < advice->turns; i++)
		if (!advice->turn_halves[i] && advise_can_paste(advice, advice->turn[i].knob, advice->turn_by[i]))
			change[changes++] = (struct advise_change){ advice->turn[i].knob, advice->turn[i].to };
	if (!shows_turns(advice) && advice->rows && (!advice->refusals || advise_settings_too(advice)) &&
	    advice->run.failed)
		first = advise_conditional(advice) ? advise_conditional(advice) : advice->row;
	if (first && !first->halves && advise_can_paste(advice, first->knob, first->by))
		change[changes++] = (struct advise_change){ first->knob, first->to };
	for (i = 0; i < changes && change[i].knob->written == MT_KNOB_WRITTEN_CODE; i++)
		;
	if (i == changes) /* nothing, or what the row says already */
		return 0;
	paste = advise_paste(advice->config, change, changes);
	if (!paste)
		return -MT_E_MEMORY;
	answer_title(text, advice->turns > 1         ? "To paste"
			   : !first || !*first->only ? "To paste, the first of them"
			   : first == advice->row    ? "To paste, the first of them, if that is so"
						     : "To paste, what is said first above, if that is so");
	for (i = 0; i < changes && change[i].knob->written != MT_KNOB_WRITTEN_ENVIRONMENT; i++)
		;
	if (i < changes && advice->run.oom.pool_beside)
		text_print(text, "  # in the environment of the processes that train alone, not of pid %lld\n",
			   (long long)advice->run.oom.pool_beside);
	for (line = strtok_r(paste, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		text_print(text, "  %s\n", line);
	free(paste);
	return 0;
}

static void print_turns(const struct text *text, const struct advice *advice, int asked)
{
	size_t i;

	if (!shows_turns(advice))
		return;
	answer_title(text, asked                   ? "With these changes"
			   : advice->together_fits ? "What fits"
						   : "The most that settings would have done together");
	for (i = 0; i < advice->turns; i++)
		print_turn(text, advice, i);
	if (advice->unforetold)
		print_wrapped(text, 2, "So what the peak would be cannot be said.");
	else
		print_outcome(text, advice);
}

/* ---- the page ---- */

/* The one of which the verdict says what to do: the first for which no setting helps, else the first. */
static size_t said_refusal(const struct advice *advice)
{
	size_t i;

	for (i = 0; i < advice->refusals; i++)
		if (advice->refusal[i].whole)
			return i;
	return 0;
}

static void print_refusals(const struct text *text, const struct advice *advice)
{
	const struct advise_refusal *refusal;
	size_t said = said_refusal(advice), i;

	for (i = 0; i < advice->refusals; i++) {
		refusal = &advice->refusal[i];
		if (i == said && (refusal->told || refusal->reason == ADVISE_REASON_HOST))
			continue;
		answer_title(text, refusal->whole ? "No setting fixes this"
				   : i == said    ? "Why"
						  : "Before any setting, too");
		print_wrapped(text, 2, "%s%s", refusal->evidence, i == said ? "." : "");
		if (i != said)
			print_wrapped(text, 2, "Also: %s.", refusal->instead);
	}
}

/* What is missing is somebody's to give back, not to be saved. */
static int refused_by_bytes(const struct advice *advice)
{
	size_t i;

	for (i = 0; i < advice->refusals; i++)
		if (advice->refusal[i].whole || advice->refusal[i].reason == ADVISE_REASON_FRAGMENTATION ||
		    advice->refusal[i].reason == ADVISE_REASON_NEIGHBOUR)
			return 1;
	return 0;
}

/* Nobody needs a setting: that they are there is enough, unless all of them are asked for. */
static int is_over(const struct advice *advice, int64_t limit)
{
	return advise_is_healthy(advice) && !advice->asked && limit < INT64_MAX;
}

/* What is there instead: who had the peak. */
static int print_over(const struct text *text, const struct advice *advice)
{
	char count[64];
	const struct advise_row *row = advise_pointed_at(advice);
	int error = advice->run.history ? peak_table_print(text, advice->run.db, advice->run.device) : 0;

	if (row) {
		answer_title(text, "What would be less of what stays");
		print_row(text, advice, row, 1, NULL);
	}
	if (advice->rows > (row != NULL))
		text_print(text, "\n%s would make the peak lower all the same: -n 0 shows %s\n",
			   text_count(count, sizeof(count), advice->rows - (row != NULL),
				      row ? "more setting" : "setting"),
			   advice->rows - (row != NULL) == 1 ? "it" : "them");
	return error;
}

void advise_brief(const struct text *text, const struct advice *advice)
{
	answer_verdict(text, &advice->answer);
	text_wrap(text, 0, 0, advice->verdict.text);
}

/* "36.0 MiB is missing: ..."; where the request is one of a series, how far it had come. */
static void print_missing(const struct text *text, const struct advice *advice)
{
	const struct replay *replay = &advice->run.replay;
	char size[TEXT_SIZE_MAX], all[TEXT_SIZE_MAX], limit[TEXT_SIZE_MAX];
	struct sentence rest = { 0 };

	if (replay->later.from != REPLAY_LATER_STEPS && replay->later.from != REPLAY_LATER_NOTHING)
		advise_say_later(&rest, advice);
	print_wrapped(text, 0, "%s%s is missing: %s would have been in use%s%s, and %s can be.%s",
		      replay->later.from == REPLAY_LATER_SERIES || replay->later.least ? "At least " : "",
		      text_bytes(size, advice->needed), text_bytes(all, advice->base),
		      advice->run.failed ? " with the request" : "",
		      replay->later.bytes ? " and what comes after it" : "", text_bytes(limit, advice->limit),
		      rest.text);
}

int advise_text(const struct text *text, const struct advice *advice, int64_t limit)
{
	uint32_t i;
	int error;

	advise_brief(text, advice);
	for (i = 0; i < advice->config->warnings; i++) {
		text_style(text, TEXT_WARN);
		print_wrapped(text, 0, "Warning: %s", advice->config->warning[i]);
		text_style(text, TEXT_PLAIN);
	}
	if (advice->needed && !refused_by_bytes(advice) && !strstr(advice->answer.text, " is missing") &&
	    !strstr(advice->answer.text, " needed "))
		print_missing(text, advice);
	print_refusals(text, advice);
	if (is_over(advice, limit)) {
		error = print_over(text, advice);
		return error ? error : print_paste(text, advice);
	}
	if (advice->rows && advice->config->wrapper)
		print_wrapped(text, 0,
			      "What is set now is not known: %s, which is on the stacks, has keys and defaults of its own, and those "
			      "below are of %s.",
			      advice->config->wrapper, advice->config->part[0].file->framework);
	else if (advice->blind && advice->rows)
		print_wrapped(
			text, 0,
			"What is set now is not in the recording, so defaults are assumed: say it with --config FILE or --now KEY=VALUE.");
	print_turns(text, advice, advice->asked);
	print_rows(text, advice, limit);
	print_idles(text, advice, limit);
	return print_paste(text, advice);
}

/* ---- the evidence for a row ------------------------------------------------------------------------------------------------ */

/* What most of it is that the change reaches; of what the knob speaks of, if it reaches any of that. */
static uint8_t main_category(const struct mt_knob *knob, const struct advise_reach *reach)
{
	uint8_t most = MT_CATEGORY_OTHER, i;
	int meant = 0;

	for (i = 0; i < MT_CATEGORY_COUNT; i++) {
		int means = (knob->categories & 1u << i) != 0 && reach->bytes[i];

		if (means > meant || (means == meant && reach->bytes[i] > reach->bytes[most])) {
			most = i;
			meant = means;
		}
	}
	return most;
}

/* What has no known purpose by its stack, but woke up: what had slept. */
static const char *category_words(const struct advice *advice, const struct advise_row *row)
{
	return row->category == MT_CATEGORY_OTHER && *advice->run.oom.waking ? advice->run.oom.waking
									     : mt_category_name(row->category);
}

/* What failed is among those bytes: they were not all there. */
static int is_of_request(const struct advice *advice, const struct advise_row *row)
{
	const struct replay *replay = &advice->run.replay;

	return advice->run.failed && replay->site[replay->request.site].category == row->category;
}

#define ELSE_SHARE 10 /* of what is reached: one part in so many of another kind is named */

/* "37.2 GiB at the peak, probably activations, and 3.0 GiB of logits and log-probs"; "15.3 of 30.5 GiB .." where the rest is not reached. */
static size_t say_reached(const struct advice *advice, struct advise_row *row, const struct advise_reach *reach)
{
	uint64_t there = advise_held_then(&advice->run, 1u << row->category), bytes = reach->bytes[row->category];
	char size[TEXT_SIZE_MAX], all[TEXT_SIZE_MAX + 8] = "";
	size_t room = sizeof(row->evidence), used;
	uint8_t i;

	if (bytes + there / ADVISE_WORTH < there)
		snprintf(all, sizeof(all), " of %s", text_bytes(size, there));
	used = (size_t)snprintf(row->evidence, room, "%s%s %s, %s%s", text_bytes(size, bytes), all,
				!advice->run.failed          ? "at the peak"
				: is_of_request(advice, row) ? "with the failed request"
							     : "at the failed request",
				row->probable ? "probably " : "", category_words(advice, row));
	for (i = 1; i < MT_CATEGORY_COUNT && used < room; i++)
		if (i != row->category && reach->bytes[i] > reach->all / ELSE_SHARE)
			used += (size_t)snprintf(row->evidence + used, room - used, ", and %s of %s",
						 text_bytes(size, reach->bytes[i]), mt_category_name(i));
	if (reach->later > reach->all / ELSE_SHARE && used < room)
		used += (size_t)snprintf(row->evidence + used, room - used, ", and %s more by what comes after it",
					 text_bytes(size, reach->later));
	return used < room ? used : room - 1;
}

int advise_is_beside(const struct mt_knob *knob, const struct advise_reach *reach)
{
	uint64_t own = 0;
	uint32_t i;

	for (i = 0; i < MT_CATEGORY_COUNT; i++)
		own += knob->categories & 1u << i ? reach->bytes[i] : 0;
	return knob->method != MT_KNOB_METHOD_LOGITS && knob->method != MT_KNOB_METHOD_SHARE && !reach->later &&
	       own < reach->all / (2 * ELSE_SHARE);
}

/* "; the largest place has 36.4 GiB in 28 pieces; 16,384 tokens in the largest micro-batch". */
static void say_more(const struct advice *advice, struct advise_row *row, const struct advise_reach *reach, size_t used)
{
	const struct replay_site *site = &advice->run.replay.site[reach->largest[row->category]];
	char size[TEXT_SIZE_MAX], number[TEXT_SIZE_MAX], words[TEXT_SIZE_MAX];
	uint64_t tokens = reach->bytes[row->category] ? advise_rows(&advice->run, site) : 0;

	if (tokens && site->words)
		used += (size_t)snprintf(row->evidence + used, sizeof(row->evidence) - used,
					 "; the largest are %s tokens x %s words x %llu bytes",
					 text_number(number, tokens), text_number(words, site->words),
					 (unsigned long long)site->element);
	else if (reach->bytes[row->category] && site->then_count > 1 && used < sizeof(row->evidence))
		used += (size_t)snprintf(row->evidence + used, sizeof(row->evidence) - used,
					 "; the largest place has %s in %u pieces", text_bytes(size, site->then),
					 site->then_count);
	if (row->knob->weighs && TYPED & 1u << row->category && used < sizeof(row->evidence))
		used += (size_t)snprintf(row->evidence + used, sizeof(row->evidence) - used,
					 "; of that, only floats of 32 bits become smaller%s",
					 advice->run.model.element ? ""
								   : ", and the recording does not tell which are");
	tokens = advise_tokens_in(&advice->run, row->knob->phases);
	if (row->knob->method == MT_KNOB_METHOD_TOKENS && tokens && used < sizeof(row->evidence))
		used += (size_t)snprintf(row->evidence + used, sizeof(row->evidence) - used,
					 "; %s tokens in the largest micro-batch", text_number(number, tokens));
	if (row->knob->method == MT_KNOB_METHOD_TOKENS && advise_is_outlier(advice) && used < sizeof(row->evidence))
		snprintf(row->evidence + used, sizeof(row->evidence) - used,
			 row->sample ? ", %s at most before it: probably one sample"
			 : advise_ends_run(row->knob)
				 ? ", %s at most before it: if that is one sample, the run ends with an error"
				 : ", %s at most before it: if that is one sample, this does nothing",
			 text_number(number, advice->run.oom.logits.earlier));
}

void advise_take_evidence(const struct advice *advice, struct advise_row *row, const struct advise_reach *reach)
{
	row->category = main_category(row->knob, reach);
	row->probable = reach->guessed[row->category] > reach->bytes[row->category] / 2;
	say_more(advice, row, reach, say_reached(advice, row, reach));
}
