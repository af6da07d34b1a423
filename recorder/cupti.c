/*
 * cupti.c - takes the one subscription, enables the callbacks, gives it away and takes it back. libcupti is loaded late
 * (the driver calls us inside cuInit), found by dlopen, never linked. We never call cuptiFinalize: it would end every
 * other tool's work, too. Nothing is called when the program ends: the driver may be gone by then.
 */
#include "cupti.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include "agent.h"
#include "cuda_abi.h"
#include "cupti_find.h"
#include "hook_cupti.h"
#include "late.h"
#include "memtrace/base.h"
#include "textbuf.h"

#define LONG_PARAMS_VERSION 130200u /* from here on CUPTI knows all of struct cupti_subscriber_params */
#define SEVERAL_VERSION 130300u	    /* from here on several tools may subscribe, if all of them say so */

/* What we need of libcupti. */
struct cupti {
	cupti_get_version *get_version;
	cupti_subscribe *subscribe;
	cupti_subscribe_v2 *subscribe_v2; /* since 13.0 */
	cupti_unsubscribe *unsubscribe;
	cupti_enable_callback *enable;
	struct cupti_subscriber *subscriber;
	int shares; /* the subscription bears others */
};

/* CHANGING: a thread is at it; others let it be. */
enum hold { NONE, OURS, CHANGING, GIVEN };

static _Atomic int hold;
static struct cupti cupti; /* changed by whoever has made `hold` CHANGING */
static const struct cupti_subscriber *_Atomic other; /* who subscribed last and has not left; NULL: not seen */

/* What came of trying. */
struct attempt {
	int found; /* a libcupti that has what we need */
	int ours;
	int error; /* of CUPTI, the last one */
	char holder[CUPTI_OLD_NAME_BYTES];
};

static int is_taken(int error)
{
	return error == CUPTI_TAKEN || error == CUPTI_LIMIT_REACHED;
}

static int resolve(void *library)
{
	cupti.get_version = (cupti_get_version *)dlsym(library, "cuptiGetVersion");
	cupti.subscribe = (cupti_subscribe *)dlsym(library, "cuptiSubscribe");
	cupti.subscribe_v2 = (cupti_subscribe_v2 *)dlsym(library, "cuptiSubscribe_v2");
	cupti.unsubscribe = (cupti_unsubscribe *)dlsym(library, "cuptiUnsubscribe");
	cupti.enable = (cupti_enable_callback *)dlsym(library, "cuptiEnableCallback");
	return cupti.get_version && cupti.subscribe && cupti.unsubscribe && cupti.enable;
}

/* No place but this is reached by the driver for us alone: what was loaded meanwhile is looked at here. */
static void on_callback(void *user, int domain, uint32_t id, const void *data)
{
	late_look();
	hook_cupti_callback(user, domain, id, data);
}

static int subscribe_v2(uint32_t version, int several, char *holder)
{
	struct cupti_subscriber_params params = { CUPTI_PARAMS_13_0, "memrec", holder, CUPTI_OLD_NAME_BYTES };
	int error;

	if (version >= LONG_PARAMS_VERSION)
		params.bytes = sizeof(params);
	params.allow_multiple = (uint8_t)several;
	error = cupti.subscribe_v2(&cupti.subscriber, on_callback, NULL, &params);
	holder[CUPTI_OLD_NAME_BYTES - 1] = '\0';
	cupti.shares = !error && several;
	return error;
}

/*
 * As one of several where library and driver allow it, else with the oldest call, which every other tool's subscription
 * is told apart by. The newer one knows who holds it: asked once more, it is refused again, and says the name.
 */
static int subscribe(char *holder)
{
	uint32_t version = 0;
	int error = CUPTI_UNKNOWN;

	cupti.shares = 0;
	holder[0] = '\0';
	if (cupti.get_version(&version))
		version = 0;
	if (cupti.subscribe_v2 && version >= SEVERAL_VERSION)
		error = subscribe_v2(version, 1, holder);
	if (error && !is_taken(error))
		error = cupti.subscribe(&cupti.subscriber, on_callback, NULL);
	if (is_taken(error) && cupti.subscribe_v2 && !holder[0])
		error = subscribe_v2(version, 0, holder);
	return error;
}

/* Entries this CUPTI does not know are refused, and do not happen. 1: at least one was taken. */
static int enable_entries(void)
{
	uint32_t id;
	int enabled = 0;

	for (id = 0; id < HOOK_CUPTI_IDS; id++)
		if (hook_cupti_wants(id))
			enabled |= !cupti.enable(1, cupti.subscriber, CUPTI_DOMAIN_DRIVER, id);
	return enabled;
}

