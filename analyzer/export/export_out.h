/*
 * export_out.h - writes the bytes of an export to a file, with a buffer, plain or as gzip.
 *
 * After the first error, nothing more is written, and export_out_close returns this error. Memory does not grow.
 */
#ifndef MEMANA_EXPORT_OUT_H
#define MEMANA_EXPORT_OUT_H

#include <stddef.h>
#include <stdint.h>
#include "memtrace/base.h"

struct export_out;

/* Begins to write to `fd`, which the caller closes. NULL: out of memory. */
struct export_out *export_out_new(int fd);

/* Packs all bytes from now to the end as one gzip member. It has no time and no name: equal input gives equal bytes. */
void export_gzip(struct export_out *out);

/* As export_gzip, but the member is a line of base64 and ends at export_gzip_end. Later bytes are plain. */
void export_gzip_text(struct export_out *out);
void export_gzip_end(struct export_out *out);

void export_put(struct export_out *out, const void *bytes, size_t size);
void export_text(struct export_out *out, const char *text);
void export_print(struct export_out *out, const char *format, ...) MT_PRINTF(2, 3);

/*
 * Writes a JSON string with its quotes. Bytes that are not UTF-8 become '?'. '<' is escaped, so the string cannot end a
 * script in a page.
 */
void export_json_string(struct export_out *out, const char *text);

/* Keeps an error of the caller, with errno, as the error of the output. Only the first error is kept. */
void export_fail(struct export_out *out, int error);

/* 1: an error is kept, so further bytes are not written. */
int export_out_failed(const struct export_out *out);

/* Writes all bytes of a file. Returns 0, or -MT_E_SYSTEM: the file cannot be read. */
int export_copy(struct export_out *out, int file);

/* Writes the bytes in the buffer and frees `out`, which may be NULL. Returns 0, or the first error (with errno). */
int export_out_close(struct export_out *out);

#endif
