/* Loading and reports ask SQLite for work in proportion to what happened, however it is cut into steps and micro-batches. */
#include "report/steps/diff.h"
#include "report/steps/query_phases.h"
#include "report/steps/query_steps.h"
#include "report/steps/retained.h"
#include "run_kit.h"
#include "trace_maker.h"

#define FEW 300
#define TIMES 4 /* as much more in the larger run */
#define ROUGHLY \
	7 /* sorting takes a little more than in proportion; work that grows as the square would be 16 times as much */

/* `steps` of `batches` micro-batches, each of which keeps one of its two tensors for good. */
static void write_passes(const char *path, uint64_t steps, uint64_t batches)
{
	uint64_t step, batch, addr = 0x100000000ull;
	struct maker m;

	maker_open_on(&m, path, 1, -1, (80 << 10) * MIB);
	for (step = 1; step <= steps; step++) {
		for (batch = 0; batch < batches; batch++, addr += 2 * MIB) {
			maker_phase(&m, "forward");
			m.stack = maker_python(&m, 0, "forward", "/home/me/model.py", 31);
			maker_tensor_alloc(&m, addr, MIB);
			m.stack = maker_python(&m, 0, "keep", "/home/me/actor.py", 312);
			maker_tensor_alloc(&m, addr + MIB, MIB);
			maker_phase_end(&m);
			maker_phase(&m, "backward");
			maker_tensor_free(&m, addr, MIB);
			maker_phase_end(&m);
		}
		maker_step(&m, step);
	}
	maker_close(&m);
}

static int count(void *context)
{
	__atomic_add_fetch((uint64_t *)context, 1, __ATOMIC_RELAXED); /* a thread of its own writes rows */
	return 0;
}

/* ---- what is asked ---- */

static void ask_retained(struct run *run)
{
	static const struct retained_question all;
	struct retained retained;

	CHECK_EQ(retained_load(&retained, run->db, &all), 0);
	CHECK_EQ(retained.steps.count + retained.batches.count, 1);
	retained_release(&retained);
}

static int no_row(void *context, const struct steps_growth *row)
{
	(void)context;
	(void)row;
	return 0;
}

static void ask_steps(struct run *run)
{
	struct steps steps;

	CHECK_EQ(steps_load(&steps, run->db), 0);
	CHECK_EQ(steps.count, 1);
	CHECK_EQ(steps_growing(run->db, &steps.lane[0], 8, no_row, NULL), 0);
	steps_release(&steps);
}

static void ask_phases(struct run *run)
{
	struct phases phases;

	CHECK_EQ(phases_load(&phases, run->db), 0);
	CHECK_EQ(phases.count, 1);
	phases_release(&phases);
}

static void ask_diff(struct run *run)
{
	struct diff diff;

	CHECK_EQ(diff_load(&diff, run->db, run->db), 0);
	diff_release(&diff);
}

typedef void question(struct run *run);

/* How often SQLite was seen at work. NULL: while it loaded. */
static uint64_t work_of(uint64_t steps, uint64_t batches, question *ask)
{
	char path[] = "passes.zst", *paths[] = { path };
	uint64_t work = 0;
	struct run run;

	write_passes(paths[0], steps, batches);
	memset(&run, 0, sizeof(run));
	CHECK_EQ(source_open(&run.source, paths, 1), 0);
	CHECK_EQ(db_create(&run.db, NULL, schema_sql), 0);
	if (!ask)
		db_watch(run.db, count, &work);
	CHECK_EQ(load_run(run.db, &run.analysis, run.source.input, 1, run.source.rules, LOAD_LIVES), 0);
	CHECK_EQ(load_names(run.db), 0);
	if (ask) {
		db_watch(run.db, count, &work);
		ask(&run);
	}
	run_close(&run);
	return work;
}

static void check_linear(const char *what, question *ask)
{
	uint64_t steps = work_of(FEW, 1, ask), more_steps = work_of(TIMES * FEW, 1, ask);
	uint64_t batches = work_of(1, FEW, ask), more_batches = work_of(1, TIMES * FEW, ask);

	printf("# %s: %d steps %llu, %d %llu; micro-batches %llu, %llu\n", what, FEW, (unsigned long long)steps,
	       TIMES * FEW, (unsigned long long)more_steps, (unsigned long long)batches,
	       (unsigned long long)more_batches);
	CHECK(steps > 10 && batches > 10);
	CHECK(more_steps < ROUGHLY * steps);
	CHECK(more_batches < ROUGHLY * batches);
}

TEST(loading_is_linear)
{
	check_linear("load", NULL);
}

TEST(retained_is_linear)
{
	check_linear("retained", ask_retained);
}

TEST(steps_is_linear)
{
	check_linear("steps", ask_steps);
}

TEST(phases_is_linear)
{
	check_linear("phases", ask_phases);
}

TEST(diff_is_linear)
{
	check_linear("diff", ask_diff);
}

TEST_MAIN()
