/*
 * rules.c - reads rule files (formats/rules/README.md). A file may be hostile: each size is limited, aliases are refused, and after an error no row
 * of the file counts.
 */
#include "rules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/array.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "memtrace/yaml_cursor.h"

#define RULES_FILE_MAX (1u << 20) /* bytes of a file, at most */
#define RULES_MAX 4096u           /* rules of a file, at most */

struct source {
	struct yaml_cursor *yaml;
	struct rule_file *file;
	size_t rules_max;
};

struct words {
	const char *const *word;
	size_t count;
};

#define WORD(name, number, word, ...) [number] = word,
static const char *const role_words[] = { MT_ROLE_LIST(WORD) };
static const char *const part_words[] = { MT_PART_LIST(WORD) };
static const char *const category_words[] = { MT_CATEGORY_LIST(WORD) };
static const char *const step_words[] = { RULE_STEP_LIST(WORD) };
static const char *const helper_words[] = { RULE_HELPER_LIST(WORD) };
static const char *const bool_words[] = { "false", "true" };

#define KEY(name, key) key,
static const char *const pattern_keys[] = { RULE_PATTERN_LIST(KEY) };
static const char *const saying_keys[] = { RULE_SAYING_LIST(KEY) };
static const char *const note_keys[] = { RULE_NOTE_LIST(KEY) };
static const char *const file_note_keys[] = { RULE_FILE_NOTE_LIST(KEY) };

#define WORDS(list)                       \
	{                                 \
		list, MT_ARRAY_SIZE(list) \
	}
static const struct words saying_words[RULE_SAYINGS] = {
	[RULE_SAYS_ROLE] = WORDS(role_words),         [RULE_SAYS_PART] = WORDS(part_words),
	[RULE_SAYS_CATEGORY] = WORDS(category_words), [RULE_SAYS_STEP] = WORDS(step_words),
	[RULE_SAYS_OUTER] = WORDS(bool_words),        [RULE_SAYS_OVER] = WORDS(role_words),
	[RULE_SAYS_SPAN] = WORDS(bool_words),         [RULE_SAYS_HELPER] = WORDS(helper_words),
};

void rule_file_free(struct rule_file *file)
{
	size_t i;
	int p;

	if (!file)
		return;
	for (i = 0; i < file->rules; i++)
		for (p = 0; p < RULE_PATTERNS; p++)
			pattern_free(file->rule[i].pattern[p]);
	free(file->rule);
	free(file->name);
	free(file);
}

static struct rule_file *rule_file_new(const char *name)
{
	struct rule_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->name = strdup(name);
	if (!file->name) {
		free(file);
		return NULL;
	}
	memset(file->part_category, -1, sizeof(file->part_category));
	memset(file->role_category, -1, sizeof(file->role_category));
	return file;
}

static int find(const char *const *list, size_t count, const char *text)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!strcmp(list[i], text))
			return (int)i;
	return -1;
}

/* Reads one of the words and sets *value to its index. */
static int read_word(struct source *source, const char *key, const struct words *words, uint8_t *value)
{
	size_t number = 0;
	int error = yaml_cursor_read_word(source->yaml, key, words->word, words->count, &number);

	if (!error)
		*value = (uint8_t)number;
	return error;
}

static int read_pattern(struct source *source, struct rule *rule, int pattern)
{
	struct pattern_fault fault = { 0 };
	int error = yaml_cursor_next(source->yaml);
	const char *text, *key = pattern_keys[pattern];

	if (error)
		return error;
	text = yaml_cursor_text(source->yaml);
	if (!text || !*text)
		return yaml_cursor_fail(source->yaml, "%s must be a pattern", key);
	error = pattern_new(&rule->pattern[pattern], text, pattern == RULE_MARK, &fault);
	if (error == -MT_E_RULES && pattern_fault_is_choice(fault.kind))
		return yaml_cursor_fail(source->yaml, "%s: byte %zu of %s", pattern_fault_words(fault.kind),
					fault.at + 1, key);
	if (error == -MT_E_RULES)
		return yaml_cursor_fail(source->yaml, "%s is not a regular expression: %s, at byte %zu", key,
					pattern_fault_words(fault.kind), fault.at + 1);
	return error;
}

