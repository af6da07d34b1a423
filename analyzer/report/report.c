#include "report.h"

#include <stdio.h>
#include "base/text.h"
#include "command.h"
#include "memtrace/error.h"

int report_json(const struct analysis *analysis, void (*trace)(struct doc *doc, const struct analysis_process *process))
{
	struct doc *doc = doc_new();
	uint32_t i;
	int error = -MT_E_MEMORY;

	if (doc) {
		doc_object(doc, NULL);
		doc_int(doc, "version", 1);
		doc_array(doc, "traces");
		for (i = 0; i < analysis->processes; i++)
			trace(doc, &analysis->process[i]);
		doc_end(doc);
		doc_end(doc);
		error = doc_print(doc, stdout);
	}
	doc_free(doc);
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
	/* Reading went on behind it. */
	if (missing->records)
		return command_fail(mt_exit_code(error), "%s: %s at byte %lu (%s missing, everything else is %s)",
				    where->file, mt_strerror(error), (unsigned long)where->state->error_offset,
				    text_count(events, sizeof(events), missing->count, "event"), done);
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
