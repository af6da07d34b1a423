/*
 * knobs_file.c - reads a knob file: its head and its rows. Checks that the rows fit together: a constraint on a missing key is an error with file and
 * line.
 */
#include <stdio.h>
#include <string.h>
#include "knobs_source.h"
#include "memtrace/base.h"
#include "memtrace/error.h"

static int read_file_text(struct knobs_source *source, const struct knobs_field *field)
{
	return knobs_read_kept(source, field->key, (const char **)((char *)source->file + field->at));
}

static int read_file_word(struct knobs_source *source, const struct knobs_field *field)
{
	size_t number;
	int error = yaml_cursor_read_word(source->yaml, field->key, field->word, field->words, &number);

	if (!error)
		*(uint32_t *)((char *)source->file + field->at) = (uint32_t)number;
	return error;
}

static int read_knobs(struct knobs_source *source, const struct knobs_field *field)
{
	return knobs_read_list(source, field->key, KNOBS_MAX, knobs_read_row, field);
}

/* ---- a file ------------------------------------------------------------------------------------------------------ */

/* Reads "VERSION" or "VERSION@COMMIT". */
static int add_release(struct knobs_source *source, const struct knobs_field *field)
{
	struct mt_knob_file *file = source->file;
	struct mt_knob_release *release = &file->release[file->releases];
	const char *text = yaml_cursor_text(source->yaml), *at = text ? strchr(text, '@') : NULL;
	uint32_t i;

	if (!text || !*text || at == text || (at && strspn(at + 1, "0123456789abcdef") != 40) || (at && at[41]))
		return yaml_cursor_fail(source->yaml, "%s are versions, or VERSION@COMMIT with all 40 digits",
					field->key);
	release->version = knobs_keep(source->knobs, text, at ? (size_t)(at - text) : strlen(text));
	if (!release->version || (at && knobs_keep_text(source, at + 1, &release->commit)))
		return -MT_E_MEMORY;
	for (i = 0; i < file->releases; i++)
		if (!strcmp(file->release[i].version, release->version))
			return yaml_cursor_fail(source->yaml, "%s is there twice", release->version);
	file->releases++;
	return 0;
}

static int read_releases(struct knobs_source *source, const struct knobs_field *field)
{
	return knobs_read_list(source, field->key, MT_KNOB_RELEASES_MAX, add_release, field);
}

static int add_text(struct knobs_source *source, const struct knobs_field *field)
{
	char *file = (char *)source->file;

	return knobs_add_text(source, field, (const char **)(file + field->at), (uint32_t *)(file + field->words));
}

static int read_texts(struct knobs_source *source, const struct knobs_field *field)
{
	return knobs_read_list(source, field->key, MT_KNOB_FRAMES_MAX, add_text, field);
}

/* Reads the next node, a mapping. Calls `add` with the cursor on each key. */
static int read_map(struct knobs_source *source, const struct knobs_field *field,
		    int (*add)(struct knobs_source *source, const struct knobs_field *field))
{
	int error = yaml_cursor_expect(source->yaml, YAML_NODE_MAP, "a mapping");

	while (!error && !(error = yaml_cursor_next(source->yaml)) && yaml_cursor_node(source->yaml) != YAML_NODE_END)
		error = add(source, field);
	return error;
}

static int add_hand(struct knobs_source *source, const struct knobs_field *field)
{
	struct mt_knob_file *file = source->file;
	const char *text = yaml_cursor_text(source->yaml);
	int error;

	if (!text)
		return yaml_cursor_fail(source->yaml, "%s is a mapping of frameworks to texts", field->key);
	if (file->hands == MT_KNOB_HANDS_MAX)
		return yaml_cursor_fail(source->yaml, "too many of %s", field->key);
	error = knobs_keep_text(source, text, &file->hand[file->hands].framework);
	return error ? error : knobs_read_kept(source, field->key, &file->hand[file->hands++].before);
}

static int read_hands(struct knobs_source *source, const struct knobs_field *field)
{
	return read_map(source, field, add_hand);
}

