/* copy.h - copies a given number of bytes: out of a file, into a file, or from one file into another. */
#ifndef FORMATS_COPY_H
#define FORMATS_COPY_H

#include <stddef.h>
#include <stdint.h>

/*
 * Copies `size` bytes from `offset` of `from` to the file position of `to`. Returns 0, -MT_E_TRUNCATED (`from` ends
 * before), -MT_E_SPACE or -MT_E_SYSTEM (errno).
 */
int mt_copy_bytes(int from, uint64_t offset, int to, uint64_t size);

/* Returns -MT_E_SPACE or -MT_E_SYSTEM, by the errno of a failed write. */
int mt_write_error(void);

/* Writes all bytes at the file position of `fd`. Returns 0 or mt_write_error(). */
int mt_write_all(int fd, const void *data, uint64_t size);

/* Reads exactly `size` bytes by pread. 0, -MT_E_TRUNCATED (the file ends before), -MT_E_SYSTEM. */
int mt_read_at(int fd, void *data, size_t size, uint64_t offset);

#endif
