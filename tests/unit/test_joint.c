/* Processes on the same GPUs: the moment that a pass keeps says of every site what all lives say. */
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "memtrace/why.h"
#include "run_kit.h"
#include "trace_builder.h"
#include "why/scene/scene.h"

#define PROCESSES 3u
#define EVENTS 1200
#define PLACES 6u
#define BLOCKS 30u
#define GPUS 2u
#define SEEDS 24

static uint32_t below(uint32_t bound)
{
	return (uint32_t)random() % bound;
}

struct process {
	struct builder builder;
	uint32_t device[GPUS], place[PLACES];
	struct {
		uint64_t size;
		uint32_t device;
		int driver;
	} block[BLOCKS];
	uint64_t steps;
};

static void open_process(struct process *process, const char *path, uint32_t number, int is_ranked)
{
	static const char *const uuid[GPUS] = { "GPU-one", "GPU-two" };
	char name[32];
	uint32_t i;

	memset(process, 0, sizeof(*process));
	builder_open(&process->builder, path, 100 + number, is_ranked ? (int)number : -1);
	for (i = 0; i < GPUS; i++)
		process->device[i] = builder_device(&process->builder, MT_DEVICE_CUDA, i, "GPU", uuid[i], 64 * MIB);
	for (i = 0; i < PLACES; i++) {
		snprintf(name, sizeof(name), "place_%u_%u", number, i);
		process->place[i] = builder_python(&process->builder, 0, name, "train.py", i + 1);
	}
}

static void allocate_or_free(struct process *process, uint32_t number)
{
	struct builder *builder = &process->builder;
	uint32_t at = below(BLOCKS);
	uint64_t addr = 0x10000000ull + number * 0x1000000000ull + at * 0x1000000ull;

	builder->stack = process->place[below(PLACES)];
	if (!process->block[at].size) {
		process->block[at].size = 512 * (1 + below(4000));
		process->block[at].device = process->device[below(8) == 0];
		process->block[at].driver = below(4) == 0;
		builder->device = process->block[at].device;
		if (process->block[at].driver)
			builder_driver_alloc(builder, addr, process->block[at].size);
		else
			builder_tensor_alloc(builder, addr, process->block[at].size);
		return;
	}
	builder->device = process->block[at].device;
	if (process->block[at].driver)
		builder_driver_free(builder, addr);
	else
		builder_tensor_free(builder, addr, process->block[at].size);
	process->block[at].size = 0;
}

/* `steps` 0: no step ends. */
static void make_event(struct process *process, uint32_t number, int steps, int fails)
{
	static const char *const phases[] = { "forward", "backward", "optimizer", "rollout" };
	struct builder *builder = &process->builder;
	uint32_t what = below(200);

	builder->time += below(4) ? below(3000) : 0;
	builder->device = process->device[0];
	if (what < 6)
		builder_phase(builder, phases[below(4)]);
	else if (what < 10)
		builder_phase_end(builder);
	else if (what < 12 && steps)
		builder_step(builder, ++process->steps);
	else if (what < 13 && fails)
		builder_event(builder, (struct mt_event){ .kind = MT_TENSOR_OOM,
							  .device = builder->device,
							  .size = 77 * MIB,
							  .stack = process->place[below(PLACES)] });
	else
		allocate_or_free(process, number);
}

static char *paths[PROCESSES];

/* Every second seed has failed requests, and half of them have ranks. */
static void make_run(uint32_t seed)
{
	struct process process;
	uint32_t i, events, done;

	srandom(seed);
	for (i = 0; i < PROCESSES; i++) {
		free(paths[i]);
		paths[i] = malloc(512);
		snprintf(paths[i], 512, "%s/process%u.zst", test_dir(), i);
		open_process(&process, paths[i], i, seed % 4 > 1);
		events = EVENTS / 2 + below(EVENTS);
		for (done = 0; done < events; done++)
			make_event(&process, i, (seed + i) % 3 > 0, seed % 2);
		builder_close(&process.builder);
	}
}

/* `failure` 0: the newest. 0 or what the load said. */
static int load(struct run *run, enum load_parts parts, uint32_t failure)
{
	memset(run, 0, sizeof(*run));
	CHECK_EQ(source_open(&run->source, paths, PROCESSES), 0);
	CHECK_EQ(db_create(&run->db, NULL, schema_sql), 0);
	if (failure)
		return load_run_failure(run->db, &run->analysis, run->source.input, PROCESSES, run->source.rules,
					failure);
	return load_run(run->db, &run->analysis, run->source.input, PROCESSES, run->source.rules, parts);
}

static int64_t lives_of(const struct run *run)
{
	struct db_stmt *stmt;
	int64_t count;

	CHECK_EQ(db_prepare(run->db, &stmt, "SELECT count(*) FROM allocation_raw"), 0);
	CHECK_EQ(db_step(stmt), 1);
	count = db_int(stmt, 0);
	db_finish(stmt);
	return count;
}

static void same_site(const struct scene_site *one, const struct scene_site *two)
{
	int at;

	CHECK_EQ(one->id, two->id);
	CHECK_EQ(one->in_use, two->in_use);
	CHECK_EQ(one->made, two->made);
	CHECK_EQ(one->freed, two->freed);
	CHECK_EQ(one->freed_home, two->freed_home);
	CHECK_EQ(one->most_before, two->most_before);
	CHECK_EQ(one->least, two->least);
	CHECK_EQ(one->most, two->most);
	CHECK_EQ(one->first_step, two->first_step);
	CHECK_EQ(one->last_step, two->last_step);
	CHECK_EQ(one->pinned, two->pinned);
	CHECK_EQ(one->idle, two->idle);
	for (at = 0; at < SCENE_ATS; at++) {
		CHECK_EQ(one->at[at], two->at[at]);
		CHECK_EQ(one->count_at[at], two->count_at[at]);
	}
}

