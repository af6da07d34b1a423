/*
 * driver_args.h - the arguments of each entry of driver_entries.h, named as in CUPTI's generated_cuda_meta.h: A(type,
 * name), with S() between two. struct args_NAME has them in order, as in CUPTI's cupti_callback_data.params. Outputs
 * may be read only at EXIT of a call that succeeded.
 */
#ifndef MEMREC_DRIVER_ARGS_H
#define MEMREC_DRIVER_ARGS_H

#include "cuda_abi.h"

/* Tables, which the formatter takes for expressions. */
/* clang-format off */
#define CUDA_ARGS_cuMemAlloc_v2(A, S) A(cuda_address *, dptr) S() A(size_t, bytesize)
#define CUDA_ARGS_cuMemAllocPitch_v2(A, S)									\
	A(cuda_address *, dptr) S() A(size_t *, pPitch) S() A(size_t, WidthInBytes) S() A(size_t, Height) S()	\
	A(unsigned int, ElementSizeBytes)
#define CUDA_ARGS_cuMemAllocManaged(A, S)									\
	A(cuda_address *, dptr) S() A(size_t, bytesize) S() A(unsigned int, flags)
#define CUDA_ARGS_cuMemFree_v2(A, S) A(cuda_address, dptr)
#define CUDA_ARGS_cuMemHostAlloc(A, S) A(void **, pp) S() A(size_t, bytesize) S() A(unsigned int, Flags)
#define CUDA_ARGS_cuMemAllocHost_v2(A, S) A(void **, pp) S() A(size_t, bytesize)
#define CUDA_ARGS_cuMemFreeHost(A, S) A(void *, p)
#define CUDA_ARGS_cuMemHostRegister(A, S) A(void *, p) S() A(size_t, bytesize) S() A(unsigned int, Flags)
#define CUDA_ARGS_cuMemHostRegister_v2(A, S) A(void *, p) S() A(size_t, bytesize) S() A(unsigned int, Flags)
#define CUDA_ARGS_cuMemHostUnregister(A, S) A(void *, p)
#define CUDA_ARGS_cuMemAllocAsync(A, S)										\
	A(cuda_address *, dptr) S() A(size_t, bytesize) S() A(struct cuda_stream *, hStream)
#define CUDA_ARGS_cuMemAllocAsync_ptsz(A, S) CUDA_ARGS_cuMemAllocAsync(A, S)
#define CUDA_ARGS_cuMemAllocFromPoolAsync(A, S)									\
	A(cuda_address *, dptr) S() A(size_t, bytesize) S() A(struct cuda_pool *, pool) S()			\
	A(struct cuda_stream *, hStream)
#define CUDA_ARGS_cuMemAllocFromPoolAsync_ptsz(A, S) CUDA_ARGS_cuMemAllocFromPoolAsync(A, S)
#define CUDA_ARGS_cuMemFreeAsync(A, S) A(cuda_address, dptr) S() A(struct cuda_stream *, hStream)
#define CUDA_ARGS_cuMemFreeAsync_ptsz(A, S) CUDA_ARGS_cuMemFreeAsync(A, S)
#define CUDA_ARGS_cuMemPoolCreate(A, S)										\
	A(struct cuda_pool **, pool) S() A(const struct cuda_pool_props *, poolProps)
#define CUDA_ARGS_cuMemPoolDestroy(A, S) A(struct cuda_pool *, pool)
#define CUDA_ARGS_cuMemPoolTrimTo(A, S) A(struct cuda_pool *, pool) S() A(size_t, minBytesToKeep)
#define CUDA_ARGS_cuMemPoolSetAttribute(A, S)									\
	A(struct cuda_pool *, pool) S() A(int, attr) S() A(void *, value)
#define CUDA_ARGS_cuMemPoolGetAttribute(A, S)									\
	A(struct cuda_pool *, pool) S() A(int, attr) S() A(void *, value)
#define CUDA_ARGS_cuMemPoolSetAccess(A, S)									\
	A(struct cuda_pool *, pool) S() A(const struct cuda_access *, map) S() A(size_t, count)
