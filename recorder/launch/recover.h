/*
 * recover.h - what to do with a ring whose collector is gone: fold it into a complete trace.
 */
#ifndef MEMREC_RECOVER_H
#define MEMREC_RECOVER_H

#include "run/rundir.h"

/*
 * For a ring of one's own run, at `ring_path` (absolute): folds it into the trace its link names, which is replaced at once
 * (rename) and only when all went well; without one, a trace is made under the name the process would have got. The
 * ring is removed. 0 and the result; -MT_E_BUSY: its process still runs, or a collector has it; or what went wrong, with
 * everything as it was.
 */
int recover_ring(const char *ring_path, struct run_result *result);

/*
 * `memrec recover [-o FILE] FILE`: returns the exit status. FILE may be a stranger's: what is written is FILE itself (a
 * trace), a file beside it (a ring), or what -o says, never a path that FILE holds.
 */
int recover_main(int argc, char **argv);

#endif
