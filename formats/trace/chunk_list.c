/*
 * chunk_list.c - finds the chunks of a file by the index, or by walking over its frames.
 *
 * If a frame cannot be unpacked, the walk searches the next place where a chunk begins:
 *
 *     EVENTS ▸ EVENTS ▸ ///damaged/// ▸ CHECKPOINT ▸ EVENTS ▸ torn end
 *                       one entry,      found by its magic
 *                       kind 0          number and checksum
 */
#include "chunk_list.h"
#include <stdlib.h>
#include <string.h>
#include "chunk.h"
#include "codec.h"
#include "memtrace/array.h"
#include "memtrace/error.h"

#define SEARCH_BYTES 16384u /* bytes looked through at a time */
#define MAGIC_SIZE 4u

/* Bytes of work for places that look like a chunk and are none: twice the cost of the whole file, and 1 MiB. */
#define WASTE_FIXED (1u << 20)
#define WASTE_PER_BYTE (2 * (MT_CHUNK_DENSITY_MAX + 2)) /* a byte is read, searched and unpacked */

void mt_chunk_list_release(struct mt_chunk_list *list)
{
	free(list->info);
	memset(list, 0, sizeof(*list));
}

int mt_chunk_list_add(struct mt_chunk_list *list, const struct mt_chunk_info *info)
{
	if (list->count >= MT_CHUNKS_MAX)
		return -MT_E_LIMIT;
	if (MT_ARRAY_ROOM(list->info, list->count, list->capacity))
		return -MT_E_MEMORY;
	list->info[list->count++] = *info;
	return 0;
}

void mt_chunk_list_damage(struct mt_chunk_list *list, int error, uint64_t offset)
{
	if (list->error && list->error_offset <= offset)
		return;
	list->error = error;
	list->error_offset = offset;
}

static int is_fatal(int error)
{
	return error == -MT_E_MEMORY || error == -MT_E_SYSTEM;
}

/* ---- walking ---- */

/* Reads the kind of a payload, and the SUMMARY of EVENTS and CHECKPOINT. */
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

/* An index that a scan meets is useless: it is wrong, or the file does not match it. Notes the damage. */
static int blame_index(struct mt_chunk_list *list, const struct mt_chunk_source *source, const struct mt_zframe *frame)
{
	uint64_t end = frame->offset + frame->size, where = frame->offset;
	uint64_t first = list->count ? list->info[0].offset : frame->offset;
	struct mt_index index;
	int error = mt_index_read(source->fd, end, first, &index);

	free(index.chunks);
	if (is_fatal(error))
		return error;
	if (!error && end < source->file_bytes) /* the index is right, and more data follows */
		where = end;
	if (!error || error == -MT_E_MISSING)
		error = -MT_E_CORRUPT;
	if (!list->error)
		mt_chunk_list_damage(list, error, where);
	return 0;
}

/* Reads the frame at `offset`, and the figures of a chunk. */
static int look(const struct mt_chunk_source *source, uint64_t offset, struct mt_zframe *frame,
		struct mt_chunk_info *info)
{
	struct mt_cursor payload;
	int error = mt_unpacker_find(source->unpacker, offset, 0, frame);

	*info = (struct mt_chunk_info){ .offset = offset, .size = frame->size };
	if (!error && !frame->skippable)
		error = mt_unpacker_unpack(source->unpacker, &payload);
	if (!error && !frame->skippable)
		error = read_info(&payload, info);
	return error;
}

/* A walk from one place of a file to its end. */
struct walk {
	struct mt_chunk_list *list;
	const struct mt_chunk_source *source;
	uint64_t offset;
	uint64_t waste; /* bytes of useless work, as in mt_unpacker_work */
};

static uint64_t work_of(const struct walk *walk)
{
	return mt_unpacker_work(walk->source->unpacker);
}

static int may_waste(const struct walk *walk)
{
	return walk->waste <= WASTE_FIXED + WASTE_PER_BYTE * walk->source->file_bytes;
}

