/*
 * driver_notes.h - what DRIVER_NOTE events say, written once: X(entry, device, addr, size, handle, value). The fields
 * are expressions of the call's arguments `a` (struct args_NAME), evaluated at EXIT:
 *
 *     HERE          the device of the current context       ID(p)       a pointer as a number
 *     OF(c)         the device of a context                NUMBER(n)   an enumeration, an id
 *     PLACE(l)      the device that a location says
 *     OUT(p)        what was written to *p; 0 when the call failed, or nobody asked
 *     IN(p, m)      a member of what the program passed, likewise
 *     POOL_VALUE, GRAPH_VALUE                              what an attribute was set to, or is
 *     FIRST, SUM    of a batch
 *
 * The table of docs/driver-entries.md is made from this, too.
 */
#ifndef RECORDER_DRIVER_NOTES_H
#define RECORDER_DRIVER_NOTES_H

#define CUDA_NOTE_LIST(X)                                                                                           \
	X(cuMemPoolCreate, PLACE(&a->poolProps->location), 0, 0, OUT(a->pool), 0)                                   \
	X(cuMemPoolDestroy, HERE, 0, 0, ID(a->pool), 0)                                                             \
	X(cuMemPoolTrimTo, HERE, 0, a->minBytesToKeep, ID(a->pool), 0)                                              \
	X(cuMemPoolSetAttribute, HERE, 0, POOL_VALUE(a->attr, a->value), ID(a->pool), NUMBER(a->attr))              \
	X(cuMemPoolGetAttribute, HERE, 0, POOL_VALUE(a->attr, a->value), ID(a->pool), NUMBER(a->attr))              \
	X(cuDeviceSetMemPool, a->dev, 0, 0, ID(a->pool), 0)                                                         \
	X(cuMemSetMemPool, PLACE(a->location), 0, 0, ID(a->pool), 0)                                                \
	X(cuMemPoolExportToShareableHandle, HERE, 0, 0, ID(a->pool), NUMBER(a->handleType))                         \
	X(cuMemPoolImportFromShareableHandle, HERE, 0, 0, OUT(a->pool_out), NUMBER(a->handleType))                  \
	X(cuMemPoolExportPointer, HERE, a->ptr, 0, 0, 0)                                                            \
	X(cuMemExportToShareableHandle, HERE, 0, 0, a->handle, NUMBER(a->handleType))                               \
	X(cuMemMapArrayAsync, HERE, 0, 0, 0, a->count)                                                              \
	X(cuMemMapArrayAsync_ptsz, HERE, 0, 0, 0, a->count)                                                         \
	X(cuMemGetHandleForAddressRange, HERE, a->dptr, a->size, 0, NUMBER(a->handleType))                          \
	X(cuMulticastAddDevice, a->dev, 0, 0, a->mcHandle, 0)                                                       \
	X(cuMulticastBindMem, HERE, 0, a->size, a->mcHandle, a->memHandle)                                          \
	X(cuMulticastBindMem_v2, a->dev, 0, a->size, a->mcHandle, a->memHandle)                                     \
	X(cuMulticastBindAddr, HERE, a->memptr, a->size, a->mcHandle, 0)                                            \
	X(cuMulticastBindAddr_v2, a->dev, a->memptr, a->size, a->mcHandle, 0)                                       \
	X(cuMulticastUnbind, a->dev, 0, a->size, a->mcHandle, 0)                                                    \
	X(cuLogicalEndpointCreate, HERE, 0, IN(a->prop, size), a->leId, 0)                                          \
	X(cuLogicalEndpointDestroy, HERE, 0, 0, a->leId, 0)                                                         \
	X(cuLogicalEndpointBindAddr, a->dev, ID(a->ptr), a->size, a->leId, 0)                                       \
	X(cuLogicalEndpointBindMem, a->dev, 0, a->size, a->leId, a->memHandle)                                      \
	X(cuLogicalEndpointUnbind, a->dev, 0, a->size, a->leId, 0)                                                  \
	X(cuLogicalEndpointImport, HERE, 0, 0, a->leId, NUMBER(a->handleType))                                      \
	X(cuMemPrefetchAsync, a->dstDevice, a->devPtr, a->count, 0, 0)                                              \
	X(cuMemPrefetchAsync_ptsz, a->dstDevice, a->devPtr, a->count, 0, 0)                                         \
	X(cuMemPrefetchAsync_v2, PLACE(&a->location), a->devPtr, a->count, 0, 0)                                    \
	X(cuMemPrefetchAsync_v2_ptsz, PLACE(&a->location), a->devPtr, a->count, 0, 0)                               \
	X(cuMemAdvise, a->device, a->devPtr, a->count, 0, NUMBER(a->advice))                                        \
	X(cuMemAdvise_v2, PLACE(&a->location), a->devPtr, a->count, 0, NUMBER(a->advice))                           \
	X(cuMemPrefetchBatchAsync, HERE, FIRST(a->dptrs, a->count), SUM(a->sizes, a->count), 0, a->count)           \
	X(cuMemPrefetchBatchAsync_ptsz, HERE, FIRST(a->dptrs, a->count), SUM(a->sizes, a->count), 0, a->count)      \
	X(cuMemDiscardBatchAsync, HERE, FIRST(a->dptrs, a->count), SUM(a->sizes, a->count), 0, a->count)            \
	X(cuMemDiscardBatchAsync_ptsz, HERE, FIRST(a->dptrs, a->count), SUM(a->sizes, a->count), 0, a->count)       \
	X(cuMemDiscardAndPrefetchBatchAsync, HERE, FIRST(a->dptrs, a->count), SUM(a->sizes, a->count), 0, a->count) \
	X(cuMemDiscardAndPrefetchBatchAsync_ptsz, HERE, FIRST(a->dptrs, a->count), SUM(a->sizes, a->count), 0,      \
	  a->count)                                                                                                 \
	X(cuIpcGetMemHandle, HERE, a->dptr, 0, 0, 0)                                                                \
	X(cuImportExternalMemory, HERE, 0, IN(a->memHandleDesc, size), OUT(a->extMem_out),                          \
	  NUMBER(IN(a->memHandleDesc, type)))                                                                       \
	X(cuDestroyExternalMemory, HERE, 0, 0, ID(a->extMem), 0)                                                    \
	X(cuGraphInstantiate, HERE, 0, 0, OUT(a->phGraphExec), ID(a->hGraph))                                       \
	X(cuGraphInstantiate_v2, HERE, 0, 0, OUT(a->phGraphExec), ID(a->hGraph))                                    \
	X(cuGraphInstantiateWithFlags, HERE, 0, 0, OUT(a->phGraphExec), ID(a->hGraph))                              \
	X(cuGraphInstantiateWithParams, HERE, 0, 0, OUT(a->phGraphExec), ID(a->hGraph))                             \
	X(cuGraphInstantiateWithParams_ptsz, HERE, 0, 0, OUT(a->phGraphExec), ID(a->hGraph))                        \
	X(cuGraphUpload, HERE, 0, 0, ID(a->hGraph), 0)                                                              \
	X(cuGraphUpload_ptsz, HERE, 0, 0, ID(a->hGraphExec), 0)                                                     \
	X(cuGraphExecDestroy, HERE, 0, 0, ID(a->hGraphExec), 0)                                                     \
	X(cuGraphDestroy, HERE, 0, 0, ID(a->hGraph), 0)                                                             \
	X(cuDeviceGraphMemTrim, a->device, 0, 0, 0, 0)                                                              \
	X(cuDeviceGetGraphMemAttribute, a->device, 0, GRAPH_VALUE(a->value), 0, NUMBER(a->attr))                    \
	X(cuDeviceSetGraphMemAttribute, a->device, 0, GRAPH_VALUE(a->value), 0, NUMBER(a->attr))                    \
	X(cuDevicePrimaryCtxRetain, a->dev, 0, 0, OUT(a->pctx), 0)                                                  \
	X(cuCtxCreate, a->dev, 0, 0, OUT(a->pctx), 0)                                                               \
	X(cuCtxCreate_v2, a->dev, 0, 0, OUT(a->pctx), 0)                                                            \
	X(cuCtxCreate_v3, a->dev, 0, 0, OUT(a->pctx), 0)                                                            \
	X(cuCtxCreate_v4, a->dev, 0, 0, OUT(a->pctx), 0)                                                            \
	X(cuGreenCtxCreate, a->dev, 0, 0, OUT(a->phCtx), 0)                                                         \
	X(cuGreenCtxDestroy, OF(a->hCtx), 0, 0, ID(a->hCtx), 0)                                                     \
	X(cuCtxSetLimit, HERE, 0, a->value, 0, NUMBER(a->limit))                                                    \
	X(cuCtxEnablePeerAccess, HERE, 0, 0, ID(a->peerContext), 0)                                                 \
	X(cuCtxDisablePeerAccess, HERE, 0, 0, ID(a->peerContext), 0)                                                \
	X(cuMemGetInfo_v2, HERE, 0, OUT(a->total), 0, OUT(a->free))                                                 \
	X(cuModuleLoad, HERE, 0, 0, OUT(a->module), 0)                                                              \
	X(cuModuleLoadData, HERE, 0, 0, OUT(a->module), 0)                                                          \
	X(cuModuleLoadDataEx, HERE, 0, 0, OUT(a->module), 0)                                                        \
	X(cuModuleLoadFatBinary, HERE, 0, 0, OUT(a->module), 0)                                                     \
	X(cuModuleUnload, HERE, 0, 0, ID(a->hmod), 0)                                                               \
	X(cuModuleGetFunction, HERE, 0, 0, OUT(a->hfunc), ID(a->hmod))                                              \
	X(cuModuleGetGlobal_v2, HERE, OUT(a->dptr), OUT(a->bytes), ID(a->hmod), 0)                                  \
	X(cuLibraryLoadData, HERE, 0, 0, OUT(a->library), 0)                                                        \
	X(cuLibraryLoadFromFile, HERE, 0, 0, OUT(a->library), 0)                                                    \
	X(cuLibraryUnload, HERE, 0, 0, ID(a->library), 0)                                                           \
	X(cuLibraryGetModule, HERE, 0, 0, OUT(a->pMod), ID(a->library))                                             \
	X(cuLibraryGetGlobal, HERE, OUT(a->dptr), OUT(a->bytes), ID(a->library), 0)                                 \
	X(cuLibraryGetManaged, HERE, OUT(a->dptr), OUT(a->bytes), ID(a->library), 0)                                \
	X(cuKernelGetFunction, HERE, 0, 0, OUT(a->pFunc), ID(a->kernel))                                            \
	X(cuCheckpointProcessLock, HERE, 0, 0, 0, NUMBER(a->pid))                                                   \
	X(cuCheckpointProcessCheckpoint, HERE, 0, 0, 0, NUMBER(a->pid))                                             \
	X(cuCheckpointProcessRestore, HERE, 0, 0, 0, NUMBER(a->pid))                                                \
	X(cuCheckpointProcessUnlock, HERE, 0, 0, 0, NUMBER(a->pid))                                                 \
	X(cuCheckpointOperationComplete, HERE, 0, 0, ID(a->handle), 0)                                              \
	X(cuDeviceRegisterAsyncNotification, a->device, 0, 0, OUT(a->callback), 0)                                  \
	X(cuDeviceUnregisterAsyncNotification, a->device, 0, 0, ID(a->callback), 0)

#endif
