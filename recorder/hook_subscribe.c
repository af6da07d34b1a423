/*
 * hook_subscribe.c - stands between CUPTI and the other tools of the process, PyTorch's profiler above all.
 *
 * CUPTI has one subscription. Kineto asks for it once, at the first profile, with the oldest of the calls; when it is
 * refused, it never asks again, and every profile of the process is without GPU events. So we watch who asks: with
 * --yield-cupti we leave before the other one asks (cupti.h), without it we say in the trace what has happened.
 *
 * Kineto leaves, and finalizes CUPTI, inside a callback of its own (TEARDOWN_CUPTI=1). The stack tells: below us lies
 * libcupti, which has called whoever calls us.
 *
 * Each call goes on to the libcupti that the caller would have reached without us; several may be loaded. Who fetches
 * the function by dlsym is not seen.
 */
#include <stddef.h>
#include "cuda_abi.h"
#include "cupti.h"
#include "hooks.h"
#include "loaded.h"
#include "memtrace/base.h"
#include "own_stack.h"
#include "stack_native.h"

#define FRAMES 64u /* that are looked at: a callback is not far from its caller */

typedef int cupti_finalize(void);

/* Every name we stand in for, once: X(our function, its type, the name that tools call). */
#define SUBSCRIBE_SYMBOL_LIST(X)                                        \
	X(hook_subscribe, cupti_subscribe, "cuptiSubscribe")            \
	X(hook_subscribe_v2, cupti_subscribe_v2, "cuptiSubscribe_v2")   \
	X(hook_unsubscribe, cupti_unsubscribe, "cuptiUnsubscribe")      \
	X(hook_finalize, cupti_finalize, "cuptiFinalize")

#define SUBSCRIBE_DECLARE(function, type, name) static type function;
SUBSCRIBE_SYMBOL_LIST(SUBSCRIBE_DECLARE)
#undef SUBSCRIBE_DECLARE

/* The function of the caller. *internal: 1, libcupti calls itself, and nobody else asks for anything. */
#define TARGET(type, name, internal) ((type *)loaded_target(name, __builtin_return_address(0), internal))

/* On a stack of ours. */
static void look_for_callback(void *context)
{
	int *inside = context;
	uint64_t address[FRAMES];
	uint16_t cut;
	uint32_t count = stack_native_walk(address, FRAMES, &cut), i;

	for (i = 0; i < count; i++)
		if (loaded_is_in(address[i], "libcupti") || loaded_is_in(address[i], "libcuda"))
			return;
	*inside = !count;
}

/* 1: a callback of CUPTI is under way on this thread, or nobody knows. */
static int is_inside_callback(void)
{
	int inside = 1;

	own_stack_call(look_for_callback, &inside);
	return inside;
}

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

/* Shares with us if we do: `allow_multiple` is there from 13.2 on. */
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
		cupti_other_left(subscriber, is_inside_callback());
	return error;
}

/* Ends the work of everybody in the process, ours too: we are not in the way, and come again. */
static int hook_finalize(void)
{
	int internal, error, inside;
	cupti_finalize *forward = TARGET(cupti_finalize, "cuptiFinalize", &internal);

	if (!forward)
		return CUPTI_NOT_INITIALIZED;
	if (internal)
		return forward();
	inside = is_inside_callback();
	cupti_other_finalizes(inside);
	error = forward();
	cupti_other_finalized(inside);
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
