#include "driver_call.h"

#include <stddef.h>
#include "memtrace/base.h"

/*
 * Formats of cuda.h (CUarray_format) by bits. X(first, last, bits of a block, side of a block in elements, 1: times the
 * number of channels). A video format counts with all its planes.
 */
#define FORMAT_LIST(X)                                                                \
	X(0x01, 0x01, 8, 1, 1) /* unsigned, signed integers of 8, 16, 32 bits */      \
	X(0x02, 0x02, 16, 1, 1)                                                       \
	X(0x03, 0x03, 32, 1, 1)                                                       \
	X(0x08, 0x08, 8, 1, 1)                                                        \
	X(0x09, 0x09, 16, 1, 1)                                                       \
	X(0x0a, 0x0a, 32, 1, 1)                                                       \
	X(0x10, 0x10, 16, 1, 1) /* floating point */                                  \
	X(0x20, 0x20, 32, 1, 1)                                                       \
	X(0x50, 0x50, 32, 1, 0)  /* 10-10-10-2 */                                     \
	X(0x91, 0x92, 64, 4, 0)  /* BC1; blocks of 4 by 4 */                          \
	X(0x93, 0x96, 128, 4, 0) /* BC2, BC3 */                                       \
	X(0x97, 0x98, 64, 4, 0)  /* BC4 */                                            \
	X(0x99, 0x9e, 128, 4, 0) /* BC5, BC6H, BC7 */                                 \
	X(0x9f, 0x9f, 24, 1, 0)  /* P010, P016: 4:2:0 in 16 bits */                   \
	X(0xa1, 0xa1, 24, 1, 0)                                                       \
	X(0xa2, 0xa2, 16, 1, 0) /* NV16: 4:2:2 in 8 bits */                           \
	X(0xa3, 0xa4, 32, 1, 0) /* P210, P216: 4:2:2 in 16 bits */                    \
	X(0xa5, 0xa5, 16, 1, 0) /* YUY2 */                                            \
	X(0xa6, 0xa9, 32, 1, 0) /* Y210, Y216, AYUV, Y410 */                          \
	X(0xb0, 0xb0, 12, 1, 0) /* NV12: 4:2:0 in 8 bits */                           \
	X(0xb1, 0xb1, 64, 1, 0) /* Y416 */                                            \
	X(0xb2, 0xb2, 24, 1, 0) /* 4:4:4, planes of 8 and 16 bits */                  \
	X(0xb3, 0xb3, 48, 1, 0)                                                       \
	X(0xb4, 0xb4, 24, 1, 0)                                                       \
	X(0xb5, 0xb5, 48, 1, 0)                                                       \
	X(0xc0, 0xc0, 8, 1, 0) /* normalized, of 1, 2, 4 channels of 8 and 16 bits */ \
	X(0xc1, 0xc1, 16, 1, 0)                                                       \
	X(0xc2, 0xc2, 32, 1, 0)                                                       \
	X(0xc3, 0xc3, 16, 1, 0)                                                       \
	X(0xc4, 0xc4, 32, 1, 0)                                                       \
	X(0xc5, 0xc5, 64, 1, 0)                                                       \
	X(0xc6, 0xc6, 8, 1, 0)                                                        \
	X(0xc7, 0xc7, 16, 1, 0)                                                       \
	X(0xc8, 0xc8, 32, 1, 0)                                                       \
	X(0xc9, 0xc9, 16, 1, 0)                                                       \
	X(0xca, 0xca, 32, 1, 0)                                                       \
	X(0xcb, 0xcb, 64, 1, 0)

struct format {
	uint8_t first, last, bits, side, has_channels;
};

static const struct format formats[] = {
#define FORMAT_ROW(first, last, bits, side, has_channels) { first, last, bits, side, has_channels },
	FORMAT_LIST(FORMAT_ROW)
#undef FORMAT_ROW
};

static const struct format *format_of(int number)
{
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(formats); i++)
		if (number >= formats[i].first && number <= formats[i].last)
			return &formats[i];
	return NULL;
}

static uint64_t at_least_one(uint64_t count)
{
	return count ? count : 1;
}

uint64_t arrays_bytes(const struct cuda_array3d_desc *desc, unsigned int levels)
{
	const struct format *format = format_of(desc->format);
	uint64_t width = desc->width, height = at_least_one(desc->height), depth = at_least_one(desc->depth);
	int is_layered = (desc->flags & (CUDA_ARRAY_LAYERED | CUDA_ARRAY_CUBEMAP)) != 0;
	uint64_t bits = 0, side;

	if (!format || desc->flags & (CUDA_ARRAY_SPARSE | CUDA_ARRAY_DEFERRED))
		return 0;
	side = format->side;
	for (; levels; levels--) {
		bits += (width + side - 1) / side * ((height + side - 1) / side) * depth * format->bits;
		if (width <= 1 && height <= 1 && (depth <= 1 || is_layered))
			break;
		width = at_least_one(width / 2);
		height = at_least_one(height / 2);
		if (!is_layered)
			depth = at_least_one(depth / 2);
	}
	return bits * (format->has_channels ? desc->channels : 1) / 8;
}
