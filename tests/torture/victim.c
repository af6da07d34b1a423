/*
 * victim.c - the program that is tortured: asks the driver for memory in ways that are hard on a recorder, and counts for
 * itself, in a file that is mapped and so outlives a SIGKILL:
 *
 *     begun   calls that were begun           recorded + lost <= begun, but for what is lost without being an event
 *     done    calls that have returned        recorded + lost >= done
 *
 * Its output depends on SEED and CALLS alone, recorded or not.
 *
 *     victim COUNTER SEED CALLS calls           one thread
 *                               at-once N       N threads at once, CALLS each        in-turn N    one after the other
 *                               small N         N threads at once with the smallest stack there is
 *                               signals HZ      a handler reports tensors meanwhile, HZ times a second
 *                               loader          a handler reports tensors whenever the loader's lock is taken
 *                               unload LIBRARY  by way of a library that is loaded and unloaded
 *                               spawn WAY       with a child, which is this program again (COUNTER.1), in the middle; or
 *                                               a copy of itself: fork, vfork, clone (raw), posix_spawn, copy
 *                               chain N         exec of itself, N times (COUNTER.1, ...)
 *                               forever MS      until that much time is over
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIVE 64 /* blocks a thread holds at most */

struct counter {
	_Atomic uint64_t begun, done;
	uint64_t pid;
};

struct device {
	signed char type, index;
};

static int (*init)(unsigned int flags), (*retain)(void **context, int device), (*current)(void *context);
static int (*mem_alloc)(uint64_t *address, size_t size), (*mem_free)(uint64_t address);
static void (*report)(void *block, int64_t size, uint64_t total, uint64_t reserved, struct device device);
static struct counter *counter;
static void *context;
static const char *counter_path;
static char **environment;
static uint64_t seed;
static long calls;
static _Atomic uint64_t sum; /* sum of all results: it is printed */
static pthread_barrier_t barrier;
static int (*through)(int (*call)(void *), void *); /* function of the library that comes and goes */

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static void open_counter(void)
{
	int fd = open(counter_path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);

	if (fd < 0 || ftruncate(fd, sizeof(*counter)))
		die(counter_path);
	counter = mmap(NULL, sizeof(*counter), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (counter == MAP_FAILED)
		die(counter_path);
	close(fd);
	counter->pid = (uint64_t)getpid();
}

static void open_driver(void)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW);

	if (!cuda)
		die("libcuda.so.1");
	*(void **)&init = dlsym(cuda, "cuInit");
	*(void **)&retain = dlsym(cuda, "cuDevicePrimaryCtxRetain");
	*(void **)&current = dlsym(cuda, "cuCtxSetCurrent");
	*(void **)&mem_alloc = dlsym(cuda, "cuMemAlloc_v2");
	*(void **)&mem_free = dlsym(cuda, "cuMemFree_v2");
	*(void **)&report = dlsym(RTLD_DEFAULT, "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
	if (init(0) || retain(&context, 0) || current(context))
		die("cuInit");
}

/* One thread's blocks, and its random numbers. */
struct work {
	uint64_t random, address[LIVE], held;
	long calls, turn;
};

static uint32_t draw(struct work *work)
{
	work->random = work->random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(work->random >> 33);
}

static int one_call(void *arg)
{
	struct work *work = arg;
	unsigned int at = draw(work) % LIVE;
	size_t size = (size_t)1 << (9 + draw(work) % 12);
	int result;

	atomic_fetch_add(&counter->begun, 1);
	result = work->address[at] ? mem_free(work->address[at]) : mem_alloc(&work->address[at], size);
	atomic_fetch_add(&counter->done, 1);
	if (work->held >> at & 1)
		work->address[at] = 0;
	work->held ^= (uint64_t)1 << at;
	atomic_fetch_add(&sum, (uint64_t)result * 1000003 + size * (at + 1));
	return result;
}

static void make_calls(struct work *work, long count)
{
	long i;

	for (i = 0; i < count; i++)
		one_call(work);
}

static struct work new_work(long number)
{
	return (struct work){ .random = seed * 1000 + (uint64_t)number, .calls = calls };
}

/* ---- threads ---- */

static int wait_for_all;

static void *thread_main(void *arg)
{
	struct work work = new_work((long)(intptr_t)arg);

	current(context);
	if (wait_for_all)
		pthread_barrier_wait(&barrier);
	make_calls(&work, calls);
	if (wait_for_all)
		pthread_barrier_wait(&barrier); /* nobody leaves before all are done */
	return NULL;
}

static void threads(long count, size_t stack, int at_once)
{
	pthread_t *thread = calloc((size_t)count, sizeof(*thread));
	pthread_attr_t attributes;
	long i;

	wait_for_all = at_once;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, stack);
	pthread_barrier_init(&barrier, NULL, (unsigned int)count);
	for (i = 0; i < count; i++) {
		if (!thread || pthread_create(&thread[i], &attributes, thread_main, (void *)(intptr_t)i))
			die("pthread_create");
		if (!at_once)
			pthread_join(thread[i], NULL);
	}
	for (i = 0; at_once && i < count; i++)
		pthread_join(thread[i], NULL);
	free(thread);
}

/* ---- signals ---- */

/* As an allocator does that is called in a handler: no lock. Only where something listens, so only when recorded. */
static void on_alarm(int number)
{
	static char block[1];
	const struct device gpu = { 1, 0 };

	(void)number;
	if (!report)
		return;
	atomic_fetch_add(&counter->begun, 2);
	report(block, 512, 512, 512, gpu);
	report(block, -512, 0, 512, gpu);
	atomic_fetch_add(&counter->done, 2);
}