#define CUDA_ARGS_cuDeviceSetMemPool(A, S) A(cuda_device, dev) S() A(struct cuda_pool *, pool)
#define CUDA_ARGS_cuDeviceGetMemPool(A, S) A(struct cuda_pool **, pool) S() A(cuda_device, dev)
#define CUDA_ARGS_cuDeviceGetDefaultMemPool(A, S) A(struct cuda_pool **, pool_out) S() A(cuda_device, dev)
#define CUDA_ARGS_cuMemSetMemPool(A, S)										\
	A(struct cuda_location *, location) S() A(int, type) S() A(struct cuda_pool *, pool)
#define CUDA_ARGS_cuMemGetMemPool(A, S)										\
	A(struct cuda_pool **, pool) S() A(struct cuda_location *, location) S() A(int, type)
#define CUDA_ARGS_cuMemGetDefaultMemPool(A, S)									\
	A(struct cuda_pool **, pool_out) S() A(struct cuda_location *, location) S() A(int, type)
#define CUDA_ARGS_cuMemPoolExportToShareableHandle(A, S)							\
	A(void *, handle_out) S() A(struct cuda_pool *, pool) S() A(int, handleType) S()			\
	A(unsigned long long, flags)
#define CUDA_ARGS_cuMemPoolImportFromShareableHandle(A, S)							\
	A(struct cuda_pool **, pool_out) S() A(void *, handle) S() A(int, handleType) S()			\
	A(unsigned long long, flags)
#define CUDA_ARGS_cuMemPoolExportPointer(A, S)									\
	A(struct cuda_pool_pointer *, shareData_out) S() A(cuda_address, ptr)
#define CUDA_ARGS_cuMemPoolImportPointer(A, S)									\
	A(cuda_address *, ptr_out) S() A(struct cuda_pool *, pool) S()						\
	A(struct cuda_pool_pointer *, shareData)
#define CUDA_ARGS_cuMemAddressReserve(A, S)									\
	A(cuda_address *, ptr) S() A(size_t, size) S() A(size_t, alignment) S() A(cuda_address, addr) S()	\
	A(unsigned long long, flags)
#define CUDA_ARGS_cuMemAddressFree(A, S) A(cuda_address, ptr) S() A(size_t, size)
#define CUDA_ARGS_cuMemCreate(A, S)										\
	A(cuda_handle *, handle) S() A(size_t, size) S() A(const struct cuda_memory_props *, prop) S()		\
	A(unsigned long long, flags)
#define CUDA_ARGS_cuMemRelease(A, S) A(cuda_handle, handle)
#define CUDA_ARGS_cuMemRetainAllocationHandle(A, S) A(cuda_handle *, handle) S() A(void *, addr)
#define CUDA_ARGS_cuMemMap(A, S)										\
	A(cuda_address, ptr) S() A(size_t, size) S() A(size_t, offset) S() A(cuda_handle, handle) S()		\
	A(unsigned long long, flags)
#define CUDA_ARGS_cuMemUnmap(A, S) A(cuda_address, ptr) S() A(size_t, size)
#define CUDA_ARGS_cuMemSetAccess(A, S)										\
	A(cuda_address, ptr) S() A(size_t, size) S() A(const struct cuda_access *, desc) S() A(size_t, count)
#define CUDA_ARGS_cuMemExportToShareableHandle(A, S)								\
	A(void *, shareableHandle) S() A(cuda_handle, handle) S() A(int, handleType) S()			\
	A(unsigned long long, flags)
#define CUDA_ARGS_cuMemImportFromShareableHandle(A, S)								\
	A(cuda_handle *, handle) S() A(void *, osHandle) S() A(int, shHandleType)
#define CUDA_ARGS_cuMemMapArrayAsync(A, S)									\
	A(void *, mapInfoList) S() A(unsigned int, count) S() A(struct cuda_stream *, hStream)
#define CUDA_ARGS_cuMemMapArrayAsync_ptsz(A, S) CUDA_ARGS_cuMemMapArrayAsync(A, S)
#define CUDA_ARGS_cuMemGetHandleForAddressRange(A, S)								\
	A(void *, handle) S() A(cuda_address, dptr) S() A(size_t, size) S() A(int, handleType) S()		\
	A(unsigned long long, flags)
#define CUDA_ARGS_cuMulticastCreate(A, S)									\
	A(cuda_handle *, mcHandle) S() A(const struct cuda_multicast_props *, prop)
