/*
 * contexts.h - which context lives on which device, learned by watching: in a callback nobody may ask the driver. Fixed
 * tables, no locks; any thread.
 *
 * A context may be in use that nobody was seen to make (the vendor's runtime has private ways). Then nobody can be seen
 * to count its references either, so only a reset ends it.
 */
#ifndef RECORDER_CONTEXTS_H
#define RECORDER_CONTEXTS_H

#include <stdint.h>

struct cuda_context;

#define CONTEXTS_MAX 256u
#define CONTEXTS_DEVICES 64 /* ordinals with a primary context that is counted */

enum context_kind {
	CONTEXT_UNSEEN = 0, /* in use, and nobody made it */
	CONTEXT_OWN = 1,
	CONTEXT_PRIMARY = 2,
	CONTEXT_GREEN = 3, /* a green context, or the context for one: its memory is the primary context's */
};

/* Looks at CUDA_VISIBLE_DEVICES. Inside cuInit, when the driver looks at it, too. */
void contexts_start(void);

/* Calls were missed: references to primary contexts are not to be relied on. */
void contexts_missed(void);

/* The process sees so many devices. */
void contexts_devices(int count);

/* `context` (or green context) is on `device`. 0: there is no room. */
int contexts_add(const void *context, int device, enum context_kind kind);
void contexts_remove(const void *context);

/*
 * The ordinal. Of a context that is not known (or NULL): that of all contexts so far, if it is one, or of the only
 * device there is. Else -1.
 */
int contexts_device(const void *context);

/* The context whose end is the end of memory taken in `context`; 0: not known. */
uint64_t contexts_owner(const void *context);

/* `context` is in use. */
void contexts_use(const void *context);

/*
 * The primary context of `device` got a reference; `context` may be NULL (not told). 1: it was the first, or the first
 * since a reset.
 */
int contexts_retain(int device, const void *context);

/* It lost one, or all: the context that is gone now, 0: none that is known. */
uint64_t contexts_release(int device);
uint64_t contexts_reset(int device);

#endif
