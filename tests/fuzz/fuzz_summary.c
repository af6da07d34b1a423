/*
 * fuzz_summary.c - the records of memtrace/summary.h: read, thinned out, and written again. An input is the records of one chunk, without
 * what is around them. The corpus has traces, too: their chunks are read, and a mutation of a trace is the records of one of its chunks.
 */
#include <stdlib.h>
#include <string.h>
#include "fuzz.h"
#include "memtrace/error.h"
#include "memtrace/reader.h"
#include "read/reader_impl.h"
#include "summary/history.h"
#include "trace/chunk.h"
#include "trace/defs.h"

#define SECTION_RECORDS 1u
#define NODES 8u

static int is_trace(const uint8_t *data, size_t size)
{
	return size > MT_SKIPPABLE_HEADER && mt_load_u32(data) == MT_SKIPPABLE_RECOGNITION;
}

/* Stacks for rows to name: a chain, and each second node inside of a module, too. */
static const struct mt_defs *definitions(void)
{
	static struct mt_defs *defs;
	uint32_t i, text, frame, nest;

	if (defs)
		return defs;
	defs = mt_defs_new();
	FUZZ_CHECK(defs != NULL);
	text = mt_defs_add_string(defs, "f", 1);
	nest = mt_defs_add_nest(defs, 0, mt_defs_add_instance(defs, 0x1000, text));
	for (i = 0; i < NODES; i++) {
		frame = mt_defs_add_frame(defs, &(struct mt_frame){ .kind = 1, .function = text, .line = i });
		mt_defs_add_node_in(defs, i / 2, frame, i % 2 ? nest : 0);
	}
	return defs;
}

/* ---- what must hold ---- */

/* Whatever is thinned out: the steps, and what is alive at the end, with a weight for each place. */
struct totals {
	uint64_t steps, alive;
};

static uint64_t weight(const struct mt_summary_row *row)
{
	struct fuzz_random random = { (uint64_t)row->stack << 32 ^ (uint64_t)row->phase << 16 ^ row->device ^
				      (uint64_t)row->driver << 8 };

	return fuzz_next(&random);
}

static struct totals totals_of(const struct history *history)
{
	struct totals totals = { 0 };
	size_t i;
	uint32_t j;

	for (i = 0; i < history->records; i++) {
		const struct mt_summary *record = &history->record[i];

		totals.steps += record->steps;
		if (record->anew)
			totals.alive = 0;
		for (j = 0; j < record->rows; j++)
			totals.alive += weight(&record->row[j]) *
					((uint64_t)record->row[j].plain + 3 * (uint64_t)record->row[j].slack +
					 31 * (uint64_t)record->row[j].count);
	}
	return totals;
}

/* The records of a payload, behind its kind. */
static void read_payload(struct history *history, struct mt_cursor payload)
{
	struct history_reading reading = { 0 };

	if (!history_reading_begin(&reading, definitions(), &payload))
		while (history_reading_next(&reading) > 0) {
			trace_check_record(definitions(), &reading.record);
			FUZZ_CHECK(!history_add(history, &reading.record));
		}
	history_reading_release(&reading);
}

/* The bytes of records are read as the records, and these make the same bytes. */
static void check_bytes(const struct history *history)
{
	struct mt_buffer first = { 0 }, second = { 0 };
	struct history back = { 0 };
	struct mt_cursor payload;

	history_encode(history, definitions(), &first);
	payload = mt_cursor_make(first.data, first.size);
	FUZZ_CHECK(mt_payload_kind(&payload) == MT_CHUNK_SUMMARIES);
	read_payload(&back, payload);
	FUZZ_CHECK(back.records == history->records);
	history_encode(&back, definitions(), &second);
	FUZZ_CHECK(!first.error && !second.error && first.size == second.size);
	FUZZ_CHECK(!memcmp(first.data, second.data, first.size));
	history_release(&back);
	mt_buffer_release(&first);
	mt_buffer_release(&second);
}

static void check_thinning(struct history *history)
{
	struct totals before = totals_of(history), after;
	size_t records = history->records;

	while (history_thin(history) > 0) {
		FUZZ_CHECK(history->records < records);
		records = history->records;
		check_bytes(history);
	}
	after = totals_of(history);
	FUZZ_CHECK((uint32_t)before.steps == (uint32_t)after.steps && before.alive == after.alive);
}

static void read_records(const uint8_t *data, size_t size)
{
	struct mt_buffer payload = { 0 };
	struct history history = { 0 };

	mt_payload_section(&payload, SECTION_RECORDS, data, size);
	read_payload(&history, mt_cursor_make(payload.data, payload.size));
	check_bytes(&history);
	check_thinning(&history);
	history_release(&history);
	mt_buffer_release(&payload);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (is_trace(data, size))
		trace_read(fuzz_file("trace.zst", data, size));
	else
		read_records(data, size);
	return 0;
}

/* ---- mutations ---- */

/* Appends the records of the chunk. */
static void unpack_records(struct mt_unpacker *unpacker, const struct mt_chunk_info *chunk, struct mt_buffer *records)
{
	struct mt_section section = { 0 };
	struct mt_cursor payload;
	struct mt_zframe frame;

	if (mt_unpacker_find(unpacker, chunk->offset, chunk->size, &frame) || frame.skippable ||
	    mt_unpacker_unpack(unpacker, &payload))
		return;
	mt_payload_kind(&payload);
	while (mt_section_next(&payload, &section) > 0)
		if (section.number == SECTION_RECORDS)
			mt_buffer_put(records, section.content.at, mt_cursor_left(&section.content));
}

/* The records of one of the chunks, as far as the trace can be read. */
static void pick_records(const char *path, struct fuzz_random *random, struct mt_buffer *records)
{
	const struct mt_chunk_info *list;
	struct mt_unpacker *unpacker;
	struct mt_reader *reader;
	uint32_t count, i, chosen;

	if (mt_reader_open(&reader, path))
		return;
	FUZZ_CHECK(!mt_reader_wake(reader, &unpacker));
	list = mt_reader_chunks(reader, &count);
	chosen = (uint32_t)fuzz_below(random, count);
	for (i = 0; i < count && !records->size; i++)
		if (list[(chosen + i) % count].kind == MT_CHUNK_SUMMARIES)
			unpack_records(unpacker, &list[(chosen + i) % count], records);
	mt_reader_sleep(reader);
	mt_reader_free(reader);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned int seed)
{
	struct fuzz_random random = { seed };
	struct mt_buffer records = { 0 };
	size_t changes;

	if (is_trace(data, size))
		pick_records(fuzz_file("mutate.zst", data, size), &random, &records);
	else
		mt_buffer_put(&records, data, size);
	for (changes = 1 + fuzz_below(&random, 3); changes; changes--)
		fuzz_varints(&random, &records);
	if (records.size > room)
		records.size = room;
	if (records.size)
		memcpy(data, records.data, records.size);
	size = records.size;
	mt_buffer_release(&records);
	return size;
}
