/* NVML's count against the ledger: the owner of the remainder, and which samples say something. */
#include "agent/cuda/driver_entries.h"
#include "device/gpu_total.h"
#include "test.h"

#define MIB (1ull << 20)
#define MS 1000000

static struct gpu_total gpu;

/* A sample at `ms` of a process that has `own` MiB, judged at once because a later one comes. */
static int sample(int64_t ms, uint64_t own)
{
	struct gpu_total_sample sample = { .time = ms * MS,
					   .took = MS / 10,
					   .used = 2 * own * MIB,
					   .total = 1000 * MIB,
					   .own = own * MIB,
					   .own_known = 1 };

	return gpu_total_sample(&gpu, &sample);
}

static void held(int64_t ms, uint64_t mib)
{
	gpu_total_held(&gpu, ms * MS, mib * MIB);
}

/* The newest sample is the last one: what it is made of. "context code graphs pools earlier unexplained" in MiB. */
static void check_parts(const char *want)
{
	char got[128];
	int i, used = 0;

	CHECK_EQ(gpu_total_finish(&gpu), 1);
	CHECK_EQ(gpu.is_settled, 1);
	for (i = 0; i < GPU_TOTAL_CAUSES; i++)
		used += snprintf(got + used, sizeof(got) - (size_t)used, "%lld ",
				 (long long)gpu.parts.cause[i] / (long long)MIB);
	snprintf(got + used, sizeof(got) - (size_t)used, "%lld", (long long)gpu.parts.unexplained / (long long)MIB);
	CHECK_STR(got, want);
}

/* ---- whose the remainder is ---- */

TEST(growth_is_laid_to_what_was_asked_for)
{
	gpu_total_asked(&gpu, GPU_TOTAL_CONTEXT, 1, 1 * MS);
	sample(10, 400);
	check_parts("400 0 0 0 0 0");
	held(20, 100);
	gpu_total_asked(&gpu, GPU_TOTAL_CODE, 1, 25 * MS);
	sample(30, 530);
	check_parts("400 30 0 0 0 0");
	gpu_total_asked(&gpu, GPU_TOTAL_GRAPHS, 1, 35 * MS);
	sample(40, 532);
	check_parts("400 30 2 0 0 0");
	sample(50, 535);
	check_parts("400 30 2 0 0 3");
}

TEST(a_free_that_waits_for_the_gpu_is_no_growth)
{
	gpu_total_asked(&gpu, GPU_TOTAL_CONTEXT, 1, 1 * MS);
	held(5, 300);
	sample(10, 700);
	CHECK_EQ(gpu_total_finish(&gpu), 1);
	gpu_total_asked(&gpu, GPU_TOTAL_CODE, 1, 15 * MS);
	held(20, 200);
	sample(60, 700);
	CHECK_EQ(gpu_total_finish(&gpu), 1);
	CHECK_EQ(gpu.is_settled, 0);
	sample(90, 600);
	check_parts("400 0 0 0 0 0");
}

TEST(what_was_asked_for_at_once_is_not_divided)
{
	gpu_total_asked(&gpu, GPU_TOTAL_CODE, 1, 1 * MS);
	gpu_total_asked(&gpu, GPU_TOTAL_CONTEXT, 1, 2 * MS);
	sample(10, 430);
	check_parts("430 0 0 0 0 0");
	CHECK_EQ(gpu.parts.with[GPU_TOTAL_CONTEXT], 1u << GPU_TOTAL_CODE);
	CHECK_EQ(gpu.parts.with[GPU_TOTAL_CODE], 0);
}

TEST(a_call_speaks_for_one_interval)
{
	gpu_total_asked(&gpu, GPU_TOTAL_CODE, 1, 1 * MS);
	sample(10, 30);
	check_parts("0 30 0 0 0 0");
	sample(20, 40);
	check_parts("0 30 0 0 0 10");
}

