/* The first screen: what it says of a run, and what keys and the mouse do there. Golden ones: test_tui_screens.c. */
#include "test.h"

#include "canvas_kit.h"
#include "memtrace/phase.h"
#include "screen/view/app.h"
#include "screen/view/timeline.h"

#define GIB (1ull << 30)
#define SEC 1000000000ll

/* ---- a run: a trainer and an engine on one GPU ---- */

enum { WEIGHTS = 1, ACTIVATIONS, KV_CACHE };

static void add_site(struct model *model, uint32_t number, uint32_t process, int phase, int category,
		     const char *function, const char *place)
{
	struct model_site site = { .process = process,
				   .phase = (uint8_t)phase,
				   .category = (uint8_t)category,
				   .function = function,
				   .place = place,
				   .most = GIB };

	CHECK_EQ(model_add_site(model, number, &site), 0);
}

static void add_span(struct model *model, uint32_t process, int64_t first, int64_t last, int phase)
{
	struct model_span span = { first * SEC, last * SEC, process, 1, (uint8_t)phase };

	CHECK_EQ(model_add_span(model, &span), 0);
}

static void add_event(struct model *model, int64_t time, uint32_t site, int slack, int64_t gib, int count)
{
	CHECK_EQ(tape_add(model->tape, time * SEC, TAPE_CELL(site, slack), gib * (int64_t)GIB, count), 0);
}

/* 10 s: weights from 1 s on, activations from 4 s to 8 s, the engine's cache from 2 s on; the peak is at 5 s. */
static void make_run(struct model *model)
{
	struct model_device device = { .kind = MT_DEVICE_CUDA, .name = "H100", .total = 80 * GIB };
	struct model_process trainer = { .pid = 10, .rank = 0, .file = "/data/train.zst" },
			     engine = { .pid = 4242, .rank = -1, .file = "engine.zst" };

	CHECK_EQ(model_init(model), 0);
	CHECK(!model_add_device(model, &device) && !model_add_process(model, &trainer) &&
	      !model_add_process(model, &engine));
	add_site(model, WEIGHTS, 0, MT_PHASE_INIT, MT_CATEGORY_WEIGHTS, "load_model", "model.py:12");
	add_site(model, ACTIVATIONS, 0, MT_PHASE_FORWARD, MT_CATEGORY_ACTIVATIONS, "forward", "attention.py:95");
	add_site(model, KV_CACHE, 1, MT_PHASE_ROLLOUT, MT_CATEGORY_KV_CACHE, "allocate", "engine.py:88");
	add_span(model, 0, 0, 3, MT_PHASE_INIT);
	add_span(model, 0, 3, 10, MT_PHASE_FORWARD);
	add_span(model, 1, 0, 10, MT_PHASE_ROLLOUT);
	add_event(model, 1, WEIGHTS, 0, 10, 7);
	add_event(model, 2, KV_CACHE, 0, 30, 1);
	add_event(model, 4, ACTIVATIONS, 0, 16, 2);
	add_event(model, 5, ACTIVATIONS, 1, 4, 0);
	add_event(model, 8, ACTIVATIONS, 0, -16, -2);
	add_event(model, 10, WEIGHTS, 0, 1, 1);
	model->events = tape_settle(model->tape);
	model->last_time = 10 * SEC;
	model->device[0].peak = 60 * GIB;
	model->device[0].peak_time = 5 * SEC;
	model->state = MODEL_READ;
	model->verdict = "Peak 60.0 GiB of 80.0 GiB.";
}

struct screen {
	struct model model;
	struct app app;
};

static void refresh(struct screen *screen)
{
	while (app_tick(&screen->app, 1000))
		;
	app_draw(&screen->app);
}

static struct screen *screen_of(int width, int height, int colours, int ascii)
{
	struct screen *screen = calloc(1, sizeof(*screen));

	make_run(&screen->model);
	CHECK_EQ(app_init(&screen->app, &screen->model, NULL, width, height, colours, ascii), 0);
	refresh(screen);
	return screen;
}

