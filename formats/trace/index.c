/* index.c - the index at the end of a trace. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "base/varint.h"
#include "chunk.h"
#include "chunk_list.h"
#include "memtrace/error.h"

#define INDEX_MAGIC "MEMINDEX"
#define MAGIC_SIZE 8u
#define ENTRY_SIZE 80u
#define ENTRY_SIZE_MAX 256u
#define FOOTER_SIZE 24u
#define FOOTER_HASHED 8u /* bytes of the footer before the hash */

static void put_entry(struct mt_buffer *out, const struct mt_chunk_info *chunk)
{
	mt_buffer_put_u32(out, chunk->kind);
	mt_buffer_put_u32(out, chunk->events);
	mt_buffer_put_u32(out, chunk->phases);
	mt_buffer_put_u32(out, 0);
	mt_buffer_put_u64(out, chunk->offset);
	mt_buffer_put_u64(out, chunk->size);
	mt_buffer_put_u64(out, chunk->first_seq);
	mt_buffer_put_u64(out, chunk->last_seq);
	mt_buffer_put_u64(out, chunk->first_time);
	mt_buffer_put_u64(out, chunk->last_time);
	mt_buffer_put_u64(out, chunk->live_start);
	mt_buffer_put_u64(out, chunk->live_max);
}

static void get_entry(const uint8_t *at, struct mt_chunk_info *chunk)
{
	chunk->kind = mt_load_u32(at);
	chunk->events = mt_load_u32(at + 4);
	chunk->phases = mt_load_u32(at + 8);
	chunk->offset = mt_load_u64(at + 16);
	chunk->size = mt_load_u64(at + 24);
	chunk->first_seq = mt_load_u64(at + 32);
	chunk->last_seq = mt_load_u64(at + 40);
	chunk->first_time = mt_load_u64(at + 48);
	chunk->last_time = mt_load_u64(at + 56);
	chunk->live_start = mt_load_u64(at + 64);
	chunk->live_max = mt_load_u64(at + 72);
}

uint64_t mt_index_size(uint32_t count)
{
	return MT_SKIPPABLE_HEADER + (uint64_t)count * ENTRY_SIZE + FOOTER_SIZE;
}

int mt_index_encode(const struct mt_chunk_info *chunks, uint32_t count, struct mt_buffer *out)
{
	size_t start = out->size;
	uint32_t i;

	mt_buffer_put_u32(out, MT_SKIPPABLE_INDEX);
	mt_buffer_put_u32(out, count * ENTRY_SIZE + FOOTER_SIZE);
	for (i = 0; i < count; i++)
		put_entry(out, &chunks[i]);
	mt_buffer_put_u32(out, count);
	mt_buffer_put_u32(out, ENTRY_SIZE);
	if (out->error)
		return out->error;
	mt_buffer_put_u64(out, XXH64(out->data + start, out->size - start, 0));
	mt_buffer_put(out, INDEX_MAGIC, MAGIC_SIZE);
	return out->error;
}

/* The size of the whole frame by its footer; 0: impossible. */
static uint64_t frame_size(const uint8_t *footer, uint64_t file_bytes, uint64_t first)
{
	uint64_t count = mt_load_u32(footer), entry_size = mt_load_u32(footer + 4);
	uint64_t size = MT_SKIPPABLE_HEADER + count * entry_size + FOOTER_SIZE;

	if (count > MT_CHUNKS_MAX || entry_size < ENTRY_SIZE || entry_size > ENTRY_SIZE_MAX ||
	    size > file_bytes - first)
		return 0;
	return size;
}

/* 1: the chunks lie one after the other from `first` to `end`. */
static int tiles(const struct mt_chunk_info *chunks, uint32_t count, uint64_t first, uint64_t end)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		if (chunks[i].offset != first || !chunks[i].size || chunks[i].size > end - first)
			return 0;
		first += chunks[i].size;
	}
	return first == end;
}

/* Reads the entries of a frame whose size is plausible, and checks the hash. */
static int read_frame(const uint8_t *frame, uint64_t size, struct mt_chunk_info **chunks, uint32_t *count)
{
	const uint8_t *footer = frame + size - FOOTER_SIZE;
	uint32_t i, entry_size = mt_load_u32(footer + 4);

	if (XXH64(frame, size - FOOTER_SIZE + FOOTER_HASHED, 0) != mt_load_u64(footer + FOOTER_HASHED))
		return -MT_E_CHECKSUM;
	if (mt_load_u32(frame) != MT_SKIPPABLE_INDEX || mt_load_u32(frame + 4) != size - MT_SKIPPABLE_HEADER)
		return -MT_E_CORRUPT;
	*count = mt_load_u32(footer);
	*chunks = calloc(*count ? *count : 1, sizeof(**chunks));
	if (!*chunks)
		return -MT_E_MEMORY;
	for (i = 0; i < *count; i++)
		get_entry(frame + MT_SKIPPABLE_HEADER + (size_t)i * entry_size, &(*chunks)[i]);
	return 0;
}

int mt_index_read(int fd, uint64_t file_bytes, uint64_t first, struct mt_index *index)
{
	uint8_t footer[FOOTER_SIZE], *frame;
	uint64_t size;
	int error;

	*index = (struct mt_index){ .offset = file_bytes };
	if (file_bytes - first < MT_SKIPPABLE_HEADER + FOOTER_SIZE)
		return -MT_E_MISSING;
	error = mt_read_at(fd, footer, FOOTER_SIZE, file_bytes - FOOTER_SIZE);
	if (error)
		return error;
	if (memcmp(footer + FOOTER_SIZE - MAGIC_SIZE, INDEX_MAGIC, MAGIC_SIZE))
		return -MT_E_MISSING;
	size = frame_size(footer, file_bytes, first);
	if (!size)
		return -MT_E_CORRUPT;
	frame = malloc(size);
	if (!frame)
		return -MT_E_MEMORY;
	index->offset = file_bytes - size;
	error = mt_read_at(fd, frame, size, index->offset);
	if (!error)
		error = read_frame(frame, size, &index->chunks, &index->count);
	free(frame);
	index->tiles = !error && tiles(index->chunks, index->count, first, index->offset);
	return error;
}

#define HASHED_AT_ONCE (1u << 20) /* bytes */

int mt_file_hash(int fd, uint64_t end, uint64_t *hash)
{
	XXH64_state_t *state = XXH64_createState();
	uint8_t *part = malloc(HASHED_AT_ONCE);
	uint64_t at = 0, left;
	ssize_t got = 1;

	if (state && part)
		XXH64_reset(state, 0);
	for (; state && part && at < end && got > 0; at += got > 0 ? (uint64_t)got : 0) {
		left = end - at;
		got = pread(fd, part, left < HASHED_AT_ONCE ? (size_t)left : HASHED_AT_ONCE, (off_t)at);
		if (got > 0)
			XXH64_update(state, part, (size_t)got);
	}
	*hash = state && part ? XXH64_digest(state) : 0;
	free(part);
	if (!state || !part) {
		XXH64_freeState(state);
		return -MT_E_MEMORY;
	}
	XXH64_freeState(state);
	return got > 0 ? 0 : got ? -MT_E_SYSTEM : -MT_E_TRUNCATED;
}

uint64_t mt_index_hash(const struct mt_chunk_info *chunks, uint32_t count)
{
	struct mt_buffer frame = { 0 };
	uint64_t hash = 0;

	if (!mt_index_encode(chunks, count, &frame))
		hash = mt_load_u64(frame.data + frame.size - MAGIC_SIZE - sizeof(hash));
	mt_buffer_release(&frame);
	return hash;
}
