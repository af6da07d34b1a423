"""scenario.py SCENARIO ACCOUNT [BINDING]: a program that takes CUDA memory the way PyTorch programs do.

Scenarios: the functions below that take an allocator; what they return is alive when the snapshot is taken. The
events are in ACCOUNT afterwards; the program's own knowledge is printed.
"""
import sys
import threading

from caching_allocator import CachingAllocator, OutOfMemoryError

KIB, MIB = 1 << 10, 1 << 20
MODES = {"expandable": ["expandable"], "expandable_oom": ["expandable"], "async_backend": ["async"], "saver": ["saver"]}
LAYERS = 6


class Model:
    """Weights, and what a step over them takes: odd sizes, small and large."""

    def __init__(self, allocator, width=3 * MIB):
        self.allocator, self.width = allocator, width
        with allocator.phase("init", told=False):
            self.weights = [allocator.alloc(size) for i in range(LAYERS) for size in (width + 4096 * i + 4, 1020)]
        self.state = []

    def layer(self, batch, i):
        kept = [self.allocator.alloc(batch * KIB * 37 + 100), self.allocator.alloc(self.width // 2 + batch)]
        self.allocator.alloc(11 * MIB + i)  # a workspace that is gone at once
        return kept

    def forward(self, batch):
        with self.allocator.phase("forward", told=False):
            return [self.layer(batch, i) for i in range(LAYERS)]

    def backward(self, activations):
        with self.allocator.phase("backward", told=False):
            gradients = []
            while activations:
                gradients.append(self.allocator.alloc(self.width + 4096 * len(activations)))
                activations.pop()
            return gradients

    def optimize(self, gradients):
        with self.allocator.phase("optimizer"):
            if not self.state:
                self.state = [self.allocator.alloc(2 * self.width + 512) for _ in gradients]
            self.allocator.alloc(600)
            gradients.clear()

    def step(self, batch):
        self.optimize(self.backward(self.forward(batch)))


def default(allocator):
    model = Model(allocator)
    for batch in (8, 300, 64):
        model.step(batch)
        allocator.empty_cache()
    model.step(40)
    return model


def expandable(allocator):
    model = default(allocator)
    edges = [allocator.alloc(size) for size in (20 * MIB, 20 * MIB - 512, 100 * MIB + 1, 512, 2 * MIB, 513)]
    del edges[2]
    allocator.empty_cache()
    edges.append(allocator.alloc(45 * MIB))
    return model, edges


def edges(allocator):
    """The same without expandable segments."""
    return expandable(allocator)


def pools(allocator):
    """A graph that is captured into a pool of its own, another pool that is used by hand, and what stays of them."""
    model = Model(allocator)
    with allocator.capture(1):
        captured = model.forward(16)
        model.backward(captured)
    for _ in range(3):
        allocator.alloc(3 * MIB)  # between replays, which allocate nothing
    with allocator.pool(2):
        own = [allocator.alloc(30 * MIB), allocator.alloc(700)]
    allocator.empty_cache()  # the pools are in use: theirs stays
    own.clear()
    allocator.release_pool(2)
    allocator.empty_cache()
    model.step(16)
    allocator.release_pool(1)
    allocator.empty_cache()
    return model


def streams(allocator):
    """Blocks that a second stream still reads: freed when asked for, used again when that stream is done."""
    weights = [allocator.alloc(4 * MIB, stream) for stream in (0, 1, 2)]
    for _ in range(4):
        gathered = allocator.alloc(6 * MIB, 1)
        gathered.record_stream(2)
        gathered.free()
        other = allocator.alloc(6 * MIB, 1)  # cannot be the same one
        allocator.stream_done(2)
        again = allocator.alloc(6 * MIB, 1)
        del other, again
    busy = allocator.alloc(24 * MIB, 1)
    busy.record_stream(0)
    busy.free()
    allocator.empty_cache()  # waits for the stream
    return weights


def sleeping(allocator, batches=(100, 200)):
    """Rollout and training in turns on one GPU: the engine's weights and its cache are asleep during training."""
    model = Model(allocator)
    with allocator.phase("rollout"), allocator.pool(1, "cumem"):
        engine = [allocator.alloc(20 * MIB) for _ in range(3)] + [allocator.alloc(5 * MIB + 512), allocator.alloc(1000)]
        cache = allocator.alloc(300 * MIB)
    for batch in batches:
        allocator.sleep(1)
        allocator.empty_cache()
        model.step(batch)
        allocator.empty_cache()
        with allocator.phase("rollout"):
            allocator.wake(1)
            allocator.alloc(9 * MIB)
    allocator.sleep(1)
    cache.free()  # while it is asleep
    engine.clear()
    allocator.release_pool(1)
    allocator.empty_cache()
    model.step(900)
    return model


def asleep(allocator):
    """Likewise, and training takes more than rollout."""
    return sleeping(allocator, (100, 2500))


def saver(allocator):
    """Every cudaMalloc can be paused: the whole of a process goes to sleep and comes back."""
    model = Model(allocator)
    model.step(50)
    allocator.sleep(0)
    with allocator.phase("weight-update"):
        allocator.wake(0)
        allocator.alloc(2000)
    model.step(70)
    allocator.sleep(0)
    return model


def async_backend(allocator):
    model = Model(allocator)
    model.step(100)
    return model


def fill(allocator, size):
    """As much as there is room for."""
    taken = []
    while True:
        try:
            taken.append(allocator.alloc(size))
        except OutOfMemoryError:
            return taken


def oom(allocator):
    """Cached memory goes back to the driver, and the next try succeeds; then nothing is left to give back."""
    model = Model(allocator)
    cached = [allocator.alloc(40 * MIB) for _ in range(4)]
    cached.clear()
    with allocator.phase("rollout"):
        allocator.alloc(180 * MIB)  # the GPU has 256 MiB
    with allocator.phase("rollout"):
        taken = fill(allocator, 50 * MIB)
        print("gave up with %d bytes allocated" % allocator.allocated())
    del taken[1:]
    model.step(8)
    return model, taken


def expandable_oom(allocator):
    return oom(allocator)


def devices(allocator):
    def work(device):
        for i in range(60):
            kept = [allocator.alloc(size, device=device) for size in (3000 + i, 2 * MIB + i, 12 * MIB)]
            del kept[i % 3]

    run_threads([lambda device=device: work(device) for device in (0, 1)])


def run_threads(work):
    threads = [threading.Thread(target=each) for each in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def threads(allocator):
    """Four threads; each frees what another one has allocated."""
    boxes = [[] for _ in range(4)]
    turn = threading.Barrier(len(boxes))

    def work(mine):
        for i in range(40):
            boxes[mine] = [allocator.alloc(700 * KIB + 512 * i), allocator.alloc(1500 * KIB + i)]
            turn.wait()
            boxes[(mine + 1) % len(boxes)].clear()
            turn.wait()

    run_threads([lambda mine=mine: work(mine) for mine in range(len(boxes))])


def garbage(allocator):
    """Other devices' allocators report by the same functions, and some reports mean nothing."""
    kept = allocator.alloc(3 * MIB)
    totals = allocator.allocated(), allocator.reserved()
    allocator.report(0x10000, 4096, 4096, 4096, 0, -1)  # CPU
    allocator.report(0x20000, 4096, 4096, 4096, 20, 0)  # a device of somebody's own
    allocator.report(0x20000, -4096, 0, 4096, 20, 0)
    allocator.report(0, 4096, *totals, 1, 0)  # no address
    allocator.report(0x30000, 0, *totals, 1, 0)  # no bytes
    allocator.alloc(5 * MIB)
    return kept


def steps(allocator):
    """Five steps; the caller may have the first ones left out."""
    model = Model(allocator)
    for batch in (8, 16, 24, 32, 40):
        model.step(batch)
        memrec_step()
    return model


def torch_loop(allocator):
    """PyTorch's own engine, autograd functions and optimizer around the blocks: nobody says what is running."""
    with allocator.phase("init", told=False):
        weights = [allocator.alloc(3 * MIB + 512 * i) for i in range(LAYERS)]
    import torch

    class Layer(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, i):
            with allocator.phase("forward", told=False):
                ctx.kept = allocator.alloc(7 * MIB + i)
                allocator.alloc(KIB)
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            with allocator.phase("backward", told=False):
                gradients.append(allocator.alloc(3 * MIB))
                ctx.kept.free()
            return gradient, None

    class Optimizer(torch.optim.Optimizer):
        def step(self, closure=None):
            with allocator.phase("optimizer", told=False):
                if not states:
                    states.extend(allocator.alloc(6 * MIB) for _ in weights)
                allocator.alloc(2 * KIB)

    gradients, states, parameter = [], [], torch.ones(4, requires_grad=True)
    optimizer = Optimizer([parameter], {})
    for _ in range(3):
        x = parameter
        for i in range(LAYERS):
            x = Layer.apply(x, i)
        x.sum().backward()
        optimizer.step()
        gradients.clear()
    return weights, states


def memrec_step():
    import ctypes
    step = getattr(ctypes.CDLL(None), "memrec_agent_step", None)
    if step:
        step()


def main(name, account, binding=""):
    allocator = CachingAllocator(account, *MODES.get(name, []), binding=binding)
    kept = globals()[name](allocator)
    allocator.snapshot()
    print("%s: %d bytes allocated, %d reserved" % (name, allocator.allocated(), allocator.reserved()))
    del kept


if __name__ == "__main__":
    main(*sys.argv[1:])
