/*
 * gather.h - after the command: wait for the collectors of the run, take their results, look after what they left.
 */
#ifndef MEMREC_GATHER_H
#define MEMREC_GATHER_H

#include <signal.h>
#include <stdint.h>
#include <time.h>
#include "run/rundir.h"

struct gathered {
	struct run_result *results; /* by rank, then pid */
	size_t count;
	size_t running; /* traces that are still being written */
	char **written; /* their paths, as far as they are known */
	size_t written_count;
	size_t foreign; /* files and folders of other users that may be of the run */
	size_t failed;  /* processes of which a line has said why they were not recorded */
};

/*
 * Waits until the collectors whose process has ended have closed their traces: as long as they get on, and until one
 * of `signals` (blocked by the caller) says to stop waiting. Then folds in what dead collectors left, looks for traces
 * that did not come by the folder of the run (strays.c; `pattern`: of -o). `since` is the begin of the command by
 * CLOCK_REALTIME_COARSE, the clock of file systems. Says a line for each ring that stays, for each process that could
 * not be recorded, and, when nothing was, for each that goes on.
 */
void gather(struct gathered *gathered, const char *run_dir, const char *pattern, struct timespec since,
	    const sigset_t *signals);
void gather_release(struct gathered *gathered);

/* How many traces there are, those that are still being written among them. */
size_t gather_traces(const struct gathered *gathered);

/* If several traces were written, the one with the plain name gets one of its own. `pattern`: of -o. */
void gather_rename(struct gathered *gathered, const char *pattern, const char *run_dir);

/*
 * The traces of a run that its folder does not tell: each says its own run.
 *
 * The folder of a run (rundir.h) lies where the launcher found room. A process with a /dev/shm of its own, one that has
 * another user by now, one for whose result there was no room: none of them can write there. But every trace names the
 * run that it belongs to, in the options that it was recorded with, and so does the environment of every process.
 */

/* One trace. */
struct stray {
	struct run_result result; /* filled in from the trace; pid is the one that it saw, maybe another namespace's */
	int is_written;           /* somebody is still writing it: `result` has its pid and its path alone */
	int is_foreign; /* another user's file or folder, which nobody looked into: `result` has its path alone */
};

/*
 * Calls `visit` with each trace of the run `run_dir` that has changed since `since`, in the folder that `pattern` (of -o)
 * names, unless its name depends on the process, and in those where collectors go when they cannot write there
 * (output_fallback). Files for which `is_known` gives 1 are not opened. `stray` is the function's until it returns. Files that are no traces are passed over. Files
 * and folders of other users are not opened: `visit` gets the path of one that has such a name and has changed since.
 */
void strays_each(const char *pattern, const char *run_dir, struct timespec since,
		 int (*is_known)(void *context, const char *path),
		 void (*visit)(void *context, const struct stray *stray), void *context);

/* How many collectors of the run are at work on rings that are not in its folder. */
size_t strays_collectors(const char *run_dir);

/*
 * Calls `visit` with each process, of those whose environment can be read, that has been started for the run and goes on.
 * `name`: its command.
 */
void strays_processes(const char *run_dir, void (*visit)(void *context, long pid, const char *name), void *context);

/* Processes as /proc has them. */

#define PROC_FILE_MAX (1u << 20) /* bytes of an environment that are looked at */
#define PROC_NAME_MAX 64

/* Calls `visit` with the pid of each process but this one. */
void proc_each(void (*visit)(void *context, long pid), void *context);

/* The process id that `text` is, 1 to 999999999; 0: it is none. */
long proc_number(const char *text);

/* Reads /proc/PID/FILE into `text`, which ends in NUL. The number of bytes, 0 also where it cannot be read. */
size_t proc_read(long pid, const char *file, char *text, size_t size);

/* The name of its command; "": it is gone. */
void proc_name(long pid, char *name, size_t size);

/* 1: an environment of that many bytes is that of a process started for the run. */
int proc_names_run(const char *environment, size_t size, const char *run_dir);

/*
 * dropped.c - Python programs below this process without the agent in them, because a launcher dropped the environment.
 *
 * /proc knows them only while they run. The pauses between looks double: a process is seen that runs as long as all
 * the time before it.
 */

#define DROPPED_MAX 4 /* processes that are named */

struct dropped_process {
	long pid, parent; /* parent: the nearest one that has the environment; 0: the command itself had it */
	char name[PROC_NAME_MAX], parent_name[PROC_NAME_MAX];
	int is_rank; /* RANK is set: a part of the job, no helper */
};

struct dropped {
	const char *run_dir; /* not ours */
	uint64_t pause_ms, due_ms;
	struct dropped_process process[DROPPED_MAX];
	size_t count;
};

void dropped_begin(struct dropped *dropped, const char *run_dir);

/* Looks, when it is time. */
void dropped_look(struct dropped *dropped);

/* The time until the next look. */
struct timespec dropped_pause(const struct dropped *dropped);

/* Says a line for each: of all when nothing was recorded, else of ranks. The number of lines. */
size_t dropped_say(const struct dropped *dropped, int nothing_recorded);

#endif
