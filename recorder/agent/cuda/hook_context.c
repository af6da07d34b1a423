/* hook_context.c - decodes calls about contexts and pools. */
#include "contexts.h"
#include "driver_call.h"
#include "pools.h"

/* 1: the call has succeeded. */
static int is_done(const struct driver_call *call)
{
	return !call->entered && !call->result;
}

void decode_DEVICES(struct driver_call *call)
{
	const struct args_cuDeviceGetCount *args = call->data->params;

	if (is_done(call))
		contexts_devices(*args->count);
}

/* ---- Contexts ---- */

#define TOO_MANY "more contexts than the recorder follows: of some memory the device is not known"

static void add(const void *context, int device, enum context_kind kind)
{
	if (!contexts_add(context, device, kind))
		driver_call_full(TOO_MANY);
}

static int device_of_creation(const struct driver_call *call)
{
	const void *params = call->data->params;

	switch (call->id) {
	case ENTRY_cuCtxCreate_v3:
		return ((const struct args_cuCtxCreate_v3 *)params)->dev;
	case ENTRY_cuCtxCreate_v4:
		return ((const struct args_cuCtxCreate_v4 *)params)->dev;
	default:
		return ((const struct args_cuCtxCreate_v2 *)params)->dev;
	}
}

void decode_CONTEXT(struct driver_call *call)
{
	const struct args_cuCtxCreate_v2 *args = call->data->params;

	if (call->entered)
		return;
	if (!call->result)
		add(*args->pctx, device_of_creation(call), CONTEXT_OWN);
	driver_call_note(call);
}

/*
 * Reports the end of a context and of its memory, at EXIT. Events of new memory at the same addresses may come before.
 * This memory has another context, so the end does not affect it.
 */
static void gone(struct driver_call *call, uint64_t context, int device)
{
	if (!context)
		return;
	driver_call_device(call, device);
	call->event.handle = context;
	driver_call_send(call, MT_CONTEXT_GONE);
}

static __thread const void *told; /* context whose end CUPTI reported inside the thread's current call */

void decode_CONTEXT_DESTROY(struct driver_call *call)
{
	const struct args_cuCtxDestroy_v2 *args = call->data->params;
	int device;

	if (call->entered)
		told = NULL;
	if (!is_done(call) || told == args->ctx) /* a new context may have this address by now */
		return;
	device = contexts_known_device(args->ctx);
	if (contexts_remove(args->ctx))
		gone(call, (uint64_t)(uintptr_t)args->ctx, device);
}

/*
 * CUPTI's reports on contexts, for any maker. CUPTI reports an end before the call returns; `told` keeps the decoder of
 * the call from reporting it again.
 */
void hook_context_resource(uint32_t id, const struct cupti_resource_data *data, uint32_t entry)
{
	struct driver_call call = { .id = entry, .event = { .device_type = -1, .device_index = -1 } };
	int device;

	if (id == CUPTI_CONTEXT_CREATED && !contexts_made(data->context))
		driver_call_full(TOO_MANY);
	if (id != CUPTI_CONTEXT_ENDS)
		return;
	told = data->context;
	device = contexts_known_device(data->context);
	if (contexts_ended(data->context))
		gone(&call, (uint64_t)(uintptr_t)data->context, device);
}

/* Only the first reference takes memory; later ones send no event. */
void decode_PRIMARY(struct driver_call *call)
{
	const struct args_cuDevicePrimaryCtxRetain *args = call->data->params;

	if (call->entered || (!call->result && !contexts_retain(args->dev, *args->pctx)))
		return;
	driver_call_note(call);
}

void decode_PRIMARY_RELEASE(struct driver_call *call)
{
	const struct args_cuDevicePrimaryCtxRelease_v2 *args = call->data->params;

	if (is_done(call))
		gone(call, contexts_release(args->dev), args->dev);
}

void decode_PRIMARY_RESET(struct driver_call *call)
{
	const struct args_cuDevicePrimaryCtxReset_v2 *args = call->data->params;

	if (is_done(call))
		gone(call, contexts_reset(args->dev), args->dev);
}

/* A green context holds a reference to the primary context while it lives (cuda.h, cuGreenCtxCreate). */
void decode_GREEN(struct driver_call *call)
{
	const struct args_cuGreenCtxCreate *args = call->data->params;

	if (call->entered)
		return;
	if (!call->result) {
		add(*args->phCtx, args->dev, CONTEXT_GREEN);
		contexts_retain(args->dev, NULL);
	}
	driver_call_note(call);
}

void decode_GREEN_DESTROY(struct driver_call *call)
{
	const struct args_cuGreenCtxDestroy *args = call->data->params;
	struct driver_call end = *call;
	int device;

	if (call->entered)
		return;
	device = contexts_known_device(args->hCtx);
	driver_call_note(call);
	if (call->result)
		return;
	contexts_remove(args->hCtx);
	gone(&end, contexts_release(device), device);
}

void decode_GREEN_CONTEXT(struct driver_call *call)
{
	const struct args_cuCtxFromGreenCtx *args = call->data->params;

	if (is_done(call))
		add(*args->pContext, contexts_known_device(args->hCtx), CONTEXT_GREEN);
}

/* ---- Pools ---- */

static void add_pool(const struct cuda_pool *pool, struct pool_place place)
{
	if (!pools_add(pool, place))
		driver_call_full("more memory pools than the recorder follows: of some memory the device is not known");
}

void decode_POOL(struct driver_call *call)
{
	const struct args_cuMemPoolCreate *args = call->data->params;

	if (call->entered)
		return;
	if (!call->result)
		add_pool(*args->pool, pools_place(&args->poolProps->location, args->poolProps->type));
	driver_call_note(call);
}

/* The call does not say the device. */
void decode_POOL_IMPORT(struct driver_call *call)
{
	const struct args_cuMemPoolImportFromShareableHandle *args = call->data->params;
	struct pool_place place = { MT_SPACE_IMPORTED, -1 };

	if (call->entered)
		return;
	if (!call->result)
		add_pool(*args->pool_out, place);
	driver_call_note(call);
}

void decode_POOL_DESTROY(struct driver_call *call)
{
	const struct args_cuMemPoolDestroy *args = call->data->params;

	if (call->entered)
		return;
	if (!call->result)
		pools_remove(args->pool);
	driver_call_note(call);
}

void decode_POOL_GET(struct driver_call *call)
{
	const struct args_cuDeviceGetMemPool *args = call->data->params;
	struct cuda_location location = { CUDA_LOCATION_DEVICE, args->dev };
	struct pool_place place;

	if (is_done(call) && !pools_find(*args->pool, &place))
		add_pool(*args->pool, pools_place(&location, CUDA_MEMORY_PINNED));
}

void decode_POOL_AT(struct driver_call *call)
{
	const struct args_cuMemGetMemPool *args = call->data->params;
	struct pool_place place;

	if (is_done(call) && !pools_find(*args->pool, &place))
		add_pool(*args->pool, pools_place(args->location, args->type));
}
