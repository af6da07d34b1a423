/*
 * Places that grow, that stay and that are replaced; and the addresses of segments. With "--write DIR" it only writes
 * the traces that tests/cli/test_retained.sh, test_diff.sh and test_frag.sh look at.
 */
#include "memtrace/base.h"
#include "report/steps/retained_lives.h"
#include "source/source.h"
#include "store/load.h"
#include "test.h"
#include "trace_builder.h"

#define STEPS 6
#define BATCHES 4
#define STRIDE (64 * MIB)

/* ---- the rule ---- */

static int grows(const uint64_t *kept, const uint64_t *held, uint32_t parts, struct growth_run *growth)
{
	return growth_find(kept, held, parts, 1, growth);
}

TEST(what_is_kept_of_every_part_grows)
{
	static const uint64_t kept[] = { 2, 2, 2, 2, 2, 2 }, held[] = { 2, 4, 6, 8, 10, 12 };
	struct growth_run growth;

	CHECK(grows(kept, held, 6, &growth));
	CHECK_EQ(growth.first, 0);
	CHECK_EQ(growth.parts, 5);
	CHECK_EQ(growth.bytes, 10);
	CHECK(grows(kept, held, 3, &growth)); /* from the first part on, the last one too */
	CHECK(!grows(kept, held, 2, &growth));
	CHECK(!growth_find(kept, held, 6, 2, &growth));
}

/* An evaluation keeps its outputs: the same number of steps lies between two of them. */
TEST(what_is_kept_at_equal_distances_grows)
{
	uint64_t kept[45] = { 0 }, held[45] = { 0 };
	struct growth_run growth;
	uint32_t i;

	kept[10] = kept[20] = kept[30] = kept[40] = 6;
	for (i = 1; i < 45; i++)
		held[i] = held[i - 1] + kept[i];
	CHECK(grows(kept, held, 45, &growth));
	CHECK_EQ(growth.first, 10);
	CHECK_EQ(growth.parts, 31);
	CHECK_EQ(growth.bytes, 24);
	CHECK_EQ(growth_covers(&growth), 40);
	CHECK(!grows(kept, held, 39, &growth)); /* three of them, far apart */
	kept[20] = 0;
	kept[13] = 6;
	CHECK(!grows(kept, held, 45, &growth));
}

TEST(what_stays_or_is_replaced_does_not)
{
	static const uint64_t weights[] = { 8, 0, 0, 0, 0, 0 }, weights_held[] = { 8, 8, 8, 8, 8, 8 };
	static const uint64_t cache[] = { 0, 0, 0, 0, 0, 9 }, cache_held[] = { 3, 5, 2, 7, 8, 9 };
	static const uint64_t window[] = { 0, 0, 3, 3, 3, 3 }, window_held[] = { 3, 6, 9, 12, 12, 12 };
	static const uint64_t growing_window[] = { 0, 3, 3, 3, 3, 3 }, growing_held[] = { 3, 6, 9, 12, 15, 15 };
	static const uint64_t filled[] = { 2, 2, 2, 2, 0, 0, 0, 0 }, filled_held[] = { 2, 4, 6, 8, 8, 8, 8, 8 };
	static const uint64_t full[] = { 0, 0, 0, 3, 3, 3, 3 }, full_held[] = { 12, 12, 12, 12, 12, 12, 12 };
	struct growth_run growth;

	CHECK(!grows(weights, weights_held, 6, &growth));
	CHECK(!grows(cache, cache_held, 6, &growth));
	CHECK(!grows(full, full_held, 7, &growth));
	CHECK(!grows(filled, filled_held, 8, &growth)); /* a cache that has come to its end */
	CHECK(!grows(filled, filled_held, 6, &growth));
	CHECK(grows(filled, filled_held, 5, &growth));
	/* A store of rollouts grows until the store is full. */
	CHECK(!grows(window, window_held, 6, &growth));
	CHECK(grows(growing_window, growing_held, 6, &growth));
	CHECK_EQ(growth.first, 1);
	CHECK_EQ(growth.kept, 12);
	CHECK_EQ(growth.bytes, 12);
	CHECK(!grows(weights, weights_held, 0, &growth));
}

