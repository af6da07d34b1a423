/*
 * hook_seccomp.c - a thread that gives up all system calls but read, write and exit (strict seccomp) is killed by the next
 * one. The recorder makes some now and then, so such a thread is left alone from then on, and its events are counted as
 * lost. Nobody can ask whether a thread is in that mode: the question is a system call. So we watch it going there.
 */
#include <stdarg.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "agent/life/agent.h"
#include "hooks.h"
#include "memtrace/base.h"

#define STRICT 1ul /* SECCOMP_MODE_STRICT of linux/seccomp.h */

/* The kernel knows which of the arguments mean something. */
static int hook_prctl(int option, ...)
{
	unsigned long argument[4];
	va_list list;
	size_t i;
	int result;

	va_start(list, option);
	for (i = 0; i < MT_ARRAY_SIZE(argument); i++)
		argument[i] = va_arg(list, unsigned long);
	va_end(list);
	result = (int)syscall(SYS_prctl, option, argument[0], argument[1], argument[2], argument[3]);
	if (!result && option == PR_SET_SECCOMP && argument[0] == STRICT)
		agent_thread_is_sealed();
	return result;
}

MT_EXPORT int exported_prctl(int option, ...) __asm__("prctl") __attribute__((alias("hook_prctl")));

const struct loaded_hook *hook_seccomp_table(size_t *count)
{
	static const struct loaded_hook table[] = { { "prctl", (void *)hook_prctl } };

	*count = MT_ARRAY_SIZE(table);
	return table;
}
