/*
 * streams.c - work on the GPU, which is accepted and not done, because the addresses have no memory. A synchronization
 * matters, because pools then give back memory. A stream may capture its work: allocations and frees then become nodes
 * of a graph, also on streams that wait for an event of it.
 */
#include <stdlib.h>
#include <time.h>
#include "memory.h"

struct cuda_stream {
	struct cuda_stream *next; /* next stream, without the default ones */
	struct cuda_graph *graph; /* graph that is being captured */
	int is_origin;            /* 1: the capture began on this stream, and ends here */
};

struct cuda_event {
	struct cuda_graph *graph; /* graph that its stream captured when the event was recorded */
};

static struct cuda_stream *streams;
static _Thread_local struct cuda_stream own_stream; /* CUDA_STREAM_PER_THREAD */

static cuda_result needs_context(void)
{
	if (!driver_ready())
		return CUDA_NOT_INITIALIZED;
	return driver_current() ? CUDA_OK : CUDA_INVALID_CONTEXT;
}

/* NULL: the default stream of all threads, which cannot capture. */
static struct cuda_stream *real(struct cuda_stream *stream)
{
	return stream == CUDA_STREAM_PER_THREAD ? &own_stream : stream;
}

struct cuda_graph *stream_graph(struct cuda_stream *stream)
{
	stream = real(stream);
	return stream ? stream->graph : NULL;
}

DRIVER_CALL(cuStreamCreate(struct cuda_stream **stream, unsigned int flags))
{
	cuda_result result = needs_context();

	if (result)
		return result;
	if (!stream || flags > 1)
		return CUDA_INVALID_VALUE;
	*stream = calloc(1, sizeof(**stream));
	if (!*stream)
		return CUDA_OUT_OF_MEMORY;
	driver_lock();
	(*stream)->next = streams;
	streams = *stream;
	driver_unlock();
	return CUDA_OK;
}

DRIVER_CALL(cuStreamDestroy_v2(struct cuda_stream *stream))
{
	struct cuda_stream **link = &streams;
	cuda_result result = CUDA_INVALID_HANDLE;

	driver_lock();
	while (*link && *link != stream)
		link = &(*link)->next;
	if (*link && stream != CUDA_STREAM_PER_THREAD) {
		*link = stream->next;
		free(stream);
		result = CUDA_OK;
	}
	driver_unlock();
	return result;
}

/* ---- Recorded calls: streams that capture ---- */

static cuda_result capture(struct cuda_stream *stream, struct cuda_graph *graph, struct effect *effect)
{
	stream = real(stream);
	if (!stream || stream->graph || (graph && !graph_valid(graph)))
		return CUDA_INVALID_VALUE;
	stream->graph = graph ? graph : graph_new();
	stream->is_origin = 1;
	effect->address = (uint64_t)(uintptr_t)stream;
	return stream->graph ? CUDA_OK : CUDA_OUT_OF_MEMORY;
}

cuda_result do_cuStreamBeginCapture(const struct args_cuStreamBeginCapture *args, struct effect *effect)
{
	return capture(args->hStream, NULL, effect);
}

cuda_result do_cuStreamBeginCapture_v2(const struct args_cuStreamBeginCapture_v2 *args, struct effect *effect)
{
	return args->mode < 0 || args->mode > 2 ? CUDA_INVALID_VALUE : capture(args->hStream, NULL, effect);
}

cuda_result do_cuStreamBeginCaptureToGraph(const struct args_cuStreamBeginCaptureToGraph *args, struct effect *effect)
{
	return args->hGraph ? capture(args->hStream, args->hGraph, effect) : CUDA_INVALID_VALUE;
}

/* The graph's nodes will be captured again. */
cuda_result do_cuStreamBeginRecaptureToGraph(const struct args_cuStreamBeginRecaptureToGraph *args,
					     struct effect *effect)
{
	if (!args->hGraph || !args->callbackFunc)
		return CUDA_INVALID_VALUE;
	graph_recapture(args->hGraph);
	return capture(args->hStream, args->hGraph, effect);
}

cuda_result do_cuStreamEndCapture(const struct args_cuStreamEndCapture *args, struct effect *effect)
{
	struct cuda_stream *stream = real(args->hStream), *other;
	struct cuda_graph *graph = stream ? stream->graph : NULL;

	if (!graph || !stream->is_origin || !args->phGraph)
		return CUDA_INVALID_VALUE;
	stream->graph = NULL;
	stream->is_origin = 0;
	for (other = streams; other; other = other->next)
		if (other->graph == graph)
			other->graph = NULL;
	effect->address = (uint64_t)(uintptr_t)graph;
	*args->phGraph = graph;
	return CUDA_OK;
}

