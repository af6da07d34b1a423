/*
 * agent_paint.c - how much stack a hook needs: each ACT runs on a painted stack of its own, and is followed by the number
 * of bytes below the caller that are painted no more. Under the agent or without it (then a hook that is not there counts
 * as 0). Runs the acts one after the other, each on a new thread.
 *
 *     tensor   PyTorch reports a block of a GPU          free    and takes it back        oom    and has run out
 *     cpu      PyTorch asks whether to report, and reports a block of the CPU
 *     mark     a mark of the program                     phase   it begins and ends a phase
 *     init     cuInit and a context                      driver  the driver is asked for memory
 *     small N  on a stack of N KiB, without paint: takes memory and reports a block; prints "done"
 *     fiber N  the same on a stack that makecontext has switched to
 *     signal N the same in a signal handler on an alternate stack
 *     sealed   in a thread that may make no system calls; prints whether it got to its end. The thread gets there by prctl,
 *              sealed_number by syscall(SYS_prctl), sealed_seccomp by syscall(SYS_seccomp)
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK (512u << 10)
#define PAINT 0xa5
#define NOINLINE __attribute__((noinline))

struct device {
	signed char type, index;
};

static void (*report)(void *block, int64_t size, uint64_t total, uint64_t reserved, struct device device);
static void (*report_oom)(int64_t size, uint64_t total, uint64_t reserved, struct device device);
static int (*wants_cpu)(void);
static void (*mark)(const char *name), (*push)(const char *name), (*pop)(void);
static int (*init)(unsigned int flags), (*retain)(void **context, int device), (*current)(void *context);
static int (*take)(uint64_t *address, size_t bytes);
static void *context;

static void find_all(void)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW);

	*(void **)&report = dlsym(RTLD_DEFAULT, "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
	*(void **)&report_oom = dlsym(RTLD_DEFAULT, "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE");
	*(void **)&wants_cpu = dlsym(RTLD_DEFAULT, "_ZN3c1022memoryProfilingEnabledEv");
	*(void **)&mark = dlsym(RTLD_DEFAULT, "memrec_agent_mark");
	*(void **)&push = dlsym(RTLD_DEFAULT, "memrec_agent_phase_push");
	*(void **)&pop = dlsym(RTLD_DEFAULT, "memrec_agent_phase_pop");
	if (!cuda)
		return;
	*(void **)&init = dlsym(cuda, "cuInit");
	*(void **)&retain = dlsym(cuda, "cuDevicePrimaryCtxRetain");
	*(void **)&current = dlsym(cuda, "cuCtxSetCurrent");
	*(void **)&take = dlsym(cuda, "cuMemAlloc_v2");
}

/* ---- Acts ---- */

static const struct device gpu = { 1, 0 }, cpu = { 0, -1 };

static void act_tensor(void)
{
	if (report)
		report((void *)0x10000, 512, 512, 512, gpu);
}

static void act_free(void)
{
	if (report)
		report((void *)0x10000, -512, 0, 512, gpu);
}

static void act_oom(void)
{
	if (report_oom)
		report_oom(1 << 20, 512, 512, gpu);
}

static void act_cpu(void)
{
	if (wants_cpu && wants_cpu())
		report((void *)0x20000, 512, 512, 0, cpu);
}

static void act_mark(void)
{
	if (mark)
		mark("a mark");
}

static void act_phase(void)
{
	if (!push)
		return;
	push("rollout");
	pop();
}

static void act_init(void)
{
	if (init(0) || retain(&context, 0))
		exit(3);
}

static void act_driver(void)
{
	uint64_t address;

	if (current(context) || take(&address, 4096))
		exit(3);
}

static const struct {
	const char *name;
	void (*act)(void);
} acts[] = {
	{ "tensor", act_tensor }, { "free", act_free },   { "oom", act_oom },   { "cpu", act_cpu },
	{ "mark", act_mark },     { "phase", act_phase }, { "init", act_init }, { "driver", act_driver },
};

