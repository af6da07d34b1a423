/*
 * pattern.c - compiles a pattern into a graph of states. A match follows all paths through the graph at the same time.
 *
 *     ab*|c      ┌─ a ─> fork ──────┐
 *          fork ─┤        │  ^      ├─> join ─> match
 *                │        b  ┘      │
 *                └─ c ──────────────┘
 *
 * Each byte of the pattern makes at most two states, and each byte of the text enters each state at most once. This bounds time and memory. The
 * parser keeps open groups on a stack of its own.
 */
#include "pattern_impl.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"

const char *pattern_fault_words(enum pattern_fault_kind kind)
{
	static const char *const words[] = {
#define FAULT_WORDS(name, posix, words) words,
		PATTERN_FAULT_LIST(FAULT_WORDS)
#undef FAULT_WORDS
	};

	return words[kind];
}

int pattern_fault_is_choice(enum pattern_fault_kind kind)
{
	static const uint8_t choice[] = {
#define FAULT_CHOICE(name, posix, words) posix,
		PATTERN_FAULT_LIST(FAULT_CHOICE)
#undef FAULT_CHOICE
	};

	return choice[kind];
}

/* A part of the graph with one start, and one end state that has no `next` so far. */
struct piece {
	uint16_t start, end;
	uint32_t longest; /* bytes of the longest match */
};

static const struct piece nothing = { NOWHERE, NOWHERE, 0 };

/* A group, or the whole pattern, as far as it was parsed. */
struct group {
	struct piece sequence;       /* parsed part of the current alternative; start NOWHERE: nothing so far */
	struct piece alternatives;   /* earlier alternatives */
	const unsigned char *opened; /* position of the opening parenthesis */
};

struct parser {
	struct pattern *pattern;
	const unsigned char *text, *at;
	struct group *group; /* innermost open group */
	struct group *groups;
	struct pattern_fault *fault;
	int failed;
	char *run; /* current literal outside of groups */
	size_t run_size, literal_size;
	uint32_t run_before; /* largest number of bytes that a match has before the literal */
	int no_literal;      /* 1: alternatives outside of groups: no literal is in each match */
};

static void fail(struct parser *parser, enum pattern_fault_kind kind, const unsigned char *at)
{
	if (parser->failed)
		return;
	parser->failed = 1;
	parser->fault->kind = kind;
	parser->fault->at = (size_t)(at - parser->text);
}

static uint16_t add_state(struct parser *parser, enum move move)
{
	struct pattern *pattern = parser->pattern;

	pattern->state[pattern->states] = (struct state){ .move = move, .next = NOWHERE, .other = NOWHERE };
	return (uint16_t)pattern->states++;
}

static struct piece one_state(struct parser *parser, enum move move)
{
	uint16_t state = add_state(parser, move);

	return (struct piece){ state, state, move <= MOVE_SET };
}

static uint32_t add_lengths(uint32_t a, uint32_t b)
{
	return a == ENDLESS || b == ENDLESS ? ENDLESS : a + b;
}

static void connect(struct parser *parser, struct piece *to, struct piece piece)
{
	if (to->start == NOWHERE)
		to->start = piece.start;
	else
		parser->pattern->state[to->end].next = piece.start;
	to->end = piece.end;
	to->longest = add_lengths(to->longest, piece.longest);
}

/* Ends the current literal, and keeps the longest one. */
static void end_run(struct parser *parser)
{
	if (parser->run_size > parser->literal_size) {
		memcpy(parser->pattern->literal, parser->run, parser->run_size);
		parser->literal_size = parser->run_size;
		parser->pattern->before = parser->run_before;
	}
	parser->run_size = 0;
}

/* Adds bytes to the current literal. Bytes in a group, or optional ones, can be missing from a match: they end the literal. */
static void note_literal(struct parser *parser, const unsigned char *bytes, size_t size, int optional, int repeated)
{
	if (parser->group != parser->groups || optional) {
		end_run(parser);
		return;
	}
	if (!parser->run_size)
		parser->run_before = parser->group->sequence.longest;
	memcpy(parser->run + parser->run_size, bytes, size);
	parser->run_size += size;
	if (repeated)
		end_run(parser);
}

/* Reads all *, + and ? at this place: the piece may be missing, may repeat, or both. */
static void read_repeats(struct parser *parser, int *optional, int *repeated)
{
	*optional = *repeated = 0;
	for (; *parser->at && strchr("*+?", *parser->at); parser->at++) {
		*optional |= *parser->at != '+';
		*repeated |= *parser->at != '?';
	}
}

