/* process.c - the PROCESS chunk. */
#include "process.h"
#include <stdlib.h>
#include <string.h>
#include "chunk.h"
#include "memtrace/error.h"
#include "memtrace/reader.h"

static void put_number(struct mt_buffer *payload, uint32_t section, uint64_t value)
{
	uint8_t bytes[MT_VARINT_MAX];

	mt_payload_section(payload, section, bytes, (size_t)(mt_varint_put(bytes, value) - bytes));
}

static void put_signed(struct mt_buffer *payload, uint32_t section, int64_t value)
{
	put_number(payload, section, mt_zigzag((uint64_t)value));
}

static void put_text(struct mt_buffer *payload, uint32_t section, const char *text)
{
	if (text)
		mt_payload_section(payload, section, text, strnlen(text, MT_STRING_MAX));
}

void mt_process_encode(const struct mt_process *process, struct mt_buffer *payload)
{
	uint8_t head[MT_TRACE_MAGIC_SIZE + MT_VARINT_MAX], *end;

	mt_payload_begin(payload, MT_CHUNK_PROCESS);
	memcpy(head, MT_TRACE_MAGIC, MT_TRACE_MAGIC_SIZE);
	end = mt_varint_put(head + MT_TRACE_MAGIC_SIZE, MT_TRACE_VERSION);
	mt_payload_section(payload, MT_PROCESS_HEAD, head, (size_t)(end - head));
#define PUT_FIELD(member, section, type) put_##type(payload, section, process->member);
	MT_PROCESS_LIST(PUT_FIELD)
#undef PUT_FIELD
}

static int check_head(struct mt_cursor *in)
{
	const uint8_t *magic = mt_cursor_bytes(in, MT_TRACE_MAGIC_SIZE);
	uint64_t version = mt_cursor_varint(in);

	if (!magic || memcmp(magic, MT_TRACE_MAGIC, MT_TRACE_MAGIC_SIZE))
		return -MT_E_MAGIC;
	if (in->error)
		return in->error;
	return version == MT_TRACE_VERSION ? 0 : -MT_E_VERSION;
}

static char *take_copy(struct mt_cursor *in)
{
	size_t size = mt_cursor_left(in);
	char *text;

	if (size > MT_STRING_MAX) {
		in->error = -MT_E_LIMIT;
		return NULL;
	}
	text = malloc(size + 1);
	if (!text) {
		in->error = -MT_E_MEMORY;
		return NULL;
	}
	memcpy(text, in->at, size);
	text[size] = '\0';
	return text;
}

/* READ_<type>(member): a value that does not fit into the member's width is beyond the limit. */
#define READ_number(member)                                    \
	number = mt_cursor_varint(in);                         \
	process->member = (__typeof__(process->member))number; \
	if (!in->error && (uint64_t)process->member != number) \
		in->error = -MT_E_LIMIT;
#define READ_signed(member)                                            \
	number = mt_unzigzag(mt_cursor_varint(in));                    \
	process->member = (__typeof__(process->member))number;         \
	if (!in->error && (int64_t)process->member != (int64_t)number) \
		in->error = -MT_E_LIMIT;
#define READ_text(member) process->member = take_copy(in);

static int read_field(struct mt_process *process, uint32_t section, struct mt_cursor *in)
{
	uint64_t number;

	switch (section) {
#define READ_FIELD(member, section_number, type) \
	case section_number:                     \
		READ_##type(member);             \
		break;
		MT_PROCESS_LIST(READ_FIELD)
#undef READ_FIELD
	}
	return in->error;
}

/* Missing texts become "", like empty ones. */
static int fill_texts(struct mt_process *process)
{
	int error = 0;

#define FILL_number(member)
#define FILL_signed(member)
#define FILL_text(member)                       \
	if (!process->member)                   \
		process->member = calloc(1, 1); \
	if (!process->member)                   \
		error = -MT_E_MEMORY;
#define FILL_FIELD(member, section, type) FILL_##type(member)
	MT_PROCESS_LIST(FILL_FIELD)
#undef FILL_FIELD
	return error;
}

int mt_process_decode(struct mt_process *process, struct mt_cursor *payload)
{
	struct mt_section section = { 0 };
	int got, error = 0, head = 0;

	memset(process, 0, sizeof(*process));
	while (!error && (got = mt_section_next(payload, &section)) != 0) {
		if (got < 0)
			return got;
		if (section.number == MT_PROCESS_HEAD) {
			error = check_head(&section.content);
			head = 1;
		} else {
			error = read_field(process, section.number, &section.content);
		}
	}
	if (!error && !head)
		error = -MT_E_MAGIC;
	return error ? error : fill_texts(process);
}

void mt_process_release(struct mt_process *process)
{
#define FREE_number(member)
#define FREE_signed(member)
#define FREE_text(member) free((char *)process->member);
#define FREE_FIELD(member, section, type) FREE_##type(member)
	MT_PROCESS_LIST(FREE_FIELD)
#undef FREE_FIELD
	memset(process, 0, sizeof(*process));
}
