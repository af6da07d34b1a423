/* The chart and what stands around it, cell by cell. */
#include "test.h"

#include "canvas_kit.h"
#include "memtrace/phase.h"
#include "screen/draw/chart.h"

#define GIB (1ull << 30)
#define SEC 1000000000ll

/* ---- chart ---- */

static const struct chart_marks no_marks = { -1, -1, -1, -1, -1, NULL, 0, 0 };

/* Layers 0 to 3: the rest and a, b, c. */
static const struct palette letters = { .layers = 4, .letter = { '.', 'a', 'b', 'c' } };

/* A column of a, b, c and the rest, none of which varies. */
static struct series_column parts(uint64_t a, uint64_t b, uint64_t c, uint64_t rest)
{
	uint64_t sum = a + b + c + rest;
	struct series_column column = {
		.max = sum, .min = sum, .used_max = sum, .used_min = sum, .layer = { rest, a, b, c }
	};

	return column;
}

static void draw(struct canvas *canvas, const struct series_column *column, uint64_t top)
{
	chart_draw(canvas_area(canvas), column, &letters, top, &no_marks);
}

static void check_cell(const struct canvas *canvas, int x, int y, const char *text, int style, int behind)
{
	CHECK_STR(cell(canvas, x, y)->text, text);
	CHECK_EQ(cell(canvas, x, y)->style, style);
	CHECK_EQ(cell(canvas, x, y)->behind, behind);
}

TEST(columns_are_drawn_in_eighths)
{
	struct canvas canvas = canvas_of(6, 2, 256, 0);
	struct series_column column[6] = { parts(0, 0, 0, 0), parts(1, 0, 0, 0),  parts(7, 0, 0, 0),
					   parts(8, 0, 0, 0), parts(12, 0, 0, 0), parts(0, 0, 0, 99) };

	draw(&canvas, column, 16);
	CHECK_TEXT(canvas, "    ▄█\n ▁▇███\n");
	CHECK_STYLES(canvas, "....10\n.11110\n");
	check_cell(&canvas, 1, 1, "▁", STYLE_LAYER(1), STYLE_NO_BACKGROUND);
	check_cell(&canvas, 3, 1, "█", STYLE_LAYER(1), STYLE_LAYER(1));
	canvas_release(&canvas);
}

TEST(what_is_beyond_the_top_is_shared_as_the_column_is)
{
	struct canvas canvas = canvas_of(1, 2, 256, 0);
	struct series_column column = parts(24, 8, 0, 0);

	draw(&canvas, &column, 16);
	check_cell(&canvas, 0, 0, "▄", STYLE_LAYER(1), STYLE_LAYER(2));
	check_cell(&canvas, 0, 1, "█", STYLE_LAYER(1), STYLE_LAYER(1));
	canvas_release(&canvas);
}

TEST(a_boundary_between_layers_is_foreground_on_background)
{
	struct canvas canvas = canvas_of(2, 2, 256, 0);
	struct series_column column[2] = { parts(5, 7, 0, 0), parts(0, 3, 0, 13) };

	draw(&canvas, column, 16);
	check_cell(&canvas, 0, 1, "▅", STYLE_LAYER(1), STYLE_LAYER(2));
	check_cell(&canvas, 0, 0, "▄", STYLE_LAYER(2), STYLE_NO_BACKGROUND);
	/* The rest lies on top of all others. */
	check_cell(&canvas, 1, 1, "▃", STYLE_LAYER(2), STYLE_LAYER(0));
	check_cell(&canvas, 1, 0, "█", STYLE_LAYER(0), STYLE_LAYER(0));
	canvas_release(&canvas);
}

static int column_shows(const struct canvas *canvas, int x, int layer)
{
	const struct canvas_cell *at;
	int y, shows = 0;

	for (y = 0; y < canvas->height; y++) {
		at = cell(canvas, x, y);
		shows |= at->style == STYLE_LAYER(layer) || at->behind == STYLE_LAYER(layer);
	}
	return shows;
}

