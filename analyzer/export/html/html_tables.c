/* html_tables.c - writes the other tables of the page: processes, steps, modules, causes and settings. */
#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "html.h"
#include "memtrace/error.h"
#include "query/module_lines.h"
#include "query/query.h"
#include "report/answer.h"
#include "why/advice/advice.h"

#define CAUSES_SHOWN 10
#define SETTINGS_SHOWN 8
#define STEPS_MAX 20000 /* largest number of rows; of more steps, only every n-th is written */

/* ---- processes --------------------------------------------------------------------------------------------------- */

struct tables {
	struct html *html;
	struct doc *doc;
	int64_t each, at; /* every `each`th row of steps is written; number of the row */
	int error;
};

/* The name of a process: "rank 3", or "pid 123" without a rank. In html_tables.c. */
static const char *html_process_name(char *out, size_t size, int64_t rank, int64_t pid)
{
	char process[TEXT_SIZE_MAX];

	snprintf(out, size, "%s", answer_process(process, rank, pid));
	return out;
}

static int take_process(void *context, const struct query_process *row)
{
	struct tables *tables = context;
	struct doc *doc = tables->doc;
	char name[TEXT_SIZE_MAX];

	doc_object(doc, NULL);
	doc_string(doc, "name", html_process_name(name, sizeof(name), row->rank, row->pid));
	doc_string(doc, "file", tables->html->run->options->confidential ? "" : text_base_name(row->file));
	doc_int(doc, "events", (int64_t)row->events);
	doc_int(doc, "lost", (int64_t)row->lost);
	doc_bool(doc, "complete", row->complete && !*row->damage);
	doc_string(doc, "tool", row->tool_version);
	doc_end(doc);
	return 0;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static int take_step(void *context, struct db_stmt *row)
{
	struct tables *tables = context;
	struct doc *doc = tables->doc;
	int column;

	if (tables->at++ % tables->each)
		return 0;
	doc_array(doc, NULL);
	for (column = 0; column < 8; column++)
		doc_int_or_null(doc, NULL, db_int(row, column), db_type(row, column) != DB_NULL);
	doc_string(doc, NULL, answer_phase(db_text(row, 8)));
	doc_end(doc);
	return 0;
}

/* Columns: device (number), process, step, begin, end, peak, held and tensors at the end, phase of the peak. */
static const char steps_sql[] =
	"SELECT number, it.process - 1, it.step, begin_time, end_time, peak_bytes, held_bytes, tensor_bytes, peak_phase "
	"FROM step_device AS it JOIN device ON device.id = it.device LEFT JOIN step ON step.process = it.process AND step.step = it.step "
	"WHERE number IS NOT NULL AND peak_bytes > 0 ORDER BY number, it.process, it.step";

static int put_steps(struct tables *tables)
{
	uint64_t rows = 0;
	int error = db_number(tables->html->db, "SELECT count(*) FROM step_device", NULL, (int64_t *)&rows);

	tables->each = 1 + (int64_t)(rows / STEPS_MAX);
	doc_int(tables->doc, "step_stride", tables->each);
	doc_array(tables->doc, "steps");
	if (!error)
		error = db_rows(tables->html->db, steps_sql, NULL, take_step, tables);
	doc_end(tables->doc);
	return error;
}

/* ---- modules ----------------------------------------------------------------------------------------------------- */

static void put_line(struct doc *doc, const struct module_lines *modules, const struct module_line *line)
{
	int i;

	doc_object(doc, NULL);
	doc_string(doc, "path", line->path);
	doc_int(doc, "parent", line->parent);
	doc_int(doc, "count", line->count);
	doc_string(doc, "type", line->count ? modules->row[modules->of_line[line->first]].type : "");
	doc_int(doc, "bytes", (int64_t)line->all.bytes);
	doc_array(doc, "columns");
	for (i = 0; i < MODULE_COLUMNS; i++)
		doc_int(doc, NULL, (int64_t)line->all.column[i]);
	doc_end(doc);
	doc_end(doc);
}

/* Writes the tree of modules. A tree with the one line "outside any module" is left out. */
static int put_modules(struct tables *tables, int64_t device)
{
	struct module_lines modules;
	uint32_t i;
	int error = module_lines_load(&modules, tables->html->db, device, NULL, 1);

	doc_array(tables->doc, NULL);
	for (i = 1; i < modules.lines && !error && module_lines_has_modules(&modules); i++)
		put_line(tables->doc, &modules, &modules.line[i]);
	doc_end(tables->doc);
	module_lines_release(&modules);
	return error;
}

static int take_device(void *context, const struct query_device *row)
{
	struct tables *tables = context;
	const struct moves_all *all = &tables->html->moves;

	return row->id > (int64_t)all->devices || !all->device[row->id - 1].changes ? 0 : put_modules(tables, row->id);
}

/* ---- causes and settings ----------------------------------------------------------------------------------------- */

/* Writes advice with --confidential: figures without sentences, because any sentence may name a file. */
static void put_bare(struct doc *doc, const struct advice *advice)
{
	const struct find *find = &advice->why.find;
	const struct effect *effect;
	size_t i;

	doc_array(doc, "causes");
	for (i = 0; i < find->candidates && i < CAUSES_SHOWN; i++) {
		if (find->candidate[i].within != SCENE_NONE)
			continue;
		doc_object(doc, NULL);
		doc_string(doc, "id", mt_cause_word(find->candidate[i].cause));
		doc_string(doc, "category", mt_category_name(find->candidate[i].category));
		doc_string(doc, "phase", mt_phase_name(find->candidate[i].phase));
		doc_int(doc, "bytes", (int64_t)find->candidate[i].bytes);
		doc_bool(doc, "fits", find->candidate[i].fits);
		doc_end(doc);
	}
	doc_end(doc);
	doc_array(doc, "knobs");
	for (i = 0; i < advice->settings && i < SETTINGS_SHOWN; i++) {
		effect = advice->effects.effect[i];
		doc_object(doc, NULL);
		doc_string(doc, "key", effect->knob->name.key);
		doc_string(doc, "proposed", advice_proposed(effect));
		doc_object(doc, "saved_bytes");
		doc_int(doc, "low", (int64_t)effect->saved.low);
		doc_int(doc, "high", (int64_t)effect->saved.high);
		doc_end(doc);
		doc_string(doc, "cost", mt_knob_cost_words(effect->cost));
		doc_end(doc);
	}
	doc_end(doc);
}

static int put_advice(struct tables *tables)
{
	const struct effect_request request = { .fit = 0 };
	struct advice advice;
	int error = advice_load(&advice, tables->html->db, &request);

	if (!error) {
		doc_object(tables->doc, "advice");
		if (tables->html->run->options->confidential)
			put_bare(tables->doc, &advice);
		else
			error = advice_json(tables->doc, &advice, SETTINGS_SHOWN);
		doc_end(tables->doc);
	}
	advice_release(&advice);
	return error;
}

int html_tables(struct html *html, struct doc *doc)
{
	struct tables tables = { .html = html, .doc = doc };
	int error;

	doc_array(doc, "processes");
	error = query_processes(html->db, take_process, &tables);
	doc_end(doc);
	if (!error)
		error = put_steps(&tables);
	doc_array(doc, "module_columns");
#define MODULE_HEADING(name, field, heading) doc_string(doc, NULL, heading);
	MODULE_COLUMN_LIST(MODULE_HEADING)
#undef MODULE_HEADING
	doc_end(doc);
	doc_array(doc, "modules");
	if (!error)
		error = query_devices(html->db, take_device, &tables);
	doc_end(doc);
	if (!error && html->has_lives && text_known.history)
		error = put_advice(&tables);
	return error;
}
