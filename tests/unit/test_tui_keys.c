/* The keys' effects on the screen, and that help and manual have them all. */
#include "memtrace/base.h"
#include "test.h"
#include "tui_kit.h"

/* ---- moments by name, and two steps ----------------------------------------------------------------------------- */

static void ask_for(struct kit *kit, const char *key, const char *text)
{
	kit_keys(kit, key);
	kit_type(kit, text);
	kit_keys(kit, "Enter");
}

static int64_t first_of(const struct kit *kit, const char *phase, uint32_t step)
{
	uint32_t i;

	for (i = 0; i < kit->model.spans; i++)
		if (!strcmp(mt_phase_name(kit->model.span[i].phase), phase) && kit->model.span[i].step == step)
			return kit->model.span[i].first;
	CHECK(0);
	return 0;
}

TEST(moments_are_found_by_name)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "r2", "rollout 2 of 4, in step 2: " },
		{ "rollout 3", "rollout 3 of 4, in step 3: " },
		{ "ROLL", "rollout 1 of 4, in step 1: " },
		{ "f4", "forward 4 of 4, in step 4: " },
		{ "r9", "there is no rollout 9: it ran 4 times" },
		{ "r0", "r0: no time (12.5s), step (3) or phase with its number (r2, rollout 2)" },
		{ "critic", "no critic was recorded here" },
		{ "3", "step 3: rollout, from " },
		{ "step:2", "step 2: rollout, from " },
		{ "77", "no step 77 was recorded here" },
		{ "99999999999999999999", "99999999999999999999: no time" },
		{ "1.5s", "1.5 s" },
		{ "500s", "8.2 s" },
		{ "peak", "peak: 77.0 GiB" },
		{ "oom", "out of memory: 30.0 GiB" },
		{ "nonsense", "nonsense: no time" },
		{ "r2x", "r2x: no time" },
	};
	struct kit *kit = kit_open(kit_rl_run(), NULL);
	size_t i;

	kit_screen(kit, 120, 40, 256, 0);
	for (i = 0; i < MT_ARRAY_SIZE(cases); i++) {
		ask_for(kit, "@", cases[i].text);
		CHECK(kit_shows(kit, cases[i].says));
	}
	ask_for(kit, "@", "r2");
	CHECK(kit->app.scale.cursor >= first_of(kit, "rollout", 2) &&
	      kit->app.scale.cursor < first_of(kit, "logprob", 2));
	CHECK_EQ(kit->app.live.bytes, 73 * GIB); /* moment with the most held in it */
	CHECK(kit->app.scale.from < first_of(kit, "rollout", 2) && kit->app.scale.to > first_of(kit, "logprob", 2));
	ask_for(kit, "@", "");
	ask_for(kit, "@", "3");
	CHECK_EQ(kit->app.scale.cursor, first_of(kit, "rollout", 3));
	kit_close(kit);
}

TEST(two_steps_are_compared)
{
	struct kit *kit = kit_open(kit_rl_run(), NULL);

	kit_screen(kit, 120, 40, 256, 0);
	ask_for(kit, "2", "");
	CHECK(kit_shows(kit, "What grew from the end of step 1 (2.9 s) to that of step 3 (7.1 s)"));
	CHECK(kit_shows(kit, "+4.0 GiB  keep_for_metrics (metrics.py:17)  forward    4.0 GiB    0 B  4.0 GiB      2"));
	kit_keys(kit, "q");
	ask_for(kit, "2", "2");
	CHECK(kit_shows(kit, "What grew from the end of step 1 (2.9 s) to that of step 2 (5.0 s)"));
	kit_keys(kit, "q");
	ask_for(kit, "2", "3 - 2");
	CHECK(kit_shows(kit, "What grew from the end of step 2 (5.0 s) to that of step 3 (7.1 s)"));
	CHECK(kit_shows(kit, "+2.0 GiB"));
	kit_keys(kit, "q");
	ask_for(kit, "2", "4");
	CHECK(kit_shows(kit, "step 4 did not end in this recording"));
	ask_for(kit, "2", "1");
	CHECK(kit_shows(kit, "that is one step: two are compared"));
	ask_for(kit, "2", "1 2 3");
	CHECK(kit_shows(kit, "a step, or two: 3, or 2 5"));
	ask_for(kit, "2", "x");
	CHECK(kit_shows(kit, "a step, or two: 3, or 2 5"));
	kit_close(kit);
}

/* ---- the first screen ------------------------------------------------------------------------------------------ */

