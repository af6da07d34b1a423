/*
 * recover.h - what to do with a ring whose collector is gone: fold it into a complete trace.
 */
#ifndef MEMREC_RECOVER_H
#define MEMREC_RECOVER_H

#include "rundir.h"

/*
 * Folds the ring at `ring_path` (absolute) into its trace, which is replaced at once (rename) and only when all went
 * well; without one, a trace is made under the name the process would have got. `trace_path` says where the trace
 * is; NULL: where the ring's link points. The ring is removed. 0 and the result; -MT_E_BUSY: its process still
 * runs, or a collector has it; or what went wrong, with everything as it was.
 */
int recover_ring(const char *ring_path, const char *trace_path, struct run_result *result);

/* `memrec recover FILE`: returns the exit status. */
int recover_main(int argc, char **argv);

#endif
