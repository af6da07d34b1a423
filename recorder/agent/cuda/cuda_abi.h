/*
 * cuda_abi.h - the part of NVIDIA's binary interfaces that memrec uses, declared by hand with own names. So the build
 * needs no CUDA toolkit, and one binary works with CUDA 11, 12 and 13.
 *
 * Layouts and numbers are from the public headers of CUDA 11.8 to 13.5 (cuda.h, cupti_callbacks.h, cupti_result.h).
 * tests/abi compares each with the headers of an installed toolkit and of NVIDIA's wheels. Nothing is linked: functions
 * are found by dlsym and called through the types below.
 */
#ifndef MEMREC_CUDA_ABI_H
#define MEMREC_CUDA_ABI_H

#include <stddef.h>
#include <stdint.h>

/* ---- Driver: cuda.h ---- */

typedef uint64_t cuda_address; /* CUdeviceptr */
typedef uint64_t cuda_handle;  /* CUmemGenericAllocationHandle */
typedef int cuda_device;       /* CUdevice: the ordinal in the process */
typedef int cuda_result;       /* CUresult */

struct cuda_context; /* CUcontext is a pointer to this; the others likewise */
struct cuda_green;   /* CUgreenCtx */
struct cuda_stream;
struct cuda_pool;
struct cuda_array;    /* CUarray */
struct cuda_mipmap;   /* CUmipmappedArray */
struct cuda_external; /* CUexternalMemory */
struct cuda_graph;
struct cuda_node; /* CUgraphNode */
struct cuda_exec; /* CUgraphExec */
struct cuda_module;
struct cuda_function;
struct cuda_library;
struct cuda_kernel;
struct cuda_notification; /* CUasyncCallbackHandle */

enum {
	CUDA_OK = 0,
	CUDA_INVALID_VALUE = 1,
	CUDA_OUT_OF_MEMORY = 2,
	CUDA_NOT_INITIALIZED = 3,
	CUDA_NO_DEVICE = 100,
	CUDA_INVALID_DEVICE = 101,
	CUDA_INVALID_CONTEXT = 201,
	CUDA_ALREADY_REGISTERED = 712,
	CUDA_NOT_REGISTERED = 713,
	CUDA_INVALID_HANDLE = 400,
	CUDA_NOT_FOUND = 500,
	CUDA_NOT_SUPPORTED = 801,
	CUDA_CAPTURE_WRONG_THREAD = 908,
	CUDA_UNKNOWN = 999,
};

/*
 * CUmemLocation: the place of physical memory. `id` has a meaning for DEVICE (ordinal), NUMA (node) and LOCALITY (since
 * 13.4, a part of a device; the low byte is the ordinal).
 */
enum {
	CUDA_LOCATION_DEVICE = 1,
	CUDA_LOCATION_HOST = 2,
	CUDA_LOCATION_NUMA = 3,
	CUDA_LOCATION_NUMA_CURRENT = 4,
	CUDA_LOCATION_LOCALITY = 6,
};

struct cuda_location {
	int type;
	int id;
};

enum { CUDA_MEMORY_PINNED = 1, CUDA_MEMORY_MANAGED = 2 };                        /* CUmemAllocationType */
enum { CUDA_EXPORT_NONE = 0, CUDA_EXPORT_POSIX_FD = 1 };                         /* CUmemAllocationHandleType */
enum { CUDA_ACCESS_NONE = 0, CUDA_ACCESS_READ = 1, CUDA_ACCESS_READ_WRITE = 3 }; /* CUmemAccess_flags */
enum { CUDA_GRANULARITY_MINIMUM = 0, CUDA_GRANULARITY_RECOMMENDED = 1 };

struct cuda_memory_props { /* CUmemAllocationProp */
	int type;
	int export_types; /* requestedHandleTypes */
	struct cuda_location location;
	void *win32;
	unsigned char compression, rdma;
	unsigned short usage;
	unsigned char reserved[4];
};

struct cuda_access { /* CUmemAccessDesc */
	struct cuda_location location;
	int flags;
};

