/*
 * Alive at a moment has one meaning: traces at which several tellings of it would part. With "--write DIR" it only
 * writes them, for tests/cli/test_meaning.sh.
 */
#include <unistd.h>
#include "database/db.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "screen/data/feed.h"
#include "screen/data/liveset.h"
#include "store/load.h"
#include "test.h"
#include "trace_builder.h"

#define EXPANDABLE 0x10000000000ull
#define SEGMENT 0x20000000000ull
#define OTHERS 0x30000000000ull

static void begin(struct builder *m, const char *folder, const char *name, uint32_t pid)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	builder_open(m, path, pid, -1);
	m->stack = builder_python(m, 0, "main", "/home/me/train.py", 50);
}

/* The next event is at the same nanosecond as the newest one. */
static void at_once(struct builder *m)
{
	m->time -= 1000;
}

static void fail(struct builder *m, uint64_t size)
{
	builder_event(m,
		      (struct mt_event){ .kind = MT_TENSOR_OOM, .device = m->cuda, .stack = m->stack, .size = size });
}

/*
 * MiB: five mappings of 20 in a row with tensors at 0..30, 50..60 and 90..100, and a segment of 100 with tensors at
 * 0..10, 30..40 and 60..70. 120 are idle, 30 of them in a row, and one mapping has nothing in it.
 */
static void write_pieces(const char *folder)
{
	struct builder m;
	uint64_t i;

	begin(&m, folder, "pieces.zst", 100);
	builder_phase(&m, "forward");
	for (i = 0; i < 5; i++) {
		builder_event(&m, (struct mt_event){ .kind = MT_VMM_CREATE,
						     .device = m.cuda,
						     .stack = m.stack,
						     .handle = 100 + i,
						     .size = 20 * MIB });
		builder_event(&m, (struct mt_event){ .kind = MT_VMM_MAP,
						     .addr = EXPANDABLE + i * 20 * MIB,
						     .size = 20 * MIB,
						     .handle = 100 + i });
	}
	builder_tensor_alloc(&m, EXPANDABLE, 30 * MIB);
	builder_tensor_alloc(&m, EXPANDABLE + 50 * MIB, 10 * MIB);
	builder_tensor_alloc(&m, EXPANDABLE + 90 * MIB, 10 * MIB);
	builder_driver_alloc(&m, SEGMENT, 100 * MIB);
	for (i = 0; i < 3; i++)
		builder_tensor_alloc(&m, SEGMENT + i * 30 * MIB, 10 * MIB);
	fail(&m, 64 * MIB);
	builder_close(&m);
}

/* Two processes at one nanosecond: the request of the first fails, and then the second takes 50 MiB more. */
static void write_neighbours(const char *folder)
{
	struct builder first, second;

	begin(&first, folder, "first.zst", 100);
	begin(&second, folder, "second.zst", 200);
	builder_driver_alloc(&first, SEGMENT, 100 * MIB);
	builder_tensor_alloc(&first, SEGMENT, 60 * MIB);
	builder_driver_alloc(&second, OTHERS, 200 * MIB);
	builder_tensor_alloc(&second, OTHERS, 10 * MIB);
	fail(&first, 64 * MIB);
	builder_driver_alloc(&second, OTHERS + 1024 * MIB, 50 * MIB);
	builder_tensor_alloc(&second, OTHERS + 1024 * MIB, 50 * MIB);
	builder_close(&first);
	builder_close(&second);
}

/* A tensor of init's makes room and another one comes at the peak of forward, and it goes; all of it at once. */
static void write_instant(const char *folder)
{
	struct builder m;

	begin(&m, folder, "instant.zst", 100);
	builder_phase(&m, "init");
	builder_driver_alloc(&m, SEGMENT, 100 * MIB);
	builder_tensor_alloc(&m, SEGMENT, 20 * MIB);
	builder_phase_end(&m);
	builder_phase(&m, "forward");
	builder_tensor_alloc(&m, SEGMENT + 20 * MIB, 70 * MIB);
	at_once(&m);
	builder_tensor_free(&m, SEGMENT + 20 * MIB, 70 * MIB);
	at_once(&m);
	builder_tensor_free(&m, SEGMENT, 20 * MIB);
	builder_phase_end(&m);
	builder_step(&m, 1);
	builder_close(&m);
}

