/*
 * advise_file.c - the settings in a configuration: YAML, and JSON, which is nearly that. Nested mappings become paths with
 * dots; the value of a list is not known.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "advise_config_impl.h"
#include "memtrace/clean.h"
#include "memtrace/error.h"
#include "memtrace/yaml_cursor.h"

#define DEPTH_MAX 64 /* most mappings in mappings */

struct file {
	struct advise_config *config;
	struct yaml_cursor *yaml;
	const char *name;
	char path[ADVISE_KEY_MAX]; /* the key that is being read */
	uint32_t keys;
};

/* A mapping or list that is being read. */
struct level {
	int is_known; /* 1: a mapping that has a path; what is in others is not said */
	size_t size;  /* bytes of its path */
	size_t line;  /* line of the key before the value; 0: a key comes next */
};

/* Takes in the value of the path; NULL: it is not known. */
static int say(struct file *file, const char *value, size_t line)
{
	const char *base = strrchr(file->name, '/');
	char where[ADVISE_WORDS_MAX];

	if (file->keys++ == ADVISE_SETTINGS_MAX)
		return yaml_cursor_fail(file->yaml, line, "more than %u keys", ADVISE_SETTINGS_MAX);
	snprintf(where, sizeof(where), "%.400s:%zu", base && base[1] ? base + 1 : file->name, line);
	return advise_say(file->config, file->path, value, where, ADVISE_CONFIG);
}

/* Adds the key to the path of its mapping; what is no text, or too long, has none. */
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
	return yaml_cursor_node(file->yaml) == YAML_NODE_MAP ? 0 : say(file, yaml_cursor_text(file->yaml), line);
}

/* From inside of the file's mapping to its end. */
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
			error = yaml_cursor_fail(file->yaml, yaml_cursor_line(file->yaml),
						 "more than %d lists and mappings in each other", DEPTH_MAX);
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
