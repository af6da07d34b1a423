/*
 * report_input.h - what the commands that answer from a database share: phases, steps, oom, retained, frag, diff, check.
 *
 * They ask the database that was named, or traces loaded into one for the moment: a temporary file that nobody else
 * sees, so memory does not grow with the traces.
 */
#ifndef MEMANA_REPORT_INPUT_H
#define MEMANA_REPORT_INPUT_H

#include <stdint.h>
#include "database/db.h"
#include "engine/analysis.h"
#include "source/source.h"

struct report_input {
	struct source source;
	struct analysis analysis; /* of traces; empty for a database */
	struct db *db;            /* what to ask */
	const char *name;         /* as named: the database, or the first trace */
	int told;                 /* 1: the damage has been, by report_absent, or something worse has */
};

/*
 * Opens one database or the traces of one run. 0, or after printing why not ("memana: COMMAND: ...") the exit code.
 * Close in any case.
 */
int report_input_open(struct report_input *input, const char *command, char *const *paths, uint32_t count);

/*
 * What the command ends with when it has answered: 0, or 3 after one line about damage in a trace (unless told already).
 */
int report_input_close(struct report_input *input);

/* A new database (schema.sql) in a file of our own, gone from its folder as soon as it is open. 0 or -MT_E_x. */
int report_database(struct db **db);

#endif
