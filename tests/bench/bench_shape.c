/*
 * bench_shape.c - traces that have very many of one thing.
 *
 *     bench_shape                   prints the table: name, N of bench-reports, N at full size, 1 for a folder of traces
 *     bench_shape SHAPE N OUT [PID [PLACES]]
 *                                   writes OUT, a trace, or a folder of N traces
 *
 * SHAPE_LIST is the table. A shape is one function, and N is how often its thing is there. PLACES: of the shapes steps_sites (200).
 */
#include <sys/stat.h>
#include "shape_kit.h"

#define PLACES 200

/* X(name, N of bench-reports, N at full size, a folder of traces, the thing). Reports are tried on N, 2 N and 4 N. */
#define SHAPE_LIST(X)                                                                     \
	X(live, 20000, 5000000, 0, "live allocations")                                    \
	X(stacks, 8000, 2000000, 0, "stacks, an allocation alive from each")              \
	X(stacks_freed, 8000, 2000000, 0, "stacks, nothing alive")                        \
	X(sizes, 20000, 1000000, 0, "sizes of one place, alive")                          \
	X(churn, 50000, 10000000, 0, "allocations and frees in random order")             \
	X(deep, 30, 2000, 0, "stacks of 1000 frames of their own")                        \
	X(lines, 4000, 100000, 0, "lines of one function")                                \
	X(long_names, 150, 2000, 0, "functions with names of 60,000 bytes")               \
	X(modules, 3000, 65000, 0, "libraries without a file, a frame in each")           \
	X(threads, 6000, 65000, 0, "threads")                                             \
	X(thread_ranges, 6000, 65000, 0, "threads, each with a range that stays open")    \
	X(nested, 8000, 65000, 0, "ranges inside one another")                            \
	X(starts, 8000, 500000, 0, "process-wide ranges, the newest ends first")          \
	X(starts_fifo, 8000, 500000, 0, "process-wide ranges, the oldest ends first")     \
	X(phases, 8000, 1000000, 0, "phases")                                             \
	X(phase_live, 20000, 2000000, 0, "live allocations of nine phases")               \
	X(rise, 8000, 1000000, 0, "peaks, each in another phase")                         \
	X(steps, 3000, 500000, 0, "steps that keep an allocation")                        \
	X(steps_sites, 100, 10000, 0, "steps in which 200 places keep an allocation")     \
	X(steps_sites_next, 100, 10000, 0, "the same, freed in the next step")            \
	X(steps_sites_late, 100, 10000, 0, "the same, freed ten steps later")             \
	X(steps_sites_tenth, 100, 10000, 0, "the same, but nine of ten are freed")        \
	X(segments, 8000, 500000, 0, "segments that one tensor pins")                     \
	X(pins, 4000, 500000, 0, "segments, each pinned from a place of its own")         \
	X(segment, 15000, 1000000, 0, "blocks of one segment, every other one idle")      \
	X(mappings, 5000, 500000, 0, "handles mapped into one range")                     \
	X(aliases, 10000, 500000, 0, "mappings of one handle")                            \
	X(contexts, 15000, 500000, 0, "contexts that go, with memory in each")            \
	X(overlaps, 15000, 1000000, 0, "tensors where others were alive")                 \
	X(devices, 15, 64, 0, "GPUs of one process")                                      \
	X(moment, 50000, 1000000, 0, "moves of 24 GPUs at one moment")                    \
	X(moment_fails, 8000, 100000, 0, "tensors and failed requests at one moment")     \
	X(failures, 5000, 100000, 0, "failed requests of one place, as many tensors")     \
	X(failing_places, 2000, 100000, 0, "failed requests, each of its own place")      \
	X(refusals, 20000, 500000, 0, "driver calls that fail")                           \
	X(notes, 60000, 1000000, 0, "driver calls that move nothing")                     \
	X(census, 3000, 100000, 0, "parameters, told three times")                        \
	X(model, 1000, 50000, 0, "parameters with gradient and states, in as many steps") \
	X(views, 5000, 100000, 0, "parameters in one allocation")                         \
	X(samples, 60000, 500000, 0, "samples of GPU and host")                           \
	X(losses, 15000, 500000, 0, "losses")                                             \
	X(processes, 60, 10000, 1, "small processes with a GPU each")                     \
	X(sharers, 60, 10000, 1, "small processes on one GPU")                            \
	X(ranks, 4, 32, 1, "processes of 2000 places with a GPU each")

