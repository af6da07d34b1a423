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

/* The first definition of `name` in loaded objects whose path contains `part`. */
void *loaded_find_in(const char *part, const char *name);

/* 1: in load order nobody defines `name` before our own object does. */
int loaded_is_first(const char *name);

/* 1: of all copies of the agent in this process ours is the one that calls are bound to. */
int loaded_is_first_agent(void);

/*
 * Binds the calls of `symbol` in every loaded object whose path contains `part` to `replacement`: what they call from
 * now on, in these objects only. The number of slots written; 0: they do not call it. Not in a hook.
 */
int loaded_patch(const char *part, const char *symbol, void *replacement);

/* Copies the path of the first loaded object whose path contains `part`. 1: found, 0: not (or it does not fit). */
int loaded_path(const char *part, char *path, size_t size);

/* Copies our own path as the loader knows it. 1, or 0: it does not fit. */
int loaded_own_path(char *path, size_t size);

/* Where an object is mapped: lowest and highest address of its segments. */
void loaded_bounds(const struct dl_phdr_info *object, uint64_t *start, uint64_t *end);

/* The object's build id, inside the mapped object; *size 0: it has none. */
const uint8_t *loaded_build_id(const struct dl_phdr_info *object, uint32_t *size);

/* 1: the address lies in our own object. */
int loaded_is_ours(uint64_t address);

#endif
