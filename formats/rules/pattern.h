/*
 * pattern.h - regular expressions with bounded time and memory. A compiled pattern takes memory in proportion to
 * its length, and matching takes time in proportion to pattern times text.
 *
 * The syntax is the part of POSIX extended regular expressions that a set of states can follow: literals, `.`,
 * bracket expressions, groups, `|`, `*`, `+`, `?`, `^` and `$`. It adds \w \W \s \S as many know them. The rest
 * (counted repetition, back references, word boundaries) is refused. Patterns and texts are bytes in every locale:
 * `.` is one byte, upper and lower case are those of ASCII.
 */
#ifndef FORMATS_PATTERN_H
#define FORMATS_PATTERN_H

#include <stddef.h>

#define PATTERN_MAX 2048u /* bytes */

/* The errors of a pattern. X(NAME, is it something that POSIX has, words) */
#define PATTERN_FAULT_LIST(X)                                                                           \
	X(GROUP, 0, "a ( that is never closed")                                                         \
	X(UNOPENED, 0, "a ) that nothing opens (write \\) for one)")                                    \
	X(BRACKET, 0, "a [ that is never closed")                                                       \
	X(RANGE, 0, "a range that ends before it begins, or a - in the middle (it goes first or last)") \
	X(CLASS, 0, "a class of characters that nobody knows")                                          \
	X(REPEAT, 0, "nothing to repeat")                                                               \
	X(BACKSLASH, 0, "a backslash at the end")                                                       \
	X(COUNTED, 1, "counted repetition {n,m} is not allowed in a pattern (write \\{ for a brace)")   \
	X(ESCAPE, 1, "a backslash goes before punctuation, w, W, s or S only")                          \
	X(COLLATING, 1, "[. .] and [= =] are not allowed in a pattern")                                 \
	X(FOREIGN, 1, "only ASCII is allowed inside of [ ]")

enum pattern_fault_kind {
#define PATTERN_FAULT_ENUM(name, posix, words) PATTERN_FAULT_##name,
	PATTERN_FAULT_LIST(PATTERN_FAULT_ENUM)
#undef PATTERN_FAULT_ENUM
};

struct pattern_fault {
	enum pattern_fault_kind kind;
	size_t at; /* bytes before it */
};

/* Static storage. */
const char *pattern_fault_words(enum pattern_fault_kind kind);

/* 1: POSIX knows it, and this does not. 0: nobody does. */
int pattern_fault_is_choice(enum pattern_fault_kind kind);

struct pattern; /* never changes: any number of threads may match with it */

/*
 * `fold`: upper and lower case are equal. 0; -MT_E_RULES: it is refused, see *fault; -MT_E_LIMIT: it is longer than
 * PATTERN_MAX; -MT_E_MEMORY. *pattern is the caller's, NULL on error.
 */
int pattern_new(struct pattern **pattern, const char *text, int fold, struct pattern_fault *fault);
void pattern_free(struct pattern *pattern); /* NULL is fine */

/* Is there a match anywhere in the text? */
int pattern_matches(const struct pattern *pattern, const char *text);

/*
 * A text that every match holds, the longest known: looking for it first is much cheaper than matching, and
 * pattern_matches does. NULL: none is sure. Lives as long as the pattern.
 */
const char *pattern_literal(const struct pattern *pattern);

/* Bytes of memory that the compiled pattern takes. */
size_t pattern_bytes(const struct pattern *pattern);

#endif
