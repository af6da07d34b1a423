/*
 * alike.h - sites of one place in the code: their stacks differ only in the modules that the frames call. The layers of a model
 * are such sites. A rule that counts how often a line allocates counts all of them.
 */
#ifndef MEMANA_ALIKE_H
#define MEMANA_ALIKE_H

#include <stdint.h>
#include "attribution.h"
#include "memtrace/defs.h"

/*
 * Sets `*plain`: by stack node, the first node with the same frames, modules left out. NULL where the process has no modules.
 * The caller frees it. 0 or -MT_E_MEMORY. Time and memory: of the nodes.
 */
int alike_stacks(uint32_t **plain, const struct mt_defs *defs);

/*
 * Sets `*first`: by site, the first of those alike; their phases, first opinions and sizes are the same, too. `plain`: by
 * process, as above. The caller frees it. 0 or -MT_E_MEMORY.
 */
int alike_sites(uint32_t **first, const struct attribution *attribution, const uint32_t *const *plain);

#endif
