/*
 * control.h - the page by which a user's wishes reach one process that runs under `memrec --paused`, and how it does.
 *
 *     memrec start|stop|mark ──wish, marks──> page <──polls── hooks of the agent: begin
 *     memrec status <──state, figures─────────  ^   <──polls── collector: end, marks
 *
 * A file RUN_DIR/PID.TICKS.control, which belongs to the process's user alone. Its name has the start of the process, so
 * a later process of the same number has another one. The agent makes it when the process first takes memory; `memrec start`
 * makes it for a process that has not yet. A program that follows by exec finds the page of the one before.
 *
 * The file is input like any other: a wish is a number, texts end within their room.
 */
#ifndef MEMREC_CONTROL_H
#define MEMREC_CONTROL_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include "options.h"

#define CONTROL_SUFFIX ".control"
#define CONTROL_MAGIC "MCTRL\0\0\1"
#define CONTROL_MARKS 8u
#define CONTROL_TEXT 256u /* bytes of a mark with its NUL */

enum control_state {
	CONTROL_AWAITED, /* the process has not come by yet */
	CONTROL_PAUSED,
	CONTROL_RECORDING,
	CONTROL_ENDED, /* the recording is whole; the next one may begin */
	CONTROL_FAILED /* the agent could not begin; a note PID.failed says why */
};

struct control {
	char magic[8];
	/* Written by memrec under the file's lock (flock). */
	_Atomic uint32_t wish;    /* number of changes of mind; odd: record, even: do not */
	_Atomic uint32_t steps;   /* number of steps to record; 0: no limit */
	_Atomic uint32_t at_once; /* 1: a wish to end does not wait for the running step */
	_Atomic uint32_t marks;   /* texts put in so far */
	char mark[CONTROL_MARKS][CONTROL_TEXT];
	/* Written by the agent. */
	_Atomic uint32_t met __attribute__((aligned(64))); /* wish that it has acted on */
	char ring[MEMREC_PATH_MAX];
	/* Written by agent and collector, one after the other. */
	_Atomic uint32_t state; /* enum control_state */
	/* Written by the collector. */
	_Atomic uint32_t taken; /* texts that are in the trace, or that no recording wanted */
	_Atomic uint64_t events, step;
	char trace[MEMREC_PATH_MAX]; /* written before the state */
};

static inline int control_records(uint32_t wish)
{
	return (int)(wish & 1);
}

/* DIR/PID.TICKS.control. 0 or -MT_E_LIMIT. */
int control_name(char *path, size_t size, const char *dir, uint64_t pid, uint64_t start_ticks);

/*
 * Maps the page at `path`; `create` 1: makes it where it is missing. A file that is not the caller's own, a link, or one of
 * another size is refused. The page is not in forked children. *page stays mapped to the end of the process.
 * 0, -MT_E_SYSTEM (errno), -MT_E_MAGIC, -MT_E_LIMIT (a limit on the size of files leaves no room).
 */
int control_map(struct control **page, const char *path, int create);

#endif
