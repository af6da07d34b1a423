/*
 * loaded.h - find symbols and notes in the objects of this process without the loader's lock.
 *
 * dlopen and dlsym wait for a lock that another thread may hold while it waits for the very allocator whose hook we
 * are in. Walking the loaded objects does not.
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
 * The meaning of `name` for the object that `caller` (an address of its code) lies in: its own definition, that of a
 * library it names as needed, else as loaded_find. *is_own: it is its own. NULL: nobody defines it.
 */
void *loaded_target(const char *name, const void *caller, int *is_own);

/* 1: of all copies of the agent in this process ours is the one that calls are bound to. */
int loaded_is_first_agent(void);

/* 1: the program was started with us (LD_PRELOAD, or linked): whatever it loads is bound to our names. */
int loaded_is_preloaded(void);

/* Differs from an earlier one when anything was loaded or unloaded since. */
struct loaded_stamp {
	uint64_t adds, subs;
};

struct loaded_stamp loaded_stamp(void);

/*
 * Copies the path of the nth (from 0) loaded object that is the library `library` ("libx") by whatever name: libx.so,
 * libx.so.13, libx-4f1c9a0b.so.12. 1: found, 0: not (or it does not fit).
 */
int loaded_library(const char *library, unsigned int nth, char *path, size_t size);

/* Copies the path of the nth (from 0) loaded object; "": it has none. 1, 0: there are no more, or it does not fit. */
int loaded_path(unsigned int nth, char *path, size_t size);

/* 1: the address lies in a loaded object that is `library`, named as for loaded_library. */
int loaded_is_in(uint64_t address, const char *library);

/* Copies our own path as the loader knows it. 1, or 0: it does not fit. */
int loaded_own_path(char *path, size_t size);

/* The mapping of an object: lowest and highest address of its segments. */
void loaded_bounds(const struct dl_phdr_info *object, uint64_t *start, uint64_t *end);

/* The object's build id, inside the mapped object; *size 0: it has none. */
const uint8_t *loaded_build_id(const struct dl_phdr_info *object, uint32_t *size);

/* 1: the address lies in our own object. */
int loaded_is_ours(uint64_t address);

#endif
