"""caching_allocator.py - the double of PyTorch's caching allocator, from Python; and what is in its account.

    allocator = CachingAllocator("account", "expandable")
    block = allocator.alloc(1000)           # a Block; OutOfMemoryError
    block.free()

The library is the one that was built for the libc10 that is loaded: BUILD in the environment says where builds are.
"""
import collections
import contextlib
import ctypes
import importlib.util
import os

MODES = {"expandable": 1, "async": 2, "saver": 4}
SOURCES = {"malloc": 0, "cumem": 1, "saver": 2}
OLD_NAME = "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE"


class OutOfMemoryError(RuntimeError):
    pass


def load_c10():
    """The real one, visible to libraries that are loaded later: that of PyTorch, without importing PyTorch."""
    spec = importlib.util.find_spec("torch")
    path = os.path.join(os.path.dirname(spec.origin), "lib", "libc10.so")
    return ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)


def load_double(binding=""):
    """`binding`: "" or "-now", how the calls to libc10 are bound."""
    kind = "1.13" + binding if hasattr(load_c10(), OLD_NAME) else "2.0"
    library = ctypes.CDLL(os.path.join(os.environ["BUILD"], "allocator", kind, "libc10_cuda.so"))
    library.allocator_alloc.restype = ctypes.c_uint64
    library.allocator_allocated.restype = library.allocator_reserved.restype = ctypes.c_uint64
    return library


class Block:
    """A block of the allocator; freed once, by hand or with its last reference, as tensors are."""

    def __init__(self, allocator, address, device):
        self.allocator, self.address, self.device = allocator, address, device

    def free(self):
        if self.address:
            address, self.address = self.address, 0
            self.allocator.library.allocator_free(self.device, ctypes.c_uint64(address))

    def record_stream(self, stream):
        self.allocator.library.allocator_record_stream(self.device, ctypes.c_uint64(self.address), stream)

    __del__ = free


class CachingAllocator:
    def __init__(self, account, *modes, binding=""):
        self.library = load_double(binding)
        self.library.allocator_open(os.fsencode(account), sum(MODES[mode] for mode in modes))
        everywhere = ctypes.CDLL(None)
        self.push = getattr(everywhere, "memrec_agent_phase_push", None)
        self.pop = getattr(everywhere, "memrec_agent_phase_pop", None)
        self.between = "init"  # the default before the first phase is init
        self.library.allocator_label(self.between.encode())

    def alloc(self, size, stream=0, device=0):
        address = self.library.allocator_alloc(device, ctypes.c_uint64(size), stream)
        if not address:
            raise OutOfMemoryError("%d bytes on device %d" % (size, device))
        return Block(self, address, device)

    def report(self, address, size, allocated, reserved, kind, index):
        """Something else that goes through libc10's functions; `kind` is a c10::DeviceType."""
        values = [ctypes.c_uint64(address), ctypes.c_int64(size), ctypes.c_uint64(allocated), ctypes.c_uint64(reserved)]
        self.library.allocator_report(*values, kind, index)

    def stream_done(self, stream, device=0):
        self.library.allocator_stream_done(device, stream)

    def empty_cache(self, device=0):
        self.library.allocator_empty_cache(device)

    def allocated(self, device=0):
        return self.library.allocator_allocated(device)

    def reserved(self, device=0):
        return self.library.allocator_reserved(device)

    @contextlib.contextmanager
    def pool(self, number, source="malloc", device=0):
        self.library.allocator_pool_begin(device, number, SOURCES[source])
        try:
            yield
        finally:
            self.library.allocator_pool_end(device)

    @contextlib.contextmanager
    def capture(self, number, device=0):
        with self.pool(number, device=device):
            self.library.allocator_capture(device, 1)
            try:
                yield
            finally:
                self.library.allocator_capture(device, 0)

    def release_pool(self, number, device=0):
        self.library.allocator_pool_release(device, number)

    def sleep(self, number, device=0):
        self.library.allocator_pool_sleep(device, number)

    def wake(self, number, device=0):
        if not self.library.allocator_pool_wake(device, number):
            raise OutOfMemoryError("waking pool %d" % number)

    @contextlib.contextmanager
    def phase(self, name, told=True):
        """The program's phase, for the account; with `told` memrec is told, else its rules must find out."""
        self.library.allocator_label(name.encode())
        if told and self.push:
            self.push(name.encode())
        try:
            yield
        finally:
            if told and self.pop:
                self.pop()
            self.between = self.between if name == "init" else "other"
            self.library.allocator_label(self.between.encode())

    def snapshot(self):
        """As torch.cuda.memory._snapshot(): in the account, this is where it was taken."""
        self.library.allocator_snapshot(0)


# ---- The account ----

Action = collections.namedtuple("Action", "action device addr size real allocated reserved stream thread time_us label")


def read_account(path):
    with open(path) as file:
        for line in file:
            action, *numbers, label = line.split()
            yield Action(action, *map(int, numbers), label)


def trace_entry(action):
    """As PyTorch has it, and our label."""
    entry = {"action": action.action, "size": action.size, "stream": action.stream, "time_us": action.time_us, "frames": [],
             "label": action.label}
    entry["device_free" if action.action == "oom" else "addr"] = action.addr
    return entry


def join(ranges):
    """Sorted (addr, size) ranges with those that touch made one."""
    joined = []
    for addr, size in sorted(ranges):
        if joined and joined[-1][0] + joined[-1][1] == addr:
            joined[-1] = (joined[-1][0], joined[-1][1] + size)
        else:
            joined.append((addr, size))
    return joined


def cut(ranges, addr, size):
    """`ranges` without [addr, addr + size)."""
    for start, length in ranges:
        for first, end in ((start, min(start + length, addr)), (max(start, addr + size), start + length)):
            if first < end:
                yield (first, end - first)


def snapshot(actions):
    """The answer of torch.cuda.memory._snapshot(): `device_traces`, and `segments` with their allocated blocks."""
    traces, segments, blocks = collections.defaultdict(list), collections.defaultdict(list), collections.defaultdict(dict)
    expandable = False
    for a in actions:
        expandable = expandable or a.action == "segment_map"
        traces[a.device].append(trace_entry(a))
        if a.action in ("segment_alloc", "segment_map"):
            segments[a.device].append((a.addr, a.size))
        elif a.action in ("segment_free", "segment_unmap"):
            segments[a.device] = list(cut(segments[a.device], a.addr, a.size))
        elif a.action == "alloc":
            blocks[a.device][a.addr] = {"address": a.addr, "size": a.real, "requested_size": a.size,
                                        "state": "active_allocated", "frames": []}
        elif a.action == "free_requested":
            del blocks[a.device][a.addr]
        elif a.action == "snapshot":
            break
    described = [{"device": device, "address": addr, "total_size": size, "stream": 0, "frames": [],
                  "is_expandable": expandable,
                  "blocks": [b for b in blocks[device].values() if addr <= b["address"] < addr + size]}
                 for device, ranges in segments.items() for addr, size in (join(ranges) if expandable else sorted(ranges))]
    return {"segments": described, "device_traces": [traces[device] for device in range(max(traces, default=-1) + 1)]}
