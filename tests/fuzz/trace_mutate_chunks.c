/* trace_mutate_chunks.c - mutates whole chunks, and sections of them; see fuzz.h. */

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fuzz.h"
#include "trace/chunk.h"
#include "trace/chunk_list.h"
#include "trace/codec.h"

#define CHUNKS_MAX 256u
#define SECTIONS_MAX 64u

struct piece {
	struct mt_chunk_info info;
	struct mt_buffer payload; /* payload of a chunk that could be unpacked */
};

/* A trace taken apart. Damaged chunks stay out. */
struct parts {
	struct fuzz_random random;
	struct piece piece[CHUNKS_MAX + 1];
	uint32_t count;
	uint64_t head;             /* bytes of the recognition frame */
	struct mt_chunk_list list; /* as the file had it */
};

/* A copy that is somewhere even when it is empty. */
static struct mt_buffer copy_of(const uint8_t *data, size_t size)
{
	struct mt_buffer copy = { 0 };

	FUZZ_CHECK(!mt_buffer_reserve(&copy, size + 1));
	mt_buffer_put(&copy, data, size);
	return copy;
}

static void take_apart(struct parts *parts, const struct mt_chunk_source *source)
{
	struct mt_chunk_list *list = &parts->list;
	struct mt_cursor payload;
	struct mt_zframe frame;
	struct piece *piece;
	uint32_t i;

	for (i = 0; i < list->count && parts->count < CHUNKS_MAX; i++) {
		if (mt_unpacker_find(source->unpacker, list->info[i].offset, list->info[i].size, &frame) ||
		    frame.skippable || mt_unpacker_unpack(source->unpacker, &payload))
			continue;
		piece = &parts->piece[parts->count++];
		piece->info = list->info[i];
		piece->payload = copy_of(payload.at, mt_cursor_left(&payload));
	}
}

static void open_parts(struct parts *parts, const char *path, size_t size)
{
	struct mt_chunk_source source = { open(path, O_RDONLY | O_CLOEXEC), size, NULL };

	source.unpacker = mt_unpacker_new(source.fd, size);
	if (!mt_recognition_read(source.fd, &parts->head) && parts->head <= size &&
	    !mt_chunk_list_find(&parts->list, &source, parts->head))
		take_apart(parts, &source);
	mt_unpacker_free(source.unpacker);
	close(source.fd);
}

static void release_parts(struct parts *parts)
{
	uint32_t i;

	for (i = 0; i < parts->count; i++)
		mt_buffer_release(&parts->piece[i].payload);
	mt_chunk_list_release(&parts->list);
	free(parts);
}

/* ---- whole chunks ---- */

static void drop(struct parts *parts, uint32_t at)
{
	mt_buffer_release(&parts->piece[at].payload);
	memmove(&parts->piece[at], &parts->piece[at + 1], (--parts->count - at) * sizeof(struct piece));
}

static void repeat(struct parts *parts, uint32_t from, uint32_t to)
{
	struct piece copy = { .info = parts->piece[from].info };

	if (parts->count == CHUNKS_MAX)
		return;
	copy.payload = copy_of(parts->piece[from].payload.data, parts->piece[from].payload.size);
	memmove(&parts->piece[to + 1], &parts->piece[to], (parts->count++ - to) * sizeof(struct piece));
	parts->piece[to] = copy;
}

static void mutate_order(struct parts *parts)
{
	uint32_t a = (uint32_t)fuzz_below(&parts->random, parts->count);
	uint32_t b = (uint32_t)fuzz_below(&parts->random, parts->count);
	struct piece swapped = parts->piece[a];

	switch (fuzz_below(&parts->random, 3)) {
	case 0:
		drop(parts, a);
		break;
	case 1:
		repeat(parts, a, b);
		break;
	default:
		parts->piece[a] = parts->piece[b];
		parts->piece[b] = swapped;
		break;
	}
}

/* ---- sections ---- */

