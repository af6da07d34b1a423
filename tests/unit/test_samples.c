/*
 * The samples beside the recorded calls, from traces to answers: NVML's count at the peaks, what was free at an
 * out-of-memory error, the host's memory. With "--write DIR" it only writes the traces of tests/cli/test_samples.sh.
 */
#include "database/db.h"
#include "engine/host.h"
#include "memtrace/error.h"
#include "run_kit.h"
#include "trace_builder.h"

#define GIB (1ull << 30)
#define MS 1000000ull
#define A 0x10000000ull
#define B 0x50000000ull
#define SAMPLED_OWN 1

/* CUPTI ids of the calls that are noted. */
enum { CONTEXT_RETAIN = 386, MODULE_LOAD = 19, GRAPH_INSTANTIATE = 578, MEM_GET_INFO = 242 };

/* ---- making traces ---- */

/* The next event is at `ms`. */
static void at(struct builder *m, uint64_t ms)
{
	m->time = BUILDER_START + ms * MS - 1000;
}

static void note(struct builder *m, uint64_t entry)
{
	builder_event(m, (struct mt_event){ .kind = MT_DRIVER_NOTE, .device = m->cuda, .entry = entry });
}

/* In MiB; own 0: not known. */
static void gpu_of(struct builder *m, uint64_t total, uint64_t used, uint64_t own)
{
	builder_event(m, (struct mt_event){ .kind = MT_GPU_SAMPLE,
					    .device = m->cuda,
					    .size = used * MIB,
					    .offset = own * MIB,
					    .value = total * MIB,
					    .flags = 20 << 8 | (own ? SAMPLED_OWN : 0) });
}

static void gpu(struct builder *m, uint64_t used, uint64_t own)
{
	gpu_of(m, 1024, used, own);
}

/* In GiB. */
static void host(struct builder *m, uint64_t resident, uint64_t cgroup, uint64_t limit, uint64_t available,
		 uint64_t killed)
{
	builder_event(m, (struct mt_event){ .kind = MT_HOST_SAMPLE,
					    .size = resident * GIB,
					    .value = cgroup * GIB,
					    .offset = limit * GIB,
					    .handle = available * GIB,
					    .flags = killed });
}

static void finish(struct builder *m, enum mt_end why)
{
	builder_event(m, (struct mt_event){ .kind = MT_END, .value = why });
	CHECK_EQ(mt_writer_close(m->writer, 1), 0);
}

/*
 * Context 100, code 10; forward takes 300, backward 200 more: the peak. 3 of the samples are settled; the one between
 * them is made while memory moves. Then 200 are freed, and a graph takes 4.
 */
static void write_run(const char *path)
{
	struct builder m;

	builder_open(&m, path, 100, -1);
	at(&m, 1);
	note(&m, CONTEXT_RETAIN);
	at(&m, 10);
	gpu(&m, 150, 100);
	at(&m, 20);
	note(&m, MODULE_LOAD);
	at(&m, 30);
	gpu(&m, 160, 110);
	at(&m, 40);
	builder_phase(&m, "forward");
	builder_driver_alloc(&m, A, 300 * MIB);
	at(&m, 50);
	gpu(&m, 460, 410);
	at(&m, 60);
	builder_phase_end(&m);
	builder_phase(&m, "backward");
	builder_driver_alloc(&m, B, 200 * MIB);
	gpu(&m, 660, 510);
	at(&m, 70);
	gpu(&m, 667, 617);
	at(&m, 80);
	builder_driver_free(&m, B);
	builder_phase_end(&m);
	at(&m, 90);
	note(&m, GRAPH_INSTANTIATE);
	at(&m, 100);
	gpu(&m, 471, 421);
	finish(&m, MT_END_EXIT);
}

/*
 * Three errors: one of which the driver says what was free, one that NVML was looked at after (with 100 freed in between),
 * one that nobody knows more of.
 */
