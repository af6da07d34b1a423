/*
 * export_out.h - the bytes of an export on their way to a file: buffered, plain or as gzip.
 *
 * The first error is kept, and nothing is written after an error. Only export_out_close tells. Memory does not grow.
 */
#ifndef MEMANA_EXPORT_OUT_H
#define MEMANA_EXPORT_OUT_H

#include <stddef.h>
#include <stdint.h>
#include "memtrace/base.h"

struct export_out;

/* Writes to `fd`, which stays the caller's. NULL: out of memory. */
struct export_out *export_out_new(int fd);

/* From here on bytes are one gzip member, without a time or a name: the same input gives the same bytes. To the end of the output. */
void export_gzip(struct export_out *out);

/* The same, as a line of base64, until export_gzip_end: then bytes are plain. */
void export_gzip_text(struct export_out *out);
void export_gzip_end(struct export_out *out);

void export_put(struct export_out *out, const void *bytes, size_t size);
void export_text(struct export_out *out, const char *text);
void export_print(struct export_out *out, const char *format, ...) MT_PRINTF(2, 3);

/* A string of JSON with its quotes. Bytes that are not UTF-8 become '?'. No "</" is in the result: a page may hold the string. */
void export_json_string(struct export_out *out, const char *text);

/* Bytes put so far, before gzip. */
uint64_t export_out_size(const struct export_out *out);

/* Something went wrong before the bytes came here. */
void export_fail(struct export_out *out, int error);

/* 1: something went wrong; who writes much may stop. */
int export_out_failed(const struct export_out *out);

/* A file without a name, in the user's folder for such files or where there is one. -1: errno. The caller closes. */
int export_temporary(void);

/* All bytes of a file. 0 or -MT_E_SYSTEM: the file cannot be read. */
int export_copy(struct export_out *out, int file);

/* Writes what is left and frees. 0, -MT_E_MEMORY, or -MT_E_SYSTEM: errno says why. NULL is fine. */
int export_out_close(struct export_out *out);

#endif
