/* Loading and reports ask SQLite for work in proportion to what happened, however it is cut into steps and micro-batches. */
#include <sqlite3.h>
#include <stdlib.h>
#include "query/query.h"
#include "report/finding.h"
#include "report/frag/frag.h"
#include "report/frag/frag_replay.h"
#include "report/ranks.h"
#include "report/steps/diff.h"
#include "report/steps/figures.h"
#include "report/steps/query_phases.h"
#include "report/steps/query_steps.h"
#include "report/steps/retained.h"
#include "report/top_host.h"
#include "rows/kept.h"
#include "run_kit.h"
#include "trace_builder.h"
#include "why/page/why.h"

#define FEW 300
#define TIMES 4 /* as much more in the larger run */
#define ROUGHLY \
	7 /* sorting takes a little more than in proportion; work that grows as the square would be 16 times as much */

/* `steps` of `batches` micro-batches, each of which keeps one of its two tensors for good. */
static void write_passes(const char *path, uint32_t pid, uint64_t steps, uint64_t batches)
{
	uint64_t step, batch, addr = 0x100000000ull;
	struct builder m;

	builder_open_on(&m, path, pid, -1, (80 << 10) * MIB);
	for (step = 1; step <= steps; step++) {
		for (batch = 0; batch < batches; batch++, addr += 2 * MIB) {
			builder_phase(&m, "forward");
			m.stack = builder_python(&m, 0, "forward", "/home/me/model.py", 31);
			builder_tensor_alloc(&m, addr, MIB);
			m.stack = builder_python(&m, 0, "keep", "/home/me/actor.py", 312);
			builder_tensor_alloc(&m, addr + MIB, MIB);
			builder_phase_end(&m);
			builder_phase(&m, "backward");
			builder_tensor_free(&m, addr, MIB);
			builder_phase_end(&m);
		}
		builder_step(&m, step);
	}
	builder_close(&m);
}

static int count(void *context)
{
	__atomic_add_fetch((uint64_t *)context, 1, __ATOMIC_RELAXED); /* a thread of its own writes rows */
	return 0;
}

/* ---- what is asked ---- */

static void ask_retained(struct run *run)
{
	static const struct retained_question all;
	struct retained retained;

	CHECK_EQ(retained_load(&retained, run->db, &all), 0);
	CHECK_EQ(retained.steps.count + retained.batches.count, 1);
	retained_release(&retained);
}

static void ask_steps(struct run *run)
{
	struct growth_figures figures;

	CHECK_EQ(growth_figures_load(&figures, run->db, GROWTH_STEPS), 0);
	CHECK_EQ(figures.steps.count, 1);
	CHECK_EQ(figures.growth.lanes, 1);
	growth_figures_release(&figures);
}

static void ask_phases(struct run *run)
{
	struct phases phases;

	CHECK_EQ(phases_load(&phases, run->db, 0), 0);
	CHECK_EQ(phases.count, 1);
	phases_release(&phases);
}

static void ask_diff(struct run *run)
{
	struct diff diff;

	CHECK_EQ(diff_load(&diff, run->db, run->db), 0);
	diff_release(&diff);
}

typedef void question(struct run *run);

/* How often SQLite was seen at work. NULL: while it loaded. */
static uint64_t work_of(uint64_t steps, uint64_t batches, question *ask)
{
	char path[] = "passes.zst", *paths[] = { path };
	uint64_t work = 0;
	struct run run;

	write_passes(paths[0], 1, steps, batches);
	memset(&run, 0, sizeof(run));
	CHECK_EQ(source_open(&run.source, paths, 1), 0);
	CHECK_EQ(db_create(&run.db, NULL, schema_sql), 0);
	if (!ask)
		db_watch(run.db, count, &work);
	CHECK_EQ(load_run(run.db, &run.analysis, run.source.input, 1, run.source.rules, LOAD_LIVES), 0);
	CHECK_EQ(load_names(run.db), 0);
	if (ask) {
		db_watch(run.db, count, &work);
		ask(&run);
	}
	run_close(&run);
	return work;
}

