"""cases.py: calls of the CUDA runtime for the ways to take memory, for the probe and for the recorder.

Says each call and its result on the standard output. Ends in the middle of things (os._exit): what the driver does then
is one of the questions.
"""
import ctypes
import os

import torch

SIZE, MORE_THAN_THERE_IS = ctypes.c_size_t(5 << 20), ctypes.c_size_t(1 << 46)
CAPTURE_GLOBAL = 0


def load_runtime():
    """The runtime that PyTorch has brought into the process."""
    with open("/proc/self/maps") as maps:
        return ctypes.CDLL(next(line.split()[-1] for line in maps if "/libcudart" in line))


runtime = load_runtime()
block, stream, graph, executable = (ctypes.c_void_p() for _ in range(4))


def call(name, *arguments):
    print(name, getattr(runtime, name)(*arguments), flush=True)


def take_and_give(take, give):
    call(take, ctypes.byref(block), SIZE)
    call(give, block)


def in_stream_order():
    call("cudaMallocAsync", ctypes.byref(block), SIZE, stream)
    call("cudaFreeAsync", block, stream)


def in_a_graph():
    call("cudaStreamBeginCapture", stream, CAPTURE_GLOBAL)
    in_stream_order()
    call("cudaStreamEndCapture", stream, ctypes.byref(graph))
    call("cudaGraphInstantiate", ctypes.byref(executable), graph, ctypes.c_ulonglong(0))
    call("cudaGraphLaunch", executable, stream)
    call("cudaStreamSynchronize", stream)
    call("cudaGraphExecDestroy", executable)
    call("cudaGraphDestroy", graph)


def in_a_forked_child():
    """CUDA does not work there: the call fails, and nothing may hang."""
    child = os.fork()
    if not child:
        call("cudaMalloc", ctypes.byref(block), SIZE)
        os._exit(0)
    os.waitpid(child, 0)


def main():
    call("cudaSetDevice", 0)
    take_and_give("cudaMalloc", "cudaFree")
    take_and_give("cudaMallocHost", "cudaFreeHost")
    call("cudaStreamCreate", ctypes.byref(stream))
    in_stream_order()
    call("cudaStreamSynchronize", stream)
    in_a_graph()
    call("cudaMalloc", ctypes.byref(block), MORE_THAN_THERE_IS)
    call("cudaGetLastError")
    tensor = torch.ones(1 << 20, device="cuda")
    del tensor
    torch.cuda.empty_cache()
    in_a_forked_child()
    call("cudaMalloc", ctypes.byref(block), SIZE)
    call("cudaDeviceReset")
    os._exit(0)


main()