TEST(the_fullest_device_is_first_and_the_cursor_at_its_peak)
{
	struct kit *kit = kit_open(kit_rl_run(), NULL);
	const struct model_device *device;

	kit_screen(kit, 80, 24, 256, 0);
	device = &kit->model.device[kit->app.device];
	CHECK_EQ(device->kind, MT_DEVICE_CUDA);
	CHECK_EQ(device->peak, 77 * GIB);
	CHECK_EQ(kit->app.scale.cursor, device->peak_time);
	CHECK_EQ(kit->app.live.bytes, 77 * GIB);
	kit_keys(kit, "D");
	CHECK_EQ(kit->model.device[kit->app.device].kind, MT_DEVICE_CPU);
	CHECK_EQ(kit->app.live.bytes, 300 * MIB);
	kit_keys(kit, "D");
	CHECK_EQ(kit->app.live.bytes, 77 * GIB);
	kit_close(kit);
}

/* A snapshot has no sizes of GPUs: the verdict and the screen are about the one that held most. */
TEST(the_screen_begins_with_the_gpu_of_the_verdict)
{
	struct kit *kit;
	struct builder m;

	kit_go_apart();
	builder_open_on(&m, "gpus.zst", 100, -1, 0);
	builder_phase(&m, "forward");
	builder_tensor_alloc(&m, 0x100000000, GIB);
	m.device = builder_device(&m, MT_DEVICE_CUDA, 1, "Test GPU", "GPU-0001", 0);
	builder_tensor_alloc(&m, 0x200000000, 3 * GIB);
	m.device = builder_device(&m, MT_DEVICE_CUDA, 2, "Test GPU", "GPU-0002", 0);
	builder_tensor_alloc(&m, 0x300000000, 2 * GIB);
	builder_close(&m);
	kit = kit_open("gpus.zst", NULL);
	kit_screen(kit, 80, 24, 256, 0);
	CHECK_EQ(kit->model.device[kit->app.device].number, 1);
	CHECK(kit_shows(kit, "GPU 1: peak 3.0 GiB at "));
	CHECK(kit_shows(kit, "\n GPU 1 by phase"));
	kit_keys(kit, "D");
	CHECK(kit_shows(kit, "GPU 1: peak 3.0 GiB at "));
	CHECK(kit_shows(kit, ": 2.0 GiB, 1 allocation"));
	kit_close(kit);
}

/* The same screen, whether it was there before the events or after them. */
TEST(a_run_that_is_read_meanwhile)
{
	struct kit *kit = kit_open(kit_rl_run(), NULL);
	char *calm, *live;
	struct source source;
	struct model model;
	struct feed *feed;
	struct app app;
	int reading = 1;
	size_t size;
	FILE *file;
	uint32_t i;

	for (i = 0; i < kit->model.devices; i++)
		kit->model.device[i].growing = NULL; /* only the worker knows */
	kit_screen(kit, 80, 24, 256, 0);
	CHECK_EQ(source_open_traces(&source, kit->path, kit->paths), 0);
	CHECK_EQ(model_init(&model), 0);
	CHECK_EQ(app_init(&app, &model, NULL, 80, 24, 256, 0), 0);
	app_draw(&app);
	CHECK_EQ(feed_new(&feed, &model, &source), 0);
	while (reading) {
		reading = app_tick(&app, 16);
		model_lock(&model);
		reading |= model.state == MODEL_READING;
		model_unlock(&model);
		app_draw(&app);
	}
	while (app_tick(&app, 16))
		;
	CHECK(!app_is_waiting(&app));
	kit->app.worker = NULL; /* it has a better name for nothing here */
	app_draw(&app);
	file = open_memstream(&live, &size);
	CHECK(file && !canvas_dump(&app.canvas, file) && !fclose(file));
	calm = kit_dump(kit);
	CHECK_STR(live, calm);
	app_release(&app);
	feed_free(feed);
	model_release(&model);
	source_release(&source);
	free(live);
	free(calm);
	kit_close(kit);
}

/* ---- moving in time -------------------------------------------------------------------------------------------- */

static int64_t first_phase_after(struct kit *kit, int64_t time)
{
	uint32_t span = model_span_at(&kit->model, 0, time + 1);

	CHECK(span < kit->model.spans && kit->model.span[span].phase != MT_PHASE_OTHER);
	return kit->model.span[span].first;
}

