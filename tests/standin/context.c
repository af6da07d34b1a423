/* context.c - contexts: primary and made by hand, the stack of current ones of each thread. */
#include "driver.h"
#include <stdlib.h>

#define STACK_MAX 32

static struct {
	struct cuda_context *context; /* NULL: not active, or reset */
	uint32_t refs;
} primary[STANDIN_GPUS_MAX];

static struct cuda_context *_Atomic all; /* grows only */

static _Thread_local struct {
	struct cuda_context *context[STACK_MAX];
	int depth;
} current;

struct cuda_context *context_new(cuda_device device)
{
	struct cuda_context *context;

	if (!driver_take(device, standin_config()->context))
		return NULL;
	context = calloc(1, sizeof(*context));
	if (!context) {
		driver_give(device, standin_config()->context);
		return NULL;
	}
	context->next = all;
	context->device = device;
	context->uid = context->next ? context->next->uid + 1 : 1;
	context->alive = 1;
	all = context;
	return context;
}

void context_gone(struct cuda_context *context)
{
	context->alive = 0;
	memory_context_gone(context);
	driver_give(context->device, standin_config()->context);
}

uint32_t driver_context_uid(struct cuda_context *context)
{
	struct cuda_context *known;

	for (known = all; known; known = known->next)
		if (known == context)
			return known->alive ? known->uid : 0;
	return 0;
}

struct cuda_context *driver_current(void)
{
	struct cuda_context *context = current.depth ? current.context[current.depth - 1] : NULL;

	return context && context->alive ? context : NULL;
}

/* ---- Recorded calls ---- */

cuda_result do_cuDevicePrimaryCtxRetain(const struct args_cuDevicePrimaryCtxRetain *args, struct effect *effect)
{
	if (!args->pctx)
		return CUDA_INVALID_VALUE;
	if (!driver_device_valid(args->dev))
		return CUDA_INVALID_DEVICE;
	effect->device = args->dev;
	if (!primary[args->dev].context)
		primary[args->dev].context = context_new(args->dev);
	if (!primary[args->dev].context)
		return CUDA_OUT_OF_MEMORY;
	primary[args->dev].refs++;
	*args->pctx = primary[args->dev].context;
	return CUDA_OK;
}

static void primary_gone(cuda_device device)
{
	if (primary[device].context)
		context_gone(primary[device].context);
	primary[device].context = NULL;
}

cuda_result do_cuDevicePrimaryCtxRelease_v2(const struct args_cuDevicePrimaryCtxRelease_v2 *args, struct effect *effect)
{
	if (!driver_device_valid(args->dev))
		return CUDA_INVALID_DEVICE;
	effect->device = args->dev;
	if (!primary[args->dev].refs)
		return CUDA_INVALID_CONTEXT;
	if (!--primary[args->dev].refs)
		primary_gone(args->dev);
	return CUDA_OK;
}

/* Everything in the context goes; who retained it must still release it. */
cuda_result do_cuDevicePrimaryCtxReset_v2(const struct args_cuDevicePrimaryCtxReset_v2 *args, struct effect *effect)
{
	if (!driver_device_valid(args->dev))
		return CUDA_INVALID_DEVICE;
	effect->device = args->dev;
	primary_gone(args->dev);
	return CUDA_OK;
}

static cuda_result create(struct cuda_context **out, cuda_device device, struct effect *effect)
{
	if (!out)
		return CUDA_INVALID_VALUE;
	if (!driver_device_valid(device))
		return CUDA_INVALID_DEVICE;
	if (current.depth == STACK_MAX)
		return CUDA_INVALID_CONTEXT;
	effect->device = device;
	*out = context_new(device);
	if (!*out)
		return CUDA_OUT_OF_MEMORY;
	current.context[current.depth++] = *out;
	return CUDA_OK;
}

cuda_result do_cuCtxCreate_v2(const struct args_cuCtxCreate_v2 *args, struct effect *effect)
{
	return create(args->pctx, args->dev, effect);
}

cuda_result do_cuCtxCreate_v3(const struct args_cuCtxCreate_v3 *args, struct effect *effect)
{
	return create(args->pctx, args->dev, effect);
}

cuda_result do_cuCtxCreate_v4(const struct args_cuCtxCreate_v4 *args, struct effect *effect)
{
	return create(args->pctx, args->dev, effect);
}

cuda_result do_cuCtxDestroy_v2(const struct args_cuCtxDestroy_v2 *args, struct effect *effect)
{
	if (!driver_context_uid(args->ctx) || primary[args->ctx->device].context == args->ctx)
		return CUDA_INVALID_CONTEXT;
	effect->device = args->ctx->device;
	if (driver_current() == args->ctx)
		current.depth--;
	context_gone(args->ctx);
	return CUDA_OK;
}

/* ---- The thread's stack ---- */

DRIVER_CALL(cuCtxGetCurrent(struct cuda_context **context))
{
	if (!driver_ready())
		return CUDA_NOT_INITIALIZED;
	if (!context)
		return CUDA_INVALID_VALUE;
	*context = driver_current();
	return CUDA_OK;
}

DRIVER_CALL(cuCtxPushCurrent_v2(struct cuda_context *context))
{
	if (!driver_ready())
		return CUDA_NOT_INITIALIZED;
	if (!driver_context_uid(context) || current.depth == STACK_MAX)
		return CUDA_INVALID_CONTEXT;
	current.context[current.depth++] = context;
	return CUDA_OK;
}

DRIVER_CALL(cuCtxPopCurrent_v2(struct cuda_context **context))
{
	if (!driver_ready())
		return CUDA_NOT_INITIALIZED;
	if (!current.depth)
		return CUDA_INVALID_CONTEXT;
	current.depth--;
	if (context)
		*context = current.context[current.depth];
	return CUDA_OK;
}

/* Takes the place of the newest on the stack; NULL only removes that. */
DRIVER_CALL(cuCtxSetCurrent(struct cuda_context *context))
{
	if (!driver_ready())
		return CUDA_NOT_INITIALIZED;
	if (context && !driver_context_uid(context))
		return CUDA_INVALID_CONTEXT;
	if (current.depth)
		current.depth--;
	return context ? cuCtxPushCurrent_v2(context) : CUDA_OK;
}

DRIVER_CALL(cuCtxGetDevice(cuda_device *device))
{
	if (!driver_ready())
		return CUDA_NOT_INITIALIZED;
	if (!device)
		return CUDA_INVALID_VALUE;
	if (!driver_current())
		return CUDA_INVALID_CONTEXT;
	*device = driver_current()->device;
	return CUDA_OK;
}