static void check_linear(const char *what, question *ask)
{
	uint64_t steps = work_of(FEW, 1, ask), more_steps = work_of(TIMES * FEW, 1, ask);
	uint64_t batches = work_of(1, FEW, ask), more_batches = work_of(1, TIMES * FEW, ask);

	printf("# %s: %d steps %llu, %d %llu; micro-batches %llu, %llu\n", what, FEW, (unsigned long long)steps,
	       TIMES * FEW, (unsigned long long)more_steps, (unsigned long long)batches,
	       (unsigned long long)more_batches);
	CHECK(steps > 10 && batches > 10);
	CHECK(more_steps < ROUGHLY * steps);
	CHECK(more_batches < ROUGHLY * batches);
}

TEST(loading_is_linear)
{
	check_linear("load", NULL);
}

TEST(retained_is_linear)
{
	check_linear("retained", ask_retained);
}

TEST(steps_is_linear)
{
	check_linear("steps", ask_steps);
}

TEST(phases_is_linear)
{
	check_linear("phases", ask_phases);
}

TEST(diff_is_linear)
{
	check_linear("diff", ask_diff);
}

/* ---- two processes that share a GPU ---- */

/* Each step of the first has its peak at an event of the second. */
static void ask_shared_steps(struct run *run)
{
	struct growth_figures figures;

	CHECK_EQ(growth_figures_load(&figures, run->db, GROWTH_STEPS), 0);
	CHECK_EQ(figures.steps.count, 2);
	CHECK(figures.steps.lane[0].row[1].peak_process != figures.steps.lane[0].process);
	growth_figures_release(&figures);
}

static uint64_t work_of_shared(uint64_t steps)
{
	char name[2][16] = { "one.zst", "two.zst" }, *paths[] = { name[0], name[1] };
	uint64_t work = 0;
	struct run run;

	write_passes(paths[0], 1, steps, 1);
	write_passes(paths[1], 2, steps, 1);
	run_open(&run, paths, 2, 1);
	CHECK_EQ(load_names(run.db), 0);
	db_watch(run.db, count, &work);
	ask_shared_steps(&run);
	run_close(&run);
	return work;
}

TEST(steps_is_linear_where_a_gpu_is_shared)
{
	uint64_t steps = work_of_shared(FEW), more = work_of_shared(TIMES * FEW);

	printf("# %d steps %llu, %d %llu\n", FEW, (unsigned long long)steps, TIMES * FEW, (unsigned long long)more);
	CHECK(steps > 10);
	CHECK(more < ROUGHLY * steps);
}

/* ---- many processes, a GPU each ---- */

#define PROCESSES 20
#define STEPS_EACH 8 /* ended steps of a process, before one that has begun */

static void write_process(const char *path, uint32_t number)
{
	char uuid[32];
	struct builder m;
	uint64_t i;

	snprintf(uuid, sizeof(uuid), "GPU-of-%u", number);
	builder_open_on(&m, path, 1000 + number, (int)number, (80 << 10) * MIB);
	m.device = builder_device(&m, MT_DEVICE_CUDA, 1, "Test GPU", uuid, (80 << 10) * MIB);
	builder_phase(&m, "forward");
	m.stack = builder_python(&m, 0, "forward", "/home/me/model.py", 31);
	builder_driver_alloc(&m, 0x100000000ull, 20 * MIB);
	for (i = 0; i < 10; i++)
		builder_tensor_alloc(&m, 0x100000000ull + i * MIB, MIB);
	builder_phase_end(&m);
	for (i = 1; i <= STEPS_EACH; i++) {
		builder_step(&m, i);
		builder_event(&m, (struct mt_event){ .kind = MT_GPU_SAMPLE,
						     .device = m.device,
						     .size = 21 * MIB,
						     .offset = 21 * MIB,
						     .value = (80 << 10) * MIB,
						     .flags = 1 });
		builder_event(&m, (struct mt_event){ .kind = MT_HOST_SAMPLE, .size = i * MIB, .value = i * MIB });
	}
	builder_close(&m);
}

static int ask_frag_device(void *context, const struct query_device *device)
{
	struct run *run = context;
	struct frag_instant instant;
	struct frag_state state;

	CHECK_EQ(frag_instant(&instant, run->db, device->id, "peak", 0), 1);
	CHECK_EQ(frag_state_load(&state, run->db, device->id, &instant), 0);
	CHECK_EQ(state.map.pieces, 1);
	CHECK_EQ(state.map.blocks, 10);
	frag_state_release(&state);
	return 0;
}

