/*
 * advise_file.c - the settings in a configuration: YAML, and JSON, which is nearly that. Nested mappings become paths with
 * dots, lists become "[a, b]", and ${...} that points inside the file is followed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "advise_config_impl.h"
#include "memtrace/clean.h"
#include "memtrace/error.h"
#include "memtrace/yaml_cursor.h"

#define DEPTH_MAX 64  /* of mappings in mappings */
#define FOLLOW_MAX 16 /* ${a}, which is ${b}, which is ... */
#define LIST_MAX 1024 /* bytes of a list; the value of a longer one is not known */

struct entry {
	const char *path, *value; /* value NULL: not known */
	size_t line;
};

struct file {
	struct advise_config *config;
	struct yaml_cursor *yaml;
	const char *name;
	char path[ADVISE_KEY_MAX]; /* of the mapping that is being read */
	struct entry *entry;
	uint32_t entries, room;
};

static int read_map(struct file *file, size_t path_size, int depth);

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static int add_entry(struct file *file, const char *value, size_t line)
{
	uint32_t room = file->room ? file->room * 2 : 256;
	struct entry *larger;

	if (file->entries == ADVISE_SETTINGS_MAX)
		return yaml_cursor_fail(file->yaml, line, "more than %u keys", ADVISE_SETTINGS_MAX);
	if (file->entries == file->room) {
		larger = realloc(file->entry, room * sizeof(*larger));
		if (!larger)
			return advise_no_memory(file->config);
		file->entry = larger;
		file->room = room;
	}
	larger = &file->entry[file->entries++];
	larger->path = advise_keep(file->config, file->path, strlen(file->path));
	larger->value = value ? advise_keep(file->config, value, strlen(value)) : NULL;
	larger->line = line;
	return larger->path && (!value || larger->value) ? 0 : advise_no_memory(file->config);
}

static int too_deep(struct file *file)
{
	return yaml_cursor_fail(file->yaml, yaml_cursor_line(file->yaml),
				"more than %d lists and mappings in each other", DEPTH_MAX);
}

/* From the beginning of a list or mapping to its end. */
static int skip(struct file *file)
{
	int depth = yaml_cursor_node(file->yaml) != YAML_NODE_TEXT, error = 0;

	while (!error && depth) {
		error = yaml_cursor_next(file->yaml);
		if (!error && yaml_cursor_node(file->yaml) == YAML_NODE_END)
			depth--;
		else if (!error && yaml_cursor_node(file->yaml) != YAML_NODE_TEXT && ++depth > DEPTH_MAX)
			error = too_deep(file);
	}
	return error;
}

/* A list of texts as one; with anything else in it, it is not known. */
static int read_list(struct file *file, size_t line)
{
	char list[LIST_MAX] = "[";
	size_t used = 1;
	int known = 1, error;
	const char *text;

	while (!(error = yaml_cursor_next(file->yaml)) && yaml_cursor_node(file->yaml) != YAML_NODE_END) {
		text = yaml_cursor_node(file->yaml) == YAML_NODE_TEXT ? yaml_cursor_text(file->yaml) : NULL;
		known &= text && used < sizeof(list);
		if (known)
			used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", used > 1 ? ", " : "", text);
		error = skip(file);
		if (error)
			return error;
	}
	if (error)
		return error;
	known &= used + 1 < sizeof(list);
	if (known)
		memcpy(list + used, "]", 2);
	return add_entry(file, known ? list : NULL, line);
}

/* Hydra's list of files below this one, and NeMo-RL's one file: what they say is not known. */
static int read_defaults(struct file *file)
{
	size_t line = yaml_cursor_line(file->yaml);
	int depth = 0, error = 0;
	const char *text;

	do {
		text = yaml_cursor_node(file->yaml) == YAML_NODE_TEXT ? yaml_cursor_text(file->yaml) : NULL;
		depth += yaml_cursor_node(file->yaml) == YAML_NODE_END    ? -1
			 : yaml_cursor_node(file->yaml) == YAML_NODE_TEXT ? 0
									  : 1;
		if (depth > DEPTH_MAX)
			return too_deep(file);
		if (text && strcmp(text, "_self_") != 0)
			file->config->elsewhere = 1;
		if (text && strstr(text, ".y"))
			error = advise_warn(
				file->config,
				"%s:%zu: takes values from %.128s, which is not read (--now says what is set there)",
				file->name, line, text);
		if (!error && depth)
			error = yaml_cursor_next(file->yaml);
	} while (!error && depth);
	return error;
}

/* The value of the key that is the end of the path. */
static int read_value(struct file *file, size_t path_size, int depth, size_t line)
{
	int error = yaml_cursor_next(file->yaml);

	if (error)
		return error;
	if (depth == 1 && !strcmp(file->path, "defaults"))
		return read_defaults(file);
	switch (yaml_cursor_node(file->yaml)) {
	case YAML_NODE_MAP:
		return read_map(file, path_size, depth);
	case YAML_NODE_LIST:
		return read_list(file, line);
	default:
		return add_entry(file, yaml_cursor_text(file->yaml), line);
	}
}