TEST(a_thin_layer_is_not_lost)
{
	struct canvas canvas = canvas_of(4, 4, 256, 0);
	struct series_column column[4] = {
		/* 0.6 of an eighth between two large ones, which rounding of the sums would swallow */
		parts(147, 6, 147, 0),
		/* wholly inside a cell that shows three */
		parts(90, 40, 90, 0),
		/* less than half of an eighth may be lost, and the height stays */
		parts(158, 4, 158, 0),
		/* at the top, with the empty space above as the third */
		parts(100, 10, 0, 0),
	};

	draw(&canvas, column, 320);
	CHECK(column_shows(&canvas, 0, 2) && column_shows(&canvas, 1, 2) && column_shows(&canvas, 3, 2));
	check_cell(&canvas, 0, 0, "▆", STYLE_LAYER(3), STYLE_NO_BACKGROUND);
	check_cell(&canvas, 2, 0, "█", STYLE_LAYER(3), STYLE_LAYER(3));
	check_cell(&canvas, 3, 2, "▃", STYLE_LAYER(2), STYLE_NO_BACKGROUND);
	canvas_release(&canvas);
}

/* Rows that thin layers get beyond their due are taken from thick ones. */
TEST(thick_layers_make_room_for_thin_ones)
{
	struct canvas canvas = canvas_of(1, 4, 256, 0);
	struct series_column column = parts(805, 60, 805, 60);

	draw(&canvas, &column, 3200);
	check_cell(&canvas, 0, 3, "▇", STYLE_LAYER(1), STYLE_LAYER(2));
	check_cell(&canvas, 0, 2, "█", STYLE_LAYER(3), STYLE_LAYER(3));
	check_cell(&canvas, 0, 1, "▁", STYLE_LAYER(0), STYLE_NO_BACKGROUND);
	canvas_release(&canvas);
}

static uint32_t random_number(uint32_t *state, uint32_t below)
{
	*state = *state * 1664525u + 1013904223u;
	return (*state >> 8) % below;
}

/* Eighths of a cell that a column fills; -1: it is no block. */
static int eighths_of(const struct canvas_cell *at)
{
	if (!strcmp(at->text, " ") && at->behind == STYLE_NO_BACKGROUND)
		return 0;
	if (at->behind != STYLE_NO_BACKGROUND)
		return 8;
	return at->text[0] == '\xe2' && at->text[1] == '\x96' ? (unsigned char)at->text[2] - 0x80 : -1;
}

/* Random columns: each is as high as scale_height says, without holes; layers of more than two rows are there. */
TEST(columns_are_as_high_as_the_scale_says)
{
	struct canvas canvas = canvas_of(1, 10, 256, 0);
	struct series_column column;
	uint32_t state = 1, i, layer, layers = 0;
	uint64_t most;
	int y, height, eighths, seen[4];

	for (i = 0; i < 20000; i++) {
		most = 1u << random_number(&state, 13);
		column = parts(random_number(&state, (uint32_t)most), random_number(&state, (uint32_t)most),
			       random_number(&state, (uint32_t)most), random_number(&state, (uint32_t)most));
		column.used_max = column.max;
		column.min = column.used_min = column.max ? random_number(&state, (uint32_t)column.max + 1) : 0;
		canvas_clear(&canvas);
		draw(&canvas, &column, 4096);
		height = 0;
		memset(seen, 0, sizeof(seen));
		for (y = 9; y >= 0; y--) {
			eighths = eighths_of(cell(&canvas, 0, y));
			CHECK(eighths == 8 || (eighths >= 0 && height % 8 == 0) || !eighths);
			CHECK(!eighths || height == (9 - y) * 8);
			height += eighths;
			if (eighths) {
				seen[(cell(&canvas, 0, y)->style - STYLE_COUNT) % STYLE_LAYERS] = 1;
				if (cell(&canvas, 0, y)->behind)
					seen[(cell(&canvas, 0, y)->behind - STYLE_COUNT) % STYLE_LAYERS] = 1;
			}
		}
		CHECK_EQ(height, scale_height(column.max, 4096, 10, 8));
		for (layer = 0; layer < 4; layer++) {
			CHECK(seen[layer] || column.layer[layer] * 5 <= 4096);
			layers += (uint32_t)seen[layer];
		}
	}
	CHECK(layers > 30000);
	canvas_release(&canvas);
}