/* ---- traces of known truth ---- */

struct run {
	struct builder m;
	uint32_t main_frame;
	uint64_t next; /* free address */
};

static void run_open(struct run *run, const char *folder, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	builder_open(&run->m, path, 100, -1);
	run->main_frame = builder_python(&run->m, 0, "main", "/home/me/train.py", 50);
	run->next = 0x100000000ull;
}

/* The address of a new tensor of `function`, at line `line` of /home/me/`file`. */
static uint64_t take_at(struct run *run, const char *function, const char *file, uint32_t line, uint64_t bytes)
{
	uint64_t addr = run->next;
	char path[128];

	snprintf(path, sizeof(path), "/home/me/%s", file);
	run->next += (bytes + STRIDE) / STRIDE * STRIDE;
	run->m.stack = builder_python(&run->m, run->main_frame, function, path, line);
	builder_tensor_alloc(&run->m, addr, bytes);
	return addr;
}

static void write_init(struct run *run)
{
	builder_phase(&run->m, "init");
	take_at(run, "Model.__init__", "model.py", 7, 40 * MIB);
	builder_phase_end(&run->m);
}

/*
 * One step. In every micro-batch: 8 MiB of activations that backward frees; `keep` bytes of outputs that stay until
 * the step ends. Gradients come with the first backward and go with the step, optimizer state with the first step.
 */
static void write_step(struct run *run, uint32_t step, uint64_t keep, uint64_t activations)
{
	uint64_t kept[BATCHES], held, gradients = 0;
	uint32_t i;

	for (i = 0; i < BATCHES; i++) {
		builder_phase(&run->m, "forward");
		held = take_at(run, "layer", "model.py", 31, activations);
		kept[i] = keep ? take_at(run, "forward_step", "actor.py", 312, keep) : 0;
		builder_phase_end(&run->m);
		builder_phase(&run->m, "backward");
		gradients = gradients ? gradients : take_at(run, "backward", "actor.py", 320, 20 * MIB);
		builder_tensor_free(&run->m, held, activations);
		builder_phase_end(&run->m);
	}
	builder_phase(&run->m, "optimizer");
	if (step == 1)
		take_at(run, "Adam.step", "adam.py", 90, 80 * MIB);
	builder_tensor_free(&run->m, gradients, 20 * MIB);
	for (i = 0; i < BATCHES && keep; i++)
		builder_tensor_free(&run->m, kept[i], keep);
	builder_phase_end(&run->m);
}

static void write_batches(const char *folder, const char *name, uint64_t keep)
{
	struct run run;
	uint32_t step;

	run_open(&run, folder, name);
	write_init(&run);
	for (step = 1; step <= STEPS; step++) {
		write_step(&run, step, keep, 8 * MIB);
		builder_step(&run.m, step);
	}
	builder_close(&run.m);
}

/* Every step: metrics that nobody frees (`leak` bytes), and a cache of another size that replaces the one before. */
static void write_steps(const char *folder, const char *name, uint64_t leak, uint32_t steps)
{
	static const uint64_t sizes[] = { 5, 9, 6, 7, 8, 4, 9, 5 };
	uint64_t cache = 0, cache_bytes = 0;
	struct run run;
	uint32_t step;

	run_open(&run, folder, name);
	write_init(&run);
	for (step = 1; step <= steps; step++) {
		builder_phase(&run.m, "rollout");
		if (cache)
			builder_tensor_free(&run.m, cache, cache_bytes);
		cache_bytes = sizes[step % 8] * MIB;
		cache = take_at(&run, "Cache.fill", "cache.py", 12, cache_bytes);
		builder_phase_end(&run.m);
		write_step(&run, step, 0, 8 * MIB);
		if (leak) {
			builder_phase(&run.m, "logprob");
			take_at(&run, "log_metrics", "metrics.py", 77, leak);
			builder_phase_end(&run.m);
		}
		builder_step(&run.m, step);
	}
	builder_close(&run.m);
}

