#include "export_out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include "memtrace/clean.h"
#include "memtrace/error.h"

#define PLAIN_SIZE 65536u
#define PACKED_SIZE 65536u
#define GZIP_WINDOW (15 + 16) /* 15: the largest window of zlib; 16: with a gzip header */
#define GZIP_MEMORY 8         /* default of zlib */
#define PRINT_SIZE 512u       /* bytes; a longer text of export_print is allocated */

struct export_out {
	int fd;
	int error, system;     /* first error, and its errno */
	int packs;             /* 1: `zip` is in use */
	int is_text;           /* 1: the packed bytes are written as base64 */
	unsigned char rest[3]; /* bytes that wait for a full group of three */
	size_t rests;
	size_t used;
	z_stream zip;
	unsigned char plain[PLAIN_SIZE], packed[PACKED_SIZE];
};

void export_fail(struct export_out *out, int error)
{
	if (out->error)
		return;
	out->error = error;
	out->system = errno;
}

static void write_all(struct export_out *out, const unsigned char *bytes, size_t size)
{
	ssize_t done;

	while (size && !out->error) {
		done = write(out->fd, bytes, size);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0) {
			export_fail(out, -MT_E_SYSTEM);
			return;
		}
		bytes += done;
		size -= (size_t)done;
	}
}

/* Writes one to three bytes as four characters of base64. */
static void encode_group(char *into, const unsigned char *from, size_t size)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t bits = (uint32_t)from[0] << 16 | (size > 1 ? (uint32_t)from[1] << 8 : 0) | (size > 2 ? from[2] : 0u);

	into[0] = letters[bits >> 18];
	into[1] = letters[bits >> 12 & 63];
	into[2] = size > 1 ? letters[bits >> 6 & 63] : '=';
	into[3] = size > 2 ? letters[bits & 63] : '=';
}

static void write_base64(struct export_out *out, const unsigned char *bytes, size_t size)
{
	char text[4096];
	size_t used = 0, i;

	for (i = 0; i < size; i++) {
		out->rest[out->rests++] = bytes[i];
		if (out->rests < sizeof(out->rest))
			continue;
		encode_group(text + used, out->rest, out->rests);
		out->rests = 0;
		used += 4;
		if (used == sizeof(text)) {
			write_all(out, (const unsigned char *)text, used);
			used = 0;
		}
	}
	write_all(out, (const unsigned char *)text, used);
}

static void write_packed(struct export_out *out, size_t size)
{
	if (out->is_text)
		write_base64(out, out->packed, size);
	else
		write_all(out, out->packed, size);
}

/* Packs the bytes in `plain`. `flush`: Z_NO_FLUSH or Z_FINISH of zlib. */
static void pack(struct export_out *out, int flush)
{
	int result = Z_OK;

	out->zip.next_in = out->plain;
	out->zip.avail_in = (uInt)out->used;
	do {
		out->zip.next_out = out->packed;
		out->zip.avail_out = PACKED_SIZE;
		result = deflate(&out->zip, flush);
		write_packed(out, PACKED_SIZE - out->zip.avail_out);
	} while (!out->error && result == Z_OK && (out->zip.avail_in || !out->zip.avail_out || flush == Z_FINISH));
}

static void flush_plain(struct export_out *out)
{
	if (out->packs)
		pack(out, Z_NO_FLUSH);
	else
		write_all(out, out->plain, out->used);
	out->used = 0;
}

struct export_out *export_out_new(int fd)
{
	struct export_out *out = calloc(1, sizeof(*out));

	if (out)
		out->fd = fd;
	return out;
}

void export_gzip(struct export_out *out)
{
	flush_plain(out);
	if (deflateInit2(&out->zip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY, Z_DEFAULT_STRATEGY) ==
	    Z_OK)
		out->packs = 1;
	else
		export_fail(out, -MT_E_MEMORY);
}

void export_gzip_text(struct export_out *out)
{
	export_gzip(out);
	out->is_text = 1;
	out->rests = 0;
}

void export_gzip_end(struct export_out *out)
{
	char last[4];

	if (!out->packs)
		return;
	pack(out, Z_FINISH);
	deflateEnd(&out->zip);
	memset(&out->zip, 0, sizeof(out->zip));
	out->packs = 0;
	out->used = 0;
	if (out->rests) {
		encode_group(last, out->rest, out->rests);
		write_all(out, (const unsigned char *)last, sizeof(last));
	}
}

void export_put(struct export_out *out, const void *bytes, size_t size)
{
	const unsigned char *from = bytes;
	size_t room;

	while (size && !out->error) {
		if (out->used == PLAIN_SIZE)
			flush_plain(out);
		room = PLAIN_SIZE - out->used < size ? PLAIN_SIZE - out->used : size;
		memcpy(out->plain + out->used, from, room);
		out->used += room;
		from += room;
		size -= room;
	}
}

void export_text(struct export_out *out, const char *text)
{
	export_put(out, text, strlen(text));
}

static void print_long(struct export_out *out, size_t size, const char *format, va_list arguments)
{
	char *text = malloc(size + 1);

	if (!text) {
		export_fail(out, -MT_E_MEMORY);
		return;
	}
	vsnprintf(text, size + 1, format, arguments);
	export_put(out, text, size);
	free(text);
}

void export_print(struct export_out *out, const char *format, ...)
{
	char text[PRINT_SIZE];
	va_list arguments, twice;
	int size;

	va_start(arguments, format);
	va_copy(twice, arguments);
	size = vsnprintf(text, sizeof(text), format, arguments);
	if (size >= 0 && (size_t)size < sizeof(text))
		export_put(out, text, (size_t)size);
	else if (size >= 0)
		print_long(out, (size_t)size, format, twice);
	va_end(twice);
	va_end(arguments);
}

/* Writes the first character of `text` for a JSON string. Returns its number of bytes in `text`. */
static size_t json_character(struct export_out *out, const char *text, size_t size)
{
	uint32_t code;
	size_t length = mt_utf8(text, size, &code);

	if (!length)
		export_put(out, "?", 1);
	else if (code == '"' || code == '\\')
		export_print(out, "\\%c", (int)code);
	else if (code < 0x20 || code == '<' || code == 0x7f || code == 0x2028 || code == 0x2029)
		export_print(out, "\\u%04x", code);
	else
		export_put(out, text, length);
	return length ? length : 1;
}

void export_json_string(struct export_out *out, const char *text)
{
	size_t size = strlen(text), at;

	export_put(out, "\"", 1);
	for (at = 0; at < size;)
		at += json_character(out, text + at, size - at);
	export_put(out, "\"", 1);
}

int export_out_failed(const struct export_out *out)
{
	return out->error != 0;
}

int export_out_close(struct export_out *out)
{
	int error, system;

	if (!out)
		return 0;
	if (out->packs) {
		pack(out, Z_FINISH);
		deflateEnd(&out->zip);
	} else {
		write_all(out, out->plain, out->used);
	}
	error = out->error;
	system = out->system;
	free(out);
	errno = system;
	return error;
}

int export_copy(struct export_out *out, int file)
{
	char bytes[PLAIN_SIZE];
	off_t at = 0;
	ssize_t size;

	while ((size = pread(file, bytes, sizeof(bytes), at)) > 0 && !out->error) {
		export_put(out, bytes, (size_t)size);
		at += size;
	}
	return size < 0 ? -MT_E_SYSTEM : 0;
}