TEST(what_varies_in_a_column_is_pale)
{
	struct canvas canvas = canvas_of(2, 4, 256, 0), eight = canvas_of(2, 4, 8, 0), none = canvas_of(2, 4, 0, 0);
	struct series_column column[2] = { parts(32, 0, 0, 0), parts(16, 16, 0, 0) };

	column[0].min = column[0].used_min = 12;
	column[1].min = column[1].used_min = 0;
	draw(&canvas, column, 32);
	check_cell(&canvas, 0, 0, "█", STYLE_LAYER_PALE(1), STYLE_LAYER_PALE(1));
	check_cell(&canvas, 0, 2, "▄", STYLE_LAYER(1), STYLE_LAYER_PALE(1));
	check_cell(&canvas, 0, 3, "█", STYLE_LAYER(1), STYLE_LAYER(1));
	check_cell(&canvas, 1, 3, "█", STYLE_LAYER_PALE(1), STYLE_LAYER_PALE(1));
	check_cell(&canvas, 1, 0, "█", STYLE_LAYER_PALE(2), STYLE_LAYER_PALE(2));
	draw(&eight, column, 32);
	CHECK_TEXT(eight, "▒▒\n▒▒\n▒▒\n█▒\n");
	draw(&none, column, 32);
	CHECK_TEXT(none, "ab\nab\naa\naa\n");
	check_cell(&none, 0, 0, "a", STYLE_LAYER_PALE(1), STYLE_NO_BACKGROUND);
	check_cell(&none, 0, 3, "a", STYLE_LAYER(1), STYLE_NO_BACKGROUND);
	canvas_release(&none);
	canvas_release(&eight);
	canvas_release(&canvas);
}

/* Memory in use is one hill, under the slack: the rest, too, and it is as high as its maximum. */
TEST(slack_lies_on_top)
{
	struct canvas canvas = canvas_of(2, 8, 256, 0);
	struct palette palette = { .layers = PALETTE_SLACK + 1 };
	struct series_column column[2] = { parts(16, 0, 0, 8), parts(8, 0, 0, 0) };
	struct chart_marks marks = no_marks;

	memset(palette.letter, 'a', sizeof(palette.letter));
	column[0].max = column[0].min = 64;
	column[0].layer[PALETTE_SLACK] = 40;
	column[1].max = 64;
	column[1].min = 32;
	column[1].used_min = 4;
	column[1].layer[PALETTE_SLACK] = 56;
	marks.used_peak = 0;
	chart_draw(canvas_area(&canvas), column, &palette, 64, &marks);
	check_cell(&canvas, 0, 0, "█", STYLE_LAYER(PALETTE_SLACK), STYLE_LAYER(PALETTE_SLACK));
	check_cell(&canvas, 0, 4, "▼", STYLE_MARK, STYLE_LAYER(PALETTE_SLACK));
	check_cell(&canvas, 0, 5, "█", STYLE_LAYER(PALETTE_REST), STYLE_LAYER(PALETTE_REST));
	check_cell(&canvas, 0, 6, "█", STYLE_LAYER(1), STYLE_LAYER(1));
	/* Each varies for itself: half of the hill is there all the time, and half of what is held. */
	check_cell(&canvas, 1, 7, "▄", STYLE_LAYER(1), STYLE_LAYER_PALE(1));
	check_cell(&canvas, 1, 4, "█", STYLE_LAYER(PALETTE_SLACK), STYLE_LAYER(PALETTE_SLACK));
	check_cell(&canvas, 1, 3, "█", STYLE_LAYER_PALE(PALETTE_SLACK), STYLE_LAYER_PALE(PALETTE_SLACK));
	canvas_release(&canvas);
}

