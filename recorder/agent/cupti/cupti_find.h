/* cupti_find.h - the libcupti to use. */
#ifndef RECORDER_CUPTI_FIND_H
#define RECORDER_CUPTI_FIND_H

#include <limits.h>
#include "agent/cuda/cuda_abi.h"
#include "shared/textbuf.h"

/* The result for one libcupti. TRIED: the library stays open, because the driver may know it by now. */
enum cupti_use { CUPTI_REFUSED, CUPTI_TRIED, CUPTI_USED };

typedef enum cupti_use cupti_user(void *context, void *library, const char *path);

/*
 * Calls `use` with one libcupti after the other (a handle of dlopen, and the file's path) until it returns CUPTI_USED.
 * Order of places:
 *   libraries already in the process, under any name: a second copy would be a second client of the driver;
 *   beside the CUDA runtime of the process (Python wheels, toolkits), because the two fit each other;
 *   the loader's folders;
 *   in NVIDIA's wheels among the Python packages of the process;
 *   in the toolkit of $CUDA_HOME, of $CUDA_PATH, of the nvcc in $PATH, and in the usual place.
 * `driver`: result of cuDriverGetVersion, such as 13000; 0: unknown. Each place is searched for the driver's major
 * version first, then for older ones, which work with a newer driver. Newer ones come last: they seldom work with an
 * older driver.
 *
 * If the process has a libcupti already, no other one is tried. A library that refused is closed. 1: one was used, and
 * stays open. One call at a time. Calls the loader and may allocate: call inside cuInit, not in a hook.
 */
int cupti_find(cupti_user *use, void *context, int driver);

/* Chooses among the refusals of several libcupti the most informative one, and words it. */

/* The best refusal so far. All 0: no libcupti was found. */
struct cupti_refusal {
	int found;                         /* 1: a libcupti has the needed functions */
	int error;                         /* error of CUPTI; 0: subscribed, but no callback could be enabled */
	char holder[CUPTI_OLD_NAME_BYTES]; /* name of the holder, if the subscription is taken; "": unknown */
	char path[PATH_MAX];               /* path of that libcupti */
};

/* 1: another tool holds the subscription. */
int cupti_is_taken(int error);

/* 1: libcupti does not fit the driver, or the driver finds no GPU. */
int cupti_is_unfit(int error);

/* Adds a refusal; keeps it if it is more informative than the current one. `holder` and `path` are copied. */
void cupti_refusal_add(struct cupti_refusal *refusal, int error, const char *holder, const char *path);

/* A sentence for the trace and the summary. */
void cupti_refusal_say(const struct cupti_refusal *refusal, struct textbuf *text);

#endif
