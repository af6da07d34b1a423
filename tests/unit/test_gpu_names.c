/* Which physical GPU a process calls number 0: a wrong answer would join traces on the wrong device. */
#include "collect/gpu_names.c"
#include "collect/nvml.c"
#include "test.h"

static const struct gpu_name alike[] = {
	{ "H100", "GPU-aa11", 80 },
	{ "H100", "GPU-ab22", 80 },
	{ "H100", "GPU-cc33", 80 },
};

static const struct gpu_name mixed[] = {
	{ "T4", "GPU-aa11", 16 },
	{ "H100", "GPU-ab22", 80 },
};

static void check_uuids(const struct gpu_name *gpus, int count, const char *want)
{
	char text[256] = "";
	int i, used = 0;

	for (i = 0; i < count; i++)
		used += snprintf(text + used, sizeof(text) - (size_t)used, "%s;", gpus[i].uuid);
	CHECK_STR(text, want);
}

static void check_alike(const char *visible, const char *want)
{
	struct gpu_name gpus[GPU_NAMES_MAX];

	check_uuids(gpus, gpu_names_visible(gpus, alike, 3, visible, 0), want);
}

TEST(all_are_visible_by_default)
{
	check_alike(NULL, "GPU-aa11;GPU-ab22;GPU-cc33;");
}

TEST(numbers)
{
	check_alike("2,0", "GPU-cc33;GPU-aa11;");
	check_alike(" 1 , 2 ", "GPU-ab22;GPU-cc33;");
	check_alike("", "");
	check_alike("-1", "");
	check_alike("1,7,0", "GPU-ab22;");
	check_alike("1,x,0", "GPU-ab22;");
	check_alike("1,", "GPU-ab22;");
}

TEST(uuids)
{
	check_alike("GPU-cc", "GPU-cc33;");
	check_alike("GPU-ab22,GPU-aa11", "GPU-ab22;GPU-aa11;");
	check_alike("GPU-a", ""); /* two of them begin so */
	check_alike("GPU-zz", "");
}

/* CUDA puts the fastest first, NVML goes by the bus: a number says nothing unless both are told to agree. */
TEST(different_gpus_are_named_only_when_certain)
{
	struct gpu_name gpus[GPU_NAMES_MAX];

	check_uuids(gpus, gpu_names_visible(gpus, mixed, 2, NULL, 0), ";;");
	check_uuids(gpus, gpu_names_visible(gpus, mixed, 2, "1", 0), ";");
	check_uuids(gpus, gpu_names_visible(gpus, mixed, 2, "GPU-ab22,0", 0), "GPU-ab22;;");
	check_uuids(gpus, gpu_names_visible(gpus, mixed, 2, "1,0", 1), "GPU-ab22;GPU-aa11;");
}

TEST(variables)
{
	static const char text[] = "XCUDA_VISIBLE_DEVICES=9\0CUDA_VISIBLE_DEVICES=1,2\0CUDA=3";

	CHECK_STR(find_variable(text, sizeof(text) - 1, "CUDA_VISIBLE_DEVICES"), "1,2");
	CHECK_STR(find_variable(text, sizeof(text) - 1, "CUDA"), "3");
	CHECK(!find_variable(text, sizeof(text) - 1, "VISIBLE"));
	CHECK(!find_variable("", 0, "CUDA"));
}

TEST_MAIN()
