/*
 * output.h - which file a process writes to.
 *
 *   -o trace.zst                   the first process of a run: trace.zst      with RANK=3: trace.rank3.zst
 *                                  further ones: trace.PID.zst, then trace.PID.2.zst and so on
 *                                  the second recording of a process (memrec start): trace.2.zst, trace.PID.2.zst
 *   -o run-%h/%r.zst               as it says; a second process with that name: run-node7/3.PID.zst
 *                                  (a slash, and a dot in front, of the host's name: an underscore)
 *
 * Without a launcher nobody knows who is first, so the name always tells the rank or the pid.
 */
#ifndef MEMREC_OUTPUT_H
#define MEMREC_OUTPUT_H

#include <stdint.h>
#include "shared/options.h"

/* The process that asks for a name. */
struct output_owner {
	const char *run_dir; /* run folder of the launcher, "": started without one */
	const char *ring;    /* path of its ring: who asks again gets what it had */
	const char *host;
	uint32_t pid;
	int32_t rank;        /* -1: none */
	const char *boot_id; /* boot id of the machine as it runs; NULL: not known */
	uint32_t recording;  /* its number in the process, from 1; the second one's name ends in .2 */
};

/* 0, or -MT_E_ARGUMENT: a % that is not %p, %r, %h or %%. */
int output_check(const char *pattern);

/* Writes the directory part of `path` to `dir` (MEMREC_PATH_MAX bytes): "/" and "." included. */
void output_dir(char *dir, const char *path);

/*
 * The `attempt`th name (from 0) that `owner` may use; `path` has MEMREC_PATH_MAX bytes. *plain: 1 when it is the name
 * that one trace alone gets. 0 or -MT_E_LIMIT: too long.
 */
int output_name(char *path, const char *pattern, const struct output_owner *owner, unsigned attempt, int *plain);

/*
 * Takes the first of these names that no other process of the run has taken, and whose file nobody is writing: a trace
 * is locked (flock) as long as it is written. An older file of that name becomes FILE.old; but where no launcher keeps
 * account, the trace of an earlier program of the same process (exec) keeps its name. A descriptor of the new,
 * empty file, which holds its lock until the caller closes it; or -MT_E_LIMIT, -MT_E_SYSTEM (errno).
 */
int output_claim(char *path, const char *pattern, const struct output_owner *owner, int *plain);

/*
 * For a process that may not write where `pattern` says: the same name with its pid, in a new folder of its own,
 * OUTPUT_FALLBACK_PREFIX and something, below output_fallback(). As output_claim.
 */
int output_claim_fallback(char *path, const char *pattern, const struct output_owner *owner);

#define OUTPUT_FALLBACK_PREFIX "memrec-trace."

/* $TMPDIR or /tmp: a folder in which everybody may make others. */
const char *output_fallback(void);

/* Makes `pattern` (MEMREC_PATH_MAX bytes) tell processes apart by their pid, if it does not, and there is room. */
void output_add_pid(char *pattern);

/* Keeps what is there as FILE.old. 0 (also when nothing is) or -MT_E_SYSTEM. */
int output_keep_old(const char *path);

/* Undoes output_keep_old: the older file gets its name back, if the name is free. */
void output_restore_old(const char *path);

#endif
