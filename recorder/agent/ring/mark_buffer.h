/*
 * mark_buffer.h - keeps marks from before the first memory event. This event decides whether the process is recorded,
 * so marks wait in a small fixed buffer. A process that never uses a GPU leaves no trace.
 */
#ifndef RECORDER_MARK_BUFFER_H
#define RECORDER_MARK_BUFFER_H

#include <stdint.h>
#include "ring.h"

enum mark_buffer_status {
	MARK_BUFFER_KEPT,
	MARK_BUFFER_DROPPED, /* the range had no room; both its ends are dropped */
	MARK_BUFFER_FULL,    /* the mark is lost */
	MARK_BUFFER_CLOSED,  /* the recording has started, or is about to */
};

/* Copies a mark. The caller sets event->thread, the owner of the range. */
enum mark_buffer_status mark_buffer_add(const struct ring_event *event, const struct ring_text *text);

/*
 * Call for each mark after the buffer was closed, with event->thread set. 1: the mark ends a range whose begin was
 * dropped, so drop the mark.
 */
int mark_buffer_swallows(const struct ring_event *event, const struct ring_text *text);

/* Closes the buffer and calls `take` for each mark in order, up to the first unfinished one. */
void mark_buffer_replay(void (*take)(void *context, struct ring_event *event, const struct ring_text *text),
			void *context);

/* Empties and opens the buffer, in a forked child: the marks are the parent's. */
void mark_buffer_clear(void);

#endif
