/*
 * Memory that this process uses and another process counts. No device holds it a second time, but its bytes are
 * reported.
 */
#include "stream.h"

#include <stdlib.h>
#include "memtrace/error.h"

struct stream_import {
	uint64_t handle;
	uint32_t device; /* id in the process, 0: not known */
};

static struct stream_import *find(const struct stream *stream, uint64_t handle)
{
	uint32_t i;

	for (i = 0; i < stream->imports; i++)
		if (stream->import[i].handle == handle)
			return &stream->import[i];
	return NULL;
}

static int add(struct stream *stream, const struct mt_live *live)
{
	struct stream_import *grown;

	if (find(stream, live->handle))
		return 0;
	grown = realloc(stream->import, ((size_t)stream->imports + 1) * sizeof(*grown));
	if (!grown)
		return -MT_E_MEMORY;
	stream->import = grown;
	grown[stream->imports++] = (struct stream_import){ .handle = live->handle, .device = live->device };
	return 0;
}

static void drop(struct stream *stream, uint64_t handle)
{
	struct stream_import *import = find(stream, handle);

	if (import)
		*import = stream->import[--stream->imports];
}

/* Counts imported bytes. An unknown device is the device that the process uses. */
static void count(struct stream *stream, uint32_t id, int64_t bytes)
{
	uint32_t number = id ? stream_device(stream, id) : STREAM_NO_DEVICE, i;

	for (i = 0; i < stream->touched_count && number == STREAM_NO_DEVICE; i++)
		if (stream->analysis->device[stream->touched[i]].kind == MT_DEVICE_CUDA)
			number = stream->touched[i];
	if (number != STREAM_NO_DEVICE)
		stream->analysis->device[number].imported_now += (uint64_t)bytes;
}

int stream_import(struct stream *stream, const struct mt_live *live, int change)
{
	const struct stream_import *import;

	if (live->flags == MT_SPACE_IMPORTED && live->kind == MT_VMM_CREATE) {
		if (change > 0)
			return add(stream, live);
		drop(stream, live->handle);
	} else if (live->flags == MT_SPACE_IMPORTED && live->kind == MT_DRIVER_ALLOC) {
		count(stream, live->device, change * (int64_t)live->size);
	} else if (live->kind == MT_VMM_MAP && stream->imports) {
		import = find(stream, live->handle);
		if (import)
			count(stream, import->device ? import->device : live->device, change * (int64_t)live->size);
	}
	return 0;
}
