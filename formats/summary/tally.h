/*
 * tally.h - sums up the live set by place and step of birth, event by event, and makes records (memtrace/summary.h).
 *
 *     event ──> ledger ──┬── moves of bytes ──> cohort ──┐
 *                        └── births, deaths ──> cohort ──┼── tally_record ──> rows that changed, figures of devices
 *
 * A cohort is the allocations of one place (stack, device, phase, kind) born in one step. The ledger keeps the number
 * of its cohort with each allocation. Cost: one look-up for each birth, two additions for each move. Memory: in
 * proportion to the live set.
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
 * Returns the tag for an allocation that this event may make; call before the ledger gets the event. 0: no allocation,
 * or no memory for its cohort: tally_record then fails.
 */
uint64_t tally_tag(struct tally *tally, const struct mt_event *event, uint32_t phase, uint32_t step);

/* As mt_ledger_move, called by the ledger's. */
void tally_move(struct tally *tally, uint32_t device, uint64_t tag, int slack, int64_t bytes);

/* After the ledger got the event. */
void tally_event(struct tally *tally, const struct mt_ledger *ledger, const struct mt_event *event,
		 const struct mt_ledger_change *change, uint32_t phase);

/* Begins new peaks after an event with an earlier record. */
void tally_begin(struct tally *tally, const struct mt_ledger *ledger, const struct mt_event *event);

/*
 * Makes the record after the newest event. The caller has set seq, time, step, steps and why. Rows are changes since
 * the record before; the first record has the whole live set. The arrays are the tally's and valid until the next call.
 *
 * 0 or -MT_E_MEMORY: figures are missing, and all later records are wrong as well.
 */
int tally_record(struct tally *tally, const struct mt_ledger *ledger, struct mt_summary *record);

#endif
