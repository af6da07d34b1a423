/*
 * A table of a report as a list of columns: its text, its JSON and its pages. With "--write DIR" it writes the pages of the tables of all
 * reports, NAME.schema and NAME.man, for tests/cli/test_columns.sh.
 */
#include "base/column.h"
#include "memtrace/base.h"
#include "report/check/check.h"
#include "report/frag/frag_report.h"
#include "report/steps/figures.h"
#include "report/top/top.h"
#include "test.h"
#include "why/moment/oom_moment.h"

struct sample {
	const char *word, *phase;
	int64_t bytes, change, time, pid, flag;
};

static void list_two(struct doc *doc, const char *key, const void *row)
{
	doc_array(doc, key);
	doc_int(doc, NULL, ((const struct sample *)row)->bytes);
	doc_int(doc, NULL, 2);
	doc_end(doc);
}

static const char *label(char store[COLUMN_STORE], const struct sample *sample)
{
	snprintf(store, COLUMN_STORE, "%s of %s", sample->word, sample->phase);
	return store;
}

#define SAMPLE_COLUMNS(X, T)                                                          \
	X(T, phase, PHASE, "made in", it->phase, "the phase")                         \
	X(T, bytes, BYTES, "size", it->bytes, "the size")                             \
	X(T, change, CHANGE, "change", COLUMN_IF(it->change, it->change), "the rise") \
	X(T, begin_ns, MOMENT, NULL, it->time, "the begin")                           \
	X(T, count, COUNT, "count", it->bytes, "a count")                             \
	X(T, pid, PID, NULL, it->pid, "the process")                                  \
	X(T, good, FLAG, "good", it->flag, "whether it is")                           \
	X(T, word, WORD, NULL, it->word, "a word")                                    \
	X(T, module, OPTIONAL, NULL, it->flag ? it->word : NULL, "the module")        \
	X(T, ranks, LIST, NULL, list_two, "two numbers")                              \
	X(T, whole, LABEL, "place", label(value->store, it), "the words")

COLUMN_TABLE(sample, struct sample, SAMPLE_COLUMNS)

static const struct sample samples[] = { { "a", "forward", 3 << 20, -5, 7, 12, 1 }, { "bb", "init", 0, 0, 7, 0, 0 } };

/* Until the next call. */
static const char *printed(const void *row, size_t rows, size_t size, int columns)
{
	static char words[1024];
	struct text text = { .file = fmemopen(words, sizeof(words), "w"), .columns = columns };

	CHECK(text.file);
	column_text(&text, &sample_columns, row, rows, size);
	fclose(text.file);
	return words;
}

TEST(text_is_as_wide_as_its_cells)
{
	static const struct sample *const turned[] = { &samples[1], &samples[0] };

	CHECK_STR(printed(samples, 2, sizeof(*samples), 80),
		  "  made in     size  change      count  good  place\n"
		  "  forward  3.0 MiB    -5 B  3,145,728  yes   a of forward\n"
		  "  init           -       -          0  no    bb of init\n");
	CHECK_STR(printed(turned, 1, 0, 80), "  made in  size  change  count  good  place\n"
					     "  init        -       -      0  no    bb of init\n");
}

/* A terminal that is too narrow for two blanks gets one, and the last cell is broken. */
TEST(text_is_broken_to_the_terminal)
{
	CHECK_STR(printed(samples, 1, sizeof(*samples), 50), "  made in    size change     count good place\n"
							     "  forward 3.0 MiB   -5 B 3,145,728 yes  a of\n"
							     "                                        forward\n");
}

TEST(json_has_the_fields)
{
	char *words = NULL;
	size_t length = 0;
	FILE *file = open_memstream(&words, &length);
	struct doc *doc = doc_new();

	column_json_rows(doc, NULL, &sample_columns, samples, 2, sizeof(*samples));
	CHECK_EQ(doc_print(doc, file), 0);
	fclose(file);
	doc_free(doc);
	CHECK(strstr(words, "\"change\": -5") && strstr(words, "\"change\": null"));
	CHECK(strstr(words, "\"pid\": 12") && strstr(words, "\"pid\": null"));
	CHECK(strstr(words, "\"good\": true") && strstr(words, "\"module\": \"a\""));
	CHECK(!strstr(words, "whole") && !strstr(strstr(words, "bb"), "module"));
	free(words);
}

TEST(the_schema_knows_what_may_be_unknown)
{
	char *words = NULL;
	size_t length = 0;
	FILE *file = open_memstream(&words, &length);

	column_schema(file, &sample_columns);
	fclose(file);
	CHECK(strstr(words, "\"bytes\": {\"type\": \"integer\", \"description\": \"the size, bytes\"}"));
	CHECK(strstr(words, "\"change\": {\"type\": [\"integer\", \"null\"]"));
	CHECK(strstr(
		words,
		"\"required\": [\"phase\", \"bytes\", \"change\", \"begin_ns\", \"count\", \"pid\", \"good\", \"word\", \"ranks\"]"));
	CHECK(strstr(words, "\"ranks\": {\"$ref\": \"#/$defs/ranks\""));
	CHECK(!strstr(words, "whole"));
	free(words);
}

static void write_page(const char *folder, const struct column_table *table, const char *ending,
		       void (*write)(FILE *file, const struct column_table *table))
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s.%s", folder, table->name, ending);
	file = fopen(path, "w");
	CHECK(file);
	write(file, table);
	fclose(file);
}

static void write_pages(const char *folder)
{
	static const struct column_table *const tables[] = {
		&failure_columns, &holder_columns, &growth_columns,     &growth_device_columns, &growth_phase_columns,
		&kept_columns,    &check_columns,  &ranks_columns,      &ranks_phase_columns,   &segment_columns,
		&phases_columns,  &steps_columns,  &steps_lane_columns, &let_go_columns
	};
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(tables); i++) {
		write_page(folder, tables[i], "schema", column_schema);
		write_page(folder, tables[i], "man", column_man);
	}
}

TEST_MAIN_WRITE(write_pages)