static struct piece repeat(struct parser *parser, struct piece piece, int optional, int repeated)
{
	struct state *state = parser->pattern->state;
	struct piece fork, join;

	if (!optional && !repeated)
		return piece;
	fork = one_state(parser, MOVE_FORK);
	state[fork.start].other = piece.start;
	if (repeated) {
		state[piece.end].next = fork.start;
		return (struct piece){ optional ? fork.start : piece.start, fork.end, ENDLESS };
	}
	join = one_state(parser, MOVE_FREE);
	state[piece.end].next = state[fork.start].next = join.start;
	return (struct piece){ fork.start, join.end, piece.longest };
}

/* Reads the repeats after the piece, and appends the piece to the sequence. */
static void append(struct parser *parser, struct piece piece)
{
	int optional, repeated;

	end_run(parser);
	read_repeats(parser, &optional, &repeated);
	connect(parser, &parser->group->sequence, repeat(parser, piece, optional, repeated));
}

/* Returns the bytes of the character here: a repeat is for the whole UTF-8 character. */
static size_t character_size(const unsigned char *at)
{
	size_t size = 1;

	while (at[0] >= 0xC0 && (at[size] & 0xC0) == 0x80 && size < 4)
		size++;
	return size;
}

static void append_literal(struct parser *parser, const unsigned char *bytes, size_t size)
{
	struct piece piece = nothing, one;
	int optional, repeated;
	size_t i;

	for (i = 0; i < size; i++) {
		one = one_state(parser, MOVE_BYTE);
		parser->pattern->state[one.start].byte = parser->pattern->fold ? fold_byte(bytes[i]) : bytes[i];
		connect(parser, &piece, one);
	}
	read_repeats(parser, &optional, &repeated);
	note_literal(parser, bytes, size, optional, repeated);
	connect(parser, &parser->group->sequence, repeat(parser, piece, optional, repeated));
}

/* Adds the set to the pattern, or uses an equal set that it has. */
static void append_set(struct parser *parser, const struct set *set)
{
	struct pattern *pattern = parser->pattern;
	struct piece piece = one_state(parser, MOVE_SET);
	uint32_t i = 0;

	while (i < pattern->sets && memcmp(&pattern->set[i], set, sizeof(*set)))
		i++;
	if (i == pattern->sets)
		pattern->set[pattern->sets++] = *set;
	pattern->state[piece.start].other = (uint16_t)i;
	append(parser, piece);
}

static void set_invert(struct set *set)
{
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(set->word); i++)
		set->word[i] = ~set->word[i];
}

/* Adds an ASCII class to the set. For other bytes, is_x depends on the locale. */
static void set_add_class(struct set *set, int (*is_in)(int))
{
	int byte;

	for (byte = 0; byte < 0x80; byte++)
		if (is_in(byte))
			set_add(set, (unsigned char)byte);
}

/* X(name) */
#define CLASS_LIST(X) \
	X(alnum) X(alpha) X(blank) X(cntrl) X(digit) X(graph) X(lower) X(print) X(punct) X(space) X(upper) X(xdigit)

/* Reads "[:alpha:]" and the bytes up to its end. */
static void read_class(struct parser *parser, struct set *set)
{
	static const struct {
		const char *name;
		int (*is_in)(int);
	} classes[] = {
#define CLASS_ROW(name) { #name, is##name },
		CLASS_LIST(CLASS_ROW)
#undef CLASS_ROW
	};
	const unsigned char *name = parser->at + 2, *end = (const unsigned char *)strstr((const char *)name, ":]");
	size_t i;

	for (i = 0; end && i < MT_ARRAY_SIZE(classes); i++) {
		if (strlen(classes[i].name) != (size_t)(end - name) ||
		    memcmp(classes[i].name, name, (size_t)(end - name)))
			continue;
		set_add_class(set, classes[i].is_in);
		parser->at = end + 2;
		return;
	}
	fail(parser, PATTERN_FAULT_CLASS, parser->at);
}

/* Whether the character can be an element of a bracket expression, or the end of a range. */
static int check_element(struct parser *parser, const unsigned char *at)
{
	if (*at >= 0x80)
		fail(parser, PATTERN_FAULT_FOREIGN, at);
	else if (*at == '[' && at[1] && strchr(".=", at[1]))
		fail(parser, PATTERN_FAULT_COLLATING, at);
	else if (*at == '[' && at[1] == ':')
		fail(parser, PATTERN_FAULT_RANGE, at);
	return !parser->failed;
}

