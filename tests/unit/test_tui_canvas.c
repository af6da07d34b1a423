/* The screen as cells, and how styles and layers look there. */
#include <math.h>
#include "test.h"

#include "canvas_kit.h"
#include "memtrace/phase.h"
#include "screen/draw/palette.h"

#define GIB (1ull << 30)

/* ---- canvas ---- */

TEST(text_stays_inside_its_area)
{
	struct canvas canvas = canvas_of(8, 3, 256, 0);
	struct area all = canvas_area(&canvas), part = area_part(all, 2, 1, 4, 1);

	CHECK_EQ(area_text(part, 1, 0, STYLE_BOLD, "abcdef"), 4);
	CHECK_TEXT(canvas, "\n   abc\n\n");
	CHECK_STYLES(canvas, "........\n...BBB..\n........\n");
	area_text(part, -2, 0, STYLE_DIM, "xyz");
	area_text(part, 0, 1, STYLE_DIM, "below");
	area_text(part, 0, -1, STYLE_DIM, "above");
	area_put(part, 4, 0, "r", STYLE_DIM, STYLE_NO_BACKGROUND);
	CHECK_TEXT(canvas, "\n  zabc\n\n");
	CHECK_EQ(area_text(part, 9, 0, STYLE_DIM, "far"), 9);
	area_print_right(part, 4, 0, STYLE_KEY, "%d", 42);
	CHECK_TEXT(canvas, "\n  za42\n\n");
	area_fill(area_part(all, 6, 1, 9, 9), "#", STYLE_LINE);
	area_style_row(part, 0, STYLE_CHOSEN);
	CHECK_TEXT(canvas, "\n  za42##\n      ##\n");
	CHECK_STYLES(canvas, "........\n..CCCCll\n......ll\n");
	canvas_release(&canvas);
}

TEST(areas_may_be_empty)
{
	struct canvas canvas = canvas_of(4, 2, 256, 0), none = canvas_of(0, 0, 256, 0);
	struct area all = canvas_area(&canvas), part;

	part = area_part(all, 3, 1, -5, 1);
	CHECK(part.width == 0 && part.height == 1);
	part = area_part(all, -3, -1, 5, 2);
	CHECK(part.x == 0 && part.y == 0 && part.width == 2 && part.height == 1);
	part = area_part(all, 9, 9, 5, 5);
	CHECK(part.width == 0 && part.height == 0);
	area_text(part, 0, 0, STYLE_BOLD, "x");
	area_fill(part, "x", STYLE_BOLD);
	area_style_row(part, 0, STYLE_BOLD);
	area_fit(all, 0, 0, 0, STYLE_BOLD, "x", 0);
	area_fit(all, 0, 0, -1, STYLE_BOLD, "x", 1);
	area_put(all, 0, 0, "", STYLE_BOLD, STYLE_NO_BACKGROUND);
	CHECK_TEXT(canvas, "\n\n");
	CHECK_STYLES(canvas, "....\n....\n");
	area_text(canvas_area(&none), 0, 0, STYLE_BOLD, "x");
	CHECK_TEXT(none, "");
	CHECK_EQ(canvas_resize(&none, -1, 7), 0);
	CHECK_TEXT(none, "\n\n\n\n\n\n\n");
	canvas_release(&none);
	canvas_release(&canvas);
}