static void signals(long hertz)
{
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	struct itimerval every = { { 0, 1000000 / hertz }, { 0, 1000000 / hertz } }, never = { { 0, 0 }, { 0, 0 } };
	struct work work = new_work(0);

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	make_calls(&work, calls);
	setitimer(ITIMER_REAL, &never, NULL);
}

/* ---- a signal while the loader's lock is being given back ---- */

typedef int see_object(struct dl_phdr_info *object, size_t size, void *data);

static int in_loader, loader_counts;

/*
 * Everybody's, the recorder's too. The lock is recursive; but a signal that comes between its last two instructions finds a
 * lock with no owner that is not free, and a handler that takes it again waits for ever. To take it again is therefore wrong.
 */
int dl_iterate_phdr(see_object *see, void *data)
{
	static int (*next)(see_object * see, void *data);
	int result;

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "dl_iterate_phdr");
	if (!loader_counts)
		return next(see, data);
	if (in_loader++)
		atomic_fetch_add(&sum, 1);
	result = next(see, data);
	if (in_loader == 1)
		on_alarm(0);
	in_loader--;
	return result;
}

static void loader(void)
{
	struct work work = new_work(0);
	long i;

	loader_counts = 1;
	for (i = 0; i < calls; i++) {
		one_call(&work);
		on_alarm(0);
	}
	loader_counts = 0;
}

/* ---- a library that comes and goes ---- */

static void unload(const char *library)
{
	struct work work = new_work(0);
	long i, j;

	for (i = 0; i < calls; i += 10) {
		void *handle = dlopen(library, RTLD_NOW);

		if (!handle)
			die(library);
		*(void **)&through = dlsym(handle, "through");
		for (j = 0; j < 10; j++)
			through(one_call, &work);
		dlclose(handle);
	}
}

/* ---- processes ---- */

static char next_path[PATH_MAX], seed_text[24], calls_text[24], count_text[24];

/* The command line of this program for a child: plain calls, or the rest of the chain. */
static void next_command(char **argv, const char *how, long count)
{
	static char self[] = "/proc/self/exe";
	char *const command[] = { self, next_path, seed_text, calls_text, (char *)how, count_text, NULL };

	snprintf(next_path, sizeof(next_path), "%s.%ld", counter_path, count);
	snprintf(seed_text, sizeof(seed_text), "%llu", (unsigned long long)seed);
	snprintf(calls_text, sizeof(calls_text), "%ld", calls);
	snprintf(count_text, sizeof(count_text), "%ld", count);
	memcpy(argv, command, sizeof(command));
}

static void wait_for(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, __WALL) != pid || status)
		die("child");
}

/* Not inlined: the child of vfork runs on this frame. */
static __attribute__((noinline)) pid_t vfork_and_exec(char **argv)
{
	pid_t pid = vfork();

	if (!pid) {
		execve(argv[0], argv, environment);
		_exit(127);
	}
	return pid;
}

static pid_t start(const char *way, char **argv)
{
	pid_t pid = -1;

	if (!strcmp(way, "posix_spawn"))
		return posix_spawn(&pid, argv[0], NULL, NULL, argv, environment) ? -1 : pid;
	if (!strcmp(way, "vfork"))
		return vfork_and_exec(argv);
	pid = strcmp(way, "clone") ? fork() : (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (!pid && !strcmp(way, "copy")) {
		struct work work = new_work(1);

		counter = mmap(NULL, sizeof(*counter), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		make_calls(&work, 100); /* its memory are copies; nobody counts them */
		_exit(0);
	}
	if (!pid) {
		execve(argv[0], argv, environment);
		_exit(127);
	}
	return pid;
}

static void spawn(const char *way)
{
	struct work work = new_work(0);
	char *argv[7];
	long part;

	for (part = 1; part <= 3; part++) {
		make_calls(&work, calls / 4);
		next_command(argv, "calls", part);
		wait_for(start(way, argv));
	}
	make_calls(&work, calls / 4);
}

static void chain(long left)
{
	struct work work = new_work(0);
	char *argv[7];

	make_calls(&work, calls);
	if (!left)
		return;
	next_command(argv, "chain", left - 1);
	execve(argv[0], argv, environment);
	die("execve");
}

static void forever(long ms)
{
	struct work work = new_work(0);
	struct timespec now, end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += ms / 1000;
	do {
		make_calls(&work, 1000);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < end.tv_sec);
	atomic_store(&sum, 0);
}

int main(int argc, char **argv, char **envp)
{
	const char *how = argc > 4 ? argv[4] : "", *what = argc > 5 ? argv[5] : "0";
	long number = strtol(what, NULL, 10);
	struct work work;

	if (argc < 5) {
		fprintf(stderr, "victim: COUNTER SEED CALLS HOW [WHAT]\n");
		return 2;
	}
	counter_path = argv[1];
	environment = envp;
	seed = strtoull(argv[2], NULL, 10);
	calls = strtol(argv[3], NULL, 10);
	open_counter();
	open_driver();
	work = new_work(0);
	if (!strcmp(how, "calls"))
		make_calls(&work, calls);
	else if (!strcmp(how, "at-once") || !strcmp(how, "in-turn"))
		threads(number, 64u << 10, !strcmp(how, "at-once"));
	else if (!strcmp(how, "small"))
		threads(number, (size_t)PTHREAD_STACK_MIN, 1);
	else if (!strcmp(how, "signals"))
		signals(number);
	else if (!strcmp(how, "loader"))
		loader();
	else if (!strcmp(how, "unload"))
		unload(what);
	else if (!strcmp(how, "spawn"))
		spawn(what);
	else if (!strcmp(how, "chain"))
		chain(number);
	else if (!strcmp(how, "forever"))
		forever(number);
	printf("%s: %016llx\n", how, (unsigned long long)atomic_load(&sum));
	return 0;
}