/* Reads "a" or "a-z"; `inside` 1: after the first element. */
static void read_element(struct parser *parser, struct set *set, int inside)
{
	const unsigned char *at = parser->at;
	unsigned byte, last = *at;

	if (!check_element(parser, at))
		return;
	if (inside && *at == '-' && at[1] != ']') {
		fail(parser, PATTERN_FAULT_RANGE, at);
		return;
	}
	parser->at++;
	if (at[1] == '-' && at[2] && at[2] != ']') {
		if (!check_element(parser, at + 2))
			return;
		last = at[2];
		parser->at += 2;
	}
	if (last < *at)
		fail(parser, PATTERN_FAULT_RANGE, at);
	for (byte = *at; byte <= last; byte++)
		set_add(set, (unsigned char)byte);
}

static void set_fold(struct set *set)
{
	int upper;

	for (upper = 'A'; upper <= 'Z'; upper++)
		if (set_has(set, (unsigned char)upper))
			set_add(set, fold_byte((unsigned char)upper));
}

/* Reads from "[" to "]", where a backslash is a plain character. */
static void read_bracket(struct parser *parser)
{
	const unsigned char *open = parser->at, *first;
	struct set set = { { 0 } };

	parser->at += open[1] == '^' ? 2 : 1;
	first = parser->at;
	while (!parser->failed && *parser->at && (*parser->at != ']' || parser->at == first)) {
		if (parser->at[0] == '[' && parser->at[1] == ':')
			read_class(parser, &set);
		else
			read_element(parser, &set, parser->at != first);
	}
	if (!*parser->at)
		fail(parser, PATTERN_FAULT_BRACKET, open);
	if (parser->failed)
		return;
	parser->at++;
	if (parser->pattern->fold)
		set_fold(&set);
	if (open[1] == '^')
		set_invert(&set);
	append_set(parser, &set);
}

static int is_word(int byte)
{
	return isalnum(byte) || byte == '_';
}