static void screen_free(struct screen *screen)
{
	app_release(&screen->app);
	model_release(&screen->model);
	free(screen);
}

static void press(struct screen *screen, int key)
{
	struct input input = { .kind = INPUT_KEY, .key = key };

	app_input(&screen->app, &input);
	refresh(screen);
}

static void mouse(struct screen *screen, enum mouse_button button, int x, int y)
{
	struct input input = { .kind = INPUT_MOUSE, .button = button, .x = x, .y = y };

	app_input(&screen->app, &input);
	refresh(screen);
}

static const char *text_of(const struct screen *screen)
{
	return dump_with(canvas_dump, &screen->app.canvas);
}

static int shows(const struct screen *screen, const char *words)
{
	return strstr(text_of(screen), words) != NULL;
}

#define CHECK_SHOWS(screen, words)                     \
	do {                                           \
		if (!shows(screen, words))             \
			printf("%s", text_of(screen)); \
		CHECK(shows(screen, words));           \
	} while (0)

/* The row of the screen whose text has the words in it. */
static int row_with(const struct screen *screen, const char *words)
{
	const char *text = text_of(screen), *at = strstr(text, words);
	size_t i, before;
	int row = 0;

	CHECK(at);
	before = (size_t)(at - text);
	for (i = 0; i < before; i++)
		row += text[i] == '\n';
	return row;
}

static struct timeline *timeline_of(struct screen *screen)
{
	return (struct timeline *)screen->app.view;
}

static const struct liveset_row *chosen(struct screen *screen)
{
	CHECK(timeline_of(screen)->table.chosen < screen->app.live.rows);
	return &screen->app.live.row[timeline_of(screen)->table.chosen];
}

/* ---- what it says ---- */

TEST(the_verdict_comes_first)
{
	struct screen *screen = screen_of(80, 24, 256, 0);

	CHECK_EQ(row_with(screen, "Peak 60.0 GiB of 80.0 GiB."), 0);
	CHECK_EQ(cell(&screen->app.canvas, 0, 0)->style, STYLE_BOLD);
	screen->model.verdict =
		"Peak 60.0 GiB of 80.0 GiB, and some more words about it that do not fit into one "
		"row at all, nor into two rows of a terminal that has as few columns as this one does, whatever "
		"anybody may say of it: there is more than three rows hold.";
	refresh(screen);
	CHECK_SHOWS(screen, "do not fit into one\nrow at all");
	CHECK_SHOWS(screen, "\ndoes, whatever anybody may say of it: there is more than three rows hold.\n");
	screen_free(screen);
}

/* The error that a run died of, and the asker, have a row of their own. */
TEST(out_of_memory_is_said_with_the_verdict)
{
	struct screen *screen = screen_of(80, 24, 256, 0);
	struct model_oom oom = { .time = 6 * SEC, .requested = 20 * GIB, .phase = MT_PHASE_FORWARD };

	CHECK_EQ(model_add_oom(&screen->model, &oom), 0);
	refresh(screen);
	CHECK_EQ(row_with(screen, "Out of memory: 20.0 GiB asked for by rank 0 in forward at 6.0 s\n"), 1);
	CHECK_EQ(cell(&screen->app.canvas, 0, 1)->style, STYLE_BAD);
	oom = (struct model_oom){ .time = 9 * SEC, .requested = 30 * GIB, .process = 1, .phase = MT_PHASE_ROLLOUT };
	CHECK_EQ(model_add_oom(&screen->model, &oom), 0);
	refresh(screen);
	CHECK_EQ(row_with(screen, "Out of memory (2 times): 30.0 GiB asked for by pid 4242 in rollout at 9.0 s\n"), 1);
	screen->model.oom[0].device = screen->model.oom[1].device = 1;
	refresh(screen);
	CHECK_SHOWS(screen, "\nOut of memory on GPU 1 (press D): 30.0 GiB asked for by pid 4242");
	screen_free(screen);
}

