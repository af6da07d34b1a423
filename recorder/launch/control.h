/*
 * control.h - finds and controls processes under `memrec --paused`, for memrec start, stop, mark and status.
 *
 * /proc shows these processes: the page of wishes (shared/control.h) is among their mappings, or their environment has
 * the options of a paused run. A user may read both for the user's own processes. The page of a process in another
 * mount or pid namespace lies below /proc/PID/root. The name of the page has the pid of that namespace.
 */
#ifndef MEMREC_LAUNCH_CONTROL_H
#define MEMREC_LAUNCH_CONTROL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "gather.h"
#include "shared/control.h"

enum prepared_kind {
	PREPARED_PAGE,      /* the process has a page: `page` */
	PREPARED_UNTOUCHED, /* the process took no memory and has no page; `path`: path for a page, or "" */
	PREPARED_NOT,       /* memrec did not start the process */
	PREPARED_RECORDED,  /* memrec records the process from start to end */
	PREPARED_FOREIGN,   /* the process belongs to another user, `uid` */
	PREPARED_HIDDEN,    /* the process cannot be read (errno in `error`) */
	PREPARED_GONE
};

struct prepared {
	long pid; /* pid in memrec's namespace */
	enum prepared_kind kind;
	uid_t uid;
	int error;
	struct control *page;
	char path[MEMREC_PATH_MAX]; /* path of the page, below /proc/PID/root */
	char name[PROC_NAME_MAX];
};

/* Fills in *prepared for one process. Its page stays mapped until memrec ends. */
void prepared_look(struct prepared *prepared, long pid);

/*
 * Finds all processes of this user with kind PREPARED_PAGE or PREPARED_UNTOUCHED, in the order of their pids. The
 * caller frees *all. Returns 0 or -MT_E_MEMORY.
 */
int prepared_all(struct prepared **all, size_t *count);

/* Makes the page of a PREPARED_UNTOUCHED process. Returns 0 or an error of control_map. */
int prepared_touch(struct prepared *prepared);

/* 1: the process runs. */
int prepared_runs(const struct prepared *prepared);

/*
 * Starts a collector if the one of the process's ring was killed, and process and memrec have the same root directory.
 * Call this function under the page's lock.
 */
void prepared_revive(const struct prepared *prepared);

/*
 * Locks the page against other controllers, and waits for them at most `ms` milliseconds. Returns a descriptor, and the
 * caller unlocks the page by closing it; or -MT_E_BUSY, -MT_E_SYSTEM.
 */
int prepared_lock(const struct prepared *prepared, int ms);

#endif
