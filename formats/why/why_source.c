/*
 * why_source.c - reads rows, words and lists of words: the parts that all files of formats/why have (README.md). An unknown or repeated key is an
 * error with file and line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"
#include "why_impl.h"

#define WORD(name, word) word,
const char *const why_tag_words[] = { MT_TAG_LIST(WORD) };
const char *const why_need_words[] = { MT_NEED_LIST(WORD) };
const char *const why_action_words[] = { MT_ACTION_LIST(WORD) };
const char *const why_who_words[] = { MT_WHO_LIST(WORD) };
const char *const why_asker_words[] = { MT_ASKER_LIST(WORD) };
const char *const why_fact_words[] = { MT_FACT_LIST(WORD) };
#undef WORD

#define WORD(name, word, means) word,
const char *const why_cause_words[] = { MT_CAUSE_LIST(WORD) };
#undef WORD

#define WORD(name, number, word, ...) [number] = word,
const char *const why_phase_words[] = { MT_PHASE_LIST(WORD) };
const char *const why_category_words[] = { MT_CATEGORY_LIST(WORD) };
#undef WORD

void *why_add(void *array, size_t *count, size_t *max, size_t size)
{
	size_t more = *max ? *max * 2 : 32;
	char *larger, **place = array;

	if (*count == *max) {
		larger = realloc(*place, more * size);
		if (!larger)
			return NULL;
		*place = larger;
		*max = more;
	}
	larger = *place + *count * size;
	memset(larger, 0, size);
	(*count)++;
	return larger;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static int read_field(struct why_source *source, const struct why_field *field, size_t fields, uint32_t *seen)
{
	const char *key = yaml_cursor_text(source->yaml);
	size_t i;

	for (i = 0; key && i < fields; i++)
		if (!strcmp(field[i].key, key))
			break;
	if (!key || i == fields)
		return yaml_cursor_fail(source->yaml, "a row has no key \"%.64s\"", key ? key : "(not a word)");
	if (*seen & 1u << i)
		return yaml_cursor_fail(source->yaml, "\"%s\" is there twice", field[i].key);
	*seen |= 1u << i;
	return field[i].read(source, &field[i]);
}

int why_read_fields(struct why_source *source, const struct why_field *field, size_t fields)
{
	size_t line = yaml_cursor_line(source->yaml), i;
	uint32_t seen = 0;
	int error;

	while (!(error = yaml_cursor_next(source->yaml)) && yaml_cursor_node(source->yaml) != YAML_NODE_END) {
		error = read_field(source, field, fields, &seen);
		if (error)
			return error;
	}
	for (i = 0; !error && i < fields; i++)
		if (field[i].required && !(seen & 1u << i))
			error = yaml_cursor_fail_at(source->yaml, line, "a row has no \"%s\"", field[i].key);
	return error;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

int why_read_word(struct why_source *source, const struct why_field *field)
{
	size_t number;
	int error = yaml_cursor_read_word(source->yaml, field->key, field->word, field->words, &number);

	if (!error)
		*(uint32_t *)((char *)source->row + field->at) = (uint32_t)number;
	return error;
}

static int add_bit(struct why_source *source, const struct why_field *field, uint64_t *bits)
{
	size_t number;
	int error = yaml_cursor_word(source->yaml, field->key, field->word, field->words, &number);

	if (!error && *bits & (uint64_t)1 << number)
		return yaml_cursor_fail(source->yaml, "%s is there twice", field->word[number]);
	if (!error)
		*bits |= (uint64_t)1 << number;
	return error;
}

int why_bits_here(struct why_source *source, const struct why_field *field, uint64_t *bits)
{
	int error = 0;

	if (yaml_cursor_node(source->yaml) == YAML_NODE_TEXT)
		return add_bit(source, field, bits);
	if (yaml_cursor_node(source->yaml) != YAML_NODE_LIST)
		return yaml_cursor_fail(source->yaml, "%s is a word, or a list of words", field->key);
	while (!error && !(error = yaml_cursor_next(source->yaml)) && yaml_cursor_node(source->yaml) != YAML_NODE_END)
		error = add_bit(source, field, bits);
	if (!error && !*bits)
		return yaml_cursor_fail(source->yaml, "%s is an empty list", field->key);
	return error;
}

int why_read_bits(struct why_source *source, const struct why_field *field)
{
	int error = yaml_cursor_next(source->yaml);

	return error ? error : why_bits_here(source, field, (uint64_t *)((char *)source->row + field->at));
}

int why_read_text(struct why_source *source, const struct why_field *field)
{
	const char **kept = (const char **)((char *)source->row + field->at), *text;
	int error = yaml_cursor_read(source->yaml, field->key, &text);

	if (error)
		return error;
	*kept = mt_texts_keep(&source->why->texts, text, strlen(text));
	return *kept ? 0 : -MT_E_MEMORY;
}

/* ---- a file ------------------------------------------------------------------------------------------------------ */

static int read_row(struct why_source *source, const struct why_file *file, uint32_t count)
{
	if (count >= WHY_ROWS_MAX)
		return yaml_cursor_fail(source->yaml, "more than %u rows", WHY_ROWS_MAX);
	if (yaml_cursor_node(source->yaml) != YAML_NODE_MAP)
		return yaml_cursor_fail(source->yaml, "each of %s is a mapping", file->key);
	return file->row(source);
}

static int read_rows(struct why_source *source, const struct why_file *file)
{
	static const char not_a_word[] = "(not a word)";
	int error = yaml_cursor_next(source->yaml);
	const char *key = error ? NULL : yaml_cursor_text(source->yaml);
	uint32_t count = 0;

	if (!error && (!key || strcmp(key, file->key)))
		return yaml_cursor_fail(source->yaml, "the file begins with \"%.64s\", not \"%s\"",
					key ? key : not_a_word, file->key);
	if (!error)
		error = yaml_cursor_expect(source->yaml, YAML_NODE_LIST, "a list of rows");
	while (!error && !(error = yaml_cursor_next(source->yaml)) && yaml_cursor_node(source->yaml) != YAML_NODE_END)
		error = read_row(source, file, count++);
	if (!error)
		error = yaml_cursor_expect(source->yaml, YAML_NODE_END, "the end of the file");
	if (!error)
		error = yaml_cursor_finish(source->yaml);
	return error;
}

int why_read(struct mt_why *why, const struct why_file *file, const char *text, size_t size, char *message,
	     size_t message_size)
{
	struct why_source source = { .why = why };
	int error = yaml_cursor_new(&source.yaml, file->name, text, size, message, message_size);

	if (!error)
		error = read_rows(&source, file);
	if (!error && file->check)
		error = file->check(&source);
	if (error == -MT_E_MEMORY)
		snprintf(message, message_size, "%s: %s", file->name, mt_strerror(MT_E_MEMORY));
	yaml_cursor_free(source.yaml);
	return error;
}