TEST(wide_characters_take_two_cells)
{
	struct canvas canvas = canvas_of(6, 3, 256, 0);
	struct area all = canvas_area(&canvas);

	CHECK_EQ(columns_of("a漢b"), 4);
	CHECK_EQ(area_text(all, 0, 0, STYLE_BOLD, "a漢b"), 4);
	CHECK_STR(cell(&canvas, 1, 0)->text, "漢");
	CHECK_STR(cell(&canvas, 2, 0)->text, "");
	/* A text that would stick out is not drawn by half. */
	CHECK_EQ(area_text(all, 0, 1, STYLE_PLAIN, "abcde漢"), 5);
	area_put(all, 5, 2, "漢", STYLE_PLAIN, STYLE_NO_BACKGROUND);
	area_put(all, -1, 2, "漢", STYLE_PLAIN, STYLE_NO_BACKGROUND);
	CHECK_TEXT(canvas, "a漢b\nabcde\n\n");
	/* Half of one that is overwritten takes the other half away. */
	area_put(all, 2, 0, "x", STYLE_PLAIN, STYLE_NO_BACKGROUND);
	CHECK_TEXT(canvas, "a xb\nabcde\n\n");
	area_put(all, 1, 0, "漢", STYLE_PLAIN, STYLE_NO_BACKGROUND);
	area_put(all, 1, 0, "y", STYLE_PLAIN, STYLE_NO_BACKGROUND);
	CHECK_TEXT(canvas, "ay b\nabcde\n\n");
	area_put(all, 0, 1, "漢", STYLE_PLAIN, STYLE_NO_BACKGROUND);
	area_put(all, 1, 1, "漢", STYLE_PLAIN, STYLE_NO_BACKGROUND);
	CHECK_TEXT(canvas, "ay b\n 漢de\n\n");
	canvas_release(&canvas);
}

TEST(combining_characters_sit_on_the_one_before)
{
	struct canvas canvas = canvas_of(6, 2, 256, 0), ascii = canvas_of(6, 1, 256, 1);

	CHECK_EQ(columns_of("e\xcc\x81x"), 2);
	CHECK_EQ(area_text(canvas_area(&canvas), 0, 0, STYLE_PLAIN, "e\xcc\x81x"), 2);
	CHECK_STR(cell(&canvas, 0, 0)->text, "e\xcc\x81");
	CHECK_STR(cell(&canvas, 1, 0)->text, "x");
	/* As many as a cell has room for; at the beginning there is nothing to sit on. */
	area_text(canvas_area(&canvas), 0, 1, STYLE_PLAIN, "\xcc\x81\xe6\xbc\xa2\xcc\x81\xcc\x82\xcc\x83\xcc\x84y");
	CHECK_STR(cell(&canvas, 0, 1)->text, "\xe6\xbc\xa2\xcc\x81\xcc\x82");
	CHECK_STR(cell(&canvas, 2, 1)->text, "y");
	/* Never a part of one. */
	area_text(canvas_area(&canvas), 0, 1, STYLE_PLAIN, "\xe6\xbc\xa2\xcc\x81\xe2\x83\x90z");
	CHECK_STR(cell(&canvas, 0, 1)->text, "\xe6\xbc\xa2\xcc\x81");
	area_text(canvas_area(&ascii), 0, 0, STYLE_PLAIN, "e\xcc\x81x");
	CHECK_TEXT(ascii, "ex\n");
	canvas_release(&ascii);
	canvas_release(&canvas);
}

TEST(strange_text_is_harmless)
{
	struct canvas canvas = canvas_of(20, 1, 256, 0);
	struct area all = canvas_area(&canvas);
	static const struct {
		const char *from, *want;
	} cases[] = {
		{ "a\033[31mb", "a?[31mb\n" },
		{ "a\nb\tc\x7f", "a?b?c?\n" },
		{ "\xc2\x9b"
		  "1m",
		  "?1m\n" },
		{ "\xff\xfe"
		  "a",
		  "??a\n" },
		{ "a\xe2\x82", "a??\n" },
		{ "\xed\xa0\x80", "???\n" },
		{ "\xc0\xaf", "??\n" },
		{ "a\xe2\x80\xae"
		  "b",
		  "a?b\n" },
		{ "a\xe2\x80\x8b"
		  "b",
		  "a?b\n" },
		{ "\xef\xbb\xbf"
		  "b",
		  "?b\n" },
		{ "\xf4\x90\x80\x80", "????\n" },
	};
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(cases); i++) {
		canvas_clear(&canvas);
		CHECK_EQ(area_text(all, 0, 0, STYLE_PLAIN, cases[i].from), columns_of(cases[i].from));
		CHECK_TEXT(canvas, cases[i].want);
	}
	canvas_release(&canvas);
}