TEST(steps_and_phases)
{
	struct kit *kit = kit_open(kit_rl_run(), NULL);
	struct app *app;
	const struct model_step *step;
	uint32_t span;

	kit_screen(kit, 120, 24, 256, 0);
	app = &kit->app;
	step = kit->model.step;
	CHECK_EQ(kit->model.steps, 3);
	kit_keys(kit, "{ { { {");
	CHECK_EQ(app->scale.cursor, app->scale.first);
	CHECK(kit_shows(kit, "beginning of the run"));
	kit_keys(kit, "}");
	CHECK_EQ(app->scale.cursor, first_phase_after(kit, step[0].time));
	CHECK(kit_shows(kit, "step 2 begins, at"));
	kit_keys(kit, "} }");
	CHECK_EQ(app->scale.cursor, first_phase_after(kit, step[2].time));
	kit_keys(kit, "}");
	CHECK_EQ(app->scale.cursor, first_phase_after(kit, step[2].time));
	CHECK(kit_shows(kit, "no step begins after this"));
	kit_keys(kit, "{");
	CHECK_EQ(app->scale.cursor, first_phase_after(kit, step[1].time));
	CHECK(kit_shows(kit, "step 3, rollout: "));
	kit_keys(kit, "]");
	span = model_span_at(&kit->model, 0, app->scale.cursor);
	CHECK_EQ(kit->model.span[span].phase, MT_PHASE_LOGPROB);
	CHECK_EQ(kit->model.span[span].first, app->scale.cursor);
	CHECK(kit_shows(kit, "logprob of step 3, from"));
	kit_keys(kit, "]");
	CHECK(kit_shows(kit, "forward of step 3, from"));
	kit_keys(kit, "Right [");
	CHECK(kit_shows(kit, "forward of step 3, from"));
	kit_keys(kit, "[");
	CHECK(kit_shows(kit, "logprob of step 3, from"));
	kit_close(kit);
}

/* Three phases that share a column, and moments of no phase: each phase is reached, and said by the row under the chart. */
TEST(short_phases_are_found)
{
	struct builder builder;
	struct kit *kit;
	int i;

	kit_go_apart();
	builder_open_on(&builder, "short.zst", 4711, 0, 80 * GIB);
	builder.total = 0;
	builder.device = builder.cuda;
	for (i = 1; i <= 2; i++) {
		builder_phase(&builder, "forward");
		kit_alloc(&builder, KIT_WEIGHTS + (unsigned)i, GIB, 1);
		kit_wait(&builder, 900);
		kit_alloc(&builder, KIT_WEIGHTS + (unsigned)i + 20, GIB, 1);
		builder_phase_end(&builder);
		kit_wait(&builder, 1);
		builder_phase(&builder, "backward");
		kit_alloc(&builder, KIT_GRADIENTS + (unsigned)i, GIB, 1);
		kit_wait(&builder, 2);
		kit_alloc(&builder, KIT_GRADIENTS + (unsigned)i + 20, GIB, 1);
		builder_phase_end(&builder);
		builder_phase(&builder, "optimizer");
		kit_alloc(&builder, KIT_STATE + 10 + (unsigned)i, GIB, 1);
		kit_wait(&builder, 800);
		kit_alloc(&builder, KIT_STATE + 10 + (unsigned)i + 20, GIB, 1);
		builder_phase_end(&builder);
		builder_step(&builder, (uint32_t)i);
		kit_wait(&builder, 300);
		builder.stack = 0;
		kit_alloc(&builder, KIT_KEPT + (unsigned)i, GIB, 1);
		kit_wait(&builder, 300);
	}
	builder_close(&builder);
	kit = kit_open("short.zst", NULL);
	kit_screen(kit, 80, 24, 256, 0);
	kit_keys(kit, "0 { { ] ]");
	CHECK(kit_shows(kit, "backward of step 1, from"));
	CHECK(kit_shows(kit, "step 1, backward: "));
	CHECK(kit_shows(kit, "boptimizer"));
	kit_keys(kit, "]");
	CHECK(kit_shows(kit, "optimizer of step 1, from"));
	kit_keys(kit, "[ }");
	CHECK(kit_shows(kit, "step 2 begins, at 2.3 s"));
	CHECK(kit_shows(kit, "step 2, forward: "));
	kit_keys(kit, "}");
	CHECK(kit_shows(kit, "no step begins after this"));
	kit_close(kit);
}