/* 1: a chunk begins here; 0: none; or an error. */
static int begins_chunk(struct walk *walk, uint64_t offset)
{
	uint64_t before = work_of(walk);
	struct mt_zframe frame;
	struct mt_chunk_info info;
	int error;

	if (!may_waste(walk))
		return 0;
	error = look(walk->source, offset, &frame, &info);
	if (is_fatal(error))
		return error;
	if (!error && !frame.skippable && info.kind > MT_CHUNK_PROCESS && info.kind <= MT_CHUNK_FACTS)
		return 1;
	walk->waste += work_of(walk) - before;
	return 0;
}

/* Finds the first chunk behind the walk's place. 1: it is at *next; 0: none; or an error. */
static int find_next(struct walk *walk, uint64_t *next)
{
	static const uint8_t magic[MAGIC_SIZE] = { 0x28, 0xB5, 0x2F, 0xFD };
	uint64_t offset = walk->offset, left;
	uint8_t block[SEARCH_BYTES], *at;
	size_t size, from;
	int found = 0, error;

	while (!found && ++offset + MAGIC_SIZE < walk->source->file_bytes) {
		left = walk->source->file_bytes - offset;
		size = left < sizeof(block) ? (size_t)left : sizeof(block);
		error = mt_read_at(walk->source->fd, block, size, offset);
		if (error)
			return is_fatal(error) ? error : 0;
		walk->waste += size;
		for (from = 0; !found && (at = memmem(block + from, size - from, magic, MAGIC_SIZE)); from++) {
			from = (size_t)(at - block);
			*next = offset + from;
			found = begins_chunk(walk, *next);
		}
		offset += size - MAGIC_SIZE;
	}
	return found;
}

/* Passes damage at the walk's place. 1: the damage is listed, go on behind it; 0: the list ends here; or an error. */
static int pass_damage(struct walk *walk, int error)
{
	struct mt_chunk_info info = { .offset = walk->offset, .error = error };
	struct mt_chunk_list *list = walk->list;
	int found = list->count < MT_CHUNKS_MAX && may_waste(walk) ? find_next(walk, &walk->offset) : 0;

	if (found > 0 && error == -MT_E_TRUNCATED) /* the frame is longer than the file, but more chunks follow */
		info.error = -MT_E_CORRUPT;
	if (found >= 0)
		mt_chunk_list_damage(list, info.error, info.offset);
	if (!found)
		list->end_error = info.error;
	if (found <= 0)
		return found;
	info.size = walk->offset - info.offset;
	error = mt_chunk_list_add(list, &info);
	return error ? error : 1;
}

/* The frame at the walk's place. 1: go on; 0: the list ends here; or an error. */
static int pass_frame(struct walk *walk)
{
	uint64_t before = work_of(walk);
	struct mt_zframe frame;
	struct mt_chunk_info info;
	int error = look(walk->source, walk->offset, &frame, &info);

	if (!error && frame.skippable == MT_SKIPPABLE_INDEX) {
		return blame_index(walk->list, walk->source, &frame);
	}
	if (!error && info.kind == MT_CHUNK_PROCESS && walk->list->count)
		error = -MT_E_CORRUPT;
	if (!error && !frame.skippable)
		error = mt_chunk_list_add(walk->list, &info);
	if (is_fatal(error))
		return error;
	if (!error) {
		walk->offset += frame.size;
		return 1;
	}
	walk->waste += work_of(walk) - before;
	return pass_damage(walk, error);
}

int mt_chunk_list_scan(struct mt_chunk_list *list, const struct mt_chunk_source *source, uint64_t offset)
{
	struct walk walk = { .list = list, .source = source, .offset = offset };
	int more = 1;

	list->indexed = 0;
	list->error = list->end_error = 0;
	while (more == 1 && walk.offset < source->file_bytes)
		more = pass_frame(&walk);
	return more < 0 ? more : 0;
}

/* 1: the index has the listed chunks at the same places. */
static int agrees(const struct mt_chunk_list *list, const struct mt_chunk_info *chunks, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < list->count && i < count; i++)
		if (list->info[i].offset != chunks[i].offset || list->info[i].size != chunks[i].size)
			return 0;
	return i == list->count;
}

/* Notes the errors of listed chunks. A torn end of earlier is no error any more. */
static void blame_listed(struct mt_chunk_list *list)
{
	uint32_t i;

	for (i = 0; i < list->count; i++)
		if (list->info[i].error)
			mt_chunk_list_damage(list, list->info[i].error, list->info[i].offset);
}

