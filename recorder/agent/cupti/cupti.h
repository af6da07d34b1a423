/*
 * cupti.h - our subscription to CUPTI's callbacks, and how it is shared with the other tools of the process.
 *
 *          start                 other asks (--yield-cupti)
 *   none ─────────> ours ────────────────────────────────────> given <─── other has left inside a callback,
 *     ^  refused    ^  │ <──────────────────────────────────────┘ │      waiting for cupti_look()
 *     └─────────────┘  │           other has left                 │
 *                      └──> dead (fatal error of CUPTI)           └──> another tool asks again
 *                      └──> given, while the process is paused and PyTorch's reports tell of a start
 *                      └──> none, at the first hook after the recording has ended
 *
 * Every change is said in the trace (agent_source). The other tools come by hook_subscribe.c. A tool may leave inside a
 * callback of CUPTI and finalize it there, as PyTorch's profiler does: subscribing there ends in a crash. Then we come
 * back from a hook that no callback is around, a while later.
 */
#ifndef RECORDER_CUPTI_H
#define RECORDER_CUPTI_H

#include <stdint.h>

struct cupti_subscriber;

/*
 * Subscribes, unless asked not to, and says how that went. Inside cuInit, once per process, and by memrec attach. `look` is called at each
 * callback, the one place that the driver reaches for us alone: what was loaded meanwhile is looked at there.
 */
void cupti_start(void (*look)(void));

/* 1: the driver has a GPU, by what CUPTI answered: it took a subscription, ours or another tool's. */
int cupti_finds_gpu(void);

/* Another tool is about to subscribe; `shares`: it bears other subscribers. Leaves if that is asked for and needed. */
void cupti_other_asks(int shares);

/* CUPTI's answer to it, and the subscription if it got one. */
void cupti_other_asked(int error, const struct cupti_subscriber *subscriber);

/* It has unsubscribed, maybe inside a callback. */
void cupti_other_left(const struct cupti_subscriber *subscriber);

/* Another tool calls cuptiFinalize: before it, and after it. */
void cupti_other_finalizes(void);
void cupti_other_finalized(void);

/*
 * For hooks that are seldom called inside a callback of CUPTI: comes back if that is due, and not inside one; gives the
 * subscription up when the recording has ended. Cheap while neither is due; errno is kept. A lock of the caller's may be held if the caller asks the driver for memory under it, too.
 */
void cupti_look(void);

/*
 * PyTorch has reported a block in a paused process, whose hooks are called without CUPTI, too: the subscription is given up, unless the
 * caller is inside a callback. cupti_look takes it back when the recording begins. Cheap where it is given up; errno is kept.
 */
void cupti_rest(void);

/*
 * PyTorch has reported a block on GPU `device` and holds `reserved` bytes there, which it has from the driver. When
 * CUPTI has shown no such call before the first of them, it shows none. The trace says so, and takes it back if one
 * comes later. When PyTorch comes to hold more again and again and CUPTI shows nothing any more, the trace notes it.
 * One call at a time for each device: the allocator's lock is held.
 */
void cupti_check_tensor(int device, uint64_t reserved);

#endif
