/* cupti_find.h - the libcupti to use. */
#ifndef RECORDER_CUPTI_FIND_H
#define RECORDER_CUPTI_FIND_H

#include <limits.h>
#include "agent/cuda/cuda_abi.h"
#include "shared/textbuf.h"

/* The result for one libcupti. A library that the driver may know of by now must not go: TRIED stays open. */
enum cupti_use { CUPTI_REFUSED, CUPTI_TRIED, CUPTI_USED };

typedef enum cupti_use cupti_user(void *context, void *library, const char *path);

/*
 * Calls `use` with one libcupti (a handle of dlopen, and the file's path) after the other until it returns CUPTI_USED:
 *   libraries already in the process, under any name: a second copy would be a second client of the driver;
 *   beside the CUDA runtime of the process (Python wheels, toolkits), because the two fit each other;
 *   the loader's folders;
 *   in NVIDIA's wheels among the Python packages of the process, whoever else of them is loaded;
 *   in the toolkit of $CUDA_HOME, of $CUDA_PATH, of the nvcc in $PATH, and in the usual place.
 * `driver`: what cuDriverGetVersion says, such as 13000; 0: not known. In all of these places its major version is
 * looked for first. Older ones follow, which work with a newer driver, then the newer ones, which seldom work with an
 * older one.
 *
 * Nothing is added to a process that has one: if there is any, nothing else is tried. A library that refused is
 * closed. 1: one was used, and stays open. One call at a time. Calls the loader and may allocate: inside cuInit, not
 * in a hook.
 */
int cupti_find(cupti_user *use, void *context, int driver);

/* Among several libcupti that refuse, each in its way, the one that tells most; and its words. */

/* How it went so far. All 0: no libcupti was found. */
struct cupti_refusal {
	int found;                         /* a libcupti that has what we need */
	int error;                         /* CUPTI's; 0: it subscribed and enabled no callback */
	char holder[CUPTI_OLD_NAME_BYTES]; /* name of the subscription's holder, if it is taken; "": not told */
	char path[PATH_MAX];               /* path of that libcupti */
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
