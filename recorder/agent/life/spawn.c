/*
 * spawn.c - starts the collector unnoticed by the program.
 *
 *     program ──clone, no exit signal──> helper ──clone──> memrec --collect ──fork──> the collector
 *        <──────── in memory ───────────  waits  <─ ends ─┘
 *
 * fork() would run the program's atfork handlers. A child that runs another program raises SIGCHLD at its end and shows
 * in waitpid(-1), however it was cloned. So the collector is the child of a helper. The helper never runs another
 * program, so its end raises no signal. The collector's first process locks the ring, forks and ends at once.
 *
 * A program that adopts orphans (PR_SET_CHILD_SUBREAPER) may wait for all its children before it ends. The collector
 * waits for the program, so such a program must not adopt it. Process 1 of a container adopts all orphans.
 */
#include "agent.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "memtrace/base.h"
#include "memtrace/error.h"

#define STACK_BYTES (64u << 10) /* stack of the helper, and of its child */
#define WAIT_STEP_NS 200000
#define WAIT_STEPS 50000 /* 10 s, then a collector that does not detach is given up */
#define SIGSET_BYTES 8   /* size of the kernel's sigset_t */

/* Data for the two processes that share the program's memory. */
struct spawn {
	const char *program;
	char *argv[5];
	char **envp;
	uint8_t *helper_stack, *child_stack; /* their tops */
	volatile int *status;                /* 0: the collector runs */
};

/* 1: the variable belongs to the agent, and the collector must not get it. */
static int is_ours(const char *variable)
{
	static const char *const names[] = { "LD_PRELOAD=", "CUDA_INJECTION64_PATH=", "NVTX_INJECTION64_PATH=",
					     MEMREC_OPTIONS_VARIABLE "=" };
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(names); i++)
		if (!strncmp(variable, names[i], strlen(names[i])))
			return 1;
	return 0;
}

static size_t count_environment(void)
{
	size_t count = 0;

	while (environ && environ[count])
		count++;
	return count;
}

/* The program may call setenv meanwhile, so at most `max` pointers are copied, the last one NULL. */
static void copy_environment(char **to, size_t max)
{
	char **end = to + max - 1, **from;

	for (from = environ; from && *from && to < end; from++)
		if (!is_ours(*from))
			*to++ = *from;
	*to = NULL;
}

/* From here on only system calls: memory and errno belong to the program, which is halted. */
static int run_program(void *context)
{
	const struct spawn *spawn = context;

	execve(spawn->program, spawn->argv, spawn->envp);
	syscall(SYS_exit_group, 127);
	return 127;
}

/* Returns the exit status; 1 for a signal, and for a program that does not end. */
static int wait_for(pid_t pid)
{
	struct timespec step = { 0, WAIT_STEP_NS };
	int steps, status;
	pid_t got;

	for (steps = 0; steps < WAIT_STEPS; steps++) {
		got = (pid_t)syscall(SYS_wait4, pid, &status, WNOHANG | __WALL, NULL);
		if (got == pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
		if (got < 0 && errno != EINTR)
			return 1;
		syscall(SYS_nanosleep, &step, NULL);
	}
	kill(pid, SIGKILL);
	syscall(SYS_wait4, pid, &status, __WALL, NULL);
	return 1;
}

/* Signal handlers are a copy here, so they may be reset. */
static int help(void *context)
{
	struct spawn *spawn = context;
	struct sigaction action;
	uint64_t none = 0;
	pid_t pid;
	int i;

	memset(&action, 0, sizeof(action));
	action.sa_handler = SIG_DFL;
	for (i = 1; i < NSIG; i++)
		sigaction(i, &action, NULL);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, SIGSET_BYTES);
	pid = clone(run_program, spawn->child_stack, CLONE_VM | CLONE_VFORK | SIGCHLD, spawn);
	if (pid > 0)
		*spawn->status = wait_for(pid);
	syscall(SYS_exit_group, 0);
	return 0;
}

/*
 * Starts the helper. 1: the collector runs. The helper reports in memory, because a thread of the program that waits
 * for all kinds of children (__WALL) could take its exit status.
 */
static int start_helper(struct spawn *spawn)
{
	uint64_t all = ~0ull, old = 0;
	pid_t pid, got;

	*spawn->status = 1;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &old, SIGSET_BYTES);
	pid = clone(help, spawn->helper_stack, CLONE_VM | CLONE_VFORK, spawn);
	do {
		got = pid > 0 ? (pid_t)syscall(SYS_wait4, pid, NULL, __WALL, NULL) : -1;
	} while (pid > 0 && got < 0 && errno == EINTR);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, SIGSET_BYTES);
	return pid > 0 && !*spawn->status;
}

int agent_spawn_collector(const char *program, const char *ring_path, const char *run_dir)
{
	size_t env_bytes = ((count_environment() + 1) * sizeof(char *) | 4095) + 1; /* whole pages */
	size_t bytes = env_bytes + 2 * STACK_BYTES + sizeof(int);
	struct spawn spawn = { program, { (char *)"memrec", (char *)"--collect", (char *)ring_path, NULL, NULL } };
	uint8_t *area;
	int started, adopts = 0;

	if (!*program)
		return -MT_E_MISSING;
	if (*run_dir)
		spawn.argv[3] = (char *)run_dir;
	/* Shared: valgrind makes a fork of a clone, and the helper's answer has to come back. */
	area = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED)
		return -MT_E_MEMORY;
	spawn.envp = (char **)area;
	spawn.helper_stack = area + env_bytes + STACK_BYTES;
	spawn.child_stack = spawn.helper_stack + STACK_BYTES;
	spawn.status = (volatile int *)spawn.child_stack;
	copy_environment(spawn.envp, env_bytes / sizeof(char *));
	syscall(SYS_prctl, PR_GET_CHILD_SUBREAPER, &adopts); /* prctl is hooked */
	if (adopts)
		syscall(SYS_prctl, PR_SET_CHILD_SUBREAPER, 0);
	started = start_helper(&spawn);
	if (adopts)
		syscall(SYS_prctl, PR_SET_CHILD_SUBREAPER, 1);
	munmap(area, bytes);
	return started ? 0 : -MT_E_MISSING;
}
