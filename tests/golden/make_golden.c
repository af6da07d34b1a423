/*
 * make_golden.c - makes the golden files: make_golden DIRECTORY. See README.md.
 *
 * Files that are there already stay as they are: what a writer made once, readers have to read for ever.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "bad.h"
#include "build.h"
#include "dump.h"
#include "memtrace/base.h"
#include "memtrace/writer.h"
#include "trace/defs.h"

static const struct mt_process process = {
	.pid = 4711,
	.ppid = 12,
	.rank = 3,
	.depth = 32,
	.python_version = 0x030c01f0,
	.tool_version = 0x000100,
	.start_monotonic = 98765432109876,
	.start_realtime = 1700000000123456789,
	.clock_error = 420,
	.host = "node-7",
	.boot_id = "0b0c6b1e-5b7c-4f8a-9d1e-3a2b1c0d9e8f",
	.command = "python train.py --lr 1e-6",
	.options = "depth=32",
	.ring_path = "/dev/shm/memrec.4711",
};

static void check(const char *what, int error)
{
	if (!error)
		return;
	fprintf(stderr, "make_golden: %s: %s\n", what, mt_strerror(error));
	exit(4);
}

static uint32_t string(struct mt_defs *defs, const char *text)
{
	return mt_defs_add_string(defs, text, strlen(text));
}

static void define(struct mt_defs *defs)
{
	struct mt_module module = { .path = string(defs, "/usr/lib/libc10_cuda.so"),
				    .build_id_size = 20,
				    .start = 0x7f0012340000,
				    .end = 0x7f0012380000,
				    .bias = 0x7f0012340000 };
	struct mt_frame python = { .kind = MT_FRAME_PYTHON,
				   .function = string(defs, "Trainer.fit"),
				   .file = string(defs, "train.py"),
				   .line = 120 };
	struct mt_frame native = { .kind = MT_FRAME_NATIVE, .offset = 0x1f3a7 };
	struct mt_frame elided = { .kind = MT_FRAME_ELIDED };
	struct mt_thread thread = { .tid = 4711, .flags = MT_THREAD_MAIN };
	struct mt_device device = { .kind = MT_DEVICE_CUDA, .index = 0, .total = 80ull << 30 };
	uint32_t node;

	memcpy(module.build_id, "\x01\x23\x45\x67\x89\xab\xcd\xef\x10\x32\x54\x76\x98\xba\xdc\xfe\x11\x22\x33\x44", 20);
	native.module = mt_defs_add_module(defs, &module);
	node = mt_defs_add_node(defs, 0, mt_defs_add_frame(defs, &python));
	node = mt_defs_add_node(defs, node, mt_defs_add_frame(defs, &elided));
	mt_defs_add_node(defs, node, mt_defs_add_frame(defs, &native));
	thread.name = string(defs, "main \xc3\xa9 \"quoted\"");
	mt_defs_add_thread(defs, &thread);
	mt_defs_add_thread(defs, &(struct mt_thread){ .tid = 4720,
						      .name = string(defs, "pt_autograd_0"),
						      .flags = MT_THREAD_AUTOGRAD });
	device.name = string(defs, "NVIDIA H100 80GB HBM3");
	device.uuid = string(defs, "GPU-5d5b1fe1-5d2b-4b43-8bd3-0e0c3a1f6a01");
	mt_defs_add_device(defs, &device);
	mt_defs_add_device(defs, &(struct mt_device){ .kind = MT_DEVICE_CPU });
}

/* Every kind but LIVE and CUT, `rounds` times; every field the kind has gets a value. */
static void write_all_kinds(struct mt_writer *writer, uint64_t rounds)
{
	static const uint32_t kinds[] = {
#define KIND(name, number, fields, meaning) number,
		MT_KIND_LIST(KIND)
#undef KIND
	};
	struct mt_event event;
	uint64_t seq = 0, round;
	size_t i;

	for (round = 0; round < rounds; round++)
		for (i = 0; i < MT_ARRAY_SIZE(kinds); i++) {
			uint32_t fields = mt_kind_fields(kinds[i]);

			if (kinds[i] == MT_LIVE || kinds[i] == MT_CUT)
				continue;
			seq += 1 + i % 3;
			event = (struct mt_event){ .kind = kinds[i],
						   .seq = seq,
						   .time = 98765432110000 + 977 * seq - 50 * (i % 2),
						   .thread = 1 + i % 2 };
#define FILL(name, number, encoding, meaning)                  \
	if (fields & MT_F(name) && (number) > MT_FIELD_thread) \
		event.name = (uint64_t)(number)*100 + i * 64 * round;
			MT_FIELD_LIST(FILL)
#undef FILL
			event.stack = fields & MT_F(stack) ? 1 + i % 3 : 0;
			event.device = fields & MT_F(device) ? 1 + round % 2 : 0;
			event.name = fields & MT_F(name) ? 1 + i % 5 : 0;
			event.addr = fields & MT_F(addr) ? 0x7f2000000000 + (i * 2 << 20) + round : 0;
			event.flags = fields & MT_F(flags) ? round % 5 : 0;
			if (mt_kind_has_second_name(kinds[i]))
				event.value = round % 3;
			check("event", mt_writer_event(writer, &event, (uint32_t)(i % 10), (uint32_t)round));
		}
}

