/* The page of memana advise: actions, other settings, the effect of given changes, and lines to paste. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "advice.h"
#include "memtrace/error.h"
#include "report/answer.h"

#define INDENT 5

static void print_wrapped(const struct text *text, int indent, const char *format, ...) MT_PRINTF(3, 4);
static void print_wrapped(const struct text *text, int indent, const char *format, ...)
{
	char words[1024];
	va_list list;

	va_start(list, format);
	vsnprintf(words, sizeof(words), format, list);
	va_end(list);
	text_print(text, "%*s", indent, "");
	text_wrap(text, indent, indent, words);
}

/* ---- actions ---- */

static int print_beginning(const struct text *text, const struct advice *advice, size_t rows)
{
	struct sentence action, setting = { .size = 0 };
	const struct advice_row *row;
	int error = why_say_opening(&setting, &advice->why);
	size_t i;

	if (error)
		return error;
	answer_verdict(text, &setting);
	text_print(text, "%s", rows && advice->rows ? "\n" : "");
	for (i = 0; i < rows && i < advice->rows; i++) {
		row = &advice->row[i];
		action.size = setting.size = 0;
		advice_say_action(&action, advice, row);
		advice_say_setting(&setting, advice, row);
		why_print_row(text, i + 1, action.text, row->effect ? TEXT_GOOD : TEXT_DIM, setting.text);
	}
	return 0;
}

/* ---- settings ---- */

static void print_setting(const struct text *text, const struct advice *advice, const struct effect *effect,
			  size_t number)
{
	struct sentence sentence = { .size = 0 };

	advice_say_change(&sentence, advice, effect);
	text_print(text, "%3zu. ", number);
	text_wrap(text, INDENT, INDENT, sentence.text);
	sentence.size = 0;
	advice_say_evidence(&sentence, advice, effect);
	text_style(text, TEXT_DIM);
	print_wrapped(text, INDENT, "%s", sentence.text);
	text_style(text, TEXT_PLAIN);
	if (*effect->only)
		print_wrapped(text, INDENT, "It counts only if %s", effect->only);
}

/* Returns the number of settings that a short list leaves out: those above its limit, and those with a condition. */
static size_t print_settings(const struct text *text, const struct advice *advice, int64_t limit)
{
	const struct effect *effect;
	size_t shown = 0, more = 0, i;

	for (i = 0; i < advice->settings; i++) {
		effect = advice->effects.effect[i];
		if (advice_has_row(advice, effect) && limit < INT64_MAX)
			continue;
		if ((int64_t)shown >= limit || (limit < INT64_MAX && *effect->only)) {
			more++;
			continue;
		}
		if (!shown)
			answer_title(text, "Other settings that save something");
		print_setting(text, advice, effect, ++shown);
	}
	return more;
}

/* Prints the settings without an effect here and the reasons; not `all`: returns their number. */
static size_t print_idle(const struct text *text, const struct advice *advice, int all)
{
	const struct effects *effects = &advice->effects;
	const struct effect *effect;
	size_t idle = 0, i;

	for (i = 0; i < effects->effects; i++) {
		effect = effects->effect[i];
		if (effect->works || !*effect->why)
			continue;
		if (!idle++ && all)
			answer_title(text, "Settings that would not have helped");
		if (all)
			print_wrapped(text, 2, "%s: %s", effect->knob->name.key, effect->why);
	}
	return all ? 0 : idle;
}

/* Says what the page leaves out, and which values are defaults because the run's own settings are unknown. */
static void print_notes(const struct text *text, const struct advice *advice, size_t more, size_t idle)
{
	const struct advise_config *config = advice->effects.config;
	struct sentence sentence = { .size = 0 };
	uint32_t i;

	if (config->warnings)
		text_print(text, "\n");
	text_style(text, TEXT_WARN);
	if (config->warnings)
		text_print(text, "\n");
	for (i = 0; i < config->warnings; i++)
		print_wrapped(text, 0, "Warning: %s", config->warning[i]);
	text_style(text, TEXT_PLAIN);
	if (more || idle)
		sentence_say(&sentence, "Left out: %zu with a saving, %zu without (-n 0). ", more, idle);
	if (advice->settings)
		sentence_say(&sentence, "memana knobs %s has notes on each. ", config->part[0].file->framework);
	if (advice->settings && config->wrapper)
		sentence_say(&sentence,
			     "What is set now is not known: %s has keys and defaults of its own. The keys are of %s.",
			     config->wrapper, config->part[0].file->framework);
	else if (advice->settings && advice->effects.blind)
		sentence_say(
			&sentence,
			"What is set now is not in the recording: defaults are assumed. Say it: --config FILE or --now KEY=VALUE.");
	if (sentence.size) {
		text_print(text, "\n");
		text_wrap(text, 0, 0, sentence.text);
	}
}