#define CUDA_ARGS_cuMulticastAddDevice(A, S) A(cuda_handle, mcHandle) S() A(cuda_device, dev)
#define CUDA_ARGS_cuMulticastBindMem(A, S)									\
	A(cuda_handle, mcHandle) S() A(size_t, mcOffset) S() A(cuda_handle, memHandle) S()			\
	A(size_t, memOffset) S() A(size_t, size) S() A(unsigned long long, flags)
#define CUDA_ARGS_cuMulticastBindMem_v2(A, S)									\
	A(cuda_handle, mcHandle) S() A(cuda_device, dev) S() A(size_t, mcOffset) S()				\
	A(cuda_handle, memHandle) S() A(size_t, memOffset) S() A(size_t, size) S()				\
	A(unsigned long long, flags)
#define CUDA_ARGS_cuMulticastBindAddr(A, S)									\
	A(cuda_handle, mcHandle) S() A(size_t, mcOffset) S() A(cuda_address, memptr) S() A(size_t, size) S()	\
	A(unsigned long long, flags)
#define CUDA_ARGS_cuMulticastBindAddr_v2(A, S)									\
	A(cuda_handle, mcHandle) S() A(cuda_device, dev) S() A(size_t, mcOffset) S()				\
	A(cuda_address, memptr) S() A(size_t, size) S() A(unsigned long long, flags)
#define CUDA_ARGS_cuMulticastUnbind(A, S)									\
	A(cuda_handle, mcHandle) S() A(cuda_device, dev) S() A(size_t, mcOffset) S() A(size_t, size)
#define CUDA_ARGS_cuLogicalEndpointCreate(A, S)									\
	A(uint32_t, leId) S() A(const struct cuda_endpoint_props *, prop)
#define CUDA_ARGS_cuLogicalEndpointDestroy(A, S) A(uint32_t, leId)
#define CUDA_ARGS_cuLogicalEndpointBindAddr(A, S)								\
	A(uint32_t, leId) S() A(cuda_device, dev) S() A(uint64_t, offset) S() A(void *, ptr) S()		\
	A(uint64_t, size) S() A(unsigned long long, flags)
#define CUDA_ARGS_cuLogicalEndpointBindMem(A, S)								\
	A(uint32_t, leId) S() A(cuda_device, dev) S() A(uint64_t, offset) S() A(cuda_handle, memHandle) S()	\
	A(uint64_t, memOffset) S() A(uint64_t, size) S() A(unsigned long long, flags)
#define CUDA_ARGS_cuLogicalEndpointUnbind(A, S)									\
	A(uint32_t, leId) S() A(cuda_device, dev) S() A(uint64_t, offset) S() A(uint64_t, size)
#define CUDA_ARGS_cuLogicalEndpointImport(A, S)									\
	A(uint32_t, leId) S() A(const void *, handle) S() A(int, handleType)
#define CUDA_ARGS_cuMemPrefetchAsync(A, S)									\
	A(cuda_address, devPtr) S() A(size_t, count) S() A(cuda_device, dstDevice) S()				\
	A(struct cuda_stream *, hStream)
#define CUDA_ARGS_cuMemPrefetchAsync_ptsz(A, S) CUDA_ARGS_cuMemPrefetchAsync(A, S)
#define CUDA_ARGS_cuMemPrefetchAsync_v2(A, S)									\
	A(cuda_address, devPtr) S() A(size_t, count) S() A(struct cuda_location, location) S()			\
	A(unsigned int, flags) S() A(struct cuda_stream *, hStream)
#define CUDA_ARGS_cuMemPrefetchAsync_v2_ptsz(A, S) CUDA_ARGS_cuMemPrefetchAsync_v2(A, S)
#define CUDA_ARGS_cuMemAdvise(A, S)										\
	A(cuda_address, devPtr) S() A(size_t, count) S() A(int, advice) S() A(cuda_device, device)
#define CUDA_ARGS_cuMemAdvise_v2(A, S)										\
	A(cuda_address, devPtr) S() A(size_t, count) S() A(int, advice) S() A(struct cuda_location, location)
#define CUDA_ARGS_cuMemPrefetchBatchAsync(A, S)									\
	A(cuda_address *, dptrs) S() A(size_t *, sizes) S() A(size_t, count) S()				\
	A(struct cuda_location *, prefetchLocs) S() A(size_t *, prefetchLocIdxs) S()				\
	A(size_t, numPrefetchLocs) S() A(unsigned long long, flags) S() A(struct cuda_stream *, hStream)
