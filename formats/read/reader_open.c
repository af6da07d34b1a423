/* reader_open.c - a reader of a file: opened, grown, put to rest, and closed. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "memtrace/error.h"
#include "reader_impl.h"
#include "reader_struct.h"
#include "trace/chunk.h"
#include "trace/defs.h"

/* The part of a reader that is cleared: most readers never touch the 64 KiB behind it. */
#define READER_CLEARED (offsetof(struct mt_reader, decoder) + offsetof(struct mt_decoder, addr))

/* The chunk behind the recognition frame. */
static int read_process(struct mt_reader *reader, uint64_t offset)
{
	struct mt_zframe frame;
	struct mt_cursor payload;
	int error = mt_unpacker_find(reader->file.source.unpacker, offset, 0, &frame);

	if (!error)
		error = mt_unpacker_unpack(reader->file.source.unpacker, &payload);
	if (error)
		return error;
	if (mt_payload_kind(&payload) != MT_CHUNK_PROCESS)
		return -MT_E_CORRUPT;
	return mt_process_decode(&reader->process, &payload);
}

static int open_reader(struct mt_reader *reader, const char *path)
{
	uint64_t first;
	int error = reader_file_open(&reader->file, path);

	if (!error)
		error = mt_recognition_read(reader->file.source.fd, &first);
	if (!error)
		error = read_process(reader, first);
	if (!error)
		error = mt_chunk_list_find(&reader->list, &reader->file.source, first);
	if (reader->file.source.unpacker)
		mt_unpacker_drop(reader->file.source.unpacker, MT_READER_LARGE_BYTES);
	if (error)
		return error;
	reader->defs = mt_defs_new();
	if (!reader->defs)
		return -MT_E_MEMORY;
	mt_reader_rewind(reader);
	return 0;
}

int mt_reader_open(struct mt_reader **out, const char *path)
{
	struct mt_reader *reader = malloc(sizeof(*reader));
	int error;

	*out = NULL;
	if (!reader)
		return -MT_E_MEMORY;
	memset(reader, 0, READER_CLEARED);
	reader->file.source.fd = -1;
	error = open_reader(reader, path);
	if (error)
		mt_reader_free(reader);
	else
		*out = reader;
	return error;
}

void mt_reader_free(struct mt_reader *reader)
{
	if (!reader)
		return;
	reader_file_release(&reader->file);
	mt_process_release(&reader->process);
	mt_defs_free(reader->defs);
	mt_chunk_list_release(&reader->list);
	free(reader->disproved);
	free(reader->events);
	free(reader);
}

const struct mt_process *mt_reader_process(const struct mt_reader *reader)
{
	return &reader->process;
}

const struct mt_defs *mt_reader_defs(const struct mt_reader *reader)
{
	return reader->defs;
}

struct mt_defs *mt_reader_take_defs(struct mt_reader *reader)
{
	struct mt_defs *defs = reader->defs;

	reader->defs = NULL;
	return defs;
}

int mt_reader_wake(struct mt_reader *reader, struct mt_unpacker **unpacker)
{
	int error = reader_file_wake(&reader->file);

	*unpacker = reader->file.source.unpacker;
	return error;
}

void mt_reader_sleep(struct mt_reader *reader)
{
	mt_unpacker_drop(reader->file.source.unpacker, MT_READER_LARGE_BYTES);
	reader_file_sleep(&reader->file);
}

uint32_t mt_reader_chunk(const struct mt_reader *reader)
{
	return reader->at - 1;
}

int mt_reader_ends_well(const struct mt_reader *reader)
{
	int end = reader->list.end_error;

	if (reader->gap.open)
		return reader->list.error;
	return end == -MT_E_TRUNCATED ? 0 : end;
}

const struct mt_trace_state *mt_reader_state(const struct mt_reader *reader)
{
	return &reader->state;
}

const struct mt_chunk_info *mt_reader_chunks(const struct mt_reader *reader, uint32_t *count)
{
	*count = reader->list.count;
	return reader->list.info;
}

void reader_take_over(struct mt_reader *reader)
{
	reader->state.complete = reader->list.indexed && !reader->list.error;
	reader->state.error = reader->list.error;
	reader->state.error_offset = reader->list.error_offset;
	reader->state.chunks = reader->list.count;
}

void mt_reader_rewind(struct mt_reader *reader)
{
	reader->at = 0;
	reader->seq = reader->time = 0;
	reader->begun = reader->cut = reader->decoding = reader->told = 0;
	reader->gap = (struct gap){ 0 };
	reader->held = 0;
	reader->state = (struct mt_trace_state){ .file_bytes = reader->file.source.file_bytes };
	reader_take_over(reader);
}

int mt_reader_more(struct mt_reader *reader)
{
	const struct mt_chunk_info *last = &reader->list.info[reader->list.count - 1];
	uint32_t before = reader->list.count;
	struct stat st;
	int error;

	if (reader->file.rests)
		return -MT_E_BUSY;
	if (fstat(reader->file.source.fd, &st))
		return -MT_E_SYSTEM;
	if (!st.st_nlink || (uint64_t)st.st_size < last->offset + last->size)
		return -MT_E_BUSY;
	if ((uint64_t)st.st_size == reader->file.source.file_bytes)
		return 0;
	reader->file.source.file_bytes = reader->state.file_bytes = (uint64_t)st.st_size;
	mt_unpacker_grow(reader->file.source.unpacker, reader->file.source.file_bytes);
	error = mt_chunk_list_more(&reader->list, &reader->file.source);
	reader_take_over(reader);
	return error ? error : reader->list.count > before;
}

void mt_reader_rest(struct mt_reader *reader, const char *path)
{
	reader_file_rest(&reader->file, path);
}

uint64_t mt_reader_offset(const struct mt_reader *reader)
{
	const struct mt_chunk_info *newest = reader->at ? &reader->list.info[reader->at - 1] : NULL;

	return newest ? newest->offset + newest->size : 0;
}
