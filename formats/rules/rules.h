/* rules.h - finds the rules that match a frame or a mark; for formats/rules*.c and formats/phase*.c only. */
#ifndef FORMATS_RULES_H
#define FORMATS_RULES_H

#include <stddef.h>
#include <stdint.h>
#include "memtrace/phase.h"
#include "pattern.h"

/* The parts of a frame or mark that a pattern can match. X(NAME, key of the file) */
#define RULE_PATTERN_LIST(X)    \
	X(FUNCTION, "function") \
	X(FILE, "file")         \
	X(MODULE, "module")     \
	X(MARK, "mark")

/* The results of a match. X(NAME, key of the file) - OUTER, OVER and SPAN belong to the role. */
#define RULE_SAYING_LIST(X)     \
	X(ROLE, "role")         \
	X(PART, "part")         \
	X(CATEGORY, "category") \
	X(STEP, "step")         \
	X(OUTER, "outer")       \
	X(OVER, "over")         \
	X(SPAN, "span")         \
	X(HELPER, "helper")

/* Keys that only readers of the files and tests/rules use. X(NAME, key) - of a rule, and of a file. */
#define RULE_NOTE_LIST(X) \
	X(UNTIL, "until") \
	X(READ, "read")
#define RULE_FILE_NOTE_LIST(X)  \
	X(RELEASES, "releases") \
	X(READ, "read")

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

#define RULE_OF_ROLE (1u << RULE_SAYS_OUTER | 1u << RULE_SAYS_OVER | 1u << RULE_SAYS_SPAN)

/* How a frame ends steps. X(NAME, number, word) - marks have only the first two. */
#define RULE_STEP_LIST(X)      \
	X(NOTHING, 0, "false") \
	X(ENDS, 1, "true")     \
	X(OPENS, 2, "opens")   \
	X(CLOSES, 3, "closes") \
	X(CLEARS, 4, "clears") \
	X(RENEWS, 5, "renews")

enum rule_step {
#define RULE_STEP_ENUM(name, number, word) RULE_STEP_##name = (number),
	RULE_STEP_LIST(RULE_STEP_ENUM)
#undef RULE_STEP_ENUM
};

/* Whether a thread that began in this frame works for other threads. X(NAME, number, word) - START: the next inner frame decides. */
#define RULE_HELPER_LIST(X)  \
	X(NONE, 0, "false")  \
	X(START, 1, "start") \
	X(TRUE, 2, "true")

enum rule_helper {
#define RULE_HELPER_ENUM(name, number, word) RULE_HELPER_##name = (number),
	RULE_HELPER_LIST(RULE_HELPER_ENUM)
#undef RULE_HELPER_ENUM
};

/* A value for each RULE_SAYS_x. `said` has the bit 1 << RULE_SAYS_x for each value that a rule has set (8 in use); "none" is such a value, too. */
struct rule_match {
	uint16_t said;
	uint8_t value[RULE_SAYINGS];
};

struct rule {
	struct pattern *pattern[RULE_PATTERNS]; /* owned; NULL: matches any text */
	struct rule_match match;
	uint8_t noted; /* bits of RULE_NOTE_LIST for the notes that the rule has */
	size_t line;   /* line in its file */
};

/* The rules of one file, in the file's order. In the list, a later file comes before an earlier one. */
struct rule_file {
	struct rule_file *next;
	char *name; /* owned */
	struct rule *rule;
	size_t rules;
	int8_t part_category[MT_PART_OPTIMIZER + 1],
		role_category[MT_ROLE_OTHER + 1]; /* enum mt_category; -1: not set */
};

struct mt_rules {
	struct rule_file *files;
	int more; /* 1: files were added to the built-in ones */
};

/* The built-in files. X(symbol, file name in formats/rules) - rules of a later file come before rules of an earlier file. */
#define RULES_BUILTIN_LIST(X)                \
	X(rules_pytorch, "pytorch.yaml")     \
	X(rules_marks, "marks.yaml")         \
	X(rules_megatron, "megatron.yaml")   \
	X(rules_deepspeed, "deepspeed.yaml") \
	X(rules_vllm, "vllm.yaml")           \
	X(rules_sglang, "sglang.yaml")       \
	X(rules_trl, "trl.yaml")             \
	X(rules_openrlhf, "openrlhf.yaml")   \
	X(rules_nemo_rl, "nemo-rl.yaml")     \
	X(rules_slime, "slime.yaml")         \
	X(rules_areal, "areal.yaml")         \
	X(rules_verl, "verl.yaml")

struct rules_builtin {
	const char *name;
	const char *text, *end;
};

/* Returns all of RULES_BUILTIN_LIST, and their number in *count. Static storage. */
const struct rules_builtin *rules_builtin(size_t *count);

/* Frees the file and all that it owns. NULL is allowed. */
void rule_file_free(struct rule_file *file);

/* Whether the rule matches the frame. Texts are as for rules_match_frame. */
int rule_fits(const struct rule *rule, const char *function, const char *file, const char *module);

/* Adds the rule's values that *match does not have. Returns their bits. */
unsigned int rule_add(struct rule_match *match, const struct rule *rule);

/* Returns what the rules say about a frame. Texts may be "", but never NULL; `module` is "" for Python frames. */
struct rule_match rules_match_frame(const struct mt_rules *rules, const char *function, const char *file,
				    const char *module);

/* Returns what the rules say about the name of a range, mark or phase. */
struct rule_match rules_match_mark(const struct mt_rules *rules, const char *name);

#endif
