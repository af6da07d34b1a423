/*
 * agent_threads.c - THREADS threads, all alive at once, each report EVENTS blocks of a GPU and take them back; or TURNS
 * threads, one after the other. Prints how many reports there were.
 *
 *     agent_threads at-once THREADS EVENTS      agent_threads in-turn THREADS EVENTS
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STACK (64u << 10)

struct device {
	signed char type, index;
};

static void (*report)(void *block, int64_t size, uint64_t total, uint64_t reserved, struct device device);
static pthread_barrier_t barrier;
static int events, at_once;

static void *work(void *arg)
{
	const struct device gpu = { 1, 0 };
	char *block = (char *)((uintptr_t)arg << 20);
	int i;

	if (at_once)
		pthread_barrier_wait(&barrier);
	for (i = 0; i < events; i++) {
		report(block + 512 * i, 512, 512, 512, gpu);
		report(block + 512 * i, -512, 0, 512, gpu);
	}
	if (at_once)
		pthread_barrier_wait(&barrier); /* nobody leaves before all are done */
	return NULL;
}

static void start(pthread_t *thread, uintptr_t number)
{
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK);
	if (pthread_create(thread, &attributes, work, (void *)number)) {
		perror("agent_threads");
		exit(2);
	}
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0, i;
	pthread_t *thread = calloc((size_t)threads + 1, sizeof(*thread));

	events = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 0;
	at_once = argc > 1 && !strcmp(argv[1], "at-once");
	*(void **)&report = dlsym(RTLD_DEFAULT, "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
	if (!report || !threads || !events) {
		fprintf(stderr, "agent_threads: at-once|in-turn THREADS EVENTS, under memrec\n");
		return 2;
	}
	pthread_barrier_init(&barrier, NULL, (unsigned int)threads);
	for (i = 0; i < threads; i++) {
		start(&thread[i], (uintptr_t)i + 1);
		if (!at_once)
			pthread_join(thread[i], NULL);
	}
	for (i = 0; at_once && i < threads; i++)
		pthread_join(thread[i], NULL);
	printf("reports %ld\n", 2L * threads * events);
	return 0;
}
