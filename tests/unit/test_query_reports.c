/*
 * The base of the reports phases, steps, oom and check: moments, the live set at them, steps per device, places,
 * growth and the causes of failed requests. With "--write DIR" it only writes the traces that tests/cli/test_reports.sh looks at.
 */
#include "database/db.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "report/finding.h"
#include "report/steps/figures.h"
#include "source/source.h"
#include "store/load.h"
#include "test.h"
#include "trace_builder.h"
#include "why/page/why.h"

#define SEGMENT 0x10000000000ull
#define SEGMENT_2 0x20000000000ull
#define SEGMENT_3 0x30000000000ull
#define LEAK 0x40000000000ull
#define CUDA_ERROR_OUT_OF_MEMORY 2

/* ---- the traces ---- */

static uint32_t frame(struct builder *m, const char *function, uint32_t line)
{
	return builder_python(m, builder_python(m, 0, "main", "/home/me/train.py", 1), function, "/home/me/train.py",
			      line);
}

/* Everything is allocated by one helper. */
static void allocate(struct builder *m, uint32_t caller, uint64_t addr, uint64_t size)
{
	m->stack = builder_python(m, caller, "empty", "/home/me/memory.py", 5);
	builder_tensor_alloc(m, addr, size);
}

/* By the allocator; nobody's stack. */
static void take_segment(struct builder *m, uint64_t addr, uint64_t size)
{
	m->stack = 0;
	builder_driver_alloc(m, addr, size);
}

/*
 * The model: 40 MiB of weights in a segment of 100; with the first step 20 MiB of optimizer state. Each step takes 80
 * MiB of activations in another segment of 80, frees them, and keeps `leak` more. A buffer of 10 MiB comes and goes
 * within each forward.
 */
static void begin_training(struct builder *m)
{
	builder_phase(m, "init");
	take_segment(m, SEGMENT, 100 * MIB);
	allocate(m, frame(m, "load", 10), SEGMENT, 40 * MIB);
	builder_phase_end(m);
}

static void train(struct builder *m, uint64_t step, uint64_t leak)
{
	builder_phase(m, "forward");
	if (step == 1)
		take_segment(m, SEGMENT_2, 80 * MIB);
	allocate(m, frame(m, "forward", 19), SEGMENT_2, 10 * MIB);
	builder_tensor_free(m, SEGMENT_2, 10 * MIB);
	allocate(m, frame(m, "forward", 20), SEGMENT_2, 80 * MIB);
	if (leak) {
		take_segment(m, LEAK + step * 256 * MIB, leak);
		allocate(m, frame(m, "keep_for_metrics", 77), LEAK + step * 256 * MIB, leak);
	}
	builder_phase_end(m);
	builder_phase(m, "backward");
	builder_tensor_free(m, SEGMENT_2, 80 * MIB);
	builder_phase_end(m);
	builder_phase(m, "optimizer");
	if (step == 1)
		allocate(m, frame(m, "make_state", 30), SEGMENT + 40 * MIB, 20 * MIB);
	builder_phase_end(m);
	builder_step(m, step);
}

static void write_training(const char *path, uint64_t steps, uint64_t leak)
{
	struct builder m;
	uint64_t step;

	builder_open(&m, path, 100, -1);
	begin_training(&m);
	for (step = 1; step <= steps; step++)
		train(&m, step, leak);
	builder_close(&m);
}

static void write_rank(const char *path, int rank, uint32_t gpu, uint64_t extra, uint64_t leak)
{
	char uuid[16];
	struct builder m;
	uint64_t step;

	builder_open(&m, path, 1000 + (uint32_t)rank, rank);
	snprintf(uuid, sizeof(uuid), "GPU-000%u", gpu);
	m.device = m.cuda = builder_device(&m, MT_DEVICE_CUDA, 1 + gpu, "Test GPU", uuid, 1024 * MIB);
	if (extra)
		take_segment(&m, SEGMENT_3, extra);
	begin_training(&m);
	for (step = 1; step <= 3; step++)
		train(&m, step, leak);
	builder_close(&m);
}