/* The place at the end is what somebody looks for. */
TEST(a_verdict_without_room_is_cut_in_the_middle)
{
	struct screen *screen = screen_of(80, 24, 256, 0);
	struct model_oom oom = { .time = 9 * SEC, .requested = 30 * GIB, .phase = MT_PHASE_FORWARD };

	screen->model.verdict = "Peak 77.0 GiB of 80.0 GiB (96%) at 7.2 s, in rollout of step 4. 34% of it is memory of "
				"no known purpose, allocated in rollout, by allocate_kv_cache (engine.py:88).";
	screen->model.device[0].growing = "Growing: keep (train.py:77) keeps 2.0 MiB more with every step.";
	refresh(screen);
	CHECK_EQ(row_with(screen, "\n(engine.py:88).\n"), 1);
	CHECK_EQ(model_add_oom(&screen->model, &oom), 0);
	refresh(screen);
	CHECK_SHOWS(screen, "\nmemory of no known purpose, allocated ... by allocate_kv_cache (engine.py:88).\nOut of");
	screen_free(screen);
}

TEST(while_reading_it_says_how_far_it_is)
{
	struct screen *screen = screen_of(80, 24, 256, 0);

	screen->model.state = MODEL_READING;
	screen->model.bytes_read = 42;
	screen->model.bytes_total = 100;
	refresh(screen);
	CHECK_EQ(row_with(screen, "Reading 2 traces  42%  6 events  (q leaves)"), 0);
	screen->model.processes = 1;
	screen->model.events = 4100000;
	app_draw(&screen->app);
	CHECK_EQ(row_with(screen, "Reading train.zst  42%  4.1 M events  (q leaves)"), 0);
	screen->model.outlined = 1; /* the verdict is known already */
	app_draw(&screen->app);
	CHECK_EQ(row_with(screen, "Peak 60.0 GiB of 80.0 GiB."), 0);
	CHECK_SHOWS(screen, "  outline, reading 42%  ");
	app_input(&screen->app, &(struct input){ .kind = INPUT_RESIZE, .x = 40, .y = 10 });
	app_draw(&screen->app);
	CHECK_SHOWS(screen, " outline, reading 42%  ");
	CHECK_SHOWS(screen, "  q quit\n");
	screen->model.processes = 2;
	screen_free(screen);
}

TEST(what_is_wrong_with_the_traces_is_said)
{
	struct screen *screen = screen_of(80, 24, 256, 0), *small = screen_of(40, 10, 256, 0);

	snprintf(screen->model.unended, sizeof(screen->model.unended), "train.zst ends at 1 s without an end mark");
	snprintf(small->model.unended, sizeof(small->model.unended), "train.zst ends at 1 s without an end mark");
	refresh(screen);
	CHECK_EQ(row_with(screen, screen->model.unended), 1);
	refresh(small);
	CHECK_EQ(row_with(small, "not complete\n"), 0);
	screen->model.lost = small->model.lost = 1234;
	*screen->model.unended = '\0';
	refresh(screen);
	CHECK_EQ(row_with(screen, "1,234 events lost while recording"), 1);
	CHECK_EQ(cell(&screen->app.canvas, 0, 1)->style, STYLE_WARN);
	refresh(small);
	CHECK_EQ(row_with(small, "Peak 60.0 GiB of 8...  1,234 events lost\n"), 0);
	snprintf(screen->model.trouble, sizeof(screen->model.trouble), "train.zst: a checksum does not match");
	refresh(screen);
	CHECK_EQ(row_with(screen, "train.zst: a checksum does not match; 1,234 events lost while recording"), 1);
	CHECK_EQ(cell(&screen->app.canvas, 0, 1)->style, STYLE_BAD);
	screen->model.verdict = "A verdict that takes all four rows: it has a great number of words, many more than a "
				"verdict of one device should ever have to have, on any screen, in any terminal, ever, "
				"that there is, whatever one does, no room left for what is wrong.";
	refresh(screen);
	CHECK_SHOWS(screen, "\nwrong.                                                                   damaged\n");
	screen_free(small);
	screen_free(screen);
}

