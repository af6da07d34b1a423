/*
 * phase_use.h - the bytes that each phase took on a device, and the bytes still there at the ends of its runs, for `memana phases` without single
 * allocations.
 *
 *     run     ├──── forward ────┤├─ backward ─┤
 *     a           ═══════                         taken
 *     b             ══════════════════════        taken, and left after the run
 *
 * Bytes are bytes in use (in_use_span of schema.sql), by the phase of their birth. Only the end of the pass knows the run that left most: until then,
 * memory of old runs may be freed, and driver memory may turn out to hold tensors.
 *
 * Memory: 32 bytes for each run, and more for a run that leaves memory of several sources. A pass with too many runs has no figures.
 */
#ifndef MEMANA_PHASE_USE_H
#define MEMANA_PHASE_USE_H

#include "engine/analysis.h"

/* One phase on one device of a process. */
struct phase_use_row {
	uint32_t device, phase;
	uint32_t grew; /* 1: the phase took memory that made the device fuller, up to the phase's peak and after the device's */
	uint64_t bytes, count; /* allocations */
	uint64_t left;         /* bytes left by the run that left most */
};

struct phase_use_list {
	struct phase_use_row *row; /* by device and phase; the owner frees */
	uint32_t rows;
};

struct phase_use;

/* Call it at the beginning of the pass over `analysis`, a run of one process. NULL: out of memory. */
struct phase_use *phase_use_new(const struct analysis *analysis);
void phase_use_free(struct phase_use *use); /* NULL is fine */

/* Like the calls of struct analysis_sink. Without memory the figures are given up. */
void phase_use_born(struct phase_use *use, const struct mt_live *live);
void phase_use_gone(struct phase_use *use, const struct mt_live *live, const struct mt_event *event);
void phase_use_resident(struct phase_use *use, const struct mt_live *tensor, uint64_t bytes,
			const struct mt_event *event);
void phase_use_span(struct phase_use *use, uint8_t phase, uint64_t first, uint64_t last);

/* After the last call: fills in *list. 1; 0: the figures were given up; -MT_E_MEMORY. */
int phase_use_find(struct phase_use *use, struct phase_use_list *list);

#endif
