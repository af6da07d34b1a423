/*
 * top_at.h - another moment in the place of the peak: temporary tables peak, peak_part and whole of a loaded run, which the
 * questions of query.h find before those of the same names that the database has.
 */
#ifndef MEMANA_TOP_AT_H
#define MEMANA_TOP_AT_H

#include "database/db.h"
#include "engine/moment.h"

/* Once for a database. 1; 0: the run does not have the moment; or -MT_E_x. */
int top_at(struct db *db, const struct moment *moment);

#endif
