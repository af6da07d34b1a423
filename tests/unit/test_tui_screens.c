/*
 * The screens: golden ones of every view at four sizes, and what holds at any size. UPDATE_SCREENS=1 makes the golden
 * ones anew. With "--write DIR" it only writes the trace that tests/cli/test_tui.sh looks at.
 */
#include <ctype.h>
#include <glob.h>
#include "retell_kit.h"
#include "screen/draw/layout.h"
#include "screen/view/timeline.h"
#include "screen/worker/worker.h"
#include "test.h"
#include "tui_kit.h"

/* ---- golden screens -------------------------------------------------------------------------------------------- */

/* How to get to a screen: keys, then words typed into the prompt that they opened, then Enter. */
struct scene {
	const char *name, *keys, *typed;
};

static const struct scene scenes[] = {
	{ "timeline", "", NULL },
	{ "place", "Enter", NULL },
	{ "flame", "t", NULL },
	{ "between", "0 g { { { { m } } m d", NULL },
	{ "retained", "r", NULL },
	{ "sql", ":", "SELECT phase, step, (last_time - first_time) / 1000000 AS ms FROM phase_span" },
	{ "help", "?", NULL },
	{ "map", "M Down Down", NULL },
};

static const struct {
	int width, height;
} sizes[] = { { 80, 24 }, { 120, 40 }, { 200, 60 }, { 40, 10 } };

static void go_to_scene(struct kit *kit, const struct scene *scene)
{
	kit_keys(kit, scene->keys);
	if (!scene->typed)
		return;
	kit_type(kit, scene->typed);
	kit_keys(kit, "Enter");
}

static int is_golden(struct kit *kit, const char *prefix, const struct scene *scene, const char *suffix,
		     int (*dump)(const struct canvas *, FILE *))
{
	char name[128];

	snprintf(name, sizeof(name), "%s%s-%dx%d%s.txt", prefix, scene->name, kit->app.canvas.width,
		 kit->app.canvas.height, suffix);
	return kit_golden(kit, name, dump);
}

/* All are looked at before the test fails, so that all differences are seen at once. */
static void check_scene(const struct scene *scene)
{
	struct kit *kit = kit_open(kit_rl_run(), NULL);
	size_t i;
	int same = 1;

	for (i = 0; i < MT_ARRAY_SIZE(sizes); i++) {
		kit_screen(kit, sizes[i].width, sizes[i].height, 256, 0);
		go_to_scene(kit, scene);
		same &= is_golden(kit, "rl-", scene, "", canvas_dump);
		if (!i)
			same &= is_golden(kit, "rl-", scene, "-styles", canvas_dump_styles);
	}
	kit_screen(kit, 80, 24, 0, 1);
	go_to_scene(kit, scene);
	same &= is_golden(kit, "rl-", scene, "-ascii", canvas_dump);
	kit_screen(kit, 80, 24, 8, 0);
	go_to_scene(kit, scene);
	same &= is_golden(kit, "rl-", scene, "-8-styles", canvas_dump_styles);
	kit_close(kit);
	CHECK(same);
}

TEST(golden_timeline)
{
	check_scene(&scenes[0]);
}

TEST(golden_place)
{
	check_scene(&scenes[1]);
}

TEST(golden_flame)
{
	check_scene(&scenes[2]);
}

TEST(golden_between)
{
	check_scene(&scenes[3]);
}

TEST(golden_retained)
{
	check_scene(&scenes[4]);
}

TEST(golden_sql)
{
	check_scene(&scenes[5]);
}

TEST(golden_help)
{
	check_scene(&scenes[6]);
}

TEST(golden_map)
{
	check_scene(&scenes[7]);
	CHECK_EQ(MT_ARRAY_SIZE(scenes), 8); /* each has its test */
}

