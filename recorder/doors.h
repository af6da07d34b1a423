/*
 * doors.h - how the agent gets into the command: three environment variables, any one of which is enough, and
 * MEMREC_OPTIONS, which tells it what to do there.
 */
#ifndef MEMREC_DOORS_H
#define MEMREC_DOORS_H

#include "options.h"

/* Doors: X(NAME, bit, variable, shared) - shared: several libraries fit in it. */
#define DOOR_LIST(X)                                     \
	X(PRELOAD, 1, "LD_PRELOAD", 1)                   \
	X(CUDA, 2, "CUDA_INJECTION64_PATH", 0)           \
	X(NVTX, 4, "NVTX_INJECTION64_PATH", 0)

enum door {
#define DOOR_ENUM(name, bit, variable, shared) DOOR_##name = (bit),
	DOOR_LIST(DOOR_ENUM)
#undef DOOR_ENUM
};

/* The path of this program: MEMREC_PATH_MAX bytes. 0 or -MT_E_SYSTEM. */
int doors_find_program(char *path);

/*
 * libmemrec.so: beside the program (build folder) or in ../lib/memrec (installed); MEMREC_PATH_MAX bytes.
 * 0; -MT_E_MISSING: `path` is where it was looked for last.
 */
int doors_find_library(char *path, const char *program);

/*
 * Sets the variables in this process's environment, for the child. LD_PRELOAD is put before what is there. A door that
 * somebody else's library holds is left to it, and its bit is set in *taken; so is that of LD_PRELOAD when the
 * library's path has a blank or a colon. 0, -MT_E_LIMIT, -MT_E_MEMORY.
 */
int doors_open(const char *library, const struct memrec_options *options, unsigned *taken);

#endif
