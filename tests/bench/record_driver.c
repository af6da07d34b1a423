/*
 * record_driver.c - makes events at a given depth and says what one costs, for record.sh.
 *
 *     record_driver report|malloc BLOCKS FRAMES THREADS     events of PyTorch's allocator, or of malloc
 *     record_driver reap COMMAND...                         runs it and says how much CPU time all of it took, and how
 *                                                           much of that processes that left their parents (collectors)
 *
 * One line: ns per allocation, ns per free (the median burst), CPU seconds of this process.
 *
 * A burst is small enough for the recorder's ring, and the pause after it long enough for whoever reads the ring, so
 * that what is measured is the cost of an event in the program and not the speed of the reader.
 *
 * Also built as a library (-DLIBRARY), for record_driver.py, where the frames are Python's.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BURST 1024 /* blocks, each allocated and freed */
#define PAUSE_NS 4000000
#define CALL_SITES 64 /* different stacks */
#define THREADS_MAX 16
#define FIXED_FRAMES 6 /* frames of a stack that are not step(): leaf, pass, run, main, and two of libc */

struct device {
	signed char type, index;
};

typedef void report_function(void *block, int64_t size, uint64_t total, uint64_t reserved, struct device device);

report_function hook __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE") __attribute__((weak));

enum what { ALLOC, FREE };

