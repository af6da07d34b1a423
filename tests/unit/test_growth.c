/*
 * Shapes of programs, and whether they grow: one answer for all reports. With "--write DIR" it only writes the traces, and
 * kinds.txt with what is true of them, for tests/cli/test_growth.sh.
 */
#include "memtrace/base.h"
#include "report/steps/figures.h"
#include "report/steps/growth.h"
#include "report/steps/retained.h"
#include "run_kit.h"
#include "test.h"
#include "tui_kit.h"

#define BATCHES 4
#define STEPS_MOST 1024
#define STRIDE (64 * MIB)
#define RANKS_MOST 8

enum shape {
	LEAK_STEP,     /* a piece with every step */
	LEAK_BATCH,    /* with every micro-batch, for good */
	LEAK_BACKWARD, /* made by backward */
	LEAK_HELPER,   /* made by a helper that others call, too, whose pieces go */
	LEAK_LARGER,   /* a larger piece each time */
	LEAK_THIRD,    /* with every third step */
	LEAK_FIFTH,    /* with every fifth step, as an evaluation keeps its outputs */
	LEAK_SECOND,   /* with every second step, and more in the first */
	LEAK_SMALL,    /* 2 KiB with every step, too little to see in few steps */
	LEAK_SET_UP,   /* at a line that made 28 pieces in the first step */
	LEAK_BESIDE,   /* at the line of the output that is replaced */
	OUTPUT_LARGER, /* the last output, larger each time */
	OUTPUT_LAST_2, /* the last two outputs */
	GROWS_TO_HALF, /* a leak that has come to its end */
	CACHE_FILLS,   /* a cache of four pieces */
	STORE_FILLS,   /* a store of six pieces of 20 MiB */
	NOTHING,
};

static const struct kind {
	const char *name;
	enum shape shape;
	uint32_t steps, ranks, leaking; /* ranks: on one GPU; the first `leaking` of them leak */
	enum growth_state state;
	uint64_t each, bytes; /* MiB, of all ranks */
} kinds[] = {
	{ "step", LEAK_STEP, 6, 1, 1, GROWTH_GROWING, 2, 12 },
	{ "step-2", LEAK_STEP, 2, 1, 1, GROWTH_UNKNOWN, 0, 0 },
	{ "step-3", LEAK_STEP, 3, 1, 1, GROWTH_GROWING, 2, 6 },
	{ "step-4", LEAK_STEP, 4, 1, 1, GROWTH_GROWING, 2, 8 },
	{ "batch", LEAK_BATCH, 6, 1, 1, GROWTH_GROWING, 8, 48 },
	{ "backward", LEAK_BACKWARD, 6, 1, 1, GROWTH_GROWING, 2, 12 },
	{ "helper", LEAK_HELPER, 6, 1, 1, GROWTH_GROWING, 2, 12 },
	{ "larger", LEAK_LARGER, 6, 1, 1, GROWTH_GROWING, 7, 42 },
	{ "third", LEAK_THIRD, 24, 1, 1, GROWTH_GROWING, 0, 16 },
	{ "fifth", LEAK_FIFTH, 24, 1, 1, GROWTH_GROWING, 0, 8 },
	{ "second", LEAK_SECOND, 20, 1, 1, GROWTH_GROWING, 1, 18 },
	{ "small", LEAK_SMALL, 1024, 1, 1, GROWTH_GROWING, 0, 2 },
	{ "small-24", LEAK_SMALL, 24, 1, 1, GROWTH_STEADY, 0, 0 },
	{ "set-up", LEAK_SET_UP, 6, 1, 1, GROWTH_GROWING, 2, 10 },
	{ "beside", LEAK_BESIDE, 6, 1, 1, GROWTH_GROWING, 2, 12 },
	{ "output", OUTPUT_LARGER, 6, 1, 0, GROWTH_STEADY, 0, 0 },
	{ "output-3", OUTPUT_LARGER, 3, 1, 0, GROWTH_STEADY, 0, 0 },
	{ "last-two", OUTPUT_LAST_2, 6, 1, 0, GROWTH_STEADY, 0, 0 },
	{ "half", GROWS_TO_HALF, 8, 1, 0, GROWTH_STEADY, 0, 0 },
	{ "cache", CACHE_FILLS, 8, 1, 0, GROWTH_STEADY, 0, 0 },
	{ "store", STORE_FILLS, 24, 1, 0, GROWTH_STEADY, 0, 0 },
	{ "nothing", NOTHING, 6, 1, 0, GROWTH_STEADY, 0, 0 },
	{ "nothing-4", NOTHING, 4, 1, 0, GROWTH_STEADY, 0, 0 },
	{ "one-rank", LEAK_STEP, 6, 4, 1, GROWTH_GROWING, 2, 12 },
	{ "all-ranks", LEAK_STEP, 6, 8, 8, GROWTH_GROWING, 16, 96 },
};

