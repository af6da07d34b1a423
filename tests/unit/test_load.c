/* Single allocations in the database: what cannot be seen from sums. */
#include "store/load.h"

#include "database/db.h"
#include "facts_kit.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "query/lives.h"
#include "source/source.h"
#include "store/load_rows.h"
#include "test.h"
#include "trace_builder.h"

#define HERE 0x10000000ull
#define THERE 0x20000000ull
#define HANDLE 0x77ull
#define CONTEXT 0x5500ull

struct loaded {
	struct source source;
	struct analysis analysis;
	struct db *db;
};

static void load_parts(struct loaded *loaded, char *const *paths, uint32_t count, enum load_parts parts)
{
	memset(loaded, 0, sizeof(*loaded));
	CHECK_EQ(source_open(&loaded->source, paths, count), 0);
	CHECK_EQ(db_create(&loaded->db, NULL, schema_sql), 0);
	CHECK_EQ(load_run(loaded->db, &loaded->analysis, loaded->source.input, count, loaded->source.rules, parts), 0);
}

static void load(struct loaded *loaded, char *const *paths, uint32_t count)
{
	load_parts(loaded, paths, count, LOAD_TIMELINE);
}

static void release(struct loaded *loaded)
{
	db_close(loaded->db);
	analysis_release(&loaded->analysis);
	source_release(&loaded->source);
}

static const char *path_in(const char *folder, const char *name)
{
	static char path[2][512];
	static int turn;

	turn = !turn;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", folder, name);
	return path[turn];
}

/* Rows as lines of words, all of them text. */
static const char *rows(const struct loaded *loaded, const char *sql)
{
	static char text[4096];
	struct db_stmt *stmt;
	size_t size = 0;
	int column;

	*text = '\0';
	CHECK_EQ(db_prepare(loaded->db, &stmt, sql), 0);
	while (db_step(stmt) == 1 && size < sizeof(text)) {
		for (column = 0; column < db_columns(stmt); column++)
			size += (size_t)snprintf(text + size, sizeof(text) - size, "%s%s", column ? " " : "",
						 db_type(stmt, column) == DB_NULL ? "-" : db_text(stmt, column));
		size += (size_t)snprintf(text + size, sizeof(text) - size, "; ");
	}
	db_finish(stmt);
	return text;
}

/* ---- who freed it ---- */

#define WHO                                                                                                          \
	"SELECT allocation.bytes, frame.function FROM allocation LEFT JOIN stack_node ON stack_node.id = free_node " \
	"LEFT JOIN frame ON frame.id = stack_node.frame ORDER BY allocation.bytes"

static void end_with(struct builder *m, const char *function, struct mt_event event)
{
	event.stack = builder_python(m, 0, function, "train.py", 1);
	builder_event(m, event);
}

/* Each ends in its own way; how many bytes it had tells which it is. */
static void write_ends(const char *path, uint32_t pid)
{
	struct builder m;

	builder_open(&m, path, pid, -1);
	m.stack = builder_python(&m, 0, "allocate", "train.py", 9);
	builder_driver_alloc(&m, HERE, 1);
	end_with(&m, "give_back", (struct mt_event){ .kind = MT_DRIVER_FREE, .addr = HERE });
	builder_tensor_alloc(&m, HERE, 2);
	end_with(&m, "drop", (struct mt_event){ .kind = MT_TENSOR_FREE, .device = m.device, .addr = HERE, .size = 2 });
	builder_tensor_alloc(&m, HERE, 3);
	builder_tensor_alloc(&m, HERE, 4); /* the free of the one before was missed */
	builder_event(&m, (struct mt_event){ .kind = MT_TENSOR_FREE, .device = m.device, .addr = HERE, .size = 4 });
	builder_event(&m, (struct mt_event){ .kind = MT_DRIVER_ALLOC,
					     .device = m.device,
					     .stack = m.stack,
					     .addr = HERE,
					     .size = 5,
					     .handle = CONTEXT });
	end_with(&m, "leave", (struct mt_event){ .kind = MT_CONTEXT_GONE, .device = m.device, .handle = CONTEXT });
	builder_event(&m, (struct mt_event){ .kind = MT_VMM_CREATE,
					     .device = m.device,
					     .stack = m.stack,
					     .size = 6,
					     .handle = HANDLE });
	end_with(&m, "release", (struct mt_event){ .kind = MT_VMM_RELEASE, .handle = HANDLE });
	builder_event(&m, (struct mt_event){ .kind = MT_VMM_CREATE,
					     .device = m.device,
					     .stack = m.stack,
					     .size = 7,
					     .handle = HANDLE });
	builder_event(&m, (struct mt_event){
				  .kind = MT_VMM_MAP, .stack = m.stack, .addr = THERE, .size = 7, .handle = HANDLE });
	end_with(&m, "release", (struct mt_event){ .kind = MT_VMM_RELEASE, .handle = HANDLE });
	end_with(&m, "unmap", (struct mt_event){ .kind = MT_VMM_UNMAP, .addr = THERE, .size = 7 });
	builder_driver_alloc(&m, THERE, 8);
	end_with(&m, "fail", (struct mt_event){ .kind = MT_DRIVER_FREE, .addr = THERE });
	builder_event(&m, (struct mt_event){ .kind = MT_DRIVER_KEEP, .addr = THERE, .result = 1 });
	builder_close(&m);
}