TEST(the_table_says_what_is_alive_at_the_cursor)
{
	struct screen *screen = screen_of(80, 24, 256, 0);

	/* The cursor begins at the peak. */
	CHECK_SHOWS(screen, "\nAlive at 5.00 s, pid 4242 in rollout: 60.0 GiB of 80.0 GiB, 10 allocations\n");
	CHECK_SHOWS(screen, "\n       size share category        place\n");
	CHECK_SHOWS(screen, "\nr  30.0 GiB   50% kv cache        pid 4242  engine.py:88 allocate\n"
			    "f  16.0 GiB   27% activations     rank 0  attention.py:95 forward\n"
			    "i  10.0 GiB   17% weights         rank 0  model.py:12 load_model\n"
			    "~   4.0 GiB  6.7% allocator slack rank 0  attention.py:95 forward\n");
	scale_go(&screen->app.scale, 9 * SEC);
	refresh(screen);
	CHECK_SHOWS(screen, "44.0 GiB of 80.0 GiB, 8 allocations\n");
	CHECK_SHOWS(screen, "\nr rollout 30.0 GiB  i init 10.0 GiB  ~ slack 4.0 GiB  f forward\n");
	scale_go(&screen->app.scale, 0);
	refresh(screen);
	CHECK_SHOWS(screen, "nothing is alive here\n");
	screen_free(screen);
}

/* Columns that would hide the place are there when they tell something that is not seen elsewhere. */
TEST(the_table_makes_room_for_the_place)
{
	struct screen *screen = screen_of(80, 24, 256, 0);

	press(screen, 'c');
	CHECK_SHOWS(screen, "\n       size share phase         category        place\n");
	press(screen, 's');
	CHECK_SHOWS(screen, "\n       size share   count phase         category        place\n"
			    "w  10.0 GiB   17%       7 init          weights         rank 0  model.py:12\n");
	screen->model.site[KV_CACHE].function = screen->model.site[KV_CACHE].place = "";
	press(screen, 's');
	CHECK_SHOWS(screen, " kv cache        pid 4242  no stack was recorded\n");
	press(screen, 'c');
	press(screen, 'c');
	CHECK_SHOWS(screen, "\n0  10.0 GiB   17% init          weights         model.py:12 load_model\n");
	screen_free(screen);
}

TEST(a_wider_table_has_more_columns)
{
	struct screen *wide = screen_of(120, 30, 256, 0), *narrow = screen_of(40, 12, 256, 0);

	CHECK_SHOWS(wide, "\n       size share              count phase         category               place\n"
			  "r  30.0 GiB   50% █████            1 rollout       kv cache               pid 4242  "
			  "engine.py:88 allocate\n");
	CHECK_SHOWS(narrow, "\n5.00 s, pid 4242 in rollout: 60.0 GiB\nr  30.0 GiB pid 4242  engine.py:88");
	screen_free(narrow);
	screen_free(wide);
}

TEST(both_processes_have_their_band)
{
	struct screen *screen = screen_of(120, 40, 0, 1), *one = screen_of(80, 24, 0, 1);

	CHECK_SHOWS(screen, "\n  rank 0 init-----");
	CHECK_SHOWS(screen, "-forward---");
	CHECK_SHOWS(screen, "\npid 4242 rollout--");
	/* If only one has room it is that of the chosen row. */
	CHECK_SHOWS(one, "\npid 4242 rollout--");
	press(one, 'j');
	CHECK_SHOWS(one, "\n  rank 0 init-----");
	screen_free(one);
	screen_free(screen);
}

TEST(who_is_zoomed_in_sees_where)
{
	struct screen *screen = screen_of(80, 24, 256, 0);

	CHECK(!shows(screen, " of 10.0 s"));
	scale_span(&screen->app.scale, 4 * SEC, 6 * SEC);
	refresh(screen);
	CHECK_SHOWS(screen, "4.00 s to 6.00 s of 10.0 s\n");
	screen_free(screen);
}

