/* load_more.h - what the loader adds when all events have been read. Private to load*.c. */
#ifndef MEMANA_LOAD_MORE_H
#define MEMANA_LOAD_MORE_H

#include "engine/analysis.h"
#include "database/db.h"

/* The table `moment`; all other tables but callsite are filled. 0 or an error of the database. */
int load_moments(struct db *db, const struct analysis *analysis);

#endif