static void ask_frag(struct run *run)
{
	CHECK_EQ(finding_same_places(run->db), 0);
	CHECK_EQ(query_devices(run->db, ask_frag_device, run), 0);
}

static int ask_replay_device(void *context, const struct query_device *device)
{
	static const struct frag_replay_ask expandable = { .conf = { "expandable_segments:True" }, .count = 1 };
	struct run *run = context;
	struct doc *doc = doc_new();

	CHECK(doc != NULL);
	doc_object(doc, NULL);
	CHECK_EQ(frag_replay_json(&expandable, doc, run->db, device), 0);
	doc_end(doc);
	doc_free(doc);
	return 0;
}

static void ask_replay(struct run *run)
{
	CHECK_EQ(query_devices(run->db, ask_replay_device, run), 0);
}

static void ask_phases_left(struct run *run)
{
	struct phases phases;
	size_t i;

	CHECK_EQ(phases_load(&phases, run->db, 0), 0);
	CHECK(phases.count);
	for (i = 0; i < phases.count; i++) {
		CHECK_EQ(phases.device[i].row[MT_PHASE_FORWARD].places, 1);
		CHECK_EQ(phases.device[i].row[MT_PHASE_FORWARD].left->bytes, 10 * MIB);
	}
	phases_release(&phases);
}

static void ask_all_steps(struct run *run)
{
	struct growth_figures figures;

	CHECK_EQ(growth_figures_load(&figures, run->db, GROWTH_STEPS), 0);
	CHECK_EQ(figures.steps.count, run->analysis.processes);
	CHECK_EQ(figures.steps.lane[run->analysis.processes - 1].ended, STEPS_EACH);
	CHECK_EQ(figures.steps.lane[run->analysis.processes - 1].row[STEPS_EACH - 1].in_use, 10 * MIB);
	growth_figures_release(&figures);
}

static void ask_ranks(struct run *run)
{
	struct symbols *symbols = symbols_new();
	struct ranks ranks;

	CHECK_EQ(ranks_load(&ranks, run->db, symbols), 0);
	CHECK_EQ(ranks.count, run->analysis.processes);
	symbols_free(symbols);
	ranks_release(&ranks);
}

static void ask_growth(struct run *run)
{
	struct growth growth;

	CHECK_EQ(growth_load(&growth, run->db), 0);
	CHECK_EQ(growth.lanes, run->analysis.processes);
	growth_release(&growth);
}

static void ask_why(struct run *run)
{
	struct host_sum host;
	struct why why;

	CHECK_EQ(why_load(&why, run->db, 0), 0);
	CHECK_EQ(why.scene.processes, run->analysis.processes);
	CHECK_EQ(why.scene.peers, KEPT_PEERS);
	CHECK_EQ(why.scene.peak.used, 21 * MIB);
	CHECK_EQ(host_sum(&host, run->db), 0);
	CHECK_EQ(host.processes, run->analysis.processes);
	CHECK_EQ(host.own_rose, run->analysis.processes * (STEPS_EACH - 1) * MIB);
	why_release(&why);
}

static void open_processes(struct run *run, uint32_t count_of_traces)
{
	static char name[TIMES * PROCESSES][32], *paths[TIMES * PROCESSES];
	uint32_t i;

	for (i = 0; i < count_of_traces; i++) {
		snprintf(name[i], sizeof(name[i]), "process%u.zst", i);
		paths[i] = name[i];
		write_process(name[i], i);
	}
	run_open(run, paths, count_of_traces, 1);
	CHECK_EQ(load_names(run->db), 0);
}

/* How often SQLite was seen at work for `count` traces. */
static uint64_t work_of_processes(uint32_t count_of_traces, question *ask)
{
	uint64_t work = 0;
	struct run run;

	open_processes(&run, count_of_traces);
	db_watch(run.db, count, &work);
	ask(&run);
	run_close(&run);
	return work;
}

