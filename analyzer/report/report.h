/* report.h - what commands about traces have in common: the frame of their JSON, and how damage is told. */
#ifndef MEMANA_REPORT_H
#define MEMANA_REPORT_H

#include "base/json.h"
#include "database/db.h"
#include "engine/analysis.h"

/* Prints {"version": 1, "traces": [...]}; `trace` adds the object of one trace. 0 or an error. */
int report_json(const struct analysis *analysis,
		void (*trace)(struct doc *doc, const struct analysis_process *process));

/* 1: the trace only ends in the middle of a chunk, as a crash leaves it. */
int report_is_torn(const struct mt_trace_state *state);

/* What is wrong with the trace; "": nothing, or it is only torn. Static storage. */
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

#endif
