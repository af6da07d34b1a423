/*
 * export_proto.h - writes a message of Protocol Buffers from front to back, for Perfetto and pprof.
 *
 *     proto_begin(proto, 11);          field 11, a message
 *     proto_number(proto, 9, 4);         its field 9
 *     proto_end(proto);
 *     proto_put(proto, out, 1);        writes the message as field 1 of the file, and empties the writer
 *
 * Memory grows with the largest message. After a lack of memory, proto_put returns the error.
 */
#ifndef MEMANA_EXPORT_PROTO_H
#define MEMANA_EXPORT_PROTO_H

#include <stddef.h>
#include <stdint.h>
#include "export_out.h"

#define PROTO_DEPTH_MAX 8u

/* All zeros: empty. The owner calls proto_release. All members are private. */
struct proto {
	unsigned char *bytes;
	size_t size, room;
	size_t open[PROTO_DEPTH_MAX]; /* offsets of the open messages */
	uint32_t depth;
	int failed; /* 1: out of memory, or too many open messages */
};

/* Adds a field. proto_number also takes booleans and enumerations; proto_signed takes an int64 or int32. */
void proto_number(struct proto *proto, uint32_t field, uint64_t value);
void proto_signed(struct proto *proto, uint32_t field, int64_t value);
void proto_bytes(struct proto *proto, uint32_t field, const void *bytes, size_t size);

/* Adds a text. Bytes that are not UTF-8 become '?', because readers refuse a file with such bytes. */
void proto_text(struct proto *proto, uint32_t field, const char *text);

/* Adds one value of a packed repeated field, between proto_begin and proto_end. */
void proto_packed(struct proto *proto, uint64_t value);

/* Begins and ends a message as a field. At most PROTO_DEPTH_MAX messages may be open. */
void proto_begin(struct proto *proto, uint32_t field);
void proto_end(struct proto *proto);

/*
 * Writes the message to `out` as field `field` of the file (0: as the file itself), and empties the writer. Returns 0
 * or -MT_E_MEMORY.
 */
int proto_put(struct proto *proto, struct export_out *out, uint32_t field);

void proto_release(struct proto *proto);

#endif
