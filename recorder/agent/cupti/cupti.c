/*
 * cupti.c - takes the one CUPTI subscription, enables the callbacks, gives the subscription away and takes it back.
 * libcupti is found late by dlopen (inside cuInit) and never linked. The agent never calls cuptiFinalize, which would
 * end the work of all tools. It calls nothing when the program ends, because the driver may be gone.
 */
#include "cupti.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include "agent/cuda/cuda_abi.h"
#include "agent/cuda/hook_cupti.h"
#include "agent/life/agent.h"
#include "agent/loaded/loaded.h"
#include "agent/stacks/own_stack.h"
#include "agent/stacks/stack.h"
#include "cupti_find.h"
#include "memtrace/base.h"
#include "memtrace/clock.h"

#define LONG_PARAMS_VERSION 130200u /* from here on CUPTI knows all of struct cupti_subscriber_params */
#define SEVERAL_VERSION 130300u     /* from here on several tools may subscribe, if all of them allow it */
#define WAIT_NS 50000000ull         /* a tool that leaves inside a callback may finalize in the same callback */
#define CHANGE_STEP_NS 100000
#define CHANGE_STEPS 10000  /* 1 s */
#define UNSEEN_GROWTHS 3    /* in a row: no accident */
#define RESTART_VERSION 24u /* the version of CUPTI 12.6 */
#define TRIES_MAX 5
#define SAID_SILENT 2

/* The functions of libcupti that the agent uses. */
struct cupti {
	cupti_get_version *get_version;
	cupti_subscribe *subscribe;
	cupti_subscribe_v2 *subscribe_v2; /* since 13.0 */
	cupti_unsubscribe *unsubscribe;
	cupti_enable_callback *enable;
	cupti_get_device_id *get_device; /* may be missing */
	struct cupti_subscriber *subscriber;
	int shares; /* the subscription bears others */
	const char *path;
};

/* CHANGING: a thread changes it; other threads wait or give up. */
enum hold { NONE, OURS, CHANGING, GIVEN, DEAD };

static _Atomic int hold;
static struct cupti cupti;           /* changed only by the thread that has set `hold` to CHANGING */
static void (*look_around)(void);    /* see cupti_start */
static _Atomic uintptr_t generation; /* number of the subscription; a callback with an older one is ignored */
static const struct cupti_subscriber *_Atomic other; /* newest tool that has subscribed and not left; NULL: none seen */
static _Atomic int others;                           /* calls of other tools to subscribe or finalize, now running */
static _Atomic uint64_t left_at; /* CLOCK_MONOTONIC at which another tool left; 0: nothing for cupti_look to do */
static _Atomic int interrupted;  /* 1: some driver calls were not shown to the agent */
static _Atomic int finalized;    /* 1: a tool has finalized CUPTI */
static _Atomic int tries;        /* failed attempts to subscribe again, in a row */
static _Atomic int found_gpu;    /* see cupti_finds_gpu */
static _Atomic int resting;      /* 1: given up until the process is recorded (cupti_rest) */

static int resolve(void *library)
{
	cupti.get_version = (cupti_get_version *)dlsym(library, "cuptiGetVersion");
	cupti.subscribe = (cupti_subscribe *)dlsym(library, "cuptiSubscribe");
	cupti.subscribe_v2 = (cupti_subscribe_v2 *)dlsym(library, "cuptiSubscribe_v2");
	cupti.unsubscribe = (cupti_unsubscribe *)dlsym(library, "cuptiUnsubscribe");
	cupti.enable = (cupti_enable_callback *)dlsym(library, "cuptiEnableCallback");
	cupti.get_device = (cupti_get_device_id *)dlsym(library, "cuptiGetDeviceId");
	return cupti.get_version && cupti.subscribe && cupti.unsubscribe && cupti.enable;
}

/* ---- Callbacks ---- */

/* The one function that CUPTI's manual allows inside a callback. */
static int ask_device(const void *context)
{
	uint32_t device;

	if (!cupti.get_device || cupti.get_device((struct cuda_context *)(uintptr_t)context, &device) ||
	    device > INT16_MAX)
		return -1;
	return (int)device;
}

