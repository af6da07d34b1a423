/*
 * inject.h - loads the agent into the command by environment variables, and passes the options by MEMREC_OPTIONS. One
 * of the three variables is enough.
 */
#ifndef MEMREC_INJECT_H
#define MEMREC_INJECT_H

#include "shared/options.h"

/*
 * Variables that load the agent: X(NAME, bit, variable, shared). `shared` 1: the variable can name several libraries.
 */
#define INJECT_LIST(X)                         \
	X(PRELOAD, 1, "LD_PRELOAD", 1)         \
	X(CUDA, 2, "CUDA_INJECTION64_PATH", 0) \
	X(NVTX, 4, "NVTX_INJECTION64_PATH", 0)

enum injection {
#define INJECT_ENUM(name, bit, variable, shared) INJECT_##name = (bit),
	INJECT_LIST(INJECT_ENUM)
#undef INJECT_ENUM
};

/* Gets the path of memrec (MEMREC_PATH_MAX bytes). Returns 0 or -MT_E_SYSTEM. */
int inject_find_program(char *path);

/* Gets the path of memana in memrec's folder (MEMREC_PATH_MAX bytes); "": memana is not there. */
void inject_find_memana(char *path);

/*
 * Gets the path of libmemrec.so (MEMREC_PATH_MAX bytes), in the folder of `program` or in ../lib/memrec. Returns 0; or
 * -MT_E_MISSING, and `path` is the last path that was tried.
 */
int inject_find_library(char *path, const char *program);

/*
 * Sets the variables in memrec's own environment, for the command. The library comes first in LD_PRELOAD. A variable
 * with another tool's library is not changed, and its bit is set in *taken. LD_PRELOAD is not changed, and its bit is
 * set, if the path of the library has a blank or a colon. Returns 0, -MT_E_LIMIT or -MT_E_MEMORY.
 */
int inject_set(const char *library, const struct memrec_options *options, unsigned *taken);

/* Removes the variables, for a child that is not recorded. LD_PRELOAD is removed whole, other libraries included. */
void inject_clear(void);

#endif
