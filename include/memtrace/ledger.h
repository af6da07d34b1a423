/*
 * ledger.h - every byte of a device has one owner, at every event.
 *
 * The ledger takes events in file order and keeps the live allocations. A `tag` holds the bytes: a number that the
 * caller gives to each allocation (the analyzer's site; the writer gives 0). The ledger reports each move of bytes
 * between tags:
 *
 *     driver memory (region)                 cuMemAlloc 20 MiB                 tag A +20 MiB
 *     ┌──────────┬─────┬──────────────┐
 *     │ tensor B │  C  │  residual    │      tensors 12 + 3 MiB land in it     tag A -15, B +12, C +3
 *     └──────────┴─────┴──────────────┘
 *
 * "Held" is physical memory: linear allocations, and VMM handles that have a reference or a mapping. Tensors move bytes
 * inside of these. A tensor with unmapped pages is alive but not resident, and holds nothing. A tensor outside of all
 * known regions (CPU, or driver calls that were not recorded) holds its own bytes. Reserved address space, imported
 * memory and multicast objects hold nothing, because another allocation has their bytes. Managed memory is held by the
 * device of its allocation, wherever its pages are. Pinned and other host memory is counted apart from the devices. The
 * end of a context frees the allocations made in it. VMM memory has no context and stays.
 *
 * Invariant, checked by mt_ledger_check: sum of all moves per device == held bytes of the device. Cost: O(1) per tensor
 * event, O(log regions) per driver event, memory proportional to what is alive.
 */
#ifndef MEMTRACE_LEDGER_H
#define MEMTRACE_LEDGER_H

#include <stddef.h>
#include <stdint.h>
#include "memtrace/event.h"

#define MT_LEDGER_DEVICES 65 /* device ids 0..64; 0: allocations without a device */

/* A live allocation, handle or mapping. Pointers are valid until the next mt_ledger_event. */
struct mt_live {
	uint64_t addr; /* address, or handle for VMM_CREATE */
	uint64_t size;
	uint64_t seq, time; /* seq and time of the birth */
	uint64_t tag;       /* the caller's */
	uint64_t handle; /* VMM_CREATE: own handle; VMM_MAP: mapped handle; DRIVER_ALLOC: context that frees it, 0: none */
	uint64_t offset; /* VMM_MAP: offset in the handle; VMM_CREATE: references; imported DRIVER_ALLOC: number of
				openings; tensor: bytes outside of regions that it does not hold */
	uint32_t stack, thread, device, entry;
	uint32_t kind;        /* TENSOR_ALLOC, DRIVER_ALLOC, VMM_CREATE or VMM_MAP */
	uint32_t flags;       /* as in the event */
	uint32_t phase, step; /* at birth, the caller's */
	int resident;         /* tensor: 1, all its bytes are held by it */
	int tensors_seen;     /* driver memory: 1, a tensor has been inside; the rest is slack of the allocator */
};

/* The effects of one event. */
struct mt_ledger_change {
	struct mt_live *born;       /* NULL: nothing */
	const struct mt_live *died; /* copies of what died, valid until the next mt_ledger_event; NULL: nothing */
	size_t died_count; /* more than 1 after an unmapped range, the end of a context, or a free that was lost */
	int unknown;       /* a free of something that was never seen */
	int total_known;   /* 1: the event has the allocator's total, and the ledger compared it with its own */
	int total_differs; /* 1: the totals differ */
};

struct mt_ledger;

/*
 * Reports a move of `bytes` to (or, below 0, from) `tag`, before mt_ledger_event returns. May be NULL. `slack` 1: the
 * bytes are driver memory around tensors that no tensor fills.
 */
typedef void mt_ledger_move(void *context, uint32_t device, uint64_t tag, int slack, int64_t bytes);

struct mt_ledger *mt_ledger_new(mt_ledger_move *move, void *context); /* NULL: out of memory */

/*
 * Reports that pages of a live tensor came or went. `bytes`: held by the tensor now. The ledger also calls it at the
 * birth of a tensor that does not hold all of its bytes or comes out of a checkpoint, and never at a death.
 */
typedef void mt_ledger_reside(void *context, const struct mt_live *tensor, uint64_t bytes);

void mt_ledger_watch(struct mt_ledger *ledger, mt_ledger_reside *reside, void *context);
void mt_ledger_free(struct mt_ledger *ledger);

/*
 * Applies one event. A new allocation keeps `tag`, `phase` and `step`. The LIVE events of a checkpoint build the whole
 * live set: call mt_ledger_clear before them. A caller that reads from the start ignores checkpoints. 0, or
 * -MT_E_MEMORY: the ledger is unchanged.
 */
int mt_ledger_event(struct mt_ledger *ledger, const struct mt_event *event, uint64_t tag, uint32_t phase, uint32_t step,
		    struct mt_ledger_change *change);
/* Empties the ledger. Moves report the end of all held bytes. */
void mt_ledger_clear(struct mt_ledger *ledger);

/*
 * Fills in the LIVE event that makes mt_ledger_event build `live` anew, kind included. `reserved` is tensors_seen.
 * Events in the order of mt_ledger_each rebuild the same owners.
 */
void mt_live_event(const struct mt_live *live, struct mt_event *event);

/* Bytes now. held: physical memory (see above); tensors: bytes of live tensors, resident or not. */
uint64_t mt_ledger_held(const struct mt_ledger *ledger, uint32_t device);
uint64_t mt_ledger_tensors(const struct mt_ledger *ledger, uint32_t device);
uint64_t mt_ledger_nonresident(const struct mt_ledger *ledger, uint32_t device);
uint64_t mt_ledger_slack(const struct mt_ledger *ledger, uint32_t device);
uint64_t mt_ledger_pinned(const struct mt_ledger *ledger);

/* Calls `visit` for each live allocation, in any order. Stops at a result other than 0 and returns it. */
int mt_ledger_each(const struct mt_ledger *ledger, int (*visit)(void *context, const struct mt_live *live),
		   void *context);
size_t mt_ledger_count(const struct mt_ledger *ledger);

/* Recomputes all figures from the live set. 1: they agree; 0: they differ. Slow: for tests and `memana verify`. */
int mt_ledger_check(const struct mt_ledger *ledger);

#endif
