/* encoder.c - events into columns. */
#include <stdlib.h>
#include <string.h>
#include "chunk.h"
#include "codec.h"
#include "defs.h"
#include "memtrace/base.h"
#include "memtrace/error.h"

#define ROOM 1024u /* events to make room for at a time */

/*
 * Most bytes of a chunk's columns: with headers, one more round of events and filler, still below MT_CHUNK_BYTES_MAX.
 */
#define COLUMN_BYTES_MAX (MT_CHUNK_BYTES_MAX - (4u << 20))

#define AGAIN_SLOTS (2 * MT_AGAIN_MAX)

/*
 * The last position of each address. An address replaces another one in its slot. An address that is not found is
 * written in full.
 */
struct mt_again {
	uint64_t number; /* number of the next address, from 1; goes on from chunk to chunk */
	uint64_t first;  /* first of this chunk */
	struct {
		uint64_t addr, number;
	} slot[AGAIN_SLOTS];
};

void mt_encoder_init(struct mt_encoder *encoder)
{
	memset(encoder, 0, sizeof(*encoder));
}

void mt_encoder_look_back(struct mt_encoder *encoder)
{
	encoder->again = calloc(1, sizeof(*encoder->again));
	if (encoder->again)
		encoder->again->number = encoder->again->first = 1;
}

void mt_encoder_release(struct mt_encoder *encoder)
{
	size_t field;

	mt_buffer_release(&encoder->kinds);
	mt_buffer_release(&encoder->again_column);
	mt_buffer_release(&encoder->variants);
	free(encoder->again);
	for (field = 0; field < MT_FIELD_COUNT; field++)
		mt_buffer_release(&encoder->column[field]);
	mt_encoder_init(encoder);
}

void mt_encoder_clear(struct mt_encoder *encoder)
{
	size_t field;

	mt_buffer_clear(&encoder->kinds);
	mt_buffer_clear(&encoder->again_column);
	mt_buffer_clear(&encoder->variants);
	encoder->is_varied = 0;
	if (encoder->again)
		encoder->again->first = encoder->again->number;
	for (field = 0; field < MT_FIELD_COUNT; field++)
		mt_buffer_clear(&encoder->column[field]);
	memset(&encoder->predictor, 0, sizeof(encoder->predictor));
	memset(encoder->used, 0, sizeof(encoder->used));
	memset(&encoder->info, 0, sizeof(encoder->info));
	encoder->room = 0;
}

/* Makes room for ROOM events in every column, so mt_encoder_add need not check. */
int mt_encoder_room(struct mt_encoder *encoder)
{
	size_t bytes = encoder->kinds.size + encoder->again_column.size + encoder->variants.size;
	size_t field;
	int error;

	if (encoder->room)
		return 0;
	error = mt_buffer_reserve(&encoder->kinds, ROOM);
	if (!error && encoder->again)
		error = mt_buffer_reserve(&encoder->again_column, ROOM * MT_VARINT_MAX);
	if (!error && encoder->defs)
		error = mt_buffer_reserve(&encoder->variants, ROOM * MT_VARINT_MAX);
	for (field = 0; field < MT_FIELD_COUNT && !error; field++) {
		error = mt_buffer_reserve(&encoder->column[field], ROOM * MT_VARINT_MAX);
		bytes += encoder->column[field].size;
		encoder->column[field].error = 0; /* the next event may try again */
	}
	encoder->kinds.error = encoder->again_column.error = encoder->variants.error = 0;
	if (!error && (encoder->info.events >= MT_CHUNK_EVENTS_MAX || bytes > COLUMN_BYTES_MAX))
		error = -MT_E_LIMIT;
	if (!error)
		encoder->room = ROOM;
	return error;
}

static inline void put(struct mt_buffer *column, uint64_t value)
{
	uint8_t *at = column->data + column->size;

	column->size = (size_t)(mt_varint_put(at, value) - column->data);
}

/* Returns the number of the stack's node. Its variant goes into another section. */
static inline uint64_t encode_stack(struct mt_encoder *encoder, uint64_t stack)
{
	struct mt_stack_told told = mt_defs_stack_told(encoder->defs, (uint32_t)stack);
	uint32_t *newest = &encoder->predictor.variant[told.node % MT_VARIANT_SLOTS];

	put(&encoder->variants, mt_zigzag((uint64_t)told.variant - *newest));
	*newest = told.variant;
	encoder->is_varied |= told.variant != 0;
	return told.node;
}

static inline void encode_PLAIN(struct mt_encoder *encoder, unsigned field, uint64_t value,
				const struct mt_event *event MT_UNUSED)
{
	if (field == MT_FIELD_stack && encoder->defs)
		value = encode_stack(encoder, value);
	put(&encoder->column[field], value);
}

static inline void encode_STEP(struct mt_encoder *encoder, unsigned field, uint64_t value,
			       const struct mt_event *event MT_UNUSED)
{
	put(&encoder->column[field], value - encoder->predictor.last[field] - 1);
	encoder->predictor.last[field] = value;
}

static inline void encode_DELTA(struct mt_encoder *encoder, unsigned field, uint64_t value,
				const struct mt_event *event MT_UNUSED)
{
	put(&encoder->column[field], mt_zigzag(value - encoder->predictor.last[field]));
	encoder->predictor.last[field] = value;
}

static size_t slot_of(uint64_t addr)
{
	return (size_t)(addr * 0x9e3779b97f4a7c15ull >> 40) % AGAIN_SLOTS;
}

