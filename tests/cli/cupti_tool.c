/*
 * cupti_tool.c - another tool that uses CUPTI, linked with it as PyTorch's profiler is: subscribes when told, counts the
 * memory calls it is shown, and leaves, outside a callback or inside one. For test_cupti.sh, which builds it with the
 * names of the day.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include "agent/cuda/cuda_abi.h"

cupti_subscribe cuptiSubscribe;
cupti_subscribe_v2 cuptiSubscribe_v2;
cupti_unsubscribe cuptiUnsubscribe;
cupti_enable_callback cuptiEnableCallback;
int cuptiFinalize(void);

#define THREADS 4

static struct cupti_subscriber *subscriber;
static _Atomic int calls, tears_down, is_over;
static long between_ms; /* leaving and finalizing */

static void pause_ms(long ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&time, NULL);
}

/* As Kineto ends with TEARDOWN_CUPTI=1. */
static void tear_down(void)
{
	cuptiUnsubscribe(subscriber);
	pause_ms(between_ms);
	cuptiFinalize();
}

static void on_callback(void *user, int domain, uint32_t id, const void *data)
{
	const struct cupti_callback_data *call = data;
	int due = 1;

	(void)user;
	(void)domain;
	(void)id;
	calls++;
	if (call->site == CUPTI_EXIT && atomic_compare_exchange_strong(&tears_down, &due, 0))
		tear_down();
}

int tool_start(uint32_t id);
int tool_start_sharing(uint32_t id);
int tool_stop(void);
int tool_finalize(void);
int tool_calls(void);
void tool_teardown(long ms);
int tool_hammer(uint32_t id, struct cuda_context *context, int rounds);

static int enable(int error, uint32_t id)
{
	return error ? error : cuptiEnableCallback(1, subscriber, CUPTI_DOMAIN_DRIVER, id);
}

int tool_start(uint32_t id)
{
	return enable(cuptiSubscribe(&subscriber, on_callback, NULL), id);
}

int tool_start_sharing(uint32_t id)
{
	struct cupti_subscriber_params params = { sizeof(params), "tool", NULL, 0, 1, { 0 } };

	return enable(cuptiSubscribe_v2(&subscriber, on_callback, NULL, &params), id);
}

int tool_stop(void)
{
	return cuptiUnsubscribe(subscriber);
}

int tool_finalize(void)
{
	return cuptiFinalize();
}

int tool_calls(void)
{
	return calls;
}

/* At the end of the next call that the tool is shown. */
void tool_teardown(long ms)
{
	between_ms = ms;
	atomic_store(&tears_down, 1);
}

/* ---- Memory taken and given back by several threads while the tool comes and goes ---- */

static int (*set_current)(struct cuda_context *context);
static int (*take)(cuda_address *address, size_t bytes);
static int (*give)(cuda_address address);

static void *hammer(void *context)
{
	cuda_address address;

	set_current(context);
	while (!atomic_load(&is_over))
		if (!take(&address, 4096))
			give(address);
	return NULL;
}

/* 0: every time the tool had the subscription. */
int tool_hammer(uint32_t id, struct cuda_context *context, int rounds)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
	pthread_t threads[THREADS];
	int i, failed = 0;

	*(void **)&set_current = dlsym(cuda, "cuCtxSetCurrent");
	*(void **)&take = dlsym(cuda, "cuMemAlloc_v2");
	*(void **)&give = dlsym(cuda, "cuMemFree_v2");
	atomic_store(&is_over, 0);
	for (i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, hammer, context);
	for (i = 0; i < rounds; i++) {
		failed |= tool_start(id);
		pause_ms(1);
		failed |= tool_stop();
		pause_ms(1);
	}
	atomic_store(&is_over, 1);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return failed;
}
