"""history.py - PyTorch's own history of its allocator against a trace, event by event.

    history.py SNAPSHOT EVENTS      a pickle of torch.cuda.memory._snapshot() and the output of trace_events

Per device, in order: every block that was handed out (address; the size asked for against the block's; the allocator's
totals), every block taken back, every out-of-memory error; and between them every segment that was taken, given back,
mapped or unmapped, as the driver calls that did it. The live set at the end must be the one that the snapshot shows. The
history must have been on before the first allocation. Prints what was compared; exit status 1: something differs.
"""
import collections
import pickle
import sys

BLOCK = 512  # bytes, sizes of blocks are multiples
UNSPLIT = 1 << 20  # bytes, a block of the large pool may be so much larger than what was asked for
SHOWN = 20  # differences in words

Event = collections.namedtuple(
    "Event", "kind seq time tid device addr size total reserved handle offset entry result value flags "
    "held tensors absent slack")
WORDS = {"kind", "device"}
TENSOR = {"tensor-alloc": "alloc", "tensor-free": "free_requested", "tensor-oom": "oom"}
DRIVER = {"driver-alloc", "driver-free", "driver-keep", "driver-fail", "vmm-reserve", "vmm-unreserve", "vmm-create",
          "vmm-release", "vmm-map", "vmm-unmap"}
# The forms of a segment of the allocator in the driver's terms; pools with an allocator of their own map theirs.
SEGMENT = {
    "segment_alloc": ("driver-alloc", "vmm-map"),
    "segment_map": ("vmm-map",),
    "segment_free": ("driver-free", "vmm-unmap", "vmm-unreserve"),
    "segment_unmap": ("vmm-unmap",),
}
COMPARED = set(TENSOR.values()) | set(SEGMENT)


class TraceError(Exception):
    pass


def read_events(lines):
    """The events of a trace_events output."""
    lines = iter(lines)
    if tuple(next(lines, "").split()) != Event._fields:
        raise TraceError("this is not the output of trace_events")
    names, count = Event._fields, 0
    for line in lines:
        words = line.split()
        if words[0] == "written":
            if int(words[1]) != count:
                raise TraceError("trace_events said %s events and wrote %d" % (words[1], count))
            return
        if len(words) != len(names):
            raise TraceError("line %d: %s" % (count + 2, line.strip()))
        count += 1
        yield Event(*(word if name in WORDS else int(word) for name, word in zip(names, words)))
    raise TraceError("the output of trace_events ends too early")


