/*
 * runs.h - how a process says which run it is of (trace-v1.md, "Runs"): words NAME=ID, as many as it knows.
 *
 * The recorder takes them from the environment of the process, the analyzer holds them against those of other traces.
 */
#ifndef MEMTRACE_RUNS_H
#define MEMTRACE_RUNS_H

#define MT_RUN_MAX 512u   /* bytes of all words, with blanks between and NUL */
#define MT_RUN_ID_MAX 96u /* a longer ID is cut */

/*
 * X(name, variable, second, unique). variable: of the environment, the ID; second: a variable that is added behind a dot ("":
 * none). unique 1: no other run ever has it; 0: it comes again (Ray counts anew in each cluster), and so means a run only
 * among processes that overlap in time. The launcher's own ID has no variable: it comes with the options.
 */
#define MT_RUN_LIST(X)                                 \
	X("slurm", "SLURM_JOB_ID", "SLURM_STEP_ID", 1) \
	X("master", "MASTER_ADDR", "MASTER_PORT", 0)   \
	X("pmix", "PMIX_NAMESPACE", "", 0)             \
	X("elastic", "TORCHELASTIC_RUN_ID", "", 0)     \
	X("ray", "RAY_JOB_ID", "", 0)                  \
	X("launch", "", "", 1)

#endif