TEST(a_call_after_the_sample_has_no_part_in_it)
{
	gpu_total_asked(&gpu, GPU_TOTAL_CONTEXT, 1, 1 * MS);
	sample(10, 400);
	gpu_total_asked(&gpu, GPU_TOTAL_CODE, 1, 15 * MS);
	check_parts("400 0 0 0 0 0");
	CHECK_EQ(gpu.parts.with[GPU_TOTAL_CONTEXT], 0);
	sample(20, 402);
	check_parts("400 2 0 0 0 0");
}

/* A sample is written after what happened meanwhile: a call that came just after it must not be forgotten. */
TEST(a_call_after_the_sample_speaks_for_the_next)
{
	sample(10, 0);
	gpu_total_asked(&gpu, GPU_TOTAL_CODE, 1, 12 * MS);
	check_parts("0 0 0 0 0 0");
	sample(20, 30);
	check_parts("0 30 0 0 0 0");
}

TEST(what_is_given_back_goes_where_it_came_from)
{
	gpu_total_asked(&gpu, GPU_TOTAL_CONTEXT, 1, 1 * MS);
	sample(10, 400);
	gpu_total_finish(&gpu);
	gpu_total_asked(&gpu, GPU_TOTAL_CODE, 1, 15 * MS);
	sample(20, 500);
	gpu_total_finish(&gpu);
	sample(30, 520);
	check_parts("400 100 0 0 0 20");
	gpu_total_asked(&gpu, GPU_TOTAL_CODE, 0, 35 * MS);
	sample(40, 440);
	check_parts("400 20 0 0 0 20");
	sample(50, 425); /* nobody asked */
	check_parts("400 20 0 0 0 5");
	sample(60, 415);
	check_parts("400 20 0 0 0 -5");
}

TEST(pools_keep_what_was_freed)
{
	held(5, 100);
	sample(10, 100);
	gpu_total_finish(&gpu);
	gpu_total_asked(&gpu, GPU_TOTAL_POOLS, 1, 15 * MS);
	gpu_total_asked(&gpu, GPU_TOTAL_POOLS, 0, 15 * MS);
	held(15, 0);
	sample(20, 100);
	check_parts("0 0 0 100 0 0");
	held(25, 60);
	sample(30, 100); /* out of the pool again */
	check_parts("0 0 0 40 0 0");
}

/* ---- which samples count ---- */

TEST(a_sample_while_memory_moves_says_nothing)
{
	held(10, 100);
	sample(10, 100);
	CHECK_EQ(gpu_total_finish(&gpu), 1);
	CHECK_EQ(gpu.is_settled, 0);
	sample(30, 150);
	held(31, 150);
	CHECK_EQ(gpu_total_finish(&gpu), 1);
	CHECK_EQ(gpu.is_settled, 0);
	sample(40, 150);
	check_parts("0 0 0 0 0 0");
	CHECK_EQ(gpu.parts.held, 150 * MIB);
}

/* Its time decides, not where it stands among the changes. */
TEST(a_sample_is_put_in_its_place)
{
	held(10, 100);
	held(30, 200);
	sample(20, 100);
	check_parts("0 0 0 0 0 0");
	CHECK_EQ(gpu.parts.held, 100 * MIB);
}

TEST(a_slow_reading_is_as_long_as_it_took)
{
	struct gpu_total_sample slow = { .time = 10 * MS, .took = 50 * MS, .own = MIB, .own_known = 1 };

	gpu.is_settled = 1;
	gpu_total_sample(&gpu, &slow);
	CHECK_EQ(gpu_total_held(&gpu, 40 * MS, 1), 0);
	CHECK_EQ(gpu_total_held(&gpu, 90 * MS, 2), 1);
	CHECK_EQ(gpu.is_settled, 0);
	CHECK_EQ(gpu.judged.took, 50 * MS);
}

TEST(changes_that_are_forgotten_are_not_guessed)
{
	uint32_t i;

	for (i = 0; i < 2 * GPU_TOTAL_CHANGES; i++)
		held(100 + i, i);
	sample(50, 0);
	CHECK_EQ(gpu_total_finish(&gpu), 1);
	CHECK_EQ(gpu.is_settled, 0);
}

