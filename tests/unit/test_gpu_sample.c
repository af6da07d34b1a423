/* How the collector asks NVML: whose bytes are the process's, and a driver that is slow, hangs, or refuses. */
#include "../standin/account.h"
#include "collect/gpu_names.c"
#include "collect/gpu_sample.c"
#include "collect/nvml.c"
#include "test.h"

#define MIB (1ull << 20)
#define LONG_MS 20000 /* longer than anything here takes */

/* ---- the pure part ---- */

static int everybody_is_here(unsigned int pid)
{
	(void)pid;
	return 1;
}

static int nobody_is_here(unsigned int pid)
{
	(void)pid;
	return 0;
}

/* Processes 10 (100 bytes) and 20 (300 bytes) are on a GPU that has 450 in use. -1: not known. */
static int64_t own(const struct gpu_pids *pids, unsigned int count, uint64_t held)
{
	static const struct nvml_process list[] = { { .pid = 20, .used = 300 }, { .pid = 10, .used = 100 } };
	uint64_t bytes = 0;

	return gpu_own_bytes(&bytes, list, count, pids, 450, held) ? (int64_t)bytes : -1;
}

TEST(numbers_of_the_machine)
{
	const struct gpu_pids us = { .pid = { 10, 1 }, .count = 2, .outermost = 1, .is_here = nobody_is_here };
	const struct gpu_pids other = { .pid = { 30, 20 }, .count = 2, .outermost = 1, .is_here = nobody_is_here };

	CHECK_EQ(own(&us, 2, 0), 100);
	CHECK_EQ(own(&other, 2, 0), -1); /* 20 is its number inside a container, and somebody else's out here */
	CHECK_EQ(own(&other, 1, 400), -1);
}

TEST(numbers_in_a_container)
{
	struct gpu_pids us = { .pid = { 10 }, .count = 1, .is_here = everybody_is_here };
	struct gpu_pids other = { .pid = { 7 }, .count = 1, .is_here = nobody_is_here };

	CHECK_EQ(own(&us, 2, 0), 100);
	us.is_here = nobody_is_here; /* the list has the machine's numbers: 10 is a coincidence */
	CHECK_EQ(own(&us, 2, 0), -1);
	/* Our memory does not fit into the 150 bytes that are not of the one process listed: the process is ours. */
	CHECK_EQ(own(&other, 1, 151), 300);
	CHECK_EQ(own(&other, 1, 150), -1);
	CHECK_EQ(own(&other, 2, 449), -1);
	CHECK_EQ(own(&other, 0, 449), -1);
}

TEST(bytes_that_the_driver_does_not_tell)
{
	const struct gpu_pids us = { .pid = { 10 }, .count = 1, .outermost = 1, .is_here = everybody_is_here };
	const struct nvml_process list[] = { { .pid = 10, .used = NVML_NOT_AVAILABLE } };
	uint64_t bytes;

	CHECK_EQ(gpu_own_bytes(&bytes, list, 1, &us, 450, 0), 0);
}

TEST(why_our_bytes_are_not_known)
{
	const struct gpu_pids outside = { .pid = { 30 }, .count = 1, .outermost = 1, .is_here = nobody_is_here };
	const struct gpu_pids inside = { .pid = { 30 }, .count = 1, .is_here = nobody_is_here };
	const struct gpu_pids alone = { .pid = { 30 }, .count = 1, .is_here = everybody_is_here };
	const struct gpu_pids untold = { .pid = { 10 }, .count = 1, .outermost = 1, .is_here = everybody_is_here };
	const struct nvml_process list[] = { { .pid = 20, .used = 300 }, { .pid = 10, .used = NVML_NOT_AVAILABLE } };

	CHECK(strstr(gpu_own_why(list, 2, &outside), "no context"));
	CHECK(strstr(gpu_own_why(list, 2, &inside), "container"));
	CHECK(strstr(gpu_own_why(list, 2, &alone), "no context"));
	CHECK(strstr(gpu_own_why(list, 0, &inside), "lists no process"));
	CHECK(strstr(gpu_own_why(list, 0, &outside), "no context"));
	CHECK(strstr(gpu_own_why(list, 2, &untold), "does not tell"));
}

