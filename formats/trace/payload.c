/* payload.c - sections of a chunk. */
#include "payload.h"

void mt_payload_begin(struct mt_buffer *payload, uint32_t kind)
{
	mt_buffer_clear(payload);
	mt_buffer_put_varint(payload, kind);
}

void mt_payload_section(struct mt_buffer *payload, uint32_t number, const void *data, size_t size)
{
	mt_buffer_put_varint(payload, number);
	mt_buffer_put_varint(payload, size);
	mt_buffer_put(payload, data, size);
}

uint32_t mt_payload_kind(struct mt_cursor *payload)
{
	return mt_cursor_u32(payload);
}

int mt_section_next(struct mt_cursor *payload, struct mt_section *section)
{
	uint32_t number;
	uint64_t size;
	const uint8_t *data;

	if (payload->error || !mt_cursor_left(payload))
		return payload->error;
	number = mt_cursor_u32(payload);
	size = mt_cursor_varint(payload);
	data = mt_cursor_bytes(payload, size);
	if (!payload->error && number <= section->number)
		payload->error = -MT_E_CORRUPT;
	if (payload->error)
		return payload->error;
	section->number = number;
	section->content = mt_cursor_make(data, size);
	return 1;
}
