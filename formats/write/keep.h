/*
 * keep.h - the flight recorder (mt_writer_options.keep): chooses the chunks that stay and the chunks that go.
 *
 *     PROCESS DEFS EVENTS EVENTS CHECKPOINT EVENTS CHECKPOINT EVENTS EVENTS CHECKPOINT EVENTS EVENTS CHECKPOINT EVENTS
 *                                └──── window of an OOM ─────┘                                       └──── newest ───┘
 *     becomes
 *     PROCESS DEFS carry CHECKPOINT EVENTS CHECKPOINT EVENTS carry CHECKPOINT EVENTS
 *
 * A carry is an EVENTS chunk for events that are gone. It has a CUT and the facts that a reader needs: the newest step,
 * the states of the sources, losses, and the open ranges and phases.
 *
 * A window is the time of an out-of-memory error. It begins at the checkpoint before the second step before the error
 * and ends with the error's step, but takes at most a quarter of the file. The first and the newest window stay. Errors
 * of the framework's allocator count. Errors of the driver count only without any of those, because allocators free and
 * try again.
 */
#ifndef FORMATS_KEEP_H
#define FORMATS_KEEP_H

#include <stdint.h>
#include "memtrace/defs.h"
#include "memtrace/event.h"
#include "memtrace/reader.h"

#define KEEP_OPEN_MAX 256u /* most open ranges that a carry has */
#define KEEP_WINDOWS 2u

/* The facts of a carry before a checkpoint. */
struct keep_state {
	struct mt_event step;                    /* newest STEP; kind 0: none */
	struct mt_event source[MT_SOURCE_COUNT]; /* newest event of each source; kind 0: none */
	struct mt_event open[KEEP_OPEN_MAX];     /* events that opened the open ranges, phases and windows */
	uint32_t opens;
};

/* Beside an entry of the writer's chunk list. */
struct keep_chunk {
	uint64_t number;              /* number of chunks since the beginning: does not change when others go */
	uint64_t cut;                 /* carry: number of events that it stands for */
	uint64_t lost[MT_LOSS_COUNT]; /* losses by its LOST events */
	uint32_t events;              /* number of events; 0 for a carry */
	uint32_t step;                /* step at its end */
	uint32_t oom_step;            /* step at its newest out-of-memory error */
	uint8_t oom;                  /* enum keep_rank of the worst out-of-memory error; 0: none */
	uint8_t carry;
	struct keep_state *state; /* checkpoints: owned; NULL (out of memory): no stretch can begin here */
};

struct keep_chunks {
	struct keep_chunk *item;
	uint32_t count, room;
};

struct keep_window {
	uint8_t rank; /* enum keep_rank; 0: no window */
	uint8_t open; /* 1: its step has not ended yet */
	uint32_t step;
	uint64_t first, last; /* numbers of chunks */
	uint8_t *named;       /* by string id, 1: named in the window; NULL: the window is open */
	uint32_t strings;
};

struct keep {
	uint64_t bytes;                          /* wanted bytes of the file */
	uint64_t next_try;                       /* size of the file at the next rotation, at least */
	uint64_t number;                         /* number of the chunk that is filled now */
	int error;                               /* error of the newest rotation */
	struct keep_chunks chunks;               /* beside the writer's list */
	struct keep_chunk now;                   /* the chunk that is filled now */
	struct keep_state state;                 /* after the newest event */
	struct keep_state *checkpoint;           /* state at a checkpoint that is not written yet */
	struct keep_window window[KEEP_WINDOWS]; /* the first, the newest */
	uint64_t *used; /* by string id: number + 1 of the newest chunk with an event that names it */
	uint32_t used_room;
};

/* Chunks that stay, as indexes into the list. */
struct keep_range {
	uint32_t first, last;
};

#define KEEP_RANGES (KEEP_WINDOWS + 1)

/* 0 or -MT_E_MEMORY. */
int keep_chunks_add(struct keep_chunks *chunks, const struct keep_chunk *chunk);

/* NULL: out of memory. */
struct keep *keep_new(uint64_t bytes);
void keep_free(struct keep *keep);

/* Makes room for the next keep_event. 0 or -MT_E_MEMORY. */
int keep_reserve(struct keep *keep, const struct mt_event *event);

/* keep_event: adds an event of the current chunk. keep_skip: adds an event that the file lacks. */
void keep_event(struct keep *keep, const struct mt_event *event);
void keep_skip(struct keep *keep, const struct mt_event *event);

/* Notes the state for the next checkpoint, which shows the live set of now. */
void keep_checkpoint(struct keep *keep);

/*
 * Notes new chunks of the list, at most one of them with events. Out of memory: no more chunks can go, and keep->error
 * is set.
 */
void keep_written(struct keep *keep, const struct mt_chunk_info *list, uint32_t count);

/* Returns the number of events that are gone. */
uint64_t keep_cut(const struct keep *keep);

/* Chooses the parts that stay, in order. Returns the number of ranges. `defs`: bytes of the definitions. */
uint32_t keep_plan(const struct keep *keep, const struct mt_chunk_info *list, uint64_t defs,
		   struct keep_range ranges[KEEP_RANGES]);

/* Sets wanted[id] for each string that a chunk in the ranges or an open event names. `count` ids from 0 on. */
void keep_mark_strings(const struct keep *keep, const struct keep_range *ranges, uint32_t count_ranges, uint8_t *wanted,
		       uint32_t count);

/* How many events go when the chunks between `previous` and `index` do. */
uint64_t keep_gone(const struct keep *keep, uint32_t previous, uint32_t index);

/*
 * Makes the events of the carry before checkpoint `index`, for the missing chunks behind `previous` (last seq:
 * `after`). Their number is limited by the free seq numbers; 0: there are too few for any.
 */
uint32_t keep_carry(const struct keep *keep, const struct mt_chunk_info *list, uint32_t index, uint32_t previous,
		    uint64_t after, struct mt_event *events);

#define KEEP_CARRY_MAX (2 + MT_SOURCE_COUNT + MT_LOSS_COUNT + KEEP_OPEN_MAX)

#endif
