/*
 * got_hooks.h - hooks without LD_PRELOAD: in the global offset tables (GOT) of what is loaded.
 *
 * Frameworks overwrite LD_PRELOAD, so often the driver or NVTX is the first to load us, and PyTorch is there already,
 * bound to its own functions. Then our hooks are written into the slots that its calls go through, and again for what
 * is loaded afterwards.
 *
 * When to look is a question of locks. The loader holds one lock while it loads, and another, short one for its list;
 * looking takes only the second, so it is safe even while another thread loads a library and waits for us. PyTorch's
 * allocator holds its own lock while it asks the driver for memory: looking then waits for nobody who could want it.
 * So driver callbacks are a safe place, and the right one: a library that was just loaded gets its first GPU memory
 * from the driver before it can report any of it. Nothing of all this happens when we were preloaded.
 */
#ifndef RECORDER_GOT_HOOKS_H
#define RECORDER_GOT_HOOKS_H

/* We were called by name (cuInit, the first NVTX call of a library): unless the loader has bound the names to us, do it. */
void got_hooks_start(void);

/* Whatever was loaded since. Cheap while nothing was; errno is kept. */
void got_hooks_look(void);

#endif
