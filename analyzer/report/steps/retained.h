/*
 * retained.h - memory that outlives the part of the run that made it: a step, a micro-batch, a phase.
 *
 * growth.h decides for each place whether it grows. Parts are
 *
 *   steps           as they ended. Kept: what a step made that is alive at the end of the last one.
 *   micro-batches   of one step: each begins with a forward that does not follow a forward. Kept: what a micro-batch
 *                   made that is alive when the last one begins. An evaluation, which has no backward: its batches.
 *                   Memory in flight in a pipeline is no growth: as much goes with each as comes.
 *
 * Fewer bytes than a hundred thousandth of the device's peak, or than 4 KiB, are no growth.
 */
#ifndef MEMANA_RETAINED_H
#define MEMANA_RETAINED_H

#include <stddef.h>
#include <stdint.h>
#include "base/text.h"
#include "database/db.h"
#include "growth.h"
#include "memtrace/phase.h"

#define RETAINED_PARTS_MAX (1u << 20) /* largest number of steps of a run; the newest ones count */

/* Memory that was alive in one phase and allocated in another one. */
struct retained_crossing {
	int64_t device, process, pid, node; /* device, process: ids; process 0: all */
	int64_t number;                     /* number of the device, as people count */
	const char *device_kind;            /* "cuda", "cpu" */
	int64_t first_node;                 /* see finding.h */
	const char *from, *to, *category;   /* category NULL: the sum over all places */
	uint64_t bytes, count;
};

struct retained_crossings {
	struct retained_crossing *crossing; /* largest first */
	size_t count, room;
};

struct retained_question {
	const char *from, *to; /* words of MT_PHASE_LIST; NULL: any phase */
	int64_t step;          /* 0: all steps */
};

struct retained {
	struct db *db;                     /* the database of the question */
	struct growth growth;              /* growth by steps */
	struct growth_list steps, batches; /* places that grow by steps; by micro-batches; largest first */
	struct growth_table batch_table;   /* `batches`, with one row for each place */
	struct retained_crossings phases;  /* sums for each pair of phases */
	struct retained_crossings places;  /* one row for each place, if the question names a phase */
	/* for each place: made in a step, alive at the end of the last one, and of a kind that no later step needs; `to` is `from` */
	struct retained_crossings outlived;
	uint64_t step_count, batch_count; /* largest numbers: of ended steps in a process; of micro-batches in a step */
	uint64_t stays[MT_CATEGORY_COUNT]; /* by category: made up to the first step, alive at the last one's end */
	uint64_t stays_bytes;              /* sum of `stays` */
	uint64_t later_bytes;              /* made later, alive at the last step's end, and no growth */
	uint64_t asleep_bytes;             /* allocated at the last step's end and not resident; in no other number */
	struct sentence lost;              /* answer_say_lost; "": nothing is lost */
	uint64_t devices;                  /* number of devices that have a peak of a phase */
};

/*
 * Whether a process evaluates. Its batches follow from the order of single allocations. A database of sums (LOAD_SUMS) does not have this order.
 * Returns 1, 0, or -MT_E_x.
 */
int retained_needs_lives(struct db *db);

/* Loads the answer. Returns 0 or -MT_E_x. The caller releases `retained`, also after an error. */
int retained_load(struct retained *retained, struct db *db, const struct retained_question *question);
void retained_release(struct retained *retained);

/* Whether the step ended, or allocated memory before the recording ended. Returns 1, 0, or -MT_E_x. */
int retained_has_step(struct db *db, int64_t step);

/* The verdict of `memana retained` and of the timeline's list. */

/* Returns the verdict; `question` as for retained_load. The database has the names of places. */
struct sentence retained_verdict(const struct retained *retained, const struct retained_question *question);

/* Says " on GPU 1" if the run has several devices. */
void retained_say_device(struct sentence *sentence, const struct retained *retained,
			 const struct retained_crossing *crossing);

#endif
