/*
 * ring.h - the writing side of the shared ring (memtrace/ring.h): one file per process, one slot per thread, one log.
 *
 * Nothing here allocates or takes a lock, but for the slots that threads share when there are more threads than
 * slots. Such a lock is held while a record is copied, not while anybody waits for room, and is taken from a thread
 * that ended. Descriptors are open only for the moment in which space is reserved. No descriptor is kept: programs
 * close what they do not know.
 */
#ifndef RECORDER_RING_H
#define RECORDER_RING_H

#include <stddef.h>
#include <stdint.h>
#include "memtrace/ring.h"
#include "shared/options.h"

struct ring {
	struct ring_header *header; /* NULL: there was no ring yet; zero pages, where a ring has gone */
	uint8_t *log;               /* the whole log range; only what log_ready covers is mapped */
	uint64_t log_bytes;         /* RING_LOG_BYTES, or less where a limit leaves less */
	uint64_t wait_ns;           /* how long a full slot may hold up one call */
	void (*on_stuck)(void);     /* called now and then while slots fill up and nobody empties them; may be NULL */
	_Atomic uint32_t patience;  /* log records to refuse before asking for space again */
	char path[MEMREC_PATH_MAX];
	struct {
		uint8_t *data;          /* mapped; NULL: never used by this process */
		_Atomic uint32_t owner; /* thread id, 0: nobody yet */
		_Atomic uint32_t
			holder; /* owner of a shared slot: thread id of the one that writes just now, 0: nobody */
	} local[RING_SLOTS];
};

/* One thread's place in the ring; all 0: none yet. */
struct ring_writer {
	struct ring_slot *slot;
	uint8_t *data;
	uint64_t head;     /* the slot's, which only this thread moves */
	uint64_t tail;     /* the slot's, as last read */
	uint64_t gave_up;  /* tail + 1 at which a wait was in vain; no second wait until it moves */
	uint64_t noticed;  /* head at which nobody was found to empty the slot */
	uint32_t patience; /* calls to let pass before asking for a slot again */
	uint32_t shared;   /* 0: the slot is this thread's alone; else its thread id: others write there, too */
};

/* The parts of an event beyond its fixed fields. Need not end in NUL. */
struct ring_text {
	const char *name, *domain;
	uint16_t name_bytes, domain_bytes; /* together at most RING_TEXT_MAX */
};

/*
 * Creates the file `path` (which must not exist) with room for the header, one slot and one step of the log, and
 * fills in the geometry. Everything else of ring->header is the caller's, then ring_publish().
 * Slots and log are smaller where the program's limits leave little.
 * -MT_E_BUSY: the file exists; -MT_E_SPACE; -MT_E_MEMORY; -MT_E_SYSTEM (errno).
 */
int ring_create(struct ring *ring, const char *path, uint32_t slot_bytes, uint64_t log_bytes, uint64_t wait_ns);

void ring_publish(struct ring *ring);

/* If `path` is a ring of this very process, of the program that ran before an exec: says that it has ended. */
void ring_end_replaced(const char *path, uint32_t pid, uint64_t start_ticks);

/* Takes the file away; the mapping stays, other threads may be writing. */
void ring_unlink(struct ring *ring);

/*
 * Unmaps everything: after a failed start, when a recording is over, or in a forked child, to which the ring never belonged.
 * Zero pages take the place of the header, for threads that look at it without being inside.
 */
void ring_forget(struct ring *ring);

/*
 * Gives the calling thread a slot, if it has none: one of its own, or, when there are too many threads, one of those
 * that are shared. 1: it has one; 0: there is no space for it (which is not asked at each call).
 */
int ring_claim(struct ring *ring, struct ring_writer *writer, uint32_t tid);

/*
 * Appends `event`; seq, bytes, record and text sizes are filled in here, time where it is 0. `text` may be NULL.
 * Waits for room as options say; 0: appended, -MT_E_SPACE: lost (not counted).
 */
int ring_append(struct ring *ring, struct ring_writer *writer, struct ring_event *event, const struct ring_text *text);

/*
 * Room for one log record of `bytes` (rounded up to 8), all 0 but its kind; NULL: the log is full. The last
 * RING_LOG_STEP is for threads and modules: an event without a stack is of use, one without its thread hardly. Fill
 * in everything but log->bytes, then ring_log_end() with the same number: the thread's signals are held in between.
 */
struct ring_log *ring_log_begin(struct ring *ring, enum ring_log_kind kind, size_t bytes);
void ring_log_end(struct ring_log *log, size_t bytes);

/* Bytes of the log that records have; of ring->log_bytes. */
uint64_t ring_log_taken(const struct ring *ring);

#endif
