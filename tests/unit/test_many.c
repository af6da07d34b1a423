/* test_many.c - more traces than the process may have open files. */
#include <errno.h>
#include <sys/resource.h>
#include "memtrace/error.h"
#include "memtrace/reader.h"
#include "run_kit.h"
#include "trace_builder.h"

#define TRACES 100u
#define FILES 64u

static const char *make_trace(const char *folder, uint32_t number)
{
	char name[32];
	const char *path;
	struct builder builder;
	uint32_t i;

	snprintf(name, sizeof(name), "%u.zst", number);
	path = run_path(folder, name);
	builder_open(&builder, path, 100 + number, -1);
	for (i = 0; i < 3; i++)
		builder_driver_alloc(&builder, 0x10000000 + i * MIB, MIB);
	builder_close(&builder);
	return path;
}

TEST(a_folder_of_more_traces_than_descriptors)
{
	const struct rlimit limit = { FILES, FILES };
	const char *folder = test_dir();
	struct run run;
	struct db_stmt *stmt;
	uint32_t i;

	for (i = 0; i < TRACES; i++)
		make_trace(folder, i);
	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
	memset(&run, 0, sizeof(run));
	CHECK_EQ(source_open(&run.source, (char *const[]){ (char *)folder }, 1), 0);
	CHECK_EQ(run.source.inputs, TRACES);
	CHECK_EQ(db_create(&run.db, NULL, schema_sql), 0);
	CHECK_EQ(load_run(run.db, &run.analysis, run.source.input, TRACES, run.source.rules, LOAD_TIMELINE), 0);
	CHECK_EQ(db_prepare(run.db, &stmt, "SELECT bytes, (SELECT count(*) FROM allocation) FROM peak"), 0);
	CHECK_EQ(db_step(stmt), 1);
	CHECK_EQ(db_int(stmt, 0), 3 * TRACES * MIB);
	CHECK_EQ(db_int(stmt, 1), 3 * TRACES);
	db_finish(stmt);
	run_close(&run);
}

/* A file that was put in the place of the first one is not read as if it were that. */
TEST(another_file_of_the_name)
{
	const char *folder = test_dir();
	const char *path = make_trace(folder, 1), *other = make_trace(folder, 2);
	const struct mt_event *events;
	struct mt_reader *reader;
	int checkpoint;
	size_t count;

	CHECK_EQ(mt_reader_open(&reader, path), 0);
	mt_reader_rest(reader, path);
	CHECK_EQ(mt_reader_next(reader, &events, &count, &checkpoint), 0);
	CHECK_EQ(count, 4);
	mt_reader_rewind(reader);
	CHECK(!rename(other, path));
	CHECK_EQ(mt_reader_next(reader, &events, &count, &checkpoint), -MT_E_SYSTEM);
	CHECK_EQ(errno, ESTALE);
	mt_reader_free(reader);
}

TEST_MAIN()
