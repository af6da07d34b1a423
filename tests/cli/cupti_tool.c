/*
 * cupti_tool.c - another tool that uses CUPTI, linked with it as PyTorch's profiler is: subscribes when told, counts the
 * memory calls it is shown, and leaves. For test_cupti.sh, which builds it with the names of the day.
 */
#include "cuda_abi.h"

cupti_subscribe cuptiSubscribe;
cupti_subscribe_v2 cuptiSubscribe_v2;
cupti_unsubscribe cuptiUnsubscribe;
cupti_enable_callback cuptiEnableCallback;
int cuptiFinalize(void);

static struct cupti_subscriber *subscriber;
static int calls;

static void on_callback(void *user, int domain, uint32_t id, const void *data)
{
	(void)user;
	(void)domain;
	(void)id;
	(void)data;
	calls++;
}

int tool_start(uint32_t id);
int tool_start_sharing(uint32_t id);
int tool_stop(void);
int tool_finalize(void);
int tool_calls(void);

static int enable(int error, uint32_t id)
{
	return error ? error : cuptiEnableCallback(1, subscriber, CUPTI_DOMAIN_DRIVER, id);
}

int tool_start(uint32_t id)
{
	return enable(cuptiSubscribe(&subscriber, on_callback, NULL), id);
}

int tool_start_sharing(uint32_t id)
{
	struct cupti_subscriber_params params = { sizeof(params), "tool", NULL, 0, 1, { 0 } };

	return enable(cuptiSubscribe_v2(&subscriber, on_callback, NULL, &params), id);
}

int tool_stop(void)
{
	return cuptiUnsubscribe(subscriber);
}

int tool_finalize(void)
{
	return cuptiFinalize();
}

int tool_calls(void)
{
	return calls;
}
