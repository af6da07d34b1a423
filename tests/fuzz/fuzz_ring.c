/*
 * fuzz_ring.c - the fold: a ring that was left over becomes a trace. A ring is large and nearly empty, so an input is
 * what to put into one that is right, piece by piece:
 *
 *     kind (1 byte), size (2 bytes, little-endian), then the bytes
 *
 *     EVENT   slot (1), fixed (1: lengths and number are made right), struct ring_event, text
 *     LOG     fixed (1), struct ring_log_..., what follows it
 *     HEADER  offset (4), bytes: over the header, when everything else is in
 *     SLOT    slot (1), offset (2), bytes: the same over a slot
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/varint.h"
#include "fuzz.h"
#include "memtrace/error.h"
#include "memtrace/fold.h"
#include "ring_builder.h"

#define SLOTS 4u
#define SLOT_BYTES 4096u
#define LOG_BYTES (64u << 10)
#define PIECE_HEAD 3u

enum piece_kind { PIECE_EVENT, PIECE_LOG, PIECE_HEADER, PIECE_SLOT, PIECE_KINDS };

struct piece {
	enum piece_kind kind;
	const uint8_t *data;
	size_t size;
};

/* The next piece; 0: there is none. */
static int next_piece(const uint8_t **at, const uint8_t *end, struct piece *piece)
{
	size_t left = (size_t)(end - *at);

	if (left < PIECE_HEAD)
		return 0;
	piece->kind = (enum piece_kind)((*at)[0] % PIECE_KINDS);
	piece->size = (size_t)(*at)[1] | (size_t)(*at)[2] << 8;
	piece->data = *at + PIECE_HEAD;
	if (piece->size > left - PIECE_HEAD)
		piece->size = left - PIECE_HEAD;
	*at = piece->data + piece->size;
	return 1;
}

/* ---- a ring of pieces ---- */

static void put_event(struct ring_builder *builder, const struct piece *piece)
{
	uint32_t slot = piece->size ? piece->data[0] % SLOTS : 0;
	struct ring_slot *cursors = &builder->header->slot[slot];
	struct ring_event event = { 0 };
	uint64_t head = atomic_load(&cursors->head);
	size_t text;

	if (piece->size < 2 + sizeof(event))
		return;
	memcpy(&event, piece->data + 2, sizeof(event));
	text = piece->size - 2 - sizeof(event);
	if (piece->data[1]) {
		event.record = RING_EVENT;
		event.bytes = (uint32_t)(sizeof(event) + text + 7) / 8 * 8;
		if (event.name_bytes > text)
			event.name_bytes = (uint16_t)text;
		event.domain_bytes = (uint16_t)(text - event.name_bytes);
		event.seq = atomic_fetch_add(&builder->header->next_seq, 1);
	}
	if (head + sizeof(event) + text + 8 > SLOT_BYTES)
		return;
	memcpy(ring_builder_at(builder, slot, head), &event, sizeof(event));
	memcpy(ring_builder_at(builder, slot, head) + sizeof(event), piece->data + 2 + sizeof(event), text);
	atomic_store(&cursors->head, head + (event.bytes < SLOT_BYTES ? event.bytes : 8));
	atomic_store(&cursors->state, RING_SLOT_LEFT);
}

static void put_log(struct ring_builder *builder, const struct piece *piece)
{
	uint64_t head = atomic_load(&builder->header->log_head);
	uint32_t bytes = (uint32_t)(piece->size + 6) / 8 * 8;
	uint8_t *at = (uint8_t *)builder->header + builder->header->log_offset + head;

	if (piece->size < 1 + sizeof(struct ring_log) || head + bytes > LOG_BYTES)
		return;
	memcpy(at, piece->data + 1, piece->size - 1);
	if (piece->data[0])
		memcpy(at, &bytes, sizeof(bytes));
	atomic_store(&builder->header->log_head, head + bytes);
}

/* The last word: over what is there, whatever it is. */
static void put_over(struct ring_builder *builder, const struct piece *piece)
{
	int is_slot = piece->kind == PIECE_SLOT;
	size_t head = is_slot ? 3 : 4, room = is_slot ? SLOT_BYTES : sizeof(struct ring_header), at;
	uint8_t *to = (uint8_t *)builder->header; /* its sizes cannot be believed any more */

	if (piece->size <= head)
		return;
	if (is_slot)
		to += ring_builder_pages(sizeof(struct ring_header)) + piece->data[0] % SLOTS * SLOT_BYTES;
	at = is_slot ? (size_t)piece->data[1] | (size_t)piece->data[2] << 8 : mt_load_u32(piece->data);
	at %= room;
	memcpy(to + at, piece->data + head, piece->size - head < room - at ? piece->size - head : room - at);
}

