/* modules.h - which objects are mapped where, for those who resolve native frames later. */
#ifndef RECORDER_MODULES_H
#define RECORDER_MODULES_H

#include <stdint.h>
#include "ring.h"
#include "seen.h"

struct modules {
	_Atomic uint64_t scanned; /* state of the loader's list at the last scan, 0: never */
};

/*
 * Puts every object that is not in the log yet into it, if the loader's list has changed since the last call. The
 * objects that hold the addresses on the calling thread's stack are then in the log. -MT_E_SPACE: the log is full.
 */
int modules_log(struct modules *modules, struct ring *ring, struct seen *seen);

#endif
