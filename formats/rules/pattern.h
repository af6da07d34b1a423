/*
 * pattern.h - regular expressions with bounded time and memory.
 *
 * The memory of a compiled pattern grows with its length. The time of a match grows with pattern times text. The syntax is the part of POSIX extended
 * regular expressions that a set of states can follow: literals, `.`, bracket expressions, groups, `|`, `*`, `+`, `?`, `^` and `$`, and also \w \W \s
 * \S. Counted repetition, back references and word boundaries are refused. Patterns and texts are bytes in each locale: `.` is one byte, and upper
 * and lower case are those of ASCII.
 */
#ifndef FORMATS_PATTERN_H
#define FORMATS_PATTERN_H

#include <stddef.h>

#define PATTERN_MAX 2048u /* bytes of a pattern, at most */

/* The errors of a pattern. X(NAME, 1: POSIX has this syntax, words) */
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
	size_t at; /* bytes of the pattern before the error */
};

/* Returns the words for an error. Static storage. */
const char *pattern_fault_words(enum pattern_fault_kind kind);

/* Whether POSIX has the syntax that was refused. 0: the pattern is an error in any program. */
int pattern_fault_is_choice(enum pattern_fault_kind kind);

struct pattern; /* A compiled pattern. It never changes: several threads can use it. */

/*
 * Compiles a pattern; `fold` 1: upper and lower case are equal. Returns 0; -MT_E_RULES: refused, see *fault; -MT_E_LIMIT: longer than PATTERN_MAX; or
 * -MT_E_MEMORY. The caller frees *pattern, which is NULL after an error.
 */
int pattern_new(struct pattern **pattern, const char *text, int fold, struct pattern_fault *fault);
void pattern_free(struct pattern *pattern); /* NULL is allowed */

/* Whether the pattern matches at some place of the text. */
int pattern_matches(const struct pattern *pattern, const char *text);

/*
 * Returns the longest known text that is in each match; NULL: no such text. pattern_matches searches for this text first: a search is much cheaper
 * than a match. Valid until pattern_free.
 */
const char *pattern_literal(const struct pattern *pattern);

/* Returns the bytes of memory of the compiled pattern. */
size_t pattern_bytes(const struct pattern *pattern);

#endif
