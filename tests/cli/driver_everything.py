"""driver_everything.py - calls every memory entry of the CUDA driver at least once, and with success.

On the stand-in GPU: STANDIN_GPUS=2, STANDIN_STATE=DIR. Its memory at its end is kept on purpose. With the argument
"exporter" it is the other process: takes memory, prints handles to it, and keeps it until its input ends.
"""
import ctypes
import os
import subprocess
import sys
from ctypes import byref, c_char, c_int, c_size_t, c_uint, c_uint64, c_ushort, c_void_p

MIB = 1 << 20
cuda = ctypes.CDLL("libcuda.so.1")


def struct(name, *fields):
    return type(name, (ctypes.Structure,), {"_fields_": list(fields)})


Location = struct("Location", ("type", c_int), ("id", c_int))
MemoryProps = struct("MemoryProps", ("type", c_int), ("export", c_int), ("location", Location), ("win32", c_void_p),
                     ("flags", c_char * 8))
PoolProps = struct("PoolProps", ("type", c_int), ("export", c_int), ("location", Location), ("win32", c_void_p),
                   ("max_size", c_size_t), ("usage", c_ushort), ("reserved", c_char * 54))
Access = struct("Access", ("location", Location), ("flags", c_int))
Bytes64 = struct("Bytes64", ("bytes", c_char * 64))
Array = struct("Array", ("width", c_size_t), ("height", c_size_t), ("format", c_int), ("channels", c_uint))
Array3D = struct("Array3D", ("width", c_size_t), ("height", c_size_t), ("depth", c_size_t), ("format", c_int),
                 ("channels", c_uint), ("flags", c_uint))
External = struct("External", ("type", c_int), ("fd", c_uint64), ("name", c_void_p), ("size", c_uint64),
                  ("flags", c_uint), ("reserved", c_uint * 16))
Buffer = struct("Buffer", ("offset", c_uint64), ("size", c_uint64), ("flags", c_uint), ("reserved", c_uint * 16))
Mipmap = struct("Mipmap", ("offset", c_uint64), ("desc", Array3D), ("levels", c_uint), ("reserved", c_uint * 16))
Multicast = struct("Multicast", ("devices", c_uint), ("size", c_size_t), ("export", c_uint64), ("flags", c_uint64))
Endpoint = struct("Endpoint", ("type", c_int), ("device", c_int), ("size", c_uint64), ("export", c_uint),
                  ("flags", c_uint))
AllocNode = struct("AllocNode", ("pool", PoolProps), ("access", c_void_p), ("access_count", c_size_t),
                   ("bytes", c_size_t), ("address", c_uint64))
Child = struct("Child", ("graph", c_void_p), ("ownership", c_int))
NodeUnion = type("NodeUnion", (ctypes.Union,), {"_fields_": [("alloc", AllocNode), ("child", Child),
                                                             ("free", c_uint64), ("bytes", c_char * 232)]})
NodeParams = struct("NodeParams", ("type", c_int), ("reserved", c_int * 3), ("node", NodeUnion),
                    ("reserved2", c_uint64))
Instantiate = struct("Instantiate", ("flags", c_uint64), ("stream", c_void_p), ("error", c_void_p), ("result", c_int))

DEVICE, HOST, PINNED, MANAGED, POSIX_FD = 1, 2, 1, 2, 1
CHILD, ALLOC, FREE = 4, 10, 11
STREAM_PER_THREAD = c_void_p(2)


def call(name, *args, want=0):
    """Numbers are passed as 64 bits, which suits addresses and sizes as well as integers in registers."""
    result = getattr(cuda, name)(*[c_uint64(a & (1 << 64) - 1) if isinstance(a, int) else a for a in args])
    assert result == want, "%s: error %d, not %d" % (name, result, want)


def out(name, *args, type=c_uint64, last=()):
    """The value that the call writes to its first argument."""
    value = type()
    call(name, byref(value), *args)
    return value.value if not isinstance(value, ctypes.Structure) else value


def both(name, *args, **more):
    """The call, and its twin for streams of the thread."""
    call(name, *args, **more)
    call(name + "_ptsz", *args, **more)


def linear():
    call("cuMemFree_v2", out("cuMemAlloc_v2", 6 * MIB))
    call("cuMemAlloc_v2", byref(c_uint64()), 1 << 50, want=2)
    pitch = c_size_t()
    address = c_uint64()
    call("cuMemAllocPitch_v2", byref(address), byref(pitch), 1000, 64, 4)
    call("cuMemFree_v2", address.value)
    call("cuMemFree_v2", address.value, want=1)
    return out("cuMemAlloc_v2", 3 * MIB)