TEST(every_size_and_kind_of_terminal_can_draw_it)
{
	static const int colours[] = { 0, 8, 256 };
	struct model empty;
	struct app app;
	int width, height, ascii, x;
	size_t i;

	for (width = 40; width <= 200; width += 40)
		for (height = 10; height <= 60; height += 10)
			for (i = 0; i < MT_ARRAY_SIZE(colours); i++)
				for (ascii = 0; ascii < 2; ascii++) {
					struct screen *screen = screen_of(width, height, colours[i], ascii);

					CHECK_SHOWS(screen, "Peak 60.0 GiB");
					CHECK_SHOWS(screen, "engine.py:88");
					for (x = 0; ascii && x < width * height; x++)
						CHECK((unsigned char)screen->app.canvas.cell[x].text[0] < 0x80);
					screen_free(screen);
				}
	/* Before anything is known, and before app_tick. */
	CHECK_EQ(model_init(&empty), 0);
	CHECK_EQ(app_init(&app, &empty, NULL, 80, 24, 256, 0), 0);
	app_draw(&app);
	app_tick(&app, 1000);
	app_draw(&app);
	CHECK(strstr(dump_with(canvas_dump, &app.canvas), "nothing is alive here"));
	app_release(&app);
	model_release(&empty);
}

/* ---- keys ---- */

TEST(the_legend_filters)
{
	struct screen *screen = screen_of(80, 24, 256, 0);

	press(screen, KEY_CODE_TAB);
	CHECK_SHOWS(screen, "Enter shows only that");
	press(screen, KEY_CODE_DOWN); /* forward, the second largest */
	press(screen, KEY_CODE_ENTER);
	CHECK_STR(screen->app.filter.text, "phase=forward !allocator-slack");
	CHECK_SHOWS(screen, "only forward is shown");
	CHECK_EQ(screen->app.live.bytes, 16 * GIB); /* as the legend says */
	CHECK_SHOWS(screen, "16.0 GiB of what is shown");
	press(screen, KEY_CODE_ENTER);
	CHECK_STR(screen->app.filter.text, "");
	CHECK_EQ(screen->app.live.bytes, 60 * GIB);
	/* Names with blanks; the category, not what its words mean elsewhere. */
	press(screen, 'c');
	press(screen, 'G');
	CHECK_STR(timeline_of(screen)->entry[timeline_of(screen)->legend.chosen].name, "slack");
	press(screen, KEY_CODE_ENTER);
	CHECK_STR(screen->app.filter.text, "category=allocator-slack");
	CHECK_EQ(screen->app.live.bytes, 4 * GIB);
	press(screen, KEY_CODE_TAB);
	CHECK_EQ(timeline_of(screen)->legend_has_focus, 0);
	screen_free(screen);
}

TEST(a_process_is_hidden_and_comes_back)
{
	struct screen *screen = screen_of(80, 24, 256, 0);

	press(screen, 'H');
	CHECK_EQ(screen->app.hidden, palette_process_bit(1));
	CHECK_EQ(screen->app.live.bytes, 30 * GIB);
	CHECK_SHOWS(screen, "pid 4242 is hidden: Tab to the legend and Enter brings it back");
	CHECK_SHOWS(screen, "- pid 4242 is hidden\n");
	press(screen, KEY_CODE_TAB);
	press(screen, 'G');
	press(screen, KEY_CODE_ENTER);
	CHECK_EQ(screen->app.hidden, 0);
	CHECK_EQ(screen->app.live.bytes, 60 * GIB);
	/* The last one that is shown brings the others back. */
	press(screen, KEY_CODE_TAB);
	press(screen, 'H');
	press(screen, 'H');
	CHECK_EQ(screen->app.hidden, 0);
	CHECK_SHOWS(screen, "all processes are shown again");
	screen_free(screen);
}

TEST(the_only_process_is_not_hidden)
{
	struct screen *screen = screen_of(80, 24, 256, 0);

	screen->model.site[KV_CACHE].process = 0;
	press(screen, 'H');
	CHECK_EQ(screen->app.hidden, 0);
	CHECK_SHOWS(screen, "rank 0 is the only process here");
	screen_free(screen);
}

