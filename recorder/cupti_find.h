/* cupti_find.h - the libcupti to use. */
#ifndef RECORDER_CUPTI_FIND_H
#define RECORDER_CUPTI_FIND_H

/*
 * Calls `use` with one libcupti (a handle of dlopen, which stays open) after the other until it returns 1:
 *   what is in the process already, under whatever name: a second copy would be a second client of the driver;
 *   beside the CUDA runtime of the process (Python wheels, toolkits), because the two fit each other;
 *   where the loader looks;
 *   in the toolkit of $CUDA_HOME, of $CUDA_PATH, of the nvcc in $PATH, and in the usual place.
 * What is in the process is not added to: if there is any, nothing else is tried. 1: one was used. Calls the loader and
 * may allocate: inside cuInit, not in a hook.
 */
int cupti_find(int (*use)(void *context, void *library), void *context);

#endif
