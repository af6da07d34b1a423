/*
 * export_proto.h - a message of Protocol Buffers, written front to back: Perfetto and pprof are such messages.
 *
 *     proto_begin(proto, 11);          field 11, a message
 *     proto_number(proto, 9, 4);         its field 9
 *     proto_end(proto);
 *     proto_put(proto, out, 1);        all of it as field 1 of the file; the writer is empty then
 *
 * Memory: the largest message. Running out of it is remembered, proto_put tells.
 */
#ifndef MEMANA_EXPORT_PROTO_H
#define MEMANA_EXPORT_PROTO_H

#include <stddef.h>
#include <stdint.h>
#include "export_out.h"

#define PROTO_DEPTH_MAX 8u

/* All zeros: empty. Release in any case. */
struct proto {
	unsigned char *bytes; /* private, all of it */
	size_t size, room;
	size_t open[PROTO_DEPTH_MAX]; /* the begins of messages that are not ended */
	uint32_t depth;
	int failed; /* 1: out of memory */
};

/* Fields. Numbers of an enumeration and booleans are numbers, too; a number below 0 is an int64 or int32. */
void proto_number(struct proto *proto, uint32_t field, uint64_t value);
void proto_signed(struct proto *proto, uint32_t field, int64_t value);
void proto_bytes(struct proto *proto, uint32_t field, const void *bytes, size_t size);

/* Bytes that are not UTF-8 become '?': readers refuse the whole file for one of them. */
void proto_text(struct proto *proto, uint32_t field, const char *text);

/* A repeated number, packed: proto_begin, any number of these, proto_end. */
void proto_packed(struct proto *proto, uint64_t value);

/* A message as a field; at most PROTO_DEPTH_MAX inside one another. */
void proto_begin(struct proto *proto, uint32_t field);
void proto_end(struct proto *proto);

/* Hands all of it to `out` as the message `field` of the file (0: as the file itself) and empties it. 0 or -MT_E_MEMORY. */
int proto_put(struct proto *proto, struct export_out *out, uint32_t field);

void proto_release(struct proto *proto);

#endif