static void check_linear_in_processes(question *ask)
{
	uint64_t few = work_of_processes(PROCESSES, ask), more = work_of_processes(TIMES * PROCESSES, ask);

	printf("# %d processes %llu, %d %llu\n", PROCESSES, (unsigned long long)few, TIMES * PROCESSES,
	       (unsigned long long)more);
	CHECK(few > 5);
	CHECK(2 * more < (2 * TIMES + 3) * few); /* a scan of all processes' rows for each of them is above that */
}

TEST(frag_is_linear_in_processes)
{
	check_linear_in_processes(ask_frag);
}

TEST(replay_is_linear_in_processes)
{
	check_linear_in_processes(ask_replay);
}

TEST(steps_is_linear_in_processes)
{
	check_linear_in_processes(ask_all_steps);
}

TEST(phases_is_linear_in_processes)
{
	check_linear_in_processes(ask_phases_left);
}

TEST(ranks_is_linear_in_processes)
{
	check_linear_in_processes(ask_ranks);
}

TEST(growth_is_linear_in_processes)
{
	check_linear_in_processes(ask_growth);
}

TEST(why_is_linear_in_processes)
{
	check_linear_in_processes(ask_why);
}

/* ---- the database of `memana top` grows with what top shows, not with the stacks of the trace ---- */

#define LINES 40

static void write_stacks(const char *path, uint32_t stacks)
{
	uint64_t addr = 0x100000000ull;
	uint32_t i, outer;
	struct builder m;

	builder_open_on(&m, path, 1, -1, (80 << 10) * MIB);
	for (i = 0; i < stacks; i++, addr += MIB) {
		outer = builder_python(&m, 0, "outer", "/home/me/model.py", 1 + i / LINES);
		m.stack = builder_python(&m, outer, "inner", "/home/me/model.py", 1 + i % LINES);
		builder_tensor_alloc(&m, addr, MIB);
	}
	builder_close(&m);
}

static uint64_t work_of_stacks(uint32_t stacks)
{
	char path[] = "stacks.zst", *paths[] = { path };
	struct symbols *symbols = symbols_new();
	struct growth growth;
	uint64_t work = 0;
	struct run run;
	uint8_t *own;

	write_stacks(path, stacks);
	memset(&run, 0, sizeof(run));
	CHECK_EQ(source_open(&run.source, paths, 1), 0);
	CHECK_EQ(analysis_run(&run.analysis, run.source.input, 1, run.source.rules, NULL), 0);
	CHECK_EQ(db_create(&run.db, NULL, schema_sql), 0);
	db_watch(run.db, count, &work);
	own = store_choose(&run.analysis, 20);
	CHECK(own != NULL);
	CHECK_EQ(store_summary_of(run.db, &run.analysis, own), 0);
	CHECK_EQ(load_places_of(run.db, symbols, &run.analysis, own), 0);
	CHECK_EQ(growth_load(&growth, run.db), 0);
	growth_release(&growth);
	symbols_free(symbols);
	free(own);
	run_close(&run);
	return work;
}

/* There are more outer lines in the larger run, each of which is a frame. */
TEST(top_stores_what_it_shows)
{
	uint64_t few = work_of_stacks(10 * LINES), more = work_of_stacks(40 * LINES);

	printf("# %d stacks %llu, %d %llu\n", 10 * LINES, (unsigned long long)few, 40 * LINES,
	       (unsigned long long)more);
	CHECK(few > 10);
	CHECK(more < 2 * few);
}

/* ---- a statement is prepared once, however many devices or processes it is asked for ---- */

static uint64_t prepared;

/* In place of SQLite's: it counts. */
int sqlite3_prepare_v2(sqlite3 *db, const char *sql, int size, sqlite3_stmt **stmt, const char **rest)
{
	prepared++;
	return sqlite3_prepare_v3(db, sql, size, 0, stmt, rest);
}

static uint64_t statements_of_processes(uint32_t count_of_traces, question *ask)
{
	struct run run;
	uint64_t before;

	open_processes(&run, count_of_traces);
	before = prepared;
	ask(&run);
	run_close(&run);
	return prepared - before;
}

static void check_prepared(question *ask)
{
	uint64_t few = statements_of_processes(PROCESSES, ask), more = statements_of_processes(TIMES * PROCESSES, ask);

	printf("# %d processes: %llu statements prepared, %d: %llu\n", PROCESSES, (unsigned long long)few,
	       TIMES * PROCESSES, (unsigned long long)more);
	CHECK(few > 0);
	CHECK_EQ(more, few);
}

