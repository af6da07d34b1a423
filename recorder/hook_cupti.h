/*
 * hook_cupti.h - the callback that turns the driver's memory calls into events, and which calls it wants to see.
 */
#ifndef RECORDER_HOOK_CUPTI_H
#define RECORDER_HOOK_CUPTI_H

#include <stdint.h>

#define HOOK_CUPTI_IDS 1024u /* ids of driver_entries.h are below */

/* Looks around in the process. Inside cuInit, before the first callback. */
void hook_cupti_start(void);

/* Calls have been made that were not shown to us. */
void hook_cupti_missed(void);

/* 1: the entry with this CUPTI driver callback id is one of ours and worth a callback. */
int hook_cupti_wants(uint32_t id);

/* A cupti_callback (cuda_abi.h): any domain, any id, any thread. `user` is not used. */
void hook_cupti_callback(void *user, int domain, uint32_t id, const void *data);

#endif
