/* yaml_cursor.c - libyaml's events as four kinds of node, with a line and words for all that is wrong. */
#include "memtrace/yaml_cursor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>
#include "memtrace/error.h"

struct yaml_cursor {
	const char *name;
	char *message;
	size_t message_size;
	yaml_parser_t yaml;
	yaml_event_t event; /* the current event */
	enum yaml_node node;
	int allow; /* aliases, and texts of any length */
};

static void fail(struct yaml_cursor *cursor, size_t line, const char *format, va_list args)
{
	int size = snprintf(cursor->message, cursor->message_size, "%s:%zu: ", cursor->name, line);

	if (size >= 0 && (size_t)size < cursor->message_size)
		vsnprintf(cursor->message + size, cursor->message_size - (size_t)size, format, args);
}

int yaml_cursor_fail(struct yaml_cursor *cursor, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fail(cursor, yaml_cursor_line(cursor), format, args);
	va_end(args);
	return -MT_E_RULES;
}

int yaml_cursor_fail_at(struct yaml_cursor *cursor, size_t line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fail(cursor, line, format, args);
	va_end(args);
	return -MT_E_RULES;
}

static int no_memory(struct yaml_cursor *cursor)
{
	snprintf(cursor->message, cursor->message_size, "%s: %s", cursor->name, mt_strerror(MT_E_MEMORY));
	return -MT_E_MEMORY;
}

/* The next event, of any kind. */
static int advance(struct yaml_cursor *cursor)
{
	const yaml_parser_t *yaml = &cursor->yaml;
	size_t line;

	yaml_event_delete(&cursor->event);
	if (yaml_parser_parse(&cursor->yaml, &cursor->event))
		return 0;
	if (yaml->error == YAML_MEMORY_ERROR)
		return no_memory(cursor);
	line = yaml->problem_mark.line ? yaml->problem_mark.line : yaml->mark.line;
	return yaml_cursor_fail_at(cursor, line + 1, "not YAML: %s", yaml->problem ? yaml->problem : "cannot be read");
}

int yaml_cursor_next(struct yaml_cursor *cursor)
{
	int error = advance(cursor);

	if (error)
		return error;
	switch (cursor->event.type) {
	case YAML_SCALAR_EVENT:
		if (!cursor->allow && cursor->event.data.scalar.length > YAML_TEXT_MAX)
			return yaml_cursor_fail(cursor, "a text longer than %u bytes", YAML_TEXT_MAX);
		cursor->node = YAML_NODE_TEXT;
		return 0;
	case YAML_SEQUENCE_START_EVENT:
		cursor->node = YAML_NODE_LIST;
		return 0;
	case YAML_MAPPING_START_EVENT:
		cursor->node = YAML_NODE_MAP;
		return 0;
	case YAML_ALIAS_EVENT:
		cursor->node = YAML_NODE_TEXT;
		if (cursor->allow)
			return 0;
		return yaml_cursor_fail(cursor, "aliases are not allowed here");
	default:
		cursor->node = YAML_NODE_END;
		return 0;
	}
}

int yaml_cursor_expect(struct yaml_cursor *cursor, enum yaml_node node, const char *what)
{
	int error = yaml_cursor_next(cursor);

	if (!error && cursor->node != node)
		return yaml_cursor_fail(cursor, "%s is expected here", what);
	return error;
}

/* The beginnings of stream and document, and the map. */
static int begin(struct yaml_cursor *cursor)
{
	int error = advance(cursor);

	if (!error)
		error = advance(cursor);
	if (!error && cursor->event.type != YAML_DOCUMENT_START_EVENT)
		return yaml_cursor_fail(cursor, "the file is empty");
	if (!error)
		error = yaml_cursor_expect(cursor, YAML_NODE_MAP, "a mapping");
	return error;
}

int yaml_cursor_new(struct yaml_cursor **out, const char *name, const char *text, size_t size, char *message,
		    size_t message_size)
{
	struct yaml_cursor *cursor = calloc(1, sizeof(*cursor));
	int error;

	*out = NULL;
	if (!cursor || !yaml_parser_initialize(&cursor->yaml)) {
		free(cursor);
		snprintf(message, message_size, "%s: %s", name, mt_strerror(MT_E_MEMORY));
		return -MT_E_MEMORY;
	}
	cursor->name = name;
	cursor->message = message;
	cursor->message_size = message_size;
	yaml_parser_set_input_string(&cursor->yaml, (const unsigned char *)text, size);
	error = begin(cursor);
	if (error)
		yaml_cursor_free(cursor);
	else
		*out = cursor;
	return error;
}

void yaml_cursor_allow(struct yaml_cursor *cursor)
{
	cursor->allow = 1;
}

void yaml_cursor_free(struct yaml_cursor *cursor)
{
	if (!cursor)
		return;
	yaml_event_delete(&cursor->event);
	yaml_parser_delete(&cursor->yaml);
	free(cursor);
}

int yaml_cursor_finish(struct yaml_cursor *cursor)
{
	int error = advance(cursor); /* the end of the document */

	if (!error)
		error = advance(cursor);
	if (!error && cursor->event.type != YAML_STREAM_END_EVENT)
		return yaml_cursor_fail(cursor, "the end of the file is expected here");
	return error;
}

enum yaml_node yaml_cursor_node(const struct yaml_cursor *cursor)
{
	return cursor->node;
}

size_t yaml_cursor_line(const struct yaml_cursor *cursor)
{
	return cursor->event.start_mark.line + 1;
}

const char *yaml_cursor_text(const struct yaml_cursor *cursor)
{
	const char *text = (const char *)cursor->event.data.scalar.value;

	if (cursor->event.type != YAML_SCALAR_EVENT || cursor->event.data.scalar.length > YAML_TEXT_MAX ||
	    strlen(text) != cursor->event.data.scalar.length)
		return NULL;
	return text;
}

int yaml_cursor_read(struct yaml_cursor *cursor, const char *key, const char **text)
{
	int error = yaml_cursor_next(cursor);

	if (error)
		return error;
	*text = yaml_cursor_text(cursor);
	if (!*text || !**text)
		return yaml_cursor_fail(cursor, "%s must be a text", key);
	return 0;
}

static int unknown_word(struct yaml_cursor *cursor, const char *key, const char *const *word, size_t count)
{
	char list[512] = "";
	size_t i, size = 0;

	for (i = 0; i < count && size < sizeof(list); i++)
		size += (size_t)snprintf(list + size, sizeof(list) - size, "%s%s", i ? ", " : "", word[i]);
	return yaml_cursor_fail(cursor, "unknown %s \"%.64s\" (one of: %s)", key, yaml_cursor_text(cursor), list);
}

int yaml_cursor_word(struct yaml_cursor *cursor, const char *key, const char *const *word, size_t count, size_t *number)
{
	const char *text = yaml_cursor_text(cursor);
	size_t i;

	if (!text)
		return yaml_cursor_fail(cursor, "%s must be a word", key);
	for (i = 0; i < count; i++)
		if (!strcmp(word[i], text)) {
			*number = i;
			return 0;
		}
	return unknown_word(cursor, key, word, count);
}

int yaml_cursor_read_word(struct yaml_cursor *cursor, const char *key, const char *const *word, size_t count,
			  size_t *number)
{
	int error = yaml_cursor_next(cursor);

	return error ? error : yaml_cursor_word(cursor, key, word, count, number);
}
