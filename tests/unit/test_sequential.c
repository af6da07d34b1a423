/* Groups of processes that share no device are read one after the other, or from their facts: the figures are the same. */
#include "engine/merge.h"

#include "engine/analysis.h"
#include "facts_kit.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "run_kit.h"
#include "trace_builder.h"

#define PROCESSES 4u
#define ROUNDS 25
#define EVENTS 1500 /* events of each process: more than the first stretch */
#define PLACES 12u
#define BLOCKS 40u
#define CUDA_ERROR_OUT_OF_MEMORY 2

static uint32_t below(uint32_t bound)
{
	return (uint32_t)random() % bound;
}

/* ---- random traces ---- */

struct process {
	struct builder builder;
	uint32_t device[3]; /* the last two are used late, or never */
	uint32_t place[PLACES];
	struct {
		uint64_t size;
		uint32_t device;
		int driver;
	} block[BLOCKS];
	uint64_t steps;
};

static void make_places(struct process *process, uint32_t number)
{
	static const char *const libraries[] = { "/usr/lib/libnccl.so.2", "/usr/lib/libcublas.so.12",
						 "/usr/lib/libtorch_cuda.so", "/usr/lib/libcudnn.so.9" };
	char name[32];
	uint32_t i;

	for (i = 0; i < PLACES; i++) {
		snprintf(name, sizeof(name), "place_%u_%u", number, i);
		process->place[i] = i % 3 ? builder_python(&process->builder, 0, name, "train.py", i + 1)
					  : builder_native(&process->builder, 0, libraries[(i / 3 + number) % 4],
							   64 * i);
	}
}

static void open_process(struct process *process, const char *path, uint32_t number, uint32_t share)
{
	char uuid[3][16];
	uint32_t i;

	memset(process, 0, sizeof(*process));
	builder_open(&process->builder, path, 100 + number, (int)number);
	for (i = 0; i < 3; i++) {
		snprintf(uuid[i], sizeof(uuid[i]), "GPU-%u-%u", i == 2 ? number - number % share : number, i);
		process->device[i] = builder_device(&process->builder, MT_DEVICE_CUDA, number * 3 + i, "GPU", uuid[i],
						    64 * MIB);
	}
	make_places(process, number);
}

