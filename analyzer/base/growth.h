/*
 * growth.h - tells what grows from what stays and from what is replaced. Pure arithmetic, tested on its own.
 *
 * The life of a program is cut into parts (steps, or the micro-batches of one step). For each part two figures of one
 * place are known: what it made there that is still alive at the end, and what it holds at the end of the part.
 *
 *                      made and kept        held
 *   weights            8 0 0 0 0 0          8 8 8 8 8 8     stays
 *   cache, replaced    0 0 0 0 0 3          3 3 3 3 3 3     the newest is always there
 *   the last 3 steps   0 0 0 3 3 3          3 6 9 9 9 9     was kept, but as much went
 *   retained           2 2 2 2 2 2          2 4 6 8 10 12   grows
 *
 * A place grows when it kept more than a threshold of at least GROWTH_PARTS parts in a row, the last part of all left
 * out (what is alive at its end may still go), and holds at least half of that more than before those parts.
 */
#ifndef MEMANA_GROWTH_H
#define MEMANA_GROWTH_H

#include <stdint.h>

#define GROWTH_PARTS 3

struct growth {
	uint32_t first, parts; /* the longest such run: its first part, from 0, and how many */
	uint64_t bytes;        /* kept of them */
};

/*
 * `kept` and `held` have `parts` figures, bytes. `held` NULL: what is held is not known, only what is kept counts.
 * 1: it grows, and `growth` says since when and by how much; 0: it does not.
 */
int growth_find(const uint64_t *kept, const uint64_t *held, uint32_t parts, uint64_t threshold, struct growth *growth);

#endif
