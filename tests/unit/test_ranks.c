/* Several GPUs side by side: who peaks highest, whether by the same place, and how even the phases are. */
#include "report/top/top.h"

#include "engine/analysis.h"
#include "memtrace/error.h"
#include "run_kit.h"
#include "trace_builder.h"

#define RANKS 4

static const struct {
	uint64_t forward, backward;
} mib[RANKS] = { { 100, 40 }, { 100, 40 }, { 300, 40 }, { 90, 40 } };

/* `odd`: the rank whose bytes come from another place, -1: none. */
static void make_rank(const char *path, int rank, int odd)
{
	struct builder builder;
	char uuid[16];

	snprintf(uuid, sizeof(uuid), "GPU-%d", rank + 1);
	builder_open(&builder, path, 100 + (uint32_t)rank, rank);
	builder.device = builder_device(&builder, MT_DEVICE_CUDA, (uint32_t)rank, "Test GPU", uuid, 1024 * MIB);
	builder.stack = builder_python(&builder, 0, rank == odd ? "pad_batch" : "hidden_states", "model.py", 7);
	builder_phase(&builder, "forward");
	builder_driver_alloc(&builder, 0x1000, mib[rank].forward * MIB);
	builder_phase_end(&builder);
	builder_driver_free(&builder, 0x1000);
	builder_phase(&builder, "backward");
	builder_driver_alloc(&builder, 0x2000, mib[rank].backward * MIB);
	builder_phase_end(&builder);
	builder_close(&builder);
}

struct ranks_run {
	struct run run;
	struct symbols *symbols;
	struct ranks ranks;
};

static void run_ranks(struct ranks_run *run, uint32_t count, int odd)
{
	char name[RANKS][32], *paths[RANKS];
	uint32_t i;

	for (i = 0; i < count; i++) {
		snprintf(name[i], sizeof(name[i]), "rank%u.zst", i);
		make_rank(name[i], (int)i, odd);
		paths[i] = name[i];
	}
	run_open(&run->run, paths, count, 0);
	run->symbols = symbols_new();
	CHECK_EQ(ranks_load(&run->ranks, run->run.db, run->symbols), 0);
}

static void release_run(struct ranks_run *run)
{
	ranks_release(&run->ranks);
	symbols_free(run->symbols);
	run_close(&run->run);
}

static const struct rank_phase *phase_of(const struct ranks *ranks, const char *word)
{
	uint32_t i;

	for (i = 0; i < ranks->phases; i++)
		if (!strcmp(ranks->phase[i].phase, word))
			return &ranks->phase[i];
	return NULL;
}

TEST(the_highest_the_median_and_the_least)
{
	struct ranks_run run;
	const struct ranks *ranks = &run.ranks;

	run_ranks(&run, RANKS, -1);
	CHECK_EQ(ranks->count, RANKS);
	CHECK_EQ(ranks->rank[ranks->highest].rank, 2);
	CHECK_EQ(ranks->rank[ranks->highest].bytes, 300 * MIB);
	CHECK_EQ(ranks->rank[ranks->lowest].rank, 3);
	CHECK_EQ(ranks->median, 100 * MIB);
	CHECK_EQ(ranks->usual_count, RANKS);
	CHECK_STR(ranks->rank[ranks->usual].function, "hidden_states");
	release_run(&run);
}

TEST(a_phase_is_as_uneven_as_it_is)
{
	const struct rank_phase *phase;
	struct ranks_run run;

	run_ranks(&run, RANKS, -1);
	phase = phase_of(&run.ranks, "forward");
	CHECK(phase);
	CHECK_EQ(phase->ranks, RANKS);
	CHECK_EQ(phase->least, 90 * MIB);
	CHECK_EQ(phase->median, 100 * MIB);
	CHECK_EQ(phase->most, 300 * MIB);
	CHECK_EQ(phase->highest->rank, 2);
	phase = phase_of(&run.ranks, "backward");
	CHECK(phase);
	CHECK_EQ(phase->least, 40 * MIB);
	CHECK_EQ(phase->most, 40 * MIB);
	release_run(&run);
}

TEST(another_place_on_one_rank_is_named)
{
	struct ranks_run run;

	run_ranks(&run, RANKS, 2);
	CHECK_EQ(run.ranks.usual_count, RANKS - 1);
	CHECK(!run.ranks.rank[run.ranks.highest].is_usual);
	CHECK_STR(run.ranks.rank[run.ranks.highest].function, "pad_batch");
	release_run(&run);
}

static void text_of(const struct ranks *ranks, char *out, size_t size)
{
	FILE *file = tmpfile();
	struct text text = { .file = file };
	size_t got;

	top_ranks_text(&text, ranks, "'rank*.zst'");
	rewind(file);
	got = fread(out, 1, size - 1, file);
	out[got] = '\0';
	fclose(file);
}

TEST(words_say_it_in_eighty_columns)
{
	char text[4096], *line, *end;
	struct ranks_run run;

	run_ranks(&run, RANKS, 2);
	text_of(&run.ranks, text, sizeof(text));
	CHECK(strstr(text, "The highest peak of 4 GPUs is"));
	CHECK(strstr(text, "pad_batch"));
	CHECK(strstr(text, "+200%"));
	CHECK(strstr(text, "memana top --device N 'rank*.zst'"));
	for (line = text; (end = strchr(line, '\n')); line = end + 1)
		CHECK(end - line <= 80);
	release_run(&run);
}

TEST(one_gpu_is_compared_with_nothing)
{
	char text[256];
	struct ranks_run run;

	run_ranks(&run, 1, -1);
	text_of(&run.ranks, text, sizeof(text));
	CHECK_STR(text, "");
	release_run(&run);
}

TEST_MAIN()
