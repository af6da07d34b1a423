/* facts_state.h - what a pass over one trace has found, as bytes and back. */
#ifndef MEMANA_FACTS_STATE_H
#define MEMANA_FACTS_STATE_H

#include "engine/analysis.h"
#include "facts_io.h"

/*
 * Writing: the analysis of one process after analysis_pass_end. Reading: into one after analysis_begin; the caller goes on with
 * analysis_settle, and the bytes live as long as the analysis. The definitions are complete. Everything that is read is within
 * bounds: of ids, of tables and of each other. See io->error.
 */
void facts_state(struct facts_io *io, struct analysis *analysis);

#endif
