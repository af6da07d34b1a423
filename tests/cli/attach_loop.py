"""attach_loop.py report LIBRARY | train STEPS | wait SECONDS LIBRARY | gpu LIBRARY | cuda ALLOCATOR MODE - programs that memrec attaches to. They end when the file `stop` is there.

report: calls use() of LIBRARY, which reports tensors as PyTorch does, every few milliseconds. At the end it prints the names in
__main__ and exits with 7.
train: a training on the CPU. Prints the number of steps at the end and writes each loss to `losses`; at STEPS, if not 0, it ends.
gpu: as report, on the stand-in GPU, with memory of the driver that comes and goes. Prints how many calls CUPTI's subscriber saw.
cuda: a training on the double of PyTorch's allocator (tests/allocator, the folder ALLOCATOR), in two threads; PyTorch's question for
a snapshot is answered by the double's account.
wait: the main thread is inside one call for SECONDS; then as report.
Each says "ready" when it begins.
"""
import os
import sys
import time


def report(library):
    import ctypes
    use = ctypes.CDLL(library).use
    use.argtypes = [ctypes.c_uint64]
    print("ready", flush=True)
    at = 0
    while not os.path.exists("stop"):
        at += 1
        use(0x10000000 + 0x1000 * at)
        time.sleep(0.002)
    print(*sorted(set(globals()) - {"__builtins__"}), flush=True)
    return 7


def gpu(library):
    import ctypes
    use = ctypes.CDLL(library).use
    cuda, context, address = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_uint64()
    assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert cuda.cuCtxSetCurrent(context) == 0
    print("ready", flush=True)
    while not os.path.exists("stop"):
        assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4096)) == 0
        use(ctypes.c_uint64(address.value))
        assert cuda.cuMemFree_v2(address) == 0
        time.sleep(0.002)
    return 7


def cuda(folder, mode):
    import threading
    sys.path.insert(0, folder)
    import caching_allocator
    import scenario
    import torch.cuda.memory
    allocator = caching_allocator.CachingAllocator("account", *([mode] if mode != "default" else []))
    torch.cuda.is_initialized = lambda: True
    torch.cuda.memory.memory_snapshot = lambda **_: caching_allocator.snapshot(caching_allocator.read_account("account"))["segments"]
    model = scenario.Model(allocator)
    model.step(8)

    def beside():
        kept = []
        while not os.path.exists("stop"):
            kept.append(allocator.alloc(3000 + len(kept)))
            if len(kept) > 20:
                del kept[::3]
            time.sleep(0.0003)

    thread = threading.Thread(target=beside)
    thread.start()
    print("ready", flush=True)
    batch = 0
    while not os.path.exists("stop"):
        batch += 1
        model.step(8 + batch % 40)
        if batch == 30:
            model.weights.pop()
            allocator.empty_cache()
        time.sleep(0.002)
    thread.join()
    return 7


def wait(seconds, library):
    import ctypes
    use = ctypes.CDLL(library).use
    print("ready", flush=True)
    ctypes.CDLL(None).sleep(int(seconds))
    return report(library)


def train(steps):
    import torch
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 64))
    optimizer = torch.optim.Adam(model.parameters())
    losses = []
    while not (len(losses) >= int(steps) if int(steps) else os.path.exists("stop")):
        data = torch.randn(32, 64)
        loss = (model(data) - data).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if len(losses) == 1:
            print("ready", flush=True)
        time.sleep(0.002)
    with open("losses", "w") as file:
        file.writelines("%r\n" % loss for loss in losses)
    print(len(losses), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit({"report": report, "train": train, "wait": wait, "gpu": gpu, "cuda": cuda}[sys.argv[1]](*sys.argv[2:]))