TEST(peak_and_errors)
{
	struct kit *kit = kit_open(kit_rl_run(), NULL);

	kit_screen(kit, 80, 24, 256, 0);
	kit_keys(kit, "o");
	CHECK_EQ(kit->app.scale.cursor, kit->model.oom[0].time);
	CHECK(kit_shows(kit, "out of memory: 30.0 GiB asked for in forward at 8.2 s"));
	kit_keys(kit, "o");
	CHECK_EQ(kit->app.scale.cursor, kit->model.oom[0].time);
	kit_keys(kit, "p");
	CHECK_EQ(kit->app.scale.cursor, kit->model.device[kit->app.device].peak_time);
	CHECK(kit_shows(kit, "peak: 77.0 GiB at 7.2 s"));
	kit_keys(kit, "D o");
	CHECK(kit_shows(kit, "none here, but on GPU 0: press D"));
	kit_close(kit);
}

/* 60 GiB are held when 15 of them are in use; 40 are held, and all in use, at the end. */
static void write_two_peaks(const char *path)
{
	struct builder builder;

	builder_open_on(&builder, path, 4711, 0, 80 * GIB);
	builder.total = 0;
	builder.device = builder.cuda;
	builder_phase(&builder, "init");
	builder_driver_alloc(&builder, KIT_ADDRESS(KIT_KV), 40 * GIB);
	builder_tensor_alloc(&builder, KIT_ADDRESS(KIT_KV), 10 * GIB);
	kit_wait(&builder, 500);
	builder_driver_alloc(&builder, KIT_ADDRESS(KIT_LOGITS), 20 * GIB);
	builder_tensor_alloc(&builder, KIT_ADDRESS(KIT_LOGITS), 5 * GIB);
	kit_wait(&builder, 100);
	kit_free(&builder, KIT_LOGITS, 5 * GIB, 1);
	builder_phase_end(&builder);
	builder_phase(&builder, "forward");
	kit_wait(&builder, 300);
	builder_tensor_alloc(&builder, KIT_ADDRESS(KIT_KV) + 10 * GIB, 30 * GIB);
	kit_wait(&builder, 100);
	builder_tensor_free(&builder, KIT_ADDRESS(KIT_KV) + 10 * GIB, 30 * GIB);
	kit_wait(&builder, 100);
	builder_phase_end(&builder);
	builder_close(&builder);
}

TEST(what_is_held_and_what_is_in_use_have_a_peak_each)
{
	struct kit *kit;
	int64_t held;

	kit_go_apart();
	write_two_peaks("two.zst");
	kit = kit_open("two.zst", NULL);
	kit_screen(kit, 120, 40, 256, 0);
	CHECK(kit_shows(kit, "▼ peak 60.0 GiB"));
	CHECK(kit_shows(kit, "most in use 40.0 GiB ▼"));
	CHECK(kit_shows(kit, "~ slack 45.0 GiB"));
	kit_keys(kit, "p");
	CHECK(kit_shows(kit, "peak: 60.0 GiB at"));
	held = kit->app.scale.cursor;
	CHECK_EQ(held, kit->model.device[kit->app.device].peak_time);
	kit_keys(kit, "p");
	CHECK(kit_shows(kit, "most in use: 40.0 GiB at"));
	CHECK(kit->app.scale.cursor > held);
	CHECK_EQ(kit->app.live.bytes, 40 * GIB);
	kit_keys(kit, "p");
	CHECK_EQ(kit->app.scale.cursor, held);
	kit_close(kit);
}

TEST(escape_takes_the_filter_back)
{
	struct kit *kit = kit_open(kit_rl_run(), NULL);
	uint64_t all;

	kit_screen(kit, 80, 24, 256, 0);
	all = kit->app.live.bytes;
	kit_keys(kit, "f");
	kit_type(kit, "rollout");
	kit_keys(kit, "Enter");
	CHECK(kit->app.live.bytes < all);
	kit_keys(kit, "f");
	CHECK(kit->app.prompt.open);
	CHECK_STR(kit->app.prompt.text, "");
	kit_keys(kit, "Esc Esc");
	CHECK(kit_shows(kit, "everything is shown again"));
	CHECK_EQ(kit->app.live.bytes, all);
	CHECK_STR(kit->app.filter.text, "");
	kit_close(kit);
}

