/*
 * stack.h - the calling thread's stack as one 64-bit hash; the stack itself is in the log before the hash is used.
 */
#ifndef RECORDER_STACK_H
#define RECORDER_STACK_H

#include <stdint.h>
#include "agent/ring/hash_set.h"
#include "agent/ring/ring.h"
#include "modules.h"

/*
 * The parts of a stack that an event needs. Driver calls are rare and often come from libraries, so they always get
 * native frames as well.
 */
enum stack_wish { STACK_NONE, STACK_TENSOR, STACK_DRIVER };

struct stacks {
	struct ring *ring;
	struct hash_set known; /* stacks, codes and modules in the log */
	struct modules modules;
	uint32_t depth;          /* frames of each language, 0: no stacks */
	uint32_t kinds;          /* enum memrec_stacks bits */
	int instances;           /* 0: modules of frames are not noted */
	_Atomic uint32_t full;   /* 1: the log had no room for a stack */
	_Atomic uint32_t bare;   /* 1: stacks lose their instances, because the log has little room left */
	_Atomic uint32_t met;    /* number of instances in the log */
	_Atomic uint32_t untold; /* number of instances without a name since the last list of names (stacks_all_told) */
	_Atomic uint32_t news;   /* 1: there may be news of Python (stacks_have_news) */
	_Atomic uint32_t jumps;  /* 1: a signal handler has left a hook by siglongjmp (stacks_expect_jumps) */
};

/* `ring` must outlive it. `instances` 1: log the modules whose calls a stack has. 0 or -MT_E_MEMORY. */
int stacks_init(struct stacks *stacks, struct ring *ring, uint32_t depth, uint32_t kinds, int instances);
void stacks_release(struct stacks *stacks);

/* Returns the hash of the calling thread's stack; 0: none, or the log is full. */
uint64_t stacks_take(struct stacks *stacks, enum stack_wish wish);

/*
 * The program has handlers that leave hooks by siglongjmp. From now on signals are held while the loader's list is
 * read, because such a handler would leave the list's lock taken. This costs two system calls for each native stack.
 */
void stacks_expect_jumps(struct stacks *stacks);

/*
 * 1, to one caller each time: stack_python_find may return something new. Python was loaded into a process without it,
 * or the found Python was refused later.
 */
int stacks_have_news(struct stacks *stacks);

/* The object of this class has got its name in the trace. */
void stacks_told(struct stacks *stacks, const void *object, const void *type);

/* Another trace begins: all logged objects need their names again. */
void stacks_tell_again(struct stacks *stacks);

/* All objects with a name have been listed. `untold`: stacks->untold at the begin of the list. */
void stacks_all_told(struct stacks *stacks, uint32_t untold);

/* Return addresses of the calling thread, by libunwind's cached backtrace. */

#define STACK_NATIVE_MAX 256u /* largest depth */

/*
 * Loads libunwind, hidden from the program, whose exception handling keeps its own library. Call where the loader may
 * be called: not in a hook. 0; -MT_E_MISSING; -MT_E_VERSION: this libunwind would keep open descriptors, and is not
 * used.
 */
int stack_native_open(void);

/* Other code now has these addresses. Any thread, one at a time. */
void stack_native_replaced(uint64_t start, uint64_t end);

/* At most `depth` return addresses, innermost first, our own frames left out. *cut 1: there were more. */
uint32_t stack_native_walk(uint64_t *address, uint32_t depth, uint16_t *cut);

#endif
