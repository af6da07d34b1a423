/* Rows as bytes in lots, and back. */
#include "query/packed.h"

#include <stddef.h>
#include <string.h>
#include "memtrace/base.h"
#include "test.h"

struct row {
	uint64_t number;
	uint32_t word;
	uint8_t flag;
	uint64_t left_out;
};

static const struct facts_member members[] = { FACTS_MEMBER(row, number), FACTS_MEMBER(row, word),
					       FACTS_MEMBER(row, flag) };

static struct row row_of(uint64_t i)
{
	return (struct row){ .number = i * i * 0x9e3779b97f4a7c15ull, .word = (uint32_t)(i / 3), .flag = i % 7 == 0 };
}

static void add(struct packed *packed, uint64_t rows)
{
	struct row row;

	while (packed->rows < rows) {
		row = row_of(packed->rows);
		row.left_out = 5;
		CHECK_EQ(packed_add(packed, &row), 0);
	}
}

static uint64_t read_all(const struct packed *packed)
{
	struct row lot[PACKED_LOT], row;
	uint64_t rows = 0;
	size_t number, count, i;

	for (number = 0; (count = packed_lot(packed, number, lot)); number++)
		for (i = 0; i < count; i++, rows++) {
			row = row_of(rows);
			CHECK_EQ(lot[i].number, row.number);
			CHECK_EQ(lot[i].word, row.word);
			CHECK_EQ(lot[i].flag, row.flag);
		}
	CHECK_EQ(packed_lot(packed, number + 1, lot), 0);
	return rows;
}

TEST(rows_come_back_in_lots)
{
	static const uint64_t rows[] = { 0, 1, PACKED_LOT - 1, PACKED_LOT, PACKED_LOT + 1, 5 * PACKED_LOT, 1500 };
	struct packed packed = packed_of(members, MT_ARRAY_SIZE(members), sizeof(struct row));
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(rows); i++) {
		add(&packed, rows[i]);
		CHECK_EQ(read_all(&packed), rows[i]);
	}
	packed_release(&packed);
	CHECK_EQ(read_all(&packed), 0);
	add(&packed, 300);
	CHECK_EQ(read_all(&packed), 300);
	packed_release(&packed);
}

/* Rows that differ by the same take a few bytes for each lot. */
TEST(equal_differences_take_no_room)
{
	struct packed packed = packed_of(members, MT_ARRAY_SIZE(members), sizeof(struct row));
	struct row row = { 0 };
	uint64_t i;

	for (i = 0; i < 100 * PACKED_LOT; i++) {
		row.number += 64;
		CHECK_EQ(packed_add(&packed, &row), 0);
	}
	CHECK(packed.io.size < 100 * 24);
	packed_release(&packed);
}

static int by_word(const void *one, const void *two)
{
	const struct row *a = one, *b = two;

	return a->word != b->word ? MT_ORDER(a->word, b->word) : MT_ORDER(a->number, b->number);
}

TEST(rows_are_sorted_and_walked)
{
	struct packed packed = packed_of(members, MT_ARRAY_SIZE(members), sizeof(struct row));
	const struct row *row;
	struct packed_walk walk;
	uint64_t rows = 0, i;

	CHECK_EQ(packed_sort(&packed, by_word), 0);
	CHECK(!packed_first(&walk, &packed));
	for (i = 0; i < 1000; i++)
		CHECK_EQ(packed_add(&packed, &(struct row){ .number = i, .word = (uint32_t)((999 - i) / 2) }), 0);
	CHECK_EQ(packed_sort(&packed, by_word), 0);
	CHECK_EQ(packed_sort(&packed, by_word), 0);
	for (row = packed_first(&walk, &packed); row; row = packed_next(&walk), rows++) {
		CHECK_EQ(row->word, rows / 2);
		CHECK_EQ(row->number, 998 - rows / 2 * 2 + rows % 2);
	}
	CHECK_EQ(rows, 1000);
	packed_release(&packed);
}

TEST_MAIN()