/* A trainer and an engine on one GPU; the engine cannot wake up. */
TEST(golden_two_processes)
{
	static const struct scene two[] = {
		{ "timeline", "", NULL },    { "process", "c c c", NULL }, { "oom", "o", NULL },
		{ "zoom", "o + + +", NULL }, { "advice", "a", NULL },      { "map", "M", NULL },
	};
	struct kit *kit;
	size_t i;
	int same = 1;

	kit_play_case("verl-6912");
	kit = kit_open("trainer.zst", "engine.zst", NULL);
	for (i = 0; i < MT_ARRAY_SIZE(two); i++) {
		kit_screen(kit, 80, 24, 256, 0);
		go_to_scene(kit, &two[i]);
		same &= is_golden(kit, "two-", &two[i], "", canvas_dump);
	}
	kit_close(kit);
	CHECK(same);
}

/* The views of any run, and the keys to them; docs/screen.md says which point of the screen each stands for. */
static const struct scene points[] = {
	{ "timeline", "", NULL },
	{ "phase", "0 g ] ] ] + + +", NULL },
	{ "category", "c", NULL },
	{ "flame", "t", NULL },
	{ "flame-search", "t /", "forward" },
	{ "flame-zoom", "t Down Enter", NULL },
	{ "steps", "2 Enter", NULL },
	{ "filter", "f", "activations" },
	{ "search", "/", "forward" },
	{ "map", "M", NULL },
	{ "retained", "r", NULL },
	{ "wrong-sql", ":", "SELECT place FROM allocations" },
	{ "place", "Enter", NULL },
};

#define POINTS MT_ARRAY_SIZE(points)

/* The first `count`, at the sizes that people have. */
static void check_points(const char *path, const char *prefix, size_t count)
{
	struct kit *kit = kit_open(path, NULL);
	size_t i, k;
	int same = 1;

	for (i = 0; i < 3; i++)
		for (k = 0; k < count; k++) {
			kit_screen(kit, sizes[i].width, sizes[i].height, 256, 0);
			go_to_scene(kit, &points[k]);
			same &= is_golden(kit, prefix, &points[k], "", canvas_dump);
		}
	kit_close(kit);
	CHECK(same);
}

/* A snapshot of a real training step: what PyTorch itself said. */
#define SHARING 3

/* Ranks of one GPU: `last` takes the last memory of all, the next one holds most. */
static void write_sharing(char path[SHARING][32], int last)
{
	struct builder builder;
	int i;

	for (i = 0; i < SHARING; i++) {
		snprintf(path[i], sizeof(path[i]), "rank%d.zst", i);
		builder_open_on(&builder, path[i], 100 + (uint32_t)i, i, 80 * GIB);
		builder_phase(&builder, "forward");
		builder.stack = kit_stack(&builder, "forward", "mlp", "model.py", 112);
		kit_alloc(&builder, 0, i == (last + 1) % SHARING ? 8 * GIB : 2 * GIB, 1);
		kit_wait(&builder, i == last ? 50 : 10);
		kit_alloc(&builder, 1, 1 * GIB, 1);
		kit_wait(&builder, i == last ? 10 : 50);
		builder_phase_end(&builder);
		kit_free(&builder, 1, 1 * GIB, 1);
		builder_close(&builder);
	}
}

/* The largest row of the table is another rank's. */
TEST(the_table_names_the_rank_that_made_the_peak)
{
	char path[SHARING][32], words[32];
	struct kit *kit;
	int last;

	kit_go_apart();
	for (last = 0; last < SHARING; last++) {
		write_sharing(path, last);
		kit = kit_open(path[0], path[1], path[2], NULL);
		kit_screen(kit, 120, 40, 256, 0);
		kit_draw(kit);
		snprintf(words, sizeof(words), ", rank %d in forward: 15.0 GiB", last);
		CHECK(kit_shows(kit, words));
		kit_close(kit);
	}
}

TEST(golden_snapshot)
{
	check_points(kit_snapshot("torch2.11-medium512-training"), "snapshot/", POINTS);
}

