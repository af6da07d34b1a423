#include "tape.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "source/partial_file.h"

/*
 * The file is mapped window by window. Blocks and snapshots are cut off a window from its beginning. Disk space is
 * reserved before a window is written: a write into a mapping ends the program if the disk is full.
 */
#define WINDOW_BYTES (64u << 20)
#define PAGE_BYTES 65536u /* a multiple of the page size everywhere */
#define JOIN_MAX 8        /* events that a search for a match looks back */
#define MARK_EVENTS 512u  /* from one mark of a block to the next; TAPE_BLOCK is a multiple */

struct block {
	struct tape_event *event;
	uint64_t *mark; /* complete changes before each MARK_EVENTS-th event, from the tape's beginning */
	const struct tape_held *held;
	uint32_t helds;
};

struct window {
	char *base;
	size_t size, used;
	off_t offset; /* in the file */
};

struct sum {
	uint64_t bytes, count;
};

struct tape {
	int file; /* -1: none yet */
	struct window *window;
	uint32_t windows;
	struct block *block; /* TAPE_BLOCKS_MAX entries: blocks never move */
	uint32_t blocks;
	uint64_t count, settled;
	uint64_t changes; /* complete changes among all events */
	struct sum *now;  /* by cell */
	uint32_t cells;
};

struct tape *tape_new(void)
{
	struct tape *tape = calloc(1, sizeof(*tape));

	if (!tape)
		return NULL;
	tape->file = -1;
	tape->block = calloc(TAPE_BLOCKS_MAX, sizeof(*tape->block));
	if (!tape->block) {
		free(tape);
		return NULL;
	}
	return tape;
}

void tape_free(struct tape *tape)
{
	uint32_t i;

	if (!tape)
		return;
	for (i = 0; i < tape->blocks; i++)
		free(tape->block[i].mark);
	for (i = 0; i < tape->windows; i++)
		munmap(tape->window[i].base, tape->window[i].size);
	if (tape->file >= 0)
		close(tape->file);
	free(tape->window);
	free(tape->block);
	free(tape->now);
	free(tape);
}

/* ---- room ---- */

static int open_file(struct tape *tape)
{
	tape->file = partial_file_nameless();
	return tape->file >= 0 ? 0 : -MT_E_SYSTEM;
}

static int add_window(struct tape *tape, size_t size)
{
	struct window *grown = realloc(tape->window, ((size_t)tape->windows + 1) * sizeof(*grown)), *last;
	off_t offset = 0;
	void *base;

	if (!grown)
		return -MT_E_MEMORY;
	tape->window = grown;
	if (tape->windows) {
		last = &grown[tape->windows - 1];
		offset = last->offset + (off_t)last->size;
	}
	base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, tape->file, offset);
	if (base == MAP_FAILED)
		return -MT_E_MEMORY;
	grown[tape->windows++] = (struct window){ .base = base, .size = size, .offset = offset };
	return 0;
}

/* Reserves bytes of the file. Returns 0 or -MT_E_SYSTEM. */
static int take_from_disk(const struct tape *tape, off_t offset, size_t bytes)
{
	int error;

	do {
		error = posix_fallocate(tape->file, offset, (off_t)bytes);
	} while (error == EINTR);
	errno = error;
	return error ? -MT_E_SYSTEM : 0;
}

