/* cupti.c - the stand-in's libcupti.so.13: writes subscriptions into the hub of the stand-in driver. */
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "config.h"
#include "hub.h"
#include "memtrace/base.h"

#define VERSION_13_0 130000u /* one subscriber at a time */
#define VERSION_13_3 130300u /* several subscribers, if all allow it */

/* The driver's hub. Loads the driver if it is not loaded yet, as the real CUPTI does. NULL: no driver. */
static struct standin_hub *hub(void)
{
	static struct standin_hub *_Atomic found;
	void *library;

	if (!found) {
		library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
		if (library)
			found = dlsym(library, HUB_SYMBOL);
	}
	return found;
}

static struct cupti_subscriber *valid(struct cupti_subscriber *subscriber)
{
	struct standin_hub *h = hub();
	unsigned int i;

	for (i = 0; h && i < HUB_SUBSCRIBERS; i++)
		if (subscriber == &h->subscriber[i] && h->subscriber[i].active)
			return subscriber;
	return NULL;
}

/* ---- The log of calls ---- */

static __thread int in_callback;

static const char *own_path(void)
{
	Dl_info info;

	return dladdr((void *)(uintptr_t)hub, &info) ? info.dli_fname : "?";
}

/* Logs a call at once and returns its result. */
static int called(const char *name, int result)
{
	static _Atomic int log_fd;
	char line[4200];
	int size;

	if (!standin_config()->cupti_log)
		return result;
	if (!log_fd)
		log_fd = open(standin_config()->cupti_log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	size = snprintf(line, sizeof(line), "%d %s %d %s%s\n", (int)getpid(), name, result, own_path(),
			in_callback ? " in-callback" : "");
	if (write(log_fd, line, (size_t)size) != size) {
		perror("stand-in GPU: STANDIN_CUPTI_LOG");
		abort();
	}
	return result;
}

static void call_tool(void *user, int domain, uint32_t id, const void *data)
{
	struct cupti_subscriber *slot = user;

	in_callback++;
	slot->tool_callback(slot->tool_user, domain, id, data);
	in_callback--;
}

/* ---- Subscribing ---- */

/* Returns the name of the subscriber that keeps out a new one; NULL: the new one is accepted. */
static const char *holder(const struct standin_hub *h, int v2, int allow_multiple)
{
	unsigned int i;

	if (standin_config()->subscribed)
		return standin_config()->subscribed;
	for (i = 0; i < HUB_SUBSCRIBERS; i++) {
		const struct cupti_subscriber *other = &h->subscriber[i];

		if (!other->active)
			continue;
		if (!standin_config()->v2_subscribers || !v2 || !allow_multiple || !other->v2 || !other->allow_multiple)
			return other->name;
	}
	return NULL;
}

static struct cupti_subscriber *free_slot(struct standin_hub *h)
{
	unsigned int i;

	for (i = 0; i < HUB_SUBSCRIBERS; i++)
		if (!h->subscriber[i].active)
			return &h->subscriber[i];
	return NULL;
}

static void fill(struct cupti_subscriber *slot, cupti_callback callback, void *user, const char *name, int v2,
		 int multiple)
{
	memset((void *)(uintptr_t)slot->enabled, 0, sizeof(slot->enabled));
	memset((void *)(uintptr_t)slot->resource, 0, sizeof(slot->resource));
	memset((void *)(uintptr_t)slot->state, 0, sizeof(slot->state));
	slot->tool_callback = callback;
	slot->tool_user = user;
	slot->callback = call_tool;
	slot->user = slot;
	slot->v2 = v2;
	slot->allow_multiple = multiple;
	snprintf(slot->name, sizeof(slot->name), "CUPTI for %.*s", (int)CUPTI_NAME_MAX, name ? name : "unknown");
	slot->active = 1;
}

static int subscribe(struct cupti_subscriber **out, cupti_callback callback, void *user, int v2,
		     const struct cupti_subscriber_params *params)
{
	int multiple = v2 && params && standin_config()->v2_subscribers && params->allow_multiple;
	struct standin_hub *h = hub();
	struct cupti_subscriber *slot;
	const char *name;
	int result = CUPTI_OK;

	if (!out || !callback)
		return CUPTI_INVALID_PARAMETER;
	if (!h)
		return CUPTI_NOT_INITIALIZED;
	if (!h->has_gpu())
		return CUPTI_UNKNOWN;
	pthread_mutex_lock(&h->lock);
	name = holder(h, v2, multiple);
	slot = free_slot(h);
	if (name || !slot) {
		result = name ? CUPTI_TAKEN : CUPTI_LIMIT_REACHED;
		if (name && params && params->old_name)
			snprintf(params->old_name, params->old_name_bytes, "%s", name);
	} else {
		fill(slot, callback, user, params ? params->name : NULL, v2, multiple);
		*out = slot;
	}
	pthread_mutex_unlock(&h->lock);
	return result;
}

/* Aborts; the real CUPTI crashes sooner or later. */
static void refuse_inside_callback(const char *name)
{
	if (!in_callback)
		return;
	fprintf(stderr, "stand-in GPU: %s inside a callback\n", name);
	abort();
}

MT_EXPORT cupti_subscribe cuptiSubscribe;
int cuptiSubscribe(struct cupti_subscriber **out, cupti_callback callback, void *user)
{
	refuse_inside_callback("cuptiSubscribe");
	return called("cuptiSubscribe", subscribe(out, callback, user, 0, NULL));
}

/* Refuses an unknown struct size, which finds callers that did not ask for the version first. */
MT_EXPORT cupti_subscribe_v2 cuptiSubscribe_v2;
int cuptiSubscribe_v2(struct cupti_subscriber **out, cupti_callback callback, void *user,
		      struct cupti_subscriber_params *params)
{
	size_t bytes = standin_config()->v2_subscribers ? sizeof(*params) : CUPTI_PARAMS_13_0;

	refuse_inside_callback("cuptiSubscribe_v2");
	if (params && params->bytes != bytes)
		return called("cuptiSubscribe_v2", CUPTI_INVALID_PARAMETER);
	return called("cuptiSubscribe_v2", subscribe(out, callback, user, 1, params));
}

MT_EXPORT cupti_unsubscribe cuptiUnsubscribe;
int cuptiUnsubscribe(struct cupti_subscriber *subscriber)
{
	if (!valid(subscriber))
		return called("cuptiUnsubscribe", CUPTI_INVALID_PARAMETER);
	subscriber->active = 0;
	while (standin_config()->unsubscribe_waits && subscriber->inside > (in_callback != 0))
		sched_yield();
	return called("cuptiUnsubscribe", CUPTI_OK);
}

/* Ends the work of each subscriber. With several subscribers it does nothing, as documented. */
MT_EXPORT int cuptiFinalize(void);
int cuptiFinalize(void)
{
	struct standin_hub *h = hub();
	unsigned int i, active = 0;

	for (i = 0; h && i < HUB_SUBSCRIBERS; i++)
		active += h->subscriber[i].active != 0;
	for (i = 0; h && active == 1 && i < HUB_SUBSCRIBERS; i++)
		h->subscriber[i].active = 0;
	return called("cuptiFinalize", CUPTI_OK);
}

/* ---- Enabling ---- */

/* In domains without any event every id is accepted. */
static int known_id(int domain, uint32_t id)
{
	if (domain == CUPTI_DOMAIN_RESOURCE)
		return id && !standin_config()->no_resource;
	if (domain != CUPTI_DOMAIN_DRIVER)
		return 1;
	return id && id < HUB_IDS && id != standin_config()->unknown_id;
}

static int known_domain(int domain)
{
	return domain >= CUPTI_DOMAIN_DRIVER && domain <= CUPTI_DOMAIN_STATE;
}

MT_EXPORT cupti_enable_callback cuptiEnableCallback;
int cuptiEnableCallback(uint32_t enable, struct cupti_subscriber *subscriber, int domain, uint32_t id)
{
	if (!valid(subscriber) || !known_domain(domain))
		return called("cuptiEnableCallback", CUPTI_INVALID_PARAMETER);
	if (!known_id(domain, id))
		return called("cuptiEnableCallback", CUPTI_INVALID_PARAMETER);
	if (domain == CUPTI_DOMAIN_DRIVER)
		subscriber->enabled[id] = enable != 0;
	if (domain == CUPTI_DOMAIN_RESOURCE && id < HUB_RESOURCES)
		subscriber->resource[id] = enable != 0;
	if (domain == CUPTI_DOMAIN_STATE && id < HUB_STATES)
		subscriber->state[id] = enable != 0;
	return called("cuptiEnableCallback", CUPTI_OK);
}

MT_EXPORT int cuptiEnableDomain(uint32_t enable, struct cupti_subscriber *subscriber, int domain);
int cuptiEnableDomain(uint32_t enable, struct cupti_subscriber *subscriber, int domain)
{
	uint32_t id;

	if (!valid(subscriber) || !known_domain(domain))
		return CUPTI_INVALID_PARAMETER;
	for (id = 1; domain == CUPTI_DOMAIN_DRIVER && id < HUB_IDS; id++)
		subscriber->enabled[id] = enable != 0;
	for (id = 1; domain == CUPTI_DOMAIN_RESOURCE && id < HUB_RESOURCES; id++)
		subscriber->resource[id] = enable != 0;
	for (id = 1; domain == CUPTI_DOMAIN_STATE && id < HUB_STATES; id++)
		subscriber->state[id] = enable != 0;
	return CUPTI_OK;
}

MT_EXPORT cupti_get_callback_state cuptiGetCallbackState;
int cuptiGetCallbackState(uint32_t *enabled, struct cupti_subscriber *subscriber, int domain, uint32_t id)
{
	if (!enabled || !valid(subscriber) || !known_domain(domain) || !known_id(domain, id))
		return CUPTI_INVALID_PARAMETER;
	*enabled = domain == CUPTI_DOMAIN_DRIVER && subscriber->enabled[id];
	return CUPTI_OK;
}

/* ---- Questions ---- */

MT_EXPORT cupti_get_version cuptiGetVersion;
int cuptiGetVersion(uint32_t *version)
{
	if (!version)
		return CUPTI_INVALID_PARAMETER;
	*version = standin_config()->v2_subscribers ? VERSION_13_3 : VERSION_13_0;
	if (standin_config()->cupti_version)
		*version = (uint32_t)standin_config()->cupti_version;
	return CUPTI_OK;
}

MT_EXPORT cupti_get_device_id cuptiGetDeviceId;
int cuptiGetDeviceId(struct cuda_context *context, uint32_t *device)
{
	struct standin_hub *h = hub();
	int ordinal;

	if (!h)
		return CUPTI_NOT_INITIALIZED;
	if (!device)
		return CUPTI_INVALID_PARAMETER;
	ordinal = standin_config()->no_device_id ? -1 : h->context_device(context);
	if (ordinal >= 0)
		*device = (uint32_t)ordinal;
	return called("cuptiGetDeviceId", ordinal < 0 ? CUPTI_INVALID_CONTEXT : CUPTI_OK);
}

MT_EXPORT cupti_get_device_id cuptiGetContextId;
int cuptiGetContextId(struct cuda_context *context, uint32_t *id)
{
	struct standin_hub *h = hub();

	if (!h)
		return CUPTI_NOT_INITIALIZED;
	if (!id)
		return CUPTI_INVALID_PARAMETER;
	*id = h->context_uid(context);
	return *id ? CUPTI_OK : CUPTI_INVALID_CONTEXT;
}

MT_EXPORT cupti_get_result_string cuptiGetResultString;
int cuptiGetResultString(int result, const char **text)
{
	if (!text)
		return CUPTI_INVALID_PARAMETER;
	switch (result) {
	case CUPTI_OK:
		*text = "CUPTI_SUCCESS";
		return CUPTI_OK;
	case CUPTI_INVALID_PARAMETER:
		*text = "CUPTI_ERROR_INVALID_PARAMETER";
		return CUPTI_OK;
	case CUPTI_INVALID_CONTEXT:
		*text = "CUPTI_ERROR_INVALID_CONTEXT";
		return CUPTI_OK;
	case CUPTI_LIMIT_REACHED:
		*text = "CUPTI_ERROR_MAX_LIMIT_REACHED";
		return CUPTI_OK;
	case CUPTI_NOT_INITIALIZED:
		*text = "CUPTI_ERROR_NOT_INITIALIZED";
		return CUPTI_OK;
	case CUPTI_TAKEN:
		*text = "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED";
		return CUPTI_OK;
	default:
		return CUPTI_INVALID_PARAMETER;
	}
}
