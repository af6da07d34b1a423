/* The sentences of memana advise. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "advice.h"
#include "report/answer.h"
#include "report/finding.h"

/* ---- values ---- */

const char *advice_range(char out[ADVICE_RANGE_MAX], struct advise_range range)
{
	char low[TEXT_SIZE_MAX], high[TEXT_SIZE_MAX], *unit, *same;

	text_bytes(low, range.low);
	text_bytes(high, range.high);
	if (!strcmp(low, high)) {
		snprintf(out, ADVICE_RANGE_MAX, "%s", high);
		return out;
	}
	unit = strchr(low, ' ');
	same = strchr(high, ' ');
	if (unit && same && !strcmp(unit, same))
		*unit = '\0';
	snprintf(out, ADVICE_RANGE_MAX, "%.20s to %.20s", range.low ? low : "0", high);
	return out;
}

/* Returns the length of the value without a ".0" at its end: files write numbers with it. */
static int length_of(const char *value)
{
	const char *end = strstr(value, ".0");

	return end && !end[2] ? (int)(end - value) : (int)strlen(value);
}

const char *advice_now(const struct effect *effect, char out[ADVICE_WORDS_MAX])
{
	const struct advise_value *now = &effect->now;
	const char *value = now->text ? now->text : effect->relative ? NULL : effect->begins;

	if (!value)
		snprintf(out, ADVICE_WORDS_MAX, "not known");
	else if (advise_is_null(value))
		snprintf(out, ADVICE_WORDS_MAX, "not set");
	else
		snprintf(out, ADVICE_WORDS_MAX, "%.*s%s%.200s", length_of(value), value,
			 !now->text                      ? ", assumed"
			 : now->origin == ADVISE_DEFAULT ? " unless set elsewhere"
			 : now->origin == ADVISE_SHOWN   ? " by the recording"
							 : ", ",
			 now->text && now->origin > ADVISE_SHOWN ? now->where : "");
	return out;
}

const char *advice_proposed(const struct effect *effect)
{
	if (!effect->relative)
		return effect->to;
	return effect->knob->saves == MT_KNOB_SAVES_HIGHER ? "twice what it is now" : "half of what it is now";
}

/* ---- a setting ---- */

void advice_say_evidence(struct sentence *sentence, const struct advice *advice, const struct effect *effect)
{
	const struct scene *scene = &advice->why.scene;
	const struct candidate_part *part, *most = NULL;
	char size[TEXT_SIZE_MAX], range[ADVICE_RANGE_MAX], place[CALLSTACK_PLACE_MAX];
	int failed = advice->effects.run.it != NULL;
	uint64_t there = 0;

	for (part = effect->part; part < effect->part + effect->parts; part++) {
		if (scene->site[part->site].category != effect->category)
			continue;
		there += scene->site[part->site].at[SCENE_NOW];
		if (scene->site[part->site].node != SCENE_NONE && (!most || part->bytes > most->bytes))
			most = part;
	}
	sentence_say(sentence, "%s%s%s %s", there ? text_bytes(size, there) : advice_range(range, effect->saved),
		     effect->probable ? ", probably " : " of ", mt_category_name(effect->category),
		     !failed         ? "at the peak"
		     : effect->later ? "after the failed request"
				     : "at the failed request");
	if (!most)
		return;
	sentence_say(sentence, "%s%s", most->bytes > there / 2 ? ", most of it by " : ", the largest part by ",
		     finding_place(place, sizeof(place), scene->db, scene->node[scene->site[most->site].node].id));
}

/* Says " of deepspeed" for a key that the main framework neither has nor passes on. */
static void say_owner(struct sentence *sentence, const struct advise_config *config, const struct mt_knob *knob)
{
	const struct advise_part *part = advise_config_part(config, knob), *first = &config->part[0];
	int in_code = knob->written == MT_KNOB_WRITTEN_ARGUMENT || knob->written == MT_KNOB_WRITTEN_CODE;
	uint32_t i;

	if (!part || part == first || knob->written == MT_KNOB_WRITTEN_ENVIRONMENT ||
	    (in_code && first->file->written == MT_KNOB_WRITTEN_ARGUMENT))
		return;
	for (i = 0; i < first->file->hands; i++)
		if (!strcmp(first->file->hand[i].framework, part->file->framework))
			return;
	sentence_say(sentence, in_code ? " (of %.32s, in the code)" : " of %.32s", part->file->framework);
}

