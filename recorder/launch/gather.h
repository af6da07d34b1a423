/*
 * gather.h - after the command: waits for the collectors of the run, takes their results and recovers left rings.
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
	size_t running; /* number of traces that are still being written */
	char **written; /* paths of these traces, as far as known */
	size_t written_count;
	size_t foreign; /* number of other users' files and folders that may belong to the run */
	size_t failed;  /* number of unrecorded processes whose reason was printed */
};

/*
 * Waits until the collectors of ended processes have closed their traces: while they make progress, and until one of
 * `signals` comes (blocked by the caller). Then folds rings of dead collectors, and looks for traces outside of the
 * run's folder (strays.c; `pattern`: of -o). `since`: begin of the command by CLOCK_REALTIME_COARSE, the clock of file
 * systems. Prints a line for each ring that stays, for each process that could not be recorded and, if nothing was
 * recorded, for each process that goes on.
 */
void gather(struct gathered *gathered, const char *run_dir, const char *pattern, struct timespec since,
	    const sigset_t *signals);
void gather_release(struct gathered *gathered);

/* Number of traces, those still being written included. */
size_t gather_traces(const struct gathered *gathered);

/* If there are several traces, renames the one with the plain name. `pattern`: of -o. */
void gather_rename(struct gathered *gathered, const char *pattern, const char *run_dir);

/*
 * Finds the traces of a run that its folder does not show.
 *
 * The folder of a run (rundir.h) lies where the launcher found room. Some processes cannot write there: those with
 * their own /dev/shm, those that changed their user, and those for whose result there was no room. But each trace names
 * its run in its options, and so does the environment of each process.
 */

/* One trace. */
struct stray {
	struct run_result result; /* from the trace; pid is that of its own namespace */
	int is_written;           /* 1: a collector is writing it; `result` has only its pid and path */
	int is_foreign; /* 1: another user's file or folder, which was not opened; `result` has only its path */
};

/*
 * Calls `visit` with each trace of the run `run_dir` that has changed since `since`. Searches the folder of `pattern`
 * (of -o), unless its name depends on the process, and the folders of collectors that cannot write there
 * (output_fallback). Files for which `is_known` returns 1 are not opened; files that are no traces are skipped. `stray`
 * is valid during the call.
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
 * Calls `visit` with each process of the run that still runs, among those whose environment can be read. `name`: its
 * command.
 */
void strays_processes(const char *run_dir, void (*visit)(void *context, long pid, const char *name), void *context);

/* ---- processes in /proc ---- */

#define PROC_FILE_MAX (1u << 20) /* most bytes of an environment that are read */
#define PROC_NAME_MAX 64

/* Calls `visit` with the pid of each process except this one. */
void proc_each(void (*visit)(void *context, long pid), void *context);

/* The process id that `text` is, 1 to 999999999; 0: it is none. */
long proc_number(const char *text);

/* Reads /proc/PID/FILE into `text`, which ends in NUL. Returns the number of bytes, 0 after an error. */
size_t proc_read(long pid, const char *file, char *text, size_t size);

/* Gets the name of the process's command; "": it is gone. */
void proc_name(long pid, char *name, size_t size);

/* 1: this environment is that of a process of the run. */
int proc_names_run(const char *environment, size_t size, const char *run_dir);

/*
 * dropped.c - finds Python programs below this process that lack the agent, because a launcher dropped the environment.
 *
 * /proc shows them only while they run. The pauses between looks double, so a process is seen if it runs for as long as
 * all the time before its start.
 */

#define DROPPED_MAX 4 /* number of processes that are named */

struct dropped_process {
	long pid, parent; /* parent: nearest ancestor with the environment; 0: the command itself had it */
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

/* Looks if it is time. */
void dropped_look(struct dropped *dropped);

/* The time until the next look. */
struct timespec dropped_pause(const struct dropped *dropped);

/* Prints a line for each: for all if nothing was recorded, else for ranks. Returns the number of lines. */
size_t dropped_say(const struct dropped *dropped, int nothing_recorded);

#endif
