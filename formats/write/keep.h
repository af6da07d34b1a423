/*
 * keep.h - the flight recorder (mt_writer_options.keep): what a writer has to remember of its chunks to let old ones
 * go, and what has to stay.
 *
 *     PROCESS DEFS EVENTS EVENTS CHECKPOINT EVENTS CHECKPOINT EVENTS EVENTS CHECKPOINT EVENTS EVENTS CHECKPOINT EVENTS
 *                                └──── window of an OOM ─────┘                                       └──── newest ───┘
 *     becomes
 *     PROCESS DEFS carry CHECKPOINT EVENTS CHECKPOINT EVENTS carry CHECKPOINT EVENTS
 *
 * A carry is an EVENTS chunk: CUT, then the facts that a reader needs about the events that are gone: the step that
 * ended last, the states of the sources, losses, and the ranges and phases that are still open.
 *
 * A window is the time of an error: from the checkpoint before the second step before the out-of-memory error to the
 * end of its step, at most a quarter of the file. The first and the newest one stay. Errors of the framework's
 * allocator count; errors of the driver only as long as there is none of those, for allocators free and try again.
 */
#ifndef FORMATS_KEEP_H
#define FORMATS_KEEP_H

#include <stdint.h>
#include "memtrace/defs.h"
#include "memtrace/event.h"
#include "memtrace/reader.h"

#define KEEP_OPEN_MAX 256u /* ranges that are open at once; deeper ones are not carried */
#define KEEP_WINDOWS 2u

/* The facts at a checkpoint, to be said if everything before it is gone. */
struct keep_state {
	struct mt_event step;                    /* the newest STEP; kind 0: none */
	struct mt_event source[MT_SOURCE_COUNT]; /* the newest of each; kind 0: none */
	struct mt_event open[KEEP_OPEN_MAX];     /* events that opened the ranges, phases and windows still open */
	uint32_t opens;
};

/* Beside an entry of the writer's chunk list. */
struct keep_chunk {
	uint64_t number;              /* number of chunks since the beginning: does not change when others go */
	uint64_t cut;                 /* carry: events that it stands for */
	uint64_t lost[MT_LOSS_COUNT]; /* LOST of its events */
	uint32_t events;              /* without those of a carry */
	uint32_t step;                /* running at its end */
	uint32_t oom_step;            /* running at its newest out-of-memory error */
	uint8_t oom;                  /* how bad that was: 0: there was none */
	uint8_t carry;
	struct keep_state *state; /* checkpoints: owned; NULL when memory was out, then nothing begins there */
};

struct keep_chunks {
	struct keep_chunk *item;
	uint32_t count, room;
};

struct keep_window {
	uint8_t rank; /* enum keep_rank; 0: there is none */
	uint8_t open; /* its step has not ended yet */
	uint32_t step;
	uint64_t first, last; /* numbers of chunks */
	uint8_t *named;       /* by string id: it is named inside; NULL: as long as it is open */
	uint32_t strings;
};

struct keep {
	uint64_t bytes;                          /* bytes of file that are wanted */
	uint64_t next_try;                       /* no rotation before the file is so large */
	uint64_t number;                         /* number of the chunk that is being filled */
	int error;                               /* error of the newest rotation */
	struct keep_chunks chunks;               /* beside the writer's list */
	struct keep_chunk now;                   /* the chunk that is being filled */
	struct keep_state state;                 /* after the newest event */
	struct keep_state *checkpoint;           /* the state at a checkpoint that is not written yet */
	struct keep_window window[KEEP_WINDOWS]; /* the first, the newest */
	uint64_t *used;                          /* by string id: number + 1 of the newest chunk whose events name it */
	uint32_t used_room;
};

/* Chunks that stay: indexes into the list. */
struct keep_range {
	uint32_t first, last;
};

#define KEEP_RANGES (KEEP_WINDOWS + 1)

/* 0 or -MT_E_MEMORY. */
int keep_chunks_add(struct keep_chunks *chunks, const struct keep_chunk *chunk);

/* NULL: out of memory. */
struct keep *keep_new(uint64_t bytes);
void keep_free(struct keep *keep);

/* After 0 there is room for what the next keep_event has to remember. -MT_E_MEMORY. */
int keep_reserve(struct keep *keep, const struct mt_event *event);

/* An event of the chunk that is being filled; one that is not in the file. */
void keep_event(struct keep *keep, const struct mt_event *event);
void keep_skip(struct keep *keep, const struct mt_event *event);

/* The next checkpoint will show what is alive now. */
void keep_checkpoint(struct keep *keep);

/*
 * Chunks were added to the list: those behind the ones known, at most one of them with events. Without memory to
 * remember them nothing more can be let go: keep->error says so.
 */
void keep_written(struct keep *keep, const struct mt_chunk_info *list, uint32_t count);

/* Events that are gone. */
uint64_t keep_cut(const struct keep *keep);

/* The parts that stay, in order, from a file of these chunks; how many ranges there are. `defs`: bytes of the
 * definitions. */
uint32_t keep_plan(const struct keep *keep, const struct mt_chunk_info *list, uint64_t defs,
		   struct keep_range ranges[KEEP_RANGES]);

/* By string id, whether a chunk in one of the ranges names it, or something that is open. `count` ids from 0 on. */
void keep_mark_strings(const struct keep *keep, const struct keep_range *ranges, uint32_t count_ranges, uint8_t *wanted,
		       uint32_t count);

/* How many events go when the chunks between `previous` and `index` do. */
uint64_t keep_gone(const struct keep *keep, uint32_t previous, uint32_t index);

/*
 * The events of the carry before checkpoint `index`, when the chunks between `previous` (its last seq: `after`) and it
 * are gone. At most as many as there are numbers for; 0: not even for the most important ones.
 */
uint32_t keep_carry(const struct keep *keep, const struct mt_chunk_info *list, uint32_t index, uint32_t previous,
		    uint64_t after, struct mt_event *events);

#define KEEP_CARRY_MAX (2 + MT_SOURCE_COUNT + MT_LOSS_COUNT + KEEP_OPEN_MAX)

#endif
