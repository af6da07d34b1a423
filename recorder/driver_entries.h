/*
 * driver_entries.h - the calls of the CUDA driver that change memory, written once. Made from this list: what the
 * agent enables and how it decodes, the stand-in driver's entry points, the check against the toolkit's headers
 * (tests/abi) and the table in the documentation.
 *
 * Ids are CUPTI's (cupti_driver_cbid.h); they are append-only, an unknown one is refused with CUPTI_INVALID_PARAMETER.
 * Arguments carry the names they have in generated_cuda_meta.h; struct args_NAME has them in order, as CUPTI shows
 * them in cupti_callback_data.params. Pointers to outputs may be followed at EXIT of a call that succeeded, never else.
 */
#ifndef MEMREC_DRIVER_ENTRIES_H
#define MEMREC_DRIVER_ENTRIES_H

#include "cuda_abi.h"

/*
 * Classes: X(NAME, enable, meaning). All entries of a class begin with the arguments of its `struct args_...`
 * named below, so a decoder needs one function per class and not one per entry. enable 0: tells nothing about bytes.
 */
#define CUDA_CLASS_LIST(X)                                                                              \
	X(ALLOC, 1, "memory handed out: *dptr or *pp, bytesize (args_cuMemAlloc_v2)")                   \
	X(PITCH, 1, "memory handed out in rows: *pPitch * Height bytes")                                \
	X(FREE, 1, "memory taken back: address at ENTER (args_cuMemFree_v2)")                           \
	X(REGISTER, 1, "memory of the program made known: p, bytesize (args_cuMemHostRegister_v2)")     \
	X(RESERVE, 1, "addresses only, no bytes: *ptr, size")                                           \
	X(UNRESERVE, 1, "addresses given back: ptr, size")                                              \
	X(CREATE, 1, "physical memory taken: *handle, size, place in *prop")                            \
	X(RELEASE, 1, "one reference to a handle dropped")                                              \
	X(RETAIN, 1, "one reference more: *handle of a mapped address")                                 \
	X(MAP, 1, "part of a handle appears at an address")                                             \
	X(UNMAP, 1, "mappings in a range disappear")                                                    \
	X(IMPORT, 1, "handle to memory that another process counts: *handle")                           \
	X(EXPORT, 0, "a handle is given to another process")                                            \
	X(ACCESS, 0, "protection of a mapped range")                                                    \
	X(CONTEXT, 1, "a context appears: *pctx; device is the last argument")                          \
	X(CONTEXT_DROP, 1, "a primary context loses a reference or all: dev")                           \
	X(CONTEXT_DESTROY, 1, "a context goes, and what was allocated in it: ctx")

enum cuda_class {
#define CUDA_CLASS_ENUM(name, enable, meaning) CUDA_CLASS_##name,
	CUDA_CLASS_LIST(CUDA_CLASS_ENUM)
#undef CUDA_CLASS_ENUM
};

/*
 * Entries: X(name, id, CLASS, SPACE). SPACE is an enum mt_space of event.h without its prefix: where the memory lies
 * (that of VMM handles follows from their location).
 */