/* Reads a note for people, and ignores it. */
static int read_note(struct source *source, const char *key)
{
	const char *text;

	return yaml_cursor_read(source->yaml, key, &text);
}

/* Reads the value of one key of a rule, and checks it. */
static int read_rule_key(struct source *source, struct rule *rule)
{
	const char *key = yaml_cursor_text(source->yaml);
	int pattern = key ? find(pattern_keys, RULE_PATTERNS, key) : -1;
	int saying = key ? find(saying_keys, RULE_SAYINGS, key) : -1;
	int note = key ? find(note_keys, MT_ARRAY_SIZE(note_keys), key) : -1;

	if (pattern < 0 && saying < 0 && note < 0)
		return yaml_cursor_fail(source->yaml, "a rule has no key \"%.64s\"", key ? key : "(not a word)");
	if ((pattern >= 0 && rule->pattern[pattern]) || (note >= 0 && rule->noted & 1u << note) ||
	    (saying >= 0 && rule->match.said & 1u << saying))
		return yaml_cursor_fail(source->yaml, "\"%s\" is there twice", key);
	if (pattern >= 0)
		return read_pattern(source, rule, pattern);
	if (note >= 0) {
		rule->noted |= 1u << note;
		return read_note(source, note_keys[note]);
	}
	rule->match.said |= 1u << saying;
	return read_word(source, saying_keys[saying], &saying_words[saying], &rule->match.value[saying]);
}

static int check_rule(struct source *source, struct rule *rule, size_t line)
{
	int of_frame = rule->pattern[RULE_FUNCTION] || rule->pattern[RULE_FILE] || rule->pattern[RULE_MODULE];

	if (!of_frame && !rule->pattern[RULE_MARK])
		return yaml_cursor_fail_at(source->yaml, line,
					   "the rule matches nothing (give function, file, module or mark)");
	if (of_frame && rule->pattern[RULE_MARK])
		return yaml_cursor_fail_at(source->yaml, line, "mark cannot stand beside function, file or module");
	if (!rule->match.said)
		return yaml_cursor_fail_at(source->yaml, line,
					   "the rule says nothing (give role, part, category, step or helper)");
	if (rule->match.said & RULE_OF_ROLE && !(rule->match.said & 1u << RULE_SAYS_ROLE))
		return yaml_cursor_fail_at(source->yaml, line,
					   "outer, over and span are about a role (give role, too)");
	if (rule->match.said & 1u << RULE_SAYS_HELPER && !rule->pattern[RULE_MODULE])
		return yaml_cursor_fail_at(source->yaml, line, "helper is about native frames (give module, too)");
	if (rule->pattern[RULE_MARK] && rule->match.value[RULE_SAYS_STEP] > RULE_STEP_ENDS)
		return yaml_cursor_fail_at(source->yaml, line, "the step of a mark is true or false");
	return 0;
}

static void say_by_default(struct rule_match *match, enum rule_saying saying, uint8_t value)
{
	if (!(match->said & 1u << saying))
		match->value[saying] = value;
	match->said |= 1u << saying;
}

/* A rule for the optimizer ends a step, unless it has its own `step:`. */
static void complete_rule(struct rule *rule)
{
	struct rule_match *match = &rule->match;

	if (match->said & 1u << RULE_SAYS_ROLE) {
		say_by_default(match, RULE_SAYS_OUTER, 1);
		say_by_default(match, RULE_SAYS_OVER, MT_ROLE_NONE);
		say_by_default(match, RULE_SAYS_SPAN, 1);
	}
	if (rule->pattern[RULE_MARK] || match->said & 1u << RULE_SAYS_STEP || !(match->said & 1u << RULE_SAYS_PART))
		return;
	say_by_default(match, RULE_SAYS_STEP,
		       match->value[RULE_SAYS_PART] == MT_PART_OPTIMIZER ? RULE_STEP_ENDS : RULE_STEP_NOTHING);
}

