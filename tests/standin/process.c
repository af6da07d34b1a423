/*
 * process.c - locations of managed memory, checkpoints of processes, notifications. Valid calls succeed without an
 * effect: managed memory never moves, and no process is frozen.
 */
#include <signal.h>
#include <stdlib.h>
#include "driver.h"

/* ---- Recorded calls: managed memory ---- */

/* Host memory is device -1 (CU_DEVICE_CPU) in the older calls. */
static cuda_result place_on(cuda_address address, uint64_t bytes, cuda_device device, struct effect *effect)
{
	effect->address = address;
	effect->size = bytes;
	if (device != HOST && !driver_device_valid(device))
		return CUDA_INVALID_DEVICE;
	effect->device = device;
	return address && bytes ? CUDA_OK : CUDA_INVALID_VALUE;
}

static cuda_result place_at(cuda_address address, uint64_t bytes, const struct cuda_location *location,
			    struct effect *effect)
{
	cuda_device device;

	return driver_place(location, &device) ? place_on(address, bytes, device, effect) : CUDA_INVALID_DEVICE;
}

cuda_result do_cuMemPrefetchAsync(const struct args_cuMemPrefetchAsync *args, struct effect *effect)
{
	return place_on(args->devPtr, args->count, args->dstDevice, effect);
}

cuda_result do_cuMemPrefetchAsync_v2(const struct args_cuMemPrefetchAsync_v2 *args, struct effect *effect)
{
	return place_at(args->devPtr, args->count, &args->location, effect);
}

cuda_result do_cuMemAdvise(const struct args_cuMemAdvise *args, struct effect *effect)
{
	return place_on(args->devPtr, args->count, args->device, effect);
}

cuda_result do_cuMemAdvise_v2(const struct args_cuMemAdvise_v2 *args, struct effect *effect)
{
	return place_at(args->devPtr, args->count, &args->location, effect);
}

static cuda_result batch(const cuda_address *addresses, const size_t *sizes, size_t count, struct effect *effect)
{
	size_t i;

	if (!addresses || !sizes || !count)
		return CUDA_INVALID_VALUE;
	effect->address = addresses[0];
	for (i = 0; i < count; i++)
		effect->size += sizes[i];
	return CUDA_OK;
}

cuda_result do_cuMemPrefetchBatchAsync(const struct args_cuMemPrefetchBatchAsync *args, struct effect *effect)
{
	return batch(args->dptrs, args->sizes, args->count, effect);
}

cuda_result do_cuMemDiscardBatchAsync(const struct args_cuMemDiscardBatchAsync *args, struct effect *effect)
{
	return batch(args->dptrs, args->sizes, args->count, effect);
}

cuda_result do_cuMemDiscardAndPrefetchBatchAsync(const struct args_cuMemDiscardAndPrefetchBatchAsync *args,
						 struct effect *effect)
{
	return batch(args->dptrs, args->sizes, args->count, effect);
}

DRIVER_SAME(cuMemPrefetchAsync_ptsz, cuMemPrefetchAsync)
DRIVER_SAME(cuMemPrefetchAsync_v2_ptsz, cuMemPrefetchAsync_v2)
DRIVER_SAME(cuMemPrefetchBatchAsync_ptsz, cuMemPrefetchBatchAsync)
DRIVER_SAME(cuMemDiscardBatchAsync_ptsz, cuMemDiscardBatchAsync)
DRIVER_SAME(cuMemDiscardAndPrefetchBatchAsync_ptsz, cuMemDiscardAndPrefetchBatchAsync)

/* ---- Recorded calls: checkpoints ---- */

/* The steps must come in this order. The process may be this one or any other live one. */
enum { RUNNING, LOCKED, CHECKPOINTED };

static int process_state;

static cuda_result step(int pid, int from, int to, struct effect *effect)
{
	effect->address = (uint64_t)pid;
	if (pid <= 0 || kill(pid, 0))
		return CUDA_INVALID_VALUE;
	if (process_state != from)
		return CUDA_NOT_SUPPORTED;
	process_state = to;
	return CUDA_OK;
}

cuda_result do_cuCheckpointProcessLock(const struct args_cuCheckpointProcessLock *args, struct effect *effect)
{
	return step(args->pid, RUNNING, LOCKED, effect);
}

cuda_result do_cuCheckpointProcessCheckpoint(const struct args_cuCheckpointProcessCheckpoint *args,
					     struct effect *effect)
{
	return step(args->pid, LOCKED, CHECKPOINTED, effect);
}

cuda_result do_cuCheckpointProcessRestore(const struct args_cuCheckpointProcessRestore *args, struct effect *effect)
{
	return step(args->pid, CHECKPOINTED, LOCKED, effect);
}

cuda_result do_cuCheckpointProcessUnlock(const struct args_cuCheckpointProcessUnlock *args, struct effect *effect)
{
	return step(args->pid, LOCKED, RUNNING, effect);
}

cuda_result do_cuCheckpointOperationComplete(const struct args_cuCheckpointOperationComplete *args,
					     struct effect *effect)
{
	effect->address = (uint64_t)(uintptr_t)args->handle;
	return args->handle ? CUDA_OK : CUDA_INVALID_VALUE;
}

/* ---- Recorded calls: notifications, which never come ---- */

struct cuda_notification {
	cuda_device device;
};

cuda_result do_cuDeviceRegisterAsyncNotification(const struct args_cuDeviceRegisterAsyncNotification *args,
						 struct effect *effect)
{
	if (!driver_device_valid(args->device))
		return CUDA_INVALID_DEVICE;
	if (!args->callbackFunc || !args->callback)
		return CUDA_INVALID_VALUE;
	effect->device = args->device;
	*args->callback = malloc(sizeof(**args->callback));
	if (!*args->callback)
		return CUDA_OUT_OF_MEMORY;
	(*args->callback)->device = args->device;
	return CUDA_OK;
}

cuda_result do_cuDeviceUnregisterAsyncNotification(const struct args_cuDeviceUnregisterAsyncNotification *args,
						   struct effect *effect)
{
	if (!args->callback || args->callback->device != args->device)
		return CUDA_INVALID_VALUE;
	effect->device = args->device;
	free(args->callback);
	return CUDA_OK;
}
