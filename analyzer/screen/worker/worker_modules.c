/* worker_modules.c - memory in use at a moment, by module: a tree with a bar for each layer. */
#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "memtrace/error.h"
#include "query/module_lines.h"
#include "report/answer.h"
#include "store/store.h"
#include "worker_impl.h"

#define BAR_COLUMNS 16
#define LAYERS_MAX 512u /* sisters with their own row */

/* Those that say most come first: a terminal of 80 columns has no room for all. */
enum modules_column { MODULES_BYTES, MODULES_PLACE, MODULES_BAR, MODULES_FIRST /* then those of MODULE_COLUMN_LIST */ };

struct modules_answer {
	struct worker_table *table;
	const struct module_lines *modules;
	uint64_t most; /* bytes of the largest layer */
};

static void add_columns(struct worker_table *table)
{
	worker_table_column(table, "bytes", 1);
	worker_table_column(table, "module", WORKER_BRIEF);
	worker_table_column(table, "", 0);
#define MODULES_COLUMN_ADD(name, field, heading) worker_table_column(table, heading, 1);
	MODULE_COLUMN_LIST(MODULES_COLUMN_ADD)
#undef MODULES_COLUMN_ADD
}

/* Adds a row: indented words, and a bar if `layer` is not 0. Returns 1: the table is full. */
static int add_row(const struct modules_answer *answer, const struct module_sum *sum, uint32_t depth, const char *words,
		   int layer)
{
	static const char hashes[BAR_COLUMNS + 1] = "################";
	struct worker_table *table = answer->table;
	char size[TEXT_SIZE_MAX];
	uint32_t i;

	if (worker_table_row(table, 0, -1))
		return 1;
	worker_table_cell(table, MODULES_BYTES, text_bytes(size, sum->bytes));
	worker_table_print(table, MODULES_PLACE, "%*s%s", (int)(2 * depth), "", words);
	if (layer && answer->most)
		worker_table_print(table, MODULES_BAR, "%.*s", (int)(sum->bytes / (answer->most / BAR_COLUMNS + 1)),
				   hashes);
	for (i = 0; i < MODULE_COLUMNS; i++)
		if (sum->column[i])
			worker_table_cell(table, MODULES_FIRST + i, text_bytes(size, sum->column[i]));
	return 0;
}

/* The part of a path that the row above lacks: "mlp" of "layers.*.mlp". */
static const char *below(const struct modules_answer *answer, const struct module_line *line, const char *path)
{
	const struct module_line *above = line;
	size_t size;

	do
		above = &answer->modules->line[above->parent];
	while (above->passes && above->parent);
	size = above->path ? strlen(above->path) : 0;
	if (!size || strncmp(path, above->path, size))
		return path;
	if (path[size] == '.')
		return path + size + 1;
	return strncmp(path + size, " > ", 3) ? path : path + size + 3;
}

/* Each sister, in the order of the model. */
static void add_sisters(const struct modules_answer *answer, const struct module_line *line)
{
	const struct module_lines *modules = answer->modules;
	uint32_t i, row, last = 0;

	for (i = 0; i < line->count && i < LAYERS_MAX; i++, last = row) {
		row = module_lines_next(modules, line, last);
		if (add_row(answer, &modules->row[row].all, line->depth + 1,
			    below(answer, line, modules->row[row].path), 1))
			return;
	}
	if (line->count > LAYERS_MAX)
		add_row(answer, &(struct module_sum){ .bytes = 0 }, line->depth + 1, "and more", 0);
}

static void add_lines(const struct modules_answer *answer)
{
	const struct module_lines *modules = answer->modules;
	const struct module_line *line;
	char words[WORKER_CELL_MAX], number[TEXT_SIZE_MAX];
	const char *path;
	uint32_t i;

	for (i = 1; i < modules->lines; i++) {
		line = &modules->line[i];
		if (line->passes)
			continue;
		path = below(answer, line, line->path);
		if (line->repeats)
			snprintf(words, sizeof(words), "%s  %s x %s", path, text_number(number, line->count),
				 modules->row[line->most].type);
		else
			snprintf(words, sizeof(words), "%s", path);
		if (add_row(answer, &line->all, line->depth, words, 0))
			return;
		if (line->repeats && !module_lines_is_folded(modules, i))
			add_sisters(answer, line);
	}
}

/* Names the sister with the most bytes, and its difference to the others. */
static void say_sisters(struct sentence *sentence, const struct module_lines *modules, const struct module_line *line)
{
	const struct module_member *most = &modules->row[line->most], *least = &modules->row[line->least];
	char size[2][TEXT_SIZE_MAX];

	if (most->all.bytes == least->all.bytes)
		sentence_say(sentence, "All of %s hold %s each.", line->path, text_bytes(size[0], most->all.bytes));
	else
		sentence_say(sentence, "%s holds most of %s: %s; %s holds %s.", most->path, line->path,
			     text_bytes(size[0], most->all.bytes), least->path, text_bytes(size[1], least->all.bytes));
}

static int are_unlike(const struct module_lines *modules, const struct module_line *line)
{
	return line->repeats && modules->row[line->most].all.bytes != modules->row[line->least].all.bytes;
}

/* Says how the layers differ; if they are alike, how the largest sisters inside of them differ, such as experts. */
static void say(struct sentence *sentence, const struct modules_answer *answer)
{
	const struct module_lines *modules = answer->modules;
	uint32_t layers = 0, inner = 0, i;

	for (i = 1; i < modules->lines; i++) {
		if (!modules->line[i].repeats)
			continue;
		if (module_lines_is_folded(modules, i)) {
			if (are_unlike(modules, &modules->line[i]) &&
			    (!inner || modules->line[i].all.bytes > modules->line[inner].all.bytes))
				inner = i;
		} else if (!layers && modules->row[modules->line[i].most].all.bytes == answer->most) {
			layers = i;
		}
	}
	if (layers)
		say_sisters(sentence, modules, &modules->line[layers]);
	if (layers && inner && !are_unlike(modules, &modules->line[layers])) {
		sentence_say(sentence, " ");
		say_sisters(sentence, modules, &modules->line[inner]);
	}
}

int worker_answer_modules(struct worker *worker, const struct worker_question *question, struct worker_table *table)
{
	struct module_lines modules;
	struct modules_answer answer = { .table = table, .modules = &modules };
	struct sentence sentence = { 0 };
	uint32_t i;
	int error = module_lines_load_at(&modules, worker->db, store_device_id(question->device), question->to);

	add_columns(table);
	for (i = 1; !error && i < modules.lines; i++)
		if (modules.line[i].repeats && !module_lines_is_folded(&modules, i) &&
		    modules.row[modules.line[i].most].all.bytes > answer.most)
			answer.most = modules.row[modules.line[i].most].all.bytes;
	if (!error) {
		add_lines(&answer);
		say(&sentence, &answer);
		worker_table_verdict(table, module_lines_has_modules(&modules) ? sentence.text
					    : module_lines_saw_modules(&modules)
						    ? "No module holds bytes at this moment."
						    : "No call of a torch.nn.Module was seen.");
	}
	module_lines_release(&modules);
	return error;
}
