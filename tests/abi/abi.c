/*
 * abi.c - holds the hand-made declarations against the headers of an installed CUDA toolkit. It has no code: it
 * compiles or it does not. Run by tests/cli/test_abi.sh.
 */
#include "recorder/driver_entries.h"
#include "recorder/nvtx_abi.h"

#include <cuda.h>
#include <cupti.h> /* and with it generated_cuda_meta.h, which may be read only once */
#include <nvtx3/nvToolsExt.h>

#define SAME(ours, theirs) _Static_assert((long long)(ours) == (long long)(theirs), #ours " is not " #theirs)
#define SAME_SIZE(ours, theirs) SAME(sizeof(ours), sizeof(theirs))
#define SAME_MEMBER(ours, our_member, theirs, their_member)             \
	SAME(offsetof(ours, our_member), offsetof(theirs, their_member)); \
	SAME(sizeof(((ours *)0)->our_member), sizeof(((theirs *)0)->their_member))

/* ---- Driver ---- */

SAME_SIZE(cuda_address, CUdeviceptr);
SAME_SIZE(cuda_handle, CUmemGenericAllocationHandle);
SAME_SIZE(cuda_device, CUdevice);
SAME_SIZE(cuda_result, CUresult);
SAME_SIZE(struct cuda_context *, CUcontext);
SAME_SIZE(struct cuda_stream *, CUstream);
SAME_SIZE(struct cuda_pool *, CUmemoryPool);