TEST(without_colours_layers_are_letters)
{
	struct canvas mono = canvas_of(6, 3, 0, 0), ascii = canvas_of(6, 3, 256, 1);
	struct series_column column[6] = { parts(6, 0, 0, 0), parts(5, 0, 0, 0), parts(1, 0, 0, 0),
					   parts(2, 2, 1, 0), parts(2, 1, 1, 1), parts(0, 0, 0, 4) };

	draw(&mono, column, 6);
	/* A top row that is half full is half a block, unless its layer would not be named then. */
	CHECK_TEXT(mono, "a▄ c.\naa bb.\naaaaa.\n");
	draw(&ascii, column, 6);
	CHECK_TEXT(ascii, "a_ c.\naa bb.\naaaaa.\n");
	CHECK_STYLES(ascii, "11.30.\n11.220\n111110\n");
	canvas_release(&ascii);
	canvas_release(&mono);
}

TEST(a_wide_layer_has_its_letter)
{
	struct canvas canvas = canvas_of(5, 4, 256, 0);
	struct series_column column[5];
	int i;

	for (i = 0; i < 5; i++)
		column[i] = parts(16, i < 2 ? 16 : 0, 0, 0);
	draw(&canvas, column, 32);
	/* Two columns are too narrow. */
	CHECK_TEXT(canvas, "██\n██\n█████\n██a██\n");
	check_cell(&canvas, 2, 3, "a", STYLE_PLAIN, STYLE_LAYER(1));
	for (i = 0; i < 5; i++)
		column[i].min = column[i].used_min = 0;
	draw(&canvas, column, 32);
	check_cell(&canvas, 2, 3, "a", STYLE_PLAIN, STYLE_LAYER_PALE(1));
	canvas_release(&canvas);
}

TEST(marks_lie_over_the_area)
{
	struct canvas canvas = canvas_of(40, 8, 256, 0), ascii = canvas_of(40, 8, 0, 1);
	struct series_column column[40];
	int oom[1] = { 35 }, i;
	struct chart_marks marks = { .cursor = 10,
				     .mark_a = 2,
				     .mark_b = 4,
				     .peak = 20,
				     .used_peak = -1,
				     .oom = oom,
				     .ooms = 1,
				     .capacity = 6 * GIB };

	for (i = 0; i < 40; i++)
		column[i] = parts((i == 20 ? 4 : 2) * GIB, 0, 0, 0);
	chart_draw(canvas_area(&canvas), column, &letters, 8 * GIB, &marks);
	CHECK_TEXT(canvas, "  A B     │                    OOM X\n"
			   "  ┊ ┊     │\n"
			   "▔▔┊▔┊▔▔▔▔▔│ capacity 6.0 GiB ▔▔▔▔▔▔▔▔▔▔▔\n"
			   "  ┊ ┊     │         ▼ peak 4.0 GiB\n"
			   "  ┊ ┊     │         █\n"
			   "  ┊ ┊     │         █\n"
			   "██┊█┊█████│█████████████████████████████\n"
			   "██┊█┊█████│████████a████████████████████\n");
	check_cell(&canvas, 10, 7, "│", STYLE_MARK, STYLE_LAYER(1));
	check_cell(&canvas, 10, 0, "│", STYLE_MARK, STYLE_NO_BACKGROUND);
	check_cell(&canvas, 35, 0, "X", STYLE_BAD, STYLE_NO_BACKGROUND);
	check_cell(&canvas, 2, 0, "A", STYLE_MARK, STYLE_NO_BACKGROUND);
	chart_draw(canvas_area(&ascii), column, &letters, 8 * GIB, &marks);
	CHECK_TEXT(ascii, "  A B     |                    OOM X\n"
			  "  : :     |\n"
			  "--:-:-----| capacity 6.0 GiB -----------\n"
			  "  : :     |         v peak 4.0 GiB\n"
			  "  : :     |         a\n"
			  "  : :     |         a\n"
			  "aa:a:aaaaa|aaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"
			  "aa:a:aaaaa|aaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n");
	canvas_release(&ascii);
	canvas_release(&canvas);
}