static void write_oom(const char *path)
{
	struct builder m;

	builder_open(&m, path, 100, -1);
	builder_driver_alloc(&m, A, 300 * MIB);
	at(&m, 10);
	builder_event(&m,
		      (struct mt_event){ .kind = MT_DRIVER_FAIL, .device = m.cuda, .size = 900 * MIB, .result = 2 });
	builder_event(&m, (struct mt_event){ .kind = MT_DRIVER_NOTE,
					     .device = m.cuda,
					     .entry = MEM_GET_INFO,
					     .size = 1000 * MIB,
					     .value = 600 * MIB });
	at(&m, 2000);
	builder_driver_alloc(&m, B, 100 * MIB);
	at(&m, 2010);
	builder_event(&m, (struct mt_event){ .kind = MT_TENSOR_OOM, .device = m.cuda, .size = 800 * MIB });
	at(&m, 2020);
	builder_driver_free(&m, B);
	at(&m, 2030);
	gpu(&m, 520, 320);
	at(&m, 2050);
	builder_event(&m, (struct mt_event){ .kind = MT_TENSOR_OOM, .device = m.cuda, .size = 700 * MIB });
	host(&m, 3, 4, 16, 100, 0);
	finish(&m, MT_END_EXIT);
}

/* Gone without leaving, with the GPU half empty; in GiB as of host(). */
static void write_gone(const char *path, uint64_t cgroup, uint64_t limit, uint64_t available, uint64_t killed,
		       enum mt_end why)
{
	struct builder m;

	builder_open(&m, path, 100, -1);
	builder_driver_alloc(&m, A, 300 * MIB);
	builder_event(&m, (struct mt_event){
				  .kind = MT_DRIVER_ALLOC, .addr = B, .size = 2 * GIB, .flags = MT_SPACE_PINNED });
	at(&m, 10);
	gpu(&m, 500, 400);
	at(&m, 20);
	host(&m, 30, cgroup, limit, available, 0);
	at(&m, 30);
	host(&m, 0, cgroup, limit, available, killed);
	finish(&m, why);
}

/*
 * A failed request on a GPU of 1000 MiB, as shape_PSO_D.N.zst of process N of P. They hold 300 and 200, and have a context of 100 each.
 * O: the MiB of others. D: 1 if the driver told of free bytes. S, the samples of NVML:
 *
 *     n none, b before, a after, t before and after, x after by process 1 alone
 *     u after, without the bytes of the processes; m after, when the others had 50 more
 */
struct shape {
	uint64_t processes, others, told;
	char samples;
};

static void write_shape(const char *folder, const struct shape *shape, uint64_t number)
{
	uint64_t own = number == 1 ? 400 : 300, used = (shape->processes == 1 ? 400 : 700) + shape->others;
	struct builder m;
	char name[64];

	snprintf(name, sizeof(name), "shape_%llu%c%llu_%llu.%llu.zst", (unsigned long long)shape->processes,
		 shape->samples, (unsigned long long)shape->others, (unsigned long long)shape->told,
		 (unsigned long long)number);
	builder_open(&m, run_path(folder, name), 100 + (uint32_t)number, -1);
	at(&m, 1);
	note(&m, CONTEXT_RETAIN);
	at(&m, 10);
	builder_driver_alloc(&m, A, (own - 100) * MIB);
	at(&m, 50);
	if (strchr("bt", shape->samples))
		gpu_of(&m, 1000, used, own);
	at(&m, 100);
	if (number == 1)
		builder_event(&m, (struct mt_event){ .kind = MT_TENSOR_OOM, .device = m.cuda, .size = 700 * MIB });
	if (number == 1 && shape->told)
		builder_event(&m, (struct mt_event){ .kind = MT_DRIVER_NOTE,
						     .device = m.cuda,
						     .entry = MEM_GET_INFO,
						     .size = 1000 * MIB,
						     .value = (1000 - used) * MIB });
	at(&m, 150);
	if (strchr("atum", shape->samples) || (shape->samples == 'x' && number == 1))
		gpu_of(&m, 1000, used + (shape->samples == 'm' ? 50 : 0), shape->samples == 'u' ? 0 : own);
	finish(&m, MT_END_EXIT);
}

