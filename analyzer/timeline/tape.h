/*
 * tape.h - every move of bytes of a run, in order of time. The timeline is drawn from it.
 *
 * An event takes 24 bytes of a temporary file without a name: memory does not grow with the run. Events lie in blocks
 * of TAPE_BLOCK. Each block begins with a snapshot of the live set. The live set at any time needs one snapshot and
 * less than one block.
 *
 *     block 0            block 1            block 2
 *     {}  e e e e e e    {12,7} e e e e     {12,9,3} e e e ...
 *
 * One thread adds events. Other threads may read the events that the model has published (model.h): blocks and
 * snapshots never move.
 */
#ifndef MEMANA_TUI_TAPE_H
#define MEMANA_TUI_TAPE_H

#include <stddef.h>
#include <stdint.h>
#include "database/db.h"

#define TAPE_BLOCK 65536u
#define TAPE_BLOCKS_MAX 65536u /* 4.3 billion events */

/*
 * The owner of bytes: a site of the attribution (attribution.h), and the kind: the site's own bytes, or slack of the
 * caching allocator in the driver memory of the site.
 */
#define TAPE_CELL(site, slack) ((uint32_t)(site) << 1 | (uint32_t) !!(slack))
#define TAPE_SITE(cell) ((cell) >> 1)
#define TAPE_IS_SLACK(cell) ((cell)&1)

struct tape_event {
	int64_t time;      /* ns since the run began; never goes back */
	int64_t bytes;     /* added; removed, if negative */
	uint32_t more : 1; /* 1: the next event belongs to the same change; the state in between never existed */
	uint32_t cell : 31;
	int32_t count; /* allocations added; removed, if negative */
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
 * Adds an event. A count without bytes joins a recent event of the same cell and time. Returns 0, -MT_E_MEMORY,
 * -MT_E_LIMIT, or -MT_E_SYSTEM: no room for the temporary file, errno says why. Earlier events stay. A full disk may
 * raise SIGXFSZ: the caller should ignore or block it.
 */
int tape_add(struct tape *tape, int64_t time, uint32_t cell, int64_t bytes, int32_t count);

/* As tape_add, for a further part of the change of the event before, such as bytes that move between cells. */
int tape_add_part(struct tape *tape, int64_t time, uint32_t cell, int64_t bytes, int32_t count);

/* As tape_add, for an event of another tape. */
int tape_add_event(struct tape *tape, const struct tape_event *event);

/* Number of events so far. Newer events may still change: readers use the result of tape_settle. */
uint64_t tape_count(const struct tape *tape);

/* Makes all events so far final. Returns their number. */
uint64_t tape_settle(struct tape *tape);

/*
 * Returns event `index` (below the count) and the events after it in its block. *run: their number. A reader uses only
 * events that were published.
 */
const struct tape_event *tape_at(const struct tape *tape, uint64_t index, uint32_t *run);

/*
 * Gives back the memory of a block that was read. The file keeps the events, and a later read brings their pages back. A full block
 * needs no call: it has given its pages back.
 */
void tape_let_go(const struct tape *tape, uint32_t block);

/* Returns the live set before event `block` * TAPE_BLOCK, by cell. *count: number of cells. The event must exist. */
const struct tape_held *tape_snapshot(const struct tape *tape, uint32_t block, uint32_t *count);

/* Index of the first of the first `events` events that is later than `time`; `events`: none. */
uint64_t tape_find(const struct tape *tape, uint64_t events, int64_t time);

/* Number of complete changes at `time` among the first `events` events. */
uint64_t tape_changes(const struct tape *tape, uint64_t events, int64_t time);

/* The reverse: number of events up to this number of changes at `time`. Events before `time` always count. */
uint64_t tape_after(const struct tape *tape, uint64_t events, int64_t time, uint64_t changes);

/* Most bytes of a packed block: four numbers an event, each of at most 10 bytes. */
#define TAPE_PACKED_MAX ((size_t)TAPE_BLOCK * 40)

/*
 * Packs `count` events of one block for the database. Returns the number of bytes. An event has its time (as a
 * difference to the event before; the first to 0), cell and `more`, bytes, and count. Signs are in the lowest bit.
 */
size_t tape_pack(unsigned char *out, const struct tape_event *event, uint32_t count);

/*
 * Calls `take` for each event of the table `timeline`, in order, until it returns anything but 0. The caller checks times and cells. Returns 0, this
 * result, -MT_E_CORRUPT, -MT_E_MEMORY or an error of the database.
 */
int tape_rows(struct db *db, int (*take)(void *context, const struct tape_event *event), void *context);

/*
 * A tape with the bytes of one cell split into two cells.
 *
 * At the end some sites turn out to have had two kinds of allocations (attribution_split). Other threads may be reading
 * the old tape: it stays, and the split makes a new one.
 */

/* At any moment `from` keeps up to `bytes` and `count` of its holdings; `to` gets the rest. */
struct tape_share {
	uint32_t from, to; /* cells */
	uint64_t bytes, count;
};

/*
 * Sets *split to a settled tape with all events of `tape`, and with each `from` split. No cell may be in two shares.
 * The caller frees *split with tape_free. Returns 0 or an error of tape_add, with *split NULL.
 */
int tape_split(struct tape **split, const struct tape *tape, const struct tape_share *share, uint32_t shares);

#endif
