/*
 * contexts.h - which context lives on which device, learned by watching: in a callback nobody may ask the driver.
 * CUPTI may be asked, and is, once for each context that nobody was seen to make. An unknown device stays unknown.
 * Fixed tables, no locks; any thread.
 *
 * Whoever was not seen to make a context cannot be seen to count its references either: only a reset ends it, or CUPTI's
 * word that it ends.
 */
#ifndef RECORDER_CONTEXTS_H
#define RECORDER_CONTEXTS_H

#include <stdint.h>

struct cuda_context;

#define CONTEXTS_MAX 256u
#define CONTEXTS_DEVICES 64 /* ordinals with a primary context that is counted */

enum context_kind {
	CONTEXT_UNSEEN = 0, /* in use, and nobody was seen to make it */
	CONTEXT_OWN = 1,
	CONTEXT_PRIMARY = 2,
	CONTEXT_GREEN = 3, /* a green context, or the context for one: its memory is the primary context's */
};

/* Asks CUPTI for the ordinal of a context's device (NULL: of the calling thread's). -1: it does not know. */
typedef int contexts_ask(const void *context);

/* Looks at CUDA_VISIBLE_DEVICES. Inside cuInit, when the driver looks at it, too. `ask` may be NULL. */
void contexts_start(contexts_ask *ask);

/* Calls were missed: references to primary contexts are not to be relied on, nor are addresses of contexts. */
void contexts_missed(void);

/* The process sees `count` devices. */
void contexts_devices(int count);

/* `context` (or green context) is on `device`. 0: there is no room. */
int contexts_add(const void *context, int device, enum context_kind kind);

/* It is gone. 1: it was known; 0: it was not, or that has been told. */
int contexts_remove(const void *context);

/* The ordinal; of a context (or green context) that is not known: that of the only device there is; else -1. */
int contexts_known_device(const void *context);

/*
 * The same of a context that is alive (NULL: of the calling thread's): of one that is not known CUPTI is asked. In a
 * callback that shows it, and nowhere else: what a program hands over may be no context.
 */
int contexts_device(const void *context);

/* CUPTI says that `context` exists now, whoever made it. 0: there is no room. */
int contexts_made(const void *context);

/* CUPTI says that `context` is about to end. 1: memory goes with it; 0: that has been told, or it has none of its own. */
int contexts_ended(const void *context);

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