TEST(ranks_prepares_each_statement_once)
{
	check_prepared(ask_ranks);
}

TEST(frag_prepares_each_statement_once)
{
	check_prepared(ask_frag);
}

TEST(phases_prepares_each_statement_once)
{
	check_prepared(ask_phases_left);
}

/* ---- what the words of a frame tell is learned once, however many ranks have it ---- */

static uint64_t searches;

/* In place of the library's: patterns and kinds of frames search all words for parts. */
char *strstr(const char *text, const char *part)
{
	size_t size = strlen(part);

	__atomic_add_fetch(&searches, 1, __ATOMIC_RELAXED);
	while (*text && strncmp(text, part, size) != 0)
		text++;
	return *text || !size ? (char *)(uintptr_t)text : NULL;
}

static uint64_t searches_of_processes(uint32_t count_of_traces)
{
	uint64_t before;
	struct run run;

	open_processes(&run, count_of_traces);
	before = searches;
	ask_why(&run);
	run_close(&run);
	return searches - before;
}

TEST(why_learns_equal_frames_once)
{
	uint64_t few = searches_of_processes(PROCESSES), more = searches_of_processes(TIMES * PROCESSES);

	printf("# %d processes: %llu searches, %d: %llu\n", PROCESSES, (unsigned long long)few, TIMES * PROCESSES,
	       (unsigned long long)more);
	CHECK(few > 0);
	CHECK(2 * more < 3 * few);
}

/* ---- many processes with the same number, each of a host of its own, as containers have them ---- */

static uint64_t comparisons;

/* In place of the library's: the count is the work of whoever looks through all processes for one. */
int strcmp(const char *one, const char *two)
{
	__atomic_add_fetch(&comparisons, 1, __ATOMIC_RELAXED);
	while (*one && *one == *two) {
		one++;
		two++;
	}
	return (unsigned char)*one - (unsigned char)*two;
}

static void write_container(const char *path, uint32_t number)
{
	struct mt_process process = { .pid = 1, .rank = -1, .depth = 32, .start_monotonic = BUILDER_START };
	char boot[32], uuid[32];
	struct builder m = { .time = BUILDER_START };

	snprintf(boot, sizeof(boot), "boot-%u", number);
	snprintf(uuid, sizeof(uuid), "GPU-of-%u", number);
	process.boot_id = boot;
	process.host = "node";
	process.command = "python train.py";
	process.start_realtime = 1700000000000000000ull;
	CHECK_EQ(mt_writer_open(&m.writer, path, &process, NULL), 0);
	m.defs = mt_writer_defs(m.writer);
	m.device = builder_device(&m, MT_DEVICE_CUDA, 0, "Test GPU", uuid, (80 << 10) * MIB);
	builder_driver_alloc(&m, 0x100000000ull, 20 * MIB);
	builder_close(&m);
}

static uint64_t comparisons_of_containers(uint32_t count_of_traces)
{
	static char name[TIMES * PROCESSES][32], *paths[TIMES * PROCESSES];
	struct run run;
	uint32_t i;

	for (i = 0; i < count_of_traces; i++) {
		snprintf(name[i], sizeof(name[i]), "container%u.zst", i);
		paths[i] = name[i];
		write_container(name[i], i);
	}
	source_take_all();
	comparisons = 0;
	run_open(&run, paths, count_of_traces, 0);
	CHECK_EQ(run.analysis.processes, count_of_traces);
	CHECK_EQ(run.analysis.devices, count_of_traces);
	ask_ranks(&run);
	run_close(&run);
	return comparisons;
}

TEST(no_process_is_compared_with_all_others)
{
	uint64_t start = comparisons_of_containers(1), few = comparisons_of_containers(PROCESSES) - start;
	uint64_t more = comparisons_of_containers(TIMES * PROCESSES) - start;

	printf("# 1 process %llu, %d more %llu, %d more %llu\n", (unsigned long long)start, PROCESSES,
	       (unsigned long long)few, TIMES * PROCESSES, (unsigned long long)more);
	CHECK(few > PROCESSES);
	CHECK(more < ROUGHLY * few);
}

TEST_MAIN()
