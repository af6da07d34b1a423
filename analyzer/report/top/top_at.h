/*
 * top_at.h - puts another moment in the place of the peak, for the questions of query.h. The temporary tables peak, peak_part and gpu_total hide the
 * database's tables of these names.
 */
#ifndef MEMANA_TOP_AT_H
#define MEMANA_TOP_AT_H

#include <stddef.h>
#include "database/db.h"
#include "engine/moment.h"

/* Makes later questions be about `moment`, until the next call. Returns 1; 0: the run does not have the moment; or -MT_E_x. */
int top_at(struct db *db, const struct moment *moment);

/*
 * Finds the times of the moment, one for each device that has it, in ns since the run began, ascending, each once. The database needs no lives. The
 * caller frees *times. Returns 0 or -MT_E_x; *count 0: the run does not have the moment.
 */
int top_at_times(struct db *db, const struct moment *moment, int64_t **times, size_t *count);

/* Writes the reason why the run does not have a moment: "step:9: the run has 3 steps". Returns `out`. */
const char *top_at_absent(char *out, size_t size, struct db *db, const struct moment *moment);

#endif
