/*
 * varint.h - reads and writes the numbers of a payload: varints, zigzag, little-endian words. A cursor reads them
 * within bounds.
 */
#ifndef FORMATS_VARINT_H
#define FORMATS_VARINT_H

#include <stddef.h>
#include <stdint.h>
#include "memtrace/error.h"

#define MT_VARINT_MAX 10 /* bytes of the longest varint */

static inline uint64_t mt_zigzag(uint64_t difference)
{
	return (difference << 1) ^ (0 - (difference >> 63));
}

static inline uint64_t mt_unzigzag(uint64_t value)
{
	return (value >> 1) ^ (0 - (value & 1));
}

/* Writes at most MT_VARINT_MAX bytes and returns the place after them. */
static inline uint8_t *mt_varint_put(uint8_t *at, uint64_t value)
{
	while (value >= 0x80) {
		*at++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*at++ = (uint8_t)value;
	return at;
}

/*
 * Reads one varint whose end is known to lie in bounds (see mt_decoder_init). Reads at most MT_VARINT_MAX bytes; a
 * number beyond 64 bits sets *overlong.
 */
static inline uint64_t mt_varint_take(const uint8_t **at, int *overlong)
{
	const uint8_t *byte = *at;
	uint64_t value = *byte++;
	unsigned shift;

	if (value >= 0x80) {
		value = (value & 0x7f) | (uint64_t)(*byte & 0x7f) << 7;
		if (*byte++ < 0x80)
			goto done;
		for (shift = 14; shift < 63; shift += 7) {
			value |= (uint64_t)(*byte & 0x7f) << shift;
			if (*byte++ < 0x80)
				goto done;
		}
		*overlong |= *byte > 1;
		value |= (uint64_t)*byte++ << 63;
	}
done:
	*at = byte;
	return value;
}

static inline uint32_t mt_load_u32(const uint8_t *at)
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static inline uint64_t mt_load_u64(const uint8_t *at)
{
	return mt_load_u32(at) | (uint64_t)mt_load_u32(at + 4) << 32;
}

/* A position in bytes that are read front to back. After an error all further reads give 0. */
struct mt_cursor {
	const uint8_t *at, *end;
	int error; /* 0, -MT_E_CORRUPT or -MT_E_LIMIT */
};

static inline struct mt_cursor mt_cursor_make(const uint8_t *data, size_t size)
{
	return (struct mt_cursor){ data, size ? data + size : data, 0 }; /* no bytes may be nowhere */
}

static inline size_t mt_cursor_left(const struct mt_cursor *cursor)
{
	return (size_t)(cursor->end - cursor->at);
}

/* Returns the next `size` bytes; NULL: there are fewer. */
static inline const uint8_t *mt_cursor_bytes(struct mt_cursor *cursor, uint64_t size)
{
	const uint8_t *bytes = cursor->at;

	if (cursor->error || size > mt_cursor_left(cursor)) {
		cursor->error = cursor->error ? cursor->error : -MT_E_CORRUPT;
		return NULL;
	}
	cursor->at += size;
	return bytes;
}

static inline uint64_t mt_cursor_varint(struct mt_cursor *cursor)
{
	const uint8_t *end = cursor->at;
	uint64_t value;
	int overlong = 0;

	while (end < cursor->end && end - cursor->at < MT_VARINT_MAX - 1 && *end >= 0x80)
		end++;
	if (cursor->error || end == cursor->end) {
		cursor->error = cursor->error ? cursor->error : -MT_E_CORRUPT;
		return 0;
	}
	value = mt_varint_take(&cursor->at, &overlong);
	if (overlong)
		cursor->error = -MT_E_CORRUPT;
	return overlong ? 0 : value;
}

/* Reads a number that must fit in 32 bits; else the error is -MT_E_LIMIT. */
static inline uint32_t mt_cursor_u32(struct mt_cursor *cursor)
{
	uint64_t value = mt_cursor_varint(cursor);

	if (value > UINT32_MAX)
		cursor->error = -MT_E_LIMIT;
	return value > UINT32_MAX ? 0 : (uint32_t)value;
}

#endif