TEST(ascii_draws_only_ascii)
{
	struct canvas canvas = canvas_of(8, 1, 256, 1);

	CHECK_EQ(area_text(canvas_area(&canvas), 0, 0, STYLE_PLAIN, "aé漢b"), 5);
	CHECK_TEXT(canvas, "a???b\n");
	canvas_release(&canvas);
}

TEST(text_that_is_too_long_is_cut)
{
	struct canvas canvas = canvas_of(12, 7, 256, 0);
	struct area all = canvas_area(&canvas);

	area_fit(all, 0, 0, 8, STYLE_PLAIN, "abcdefgh", 0);
	area_fit(all, 0, 1, 8, STYLE_PLAIN, "abcdefghi", 0);
	area_fit(all, 0, 2, 8, STYLE_PLAIN, "abcdefghi", 1);
	area_fit(all, 0, 3, 3, STYLE_PLAIN, "abcdefghi", 0);
	area_fit(all, 0, 4, 7, STYLE_PLAIN, "漢漢漢漢", 0);
	area_fit(all, 0, 5, 6, STYLE_PLAIN, "漢漢漢漢", 1);
	area_fit(all, 0, 6, 6, STYLE_PLAIN,
		 "abcde\xcc\x81"
		 "fgh",
		 1); /* the accent goes with its letter */
	CHECK_TEXT(canvas, "abcdefgh\nabcde...\n...efghi\nabc\n漢漢...\n...漢\n...fgh\n");
	canvas_release(&canvas);
}

TEST(a_smaller_canvas_is_blank_and_a_larger_one_too)
{
	struct canvas canvas = canvas_of(4, 2, 256, 0);

	area_fill(canvas_area(&canvas), "x", STYLE_BOLD);
	CHECK_EQ(canvas_resize(&canvas, 2, 1), 0);
	CHECK_TEXT(canvas, "\n");
	area_fill(canvas_area(&canvas), "x", STYLE_BOLD);
	CHECK_EQ(canvas_resize(&canvas, 3, 3), 0);
	CHECK_TEXT(canvas, "\n\n\n");
	CHECK_STYLES(canvas, "...\n...\n...\n");
	canvas_release(&canvas);
}

TEST(each_style_has_its_letter_in_a_dump)
{
	struct canvas canvas = canvas_of(STYLE_COUNT + STYLE_LAYERS, 1, 256, 0);
	const char *letters;
	int i;

	for (i = 0; i < canvas.width; i++)
		area_put(canvas_area(&canvas), i, 0, "x", (uint8_t)i, STYLE_NO_BACKGROUND);
	letters = dump_with(canvas_dump_styles, &canvas);
	for (i = 0; i < canvas.width; i++)
		CHECK(strchr(letters, letters[i]) == letters + i);
	CHECK(letters[STYLE_LAYER(9)] == '9' && letters[STYLE_LAYER(10)] == 'P' && letters[STYLE_BAD] == 'X');
	area_put(canvas_area(&canvas), 0, 0, "x", STYLE_LAYER_PALE(3), STYLE_NO_BACKGROUND);
	CHECK_EQ(dump_with(canvas_dump_styles, &canvas)[0], '3');
	canvas_release(&canvas);
}

/* ---- palette: looks ---- */

static int differs(struct palette_look a, struct palette_look b)
{
	return a.foreground != b.foreground || a.background != b.background || a.dim != b.dim;
}

