/*
 * inject.h - how the agent gets into the command: three environment variables, any one of which is enough, and
 * MEMREC_OPTIONS, which tells it what to do there.
 */
#ifndef MEMREC_INJECT_H
#define MEMREC_INJECT_H

#include "shared/options.h"

/* Ways in: X(NAME, bit, variable, shared) - shared: several libraries fit in it. */
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

/* memana beside this program, or "": MEMREC_PATH_MAX bytes. */
void inject_find_memana(char *path);

/*
 * libmemrec.so: beside the program (build folder) or in ../lib/memrec (installed); MEMREC_PATH_MAX bytes.
 * 0; -MT_E_MISSING: `path` is where it was looked for last.
 */
int inject_find_library(char *path, const char *program);

/*
 * The name of `library` for LD_PRELOAD; MEMREC_PATH_MAX bytes. A loader of 32-bit programs would say on their
 * standard error that it cannot load a 64-bit library. If there is such a loader, the name is
 * FOLDER/each/$LIB/libmemrec.so: every loader puts its own word for $LIB, and finds a library of its own kind there
 * (made with the programs). Elsewhere, and where our own loader's word is not known, it is `library` itself: a $ in
 * the environment is best avoided.
 */
void inject_preload_name(char *name, const char *library);

/*
 * Sets the variables in this process's environment, for the child. LD_PRELOAD is put before what is there. One that
 * somebody else's library holds is left to it, and its bit is set in *taken; so is that of LD_PRELOAD when the
 * library's path has a blank or a colon. 0, -MT_E_LIMIT, -MT_E_MEMORY.
 */
int inject_set(const char *library, const struct memrec_options *options, unsigned *taken);

/* Takes them out again, for a child that is not to be recorded. The former value of LD_PRELOAD goes with it. */
void inject_clear(void);

#endif
