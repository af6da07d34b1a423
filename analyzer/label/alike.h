/*
 * alike.h - sites of one place in the code: their stacks differ only in the modules that the frames call. The layers of
 * a model are such sites. A rule that counts the allocations of a line counts all sites of the line.
 */
#ifndef MEMANA_ALIKE_H
#define MEMANA_ALIKE_H

#include <stdint.h>
#include "attribution.h"
#include "memtrace/defs.h"

/*
 * Sets `*plain`: for each stack node, the first node with the same frames, modules left out. `*plain` is NULL where the
 * process has no modules. Returns 0 or -MT_E_MEMORY. The caller frees `*plain`. Time and memory grow with the number of
 * nodes.
 */
int alike_stacks(uint32_t **plain, const struct mt_defs *defs);

/*
 * Sets `*first`: for each site, the first site that is alike. Such sites have equal phases, first opinions and sizes.
 * `plain` holds the result of alike_stacks for each process. Returns 0 or -MT_E_MEMORY. The caller frees `*first`.
 */
int alike_sites(uint32_t **first, const struct attribution *attribution, const uint32_t *const *plain);

#endif
