/*
 * driver_entries.h - the one list of the CUDA driver's calls about memory. The agent's callbacks and decoders, the
 * stand-in driver's entry points, the check against the toolkits' headers (tests/abi) and the table in
 * docs/driver-entries.md are made from it.
 *
 * Ids are CUPTI's (cupti_driver_cbid.h) and never change. An unknown id is refused with CUPTI_INVALID_PARAMETER.
 * docs/driver-entries.md lists the entries that are left out, with reasons.
 */
#ifndef MEMREC_DRIVER_ENTRIES_H
#define MEMREC_DRIVER_ENTRIES_H

#include "cuda_abi.h"

/* The effects of a class's events. X(NAME, meaning) */
#define CUDA_POLICY_LIST(X)                                                            \
	X(TAKE, "asks for bytes; a failure is told with the size (DRIVER_FAIL)")       \
	X(GIVE, "gives bytes back")                                                    \
	X(PLACE, "addresses, references, mappings: where bytes are, not how many")     \
	X(NOTE, "an event that moves no bytes (DRIVER_NOTE), see driver_notes.h")      \
	X(WATCH, "no event of its own: what the agent must know to tell others right") \
	X(OFF, "not enabled: says nothing about bytes")

enum cuda_policy {
#define CUDA_POLICY_ENUM(name, meaning) CUDA_##name,
	CUDA_POLICY_LIST(CUDA_POLICY_ENUM)
#undef CUDA_POLICY_ENUM
};

/*
 * Classes: X(NAME, POLICY, meaning). All entries of a class have the arguments that its decoder reads at the same
 * places (tests/abi checks this), so a class needs one decoder.
 */
#define CUDA_CLASS_LIST(X)                                                                                           \
	X(ALLOC, TAKE, "*dptr or *pp, bytesize bytes (begins like cuMemAlloc_v2)")                                   \
	X(PITCH, TAKE, "in rows: *pPitch * Height bytes")                                                            \
	X(ASYNC, TAKE, "from the device's current pool, in stream order; on a capturing stream a node of its graph") \
	X(FROM_POOL, TAKE, "the same, from the pool named")                                                          \
	X(REGISTER, TAKE, "memory of the program made known: p, bytesize")                                           \
	X(ARRAY, TAKE, "an array: *pHandle; its bytes follow from the descriptor")                                   \
	X(ARRAY3D, TAKE, "an array of up to three dimensions, or of layers")                                         \
	X(MIPMAP, TAKE, "an array with mip levels")                                                                  \
	X(CREATE, TAKE, "physical memory without an address: *handle, size, place in *prop")                         \
	X(FREE, GIVE, "address or handle, first argument, at ENTER (begins like cuMemFree_v2)")                      \
	X(FREE_ASYNC, GIVE, "the same, in stream order; on a capturing stream a node of its graph")                  \
	X(RELEASE, GIVE, "one reference to a handle dropped, at ENTER")                                              \
	X(RETAIN, PLACE, "one reference more: *handle of a mapped address")                                          \
	X(RESERVE, PLACE, "addresses only, no bytes: *ptr, size")                                                    \
	X(UNRESERVE, PLACE, "addresses given back: ptr, size")                                                       \
	X(MAP, PLACE, "part of a handle appears at an address")                                                      \
	X(UNMAP, PLACE, "mappings in a range disappear")                                                             \
	X(IMPORT, PLACE, "a handle to memory that another process counts")                                           \
	X(MULTICAST, PLACE, "a handle through which many devices are written at once; holds no bytes")               \
	X(OPEN, PLACE, "memory that somebody else counts appears: first argument, an output")                        \
	X(OPEN_BUFFER, PLACE, "the same, with its size in *bufferDesc")                                              \
	X(ACCESS, OFF, "who may use a mapped range or a pool")                                                       \
	X(POOL, NOTE, "a pool appears: *pool, place in *poolProps")                                                  \
	X(POOL_IMPORT, NOTE, "a pool of another process appears: *pool_out")                                         \
	X(POOL_DESTROY, NOTE, "a pool goes; what it handed out stays")                                               \
	X(POOL_GET, WATCH, "tells the place of a pool: first argument, dev")                                         \
	X(POOL_AT, WATCH, "tells the place of a pool: first argument, *location")                                    \
	X(GRAPH_ALLOC, WATCH, "an allocation node: its address, and bytes once the graph runs")                      \
	X(GRAPH_FREE, WATCH, "a node that frees such an address")                                                    \
	X(GRAPH_NODE, WATCH, "a node of any kind")                                                                   \
	X(GRAPH_NODE2, WATCH, "a node of any kind, edges with data")                                                 \
	X(GRAPH_EXEC, NOTE, "an executable graph: *phGraphExec of hGraph")                                           \
	X(GRAPH_USE, NOTE, "a launch or upload; the first one takes the bytes of the graph's allocation nodes")      \
	X(GRAPH_EXEC_DESTROY, GIVE, "an executable graph goes, and its bytes with it")                               \
	X(GRAPH_DESTROY, NOTE, "a graph goes; what was made executable stays")                                       \
	X(CAPTURE, WATCH, "a stream begins to record a graph: hStream")                                              \
	X(RECAPTURE, WATCH, "the same, a graph with the same memory nodes already")                                  \
	X(CAPTURE_END, WATCH, "a stream has recorded *phGraph")                                                      \
	X(DEVICES, WATCH, "how many devices the process sees: *count")                                               \
	X(PRIMARY, NOTE, "one reference more to the primary context of dev: *pctx")                                  \
	X(PRIMARY_RELEASE, GIVE, "one less; with the last one the context goes, and what was allocated in it")       \
	X(PRIMARY_RESET, GIVE, "the primary context of dev goes at once, and what was allocated in it")              \
	X(CONTEXT, NOTE, "a context appears: *pctx; device is the last argument")                                    \
	X(CONTEXT_DESTROY, GIVE, "a context goes, and what was allocated in it: ctx")                                \
	X(GREEN, NOTE, "a part of a device's processors; retains the primary context: *phCtx")                       \
	X(GREEN_DESTROY, NOTE, "it goes, and its reference to the primary context")                                  \
	X(GREEN_CONTEXT, WATCH, "a context for it: *pContext; its memory is the primary context's")                  \
	X(FUNCTION, NOTE, "a kernel is looked up, which may load its code; told once for each")                      \
	X(NOTE, NOTE, "moves no bytes, explains some")

