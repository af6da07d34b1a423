/*
 * trace_kit.h - for tests of the trace format: random definitions and events, traces that remember what went into
 * them, and files as bytes.
 */
#ifndef TRACE_KIT_H
#define TRACE_KIT_H

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "memtrace/reader.h"
#include "memtrace/writer.h"
#include "test.h"
#include "trace/defs.h"

/* ---- random numbers ---------------------------------------------------------------------------------------------- */

struct kit_random {
	uint64_t state;
};

static inline uint64_t kit_next(struct kit_random *random)
{
	uint64_t x = random->state += 0x9E3779B97F4A7C15ull;

	x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
	x = (x ^ x >> 27) * 0x94D049BB133111EBull;
	return x ^ x >> 31;
}

static inline uint64_t kit_below(struct kit_random *random, uint64_t bound)
{
	return kit_next(random) % bound;
}

/* Small, large, round and extreme numbers. */
static inline uint64_t kit_number(struct kit_random *random)
{
	uint64_t value = kit_next(random) >> kit_below(random, 64);

	switch (kit_below(random, 8)) {
	case 0:
		return 0;
	case 1:
		return UINT64_MAX - kit_below(random, 3);
	case 2:
		return value & ~(uint64_t)511;
	case 3:
		return 0x7f0000000000 + 512 * kit_below(random, 1 << 20);
	default:
		return value;
	}
}

/* ---- definitions ------------------------------------------------------------------------------------------------- */

static inline uint32_t kit_id(struct kit_random *random, const struct mt_defs *defs, enum mt_def kind)
{
	return (uint32_t)kit_below(random, (uint64_t)mt_defs_count(defs, kind) + 1);
}

static inline uint32_t kit_string(struct kit_random *random, struct mt_defs *defs)
{
	char text[400];
	size_t i, size = kit_below(random, kit_below(random, 4) ? 12 : sizeof(text));

	for (i = 0; i < size; i++)
		text[i] = (char)kit_next(random);
	return mt_defs_add_string(defs, text, size);
}

static inline uint32_t kit_module(struct kit_random *random, struct mt_defs *defs)
{
	struct mt_module module = { .path = kit_id(random, defs, MT_DEF_STRING),
				    .start = kit_number(random),
				    .end = kit_number(random),
				    .bias = kit_number(random) };
	uint32_t i;

	module.build_id_size = (uint32_t)kit_below(random, MT_BUILD_ID_MAX + 1);
	for (i = 0; i < module.build_id_size; i++)
		module.build_id[i] = (uint8_t)kit_next(random);
	return mt_defs_add_module(defs, &module);
}

static inline uint32_t kit_frame(struct kit_random *random, struct mt_defs *defs)
{
	struct mt_frame frame = { .kind = 1 + (uint32_t)kit_below(random, 3),
				  .function = kit_id(random, defs, MT_DEF_STRING),
				  .file = kit_id(random, defs, MT_DEF_STRING),
				  .line = (uint32_t)kit_number(random),
				  .module = kit_id(random, defs, MT_DEF_MODULE),
				  .offset = kit_number(random) };

	return mt_defs_add_frame(defs, &frame);
}

static inline uint32_t kit_thread(struct kit_random *random, struct mt_defs *defs)
{
	struct mt_thread thread = { .tid = (uint32_t)kit_number(random),
				    .name = kit_id(random, defs, MT_DEF_STRING),
				    .flags = (uint32_t)kit_below(random, 4) };

	return mt_defs_add_thread(defs, &thread);
}

static inline uint32_t kit_device(struct kit_random *random, struct mt_defs *defs)
{
	struct mt_device device = { .kind = (uint32_t)kit_below(random, 2),
				    .index = (uint32_t)kit_below(random, 40),
				    .name = kit_id(random, defs, MT_DEF_STRING),
				    .uuid = kit_id(random, defs, MT_DEF_STRING),
				    .total = kit_number(random) };

	return mt_defs_add_device(defs, &device);
}

static inline uint32_t kit_symbol(struct kit_random *random, struct mt_defs *defs)
{
	struct mt_symbol symbol = { .frame = kit_id(random, defs, MT_DEF_FRAME),
				    .name = kit_id(random, defs, MT_DEF_STRING) };

	if (!symbol.frame)
		symbol.frame = kit_frame(random, defs);
	return mt_defs_add_symbol(defs, &symbol);
}

