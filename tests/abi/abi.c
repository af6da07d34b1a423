/*
 * abi.c - holds the hand-made declarations against the headers of a CUDA toolkit: the installed one (test_abi.sh), and
 * those of NVIDIA's wheels, oldest to newest (wheels.sh). It has no code: it compiles or it does not.
 *
 * Entries that a toolkit does not have yet are left out by its version: entries by the `since` of driver_entries.h,
 * the rest by the #if beside it.
 */
#include "recorder/agent/cuda/driver_entries.h"
#include "recorder/agent/hooks/nvtx_abi.h"

#include <cuda.h>
#include <cupti.h>   /* and with it generated_cuda_meta.h, which may be read only once */
#ifndef WITHOUT_NVTX /* some wheels have no NVTX headers */
#include <nvtx3/nvToolsExt.h>
#if !defined(WITHOUT_PAYLOADS) && __has_include(<nvtx3/nvToolsExtPayload.h>)
#include <nvtx3/nvToolsExtPayload.h>
#define WITH_PAYLOADS
#endif
#endif

/* Names by which cuda.h means the newest version; here each version is meant by its own. */
#undef cuMemHostRegister
#undef cuMemPrefetchAsync
#undef cuMemAdvise
#undef cuIpcOpenMemHandle
#undef cuGraphAddNode
#undef cuGraphInstantiate
#undef cuStreamBeginCapture
#undef cuDevicePrimaryCtxRelease
#undef cuDevicePrimaryCtxReset
#undef cuCtxCreate
#undef cuCtxDestroy
#undef cuMulticastBindMem
#undef cuMulticastBindAddr

