"""agent_late.py train | loads LIBRARY... | compare ALL ONE - PyTorch on the CPU with a CUDA driver that is started late.

train: a training loop; cuInit comes after `import torch` and a first step. compare: what two rings have of it after
cuInit, one of a run with all doors open and one with CUDA_INJECTION64_PATH alone, must be the same.
loads: calls each (fake) library's use() before cuInit, after it, and each of them again in a thread; then, for those
that are loaded only now, after the next driver call.
"""
import ctypes
import os
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import agent_ring

MARK = 123457  # bytes of the tensor that is made right after cuInit


class Driver:
    def __init__(self):
        self.cuda, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
        assert self.cuda.cuInit(0) == 0
        assert self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
        assert self.cuda.cuCtxSetCurrent(context) == 0

    def alloc(self):
        address = ctypes.c_uint64()
        assert self.cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4096)) == 0


def train():
    import torch
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    optimizer = torch.optim.AdamW(model.parameters())

    def train_step():
        loss = torch.nn.functional.cross_entropy(model(torch.randn(32, 64)), torch.randint(0, 10, (32,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    train_step()
    Driver()
    mark = torch.empty(MARK, dtype=torch.uint8)
    for _ in range(3):
        train_step()
    worker = threading.Thread(target=train_step)
    worker.start()
    worker.join()
    torch.zeros(1000).share_memory_()
    del mark


def call_stack(ring, event):
    """The actors: the Python functions, and at which instruction of each."""
    stack = ring.stacks.get(event.stack)
    return tuple((ring.codes[code]["qualname"] or ring.codes[code]["name"], at) for code, at in stack["python"]) if stack else ()


def after_start(path):
    """The events that both runs must have; a block is called by the number of its allocation."""
    ring, blocks, threads, result = agent_ring.Ring(path), {}, {}, None
    for event in ring.events:
        if event.what == "TENSOR_ALLOC" and event.size == MARK:
            result = []
        if result is None or event.what.startswith(("DRIVER", "VMM", "MARK", "CENSUS", "INSTANCE_NAME")):  # the census comes when it may
            continue
        if event.what == "TENSOR_ALLOC":
            blocks[event.addr] = len(result)
        elif event.what == "TENSOR_FREE" and event.addr not in blocks:
            continue  # made before cuInit: with one door open, PyTorch itself does not know its size
        block = blocks.pop(event.addr) if event.what == "TENSOR_FREE" else None
        thread = threads.setdefault(event.thread, len(threads))
        result.append((event.what, event.size, block, thread, ring.threads[event.thread]["flags"] & 2,
                       call_stack(ring, event)))
    assert not any(ring.lost), ring.lost
    return ring, result


def compare(all_path, one_path):
    (everything, wanted), (ring, got) = after_start(all_path), after_start(one_path)
    for i, (want, have) in enumerate(zip(wanted, got)):
        assert want == have, "event %d: %s, not %s" % (i, have, want)
    assert len(wanted) == len(got), (len(wanted), len(got))
    what = [event[0] for event in got]
    assert what.count("BACKWARD_BEGIN") == what.count("BACKWARD_END") == 4, what.count("BACKWARD_END")
    assert len({event[3] for event in got}) == 2 and what.count("TENSOR_ALLOC") > 100, len(got)
    assert any(function.endswith("train_step") for event in got for function, _ in event[5])
    assert len(everything.events) > len(ring.events), "all doors see what was before cuInit, too"
    for name in ("cpu-tensors", "autograd-engine", "cupti"):
        assert ring.sources[name][0] == 1 or "not asked for" in ring.sources[name][1], (name, ring.sources[name])
    print("%d events" % len(got))


def use(library, first):
    library.use.argtypes = [ctypes.c_uint64]
    library.use(first)


def loads(paths):
    late = [path[1:] for path in paths if path.startswith("+")]
    libraries = [ctypes.CDLL(path) for path in paths if not path.startswith("+")]
    for i, library in enumerate(libraries):
        use(library, 0x100000 + 0x1000 * i)
    driver = Driver()
    for i, library in enumerate(libraries):
        use(library, 0x200000 + 0x1000 * i)
        thread = threading.Thread(target=use, args=(library, 0x300000 + 0x1000 * i))
        thread.start()
        thread.join()
    for i, path in enumerate(late):
        library = ctypes.CDLL(path)
        driver.alloc()
        use(library, 0x400000 + 0x1000 * i)
    print(ctypes.CDLL(os.environ["C10"]).reports())


if sys.argv[1] == "train":
    train()
elif sys.argv[1] == "loads":
    loads(sys.argv[2:])
else:
    compare(*sys.argv[2:])
