/*
 * agent_native.c - programs whose native stacks are hard to walk. Reports blocks to the agent as PyTorch would, and
 * prints for each, as "ADDRESS RETURN_ADDRESS...", what backtrace() says at the same place (by another unwinder).
 *
 *     agent_native CASE [LIBRARY...]
 *
 * Also built as a library (-DLIBRARY=n) that calls back, with frames of another size and kind for every n, and as a
 * library for Python that makes a thread of its own (-DFOR_PYTHON).
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#ifdef LIBRARY

/* At the same place in every library, so that the return address in it is the same number. */
void call_back(void (*function)(void));

void __attribute__((aligned(4096))) call_back(void (*function)(void))
{
	volatile char room[LIBRARY * 4096];

	room[0] = 0;
	function();
	room[1] = 1;
}

#else

struct device {
	signed char type, index;
};

typedef void report_function(void *block, int64_t size, uint64_t total, uint64_t reserved, struct device device);

report_function hook __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE") __attribute__((weak));

static uint64_t next_address = 0x1000;

/* The innermost of our frames: its own two return addresses differ, all others are the same. */
static void __attribute__((noinline)) event(void)
{
	struct device gpu = { 1, 0 };
	void *frames[400];
	int count = backtrace(frames, 400), i;

	printf("%lx", (unsigned long)next_address);
	for (i = 0; i < count; i++)
		printf(" %lx", (unsigned long)(uintptr_t)frames[i]);
	printf("\n");
	if (hook)
		hook((void *)(uintptr_t)next_address, 64, 64, 64, gpu);
	next_address += 0x100;
}

#ifdef FOR_PYTHON

static void *in_thread(void *callback)
{
	event();
	if (callback)
		((void (*)(void))callback)();
	event();
	return NULL;
}

void run_thread(void (*callback)(void));

/* A thread that Python does not know, until the callback makes it known. */
void run_thread(void (*callback)(void))
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, in_thread, (void *)callback))
		pthread_join(thread, NULL);
	fflush(stdout);
}

#else

static volatile int nothing;

static void __attribute__((noinline)) nested(int depth)
{
	if (depth)
		nested(depth - 1);
	else
		event();
	nothing++; /* no tail call */
}

static void plain(char **arguments)
{
	(void)arguments;
	event();
	nested(1);
	nested(10);
	nested(60);
	nested(300);
}

static void on_signal(int number)
{
	(void)number;
	nested(2);
}

static void from_signal(int flags)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags };

	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	nothing++;
}

static void signals(char **arguments)
{
	static char room[1 << 16];
	stack_t stack = { .ss_sp = room, .ss_size = sizeof(room) };

	(void)arguments;
	from_signal(0);
	sigaltstack(&stack, NULL);
	from_signal(SA_ONSTACK);
}

static ucontext_t main_context, other_context;

static void in_context(void)
{
	nested(3);
	swapcontext(&other_context, &main_context);
}

static void contexts(char **arguments)
{
	static char room[1 << 16];

	(void)arguments;
	getcontext(&other_context);
	other_context.uc_stack.ss_sp = room;
	other_context.uc_stack.ss_size = sizeof(room);
	makecontext(&other_context, in_context, 0);
	swapcontext(&main_context, &other_context);
	nested(1);
}

static void *in_thread(void *none)
{
	nested(4);
	return none;
}

static void threads(char **arguments)
{
	pthread_t thread;
	int i;

	(void)arguments;
	for (i = 0; i < 4; i++)
		if (!pthread_create(&thread, NULL, in_thread, NULL))
			pthread_join(thread, NULL);
}

/* Code that nobody has a table for; it uses %rbp for something else, which here looks like a frame but is none. */
static void unknown_code(char **arguments)
{
	static const unsigned char code[] = {
		0x55,                         /* push %rbp */
		0x68, 0x41, 0x41, 0x41, 0x41, /* push $0x41414141 */
		0x48, 0x8d, 0x44, 0x24, 0x08, /* lea 8(%rsp), %rax */
		0x50,                         /* push %rax */
		0x48, 0x89, 0xe5,             /* mov %rsp, %rbp */
		0x48, 0x83, 0xec, 0x10,       /* sub $16, %rsp */
		0xff, 0xd7,                   /* call *%rdi */
		0x48, 0x83, 0xc4, 0x20,       /* add $32, %rsp */
		0x5d, 0xc3                    /* pop %rbp; ret */
	};
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)arguments;
	if (page == MAP_FAILED)
		exit(3);
	memcpy(page, code, sizeof(code));
	((void (*)(void (*)(void)))page)(event);
	((void (*)(void (*)(void)))page)(event);
	nothing++;
}

/* The same from within a library's code. */
void call_without_tables(void (*function)(void));
__asm__(".text\n"
	"call_without_tables:\n"
	"	push %rbp\n"
	"	sub $32, %rsp\n"
	"	mov $7, %rbp\n"
	"	call *%rdi\n"
	"	add $32, %rsp\n"
	"	pop %rbp\n"
	"	ret\n");

static void no_tables(char **arguments)
{
	(void)arguments;
	call_without_tables(event);
	call_without_tables(event);
	nothing++;
}

static void through(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void (*call_back)(void (*)(void)) = library ? (void (*)(void (*)(void)))dlsym(library, "call_back") : NULL;

	if (!call_back)
		exit(3);
	call_back(event);
	call_back(event);
	dlclose(library);
}

static void libraries(char **arguments)
{
	for (; *arguments; arguments++)
		through(*arguments);
}

static const struct {
	const char *name;
	void (*run)(char **arguments);
} cases[] = {
	{ "plain", plain },         { "signals", signals },           { "contexts", contexts },
	{ "threads", threads },     { "unknown_code", unknown_code }, { "no_tables", no_tables },
	{ "libraries", libraries },
};

int main(int argc, char **argv)
{
	size_t i;

	for (i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(cases[i].name, argv[1]))
			continue;
		cases[i].run(argv + 2);
		return 0;
	}
	return 2;
}

#endif
#endif