static void refuse(struct builder *m, uint32_t kind, uint64_t size)
{
	struct mt_event event = {
		.kind = kind, .device = m->device, .stack = frame(m, "compute_logits", 55), .size = size
	};

	event.result = kind == MT_DRIVER_FAIL ? CUDA_ERROR_OUT_OF_MEMORY : 0;
	builder_event(m, event);
}

/* The trainer sleeps with 600 MiB in reserve; the engine holds 200 and wants 500. Later the trainer lets go. */
static void write_neighbours(const char *trainer, const char *engine)
{
	struct builder t, e;

	builder_open(&t, trainer, 200, -1);
	builder_open(&e, engine, 300, -1);
	take_segment(&t, SEGMENT, 700 * MIB);
	allocate(&t, frame(&t, "load", 10), SEGMENT, 100 * MIB);
	t.time = BUILDER_START + 9000000;
	builder_driver_free(&t, SEGMENT);
	e.time = BUILDER_START + 1000000;
	builder_phase(&e, "rollout");
	take_segment(&e, SEGMENT, 200 * MIB);
	refuse(&e, MT_DRIVER_FAIL, 500 * MIB);
	e.time = BUILDER_START + 10000000;
	take_segment(&e, SEGMENT_2, 400 * MIB);
	builder_phase_end(&e);
	builder_close(&t);
	builder_close(&e);
}

/* Three segments of 300 MiB, half full each; 400 are asked for. The driver is asked twice before. */
static void write_fragments(const char *path)
{
	static const uint64_t segments[] = { SEGMENT, SEGMENT_2, SEGMENT_3 };
	struct builder m;
	int i;

	builder_open(&m, path, 400, -1);
	builder_phase(&m, "forward");
	for (i = 0; i < 3; i++) {
		take_segment(&m, segments[i], 300 * MIB);
		allocate(&m, frame(&m, "forward", 20), segments[i], 150 * MIB);
	}
	refuse(&m, MT_DRIVER_FAIL, 402 * MIB);
	refuse(&m, MT_DRIVER_FAIL, 402 * MIB);
	refuse(&m, MT_TENSOR_OOM, 400 * MIB);
	builder_phase_end(&m);
	builder_close(&m);
}

/* 800 MiB of activations, 100 of weights, and 300 asked for; later, much more is there, and another request is absurd.
 */
static void write_full(const char *path)
{
	struct builder m;

	builder_open(&m, path, 500, -1);
	builder_phase(&m, "init");
	take_segment(&m, SEGMENT, 100 * MIB);
	allocate(&m, frame(&m, "load", 10), SEGMENT, 100 * MIB);
	builder_phase_end(&m);
	builder_phase(&m, "forward");
	take_segment(&m, SEGMENT_2, 800 * MIB);
	allocate(&m, frame(&m, "forward", 20), SEGMENT_2, 800 * MIB);
	refuse(&m, MT_TENSOR_OOM, 300 * MIB);
	builder_tensor_free(&m, SEGMENT_2, 800 * MIB);
	take_segment(&m, SEGMENT_3, 100 * MIB);
	allocate(&m, frame(&m, "forward", 21), SEGMENT_2, 700 * MIB);
	refuse(&m, MT_TENSOR_OOM, 2000 * MIB);
	builder_phase_end(&m);
	builder_close(&m);
}

/* Refused; the allocator gives back its reserve, and then it fits. */
static void write_survived(const char *path)
{
	struct builder m;

	builder_open(&m, path, 700, -1);
	builder_phase(&m, "forward");
	take_segment(&m, SEGMENT, 700 * MIB);
	refuse(&m, MT_DRIVER_FAIL, 500 * MIB);
	builder_driver_free(&m, SEGMENT);
	take_segment(&m, SEGMENT_2, 500 * MIB);
	builder_phase_end(&m);
	builder_close(&m);
}

/* Grows beside `other` bytes that do not, and the step after `steps` does not fit: `size` bytes are asked for. */
static void write_retained(const char *path, uint64_t steps, uint64_t other, uint64_t size)
{
	struct builder m;
	uint64_t step;

	builder_open(&m, path, 600, -1);
	begin_training(&m);
	if (other) {
		take_segment(&m, SEGMENT_3, other);
		allocate(&m, frame(&m, "load", 10), SEGMENT_3, other);
	}
	for (step = 1; step <= steps; step++)
		train(&m, step, 64 * MIB);
	builder_phase(&m, "forward");
	allocate(&m, frame(&m, "forward", 20), SEGMENT_2, 80 * MIB);
	refuse(&m, MT_TENSOR_OOM, size);
	builder_phase_end(&m);
	builder_close(&m);
}

