/*
 * modules.h - logs the address ranges of loaded objects, so that native frames can be resolved later.
 *
 * Objects come and go (dlopen, dlclose), and a new one may get the addresses of an old one. Equal return addresses from
 * before and after are then different frames, so each such change begins a new generation.
 */
#ifndef RECORDER_MODULES_H
#define RECORDER_MODULES_H

#include <stdint.h>
#include "agent/ring/hash_set.h"
#include "agent/ring/ring.h"

#define MODULES_KNOWN 2048u /* known objects; further ones are in the log, but a replacement of them is not noticed */

/* An object that is in the log and, as far as known, still mapped. */
struct module_known {
	uint64_t key; /* path, build id and place; 0: another object has the place now */
	uint64_t start, end;
};

struct modules {
	_Atomic uint64_t scanned;    /* state of the loader's list at the last scan, 0: never */
	_Atomic uint32_t scanning;   /* 1: a thread scans and owns the fields below */
	_Atomic uint32_t generation; /* generation of the addresses */
	uint32_t count;
	struct module_known known[MODULES_KNOWN];
};

void modules_init(struct modules *modules);

/* 1: the loader's list has changed since the last modules_log. Takes the lock of the list for a moment. */
int modules_have_changed(const struct modules *modules);

/*
 * Logs all objects that the log lacks, if the loader's list has changed since the last call. Then the log has the
 * objects of all addresses on the calling thread's stack. 1: the list had changed; 0: it had not; -MT_E_SPACE: the log
 * is full.
 */
int modules_log(struct modules *modules, struct ring *ring, struct hash_set *known);

/*
 * Returns how many of a stack's return addresses are reliable, innermost first: those before the first one outside of
 * all objects. The unwinder does not know how to leave such code, so later addresses are chance.
 */
uint32_t modules_trust(struct modules *modules, const uint64_t *address, uint32_t count);

/* Goes into the hash of every native stack. */
uint32_t modules_generation(const struct modules *modules);

#endif