#define CUDA_ARGS_cuMemPrefetchBatchAsync_ptsz(A, S) CUDA_ARGS_cuMemPrefetchBatchAsync(A, S)
#define CUDA_ARGS_cuMemDiscardBatchAsync(A, S)									\
	A(cuda_address *, dptrs) S() A(size_t *, sizes) S() A(size_t, count) S()				\
	A(unsigned long long, flags) S() A(struct cuda_stream *, hStream)
#define CUDA_ARGS_cuMemDiscardBatchAsync_ptsz(A, S) CUDA_ARGS_cuMemDiscardBatchAsync(A, S)
#define CUDA_ARGS_cuMemDiscardAndPrefetchBatchAsync(A, S)							\
	A(cuda_address *, dptrs) S() A(size_t *, sizes) S() A(size_t, count) S()				\
	A(struct cuda_location *, prefetchLocs) S() A(size_t *, prefetchLocIdxs) S()				\
	A(size_t, numPrefetchLocs) S() A(unsigned long long, flags) S() A(struct cuda_stream *, hStream)
#define CUDA_ARGS_cuMemDiscardAndPrefetchBatchAsync_ptsz(A, S) CUDA_ARGS_cuMemDiscardAndPrefetchBatchAsync(A, S)
#define CUDA_ARGS_cuArrayCreate_v2(A, S)									\
	A(struct cuda_array **, pHandle) S() A(const struct cuda_array_desc *, pAllocateArray)
#define CUDA_ARGS_cuArray3DCreate_v2(A, S)									\
	A(struct cuda_array **, pHandle) S() A(const struct cuda_array3d_desc *, pAllocateArray)
#define CUDA_ARGS_cuArrayDestroy(A, S) A(struct cuda_array *, hArray)
#define CUDA_ARGS_cuMipmappedArrayCreate(A, S)									\
	A(struct cuda_mipmap **, pHandle) S() A(const struct cuda_array3d_desc *, pMipmappedArrayDesc) S()	\
	A(unsigned int, numMipmapLevels)
#define CUDA_ARGS_cuMipmappedArrayDestroy(A, S) A(struct cuda_mipmap *, hMipmappedArray)
#define CUDA_ARGS_cuIpcGetMemHandle(A, S) A(struct cuda_ipc_handle *, pHandle) S() A(cuda_address, dptr)
#define CUDA_ARGS_cuIpcOpenMemHandle(A, S)									\
	A(cuda_address *, pdptr) S() A(struct cuda_ipc_handle, handle) S() A(unsigned int, Flags)
#define CUDA_ARGS_cuIpcOpenMemHandle_v2(A, S)									\
	A(cuda_address *, pdptr) S() A(struct cuda_ipc_handle, handle) S() A(unsigned int, Flags)
#define CUDA_ARGS_cuIpcCloseMemHandle(A, S) A(cuda_address, dptr)
#define CUDA_ARGS_cuImportExternalMemory(A, S)									\
	A(struct cuda_external **, extMem_out) S() A(const struct cuda_external_desc *, memHandleDesc)
#define CUDA_ARGS_cuDestroyExternalMemory(A, S) A(struct cuda_external *, extMem)
#define CUDA_ARGS_cuExternalMemoryGetMappedBuffer(A, S)								\
	A(cuda_address *, devPtr) S() A(struct cuda_external *, extMem) S()					\
	A(const struct cuda_external_buffer *, bufferDesc)
#define CUDA_ARGS_cuExternalMemoryGetMappedMipmappedArray(A, S)							\
	A(struct cuda_mipmap **, mipmap) S() A(struct cuda_external *, extMem) S()				\
	A(const struct cuda_external_mipmap *, mipmapDesc)
#define CUDA_ARGS_cuGraphAddMemAllocNode(A, S)									\
	A(struct cuda_node **, phGraphNode) S() A(struct cuda_graph *, hGraph) S()				\
	A(struct cuda_node *const *, dependencies) S() A(size_t, numDependencies) S()				\
	A(struct cuda_alloc_node *, nodeParams)
#define CUDA_ARGS_cuGraphAddMemFreeNode(A, S)									\
	A(struct cuda_node **, phGraphNode) S() A(struct cuda_graph *, hGraph) S()				\
	A(struct cuda_node *const *, dependencies) S() A(size_t, numDependencies) S() A(cuda_address, dptr)
