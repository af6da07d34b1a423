/*
 * advise_read.c - reads the settings in a command line, and in a configuration of YAML or JSON.
 *
 * A command line has Hydra's overrides, flags, and assignments to the environment. The trace joins the arguments by
 * blanks, so a value with blanks ends at its first blank. In a configuration, nested mappings become paths with dots,
 * and the value of a list is not known.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "advise_config_impl.h"
#include "memtrace/clean.h"
#include "memtrace/error.h"
#include "memtrace/ring.h"
#include "memtrace/yaml_cursor.h"
#include "report/answer.h"

/* Largest number of bytes of a command line in a trace. The recorder cuts the last word of a longer one. */
#define CUT_SIZE (sizeof(((struct ring_header *)0)->command) - 1)

#define BLANKS " \t\n\r"
#define COMMAND "the command line"

/* Adds a setting of the command line, or of a variable in it. The value of a list is not known, because its blanks end a word here. */
static int say(struct advise_config *config, const char *where, const char *key, const char *value)
{
	return advise_say(config, key, value && *value && strchr("[{", *value) ? NULL : value, where, ADVISE_COMMAND);
}

/* ---- flags ------------------------------------------------------------------------------------------------------- */

static int is_switch(const struct mt_knob *knob)
{
	return knob && mt_knob_unit_kind(knob->measure) == MT_KNOB_KIND_SWITCH;
}

/* 1: the word can be the value of the flag before it. A switch has a value only in the form "--bf16 True". */
static int is_value_of(const struct mt_knob *knob, const char *word)
{
	int is_flag = word[0] == '-' && (word[1] == '-' || isalpha((unsigned char)word[1]));
	double number;

	return !is_flag && (!is_switch(knob) || advise_value_number(knob, word, &number) >= 0);
}

/* Adds a flag. `next`: the word after the flag, or NULL. *taken 1: `next` is the value. */
static int take_flag(struct advise_config *config, char *flag, const char *next, int *taken)
{
	char *equals = strchr(flag, '=');
	const struct mt_knob *knob;

	if (equals) {
		*equals = '\0';
		return say(config, COMMAND, flag, equals + 1);
	}
	knob = advise_match(config, flag).knob;
	if (!knob && (!strncmp(flag, "--no-", 5) || !strncmp(flag, "--no_", 5)) &&
	    is_switch(advise_match(config, flag + 5).knob))
		return say(config, COMMAND, flag + 5, "false");
	*taken = knob && next && is_value_of(knob, next);
	return say(config, COMMAND, flag, *taken ? next : is_switch(knob) ? "true" : NULL);
}

/* ---- assignments ------------------------------------------------------------------------------------------------- */

static int is_variable(const struct advise_config *config, const char *name)
{
	uint32_t i, k;

	for (i = 0; i < config->parts; i++)
		for (k = 0; k < config->part[i].file->variables; k++)
			if (!strcmp(config->part[i].file->variable[k], name))
				return 1;
	return 0;
}

size_t advise_variable_word(const char *text)
{
	size_t size;
	int depth = 0;

	for (size = 0; text[size] && (text[size] != ',' || depth > 0); size++)
		depth += (text[size] == '[') - (text[size] == ']');
	return size;
}

/* Adds the words of the allocator's variable: "expandable_segments:True,max_split_size_mb:128". */
static int take_variable(struct advise_config *config, const char *name, char *text)
{
	int error = 0, more = 1;
	char *end, *colon;

	config->variable = advise_keep(config, name, strlen(name));
	config->variable_words = advise_keep(config, text, strlen(text));
	if (!config->variable || !config->variable_words)
		return advise_no_memory(config);
	for (; more && !error; text = end + 1) {
		end = text + advise_variable_word(text);
		more = *end == ',';
		*end = '\0';
		colon = strchr(text, ':');
		if (!colon)
			continue;
		*colon = '\0';
		error = say(config, name, text + strspn(text, " "), colon + 1);
	}
	return error;
}