TEST(layers_look_different)
{
	int a, b;

	for (a = 0; a < 2 * STYLE_LAYERS; a++)
		for (b = 0; b < a; b++)
			CHECK(differs(palette_look(STYLE_LAYER(a), 0, 256), palette_look(STYLE_LAYER(b), 0, 256)));
	/* In 8 colours, the six phases that people look at most. */
	for (a = MT_PHASE_INIT; a <= MT_PHASE_OPTIMIZER; a++)
		for (b = MT_PHASE_INIT; b < a; b++)
			if (a != MT_PHASE_REF && a != MT_PHASE_CRITIC && b != MT_PHASE_REF && b != MT_PHASE_CRITIC)
				CHECK(differs(palette_look(STYLE_LAYER(a), 0, 8), palette_look(STYLE_LAYER(b), 0, 8)));
}

/* ---- palette: eyes ---- */

/* The view of eyes of linear red, green and blue (Machado, Oliveira and Fernandes 2009, severity 1): all three kinds
 * of cones, then without those for long, middle and short waves. */
static const double eyes[][3][3] = {
	{ { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } },
	{ { 0.152286, 1.052583, -0.204868 }, { 0.114503, 0.786281, 0.099216 }, { -0.003882, -0.048116, 1.051998 } },
	{ { 0.367322, 0.860646, -0.227968 }, { 0.280085, 0.672501, 0.047413 }, { -0.011820, 0.042940, 0.968881 } },
	{ { 1.255528, -0.076749, -0.178779 }, { -0.078411, 0.930809, 0.147602 }, { 0.004733, 0.691367, 0.303900 } },
};

/* In the 256 colours of terminals. */
static void linear_rgb(int colour, double rgb[3])
{
	int part[3] = { (colour - 16) / 36, (colour - 16) / 6 % 6, (colour - 16) % 6 }, i;

	for (i = 0; i < 3; i++) {
		double value = colour >= 232 ? 8 + 10 * (colour - 232) : part[i] ? 55 + 40 * part[i] : 0;

		rgb[i] = value <= 10 ? value / 255 / 12.92 : pow((value / 255 + 0.055) / 1.055, 2.4);
	}
}

static double luminance(int colour)
{
	double rgb[3];

	linear_rgb(colour, rgb);
	return 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2];
}

static double root(double value)
{
	return value > 0.008856 ? cbrt(value) : 7.787 * value + 16.0 / 116;
}

/* CIE L*a*b*: equal distances look equally far apart. */
static void lab_of(int colour, const double eye[3][3], double lab[3])
{
	double rgb[3], seen[3], x, y, z;
	int i;

	linear_rgb(colour, rgb);
	for (i = 0; i < 3; i++)
		seen[i] = fmin(1, fmax(0, eye[i][0] * rgb[0] + eye[i][1] * rgb[1] + eye[i][2] * rgb[2]));
	x = root((0.4124 * seen[0] + 0.3576 * seen[1] + 0.1805 * seen[2]) / 0.95047);
	y = root(0.2126 * seen[0] + 0.7152 * seen[1] + 0.0722 * seen[2]);
	z = root((0.0193 * seen[0] + 0.1192 * seen[1] + 0.9505 * seen[2]) / 1.08883);
	lab[0] = 116 * y - 16;
	lab[1] = 500 * (x - y);
	lab[2] = 200 * (y - z);
}

static int colour_of(int layer)
{
	return palette_look(STYLE_LAYER(layer), 0, 256).foreground;
}

static double distance(int a, int b, const double eye[3][3])
{
	double one[3], two[3];

	lab_of(colour_of(a), eye, one);
	lab_of(colour_of(b), eye, two);
	return sqrt(pow(one[0] - two[0], 2) + pow(one[1] - two[1], 2) + pow(one[2] - two[2], 2));
}

/* Degrees of hue, and how far it is from grey. */
static void hue_of(int colour, double *hue, double *chroma, double *light)
{
	double lab[3];

	lab_of(colour, eyes[0], lab);
	*hue = atan2(lab[2], lab[1]) * 180 / 3.14159265358979;
	*chroma = hypot(lab[1], lab[2]);
	*light = lab[0];
}