static void write_shapes(const char *folder)
{
	struct shape shape;
	const char *samples;
	uint64_t number;

	for (shape.processes = 1; shape.processes <= 2; shape.processes++)
		for (samples = "nbatumx"; *samples; samples++)
			for (shape.others = 0; shape.others <= 120; shape.others += 120)
				for (shape.told = 0; shape.told <= 1; shape.told++)
					for (shape.samples = *samples, number = 1; number <= shape.processes; number++)
						write_shape(folder, &shape, number);
}

static void write_all(const char *folder)
{
	write_shapes(folder);
	write_run(run_path(folder, "run.zst"));
	write_oom(run_path(folder, "oom.zst"));
	write_gone(run_path(folder, "killed.zst"), 32, 32, 100, 1, MT_END_KILLED);
	write_gone(run_path(folder, "full.zst"), 31, 32, 100, 0, MT_END_KILLED);
}

/* ---- from traces to answers ---- */

/* The first column of all rows, with blanks between. */
static const char *ask(struct run *run, const char *sql)
{
	static char text[4096];
	struct db_stmt *stmt;
	size_t used = 0;

	*text = '\0';
	CHECK_EQ(db_prepare(run->db, &stmt, sql), 0);
	while (db_step(stmt) == 1)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used ? " " : "",
					 db_type(stmt, 0) == DB_NULL ? "null" : db_text(stmt, 0));
	db_finish(stmt);
	return text;
}

#define M(column) "ifnull(" #column " / 1048576, 'null')"
/* ---- the peaks ---- */

TEST(what_nvml_counts_beside_the_peak)
{
	const char *path = run_path(test_dir(), "run.zst");
	struct run run;

	write_run(path);
	run_open_one(&run, path, 1);
	CHECK_STR(ask(&run, "SELECT bytes / 1048576 FROM peak"), "500");
	/* The first of the two samples after the peak was made while memory moved. */
	CHECK_STR(ask(&run, "SELECT time / 1000000 FROM gpu_total WHERE peak = 'peak'"), "70");
	CHECK_STR(ask(&run,
		      "SELECT " M(recorded_bytes) " || ' ' || " M(context_bytes) " || ' ' || " M(code_bytes) " || ' ' || " M(
			      graph_bytes) " || ' ' || " M(unexplained_bytes) " FROM gpu_total WHERE peak = 'peak'"),
		  "500 100 10 0 7");
	CHECK_STR(ask(&run, "SELECT " M(process_bytes) " || ' ' || " M(others_bytes) " || ' ' || " M(
				    used_bytes) " FROM gpu_total WHERE peak = 'peak'"),
		  "617 50 667");
	CHECK_STR(ask(&run,
		      "SELECT count(*) FROM gpu_total WHERE process_bytes <> recorded_bytes + context_bytes + code_bytes + "
		      "graph_bytes + pool_bytes + earlier_bytes + unexplained_bytes"),
		  "0");
	/* Each phase has its own. */
	CHECK_STR(ask(&run, "SELECT time / 1000000 FROM gpu_total WHERE peak = 'forward'"), "50");
	CHECK_STR(ask(&run, "SELECT " M(recorded_bytes) " FROM gpu_total WHERE peak = 'forward'"), "300");
	CHECK_STR(ask(&run, "SELECT mixed FROM gpu_total WHERE peak = 'peak'"), "");
	run_close(&run);
}

TEST(every_sample_is_in_the_database)
{
	const char *path = run_path(test_dir(), "run.zst");
	struct run run;

	write_run(path);
	run_open_one(&run, path, 1);
	CHECK_STR(ask(&run, "SELECT " M(recorded_bytes) " FROM gpu_sample ORDER BY time"), "0 0 300 null 500 300");
	CHECK_STR(ask(&run, "SELECT bytes / 1048576 FROM gpu_unrecorded ORDER BY time"), "100 110 110 117 121");
	CHECK_STR(ask(&run, "SELECT count(*) FROM pragma_foreign_key_check"), "0");
	run_close(&run);
}

