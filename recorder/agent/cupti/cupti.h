/*
 * cupti.h - the agent's subscription to CUPTI's callbacks, shared with the other tools of the process.
 *
 *          start                 other asks (--yield-cupti)
 *   none ─────────> ours ────────────────────────────────────> given <─── other has left inside a callback,
 *     ^  refused    ^  │ <──────────────────────────────────────┘ │      waiting for cupti_look()
 *     └─────────────┘  │           other has left                 │
 *                      └──> dead (fatal error of CUPTI)           └──> another tool asks again
 *                      └──> given, while the process is paused and PyTorch's reports tell of a start
 *                      └──> none, at the first hook after the recording has ended
 *
 * Each change is reported in the trace (agent_source). Calls of other tools come by hook_subscribe.c. A tool may leave
 * inside a callback of CUPTI and finalize it there, as PyTorch's profiler does. Subscribing in the same callback would
 * crash. So the agent subscribes again a while later, from a hook outside of callbacks.
 */
#ifndef RECORDER_CUPTI_H
#define RECORDER_CUPTI_H

#include <stdint.h>

struct cupti_subscriber;

/*
 * Subscribes, unless the options forbid it, and reports the result. Called inside cuInit, once per process, and by
 * memrec attach. `look` is called at each callback, to look at newly loaded libraries: only callbacks run for the agent
 * alone.
 */
void cupti_start(void (*look)(void));

/* 1: the driver has a GPU: CUPTI accepted a subscription, the agent's or another tool's. */
int cupti_finds_gpu(void);

/*
 * Another tool is about to subscribe. `shares` 1: it allows other subscribers. Gives up the subscription if wanted and
 * needed.
 */
void cupti_other_asks(int shares);

/* CUPTI's answer to the other tool, and its subscription. */
void cupti_other_asked(int error, const struct cupti_subscriber *subscriber);

/* The other tool has unsubscribed, maybe inside a callback. */
void cupti_other_left(const struct cupti_subscriber *subscriber);

/* Another tool calls cuptiFinalize: call before and after it. */
void cupti_other_finalizes(void);
void cupti_other_finalized(void);

/*
 * For hooks that are seldom called inside a callback of CUPTI. Subscribes again if that is due, and not inside a
 * callback; unsubscribes after the recording. Cheap if neither is due; keeps errno. The caller may hold a lock only if
 * it asks the driver for memory under the same lock.
 */
void cupti_look(void);

/*
 * PyTorch has reported a block in a paused process. Its reports also come without CUPTI, so the agent unsubscribes,
 * unless inside a callback. cupti_look subscribes again when the recording begins. Cheap if already unsubscribed; keeps
 * errno.
 */
void cupti_rest(void);

/*
 * PyTorch has reported a block on GPU `device`, with `reserved` bytes from the driver in all. If CUPTI has shown no
 * such call before the first report, the trace says that CUPTI shows none; a later call takes this back. The trace also
 * notes if PyTorch's bytes grow repeatedly without calls from CUPTI. One call at a time for each device, because the
 * allocator's lock is held.
 */
void cupti_check_tensor(int device, uint64_t reserved);

#endif
