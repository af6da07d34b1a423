/* The small parts of the screen: keys, lists, the scale of time, where things lie, the prompt. */
#include <string.h>
#include "memtrace/base.h"
#include "screen/draw/layout.h"
#include "screen/draw/scale.h"
#include "screen/input/list.h"
#include "screen/input/prompt.h"
#include "screen/input/request.h"
#include "test.h"

static uint64_t seed = 1;

static uint64_t any(uint64_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 20) % below;
}

/* ---- keys ---- */

TEST(every_key_means_one_thing)
{
	int i, j;

	for (i = REQUEST_NONE + 1; i < REQUEST_MOUSE; i++) {
		CHECK_EQ(request_of_key(request_entries[i].key), i);
		if (request_entries[i].other)
			CHECK_EQ(request_of_key(request_entries[i].other), i);
		for (j = REQUEST_NONE + 1; j < i; j++) {
			CHECK(request_entries[i].key != request_entries[j].key);
			CHECK(request_entries[i].key != request_entries[j].other);
			CHECK(!request_entries[i].other || request_entries[i].other != request_entries[j].key);
			CHECK(!request_entries[i].other || request_entries[i].other != request_entries[j].other);
		}
	}
	CHECK_EQ(request_of_key(0), REQUEST_NONE);
	CHECK_EQ(request_of_key('X'), REQUEST_NONE);
}

TEST(every_key_has_a_word_that_names_it)
{
	char word[16];
	int i;

	for (i = REQUEST_NONE + 1; i < REQUEST_MOUSE; i++)
		CHECK_EQ(request_key_of_word(request_key_word(word, request_entries[i].key)), request_entries[i].key);
	CHECK_STR(request_key_word(word, KEY_CODE_PAGE_UP), "PgUp");
	CHECK_STR(request_key_word(word, 'L' - '@'), "^L");
	CHECK_STR(request_key_word(word, ' '), "Space");
	CHECK_EQ(request_key_of_word("Enter"), KEY_CODE_ENTER);
	CHECK_EQ(request_key_of_word("nonsense"), 0);
	CHECK_EQ(request_key_of_word(""), 0);
}

/* ---- lists ---- */

static void check_list(const struct list *list)
{
	CHECK(!list->rows || list->chosen < list->rows);
	CHECK(list->first <= list->chosen);
	if (list->height > 0)
		CHECK(list->chosen - list->first < (uint32_t)list->height);
	if (list->rows > (uint32_t)list->height)
		CHECK(list->first + (uint32_t)list->height <= list->rows);
	else
		CHECK_EQ(list->first, 0);
}

TEST(the_chosen_row_stays_in_sight)
{
	static const enum request moves[] = { REQUEST_UP,        REQUEST_DOWN,  REQUEST_PAGE_UP,
					      REQUEST_PAGE_DOWN, REQUEST_FIRST, REQUEST_LAST };
	struct list list = { 0 };
	int i;

	for (i = 0; i < 20000; i++) {
		if (any(10) == 0)
			list_fit(&list, (uint32_t)any(60), 1 + (int)any(20));
		else if (any(10) == 0)
			list_choose(&list, (uint32_t)any(80));
		else
			CHECK_EQ(list_request(&list, moves[any(6)]), 1);
		check_list(&list);
	}
	CHECK_EQ(list_request(&list, REQUEST_HELP), 0);
}

TEST(a_page_is_the_height_but_one)
{
	struct list list = { 0 };

	list_fit(&list, 100, 10);
	list_request(&list, REQUEST_PAGE_DOWN);
	CHECK_EQ(list.chosen, 9);
	list_request(&list, REQUEST_PAGE_DOWN);
	CHECK_EQ(list.chosen, 18);
	CHECK_EQ(list.first, 9);
	CHECK_EQ(list_row_at(&list, 9), 18);
	CHECK_EQ(list_row_at(&list, 10), -1);
	CHECK_EQ(list_row_at(&list, -1), -1);
	list_request(&list, REQUEST_LAST);
	CHECK_EQ(list.chosen, 99);
	CHECK_EQ(list.first, 90);
	list_fit(&list, 3, 10);
	CHECK_EQ(list.chosen, 2);
	CHECK_EQ(list_row_at(&list, 3), -1);
}

/* ---- the scale ---- */

