/*
 * hook_seccomp.c - finds threads in strict seccomp mode: the kernel kills such a thread at any system call except read,
 * write and exit.
 *
 * Hooks make other system calls now and then. So a thread in this mode is not recorded, and its events count as lost.
 * Entering the mode is a system call, so the agent watches the two functions of the C library for it.
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

#define STRICT 1          /* SECCOMP_MODE_STRICT of linux/seccomp.h */
#define SET_MODE_STRICT 0 /* SECCOMP_SET_MODE_STRICT there */

/* SYS_prctl and SYS_seccomp, for the assembler. */
#ifdef __x86_64__
#define NUMBER_PRCTL "157"
#define NUMBER_SECCOMP "317"
_Static_assert(SYS_prctl == 157 && SYS_seccomp == 317, "the numbers for the assembler");
#else
#define NUMBER_PRCTL "167"
#define NUMBER_SECCOMP "277"
_Static_assert(SYS_prctl == 167 && SYS_seccomp == 277, "the numbers for the assembler");
#endif

typedef long syscall_function(long number, long a, long b, long c, long d, long e, long f);

#ifdef __x86_64__
static long kernel_call(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}
#else
static long kernel_call(long number, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;

	__asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
	return x0;
}
#endif

static long raw_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	long result = kernel_call(number, a, b, c, d, e, f);

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

/* Called by the assembler below, for each call that may enter the mode. */
static __attribute__((used)) long watched_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	long result = next_syscall(number, a, b, c, d, e, f);

	if (!result && (number == SYS_prctl ? (int)a == PR_SET_SECCOMP && b == STRICT : (int)a == SET_MODE_STRICT))
		agent_thread_is_sealed();
	return result;
}

/*
 * Jumps to the real function with the stack unchanged, because a child of vfork or clone returns through the caller's
 * frame or on its own stack.
 */
long hook_syscall(long number, ...) __attribute__((visibility("hidden")));

__asm__(".text\n"
	".hidden hook_syscall\n"
	".globl hook_syscall\n"
	".type hook_syscall, @function\n"
	"hook_syscall:\n"
	"	.cfi_startproc\n"
#ifdef __x86_64__
	"	endbr64\n"
	"	cmpq $" NUMBER_PRCTL ", %rdi\n"
	"	je watched_syscall\n"
	"	cmpq $" NUMBER_SECCOMP ", %rdi\n"
	"	je watched_syscall\n"
	"	jmp *next_syscall(%rip)\n"
#else
	"	hint #34\n" /* bti c, for machines that check indirect calls */
	"	cmp x0, #" NUMBER_PRCTL "\n"
	"	b.eq watched_syscall\n"
	"	cmp x0, #" NUMBER_SECCOMP "\n"
	"	b.eq watched_syscall\n"
	"	adrp x16, next_syscall\n"
	"	ldr x16, [x16, :lo12:next_syscall]\n"
	"	br x16\n"
#endif
	"	.cfi_endproc\n"
	".size hook_syscall, . - hook_syscall\n");

/* Passes all arguments on; the kernel knows which of them count. */
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
__asm__(".globl syscall\n.type syscall, @function\n.set syscall, hook_syscall\n"); /* the same for syscall */

const struct loaded_hook *hook_seccomp_table(size_t *count)
{
	static const struct loaded_hook table[] = { { "prctl", (void *)hook_prctl },
						    { "syscall", (void *)hook_syscall } };

	*count = MT_ARRAY_SIZE(table);
	return table;
}