static void (*find_act(const char *name))(void)
{
	size_t i;

	for (i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
		if (!strcmp(acts[i].name, name))
			return acts[i].act;
	fprintf(stderr, "agent_paint: %s: no such act\n", name);
	exit(2);
}

/* ---- On a painted stack ---- */

struct painting {
	void (*act)(void);
	uint8_t *stack;
	long depth;
};

static NOINLINE uint8_t *here(void)
{
	return __builtin_frame_address(0);
}

/* The frames of this function and of here() do not count. */
static void *run_painted(void *arg)
{
	struct painting *painting = arg;
	uint8_t *top = here(), *lowest = painting->stack;

	memset(painting->stack, PAINT, (size_t)(top - painting->stack) - 256);
	painting->act();
	while (*lowest == PAINT)
		lowest++;
	painting->depth = top - lowest;
	return NULL;
}

static void *new_stack(size_t bytes)
{
	void *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stack == MAP_FAILED)
		exit(3);
	return stack;
}

static void on_thread(void *(*run)(void *), void *arg, void *stack, size_t bytes)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	if (pthread_attr_setstack(&attributes, stack, bytes) || pthread_create(&thread, &attributes, run, arg)) {
		fprintf(stderr, "agent_paint: no thread with a stack of %zu bytes\n", bytes);
		exit(2);
	}
	pthread_join(thread, NULL);
}

static void paint(const char *name)
{
	struct painting painting = { find_act(name), new_stack(STACK), 0 };

	on_thread(run_painted, &painting, painting.stack, STACK);
	printf("%s %ld\n", name, painting.depth);
}

/* ---- On a small stack ---- */

static void *take_and_report(void *arg)
{
	act_driver();
	act_tensor();
	act_mark();
	act_free();
	return arg;
}

static void small(size_t bytes)
{
	on_thread(take_and_report, NULL, new_stack(bytes), bytes);
}

static ucontext_t outside, inside;

static void in_fiber(void)
{
	take_and_report(NULL);
}

static void fiber(size_t bytes)
{
	getcontext(&inside);
	inside.uc_stack.ss_sp = new_stack(bytes);
	inside.uc_stack.ss_size = bytes;
	inside.uc_link = &outside;
	makecontext(&inside, in_fiber, 0);
	swapcontext(&outside, &inside);
}

static void on_signal(int number)
{
	(void)number;
	take_and_report(NULL);
}

static void in_signal(size_t bytes)
{
	stack_t stack = { .ss_sp = new_stack(bytes), .ss_size = bytes };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
}

static volatile int reached;

static int seal_by_prctl(void)
{
	return prctl(PR_SET_SECCOMP, 1, 0, 0, 0);
}

static int seal_by_number(void)
{
	return (int)syscall(SYS_prctl, PR_SET_SECCOMP, 1, 0, 0, 0);
}

static int seal_by_seccomp(void)
{
	return (int)syscall(SYS_seccomp, 0, 0, NULL);
}

/* The ways into strict mode, by the name of the act. */
static const struct {
	const char *act;
	int (*seal)(void);
} seals[] = { { "sealed", seal_by_prctl }, { "sealed_number", seal_by_number }, { "sealed_seccomp", seal_by_seccomp } };

/* pthread's own way out makes calls that are not allowed any more. */
static void *in_strict_mode(void *arg)
{
	if (seals[*(const size_t *)arg].seal())
		exit(3);
	act_tensor();
	act_mark();
	reached = 1;
	syscall(SYS_exit, 0);
	return arg;
}

/* Without LD_PRELOAD the agent's functions are found in it alone. */
static void find_in_agent(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *agent = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;

	if (agent)
		*(void **)&mark = dlsym(agent, "memrec_agent_mark");
}

/* 1: the act is a way into strict mode, and was done. */
static int sealed(const char *act)
{
	size_t i;

	for (i = 0; i < sizeof(seals) / sizeof(seals[0]); i++) {
		if (strcmp(act, seals[i].act))
			continue;
		find_in_agent();
		on_thread(in_strict_mode, &i, new_stack(STACK), STACK);
		printf("sealed %s\n", reached ? "reached" : "killed");
		return 1;
	}
	return 0;
}

static int is(const char *word, const char *name)
{
	return !strcmp(word, name);
}

int main(int argc, char **argv)
{
	void (*on)(size_t);
	int i;

	find_all();
	setvbuf(stdout, NULL, _IONBF, 0);
	for (i = 1; i < argc; i++) {
		if (sealed(argv[i]))
			continue;
		on = is(argv[i], "small")    ? small
		     : is(argv[i], "fiber")  ? fiber
		     : is(argv[i], "signal") ? in_signal
					     : NULL;
		if (!on || i + 1 == argc) {
			paint(argv[i]);
			continue;
		}
		on((size_t)atol(argv[++i]) << 10);
		printf("done\n");
	}
	return 0;
}
