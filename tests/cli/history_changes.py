"""history_changes.py ACCOUNT EVENTS: tests/gpu/history.py accepts a history and a trace that are equal, and finds every
single change of one of them.

The history is that of the allocator's double (tests/allocator), the trace that of its run under memrec.
"""
import copy
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "gpu"), os.path.join(HERE, "..", "allocator")]
import caching_allocator
import history


def places(items, wanted):
    """First, middle and last index of the items that are wanted."""
    found = [i for i, item in enumerate(items) if wanted(item)]
    return sorted({found[0], found[len(found) // 2], found[-1]}) if found else []


def is_action(*names):
    return lambda entry: entry["action"] in names


def is_kind(*names):
    return lambda event: event.kind in names


# Changes: of items[i], in place. A result of False: it cannot be changed so.

def drop(items, i):
    del items[i]


def double(items, i):
    items.insert(i, items[i])


def edited(field, by):
    """Adds to a field of a history entry (a dict) or of an event (a tuple)."""
    def change(items, i):
        if isinstance(items[i], dict):
            items[i][field] += by
        else:
            items[i] = items[i]._replace(**{field: getattr(items[i], field) + by})
    return change


def renamed(name):
    def change(items, i):
        items[i]["action"] = name
    return change


def swap_with_next(wanted):
    def change(items, i):
        k = next((k for k in range(i + 1, len(items)) if wanted(items[k])), None)
        if k is None:
            return False
        items[i], items[k] = items[k], items[i]
        return True
    return change


BLOCKS = is_action("alloc", "free_requested")
SEGMENTS = is_action("segment_alloc", "segment_map", "segment_free", "segment_unmap")
GROWS = is_action("segment_alloc", "segment_map")
TENSORS = is_kind("tensor-alloc", "tensor-free")

# The changes in the history, and in the trace: title, which items, change.
IN_HISTORY = [
    ("an alloc is missing", is_action("alloc"), drop),
    ("a free is missing", is_action("free_requested"), drop),
    ("an alloc came twice", is_action("alloc"), double),
    ("an alloc is a free", is_action("alloc"), renamed("free_requested")),
    ("another address", BLOCKS, edited("addr", 512)),
    ("more was asked for", BLOCKS, edited("size", 4096)),
    ("far less was asked for", BLOCKS, edited("size", -(2 << 20))),
    ("a segment is missing", GROWS, drop),
    ("a segment was not given back", is_action("segment_free", "segment_unmap"), drop),
    ("a segment of another size", SEGMENTS, edited("size", 2 << 20)),
    ("a segment at another address", SEGMENTS, edited("addr", 2 << 20)),
    ("a segment after its block", GROWS, swap_with_next(is_action("alloc"))),
    ("an error is missing", is_action("oom"), drop),
    ("an error over another size", is_action("oom"), edited("size", 512)),
]
IN_TRACE = [
    ("an alloc is missing", is_kind("tensor-alloc"), drop),
    ("a free is missing", is_kind("tensor-free"), drop),
    ("an alloc came twice", is_kind("tensor-alloc"), double),
    ("two frees in another order", is_kind("tensor-free"), swap_with_next(is_kind("tensor-free"))),
    ("another address", TENSORS, edited("addr", 512)),
    ("another size", TENSORS, edited("size", 512)),
    ("another total", TENSORS, edited("total", 512)),
    ("another reserved", TENSORS, edited("reserved", 512)),
    ("driver memory is missing", is_kind("driver-alloc", "vmm-map"), drop),
    ("driver memory of another size", is_kind("driver-alloc", "vmm-map"), edited("size", 2 << 20)),
    ("driver memory after its block", is_kind("driver-alloc", "vmm-map"), swap_with_next(is_kind("tensor-alloc"))),
    ("an error is missing", is_kind("tensor-oom"), drop),
    ("an error over another size", is_kind("tensor-oom"), edited("size", 512)),
]
ONLY_LIVE = [
    ("a block is not alive at the end", lambda segments: segments[0]["blocks"].pop()),
    ("a block of another size at the end", lambda segments: segments[0]["blocks"][0].update(size=1 << 30)),
    ("a segment is not there at the end", lambda segments: segments.pop()),
]


def differences(snapshot, events):
    return sum(len(device.differences) for device in history.compare(snapshot, events))


def changes(snapshot, events, last):
    """(title, snapshot, events) of every change; in the trace up to `last`: what follows came after the snapshot."""
    for title, wanted, change in IN_HISTORY:
        for i in places(snapshot["device_traces"][0], wanted):
            changed = copy.deepcopy(snapshot)
            if change(changed["device_traces"][0], i) is not False:
                yield "history: " + title, changed, events
    for title, wanted, change in IN_TRACE:
        for i in places(events, lambda e: wanted(e) and e.seq <= last):
            changed = list(events)
            if change(changed, i) is not False:
                yield "trace: " + title, snapshot, changed
    for title, change in ONLY_LIVE:
        changed = copy.deepcopy(snapshot)
        change(changed["segments"])
        yield "snapshot: " + title, changed, events


def main(account, path):
    snapshot = caching_allocator.snapshot(caching_allocator.read_account(account))
    with open(path) as file:
        events = list(history.read_events(file))
    entries = [e for e in snapshot["device_traces"][0] if e["action"] in history.TENSOR.values()]
    tensors = [e for e in events if e.kind in history.TENSOR]
    found = differences(snapshot, events)
    print("equal: %d differences" % found)
    missed, count = found, 0
    for title, changed, trace in changes(snapshot, events, tensors[len(entries) - 1].seq):
        count += 1
        if not differences(changed, trace):
            print("not found: " + title)
            missed += 1
    print("%d changes" % count)
    return bool(missed) or count < 40


sys.exit(main(*sys.argv[1:]))
