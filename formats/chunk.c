/* chunk.c - chunks as Zstandard frames. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>
#include "chunk.h"
#include "memtrace/error.h"
#include "memtrace/reader.h"

#define FRAME_MAGIC_SIZE 4u
#define FRAME_HEADER_MAX 18u	       /* magic, descriptor, window, dictionary id, content size */
#define FRAME_DESCRIPTOR_CHECKSUM 0x04 /* bits of the byte after the magic number */
#define FRAME_DESCRIPTOR_DICTIONARY 0x03
#define FIRST_READ (64u << 10) /* bytes, when nobody knows how long a frame is */

int mt_read_at(int fd, void *data, size_t size, uint64_t offset)
{
	uint8_t *at = data;
	ssize_t got;

	while (size) {
		got = pread(fd, at, size, (off_t)offset);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -MT_E_SYSTEM;
		if (!got)
			return -MT_E_TRUNCATED;
		at += got;
		size -= (size_t)got;
		offset += (uint64_t)got;
	}
	return 0;
}

void mt_recognition_put(struct mt_buffer *out)
{
	mt_buffer_put_u32(out, MT_SKIPPABLE_RECOGNITION);
	mt_buffer_put_u32(out, MT_TRACE_MAGIC_SIZE + 4);
	mt_buffer_put(out, MT_TRACE_MAGIC, MT_TRACE_MAGIC_SIZE);
	mt_buffer_put_u32(out, MT_TRACE_VERSION);
}

/* Are the first `size` bytes those of a trace, as far as they go? */
static int recognised(const uint8_t *head, size_t size)
{
	static const uint8_t magic[] = { 0x5A, 0x2A, 0x4D, 0x18 };
	size_t text = size < 16 ? size : 16;

	if (memcmp(head, magic, size < 4 ? size : 4))
		return 0;
	return text <= 8 || !memcmp(head + 8, MT_TRACE_MAGIC, text - 8);
}

int mt_recognition_read(int fd, uint64_t *size)
{
	uint8_t head[MT_SKIPPABLE_HEADER + MT_TRACE_MAGIC_SIZE + 4];
	size_t have = 0;
	uint32_t content;
	int error = 0;

	while (have < sizeof(head) && !error) {
		error = mt_read_at(fd, head + have, 1, have);
		have += !error;
	}
	if (error == -MT_E_SYSTEM)
		return error;
	if (!recognised(head, have))
		return -MT_E_MAGIC;
	if (error)
		return error;
	content = mt_load_u32(head + 4);
	if (content < MT_TRACE_MAGIC_SIZE + 4 || content > MT_RECOGNITION_MAX)
		return -MT_E_MAGIC;
	if (mt_load_u32(head + 16) != MT_TRACE_VERSION)
		return -MT_E_VERSION;
	*size = MT_SKIPPABLE_HEADER + (uint64_t)content;
	return 0;
}

struct mt_packer {
	ZSTD_CCtx *context;
};

struct mt_packer *mt_packer_new(int level)
{
	struct mt_packer *packer = calloc(1, sizeof(*packer));

	if (!packer)
		return NULL;
	packer->context = ZSTD_createCCtx();
	if (!packer->context || ZSTD_isError(ZSTD_CCtx_setParameter(packer->context, ZSTD_c_compressionLevel, level)) ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(packer->context, ZSTD_c_checksumFlag, 1))) {
		mt_packer_free(packer);
		return NULL;
	}
	return packer;
}

void mt_packer_free(struct mt_packer *packer)
{
	if (!packer)
		return;
	ZSTD_freeCCtx(packer->context);
	free(packer);
}

int mt_packer_pack(struct mt_packer *packer, const struct mt_buffer *payload, struct mt_buffer *out)
{
	size_t got;

	if (payload->error)
		return payload->error;
	if (payload->size > MT_CHUNK_BYTES_MAX)
		return -MT_E_LIMIT;
	if (mt_buffer_reserve(out, ZSTD_compressBound(payload->size)))
		return out->error;
	got = ZSTD_compress2(packer->context, out->data + out->size, out->capacity - out->size, payload->data,
			     payload->size);
	if (ZSTD_isError(got)) /* the room is always enough, so nothing else can be missing */
		return out->error = -MT_E_MEMORY;
	out->size += got;
	return 0;
}

struct mt_unpacker {
	int fd;
	uint64_t file_bytes;
	ZSTD_DCtx *context;
	struct mt_buffer packed;  /* the frame, or its beginning */
	struct mt_buffer payload;
	size_t frame_bytes;	  /* of `packed`; 0: nothing found */
	size_t payload_bytes;	  /* as the frame header says */
};

struct mt_unpacker *mt_unpacker_new(int fd, uint64_t file_bytes)
{
	struct mt_unpacker *unpacker = calloc(1, sizeof(*unpacker));

	if (!unpacker)
		return NULL;
	unpacker->fd = fd;
	unpacker->file_bytes = file_bytes;
	unpacker->context = ZSTD_createDCtx();
	if (!unpacker->context) {
		mt_unpacker_free(unpacker);
		return NULL;
	}
	return unpacker;
}

void mt_unpacker_free(struct mt_unpacker *unpacker)
{
	if (!unpacker)
		return;
	ZSTD_freeDCtx(unpacker->context);
	mt_buffer_release(&unpacker->packed);
	mt_buffer_release(&unpacker->payload);
	free(unpacker);
}