/* ---- allocations and places --------------------------------------------------------------------------------------- */

static void shape_live(struct trace *trace, long n)
{
	uint32_t places[LINES];
	long i;

	for (i = 0; i < LINES; i++)
		places[i] = place(trace, i);
	for (i = 0; i < n; i++) {
		if (i % 4096 == 0)
			segment(trace, at(i), 4096 * UNIT);
		tensor_from(trace, at(i), UNIT, places[i % LINES], 1);
		if (i % (n / 10 + 1) == 0)
			end_step(trace);
	}
}

static void shape_stacks(struct trace *trace, long n)
{
	long i;

	segment(trace, BASE, (uint64_t)n * UNIT);
	for (i = 0; i < n; i++)
		tensor_from(trace, at(i), UNIT, stack(trace, i), 1);
}

static void shape_stacks_freed(struct trace *trace, long n)
{
	long i;

	segment(trace, BASE, MIB);
	for (i = 0; i < n; i++) {
		tensor_from(trace, BASE, UNIT, stack(trace, i), 1);
		tensor_free(trace, BASE);
	}
}

static void shape_sizes(struct trace *trace, long n)
{
	uint64_t addr = BASE, size = UNIT;
	long i;

	for (i = 0; i < n; i++, addr += size, size += UNIT)
		tensor_from(trace, addr, size, trace->stack, 1);
}

#define CHURN 10000

static void shape_churn(struct trace *trace, long n)
{
	static char alive[CHURN];
	uint64_t random = 1;
	long i, which;

	segment(trace, BASE, CHURN * UNIT);
	for (i = 0; i < n; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		which = (long)((random >> 33) % CHURN);
		if (alive[which])
			tensor_free(trace, at(which));
		else
			tensor(trace, at(which));
		alive[which] ^= 1;
	}
}

static void shape_deep(struct trace *trace, long n)
{
	uint32_t frames[1000], node;
	long i, j;

	for (j = 0; j < 1000; j++)
		frames[j] = frame(trace, j + 10);
	segment(trace, BASE, (uint64_t)n * UNIT);
	for (i = 0; i < n; i++) {
		node = place(trace, 100000 + i);
		for (j = 0; j < 1000; j++)
			node = mt_defs_add_node(trace->defs, node, frames[j]);
		tensor_from(trace, at(i), UNIT, node, 1);
	}
}

static void from_frame(struct trace *trace, const struct mt_frame *frame, long i)
{
	uint32_t node = mt_defs_add_node(trace->defs, trace->root, mt_defs_add_frame(trace->defs, frame));

	tensor_from(trace, at(i), UNIT, node, 1);
}

static void shape_lines(struct trace *trace, long n)
{
	struct mt_frame frame = { .kind = MT_FRAME_PYTHON };

	frame.function = text(trace, "same");
	frame.file = text(trace, "same.py");
	for (frame.line = 1; frame.line <= n; frame.line++)
		from_frame(trace, &frame, frame.line);
}

static void shape_long_names(struct trace *trace, long n)
{
	static char name[60000];
	struct mt_frame frame = { .kind = MT_FRAME_PYTHON, .line = 1 };
	long i;

	memset(name, 'a', sizeof(name));
	frame.file = text(trace, "f.py");
	for (i = 0; i < n; i++) {
		name[snprintf(name, 16, "%08ld", i)] = 'b';
		frame.function = mt_defs_add_string(trace->defs, name, sizeof(name));
		from_frame(trace, &frame, i);
	}
}

static void shape_modules(struct trace *trace, long n)
{
	struct mt_frame frame = { .kind = MT_FRAME_NATIVE, .offset = 77 };
	struct mt_module module;
	long i;

	for (i = 0; i < n; i++) {
		module = (struct mt_module){ .start = (uint64_t)i << 20, .end = (uint64_t)(i + 1) << 20 };
		module.path = numbered(trace, "/nowhere/lib", i, ".so");
		frame.module = mt_defs_add_module(trace->defs, &module);
		from_frame(trace, &frame, i);
	}
}

static void shape_threads(struct trace *trace, long n)
{
	long i;

	segment(trace, BASE, (uint64_t)n * UNIT);
	for (i = 0; i < n; i++)
		tensor_from(trace, at(i), UNIT, trace->stack, thread(trace, i));
}

/* ---- ranges, phases, steps ---------------------------------------------------------------------------------------- */

