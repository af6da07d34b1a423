/* facts_use.h - the figures of phases (rows/phase_use.h), as bytes and back. */
#ifndef MEMANA_FACTS_USE_H
#define MEMANA_FACTS_USE_H

#include "facts_io.h"
#include "facts_join.h"
#include "rows/phase_use.h"

void facts_use_write(struct facts_io *io, const struct phase_use_list *list);

/* Adds the figures, as of `place` in the run. `list` NULL: their bytes are skipped. The caller frees its rows, after an error, too. */
void facts_use_read(struct facts_io *io, const struct facts_place *place, struct phase_use_list *list);

#endif