/* CUPTI has finalized itself and makes no more callbacks. The agent does not use it any more. */
static void on_fatal_error(const struct cupti_state_data *data)
{
	int ours = OURS;
	char why[256];
	struct textbuf text;

	if (!atomic_compare_exchange_strong(&hold, &ours, DEAD))
		return;
	textbuf_init(&text, why, sizeof(why));
	textbuf_add(&text, "CUPTI has ended itself after a fatal error (");
	textbuf_add_number(&text, (uint64_t)(uint32_t)data->error);
	if (data->message) {
		textbuf_add(&text, ", ");
		textbuf_add(&text, data->message);
	}
	textbuf_add(&text, "): driver memory is recorded up to there");
	agent_source(MT_SOURCE_CUPTI, MT_SOURCE_FAILED, why);
}

static void on_callback(void *user, int domain, uint32_t id, const void *data)
{
	if ((uintptr_t)user != atomic_load_explicit(&generation, memory_order_relaxed))
		return;
	look_around();
	if (domain != CUPTI_DOMAIN_STATE)
		hook_cupti_callback(domain, id, data);
	else if (id == CUPTI_FATAL_ERROR)
		on_fatal_error(data);
}

/* ---- Subscribing ---- */

static int subscribe_v2(void *user, uint32_t version, int several, char *holder)
{
	struct cupti_subscriber_params params = { CUPTI_PARAMS_13_0, "memrec", holder, CUPTI_OLD_NAME_BYTES };
	int error;

	if (version >= LONG_PARAMS_VERSION)
		params.bytes = sizeof(params);
	params.allow_multiple = (uint8_t)several;
	error = cupti.subscribe_v2(&cupti.subscriber, on_callback, user, &params);
	holder[CUPTI_OLD_NAME_BYTES - 1] = '\0';
	cupti.shares = !error && several;
	return error;
}

/*
 * Subscribes as one of several if library and driver allow it, else by the oldest call, whose error shows any other
 * tool's subscription. The newer call is then refused as well, but names the holder.
 */
static int subscribe(char *holder)
{
	void *user = (void *)(atomic_fetch_add(&generation, 1) + 1);
	uint32_t version = 0;
	int error = CUPTI_UNKNOWN;

	cupti.shares = 0;
	holder[0] = '\0';
	if (cupti.get_version(&version))
		version = 0;
	if (cupti.subscribe_v2 && version >= SEVERAL_VERSION)
		error = subscribe_v2(user, version, 1, holder);
	if (error && !cupti_is_taken(error))
		error = cupti.subscribe(&cupti.subscriber, on_callback, user);
	if (cupti_is_taken(error) && cupti.subscribe_v2 && !holder[0])
		error = subscribe_v2(user, version, 0, holder);
	return error;
}

static int enable(int domain, uint32_t id)
{
	return !cupti.enable(1, cupti.subscriber, domain, id);
}

/* Enables the callbacks. CUPTI refuses unknown ones, which then never come. 1: at least one memory call was enabled. */
static int enable_callbacks(void)
{
	uint32_t id;
	int enabled = 0;

	for (id = 0; id < HOOK_CUPTI_IDS; id++)
		if (hook_cupti_wants(id))
			enabled |= enable(CUPTI_DOMAIN_DRIVER, id);
	enable(CUPTI_DOMAIN_RESOURCE, CUPTI_CONTEXT_CREATED);
	enable(CUPTI_DOMAIN_RESOURCE, CUPTI_CONTEXT_ENDS);
	enable(CUPTI_DOMAIN_STATE, CUPTI_FATAL_ERROR);
	return enabled;
}

/* Subscribes with the current library. 1: done; else `refusal` has CUPTI's answer. */
static int take(struct cupti_refusal *refusal)
{
	char holder[CUPTI_OLD_NAME_BYTES];
	int error = subscribe(holder);

	if (!error && enable_callbacks())
		return 1;
	if (!error)
		cupti.unsubscribe(cupti.subscriber);
	cupti_refusal_add(refusal, error, holder, cupti.path);
	return 0;
}

static void report_refusal(const struct cupti_refusal *refusal)
{
	char why[256];
	struct textbuf text;

	textbuf_init(&text, why, sizeof(why));
	cupti_refusal_say(refusal, &text);
	agent_source(MT_SOURCE_CUPTI, MT_SOURCE_FAILED, why);
}

static void report_ours(void)
{
	if (atomic_load(&interrupted))
		agent_source(MT_SOURCE_CUPTI, MT_SOURCE_PARTLY,
			     "another tool had CUPTI for a while: the driver calls of that time are missing");
	else
		agent_source(MT_SOURCE_CUPTI, MT_SOURCE_ON, "");
}

