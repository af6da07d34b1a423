/*
 * kept.h - facts for `memana oom` about one moment of a pass: the newest failed request, or the peak of the fullest device if no request failed.
 *
 *     lives   ═══════════╗              over at the moment: a sum for each site
 *               ═════════╫═══════       alive: each by itself
 *                        ╫   ═══════    born later: nothing
 *                  before   moment
 *
 * `before` is the reference that the moment is compared with: the matching call of the same place, or the peak of the step before. The end of the
 * pass looks for the reference among the newest lives and spans. If the reference is older, or if a free failed, no moment is kept and `memana oom`
 * reads all lives.
 *
 * A run of several processes has one moment, in the order of all their events (query/alive.h). Ranks on other GPUs are compared at their peaks in the
 * step of the moment, or at their ends. Their allocations alive at these points are kept, too.
 *
 * Memory: a window of the newest deaths, and at most twice as many that a moment needs; mappings likewise. The newest spans and step peaks; at most
 * KEPT_WINDOW tensors that lost or regained pages; a row for each site; 16 bytes for each step. Time: constant for each death and each new peak.
 */
#ifndef MEMANA_KEPT_H
#define MEMANA_KEPT_H

#include "engine/analysis.h"
#include "same_call.h"

#define KEPT_WINDOW 65536u /* number of deaths, for one process; 72 bytes each */
#define KEPT_WINDOWS 4u    /* windows of a run of several processes, at most */
#define KEPT_PEERS 8u      /* other ranks that memana oom compares the moment with, at most */

/* A place in the order of all events of the run. */
struct kept_when {
	int64_t time;
	uint32_t process;
	uint64_t seq;
};

/* An allocation that the moment needs. Its process is the site's; times count from the begin of the run. */
struct kept_life {
	uint32_t site, step, gone_step;
	uint32_t free_node; /* stack of the free; 0: unknown. Known for the newest memory given back to the driver only */
	uint8_t space;      /* enum mt_space, or KEPT_TENSOR */
	uint8_t home;       /* 1: freed in the phase and step of its birth */
	uint8_t tensors_inside;
	uint8_t is_handle;      /* physical memory that is mapped */
	uint8_t slept;          /* a tensor that lost or regained pages */
	uint64_t seq, gone_seq; /* gone_seq KEPT_STAYS: never freed */
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

/* Sums of a site's allocations that count as memory in use, and ended before the moment or are on another device. */
struct kept_sum {
	uint32_t site;
	uint8_t died; /* 1: these allocations were freed, before or after the moment */
	uint8_t home, tensors_inside;
	uint64_t made, freed, freed_home; /* numbers up to the moment; freed_home: freed in the step of the birth */
	uint64_t largest; /* bytes of the largest allocation of earlier steps; if no step ended, of the largest freed allocation */
	uint64_t before_bytes, before_count; /* alive at the reference moment, on the device of the moment */
	uint64_t births;                     /* allocations in the whole run */
	uint64_t most, least; /* bytes of the largest and of the smallest, without empty ones; 0: all are empty */
};

enum kept_before { KEPT_NO_BEFORE, KEPT_SAME_PLACE, KEPT_STEP_BEFORE };

/* A kept moment. Zeroed: none. */
struct kept_moment {
	uint32_t there;                   /* 1: a moment was kept */
	uint32_t device, before, process; /* process: the one that reached the moment and the reference */
	uint64_t seq, before_seq;
	int64_t before_time;
	/*
	 * By birth: alive on the device, or in another rank at its own moment. Then tensors that lost or regained pages. Then for each process
	 * the newest birth, and the newest memory given back.
	 */
	struct kept_life *life;
	struct kept_sum *sum;
	/* Mappings at the moment, and one of any time for a handle that has tensors and no mapping at the moment. */
	struct kept_mapping *mapping;
	uint32_t lives, sums, mappings;
	/* For memana advise (kept_advice.c): */
	uint32_t oom;           /* number of the failed request, from 1; 0: the moment is a peak. Not stored in facts */
	uint32_t advice;        /* 1: the members below are known */
	uint64_t tokens, words; /* size of a failed request for logits, as tokens x words; 0: not for logits */
	/* Freed tensors of the step of the request and of the two steps before, without times and addresses. */
	struct kept_life *passed;
	uint32_t passes;
};

void kept_moment_release(struct kept_moment *moment);

struct kept;

/*
 * Call it at the beginning of the pass over `analysis`. `failure`: number of the failed request that is the moment, from 1; 0: the newest. NULL: out
 * of memory.
 */
struct kept *kept_new(const struct analysis *analysis, uint32_t failure);
void kept_free(struct kept *kept); /* NULL is fine */

/* Call it before the pass: only this process, which shares no device, can reach the moment. */
void kept_only(struct kept *kept, uint32_t process);

/*
 * Like the calls of struct analysis_sink. Without memory everything is given up. `free_node`: stack of the free, 0: none. `slept` 1: the tensor's
 * pages went or came.
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
 * After all events: finds the event of the moment, the newest failed request or the peak. Returns 1; 0: no device was used. *when has only the
 * process and the event's number.
 */
int kept_asked(const struct analysis *analysis, struct kept_when *when);

/* After the last call: fills in *moment, which the caller releases. Returns 0 or -MT_E_MEMORY. */
int kept_find(struct kept *kept, struct kept_moment *moment);

#endif
