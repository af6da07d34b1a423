/*
 * rundir.h - the folder of one run: the rings of its processes, and the notes that agents, collectors and launcher
 * leave for each other.
 *
 *   memrec.Xq3k9Z/             locked (flock) by the launcher as long as it lives
 *   ├── 4711.ring              made by the agent; locked by its collector as long as that lives
 *   ├── 4711.ring.trace ──>    symbolic link to the trace that the ring goes into, there before the first event is
 *   ├── 4711.ring.done         what came of it (struct run_result), written when the trace is closed
 *   ├── 4711.ring.2.done       what came of its second recording, beside 4711.ring.2.trace; more follow (memrec start)
 *   ├── 4711.81273.control     page of wishes of process 4711, which started at that tick (shared/control.h)
 *   ├── 4712.failed            link that says why the agent of that process could not begin (place.c)
 *   ├── 4713.unseen            link that says why driver calls are not seen in that process; .cpu, .torch: why tensors
 *   ├── 4714.elsewhere ──>     its ring, for which there was no room here; its result comes here all the same
 *   ├── .screen/               links to the traces, for memana (launch/screen.h)
 *   └── name.9f1c22a0b1e4d377  link: the name with that hash is the trace of that ring (output.c)
 *
 * A ring is removed when all its events are in a trace. The last of launcher and collectors removes the folder.
 */
#ifndef MEMREC_RUNDIR_H
#define MEMREC_RUNDIR_H

#include <stddef.h>
#include <stdint.h>
#include "memtrace/event.h"
#include "memtrace/fold.h"
#include "memtrace/ring.h"
#include "shared/options.h"

/* The collector's report to the launcher. Numbers: X(member, meaning) - each is a line "member=value" of the file. */
#define RUN_RESULT_LIST(X)                                                  \
	X(pid, "of the process")                                            \
	X(rank, "its RANK, -1: none")                                       \
	X(recording, "number of the recording in its process, from 1")      \
	X(plain, "1: its trace has the name that one trace alone gets")     \
	X(error, "0, or the -MT_E_x that kept events out of the trace")     \
	X(system_error, "errno to it")                                      \
	X(events, "recorded")                                               \
	X(steps, "ended")                                                   \
	X(lost, "events")                                                   \
	X(bytes, "of the trace")                                            \
	X(peak_bytes, "most that was held of one device")                   \
	X(ooms, "requests that failed for want of memory")                  \
	X(survived, "refusals of the driver that led to no failure")        \
	X(cut, "of the events, let go (--keep)")                            \
	X(keep_error, "0, or the -MT_E_x that kept some from being let go") \
	X(noted, "bits (1 << enum mt_source) of sources that work, and have a `why` all the same")

#define RUNDIR_SCREEN ".screen"

struct run_result {
#define RUN_RESULT_MEMBER(member, meaning) int64_t member;
	RUN_RESULT_LIST(RUN_RESULT_MEMBER)
#undef RUN_RESULT_MEMBER
	char why[MT_SOURCE_COUNT][256]; /* reasons of failed sources; "": not failed; see noted */
	char trace[MEMREC_PATH_MAX];    /* "": no trace was made; kept as the link, not in the file */
};

/* Takes over the figures of a summary. */
void run_result_summary(struct run_result *result, const struct mt_fold_summary *summary);

/*
 * Makes a folder of mode 0700: in `ring_dir` if given, else in shared memory with enough room (shm_has_room), else in
 * `output_dir`. `path` gets its absolute name (MEMREC_PATH_MAX bytes). 0 or -MT_E_SYSTEM (errno).
 */
int rundir_make(char *path, const char *ring_dir, const char *output_dir);

/* Opens and locks the folder. Returns a descriptor; -MT_E_BUSY: another process has it; -MT_E_SYSTEM. */
int rundir_lock(const char *path);

/*
 * Removes the notes and the folder of the run, if no ring is left and no process holds the lock. Other files stay, and
 * so do the targets of links. The launcher calls it after releasing its lock, a collector after writing its result, so
 * one of them succeeds.
 */
void rundir_clean(const char *path);

/*
 * Calls `visit` with the path of each ring of the run. `ring` 0: the ring is gone and has left a result. Stops at the
 * first result of `visit` other than 0 and returns it; -MT_E_SYSTEM: the folder cannot be read.
 */
int rundir_each(const char *path, int (*visit)(void *context, const char *ring_path, int ring), void *context);

/*
 * Opens and locks a ring. Returns a descriptor (close-on-exec); -MT_E_BUSY: a collector has it; -MT_E_SYSTEM, also if
 * it is gone.
 */
int rundir_lock_ring(const char *ring_path);

/*
 * Reads the head of a ring. 0; -MT_E_MAGIC (also: not finished yet), -MT_E_VERSION, -MT_E_TRUNCATED, -MT_E_SYSTEM.
 * Texts then end in NUL, also those of a damaged file.
 */
int rundir_read_header(const char *ring_path, struct ring_header *header);

/*
 * Returns the bytes that the collector has taken from a ring so far, which grow while it makes progress. 0: the ring is
 * gone.
 */
uint64_t rundir_progress(const char *ring_path);

/* Calls `visit` with the pid and text of each note of that suffix (options.h), and removes the note. */
void rundir_take_notes(const char *path, const char *suffix, void (*visit)(void *context, long pid, const char *why),
		       void *context);

/* The trace of a ring. Set: NULL removes it; 0 or -MT_E_SYSTEM. Get: 1 and the path, or 0 and "". */
int rundir_set_trace(const char *ring_path, const char *trace_path);
int rundir_get_trace(const char *ring_path, char *trace_path, size_t size);

/* As rundir_get_trace, for a caller that writes to the trace: a link of another user counts as none. */
int rundir_own_trace(const char *ring_path, char *trace_path, size_t size);

/* Opens a regular file for reading (close-on-exec); a link is refused. -1 (errno). */
int rundir_open_file(const char *path);

/*
 * The result of a ring. Written by rename, where the launcher looks for it, before the ring is removed; read with its
 * trace. `goes_on` 1: the ring stays for another recording, and the result gets its own name. 0 or -MT_E_SYSTEM.
 */
int rundir_write_result(const char *ring_path, int goes_on, const struct run_result *result);
int rundir_read_result(const char *ring_path, struct run_result *result);

/* 1: all of the ring is in a trace or cannot be saved. Otherwise the ring stays for `memrec recover`. */
int rundir_is_spent(const struct run_result *result);

/* Removes the result and, when the ring is gone, the link. */
void rundir_forget_ring(const char *ring_path);

/* Files with one owner, the holder of their flock: rings and traces. */

/*
 * Opens (read and write, close-on-exec, no symbolic link, plus `flags`) and locks. Returns a descriptor; -MT_E_BUSY:
 * another process has it; -MT_E_SYSTEM (errno; ENOENT also if the file lost its name meanwhile).
 */
int filelock_open(const char *path, int flags);

#endif