static void shape_thread_ranges(struct trace *trace, long n)
{
	uint32_t id;
	long i;

	for (i = 0; i < n; i++) {
		id = thread(trace, i);
		put(trace, (struct mt_event){ .kind = MT_RANGE_PUSH, .name = text(trace, "forward"), .thread = id });
		tensor_from(trace, at(i), UNIT, trace->stack, id);
	}
}

static void shape_nested(struct trace *trace, long n)
{
	long i;

	for (i = 0; i < n; i++) {
		put(trace, (struct mt_event){ .kind = MT_RANGE_PUSH, .name = numbered(trace, "range ", i % 50, "") });
		tensor(trace, at(i));
	}
}

static void start_ranges(struct trace *trace, long n)
{
	uint32_t name = text(trace, "rollout");
	long i;

	for (i = 0; i < n; i++) {
		put(trace, (struct mt_event){ .kind = MT_RANGE_START, .name = name, .handle = (uint64_t)i + 1 });
		tensor(trace, at(i));
	}
}

static void shape_starts(struct trace *trace, long n)
{
	start_ranges(trace, n);
	for (; n; n--)
		put(trace, (struct mt_event){ .kind = MT_RANGE_END, .handle = (uint64_t)n });
}

static void shape_starts_fifo(struct trace *trace, long n)
{
	long i;

	start_ranges(trace, n);
	for (i = 1; i <= n; i++)
		put(trace, (struct mt_event){ .kind = MT_RANGE_END, .handle = (uint64_t)i });
}

static void shape_phases(struct trace *trace, long n)
{
	long i;

	segment(trace, BASE, MIB);
	for (i = 0; i < n; i++) {
		begin_phase(trace, i);
		tensor(trace, BASE);
		tensor_free(trace, BASE);
		end_phase(trace);
	}
}

static void shape_phase_live(struct trace *trace, long n)
{
	long i;

	segment(trace, BASE, (uint64_t)n * UNIT);
	for (i = 0; i < n; i++) {
		if (i % (n / 9 + 1) == 0)
			begin_phase(trace, i / (n / 9 + 1));
		tensor(trace, at(i));
	}
}

static void shape_rise(struct trace *trace, long n)
{
	long i;

	for (i = 0; i < n; i++) {
		begin_phase(trace, i);
		tensor_from(trace, at(i), UNIT, place(trace, i % 1000), 1);
		end_phase(trace);
	}
}

static void shape_steps(struct trace *trace, long n)
{
	long i;

	segment(trace, BASE, (uint64_t)n * UNIT * 2);
	for (i = 0; i < n; i++) {
		begin_phase(trace, 5);
		tensor(trace, at(2 * i));
		tensor(trace, at(2 * i + 1));
		tensor_free(trace, at(2 * i + 1));
		end_phase(trace);
		end_step(trace);
	}
}

/* Each place makes an allocation in each step, and frees that of `after` steps ago, but each `keep`-th; 0: it frees none. */
static void steps_of_sites(struct trace *trace, long n, long after, long keep)
{
	long places = trace->places, i, j;

	segment(trace, BASE, (uint64_t)(n * places) * UNIT);
	for (i = 0; i < n; i++) {
		for (j = 0; j < places; j++) {
			tensor_from(trace, at(i * places + j), UNIT, place(trace, j), 1);
			if (after && i >= after && (!keep || (i - after) % keep))
				tensor_free(trace, at((i - after) * places + j));
		}
		end_step(trace);
	}
}

static void shape_steps_sites(struct trace *trace, long n)
{
	steps_of_sites(trace, n, 0, 0);
}

static void shape_steps_sites_next(struct trace *trace, long n)
{
	steps_of_sites(trace, n, 1, 0);
}

static void shape_steps_sites_late(struct trace *trace, long n)
{
	steps_of_sites(trace, n, 10, 0);
}

static void shape_steps_sites_tenth(struct trace *trace, long n)
{
	steps_of_sites(trace, n, 1, 10);
}

/* ---- memory of the driver ----------------------------------------------------------------------------------------- */

static void shape_segments(struct trace *trace, long n)
{
	uint64_t addr;
	long i;

	for (i = 0; i < n; i++) {
		addr = BASE + (uint64_t)i * 4 * MIB;
		segment(trace, addr, 2 * MIB);
		tensor(trace, addr);
		tensor(trace, addr + 2 * UNIT);
		tensor_free(trace, addr);
	}
}

