#include "report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/text.h"
#include "command.h"
#include "command_option.h"
#include "database/db.h"
#include "memtrace/error.h"
#include "query/query.h"
#include "source/partial_file.h"
#include "store/load.h"
#include "store/store.h"

#define REPORT_DEVICES_MAX 1024u /* largest number of devices that are filled in */

/* Copies of rows: a row lives only until its question returns. */
struct devices {
	struct doc_device device[REPORT_DEVICES_MAX];
	char text[REPORT_DEVICES_MAX][3][128];
	size_t count;
};

static int add_device(void *context, const struct query_device *row)
{
	struct devices *devices = context;
	char(*text)[128];

	if (devices->count == REPORT_DEVICES_MAX)
		return 0;
	text = devices->text[devices->count];
	snprintf(text[0], sizeof(text[0]), "%s", row->kind);
	snprintf(text[1], sizeof(text[1]), "%s", row->name);
	snprintf(text[2], sizeof(text[2]), "%s", row->uuid);
	devices->device[devices->count++] = (struct doc_device){
		.id = row->number, .kind = text[0], .name = text[1], .uuid = text[2], .total = row->total
	};
	return 0;
}

int report_shape(struct doc *doc, struct db *db)
{
	struct devices *devices = calloc(1, sizeof(*devices));
	int error = devices ? query_devices(db, add_device, devices) : -MT_E_MEMORY;

	if (!error)
		doc_shape(doc, devices->device, devices->count);
	free(devices);
	return error;
}

/* As report_shape, for traces without a database. Devices have the same numbers. */
static int shape(struct doc *doc, const struct analysis *analysis)
{
	struct db *db = NULL;
	int error = db_create(&db, NULL, schema_sql);

	if (!error)
		error = store_summary(db, analysis, 0);
	if (!error)
		error = report_shape(doc, db);
	db_close(db);
	return error;
}

int report_json(const char *command, const struct analysis *analysis,
		void (*trace)(struct doc *doc, const struct analysis_process *process, uint32_t number,
			      const void *context),
		const void *context)
{
	struct doc *doc = doc_new();
	uint32_t i;
	int error = -MT_E_MEMORY;

	if (doc) {
		doc_answer(doc, command);
		doc_array(doc, "traces");
		for (i = 0; i < analysis->processes; i++)
			trace(doc, &analysis->process[i], i, context);
		doc_end(doc);
		doc_end(doc);
		error = shape(doc, analysis);
		if (!error)
			error = doc_print(doc, stdout);
	}
	doc_free(doc);
	return error;
}

void report_losses(struct doc *doc, const struct report_losses *losses)
{
	doc_int(doc, "lost", (int64_t)losses->lost);
	doc_int(doc, "let_go", (int64_t)losses->let_go);
	doc_bool(doc, "complete", losses->complete);
	doc_bool(doc, "torn", losses->torn);
	doc_string(doc, "damage", losses->damage);
}

struct report_losses report_losses_of(const struct analysis_process *process)
{
	return (struct report_losses){ process->state->lost, process->cut, process->state->complete,
				       report_is_torn(process->state), report_damage_words(process->state) };
}

static int add_trace(void *context, const struct query_process *row)
{
	const struct report_losses losses = { row->lost, row->let_go, row->complete, row->torn, row->damage };
	struct doc *doc = context;

	doc_object(doc, NULL);
	doc_string(doc, "file", row->file);
	doc_pid(doc, "pid", row->pid);
	if (row->rank >= 0)
		doc_int(doc, "rank", row->rank);
	else
		doc_null(doc, "rank");
	doc_string(doc, "command", row->command);
	doc_int(doc, "steps", (int64_t)row->steps);
	doc_int(doc, "events", (int64_t)row->events);
	doc_string(doc, "ended", row->ended);
	report_losses(doc, &losses);
	doc_end(doc);
	return 0;
}

int report_traces(struct doc *doc, const char *key, struct db *db)
{
	int error;

	doc_array(doc, key);
	error = query_processes(db, add_trace, doc);
	doc_end(doc);
	return error;
}

int report_is_torn(const struct mt_trace_state *state)
{
	return state->error == -MT_E_TRUNCATED;
}

const char *report_damage_words(const struct mt_trace_state *state)
{
	return state->error && !report_is_torn(state) ? mt_strerror(state->error) : "";
}