static void fill(struct ring_builder *builder, const uint8_t *data, size_t size)
{
	const uint8_t *at = data, *end = data + size;
	struct piece piece;

	while (next_piece(&at, end, &piece)) {
		if (piece.kind == PIECE_EVENT)
			put_event(builder, &piece);
		else if (piece.kind == PIECE_LOG)
			put_log(builder, &piece);
	}
	for (at = data; next_piece(&at, end, &piece);)
		if (piece.kind == PIECE_HEADER || piece.kind == PIECE_SLOT)
			put_over(builder, &piece);
}

/* ---- the fold ---- */

/* The collector's way, without its end: 1, there is a trace that another one could go on with. */
static int fold(const char *ring, const char *trace)
{
	struct mt_fold_summary summary;
	struct mt_fold *fold;
	uint64_t folded;
	int status;

	if (mt_fold_open(&fold, ring, fuzz_rules(), NULL))
		return 0;
	status = mt_fold_create(fold, trace);
	if (!status)
		do
			status = mt_fold_run(fold, 1, &folded);
		while (!status && folded);
	status = mt_fold_close(fold, MT_END_KILLED, &summary);
	return !status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *ring = fuzz_path("ring"), *trace = fuzz_path("folded.zst"), *whole = fuzz_path("recovered.zst");
	struct ring_builder builder;

	unlink(ring);
	FUZZ_CHECK(!ring_builder_open(&builder, ring, SLOTS, SLOT_BYTES, LOG_BYTES));
	fill(&builder, data, size);
	ring_builder_close(&builder);
	unlink(trace);
	unlink(whole);
	if (!mt_fold_recover("/dev/null", ring, fuzz_rules(), whole, NULL))
		FUZZ_CHECK(!trace_read(whole));
	if (!fold(ring, trace))
		return 0;
	FUZZ_CHECK(!trace_read(trace));
	unlink(whole);
	if (!mt_fold_recover(trace, ring, fuzz_rules(), whole, NULL))
		FUZZ_CHECK(!trace_read(whole));
	return 0;
}

/* ---- mutations: one piece keeps its length right, or pieces are repeated and dropped ---- */

static size_t join(uint8_t *data, size_t room, const uint8_t *parts[3], const size_t sizes[3])
{
	uint8_t *joined = malloc(sizes[0] + sizes[1] + sizes[2] + 1);
	size_t size = 0, i;

	FUZZ_CHECK(joined != NULL);
	for (i = 0; i < 3; i++) {
		memcpy(joined + size, parts[i], sizes[i]);
		size += sizes[i];
	}
	size = size < room ? size : room;
	memcpy(data, joined, size);
	free(joined);
	return size;
}

static size_t mutate_piece(struct fuzz_random *random, uint8_t *data, size_t size, size_t room,
			   const struct piece *piece)
{
	uint8_t changed[PIECE_HEAD + 2048];
	size_t bytes = piece->size < 1024 ? piece->size : 1024, before = (size_t)(piece->data - data);
	const uint8_t *parts[3] = { data, changed, piece->data + piece->size };
	size_t sizes[3] = { before - PIECE_HEAD, 0, size - before - piece->size };

	memcpy(changed, piece->data - PIECE_HEAD, PIECE_HEAD + bytes);
	switch (fuzz_below(random, 8)) {
	case 0: /* dropped */
		break;
	case 1: /* repeated */
		sizes[0] = before + piece->size;
		sizes[1] = PIECE_HEAD + bytes;
		break;
	default:
		bytes = LLVMFuzzerMutate(changed + PIECE_HEAD, bytes, bytes + 64);
		sizes[1] = PIECE_HEAD + bytes;
	}
	changed[1] = (uint8_t)bytes;
	changed[2] = (uint8_t)(bytes >> 8);
	return join(data, room, parts, sizes);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned int seed)
{
	struct fuzz_random random = { seed };
	const uint8_t *at = data;
	struct piece piece;
	size_t count = 0, chosen;

	while (next_piece(&at, data + size, &piece))
		count++;
	if (!count || !fuzz_below(&random, 8))
		return LLVMFuzzerMutate(data, size, room);
	chosen = fuzz_below(&random, count);
	for (at = data; next_piece(&at, data + size, &piece) && chosen; chosen--)
		;
	return mutate_piece(&random, data, size, room, &piece);
}
