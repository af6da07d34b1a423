/* test_standin_more.c - the stand-in driver: graphs, arrays, pools of all places, green contexts, code, multicast. */
#include "standin.h"

static const struct cuda_pool_props gpu_pool = { .type = CUDA_MEMORY_PINNED, .location = { CUDA_LOCATION_DEVICE, 0 } };

/* ---- Graphs ---- */

static cuda_address add_alloc(struct cuda_graph *graph, uint64_t bytes)
{
	struct cuda_alloc_node params = { .pool = gpu_pool, .bytes = bytes };
	struct cuda_node *node;

	CHECK_EQ(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params), CUDA_OK);
	return params.address;
}

static void add_free(struct cuda_graph *graph, cuda_address address)
{
	struct cuda_node *node;

	CHECK_EQ(cuGraphAddMemFreeNode(&node, graph, NULL, 0, address), CUDA_OK);
}

static uint64_t graph_value(int attribute)
{
	uint64_t value;

	CHECK_EQ(cuDeviceGetGraphMemAttribute(0, attribute, &value), CUDA_OK);
	return value;
}

TEST(graphs_take_memory_when_they_first_run)
{
	struct cuda_graph *graph;
	struct cuda_exec *exec, *another;
	cuda_address a;

	start();
	CHECK_EQ(cuGraphCreate(&graph, 0), CUDA_OK);
	a = add_alloc(graph, 10 * MIB);
	add_alloc(graph, 6 * MIB);
	add_free(graph, a);
	add_alloc(graph, 8 * MIB);
	CHECK_EQ(cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_OK);
	CHECK_EQ(used(), 0);
	CHECK_EQ(cuGraphInstantiateWithFlags(&another, graph, 0), CUDA_NOT_SUPPORTED);
	CHECK_EQ(cuGraphLaunch(exec, NULL), CUDA_OK);
	CHECK_EQ(used(), 16 * MIB);
	CHECK_EQ(graph_value(CUDA_GRAPH_USED_NOW), 16 * MIB);
	CHECK_EQ(cuGraphLaunch(exec, NULL), CUDA_INVALID_VALUE); /* 6 and 8 MiB were not freed */
	CHECK_EQ(cuGraphDestroy(graph), CUDA_OK);
	CHECK_EQ(used(), 16 * MIB);
	CHECK_EQ(cuGraphExecDestroy(exec), CUDA_OK);
	CHECK_EQ(used(), 16 * MIB); /* the device's graph pool has it */
	CHECK_EQ(graph_value(CUDA_GRAPH_RESERVED_NOW), 16 * MIB);
	CHECK_EQ(graph_value(CUDA_GRAPH_USED_NOW), 0);
	CHECK_EQ(cuDeviceGraphMemTrim(0), CUDA_OK);
	CHECK_EQ(used(), 0);
	CHECK_EQ(cuGraphLaunch(exec, NULL), CUDA_INVALID_VALUE);
	CHECK_EQ(cuMemFree_v2(a), CUDA_INVALID_VALUE);
}

TEST(a_graph_that_does_not_fit_does_not_run)
{
	struct cuda_graph *graph;
	struct cuda_exec *exec;

	start();
	CHECK_EQ(cuGraphCreate(&graph, 0), CUDA_OK);
	add_alloc(graph, 65 * MIB);
	CHECK_EQ(cuGraphInstantiateWithFlags(&exec, graph, CUDA_INSTANTIATE_AUTO_FREE), CUDA_OK);
	CHECK_EQ(cuGraphLaunch(exec, NULL), CUDA_OUT_OF_MEMORY);
	CHECK_EQ(used(), 0);
	CHECK_EQ(cuGraphExecDestroy(exec), CUDA_OK);
}

TEST(what_a_launch_has_left_is_freed_outside_or_by_the_next)
{
	struct cuda_graph *graph;
	struct cuda_exec *exec;
	cuda_address a;

	start();
	CHECK_EQ(cuGraphCreate(&graph, 0), CUDA_OK);
	a = add_alloc(graph, 4 * MIB);
	CHECK_EQ(cuGraphInstantiateWithFlags(&exec, graph, CUDA_INSTANTIATE_AUTO_FREE), CUDA_OK);
	CHECK_EQ(cuGraphLaunch(exec, NULL), CUDA_OK);
	CHECK_EQ(cuGraphLaunch(exec, NULL), CUDA_OK);
	CHECK_EQ(cuMemFree_v2(a), CUDA_OK);
	CHECK_EQ(used(), 4 * MIB); /* the graph's, as long as it can run */
}

