/*
 * import_start.c - finds the memory that was alive before the first entry of a snapshot.
 *
 * The walk starts with the memory that was alive at the dump, and goes through the entries from last to first. An allocation removes its memory from
 * the set; a free adds it.
 */
#include <stdlib.h>
#include <string.h>
#include "base/addrmap.h"
#include "import_impl.h"
#include "memtrace/base.h"
#include "memtrace/error.h"

#define PIECES_MAX (1ull << 24) /* mapped and unmapped in a whole history: 32 TiB; a damaged file can have any number */
#define DEVICE_SHIFT 58         /* all addresses have fewer bits */

struct finder {
	struct import_start *start;
	const struct pickle *pickle;
	struct addrmap there[IMPORT_THING_KINDS]; /* number of the thing + 1, by device and address */
	uint64_t pieces;                          /* number of pieces so far */
	uint64_t steps;                           /* see import_visit */
	uintptr_t spare;                          /* number of a free place + 1; its `size` has the next one; 0: none */
};

/* Returns the end of the piece at `addr`, but at most `end`. */
static uint64_t import_piece_end(uint64_t addr, uint64_t end)
{
	uint64_t next = (addr / IMPORT_PIECE + 1) * IMPORT_PIECE;

	return next && next < end ? next : end;
}

static uint64_t key_of(uint32_t device, uint64_t addr)
{
	return (uint64_t)device << DEVICE_SHIFT ^ addr;
}

static int grow(struct import_start *start)
{
	size_t room = start->room ? start->room * 2 : 1024;
	struct import_thing *larger = realloc(start->thing, room * sizeof(*larger));

	if (!larger)
		return -MT_E_MEMORY;
	start->thing = larger;
	start->room = room;
	return 0;
}

/* Makes the place of a thing free for another one: memory grows with the things alive at one time, and not with the entries. */
static void set_gone(struct finder *finder, uintptr_t number)
{
	struct import_thing *thing = &finder->start->thing[number - 1];

	thing->gone = 1;
	thing->size = finder->spare;
	finder->spare = number;
}

static uintptr_t take_place(struct finder *finder)
{
	uintptr_t number = finder->spare;

	if (!number)
		return ++finder->start->count;
	finder->spare = (uintptr_t)finder->start->thing[number - 1].size;
	return number;
}

static int appear(struct finder *finder, const struct import_thing *thing)
{
	struct import_start *start = finder->start;
	struct addrmap *there = &finder->there[thing->kind];
	uintptr_t number, older;

	if (!thing->addr || !thing->size)
		return 0;
	if ((start->count == start->room && grow(start)) || addrmap_reserve(there))
		return -MT_E_MEMORY;
	number = take_place(finder);
	start->thing[number - 1] = *thing;
	older = (uintptr_t)addrmap_put(there, key_of(thing->device, thing->addr), (void *)number);
	if (older)
		set_gone(finder, older);
	return 0;
}

/* Removes a thing from the set. Returns the bytes of its block; 0: unknown. */
static uint64_t vanish(struct finder *finder, const struct import_thing *thing)
{
	uintptr_t number = (uintptr_t)addrmap_remove(&finder->there[thing->kind], key_of(thing->device, thing->addr));
	uint64_t block = number ? finder->start->thing[number - 1].block : 0;

	if (number)
		set_gone(finder, number);
	return block;
}

/* Adds or removes each piece of the range; `there`: the pieces existed before the entry. */
static int each_piece(struct finder *finder, const struct import_thing *range, int there)
{
	struct import_thing piece = *range;
	uint64_t end = range->addr + range->size < range->addr ? UINT64_MAX : range->addr + range->size, next;
	int error = 0;

	/* No GPU has a range this large: the size is damaged. */
	if (range->size / IMPORT_PIECE > 1u << 20 || finder->pieces > PIECES_MAX)
		return -MT_E_LIMIT;
	finder->pieces += range->size / IMPORT_PIECE + 1;
	for (; piece.addr < end && !error; piece.addr = next) {
		next = import_piece_end(piece.addr, end);
		piece.size = next - piece.addr;
		if (there)
			error = appear(finder, &piece);
		else
			vanish(finder, &piece);
	}
	return error;
}

