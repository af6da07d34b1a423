/*
 * chunk.c - packs and unpacks chunks as Zstandard frames.
 *
 * This file checks the budget of trace files (trace-v1.md, "Limits"): the unpacked bytes and the events of a frame are
 * limited by its bytes in the file. All memory and time of a reader follow from this. Packing keeps each frame within
 * the budget.
 */
#include "chunk.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>
#include "memtrace/error.h"
#include "memtrace/reader.h"

#define FRAME_MAGIC_SIZE 4u
#define FRAME_HEADER_MAX 18u           /* magic, descriptor, window, dictionary id, content size */
#define FRAME_DESCRIPTOR_CHECKSUM 0x04 /* bits of the byte after the magic number */
#define FRAME_DESCRIPTOR_DICTIONARY 0x03
#define READ_BYTES (64u << 10) /* at a time, at least */

void mt_recognition_put(struct mt_buffer *out)
{
	mt_buffer_put_u32(out, MT_SKIPPABLE_RECOGNITION);
	mt_buffer_put_u32(out, MT_TRACE_MAGIC_SIZE + 4);
	mt_buffer_put(out, MT_TRACE_MAGIC, MT_TRACE_MAGIC_SIZE);
	mt_buffer_put_u32(out, MT_TRACE_VERSION);
}

/* 1: the first `size` bytes can be the beginning of a trace. */
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

/* The least bytes of a frame with this payload and number of events. */
static size_t frame_bytes_min(size_t payload, uint32_t events)
{
	size_t for_payload = payload / MT_CHUNK_DENSITY_MAX, for_events = events / MT_CHUNK_DENSITY_EVENTS_MAX;
	size_t size = for_payload > for_events ? for_payload : for_events;

	return size > MT_CHUNK_FRAME_BYTES ? size - MT_CHUNK_FRAME_BYTES : 0;
}

/* The longest frame of such a payload: packers stay below. */
static size_t frame_bytes_max(size_t payload)
{
	return payload + payload / 128 + 1024;
}

/* Adds a section of `size` bytes that do not compress. */
static void put_filler(struct mt_buffer *payload, size_t size)
{
	uint64_t noise = 88172645463325252ull; /* xorshift64: the same bytes every time */
	size_t i;

	mt_buffer_put_varint(payload, MT_SECTION_FILLER);
	mt_buffer_put_varint(payload, size);
	if (mt_buffer_reserve(payload, size))
		return;
	for (i = 0; i < size; i++) {
		noise ^= noise << 13;
		noise ^= noise >> 7;
		noise ^= noise << 17;
		payload->data[payload->size++] = (uint8_t)(noise >> 32);
	}
}

static int pack(struct mt_packer *packer, const struct mt_buffer *payload, struct mt_buffer *out)
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
	if (ZSTD_isError(got)) /* the room is always enough, so memory is missing */
		return out->error = -MT_E_MEMORY;
	out->size += got;
	return 0;
}

int mt_packer_pack(struct mt_packer *packer, struct mt_buffer *payload, uint32_t events, struct mt_buffer *out)
{
	size_t before = out->size, bare = payload->size, filler = 0, want, got;
	int error;

	for (;;) {
		error = pack(packer, payload, out);
		got = out->size - before;
		want = frame_bytes_min(payload->size, events);
		if (error || got >= want)
			return error;
		/* A bit more than what lacks: filler is payload, too. If the estimate was too little, twice as much
		 * is enough. */
		filler = filler ? 2 * filler : want - got + want / 32 + 64;
		payload->size = bare;
		out->size = before;
		put_filler(payload, filler);
	}
}

struct mt_unpacker {
	int fd;
	uint64_t file_bytes;
	ZSTD_DCtx *context;
	struct mt_buffer packed; /* a piece of the file, */
	uint64_t packed_at;      /* from here on; */
	size_t begin;            /* offset of the frame in the buffer */
	struct mt_buffer payload;
	size_t frame_bytes;   /* 0: no frame */
	size_t payload_bytes; /* as in the frame header */
	uint64_t work;
};

struct mt_unpacker *mt_unpacker_new(int fd, uint64_t file_bytes)
{
	struct mt_unpacker *unpacker = calloc(1, sizeof(*unpacker));

