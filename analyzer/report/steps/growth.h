/*
 * growth.h - decides whether a run grows, at which places, and by how much. All reports use these functions.
 *
 * The life of a program is cut into parts: steps, or the micro-batches of one step (retained.h). Each part has two
 * figures for a place. Kept: bytes that were allocated in the part and are alive after the last part. Held: bytes of
 * the place at the end of the part.
 *
 *                      made and kept        held
 *   weights            8 0 0 0 0 0          8 8 8 8 8 8     does not grow
 *   output, replaced   0 0 0 0 0 3          3 3 3 3 3 3     does not grow: only the newest one is alive
 *   the last 3 steps   0 0 0 3 3 3          3 6 9 9 9 9     does not grow any more: old bytes are freed
 *   a cache, full      2 2 2 2 0 0          2 4 6 8 8 8     does not grow any more
 *   a leak             2 2 2 2 2 2          2 4 6 8 10 12   grows
 *
 * A place is a line of the user's code in one phase of one process on one device. A place grows when
 *  - it kept more than a threshold in GROWTH_PARTS parts or more. Gaps between them are at most a GROWTH_GAP-th of all
 *    parts. Equal gaps may be longer, if there are more than GROWTH_PARTS such parts. The last part does not count,
 *    because its bytes may still be freed. It counts if the first part counts;
 *  - its held bytes rose over these parts by at least half of the kept bytes: the other bytes replaced freed ones;
 *  - its held bytes rose in the same way over the last GROWTH_LATE-th of the parts, so the growth has not ended.
 * By steps, bytes that are freed by the end of the next step (the last output) are not held. The threshold is a hundred
 * thousandth of the device's peak, at least 4 KiB; of more than a hundred steps, in proportion less.
 *
 * `bytes` is the sum of the kept bytes of these parts and of the last part, without a first step that sets things up.
 * `each` is `bytes` divided by growth_covers(). A process, a GPU and the run grow by the sums over their places.
 */
#ifndef MEMANA_GROWTH_H
#define MEMANA_GROWTH_H

#include <stddef.h>
#include <stdint.h>
#include "base/column.h"
#include "base/json.h"
#include "base/text.h"
#include "database/db.h"
#include "query/callstack.h"
#include "report/finding.h"

#define GROWTH_PARTS 3
#define GROWTH_LATE 4
#define GROWTH_GAP 8

/* The advice for a run with too few steps, in every report. */
#define GROWTH_RECORD_MORE ": record four or more steps to see whether the run grows."

struct growth_run {
	uint32_t first, parts; /* first part, from 0; number of parts, gaps included */
	uint32_t growing;      /* number of parts, gaps left out */
	uint64_t kept, bytes;  /* bytes kept of these parts; rise of the held bytes over them */
	uint64_t most;         /* most bytes kept of one part */
};

/*
 * Judges a place. `kept` and `held` have `parts` figures in bytes. Returns 1: the place grows, and `run` has the
 * beginning and the bytes; else 0.
 */
int growth_find(const uint64_t *kept, const uint64_t *held, uint32_t parts, uint64_t threshold, struct growth_run *run);

/* Number of parts that the run's bytes are for: the gap after the newest of them is like the gaps before it. */
uint32_t growth_covers(const struct growth_run *run);

/* The figures of one place, part by part, while its rows come in. */
struct growth_parts {
	uint64_t *kept, *held, *count; /* held: differences from part to part; they may wrap around */
	uint32_t parts, room;
	uint64_t threshold;
};

/* Sets all parts to 0. Returns 0 or -MT_E_MEMORY. Call growth_parts_release() at the end. */
int growth_parts_begin(struct growth_parts *all, uint32_t parts, uint64_t threshold);
void growth_parts_release(struct growth_parts *all);

/* growth_find() after all rows are in. Call it once. */
int growth_parts_find(struct growth_parts *all, struct growth_run *run);

/* The names of a place, for people. */
struct growth_name {
	struct finding_place at;
	char module[FINDING_MODULE_MAX]; /* module that keeps most, layers as one: "layers.*"; "": none */
	uint32_t modules;                /* number of modules that keep some; "outside any module" counts as one */
	struct callstack stack;          /* the largest process's stack, filled by growth_stacks */
	size_t user;                     /* frame that names the place in `stack` */
};