/* ---- the live set at the dump ---- */

/* Returns the frames; 0: unknown. Memory from before the recording has an empty list. */
static pickle_id frames_of(const struct pickle *pickle, pickle_id block)
{
	pickle_id frames = pickle_get(pickle, block, "frames");

	if (!frames) /* PyTorch 2.0 keeps the frames in the block's history */
		frames = pickle_get(pickle, pickle_item(pickle, pickle_get(pickle, block, "history"), 0), "frames");
	return pickle_count(pickle, frames) ? frames : 0;
}

/* Visits the value and its first history. */
static int visit(struct finder *finder, pickle_id value)
{
	const struct pickle *pickle = finder->pickle;

	if (import_visit(pickle, value, &finder->steps))
		return -MT_E_LIMIT;
	value = pickle_item(pickle, pickle_get(pickle, value, "history"), 0);
	return import_visit(pickle, value, &finder->steps);
}

static uint64_t bytes_of(const struct pickle *pickle, pickle_id from, const char *key)
{
	int64_t bytes = pickle_int(pickle, pickle_get(pickle, from, key), 0);

	return bytes > 0 ? (uint64_t)bytes : 0;
}

static int add_blocks(struct finder *finder, pickle_id segment, struct import_thing block)
{
	const struct pickle *pickle = finder->pickle;
	pickle_id blocks = pickle_get(pickle, segment, "blocks"), from, state;
	uint64_t next = block.addr, size;
	uint32_t i;
	int error = 0;

	for (i = 0; i < pickle_count(pickle, blocks) && !error; i++) {
		from = pickle_item(pickle, blocks, i);
		error = visit(finder, from);
		if (error)
			break;
		state = pickle_get(pickle, from, "state");
		size = bytes_of(pickle, from, "size");
		block.addr = bytes_of(pickle, from, "address");
		if (!block.addr)
			block.addr = next; /* PyTorch 2.0: blocks have no address and follow each other */
		next = block.addr + size;
		block.size = bytes_of(pickle, from, "requested_size");
		if (!block.size || block.size > size)
			block.size = size;
		block.block = size;
		block.frames = frames_of(pickle, from);
		if (pickle_is(pickle, state, "active_allocated") || pickle_is(pickle, state, "active_pending_free") ||
		    pickle_is(pickle, state, "active_awaiting_free"))
			error = appear(finder, &block);
	}
	return error;
}

static int add_segment(struct finder *finder, pickle_id from)
{
	const struct pickle *pickle = finder->pickle;
	int64_t device = pickle_int(pickle, pickle_get(pickle, from, "device"), 0);
	struct import_thing segment = {
		.addr = bytes_of(pickle, from, "address"),
		.size = bytes_of(pickle, from, "total_size"),
		.frames = frames_of(pickle, from),
	};
	struct import_thing block = { .addr = segment.addr, .kind = IMPORT_BLOCK };
	int error;

	if (device < 0 || device >= (int64_t)IMPORT_DEVICES)
		return 0;
	segment.device = block.device = (uint8_t)device;
	if (pickle_int(pickle, pickle_get(pickle, from, "is_expandable"), 0)) {
		segment.kind = IMPORT_PIECE_OF_SEGMENT;
		error = each_piece(finder, &segment, 1);
	} else {
		error = appear(finder, &segment);
	}
	return error ? error : add_blocks(finder, from, block);
}

