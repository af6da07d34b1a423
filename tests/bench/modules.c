/* The loop of modules.py: memory reported to PyTorch's profiler, which is what the agent hears of. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define CHUNKS 400
#define EVENTS 2000
#define WAYS 3

struct device {
	int8_t type, index;
};

/* The file that the processes of one measurement share: modules.sh reads the times. */
struct turns {
	_Atomic uint64_t turn;
	double ns[WAYS][CHUNKS]; /* processor time an event */
};

extern void report(void *, int64_t, uint64_t, uint64_t,
		   struct device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE")
	__attribute__((weak));

int loop(const char *path, unsigned way, unsigned ways);

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* A pause lets the collector empty the ring, too. False: the others are gone. */
static int my_turn(struct turns *turns, unsigned way, unsigned ways)
{
	static const struct timespec pause = { 0, 50000 };
	int i;

	for (i = 0; i < 400000; i++) {
		nanosleep(&pause, NULL);
		if (atomic_load(&turns->turn) % ways == way)
			return 1;
	}
	return 0;
}

static double one_chunk(uintptr_t address)
{
	static const struct device gpu = { 1, 0 };
	double start = now();
	int j;

	for (j = 0; j < EVENTS; j++)
		report((void *)(address + (uintptr_t)j * 512), 512, 512, 512,
		       gpu); /* NOLINT(performance-no-int-to-ptr) */
	return (now() - start) / EVENTS;
}

/* The processes take turns on one processor, chunk by chunk, so that a slower minute of the machine slows all of them alike. */
int loop(const char *path, unsigned way, unsigned ways)
{
	int fd = open(path, O_RDWR), i;
	struct turns *turns = mmap(NULL, sizeof(*turns), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cpu_set_t one;

	close(fd);
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	if (turns == MAP_FAILED || way >= WAYS || sched_setaffinity(0, sizeof(one), &one))
		return 0;
	for (i = 0; i < CHUNKS && my_turn(turns, way, ways); i++) {
		turns->ns[way][i] = one_chunk(0x7f0000000000 + (uintptr_t)i * EVENTS * 512);
		atomic_fetch_add(&turns->turn, 1);
	}
	munmap(turns, sizeof(*turns));
	return i == CHUNKS;
}