TEST(streams_record_and_others_join)
{
	struct cuda_stream *stream, *other, *third;
	struct cuda_event *event;
	struct cuda_graph *graph, *same;
	cuda_address a, b, c;

	start();
	CHECK_EQ(cuStreamCreate(&stream, 0), CUDA_OK);
	CHECK_EQ(cuStreamCreate(&other, 0), CUDA_OK);
	CHECK_EQ(cuStreamCreate(&third, 0), CUDA_OK);
	CHECK_EQ(cuEventCreate(&event, 0), CUDA_OK);
	CHECK_EQ(cuStreamBeginCapture_v2(stream, 0), CUDA_OK);
	CHECK_EQ(cuStreamBeginCapture_v2(stream, 0), CUDA_INVALID_VALUE);
	CHECK_EQ(cuMemAllocAsync(&a, MIB, stream), CUDA_OK);
	CHECK_EQ(cuEventRecord(event, stream), CUDA_OK);
	CHECK_EQ(cuStreamWaitEvent(other, event, 0), CUDA_OK);
	CHECK_EQ(cuMemAllocAsync(&b, MIB, other), CUDA_OK);
	CHECK_EQ(used(), 0);
	CHECK_EQ(cuMemAllocAsync(&c, MIB, third), CUDA_OK); /* has not joined */
	CHECK_EQ(used(), MIB);
	CHECK_EQ(cuStreamEndCapture(other, &graph), CUDA_INVALID_VALUE);
	CHECK_EQ(cuStreamEndCapture(stream, &graph), CUDA_OK);
	CHECK_EQ(cuMemAllocAsync(&c, MIB, other), CUDA_OK);
	CHECK_EQ(used(), 2 * MIB);
	CHECK_EQ(cuStreamBeginRecaptureToGraph(stream, 0, graph, (void *)1, NULL), CUDA_OK);
	CHECK_EQ(cuMemAllocAsync(&c, MIB, stream), CUDA_OK);
	CHECK_EQ(c, a);                                                     /* the same node */
	CHECK_EQ(cuMemAllocAsync(&c, 2 * MIB, stream), CUDA_INVALID_VALUE); /* it was 1 MiB */
	CHECK_EQ(cuStreamEndCapture(stream, &same), CUDA_OK);
	CHECK(same == graph);
	CHECK_EQ(cuStreamBeginCapture(NULL), CUDA_INVALID_VALUE); /* not the default stream */
	CHECK_EQ(cuStreamBeginCapture(CUDA_STREAM_PER_THREAD), CUDA_OK);
}

/* ---- Arrays ---- */

TEST(arrays_take_what_their_elements_take)
{
	struct cuda_array3d_desc desc = { 1024, 1024, 0, 0x20, 4, 0 };
	struct cuda_array_desc flat = { 512, 0, 0x08, 2 };
	struct cuda_array *array, *line;
	struct cuda_mipmap *mipmap;

	start();
	CHECK_EQ(cuArray3DCreate_v2(&array, &desc), CUDA_OK);
	CHECK_EQ(used(), 16 * MIB);
	CHECK_EQ(cuArrayCreate_v2(&line, &flat), CUDA_OK);
	CHECK_EQ(used(), 16 * MIB + 1024);
	CHECK_EQ(cuMipmappedArrayDestroy((struct cuda_mipmap *)(void *)array), CUDA_INVALID_HANDLE);
	CHECK_EQ(cuArrayDestroy(array), CUDA_OK);
	CHECK_EQ(cuArrayDestroy(array), CUDA_INVALID_HANDLE);
	CHECK_EQ(cuMipmappedArrayCreate(&mipmap, &desc, 2), CUDA_OK);
	CHECK_EQ(used(), 20 * MIB + 1024);
	desc.flags = CUDA_ARRAY_SPARSE;
	CHECK_EQ(cuArray3DCreate_v2(&array, &desc), CUDA_OK);
	CHECK_EQ(used(), 20 * MIB + 1024);
	desc = (struct cuda_array3d_desc){ 8192, 8192, 0, 0x20, 4, 0 };
	CHECK_EQ(cuArray3DCreate_v2(&array, &desc), CUDA_OUT_OF_MEMORY);
	desc.channels = 3;
	CHECK_EQ(cuArray3DCreate_v2(&array, &desc), CUDA_INVALID_VALUE);
}

