/*
 * ledger.h - every byte of a device has one owner, at every event.
 *
 * Feeds on events in file order and keeps what is alive. Bytes are held on behalf of a `tag`, a number the caller
 * gives to each allocation (the analyzer's site; the writer gives 0). Whenever bytes change hands the ledger says so:
 *
 *     driver memory (region)                 cuMemAlloc 20 MiB                 tag A +20 MiB
 *     ┌──────────┬─────┬──────────────┐
 *     │ tensor B │  C  │  residual    │      tensors 12 + 3 MiB land in it     tag A -15, B +12, C +3
 *     └──────────┴─────┴──────────────┘
 *
 * "Held" is physical memory: linear allocations, VMM handles that have a reference or a mapping; tensors only move
 * bytes inside. A tensor whose pages are unmapped is alive but not resident and holds nothing. A tensor outside every
 * known region (driver calls not recorded, CPU) holds its own bytes. Reserved address space, imported memory and
 * multicast objects hold nothing: their bytes are somebody else's. Managed memory is held by the device it was asked
 * for, wherever its pages are. Pinned and other host memory is counted apart, never on the device. A context that goes
 * takes along what was allocated in it, but no VMM memory: that has no context.
 *
 * Invariant, checked by mt_ledger_check: sum of all moves per device == held bytes of the device.
 * Cost: O(1) per tensor event, O(log regions) per driver event, memory proportional to what is alive.
 */
#ifndef MEMTRACE_LEDGER_H
#define MEMTRACE_LEDGER_H

#include <stddef.h>
#include <stdint.h>
#include "memtrace/event.h"

#define MT_LEDGER_DEVICES 65 /* device ids 0..64; 0 collects what has no device */

/* One live thing. Pointers to it are valid until the next mt_ledger_event. */
struct mt_live {
	uint64_t addr; /* address, or handle for VMM_CREATE */
	uint64_t size;
	uint64_t seq, time; /* at its birth */
	uint64_t tag;       /* the caller's */
	uint64_t handle;    /* VMM_CREATE: itself; VMM_MAP: of what; DRIVER_ALLOC: the context it goes with, 0: none */
	uint64_t offset;    /* VMM_MAP: into the handle; VMM_CREATE: references; DRIVER_ALLOC, imported: how often it is
				open; tensor: bytes not held outside regions */
	uint32_t stack, thread, device, entry;
	uint32_t kind;        /* TENSOR_ALLOC, DRIVER_ALLOC, VMM_CREATE or VMM_MAP */
	uint32_t flags;       /* as in the event */
	uint32_t phase, step; /* at birth, the caller's */
	int resident;         /* tensor: all its bytes are held (by it) */
	int tensors_seen;     /* driver memory: a tensor has been inside, so the residual is allocator slack */
};

/* The effects of one event. */
struct mt_ledger_change {
	struct mt_live *born;       /* NULL: nothing */
	const struct mt_live *died; /* copies of what died, valid until the next mt_ledger_event; NULL: nothing */
	size_t died_count;          /* several: an unmapped range, a context, memory that a missed free left behind */
	int unknown;                /* a free of something that was never seen */
	int total_known;            /* the event has the allocator's total: it was compared with ours */
	int total_differs;          /* the allocator's own total is not ours */
};

struct mt_ledger;

/* `move` (may be NULL) is called for every change of hands, before mt_ledger_event returns. `slack` 1: these are bytes of
 * driver memory that tensors live in but do not fill. */
typedef void mt_ledger_move(void *context, uint32_t device, uint64_t tag, int slack, int64_t bytes);

struct mt_ledger *mt_ledger_new(mt_ledger_move *move, void *context); /* NULL: out of memory */

/*
 * Called when a live tensor holds more or fewer bytes than it did: its pages came or went. At its birth only if it does
 * not hold all of its bytes, or comes out of a checkpoint; never at its death. `bytes`: that it holds now.
 */
typedef void mt_ledger_reside(void *context, const struct mt_live *tensor, uint64_t bytes);

void mt_ledger_watch(struct mt_ledger *ledger, mt_ledger_reside *reside, void *context);
void mt_ledger_free(struct mt_ledger *ledger);

/*
 * Applies one event. `tag`, `phase` and `step` are kept with what is born. LIVE events (checkpoints) build the set
 * anew: call mt_ledger_clear first, or ignore checkpoints when reading from the start.
 * 0, or -MT_E_MEMORY (nothing was changed).
 */
int mt_ledger_event(struct mt_ledger *ledger, const struct mt_event *event, uint64_t tag, uint32_t phase, uint32_t step,
		    struct mt_ledger_change *change);
/* Forgets everything; the moves tell that nothing is held any more. */
void mt_ledger_clear(struct mt_ledger *ledger);

/*
 * Fills in the LIVE event that makes mt_ledger_event build `live` anew, kind included. `reserved` is tensors_seen.
 * Events in the order of mt_ledger_each rebuild the same owners.
 */
void mt_live_event(const struct mt_live *live, struct mt_event *event);

/* Bytes now. held: physical (see above); tensors: alive tensor bytes, resident or not. */
uint64_t mt_ledger_held(const struct mt_ledger *ledger, uint32_t device);
uint64_t mt_ledger_tensors(const struct mt_ledger *ledger, uint32_t device);
uint64_t mt_ledger_nonresident(const struct mt_ledger *ledger, uint32_t device);
uint64_t mt_ledger_slack(const struct mt_ledger *ledger, uint32_t device);
uint64_t mt_ledger_pinned(const struct mt_ledger *ledger);

/* Calls `visit` for everything alive, in no promised order. A non-zero return stops and is handed on. */
int mt_ledger_each(const struct mt_ledger *ledger, int (*visit)(void *context, const struct mt_live *live),
		   void *context);
size_t mt_ledger_count(const struct mt_ledger *ledger);

/* Recomputes every figure from what is alive. 1: all agree, 0: not. Slow; for tests and `memana verify`. */
int mt_ledger_check(const struct mt_ledger *ledger);

#endif
