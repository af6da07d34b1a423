/*
 * cupti.h - our subscription to CUPTI's callbacks, and how it is shared with the other tools of the process.
 *
 *          start                 other asks (--yield-cupti)
 *   none ─────────> ours ────────────────────────────────────> given
 *     ^  refused     ^  <──────────────────────────────────────┘
 *     └──────────────┘           other leaves
 *
 * Every change is said in the trace (agent_source). The other tools come by hook_subscribe.c.
 */
#ifndef RECORDER_CUPTI_H
#define RECORDER_CUPTI_H

struct cupti_subscriber;

/* Subscribes, unless asked not to, and says how that went. Inside cuInit, once per process. */
void cupti_start(void);

/* Another tool is about to subscribe; `shares`: it bears other subscribers. Leaves if that is asked for and needed. */
void cupti_other_asks(int shares);

/* CUPTI's answer to it, and the subscription if it got one. */
void cupti_other_asked(int error, const struct cupti_subscriber *subscriber);

/* It has unsubscribed. */
void cupti_other_left(const struct cupti_subscriber *subscriber);

/* Another tool calls cuptiFinalize: before it, and after it. */
void cupti_other_finalizes(void);
void cupti_other_finalized(void);

#endif
