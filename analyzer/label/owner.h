/* owner.h - the owner of memory: "pytorch" for tensors, else the library that called the driver. */
#ifndef MEMANA_OWNER_H
#define MEMANA_OWNER_H

#include <stddef.h>
#include <stdint.h>
#include "memtrace/defs.h"

#define OWNER_NAME_MAX 64 /* bytes with NUL */

/* The owner of tensors and of allocator slack. */
#define OWNER_PYTORCH "pytorch"

/*
 * Writes the library that called the driver, without path and version ("libnccl"), or the program's name. The innermost native frame outside of
 * driver and recorder names it. "unknown": the stack has no such frame.
 */
void owner_of_stack(char name[OWNER_NAME_MAX], const struct mt_defs *defs, uint32_t stack);

/* Whether a module, by its path, only passes on requests of other modules: the driver's libraries and the recorder. */
int owner_passes_on(const char *path);

#define OWNER_ANY (-1)

/* Returns the enum mt_category of the owner's driver memory if the owner has one purpose; else OWNER_ANY. */
int owner_purpose(const char *name);

#endif
