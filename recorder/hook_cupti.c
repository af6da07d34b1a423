/*
 * hook_cupti.c - what the CUDA driver hands out, through CUPTI's callbacks on exactly the memory entries of
 * driver_entries.h. Loaded late (the driver calls us inside cuInit), found by dlopen, never linked.
 *
 * In a callback nothing of CUDA or CUPTI may be called. What is needed to know (which context lives on which device)
 * is learned by watching.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent.h"
#include "driver_entries.h"
#include "loaded.h"
#include "memtrace/base.h"
#include "textbuf.h"

#define CONTEXTS_MAX 256u
#define ENTRY_MAX 1024u /* ids of driver_entries.h are below */
#define MULTIPLE_SUBSCRIBERS_VERSION 130200u

enum entry_id {
#define ENTRY_ENUM(name, id, class, space) ENTRY_##name = (id),
	CUDA_ENTRY_LIST(ENTRY_ENUM)
#undef ENTRY_ENUM
};

struct entry {
	uint8_t known, class, space; /* enum cuda_class, enum mt_space */
};

static const struct entry entries[ENTRY_MAX] = {
#define ENTRY_ROW(name, id, class, space) [id] = { 1, CUDA_CLASS_##class, MT_SPACE_##space },
	CUDA_ENTRY_LIST(ENTRY_ROW)
#undef ENTRY_ROW
};

static const uint8_t class_enabled[] = {
#define CLASS_ROW(name, enable, meaning) [CUDA_CLASS_##name] = (enable),
	CUDA_CLASS_LIST(CLASS_ROW)
#undef CLASS_ROW
};

/* ---- Which context lives on which device ---- */

static struct {
	_Atomic uintptr_t context; /* 0: free */
	_Atomic int device;
} contexts[CONTEXTS_MAX];

static void context_add(uintptr_t context, int device)
{
	uintptr_t other;
	uint32_t i;

	for (i = 0; i < CONTEXTS_MAX; i++) {
		other = 0;
		if (atomic_load(&contexts[i].context) == context ||
		    atomic_compare_exchange_strong(&contexts[i].context, &other, context)) {
			atomic_store(&contexts[i].device, device + 1);
			return;
		}
	}
}

static void context_remove(uintptr_t context)
{
	uint32_t i;

	for (i = 0; i < CONTEXTS_MAX; i++) {
		if (atomic_load(&contexts[i].context) != context)
			continue;
		atomic_store(&contexts[i].device, 0);
		atomic_store(&contexts[i].context, 0);
	}
}

/* The ordinal, or -1. `device` is kept plus 1, so that an entry half written says "unknown". */
static int context_device(const void *context)
{
	uint32_t i;

	for (i = 0; context && i < CONTEXTS_MAX; i++)
		if (atomic_load(&contexts[i].context) == (uintptr_t)context)
			return atomic_load(&contexts[i].device) - 1;
	return -1;
}

/* ---- One call ---- */

struct call {
	uint32_t id;
	struct entry entry;
	const struct cupti_callback_data *data;
	int entered;	    /* 1: at ENTER, 0: at EXIT */
	cuda_result result; /* at EXIT */
	struct ring_event event;
};

static int is_host_space(uint32_t space)
{
	return space == MT_SPACE_PINNED || space == MT_SPACE_HOST;
}

static void set_device(struct call *call, int device)
{
	call->event.device_type = MT_DEVICE_CUDA;
	call->event.device_index = device;
}

static void send(struct call *call, enum mt_kind kind)
{
	call->event.kind = (uint8_t)kind;
	agent_memory(&call->event, kind == MT_DRIVER_KEEP ? STACK_NONE : STACK_DRIVER);
}

/* An allocation of `size` bytes came back; `out` is where the driver put the address if it succeeded. */
static void allocated(struct call *call, const void *out, uint64_t size)
{
	call->event.size = size;
	call->event.entry = call->id;
	if (!is_host_space(call->entry.space))
		set_device(call, context_device(call->data->context));
	if (call->result) {
		call->event.result = (uint32_t)call->result;
		send(call, MT_DRIVER_FAIL);
		return;
	}
	memcpy(&call->event.addr, out, sizeof(call->event.addr));
	call->event.flags = call->entry.space;
	if (call->event.addr)
		send(call, MT_DRIVER_ALLOC);
}

static void on_ALLOC(struct call *call)
{
	const struct args_cuMemAlloc_v2 *args = call->data->params;

	if (!call->entered)
		allocated(call, args->dptr, args->bytesize);
}

static void on_PITCH(struct call *call)
{
	const struct args_cuMemAllocPitch_v2 *args = call->data->params;

	if (!call->entered)
		allocated(call, args->dptr, (call->result ? args->WidthInBytes : *args->pPitch) * args->Height);
}

