/*
 * The whole way from a trace to answers: analysis, tables, questions. With "--write DIR" it only writes the traces that
 * tests/cli/test_memana_*.sh look at.
 */
#include "query/query.h"

#include <stdarg.h>
#include <sys/file.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "memtrace/fold.h"
#include "query/callstack.h"
#include "report/failed/failures.h"
#include "report/places.h"
#include "ring_builder.h"
#include "run_kit.h"
#include "trace_builder.h"

/* ---- the traces ---- */

#define SEGMENT 0x10000000ull
#define SEGMENT_2 0x20000000ull
#define SEGMENT_3 0x30000000ull
#define NCCL_BUFFER 0x40000000ull

/*
 * One small training run. At the peak, 100 MiB:
 *   weights 12 and slack 8 in a segment of init, activations 46 and slack 2 in one of forward, nccl 32
 */
static void write_small(const char *path)
{
	struct builder m;
	uint32_t main_frame, step_frame, torch;

	builder_open(&m, path, 100, -1);
	main_frame = builder_python(&m, 0, "main", "/home/me/train.py", 50);
	step_frame = builder_python(&m, main_frame, "train_step", "/home/me/train.py", 30);
	builder_event(&m, (struct mt_event){ .kind = MT_SOURCE, .flags = MT_SOURCE_CUPTI, .value = MT_SOURCE_ON });
	builder_event(&m, (struct mt_event){ .kind = MT_SOURCE,
					     .flags = MT_SOURCE_NVTX,
					     .value = MT_SOURCE_FAILED,
					     .name = builder_string(&m, "no library") });

	builder_phase(&m, "init");
	m.stack = builder_native(&m, builder_native(&m, 0, "/x/libc10_cuda.so", 0x20), "/x/libcuda.so.1", 0x10);
	builder_driver_alloc(&m, SEGMENT, 20 * MIB);
	m.stack = builder_python(&m, main_frame, "Model.__init__", "/home/me/model.py", 7);
	builder_tensor_alloc(&m, SEGMENT, 12 * MIB);
	m.stack = builder_native(&m, builder_native(&m, 0, "/usr/bin/python3.11", 0x30), "/x/libnccl.so.2", 0x40);
	builder_driver_alloc(&m, NCCL_BUFFER, 32 * MIB);
	builder_phase_end(&m);

	builder_phase(&m, "forward");
	m.stack = builder_native(&m, builder_native(&m, 0, "/x/libc10_cuda.so", 0x20), "/x/libcuda.so.1", 0x10);
	builder_driver_alloc(&m, SEGMENT_2, 48 * MIB);
	torch = builder_python(&m, builder_python(&m, step_frame, "forward", "/home/me/model.py", 20), "linear",
			       "/usr/lib/python3/dist-packages/torch/nn/functional.py", 114);
	m.stack = torch;
	builder_tensor_alloc(&m, SEGMENT_2, 46 * MIB);
	builder_phase_end(&m);

	builder_phase(&m, "backward");
	m.stack = step_frame;
	builder_tensor_free(&m, SEGMENT_2, 46 * MIB);
	builder_event(&m, (struct mt_event){ .kind = MT_DRIVER_FREE, .addr = NCCL_BUFFER });
	builder_tensor_alloc(&m, SEGMENT_2 + MIB, 10 * MIB);
	builder_phase_end(&m);
	builder_step(&m, 1);

	builder_phase(&m, "forward");
	m.stack = torch;
	builder_event(&m, (struct mt_event){ .kind = MT_DRIVER_FAIL,
					     .device = m.cuda,
					     .stack = torch,
					     .size = 2000 * MIB,
					     .result = 2 });
	builder_event(&m, (struct mt_event){
				  .kind = MT_DRIVER_FAIL, .device = m.cuda, .stack = torch, .size = MIB, .result = 1 });
	builder_event(&m,
		      (struct mt_event){ .kind = MT_TENSOR_OOM, .device = m.cuda, .stack = torch, .size = 1900 * MIB });
	builder_event(&m, (struct mt_event){ .kind = MT_LOST, .value = 3, .flags = MT_LOSS_RING_FULL });
	builder_phase_end(&m);
	builder_close(&m);
}

/* CPU tensors only. */
static void write_cpu(const char *path, uint32_t pid, uint64_t bytes)
{
	struct builder m;

	builder_open(&m, path, pid, -1);
	m.device = m.cpu;
	builder_phase(&m, "forward");
	m.stack = builder_python(&m, 0, "main", "/home/me/train.py", 9);
	builder_tensor_alloc(&m, 0x1000, bytes);
	builder_tensor_free(&m, 0x1000, bytes);
	builder_phase_end(&m);
	builder_close(&m);
}

/*
 * Two processes on one GPU and the CPU of one machine. Times of their events interleave:
 *   A  +30 at 1  -30 at 3  +20 at 5          the sum is largest at 6: 20 + 40
 *   B  +10 at 2            +30 at 6
 */
