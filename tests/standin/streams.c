/*
 * streams.c - work on the GPU: accepted and not done, there is no memory behind the addresses. Enough for programs that
 * allocate; synchronizing matters, because pools give memory back then.
 */
#include "driver.h"
#include <stdlib.h>

struct cuda_stream {
	struct cuda_context *context;
};

static cuda_result needs_context(void)
{
	if (!driver_ready())
		return CUDA_NOT_INITIALIZED;
	return driver_current() ? CUDA_OK : CUDA_INVALID_CONTEXT;
}

DRIVER_CALL(cuStreamCreate(struct cuda_stream **stream, unsigned int flags))
{
	cuda_result result = needs_context();

	if (result)
		return result;
	if (!stream || flags > 1)
		return CUDA_INVALID_VALUE;
	*stream = malloc(sizeof(**stream));
	if (!*stream)
		return CUDA_OUT_OF_MEMORY;
	(*stream)->context = driver_current();
	return CUDA_OK;
}

DRIVER_CALL(cuStreamDestroy_v2(struct cuda_stream *stream))
{
	if (!stream)
		return CUDA_INVALID_HANDLE;
	free(stream);
	return CUDA_OK;
}

DRIVER_CALL(cuCtxSynchronize(void))
{
	cuda_result result = needs_context();

	if (result)
		return result;
	driver_lock();
	memory_synchronized();
	driver_unlock();
	return CUDA_OK;
}

DRIVER_CALL(cuStreamSynchronize(struct cuda_stream *stream))
{
	(void)stream;
	return cuCtxSynchronize();
}

/* X(name, parameters) */
#define WORK_LIST(X)                                                                                            \
	X(cuMemsetD8_v2, (cuda_address to, unsigned char value, size_t count))                                  \
	X(cuMemsetD32_v2, (cuda_address to, unsigned int value, size_t count))                                  \
	X(cuMemsetD8Async, (cuda_address to, unsigned char value, size_t count, struct cuda_stream *stream))    \
	X(cuMemsetD32Async, (cuda_address to, unsigned int value, size_t count, struct cuda_stream *stream))    \
	X(cuMemcpy, (cuda_address to, cuda_address from, size_t bytes))                                         \
	X(cuMemcpyAsync, (cuda_address to, cuda_address from, size_t bytes, struct cuda_stream *stream))        \
	X(cuMemcpyHtoD_v2, (cuda_address to, const void *from, size_t bytes))                                   \
	X(cuMemcpyDtoH_v2, (void *to, cuda_address from, size_t bytes))                                         \
	X(cuMemcpyDtoD_v2, (cuda_address to, cuda_address from, size_t bytes))                                  \
	X(cuMemcpyHtoDAsync_v2, (cuda_address to, const void *from, size_t bytes, struct cuda_stream *stream))  \
	X(cuMemcpyDtoHAsync_v2, (void *to, cuda_address from, size_t bytes, struct cuda_stream *stream))        \
	X(cuMemcpyDtoDAsync_v2, (cuda_address to, cuda_address from, size_t bytes, struct cuda_stream *stream))

#pragma GCC diagnostic ignored "-Wunused-parameter"
#define WORK(name, parameters)          \
	DRIVER_CALL(name parameters)    \
	{                               \
		return needs_context(); \
	}

WORK_LIST(WORK)
