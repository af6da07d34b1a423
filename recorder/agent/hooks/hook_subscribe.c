/*
 * hook_subscribe.c - watches how other tools subscribe to CUPTI, such as PyTorch's profiler.
 *
 * CUPTI has one subscription. Kineto asks for it with the oldest of the calls. Until the middle of 2026 it asked once,
 * at the first profile, and never after a refusal: then no profile of the process had GPU events. Since then it asks
 * only if TEARDOWN_CUPTI=1 makes it leave after each profile. With --yield-cupti the agent leaves before the other tool
 * asks (cupti.h). Without it, the trace reports the refusal.
 *
 * Each call goes on to the libcupti that the caller would have reached without the agent; several may be loaded. A tool
 * that finds the function by dlsym is not seen.
 */
#include <stddef.h>
#include "agent/cuda/cuda_abi.h"
#include "agent/cupti/cupti.h"
#include "agent/loaded/loaded.h"
#include "hooks.h"
#include "memtrace/base.h"

typedef int cupti_finalize(void);

/* All replaced names: X(hook, its type, name that tools call). */
#define SUBSCRIBE_SYMBOL_LIST(X)                                      \
	X(hook_subscribe, cupti_subscribe, "cuptiSubscribe")          \
	X(hook_subscribe_v2, cupti_subscribe_v2, "cuptiSubscribe_v2") \
	X(hook_unsubscribe, cupti_unsubscribe, "cuptiUnsubscribe")    \
	X(hook_finalize, cupti_finalize, "cuptiFinalize")

#define SUBSCRIBE_DECLARE(function, type, name) static type function;
SUBSCRIBE_SYMBOL_LIST(SUBSCRIBE_DECLARE)
#undef SUBSCRIBE_DECLARE

/* The caller's function. *internal 1: libcupti calls itself, and no tool asks. */
#define TARGET(type, name, internal) ((type *)loaded_target(name, __builtin_return_address(0), internal))

static int hook_subscribe(struct cupti_subscriber **out, cupti_callback callback, void *user)
{
	int internal, error;
	cupti_subscribe *forward = TARGET(cupti_subscribe, "cuptiSubscribe", &internal);

	if (!forward)
		return CUPTI_NOT_INITIALIZED;
	if (internal)
		return forward(out, callback, user);
	cupti_other_asks(0);
	error = forward(out, callback, user);
	cupti_other_asked(error, error ? NULL : *out);
	return error;
}

/* 1: the other tool allows several subscribers: `allow_multiple`, since 13.2. */
static int is_sharing(const struct cupti_subscriber_params *params)
{
	return params && params->bytes >= sizeof(*params) && params->allow_multiple;
}

static int hook_subscribe_v2(struct cupti_subscriber **out, cupti_callback callback, void *user,
			     struct cupti_subscriber_params *params)
{
	int internal, error;
	cupti_subscribe_v2 *forward = TARGET(cupti_subscribe_v2, "cuptiSubscribe_v2", &internal);

	if (!forward)
		return CUPTI_NOT_INITIALIZED;
	if (internal)
		return forward(out, callback, user, params);
	cupti_other_asks(is_sharing(params));
	error = forward(out, callback, user, params);
	cupti_other_asked(error, error ? NULL : *out);
	return error;
}

static int hook_unsubscribe(struct cupti_subscriber *subscriber)
{
	int internal, error;
	cupti_unsubscribe *forward = TARGET(cupti_unsubscribe, "cuptiUnsubscribe", &internal);

	if (!forward)
		return CUPTI_NOT_INITIALIZED;
	error = forward(subscriber);
	if (!error && !internal)
		cupti_other_left(subscriber);
	return error;
}

/*
 * cuptiFinalize ends the work of all tools, the agent's too. The agent leaves before it and subscribes again after it.
 */
static int hook_finalize(void)
{
	int internal, error;
	cupti_finalize *forward = TARGET(cupti_finalize, "cuptiFinalize", &internal);

	if (!forward)
		return CUPTI_NOT_INITIALIZED;
	if (internal)
		return forward();
	cupti_other_finalizes();
	error = forward();
	cupti_other_finalized();
	return error;
}

/* ---- Names ---- */

#define SUBSCRIBE_EXPORT(function, type, name) \
	MT_EXPORT type exported_##function __asm__(name) __attribute__((alias(#function)));
SUBSCRIBE_SYMBOL_LIST(SUBSCRIBE_EXPORT)
#undef SUBSCRIBE_EXPORT

const struct loaded_hook *hook_subscribe_table(size_t *count)
{
	static const struct loaded_hook table[] = {
#define SUBSCRIBE_ROW(function, type, name) { name, (void *)function },
		SUBSCRIBE_SYMBOL_LIST(SUBSCRIBE_ROW)
#undef SUBSCRIBE_ROW
	};

	*count = MT_ARRAY_SIZE(table);
	return table;
}