def host():
    call("cuMemFreeHost", c_void_p(out("cuMemHostAlloc", MIB, 0)))
    call("cuMemFreeHost", c_void_p(out("cuMemAllocHost_v2", MIB)))
    memory = ctypes.create_string_buffer(8192)
    for name in ("cuMemHostRegister", "cuMemHostRegister_v2"):
        call(name, memory, 8192, 0)
        call("cuMemHostUnregister", memory)
    return out("cuMemAllocHost_v2", 2 * MIB)


def managed():
    address = out("cuMemAllocManaged", 4 * MIB, 1)
    here, stream = Location(DEVICE, 0), c_void_p()
    both("cuMemPrefetchAsync", address, MIB, 0, stream)
    both("cuMemPrefetchAsync_v2", address, MIB, here, 0, stream)
    call("cuMemAdvise", address, MIB, 1, 0)
    call("cuMemAdvise_v2", address, MIB, 1, here)
    addresses, sizes, index = (c_uint64 * 2)(address, address + MIB), (c_size_t * 2)(MIB, MIB), (c_size_t * 1)(0)
    both("cuMemPrefetchBatchAsync", addresses, sizes, 2, byref(here), index, 1, 0, stream)
    both("cuMemDiscardBatchAsync", addresses, sizes, 2, 0, stream)
    both("cuMemDiscardAndPrefetchBatchAsync", addresses, sizes, 2, byref(here), index, 1, 0, stream)
    call("cuMemFree_v2", address)


def pools(context_stream):
    device, on_host = Location(DEVICE, 0), Location(HOST, 0)
    default = out("cuDeviceGetDefaultMemPool", 0)
    assert out("cuDeviceGetMemPool", 0) == default
    assert out("cuMemGetDefaultMemPool", byref(device), PINNED) == default
    assert out("cuMemGetMemPool", byref(device), PINNED) == default
    for name in ("cuMemAllocAsync", "cuMemAllocAsync_ptsz"):
        call("cuMemFreeAsync", out(name, 2 * MIB, context_stream), context_stream)
    own = out("cuMemPoolCreate", byref(PoolProps(PINNED, POSIX_FD, device)))
    call("cuDeviceSetMemPool", 0, c_void_p(own))
    call("cuMemSetMemPool", byref(device), PINNED, c_void_p(default))
    call("cuMemPoolSetAttribute", c_void_p(own), 4, byref(c_uint64(64 * MIB)))
    call("cuMemPoolSetAccess", c_void_p(own), byref(Access(device, 3)), 1)
    address = out("cuMemAllocFromPoolAsync", 5 * MIB, c_void_p(own), context_stream)
    call("cuMemPoolExportPointer", byref(Bytes64()), address)
    call("cuMemFreeAsync_ptsz", out("cuMemAllocFromPoolAsync_ptsz", MIB, c_void_p(own), STREAM_PER_THREAD),
         STREAM_PER_THREAD)
    used = c_uint64()
    call("cuMemPoolGetAttribute", c_void_p(own), 7, byref(used))
    assert used.value == 5 * MIB
    file = c_int()
    call("cuMemPoolExportToShareableHandle", byref(file), c_void_p(own), POSIX_FD, 0)
    imported = out("cuMemPoolImportFromShareableHandle", c_void_p(file.value), POSIX_FD, 0)
    call("cuMemFree_v2", address)
    call("cuMemPoolTrimTo", c_void_p(own), 0)
    call("cuMemPoolDestroy", c_void_p(own))
    pinned = out("cuMemPoolCreate", byref(PoolProps(PINNED, 0, on_host)))
    spread = out("cuMemPoolCreate", byref(PoolProps(MANAGED, 0, device)))
    for pool in (pinned, spread):
        out("cuMemAllocFromPoolAsync", MIB, c_void_p(pool), context_stream)
    return imported


