/* verdict.h - the one sentence above the timeline: what filled the device that was fullest. */
#ifndef MEMANA_TUI_VERDICT_H
#define MEMANA_TUI_VERDICT_H

#include "base/sentence.h"
#include "database/db.h"
#include "timeline/model.h"

/*
 * From the summary database of the run, with the names that the model's sites have by now. "" where nothing was held.
 * The lock is the caller's business. 0 or an error of the database.
 */
int verdict_say(struct sentence *sentence, struct db *db, const struct model *model);

#endif
