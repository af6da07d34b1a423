/* test_spec.c - the tables of formats/trace/trace-v1.md are the lists in the code, row by row. */
#include <ctype.h>
#include "memtrace/phase.h"
#include "summary/history.h"
#include "trace/chunk.h"
#include "trace/codec.h"
#include "trace/process.h"
#include "trace_kit.h"

#define CELLS 4
#define ROWS 64

struct table {
	char cell[ROWS][CELLS][256];
	size_t rows;
};

static char *trim(char *text)
{
	char *end;

	while (isspace((unsigned char)*text))
		text++;
	end = text + strlen(text);
	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return text;
}

static void add_row(struct table *table, char *line)
{
	char *rest, *cell = strtok_r(line + 1, "|", &rest);
	size_t i;

	CHECK(table->rows < ROWS);
	for (i = 0; i < CELLS && cell; i++, cell = strtok_r(NULL, "|", &rest))
		snprintf(table->cell[table->rows][i], sizeof(table->cell[0][0]), "%s", trim(cell));
	table->rows++;
}

/* The rows after <!-- table: NAME -->, without heading and line. */
static struct table *load_table(const char *name)
{
	struct table *table = calloc(1, sizeof(*table));
	char path[512], line[1024], mark[64];
	FILE *file;
	int inside = 0;

	snprintf(path, sizeof(path), "%s/formats/trace/trace-v1.md", getenv("SRC") ? getenv("SRC") : ".");
	snprintf(mark, sizeof(mark), "<!-- table: %s -->\n", name);
	file = fopen(path, "r");
	CHECK(file);
	while (fgets(line, sizeof(line), file)) {
		if (!strcmp(line, mark))
			inside = 1;
		else if (inside && line[0] != '|')
			break;
		else if (inside && ++inside > 3)
			add_row(table, line);
	}
	fclose(file);
	CHECK(table->rows);
	return table;
}

/* The next row must be this number and these texts. */
static void want_row(const struct table *table, size_t *row, uint32_t number, const char *second, const char *last,
		     int last_cell)
{
	CHECK(*row < table->rows);
	CHECK_EQ(strtoul(table->cell[*row][0], NULL, 10), number);
	if (second)
		CHECK_STR(table->cell[*row][1], second);
	if (last)
		CHECK_STR(table->cell[*row][last_cell], last);
	++*row;
}

static void check_end(struct table *table, size_t row)
{
	CHECK_EQ(table->rows, row);
	free(table);
}

