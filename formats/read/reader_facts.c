/*
 * reader_facts.c - reads the facts of a trace (memtrace/facts.h) if they belong to exactly this file, and all
 * definitions.
 */
#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"
#include "memtrace/facts.h"
#include "reader_impl.h"
#include "reader_struct.h"
#include "trace/chunk.h"
#include "trace/defs.h"

/* Finds and unpacks a chunk; the index has its kind. */
static int unpack(struct mt_reader *reader, const struct mt_chunk_info *info, struct mt_cursor *payload)
{
	struct mt_unpacker *unpacker = reader->file.source.unpacker;
	struct mt_zframe frame;
	int error = mt_unpacker_find(unpacker, info->offset, info->size, &frame);

	if (!error && (frame.skippable || frame.size != info->size))
		error = -MT_E_CORRUPT;
	if (!error)
		error = mt_unpacker_unpack(unpacker, payload);
	if (!error && mt_payload_kind(payload) != info->kind)
		error = -MT_E_CORRUPT;
	return error;
}

/* Copies the content if the facts have this identity. hash[2]: hash of the file before the facts, and of its index. */
static int take_content(struct mt_cursor *payload, uint64_t identity, uint64_t hash[2], uint8_t **data, size_t *size)
{
	struct mt_section section = { 0 };
	int known = 0;

	while (mt_section_next(payload, &section) == 1) {
		const uint8_t *at = section.content.at;
		size_t length = (size_t)(section.content.end - at);

		if (section.number == MT_FACTS_OF && length == MT_FACTS_OF_SIZE) {
			known = mt_load_u64(at) == identity;
			hash[0] = mt_load_u64(at + 8);
			hash[1] = mt_load_u64(at + 16);
		}
		if (section.number != MT_FACTS_CONTENT || !known || *data)
			continue;
		*data = malloc(length + 1);
		if (!*data)
			return -MT_E_MEMORY;
		memcpy(*data, at, length);
		*size = length;
	}
	return *data ? 0 : -MT_E_CORRUPT;
}

static int read_definitions(struct mt_reader *reader)
{
	struct mt_cursor payload;
	int error = 0;

	for (; reader->defs_done < reader->list.count && !error; reader->defs_done++) {
		const struct mt_chunk_info *info = &reader->list.info[reader->defs_done];

		if (info->kind != MT_CHUNK_DEFS)
			continue;
		error = unpack(reader, info, &payload);
		if (!error)
			error = mt_defs_decode(reader->defs, &payload);
	}
	return error;
}

/* As after all events. */
static void go_to_end(struct mt_reader *reader)
{
	uint32_t i;

	for (i = 0; i < reader->list.count; i++)
		if (reader->list.info[i].kind == MT_CHUNK_EVENTS)
			reader->state.events += reader->list.info[i].events;
	reader->at = reader->list.count;
}

static int find(struct mt_reader *reader, uint64_t identity, uint8_t **data, size_t *size)
{
	const struct mt_chunk_info *last = &reader->list.info[reader->list.count - 1];
	uint64_t hash[2] = { 0 }, now = 0;
	struct mt_cursor payload;
	int error = unpack(reader, last, &payload);

	if (!error)
		error = take_content(&payload, identity, hash, data, size);
	if (!error)
		error = mt_file_hash(reader->file.source.fd, last->offset, &now);
	if (!error && (hash[0] != now || hash[1] != mt_index_hash(reader->list.info, reader->list.count - 1)))
		error = -MT_E_CORRUPT;
	return error ? error : read_definitions(reader);
}

int mt_reader_facts(struct mt_reader *reader, uint64_t identity, uint8_t **data, size_t *size)
{
	int error;

	*data = NULL;
	*size = 0;
	if (!reader->state.complete || reader->at || !reader->list.count ||
	    reader->list.info[reader->list.count - 1].kind != MT_CHUNK_FACTS)
		return 0;
	error = reader_file_wake(&reader->file);
	if (!error)
		error = find(reader, identity, data, size);
	mt_unpacker_drop(reader->file.source.unpacker, 0); /* no event may ever be read */
	mt_reader_sleep(reader);
	if (!error) {
		go_to_end(reader);
		return 1;
	}
	free(*data);
	*data = NULL;
	return error == -MT_E_MEMORY || error == -MT_E_SYSTEM ? error : 0;
}