static void make_kinds(const char *path)
{
	struct mt_writer_options options = { .chunk_events = 40, .checkpoint_events = 80 };
	struct mt_writer *writer;

	check(path, mt_writer_open(&writer, path, &process, &options));
	define(mt_writer_defs(writer));
	write_all_kinds(writer, 4);
	check(path, mt_writer_close(writer, 1));
}

/* Kinds that came later: `v1-kinds` was there before them. */
static void make_more_kinds(const char *path)
{
	struct mt_writer_options options = { .chunk_events = 70 };
	struct mt_writer *writer;

	check(path, mt_writer_open(&writer, path, &process, &options));
	define(mt_writer_defs(writer));
	write_all_kinds(writer, 3);
	check(path, mt_writer_close(writer, 1));
}

/* A flight recorder after a while, with an out-of-memory error far back: three stretches, each after a cut. */
static void make_keep(const char *path)
{
	struct mt_writer_options options = { .chunk_events = 40, .keep = 3000 };
	struct mt_event event;
	struct mt_writer *writer;
	uint64_t i;

	check(path, mt_writer_open(&writer, path, &process, &options));
	define(mt_writer_defs(writer));
	for (i = 1; i < 4000; i++) {
		event = (struct mt_event){ .kind = i % 3 ? MT_TENSOR_ALLOC : MT_TENSOR_FREE,
					   .seq = 64 * i,
					   .thread = 1,
					   .time = 98765432110000 + 977 * i,
					   .device = 1,
					   .size = 512 * (1 + i % 7),
					   .addr = 0x7f2000000000 + i / 3 % 11 * 8192 };
		event.addr += i % 3 == 2 ? 4096 : 0;
		if (i % 100 == 0)
			event.kind = MT_STEP;
		else if (i == 750 || i == 2450)
			event.kind = MT_TENSOR_OOM;
		else if (i % 100 == 30)
			event.kind = MT_RANGE_PUSH;
		else if (i % 100 == 90)
			event.kind = MT_RANGE_POP;
		event.value = event.kind == MT_STEP ? i / 100 : 0;
		event.name = event.kind == MT_STEP || event.kind == MT_RANGE_PUSH ? 1 + i % 5 : 0;
		check("event", mt_writer_event(writer, &event, 6, (uint32_t)(1 + i / 100)));
		mt_writer_trim(writer);
		check(path, mt_writer_trim_error(writer));
	}
	check(path, mt_writer_close(writer, 1));
}

