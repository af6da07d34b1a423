/*
 * tape.h - every move of bytes of a run, in order of time: what the timeline is drawn from.
 *
 * 24 bytes an event, in a temporary file that has no name, so that memory does not grow with the run. Events lie in
 * blocks of TAPE_BLOCK. Each block begins with a snapshot of what was alive, so "what was alive at T" needs one
 * snapshot and less than one block, wherever T is.
 *
 *     block 0            block 1            block 2
 *     {}  e e e e e e    {12,7} e e e e     {12,9,3} e e e ...
 *
 * One thread adds, others may read what has been made known to them (model.h): neither blocks nor snapshots move.
 */
#ifndef MEMANA_TUI_TAPE_H
#define MEMANA_TUI_TAPE_H

#include <stddef.h>
#include <stdint.h>

#define TAPE_BLOCK 65536u
#define TAPE_BLOCKS_MAX 65536u /* 4.3 billion events */

/*
 * The owner of bytes: a site of the attribution (attribution.h), and whether they are plainly its own or slack of the
 * caching allocator in the driver memory that it took.
 */
#define TAPE_CELL(site, slack) ((uint32_t)(site) << 1 | (uint32_t) !!(slack))
#define TAPE_SITE(cell) ((cell) >> 1)
#define TAPE_IS_SLACK(cell) ((cell)&1)

struct tape_event {
	int64_t time;      /* ns since the run began; never goes back */
	int64_t bytes;     /* more, or fewer */
	uint32_t more : 1; /* the next event is a part of the same change: what holds between the two never was */
	uint32_t cell : 31;
	int32_t count; /* allocations more, or fewer */
};

/* A cell's bytes at the beginning of a block. */
struct tape_held {
	uint32_t cell;
	uint64_t bytes, count;
};

struct tape;

struct tape *tape_new(void); /* NULL: out of memory */
void tape_free(struct tape *tape);

/*
 * Adds an event. A count without bytes is joined to an event shortly before it where that is of the same cell and time.
 * 0, -MT_E_MEMORY, -MT_E_LIMIT or -MT_E_SYSTEM (no room for the temporary file; errno says why); what was added before
 * stays. A full disk may raise SIGXFSZ, which should be ignored or blocked.
 */
int tape_add(struct tape *tape, int64_t time, uint32_t cell, int64_t bytes, int32_t count);

/* The same, of a part of the change that the event before began: bytes that change hands are such. */
int tape_add_part(struct tape *tape, int64_t time, uint32_t cell, int64_t bytes, int32_t count);

/* The same, of an event as it is on another tape. */
int tape_add_event(struct tape *tape, const struct tape_event *event);

/* Events so far. Newer ones may still change: a reader is told of what tape_settle returned. */
uint64_t tape_count(const struct tape *tape);

/* Events that were added are final from now on. Events so far. */
uint64_t tape_settle(struct tape *tape);

/*
 * Event `index` (below the count) and those after it in its block: *run of them, up to the end of the block. A reader
 * sees only the events that it was told about.
 */
const struct tape_event *tape_at(const struct tape *tape, uint64_t index, uint32_t *run);

/* The live set before event `block` * TAPE_BLOCK, by cell; *count of them. The event has been added. */
const struct tape_held *tape_snapshot(const struct tape *tape, uint32_t block, uint32_t *count);

/* The first of the first `events` events that is later than `time`; `events`: none is. */
uint64_t tape_find(const struct tape *tape, uint64_t events, int64_t time);

/* How many whole changes at `time` are among the first `events` events. */
uint64_t tape_changes(const struct tape *tape, uint64_t events, int64_t time);

/* The reverse: events up to and with this number of changes at `time`; those before it count in any case. */
uint64_t tape_after(const struct tape *tape, uint64_t events, int64_t time, uint64_t changes);

/* Bytes that a packed block may need: four numbers an event, each of at most 10 bytes. */
#define TAPE_PACKED_MAX ((size_t)TAPE_BLOCK * 40)

/*
 * `count` events of one block as bytes, for the database: how many. Each event has the time (the difference to the
 * one before, the first to 0), cell and `more`, bytes, count; signs lie in the lowest bit.
 */
size_t tape_pack(unsigned char *out, const struct tape_event *event, uint32_t count);

/*
 * The reverse: the `count` (at most TAPE_BLOCK) events of a block, from bytes of unknown origin. 0, or -MT_E_CORRUPT:
 * the bytes end too early, or time goes back. Only the caller knows the cells.
 */
int tape_unpack(struct tape_event *event, uint32_t count, const unsigned char *bytes, size_t size);

/*
 * A tape on which bytes that were of one cell are of two.
 *
 * Some sites turn out at the end to have held two kinds of things (attribution_split). A tape's old part stays as it
 * is, for others may be reading it: there is another one then.
 */

/* `from` keeps that much of what it holds at any moment, or all if it is less; the rest is of `to`. */
struct tape_share {
	uint32_t from, to; /* cells */
	uint64_t bytes, count;
};

/*
 * *split: all events of the tape, settled, with each `from` shared. No cell is in two shares. The caller's to free with
 * tape_free. 0 or an error of tape_add; *split is NULL then.
 */
int tape_split(struct tape **split, const struct tape *tape, const struct tape_share *share, uint32_t shares);

#endif