/* From inside of a mapping to its end. */
static int read_map(struct file *file, size_t path_size, int depth)
{
	const char *key;
	size_t line, size, dot = path_size > 0;
	int error;

	if (depth == DEPTH_MAX)
		return too_deep(file);
	while (!(error = yaml_cursor_next(file->yaml)) && yaml_cursor_node(file->yaml) != YAML_NODE_END) {
		line = yaml_cursor_line(file->yaml);
		key = yaml_cursor_node(file->yaml) == YAML_NODE_TEXT ? yaml_cursor_text(file->yaml) : NULL;
		size = key ? strlen(key) : 0;
		if (!size || path_size + dot + size >= sizeof(file->path)) {
			error = skip(file);
			if (!error)
				error = yaml_cursor_next(file->yaml);
			if (!error)
				error = skip(file);
		} else {
			if (dot)
				file->path[path_size] = '.';
			memcpy(file->path + path_size + dot, key, size + 1);
			error = read_value(file, path_size + dot + size, depth + 1, line);
		}
		file->path[path_size] = '\0';
		if (error)
			return error;
	}
	return error;
}

/* ---- what points elsewhere --------------------------------------------------------------------------------------- */

static int by_path(const void *one, const void *two)
{
	const struct entry *a = one, *b = two;
	int order = strcmp(a->path, b->path);

	return order ? order : (a->line > b->line) - (a->line < b->line);
}

/* The last that the file says of a path; NULL: nothing. The entries are in order. */
static const struct entry *find_entry(const struct file *file, const char *path)
{
	uint32_t low = 0, high = file->entries, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (strcmp(file->entry[middle].path, path) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low && !strcmp(file->entry[low - 1].path, path) ? &file->entry[low - 1] : NULL;
}

/* "a.b" or, from where it is said on, ".b" (beside it) and "..b" (a mapping higher): the whole path. 0: there is none. */
static int whole_path(char out[ADVISE_KEY_MAX], const char *from, const char *path)
{
	size_t dots = strspn(path, "."), size = strlen(from), i;

	for (i = 0; i < dots; i++) {
		while (size && from[size - 1] != '.')
			size--;
		if (size && i + 1 < dots)
			size--;
	}
	if (!dots)
		size = 0;
	path += dots;
	if (!*path || size + strlen(path) >= ADVISE_KEY_MAX)
		return 0;
	memcpy(out, from, size);
	memcpy(out + size, path, strlen(path) + 1);
	return 1;
}

/* What is between "${" and "}" when that is all there is; "oc.select:path, default" is told apart. */
static int read_pointer(char path[ADVISE_KEY_MAX], const char **otherwise, const char *value)
{
	static const char select[] = "${oc.select:";
	size_t size = strlen(value), begin = 2, comma;

	*otherwise = NULL;
	if (size < 4 || size >= ADVISE_KEY_MAX || value[size - 1] != '}' || strstr(value + 2, "${"))
		return 0;
	if (!strncmp(value, select, sizeof(select) - 1))
		begin = sizeof(select) - 1;
	comma = begin + strcspn(value + begin, ",:}");
	if (value[comma] == ':' || (value[comma] == ',' && begin == 2))
		return 0;
	memcpy(path, value + begin, comma - begin);
	path[comma - begin] = '\0';
	if (value[comma] == ',')
		*otherwise = value + comma + 1 + strspn(value + comma + 1, " ");
	return 1;
}

/* Follows the value of an entry; NULL: it leads out of the file. What is found may need a copy: `hold`. */
static const char *follow(const struct file *file, const struct entry *entry, char hold[ADVISE_KEY_MAX])
{
	char pointer[ADVISE_KEY_MAX], path[ADVISE_KEY_MAX];
	const char *value = entry->value, *otherwise;
	int steps;

	for (steps = 0; value && strstr(value, "${"); steps++) {
		if (steps == FOLLOW_MAX || strncmp(value, "${", 2) != 0 || !read_pointer(pointer, &otherwise, value) ||
		    !whole_path(path, entry->path, pointer))
			return NULL;
		entry = find_entry(file, path);
		value = entry ? entry->value : NULL;
		if (entry || !otherwise)
			continue;
		snprintf(hold, ADVISE_KEY_MAX, "%.*s", (int)strlen(otherwise) - 1, otherwise);
		return hold;
	}
	return value;
}

static int say_all(struct file *file)
{
	char where[ADVISE_WORDS_MAX], hold[ADVISE_KEY_MAX];
	const char *base = strrchr(file->name, '/');
	uint32_t i;
	int error = 0;

	if (file->entries)
		qsort(file->entry, file->entries, sizeof(*file->entry), by_path);
	for (i = 0; i < file->entries && !error; i++) {
		snprintf(where, sizeof(where), "%.400s:%zu", base && base[1] ? base + 1 : file->name,
			 file->entry[i].line);
		error = advise_say(file->config, file->entry[i].path, follow(file, &file->entry[i], hold), where,
				   ADVISE_CONFIG);
	}
	return error;
}

/* ---- a file ------------------------------------------------------------------------------------------------------ */

static int fail_file(struct advise_config *config, const char *name, const char *words)
{
	advise_fail(config, "%.300s: %s", name, words);
	return -MT_E_RULES;
}

int advise_config_yaml(struct advise_config *config, const char *name, const char *text, size_t size)
{
	struct file file = { .config = config, .name = name };
	int error;

	if (size > ADVISE_FILE_MAX)
		return fail_file(config, name, "larger than a configuration may be (4 MiB)");
	error = yaml_cursor_new(&file.yaml, name, text, size, config->message, sizeof(config->message));
	if (error)
		return error;
	yaml_cursor_allow(file.yaml);
	error = read_map(&file, 0, 0);
	if (!error)
		error = yaml_cursor_finish(file.yaml);
	yaml_cursor_free(file.yaml);
	if (!error)
		error = say_all(&file);
	free(file.entry);
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