def virtual():
    props = MemoryProps(PINNED, POSIX_FD, Location(DEVICE, 0))
    base = out("cuMemAddressReserve", 64 * MIB, 0, 0, 0)
    handle = out("cuMemCreate", 8 * MIB, byref(props), 0)
    call("cuMemCreate", byref(c_uint64()), 1 << 50, byref(props), 0, want=2)
    call("cuMemMap", base, 8 * MIB, 0, handle, 0)
    call("cuMemMap", base + 16 * MIB, 4 * MIB, 4 * MIB, handle, 0)
    call("cuMemSetAccess", base, 8 * MIB, byref(Access(Location(DEVICE, 0), 3)), 1)
    assert out("cuMemRetainAllocationHandle", c_void_p(base + MIB)) == handle
    file = c_int()
    call("cuMemExportToShareableHandle", byref(file), handle, POSIX_FD, 0)
    imported = out("cuMemImportFromShareableHandle", c_void_p(file.value), POSIX_FD)
    call("cuMemMap", base + 32 * MIB, 8 * MIB, 0, imported, 0)
    call("cuMemGetHandleForAddressRange", byref(file), base, 2 * MIB, 1, 0)
    call("cuMemRelease", handle)
    call("cuMemRelease", handle)
    call("cuMemRelease", handle, want=1)
    call("cuMemUnmap", base + 16 * MIB, 4 * MIB)
    call("cuMemUnmap", base + 32 * MIB, 8 * MIB)
    call("cuMemUnmap", base + 32 * MIB, 8 * MIB, want=1)
    call("cuMemRelease", imported)
    multicast(base)
    call("cuMemUnmap", base, 8 * MIB)
    call("cuMemAddressFree", base, 64 * MIB)
    return out("cuMemCreate", 2 * MIB, byref(MemoryProps(PINNED, 0, Location(DEVICE, 1))), 0)


def multicast(mapped):
    memory = out("cuMemCreate", 4 * MIB, byref(MemoryProps(PINNED, 0, Location(DEVICE, 0))), 0)
    handle = out("cuMulticastCreate", byref(Multicast(2, 16 * MIB)))
    for device in (0, 1):
        call("cuMulticastAddDevice", handle, device)
    call("cuMulticastBindMem", handle, 0, memory, 0, 4 * MIB, 0)
    call("cuMulticastBindMem_v2", handle, 0, 4 * MIB, memory, 0, 4 * MIB, 0)
    call("cuMulticastBindAddr", handle, 8 * MIB, mapped, 2 * MIB, 0)
    call("cuMulticastBindAddr_v2", handle, 0, 10 * MIB, mapped, 2 * MIB, 0)
    for offset, size in ((0, 4), (4, 4), (8, 2), (10, 2)):
        call("cuMulticastUnbind", handle, 0, offset * MIB, size * MIB)
    base = out("cuMemAddressReserve", 16 * MIB, 0, 0, 0)
    call("cuMemMap", base, 16 * MIB, 0, handle, 0)
    call("cuMemUnmap", base, 16 * MIB)
    call("cuMemAddressFree", base, 16 * MIB)
    call("cuMemRelease", handle)
    call("cuLogicalEndpointCreate", 7, byref(Endpoint(2, 2, 8 * MIB)))
    call("cuLogicalEndpointBindAddr", 7, 0, 0, mapped, 2 * MIB, 0)
    call("cuLogicalEndpointBindMem", 7, 0, 2 * MIB, memory, 0, 2 * MIB, 0)
    call("cuLogicalEndpointUnbind", 7, 0, 0, 2 * MIB)
    call("cuLogicalEndpointDestroy", 7)
    call("cuLogicalEndpointImport", 8, byref(Bytes64()), 1)
    call("cuLogicalEndpointDestroy", 8)
    call("cuMemRelease", memory)


def arrays():
    flat = out("cuArrayCreate_v2", byref(Array(1024, 512, 0x20, 4)), type=c_void_p)
    layers = out("cuArray3DCreate_v2", byref(Array3D(256, 256, 6, 0x10, 2, 1)), type=c_void_p)
    sparse = out("cuArray3DCreate_v2", byref(Array3D(4096, 4096, 0, 0x01, 1, 0x40)), type=c_void_p)
    levels = out("cuMipmappedArrayCreate", byref(Array3D(256, 64, 32, 0x03, 1, 0)), 4, type=c_void_p)
    both("cuMemMapArrayAsync", byref(Bytes64()), 1, c_void_p())
    for array in (flat, layers, sparse):
        call("cuArrayDestroy", c_void_p(array))
    call("cuMipmappedArrayDestroy", c_void_p(levels))
    call("cuArrayCreate_v2", byref(c_void_p()), byref(Array(1 << 30, 1 << 20, 0x20, 4)), want=2)
    return out("cuArrayCreate_v2", byref(Array(640, 480, 0x01, 4)), type=c_void_p)


