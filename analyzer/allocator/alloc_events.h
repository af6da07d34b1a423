/*
 * alloc_events.h - what a database tells of one process's caching allocator on one device: its memory and its tensors as
 * they come and go, in the order of events.
 */
#ifndef MEMANA_ALLOC_EVENTS_H
#define MEMANA_ALLOC_EVENTS_H

#include <stddef.h>
#include <stdint.h>
#include "database/db.h"

enum alloc_event_kind { ALLOC_EVENT_PIECE, ALLOC_EVENT_TENSOR_GONE, ALLOC_EVENT_PIECE_GONE, ALLOC_EVENT_TENSOR };

struct alloc_event {
	enum alloc_event_kind kind;
	int64_t seq, time;
	uint64_t id, addr, bytes; /* id: of a tensor, in the database */
	int is_beside;            /* memory of a pool that sleeps */
};

#define ALLOC_EVENTS_QUERIES 4
#define ALLOC_EVENTS_NONE INT64_MAX

/* Questions to the database side by side, merged by seq. */
struct alloc_events {
	struct db_stmt *stmt[ALLOC_EVENTS_QUERIES]; /* NULL: not asked */
	int64_t seq[ALLOC_EVENTS_QUERIES]; /* sequence number of the row it stands at; ALLOC_EVENTS_NONE: there are no more */
};

/* `sleeps`: a pool sleeps, and mapped memory is its. 0 or -MT_E_x; close in any case. */
int alloc_events_open(struct alloc_events *events, struct db *db, int64_t process, int64_t device, int sleeps);
void alloc_events_close(struct alloc_events *events);

/* 1: there is one, 0: no more, or -MT_E_x. */
int alloc_events_next(struct alloc_events *events, struct alloc_event *event);

/*
 * The last event (seq) of each stretch that a process was in a phase, whatever the step: where a program that empties
 * the cache after that phase would do it. *seq: free it. 0 or -MT_E_x.
 */
int alloc_events_ends(struct db *db, int64_t process, const char *phase, int64_t **seq, size_t *count);

#endif
