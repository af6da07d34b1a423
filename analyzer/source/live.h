/*
 * live.h - recordings that run: whether a trace is still being written, and which are on this machine.
 *
 * The functions only read. They take no lock and never wait: a recording cannot notice them.
 */
#ifndef MEMANA_LIVE_H
#define MEMANA_LIVE_H

#include <stddef.h>
#include <stdint.h>
#include "memtrace/reader.h"
#include "memtrace/ring.h"

/*
 * Whether the trace at `path`, of `process`, is still being written. 0 if the trace ends in an index. If its ring is
 * visible: 1 as long as the program or its collector lives. If not (another machine or container, or the recorder ended
 * long ago): 0; with `patient`, 1 until the file has not changed for LIVE_QUIET seconds.
 */
int live_is_written(const char *path, const struct mt_process *process, int patient);
#define LIVE_QUIET 15

/*
 * Opens the ring of this recording, and not of a later process with the same ring name. Sets `header`. Returns a
 * descriptor, or -1: no such ring.
 */
int live_open_ring(const struct mt_process *process, struct ring_header *header);

/* Traces that are being written on this machine by this user, by name. */
struct live_traces {
	char **path;
	uint32_t count;
};

/*
 * Looks through the folders of rings: in shared memory, in `folders` (such as a trace's; may be empty), and in the
 * working folder. Returns 0 or -MT_E_MEMORY; the caller releases `traces` in any case.
 */
int live_find(struct live_traces *traces, const char *const *folders, uint32_t count);
void live_release(struct live_traces *traces);

#endif
