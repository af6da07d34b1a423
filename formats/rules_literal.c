/* rules_literal.c - the text that must be there for a pattern to match. */
#include "rules.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Past the bracket expression that begins at `at`. Classes like [:alpha:] in it have brackets of their own. */
static const char *skip_bracket(const char *at)
{
	const char *end;
	char close[3] = "?]";

	at++;
	at += *at == '^';
	at += *at == ']';
	while (*at && *at != ']') {
		close[0] = at[1];
		end = *at == '[' && at[1] && strchr(":.=", at[1]) ? strstr(at + 2, close) : NULL;
		at = end ? end + 2 : at + 1;
	}
	return *at ? at + 1 : at;
}

/* Past the group that begins at `at`, with those inside it. */
static const char *skip_group(const char *at)
{
	int depth = 0;

	while (*at) {
		if (*at == '[') {
			at = skip_bracket(at);
			continue;
		}
		if (*at == '\\' && at[1]) {
			at += 2;
			continue;
		}
		depth += (*at == '(') - (*at == ')');
		at++;
		if (!depth)
			break;
	}
	return at;
}

/* A plain character of the pattern, with or without a backslash; 0: something else. */
static char plain_at(const char *at)
{
	if (*at == '\\')
		return at[1] && ispunct((unsigned char)at[1]) && !strchr("<>`'", at[1]) ? at[1] : 0;
	return strchr(".^$*+?|()[]{}", *at) ? 0 : *at;
}

/* One run of plain characters from `at` into `run`; *end is what follows. The last may be missing (b*, even b+?). */
static size_t read_run(const char *at, char *run, const char **end)
{
	size_t size = 0;
	char plain;

	while (*at && (plain = plain_at(at))) {
		run[size++] = plain;
		at += *at == '\\' ? 2 : 1;
	}
	*end = size ? at + strspn(at, "*+?") : at;
	if (size && strcspn(at, "*?") < (size_t)(*end - at))
		size--;
	return size;
}

/* Nothing is sure where the pattern has alternatives at its top: then the answer is none. */
static const char *skip_other(const char *at)
{
	if (*at == '|')
		return NULL;
	if (*at == '(')
		return skip_group(at);
	if (*at == '[')
		return skip_bracket(at);
	return at + (*at == '\\' && at[1] ? 2 : 1);
}

char *rule_literal(const char *pattern)
{
	char *run = malloc(strlen(pattern) + 1), *best = calloc(1, strlen(pattern) + 1);
	size_t size, longest = 0;
	const char *from;

	while (run && best && pattern && *pattern) {
		from = pattern;
		size = read_run(from, run, &pattern);
		if (size > longest) {
			longest = size;
			memcpy(best, run, size);
			best[size] = 0;
		}
		if (pattern == from)
			pattern = skip_other(from);
	}
	free(run);
	if (pattern && longest)
		return best;
	free(best);
	return NULL;
}
