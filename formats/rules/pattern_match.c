/*
 * pattern_match.c - matches a text: follows all paths through the graph of a pattern at the same time, byte by byte.
 *
 * Most texts do not match, and a match can begin at few places. The literal bounds these places, and the first two bytes of a match exclude most
 * others. A path without a fork needs no bookkeeping.
 */
#include "pattern_impl.h"

#include <string.h>

#define MARK_WORDS ((STATES_MAX + 63) / 64)

struct run {
	const struct pattern *pattern;
	const unsigned char *text;
	/* All paths at one place of the text: the states that wait for a byte, and one bit for each state that was entered here. */
	uint32_t count;
	uint16_t waiting[STATES_MAX];
	uint64_t entered[MARK_WORDS];
	/* A match can begin from `from` to `until`, or after the next literal; NULL: at no place. */
	const unsigned char *from, *until;
	uint16_t before[STATES_MAX]; /* the states that waited for the previous byte */
	uint16_t stack[STATES_MAX];
};

static void enter(struct run *run, uint32_t *depth, uint16_t state)
{
	uint64_t *word = &run->entered[state >> 6], bit = 1ull << (state & 63);

	if (*word & bit)
		return;
	*word |= bit;
	run->stack[(*depth)++] = state;
}

/* Enters `state` and all states that it reaches without a byte. Returns 1: a match. */
static int follow(struct run *run, uint16_t state, int at_begin, int at_end)
{
	const struct state *now;
	uint32_t depth = 0;

	enter(run, &depth, state);
	while (depth) {
		state = run->stack[--depth];
		now = &run->pattern->state[state];
		switch (now->move) {
		case MOVE_BYTE:
		case MOVE_SET:
			run->waiting[run->count++] = state;
			break;
		case MOVE_FORK:
			enter(run, &depth, now->other);
			enter(run, &depth, now->next);
			break;
		case MOVE_MATCH:
			return 1;
		default:
			if (now->move == MOVE_FREE || (now->move == MOVE_BEGIN ? at_begin : at_end))
				enter(run, &depth, now->next);
		}
	}
	return 0;
}

static void forget_ways(struct run *run)
{
	uint32_t words = (run->pattern->states + 63) / 64, i;

	for (i = 0; i < words; i++)
		run->entered[i] = 0;
	run->count = 0;
}

static uint32_t take_ways(struct run *run)
{
	uint32_t count = run->count, i;

	for (i = 0; i < count; i++)
		run->before[i] = run->waiting[i];
	forget_ways(run);
	return count;
}

static int accepts(const struct pattern *pattern, const struct state *state, unsigned char byte)
{
	return state->move == MOVE_BYTE ? state->byte == byte : set_has(&pattern->set[state->other], byte);
}

static unsigned char byte_at(const struct pattern *pattern, const unsigned char *at)
{
	return pattern->fold ? fold_byte(*at) : *at;
}

/* Takes the byte at `at` in all waiting states. Returns 1: a match. */
static int step(struct run *run, const unsigned char *at)
{
	const struct pattern *pattern = run->pattern;
	unsigned char byte = byte_at(pattern, at);
	uint32_t count = take_ways(run), i;
	const struct state *state;

	for (i = 0; i < count; i++) {
		state = &pattern->state[run->before[i]];
		if (accepts(pattern, state, byte) && follow(run, state->next, 0, !at[1]))
			return 1;
	}
	return 0;
}

/* Finds the next literal. Each match contains a literal, and begins at most pattern->before bytes before the literal. */
static void find_window(struct run *run, const unsigned char *at)
{
	const struct pattern *pattern = run->pattern;

	run->until = (const unsigned char *)strstr((const char *)at, pattern->literal);
	run->from = run->text;
	if (run->until && (size_t)(run->until - run->text) > pattern->before)
		run->from = run->until - pattern->before;
}

/* Whether a match can begin at `at`. Call this for places in ascending order. */
static int may_begin(struct run *run, const unsigned char *at)
{
	int begin = at == run->text;

	if (run->until && at > run->until)
		find_window(run, at);
	return run->until && at >= run->from &&
	       (!*at || (set_has(&run->pattern->first[begin], *at) && set_has(&run->pattern->second[begin], at[1])));
}