/* A key without use is not offered, and the way to leave is the last thing that goes. */
TEST(the_bar_says_how_to_leave)
{
	struct kit *kit;
	int width;

	kit_go_apart();
	write_two_peaks("two.zst"); /* without an error */
	kit = kit_open("two.zst", NULL);
	for (width = 40; width <= 200; width += 7) {
		kit_screen(kit, width, 24, 256, 0);
		CHECK(kit_shows(kit, "  q quit\n") || kit_shows(kit, " q quit\n"));
		kit_keys(kit, "t");
		CHECK(kit_shows(kit, "q back\n"));
	}
	kit_screen(kit, 200, 24, 256, 0);
	CHECK(kit_shows(kit, "? help  Enter stack  t flame  r retained  c colour  q quit\n"));
	kit_close(kit);
	kit = kit_open(kit_rl_run(), NULL);
	kit_screen(kit, 200, 24, 256, 0);
	CHECK(kit_shows(kit, "o OOM"));
	kit_close(kit);
}

/* Also a key that has nothing to do here, or not yet. */
TEST(the_bar_offers_what_can_be_done)
{
	struct kit *kit;

	kit_go_apart();
	write_two_peaks("two.zst"); /* without steps */
	kit = kit_open("two.zst", NULL);
	kit_screen(kit, 200, 60, 256, 0);
	kit_keys(kit, "2");
	CHECK(!kit->app.prompt.open && kit_shows(kit, "needs two steps that ended"));
	kit_keys(kit, "?");
	CHECK(!kit_shows(kit, "Down more") && kit_shows(kit, " q back\n"));
	kit_resize(kit, 80, 24);
	CHECK(kit_shows(kit, "Down more  q back\n"));
	kit_keys(kit, "G");
	CHECK(!kit_shows(kit, "Down more") && kit_shows(kit, " q back\n"));
	kit_close(kit);
	kit = kit_open(kit_rl_run(), NULL);
	kit_screen(kit, 200, 60, 256, 0);
	kit_keys(kit, "r");
	CHECK(kit_shows(kit, " Enter the place  q back\n"));
	kit_resize(kit, 160, 24);
	CHECK(!kit_shows(kit, "Left Right sideways")); /* all is in sight */
	kit_resize(kit, 60, 24);
	kit_keys(kit, "q 2 Enter");
	kit_resize(kit, 80, 24);
	CHECK(kit_shows(kit, "Left Right sideways  q back\n"));
	kit_keys(kit, "q a"); /* a row of no single place */
	CHECK(!kit_shows(kit, "Enter the place") && kit_shows(kit, "Enter all of it") && kit_shows(kit, " q back\n"));
	kit_close(kit);
}

/* Text of the chosen row without room in the table is below it. */
TEST(what_is_cut_is_told_of_the_chosen_row)
{
	struct kit *kit = kit_open(kit_rl_run(), NULL);

	kit_screen(kit, 80, 24, 256, 0);
	ask_for(kit, "2", "");
	CHECK(kit_shows(kit, "category: other\n"));
	kit_keys(kit, "Right Right Right Right");
	CHECK(!kit_shows(kit, "category: other\n") && kit_shows(kit, "grown by: +4.0 GiB"));
	kit_resize(kit, 200, 24);
	CHECK(!kit_shows(kit, "category: other\n"));
	kit_resize(kit, 80, 12); /* rows of the table go before */
	CHECK(!kit_shows(kit, "category: other\n"));
	kit_close(kit);
}

/* As many rows, bytes and allocations as memana top has places: two callers of one line are one. */
TEST(a_line_is_one_row_and_opens_into_its_parts)
{
	struct builder m;
	struct kit *kit;
	uint32_t main;
	int i;

	kit_go_apart();
	builder_open(&m, "line.zst", 100, -1);
	m.device = m.cuda;
	main = builder_python(&m, 0, "main", "/home/me/train.py", 9);
	for (i = 0; i < 4; i++) {
		builder_phase(&m, i == 3 ? "backward" : "forward");
		m.stack = builder_python(&m, main, "block", "/home/me/train.py", 20 + (uint32_t)i);
		m.stack = builder_python(&m, m.stack, "norm", "/home/me/model.py", 39);
		builder_driver_alloc(&m, 0x100000000ull * (1 + (uint64_t)i), 2 * MIB);
		builder_phase_end(&m);
	}
	builder_close(&m);
	kit = kit_open("line.zst", NULL);
	kit_screen(kit, 120, 40, 256, 0);
	CHECK_EQ(kit->app.live.rows, 2);
	CHECK(kit_shows(kit, "f   6.0 MiB   75%"));
	kit_keys(kit, "Enter");
	CHECK(kit_shows(kit, "6.0 MiB in 3 allocations at"));
	CHECK(kit_shows(kit, "this line holds, too: 2.0 MiB"));
	CHECK(kit_shows(kit, "3 allocations, 2.0 MiB each"));
	kit_close(kit);
}

