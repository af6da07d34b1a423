/*
 * yaml_cursor.h - the one user of libyaml: goes through a YAML file, event by event, and says what is wrong with a line.
 *
 * Somebody else may have written the file: aliases are refused, texts are limited, and a text with NUL is none.
 * Functions return 0 or -MT_E_RULES, with "NAME:LINE: words" in the message that was given at the beginning; or
 * -MT_E_MEMORY, with a message, too.
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
 * Stands on the map that the file is. `name`, `text` and `message` stay the caller's, and in place until the cursor is
 * freed. *cursor is the caller's, NULL on error.
 */
int yaml_cursor_new(struct yaml_cursor **cursor, const char *name, const char *text, size_t size, char *message,
		    size_t message_size);
/* From here on an alias, and a text that is too long, is a text that yaml_cursor_text does not tell. */
void yaml_cursor_allow(struct yaml_cursor *cursor);
void yaml_cursor_free(struct yaml_cursor *cursor); /* NULL is fine */

int yaml_cursor_next(struct yaml_cursor *cursor);

/* Like yaml_cursor_next, but any other node than `node` is an error. The message names `what`. */
int yaml_cursor_expect(struct yaml_cursor *cursor, enum yaml_node node, const char *what);

/* After the last END of the file's map: nothing may follow. */
int yaml_cursor_finish(struct yaml_cursor *cursor);

enum yaml_node yaml_cursor_node(const struct yaml_cursor *cursor);
size_t yaml_cursor_line(const struct yaml_cursor *cursor); /* from 1 */

/* The text that the cursor stands on; NULL: it stands on none. Lives until the next event. */
const char *yaml_cursor_text(const struct yaml_cursor *cursor);

/* Next: a text that is not empty. `key` is what it is said of. Lives until the next event. */
int yaml_cursor_read(struct yaml_cursor *cursor, const char *key, const char **text);

/* Next: one of `count` words; its number into *number. */
int yaml_cursor_read_word(struct yaml_cursor *cursor, const char *key, const char *const *word, size_t count,
			  size_t *number);

/* The number of the text that the cursor stands on among the words. */
int yaml_cursor_word(struct yaml_cursor *cursor, const char *key, const char *const *word, size_t count,
		     size_t *number);

/* -MT_E_RULES, with the words. */
int yaml_cursor_fail(struct yaml_cursor *cursor, size_t line, const char *format, ...) MT_PRINTF(3, 4);

#endif
