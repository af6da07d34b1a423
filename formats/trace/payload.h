/*
 * payload.h - what is inside a chunk: a kind, then sections, each with its number and length (trace-v1.md, "Payload").
 */
#ifndef FORMATS_PAYLOAD_H
#define FORMATS_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/varint.h"

/* Empties `payload` and begins a chunk of that kind. */
void mt_payload_begin(struct mt_buffer *payload, uint32_t kind);

/* Appends a section. `number` must be above that of the section before. */
void mt_payload_section(struct mt_buffer *payload, uint32_t number, const void *data, size_t size);

/* The kind, at the front of a payload. */
uint32_t mt_payload_kind(struct mt_cursor *payload);

struct mt_section {
	uint32_t number; /* 0 before the first */
	struct mt_cursor content;
};

/* Moves to the next section. 1: there is one, 0: the end, or -MT_E_CORRUPT, -MT_E_LIMIT. */
int mt_section_next(struct mt_cursor *payload, struct mt_section *section);

#endif
