/*
 * feed_database.h - a model out of a database: what the feed finds in traces, memana load has kept. The tape lies in the
 * table `timeline` in its blocks; the pyramid over it (series.h) is made anew, for it depends on what is shown in which colour
 * and takes a tenth of a second for ten million moves.
 */
#ifndef MEMANA_TUI_FEED_DATABASE_H
#define MEMANA_TUI_FEED_DATABASE_H

#include <stddef.h>
#include "database/db.h"
#include "timeline/model.h"

/*
 * Fills the model but for state and verdict; takes the lock itself. 0; -MT_E_CORRUPT: the tables do not fit together; or
 * -MT_E_x.
 */
int feed_database(struct model *model, struct db *db);

#endif