/* ---- Pools ---- */

TEST(pools_lie_on_the_host_too)
{
	struct cuda_pool_props props = { .type = CUDA_MEMORY_PINNED, .location = { CUDA_LOCATION_NUMA, 0 } };
	struct cuda_location host = { CUDA_LOCATION_HOST, 0 };
	struct cuda_pool *pool, *managed, *current;
	cuda_address address;

	start();
	CHECK_EQ(cuMemPoolCreate(&pool, &props), CUDA_OK);
	CHECK_EQ(cuMemAllocFromPoolAsync(&address, 100 * MIB, pool, NULL), CUDA_OK); /* more than the GPU has */
	*(char *)(uintptr_t)address = 1;
	CHECK_EQ(used(), 0);
	CHECK_EQ(cuMemFreeHost((void *)(uintptr_t)address), CUDA_INVALID_VALUE);
	CHECK_EQ(cuMemFreeAsync(address, NULL), CUDA_OK);
	CHECK_EQ(cuMemGetDefaultMemPool(&managed, &host, CUDA_MEMORY_MANAGED), CUDA_OK);
	CHECK_EQ(cuMemPoolDestroy(managed), CUDA_INVALID_VALUE);
	CHECK_EQ(cuMemSetMemPool(&host, CUDA_MEMORY_PINNED, pool), CUDA_OK);
	CHECK_EQ(cuMemGetMemPool(&current, &host, CUDA_MEMORY_PINNED), CUDA_OK);
	CHECK(current == pool);
	CHECK_EQ(cuDeviceSetMemPool(0, pool), CUDA_INVALID_VALUE);
	props.location.type = 99;
	CHECK_EQ(cuMemPoolCreate(&pool, &props), CUDA_INVALID_DEVICE);
}

TEST(imported_pools_hand_out_nothing)
{
	struct cuda_pool_pointer pointer = { { 0 } };
	struct cuda_pool *pool, *imported;
	cuda_address address;
	int fd;

	start();
	CHECK_EQ(cuMemPoolCreate(&pool, &gpu_pool), CUDA_OK);
	CHECK_EQ(cuMemPoolExportToShareableHandle(&fd, pool, CUDA_EXPORT_POSIX_FD, 0), CUDA_OK);
	CHECK_EQ(cuMemPoolImportFromShareableHandle(&imported, (void *)(intptr_t)fd, CUDA_EXPORT_POSIX_FD, 0), CUDA_OK);
	CHECK_EQ(cuMemAllocFromPoolAsync(&address, MIB, imported, NULL), CUDA_INVALID_VALUE);
	CHECK_EQ(cuMemPoolImportPointer(&address, imported, &pointer), CUDA_INVALID_VALUE);
	CHECK_EQ(cuMemPoolImportFromShareableHandle(&imported, (void *)0, CUDA_EXPORT_POSIX_FD, 0), CUDA_INVALID_VALUE);
}

/* ---- Contexts and code ---- */

TEST(green_contexts_hold_the_primary_one)
{
	struct cuda_context *primary, *context;
	struct cuda_green *green;
	cuda_address address;

	primary = start();
	CHECK_EQ(cuGreenCtxCreate(&green, (void *)1, 0, 1), CUDA_OK);
	CHECK_EQ(cuCtxFromGreenCtx(&context, green), CUDA_OK);
	CHECK_EQ(cuCtxSetCurrent(context), CUDA_OK);
	CHECK_EQ(cuMemAlloc_v2(&address, MIB), CUDA_OK);
	CHECK_EQ(cuCtxDestroy_v2(context), CUDA_INVALID_CONTEXT);
	CHECK_EQ(cuDevicePrimaryCtxRelease_v2(0), CUDA_OK);
	CHECK_EQ(cuCtxSetCurrent(primary), CUDA_OK); /* still there */
	CHECK_EQ(used(), MIB);
	CHECK_EQ(cuGreenCtxDestroy(green), CUDA_OK);
	CHECK_EQ(cuGreenCtxDestroy(green), CUDA_INVALID_VALUE);
	CHECK_EQ(cuCtxSetCurrent(primary), CUDA_INVALID_CONTEXT);
	make_current(0);
	CHECK_EQ(used(), 0);
}