SAME(CUDA_OK, CUDA_SUCCESS);
SAME(CUDA_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE);
SAME(CUDA_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
SAME(CUDA_NOT_INITIALIZED, CUDA_ERROR_NOT_INITIALIZED);
SAME(CUDA_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
SAME(CUDA_INVALID_DEVICE, CUDA_ERROR_INVALID_DEVICE);
SAME(CUDA_INVALID_CONTEXT, CUDA_ERROR_INVALID_CONTEXT);
SAME(CUDA_INVALID_HANDLE, CUDA_ERROR_INVALID_HANDLE);
SAME(CUDA_NOT_FOUND, CUDA_ERROR_NOT_FOUND);
SAME(CUDA_ALREADY_REGISTERED, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
SAME(CUDA_NOT_REGISTERED, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
SAME(CUDA_NOT_SUPPORTED, CUDA_ERROR_NOT_SUPPORTED);
SAME(CUDA_UNKNOWN, CUDA_ERROR_UNKNOWN);

SAME(CUDA_LOCATION_DEVICE, CU_MEM_LOCATION_TYPE_DEVICE);
#if CUDA_VERSION >= 12020
SAME(CUDA_LOCATION_HOST, CU_MEM_LOCATION_TYPE_HOST);
SAME(CUDA_LOCATION_NUMA, CU_MEM_LOCATION_TYPE_HOST_NUMA);
SAME(CUDA_LOCATION_NUMA_CURRENT, CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT);
#endif
SAME_SIZE(struct cuda_location, CUmemLocation);
SAME_MEMBER(struct cuda_location, type, CUmemLocation, type);
SAME_MEMBER(struct cuda_location, id, CUmemLocation, id);

SAME(CUDA_MEMORY_PINNED, CU_MEM_ALLOCATION_TYPE_PINNED);
SAME(CUDA_EXPORT_NONE, CU_MEM_HANDLE_TYPE_NONE);
SAME(CUDA_EXPORT_POSIX_FD, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
SAME(CUDA_ACCESS_NONE, CU_MEM_ACCESS_FLAGS_PROT_NONE);
SAME(CUDA_ACCESS_READ, CU_MEM_ACCESS_FLAGS_PROT_READ);
SAME(CUDA_ACCESS_READ_WRITE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
SAME(CUDA_GRANULARITY_MINIMUM, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
SAME(CUDA_GRANULARITY_RECOMMENDED, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);

SAME_SIZE(struct cuda_memory_props, CUmemAllocationProp);
SAME_MEMBER(struct cuda_memory_props, type, CUmemAllocationProp, type);
SAME_MEMBER(struct cuda_memory_props, export_types, CUmemAllocationProp, requestedHandleTypes);
SAME_MEMBER(struct cuda_memory_props, location, CUmemAllocationProp, location);
SAME_MEMBER(struct cuda_memory_props, win32, CUmemAllocationProp, win32HandleMetaData);
SAME_MEMBER(struct cuda_memory_props, compression, CUmemAllocationProp, allocFlags.compressionType);
SAME_MEMBER(struct cuda_memory_props, rdma, CUmemAllocationProp, allocFlags.gpuDirectRDMACapable);
SAME_MEMBER(struct cuda_memory_props, usage, CUmemAllocationProp, allocFlags.usage);

SAME_SIZE(struct cuda_access, CUmemAccessDesc);
SAME_MEMBER(struct cuda_access, location, CUmemAccessDesc, location);
SAME_MEMBER(struct cuda_access, flags, CUmemAccessDesc, flags);

SAME_SIZE(struct cuda_pool_props, CUmemPoolProps);
SAME_MEMBER(struct cuda_pool_props, type, CUmemPoolProps, allocType);
SAME_MEMBER(struct cuda_pool_props, export_types, CUmemPoolProps, handleTypes);
SAME_MEMBER(struct cuda_pool_props, location, CUmemPoolProps, location);
#if CUDA_VERSION >= 12020
SAME_MEMBER(struct cuda_pool_props, max_size, CUmemPoolProps, maxSize);
#endif
SAME(CUDA_POOL_RELEASE_THRESHOLD, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
SAME(CUDA_POOL_RESERVED_NOW, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
SAME(CUDA_POOL_RESERVED_HIGH, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH);
SAME(CUDA_POOL_USED_NOW, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
SAME(CUDA_POOL_USED_HIGH, CU_MEMPOOL_ATTR_USED_MEM_HIGH);

SAME(CUDA_DEVICE_PROCESSORS, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(CUDA_DEVICE_UNIFIED_ADDRESSING, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
SAME(CUDA_DEVICE_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(CUDA_DEVICE_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(CUDA_DEVICE_MANAGED, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
SAME(CUDA_DEVICE_VMM, CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED);
SAME(CUDA_DEVICE_POOLS, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
SAME_SIZE(struct cuda_uuid, CUuuid);

/* ---- Every entry: its id, the size of its arguments, the place and size of each of them ---- */

#if CUDA_VERSION < 12050 /* older toolkits do not have the newest context call */
#define CUPTI_DRIVER_TRACE_CBID_cuCtxCreate_v4 757
typedef struct args_cuCtxCreate_v4 cuCtxCreate_v4_params;
#endif

#define CHECK_ARGUMENT(type, name)                                    \
	SAME(offsetof(ours, name), offsetof(theirs, name));           \
	SAME(sizeof(((ours *)0)->name), sizeof(((theirs *)0)->name));
#define NOTHING()
#define CHECK_ENTRY(entry, id, class, space)                   \
	void check_##entry(void);                              \
	void check_##entry(void)                               \
	{                                                      \
		typedef struct args_##entry ours;              \
		typedef entry##_params theirs;                 \
		SAME(id, CUPTI_DRIVER_TRACE_CBID_##entry);     \
		SAME_SIZE(ours, theirs);                       \
		CUDA_ARGS_##entry(CHECK_ARGUMENT, NOTHING)     \
	}

CUDA_ENTRY_LIST(CHECK_ENTRY)

/* What driver_entries.h promises of a class: its entries begin alike, so that one decoder is enough. */
#define BEGINS_LIKE(entry, member, model) \
	SAME(offsetof(struct args_##entry, member), offsetof(struct args_##model, member));
#define BEGINS_ALLOC(entry) BEGINS_LIKE(entry, bytesize, cuMemAlloc_v2)
#define BEGINS_REGISTER(entry) BEGINS_LIKE(entry, bytesize, cuMemHostRegister_v2)
#define BEGINS_FREE(entry) \
	_Static_assert(sizeof(struct args_##entry) >= sizeof(cuda_address), #entry " begins with no address");
#define BEGINS_CONTEXT(entry) BEGINS_LIKE(entry, pctx, cuCtxCreate_v2)
#define BEGINS_CONTEXT_DROP(entry) BEGINS_LIKE(entry, dev, cuDevicePrimaryCtxRelease_v2)
/* Classes of one entry have nothing to be like. */
#define BEGINS_PITCH(entry)
#define BEGINS_RESERVE(entry)
#define BEGINS_UNRESERVE(entry)
#define BEGINS_CREATE(entry)
#define BEGINS_RELEASE(entry)
#define BEGINS_RETAIN(entry)
#define BEGINS_MAP(entry)
#define BEGINS_UNMAP(entry)
#define BEGINS_IMPORT(entry)
#define BEGINS_EXPORT(entry)
#define BEGINS_ACCESS(entry)
#define BEGINS_CONTEXT_DESTROY(entry)
#define CHECK_BEGINNING(entry, id, class, space) BEGINS_##class(entry)

CUDA_ENTRY_LIST(CHECK_BEGINNING)

/* ---- CUPTI ---- */

SAME(CUPTI_OK, CUPTI_SUCCESS);
SAME(CUPTI_INVALID_PARAMETER, CUPTI_ERROR_INVALID_PARAMETER);
SAME(CUPTI_INVALID_CONTEXT, CUPTI_ERROR_INVALID_CONTEXT);
SAME(CUPTI_LIMIT_REACHED, CUPTI_ERROR_MAX_LIMIT_REACHED);
SAME(CUPTI_NOT_INITIALIZED, CUPTI_ERROR_NOT_INITIALIZED);
SAME(CUPTI_TAKEN, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
SAME(CUPTI_UNKNOWN, CUPTI_ERROR_UNKNOWN);
SAME(CUPTI_ENTER, CUPTI_API_ENTER);
SAME(CUPTI_EXIT, CUPTI_API_EXIT);
SAME(CUPTI_DOMAIN_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API);
SAME(CUPTI_DOMAIN_RUNTIME, CUPTI_CB_DOMAIN_RUNTIME_API);
SAME(CUPTI_DOMAIN_RESOURCE, CUPTI_CB_DOMAIN_RESOURCE);
SAME(CUPTI_DOMAIN_SYNCHRONIZE, CUPTI_CB_DOMAIN_SYNCHRONIZE);
SAME(CUPTI_DOMAIN_NVTX, CUPTI_CB_DOMAIN_NVTX);
SAME(CUPTI_DOMAIN_STATE, CUPTI_CB_DOMAIN_STATE);

SAME_SIZE(struct cupti_callback_data, CUpti_CallbackData);
SAME_MEMBER(struct cupti_callback_data, site, CUpti_CallbackData, callbackSite);
SAME_MEMBER(struct cupti_callback_data, function, CUpti_CallbackData, functionName);
SAME_MEMBER(struct cupti_callback_data, params, CUpti_CallbackData, functionParams);
SAME_MEMBER(struct cupti_callback_data, result, CUpti_CallbackData, functionReturnValue);
SAME_MEMBER(struct cupti_callback_data, symbol, CUpti_CallbackData, symbolName);
SAME_MEMBER(struct cupti_callback_data, context, CUpti_CallbackData, context);
SAME_MEMBER(struct cupti_callback_data, context_uid, CUpti_CallbackData, contextUid);
SAME_MEMBER(struct cupti_callback_data, correlation_data, CUpti_CallbackData, correlationData);
SAME_MEMBER(struct cupti_callback_data, correlation_id, CUpti_CallbackData, correlationId);

#if CUPTI_API_VERSION >= 130000
SAME(CUPTI_NAME_MAX, CUPTI_SUBSCRIBER_NAME_MAX_LEN);
SAME(CUPTI_OLD_NAME_BYTES, CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN);
SAME_MEMBER(struct cupti_subscriber_params, bytes, CUpti_SubscriberParams, structSize);
SAME_MEMBER(struct cupti_subscriber_params, name, CUpti_SubscriberParams, subscriberName);
SAME_MEMBER(struct cupti_subscriber_params, old_name, CUpti_SubscriberParams, oldSubscriberName);
SAME_MEMBER(struct cupti_subscriber_params, old_name_bytes, CUpti_SubscriberParams, oldSubscriberSize);
#endif
#if CUPTI_API_VERSION >= 130200
SAME_SIZE(struct cupti_subscriber_params, CUpti_SubscriberParams);
SAME_MEMBER(struct cupti_subscriber_params, allow_multiple, CUpti_SubscriberParams, allowMultipleSubscribers);
#elif CUPTI_API_VERSION >= 130000
SAME(CUPTI_PARAMS_13_0, CUpti_SubscriberParams_STRUCT_SIZE);
#endif

/* ---- NVTX ---- */

SAME(NVTX_TABLE_CALLBACKS, NVTX_ETID_CALLBACKS);
SAME(NVTX_MODULE_CORE, NVTX_CB_MODULE_CORE);
SAME(NVTX_MODULE_CORE2, NVTX_CB_MODULE_CORE2);
SAME(NVTX_NOT_TRACKED, NVTX_NO_PUSH_POP_TRACKING);
SAME(NVTX_MESSAGE_ASCII, NVTX_MESSAGE_TYPE_ASCII);
SAME(NVTX_MESSAGE_WIDE, NVTX_MESSAGE_TYPE_UNICODE);
SAME(NVTX_MESSAGE_REGISTERED, NVTX_MESSAGE_TYPE_REGISTERED);
SAME_SIZE(struct nvtx_callbacks, NvtxExportTableCallbacks);
SAME_MEMBER(struct nvtx_callbacks, bytes, NvtxExportTableCallbacks, struct_size);
SAME_MEMBER(struct nvtx_callbacks, module, NvtxExportTableCallbacks, GetModuleFunctionTable);

SAME_SIZE(struct nvtx_attributes, nvtxEventAttributes_t);
SAME_MEMBER(struct nvtx_attributes, version, nvtxEventAttributes_t, version);
SAME_MEMBER(struct nvtx_attributes, bytes, nvtxEventAttributes_t, size);
SAME_MEMBER(struct nvtx_attributes, category, nvtxEventAttributes_t, category);
SAME_MEMBER(struct nvtx_attributes, color_type, nvtxEventAttributes_t, colorType);
SAME_MEMBER(struct nvtx_attributes, color, nvtxEventAttributes_t, color);
SAME_MEMBER(struct nvtx_attributes, payload_type, nvtxEventAttributes_t, payloadType);
SAME_MEMBER(struct nvtx_attributes, payload, nvtxEventAttributes_t, payload);
SAME_MEMBER(struct nvtx_attributes, message_type, nvtxEventAttributes_t, messageType);
SAME_MEMBER(struct nvtx_attributes, message, nvtxEventAttributes_t, message);

#define INDEX(name, index) INDEX_##name = (index),
enum { NVTX_CORE_LIST(INDEX) NVTX_CORE2_LIST(INDEX) };

SAME(INDEX_nvtx_mark_ex, NVTX_CBID_CORE_MarkEx);
SAME(INDEX_nvtx_mark_a, NVTX_CBID_CORE_MarkA);
SAME(INDEX_nvtx_mark_w, NVTX_CBID_CORE_MarkW);
SAME(INDEX_nvtx_start_ex, NVTX_CBID_CORE_RangeStartEx);
SAME(INDEX_nvtx_start_a, NVTX_CBID_CORE_RangeStartA);
SAME(INDEX_nvtx_start_w, NVTX_CBID_CORE_RangeStartW);
SAME(INDEX_nvtx_end, NVTX_CBID_CORE_RangeEnd);
SAME(INDEX_nvtx_push_ex, NVTX_CBID_CORE_RangePushEx);
SAME(INDEX_nvtx_push_a, NVTX_CBID_CORE_RangePushA);
SAME(INDEX_nvtx_push_w, NVTX_CBID_CORE_RangePushW);
SAME(INDEX_nvtx_pop, NVTX_CBID_CORE_RangePop);
SAME(INDEX_nvtx_domain_mark, NVTX_CBID_CORE2_DomainMarkEx);
SAME(INDEX_nvtx_domain_start, NVTX_CBID_CORE2_DomainRangeStartEx);
SAME(INDEX_nvtx_domain_end, NVTX_CBID_CORE2_DomainRangeEnd);
SAME(INDEX_nvtx_domain_push, NVTX_CBID_CORE2_DomainRangePushEx);
SAME(INDEX_nvtx_domain_pop, NVTX_CBID_CORE2_DomainRangePop);
SAME(INDEX_nvtx_register_a, NVTX_CBID_CORE2_DomainRegisterStringA);
SAME(INDEX_nvtx_register_w, NVTX_CBID_CORE2_DomainRegisterStringW);
SAME(INDEX_nvtx_domain_create_a, NVTX_CBID_CORE2_DomainCreateA);
SAME(INDEX_nvtx_domain_create_w, NVTX_CBID_CORE2_DomainCreateW);
