/* owner.h - the owner of memory: "pytorch" for tensors, otherwise the library that called the driver. */
#ifndef MEMANA_OWNER_H
#define MEMANA_OWNER_H

#include <stddef.h>
#include <stdint.h>
#include "memtrace/defs.h"

#define OWNER_NAME_MAX 64 /* bytes with NUL */

/* The owner of tensors and of allocator slack. */
#define OWNER_PYTORCH "pytorch"

/*
 * The library that asked the driver: of the innermost native frame outside the driver's own libraries and the
 * recorder, without path and version ("libnccl"; a program by its name). "unknown" where the stack has none.
 */
void owner_of_stack(char name[OWNER_NAME_MAX], const struct mt_defs *defs, uint32_t stack);

/*
 * Sets the owner that a module stands for, by its path. Returns 0 for a module that only passes requests of others on.
 */
int owner_of_path(char name[OWNER_NAME_MAX], const char *path);

/* Whether a module (by path) only passes requests of others on: the driver's libraries and the recorder. */
int owner_passes_on(const char *path);

#define OWNER_ANY (-1)

/* The enum mt_category of this owner's driver memory, if the owner has one purpose; else OWNER_ANY. */
int owner_purpose(const char *name);

#endif