static void check_scale(const struct scale *scale)
{
	int column;

	CHECK(scale->first <= scale->from && scale->from < scale->to && scale->to <= scale->last);
	CHECK(scale->from <= scale->cursor && scale->cursor < scale->to);
	column = scale_column(scale, scale->cursor);
	CHECK(column >= 0 && column < scale->columns);
	if (scale->to - scale->from >= scale->columns) {
		CHECK(scale_time(scale, column) <= scale->cursor);
		CHECK(scale_time(scale, column + 1) > scale->cursor);
	}
}

/* Any time that a trace may say, and those around the bounds. */
static int64_t any_time(const struct scale *scale)
{
	static const int64_t times[] = {
		INT64_MIN, -1, 0, 1, INT64_MAX / 2, INT64_MAX - 1000, INT64_MAX - 1, INT64_MAX
	};
	int64_t at = scale->first + (int64_t)(any(1000) * (uint64_t)((scale->last - scale->first) / 1000));

	return any(4) ? scale_later(at, (int64_t)any(1000) - 500) : times[any(MT_ARRAY_SIZE(times))];
}

static void walk(struct scale *scale, int steps)
{
	int64_t at;

	for (; steps; steps--) {
		at = any_time(scale);
		switch (any(9)) {
		case 0:
			scale_zoom(scale, scale->cursor, 1, 2);
			break;
		case 1:
			scale_zoom(scale, at, 2, 1);
			break;
		case 2:
			scale_zoom(scale, scale->cursor, 3, 7);
			break;
		case 3:
			scale_go(scale, at);
			break;
		case 4:
			scale_move(scale, (int)any(9) - 4);
			break;
		case 5:
			scale_span(scale, at, any(3) ? scale_later(at, (int64_t)any(100000)) : any_time(scale));
			break;
		case 6:
			scale_resize(scale, (int)any(300));
			break;
		case 7:
			scale_extend(scale, scale->first, scale_later(scale->last, (int64_t)any(1000)));
			break;
		default:
			if (any(20) == 0)
				scale_all(scale);
		}
		check_scale(scale);
	}
}

TEST(any_walk_stays_inside_the_run)
{
	static const int64_t run[][2] = {
		{ -50, (int64_t)1 << 50 },
		{ 0, 0 },
		{ 7, 7 },
		{ 0, INT64_MAX },
		{ INT64_MIN, INT64_MAX },
		{ INT64_MAX, INT64_MAX },
		{ INT64_MAX - 3, INT64_MAX },
		{ INT64_MIN, INT64_MIN },
		{ 916320, 9223372036841144320 },
		{ INT64_MAX, 0 },
		{ INT64_MAX / 2, INT64_MAX - 10 },
	};
	struct scale scale;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(run); i++) {
		scale_init(&scale, run[i][0], run[i][1], 80);
		check_scale(&scale);
		walk(&scale, 5000);
	}
}

TEST(a_column_is_where_its_times_are)
{
	struct scale scale;
	int column;

	scale_init(&scale, 0, 1000003, 77);
	for (column = 0; column < 77; column++) {
		CHECK_EQ(scale_column(&scale, scale_time(&scale, column)), column);
		CHECK_EQ(scale_column(&scale, scale_time(&scale, column + 1) - 1), column);
	}
	CHECK_EQ(scale_column(&scale, -1), -1);
	CHECK_EQ(scale_column(&scale, 1000003), 77);
	CHECK_EQ(scale_time(&scale, 77), 1000003);
}

TEST(zoom_keeps_what_it_zooms_around)
{
	struct scale scale;
	int64_t around = 400000000;
	int i;

	scale_init(&scale, 0, 1000000000, 100);
	scale_go(&scale, around);
	for (i = 0; i < 12; i++) {
		scale_zoom(&scale, around, 1, 2);
		CHECK_EQ(scale_column(&scale, around), 40);
	}
	for (i = 0; i < 40; i++)
		scale_zoom(&scale, around, 1, 2);
	CHECK_EQ(scale.to - scale.from, 100); /* a column is 1 ns at least */
	for (i = 0; i < 60; i++)
		scale_zoom(&scale, around, 2, 1);
	CHECK(scale_is_all(&scale));
}

