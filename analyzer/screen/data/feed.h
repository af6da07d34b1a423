/* feed.h - reads traces into a model, in a thread of its own or in the caller's. */
#ifndef MEMANA_TUI_FEED_H
#define MEMANA_TUI_FEED_H

#include <stdint.h>
#include "source/source.h"
#include "timeline/model.h"

struct feed;

/*
 * Reads the traces of `source`, or its database, to their end, or until model->stop, and makes known what it finds.
 * At the end the state is MODEL_READ or MODEL_FAILED, and with MODEL_READ sites have their final categories, devices
 * their peaks, and there is a verdict. `source` is the feed's to use until feed_free.
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

#endif
