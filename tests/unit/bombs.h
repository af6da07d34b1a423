/*
 * bombs.h - files that are small and claim to be large. Each comes twice: as dense as the compressor can make it,
 * whatever the format says of that, and as dense as the format allows.
 *
 * BOMB(NAME, BYTES) { ... } appends chunks to `bomb`, some BYTES of file in all; a PROCESS chunk is there.
 */
#ifndef BOMBS_H
#define BOMBS_H

#include <zstd.h>
#include "memtrace/error.h"
#include "test.h"
#include "trace/chunk.h"
#include "trace/codec.h"
#include "trace/process.h"

struct bomb {
	struct mt_buffer out, payload;
	struct mt_packer *packer; /* NULL: no budget */
	ZSTD_CCtx *context;
	size_t bytes; /* size that the file may have */
	uint64_t seq;
};

/* A file to be made. */
struct bomb_kind {
	const char *name;
	size_t bytes;
	void (*make)(struct bomb *bomb);
};

extern const struct bomb_kind __start_bomb_kinds[], __stop_bomb_kinds[];

#define BOMB(title, most)                                                                                       \
	static void bomb_make_##title(struct bomb *bomb);                                                       \
	static const struct bomb_kind bomb_kind_##title                                                         \
		__attribute__((used, section("bomb_kinds"), aligned(8))) = { #title, most, bomb_make_##title }; \
	static void bomb_make_##title(struct bomb *bomb)

/* The payload, with `events` events, as a chunk. */
static void bomb_chunk(struct bomb *bomb, uint32_t events)
{
	size_t room = ZSTD_compressBound(bomb->payload.size), got;

	if (bomb->packer) {
		CHECK_EQ(mt_packer_pack(bomb->packer, &bomb->payload, events, &bomb->out), 0);
		return;
	}
	CHECK(!bomb->payload.error && !mt_buffer_reserve(&bomb->out, room));
	got = ZSTD_compress2(bomb->context, bomb->out.data + bomb->out.size, room, bomb->payload.data,
			     bomb->payload.size);
	CHECK(!ZSTD_isError(got));
	bomb->out.size += got;
}

/* As many of the same chunk as fit, one at least. */
static void bomb_chunks(struct bomb *bomb, uint32_t events)
{
	size_t before = bomb->out.size, size;

	bomb_chunk(bomb, events);
	size = bomb->out.size - before;
	while (bomb->out.size + size <= bomb->bytes) {
		CHECK(!mt_buffer_reserve(&bomb->out, size));
		mt_buffer_put(&bomb->out, bomb->out.data + before, size);
	}
}

static void bomb_repeat(struct mt_buffer *out, uint8_t byte, size_t count)
{
	CHECK(!mt_buffer_reserve(out, count));
	memset(out->data + out->size, byte, count);
	out->size += count;
}

#define BOMB_PAYLOAD (62u << 20) /* bytes: what any chunk may have, and room for filler */

/* A section of DEFS: `count` definitions from `first` on, which `body` holds. */
static void bomb_section(struct bomb *bomb, enum mt_def kind, uint64_t first, uint64_t count,
			 const struct mt_buffer *body)
{
	struct mt_buffer head = { 0 };

	mt_buffer_put_varint(&head, first);
	mt_buffer_put_varint(&head, count);
	mt_buffer_put_varint(&bomb->payload, kind);
	mt_buffer_put_varint(&bomb->payload, head.size + body->size);
	mt_buffer_put(&bomb->payload, head.data, head.size);
	mt_buffer_put(&bomb->payload, body->data, body->size);
	mt_buffer_release(&head);
}

/* `count` events that differ in nothing but what the columns' differences make of them, as the payload. */
static void bomb_events(struct bomb *bomb, enum mt_chunk_kind chunk, struct mt_event *event, uint32_t count)
{
	struct mt_encoder encoder;
	uint32_t i;

	mt_encoder_init(&encoder);
	for (i = 0; i < count; i++) {
		event->seq = ++bomb->seq;
		event->addr += 64;
		CHECK_EQ(mt_encoder_add(&encoder, event), 0);
	}
	mt_encoder_payload(&encoder, chunk, &bomb->payload);
	mt_encoder_release(&encoder);
}

/* Chunks of such events until the file is full. */
static void bomb_stream(struct bomb *bomb, struct mt_event *event)
{
	do {
		bomb_events(bomb, MT_CHUNK_EVENTS, event, MT_CHUNK_EVENTS_MAX);
		bomb_chunk(bomb, MT_CHUNK_EVENTS_MAX);
	} while (bomb->out.size < bomb->bytes);
}

/* ---- chunks ------------------------------------------------------------------------------------------------------ */

/* Chunks of a kind that nobody knows: 64 MiB of nothing each. */
BOMB(zeros, 824 << 10)
{
	mt_payload_begin(&bomb->payload, 200);
	bomb_repeat(&bomb->payload, 0, BOMB_PAYLOAD);
	bomb_chunks(bomb, 0);
}

/* Chunks of nothing. */
BOMB(tiny, 4 << 20)
{
	mt_payload_begin(&bomb->payload, MT_CHUNK_DEFS);
	bomb_chunks(bomb, 0);
}

/* Every other frame says that it is long, and goes on in one like it: looking for its end takes the rest of the file. */
BOMB(endless, 4 << 20)
{
	uint8_t start[] = { 0x28, 0xB5, 0x2F, 0xFD, 0xE4, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0 };
	size_t before = bomb->out.size, each, block;

	if (bomb->packer) /* it is damage, fair or not */
		return;
	mt_payload_begin(&bomb->payload, MT_CHUNK_DEFS);
	bomb_chunk(bomb, 0);
	each = bomb->out.size - before + sizeof(start);
	block = (100000 / each * each - 3) << 3;
	start[13] = (uint8_t)block;
	start[14] = (uint8_t)(block >> 8);
	start[15] = (uint8_t)(block >> 16);
	while (bomb->out.size + each < bomb->bytes) {
		mt_buffer_put(&bomb->out, start, sizeof(start));
		bomb_chunk(bomb, 0);
	}
}

/* ---- definitions ------------------------------------------------------------------------------------------------- */

static void bomb_strings(struct bomb *bomb, uint64_t first, uint64_t count, size_t size, uint8_t byte)
{
	struct mt_buffer body = { 0 };
	uint64_t i;

	for (i = 0; i < count && size; i++) {
		mt_buffer_put_varint(&body, size);
		bomb_repeat(&body, byte, size);
	}
	if (!size)
		bomb_repeat(&body, 0, count);
	bomb_section(bomb, MT_DEF_STRING, first, count, &body);
	mt_buffer_release(&body);
}

BOMB(strings, 11 << 10)
{
	mt_payload_begin(&bomb->payload, MT_CHUNK_DEFS);
	bomb_strings(bomb, 1, BOMB_PAYLOAD, 0, 0);
	bomb_chunk(bomb, 0);
}

BOMB(few_strings, 1024)
{
	mt_payload_begin(&bomb->payload, MT_CHUNK_DEFS);
	bomb_strings(bomb, 1, 21 << 20, 0, 0);
	bomb_chunk(bomb, 0);
}

BOMB(text, 96 << 10)
{
	uint64_t chunk;

	for (chunk = 0; chunk < 3; chunk++) {
		mt_payload_begin(&bomb->payload, MT_CHUNK_DEFS);
		bomb_strings(bomb, 1 + chunk * 1000, 1000, 65000, 'x');
		bomb_chunk(bomb, 0);
	}
}

/* One name, one frame, and stacks of it as deep as they may be. */
static void bomb_stacks(struct bomb *bomb, size_t name, uint64_t nodes)
{
	struct mt_buffer body = { 0 };
	uint64_t id;

	mt_payload_begin(&bomb->payload, MT_CHUNK_DEFS);
	bomb_strings(bomb, 1, 1, name, 'n');
	mt_buffer_put(&body, (const uint8_t[]){ MT_FRAME_PYTHON, 1, 1, 7, 0, 0 }, 6);
	bomb_section(bomb, MT_DEF_FRAME, 1, 1, &body);
	mt_buffer_clear(&body);
	for (id = 1; id <= nodes; id++) {
		mt_buffer_put_varint(&body, id <= MT_STACK_DEPTH_MAX - 2 ? 1 : id - (MT_STACK_DEPTH_MAX - 2));
		mt_buffer_put_varint(&body, 1);
	}
	bomb_section(bomb, MT_DEF_NODE, 1, nodes, &body);
	mt_buffer_clear(&body);
	mt_buffer_put(&body, (const uint8_t[]){ MT_DEVICE_CUDA, 0, 1, 0, 0 }, 5);
	bomb_section(bomb, MT_DEF_DEVICE, 1, 1, &body);
	mt_buffer_release(&body);
	bomb_chunk(bomb, 0);
}

/* Every allocation at a place of its own, each under the same deep stack of long names. */
BOMB(places, 64 << 10)
{
	struct mt_event event = { .kind = MT_TENSOR_ALLOC, .device = 1, .size = 64, .time = 1000, .addr = 1 << 20 };
	struct mt_encoder encoder;
	uint32_t i;

	bomb_stacks(bomb, 60000, 20000);
	mt_encoder_init(&encoder);
	for (i = 1; i <= 20000; i++) {
		event.seq = ++bomb->seq;
		event.addr += 64;
		event.stack = i;
		CHECK_EQ(mt_encoder_add(&encoder, &event), 0);
	}
	mt_encoder_payload(&encoder, MT_CHUNK_EVENTS, &bomb->payload);
	mt_encoder_release(&encoder);
	bomb_chunk(bomb, 20000);
}

/* As many threads and devices as there may be, and one event of each. */
BOMB(threads, 1 << 20)
{
	struct mt_event event = { .kind = MT_TENSOR_ALLOC, .size = 64, .time = 1000, .addr = 1 << 20 };
	struct mt_buffer body = { 0 };
	struct mt_encoder encoder;
	uint32_t i;

	mt_payload_begin(&bomb->payload, MT_CHUNK_DEFS);
	bomb_repeat(&body, 0, 3 * 65535);
	bomb_section(bomb, MT_DEF_THREAD, 1, 65535, &body);
	mt_buffer_clear(&body);
	for (i = 1; i <= 65535; i++) {
		mt_buffer_put_varint(&body, MT_DEVICE_CUDA);
		mt_buffer_put_varint(&body, i);
		bomb_repeat(&body, 0, 3);
	}
	bomb_section(bomb, MT_DEF_DEVICE, 1, 65535, &body);
	mt_buffer_release(&body);
	bomb_chunk(bomb, 0);
	mt_encoder_init(&encoder);
	for (i = 1; i <= 65535; i++) {
		event.seq = ++bomb->seq;
		event.addr += 64;
		event.thread = event.device = i;
		CHECK_EQ(mt_encoder_add(&encoder, &event), 0);
	}
	mt_encoder_payload(&encoder, MT_CHUNK_EVENTS, &bomb->payload);
	mt_encoder_release(&encoder);
	bomb_chunk(bomb, 65535);
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

/* All alive at the end. */
BOMB(allocations, 11 << 10)
{
	struct mt_event event = { .kind = MT_TENSOR_ALLOC, .size = 64, .time = 1000, .addr = 1 << 20 };

	bomb_stream(bomb, &event);
}

/* Ranges that are never closed. */
BOMB(ranges, 11 << 10)
{
	struct mt_event event = { .kind = MT_RANGE_PUSH, .time = 1000 };

	bomb_stream(bomb, &event);
}

BOMB(steps, 11 << 10)
{
	struct mt_event event = { .kind = MT_STEP_MARK, .time = 1000 };

	bomb_stream(bomb, &event);
}

/* The largest live set there is, again and again. */
BOMB(checkpoints, 11 << 10)
{
	struct mt_event event = { .kind = MT_LIVE, .value = MT_TENSOR_ALLOC, .size = 64, .time = 1000, .addr = 1 << 20 };

	bomb_events(bomb, MT_CHUNK_CHECKPOINT, &event, MT_CHUNK_EVENTS_MAX);
	bomb_chunks(bomb, MT_CHUNK_EVENTS_MAX);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* `fair`: within the budget. */
static void bomb_begin(struct bomb *bomb, size_t bytes, int fair)
{
	static const struct mt_process process = { .pid = 42, .rank = -1, .command = "python train.py" };

	memset(bomb, 0, sizeof(*bomb));
	bomb->bytes = bytes;
	bomb->packer = fair ? mt_packer_new(3) : NULL;
	bomb->context = ZSTD_createCCtx();
	CHECK(bomb->context && !ZSTD_isError(ZSTD_CCtx_setParameter(bomb->context, ZSTD_c_checksumFlag, 1)));
	mt_recognition_put(&bomb->out);
	mt_process_encode(&process, &bomb->payload);
	bomb_chunk(bomb, 0);
}

static void bomb_save(struct bomb *bomb, const char *path)
{
	FILE *file = fopen(path, "wb");

	CHECK(file && fwrite(bomb->out.data, 1, bomb->out.size, file) == bomb->out.size && !fclose(file));
	mt_buffer_release(&bomb->out);
	mt_buffer_release(&bomb->payload);
	mt_packer_free(bomb->packer);
	ZSTD_freeCCtx(bomb->context);
}

static void bomb_write(const struct bomb_kind *kind, int fair, const char *path)
{
	struct bomb bomb;

	bomb_begin(&bomb, kind->bytes, fair);
	kind->make(&bomb);
	bomb_save(&bomb, path);
}

#endif
