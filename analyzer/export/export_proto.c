#include "export_proto.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/clean.h"
#include "memtrace/error.h"

#define VARINT_MAX 10u

enum wire { WIRE_VARINT = 0, WIRE_BYTES = 2 };

static size_t put_varint(unsigned char *out, uint64_t value)
{
	size_t size = 0;

	for (; value >= 0x80; value >>= 7)
		out[size++] = (unsigned char)(value | 0x80);
	out[size++] = (unsigned char)value;
	return size;
}

/* Makes room for `more` bytes. 1: the room is there; 0: out of memory. */
static int reserve(struct proto *proto, size_t more)
{
	size_t room = proto->room ? proto->room : 4096;
	unsigned char *grown;

	while (room - proto->size < more && room < SIZE_MAX / 2)
		room *= 2;
	if (proto->failed || room - proto->size < more) {
		proto->failed = 1;
		return 0;
	}
	if (room == proto->room)
		return 1;
	grown = realloc(proto->bytes, room);
	if (!grown) {
		proto->failed = 1;
		return 0;
	}
	proto->bytes = grown;
	proto->room = room;
	return 1;
}

void proto_packed(struct proto *proto, uint64_t value)
{
	if (reserve(proto, VARINT_MAX))
		proto->size += put_varint(proto->bytes + proto->size, value);
}

static void put_tag(struct proto *proto, uint32_t field, enum wire wire)
{
	proto_packed(proto, (uint64_t)field << 3 | wire);
}

void proto_number(struct proto *proto, uint32_t field, uint64_t value)
{
	put_tag(proto, field, WIRE_VARINT);
	proto_packed(proto, value);
}

void proto_signed(struct proto *proto, uint32_t field, int64_t value)
{
	proto_number(proto, field, (uint64_t)value);
}

void proto_bytes(struct proto *proto, uint32_t field, const void *bytes, size_t size)
{
	put_tag(proto, field, WIRE_BYTES);
	proto_packed(proto, size);
	if (size && reserve(proto, size)) {
		memcpy(proto->bytes + proto->size, bytes, size);
		proto->size += size;
	}
}

void proto_text(struct proto *proto, uint32_t field, const char *text)
{
	size_t size = strlen(text), length, at;
	char *copy;
	uint32_t code;

	proto_bytes(proto, field, text, size);
	if (proto->failed)
		return;
	copy = (char *)proto->bytes + proto->size - size;
	for (at = 0; at < size; at += length ? length : 1) {
		length = mt_utf8(copy + at, size - at, &code);
		if (!length)
			copy[at] = '?';
	}
}

void proto_begin(struct proto *proto, uint32_t field)
{
	put_tag(proto, field, WIRE_BYTES);
	if (proto->depth == PROTO_DEPTH_MAX || !reserve(proto, 1)) {
		proto->failed = 1;
		return;
	}
	proto->open[proto->depth++] = ++proto->size;
}

/* proto_begin kept one byte for the length. A message with a longer length is moved back. */
void proto_end(struct proto *proto)
{
	unsigned char length[VARINT_MAX];
	size_t start, size, bytes;

	if (proto->failed || !proto->depth)
		return;
	start = proto->open[--proto->depth];
	size = proto->size - start;
	bytes = put_varint(length, size);
	if (!reserve(proto, bytes - 1))
		return;
	memmove(proto->bytes + start + bytes - 1, proto->bytes + start, size);
	memcpy(proto->bytes + start - 1, length, bytes);
	proto->size += bytes - 1;
}

int proto_put(struct proto *proto, struct export_out *out, uint32_t field)
{
	unsigned char head[2 * VARINT_MAX];
	size_t size = 0;

	if (proto->failed)
		return -MT_E_MEMORY;
	if (field) {
		size = put_varint(head, (uint64_t)field << 3 | WIRE_BYTES);
		size += put_varint(head + size, proto->size);
	}
	export_put(out, head, size);
	export_put(out, proto->bytes, proto->size);
	proto->size = 0;
	return 0;
}

void proto_release(struct proto *proto)
{
	free(proto->bytes);
	*proto = (struct proto){ 0 };
}
