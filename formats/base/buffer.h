/*
 * buffer.h - bytes that grow. An out-of-memory sticks: callers put everything in and ask once at the end.
 */
#ifndef FORMATS_BUFFER_H
#define FORMATS_BUFFER_H

#include <stddef.h>
#include <stdint.h>

/* All zero is an empty buffer. */
struct mt_buffer {
	uint8_t *data;
	size_t size, capacity;
	int error; /* 0, or -MT_E_MEMORY after a failed growth: from then on the buffer takes nothing */
};

void mt_buffer_release(struct mt_buffer *buffer);

/* Empties the buffer, error included; the memory is kept. */
void mt_buffer_clear(struct mt_buffer *buffer);

/* Makes room for `more` bytes after the content. 0 or -MT_E_MEMORY. */
int mt_buffer_reserve(struct mt_buffer *buffer, size_t more);

void mt_buffer_put(struct mt_buffer *buffer, const void *data, size_t size);
void mt_buffer_put_varint(struct mt_buffer *buffer, uint64_t value);
void mt_buffer_put_u32(struct mt_buffer *buffer, uint32_t value); /* little-endian */
void mt_buffer_put_u64(struct mt_buffer *buffer, uint64_t value);

#endif
