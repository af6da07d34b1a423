/*
 * tally.h - what is alive, added up by place and step of birth, while events come in; the next record of memtrace/summary.h.
 *
 *     event ──> ledger ──┬── moves of bytes ──> cohort ──┐
 *                        └── births, deaths ──> cohort ──┼── tally_record ──> rows that changed, figures of devices
 *
 * A cohort is the allocations of one place (stack, device, phase, kind) that were born in one step. The ledger keeps the number of
 * its cohort with each allocation. Cost: one look-up for each birth, two additions for each move. Memory: in proportion to what is alive.
 */
#ifndef FORMATS_TALLY_H
#define FORMATS_TALLY_H

#include <stdint.h>
#include "memtrace/ledger.h"
#include "memtrace/summary.h"

struct tally;

struct tally *tally_new(void); /* NULL: out of memory */
void tally_free(struct tally *tally);

/*
 * Before the ledger gets an event: the tag of what the event may bring to life. 0: nothing, or no memory for its cohort, and
 * then tally_record fails.
 */
uint64_t tally_tag(struct tally *tally, const struct mt_event *event, uint32_t phase, uint32_t step);

/* As mt_ledger_move, called by the ledger's. */
void tally_move(struct tally *tally, uint32_t device, uint64_t tag, int slack, int64_t bytes);

/* After the ledger got the event. */
void tally_event(struct tally *tally, const struct mt_ledger *ledger, const struct mt_event *event,
		 const struct mt_ledger_change *change, uint32_t phase);

/* After an event at which an earlier record stands: peaks begin here. */
void tally_begin(struct tally *tally, const struct mt_ledger *ledger, const struct mt_event *event);

/*
 * The record after the newest event; the caller has filled in seq, time, step, steps and why. The rows are changes since the record
 * before, or, in the first record, since nothing. Its arrays are the tally's until the next call.
 * 0 or -MT_E_MEMORY: figures are missing, and no record is right any more.
 */
int tally_record(struct tally *tally, const struct mt_ledger *ledger, struct mt_summary *record);

#endif
