/* buffer.c - a growing array of bytes. */
#include "buffer.h"
#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"
#include "varint.h"

void mt_buffer_release(struct mt_buffer *buffer)
{
	free(buffer->data);
	memset(buffer, 0, sizeof(*buffer));
}

void mt_buffer_clear(struct mt_buffer *buffer)
{
	buffer->size = 0;
	buffer->error = 0;
}

int mt_buffer_reserve(struct mt_buffer *buffer, size_t more)
{
	size_t capacity = buffer->capacity ? buffer->capacity : 256;
	uint8_t *data;

	if (buffer->error)
		return buffer->error;
	if (more <= buffer->capacity - buffer->size)
		return 0;
	if (more > SIZE_MAX / 4 - buffer->size)
		return buffer->error = -MT_E_MEMORY;
	while (capacity < buffer->size + more)
		capacity *= 2;
	data = realloc(buffer->data, capacity);
	if (!data)
		return buffer->error = -MT_E_MEMORY;
	buffer->data = data;
	buffer->capacity = capacity;
	return 0;
}

void mt_buffer_put(struct mt_buffer *buffer, const void *data, size_t size)
{
	if (!size || mt_buffer_reserve(buffer, size))
		return;
	memcpy(buffer->data + buffer->size, data, size);
	buffer->size += size;
}

void mt_buffer_put_varint(struct mt_buffer *buffer, uint64_t value)
{
	if (mt_buffer_reserve(buffer, MT_VARINT_MAX))
		return;
	buffer->size = (size_t)(mt_varint_put(buffer->data + buffer->size, value) - buffer->data);
}

void mt_buffer_put_u32(struct mt_buffer *buffer, uint32_t value)
{
	uint8_t bytes[4] = { (uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16), (uint8_t)(value >> 24) };

	mt_buffer_put(buffer, bytes, sizeof(bytes));
}

void mt_buffer_put_u64(struct mt_buffer *buffer, uint64_t value)
{
	mt_buffer_put_u32(buffer, (uint32_t)value);
	mt_buffer_put_u32(buffer, (uint32_t)(value >> 32));
}