static inline uint32_t kit_nest(struct kit_random *random, struct mt_defs *defs)
{
	uint32_t instance = mt_defs_add_instance(defs, kit_number(random), kit_id(random, defs, MT_DEF_STRING));

	return mt_defs_add_nest(defs, kit_id(random, defs, MT_DEF_NEST), instance);
}

static inline uint32_t kit_variant(struct kit_random *random, struct mt_defs *defs)
{
	mt_defs_add_node_in(defs, kit_id(random, defs, MT_DEF_NODE), kit_id(random, defs, MT_DEF_FRAME),
			    kit_nest(random, defs));
	return mt_defs_count(defs, MT_DEF_VARIANT);
}

/* A random definition of `kind`; its id. */
static inline uint32_t kit_define(struct kit_random *random, struct mt_defs *defs, enum mt_def kind)
{
	switch (kind) {
	case MT_DEF_STRING:
		return kit_string(random, defs);
	case MT_DEF_MODULE:
		return kit_module(random, defs);
	case MT_DEF_FRAME:
		return kit_frame(random, defs);
	case MT_DEF_NODE:
		return mt_defs_add_node(defs, kit_id(random, defs, MT_DEF_NODE), kit_id(random, defs, MT_DEF_FRAME));
	case MT_DEF_THREAD:
		return kit_thread(random, defs);
	case MT_DEF_DEVICE:
		return kit_device(random, defs);
	case MT_DEF_SYMBOL:
		return kit_symbol(random, defs);
	case MT_DEF_INSTANCE:
		return mt_defs_add_instance(defs, kit_number(random), kit_id(random, defs, MT_DEF_STRING));
	case MT_DEF_NEST:
		return kit_nest(random, defs);
	case MT_DEF_NESTED: /* no writer of today makes one */
	case MT_DEF_VARIANT:
		return kit_variant(random, defs);
	}
	return 0;
}

static inline void kit_same_strings(const struct mt_defs *a, const struct mt_defs *b)
{
	uint32_t id;

	for (id = 0; id <= mt_defs_count(a, MT_DEF_STRING); id++) {
		CHECK_EQ(mt_defs_string_size(a, id), mt_defs_string_size(b, id));
		CHECK(!memcmp(mt_defs_string(a, id), mt_defs_string(b, id), mt_defs_string_size(a, id) + 1));
	}
}

