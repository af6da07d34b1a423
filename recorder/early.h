/*
 * early.h - marks made before the first memory event. Whether the process will ever be recorded is not known yet, so
 * they wait in a small fixed buffer; a process that never touches a GPU leaves no trace of them.
 */
#ifndef RECORDER_EARLY_H
#define RECORDER_EARLY_H

#include <stdint.h>
#include "ring.h"

/* Keeps a copy. 1: kept, 0: the buffer is full or closed. */
int early_add(const struct ring_event *event, const struct ring_text *text);

/*
 * Closes the buffer and calls `take` for each mark in order. What comes after a mark that does not get finished is
 * left out.
 */
void early_replay(void (*take)(void *context, struct ring_event *event, const struct ring_text *text), void *context);

/* Empties and opens the buffer: in a forked child, whose marks the parent's are not. */
void early_clear(void);

#endif