/* The samples of NVML and of the host between the calls of a program that is killed in the end. */
static void make_samples(const char *path)
{
	const uint64_t known = 1, took = 25 << 8, gib = 1ull << 30;
	const struct mt_event events[] = {
		{ .kind = MT_SOURCE, .flags = MT_SOURCE_GPU, .value = MT_SOURCE_ON },
		{ .kind = MT_SOURCE, .flags = MT_SOURCE_HOST, .value = MT_SOURCE_ON },
		{ .kind = MT_DRIVER_NOTE, .stack = 3, .device = 1, .handle = 0x55aa00001000, .entry = 386 },
		{ .kind = MT_GPU_SAMPLE,
		  .device = 1,
		  .size = gib,
		  .offset = gib / 2,
		  .value = 80 * gib,
		  .flags = took | known },
		{ .kind = MT_DRIVER_ALLOC,
		  .stack = 3,
		  .device = 1,
		  .addr = 0x7f2000000000,
		  .size = 4 * gib,
		  .entry = 243,
		  .handle = 0x55aa00001000,
		  .flags = MT_SPACE_GRAPH },
		/* Its reading began before the allocation. */
		{ .kind = MT_GPU_SAMPLE, .time = 3500, .device = 1, .size = 5 * gib, .value = 80 * gib, .flags = took },
		{ .kind = MT_DRIVER_ALLOC,
		  .device = 1,
		  .addr = 0x7f4000000000,
		  .size = gib,
		  .entry = 675,
		  .flags = MT_SPACE_MULTICAST },
		{ .kind = MT_HOST_SAMPLE, .size = 3 * gib, .handle = 200 * gib, .offset = 16 * gib, .value = 15 * gib },
		{ .kind = MT_DRIVER_NOTE, .entry = 242, .device = 1, .size = 80 * gib, .value = 75 * gib },
		{ .kind = MT_CONTEXT_GONE, .stack = 3, .device = 1, .handle = 0x55aa00001000, .entry = 387 },
		{ .kind = MT_HOST_SAMPLE, .handle = 203 * gib, .offset = 16 * gib, .value = 12 * gib, .flags = 1 },
		{ .kind = MT_END, .value = MT_END_KILLED },
	};
	struct mt_writer *writer;
	struct mt_event event;
	size_t i;

	check(path, mt_writer_open(&writer, path, &process, NULL));
	define(mt_writer_defs(writer));
	for (i = 0; i < MT_ARRAY_SIZE(events); i++) {
		event = events[i];
		event.seq = 64 * (i + 1);
		event.time = 98765432110000 + (event.time ? event.time : 1000 * i);
		event.thread = 1;
		check("event", mt_writer_event(writer, &event, 1, 1));
	}
	check(path, mt_writer_close(writer, 1));
}

/* A census of three tensors: one by name alone, one twice; what goes before and comes after it in other chunks. */
static void make_census(const char *path)
{
	struct mt_writer_options options = { .chunk_events = 4 };
	const uint64_t base = 0x7f2000000000, second = 2 << MT_CENSUS_NUMBER_SHIFT;
	struct mt_writer *writer;
	struct mt_defs *defs;
	uint32_t embed, head, text, gone, i;

	check(path, mt_writer_open(&writer, path, &process, &options));
	defs = mt_writer_defs(writer);
	define(defs);
	embed = string(defs, "model.embed_tokens.weight");
	head = string(defs, "lm_head.weight");
	text = string(defs, "bfloat16 32000x64 16000x64 Embedding AdamW#1 - Qwen2ForCausalLM#1");
	gone = string(defs, "bfloat16 4096x64 0 Linear AdamW#1 ds_tensor Qwen2ForCausalLM#1");
	{
		const struct mt_event events[] = {
			{ .kind = MT_TENSOR_ALLOC,
			  .stack = 1,
			  .addr = base,
			  .size = 16000 * 64 * 2,
			  .total = 16000 * 64 * 2 },
			{ .kind = MT_TENSOR_ALLOC,
			  .stack = 3,
			  .addr = base + (4 << 20),
			  .size = 4 << 20,
			  .total = (16000 * 64 * 2) + (4 << 20) },
			{ .kind = MT_SOURCE, .flags = MT_SOURCE_CENSUS, .value = MT_SOURCE_ON },
			{ .kind = MT_MARK, .name = embed },
			{ .kind = MT_CENSUS,
			  .addr = base,
			  .size = 16000 * 64 * 2,
			  .name = embed,
			  .value = text,
			  .flags = second | MT_CENSUS_WEIGHT },
			{ .kind = MT_CENSUS,
			  .addr = base,
			  .size = 16000 * 64 * 2,
			  .name = head,
			  .value = text,
			  .flags = second | MT_CENSUS_TIED | MT_CENSUS_WEIGHT },
			{ .kind = MT_CENSUS,
			  .addr = base + (5 << 20),
			  .size = 3 << 20,
			  .name = embed,
			  .value = text,
			  .flags = second | MT_CENSUS_GRADIENT },
			{ .kind = MT_CENSUS, .name = head, .value = gone, .flags = second | MT_CENSUS_WEIGHT },
			{ .kind = MT_STEP, .value = 1, .name = 1 },
			{ .kind = MT_END, .value = MT_END_EXIT },
		};

		for (i = 0; i < MT_ARRAY_SIZE(events); i++) {
			struct mt_event event = events[i];

			event.seq = 64 * (i + 1);
			event.time = 98765432110000 + 1000 * i;
			event.thread = 1;
			event.device = mt_kind_fields(event.kind) & MT_F(device) ? 1 : 0;
			check("event", mt_writer_event(writer, &event, 1, 1));
		}
	}
	check(path, mt_writer_close(writer, 1));
}

