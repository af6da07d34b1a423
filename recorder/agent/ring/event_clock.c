/* event_clock.c - looks at the clock, and estimates the rate of the processor's counter. */
#include "event_clock.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include "memtrace/base.h"
#include "memtrace/clock.h"
#include "shared/textbuf.h"

#define TICKS_LEAST (1u << 18)         /* a shorter time between two looks tells no rate */
#define TICKS_MOST ((uint64_t)1 << 40) /* some minutes; the machine may have slept in a longer time */
#define LOOK_TICKS (1u << 13) /* a look that took longer was interrupted: clock and counter do not belong together */
#define RATE_LEAST ((uint64_t)1 << 29) /* 8 GHz */
#define RATE_MOST ((uint64_t)1 << 33)  /* 500 MHz; EVENT_CLOCK_TICKS times this rate fits into 64 bits */

int event_clock_has_counter(void)
{
#ifdef __x86_64__
	char name[8] = "";
	int saved = errno;

	textbuf_read_file("/sys/devices/system/clocksource/clocksource0/current_clocksource", name, sizeof(name));
	errno = saved;
	return !strcmp(name, "tsc\n");
#else
	return 0;
#endif
}

#ifdef __x86_64__

/* The rate of the counter since the last look; 0: the rate is impossible, as where a preloaded library stops the clock. */
static uint64_t rate_of(uint64_t ticks, uint64_t ns)
{
	uint64_t rate = ticks < TICKS_MOST ? (uint64_t)((double)ns * 4294967296.0 / (double)ticks) : 0;

	return rate >= RATE_LEAST && rate <= RATE_MOST ? rate : 0;
}

/* Notes clock and counter of a look. `belong` 0: the look was interrupted, and the next one begins anew. */
static void note_look(struct event_clock *clock, uint64_t ticks, uint64_t ns, int belong)
{
	uint64_t passed = ticks - clock->ticks;

	if (clock->ns && belong && passed < TICKS_LEAST && !clock->rate)
		return;
	clock->rate = clock->ns && belong ? rate_of(passed, ns - clock->ns) : 0;
	clock->ticks = ticks;
	clock->ns = belong ? ns : 0;
}

#endif

uint64_t event_clock_look(struct event_clock *clock, int has_counter)
{
#ifdef __x86_64__
	uint64_t before = has_counter ? __builtin_ia32_rdtsc() : 0, ns = mt_clock_ns(), ticks;

	if (has_counter) {
		ticks = __builtin_ia32_rdtsc();
		note_look(clock, ticks, ns, ticks - before < LOOK_TICKS);
	}
#else
	uint64_t ns = mt_clock_ns();
#endif
	if (ns > clock->last)
		clock->last = ns;
	return clock->last;
}