#define CUDA_ARGS_cuGraphAddNode(A, S)										\
	A(struct cuda_node **, phGraphNode) S() A(struct cuda_graph *, hGraph) S()				\
	A(struct cuda_node *const *, dependencies) S() A(size_t, numDependencies) S()				\
	A(struct cuda_node_params *, nodeParams)
#define CUDA_ARGS_cuGraphAddNode_v2(A, S)									\
	A(struct cuda_node **, phGraphNode) S() A(struct cuda_graph *, hGraph) S()				\
	A(struct cuda_node *const *, dependencies) S() A(const void *, dependencyData) S()			\
	A(size_t, numDependencies) S() A(struct cuda_node_params *, nodeParams)
#define CUDA_ARGS_cuGraphAddNode_v3(A, S)									\
	A(struct cuda_node **, phGraphNode) S() A(struct cuda_graph *, hGraph) S()				\
	A(struct cuda_node *const *, dependencies) S() A(const void *, dependencyData) S()			\
	A(size_t, numDependencies) S() A(struct cuda_node_params *, nodeParams)
#define CUDA_ARGS_cuGraphInstantiate(A, S)									\
	A(struct cuda_exec **, phGraphExec) S() A(struct cuda_graph *, hGraph) S()				\
	A(struct cuda_node **, phErrorNode) S() A(char *, logBuffer) S() A(size_t, bufferSize)
#define CUDA_ARGS_cuGraphInstantiate_v2(A, S)									\
	A(struct cuda_exec **, phGraphExec) S() A(struct cuda_graph *, hGraph) S()				\
	A(struct cuda_node **, phErrorNode) S() A(char *, logBuffer) S() A(size_t, bufferSize)
#define CUDA_ARGS_cuGraphInstantiateWithFlags(A, S)								\
	A(struct cuda_exec **, phGraphExec) S() A(struct cuda_graph *, hGraph) S()				\
	A(unsigned long long, flags)
#define CUDA_ARGS_cuGraphInstantiateWithParams(A, S)								\
	A(struct cuda_exec **, phGraphExec) S() A(struct cuda_graph *, hGraph) S()				\
	A(struct cuda_instantiate_params *, instantiateParams)
#define CUDA_ARGS_cuGraphInstantiateWithParams_ptsz(A, S) CUDA_ARGS_cuGraphInstantiateWithParams(A, S)
#define CUDA_ARGS_cuGraphUpload(A, S) A(struct cuda_exec *, hGraph) S() A(struct cuda_stream *, hStream)
#define CUDA_ARGS_cuGraphUpload_ptsz(A, S)									\
	A(struct cuda_exec *, hGraphExec) S() A(struct cuda_stream *, hStream)
#define CUDA_ARGS_cuGraphLaunch(A, S) A(struct cuda_exec *, hGraph) S() A(struct cuda_stream *, hStream)
#define CUDA_ARGS_cuGraphLaunch_ptsz(A, S)									\
	A(struct cuda_exec *, hGraphExec) S() A(struct cuda_stream *, hStream)
#define CUDA_ARGS_cuGraphExecDestroy(A, S) A(struct cuda_exec *, hGraphExec)
#define CUDA_ARGS_cuGraphDestroy(A, S) A(struct cuda_graph *, hGraph)
#define CUDA_ARGS_cuDeviceGraphMemTrim(A, S) A(cuda_device, device)
#define CUDA_ARGS_cuDeviceGetGraphMemAttribute(A, S)								\
	A(cuda_device, device) S() A(int, attr) S() A(void *, value)
#define CUDA_ARGS_cuDeviceSetGraphMemAttribute(A, S)								\
	A(cuda_device, device) S() A(int, attr) S() A(void *, value)
#define CUDA_ARGS_cuStreamBeginCapture(A, S) A(struct cuda_stream *, hStream)
#define CUDA_ARGS_cuStreamBeginCapture_ptsz(A, S) CUDA_ARGS_cuStreamBeginCapture(A, S)
#define CUDA_ARGS_cuStreamBeginCapture_v2(A, S) A(struct cuda_stream *, hStream) S() A(int, mode)
#define CUDA_ARGS_cuStreamBeginCapture_v2_ptsz(A, S) CUDA_ARGS_cuStreamBeginCapture_v2(A, S)
#define CUDA_ARGS_cuStreamBeginCaptureToGraph(A, S)								\
	A(struct cuda_stream *, hStream) S() A(struct cuda_graph *, hGraph) S()					\
	A(struct cuda_node *const *, dependencies) S() A(const void *, dependencyData) S()			\
	A(size_t, numDependencies) S() A(int, mode)
