/* The sums of memory that outlived its step: which rows there are, and how many. */
#include "engine/outlived.h"
#include "test.h"

static void add(struct outlived *outlived, uint32_t site, uint32_t step, uint32_t until, uint32_t ended)
{
	const struct outlived_row row = { .site = site, .step = step, .until = until, .bytes = 512 * site, .count = 1 };

	CHECK(!outlived_add(outlived, &row, ended));
}

static int is_row(const struct outlived_row *row, uint32_t site, uint32_t step, uint32_t until)
{
	return row->site == site && row->step == step && row->until == until;
}

TEST(what_the_next_step_gives_back_takes_no_room)
{
	const uint32_t steps = 100000;
	struct outlived outlived = { 0 };
	struct outlived_row *row;
	uint32_t step, site;

	for (step = 1; step <= steps; step++)
		for (site = 1; site <= 3; site++)
			add(&outlived, site, step, step + 1, step);
	CHECK(outlived.room <= 1u << 15);
	CHECK(!outlived_settle(&outlived, steps));
	row = outlived_sorted(&outlived);
	CHECK(outlived.rows == 6 && outlived_grain(&outlived) == 1);
	for (site = 1; site <= 3; site++) {
		CHECK(is_row(&row[2 * site - 2], site, 1, 2));
		CHECK(is_row(&row[2 * site - 1], site, steps, steps + 1) && row[2 * site - 1].bytes == 512 * site);
	}
	free(row);
	outlived_release(&outlived);
}

/* The first of a site stays until there is an earlier one; what lives for two steps stays. */
TEST(rows_that_count_are_exact)
{
	struct outlived outlived = { 0 };
	struct outlived_row *row;

	add(&outlived, 7, 3, 4, 3);
	add(&outlived, 7, 5, 6, 5);
	add(&outlived, 7, 2, 8, 7);
	add(&outlived, 7, 4, OUTLIVED_STAYS, 9);
	CHECK(!outlived_settle(&outlived, 9));
	row = outlived_sorted(&outlived);
	CHECK(outlived.rows == 2 && is_row(&row[0], 7, 2, 8) && is_row(&row[1], 7, 4, OUTLIVED_STAYS));
	free(row);
	outlived_forget(&outlived, 7, 2, 8, 512 * 7);
	row = outlived_sorted(&outlived);
	CHECK(!row[0].bytes && !row[0].count && row[1].count == 1);
	free(row);
	outlived_release(&outlived);
}

/* `odd` steps from one row to the next: another order. */
static struct outlived_row *fill(struct outlived *outlived, uint32_t sites, uint32_t steps, uint64_t odd)
{
	uint64_t i, all = (uint64_t)sites * steps, at = 0;

	for (i = 0; i < all; i++, at = (at + odd) % all)
		add(outlived, (uint32_t)(at % sites) + 1, (uint32_t)(at / sites) + 1, OUTLIVED_STAYS, steps);
	CHECK(!outlived_settle(outlived, steps));
	return outlived_sorted(outlived);
}

TEST(many_places_in_many_steps_take_groups_of_steps)
{
	struct outlived one = { 0 }, two = { 0 };
	struct outlived_row *row, *other;
	uint64_t bytes = 0, count = 0;
	size_t i;

	outlived_most = 16384;
	row = fill(&one, 100, 4000, 1);
	other = fill(&two, 100, 4000, 77777);
	CHECK(one.rows == two.rows && one.rows == 100 * 126 && outlived_grain(&one) == 32 &&
	      outlived_grain(&two) == 32);
	CHECK(one.room <= 65536 && two.room <= 65536);
	CHECK(!memcmp(row, other, one.rows * sizeof(*row)));
	for (i = 0; i < one.rows; i++) {
		CHECK(row[i].step % 32 == 0);
		bytes += row[i].bytes;
		count += row[i].count;
	}
	CHECK(count == 100 * 4000 && bytes == 512ull * 4000 * 100 * 101 / 2);
	free(row);
	free(other);
	outlived_release(&one);
	outlived_release(&two);
}

TEST(more_places_than_rows_have_a_least_of_groups)
{
	struct outlived outlived = { 0 };

	outlived_most = 10;
	free(fill(&outlived, 500, 256, 1));
	CHECK(outlived_grain(&outlived) == 4 && outlived.rows == 500 * 65);
	outlived_release(&outlived);
}

/* A death in the step after the last end counts as none: by groups it could be one of the last step. */
TEST(what_goes_after_the_last_step_has_no_group)
{
	struct outlived outlived = { 0 };
	struct outlived_row *row;
	uint32_t step;

	outlived_most = 100;
	for (step = 1; step <= 4001; step++)
		add(&outlived, 1, step, 4002, 4001);
	CHECK(!outlived_settle(&outlived, 4001));
	row = outlived_sorted(&outlived);
	CHECK(outlived_grain(&outlived) == 32 && outlived.rows == 126 && is_row(&row[125], 1, 4000, 4002));
	free(row);
	outlived_release(&outlived);
}

TEST_MAIN()
