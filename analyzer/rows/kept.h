/*
 * kept.h - what `memana oom` asks of a pass about one moment: the newest failed request, or the peak of the fullest device where no
 * request failed.
 *
 *     lives   ═══════════╗              over at the moment: a sum for each site
 *               ═════════╫═══════       alive: each by itself
 *                        ╫   ═══════    born later: nothing
 *                  before   moment
 *
 * `before` is the reference that the moment is compared with: the matching call of the same place, or the peak of the step before.
 * It is found at the end, among the newest lives and spans. A moment whose reference is older is not kept: then `memana oom` reads
 * all lives. The same holds where a free failed.
 *
 * A run of several processes has one moment, in the order of all their events (query/alive.h). Ranks on other GPUs are compared at their
 * peaks in the step of the moment, or at their ends: what they had alive there is kept, too.
 *
 * Memory: the window of newest deaths, and those that a moment needs, at most twice as many. The same of mappings; the newest spans and
 * step peaks; at most KEPT_WINDOW tensors whose pages went or came; a row for each site; 16 bytes for each step. Time: constant for
 * each death and each new peak.
 */
#ifndef MEMANA_KEPT_H
#define MEMANA_KEPT_H

#include "engine/analysis.h"
#include "same_call.h"

#define KEPT_WINDOW 65536u /* deaths of one process, of 72 bytes each */
#define KEPT_WINDOWS 4u    /* most windows of a run of several processes */
#define KEPT_PEERS 8u      /* most other ranks that memana oom compares the moment with */

/* A place in the order of all events of the run. */
struct kept_when {
	int64_t time;
	uint32_t process;
	uint64_t seq;
};

/* A life that the moment needs, of the site's process; times of the run. */
struct kept_life {
	uint32_t site, step, gone_step;
	uint32_t free_node; /* the stack that freed it; 0: not told, as of all but the newest that was given back to the driver */
	uint8_t space; /* enum mt_space, or KEPT_TENSOR */
	uint8_t home;  /* gone in the phase and step of its birth */
	uint8_t tensors_inside;
	uint8_t is_handle;      /* physical memory that is mapped */
	uint8_t slept;          /* a tensor whose pages went or came */
	uint64_t seq, gone_seq; /* gone_seq KEPT_STAYS: it was never freed */
	uint64_t bytes, address;
	int64_t time, gone_time;
};

#define KEPT_TENSOR 255u
#define KEPT_STAYS UINT64_MAX

/* A mapping of physical memory. */
struct kept_mapping {
	uint64_t address, bytes, handle, seq, gone_seq;
	int64_t time, gone_time;
	uint32_t process;
};

/* Lives of one site that count as memory in use, and are over at the moment or on another device. */
struct kept_sum {
	uint32_t site;
	uint8_t died; /* at any time */
	uint8_t home, tensors_inside;
	uint64_t made, freed, freed_home; /* up to the moment; freed_home: in the step of the birth */
	uint64_t largest; /* bytes of the largest earlier birth; of the largest freed, where no step ended */
	uint64_t before_bytes, before_count; /* alive at the reference, on the device of the moment */
	uint64_t births, most,
		least; /* allocations of the whole run; bytes of the largest and of the smallest, 0: all are empty */
};

enum kept_before { KEPT_NO_BEFORE, KEPT_SAME_PLACE, KEPT_STEP_BEFORE };

/* A moment as it is kept. Zeroed: none is. */
struct kept_moment {
	uint32_t there;                   /* 1: it is */
	uint32_t device, before, process; /* process: which reached it; the reference is of the same */
	uint64_t seq, before_seq;
	int64_t before_time;
	struct kept_life *
		life; /* alive on the device, or at the moment of another rank, by birth; then those that slept; of each process the newest birth, and the newest given back */
	struct kept_sum *sum;
	struct kept_mapping
		*mapping; /* alive at the moment; and one of any time for a handle with tensors that has none then */
	uint32_t lives, sums, mappings;
	/* For memana advise (kept_advice.c): */
	uint32_t oom;    /* number of the failed request, from 1; 0: the moment is a peak. Facts do not have it */
	uint32_t advice; /* 1: the members below are known */
	uint64_t tokens, words; /* figures of a failed request for logits; 0: it is for something else */
	struct kept_life *
		passed; /* tensors of the step of the request, and of the two before it, that are over; without times and addresses */
	uint32_t passes;
};

void kept_moment_release(struct kept_moment *moment);

struct kept;

/* The pass over `analysis`, in its beginning. `failure`: the number of a failed request that is the moment, from 1; 0: the newest. NULL: out of memory. */
struct kept *kept_new(const struct analysis *analysis, uint32_t failure);
void kept_free(struct kept *kept); /* NULL is fine */

/* Before the pass: the moment is of this process, which shares no device. */
void kept_only(struct kept *kept, uint32_t process);

/*
 * As the calls of struct analysis_sink. Out of memory nothing is kept. `free_node`: the stack that freed it, 0: none. `slept`: its pages
 * went or came.
 */
void kept_gone(struct kept *kept, uint32_t process, const struct mt_live *live, const struct mt_event *event,
	       uint32_t step, uint32_t free_node, int slept);
void kept_unmapped(struct kept *kept, uint32_t process, const struct mt_live *live, const struct mt_event *event);
void kept_span(struct kept *kept, uint32_t process, uint8_t phase, uint32_t step, const struct mt_event *first,
	       const struct mt_event *last);
void kept_step(struct kept *kept, uint32_t process, uint32_t device, uint32_t step,
	       const struct analysis_step_peak *peak);
void kept_reached(struct kept *kept, uint32_t device, int oom);
void kept_born(struct kept *kept, uint32_t process, const struct mt_live *live);
void kept_ended(struct kept *kept, uint32_t process, const struct mt_event *event);

/* No moment of this run can be kept. */
void kept_give_up(struct kept *kept);
int kept_has_given_up(const struct kept *kept);

/*
 * After all events: the event that makes the moment, the newest failed request or the peak. 1; 0: no device was used. *when: only
 * the process and the number.
 */
int kept_asked(const struct analysis *analysis, struct kept_when *when);

/* After the last call: fills *moment, which the caller releases. 0 or -MT_E_MEMORY. */
int kept_find(struct kept *kept, struct kept_moment *moment);

#endif