/* Blocks that come and go at the same addresses: in two chunks, within reach and beyond it, a free of nothing known. */
static void make_again(const char *path)
{
	struct mt_writer_options options = { .chunk_events = 40 };
	struct mt_event event;
	struct mt_writer *writer;
	uint64_t i;

	check(path, mt_writer_open(&writer, path, &process, &options));
	define(mt_writer_defs(writer));
	for (i = 0; i < 70; i++) {
		event = (struct mt_event){ .kind = i % 3 == 2 ? MT_TENSOR_FREE : MT_TENSOR_ALLOC,
					   .seq = 64 * (i + 1),
					   .time = 98765432110000 + 1000 * i,
					   .thread = 1,
					   .device = 1,
					   .stack = 1 + i % 3,
					   .addr = 0x7f2000000000 + i * 7 % 5 * 4096 + i % 2,
					   .size = 4096,
					   .flags = MT_FLAG_NO_TOTAL };
		if (i == 33)
			event = (struct mt_event){ .kind = MT_DRIVER_FREE,
						   .seq = event.seq,
						   .time = event.time,
						   .thread = 1,
						   .addr = UINT64_MAX };
		check("event", mt_writer_event(writer, &event, 1, 1));
	}
	check(path, mt_writer_close(writer, 1));
}

/* Names of native frames, in chunks behind the last event: a recorder that went on wrote the second one. */
static void make_symbols(const char *path)
{
	struct mt_writer *writer;
	struct mt_defs *defs;
	uint32_t name;

	check(path, mt_writer_open(&writer, path, &process, NULL));
	defs = mt_writer_defs(writer);
	define(defs);
	write_all_kinds(writer, 1);
	check(path, mt_writer_flush(writer));
	name = string(defs, "_ZN3c104cuda20CUDACachingAllocator9raw_allocEm");
	mt_defs_add_symbol(defs, &(struct mt_symbol){ .frame = 3, .name = name });
	check(path, mt_writer_flush(writer));
	mt_defs_add_symbol(defs, &(struct mt_symbol){ .frame = 1, .name = name }); /* a Python frame has its own */
	mt_defs_add_symbol(defs, &(struct mt_symbol){ .frame = 3, .name = string(defs, "raw_alloc \x1b[31m") });
	check(path, mt_writer_close(writer, 1));
}

/* One name of an instance; at its end a telling has how many it has told. */
static void tell(struct mt_writer *writer, uint64_t *seq, uint32_t telling, uint64_t address, const char *name)
{
	struct mt_event event = { .kind = MT_INSTANCE_NAME, .thread = 1, .flags = telling, .addr = address };
	struct mt_defs *defs = mt_writer_defs(writer);

	event.seq = (*seq)++;
	event.time = 98765432120000 + 500 * event.seq;
	if (address) {
		event.name = string(defs, name);
		event.value = string(defs, "Qwen2Model#1");
	} else {
		event.size = 2;
	}
	check("names", mt_writer_event(writer, &event, 7, 3));
}