/* `bytes` of the file, zeroed. */
static int make_room(struct tape *tape, size_t bytes, void **room)
{
	struct window *window;
	int error = 0;

	bytes = (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
	if (tape->file < 0)
		error = open_file(tape);
	window = tape->windows ? &tape->window[tape->windows - 1] : NULL;
	if (!error && (!window || window->size - window->used < bytes))
		error = add_window(tape, bytes > WINDOW_BYTES ? bytes : WINDOW_BYTES);
	if (error)
		return error;
	window = &tape->window[tape->windows - 1];
	error = take_from_disk(tape, window->offset + (off_t)window->used, bytes);
	if (error)
		return error;
	*room = window->base + window->used;
	window->used += bytes;
	return 0;
}

static int take_snapshot(struct tape *tape, struct block *block)
{
	struct tape_held *held;
	uint32_t i, count = 0;
	void *room;
	int error;

	for (i = 0; i < tape->cells; i++)
		count += tape->now[i].bytes || tape->now[i].count;
	if (!count)
		return 0;
	error = make_room(tape, count * sizeof(*held), &room);
	if (error)
		return error;
	block->held = held = room;
	block->helds = count;
	for (i = 0; i < tape->cells; i++)
		if (tape->now[i].bytes || tape->now[i].count)
			*held++ = (struct tape_held){ i, tape->now[i].bytes, tape->now[i].count };
	return 0;
}

/* Begins a block. A failure loses the reserved room, and changes nothing else. */
static int begin_block(struct tape *tape)
{
	struct block *block = &tape->block[tape->blocks];
	void *room;
	int error;

	if (tape->blocks == TAPE_BLOCKS_MAX)
		return -MT_E_LIMIT;
	error = take_snapshot(tape, block);
	if (!error)
		error = make_room(tape, TAPE_BLOCK * sizeof(*block->event), &room);
	if (error)
		return error;
	block->mark = malloc(TAPE_BLOCK / MARK_EVENTS * sizeof(*block->mark));
	if (!block->mark)
		return -MT_E_MEMORY;
	block->event = room;
	if (tape->blocks++)
		tape_let_go(tape, tape->blocks - 2);
	return 0;
}

static int grow_cells(struct tape *tape, uint32_t cell)
{
	size_t cells = (size_t)cell + 1 + cell / 2;
	struct sum *grown = realloc(tape->now, cells * sizeof(*grown));

	if (!grown)
		return -MT_E_MEMORY;
	memset(grown + tape->cells, 0, (cells - tape->cells) * sizeof(*grown));
	tape->now = grown;
	tape->cells = (uint32_t)cells;
	return 0;
}

/* ---- adding ---- */

static struct tape_event *event_at(const struct tape *tape, uint64_t index)
{
	return &tape->block[index / TAPE_BLOCK].event[index % TAPE_BLOCK];
}

static uint64_t *mark_at(const struct tape *tape, uint64_t index)
{
	return &tape->block[index / TAPE_BLOCK].mark[index % TAPE_BLOCK / MARK_EVENTS];
}

/* Returns 1 if the count became part of an earlier event. */
static int join(struct tape *tape, int64_t time, uint32_t cell, int32_t count)
{
	uint64_t first = tape->count - tape->count % TAPE_BLOCK, i;
	struct tape_event *event;

	if (first < tape->settled)
		first = tape->settled;
	for (i = tape->count; i > first && tape->count - i < JOIN_MAX; i--) {
		event = event_at(tape, i - 1);
		if (event->time != time)
			return 0;
		if (event->cell != cell)
			continue;
		event->count += count;
		tape->now[cell].count += (uint64_t)(int64_t)count;
		return 1;
	}
	return 0;
}

int tape_add_event(struct tape *tape, const struct tape_event *event)
{
	int error = 0;

	if (event->cell >= tape->cells)
		error = grow_cells(tape, event->cell);
	if (!error && tape->count == (uint64_t)tape->blocks * TAPE_BLOCK)
		error = begin_block(tape);
	if (error)
		return error;
	if (tape->count % MARK_EVENTS == 0)
		*mark_at(tape, tape->count) = tape->changes;
	tape->changes += !event->more;
	*event_at(tape, tape->count++) = *event;
	tape->now[event->cell].bytes += (uint64_t)event->bytes;
	tape->now[event->cell].count += (uint64_t)(int64_t)event->count;
	return 0;
}

int tape_add(struct tape *tape, int64_t time, uint32_t cell, int64_t bytes, int32_t count)
{
	const struct tape_event event = { .time = time, .bytes = bytes, .cell = cell, .count = count };

	if (!bytes && join(tape, time, cell, count))
		return 0;
	return tape_add_event(tape, &event);
}

/* Marks the event before event `index`: its change goes on. */
static void goes_on(struct tape *tape, uint64_t index)
{
	struct tape_event *event = event_at(tape, index - 1);

	tape->changes -= !event->more;
	if (index % MARK_EVENTS == 0)
		*mark_at(tape, index) -= !event->more;
	event->more = 1;
}

int tape_add_part(struct tape *tape, int64_t time, uint32_t cell, int64_t bytes, int32_t count)
{
	uint64_t before = tape->count;
	int error = tape_add(tape, time, cell, bytes, count);

	if (!error && tape->count > before && before > tape->settled)
		goes_on(tape, before);
	return error;
}

uint64_t tape_count(const struct tape *tape)
{
	return tape->count;
}

uint64_t tape_settle(struct tape *tape)
{
	return tape->settled = tape->count;
}

/* ---- reading ---- */

const struct tape_event *tape_at(const struct tape *tape, uint64_t index, uint32_t *run)
{
	*run = TAPE_BLOCK - (uint32_t)(index % TAPE_BLOCK);
	return event_at(tape, index);
}

void tape_let_go(const struct tape *tape, uint32_t block)
{
	madvise(tape->block[block].event, TAPE_BLOCK * sizeof(struct tape_event), MADV_DONTNEED);
}

const struct tape_held *tape_snapshot(const struct tape *tape, uint32_t block, uint32_t *count)
{
	*count = tape->block[block].helds;
	return tape->block[block].held;
}

uint64_t tape_find(const struct tape *tape, uint64_t events, int64_t time)
{
	uint64_t low = 0, high = (events + TAPE_BLOCK - 1) / TAPE_BLOCK, middle;

	/* Finds the first block that begins later, then searches the block before. */
	while (low < high) {
		middle = low + (high - low) / 2;
		if (event_at(tape, middle * TAPE_BLOCK)->time > time)
			high = middle;
		else
			low = middle + 1;
	}
	if (!low)
		return 0;
	high = low * TAPE_BLOCK < events ? low * TAPE_BLOCK : events;
	low = (low - 1) * TAPE_BLOCK;
	while (low < high) {
		middle = low + (high - low) / 2;
		if (event_at(tape, middle)->time > time)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* The first event at `time` or later. */
static uint64_t find_first(const struct tape *tape, uint64_t events, int64_t time)
{
	return time > INT64_MIN ? tape_find(tape, events, time - 1) : 0;
}

/* Number of complete changes among the first `events` events. There may be no mark at `events` itself. */
static uint64_t changes_before(const struct tape *tape, uint64_t events)
{
	uint64_t i = events ? (events - 1) / MARK_EVENTS * MARK_EVENTS : 0, changes = events ? *mark_at(tape, i) : 0;

	for (; i < events; i++)
		changes += !event_at(tape, i)->more;
	return changes;
}

uint64_t tape_changes(const struct tape *tape, uint64_t events, int64_t time)
{
	uint64_t first = find_first(tape, events, time);

	return changes_before(tape, tape_find(tape, events, time)) - changes_before(tape, first);
}

uint64_t tape_after(const struct tape *tape, uint64_t events, int64_t time, uint64_t changes)
{
	uint64_t low = find_first(tape, events, time), high = tape_find(tape, events, time), middle;

	changes += changes_before(tape, low);
	while (low < high) {
		middle = low + (high - low) / 2;
		if (changes_before(tape, middle) < changes)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ---- packing: numbers of seven bits a byte, the lowest first ---- */

static unsigned char *put(unsigned char *out, uint64_t value)
{
	for (; value > 127; value >>= 7)
		*out++ = (unsigned char)(value | 128);
	*out++ = (unsigned char)value;
	return out;
}

/* Maps small numbers to small ones, also below 0. */
static uint64_t fold(int64_t value)
{
	return (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
}

size_t tape_pack(unsigned char *out, const struct tape_event *event, uint32_t count)
{
	unsigned char *at = out;
	int64_t time = 0;
	uint32_t i;

	for (i = 0; i < count; i++) {
		at = put(at, fold((int64_t)((uint64_t)event[i].time - (uint64_t)time)));
		at = put(at, (uint64_t)event[i].cell << 1 | event[i].more);
		at = put(at, fold(event[i].bytes));
		at = put(at, fold(event[i].count));
		time = event[i].time;
	}
	return (size_t)(at - out);
}

/* Reads a number. NULL: no number. */
static const unsigned char *get(const unsigned char *at, const unsigned char *end, uint64_t *value)
{
	unsigned shift = 0;

	for (*value = 0; at && at < end && shift < 64; shift += 7) {
		*value |= (uint64_t)(*at & 127) << shift;
		if (!(*at++ & 128))
			return at;
	}
	return NULL;
}

static int64_t unfold(uint64_t value)
{
	return (int64_t)(value >> 1 ^ (value & 1 ? UINT64_MAX : 0));
}

/*
 * Unpacks `count` events (at most TAPE_BLOCK) of a block from bytes of unknown origin. Returns 0, or -MT_E_CORRUPT: the
 * bytes end too early, or time goes back. The caller checks the cells.
 */
static int tape_unpack(struct tape_event *event, uint32_t count, const unsigned char *bytes, size_t size)
{
	const unsigned char *end = bytes + size;
	uint64_t number[4];
	int64_t time = 0;
	uint32_t i;
	int k;

	for (i = 0; i < count; i++) {
		for (k = 0; k < 4; k++)
			bytes = get(bytes, end, &number[k]);
		if (!bytes)
			return -MT_E_CORRUPT;
		event[i] = (struct tape_event){ .time = (int64_t)((uint64_t)time + (uint64_t)unfold(number[0])),
						.cell = (uint32_t)(number[1] >> 1) & INT32_MAX,
						.more = number[1] & 1,
						.bytes = unfold(number[2]),
						.count = (int32_t)unfold(number[3]) };
		if (number[1] >> 32 || (i && event[i].time < time))
			return -MT_E_CORRUPT;
		time = event[i].time;
	}
	return 0;
}

struct unpacking {
	struct tape_event *event; /* room for the events of one block */
	int (*take)(void *context, const struct tape_event *event);
	void *context;
};

static int take_block(void *context, struct db_stmt *row)
{
	const struct unpacking *unpacking = context;
	size_t size;
	const unsigned char *bytes = db_blob(row, 1, &size);
	int64_t count = db_int(row, 0), i;
	int error = count < 0 || count > TAPE_BLOCK ? -MT_E_CORRUPT
						    : tape_unpack(unpacking->event, (uint32_t)count, bytes, size);

	for (i = 0; i < count && !error; i++)
		error = unpacking->take(unpacking->context, &unpacking->event[i]);
	return error;
}

int tape_rows(struct db *db, int (*take)(void *context, const struct tape_event *event), void *context)
{
	struct unpacking unpacking = { malloc(TAPE_BLOCK * sizeof(*unpacking.event)), take, context };
	int error = unpacking.event ? db_rows(db, "SELECT events, moves FROM timeline ORDER BY block", NULL, take_block,
					      &unpacking)
				    : -MT_E_MEMORY;

	free(unpacking.event);
	return error;
}

/* The most bytes that a cell has held so far, in both parts; share NULL: the cell is not split. */
struct held {
	const struct tape_share *share;
	uint64_t bytes, count;
};

/* The change of the part that is kept, when all bytes change to `now`. */
static int64_t kept_change(uint64_t before, uint64_t now, uint64_t keep)
{
	return (int64_t)((now < keep ? now : keep) - (before < keep ? before : keep));
}

/* Adds one event, or two events of one change. */
static int add_shared(struct tape *split, struct held *held, const struct tape_event *event)
{
	struct tape_event kept = *event, rest = *event;
	uint64_t bytes = held->bytes + (uint64_t)event->bytes, count = held->count + (uint64_t)(int64_t)event->count;
	int error = 0;

	kept.bytes = kept_change(held->bytes, bytes, held->share->bytes);
	kept.count = (int32_t)kept_change(held->count, count, held->share->count);
	rest.cell = held->share->to;
	rest.bytes -= kept.bytes;
	rest.count -= kept.count;
	held->bytes = bytes;
	held->count = count;
	if (!rest.bytes && !rest.count)
		return tape_add_event(split, &kept);
	if (kept.bytes || kept.count) {
		kept.more = 1;
		error = tape_add_event(split, &kept);
	}
	return error ? error : tape_add_event(split, &rest);
}

static int copy(struct tape *split, const struct tape *tape, struct held *held, uint32_t cells)
{
	uint64_t events = tape_count(tape), i;
	const struct tape_event *event;
	uint32_t run;
	int error = 0;

	for (i = 0; i < events && !error; i++) {
		event = tape_at(tape, i, &run);
		if (event->cell < cells && held[event->cell].share)
			error = add_shared(split, &held[event->cell], event);
		else
			error = tape_add_event(split, event);
		if (run == 1)
			tape_let_go(tape, (uint32_t)(i / TAPE_BLOCK));
	}
	return error;
}

int tape_split(struct tape **split, const struct tape *tape, const struct tape_share *share, uint32_t shares)
{
	struct held *held; /* by cell */
	uint32_t i, cells = 0;
	int error;

	for (i = 0; i < shares; i++)
		if (share[i].from >= cells)
			cells = share[i].from + 1;
	held = calloc((size_t)cells + 1, sizeof(*held));
	for (i = 0; i < shares && held; i++)
		held[share[i].from].share = &share[i];
	*split = tape_new();
	error = *split && held ? copy(*split, tape, held, cells) : -MT_E_MEMORY;
	free(held);
	if (!error) {
		tape_settle(*split);
		return 0;
	}
	tape_free(*split);
	*split = NULL;
	return error;
}
