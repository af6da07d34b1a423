/*
 * knobs_file.c - reads a knob file: what it says of all its rows, its rows, and whether they fit together. A constraint about a key
 * that is not there is an error with file and line.
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

/* "VERSION" or "VERSION@COMMIT". */
static int add_release(struct knobs_source *source, const struct knobs_field *field)
{
	struct mt_knob_file *file = source->file;
	struct mt_knob_release *release = &file->release[file->releases];
	const char *text = yaml_cursor_text(source->yaml), *at = text ? strchr(text, '@') : NULL;
	uint32_t i;

	if (!text || !*text || at == text || (at && strspn(at + 1, "0123456789abcdef") != 40) || (at && at[41]))
		return knobs_fail(source, "%s are versions, or VERSION@COMMIT with all 40 digits", field->key);
	release->version = knobs_keep(source->knobs, text, at ? (size_t)(at - text) : strlen(text));
	if (!release->version || (at && knobs_keep_text(source, at + 1, &release->commit)))
		return -MT_E_MEMORY;
	for (i = 0; i < file->releases; i++)
		if (!strcmp(file->release[i].version, release->version))
			return knobs_fail(source, "%s is there twice", release->version);
	file->releases++;
	return 0;
}

static int read_releases(struct knobs_source *source, const struct knobs_field *field)
{
	return knobs_read_list(source, field->key, MT_KNOB_RELEASES_MAX, add_release, field);
}

static int add_below(struct knobs_source *source, const struct knobs_field *field)
{
	const char *text = yaml_cursor_text(source->yaml);

	if (!text || !*text)
		return knobs_fail(source, "%s is a list of frameworks", field->key);
	return knobs_keep_text(source, text, &source->file->builds_on[source->file->below++]);
}

static int read_builds_on(struct knobs_source *source, const struct knobs_field *field)
{
	return knobs_read_list(source, field->key, MT_KNOB_FRAMEWORKS_MAX, add_below, field);
}

static int add_frame(struct knobs_source *source, const struct knobs_field *field)
{
	return knobs_add_text(source, field, source->file->frame, &source->file->frames);
}

static int read_frames(struct knobs_source *source, const struct knobs_field *field)
{
	return knobs_read_list(source, field->key, MT_KNOB_FRAMES_MAX, add_frame, field);
}

static int add_variable(struct knobs_source *source, const struct knobs_field *field)
{
	return knobs_add_text(source, field, source->file->variable, &source->file->variables);
}

static int read_variables(struct knobs_source *source, const struct knobs_field *field)
{
	return knobs_read_list(source, field->key, MT_KNOB_VARIABLES_MAX, add_variable, field);
}

static int add_other(struct knobs_source *source, const struct knobs_field *field)
{
	return knobs_add_text(source, field, source->file->other, &source->file->others);
}

static int read_others(struct knobs_source *source, const struct knobs_field *field)
{
	return knobs_read_list(source, field->key, MT_KNOB_OTHERS_MAX, add_other, field);
}

static int add_hand(struct knobs_source *source, const struct knobs_field *field)
{
	struct mt_knob_file *file = source->file;
	const char *text = yaml_cursor_text(source->yaml);
	int error;

	if (!text)
		return knobs_fail(source, "%s is a mapping of frameworks to texts", field->key);
	if (file->hands == MT_KNOB_HANDS_MAX)
		return knobs_fail(source, "too many of %s", field->key);
	error = knobs_keep_text(source, text, &file->hand[file->hands].framework);
	return error ? error : knobs_read_kept(source, field->key, &file->hand[file->hands++].before);
}

static int read_hands(struct knobs_source *source, const struct knobs_field *field)
{
	int error = yaml_cursor_expect(source->yaml, YAML_NODE_MAP, "a mapping");

	while (!error && !(error = yaml_cursor_next(source->yaml)) && yaml_cursor_node(source->yaml) != YAML_NODE_END)
		error = add_hand(source, field);
	return error;
}

static int add_model_seen(struct knobs_source *source, const struct knobs_field *field)
{
	struct mt_knob_model *model = &source->file->model[source->file->models];

	return knobs_add_text(source, field, model->seen, &model->seens);
}

/* "critic: [update_critic, dp_critic.py]", each process once. */
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
			return knobs_fail(source, "%s is there twice", knob_process_words[number]);
	file->model[file->models].process = (enum mt_knob_process)number;
	error = knobs_read_list(source, field->key, MT_KNOB_WITHIN_MAX, add_model_seen, field);
	file->models += !error;
	return error;
}

static int read_models(struct knobs_source *source, const struct knobs_field *field)
{
	int error = yaml_cursor_expect(source->yaml, YAML_NODE_MAP, "a mapping");

	while (!error && !(error = yaml_cursor_next(source->yaml)) && yaml_cursor_node(source->yaml) != YAML_NODE_END)
		error = add_model(source, field);
	return error;
}

static int add_named_seen(struct knobs_source *source, const struct knobs_field *field)
{
	struct mt_knob_wrapper *wrapper = source->named;

	return knobs_add_text(source, field, wrapper->seen, &wrapper->seens);
}

/* "axolotl: [axolotl/cli]", one of `list`. */
static int add_named(struct knobs_source *source, const struct knobs_field *field, struct mt_knob_wrapper *list,
		     uint32_t *count)
{
	const char *text = yaml_cursor_text(source->yaml);
	int error;

	if (!text)
		return knobs_fail(source, "%s is a mapping of names to lists", field->key);
	if (*count == MT_KNOB_WRAPPERS_MAX)
		return knobs_fail(source, "too many of %s", field->key);
	source->named = &list[*count];
	error = knobs_keep_text(source, text, &list[*count].name);
	if (!error)
		error = knobs_read_list(source, field->key, MT_KNOB_WITHIN_MAX, add_named_seen, field);
	*count += !error;
	return error;
}

