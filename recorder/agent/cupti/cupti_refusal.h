/* cupti_refusal.h - of several libcupti that refuse, each in its way, which one tells most; and that in words. */
#ifndef RECORDER_CUPTI_REFUSAL_H
#define RECORDER_CUPTI_REFUSAL_H

#include <limits.h>
#include "agent/cuda/cuda_abi.h"
#include "shared/textbuf.h"

/* How it went so far. All 0: no libcupti was found. */
struct cupti_refusal {
	int found;                         /* a libcupti that has what we need */
	int error;                         /* CUPTI's; 0: it subscribed and enabled no callback */
	char holder[CUPTI_OLD_NAME_BYTES]; /* of the subscription, where it is taken; "": not told */
	char path[PATH_MAX];               /* of that libcupti */
};

/* 1: another tool holds the subscription. */
int cupti_is_taken(int error);

/* 1: as libcupti answers where it does not fit the driver, or the driver finds no GPU. */
int cupti_is_unfit(int error);

/* One more libcupti has refused: takes it over if it tells more than what is there. `holder` and `path` are copied. */
void cupti_refusal_add(struct cupti_refusal *refusal, int error, const char *holder, const char *path);

/* A sentence for the trace and the summary. */
void cupti_refusal_say(const struct cupti_refusal *refusal, struct textbuf *text);

#endif
