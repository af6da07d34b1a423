/*
 * hook_seccomp.c - the kernel kills a thread in strict seccomp mode at its next system call other than read, write and exit.
 *
 * A hook makes other system calls now and then, so a thread in this mode is left alone, and its events are counted as lost.
 * Asking for the mode is a system call, too, so the agent watches the two functions of the C library that enter the mode.
 */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include "agent/life/agent.h"
#include "agent/loaded/loaded.h"
#include "hooks.h"
#include "memtrace/base.h"

#define STRICT 1           /* SECCOMP_MODE_STRICT of linux/seccomp.h */
#define SET_MODE_STRICT 0  /* SECCOMP_SET_MODE_STRICT there */
#define NUMBER_PRCTL "157" /* SYS_prctl, for the assembler */
#define NUMBER_SECCOMP "317"

_Static_assert(SYS_prctl == 157 && SYS_seccomp == 317, "the numbers for the assembler");

typedef long syscall_function(long number, long a, long b, long c, long d, long e, long f);

static long raw_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	if (result >= 0 || result < -4095)
		return result;
	errno = (int)-result;
	return -1;
}

/* The function that the program would call without the agent: another preloaded library may stand in for syscall, too. */
static syscall_function *next_syscall __attribute__((used)) = raw_syscall;

static __attribute__((constructor)) void find_next(void)
{
	void *found = loaded_find("syscall");

	if (found)
		*(void **)&next_syscall = found;
}

/* The calls that may enter the mode; the assembler below comes here. */
static __attribute__((used)) long watched_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	long result = next_syscall(number, a, b, c, d, e, f);

	if (!result && (number == SYS_prctl ? (int)a == PR_SET_SECCOMP && b == STRICT : (int)a == SET_MODE_STRICT))
		agent_thread_is_sealed();
	return result;
}

/* Jumps on with the stack as it is: a child of vfork or clone returns through the caller's frame or on a stack of its own. */
static __attribute__((naked)) long hook_syscall(long number MT_UNUSED, ...)
{
	__asm__("endbr64\n\t"
		"cmpq $" NUMBER_PRCTL ", %rdi\n\t"
		"je watched_syscall\n\t"
		"cmpq $" NUMBER_SECCOMP ", %rdi\n\t"
		"je watched_syscall\n\t"
		"jmp *next_syscall(%rip)");
}

/* The kernel knows which of the arguments mean something. */
static int hook_prctl(int option, ...)
{
	long argument[4];
	va_list list;
	size_t i;

	va_start(list, option);
	for (i = 0; i < MT_ARRAY_SIZE(argument); i++)
		argument[i] = va_arg(list, long);
	va_end(list);
	return (int)watched_syscall(SYS_prctl, option, argument[0], argument[1], argument[2], argument[3], 0);
}

MT_EXPORT int exported_prctl(int option, ...) __asm__("prctl") __attribute__((alias("hook_prctl")));
MT_EXPORT long exported_syscall(long number, ...) __asm__("syscall") __attribute__((alias("hook_syscall")));

const struct loaded_hook *hook_seccomp_table(size_t *count)
{
	static const struct loaded_hook table[] = { { "prctl", (void *)hook_prctl },
						    { "syscall", (void *)hook_syscall } };

	*count = MT_ARRAY_SIZE(table);
	return table;
}