/* ---- two runs ---- */

/* `batches` rounds in a step; the loss is `loss` bytes at line `line`; NCCL buffers of `nccl` bytes, 0: none. */
static void write_side(const char *folder, const char *name, uint64_t loss, uint32_t line, uint64_t nccl, int batches)
{
	struct run run;
	uint64_t held;
	int step, i;

	run_open(&run, folder, name);
	write_init(&run);
	if (nccl) {
		run.m.stack = builder_native(&run.m, builder_native(&run.m, 0, "/usr/bin/python3.11", 0x30),
					     "/x/libnccl.so.2", 0x40);
		builder_driver_alloc(&run.m, 0x90000000000ull, nccl);
	}
	for (step = 1; step <= 2; step++) {
		for (i = 0; i < batches; i++) {
			builder_phase(&run.m, "forward");
			held = take_at(&run, "compute_loss", "actor.py", line, loss);
			builder_phase_end(&run.m);
			builder_phase(&run.m, "backward");
			builder_tensor_free(&run.m, held, loss);
			builder_phase_end(&run.m);
		}
		builder_step(&run.m, (uint64_t)step);
	}
	builder_close(&run.m);
}

/* ---- segments ---- */

#define SEGMENT_A 0x10000000000ull
#define SEGMENT_B 0x20000000000ull
#define SEGMENT_C 0x30000000000ull

static void stack_of(struct run *run, const char *function, uint32_t line)
{
	run->m.stack = builder_python(&run->m, run->main_frame, function, "/home/me/train.py", line);
}

/*
 * At the end of step 1, MiB:
 *   A  100: tensors at 0..40 and 60..80      B  100: one of init at 30..32, which pins it      C  50: empty
 */
static void write_holes(struct run *run)
{
	builder_phase(&run->m, "init");
	stack_of(run, "Buffer.__init__", 11);
	builder_driver_alloc(&run->m, SEGMENT_B, 100 * MIB);
	builder_tensor_alloc(&run->m, SEGMENT_B, 30 * MIB);
	builder_tensor_alloc(&run->m, SEGMENT_B + 30 * MIB, 2 * MIB);
	builder_tensor_free(&run->m, SEGMENT_B, 30 * MIB);
	builder_phase_end(&run->m);
	builder_phase(&run->m, "forward");
	stack_of(run, "layer", 22);
	builder_driver_alloc(&run->m, SEGMENT_A, 100 * MIB);
	builder_tensor_alloc(&run->m, SEGMENT_A, 40 * MIB);
	builder_tensor_alloc(&run->m, SEGMENT_A + 60 * MIB, 20 * MIB);
	builder_driver_alloc(&run->m, SEGMENT_C, 50 * MIB);
	builder_tensor_alloc(&run->m, SEGMENT_C, 50 * MIB);
	builder_tensor_free(&run->m, SEGMENT_C, 50 * MIB);
	builder_phase_end(&run->m);
}

static void write_frag(const char *folder)
{
	struct run run;

	run_open(&run, folder, "holes.zst");
	write_holes(&run);
	builder_step(&run.m, 1);
	builder_close(&run.m);
}

static void map(struct run *run, uint64_t handle, uint64_t addr, uint64_t size)
{
	builder_event(&run->m, (struct mt_event){
				       .kind = MT_VMM_CREATE, .device = run->m.cuda, .handle = handle, .size = size });
	builder_event(&run->m, (struct mt_event){ .kind = MT_VMM_MAP, .addr = addr, .size = size, .handle = handle });
}

/* Five mappings of 20 MiB in a row with tensors at 0..30 and 90..100; another one of somebody else. */
static void write_expandable(const char *folder)
{
	struct run run;
	uint64_t i;

	run_open(&run, folder, "expandable.zst");
	builder_phase(&run.m, "forward");
	stack_of(&run, "layer", 22);
	for (i = 0; i < 5; i++)
		map(&run, 100 + i, SEGMENT_A + i * 20 * MIB, 20 * MIB);
	builder_tensor_alloc(&run.m, SEGMENT_A, 30 * MIB);
	builder_tensor_alloc(&run.m, SEGMENT_A + 90 * MIB, 10 * MIB);
	map(&run, 200, SEGMENT_C, 64 * MIB);
	builder_step(&run.m, 1);
	builder_close(&run.m);
}

