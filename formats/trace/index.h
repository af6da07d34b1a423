/* index.h - the index at the end of a trace (trace-v1.md, "Index"). */
#ifndef FORMATS_INDEX_H
#define FORMATS_INDEX_H

#include <stdint.h>
#include "base/buffer.h"
#include "memtrace/reader.h"

/* Bytes that the index of so many chunks takes. */
uint64_t mt_index_size(uint32_t count);

/* Appends the whole skippable frame to `out`. 0 or -MT_E_MEMORY. */
int mt_index_encode(const struct mt_chunk_info *chunks, uint32_t count, struct mt_buffer *out);

/*
 * Looks for an index at the end of the file. On 0: *chunks (the caller frees it), *count entries that tile the file
 * from `first` on, and *offset, where the index begins.
 * -MT_E_MISSING: the file does not end in one. -MT_E_CHECKSUM, -MT_E_CORRUPT, -MT_E_LIMIT: it is wrong.
 * -MT_E_MEMORY, -MT_E_SYSTEM, -MT_E_TRUNCATED (the file got shorter).
 */
int mt_index_read(int fd, uint64_t file_bytes, uint64_t first, struct mt_chunk_info **chunks, uint32_t *count,
		  uint64_t *offset);

#endif
