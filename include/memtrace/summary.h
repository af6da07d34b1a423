/*
 * summary.h - what each step of a process left behind, as records of some hundred bytes in the trace.
 *
 *     step 1           step 2           step 3          out of memory
 *     ────────────────┤├───────────────┤├──────────────┤
 *                  record           record          record
 *
 * A record has the figures of each device, and the bytes that changed hands since the record before: by stack, device, phase, kind of
 * memory and step of birth. Added up from the first record on, the changes are what is alive at a record. The file's key has no
 * category: categories follow from the lives and from the census.
 *
 * Records outlive their events: a flight recorder (--keep) lets events go and keeps the records, thinned out. A thinned record
 * stands for several steps.
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
	X(EVENTS, 2, "events") /* no step has ended yet, and many events or seconds have passed */

enum mt_summary_why {
#define MT_SUMMARY_WHY_ENUM(name, number, word) MT_SUMMARY_##name = (number),
	MT_SUMMARY_WHY_LIST(MT_SUMMARY_WHY_ENUM)
#undef MT_SUMMARY_WHY_ENUM
		MT_SUMMARY_WHY_COUNT
};

/* Bytes of one device (id). The peak is the highest moment since the record before: most held, then most in tensors. */
struct mt_summary_device {
	uint32_t device;
	uint32_t peak_phase;           /* enum mt_phase: phase of the event that made the peak */
	uint64_t held, slack, tensors; /* at the record, as of ledger.h */
	uint64_t peak, peak_tensors;
	uint64_t peak_seq, peak_time;
};

/* Bytes and allocations of one place, born in one step: their change since the record before. */
struct mt_summary_row {
	uint32_t stack, device; /* definitions; device 0: none */
	uint32_t step;          /* step of the births; of a thinned record, a step that it stands for */
	uint8_t phase;          /* enum mt_phase */
	uint8_t driver;         /* 1: driver memory, 0: tensors */
	int64_t plain, slack;   /* bytes held; slack: driver memory that tensors live in and do not fill */
	int64_t count;          /* allocations alive */
};

struct mt_summary {
	uint64_t seq, time; /* the event before the record */
	uint32_t step;      /* the step that ended, else the one that runs */
	uint32_t steps;     /* steps that the record stands for: 0 where none has ended */
	uint32_t why;       /* enum mt_summary_why */
	uint32_t anew;      /* 1: the rows are changes since nothing: what earlier records say is alive is void */
	struct mt_summary_device *device;
	uint32_t devices;
	struct mt_summary_row *row; /* by stack, device, phase, driver, step */
	uint32_t rows;
};

/*
 * Hands out the records of the trace in their order; each is valid during the call. Stacks are known once the events were read:
 * before, they may be 0. A result of `take` other than 0 ends the reading and is handed on. Damaged records are left out up to
 * the next one that begins anew. Not between two mt_reader_next of one pass. Memory: one chunk and one record, 104 MiB at most.
 * 0; -MT_E_MEMORY; -MT_E_SYSTEM; or the result of `take`.
 */
int mt_reader_summaries(struct mt_reader *reader, int (*take)(void *context, const struct mt_summary *summary),
			void *context);

#endif