static int add_segments(struct finder *finder)
{
	const struct pickle *pickle = finder->pickle;
	pickle_id root = pickle_root(pickle), segments = root;
	uint32_t i;
	int error = 0;

	if (pickle_type(pickle, root) == PICKLE_DICT)
		segments = pickle_get(pickle, root, "segments");
	for (i = 0; i < pickle_count(pickle, segments) && !error; i++) {
		error = visit(finder, pickle_item(pickle, segments, i));
		if (!error)
			error = add_segment(finder, pickle_item(pickle, segments, i));
	}
	return error;
}

/* Adds the pinned memory of the host. */
static int add_host(struct finder *finder)
{
	const struct pickle *pickle = finder->pickle;
	pickle_id segments = pickle_get(pickle, pickle_root(pickle), "host_segments"), from;
	uint32_t i;
	int error = 0;

	for (i = 0; i < pickle_count(pickle, segments) && !error; i++) {
		from = pickle_item(pickle, segments, i);
		error = visit(finder, from);
		if (error)
			break;
		error = appear(finder, &(struct import_thing){ .addr = bytes_of(pickle, from, "address"),
							       .size = bytes_of(pickle, from, "total_size"),
							       .frames = frames_of(pickle, from),
							       .kind = IMPORT_HOST });
	}
	return error;
}

/* ---- from the dump back to the first entry ---- */

static int undo(struct finder *finder, struct import_entry *entry)
{
	struct import_thing thing = { .addr = entry->addr, .size = entry->size, .device = entry->device };

	switch (entry->action) {
	case IMPORT_ALLOC:
		thing.kind = IMPORT_BLOCK;
		entry->block = vanish(finder, &thing);
		return 0;
	case IMPORT_FREE_COMPLETED:
		thing.kind = IMPORT_BLOCK;
		return appear(finder, &thing);
	case IMPORT_SEGMENT_ALLOC:
		vanish(finder, &thing);
		return 0;
	case IMPORT_SEGMENT_FREE:
		return appear(finder, &thing);
	case IMPORT_SEGMENT_MAP:
		thing.kind = IMPORT_PIECE_OF_SEGMENT;
		return each_piece(finder, &thing, 0);
	case IMPORT_SEGMENT_UNMAP:
		thing.kind = IMPORT_PIECE_OF_SEGMENT;
		return each_piece(finder, &thing, 1);
	case IMPORT_HOST_ALLOC:
		thing.kind = IMPORT_HOST;
		vanish(finder, &thing);
		return 0;
	case IMPORT_HOST_FREE:
		thing.kind = IMPORT_HOST;
		return appear(finder, &thing);
	default:
		return 0;
	}
}

static int by_place(const void *a, const void *b)
{
	const struct import_thing *one = a, *two = b;

	if (one->kind != two->kind)
		return one->kind < two->kind ? -1 : 1;
	if (one->device != two->device)
		return one->device < two->device ? -1 : 1;
	return one->addr < two->addr ? -1 : one->addr > two->addr;
}

static void keep_those_there(struct import_start *start)
{
	size_t i, kept = 0;

	for (i = 0; i < start->count; i++) {
		if (start->thing[i].gone)
			continue;
		start->cut |= start->thing[i].frames != 0;
		start->thing[kept++] = start->thing[i];
	}
	start->count = kept;
	if (kept)
		qsort(start->thing, kept, sizeof(*start->thing), by_place);
}

int import_start_find(struct import_start *start, const struct pickle *pickle, struct import_entries *entries)
{
	struct finder finder = { .start = start, .pickle = pickle };
	size_t i;
	int error;

	memset(start, 0, sizeof(*start));
	error = add_segments(&finder);
	if (!error)
		error = add_host(&finder);
	for (i = entries->count; i && !error; i--)
		error = undo(&finder, &entries->entry[i - 1]);
	for (i = 0; i < IMPORT_THING_KINDS; i++)
		addrmap_release(&finder.there[i]);
	keep_those_there(start);
	return error;
}

void import_start_release(struct import_start *start)
{
	free(start->thing);
	memset(start, 0, sizeof(*start));
}
