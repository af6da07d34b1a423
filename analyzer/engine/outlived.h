/*
 * outlived.h - sums of the memory that is still there when the step that made it has ended. The sums go by site, by the
 * step that made the memory and by the step in which the memory went.
 *
 *     step      1 ──┤├── 2 ──┤├── 3 ──┤├── 4 ──
 *     weights   ═══════════════════════════════    made in 1, never gone
 *     output    ══════════                         made in 1, gone in 2
 *     scratch   ══  ══   ══  ══   ══  ══           gone in the step that made it: not here
 *
 * Growth is told from these sums alone (report/steps/growth.h). Room: one row for each triple that occurs.
 */
#ifndef MEMANA_OUTLIVED_H
#define MEMANA_OUTLIVED_H

#include <stddef.h>
#include <stdint.h>

#define OUTLIVED_STAYS UINT32_MAX /* value of `until`: alive at the end of the recording */

struct outlived_row {
	uint32_t site, step, until; /* site 0: empty row */
	uint64_t bytes, count;
};

/* Read freely. The rows lie in a hash table. */
struct outlived {
	struct outlived_row *row;
	size_t room, rows;
};

/* Adds the allocations of `more`, whose site is not 0. 0 or -MT_E_MEMORY. */
int outlived_add(struct outlived *outlived, const struct outlived_row *more);

/* Takes back the newest allocation that was added to such a row. */
void outlived_forget(struct outlived *outlived, uint32_t site, uint32_t step, uint32_t until, uint64_t bytes);

/* Gives sites new numbers: number[old] is the new one. Returns 0 or -MT_E_MEMORY: nothing has changed. */
int outlived_reorder(struct outlived *outlived, const uint32_t *number);

/* The rows by site, step and end, in an array of `rows`. The caller frees. NULL: out of memory, or there are none. */
struct outlived_row *outlived_sorted(const struct outlived *outlived);

void outlived_release(struct outlived *outlived);

#endif