/* One thread's blocks. */
struct load {
	int use_malloc, frames;
	unsigned int bursts, done;
	uint64_t total;
	void *block[BURST];
	double *alloc_ns, *free_ns; /* per burst, of one event */
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static size_t size_of(unsigned int i)
{
	return 512 + (i * 2654435761u >> 22 & 15) * 512;
}

static __attribute__((noinline)) void leaf(struct load *load, enum what what, unsigned int i)
{
	struct device gpu = { 1, 0 };
	int64_t size = (int64_t)size_of(i);
	void **block = &load->block[i];

	if (load->use_malloc) {
		if (what == FREE)
			free(*block);
		else
			*block = malloc((size_t)size / 32); /* small ones: malloc itself is quick */
	} else if (hook) {
		load->total += what == ALLOC ? (uint64_t)size : 0 - (uint64_t)size;
		hook(*block, what == ALLOC ? size : -size, load->total, load->total, gpu);
	}
	__asm__ volatile("" : : : "memory"); /* no tail call */
}

#ifndef LIBRARY

/* `path` picks one of two calls at each level: different stacks, of the same depth. */
static __attribute__((noinline)) void step(struct load *load, enum what what, unsigned int i, int levels,
					   unsigned int path)
{
	if (levels <= 0) {
		leaf(load, what, i);
		__asm__ volatile("" : : : "memory");
	} else if (path & 1) {
		step(load, what, i, levels - 1, path >> 1);
		__asm__ volatile("nop" : : : "memory");
	} else {
		step(load, what, i, levels - 1, path >> 1);
		__asm__ volatile("" : : : "memory");
	}
}

/* One event per block. Returns ns of one. */
static __attribute__((noinline)) double pass(struct load *load, enum what what)
{
	uint64_t start = now_ns();
	unsigned int i;

	for (i = 0; i < BURST; i++)
		step(load, what, i, load->frames - FIXED_FRAMES, i % CALL_SITES);
	return (double)(now_ns() - start) / BURST;
}

#endif

static void make_room(struct load *load)
{
	unsigned int i;

	mallopt(M_TRIM_THRESHOLD, 1 << 30); /* malloc's own work shall be the same in every burst */
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	load->alloc_ns = calloc(load->bursts, sizeof(double));
	load->free_ns = calloc(load->bursts, sizeof(double));
	for (i = 0; i < BURST && !load->use_malloc; i++)
		load->block[i] = malloc(size_of(i));
}

static int by_size(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

static double median(double *values, unsigned int count)
{
	qsort(values, count, sizeof(*values), by_size);
	return count ? values[count / 2] : 0;
}

static double seconds_of(const struct rusage *usage)
{
	return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
	       (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;
}

static double cpu_seconds(int who)
{
	struct rusage usage;

	getrusage(who, &usage);
	return seconds_of(&usage);
}

/* All threads' bursts together. */
static void print(struct load *load, unsigned int threads)
{
	double alloc_ns = 0, free_ns = 0;
	unsigned int i;

	for (i = 0; i < threads; i++) {
		alloc_ns += median(load[i].alloc_ns, load[i].done) / threads;
		free_ns += median(load[i].free_ns, load[i].done) / threads;
	}
	printf("%.1f %.1f %.3f\n", alloc_ns, free_ns, cpu_seconds(RUSAGE_SELF));
}

#ifdef LIBRARY

static struct load loads[THREADS_MAX];

/* `thread`: from 0. Before its first burst(). */
void begin(unsigned int thread, int use_malloc, unsigned int bursts);
/* Events of blocks first to first + count - 1, from the calling Python stack; returns ns of all of them. */
double burst(unsigned int thread, int free_them, unsigned int first, unsigned int count);
/* A burst has been made: ns of one event. */
void note(unsigned int thread, double alloc_ns, double free_ns);
void finish(unsigned int threads);

void begin(unsigned int thread, int use_malloc, unsigned int bursts)
{
	loads[thread].use_malloc = use_malloc;
	loads[thread].bursts = bursts;
	make_room(&loads[thread]);
}

double burst(unsigned int thread, int free_them, unsigned int first, unsigned int count)
{
	uint64_t start = now_ns();
	unsigned int i;

	for (i = first; i < first + count; i++)
		leaf(&loads[thread], free_them ? FREE : ALLOC, i);
	return (double)(now_ns() - start);
}

void note(unsigned int thread, double alloc_ns, double free_ns)
{
	struct load *load = &loads[thread];
	struct timespec pause = { 0, PAUSE_NS };

	load->alloc_ns[load->done] = alloc_ns;
	load->free_ns[load->done++] = free_ns;
	nanosleep(&pause, NULL);
}

void finish(unsigned int threads)
{
	print(loads, threads);
	fflush(stdout);
}

#else

static __attribute__((noinline)) void *run(void *argument)
{
	struct timespec pause = { 0, PAUSE_NS };
	struct load *load = argument;

	make_room(load);
	for (load->done = 0; load->done < load->bursts; load->done++) {
		load->alloc_ns[load->done] = pass(load, ALLOC);
		load->free_ns[load->done] = pass(load, FREE);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static int drive(int use_malloc, unsigned long blocks, int frames, unsigned int threads)
{
	static struct load loads[THREADS_MAX];
	pthread_t thread[THREADS_MAX];
	unsigned int i;

	if (!threads || threads > THREADS_MAX)
		return 2;
	for (i = 0; i < threads; i++) {
		loads[i].use_malloc = use_malloc;
		loads[i].frames = frames;
		loads[i].bursts = (unsigned int)(blocks / threads / BURST);
	}
	for (i = 1; i < threads; i++)
		if (pthread_create(&thread[i], NULL, run, &loads[i]))
			return 1;
	run(&loads[0]);
	for (i = 1; i < threads; i++)
		pthread_join(thread[i], NULL);
	print(loads, threads);
	return 0;
}

/* Also processes that leave their parents come to us, and are waited for. */
static int reap(char **command)
{
	struct rusage usage;
	double strays = 0;
	int status = 1, one;
	pid_t pid, child;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	pid = fork();
	if (!pid) {
		execvp(command[0], command);
		_exit(127);
	}
	while ((child = wait4(-1, &one, 0, &usage)) > 0)
		if (child == pid)
			status = WIFEXITED(one) ? WEXITSTATUS(one) : 1;
		else
			strays += seconds_of(&usage);
	fprintf(stderr, "cpu %.3f\nstrays %.6f\n", cpu_seconds(RUSAGE_CHILDREN), strays);
	return status;
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "reap"))
		return reap(argv + 2);
	if (argc != 5)
		return 2;
	return drive(!strcmp(argv[1], "malloc"), strtoul(argv[2], NULL, 10), (int)strtol(argv[3], NULL, 10),
		     (unsigned int)strtoul(argv[4], NULL, 10));
}

#endif
