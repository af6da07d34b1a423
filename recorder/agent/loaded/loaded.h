/*
 * loaded.h - finds symbols and notes in the loaded objects of this process without the loader's lock.
 *
 * dlopen and dlsym wait for a lock. Another thread may hold this lock while it waits for the allocator that has called
 * the hook. Walking the list of loaded objects does not need this lock.
 */
#ifndef RECORDER_LOADED_H
#define RECORDER_LOADED_H

#include <link.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The first definition of `name` in load order, our own object and other copies of the agent left out; NULL: none.
 * No malloc.
 */
void *loaded_find(const char *name);

/*
 * Finds `name` as the object of `caller` (an address of its code) would: its own definition, then that of a library it
 * needs, then as loaded_find. *is_own 1: its own. NULL: not defined.
 */
void *loaded_target(const char *name, const void *caller, int *is_own);

/* 1: calls are bound to this copy of the agent, of all copies in the process. */
int loaded_is_first_agent(void);

/* 1: the program was started with the agent (LD_PRELOAD, or linked), so libraries loaded later bind to its names. */
int loaded_is_preloaded(void);

/* Changes with each load and unload. */
struct loaded_stamp {
	uint64_t adds, subs;
};

struct loaded_stamp loaded_stamp(void);

/*
 * Copies the path of the nth (from 0) loaded object that is the library ("libx") under any name: libx.so, libx.so.13,
 * libx-4f1c9a0b.so.12. 1: found; 0: not found, or the path does not fit.
 */
int loaded_library(const char *library, unsigned int nth, char *path, size_t size);

/*
 * Copies the path of the nth (from 0) loaded object; "": it has none. 1; 0: no more objects, or the path does not fit.
 */
int loaded_path(unsigned int nth, char *path, size_t size);

/* 1: the address lies in a loaded object that is `library`, named as for loaded_library. */
int loaded_is_in(uint64_t address, const char *library);

/* Copies the agent's own path as the loader has it. 1; 0: it does not fit. */
int loaded_own_path(char *path, size_t size);

/* Sets the lowest and highest address of an object's segments. */
void loaded_bounds(const struct dl_phdr_info *object, uint64_t *start, uint64_t *end);

/* Returns the object's build id, inside of its mapping; *size 0: none. */
const uint8_t *loaded_build_id(const struct dl_phdr_info *object, uint32_t *size);

/* 1: the address is in the agent's own object. */
int loaded_is_ours(uint64_t address);

#endif
