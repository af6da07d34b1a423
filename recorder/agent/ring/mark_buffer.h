/*
 * early.h - marks made before the first memory event. Whether the process will ever be recorded is not known yet, so
 * they wait in a small fixed buffer; a process that never touches a GPU leaves no trace of them.
 */
#ifndef RECORDER_EARLY_H
#define RECORDER_EARLY_H

#include <stdint.h>
#include "ring.h"

enum early_status {
	EARLY_KEPT,
	EARLY_DROPPED, /* one end of a range that had no room; the other end is dropped as well */
	EARLY_FULL,    /* the mark is lost */
	EARLY_CLOSED,  /* the recording has started, or is about to */
};

/* Keeps a copy. event->thread tells whose range it is; fill it in. */
enum early_status early_add(const struct ring_event *event, const struct ring_text *text);

/*
 * Ask for every mark once the buffer is closed, event->thread filled in. 1: it ends a range whose beginning was
 * dropped, so leave it out.
 */
int early_swallows(const struct ring_event *event, const struct ring_text *text);

/*
 * Closes the buffer and calls `take` for each mark in order. What comes after a mark that does not get finished is
 * left out.
 */
void early_replay(void (*take)(void *context, struct ring_event *event, const struct ring_text *text), void *context);

/* Empties and opens the buffer: in a forked child, whose marks the parent's are not. */
void early_clear(void);

#endif