static void report_refusal(const struct attempt *attempt)
{
	char why[256];
	struct textbuf text;

	textbuf_init(&text, why, sizeof(why));
	if (!attempt->found) {
		textbuf_add(&text, "libcupti was not found: driver memory is not recorded (set CUDA_HOME)");
	} else if (is_taken(attempt->error)) {
		textbuf_add(&text, "another tool holds the CUPTI subscription");
		if (attempt->holder[0]) {
			textbuf_add(&text, " (");
			textbuf_add(&text, attempt->holder);
			textbuf_add(&text, ")");
		}
		textbuf_add(&text, ": driver memory is not recorded");
	} else if (!attempt->error) {
		textbuf_add(&text, "CUPTI enables no callback: driver memory is not recorded");
	} else {
		textbuf_add(&text, "CUPTI refused the subscription with error ");
		textbuf_add_number(&text, (uint64_t)attempt->error);
		textbuf_add(&text, ": driver memory is not recorded");
	}
	agent_source(MT_SOURCE_CUPTI, MT_SOURCE_FAILED, why);
}

/* With the library that is resolved. */
static void take(struct attempt *attempt)
{
	attempt->error = subscribe(attempt->holder);
	if (attempt->error)
		return;
	attempt->ours = enable_entries();
	if (!attempt->ours)
		cupti.unsubscribe(cupti.subscriber);
}

static void report(const struct attempt *attempt)
{
	if (attempt->ours)
		agent_source(MT_SOURCE_CUPTI, MT_SOURCE_ON, "");
	else
		report_refusal(attempt);
}

/* One libcupti of several that there may be. The subscription is one, whichever of them holds it. */
static int try_library(void *context, void *library)
{
	struct attempt *attempt = context;

	if (!resolve(library))
		return 0;
	attempt->found = 1;
	take(attempt);
	return attempt->ours || is_taken(attempt->error);
}

void cupti_start(void)
{
	struct attempt attempt = { .found = 0 };
	int none = NONE, waits;

	if (agent_options()->no_cupti) {
		agent_source(MT_SOURCE_CUPTI, MT_SOURCE_OFF, "not asked for (--no-cupti)");
		return;
	}
	if (!atomic_compare_exchange_strong(&hold, &none, CHANGING))
		return;
	hook_cupti_start();
	cupti_find(try_library, &attempt);
	report(&attempt);
	waits = is_taken(attempt.error) && agent_options()->yield_cupti;
	atomic_store(&hold, attempt.ours ? OURS : waits ? GIVEN : NONE);
}

/* ---- Others ---- */

static void leave(const char *why)
{
	int ours = OURS;

	if (!atomic_compare_exchange_strong(&hold, &ours, CHANGING))
		return;
	agent_source(MT_SOURCE_CUPTI, MT_SOURCE_OFF, why);
	cupti.unsubscribe(cupti.subscriber);
	atomic_store(&hold, GIVEN);
}

static void come_back(void)
{
	struct attempt attempt = { .found = 1 };
	int given = GIVEN;

	if (!agent_is_listening() || !atomic_compare_exchange_strong(&hold, &given, CHANGING))
		return;
	hook_cupti_missed();
	take(&attempt);
	report(&attempt);
	atomic_store(&hold, attempt.ours ? OURS : GIVEN);
}

/* A recording that is over needs no subscription. */
static int is_willing(void)
{
	return agent_options()->yield_cupti || !agent_is_listening();
}

void cupti_other_asks(int shares)
{
	if (atomic_load(&hold) == OURS && !(shares && cupti.shares) && is_willing())
		leave("given to another tool (--yield-cupti): driver memory is not recorded meanwhile");
}

void cupti_other_asked(int error, const struct cupti_subscriber *subscriber)
{
	if (!error)
		atomic_store(&other, subscriber);
	else if (atomic_load(&hold) == GIVEN && !atomic_load(&other))
		come_back();
	else if (atomic_load(&hold) == OURS && is_taken(error))
		agent_source_note(MT_SOURCE_CUPTI,
				  "another tool of the program was refused the CUPTI subscription, which memrec holds "
				  "(--yield-cupti lets it have it, --no-cupti leaves it alone)");
}

void cupti_other_left(const struct cupti_subscriber *subscriber)
{
	if (atomic_load(&other) != subscriber)
		return;
	atomic_store(&other, NULL);
	come_back();
}

void cupti_other_finalizes(void)
{
	leave("another tool finalizes CUPTI");
}

void cupti_other_finalized(void)
{
	atomic_store(&other, NULL);
	come_back();
}