#define CUDA_ARGS_cuStreamBeginCaptureToGraph_ptsz(A, S) CUDA_ARGS_cuStreamBeginCaptureToGraph(A, S)
#define CUDA_ARGS_cuStreamBeginRecaptureToGraph(A, S)								\
	A(struct cuda_stream *, hStream) S() A(int, mode) S() A(struct cuda_graph *, hGraph) S()		\
	A(void *, callbackFunc) S() A(void *, userData)
#define CUDA_ARGS_cuStreamBeginRecaptureToGraph_ptsz(A, S) CUDA_ARGS_cuStreamBeginRecaptureToGraph(A, S)
#define CUDA_ARGS_cuStreamEndCapture(A, S)									\
	A(struct cuda_stream *, hStream) S() A(struct cuda_graph **, phGraph)
#define CUDA_ARGS_cuStreamEndCapture_ptsz(A, S) CUDA_ARGS_cuStreamEndCapture(A, S)
#define CUDA_ARGS_cuDeviceGetCount(A, S) A(int *, count)
#define CUDA_ARGS_cuDevicePrimaryCtxRetain(A, S) A(struct cuda_context **, pctx) S() A(cuda_device, dev)
#define CUDA_ARGS_cuDevicePrimaryCtxRelease(A, S) A(cuda_device, dev)
#define CUDA_ARGS_cuDevicePrimaryCtxRelease_v2(A, S) A(cuda_device, dev)
#define CUDA_ARGS_cuDevicePrimaryCtxReset(A, S) A(cuda_device, dev)
#define CUDA_ARGS_cuDevicePrimaryCtxReset_v2(A, S) A(cuda_device, dev)
#define CUDA_ARGS_cuCtxCreate(A, S)										\
	A(struct cuda_context **, pctx) S() A(unsigned int, flags) S() A(cuda_device, dev)
#define CUDA_ARGS_cuCtxCreate_v2(A, S)										\
	A(struct cuda_context **, pctx) S() A(unsigned int, flags) S() A(cuda_device, dev)
#define CUDA_ARGS_cuCtxCreate_v3(A, S)										\
	A(struct cuda_context **, pctx) S() A(void *, paramsArray) S() A(int, numParams) S()			\
	A(unsigned int, flags) S() A(cuda_device, dev)
#define CUDA_ARGS_cuCtxCreate_v4(A, S)										\
	A(struct cuda_context **, pctx) S() A(void *, ctxCreateParams) S() A(unsigned int, flags) S()		\
	A(cuda_device, dev)
#define CUDA_ARGS_cuCtxDestroy(A, S) A(struct cuda_context *, ctx)
#define CUDA_ARGS_cuCtxDestroy_v2(A, S) A(struct cuda_context *, ctx)
#define CUDA_ARGS_cuGreenCtxCreate(A, S)									\
	A(struct cuda_green **, phCtx) S() A(void *, desc) S() A(cuda_device, dev) S() A(unsigned int, flags)
#define CUDA_ARGS_cuGreenCtxDestroy(A, S) A(struct cuda_green *, hCtx)
#define CUDA_ARGS_cuCtxFromGreenCtx(A, S) A(struct cuda_context **, pContext) S() A(struct cuda_green *, hCtx)
#define CUDA_ARGS_cuCtxSetLimit(A, S) A(int, limit) S() A(size_t, value)
#define CUDA_ARGS_cuCtxEnablePeerAccess(A, S) A(struct cuda_context *, peerContext) S() A(unsigned int, Flags)
#define CUDA_ARGS_cuCtxDisablePeerAccess(A, S) A(struct cuda_context *, peerContext)
#define CUDA_ARGS_cuMemGetInfo_v2(A, S) A(size_t *, free) S() A(size_t *, total)
#define CUDA_ARGS_cuModuleLoad(A, S) A(struct cuda_module **, module) S() A(const char *, fname)
#define CUDA_ARGS_cuModuleLoadData(A, S) A(struct cuda_module **, module) S() A(const void *, image)
#define CUDA_ARGS_cuModuleLoadDataEx(A, S)									\
	A(struct cuda_module **, module) S() A(const void *, image) S() A(unsigned int, numOptions) S()		\
	A(int *, options) S() A(void **, optionValues)