/* A program that ends at its peak, or dies: the last look before it has to do. */
TEST(without_a_later_sample_the_last_one_before)
{
	const char *path = run_path(test_dir(), "t.zst");
	struct run run;
	struct builder m;

	builder_open(&m, path, 100, -1);
	at(&m, 10);
	builder_driver_alloc(&m, A, 100 * MIB);
	at(&m, 20);
	gpu(&m, 300, 200);
	at(&m, 30);
	builder_driver_alloc(&m, B, 50 * MIB);
	finish(&m, MT_END_EXIT);
	run_open_one(&run, path, 1);
	CHECK_STR(ask(&run, "SELECT gpu_total.time - peak.time < 0 FROM gpu_total, peak WHERE gpu_total.peak = 'peak'"),
		  "1");
	CHECK_STR(ask(&run, "SELECT " M(recorded_bytes) " FROM gpu_total WHERE peak = 'peak'"), "100");
	CHECK_STR(ask(&run, "SELECT " M(unexplained_bytes) " FROM gpu_total WHERE peak = 'peak'"), "100");
	run_close(&run);
}

TEST(a_gpu_that_does_not_tell_whose_bytes_they_are)
{
	const char *path = run_path(test_dir(), "t.zst");
	struct run run;
	struct builder m;

	builder_open(&m, path, 100, -1);
	at(&m, 10);
	builder_driver_alloc(&m, A, 100 * MIB);
	at(&m, 20);
	gpu(&m, 300, 0);
	at(&m, 40);
	gpu(&m, 50, 0); /* less than is surely there */
	finish(&m, MT_END_EXIT);
	run_open_one(&run, path, 1);
	CHECK_STR(ask(&run, "SELECT time / 1000000 FROM gpu_total WHERE peak = 'peak'"), "20");
	CHECK_STR(ask(&run, "SELECT process_bytes FROM gpu_total WHERE peak = 'peak'"), "null");
	CHECK_STR(ask(&run, "SELECT unexplained_bytes FROM gpu_total WHERE peak = 'peak'"), "null");
	CHECK_STR(ask(&run, "SELECT " M(used_bytes) " FROM gpu_total WHERE peak = 'peak'"), "300");
	run_close(&run);
}

TEST(two_processes_are_added_up_and_are_no_others)
{
	char first[512], second[512], *paths[] = { first, second };
	const char *folder = test_dir();
	struct builder a, b;
	struct run run;

	snprintf(first, sizeof(first), "%s/a.zst", folder);
	snprintf(second, sizeof(second), "%s/b.zst", folder);
	builder_open(&a, first, 200, 0);
	builder_open(&b, second, 300, 1);
	at(&a, 10);
	builder_driver_alloc(&a, A, 100 * MIB);
	at(&b, 20);
	builder_driver_alloc(&b, A, 200 * MIB);
	at(&a, 30);
	gpu(&a, 400, 110);
	at(&b, 32);
	gpu(&b, 400, 220);
	at(&a, 50);
	builder_event(&a, (struct mt_event){ .kind = MT_MARK });
	at(&b, 50);
	builder_event(&b, (struct mt_event){ .kind = MT_MARK });
	finish(&a, MT_END_EXIT);
	finish(&b, MT_END_EXIT);
	run_open(&run, paths, 2, 1);
	CHECK_STR(ask(&run,
		      "SELECT processes || ': ' || " M(recorded_bytes) " || ' ' || " M(unexplained_bytes) " || ' ' || " M(
			      process_bytes) " || ' ' || " M(others_bytes) " FROM gpu_total WHERE peak = 'peak'"),
		  "2: 300 30 330 70");
	run_close(&run);
}

/*
 * A sleeps while B is awake, and was looked at when it was awake itself: at 20 and 80. `asleep`, `early`: once more at
 * 45, or at 38, just before B's last bytes; 0: not.
 */
