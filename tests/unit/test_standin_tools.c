/* test_standin_tools.c - what tools see of the stand-in GPU: CUPTI callbacks, NVML, the ledger. */
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include "standin.h"

/* ---- CUPTI ---- */

static struct {
	int enters, exits, wrong, device;
	struct cupti_callback_data last;
	cuda_result result;
	cuda_address address;
} seen;

/* Follows one cuMemAlloc_v2 or cuMemFree_v2 from ENTER to EXIT. */
static void on_call(void *user, int domain, uint32_t id, const void *data)
{
	const struct cupti_callback_data *call = data;
	const struct args_cuMemAlloc_v2 *args = call->params;
	uint32_t device;

	seen.last = *call;
	seen.wrong += user != &seen || domain != CUPTI_DOMAIN_DRIVER || (id != 243 && id != 245);
	if (call->site == CUPTI_ENTER) {
		seen.enters++;
		*call->correlation_data = call->correlation_id;
		return;
	}
	seen.exits++;
	seen.wrong += *call->correlation_data != call->correlation_id;
	seen.result = *(const cuda_result *)call->result;
	if (id == 243 && !seen.result)
		seen.address = *args->dptr;
	if (call->context && !cuptiGetDeviceId(call->context, &device))
		seen.device = (int)device;
}

static struct cupti_subscriber *subscribe(void)
{
	struct cupti_subscriber *subscriber;

	load_cupti();
	CHECK_EQ(cuptiSubscribe(&subscriber, on_call, &seen), CUPTI_OK);
	CHECK_EQ(cuptiEnableCallback(1, subscriber, CUPTI_DOMAIN_DRIVER, 243), CUPTI_OK);
	return subscriber;
}

TEST(callbacks_show_the_call)
{
	struct cuda_context *context = start();
	struct cupti_subscriber *subscriber = subscribe();
	cuda_address address;

	seen.device = -1;
	CHECK_EQ(cuMemAlloc_v2(&address, 4 * MIB), CUDA_OK);
	CHECK_EQ(seen.enters, 1);
	CHECK_EQ(seen.exits, 1);
	CHECK_EQ(seen.wrong, 0);
	CHECK_EQ(seen.device, 0);
	CHECK_EQ(seen.address, address);
	CHECK_STR(seen.last.function, "cuMemAlloc_v2");
	CHECK(seen.last.context == context && seen.last.context_uid == 1);
	CHECK_EQ(cuMemAlloc_v2(&address, 65 * MIB), CUDA_OUT_OF_MEMORY);
	CHECK_EQ(seen.result, CUDA_OUT_OF_MEMORY);
	CHECK_EQ(cuMemFree_v2(address), CUDA_OK); /* not enabled */
	CHECK_EQ(seen.enters, 2);
	CHECK_EQ(cuptiUnsubscribe(subscriber), CUPTI_OK);
	CHECK_EQ(cuMemAlloc_v2(&address, 1), CUDA_OK);
	CHECK_EQ(seen.exits, 2);
}

TEST(there_is_one_subscriber)
{
	struct cupti_subscriber_params params = { .bytes = CUPTI_PARAMS_13_0, .name = "first" };
	struct cupti_subscriber *first, *second;
	char name[CUPTI_OLD_NAME_BYTES] = "";

	start();
	load_cupti();
	CHECK_EQ(cuptiSubscribe_v2(&first, on_call, &seen, &params), CUPTI_OK);
	CHECK_EQ(cuptiSubscribe(&second, on_call, &seen), CUPTI_TAKEN);
	params.old_name = name;
	params.old_name_bytes = sizeof(name);
	CHECK_EQ(cuptiSubscribe_v2(&second, on_call, &seen, &params), CUPTI_TAKEN);
	CHECK_STR(name, "CUPTI for first");
	params.bytes = sizeof(params);
	CHECK_EQ(cuptiSubscribe_v2(&second, on_call, &seen, &params), CUPTI_INVALID_PARAMETER);
	CHECK_EQ(cuptiUnsubscribe(first), CUPTI_OK);
	CHECK_EQ(cuptiUnsubscribe(first), CUPTI_INVALID_PARAMETER);
	CHECK_EQ(cuptiSubscribe(&second, on_call, &seen), CUPTI_OK);
}

