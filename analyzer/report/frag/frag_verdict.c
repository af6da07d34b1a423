/* The verdict of memana frag. */
#include <string.h>
#include "frag.h"
#include "report/finding.h"

#define IDLE_MATTERS 20 /* divisor: idle bytes below 1/IDLE_MATTERS of the reserved bytes give no advice */

/* Says "at the peak", "when memory ran out", "at the peak of step 3", "at the end of step 3" or "at 12.5 s". */
static void say_when(struct sentence *sentence, const struct frag_state *state)
{
	const char *at = state->instant.at, *step = !strncmp(at, "step:", 5) ? at + 5 : NULL;
	int length = step ? (int)strspn(step, "0123456789") : 0;
	char time[TEXT_SIZE_MAX];

	if (!*at)
		sentence_say(sentence, "%s", text_known.times ? text_at(time, state->instant.when.time) + 1 : "then");
	else if (!strncmp(at, "oom", 3))
		sentence_say(sentence, "when memory ran out");
	else if (step)
		sentence_say(sentence, "at the %s of step %.*s", step[length] ? "end" : "peak", length, step);
	else
		sentence_say(sentence, text_known.history ? "at the %s" : "in the snapshot", at);
	if (!*at || (step && step[length]) || !*state->instant.phase || !text_known.history)
		return;
	sentence_say(sentence, " (%s%s%s of step %lld)",
		     text_known.times ? text_time(time, state->instant.when.time) : "", text_known.times ? ", " : "",
		     state->instant.phase, (long long)state->instant.step);
}

/* Whether pinned segments have at least a quarter of the idle bytes. Small tensors pin a segment or two in any program. */
static int pins_matter(const struct frag_state *state)
{
	return state->pins.count && state->pins.idle >= frag_idle(&state->map) / 4;
}

static void say_pins(struct sentence *sentence, const struct frag_state *state, struct db *db)
{
	const struct frag_pins *pins = &state->pins;
	char bytes[TEXT_SIZE_MAX], idle[TEXT_SIZE_MAX], place[256], count[64];

	if (!pins_matter(state))
		return;
	sentence_say(sentence, " %s with %s idle %s pinned by %s of tensors, most by %s from %s.",
		     text_count(count, sizeof(count), pins->segments, "segment"), text_bytes(idle, pins->idle),
		     pins->segments == 1 ? "is" : "are", text_bytes(bytes, pins->bytes),
		     finding_place(place, sizeof(place), db, pins->pin[0].node), pins->pin[0].phase);
}

/*
 * Says how many bytes torch.cuda.empty_cache() gives back, if these are a quarter of the idle bytes or more; returns 1. Otherwise names the tensors
 * that must be freed first; returns 0.
 */
static int say_cache(struct sentence *sentence, const struct frag_state *state, struct db *db)
{
	uint64_t back = state->map.map.free_pieces;
	int worth = back && back >= frag_idle(&state->map) / 4;
	char size[TEXT_SIZE_MAX], place[256];

	if (worth)
		sentence_say(sentence, " torch.cuda.empty_cache() would give back %s.", text_bytes(size, back));
	else if (pins_matter(state))
		sentence_say(sentence,
			     " torch.cuda.empty_cache() would give back %s: free the tensors that pin the segments first, "
			     "or do not keep them: those of %s.",
			     back ? text_bytes(size, back) : "nothing",
			     finding_place(place, sizeof(place), db, state->pins.pin[0].node));
	return worth;
}

/* Whether the idle bytes are one hole: they are in one piece already. */
static int is_one_hole(const struct frag_state *state)
{
	return state->map.map.largest_hole == frag_idle(&state->map);
}

static void say_advice(struct sentence *sentence, const struct frag_state *state, struct db *db)
{
	int worth = say_cache(sentence, state, db);

	if (state->expandable)
		sentence_say(sentence, " Expandable segments are on already.");
	else if (is_one_hole(state))
		return;
	else if (state->sleeps)
		sentence_say(sentence,
			     " Expandable segments are not possible here: a pool that sleeps is in use (vLLM sleep "
			     "mode, torch_memory_saver)%s.",
			     worth ? "; empty the cache before it wakes up" : "");
	else {
		sentence_say(sentence, " PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True would join the holes%s",
			     pins_matter(state) ? " and let pinned segments shrink" : "");
		if (state->pool_beside)
			sentence_say(sentence,
				     " (in this process alone: pid %lld has a pool that sleeps, and refuses to start with it)",
				     (long long)state->pool_beside);
		sentence_say(sentence, ".");
	}
}

struct sentence frag_verdict(const struct frag_state *state, struct db *db)
{
	const struct segment_map *map = &state->map.map;
	uint64_t idle = frag_idle(&state->map);
	struct sentence sentence = { 0 };
	char one[TEXT_SIZE_MAX], two[TEXT_SIZE_MAX], three[TEXT_SIZE_MAX];

	if (!map->count) {
		sentence_say(&sentence, "No caching allocator holds memory ");
		say_when(&sentence, state);
		sentence_say(&sentence, ": nothing can be fragmented.");
		return sentence;
	}
	if (!idle) {
		sentence_say(&sentence, "Fragmentation is no problem here: nothing of %s reserved is idle ",
			     text_bytes(two, map->bytes));
		say_when(&sentence, state);
		sentence_say(&sentence, ".");
		return sentence;
	}
	if (idle < map->bytes / IDLE_MATTERS)
		sentence_say(&sentence, "Fragmentation is no problem here: only ");
	sentence_say(&sentence, "%s of %s reserved (%s) is idle ", text_bytes(one, idle), text_bytes(two, map->bytes),
		     text_percent(three, idle, map->bytes));
	say_when(&sentence, state);
	if (is_one_hole(state))
		sentence_say(&sentence, ", in one hole");
	else
		sentence_say(&sentence, "; the largest hole is %s", text_bytes(one, map->largest_hole));
	if (idle < map->bytes / IDLE_MATTERS) {
		sentence_say(&sentence, ".");
		return sentence;
	}
	if (is_one_hole(state))
		sentence_say(&sentence, ".");
	else
		sentence_say(&sentence, ": a larger request needs new memory from the driver although %s is free.",
			     text_bytes(two, idle));
	say_pins(&sentence, state, db);
	say_advice(&sentence, state, db);
	return sentence;
}
