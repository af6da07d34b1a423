/*
 * output.h - the name and the file of a process's trace.
 *
 *   -o trace.zst                   the first process of a run: trace.zst      with RANK=3: trace.rank3.zst
 *                                  further processes: trace.PID.zst; if that is taken, trace.PID.2.zst
 *                                  the second recording of a process (memrec start): trace.2.zst, trace.PID.2.zst
 *   -o run-%h/%r.zst               run-node7/3.zst; a second process with this name: run-node7/3.PID.zst
 *                                  (in the host's name, "_" replaces a slash and a dot at the beginning)
 *
 * Without a launcher, the first process of a run is not known: the name always has the rank or the pid.
 */
#ifndef MEMREC_OUTPUT_H
#define MEMREC_OUTPUT_H

#include <stdint.h>
#include "shared/options.h"

/* The process that asks for a name. */
struct output_owner {
	const char *run_dir; /* folder of the run; "": no launcher */
	const char *ring;    /* path of the ring: the same ring gets the same name if it asks twice */
	const char *host;
	uint32_t pid;
	int32_t rank;        /* -1: no rank */
	const char *boot_id; /* boot id of the running machine; NULL: not known */
	uint32_t recording;  /* number of the recording in its process, from 1; ".2" is in the name of the second */
};

/* Checks a pattern. Returns 0, or -MT_E_ARGUMENT: it has a % that is not %p, %r, %h or %%. */
int output_check(const char *pattern);

/* Writes the directory part of `path` to `dir` (MEMREC_PATH_MAX bytes): "/" and "." included. */
void output_dir(char *dir, const char *path);

/*
 * Writes name number `attempt` (from 0) of `owner` to `path` (MEMREC_PATH_MAX bytes). *plain 1: the name has no rank
 * and no pid, as for the only trace of a run. Returns 0, or -MT_E_LIMIT: the name is too long.
 */
int output_name(char *path, const char *pattern, const struct output_owner *owner, unsigned attempt, int *plain);

/*
 * Takes the first of these names that no other process of the run has, and whose file no process writes: the writer of
 * a trace holds its lock (flock). An older file of this name becomes FILE.old. Without a launcher, the trace of an
 * earlier program of the same process (exec) keeps its name. Returns a descriptor of the new, empty file, which holds
 * the lock until the caller closes it; or -MT_E_LIMIT, -MT_E_SYSTEM (errno).
 */
int output_claim(char *path, const char *pattern, const struct output_owner *owner, int *plain);

/*
 * As output_claim, for a process that may not write to the folder of `pattern`. Makes a folder for the process below
 * output_fallback(): OUTPUT_FALLBACK_PREFIX and 6 letters. The trace in it has the name of `pattern` with rank or pid.
 */
int output_claim_fallback(char *path, const char *pattern, const struct output_owner *owner);

#define OUTPUT_FALLBACK_PREFIX "memrec-trace."

/* $TMPDIR or /tmp: a folder in which every user may make folders. */
const char *output_fallback(void);

/* Adds %p to `pattern` (MEMREC_PATH_MAX bytes), if `pattern` has none and there is room. */
void output_add_pid(char *pattern);

/* Renames the file at `path` to FILE.old. Returns 0 (also if there is no file) or -MT_E_SYSTEM. */
int output_keep_old(const char *path);

/* Undoes output_keep_old: renames FILE.old back, if the name is free. */
void output_restore_old(const char *path);

#endif
