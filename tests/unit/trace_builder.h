/*
 * trace_builder.h - writes small traces for the analyzer's tests, event by event, with as little typing as possible.
 */
#ifndef TRACE_BUILDER_H
#define TRACE_BUILDER_H

#include <string.h>
#include "memtrace/writer.h"
#include "test.h"

#define MIB (1ull << 20)
#define BUILDER_START 5000000000ull /* CLOCK_MONOTONIC of the first process's start, ns */

struct builder {
	struct mt_writer *writer;
	struct mt_defs *defs;
	uint64_t seq, time;             /* facts of the newest event */
	uint32_t thread, device, stack; /* facts of the events to come */
	uint32_t cuda, cpu, main_thread;
	uint64_t total; /* allocator's own, of `device` */
};

static inline uint32_t builder_string(struct builder *builder, const char *text)
{
	return mt_defs_add_string(builder->defs, text, strlen(text));
}

static inline uint32_t builder_device(struct builder *builder, uint32_t kind, uint32_t index, const char *name,
				      const char *uuid, uint64_t total)
{
	struct mt_device device = { .kind = kind, .index = index, .total = total };

	device.name = builder_string(builder, name);
	device.uuid = *uuid ? builder_string(builder, uuid) : 0;
	return mt_defs_add_device(builder->defs, &device);
}

/* The begin of processes that are opened from here on, ns. */
static uint64_t builder_start = BUILDER_START;

/* Opens a trace of process `pid`, with GPU 0 ("GPU-0000") of `memory` bytes, the CPU, and a main thread. */
static inline void builder_open_with(struct builder *builder, const char *path, uint32_t pid, int rank, uint64_t memory,
				     const struct mt_writer_options *options)
{
	struct mt_process process = {
		.pid = pid,
		.ppid = 1,
		.rank = rank,
		.depth = 32,
		.tool_version = 0x000100,
		.python_version = 0x030b04f0,
		.start_monotonic = builder_start,
		.start_realtime = 1700000000000000000ull,
		.clock_error = 50,
		.host = "node",
		.boot_id = "11111111-2222-3333-4444-555555555555",
		.command = "python train.py",
	};
	struct mt_thread thread = { .tid = pid, .flags = MT_THREAD_MAIN };

	memset(builder, 0, sizeof(*builder));
	CHECK_EQ(mt_writer_open(&builder->writer, path, &process, options), 0);
	builder->defs = mt_writer_defs(builder->writer);
	builder->time = builder_start;
	thread.name = builder_string(builder, "main");
	builder->thread = builder->main_thread = mt_defs_add_thread(builder->defs, &thread);
	builder->cuda = builder_device(builder, MT_DEVICE_CUDA, 0, "Test GPU", "GPU-0000", memory);
	builder->cpu = builder_device(builder, MT_DEVICE_CPU, 0, "CPU", "", 0);
	builder->device = builder->cuda;
}

static inline void builder_open_on(struct builder *builder, const char *path, uint32_t pid, int rank, uint64_t memory)
{
	builder_open_with(builder, path, pid, rank, memory, NULL);
}

/* The same, of 1 GiB. */
static inline void builder_open(struct builder *builder, const char *path, uint32_t pid, int rank)
{
	builder_open_on(builder, path, pid, rank, 1024 * MIB);
}

/* Writes one event a microsecond after the one before. */
static inline void builder_event(struct builder *builder, struct mt_event event)
{
	event.seq = ++builder->seq;
	event.time = builder->time += 1000;
	event.thread = builder->thread;
	CHECK_EQ(mt_writer_event(builder->writer, &event, 0, 0), 0);
}

static inline uint32_t builder_python(struct builder *builder, uint32_t parent, const char *function, const char *file,
				      uint32_t line)
{
	struct mt_frame frame = { .kind = MT_FRAME_PYTHON, .line = line };

	frame.function = builder_string(builder, function);
	frame.file = builder_string(builder, file);
	return mt_defs_add_node(builder->defs, parent, mt_defs_add_frame(builder->defs, &frame));
}

static inline uint32_t builder_native(struct builder *builder, uint32_t parent, const char *path, uint64_t offset)
{
	struct mt_module module = { .build_id_size = 4, .build_id = { 1, 2, 3, 4 }, .start = 0x1000, .end = 0x100000 };
	struct mt_frame frame = { .kind = MT_FRAME_NATIVE, .offset = offset };

	module.path = builder_string(builder, path);
	frame.module = mt_defs_add_module(builder->defs, &module);
	return mt_defs_add_node(builder->defs, parent, mt_defs_add_frame(builder->defs, &frame));
}

static inline void builder_phase(struct builder *builder, const char *name)
{
	builder_event(builder, (struct mt_event){ .kind = MT_PHASE_PUSH, .name = builder_string(builder, name) });
}

static inline void builder_phase_end(struct builder *builder)
{
	builder_event(builder, (struct mt_event){ .kind = MT_PHASE_POP });
}

static inline void builder_driver_alloc(struct builder *builder, uint64_t addr, uint64_t size)
{
	builder_event(builder, (struct mt_event){ .kind = MT_DRIVER_ALLOC,
						  .device = builder->device,
						  .stack = builder->stack,
						  .addr = addr,
						  .size = size });
}

static inline void builder_driver_free(struct builder *builder, uint64_t addr)
{
	builder_event(builder, (struct mt_event){ .kind = MT_DRIVER_FREE, .stack = builder->stack, .addr = addr });
}

static inline void builder_tensor_alloc(struct builder *builder, uint64_t addr, uint64_t size)
{
	builder->total += size;
	builder_event(builder, (struct mt_event){ .kind = MT_TENSOR_ALLOC,
						  .device = builder->device,
						  .stack = builder->stack,
						  .addr = addr,
						  .size = size,
						  .total = builder->total });
}

static inline void builder_tensor_free(struct builder *builder, uint64_t addr, uint64_t size)
{
	builder->total -= size;
	builder_event(builder, (struct mt_event){ .kind = MT_TENSOR_FREE,
						  .device = builder->device,
						  .stack = builder->stack,
						  .addr = addr,
						  .size = size,
						  .total = builder->total });
}

static inline void builder_step(struct builder *builder, uint64_t step)
{
	builder_event(builder, (struct mt_event){ .kind = MT_STEP,
						  .value = step,
						  .name = builder_string(builder, "memrec_step") });
}

static inline void builder_close(struct builder *builder)
{
	builder_event(builder, (struct mt_event){ .kind = MT_END, .value = MT_END_EXIT });
	CHECK_EQ(mt_writer_close(builder->writer, 1), 0);
}

#endif
