/*
 * yaml_cursor.h - reads a YAML file node by node, and reports errors with their line. No other file uses libyaml.
 *
 * The file may be hostile: aliases are refused, texts are limited, and a NUL in a text is an error. Functions return 0, -MT_E_RULES or -MT_E_MEMORY.
 * After an error, the message given to yaml_cursor_new is set; for -MT_E_RULES it is "NAME:LINE: words".
 */
#ifndef MEMTRACE_YAML_CURSOR_H
#define MEMTRACE_YAML_CURSOR_H

#include <stddef.h>
#include "memtrace/base.h"

#define YAML_TEXT_MAX 2048u /* bytes of a scalar, at most */

enum yaml_node {
	YAML_NODE_TEXT,
	YAML_NODE_LIST,
	YAML_NODE_MAP,
	YAML_NODE_END, /* end of a list, of a map or of the file */
};

struct yaml_cursor;

/*
 * Opens a file with a map at its top; the cursor is at this map. `name`, `text` and `message` must outlive the cursor. The caller frees *cursor,
 * which is NULL after an error.
 */
int yaml_cursor_new(struct yaml_cursor **cursor, const char *name, const char *text, size_t size, char *message,
		    size_t message_size);
/* Allows aliases and texts that are too long from here on: yaml_cursor_text returns NULL for these. */
void yaml_cursor_allow(struct yaml_cursor *cursor);
void yaml_cursor_free(struct yaml_cursor *cursor); /* NULL is allowed */

int yaml_cursor_next(struct yaml_cursor *cursor);

/* As yaml_cursor_next; a node of another kind than `node` is an error. The message names `what`. */
int yaml_cursor_expect(struct yaml_cursor *cursor, enum yaml_node node, const char *what);

/* Checks that nothing follows the file's map. Call this after the map's END. */
int yaml_cursor_finish(struct yaml_cursor *cursor);

enum yaml_node yaml_cursor_node(const struct yaml_cursor *cursor);
size_t yaml_cursor_line(const struct yaml_cursor *cursor); /* line of the cursor, from 1 */

/* Returns the text at the cursor, valid until the next event; NULL: the cursor is not at a text. */
const char *yaml_cursor_text(const struct yaml_cursor *cursor);

/* Reads the next node. It must be a text and not empty. The message names `key`. *text is valid until the next event. */
int yaml_cursor_read(struct yaml_cursor *cursor, const char *key, const char **text);

/* Reads the next node. It must be one of `count` words. *number: the index of the word. */
int yaml_cursor_read_word(struct yaml_cursor *cursor, const char *key, const char *const *word, size_t count,
			  size_t *number);

/* *number: the index of the cursor's text in the list of words. Any other text is an error. */
int yaml_cursor_word(struct yaml_cursor *cursor, const char *key, const char *const *word, size_t count,
		     size_t *number);

/* Write "NAME:LINE: words" into the message, about the cursor's line or another one. Return -MT_E_RULES. */
int yaml_cursor_fail(struct yaml_cursor *cursor, const char *format, ...) MT_PRINTF(2, 3);
int yaml_cursor_fail_at(struct yaml_cursor *cursor, size_t line, const char *format, ...) MT_PRINTF(3, 4);

#endif
