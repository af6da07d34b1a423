/* The map of segments: its bars against brute force, and the view on runs whose segments are known. */
#include "screen/draw/memory_bar.h"

#include "canvas_kit.h"
#include "screen/data/series.h"
#include "trace_kit.h"
#include "tui_kit.h"

/* ---- bars ---------------------------------------------------------------------------------------------------------- */

#define BYTES_MOST 600
#define BLOCKS_MOST 12
#define CELLS_MOST 90

static uint8_t layer_of_id(const void *context, const struct segment_block *block)
{
	const uint8_t *layer = context;

	return layer[block->id];
}

/* The kind of every byte: 0 a hole, else a block's number and one more. The first block has what others overlap. */
static void paint(int *byte, const struct segment *segment, const struct segment_block *block, size_t blocks)
{
	uint64_t at;
	size_t i;

	memset(byte, 0, BYTES_MOST * sizeof(*byte));
	for (i = blocks; i-- > 0;)
		for (at = block[i].address; at < block[i].address + block[i].bytes; at++)
			if (at >= segment->address && at < segment->address + segment->bytes)
				byte[at - segment->address] = (int)i + 1;
}

static void check_cell(const struct memory_bar_cell *cell, const int *byte, uint64_t from, uint64_t to,
		       const struct segment_block *block, const uint8_t *layer)
{
	uint64_t used = 0, of[256] = { 0 }, at;
	int one = to > from ? byte[from] : 0;

	for (at = from; at < to; at++) {
		if (byte[at])
			of[layer[block[byte[at] - 1].id]]++;
		used += byte[at] != 0;
		one = byte[at] == one ? one : 0;
	}
	CHECK_EQ(cell->bytes, to - from);
	CHECK_EQ(cell->used, used);
	for (at = 0; used && at < 256; at++)
		CHECK(of[cell->layer] >= of[at]);
	CHECK(!cell->is_odd || (one && (one - 1) % 2)); /* full of one, every second one */
	CHECK(cell->is_odd || !one || !((one - 1) % 2));
}

static uint64_t random_blocks(struct segment_block *block, size_t blocks, uint64_t from, uint64_t size,
			      struct kit_random *random)
{
	uint64_t at = from > 40 ? from - kit_below(random, 40) : from;
	size_t i;

	for (i = 0; i < blocks; i++) {
		at += kit_below(random, 3) ? 0 : kit_below(random, size / 4);
		block[i] = (struct segment_block){ 1, at, 1 + kit_below(random, size / 5), (int64_t)i };
		at += block[i].bytes - (kit_below(random, 6) ? 0 : kit_below(random, block[i].bytes));
	}
	return at;
}

TEST(bars_have_every_byte)
{
	static const uint8_t layer[BLOCKS_MOST] = { 0, 1, 2, 3, 1, SERIES_HIDDEN, 2, 0, SERIES_HIDDEN, 3, 4, 5 };
	struct segment_block block[BLOCKS_MOST];
	struct memory_bar_cell cell[CELLS_MOST];
	struct kit_random random = { 3 };
	struct segment_piece piece;
	struct segment_map map;
	int round, cells, i, byte[BYTES_MOST];
	uint64_t size, all;
	size_t blocks;

	for (round = 0; round < 2000; round++) {
		size = 5 + kit_below(&random, BYTES_MOST - 5);
		piece = (struct segment_piece){ 1, 1000, size, 0, 1, 0, 0 };
		blocks = kit_below(&random, BLOCKS_MOST + 1);
		random_blocks(block, blocks, 1000, size, &random);
		CHECK_EQ(segment_map_build(&map, &piece, 1, block, blocks), 0);
		CHECK_EQ(map.count, 1);
		paint(byte, &map.segment[0], block + map.segment[0].first_block, map.segment[0].blocks);
		cells = 1 + (int)kit_below(&random, CELLS_MOST);
		memory_bar_fill(cell, cells, &map.segment[0], block, layer_of_id, layer);
		for (i = 0, all = 0; i < cells; i++) {
			check_cell(&cell[i], byte, all, all + cell[i].bytes, block + map.segment[0].first_block, layer);
			all += cell[i].bytes;
		}
		CHECK_EQ(all, size);
		segment_map_release(&map);
	}
}

TEST(bars_look_as_full_as_they_are)
{
	static const struct memory_bar_cell cell[] = {
		{ 800, 800, 1, 0 }, { 800, 799, 1, 0 }, { 800, 400, 1, 1 },          { 800, 1, 2, 0 },
		{ 800, 0, 0, 0 },   { 0, 0, 0, 0 },     { 800, 9, SERIES_HIDDEN, 0 }
	};
	struct canvas canvas = canvas_of(4, 2, 256, 0);

	memory_bar_draw(canvas_area(&canvas), cell, 7, "xab");
	CHECK_TEXT(canvas, "█▇▄▁\n· ▁\n");
	CHECK_EQ(canvas.cell[2].style, STYLE_LAYER_PALE(1));
	CHECK_EQ(canvas.cell[3].style, STYLE_LAYER(2));
	canvas_release(&canvas);
	canvas = canvas_of(4, 2, 0, 1);
	memory_bar_draw(canvas_area(&canvas), cell, 7, "xab");
	CHECK_TEXT(canvas, "aaab\n. -\n");
	canvas_release(&canvas);
}