TEST(who_freed_it)
{
	char *path = (char *)path_in(test_dir(), "ends.zst");
	struct loaded loaded;

	write_ends(path, 100);
	load(&loaded, &path, 1);
	CHECK_STR(rows(&loaded, WHO), "1 give_back; 2 drop; 3 -; 4 -; 5 leave; 6 release; 7 unmap; 8 -; ");
	CHECK_STR(rows(&loaded, "SELECT bytes FROM allocation WHERE free_seq IS NULL"), "8; ");
	CHECK_EQ(load_names(loaded.db), 0);
	CHECK_STR(rows(&loaded, "SELECT bytes, function, place FROM allocation JOIN place ON place.node = free_node "
				"WHERE bytes < 3"),
		  "1 give_back train.py:1; 2 drop train.py:1; ");
	CHECK_STR(rows(&loaded, "SELECT * FROM pragma_foreign_key_check"), "");
	release(&loaded);
}

/* Definitions of two processes have the same numbers in their traces. */
TEST(who_freed_it_is_of_the_same_process)
{
	const char *folder = test_dir();
	char *paths[] = { (char *)path_in(folder, "a.zst"), (char *)path_in(folder, "b.zst") };
	struct loaded loaded;

	write_ends(paths[0], 100);
	write_ends(paths[1], 200);
	load(&loaded, paths, 2);
	CHECK_STR(rows(&loaded, "SELECT process, count(free_node), count(DISTINCT free_node), "
				"sum(free_node >> 32 = process - 1) FROM allocation GROUP BY process"),
		  "1 5 5 5; 2 5 5 5; ");
	CHECK_STR(rows(&loaded, "SELECT * FROM pragma_foreign_key_check"), "");
	release(&loaded);
}

/* ---- rows on their way ---- */

#define MANY 20000 /* rows: more than all lots together have room for */

/* Mappings, allocations and phases in turn; every tenth allocation stays. */
static void write_many(const char *path)
{
	struct builder m;
	uint64_t i, at;

	builder_open(&m, path, 100, -1);
	m.stack = builder_python(&m, 0, "allocate", "train.py", 9);
	for (i = 0; i < MANY; i++) {
		at = HERE + i * 4096;
		builder_tensor_alloc(&m, at, i + 1);
		if (i % 100 == 0)
			builder_phase(&m, "forward");
		if (i % 10)
			builder_tensor_free(&m, at, i + 1);
		if (i % 100 == 50)
			builder_phase_end(&m);
		if (i % 1000 == 0)
			builder_step(&m, i / 1000 + 1);
	}
	builder_close(&m);
}

/* ---- stacks of several processes ---- */

/* main() calls `function`, which allocates `bytes` and frees them in a stack of its own. */
static void write_rank(const char *path, int rank, const char *function, uint64_t bytes)
{
	struct builder m;
	uint32_t outer;

	builder_open(&m, path, 100 + (uint32_t)rank, rank);
	m.device = builder_device(&m, MT_DEVICE_CUDA, (uint32_t)rank, "Test GPU", rank ? "GPU-1" : "GPU-0", 1 << 30);
	builder_python(&m, 0, "unlike", rank ? "one.py" : "zero.py", 1); /* ids differ from here on */
	outer = builder_python(&m, 0, "main", "train.py", 1);
	m.stack = builder_python(&m, outer, function, "model.py", 2);
	builder_tensor_alloc(&m, HERE, bytes);
	end_with(&m, "drop",
		 (struct mt_event){ .kind = MT_TENSOR_FREE, .device = m.device, .addr = HERE, .size = bytes });
	builder_close(&m);
}