TEST(several_may_subscribe_if_all_say_so)
{
	struct cupti_subscriber_params params = { .bytes = sizeof(params), .name = "one", .allow_multiple = 1 };
	struct cupti_subscriber *first, *second;
	cuda_address address;
	uint32_t version;

	setenv("STANDIN_V2_SUBSCRIBERS", "1", 1);
	start();
	load_cupti();
	CHECK_EQ(cuptiGetVersion(&version), CUPTI_OK);
	CHECK_EQ(version, 130300);
	CHECK_EQ(cuptiSubscribe_v2(&first, on_call, &seen, &params), CUPTI_OK);
	CHECK_EQ(cuptiSubscribe_v2(&second, on_call, &seen, &params), CUPTI_OK);
	CHECK_EQ(cuptiSubscribe(&second, on_call, &seen), CUPTI_TAKEN);
	CHECK_EQ(cuptiEnableCallback(1, first, CUPTI_DOMAIN_DRIVER, 243), CUPTI_OK);
	CHECK_EQ(cuptiEnableCallback(1, second, CUPTI_DOMAIN_DRIVER, 243), CUPTI_OK);
	CHECK_EQ(cuMemAlloc_v2(&address, 1), CUDA_OK);
	CHECK_EQ(seen.enters, 2);
	CHECK_EQ(seen.wrong, 0);
}

TEST(what_cupti_does_not_know_is_refused)
{
	struct cupti_subscriber *subscriber, *wrong = (struct cupti_subscriber *)&seen;
	uint32_t enabled, device;

	setenv("STANDIN_FAULT_UNKNOWN_CBID", "757", 1);
	start();
	subscriber = subscribe();
	CHECK_EQ(cuptiEnableCallback(1, subscriber, CUPTI_DOMAIN_DRIVER, 100000), CUPTI_INVALID_PARAMETER);
	CHECK_EQ(cuptiEnableCallback(1, subscriber, CUPTI_DOMAIN_DRIVER, 757), CUPTI_INVALID_PARAMETER);
	CHECK_EQ(cuptiEnableCallback(1, subscriber, 7, 243), CUPTI_INVALID_PARAMETER);
	CHECK_EQ(cuptiEnableCallback(1, wrong, CUPTI_DOMAIN_DRIVER, 243), CUPTI_INVALID_PARAMETER);
	CHECK_EQ(cuptiEnableCallback(1, NULL, CUPTI_DOMAIN_DRIVER, 243), CUPTI_INVALID_PARAMETER);
	CHECK_EQ(cuptiGetCallbackState(&enabled, subscriber, CUPTI_DOMAIN_DRIVER, 243), CUPTI_OK);
	CHECK_EQ(enabled, 1);
	CHECK_EQ(cuptiGetCallbackState(&enabled, subscriber, CUPTI_DOMAIN_DRIVER, 245), CUPTI_OK);
	CHECK_EQ(enabled, 0);
	CHECK_EQ(cuptiGetDeviceId((struct cuda_context *)wrong, &device), CUPTI_INVALID_CONTEXT);
	CHECK_EQ(cuptiGetDeviceId(NULL, &device), CUPTI_OK); /* the device of the thread's context */
	CHECK_EQ(device, 0);
}

TEST(another_tool_can_hold_the_subscription)
{
	struct cupti_subscriber_params params = { .bytes = CUPTI_PARAMS_13_0 };
	struct cupti_subscriber *subscriber;
	char name[CUPTI_OLD_NAME_BYTES] = "";

	setenv("STANDIN_FAULT_SUBSCRIBED", "Nsight Systems", 1);
	start();
	load_cupti();
	params.old_name = name;
	params.old_name_bytes = sizeof(name);
	CHECK_EQ(cuptiSubscribe_v2(&subscriber, on_call, NULL, &params), CUPTI_TAKEN);
	CHECK_STR(name, "Nsight Systems");
}

TEST(faults_hit_the_call_they_are_meant_for)
{
	cuda_address address;
	cuda_handle handle;

	setenv("STANDIN_FAULT_OOM_AT", "3", 1);
	setenv("STANDIN_FAULT_NULL_CONTEXT", "1", 1);
	start();
	subscribe();
	CHECK_EQ(cuMemAlloc_v2(&address, MIB), CUDA_OK);
	CHECK_EQ(cuMemFree_v2(address), CUDA_OK);
	CHECK_EQ(cuMemCreate(&handle, 2 * MIB, &on_gpu, 0), CUDA_OK);
	CHECK_EQ(cuMemAlloc_v2(&address, MIB), CUDA_OUT_OF_MEMORY);
	CHECK_EQ(seen.result, CUDA_OUT_OF_MEMORY);
	CHECK_EQ(cuMemAlloc_v2(&address, MIB), CUDA_OK);
	CHECK(!seen.last.context && !seen.last.context_uid);
}

/* ---- NVML, several processes ---- */

