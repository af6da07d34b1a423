/*
 * mark_buffer.h - marks made before the first memory event. A later event decides whether the process is recorded, so
 * marks wait in a small fixed buffer. A process that never touches a GPU leaves no trace of them.
 */
#ifndef RECORDER_MARK_BUFFER_H
#define RECORDER_MARK_BUFFER_H

#include <stdint.h>
#include "ring.h"

enum mark_buffer_status {
	MARK_BUFFER_KEPT,
	MARK_BUFFER_DROPPED, /* one end of a range that had no room; the other end is dropped as well */
	MARK_BUFFER_FULL,    /* the mark is lost */
	MARK_BUFFER_CLOSED,  /* the recording has started, or is about to */
};

/* Keeps a copy. event->thread tells whose range it is; fill it in. */
enum mark_buffer_status mark_buffer_add(const struct ring_event *event, const struct ring_text *text);

/*
 * Ask for every mark once the buffer is closed, event->thread filled in. 1: it ends a range whose beginning was
 * dropped, so leave it out.
 */
int mark_buffer_swallows(const struct ring_event *event, const struct ring_text *text);

/*
 * Closes the buffer and calls `take` for each mark in order. Marks after one that does not get finished are left out.
 */
void mark_buffer_replay(void (*take)(void *context, struct ring_event *event, const struct ring_text *text),
			void *context);

/* Empties and opens the buffer: in a forked child, whose marks the parent's are not. */
void mark_buffer_clear(void);

#endif
