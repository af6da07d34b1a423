/*
 * gather.h - after the command: waits for the collectors of the run, takes their results, and recovers rings without a
 * collector.
 */
#ifndef MEMREC_GATHER_H
#define MEMREC_GATHER_H

#include <signal.h>
#include <stdint.h>
#include <time.h>
#include "run/rundir.h"

struct gathered {
	struct run_result *results; /* in the order of rank, pid and number of the recording */
	size_t count;
	size_t running; /* number of traces that are still being written */
	char **written; /* paths of these traces; a path is missing after a lack of memory */
	size_t written_count;
	size_t foreign; /* number of files and folders of other users that may belong to the run */
	size_t failed;  /* number of unrecorded processes whose reason was printed */
};

/*
 * Waits until the collectors of ended processes have closed their traces. Stops waiting when they make no progress, or
 * when one of `signals` comes (blocked by the caller). Then folds rings of dead collectors, and looks for traces
 * outside of the run's folder (strays.c). `pattern`: the pattern of -o. `since`: begin of the command by
 * CLOCK_REALTIME_COARSE, the clock of file systems. Prints a line for each ring that stays and for each process that
 * could not be recorded. If nothing was recorded, prints a line for each process that goes on. The caller calls
 * gather_release.
 */
void gather(struct gathered *gathered, const char *run_dir, const char *pattern, struct timespec since,
	    const sigset_t *signals);
void gather_release(struct gathered *gathered);

/* Number of traces, including traces that are still being written. */
size_t gather_traces(const struct gathered *gathered);

/* If several programs have traces, renames the trace with the plain name. `pattern`: the pattern of -o. */
void gather_rename(struct gathered *gathered, const char *pattern, const char *run_dir);

/*
 * strays.c - finds the traces of a run outside of the run's folder.
 *
 * Some processes cannot write to the folder of their run (rundir.h). Examples are a process with its own /dev/shm, a
 * process that changed its user, and a process for whose result there was no room. Each trace names its run in its
 * options, and the environment of each process does, too.
 */

/* One trace outside of the run's folder. */
struct stray {
	struct run_result result; /* figures from the trace; `pid` is the pid in the process's own namespace */
	int is_written;           /* 1: a collector still writes the trace; `result` has pid, rank and path alone */
	int is_foreign; /* 1: a file or folder of another user, which was not opened; `result` has the path alone */
};

/*
 * Calls `visit` with each trace of the run `run_dir` that has changed since `since`. Searches the folder of `pattern`
 * (-o), unless the folder's name has a %, and the folders of collectors that cannot write there (output_fallback). A
 * file for which `is_known` returns 1 is not opened. `stray` is valid during the call.
 *
 * Files and folders of other users are not opened. `visit` gets the path of one that has a trace's name and has changed
 * since `since`.
 */
void strays_each(const char *pattern, const char *run_dir, struct timespec since,
		 int (*is_known)(void *context, const char *path),
		 void (*visit)(void *context, const struct stray *stray), void *context);

/* Number of collectors of the run that work on rings outside of its folder. */
size_t strays_collectors(const char *run_dir);

/*
 * Calls `visit` with each process of the run that still runs and whose environment can be read. `name`: name of its
 * command.
 */
void strays_processes(const char *run_dir, void (*visit)(void *context, long pid, const char *name), void *context);

/* ---- processes in /proc ---- */

#define PROC_FILE_MAX (1u << 20) /* largest number of bytes that are read of an environment */
#define PROC_NAME_MAX 64

/* Calls `visit` with the pid of each process in /proc except memrec itself. */
void proc_each(void (*visit)(void *context, long pid), void *context);

/* Parses `text` as a process id, 1 to 999999999; 0: `text` is no process id. */
long proc_number(const char *text);

/*
 * Reads at most `size` - 1 bytes of /proc/PID/FILE into `text`, and adds a NUL. Returns their number; 0 after an error.
 */
size_t proc_read(long pid, const char *file, char *text, size_t size);

/* Gets the name of the process's command (`comm`); "": the process is gone. */
void proc_name(long pid, char *name, size_t size);

/* 1: the environment (`size` bytes, words that end in NUL) names the run in MEMREC_OPTIONS. */
int proc_names_run(const char *environment, size_t size, const char *run_dir);

/*
 * dropped.c - finds Python programs below this process that lack the agent, because a launcher dropped the environment.
 *
 * /proc shows a process only while it runs. The pauses between looks double. So a process is seen if it runs for as
 * long as the time from the command's start to its own.
 */

#define DROPPED_MAX 4 /* largest number of processes that are named */

struct dropped_process {
	long pid, parent; /* parent: nearest ancestor with the run's environment; 0: no ancestor has it */
	char name[PROC_NAME_MAX], parent_name[PROC_NAME_MAX];
	int is_rank; /* 1: RANK is set, so the process is a part of the job and no helper */
};

struct dropped {
	const char *run_dir;       /* text of the caller */
	uint64_t pause_ms, due_ms; /* pause between two looks; time of the next look */
	struct dropped_process process[DROPPED_MAX];
	size_t count;
};

void dropped_begin(struct dropped *dropped, const char *run_dir);

/* Looks at all processes if the next look is due. */
void dropped_look(struct dropped *dropped);

/* The time until the next look. */
struct timespec dropped_pause(const struct dropped *dropped);

/* Prints a line for each rank or, if nothing was recorded, for each process. Returns the number of lines. */
size_t dropped_say(const struct dropped *dropped, int nothing_recorded);

#endif
