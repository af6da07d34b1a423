/* feed.h - reads traces into a model, in a thread of its own or in the caller's. */
#ifndef MEMANA_TUI_FEED_H
#define MEMANA_TUI_FEED_H

#include <stddef.h>
#include <stdint.h>
#include "base/text.h"
#include "database/db.h"
#include "source/source.h"
#include "timeline/model.h"

struct feed;

/*
 * Reads the traces of `source`, or its database, to their end, or until model->stop, and makes known what it finds.
 * At the end the state is MODEL_READ or MODEL_FAILED, and with MODEL_READ sites have their final categories, devices
 * their peaks, and there is a verdict. `source` is the feed's to use until feed_free.
 *
 * Traces that are still being written (source->written) are followed until their recording ends, and the model with them:
 * see model->follow. The state stays MODEL_READING then: there is no summary, for what only the end tells is not known.
 * feed_new starts the thread; -MT_E_SYSTEM: none can be had.
 */
int feed_new(struct feed **feed, struct model *model, struct source *source);

/* Waits until the thread is done. */
void feed_wait(struct feed *feed);

/* The summary database (store_summary with everything) of a model that is MODEL_READ; NULL otherwise. Owned by the
 * feed; to be used by one thread at a time. */
struct db *feed_summary(struct feed *feed);

/* Sets model->stop, waits and frees. NULL is fine. */
void feed_free(struct feed *feed);

/* The one sentence above the timeline: what filled the device that was fullest. */

/*
 * From the summary database of the run, with the names that the model's sites have by now. It says when nothing was held.
 * The lock is the caller's business. 0 or an error of the database.
 */
int verdict_say(struct sentence *sentence, struct db *db, const struct model *model);

/* Sets model->unended: the reports' sentence about a trace that is not complete. Takes the lock. 0 or -MT_E_x. */
int verdict_unended(struct model *model, struct db *db);

/* The sentence of each device that grows (model_device.growing): the one of `memana top`. The table `place` is filled. Takes
 * the lock. 0 or -MT_E_x. */
int verdict_growth(struct model *model, struct db *db);

/*
 * A model out of a database: what the feed finds in traces, memana load has kept. The tape lies in the table `timeline` in
 * its blocks; the pyramid over it (series.h) is made anew, for it depends on what is shown in which colour and takes a tenth
 * of a second for ten million moves.
 *
 * Fills the model but for state and verdict; takes the lock itself. 0; -MT_E_CORRUPT: the tables do not fit together; or
 * -MT_E_x.
 */
int feed_database(struct model *model, struct db *db);

#endif
