/* Steps that are alike to memana retained, and lives in them. */
#include "database/db.h"
#include "memtrace/base.h"
#include "rows/sums_steps.h"
#include "test.h"

#define SPAN 10 /* events of each forward and backward */

/* Steps 1 to 6 have these numbers of micro-batches, and end; step 7 goes on. */
static const int batches[] = { 2, 5, 1, 4, 3, 2, 2 };

static void fill(struct sums_instants *instants, struct sums_steps *steps)
{
	uint64_t seq = 1;
	uint32_t step;
	int i;

	for (step = 1; step <= MT_ARRAY_SIZE(batches); step++) {
		for (i = 0; i < batches[step - 1]; i++, seq += 2 * SPAN) {
			CHECK_EQ(sums_instants_span(instants, MT_PHASE_FORWARD, step, seq, seq + SPAN - 1), 0);
			CHECK_EQ(sums_instants_span(instants, MT_PHASE_BACKWARD, step, seq + SPAN, seq + 2 * SPAN - 1),
				 0);
		}
		if (step < MT_ARRAY_SIZE(batches))
			sums_steps_end(steps, step);
	}
}

/* The steps of the birth and the death after sums_steps_alike; death 0: never freed. */
static void check(const struct sums_steps *steps, int64_t born, int64_t freed, int64_t born_alike, int64_t freed_alike)
{
	struct load_allocation_raw row = { .step = born,
					   .free_step = freed ? freed : DB_CELL_NULL,
					   .free_seq = freed ? 1000 : DB_CELL_NULL };

	sums_steps_alike(steps, &row);
	CHECK_EQ(row.step, born_alike);
	CHECK_EQ(row.free_step, freed_alike ? freed_alike : DB_CELL_NULL);
}

TEST(steps_with_few_micro_batches_are_alike)
{
	struct sums_instants instants = { 0 };
	struct sums_steps steps = { 0 };
	struct analysis analysis = { 0 };
	uint64_t *seq;
	size_t count;

	fill(&instants, &steps);
	CHECK_EQ(sums_steps_find(&steps, &instants, &analysis, 0, &seq, &count), 0);
	CHECK_EQ(steps.count,
		 2); /* steps 2 and 4 are looked into: an instant before and one after the begin of each of 9 */
	CHECK_EQ(count, 18);
	CHECK_EQ(seq[0], 2 * 2 * SPAN);
	CHECK_EQ(seq[1], 2 * 2 * SPAN + 1);
	CHECK_EQ(seq[10], 8 * 2 * SPAN);
	check(&steps, 1, 0, 1, 0); /* the first step, and before it */
	check(&steps, 3, 0, 3, 0);
	check(&steps, 5, 0, 3, 0);
	check(&steps, 6, 0, 3, 0);
	check(&steps, 2, 0, 2, 0);
	check(&steps, 4, 0, 4, 0);
	check(&steps, 7, 0, 7, 0); /* it has not ended */
	check(&steps, 5, 6, 3, 6);
	check(&steps, 3, 5, 3, 6);
	check(&steps, 1, 3, 1, 6);
	check(&steps, 2, 3, 2, 6);
	check(&steps, 3, 4, 3, 4);
	check(&steps, 5, 7, 3, 7);
	check(&steps, 5, 5, 5, 5); /* it does not outlive its step */
	free(seq);
	sums_steps_release(&steps);
	sums_instants_release(&instants);
}

TEST(no_step_is_alike_where_none_ended)
{
	struct sums_instants instants = { 0 };
	struct sums_steps steps = { 0 };
	struct analysis analysis = { 0 };
	uint64_t *seq;
	size_t count;

	CHECK_EQ(sums_steps_find(&steps, &instants, &analysis, 0, &seq, &count), 0);
	CHECK_EQ(count, 0);
	check(&steps, 1, 2, 1, 2);
	check(&steps, 3, 0, 3, 0);
	free(seq);
	sums_steps_release(&steps);
}

TEST_MAIN()