/* ---- Start ---- */

struct search {
	int ours;
	struct cupti_refusal refusal;
};

/*
 * Tries one libcupti of several. All share one subscription. A library that does not fit has not touched the driver and
 * may be closed; any other stays open.
 */
static enum cupti_use try_library(void *context, void *library, const char *path)
{
	struct search *search = context;
	struct cupti_refusal refusal = { .found = 0 };

	if (!resolve(library))
		return CUPTI_REFUSED;
	cupti.path = path;
	if (agent_options()->yield_cupti && atomic_load(&others)) { /* another tool asks right now and shall get it */
		cupti_refusal_add(&search->refusal, CUPTI_TAKEN, "", path);
		return CUPTI_USED;
	}
	search->ours = take(&refusal);
	if (search->ours)
		return CUPTI_USED;
	cupti_refusal_add(&search->refusal, refusal.error, refusal.holder, refusal.path);
	if (cupti_is_taken(refusal.error))
		return CUPTI_USED;
	return cupti_is_unfit(refusal.error) ? CUPTI_REFUSED : CUPTI_TRIED;
}

/* The driver's version, a constant in the driver: the only driver call allowed inside cuInit. 0: unknown. */
static int driver_version(void)
{
	int (*get)(int *version) = (int (*)(int *))loaded_find("cuDriverGetVersion");
	int version = 0;

	return get && !get(&version) ? version : 0;
}

static enum hold begin(struct search *search)
{
	memset(search, 0, sizeof(*search));
	hook_cupti_start(ask_device);
	cupti_find(try_library, search, driver_version());
	atomic_store(&found_gpu, search->ours || cupti_is_taken(search->refusal.error));
	if (search->ours) {
		report_ours();
		return OURS;
	}
	report_refusal(&search->refusal);
	atomic_store(&interrupted, 1);
	return cupti_is_taken(search->refusal.error) && agent_options()->yield_cupti ? GIVEN : NONE;
}

void cupti_start(void (*look)(void))
{
	static struct search search; /* owned by the thread that has set `hold` to CHANGING */
	int none = NONE;

	if (agent_options()->no_cupti) {
		agent_source(MT_SOURCE_CUPTI, MT_SOURCE_OFF, "not asked for (--no-cupti)");
		return;
	}
	if (!atomic_compare_exchange_strong(&hold, &none, CHANGING))
		return;
	look_around = look;
	atomic_store(&hold, begin(&search));
}

int cupti_finds_gpu(void)
{
	return atomic_load(&found_gpu);
}

/* ---- Others ---- */

/* On a stack of ours. */
static void look_for_callback(void *context)
{
	int *inside = context;
	uint64_t address[STACK_NATIVE_MAX];
	uint16_t cut;
	uint32_t count = stack_native_walk(address, STACK_NATIVE_MAX, &cut), i;

	for (i = 0; i < count; i++)
		if (loaded_is_in(address[i], "libcupti") || loaded_is_in(address[i], "libcuda"))
			return;
	*inside = !count || cut;
}

/* 1: this thread is inside a callback of CUPTI or of the driver, or this cannot be told. */
static int is_inside_callback(void)
{
	int inside = 1;

	agent_work(look_for_callback, &inside);
	return inside;
}

/* Waits while another thread subscribes or unsubscribes, which takes milliseconds. */
static void wait_for_change(void)
{
	struct timespec step = { 0, CHANGE_STEP_NS };
	int i;

	for (i = 0; i < CHANGE_STEPS && atomic_load(&hold) == CHANGING; i++)
		nanosleep(&step, NULL);
}

/* `is_over`: CUPTI itself ends. Then the subscription goes with it, and is not to be touched inside a callback. */
static void leave(const char *why, int is_over)
{
	int ours = OURS;

	if (!atomic_compare_exchange_strong(&hold, &ours, CHANGING))
		return;
	atomic_store(&interrupted, 1);
	agent_source(MT_SOURCE_CUPTI, MT_SOURCE_OFF, why);
	if (!is_over)
		cupti.unsubscribe(cupti.subscriber);
	atomic_fetch_add(&generation, 1);
	atomic_store(&hold, GIVEN);
}