def external():
    memory = out("cuImportExternalMemory", byref(External(1, 0, None, 32 * MIB)), type=c_void_p)
    buffer = out("cuExternalMemoryGetMappedBuffer", c_void_p(memory), byref(Buffer(MIB, 8 * MIB)))
    array = out("cuExternalMemoryGetMappedMipmappedArray", c_void_p(memory),
                byref(Mipmap(0, Array3D(64, 64, 0, 0x20, 1, 0), 1)), type=c_void_p)
    call("cuMemFree_v2", buffer)
    call("cuMipmappedArrayDestroy", c_void_p(array))
    call("cuDestroyExternalMemory", c_void_p(memory))


def shared(imported_pool):
    own = out("cuMemAlloc_v2", MIB)
    call("cuIpcGetMemHandle", byref(Bytes64()), own)
    call("cuMemFree_v2", own)
    quiet = {name: value for name, value in os.environ.items()
             if not name.startswith("MEMREC_") and name not in ("LD_PRELOAD", "CUDA_INJECTION64_PATH")}
    exporter = subprocess.Popen([sys.executable, __file__, "exporter"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                text=True, env=quiet)
    ipc, pointer = (Bytes64.from_buffer_copy(bytes.fromhex(exporter.stdout.readline())) for _ in range(2))
    for name in ("cuIpcOpenMemHandle", "cuIpcOpenMemHandle_v2"):
        call("cuIpcCloseMemHandle", out(name, ipc, 1))
    call("cuMemFreeAsync", out("cuMemPoolImportPointer", c_void_p(imported_pool), byref(pointer)), c_void_p())
    exporter.communicate()
    assert exporter.returncode == 0


def exporter():
    start()
    ipc, pointer = Bytes64(), Bytes64()
    call("cuIpcGetMemHandle", byref(ipc), out("cuMemAlloc_v2", 8 * MIB))
    pool = out("cuMemPoolCreate", byref(PoolProps(PINNED, POSIX_FD, Location(DEVICE, 0))))
    call("cuMemPoolExportPointer", byref(pointer), out("cuMemAllocFromPoolAsync", 4 * MIB, c_void_p(pool), c_void_p()))
    print(bytes(ipc).hex(), bytes(pointer).hex(), sep="\n", flush=True)
    sys.stdin.read()


def add_node(name, graph, params, edges=()):
    call(name, byref(c_void_p()), c_void_p(graph), None, *edges, 0, byref(params))


def alloc_params(bytes):
    return NodeParams(ALLOC, node=NodeUnion(alloc=AllocNode(PoolProps(PINNED, 0, Location(DEVICE, 0)), bytes=bytes)))


def free_params(address):
    return NodeParams(FREE, node=NodeUnion(free=address))


def launched(graph, instantiate, *args, times=2):
    """Launches, and destroys all."""
    execute = out(instantiate, c_void_p(graph), *args, type=c_void_p)
    for i in range(times):
        both("cuGraphLaunch", c_void_p(execute), c_void_p())
    call("cuGraphExecDestroy", c_void_p(execute))
    call("cuGraphDestroy", c_void_p(graph))


def built_graphs():
    """By hand: 10 MiB, then 6 beside it, then 4 in place of the first: 16 MiB at once."""
    graph = out("cuGraphCreate", 0, type=c_void_p)
    first = AllocNode(PoolProps(PINNED, 0, Location(DEVICE, 0)), bytes=10 * MIB)
    call("cuGraphAddMemAllocNode", byref(c_void_p()), c_void_p(graph), None, 0, byref(first))
    second = alloc_params(6 * MIB)
    add_node("cuGraphAddNode", graph, second)
    call("cuGraphAddMemFreeNode", byref(c_void_p()), c_void_p(graph), None, 0, first.address)
    third = alloc_params(4 * MIB)
    add_node("cuGraphAddNode_v2", graph, third, edges=(None,))
    for node in (second, third):
        add_node("cuGraphAddNode_v3", graph, free_params(node.node.alloc.address), edges=(None,))
    launched(graph, "cuGraphInstantiateWithFlags", 0)
    graph = out("cuGraphCreate", 0, type=c_void_p)
    add_node("cuGraphAddNode", graph, alloc_params(1 << 40))
    execute = out("cuGraphInstantiateWithFlags", c_void_p(graph), 0, type=c_void_p)
    call("cuGraphLaunch", c_void_p(execute), c_void_p(), want=2)
    call("cuGraphExecDestroy", c_void_p(execute))
    call("cuGraphDestroy", c_void_p(graph))
    child, parent = (out("cuGraphCreate", 0, type=c_void_p) for _ in range(2))
    node = alloc_params(7 * MIB)
    add_node("cuGraphAddNode", child, node)
    add_node("cuGraphAddNode", child, free_params(node.node.alloc.address))
    add_node("cuGraphAddNode", parent, NodeParams(CHILD, node=NodeUnion(child=Child(child, 1))))
    execute = out("cuGraphInstantiate", c_void_p(parent), None, None, 0, type=c_void_p)
    both("cuGraphUpload", c_void_p(execute), c_void_p())
    call("cuGraphDestroy", c_void_p(parent))  # the executable one has its own
    call("cuGraphLaunch", c_void_p(execute), c_void_p())
    call("cuGraphExecDestroy", c_void_p(execute))


def recorded_graphs(stream):
    """By streams: the second takes part by waiting for the first."""
    other, event = c_void_p(), c_void_p()
    call("cuStreamCreate", byref(other), 0)
    call("cuEventCreate", byref(event), 0)
    call("cuStreamBeginCapture_v2", stream, 1)
    address = out("cuMemAllocAsync", 12 * MIB, stream)
    call("cuEventRecord", event, stream)
    call("cuStreamWaitEvent", other, event, 0)
    beside = out("cuMemAllocAsync", 3 * MIB, other)
    call("cuMemFreeAsync", beside, other)
    call("cuMemFreeAsync", address, stream)
    graph = out_last("cuStreamEndCapture", stream)
    call("cuStreamBeginRecaptureToGraph", stream, 1, c_void_p(graph), c_void_p(1), None)
    again = out("cuMemAllocAsync", 12 * MIB, stream)
    beside = out("cuMemAllocAsync", 3 * MIB, stream)
    for freed in (beside, again):
        call("cuMemFreeAsync", freed, stream)
    assert out_last("cuStreamEndCapture", stream) == graph
    launched(graph, "cuGraphInstantiate_v2", None, None, 0)
    graph = out("cuGraphCreate", 0, type=c_void_p)
    for begin in ("cuStreamBeginCaptureToGraph", "cuStreamBeginCaptureToGraph_ptsz"):
        call(begin, stream, c_void_p(graph), None, None, 0, 1)
        call("cuMemFreeAsync", out("cuMemAllocAsync", 2 * MIB, stream), stream)
        assert out_last("cuStreamEndCapture", stream) == graph
    launched(graph, "cuGraphInstantiateWithParams", byref(Instantiate(2)))
    for begin in ("cuStreamBeginCapture", "cuStreamBeginCapture_ptsz"):  # nothing of its own: no memory either
        call(begin, STREAM_PER_THREAD)
        call("cuGraphDestroy", c_void_p(out_last("cuStreamEndCapture_ptsz", STREAM_PER_THREAD)))
    call("cuStreamBeginCapture_v2_ptsz", stream, 1)
    left = out("cuMemAllocAsync_ptsz", 9 * MIB, stream)
    graph = out_last("cuStreamEndCapture", stream)
    call("cuStreamBeginRecaptureToGraph_ptsz", stream, 1, c_void_p(graph), c_void_p(1), None)
    assert out("cuMemAllocAsync", 9 * MIB, stream) == left
    assert out_last("cuStreamEndCapture", stream) == graph
    execute = out("cuGraphInstantiateWithParams_ptsz", c_void_p(graph), byref(Instantiate(0)), type=c_void_p)
    for free in ("cuMemFree_v2", "cuMemFreeAsync"):  # memory left by a launch is freed outside; the bytes stay
        call("cuGraphLaunch", c_void_p(execute), stream)
        call("cuGraphLaunch", c_void_p(execute), stream, want=1)
        call(free, left, *[stream] * (free != "cuMemFree_v2"))
    value = c_uint64()
    call("cuDeviceGetGraphMemAttribute", 0, 0, byref(value))
    assert value.value == 9 * MIB
    call("cuDeviceSetGraphMemAttribute", 0, 1, byref(c_uint64(0)))
    call("cuDeviceGraphMemTrim", 0)


def out_last(name, *args):
    value = c_void_p()
    call(name, *args, byref(value))
    return value.value


def code():
    image = ctypes.create_string_buffer(64)
    modules = [out("cuModuleLoad", b"kernels.cubin", type=c_void_p), out("cuModuleLoadData", image, type=c_void_p),
               out("cuModuleLoadDataEx", image, 0, None, None, type=c_void_p),
               out("cuModuleLoadFatBinary", image, type=c_void_p)]
    for _ in range(3):
        out("cuModuleGetFunction", c_void_p(modules[0]), b"gemm", type=c_void_p)
    out("cuModuleGetGlobal_v2", byref(c_size_t()), c_void_p(modules[0]), b"table")
    libraries = [out("cuLibraryLoadData", image, None, None, 0, None, None, 0, type=c_void_p),
                 out("cuLibraryLoadFromFile", b"kernels.fatbin", None, None, 0, None, None, 0, type=c_void_p)]
    kernel = out("cuLibraryGetKernel", c_void_p(libraries[0]), b"softmax", type=c_void_p)
    for _ in range(3):
        out("cuKernelGetFunction", c_void_p(kernel), type=c_void_p)
    out("cuLibraryGetModule", c_void_p(libraries[0]), type=c_void_p)
    for name in ("cuLibraryGetGlobal", "cuLibraryGetManaged"):
        out(name, byref(c_size_t()), c_void_p(libraries[0]), b"table")
    for module in modules:
        call("cuModuleUnload", c_void_p(module))
    for library in libraries:
        call("cuLibraryUnload", c_void_p(library))


def contexts(primary):
    """Each ends with memory in it."""
    made = [out("cuCtxCreate", 0, 0, type=c_void_p), out("cuCtxCreate_v2", 0, 0, type=c_void_p),
            out("cuCtxCreate_v3", None, 0, 0, 1, type=c_void_p), out("cuCtxCreate_v4", None, 0, 1, type=c_void_p)]
    for context, destroy in zip(made, ["cuCtxDestroy", "cuCtxDestroy_v2"] * 2):
        call("cuCtxSetCurrent", c_void_p(context))
        out("cuMemAlloc_v2", 5 * MIB)
        out("cuMemHostAlloc", MIB, 0)
        out("cuArrayCreate_v2", byref(Array(256, 256, 0x20, 1)), type=c_void_p)
        call(destroy, c_void_p(context))
    other = out("cuDevicePrimaryCtxRetain", 1, type=c_void_p)
    call("cuCtxSetCurrent", c_void_p(other))
    call("cuCtxSetLimit", 2, 16 * MIB)
    call("cuCtxEnablePeerAccess", primary, 0)
    call("cuCtxDisablePeerAccess", primary)
    green = out("cuGreenCtxCreate", c_void_p(1), 1, 1, type=c_void_p)
    context = out("cuCtxFromGreenCtx", c_void_p(green), type=c_void_p)
    call("cuCtxSetCurrent", c_void_p(context))
    out("cuMemAlloc_v2", 7 * MIB)
    call("cuDevicePrimaryCtxRelease", 1)
    call("cuGreenCtxDestroy", c_void_p(green))  # the last reference to it, and its 7 MiB with it
    for reset in ("cuDevicePrimaryCtxReset", "cuDevicePrimaryCtxReset_v2"):
        again = out("cuDevicePrimaryCtxRetain", 1, type=c_void_p)
        call("cuCtxSetCurrent", c_void_p(again))
        out("cuMemAlloc_v2", 2 * MIB)
        call(reset, 1)
        call("cuDevicePrimaryCtxRelease_v2", 1)
    call("cuCtxSetCurrent", primary)


def process():
    free, total = c_size_t(), c_size_t()
    call("cuMemGetInfo_v2", byref(free), byref(total))
    pid = os.getpid()
    for step in ("Lock", "Checkpoint", "Restore", "Unlock"):
        call("cuCheckpointProcess" + step, pid, None)
    call("cuCheckpointOperationComplete", c_void_p(1))
    handle = c_void_p()
    call("cuDeviceRegisterAsyncNotification", 0, c_void_p(1), None, byref(handle))
    call("cuDeviceUnregisterAsyncNotification", 0, handle)


def start():
    context = c_void_p()
    call("cuInit", 0)
    out("cuDeviceGetCount", type=c_int)
    call("cuDevicePrimaryCtxRetain", byref(context), 0)
    call("cuCtxSetCurrent", context)
    return context


def main():
    primary, stream = start(), c_void_p()
    call("cuStreamCreate", byref(stream), 0)
    linear()
    host()
    managed()
    imported_pool = pools(stream)
    virtual()
    arrays()
    external()
    shared(imported_pool)
    built_graphs()
    recorded_graphs(stream)
    code()
    contexts(primary)
    process()
    print("everything called")


if __name__ == "__main__":
    exporter() if sys.argv[1:] == ["exporter"] else main()
