"""tensors_cuda.py [--part] [--threads] [--no-phases]: what the double of PyTorch's allocator and the stand-in driver say
of themselves against a trace. Files here: account, ledger, events (trace_events), and the JSON of memana top, verify
and info: top.json, verify.json, info.json.

Tensor events equal the account's and driver events the ledger's, one by one; both in one order, that of the account
(tests/gpu/history.py, which does the same with PyTorch's own history); after every event the bytes that are held, alive,
not resident and idle are those of a model that knows nothing of memrec's ledger; and so is the peak: bytes, phases, slack.
memana verify has compared the allocator's total at every tensor event, and none differed.
    --part       the trace begins later than the account (--skip): its tensor events are the account's last
    --threads    driver calls of several threads may be recorded in another order than the driver did them
    --no-phases  the program could not tell memrec its phases
"""
import argparse
import collections
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "gpu"), os.path.join(HERE, "..", "allocator")]
import caching_allocator
import history

wrong = []


def same(title, got, want):
    """Compares two lists; says where they part."""
    for i, (mine, theirs) in enumerate(zip(got, want)):
        if mine != theirs:
            wrong.append("%s %d: the trace has %s, not %s" % (title, i, mine, theirs))
            return
    if len(got) != len(want):
        wrong.append("%s: %d in the trace, not %d" % (title, len(got), len(want)))


# ---- Event by event ----

def compare_tensors(events, account, part):
    def traced(device):
        return [(history.TENSOR[e.kind], e.addr, e.size, e.total, e.reserved) for e in events
                if e.kind in history.TENSOR and e.device == str(device)]

    def told(device):
        return [(a.action, 0 if a.action == "oom" else a.addr, a.real, a.allocated, a.reserved) for a in account
                if a.action in history.TENSOR.values() and a.device == device]

    for device in sorted({a.device for a in account}):
        got, want = traced(device), told(device)
        same("tensor event of device %d," % device, got, want[-len(got):] if part else want)


ENTRIES = {
    "cuMemAlloc_v2": "driver-alloc", "cuMemAllocAsync": "driver-alloc", "cuMemFree_v2": "driver-free",
    "cuMemFreeAsync": "driver-free", "cuMemAddressReserve": "vmm-reserve", "cuMemAddressFree": "vmm-unreserve",
    "cuMemCreate": "vmm-create", "cuMemRelease": "vmm-release", "cuMemMap": "vmm-map", "cuMemUnmap": "vmm-unmap",
}
SIZELESS = {"driver-free", "vmm-release"}


def driver_call(event):
    place = event.handle if event.kind in ("vmm-create", "vmm-release") else event.addr
    return event.kind, place, 0 if event.kind in SIZELESS else event.size


def ledger_calls(path):
    """The driver's actions, as driver_call puts them."""
    with open(path) as file:
        for line in file:
            _, entry, result, _, _, place, size, _ = line.split()
            if entry not in ENTRIES:
                continue
            kind = ENTRIES[entry]
            if int(result):
                yield "driver-fail", 0, int(size)
            else:
                yield kind, int(place, 16), 0 if kind in SIZELESS else int(size)


def compare_driver(events, ledger, in_order):
    got = [driver_call(e) for e in events if e.kind in history.DRIVER]
    want = list(ledger_calls(ledger))
    same("driver event", *(calls if in_order else sorted(calls) for calls in (got, want)))


def ledger_peaks(path):
    """The most bytes that each device held."""
    held, peak = collections.Counter(), collections.Counter()
    with open(path) as file:
        for line in file:
            device, change = line.split()[3], int(line.split()[7])
            held[device] += change
            peak[device] = max(peak[device], held[device])
    return peak


# ---- Who holds what: slow and simple ----

class Memory:
    """Physical memory: linear, or behind a handle."""

    def __init__(self, size, label):
        self.size, self.label, self.held, self.tensors_seen = size, label, True, False
        self.references, self.mappings = 1, 0


