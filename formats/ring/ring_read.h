/*
 * ring_read.h - a bounds-checked view of a ring (memtrace/ring.h): events in the order of their numbers, definitions
 * in the order of the log.
 *
 *   slots     ┌ tail        ┌ taken         ┌ head           bytes before `tail` are the producer's again,
 *      ───────┴─────────────┴───────────────┴───────         from `taken` to `head` nobody has looked at them
 *              in the trace   still to come
 *              file soon
 *
 * Whoever writes the ring may be alive, dead or hostile: a cursor or field is read once into memory of our own, then
 * checked, then used. A record that makes no sense is skipped up to the next one that does, and counted.
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
	int waiting;                /* `event` is the record at `taken`, and it is in the heap */
	int broken;                 /* the cursors contradict each other: not read any more */
	struct ring_event event;
};

/* A waiting event: its number, and its slot. */
struct ring_turn {
	uint64_t seq;
	uint32_t slot;
};

struct ring_view {
	struct ring_header *header; /* the mapping; sizes are used from the copies below only */
	size_t map_bytes;
	uint32_t slots, slot_bytes, header_bytes;
	uint64_t log_offset, log_bytes;
	uint64_t seq_limit;  /* numbers handed out so far are below */
	uint64_t rejected;   /* stretches of slots that made no sense */
	uint64_t fullest;    /* bytes in the fullest slot that its producer cannot use, at the last refresh */
	uint64_t unreturned; /* bytes in one slot that were taken and not given back, the most of any slot */
	uint64_t log_at;     /* log: read up to here */
	int log_damaged;     /* the record at log_at makes no sense: nothing behind it can be found */
	uint32_t heap_count;
	struct ring_turn heap[RING_SLOTS]; /* smallest number first */
	struct ring_view_slot slot[RING_SLOTS];
};

/*
 * Opens the ring, which is no link. `shared` 1: maps the file and gives space back to the producer; 0: for left-overs, takes
 * a copy, and nothing is written to the file.
 * Afterwards the header's constant texts end in NUL. *view is NULL on error: -MT_E_SYSTEM (errno), -MT_E_MEMORY,
 * -MT_E_MAGIC, -MT_E_VERSION, -MT_E_CORRUPT, -MT_E_TRUNCATED.
 */
int ring_view_open(struct ring_view **view, const char *path, int shared);
void ring_view_close(struct ring_view *view);

/* Looks what the producers have published since the last time. */
void ring_view_refresh(struct ring_view *view);

/* The waiting event with the smallest number, NULL: none. Valid until the next call on the view. */
const struct ring_event *ring_view_peek(const struct ring_view *view);

/* Name and domain of that event, one after the other: at most RING_TEXT_MAX bytes go to `text`. */
void ring_view_text(const struct ring_view *view, char *text);

/* Goes on behind that event. */
void ring_view_take(struct ring_view *view);

/* Takes everything unseen; returns 1 when there was anything. */
int ring_view_drain(struct ring_view *view);

/* Gives everything taken back to the producers; slots whose thread has ended and that are empty become free. */
void ring_view_release(struct ring_view *view);

/* One definition: where in the log its record lies. */
struct ring_log_entry {
	uint32_t bytes, kind;
	uint64_t key, offset;
};

enum ring_log_status {
	RING_LOG_ENTRY = 0,
	RING_LOG_END = 1,     /* everything that was begun has been read */
	RING_LOG_BLOCKED = 2, /* a record was begun and is not finished: what comes behind it cannot be found yet */
};

/* The next definition: enum ring_log_status. A damaged log stays RING_LOG_BLOCKED. */
enum ring_log_status ring_view_log(struct ring_view *view, struct ring_log_entry *entry);

/* Copies the whole record of an entry, entry->bytes, out of the log. */
void ring_view_log_copy(const struct ring_view *view, const struct ring_log_entry *entry, void *record);

#endif