/*
 * Before 12.6, a CUPTI that was finalized and begins again crashes programs with CUDA graphs (pytorch/pytorch#112507).
 * The agent does not begin it again.
 */
static int may_begin_again(void)
{
	uint32_t version = 0;

	return !atomic_load(&finalized) || (!cupti.get_version(&version) && version >= RESTART_VERSION);
}

/* On a stack of ours. */
static void subscribe_again(void *context)
{
	struct cupti_refusal refusal = { .found = 0 };
	int *ours = context;

	hook_cupti_missed();
	*ours = take(&refusal);
	if (*ours) {
		report_ours();
		atomic_store(&tries, 0);
		return;
	}
	report_refusal(&refusal);
	/* A callback may still run in the CUPTI that is being ended. The holder will be seen leaving. */
	if (!cupti_is_taken(refusal.error) && atomic_fetch_add(&tries, 1) < TRIES_MAX)
		atomic_store(&left_at, mt_clock_ns());
}

/* The recording is over. Not inside a callback. */
static void retire(void)
{
	int ours = OURS;

	if (!atomic_compare_exchange_strong(&hold, &ours, CHANGING))
		return;
	cupti.unsubscribe(cupti.subscriber);
	atomic_fetch_add(&generation, 1);
	atomic_store(&hold, NONE);
}

/*
 * Subscribes again if no other tool asks. A tool that asks sets `others` before it reads `hold`, so one of the two sees
 * the other.
 */
static void come_back(void)
{
	int given = GIVEN, ours = 0;

	if (agent_is_over())
		retire();
	/* NONE waits for nothing. With --no-cupti, CUPTI's functions are unknown. */
	if (!agent_is_listening() || atomic_load(&hold) == NONE || !may_begin_again()) {
		atomic_store(&left_at, 0);
		return;
	}
	if (!atomic_compare_exchange_strong(&hold, &given, CHANGING)) {
		if (given != CHANGING)
			atomic_store(&left_at, 0);
		return;
	}
	if (!atomic_load(&others)) {
		atomic_store(&left_at, 0);
		own_stack_call(subscribe_again, &ours);
	}
	atomic_store(&hold, ours ? OURS : GIVEN);
}

/* Subscribes now, or leaves it to a later hook: inside a callback this is not possible. */
static void come_back_when_safe(void)
{
	if (is_inside_callback())
		atomic_store(&left_at, mt_clock_ns());
	else
		come_back();
}

void cupti_rest(void)
{
	int ours = OURS, saved = errno;

	if (atomic_load_explicit(&hold, memory_order_relaxed) != OURS)
		return;
	if (!atomic_load(&others) && !is_inside_callback() && atomic_compare_exchange_strong(&hold, &ours, CHANGING)) {
		agent_source(MT_SOURCE_CUPTI, MT_SOURCE_OFF, "the process is paused (memrec start)");
		cupti.unsubscribe(cupti.subscriber);
		atomic_fetch_add(&generation, 1);
		atomic_store(&resting, 1);
		atomic_store(&hold, GIVEN);
	}
	errno = saved;
}

/* The recording begins. No other tool has left, so there is no time to wait. */
static void end_rest(void)
{
	int yes = 1;

	if (atomic_compare_exchange_strong(&resting, &yes, 0))
		atomic_store(&left_at, mt_clock_ns() - WAIT_NS);
}

static __attribute__((noinline)) void look_now(void)
{
	uint64_t since, now;
	int saved = errno;

	if (atomic_load_explicit(&resting, memory_order_relaxed) && !agent_is_paused())
		end_rest();
	since = atomic_load_explicit(&left_at, memory_order_relaxed);
	if (!since && (atomic_load_explicit(&hold, memory_order_relaxed) != OURS || !agent_is_over()))
		return;
	now = mt_clock_ns();
	if (!atomic_load(&others) && now - since >= WAIT_NS) {
		if (is_inside_callback())
			atomic_store(&left_at, now); /* so the next check comes later, not at each call */
		else
			come_back();
	}
	errno = saved;
}

void cupti_look(void)
{
	if (atomic_load_explicit(&resting, memory_order_relaxed) ||
	    atomic_load_explicit(&left_at, memory_order_relaxed) ||
	    atomic_load_explicit(&hold, memory_order_relaxed) == OURS)
		look_now();
}

/* 1: the subscription may be given up: --yield-cupti, or the recording is over. */
static int is_willing(void)
{
	return agent_options()->yield_cupti || !agent_is_listening();
}