TEST(paler_is_lighter_and_of_the_same_hue)
{
	double hue, chroma, light, pale_hue, pale_chroma, pale_light, turn;
	int layer;

	for (layer = 0; layer < COLOUR_LAYERS; layer++) {
		hue_of(palette_look(STYLE_LAYER(layer), 0, 256).foreground, &hue, &chroma, &light);
		hue_of(palette_look(STYLE_LAYER_PALE(layer), 0, 256).foreground, &pale_hue, &pale_chroma, &pale_light);
		turn = fabs(remainder(pale_hue - hue, 360));
		CHECK(layer == PALETTE_SLACK || turn <= 10);
		CHECK(pale_light >= light + 9);
		CHECK(pale_chroma <= chroma * 1.25 + 1);
		/* Grey is slack alone. */
		CHECK(layer == PALETTE_SLACK ? chroma < 2 && pale_chroma < 2 : chroma > 14 && pale_chroma > 13);
	}
}

/* 2 is what one can see at all, side by side. */
TEST(phases_are_told_apart_by_all_eyes)
{
	size_t eye;
	int a, b;

	for (eye = 0; eye < MT_ARRAY_SIZE(eyes); eye++)
		for (a = MT_PHASE_OTHER; a <= MT_PHASE_WEIGHT_UPDATE; a++) {
			CHECK(distance(a, PALETTE_SLACK, eyes[eye]) >= 12);
			for (b = MT_PHASE_OTHER; b < a; b++)
				CHECK(distance(a, b, eyes[eye]) >= 12);
		}
}

/* Contrast as of WCAG, against black and white. Layers are areas, and have letters in them: they need not be read. */
TEST(phases_are_seen_on_dark_and_light)
{
	int layer;

	for (layer = MT_PHASE_OTHER; layer <= MT_PHASE_WEIGHT_UPDATE; layer++) {
		CHECK((luminance(colour_of(layer)) + 0.05) / 0.05 >= 4.5);
		CHECK(1.05 / (luminance(colour_of(layer)) + 0.05) >= 1.5);
	}
}

/* A report's print of a phase, on a terminal of `colours` colours: a bar, or words behind a blank. */
static const char *printed(int colours, const char *phase, int bar)
{
	static char bytes[256];
	struct text text = { .file = tmpfile(), .colour = colours != 0, .colours = colours };
	size_t size;

	CHECK(text.file != NULL);
	if (bar)
		text_phase_bar(&text, phase, 1, 1, 1);
	else
		text_phase_print(&text, phase, " %s", "x");
	rewind(text.file);
	size = fread(bytes, 1, sizeof(bytes) - 1, text.file);
	bytes[size] = '\0';
	fclose(text.file);
	return bytes;
}

TEST(reports_have_the_colours_of_the_screen)
{
	char wanted[64];
	int phase;

	for (phase = 0; phase < MT_PHASE_COUNT; phase++) {
		const char *word = mt_phase_name((uint32_t)phase);

		snprintf(wanted, sizeof(wanted), "\033[48;5;%dm \033[0mx",
			 palette_look(STYLE_LAYER(phase), 0, 256).foreground);
		CHECK_STR(printed(256, word, 0), wanted);
		snprintf(wanted, sizeof(wanted), "  \033[38;5;%dm#\033[0m",
			 palette_look(STYLE_LAYER(phase), 0, 256).foreground);
		CHECK_STR(printed(256, word, 1), wanted);
		snprintf(wanted, sizeof(wanted), "\033[4%dm \033[0mx",
			 palette_look(STYLE_LAYER(phase), 0, 8).foreground);
		CHECK_STR(printed(8, word, 0), wanted);
		CHECK_STR(printed(0, word, 0), " x");
		CHECK_STR(printed(0, word, 1), "  #");
	}
	snprintf(wanted, sizeof(wanted), "\033[48;5;%dm \033[0mx",
		 palette_look(STYLE_LAYER(PALETTE_SLACK), 0, 256).foreground);
	CHECK_STR(printed(256, mt_category_name(MT_CATEGORY_SLACK), 0), wanted);
	CHECK_STR(printed(256, "no phase", 0), " x");
	CHECK_STR(printed(256, "", 0), " x");
}