static void shape_pins(struct trace *trace, long n)
{
	long i;

	for (i = 0; i < n; i++) {
		segment(trace, BASE + (uint64_t)i * 2 * MIB, 2 * MIB);
		tensor_from(trace, BASE + (uint64_t)i * 2 * MIB, UNIT, place(trace, i), 1);
	}
}

static void shape_segment(struct trace *trace, long n)
{
	long i;

	segment(trace, BASE, (uint64_t)n * UNIT);
	for (i = 0; i < n; i++)
		tensor(trace, at(i));
	for (i = 0; i < n; i += 2)
		tensor_free(trace, at(i));
}

static void reserve_range(struct trace *trace, long n)
{
	put(trace, (struct mt_event){ .kind = MT_VMM_RESERVE, .addr = BASE, .size = (uint64_t)n * 2 * MIB });
}

static void create(struct trace *trace, long handle)
{
	trace->reserved += 2 * MIB;
	put(trace, (struct mt_event){ .kind = MT_VMM_CREATE,
				      .stack = trace->stack,
				      .device = trace->device,
				      .size = 2 * MIB,
				      .handle = (uint64_t)handle });
}

static void map(struct trace *trace, long i, long handle)
{
	put(trace, (struct mt_event){ .kind = MT_VMM_MAP,
				      .stack = trace->stack,
				      .addr = BASE + (uint64_t)i * 2 * MIB,
				      .size = 2 * MIB,
				      .handle = (uint64_t)handle });
}

static void unmap(struct trace *trace, long i, long n)
{
	put(trace, (struct mt_event){ .kind = MT_VMM_UNMAP,
				      .stack = trace->stack,
				      .addr = BASE + (uint64_t)i * 2 * MIB,
				      .size = (uint64_t)n * 2 * MIB });
}

static void shape_mappings(struct trace *trace, long n)
{
	long i;

	reserve_range(trace, n);
	for (i = 0; i < n; i++) {
		create(trace, i + 1);
		map(trace, i, i + 1);
	}
	for (i = 0; i < n; i++)
		tensor_from(trace, BASE + (uint64_t)i * 2 * MIB, MIB, trace->stack, 1);
	unmap(trace, n / 2, n - n / 2);
}

static void shape_aliases(struct trace *trace, long n)
{
	long i;

	reserve_range(trace, n);
	create(trace, 7);
	for (i = 0; i < n; i++)
		map(trace, i, 7);
	for (i = 0; i < n; i++)
		unmap(trace, i, 1);
}

static void shape_contexts(struct trace *trace, long n)
{
	long i;

	for (i = 1; i <= n; i++)
		put(trace, (struct mt_event){ .kind = MT_DRIVER_ALLOC,
					      .addr = at(i * 8),
					      .size = 8 * UNIT,
					      .stack = trace->stack,
					      .device = trace->device,
					      .handle = (uint64_t)i });
	for (i = 1; i <= n; i++)
		put(trace,
		    (struct mt_event){ .kind = MT_CONTEXT_GONE, .device = trace->device, .handle = (uint64_t)i });
}

static void shape_overlaps(struct trace *trace, long n)
{
	long i;

	for (i = 0; i < n; i++)
		tensor_from(trace, BASE + (uint64_t)(i % 1000) * UNIT / 2, UNIT + (uint64_t)i, trace->stack, 1);
}

static uint32_t add_device(struct trace *trace, uint32_t index, uint32_t uuid)
{
	struct mt_device device = { .kind = MT_DEVICE_CUDA, .index = index, .uuid = uuid, .total = 1ull << 50 };

	device.name = text(trace, "GPU");
	return mt_defs_add_device(trace->defs, &device);
}

static void shape_devices(struct trace *trace, long n)
{
	long i, j;

	for (i = 1; i < n; i++) {
		trace->device = add_device(trace, (uint32_t)i, numbered(trace, "GPU-of-", i, ""));
		trace->total = 0;
		for (j = 0; j < 1000; j++)
			tensor_from(trace, at(i * 1000 + j), UNIT, place(trace, j), 1);
		end_step(trace);
	}
}

#define MOMENT_DEVICES 24

static void shape_moment(struct trace *trace, long n)
{
	uint32_t first = trace->device;
	long i;

	for (i = 1; i < MOMENT_DEVICES; i++)
		add_device(trace, (uint32_t)i, numbered(trace, "GPU-of-", i, ""));
	trace->tick = 0;
	for (i = 0; i < n; i++) {
		trace->device = first + (uint32_t)(i % MOMENT_DEVICES);
		trace->total = (uint64_t)(i / MOMENT_DEVICES) * UNIT;
		tensor_from(trace, at(i), UNIT, place(trace, i % 50), 1);
	}
}

