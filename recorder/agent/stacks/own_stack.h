/*
 * own_stack.h - stacks of the recorder, for work that needs more than a program's thread may have left.
 *
 *     program's stack:  ... caller, hook, own_stack_call ─┐
 *                                                         │ the stack pointer changes, the frame pointer does not
 *     one of ours:                            work(...)  <┘
 *
 * Real programs have threads with 16 KiB, and fibers and signal stacks with less. A hook needs at most
 * OWN_STACK_HOOK_BYTES of its caller's stack (measured by tests/cli/test_small_stacks.sh). Unwinding alone takes 10
 * KiB, so it runs here. The switch is an ordinary frame with a frame pointer, so unwinders, debuggers and valgrind can
 * pass it.
 *
 * A stack belongs to one thread during a call. No malloc, no lock; any thread, also in a signal handler. A handler that
 * runs on top of the work has the rest of OWN_STACK_BYTES.
 */
#ifndef RECORDER_OWN_STACK_H
#define RECORDER_OWN_STACK_H

#include <stdint.h>

#define OWN_STACK_BYTES (128u << 10)
#define OWN_STACK_HOOK_BYTES 4096u
#define OWN_STACK_KEPT_BYTES (20u << 10)

/*
 * Calls `work` on a stack of the recorder. 1; 0: `work` was not called, because all stacks are in use or memory is
 * short. errno is that of `work`.
 */
int own_stack_call(void (*work)(void *context), void *context);

extern __thread uint8_t *own_stack_top; /* end of the stack of ours that the thread is on; NULL: none */

/*
 * Returns OWN_STACK_KEPT_BYTES of memory beside the current stack, zero at first. The memory is this thread's until the
 * work ends or is abandoned, and keeps its content for the next work on this stack. Mostly a thread gets its last stack
 * again. NULL: the thread is on no stack of the recorder.
 */
static inline void *own_stack_kept(void)
{
	return own_stack_top;
}

/* 1: the address is in a stack of the recorder. */
int own_stack_has(const void *address);

/* The calling thread has left the work on its stack for good (siglongjmp): the stack is free. */
void own_stack_abandoned(void);

/* In a forked child: frees the stacks of all other threads. */
void own_stack_forked(void);

#endif