/* The cube and the ramp, as their numbers are. */
TEST(direct_colours_are_those_of_256)
{
	CHECK_EQ(colour_direct(16), 0);
	CHECK_EQ(colour_direct(231), 0xffffff);
	CHECK_EQ(colour_direct(32), 0x0087d7);
	CHECK_EQ(colour_direct(214), 0xffaf00);
	CHECK_EQ(colour_direct(232), 0x080808);
	CHECK_EQ(colour_direct(255), 0xeeeeee);
	CHECK_EQ(colour_direct(7), 7);
}

TEST(looks_keep_to_the_colours_there_are)
{
	static const int colours[] = { 0, 8, 256 };
	struct palette_look look;
	int style, behind;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(colours); i++)
		for (style = 0; style < 256; style++)
			for (behind = 0; behind < STYLE_ALL; behind++) {
				look = palette_look((uint8_t)style, (uint8_t)behind, colours[i]);
				CHECK(look.foreground >= -1 && look.foreground < colours[i]);
				CHECK(look.background >= -1 && look.background < colours[i]);
			}
	CHECK(palette_look(STYLE_CHOSEN, 0, 0).reverse && palette_look(STYLE_BAR, 0, 0).reverse);
	CHECK(palette_look(STYLE_BAD, 0, 0).bold && palette_look(STYLE_MARK, 0, 0).bold);
	CHECK(palette_look(STYLE_LAYER_PALE(2), 0, 0).dim && !palette_look(STYLE_LAYER(2), 0, 0).dim);
}

TEST(text_on_a_layer_can_be_read)
{
	int style, layer;

	for (style = 0; style < STYLE_COUNT; style++)
		for (layer = 0; layer < STYLE_LAYERS; layer++) {
			struct palette_look bright = palette_look((uint8_t)style, STYLE_LAYER(layer), 256),
					    pale = palette_look((uint8_t)style, STYLE_LAYER_PALE(layer), 256),
					    eight = palette_look((uint8_t)style, STYLE_LAYER(layer), 8);

			CHECK_EQ(bright.foreground, layer == PALETTE_SLACK ? 231 : 16);
			CHECK_EQ(pale.foreground, layer == PALETTE_SLACK ? 231 : 16);
			CHECK(eight.foreground == 0 && eight.background > 0 && !eight.reverse && !eight.bold);
			CHECK_EQ(bright.background, palette_look(STYLE_LAYER(layer), 0, 256).foreground);
		}
}

/* ---- palette: layers ---- */

static void add_site(struct model *model, uint32_t process, uint32_t device, uint32_t owner, int phase, int category,
		     uint64_t most)
{
	struct model_site site = { .process = process,
				   .device = device,
				   .owner = owner,
				   .phase = (uint8_t)phase,
				   .category = (uint8_t)category,
				   .most = most };

	CHECK_EQ(model_add_site(model, model->sites ? model->sites : 1, &site), 0);
}

static uint32_t add_owner(struct model *model, const char *name)
{
	uint32_t owner = model_owner(model, name);

	CHECK(owner != UINT32_MAX);
	return owner;
}

static uint8_t layer_of(const struct palette *palette, uint32_t site, int slack)
{
	CHECK(TAPE_CELL(site, slack) < palette->cells);
	return palette->layer_of[TAPE_CELL(site, slack)];
}

static void check_letters(const struct palette *palette)
{
	uint32_t a, b;

	for (a = 0; a < palette->layers; a++)
		for (b = 0; palette->name[a][0] && b < a; b++)
			CHECK(!palette->name[b][0] || palette->letter[a] != palette->letter[b]);
}