TEST(our_numbers)
{
	struct gpu_pids pids;

	gpu_pids_read(&pids, getpid());
	CHECK(pids.count > 0);
	CHECK_EQ(pids.pid[0], getpid());
	CHECK(pids.is_here((unsigned int)getpid()));
}

/* ---- with the stand-in's NVML ---- */

/* The library that this test was built with: its folder is beside ours. */
static void use_standin(const char *fault)
{
	char path[4096];
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 64);

	CHECK(size > 0);
	path[size] = '\0';
	*strstr(path, "/tests/unit/") = '\0';
	strncat(path, "/standin/libnvidia-ml.so.1", 63);
	setenv("STANDIN_STATE", test_dir(), 1);
	setenv("STANDIN_GPUS", "2", 1);
	setenv("STANDIN_MEM", "1000MiB", 1);
	setenv("STANDIN_RESERVED", "24MiB", 1);
	if (fault)
		setenv("STANDIN_FAULT_NVML", fault, 1);
	CHECK(dlopen(path, RTLD_NOW) != NULL);
}

/* The stand-in driver's account: this process holds `mib` of GPU 0, another living one 50 MiB. */
static void hold(uint64_t mib)
{
	char path[512];
	struct account account = { .row = { { .pid = (uint32_t)getpid(), .bytes = mib * MIB },
					    { .pid = (uint32_t)getppid(), .bytes = 50 * MIB } } };
	FILE *file;

	snprintf(path, sizeof(path), "%s/gpu0", getenv("STANDIN_STATE"));
	file = fopen(path, "w");
	CHECK(file && fwrite(&account, sizeof(account), 1, file) == 1 && !fclose(file));
}

static struct gpu_reading reading;

static void read_once(const char *fault)
{
	static const struct gpu_question first = { .wanted = 1 };
	struct gpu_name gpus[GPU_NAMES_MAX];
	struct gpu_sampler *sampler;
	char why[128];

	use_standin(fault);
	hold(300);
	sampler = gpu_sampler_start(getpid(), "");
	CHECK(sampler != NULL);
	CHECK_EQ(gpu_sampler_names(sampler, gpus, LONG_MS, why, sizeof(why)), 2);
	if (!fault || strcmp(fault, "lost") != 0)
		CHECK_EQ(gpus[0].total, 1000 * MIB); /* without what the driver keeps */
	CHECK_STR(gpus[0].name, "Stand-in GPU");
	CHECK_EQ(gpu_sampler_ask(sampler, &first), 0);
	CHECK_EQ(gpu_sampler_take(sampler, &reading, LONG_MS), 1);
	CHECK_EQ(gpu_sampler_take(sampler, &reading, 0), 0);
	CHECK_EQ(gpu_sampler_stop(sampler, LONG_MS), 0);
}

TEST(a_reading)
{
	read_once(NULL);
	CHECK_EQ(reading.count, 2);
	CHECK_EQ(reading.gpu[0].read, 1);
	CHECK_EQ(reading.gpu[0].own_known, 1);
	CHECK_EQ(reading.gpu[0].own, 300 * MIB);
	CHECK_EQ(reading.gpu[0].used, 350 * MIB);
	CHECK_EQ(reading.gpu[0].total, 1000 * MIB);
	CHECK(!reading.gpu[0].why && reading.gpu[0].time > 0);
	CHECK_EQ(reading.gpu[1].read, 0); /* nobody asked */
}

TEST(an_older_driver)
{
	read_once("old");
	CHECK_EQ(reading.gpu[0].own, 300 * MIB);
}

