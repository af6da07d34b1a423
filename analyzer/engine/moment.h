/* moment.h - the moment that an answer is about: the peak, or another one that the user asked for (memana top --at). */
#ifndef MEMANA_MOMENT_H
#define MEMANA_MOMENT_H

#include <stdint.h>

enum moment_kind {
	MOMENT_PEAK, /* peak of the whole run */
	MOMENT_STEP, /* the peak inside a step */
	MOMENT_OOM,  /* the newest failed request of each device, as in memana oom */
	MOMENT_TIME, /* after the last event up to `time` */
};

struct moment {
	enum moment_kind kind;
	uint32_t step;
	int64_t time; /* ns since the run began */
};

/* Parses "peak", "oom", "step:3", "12.5s", "300ms", "7us", "1500ns" or "2min". Returns 0 or -MT_E_ARGUMENT. */
int moment_parse(struct moment *moment, const char *word);

/* A time alone, in ns since the run began. 0 or -MT_E_ARGUMENT. */
int moment_time(const char *word, int64_t *time);

#endif