/* Has `packed` hold at least `want` bytes of the file from `offset` on, fewer where the file ends before. */
static int fill(struct mt_unpacker *unpacker, uint64_t offset, uint64_t want)
{
	struct mt_buffer *packed = &unpacker->packed;
	uint64_t left = unpacker->file_bytes - offset;
	int error;

	if (want > left)
		want = left;
	if (want <= packed->size)
		return 0;
	if (mt_buffer_reserve(packed, want - packed->size))
		return packed->error;
	error = mt_read_at(unpacker->fd, packed->data + packed->size, want - packed->size, offset + packed->size);
	if (!error)
		packed->size = want;
	return error;
}

/* Judges a chunk's frame header. `packed` holds all of it or the whole rest of the file. */
static int check_header(struct mt_unpacker *unpacker)
{
	const struct mt_buffer *packed = &unpacker->packed;
	unsigned long long content = ZSTD_getFrameContentSize(packed->data, packed->size);

	if (content == ZSTD_CONTENTSIZE_ERROR)
		return packed->size < FRAME_HEADER_MAX ? -MT_E_TRUNCATED : -MT_E_CORRUPT;
	if (content == ZSTD_CONTENTSIZE_UNKNOWN || !(packed->data[FRAME_MAGIC_SIZE] & FRAME_DESCRIPTOR_CHECKSUM) ||
	    packed->data[FRAME_MAGIC_SIZE] & FRAME_DESCRIPTOR_DICTIONARY)
		return -MT_E_CORRUPT;
	if (content > MT_CHUNK_BYTES_MAX)
		return -MT_E_LIMIT;
	unpacker->payload_bytes = (size_t)content;
	return 0;
}

/* Reads on until the end of the chunk's frame is in `packed`. */
static int find_end(struct mt_unpacker *unpacker, struct mt_zframe *frame)
{
	const size_t limit = ZSTD_compressBound(MT_CHUNK_BYTES_MAX);
	struct mt_buffer *packed = &unpacker->packed;
	size_t have, size;
	int error;

	for (;;) {
		size = ZSTD_findFrameCompressedSize(packed->data, packed->size);
		if (!ZSTD_isError(size))
			break;
		if (ZSTD_getErrorCode(size) != ZSTD_error_srcSize_wrong)
			return -MT_E_CORRUPT;
		if (packed->size >= limit)
			return -MT_E_LIMIT;
		have = packed->size;
		error = fill(unpacker, frame->offset, 2 * (uint64_t)have);
		if (error)
			return error;
		if (packed->size == have)
			return -MT_E_TRUNCATED;
	}
	unpacker->frame_bytes = size;
	frame->size = size;
	return 0;
}

int mt_unpacker_find(struct mt_unpacker *unpacker, uint64_t offset, uint64_t hint, struct mt_zframe *frame)
{
	struct mt_buffer *packed = &unpacker->packed;
	uint32_t magic;
	int error;

	unpacker->frame_bytes = 0;
	mt_buffer_clear(packed);
	*frame = (struct mt_zframe){ .offset = offset };
	if (offset >= unpacker->file_bytes)
		return -MT_E_TRUNCATED;
	if (hint < FRAME_HEADER_MAX || hint > ZSTD_compressBound(MT_CHUNK_BYTES_MAX))
		hint = FIRST_READ;
	error = fill(unpacker, offset, hint);
	if (error)
		return error;
	if (packed->size < MT_SKIPPABLE_HEADER)
		return -MT_E_TRUNCATED;
	magic = mt_load_u32(packed->data);
	if ((magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START) {
		frame->skippable = magic;
		frame->size = MT_SKIPPABLE_HEADER + (uint64_t)mt_load_u32(packed->data + 4);
		return frame->size > unpacker->file_bytes - offset ? -MT_E_TRUNCATED : 0;
	}
	if (magic != ZSTD_MAGICNUMBER)
		return -MT_E_CORRUPT;
	error = check_header(unpacker);
	return error ? error : find_end(unpacker, frame);
}

int mt_unpacker_unpack(struct mt_unpacker *unpacker, struct mt_cursor *payload)
{
	struct mt_buffer *out = &unpacker->payload;
	size_t got;

	if (!unpacker->frame_bytes)
		return -MT_E_CORRUPT;
	mt_buffer_clear(out);
	if (mt_buffer_reserve(out, unpacker->payload_bytes))
		return out->error;
	got = ZSTD_decompressDCtx(unpacker->context, out->data, unpacker->payload_bytes, unpacker->packed.data,
				  unpacker->frame_bytes);
	if (ZSTD_isError(got)) {
		switch (ZSTD_getErrorCode(got)) {
		case ZSTD_error_checksum_wrong:
			return -MT_E_CHECKSUM;
		case ZSTD_error_memory_allocation:
			return -MT_E_MEMORY;
		default:
			return -MT_E_CORRUPT;
		}
	}
	if (got != unpacker->payload_bytes)
		return -MT_E_CORRUPT;
	*payload = mt_cursor_make(out->data, got);
	return 0;
}

size_t mt_unpacker_size(const struct mt_unpacker *unpacker)
{
	return unpacker->frame_bytes ? unpacker->payload_bytes : 0;
}

static void drop(struct mt_buffer *buffer, size_t keep)
{
	if (buffer->capacity > keep)
		mt_buffer_release(buffer);
	mt_buffer_clear(buffer);
}

void mt_unpacker_drop(struct mt_unpacker *unpacker, size_t keep)
{
	unpacker->frame_bytes = 0;
	drop(&unpacker->packed, keep);
	drop(&unpacker->payload, keep);
}
