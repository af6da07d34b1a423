/*
 * own_stack.h - stacks of the recorder's own, for work that needs more than a program's thread may have left.
 *
 *     program's stack:  ... caller, hook, own_stack_call ─┐
 *                                                         │ the stack pointer changes, the frame pointer does not
 *     one of ours:                            work(...)  <┘
 *
 * Threads with 16 KiB, fibers and alternate signal stacks with less are all real. A hook itself needs at most
 * OWN_STACK_HOOK_BYTES of its caller's stack (tests/cli/test_small_stacks.sh measures it); unwinding alone takes 10 KiB,
 * so it happens here. Unwinders, debuggers and valgrind find their way: the switch is an ordinary frame with a frame
 * pointer.
 *
 * A stack is one thread's at a time and goes back after the call. No malloc, no lock; any thread, in a signal handler
 * too. A handler that runs on top of the work has what the work leaves of OWN_STACK_BYTES.
 */
#ifndef RECORDER_OWN_STACK_H
#define RECORDER_OWN_STACK_H

#define OWN_STACK_BYTES (128u << 10)
#define OWN_STACK_HOOK_BYTES 4096u
#define OWN_STACK_KEPT_BYTES (20u << 10)

/*
 * Calls `work` on one of our stacks. 1; 0: none is to be had, `work` was not called: all are in use, or there is no
 * memory. errno is what `work` made of it.
 */
int own_stack_call(void (*work)(void *context), void *context);

/*
 * OWN_STACK_KEPT_BYTES of memory beside the stack that the calling thread works on, zero at first. The memory is this thread's
 * until the work ends or is abandoned, and keeps its content for the next work on that stack. A thread mostly gets the stack that
 * it had last. NULL: the thread is on no stack of ours.
 */
void *own_stack_kept(void);

/* 1: the address lies in one of our stacks. */
int own_stack_has(const void *address);

/* The calling thread has left the work on its stack for good (siglongjmp): the stack is free. */
void own_stack_abandoned(void);

/* In the child of a fork: what other threads had is free. */
void own_stack_forked(void);

#endif