TEST(a_line_over_a_boundary_has_the_larger_layer_behind_it)
{
	struct canvas canvas = canvas_of(2, 1, 256, 0);
	struct series_column column[2] = { parts(3, 5, 0, 0), parts(4, 4, 0, 0) };
	struct chart_marks marks = no_marks;

	marks.cursor = 0;
	marks.mark_a = 1;
	chart_draw(canvas_area(&canvas), column, &letters, 8, &marks);
	check_cell(&canvas, 0, 0, "│", STYLE_MARK, STYLE_LAYER(2));
	check_cell(&canvas, 1, 0, "A", STYLE_MARK, STYLE_LAYER(1));
	canvas_release(&canvas);
}

TEST(the_capacity_is_a_line_inside_the_chart)
{
	struct canvas canvas = canvas_of(48, 4, 256, 0);
	struct series_column column[48];
	struct chart_marks marks = no_marks;
	int i;

	for (i = 0; i < 48; i++)
		column[i] = parts(i == 40 ? 8 * GIB : GIB, 0, 0, 0);
	marks.capacity = 8 * GIB;
	marks.peak = 40;
	chart_draw(canvas_area(&canvas), column, &letters, 8 * GIB, &marks);
	CHECK(!strncmp(dump_with(canvas_dump, &canvas), "▔▔ capacity 8.0 GiB ▔▔▔", strlen("▔▔ capacity 8.0 GiB ▔▔▔")));
	check_cell(&canvas, 40, 0, "▼", STYLE_MARK, STYLE_LAYER(1));
	canvas_clear(&canvas);
	/* The words keep away from the peak and what is drawn; beyond the upper edge there is no line. */
	marks.peak = 2;
	chart_draw(canvas_area(&canvas), column, &letters, 12 * GIB, &marks);
	CHECK_STR(cell(&canvas, 23, 1)->text, "c");
	canvas_clear(&canvas);
	chart_draw(canvas_area(&canvas), column, &letters, 7 * GIB, &marks);
	CHECK_STR(cell(&canvas, 0, 0)->text, " ");
	canvas_release(&canvas);
}

/* Many errors in a row: each is seen, one is named, and no words are drawn over others. */
TEST(errors_have_one_word)
{
	struct canvas free_space = canvas_of(70, 8, 256, 0), full = canvas_of(70, 8, 256, 0);
	int oom[3] = { 60, 62, 69 }, i;
	struct chart_marks marks = { -1, -1, -1, -1, -1, oom, 3, 16 };
	struct series_column column[70] = { 0 };
	const char *text;

	chart_draw(canvas_area(&free_space), column, &letters, 16, &marks);
	text = dump_with(canvas_dump, &free_space);
	CHECK(strstr(text, "▔X▔X▔OOM▔▔X\n") || strstr(text, "▔X▔X▔▔OOM▔X\n"));
	for (i = 0; i < 70; i++)
		column[i] = parts(16, 0, 0, 0);
	marks.capacity = 0;
	chart_draw(canvas_area(&full), column, &letters, 16, &marks);
	CHECK(strstr(dump_with(canvas_dump, &full), "█X█X██OOM X\n"));
	canvas_release(&free_space);
	canvas_release(&full);
}

