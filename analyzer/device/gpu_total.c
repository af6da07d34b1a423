#include "whole.h"

#include <string.h>

const char *whole_cause_word(enum whole_cause cause)
{
	static const char *const words[] = {
#define WHOLE_CAUSE_WORD(name, word) [WHOLE_##name] = word,
		WHOLE_CAUSE_LIST(WHOLE_CAUSE_WORD)
#undef WHOLE_CAUSE_WORD
	};

	return words[cause];
}

static int64_t end_of(const struct whole_sample *sample)
{
	return sample->time + sample->took + WHOLE_MARGIN;
}

/* What was held all the time while the pending sample was made; 0: it changed, or is not remembered any more. */
static int held_during(const struct whole *whole, uint64_t *held)
{
	const struct whole_change *change;
	uint64_t i;

	for (i = whole->changes; i > 0 && whole->changes - i < WHOLE_CHANGES; i--) {
		change = &whole->change[(i - 1) % WHOLE_CHANGES];
		if (change->time > end_of(&whole->pending))
			continue;
		*held = change->held;
		return change->time < whole->pending.time - WHOLE_MARGIN;
	}
	*held = 0; /* nothing had ever changed by then */
	return i == 0;
}

/* ---- taking the remainder apart ---- */

/* Asked for before the sample was over: later calls were only heard of before it was judged. */
static int was_asked(const struct whole *whole, const struct whole_asked *asked)
{
	return asked->is_asked && asked->first <= end_of(&whole->parts.sample);
}

static void grow(struct whole *whole, struct whole_parts *parts, int64_t bytes)
{
	uint8_t asked = 0;
	int cause, first = -1;

	for (cause = 0; cause < WHOLE_CAUSES; cause++) {
		if (!was_asked(whole, &whole->more[cause]))
			continue;
		asked |= (uint8_t)(1u << cause);
		if (first < 0)
			first = cause;
	}
	if (first < 0) {
		parts->unexplained += bytes;
		return;
	}
	parts->cause[first] += bytes;
	parts->with[first] |= (uint8_t)(asked & ~(1u << first));
}

/* Takes as much of `bytes` from *part as is in it. Returns the rest. */
static int64_t take(int64_t *part, int64_t bytes)
{
	int64_t taken = *part < 0 ? 0 : *part < bytes ? *part : bytes;

	*part -= taken;
	return bytes - taken;
}

/* From what the driver was asked to give back, then from what nobody can account for, then from what it may trim. */
static void shrink(struct whole *whole, struct whole_parts *parts, int64_t bytes)
{
	int cause;

	for (cause = 0; cause < WHOLE_CAUSES; cause++)
		if (was_asked(whole, &whole->less[cause]))
			bytes = take(&parts->cause[cause], bytes);
	bytes = take(&parts->unexplained, bytes);
	bytes = take(&parts->cause[WHOLE_POOLS], bytes);
	bytes = take(&parts->cause[WHOLE_GRAPHS], bytes);
	parts->unexplained -= bytes;
}

/* Calls about as new as the sample may still be at work: they speak for the next one, too. */
static void forget(struct whole_asked *asked, int64_t until)
{
	asked->is_asked &= asked->newest >= until;
	asked->first = asked->newest;
}

static void take_apart(struct whole *whole)
{
	struct whole_parts *parts = &whole->parts;
	int64_t before = parts->unexplained, growth;
	int cause;

	for (cause = 0; cause < WHOLE_CAUSES; cause++)
		before += parts->cause[cause];
	growth = (int64_t)(parts->sample.own - parts->held) - before;
	if (growth > 0)
		grow(whole, parts, growth);
	else
		shrink(whole, parts, -growth);
	for (cause = 0; cause < WHOLE_CAUSES; cause++) {
		forget(&whole->more[cause], parts->sample.time - WHOLE_MARGIN);
		forget(&whole->less[cause], parts->sample.time - WHOLE_MARGIN);
	}
}

/* A count that leaves out what is surely there says nothing of this process. */
static int makes_sense(const struct whole_sample *sample, uint64_t held)
{
	return sample->own_known || sample->used >= held;
}

static int judge(struct whole *whole)
{
	uint64_t held;

	if (!whole->is_pending)
		return 0;
	whole->is_pending = 0;
	whole->judged = whole->pending;
	whole->is_settled = held_during(whole, &held) && makes_sense(&whole->pending, held);
	if (!whole->is_settled)
		return 1;
	if (whole->settled++)
		whole->before = whole->parts;
	whole->parts.sample = whole->pending;
	whole->parts.held = held;
	if (whole->pending.own_known)
		take_apart(whole);
	return 1;
}

/* ---- what happens ---- */

int whole_held(struct whole *whole, int64_t time, uint64_t held)
{
	struct whole_change *change;
	int fresh = whole->is_pending && time > end_of(&whole->pending) ? judge(whole) : 0;

	change = &whole->change[whole->changes++ % WHOLE_CHANGES];
	change->time = time;
	change->held = held;
	return fresh;
}

void whole_asked(struct whole *whole, enum whole_cause cause, int more, int64_t time)
{
	struct whole_asked *asked = more ? &whole->more[cause] : &whole->less[cause];

	if (!asked->is_asked || time < asked->first)
		asked->first = time;
	if (!asked->is_asked || time > asked->newest)
		asked->newest = time;
	asked->is_asked = 1;
}

int whole_sample(struct whole *whole, const struct whole_sample *sample)
{
	int fresh = judge(whole);

	whole->pending = *sample;
	whole->is_pending = 1;
	return fresh;
}

int whole_finish(struct whole *whole)
{
	return judge(whole);
}

int64_t whole_mixed(const struct whole_parts *parts)
{
	int64_t mixed = 0;
	int cause;

	for (cause = 0; cause < WHOLE_CAUSES; cause++)
		mixed |= (int64_t)(parts->with[cause] & ((1 << WHOLE_CAUSES) - 1)) << WHOLE_CAUSES * cause;
	return mixed;
}

void whole_set_mixed(struct whole_parts *parts, int64_t mixed)
{
	int cause;

	for (cause = 0; cause < WHOLE_CAUSES; cause++)
		parts->with[cause] = (uint8_t)(mixed >> WHOLE_CAUSES * cause & ((1 << WHOLE_CAUSES) - 1));
}
