/*
 * trace_maker.h - writes small traces for the analyzer's tests, event by event, with as little typing as possible.
 */
#ifndef TRACE_MAKER_H
#define TRACE_MAKER_H

#include <string.h>
#include "memtrace/writer.h"
#include "test.h"

#define MIB (1ull << 20)
#define MAKER_START 5000000000ull /* CLOCK_MONOTONIC of the first process's start, ns */

struct maker {
	struct mt_writer *writer;
	struct mt_defs *defs;
	uint64_t seq, time;             /* facts of the newest event */
	uint32_t thread, device, stack; /* facts of the events to come */
	uint32_t cuda, cpu, main_thread;
	uint64_t total; /* allocator's own, of `device` */
};

static inline uint32_t maker_string(struct maker *maker, const char *text)
{
	return mt_defs_add_string(maker->defs, text, strlen(text));
}

static inline uint32_t maker_device(struct maker *maker, uint32_t kind, uint32_t index, const char *name,
				    const char *uuid, uint64_t total)
{
	struct mt_device device = { .kind = kind, .index = index, .total = total };

	device.name = maker_string(maker, name);
	device.uuid = *uuid ? maker_string(maker, uuid) : 0;
	return mt_defs_add_device(maker->defs, &device);
}

/* Opens a trace of process `pid`, with GPU 0 ("GPU-0000") of `memory` bytes, the CPU, and a main thread. */
static inline void maker_open_with(struct maker *maker, const char *path, uint32_t pid, int rank, uint64_t memory,
				   const struct mt_writer_options *options)
{
	struct mt_process process = {
		.pid = pid,
		.ppid = 1,
		.rank = rank,
		.depth = 32,
		.tool_version = 0x000100,
		.python_version = 0x030b04f0,
		.start_monotonic = MAKER_START,
		.start_realtime = 1700000000000000000ull,
		.clock_error = 50,
		.host = "node",
		.boot_id = "11111111-2222-3333-4444-555555555555",
		.command = "python train.py",
	};
	struct mt_thread thread = { .tid = pid, .flags = MT_THREAD_MAIN };

	memset(maker, 0, sizeof(*maker));
	CHECK_EQ(mt_writer_open(&maker->writer, path, &process, options), 0);
	maker->defs = mt_writer_defs(maker->writer);
	maker->time = MAKER_START;
	thread.name = maker_string(maker, "main");
	maker->thread = maker->main_thread = mt_defs_add_thread(maker->defs, &thread);
	maker->cuda = maker_device(maker, MT_DEVICE_CUDA, 0, "Test GPU", "GPU-0000", memory);
	maker->cpu = maker_device(maker, MT_DEVICE_CPU, 0, "CPU", "", 0);
	maker->device = maker->cuda;
}

static inline void maker_open_on(struct maker *maker, const char *path, uint32_t pid, int rank, uint64_t memory)
{
	maker_open_with(maker, path, pid, rank, memory, NULL);
}

/* The same, of 1 GiB. */
static inline void maker_open(struct maker *maker, const char *path, uint32_t pid, int rank)
{
	maker_open_on(maker, path, pid, rank, 1024 * MIB);
}

/* Writes one event a microsecond after the one before. */
static inline void maker_event(struct maker *maker, struct mt_event event)
{
	event.seq = ++maker->seq;
	event.time = maker->time += 1000;
	event.thread = maker->thread;
	CHECK_EQ(mt_writer_event(maker->writer, &event, 0, 0), 0);
}

static inline uint32_t maker_python(struct maker *maker, uint32_t parent, const char *function, const char *file,
				    uint32_t line)
{
	struct mt_frame frame = { .kind = MT_FRAME_PYTHON, .line = line };

	frame.function = maker_string(maker, function);
	frame.file = maker_string(maker, file);
	return mt_defs_add_node(maker->defs, parent, mt_defs_add_frame(maker->defs, &frame));
}

static inline uint32_t maker_native(struct maker *maker, uint32_t parent, const char *path, uint64_t offset)
{
	struct mt_module module = { .build_id_size = 4, .build_id = { 1, 2, 3, 4 }, .start = 0x1000, .end = 0x100000 };
	struct mt_frame frame = { .kind = MT_FRAME_NATIVE, .offset = offset };

	module.path = maker_string(maker, path);
	frame.module = mt_defs_add_module(maker->defs, &module);
	return mt_defs_add_node(maker->defs, parent, mt_defs_add_frame(maker->defs, &frame));
}

static inline void maker_phase(struct maker *maker, const char *name)
{
	maker_event(maker, (struct mt_event){ .kind = MT_PHASE_PUSH, .name = maker_string(maker, name) });
}

static inline void maker_phase_end(struct maker *maker)
{
	maker_event(maker, (struct mt_event){ .kind = MT_PHASE_POP });
}

static inline void maker_driver_alloc(struct maker *maker, uint64_t addr, uint64_t size)
{
	maker_event(maker, (struct mt_event){ .kind = MT_DRIVER_ALLOC,
					      .device = maker->device,
					      .stack = maker->stack,
					      .addr = addr,
					      .size = size });
}

static inline void maker_driver_free(struct maker *maker, uint64_t addr)
{
	maker_event(maker, (struct mt_event){ .kind = MT_DRIVER_FREE, .stack = maker->stack, .addr = addr });
}

static inline void maker_tensor_alloc(struct maker *maker, uint64_t addr, uint64_t size)
{
	maker->total += size;
	maker_event(maker, (struct mt_event){ .kind = MT_TENSOR_ALLOC,
					      .device = maker->device,
					      .stack = maker->stack,
					      .addr = addr,
					      .size = size,
					      .total = maker->total });
}

static inline void maker_tensor_free(struct maker *maker, uint64_t addr, uint64_t size)
{
	maker->total -= size;
	maker_event(maker, (struct mt_event){ .kind = MT_TENSOR_FREE,
					      .device = maker->device,
					      .stack = maker->stack,
					      .addr = addr,
					      .size = size,
					      .total = maker->total });
}

static inline void maker_step(struct maker *maker, uint64_t step)
{
	maker_event(maker,
		    (struct mt_event){ .kind = MT_STEP, .value = step, .name = maker_string(maker, "memrec_step") });
}

static inline void maker_close(struct maker *maker)
{
	maker_event(maker, (struct mt_event){ .kind = MT_END, .value = MT_END_EXIT });
	CHECK_EQ(mt_writer_close(maker->writer, 1), 0);
}

#endif