static void read_escape(struct parser *parser)
{
	const unsigned char *at = parser->at;
	unsigned char what = at[1];
	struct set set = { { 0 } };

	if (!what)
		fail(parser, PATTERN_FAULT_BACKSLASH, at);
	else if (!strchr("wWsS", what) && (what >= 0x80 || !ispunct(what) || strchr("<>`'", what)))
		fail(parser, PATTERN_FAULT_ESCAPE, at); /* other programs give four of these signs a meaning */
	if (parser->failed)
		return;
	parser->at += 2;
	if (ispunct(what)) {
		append_literal(parser, at + 1, 1);
		return;
	}
	set_add_class(&set, tolower(what) == 'w' ? is_word : isspace);
	if (isupper(what))
		set_invert(&set);
	append_set(parser, &set);
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

static void open_group(struct parser *parser, struct group *group, const unsigned char *at)
{
	parser->group = group;
	group->sequence = group->alternatives = nothing;
	group->opened = at;
}

/* Ends the current alternative. All alternatives of a group have one end state. */
static void end_alternative(struct parser *parser)
{
	struct piece *all = &parser->group->alternatives, one = parser->group->sequence;
	struct state *state = parser->pattern->state;
	uint16_t fork;

	if (one.start == NOWHERE)
		one = one_state(parser, MOVE_FREE);
	parser->group->sequence = nothing;
	if (all->longest < one.longest)
		all->longest = one.longest;
	if (all->start == NOWHERE) {
		all->start = one.start;
		all->end = add_state(parser, MOVE_FREE);
	} else {
		fork = add_state(parser, MOVE_FORK);
		state[fork].next = all->start;
		state[fork].other = one.start;
		all->start = fork;
	}
	state[one.end].next = all->end;
}

/* Returns the group as one piece. A group without alternatives adds no state. */
static struct piece whole_group(struct parser *parser)
{
	if (parser->group->alternatives.start == NOWHERE && parser->group->sequence.start != NOWHERE)
		return parser->group->sequence;
	end_alternative(parser);
	return parser->group->alternatives;
}

static void close_group(struct parser *parser)
{
	struct piece whole;

	if (parser->group == parser->groups) {
		fail(parser, PATTERN_FAULT_UNOPENED, parser->at);
		return;
	}
	whole = whole_group(parser);
	parser->group--;
	parser->at++;
	append(parser, whole);
}

static void read_sign(struct parser *parser, unsigned char sign)
{
	struct set all = { { 0 } };

	parser->at++;
	end_run(parser);
	switch (sign) {
	case '(':
		open_group(parser, parser->group + 1, parser->at - 1);
		break;
	case '|':
		parser->no_literal |= parser->group == parser->groups;
		end_alternative(parser);
		break;
	case '.':
		set_invert(&all);
		append_set(parser, &all);
		break;
	case '^':
		connect(parser, &parser->group->sequence, one_state(parser, MOVE_BEGIN));
		break;
	default:
		connect(parser, &parser->group->sequence, one_state(parser, MOVE_END));
	}
}

static void read_next(struct parser *parser)
{
	unsigned char next = *parser->at;
	size_t size;

	if (strchr("(|.^$", next)) {
		read_sign(parser, next);
	} else if (next == ')') {
		close_group(parser);
	} else if (next == '[') {
		read_bracket(parser);
	} else if (next == '\\') {
		read_escape(parser);
	} else if (next == '{') {
		fail(parser, PATTERN_FAULT_COUNTED, parser->at);
	} else if (strchr("*+?", next)) {
		fail(parser, PATTERN_FAULT_REPEAT, parser->at);
	} else {
		size = character_size(parser->at);
		parser->at += size;
		append_literal(parser, parser->at - size, size);
	}
}

static void parse(struct parser *parser)
{
	struct pattern *pattern = parser->pattern;
	struct piece whole;

	open_group(parser, parser->groups, parser->at);
	while (*parser->at && !parser->failed)
		read_next(parser);
	if (parser->group != parser->groups)
		fail(parser, PATTERN_FAULT_GROUP, parser->group->opened);
	if (parser->failed)
		return;
	end_run(parser);
	whole = whole_group(parser);
	pattern->start = whole.start;
	pattern->state[whole.end].next = add_state(parser, MOVE_MATCH);
}

/* ---- the whole pattern ------------------------------------------------------------------------------------------- */

/* Frees the memory that was reserved and not used. */
static void trim(struct pattern *pattern, const struct parser *parser)
{
	struct state *state = realloc(pattern->state, pattern->states * sizeof(*state));
	struct set *set = realloc(pattern->set, (pattern->sets ? pattern->sets : 1) * sizeof(*set));
	char *literal;

	pattern->state = state ? state : pattern->state;
	pattern->set = set ? set : pattern->set;
	if (!parser->literal_size || parser->no_literal || pattern->fold) {
		free(pattern->literal);
		pattern->literal = NULL;
		return;
	}
	pattern->literal[parser->literal_size] = '\0';
	literal = realloc(pattern->literal, parser->literal_size + 1);
	pattern->literal = literal ? literal : pattern->literal;
}

/* Reserves memory for the largest graph that a pattern of `size` bytes can need. Returns 0 or -MT_E_MEMORY. */
static int reserve(struct parser *parser, size_t size)
{
	struct pattern *pattern = parser->pattern;

	pattern->state = malloc((2 * size + 4) * sizeof(*pattern->state));
	pattern->set = malloc((size + 1) * sizeof(*pattern->set));
	pattern->literal = malloc(size + 1);
	parser->run = malloc(size + 1);
	parser->groups = malloc((size + 1) * sizeof(*parser->groups));
	return pattern->state && pattern->set && pattern->literal && parser->run && parser->groups ? 0 : -MT_E_MEMORY;
}

int pattern_new(struct pattern **out, const char *text, int fold, struct pattern_fault *fault)
{
	struct parser parser = { .text = (const unsigned char *)text,
				 .at = (const unsigned char *)text,
				 .fault = fault };
	int error;

	*out = NULL;
	if (strlen(text) > PATTERN_MAX)
		return -MT_E_LIMIT;
	parser.pattern = calloc(1, sizeof(*parser.pattern));
	if (!parser.pattern)
		return -MT_E_MEMORY;
	parser.pattern->fold = fold != 0;
	error = reserve(&parser, strlen(text));
	if (!error)
		parse(&parser);
	if (!error && parser.failed)
		error = -MT_E_RULES;
	if (!error) {
		trim(parser.pattern, &parser);
		pattern_know_beginnings(parser.pattern);
		*out = parser.pattern;
	} else {
		pattern_free(parser.pattern);
	}
	free(parser.run);
	free(parser.groups);
	return error;
}

void pattern_free(struct pattern *pattern)
{
	if (!pattern)
		return;
	free(pattern->state);
	free(pattern->set);
	free(pattern->literal);
	free(pattern);
}

const char *pattern_literal(const struct pattern *pattern)
{
	return pattern->literal;
}

size_t pattern_bytes(const struct pattern *pattern)
{
	return sizeof(*pattern) + pattern->states * sizeof(*pattern->state) + pattern->sets * sizeof(*pattern->set) +
	       (pattern->literal ? strlen(pattern->literal) + 1 : 0);
}