int report_damage(const struct analysis *analysis, const char *done)
{
	const struct analysis_process *where;
	const struct analysis_loss *missing;
	int error = analysis_damage(analysis, &where);
	char events[64];

	if (!error)
		return 0;
	missing = &where->loss[MT_LOSS_DAMAGED];
	/* The reader has skipped the damage, and has read the rest. */
	if (missing->records)
		return command_fail(mt_exit_code(error), "%s: %s at byte %lu (%s missing, everything else is %s)",
				    where->file, mt_strerror(error), (unsigned long)where->state->error_offset,
				    text_count(events, sizeof(events), missing->count, "event"), done);
	if (where->state->damaged && !where->state->missed)
		return command_fail(mt_exit_code(error), "%s: %s at byte %lu (no event is missing)", where->file,
				    mt_strerror(error), (unsigned long)where->state->error_offset);
	return command_fail(mt_exit_code(error), "%s: %s at byte %lu (everything before is %s)", where->file,
			    mt_strerror(error), (unsigned long)where->state->error_offset, done);
}

int report_absent(const struct analysis *analysis, const char *what)
{
	const struct analysis_process *where;
	int error = analysis_damage(analysis, &where);

	if (!error)
		return command_fail(EXIT_USAGE, "%s", what);
	return command_fail(mt_exit_code(error), "%s (but %s: %s at byte %lu)", what, where->file, mt_strerror(error),
			    (unsigned long)where->state->error_offset);
}

int report_no_answer(const char *command, const struct db *db, int error)
{
	if (error != -MT_E_SQL)
		return command_fail(mt_exit_code(error), "%s: %s", command, mt_strerror(error));
	return command_fail(mt_exit_code(-MT_E_CORRUPT), "%s: %s (SQLite: %s)", command, mt_strerror(-MT_E_CORRUPT),
			    db_message(db));
}

int report_database(struct db **db)
{
	char path[4096], dir[4000];
	int error;

	*db = NULL;
	snprintf(dir, sizeof(dir), "%s/memana-XXXXXX", partial_file_folder());
	if (!mkdtemp(dir))
		return -MT_E_SYSTEM;
	snprintf(path, sizeof(path), "%s/run.db", dir);
	error = db_create(db, path, schema_sql);
	unlink(path);
	rmdir(dir);
	return error;
}

static int load_traces(struct report_input *input, enum load_parts parts)
{
	struct source *source = &input->source;
	int error = report_database(&input->db);

	if (!error)
		error = parts == LOAD_MOMENT && input->failure
				? load_run_failure(input->db, &input->analysis, source->input, source->inputs,
						   source->rules, input->failure)
				: load_run(input->db, &input->analysis, source->input, source->inputs, source->rules,
					   parts);
	if (!error)
		error = load_names_of(input->db, &input->analysis);
	return error ? error : db_commit(input->db);
}

/* Prints one line about the error. Returns the exit status. */
static int tell_failure(struct report_input *input, const char *command, int error)
{
	const char *words;

	input->told = 1; /* no second line */
	words = error == -MT_E_SYSTEM ? strerror(errno) : mt_strerror(error);
	if (error == -MT_E_SYSTEM && !input->db)
		return command_fail(mt_exit_code(error), "%s: no temporary database could be made: %s (see TMPDIR)",
				    command, words);
	if (error == -MT_E_SYSTEM || error == -MT_E_SPACE)
		return command_fail(mt_exit_code(error),
				    "%s: %s: %s (is there space left for a temporary database? see TMPDIR)", command,
				    input->name, words);
	return command_fail(mt_exit_code(error), "%s: %s: %s", command, input->name, words);
}

int report_input_reload(struct report_input *input, const char *command, enum load_parts parts)
{
	uint32_t i;
	int error;

	db_close(input->db);
	input->db = NULL;
	analysis_release(&input->analysis);
	for (i = 0; i < input->source.inputs; i++)
		mt_reader_rewind(input->source.input[i].reader);
	error = load_traces(input, parts);
	return error ? tell_failure(input, command, error) : 0;
}

int report_input_open(struct report_input *input, const char *command, char *const *paths, uint32_t count,
		      enum load_parts parts)
{
	return report_input_open_failure(input, command, paths, count, parts, 0);
}

int report_input_open_failure(struct report_input *input, const char *command, char *const *paths, uint32_t count,
			      enum load_parts parts, uint32_t failure)
{
	int error, status;

	*input = (struct report_input){ .failure = failure };
	status = command_open(&input->source, paths, count, 1);
	if (status)
		return status;
	input->name = paths[0];
	input->db = input->source.db;
	if (input->db)
		return 0;
	error = load_traces(input, command_full() ? load_whole(parts) : parts);
	if (error == -MT_E_BUSY)
		return report_input_reload(input, command, load_whole(parts));
	return error ? tell_failure(input, command, error) : 0;
}

int report_input_close(struct report_input *input)
{
	int status = input->told ? 0 : report_damage(&input->analysis, "in the answer");

	if (input->db != input->source.db)
		db_close(input->db);
	analysis_release(&input->analysis);
	status = command_close(&input->source, status);
	memset(input, 0, sizeof(*input));
	return status;
}
