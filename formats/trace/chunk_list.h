/*
 * chunk_list.h - where the chunks of a file are: from the index, or by walking over the frames.
 */
#ifndef FORMATS_CHUNK_LIST_H
#define FORMATS_CHUNK_LIST_H

#include <stdint.h>
#include "base/buffer.h"
#include "chunk.h"
#include "memtrace/reader.h"

struct mt_chunk_list {
	struct mt_chunk_info *info;
	uint32_t count, capacity;
	int indexed; /* taken from the index, not from the chunks */
	int error;   /* first damage in the file, or the reason for the list's end before; 0 or -MT_E_x */
	uint64_t error_offset;
	int end_error; /* reason for the list's end: 0 (end of the file, or an index) or -MT_E_x */
};

/* A file to walk over. */
struct mt_chunk_source {
	int fd;
	uint64_t file_bytes;
	struct mt_unpacker *unpacker;
};

void mt_chunk_list_release(struct mt_chunk_list *list);

/* 0, -MT_E_LIMIT, -MT_E_MEMORY. */
int mt_chunk_list_add(struct mt_chunk_list *list, const struct mt_chunk_info *info);

/*
 * Fills an empty list with the chunks from `first` on, by the index, else by scanning. Damage ends the list and is no
 * error. A chunk that the index has and the file lacks is listed with size 0 and an error. Returns 0, -MT_E_MEMORY,
 * -MT_E_SYSTEM.
 */
int mt_chunk_list_find(struct mt_chunk_list *list, const struct mt_chunk_source *source, uint64_t first);

/*
 * Adds the chunks from `offset` on by scanning. Each is unpacked, which checks its checksum. A damaged stretch is
 * listed as a chunk of kind 0 with an error, if a chunk follows.
 */
int mt_chunk_list_scan(struct mt_chunk_list *list, const struct mt_chunk_source *source, uint64_t offset);

/*
 * Adds the chunks of a file that has grown, behind the listed ones (at least one). Only new data is read, so following
 * a recording costs as much as it writes. Uses the index at the end of the file if the index agrees with the list.
 * Returns 0, -MT_E_MEMORY, -MT_E_SYSTEM.
 */
int mt_chunk_list_more(struct mt_chunk_list *list, const struct mt_chunk_source *source);

/* Notes damage at `offset`: the first in the file counts. */
void mt_chunk_list_damage(struct mt_chunk_list *list, int error, uint64_t offset);

/* The index at the end of a trace (trace-v1.md, "Index"). */

/* Bytes of an index of `count` chunks. */
uint64_t mt_index_size(uint32_t count);

/* Appends the whole skippable frame to `out`. 0 or -MT_E_MEMORY. */
int mt_index_encode(const struct mt_chunk_info *chunks, uint32_t count, struct mt_buffer *out);

/* The entries of an index with a right checksum. */
struct mt_index {
	struct mt_chunk_info *chunks; /* freed by the caller */
	uint32_t count;
	int tiles;       /* 1: the chunks lie one after the other up to the index, as in a closed file */
	uint64_t offset; /* the index begins there, bytes; without meaning with an error */
};

/*
 * Looks for an index at the end of a file whose first chunk is at `first`. 0; -MT_E_MISSING: no index; -MT_E_CHECKSUM,
 * -MT_E_CORRUPT, -MT_E_LIMIT: the index is wrong; -MT_E_MEMORY; -MT_E_SYSTEM; -MT_E_TRUNCATED: the file got shorter.
 */
int mt_index_read(int fd, uint64_t file_bytes, uint64_t first, struct mt_index *index);

/* The hash of the file's bytes before `end`. 0, -MT_E_MEMORY, -MT_E_SYSTEM, -MT_E_TRUNCATED: it has not as many. */
int mt_file_hash(int fd, uint64_t end, uint64_t *hash);

/* A hash of the index entries of these chunks; 0: out of memory. */
uint64_t mt_index_hash(const struct mt_chunk_info *chunks, uint32_t count);

/* The sections of a FACTS chunk: three u64 (trace-v1.md, "FACTS"), and what the identity makes of the bytes. */
#define MT_FACTS_OF 1u
#define MT_FACTS_OF_SIZE 24u
#define MT_FACTS_CONTENT 2u

#endif