static int add_rule(struct source *source, struct rule **rule)
{
	struct rule_file *file = source->file;

	if (file->rules == RULES_MAX)
		return yaml_cursor_fail(source->yaml, "more than %u rules", RULES_MAX);
	if (MT_ARRAY_ROOM(file->rule, file->rules, source->rules_max))
		return -MT_E_MEMORY;
	*rule = &file->rule[file->rules++];
	memset(*rule, 0, sizeof(**rule));
	return 0;
}

/* Reads a rule, from the current event (the begin of a mapping) to its end. */
static int read_rule(struct source *source)
{
	struct rule *rule = NULL;
	size_t line = yaml_cursor_line(source->yaml);
	int error;

	if (yaml_cursor_node(source->yaml) != YAML_NODE_MAP)
		return yaml_cursor_fail_at(source->yaml, line, "a rule must be a mapping");
	error = add_rule(source, &rule);
	if (!error)
		rule->line = line;
	while (!error && !(error = yaml_cursor_next(source->yaml)) && yaml_cursor_node(source->yaml) != YAML_NODE_END)
		error = read_rule_key(source, rule);
	if (!error)
		error = check_rule(source, rule, line);
	if (!error)
		complete_rule(rule);
	return error;
}

static int read_rules(struct source *source)
{
	int error = yaml_cursor_expect(source->yaml, YAML_NODE_LIST, "a list of rules");

	while (!error && !(error = yaml_cursor_next(source->yaml)) && yaml_cursor_node(source->yaml) != YAML_NODE_END)
		error = read_rule(source);
	return error;
}

/* Reads "forward: activations": the key is a part or a role. */
static int read_category(struct source *source)
{
	const char *key = yaml_cursor_text(source->yaml);
	int part = key ? find(part_words, MT_ARRAY_SIZE(part_words), key) : -1;
	int role = key ? find(role_words, MT_ARRAY_SIZE(role_words), key) : -1;
	uint8_t category;
	int error;

	if (part <= MT_PART_NONE && role <= MT_ROLE_NONE)
		return yaml_cursor_fail(source->yaml, "\"%.64s\" is neither a role nor a part",
					key ? key : "(not a word)");
	error = read_word(source, "category", &saying_words[RULE_SAYS_CATEGORY], &category);
	if (!error && part > MT_PART_NONE)
		source->file->part_category[part] = (int8_t)category;
	else if (!error)
		source->file->role_category[role] = (int8_t)category;
	return error;
}

static int read_categories(struct source *source)
{
	int error = yaml_cursor_expect(source->yaml, YAML_NODE_MAP, "a mapping of roles and parts to categories");

	while (!error && !(error = yaml_cursor_next(source->yaml)) && yaml_cursor_node(source->yaml) != YAML_NODE_END)
		error = read_category(source);
	return error;
}

static int read_top_key(struct source *source)
{
	const char *key = yaml_cursor_text(source->yaml);
	int note = key ? find(file_note_keys, MT_ARRAY_SIZE(file_note_keys), key) : -1;

	if (note >= 0)
		return read_note(source, file_note_keys[note]);
	if (key && !strcmp(key, "rules"))
		return read_rules(source);
	if (key && !strcmp(key, "categories"))
		return read_categories(source);
	return yaml_cursor_fail(source->yaml, "unknown key \"%.64s\" (one of: rules, categories, releases, read)",
				key ? key : "(not a word)");
}

