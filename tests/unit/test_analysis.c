/*
 * Random runs of two processes on one GPU, written as traces, against a model that keeps every byte in plain arrays and
 * looks at all of them after every event. The peak, its instant and every part of it must be the same to the byte.
 */
#include "database/db.h"
#include "engine/analysis.h"
#include "label/category_sizes.h"
#include "query/query.h"
#include "source/source.h"
#include "store/store.h"
#include "test.h"
#include "trace_builder.h"

#define RUNS 60
#define EVENTS 400
#define PROCESSES 2
#define REGIONS 12
#define CELLS 8 /* places for tensors in a region */
#define CELL (4 * MIB)
#define STACKS 4
#define PHASES 5
#define REGION_BYTES (CELLS * CELL)
#define ADDRESS(region, cell) (0x100000000ull + (uint64_t)(region)*2 * REGION_BYTES + (uint64_t)(cell)*CELL)

static const char *const words[PHASES] = { "rollout", "forward", "backward", "optimizer", "weight-update" };

struct thing {
	uint64_t bytes; /* 0: not there */
	uint32_t stack, phase;
};

/* A region with tensors in its cells; where the region was never taken from the driver, tensors are by themselves. */
struct region {
	struct thing self;
	struct thing cell[CELLS];
	int seen;
};

struct process {
	struct builder builder;
	struct region region[REGIONS];
	uint32_t stack_ids[STACKS];
	uint32_t phase;
	int touched, ended;
};

/* Bytes per place: of tensors, and of regions beside their tensors. */
struct parts {
	uint64_t tensors[PROCESSES][STACKS][PHASES], residual[PROCESSES][STACKS][PHASES];
};

struct model {
	struct process process[PROCESSES];
	int seen[PROCESSES][STACKS][PHASES]; /* tensors were in driver memory of this place */
	uint64_t now, held, inside, peak, peak_inside, peak_seq, peak_time, phase_peak[PHASES];
	uint32_t peak_process;
	int phase_ran[PHASES];
	struct parts at_peak;
};

static uint64_t inside(const struct region *region)
{
	uint64_t bytes = 0;
	int i;

	for (i = 0; i < CELLS; i++)
		bytes += region->cell[i].bytes;
	return bytes;
}

static uint64_t sum_held(const struct model *model)
{
	const struct region *region;
	uint64_t held = 0;
	int p, r;

	for (p = 0; p < PROCESSES; p++) {
		for (r = 0; r < REGIONS; r++) {
			region = &model->process[p].region[r];
			held += region->self.bytes ? region->self.bytes : inside(region);
		}
	}
	return held;
}

static uint64_t sum_inside(const struct model *model)
{
	uint64_t bytes = 0;
	int p, r;

	for (p = 0; p < PROCESSES; p++)
		for (r = 0; r < REGIONS; r++)
			bytes += inside(&model->process[p].region[r]);
	return bytes;
}

static void take_peak(struct model *model, uint32_t p)
{
	const struct region *region;
	const struct thing *thing;
	int q, r, c;

	model->peak = model->held;
	model->peak_inside = model->inside;
	model->peak_process = p;
	model->peak_seq = model->process[p].builder.seq;
	model->peak_time = model->now - BUILDER_START;
	memset(&model->at_peak, 0, sizeof(model->at_peak));
	for (q = 0; q < PROCESSES; q++) {
		for (r = 0; r < REGIONS; r++) {
			region = &model->process[q].region[r];
			thing = &region->self;
			if (thing->bytes)
				model->at_peak.residual[q][thing->stack][thing->phase] += thing->bytes - inside(region);
			for (c = 0; c < CELLS; c++) {
				thing = &region->cell[c];
				model->at_peak.tensors[q][thing->stack][thing->phase] += thing->bytes;
			}
		}
	}
}

static void note_phase(struct model *model, uint32_t phase)
{
	if (!model->phase_ran[phase] || model->held > model->phase_peak[phase])
		model->phase_peak[phase] = model->held;
	model->phase_ran[phase] = 1;
}

