/* The peak by module, `top --by module`: a tree whose rows add up. */
#include <stdio.h>
#include <string.h>
#include "memtrace/error.h"
#include "query/module_lines.h"
#include "report/answer.h"
#include "top.h"

#define DEPTH_TEXT 2
#define DEPTH_MODULE 1 /* if --module is given */
#define FIGURE_COLUMNS 11
#define NAME_COLUMNS_LEAST 34
#define SMALL 200u /* divisor: lines below 1/200 of the whole are summed up */

struct table {
	const struct text *text;
	const struct module_lines *modules;
	uint64_t whole;
	uint32_t depth;
};

static int name_columns(const struct text *text)
{
	int columns = text_columns(text) - FIGURE_COLUMNS * (MODULE_COLUMNS + 1) - 1;

	return columns > NAME_COLUMNS_LEAST ? columns : NAME_COLUMNS_LEAST;
}

static void print_line(const struct table *table, const struct module_sum *sum, uint32_t depth, const char *name)
{
	char size[TEXT_SIZE_MAX], clean[512];
	int i, columns = name_columns(table->text) - (int)depth;

	text_print(table->text, "%*s", FIGURE_COLUMNS, text_bytes(size, sum->bytes));
	for (i = 0; i < MODULE_COLUMNS; i++)
		text_print(table->text, "%*s", FIGURE_COLUMNS, sum->column[i] ? text_bytes(size, sum->column[i]) : "-");
	text_print(table->text, " %*s%s\n", (int)depth, "",
		   text_fit(clean, sizeof(clean), name, columns > 12 ? (size_t)columns : 12, 1));
}

/* Prints "28 x 691 MiB", and the sisters with most and fewest bytes. */
static void print_sisters(const struct table *table, const struct module_line *line)
{
	const struct module_member *row = table->modules->row;
	char size[3][TEXT_SIZE_MAX], clean[2][128];
	struct sentence sentence = { 0 };
	uint64_t least = row[line->least].all.bytes, most = row[line->most].all.bytes;

	sentence_say(&sentence, "%u x %s", line->count, text_bytes(size[0], row[line->middle].all.bytes));
	if (*row[line->most].type)
		sentence_say(&sentence, " %s", text_fit(clean[0], sizeof(clean[0]), row[line->most].type, 40, 0));
	if (least == most)
		sentence_say(&sentence, ", all alike");
	else
		sentence_say(&sentence, ", least %s %s, most %s %s", text_bytes(size[1], least),
			     text_fit(clean[0], sizeof(clean[0]), row[line->least].path, 48, 1),
			     text_bytes(size[2], most),
			     text_fit(clean[1], sizeof(clean[1]), row[line->most].path, 48, 1));
	text_style(table->text, TEXT_DIM);
	text_wrap(table->text, FIGURE_COLUMNS + 1, 0, sentence.text);
	text_style(table->text, TEXT_PLAIN);
}

/* Whether the lines below this one are shown. */
static int is_open(const struct table *table, const struct module_line *line)
{
	return line->passes || (line->lines && line->depth < table->depth);
}

/* Returns the first line that is not below line `number`. */
static uint32_t behind(const struct module_lines *modules, uint32_t number)
{
	uint32_t at = number + 1;

	while (at < modules->lines && modules->line[at].parent >= number && modules->line[at].parent)
		at++;
	return at;
}

/* Prints one line for line `number` and all its sisters before `until`. All of these are small. Returns the line after the sisters. */
static uint32_t print_small(const struct table *table, uint32_t number, uint32_t until)
{
	const struct module_line *first = &table->modules->line[number];
	struct module_sum sum = { 0 };
	uint32_t count = 0, at = number;
	char words[64], name[96];
	int i;

	while (at < until) {
		sum.bytes += table->modules->line[at].all.bytes;
		for (i = 0; i < MODULE_COLUMNS; i++)
			sum.column[i] += table->modules->line[at].all.column[i];
		count++;
		at = behind(table->modules, at);
	}
	snprintf(name, sizeof(name), "(%s)", text_count(words, sizeof(words), count, "more module"));
	print_line(table, &sum, first->depth, count == 1 ? first->path : name);
	return at;
}

