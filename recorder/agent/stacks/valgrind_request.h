/*
 * valgrind_request.h - asks a valgrind that runs the program to report nothing about the agent, by documented client
 * requests. On a real processor these instructions do nothing.
 */
#ifndef RECORDER_VALGRIND_REQUEST_H
#define RECORDER_VALGRIND_REQUEST_H

#include <stdint.h>

enum valgrind_request { VALGRIND_RUNS = 0x1001, VALGRIND_STACK = 0x1501 };

/* The answer of valgrind; 0 without valgrind. */
static inline uint64_t valgrind_ask(enum valgrind_request what, uintptr_t first, uintptr_t second)
{
	uint64_t result = 0;
#if defined(__x86_64__)
	volatile uint64_t request[6] = { what, first, second, 0, 0, 0 };

	__asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi; xchgq %%rbx, %%rbx"
			 : "+d"(result)
			 : "a"(&request[0])
			 : "cc", "memory");
#else
	(void)what;
	(void)first;
	(void)second;
#endif
	return result;
}

static inline int valgrind_runs(void)
{
	return valgrind_ask(VALGRIND_RUNS, 0, 0) != 0;
}

/*
 * Registers a stack; otherwise valgrind reports a switch to it. `start`, `end`: the least and the largest stack pointer. `end` is that of an
 * empty stack. Otherwise valgrind takes the first large frame for the switch, and reports each access to the frame.
 */
static inline void valgrind_stack(const uint8_t *start, const uint8_t *end)
{
	valgrind_ask(VALGRIND_STACK, (uintptr_t)start, (uintptr_t)end);
}

#endif