TEST(moving_beyond_the_edge_moves_the_view)
{
	struct scale scale;

	scale_init(&scale, 0, 1000, 10);
	scale_span(&scale, 500, 600);
	CHECK_EQ(scale.cursor, 500);
	scale_move(&scale, -1);
	CHECK_EQ(scale.from, 490);
	CHECK_EQ(scale.cursor, 490);
	scale_move(&scale, 9);
	CHECK_EQ(scale.from, 490);
	CHECK_EQ(scale.cursor, 580);
	scale_move(&scale, 3);
	CHECK_EQ(scale.from, 520);
	CHECK_EQ(scale.cursor, 610);
	scale_move(&scale, -1000);
	CHECK_EQ(scale.from, 0);
	CHECK_EQ(scale.cursor, 0);
	scale_move(&scale, 1000);
	CHECK_EQ(scale.to, 1000);
	CHECK_EQ(scale.cursor, 990);
}

TEST(who_sees_the_whole_run_goes_on_seeing_it)
{
	struct scale scale;

	scale_init(&scale, 0, 1000, 10);
	scale_extend(&scale, 0, 2000);
	CHECK_EQ(scale.to, 2000);
	scale_zoom(&scale, 0, 1, 2);
	scale_extend(&scale, 0, 4000);
	CHECK_EQ(scale.to, 1000);
	CHECK_EQ(scale.last, 4000);
}

TEST(axis_marks_are_round)
{
	struct scale scale;

	scale_init(&scale, 0, 9800000000, 70);
	CHECK_EQ(scale_tick(&scale, 10), 2000000000); /* 1.4 s would do */
	scale_span(&scale, 0, 70);
	CHECK_EQ(scale_tick(&scale, 10), 10);
	CHECK_EQ(scale_tick(&scale, 11), 20);
	CHECK_EQ(scale_top(0), 1);
	CHECK_EQ(scale_top(65), 80);
	CHECK_EQ(scale_top(66ull << 30), 80ull << 30);
	CHECK_EQ(scale_top((80ull << 30) + 1), 100ull << 30);
	CHECK_EQ(scale_top(1024), 1024);
	CHECK_EQ(scale_top(1025), 2048);
	CHECK(scale_top(UINT64_MAX) == UINT64_MAX);
}

TEST(heights_are_rounded_but_never_to_nothing)
{
	CHECK_EQ(scale_height(0, 100, 10, 8), 0);
	CHECK_EQ(scale_height(1, 1000000, 10, 8), 1);
	CHECK_EQ(scale_height(50, 100, 10, 8), 40);
	CHECK_EQ(scale_height(100, 100, 10, 8), 80);
	CHECK_EQ(scale_height(200, 100, 10, 8), 80);
	CHECK_EQ(scale_height(UINT64_MAX - 1, UINT64_MAX, 60, 8), 480);
	CHECK_EQ(scale_height(5, 0, 10, 8), 0);
	CHECK_EQ(scale_height(5, 10, 0, 8), 0);
}

/* ---- where things lie ---- */

/* A part that is there lies inside the screen, right below the one before it. */
static void check_part(const struct layout_part *part, int width, int *y)
{
	CHECK(part->height >= 0);
	if (!part->height)
		return;
	CHECK_EQ(part->y, *y);
	CHECK(part->x >= 0 && part->width > 0 && part->x + part->width == width);
	*y += part->height;
}

TEST(parts_fill_the_screen_at_any_size)
{
	struct layout layout;
	int width, height, bands, y;

	for (width = 1; width <= 220; width += 3) {
		for (height = 1; height <= 70; height++) {
			for (bands = 0; bands < 12; bands += 3) {
				layout = layout_make(width, height, (struct layout_wants){ bands, bands / 3, 2 });
				CHECK_EQ(layout.too_small, width < 40 || height < 10);
				if (layout.too_small)
					continue;
				y = 0;
				check_part(&layout.verdict, width, &y);
				check_part(&layout.chart, width, &y);
				check_part(&layout.band, width, &y);
				check_part(&layout.steps, width, &y);
				check_part(&layout.times, width, &y);
				check_part(&layout.legend, width, &y);
				check_part(&layout.table, width, &y);
				check_part(&layout.status, width, &y);
				CHECK_EQ(y, height);
				CHECK(layout.chart.height >= 3 && layout.table.height >= 2 &&
				      layout.status.height == 1);
				CHECK_EQ(layout.axis.height, layout.axis.width ? layout.chart.height : 0);
				CHECK_EQ(layout.axis.width + layout.chart.width, width);
				CHECK(!bands == !layout.band.height);
			}
		}
	}
}