/* The segments of write_holes, and a pool of 200 MiB that is asleep at the end of step 1 with its tensor in it. */
static void write_asleep(const char *folder)
{
	struct run run;

	run_open(&run, folder, "asleep.zst");
	builder_phase(&run.m, "rollout");
	stack_of(&run, "load_engine", 33);
	map(&run, 300, 0x40000000000ull, 200 * MIB);
	builder_tensor_alloc(&run.m, 0x40000000000ull, 180 * MIB);
	builder_event(&run.m, (struct mt_event){ .kind = MT_VMM_UNMAP, .addr = 0x40000000000ull, .size = 200 * MIB });
	builder_event(&run.m, (struct mt_event){ .kind = MT_VMM_RELEASE, .handle = 300 });
	builder_phase_end(&run.m);
	write_holes(&run);
	builder_step(&run.m, 1);
	builder_close(&run.m);
}

static void write_all(const char *folder)
{
	write_frag(folder);
	write_expandable(folder);
	write_asleep(folder);
	write_side(folder, "before.zst", 12 * MIB, 40, 0, 4);
	write_side(folder, "moved.zst", 12 * MIB, 44, 0, 4);
	write_side(folder, "after.zst", 24 * MIB, 44, 32 * MIB, 2);
	write_batches(folder, "batches.zst", 6 * MIB);
	write_steps(folder, "leak.zst", 3 * MIB, STEPS);
	write_steps(folder, "clean.zst", 0, STEPS);
	write_steps(folder, "short.zst", 3 * MIB, 2);
}

/* ---- more moves than there is room for ---- */

/* Fills `places` with those that grow by micro-batches in batches.zst. Returns the number of micro-batches of a step. */
static uint64_t load_batches(struct growth_list *places, size_t room)
{
	static const struct retained_question all = { 0 };
	char path[] = "batches.zst", *paths[] = { path };
	struct source source;
	struct analysis analysis;
	struct retained retained;
	struct db *db;
	uint64_t count;
	size_t i;

	retained_moves_room = room;
	CHECK_EQ(source_open(&source, paths, 1), 0);
	CHECK_EQ(db_create(&db, NULL, schema_sql), 0);
	CHECK_EQ(load_run(db, &analysis, source.input, 1, source.rules, LOAD_LIVES), 0);
	CHECK_EQ(load_names_of(db, &analysis), 0);
	CHECK_EQ(retained_load(&retained, db, &all), 0);
	for (i = 0; i < retained.batches.count; i++)
		CHECK(growth_list_add(places, &retained.batches.place[i]) != NULL);
	count = retained.batch_count;
	retained_release(&retained);
	db_close(db);
	analysis_release(&analysis);
	source_release(&source);
	retained_moves_room = RETAINED_MOVES_MOST;
	return count;
}

TEST(moves_that_went_to_the_disk_tell_the_same)
{
	struct growth_list places = { 0 };
	size_t room;

	write_batches(".", "batches.zst", 6 * MIB);
	CHECK_EQ(load_batches(&places, RETAINED_MOVES_MOST), BATCHES);
	CHECK_EQ(places.count, 1);
	CHECK_EQ(places.place[0].bytes, 18 * MIB);
	CHECK_EQ(places.place[0].each, 6 * MIB);
	CHECK_EQ(places.place[0].steps, STEPS);
	CHECK_EQ(places.place[0].step, 1);
	for (room = 1; room <= 16; room++) {
		places.count = 0;
		CHECK_EQ(load_batches(&places, room), BATCHES);
		CHECK_EQ(places.count, 1);
		CHECK_EQ(places.place[0].bytes, 18 * MIB);
		CHECK_EQ(places.place[0].steps, STEPS);
		CHECK_EQ(places.place[0].step, 1);
	}
	free(places.place);
}

TEST_MAIN_WRITE(write_all)
