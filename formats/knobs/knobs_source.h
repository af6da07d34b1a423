/* knobs_source.h - the state while a knob file is read, shared by the files of formats/knobs that read. */
#ifndef FORMATS_KNOBS_SOURCE_H
#define FORMATS_KNOBS_SOURCE_H

#include "knobs_impl.h"
#include "memtrace/yaml_cursor.h"

#define KNOBS_MAX 1024u /* rows of a file, at most */

/* The last two members of a struct knobs_field. */
#define FEW(list, count) list, count

struct knobs_source {
	struct mt_knobs *knobs;
	struct mt_knob_file *file;
	struct yaml_cursor *yaml;
	struct mt_knob *knob;          /* current row; the members below describe it */
	struct mt_knob_name *name;     /* current key of the row: the newest or an older one */
	struct mt_knob_wrapper *named; /* current wrapper or backend of a list */
	struct mt_knob_constraint *constraint;
	uint32_t knobs_max;
};

/* A key of a mapping, and the function that reads the value. */
struct knobs_field {
	const char *key;
	int (*read)(struct knobs_source *source, const struct knobs_field *field);
	int required;
	size_t at; /* offset of the value in the struct of the mapping */
	const char *const *word;
	size_t words; /* number of words; for a list of texts: offset of the list's count */
};

/* Copies `text` to *kept. The copy lives as long as the knobs. Returns 0 or -MT_E_MEMORY. */
int knobs_keep_text(struct knobs_source *source, const char *text, const char **kept);

/* Reads the rest of the mapping `what`. Each key comes at most once; a required key that is missing is an error. */
int knobs_read_fields(struct knobs_source *source, const char *what, const struct knobs_field *field, size_t fields);

/* Reads the next node, a list. Calls `item` with the cursor on each of its nodes, at most `max` times. */
int knobs_read_list(struct knobs_source *source, const char *key, uint32_t max,
		    int (*item)(struct knobs_source *source, const struct knobs_field *field),
		    const struct knobs_field *field);

/* Reads the next node, a text, and copies it. */
int knobs_read_kept(struct knobs_source *source, const char *key, const char **kept);

/* Adds the cursor's text, an item of a list, to an array. The limit of the list bounds the array. */
int knobs_add_text(struct knobs_source *source, const struct knobs_field *field, const char **array, uint32_t *count);

/* Reads the row at the cursor, an item of the list of knobs, into a new entry of the file's array (knobs_row.c). */
int knobs_read_row(struct knobs_source *source, const struct knobs_field *unused);

#endif