DRIVER_SAME(cuStreamBeginCapture_ptsz, cuStreamBeginCapture)
DRIVER_SAME(cuStreamBeginCapture_v2_ptsz, cuStreamBeginCapture_v2)
DRIVER_SAME(cuStreamBeginCaptureToGraph_ptsz, cuStreamBeginCaptureToGraph)
DRIVER_SAME(cuStreamBeginRecaptureToGraph_ptsz, cuStreamBeginRecaptureToGraph)
DRIVER_SAME(cuStreamEndCapture_ptsz, cuStreamEndCapture)

/* ---- Events ---- */

DRIVER_CALL(cuEventCreate(struct cuda_event **event, unsigned int flags))
{
	cuda_result result = needs_context();

	if (result)
		return result;
	if (!event || flags > 7)
		return CUDA_INVALID_VALUE;
	*event = calloc(1, sizeof(**event));
	return *event ? CUDA_OK : CUDA_OUT_OF_MEMORY;
}

DRIVER_CALL(cuEventDestroy_v2(struct cuda_event *event))
{
	if (!event)
		return CUDA_INVALID_HANDLE;
	free(event);
	return CUDA_OK;
}

DRIVER_CALL(cuEventRecord(struct cuda_event *event, struct cuda_stream *stream))
{
	cuda_result result = event ? needs_context() : CUDA_INVALID_HANDLE;

	if (result)
		return result;
	driver_lock();
	event->graph = stream_graph(stream);
	driver_unlock();
	return CUDA_OK;
}

/* A stream that waits for a capturing stream joins the capture. */
DRIVER_CALL(cuStreamWaitEvent(struct cuda_stream *stream, struct cuda_event *event, unsigned int flags))
{
	cuda_result result = event ? needs_context() : CUDA_INVALID_HANDLE;

	if (result || flags > 1)
		return result ? result : CUDA_INVALID_VALUE;
	driver_lock();
	stream = real(stream);
	if (stream && event->graph && !stream->graph)
		stream->graph = event->graph;
	driver_unlock();
	return CUDA_OK;
}

/* ---- Waiting and work ---- */

/* Sleeps for the time of kernels; nothing is allocated meanwhile. */
static void work(void)
{
	const uint64_t ns = standin_config()->sync_ns;
	struct timespec time = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	if (ns)
		nanosleep(&time, NULL);
}

DRIVER_CALL(cuCtxSynchronize(void))
{
	cuda_result result = needs_context();

	if (result)
		return result;
	driver_lock();
	memory_synchronized();
	driver_unlock();
	work();
	return CUDA_OK;
}

DRIVER_CALL(cuStreamSynchronize(struct cuda_stream *stream))
{
	(void)stream;
	return cuCtxSynchronize();
}

/* X(name, parameters) */
#define WORK_LIST(X)                                                                                           \
	X(cuMemsetD8_v2, (cuda_address to, unsigned char value, size_t count))                                 \
	X(cuMemsetD32_v2, (cuda_address to, unsigned int value, size_t count))                                 \
	X(cuMemsetD8Async, (cuda_address to, unsigned char value, size_t count, struct cuda_stream *stream))   \
	X(cuMemsetD32Async, (cuda_address to, unsigned int value, size_t count, struct cuda_stream *stream))   \
	X(cuMemcpy, (cuda_address to, cuda_address from, size_t bytes))                                        \
	X(cuMemcpyAsync, (cuda_address to, cuda_address from, size_t bytes, struct cuda_stream * stream))      \
	X(cuMemcpyHtoD_v2, (cuda_address to, const void *from, size_t bytes))                                  \
	X(cuMemcpyDtoH_v2, (void *to, cuda_address from, size_t bytes))                                        \
	X(cuMemcpyDtoD_v2, (cuda_address to, cuda_address from, size_t bytes))                                 \
	X(cuMemcpyHtoDAsync_v2, (cuda_address to, const void *from, size_t bytes, struct cuda_stream *stream)) \
	X(cuMemcpyDtoHAsync_v2, (void *to, cuda_address from, size_t bytes, struct cuda_stream *stream))       \
	X(cuMemcpyDtoDAsync_v2, (cuda_address to, cuda_address from, size_t bytes, struct cuda_stream * stream))

#pragma GCC diagnostic ignored "-Wunused-parameter"
#define WORK(name, parameters)          \
	DRIVER_CALL(name parameters)    \
	{                               \
		return needs_context(); \
	}

WORK_LIST(WORK)