/*
 * After every event of process `p`. Among equally high moments the one with the most tensor bytes is the peak. A phase is
 * as high as what its own process meets in it.
 */
static void settle(struct model *model, uint32_t p)
{
	model->held = sum_held(model);
	model->inside = sum_inside(model);
	if (model->held > model->peak || (model->held == model->peak && model->inside > model->peak_inside))
		take_peak(model, p);
	if (model->process[p].touched)
		note_phase(model, model->process[p].phase);
}

static struct thing new_thing(struct process *process, uint64_t bytes)
{
	struct thing thing = { .bytes = bytes, .stack = (uint32_t)(random() % STACKS), .phase = process->phase };

	process->builder.stack = process->stack_ids[thing.stack];
	process->touched = 1;
	return thing;
}

static void change_region(struct model *model, uint32_t p, uint32_t r)
{
	struct process *process = &model->process[p];
	struct region *region = &process->region[r];

	if (inside(region))
		return;
	if (region->self.bytes) {
		builder_driver_free(&process->builder, ADDRESS(r, 0));
		memset(region, 0, sizeof(*region));
	} else {
		region->self = new_thing(process, REGION_BYTES);
		builder_driver_alloc(&process->builder, ADDRESS(r, 0), REGION_BYTES);
	}
	settle(model, p);
}

static void change_tensor(struct model *model, uint32_t p, uint32_t r)
{
	struct process *process = &model->process[p];
	struct region *region = &process->region[r];
	uint32_t c = (uint32_t)(random() % CELLS);
	struct thing *cell = &region->cell[c];

	if (!cell->bytes) {
		*cell = new_thing(process, (uint64_t)(1 + random() % 8) * CELL / 8);
		if (region->self.bytes)
			model->seen[p][region->self.stack][region->self.phase] = 1;
		builder_tensor_alloc(&process->builder, ADDRESS(r, c), cell->bytes);
	} else {
		builder_tensor_free(&process->builder, ADDRESS(r, c), cell->bytes);
		memset(cell, 0, sizeof(*cell));
	}
	settle(model, p);
}

static void change_phase(struct model *model, uint32_t p, int is_first)
{
	struct process *process = &model->process[p];
	uint32_t before = process->phase;

	if (!is_first)
		builder_phase_end(&process->builder);
	process->phase = (uint32_t)(random() % PHASES);
	builder_phase(&process->builder, words[process->phase]);
	if (is_first || process->phase != before) /* else the phase goes on */
		settle(model, p);
}

static void one_event(struct model *model)
{
	uint32_t p = (uint32_t)(random() % PROCESSES), r = (uint32_t)(random() % REGIONS);
	struct process *process = &model->process[p];
	long what = random() % 20;

	if (process->ended)
		return;
	process->builder.time = model->now;
	model->now += 5000;
	if (what == 0) {
		change_phase(model, p, 0);
	} else {
		process->builder.time = model->now - 1000;
		(what < 7 ? change_region : change_tensor)(model, p, r);
	}
}

/* It goes, with all that it holds. */
static void end_process(struct model *model, uint32_t p)
{
	struct process *process = &model->process[p];

	process->builder.time = model->now += 5000;
	builder_close(&process->builder);
	process->ended = 1;
	memset(process->region, 0, sizeof(process->region));
}

static void write_run(struct model *model, char *const *paths)
{
	struct process *process;
	uint32_t p, i;

	memset(model, 0, sizeof(*model));
	model->now = BUILDER_START + 100000;
	for (p = 0; p < PROCESSES; p++) {
		process = &model->process[p];
		builder_open(&process->builder, paths[p], 100 + p, (int)p);
		for (i = 0; i < STACKS; i++)
			process->stack_ids[i] = builder_python(&process->builder, 0, "f", "/home/me/x.py", i + 1);
		change_phase(model, p, 1);
	}
	for (i = 0; i < EVENTS; i++) {
		one_event(model);
		if (i == EVENTS / 2 && random() % 2)
			end_process(model, (uint32_t)(random() % PROCESSES));
	}
	for (p = 0; p < PROCESSES; p++)
		if (!model->process[p].ended)
			end_process(model, p);
}