TEST(phases_and_categories_keep_their_layers)
{
	struct palette_scope scope = { .device = 0 };
	struct palette palette = { 0 };
	struct model model;
	uint32_t i;

	CHECK_EQ(model_init(&model), 0);
	add_site(&model, 0, 0, 0, MT_PHASE_BACKWARD, MT_CATEGORY_GRADIENTS, GIB);
	add_site(&model, 0, 0, 0, MT_PHASE_OTHER, MT_CATEGORY_OTHER, GIB);
	model.site[2].all_slack = 1;
	CHECK_EQ(palette_make(&palette, &model, PALETTE_BY_PHASE, &scope), 0);
	CHECK_EQ(palette.layers, PALETTE_SLACK + 1);
	CHECK_STR(palette.name[PALETTE_SLACK], "slack");
	for (i = 0; i < MT_PHASE_COUNT; i++) {
		CHECK_STR(palette.name[i], mt_phase_name(i));
		CHECK_EQ(palette.letter[i], palette_phase_letter((uint8_t)i));
	}
	CHECK_EQ(palette_phase_letter(200), '.');
	check_letters(&palette);
	CHECK_EQ(layer_of(&palette, 1, 0), MT_PHASE_BACKWARD);
	/* Whatever ran when its segment was taken. */
	CHECK_EQ(layer_of(&palette, 1, 1), PALETTE_SLACK);
	CHECK_EQ(layer_of(&palette, 2, 0), PALETTE_SLACK);
	CHECK_EQ(palette_make(&palette, &model, PALETTE_BY_CATEGORY, &scope), 0);
	CHECK_EQ(palette.layers, MT_CATEGORY_COUNT);
	CHECK_STR(palette.name[MT_CATEGORY_KV_CACHE], "kv cache");
	check_letters(&palette);
	CHECK_EQ(layer_of(&palette, 1, 0), MT_CATEGORY_GRADIENTS);
	CHECK_EQ(layer_of(&palette, 1, 1), MT_CATEGORY_SLACK);
	CHECK_EQ(layer_of(&palette, 2, 0), MT_CATEGORY_SLACK);
	palette_release(&palette);
	model_release(&model);
}

TEST(owners_have_layers_by_what_they_held)
{
	struct palette_scope scope = { .device = 0 };
	struct palette palette = { 0 };
	struct model model;
	char name[16];
	uint32_t i;

	CHECK_EQ(model_init(&model), 0);
	for (i = 1; i <= 18; i++) {
		snprintf(name, sizeof(name), "libn%u", i);
		add_site(&model, 0, 0, add_owner(&model, name), MT_PHASE_INIT, MT_CATEGORY_OTHER, i * GIB);
	}
	CHECK_EQ(palette_make(&palette, &model, PALETTE_BY_OWNER, &scope), 0);
	CHECK_EQ(palette.layers, SERIES_LAYERS_MAX);
	CHECK_EQ(layer_of(&palette, 18, 0), 1);
	CHECK_EQ(layer_of(&palette, 5, 0), 15);
	CHECK_EQ(layer_of(&palette, 4, 0), PALETTE_REST);
	CHECK_STR(palette.name[1], "libn18");
	CHECK_STR(palette.name[PALETTE_REST], "all others");
	CHECK_EQ(palette.letter[1], 'n');
	check_letters(&palette);
	/* Slack is nobody's. */
	CHECK_EQ(layer_of(&palette, 18, 1), PALETTE_SLACK);
	CHECK_STR(palette.name[PALETTE_SLACK], "slack");
	palette_release(&palette);
	model_release(&model);
}