/* The recording of `make demo`, as it would be if events came at fixed intervals; in a folder of the test's own. */
static const char *record_demo(void)
{
	const char *build = getenv("BUILD");
	char command[2000];

	kit_go_apart();
	if (!build)
		SKIP("BUILD does not say where memrec is");
	snprintf(command, sizeof(command),
		 "STANDIN_MEM=80GiB LD_LIBRARY_PATH='%s/standin' '%s/memrec' --steps 3 -o as-it-was.zst -- '%s/samples/rl_step' "
		 "--quiet >said 2>&1",
		 build, build, build);
	CHECK_EQ(system(command), 0);
	retell("as-it-was.zst", "demo.zst");
	return "demo.zst";
}

TEST(golden_demo)
{
	check_points(record_demo(), "demo/", POINTS - 1); /* its stacks end in this machine's C library */
}

/* GRPO by TRL, on the CPU. */
TEST(golden_trl)
{
	check_points(kit_sample("trl_grpo.zst"), "trl/", POINTS);
}

/* ---- a column and its table ---- */

static uint64_t bytes_of_table(const struct app *app)
{
	uint64_t bytes = 0;
	uint32_t i;

	for (i = 0; i < app->live.rows; i++)
		bytes += app->live.row[i].bytes;
	return bytes;
}

static void check_column(struct kit *kit, int x)
{
	const struct timeline *timeline = (const struct timeline *)kit->app.view;
	const struct layout_part *chart = &timeline->layout.chart;
	uint64_t drawn = timeline->column[x].max;

	kit_mouse(kit, MOUSE_PRESS, chart->x + x, chart->y);
	kit_mouse(kit, MOUSE_RELEASE, chart->x + x, chart->y);
	CHECK_EQ(scale_column(&kit->app.scale, kit->app.scale.cursor), x);
	CHECK_EQ(bytes_of_table(&kit->app), drawn);
	kit_keys(kit, x ? "Left Right" : "Right Left");
	CHECK_EQ(bytes_of_table(&kit->app), drawn);
}

/* The ten highest columns: the table under a column adds up to its height. */
static void check_highest(const char *path)
{
	struct kit *kit = kit_open(path, NULL);
	const struct timeline *timeline;
	uint64_t below = UINT64_MAX;
	int i, x, highest;

	kit_screen(kit, 120, 40, 256, 0);
	timeline = (const struct timeline *)kit->app.view;
	for (i = 0; i < 10; i++) {
		for (x = 0, highest = -1; x < kit->app.scale.columns; x++)
			if (timeline->column[x].max < below &&
			    (highest < 0 || timeline->column[x].max > timeline->column[highest].max))
				highest = x;
		if (highest < 0 || !timeline->column[highest].max)
			break;
		below = timeline->column[highest].max;
		check_column(kit, highest);
	}
	kit_close(kit);
}

/* Changes of one time: of three the second is the highest, and in a column with others. */
static void write_at_once(const char *path)
{
	struct builder builder;
	int i;

	builder_open_on(&builder, path, 100, -1, 80 * GIB);
	builder.stack = builder_python(&builder, 0, "load", "/home/me/a.py", 1);
	for (i = 0; i < 200; i++) {
		kit_wait(&builder, 1);
		kit_alloc(&builder, 2 * (unsigned)i, GIB / 8, 1);
		builder.time -= 2000; /* late events have the time of the one before */
		kit_alloc(&builder, 2 * (unsigned)i + 1, GIB, 1);
		builder.time -= 2000; /* late events have the time of the one before */
		kit_free(&builder, 2 * (unsigned)i + 1, GIB, 1);
	}
	builder_close(&builder);
}

