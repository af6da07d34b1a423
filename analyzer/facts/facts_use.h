/* facts_use.h - writes and reads the figures of phases (rows/phase_use.h). */
#ifndef MEMANA_FACTS_USE_H
#define MEMANA_FACTS_USE_H

#include "facts_io.h"
#include "facts_join.h"
#include "rows/phase_use.h"

void facts_use_write(struct facts_io *io, const struct phase_use_list *list);

/*
 * Reads the figures and adds them to `list`, with numbers and times of the run by `place`; NULL: skips their bytes. The caller frees the rows, also
 * after an error.
 */
void facts_use_read(struct facts_io *io, const struct facts_place *place, struct phase_use_list *list);

#endif