static int read_file(struct source *source)
{
	int error = 0;

	while (!error && !(error = yaml_cursor_next(source->yaml)) && yaml_cursor_node(source->yaml) != YAML_NODE_END)
		error = read_top_key(source);
	return error ? error : yaml_cursor_finish(source->yaml);
}

/* Reads a file from `text`. The text must stay valid until the return. */
static int load_text(struct mt_rules *rules, const char *name, const char *text, size_t size, char *message,
		     size_t message_size)
{
	struct source source = { .file = rule_file_new(name) };
	int error = source.file ? yaml_cursor_new(&source.yaml, name, text, size, message, message_size) : -MT_E_MEMORY;

	if (!error)
		error = read_file(&source);
	yaml_cursor_free(source.yaml);
	if (error == -MT_E_MEMORY)
		snprintf(message, message_size, "%s: %s", name, mt_strerror(error));
	if (error) {
		rule_file_free(source.file);
		return error;
	}
	source.file->next = rules->files;
	rules->files = source.file;
	return 0;
}

int mt_rules_load(struct mt_rules *rules, const char *path, char *message, size_t message_size)
{
	FILE *file = fopen(path, "re");
	char *text = file ? malloc(RULES_FILE_MAX + 1) : NULL;
	size_t size = text ? fread(text, 1, RULES_FILE_MAX + 1, file) : 0;
	int error = 0;

	rules->more = 1;
	if (!file || (text && ferror(file))) {
		snprintf(message, message_size, "%s: %s", path, strerror(errno));
		error = -MT_E_SYSTEM;
	} else if (!text) {
		snprintf(message, message_size, "%s: %s", path, mt_strerror(MT_E_MEMORY));
		error = -MT_E_MEMORY;
	} else if (size > RULES_FILE_MAX) {
		snprintf(message, message_size, "%s:1: the file is larger than %u KiB", path, RULES_FILE_MAX >> 10);
		error = -MT_E_RULES;
	} else {
		error = load_text(rules, path, text, size, message, message_size);
	}
	free(text);
	if (file)
		fclose(file);
	return error;
}

int mt_rules_are_built_in(const struct mt_rules *rules)
{
	return !rules->more;
}

int mt_rules_new(struct mt_rules **rules, char *message, size_t message_size)
{
	size_t count, i;
	const struct rules_builtin *builtin = rules_builtin(&count);
	int error = 0;

	*rules = calloc(1, sizeof(**rules));
	if (!*rules)
		return -MT_E_MEMORY;
	for (i = 0; i < count && !error; i++)
		error = load_text(*rules, builtin[i].name, builtin[i].text, (size_t)(builtin[i].end - builtin[i].text),
				  message, message_size);
	if (error) {
		mt_rules_free(*rules);
		*rules = NULL;
	}
	return error;
}

void mt_rules_free(struct mt_rules *rules)
{
	struct rule_file *file, *following;

	if (!rules)
		return;
	for (file = rules->files; file; file = following) {
		following = file->next;
		rule_file_free(file);
	}
	free(rules);
}

/* Embeds the built-in rule files into the program. Paths are relative to the source root, where make runs. */

#define EMBED(symbol, file)                                                \
	__asm__(".pushsection .rodata\n" #symbol ":\n"                     \
		"\t.incbin \"formats/rules/" file "\"\n" #symbol "_end:\n" \
		"\t.byte 0\n"                                              \
		"\t.popsection\n");                                        \
	extern const char symbol[] __attribute__((visibility("hidden")));  \
	extern const char symbol##_end[] __attribute__((visibility("hidden")));

RULES_BUILTIN_LIST(EMBED)

const struct rules_builtin *rules_builtin(size_t *count)
{
#define ENTRY(symbol, file) { file, symbol, symbol##_end },
	static const struct rules_builtin all[] = { RULES_BUILTIN_LIST(ENTRY) };
#undef ENTRY

	*count = MT_ARRAY_SIZE(all);
	return all;
}