/* Only whole words: those of the capacity go where those of the peak are not. */
TEST(words_are_not_drawn_over_words)
{
	struct canvas canvas = canvas_of(70, 4, 256, 0);
	struct chart_marks marks = { -1, -1, -1, 0, -1, NULL, 0, 32 };
	struct series_column column[70];
	const char *text;
	int i;

	for (marks.peak = 10; marks.peak < 60; marks.peak++) {
		for (i = 0; i < 70; i++)
			column[i] = parts(i < marks.peak ? 8 : 24, 0, 0, 0);
		canvas_clear(&canvas);
		chart_draw(canvas_area(&canvas), column, &letters, 32, &marks);
		text = dump_with(canvas_dump, &canvas);
		CHECK(strstr(text, "peak 24 B"));
		CHECK(!strstr(text, "capa") || strstr(text, " capacity 32 B "));
	}
	canvas_release(&canvas);
}

TEST(charts_of_no_size_draw_nothing)
{
	struct canvas canvas = canvas_of(3, 3, 256, 0);
	struct area all = canvas_area(&canvas), none = area_part(all, 1, 1, 0, 0);
	struct series_column column[3] = { parts(1, 0, 0, 0), parts(0, 0, 0, 0), parts(2, 0, 0, 0) };
	struct chart_marks marks = { 7, -5, 99, 3, -1, NULL, 0, GIB };
	struct palette empty = { 0 };
	struct model model;
	struct scale scale;

	CHECK_EQ(model_init(&model), 0);
	scale_init(&scale, 0, SEC, 3);
	chart_draw(none, column, &letters, 8, &marks);
	chart_draw(all, column, &empty, 8, &marks);
	chart_draw(area_part(all, 0, 0, 0, 3), column, &letters, 8, &marks);
	chart_draw(area_part(all, 0, 0, 3, 0), column, &letters, 8, &marks);
	chart_axis(none, 8, 0);
	chart_axis(all, 0, 0);
	chart_times(none, &scale);
	chart_band(none, &model, 0, &scale, 1);
	chart_band(all, &model, 0, &scale, 1);
	chart_steps(none, &model, 0, &scale);
	chart_steps(all, &model, 0, &scale);
	chart_strip(none, column, STYLE_PLAIN);
	CHECK_TEXT(canvas, "\n\n\n");
	draw(&canvas, column, 0);
	CHECK_TEXT(canvas, "\n\n\n");
	model_release(&model);
	canvas_release(&canvas);
}

/* ---- rulers ---- */

TEST(the_axis_has_round_numbers)
{
	struct canvas canvas = canvas_of(9, 9, 256, 0), ascii = canvas_of(9, 5, 256, 1);

	chart_axis(canvas_area(&canvas), 80 * GIB, 0);
	CHECK_TEXT(canvas, "  80 GiB┤\n        │\n  60 GiB┤\n        │\n  40 GiB┤\n        │\n"
			   "  20 GiB┤\n        │\n       0┤\n");
	/* Steps are even, or there are fewer. */
	canvas_clear(&canvas);
	chart_axis(area_part(canvas_area(&canvas), 0, 0, 9, 8), 16 * GIB, 0);
	CHECK_TEXT(canvas,
		   "  16 GiB┤\n        │\n        │\n        │\n        │\n        │\n        │\n       0┤\n\n");
	chart_axis(canvas_area(&ascii), 3 * GIB, 0);
	CHECK_TEXT(ascii, "   3 GiB+\n        |\n 1.5 GiB+\n        |\n       0+\n");
	canvas_release(&ascii);
	canvas_release(&canvas);
}

static const char *times_of(int64_t first, int64_t last, int64_t from, int64_t to)
{
	struct canvas canvas = canvas_of(40, 1, 256, 1);
	struct scale scale;
	const char *text;

	scale_init(&scale, first, last, 40);
	scale_span(&scale, from, to);
	chart_times(canvas_area(&canvas), &scale);
	text = dump_with(canvas_dump, &canvas);
	canvas_release(&canvas);
	return text;
}

