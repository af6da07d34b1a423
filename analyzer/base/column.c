#include "column.h"

#include <stdlib.h>
#include <string.h>

#define CELL COLUMN_STORE

/* The rows of a table, in the two forms that column_text() takes. */
struct rows {
	const void *row;
	size_t count, size;
};

static const void *row_at(const struct rows *rows, size_t at)
{
	return rows->size ? (const char *)rows->row + at * rows->size : ((const void *const *)rows->row)[at];
}

/* Columns of a table while it is printed. */
struct layout {
	int *width;
	int gap; /* number of blanks before each cell but the first; the first has two */
};

static int is_right(const struct column *column)
{
	return column->unit < COLUMN_FLAG || column->unit == COLUMN_FIGURE;
}

/* Sets `value` in place: its words may be in its own store. The store must not move. */
static void get_value(struct column_value *value, const struct column *column, const void *row)
{
	value->number = 0;
	value->text = NULL;
	value->list = NULL;
	*value->store = '\0';
	column->get(value, row);
}

/* ---- text ---- */

static void number_cell(char out[CELL], enum column_unit unit, int64_t number)
{
	char word[TEXT_SIZE_MAX];

	if (number == COLUMN_NONE || (unit == COLUMN_BYTES && !number))
		snprintf(out, CELL, "-");
	else if (unit == COLUMN_BYTES)
		snprintf(out, CELL, "%s", text_bytes(word, (uint64_t)number));
	else if (unit == COLUMN_CHANGE)
		snprintf(out, CELL, "%s", text_change(word, number));
	else if (unit == COLUMN_COUNT)
		snprintf(out, CELL, "%s", text_number(word, (uint64_t)number));
	else if (unit == COLUMN_DURATION || unit == COLUMN_MOMENT)
		snprintf(out, CELL, "%s", text_time(word, number));
	else if (unit == COLUMN_FLAG)
		snprintf(out, CELL, "%s", number ? "yes" : "no");
	else
		snprintf(out, CELL, "%lld", (long long)number);
}

static void cell(char out[CELL], const struct column *column, const void *row)
{
	struct column_value value;

	get_value(&value, column, row);
	if (column->unit < COLUMN_WORD)
		number_cell(out, column->unit, value.number);
	else
		text_fit(out, CELL, value.text ? value.text : "-", CELL - 1, 0);
}

static int is_shown(const struct column *column)
{
	return column->heading != NULL;
}

static size_t last_of(const struct column_table *table)
{
	size_t last = table->columns - 1;

	while (last && !is_shown(&table->column[last]))
		last--;
	return last;
}

#define LAST_LEAST 24 /* least width of the last cell, if its words are broken into lines */

/* Sets the widths, and two blanks between cells; one blank if the table is wider than the terminal. */
static void measure(struct layout *layout, const struct text *text, const struct column_table *table,
		    const struct rows *rows)
{
	size_t last = last_of(table), i, at;
	int all = 0, widest;
	char words[CELL];

	for (i = 0; i < table->columns; i++) {
		if (!is_shown(&table->column[i]))
			continue;
		widest = columns_of(table->column[i].heading);
		for (at = 0; at < rows->count; at++) {
			cell(words, &table->column[i], row_at(rows, at));
			widest = columns_of(words) > widest ? columns_of(words) : widest;
		}
		layout->width[i] = widest;
		all += 2 + (i == last && !is_right(&table->column[i]) && widest > LAST_LEAST ? LAST_LEAST : widest);
	}
	layout->gap = all > text_columns(text) ? 1 : 2;
}

/* Prints a cell with the blanks around it. A phase has its colour. */
static void print_cell(const struct text *text, const struct column *column, const char *words, int gap, int width)
{
	int blanks = width - columns_of(words), right = is_right(column);

	blanks = blanks > 0 ? blanks : 0;
	text_phase_print(text, column->unit == COLUMN_PHASE ? words : "", "%*s%s%*s", gap + (right ? blanks : 0), "",
			 words, right ? 0 : blanks, "");
}

/* Prints a row; `row` NULL: the headings. */
static void print_line(const struct text *text, const struct column_table *table, const struct layout *layout,
		       const void *row)
{
	size_t last = last_of(table), i;
	const struct column *column;
	char words[CELL];
	int at = 0, gap;

	for (i = 0; i <= last; i++) {
		column = &table->column[i];
		if (!is_shown(column))
			continue;
		gap = at ? layout->gap : 2;
		if (row)
			cell(words, column, row);
		else
			snprintf(words, sizeof(words), "%s", column->heading);
		if (i == last && !is_right(column))
			break;
		print_cell(text, column, words, gap, layout->width[i]);
		at += gap + layout->width[i];
	}
	if (i == last && *words) {
		text_print(text, "%*s", gap, "");
		text_wrap(text, at + gap, at + gap, words);
	} else {
		text_print(text, "\n");
	}
}

void column_text(const struct text *text, const struct column_table *table, const void *row, size_t rows, size_t size)
{
	struct rows all = { row, rows, size };
	struct layout layout = { .width = calloc(table->columns, sizeof(*layout.width)) };
	size_t i;

	if (!layout.width)
		return;
	measure(&layout, text, table, &all);
	text_style(text, TEXT_DIM);
	print_line(text, table, &layout, NULL);
	text_style(text, TEXT_PLAIN);
	for (i = 0; i < rows; i++)
		print_line(text, table, &layout, row_at(&all, i));
	free(layout.width);
}

