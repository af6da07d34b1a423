/*
 * hook_cupti.h - the callback that turns the driver's memory calls into events, and the list of calls it needs.
 */
#ifndef RECORDER_HOOK_CUPTI_H
#define RECORDER_HOOK_CUPTI_H

#include <stdint.h>
#include "contexts.h"

#define HOOK_CUPTI_IDS 1024u /* ids of driver_entries.h are below */

/* Sets up. Call inside cuInit, before the first callback. `ask`: as for contexts_start. */
void hook_cupti_start(contexts_ask *ask);

/* Call after a time in which CUPTI showed no calls. */
void hook_cupti_missed(void);

/* 1: the callback of this CUPTI driver id is needed. */
int hook_cupti_wants(uint32_t id);

/* Returns the number of shown calls that took memory and succeeded. */
uint32_t hook_cupti_taken(void);

/* A callback of the driver's or the resource domain (as cupti_callback in cuda_abi.h): any id, any thread. */
void hook_cupti_callback(int domain, uint32_t id, const void *data);

#endif