static void write_turns(const char *first, const char *second, int asleep, int early)
{
	struct builder a, b;

	builder_open(&a, first, 200, 0);
	builder_open(&b, second, 300, 1);
	at(&a, 10);
	builder_driver_alloc(&a, A, 400 * MIB);
	at(&a, 20);
	gpu(&a, 500, 410);
	at(&a, 30);
	builder_driver_free(&a, A);
	at(&b, 34);
	builder_driver_alloc(&b, A, 590 * MIB);
	at(&a, 38);
	if (early)
		gpu(&a, 691, 10);
	at(&b, 40);
	builder_driver_alloc(&b, B, 10 * MIB);
	at(&a, 45);
	if (asleep)
		gpu(&a, 700, 10);
	at(&b, 50);
	gpu(&b, 700, 610);
	at(&b, 60);
	builder_driver_free(&b, A);
	at(&a, 70);
	builder_driver_alloc(&a, A, 400 * MIB);
	at(&a, 80);
	gpu(&a, 510, 410);
	at(&b, 90);
	builder_event(&b, (struct mt_event){ .kind = MT_MARK });
	finish(&a, MT_END_EXIT);
	finish(&b, MT_END_EXIT);
}

static void check_turns(int asleep, int early, const char *want)
{
	char first[512], second[512], *paths[] = { first, second };
	const char *folder = test_dir();
	struct run run;

	snprintf(first, sizeof(first), "%s/a.zst", folder);
	snprintf(second, sizeof(second), "%s/b.zst", folder);
	write_turns(first, second, asleep, early);
	run_open(&run, paths, 2, 1);
	CHECK_STR(ask(&run,
		      "SELECT processes || ' of ' || (processes + absent) || ': ' || " M(recorded_bytes) " || ' ' || " M(
			      process_bytes) " || ' ' || " M(others_bytes) " || ' ' || " M(used_bytes) " FROM gpu_total WHERE peak = 'peak'"),
		  want);
	run_close(&run);
}

TEST(samples_of_different_times_are_not_added_up)
{
	check_turns(0, 0, "1 of 2: 600 610 90 700");
}

TEST(samples_that_lie_together_are)
{
	check_turns(1, 0, "2 of 2: 600 620 80 700");
	check_turns(0, 1, "2 of 2: 600 620 80 700");
}

/* Memory of another process, mapped here: no byte of the peak, but no secret either. */
TEST(imported_memory_stands_beside_the_peak)
{
	const char *path = run_path(test_dir(), "t.zst");
	struct run run;
	struct builder m;

	builder_open(&m, path, 100, -1);
	builder_event(&m, (struct mt_event){
				  .kind = MT_VMM_CREATE, .device = m.cuda, .handle = 7, .flags = MT_SPACE_IMPORTED });
	builder_event(&m, (struct mt_event){ .kind = MT_VMM_MAP, .addr = B, .size = 64 * MIB, .handle = 7 });
	builder_driver_alloc(&m, A, 100 * MIB);
	builder_event(&m, (struct mt_event){ .kind = MT_VMM_UNMAP, .addr = B, .size = 64 * MIB });
	finish(&m, MT_END_EXIT);
	run_open_one(&run, path, 1);
	CHECK_STR(ask(&run, "SELECT (bytes >> 20) || ' ' || (imported_bytes >> 20) FROM peak"), "100 64");
	run_close(&run);
}

/* A recording that begins in the middle: what was there before has no call that explains it. */
TEST(what_is_older_than_the_recording)
{
	const char *path = run_path(test_dir(), "t.zst");
	struct mt_event born = { .kind = MT_DRIVER_ALLOC, .addr = A, .size = 100 * MIB };
	struct run run;
	struct builder m;

	builder_open(&m, path, 100, -1);
	born.device = m.cuda;
	born.thread = m.thread;
	born.time = BUILDER_START;
	born.seq = ++m.seq;
	CHECK_EQ(mt_writer_skip(m.writer, &born, 0, 0), 0);
	at(&m, 10);
	builder_driver_alloc(&m, B, 10 * MIB);
	at(&m, 20);
	gpu(&m, 300, 210);
	finish(&m, MT_END_EXIT);
	run_open_one(&run, path, 1);
	CHECK_STR(ask(&run, "SELECT " M(recorded_bytes) " || ' ' || " M(earlier_bytes) " || ' ' || " M(
				    unexplained_bytes) " FROM gpu_total WHERE peak = 'peak'"),
		  "110 100 0");
	run_close(&run);
}