/* As writers did before VARIANT: a node of its own, whatever other nodes there are. */
static uint32_t nested_node(struct mt_defs *defs, uint32_t parent, uint32_t frame, uint32_t nest)
{
	union mt_definition node = { .node = { parent, frame, 0 } }, nested;

	check("node", mt_defs_append(defs, MT_DEF_NODE, &node));
	nested = (union mt_definition){ .nested = { mt_defs_count(defs, MT_DEF_NODE), nest } };
	check("nested", mt_defs_append(defs, MT_DEF_NESTED, &nested));
	return nested.nested.node;
}

typedef uint32_t add_in(struct mt_defs *defs, uint32_t parent, uint32_t frame, uint32_t nest);

/* Modules that call one another, in a stack of their own and in elided frames; the second chunk has more of both. */
static void write_modules(const char *path, add_in *add)
{
	struct mt_event event = { .kind = MT_TENSOR_ALLOC, .thread = 1, .device = 1, .size = 4096 };
	struct mt_writer *writer;
	struct mt_defs *defs;
	uint32_t model, layer, first, second, telling;
	uint64_t seq = 6;

	check(path, mt_writer_open(&writer, path, &process, NULL));
	defs = mt_writer_defs(writer);
	define(defs);
	model = mt_defs_add_nest(defs, 0, mt_defs_add_instance(defs, 0x7f0012340010, string(defs, "Qwen2Model")));
	layer = mt_defs_add_nest(defs, model, mt_defs_add_instance(defs, 0x7f0012340020, string(defs, "Layer")));
	first = add(defs, 0, 1, model);
	second = add(defs, first, 2, layer);
	for (event.seq = 1; event.seq < 5; event.seq++) {
		event.stack = event.seq % 2 ? second : first;
		event.addr = 0x7f2000000000 + event.seq * 4096;
		event.time = 98765432110000 + 500 * event.seq;
		check(path, mt_writer_event(writer, &event, 7, 3));
	}
	check(path, mt_writer_flush(writer));
	layer = mt_defs_add_nest(defs, model, mt_defs_add_instance(defs, 0x7f0012340030, string(defs, "Layer")));
	event.stack = add(defs, first, 2, layer);
	event.addr += 4096;
	check(path, mt_writer_event(writer, &event, 7, 3));
	for (telling = 1; telling < 3; telling++) {
		tell(writer, &seq, telling, 0x7f0012340020, "model.layers.0");
		tell(writer, &seq, telling, 0x7f0012340030, "model.layers.1");
		tell(writer, &seq, telling, 0, "");
	}
	check(path, mt_writer_close(writer, 1));
}

static void make_nests(const char *path)
{
	write_modules(path, nested_node);
}

static void make_variants(const char *path)
{
	write_modules(path, mt_defs_add_node_in);
}

/* A process that says which run it is of. */
static void make_run(const char *path)
{
	struct mt_process told = process;
	struct mt_writer *writer;

	told.run = "slurm=42.0 master=node-7.29500 elastic=again ray=01000000 launch=0123456789abcdef later=1";
	check(path, mt_writer_open(&writer, path, &told, NULL));
	define(mt_writer_defs(writer));
	write_all_kinds(writer, 1);
	check(path, mt_writer_close(writer, 1));
}

/* As a crash leaves it: no index, a torn last chunk. */
static void make_crash(const char *path)
{
	struct mt_writer_options options = { .chunk_events = 25 };
	struct mt_writer *writer;
	struct stat st;

	check(path, mt_writer_open(&writer, path, &process, &options));
	define(mt_writer_defs(writer));
	write_all_kinds(writer, 2);
	check(path, mt_writer_close(writer, 0));
	if (stat(path, &st) || truncate(path, st.st_size - 11))
		check(path, -MT_E_SYSTEM);
}