enum cuda_class {
#define CUDA_CLASS_ENUM(name, policy, meaning) CUDA_CLASS_##name,
	CUDA_CLASS_LIST(CUDA_CLASS_ENUM)
#undef CUDA_CLASS_ENUM
};

/*
 * Entries: X(name, id, CLASS, SPACE, since). SPACE: enum mt_space without its prefix, the place of the memory that the
 * call hands out; for pools and VMM handles their location decides. since: first toolkit whose headers have the entry
 * with these arguments, as CUDA_VERSION; 11000: that one or older.
 */
#define CUDA_ENTRY_LIST(X)                                                       \
	/* Linear memory */                                                      \
	X(cuMemAlloc_v2, 243, ALLOC, DEVICE, 11000)                              \
	X(cuMemAllocPitch_v2, 244, PITCH, DEVICE, 11000)                         \
	X(cuMemAllocManaged, 371, ALLOC, MANAGED, 11000)                         \
	X(cuMemFree_v2, 245, FREE, DEVICE, 11000)                                \
	/* Host memory */                                                        \
	X(cuMemHostAlloc, 39, ALLOC, PINNED, 11000)                              \
	X(cuMemAllocHost_v2, 294, ALLOC, PINNED, 11000)                          \
	X(cuMemFreeHost, 38, FREE, PINNED, 11000)                                \
	X(cuMemHostRegister, 301, REGISTER, HOST, 11000)                         \
	X(cuMemHostRegister_v2, 379, REGISTER, HOST, 11000)                      \
	X(cuMemHostUnregister, 302, FREE, HOST, 11000)                           \
	/* In the order of a stream, and pools */                                \
	X(cuMemAllocAsync, 598, ASYNC, ASYNC, 11000)                             \
	X(cuMemAllocAsync_ptsz, 599, ASYNC, ASYNC, 11000)                        \
	X(cuMemAllocFromPoolAsync, 611, FROM_POOL, ASYNC, 11000)                 \
	X(cuMemAllocFromPoolAsync_ptsz, 612, FROM_POOL, ASYNC, 11000)            \
	X(cuMemFreeAsync, 600, FREE_ASYNC, ASYNC, 11000)                         \
	X(cuMemFreeAsync_ptsz, 601, FREE_ASYNC, ASYNC, 11000)                    \
	X(cuMemPoolCreate, 607, POOL, DEVICE, 11000)                             \
	X(cuMemPoolDestroy, 608, POOL_DESTROY, DEVICE, 11000)                    \
	X(cuMemPoolTrimTo, 602, NOTE, DEVICE, 11000)                             \
	X(cuMemPoolSetAttribute, 603, NOTE, DEVICE, 11000)                       \
	X(cuMemPoolGetAttribute, 604, NOTE, DEVICE, 11000)                       \
	X(cuMemPoolSetAccess, 605, ACCESS, DEVICE, 11000)                        \
	X(cuDeviceSetMemPool, 609, NOTE, DEVICE, 11000)                          \
	X(cuDeviceGetMemPool, 610, POOL_GET, DEVICE, 11000)                      \
	X(cuDeviceGetDefaultMemPool, 606, POOL_GET, DEVICE, 11000)               \
	X(cuMemSetMemPool, 803, NOTE, DEVICE, 13000)                             \
	X(cuMemGetMemPool, 802, POOL_AT, DEVICE, 13000)                          \
	X(cuMemGetDefaultMemPool, 801, POOL_AT, DEVICE, 13000)                   \
	X(cuMemPoolExportToShareableHandle, 613, NOTE, DEVICE, 11000)            \
	X(cuMemPoolImportFromShareableHandle, 614, POOL_IMPORT, IMPORTED, 11000) \
	X(cuMemPoolExportPointer, 615, NOTE, DEVICE, 11000)                      \
	X(cuMemPoolImportPointer, 616, OPEN, IMPORTED, 11000)                    \
	/* Virtual memory */                                                     \
	X(cuMemAddressReserve, 547, RESERVE, DEVICE, 11000)                      \
	X(cuMemAddressFree, 548, UNRESERVE, DEVICE, 11000)                       \
	X(cuMemCreate, 549, CREATE, DEVICE, 11000)                               \
	X(cuMemRelease, 550, RELEASE, DEVICE, 11000)                             \
	X(cuMemRetainAllocationHandle, 565, RETAIN, DEVICE, 11000)               \
	X(cuMemMap, 551, MAP, DEVICE, 11000)                                     \
	X(cuMemUnmap, 552, UNMAP, DEVICE, 11000)                                 \
	X(cuMemSetAccess, 553, ACCESS, DEVICE, 11000)                            \
	X(cuMemExportToShareableHandle, 554, NOTE, DEVICE, 11000)                \
	X(cuMemImportFromShareableHandle, 555, IMPORT, IMPORTED, 11000)          \
	X(cuMemMapArrayAsync, 584, NOTE, DEVICE, 11000)                          \
	X(cuMemMapArrayAsync_ptsz, 585, NOTE, DEVICE, 11000)                     \
	X(cuMemGetHandleForAddressRange, 674, NOTE, DEVICE, 11000)               \
	/* Multicast */                                                          \
	X(cuMulticastCreate, 706, MULTICAST, MULTICAST, 12010)                   \
	X(cuMulticastAddDevice, 707, NOTE, DEVICE, 12010)                        \
	X(cuMulticastBindMem, 708, NOTE, DEVICE, 12010)                          \
	X(cuMulticastBindMem_v2, 820, NOTE, DEVICE, 13010)                       \
	X(cuMulticastBindAddr, 709, NOTE, DEVICE, 12010)                         \
	X(cuMulticastBindAddr_v2, 821, NOTE, DEVICE, 13010)                      \
	X(cuMulticastUnbind, 710, NOTE, DEVICE, 12010)                           \
	X(cuLogicalEndpointCreate, 850, NOTE, DEVICE, 13040)                     \
	X(cuLogicalEndpointDestroy, 852, NOTE, DEVICE, 13040)                    \
	X(cuLogicalEndpointBindAddr, 853, NOTE, DEVICE, 13040)                   \
	X(cuLogicalEndpointBindMem, 854, NOTE, DEVICE, 13040)                    \
	X(cuLogicalEndpointUnbind, 855, NOTE, DEVICE, 13040)                     \
	X(cuLogicalEndpointImport, 857, NOTE, DEVICE, 13040)                     \
	/* Managed memory: where it is */                                        \
	X(cuMemPrefetchAsync, 467, NOTE, MANAGED, 11000)                         \
	X(cuMemPrefetchAsync_ptsz, 468, NOTE, MANAGED, 11000)                    \
	X(cuMemPrefetchAsync_v2, 716, NOTE, MANAGED, 12020)                      \
	X(cuMemPrefetchAsync_v2_ptsz, 717, NOTE, MANAGED, 12020)                 \
	X(cuMemAdvise, 457, NOTE, MANAGED, 11000)                                \
	X(cuMemAdvise_v2, 715, NOTE, MANAGED, 12020)                             \
	X(cuMemPrefetchBatchAsync, 784, NOTE, MANAGED, 13000)                    \
	X(cuMemPrefetchBatchAsync_ptsz, 785, NOTE, MANAGED, 13000)               \
	X(cuMemDiscardBatchAsync, 789, NOTE, MANAGED, 13000)                     \
	X(cuMemDiscardBatchAsync_ptsz, 790, NOTE, MANAGED, 13000)                \
	X(cuMemDiscardAndPrefetchBatchAsync, 791, NOTE, MANAGED, 13000)          \
	X(cuMemDiscardAndPrefetchBatchAsync_ptsz, 792, NOTE, MANAGED, 13000)     \
	/* Arrays */                                                             \
	X(cuArrayCreate_v2, 272, ARRAY, ARRAY, 11000)                            \
	X(cuArray3DCreate_v2, 274, ARRAY3D, ARRAY, 11000)                        \
	X(cuArrayDestroy, 89, FREE, ARRAY, 11000)                                \
	X(cuMipmappedArrayCreate, 347, MIPMAP, ARRAY, 11000)                     \
	X(cuMipmappedArrayDestroy, 349, FREE, ARRAY, 11000)                      \
	/* Memory of others */                                                   \
	X(cuIpcGetMemHandle, 328, NOTE, DEVICE, 11000)                           \
	X(cuIpcOpenMemHandle, 329, OPEN, IMPORTED, 11000)                        \
	X(cuIpcOpenMemHandle_v2, 567, OPEN, IMPORTED, 11000)                     \
	X(cuIpcCloseMemHandle, 330, FREE, IMPORTED, 11000)                       \
	X(cuImportExternalMemory, 485, NOTE, IMPORTED, 11000)                    \
	X(cuDestroyExternalMemory, 488, NOTE, IMPORTED, 11000)                   \
	X(cuExternalMemoryGetMappedBuffer, 486, OPEN_BUFFER, IMPORTED, 11000)    \
	X(cuExternalMemoryGetMappedMipmappedArray, 487, OPEN, IMPORTED, 11000)   \
	/* Graphs */                                                             \
	X(cuGraphAddMemAllocNode, 638, GRAPH_ALLOC, GRAPH, 11000)                \
	X(cuGraphAddMemFreeNode, 639, GRAPH_FREE, GRAPH, 11000)                  \
	X(cuGraphAddNode, 712, GRAPH_NODE, GRAPH, 12020)                         \
	X(cuGraphAddNode_v2, 723, GRAPH_NODE2, GRAPH, 12030)                     \
	X(cuGraphAddNode_v3, 863, GRAPH_NODE2, GRAPH, 13040)                     \
	X(cuGraphInstantiate, 513, GRAPH_EXEC, GRAPH, 11000)                     \
	X(cuGraphInstantiate_v2, 578, GRAPH_EXEC, GRAPH, 11000)                  \
	X(cuGraphInstantiateWithFlags, 643, GRAPH_EXEC, GRAPH, 11000)            \
	X(cuGraphInstantiateWithParams, 656, GRAPH_EXEC, GRAPH, 12000)           \
	X(cuGraphInstantiateWithParams_ptsz, 657, GRAPH_EXEC, GRAPH, 12000)      \
	X(cuGraphUpload, 580, GRAPH_USE, GRAPH, 11000)                           \
	X(cuGraphUpload_ptsz, 581, GRAPH_USE, GRAPH, 11000)                      \
	X(cuGraphLaunch, 514, GRAPH_USE, GRAPH, 11000)                           \
	X(cuGraphLaunch_ptsz, 515, GRAPH_USE, GRAPH, 11000)                      \
	X(cuGraphExecDestroy, 516, GRAPH_EXEC_DESTROY, GRAPH, 11000)             \
	X(cuGraphDestroy, 517, GRAPH_DESTROY, GRAPH, 11000)                      \
	X(cuDeviceGraphMemTrim, 640, NOTE, GRAPH, 11000)                         \
	X(cuDeviceGetGraphMemAttribute, 641, NOTE, GRAPH, 11000)                 \
	X(cuDeviceSetGraphMemAttribute, 642, NOTE, GRAPH, 11000)                 \
	X(cuStreamBeginCapture, 495, CAPTURE, GRAPH, 11000)                      \
	X(cuStreamBeginCapture_ptsz, 496, CAPTURE, GRAPH, 11000)                 \
	X(cuStreamBeginCapture_v2, 539, CAPTURE, GRAPH, 11000)                   \
	X(cuStreamBeginCapture_v2_ptsz, 540, CAPTURE, GRAPH, 11000)              \
	X(cuStreamBeginCaptureToGraph, 720, CAPTURE, GRAPH, 12030)               \
	X(cuStreamBeginCaptureToGraph_ptsz, 721, CAPTURE, GRAPH, 12030)          \
	X(cuStreamBeginRecaptureToGraph, 846, RECAPTURE, GRAPH, 13030)           \
	X(cuStreamBeginRecaptureToGraph_ptsz, 847, RECAPTURE, GRAPH, 13030)      \
	X(cuStreamEndCapture, 497, CAPTURE_END, GRAPH, 11000)                    \
	X(cuStreamEndCapture_ptsz, 498, CAPTURE_END, GRAPH, 11000)               \
	/* Contexts */                                                           \
	X(cuDeviceGetCount, 4, DEVICES, DEVICE, 11000)                           \
	X(cuDevicePrimaryCtxRetain, 386, PRIMARY, DEVICE, 11000)                 \
	X(cuDevicePrimaryCtxRelease, 387, PRIMARY_RELEASE, DEVICE, 11000)        \
	X(cuDevicePrimaryCtxRelease_v2, 544, PRIMARY_RELEASE, DEVICE, 11000)     \
	X(cuDevicePrimaryCtxReset, 389, PRIMARY_RESET, DEVICE, 11000)            \
	X(cuDevicePrimaryCtxReset_v2, 545, PRIMARY_RESET, DEVICE, 11000)         \
	X(cuCtxCreate, 10, CONTEXT, DEVICE, 11000)                               \
	X(cuCtxCreate_v2, 235, CONTEXT, DEVICE, 11000)                           \
	X(cuCtxCreate_v3, 645, CONTEXT, DEVICE, 11040)                           \
	X(cuCtxCreate_v4, 757, CONTEXT, DEVICE, 12050)                           \
	X(cuCtxDestroy, 11, CONTEXT_DESTROY, DEVICE, 11000)                      \
	X(cuCtxDestroy_v2, 322, CONTEXT_DESTROY, DEVICE, 11000)                  \
	X(cuGreenCtxCreate, 743, GREEN, DEVICE, 12040)                           \
	X(cuGreenCtxDestroy, 744, GREEN_DESTROY, DEVICE, 12040)                  \
	X(cuCtxFromGreenCtx, 753, GREEN_CONTEXT, DEVICE, 12040)                  \
	X(cuCtxSetLimit, 136, NOTE, DEVICE, 11000)                               \
	X(cuCtxEnablePeerAccess, 313, NOTE, DEVICE, 11000)                       \
	X(cuCtxDisablePeerAccess, 314, NOTE, DEVICE, 11000)                      \
	X(cuMemGetInfo_v2, 242, NOTE, DEVICE, 11000)                             \
	/* Code */                                                               \
	X(cuModuleLoad, 18, NOTE, DEVICE, 11000)                                 \
	X(cuModuleLoadData, 19, NOTE, DEVICE, 11000)                             \
	X(cuModuleLoadDataEx, 20, NOTE, DEVICE, 11000)                           \
	X(cuModuleLoadFatBinary, 21, NOTE, DEVICE, 11000)                        \
	X(cuModuleUnload, 22, NOTE, DEVICE, 11000)                               \
	X(cuModuleGetFunction, 23, FUNCTION, DEVICE, 11000)                      \
	X(cuModuleGetGlobal_v2, 241, NOTE, DEVICE, 11000)                        \
	X(cuLibraryLoadData, 678, NOTE, DEVICE, 12000)                           \
	X(cuLibraryLoadFromFile, 679, NOTE, DEVICE, 12000)                       \
	X(cuLibraryUnload, 680, NOTE, DEVICE, 12000)                             \
	X(cuLibraryGetModule, 682, NOTE, DEVICE, 12000)                          \
	X(cuLibraryGetGlobal, 684, NOTE, DEVICE, 12000)                          \
	X(cuLibraryGetManaged, 685, NOTE, MANAGED, 12000)                        \
	X(cuKernelGetFunction, 683, FUNCTION, DEVICE, 12000)                     \
	/* The whole process */                                                  \
	X(cuCheckpointProcessLock, 770, NOTE, DEVICE, 12080)                     \
	X(cuCheckpointProcessCheckpoint, 771, NOTE, DEVICE, 12080)               \
	X(cuCheckpointProcessRestore, 772, NOTE, DEVICE, 12080)                  \
	X(cuCheckpointProcessUnlock, 773, NOTE, DEVICE, 12080)                   \
	X(cuCheckpointOperationComplete, 861, NOTE, DEVICE, 13040)               \
	X(cuDeviceRegisterAsyncNotification, 735, NOTE, DEVICE, 12050)           \
	X(cuDeviceUnregisterAsyncNotification, 736, NOTE, DEVICE, 12050)

#include "driver_args.h"

#endif