/* ---- the view ------------------------------------------------------------------------------------------------------ */

#define SEGMENT_A 0x10000000000ull
#define SEGMENT_B 0x20000000000ull
#define SEGMENT_C 0x30000000000ull

static uint32_t stack_of(struct builder *m, const char *function, uint32_t line)
{
	return builder_python(m, builder_python(m, 0, "main", "/home/me/train.py", 9), function, "/home/me/train.py",
			      line);
}

/*
 * Two segments of 100 MiB: one keeps a tensor of 2 MiB, the other has tensors of 40 and 20 MiB. A segment of 50 MiB is empty at the
 * end. Two driver allocations of 7 MiB have no tensors.
 */
static const char *segments_run(void)
{
	struct builder m;

	kit_go_apart();
	builder_open_on(&m, "run.zst", 100, -1, GIB);
	builder_phase(&m, "init");
	m.stack = stack_of(&m, "Buffer.__init__", 11);
	builder_driver_alloc(&m, SEGMENT_B, 100 * MIB);
	builder_tensor_alloc(&m, SEGMENT_B, 30 * MIB);
	builder_tensor_alloc(&m, SEGMENT_B + 30 * MIB, 2 * MIB);
	builder_tensor_free(&m, SEGMENT_B, 30 * MIB);
	m.stack = stack_of(&m, "nccl_init", 5);
	builder_driver_alloc(&m, 0x50000000000ull, 4 * MIB);
	builder_driver_alloc(&m, 0x60000000000ull, 3 * MIB);
	builder_phase_end(&m);
	builder_phase(&m, "forward");
	m.stack = stack_of(&m, "layer", 22);
	builder_driver_alloc(&m, SEGMENT_A, 100 * MIB);
	builder_tensor_alloc(&m, SEGMENT_A, 40 * MIB);
	builder_tensor_alloc(&m, SEGMENT_A + 60 * MIB, 20 * MIB);
	builder_driver_alloc(&m, SEGMENT_C, 50 * MIB);
	builder_tensor_alloc(&m, SEGMENT_C, 50 * MIB);
	m.time += 1000000;
	builder_tensor_free(&m, SEGMENT_C, 50 * MIB);
	builder_phase_end(&m);
	builder_step(&m, 1);
	builder_close(&m);
	return "run.zst";
}

static struct kit *open_segments(int width, int height)
{
	struct kit *kit = kit_open(segments_run(), NULL);

	kit_screen(kit, width, height, 256, 0);
	return kit;
}

TEST(the_idlest_segment_comes_first_and_who_pins_it)
{
	struct kit *kit = open_segments(120, 40);

	kit_keys(kit, "M");
	CHECK(kit_shows(kit, "3 segments"));
	CHECK(kit_shows(kit, "138.0 MiB of 250.0 MiB reserved (55%) is idle at the peak"));
	CHECK(kit_shows(kit, "Pinned by Buffer.__init__ (train.py:11), from init of step 1"));
	CHECK(kit_shows(kit, "98.0 MiB idle of 100.0 MiB, 2.0 MiB in 1 tensor, the largest hole 68.0 MiB"));
	CHECK(kit_shows(kit, "hole 138.0 MiB  i init 2.0 MiB  f forward 110.0 MiB"));
	CHECK(kit_shows(kit, "no segment: 2 allocations of the driver"));
	kit_keys(kit, "Down");
	CHECK(kit_shows(kit, "Most of it is by layer (train.py:22), from forward of step 1"));
	kit_keys(kit, "G");
	CHECK(kit_shows(kit, "7.0 MiB in 2 allocations of the driver, in none of the segments"));
	kit_close(kit);
}

TEST(a_segment_leads_to_what_lives_in_it)
{
	struct kit *kit = open_segments(100, 30);

	kit_keys(kit, "M Down Enter");
	CHECK(kit_shows(kit, "What lives in the segment of 100.0 MiB at 0x10000000000"));
	CHECK(kit_shows(kit, "100.0 MiB reserved, 60.0 MiB of it in 2 tensors. 40.0 MiB idle in 2 holes, the largest"));
	CHECK(kit_shows(kit, "40.0 MiB  layer (train.py:22)  forward     1"));
	CHECK(kit_shows(kit, "0x10003c00000"));
	kit_keys(kit, "Enter");
	CHECK(kit_shows(kit, "layer (train.py:22)"));
	CHECK(!strcmp(kit->app.view->ops->name, "place"));
	kit_keys(kit, "q q");
	CHECK(kit_shows(kit, "Most of it is by layer")); /* it is still the chosen one */
	kit_keys(kit, "G Enter");
	CHECK(kit_shows(kit, "7.0 MiB in 2 allocations of the driver that PyTorch's allocator knows nothing of."));
	CHECK(kit_shows(kit, "4.0 MiB  nccl_init (train.py:5)"));
	kit_close(kit);
}

