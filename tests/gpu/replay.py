"""replay.py torch | double ACCOUNT [MODE...]: the same requests to PyTorch's allocator, or to its double (tests/allocator).

The traces of both must be the same but for addresses and what the libraries do first: replay.py compare EVENTS EVENTS
"""
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "allocator")]
KIB, MIB = 1 << 10, 1 << 20
SIZES = [100, 512, 513, 4 * KIB, 700 * KIB, MIB, MIB + 1, 3 * MIB, 9 * MIB, 10 * MIB, 11 * MIB, 19 * MIB, 20 * MIB + 512,
         33 * MIB + 7, 64 * MIB]
DRIVER = {"driver-alloc", "driver-free", "vmm-reserve", "vmm-unreserve", "vmm-create", "vmm-release", "vmm-map", "vmm-unmap"}
SIZELESS = {"driver-free", "vmm-release", "vmm-reserve", "vmm-unreserve"}


def plan(count=600, seed=1):
    """("alloc", size), ("free", index of the live one) and ("empty",)."""
    chance, live = random.Random(seed), 0
    for _ in range(count):
        what = chance.random()
        if what < 0.02:
            yield ("empty",)
        elif live > 4 and what < 0.5:
            yield ("free", chance.randrange(live))
            live -= 1
        else:
            yield ("alloc", chance.choice(SIZES) + chance.choice((0, 0, 1, 512)))
            live += 1


def run(alloc, free, empty):
    live = []
    for what, *arguments in plan():
        if what == "alloc":
            live.append(alloc(*arguments))
        elif what == "free":
            free(live.pop(*arguments))
        else:
            empty()
    for block in live:
        free(block)
    empty()


def run_torch():
    import torch
    torch.cuda.init()
    run(torch.cuda.caching_allocator_alloc, torch.cuda.caching_allocator_delete, torch.cuda.empty_cache)


def run_double(account, modes):
    from caching_allocator import CachingAllocator
    allocator = CachingAllocator(account, *modes)
    run(allocator.alloc, lambda block: block.free(), allocator.empty_cache)


# ---- Two traces, but for addresses ----

def places(events):
    """The events, with addresses as (number of the segment or range, offset). How much is reserved is left out."""
    bases, number = {}, 0  # address: (number, size)
    for e in events:
        if e.kind not in DRIVER and e.kind not in ("tensor-alloc", "tensor-free"):
            continue
        if e.kind in ("driver-alloc", "vmm-reserve"):
            number += 1
            bases[e.addr] = (number, e.size)
        base = next((addr for addr, (_, size) in bases.items() if addr <= e.addr < addr + size), None)
        place = (bases[base][0], e.addr - base) if base is not None else None
        yield e.kind, place, 0 if e.kind in SIZELESS else e.size, e.total, e.reserved
        if e.kind in ("driver-free", "vmm-unreserve"):
            bases.pop(e.addr, None)


def of_the_requests(events):
    """From the driver call before the first tensor on: what comes earlier is the libraries' own.

    PyTorch first asks for a handle that other machines can map (fabric), which most drivers refuse: no request failed."""
    events = [e for e in events if e.kind != "driver-fail"]
    first = next(i for i, e in enumerate(events) if e.kind == "tensor-alloc")
    while first and events[first - 1].kind in DRIVER:
        first -= 1
    last = max(i for i, e in enumerate(events) if e.kind == "tensor-free")
    return events[first:last + 1]


def compare(one, two):
    import history
    sides = []
    for path in (one, two):
        with open(path) as file:
            sides.append(list(places(of_the_requests(list(history.read_events(file))))))
    for i, (mine, theirs) in enumerate(zip(*sides)):
        if mine != theirs:
            print("event %d: %s in the first, %s in the second" % (i, mine, theirs))
            return 1
    print("%d events in the first, %d in the second" % (len(sides[0]), len(sides[1])))
    return int(len(sides[0]) != len(sides[1]) or not sides[0])


def main(what, *arguments):
    if what == "compare":
        return compare(*arguments)
    if what == "torch":
        return run_torch()
    return run_double(arguments[0], arguments[1:])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
