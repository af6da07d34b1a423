/*
 * top_at.h - replaces the peak by another moment, for the questions of query.h. Temporary tables peak, peak_part and
 * gpu_total hide the tables of the same names in the database.
 */
#ifndef MEMANA_TOP_AT_H
#define MEMANA_TOP_AT_H

#include <stddef.h>
#include "database/db.h"
#include "engine/moment.h"

/*
 * Makes later questions be about `moment`, until the next call. Returns 1; 0: the run does not have the moment; or
 * -MT_E_x.
 */
int top_at(struct db *db, const struct moment *moment);

/*
 * The times of the moment in ns since the run began, ascending and without duplicates: one for each device that has it.
 * The database needs no lives. The caller frees *times. Returns 0 or -MT_E_x; *count 0: the run does not have the
 * moment.
 */
int top_at_times(struct db *db, const struct moment *moment, int64_t **times, size_t *count);

/* Writes why a run does not have a moment: "step:9: the run has 3 steps". Returns `out`. */
const char *top_at_absent(char *out, size_t size, struct db *db, const struct moment *moment);

#endif