TEST(the_map_follows_the_cursor)
{
	struct kit *kit = open_segments(120, 40);
	int64_t peak;

	kit_keys(kit, "M");
	peak = kit->app.scale.cursor;
	kit_keys(kit, "}");
	kit_keys(kit, "Right Right Right Right Right Right Right Right");
	app_go(&kit->app, kit->app.scale.last);
	kit_draw(kit);
	CHECK(kit->app.scale.cursor > peak);
	CHECK(kit_shows(kit, "188.0 MiB of 250.0 MiB reserved (75%) is idle"));
	kit_keys(kit, "g Down Down");
	CHECK(kit_shows(kit, "40.0 MiB idle of 100.0 MiB"));
	kit_keys(kit, "p");
	CHECK_EQ(kit->app.scale.cursor, peak);
	CHECK(kit_shows(kit, "138.0 MiB of 250.0 MiB reserved (55%) is idle at the peak"));
	CHECK(kit_shows(kit, "40.0 MiB idle of 100.0 MiB")); /* the same segment, elsewhere in the list */
	app_go(&kit->app, 0);
	kit_draw(kit);
	CHECK(kit_shows(kit, "No caching allocator holds memory"));
	kit_keys(kit, "Enter j k + - 0 n");
	kit_close(kit);
}

TEST(rows_of_characters_can_be_more_and_fewer)
{
	struct kit *kit = open_segments(80, 24);
	int tall;

	kit_keys(kit, "M - - - - - -");
	CHECK(kit_shows(kit, "A character is 2.0 MiB"));
	kit_keys(kit, "+");
	CHECK(kit_shows(kit, "A character is 1.0 MiB"));
	for (tall = 0; tall < 10; tall++)
		kit_keys(kit, "+");
	CHECK(kit_shows(kit, "98.0 MiB 100.0 MiB"));
	kit_close(kit);
}

TEST(segments_are_searched)
{
	struct kit *kit = open_segments(80, 24);

	kit_keys(kit, "M /");
	kit_type(kit, "layer");
	kit_keys(kit, "Enter");
	CHECK(kit_shows(kit, "Most of it is by layer"));
	kit_keys(kit, "/");
	kit_type(kit, "nothing_like_it");
	kit_keys(kit, "Enter");
	CHECK(kit_shows(kit, "no stack of a tensor in these segments has \"nothing_like_it\" in it"));
	kit_close(kit);
}

/* A filter hides memory that is still there: it is no hole. */
TEST(what_is_filtered_is_no_hole)
{
	struct kit *kit = open_segments(80, 24);

	kit_keys(kit, "f");
	kit_type(kit, "init");
	kit_keys(kit, "Enter M");
	CHECK(kit_shows(kit, "hole 138.0 MiB  i init 2.0 MiB"));
	kit_keys(kit, "Down");
	CHECK(kit_shows(kit, "40.0 MiB idle of 100.0 MiB"));
	kit_close(kit);
}

TEST(without_a_database_it_says_so)
{
	struct kit *kit = open_segments(80, 24);
	struct worker *worker = kit->worker;

	kit->app.worker = NULL;
	kit_keys(kit, "M");
	CHECK(kit_shows(kit, "there is no database to ask"));
	kit_keys(kit, "Enter j + q");
	kit->app.worker = worker;
	kit_close(kit);
}

/* One place took both segments, by two ways; in the one there is a hole, the other is full of a tensor. */
TEST(the_flame_says_what_the_list_counts_more)
{
	struct builder m;
	struct kit *kit;
	uint32_t line;

	kit_go_apart();
	builder_open_on(&m, "full.zst", 100, -1, GIB);
	builder_phase(&m, "forward");
	line = stack_of(&m, "layer", 22);
	m.stack = builder_python(&m, line, "grow", "/home/me/train.py", 30);
	builder_driver_alloc(&m, SEGMENT_A, 20 * MIB);
	builder_tensor_alloc(&m, SEGMENT_A, 20 * MIB);
	m.stack = builder_python(&m, stack_of(&m, "other", 50), "grow", "/home/me/train.py", 30);
	builder_driver_alloc(&m, SEGMENT_B, 20 * MIB);
	builder_tensor_alloc(&m, SEGMENT_B, 8 * MIB);
	builder_phase_end(&m);
	builder_close(&m);
	kit = kit_open("full.zst", NULL);
	kit_screen(kit, 120, 40, 256, 0);
	CHECK(kit_shows(kit, "40.0 MiB of 1.0 GiB, 4 allocations"));
	kit_keys(kit, "t");
	CHECK(kit_shows(kit, "3 allocations (1 more in the list: segments that tensors fill)"));
	kit_close(kit);
}

TEST_MAIN()