/* Appends the section, mutated; now and then it goes away or gets another number. */
static void mutate_section(struct parts *parts, struct mt_buffer *out, const struct mt_section *section)
{
	struct mt_buffer content = copy_of(section->content.at, mt_cursor_left(&section->content));
	uint32_t number = section->number;

	switch (fuzz_below(&parts->random, 16)) {
	case 0:
		break;
	case 1:
		number += (uint32_t)fuzz_below(&parts->random, 4);
		/* fall through */
	default:
		fuzz_varints(&parts->random, &content);
		mt_payload_section(out, number, content.data, content.size);
	}
	mt_buffer_release(&content);
}

static uint32_t count_sections(struct mt_cursor payload)
{
	struct mt_section section = { 0 };
	uint32_t count = 0;

	mt_payload_kind(&payload);
	while (count < SECTIONS_MAX && mt_section_next(&payload, &section) > 0)
		count++;
	return count;
}

static void mutate_payload(struct parts *parts, struct mt_buffer *payload)
{
	struct mt_cursor in = mt_cursor_make(payload->data, payload->size);
	uint32_t chosen = (uint32_t)fuzz_below(&parts->random, count_sections(in)), i;
	struct mt_section section = { 0 };
	struct mt_buffer out = { 0 };

	mt_payload_begin(&out, mt_payload_kind(&in));
	for (i = 0; mt_section_next(&in, &section) > 0; i++) {
		if (i == chosen)
			mutate_section(parts, &out, &section);
		else
			mt_payload_section(&out, section.number, section.content.at, mt_cursor_left(&section.content));
	}
	mt_buffer_release(payload);
	*payload = out;
}

/* ---- together again ---- */

/* The index's words of a chunk are those of its SUMMARY. */
static void describe(struct mt_chunk_info *info, const struct mt_buffer *payload)
{
	struct mt_cursor in = mt_cursor_make(payload->data, payload->size);
	struct mt_section section = { 0 };

	info->kind = mt_payload_kind(&in);
	if (info->kind != MT_CHUNK_EVENTS && info->kind != MT_CHUNK_CHECKPOINT)
		return;
	if (mt_section_next(&in, &section) > 0 && section.number == MT_SECTION_SUMMARY)
		mt_summary_read(&section.content, info);
}

#define AFFORDED_MAX 65536u /* events that a frame gets the bytes for; what says it has more is refused by its budget */

static void put_together(struct parts *parts, struct mt_buffer *out)
{
	static struct mt_packer *packer;
	struct mt_chunk_list list = { 0 };
	uint32_t i;

	if (!packer)
		packer = mt_packer_new(1);
	mt_recognition_put(out);
	for (i = 0; i < parts->count; i++) {
		struct mt_chunk_info info = { .offset = out->size };

		describe(&info, &parts->piece[i].payload);
		mt_packer_pack(packer, &parts->piece[i].payload, info.events < AFFORDED_MAX ? info.events : 0, out);
		info.size = out->size - info.offset;
		mt_chunk_list_add(&list, &info);
	}
	switch (fuzz_below(&parts->random, 8)) {
	case 0:
		mt_index_encode(parts->list.info, parts->list.count, out);
		break;
	case 1:
		break;
	default:
		mt_index_encode(list.info, list.count, out);
	}
	mt_chunk_list_release(&list);
}

size_t trace_mutate_chunks(uint8_t *data, size_t size, size_t room, unsigned int seed)
{
	struct parts *parts = calloc(1, sizeof(*parts));
	struct mt_buffer out = { 0 };
	size_t made = 0, changes;

	FUZZ_CHECK(parts != NULL);
	parts->random.state = seed;
	open_parts(parts, fuzz_file("mutate.zst", data, size), size);
	for (changes = 1 + fuzz_below(&parts->random, 3); changes && parts->count; changes--) {
		if (!fuzz_below(&parts->random, 6))
			mutate_order(parts);
		else
			mutate_payload(parts, &parts->piece[fuzz_below(&parts->random, parts->count)].payload);
	}
	if (parts->count)
		put_together(parts, &out);
	if (out.size && !out.error && out.size <= room) {
		memcpy(data, out.data, out.size);
		made = out.size;
	}
	mt_buffer_release(&out);
	release_parts(parts);
	return made;
}