#define NODES "SELECT count(*) FROM stack_node"
#define SITES                                                                                                      \
	"SELECT site.process, inner.function, outer.function FROM site JOIN stack_node AS leaf ON leaf.id = node " \
	"JOIN frame AS inner ON inner.id = leaf.frame JOIN stack_node AS root ON root.id = leaf.parent "           \
	"JOIN frame AS outer ON outer.id = root.frame ORDER BY site.process"

/* Reports have one row for what processes have in common, and files have rows for each process. */
TEST(stacks_that_processes_share)
{
	char rank0[] = "rank0.zst", rank1[] = "rank1.zst", *paths[] = { rank0, rank1 };
	struct loaded loaded;

	write_rank(paths[0], 0, "forward", 4096);
	write_rank(paths[1], 1, "forward", 8192);
	load_parts(&loaded, paths, 2, LOAD_LIVES);
	CHECK_STR(rows(&loaded, NODES), "5; "); /* unlike twice, main, forward, drop */
	CHECK_STR(rows(&loaded, SITES), "1 forward main; 2 forward main; ");
	CHECK_STR(rows(&loaded, "SELECT count(DISTINCT node) FROM site"), "1; ");
	CHECK_STR(rows(&loaded,
		       "SELECT bytes, function FROM allocation JOIN temp.freed_as AS own ON own.node = free_node "
		       "JOIN stack_node ON stack_node.id = shared JOIN frame ON frame.id = frame"),
		  "8192 drop; ");
	release(&loaded);
	load_parts(&loaded, paths, 2, LOAD_TIMELINE);
	CHECK_STR(rows(&loaded, NODES), "8; ");
	CHECK_STR(rows(&loaded, "SELECT count(DISTINCT node) FROM site"), "2; ");
	release(&loaded);
	write_rank(paths[1], 1, "backward", 8192);
	load_parts(&loaded, paths, 2, LOAD_LIVES);
	CHECK_STR(rows(&loaded, NODES), "6; ");
	CHECK_STR(rows(&loaded, SITES), "1 forward main; 2 backward main; ");
	release(&loaded);
}

/* ---- stretches of phases from the facts of several processes ---- */

static void write_phase(struct builder *m, const char *phase, uint64_t *address)
{
	builder_phase(m, phase);
	builder_tensor_alloc(m, *address += 4096, 4096);
	builder_phase_end(m);
}

/* Two steps: one of six micro-batches, and one that the recording ended in. The request of rank 0 fails there. */
static void write_batches(const char *path, int rank)
{
	uint64_t address = HERE;
	struct builder m;
	int i;

	builder_open(&m, path, 100 + (uint32_t)rank, rank);
	m.device = builder_device(&m, MT_DEVICE_CUDA, (uint32_t)rank, "Test GPU", rank ? "GPU-1" : "GPU-0", 1 << 30);
	m.stack = builder_python(&m, 0, "main", "train.py", 1);
	write_phase(&m, "init", &address);
	for (i = 0; i < 6; i++) {
		write_phase(&m, "forward", &address);
		write_phase(&m, "backward", &address);
	}
	builder_step(&m, 1);
	write_phase(&m, "forward", &address);
	write_phase(&m, "backward", &address);
	builder_phase(&m, "forward");
	builder_tensor_alloc(&m, address += 4096, 4096);
	if (!rank)
		builder_event(&m, (struct mt_event){
					  .kind = MT_TENSOR_OOM, .device = m.device, .stack = m.stack, .size = 4096 });
	builder_phase_end(&m);
	builder_close(&m);
	CHECK(facts_kit_seal(path));
}

#define STEP_MOMENTS "SELECT count(*) > 0 FROM named_moment WHERE name GLOB 'step:*'"
#define SPANS(process) "SELECT step, phase FROM phase_span WHERE process = " #process " ORDER BY first_seq"