static void write_pair(const char *first, const char *second)
{
	struct builder a, b;

	builder_open(&a, first, 200, 0);
	builder_open(&b, second, 300, 1);
	a.time = BUILDER_START;
	builder_driver_alloc(&a, SEGMENT, 30 * MIB);
	a.time = BUILDER_START + 2000;
	builder_driver_free(&a, SEGMENT);
	a.time = BUILDER_START + 4000;
	builder_driver_alloc(&a, SEGMENT_2, 20 * MIB);
	b.time = BUILDER_START + 1000;
	builder_driver_alloc(&b, SEGMENT, 10 * MIB);
	b.time = BUILDER_START + 5000;
	builder_driver_alloc(&b, SEGMENT_2, 30 * MIB);
	builder_close(&a);
	builder_close(&b);
}

/* The allocator says something else than what happened, once. */
static void write_wrong_total(const char *path)
{
	struct builder m;

	builder_open(&m, path, 100, -1);
	builder_tensor_alloc(&m, SEGMENT, MIB);
	m.total += 512;
	builder_tensor_alloc(&m, SEGMENT_2, MIB);
	m.total -= 512;
	builder_tensor_alloc(&m, SEGMENT_3, MIB);
	builder_close(&m);
}

static void write_all(const char *folder)
{
	write_small(run_path(folder, "small.zst"));
	write_cpu(run_path(folder, "cpu.zst"), 101, 5 * MIB);
	write_pair(run_path(folder, "rank0.zst"), run_path(folder, "rank1.zst"));
	write_wrong_total(run_path(folder, "wrong.zst"));
}

/* ---- from traces to a database ---- */

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

/* Rows of any question as one line of text. */
struct lines {
	char text[4096];
	size_t size;
};

static void add_line(struct lines *lines, const char *format, ...) MT_PRINTF(2, 3);

static void add_line(struct lines *lines, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	lines->size += (size_t)vsnprintf(lines->text + lines->size, sizeof(lines->text) - lines->size, format,
					 arguments);
	va_end(arguments);
}

static int add_part(void *context, const struct query_part *row)
{
	add_line(context, "%s %llu/%llu; ", row->word, (unsigned long long)(row->bytes / MIB),
		 (unsigned long long)row->count);
	return 0;
}

static const char *parts(struct run *run, int64_t device, enum query_by by)
{
	static struct lines lines;

	lines.size = 0;
	CHECK_EQ(query_parts(run->db, device, by, add_part, &lines), 0);
	return lines.text;
}

static int add_device(void *context, const struct query_device *row)
{
	add_line(context, "%lld %s %s %llu: %llu at %lld in %s of %lld by %lld, slack %llu; ", (long long)row->number,
		 row->kind, row->name, (unsigned long long)(row->total / MIB),
		 (unsigned long long)(row->peak.bytes / MIB), (long long)row->peak.time / 1000, row->peak.phase,
		 (long long)row->peak.step, (long long)row->peak.pid, (unsigned long long)(row->peak.slack / MIB));
	return 0;
}

static const char *devices(struct run *run)
{
	static struct lines lines;

	lines.size = 0;
	CHECK_EQ(query_devices(run->db, add_device, &lines), 0);
	return lines.text;
}

static int add_phase_peak(void *context, const struct query_phase_peak *row)
{
	add_line(context, "%s %llu; ", row->phase, (unsigned long long)(row->bytes / MIB));
	return 0;
}

/* Each failure once. */
static void add_ooms(struct run *run, struct lines *lines)
{
	const struct oom_failure *it;
	struct oom_failures all;
	size_t i;

	CHECK_EQ(oom_failures_load(&all, run->db), 0);
	for (i = 0; i < all.count; i++) {
		it = &all.failure[i];
		if (!it->is_part)
			add_line(lines, "%s asked %llu, free %lld, in %s of %lld, refused %llu times; ", it->source,
				 (unsigned long long)(it->requested / MIB), (long long)(it->free / (int64_t)MIB),
				 it->phase, (long long)it->step, (unsigned long long)it->refusals);
	}
	oom_failures_release(&all);
}

static int add_culprit(void *context, const struct query_culprit *row)
{
	add_line(context, "%s %s %llu", row->category, row->phase, (unsigned long long)(row->bytes / MIB));
	return 0;
}

/* ---- the tests ---- */