int mt_chunk_list_more(struct mt_chunk_list *list, const struct mt_chunk_source *source)
{
	const struct mt_chunk_info *last = &list->info[list->count - 1];
	uint64_t end = last->offset + last->size;
	struct mt_index index;
	uint32_t i;
	int error = mt_index_read(source->fd, source->file_bytes, list->info[0].offset, &index);

	if (is_fatal(error))
		return error;
	if (!error && index.tiles && agrees(list, index.chunks, index.count)) {
		for (i = list->count; i < index.count && !error; i++)
			error = mt_chunk_list_add(list, &index.chunks[i]);
		list->indexed = 1;
		list->error = list->end_error = 0;
	} else {
		error = mt_chunk_list_scan(list, source, end);
	}
	free(index.chunks);
	blame_listed(list);
	return error;
}

/* ---- an index that knows more chunks than the file has ---- */

/* 1: the index describes this chunk, whose place may be another. */
static int is_meant(const struct mt_chunk_info *found, const struct mt_chunk_info *meant)
{
	return found->kind == meant->kind && found->size == meant->size && found->events == meant->events &&
	       found->first_seq == meant->first_seq && found->last_seq == meant->last_seq;
}

/*
 * Lists the chunks of the index in order, each with its place in the file. A missing chunk gets size 0; the first one
 * at a damaged stretch gets the stretch. 0: *named is the list; 1: the file has chunks that the index lacks.
 */
static int name_missing(struct mt_chunk_list *named, const struct mt_chunk_list *found, const struct mt_index *index)
{
	uint64_t at = found->count ? found->info[0].offset : 0, damaged = 0;
	struct mt_chunk_info chunk;
	uint32_t i = 0, j;
	int error = 0;

	for (j = 0; j < index->count; j++)
		if (index->chunks[j].events > MT_CHUNK_EVENTS_MAX)
			return 1;
	for (j = 0; j < index->count && !error; j++) {
		for (; i < found->count && found->info[i].error; i++) {
			at = found->info[i].offset;
			damaged = found->info[i].size;
		}
		chunk = index->chunks[j];
		if (i < found->count && is_meant(&found->info[i], &chunk)) {
			chunk = found->info[i++];
			at = chunk.offset + chunk.size;
			damaged = 0;
		} else {
			chunk.offset = at;
			chunk.size = damaged;
			chunk.error = -MT_E_CORRUPT;
			at += damaged;
			damaged = 0;
		}
		if (chunk.error)
			mt_chunk_list_damage(named, chunk.error, chunk.offset);
		error = mt_chunk_list_add(named, &chunk);
	}
	while (i < found->count && found->info[i].error)
		i++;
	return error ? error : i < found->count;
}

/* The index is right, but the chunks do not fill the file as it says. Lists the missing ones. */
static int add_missing(struct mt_chunk_list *list, const struct mt_index *index)
{
	struct mt_chunk_list named = { .error = list->error, .error_offset = list->error_offset };
	int strange = name_missing(&named, list, index);

	if (strange) {
		mt_chunk_list_release(&named);
		return strange < 0 ? strange : 0;
	}
	mt_chunk_list_release(list);
	*list = named;
	return 0;
}

/* The file ends in a wrong index. Notes it as the first damage, unless a chunk before is damaged. */
static void blame_end(struct mt_chunk_list *list, int error, uint64_t first)
{
	const struct mt_chunk_info *last = list->count ? &list->info[list->count - 1] : NULL;
	uint64_t end = last ? last->offset + last->size : first;

	if (list->error && list->error_offset < end)
		return;
	list->error = error;
	list->error_offset = end;
}

int mt_chunk_list_find(struct mt_chunk_list *list, const struct mt_chunk_source *source, uint64_t first)
{
	struct mt_index index;
	int sound = mt_index_read(source->fd, source->file_bytes, first, &index), error = 0;

	if (is_fatal(sound))
		return sound;
	if (!sound && index.tiles) {
		list->info = index.chunks;
		list->count = list->capacity = index.count;
		list->indexed = 1;
		return 0;
	}
	error = mt_chunk_list_scan(list, source, first);
	if (!error && !sound)
		error = add_missing(list, &index);
	if (!error && sound && sound != -MT_E_MISSING)
		blame_end(list, sound, first);
	free(index.chunks);
	return error;
}