static void on_REGISTER(struct call *call)
{
	const struct args_cuMemHostRegister_v2 *args = call->data->params;

	if (!call->entered)
		allocated(call, &args->p, args->bytesize);
}

/* A free counts from the moment it is asked for; when it fails, it is taken back. */
static void freed(struct call *call, enum mt_kind kind)
{
	call->event.entry = call->id;
	if (call->entered) {
		send(call, kind);
	} else if (call->result) {
		call->event.addr |= call->event.handle;
		call->event.handle = 0;
		call->event.result = (uint32_t)call->result;
		send(call, MT_DRIVER_KEEP);
	}
}

static void on_FREE(struct call *call)
{
	const struct args_cuMemFree_v2 *args = call->data->params;

	call->event.addr = args->dptr;
	if (args->dptr)
		freed(call, MT_DRIVER_FREE);
}

static void on_RELEASE(struct call *call)
{
	const struct args_cuMemRelease *args = call->data->params;

	call->event.handle = args->handle;
	freed(call, MT_VMM_RELEASE);
}

static void on_RESERVE(struct call *call)
{
	const struct args_cuMemAddressReserve *args = call->data->params;

	if (call->entered || call->result)
		return;
	call->event.addr = *args->ptr;
	call->event.size = args->size;
	send(call, MT_VMM_RESERVE);
}

static void on_UNRESERVE(struct call *call)
{
	const struct args_cuMemAddressFree *args = call->data->params;

	if (!call->entered)
		return;
	call->event.addr = args->ptr;
	call->event.size = args->size;
	send(call, MT_VMM_UNRESERVE);
}

static void on_CREATE(struct call *call)
{
	const struct args_cuMemCreate *args = call->data->params;

	if (call->entered || !args->prop)
		return;
	call->event.size = args->size;
	call->event.entry = call->id;
	call->event.flags = MT_SPACE_PINNED;
	if (args->prop->location.type == CUDA_LOCATION_DEVICE) {
		call->event.flags = MT_SPACE_DEVICE;
		set_device(call, args->prop->location.id);
	}
	if (call->result) {
		call->event.flags = 0;
		call->event.result = (uint32_t)call->result;
		send(call, MT_DRIVER_FAIL);
		return;
	}
	call->event.handle = *args->handle;
	send(call, MT_VMM_CREATE);
}

static void on_RETAIN(struct call *call)
{
	const struct args_cuMemRetainAllocationHandle *args = call->data->params;

	if (call->entered || call->result)
		return;
	call->event.handle = *args->handle;
	call->event.addr = (uint64_t)(uintptr_t)args->addr;
	send(call, MT_VMM_RETAIN);
}

/* Its bytes are the exporter's; how many is not said. */
static void on_IMPORT(struct call *call)
{
	const struct args_cuMemImportFromShareableHandle *args = call->data->params;

	if (call->entered || call->result)
		return;
	call->event.handle = *args->handle;
	call->event.entry = call->id;
	call->event.flags = MT_SPACE_IMPORTED;
	send(call, MT_VMM_CREATE);
}

static void on_MAP(struct call *call)
{
	const struct args_cuMemMap *args = call->data->params;

	if (call->entered || call->result)
		return;
	call->event.addr = args->ptr;
	call->event.size = args->size;
	call->event.offset = args->offset;
	call->event.handle = args->handle;
	send(call, MT_VMM_MAP);
}

/* When done, not when asked for: nobody else can get the range, and there is no taking back. */
static void on_UNMAP(struct call *call)
{
	const struct args_cuMemUnmap *args = call->data->params;

	if (call->entered || call->result)
		return;
	call->event.addr = args->ptr;
	call->event.size = args->size;
	send(call, MT_VMM_UNMAP);
}

static int device_of_context_call(uint32_t id, const void *params)
{
	switch (id) {
	case ENTRY_cuDevicePrimaryCtxRetain:
		return ((const struct args_cuDevicePrimaryCtxRetain *)params)->dev;
	case ENTRY_cuCtxCreate_v2:
		return ((const struct args_cuCtxCreate_v2 *)params)->dev;
	case ENTRY_cuCtxCreate_v3:
		return ((const struct args_cuCtxCreate_v3 *)params)->dev;
	case ENTRY_cuCtxCreate_v4:
		return ((const struct args_cuCtxCreate_v4 *)params)->dev;
	default:
		return -1;
	}
}

static void on_CONTEXT(struct call *call)
{
	const struct args_cuCtxCreate_v2 *args = call->data->params;

	if (!call->entered && !call->result && args->pctx)
		context_add((uintptr_t)*args->pctx, device_of_context_call(call->id, args));
}

