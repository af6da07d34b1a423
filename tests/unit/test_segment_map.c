/* Segments, tensors and the holes between them, by addresses. */
#include "device/segment_map.h"

#include "memtrace/base.h"
#include "test.h"

static struct segment_map map_of(struct segment_piece *piece, size_t pieces, struct segment_block *block, size_t blocks)
{
	struct segment_map map;

	CHECK_EQ(segment_map_build(&map, piece, pieces, block, blocks), 0);
	return map;
}

TEST(holes_are_before_between_and_behind_tensors)
{
	struct segment_piece piece[] = { { 1, 1000, 100, 0, 1, 0 } };
	struct segment_block block[] = { { 1, 1070, 10, 2 }, { 1, 1010, 20, 1 } };
	struct segment_map map = map_of(piece, 1, block, 2);

	CHECK_EQ(map.count, 1);
	CHECK_EQ(map.used, 30);
	CHECK_EQ(map.largest_hole, 40);
	CHECK_EQ(map.segment[0].blocks, 2);
	CHECK_EQ(block[map.segment[0].first_block].id, 1);
	CHECK_EQ(map.absent, 0);
	CHECK_EQ(map.free_pieces, 0);
	segment_map_release(&map);
}

TEST(a_walk_sees_every_byte_once)
{
	struct segment_piece piece[] = { { 1, 1000, 100, 0, 1, 0 } };
	struct segment_block block[] = {
		{ 1, 990, 15, 1 }, { 1, 1010, 20, 2 }, { 1, 1020, 20, 3 }, { 1, 1022, 2, 4 }, { 1, 1090, 50, 5 }
	};
	static const struct {
		uint64_t from, to;
		int64_t id;
	} wanted[] = { { 1000, 1005, 1 }, { 1005, 1010, 0 }, { 1010, 1030, 2 },
		       { 1030, 1040, 3 }, { 1040, 1090, 0 }, { 1090, 1100, 5 } };
	struct segment_map map = map_of(piece, 1, block, 5);
	struct segment_walk walk = segment_walk_begin(&map.segment[0], block);
	struct segment_part part;
	size_t i;

	for (i = 0; segment_walk_next(&walk, &part); i++) {
		CHECK(i < MT_ARRAY_SIZE(wanted));
		CHECK_EQ(part.from, wanted[i].from);
		CHECK_EQ(part.to, wanted[i].to);
		CHECK_EQ(part.block ? part.block->id : 0, wanted[i].id);
	}
	CHECK_EQ(i, MT_ARRAY_SIZE(wanted));
	CHECK_EQ(map.used, 45);
	CHECK_EQ(map.largest_hole, 50);
	segment_map_release(&map);
}

TEST(an_empty_segment_is_one_hole_and_can_go)
{
	struct segment_piece piece[] = { { 1, 2000, 50, 0, 1, 0 }, { 1, 1000, 100, 0, 1, 0 } };
	struct segment_block block[] = { { 1, 1000, 100, 1 } };
	struct segment_map map = map_of(piece, 2, block, 1);

	CHECK_EQ(map.count, 2);
	CHECK_EQ(map.segment[1].largest_hole, 50);
	CHECK_EQ(map.segment[1].blocks, 0);
	CHECK_EQ(map.segment[0].largest_hole, 0);
	CHECK_EQ(map.free_pieces, 50);
	segment_map_release(&map);
}

/* Holes and tensors go across seams of mappings, but not of allocations. */
TEST(mappings_one_after_the_other_are_one_segment)
{
	struct segment_piece piece[] = { { 1, 100, 100, 1, 1, 0 },
					 { 1, 200, 100, 1, 0, 0 },
					 { 1, 300, 100, 1, 0, 0 },
					 { 1, 500, 100, 0, 1, 0 },
					 { 1, 600, 100, 0, 1, 0 } };
	struct segment_block block[] = { { 1, 150, 60, 1 }, { 1, 500, 10, 2 } };
	struct segment_map map = map_of(piece, 5, block, 2);

	CHECK_EQ(map.count, 3);
	CHECK_EQ(map.segment[0].bytes, 300);
	CHECK_EQ(map.segment[0].pieces, 3);
	CHECK_EQ(map.segment[0].used, 60);
	CHECK_EQ(map.segment[0].largest_hole, 190);
	CHECK_EQ(map.segment[1].largest_hole, 90);
	CHECK_EQ(piece[1].used, 10);
	CHECK_EQ(map.free_pieces, 200);
	segment_map_release(&map);
}

TEST(mappings_without_tensors_are_somebody_elses)
{
	struct segment_piece piece[] = { { 1, 100, 100, 1, 0, 0 }, { 1, 900, 100, 1, 1, 0 } };
	struct segment_map map = map_of(piece, 2, NULL, 0);

	CHECK_EQ(map.count, 1);
	CHECK_EQ(map.segment[0].address, 900);
	CHECK_EQ(map.bytes, 100);
	CHECK_EQ(map.free_pieces, 100);
	segment_map_release(&map);
}

TEST(tensors_without_memory_are_absent)
{
	struct segment_piece piece[] = { { 1, 100, 100, 0, 1, 0 } };
	struct segment_block block[] = { { 1, 180, 50, 1 }, { 1, 5000, 7, 2 }, { 2, 110, 9, 3 } };
	struct segment_map map = map_of(piece, 1, block, 3);

	CHECK_EQ(map.used, 20);
	CHECK_EQ(map.absent, 30 + 7 + 9);
	segment_map_release(&map);
}

TEST(what_overlaps_is_counted_once)
{
	struct segment_piece piece[] = { { 1, 100, 100, 0, 1, 0 },
					 { 1, 150, 100, 0, 1, 0 },
					 { 1, 160, 20, 0, 1, 0 },
					 { 1, UINT64_MAX - 10, 100, 0, 1, 0 } };
	struct segment_block block[] = {
		{ 1, 100, 100, 1 }, { 1, 100, 100, 2 }, { 1, 120, 10, 3 }, { 1, UINT64_MAX - 5, 100, 4 }
	};
	struct segment_map map = map_of(piece, 4, block, 4);

	CHECK_EQ(map.count, 3);
	CHECK_EQ(map.bytes, 100 + 50 + 10);
	CHECK_EQ(map.used, 100 + 5);
	CHECK_EQ(map.segment[2].largest_hole, 5);
	segment_map_release(&map);
}

TEST(nothing_is_nothing)
{
	struct segment_map map = map_of(NULL, 0, NULL, 0);

	CHECK_EQ(map.count, 0);
	CHECK_EQ(map.largest_hole, 0);
	segment_map_release(&map);
}

TEST_MAIN()
