/*
 * runs.h - how a process names its run (trace-v1.md, "Runs"): words NAME=ID, one for each ID that the process knows.
 *
 * The recorder takes the IDs from the environment of the process. The analyzer compares them with those of other
 * traces.
 */
#ifndef MEMTRACE_RUNS_H
#define MEMTRACE_RUNS_H

#define MT_RUN_MAX 512u   /* bytes of all words, with blanks between and NUL */
#define MT_RUN_ID_MAX 96u /* a longer ID is cut */

/*
 * X(name, variable, second, unique). variable: environment variable with the ID. second: variable that is added behind
 * a dot; "": none. unique 1: no other run has the same ID. unique 0: a later run can have the same ID (each Ray cluster
 * counts from 1), so the ID joins only processes that overlap in time. The launcher's own ID comes with the options and
 * has no variable.
 */
#define MT_RUN_LIST(X)                                 \
	X("slurm", "SLURM_JOB_ID", "SLURM_STEP_ID", 1) \
	X("master", "MASTER_ADDR", "MASTER_PORT", 0)   \
	X("pmix", "PMIX_NAMESPACE", "", 0)             \
	X("elastic", "TORCHELASTIC_RUN_ID", "", 0)     \
	X("ray", "RAY_JOB_ID", "", 0)                  \
	X("launch", "", "", 1)

#endif
