#include "history.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/array.h"
#include "memtrace/error.h"
#include "memtrace/phase.h"
#include "trace/chunk.h"
#include "trace/defs.h"

#define SECTION_RECORDS 1u
#define DEVICE_BYTES_MIN 9u /* numbers of a device, a byte each */
#define ROW_BYTES_MIN 8u    /* the same of a row */

/* ---- the list ---- */

static void release_record(struct mt_summary *record)
{
	free(record->device);
	free(record->row);
}

void history_clear(struct history *history)
{
	size_t i;

	for (i = 0; i < history->records; i++)
		release_record(&history->record[i]);
	history->records = 0;
}

void history_release(struct history *history)
{
	history_clear(history);
	free(history->record);
	*history = (struct history){ 0 };
}

static void *copy(const void *from, size_t count, size_t size)
{
	void *made = malloc((count + 1) * size);

	if (made && count)
		memcpy(made, from, count * size);
	return made;
}

int history_add(struct history *history, const struct mt_summary *record)
{
	struct mt_summary *added;

	if (MT_ARRAY_ROOM(history->record, history->records, history->room))
		return -MT_E_MEMORY;
	added = &history->record[history->records];
	*added = *record;
	added->device = copy(record->device, record->devices, sizeof(*record->device));
	added->row = copy(record->row, record->rows, sizeof(*record->row));
	if (!added->device || !added->row) {
		release_record(added);
		return -MT_E_MEMORY;
	}
	history->records++;
	return 0;
}

/* ---- thinning ---- */

static int is_higher(const struct mt_summary_device *one, const struct mt_summary_device *two)
{
	return one->peak > two->peak || (one->peak == two->peak && one->peak_tensors > two->peak_tensors);
}

/* The later record's figures, with the higher of both peaks. */
static uint32_t join_devices(struct mt_summary_device *joined, const struct mt_summary *older,
			     const struct mt_summary *newer)
{
	const struct mt_summary_device *before;
	uint32_t i, j;

	memcpy(joined, newer->device, newer->devices * sizeof(*joined));
	for (i = 0; i < newer->devices; i++)
		for (j = 0; j < older->devices; j++) {
			before = &older->device[j];
			if (before->device != joined[i].device || is_higher(&joined[i], before))
				continue;
			joined[i].peak = before->peak;
			joined[i].peak_tensors = before->peak_tensors;
			joined[i].peak_phase = before->peak_phase;
			joined[i].peak_seq = before->peak_seq;
			joined[i].peak_time = before->peak_time;
		}
	return newer->devices;
}

int history_row_order(const void *a, const void *b)
{
	const struct mt_summary_row *one = a, *two = b;

	if (one->stack != two->stack)
		return one->stack < two->stack ? -1 : 1;
	if (one->device != two->device)
		return one->device < two->device ? -1 : 1;
	if (one->phase != two->phase)
		return one->phase < two->phase ? -1 : 1;
	if (one->driver != two->driver)
		return one->driver < two->driver ? -1 : 1;
	return (one->step > two->step) - (one->step < two->step);
}

static void add_up(struct mt_summary_row *sum, const struct mt_summary_row *row)
{
	sum->plain = (int64_t)((uint64_t)sum->plain + (uint64_t)row->plain);
	sum->slack = (int64_t)((uint64_t)sum->slack + (uint64_t)row->slack);
	sum->count = (int64_t)((uint64_t)sum->count + (uint64_t)row->count);
}

static int says_nothing(const struct mt_summary_row *row)
{
	return !row->plain && !row->slack && !row->count;
}

/* Joins rows of equal keys and drops rows that are all 0. Returns the number of rows. */
static uint32_t join_rows(struct mt_summary_row *row, uint32_t rows)
{
	uint32_t i, kept = 0;

	qsort(row, rows, sizeof(*row), history_row_order);
	for (i = 0; i < rows; i++) {
		if (kept && !history_row_order(&row[kept - 1], &row[i])) {
			add_up(&row[kept - 1], &row[i]);
			continue;
		}
		if (kept && says_nothing(&row[kept - 1]))
			kept--;
		row[kept++] = row[i];
	}
	return kept && says_nothing(&row[kept - 1]) ? kept - 1 : kept;
}

/* `newer` becomes the record of both, `older` is released. Births in any of its steps count as of the last. */
static int join(struct mt_summary *older, struct mt_summary *newer)
{
	uint32_t rows = newer->rows + (newer->anew ? 0 : older->rows), i;
	struct mt_summary_row *row = malloc(((size_t)rows + 1) * sizeof(*row));

	if (!row)
		return -MT_E_MEMORY;
	memcpy(row, newer->row, newer->rows * sizeof(*row));
	if (rows > newer->rows)
		memcpy(row + newer->rows, older->row, older->rows * sizeof(*row));
	for (i = 0; i < rows; i++)
		if (row[i].step < newer->step && newer->step - row[i].step < newer->steps + older->steps)
			row[i].step = newer->step;
	newer->devices = join_devices(newer->device, older, newer);
	free(newer->row);
	newer->row = row;
	newer->rows = join_rows(row, rows);
	newer->steps += older->steps;
	newer->anew |= older->anew;
	release_record(older);
	return 0;
}