/* A place that grows, in one process on one device. */
struct growth_place {
	int64_t device, process, pid, rank, node; /* ids; rank -1: none; node: one of its stacks, 0: none */
	int64_t first_node;                       /* see finding.h */
	const char *phase, *category;             /* static words; category: of most of its bytes */
	uint64_t bytes, each;           /* see above; by micro-batches: for the worst step, until its last one begins */
	uint64_t replaced;              /* other kept bytes of these parts, which replaced freed memory */
	uint64_t count;                 /* number of allocations; only by steps */
	uint32_t parts, of;             /* number of growing parts; number of all parts */
	uint32_t first;                 /* first growing part: a step, or a micro-batch counted from 1 */
	uint32_t steps, steps_of;       /* by micro-batches: number of steps in which the place grew; of all steps */
	int64_t step;                   /* by micro-batches: the worst step */
	const struct growth_name *name; /* filled in a table; else NULL */
};

struct growth_list {
	struct growth_place *place;
	size_t count, room;
};

/* A place that grows, over all processes and devices. */
struct growth_row {
	const struct growth_place *most; /* the process that keeps most */
	uint64_t bytes, each, allocations;
	const struct growth_place *place; /* all its processes: `count` entries of the table */
	size_t count;
};

struct stack_tree;

/* The rows of places in several processes. */
struct growth_table {
	struct growth_list places; /* sorted by place, then by process */
	struct growth_row *row;    /* largest first */
	size_t rows;
	struct growth_name *name; /* one for each row, sorted by place */
	struct stack_tree *stacks;
};

/*
 * Makes a table from a copy of the list, with names; call finding_same_places() before. Returns 0 or -MT_E_x. The caller releases `table`, also after
 * an error.
 */
int growth_table_make(struct growth_table *table, const struct growth_list *list, struct db *db);
void growth_table_release(struct growth_table *table);

/* Makes the rows from the places in the table. Returns 0 or -MT_E_x. */
int growth_table_fill(struct growth_table *table, struct db *db);

/* Loads the stacks of the first `limit` rows. Returns 0 or -MT_E_x. */
int growth_table_stacks(struct growth_table *table, struct db *db, size_t limit);

enum growth_state { GROWTH_UNKNOWN, GROWTH_STEADY, GROWTH_GROWING };

/* One process on one device. */
struct growth_lane {
	int64_t process, device; /* ids */
	uint64_t bytes, each;
	enum growth_state state; /* unknown: too few steps ended */
};

/* A device that grows, with the sums over its processes. */
struct growth_device {
	int64_t device, number;
	char kind[8];
	uint64_t bytes, each;
	int64_t left; /* number of steps until the device is full; -1: unknown, or the run has ended */
	size_t processes;
};

struct growth {
	struct growth_table table;
	struct growth_lane *lane;     /* sorted by process, then by device */
	struct growth_device *device; /* fastest growth first */
	size_t lanes, devices;
	enum growth_state state; /* state of the run */
};

/* Loads the growth of a run. The table `place` must be filled. Returns 0 or -MT_E_x. The caller releases `growth`, also after an error. */
int growth_load(struct growth *growth, struct db *db);
void growth_release(struct growth *growth);

/* Returns the lane; NULL: the process has no memory on the device. */
const struct growth_lane *growth_lane(const struct growth *growth, int64_t process, int64_t device);

/* Returns "steady", "growing" or "unknown". */
const char *growth_state_word(enum growth_state state);

/* ---- growth_table.c ---- */

/* Adds a copy of `place`. Returns the entry in the list; NULL: out of memory. */
struct growth_place *growth_list_add(struct growth_list *list, const struct growth_place *place);

/* ---- growth_words.c ---- */

/*
 * Says the headline: "Growing: forward (train.py:20) keeps 2.0 MiB more with every step (steps 1 to 6), 12.0 MiB so far, on GPU 0 in 8 processes. GPU
 * 0 is full after 538 more steps." It is about `device` (id); 0: about the device that grows fastest. Says nothing if no memory grows.
 */
void growth_say(struct sentence *sentence, const struct growth *growth, int64_t device);

/* Says the processes of a row: "rank 0", "ranks 0 to 7", "pids 12 and 15". */
void growth_say_processes(struct sentence *sentence, const struct growth_row *row);

/* Says "forward_step (actor.py:312) in layers.*", or "code without a stack". */
void growth_say_name(struct sentence *sentence, const struct growth_name *name);

/* Says what to do, after growth_say; or, if no place grows by steps, after a sentence about micro-batches. */
void growth_say_remedy(struct sentence *sentence, const struct growth_list *steps, const struct growth_list *batches);

extern const struct column_table growth_columns, growth_device_columns, kept_columns; /* kept_columns: with stacks */

/* Prints the table "What grows" of the first `limit` rows. Prints nothing if no memory grows. */
void growth_print(const struct text *text, const struct growth *growth, size_t limit);

/* Makes a row from one place. */
struct growth_row growth_row_of(const struct growth_place *place);

/* Writes the object "growth", the same in all reports, with at most `limit` places. */
void growth_json(struct doc *doc, const struct growth *growth, size_t limit);

#endif
