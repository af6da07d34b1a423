/*
 * entries.c - the memory calls for programs, made from driver_entries.h. Each fires its enabled ENTER and EXIT
 * callbacks on the calling thread, with the layouts of the real CUPTI.
 */
#include <time.h>
#include "driver.h"
#include "hub.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int context_device(struct cuda_context *context)
{
	if (!context)
		context = driver_current();
	return driver_context_uid(context) ? context->device : -1;
}

MT_EXPORT struct standin_hub standin_hub = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.has_gpu = driver_has_gpu,
	.context_device = context_device,
	.context_uid = driver_context_uid,
	.account = driver_account,
};

void driver_lock(void)
{
	pthread_mutex_lock(&lock);
}

void driver_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

/* A running call, from ENTER to EXIT. */
struct call {
	const char *name;
	const void *args;
	uint32_t id, correlation_id;
	enum cuda_class class;
	cuda_result result;
	uint64_t correlation[HUB_SUBSCRIBERS]; /* one word for each subscriber */
};

static void call_subscriber(struct cupti_subscriber *subscriber, int domain, uint32_t id, const void *data)
{
	atomic_fetch_add(&subscriber->inside, 1);
	if (atomic_load(&subscriber->active))
		subscriber->callback(subscriber->user, domain, id, data);
	atomic_fetch_sub(&subscriber->inside, 1);
}

void driver_fire_context(uint32_t id, struct cuda_context *context)
{
	struct cupti_resource_data data = { .context = context };
	unsigned int i;

	for (i = 0; !standin_config()->silent && i < HUB_SUBSCRIBERS; i++)
		if (atomic_load(&standin_hub.subscriber[i].resource[id]))
			call_subscriber(&standin_hub.subscriber[i], CUPTI_DOMAIN_RESOURCE, id, &data);
}

/* STANDIN_FAULT_FATAL_AT: CUPTI reports a fatal error to its subscribers and drops them. */
static void die(void)
{
	struct cupti_state_data data = { CUPTI_UNKNOWN, "asked for by STANDIN_FAULT_FATAL_AT" };
	unsigned int i;

	for (i = 0; i < HUB_SUBSCRIBERS; i++) {
		struct cupti_subscriber *subscriber = &standin_hub.subscriber[i];

		if (atomic_load(&subscriber->state[CUPTI_FATAL_ERROR]))
			call_subscriber(subscriber, CUPTI_DOMAIN_STATE, CUPTI_FATAL_ERROR, &data);
		atomic_store(&subscriber->active, 0);
	}
}

static void fire(struct call *call, int site)
{
	struct cuda_context *context = standin_config()->null_context ? NULL : driver_current();
	struct cupti_callback_data data = {
		.site = site,
		.function = call->name,
		.params = call->args,
		.result = site == CUPTI_EXIT ? &call->result : NULL,
		.context = context,
		.context_uid = context ? context->uid : 0,
		.correlation_id = call->correlation_id,
	};
	unsigned int i;

	for (i = 0; !standin_config()->silent && i < HUB_SUBSCRIBERS; i++) {
		struct cupti_subscriber *subscriber = &standin_hub.subscriber[i];

		if (!atomic_load(&subscriber->active) || !atomic_load(&subscriber->enabled[call->id]))
			continue;
		data.correlation_data = &call->correlation[i];
		call_subscriber(subscriber, CUPTI_DOMAIN_DRIVER, call->id, &data);
	}
}

static const enum cuda_policy class_policy[] = {
#define CLASS_POLICY(name, policy, meaning) [CUDA_CLASS_##name] = CUDA_##policy,
	CUDA_CLASS_LIST(CLASS_POLICY)
#undef CLASS_POLICY
};

static void enter(struct call *call)
{
	static _Atomic uint32_t calls;
	static _Atomic uint64_t requests;

	call->correlation_id = atomic_fetch_add(&calls, 1) + 1;
	if (class_policy[call->class] == CUDA_TAKE && atomic_fetch_add(&requests, 1) + 1 == standin_config()->fatal_at)
		die();
	fire(call, CUPTI_ENTER);
	driver_lock();
}

/* STANDIN_FAULT_OOM_AT: 1: this request must fail. Counts all requests for memory. */
static int must_fail(const struct call *call)
{
	static uint64_t requests;

	return class_policy[call->class] == CUDA_TAKE && ++requests == standin_config()->oom_at;
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * MT_NSEC_PER_SEC + (uint64_t)time.tv_nsec;
}

/* Burns the time a slow driver would take; sleeping would be far longer than asked for. */
static void be_slow(uint64_t ns)
{
	uint64_t end = now() + ns;

	while (now() < end)
		;
}

static cuda_result leave(struct call *call, const struct effect *effect)
{
	ledger_write(call->name, call->result, effect);
	driver_unlock();
	if (standin_config()->slow_ns)
		be_slow(standin_config()->slow_ns);
	fire(call, CUPTI_EXIT);
	return call->result;
}

#define COMMA() ,
#define PARAMETER(type, name) type name
#define VALUE(type, name) name

#define ENTRY(entry, number, kind, where, since)                                                                  \
	DRIVER_CALL(entry(CUDA_ARGS_##entry(PARAMETER, COMMA)))                                                   \
	{                                                                                                         \
		struct args_##entry packed = { CUDA_ARGS_##entry(VALUE, COMMA) };                                 \
		struct effect effect = { .device = HOST, .space = MT_SPACE_##where };                             \
		struct call call = { .name = #entry, .args = &packed, .id = number, .class = CUDA_CLASS_##kind }; \
                                                                                                                  \
		if (!driver_ready())                                                                              \
			return CUDA_NOT_INITIALIZED;                                                              \
		enter(&call);                                                                                     \
		call.result = must_fail(&call) ? CUDA_OUT_OF_MEMORY : do_##entry(&packed, &effect);               \
		return leave(&call, &effect);                                                                     \
	}

CUDA_ENTRY_LIST(ENTRY)