	if (!unpacker)
		return NULL;
	unpacker->fd = fd;
	unpacker->file_bytes = file_bytes;
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

void mt_unpacker_file(struct mt_unpacker *unpacker, int fd)
{
	unpacker->fd = fd;
}

void mt_unpacker_grow(struct mt_unpacker *unpacker, uint64_t file_bytes)
{
	unpacker->file_bytes = file_bytes;
	unpacker->frame_bytes = 0;
	mt_buffer_clear(&unpacker->packed); /* the torn end may have new content */
	unpacker->packed_at = 0;
	unpacker->begin = 0;
}

uint64_t mt_unpacker_work(const struct mt_unpacker *unpacker)
{
	return unpacker->work;
}

/* The frame's bytes in memory. */
static const uint8_t *frame_data(const struct mt_unpacker *unpacker)
{
	return unpacker->packed.data + unpacker->begin;
}

static size_t frame_have(const struct mt_unpacker *unpacker)
{
	return unpacker->packed.size - unpacker->begin;
}

/* The frame to look at begins at `offset`. Keep the part already read: many small frames are read at once. */
static void move_to(struct mt_unpacker *unpacker, uint64_t offset)
{
	if (offset >= unpacker->packed_at && offset - unpacker->packed_at <= unpacker->packed.size) {
		unpacker->begin = (size_t)(offset - unpacker->packed_at);
		return;
	}
	mt_buffer_clear(&unpacker->packed);
	unpacker->packed_at = offset;
	unpacker->begin = 0;
}

/* Reads until `want` bytes of the frame are in memory, or to the end of the file. */
static int fill(struct mt_unpacker *unpacker, uint64_t want)
{
	struct mt_buffer *packed = &unpacker->packed;
	uint64_t left = unpacker->file_bytes - unpacker->packed_at - unpacker->begin;
	int error;

	if (want <= frame_have(unpacker) || left == frame_have(unpacker))
		return 0;
	if (want < READ_BYTES)
		want = READ_BYTES;
	if (want > left)
		want = left;
	packed->size -= unpacker->begin;
	if (packed->size)
		memmove(packed->data, packed->data + unpacker->begin, packed->size);
	unpacker->packed_at += unpacker->begin;
	unpacker->begin = 0;
	if (mt_buffer_reserve(packed, want - packed->size))
		return packed->error;
	error = mt_read_at(unpacker->fd, packed->data + packed->size, want - packed->size,
			   unpacker->packed_at + packed->size);
	if (error)
		return error;
	unpacker->work += want - packed->size;
	packed->size = want;
	return 0;
}

/* Judges a chunk's frame header. All of it is in memory, or the whole rest of the file. */
static int check_header(struct mt_unpacker *unpacker)
{
	const uint8_t *data = frame_data(unpacker);
	unsigned long long content = ZSTD_getFrameContentSize(data, frame_have(unpacker));

	if (content == ZSTD_CONTENTSIZE_ERROR)
		return frame_have(unpacker) < FRAME_HEADER_MAX ? -MT_E_TRUNCATED : -MT_E_CORRUPT;
	if (content == ZSTD_CONTENTSIZE_UNKNOWN || !(data[FRAME_MAGIC_SIZE] & FRAME_DESCRIPTOR_CHECKSUM) ||
	    data[FRAME_MAGIC_SIZE] & FRAME_DESCRIPTOR_DICTIONARY)
		return -MT_E_CORRUPT;
	if (content > MT_CHUNK_BYTES_MAX)
		return -MT_E_LIMIT;
	unpacker->payload_bytes = (size_t)content;
	return 0;
}

/* Reads on until the end of the chunk's frame is in memory. */
static int find_end(struct mt_unpacker *unpacker, struct mt_zframe *frame)
{
	const size_t limit = frame_bytes_max(unpacker->payload_bytes);
	size_t have, size;
	int error;

	for (;;) {
		have = frame_have(unpacker);
		size = ZSTD_findFrameCompressedSize(frame_data(unpacker), have < limit ? have : limit);
		unpacker->work += !ZSTD_isError(size) ? size : have < limit ? have : limit;
		if (!ZSTD_isError(size))
			break;
		if (ZSTD_getErrorCode(size) != ZSTD_error_srcSize_wrong)
			return -MT_E_CORRUPT;
		if (have >= limit)
			return -MT_E_CORRUPT;
		error = fill(unpacker, 2 * (uint64_t)have);
		if (error)
			return error;
		if (frame_have(unpacker) == have)
			return -MT_E_TRUNCATED;
	}
	if (size < frame_bytes_min(unpacker->payload_bytes, 0))
		return -MT_E_LIMIT;
	unpacker->frame_bytes = size;
	frame->size = size;
	return 0;
}

int mt_unpacker_find(struct mt_unpacker *unpacker, uint64_t offset, uint64_t hint, struct mt_zframe *frame)
{
	uint32_t magic;
	int error;

	unpacker->frame_bytes = 0;
	*frame = (struct mt_zframe){ .offset = offset };
	if (offset >= unpacker->file_bytes)
		return -MT_E_TRUNCATED;
	move_to(unpacker, offset);
	if (hint < FRAME_HEADER_MAX || hint > frame_bytes_max(MT_CHUNK_BYTES_MAX))
		hint = FRAME_HEADER_MAX;
	error = fill(unpacker, hint);
	if (error)
		return error;
	if (frame_have(unpacker) < MT_SKIPPABLE_HEADER)
		return -MT_E_TRUNCATED;
	magic = mt_load_u32(frame_data(unpacker));
	if ((magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START) {
		frame->skippable = magic;
		frame->size = MT_SKIPPABLE_HEADER + (uint64_t)mt_load_u32(frame_data(unpacker) + 4);
		return frame->size > unpacker->file_bytes - offset ? -MT_E_TRUNCATED : 0;
	}
	if (magic != ZSTD_MAGICNUMBER)
		return -MT_E_CORRUPT;
	error = check_header(unpacker);
	return error ? error : find_end(unpacker, frame);
}

int mt_unpacker_afford(const struct mt_unpacker *unpacker, uint32_t events)
{
	return unpacker->frame_bytes < frame_bytes_min(0, events) ? -MT_E_LIMIT : 0;
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
	if (!unpacker->context)
		unpacker->context = ZSTD_createDCtx();
	if (!unpacker->context)
		return -MT_E_MEMORY;
	unpacker->work += unpacker->payload_bytes;
	got = ZSTD_decompressDCtx(unpacker->context, out->data, unpacker->payload_bytes, frame_data(unpacker),
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

void mt_unpacker_drop(struct mt_unpacker *unpacker, size_t keep)
{
	unpacker->frame_bytes = 0;
	if (unpacker->packed.capacity > keep) {
		mt_buffer_release(&unpacker->packed);
		unpacker->begin = 0;
	}
	if (unpacker->payload.capacity > keep)
		mt_buffer_release(&unpacker->payload);
	if (keep)
		return;
	ZSTD_freeDCtx(unpacker->context);
	unpacker->context = NULL;
}

void mt_payload_begin(struct mt_buffer *payload, uint32_t kind)
{
	mt_buffer_clear(payload);
	mt_buffer_put_varint(payload, kind);
}

void mt_payload_section(struct mt_buffer *payload, uint32_t number, const void *data, size_t size)
{
	mt_buffer_put_varint(payload, number);
	mt_buffer_put_varint(payload, size);
	mt_buffer_put(payload, data, size);
}

uint32_t mt_payload_kind(struct mt_cursor *payload)
{
	return mt_cursor_u32(payload);
}

int mt_section_next(struct mt_cursor *payload, struct mt_section *section)
{
	uint32_t number;
	uint64_t size;
	const uint8_t *data;

	if (payload->error || !mt_cursor_left(payload))
		return payload->error;
	number = mt_cursor_u32(payload);
	size = mt_cursor_varint(payload);
	data = mt_cursor_bytes(payload, size);
	if (!payload->error && number <= section->number)
		payload->error = -MT_E_CORRUPT;
	if (payload->error)
		return payload->error;
	section->number = number;
	section->content = mt_cursor_make(data, size);
	return 1;
}
