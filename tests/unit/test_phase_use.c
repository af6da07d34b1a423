/* The figures of memana phases from facts (rows/phase_use.h) are those that SQL finds in the lives. */
#include "rows/phase_use.h"

#include "facts_kit.h"
#include "memtrace/base.h"
#include "report/steps/query_phases.h"
#include "run_kit.h"
#include "trace_builder.h"
#include "trace_kit.h"

#define ROUNDS 60
#define EVENTS 700
#define BLOCKS 24u
#define KIB 1024ull
#define SEGMENT_BYTES (BLOCKS * 64 * KIB)
#define SEGMENT(number) (0x7f0000000000ull + (number) * (SEGMENT_BYTES * 4))

static const char *const phases[] = { "forward", "backward", "optimizer", "rollout" };

struct world {
	struct builder m;
	struct kit_random random;
	uint32_t stack[4], helper;
	int in_phase;
	uint64_t step, handle;      /* handle: of the pool, if it is mapped */
	uint64_t tensor[3][BLOCKS]; /* bytes: in the segment, in the pool, on the CPU */
	uint64_t driver[BLOCKS];    /* bytes */
	int has_segment;
};

static void tensor(struct world *world, uint32_t where, uint32_t block)
{
	uint64_t *bytes = &world->tensor[where][block], addr = SEGMENT(where) + block * 64 * KIB;

	world->m.device = where == 2 ? world->m.cpu : world->m.cuda;
	if (*bytes) {
		builder_event(&world->m, (struct mt_event){ .kind = MT_TENSOR_FREE,
							    .device = world->m.device,
							    .stack = world->m.stack,
							    .addr = addr,
							    .size = *bytes });
		*bytes = 0;
	} else if (where != 1 || world->handle) {
		*bytes = KIB * (1 + kit_below(&world->random, 63));
		builder_event(&world->m, (struct mt_event){ .kind = MT_TENSOR_ALLOC,
							    .device = world->m.device,
							    .stack = world->m.stack,
							    .addr = addr,
							    .size = *bytes });
	}
	world->m.device = world->m.cuda;
}

/* The pool goes to sleep, or wakes up. */
static void turn_pool(struct world *world)
{
	static uint64_t newest;
	uint64_t addr = SEGMENT(1);

	if (world->handle) {
		builder_event(&world->m,
			      (struct mt_event){ .kind = MT_VMM_UNMAP, .addr = addr, .size = SEGMENT_BYTES });
		builder_event(&world->m, (struct mt_event){ .kind = MT_VMM_RELEASE, .handle = world->handle });
		world->handle = 0;
		return;
	}
	world->handle = ++newest;
	builder_event(&world->m, (struct mt_event){ .kind = MT_VMM_CREATE,
						    .device = world->m.cuda,
						    .stack = world->m.stack,
						    .handle = world->handle,
						    .size = SEGMENT_BYTES });
	builder_event(&world->m,
		      (struct mt_event){
			      .kind = MT_VMM_MAP, .addr = addr, .size = SEGMENT_BYTES, .handle = world->handle });
}

static void driver(struct world *world, uint32_t block)
{
	uint64_t *bytes = &world->driver[block], addr = SEGMENT(3) + block * 64 * KIB;

	if (*bytes)
		builder_driver_free(&world->m, addr);
	else
		builder_driver_alloc(&world->m, addr, KIB * (1 + kit_below(&world->random, 63)));
	*bytes = !*bytes;
}

static void turn_phase(struct world *world)
{
	world->m.thread = world->m.main_thread;
	if (world->in_phase)
		builder_phase_end(&world->m);
	world->in_phase = kit_below(&world->random, 3) != 0;
	if (world->in_phase)
		builder_phase(&world->m, phases[kit_below(&world->random, MT_ARRAY_SIZE(phases))]);
}