TEST(stretches_of_phases_from_facts)
{
	char rank0[] = "batches0.zst", rank1[] = "batches1.zst", *paths[] = { rank0, rank1 };
	struct loaded loaded;

	write_batches(rank0, 0);
	write_batches(rank1, 1);
	load_parts(&loaded, paths, 2, LOAD_STEPS);
	CHECK_STR(rows(&loaded, "SELECT process, count(*) FROM phase_span GROUP BY process"), "1 16; 2 16; ");
	release(&loaded);
	load_parts(&loaded, paths, 2, LOAD_ENDS);
	CHECK_STR(rows(&loaded, "SELECT count(*) FROM phase_span"), "0; ");
	CHECK_STR(rows(&loaded, "SELECT process, phase, runs FROM temp.phase_run ORDER BY 1, 3"),
		  "1 init 1; 1 backward 7; 1 forward 8; 2 init 1; 2 backward 7; 2 forward 8; ");
	release(&loaded);
	load_parts(&loaded, paths, 2, LOAD_BATCHES);
	CHECK_STR(rows(&loaded, "SELECT process, step, count(*) FROM temp.batch_begin GROUP BY process, step"),
		  "1 1 6; 1 2 2; 2 1 6; 2 2 2; ");
	CHECK_STR(rows(&loaded, "SELECT count(*) FROM temp.batch_begin JOIN allocation ON alloc_seq - 1 = first_seq "
				"AND allocation.process = batch_begin.process AND phase <> 'forward'"),
		  "0; ");
	CHECK_STR(rows(&loaded, SPANS(2)), "1 init; 1 forward; 1 backward; ");
	release(&loaded);
	load_parts(&loaded, paths, 2, LOAD_MOMENT);
	CHECK_STR(rows(&loaded, "SELECT count(*) FROM phase_span WHERE process = 1"), "16; ");
	CHECK_STR(rows(&loaded, SPANS(2)), "1 init; 1 forward; 1 backward; 2 forward; 2 forward; ");
	CHECK_STR(rows(&loaded, STEP_MOMENTS), "1; ");
	release(&loaded);
	load_parts(&loaded, paths, 1, LOAD_MOMENT);
	CHECK_STR(rows(&loaded, STEP_MOMENTS), "0; ");
	CHECK_STR(rows(&loaded, "SELECT count(*) FROM named_moment WHERE name IN ('start', 'peak')"), "2; ");
	release(&loaded);
}

TEST(every_row_arrives_in_order)
{
	char *path = (char *)path_in(test_dir(), "many.zst");
	struct loaded loaded;

	write_many(path);
	load(&loaded, &path, 1);
	CHECK_STR(rows(&loaded, "SELECT count(*), min(id), max(id), count(free_seq), sum(bytes) FROM allocation"),
		  "20000 1 20000 18000 200010000; ");
	/* In order of death, then in order of birth. */
	CHECK_STR(rows(&loaded, "SELECT count(*) FROM (SELECT ifnull(free_seq, 1000000 + alloc_seq) AS seq, "
				"lag(ifnull(free_seq, 1000000 + alloc_seq), 1, 0) OVER (ORDER BY id) AS before "
				"FROM allocation) WHERE seq <= before"),
		  "0; ");
	CHECK_STR(rows(&loaded, "SELECT count(*), count(DISTINCT memory || step), count(free_node) FROM allocation "
				"WHERE bytes > 100 AND node IS NOT NULL AND thread IS NOT NULL"),
		  "19900 20 17910; ");
	CHECK_STR(rows(&loaded, "SELECT count(*), max(id) = count(*) FROM phase_span WHERE phase = 'forward'"),
		  "220 0; ");
	CHECK_STR(rows(&loaded, "SELECT count(*), min(closed_by), max(end_seq) > min(end_seq) FROM step"),
		  "20 memrec_step 1; ");
	release(&loaded);
}

struct living {
	int64_t lives, bytes, seqs, sites, ends;
};

static int add_life(void *context, const struct life *life)
{
	struct living *living = context;

	living->lives++;
	living->bytes += (int64_t)life->bytes;
	living->seqs += life->seq;
	living->sites += life->site;
	living->ends += life->ends;
	return living->lives == 3000 ? -MT_E_LIMIT : 0;
}

