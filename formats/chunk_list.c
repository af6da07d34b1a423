/* chunk_list.c - where the chunks of a file are. */
#include <stdlib.h>
#include <string.h>
#include "chunk_list.h"
#include "codec.h"
#include "index.h"
#include "memtrace/error.h"
#include "payload.h"

void mt_chunk_list_release(struct mt_chunk_list *list)
{
	free(list->info);
	memset(list, 0, sizeof(*list));
}

int mt_chunk_list_add(struct mt_chunk_list *list, const struct mt_chunk_info *info)
{
	uint32_t capacity = list->capacity ? 2 * list->capacity : 64;
	struct mt_chunk_info *grown;

	if (list->count >= MT_CHUNKS_MAX)
		return -MT_E_LIMIT;
	if (list->count >= list->capacity) {
		grown = realloc(list->info, capacity * sizeof(*grown));
		if (!grown)
			return -MT_E_MEMORY;
		list->info = grown;
		list->capacity = capacity;
	}
	list->info[list->count++] = *info;
	return 0;
}

/* The kind of a payload and, where it has one, its SUMMARY. */
static int read_info(struct mt_cursor *payload, struct mt_chunk_info *info)
{
	struct mt_section section = { 0 };
	int got;

	info->kind = mt_payload_kind(payload);
	if (payload->error || (info->kind != MT_CHUNK_EVENTS && info->kind != MT_CHUNK_CHECKPOINT))
		return payload->error;
	got = mt_section_next(payload, &section);
	if (got < 0)
		return got;
	if (!got || section.number != MT_SECTION_SUMMARY)
		return -MT_E_CORRUPT;
	return mt_summary_read(&section.content, info);
}

/* An index that scanning comes upon was not good enough to be used. Why not? */
static void blame_index(struct mt_chunk_list *list, const struct mt_chunk_source *source, const struct mt_zframe *frame)
{
	uint64_t end = frame->offset + frame->size, offset;
	uint64_t first = list->count ? list->info[0].offset : frame->offset;
	struct mt_chunk_info *chunks;
	uint32_t count;

	list->error = mt_index_read(source->fd, end, first, &chunks, &count, &offset);
	list->error_offset = frame->offset;
	free(chunks);
	if (list->error == -MT_E_MISSING)
		list->error = -MT_E_CORRUPT;
	if (!list->error) { /* it is sound: then something follows it, or the chunks say otherwise */
		list->error = -MT_E_CORRUPT;
		list->error_offset = end < source->file_bytes ? end : frame->offset;
	}
}

/* Looks at the frame at `offset`. 1: go on behind it, 0: the list ends here, or an error. */
static int scan_one(struct mt_chunk_list *list, const struct mt_chunk_source *source, uint64_t offset,
		    struct mt_zframe *frame)
{
	struct mt_chunk_info info = { .offset = offset };
	struct mt_cursor payload;
	int error = mt_unpacker_find(source->unpacker, offset, 0, frame);

	if (!error && frame->skippable == MT_SKIPPABLE_INDEX) {
		blame_index(list, source, frame);
		return 0;
	}
	if (!error && frame->skippable)
		return 1;
	if (!error)
		error = mt_unpacker_unpack(source->unpacker, &payload);
	if (!error)
		error = read_info(&payload, &info);
	if (!error && info.kind == MT_CHUNK_PROCESS && list->count)
		error = -MT_E_CORRUPT;
	info.size = frame->size;
	if (!error)
		error = mt_chunk_list_add(list, &info);
	if (error == -MT_E_MEMORY || error == -MT_E_SYSTEM)
		return error;
	list->error = error;
	list->error_offset = error ? offset : 0;
	return !error;
}

int mt_chunk_list_scan(struct mt_chunk_list *list, const struct mt_chunk_source *source, uint64_t offset)
{
	struct mt_zframe frame;
	int more = 1;

	list->indexed = 0;
	list->error = 0;
	for (; more == 1 && offset < source->file_bytes; offset += frame.size)
		more = scan_one(list, source, offset, &frame);
	return more < 0 ? more : 0;
}

int mt_chunk_list_find(struct mt_chunk_list *list, const struct mt_chunk_source *source, uint64_t first)
{
	uint64_t offset;
	int error = mt_index_read(source->fd, source->file_bytes, first, &list->info, &list->count, &offset);

	list->capacity = list->count = list->info ? list->count : 0;
	list->indexed = !error;
	if (!error || error == -MT_E_MEMORY || error == -MT_E_SYSTEM)
		return error;
	return mt_chunk_list_scan(list, source, first);
}