def rounded(size):
    return max(BLOCK, (size + BLOCK - 1) // BLOCK * BLOCK)


class Device:
    """One device: walks the history and the trace side by side."""

    def __init__(self, index, entries, events, segments):
        self.index = index
        self.entries = [e for e in entries if e["action"] in COMPARED]
        self.events = [e for e in events if (e.kind in TENSOR and e.device == str(index)) or
                       (e.kind in DRIVER and e.device in ("-", str(index)))]
        self.segments = [s for s in segments if s["device"] == index]
        self.counts = collections.Counter()
        self.differences = []
        self.allocated = self.reserved = 0
        self.live = {}  # address: (size of the block, size asked for)
        self.matched = {}  # seq of an event: the entry that says the same
        self.at = 0  # next event

    def differs(self, text, *args):
        self.differences.append("device %d, %s" % (self.index, text % args))

    # ---- between two tensor events: what the driver did ----

    def next_tensor(self):
        """The driver events up to the next tensor event, and that one (None: the trace ends)."""
        gap = []
        while self.at < len(self.events):
            event = self.events[self.at]
            self.at += 1
            if event.kind in TENSOR:
                return gap, event
            gap.append(event)
        return gap, None

    @staticmethod
    def covers(event, entry):
        """Does the event do a part of what the entry says? Frees and unreserved ranges are named by their start."""
        if event.kind not in SEGMENT[entry["action"]]:
            return False
        if event.kind in ("driver-free", "vmm-unreserve"):
            return event.addr == entry["addr"]
        return entry["addr"] <= event.addr and event.addr + event.size <= entry["addr"] + entry["size"]

    def find_operation(self, gap, start, entry):
        """The place in the gap behind what the entry says, -1: it is not there. Mapped by chunks of one size."""
        missing = entry["size"]
        for i in range(start, len(gap)):
            if not self.covers(gap[i], entry):
                continue
            missing -= entry["size"] if gap[i].kind in ("driver-free", "vmm-unreserve") else gap[i].size
            self.matched[gap[i].seq] = entry
            if missing <= 0:
                return i + 1 if missing == 0 else -1
        return -1

    def count_others(self, gap):
        """Memory that the driver handed out to others, or to the allocator without its history saying so (a pool that wakes)."""
        mapped = {e.handle: self.matched[e.seq] for e in gap if e.kind == "vmm-map" and e.seq in self.matched}
        for event in gap:
            if event.kind == "vmm-create" and event.handle in mapped:
                self.matched[event.seq] = mapped[event.handle]
            elif event.kind in ("driver-alloc", "vmm-create") and event.seq not in self.matched:
                self.counts["other driver allocations"] += 1
                self.counts["bytes of these"] += event.size

    def compare_gap(self, operations, gap):
        place = 0
        for entry in operations:
            found = self.find_operation(gap, place, entry)
            if found < 0:
                self.differs("history: %s of %d bytes at 0x%x: the trace does not have it there", entry["action"],
                             entry["size"], entry["addr"])
            place = max(place, found)
            self.counts["segment operations"] += 1
            sign = 1 if entry["action"] in ("segment_alloc", "segment_map") else -1
            self.reserved += sign * entry["size"]
        self.count_others(gap)

    # ---- tensor events ----

    def compare_alloc(self, entry, event):
        least = rounded(entry["size"])
        if event.addr != entry["addr"]:
            self.differs("alloc of %d bytes: the trace has 0x%x, the history 0x%x", entry["size"], event.addr, entry["addr"])
        if event.size % BLOCK or not least <= event.size <= least + UNSPLIT:
            self.differs("alloc of %d bytes at 0x%x: a block of %d", entry["size"], event.addr, event.size)
        if event.addr in self.live:
            self.differs("alloc at 0x%x: it was not free", event.addr)
        self.live[event.addr] = (event.size, entry["size"])
        self.allocated += event.size

    def compare_free(self, entry, event):
        size, requested = self.live.pop(event.addr, (0, 0))
        if event.addr != entry["addr"]:
            self.differs("free of %d bytes: the trace has 0x%x, the history 0x%x", entry["size"], event.addr, entry["addr"])
        if (size, requested) != (event.size, entry["size"]):
            self.differs("free at 0x%x: %d bytes (%d asked for), it was born with %d (%d)", event.addr, event.size,
                         entry["size"], size, requested)
        self.allocated -= event.size

    def compare_oom(self, entry, event):
        if event.size != entry["size"]:
            self.differs("out of memory: the trace says %d bytes, the history %d", event.size, entry["size"])

    def compare_tensor(self, entry, event):
        if event is None:
            self.differs("history: %s of %d bytes: the trace has ended", entry["action"], entry["size"])
            return
        self.matched[event.seq] = entry
        if TENSOR[event.kind] != entry["action"]:
            self.differs("event %d: the trace has %s of 0x%x, the history %s of 0x%x", event.seq, event.kind, event.addr,
                         entry["action"], entry.get("addr", 0))
        else:
            {"alloc": self.compare_alloc, "free_requested": self.compare_free, "oom": self.compare_oom}[entry["action"]](
                entry, event)
        if event.total != self.allocated or event.reserved != self.reserved:
            self.differs("event %d: the trace says %d allocated, %d reserved; the sums are %d, %d", event.seq, event.total,
                         event.reserved, self.allocated, self.reserved)
            self.allocated, self.reserved = event.total, event.reserved
        self.counts[entry["action"]] += 1

    # ---- the end ----

    def compare_live(self):
        shown = {b["address"]: (b["size"], b["requested_size"]) for s in self.segments for b in s["blocks"]
                 if b["state"] == "active_allocated"}
        for addr in sorted(set(shown) | set(self.live)):
            if shown.get(addr) != self.live.get(addr):
                self.differs("alive at the end, 0x%x: %s by the snapshot, %s by the trace (size, asked for)", addr,
                             shown.get(addr), self.live.get(addr))
        held = sum(s["total_size"] for s in self.segments)
        if held != self.reserved:
            self.differs("segments at the end: %d bytes by the snapshot, %d by the trace", held, self.reserved)
        self.counts["alive at the end"] = len(shown)

    def compare_tail(self):
        """Events after the snapshot was taken: a program that ends only frees."""
        for event in self.events[self.at:]:
            if event.kind in ("tensor-alloc", "tensor-oom"):
                self.differs("event %d: %s of %d bytes that the history does not have", event.seq, event.kind, event.size)
            elif event.kind == "tensor-free":
                self.counts["frees after it"] += 1

    def compare(self):
        operations, gap, event = [], [], None
        for entry in self.entries:
            if entry["action"] in SEGMENT:
                operations.append(entry)
                continue
            gap, event = self.next_tensor()
            self.compare_gap(operations, gap)
            operations = []
            self.compare_tensor(entry, event)
        if operations:
            place = self.at
            gap, _ = self.next_tensor()
            self.compare_gap(operations, gap)
            self.at = place
        self.compare_live()
        self.compare_tail()


def compare(snapshot, events):
    """The devices that either side knows, compared."""
    events = list(events)
    named = {int(e.device) for e in events if e.device not in ("-", "cpu") and e.kind in TENSOR}
    traces = snapshot["device_traces"]
    devices = [Device(index, traces[index] if index < len(traces) else [], events, snapshot["segments"])
               for index in sorted(named | {i for i, entries in enumerate(traces) if entries})]
    for device in devices:
        device.compare()
    return devices


def report(devices):
    """Prints what was compared. The number of differences; comparing nothing is one."""
    for device in devices:
        print("device %d: %s" % (device.index, ", ".join("%d %s" % (n, what) for what, n in sorted(device.counts.items()))))
        for text in device.differences[:SHOWN]:
            print("  " + text)
        if len(device.differences) > SHOWN:
            print("  and %d more" % (len(device.differences) - SHOWN))
    if not any(device.counts["alloc"] for device in devices):
        print("nothing was compared")
        return 1
    return sum(len(device.differences) for device in devices)


def main(snapshot, events):
    with open(snapshot, "rb") as file:
        taken = pickle.load(file)
    with open(events) as file:
        return 1 if report(compare(taken, read_events(file))) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
