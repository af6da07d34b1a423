#include "allocator.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* The first call of ctypes. `mode`: enum mode bits. */
void allocator_open(const char *account, int mode) __attribute__((visibility("default")));

static struct device devices[DEVICES_MAX];
static pthread_mutex_t locks[DEVICES_MAX];
static struct cuda_context *contexts[DEVICES_MAX];
static _Thread_local int current = -1; /* device whose context is current on the thread */
static pthread_once_t started = PTHREAD_ONCE_INIT;
static uint64_t total;
static int modes;

static void prepare(struct device *device, int index)
{
	int id, is_small;

	device->index = index;
	for (id = 0; id < POOLS_MAX; id++)
		for (is_small = 0; is_small < 2; is_small++)
			device->pool[id][is_small] = (struct pool){
				.device = device,
				.id = id,
				.is_small = is_small,
				.source = !id && (modes & MODE_SAVER) ? SOURCE_SAVER : SOURCE_MALLOC,
			};
}

void allocator_open(const char *account, int mode)
{
	pthread_mutexattr_t attributes;
	int i;

	modes = mode;
	account_open(account);
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
	for (i = 0; i < DEVICES_MAX; i++) {
		pthread_mutex_init(&locks[i], &attributes);
		prepare(&devices[i], i);
	}
	pthread_mutexattr_destroy(&attributes);
}

/* As late as PyTorch does it: with the first allocation. */
static void start_cuda(void)
{
	size_t free_bytes, bytes;

	cuda_driver_load();
	cuda_check(cu.MemGetInfo(&free_bytes, &bytes), "cuMemGetInfo");
	total = bytes;
}

static void make_current(int index)
{
	if (current == index)
		return;
	if (!contexts[index])
		cuda_check(cu.PrimaryCtxRetain(&contexts[index], index), "cuDevicePrimaryCtxRetain");
	cuda_check(cu.CtxSetCurrent(contexts[index]), "cuCtxSetCurrent");
	current = index;
}

struct device *device_enter(int index)
{
	if (index < 0 || index >= DEVICES_MAX)
		abort();
	pthread_once(&started, start_cuda);
	pthread_mutex_lock(&locks[index]);
	make_current(index);
	return &devices[index];
}

void device_leave(struct device *device)
{
	pthread_mutex_unlock(&locks[device->index]);
}

uint64_t device_total(void)
{
	return total;
}

int device_modes(void)
{
	return modes;
}