/* ---- out of memory ---- */

TEST(what_was_free_and_who_says_so)
{
	const char *path = run_path(test_dir(), "oom.zst");
	struct run run;

	write_oom(path);
	run_open_one(&run, path, 1);
	CHECK_STR(ask(&run, "SELECT free_by || ' ' || " M(free_bytes) " FROM oom ORDER BY id"),
		  "driver 600 nvml 404 bound 700");
	CHECK_STR(ask(&run, "SELECT " M(others_bytes) " FROM oom ORDER BY id"), "200 200 null");
	run_close(&run);
}

/* ---- the total ---- */

/* GPU of 1024 MiB by its definition; each letter of `words` says one total: s, a sample of 1000; d, the driver of 990. */
static uint64_t total_after(const char *words)
{
	const char *path = run_path(test_dir(), "total.zst");
	struct builder m;
	struct run run;
	uint64_t total, i;

	builder_open(&m, path, 100, -1);
	for (i = 0; words[i]; i++) {
		at(&m, 100 * (i + 1));
		if (words[i] == 'a')
			builder_driver_alloc(&m, A, 300 * MIB);
		else if (words[i] == 'o')
			builder_event(&m, (struct mt_event){ .kind = MT_TENSOR_OOM, .device = m.cuda, .size = MIB });
		else
			builder_event(&m, (struct mt_event){ .kind = words[i] == 's' ? MT_GPU_SAMPLE : MT_DRIVER_NOTE,
							     .device = m.cuda,
							     .entry = words[i] == 'd' ? MEM_GET_INFO : 0,
							     .size = words[i] == 'd' ? 990 * MIB : 400 * MIB,
							     .value = words[i] == 's' ? 1000 * MIB : 0 });
	}
	finish(&m, MT_END_EXIT);
	run_open_one(&run, path, 1);
	CHECK_EQ(run.analysis.devices, 1);
	total = run.analysis.device[0].total / MIB;
	if (strchr(words, 'o') && run.analysis.oom[0].free_by == ANALYSIS_FREE_BOUND)
		CHECK_EQ((uint64_t)run.analysis.oom[0].free / MIB, total - 300);
	run_close(&run);
	return total;
}

TEST(the_total_is_what_a_program_can_have)
{
	static const struct {
		const char *words;
		uint64_t want;
	} row[] = { { "a", 1024 },   { "ao", 1024 },  { "as", 1000 },  { "sa", 1000 }, { "ad", 990 },
		    { "da", 990 },   { "ads", 990 },  { "sda", 990 },  { "dsa", 990 }, { "saod", 990 },
		    { "aosd", 990 }, { "aos", 1000 }, { "aaod", 990 }, { "sads", 990 } };
	size_t i;

	for (i = 0; i < sizeof(row) / sizeof(*row); i++)
		CHECK_EQ(total_after(row[i].words), row[i].want);
}

/* ---- the host ---- */

static const char *verdict(uint64_t cgroup, uint64_t limit, uint64_t available, uint64_t killed, enum mt_end why)
{
	const char *path = run_path(test_dir(), "gone.zst");
	static char word[32];
	struct run run;

	write_gone(path, cgroup, limit, available, killed, why);
	run_open_one(&run, path, 1);
	snprintf(word, sizeof(word), "%s", ask(&run, "SELECT verdict FROM host_memory"));
	run_close(&run);
	return word;
}

TEST(whether_it_was_the_host)
{
	CHECK_STR(verdict(20, 32, 100, 1, MT_END_KILLED), "killed");
	CHECK_STR(verdict(31, 32, 100, 0, MT_END_KILLED), "cgroup");
	CHECK_STR(verdict(30, 32, 100, 0, MT_END_KILLED), "null"); /* 6% are left */
	CHECK_STR(verdict(31, 0, 100, 0, MT_END_KILLED), "null");
	CHECK_STR(verdict(20, 32, 1, 0, MT_END_KILLED), "machine");
	CHECK_STR(verdict(20, 32, 2, 0, MT_END_KILLED), "null");
	/* It left by itself while its cgroup was full and somebody else of it was killed: told to, maybe. */
	CHECK_STR(verdict(32, 32, 0, 1, MT_END_EXIT), "left");
	CHECK_STR(verdict(20, 32, 100, 1, MT_END_EXIT), "null");
}