/* Prints the path, and "(compiled)" if the activations of inner modules cannot be told apart. */
static void print_path(const struct table *table, const struct module_line *line)
{
	char path[MODULE_PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s%s", line->path, line->is_compiled ? " (compiled)" : "");
	print_line(table, &line->all, line->depth, path);
}

/* Prints the lines of one parent, from `number` to `until`. The recursion is as deep as a path has parts. */
static void print_lines(const struct table *table, uint32_t number, uint32_t until)
{
	const struct module_line *line;
	uint32_t end;

	for (; number < until; number = end) {
		line = &table->modules->line[number];
		end = behind(table->modules, number);
		if (line->parent && line->all.bytes < table->whole / SMALL) {
			end = print_small(table, number, until);
			continue;
		}
		if (!line->passes)
			print_path(table, line);
		if (line->repeats)
			print_sisters(table, line);
		if (is_open(table, line)) {
			print_lines(table, number + 1, end);
			if (line->own.bytes)
				print_line(table, &line->own, line->depth + 1, "(itself)");
		}
	}
}

static void print_heading(const struct table *table, const struct top_options *options)
{
#define HEADING(name, field, heading) heading,
	static const char *const words[] = { MODULE_COLUMN_LIST(HEADING) };
#undef HEADING
	int i;

	answer_title(table->text, options->module ? "In this module" : "By module");
	text_print(table->text, "%*s", FIGURE_COLUMNS, "all");
	for (i = 0; i < MODULE_COLUMNS; i++)
		text_print(table->text, "%*s", FIGURE_COLUMNS, words[i]);
	text_print(table->text, "\n");
}

/* Prints the reason why there is no table. */
static int print_nothing(const struct text *text, struct db *db, const struct module_lines *modules)
{
	int64_t recorded = 0;
	int error = db_number(db, "SELECT count(*) FROM process WHERE recorded_by <> 'pytorch'", NULL, &recorded);

	if (error)
		return error;
	text_print(text, "\n");
	text_wrap(text, 0, 0,
		  module_lines_saw_modules(modules)
			  ? "Modules ran, and none of them holds bytes at this moment. Weights and optimizer states "
			    "belong to modules where PyTorch's census names them (memana info: census)."
		  : recorded
			  ? "No module holds anything: no call of a torch.nn.Module was seen (memrec --no-modules, or an "
			    "older memrec)."
			  : "A PyTorch snapshot has no modules and no classes: its frames are functions, files and lines. memana "
			    "top --by place shows those; record the run with memrec to see modules.");
	return 0;
}

int top_modules_text(const struct text *text, struct db *db, const struct query_device *device,
		     const struct top_options *options)
{
	struct module_lines modules;
	struct table table = { .text = text, .modules = &modules, .whole = device->peak.bytes };
	int error = module_lines_load(&modules, db, device->id, options->module, 1);

	table.depth = options->depth >= 0 ? (uint32_t)options->depth : options->module ? DEPTH_MODULE : DEPTH_TEXT;
	if (!error && !module_lines_has_modules(&modules)) {
		error = print_nothing(text, db, &modules);
	} else if (!error) {
		if (options->module)
			table.whole = modules.line[1].all.bytes;
		print_heading(&table, options);
		print_lines(&table, 1, modules.lines);
	}
	module_lines_release(&modules);
	return error;
}

/* ---- JSON ---- */

static void json_line(struct doc *doc, const struct module_lines *modules, const struct module_line *line)
{
	const struct module_member *row = line->outside ? NULL : &modules->row[modules->of_line[line->first]];

	if (row) {
		doc_string(doc, "name", line->path);
		doc_string(doc, "word", row->word);
		doc_string(doc, "type", row->type);
		doc_bool(doc, "compiled", line->is_compiled);
	} else {
		doc_null(doc, "name");
		doc_string(doc, "outside", line->path);
	}
	doc_int(doc, "bytes", (int64_t)line->all.bytes);
#define JSON_BYTES(name, field, heading) doc_int(doc, field "_bytes", (int64_t)line->all.column[MODULE_COLUMN_##name]);
	MODULE_COLUMN_LIST(JSON_BYTES)
#undef JSON_BYTES
	doc_int(doc, "own_bytes", (int64_t)line->own.bytes);
	doc_int(doc, "own_count", (int64_t)line->own.count);
}

static void json_lines(struct doc *doc, const struct table *table, uint32_t number, uint32_t until)
{
	const struct module_line *line;
	uint32_t end;

	for (; number < until; number = end) {
		line = &table->modules->line[number];
		end = behind(table->modules, number);
		doc_object(doc, NULL);
		json_line(doc, table->modules, line);
		doc_array(doc, "modules");
		if (is_open(table, line))
			json_lines(doc, table, number + 1, end);
		doc_end(doc);
		doc_end(doc);
	}
}

int top_modules_json(struct doc *doc, struct db *db, int64_t device, const struct top_options *options)
{
	struct module_lines modules;
	struct table table = { .modules = &modules };
	int error = module_lines_load(&modules, db, device, options->module, 0);

	table.depth = options->depth >= 0 ? (uint32_t)options->depth : UINT32_MAX;
	doc_array(doc, "modules");
	if (!error)
		json_lines(doc, &table, 1, modules.lines);
	doc_end(doc);
	module_lines_release(&modules);
	return error;
}