/* A thread that was late: its event comes after that of another one, with an earlier time. */
static void write_late(const char *folder)
{
	struct builder m;

	begin(&m, folder, "late.zst", 100);
	builder_driver_alloc(&m, SEGMENT, 100 * MIB);
	builder_tensor_alloc(&m, SEGMENT, 20 * MIB);
	m.time += 7000;
	builder_tensor_alloc(&m, SEGMENT + 20 * MIB, 30 * MIB); /* at 10 us */
	m.time -= 5000;
	builder_tensor_alloc(&m, SEGMENT + 50 * MIB, 40 * MIB); /* at 6 us, they say */
	m.time += 10000;
	builder_close(&m);
}

/* ---- the timeline ---- */

/* Does to the database at `path` what memana itself never would. */
static int db_harm(const char *path, const char *sql)
{
	char command[1024];

	snprintf(command, sizeof(command),
		 "python3 -c 'import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); "
		 "c.execute(sys.argv[2]); c.commit()' %s \"%s\"",
		 path, sql);
	return system(command);
}

struct screen {
	struct source source;
	struct model model;
	struct feed *feed;
};

static void screen_open(struct screen *screen, char *const *paths, uint32_t count)
{
	memset(screen, 0, sizeof(*screen));
	CHECK_EQ(source_open(&screen->source, paths, count), 0);
	CHECK_EQ(model_init(&screen->model), 0);
	CHECK_EQ(feed_new(&screen->feed, &screen->model, &screen->source), 0);
	feed_wait(screen->feed);
	CHECK_STR(screen->model.trouble, "");
	CHECK_EQ(screen->model.state, MODEL_READ);
}

static void screen_close(struct screen *screen)
{
	feed_free(screen->feed);
	model_release(&screen->model);
	source_release(&screen->source);
}

/* Bytes of tensors that the table has at the device's peak. */
static uint64_t tensors_at_peak(const struct model *model)
{
	struct liveset live = { 0 };
	uint64_t bytes = 0;
	uint32_t i;

	CHECK_EQ(liveset_at(&live, model, model_events_at(model, 0, model->device[0].peak_time), NULL, 0,
			    LIVESET_SORT_BYTES),
		 0);
	for (i = 0; i < live.rows; i++)
		bytes += model->site[live.row[i].site].driver ? 0 : live.row[i].bytes;
	liveset_release(&live);
	return bytes;
}

TEST(the_timeline_has_at_the_peak_what_was_there_at_the_peak)
{
	const char *folder = test_dir();
	char path[512], *paths[] = { path };
	struct screen screen;

	write_instant(folder);
	snprintf(path, sizeof(path), "%s/instant.zst", folder);
	screen_open(&screen, paths, 1);
	CHECK_EQ(tensors_at_peak(&screen.model) / MIB, 90);
	screen_close(&screen);
}

static void same_tapes(const struct model *one, const struct model *two)
{
	const struct tape_event *a, *b;
	uint64_t i;
	uint32_t run;

	CHECK_EQ(one->events, two->events);
	for (i = 0; i < one->events; i++) {
		a = tape_at(one->tape, i, &run);
		b = tape_at(two->tape, i, &run);
		CHECK(a->time == b->time && a->bytes == b->bytes && a->cell == b->cell && a->more == b->more &&
		      a->count == b->count);
	}
}