/* ---- failures, notes, what the framework says ---------------------------------------------------------------------- */

static void fail(struct trace *trace, uint32_t stack)
{
	put(trace, (struct mt_event){ .kind = MT_TENSOR_OOM,
				      .stack = stack,
				      .device = trace->device,
				      .size = 1ull << 40,
				      .total = trace->total,
				      .reserved = trace->reserved });
}

static void shape_failures(struct trace *trace, long n)
{
	long i;

	segment(trace, BASE, (uint64_t)n * UNIT);
	for (i = 0; i < n; i++)
		tensor(trace, at(i));
	for (i = 0; i < n; i++)
		fail(trace, trace->stack);
}

static void shape_moment_fails(struct trace *trace, long n)
{
	trace->tick = 0;
	shape_failures(trace, n);
}

static void shape_failing_places(struct trace *trace, long n)
{
	uint32_t stack;
	long i;

	segment(trace, BASE, (uint64_t)n * UNIT);
	for (i = 0; i < n; i++) {
		stack = place(trace, i);
		tensor_from(trace, at(i), UNIT, stack, 1);
		fail(trace, stack);
	}
}

static void shape_refusals(struct trace *trace, long n)
{
	for (; n; n--)
		put(trace, (struct mt_event){ .kind = MT_DRIVER_FAIL,
					      .stack = trace->stack,
					      .device = trace->device,
					      .size = 1ull << 40,
					      .result = 2 });
}

static void shape_notes(struct trace *trace, long n)
{
	long i;

	for (i = 0; i < n; i++)
		put(trace, (struct mt_event){ .kind = MT_DRIVER_NOTE,
					      .stack = trace->stack,
					      .device = trace->device,
					      .addr = at(i),
					      .size = 8,
					      .entry = (uint64_t)i % 700,
					      .value = (uint64_t)i });
}

static void tell(struct trace *trace, long i, long parameter, const char *state, uint32_t what, uint64_t census)
{
	char words[80];

	snprintf(words, sizeof(words), "bfloat16 16x16 16x16 Linear AdamW#1 %s Qwen#1", state);
	put(trace, (struct mt_event){ .kind = MT_CENSUS,
				      .device = trace->device,
				      .addr = at(i),
				      .size = UNIT,
				      .name = numbered(trace, "model.layers.", parameter, ".mlp.weight"),
				      .value = text(trace, words),
				      .flags = what | census << MT_CENSUS_NUMBER_SHIFT });
}

static void shape_census(struct trace *trace, long n)
{
	uint64_t census;
	long i;

	segment(trace, BASE, (uint64_t)n * UNIT);
	for (i = 0; i < n; i++)
		tensor(trace, at(i));
	for (census = 1; census <= 3; census++)
		for (i = 0; i < n; i++)
			tell(trace, i, i, "-", MT_CENSUS_WEIGHT, census);
}

static void shape_model(struct trace *trace, long n)
{
	static const struct {
		const char *state;
		enum mt_census what;
	} parts[] = { { "-", MT_CENSUS_WEIGHT },
		      { "-", MT_CENSUS_GRADIENT },
		      { "exp_avg", MT_CENSUS_STATE },
		      { "exp_avg_sq", MT_CENSUS_STATE } };
	long i, part;

	segment(trace, BASE, (uint64_t)n * 5 * UNIT);
	for (i = 0; i < 4 * n; i++)
		tensor(trace, at(i));
	for (part = 0; part < 4; part++)
		for (i = 0; i < n; i++)
			tell(trace, part * n + i, i, parts[part].state, parts[part].what, 1);
	for (i = 0; i < n; i++) {
		tensor(trace, at(4 * n + i));
		end_step(trace);
	}
}

static void shape_views(struct trace *trace, long n)
{
	long i;

	segment(trace, BASE, (uint64_t)n * UNIT);
	tensor_from(trace, BASE, (uint64_t)n * UNIT, trace->stack, 1);
	for (i = 0; i < n; i++)
		tell(trace, i, i, "-", MT_CENSUS_WEIGHT, 1);
}