TEST(a_full_gpu_is_not_the_host)
{
	const char *path = run_path(test_dir(), "t.zst");
	struct run run;
	struct builder m;

	builder_open(&m, path, 100, -1);
	builder_driver_alloc(&m, A, 900 * MIB);
	at(&m, 10);
	gpu(&m, 1000, 1000);
	at(&m, 20);
	host(&m, 30, 32, 32, 100, 0);
	finish(&m, MT_END_KILLED);
	run_open_one(&run, path, 1);
	CHECK_STR(ask(&run, "SELECT ifnull(verdict, 'null') || ' ' || pressure FROM host_memory"), "null cgroup");
	run_close(&run);
}

TEST(a_gpu_error_just_before_is_not_the_host)
{
	const char *path = run_path(test_dir(), "t.zst");
	struct run run;
	struct builder m;

	builder_open(&m, path, 100, -1);
	builder_driver_alloc(&m, A, 100 * MIB);
	at(&m, 10);
	builder_event(&m, (struct mt_event){ .kind = MT_TENSOR_OOM, .device = m.cuda, .size = 900 * MIB });
	at(&m, 20);
	host(&m, 30, 32, 32, 100, 0);
	finish(&m, MT_END_KILLED);
	run_open_one(&run, path, 1);
	CHECK_STR(ask(&run, "SELECT verdict FROM host_memory"), "null");
	run_close(&run);
}

TEST(host_figures)
{
	const char *path = run_path(test_dir(), "gone.zst");
	struct run run;

	write_gone(path, 20, 32, 100, 0, MT_END_EXIT);
	run_open_one(&run, path, 1);
	/* The last sample found the process gone: what it had is that of the one before. */
	CHECK_STR(ask(&run, "SELECT rss_bytes >> 30 FROM host_memory"), "30");
	CHECK_STR(ask(&run, "SELECT (pinned_bytes >> 30) || ' ' || (most_pinned_bytes >> 30) FROM host_memory"), "2 2");
	CHECK_STR(ask(&run, "SELECT ifnull(rss_bytes >> 30, 'gone') FROM host_sample ORDER BY time"), "30 gone");
	run_close(&run);
}

/* cgroup, limit and available GiB at the end, of a process that had 30 GiB and a cgroup of 20 of 32 with 100 available. */
static const char *after_the_end(uint64_t cgroup, uint64_t available)
{
	const char *path = run_path(test_dir(), "after.zst");
	static char words[64];
	struct builder m;
	struct run run;

	builder_open(&m, path, 100, -1);
	builder_driver_alloc(&m, A, 300 * MIB);
	at(&m, 10);
	host(&m, 5, 10, 32, 110, 0);
	at(&m, 20);
	host(&m, 30, 20, 32, 100, 0);
	at(&m, 30);
	host(&m, 0, cgroup, 32, available, 0);
	finish(&m, MT_END_KILLED);
	run_open_one(&run, path, 1);
	snprintf(words, sizeof(words), "%s",
		 ask(&run, "SELECT (cgroup_bytes >> 30) || ' ' || (cgroup_limit_bytes >> 30) || ' ' || "
			   "(available_bytes >> 30) FROM host_memory"));
	run_close(&run);
	return words;
}

TEST(a_cgroup_after_its_process_is_not_what_the_process_met)
{
	CHECK_STR(after_the_end(0, 120), "20 32 100");
	CHECK_STR(after_the_end(19, 101), "20 32 100");
	CHECK_STR(after_the_end(32, 88), "32 32 88"); /* another process took more: the process may have ended for it */
}

TEST_MAIN_WRITE(write_all)