static int64_t ask(struct db *db, const char *sql, int64_t one, const char *two, int64_t three)
{
	struct db_stmt *stmt;
	int64_t value;

	CHECK_EQ(db_prepare(db, &stmt, sql), 0);
	db_bind(stmt, 1, one);
	db_bind_text(stmt, 2, two);
	db_bind(stmt, 3, three);
	CHECK_EQ(db_step(stmt), 1);
	value = db_int(stmt, 0);
	db_finish(stmt);
	return value;
}

/* Every place of every process: its tensors, its slack, its other driver memory. */
static void compare_parts(struct db *db, const struct model *model)
{
	static const char sql[] = "SELECT ifnull(sum(bytes), 0) FROM peak_part JOIN site ON site = site.id "
				  "JOIN stack_node ON node = stack_node.id JOIN frame ON frame = frame.id "
				  "WHERE site.process = ?1 AND site.phase = ?2 AND line = ?3";
	char tensors[512], slack[512], driver[512];
	uint64_t residual;
	uint32_t p, s, f;
	int seen;

	snprintf(tensors, sizeof(tensors), "%s AND memory = 'tensor' AND peak_part.owner = 'pytorch'", sql);
	snprintf(slack, sizeof(slack), "%s AND memory = 'driver' AND peak_part.category = 'allocator slack'", sql);
	snprintf(driver, sizeof(driver), "%s AND memory = 'driver' AND peak_part.owner = 'unknown'", sql);
	for (p = 0; p < PROCESSES; p++) {
		for (s = 0; s < STACKS; s++) {
			for (f = 0; f < PHASES; f++) {
				residual = model->at_peak.residual[p][s][f];
				seen = model->seen[p][s][f];
				CHECK_EQ(ask(db, tensors, p + 1, words[f], s + 1), model->at_peak.tensors[p][s][f]);
				CHECK_EQ(ask(db, slack, p + 1, words[f], s + 1), seen ? residual : 0);
				CHECK_EQ(ask(db, driver, p + 1, words[f], s + 1), seen ? 0 : residual);
			}
		}
	}
}

static int add_bytes(void *context, const struct query_part *row)
{
	*(uint64_t *)context += row->bytes;
	return 0;
}

static void compare(struct db *db, const struct model *model)
{
	uint64_t sum;
	uint32_t f;
	int by;

	CHECK_EQ(ask(db, "SELECT bytes FROM peak", 0, "", 0), model->peak);
	CHECK_EQ(ask(db, "SELECT seq FROM peak", 0, "", 0), model->peak_seq);
	CHECK_EQ(ask(db, "SELECT time FROM peak", 0, "", 0), model->peak_time);
	CHECK_EQ(ask(db, "SELECT process FROM peak", 0, "", 0), model->peak_process + 1);
	for (by = 0; by < QUERY_BY_COUNT; by++) {
		sum = 0;
		CHECK_EQ(query_parts(db, 1, (enum query_by)by, add_bytes, &sum), 0);
		CHECK_EQ(sum, model->peak);
	}
	for (f = 0; f < PHASES; f++)
		CHECK_EQ(ask(db, "SELECT ifnull(max(bytes), -1) FROM phase_peak WHERE phase = ?2", 0, words[f], 0),
			 model->phase_ran[f] ? (int64_t)model->phase_peak[f] : -1);
	compare_parts(db, model);
}