TEST(times_have_as_many_digits_as_tell_them_apart)
{
	char out[TEXT_SIZE_MAX];
	struct scale scale;

	CHECK_STR(times_of(0, 40 * SEC, 0, 40 * SEC), "|0 s      |10 s     |20 s     |30 s\n");
	CHECK_STR(times_of(0, 2 * SEC, 0, 2 * SEC), "|0.0 s    |0.5 s    |1.0 s    |1.5 s\n");
	CHECK_STR(times_of(0, 40 * SEC, 12 * SEC, 12 * SEC + SEC / 50), "|12.000 s |12.005 s |12.010 s |12.015 s\n");
	CHECK_STR(times_of(0, 2000 * SEC, 0, 2000 * SEC), "|0:00     |8:20     |16:40    |25:00\n");
	CHECK_STR(times_of(0, 8000 * SEC, 0, 8000 * SEC), "|0:00:00  |0:33:20  |1:06:40  |1:40:00\n");
	scale_init(&scale, 0, 40 * SEC, 40);
	CHECK_STR(chart_time_text(out, 12 * SEC + SEC / 2, &scale), "12.5 s");
	/* A short run is in a unit that needs no row of zeros, as in the verdict. */
	scale_init(&scale, 0, SEC / 5, 100);
	CHECK_STR(chart_time_text(out, 113200000, &scale), "113.2 ms");
	scale_init(&scale, 0, 160000, 100);
	CHECK_STR(chart_time_text(out, 26000, &scale), "26.0 us");
	scale_init(&scale, 0, 40 * SEC, 40);
	scale_span(&scale, 12 * SEC, 12 * SEC + SEC / 50);
	CHECK_STR(chart_time_text(out, 12 * SEC + SEC / 1000, &scale), "12.0010 s");
}

/* A snapshot of an older PyTorch: what is no time is not shown as one. */
TEST(where_no_times_are_known_events_are_counted)
{
	char out[TEXT_SIZE_MAX];
	struct scale scale;

	text_known.times = 0;
	CHECK_STR(times_of(0, 4000000, 0, 4000000), "|#0       |#1,000   |#2,000   |#3,000\n");
	scale_init(&scale, 0, 4000000, 40);
	CHECK_STR(chart_time_text(out, 3712000, &scale), "#3,712");
	CHECK_STR(chart_time_text(out, -1, &scale), "#0");
	text_known.times = 1;
}

static void add_span(struct model *model, uint32_t process, int64_t first, int64_t last, int phase)
{
	struct model_span span = { first * SEC, last * SEC, process, 1, (uint8_t)phase };

	CHECK_EQ(model_add_span(model, &span), 0);
}

TEST(the_band_shows_what_takes_most_of_a_column)
{
	struct canvas canvas = canvas_of(10, 3, 256, 0), ascii = canvas_of(10, 1, 0, 1);
	struct model_process process = { .pid = 1, .rank = -1 };
	struct scale scale;
	struct model model;

	CHECK_EQ(model_init(&model), 0);
	CHECK_EQ(model_add_process(&model, &process), 0);
	CHECK_EQ(model_add_process(&model, &process), 0);
	add_span(&model, 0, 0, 30, MT_PHASE_INIT);
	add_span(&model, 1, 0, 100, MT_PHASE_ROLLOUT);
	add_span(&model, 0, 30, 34, MT_PHASE_FORWARD);
	add_span(&model, 0, 34, 60, MT_PHASE_BACKWARD);
	add_span(&model, 0, 70, 86, MT_PHASE_OTHER);
	add_span(&model, 0, 86, 100, MT_PHASE_OPTIMIZER);
	scale_init(&scale, 0, 100 * SEC, 10);
	chart_band(area_part(canvas_area(&canvas), 0, 0, 10, 1), &model, 0, &scale, 1);
	chart_band(area_part(canvas_area(&canvas), 0, 1, 10, 1), &model, 1, &scale, 1);
	chart_band(area_part(canvas_area(&canvas), 0, 2, 10, 1), &model, 0, &scale, 0);
	CHECK_TEXT(canvas, "iiibbb .oo\nrollout\ni──b── .o─\n");
	CHECK_STYLES(canvas, ".11.77.0.8\n.......222\n.ll.ll.l.l\n");
	check_cell(&canvas, 0, 0, "i", STYLE_PLAIN, STYLE_LAYER(MT_PHASE_INIT));
	check_cell(&canvas, 1, 0, "i", STYLE_LAYER(MT_PHASE_INIT), STYLE_LAYER(MT_PHASE_INIT));
	/* The moment of the cursor goes before what takes most of its column. */
	scale_go(&scale, 33 * SEC);
	chart_band(area_part(canvas_area(&canvas), 0, 0, 10, 1), &model, 0, &scale, 0);
	CHECK_TEXT(canvas, "i──fb─ .o─\nrollout\ni──b── .o─\n");
	/* Closer, the forward is seen. */
	scale_span(&scale, 28 * SEC, 38 * SEC);
	chart_band(canvas_area(&ascii), &model, 0, &scale, 1);
	CHECK_TEXT(ascii, "i-f---b---\n");
	chart_band(canvas_area(&ascii), &model, 2, &scale, 1);
	canvas_release(&ascii);
	canvas_release(&canvas);
	model_release(&model);
}