#define SAME(ours, theirs) _Static_assert((long long)(ours) == (long long)(theirs), #ours " is not " #theirs)
#define SAME_SIZE(ours, theirs) SAME(sizeof(ours), sizeof(theirs))
#define SAME_MEMBER(ours, our_member, theirs, their_member)               \
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
SAME_SIZE(struct cuda_array *, CUarray);
SAME_SIZE(struct cuda_mipmap *, CUmipmappedArray);
SAME_SIZE(struct cuda_graph *, CUgraph);
SAME_SIZE(struct cuda_exec *, CUgraphExec);
SAME(CUDA_STREAM_PER_THREAD, CU_STREAM_PER_THREAD);

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
SAME(CUDA_CAPTURE_WRONG_THREAD, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
SAME(CUDA_UNKNOWN, CUDA_ERROR_UNKNOWN);

SAME(CUDA_LOCATION_DEVICE, CU_MEM_LOCATION_TYPE_DEVICE);
#if CUDA_VERSION >= 12020
SAME(CUDA_LOCATION_HOST, CU_MEM_LOCATION_TYPE_HOST);
SAME(CUDA_LOCATION_NUMA, CU_MEM_LOCATION_TYPE_HOST_NUMA);
SAME(CUDA_LOCATION_NUMA_CURRENT, CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT);
#endif
#if CUDA_VERSION >= 13050
SAME(CUDA_LOCATION_LOCALITY, CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN);
SAME(offsetof(struct cuda_location, id), offsetof(CUmemLocation, localized.deviceId)); /* the low byte of it */
SAME_SIZE(unsigned char, ((CUmemLocation *)0)->localized.deviceId);
#endif
SAME_SIZE(struct cuda_location, CUmemLocation);
SAME_MEMBER(struct cuda_location, type, CUmemLocation, type);
SAME_MEMBER(struct cuda_location, id, CUmemLocation, id);

SAME(CUDA_MEMORY_PINNED, CU_MEM_ALLOCATION_TYPE_PINNED);
#if CUDA_VERSION >= 13000
SAME(CUDA_MEMORY_MANAGED, CU_MEM_ALLOCATION_TYPE_MANAGED);
#endif
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

#if CUDA_VERSION >= 13050
SAME(CUDA_POOL_MAX_SIZE, CU_MEMPOOL_ATTR_MAX_POOL_SIZE);
#endif

SAME(CUDA_DEVICE_PROCESSORS, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(CUDA_DEVICE_UNIFIED_ADDRESSING, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
SAME(CUDA_DEVICE_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(CUDA_DEVICE_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(CUDA_DEVICE_MANAGED, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
SAME(CUDA_DEVICE_VMM, CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED);
SAME(CUDA_DEVICE_POOLS, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
SAME_SIZE(struct cuda_uuid, CUuuid);
SAME_SIZE(struct cuda_pool_pointer, CUmemPoolPtrExportData);
SAME_SIZE(struct cuda_ipc_handle, CUipcMemHandle);

#if CUDA_VERSION >= 12010
SAME_SIZE(struct cuda_multicast_props, CUmulticastObjectProp);
SAME_MEMBER(struct cuda_multicast_props, devices, CUmulticastObjectProp, numDevices);
SAME_MEMBER(struct cuda_multicast_props, size, CUmulticastObjectProp, size);
SAME_MEMBER(struct cuda_multicast_props, export_types, CUmulticastObjectProp, handleTypes);
SAME_MEMBER(struct cuda_multicast_props, flags, CUmulticastObjectProp, flags);
#endif
#if CUDA_VERSION >= 13030
SAME_SIZE(struct cuda_endpoint_props, CUlogicalEndpointProp);
SAME_MEMBER(struct cuda_endpoint_props, type, CUlogicalEndpointProp, type);
SAME_MEMBER(struct cuda_endpoint_props, device, CUlogicalEndpointProp, unicast.device);
SAME_MEMBER(struct cuda_endpoint_props, size, CUlogicalEndpointProp, size);
SAME_MEMBER(struct cuda_endpoint_props, export_types, CUlogicalEndpointProp, ipcHandleTypes);
SAME_MEMBER(struct cuda_endpoint_props, flags, CUlogicalEndpointProp, flags);
#endif

/* ---- Arrays ---- */

SAME_SIZE(struct cuda_array_desc, CUDA_ARRAY_DESCRIPTOR);
SAME_MEMBER(struct cuda_array_desc, width, CUDA_ARRAY_DESCRIPTOR, Width);
SAME_MEMBER(struct cuda_array_desc, height, CUDA_ARRAY_DESCRIPTOR, Height);
SAME_MEMBER(struct cuda_array_desc, format, CUDA_ARRAY_DESCRIPTOR, Format);
SAME_MEMBER(struct cuda_array_desc, channels, CUDA_ARRAY_DESCRIPTOR, NumChannels);
SAME_SIZE(struct cuda_array3d_desc, CUDA_ARRAY3D_DESCRIPTOR);
SAME_MEMBER(struct cuda_array3d_desc, width, CUDA_ARRAY3D_DESCRIPTOR, Width);
SAME_MEMBER(struct cuda_array3d_desc, height, CUDA_ARRAY3D_DESCRIPTOR, Height);
SAME_MEMBER(struct cuda_array3d_desc, depth, CUDA_ARRAY3D_DESCRIPTOR, Depth);
SAME_MEMBER(struct cuda_array3d_desc, format, CUDA_ARRAY3D_DESCRIPTOR, Format);
SAME_MEMBER(struct cuda_array3d_desc, channels, CUDA_ARRAY3D_DESCRIPTOR, NumChannels);
SAME_MEMBER(struct cuda_array3d_desc, flags, CUDA_ARRAY3D_DESCRIPTOR, Flags);
SAME(CUDA_ARRAY_LAYERED, CUDA_ARRAY3D_LAYERED);
SAME(CUDA_ARRAY_CUBEMAP, CUDA_ARRAY3D_CUBEMAP);
SAME(CUDA_ARRAY_SPARSE, CUDA_ARRAY3D_SPARSE);
SAME(CUDA_ARRAY_DEFERRED, CUDA_ARRAY3D_DEFERRED_MAPPING);

/* ---- Memory of other APIs ---- */

SAME_SIZE(struct cuda_external_desc, CUDA_EXTERNAL_MEMORY_HANDLE_DESC);
SAME_MEMBER(struct cuda_external_desc, type, CUDA_EXTERNAL_MEMORY_HANDLE_DESC, type);
SAME_MEMBER(struct cuda_external_desc, handle.fd, CUDA_EXTERNAL_MEMORY_HANDLE_DESC, handle.fd);
SAME_MEMBER(struct cuda_external_desc, size, CUDA_EXTERNAL_MEMORY_HANDLE_DESC, size);
SAME_MEMBER(struct cuda_external_desc, flags, CUDA_EXTERNAL_MEMORY_HANDLE_DESC, flags);
SAME(CUDA_EXTERNAL_OPAQUE_FD, CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD);
SAME_SIZE(struct cuda_external_buffer, CUDA_EXTERNAL_MEMORY_BUFFER_DESC);
SAME_MEMBER(struct cuda_external_buffer, offset, CUDA_EXTERNAL_MEMORY_BUFFER_DESC, offset);
SAME_MEMBER(struct cuda_external_buffer, size, CUDA_EXTERNAL_MEMORY_BUFFER_DESC, size);
SAME_SIZE(struct cuda_external_mipmap, CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC);
SAME_MEMBER(struct cuda_external_mipmap, offset, CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC, offset);
SAME_MEMBER(struct cuda_external_mipmap, desc, CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC, arrayDesc);
SAME_MEMBER(struct cuda_external_mipmap, levels, CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC, numLevels);

/* ---- Graphs ---- */

SAME_SIZE(struct cuda_alloc_node, CUDA_MEM_ALLOC_NODE_PARAMS);
SAME_MEMBER(struct cuda_alloc_node, pool, CUDA_MEM_ALLOC_NODE_PARAMS, poolProps);
SAME_MEMBER(struct cuda_alloc_node, access, CUDA_MEM_ALLOC_NODE_PARAMS, accessDescs);
SAME_MEMBER(struct cuda_alloc_node, access_count, CUDA_MEM_ALLOC_NODE_PARAMS, accessDescCount);
SAME_MEMBER(struct cuda_alloc_node, bytes, CUDA_MEM_ALLOC_NODE_PARAMS, bytesize);
SAME_MEMBER(struct cuda_alloc_node, address, CUDA_MEM_ALLOC_NODE_PARAMS, dptr);
SAME(CUDA_NODE_GRAPH, CU_GRAPH_NODE_TYPE_GRAPH);
SAME(CUDA_NODE_ALLOC, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
SAME(CUDA_NODE_FREE, CU_GRAPH_NODE_TYPE_MEM_FREE);
SAME(CUDA_GRAPH_USED_NOW, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT);
SAME(CUDA_GRAPH_USED_HIGH, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH);
SAME(CUDA_GRAPH_RESERVED_NOW, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT);
SAME(CUDA_GRAPH_RESERVED_HIGH, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH);
SAME(CUDA_INSTANTIATE_AUTO_FREE, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
#if CUDA_VERSION >= 12000
SAME(CUDA_INSTANTIATE_UPLOAD, CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD);
SAME_SIZE(struct cuda_instantiate_params, CUDA_GRAPH_INSTANTIATE_PARAMS);
SAME_MEMBER(struct cuda_instantiate_params, flags, CUDA_GRAPH_INSTANTIATE_PARAMS, flags);
SAME_MEMBER(struct cuda_instantiate_params, upload_stream, CUDA_GRAPH_INSTANTIATE_PARAMS, hUploadStream);
SAME_MEMBER(struct cuda_instantiate_params, error_node, CUDA_GRAPH_INSTANTIATE_PARAMS, hErrNode_out);
SAME_MEMBER(struct cuda_instantiate_params, result, CUDA_GRAPH_INSTANTIATE_PARAMS, result_out);
#endif
#if CUDA_VERSION >= 12020
SAME_SIZE(struct cuda_node_params, CUgraphNodeParams);
SAME_MEMBER(struct cuda_node_params, type, CUgraphNodeParams, type);
SAME_MEMBER(struct cuda_node_params, node.alloc, CUgraphNodeParams, alloc);
SAME_MEMBER(struct cuda_node_params, node.child.graph, CUgraphNodeParams, graph.graph);
SAME_MEMBER(struct cuda_node_params, node.free.address, CUgraphNodeParams, free.dptr);
#endif
#if CUDA_VERSION >= 12090
SAME_MEMBER(struct cuda_node_params, node.child.ownership, CUgraphNodeParams, graph.ownership);
SAME(CUDA_CHILD_MOVED, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE);
#endif

/* ---- Every entry: its id, the size of its arguments, the place and size of each of them ---- */

/* SINCE_n(check) is nothing where the toolkit is older than n; the oldest that is looked at is 11.8. */
#define SINCE_11000(check) check
#define SINCE_11040(check) check
#if CUDA_VERSION >= 12000
#define SINCE_12000(check) check
#else
#define SINCE_12000(check)
#endif
#if CUDA_VERSION >= 12010
#define SINCE_12010(check) check
#else
#define SINCE_12010(check)
#endif
#if CUDA_VERSION >= 12020
#define SINCE_12020(check) check
#else
#define SINCE_12020(check)
#endif
#if CUDA_VERSION >= 12030
#define SINCE_12030(check) check
#else
#define SINCE_12030(check)
#endif
#if CUDA_VERSION >= 12040
#define SINCE_12040(check) check
#else
#define SINCE_12040(check)
#endif
#if CUDA_VERSION >= 12050
#define SINCE_12050(check) check
#else
#define SINCE_12050(check)
#endif
#if CUDA_VERSION >= 12080
#define SINCE_12080(check) check
#else
#define SINCE_12080(check)
#endif
#if CUDA_VERSION >= 13000
#define SINCE_13000(check) check
#else
#define SINCE_13000(check)
#endif
#if CUDA_VERSION >= 13010
#define SINCE_13010(check) check
#else
#define SINCE_13010(check)
#endif
#if CUDA_VERSION >= 13030
#define SINCE_13030(check) check
#else
#define SINCE_13030(check)
#endif
#if CUDA_VERSION >= 13040
#define SINCE_13040(check) check
#else
#define SINCE_13040(check)
#endif

#define CHECK_ARGUMENT(type, name)                          \
	SAME(offsetof(ours, name), offsetof(theirs, name)); \
	SAME(sizeof(((ours *)0)->name), sizeof(((theirs *)0)->name));
#define NOTHING()
#define CHECK_THE_ENTRY(entry, id)                         \
	void check_##entry(void);                          \
	void check_##entry(void)                           \
	{                                                  \
		typedef struct args_##entry ours;          \
		typedef entry##_params theirs;             \
		SAME(id, CUPTI_DRIVER_TRACE_CBID_##entry); \
		SAME_SIZE(ours, theirs);                   \
		CUDA_ARGS_##entry(CHECK_ARGUMENT, NOTHING) \
	}
#define CHECK_ENTRY(entry, id, class, space, since) SINCE_##since(CHECK_THE_ENTRY(entry, id))

CUDA_ENTRY_LIST(CHECK_ENTRY)

/*
 * The promise of driver_entries.h for a class: its entries have the arguments that the decoder reads at the places of
 * the entry that the decoder is written for. LIKE_CLASS(entry) says that of one entry; classes of one entry have
 * nothing to be like.
 */
#define LIKE(entry, member, model, model_member)                                                  \
	SAME(offsetof(struct args_##entry, member), offsetof(struct args_##model, model_member)); \
	SAME(sizeof(((struct args_##entry *)0)->member), sizeof(((struct args_##model *)0)->model_member));
#define FIRST_IS_AN_ADDRESS(entry) \
	_Static_assert(sizeof(struct args_##entry) >= sizeof(cuda_address), #entry " begins with no address");

#define LIKE_ALLOC(entry) LIKE(entry, bytesize, cuMemAlloc_v2, bytesize)
#define LIKE_REGISTER(entry) \
	LIKE(entry, p, cuMemHostRegister_v2, p) LIKE(entry, bytesize, cuMemHostRegister_v2, bytesize)
#define LIKE_ASYNC(entry) \
	LIKE(entry, bytesize, cuMemAllocAsync, bytesize) LIKE(entry, hStream, cuMemAllocAsync, hStream)
#define LIKE_FROM_POOL(entry) LIKE(entry, pool, cuMemAllocFromPoolAsync, pool)
#define LIKE_FREE(entry) FIRST_IS_AN_ADDRESS(entry)
#define LIKE_FREE_ASYNC(entry) LIKE(entry, hStream, cuMemFreeAsync, hStream)
#define LIKE_OPEN(entry) FIRST_IS_AN_ADDRESS(entry)
#define LIKE_POOL_GET(entry) LIKE(entry, dev, cuDeviceGetMemPool, dev)
#define LIKE_POOL_AT(entry) LIKE(entry, location, cuMemGetMemPool, location) LIKE(entry, type, cuMemGetMemPool, type)
#define LIKE_GRAPH_NODE2(entry) LIKE(entry, nodeParams, cuGraphAddNode_v2, nodeParams)
#define LIKE_GRAPH_EXEC(entry) LIKE(entry, hGraph, cuGraphInstantiateWithParams, hGraph)
#define LIKE_GRAPH_USE(entry) LIKE(entry, hStream, cuGraphLaunch, hStream)
#define LIKE_CAPTURE(entry) LIKE(entry, hStream, cuStreamBeginCapture, hStream)
#define LIKE_RECAPTURE(entry) LIKE(entry, hStream, cuStreamBeginRecaptureToGraph, hStream)
#define LIKE_CAPTURE_END(entry) LIKE(entry, phGraph, cuStreamEndCapture, phGraph)
#define LIKE_CONTEXT(entry) LIKE(entry, pctx, cuCtxCreate_v2, pctx)
#define LIKE_CONTEXT_DESTROY(entry) LIKE(entry, ctx, cuCtxDestroy_v2, ctx)
#define LIKE_PRIMARY_RELEASE(entry) LIKE(entry, dev, cuDevicePrimaryCtxRelease_v2, dev)
#define LIKE_PRIMARY_RESET(entry) LIKE(entry, dev, cuDevicePrimaryCtxReset_v2, dev)
#define LIKE_FUNCTION(entry) FIRST_IS_AN_ADDRESS(entry)
#define LIKE_NOTE(entry) /* by entry, driver_notes.h */
#define LIKE_ACCESS(entry)
#define LIKE_PITCH(entry)
#define LIKE_ARRAY(entry)
#define LIKE_ARRAY3D(entry)
#define LIKE_MIPMAP(entry)
#define LIKE_CREATE(entry)
#define LIKE_RELEASE(entry)
#define LIKE_RETAIN(entry)
#define LIKE_RESERVE(entry)
#define LIKE_UNRESERVE(entry)
#define LIKE_MAP(entry)
#define LIKE_UNMAP(entry)
#define LIKE_IMPORT(entry)
#define LIKE_MULTICAST(entry)
#define LIKE_OPEN_BUFFER(entry)
#define LIKE_POOL(entry)
#define LIKE_POOL_IMPORT(entry)
#define LIKE_POOL_DESTROY(entry)
#define LIKE_GRAPH_ALLOC(entry)
#define LIKE_GRAPH_FREE(entry)
#define LIKE_GRAPH_NODE(entry)
#define LIKE_GRAPH_EXEC_DESTROY(entry)
#define LIKE_GRAPH_DESTROY(entry)
#define LIKE_DEVICES(entry)
#define LIKE_PRIMARY(entry)
#define LIKE_GREEN(entry)
#define LIKE_GREEN_DESTROY(entry)
#define LIKE_GREEN_CONTEXT(entry)
#define CHECK_LIKENESS(entry, id, class, space, since) LIKE_##class(entry)

CUDA_ENTRY_LIST(CHECK_LIKENESS)

/* ---- CUPTI ---- */

SAME(CUPTI_OK, CUPTI_SUCCESS);
SAME(CUPTI_INVALID_PARAMETER, CUPTI_ERROR_INVALID_PARAMETER);
SAME(CUPTI_INVALID_CONTEXT, CUPTI_ERROR_INVALID_CONTEXT);
SAME(CUPTI_LIMIT_REACHED, CUPTI_ERROR_MAX_LIMIT_REACHED);
SAME(CUPTI_NOT_INITIALIZED, CUPTI_ERROR_NOT_INITIALIZED);
SAME(CUPTI_VIRTUALIZED, CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED);
SAME(CUPTI_NO_PRIVILEGES, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
SAME(CUPTI_TAKEN, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
SAME(CUPTI_VIRTUALIZED_NO_PRIVILEGES, CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
SAME(CUPTI_CONFIDENTIAL, CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED);
SAME(CUPTI_CMP, CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED);
#if CUDA_VERSION >= 13000
SAME(CUPTI_MIG, CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED);
SAME(CUPTI_SLI, CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED);
SAME(CUPTI_WSL, CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED);
#endif
SAME(CUPTI_UNKNOWN, CUPTI_ERROR_UNKNOWN);
SAME(CUPTI_ENTER, CUPTI_API_ENTER);
SAME(CUPTI_EXIT, CUPTI_API_EXIT);
SAME(CUPTI_DOMAIN_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API);
SAME(CUPTI_DOMAIN_RUNTIME, CUPTI_CB_DOMAIN_RUNTIME_API);
SAME(CUPTI_DOMAIN_RESOURCE, CUPTI_CB_DOMAIN_RESOURCE);
SAME(CUPTI_DOMAIN_SYNCHRONIZE, CUPTI_CB_DOMAIN_SYNCHRONIZE);
SAME(CUPTI_DOMAIN_NVTX, CUPTI_CB_DOMAIN_NVTX);
SAME(CUPTI_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
SAME(CUPTI_CONTEXT_ENDS, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
SAME_SIZE(struct cupti_resource_data, CUpti_ResourceData);
SAME_MEMBER(struct cupti_resource_data, context, CUpti_ResourceData, context);
#if CUDA_VERSION >= 12020
SAME(CUPTI_DOMAIN_STATE, CUPTI_CB_DOMAIN_STATE);
SAME(CUPTI_FATAL_ERROR, CUPTI_CBID_STATE_FATAL_ERROR);
SAME_SIZE(struct cupti_state_data, CUpti_StateData);
SAME_MEMBER(struct cupti_state_data, error, CUpti_StateData, notification.result);
SAME_MEMBER(struct cupti_state_data, message, CUpti_StateData, notification.message);
#endif

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

#ifndef WITHOUT_NVTX

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

#ifdef WITH_PAYLOADS
enum { NVTX_PAYLOAD_LIST(INDEX) };
SAME(NVTX_EXTENSION_PAYLOAD, NVTX_EXT_PAYLOAD_MODULEID);
SAME(INDEX_nvtx_payload_push, NVTX3EXT_CBID_nvtxRangePushPayload);
SAME(INDEX_nvtx_payload_pop, NVTX3EXT_CBID_nvtxRangePopPayload);
SAME(INDEX_nvtx_payload_start, NVTX3EXT_CBID_nvtxRangeStartPayload);
SAME(INDEX_nvtx_payload_end, NVTX3EXT_CBID_nvtxRangeEndPayload);
SAME_SIZE(struct nvtx_segment, nvtxExtModuleSegment_t);
SAME_MEMBER(struct nvtx_segment, count, nvtxExtModuleSegment_t, slotCount);
SAME_MEMBER(struct nvtx_segment, slots, nvtxExtModuleSegment_t, functionSlots);
SAME_SIZE(struct nvtx_extension, nvtxExtModuleInfo_t);
SAME_MEMBER(struct nvtx_extension, bytes, nvtxExtModuleInfo_t, structSize);
SAME_MEMBER(struct nvtx_extension, id, nvtxExtModuleInfo_t, moduleId);
SAME_MEMBER(struct nvtx_extension, segments, nvtxExtModuleInfo_t, segmentsCount);
SAME_MEMBER(struct nvtx_extension, segment, nvtxExtModuleInfo_t, segments);
#endif

#endif
