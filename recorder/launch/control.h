/*
 * control.h - finds and controls processes under `memrec --paused`, for memrec start, stop, mark and status.
 *
 * The kernel shows these processes: the page of wishes (shared/control.h) is among their mappings, or their environment
 * has the options of a paused run. Both need only the user's own rights. A process in another mount or pid namespace is
 * reached through /proc/PID/root; its page has its number in that namespace.
 */
#ifndef MEMREC_LAUNCH_CONTROL_H
#define MEMREC_LAUNCH_CONTROL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "gather.h"
#include "shared/control.h"

enum prepared_kind {
	PREPARED_PAGE,      /* has `page` */
	PREPARED_UNTOUCHED, /* no memory taken yet, and no page; `path`: place for a page, or "" */
	PREPARED_NOT,       /* not prepared by memrec */
	PREPARED_RECORDED,  /* recorded by memrec from start to end */
	PREPARED_FOREIGN,   /* another user's, `uid` */
	PREPARED_HIDDEN,    /* cannot be read (errno in `error`) */
	PREPARED_GONE
};

struct prepared {
	long pid; /* number in this process's namespace */
	enum prepared_kind kind;
	uid_t uid;
	int error;
	struct control *page;
	char path[MEMREC_PATH_MAX]; /* the page's, below /proc/PID/root */
	char name[PROC_NAME_MAX];
};

/* Fills in *prepared for one process. The page stays mapped. */
void prepared_look(struct prepared *prepared, long pid);

/* Finds all processes of this user of kind PAGE or UNTOUCHED, by number. The caller frees *all. 0 or -MT_E_MEMORY. */
int prepared_all(struct prepared **all, size_t *count);

/* Makes the page of an UNTOUCHED process. 0 or an error of control_map. */
int prepared_touch(struct prepared *prepared);

/* 1: the process runs. */
int prepared_runs(const struct prepared *prepared);

/* Starts a collector if that of the process's ring was killed and the ring is reachable. Call under the page's lock. */
void prepared_revive(const struct prepared *prepared);

/* Locks the page against other controllers, at most for `ms`: a descriptor to close, -MT_E_BUSY, -MT_E_SYSTEM. */
int prepared_lock(const struct prepared *prepared, int ms);

#endif