/* Below the boxes, which have no room for it: what is below the chosen frame, or above one that called nothing. */
TEST(the_flame_lists_what_is_below_the_chosen_frame)
{
	struct kit *kit = kit_open(kit_rl_run(), NULL);
	char *text;

	kit_screen(kit, 80, 24, 256, 0);
	kit_keys(kit, "t Down");
	CHECK(kit_shows(kit,
			"\nBelow main\n   26.0 GiB   34%  generate (trainer.py:40)\n   14.0 GiB   18%  init_model"));
	kit_keys(kit, "G");
	CHECK(kit_shows(kit, "\nattention was called from\n   21.0 GiB   27%  forward (trainer.py:40)\n"
			     "   21.0 GiB   27%  main (train.py:210)\n\n"));
	kit_resize(kit, 40, 10); /* no room */
	text = kit_dump(kit);
	CHECK(!strstr(text, "was called from"));
	free(text);
	/* The last row of a list that is too long has the others. */
	kit_resize(kit, 80, 13);
	kit_keys(kit, "g Down");
	CHECK(kit_shows(kit,
			"\nBelow main\n   26.0 GiB   34%  generate (trainer.py:40)\n   30.0 GiB   39%  3 smaller\n"));
	kit_close(kit);
}

/* The row chosen while there are no names is, when they come, the row of most of it. */
TEST(a_choice_outlasts_the_coming_of_names)
{
	struct kit *kit = kit_open(kit_rl_run(), NULL);
	const struct callstack *named[256];
	uint32_t i;

	CHECK(kit->model.sites <= MT_ARRAY_SIZE(named));
	for (i = 0; i < kit->model.sites; i++) {
		named[i] = kit->model.site[i].callstack;
		kit->model.site[i].callstack = NULL;
	}
	kit_screen(kit, 80, 24, 256, 0);
	kit_keys(kit, "t Down");
	CHECK(kit_shows(kit, "\n56.0 GiB  73%  not named yet\n"));
	for (i = 0; i < kit->model.sites; i++)
		kit->model.site[i].callstack = named[i];
	kit_draw(kit);
	CHECK(kit_shows(kit, "\n56.0 GiB  73%  main\n"));
	kit_close(kit);
}

/* With a filter the peak is that of what is left. */
TEST(filter)
{
	struct kit *kit = kit_open(kit_rl_run(), NULL);

	kit_screen(kit, 80, 24, 256, 0);
	kit_keys(kit, "f");
	kit_type(kit, "backward");
	kit_keys(kit, "Enter p");
	CHECK(kit_shows(kit, "peak: 14.0 GiB"));
	CHECK_EQ(kit->app.live.bytes, 14 * GIB);
	kit_keys(kit, "Left");
	CHECK(kit_shows(kit, "GPU 0 by phase, only backward"));
	/* If the fate of the taken memory is known. */
	kit_keys(kit, "f ^U");
	kit_type(kit, "phase=rollout");
	kit_keys(kit, "Enter p");
	CHECK(kit_shows(kit, "peak: 26.0 GiB"));
	CHECK_EQ(kit->app.live.rows, 1);
	CHECK_EQ(kit->app.live.row[0].category, MT_CATEGORY_KV_CACHE);
	kit_keys(kit, "f ^U");
	kit_type(kit, "backward");
	kit_keys(kit, "Enter");
	kit_keys(kit, "f ^U");
	kit_type(kit, ">1XiB");
	kit_keys(kit, "Enter");
	CHECK(kit_shows(kit, "a size looks like >1GiB"));
	CHECK(kit->app.live.bytes <= 14 * GIB);
	kit_keys(kit, "f ^U Enter p");
	CHECK_EQ(kit->app.live.bytes, 77 * GIB);
	kit_keys(kit, "f");
	kit_type(kit, "rollout");
	kit_keys(kit, "Esc");
	CHECK_EQ(kit->app.live.bytes, 77 * GIB);
	kit_close(kit);
}

TEST(sort_and_colours)
{
	struct kit *kit = kit_open(kit_rl_run(), NULL);
	const struct liveset *live;

	kit_screen(kit, 80, 24, 256, 0);
	live = &kit->app.live;
	CHECK(live->row[0].bytes >= live->row[1].bytes && live->row[1].bytes >= live->row[2].bytes);
	kit_keys(kit, "s");
	CHECK(kit_shows(kit, "sorted by count"));
	CHECK(live->row[0].count >= live->row[1].count && live->row[1].count >= live->row[2].count);
	CHECK_EQ(live->row[0].count, KIT_LAYERS);
	kit_keys(kit, "c");
	CHECK(kit_shows(kit, "colours are by category"));
	kit_keys(kit, "c c c Left");
	CHECK(kit_shows(kit, "GPU 0 by phase"));
	kit_close(kit);
}

