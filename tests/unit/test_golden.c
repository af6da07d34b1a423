/* test_golden.c - every golden file is read as on the day it was made. */
#include <dirent.h>
#include "../golden/dump.h"
#include "trace_kit.h"

static const char *golden(const char *folder, const char *name, const char *extension)
{
	static char path[4][512];
	static unsigned turn;

	snprintf(path[++turn % 4], sizeof(path[0]), "%s/tests/golden/%s%s%s", getenv("SRC") ? getenv("SRC") : ".",
		 folder, name, extension);
	return path[turn % 4];
}

static size_t count_files(const char *folder)
{
	DIR *dir = opendir(golden(folder, "", ""));
	struct dirent *entry;
	size_t count = 0, length;

	CHECK(dir);
	while ((entry = readdir(dir))) {
		length = strlen(entry->d_name);
		count += length > 4 && !strcmp(entry->d_name + length - 4, ".zst");
	}
	closedir(dir);
	return count;
}

static void check_dump(const char *name)
{
	uint8_t *want;
	char *got;
	size_t want_size, got_size;
	FILE *out = open_memstream(&got, &got_size);

	CHECK(out);
	CHECK_EQ(dump_trace(out, golden("", name, ".zst")), 0);
	CHECK(!fclose(out));
	want = kit_load(golden("", name, ".txt"), &want_size);
	if (want_size != got_size || memcmp(want, got, got_size)) {
		kit_save(kit_path("got.txt"), (const uint8_t *)got, got_size);
		printf("# %s is read differently: compare with %s\n", name, kit_path("got.txt"));
		CHECK(!"the dump is as it was");
	}
	free(want);
	free(got);
}

static const char *const good_files[] = { "v1-kinds", "v1-crash",   "v1-skip",     "v1-later",    "v1-kinds-more",
					  "v1-keep",  "v1-samples", "v1-census",   "v1-again",    "v1-symbols",
					  "v1-run",   "v1-nests",   "v1-variants", "v1-optimizer" };

TEST(good_files)
{
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(good_files); i++)
		check_dump(good_files[i]);
	CHECK_EQ(count_files(""), i);
}

/* Notes which kinds of events a complete file has. */
static void look_for_kinds(const char *name, uint8_t seen[MT_KIND_MAX + 1])
{
	const struct mt_event *events;
	struct mt_reader *reader;
	size_t count, i;
	int checkpoint;

	CHECK_EQ(mt_reader_open(&reader, golden("", name, ".zst")), 0);
	while (!mt_reader_next(reader, &events, &count, &checkpoint) && count)
		for (i = 0; i < count; i++)
			seen[events[i].kind] = 1;
	CHECK(mt_reader_state(reader)->complete);
	mt_reader_free(reader);
}

/* The golden files are good for something: they have every kind, and what they are named for. */
TEST(the_files_have_everything)
{
	const struct mt_event *events;
	struct mt_reader *reader;
	uint8_t seen[MT_KIND_MAX + 1] = { 0 };
	size_t count, i;
	int checkpoint;

	look_for_kinds("v1-kinds", seen);
	look_for_kinds("v1-kinds-more", seen);
	look_for_kinds("v1-keep", seen);
	look_for_kinds("v1-census", seen);
	look_for_kinds("v1-nests", seen);
	look_for_kinds("v1-optimizer", seen);
	for (i = 0; i < sizeof(kit_kinds); i++)
		CHECK(seen[kit_kinds[i]]);

	CHECK_EQ(mt_reader_open(&reader, golden("", "v1-later", ".zst")), 0);
	CHECK_EQ(mt_reader_next(reader, &events, &count, &checkpoint), 0);
	CHECK_EQ(count, 2); /* two of three: one kind is unknown */
	CHECK(events[1].seq == 9 && events[1].time == 30 && events[1].kind == MT_MARK);
	CHECK_EQ(mt_reader_next(reader, &events, &count, &checkpoint), 0);
	CHECK(!count && mt_reader_state(reader)->complete);
	CHECK_EQ(mt_reader_state(reader)->events, 3);
	mt_reader_free(reader);
}

TEST(samples_are_as_they_were_taken)
{
	const struct mt_event *events;
	struct mt_reader *reader;
	size_t count;
	int checkpoint;

	CHECK_EQ(mt_reader_open(&reader, golden("", "v1-samples", ".zst")), 0);
	CHECK_EQ(mt_reader_next(reader, &events, &count, &checkpoint), 0);
	CHECK_EQ(count, 12);
	CHECK(events[3].kind == MT_GPU_SAMPLE && events[3].offset == 1ull << 29 && events[3].flags == (25 << 8 | 1));
	CHECK(events[5].kind == MT_GPU_SAMPLE && events[5].time < events[4].time && events[5].flags == 25 << 8);
	CHECK(events[4].flags == MT_SPACE_GRAPH && events[6].flags == MT_SPACE_MULTICAST);
	CHECK(events[8].kind == MT_DRIVER_NOTE && events[8].value == 75ull << 30);
	CHECK(events[9].kind == MT_CONTEXT_GONE && events[9].handle == events[4].handle);
	CHECK(events[10].kind == MT_HOST_SAMPLE && !events[10].size && events[10].flags == 1);
	CHECK(events[11].kind == MT_END && events[11].value == MT_END_KILLED);
	mt_reader_free(reader);
}

/* 1: as the list says. */
static int check_bad(const char *name, const char *error, int events)
{
	const struct mt_event *batch;
	struct mt_reader *reader;
	size_t count;
	int got, checkpoint, delivered = -1;

	got = mt_reader_open(&reader, golden("bad/", name, ".zst"));
	if (!got) {
		delivered = 0;
		while (!mt_reader_next(reader, &batch, &count, &checkpoint) && count)
			delivered += (int)count - (batch->kind == MT_LOST);
		got = mt_reader_state(reader)->error;
		CHECK(!mt_reader_state(reader)->complete);
	}
	mt_reader_free(reader);
	if (strcmp(dump_error(got), error) || delivered != events) {
		printf("# bad/%s: %s after %d events, not %s after %d\n", name, dump_error(got), delivered, error,
		       events);
		return 0;
	}
	return 1;
}

TEST(bad_files)
{
	FILE *list = fopen(golden("bad/", "LIST", ""), "r");
	char name[128], error[32];
	size_t files = 0, good = 0;
	int events;

	CHECK(list);
	for (; fscanf(list, "%127s %31s %d", name, error, &events) == 3; files++)
		good += (size_t)check_bad(name, error, events);
	CHECK(feof(list));
	fclose(list);
	CHECK_EQ(good, files);
	CHECK(files > 60);
	CHECK_EQ(count_files("bad/"), files);
}

TEST_MAIN()
