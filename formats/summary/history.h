/*
 * history.h - records of memtrace/summary.h in memory: added, thinned out, as bytes and back.
 */
#ifndef FORMATS_HISTORY_H
#define FORMATS_HISTORY_H

#include "base/buffer.h"
#include "base/varint.h"
#include "memtrace/summary.h"

#define HISTORY_DEVICES_MAX 65u     /* a record has no more: MT_LEDGER_DEVICES */
#define HISTORY_ROWS_MAX (1u << 20) /* a record has no more: 40 MiB */

/* Zeroed: empty. */
struct history {
	struct mt_summary *record;
	size_t records, room;
};

/* For qsort: rows by stack, device, phase, driver and step. */
int history_row_order(const void *one, const void *two);

/* Takes a copy of the record. 0 or -MT_E_MEMORY. */
int history_add(struct history *history, const struct mt_summary *record);

void history_clear(struct history *history); /* memory of the array is kept */
void history_release(struct history *history);

/*
 * Thins the older half of the records: two neighbours become one, but a record of an out-of-memory error stays. 1:
 * there are fewer records; 0: no record can be joined; -MT_E_MEMORY: some may be joined.
 */
int history_thin(struct history *history);

/*
 * Writes the payload of a chunk with these records. Their stacks are nodes of `defs`. Out of memory shows in
 * payload->error.
 */
void history_encode(const struct history *history, const struct mt_defs *defs, struct mt_buffer *payload);

/*
 * Reads the records of a payload one by one. Begin with zeros. Later records and payloads use the memory of the rows
 * again.
 */
struct history_reading {
	struct mt_summary record; /* the newest, until the next call */
	const struct mt_defs *defs;
	struct mt_cursor rest;
	struct mt_summary_device device[2][HISTORY_DEVICES_MAX]; /* the current record and the one before, in turns */
	uint32_t row_room;
};

/*
 * Begins a payload, which must stay until all records are read; the cursor stands behind the kind. Stacks that `defs`
 * lacks become 0. 0; -MT_E_CORRUPT or -MT_E_LIMIT: nothing can be read.
 */
int history_reading_begin(struct history_reading *reading, const struct mt_defs *defs, struct mt_cursor *payload);

/* 1: reading->record is the next one. 0: the end. -MT_E_CORRUPT; -MT_E_LIMIT; -MT_E_MEMORY: the rest cannot be read. */
int history_reading_next(struct history_reading *reading);

void history_reading_release(struct history_reading *reading);

#endif