/* ---- what if, and what to paste ---- */

static void print_outcome(const struct text *text, const struct advice *advice)
{
	const struct effects *effects = &advice->effects;
	const struct effect_plan *plan = &effects->plan;
	char was[TEXT_SIZE_MAX], range[ADVICE_RANGE_MAX];
	uint32_t phase;

	text_print(text, "\n  %-15s %12s   %s\n", "in use", "was", "would be");
	for (phase = 0; phase < MT_PHASE_COUNT; phase++)
		if (effects->run.replay.peak[phase].bytes)
			text_print(text, "  %-15s %12s   %s\n", mt_phase_name(phase),
				   text_bytes(was, effects->run.replay.peak[phase].bytes),
				   advice_range(range, plan->outcome.phase[phase]));
	if (effects->run.slack)
		print_wrapped(text, 2,
			      "The allocator kept %s beside it at the peak; how much it would keep is not in these figures.",
			      text_bytes(was, effects->run.slack));
	if (effects->limit)
		text_print(text, "  %s\n", plan->fits ? "It fits then." : "That does not make it fit for certain.");
}

static void print_turn(const struct text *text, const struct advise_move *turn, const struct effect *effect,
		       const char *silence)
{
	const char *now = turn->now && !(effect && effect->relative) ? turn->now : "?";

	print_wrapped(text, 2, "%s: %s -> %s%s%s", turn->knob->name.key, now,
		      effect ? advice_proposed(effect) : turn->to, *silence ? ": " : "", silence);
}

static void print_plan(const struct text *text, const struct advice *advice)
{
	const struct effect_plan *plan = &advice->effects.plan;
	size_t i;

	answer_title(text, plan->asked  ? "With these changes"
			   : plan->fits ? "What fits"
					: "The most that settings would have done together");
	for (i = 0; i < plan->moves; i++)
		print_turn(text, &plan->move[i], plan->effect[i], advise_silence_words(plan->silence[i]));
	if (plan->unforetold)
		print_wrapped(text, 2, "The recording does not tell the peak with these changes.");
	else
		print_outcome(text, advice);
}

/* Returns the first row's setting to paste; a setting that is enough alone comes first. NULL: no row has a line to paste. */
static const struct effect *to_paste(const struct advice *advice)
{
	const struct effect *it, *found = NULL;
	size_t i;

	for (i = 0; i < advice->rows; i++) {
		it = advice->row[i].effect;
		if (it && it->knob->written != MT_KNOB_WRITTEN_CODE && !*it->only && (!found || it->fits > found->fits))
			found = it;
	}
	return found;
}

/* Prints the plan's lines to paste; without a plan, the lines of one setting. */
static int print_paste(const struct text *text, const struct advice *advice)
{
	const struct effect *first = advice_has_plan(advice) ? NULL : to_paste(advice);
	char *paste, *line, *rest;

	if (!first && !advice_has_plan(advice))
		return 0;
	paste = advice_paste(advice, first);
	if (!paste)
		return -MT_E_MEMORY;
	if (*paste)
		answer_title(text, "To paste");
	for (line = strtok_r(paste, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		text_print(text, "  %s\n", line);
	free(paste);
	return 0;
}

int advice_page(const struct text *text, const struct advice *advice, int64_t limit, int brief)
{
	int error = print_beginning(text, advice, brief ? 1 : WHY_ROWS);
	size_t more, idle;

	if (!error && advice->nothing)
		text_wrap(text, 0, 0, "Nothing was held on any device: there is nothing to advise on.");
	if (error || brief || advice->nothing)
		return error;
	if (advice_has_plan(advice))
		print_plan(text, advice);
	more = print_settings(text, advice, limit);
	idle = print_idle(text, advice, limit == INT64_MAX);
	print_notes(text, advice, more, idle);
	return print_paste(text, advice);
}
