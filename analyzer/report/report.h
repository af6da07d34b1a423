/* report.h - the parts that commands about traces share: the frame of their JSON, and messages about damage. */
#ifndef MEMANA_REPORT_H
#define MEMANA_REPORT_H

#include <stdint.h>
#include "base/json.h"
#include "database/db.h"
#include "engine/analysis.h"
#include "source/source.h"
#include "store/load.h"

/* Prints {"version": 1, "schema": .., "traces": [...]}. `trace` writes the object of trace `number` of `analysis`. Returns 0 or an error. */
int report_json(const char *command, const struct analysis *analysis,
		void (*trace)(struct doc *doc, const struct analysis_process *process, uint32_t number,
			      const void *context),
		const void *context);

/* Calls doc_shape with the devices of the run. Returns 0 or -MT_E_x. */
int report_shape(struct doc *doc, struct db *db);

/* The missing events of a trace, and the damage of its file. */
struct report_losses {
	uint64_t lost, let_go; /* numbers of events */
	int complete, torn;
	const char *damage; /* "": none */
};

/* Writes the fields for missing events, the same in all reports. */
void report_losses(struct doc *doc, const struct report_losses *losses);
struct report_losses report_losses_of(const struct analysis_process *process);

/* Writes the array `key` of the database's traces. Returns 0 or -MT_E_x. */
int report_traces(struct doc *doc, const char *key, struct db *db);

/* Whether the trace ends inside a chunk, as after a crash, and has no other fault. */
int report_is_torn(const struct mt_trace_state *state);

/* Returns the faults of the trace in words; "": no fault, or only a torn end. Static storage. */
const char *report_damage_words(const struct mt_trace_state *state);

/* Prints one line about the worst damage of the traces. `done`: the use of the rest ("shown", "loaded"). Returns the exit status; 0: no damage. */
int report_damage(const struct analysis *analysis, const char *done);

/*
 * Prints one line about the reason why `command` has no answer from `db`. Returns the exit status. The SQL of reports is correct: an SQL error means
 * a damaged database.
 */
int report_no_answer(const char *command, const struct db *db, int error);

/*
 * Prints one line about a missing item of the recording, and about damage that may be the reason. Returns the exit status for the damage; without
 * damage, EXIT_USAGE.
 */
int report_absent(const struct analysis *analysis, const char *what);

/*
 * The input of commands that answer from a database: phases, steps, oom, retained, frag, diff, check. They ask a given database, or load traces into
 * a temporary file without a name: memory does not grow with the traces.
 */

struct report_input {
	struct source source;
	struct analysis analysis; /* analysis of the traces; empty for a database */
	struct db *db;            /* the database to ask */
	const char *name;         /* name of the database or of the first trace */
	uint32_t failure;         /* for LOAD_MOMENT: number of the failed request; 0: the newest one */
	int told;                 /* 1: a message about the damage, or about something worse, was printed */
};

/*
 * Opens one database or the traces of one run, and loads these parts (--full: LOAD_LIVES instead of sums). Returns 0; after a message "memana:
 * COMMAND: ...", the exit status. The caller closes `input`, also after an error.
 */
int report_input_open(struct report_input *input, const char *command, char *const *paths, uint32_t count,
		      enum load_parts parts);

/* As report_input_open, for LOAD_MOMENT of the failed request with this number. */
int report_input_open_failure(struct report_input *input, const char *command, char *const *paths, uint32_t count,
			      enum load_parts parts, uint32_t failure);

/* Loads the traces anew with other parts; not for a database. Returns 0; after a message, the exit status. */
int report_input_reload(struct report_input *input, const char *command, enum load_parts parts);

/* Closes the input. Returns the exit status of a command that has answered: 0; or 3 after one line about damage, unless this was printed before. */
int report_input_close(struct report_input *input);

/* Makes a new database (schema.sql) in a temporary file without a name. Returns 0 or -MT_E_x. */
int report_database(struct db **db);

#endif