struct piece {
	uint64_t addr, size;
};

struct program {
	struct builder m;
	uint32_t main_frame;
	uint64_t next;
	struct piece output[2];
	struct piece leak[STEPS_MOST * BATCHES];
	uint32_t leaks;
};

static struct piece take(struct program *program, const char *function, uint32_t line, uint64_t size)
{
	struct piece piece = { program->next, size };

	program->next += (size + STRIDE) / STRIDE * STRIDE;
	program->m.stack = builder_python(&program->m, program->main_frame, function, "/home/me/train.py", line);
	builder_tensor_alloc(&program->m, piece.addr, size);
	return piece;
}

static void drop(struct program *program, struct piece *piece)
{
	if (piece->size)
		builder_tensor_free(&program->m, piece->addr, piece->size);
	piece->size = 0;
}

static void keep(struct program *program, const char *function, uint32_t line, uint64_t size)
{
	program->leak[program->leaks++] = take(program, function, line, size);
}

static void forward(struct program *program, enum shape shape, uint32_t step, uint32_t batch)
{
	int last = batch + 1 == BATCHES;

	if ((shape == LEAK_STEP && last) || shape == LEAK_BATCH || (shape == LEAK_THIRD && last && step % 3 == 0) ||
	    (shape == LEAK_FIFTH && last && step % 5 == 0) || (shape == GROWS_TO_HALF && last && step <= 4) ||
	    (shape == CACHE_FILLS && last && step <= 4) || (shape == LEAK_BESIDE && last))
		keep(program, "keep", 77, 2 * MIB);
	if (shape == LEAK_SECOND && last && step % 2)
		keep(program, "keep", 77, (step == 1 ? 4 : 2) * MIB);
	if (shape == STORE_FILLS && last && step <= 6)
		keep(program, "keep", 77, 20 * MIB);
	if (shape == LEAK_SMALL && last)
		keep(program, "keep", 77, 2048);
	if (shape == LEAK_HELPER && last)
		keep(program, "helper", 60, 2 * MIB);
	if (shape == LEAK_LARGER && last)
		keep(program, "keep", 77, 2 * step * MIB);
	if (shape == LEAK_SET_UP && last)
		keep(program, "keep", 77, (step == 1 ? 56 : 2) * MIB);
	if (!last)
		return;
	if (shape == OUTPUT_LAST_2) {
		drop(program, &program->output[1]);
		program->output[1] = program->output[0];
	} else {
		drop(program, &program->output[0]);
	}
	program->output[0] = take(program, shape == LEAK_BESIDE ? "keep" : "model", shape == LEAK_BESIDE ? 77 : 40,
				  (shape == OUTPUT_LARGER ? 4 * step : 4) * MIB);
}

static void run_batch(struct program *program, enum shape shape, uint32_t step, uint32_t batch)
{
	struct piece scratch, help;

	builder_phase(&program->m, "forward");
	scratch = take(program, "layer", 31, 8 * MIB);
	help = take(program, "helper", 60, 1 * MIB);
	forward(program, shape, step, batch);
	drop(program, &help);
	builder_phase_end(&program->m);
	builder_phase(&program->m, "backward");
	if (shape == LEAK_BACKWARD && batch + 1 == BATCHES)
		keep(program, "hook", 50, 2 * MIB);
	drop(program, &scratch);
	builder_phase_end(&program->m);
}

/* A program that leaves in order: all it kept goes at the end, after the last step. */
static void write_program(const char *path, const struct kind *kind, uint32_t rank)
{
	struct program program = { .next = 0x100000000ull };
	enum shape shape = rank < kind->leaking || !kind->leaking ? kind->shape : NOTHING;
	uint32_t step, batch, i;

	builder_open(&program.m, path, 100 + rank, kind->ranks > 1 ? (int)rank : -1);
	program.main_frame = builder_python(&program.m, 0, "main", "/home/me/train.py", 5);
	builder_phase(&program.m, "init");
	take(&program, "load", 10, 40 * MIB);
	builder_phase_end(&program.m);
	for (step = 1; step <= kind->steps; step++) {
		for (batch = 0; batch < BATCHES; batch++)
			run_batch(&program, shape, step, batch);
		builder_phase(&program.m, "optimizer");
		if (step == 1)
			take(&program, "Adam.step", 90, 80 * MIB);
		builder_phase_end(&program.m);
		builder_step(&program.m, step);
	}
	for (i = 0; i < program.leaks; i++)
		drop(&program, &program.leak[i]);
	builder_close(&program.m);
}

