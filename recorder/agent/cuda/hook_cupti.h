/*
 * hook_cupti.h - the callback that turns the driver's memory calls into events, and which calls it wants to see.
 */
#ifndef RECORDER_HOOK_CUPTI_H
#define RECORDER_HOOK_CUPTI_H

#include <stdint.h>
#include "contexts.h"

#define HOOK_CUPTI_IDS 1024u /* ids of driver_entries.h are below */

/* Looks around in the process. Inside cuInit, before the first callback. `ask`: as contexts_start has it. */
void hook_cupti_start(contexts_ask *ask);

/* Calls have been made that were not shown to us. */
void hook_cupti_missed(void);

/* 1: the entry with this CUPTI driver callback id is one of ours and worth a callback. */
int hook_cupti_wants(uint32_t id);

/* How many calls that take memory have been shown and have succeeded. */
uint32_t hook_cupti_taken(void);

/* A callback of the driver's or the resource domain (as cupti_callback in cuda_abi.h): any id, any thread. */
void hook_cupti_callback(int domain, uint32_t id, const void *data);

#endif