TEST(marks)
{
	struct kit *kit = kit_open(kit_rl_run(), NULL);
	int64_t a, b;

	kit_screen(kit, 80, 24, 256, 0);
	kit_keys(kit, "d");
	CHECK(kit_shows(kit, "needs two marks"));
	kit_keys(kit, "z");
	CHECK(kit_shows(kit, "needs two marks"));
	kit_keys(kit, "{ m");
	a = kit->app.scale.cursor;
	kit_keys(kit, "{ m");
	b = kit->app.scale.cursor;
	CHECK(kit->app.mark_a == a && kit->app.mark_b == b && b < a);
	kit_keys(kit, "z");
	CHECK(kit->app.scale.from == b && kit->app.scale.to == a);
	kit_keys(kit, "0");
	CHECK(scale_is_all(&kit->app.scale));
	kit_keys(kit, "m");
	CHECK_EQ(kit->app.mark_a, APP_NO_TIME);
	CHECK(kit_shows(kit, "no marks"));
	kit_close(kit);
}

TEST(zoom_keeps_the_moment)
{
	struct kit *kit = kit_open(kit_rl_run(), NULL);
	int64_t cursor, span;

	kit_screen(kit, 80, 24, 256, 0);
	kit_keys(kit, "p");
	cursor = kit->app.scale.cursor;
	span = kit->app.scale.to - kit->app.scale.from;
	kit_keys(kit, "+ +");
	CHECK_EQ(kit->app.scale.cursor, cursor);
	CHECK_EQ(kit->app.scale.to - kit->app.scale.from, span / 4);
	kit_keys(kit, "- - -");
	CHECK_EQ(kit->app.scale.cursor, cursor);
	CHECK(scale_is_all(&kit->app.scale));
	kit_close(kit);
}

/* ---- back, out, and files -------------------------------------------------------------------------------------- */

TEST(back_and_out)
{
	struct kit *kit = kit_open(kit_rl_run(), NULL);

	kit_screen(kit, 80, 24, 256, 0);
	kit_keys(kit, "Enter t ?");
	CHECK_STR(kit->app.view->ops->name, "help");
	kit_keys(kit, "?");
	CHECK_STR(kit->app.view->ops->name, "flame");
	kit_keys(kit, "Esc");
	CHECK_STR(kit->app.view->ops->name, "place");
	kit_keys(kit, "q");
	CHECK_STR(kit->app.view->ops->name, "timeline");
	kit_keys(kit, "Esc");
	CHECK(!kit->app.quit && kit_shows(kit, "q leaves"));
	kit_keys(kit, "q");
	CHECK(kit->app.quit && !kit->app.view);
	kit_screen(kit, 80, 24, 256, 0);
	kit_keys(kit, "t Q");
	CHECK(kit->app.quit);
	kit_close(kit);
}

TEST(keys_that_mean_nothing)
{
	struct kit *kit = kit_open(kit_rl_run(), NULL);

	kit_screen(kit, 80, 24, 256, 0);
	kit_keys(kit, "x");
	CHECK(kit_shows(kit, "x is no key here (? has the keys)"));
	kit_keys(kit, "n");
	CHECK(kit_shows(kit, "press /"));
	kit_keys(kit, "? H");
	CHECK(kit_shows(kit, "H does nothing in this view"));
	kit_keys(kit, "/");
	CHECK(!kit->app.prompt.open && kit_shows(kit, "/ does nothing in this view"));
	kit_close(kit);
}

/* Each view that has rows says which hit of the search this is. */
TEST(every_list_is_searched)
{
	static const char *const ways[] = { "r", "d", "2 3 Enter", "Enter", "t", "M" };
	struct kit *kit = kit_open(kit_rl_run(), NULL);
	size_t i;

	kit_screen(kit, 80, 24, 256, 0);
	kit_keys(kit, "m { { m");
	for (i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		kit_keys(kit, ways[i]);
		kit_keys(kit, "/ p y Enter");
		CHECK(kit_shows(kit, "\"py\": "));
		kit_keys(kit, "n N / z z y Enter");
		CHECK(kit_shows(kit, "\"zzy\" in it"));
		kit_keys(kit, "q");
	}
	kit_close(kit);
}