/* Every definition of both, and nothing else. */
static inline void kit_same_defs(const struct mt_defs *a, const struct mt_defs *b)
{
	uint32_t id;
	int kind;

	for (kind = 1; kind <= MT_DEF_VARIANT; kind++)
		CHECK_EQ(mt_defs_count(a, (enum mt_def)kind), mt_defs_count(b, (enum mt_def)kind));
	kit_same_strings(a, b);
#define KIT_SAME(name, type)                                                 \
	for (id = 1; mt_defs_##name(a, id); id++) {                          \
		type x = *mt_defs_##name(a, id), y = *mt_defs_##name(b, id); \
		CHECK(!memcmp(&x, &y, sizeof(x)));                           \
	}
	KIT_SAME(module, struct mt_module)
	KIT_SAME(node, struct mt_node)
	KIT_SAME(thread, struct mt_thread)
	KIT_SAME(device, struct mt_device)
	KIT_SAME(symbol, struct mt_symbol)
	KIT_SAME(nest, struct mt_nest)
	KIT_SAME(nested, struct mt_nested)
#undef KIT_SAME
	for (id = 1; mt_defs_frame(a, id); id++) { /* has padding */
		const struct mt_frame *x = mt_defs_frame(a, id), *y = mt_defs_frame(b, id);

		CHECK(x->kind == y->kind && x->function == y->function && x->file == y->file);
		CHECK(x->line == y->line && x->module == y->module && x->offset == y->offset);
		CHECK_EQ(x->symbol, y->symbol);
	}
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static const uint8_t kit_kinds[] = {
#define KIT_KIND(name, number, fields, meaning) number,
	MT_KIND_LIST(KIT_KIND)
#undef KIT_KIND
};

/* Any kind but LIVE and CUT, which go with checkpoints. */
static inline uint32_t kit_kind(struct kit_random *random)
{
	uint32_t kind;

	do
		kind = kit_kinds[kit_below(random, sizeof(kit_kinds))];
	while (kind == MT_LIVE || kind == MT_CUT);
	return kind;
}

/* Fields of the kind are random, ids defined ones, the others 0. */
static inline void kit_fill_event(struct kit_random *random, const struct mt_defs *defs, struct mt_event *event)
{
	uint32_t fields = mt_kind_fields(event->kind);

#define KIT_FILL(name, number, encoding, meaning)            \
	if (fields & MT_F(name) && (number) != MT_FIELD_seq) \
		event->name = kit_number(random);
	MT_FIELD_LIST(KIT_FILL)
#undef KIT_FILL
	event->thread = kit_id(random, defs, MT_DEF_THREAD);
	if (fields & MT_F(stack))
		event->stack = kit_id(random, defs, MT_DEF_NODE);
	if (fields & MT_F(device))
		event->device = kit_id(random, defs, MT_DEF_DEVICE);
	if (fields & MT_F(name))
		event->name = kit_id(random, defs, MT_DEF_STRING);
	if (mt_kind_has_second_name(event->kind))
		event->value = kit_id(random, defs, MT_DEF_STRING);
	if (event->kind == MT_LOST)
		event->value = kit_below(random, 100);
}

static inline int kit_same_event(const struct mt_event *a, const struct mt_event *b)
{
#define KIT_EQUAL(name, number, encoding, meaning) \
	if (a->name != b->name)                    \
		return 0;
	MT_FIELD_LIST(KIT_EQUAL)
#undef KIT_EQUAL
	return a->kind == b->kind;
}

/* ---- traces that remember ---------------------------------------------------------------------------------------- */

struct kit_trace {
	struct kit_random random;
	struct mt_writer *writer;
	struct mt_event *events;    /* those written */
	struct mt_stack_told *told; /* stack of each: ids of variants are others where definitions are missing */
	size_t count, room;
	uint64_t seq;
};

static inline void kit_remember(struct kit_trace *trace, const struct mt_event *event)
{
	if (trace->count == trace->room) {
		trace->room = trace->room ? 2 * trace->room : 256;
		trace->events = realloc(trace->events, trace->room * sizeof(*event));
		trace->told = realloc(trace->told, trace->room * sizeof(*trace->told));
		CHECK(trace->events && trace->told);
	}
	trace->told[trace->count] = mt_defs_stack_told(mt_writer_defs(trace->writer), (uint32_t)event->stack);
	trace->events[trace->count++] = *event;
}

/* The next event: new definitions now and then, numbers that rise. Not written yet. */
static inline struct mt_event kit_make_event(struct kit_trace *trace)
{
	struct mt_event event = { .kind = kit_kind(&trace->random) };
	struct mt_defs *defs = mt_writer_defs(trace->writer);

	while (!kit_below(&trace->random, 4))
		kit_define(&trace->random, defs, (enum mt_def)(1 + kit_below(&trace->random, MT_DEF_VARIANT)));
	kit_fill_event(&trace->random, defs, &event);
	trace->seq += 1 + (kit_below(&trace->random, 5) ? 0 : kit_below(&trace->random, 1 << 20));
	event.seq = trace->seq;
	return event;
}

static inline void kit_write_events(struct kit_trace *trace, size_t count)
{
	struct mt_event event;

	while (count--) {
		event = kit_make_event(trace);
		CHECK_EQ(mt_writer_event(trace->writer, &event, (uint32_t)kit_below(&trace->random, 10), 1), 0);
		kit_remember(trace, &event);
		if (!kit_below(&trace->random, 60))
			CHECK_EQ(mt_writer_flush(trace->writer), 0);
	}
}

static const struct mt_process kit_process = {
	.pid = 4711,
	.ppid = 1,
	.rank = -1,
	.depth = 32,
	.python_version = 0x030c01f0,
	.tool_version = 0x000100,
	.start_monotonic = 123456789012345,
	.start_realtime = 1700000000000000000,
	.clock_error = 800,
	.host = "node-7",
	.boot_id = "7f4c0a52-3ed1-4a3c-9b38-c1f1b0ad7ee0",
	.command = "python train.py --lr 1e-6",
	.options = "depth=32",
	.ring_path = "/dev/shm/memrec.4711",
	.run = "slurm=7.0 launch=0123456789abcdef",
};

static inline void kit_begin(struct kit_trace *trace, const char *path, uint64_t seed,
			     const struct mt_writer_options *options)
{
	struct mt_process process = kit_process;

	process.ring_path = ""; /* the numbers of these events leave gaps */
	memset(trace, 0, sizeof(*trace));
	trace->random.state = seed;
	CHECK_EQ(mt_writer_open(&trace->writer, path, &process, options), 0);
}

static inline void kit_release(struct kit_trace *trace)
{
	free(trace->events);
	free(trace->told);
	memset(trace, 0, sizeof(*trace));
}

/* The newest event stands for those that damage has taken. */
static inline int kit_is_damage(const struct mt_event *event)
{
	return event->kind == MT_LOST && event->flags == MT_LOSS_DAMAGED;
}

/* 1: the event is that of the trace, in a file that may lack definitions. */
static inline int kit_is_event(const struct mt_defs *defs, const struct mt_event *event, const struct kit_trace *trace,
			       size_t number)
{
	struct mt_stack_told told = mt_defs_stack_told(defs, (uint32_t)event->stack), *want = &trace->told[number];
	struct mt_event same = *event;

	same.stack = trace->events[number].stack;
	return kit_same_event(&same, &trace->events[number]) && told.node == want->node &&
	       told.variant == want->variant;
}

/* Reads on to the end; every event must be the next one of `trace`, up to damage. Says how many there were. */
static inline size_t kit_read_prefix(struct mt_reader *reader, const struct kit_trace *trace)
{
	const struct mt_event *events;
	size_t count, i, total = 0;
	int checkpoint;

	for (;;) {
		CHECK_EQ(mt_reader_next(reader, &events, &count, &checkpoint), 0);
		if (!count)
			return total;
		if (kit_is_damage(events) &&
		    (total == trace->count || !kit_same_event(events, &trace->events[total]))) {
			CHECK_EQ(mt_reader_next(reader, &events, &count, &checkpoint), 0);
			CHECK_EQ(count, 0);
			return total;
		}
		for (i = 0; i < count && !checkpoint; i++, total++) {
			CHECK(total < trace->count);
			CHECK(kit_same_event(&events[i], &trace->events[total]));
		}
		for (i = 0; i < count && checkpoint; i++)
			CHECK_EQ(events[i].kind, MT_LIVE);
	}
}

/* ---- files as bytes ---------------------------------------------------------------------------------------------- */

/* `name` in the test's own folder. The same name gives the same pointer, for good. */
static inline const char *kit_path(const char *name)
{
	static char path[16][512];
	static const char *dir;
	static size_t length;
	size_t i;

	if (!dir) {
		dir = test_dir();
		CHECK(dir);
		length = strlen(dir);
	}
	for (i = 0; i < MT_ARRAY_SIZE(path); i++) {
		if (!path[i][0])
			snprintf(path[i], sizeof(path[i]), "%s/%s", dir, name);
		if (!strcmp(path[i] + length + 1, name))
			return path[i];
	}
	CHECK(!"there is room for one more path");
	return NULL;
}

static inline uint8_t *kit_load(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data;
	struct stat st;

	CHECK(file && !fstat(fileno(file), &st));
	*size = (size_t)st.st_size;
	data = malloc(*size + 1);
	CHECK(data && fread(data, 1, *size, file) == *size);
	fclose(file);
	return data;
}

static inline void kit_save(const char *path, const uint8_t *data, size_t size)
{
	FILE *file = fopen(path, "wb");

	CHECK(file && fwrite(data, 1, size, file) == size && !fclose(file));
}

/* Reads a file in a process of its own, unless `read` is NULL. The memory that the process took. */
static inline struct rusage kit_cost_of(void (*read)(const char *path), const char *path)
{
	struct rusage usage;
	int status;
	pid_t child = fork();

	CHECK(child >= 0);
	if (!child) {
		if (read)
			read(path);
		_exit(0);
	}
	CHECK(wait4(child, &status, 0, &usage) == child && !status);
	return usage;
}

#endif
