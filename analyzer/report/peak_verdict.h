/* peak_verdict.h - the sentences about a device's peak, for `memana top` and the timeline. */
#ifndef MEMANA_PEAK_VERDICT_H
#define MEMANA_PEAK_VERDICT_H

#include <stdint.h>
#include "base/text.h"
#include "database/db.h"
#include "query/query.h"

#define PEAK_NAME_MAX 512u

/* The place with most of some bytes. "": unknown. */
struct peak_place {
	char function[PEAK_NAME_MAX], place[PEAK_NAME_MAX]; /* "ffn_forward", "rl_step.c:95" */
	uint64_t bytes;
};

/* Finds the place with most bytes of the culprit's phase and category. Returns 0 or -MT_E_x. */
typedef int peak_place_of(void *context, const struct query_culprit *culprit, struct peak_place *place);

struct peak_verdict {
	const char *begins;                /* "Peak ", or other words for the moment */
	const struct query_device *device; /* device; its `peak` is the moment that the database is about */
	int has_steps, has_processes;      /* 1: name the step; 1: name the process */
	int has_parts;                     /* 1: split the held bytes into tensors and slack */
	peak_place_of *place_of;
	void *context; /* context of place_of */
};

/*
 * Says "Peak 40.4 GiB held (37.1 GiB in tensors, 3.3 GiB slack) of 80.0 GiB (51%) at 1.2 s, in forward of step 2. 64% of it is activations, allocated
 * in forward, most of it by ffn_forward (rl_step.c:95)." Returns 0, or an error of the database or of place_of; the sentence is then incomplete.
 */
int peak_verdict_say(struct sentence *sentence, struct db *db, const struct peak_verdict *verdict);

/* The sentence about a run without a device. */
#define PEAK_VERDICT_NONE "No memory of a device was recorded."

/* Says "in backward of step 2"; without steps, only the phase. */
void peak_say_phase(struct sentence *sentence, const char *phase, int64_t step, int has_steps);

#endif