TEST(code_takes_memory_when_it_is_wanted)
{
	struct cuda_function *function;
	struct cuda_library *library;
	struct cuda_kernel *kernel;
	struct cuda_module *module;
	uint64_t loaded;

	start();
	CHECK_EQ(cuLibraryLoadData(&library, "image", NULL, NULL, 0, NULL, NULL, 0), CUDA_OK);
	CHECK_EQ(cuModuleLoadData(&module, "image"), CUDA_OK);
	loaded = used();
	CHECK(loaded > 0);
	CHECK_EQ(cuLibraryGetKernel(&kernel, library, "gemm"), CUDA_OK);
	CHECK_EQ(used(), loaded);
	CHECK_EQ(cuKernelGetFunction(&function, kernel), CUDA_OK);
	CHECK(used() > loaded);
	loaded = used();
	CHECK_EQ(cuKernelGetFunction(&function, kernel), CUDA_OK);
	CHECK_EQ(used(), loaded);
	CHECK_EQ(cuModuleUnload(module), CUDA_OK);
	CHECK_EQ(cuModuleUnload(module), CUDA_INVALID_HANDLE);
	CHECK_EQ(cuLibraryUnload(library), CUDA_OK);
	CHECK_EQ(used(), 0);
	CHECK_EQ(cuKernelGetFunction(&function, kernel), CUDA_INVALID_VALUE);
}

/* ---- Handles without bytes ---- */

TEST(bound_memory_stays)
{
	struct cuda_multicast_props props = { .devices = 1, .size = 8 * MIB };
	cuda_handle multicast, memory;

	start();
	CHECK_EQ(cuMulticastCreate(&multicast, &props), CUDA_OK);
	CHECK_EQ(used(), 0);
	CHECK_EQ(cuMemCreate(&memory, 4 * MIB, &on_gpu, 0), CUDA_OK);
	CHECK_EQ(cuMulticastBindMem(multicast, 6 * MIB, memory, 0, 4 * MIB, 0), CUDA_INVALID_VALUE); /* too long */
	CHECK_EQ(cuMulticastBindMem(memory, 0, memory, 0, 4 * MIB, 0), CUDA_INVALID_VALUE);
	CHECK_EQ(cuMulticastBindMem(multicast, 0, memory, 0, 4 * MIB, 0), CUDA_OK);
	CHECK_EQ(cuMemRelease(memory), CUDA_OK);
	CHECK_EQ(used(), 4 * MIB);
	CHECK_EQ(cuMulticastUnbind(multicast, 0, 0, 4 * MIB), CUDA_OK);
	CHECK_EQ(used(), 0);
	CHECK_EQ(cuMulticastUnbind(multicast, 0, 0, 4 * MIB), CUDA_INVALID_VALUE);
	CHECK_EQ(cuMemRelease(multicast), CUDA_OK);
}

TEST(memory_of_another_process_needs_that_process)
{
	struct cuda_ipc_handle handle;
	cuda_address address, opened;

	setenv("STANDIN_STATE", test_dir(), 1);
	start();
	CHECK_EQ(cuMemAlloc_v2(&address, MIB), CUDA_OK);
	CHECK_EQ(cuIpcGetMemHandle(&handle, address + 1), CUDA_INVALID_VALUE);
	CHECK_EQ(cuIpcGetMemHandle(&handle, address), CUDA_OK);
	CHECK_EQ(cuIpcOpenMemHandle_v2(&opened, handle, 1), CUDA_INVALID_VALUE); /* its own */
	CHECK_EQ(cuIpcCloseMemHandle(address), CUDA_INVALID_VALUE);
}

TEST_MAIN()
