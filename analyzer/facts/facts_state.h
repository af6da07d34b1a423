/* facts_state.h - writes and reads the results of a pass over one trace. */
#ifndef MEMANA_FACTS_STATE_H
#define MEMANA_FACTS_STATE_H

#include "engine/analysis.h"
#include "facts_io.h"

/*
 * Writing: `analysis` is of one process, after analysis_pass_end. Reading: `analysis` is after analysis_begin and has all definitions; the caller
 * goes on with analysis_settle, and keeps the bytes as long as the analysis. All ids and indexes that are read are checked. Errors: io->error.
 */
void facts_state(struct facts_io *io, struct analysis *analysis);

#endif