TEST(a_column_is_as_high_as_its_table)
{
	char golden[1024];
	glob_t found;
	size_t i;

	check_highest(kit_rl_run());
	write_at_once("once.zst");
	check_highest("once.zst");
	check_highest(kit_sample("trl_grpo.zst"));
	snprintf(golden, sizeof(golden), "%s/tests/golden/v1-*.zst", kit_tree());
	CHECK_EQ(glob(golden, 0, NULL, &found), 0);
	for (i = 0; i < found.gl_pathc; i++)
		check_highest(found.gl_pathv[i]);
	globfree(&found);
}

/* A recording that runs: by now three steps have ended, and the fourth rolls out. */
TEST(golden_live)
{
	static const struct scene live[] = {
		{ "timeline", "", NULL }, { "back", "p", NULL },        { "map", "M", NULL },
		{ "flame", "t", NULL },   { "steps", "2 Enter", NULL },
	};
	struct builder builder;
	struct kit *kit;
	size_t i, k;
	int same = 1;

	kit_go_apart();
	kit_begin_rl_run(&builder, "run.zst");
	kit_run_rollout(&builder);
	CHECK_EQ(mt_writer_flush(builder.writer), 0);
	kit = kit_open_live("run.zst", builder.time);
	for (i = 0; i < 3; i++)
		for (k = 0; k < MT_ARRAY_SIZE(live); k++) {
			kit_screen(kit, sizes[i].width, sizes[i].height, 256, 0);
			go_to_scene(kit, &live[k]);
			same &= is_golden(kit, "live/", &live[k], "", canvas_dump);
		}
	builder_close(&builder);
	kit_close(kit);
	CHECK(same);
}

/* ---- what holds at any size ------------------------------------------------------------------------------------ */

/* A row is as wide as the screen: each cell holds one column, or a wide character and its right half. */
static void check_rows(const struct canvas *canvas)
{
	const struct canvas_cell *cell = canvas->cell;
	int x, y, columns;

	for (y = 0; y < canvas->height; y++)
		for (x = 0; x < canvas->width; x += columns, cell += columns) {
			columns = columns_of(cell->text);
			CHECK(columns == 1 || columns == 2);
			CHECK(x + columns <= canvas->width);
			CHECK(columns == 1 || !cell[1].text[0]);
			CHECK(cell->style < STYLE_ALL && cell->behind < STYLE_ALL);
			CHECK(!canvas->ascii || (isprint((unsigned char)cell->text[0]) && !cell->text[1]));
		}
}

/* The view, drawn into a part of a screen that is full of marks, leaves all of them outside. */
static void check_clipped(struct kit *kit)
{
	struct app *app = &kit->app;
	struct area all = canvas_area(&app->canvas), part;
	const struct canvas_cell *cell;
	int x, y;

	if (all.width < 8 || all.height < 8)
		return;
	part = area_part(all, 3, 2, all.width - 7, all.height - 5);
	area_fill(all, "#", STYLE_BAD);
	model_lock(app->model);
	app->view->ops->draw(app->view, app, part);
	model_unlock(app->model);
	for (y = 0; y < all.height; y++)
		for (x = 0; x < all.width; x++) {
			cell = &app->canvas.cell[y * all.width + x];
			if (x < part.x || y < part.y || x >= part.x + part.width || y >= part.y + part.height)
				CHECK(!strcmp(cell->text, "#") && cell->style == STYLE_BAD);
		}
	app_draw(app);
}

static void check_size(struct kit *kit, int width, int height)
{
	struct input input = { .kind = INPUT_RESIZE, .x = width, .y = height };

	app_input(&kit->app, &input);
	kit_glance(kit);
	CHECK_EQ(kit->app.canvas.width, width);
	CHECK_EQ(kit->app.canvas.height, height);
	check_rows(&kit->app.canvas);
	check_clipped(kit);
}

