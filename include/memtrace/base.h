/* base.h - the few macros everything else uses. Needs nothing but libc. */
#ifndef MEMTRACE_BASE_H
#define MEMTRACE_BASE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MT_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MT_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define MT_UNUSED __attribute__((unused))

/* -1, 0 or 1, as qsort wants the comparison of two numbers of one type. */
#define MT_ORDER(a, b) (((a) > (b)) - ((a) < (b)))

/* The libraries and the agent are built with hidden symbols; this names the few that are seen from outside. */
#define MT_EXPORT __attribute__((visibility("default")))

#define MT_NSEC_PER_SEC 1000000000ull

/* Copies a text, cut to what fits into `size` bytes (at least 1); always ends in NUL. */
static inline void mt_copy_text(char *to, size_t size, const char *from)
{
	size_t length = strnlen(from, size - 1);

	memcpy(to, from, length);
	to[length] = '\0';
}

/*
 * Opens for reading a path out of a file. The path must be a regular file of this user, and no link. For root any user
 * may own the file. The check comes before the opening, because opening a device can have effects. A descriptor, or -1
 * (errno).
 */
int mt_open_named(const char *path);

#endif