static void allocate_or_free(struct process *process, uint32_t number, uint32_t done)
{
	struct builder *builder = &process->builder;
	uint32_t at = below(BLOCKS);
	uint64_t addr = 0x10000000ull + number * 0x1000000000ull + at * 0x1000000ull;

	builder->stack = process->place[below(PLACES)];
	if (!process->block[at].size) {
		process->block[at].size = 512 * (1 + below(4000));
		process->block[at].device = process->device[done > EVENTS / 2 ? below(3) : 0];
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

static void make_event(struct process *process, uint32_t number, uint32_t done)
{
	static const char *const phases[] = { "forward", "backward", "optimizer", "rollout" };
	struct builder *builder = &process->builder;
	uint32_t what = below(100);

	builder->time += below(4) ? below(3000) : 0;
	builder->device = process->device[0];
	if (what < 3) {
		builder_phase(builder, phases[below(4)]);
	} else if (what < 6) {
		builder_phase_end(builder);
	} else if (what < 7) {
		builder_step(builder, ++process->steps);
	} else if (what < 8) {
		builder_event(builder,
			      (struct mt_event){ .kind = MT_TENSOR_OOM, .device = builder->device, .size = 77 * MIB });
	} else if (what < 9) {
		builder_event(builder, (struct mt_event){ .kind = MT_DRIVER_FAIL,
							  .device = builder->device,
							  .size = MIB,
							  .result = CUDA_ERROR_OUT_OF_MEMORY });
	} else if (what < 12) { /* written late or early: its time is not that of its neighbours */
		builder->time += 20000;
		builder_event(builder, (struct mt_event){ .kind = MT_GPU_SAMPLE,
							  .device = builder->device,
							  .size = 90 * MIB,
							  .value = 1024 * MIB,
							  .offset = 80 * MIB,
							  .flags = 1 });
		builder->time -= below(2) ? 20000 : 0;
	} else {
		allocate_or_free(process, number, done);
	}
}

static const char *path_of(uint32_t number)
{
	static char path[PROCESSES][32];

	snprintf(path[number], sizeof(path[number]), "apart%u.zst", number);
	return path[number];
}

/* The third device is the same of each `share` processes. */
static void make_run(long seed, uint32_t share)
{
	struct process process;
	uint32_t number, i;

	srandom((unsigned int)seed);
	for (number = 0; number < PROCESSES; number++) {
		builder_start = BUILDER_START + below(3) * 50000;
		open_process(&process, path_of(number), number, share);
		process.builder.time += below(200000);
		for (i = 0; i < EVENTS; i++)
			make_event(&process, number, i);
		builder_close(&process.builder);
	}
}

/* ---- both ways ---- */

struct pass {
	struct analysis_input input[PROCESSES];
	struct analysis analysis;
};

/* A sink, if only an empty one, has all events in order. */
static void read_run(struct pass *pass, const struct mt_rules *rules, int by_time)
{
	static const struct analysis_sink nobody;
	uint32_t i;

	memset(pass, 0, sizeof(*pass));
	for (i = 0; i < PROCESSES; i++) {
		pass->input[i].file = path_of(i);
		CHECK_EQ(mt_reader_open(&pass->input[i].reader, path_of(i)), 0);
	}
	CHECK_EQ(analysis_run(&pass->analysis, pass->input, PROCESSES, rules, by_time ? &nobody : NULL), 0);
}

static void release_pass(struct pass *pass)
{
	uint32_t i;

	analysis_release(&pass->analysis);
	for (i = 0; i < PROCESSES; i++)
		mt_reader_free(pass->input[i].reader);
}

static void same_sites(const struct analysis *a, const struct analysis *b)
{
	const struct site *one, *two;
	struct site_bytes peak_one, peak_two;
	uint32_t i;

	CHECK_EQ(a->attribution.sites, b->attribution.sites);
	for (i = 1; i < a->attribution.sites; i++) {
		one = &a->attribution.site[i];
		two = &b->attribution.site[i];
		CHECK(!memcmp(&one->key, &two->key, sizeof(one->key)));
		CHECK_STR(a->owner[one->owner], b->owner[two->owner]);
		CHECK_EQ(one->owner, two->owner);
		peak_one = attribution_at_peak(&a->attribution, i);
		peak_two = attribution_at_peak(&b->attribution, i);
		CHECK(!memcmp(&peak_one, &peak_two, sizeof(peak_one)));
		CHECK(!memcmp(&one->now, &two->now, sizeof(one->now)));
		CHECK(!memcmp(&a->categories.site[i], &b->categories.site[i], sizeof(struct category_site)));
	}
}

static void same_gpu_total(const struct analysis_gpu_total *one, const struct analysis_gpu_total *two)
{
	CHECK_EQ(one->peak_time, two->peak_time);
	CHECK_EQ(one->after_known, two->after_known);
	CHECK_EQ(one->before_known, two->before_known);
	CHECK_EQ(one->after.held, two->after.held);
	CHECK_EQ(one->after.unexplained, two->after.unexplained);
	CHECK_EQ(one->before.sample.time, two->before.sample.time);
}

static void same_devices(const struct analysis *a, const struct analysis *b)
{
	const struct analysis_device *one, *two;
	uint32_t i, phase, peak;

	CHECK_EQ(a->devices, b->devices);
	for (i = 0; i < a->devices; i++) {
		one = &a->device[i];
		two = &b->device[i];
		CHECK_STR(one->uuid, two->uuid);
		CHECK_EQ(one->users, two->users);
		CHECK(!memcmp(one->user, two->user, one->users * sizeof(*one->user)));
		CHECK_EQ(one->used, two->used);
		CHECK_EQ(one->peak.bytes, two->peak.bytes);
		CHECK_EQ(one->peak.time, two->peak.time);
		CHECK_EQ(one->peak.seq, two->peak.seq);
		CHECK_EQ(one->peak.process, two->peak.process);
		CHECK_EQ(one->tensors_now, two->tensors_now);
		CHECK_EQ(a->attribution.device[i].held, b->attribution.device[i].held);
		for (phase = 0; phase < MT_PHASE_COUNT; phase++)
			CHECK(!memcmp(&one->phase_peak[phase], &two->phase_peak[phase],
				      sizeof(one->phase_peak[phase])));
		for (peak = 0; peak < one->users * ANALYSIS_PEAKS; peak++)
			same_gpu_total(&one->gpu[peak], &two->gpu[peak]);
	}
}

static void same_ooms(const struct analysis *a, const struct analysis *b)
{
	uint32_t i;

	CHECK_EQ(a->ooms, b->ooms);
	CHECK_EQ(a->oom_count, b->oom_count);
	for (i = 0; i < a->ooms; i++) {
		CHECK_EQ(a->oom[i].process, b->oom[i].process);
		CHECK_EQ(a->oom[i].device, b->oom[i].device);
		CHECK_EQ(a->oom[i].time, b->oom[i].time);
		CHECK_EQ(a->oom[i].seq, b->oom[i].seq);
		CHECK_EQ(a->oom[i].held, b->oom[i].held);
		CHECK_EQ(a->oom[i].free, b->oom[i].free);
	}
	CHECK_EQ(a->oom_holders, b->oom_holders);
	CHECK(!memcmp(a->oom_holder, b->oom_holder, a->oom_holders * sizeof(*a->oom_holder)));
}

static void same_processes(const struct analysis *a, const struct analysis *b)
{
	uint32_t i;

	for (i = 0; i < PROCESSES; i++) {
		CHECK_EQ(a->process[i].events, b->process[i].events);
		CHECK_EQ(a->process[i].steps, b->process[i].steps);
		CHECK_EQ(a->process[i].last_time, b->process[i].last_time);
		CHECK_EQ(a->process[i].origin, b->process[i].origin);
		CHECK(a->process[i].balanced && b->process[i].balanced);
	}
}

static void same_owners(const struct analysis *a, const struct analysis *b)
{
	uint32_t i;

	CHECK_EQ(a->owners, b->owners);
	for (i = 0; i < a->owners; i++)
		CHECK_STR(a->owner[i], b->owner[i]);
}

/* Returns whether the processes were read apart to the end. */
static int same_both_ways(const struct mt_rules *rules)
{
	struct pass sequential, by_time;
	int was_sequential;

	read_run(&sequential, rules, 0);
	read_run(&by_time, rules, 1);
	CHECK(!by_time.analysis.sequential);
	was_sequential = sequential.analysis.sequential;
	same_sites(&sequential.analysis, &by_time.analysis);
	same_devices(&sequential.analysis, &by_time.analysis);
	same_owners(&sequential.analysis, &by_time.analysis);
	same_ooms(&sequential.analysis, &by_time.analysis);
	same_processes(&sequential.analysis, &by_time.analysis);
	release_pass(&sequential);
	release_pass(&by_time);
	return was_sequential;
}

static struct mt_rules *make_rules(void)
{
	struct mt_rules *rules;
	char message[256];

	CHECK_EQ(mt_rules_new(&rules, message, sizeof(message)), 0);
	return rules;
}

/* ---- tests ---- */

TEST(sequential_is_the_same_as_by_time)
{
	struct mt_rules *rules = make_rules();
	long seed;

	for (seed = 1; seed <= ROUNDS; seed++) {
		make_run(seed, 1);
		CHECK(same_both_ways(rules));
	}
	mt_rules_free(rules);
}

TEST(a_device_that_two_use_is_read_by_time)
{
	struct mt_rules *rules = make_rules();
	long seed;

	for (seed = 1; seed <= 5; seed++) {
		make_run(seed, PROCESSES);
		CHECK(!same_both_ways(rules));
	}
	mt_rules_free(rules);
}

TEST(groups_that_share_devices_are_read_apart)
{
	struct mt_rules *rules = make_rules();
	uint32_t share;
	long seed;

	for (share = 2; share < PROCESSES; share++)
		for (seed = 1; seed <= ROUNDS; seed++) {
			make_run(seed, share);
			CHECK(same_both_ways(rules));
		}
	mt_rules_free(rules);
}

/* ---- from facts ---- */

/* All rows of the tables that are filled on the way, in any order, with lives added up if `by_site`; the caller frees. */
static char *rows_of(const char *const *path, enum load_parts parts, int by_site)
{
	static const char *const tables[] = {
		"process, device, site, memory, sum(bytes), sum(allocations) FROM allocation_raw GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4",
		"process, device, site, memory, address, bytes, alloc_seq, alloc_time, free_seq, free_time, thread, step, free_step, "
		"free_node, tensors_inside, at_home, allocations FROM allocation_raw ORDER BY 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14",
		"process, phase, step, first_seq, last_seq, first_time, last_time FROM phase_span ORDER BY 1, 4, 5",
		"* FROM step ORDER BY 1, 2",
		"* FROM step_device ORDER BY 1, 2, 3",
		"* FROM gpu_sample ORDER BY 1, 2, 3, 4",
		"* FROM named_moment ORDER BY 1, 2, 3, 4",
	};
	char *text = NULL;
	size_t size, i;
	FILE *out = open_memstream(&text, &size);
	struct db_stmt *stmt;
	struct run run;
	char sql[512];
	int k;

	memset(&run, 0, sizeof(run));
	CHECK_EQ(source_open(&run.source, (char *const *)path, PROCESSES), 0);
	CHECK_EQ(db_create(&run.db, NULL, schema_sql), 0);
	CHECK_EQ(load_run(run.db, &run.analysis, run.source.input, PROCESSES, run.source.rules, parts), 0);
	for (i = 0; i < MT_ARRAY_SIZE(tables); i++) {
		if (i == (by_site ? 1 : 0) || (by_site && i + 1 == MT_ARRAY_SIZE(tables)))
			continue;
		snprintf(sql, sizeof(sql), "SELECT %s", tables[i]);
		CHECK_EQ(db_prepare(run.db, &stmt, sql), 0);
		while (db_step(stmt) == 1) {
			for (k = 0; k < db_columns(stmt); k++)
				fprintf(out, "%s|", db_type(stmt, k) == DB_NULL ? "null" : db_text(stmt, k));
			fprintf(out, "\n");
		}
		db_finish(stmt);
	}
	fclose(out);
	run_close(&run);
	return text;
}

/* Sums are made group by group; single lives are in the order of all events. Both have the same numbers of sites and devices. */
TEST(rows_of_groups_are_those_of_all_events)
{
	const char *path[PROCESSES];
	char *one, *two;
	uint32_t i;
	long seed;

	for (i = 0; i < PROCESSES; i++)
		path[i] = path_of(i);
	for (seed = 1; seed <= 6; seed++) {
		make_run(seed, 2);
		one = rows_of(path, LOAD_SUMS, 1);
		two = rows_of(path, LOAD_LIVES, 1);
		CHECK(strlen(one) > 10000 && !strcmp(one, two)); /* they are long */
		free(one);
		free(two);
	}
}

/* Returns whether the answer was made of facts. */
static int same_from_facts(struct mt_rules *rules)
{
	const char *path[PROCESSES];
	struct pass facts, full;
	char *one, *two;
	uint32_t i;
	int found;

	for (i = 0; i < PROCESSES; i++)
		path[i] = path_of(i);
	one = rows_of(path, LOAD_SUMS, 0);
	read_run(&full, rules, 1);
	for (i = 0; i < PROCESSES; i++)
		CHECK(facts_kit_seal(path_of(i)));
	two = rows_of(path, LOAD_SUMS, 0);
	CHECK(!strcmp(one, two)); /* they are long */
	free(one);
	free(two);
	memset(&facts, 0, sizeof(facts));
	for (i = 0; i < PROCESSES; i++) {
		facts.input[i].file = path_of(i);
		CHECK_EQ(mt_reader_open(&facts.input[i].reader, path_of(i)), 0);
	}
	CHECK_EQ(facts_run(&facts.analysis, facts.input, PROCESSES, rules), 0);
	found = facts.analysis.facts != NULL;
	same_sites(&facts.analysis, &full.analysis);
	same_devices(&facts.analysis, &full.analysis);
	same_owners(&facts.analysis, &full.analysis);
	same_ooms(&facts.analysis, &full.analysis);
	same_processes(&facts.analysis, &full.analysis);
	release_pass(&facts);
	release_pass(&full);
	return found;
}

TEST(facts_are_the_same_as_by_time)
{
	struct mt_rules *rules = make_rules();
	long seed;

	for (seed = 1; seed <= 6; seed++) {
		make_run(seed, 1);
		CHECK(same_from_facts(rules));
	}
	mt_rules_free(rules);
}

TEST(facts_of_a_device_that_two_use_are_no_answer)
{
	struct mt_rules *rules = make_rules();

	make_run(1, PROCESSES);
	CHECK(!same_from_facts(rules));
	mt_rules_free(rules);
}

TEST_MAIN()