struct cuda_pool_props { /* CUmemPoolProps */
	int type;
	int export_types;
	struct cuda_location location;
	void *win32;
	size_t max_size; /* bytes, 0: up to the system */
	unsigned short usage;
	unsigned char reserved[54];
};

enum { /* CUmemPool_attribute; the value is a uint64_t, bytes */
       CUDA_POOL_RELEASE_THRESHOLD = 4,
       CUDA_POOL_RESERVED_NOW = 5,
       CUDA_POOL_RESERVED_HIGH = 6,
       CUDA_POOL_USED_NOW = 7,
       CUDA_POOL_USED_HIGH = 8,
       CUDA_POOL_MAX_SIZE = 13, /* since a toolkit between 13.1 and 13.5 */
};

enum { /* CUdevice_attribute */
       CUDA_DEVICE_PROCESSORS = 16,
       CUDA_DEVICE_UNIFIED_ADDRESSING = 41,
       CUDA_DEVICE_MAJOR = 75,
       CUDA_DEVICE_MINOR = 76,
       CUDA_DEVICE_MANAGED = 83,
       CUDA_DEVICE_VMM = 102,
       CUDA_DEVICE_POOLS = 115,
};

struct cuda_uuid { /* CUuuid */
	unsigned char bytes[16];
};

struct cuda_pool_pointer { /* CUmemPoolPtrExportData */
	unsigned char bytes[64];
};

struct cuda_ipc_handle { /* CUipcMemHandle; passed by value */
	char bytes[64];
};

struct cuda_multicast_props { /* CUmulticastObjectProp, since 12.1 */
	unsigned int devices;
	size_t size;
	unsigned long long export_types, flags;
};

struct cuda_endpoint_props { /* CUlogicalEndpointProp, since 13.3 */
	int type;
	int device; /* device; of a multicast object: number of devices */
	unsigned long long size;
	unsigned int export_types, flags;
};

/* ---- Driver: arrays ---- */

struct cuda_array_desc {      /* CUDA_ARRAY_DESCRIPTOR */
	size_t width, height; /* elements; height 0: one row */
	int format;
	unsigned int channels;
};

struct cuda_array3d_desc {           /* CUDA_ARRAY3D_DESCRIPTOR */
	size_t width, height, depth; /* layered: depth is the number of layers; cubemap: 6 times that */
	int format;
	unsigned int channels, flags;
};

enum { /* CUDA_ARRAY3D_* */
       CUDA_ARRAY_LAYERED = 0x01,
       CUDA_ARRAY_CUBEMAP = 0x04,
       CUDA_ARRAY_SPARSE = 0x40,
       CUDA_ARRAY_DEFERRED = 0x80,
};

/* ---- Driver: memory of other APIs ---- */

struct cuda_external_desc { /* CUDA_EXTERNAL_MEMORY_HANDLE_DESC */
	int type;
	union {
		int fd;
		struct {
			void *handle;
			const void *name;
		} win32;
	} handle;
	unsigned long long size;
	unsigned int flags, reserved[16];
};

enum { CUDA_EXTERNAL_OPAQUE_FD = 1 }; /* CUexternalMemoryHandleType */

struct cuda_external_buffer { /* CUDA_EXTERNAL_MEMORY_BUFFER_DESC */
	unsigned long long offset, size;
	unsigned int flags, reserved[16];
};

struct cuda_external_mipmap { /* CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC */
	unsigned long long offset;
	struct cuda_array3d_desc desc;
	unsigned int levels, reserved[16];
};

/* ---- Driver: graphs ---- */

enum { CUDA_NODE_GRAPH = 4, CUDA_NODE_ALLOC = 10, CUDA_NODE_FREE = 11 }; /* CUgraphNodeType */

struct cuda_alloc_node { /* CUDA_MEM_ALLOC_NODE_PARAMS, _v1 and _v2 */
	struct cuda_pool_props pool;
	const struct cuda_access *access;
	size_t access_count;
	size_t bytes;
	cuda_address address; /* out */
};