TEST(search_goes_round)
{
	struct screen *screen = screen_of(80, 24, 256, 0);

	snprintf(screen->app.search, sizeof(screen->app.search), "attention");
	press(screen, 'n');
	CHECK(chosen(screen)->site == ACTIVATIONS && chosen(screen)->category == MT_CATEGORY_ACTIVATIONS);
	press(screen, 'n');
	CHECK(chosen(screen)->site == ACTIVATIONS && chosen(screen)->category == MT_CATEGORY_SLACK);
	press(screen, 'n');
	CHECK_EQ(chosen(screen)->category, MT_CATEGORY_ACTIVATIONS);
	press(screen, 'N');
	CHECK_EQ(chosen(screen)->category, MT_CATEGORY_SLACK);
	snprintf(screen->app.search, sizeof(screen->app.search), "a"); /* all */
	press(screen, 'N');
	CHECK_EQ(chosen(screen)->site, WEIGHTS);
	press(screen, 'N');
	press(screen, 'N');
	press(screen, 'N');
	CHECK_EQ(chosen(screen)->category, MT_CATEGORY_SLACK);
	snprintf(screen->app.search, sizeof(screen->app.search), "nowhere");
	press(screen, 'n');
	CHECK_EQ(chosen(screen)->category, MT_CATEGORY_SLACK);
	CHECK_SHOWS(screen, "no stack of what is alive here has \"nowhere\" in it");
	screen_free(screen);
}

TEST(enter_opens_the_place)
{
	struct screen *screen = screen_of(80, 24, 256, 0);

	press(screen, KEY_CODE_ENTER);
	CHECK(screen->app.view->ops == &view_place_ops);
	press(screen, 'q');
	scale_go(&screen->app.scale, 0);
	refresh(screen);
	press(screen, KEY_CODE_ENTER);
	CHECK(screen->app.view->ops == &view_timeline_ops);
	CHECK_SHOWS(screen, "nothing is alive here");
	screen_free(screen);
}

/* ---- times that no run has ---- */

/* One event or two, at times up to the last that there is: each key and each zoom ends, and the cursor stays in the run. */
TEST(any_time_can_be_drawn)
{
	static const int64_t times[][2] = { { 0, 0 },
					    { INT64_MAX, INT64_MAX },
					    { 0, INT64_MAX },
					    { INT64_MIN, INT64_MAX },
					    { -1, -1 },
					    { (int64_t)1 << 62, INT64_MAX - 1 },
					    { 916320, 9223372036841144320 } };
	static const char keys[] = "p0++++++++++++++++++++lllhh[]{}0---gm0lmz0";
	struct screen *screen = calloc(1, sizeof(*screen));
	struct model_device device = { .kind = MT_DEVICE_CUDA, .total = 80 * GIB, .peak = 2 * GIB };
	struct model_process process = { .pid = 10, .rank = -1, .file = "a.zst" };
	struct model *model = &screen->model;
	size_t i, k;

	alarm(60);
	for (i = 0; i < MT_ARRAY_SIZE(times); i++) {
		CHECK(!model_init(model) && !model_add_device(model, &device) && !model_add_process(model, &process));
		add_site(model, WEIGHTS, 0, MT_PHASE_INIT, MT_CATEGORY_WEIGHTS, "load_model", "model.py:12");
		for (k = 0; k < 2; k++)
			CHECK_EQ(tape_add(model->tape, times[i][k], TAPE_CELL(WEIGHTS, 0), (int64_t)GIB, 1), 0);
		CHECK(!model_add_span(model, &(struct model_span){ times[i][0], times[i][1], 0, 1, MT_PHASE_INIT }) &&
		      !model_add_step(model, &(struct model_step){ times[i][1], 0, 1 }) &&
		      !model_add_oom(model, &(struct model_oom){ .time = times[i][1] }));
		model->events = tape_settle(model->tape);
		model->first_time = times[i][0];
		model->last_time = model->device[0].peak_time = times[i][1];
		model->device[0].peak = 2 * GIB;
		model->state = MODEL_READ;
		model->verdict = "";
		CHECK_EQ(app_init(&screen->app, model, NULL, 80, 24, 256, 0), 0);
		refresh(screen);
		for (k = 0; keys[k]; k++)
			press(screen, keys[k]);
		CHECK(screen->app.scale.from <= screen->app.scale.cursor);
		CHECK(screen->app.scale.cursor < screen->app.scale.to);
		app_release(&screen->app);
		model_release(model);
	}
	free(screen);
}