static void write_kind(const char *folder, const struct kind *kind)
{
	char name[64];
	uint32_t rank;

	for (rank = 0; rank < kind->ranks; rank++) {
		snprintf(name, sizeof(name), "%s.%u.zst", kind->name, rank);
		write_program(run_path(folder, name), kind, rank);
	}
}

static void open_kind(struct run *run, const char *folder, const struct kind *kind, int everything)
{
	static char path[RANKS_MOST][512];
	char *paths[RANKS_MOST];
	uint32_t rank;

	for (rank = 0; rank < kind->ranks; rank++) {
		snprintf(path[rank], sizeof(path[rank]), "%s/%s.%u.zst", folder, kind->name, rank);
		paths[rank] = path[rank];
	}
	run_open(run, paths, kind->ranks, everything);
	if (everything)
		CHECK_EQ(load_names(run->db), 0);
}

static void check_growth(const struct growth *growth, const struct kind *kind)
{
	uint64_t each = kind->each * MIB;

	CHECK_EQ(growth->state, kind->state);
	CHECK_EQ(growth->devices, kind->state == GROWTH_GROWING);
	CHECK_EQ(growth->table.rows, kind->state == GROWTH_GROWING); /* one place, in however many ranks */
	if (!growth->devices || !growth->table.rows)
		return;
	CHECK_EQ(growth->device[0].bytes, kind->bytes * MIB);
	CHECK_EQ(growth->table.row[0].bytes, kind->bytes * MIB);
	if (each)
		CHECK_EQ(growth->device[0].each, each);
	CHECK_EQ(growth->table.row[0].count, kind->leaking);
	CHECK_EQ(growth->device[0].left, -1); /* the program has ended */
}

static void check_reports(struct run *run, const struct kind *kind)
{
	static const struct retained_question all;
	struct retained retained;
	struct growth_figures figures;
	uint64_t bytes = 0, each = 0;
	size_t i;

	CHECK_EQ(retained_load(&retained, run->db, &all), 0);
	check_growth(&retained.growth, kind);
	CHECK_EQ(retained.steps.count, kind->state == GROWTH_GROWING ? kind->leaking : 0);
	retained_release(&retained);
	CHECK_EQ(growth_figures_load(&figures, run->db, GROWTH_STEPS), 0);
	check_growth(&figures.growth, kind);
	CHECK_EQ(figures.steps.count, kind->ranks);
	for (i = 0; i < figures.steps.count; i++) {
		bytes += figures.steps.lane[i].grown;
		each += figures.steps.lane[i].each;
	}
	CHECK_EQ(bytes, kind->bytes * MIB);
	CHECK_EQ(each, figures.growth.devices ? figures.growth.device[0].each : 0);
	growth_figures_release(&figures);
}

TEST(all_reports_agree_on_what_grows)
{
	const char *folder = test_dir();
	struct growth growth;
	struct run run;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(kinds); i++) {
		printf("# %s\n", kinds[i].name);
		write_kind(folder, &kinds[i]);
		open_kind(&run, folder, &kinds[i], 0); /* as memana top does */
		CHECK_EQ(growth_load(&growth, run.db), 0);
		check_growth(&growth, &kinds[i]);
		growth_release(&growth);
		run_close(&run);
		open_kind(&run, folder, &kinds[i], 1);
		check_reports(&run, &kinds[i]);
		run_close(&run);
	}
}

