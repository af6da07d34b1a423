/*
 * owner.h - whose memory it is: "pytorch" for tensors, the library that called the driver for everything else.
 */
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

/* The owner that a module stands for, by its path. 0: none, it only hands on what somebody else asked for. */
int owner_of_path(char name[OWNER_NAME_MAX], const char *path);

/* Whether a module (by path) only hands on what somebody else asked for: the driver's libraries and the recorder. */
int owner_passes_on(const char *path);

#define OWNER_ANY (-1)

/* The enum mt_category of driver memory that this owner takes for one thing only, else OWNER_ANY. */
int owner_purpose(const char *name);

#endif
