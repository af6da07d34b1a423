/* shape_kit.h - the events of bench_shape's traces, with as little typing as possible. */
#ifndef SHAPE_KIT_H
#define SHAPE_KIT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"
#include "memtrace/writer.h"

#define BASE 0x7f0000000000ull
#define UNIT 512ull
#define MIB (1ull << 20)
#define START 98765432109876ull /* ns */

struct trace {
	struct mt_writer *writer;
	struct mt_defs *defs;
	uint64_t seq, time, total, reserved;
	uint64_t tick; /* ns from one event to the next */
	uint64_t step;
	long places; /* in the shapes steps_sites */
	uint32_t root, stack, device;
};

static inline void die(const char *what, int error)
{
	fprintf(stderr, "bench_shape: %s: %s\n", what, mt_strerror(error));
	exit(4);
}

static inline void put(struct trace *trace, struct mt_event event)
{
	int error;

	event.seq = trace->seq += 64;
	event.time = trace->time += trace->tick;
	if (!event.thread)
		event.thread = 1;
	error = mt_writer_event(trace->writer, &event, 0, (uint32_t)trace->step + 1);
	if (error)
		die("event", error);
}

static inline uint32_t text(struct trace *trace, const char *words)
{
	return mt_defs_add_string(trace->defs, words, strlen(words));
}

static inline uint32_t numbered(struct trace *trace, const char *before, long number, const char *after)
{
	char buffer[128];

	snprintf(buffer, sizeof(buffer), "%s%ld%s", before, number, after);
	return text(trace, buffer);
}

static inline uint32_t frame(struct trace *trace, long number)
{
	struct mt_frame frame = { .kind = MT_FRAME_PYTHON, .line = (uint32_t)(number % 5000 + 1) };

	frame.function = numbered(trace, "function_", number, "");
	frame.file = numbered(trace, "/src/module_", number % 1000, "/file.py");
	return mt_defs_add_frame(trace->defs, &frame);
}

static inline uint32_t place(struct trace *trace, long number)
{
	return mt_defs_add_node(trace->defs, trace->root, frame(trace, number + 10));
}

#define LINES 1000 /* lines of code that call each other */

/* The n-th stack of three frames, of a line that calls a line. */
static inline uint32_t stack(struct trace *trace, long number)
{
	return mt_defs_add_node(trace->defs, place(trace, LINES + number / LINES), frame(trace, number % LINES));
}

static inline void tensor_from(struct trace *trace, uint64_t addr, uint64_t size, uint32_t stack, uint32_t thread)
{
	trace->total += size;
	put(trace, (struct mt_event){ .kind = MT_TENSOR_ALLOC,
				      .addr = addr,
				      .size = size,
				      .stack = stack,
				      .thread = thread,
				      .device = trace->device,
				      .total = trace->total,
				      .reserved = trace->reserved });
}

static inline void tensor(struct trace *trace, uint64_t addr)
{
	tensor_from(trace, addr, UNIT, trace->stack, 1);
}

static inline void tensor_free(struct trace *trace, uint64_t addr)
{
	trace->total -= UNIT;
	put(trace, (struct mt_event){ .kind = MT_TENSOR_FREE,
				      .addr = addr,
				      .size = UNIT,
				      .stack = trace->root,
				      .device = trace->device,
				      .total = trace->total,
				      .reserved = trace->reserved });
}

static inline void segment(struct trace *trace, uint64_t addr, uint64_t size)
{
	trace->reserved += size;
	put(trace, (struct mt_event){ .kind = MT_DRIVER_ALLOC,
				      .addr = addr,
				      .size = size,
				      .stack = trace->stack,
				      .device = trace->device });
}

/* Address of the n-th UNIT bytes. */
static inline uint64_t at(long n)
{
	return BASE + (uint64_t)n * UNIT;
}

static inline void begin_phase(struct trace *trace, long number)
{
	static const char *const names[] = { "init",    "rollout",  "logprob",   "ref",          "critic",
					     "forward", "backward", "optimizer", "weight-update" };

	put(trace, (struct mt_event){ .kind = MT_PHASE_PUSH, .name = text(trace, names[number % 9]) });
}

static inline void end_phase(struct trace *trace)
{
	put(trace, (struct mt_event){ .kind = MT_PHASE_POP });
}

static inline void end_step(struct trace *trace)
{
	trace->step++;
	put(trace, (struct mt_event){ .kind = MT_STEP, .value = trace->step, .name = text(trace, "step") });
}

static inline uint32_t thread(struct trace *trace, long number)
{
	struct mt_thread thread = { .tid = (uint32_t)(5000 + number), .name = numbered(trace, "thread ", number, "") };

	return mt_defs_add_thread(trace->defs, &thread);
}

#endif