void mt_encoder_expect(const struct mt_encoder *encoder, uint64_t addr)
{
	if (encoder->again)
		__builtin_prefetch(&encoder->again->slot[slot_of(addr)], 1);
}

/*
 * Returns the distance back to the last position of `addr` in this chunk; 0: too far or none. Notes the new position.
 */
static uint64_t look_back(struct mt_again *again, uint64_t addr)
{
	size_t at = slot_of(addr);
	uint64_t before = again->slot[at].addr == addr ? again->slot[at].number : 0;
	uint64_t back = again->number - before;

	again->slot[at].addr = addr;
	again->slot[at].number = again->number++;
	return before >= again->first && back <= MT_AGAIN_MAX ? back : 0;
}

/* A varint of 65 bits: the tag and six bits in the first byte, an ordinary varint of the rest behind it. */
static inline void encode_ADDR(struct mt_encoder *encoder, unsigned field, uint64_t value,
			       const struct mt_event *event MT_UNUSED)
{
	struct mt_buffer *column = &encoder->column[field];
	uint64_t difference = value - encoder->predictor.last[field];
	uint8_t folded = !(difference & ((1u << MT_ADDR_SHIFT) - 1));
	uint64_t number, back = 0;

	encoder->predictor.last[field] = value;
	if (field == MT_FIELD_addr && encoder->again) {
		back = look_back(encoder->again, value);
		put(&encoder->again_column, back);
	}
	if (back)
		return;
	if (folded)
		number = mt_zigzag((uint64_t)((int64_t)difference >> MT_ADDR_SHIFT));
	else
		number = mt_zigzag(difference);
	column->data[column->size++] = (uint8_t)((number & 63) << 1 | folded | (number > 63 ? 0x80 : 0));
	if (number > 63)
		put(column, number >> 6);
}

static inline void encode_TOTAL(struct mt_encoder *encoder, unsigned field, uint64_t value,
				const struct mt_event *event)
{
	put(&encoder->column[field], mt_zigzag(value - mt_predict_total(&encoder->predictor, event)));
	encoder->predictor.total[event->device % MT_PREDICTOR_DEVICES] = value;
}

static void note(struct mt_chunk_info *info, const struct mt_event *event)
{
	if (!info->events) {
		info->first_seq = event->seq;
		info->first_time = info->last_time = event->time;
	}
	info->events++;
	info->last_seq = event->seq;
	if (event->time < info->first_time)
		info->first_time = event->time;
	if (event->time > info->last_time)
		info->last_time = event->time;
}

int mt_encoder_add(struct mt_encoder *encoder, const struct mt_event *event)
{
	uint32_t fields = mt_kind_fields(event->kind);
	int error = mt_encoder_room(encoder);

	if (error)
		return error;
	encoder->room--;
	encoder->kinds.data[encoder->kinds.size++] = (uint8_t)event->kind;
	encoder->used[event->kind] = 1;
#define ENCODE_FIELD(name, number, encoding, meaning) \
	if (fields & MT_F(name))                      \
		encode_##encoding(encoder, MT_FIELD_##name, event->name, event);
	MT_FIELD_LIST(ENCODE_FIELD)
#undef ENCODE_FIELD
	note(&encoder->info, event);
	return 0;
}

static void put_summary(struct mt_buffer *payload, const struct mt_chunk_info *info)
{
	uint8_t bytes[8 * MT_VARINT_MAX], *at = bytes;

	at = mt_varint_put(at, info->events);
	at = mt_varint_put(at, info->first_seq);
	at = mt_varint_put(at, info->last_seq);
	at = mt_varint_put(at, info->first_time);
	at = mt_varint_put(at, info->last_time);
	at = mt_varint_put(at, info->live_start);
	at = mt_varint_put(at, info->live_max);
	at = mt_varint_put(at, info->phases);
	mt_payload_section(payload, MT_SECTION_SUMMARY, bytes, (size_t)(at - bytes));
}

static void put_layout(struct mt_buffer *payload, const uint8_t *used)
{
	uint8_t bytes[(MT_KIND_MAX + 1) * 2 * MT_VARINT_MAX], *at = bytes;
	uint32_t kind;

	for (kind = 0; kind <= MT_KIND_MAX; kind++) {
		if (!used[kind])
			continue;
		at = mt_varint_put(at, kind);
		at = mt_varint_put(at, mt_kind_fields(kind));
	}
	mt_payload_section(payload, MT_SECTION_LAYOUT, bytes, (size_t)(at - bytes));
}

void mt_encoder_payload(const struct mt_encoder *encoder, enum mt_chunk_kind kind, struct mt_buffer *payload)
{
	const struct mt_buffer *column;
	uint32_t field;

	mt_payload_begin(payload, kind);
	put_summary(payload, &encoder->info);
	mt_payload_section(payload, MT_SECTION_KINDS, encoder->kinds.data, encoder->kinds.size);
	put_layout(payload, encoder->used);
	if (encoder->is_varied)
		mt_payload_section(payload, MT_SECTION_VARIANT, encoder->variants.data, encoder->variants.size);
	for (field = 0; field < MT_FIELD_COUNT; field++) {
		column = &encoder->column[field];
		if (column->size)
			mt_payload_section(payload, MT_SECTION_COLUMN + field, column->data, column->size);
	}
	if (encoder->again_column.size)
		mt_payload_section(payload, MT_SECTION_AGAIN + MT_FIELD_addr, encoder->again_column.data,
				   encoder->again_column.size);
}
