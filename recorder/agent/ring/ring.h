/*
 * ring.h - the writing side of the shared ring (memtrace/ring.h): one file per process, one slot per thread, one log.
 *
 * No function here allocates. Locks exist only for shared slots, if there are more threads than slots. Such a lock is
 * held while a record is copied, not during a wait for room, and is taken from a thread that has ended. Descriptors are
 * open only while space is reserved, because programs close descriptors that they do not know.
 */
#ifndef RECORDER_RING_H
#define RECORDER_RING_H

#include <stddef.h>
#include <stdint.h>
#include "event_clock.h"
#include "memtrace/ring.h"
#include "shared/options.h"

/* An event with all fields 0. To copy these zeros is quicker than the string instruction that an initializer of this size becomes. */
extern const struct ring_event ring_event_none;

struct ring {
	struct ring_header *header; /* NULL: no ring so far; zero pages after a ring was removed */
	uint8_t *log;               /* the log's whole address range; only log_ready bytes are mapped */
	uint64_t log_bytes;         /* RING_LOG_BYTES, or less below a limit */
	int has_counter;            /* 1: the processor's counter tells the time (event_clock.h) */
	uint64_t wait_ns;           /* longest time that a full slot holds up a call */
	void (*on_stuck)(void); /* called now and then while slots fill up and no collector empties them; may be NULL */
	_Atomic uint32_t patience; /* log records to refuse before asking for space again */
	char path[MEMREC_PATH_MAX];
	struct {
		uint8_t *data;           /* mapping; NULL: not used by this process yet */
		_Atomic uint32_t owner;  /* thread id; 0: none yet */
		_Atomic uint32_t holder; /* shared slot: id of the thread that writes now; 0: none */
	} local[RING_SLOTS];
};

/* A thread's place in the ring. All 0: none yet. */
struct ring_writer {
	struct ring_slot *slot;
	uint8_t *data;
	uint64_t head;     /* head of the slot, which only this thread moves */
	uint64_t tail;     /* the slot's, as last read */
	uint64_t gave_up;  /* tail + 1 at a wait in vain; the thread waits again after tail has moved */
	uint64_t noticed;  /* head at the last finding that no collector empties the slot */
	uint32_t patience; /* calls to let pass before asking for a slot again */
	struct event_clock clock;
	uint32_t shared; /* 0: the slot is this thread's alone; else this thread's id, and others write there, too */
};

/* The texts of an event. They need not end in NUL. */
struct ring_text {
	const char *name, *domain;
	uint16_t name_bytes, domain_bytes; /* together at most RING_TEXT_MAX */
};

/*
 * Creates the file `path`, which must not exist, with room for the header, one slot and one step of the log, and sets
 * the geometry. Slots and log are smaller below the program's limits. The caller fills in the rest of ring->header and
 * calls ring_publish(). 0; -MT_E_BUSY: the file exists; -MT_E_SPACE; -MT_E_MEMORY; -MT_E_SYSTEM (errno).
 */
int ring_create(struct ring *ring, const char *path, uint32_t slot_bytes, uint64_t log_bytes, uint64_t wait_ns);

void ring_publish(struct ring *ring);

/* If `path` is a ring of this process, from the program before an exec, marks it as ended. */
void ring_end_replaced(const char *path, uint32_t pid, uint64_t start_ticks);

/* Takes the file away; the mapping stays, other threads may be writing. */
void ring_unlink(struct ring *ring);

/*
 * Unmaps everything: after a failed start, at the end of a recording, or in a forked child, which does not own the
 * ring. Zero pages replace the header, for threads that read it without being inside.
 */
void ring_forget(struct ring *ring);

/*
 * Gives the calling thread a slot if it has none: its own, or a shared one if there are too many threads. 1: it has a
 * slot. 0: no space; the next calls return 0 without trying.
 */
int ring_claim(struct ring *ring, struct ring_writer *writer, uint32_t tid);

/*
 * Appends `event`. Sets seq, bytes, record and text sizes, and time if it is 0. `text` may be NULL. Waits for room as
 * the options say. 0: appended; -MT_E_SPACE: lost (not counted).
 */
int ring_append(struct ring *ring, struct ring_writer *writer, struct ring_event *event, const struct ring_text *text);

/*
 * Reserves one log record of `bytes` (rounded up to 8), all 0 except its kind. NULL: the log is full. The last
 * RING_LOG_STEP is for threads and modules only, because an event without its thread is hardly of use, but one without
 * a stack is. Fill in all but log->bytes, then call ring_log_end() with the same `bytes`. The thread's signals are held
 * in between.
 */
struct ring_log *ring_log_begin(struct ring *ring, enum ring_log_kind kind, size_t bytes);
void ring_log_end(struct ring_log *log, size_t bytes);

/* Returns the used bytes of the log, of ring->log_bytes. */
uint64_t ring_log_taken(const struct ring *ring);

#endif