TEST(fields)
{
	struct table *table = load_table("fields");
	size_t row = 0;

#define FIELD(name, number, encoding, meaning)     \
	CHECK_STR(table->cell[row][2], #encoding); \
	want_row(table, &row, number, #name, meaning, 3);
	MT_FIELD_LIST(FIELD)
#undef FIELD
	CHECK_EQ(row, MT_FIELD_COUNT);
	check_end(table, row);
}

static uint32_t mask_of(char *names)
{
	uint32_t mask = 0, before;
	char *name, *rest;

	for (name = strtok_r(names, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
		before = mask;
#define MASK(field, number, encoding, meaning) \
	if (!strcmp(name, #field))             \
		mask |= MT_F(field);
		MT_FIELD_LIST(MASK)
#undef MASK
		CHECK(mask > before); /* known, and in ascending order */
	}
	return mask;
}

TEST(kinds)
{
	struct table *table = load_table("kinds");
	size_t row = 0;

#define KIND(name, number, fields, meaning)             \
	CHECK_EQ(mask_of(table->cell[row][2]), fields); \
	CHECK_EQ((fields)&MT_F_COMMON, MT_F_COMMON);    \
	want_row(table, &row, number, mt_kind_name(number), meaning, 3);
	MT_KIND_LIST(KIND)
#undef KIND
	check_end(table, row);
}

TEST(definitions)
{
	struct table *table = load_table("definitions");
	size_t row = 0;

#define DEFINITION(name, number) want_row(table, &row, number, #name, NULL, 0);
	MT_DEF_LIST(DEFINITION)
#undef DEFINITION
	check_end(table, row);
}

TEST(process_fields)
{
	struct table *table = load_table("process");
	size_t row = 0;

#define PROCESS(member, number, type) want_row(table, &row, number, #member, #type, 2);
	MT_PROCESS_LIST(PROCESS)
#undef PROCESS
	check_end(table, row);
}

TEST(sections)
{
	struct table *table = load_table("sections");
	size_t row = 0;

#define SECTION(name, number) want_row(table, &row, number, #name, NULL, 0);
	MT_SECTION_LIST(SECTION)
#undef SECTION
	check_end(table, row);
}

TEST(chunks)
{
	struct table *table = load_table("chunks");
	size_t row = 0;

	want_row(table, &row, MT_CHUNK_PROCESS, "PROCESS", NULL, 0);
	want_row(table, &row, MT_CHUNK_DEFS, "DEFS", NULL, 0);
	want_row(table, &row, MT_CHUNK_EVENTS, "EVENTS", NULL, 0);
	want_row(table, &row, MT_CHUNK_CHECKPOINT, "CHECKPOINT", NULL, 0);
	want_row(table, &row, MT_CHUNK_SUMMARIES, "SUMMARIES", NULL, 0);
	want_row(table, &row, MT_CHUNK_FACTS, "FACTS", NULL, 0);
	check_end(table, row);
}

TEST(spaces_losses_sources_ends_phases)
{
	struct table *table;
	size_t row;

#define ROW(name, number, word, ...) want_row(table, &row, number, word, NULL, 0);
#define CHECK_LIST(title, list)    \
	table = load_table(title); \
	row = 0;                   \
	list(ROW) check_end(table, row);
	CHECK_LIST("spaces", MT_SPACE_LIST)
	CHECK_LIST("losses", MT_LOSS_LIST)
	CHECK_LIST("sources", MT_SOURCE_LIST)
	CHECK_LIST("census", MT_CENSUS_LIST)
	CHECK_LIST("ends", MT_END_LIST)
	CHECK_LIST("phases", MT_PHASE_LIST)
}

/* The limits of the spec's table, as numbers. */
TEST(limits)
{
	CHECK_EQ(MT_CHUNK_BYTES_MAX, 64 << 20);
	CHECK_EQ(MT_CHUNK_EVENTS_MAX, 1 << 20);
	CHECK_EQ(MT_CHUNK_FRAME_BYTES, 16);
	CHECK_EQ(MT_CHUNK_DENSITY_MAX, 64);
	CHECK_EQ(MT_CHUNK_DENSITY_EVENTS_MAX, 2);
	CHECK_EQ(MT_SECTION_FILLER, 0xEFFF);
	CHECK_EQ(MT_CHUNKS_MAX, 1 << 22);
	CHECK_EQ(MT_STRING_MAX, 65536);
	CHECK_EQ(MT_TEXT_BYTES_MAX, 512 << 20);
	CHECK_EQ(MT_DEFS_MAX, 1 << 26);
	CHECK_EQ(MT_DEFS_FEW_MAX, 1 << 16);
	CHECK_EQ(MT_STACK_DEPTH_MAX, 1024);
	CHECK_EQ(MT_BUILD_ID_MAX, 32);
	CHECK_EQ(HISTORY_DEVICES_MAX, 65);
	CHECK_EQ(HISTORY_ROWS_MAX, 1 << 20);
	CHECK_EQ(MT_RECOGNITION_MAX, 4096);
	CHECK_EQ(MT_TRACE_VERSION, 1);
}

TEST(names)
{
	CHECK_STR(mt_kind_name(MT_VMM_CREATE), "vmm-create");
	CHECK(!mt_kind_name(0) && !mt_kind_name(4) && !mt_kind_name(255) && !mt_kind_name(UINT32_MAX));
	CHECK_EQ(mt_kind_fields(UINT32_MAX), 0);
	CHECK_STR(mt_space_name(MT_SPACE_ASYNC), "async-pool");
	CHECK_STR(mt_loss_name(MT_LOSS_DISK), "the trace could not be written");
	CHECK_STR(mt_source_name(MT_SOURCE_NVTX), "nvtx");
	CHECK_STR(mt_end_name(MT_END_STEPS), "the steps asked for were recorded");
	CHECK(!mt_space_name(99) && !mt_loss_name(99) && !mt_source_name(99) && !mt_end_name(99));
}

TEST(errors)
{
	CHECK_STR(mt_strerror(-MT_E_MAGIC), "not a memrec trace");
	CHECK_STR(mt_strerror(MT_E_MAGIC), "not a memrec trace");
	CHECK_STR(mt_strerror(0), "no error");
	CHECK_STR(mt_strerror(-999), "an unknown error");
	CHECK(strlen(mt_strerror(INT32_MIN)) > 0);
	CHECK_EQ(mt_exit_code(0), 0);
	CHECK_EQ(mt_exit_code(-MT_E_ARGUMENT), 2);
	CHECK_EQ(mt_exit_code(-MT_E_CHECKSUM), 3);
	CHECK_EQ(mt_exit_code(MT_E_SPACE), 4);
	CHECK_EQ(mt_exit_code(-12345), 4);
}

TEST_MAIN()
