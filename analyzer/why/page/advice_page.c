/* The page of memana advise: actions first, then settings, what if, and lines to paste. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "advice.h"
#include "memtrace/error.h"
#include "report/answer.h"

#define IDLES_SHOWN 2
#define INDENT 5

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

/* ---- actions ---- */

static void print_action(const struct text *text, const struct advice *advice, size_t number)
{
	const struct advice_row *row = &advice->row[number];
	struct sentence sentence = { .size = 0 };

	advice_say_action(&sentence, advice, row);
	text_print(text, "%zu. ", number + 1);
	text_wrap(text, 3, 3, sentence.text);
	if (advice->is_ended && !row->other)
		return;
	sentence.size = 0;
	advice_say_setting(&sentence, advice, row);
	text_style(text, row->effect ? TEXT_GOOD : TEXT_DIM);
	text_print(text, "   ");
	text_wrap(text, 3, 3, sentence.text);
	text_style(text, TEXT_PLAIN);
}

/* ---- settings ---- */

static void print_notes(const struct text *text, const struct effect *effect)
{
	const struct mt_knob *knob = effect->knob;
	int ends_run = 0;
	uint32_t i;

	if (*effect->only)
		print_wrapped(text, INDENT, "It counts only if %s", effect->only);
	if (knob->effect)
		print_wrapped(text, INDENT, "Effect: %s", knob->effect);
	for (i = 0; i < knob->constraints; i++) {
		ends_run |= knob->constraint[i].beyond == MT_KNOB_BEYOND_ERROR;
		if (knob->constraint[i].kind == MT_KNOB_CONSTRAINT_WORDS)
			print_wrapped(text, INDENT, "Note: %s", knob->constraint[i].says);
	}
	if (ends_run)
		print_wrapped(text, INDENT, "Note: a sample that is longer than this ends the run with an error");
	if (knob->not_so)
		print_wrapped(text, INDENT, "Note: %s", knob->not_so);
}

static void print_setting(const struct text *text, const struct advice *advice, const struct effect *effect,
			  size_t number)
{
	const struct effects *effects = &advice->effects;
	const struct mt_knob_name *name[MT_KNOB_OLDER_MAX + 1];
	struct sentence sentence = { .size = 0 };
	uint32_t names = advise_config_names(effects->config, effect->knob, name);

	text_print(text, "%3zu. ", number);
	advice_say_change(&sentence, advice, effect);
	if (names > 1)
		sentence_say(&sentence, " (before: %s)", name[1]->key);
	sentence_say(&sentence, ": ");
	advice_say_saved(&sentence, advice, effect);
	text_wrap(text, INDENT, INDENT, sentence.text);
	sentence.size = 0;
	advice_say_evidence(&sentence, advice, effect);
	text_style(text, TEXT_DIM);
	print_wrapped(text, INDENT, "%s", sentence.text);
	text_style(text, TEXT_PLAIN);
	if (effect->knob->method == MT_KNOB_METHOD_SHARE && effects->run.engine.engines > 1)
		print_wrapped(text, INDENT, "It is about the engine of pid %lld: %u of them are on this GPU",
			      (long long)effects->run.engine.pid, effects->run.engine.engines);
	print_notes(text, effect);
}

static int is_said(const struct advice *advice, const struct effect *effect)
{
	size_t i;

	for (i = 0; i < advice->rows; i++)
		if (advice->row[i].effect == effect)
			return 1;
	return 0;
}

/* A row above has said it, or it counts only after another change: the short page leaves it out. */
static int is_for_later(const struct advice *advice, size_t number)
{
	const struct effect *const *effect = (const struct effect *const *)advice->effects.effect;

	return is_said(advice, effect[number]) || (*effect[number]->only && !*effect[0]->only);
}

static void print_title(const struct text *text, const struct advice *advice)
{
	const struct advise_part *part = &advice->effects.config->part[0];
	char title[160];

	snprintf(title, sizeof(title), "Settings of %s%s%s that %s", part->file->framework, *part->version ? " " : "",
		 part->version, advice->effects.run.failed ? "save something, too" : "make the peak lower");
	answer_title(text, title);
}

static void print_settings(const struct text *text, const struct advice *advice, int64_t limit)
{
	size_t settings = advice_settings(advice), shown = 0, more = 0, i;
	int all = limit == INT64_MAX;

	for (i = 0; i < settings; i++) {
		if ((int64_t)shown >= limit || (!all && is_for_later(advice, i))) {
			more += !is_said(advice, advice->effects.effect[i]);
			continue;
		}
		if (!shown)
			print_title(text, advice);
		print_setting(text, advice, advice->effects.effect[i], ++shown);
	}
	if (more)
		text_print(text, "%s%zu more (-n 0 shows all)\n", shown ? "     " : "\n", more);
}

static void print_idle(const struct text *text, const struct advice *advice, int64_t limit)
{
	const struct effects *effects = &advice->effects;
	int64_t most = limit < INT64_MAX ? IDLES_SHOWN : limit, shown = 0;
	size_t more = 0, i;

	for (i = 0; i < effects->effects; i++) {
		if (effects->effect[i]->works || !*effects->effect[i]->why)
			continue;
		if (shown == most) {
			more++;
			continue;
		}
		if (!shown++)
			answer_title(text, "Settings that would not have helped");
		print_wrapped(text, 2, "%s: %s", effects->effect[i]->knob->name.key, effects->effect[i]->why);
	}
	if (more)
		text_print(text, "  %zu more (-n 0 shows all)\n", more);
}

