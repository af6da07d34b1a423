/* Sentences of memana advise. */
#include <stdio.h>
#include <string.h>
#include "advice.h"
#include "report/answer.h"
#include "why_words.h"

const char advice_nothing_held[] = "Nothing was held on any device: there is nothing to advise on.";

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

/* Length without the ".0" at the end of a number from a file. */
static int length_of(const char *value)
{
	const char *end = strstr(value, ".0");

	return end && !end[2] ? (int)(end - value) : (int)strlen(value);
}

const char *advice_now(const struct effect *effect, char out[ADVICE_WORDS_MAX])
{
	const struct advise_value *now = &effect->now;

	if (now->text && advise_is_null(now->text))
		snprintf(out, ADVICE_WORDS_MAX, "not set");
	else if (now->text && now->origin == ADVISE_DEFAULT)
		snprintf(out, ADVICE_WORDS_MAX, "%.*s by default", length_of(now->text), now->text);
	else if (now->text && now->origin == ADVISE_SHOWN)
		snprintf(out, ADVICE_WORDS_MAX, "%.*s by the recording", length_of(now->text), now->text);
	else if (now->text)
		snprintf(out, ADVICE_WORDS_MAX, "%.*s, %.100s", length_of(now->text), now->text, now->where);
	else if (effect->begins && !effect->relative)
		snprintf(out, ADVICE_WORDS_MAX, "%.*s, assumed", length_of(effect->begins), effect->begins);
	else
		snprintf(out, ADVICE_WORDS_MAX, "not known");
	return out;
}

const char *advice_proposed(const struct effect *effect)
{
	if (!effect->relative)
		return effect->to;
	return effect->knob->saves == MT_KNOB_SAVES_HIGHER ? "twice what it is now" : "half of what it is now";
}

const char *advice_cost(enum mt_knob_cost cost)
{
	static const char *const words[MT_KNOB_COSTS] = { "costs nothing", "costs some time", "costs much time",
							  "needs more GPUs", "changes results" };

	return words[cost];
}

/* ---- evidence ---- */

static const char *moment_words(const struct advice *advice)
{
	return advice->effects.run.failed ? "at the failed request" : "at the peak";
}

/* Bytes of the setting's category at the sites that it changes; *most: the node with the largest saving. */
static uint64_t bytes_there(const struct scene *scene, const struct effect *effect, uint32_t *most)
{
	const struct scene_site *site;
	uint64_t sum = 0, best = 0;
	size_t i;

	*most = SCENE_NONE;
	for (i = 0; i < effect->parts; i++) {
		site = &scene->site[effect->part[i].site];
		if (site->category != effect->category)
			continue;
		sum += site->at[SCENE_NOW];
		if (effect->part[i].bytes > best && site->node != SCENE_NONE) {
			best = effect->part[i].bytes;
			*most = site->node;
		}
	}
	return sum;
}

void advice_say_evidence(struct sentence *sentence, const struct advice *advice, const struct effect *effect)
{
	const struct scene *scene = &advice->why.scene;
	uint32_t most;
	uint64_t there = bytes_there(scene, effect, &most);
	const struct callstack_frame *frame;
	char function[CALLSTACK_PLACE_MAX], place[CALLSTACK_PLACE_MAX];
	char size[TEXT_SIZE_MAX], range[ADVICE_RANGE_MAX];

	sentence_say(sentence, "%s%s%s %s", there ? text_bytes(size, there) : advice_range(range, effect->saved),
		     effect->probable ? ", probably " : " of ", mt_category_name(effect->category),
		     moment_words(advice));
	if (most == SCENE_NONE)
		return;
	most = scene_telling(scene, most) == SCENE_NONE ? most : scene_telling(scene, most);
	frame = &scene->frame[scene->node[most].frame].frame;
	sentence_say(sentence, ", most of it by ");
	answer_say_place(sentence, callstack_function(function, sizeof(function), frame),
			 callstack_place(place, sizeof(place), frame));
}

/* ---- rows ---- */

void advice_say_action(struct sentence *sentence, const struct advice *advice, const struct advice_row *row)
{
	why_say_action(sentence, &advice->why, row->candidate);
	if (row->candidate->freed_high && row->candidate->parts)
		why_fill(sentence, &advice->why, row->candidate, " This frees up to {excess}{of}[, made by {place}].");
}

void advice_say_saved(struct sentence *sentence, const struct advice *advice, const struct effect *effect)
{
	const struct effects *effects = &advice->effects;
	char range[ADVICE_RANGE_MAX];

	sentence_say(sentence, "saves %s%s", effect->probable ? "probably " : "", advice_range(range, effect->saved));
	if (effects->needed)
		sentence_say(sentence, "%s",
			     effect->fits && effects->run.replay.later.from == REPLAY_LATER_UNKNOWN
				     ? ", enough for this request"
			     : effect->fits                          ? ", enough"
			     : effect->saved.high >= effects->needed ? ", perhaps enough"
								     : ", not enough alone");
	sentence_say(sentence, "; %s", advice_cost(effect->cost));
}

/* Text such as " of deepspeed" for a key that the main framework neither has nor hands on. */
static void say_whose(struct sentence *sentence, const struct advise_config *config, const struct mt_knob *knob)
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

void advice_say_change(struct sentence *sentence, const struct advice *advice, const struct effect *effect)
{
	const struct mt_knob *knob = effect->knob;
	char now[ADVICE_WORDS_MAX], with[ADVISE_WORDS_MAX];

	sentence_say(sentence, "%s %s", effect->by > 0 ? "Lower" : "Set", knob->name.key);
	say_whose(sentence, advice->effects.config, knob);
	if (knob->written == MT_KNOB_WRITTEN_CODE)
		sentence_say(sentence, " (%s)", knob->what);
	else if (effect->by > 0)
		sentence_say(sentence, " by %.2g, to %s or less (now: %s)", effect->by, effect->to,
			     advice_now(effect, now));
	else
		sentence_say(sentence, " to %s%s (now: %s)", advice_proposed(effect),
			     advise_taken_with(advice->effects.config, (struct advise_change){ knob, effect->to },
					       with),
			     advice_now(effect, now));
}

/* No setting has a number of bytes: name the one that would do the action. */
static void say_other(struct sentence *sentence, const struct effect *other)
{
	if (!other)
		sentence_say(sentence, "No setting does this.");
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
		say_other(sentence, row->other);
		return;
	}
	if (row->again) {
		sentence_say(sentence, "The same setting helps: %s.", effect->knob->name.key);
		return;
	}
	if (effect->action != row->candidate->fix->action)
		sentence_say(sentence, "Or: ");
	advice_say_change(sentence, advice, effect);
	sentence_say(sentence, ": ");
	advice_say_saved(sentence, advice, effect);
	if (effect->fits && effect->knob->method != MT_KNOB_METHOD_ALLOCATOR)
		sentence_say(sentence, ". The peak is then %s, in %s", advice_range(range, effect->outcome.peak),
			     answer_phase(mt_phase_name(effect->outcome.in)));
	sentence_say(sentence, ".");
	if (*effect->only)
		sentence_say(sentence, " It counts only if %s.", effect->only);
}