/* ---- the mouse ---- */

TEST(the_mouse_moves_the_cursor_and_selects)
{
	struct screen *screen = screen_of(80, 24, 256, 0);
	const struct layout_part *chart = &timeline_of(screen)->layout.chart;
	struct scale *scale = &screen->app.scale;

	mouse(screen, MOUSE_PRESS, chart->x + 20, chart->y + 1);
	CHECK_EQ(scale_column(scale, scale->cursor), 20);
	mouse(screen, MOUSE_RELEASE, chart->x + 20, chart->y + 1);
	CHECK(screen->app.mark_a == APP_NO_TIME && screen->app.mark_b == APP_NO_TIME);
	mouse(screen, MOUSE_PRESS, chart->x + 20, chart->y + 1);
	mouse(screen, MOUSE_DRAG, chart->x + 30, 0); /* a drag may leave the chart */
	mouse(screen, MOUSE_RELEASE, chart->x + 40, 0);
	CHECK_EQ(scale_column(scale, screen->app.mark_a), 20);
	CHECK_EQ(scale_column(scale, screen->app.mark_b), 40);
	CHECK_EQ(scale_column(scale, scale->cursor), 40);
	mouse(screen, MOUSE_DRAG, chart->x + 50, chart->y);
	CHECK_EQ(scale_column(scale, screen->app.mark_b), 40);
	mouse(screen, MOUSE_DRAG, 0, 0);
	screen_free(screen);
}

TEST(the_wheel_zooms_around_the_pointer)
{
	struct screen *screen = screen_of(80, 24, 256, 0);
	const struct layout_part *chart = &timeline_of(screen)->layout.chart;
	struct scale *scale = &screen->app.scale;
	int64_t under = scale_time(scale, 50), span = scale->to - scale->from;

	mouse(screen, MOUSE_WHEEL_UP, chart->x + 50, chart->y + 2);
	CHECK_EQ(scale_column(scale, under), 50);
	CHECK(scale->to - scale->from <= span / 2 + 1 && !scale_is_all(scale));
	mouse(screen, MOUSE_WHEEL_DOWN, chart->x + 50, timeline_of(screen)->layout.times.y);
	CHECK(scale_is_all(scale));
	screen_free(screen);
}

TEST(the_mouse_chooses_rows_and_layers)
{
	struct screen *screen = screen_of(80, 24, 256, 0);
	int row = row_with(screen, "model.py:12"), legend = row_with(screen, "r rollout 30.0 GiB");

	press(screen, KEY_CODE_TAB);
	mouse(screen, MOUSE_PRESS, 30, row);
	CHECK_EQ(chosen(screen)->site, WEIGHTS);
	CHECK_EQ(timeline_of(screen)->legend_has_focus, 0);
	mouse(screen, MOUSE_WHEEL_UP, 30, row);
	CHECK_EQ(chosen(screen)->site, ACTIVATIONS);
	mouse(screen, MOUSE_PRESS, 30, row - 3 - 1); /* the heads */
	CHECK_EQ(chosen(screen)->site, ACTIVATIONS);
	mouse(screen, MOUSE_PRESS, 3, legend);
	CHECK_STR(screen->app.filter.text, "phase=rollout !allocator-slack");
	mouse(screen, MOUSE_PRESS, 3, legend);
	CHECK_STR(screen->app.filter.text, "");
	mouse(screen, MOUSE_PRESS, 79, legend);
	CHECK_STR(screen->app.filter.text, "");
	mouse(screen, MOUSE_DOUBLE, 30, row);
	CHECK(screen->app.view->ops == &view_place_ops);
	screen_free(screen);
}

TEST_MAIN()