/* The recording begins late: the first thing in the file is what was alive then. */
static void make_skip(const char *path)
{
	struct mt_event event = { .kind = MT_TENSOR_ALLOC };
	struct mt_writer *writer;

	check(path, mt_writer_open(&writer, path, &process, NULL));
	define(mt_writer_defs(writer));
	event.thread = event.device = 1;
	for (event.seq = 1; event.seq < 20; event.seq++) {
		event.stack = event.seq % 4;
		event.kind = event.seq % 5 ? MT_TENSOR_ALLOC : MT_TENSOR_FREE;
		event.addr = 0x7f2000000000 + (event.seq % 5 ? event.seq : event.seq - 2) * 4096;
		event.size = 4096;
		event.time = 98765432110000 + 500 * event.seq;
		if (event.seq < 14)
			check(path, mt_writer_skip(writer, &event, 6, 2));
		else
			check(path, mt_writer_event(writer, &event, 7, 3));
	}
	check(path, mt_writer_close(writer, 1));
}

/* The index as a later writer may have it: longer entries. */
static void later_index(struct build *build)
{
	const size_t head = MT_SKIPPABLE_HEADER, entry = 80, longer = 96, start = build->out.size;
	struct mt_buffer index = { 0 };
	uint32_t i, count = build->list.count;

	check("index", mt_index_encode(build->list.info, count, &index));
	mt_buffer_put_u32(&build->out, MT_SKIPPABLE_INDEX);
	mt_buffer_put_u32(&build->out, (uint32_t)(count * longer + 24));
	for (i = 0; i < count; i++) {
		mt_buffer_put(&build->out, index.data + head + i * entry, entry);
		mt_buffer_put(&build->out, "sixteen bytes...", longer - entry);
	}
	mt_buffer_put_u32(&build->out, count);
	mt_buffer_put_u32(&build->out, (uint32_t)longer);
	mt_buffer_put_u64(&build->out, XXH64(build->out.data + start, build->out.size - start, 0));
	mt_buffer_put(&build->out, "MEMINDEX", 8);
	mt_buffer_release(&index);
}

/* Additions that a later writer of version 1 may make everywhere; a reader of today skips them. */
static void make_later(const char *path)
{
	struct build build;

	build_begin(&build);
	mt_buffer_put_u32(&build.out, MT_SKIPPABLE_RECOGNITION);
	mt_buffer_put_u32(&build.out, 20);
	mt_buffer_put(&build.out, MT_TRACE_MAGIC, 8);
	mt_buffer_put_u32(&build.out, 1);
	mt_buffer_put(&build.out, "anything", 8);
	mt_process_encode(&process, &build.payload);
	mt_payload_section(&build.payload, 500, BYTES(1, 2, 3));
	build_chunk(&build, (struct mt_chunk_info){ 0 });

	/* Definitions with a section of their own for something new, and more behind the known ones. */
	mt_payload_begin(&build.payload, MT_CHUNK_DEFS);
	mt_payload_section(&build.payload, MT_DEF_STRING, BYTES(1, 1, 3, 'n', 'e', 'w', 9, 9, 9));
	mt_payload_section(&build.payload, MT_DEF_THREAD, BYTES(1, 1, 7, 1, 0));
	mt_payload_section(&build.payload, 32, BYTES(1, 1, 5));
	build_chunk(&build, (struct mt_chunk_info){ 0 });

	/* A chunk of an unknown kind. */
	mt_payload_begin(&build.payload, 200);
	mt_buffer_put(&build.payload, "this need not even be sections", 30);
	build_chunk(&build, (struct mt_chunk_info){ 0 });

	/*
	 * Three events: mark, kind 241, mark. Kind 241 has field 56, which nobody knows, and field 13; the marks have
	 * field 6, which is not one of theirs today. SUMMARY has a ninth figure.
	 */
	mt_payload_begin(&build.payload, MT_CHUNK_EVENTS);
	mt_payload_section(&build.payload, MT_SECTION_SUMMARY, BYTES(3, 1, 9, 10, 30, 0, 0, 0, 77));
	mt_payload_section(&build.payload, MT_SECTION_KINDS, BYTES(MT_MARK, 241, MT_MARK));
	mt_payload_section(&build.payload, MT_SECTION_LAYOUT,
			   BYTES(MT_MARK, 0xc7, 0x40, 0xf1, 1, 0x87, 0xc0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1));
	mt_payload_section(&build.payload, 7, BYTES(1, 2, 3));
	mt_payload_section(&build.payload, MT_SECTION_COLUMN + MT_FIELD_seq, BYTES(0, 3, 3));
	mt_payload_section(&build.payload, MT_SECTION_COLUMN + MT_FIELD_time, BYTES(20, 20, 20));
	mt_payload_section(&build.payload, MT_SECTION_COLUMN + MT_FIELD_thread, BYTES(1, 0, 1));
	mt_payload_section(&build.payload, MT_SECTION_COLUMN + MT_FIELD_size, BYTES(100, 0x80, 1));
	mt_payload_section(&build.payload, MT_SECTION_COLUMN + MT_FIELD_name, BYTES(1, 1, 0));
	mt_payload_section(&build.payload, MT_SECTION_COLUMN + 56, BYTES(42));
	build_chunk(&build, (struct mt_chunk_info){
				    .events = 3, .first_seq = 1, .last_seq = 9, .first_time = 10, .last_time = 30 });
	later_index(&build);
	build_save(&build, path);
	build_release(&build);
}

