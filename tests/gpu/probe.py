"""probe.py PROBE [EVENTS]: what the probe (probe.c) saw, in a few facts; and against the events of a trace of the same program.

PROBE: the probe's lines; of several processes the first counts. EVENTS: what trace_events prints of a trace of another
run of the program. Each kind of call that takes memory, gives it back or maps it must be there as often as the probe saw
it succeed, and fail for want of memory as often. Calls in stream order are left out: on a capturing stream they take
nothing.
"""
import collections
import os
import re
import sys

import history

HERE = os.path.dirname(os.path.abspath(__file__))
CALL = re.compile(r"(DRV|RT) (enter|exit) pid (\d+) tid \d+ depth (-?\d+) id (\d+) (\S+) result (-?\d+) ctx (\S+) uid (\d+) corr (\d+) "
                  r"device (\d+|\? \(-?\d+\))")
CONTEXT = re.compile(r"RES pid (\d+) context (created|ends) \S+ device (\d+|\? \(-?\d+\))")
NO_CONTEXT = "(nil)"
OUT_OF_MEMORY = 2
TAKEN = {"ALLOC", "PITCH", "CREATE"}  # classes of driver_entries.h, and the event of a call
GIVEN = {"FREE": "driver-free", "RELEASE": "vmm-release", "MAP": "vmm-map", "UNMAP": "vmm-unmap"}


def read_entries():
    """{CUPTI's id: class} of driver_entries.h."""
    with open(os.path.join(HERE, "..", "..", "recorder", "agent", "cuda", "driver_entries.h")) as file:
        rows = re.findall(r"^\tX\((\w+), (\d+), (\w+), (\w+), \d+\)", file.read(), re.M)
    return {int(number): kind for _, number, kind, _ in rows}


class Probe:
    def __init__(self, lines):
        self.notes, self.contexts, self.late = [], [], 0
        self.calls = collections.OrderedDict()  # name: Counter
        self.ids = {}
        self.unknown_device = collections.Counter()
        self.pid = None
        over = False
        for line in lines:
            over = over or line.startswith(("atexit", "destructor"))
            self.read(line.rstrip("\n"), over)

    def read(self, line, over):
        call, context = CALL.match(line), CONTEXT.match(line)
        if not call and not context:
            self.notes.append(line)
            return
        pid = (call and call[3]) or context[1]
        self.pid = self.pid or pid
        if pid != self.pid:
            return
        if context:
            self.contexts.append("%s on device %s%s" % (context[2], context[3], " (at exit)" if over else ""))
        elif call[1] == "DRV":
            self.add_call(call)
            self.late += over

    def add_call(self, call):
        name, number = call[6], int(call[5])
        counts = self.calls.setdefault(name, collections.Counter())
        self.ids[name] = number
        if call[2] == "enter":
            counts["entered"] += 1
            counts["inside another call"] += int(call[4]) > 0
            counts["without a context"] += call[8] == NO_CONTEXT
            self.unknown_device[name] += call[8] != NO_CONTEXT and not call[11].isdigit()
        else:
            counts["fine"] += call[7] == "0"
            counts["out of memory"] += int(call[7]) == OUT_OF_MEMORY

    def report(self):
        for note in self.notes:
            print(note)
        for context in self.contexts:
            print("context " + context)
        print("driver calls after the exit handlers: %d" % self.late)
        for name, counts in self.calls.items():
            print("%-32s %s" % (name, ", ".join("%d %s" % (n, what) for what, n in counts.items() if n)))
        for name, count in self.unknown_device.items():
            if count:
                print("device not told in a callback: %s, %d times" % (name, count))


def expected(probe, entries):
    """{(event, entry or None): [at least, at most]}. Frees are told when they begin; one that fails may be none."""
    want = collections.defaultdict(lambda: [0, 0])
    for name, counts in probe.calls.items():
        number = probe.ids[name]
        kind = entries.get(number)
        if kind in TAKEN:
            add(want["taken", number], counts["fine"], counts["fine"])
            add(want["driver-fail", number], counts["out of memory"], counts["out of memory"])
        elif kind in GIVEN:
            add(want[GIVEN[kind], None], counts["fine"], counts["fine" if kind == "MAP" else "entered"])
    return want


def add(bounds, least, most):
    bounds[0] += least
    bounds[1] += most


def recorded(events, entries):
    got = collections.Counter()
    for event in events:
        kind = entries.get(event.entry)
        if event.kind in ("driver-alloc", "vmm-create") and kind in TAKEN:
            got["taken", event.entry] += 1
        elif event.kind == "driver-fail" and kind in TAKEN:
            got["driver-fail", event.entry] += 1
        elif event.kind in GIVEN.values() and (event.kind != "driver-free" or kind == "FREE"):
            got[event.kind, None] += 1
    return got


def compare(want, got, names):
    """The number of differences; finding nothing to compare is one."""
    keys = sorted(set(want) | set(got), key=str)
    differ = [key for key in keys if not want[key][0] <= got[key] <= want[key][1]]
    for what, number in differ:
        print("%s %s: the probe saw %d to %d, the trace has %d" % (what, names.get(number, ""), *want[what, number],
                                                                   got[what, number]))
    compared = sum(least for least, _ in want.values())
    print("compared: %d calls of %d kinds" % (compared, sum(least > 0 for least, _ in want.values())))
    return len(differ) if compared else 1


def main(probe_path, events_path=None):
    entries, differences = read_entries(), 0
    with open(probe_path) as file:
        probe = Probe(file)
    if events_path:
        with open(events_path) as file:
            got = recorded(history.read_events(file), entries)
        differences = compare(expected(probe, entries), got, {number: name for name, number in probe.ids.items()})
    probe.report()
    return int(differences > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
