/*
 * rules.h - what the rule files say of a frame or a mark; for formats/rules*.c and formats/phase*.c only.
 */
#ifndef FORMATS_RULES_H
#define FORMATS_RULES_H

#include <regex.h>
#include <stddef.h>
#include <stdint.h>
#include "memtrace/phase.h"

/* What is matched. X(NAME, key of the file) */
#define RULE_PATTERN_LIST(X)     \
	X(FUNCTION, "function")  \
	X(FILE, "file")          \
	X(MODULE, "module")      \
	X(MARK, "mark")

/* What is said then. X(NAME, key of the file) */
#define RULE_SAYING_LIST(X)      \
	X(ROLE, "role")          \
	X(PART, "part")          \
	X(CATEGORY, "category")  \
	X(OUTER, "outer")        \
	X(STEP, "step")

enum rule_pattern {
#define RULE_PATTERN_ENUM(name, key) RULE_##name,
	RULE_PATTERN_LIST(RULE_PATTERN_ENUM)
#undef RULE_PATTERN_ENUM
	RULE_PATTERNS
};

enum rule_saying {
#define RULE_SAYING_ENUM(name, key) RULE_SAYS_##name,
	RULE_SAYING_LIST(RULE_SAYING_ENUM)
#undef RULE_SAYING_ENUM
	RULE_SAYINGS
};

/* One value per saying, and which of them were said: bit 1 << RULE_SAYS_x. "none" is something said. */
struct rule_match {
	uint8_t said;
	uint8_t value[RULE_SAYINGS];
};

struct rule {
	uint8_t given; /* bit 1 << RULE_x: pattern[RULE_x] is compiled */
	regex_t pattern[RULE_PATTERNS];
	struct rule_match match;
};

/* The rules of one file, in its order. Later files come first in the list. */
struct rule_file {
	struct rule_file *next;
	struct rule *rule;
	size_t rules;
	int8_t part_category[MT_PART_OPTIMIZER + 1], role_category[MT_ROLE_OTHER + 1]; /* enum mt_category, -1: not said */
};

struct mt_rules {
	struct rule_file *files;
};

/* The files that the program carries. X(symbol, file name in formats/rules) - later ones go before earlier ones. */
#define RULES_BUILTIN_LIST(X)             \
	X(rules_pytorch, "pytorch.yaml")  \
	X(rules_marks, "marks.yaml")

struct rules_builtin {
	const char *name;
	const char *text, *end;
};

/* All of RULES_BUILTIN_LIST; *count of them. Static storage. */
const struct rules_builtin *rules_builtin(size_t *count);

/* Frees what the file owns and itself. */
void rule_file_free(struct rule_file *file);

/* What the rules say of a frame. Texts may be "", never NULL; `module` is "" for Python frames. */
struct rule_match rules_match_frame(const struct mt_rules *rules, const char *function, const char *file,
				    const char *module);

/* What they say of the name of a range, mark or phase. */
struct rule_match rules_match_mark(const struct mt_rules *rules, const char *name);

#endif