static void make_optimizer(const char *path)
{
	static const uint8_t kinds[] = { MT_BACKWARD_BEGIN, MT_BACKWARD_END, MT_OPTIMIZER_STEP, MT_STEP, MT_END };
	struct mt_event event = { .time = 98765432110000, .thread = 1 };
	struct mt_writer *writer;
	uint32_t i;

	check(path, mt_writer_open(&writer, path, &process, NULL));
	define(mt_writer_defs(writer));
	for (i = 0; i < MT_ARRAY_SIZE(kinds); i++) {
		event.kind = kinds[i];
		event.seq++;
		event.time += 1000;
		event.value = kinds[i] == MT_STEP ? 1 : kinds[i] == MT_END ? MT_END_EXIT : 0;
		event.name = kinds[i] == MT_STEP;
		check("event", mt_writer_event(writer, &event, 1, 1));
	}
	check(path, mt_writer_close(writer, 1));
}

static const struct {
	const char *name;
	void (*make)(const char *path);
} good_files[] = {
	{ "v1-kinds", make_kinds },
	{ "v1-crash", make_crash },
	{ "v1-skip", make_skip },
	{ "v1-later", make_later },
	{ "v1-kinds-more", make_more_kinds },
	{ "v1-keep", make_keep },
	{ "v1-samples", make_samples },
	{ "v1-census", make_census },
	{ "v1-again", make_again },
	{ "v1-symbols", make_symbols },
	{ "v1-run", make_run },
	{ "v1-nests", make_nests },
	{ "v1-variants", make_variants },
	{ "v1-optimizer", make_optimizer },
};

static void make_dump(const char *path, const char *text_path)
{
	FILE *out = fopen(text_path, "w");

	if (!out)
		check(text_path, -MT_E_SYSTEM);
	check(path, dump_trace(out, path));
	if (fclose(out))
		check(text_path, -MT_E_SYSTEM);
}

static void make_bad(const char *path, const struct bad *bad)
{
	struct build build;

	build_begin(&build);
	if (bad->events != NEVER_OPENS) {
		build_head(&build);
		build_defs(&build);
		build_marks(&build, 1, NULL);
	}
	bad->make(&build);
	build_save(&build, path);
	build_release(&build);
}

int main(int argc, char **argv)
{
	const char *directory = argc > 1 ? argv[1] : ".";
	const struct bad *bad;
	char path[512], text[512];
	FILE *list;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(good_files); i++) {
		snprintf(path, sizeof(path), "%s/%s.zst", directory, good_files[i].name);
		snprintf(text, sizeof(text), "%s/%s.txt", directory, good_files[i].name);
		if (!access(path, F_OK))
			continue;
		good_files[i].make(path);
		make_dump(path, text);
	}
	snprintf(path, sizeof(path), "%s/bad/LIST", directory);
	list = fopen(path, "w");
	if (!list)
		check(path, -MT_E_SYSTEM);
	for (bad = __start_bad_files; bad < __stop_bad_files; bad++) {
		fprintf(list, "%s %s %d\n", bad->name, bad->error, bad->events);
		snprintf(path, sizeof(path), "%s/bad/%s.zst", directory, bad->name);
		if (access(path, F_OK))
			make_bad(path, bad);
	}
	return fclose(list) ? 4 : 0;
}