/* Adds an override: "a.b=1", "+a.b=1", "++a.b=1", "~a.b". Ignores other words. */
static int take_override(struct advise_config *config, char *word)
{
	int removed = *word == '~';
	char *key = word + strspn(word, "+~"), *equals = strchr(key, '=');

	if (equals)
		*equals = '\0';
	if ((!equals && !removed) ||
	    key[strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-@")] ||
	    !(isalpha((unsigned char)*key) || *key == '_'))
		return 0;
	if (equals && is_variable(config, key))
		return take_variable(config, key, equals + 1);
	return say(config, COMMAND, key, removed ? "null" : equals + 1);
}

int advise_config_command_line(struct advise_config *config, const char *command)
{
	size_t size = strnlen(command, ADVISE_COMMAND_MAX);
	char *copy = malloc(size + 1), *rest, *word, *next;
	int error = 0, taken;

	if (!copy)
		return advise_no_memory(config);
	memcpy(copy, command, size);
	if (size == CUT_SIZE) {
		while (size && !strchr(BLANKS, copy[size - 1]))
			size--;
		error = advise_warn(config,
				    "the command line in the trace ends after %zu bytes: what follows is not known "
				    "(--config or --now says it)",
				    CUT_SIZE);
	}
	copy[size] = '\0';
	for (word = strtok_r(copy, BLANKS, &rest); word && !error;
	     word = taken ? strtok_r(NULL, BLANKS, &rest) : next) {
		next = strtok_r(NULL, BLANKS, &rest);
		taken = 0;
		error = *word == '-' ? take_flag(config, word, next, &taken) : take_override(config, word);
	}
	free(copy);
	return error;
}

static int take_command(void *config, struct db_stmt *row)
{
	return advise_config_command_line(config, db_text(row, 0));
}

int advise_config_command(struct advise_config *config, struct db *db)
{
	int error = db_rows(db, "SELECT command FROM process GROUP BY command ORDER BY min(id)", NULL, take_command,
			    config);

	if (error == -MT_E_SQL)
		snprintf(config->message, sizeof(config->message), "%s", db_message(db));
	return error;
}

/* ---- configurations ------------------------------------------------------------------------------------------------ */

#define DEPTH_MAX 64 /* largest depth of nested mappings and lists */

struct file {
	struct advise_config *config;
	struct yaml_cursor *yaml;
	const char *name;
	char path[ADVISE_KEY_MAX]; /* path of the newest key */
	uint32_t keys;
};

/* An open mapping or list of the file. */
struct level {
	int is_known; /* 1: a mapping with a path; keys inside of other mappings and lists are not added */
	size_t size;  /* bytes of its path */
	size_t line;  /* line of the key whose value comes next; 0: a key comes next */
};

/* Adds the value of file->path. `value` NULL: not known. */
static int say_path(struct file *file, const char *value, size_t line)
{
	const char *base = strrchr(file->name, '/');
	char where[ADVISE_WORDS_MAX];

	if (file->keys++ == ADVISE_SETTINGS_MAX)
		return yaml_cursor_fail_at(file->yaml, line, "more than %u keys", ADVISE_SETTINGS_MAX);
	snprintf(where, sizeof(where), "%.400s:%zu", base && base[1] ? base + 1 : file->name, line);
	return advise_say(file->config, file->path, value, where, ADVISE_CONFIG);
}

/* Appends the key to the path of its mapping. A key that is no text, or is too long, has no path. */
static void take_key(struct file *file, struct level *level)
{
	const char *key = yaml_cursor_text(file->yaml), *dot = level->size ? "." : "";

	level->line = yaml_cursor_line(file->yaml);
	file->path[level->size] = '\0';
	if (key && level->size + strlen(key) + 1 < sizeof(file->path))
		snprintf(file->path + level->size, sizeof(file->path) - level->size, "%s%s", dot, key);
}

static int take_value(struct file *file, struct level *level)
{
	size_t line = level->line;

	level->line = 0;
	if (!file->path[level->size])
		return 0;
	if (!level->size && !strcmp(file->path, "defaults"))
		return advise_warn(
			file->config,
			"%s:%zu: takes values from other files, which are not read (--now says what is set there)",
			file->name, line);
	return yaml_cursor_node(file->yaml) == YAML_NODE_MAP ? 0 : say_path(file, yaml_cursor_text(file->yaml), line);
}

/* Reads the file's outermost mapping from its first key to its end. */
static int read_all(struct file *file)
{
	struct level level[DEPTH_MAX] = { { .is_known = 1 } }, *at = level;
	enum yaml_node node;
	int is_value, error;

	while (!(error = yaml_cursor_next(file->yaml))) {
		node = yaml_cursor_node(file->yaml);
		if (node == YAML_NODE_END) {
			if (at-- == level)
				return 0;
			continue;
		}
		is_value = at->line > 0;
		if (at->is_known && is_value)
			error = take_value(file, at);
		else if (at->is_known)
			take_key(file, at);
		if (!error && node != YAML_NODE_TEXT && at - level + 1 == DEPTH_MAX)
			error = yaml_cursor_fail(file->yaml, "more than %d lists and mappings in each other",
						 DEPTH_MAX);
		if (error)
			return error;
		if (node == YAML_NODE_TEXT)
			continue;
		at[1] = (struct level){ .size = strlen(file->path) };
		at[1].is_known = is_value && node == YAML_NODE_MAP && at[1].size > at->size;
		at++;
	}
	return error;
}

int advise_config_yaml(struct advise_config *config, const char *name, const char *text, size_t size)
{
	struct file file = { .config = config, .name = name };
	int error;

	if (size > ADVISE_FILE_MAX) {
		advise_fail(config, "%.300s: larger than a configuration may be (4 MiB)", name);
		return -MT_E_RULES;
	}
	error = yaml_cursor_new(&file.yaml, name, text, size, config->message, sizeof(config->message));
	if (!error) {
		yaml_cursor_allow(file.yaml);
		error = read_all(&file);
	}
	if (!error)
		error = yaml_cursor_finish(file.yaml);
	yaml_cursor_free(file.yaml);
	mt_clean(config->message, "");
	return error;
}

int advise_config_file(struct advise_config *config, const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = file ? malloc(ADVISE_FILE_MAX + 1) : NULL;
	size_t size = text ? fread(text, 1, ADVISE_FILE_MAX + 1, file) : 0;
	int error;

	if (!file || (text && ferror(file))) {
		advise_fail(config, "%.300s: %s", path, strerror(errno));
		error = -MT_E_SYSTEM;
	} else if (!text) {
		error = advise_no_memory(config);
	} else {
		error = advise_config_yaml(config, path, text, size);
	}
	free(text);
	if (file)
		fclose(file);
	return error;
}
