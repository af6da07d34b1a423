/*
 * history.h - records of memtrace/summary.h in memory: added, thinned out, as bytes and back.
 */
#ifndef FORMATS_HISTORY_H
#define FORMATS_HISTORY_H

#include "base/buffer.h"
#include "base/varint.h"
#include "memtrace/summary.h"

#define HISTORY_DEVICES_MAX 65u     /* a record has no more: MT_LEDGER_DEVICES */
#define HISTORY_ROWS_MAX (1u << 20) /* a record has no more: 48 MiB of hostile ones */

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
 * Makes one record of each two neighbours in the older half, but of no two with an out-of-memory error. 1: there are fewer now; 0:
 * nothing more can be thinned; -MT_E_MEMORY: some may be.
 */
int history_thin(struct history *history);

/* The payload of a chunk with these records, whose stacks are nodes of `defs`. Out of memory shows in payload->error. */
void history_encode(const struct history *history, const struct mt_defs *defs, struct mt_buffer *payload);

/*
 * Adds the records of a payload; the cursor stands behind the kind. A stack that `defs` does not have becomes 0. 0; -MT_E_CORRUPT; -MT_E_LIMIT; -MT_E_MEMORY: those before
 * the bad one stay.
 */
int history_decode(struct history *history, const struct mt_defs *defs, struct mt_cursor *payload);

#endif
