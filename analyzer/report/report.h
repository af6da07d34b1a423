/* report.h - what commands about traces have in common: the frame of their JSON, and how damage is told. */
#ifndef MEMANA_REPORT_H
#define MEMANA_REPORT_H

#include <stdint.h>
#include "base/json.h"
#include "database/db.h"
#include "engine/analysis.h"
#include "source/source.h"
#include "store/load.h"

/* Prints {"version": 1, "schema": .., "traces": [...]}; `trace` adds the object of one trace, `number` of `analysis`. 0 or an error. */
int report_json(const char *command, const struct analysis *analysis,
		void (*trace)(struct doc *doc, const struct analysis_process *process, uint32_t number,
			      const void *context),
		const void *context);

/* doc_shape with the devices of the run. 0 or -MT_E_x. */
int report_shape(struct doc *doc, struct db *db);

/* The events of a trace that are not there, and the state of its file. */
struct report_losses {
	uint64_t lost, let_go; /* events */
	int complete, torn;
	const char *damage; /* "": none */
};

/* The fields of a trace that say so. All JSON has them from here. */
void report_losses(struct doc *doc, const struct report_losses *losses);
struct report_losses report_losses_of(const struct analysis_process *process);

/* The array `key` of the traces that the database is of. 0 or -MT_E_x. */
int report_traces(struct doc *doc, const char *key, struct db *db);

/* 1: the trace only ends in the middle of a chunk, as a crash leaves it. */
int report_is_torn(const struct mt_trace_state *state);

/* The faults of the trace; "": nothing, or it is only torn. Static storage. */
const char *report_damage_words(const struct mt_trace_state *state);

/*
 * One line about the worst damage of the traces, if there is any. `done`: what happened to the rest ("shown",
 * "loaded"). The exit code; 0: no damage.
 */
int report_damage(const struct analysis *analysis, const char *done);

/*
 * One line about why `command` has no answer from `db`. The exit code: the questions of reports are right, so where
 * SQLite takes one for wrong, it is the database that is damaged.
 */
int report_no_answer(const char *command, const struct db *db, int error);

/*
 * One line about something that was asked for and that the recording does not have, with the damage of a trace behind
 * which it may lie. The exit code: of the damage, else EXIT_USAGE.
 */
int report_absent(const struct analysis *analysis, const char *what);

/*
 * The shared part of the commands that answer from a database: phases, steps, oom, retained, frag, diff, check.
 *
 * They ask the database that was named, or traces loaded into one for the moment: a temporary file that nobody else
 * sees, so memory does not grow with the traces.
 */

struct report_input {
	struct source source;
	struct analysis analysis; /* analysis of traces; empty for a database */
	struct db *db;            /* database to ask */
	const char *name;         /* as named: the database, or the first trace */
	uint32_t failure;         /* of LOAD_MOMENT: the number of the failed request; 0: the newest */
	int told;                 /* 1: the damage has been, by report_absent, or something worse has */
};

/*
 * Opens one database or the traces of one run, of which it loads these parts (--full: LOAD_LIVES for sums). 0, or after printing why not
 * ("memana: COMMAND: ...") the exit code. Close in any case.
 */
int report_input_open(struct report_input *input, const char *command, char *const *paths, uint32_t count,
		      enum load_parts parts);

/* The same for LOAD_MOMENT of a failed request with this number. */
int report_input_open_failure(struct report_input *input, const char *command, char *const *paths, uint32_t count,
			      enum load_parts parts, uint32_t failure);

/* Loads the traces once more, with other parts; not for a database. 0, or after printing why not the exit code. */
int report_input_reload(struct report_input *input, const char *command, enum load_parts parts);

/*
 * The exit status of a command when it has answered: 0, or 3 after one line about damage in a trace (unless told
 * already).
 */
int report_input_close(struct report_input *input);

/* A new database (schema.sql) in a file of our own, gone from its folder as soon as it is open. 0 or -MT_E_x. */
int report_database(struct db **db);

#endif