TEST(without_the_process_s_bytes_the_rest_is_not_taken_apart)
{
	struct gpu_total_sample unknown = { .time = 20 * MS, .used = 500 * MIB, .total = 1000 * MIB };

	held(5, 100);
	gpu_total_sample(&gpu, &unknown);
	CHECK_EQ(gpu_total_finish(&gpu), 1);
	CHECK_EQ(gpu.is_settled, 1);
	CHECK_EQ(gpu.parts.sample.own_known, 0);
	CHECK_EQ(gpu.parts.held, 100 * MIB);
	/* A count that leaves out what is surely there. */
	unknown.time = 40 * MS;
	unknown.used = 50 * MIB;
	gpu_total_sample(&gpu, &unknown);
	CHECK_EQ(gpu_total_finish(&gpu), 1);
	CHECK_EQ(gpu.is_settled, 0);
}

/* Whatever happens, the parts add up to what NVML says. */
TEST(parts_always_add_up)
{
	int64_t sum, time = 0;
	uint64_t now = 0, own;
	int round, cause;

	srandom(7);
	for (round = 0; round < 3000; round++) {
		time += 10;
		if (random() % 2)
			held(time, now = (uint64_t)random() % 500);
		if (random() % 3 == 0)
			gpu_total_asked(&gpu, (enum gpu_total_cause)(random() % GPU_TOTAL_CAUSES), (int)(random() % 2),
					time * MS);
		time += 10;
		own = (uint64_t)random() % 900;
		sample(time, own);
		CHECK_EQ(gpu_total_finish(&gpu), 1);
		if (!gpu.is_settled)
			continue; /* the growth is that of the newest free */
		sum = (int64_t)gpu.parts.held + gpu.parts.unexplained;
		for (cause = 0; cause < GPU_TOTAL_CAUSES; cause++) {
			CHECK(gpu.parts.cause[cause] >= 0);
			sum += gpu.parts.cause[cause];
		}
		CHECK_EQ(sum, own * MIB);
		CHECK_EQ(gpu.parts.held, now * MIB);
	}
}

/* ---- calls ---- */

/* Contexts, code and graphs that the recorder notes: their bytes must not become unexplained by a forgotten line. */
static int takes_bytes(int class, const char *name)
{
	if (class == CUDA_CLASS_PRIMARY || class == CUDA_CLASS_CONTEXT || class == CUDA_CLASS_GREEN ||
	    class == CUDA_CLASS_GREEN_DESTROY || class == CUDA_CLASS_GRAPH_EXEC || class == CUDA_CLASS_FUNCTION ||
	    class == CUDA_CLASS_GRAPH_DESTROY || class == CUDA_CLASS_POOL || class == CUDA_CLASS_POOL_DESTROY)
		return 1;
	return class == CUDA_CLASS_NOTE && (!strncmp(name, "cuModule", 8) || !strncmp(name, "cuLibrary", 9));
}

TEST(every_entry_that_takes_bytes_has_a_cause)
{
#define CHECK_ENTRY(name, id, class, space, since)                            \
	if (takes_bytes(CUDA_CLASS_##class, #name) && !driver_cause_of(id)) { \
		printf("# %s has no line in gpu_total.h\n", #name);           \
		CHECK(driver_cause_of(id));                                   \
	}
	CUDA_ENTRY_LIST(CHECK_ENTRY)
#undef CHECK_ENTRY
}

TEST(ids_are_those_of_the_recorder)
{
	enum {
#define ENTRY_ID(name, id, class, space, since) ID_##name = (id),
		CUDA_ENTRY_LIST(ENTRY_ID)
#undef ENTRY_ID
	};

#define CHECK_ID(id, call, cause, change) CHECK_EQ(id, ID_##call);
	DRIVER_CAUSE_LIST(CHECK_ID)
#undef CHECK_ID
	CHECK_EQ(DRIVER_MEM_GET_INFO, ID_cuMemGetInfo_v2);
}

TEST_MAIN()
