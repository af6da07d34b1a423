/* knobs_source.h - a knob file that is being read: what the files of formats/knobs that read one share. */
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
	struct mt_knob *knob;          /* the row being read; the rest is about it */
	struct mt_knob_name *name;     /* .. the key, or an older one of it */
	struct mt_knob_wrapper *named; /* the wrapper or backend whose list is being read */
	struct mt_knob_constraint *constraint;
	uint32_t knobs_max;
};

/* A key of a mapping, and what reads its value. */
struct knobs_field {
	const char *key;
	int (*read)(struct knobs_source *source, const struct knobs_field *field);
	int required;
	size_t at; /* offset in the struct that the mapping is */
	const char *const *word;
	size_t words; /* number of words; a list of texts has the offset of its count here */
};

/* An error at the cursor's line: its words into the message, with `about` where they have a %s. Returns it. */
int knobs_fail(struct knobs_source *source, const char *words, const char *about);

/* *kept is a copy that lives as long as the knobs. 0, -MT_E_MEMORY. */
int knobs_keep_text(struct knobs_source *source, const char *text, const char **kept);

/* From inside of the mapping `what` to its end: each key by its field, once; all that is required is there then. */
int knobs_read_fields(struct knobs_source *source, const char *what, const struct knobs_field *field, size_t fields);

/* All of the list that comes next: `item` is called with the cursor on each of its nodes, at most `max` times. */
int knobs_read_list(struct knobs_source *source, const char *key, uint32_t max,
		    int (*item)(struct knobs_source *source, const struct knobs_field *field),
		    const struct knobs_field *field);

/* The text that comes next, kept. */
int knobs_read_kept(struct knobs_source *source, const char *key, const char **kept);

/* For an item of a list of texts: the cursor's text, one more into an array of whoever it is of; the list has bounded it. */
int knobs_add_text(struct knobs_source *source, const struct knobs_field *field, const char **array, uint32_t *count);

/* For the list of knobs: the row that the cursor stands on, into the next place of the file's, which grow (knobs_row.c). */
int knobs_read_row(struct knobs_source *source, const struct knobs_field *unused);

#endif
