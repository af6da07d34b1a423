/*
 * outlived.h - sums of the memory of one process that is still there when the step that made it has ended. The sums go by site, by the
 * step that made the memory and by the step in which the memory went.
 *
 *     step      1 ──┤├── 2 ──┤├── 3 ──┤├── 4 ──
 *     weights   ═══════════════════════════════    made in 1, never gone
 *     output    ══════════                         made in 1, gone in 2
 *     scratch   ══  ══   ══  ══   ══  ══           gone in the step that made it: not here
 *
 * Growth is computed from these sums alone (report/steps/growth.h). Memory that the next step frees is no growth. A row of such memory goes when that
 * next step has ended. The first row of a site stays: its kind is the first of the site.
 *
 * Room: OUTLIVED_MOST rows and twice as many for a moment. For more rows steps are taken together, in groups of `grain`, but into no less than
 * OUTLIVED_GROUPS groups:
 *
 *     grain 1   1 2 3 4 5 6 7 8       a row names a step
 *     grain 4   0 0 0 4 4 4 4 8       a row names the multiple of `grain` at or before the step
 *
 * A death after the newest end of a step has its own step in any grain: its bytes count as kept.
 */
#ifndef MEMANA_OUTLIVED_H
#define MEMANA_OUTLIVED_H

#include <stddef.h>
#include <stdint.h>

#define OUTLIVED_STAYS UINT32_MAX /* value of `until`: alive at the end of the recording */
#define OUTLIVED_MOST (1u << 17)  /* rows, of 32 bytes each */
#define OUTLIVED_GROUPS 64u       /* least groups of steps */

extern size_t outlived_most; /* OUTLIVED_MOST; tests lower it */

struct outlived_row {
	uint32_t site, step, until; /* site 0: empty row */
	uint64_t bytes, count;
};

/* Zeroed: no rows. */
struct outlived {
	struct outlived_row *row; /* a hash table */
	size_t room, rows;
	size_t due;     /* rows at which the table is made smaller; 0: before the first */
	uint32_t grain; /* a power of two; 0: 1 */
};

static inline uint32_t outlived_grain(const struct outlived *outlived)
{
	return outlived->grain ? outlived->grain : 1;
}

/* Adds the allocations of `more`, whose site is not 0. `ended`: the newest step that ended, 0: none. 0 or -MT_E_MEMORY. */
int outlived_add(struct outlived *outlived, const struct outlived_row *more, uint32_t ended);

/* Takes back the newest allocation that was added to such a row. */
void outlived_forget(struct outlived *outlived, uint32_t site, uint32_t step, uint32_t until, uint64_t bytes);

/* Gives sites new numbers: number[old] is the new one. Returns 0 or -MT_E_MEMORY: nothing has changed. */
int outlived_reorder(struct outlived *outlived, const uint32_t *number);

/* After the last row: leaves out rows that do not count, and chooses the grain. The result depends on no order. 0 or -MT_E_MEMORY. */
int outlived_settle(struct outlived *outlived, uint32_t ended);

/* The rows by site, step and end, in an array of `rows`. The caller frees. NULL: out of memory, or there are none. */
struct outlived_row *outlived_sorted(const struct outlived *outlived);

void outlived_release(struct outlived *outlived);

#endif