void cupti_other_asks(int shares)
{
	atomic_fetch_add(&others, 1);
	wait_for_change();
	if (atomic_load(&hold) == OURS && !(shares && cupti.shares) && is_willing())
		leave("given to another tool (--yield-cupti): driver memory is not recorded meanwhile", 0);
}

void cupti_other_asked(int error, const struct cupti_subscriber *subscriber)
{
	atomic_fetch_sub(&others, 1);
	if (!error) {
		atomic_store(&left_at, 0);
		atomic_store(&other, subscriber);
	} else if (atomic_load(&hold) == GIVEN && !atomic_load(&other)) {
		come_back();
	} else if (atomic_load(&hold) == OURS && cupti_is_taken(error)) {
		agent_source_note(MT_SOURCE_CUPTI,
				  "another tool of the program was refused the CUPTI subscription, which memrec holds "
				  "(--yield-cupti lets it have it, --no-cupti leaves it alone)");
	}
}

void cupti_other_left(const struct cupti_subscriber *subscriber)
{
	if (atomic_load(&other) != subscriber)
		return;
	atomic_store(&other, NULL);
	come_back_when_safe();
}

/* With several subscribers cuptiFinalize does nothing. */
void cupti_other_finalizes(void)
{
	atomic_fetch_add(&others, 1);
	wait_for_change();
	if (cupti.shares && atomic_load(&other))
		return;
	atomic_store(&finalized, 1);
	leave("another tool finalizes CUPTI", is_inside_callback());
}

void cupti_other_finalized(void)
{
	if (!cupti.shares)
		atomic_store(&other, NULL);
	atomic_fetch_sub(&others, 1);
	if (atomic_load(&hold) != GIVEN)
		return;
	if (may_begin_again())
		come_back_when_safe();
	else
		agent_source(MT_SOURCE_CUPTI, MT_SOURCE_OFF,
			     "another tool has ended CUPTI, which in this version must not begin again: driver memory is recorded "
			     "up to there");
}

/* ---- Silence ---- */

static void say_silent(void)
{
	char why[256];
	struct textbuf text;

	textbuf_init(&text, why, sizeof(why));
	textbuf_add(&text,
		    "CUPTI took the subscription and shows no call, while PyTorch has memory of the driver: driver memory "
		    "is not recorded; tried ");
	textbuf_add(&text, cupti.path);
	agent_source(MT_SOURCE_CUPTI, MT_SOURCE_FAILED, why);
}

/* PyTorch's bytes at the last report, and how often it had more with no call in between. */
struct growth {
	uint64_t life; /* recording of the figures below */
	uint64_t reserved;
	uint32_t taken;
	int unseen;
};

void cupti_check_tensor(int device, uint64_t reserved)
{
	static struct growth growths[CONTEXTS_DEVICES];
	static _Atomic int checked;
	struct growth *growth = &growths[device < 0 || device >= CONTEXTS_DEVICES ? 0 : device];
	uint32_t taken = hook_cupti_taken();

	if (growth->life != agent_life()) {
		*growth = (struct growth){ .life = agent_life() };
		if (agent_options()->attached ||
		    agent_options()->paused) /* the process has memory from before the subscription */
			growth->reserved = reserved;
	}
	if (reserved <= growth->reserved || atomic_load_explicit(&hold, memory_order_relaxed) != OURS) {
		growth->reserved = reserved;
		return;
	}
	if (!taken && !atomic_exchange(&checked, 1) && !atomic_load(&interrupted)) {
		atomic_store(&checked, SAID_SILENT);
		say_silent();
	}
	if (taken && atomic_load(&checked) == SAID_SILENT && atomic_exchange(&checked, 1) == SAID_SILENT)
		agent_source(MT_SOURCE_CUPTI, MT_SOURCE_PARTLY, "CUPTI showed no call at first: those are missing");
	growth->unseen = taken == growth->taken && taken ? growth->unseen + 1 : 0;
	growth->reserved = reserved;
	growth->taken = taken;
	if (growth->unseen == UNSEEN_GROWTHS)
		agent_source_note(MT_SOURCE_CUPTI,
				  "PyTorch came to hold more again and again, and CUPTI showed no call: another tool may have "
				  "ended CUPTI (or an allocator of the program hands out what it had before)");
}
