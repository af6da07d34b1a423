/*
 * yaml_cursor.h - reads a YAML file event by event and reports errors with their line. It is the one user of libyaml.
 *
 * The file may be a stranger's: aliases are refused, texts are limited, and a NUL in a text is an error. Functions
 * return 0, -MT_E_RULES or -MT_E_MEMORY. After an error the message given to yaml_cursor_new is set, for -MT_E_RULES as
 * "NAME:LINE: words".
 */
#ifndef MEMTRACE_YAML_CURSOR_H
#define MEMTRACE_YAML_CURSOR_H

#include <stddef.h>
#include "memtrace/base.h"

#define YAML_TEXT_MAX 2048u /* bytes of a scalar */

enum yaml_node {
	YAML_NODE_TEXT,
	YAML_NODE_LIST,
	YAML_NODE_MAP,
	YAML_NODE_END, /* end of the list, of the map or of the file */
};

struct yaml_cursor;

/*
 * Opens a file whose top is a map; the cursor stands on this map. `name`, `text` and `message` must outlive the cursor.
 * The caller frees *cursor, which is NULL on error.
 */
int yaml_cursor_new(struct yaml_cursor **cursor, const char *name, const char *text, size_t size, char *message,
		    size_t message_size);
/* From here on an alias or a text that is too long is no error: yaml_cursor_text returns NULL for it. */
void yaml_cursor_allow(struct yaml_cursor *cursor);
void yaml_cursor_free(struct yaml_cursor *cursor); /* NULL is fine */

int yaml_cursor_next(struct yaml_cursor *cursor);

/* Like yaml_cursor_next, but any other node than `node` is an error. The message names `what`. */
int yaml_cursor_expect(struct yaml_cursor *cursor, enum yaml_node node, const char *what);

/* Call after the END of the file's map: more content is an error. */
int yaml_cursor_finish(struct yaml_cursor *cursor);

enum yaml_node yaml_cursor_node(const struct yaml_cursor *cursor);
size_t yaml_cursor_line(const struct yaml_cursor *cursor); /* from 1 */

/* The text at the cursor, valid until the next event; NULL: the cursor stands on no text. */
const char *yaml_cursor_text(const struct yaml_cursor *cursor);

/*
 * Reads the next node, which must be a text that is not empty. `key` names it in the message. *text is valid until the
 * next event.
 */
int yaml_cursor_read(struct yaml_cursor *cursor, const char *key, const char **text);

/* Reads the next node, which must be one of `count` words. *number: index of the word. */
int yaml_cursor_read_word(struct yaml_cursor *cursor, const char *key, const char *const *word, size_t count,
			  size_t *number);

/* *number: index of the cursor's text in the list of words. Another text is an error. */
int yaml_cursor_word(struct yaml_cursor *cursor, const char *key, const char *const *word, size_t count,
		     size_t *number);

/* Writes "NAME:LINE: words" as the message and returns -MT_E_RULES. */
int yaml_cursor_fail(struct yaml_cursor *cursor, size_t line, const char *format, ...) MT_PRINTF(3, 4);

#endif