TEST(known_cells_keep_their_layers)
{
	struct palette_scope scope = { .device = 0 };
	struct palette palette = { 0 };
	uint8_t before[64];
	uint32_t cells, nccl, i;
	struct model model;

	CHECK_EQ(model_init(&model), 0);
	nccl = add_owner(&model, "libnccl");
	add_site(&model, 0, 0, 0, MT_PHASE_INIT, MT_CATEGORY_WEIGHTS, GIB);
	add_site(&model, 0, 0, nccl, MT_PHASE_INIT, MT_CATEGORY_NCCL, 2 * GIB);
	CHECK_EQ(palette_make(&palette, &model, PALETTE_BY_OWNER, &scope), 0);
	CHECK(layer_of(&palette, 2, 0) == 1 && layer_of(&palette, 1, 0) == 2);
	CHECK_STR(palette.name[3], "");
	cells = palette.cells;
	memcpy(before, palette.layer_of, cells);
	add_site(&model, 0, 0, add_owner(&model, "libcublas"), MT_PHASE_INIT, MT_CATEGORY_WORKSPACE, 9 * GIB);
	add_site(&model, 0, 0, nccl, MT_PHASE_FORWARD, MT_CATEGORY_NCCL, 9 * GIB);
	CHECK_EQ(palette_extend(&palette, &model, &scope), 0);
	CHECK_EQ(palette.cells, cells + 4);
	for (i = 2; i < cells; i++)
		CHECK_EQ(palette.layer_of[i], before[i]);
	CHECK_EQ(layer_of(&palette, 3, 0), 3);
	CHECK_EQ(layer_of(&palette, 4, 0), 1);
	CHECK_STR(palette.name[3], "libcublas");
	CHECK_EQ(palette.letter[3], 'c');
	check_letters(&palette);
	palette_release(&palette);
	model_release(&model);
}

TEST(what_is_not_in_the_scope_is_hidden)
{
	uint8_t shown[6] = { 1, 1, 0, 0, 1, 1 };
	struct palette_scope scope = { .device = 0, .hidden = palette_process_bit(1) };
	struct model_process ranks[3] = { { .pid = 7, .rank = 0 }, { .pid = 8, .rank = 1 }, { .pid = 9, .rank = -1 } };
	struct palette palette = { 0 };
	struct model model;
	int i;

	CHECK_EQ(model_init(&model), 0);
	for (i = 0; i < 3; i++)
		CHECK_EQ(model_add_process(&model, &ranks[i]), 0);
	add_site(&model, 0, 0, 0, MT_PHASE_INIT, MT_CATEGORY_WEIGHTS, GIB);
	add_site(&model, 1, 0, 0, MT_PHASE_INIT, MT_CATEGORY_WEIGHTS, GIB);
	add_site(&model, 0, 1, 0, MT_PHASE_INIT, MT_CATEGORY_WEIGHTS, GIB);
	add_site(&model, 2, 0, 0, MT_PHASE_INIT, MT_CATEGORY_WEIGHTS, 2 * GIB);
	CHECK_EQ(palette_make(&palette, &model, PALETTE_BY_PROCESS, &scope), 0);
	CHECK_EQ(layer_of(&palette, 0, 0), SERIES_HIDDEN);
	CHECK_EQ(layer_of(&palette, 2, 0), SERIES_HIDDEN);
	CHECK_EQ(layer_of(&palette, 3, 1), SERIES_HIDDEN);
	CHECK_STR(palette.name[layer_of(&palette, 1, 0)], "rank 0");
	CHECK_EQ(palette.letter[layer_of(&palette, 1, 0)], '0');
	CHECK_STR(palette.name[layer_of(&palette, 4, 0)], "pid 9");
	scope.shown = shown;
	scope.shown_cells = 6;
	CHECK_EQ(palette_make(&palette, &model, PALETTE_BY_PHASE, &scope), 0);
	CHECK_EQ(layer_of(&palette, 1, 0), SERIES_HIDDEN);
	CHECK_EQ(layer_of(&palette, 4, 0), MT_PHASE_INIT);
	CHECK(palette_process_bit(63) == palette_process_bit(64) && palette_process_bit(62) != palette_process_bit(63));
	palette_release(&palette);
	model_release(&model);
}

TEST_MAIN()
