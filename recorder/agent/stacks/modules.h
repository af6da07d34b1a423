/*
 * modules.h - which objects are mapped where, for those who resolve native frames later.
 *
 * Objects come and go (dlopen, dlclose), and one may come to lie where another lay. Return addresses from before and
 * after are then different frames, though the same numbers: every such change begins a new generation.
 */
#ifndef RECORDER_MODULES_H
#define RECORDER_MODULES_H

#include <stdint.h>
#include "agent/ring/hash_set.h"
#include "agent/ring/ring.h"

#define MODULES_KNOWN \
	2048u /* modules that are known; more are in the log, too, but nobody notices who took their place */

/* An object that is in the log, and as far as we know still mapped. */
struct module_known {
	uint64_t key; /* path, build id and place; 0: another one lies there now */
	uint64_t start, end;
};

struct modules {
	_Atomic uint64_t scanned;    /* state of the loader's list at the last scan, 0: never */
	_Atomic uint32_t scanning;   /* 1: a thread is at it, and owns what follows */
	_Atomic uint32_t generation; /* generation of the addresses */
	uint32_t count;
	struct module_known known[MODULES_KNOWN];
};

void modules_init(struct modules *modules);

/* 1: the loader's list has changed since the last modules_log. Takes the lock of the list for a moment. */
int modules_have_changed(const struct modules *modules);

/*
 * Puts every object that is not in the log yet into it, if the loader's list has changed since the last call. The
 * objects that hold the addresses on the calling thread's stack are then in the log. 1: the list had changed, 0: not;
 * -MT_E_SPACE: the log is full.
 */
int modules_log(struct modules *modules, struct ring *ring, struct hash_set *known);

/*
 * How many of a stack's return addresses can be believed, innermost first: up to the first one that lies in no object.
 * There is no telling how to leave such code, so what the unwinder made of it is chance.
 */
uint32_t modules_trust(struct modules *modules, const uint64_t *address, uint32_t count);

/* Goes into the hash of every native stack. */
uint32_t modules_generation(const struct modules *modules);

#endif
