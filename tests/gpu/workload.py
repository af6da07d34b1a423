"""workload.py MODE FOLDER [--small]: a PyTorch program on a GPU that knows its own history.

Leaves FOLDER/snapshot.pickle (torch.cuda.memory._snapshot(), recorded from before the first allocation) and
FOLDER/stats.json (the allocator's and the driver's own figures at that moment). Modes are the functions below that take
a step function; --small keeps the trace small enough for a sample.
"""
import json
import os
import pickle
import sys
import time

GIB, MIB = 1 << 30, 1 << 20
SETTINGS = {"expandable": "expandable_segments:True"}
if __name__ == "__main__" and sys.argv[1] in SETTINGS:  # before the import: the allocator reads them once
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = os.environ["PYTORCH_ALLOC_CONF"] = SETTINGS[sys.argv[1]]

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mix, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.mix(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self, width=512, layers=6, heads=8, words=8192):
        super().__init__()
        self.words = words
        self.embed = nn.Embedding(words, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.head = nn.Linear(width, words)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class Training:
    """A model, its optimizer, and a step over random tokens. Lengths differ from step to step, as in RL."""

    def __init__(self, device, small=False):
        torch.manual_seed(0)
        self.device = device
        self.model = (Transformer(128, 2, 4, 1024) if small else Transformer()).to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        self.done = 0

    def step(self, batch=8, length=None):
        length = length or 96 + 32 * (self.done % 4)
        tokens = torch.randint(self.model.words, (batch, length + 1), device=self.device)
        loss = F.cross_entropy(self.model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.done += 1


def train(training):
    for _ in range(5):
        training.step()
    torch.cuda.empty_cache()
    training.step()


def expandable(training):
    train(training)
    kept = [torch.empty(size, dtype=torch.uint8, device="cuda") for size in (20 * MIB, 45 * MIB + 1, 600, 3 * MIB)]
    del kept[1]
    torch.cuda.empty_cache()
    kept.append(torch.empty(80 * MIB, dtype=torch.uint8, device="cuda"))
    return kept


def graphs(training):
    """A forward pass is captured into a graph, which has a pool of its own, and replayed."""
    training.step()
    model = training.model
    tokens = torch.randint(model.words, (4, 64), device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side), torch.no_grad():
        for _ in range(3):
            model(tokens)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        logits = model(tokens)
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    training.step()
    return graph, logits


def compiled(training):
    """The forward pass is compiled into graphs, whose pools the compiler rolls back and fills again."""
    training.step()
    model = torch.compile(training.model, mode="reduce-overhead")
    tokens = torch.randint(training.model.words, (4, 64), device="cuda")
    with torch.no_grad():
        for _ in range(4):
            torch.compiler.cudagraph_mark_step_begin()
            logits = model(tokens).clone()
    training.step()
    return model, logits


def mempool(training):
    """A pool of the program's own: in use, given up, gone."""
    training.step()
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        kept = [torch.empty(size, dtype=torch.uint8, device="cuda") for size in (30 * MIB, 900, 5 * MIB)]
    training.step()
    kept.clear()
    del pool
    torch.cuda.empty_cache()
    training.step()


def oom(training):
    """The cache goes back to the driver and the next try succeeds; then nothing helps."""
    training.step()
    torch.cuda.synchronize()
    chunk = torch.cuda.mem_get_info()[0] // 10
    cached = [torch.empty(chunk, dtype=torch.uint8, device="cuda") for _ in range(8)]
    cached.clear()
    torch.empty(4 * chunk, dtype=torch.uint8, device="cuda")  # needs the cached ones to go
    kept = []
    try:
        while True:
            kept.append(torch.empty(3 * chunk, dtype=torch.uint8, device="cuda"))
    except torch.OutOfMemoryError:
        print("out of memory with %d bytes allocated" % torch.cuda.memory_allocated())
    kept.clear()
    training.step()


def sleep(training):
    """An inference engine's weights and cache in a pool that is asleep during training."""
    import ctypes
    path = os.path.join(os.environ["BUILD"], "gpu", "libsleeper.so")
    library = ctypes.CDLL(path)
    allocator = torch.cuda.memory.CUDAPluggableAllocator(path, "sleeper_alloc", "sleeper_free")
    pool = torch.cuda.MemPool(allocator.allocator())
    with torch.cuda.use_mem_pool(pool):
        engine = [torch.empty(size, dtype=torch.uint8, device="cuda") for size in (64 * MIB, 24 * MIB + 512, 5000)]
        cache = torch.empty(512 * MIB, dtype=torch.uint8, device="cuda")
    for _ in range(2):
        training.step()
        torch.cuda.empty_cache()
        if library.sleeper_sleep() < 2:
            raise RuntimeError("nothing of the pool went to sleep")
        training.step()
        torch.cuda.empty_cache()
        if library.sleeper_wake() < 2:
            raise RuntimeError("the pool did not wake")
        engine[0].fill_(1)
        cache.fill_(1)
    torch.cuda.synchronize()
    return allocator, pool, engine, cache


def plateaus(training):
    """The GPU is left alone for a while, again and again, so that it can be looked at: at different heights."""
    kept = []
    for size in (0, 3 * GIB, 40 * MIB):
        training.step()
        kept.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
        torch.cuda.synchronize()
        time.sleep(0.5)
    del kept[1]
    torch.cuda.empty_cache()
    time.sleep(0.5)
    return kept


def device_used():
    torch.cuda.synchronize()
    free, total = torch.cuda.mem_get_info()
    return total - free


def write_results(folder):
    stats = torch.cuda.memory_stats()
    figures = {name: stats[key] for name, key in (
        ("allocated", "allocated_bytes.all.current"), ("reserved", "reserved_bytes.all.current"),
        ("allocs", "allocation.all.allocated"), ("retries", "num_alloc_retries"), ("ooms", "num_ooms"))}
    figures["device_used"] = device_used()
    with open(os.path.join(folder, "snapshot.pickle"), "wb") as file:
        pickle.dump(torch.cuda.memory._snapshot(), file)
    with open(os.path.join(folder, "stats.json"), "w") as file:
        json.dump(figures, file)


def main(mode, folder, small=""):
    os.makedirs(folder, exist_ok=True)
    torch.cuda.init()
    torch.cuda.memory._record_memory_history(context=None, stacks="python")
    training = Training("cuda", small == "--small")
    kept = globals()[mode](training)
    write_results(folder)
    print("%s: %d steps" % (mode, training.done))
    del kept


if __name__ == "__main__":
    main(*sys.argv[1:])