TEST(random_runs_agree_with_the_model)
{
	static struct model model;
	const char *folder = test_dir();
	char first[300], second[300];
	char *paths[] = { first, second };
	struct source source;
	struct analysis analysis;
	struct db *db;
	int run;

	snprintf(first, sizeof(first), "%s/a.zst", folder);
	snprintf(second, sizeof(second), "%s/b.zst", folder);
	for (run = 0; run < RUNS; run++) {
		srandom((unsigned)run);
		printf("# run %d\n", run);
		write_run(&model, paths);
		CHECK_EQ(source_open(&source, paths, 2), 0);
		CHECK_EQ(analysis_run(&analysis, source.input, 2, source.rules, NULL), 0);
		CHECK_EQ(db_create(&db, NULL, schema_sql), 0);
		CHECK_EQ(store_summary(db, &analysis, 0), 0);
		compare(db, &model);
		db_close(db);
		analysis_release(&analysis);
		source_release(&source);
	}
}

/* ---- The peak is taken when it is known what fills it ---- */

static void vmm_create(struct builder *builder, uint64_t handle, uint64_t size)
{
	builder_event(builder, (struct mt_event){ .kind = MT_VMM_CREATE,
						  .device = builder->device,
						  .stack = builder->stack,
						  .handle = handle,
						  .size = size });
}

static void vmm_map(struct builder *builder, uint64_t addr, uint64_t handle, uint64_t size)
{
	builder_event(builder, (struct mt_event){ .kind = MT_VMM_MAP, .addr = addr, .handle = handle, .size = size });
}

static void vmm_sleep(struct builder *builder, uint64_t addr, uint64_t handle, uint64_t size)
{
	builder_event(builder, (struct mt_event){ .kind = MT_VMM_UNMAP, .addr = addr, .size = size });
	builder_event(builder, (struct mt_event){ .kind = MT_VMM_RELEASE, .handle = handle });
}

/* Bytes of tensors at the peak of a trace; the rest of it is slack. */
static uint64_t tensors_at_peak(char *path, uint64_t peak)
{
	struct source source;
	struct analysis analysis;
	struct db *db;
	uint64_t tensors;

	CHECK_EQ(source_open(&source, &path, 1), 0);
	CHECK_EQ(analysis_run(&analysis, source.input, 1, source.rules, NULL), 0);
	CHECK_EQ(db_create(&db, NULL, schema_sql), 0);
	CHECK_EQ(store_summary(db, &analysis, 0), 0);
	CHECK_EQ(ask(db, "SELECT bytes FROM peak", 0, "", 0), peak);
	tensors = (uint64_t)ask(db,
				"SELECT ifnull(sum(bytes), 0) FROM peak_part JOIN site ON site = site.id "
				"WHERE memory = 'tensor'",
				0, "", 0);
	CHECK_EQ(ask(db, "SELECT slack_bytes FROM peak", 0, "", 0), peak - tensors);
	db_close(db);
	analysis_release(&analysis);
	source_release(&source);
	return tensors;
}

/* An expandable segment grows by two chunks for one block. */
TEST(peak_of_an_expandable_segment)
{
	struct builder builder;
	char path[300];

	snprintf(path, sizeof(path), "%s/expandable.zst", test_dir());
	builder_open(&builder, path, 100, -1);
	builder.stack = builder_python(&builder, 0, "f", "/home/me/x.py", 1);
	vmm_create(&builder, 1, 20 * MIB);
	vmm_create(&builder, 2, 20 * MIB);
	vmm_map(&builder, 0x100000000, 1, 20 * MIB);
	vmm_map(&builder, 0x100000000 + 20 * MIB, 2, 20 * MIB);
	builder_tensor_alloc(&builder, 0x100000000, 33 * MIB);
	builder_tensor_free(&builder, 0x100000000, 33 * MIB);
	builder_close(&builder);
	CHECK_EQ(tensors_at_peak(path, 40 * MIB), 33 * MIB);
}

