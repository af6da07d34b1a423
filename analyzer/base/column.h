/*
 * column.h - a table of a report as a list of columns. The list defines the table of the text, the fields of the JSON, their schema, and the list in
 * the manual page.
 *
 *     #define STEPS_COLUMNS(X, T)                                              \
 *             X(T, step, NUMBER, "step", it->step, "its number")               \
 *             X(T, peak_bytes, BYTES, "peak", it->peak, "most that the device held in it")
 *     COLUMN_TABLE(steps, struct steps_row, STEPS_COLUMNS)
 *
 * X(table, id, unit, heading, value, meaning): `id` is the field of the JSON, and the value is an expression of the row `it`. A column with the
 * heading NULL is not in the text. Unknown numbers are COLUMN_NONE, and unknown words NULL: "-" in the text, null in the JSON. 0 bytes are "-" in the
 * text, too.
 */
#ifndef MEMANA_COLUMN_H
#define MEMANA_COLUMN_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "json.h"
#include "memtrace/base.h"
#include "text.h"

#define COLUMN_NONE INT64_MIN
#define COLUMN_IF(known, value) ((known) ? (int64_t)(value) : COLUMN_NONE)
#define COLUMN_STORE 512 /* bytes for words that a column makes */

/*
 * The units of columns. Values up to FLAG are in `number`. OPTIONAL is a word whose field is left out if unknown. LABEL is a word in the text alone;
 * FIGURE is a word at the right edge. LIST is a function that writes the field; $defs/ID of the schema describes the field.
 */
enum column_unit {
	COLUMN_BYTES,
	COLUMN_CHANGE, /* bytes with a sign */
	COLUMN_COUNT,
	COLUMN_NUMBER, /* an integer that is no amount */
	COLUMN_PID,
	COLUMN_DURATION,
	COLUMN_MOMENT,
	COLUMN_FLAG,
	COLUMN_WORD,
	COLUMN_PHASE,
	COLUMN_OPTIONAL,
	COLUMN_LABEL,
	COLUMN_FIGURE,
	COLUMN_LIST,
};

struct column_value {
	int64_t number;   /* bytes, ns or a count; for FLAG: 0 or 1 */
	const char *text; /* lives as long as the row, or is in `store` */
	void (*list)(struct doc *doc, const char *key, const void *row);
	char store[COLUMN_STORE]; /* for words that a column makes */
};

struct column {
	const char *id, *heading, *meaning;
	enum column_unit unit;
	int may_be_unknown; /* 1: the value is a COLUMN_IF, or its unit may be unknown in a row */
	void (*get)(struct column_value *value, const void *row);
};

struct column_table {
	const char *name;
	const struct column *column;
	size_t columns;
};

/* Defines `const struct column_table NAME_columns` for rows of the type. */
#define COLUMN_TABLE(name, type, LIST)                                             \
	typedef type name##_column_row;                                            \
	LIST(COLUMN_GETTER, name)                                                  \
	static const struct column name##_column[] = { LIST(COLUMN_ENTRY, name) }; \
	const struct column_table name##_columns = { #name, name##_column, MT_ARRAY_SIZE(name##_column) };

#define COLUMN_GETTER(table, id, unit, heading, expression, meaning)              \
	static void table##_get_##id(struct column_value *value, const void *row) \
	{                                                                         \
		const table##_column_row *it = row;                               \
		(void)it;                                                         \
		COLUMN_SET_##unit(value, expression);                             \
	}
#define COLUMN_ENTRY(table, id, unit, heading, expression, meaning)                                            \
	{ #id,                                                                                                 \
	  heading,                                                                                             \
	  meaning,                                                                                             \
	  COLUMN_##unit,                                                                                       \
	  COLUMN_##unit == COLUMN_PID || COLUMN_##unit == COLUMN_MOMENT || COLUMN_##unit == COLUMN_DURATION || \
		  !__builtin_strncmp(#expression, "COLUMN_IF", 9),                                             \
	  table##_get_##id },

#define COLUMN_SET_BYTES(value, expression) ((value)->number = (int64_t)(expression))
#define COLUMN_SET_CHANGE COLUMN_SET_BYTES
#define COLUMN_SET_COUNT COLUMN_SET_BYTES
#define COLUMN_SET_NUMBER COLUMN_SET_BYTES
#define COLUMN_SET_PID COLUMN_SET_BYTES
#define COLUMN_SET_DURATION COLUMN_SET_BYTES
#define COLUMN_SET_MOMENT COLUMN_SET_BYTES
#define COLUMN_SET_FLAG COLUMN_SET_BYTES
#define COLUMN_SET_WORD(value, expression) ((value)->text = (expression))
#define COLUMN_SET_PHASE COLUMN_SET_WORD
#define COLUMN_SET_OPTIONAL COLUMN_SET_WORD
#define COLUMN_SET_LABEL COLUMN_SET_WORD
#define COLUMN_SET_FIGURE COLUMN_SET_WORD
#define COLUMN_SET_LIST(value, expression) ((value)->list = (expression))

/*
 * Prints headings and `rows` rows, `size` bytes apart; size 0: `row` is an array of pointers to rows. A column is as wide as its widest cell. The
 * last column is broken into lines if the terminal is too narrow.
 */
void column_text(const struct text *text, const struct column_table *table, const void *row, size_t rows, size_t size);

/* Adds the fields of the row to the open object. */
void column_json(struct doc *doc, const struct column_table *table, const void *row);

/* Adds the array `key` of objects; rows as for column_text. */
void column_json_rows(struct doc *doc, const char *key, const struct column_table *table, const void *row, size_t rows,
		      size_t size);

/* Writes the table's entry of docs/schema: "NAME_row": {...}, without a comma after it. */
void column_schema(FILE *file, const struct column_table *table);

/* Writes the list of the manual page: each column's heading, its field of the JSON in brackets, and its meaning. */
void column_man(FILE *file, const struct column_table *table);

#endif
