/*
 * retained.h - what outlives the part of the run that made it: a step, a micro-batch, a phase.
 *
 * Growth is judged place by place (finding.h) by the rule of growth_find. Parts are
 *
 *   steps           as they ended. Kept: what a step made that is alive at the end of the last one.
 *   micro-batches   of one step: each begins with a forward that does not follow a forward. Kept: what a micro-batch
 *                   made that is alive when the last one begins. An evaluation, which has no backward: its batches.
 *                   Memory in flight in a pipeline is no growth: as much goes with each as comes.
 *
 * and the threshold is a hundred thousandth of the device's peak, at least 4 KiB.
 */
#ifndef MEMANA_RETAINED_H
#define MEMANA_RETAINED_H

#include <stddef.h>
#include <stdint.h>
#include "base/text.h"
#include "database/db.h"
#include "memtrace/phase.h"

#define RETAINED_STEPS_ENOUGH 4       /* to tell growth: three that can be judged (GROWTH_PARTS), and the last */
#define RETAINED_PARTS_MAX (1u << 20) /* steps of a run, the newest ones */

/* A place that grows. */
struct retained_growth {
	int64_t device, process, pid, node; /* ids; one of its stacks, 0: none */
	int64_t spot;                       /* see finding.h */
	const char *phase, *category;       /* static words */
	uint64_t bytes;           /* more by the run of parts that was found: steps; by the worst step: micro-batches */
	uint64_t replaced;        /* kept of these parts beside that, for as much that went meanwhile */
	uint64_t each;            /* bytes of a part: the mean, without parts that set things up, or hold two */
	uint32_t parts, of;       /* parts in a row, of `of`; of the worst step */
	uint32_t first;           /* the first of them: a step, or a micro-batch from 1 */
	uint32_t steps, steps_of; /* micro-batches: steps in which it grew, of `steps_of` */
	int64_t step;             /* micro-batches: the worst step */
};

struct retained_list {
	struct retained_growth *growth; /* largest first */
	size_t count, room;
};

/* The memory alive in one phase and born in another. */
struct retained_crossing {
	int64_t device, pid, node;
	int64_t number;                   /* number of the device, as people count them */
	const char *device_kind;          /* "cuda", "cpu" */
	int64_t spot;                     /* see finding.h */
	const char *from, *to, *category; /* category NULL: a sum over all places */
	uint64_t bytes, count;
};

struct retained_crossings {
	struct retained_crossing *crossing; /* largest first */
	size_t count, room;
};

struct retained_question {
	const char *from, *to; /* phases, NULL: any; words of MT_PHASE_LIST */
	int64_t step;          /* 0: all */
};

struct retained {
	struct db *db; /* database that was asked */
	struct retained_list steps, batches;
	struct retained_crossings phases;   /* sums by pair of phases */
	struct retained_crossings places;   /* by place, when the question names a phase */
	struct retained_crossings outlived; /* by place: made in a step, alive at the end of the last one, and of a kind
					       that no later step needs; `to` is `from` */
	uint64_t step_count, batch_count;   /* steps that ended in one process; micro-batches of a step, the most */
	uint64_t stays[MT_CATEGORY_COUNT];  /* alive at the end of the last step since its first, by category */
	uint64_t stays_bytes, later_bytes;  /* their sum; alive there and made later, but no growth */
	uint64_t asleep_bytes;              /* allocated there, too, but its pages are not there: in no other figure */
	uint64_t devices;                   /* on which a phase peaked */
};

/* Asks the database. 0 or -MT_E_x. Release in any case. */
int retained_load(struct retained *retained, struct db *db, const struct retained_question *question);
void retained_release(struct retained *retained);

/* 1: a step that ended, or one that made something before the recording ended; 0: neither; or -MT_E_x. */
int retained_has_step(struct db *db, int64_t step);

/* The verdict of `memana retained` and of the timeline's list. */

/* `question`: what was asked with retained_load; the database is asked for the names of places. */
struct sentence retained_verdict(const struct retained *retained, const struct retained_question *question);

/* " on GPU 1", where there are several. */
void retained_say_device(struct sentence *sentence, const struct retained *retained,
			 const struct retained_crossing *crossing);

/*
 * Tells what grows from what stays and from what is replaced. Pure arithmetic, tested on its own.
 *
 * The life of a program is cut into parts (steps, or the micro-batches of one step). For each part two figures of one
 * place are known: what it made there that is still alive at the end, and what it holds at the end of the part.
 *
 *                      made and kept        held
 *   weights            8 0 0 0 0 0          8 8 8 8 8 8     stays
 *   cache, replaced    0 0 0 0 0 3          3 3 3 3 3 3     the newest is always there
 *   the last 3 steps   0 0 0 3 3 3          3 6 9 9 9 9     was kept, but as much went
 *   retained           2 2 2 2 2 2          2 4 6 8 10 12   grows
 *
 * A place grows when it kept more than a threshold of at least GROWTH_PARTS parts in a row, the last part of all left
 * out (what is alive at its end may still go), up to the end, or nearly, and holds at least half of that more than before those parts.
 * By what it holds more, and not by what it kept: the rest took the place of what went.
 */

#define GROWTH_PARTS 3
#define GROWTH_LATE 4 /* growth ended in the last 1 / GROWTH_LATE of the parts: else it grows no more */

struct growth {
	uint32_t first, parts; /* the longest such run: its first part, from 0, and how many */
	uint64_t kept, bytes;  /* those that were kept; and the bytes held more than before them */
};

/*
 * `kept` and `held` have `parts` figures, bytes. 1: it grows, and `growth` says since when and by how much; 0: it does not.
 */
int growth_find(const uint64_t *kept, const uint64_t *held, uint32_t parts, uint64_t threshold, struct growth *growth);

#endif