#define CUDA_ENTRY_LIST(X)                                                                              \
	X(cuMemAlloc_v2, 243, ALLOC, DEVICE)                                                            \
	X(cuMemAllocPitch_v2, 244, PITCH, DEVICE)                                                       \
	X(cuMemFree_v2, 245, FREE, DEVICE)                                                              \
	X(cuMemAllocAsync, 598, ALLOC, ASYNC)                                                           \
	X(cuMemAllocAsync_ptsz, 599, ALLOC, ASYNC)                                                      \
	X(cuMemAllocFromPoolAsync, 611, ALLOC, ASYNC)                                                   \
	X(cuMemAllocFromPoolAsync_ptsz, 612, ALLOC, ASYNC)                                              \
	X(cuMemFreeAsync, 600, FREE, ASYNC)                                                             \
	X(cuMemFreeAsync_ptsz, 601, FREE, ASYNC)                                                        \
	X(cuMemAllocManaged, 371, ALLOC, MANAGED)                                                       \
	X(cuMemHostAlloc, 39, ALLOC, PINNED)                                                            \
	X(cuMemAllocHost_v2, 294, ALLOC, PINNED)                                                        \
	X(cuMemFreeHost, 38, FREE, PINNED)                                                              \
	X(cuMemHostRegister_v2, 379, REGISTER, HOST)                                                    \
	X(cuMemHostUnregister, 302, FREE, HOST)                                                         \
	X(cuMemAddressReserve, 547, RESERVE, DEVICE)                                                    \
	X(cuMemAddressFree, 548, UNRESERVE, DEVICE)                                                     \
	X(cuMemCreate, 549, CREATE, DEVICE)                                                             \
	X(cuMemRelease, 550, RELEASE, DEVICE)                                                           \
	X(cuMemRetainAllocationHandle, 565, RETAIN, DEVICE)                                             \
	X(cuMemMap, 551, MAP, DEVICE)                                                                   \
	X(cuMemUnmap, 552, UNMAP, DEVICE)                                                               \
	X(cuMemSetAccess, 553, ACCESS, DEVICE)                                                          \
	X(cuMemExportToShareableHandle, 554, EXPORT, DEVICE)                                            \
	X(cuMemImportFromShareableHandle, 555, IMPORT, IMPORTED)                                        \
	X(cuDevicePrimaryCtxRetain, 386, CONTEXT, DEVICE)                                               \
	X(cuDevicePrimaryCtxRelease_v2, 544, CONTEXT_DROP, DEVICE)                                      \
	X(cuDevicePrimaryCtxReset_v2, 545, CONTEXT_DROP, DEVICE)                                        \
	X(cuCtxCreate_v2, 235, CONTEXT, DEVICE)                                                         \
	X(cuCtxCreate_v3, 645, CONTEXT, DEVICE)                                                         \
	X(cuCtxCreate_v4, 757, CONTEXT, DEVICE)                                                         \
	X(cuCtxDestroy_v2, 322, CONTEXT_DESTROY, DEVICE)

/* Arguments, one list per entry: A(type, name), with S() between two of them. */
#define CUDA_ARGS_cuMemAlloc_v2(A, S) A(cuda_address *, dptr) S() A(size_t, bytesize)
#define CUDA_ARGS_cuMemAllocPitch_v2(A, S)                                                              \
	A(cuda_address *, dptr) S() A(size_t *, pPitch) S() A(size_t, WidthInBytes) S() A(size_t, Height) S() \
	A(unsigned int, ElementSizeBytes)
#define CUDA_ARGS_cuMemFree_v2(A, S) A(cuda_address, dptr)
#define CUDA_ARGS_cuMemAllocAsync(A, S)                                                                 \
	A(cuda_address *, dptr) S() A(size_t, bytesize) S() A(struct cuda_stream *, hStream)
#define CUDA_ARGS_cuMemAllocAsync_ptsz(A, S) CUDA_ARGS_cuMemAllocAsync(A, S)
#define CUDA_ARGS_cuMemAllocFromPoolAsync(A, S)                                                         \
	A(cuda_address *, dptr) S() A(size_t, bytesize) S() A(struct cuda_pool *, pool) S()             \
	A(struct cuda_stream *, hStream)
#define CUDA_ARGS_cuMemAllocFromPoolAsync_ptsz(A, S) CUDA_ARGS_cuMemAllocFromPoolAsync(A, S)
#define CUDA_ARGS_cuMemFreeAsync(A, S) A(cuda_address, dptr) S() A(struct cuda_stream *, hStream)
#define CUDA_ARGS_cuMemFreeAsync_ptsz(A, S) CUDA_ARGS_cuMemFreeAsync(A, S)
#define CUDA_ARGS_cuMemAllocManaged(A, S) A(cuda_address *, dptr) S() A(size_t, bytesize) S() A(unsigned int, flags)
#define CUDA_ARGS_cuMemHostAlloc(A, S) A(void **, pp) S() A(size_t, bytesize) S() A(unsigned int, Flags)
#define CUDA_ARGS_cuMemAllocHost_v2(A, S) A(void **, pp) S() A(size_t, bytesize)
#define CUDA_ARGS_cuMemFreeHost(A, S) A(void *, p)
#define CUDA_ARGS_cuMemHostRegister_v2(A, S) A(void *, p) S() A(size_t, bytesize) S() A(unsigned int, Flags)
#define CUDA_ARGS_cuMemHostUnregister(A, S) A(void *, p)
#define CUDA_ARGS_cuMemAddressReserve(A, S)                                                             \
	A(cuda_address *, ptr) S() A(size_t, size) S() A(size_t, alignment) S() A(cuda_address, addr) S() \
	A(unsigned long long, flags)
