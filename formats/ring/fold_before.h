/*
 * fold_before.h - what was there before a recording began in a process that ran (memrec attach, memrec start).
 *
 * The program's allocator is asked while other threads go on. So its answer is worth something for those addresses alone that no
 * event was about since the recording began. All of that becomes the live set that the trace begins with.
 */
#ifndef FORMATS_FOLD_BEFORE_H
#define FORMATS_FOLD_BEFORE_H

#include <stdint.h>
#include "base/addrmap.h"
#include "emitter.h"
#include "memtrace/event.h"
#include "memtrace/ring.h"

struct fold_before {
	uint64_t since;         /* ns of mt_wait_clock_ns; 0: no telling is under way */
	struct addrmap touched; /* addresses (and handles) of events since then */
};

/*
 * A RING_BEFORE record, as `event` with its number in the ring; `first`: that of the recording's first event. `mark`: enum ring_before of a MARK. 0, or what the writer said.
 */
int fold_before_record(struct fold_before *before, struct mt_emitter *emitter, uint64_t number, uint64_t first,
		       uint64_t mark, struct mt_event *event);

/* Each other event, before the emitter has it. 0 or -MT_E_MEMORY. */
int fold_before_event(struct fold_before *before, const struct mt_event *event);

/* The telling is over, whether its end came or not: `final`, or it has taken too long. Cheap. */
void fold_before_look(struct fold_before *before, struct mt_emitter *emitter, int final);

void fold_before_release(struct fold_before *before);

#endif