/* Every width and every height, and all sizes around the smallest that shows anything. */
static void check_sizes(struct kit *kit)
{
	int width, height;

	for (width = 1; width <= 220; width++)
		check_size(kit, width, 1 + width * 37 % 70);
	for (height = 1; height <= 70; height++)
		check_size(kit, 1 + height * 53 % 220, height);
	for (width = LAYOUT_MIN_WIDTH - 1; width < LAYOUT_MIN_WIDTH + 3; width++)
		for (height = LAYOUT_MIN_HEIGHT - 1; height < LAYOUT_MIN_HEIGHT + 6; height++)
			check_size(kit, width, height);
}

static void check_scenes_at_sizes(int colours, int ascii)
{
	struct kit *kit = kit_open(kit_rl_run(), NULL);
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(scenes); i++) {
		kit_screen(kit, 100, 30, colours, ascii);
		go_to_scene(kit, &scenes[i]);
		check_sizes(kit);
	}
	kit_close(kit);
}

TEST(any_size_256_colours)
{
	check_scenes_at_sizes(256, 0);
}

TEST(any_size_8_colours)
{
	check_scenes_at_sizes(8, 0);
}

TEST(any_size_without_colours_in_ascii)
{
	check_scenes_at_sizes(0, 1);
}

TEST(too_small_is_said_in_one_line)
{
	struct kit *kit = kit_open(kit_rl_run(), NULL);
	char *text;

	kit_screen(kit, 60, LAYOUT_MIN_HEIGHT - 1, 256, 0);
	text = kit_dump(kit);
	CHECK(!strncmp(text, "memana: 60x9 is too small: 40x10 at least\n", 42));
	CHECK_EQ(strspn(text + 42, "\n"), strlen(text + 42));
	free(text);
	kit_resize(kit, 20, 3);
	CHECK(kit_shows(kit, "40x10 at least"));
	kit_resize(kit, 60, LAYOUT_MIN_HEIGHT);
	CHECK(kit_shows(kit, "GPU 0"));
	kit_close(kit);
}

/* ---- a person who presses anything ----------------------------------------------------------------------------- */

static uint32_t random_below(uint32_t below)
{
	static uint64_t state = 12345;

	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(state >> 33) % below;
}

static struct input random_input(const struct app *app)
{
	struct input input = { .kind = INPUT_KEY };
	uint32_t what = random_below(100);
	enum request request;

	if (what < 60) {
		request = 1 + random_below(REQUEST_MOUSE - 1);
		input.key = random_below(3) || !request_entries[request].other ? request_entries[request].key
									       : request_entries[request].other;
	} else if (what < 75) {
		input.key = random_below(4) ? ' ' + (int)random_below(95) : (int)random_below(KEY_FIRST + 20);
	} else if (what < 95) {
		input = (struct input){ .kind = INPUT_MOUSE,
					.button = random_below(MOUSE_WHEEL_DOWN + 1),
					.x = (int)random_below((uint32_t)app->canvas.width),
					.y = (int)random_below((uint32_t)app->canvas.height) };
	} else {
		input = (struct input){ .kind = INPUT_RESIZE,
					.x = 1 + (int)random_below(220),
					.y = 1 + (int)random_below(70) };
	}
	return input;
}

TEST(random_walk)
{
	struct kit *kit = kit_open(kit_rl_run(), NULL);
	struct input input;
	int i;

	kit_screen(kit, 80, 24, 256, 0);
	for (i = 0; i < 2000; i++) {
		input = random_input(&kit->app);
		app_input(&kit->app, &input);
		if (kit->app.quit)
			kit_screen(kit, 1 + (int)random_below(200), 1 + (int)random_below(60), i % 3 * 128, i % 2);
		kit_glance(kit);
		check_rows(&kit->app.canvas);
	}
	kit_close(kit);
}

/* ---- the run for tests/cli ------------------------------------------------------------------------------------- */

static void write_traces(const char *dir)
{
	CHECK_EQ(chdir(dir), 0);
	kit_write_rl_run("rl.zst");
}

TEST_MAIN_WRITE(write_traces)
