/*
 * build.h - traces put together chunk by chunk, past the writer's checks: the golden files that no writer of this
 * version makes.
 */
#ifndef GOLDEN_BUILD_H
#define GOLDEN_BUILD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"
#include "trace/chunk.h"
#include "trace/chunk_list.h"
#include "trace/codec.h"
#include "trace/process.h"

struct build {
	struct mt_buffer out, payload;
	struct mt_packer *packer;
	struct mt_chunk_list list; /* for the index */
};

static void build_begin(struct build *build)
{
	memset(build, 0, sizeof(*build));
	build->packer = mt_packer_new(3);
}

static void build_release(struct build *build)
{
	mt_buffer_release(&build->out);
	mt_buffer_release(&build->payload);
	mt_packer_free(build->packer);
	mt_chunk_list_release(&build->list);
}

/* Appends `payload` as a chunk; `info` has what the index is to say besides place and kind. */
static void build_chunk(struct build *build, struct mt_chunk_info info)
{
	struct mt_cursor payload = mt_cursor_make(build->payload.data, build->payload.size);

	info.kind = mt_payload_kind(&payload);
	info.offset = build->out.size;
	mt_packer_pack(build->packer, &build->payload, info.events, &build->out);
	info.size = build->out.size - info.offset;
	mt_chunk_list_add(&build->list, &info);
}

static void build_index(struct build *build)
{
	mt_index_encode(build->list.info, build->list.count, &build->out);
}

#define BYTES(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

/* Recognition frame and PROCESS chunk. */
static void build_head(struct build *build)
{
	static const struct mt_process process = { .pid = 42, .rank = -1, .command = "python train.py" };

	mt_recognition_put(&build->out);
	mt_process_encode(&process, &build->payload);
	build_chunk(build, (struct mt_chunk_info){ 0 });
}

/* One definition of each kind. */
static void build_defs(struct build *build)
{
	mt_payload_begin(&build->payload, MT_CHUNK_DEFS);
	mt_payload_section(&build->payload, MT_DEF_STRING, BYTES(1, 1, 3, 'a', 'b', 'c'));
	mt_payload_section(&build->payload, MT_DEF_MODULE, BYTES(1, 1, 1, 16, 32, 16, 2, 0xAB, 0xCD));
	mt_payload_section(&build->payload, MT_DEF_FRAME, BYTES(1, 1, MT_FRAME_PYTHON, 1, 1, 7, 0, 0));
	mt_payload_section(&build->payload, MT_DEF_NODE, BYTES(1, 1, 1, 1));
	mt_payload_section(&build->payload, MT_DEF_THREAD, BYTES(1, 1, 42, 1, 1));
	mt_payload_section(&build->payload, MT_DEF_DEVICE, BYTES(1, 1, 1, 0, 1, 0, 0));
	build_chunk(build, (struct mt_chunk_info){ 0 });
}

struct build_section {
	uint32_t number;
	const uint8_t *data;
	size_t size;
};

/*
 * A chunk of two MARK events, seq `seq` and the next, times 10 and 20, except that `other` (may be NULL) takes the
 * place of the section with its number; with NULL data it is left away. `seq` below 100.
 */
static void build_marks(struct build *build, uint8_t seq, const struct build_section *other)
{
	const struct build_section sections[] = {
		{ MT_SECTION_SUMMARY, BYTES(2, seq, (uint8_t)(seq + 1), 10, 20, 0, 0, 0) },
		{ MT_SECTION_KINDS, BYTES(MT_MARK, MT_MARK) },
		{ MT_SECTION_LAYOUT, BYTES(MT_MARK, 0x87, 0x40) }, /* seq, time, thread, name */
		{ MT_SECTION_COLUMN + MT_FIELD_seq, BYTES((uint8_t)(seq - 1), 0) },
		{ MT_SECTION_COLUMN + MT_FIELD_time, BYTES(20, 20) },
		{ MT_SECTION_COLUMN + MT_FIELD_thread, BYTES(0, 1) },
		{ MT_SECTION_COLUMN + MT_FIELD_name, BYTES(1, 0) },
	};
	const struct build_section *section;
	size_t i;

	mt_payload_begin(&build->payload, MT_CHUNK_EVENTS);
	for (i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		section = other && other->number == sections[i].number ? other : &sections[i];
		if (section->data)
			mt_payload_section(&build->payload, section->number, section->data, section->size);
	}
	build_chunk(build,
		    (struct mt_chunk_info){
			    .events = 2, .first_seq = seq, .last_seq = seq + 1u, .first_time = 10, .last_time = 20 });
}

static void build_save(const struct build *build, const char *path)
{
	FILE *file = fopen(path, "wb");
	size_t size = build->out.size;

	if (build->out.error || !file || (size && fwrite(build->out.data, 1, size, file) != size) || fclose(file)) {
		fprintf(stderr, "%s: cannot be written\n", path);
		exit(4);
	}
}

#endif
