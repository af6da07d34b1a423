/*
 * summary.h - records of memory at each step of a process, some hundred bytes each in the trace.
 *
 *     step 1           step 2           step 3          out of memory
 *     ────────────────┤├───────────────┤├──────────────┤
 *                  record           record          record
 *
 * A record has the figures of each device, and the changes in bytes since the record before. Changes are grouped by
 * stack, device, phase, kind of memory and step of birth. The sum of all changes up to a record is the live set at that
 * record. The file has no category: it follows from lifetimes and from the census.
 *
 * Records outlive their events: a flight recorder (--keep) drops events, keeps the records and thins them out. A
 * thinned record stands for several steps.
 */
#ifndef MEMTRACE_SUMMARY_H
#define MEMTRACE_SUMMARY_H

#include <stddef.h>
#include <stdint.h>
#include "memtrace/reader.h"

/* Reasons for a record. X(NAME, number, word) */
#define MT_SUMMARY_WHY_LIST(X)                                                         \
	X(STEP, 0, "step")     /* a step has ended */                                  \
	X(OOM, 1, "oom")       /* a request of the framework's allocator has failed */ \
	X(EVENTS, 2, "events") /* no step has ended yet, and many events or some seconds have passed */

enum mt_summary_why {
#define MT_SUMMARY_WHY_ENUM(name, number, word) MT_SUMMARY_##name = (number),
	MT_SUMMARY_WHY_LIST(MT_SUMMARY_WHY_ENUM)
#undef MT_SUMMARY_WHY_ENUM
		MT_SUMMARY_WHY_COUNT
};

/*
 * Bytes of one device (id). The peak is the moment with most bytes held since the record before; among equals, most
 * bytes in tensors.
 */
struct mt_summary_device {
	uint32_t device;
	uint32_t peak_phase;           /* enum mt_phase: phase of the event that made the peak */
	uint64_t held, slack, tensors; /* at the record, as of ledger.h */
	uint64_t peak, peak_tensors;
	uint64_t peak_seq, peak_time;
};

/* Change of the bytes and allocations of one stack and step of birth since the record before. */
struct mt_summary_row {
	uint32_t stack, device; /* definitions; device 0: none */
	uint32_t step;          /* step of birth; in a thinned record, one of its steps */
	uint8_t phase;          /* enum mt_phase */
	uint8_t driver;         /* 1: driver memory, 0: tensors */
	int64_t plain, slack;   /* bytes held; slack: bytes of driver memory with tensors that no tensor fills */
	int64_t count;          /* allocations alive */
};

struct mt_summary {
	uint64_t seq, time; /* seq and time of the newest event before the record */
	uint32_t step;      /* the step that ended, or the running one */
	uint32_t steps;     /* number of steps that the record stands for; 0: none has ended */
	uint32_t why;       /* enum mt_summary_why */
	uint32_t anew;      /* 1: the rows are the whole live set, and earlier records do not count */
	struct mt_summary_device *device;
	uint32_t devices;
	struct mt_summary_row *row; /* by stack, device, phase, driver, step */
	uint32_t rows;
};

/*
 * Calls `take` with each record of the trace, in order. A record is valid during the call. Stacks may be 0 before all
 * events were read. A result of `take` other than 0 ends the reading and is returned. After damage, records are left
 * out up to the next one with `anew`. Do not call between two mt_reader_next of one pass. Needs memory for one chunk
 * and one record, 104 MiB at most.
 *
 * Returns 0, -MT_E_MEMORY, -MT_E_SYSTEM or the result of `take`.
 */
int mt_reader_summaries(struct mt_reader *reader, int (*take)(void *context, const struct mt_summary *summary),
			void *context);

#endif