static int read_named(struct knobs_source *source, const struct knobs_field *field, struct mt_knob_wrapper *list,
		      uint32_t *count)
{
	int error = yaml_cursor_expect(source->yaml, YAML_NODE_MAP, "a mapping");

	while (!error && !(error = yaml_cursor_next(source->yaml)) && yaml_cursor_node(source->yaml) != YAML_NODE_END)
		error = add_named(source, field, list, count);
	return error;
}

static int read_wrappers(struct knobs_source *source, const struct knobs_field *field)
{
	return read_named(source, field, source->file->wrapper, &source->file->wrappers);
}

static int read_backends(struct knobs_source *source, const struct knobs_field *field)
{
	return read_named(source, field, source->file->backend, &source->file->backends);
}

#define LOOP_WORD(name, word) word,
static const char *const loop_words[] = { MT_KNOB_LOOP_LIST(LOOP_WORD) };

#define FILE_AT(member) offsetof(struct mt_knob_file, member)

static const struct knobs_field file_fields[] = {
	{ "framework", read_file_text, 1, offsetof(struct mt_knob_file, framework), NULL, 0 },
	{ "package", read_file_text, 0, offsetof(struct mt_knob_file, package), NULL, 0 },
	{ "repository", read_file_text, 0, offsetof(struct mt_knob_file, repository), NULL, 0 },
	{ "releases", read_releases, 1, 0, NULL, 0 },
	{ "builds-on", read_builds_on, 0, 0, NULL, 0 },
	{ "written", read_file_word, 1, FILE_AT(written), FEW(knob_written_words, MT_KNOB_WRITTENS) },
	{ "class", read_file_text, 0, FILE_AT(class_), NULL, 0 },
	{ "frames", read_frames, 0, 0, NULL, 0 },
	{ "variables", read_variables, 0, 0, NULL, 0 },
	{ "hands-on", read_hands, 0, 0, NULL, 0 },
	{ "others", read_others, 0, 0, NULL, 0 },
	{ "models", read_models, 0, 0, NULL, 0 },
	{ "wrappers", read_wrappers, 0, 0, NULL, 0 },
	{ "backends", read_backends, 0, 0, NULL, 0 },
	{ "loop", read_file_word, 0, FILE_AT(loop), FEW(loop_words, MT_KNOB_LOOPS) },
	{ "knobs", read_knobs, 1, 0, NULL, 0 },
};

/* Is it a key of the file, of today or older? */
static int has_key(const struct mt_knob_file *file, const char *key)
{
	uint32_t i, k;

	for (i = 0; i < file->knobs; i++) {
		if (!strcmp(file->knob[i].name.key, key))
			return 1;
		for (k = 0; k < file->knob[i].olders; k++)
			if (!strcmp(file->knob[i].older[k].key, key))
				return 1;
	}
	return 0;
}

/* "full: --recompute-method=uniform" */
static int has_companion(const struct mt_knob_file *file, const char *with)
{
	const char *colon = strstr(with, ": "), *equals = colon ? strchr(colon, '=') : NULL;
	uint32_t i;

	for (i = 0; equals && i < file->knobs; i++)
		if (strlen(file->knob[i].name.key) == (size_t)(equals - colon - 2) &&
		    !strncmp(file->knob[i].name.key, colon + 2, (size_t)(equals - colon - 2)))
			return 1;
	return 0;
}

static int check_references(struct knobs_source *source, const struct mt_knob *knob)
{
	const struct mt_knob_constraint *constraint;
	uint32_t i;

	for (i = 0; i < knob->constraints; i++) {
		constraint = &knob->constraint[i];
		if (constraint->key && !has_key(source->file, constraint->key))
			return yaml_cursor_fail(source->yaml, knob->line, "no knob of the file is %s", constraint->key);
		if (constraint->times && !has_key(source->file, constraint->times))
			return yaml_cursor_fail(source->yaml, knob->line, "no knob of the file is %s",
						constraint->times);
	}
	for (i = 0; i < knob->withs; i++)
		if (!has_companion(source->file, knob->with[i]))
			return yaml_cursor_fail(source->yaml, knob->line,
						"no \"VALUE: KEY=VALUE\" of a knob of the file: %s", knob->with[i]);
	return 0;
}

/* The file's words for all rows that have none of their own. */
static int check_written(struct knobs_source *source, struct mt_knob *knob)
{
	if (knob->written == MT_KNOB_WRITTENS)
		knob->written = source->file->written;
	if (knob->written == MT_KNOB_WRITTEN_ENVIRONMENT && !source->file->variables)
		return yaml_cursor_fail(source->yaml, knob->line, "no \"variables\" of the environment are given");
	if (knob->written == MT_KNOB_WRITTEN_ARGUMENT && !source->file->class_ && !strpbrk(knob->name.key, ".("))
		return yaml_cursor_fail(source->yaml, knob->line,
					"%s is an argument of nothing, and no \"class\" is given", knob->name.key);
	return 0;
}

static int check_file(struct knobs_source *source)
{
	struct mt_knob_file *file = source->file;
	uint32_t i, k;
	int error = 0;

	for (i = 0; i < file->releases; i++)
		if (!(file->release[i].commit ? file->repository : file->package))
			return yaml_cursor_fail(source->yaml, 1, "release %s is of a \"%s\" that is not given",
						file->release[i].version,
						file->release[i].commit ? "repository" : "package");
	for (i = 0; i < file->knobs && !error; i++) {
		for (k = 0; k < i; k++)
			if (!strcmp(file->knob[k].name.key, file->knob[i].name.key))
				return yaml_cursor_fail(source->yaml, file->knob[i].line, "%s is there twice",
							file->knob[i].name.key);
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
