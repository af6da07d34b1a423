/* why_impl.h - declarations that formats/why shares with its unit test. */
#ifndef FORMATS_WHY_IMPL_H
#define FORMATS_WHY_IMPL_H

#include "memtrace/texts.h"
#include "memtrace/why.h"
#include "memtrace/yaml_cursor.h"
#include "rules/pattern.h"

#define WHY_ROWS_MAX 4096u /* rows in a file */
#define WHY_WORDS_MAX 22u  /* words in a text */

/* The keys of a row with a pattern as value. X(NAME, key) */
#define WHY_PATTERN_LIST(X)     \
	X(FUNCTION, "function") \
	X(FILE, "file")         \
	X(MODULE, "module")

enum why_pattern {
#define WHY_PATTERN_ENUM(name, key) WHY_##name,
	WHY_PATTERN_LIST(WHY_PATTERN_ENUM)
#undef WHY_PATTERN_ENUM
		WHY_PATTERNS
};

struct why_tag_row {
	struct pattern *pattern[WHY_PATTERNS]; /* NULL: matches any text */
	uint64_t tags;
};

/* The conditions and the fix of a row. A condition has one bit for each allowed value; 0: no condition. */
struct why_fix_row {
	enum mt_cause cause;
	uint64_t category, phase, asking, who, need, asker;
	uint64_t tags; /* tags that the stack must have, all of them */
	uint32_t conditions;
	size_t line;
	struct mt_fix fix;
};

struct mt_why {
	struct why_tag_row *tag;
	size_t tags, tags_max;
	struct why_fix_row *fix;
	size_t fixes, fixes_max;
	uint8_t need[MT_CATEGORY_COUNT][MT_WHOS][MT_PHASE_COUNT];
	uint8_t said[MT_CATEGORY_COUNT][MT_WHOS]; /* 1: a row of the file is about these two */
	struct mt_text *texts;                    /* the texts of the files */
};

/* A file that is being read. */
struct why_source {
	struct mt_why *why;
	struct yaml_cursor *yaml;
	void *row; /* the row that is being read */
};

/* A key of a row, and the function that reads the value. */
struct why_field {
	const char *key;
	int (*read)(struct why_source *source, const struct why_field *field);
	int required;
	size_t at; /* offset of the value in the row */
	const char *const *word;
	size_t words;
};

/* A kind of file. `row` reads one row into struct mt_why; `check` checks all rows. */
struct why_file {
	const char *name, *key; /* "tags.yaml" has one key at the top: "tags" */
	int (*row)(struct why_source *source);
	int (*check)(struct why_source *source); /* NULL: no check */
};

extern const struct why_file why_tags_file, why_needs_file, why_fixes_file;

/* Reads a file. Returns 0, -MT_E_RULES or -MT_E_MEMORY, with a message. After an error, the rows that were read stay in *why. */
int why_read(struct mt_why *why, const struct why_file *file, const char *text, size_t size, char *message,
	     size_t message_size);

/* Reads a row to its end. Each key comes at most once; a required key that is missing is an error. */
int why_read_fields(struct why_source *source, const struct why_field *field, size_t fields);

/* Read the value of a field: a word as uint32_t; a word or a list as uint64_t of bits; a text as a copy that is kept. */
int why_read_word(struct why_source *source, const struct why_field *field);
int why_read_bits(struct why_source *source, const struct why_field *field);
int why_read_text(struct why_source *source, const struct why_field *field);

/* Reads the bits of the node at the cursor, a word or a list of words. */
int why_bits_here(struct why_source *source, const struct why_field *field, uint64_t *bits);

/* Adds an item of `size` zero bytes and returns it. NULL: out of memory. */
void *why_add(void *array, size_t *count, size_t *max, size_t size);

extern const char *const why_cause_words[MT_CAUSES];
extern const char *const why_tag_words[MT_TAGS];
extern const char *const why_need_words[MT_NEEDS];
extern const char *const why_action_words[MT_ACTIONS];
extern const char *const why_who_words[MT_WHOS];
extern const char *const why_asker_words[MT_ASKERS];
extern const char *const why_fact_words[MT_FACTS];
extern const char *const why_phase_words[MT_PHASE_COUNT];
extern const char *const why_category_words[MT_CATEGORY_COUNT];

#endif
