/*
 * array.c - arrays. An array takes the bytes of its elements, for formats that programs compute with; other formats are
 * refused. Sparse arrays and arrays that are mapped later take no bytes.
 */
#include <stdlib.h>
#include "driver.h"

struct cuda_array {
	struct cuda_array *next; /* next live array, plain or mipmapped */
	uint64_t bytes;
	struct cuda_context *context;
	int is_mipmap, is_foreign; /* foreign: another API's memory */
};

static struct cuda_array *arrays;

/* Bytes of an element's channel; 0: not imitated. */
static unsigned int channel_bytes(int format)
{
	switch (format) {
	case 0x01: /* unsigned and signed integers, floating point */
	case 0x08:
		return 1;
	case 0x02:
	case 0x09:
	case 0x10:
		return 2;
	case 0x03:
	case 0x0a:
	case 0x20:
		return 4;
	default:
		return 0;
	}
}

static uint64_t smaller(uint64_t side)
{
	return side > 1 ? side / 2 : 1;
}

/* 0: the descriptor makes no sense. */
static uint64_t full_bytes(const struct cuda_array3d_desc *desc, unsigned int levels)
{
	uint64_t width = desc->width, height = desc->height ? desc->height : 1, depth = desc->depth ? desc->depth : 1;
	uint64_t elements = 0;
	unsigned int i;

	if (desc->channels != 1 && desc->channels != 2 && desc->channels != 4)
		return 0;
	for (i = 0; i < levels; i++) {
		elements += width * height * depth;
		width = smaller(width);
		height = smaller(height);
		if (!(desc->flags & (CUDA_ARRAY_LAYERED | CUDA_ARRAY_CUBEMAP)))
			depth = smaller(depth);
	}
	return elements * desc->channels * channel_bytes(desc->format);
}

static void describe(const struct cuda_array *array, struct effect *effect, int64_t sign)
{
	effect->device = array->context->device;
	effect->space = array->is_foreign ? MT_SPACE_IMPORTED : MT_SPACE_ARRAY;
	effect->address = (uint64_t)(uintptr_t)array;
	effect->size = array->bytes;
	effect->bytes = array->is_foreign ? 0 : sign * (int64_t)array->bytes;
}

static struct cuda_array *array_new(const struct cuda_array *wish, struct effect *effect)
{
	struct cuda_array *array = malloc(sizeof(*array));

	if (!array)
		return NULL;
	*array = *wish;
	if (!array->is_foreign && !driver_take(array->context->device, array->bytes)) {
		free(array);
		return NULL;
	}
	array->next = arrays;
	arrays = array;
	describe(array, effect, 1);
	return array;
}

static cuda_result create(void **out, const struct cuda_array3d_desc *desc, unsigned int levels, struct cuda_array wish,
			  struct effect *effect)
{
	const int no_memory = CUDA_ARRAY_SPARSE | CUDA_ARRAY_DEFERRED;

	if (!out || !desc || !desc->width || !levels || !full_bytes(desc, levels))
		return CUDA_INVALID_VALUE;
	wish.bytes = desc->flags & no_memory ? 0 : full_bytes(desc, levels);
	effect->size = wish.bytes;
	wish.context = driver_current();
	if (!wish.context)
		return CUDA_INVALID_CONTEXT;
	effect->device = wish.context->device;
	wish.context = wish.context->owner;
	*out = array_new(&wish, effect);
	return *out ? CUDA_OK : CUDA_OUT_OF_MEMORY;
}

cuda_result do_cuArrayCreate_v2(const struct args_cuArrayCreate_v2 *args, struct effect *effect)
{
	const struct cuda_array_desc *flat = args->pAllocateArray;
	struct cuda_array3d_desc desc;

	if (!flat)
		return CUDA_INVALID_VALUE;
	desc = (struct cuda_array3d_desc){ flat->width, flat->height, 0, flat->format, flat->channels, 0 };
	return create((void **)args->pHandle, &desc, 1, (struct cuda_array){ 0 }, effect);
}

cuda_result do_cuArray3DCreate_v2(const struct args_cuArray3DCreate_v2 *args, struct effect *effect)
{
	return create((void **)args->pHandle, args->pAllocateArray, 1, (struct cuda_array){ 0 }, effect);
}

cuda_result do_cuMipmappedArrayCreate(const struct args_cuMipmappedArrayCreate *args, struct effect *effect)
{
	return create((void **)args->pHandle, args->pMipmappedArrayDesc, args->numMipmapLevels,
		      (struct cuda_array){ .is_mipmap = 1 }, effect);
}

cuda_result do_cuExternalMemoryGetMappedMipmappedArray(const struct args_cuExternalMemoryGetMappedMipmappedArray *args,
						       struct effect *effect)
{
	const struct cuda_external_mipmap *map = args->mipmapDesc;

	if (!args->extMem || !map)
		return CUDA_INVALID_VALUE;
	return create((void **)args->mipmap, &map->desc, map->levels,
		      (struct cuda_array){ .is_mipmap = 1, .is_foreign = 1 }, effect);
}

static void end(struct cuda_array **link, struct effect *effect)
{
	struct cuda_array *array = *link;

	describe(array, effect, -1);
	if (effect->bytes)
		driver_give(array->context->device, array->bytes);
	*link = array->next;
	free(array);
}

static cuda_result destroy(const void *handle, int is_mipmap, struct effect *effect)
{
	struct cuda_array **link = &arrays;

	effect->address = (uint64_t)(uintptr_t)handle;
	while (*link && *link != handle)
		link = &(*link)->next;
	if (!*link || (*link)->is_mipmap != is_mipmap)
		return CUDA_INVALID_HANDLE;
	end(link, effect);
	return CUDA_OK;
}

cuda_result do_cuArrayDestroy(const struct args_cuArrayDestroy *args, struct effect *effect)
{
	return destroy(args->hArray, 0, effect);
}

cuda_result do_cuMipmappedArrayDestroy(const struct args_cuMipmappedArrayDestroy *args, struct effect *effect)
{
	return destroy(args->hMipmappedArray, 1, effect);
}

void array_context_gone(struct cuda_context *context)
{
	struct cuda_array **link = &arrays;
	struct effect effect;

	while (*link) {
		if ((*link)->context != context) {
			link = &(*link)->next;
			continue;
		}
		end(link, &effect);
		ledger_write("gone", CUDA_OK, &effect);
	}
}

/* Memory is tied to a sparse array, or untied; of the list only its length is looked at. */
cuda_result do_cuMemMapArrayAsync(const struct args_cuMemMapArrayAsync *args, struct effect *effect)
{
	effect->size = args->count;
	return args->mapInfoList && args->count ? CUDA_OK : CUDA_INVALID_VALUE;
}

DRIVER_SAME(cuMemMapArrayAsync_ptsz, cuMemMapArrayAsync)