struct cuda_child_node { /* CUDA_CHILD_GRAPH_NODE_PARAMS */
	struct cuda_graph *graph;
	int ownership; /* since 12.9; CUDA_CHILD_MOVED: the parent now owns it, with its memory nodes */
};

enum { CUDA_CHILD_MOVED = 1 };

struct cuda_node_params { /* CUgraphNodeParams, since 12.2 */
	int type, reserved[3];
	union {
		struct cuda_alloc_node alloc;
		struct cuda_child_node child;
		struct {
			cuda_address address;
		} free; /* CUDA_MEM_FREE_NODE_PARAMS */
		char bytes[232];
	} node;
	long long reserved2;
};

struct cuda_instantiate_params { /* CUDA_GRAPH_INSTANTIATE_PARAMS, since 12.0 */
	uint64_t flags;
	struct cuda_stream *upload_stream;
	struct cuda_node *error_node; /* out, as is the next */
	int result;
};

enum { CUDA_INSTANTIATE_AUTO_FREE = 1, CUDA_INSTANTIATE_UPLOAD = 2 }; /* CUgraphInstantiate_flags */

enum { /* CUgraphMem_attribute; the value is a uint64_t, bytes */
       CUDA_GRAPH_USED_NOW = 0,
       CUDA_GRAPH_USED_HIGH = 1,
       CUDA_GRAPH_RESERVED_NOW = 2,
       CUDA_GRAPH_RESERVED_HIGH = 3,
};

#define CUDA_STREAM_PER_THREAD ((struct cuda_stream *)2) /* CU_STREAM_PER_THREAD: a stream of each thread */

/* ---- CUPTI callbacks: cupti_callbacks.h, cupti_result.h ---- */

struct cupti_subscriber; /* CUpti_SubscriberHandle is a pointer to it */

enum {
	CUPTI_OK = 0,
	CUPTI_INVALID_PARAMETER = 1,
	CUPTI_INVALID_CONTEXT = 3,
	CUPTI_LIMIT_REACHED = 12, /* the answer of CUDA 11.0 and older to a second subscriber */
	CUPTI_NOT_INITIALIZED = 15,
	CUPTI_VIRTUALIZED = 33,
	CUPTI_NO_PRIVILEGES = 35,
	CUPTI_TAKEN = 39, /* MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED: another tool holds the subscription */
	CUPTI_VIRTUALIZED_NO_PRIVILEGES = 40,
	CUPTI_CONFIDENTIAL = 41,
	CUPTI_CMP = 42, /* a card for mining */
	CUPTI_MIG = 43, /* since 13.0 or a little before, as are the next */
	CUPTI_SLI = 44,
	CUPTI_WSL = 45,
	CUPTI_UNKNOWN = 999,
};

enum { CUPTI_ENTER = 0, CUPTI_EXIT = 1 };

enum {
	CUPTI_DOMAIN_DRIVER = 1,
	CUPTI_DOMAIN_RUNTIME = 2,
	CUPTI_DOMAIN_RESOURCE = 3,
	CUPTI_DOMAIN_SYNCHRONIZE = 4,
	CUPTI_DOMAIN_NVTX = 5,
	CUPTI_DOMAIN_STATE = 6, /* since 12.2 */
};

enum { CUPTI_CONTEXT_CREATED = 1, CUPTI_CONTEXT_ENDS = 2 }; /* CUpti_CallbackIdResource; the second: about to go */
enum { CUPTI_FATAL_ERROR = 1 };                             /* CUpti_CallbackIdState: CUPTI has ended by itself */

/* CUpti_CallbackData: valid only inside the callback, except `function`, which is a constant. */
struct cupti_callback_data {
	int site; /* CUPTI_ENTER or CUPTI_EXIT */
	const char *function;
	const void *params; /* struct args_NAME of driver_entries.h */
	void *result;       /* cuda_result *, valid at CUPTI_EXIT only */
	const char *symbol;
	struct cuda_context *context; /* current context of the thread; NULL: none, as usual for VMM calls */
	uint32_t context_uid;
	uint64_t *correlation_data; /* one word for the subscriber, from ENTER to EXIT of a call */
	uint32_t correlation_id;
};