TEST(nvml_sees_other_processes_until_they_die)
{
	struct nvml_process process[4];
	struct nvml_device *device;
	struct nvml_memory memory;
	cuda_address address;
	unsigned int count = 4;
	int ready[2], status;
	char uuid[64], byte;
	pid_t child;

	setenv("STANDIN_STATE", test_dir(), 1);
	setenv("STANDIN_MEM", "64MiB", 1);
	CHECK(!pipe(ready));
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		start();
		CHECK_EQ(cuMemAlloc_v2(&address, 40 * MIB), CUDA_OK);
		CHECK(write(ready[1], "x", 1) == 1);
		pause();
	}
	close(ready[1]);
	CHECK(read(ready[0], &byte, 1) == 1);
	load_nvml();
	CHECK_EQ(nvmlDeviceGetHandleByIndex_v2(0, &device), NVML_UNINITIALIZED);
	CHECK_EQ(nvmlInit_v2(), NVML_OK);
	CHECK_EQ(nvmlDeviceGetHandleByIndex_v2(1, &device), NVML_INVALID_ARGUMENT);
	CHECK_EQ(nvmlDeviceGetHandleByIndex_v2(0, &device), NVML_OK);
	CHECK_EQ(nvmlDeviceGetUUID(device, uuid, sizeof(uuid)), NVML_OK);
	CHECK_EQ(strlen(uuid), strlen("GPU-00000000-0000-0000-0000-000000000000"));
	CHECK_EQ(nvmlDeviceGetMemoryInfo(device, &memory), NVML_OK);
	CHECK_EQ(memory.used, 40 * MIB);
	CHECK_EQ(nvmlDeviceGetComputeRunningProcesses_v3(device, &count, process), NVML_OK);
	CHECK_EQ(count, 1);
	CHECK_EQ(process[0].pid, child);
	CHECK_EQ(process[0].used, 40 * MIB);
	start(); /* the same GPU, from this process */
	CHECK_EQ(cuMemAlloc_v2(&address, 40 * MIB), CUDA_OUT_OF_MEMORY);
	CHECK(!kill(child, SIGKILL) && waitpid(child, &status, 0) == child);
	CHECK_EQ(cuMemAlloc_v2(&address, 40 * MIB), CUDA_OK);
}

/* ---- Ledger ---- */

/* Sum of the last column, and the number of lines. */
static int64_t ledger_sum(const char *path, int *lines)
{
	FILE *file = fopen(path, "r");
	char line[512];
	int64_t sum = 0;

	CHECK(file);
	for (*lines = 0; fgets(line, sizeof(line), file); ++*lines) {
		CHECK(strchr(line, '\n'));
		sum += strtoll(strrchr(line, ' ') + 1, NULL, 10);
	}
	fclose(file);
	return sum;
}

TEST(the_ledger_survives_kill)
{
	cuda_address a, b;
	int status, lines;
	char path[512];
	pid_t child;

	snprintf(path, sizeof(path), "%s/ledger", test_dir());
	setenv("STANDIN_LEDGER", path, 1);
	child = fork();
	if (!child) {
		start();
		CHECK_EQ(cuMemAlloc_v2(&a, 3 * MIB), CUDA_OK);
		CHECK_EQ(cuMemAlloc_v2(&b, 5 * MIB), CUDA_OK);
		CHECK_EQ(cuMemFree_v2(a), CUDA_OK);
		raise(SIGKILL);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
	CHECK_EQ(ledger_sum(path, &lines), 5 * MIB);
	CHECK_EQ(lines, 4); /* and the context */
}

#define THREADS 4
#define ROUNDS 2000

static struct cuda_context *shared_context;

static void *churn(void *argument)
{
	cuda_address address[8];
	int i;

	CHECK_EQ(cuCtxSetCurrent(shared_context), CUDA_OK);
	for (i = 0; i < ROUNDS; i++) {
		if (i >= 8)
			CHECK_EQ(cuMemFree_v2(address[i % 8]), CUDA_OK);
		CHECK_EQ(cuMemAlloc_v2(&address[i % 8], 512 + (size_t)i), CUDA_OK);
		*(cuda_address *)argument ^= address[i % 8];
	}
	for (i = 0; i < 8; i++)
		CHECK_EQ(cuMemFree_v2(address[i]), CUDA_OK);
	return NULL;
}

TEST(threads_share_the_driver)
{
	pthread_t thread[THREADS];
	cuda_address sum[THREADS] = { 0 };
	char path[512];
	int i, lines;

	snprintf(path, sizeof(path), "%s/ledger", test_dir());
	setenv("STANDIN_LEDGER", path, 1);
	shared_context = start();
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&thread[i], NULL, churn, &sum[i]));
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_join(thread[i], NULL));
	CHECK_EQ(used(), 0);
	CHECK_EQ(ledger_sum(path, &lines), 0);
	CHECK_EQ(lines, 2 + THREADS * ROUNDS * 2);
}

TEST_MAIN()
