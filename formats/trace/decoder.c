/*
 * decoder.c - decodes columns into events.
 *
 * mt_decoder_init counts: each column must end exactly as many varints as there are events with the field. After this
 * check, columns are read without checking bounds. For any bytes, the n-th value never begins behind the n-th end
 * (mt_varint_take stops at an end, or earlier).
 */
#include <string.h>
#include "chunk.h"
#include "codec.h"
#include "defs.h"
#include "memtrace/base.h"
#include "memtrace/error.h"

/* Columns are filled by field number, so the struct must have this order. */
#define FIELD_IN_PLACE(name, number, encoding, meaning) \
	_Static_assert(offsetof(struct mt_event, name) == (number) * sizeof(uint64_t), #name " is not in order");
MT_FIELD_LIST(FIELD_IN_PLACE)
#undef FIELD_IN_PLACE

static const enum mt_encoding encodings[MT_FIELD_COUNT] = {
#define ENCODING_ROW(name, number, encoding, meaning) [number] = MT_ENCODING_##encoding,
	MT_FIELD_LIST(ENCODING_ROW)
#undef ENCODING_ROW
};

int mt_summary_read(struct mt_cursor *content, struct mt_chunk_info *info)
{
	uint64_t events = mt_cursor_varint(content);

	info->first_seq = mt_cursor_varint(content);
	info->last_seq = mt_cursor_varint(content);
	info->first_time = mt_cursor_varint(content);
	info->last_time = mt_cursor_varint(content);
	info->live_start = mt_cursor_varint(content);
	info->live_max = mt_cursor_varint(content);
	info->phases = mt_cursor_u32(content);
	if (content->error)
		return content->error;
	if (events > MT_CHUNK_EVENTS_MAX)
		return -MT_E_LIMIT;
	info->events = (uint32_t)events;
	return 0;
}

/* The sections of a chunk by number. A missing one has length 0. */
struct sections {
	struct mt_cursor summary, kinds, layout, variant, column[MT_FIELD_COUNT];
	struct mt_cursor again; /* back references of MT_FIELD_addr */
};

static int find_sections(struct mt_cursor *payload, struct sections *found)
{
	struct mt_section section = { 0 };
	int got;

	memset(found, 0, sizeof(*found));
	while ((got = mt_section_next(payload, &section)) > 0) {
		if (section.number == MT_SECTION_SUMMARY)
			found->summary = section.content;
		else if (section.number == MT_SECTION_KINDS)
			found->kinds = section.content;
		else if (section.number == MT_SECTION_LAYOUT)
			found->layout = section.content;
		else if (section.number == MT_SECTION_VARIANT)
			found->variant = section.content;
		else if (section.number - MT_SECTION_COLUMN < MT_FIELD_COUNT)
			found->column[section.number - MT_SECTION_COLUMN] = section.content;
		else if (section.number == MT_SECTION_AGAIN + MT_FIELD_addr)
			found->again = section.content;
	}
	return got;
}

/* Invalid fields: their columns would be sections of AGAIN. */
#define FIELDS_NEVER ((1ull << MT_FIELDS_TRIAL) - (1ull << MT_FIELDS_MAX))

/* Reads decoder->fields. Sets `listed` to 1 for each kind with an entry. */
static int read_layout(struct mt_decoder *decoder, struct mt_cursor *layout, uint8_t *listed)
{
	uint64_t kind, mask, above = 0;

	while (!layout->error && mt_cursor_left(layout)) {
		kind = mt_cursor_varint(layout);
		mask = mt_cursor_varint(layout);
		if (layout->error || kind > MT_KIND_MAX || kind < above || (mask & MT_F_COMMON) != MT_F_COMMON ||
		    mask & FIELDS_NEVER)
			return -MT_E_CORRUPT;
		decoder->fields[kind] = (uint32_t)(mask & ((1ull << MT_FIELD_COUNT) - 1));
		listed[kind] = 1;
		above = kind + 1;
	}
	return layout->error;
}

#define ENDS_BLOCK 64u

/* Counts the varints that end in these bytes. Compilers turn blocks of fixed length into vector code. */
static uint64_t count_ends(const struct mt_cursor *column)
{
	const uint8_t *at = column->at;
	uint64_t ends = 0;
	uint8_t in_block;
	unsigned i;

	for (; column->end - at >= (ptrdiff_t)ENDS_BLOCK; at += ENDS_BLOCK) {
		for (in_block = 0, i = 0; i < ENDS_BLOCK; i++)
			in_block = (uint8_t)(in_block + (at[i] < 0x80));
		ends += in_block;
	}
	for (; at < column->end; at++)
		ends += *at < 0x80;
	return ends;
}

/* 1: the column has exactly `wanted` varints. */
static int has_values(const struct mt_cursor *column, uint64_t wanted)
{
	if (count_ends(column) != wanted)
		return 0;
	return wanted ? column->end[-1] < 0x80 : !mt_cursor_left(column);
}

/*
 * Checks addresses with AGAIN. The number of addresses in the COLUMN is only known after decoding, so each is read with
 * a check of the end. The first address is always in the COLUMN.
 */
static int check_again(struct mt_decoder *decoder, const struct sections *found, uint64_t wanted)
{
	const struct mt_cursor *column = &found->column[MT_FIELD_addr];

	if (!wanted || !mt_cursor_left(column) || column->end[-1] >= 0x80 || !has_values(&found->again, wanted))
		return -MT_E_CORRUPT;
	decoder->again = found->again.at;
	decoder->addr_end = column->end;
	decoder->column[MT_FIELD_addr] = column->at;
	return 0;
}

/* Checks the columns against the kinds, as described at the top of this file. */
static int check_columns(struct mt_decoder *decoder, const struct sections *found, const uint8_t *listed)
{
	uint32_t number[MT_KIND_MAX + 1] = { 0 };
	uint8_t present[MT_KIND_MAX + 1];
	uint64_t wanted;
	uint32_t i, kind, field, presents = 0;

	for (i = 0; i < decoder->info.events; i++)
		number[decoder->kinds[i]]++;
	for (kind = 0; kind <= MT_KIND_MAX; kind++) {
		if (!number[kind])
			continue;
		if (!listed[kind])
			return -MT_E_CORRUPT;
		if (!mt_kind_fields(kind))
			decoder->unknown = 1;
		else if ((kind == MT_LIVE) != (decoder->chunk == MT_CHUNK_CHECKPOINT))
			return -MT_E_CORRUPT;
		present[presents++] = (uint8_t)kind;
	}
	for (field = 0; field < MT_FIELD_COUNT; field++) {
		const struct mt_cursor *column = &found->column[field];

		wanted = 0;
		for (i = 0; i < presents; i++)
			wanted += decoder->fields[present[i]] & 1u << field ? number[present[i]] : 0;
		if (field == MT_FIELD_stack && mt_cursor_left(&found->variant)) {
			if (!has_values(&found->variant, wanted))
				return -MT_E_CORRUPT;
			decoder->variant = found->variant.at;
		}
		if (field == MT_FIELD_addr && mt_cursor_left(&found->again)) {
			if (check_again(decoder, found, wanted))
				return -MT_E_CORRUPT;
			continue;
		}
		if (!has_values(column, wanted))
			return -MT_E_CORRUPT;
		decoder->column[field] = wanted ? column->at : NULL;
	}
	return 0;
}

static void set_largest(struct mt_decoder *decoder, const struct mt_defs *defs)
{
	memset(decoder->largest, 0xff, sizeof(decoder->largest));
	decoder->largest[MT_FIELD_thread] = mt_defs_count(defs, MT_DEF_THREAD);
	decoder->largest[MT_FIELD_stack] = mt_defs_told(defs, MT_DEF_NODE);
	decoder->defs = mt_defs_count(defs, MT_DEF_VARIANT) ? defs : NULL;
	decoder->largest[MT_FIELD_device] = mt_defs_count(defs, MT_DEF_DEVICE);
	decoder->largest[MT_FIELD_name] = mt_defs_count(defs, MT_DEF_STRING);
}

int mt_decoder_init(struct mt_decoder *decoder, enum mt_chunk_kind chunk, struct mt_cursor *payload,
		    const struct mt_defs *defs, uint64_t after_seq)
{
	uint8_t listed[MT_KIND_MAX + 1] = { 0 };
	struct sections found;
	int error;

	memset(decoder, 0, offsetof(struct mt_decoder, addr));
	decoder->chunk = chunk;
	decoder->seq = after_seq;
	decoder->first_time = UINT64_MAX;
	set_largest(decoder, defs);
	error = find_sections(payload, &found);
	if (!error)
		error = mt_summary_read(&found.summary, &decoder->info);
	if (!error && mt_cursor_left(&found.kinds) != decoder->info.events)
		error = -MT_E_CORRUPT;
	if (error)
		return error;
	decoder->kinds = found.kinds.at;
	error = read_layout(decoder, &found.layout, listed);
	return error ? error : check_columns(decoder, &found, listed);
}

/* One column of one batch: the place of its values, and the events that have one. */
struct batch {
	struct mt_decoder *decoder;
	struct mt_event *events;
	const uint8_t *kinds;
	size_t count;
	unsigned field;
	uint32_t in_all; /* fields that all events of the batch have */
	int bad;
};

/*
 * Visits the values of one column in order. `at`: begin of the next value; `value`: place for it. Most columns belong
 * to all events; only for the others each event is checked. A macro, to keep the loops tight.
 */
#define EACH_VALUE(batch, value, body)                                                         \
	do {                                                                                   \
		const uint32_t bit = 1u << (batch)->field, *fields = (batch)->decoder->fields; \
		uint64_t *value = (uint64_t *)(void *)(batch)->events + (batch)->field;        \
		const uint8_t *kind = (batch)->kinds, *end = kind + (batch)->count;            \
		if ((batch)->in_all & bit) {                                                   \
			for (; kind < end; kind++, value += EVENT_WORDS)                       \
				body                                                           \
		} else {                                                                       \
			for (; kind < end; kind++, value += EVENT_WORDS)                       \
				if (fields[*kind] & bit)                                       \
					body                                                   \
		}                                                                              \
	} while (0)

#define EVENT_WORDS (sizeof(struct mt_event) / sizeof(uint64_t))
_Static_assert(sizeof(struct mt_event) % sizeof(uint64_t) == 0, "events are stepped over in words");

/* 1: each event of the batch has the same byte. Many columns do: a device, a thread, a distance of 1. */
static int is_even(const struct batch *batch, const uint8_t *at)
{
	return batch->in_all & 1u << batch->field && *at < 0x80 && !memcmp(at, at + 1, batch->count - 1);
}

/* Values from `value` on, each `more` above the one before. Returns the newest. */
static uint64_t decode_even(struct batch *batch, uint64_t value, uint64_t more)
{
	uint64_t *at = (uint64_t *)(void *)batch->events + batch->field, *end = at + batch->count * EVENT_WORDS;

	for (; at < end; at += EVENT_WORDS, value += more)
		*at = value;
	return value - more;
}

static const uint8_t *decode_plain(struct batch *batch, const uint8_t *at)
{
	uint64_t largest = batch->decoder->largest[batch->field];
	int bad = 0;

	if (is_even(batch, at)) {
		batch->bad |= *at > largest;
		decode_even(batch, *at, 0);
		return at + batch->count;
	}
	EACH_VALUE(batch, value, {
		*value = mt_varint_take(&at, &bad);
		bad |= *value > largest;
	});
	batch->bad |= bad;
	return at;
}

static const uint8_t *decode_step(struct batch *batch, const uint8_t *at)
{
	uint64_t last = batch->decoder->predictor.last[batch->field], more = (uint64_t)*at + 1;
	int bad = 0;

	if (is_even(batch, at)) {
		batch->decoder->predictor.last[batch->field] = decode_even(batch, last + more, more);
		return at + batch->count;
	}
	EACH_VALUE(batch, value, *value = last += mt_varint_take(&at, &bad) + 1;);
	batch->bad |= bad;
	batch->decoder->predictor.last[batch->field] = last;
	return at;
}

static const uint8_t *decode_delta(struct batch *batch, const uint8_t *at)
{
	uint64_t last = batch->decoder->predictor.last[batch->field], more = mt_unzigzag(*at);
	int bad = 0;

	if (is_even(batch, at)) {
		batch->decoder->predictor.last[batch->field] = decode_even(batch, last + more, more);
		return at + batch->count;
	}
	EACH_VALUE(batch, value, *value = last += mt_unzigzag(mt_varint_take(&at, &bad)););
	batch->bad |= bad;
	batch->decoder->predictor.last[batch->field] = last;
	return at;
}

static inline uint64_t take_addr(const uint8_t **at, int *bad)
{
	uint8_t first = *(*at)++;
	uint64_t number = (first >> 1) & 63, rest;

	if (first >= 0x80) {
		rest = mt_varint_take(at, bad);
		*bad |= rest >> 58 != 0;
		number |= rest << 6;
	}
	number = mt_unzigzag(number);
	return first & 1 ? number << MT_ADDR_SHIFT : number;
}

static const uint8_t *decode_addr(struct batch *batch, const uint8_t *at)
{
	uint64_t last = batch->decoder->predictor.last[batch->field];
	int bad = 0;

	EACH_VALUE(batch, value, *value = last += take_addr(&at, &bad););
	batch->bad |= bad;
	batch->decoder->predictor.last[batch->field] = last;
	return at;
}

/* The address `back` values earlier. */
static inline uint64_t addr_again(const struct mt_decoder *decoder, uint64_t back, int *bad)
{
	if (back > decoder->addrs || back > MT_AGAIN_MAX) {
		*bad = 1;
		return 0;
	}
	return decoder->addr[(decoder->addrs - back) % MT_AGAIN_MAX];
}

/* With AGAIN; see check_again. */
static const uint8_t *decode_addr_again(struct batch *batch, const uint8_t *at)
{
	struct mt_decoder *decoder = batch->decoder;
	uint64_t last = decoder->predictor.last[batch->field], back;
	const uint8_t *again = decoder->again;
	int bad = 0;

	EACH_VALUE(batch, value, {
		back = mt_varint_take(&again, &bad);
		if (back)
			last = addr_again(decoder, back, &bad);
		else if (at < decoder->addr_end)
			last += take_addr(&at, &bad);
		else
			bad = 1;
		decoder->addr[decoder->addrs++ % MT_AGAIN_MAX] = *value = last;
	});
	batch->bad |= bad;
	decoder->again = again;
	decoder->predictor.last[batch->field] = last;
	return at;
}

static const uint8_t *decode_total(struct batch *batch, const uint8_t *at)
{
	struct mt_predictor *predictor = &batch->decoder->predictor;
	int bad = 0;

	EACH_VALUE(batch, value, {
		struct mt_event *event = &batch->events[kind - batch->kinds];

		*value = mt_predict_total(predictor, event) + mt_unzigzag(mt_varint_take(&at, &bad));
		predictor->total[event->device % MT_PREDICTOR_DEVICES] = *value;
	});
	batch->bad |= bad;
	return at;
}

/* Ascending order: TOTAL needs device and size, which have smaller numbers. */
static void decode_columns(struct batch *batch)
{
	struct mt_decoder *decoder = batch->decoder;
	const uint8_t **column;

	for (batch->field = 0; batch->field < MT_FIELD_COUNT; batch->field++) {
		column = &decoder->column[batch->field];
		if (!*column)
			continue;
		switch (encodings[batch->field]) {
		case MT_ENCODING_PLAIN:
			*column = decode_plain(batch, *column);
			break;
		case MT_ENCODING_STEP:
			*column = decode_step(batch, *column);
			break;
		case MT_ENCODING_DELTA:
			*column = decode_delta(batch, *column);
			break;
		case MT_ENCODING_ADDR:
			if (batch->field == MT_FIELD_addr && decoder->again)
				*column = decode_addr_again(batch, *column);
			else
				*column = decode_addr(batch, *column);
			break;
		case MT_ENCODING_TOTAL:
			*column = decode_total(batch, *column);
			break;
		}
	}
}

/* Turns numbers of nodes and variants into stack ids. */
static void find_stacks(struct batch *batch)
{
	struct mt_decoder *decoder = batch->decoder;
	const uint8_t *at = decoder->variant;
	int bad = 0;

	batch->field = MT_FIELD_stack;
	EACH_VALUE(batch, value, {
		struct mt_stack_told told = { .node = (uint32_t)*value };
		uint32_t *newest = &decoder->predictor.variant[told.node % MT_VARIANT_SLOTS];

		if (at)
			told.variant = *newest += (uint32_t)mt_unzigzag(mt_varint_take(&at, &bad));
		*value = mt_defs_stack_of(decoder->defs, told);
		bad |= !*value && (told.node || told.variant);
	});
	batch->bad |= bad;
	decoder->variant = at;
}

/* Checks that need whole events: order, times, and string ids in `value`. */
static int check_events(struct mt_decoder *decoder, const struct batch *batch)
{
	const struct mt_event *event, *end = batch->events + batch->count;
	int bad = 0;

	for (event = batch->events; event < end; event++) {
		bad |= event->seq <= decoder->seq;
		decoder->seq = event->seq;
		if (event->time < decoder->first_time)
			decoder->first_time = event->time;
		if (event->time > decoder->last_time)
			decoder->last_time = event->time;
		if (mt_kind_has_second_name(event->kind))
			bad |= event->value > decoder->largest[MT_FIELD_name];
	}
	if (!decoder->done)
		bad |= batch->events[0].seq != decoder->info.first_seq;
	return bad;
}

static int summary_agrees(const struct mt_decoder *decoder)
{
	return decoder->seq == decoder->info.last_seq && decoder->first_time == decoder->info.first_time &&
	       decoder->last_time == decoder->info.last_time;
}

/* Drops events of unknown kinds. Returns the number of the others. */
static size_t leave_out_unknown(struct mt_event *events, size_t count)
{
	size_t i, kept = 0;

	for (i = 0; i < count; i++) {
		if (!mt_kind_fields(events[i].kind))
			continue;
		if (kept != i)
			events[kept] = events[i];
		kept++;
	}
	return kept;
}

int mt_decoder_next(struct mt_decoder *decoder, struct mt_event *events, size_t most, size_t *count)
{
	struct batch batch = { .decoder = decoder, .events = events, .in_all = UINT32_MAX };
	size_t i;

	*count = 0;
	batch.count = decoder->info.events - decoder->done;
	if (batch.count > most)
		batch.count = most;
	if (!batch.count) /* without events there need not be kinds either */
		return 0;
	batch.kinds = decoder->kinds + decoder->done;
	memset(events, 0, batch.count * sizeof(*events));
	for (i = 0; i < batch.count; i++) {
		events[i].kind = batch.kinds[i];
		batch.in_all &= decoder->fields[batch.kinds[i]];
	}
	decode_columns(&batch);
	if (decoder->defs && !batch.bad)
		find_stacks(&batch);
	if (decoder->chunk == MT_CHUNK_EVENTS)
		batch.bad |= check_events(decoder, &batch);
	decoder->done += (uint32_t)batch.count;
	if (decoder->again && decoder->done == decoder->info.events)
		batch.bad |= decoder->column[MT_FIELD_addr] != decoder->addr_end;
	if (decoder->chunk == MT_CHUNK_EVENTS && decoder->done == decoder->info.events)
		batch.bad |= !summary_agrees(decoder);
	if (batch.bad)
		return -MT_E_CORRUPT;
	*count = decoder->unknown ? leave_out_unknown(events, batch.count) : batch.count;
	return 0;
}