static void same_models(const struct model *one, const struct model *two)
{
	uint32_t i;

	same_tapes(one, two);
	CHECK_EQ(one->sites, two->sites);
	for (i = 1; i < one->sites; i++) {
		CHECK_EQ(one->site[i].most, two->site[i].most);
		CHECK_EQ(one->site[i].stack, two->site[i].stack);
		CHECK_EQ(one->site[i].category, two->site[i].category);
		CHECK_EQ(one->site[i].phase, two->site[i].phase);
		CHECK_EQ(one->site[i].all_slack, two->site[i].all_slack);
		CHECK_STR(one->owner[one->site[i].owner], two->owner[two->site[i].owner]);
	}
	CHECK_EQ(one->devices, two->devices);
	for (i = 0; i < one->devices; i++) {
		CHECK_EQ(one->device[i].peak, two->device[i].peak);
		CHECK_EQ(one->device[i].peak_time, two->device[i].peak_time);
		CHECK_EQ(one->device[i].peak_changes, two->device[i].peak_changes);
		CHECK_EQ(one->device[i].number, two->device[i].number);
		CHECK_STR(one->device[i].name, two->device[i].name);
	}
	CHECK_EQ(one->ooms, two->ooms);
	for (i = 0; i < one->ooms; i++)
		CHECK_EQ(one->oom[i].changes, two->oom[i].changes);
	CHECK_EQ(one->spans, two->spans);
	CHECK_EQ(one->steps, two->steps);
	CHECK_EQ(one->processes, two->processes);
	CHECK_EQ(one->first_time, two->first_time);
	CHECK_EQ(one->last_time, two->last_time);
	CHECK_STR(one->verdict, two->verdict);
}

/* The traces, by their names up to a NULL, and the database that is loaded from them. */
static void same_of_database(const char *folder, const char *first, const char *second)
{
	char path[3][512], *paths[] = { path[0], path[1] }, *base[] = { path[2] };
	uint32_t count = second ? 2 : 1;
	struct screen traces, database;
	struct analysis analysis;
	struct db *db;

	snprintf(path[0], sizeof(path[0]), "%s/%s", folder, first);
	snprintf(path[1], sizeof(path[1]), "%s/%s", folder, second ? second : "");
	snprintf(path[2], sizeof(path[2]), "%s/%s.db", folder, first);
	screen_open(&traces, paths, count);
	CHECK_EQ(source_open_traces(&database.source, paths, count), 0);
	CHECK_EQ(db_create(&db, path[2], schema_sql), 0);
	CHECK_EQ(load_run(db, &analysis, database.source.input, count, database.source.rules, LOAD_TIMELINE), 0);
	CHECK_EQ(load_names(db), 0);
	CHECK_EQ(db_commit(db), 0);
	db_close(db);
	analysis_release(&analysis);
	source_release(&database.source);
	screen_open(&database, base, 1);
	same_models(&traces.model, &database.model);
	screen_close(&traces);
	screen_close(&database);
}

TEST(a_database_opens_as_its_traces_do)
{
	const char *folder = test_dir();

	write_pieces(folder);
	write_neighbours(folder);
	write_instant(folder);
	same_of_database(folder, "pieces.zst", NULL);
	same_of_database(folder, "first.zst", "second.zst");
	same_of_database(folder, "instant.zst", NULL);
}

/* Somebody else's database may say anything. */
TEST(a_database_that_makes_no_sense_is_refused)
{
	static const char *const harm[] = {
		"UPDATE timeline SET moves = substr(moves, 1, 7)",
		"UPDATE timeline SET moves = x'ffffffffffffffffffffffff'",
		"UPDATE timeline SET events = 70000",
		"UPDATE timeline SET moves = x'0080808010020202', events = 1",
		"UPDATE site SET device = 77",
		"UPDATE site SET process = 0",
		"UPDATE process SET id = 9",
	};
	const char *folder = test_dir();
	char path[512], *paths[] = { path };
	struct screen screen = { 0 };
	struct db *db;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(harm); i++) {
		write_instant(folder);
		same_of_database(folder, "instant.zst", NULL);
		snprintf(path, sizeof(path), "%s/instant.zst.db", folder);
		CHECK_EQ(db_harm(path, harm[i]), 0);
		CHECK_EQ(source_open(&screen.source, paths, 1), 0);
		db = screen.source.db;
		CHECK_EQ(model_init(&screen.model), 0);
		CHECK_EQ(feed_database(&screen.model, db), -MT_E_CORRUPT);
		model_release(&screen.model);
		source_release(&screen.source);
		CHECK_EQ(unlink(path), 0);
	}
}

static void write_all(const char *folder)
{
	write_pieces(folder);
	write_neighbours(folder);
	write_instant(folder);
	write_late(folder);
}

TEST_MAIN_WRITE(write_all)