static void check_small(struct run *run)
{
	struct lines lines = { 0 };

	CHECK_STR(devices(run), "0 cuda Test GPU 1024: 100 at 10 in forward of 1 by 100, slack 10; ");
	CHECK_STR(parts(run, 1, QUERY_BY_PHASE), "init 52/3; forward 48/2; ");
	CHECK_STR(parts(run, 1, QUERY_BY_OWNER), "pytorch 68/4; libnccl 32/1; ");
	CHECK_STR(parts(run, 1, QUERY_BY_PROCESS), "pid 100 100/5; ");
	CHECK_EQ(query_phase_peaks(run->db, 1, add_phase_peak, &lines), 0);
	CHECK_STR(lines.text, "init 52; forward 100; backward 100; ");
	lines.size = 0;
	add_ooms(run, &lines);
	CHECK_STR(lines.text, "tensor asked 1900, free 956, in forward of 2, refused 1 times; ");
	CHECK_EQ(ask(run, "SELECT lost FROM process"), 3);
	CHECK_EQ(ask(run, "SELECT steps FROM process"), 1);
	CHECK_EQ(ask(run, "SELECT count(*) FROM source WHERE (name, state, why) IN (('cupti', 'on', ''), ('nvtx', "
			  "'failed', 'no library'))"),
		 2);
}

struct culprit_seen {
	char category[32], phase[24];
	uint64_t bytes, part;
};

static int see_culprit(void *context, const struct query_culprit *row)
{
	struct culprit_seen *seen = context;

	snprintf(seen->category, sizeof(seen->category), "%s", row->category);
	snprintf(seen->phase, sizeof(seen->phase), "%s", row->phase);
	seen->bytes = row->bytes;
	seen->part = row->part;
	return 0;
}

static int see_parts(void *context, const struct query_part *row)
{
	uint64_t *most = context;

	*most = row->bytes > *most ? row->bytes : *most;
	return 0;
}

/* Weights are the largest part of one phase; activations, of two phases, are the largest category. */
TEST(the_headline_has_the_number_of_the_table)
{
	struct culprit_seen seen = { .bytes = 0 };
	uint64_t most = 0;
	struct db *db;

	CHECK_EQ(db_create(&db, NULL, schema_sql), 0);
	CHECK_EQ(db_execute(db, "PRAGMA foreign_keys = OFF"), 0);
	CHECK_EQ(db_execute(db,
			    "INSERT INTO site (id, process, device, memory, phase, category, owner, tensors_inside, evidence, "
			    "decided_by, known) VALUES (1, 1, 1, 'tensor', 'init', 'weights', '', 0, '', '', 'rule'), "
			    "(2, 1, 1, 'tensor', 'forward', 'activations', '', 0, '', '', 'rule'), "
			    "(3, 1, 1, 'tensor', 'backward', 'activations', '', 0, '', '', 'rule')"),
		 0);
	CHECK_EQ(db_execute(db,
			    "INSERT INTO peak_part VALUES (1, 1, 1, 'init', 'weights', '', 44, 1), "
			    "(2, 1, 1, 'forward', 'activations', '', 30, 1), (3, 1, 1, 'backward', 'activations', '', 26, 1)"),
		 0);
	CHECK_EQ(query_culprit(db, 1, see_culprit, &seen), 0);
	CHECK_EQ(query_parts(db, 1, QUERY_BY_CATEGORY, see_parts, &most), 0);
	CHECK_STR(seen.category, "activations");
	CHECK_EQ(seen.bytes, 56);
	CHECK_EQ(seen.bytes, most);
	CHECK_STR(seen.phase, "forward");
	CHECK_EQ(seen.part, 30);
	db_close(db);
}

static int see_missing(void *context, const struct query_source *row)
{
	FILE *said = context;

	fprintf(said, "%s %s %s: %u of pid %d, rank %d to %d\n", row->name, row->state, row->why, row->processes,
		(int)row->pid, (int)row->rank, (int)row->last_rank);
	return 0;
}

TEST(processes_without_a_source_are_one_row)
{
	char text[512] = "";
	FILE *said = fmemopen(text, sizeof(text), "w");
	struct db *db;

	CHECK(said);
	CHECK_EQ(db_create(&db, NULL,
			   "CREATE TABLE process (id INTEGER PRIMARY KEY, pid, rank);"
			   "CREATE TABLE source (process, name, state, why);"
			   "WITH n AS (SELECT value AS i FROM json_each('[0,1,2,3,4,5,6,7]'))"
			   "INSERT INTO process SELECT i + 1, 100 + i, iif(i < 6, i, NULL) FROM n;"
			   "INSERT INTO source SELECT id, 'nvtx', iif(rank = 2, 'on', 'off'), 'no library' FROM process;"
			   "INSERT INTO source SELECT id, 'cupti', 'failed', iif(rank < 4, 'taken', 'old') FROM process;"),
		 0);
	CHECK_EQ(query_sources_missing(db, see_missing, said), 0);
	fclose(said);
	CHECK_STR(text, "nvtx off no library: 7 of pid 100, rank -1 to 5\n"
			"cupti failed taken: 4 of pid 100, rank 0 to 3\n"
			"cupti failed old: 4 of pid 104, rank -1 to 5\n");
	db_close(db);
}

