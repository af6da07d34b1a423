/*
 * live.h - recordings that run: whether a trace is still being written, and which are on this machine.
 *
 * Only looks: nothing here is locked, written or waited for, so no recording can notice it.
 */
#ifndef MEMANA_LIVE_H
#define MEMANA_LIVE_H

#include <stddef.h>
#include <stdint.h>
#include "memtrace/reader.h"
#include "memtrace/ring.h"

/*
 * Is the trace at `path`, whose process is `process`, still being written? 0 where it ends in an index; where its
 * ring can be seen, as long as the program or its collector lives. If it cannot (another machine or container, or the
 * recorder is long gone): 0, or where `patient`, until the file has been as it is for LIVE_QUIET seconds.
 */
int live_is_written(const char *path, const struct mt_process *process, int patient);
#define LIVE_QUIET 15

/* Opens the ring of this recording, and not of a later process that got its name; `header`: its head. -1: there is none. */
int live_open_ring(const struct mt_process *process, struct ring_header *header);

/* Traces that are being written on this machine by this user, by name. */
struct live_traces {
	char **path;
	uint32_t count;
};

/*
 * Looks through the folders of rings, in shared memory, in `folders` (such as that of a trace; may be none), and in the
 * working folder. 0 or -MT_E_MEMORY; release in any case.
 */
int live_find(struct live_traces *traces, const char *const *folders, uint32_t count);
void live_release(struct live_traces *traces);

#endif