/* A row without a place opens itself: the smallest screen tells all of it. */
TEST(a_row_is_read_on_the_smallest_screen)
{
	struct kit *kit = kit_open(kit_rl_run(), NULL);

	kit_screen(kit, 40, 10, 256, 0);
	ask_for(kit, ":",
		"SELECT step, closed_by AS a, closed_by AS b, closed_by AS c, closed_by AS d, process FROM step");
	CHECK(!kit_shows(kit, "process: 1\n"));
	kit_keys(kit, "Enter");
	CHECK(kit_shows(kit, "step: 1\n") && kit_shows(kit, "process: 1\n"));
	kit_keys(kit, "Down");
	CHECK(kit_shows(kit, "step: 2\n"));
	kit_keys(kit, "q");
	CHECK(!kit_shows(kit, "process: 1\n") && kit_shows(kit, "step  a "));
	kit_keys(kit, "q a Enter");
	CHECK(kit_shows(kit, "\nwith: torch.utils.checkpoint.checkpoint\n"));
	kit_close(kit);
}

static void answer_write(struct kit *kit, const char *name)
{
	kit_keys(kit, "w ^U");
	kit_type(kit, name);
	kit_keys(kit, "Enter");
}

TEST(the_screen_as_a_file)
{
	struct kit *kit = kit_open(kit_rl_run(), NULL);
	char *screen, *file;

	kit_screen(kit, 80, 24, 256, 0);
	screen = kit_dump(kit);
	kit_keys(kit, "w");
	CHECK(kit_shows(kit, "memana-screen.txt"));
	kit_keys(kit, "Enter");
	CHECK(kit_shows(kit, "wrote 24 lines to memana-screen.txt"));
	file = kit_read_text("memana-screen.txt");
	CHECK_STR(file, screen);
	free(file);

	/* An existing file stays, unless the person says otherwise. */
	kit_write_text("mine.txt", "mine\n");
	answer_write(kit, "mine.txt");
	CHECK(kit_shows(kit, "overwrite it (y, n)?"));
	kit_keys(kit, "n Enter");
	CHECK(kit_shows(kit, "nothing was written"));
	file = kit_read_text("mine.txt");
	CHECK_STR(file, "mine\n");
	free(file);
	answer_write(kit, "mine.txt");
	kit_keys(kit, "y Enter");
	file = kit_read_text("mine.txt");
	CHECK_STR(file, screen);
	free(file);
	free(screen);
	answer_write(kit, "nowhere/screen.txt");
	CHECK(kit_shows(kit, "nowhere/screen.txt: No such file or directory"));
	kit_close(kit);
}

/* ---- one list makes keys, help and manual ---------------------------------------------------------------------- */

/* `text` without the marks of troff: "\-" is "-", "\e" is "\". */
static char *plain_manual(void)
{
	char path[600], *text, *from, *to;

	snprintf(path, sizeof(path), "%s/docs/man/memana.1", kit_tree());
	text = kit_read_text(path);
	for (from = to = text; *from; from++) {
		if (*from == '\\' && from[1])
			from++;
		*to++ = *from == '\n' ? ' ' : *from;
	}
	*to = '\0';
	return text;
}

TEST(every_request_is_in_the_manual)
{
	char *manual = plain_manual(), word[16], other[16], entry[300];
	int i, missing = 0;

	for (i = REQUEST_NONE + 1; i < REQUEST_MOUSE; i++) {
		const struct request_entry *request = &request_entries[i];

		request_key_word(word, request->key);
		if (request->other)
			snprintf(entry, sizeof(entry), ".It Ic &%s , &%s %s", word,
				 request_key_word(other, request->other), request->words);
		else
			snprintf(entry, sizeof(entry), ".It Ic &%s %s", word, request->words);
		if (!strstr(manual, entry)) {
			printf("# not in docs/man/memana.1: %s\n", entry);
			missing++;
		}
	}
	free(manual);
	CHECK_EQ(missing, 0);
}

TEST(every_request_is_in_the_help)
{
	struct kit *kit = kit_open(kit_rl_run(), NULL);
	char word[16];
	int i;

	kit_screen(kit, 120, 100, 256, 0);
	kit_keys(kit, "?");
	for (i = REQUEST_NONE + 1; i < REQUEST_MOUSE; i++) {
		CHECK(kit_shows(kit, request_entries[i].words));
		CHECK(kit_shows(kit, request_key_word(word, request_entries[i].key)));
	}
	kit_close(kit);
}

TEST_MAIN()
