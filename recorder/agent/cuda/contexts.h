/*
 * contexts.h - the device of each CUDA context, learned from the driver calls: in a callback the driver must not be
 * called. CUPTI may be called, and is asked once for each context whose creation was not seen. An unknown device stays
 * unknown. Fixed tables, no locks; any thread.
 *
 * If the creation of a context was not seen, its references are not known either: only a reset, or CUPTI's report, ends
 * it.
 */
#ifndef RECORDER_CONTEXTS_H
#define RECORDER_CONTEXTS_H

#include <stdint.h>

struct cuda_context;

#define CONTEXTS_MAX 256u
#define CONTEXTS_DEVICES 64 /* ordinals whose primary context is counted */

enum context_kind {
	CONTEXT_UNSEEN = 0, /* in use; its creation was not seen */
	CONTEXT_OWN = 1,
	CONTEXT_PRIMARY = 2,
	CONTEXT_GREEN = 3, /* a green context, or the context for one; its memory belongs to the primary context */
};

/* Asks CUPTI for the ordinal of a context's device (NULL: of the calling thread's). -1: it does not know. */
typedef int contexts_ask(const void *context);

/* Reads CUDA_VISIBLE_DEVICES. Call inside cuInit, when the driver reads it as well. `ask` may be NULL. */
void contexts_start(contexts_ask *ask);

/* Calls were missed: references to primary contexts are not to be relied on, nor are addresses of contexts. */
void contexts_missed(void);

/* The process sees `count` devices. */
void contexts_devices(int count);

/* `context` (or green context) is on `device`. 0: there is no room. */
int contexts_add(const void *context, int device, enum context_kind kind);

/* Removes a context. 1: it was known; 0: unknown, or its end was reported. */
int contexts_remove(const void *context);

/* Returns the ordinal of a context or green context. Unknown context: the ordinal of the only device, else -1. */
int contexts_known_device(const void *context);

/*
 * The same for a live context; NULL: the calling thread's. CUPTI is asked for an unknown context. Call only in a
 * callback that shows the context, because a program can pass any pointer.
 */
int contexts_device(const void *context);

/* CUPTI reports a new context. 0: the table is full. */
int contexts_made(const void *context);

/*
 * CUPTI reports that a context is about to end. 1: its memory ends with it. 0: the end was reported before, or the
 * context has no memory of its own.
 */
int contexts_ended(const void *context);

/* Returns the context whose end frees memory taken in `context`; 0: unknown. */
uint64_t contexts_owner(const void *context);

/* `context` is in use. */
void contexts_use(const void *context);

/*
 * The primary context of `device` got a reference; `context` may be NULL (unknown). 1: the first one, also after a
 * reset.
 */
int contexts_retain(int device, const void *context);

/* The primary context lost one reference (release) or was reset. Returns the context that ended; 0: none known. */
uint64_t contexts_release(int device);
uint64_t contexts_reset(int device);

#endif
