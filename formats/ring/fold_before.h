/*
 * fold_before.h - allocations from before a recording that began in a running process (memrec attach, memrec start).
 *
 * The program's allocator is asked while other threads run. So its answer counts only for addresses without an event
 * since the recording began. These allocations become the live set at the trace's beginning.
 */
#ifndef FORMATS_FOLD_BEFORE_H
#define FORMATS_FOLD_BEFORE_H

#include <stdint.h>
#include "base/addrmap.h"
#include "emitter.h"
#include "memtrace/event.h"
#include "memtrace/ring.h"

struct fold_before {
	uint64_t since;         /* ns of mt_wait_clock_ns; 0: no listing is under way */
	struct addrmap touched; /* addresses (and handles) of events since then */
};

/*
 * Handles a RING_BEFORE record: `event`, with its ring number. `first`: number of the recording's first event. `mark`:
 * enum ring_before of a MARK. Returns 0, or the writer's error.
 */
int fold_before_record(struct fold_before *before, struct mt_emitter *emitter, uint64_t number, uint64_t first,
		       uint64_t mark, struct mt_event *event);

/* Call for each other event, before the emitter gets it. 0 or -MT_E_MEMORY. */
int fold_before_event(struct fold_before *before, const struct mt_event *event);

/* Ends a listing that takes too long, or any listing if `final` is 1. Cheap. */
void fold_before_look(struct fold_before *before, struct mt_emitter *emitter, int final);

void fold_before_release(struct fold_before *before);

#endif
