/*
 * bench_driver.c - a trace of driver calls of many sizes, for top.sh.
 *
 *     bench_driver MILLION_EVENTS FILE [SIZES [LIVE]]
 *
 * cuMemAlloc and cuMemFree by turns, without an allocator in between: each of LIVE (1024) blocks is freed when chance
 * meets it, and another one, of one of SIZES (65536) sizes, takes its place. Addresses are given as the driver does:
 * pages of 2 MiB, the newest free ones of as many pages before new ones. 64 places of the program call by turns.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"
#include "memtrace/writer.h"

#define PLACES 64
#define DEPTH 12
#define CALLS 16  /* calls of a place, before the next one follows */
#define UNIT 512u /* sizes are multiples of it, bytes */
#define PAGE (2ull << 20)
#define CLASSES 4096u /* block sizes in pages that are told apart */
#define LIVE_MAX 65536u
#define ENTRY_cuMemAlloc_v2 243u /* ids of CUPTI's driver callbacks */
#define ENTRY_cuMemFree_v2 245u

static uint64_t random_state = 88172645463325252ull;

static uint64_t random_below(uint64_t bound)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % bound;
}

static void die(const char *what, int error)
{
	fprintf(stderr, "bench_driver: %s: %s\n", what, mt_strerror(error));
	exit(4);
}

struct block {
	uint64_t addr, size; /* size 0: free */
};

struct stream {
	struct mt_writer *writer;
	uint64_t seq, time, next_addr;
	uint64_t sizes, live;
	struct block block[LIVE_MAX];
	uint64_t *free_addr[CLASSES]; /* free addresses of each class, the newest last */
	size_t free_count[CLASSES], free_room[CLASSES];
	uint32_t place[PLACES];
};

static size_t class_of(uint64_t size)
{
	uint64_t pages = (size + PAGE - 1) / PAGE;

	return pages < CLASSES ? (size_t)pages : CLASSES - 1;
}

static uint64_t take_addr(struct stream *stream, uint64_t size)
{
	size_t class = class_of(size);
	uint64_t addr = stream->next_addr;

	if (stream->free_count[class])
		return stream->free_addr[class][--stream->free_count[class]];
	stream->next_addr += (size + PAGE - 1) / PAGE * PAGE;
	return addr;
}

static void give_addr(struct stream *stream, uint64_t addr, uint64_t size)
{
	size_t class = class_of(size), room = stream->free_room[class] ? stream->free_room[class] * 2 : 64;

	if (stream->free_count[class] == stream->free_room[class]) {
		stream->free_addr[class] = realloc(stream->free_addr[class], room * sizeof(uint64_t));
		if (!stream->free_addr[class])
			die("addresses", -MT_E_MEMORY);
		stream->free_room[class] = room;
	}
	stream->free_addr[class][stream->free_count[class]++] = addr;
}

static void emit(struct stream *stream, struct mt_event *event)
{
	int error;

	stream->time += 1500 + random_below(400) + (random_below(16) ? 0 : random_below(30000));
	event->seq = ++stream->seq << 6;
	event->time = stream->time;
	event->thread = 1;
	error = mt_writer_event(stream->writer, event, 1, 1);
	if (error)
		die("writing", error);
}

static void change(struct stream *stream, struct block *block)
{
	uint32_t stack = stream->place[stream->seq / CALLS % PLACES];
	struct mt_event event = {
		.stack = stack, .kind = MT_DRIVER_FREE, .entry = ENTRY_cuMemFree_v2, .addr = block->addr
	};

	if (block->size) {
		emit(stream, &event);
		give_addr(stream, block->addr, block->size);
		block->size = 0;
		return;
	}
	block->size = (1 + random_below(stream->sizes)) * UNIT;
	block->addr = take_addr(stream, block->size);
	event = (struct mt_event){ .stack = stack,
				   .kind = MT_DRIVER_ALLOC,
				   .entry = ENTRY_cuMemAlloc_v2,
				   .addr = block->addr,
				   .size = block->size,
				   .device = 1,
				   .handle = 1 };
	emit(stream, &event);
}

/* One block is freed and another one takes its place; the first ones find none. */
static void replace(struct stream *stream)
{
	struct block *block = &stream->block[stream->seq < stream->live ? stream->seq : random_below(stream->live)];

	if (block->size)
		change(stream, block);
	change(stream, block);
}

static void make_definitions(struct stream *stream, struct mt_defs *defs)
{
	struct mt_thread thread = { .tid = 4711, .flags = MT_THREAD_MAIN };
	struct mt_device device = { .kind = MT_DEVICE_CUDA, .total = 80ull << 30 };
	struct mt_frame frame = { .kind = MT_FRAME_PYTHON };
	char text[64];
	int place, i;

	mt_defs_add_thread(defs, &thread);
	mt_defs_add_device(defs, &device);
	for (place = 0; place < PLACES; place++)
		for (i = 0; i < DEPTH; i++) {
			snprintf(text, sizeof(text), "step_%d", i < DEPTH / 2 ? i : place * DEPTH + i);
			frame.function = mt_defs_add_string(defs, text, strlen(text));
			frame.file = mt_defs_add_string(defs, "driver.py", 9);
			frame.line = (uint32_t)(i + 1);
			stream->place[place] = mt_defs_add_node(defs, i ? stream->place[place] : 0,
								mt_defs_add_frame(defs, &frame));
		}
}

int main(int argc, char **argv)
{
	struct mt_process process = { .pid = 1, .rank = -1, .command = "bench_driver" };
	struct stream *stream = calloc(1, sizeof(*stream));
	uint64_t events = (uint64_t)((argc > 1 ? atof(argv[1]) : 1) * 1e6);
	const char *path = argc > 2 ? argv[2] : "bench_driver.zst";
	size_t i;
	int error;

	if (!stream)
		die("stream", -MT_E_MEMORY);
	stream->sizes = argc > 3 ? strtoull(argv[3], NULL, 10) : 65536;
	stream->live = argc > 4 ? strtoull(argv[4], NULL, 10) : 1024;
	if (!stream->sizes || !stream->live || stream->live > LIVE_MAX)
		die("sizes and blocks", -MT_E_ARGUMENT);
	stream->next_addr = 0x7f2000000000;
	error = mt_writer_open(&stream->writer, path, &process, NULL);
	if (error)
		die(path, error);
	make_definitions(stream, mt_writer_defs(stream->writer));
	while (stream->seq < events)
		replace(stream);
	error = mt_writer_close(stream->writer, 1);
	if (error)
		die("closing", error);
	for (i = 0; i < CLASSES; i++)
		free(stream->free_addr[i]);
	free(stream);
	return 0;
}
