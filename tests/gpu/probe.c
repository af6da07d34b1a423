/*
 * probe.c - what CUPTI shows, whatever the recorder makes of it: the ground truth for the recorder's assumptions.
 *
 *     CUDA_INJECTION64_PATH=probe.so PROBE_CUPTI=libcupti.so.13 PROBE_OUT=FILE PROGRAM
 *
 * One line for each callback of the driver, runtime and state domains and for each context that is made or ends, as
 * it happens, for at most LINES_MAX of them. It shares the declarations of the ABI with the recorder and nothing
 * else. `depth` counts the calls that the thread is inside of: a driver call of depth 1 was made by the runtime call
 * before it.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "../../recorder/agent/cuda/cuda_abi.h"
#include "memtrace/base.h"

#define LINES_MAX 40000

typedef int enable_domain(uint32_t enable, struct cupti_subscriber *subscriber, int domain);

static int out = STDERR_FILENO;
static _Atomic int lines;
static cupti_get_device_id *get_device;
static __thread int depth;

/* A line at once: the program may be killed. */
__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	char line[512];
	va_list list;
	int size;

	va_start(list, format);
	size = vsnprintf(line, sizeof(line), format, list);
	va_end(list);
	if (size >= (int)sizeof(line))
		size = sizeof(line) - 1;
	if (size > 0 && atomic_fetch_add(&lines, 1) < LINES_MAX)
		(void)!write(out, line, (size_t)size);
}

/* "device 0", or "device ? (3)" with CUPTI's error: it is asked inside the callback. */
static const char *device_of(struct cuda_context *context, char text[32])
{
	uint32_t device = 0;
	int error = get_device && context ? get_device(context, &device) : CUPTI_INVALID_PARAMETER;

	if (error)
		snprintf(text, 32, "device ? (%d)", error);
	else
		snprintf(text, 32, "device %u", device);
	return text;
}

static void on_resource(uint32_t id, const struct cupti_resource_data *data)
{
	char device[32];

	if (id == CUPTI_CONTEXT_CREATED || id == CUPTI_CONTEXT_ENDS)
		say("RES pid %d context %s %p %s\n", (int)getpid(), id == CUPTI_CONTEXT_CREATED ? "created" : "ends",
		    (void *)data->context, device_of(data->context, device));
}

/* Called all the time, and not about memory. */
static int is_boring(const char *function)
{
	return !strncmp(function, "cuGetProcAddress", 16) || !strncmp(function, "cuDeviceGetAttribute", 20);
}

static void on_call(const char *what, uint32_t id, const struct cupti_callback_data *data)
{
	char device[32];
	int leaves = data->site == CUPTI_EXIT;

	if (is_boring(data->function))
		return;
	depth -= leaves;
	say("%s %s pid %d tid %ld depth %d id %u %s result %d ctx %p uid %u corr %u %s\n", what,
	    leaves ? "exit" : "enter", (int)getpid(), syscall(SYS_gettid), depth, id, data->function,
	    leaves && data->result ? *(int *)data->result : -1, (void *)data->context, data->context_uid,
	    data->correlation_id, device_of(data->context, device));
	depth += !leaves;
}

static void on_callback(void *user MT_UNUSED, int domain, uint32_t id, const void *data)
{
	switch (domain) {
	case CUPTI_DOMAIN_DRIVER:
		on_call("DRV", id, data);
		break;
	case CUPTI_DOMAIN_RUNTIME:
		on_call("RT", id, data);
		break;
	case CUPTI_DOMAIN_RESOURCE:
		on_resource(id, data);
		break;
	case CUPTI_DOMAIN_STATE:
		say("STATE %u error %d %s\n", id, ((const struct cupti_state_data *)data)->error,
		    ((const struct cupti_state_data *)data)->message);
		break;
	}
}

static void at_exit(void)
{
	say("atexit\n");
}

__attribute__((destructor)) static void at_unload(void)
{
	say("destructor\n");
}

/* The one that is there already, else the one that is named. */
static void *open_cupti(void)
{
	const char *name = getenv("PROBE_CUPTI");
	void *library = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);

	say("pid %d tid %ld libcupti.so.13 was loaded before: %s\n", (int)getpid(), syscall(SYS_gettid),
	    library ? "yes" : "no");
	if (!library)
		library = dlopen(name ? name : "libcupti.so.13", RTLD_NOW);
	if (!library)
		say("%s\n", dlerror());
	return library;
}

static void watch(void *library)
{
	static const int domains[] = { CUPTI_DOMAIN_DRIVER, CUPTI_DOMAIN_RUNTIME, CUPTI_DOMAIN_RESOURCE,
				       CUPTI_DOMAIN_STATE };
	cupti_subscribe *subscribe = (cupti_subscribe *)dlsym(library, "cuptiSubscribe");
	cupti_get_version *get_version = (cupti_get_version *)dlsym(library, "cuptiGetVersion");
	enable_domain *enable = (enable_domain *)dlsym(library, "cuptiEnableDomain");
	struct cupti_subscriber *subscriber = NULL;
	uint32_t version = 0;
	Dl_info info;
	size_t i;
	int error;

	if (!subscribe || !get_version || !enable || !dladdr((void *)subscribe, &info))
		return;
	get_device = (cupti_get_device_id *)dlsym(library, "cuptiGetDeviceId");
	get_version(&version);
	error = subscribe(&subscriber, on_callback, NULL);
	say("%s version %u subscribe %d\n", info.dli_fname, version, error);
	for (i = 0; !error && i < MT_ARRAY_SIZE(domains); i++)
		say("enable domain %d: %d\n", domains[i], enable(1, subscriber, domains[i]));
}

MT_EXPORT cuda_injection InitializeInjection;

int InitializeInjection(void)
{
	const char *path = getenv("PROBE_OUT");
	void *library;

	if (path)
		out = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	library = open_cupti();
	if (library)
		watch(library);
	atexit(at_exit);
	return 1;
}