int history_thin(struct history *history)
{
	size_t half = history->records / 2, i, kept = 0;
	int error = 0, thinner = 0;

	for (i = 0; i < history->records; i++) {
		struct mt_summary *record = &history->record[i], *next = record + 1;

		if (!error && i + 1 < half && record->why != MT_SUMMARY_OOM && next->why != MT_SUMMARY_OOM &&
		    !(error = join(record, next))) {
			thinner = 1;
			history->record[kept++] = *next;
			i++;
		} else {
			history->record[kept++] = *record;
		}
	}
	history->records = kept;
	return error ? error : thinner;
}

/* ---- bytes ---- */

static void put(struct mt_buffer *buffer, uint64_t value)
{
	if (!mt_buffer_reserve(buffer, MT_VARINT_MAX))
		buffer->size = (size_t)(mt_varint_put(buffer->data + buffer->size, value) - buffer->data);
}

static void put_difference(struct mt_buffer *buffer, uint64_t value, uint64_t base)
{
	put(buffer, mt_zigzag(value - base));
}

/* Writes the figures of a device as differences from the record before. */
static void put_device(struct mt_buffer *buffer, const struct mt_summary_device *device,
		       const struct mt_summary_device *base, const struct mt_summary *record)
{
	put(buffer, device->device);
	put(buffer, device->peak_phase);
	put_difference(buffer, device->held, base->held);
	put_difference(buffer, device->slack, base->slack);
	put_difference(buffer, device->tensors, base->tensors);
	put_difference(buffer, device->peak, base->peak);
	put_difference(buffer, device->peak_tensors, base->peak_tensors);
	put_difference(buffer, record->seq, device->peak_seq);
	put_difference(buffer, record->time, device->peak_time);
}

/* Writes a stack with the file's numbers: of its node and of its nest variant. */
static uint32_t put_stack(struct mt_buffer *buffer, const struct mt_defs *defs, uint32_t stack, uint32_t base)
{
	struct mt_stack_told told = mt_defs_stack_told(defs, stack);

	put_difference(buffer, told.node, base);
	put(buffer, told.variant);
	return told.node;
}

static void put_row(struct mt_buffer *buffer, const struct mt_summary_row *row, uint32_t step)
{
	put(buffer, row->device);
	put(buffer, (uint64_t)row->phase << 1 | row->driver);
	put_difference(buffer, step, row->step);
	put(buffer, mt_zigzag((uint64_t)row->plain));
	put(buffer, mt_zigzag((uint64_t)row->slack));
	put(buffer, mt_zigzag((uint64_t)row->count));
}

static const struct mt_summary_device *device_of(const struct mt_summary *record, uint32_t device)
{
	static const struct mt_summary_device none;
	uint32_t i;

	for (i = 0; record && i < record->devices; i++)
		if (record->device[i].device == device)
			return &record->device[i];
	return &none;
}

static void put_record(struct mt_buffer *buffer, const struct mt_defs *defs, const struct mt_summary *record,
		       const struct mt_summary *before)
{
	uint32_t i, node = 0;

	put_difference(buffer, record->seq, before ? before->seq : 0);
	put_difference(buffer, record->time, before ? before->time : 0);
	put_difference(buffer, record->step, before ? before->step : 0);
	put(buffer, record->steps);
	put(buffer, record->why << 1 | record->anew);
	put(buffer, record->devices);
	for (i = 0; i < record->devices; i++)
		put_device(buffer, &record->device[i], device_of(before, record->device[i].device), record);
	put(buffer, record->rows);
	for (i = 0; i < record->rows; i++) {
		node = put_stack(buffer, defs, record->row[i].stack, node);
		put_row(buffer, &record->row[i], record->step);
	}
}

void history_encode(const struct history *history, const struct mt_defs *defs, struct mt_buffer *payload)
{
	struct mt_buffer records = { 0 };
	size_t i;

	for (i = 0; i < history->records; i++)
		put_record(&records, defs, &history->record[i], i ? &history->record[i - 1] : NULL);
	mt_payload_begin(payload, MT_CHUNK_SUMMARIES);
	mt_payload_section(payload, SECTION_RECORDS, records.data, records.size);
	if (records.error)
		payload->error = records.error;
	mt_buffer_release(&records);
}

static uint64_t take_difference(struct mt_cursor *cursor, uint64_t base)
{
	return base + mt_unzigzag(mt_cursor_varint(cursor));
}

static uint32_t take_u32(struct mt_cursor *cursor, uint32_t base)
{
	uint64_t value = take_difference(cursor, base);

	if (value > UINT32_MAX)
		cursor->error = -MT_E_CORRUPT;
	return value > UINT32_MAX ? 0 : (uint32_t)value;
}