struct cupti_resource_data { /* CUpti_ResourceData */
	struct cuda_context *context;
	struct cuda_stream *stream;
	void *descriptor;
};

struct cupti_state_data { /* CUpti_StateData */
	int error;
	const char *message; /* may be NULL */
};

typedef void (*cupti_callback)(void *user, int domain, uint32_t id, const void *data);

#define CUPTI_NAME_MAX 53u       /* bytes of our own name that are kept */
#define CUPTI_OLD_NAME_BYTES 64u /* bytes to offer for the holder's name */

/*
 * CUpti_SubscriberParams. `allow_multiple` exists since 13.2. Pass CUPTI_PARAMS_13_0 as `bytes` to an older library,
 * sizeof() to a newer one (cuptiGetVersion).
 */
struct cupti_subscriber_params {
	size_t bytes;
	const char *name;
	char *old_name; /* output, on CUPTI_TAKEN: name of the holder */
	size_t old_name_bytes;
	uint8_t allow_multiple;
	uint8_t reserved[7];
};

#define CUPTI_PARAMS_13_0 offsetof(struct cupti_subscriber_params, allow_multiple)

typedef int cupti_get_version(uint32_t *version); /* 130000-like from CUDA 13 on, a small ordinal before */
typedef int cupti_subscribe(struct cupti_subscriber **out, cupti_callback callback, void *user);
typedef int cupti_subscribe_v2(struct cupti_subscriber **out, cupti_callback callback, void *user,
			       struct cupti_subscriber_params *params);
typedef int cupti_unsubscribe(struct cupti_subscriber *subscriber);
typedef int cupti_enable_callback(uint32_t enable, struct cupti_subscriber *subscriber, int domain, uint32_t id);
typedef int cupti_get_callback_state(uint32_t *enabled, struct cupti_subscriber *subscriber, int domain, uint32_t id);
typedef int cupti_get_device_id(struct cuda_context *context, uint32_t *device);
typedef int cupti_get_result_string(int result, const char **text);

/* ---- Injection: a function that the driver calls inside cuInit, in the library of CUDA_INJECTION64_PATH ---- */

typedef int cuda_injection(void); /* exported as InitializeInjection; 1: fine */

/* ---- NVML: nvml.h of the driver package (documented; not part of the toolkit's headers) ---- */

struct nvml_device; /* nvmlDevice_t is a pointer to it */

enum { /* nvmlReturn_t */
       NVML_OK = 0,
       NVML_UNINITIALIZED = 1,
       NVML_INVALID_ARGUMENT = 2,
       NVML_NOT_SUPPORTED = 3,
       NVML_NO_PERMISSION = 4,
       NVML_NOT_FOUND = 6,
       NVML_SMALL_BUFFER = 7,
       NVML_NO_DRIVER = 9,
       NVML_NO_FUNCTION = 13,
       NVML_GPU_LOST = 15,
       NVML_MISMATCH = 18,
       NVML_UNKNOWN = 999,
};

struct nvml_memory { /* nvmlMemory_t, bytes */
	unsigned long long total, free, used;
};

struct nvml_memory_v2 { /* nvmlMemory_v2_t, bytes; version: NVML_MEMORY_V2 */
	unsigned int version;
	unsigned long long total, reserved, free, used;
};

#define NVML_MEMORY_V2 ((unsigned int)sizeof(struct nvml_memory_v2) | 2u << 24)
#define NVML_NOT_AVAILABLE (~0ull) /* in nvml_process.used: unknown to the driver */

struct nvml_process { /* nvmlProcessInfo_t as of nvmlDeviceGetComputeRunningProcesses_v2 and _v3 */
	unsigned int pid;
	unsigned long long used; /* bytes */
	unsigned int gpu_instance, compute_instance;
};

#endif