class Model:
    """One device, rebuilt from the events; `labels`: the phase of each event by its seq."""

    def __init__(self, labels):
        self.labels = labels
        self.regions = {}  # address: (size, Memory)
        self.handles, self.tensors = {}, {}  # handle: Memory; address: (size, label)
        self.peak, self.at_peak = 0, None

    def drop(self, memory):
        memory.held = bool(memory.references or memory.mappings)

    def apply(self, e):
        label = self.labels.get(e.seq, "other")
        if e.kind == "driver-alloc":
            self.regions[e.addr] = (e.size, Memory(e.size, label))
        elif e.kind == "driver-free":
            del self.regions[e.addr]
        elif e.kind == "vmm-create":
            self.handles[e.handle] = Memory(e.size, label)
        elif e.kind == "vmm-release":
            self.handles[e.handle].references -= 1
            self.drop(self.handles[e.handle])
        elif e.kind == "vmm-map":
            self.handles[e.handle].mappings += 1
            self.regions[e.addr] = (e.size, self.handles[e.handle])
        elif e.kind == "vmm-unmap":
            for addr in [a for a in self.regions if e.addr <= a < e.addr + e.size]:
                memory = self.regions.pop(addr)[1]
                memory.mappings -= 1
                self.drop(memory)
        elif e.kind == "tensor-alloc":
            self.tensors[e.addr] = (e.size, label)
        elif e.kind == "tensor-free":
            del self.tensors[e.addr]

    def note_peak(self, held, phases, inside):
        """Among equally high moments the first of those with the most tensor bytes."""
        if (held, inside) > (self.peak, self.at_peak[1] if self.at_peak else 0):
            self.peak, self.at_peak = held, ({phase: size for phase, size in phases.items() if size}, inside)

    def memories(self):
        linear = {id(memory): memory for _, memory in self.regions.values()}
        return list({**linear, **{id(m): m for m in self.handles.values() if m.held}}.values())

    def figures(self):
        """held, tensors, absent, slack; and the bytes of each phase: tensors, then what is idle around them."""
        inside, phases = collections.Counter(), collections.Counter()
        for addr, (size, label) in self.tensors.items():
            for start, (length, memory) in self.regions.items():
                common = min(addr + size, start + length) - max(addr, start)
                if common > 0:
                    memory.tensors_seen = True
                    inside[id(memory)] += common
                    phases[label] += common
        held, slack = 0, 0
        for memory in self.memories():
            held += memory.size
            idle = memory.size - inside[id(memory)]
            slack += idle if memory.tensors_seen else 0
            phases[memory.label] += idle
        alive = sum(size for size, _ in self.tensors.values())
        self.note_peak(held, phases, sum(inside.values()))
        return held, alive, alive - sum(inside.values()), slack


def label_events(account, events):
    """The account's label for each event: its own line's, else that of the next line."""
    whole = caching_allocator.snapshot(a for a in account if a.action != "snapshot")
    labels = {seq: entry["label"] for device in history.compare(whole, events) for seq, entry in device.matched.items()}
    taken = [a.label for a in account if a.action == "async_alloc"]
    labels.update(zip((e.seq for e in events if e.kind == "driver-alloc" and taken), taken))
    newest = "other"
    for event in reversed(events):
        newest = labels.setdefault(event.seq, newest)
    return labels


def compare_figures(events, model):
    for e in events:
        model.apply(e)
        if e.kind not in history.TENSOR and e.kind not in history.DRIVER:
            continue
        got, want = (e.held, e.tensors, e.absent, e.slack), model.figures()
        if got != want:
            wrong.append("after event %d (%s of %d bytes): held, alive, not resident, slack are %s, not %s" %
                         (e.seq, e.kind, e.size, got, want))
            return


def compare_peak(top, model, is_cached, check_phases):
    """`is_cached`: what the driver handed out is the caching allocator's, so all that no tensor fills is slack."""
    device = top["devices"][0]
    phases, inside = model.at_peak
    slack = model.peak - inside if is_cached else 0
    found = {part["phase"]: part["bytes"] for part in device["by_phase"] if part["bytes"]}
    if device["peak"]["bytes"] != model.peak:
        wrong.append("peak: %d, not %d" % (device["peak"]["bytes"], model.peak))
    if check_phases and found != phases:
        wrong.append("phases at the peak: %s, not %s" % (found, phases))
    if device["slack_bytes"] != slack:
        wrong.append("slack at the peak: %d, not %d" % (device["slack_bytes"], slack))
    for by in ("by_phase", "by_category", "by_owner"):
        if sum(part["bytes"] for part in device[by]) != model.peak:
            wrong.append("%s: the sum is not the peak" % by)


def compare_verify(events):
    tensors = sum(e.kind in ("tensor-alloc", "tensor-free") for e in events)
    for trace in load("verify.json")["traces"]:
        found = [trace[key] for key in ("compared", "differing", "reordered")]
        if found != [tensors, 0, 0]:
            wrong.append("memana verify: %s totals compared, differing, reordered, not [%d, 0, 0]" % (found, tensors))
    for trace in load("info.json")["traces"]:
        if trace["lost"] or not trace["complete"]:
            wrong.append("the trace is not complete, or something is lost")


def load(path):
    with open(path) as file:
        return json.load(file)


def compare_whole(account, events, top, args):
    compare_driver(events, "ledger", not args.threads)
    devices = history.compare(caching_allocator.snapshot(account), events)
    is_cached = any(a.action == "alloc" for a in account)
    if is_cached and history.report(devices):
        wrong.extend(text for device in devices for text in device.differences)
    if len(devices) == 1:
        model = Model(label_events(account, events))
        compare_figures(events, model)
        compare_peak(top, model, is_cached, not args.no_phases)
    peaks = ledger_peaks("ledger")
    found = {str(d["id"]): d["peak"]["bytes"] for d in top["devices"]}
    if found != {device: size for device, size in peaks.items() if size}:
        wrong.append("peaks: %s, the driver says %s" % (found, dict(peaks)))


def main():
    parser = argparse.ArgumentParser()
    for name in ("--part", "--threads", "--no-phases"):
        parser.add_argument(name, action="store_true")
    args = parser.parse_args()
    account = list(caching_allocator.read_account("account"))
    with open("events") as file:
        events = list(history.read_events(file))
    compare_tensors(events, account, args.part)
    if not args.part:
        compare_whole(account, events, load("top.json"), args)
    compare_verify(events)
    print("\n".join(wrong) or "%d events agree" % len(events))
    return bool(wrong) or not events


sys.exit(main())
