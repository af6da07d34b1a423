/*
 * control.h - the page of wishes: `memrec start` and others write to it to control one process under `memrec --paused`,
 * and the process reports there.
 *
 *     memrec start|stop|mark ──wish, marks──> page <──polls── hooks of the agent: begin
 *     memrec status <──state, figures─────────  ^   <──polls── collector: end, marks
 *
 * The file RUN_DIR/PID.TICKS.control belongs to the process's user alone. TICKS is the start of the process, so a later
 * process with the same number has another page. The agent makes the page when the process first takes memory; `memrec
 * start` makes it for a process before that. After exec, the next program uses the page of the one before.
 *
 * The page may be hostile: a wish is only a number, and each text ends within its room.
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
	CONTROL_ENDED, /* the trace is closed; the next recording may begin */
	CONTROL_FAILED /* the agent could not begin; the note PID.failed has the reason */
};

struct control {
	char magic[8];
	/* Written by memrec under the file's lock (flock). */
	_Atomic uint32_t wish;    /* number of changes of mind; odd: record, even: do not */
	_Atomic uint32_t steps;   /* number of steps to record; 0: no limit */
	_Atomic uint32_t at_once; /* 1: a wish to end does not wait for the running step */
	_Atomic uint32_t marks;   /* number of texts added so far */
	char mark[CONTROL_MARKS][CONTROL_TEXT];
	/* Written by the agent. */
	_Atomic uint32_t met __attribute__((aligned(64))); /* newest wish that was met */
	char ring[MEMREC_PATH_MAX];
	/* Written by the agent and the collector in turn. */
	_Atomic uint32_t state; /* enum control_state */
	/* Written by the collector. */
	_Atomic uint32_t taken; /* number of texts that are in the trace or came outside of a recording */
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
 * Maps the page at `path`; `create` 1: makes a missing one. A link, another user's file or a file of another size is
 * refused. A forked child does not have the mapping. *page stays mapped until the process ends. 0, -MT_E_SYSTEM
 * (errno), -MT_E_MAGIC, -MT_E_LIMIT (the limit on file sizes is too low).
 */
int control_map(struct control **page, const char *path, int create);

#endif