/* The values above are defaults where the run's own settings are unknown. */
static void print_doubt(const struct text *text, const struct advice *advice)
{
	const struct advise_config *config = advice->effects.config;

	if (!advice_settings(advice))
		return;
	if (config->wrapper)
		print_wrapped(text, 0,
			      "What is set now is not known: %s has keys and defaults of its own. The keys are of %s.",
			      config->wrapper, config->part[0].file->framework);
	else if (advice->effects.blind)
		print_wrapped(
			text, 0,
			"What is set now is not in the recording: defaults are assumed. Say it: --config FILE or --now KEY=VALUE.");
}

/* ---- what if, and what to paste ---- */

static void print_turn(const struct text *text, const struct advice *advice, size_t i)
{
	const struct effect_plan *plan = &advice->effects.plan;
	const struct advise_turn *turn = &plan->turn[i];
	const struct effect *effect = plan->effect[i];
	const char *silence = advise_silence_words(plan->silence[i]);

	if (turn->knob->written == MT_KNOB_WRITTEN_CODE && !*silence)
		print_wrapped(text, 2, "%s: %s", turn->knob->name.key, turn->knob->what);
	else if (effect && effect->by > 0)
		print_wrapped(text, 2, "%s: lower by %.2g, to %s or less", turn->knob->name.key, effect->by, turn->to);
	else if (effect && effect->relative)
		print_wrapped(text, 2, "%s: %s", turn->knob->name.key, advice_proposed(effect));
	else
		print_wrapped(text, 2, "%s: %s -> %s%s%s", turn->knob->name.key, turn->now ? turn->now : "?", turn->to,
			      *silence ? ": " : "", silence);
}

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
	if (plan->reserved.known)
		print_wrapped(
			text, 2,
			"Reserved by the allocator, at its peak: %s was, %s would be (a model, %.1f %% off on the recording).",
			text_bytes(was, plan->reserved.recorded), text_bytes(range, plan->reserved.modelled),
			100 * plan->reserved.off);
	else if (effects->run.slack)
		print_wrapped(text, 2,
			      "The allocator kept %s beside it at the peak; how much it would keep is not in these figures.",
			      text_bytes(was, effects->run.slack));
	if (effects->limit)
		text_print(text, "  %s\n", plan->fits ? "It fits then." : "That does not make it fit for certain.");
}

static void print_plan(const struct text *text, const struct advice *advice)
{
	const struct effect_plan *plan = &advice->effects.plan;
	size_t i;

	if (!advice_has_plan(advice))
		return;
	answer_title(text, plan->asked  ? "With these changes"
			   : plan->fits ? "What fits"
					: "The most that settings would have done together");
	for (i = 0; i < plan->turns; i++)
		print_turn(text, advice, i);
	if (plan->unforetold)
		print_wrapped(text, 2, "So what the peak would be cannot be said.");
	else
		print_outcome(text, advice);
}

/* The plan, or else the setting that is named first. */
static int print_paste(const struct text *text, const struct advice *advice)
{
	const struct effect *first = NULL;
	char *paste, *line, *rest;
	size_t i;

	for (i = 0; i < advice->rows && !first; i++)
		first = advice->row[i].effect;
	if (!advice_has_plan(advice) && (!first || first->knob->written == MT_KNOB_WRITTEN_CODE || *first->only))
		return 0;
	paste = advice_has_plan(advice) ? advice_paste_plan(advice) : advice_paste(advice, first);
	if (!paste)
		return -MT_E_MEMORY;
	if (*paste)
		answer_title(text, advice_has_plan(advice) ? "To paste" : "To paste, the first setting above");
	for (line = strtok_r(paste, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		text_print(text, "  %s\n", line);
	free(paste);
	return 0;
}

/* ---- the page ---- */

static void print_beginning(const struct text *text, const struct advice *advice, size_t rows)
{
	size_t i;

	answer_verdict(text, &advice->verdict);
	if (advice->nothing)
		text_wrap(text, 0, 0, advice_nothing_held);
	if (advice->rows)
		text_print(text, "\n");
	for (i = 0; i < rows && i < advice->rows; i++)
		print_action(text, advice, i);
}

static void print_warnings(const struct text *text, const struct advice *advice)
{
	const struct advise_config *config = advice->effects.config;
	uint32_t i;

	text_style(text, TEXT_WARN);
	for (i = 0; i < config->warnings; i++)
		print_wrapped(text, 0, "Warning: %s", config->warning[i]);
	text_style(text, TEXT_PLAIN);
}

int advice_page(const struct text *text, const struct advice *advice, int64_t limit, int brief)
{
	print_beginning(text, advice, brief ? 1 : ADVICE_ROWS);
	if (brief || advice->nothing)
		return 0;
	print_warnings(text, advice);
	print_plan(text, advice);
	print_settings(text, advice, limit);
	if (!advice->is_ended)
		print_idle(text, advice, limit);
	print_doubt(text, advice);
	return print_paste(text, advice);
}