static int add_model_seen(struct knobs_source *source, const struct knobs_field *field)
{
	struct mt_knob_model *model = &source->file->model[source->file->models];

	return knobs_add_text(source, field, model->seen, &model->seens);
}

/* Reads "critic: [update_critic, dp_critic.py]". Each process comes at most once. */
static int add_model(struct knobs_source *source, const struct knobs_field *field)
{
	struct mt_knob_file *file = source->file;
	size_t number;
	uint32_t i;
	int error = yaml_cursor_word(source->yaml, field->key, knob_process_words, MT_KNOB_PROCESSES, &number);

	if (error)
		return error;
	for (i = 0; i < file->models; i++)
		if (file->model[i].process == (enum mt_knob_process)number)
			return yaml_cursor_fail(source->yaml, "%s is there twice", knob_process_words[number]);
	file->model[file->models].process = (enum mt_knob_process)number;
	error = knobs_read_list(source, field->key, MT_KNOB_WITHIN_MAX, add_model_seen, field);
	file->models += !error;
	return error;
}

static int read_models(struct knobs_source *source, const struct knobs_field *field)
{
	return read_map(source, field, add_model);
}

static int add_named_seen(struct knobs_source *source, const struct knobs_field *field)
{
	struct mt_knob_wrapper *wrapper = source->named;

	return knobs_add_text(source, field, wrapper->seen, &wrapper->seens);
}

/* Reads "axolotl: [axolotl/cli]", an item of a list of the file. */
static int add_named(struct knobs_source *source, const struct knobs_field *field)
{
	struct mt_knob_wrapper *list = (struct mt_knob_wrapper *)((char *)source->file + field->at);
	uint32_t *count = (uint32_t *)((char *)source->file + field->words);
	const char *text = yaml_cursor_text(source->yaml);
	int error;

	if (!text)
		return yaml_cursor_fail(source->yaml, "%s is a mapping of names to lists", field->key);
	if (*count == MT_KNOB_WRAPPERS_MAX)
		return yaml_cursor_fail(source->yaml, "too many of %s", field->key);
	source->named = &list[*count];
	error = knobs_keep_text(source, text, &list[*count].name);
	if (!error)
		error = knobs_read_list(source, field->key, MT_KNOB_WITHIN_MAX, add_named_seen, field);
	*count += !error;
	return error;
}

static int read_named(struct knobs_source *source, const struct knobs_field *field)
{
	return read_map(source, field, add_named);
}

#define LOOP_WORD(name, word) word,
static const char *const loop_words[] = { MT_KNOB_LOOP_LIST(LOOP_WORD) };

#define FILE_AT(member) offsetof(struct mt_knob_file, member)

static const struct knobs_field file_fields[] = {
	{ "framework", read_file_text, 1, FILE_AT(framework), NULL, 0 },
	{ "package", read_file_text, 0, FILE_AT(package), NULL, 0 },
	{ "repository", read_file_text, 0, FILE_AT(repository), NULL, 0 },
	{ "releases", read_releases, 1, 0, NULL, 0 },
	{ "builds-on", read_texts, 0, FILE_AT(builds_on), NULL, FILE_AT(below) },
	{ "written", read_file_word, 1, FILE_AT(written), FEW(knob_written_words, MT_KNOB_WRITTENS) },
	{ "class", read_file_text, 0, FILE_AT(class_), NULL, 0 },
	{ "frames", read_texts, 0, FILE_AT(frame), NULL, FILE_AT(frames) },
	{ "variables", read_texts, 0, FILE_AT(variable), NULL, FILE_AT(variables) },
	{ "hands-on", read_hands, 0, 0, NULL, 0 },
	{ "models", read_models, 0, 0, NULL, 0 },
	{ "wrappers", read_named, 0, FILE_AT(wrapper), NULL, FILE_AT(wrappers) },
	{ "trainers", read_named, 0, FILE_AT(trainer), NULL, FILE_AT(trainers) },
	{ "backends", read_named, 0, FILE_AT(backend), NULL, FILE_AT(backends) },
	{ "loop", read_file_word, 0, FILE_AT(loop), FEW(loop_words, MT_KNOB_LOOPS) },
	{ "knobs", read_knobs, 1, 0, NULL, 0 },
};