static void on_CONTEXT_DESTROY(struct call *call)
{
	const struct args_cuCtxDestroy_v2 *args = call->data->params;

	if (!call->entered && !call->result)
		context_remove((uintptr_t)args->ctx);
}

/* The next three say nothing about bytes. */
static void on_CONTEXT_DROP(struct call *call MT_UNUSED)
{
}

static void on_EXPORT(struct call *call MT_UNUSED)
{
}

static void on_ACCESS(struct call *call MT_UNUSED)
{
}

static void (*const decode[])(struct call *call) = {
#define CLASS_DECODE(name, enable, meaning) [CUDA_CLASS_##name] = on_##name,
	CUDA_CLASS_LIST(CLASS_DECODE)
#undef CLASS_DECODE
};

static void on_callback(void *user MT_UNUSED, int domain, uint32_t id, const void *data)
{
	struct call call = { .id = id, .data = data, .event = { .device_type = -1, .device_index = -1 } };

	if (domain != CUPTI_DOMAIN_DRIVER || id >= ENTRY_MAX || !entries[id].known || !call.data->params)
		return;
	call.entry = entries[id];
	call.entered = call.data->site == CUPTI_ENTER;
	if (!call.entered && call.data->result)
		call.result = *(const cuda_result *)call.data->result;
	decode[call.entry.class](&call);
}

/* ---- Subscription ---- */

/* What we need of libcupti. */
struct cupti {
	cupti_get_version *get_version;
	cupti_subscribe *subscribe;
	cupti_subscribe_v2 *subscribe_v2; /* since 13.0 */
	cupti_enable_callback *enable;
	struct cupti_subscriber *subscriber;
};

static void *open_beside(const char *loaded, const char *relative)
{
	char path[PATH_MAX], beside[PATH_MAX];
	struct textbuf text;
	char *slash;

	if (!loaded_path(loaded, path, sizeof(path)))
		return NULL;
	slash = strrchr(path, '/');
	if (!slash)
		return NULL;
	*slash = '\0';
	textbuf_init(&text, beside, sizeof(beside));
	textbuf_add(&text, path);
	textbuf_add(&text, relative);
	return text.cut ? NULL : dlopen(beside, RTLD_NOW | RTLD_LOCAL);
}

