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
 * Reads the traces of `source`, or its database, into the model, to their end or until model->stop. At the end the
 * state is MODEL_READ or MODEL_FAILED. With MODEL_READ, sites have final categories, devices have their peaks, and
 * there is a verdict. The feed uses `source` until feed_free.
 *
 * Traces that are still being written (source->written) are followed until their recording ends, see model->follow. The
 * state stays MODEL_READING then, and there is no summary: only the end tells its facts. feed_new starts the thread. It
 * returns -MT_E_SYSTEM if there can be no thread.
 */
int feed_new(struct feed **feed, struct model *model, struct source *source);

/* Waits until the thread is done. */
void feed_wait(struct feed *feed);

/*
 * The summary database (store_summary with everything), as soon as there is one: before the events, where the trace has
 * facts. NULL: not yet. The feed owns the database. One thread at a time may use it.
 */
struct db *feed_summary(struct feed *feed);

/* Sets model->stop, waits and frees. NULL is allowed. */
void feed_free(struct feed *feed);

/* The sentence above the timeline: the memory that filled the fullest device. */

/*
 * Writes the verdict from the summary database, with the present names of the model's sites. Also says that no memory
 * was held. The caller holds the lock. Returns 0 or an error of the database.
 */
int verdict_say(struct sentence *sentence, struct db *db, const struct model *model);

/* Sets model->unended: the reports' sentence about a trace that is not complete. Takes the lock. 0 or -MT_E_x. */
int verdict_unended(struct model *model, struct db *db);

/*
 * Sets model_device.growing for each device that grows: the sentence of `memana top`. The table `place` must be filled.
 * Takes the lock. Returns 0 or -MT_E_x.
 */
int verdict_growth(struct model *model, struct db *db);

/*
 * Fills a model from a database. memana load has stored the results that the feed finds in traces. The table `timeline`
 * has the blocks of the tape. The pyramid over the tape (series.h) is made again: it depends on the colours shown, and
 * takes a tenth of a second for ten million moves.
 *
 * Sets all but state and verdict; takes the lock itself. Returns 0, -MT_E_CORRUPT: the tables do not fit together, or
 * -MT_E_x.
 */
int feed_database(struct model *model, struct db *db);

#endif
