/*
 * chunk.h - chunks as Zstandard frames in a file: packs a payload into a frame, finds frames and unpacks them. Only
 * chunk.c uses the compressor.
 */
#ifndef FORMATS_CHUNK_H
#define FORMATS_CHUNK_H

#include <stddef.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/copy.h"
#include "base/varint.h"

#define MT_TRACE_VERSION 1u
#define MT_TRACE_MAGIC "MEMTRACE" /* 8 bytes, without the NUL */
#define MT_TRACE_MAGIC_SIZE 8u
#define MT_RECOGNITION_MAX 4096u /* bytes of content of the recognition frame */
#define MT_CHUNKS_MAX (1u << 22) /* most chunks of one file */

/* Skippable frames: a magic number, the size of the content (u32 both), the content. */
#define MT_SKIPPABLE_HEADER 8u
#define MT_SKIPPABLE_RECOGNITION 0x184D2A5Au
#define MT_SKIPPABLE_INDEX 0x184D2A5Bu

/* The first bytes of every trace. */
void mt_recognition_put(struct mt_buffer *out);

/*
 * Reads the recognition frame. *size: bytes of the whole frame. 0, -MT_E_MAGIC, -MT_E_VERSION, -MT_E_TRUNCATED,
 * -MT_E_SYSTEM.
 */
int mt_recognition_read(int fd, uint64_t *size);

/* A section of meaningless bytes, which any chunk may have at its end. */
#define MT_SECTION_FILLER 0xEFFFu

struct mt_packer;

/* `level`: of zstd. NULL: out of memory. */
struct mt_packer *mt_packer_new(int level);
void mt_packer_free(struct mt_packer *packer);

/*
 * Appends the payload, which holds `events` events, to `out` as one frame. `payload` gets a section of filler at its
 * end if the frame would be shorter than the budget allows (MT_CHUNK_DENSITY_MAX). 0, -MT_E_MEMORY, -MT_E_LIMIT (the
 * payload is too large).
 */
int mt_packer_pack(struct mt_packer *packer, struct mt_buffer *payload, uint32_t events, struct mt_buffer *out);

/* A frame in a file. */
struct mt_zframe {
	uint64_t offset, size;
	uint32_t skippable; /* magic number of a skippable frame; 0: a chunk */
};

struct mt_unpacker;

/*
 * Makes an unpacker for `fd`, which the caller closes. The unpacker never reads behind `file_bytes`. NULL: out of
 * memory.
 */
struct mt_unpacker *mt_unpacker_new(int fd, uint64_t file_bytes);

/* Reads from `fd` from now on: the same file. */
void mt_unpacker_file(struct mt_unpacker *unpacker, int fd);

/* Sets the new size of a file that has grown. Do not call while a frame is being unpacked. */
void mt_unpacker_grow(struct mt_unpacker *unpacker, uint64_t file_bytes);
void mt_unpacker_free(struct mt_unpacker *unpacker);

/*
 * Finds out about the frame at `offset`. `hint`: how long it probably is, 0: no idea.
 * 0, -MT_E_TRUNCATED, -MT_E_CORRUPT, -MT_E_LIMIT, -MT_E_MEMORY, -MT_E_SYSTEM.
 */
int mt_unpacker_find(struct mt_unpacker *unpacker, uint64_t offset, uint64_t hint, struct mt_zframe *frame);

/*
 * Unpacks the chunk that was found last; `payload` is valid until the next find.
 * 0, -MT_E_CHECKSUM, -MT_E_CORRUPT, -MT_E_MEMORY.
 */
int mt_unpacker_unpack(struct mt_unpacker *unpacker, struct mt_cursor *payload);

/* 0: the chunk found last may hold `events` events; -MT_E_LIMIT: not by its size. */
int mt_unpacker_afford(const struct mt_unpacker *unpacker, uint32_t events);

/* Unpacked bytes of the chunk found last. */
size_t mt_unpacker_size(const struct mt_unpacker *unpacker);

/* Bytes that were read, searched and unpacked so far: the cost of all calls. */
uint64_t mt_unpacker_work(const struct mt_unpacker *unpacker);

/* Drops the chunk found and unpacked last. Frees buffers of more than `keep` bytes; 0: all that it has. */
void mt_unpacker_drop(struct mt_unpacker *unpacker, size_t keep);

/*
 * The inside of a chunk: a kind, then sections, each with its number and length (trace-v1.md, "Payload").
 */

/* Empties `payload` and begins a chunk of the kind. */
void mt_payload_begin(struct mt_buffer *payload, uint32_t kind);

/* Appends a section. `number` must be above that of the section before. */
void mt_payload_section(struct mt_buffer *payload, uint32_t number, const void *data, size_t size);

/* The kind, at the front of a payload. */
uint32_t mt_payload_kind(struct mt_cursor *payload);

struct mt_section {
	uint32_t number; /* 0 before the first */
	struct mt_cursor content;
};

/* Moves to the next section. 1: there is one; 0: the end; or -MT_E_CORRUPT, -MT_E_LIMIT. */
int mt_section_next(struct mt_cursor *payload, struct mt_section *section);

#endif
