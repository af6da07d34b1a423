/* knobs_source.h - the state of reading a knob file, shared by the files of formats/knobs that read one. */
#ifndef FORMATS_KNOBS_SOURCE_H
#define FORMATS_KNOBS_SOURCE_H

#include "knobs_impl.h"
#include "memtrace/yaml_cursor.h"

#define KNOBS_MAX 1024u /* rows of a file */

/* The last two members of a struct knobs_field. */
#define FEW(list, count) list, count

struct knobs_source {
	struct mt_knobs *knobs;
	struct mt_knob_file *file;
	struct yaml_cursor *yaml;
	struct mt_knob *knob;          /* the current row; the members below are about it */
	struct mt_knob_name *name;     /* current key of the row: today's or an older one */
	struct mt_knob_wrapper *named; /* wrapper or backend of the current list */
	struct mt_knob_constraint *constraint;
	uint32_t knobs_max;
};

/* A key of a mapping, and the function that reads its value. */
struct knobs_field {
	const char *key;
	int (*read)(struct knobs_source *source, const struct knobs_field *field);
	int required;
	size_t at; /* offset of the value in the struct of the mapping */
	const char *const *word;
	size_t words; /* number of words; for a list of texts: offset of its count */
};

/* Sets the message to an error at the cursor's line, with `about` in place of %s in `words`. Returns the error. */
int knobs_fail(struct knobs_source *source, const char *words, const char *about);

/* Copies `text` to *kept for as long as the knobs live. 0 or -MT_E_MEMORY. */
int knobs_keep_text(struct knobs_source *source, const char *text, const char **kept);

/* Reads the rest of the mapping `what`: each key by its field, once. Checks that all required keys came. */
int knobs_read_fields(struct knobs_source *source, const char *what, const struct knobs_field *field, size_t fields);

/* Reads the list that comes next. Calls `item` with the cursor on each of its nodes, at most `max` times. */
int knobs_read_list(struct knobs_source *source, const char *key, uint32_t max,
		    int (*item)(struct knobs_source *source, const struct knobs_field *field),
		    const struct knobs_field *field);

/* Reads and copies the text that comes next. */
int knobs_read_kept(struct knobs_source *source, const char *key, const char **kept);

/* For an item of a list of texts: adds the cursor's text to an array. The list's limit bounds the array. */
int knobs_add_text(struct knobs_source *source, const struct knobs_field *field, const char **array, uint32_t *count);

/*
 * For an item of the list of knobs: reads the row at the cursor into the next place of the file's array, which grows
 * (knobs_row.c).
 */
int knobs_read_row(struct knobs_source *source, const struct knobs_field *unused);

#endif