/* Blocks of several processes have no order among these: their sums are compared. */
static struct scene_block sum_of(const struct scene *scene)
{
	struct scene_block sum = { 0 };
	const struct scene_block *block;
	struct packed_walk walk;

	for (block = packed_first(&walk, &scene->blocks); block; block = packed_next(&walk)) {
		sum.site += block->site;
		sum.step += block->step;
		sum.seq += block->seq;
		sum.time += block->time;
		sum.bytes += block->bytes;
	}
	return sum;
}

static void same_blocks(const struct scene *one, const struct scene *two)
{
	struct scene_block sum = sum_of(one), other = sum_of(two);

	CHECK_EQ(one->blocks.rows, two->blocks.rows);
	CHECK_EQ(sum.site, other.site);
	CHECK_EQ(sum.step, other.step);
	CHECK_EQ(sum.seq, other.seq);
	CHECK_EQ(sum.time, other.time);
	CHECK_EQ(sum.bytes, other.bytes);
	CHECK_EQ(sum.bytes, one->in_use);
}

static void same_scene(const struct scene *one, const struct scene *two)
{
	size_t i;

	CHECK_EQ(one->request.when.seq, two->request.when.seq);
	CHECK_EQ(one->request.when.process, two->request.when.process);
	CHECK_EQ(one->request.has_before, two->request.has_before);
	CHECK_EQ(one->request.earlier_most, two->request.earlier_most);
	CHECK_EQ(one->request.hole, two->request.hole);
	same_blocks(one, two);
	CHECK_EQ(one->in_use, two->in_use);
	CHECK_EQ(one->peers, two->peers);
	CHECK_EQ(one->sites, two->sites);
	for (i = 0; i < one->sites && i < two->sites; i++)
		same_site(&one->site[i], &two->site[i]);
	for (i = 0; i < one->processes; i++) {
		CHECK_EQ(one->process[i].in_use, two->process[i].in_use);
		CHECK_EQ(one->process[i].who, two->process[i].who);
		CHECK_EQ(one->process[i].is_peer, two->process[i].is_peer);
		CHECK_EQ(one->process[i].idle, two->process[i].idle);
	}
}

/* The moments that were kept, of all seeds. */
struct answers {
	uint32_t kept, failures, peaks, ranks, before[3];
};

static void note(struct answers *answers, const struct scene *scene)
{
	answers->kept++;
	answers->failures += scene->request.failure != NULL;
	answers->peaks += !scene->request.failure;
	answers->ranks += scene->peers > 0;
	answers->before[scene->request.has_before]++;
}

static void compare(struct answers *answers, const struct run *kept, const struct run *all, const struct mt_why *why,
		    int64_t failure)
{
	struct scene one, two;
	int error = scene_load(&one, kept->db, why, failure);

	CHECK_EQ(scene_load(&two, all->db, why, failure), 0);
	CHECK(!error || error == -MT_E_BUSY);
	if (!error) {
		CHECK(lives_of(kept) < lives_of(all) / 2);
		same_scene(&one, &two);
		note(answers, &one);
	}
	scene_release(&one);
	scene_release(&two);
}

TEST(a_moment_of_several_processes_says_what_all_lives_say)
{
	struct answers answers = { 0 };
	struct run kept, all;
	struct mt_why *why;
	char message[256];
	uint32_t seed;
	int error;

	CHECK_EQ(mt_why_new(&why, message, sizeof(message)), 0);
	for (seed = 1; seed <= SEEDS; seed++) {
		make_run(seed);
		error = load(&kept, LOAD_MOMENT, 0);
		CHECK_EQ(load(&all, LOAD_LIVES, 0), 0);
		CHECK(!error || error == -MT_E_BUSY);
		if (!error)
			compare(&answers, &kept, &all, why, 0);
		run_close(&kept);
		run_close(&all);
	}
	mt_why_free(why);
	CHECK(answers.kept > SEEDS * 2 / 3);
	CHECK(answers.failures > SEEDS / 4);
	CHECK(answers.peaks > SEEDS / 4);
	CHECK(answers.ranks > SEEDS / 4);
	CHECK(answers.before[SCENE_SAME_PLACE] > SEEDS / 4);
	CHECK(answers.before[SCENE_STEP_BEFORE] > 0);
	printf("# %u kept, %u failures, %u peaks, %u ranks, before %u %u %u\n", answers.kept, answers.failures,
	       answers.peaks, answers.ranks, answers.before[0], answers.before[1], answers.before[2]);
}

TEST(any_failed_request_can_be_the_moment)
{
	struct answers answers = { 0 };
	struct run kept, all;
	struct mt_why *why;
	char message[256];
	uint32_t seed, number;
	int error;

	CHECK_EQ(mt_why_new(&why, message, sizeof(message)), 0);
	for (seed = 1; seed <= SEEDS / 2; seed += 2) {
		make_run(seed);
		CHECK_EQ(load(&all, LOAD_LIVES, 0), 0);
		number = 1 + below(all.analysis.ooms);
		error = load(&kept, LOAD_MOMENT, number);
		CHECK(!error || error == -MT_E_BUSY);
		if (!error)
			compare(&answers, &kept, &all, why, number);
		run_close(&kept);
		run_close(&all);
	}
	mt_why_free(why);
	CHECK_EQ(answers.peaks, 0);
	CHECK(answers.failures > SEEDS / 8);
}

TEST_MAIN()
