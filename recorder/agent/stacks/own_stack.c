/* own_stack.c - a fixed table of stacks, made when they are first needed and never given back. */
#include "own_stack.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include "agent/ring/guest_map.h"
#include "memtrace/base.h"
#include "shared/machine.h"
#include "valgrind_request.h"

#define STACKS 256u
#define GUARD_BYTES MACHINE_PAGE_MOST
#define TRIES 64 /* rounds through the table, then the thread goes on without a stack */

enum state { ABSENT, FREE, TAKEN };

static struct {
	_Atomic uint32_t state;
	uint8_t *top; /* set once, before the state is first FREE; own_stack_kept is above it */
} stacks[STACKS];

static __thread uint32_t usual; /* stack that this thread used last, plus 1; 0: none yet */

__thread uint8_t *own_stack_top;

/* Makes a stack. The page below it is not accessible, so a too deep call cannot write into another stack. */
static int make(uint32_t i)
{
	uint8_t *area = guest_map(GUARD_BYTES + OWN_STACK_BYTES + OWN_STACK_KEPT_BYTES, PROT_READ | PROT_WRITE);

	if (!area)
		return 0;
	mprotect(area, GUARD_BYTES, PROT_NONE);
	stacks[i].top = area + GUARD_BYTES + OWN_STACK_BYTES;
	valgrind_stack(area + GUARD_BYTES, stacks[i].top);
	return 1;
}

/* Takes stack `i` if it exists and is free. 1: taken. */
static inline int take_free(uint32_t i)
{
	uint32_t state = FREE;

	return atomic_compare_exchange_strong(&stacks[i].state, &state, TAKEN);
}

/* 1: stack `i` is the caller's now. */
static int take(uint32_t i)
{
	uint32_t state = ABSENT;

	if (take_free(i))
		return 1;
	if (!atomic_compare_exchange_strong(&stacks[i].state, &state, TAKEN))
		return 0;
	if (make(i))
		return 1;
	atomic_store(&stacks[i].state, ABSENT);
	return 0;
}

/* Takes a free or new stack, searching from the one used last. STACKS: none. Keeps errno. */
static __attribute__((noinline)) uint32_t find(void)
{
	static _Atomic uint32_t threads;
	uint32_t tries, i, found = STACKS;
	int saved = errno;

	if (!usual)
		usual = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) % STACKS + 1;
	for (tries = 0; tries < TRIES && found == STACKS; tries++) {
		if (tries)
			sched_yield();
		for (i = usual - 1; i < usual - 1 + STACKS && found == STACKS; i++)
			if (take(i % STACKS))
				found = i % STACKS;
	}
	errno = saved;
	return found;
}

/*
 * Sets *current to `top` while `work` runs, and only while the stack pointer is on that stack: a signal handler never finds
 * it set on the program's stack.
 */
void own_stack_switch(void *top, void (*work)(void *context), void *context, uint8_t **current)
	__attribute__((visibility("hidden")));

#if defined(__x86_64__)
__asm__(".text\n"
	".hidden own_stack_switch\n"
	".type own_stack_switch, @function\n"
	"own_stack_switch:\n"
	"	.cfi_startproc\n"
	"	pushq %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset %rbp, -16\n"
	"	movq %rsp, %rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	movq %rdi, %rsp\n"
	"	pushq (%rcx)\n"
	"	pushq %rcx\n"
	"	movq %rdi, (%rcx)\n"
	"	movq %rdx, %rdi\n"
	"	call *%rsi\n"
	"	popq %rcx\n"
	"	popq (%rcx)\n"
	"	leave\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size own_stack_switch, . - own_stack_switch\n");
#elif defined(__aarch64__)
__asm__(".text\n"
	".hidden own_stack_switch\n"
	".type own_stack_switch, @function\n"
	"own_stack_switch:\n"
	"	.cfi_startproc\n"
	"	hint #34\n" /* bti c, for machines that check indirect calls */
	"	stp x29, x30, [sp, #-16]!\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset x29, -16\n"
	"	.cfi_offset x30, -8\n"
	"	mov x29, sp\n"
	"	.cfi_def_cfa_register x29\n"
	"	mov sp, x0\n"
	"	ldr x9, [x3]\n"
	"	stp x3, x9, [sp, #-16]!\n"
	"	str x0, [x3]\n"
	"	mov x0, x2\n"
	"	blr x1\n"
	"	ldp x3, x9, [sp], #16\n"
	"	str x9, [x3]\n"
	"	mov sp, x29\n"
	"	.cfi_def_cfa_register sp\n"
	"	ldp x29, x30, [sp], #16\n"
	"	.cfi_def_cfa_offset 0\n"
	"	.cfi_restore x29\n"
	"	.cfi_restore x30\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size own_stack_switch, . - own_stack_switch\n");
#endif

int own_stack_call(void (*work)(void *context), void *context)
{
	uint32_t i = usual - 1;

	if (!usual || !take_free(i))
		i = find();
	if (i == STACKS)
		return 0;
	usual = i + 1;
	own_stack_switch(stacks[i].top, work, context, &own_stack_top);
	atomic_store_explicit(&stacks[i].state, FREE, memory_order_release);
	return 1;
}

int own_stack_has(const void *address)
{
	const uint8_t *at = address;
	uint32_t i;

	for (i = 0; i < STACKS; i++)
		if (stacks[i].top && at < stacks[i].top && at >= stacks[i].top - OWN_STACK_BYTES)
			return 1;
	return 0;
}

void own_stack_abandoned(void)
{
	uint32_t i;

	for (i = 0; own_stack_top && i < STACKS; i++)
		if (stacks[i].top == own_stack_top)
			atomic_store_explicit(&stacks[i].state, FREE, memory_order_release);
	own_stack_top = NULL;
}

void own_stack_forked(void)
{
	uint32_t i;

	for (i = 0; i < STACKS; i++)
		if (atomic_load(&stacks[i].state) == TAKEN)
			atomic_store(&stacks[i].state, stacks[i].top ? FREE : ABSENT);
}
