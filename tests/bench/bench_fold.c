/*
 * bench_fold.c - events per second of processor time from ring to trace, with stacks and definitions warmed up. Only
 * the fold is timed: the ring is filled while the clock stands still.
 *
 *     bench_fold [EVENTS [SLOTS]]        default: 4 million events, 4 slots
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "memtrace/error.h"
#include "memtrace/fold.h"
#include "ring_builder.h"

#define STACKS 1000u
#define LIVE 4096u /* blocks that are alive at any time */
#define FRAMES 16u
#define LOG_BYTES (4u << 20)

struct bench {
	struct ring_builder builder;
	struct mt_fold *fold;
	uint64_t made;
	uint32_t slots, random;
	uint64_t size[LIVE];
};

static void define(struct bench *bench)
{
	static const uint8_t table[] = { 0x80 | 13 << 3 | 7, 2 };
	struct ring_log_stack counts = { .python = FRAMES };
	struct ring_python python[FRAMES];
	char name[32];
	uint32_t i, frame;

	for (i = 1; i <= STACKS; i++) {
		snprintf(name, sizeof(name), "function_%u", i);
		ring_builder_code(&bench->builder, i, i, name, name, "/src/model/train.py", table, sizeof(table));
	}
	for (i = 1; i <= STACKS; i++) {
		for (frame = 0; frame < FRAMES; frame++)
			python[frame] = (struct ring_python){ .code = (i + frame * 7) % STACKS + 1, .lasti = frame };
		ring_builder_stack(&bench->builder, i, &counts, python, NULL);
	}
	for (i = 1; i <= bench->slots; i++)
		ring_builder_thread(&bench->builder, i, i, "worker");
}

/* Blocks are freed in the order they were made, sizes differ. */
static void make_one(struct bench *bench, uint32_t slot)
{
	uint64_t block = bench->made / 2 % LIVE;
	int alloc = bench->made % 2 || bench->made < 2 * LIVE;
	struct ring_event event = { .kind = alloc ? MT_TENSOR_ALLOC : MT_TENSOR_FREE, .device_type = MT_DEVICE_CUDA };

	bench->random = bench->random * 1664525u + 1013904223u;
	if (alloc)
		bench->size[block] = 512ull << (bench->random >> 28);
	event.time = bench->made * 700 + (bench->random >> 24);
	event.thread = slot + 1;
	event.stack = (bench->random >> 12) % STACKS + 1;
	event.addr = 0x7f0000000000ull + (block << 26);
	event.size = bench->size[block];
	event.total = event.reserved = 1ull << 34;
	ring_builder_event(&bench->builder, slot, event, NULL, NULL);
	bench->made++;
}

/* Fills every slot to two fifths, one event each in turn. */
static void fill(struct bench *bench, uint64_t most)
{
	uint64_t rounds = bench->builder.header->slot_bytes / sizeof(struct ring_event) * 2 / 5, round;
	uint32_t slot;

	for (round = 0; round < rounds && bench->made < most; round++)
		for (slot = 0; slot < bench->slots; slot++)
			make_one(bench, slot);
}

static double now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
	return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

static int run(struct bench *bench, uint64_t events, double *seconds)
{
	uint64_t folded;
	double start;
	int err = 0;

	*seconds = 0;
	while (bench->made < events && err >= 0) {
		fill(bench, events);
		start = now();
		do
			err = mt_fold_run(bench->fold, 0, &folded);
		while (!err && folded);
		if (!err)
			err = mt_fold_flush(bench->fold);
		*seconds += now() - start;
	}
	return err;
}

int main(int argc, char **argv)
{
	uint64_t events = argc > 1 ? strtoull(argv[1], NULL, 10) : 4000000;
	static struct bench bench = { .slots = 4 };
	char ring[] = "bench-fold.ring", trace[] = "bench-fold.zst", message[512];
	struct mt_fold_summary summary;
	struct mt_rules *rules;
	double seconds;
	int err;

	if (argc > 2)
		bench.slots = (uint32_t)strtoul(argv[2], NULL, 10);
	err = mt_rules_new(&rules, message, sizeof(message));
	if (!err && ring_builder_open(&bench.builder, ring, bench.slots, RING_SLOT_BYTES, LOG_BYTES))
		err = -MT_E_SYSTEM;
	if (!err) {
		define(&bench);
		err = mt_fold_open(&bench.fold, ring, rules, NULL);
	}
	if (!err)
		err = mt_fold_create(bench.fold, trace);
	if (!err)
		err = run(&bench, STACKS * 20, &seconds); /* warm up */
	events += bench.made;
	if (!err)
		err = run(&bench, events, &seconds);
	if (!err)
		err = mt_fold_close(bench.fold, MT_END_EXIT, &summary);
	unlink(ring);
	unlink(trace);
	if (err) {
		fprintf(stderr, "bench_fold: %s\n", mt_strerror(err));
		return mt_exit_code(err);
	}
	printf("fold: %.2f M events/s, %.2f bytes/event, %llu lost\n", (double)(events - STACKS * 20) / seconds * 1e-6,
	       (double)summary.bytes / (double)summary.events, (unsigned long long)summary.lost);
	return 0;
}