static void one_event(struct world *world)
{
	uint32_t block = (uint32_t)kit_below(&world->random, BLOCKS), what = (uint32_t)kit_below(&world->random, 32);

	world->m.thread = kit_below(&world->random, 4) ? world->m.main_thread : world->helper;
	world->m.stack = world->stack[kit_below(&world->random, MT_ARRAY_SIZE(world->stack))];
	if (what < 3)
		turn_phase(world);
	else if (what < 4)
		turn_pool(world);
	else if (what < 9)
		driver(world, block);
	else if (what < 10 && !world->has_segment++)
		builder_driver_alloc(&world->m, SEGMENT(0), SEGMENT_BYTES);
	else if (what < 11)
		builder_step(&world->m, ++world->step);
	else
		tensor(world, what % 3, block);
}

/* A run of one process: a segment with tensors, a pool that sleeps, tensors of the CPU, driver memory, a thread that tells no phase. */
static void make_run(const char *path, uint64_t seed)
{
	struct world world = { .random = { seed } };
	struct mt_thread helper = { .tid = 7 };
	uint32_t i;

	builder_open(&world.m, path, 100, -1);
	helper.name = builder_string(&world.m, "helper");
	world.helper = mt_defs_add_thread(world.m.defs, &helper);
	for (i = 0; i < MT_ARRAY_SIZE(world.stack); i++)
		world.stack[i] = builder_python(&world.m, 0, "work", "job.py", 10 + i);
	for (i = 0; i < EVENTS; i++)
		one_event(&world);
	builder_close(&world.m);
}

static void load_phases(struct run *run, const char *path, enum load_parts parts, struct phases *of)
{
	char *paths[] = { (char *)path };
	struct symbols *symbols = symbols_new();

	memset(run, 0, sizeof(*run));
	CHECK_EQ(source_open(&run->source, paths, 1), 0);
	CHECK_EQ(db_create(&run->db, NULL, schema_sql), 0);
	CHECK_EQ(load_run(run->db, &run->analysis, run->source.input, 1, run->source.rules, parts), 0);
	CHECK_EQ(load_places(run->db, symbols), 0);
	symbols_free(symbols);
	CHECK_EQ(phases_load(of, run->db, 0), 0);
}

static void check_row(const struct phases_row *row, const struct phases_row *lives)
{
	CHECK_EQ(row->bytes, lives->bytes);
	CHECK_EQ(row->count, lives->count);
	CHECK_EQ(row->left_run, lives->left_run);
	CHECK_EQ(row->left_step, lives->left_step);
	CHECK_EQ(row->left_end, lives->left_end);
	CHECK_EQ(row->inherits, lives->inherits);
}

/* Figures that are not 0 are added to these. */
struct seen {
	uint64_t left_run, inherits;
};

static void check_same(const char *path, struct seen *seen)
{
	struct phases facts, lives;
	struct run one, two;
	size_t i;
	int phase;

	load_phases(&one, path, LOAD_PHASES, &facts);
	load_phases(&two, path, LOAD_LIVES, &lives);
	CHECK(one.analysis.facts && !two.analysis.facts);
	CHECK_EQ(facts.count, lives.count);
	for (i = 0; i < facts.count; i++)
		for (phase = 0; phase < MT_PHASE_COUNT; phase++) {
			check_row(&facts.device[i].row[phase], &lives.device[i].row[phase]);
			seen->left_run += lives.device[i].row[phase].left_run != 0;
			seen->inherits += lives.device[i].row[phase].inherits != 0;
		}
	phases_release(&facts);
	phases_release(&lives);
	run_close(&one);
	run_close(&two);
}

TEST(phases_from_facts_are_those_of_lives)
{
	const char *path = run_path(test_dir(), "phases.zst");
	struct seen seen = { 0 };
	uint64_t seed;

	for (seed = 1; seed <= ROUNDS; seed++) {
		make_run(path, seed);
		CHECK(facts_kit_seal(path));
		check_same(path, &seen);
	}
	CHECK(seen.left_run > ROUNDS && seen.inherits);
}

TEST_MAIN()
