/* The loop of modules.py: memory reported to PyTorch's profiler, which is what the agent hears of. */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

struct device {
	int8_t type, index;
};

extern void report(void *, int64_t, uint64_t, uint64_t,
		   struct device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE")
	__attribute__((weak));

double loop(int chunks, int events);

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
	double one = *(const double *)a, two = *(const double *)b;

	return (one > two) - (one < two);
}

/*
 * ns of processor time an event: that of the fastest tenth of the chunks, since the clock of a virtual machine may jump. Pauses let
 * the collector empty the ring. 0: out of memory.
 */
double loop(int chunks, int events)
{
	static const struct timespec pause = { 0, 200000 };
	static const struct device gpu = { 1, 0 };
	uintptr_t address = 0x7f0000000000;
	double *times = malloc((size_t)chunks * sizeof(*times)), result = 0;
	int i, j;

	for (i = 0; i < chunks && times; i++) {
		times[i] = now();
		for (j = 0; j < events; j++)
			report((void *)(address += 512), 512, 512, 512, gpu); /* NOLINT(performance-no-int-to-ptr) */
		times[i] = (now() - times[i]) / events;
		nanosleep(&pause, NULL);
	}
	if (times) {
		qsort(times, (size_t)chunks, sizeof(*times), by_size);
		result = times[chunks / 10];
	}
	free(times);
	return result;
}