#define CUDA_ARGS_cuModuleLoadFatBinary(A, S) A(struct cuda_module **, module) S() A(const void *, fatCubin)
#define CUDA_ARGS_cuModuleUnload(A, S) A(struct cuda_module *, hmod)
#define CUDA_ARGS_cuModuleGetFunction(A, S)									\
	A(struct cuda_function **, hfunc) S() A(struct cuda_module *, hmod) S() A(const char *, name)
#define CUDA_ARGS_cuModuleGetGlobal_v2(A, S)									\
	A(cuda_address *, dptr) S() A(size_t *, bytes) S() A(struct cuda_module *, hmod) S()			\
	A(const char *, name)
#define CUDA_ARGS_cuLibraryLoadData(A, S)									\
	A(struct cuda_library **, library) S() A(const void *, code) S() A(int *, jitOptions) S()		\
	A(void **, jitOptionsValues) S() A(unsigned int, numJitOptions) S() A(int *, libraryOptions) S()	\
	A(void **, libraryOptionValues) S() A(unsigned int, numLibraryOptions)
#define CUDA_ARGS_cuLibraryLoadFromFile(A, S)									\
	A(struct cuda_library **, library) S() A(const char *, fileName) S() A(int *, jitOptions) S()		\
	A(void **, jitOptionsValues) S() A(unsigned int, numJitOptions) S() A(int *, libraryOptions) S()	\
	A(void **, libraryOptionValues) S() A(unsigned int, numLibraryOptions)
#define CUDA_ARGS_cuLibraryUnload(A, S) A(struct cuda_library *, library)
#define CUDA_ARGS_cuLibraryGetModule(A, S)									\
	A(struct cuda_module **, pMod) S() A(struct cuda_library *, library)
#define CUDA_ARGS_cuLibraryGetGlobal(A, S)									\
	A(cuda_address *, dptr) S() A(size_t *, bytes) S() A(struct cuda_library *, library) S()		\
	A(const char *, name)
#define CUDA_ARGS_cuLibraryGetManaged(A, S)									\
	A(cuda_address *, dptr) S() A(size_t *, bytes) S() A(struct cuda_library *, library) S()		\
	A(const char *, name)
#define CUDA_ARGS_cuKernelGetFunction(A, S)									\
	A(struct cuda_function **, pFunc) S() A(struct cuda_kernel *, kernel)
#define CUDA_ARGS_cuCheckpointProcessLock(A, S) A(int, pid) S() A(void *, args)
#define CUDA_ARGS_cuCheckpointProcessCheckpoint(A, S) A(int, pid) S() A(void *, args)
#define CUDA_ARGS_cuCheckpointProcessRestore(A, S) A(int, pid) S() A(void *, args)
#define CUDA_ARGS_cuCheckpointProcessUnlock(A, S) A(int, pid) S() A(void *, args)
#define CUDA_ARGS_cuCheckpointOperationComplete(A, S) A(void *, handle)
#define CUDA_ARGS_cuDeviceRegisterAsyncNotification(A, S)							\
	A(cuda_device, device) S() A(void *, callbackFunc) S() A(void *, userData) S()				\
	A(struct cuda_notification **, callback)
#define CUDA_ARGS_cuDeviceUnregisterAsyncNotification(A, S)							\
	A(cuda_device, device) S() A(struct cuda_notification *, callback)

/* clang-format on */

#define CUDA_ARGS_MEMBER(type, name) type name;
#define CUDA_ARGS_NOTHING()
#define CUDA_ARGS_STRUCT(entry, id, class, space, since)               \
	struct args_##entry {                                          \
		CUDA_ARGS_##entry(CUDA_ARGS_MEMBER, CUDA_ARGS_NOTHING) \
	};
CUDA_ENTRY_LIST(CUDA_ARGS_STRUCT)
#undef CUDA_ARGS_STRUCT
#undef CUDA_ARGS_NOTHING
#undef CUDA_ARGS_MEMBER

#endif