#define CUDA_ARGS_cuMemAddressFree(A, S) A(cuda_address, ptr) S() A(size_t, size)
#define CUDA_ARGS_cuMemCreate(A, S)                                                                     \
	A(cuda_handle *, handle) S() A(size_t, size) S() A(const struct cuda_memory_props *, prop) S()  \
	A(unsigned long long, flags)
#define CUDA_ARGS_cuMemRelease(A, S) A(cuda_handle, handle)
#define CUDA_ARGS_cuMemRetainAllocationHandle(A, S) A(cuda_handle *, handle) S() A(void *, addr)
#define CUDA_ARGS_cuMemMap(A, S)                                                                        \
	A(cuda_address, ptr) S() A(size_t, size) S() A(size_t, offset) S() A(cuda_handle, handle) S()   \
	A(unsigned long long, flags)
#define CUDA_ARGS_cuMemUnmap(A, S) A(cuda_address, ptr) S() A(size_t, size)
#define CUDA_ARGS_cuMemSetAccess(A, S)                                                                  \
	A(cuda_address, ptr) S() A(size_t, size) S() A(const struct cuda_access *, desc) S() A(size_t, count)
#define CUDA_ARGS_cuMemExportToShareableHandle(A, S)                                                    \
	A(void *, shareableHandle) S() A(cuda_handle, handle) S() A(int, handleType) S() A(unsigned long long, flags)
#define CUDA_ARGS_cuMemImportFromShareableHandle(A, S)                                                  \
	A(cuda_handle *, handle) S() A(void *, osHandle) S() A(int, shHandleType)
#define CUDA_ARGS_cuDevicePrimaryCtxRetain(A, S) A(struct cuda_context **, pctx) S() A(cuda_device, dev)
#define CUDA_ARGS_cuDevicePrimaryCtxRelease_v2(A, S) A(cuda_device, dev)
#define CUDA_ARGS_cuDevicePrimaryCtxReset_v2(A, S) A(cuda_device, dev)
#define CUDA_ARGS_cuCtxCreate_v2(A, S)                                                                  \
	A(struct cuda_context **, pctx) S() A(unsigned int, flags) S() A(cuda_device, dev)
#define CUDA_ARGS_cuCtxCreate_v3(A, S)                                                                  \
	A(struct cuda_context **, pctx) S() A(void *, paramsArray) S() A(int, numParams) S()            \
	A(unsigned int, flags) S() A(cuda_device, dev)
#define CUDA_ARGS_cuCtxCreate_v4(A, S)                                                                  \
	A(struct cuda_context **, pctx) S() A(void *, ctxCreateParams) S() A(unsigned int, flags) S()   \
	A(cuda_device, dev)
#define CUDA_ARGS_cuCtxDestroy_v2(A, S) A(struct cuda_context *, ctx)

#define CUDA_ARGS_MEMBER(type, name) type name;
#define CUDA_ARGS_NOTHING()
#define CUDA_ARGS_STRUCT(entry, id, class, space)                                                       \
	struct args_##entry {                                                                           \
		CUDA_ARGS_##entry(CUDA_ARGS_MEMBER, CUDA_ARGS_NOTHING)                                  \
	};
CUDA_ENTRY_LIST(CUDA_ARGS_STRUCT)
#undef CUDA_ARGS_STRUCT
#undef CUDA_ARGS_NOTHING
#undef CUDA_ARGS_MEMBER

#endif
