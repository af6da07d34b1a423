/*
 * event_clock.h - the time of events: CLOCK_MONOTONIC, in ns. Between two looks at the clock, the processor's time stamp counter tells the time.
 *
 * A look at the clock waits until all earlier writes of the thread are done. By samples the look took more than a third of an event without a
 * stack. A read of the counter does not wait. A thread looks at the clock about each millisecond, because the rate of the counter is an estimate.
 */
#ifndef RECORDER_EVENT_CLOCK_H
#define RECORDER_EVENT_CLOCK_H

#include <stdint.h>

/* A thread's clock. All 0: no look at the clock so far. */
struct event_clock {
	uint64_t ticks, ns; /* counter and clock at the last look; ns 0: none */
	uint64_t rate;      /* ns of 2^32 ticks; 0: unknown, each call looks at the clock */
	uint64_t last;      /* time of the thread's last event */
};

/*
 * 1: the kernel itself trusts the counter, and its own clock reads it (the clock source is "tsc"). 0: each call looks at the clock.
 * Reads /sys. errno is kept.
 */
int event_clock_has_counter(void);

/* A look at the clock. The same as event_clock_now without a counter. */
uint64_t event_clock_look(struct event_clock *clock, int has_counter);

/* Ticks after which a thread looks at the clock: 1 ms at 2.1 GHz, and 0.5 ms at 4.2 GHz. */
#define EVENT_CLOCK_TICKS (1u << 21)

/* The time, never less than that of the thread's last event. `has_counter`: of event_clock_has_counter(). */
static inline uint64_t event_clock_now(struct event_clock *clock, int has_counter)
{
#ifdef __x86_64__
	uint64_t ticks;

	if (clock->rate) {
		ticks = __builtin_ia32_rdtsc() - clock->ticks;
		if (ticks < EVENT_CLOCK_TICKS) {
			ticks = clock->ns + (ticks * clock->rate >> 32);
			clock->last = ticks > clock->last ? ticks : clock->last;
			return clock->last;
		}
	}
#endif
	return event_clock_look(clock, has_counter);
}

#endif
