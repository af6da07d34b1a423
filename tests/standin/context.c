/* context.c - contexts: primary, made by hand and green, the stack of current ones of each thread. */
#include <stdlib.h>
#include "driver.h"

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
	context->owner = context;
	context->uid = context->next ? context->next->uid + 1 : 1;
	context->alive = 1;
	all = context;
	driver_fire_context(CUPTI_CONTEXT_CREATED, context);
	return context;
}

void context_gone(struct cuda_context *context)
{
	driver_fire_context(CUPTI_CONTEXT_ENDS, context);
	context->alive = 0;
	memory_context_gone(context);
	array_context_gone(context);
	code_context_gone(context);
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

/* NULL: the device is full. */
static struct cuda_context *retain(cuda_device device)
{
	if (!primary[device].context)
		primary[device].context = context_new(device);
	if (primary[device].context)
		primary[device].refs++;
	return primary[device].context;
}

cuda_result do_cuDevicePrimaryCtxRetain(const struct args_cuDevicePrimaryCtxRetain *args, struct effect *effect)
{
	struct cuda_context *context;

	if (!args->pctx)
		return CUDA_INVALID_VALUE;
	if (!driver_device_valid(args->dev))
		return CUDA_INVALID_DEVICE;
	effect->device = args->dev;
	context = retain(args->dev);
	if (!context)
		return CUDA_OUT_OF_MEMORY;
	effect->address = (uint64_t)(uintptr_t)context;
	*args->pctx = context;
	return CUDA_OK;
}

static void primary_gone(cuda_device device)
{
	if (primary[device].context)
		context_gone(primary[device].context);
	primary[device].context = NULL;
}

static cuda_result release(cuda_device device)
{
	if (!primary[device].refs)
		return CUDA_INVALID_CONTEXT;
	if (!--primary[device].refs)
		primary_gone(device);
	return CUDA_OK;
}

cuda_result do_cuDevicePrimaryCtxRelease_v2(const struct args_cuDevicePrimaryCtxRelease_v2 *args, struct effect *effect)
{
	if (!driver_device_valid(args->dev))
		return CUDA_INVALID_DEVICE;
	effect->device = args->dev;
	return release(args->dev);
}

/* Frees all that is in the context. Its holders must still release it. */
cuda_result do_cuDevicePrimaryCtxReset_v2(const struct args_cuDevicePrimaryCtxReset_v2 *args, struct effect *effect)
{
	if (!driver_device_valid(args->dev))
		return CUDA_INVALID_DEVICE;
	effect->device = args->dev;
	primary_gone(args->dev);
	return CUDA_OK;
}

DRIVER_SAME(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2)
DRIVER_SAME(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2)

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
	effect->address = (uint64_t)(uintptr_t)*out;
	current.context[current.depth++] = *out;
	return CUDA_OK;
}

cuda_result do_cuCtxCreate_v2(const struct args_cuCtxCreate_v2 *args, struct effect *effect)
{
	return create(args->pctx, args->dev, effect);
}

DRIVER_SAME(cuCtxCreate, cuCtxCreate_v2)

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
	if (args->ctx->owner != args->ctx) /* a context of a green context */
		return CUDA_INVALID_CONTEXT;
	effect->device = args->ctx->device;
	effect->address = (uint64_t)(uintptr_t)args->ctx;
	if (driver_current() == args->ctx)
		current.depth--;
	context_gone(args->ctx);
	return CUDA_OK;
}

DRIVER_SAME(cuCtxDestroy, cuCtxDestroy_v2)

/* The cost of a limit is not imitated. */
cuda_result do_cuCtxSetLimit(const struct args_cuCtxSetLimit *args, struct effect *effect)
{
	struct cuda_context *context = driver_current();

	effect->size = args->value;
	if (!context)
		return CUDA_INVALID_CONTEXT;
	effect->device = context->device;
	return args->limit >= 0 && args->limit <= 10 ? CUDA_OK : CUDA_INVALID_VALUE;
}

static cuda_result check_peer(struct cuda_context *peer, struct effect *effect)
{
	struct cuda_context *context = driver_current();

	if (!context || !driver_context_uid(peer))
		return CUDA_INVALID_CONTEXT;
	effect->device = context->device;
	return peer->device == context->device ? CUDA_INVALID_DEVICE : CUDA_OK;
}

cuda_result do_cuCtxEnablePeerAccess(const struct args_cuCtxEnablePeerAccess *args, struct effect *effect)
{
	return args->Flags ? CUDA_INVALID_VALUE : check_peer(args->peerContext, effect);
}

cuda_result do_cuCtxDisablePeerAccess(const struct args_cuCtxDisablePeerAccess *args, struct effect *effect)
{
	return check_peer(args->peerContext, effect);
}

/* ---- Recorded calls: green contexts share the primary context and retain it ---- */

struct cuda_green {
	struct cuda_green *next; /* next live one */
	struct cuda_context context;
};

static struct cuda_green *greens;

static struct cuda_green **find_green(const struct cuda_green *green)
{
	struct cuda_green **link = &greens;

	while (*link && *link != green)
		link = &(*link)->next;
	return link;
}

cuda_result do_cuGreenCtxCreate(const struct args_cuGreenCtxCreate *args, struct effect *effect)
{
	struct cuda_context *owner;
	struct cuda_green *green;

	if (!args->phCtx || !args->desc)
		return CUDA_INVALID_VALUE;
	if (!driver_device_valid(args->dev))
		return CUDA_INVALID_DEVICE;
	effect->device = args->dev;
	green = calloc(1, sizeof(*green));
	owner = green ? retain(args->dev) : NULL;
	if (!owner) {
		free(green);
		return CUDA_OUT_OF_MEMORY;
	}
	green->next = greens;
	greens = green;
	green->context = (struct cuda_context){ .next = all, .device = args->dev, .owner = owner, .uid = all->uid + 1 };
	green->context.alive = 1;
	all = &green->context;
	effect->address = (uint64_t)(uintptr_t)green;
	*args->phCtx = green;
	return CUDA_OK;
}

/* The struct stays, so that stale contexts differ from invalid ones. */
cuda_result do_cuGreenCtxDestroy(const struct args_cuGreenCtxDestroy *args, struct effect *effect)
{
	struct cuda_green **link = find_green(args->hCtx);

	if (!*link)
		return CUDA_INVALID_VALUE;
	effect->device = args->hCtx->context.device;
	effect->address = (uint64_t)(uintptr_t)args->hCtx;
	*link = args->hCtx->next;
	args->hCtx->context.alive = 0;
	return release(effect->device);
}

cuda_result do_cuCtxFromGreenCtx(const struct args_cuCtxFromGreenCtx *args, struct effect *effect)
{
	if (!args->pContext || !*find_green(args->hCtx))
		return CUDA_INVALID_VALUE;
	effect->device = args->hCtx->context.device;
	effect->address = (uint64_t)(uintptr_t)&args->hCtx->context;
	*args->pContext = &args->hCtx->context;
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

/* Replaces the newest context on the stack; NULL removes it. */
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

DRIVER_CALL(cuDevicePrimaryCtxGetState(cuda_device device, unsigned int *flags, int *active))
{
	if (!driver_device_valid(device))
		return CUDA_INVALID_DEVICE;
	*flags = 0;
	*active = primary[device].context != NULL;
	return CUDA_OK;
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