/* The lives of a moment of one process are packed: SQLite and lives_each read the same. */
TEST(packed_lives_are_rows)
{
	char *path = (char *)path_in(test_dir(), "many.zst");
	struct living living = { 0 };
	struct loaded loaded;
	char sums[160];

	write_many(path);
	load_parts(&loaded, &path, 1, LOAD_MOMENT);
	CHECK_STR(rows(&loaded, "SELECT count(*), min(id), max(id), count(free_seq) FROM allocation_raw"),
		  "2001 1 2001 1; ");
	CHECK_STR(rows(&loaded, "SELECT count(*) FROM sqlite_schema WHERE name = 'allocation_raw'"), "0; ");
	CHECK_STR(rows(&loaded, "SELECT bytes, memory, address FROM allocation WHERE id = 1999"),
		  "19981 tensor 350273536; ");
	CHECK_STR(rows(&loaded, "SELECT count(*) FROM allocation WHERE phase = 'forward' AND free_time IS NULL"),
		  "1000; ");
	CHECK_EQ(lives_each(loaded.db, 1, add_life, &living), 0);
	snprintf(sums, sizeof(sums), "%lld %lld %lld %lld %lld; ", (long long)living.lives, (long long)living.bytes,
		 (long long)living.seqs, (long long)living.sites, (long long)living.ends);
	CHECK_STR(rows(&loaded,
		       "SELECT count(*), sum(bytes), sum(alloc_seq), sum(site), count(until_seq) FROM allocation_span"),
		  sums);
	living.lives = 1000;
	CHECK_EQ(lives_each(loaded.db, 1, add_life, &living), -MT_E_LIMIT);
	release(&loaded);
}

/* Each forward makes four tensors at one place, frees one, and the backward frees three: the site is split. */
static void write_split(const char *path)
{
	struct builder m;
	uint64_t step, i;

	builder_open(&m, path, 100, -1);
	m.stack = builder_python(&m, 0, "compute", "train.py", 9);
	for (step = 1; step <= 4; step++) {
		builder_phase(&m, "forward");
		for (i = 0; i < 4; i++)
			builder_tensor_alloc(&m, HERE + i * 4096, 4096);
		builder_tensor_free(&m, HERE, 4096);
		builder_phase_end(&m);
		builder_phase(&m, "backward");
		for (i = 1; i < 4; i++)
			builder_tensor_free(&m, HERE + i * 4096, 4096);
		builder_phase_end(&m);
		builder_step(&m, step);
	}
	builder_close(&m);
}

TEST(packed_lives_know_their_twins)
{
	static const char sql[] = "SELECT category, count(*) FROM live_at WHERE moment = 'peak' GROUP BY category";
	static const enum load_parts parts[] = { LOAD_LIVES, LOAD_MOMENT };
	char *path = (char *)path_in(test_dir(), "split.zst");
	struct loaded loaded;
	size_t i;

	write_split(path);
	for (i = 0; i < MT_ARRAY_SIZE(parts); i++) {
		load_parts(&loaded, &path, 1, parts[i]);
		CHECK_STR(rows(&loaded, sql), "activations 3; workspace 1; ");
		release(&loaded);
	}
}

/* A free that failed: its row may be in the database by then. */
TEST(what_is_back_has_one_row)
{
	char *path = (char *)path_in(test_dir(), "back.zst");
	struct loaded loaded;
	struct builder m;
	uint64_t i;

	builder_open(&m, path, 100, -1);
	builder_driver_alloc(&m, THERE, 7);
	builder_driver_alloc(&m, HERE, 8);
	builder_driver_free(&m, HERE);
	for (i = 0; i < 2000; i++) {
		builder_tensor_alloc(&m, HERE + (1 << 20), 4);
		builder_tensor_free(&m, HERE + (1 << 20), 4);
	}
	builder_event(&m, (struct mt_event){ .kind = MT_DRIVER_KEEP, .addr = HERE, .result = 1 });
	builder_driver_free(&m, THERE);
	builder_event(&m, (struct mt_event){ .kind = MT_DRIVER_KEEP, .addr = THERE, .result = 1 });
	builder_close(&m);
	load(&loaded, &path, 1);
	CHECK_STR(rows(&loaded, "SELECT bytes, free_seq FROM allocation WHERE memory <> 'tensor' ORDER BY bytes"),
		  "7 -; 8 -; ");
	CHECK_STR(rows(&loaded, "SELECT count(*) FROM allocation"), "2002; ");
	release(&loaded);
}

