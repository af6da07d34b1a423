/* Lives of many places in many steps become few rows, which have the bytes of each step and of each place. */
#include "database/db.h"
#include "facts/facts_fold.h"
#include "memtrace/phase.h"
#include "test.h"

#define PLACES 50
#define STEPS 400
#define OTHER (PLACES + 1) /* a site of another phase */
#define MADE 4096

struct made {
	struct load_allocation_raw row[MADE];
	size_t rows;
};

static void *new_row(void *context, enum load_table table, int *error)
{
	struct made *made = context;

	CHECK(table == LOAD_allocation_raw && made->rows < MADE);
	*error = 0;
	return &made->row[made->rows++];
}

static void add(struct facts_fold *fold, int64_t site, int64_t step, int64_t until, int64_t bytes)
{
	const struct load_allocation_raw row = { .site = site,
						 .memory = "tensor",
						 .bytes = bytes,
						 .step = step,
						 .free_step = until,
						 .free_seq = until == DB_CELL_NULL ? DB_CELL_NULL : 7,
						 .allocations = 1 };

	CHECK(!facts_fold_row(fold, &row));
}

/* Bytes of rows of this site or step (0: any), never freed or freed in `until`. */
static int64_t bytes_of(const struct made *made, int64_t site, int64_t step, int64_t until)
{
	const struct load_allocation_raw *row;
	int64_t bytes = 0;

	for (row = made->row; row < made->row + made->rows; row++)
		if ((!site || row->site == site) && (!step || row->step == step) && row->free_step == until)
			bytes += row->bytes;
	return bytes;
}

static int64_t size_of(int64_t place, int64_t step)
{
	return place * 1000 + step * step % 77;
}

static void begin(struct facts_fold *fold, struct analysis *run, const struct row_maker *maker)
{
	static struct site site[OTHER + 1];
	int i;

	memset(run, 0, sizeof(*run));
	run->attribution.site = site;
	run->attribution.sites = OTHER + 1;
	for (i = 1; i <= OTHER; i++)
		site[i].key = (struct site_key){ .stack = (uint32_t)i,
						 .phase = i == OTHER ? MT_PHASE_BACKWARD : MT_PHASE_FORWARD };
	CHECK(!facts_fold_init(fold, run, maker));
}

TEST(rows_have_the_bytes_of_each_step_and_of_each_place)
{
	static struct made made;
	const struct row_maker maker = { .context = &made, .row = new_row };
	struct analysis run;
	struct facts_fold fold;
	int64_t place, step, sum;

	begin(&fold, &run, &maker);
	for (place = 1; place <= PLACES; place++)
		for (step = 1; step <= STEPS; step++) {
			add(&fold, place, step, DB_CELL_NULL, size_of(place, step));
			add(&fold, place, step, step + 1, 3 * place);
			add(&fold, place, step, step, 5); /* no end of a step sees it */
		}
	add(&fold, OTHER, 3, DB_CELL_NULL, 11);
	CHECK(!facts_fold_finish(&fold));
	CHECK(made.rows <= PLACES + 2 * STEPS + 1);
	CHECK(bytes_of(&made, OTHER, 3, DB_CELL_NULL) == 11);
	for (place = 1; place <= PLACES; place++) {
		for (step = 1, sum = 0; step <= STEPS; step++)
			sum += size_of(place, step);
		CHECK(bytes_of(&made, place, 0, DB_CELL_NULL) == sum);
	}
	for (step = 1; step <= STEPS; step++) {
		for (place = 1, sum = step == 3 ? 11 : 0; place <= PLACES; place++)
			sum += size_of(place, step);
		CHECK(bytes_of(&made, 0, step, DB_CELL_NULL) == sum);
		CHECK(bytes_of(&made, 1, step, step + 1) == 3 * PLACES * (PLACES + 1) / 2);
	}
	facts_fold_release(&fold);
}

TEST(a_site_that_is_none_is_damage)
{
	const struct load_allocation_raw none = { .site = 0, .memory = "tensor" },
					 beyond = { .site = OTHER + 1, .memory = "tensor" };
	const struct row_maker maker = { 0 };
	struct analysis run;
	struct facts_fold fold;

	begin(&fold, &run, &maker);
	CHECK(facts_fold_row(&fold, &none) < 0 && facts_fold_row(&fold, &beyond) < 0);
	facts_fold_release(&fold);
}

TEST_MAIN()