/* Returns the next place at which a match can begin; NULL: no such place. */
static const unsigned char *next_begin(struct run *run, const unsigned char *at)
{
	if (run->pattern->only_at_begin)
		return NULL;
	while (!may_begin(run, at)) {
		if (!run->until || !*at)
			return NULL;
		at = at < run->from ? run->from : at + 1;
	}
	return at;
}

/* Follows a single path: the usual case. */
static const unsigned char *walk(struct run *run, const unsigned char *at)
{
	const struct pattern *pattern = run->pattern;
	const struct state *state = &pattern->state[run->waiting[0]];
	const unsigned char *from = at;

	while (*at && accepts(pattern, state, byte_at(pattern, at)) && pattern->state[state->next].move <= MOVE_SET &&
	       !may_begin(run, at + 1)) {
		state = &pattern->state[state->next];
		at++;
	}
	if (at == from)
		return at;
	forget_ways(run);
	follow(run, (uint16_t)(state - pattern->state), 0, 0);
	return at;
}

static int search(struct run *run)
{
	const struct pattern *pattern = run->pattern;
	const unsigned char *at = run->text;

	forget_ways(run);
	if (may_begin(run, at) && follow(run, pattern->start, 1, !*at))
		return 1;
	while (*at) {
		if (run->count == 1)
			at = walk(run, at);
		if (*at && run->count && step(run, at))
			return 1;
		at += *at != 0;
		if (!run->count) {
			forget_ways(run);
			at = next_begin(run, at);
		}
		if (!at)
			return 0;
		if (may_begin(run, at) && follow(run, pattern->start, 0, !*at))
			return 1;
	}
	return 0;
}

int pattern_matches(const struct pattern *pattern, const char *text)
{
	struct run run;

	run.pattern = pattern;
	run.text = run.from = (const unsigned char *)text;
	run.until = (const unsigned char *)UINTPTR_MAX;
	if (pattern->literal)
		find_window(&run, run.text);
	return run.until && search(&run);
}

/* ---- beginnings -------------------------------------------------------------------------------------------------- */

/* Collects the bytes that the waiting states take, both cases if these are equal; `all` 1: each byte is taken. */
static void collect_bytes(const struct run *run, struct set *set, int all)
{
	const struct pattern *pattern = run->pattern;
	const struct state *state;
	uint32_t i, word;
	int byte;

	memset(set, all ? 0xff : 0, sizeof(*set));
	for (i = 0; i < run->count; i++) {
		state = &pattern->state[run->waiting[i]];
		if (state->move == MOVE_BYTE)
			set_add(set, state->byte);
		for (word = 0; state->move == MOVE_SET && word < 4; word++)
			set->word[word] |= pattern->set[state->other].word[word];
	}
	for (byte = 'A'; pattern->fold && byte <= 'Z'; byte++)
		if (set_has(set, fold_byte((unsigned char)byte)))
			set_add(set, (unsigned char)byte);
}

/* The text may end after one byte: 0 is a possible second byte. */
static void find_beginnings(struct run *run, struct pattern *pattern, int at_begin)
{
	uint32_t count, i;
	int empty;

	forget_ways(run);
	empty = follow(run, pattern->start, at_begin, 0);
	collect_bytes(run, &pattern->first[at_begin], empty);
	count = take_ways(run);
	for (i = 0; i < count && !empty; i++)
		empty = follow(run, pattern->state[run->before[i]].next, 0, 0);
	collect_bytes(run, &pattern->second[at_begin], empty);
	set_add(&pattern->second[at_begin], 0);
}

void pattern_know_beginnings(struct pattern *pattern)
{
	struct run run;

	run.pattern = pattern;
	find_beginnings(&run, pattern, 0);
	find_beginnings(&run, pattern, 1);
	forget_ways(&run);
	pattern->only_at_begin = !follow(&run, pattern->start, 0, 1) && !run.count;
}