/* Addresses and handles of 2^63 and all around. */
TEST(every_address_is_one)
{
	static const uint64_t address[] = { INT64_MAX, 1ull << 63, (1ull << 63) + 1, UINT64_MAX - 4095 };
	char *path = (char *)path_in(test_dir(), "high.zst");
	struct loaded loaded;
	struct builder m;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(address); i++) {
		builder_open(&m, path, 100, -1);
		builder_driver_alloc(&m, address[i], 64);
		builder_event(&m, (struct mt_event){ .kind = MT_VMM_CREATE, .handle = address[i], .size = 32 });
		builder_event(&m,
			      (struct mt_event){ .kind = MT_VMM_MAP, .addr = HERE, .size = 32, .handle = address[i] });
		builder_close(&m);
		load(&loaded, &path, 1);
		CHECK_STR(rows(&loaded, "SELECT count(*) FROM allocation_raw WHERE address < -9000000000000000000 OR "
					"address > 9000000000000000000 OR address > -5000"),
			  "2; ");
		CHECK_STR(rows(&loaded, "SELECT count(*) FROM mapping"), "1; ");
		release(&loaded);
	}
}

static void fill_row(struct load_host_sample *row, int64_t number)
{
	*row = (struct load_host_sample){ .process = 1,
					  .time = number,
					  .rss_bytes = DB_CELL_NULL,
					  .cgroup_limit_bytes = INT64_MAX,
					  .killed = INT64_MIN }; /* an address of 2^63 looks like that */
}

TEST(rows_keep_their_cells)
{
	struct loaded loaded = { .db = NULL };
	struct load_rows queue;
	struct load_phase_span *span;
	int error;

	CHECK_EQ(db_create(&loaded.db, NULL, schema_sql), 0);
	CHECK_EQ(load_rows_init(&queue, loaded.db), 0);
	fill_row(load_rows_new(&queue, LOAD_host_sample, &error), 5);
	span = load_rows_new(&queue, LOAD_phase_span, &error);
	*span = (struct load_phase_span){ .id = 7, .process = 1, .phase = "it's", .step = -1 };
	CHECK_EQ(load_rows_drain(&queue), 0);
	span = load_rows_new(&queue, LOAD_phase_span, &error);
	*span = (struct load_phase_span){ .id = DB_CELL_NULL, .process = 1, .phase = "" };
	CHECK_EQ(load_rows_drain(&queue), 0);
	load_rows_release(&queue);
	CHECK_STR(rows(&loaded, "SELECT * FROM host_sample"), "1 5 - 0 0 9223372036854775807 0 -9223372036854775808; ");
	CHECK_STR(rows(&loaded, "SELECT id, phase, step FROM phase_span"), "7 it's -1; 8  0; ");
	db_close(loaded.db);
}

/* The first error comes back, however much is queued behind it, and what follows is not written. */
TEST(a_row_that_is_refused_ends_it)
{
	struct loaded loaded = { .db = NULL };
	struct load_rows queue;
	struct load_phase_span *row = NULL;
	int64_t i;
	int error = 0;

	CHECK_EQ(db_create(&loaded.db, NULL, schema_sql), 0);
	CHECK_EQ(load_rows_init(&queue, loaded.db), 0);
	for (i = 0; i < 100 * MANY && !error; i++) {
		row = load_rows_new(&queue, LOAD_phase_span, &error);
		if (row)
			*row = (struct load_phase_span){
				.id = DB_CELL_NULL, .process = 1, .phase = i == MANY ? NULL : "init", .first_time = i
			};
	}
	CHECK(!row);
	CHECK_EQ(error, -MT_E_SQL);
	CHECK_EQ(load_rows_drain(&queue), -MT_E_SQL);
	load_rows_release(&queue);
	CHECK_STR(rows(&loaded, "SELECT count(*) FROM phase_span WHERE first_time > 20000"), "0; ");
	db_close(loaded.db);
}

TEST_MAIN()
