/*
 * rundir.h - the folder of one run: the rings of its processes, and the notes that agents, collectors and launcher
 * leave for each other.
 *
 *   memrec.Xq3k9Z/             locked (flock) by the launcher while the launcher lives
 *   ├── 4711.ring              made by the agent; locked by the collector while the collector lives
 *   ├── 4711.ring.trace ──>    symbolic link to the trace of the ring, made before the trace has an event
 *   ├── 4711.ring.done         result of the recording (struct run_result), written when the trace is closed
 *   ├── 4711.ring.2.done       result of the second recording (memrec start), with 4711.ring.2.trace; more may follow
 *   ├── 4711.81273.control     page of wishes of process 4711, which started at tick 81273 (shared/control.h)
 *   ├── 4712.failed            link with the reason why the agent of process 4712 could not begin (place.c)
 *   ├── 4713.unseen            link with the reason why driver calls are not recorded; .cpu, .torch: tensors
 *   ├── 4714.elsewhere ──>     link to a ring in another folder, because this one had no room; the result comes here
 *   ├── .screen/               links to the traces, for memana (launch/screen.h)
 *   └── name.9f1c22a0b1e4d377  link to a ring: the trace name with this hash is taken for the ring (output.c)
 *
 * A ring is removed when all its events are in a trace. The launcher or the last collector removes the folder.
 */
#ifndef MEMREC_RUNDIR_H
#define MEMREC_RUNDIR_H

#include <stddef.h>
#include <stdint.h>
#include "memtrace/event.h"
#include "memtrace/fold.h"
#include "memtrace/ring.h"
#include "shared/options.h"

/* The collector's report to the launcher. X(member, meaning): each number is a line "member=value" of the file. */
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
	char why[MT_SOURCE_COUNT][256]; /* reason why each source failed, or its note (`noted`); "": no reason */
	char trace[MEMREC_PATH_MAX];    /* path of the trace, stored as a link and not in the file; "": no trace */
};

/* Copies the figures of a summary into the result. */
void run_result_summary(struct run_result *result, const struct mt_fold_summary *summary);

/*
 * Makes a folder of mode 0700 in `ring_dir`. If `ring_dir` is NULL: in shared memory with enough room (shm_has_room),
 * else in `output_dir`. `path` gets its absolute name (MEMREC_PATH_MAX bytes). Returns 0 or -MT_E_SYSTEM (errno).
 */
int rundir_make(char *path, const char *ring_dir, const char *output_dir);

/* Opens and locks the folder. Returns a descriptor; -MT_E_BUSY: another process has the lock; -MT_E_SYSTEM. */
int rundir_lock(const char *path);

/*
 * Removes the notes and the folder of the run, if the folder has no ring and no process holds the lock. Other files and
 * the targets of links stay. The launcher calls this function after the release of its lock. A collector calls it after
 * its result is written. One of these calls succeeds.
 */
void rundir_clean(const char *path);

/*
 * Calls `visit` with the path of each ring of the run. `ring` 0: the ring is gone, and its result exists. Stops when
 * `visit` returns a value other than 0, and returns this value. -MT_E_SYSTEM: the folder cannot be read.
 */
int rundir_each(const char *path, int (*visit)(void *context, const char *ring_path, int ring), void *context);

/*
 * Opens and locks a ring. Returns a descriptor (close-on-exec); -MT_E_BUSY: a collector has the lock; -MT_E_SYSTEM
 * (errno), also if the ring is gone.
 */
int rundir_lock_ring(const char *ring_path);

/*
 * Reads the header of a ring and ends its texts with a NUL. Returns 0; -MT_E_MAGIC (also: the agent still makes the
 * ring), -MT_E_VERSION, -MT_E_TRUNCATED, -MT_E_SYSTEM.
 */
int rundir_read_header(const char *ring_path, struct ring_header *header);

/*
 * Returns the number of bytes that the collector has taken from a ring so far. 0: the collector took nothing, or the
 * ring cannot be read.
 */
uint64_t rundir_progress(const char *ring_path);

/* Calls `visit` with the pid and the text of each note with this suffix (options.h), and removes the note. */
void rundir_take_notes(const char *path, const char *suffix, void (*visit)(void *context, long pid, const char *why),
		       void *context);

/*
 * The link from a ring to its trace. Set: NULL removes the link; returns 0 or -MT_E_SYSTEM. Get: returns 1 and the
 * path, or 0 and "".
 */
int rundir_set_trace(const char *ring_path, const char *trace_path);
int rundir_get_trace(const char *ring_path, char *trace_path, size_t size);

/* As rundir_get_trace, for a caller that writes to the trace: a link of another user is ignored. */
int rundir_own_trace(const char *ring_path, char *trace_path, size_t size);

/* Opens a regular file for reading (close-on-exec) and refuses a link. Returns a descriptor or -1 (errno). */
int rundir_open_file(const char *path);

/*
 * Writes the result of a ring by rename, to the place where the launcher looks. Call it before the ring is removed.
 * `goes_on` 1: the ring stays for another recording, and the name of the result has the number of this recording.
 * The other function reads the result with its trace. Both return 0 or -MT_E_SYSTEM.
 */
int rundir_write_result(const char *ring_path, int goes_on, const struct run_result *result);
int rundir_read_result(const char *ring_path, struct run_result *result);

/* 1: all events of the ring are in a trace, or no trace was made. 0: the ring must stay for `memrec recover`. */
int rundir_is_spent(const struct run_result *result);

/* Removes the result of a ring. Removes the link to its trace if the ring is gone. */
void rundir_forget_ring(const char *ring_path);

/* Rings and traces have one owner: the process that holds their flock. */

/*
 * Opens a regular file for reading and writing (close-on-exec, plus `flags`), refuses a link, and locks the file.
 * Returns a descriptor; -MT_E_BUSY: another process has the lock; -MT_E_SYSTEM (errno; ENOENT also if another file has
 * the name by now).
 */
int filelock_open(const char *path, int flags);

#endif