static void take_device(struct mt_cursor *cursor, struct mt_summary_device *device, const struct mt_summary *before,
			const struct mt_summary *record)
{
	const struct mt_summary_device *base;

	device->device = mt_cursor_u32(cursor);
	base = device_of(before, device->device);
	device->peak_phase = mt_cursor_u32(cursor);
	device->held = take_difference(cursor, base->held);
	device->slack = take_difference(cursor, base->slack);
	device->tensors = take_difference(cursor, base->tensors);
	device->peak = take_difference(cursor, base->peak);
	device->peak_tensors = take_difference(cursor, base->peak_tensors);
	device->peak_seq = record->seq - mt_unzigzag(mt_cursor_varint(cursor));
	device->peak_time = record->time - mt_unzigzag(mt_cursor_varint(cursor));
	if (device->peak_phase >= MT_PHASE_COUNT)
		device->peak_phase = MT_PHASE_OTHER;
}

static void take_row(struct mt_cursor *cursor, const struct mt_defs *defs, struct mt_summary_row *row, uint32_t *node,
		     uint32_t step)
{
	struct mt_stack_told told = { 0 };
	uint32_t kind;

	told.node = *node = take_u32(cursor, *node);
	told.variant = mt_cursor_u32(cursor);
	row->stack = mt_defs_stack_of(defs, told);
	row->device = mt_cursor_u32(cursor);
	kind = mt_cursor_u32(cursor);
	row->phase = kind >> 1 < MT_PHASE_COUNT ? (uint8_t)(kind >> 1) : MT_PHASE_OTHER;
	row->driver = kind & 1;
	row->step = (uint32_t)(step - mt_unzigzag(mt_cursor_varint(cursor)));
	row->plain = (int64_t)mt_unzigzag(mt_cursor_varint(cursor));
	row->slack = (int64_t)mt_unzigzag(mt_cursor_varint(cursor));
	row->count = (int64_t)mt_unzigzag(mt_cursor_varint(cursor));
}

/* Reads a count of items, at most `most`, of at least `bytes` bytes each. */
static uint32_t take_count(struct mt_cursor *cursor, uint32_t most, size_t bytes)
{
	uint32_t count = mt_cursor_u32(cursor);

	if (!cursor->error && count > most)
		cursor->error = -MT_E_LIMIT;
	if (!cursor->error && count > mt_cursor_left(cursor) / bytes)
		cursor->error = -MT_E_CORRUPT;
	return cursor->error ? 0 : count;
}

static void take_devices(struct history_reading *reading, const struct mt_summary *before)
{
	struct mt_summary *record = &reading->record;
	uint32_t i;

	record->device = reading->device[before->device == reading->device[0]];
	record->devices = take_count(&reading->rest, HISTORY_DEVICES_MAX, DEVICE_BYTES_MIN);
	for (i = 0; i < record->devices && !reading->rest.error; i++)
		take_device(&reading->rest, &record->device[i], before, record);
}

static int take_rows(struct history_reading *reading)
{
	struct mt_summary *record = &reading->record;
	uint32_t rows = take_count(&reading->rest, HISTORY_ROWS_MAX, ROW_BYTES_MIN), node = 0, i;

	if (rows > reading->row_room) {
		free(record->row);
		record->row = malloc(rows * sizeof(*record->row));
		reading->row_room = record->row ? rows : 0;
		if (!record->row)
			return -MT_E_MEMORY;
	}
	record->rows = rows;
	for (i = 0; i < rows && !reading->rest.error; i++)
		take_row(&reading->rest, reading->defs, &record->row[i], &node, record->step);
	return 0;
}

int history_reading_next(struct history_reading *reading)
{
	struct mt_summary before = reading->record, *record = &reading->record;
	struct mt_cursor *rest = &reading->rest;
	uint32_t kind;
	int error;

	if (rest->error || !mt_cursor_left(rest))
		return rest->error;
	record->seq = take_difference(rest, before.seq);
	record->time = take_difference(rest, before.time);
	record->step = take_u32(rest, before.step);
	record->steps = mt_cursor_u32(rest);
	kind = mt_cursor_u32(rest);
	record->why = kind >> 1 < MT_SUMMARY_WHY_COUNT ? kind >> 1 : MT_SUMMARY_EVENTS;
	record->anew = kind & 1;
	take_devices(reading, &before);
	error = take_rows(reading);
	if (error)
		rest->error = error;
	return rest->error ? rest->error : 1;
}

int history_reading_begin(struct history_reading *reading, const struct mt_defs *defs, struct mt_cursor *payload)
{
	struct mt_section section = { 0 };
	int more;

	reading->record = (struct mt_summary){ .row = reading->record.row };
	reading->rest = mt_cursor_make(NULL, 0);
	reading->defs = defs;
	while ((more = mt_section_next(payload, &section)) > 0)
		if (section.number == SECTION_RECORDS)
			reading->rest = section.content;
	if (more < 0)
		reading->rest = mt_cursor_make(NULL, 0);
	return more;
}

void history_reading_release(struct history_reading *reading)
{
	free(reading->record.row);
	*reading = (struct history_reading){ 0 };
}