TEST(the_usual_terminal_has_everything)
{
	struct layout layout = layout_make(80, 24, (struct layout_wants){ 1, 2, 2 });

	CHECK_EQ(layout.axis.width, 9);
	CHECK(layout.chart.height >= 8);
	CHECK(layout.band.height == 1 && layout.steps.height == 1 && layout.times.height == 1);
	CHECK(layout.legend.height >= 1);
	CHECK(layout.table.height >= 5);
	CHECK_EQ(layout.verdict.height, 2);
}

TEST(rows_go_to_who_has_a_use_for_them)
{
	struct layout little = layout_make(120, 40, (struct layout_wants){ 1, 1, 1 }),
		      much = layout_make(120, 40, (struct layout_wants){ 1, 9, 9 }),
		      small = layout_make(40, 10, (struct layout_wants){ 1, 9, 9 });

	CHECK(little.verdict.height == 1 && little.legend.height == 1);
	CHECK(much.verdict.height == LAYOUT_VERDICT_MOST && much.legend.height == LAYOUT_LEGEND_MOST);
	CHECK_EQ(little.chart.height + little.table.height, much.chart.height + much.table.height + 4);
	CHECK(small.verdict.height == 1 && small.legend.height == 1);
	CHECK_EQ(layout_make(80, 24, (struct layout_wants){ 1, 3, 2 }).verdict.height, 3);
}

/* ---- the prompt ---- */

static void type(struct prompt *prompt, const char *text)
{
	while (*text)
		CHECK_EQ(prompt_key(prompt, *text++), PROMPT_GOES_ON);
}

TEST(a_line_is_edited)
{
	struct prompt prompt = { 0 };

	prompt_open(&prompt, "/", "");
	type(&prompt, "hello world");
	prompt_key(&prompt, 'W' - '@');
	CHECK_STR(prompt.text, "hello ");
	prompt_key(&prompt, KEY_CODE_HOME);
	prompt_key(&prompt, KEY_CODE_DELETE);
	prompt_key(&prompt, 'j');
	CHECK_STR(prompt.text, "jello ");
	prompt_key(&prompt, KEY_CODE_END);
	prompt_key(&prompt, KEY_CODE_BACKSPACE);
	prompt_key(&prompt, 0xe9); /* e with an acute accent */
	CHECK_STR(prompt.text, "jello\xc3\xa9");
	prompt_key(&prompt, KEY_CODE_LEFT);
	prompt_key(&prompt, 0x1f600);
	CHECK_STR(prompt.text, "jello\xf0\x9f\x98\x80\xc3\xa9");
	prompt_key(&prompt, KEY_CODE_BACKSPACE);
	CHECK_STR(prompt.text, "jello\xc3\xa9");
	prompt_key(&prompt, 'U' - '@');
	CHECK_STR(prompt.text, "\xc3\xa9");
	CHECK_EQ(prompt_key(&prompt, KEY_CODE_ENTER), PROMPT_DONE);
	CHECK_EQ(prompt.open, 0);
	CHECK_STR(prompt.text, "\xc3\xa9");
	prompt_release(&prompt);
}

TEST(a_line_that_is_too_long_stops_growing)
{
	struct prompt prompt = { 0 };
	unsigned i;

	prompt_open(&prompt, "/", "");
	for (i = 0; i < PROMPT_TEXT_MAX + 100; i++)
		prompt_key(&prompt, 0xe9);
	CHECK(prompt.size < PROMPT_TEXT_MAX);
	CHECK_EQ(strlen(prompt.text), prompt.size);
	prompt_release(&prompt);
}

TEST(lines_are_remembered)
{
	struct prompt prompt = { 0 };
	char line[32];
	int i;

	for (i = 0; i < 40; i++) {
		snprintf(line, sizeof(line), "line %d", i);
		prompt_open(&prompt, "/", line);
		CHECK_EQ(prompt_key(&prompt, KEY_CODE_ENTER), PROMPT_DONE);
	}
	prompt_open(&prompt, "/", "");
	prompt_key(&prompt, KEY_CODE_UP);
	CHECK_STR(prompt.text, "line 39");
	for (i = 0; i < 100; i++)
		prompt_key(&prompt, KEY_CODE_UP);
	CHECK_STR(prompt.text, "line 8");
	for (i = 0; i < 100; i++)
		prompt_key(&prompt, KEY_CODE_DOWN);
	CHECK_STR(prompt.text, "");
	CHECK_EQ(prompt_key(&prompt, KEY_CODE_ESCAPE), PROMPT_GIVEN_UP);
	prompt_release(&prompt);
}

TEST_MAIN()