/* Tensors of one stack and size have a known site. Each counts among the weights all the same, until something is computed. */
TEST(weights_of_a_known_site_are_counted)
{
	struct builder builder;
	struct source source;
	struct analysis analysis;
	const struct category_sizes *sizes;
	char path[300], *paths[1] = { path };
	uint64_t i;

	snprintf(path, sizeof(path), "%s/weights.zst", test_dir());
	builder_open(&builder, path, 100, -1);
	builder.stack = builder_python(&builder, 0, "f", "/home/me/x.py", 1);
	for (i = 0; i < 7; i++)
		builder_tensor_alloc(&builder, 0x100000000 + i * 4 * MIB, i < 5 ? MIB : 2 * MIB);
	builder_tensor_free(&builder, 0x100000000, MIB);
	builder_phase(&builder, "forward");
	builder_tensor_alloc(&builder, 0x100000000, MIB);
	builder_tensor_free(&builder, 0x100000000 + 4 * MIB, MIB);
	builder_close(&builder);
	CHECK_EQ(source_open(&source, paths, 1), 0);
	CHECK_EQ(analysis_run(&analysis, source.input, 1, source.rules, NULL), 0);
	sizes = analysis.categories.sizes[0];
	CHECK(sizes->closed);
	CHECK_EQ(sizes->weights[sizes_find(sizes, MIB)], 4);
	CHECK_EQ(sizes->weights[sizes_find(sizes, 2 * MIB)], 2);
	analysis_release(&analysis);
	source_release(&source);
}

/* A pool that slept is awake at the peak: it is tensors, not new driver memory. */
TEST(peak_of_a_pool_that_wakes)
{
	struct builder builder;
	char path[300];

	snprintf(path, sizeof(path), "%s/wakes.zst", test_dir());
	builder_open(&builder, path, 100, -1);
	builder.stack = builder_python(&builder, 0, "f", "/home/me/x.py", 1);
	vmm_create(&builder, 1, 20 * MIB);
	vmm_map(&builder, 0x100000000, 1, 20 * MIB);
	builder_tensor_alloc(&builder, 0x100000000, 20 * MIB);
	vmm_sleep(&builder, 0x100000000, 1, 20 * MIB);
	builder_driver_alloc(&builder, 0x200000000, 10 * MIB);
	builder_tensor_alloc(&builder, 0x200000000, 10 * MIB);
	vmm_create(&builder, 2, 20 * MIB);
	vmm_map(&builder, 0x100000000, 2, 20 * MIB);
	builder_close(&builder);
	CHECK_EQ(tensors_at_peak(path, 30 * MIB), 30 * MIB);
}

/* ---- A request that the driver refused ---- */

static void refuse(struct builder *builder, uint64_t entry, uint64_t size)
{
	builder_event(builder, (struct mt_event){ .kind = MT_DRIVER_FAIL,
						  .device = builder->cuda,
						  .entry = entry,
						  .size = size,
						  .result = 2 /* CUDA_ERROR_OUT_OF_MEMORY */ });
}

/* The process gets `size` bytes of the device by the call, right after it was refused 20 MiB of the GPU. */
static int has_it(const char *name, int elsewhere, uint64_t entry, uint64_t size)
{
	struct analysis analysis;
	struct source source;
	struct builder builder;
	char path[300], *paths = path;
	uint32_t other;
	int had;

	snprintf(path, sizeof(path), "%s/%s.zst", test_dir(), name);
	builder_open(&builder, path, 100, -1);
	other = builder_device(&builder, MT_DEVICE_CUDA, 1, "Test GPU", "GPU-0001", 1024 * MIB);
	refuse(&builder, 7, 20 * MIB);
	builder_event(&builder, (struct mt_event){ .kind = MT_DRIVER_ALLOC,
						   .device = elsewhere ? other : builder.cuda,
						   .entry = entry,
						   .addr = 0x100000000,
						   .size = size });
	builder_close(&builder);
	CHECK_EQ(source_open(&source, &paths, 1), 0);
	CHECK_EQ(analysis_run(&analysis, source.input, 1, source.rules, NULL), 0);
	CHECK_EQ(analysis.ooms, 1);
	had = analysis.oom[0].had;
	analysis_release(&analysis);
	source_release(&source);
	return had;
}

