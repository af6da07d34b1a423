/*
 * control.h - processes under `memrec --paused`, from outside: finding them, and the commands that control them.
 *
 * A process is found by what the kernel says of it: the page of wishes (shared/control.h) is among its mappings, or its
 * environment has the options of a paused run. Neither needs more than the user's own rights. A process of another mount or
 * pid namespace is reached through /proc/PID/root; its page has the number that it has there.
 */
#ifndef MEMREC_LAUNCH_CONTROL_H
#define MEMREC_LAUNCH_CONTROL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "gather.h"
#include "shared/control.h"

enum prepared_kind {
	PREPARED_PAGE,      /* `page` is there */
	PREPARED_UNTOUCHED, /* it took no memory yet, and has no page: one may be made at `path`, unless that is "" */
	PREPARED_NOT,       /* memrec did not prepare it */
	PREPARED_RECORDED,  /* memrec records it from its start to its end */
	PREPARED_FOREIGN,   /* another user's, `uid` */
	PREPARED_HIDDEN,    /* it cannot be looked into (errno in `error`) */
	PREPARED_GONE
};

struct prepared {
	long pid; /* as this process sees it */
	enum prepared_kind kind;
	uid_t uid;
	int error;
	struct control *page;
	char path[MEMREC_PATH_MAX]; /* the page's, below /proc/PID/root */
	char name[PROC_NAME_MAX];
};

/* Looks at one process. The page stays mapped. */
void prepared_look(struct prepared *prepared, long pid);

/* All of this user that are PAGE or UNTOUCHED, by number; *all is the caller's (free). 0 or -MT_E_MEMORY. */
int prepared_all(struct prepared **all, size_t *count);

/* Makes the page of an UNTOUCHED one. 0 or an error of control_map. */
int prepared_touch(struct prepared *prepared);

/* 1: its process runs. */
int prepared_runs(const struct prepared *prepared);

/* Starts a collector for its ring if the one that was there was killed, and the ring can be reached. Under the page's lock. */
void prepared_revive(const struct prepared *prepared);

/* Locks the page against other controllers, at most for `ms`: a descriptor to close, -MT_E_BUSY, -MT_E_SYSTEM. */
int prepared_lock(const struct prepared *prepared, int ms);

#endif