/* ---- JSON ---- */

static void json_number(struct doc *doc, const struct column *column, int64_t number)
{
	if (number == COLUMN_NONE)
		doc_null(doc, column->id);
	else if (column->unit == COLUMN_FLAG)
		doc_bool(doc, column->id, number != 0);
	else if (column->unit == COLUMN_PID)
		doc_pid(doc, column->id, number);
	else if (column->unit == COLUMN_DURATION || column->unit == COLUMN_MOMENT)
		doc_time(doc, column->id, number);
	else
		doc_int(doc, column->id, number);
}

static void json_field(struct doc *doc, const struct column *column, const void *row)
{
	struct column_value value;

	get_value(&value, column, row);
	if (column->unit < COLUMN_WORD)
		json_number(doc, column, value.number);
	else if (column->unit == COLUMN_LIST)
		value.list(doc, column->id, row);
	else if (column->unit == COLUMN_LABEL || column->unit == COLUMN_FIGURE)
		return;
	else if (value.text)
		doc_string(doc, column->id, value.text);
	else if (column->unit != COLUMN_OPTIONAL)
		doc_null(doc, column->id);
}

void column_json(struct doc *doc, const struct column_table *table, const void *row)
{
	size_t i;

	for (i = 0; i < table->columns; i++)
		json_field(doc, &table->column[i], row);
}

void column_json_rows(struct doc *doc, const char *key, const struct column_table *table, const void *row, size_t rows,
		      size_t size)
{
	struct rows all = { row, rows, size };
	size_t i;

	doc_array(doc, key);
	for (i = 0; i < rows; i++) {
		doc_object(doc, NULL);
		column_json(doc, table, row_at(&all, i));
		doc_end(doc);
	}
	doc_end(doc);
}

/* ---- the pages ---- */

/* X(UNIT, type of the schema, words after the meaning) - in the order of COLUMN_UNIT_LIST. */
static const struct {
	const char *type, *behind;
} page[] = {
	[COLUMN_BYTES] = { "integer", ", bytes" },
	[COLUMN_CHANGE] = { "integer", ", bytes" },
	[COLUMN_COUNT] = { "integer", "" },
	[COLUMN_NUMBER] = { "integer", "" },
	[COLUMN_PID] = { "integer", "" },
	[COLUMN_DURATION] = { "integer", ", ns" },
	[COLUMN_MOMENT] = { "integer", ", ns" },
	[COLUMN_FLAG] = { "boolean", "" },
	[COLUMN_WORD] = { "string", "" },
	[COLUMN_PHASE] = { "string", "" },
	[COLUMN_OPTIONAL] = { "string", "; absent: none" },
	[COLUMN_LABEL] = { NULL, "" },
	[COLUMN_FIGURE] = { NULL, "" },
	[COLUMN_LIST] = { NULL, "" },
};

static int is_field(const struct column *column)
{
	return column->unit != COLUMN_LABEL && column->unit != COLUMN_FIGURE;
}

static void schema_field(FILE *file, const struct column *column)
{
	if (column->unit == COLUMN_LIST || column->unit == COLUMN_PHASE)
		fprintf(file, "    \"%s\": {\"$ref\": \"#/$defs/%s\"", column->id,
			column->unit == COLUMN_PHASE ? "phase" : column->id);
	else if (column->may_be_unknown)
		fprintf(file, "    \"%s\": {\"type\": [\"%s\", \"null\"]", column->id, page[column->unit].type);
	else
		fprintf(file, "    \"%s\": {\"type\": \"%s\"", column->id, page[column->unit].type);
	fprintf(file, ", \"description\": \"%s%s\"}", column->meaning, page[column->unit].behind);
}

void column_schema(FILE *file, const struct column_table *table)
{
	const struct column *column = table->column, *end = table->column + table->columns;
	const char *before = "";

	fprintf(file, "  \"%s_row\": {\n   \"type\": \"object\",\n   \"required\": [", table->name);
	for (; column < end; column++)
		if (is_field(column) && column->unit != COLUMN_OPTIONAL) {
			fprintf(file, "%s\"%s\"", before, column->id);
			before = ", ";
		}
	fprintf(file, "],\n   \"properties\": {\n");
	for (column = table->column, before = ""; column < end; column++)
		if (is_field(column)) {
			fprintf(file, "%s", before);
			schema_field(file, column);
			before = ",\n";
		}
	fprintf(file, "\n   }\n  }");
}

void column_man(FILE *file, const struct column_table *table)
{
	const struct column *column;
	int heading;

	for (column = table->column; column < table->column + table->columns; column++) {
		if (!is_shown(column))
			continue;
		heading = (int)strlen(column->heading) - (column->heading[strlen(column->heading) - 1] == ' ');
		if (is_field(column))
			fprintf(file, ".It Cm \"%.*s\" Pq Va %s\n", heading, column->heading, column->id);
		else
			fprintf(file, ".It Cm \"%.*s\"\n", heading, column->heading);
		fprintf(file, "%s\n", column->meaning);
	}
}