/* Memory of the host is what another call gives: a program may take that, or another GPU's, for want of this one's. */
TEST(refused_and_had_is_the_same_request)
{
	CHECK_EQ(has_it("again", 0, 7, 20 * MIB), 1);
	CHECK_EQ(has_it("less", 0, 7, 10 * MIB), 0);
	CHECK_EQ(has_it("another_call", 0, 8, 20 * MIB), 0);
	CHECK_EQ(has_it("another_gpu", 1, 7, 20 * MIB), 0);
}

/* Two processes, one after the other, and their GPU. */
struct pair {
	const char *uuid[2], *name[2];
	uint32_t index[2];
	int rank[2];
	uint32_t devices; /* number in the run */
};

static const struct pair pairs[] = {
	{ { "GPU-1", "GPU-1" }, { "A", "A" }, { 0, 0 }, { -1, -1 }, 1 },
	{ { "GPU-1", "GPU-1" }, { "A", "A" }, { 0, 1 }, { 0, 1 }, 1 }, /* each sees it under a number of its own */
	{ { "GPU-1", "GPU-2" }, { "A", "A" }, { 0, 0 }, { -1, -1 }, 2 },
	{ { "GPU-1", "" }, { "A", "" }, { 0, 0 }, { -1, -1 }, 1 },
	{ { "", "GPU-1" }, { "", "A" }, { 0, 0 }, { -1, -1 }, 1 },
	{ { "", "GPU-1" }, { "", "A" }, { 3, 3 }, { 1, 1 }, 1 },
	{ { "", "GPU-1" }, { "", "A" }, { 0, 0 }, { -1, 1 }, 1 },
	{ { "", "GPU-1" }, { "", "A" }, { 0, 0 }, { 0, 1 }, 2 },
	{ { "", "GPU-1" }, { "", "A" }, { 0, 1 }, { -1, -1 }, 2 },
	{ { "", "GPU-1" }, { "B", "A" }, { 0, 0 }, { -1, -1 }, 2 },
	{ { "", "" }, { "", "" }, { 0, 0 }, { -1, -1 }, 2 },
};

static void write_one(const struct pair *pair, int i, const char *path)
{
	struct builder builder;

	builder_open(&builder, path, 100 + (uint32_t)i, pair->rank[i]);
	builder.time += (uint64_t)i * 100000;
	builder.device = builder_device(&builder, MT_DEVICE_CUDA, 1 + pair->index[i], pair->name[i], pair->uuid[i], 0);
	builder_driver_alloc(&builder, 0x10000000, 20 * MIB);
	builder_close(&builder);
}

TEST(a_device_without_its_uuid_is_one_that_is_known)
{
	const char *folder = test_dir();
	char first[300], second[300];
	char *paths[] = { first, second };
	struct source source;
	struct analysis analysis;
	size_t row;

	snprintf(first, sizeof(first), "%s/a.zst", folder);
	snprintf(second, sizeof(second), "%s/b.zst", folder);
	for (row = 0; row < sizeof(pairs) / sizeof(*pairs); row++) {
		printf("# %zu\n", row);
		write_one(&pairs[row], 0, first);
		write_one(&pairs[row], 1, second);
		CHECK_EQ(source_open(&source, paths, 2), 0);
		CHECK_EQ(source.inputs, 2);
		CHECK_EQ(analysis_run(&analysis, source.input, 2, source.rules, NULL), 0);
		CHECK_EQ(analysis.devices, pairs[row].devices);
		CHECK_EQ(analysis.device[0].peak.bytes, 20 * MIB);
		if (analysis.devices == 1)
			CHECK_STR(analysis.device[0].uuid, "GPU-1");
		analysis_release(&analysis);
		source_release(&source);
	}
}

TEST_MAIN()