static void shape_samples(struct trace *trace, long n)
{
	long i;

	for (i = 0; i < n; i++) {
		put(trace, (struct mt_event){ .kind = MT_GPU_SAMPLE,
					      .device = trace->device,
					      .size = (uint64_t)i * MIB,
					      .offset = (uint64_t)i * MIB / 2,
					      .value = 1ull << 50,
					      .flags = 1 });
		put(trace, (struct mt_event){ .kind = MT_HOST_SAMPLE, .size = (uint64_t)i * MIB });
	}
}

static void shape_losses(struct trace *trace, long n)
{
	long i;

	for (i = 0; i < n; i++) {
		put(trace, (struct mt_event){ .kind = MT_LOST, .value = 1, .flags = (uint64_t)i % 6 });
		tensor(trace, at(i));
	}
}

/* ---- folders: what each of the traces has -------------------------------------------------------------------------- */

static void shape_processes(struct trace *trace, long number)
{
	long i;

	(void)number;
	segment(trace, BASE, MIB);
	for (i = 0; i < 3; i++)
		tensor_from(trace, at(i), UNIT, place(trace, i), 1);
	tensor_free(trace, at(1));
	end_step(trace);
}

static void shape_sharers(struct trace *trace, long number)
{
	shape_processes(trace, number);
}

static void shape_ranks(struct trace *trace, long number)
{
	(void)number;
	shape_stacks(trace, 2000);
}

/* ---- the table ------------------------------------------------------------------------------------------------------ */

static const struct shape {
	const char *name;
	long few, full;
	int folder;
	void (*make)(struct trace *trace, long n);
} shapes[] = {
#define SHAPE_ROW(name, few, full, folder, thing) { #name, few, full, folder, shape_##name },
	SHAPE_LIST(SHAPE_ROW)
#undef SHAPE_ROW
};

static void write_trace(const struct shape *shape, long n, const char *path, uint32_t pid, long places)
{
	struct mt_process process = { .pid = pid,
				      .rank = -1,
				      .depth = 32,
				      .python_version = 0x030c01f0,
				      .tool_version = 0x000100,
				      .start_monotonic = START,
				      .start_realtime = 1700000000000000000ull,
				      .host = "node",
				      .boot_id = "11111111-2222-3333-4444-555555555555",
				      .command = "python train.py" };
	struct mt_thread main_thread = { .tid = pid, .flags = MT_THREAD_MAIN };
	struct trace trace = { .time = START, .tick = 1000, .places = places };
	int error = mt_writer_open(&trace.writer, path, &process, NULL);

	if (error)
		die(path, error);
	trace.defs = mt_writer_defs(trace.writer);
	main_thread.name = text(&trace, "main");
	mt_defs_add_thread(trace.defs, &main_thread);
	trace.device = add_device(&trace, 0,
				  numbered(&trace, "GPU-", shape->make == shape_sharers ? 0 : (long)pid, ""));
	trace.root = mt_defs_add_node(trace.defs, 0, frame(&trace, 0));
	trace.stack = place(&trace, -1);
	shape->make(&trace, n);
	put(&trace, (struct mt_event){ .kind = MT_END, .value = MT_END_EXIT });
	error = mt_writer_close(trace.writer, 1);
	if (error)
		die(path, error);
}

static void write_folder(const struct shape *shape, long n, const char *path)
{
	char name[4096];
	long i;

	if (mkdir(path, 0777))
		die(path, -MT_E_SYSTEM);
	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%s/trace.%ld.zst", path, i);
		write_trace(shape, i, name, (uint32_t)(4000 + i), PLACES);
	}
}

int main(int argc, char **argv)
{
	const size_t count = sizeof(shapes) / sizeof(*shapes);
	const struct shape *shape;
	long n = argc > 3 ? strtol(argv[2], NULL, 10) : 0;

	for (shape = shapes; shape < shapes + count; shape++)
		if (argc == 1)
			printf("%s %ld %ld %d\n", shape->name, shape->few, shape->full, shape->folder);
		else if (!strcmp(shape->name, argv[1]))
			break;
	if (argc == 1)
		return 0;
	if (shape == shapes + count || n < 1)
		die("usage: bench_shape [SHAPE N OUT [PID [PLACES]]]", -MT_E_ARGUMENT);
	if (shape->folder)
		write_folder(shape, n, argv[3]);
	else
		write_trace(shape, n, argv[3], argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 4000,
			    argc > 5 ? strtol(argv[5], NULL, 10) : PLACES);
	return 0;
}