/* The figures of the whole GPU are there all the same. */
TEST(a_process_that_is_not_listed)
{
	read_once("empty");
	CHECK_EQ(reading.gpu[0].read, 1);
	CHECK_EQ(reading.gpu[0].used, 350 * MIB);
	CHECK_EQ(reading.gpu[0].own_known, 0);
	CHECK(strstr(reading.gpu[0].why, "does not list"));
}

TEST(no_permission_for_the_list)
{
	read_once("refused");
	CHECK_EQ(reading.gpu[0].own_known, 0);
	CHECK_EQ(reading.gpu[0].used, 350 * MIB);
	CHECK_STR(reading.gpu[0].why, "no permission");
}

TEST(a_gpu_that_is_lost)
{
	read_once("lost");
	CHECK_EQ(reading.gpu[0].read, 0);
	CHECK(strstr(reading.gpu[0].why, "fallen off"));
}

TEST(nobody_waits_for_a_driver_that_hangs)
{
	static const struct gpu_question first = { .wanted = 1 };
	struct gpu_name gpus[GPU_NAMES_MAX];
	struct gpu_sampler *sampler;
	char why[128] = "";

	use_standin("hang");
	sampler = gpu_sampler_start(getpid(), "");
	/* The memory of the GPUs is asked for with their names. */
	CHECK_EQ(gpu_sampler_names(sampler, gpus, 10, why, sizeof(why)), 0);
	CHECK_STR(why, "NVML does not answer");
	CHECK_EQ(gpu_sampler_ask(sampler, &first), -MT_E_BUSY);
	CHECK_EQ(gpu_sampler_take(sampler, &reading, 10), 0);
	CHECK_EQ(gpu_sampler_stop(sampler, 10), 1);
}

TEST(a_slow_driver_is_not_asked_twice)
{
	static const struct gpu_question first = { .wanted = 1 };
	struct gpu_name gpus[GPU_NAMES_MAX];
	struct gpu_sampler *sampler;
	char why[128];

	use_standin("slow");
	hold(1);
	sampler = gpu_sampler_start(getpid(), "");
	CHECK_EQ(gpu_sampler_names(sampler, gpus, LONG_MS, why, sizeof(why)), 2);
	CHECK_EQ(gpu_sampler_ask(sampler, &first), 0);
	CHECK_EQ(gpu_sampler_ask(sampler, &first), -MT_E_BUSY);
	CHECK_EQ(gpu_sampler_take(sampler, &reading, LONG_MS), 1);
	CHECK(reading.gpu[0].micros >= 50000);
	CHECK_EQ(gpu_sampler_stop(sampler, LONG_MS), 0);
}

TEST(what_is_visible_is_counted_as_the_process_counts)
{
	struct gpu_name gpus[GPU_NAMES_MAX];
	struct gpu_sampler *sampler;
	char why[128], all[96];

	use_standin(NULL);
	sampler = gpu_sampler_start(getpid(), "");
	CHECK_EQ(gpu_sampler_names(sampler, gpus, LONG_MS, why, sizeof(why)), 2);
	memcpy(all, gpus[1].uuid, sizeof(all));
	CHECK_EQ(gpu_sampler_stop(sampler, LONG_MS), 0);
	sampler = gpu_sampler_start(getpid(), "1");
	CHECK_EQ(gpu_sampler_names(sampler, gpus, LONG_MS, why, sizeof(why)), 1);
	CHECK_STR(gpus[0].uuid, all);
	CHECK_EQ(gpu_sampler_stop(sampler, LONG_MS), 0);
	sampler = gpu_sampler_start(getpid(), "MIG-1c7d");
	CHECK_EQ(gpu_sampler_names(sampler, gpus, LONG_MS, why, sizeof(why)), 0);
	CHECK(strstr(why, "MIG"));
	CHECK_EQ(gpu_sampler_stop(sampler, LONG_MS), 0);
}

TEST_MAIN()
