/*
 * ring_read.h - reads a ring (memtrace/ring.h) with checked bounds: events by number, definitions in the log's order.
 *
 *   slots     ┌ tail        ┌ taken         ┌ head           bytes before `tail` are the producer's again,
 *      ───────┴─────────────┴───────────────┴───────         from `taken` to `head` nobody has looked at them
 *              in the trace   still to come
 *              file soon
 *
 * The writer of the ring may be alive, dead or hostile. Each cursor and field is copied once, then checked, then used.
 * An invalid record is counted and skipped, up to the next valid one.
 */
#ifndef FORMATS_RING_READ_H
#define FORMATS_RING_READ_H

#include <stddef.h>
#include <stdint.h>
#include "memtrace/ring.h"

/* Limits: a ring beyond them is refused with -MT_E_CORRUPT. */
#define RING_SLOT_BYTES_MIN (1u << 12)
#define RING_SLOT_BYTES_MAX (1u << 26)
#define RING_HEADER_BYTES_MAX (1u << 20)
#define RING_LOG_BYTES_MAX (1ull << 32)
#define RING_SEQ_MAX (1ull << 56) /* numbers of events */

struct ring_view_slot {
	uint64_t tail, taken, head; /* see the picture */
	uint64_t last_seq;          /* the newest record looked at: numbers rise in a slot */
	int waiting;                /* 1: `event` is the record at `taken`, and the heap has it */
	int broken;                 /* the cursors contradict each other: not read any more */
	struct ring_event event;
};

/* A waiting event's number and slot. */
struct ring_turn {
	uint64_t seq;
	uint32_t slot;
};

struct ring_view {
	struct ring_header *header; /* the mapping; sizes are used from the copies below only */
	size_t map_bytes;
	uint32_t slots, slot_bytes, header_bytes;
	uint64_t log_offset, log_bytes;
	uint64_t seq_limit;  /* all numbers handed out so far are smaller */
	uint64_t rejected;   /* number of invalid stretches in slots */
	uint64_t fullest;    /* most bytes in a slot that its producer cannot use, at the last refresh */
	uint64_t unreturned; /* most bytes in a slot that were taken and not given back */
	uint64_t log_at;     /* log: read up to here */
	int log_damaged;     /* 1: the record at log_at is invalid, so no later record can be found */
	uint32_t used;       /* slots from here on have had no event so far */
	uint32_t heap_count;
	struct ring_turn heap[RING_SLOTS]; /* smallest number first */
	struct ring_view_slot slot[RING_SLOTS];
};

/*
 * Opens a ring; a link is refused. `shared` 1: maps the file, and space can go back to the producer. 0: copies the ring
 * of an ended process and never writes to the file. The header's constant texts then end in NUL. *view is NULL on
 * error: -MT_E_SYSTEM (errno), -MT_E_MEMORY, -MT_E_MAGIC, -MT_E_VERSION, -MT_E_CORRUPT, -MT_E_TRUNCATED.
 */
int ring_view_open(struct ring_view **view, const char *path, int shared);
void ring_view_close(struct ring_view *view);

/* Reads the cursors for events published since the last time. */
void ring_view_refresh(struct ring_view *view);

/* The waiting event with the smallest number, NULL: none. Valid until the next call on the view. */
const struct ring_event *ring_view_peek(const struct ring_view *view);

/* Copies name and domain of the event, one after the other, to `text`: at most RING_TEXT_MAX bytes. */
void ring_view_text(const struct ring_view *view, char *text);

/* Moves on behind the event. */
void ring_view_take(struct ring_view *view);

/* Takes everything unseen; returns 1 when there was anything. */
int ring_view_drain(struct ring_view *view);

/* Gives all taken space back to the producers. Frees empty slots of threads that have ended. */
void ring_view_release(struct ring_view *view);

/* One definition: the place of its record in the log. */
struct ring_log_entry {
	uint32_t bytes, kind;
	uint64_t key, offset;
};

enum ring_log_status {
	RING_LOG_ENTRY = 0,
	RING_LOG_END = 1,     /* all records are read */
	RING_LOG_BLOCKED = 2, /* a record is unfinished, so later records cannot be found */
};

/* The next definition: enum ring_log_status. A damaged log stays RING_LOG_BLOCKED. */
enum ring_log_status ring_view_log(struct ring_view *view, struct ring_log_entry *entry);

/* Copies the whole record of an entry, entry->bytes, out of the log. */
void ring_view_log_copy(const struct ring_view *view, const struct ring_log_entry *entry, void *record);

#endif
