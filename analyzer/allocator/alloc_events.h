/*
 * alloc_events.h - memory and tensors of one process's caching allocator on one device, as a database has them, in the
 * order of events.
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
	uint64_t id, addr, bytes; /* id: of a tensor in the database */
	int is_beside;            /* memory of a pool that sleeps */
};

#define ALLOC_EVENTS_QUERIES 4
#define ALLOC_EVENTS_NONE INT64_MAX

/* Questions to the database that run side by side, merged by seq. */
struct alloc_events {
	struct db_stmt *stmt[ALLOC_EVENTS_QUERIES]; /* NULL: not needed */
	int64_t seq[ALLOC_EVENTS_QUERIES];          /* seq of the current row; ALLOC_EVENTS_NONE: no more rows */
};

/*
 * `sleeps`: a pool sleeps, and mapped memory belongs to it. Returns 0 or -MT_E_x; the caller closes `events` in any
 * case.
 */
int alloc_events_open(struct alloc_events *events, struct db *db, int64_t process, int64_t device, int sleeps);
void alloc_events_close(struct alloc_events *events);

/* Returns 1: *event is the next; 0: no more; or -MT_E_x. */
int alloc_events_next(struct alloc_events *events, struct alloc_event *event);

/*
 * The last event (seq) of each stretch of a phase in any step. A program that empties the cache after this phase would
 * do it there. The caller frees *seq. Returns 0 or -MT_E_x.
 */
int alloc_events_ends(struct db *db, int64_t process, const char *phase, int64_t **seq, size_t *count);

#endif