static int check_key(struct knobs_source *source, const struct mt_knob *knob, const char *key)
{
	if (!key || mt_knob_find(source->file, key))
		return 0;
	return yaml_cursor_fail_at(source->yaml, knob->line, "no knob of the file is %s", key);
}

static int check_references(struct knobs_source *source, const struct mt_knob *knob)
{
	uint32_t i;
	int error = 0;

	for (i = 0; i < knob->constraints && !error; i++) {
		error = check_key(source, knob, knob->constraint[i].key);
		if (!error)
			error = check_key(source, knob, knob->constraint[i].times);
	}
	for (i = 0; i < knob->withs && !error; i++)
		error = check_key(source, knob, knob->with[i].key);
	return error;
}

/* Gives rows without a word for the syntax the word of the file. */
static int check_written(struct knobs_source *source, struct mt_knob *knob)
{
	if (knob->written == MT_KNOB_WRITTENS)
		knob->written = source->file->written;
	if (knob->written == MT_KNOB_WRITTEN_ENVIRONMENT && !source->file->variables)
		return yaml_cursor_fail_at(source->yaml, knob->line, "no \"variables\" of the environment are given");
	if (knob->written == MT_KNOB_WRITTEN_ARGUMENT && !source->file->class_ && !strpbrk(knob->name.key, ".("))
		return yaml_cursor_fail_at(source->yaml, knob->line,
					   "%s is an argument of nothing, and no \"class\" is given", knob->name.key);
	return 0;
}

/* "GRPOConfig.max_length" belongs to the trainer GRPOConfig. */
static void find_trainer(const struct mt_knob_file *file, struct mt_knob *knob)
{
	size_t size = strcspn(knob->name.key, ".");
	uint32_t i;

	for (i = 0; i < file->trainers; i++)
		if (strlen(file->trainer[i].name) == size && !memcmp(file->trainer[i].name, knob->name.key, size))
			knob->trainer = file->trainer[i].name;
}

static int check_file(struct knobs_source *source)
{
	struct mt_knob_file *file = source->file;
	uint32_t i, k;
	int error = 0;

	for (i = 0; i < file->releases; i++)
		if (!(file->release[i].commit ? file->repository : file->package))
			return yaml_cursor_fail_at(source->yaml, 1, "release %s is of a \"%s\" that is not given",
						   file->release[i].version,
						   file->release[i].commit ? "repository" : "package");
	for (i = 0; i < file->knobs && !error; i++) {
		for (k = 0; k < i; k++)
			if (!strcmp(file->knob[k].name.key, file->knob[i].name.key))
				return yaml_cursor_fail_at(source->yaml, file->knob[i].line, "%s is there twice",
							   file->knob[i].name.key);
		find_trainer(file, &file->knob[i]);
		error = check_references(source, &file->knob[i]);
		if (!error)
			error = check_written(source, &file->knob[i]);
	}
	return error;
}

int knob_file_read(struct mt_knobs *knobs, struct mt_knob_file *file, const char *text, size_t size, char *message,
		   size_t message_size)
{
	struct knobs_source source = { .knobs = knobs, .file = file };
	int error = yaml_cursor_new(&source.yaml, file->name, text, size, message, message_size);

	if (error)
		return error;
	error = knobs_read_fields(&source, "the file", file_fields, MT_ARRAY_SIZE(file_fields));
	if (!error)
		error = yaml_cursor_finish(source.yaml);
	if (!error)
		error = check_file(&source);
	if (error == -MT_E_MEMORY)
		snprintf(message, message_size, "%s: %s", file->name, mt_strerror(MT_E_MEMORY));
	yaml_cursor_free(source.yaml);
	return error;
}