TEST(answers_of_a_small_run)
{
	const char *path = run_path(test_dir(), "small.zst");
	struct run run;

	write_small(path);
	run_open_one(&run, path, 0);
	check_small(&run);
	CHECK_EQ(ask(&run, "SELECT sum(bytes) FROM peak_part WHERE category = 'allocator slack'"), 10 * MIB);
	CHECK_EQ(ask(&run, "SELECT sum(bytes) FROM peak_part WHERE category = 'nccl'"), 32 * MIB);
	CHECK_EQ(ask(&run, "SELECT count(*) FROM allocation"), 0);
	run_close(&run);
}

TEST(a_loaded_database_gives_the_same_answers)
{
	const char *path = run_path(test_dir(), "small.zst");
	struct run run;

	write_small(path);
	run_open_one(&run, path, 1);
	check_small(&run);
	CHECK_EQ(ask(&run, "SELECT count(*) FROM allocation"), 6);
	CHECK_EQ(ask(&run, "SELECT count(*) FROM allocation WHERE free_seq IS NULL"), 4);
	CHECK_EQ(ask(&run, "SELECT count(*) FROM segment"), 2);
	CHECK_EQ(ask(&run, "SELECT step - free_step FROM allocation WHERE bytes = 46 << 20"), 0);
	CHECK_EQ(ask(&run, "SELECT count(*) FROM step WHERE step = 1 AND closed_by = 'memrec_step'"), 1);
	CHECK_EQ(ask(&run, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
	/* The live set at the peak, from the single allocations: driver memory is the memory held. */
	CHECK_EQ(ask(&run,
		     "SELECT sum(allocation.bytes) FROM allocation, peak WHERE memory <> 'tensor' AND alloc_seq <= seq "
		     "AND (free_seq IS NULL OR free_seq > seq)"),
		 100 * MIB);
	run_close(&run);
}

TEST(the_verdict_names_the_largest_part)
{
	const char *path = run_path(test_dir(), "small.zst");
	struct lines lines = { 0 };
	struct run run;

	write_small(path);
	run_open_one(&run, path, 0);
	CHECK_EQ(query_culprit(run.db, 1, add_culprit, &lines), 0);
	CHECK_STR(lines.text, "activations forward 46");
	run_close(&run);
}

TEST(stacks_show_the_users_frame)
{
	const char *path = run_path(test_dir(), "small.zst");
	struct symbols *symbols = symbols_new();
	struct callstack stack;
	char place[64];
	struct run run;

	write_small(path);
	run_open_one(&run, path, 0);
	CHECK_EQ(callstack_load(&stack, run.db,
				ask(&run,
				    "SELECT node FROM site JOIN peak_part ON site = site.id WHERE bytes = 46 << 20"),
				symbols),
		 0);
	CHECK_EQ(stack.count, 4);
	CHECK_STR(stack.frame[0]->function, "linear");
	CHECK_EQ(callstack_user_frame(&stack), 1);
	CHECK_STR(callstack_place(place, sizeof(place), stack.frame[1]), "model.py:20");
	callstack_release(&stack);
	/* Files that are not there have no names: module and offset instead. */
	CHECK_EQ(callstack_load(&stack, run.db, ask(&run, "SELECT node FROM site WHERE owner = 'libnccl'"), symbols),
		 0);
	CHECK_EQ(stack.count, 2);
	CHECK_STR(callstack_place(place, sizeof(place), stack.frame[0]), "libnccl.so.2+0x40");
	callstack_release(&stack);
	symbols_free(symbols);
	run_close(&run);
}

/*
 * One line allocates what backward needs and what is gone at once; in backward, gradients and what they are made with. At
 * the peak, in the second step's forward, all of it is there: two sites each, and the gradients of the step before.
 */
static void write_twofold(const char *path)
{
	struct builder m;
	uint64_t step;
	uint32_t forward, main;

	builder_open(&m, path, 100, -1);
	m.device = m.cpu;
	main = builder_python(&m, 0, "main", "/home/me/train.py", 30);
	forward = builder_python(&m, main, "forward", "/home/me/model.py", 20);
	for (step = 1; step <= 2; step++) {
		m.stack = forward;
		builder_phase(&m, "forward");
		builder_tensor_alloc(&m, 20 * MIB, 5 * MIB);
		builder_tensor_alloc(&m, 30 * MIB, 3 * MIB);
		builder_tensor_alloc(&m, 40 * MIB, step * MIB);
		builder_tensor_free(&m, 30 * MIB, 3 * MIB);
		builder_tensor_free(&m, 40 * MIB, step * MIB);
		builder_phase_end(&m);
		m.stack = main;
		builder_phase(&m, "backward");
		if (step == 1)
			builder_tensor_alloc(&m, 50 * MIB, MIB / 2);
		builder_tensor_alloc(&m, 60 * MIB, MIB / 4);
		builder_tensor_free(&m, 60 * MIB, MIB / 4);
		builder_tensor_free(&m, 20 * MIB, 5 * MIB);
		builder_phase_end(&m);
		builder_phase(&m, "optimizer");
		builder_tensor_alloc(&m, 70 * MIB, MIB / 8);
		builder_tensor_free(&m, 70 * MIB, MIB / 8);
		builder_phase_end(&m);
	}
	builder_close(&m);
}

TEST(what_is_gone_at_once_is_told_from_what_lives_on)
{
	const char *path = run_path(test_dir(), "twofold.zst");
	const char *want = "activations 5/1; workspace 5/2; gradients 0/1; ";
	int loaded;
	struct run run;

	write_twofold(path);
	for (loaded = 0; loaded <= 1; loaded++) {
		run_open_one(&run, path, loaded);
		CHECK_STR(parts(&run, 1, QUERY_BY_CATEGORY), want);
		CHECK_EQ(ask(&run, "SELECT bytes FROM peak_part WHERE category = 'gradients'"), MIB / 2);
		run_close(&run);
	}
	run_open_one(&run, path, 1);
	CHECK_EQ(ask(&run, "SELECT sum(bytes) FROM allocation WHERE category = 'activations'"), 10 * MIB);
	CHECK_EQ(ask(&run, "SELECT sum(bytes) FROM allocation WHERE category = 'gradients'"), MIB / 2);
	CHECK_EQ(ask(&run, "SELECT sum(bytes) FROM allocation WHERE category = 'workspace' AND phase = 'forward'"),
		 9 * MIB);
	CHECK_EQ(ask(&run, "SELECT count(*) FROM allocation JOIN site ON site.id = site "
			   "WHERE site.category <> allocation.category"),
		 0);
	CHECK_EQ(ask(&run, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
	run_close(&run);
}

/*
 * A helper that everybody allocates with is no place; lines of one place are added up. A line of the model is none, though
 * it allocates in forward and for log-probs.
 */
static void write_helper(const char *path, const char *library)
{
	static const char *const phases[] = { "init", "forward", "forward", "logprob" };
	struct builder m;
	uint32_t caller, i;

	builder_open(&m, path, 100, -1);
	for (i = 0; i < MT_ARRAY_SIZE(phases); i++) {
		caller = builder_python(&m, 0, phases[i], "/home/me/train.py", 100 + i);
		caller = builder_python(&m, caller, i ? "model" : "main", "/home/me/train.py", i ? 20 : 10);
		m.stack = builder_python(&m, builder_python(&m, caller, "new", "/home/me/memory.py", 5), "empty",
					 library, i);
		builder_phase(&m, phases[i]);
		builder_driver_alloc(&m, SEGMENT + i * 2 * MIB, MIB);
		builder_phase_end(&m);
	}
	builder_close(&m);
}

TEST(a_place_is_the_line_that_tells_something)
{
	const char *path = run_path(test_dir(), "helper.zst");
	struct symbols *symbols = symbols_new();
	struct places places;
	struct run run;
	char words[64];

	write_helper(path, "/x/site-packages/torch/functional.py");
	run_open_one(&run, path, 0);
	CHECK_EQ(places_load(&places, run.db, 1, symbols), 0);
	CHECK_EQ(places.count, 3);
	CHECK_EQ(places.place[0].bytes, 2 * MIB);
	CHECK_EQ(places.place[0].count, 2);
	CHECK_STR(places.place[0].phase, "forward");
	CHECK_STR(callstack_place(words, sizeof(words), places.place[0].stack->frame[places.place[0].user]),
		  "train.py:20");
	CHECK_STR(callstack_place(words, sizeof(words), places.place[1].stack->frame[places.place[1].user]),
		  "train.py:10");
	CHECK_STR(places.place[2].phase, "logprob");
	CHECK_STR(callstack_place(words, sizeof(words), places.place[2].stack->frame[places.place[2].user]),
		  "train.py:20");
	CHECK_EQ(ask(&run, "SELECT count(*) FROM place WHERE place IN ('train.py:10', 'train.py:20')"), 4);
	places_release(&places);
	symbols_free(symbols);
	run_close(&run);
}

/* A loop in one line sets up, works and steps. Its caller does not tell these apart, and is not the place. */
TEST(a_place_is_inside_of_callers_that_tell_nothing)
{
	static const char *const phases[] = { "init", "forward", "optimizer" };
	const char *path = run_path(test_dir(), "loop.zst");
	struct builder m;
	struct run run;
	uint32_t caller, i;

	builder_open(&m, path, 100, -1);
	caller = builder_python(&m, 0, "<module>", "/home/me/train.py", 10);
	m.stack = builder_python(&m, caller, "main", "/home/me/train.py", 8);
	for (i = 0; i < MT_ARRAY_SIZE(phases); i++) {
		builder_phase(&m, phases[i]);
		builder_driver_alloc(&m, SEGMENT + i * 2 * MIB, MIB);
		builder_phase_end(&m);
	}
	builder_close(&m);
	run_open_one(&run, path, 0);
	CHECK_EQ(ask(&run, "SELECT count(*) FROM place WHERE place = 'train.py:8'"), 1);
	CHECK_EQ(ask(&run, "SELECT count(*) FROM place WHERE place <> 'train.py:8'"), 0);
	run_close(&run);
}

/* Gives one of the two sites of a place, the "min" or the "max" of their numbers, other bytes and another word. */
static void retell_site(struct db *db, const char *which, uint64_t bytes, const char *known)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "UPDATE peak_part SET bytes = %llu WHERE site = (SELECT %s(site) FROM peak_part WHERE phase = 'forward')",
		 (unsigned long long)bytes, which);
	CHECK_EQ(db_execute(db, sql), 0);
	snprintf(sql, sizeof(sql),
		 "UPDATE site SET known = '%s' WHERE id = (SELECT %s(site) FROM peak_part WHERE phase = 'forward')",
		 known, which);
	CHECK_EQ(db_execute(db, sql), 0);
}

/* A guess about a hundredth of a place, or less, says nothing of the place. `modules`: the two sites are one line of query_lines. */
static void check_known(int modules)
{
	static const struct {
		uint64_t one, two;
		const char *one_word, *two_word, *want;
	} row[] = { { 9900, 100, "census", "probable", "census" },   { 9899, 101, "census", "probable", "probable" },
		    { 1023, 1, "census", "probable", "census" },     { 1, 1023, "census", "probable", "probable" },
		    { 9900, 100, "census", "rule", "census" },       { 9899, 101, "census", "rule", "rule" },
		    { 9900, 100, "rule", "probable", "rule" },       { 50, 50, "rule", "probable", "probable" },
		    { 9900, 100, "probable", "census", "probable" }, { 50, 50, "census", "census", "census" } };
	const char *path = run_path(test_dir(), "helper.zst");
	struct symbols *symbols = symbols_new();
	struct places places;
	struct run run;
	size_t i;

	write_helper(path, "/x/site-packages/torch/functional.py");
	run_open_one(&run, path, 0);
	if (modules) {
		CHECK_EQ(db_execute(run.db,
				    "INSERT INTO submodule SELECT 900 + site, process, NULL, site, 'layers.' || site, "
				    "'layers.*', NULL, 1, 1 FROM peak_part WHERE phase = 'forward'"),
			 0);
		CHECK_EQ(db_execute(run.db,
				    "INSERT INTO site_module SELECT site, 900 + site, 1 FROM peak_part WHERE phase = 'forward'"),
			 0);
	}
	for (i = 0; i < MT_ARRAY_SIZE(row); i++) {
		retell_site(run.db, "min", row[i].one << 20, row[i].one_word);
		retell_site(run.db, "max", row[i].two << 20, row[i].two_word);
		CHECK_EQ(places_load(&places, run.db, 1, symbols), 0);
		CHECK_EQ(places.place[0].bytes, (row[i].one + row[i].two) << 20);
		CHECK_EQ(places.place[0].sites, modules ? 1 : 2);
		CHECK_STR(places.place[0].known, row[i].want);
		places_release(&places);
	}
	symbols_free(symbols);
	run_close(&run);
}

TEST(a_word_on_little_of_a_place_does_not_count)
{
	check_known(0);
	check_known(1);
}

/* PyTorch is on every stack, but another library's lines tell apart what one line of the user's called for. */
TEST(lines_of_a_library_are_places_of_their_own)
{
	const char *path = run_path(test_dir(), "library.zst");
	struct symbols *symbols = symbols_new();
	struct places places;
	struct run run;

	write_helper(path, "/x/site-packages/engine/pool.py");
	run_open_one(&run, path, 0);
	CHECK_EQ(places_load(&places, run.db, 1, symbols), 0);
	CHECK_EQ(places.count, 4);
	CHECK_EQ(ask(&run, "SELECT count(*) FROM place WHERE place = 'memory.py:5 > engine/pool.py:2'"), 1);
	places_release(&places);
	symbols_free(symbols);
	run_close(&run);
}

/*
 * A weight and two tensors of Adam's state of equal size exist before the recording. The optimizer makes `made` tensors of this
 * size, and frees two of the old ones.
 */
static void write_replaced(const char *path, uint32_t made)
{
	struct builder m;
	uint64_t i;

	builder_open(&m, path, 100, -1);
	m.device = m.cpu;
	for (i = 1; i <= 3; i++)
		builder_tensor_alloc(&m, i * 4 * MIB, MIB);
	builder_phase(&m, "forward");
	builder_tensor_alloc(&m, 20 * MIB, 3 * MIB);
	builder_phase_end(&m);
	builder_phase(&m, "backward");
	builder_tensor_alloc(&m, 24 * MIB, MIB);
	builder_tensor_free(&m, 20 * MIB, 3 * MIB);
	builder_phase_end(&m);
	builder_phase(&m, "optimizer");
	for (i = 0; i < made; i++)
		builder_tensor_alloc(&m, (40 + i) * MIB, MIB);
	builder_tensor_free(&m, 8 * MIB, MIB);
	builder_tensor_free(&m, 12 * MIB, MIB);
	builder_phase_end(&m);
	builder_step(&m, 1);
	builder_close(&m);
}

static void check_replaced(uint32_t made, const char *want, int64_t nameless)
{
	const char *path = run_path(test_dir(), "replaced.zst");
	struct run run;

	write_replaced(path, made);
	run_open_one(&run, path, 0);
	CHECK_STR(parts(&run, 1, QUERY_BY_CATEGORY), want);
	run_close(&run);
	run_open_one(&run, path, 1);
	CHECK_STR(parts(&run, 1, QUERY_BY_CATEGORY), want);
	CHECK_EQ(ask(&run, "SELECT count(*) FROM allocation JOIN site ON site.id = site "
			   "WHERE site.category <> allocation.category"),
		 0);
	CHECK_EQ(ask(&run, "SELECT sum(bytes) FROM allocation WHERE category = 'other'"), nameless);
	run_close(&run);
}

TEST(state_that_the_optimizer_replaces_is_told_from_weights)
{
	check_replaced(2, "activations 3/1; optimizer state 2/2; gradients 1/1; weights 1/1; ", 0);
}

TEST(what_it_does_not_replace_is_not)
{
	check_replaced(1, "activations 3/1; other 3/3; gradients 1/1; ", 3 * MIB);
}

TEST(processes_are_joined_per_device_and_by_time)
{
	const char *folder = test_dir();
	char *paths[] = { (char *)run_path(folder, "a.zst"), (char *)run_path(folder, "b.zst") };
	struct run run;

	write_pair(paths[0], paths[1]);
	run_open(&run, paths, 2, 1);
	CHECK_EQ(ask(&run, "SELECT count(*) FROM peak"), 1);
	CHECK_EQ(ask(&run, "SELECT bytes FROM peak"), 60 * MIB);
	CHECK_EQ(ask(&run, "SELECT time FROM peak"), 6000);
	CHECK_STR(parts(&run, 1, QUERY_BY_PROCESS), "rank 1, pid 300 40/2; rank 0, pid 200 20/1; ");
	CHECK_EQ(ask(&run, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
	run_close(&run);
}

TEST(the_cpu_of_one_machine_is_one_device)
{
	const char *folder = test_dir();
	char *paths[] = { (char *)run_path(folder, "a.zst"), (char *)run_path(folder, "b.zst") };
	struct run run;

	write_cpu(paths[0], 1, 5 * MIB);
	write_cpu(paths[1], 2, 3 * MIB);
	run_open(&run, paths, 2, 0);
	CHECK_STR(devices(&run), "0 cpu CPU 0: 8 at 2 in forward of 1 by 2, slack 0; ");
	run_close(&run);
}

TEST(totals_are_compared_at_every_event)
{
	const char *path = run_path(test_dir(), "wrong.zst");
	struct run run;

	write_wrong_total(path);
	run_open_one(&run, path, 0);
	CHECK_EQ(run.analysis.process[0].compared, 3);
	CHECK_EQ(run.analysis.process[0].differing, 1);
	CHECK_EQ(run.analysis.process[0].first_differing, 2);
	CHECK(run.analysis.process[0].balanced);
	run_close(&run);
}

/* The live set at the recording's begin is in a checkpoint; the step that was skipped is none of this trace. */
TEST(a_recording_that_skipped_a_step_knows_what_was_alive)
{
	const char *path = run_path(test_dir(), "skip.zst");
	struct mt_event event = { .kind = MT_DRIVER_ALLOC, .seq = 1, .addr = SEGMENT, .size = 7 * MIB };
	struct builder m;
	struct run run;

	builder_open(&m, path, 100, -1);
	event.device = m.cuda;
	event.time = BUILDER_START;
	CHECK_EQ(mt_writer_skip(m.writer, &event, MT_PHASE_OPTIMIZER, 1), 0);
	m.seq = 1;
	builder_step(&m, 1);
	builder_phase(&m, "forward");
	builder_driver_alloc(&m, SEGMENT_2, 3 * MIB);
	builder_step(&m, 2);
	builder_close(&m);
	run_open_one(&run, path, 1);
	CHECK_EQ(ask(&run, "SELECT steps FROM process"), 1);
	CHECK_EQ(ask(&run, "SELECT step FROM peak"), 2);
	CHECK_STR(parts(&run, 1, QUERY_BY_PHASE), "optimizer 7/1; forward 3/1; ");
	CHECK_STR(parts(&run, 1, QUERY_BY_CATEGORY), "optimizer state 7/1; activations 3/1; ");
	CHECK_EQ(ask(&run, "SELECT step FROM allocation WHERE bytes = 7 << 20"), 1);
	run_close(&run);
}

TEST(sql_of_the_user_can_only_read)
{
	static const char *const bad[] = {
		"INSERT INTO device VALUES (9, 9, '', '', '', 0)",
		"DELETE FROM process",
		"DROP TABLE process",
		"ATTACH 'x.db' AS x",
		"PRAGMA writable_schema = 1",
		"CREATE TEMP TABLE t (x)",
		"VACUUM INTO 'x.db'",
		"SELECT load_extension('x')",
		"BEGIN",
	};
	const char *path = run_path(test_dir(), "cpu.zst");
	struct db_stmt *stmt;
	struct run run;
	size_t i;

	write_cpu(path, 1, MIB);
	run_open_one(&run, path, 0);
	db_restrict(run.db);
	for (i = 0; i < MT_ARRAY_SIZE(bad); i++)
		CHECK(db_prepare(run.db, &stmt, bad[i]));
	CHECK_EQ(db_prepare(run.db, &stmt, "SELECT 1; SELECT 2"), -MT_E_ARGUMENT);
	CHECK_EQ(db_prepare(run.db, &stmt, ""), -MT_E_ARGUMENT);
	CHECK_EQ(ask(&run,
		     "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9) SELECT max(i) FROM n"),
		 9);
	run_close(&run);
}

static void put_driver_alloc(struct ring_builder *builder, uint32_t slot, uint64_t addr)
{
	struct ring_event event = { .kind = MT_DRIVER_ALLOC,
				    .device_type = MT_DEVICE_CUDA,
				    .device_index = 0,
				    .thread = 1,
				    .time = 2000 + addr,
				    .addr = addr,
				    .size = MIB };

	ring_builder_event(builder, slot, event, NULL, NULL);
}

/* Records one allocation, leaves a second one in the ring and dies with target and collector. */
static void leave_ring(const char *ring, const char *trace)
{
	struct ring_builder builder;
	struct mt_rules *rules;
	struct mt_fold *fold;
	uint64_t folded;
	uint32_t slot;

	CHECK_EQ(ring_builder_open(&builder, ring, 2, 1 << 16, 1 << 16), 0);
	slot = ring_builder_claim(&builder);
	put_driver_alloc(&builder, slot, 0x1000000);
	CHECK_EQ(mt_rules_new(&rules, NULL, 0), 0);
	CHECK_EQ(mt_fold_open(&fold, ring, rules, NULL), 0);
	CHECK_EQ(mt_fold_create(fold, trace), 0);
	CHECK_EQ(mt_fold_run(fold, 0, &folded), 0);
	CHECK_EQ(mt_fold_flush(fold), 0);
	put_driver_alloc(&builder, slot, 0x2000000);
	_exit(0);
}

static int64_t peak_of(const char *path)
{
	struct run run;
	int64_t peak;

	run_open_one(&run, path, 0);
	peak = ask(&run, "SELECT bytes FROM peak");
	run_close(&run);
	return peak;
}

TEST(events_left_in_a_ring_are_there)
{
	const char *folder = test_dir(), *ring = run_path(folder, "ring"), *trace = run_path(folder, "left.zst");
	uint32_t stranger = 1;
	int status, fd;
	pid_t pid = fork();

	if (!pid)
		leave_ring(ring, trace);
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
	CHECK_EQ(peak_of(trace), 2 * MIB);
	/* A collector that is still at work is left alone. */
	fd = open(ring, O_RDONLY);
	CHECK(fd >= 0 && !flock(fd, LOCK_EX));
	CHECK_EQ(peak_of(trace), MIB);
	CHECK(!close(fd));
	CHECK_EQ(peak_of(trace), 2 * MIB);
	/* So is somebody else's ring that got the name. */
	fd = open(ring, O_WRONLY);
	CHECK_EQ(pwrite(fd, &stranger, sizeof(stranger), offsetof(struct ring_header, pid)), sizeof(stranger));
	CHECK(!close(fd));
	CHECK_EQ(peak_of(trace), MIB);
	CHECK(!truncate(ring, 100));
	CHECK_EQ(peak_of(trace), MIB);
	CHECK(!unlink(ring));
	CHECK_EQ(peak_of(trace), MIB);
}

TEST(what_is_no_trace_says_so)
{
	const char *path = run_path(test_dir(), "x");
	char *paths[] = { (char *)path };
	struct source source;
	FILE *file = fopen(path, "w");

	fputs("hello", file);
	fclose(file);
	CHECK_EQ(source_open(&source, paths, 1), -MT_E_MAGIC);
	CHECK(strstr(source.message, path));
	source_release(&source);
	paths[0] = (char *)"/nonexistent";
	CHECK_EQ(source_open(&source, paths, 1), -MT_E_SYSTEM);
	source_release(&source);
}

TEST_MAIN_WRITE(write_all)