/* The newest step has a group of steps to itself, or shares it. */
static void check_groups(const char *folder, enum shape shape, uint32_t steps, enum growth_state state)
{
	const struct kind kind = { "groups", shape, steps, 1, 1, state, 0, 0 };
	struct growth growth[2];
	const struct growth_place *place[2];
	struct run run;
	int i;

	write_kind(folder, &kind);
	for (i = 0; i < 2; i++) {
		outlived_most = i ? 8 : OUTLIVED_MOST;
		open_kind(&run, folder, &kind, 0);
		if (state == GROWTH_GROWING)
			CHECK_EQ(outlived_grain(&run.analysis.process[0].outlived), i ? steps / OUTLIVED_GROUPS : 1);
		CHECK_EQ(growth_load(&growth[i], run.db), 0);
		CHECK_EQ(growth[i].state, state);
		CHECK_EQ(growth[i].table.rows, state == GROWTH_GROWING);
		place[i] = growth[i].table.places.place;
		run_close(&run);
	}
	if (state == GROWTH_GROWING) {
		CHECK_EQ(place[0]->bytes, place[1]->bytes);
		CHECK_EQ(place[0]->each, place[1]->each);
		CHECK_EQ(place[0]->count, place[1]->count);
		CHECK_EQ(place[0]->first, place[1]->first);
		CHECK_EQ(place[0]->parts, place[1]->parts);
		CHECK_EQ(place[0]->of, place[1]->of);
	}
	growth_release(&growth[0]);
	growth_release(&growth[1]);
}

TEST(groups_of_steps_grow_as_steps_do)
{
	const char *folder = test_dir();

	check_groups(folder, LEAK_STEP, 512, GROWTH_GROWING);
	check_groups(folder, LEAK_STEP, 515, GROWTH_GROWING);
	check_groups(folder, LEAK_SMALL, 512, GROWTH_GROWING);
	check_groups(folder, LEAK_LARGER, 519, GROWTH_GROWING);
	check_groups(folder, OUTPUT_LARGER, 512, GROWTH_STEADY);
	check_groups(folder, OUTPUT_LAST_2, 513, GROWTH_STEADY);
	check_groups(folder, CACHE_FILLS, 512, GROWTH_STEADY);
	check_groups(folder, NOTHING, 515, GROWTH_STEADY);
}

TEST(the_remedy_depends_on_what_grows)
{
	const uint32_t category[] = { MT_CATEGORY_WEIGHTS, MT_CATEGORY_GRAPHS, MT_CATEGORY_ACTIVATIONS };
	struct sentence said[MT_ARRAY_SIZE(category)] = { 0 };
	struct growth_list none = { 0 };
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(category); i++) {
		struct growth_place place = { .bytes = MIB, .category = mt_category_name(category[i]) };
		struct growth_list steps = { &place, 1, 1 };

		growth_say_remedy(&said[i], &steps, &none);
	}
	CHECK(strcmp(said[0].text, said[1].text));
	CHECK(strcmp(said[0].text, said[2].text));
	CHECK(strcmp(said[1].text, said[2].text));
}

/* The screen has a summary of its own, and names that come later. */
static void check_screen(const char *folder, const struct kind *kind)
{
	char path[RANKS_MOST][512], *paths[RANKS_MOST] = { 0 };
	struct sentence said = { 0 };
	struct growth growth;
	const char *growing;
	struct kit *kit;
	struct run run;
	uint32_t i;

	for (i = 0; i < kind->ranks; i++)
		snprintf(paths[i] = path[i], sizeof(path[i]), "%s/%s.%u.zst", folder, kind->name, i);
	run_open(&run, paths, kind->ranks, 0);
	CHECK_EQ(growth_load(&growth, run.db), 0);
	growth_say(&said, &growth, 0);
	kit = kit_open(paths[0], paths[1], paths[2], paths[3], paths[4], paths[5], paths[6], paths[7], NULL);
	CHECK_EQ(kit->model.devices, 1);
	growing = kit->model.device[0].growing;
	CHECK_EQ(growing != NULL, kind->state == GROWTH_GROWING);
	CHECK_STR(growing ? growing : "", said.text);
	kit_screen(kit, 80, 24, 256, 0);
	CHECK_EQ(kit_shows(kit, "\nGrowing: "), kind->state == GROWTH_GROWING);
	kit_close(kit);
	growth_release(&growth);
	run_close(&run);
}

TEST(the_screen_says_it_as_the_reports_do)
{
	const char *folder = test_dir();
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(kinds); i++) {
		printf("# %s\n", kinds[i].name);
		write_kind(folder, &kinds[i]);
		check_screen(folder, &kinds[i]);
	}
}

static void write_all(const char *folder)
{
	FILE *list = fopen(run_path(folder, "kinds.txt"), "w");
	size_t i;

	CHECK(list);
	for (i = 0; i < MT_ARRAY_SIZE(kinds); i++) {
		write_kind(folder, &kinds[i]);
		fprintf(list, "%s %s %llu\n", kinds[i].name, growth_state_word(kinds[i].state),
			(unsigned long long)(kinds[i].bytes * MIB));
	}
	fclose(list);
}

TEST_MAIN_WRITE(write_all)