static void say_value(struct sentence *sentence, const struct effect *effect)
{
	char now[ADVICE_WORDS_MAX];

	if (effect->knob->written == MT_KNOB_WRITTEN_CODE)
		sentence_say(sentence, " (%s)", effect->knob->what);
	else if (effect->by > 0)
		sentence_say(sentence, " by %.2g, to %s or less (now: %s)", effect->by, effect->to,
			     advice_now(effect, now));
	else
		sentence_say(sentence, " to %s (now: %s)", advice_proposed(effect), advice_now(effect, now));
}

static const char *enough_words(const struct effects *effects, const struct effect *effect)
{
	if (!effects->needed)
		return "";
	if (!effect->fits)
		return effect->saved.high >= effects->needed ? ", perhaps enough" : ", not enough alone";
	return effects->run.replay.later.from == REPLAY_LATER_UNKNOWN ? ", enough for this request" : ", enough";
}

void advice_say_change(struct sentence *sentence, const struct advice *advice, const struct effect *effect)
{
	const struct mt_knob *knob = effect->knob;
	char range[ADVICE_RANGE_MAX];
	/* No recording shows the call that makes batches: the program can make them without it. */
	int by_call = knob->written == MT_KNOB_WRITTEN_CODE && effect->relative;

	if (by_call)
		sentence_say(sentence, "%c%s (%s, if there is one)", toupper((unsigned char)*knob->what),
			     knob->what + 1, knob->name.key);
	else
		sentence_say(sentence, "%s %s", effect->by > 0 ? "Lower" : "Set", knob->name.key);
	say_owner(sentence, advice->effects.config, knob);
	if (!by_call)
		say_value(sentence, effect);
	sentence_say(sentence, ": saves %s%s%s; cost: %s", effect->probable ? "probably " : "",
		     advice_range(range, effect->saved), enough_words(&advice->effects, effect),
		     mt_knob_cost_words(effect->cost));
}

/* ---- rows ---- */

void advice_say_action(struct sentence *sentence, const struct advice *advice, const struct advice_row *row)
{
	why_say_action(sentence, &advice->why, row->candidate);
	why_say_freed(sentence, &advice->why, row->candidate);
}

/* No setting has a known number of bytes: name a setting that may do the action. */
static void say_other(struct sentence *sentence, const struct advice_row *row)
{
	const struct effect *other = row->other;

	if (!other)
		sentence_say(sentence, "%s", row->candidate->freed_high ? "No setting does this." : "");
	else if (other->untold)
		sentence_say(sentence, "%s may do this: how many bytes, the recording does not tell.",
			     other->knob->name.key);
	else
		sentence_say(sentence, "%s would do this, but: %s.", other->knob->name.key, other->why);
}

void advice_say_setting(struct sentence *sentence, const struct advice *advice, const struct advice_row *row)
{
	const struct effect *effect = row->effect;
	char range[ADVICE_RANGE_MAX];

	if (!effect) {
		say_other(sentence, row);
		return;
	}
	if (row->again) {
		sentence_say(sentence, "The same setting helps: %s.", effect->knob->name.key);
		return;
	}
	if (effect->action != row->candidate->fix->action)
		sentence_say(sentence, "Or: ");
	advice_say_change(sentence, advice, effect);
	if (effect->fits && effect->knob->method != MT_KNOB_METHOD_ALLOCATOR)
		sentence_say(sentence, ". The peak is then %s, in %s", advice_range(range, effect->outcome.peak),
			     answer_phase(mt_phase_name(effect->outcome.in)));
	sentence_say(sentence, ".");
	if (*effect->only)
		sentence_say(sentence, " It counts only if %s.", effect->only);
}