static void map_pool(struct builder *m, uint64_t handle)
{
	m->stack = frame(m, "engine", 40);
	builder_event(m, (struct mt_event){ .kind = MT_VMM_CREATE,
					    .device = m->device,
					    .stack = m->stack,
					    .handle = handle,
					    .size = 200 * MIB });
	builder_event(m,
		      (struct mt_event){ .kind = MT_VMM_MAP, .addr = SEGMENT_3, .size = 200 * MIB, .handle = handle });
}

static void unmap_pool(struct builder *m, uint64_t handle)
{
	builder_event(m, (struct mt_event){ .kind = MT_VMM_UNMAP, .addr = SEGMENT_3, .size = 200 * MIB });
	builder_event(m, (struct mt_event){ .kind = MT_VMM_RELEASE, .handle = handle });
}

/* A tensor of 200 MiB in a pool that sleeps at the ends of steps 1 and 3, and is awake at that of step 2. */
static void write_sleeper(const char *path)
{
	struct builder m;

	builder_open(&m, path, 800, -1);
	begin_training(&m);
	builder_phase(&m, "rollout");
	map_pool(&m, 1);
	allocate(&m, frame(&m, "engine", 40), SEGMENT_3, 200 * MIB);
	unmap_pool(&m, 1);
	builder_phase_end(&m);
	train(&m, 1, 0);
	builder_phase(&m, "rollout");
	map_pool(&m, 2);
	builder_phase_end(&m);
	train(&m, 2, 0);
	builder_phase(&m, "rollout");
	unmap_pool(&m, 2);
	builder_phase_end(&m);
	train(&m, 3, 0);
	builder_phase(&m, "forward");
	refuse(&m, MT_TENSOR_OOM, 900 * MIB);
	builder_phase_end(&m);
	builder_close(&m);
}

/* One segment of 100 MiB all the time. In it are at most 60 MiB, then 90, and in step 2 95. */
static void write_plateau(const char *path)
{
	struct builder m;

	builder_open(&m, path, 900, -1);
	builder_phase(&m, "forward");
	take_segment(&m, SEGMENT, 100 * MIB);
	allocate(&m, frame(&m, "forward", 20), SEGMENT, 60 * MIB);
	builder_tensor_free(&m, SEGMENT, 60 * MIB);
	builder_phase_end(&m);
	builder_phase(&m, "backward");
	allocate(&m, frame(&m, "backward", 30), SEGMENT, 90 * MIB);
	builder_tensor_free(&m, SEGMENT, 90 * MIB);
	builder_phase_end(&m);
	builder_step(&m, 1);
	builder_phase(&m, "optimizer");
	allocate(&m, frame(&m, "step", 40), SEGMENT, 95 * MIB);
	builder_tensor_free(&m, SEGMENT, 95 * MIB);
	builder_phase_end(&m);
	builder_step(&m, 2);
	builder_close(&m);
}

static const char *path_in(const char *folder, const char *name)
{
	static char path[4][512];
	static int next;

	next = (next + 1) % 4;
	snprintf(path[next], sizeof(path[next]), "%s/%s", folder, name);
	return path[next];
}