static void *open_toolkit(void)
{
	const char *home = getenv("CUDA_HOME");
	char path[PATH_MAX];
	struct textbuf text;

	if (!home || !*home)
		return NULL;
	textbuf_init(&text, path, sizeof(path));
	textbuf_add(&text, home);
	textbuf_add(&text, "/extras/CUPTI/lib64/libcupti.so");
	return text.cut ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/*
 * The one that is loaded already, under whatever name: a second copy would be a second client of the driver. Else
 * where the loader looks, beside the runtime of a Python wheel, in the toolkit.
 */
static void *open_cupti(void)
{
	static const char *const names[] = { "libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8" };
	static const char *const beside[] = { "/../../cuda_cupti/lib/libcupti.so.13",
					      "/../../cuda_cupti/lib/libcupti.so.12" };
	char path[PATH_MAX];
	void *library = NULL;
	size_t i;

	if (loaded_path("libcupti", path, sizeof(path)))
		library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
	for (i = 0; i < MT_ARRAY_SIZE(names) && !library; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	for (i = 0; i < MT_ARRAY_SIZE(beside) && !library; i++)
		library = open_beside("libcudart.so", beside[i]);
	return library ? library : open_toolkit();
}

static int resolve(struct cupti *cupti, void *library)
{
	cupti->get_version = (cupti_get_version *)dlsym(library, "cuptiGetVersion");
	cupti->subscribe = (cupti_subscribe *)dlsym(library, "cuptiSubscribe");
	cupti->subscribe_v2 = (cupti_subscribe_v2 *)dlsym(library, "cuptiSubscribe_v2");
	cupti->enable = (cupti_enable_callback *)dlsym(library, "cuptiEnableCallback");
	return cupti->get_version && cupti->subscribe && cupti->enable;
}

static int is_taken(int error)
{
	return error == CUPTI_TAKEN || error == CUPTI_LIMIT_REACHED;
}

/* CUPTI's result; when the subscription is taken, `holder` is by whom, if CUPTI tells. */
static int subscribe(struct cupti *cupti, char holder[CUPTI_OLD_NAME_BYTES])
{
	struct cupti_subscriber_params params = { CUPTI_PARAMS_13_0, "memrec", holder, CUPTI_OLD_NAME_BYTES };
	uint32_t version = 0;
	int error = CUPTI_UNKNOWN;

	if (cupti->subscribe_v2 && !cupti->get_version(&version)) {
		if (version >= MULTIPLE_SUBSCRIBERS_VERSION) {
			params.bytes = sizeof(params);
			params.allow_multiple = 1;
		}
		error = cupti->subscribe_v2(&cupti->subscriber, on_callback, NULL, &params);
	}
	if (error && !is_taken(error))
		error = cupti->subscribe(&cupti->subscriber, on_callback, NULL);
	holder[CUPTI_OLD_NAME_BYTES - 1] = '\0';
	return error;
}

/* Entries this CUPTI does not know are refused, and do not happen. 1: at least one was taken. */
static int enable_entries(const struct cupti *cupti)
{
	uint32_t id;
	int enabled = 0;

	for (id = 0; id < ENTRY_MAX; id++)
		if (entries[id].known && class_enabled[entries[id].class])
			enabled |= !cupti->enable(1, cupti->subscriber, CUPTI_DOMAIN_DRIVER, id);
	return enabled;
}

static void report_refusal(int error, const char *holder)
{
	char why[256];
	struct textbuf text;

	textbuf_init(&text, why, sizeof(why));
	if (is_taken(error)) {
		textbuf_add(&text, "another tool holds the CUPTI subscription");
		if (*holder) {
			textbuf_add(&text, " (");
			textbuf_add(&text, holder);
			textbuf_add(&text, ")");
		}
	} else {
		textbuf_add(&text, "CUPTI refused the subscription with error ");
		textbuf_add_number(&text, (uint64_t)error);
	}
	textbuf_add(&text, ": driver memory is not recorded");
	agent_source(MT_SOURCE_CUPTI, MT_SOURCE_FAILED, why);
}

static void start_cupti(void)
{
	char holder[CUPTI_OLD_NAME_BYTES] = "";
	struct cupti cupti = { 0 };
	void *library;
	int error;

	if (agent_options()->no_cupti) {
		agent_source(MT_SOURCE_CUPTI, MT_SOURCE_OFF, "not asked for (--no-cupti)");
		return;
	}
	library = open_cupti();
	if (!library || !resolve(&cupti, library)) {
		agent_source(MT_SOURCE_CUPTI, MT_SOURCE_FAILED,
			     "libcupti was not found: driver memory is not recorded (set CUDA_HOME)");
		return;
	}
	error = subscribe(&cupti, holder);
	if (error)
		report_refusal(error, holder);
	else if (enable_entries(&cupti))
		agent_source(MT_SOURCE_CUPTI, MT_SOURCE_ON, "");
	else
		agent_source(MT_SOURCE_CUPTI, MT_SOURCE_FAILED,
			     "CUPTI enables no callback: driver memory is not recorded");
}

/* ---- Doors ---- */

/* Loaded by the driver alone, after PyTorch: its calls are bound to its own functions already. */
static void check_preload(void)
{
	static const char symbol[] = "_ZN3c1022memoryProfilingEnabledEv";

	if (loaded_find(symbol) && !loaded_is_first(symbol))
		agent_source(MT_SOURCE_TENSORS_CUDA, MT_SOURCE_FAILED,
			     "memrec is not in LD_PRELOAD: tensors are not recorded, driver memory is "
			     "(start the program under memrec, or set LD_PRELOAD too)");
}

/* 1: `path` is the file that we were loaded from, by whatever name. */
static int is_own_path(const char *path)
{
	struct stat theirs, ours;
	char own[PATH_MAX];

	return loaded_own_path(own, sizeof(own)) && !stat(path, &theirs) && !stat(own, &ours) &&
	       theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
}

/* When the driver has called us, it is known already how CUPTI is doing. "none" is how CUDA tools write "nothing". */
void agent_check_injection(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	char why[256];
	struct textbuf text;

	if (agent_options()->no_cupti || agent_has_source(MT_SOURCE_CUPTI))
		return;
	if (!path || !*path || !strcmp(path, "none") || is_own_path(path))
		return;
	textbuf_init(&text, why, sizeof(why));
	textbuf_add(&text, "another tool has CUDA_INJECTION64_PATH (");
	textbuf_add(&text, path);
	textbuf_add(&text, "): driver memory is not recorded");
	agent_source(MT_SOURCE_CUPTI, MT_SOURCE_FAILED, why);
}

MT_EXPORT int InitializeInjection(void);

/* The driver calls this inside cuInit, wherever the library was loaded from before. 1: fine. */
int InitializeInjection(void)
{
	static _Atomic int started_in; /* pid */
	int pid = (int)getpid();

	agent_cuda_started();
	if (!agent_options() || atomic_exchange(&started_in, pid) == pid)
		return 1;
	check_preload();
	start_cupti();
	return 1;
}
