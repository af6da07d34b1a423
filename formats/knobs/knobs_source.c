/*
 * knobs_source.c - reads the parts of a knob file (README.md): mappings with fields, lists, texts. An unknown or repeated field is an error with file
 * and line.
 */
#include "knobs_source.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"

#define WORD(name, word) word,
const char *const knob_process_words[] = { MT_KNOB_PROCESS_LIST(WORD) };
const char *const knob_saves_words[] = { MT_KNOB_SAVES_LIST(WORD) };
const char *const knob_method_words[] = { MT_KNOB_METHOD_LIST(WORD) };
const char *const knob_of_words[] = { MT_KNOB_OF_LIST(WORD) };
const char *const knob_leaves_words[] = { MT_KNOB_LEAVES_LIST(WORD) };
const char *const knob_cost_word[] = { MT_KNOB_COST_LIST(WORD) };
const char *const knob_fact_word[] = { MT_KNOB_FACT_LIST(WORD) };
const char *const knob_written_words[] = { MT_KNOB_WRITTEN_LIST(WORD) };
const char *const knob_beyond_words[] = { MT_KNOB_BEYOND_LIST(WORD) };
const char *const knob_constraint_keys[] = { MT_KNOB_CONSTRAINT_LIST(WORD) };
#undef WORD

#define WORD(name, word, kind, one) word,
const char *const knob_unit_words[] = { MT_KNOB_UNIT_LIST(WORD) };
#undef WORD

const char *knobs_keep(struct mt_knobs *knobs, const char *text, size_t size)
{
	return mt_texts_keep(&knobs->texts, text, size);
}

int knobs_keep_text(struct knobs_source *source, const char *text, const char **kept)
{
	*kept = knobs_keep(source->knobs, text, strlen(text));
	return *kept ? 0 : -MT_E_MEMORY;
}

/* ---- mappings and lists ------------------------------------------------------------------------------------------ */

static int read_field(struct knobs_source *source, const char *what, const struct knobs_field *field, size_t fields,
		      uint64_t *seen)
{
	const char *key = yaml_cursor_text(source->yaml);
	size_t i;

	for (i = 0; key && i < fields; i++)
		if (!strcmp(field[i].key, key))
			break;
	if (!key || i == fields)
		return yaml_cursor_fail(source->yaml, "%s has no field \"%.64s\"", what, key ? key : "(not a word)");
	if (*seen & (uint64_t)1 << i)
		return yaml_cursor_fail(source->yaml, "\"%s\" is there twice", field[i].key);
	*seen |= (uint64_t)1 << i;
	return field[i].read(source, &field[i]);
}

/* Reads the rest of a mapping and checks that all required fields came. */
int knobs_read_fields(struct knobs_source *source, const char *what, const struct knobs_field *field, size_t fields)
{
	size_t line = yaml_cursor_line(source->yaml), i;
	uint64_t seen = 0;
	int error;

	while (!(error = yaml_cursor_next(source->yaml)) && yaml_cursor_node(source->yaml) != YAML_NODE_END) {
		error = read_field(source, what, field, fields, &seen);
		if (error)
			return error;
	}
	for (i = 0; !error && i < fields; i++)
		if (field[i].required && !(seen & (uint64_t)1 << i))
			error = yaml_cursor_fail_at(source->yaml, line, "%s has no \"%s\"", what, field[i].key);
	return error;
}

/* Reads a list: calls `item` with the cursor on each node, at most `max` times. */
int knobs_read_list(struct knobs_source *source, const char *key, uint32_t max,
		    int (*item)(struct knobs_source *source, const struct knobs_field *field),
		    const struct knobs_field *field)
{
	int error = yaml_cursor_expect(source->yaml, YAML_NODE_LIST, "a list");
	uint32_t count = 0;

	while (!error && !(error = yaml_cursor_next(source->yaml)) && yaml_cursor_node(source->yaml) != YAML_NODE_END) {
		if (count++ == max)
			return yaml_cursor_fail(source->yaml, "more than %u of %s", max, key);
		error = item(source, field);
	}
	return error;
}

int knobs_read_kept(struct knobs_source *source, const char *key, const char **kept)
{
	const char *text;
	int error = yaml_cursor_read(source->yaml, key, &text);

	return error ? error : knobs_keep_text(source, text, kept);
}

/* Adds a text of a list to an array. */
int knobs_add_text(struct knobs_source *source, const struct knobs_field *field, const char **array, uint32_t *count)
{
	const char *text = yaml_cursor_text(source->yaml);

	if (!text || !*text)
		return yaml_cursor_fail(source->yaml, "%s is a list of texts", field->key);
	return knobs_keep_text(source, text, &array[(*count)++]);
}