static void write_all(const char *folder)
{
	write_training(path_in(folder, "grows.zst"), 5, 2 * MIB);
	write_training(path_in(folder, "flat.zst"), 5, 0);
	write_training(path_in(folder, "short.zst"), 2, 0);
	write_training(path_in(folder, "none.zst"), 0, 0);
	write_rank(path_in(folder, "rank0.zst"), 0, 0, 0, 0);
	write_rank(path_in(folder, "rank1.zst"), 1, 1, 300 * MIB, 0);
	write_rank(path_in(folder, "shared0.zst"), 0, 0, 0, 2 * MIB);
	write_rank(path_in(folder, "shared1.zst"), 1, 0, 0, 2 * MIB);
	write_rank(path_in(folder, "shared2.zst"), 2, 0, 0, 2 * MIB);
	write_neighbours(path_in(folder, "trainer.zst"), path_in(folder, "engine.zst"));
	write_fragments(path_in(folder, "fragments.zst"));
	write_full(path_in(folder, "full.zst"));
	write_retained(path_in(folder, "retained.zst"), 3, 0, 700 * MIB);
	write_retained(path_in(folder, "pieces.zst"), 5, 484 * MIB, 40 * MIB);
	write_sleeper(path_in(folder, "sleeper.zst"));
	write_plateau(path_in(folder, "plateau.zst"));
	write_survived(path_in(folder, "survived.zst"));
}

/* ---- from traces to a database ---- */

struct run {
	struct source source;
	struct analysis analysis;
	struct db *db;
};

static void run_open(struct run *run, const char *one, const char *two)
{
	char *paths[] = { (char *)one, (char *)two };

	memset(run, 0, sizeof(*run));
	CHECK_EQ(source_open(&run->source, paths, two ? 2 : 1), 0);
	CHECK_EQ(db_create(&run->db, NULL, schema_sql), 0);
	CHECK_EQ(load_run(run->db, &run->analysis, run->source.input, run->source.inputs, run->source.rules,
			  LOAD_TIMELINE),
		 0);
	CHECK_EQ(load_names(run->db), 0);
}

static void run_close(struct run *run)
{
	db_close(run->db);
	analysis_release(&run->analysis);
	source_release(&run->source);
}

/* The one number that `sql` asks for. */
static int64_t ask(struct run *run, const char *sql)
{
	struct db_stmt *stmt;
	int64_t value;

	CHECK_EQ(db_prepare(run->db, &stmt, sql), 0);
	CHECK_EQ(db_step(stmt), 1);
	value = db_int(stmt, 0);
	db_finish(stmt);
	return value;
}

static int64_t mib(struct run *run, const char *sql)
{
	int64_t bytes = ask(run, sql);

	CHECK_EQ(bytes % (int64_t)MIB, 0);
	return bytes / (int64_t)MIB;
}

/* ---- the tests ---- */