static const char *steps_between(const struct model *model, int64_t from, int64_t to)
{
	struct canvas canvas = canvas_of(20, 1, 0, 1);
	struct scale scale;
	const char *text;

	scale_init(&scale, 0, 1000 * SEC, 20);
	scale_span(&scale, from * SEC, to * SEC);
	chart_steps(canvas_area(&canvas), model, 0, &scale);
	text = dump_with(canvas_dump, &canvas);
	canvas_release(&canvas);
	return text;
}

TEST(steps_are_numbered_where_they_begin)
{
	struct model_step step = { 0 };
	struct model model;

	CHECK_EQ(model_init(&model), 0);
	CHECK_STR(steps_between(&model, 0, 1000), "\n");
	for (step.number = 1; step.number <= 100; step.number++) {
		step.time = step.number * 10 * SEC;
		step.process = 1;
		CHECK_EQ(model_add_step(&model, &step), 0);
		step.process = 0;
		CHECK_EQ(model_add_step(&model, &step), 0);
	}
	CHECK_STR(steps_between(&model, 0, 40), "|1   |2   |3   |4\n");
	CHECK_STR(steps_between(&model, 15, 35), "|2   |3        |4\n");
	CHECK_STR(steps_between(&model, 12, 14), "|2\n");
	/* Too many for all numbers: each 10th, 50th .. and the one at the left edge. */
	CHECK_STR(steps_between(&model, 0, 400), "|1  |10  |20  |30  |\n");
	CHECK_STR(steps_between(&model, 0, 1000), "|1       |50       |\n");
	model_release(&model);
	CHECK_EQ(model_init(&model), 0);
	for (step.number = 1271; step.number <= 1300; step.number++) {
		step.time = (step.number - 1270) * SEC;
		CHECK_EQ(model_add_step(&model, &step), 0);
	}
	/* 1280 begins in a digit of 1271: a number that is cut would be another one. */
	CHECK_STR(steps_between(&model, 0, 40), "|1271    |1290|1300\n");
	model_release(&model);
}

TEST(a_strip_is_braille_or_ascii)
{
	struct canvas canvas = canvas_of(4, 2, 256, 0), ascii = canvas_of(4, 2, 256, 1);
	struct series_column column[4] = { parts(8, 0, 0, 0), parts(4, 0, 0, 0), parts(0, 0, 0, 0), parts(8, 0, 0, 0) };

	column[3].min = column[3].used_min = 1;
	chart_strip(canvas_area(&canvas), column, STYLE_LAYER(2));
	CHECK_TEXT(canvas, "⣿  ⡇\n⣿⣿ ⣇\n");
	CHECK_STYLES(canvas, "2..2\n22.2\n");
	chart_strip(canvas_area(&ascii), column, STYLE_LAYER(2));
	CHECK_TEXT(ascii, "#  :\n## :\n");
	canvas_release(&ascii);
	canvas_release(&canvas);
}

TEST_MAIN()
