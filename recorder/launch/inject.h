/*
 * inject.h - loads the agent into the command by three environment variables, each of which is enough, and passes the
 * options by MEMREC_OPTIONS.
 */
#ifndef MEMREC_INJECT_H
#define MEMREC_INJECT_H

#include "shared/options.h"

/* Variables that load the agent: X(NAME, bit, variable, shared) - shared: it can name several libraries. */
#define INJECT_LIST(X)                         \
	X(PRELOAD, 1, "LD_PRELOAD", 1)         \
	X(CUDA, 2, "CUDA_INJECTION64_PATH", 0) \
	X(NVTX, 4, "NVTX_INJECTION64_PATH", 0)

enum injection {
#define INJECT_ENUM(name, bit, variable, shared) INJECT_##name = (bit),
	INJECT_LIST(INJECT_ENUM)
#undef INJECT_ENUM
};

/* The path of this program: MEMREC_PATH_MAX bytes. 0 or -MT_E_SYSTEM. */
int inject_find_program(char *path);

/* Gets the path of memana beside this program, or "": MEMREC_PATH_MAX bytes. */
void inject_find_memana(char *path);

/*
 * Gets the path of libmemrec.so: beside the program (build folder) or in ../lib/memrec (installed); MEMREC_PATH_MAX
 * bytes. 0; -MT_E_MISSING: `path` is the last place searched.
 */
int inject_find_library(char *path, const char *program);

/*
 * Gets the name of `library` for LD_PRELOAD; MEMREC_PATH_MAX bytes. A 32-bit program's loader would print that it
 * cannot load a 64-bit library. If the system has such a loader, the name is FOLDER/each/$LIB/libmemrec.so: each loader
 * replaces $LIB and finds a library of its own kind there (made with the programs). Otherwise, and if the own loader's
 * word is unknown, the name is `library` itself, because a $ in the environment is best avoided.
 */
void inject_preload_name(char *name, const char *library);

/*
 * Sets the variables for the child in this process's environment. The library comes first in LD_PRELOAD. A variable
 * with another tool's library stays, and its bit is set in *taken. The same holds for LD_PRELOAD if the library's path
 * has a blank or a colon. 0, -MT_E_LIMIT, -MT_E_MEMORY.
 */
int inject_set(const char *library, const struct memrec_options *options, unsigned *taken);

/* Removes the variables, for a child that is not recorded, with the former value of LD_PRELOAD. */
void inject_clear(void);

#endif