TEST(a_moment_has_what_was_alive_then)
{
	const char *path = path_in(test_dir(), "grows.zst");
	struct run run;

	write_training(path, 5, 2 * MIB);
	run_open(&run, path, NULL);
	CHECK_EQ(ask(&run, "SELECT count(*) FROM live_at WHERE moment = 'start'"), 0);
	CHECK_EQ(mib(&run, "SELECT sum(bytes) FROM live_at WHERE moment = 'step:3:end' AND memory = 'tensor'"),
		 40 + 20 + 6);
	CHECK_EQ(mib(&run, "SELECT sum(bytes) FROM live_at WHERE moment = 'step:3:end' AND memory = 'device'"), 186);
	CHECK_EQ(mib(&run, "SELECT sum(bytes) FROM live_at WHERE moment = 'end' AND memory = 'device'"), 190);
	CHECK_EQ(mib(&run, "SELECT sum(bytes) - (SELECT bytes FROM peak) FROM live_at WHERE moment = 'peak' "
			   "AND memory = 'device'"),
		 0);
	CHECK_EQ(ask(&run, "SELECT count(*) FROM named_moment WHERE name LIKE 'step:%:end'"), 5);
	CHECK_EQ(ask(&run, "SELECT count(*) FROM named_moment WHERE name LIKE 'step:%' AND name NOT LIKE '%:end'"), 5);
	CHECK_EQ(mib(&run, "SELECT sum(bytes) FROM live_at WHERE moment = 'step:3' AND memory = 'device'"), 186);
	CHECK_EQ(mib(&run, "SELECT sum(bytes) FROM live_at WHERE moment = 'step:3' AND in_use"), 146);
	CHECK_EQ(ask(&run, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
	run_close(&run);
}

/* Between processes time decides: what the trainer gave back later was there, what the engine took later was not. */
TEST(a_moment_of_several_processes_goes_by_time)
{
	const char *folder = test_dir(), *trainer = path_in(folder, "t.zst"), *engine = path_in(folder, "e.zst");
	struct run run;

	write_neighbours(trainer, engine);
	run_open(&run, trainer, engine);
	CHECK_EQ(mib(&run, "SELECT sum(bytes) FROM live_at WHERE moment = 'oom' AND memory = 'device'"), 900);
	CHECK_EQ(ask(&run, "SELECT count(DISTINCT process) FROM live_at WHERE moment = 'oom'"), 2);
	CHECK_EQ(mib(&run, "SELECT held_bytes FROM oom_holder JOIN process ON id = process WHERE pid = 200"), 700);
	CHECK_EQ(mib(&run, "SELECT slack_bytes FROM oom_holder JOIN process ON id = process WHERE pid = 200"), 600);
	CHECK_EQ(mib(&run, "SELECT sum(bytes) FROM live_at JOIN process ON id = at_process "
			   "WHERE moment = 'end' AND pid = 300 AND memory = 'device'"),
		 600);
	CHECK_EQ(ask(&run, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
	run_close(&run);
}

TEST(a_step_knows_its_peak_and_what_it_leaves)
{
	const char *path = path_in(test_dir(), "grows.zst");
	struct run run;

	write_training(path, 5, 2 * MIB);
	run_open(&run, path, NULL);
	CHECK_EQ(mib(&run, "SELECT peak_bytes FROM step_device WHERE step = 1"), 182);
	CHECK_EQ(mib(&run, "SELECT peak_bytes FROM step_device WHERE step = 5"), 190);
	CHECK_EQ(ask(&run, "SELECT count(*) FROM step_device WHERE step <= 5 AND peak_phase = 'forward'"), 5);
	CHECK_EQ(mib(&run, "SELECT held_bytes FROM step_device WHERE step = 5"), 190);
	CHECK_EQ(mib(&run, "SELECT slack_bytes FROM step_device WHERE step = 5"), 190 - 70);
	CHECK_EQ(mib(&run, "SELECT tensor_bytes FROM step_device WHERE step = 5"), 70);
	CHECK_EQ(mib(&run, "SELECT max(peak_bytes) - (SELECT bytes FROM peak) FROM step_device"), 0);
	CHECK_EQ(ask(&run,
		     "SELECT count(*) FROM step AS a JOIN step AS b ON b.step = a.step + 1 AND b.begin_seq = a.end_seq "
		     "AND b.begin_time = a.end_time"),
		 4);
	CHECK_EQ(ask(&run, "SELECT begin_seq FROM step WHERE step = 1"), 0);
	run_close(&run);
}

/* The helper's line is nobody's place; who called it is. */
TEST(a_place_is_outside_of_helpers)
{
	const char *path = path_in(test_dir(), "grows.zst");
	struct run run;

	write_training(path, 5, 2 * MIB);
	run_open(&run, path, NULL);
	CHECK_EQ(ask(&run, "SELECT count(*) FROM place WHERE place = 'memory.py:5'"), 0);
	CHECK_EQ(mib(&run, "SELECT sum(bytes) FROM in_use_span JOIN place USING (node) "
			   "WHERE (function, place) = ('keep_for_metrics', 'train.py:77')"),
		 10);
	CHECK_EQ(mib(&run, "SELECT bytes FROM bytes_by_place WHERE place = 'train.py:10'"), 40);
	run_close(&run);
}

TEST(growth_is_told_from_what_stays)
{
	static const struct {
		uint64_t steps, leak;
		enum growth_state state;
		uint64_t each, grown;
	} cases[] = {
		{ 5, 2 * MIB, GROWTH_GROWING, 2 * MIB, 10 * MIB },
		{ 3, 2 * MIB, GROWTH_GROWING, 2 * MIB, 6 * MIB },
		{ 5, 0, GROWTH_STEADY, 0, 0 },
		{ 5, 512, GROWTH_STEADY, 0, 0 },
		{ 2, 2 * MIB, GROWTH_UNKNOWN, 0, 0 },
	};
	const char *path = path_in(test_dir(), "run.zst");
	struct finding_place named;
	struct growth_figures figures;
	struct run run;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(cases); i++) {
		write_training(path, cases[i].steps, cases[i].leak);
		run_open(&run, path, NULL);
		CHECK_EQ(growth_figures_load(&figures, run.db, GROWTH_STEPS), 0);
		CHECK_EQ(figures.steps.count, 1);
		CHECK_EQ(figures.steps.lane[0].ended, cases[i].steps);
		CHECK_EQ(figures.steps.lane[0].count, cases[i].steps);
		CHECK_EQ(figures.steps.lane[0].state, cases[i].state);
		CHECK_EQ(figures.steps.lane[0].each, cases[i].each);
		CHECK_EQ(figures.steps.lane[0].grown, cases[i].grown);
		CHECK_EQ(figures.steps.lane[0].row[1].in_use, 60 * MIB + 2 * cases[i].leak);
		CHECK_EQ(figures.growth.table.rows, cases[i].state == GROWTH_GROWING);
		if (figures.growth.table.rows) {
			CHECK_EQ(finding_place_of(&named, run.db, figures.growth.table.row[0].most->node), 0);
			CHECK_STR(named.function, "keep_for_metrics");
			CHECK_STR(figures.growth.table.row[0].most->phase, "forward");
		}
		growth_figures_release(&figures);
		run_close(&run);
	}
}

TEST(a_phase_knows_what_it_leaves)
{
	const char *path = path_in(test_dir(), "grows.zst");
	const struct phases_row *row;
	struct phases phases;
	struct run run;

	write_training(path, 5, 2 * MIB);
	run_open(&run, path, NULL);
	CHECK_EQ(phases_load(&phases, run.db, 0), 0);
	CHECK_EQ(phases.count, 1);
	row = &phases.device[0].row[MT_PHASE_FORWARD];
	CHECK_EQ(row->runs, 5);
	CHECK_EQ(row->bytes, 5 * 92 * MIB);
	CHECK_EQ(row->count, 15);
	CHECK_EQ(row->peak, 190 * MIB);
	CHECK_EQ(row->left_run, 82 * MIB);
	CHECK_EQ(row->left_step, 2 * MIB);
	CHECK_EQ(row->left_end, 10 * MIB);
	row = &phases.device[0].row[MT_PHASE_INIT];
	CHECK_EQ(row->runs, 1);
	CHECK_EQ(row->left_run, 40 * MIB);
	CHECK_EQ(row->left_step, 40 * MIB);
	CHECK_EQ(row->left_end, 40 * MIB);
	CHECK_EQ(phases.device[0].row[MT_PHASE_BACKWARD].bytes, 0);
	phases_release(&phases);
	run_close(&run);
}

/* One of the three first causes of a failed request. */
static int has_cause(const struct why *why, enum mt_cause cause, uint64_t bytes)
{
	const struct find *find = &why->find;
	size_t i, rows = 0;

	for (i = 0; i < find->candidates && rows < 3; i++) {
		rows += find->candidate[i].within == UINT32_MAX;
		if (find->candidate[i].cause == cause && find->candidate[i].bytes == bytes)
			return 1;
	}
	return 0;
}

static void check_cause(const char *path, enum mt_cause cause, uint64_t bytes)
{
	struct why why;
	struct run run;

	run_open(&run, path, NULL);
	CHECK_EQ(why_load(&why, run.db, 0), 0);
	CHECK(why.scene.request.failure);
	CHECK_STR(why.scene.request.failure->place, "train.py:55");
	CHECK(has_cause(&why, cause, bytes * MIB));
	why_release(&why);
	run_close(&run);
}

TEST(what_follows_from_a_failed_request)
{
	const char *folder = test_dir();

	write_all(folder);
	check_cause(path_in(folder, "fragments.zst"), MT_CAUSE_ALLOCATOR_IDLE, 450);
	check_cause(path_in(folder, "full.zst"), MT_CAUSE_TOO_LARGE, 2000);
}

TEST(a_failure_after_steps_that_grow)
{
	const char *path = path_in(test_dir(), "kept.zst");

	write_retained(path, 5, 0, 700 * MIB);
	check_cause(path, MT_CAUSE_GROWS, 5 * 64);
}

/* 40 MiB would fit into the reserve, were it in one piece; but 320 MiB have been kept. */
TEST(growth_goes_before_a_smaller_reason)
{
	const char *path = path_in(test_dir(), "pieces.zst");

	write_retained(path, 5, 484 * MIB, 40 * MIB);
	check_cause(path, MT_CAUSE_GROWS, 5 * 64);
}

/* ---- what sleeps is not held ---- */

TEST(a_pool_that_sleeps_has_stretches)
{
	const char *path = path_in(test_dir(), "sleeper.zst");
	struct run run;

	write_sleeper(path);
	run_open(&run, path, NULL);
	CHECK_EQ(ask(&run, "SELECT count(*) FROM resident_span"), 4);
	CHECK_EQ(mib(&run, "SELECT sum(bytes) FROM resident_span"), 400);
	CHECK_EQ(ask(&run,
		     "SELECT count(*) FROM resident_span JOIN allocation ON id = allocation WHERE since_seq = alloc_seq "
		     "AND memory = 'tensor'"),
		 1);
	CHECK_EQ(mib(&run, "SELECT sum(asleep_bytes) FROM in_use_span WHERE until_seq IS NULL"), 200);
	CHECK_EQ(mib(&run, "SELECT sum(bytes) FROM live_at WHERE moment = 'step:1:end' AND in_use"), 60);
	CHECK_EQ(mib(&run, "SELECT sum(bytes) FROM live_at WHERE moment = 'step:2:end' AND in_use"), 260);
	CHECK_EQ(ask(&run, "SELECT sum(bytes) + (SELECT slack_bytes - bytes FROM peak) FROM live_at "
			   "WHERE moment = 'peak' AND in_use"),
		 0);
	CHECK_EQ(ask(&run, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
	run_close(&run);
}

TEST(reports_count_what_is_there)
{
	const char *path = path_in(test_dir(), "sleeper.zst");
	struct phases phases;
	struct growth_figures figures;
	struct why why;
	struct run run;
	size_t i;

	write_sleeper(path);
	run_open(&run, path, NULL);
	CHECK_EQ(growth_figures_load(&figures, run.db, GROWTH_STEPS), 0);
	for (i = 0; i < 3; i++) {
		CHECK_EQ(figures.steps.lane[0].row[i].in_use, (i == 1 ? 260 : 60) * MIB);
		CHECK_EQ(figures.steps.lane[0].row[i].asleep, (i == 1 ? 0 : 200) * MIB);
		CHECK_EQ(figures.steps.lane[0].row[i].in_use + figures.steps.lane[0].row[i].slack,
			 figures.steps.lane[0].row[i].held);
	}
	growth_figures_release(&figures);
	CHECK_EQ(phases_load(&phases, run.db, 0), 0);
	CHECK_EQ(phases.device[0].row[MT_PHASE_ROLLOUT].bytes, 200 * MIB);
	CHECK_EQ(phases.device[0].row[MT_PHASE_ROLLOUT].count, 1);
	CHECK_EQ(phases.device[0].row[MT_PHASE_ROLLOUT].left_run, 0);
	CHECK_EQ(phases.device[0].row[MT_PHASE_ROLLOUT].left_end, 0);
	CHECK_EQ(phases.device[0].row[MT_PHASE_ROLLOUT].asleep_end, 200 * MIB);
	phases_release(&phases);
	CHECK_EQ(why_load(&why, run.db, 0), 0);
	CHECK_EQ(why.scene.in_use, 60 * MIB);
	CHECK_EQ(why.scene.process[0].asleep, 200 * MIB);
	CHECK_EQ(why.scene.in_use + why.scene.slack, why.scene.process[0].held);
	why_release(&why);
	run_close(&run);
}

/* The reserve is the same all the time: the peak is where most of it was used, for every report. */
TEST(reports_agree_on_the_peak_of_a_plateau)
{
	const char *path = path_in(test_dir(), "plateau.zst");
	struct phases phases;
	struct growth_figures figures;
	struct run run;

	write_plateau(path);
	run_open(&run, path, NULL);
	CHECK_EQ(ask(&run, "SELECT step = 2 AND phase = 'optimizer' FROM peak"), 1);
	CHECK_EQ(mib(&run, "SELECT sum(bytes) FROM live_at WHERE moment = 'step:1' AND in_use"), 90);
	CHECK_EQ(mib(&run, "SELECT sum(bytes) FROM live_at WHERE moment = 'step:2' AND in_use"), 95);
	CHECK_EQ(phases_load(&phases, run.db, 0), 0);
	CHECK_EQ(phases.device[0].peak_phase, MT_PHASE_OPTIMIZER);
	CHECK_EQ(phases.device[0].row[MT_PHASE_OPTIMIZER].peak_time, ask(&run, "SELECT time FROM peak"));
	CHECK_EQ(phases.device[0].row[MT_PHASE_OPTIMIZER].inherits, 0);
	CHECK_EQ(phases.device[0].row[MT_PHASE_FORWARD].inherits, 0); /* it took the segment */
	CHECK_EQ(phases.device[0].row[MT_PHASE_BACKWARD].inherits, 1);
	phases_release(&phases);
	CHECK_EQ(growth_figures_load(&figures, run.db, GROWTH_STEPS), 0);
	CHECK_EQ(figures.steps.lane[0].highest->step, 2);
	CHECK_STR(figures.steps.lane[0].row[0].peak_phase, "backward");
	CHECK_STR(figures.steps.lane[0].row[1].peak_phase, "optimizer");
	growth_figures_release(&figures);
	run_close(&run);
}

/* A letter for each of forward, backward and optimizer: t takes a segment of 100 MiB, r gives it back and takes it anew, n does neither. */
static void check_heirs(const char *what, const char *want)
{
	static const char *const names[] = { "forward", "backward", "optimizer" };
	static const int ids[] = { MT_PHASE_FORWARD, MT_PHASE_BACKWARD, MT_PHASE_OPTIMIZER };
	const char *path = path_in(test_dir(), "heirs.zst");
	struct phases phases;
	struct builder m;
	struct run run;
	char got[4] = "";
	uint64_t i;
	int taken = 0;

	builder_open(&m, path, 900, -1);
	for (i = 0; i < 3; i++) {
		builder_phase(&m, names[i]);
		if (what[i] == 'r')
			builder_driver_free(&m, SEGMENT);
		if (what[i] != 'n')
			take_segment(&m, SEGMENT, 100 * MIB);
		taken |= what[i] != 'n';
		if (taken) {
			allocate(&m, frame(&m, names[i], 20), SEGMENT, 60 * MIB);
			builder_tensor_free(&m, SEGMENT, 60 * MIB);
		}
		builder_phase_end(&m);
	}
	builder_step(&m, 1);
	builder_close(&m);
	run_open(&run, path, NULL);
	CHECK_EQ(phases_load(&phases, run.db, 0), 0);
	for (i = 0; i < 3; i++)
		got[i] = phases.device[0].row[ids[i]].inherits ? 'i' : '-';
	CHECK_STR(got, want);
	phases_release(&phases);
	run_close(&run);
}

TEST(a_phase_that_took_nothing_inherits_the_peak)
{
	check_heirs("tnn", "-ii");
	check_heirs("trn", "--i");
	check_heirs("tnr", "-i-");
	check_heirs("ntn", "--i");
	check_heirs("trr", "---");
}

TEST(a_failure_takes_its_refusals_in)
{
	const char *path = path_in(test_dir(), "fragments.zst");
	const struct scene_request *request;
	struct why why;
	struct run run;

	write_fragments(path);
	run_open(&run, path, NULL);
	CHECK_EQ(why_load(&why, run.db, 0), 0);
	request = &why.scene.request;
	CHECK_EQ(why.scene.failures.count, 3);
	CHECK_STR(request->failure->source, "tensor");
	CHECK_EQ(request->failure->refusals, 2);
	CHECK_EQ(why.scene.process[request->process].slack, 450 * MIB);
	CHECK_EQ(request->hole, 150 * MIB);
	CHECK_EQ(why.scene.process[request->process].idle, 0);
	CHECK_EQ(why.scene.in_use, 450 * MIB);
	CHECK_EQ(why.scene.process[request->process].asleep, 0);
	why_release(&why);
	CHECK_EQ(why_load(&why, run.db, 99), -MT_E_ARGUMENT);
	why_release(&why);
	run_close(&run);
}

TEST_MAIN_WRITE(write_all)
