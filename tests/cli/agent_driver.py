"""agent_driver.py RING LEDGER - the agent's driver events against what the stand-in driver itself wrote down.

For a program with one thread that calls the driver: each line of the ledger has its events, in this order and no
others, with these addresses, sizes and devices. The events of each class of calls are said below; the class of a
call, in recorder/agent/cuda/driver_entries.h.
"""
import os
import re
import sys
from collections import Counter

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import agent_ring

ENTRIES = os.path.join(HERE, "../../recorder/agent/cuda/driver_entries.h")
NOTES = os.path.join(HERE, "../../recorder/agent/cuda/driver_notes.h")
SPACES = "device async-pool managed pinned array imported host graph multicast".split()
TAKE = set("ALLOC PITCH ASYNC FROM_POOL REGISTER ARRAY ARRAY3D MIPMAP".split())
FREE = {"FREE", "FREE_ASYNC"}
HOLDS_NONE = {"imported", "multicast"}


def entries():
    text = open(ENTRIES).read()
    return {name: (int(number), kind) for name, number, kind in re.findall(r"X\((cu\w+), (\d+), (\w+),", text)}


class Line:
    """One line of the ledger."""

    def __init__(self, text):
        pid, self.entry, result, device, self.space, address, size, change = text.split()
        self.pid, self.result, self.size, self.change = int(pid), int(result), int(size), int(change)
        self.device = -1 if device == "host" else int(device)
        self.address = int(address, 16)


class Expected:
    """The events of each line, as (what, entry, address or handle, size, device); None: not compared."""

    def __init__(self):
        self.entries, self.references, self.primary, self.functions = entries(), Counter(), set(), set()
        self.noted = set(re.findall(r"X\((cu\w+),", open(NOTES).read()))

    def note(self, line):
        number = self.entries[line.entry][0]
        return [("DRIVER_NOTE", number, None, None, None)] if line.entry in self.noted else []

    def gone(self, line):
        return [("CONTEXT_GONE", self.entries[line.entry][0], None, None, line.device)]

    def one_more(self, line):
        self.references[line.device] += 1
        is_new = line.device not in self.primary
        self.primary.add(line.device)
        return self.note(line) if is_new else []

    def one_less(self, line):
        self.references[line.device] -= 1
        return [] if self.references[line.device] else self.reset(line)

    def reset(self, line):
        was_there = line.device in self.primary
        self.primary.discard(line.device)
        return self.gone(line) if was_there else []

    def taken(self, line):
        number, kind = self.entries[line.entry]
        if line.result:
            return [("DRIVER_FAIL", number, None, line.size or None, None)]  # 0: STANDIN_FAULT_OOM_AT
        if line.space == "graph" and not line.change:
            return []
        size = 0 if line.space == "imported" and kind == "OPEN" else line.size
        device = None if line.space == "imported" else line.device
        return [("DRIVER_ALLOC", number, line.address, size, device)]

    def freed(self, line, what):
        number = self.entries[line.entry][0]
        if not line.result and line.space == "graph" and not line.change:
            return []
        kept = [("DRIVER_KEEP", number, line.address, None, None)] if line.result else []
        return [(what, number if what == "DRIVER_FREE" else None, line.address, None, None)] + kept

    def virtual(self, line, kind):
        what = {"RETAIN": "VMM_RETAIN", "RESERVE": "VMM_RESERVE", "UNRESERVE": "VMM_UNRESERVE", "MAP": "VMM_MAP",
                "UNMAP": "VMM_UNMAP"}[kind]
        return [(what, None, line.address if kind != "RETAIN" else None, line.size if kind != "RETAIN" else None, None)]

    def events(self, line):
        if line.entry == "gone":
            return []
        kind = self.entries[line.entry][1]
        if kind in TAKE or (kind.startswith("OPEN") and not line.result):
            return self.taken(line)
        if kind == "CREATE" and line.result:
            return [("DRIVER_FAIL", self.entries[line.entry][0], None, line.size, line.device)]
        if kind in FREE:
            return self.freed(line, "DRIVER_FREE")
        if kind == "RELEASE":
            return self.freed(line, "VMM_RELEASE")
        if kind in ("NOTE", "CONTEXT", "POOL", "POOL_IMPORT", "POOL_DESTROY", "GRAPH_DESTROY"):
            return self.note(line)
        if kind == "FUNCTION" and (line.result or line.address not in self.functions):
            self.functions.add(line.address)
            return self.note(line)
        return self.graph(line, kind) if kind.startswith("GRAPH_") else [] if line.result else self.done(line, kind)

    def graph(self, line, kind):
        number = self.entries[line.entry][0]
        if kind == "GRAPH_EXEC_DESTROY":
            return (self.freed(line, "DRIVER_FREE") if line.change else []) + self.note(line)
        if kind not in ("GRAPH_USE", "GRAPH_EXEC"):
            return []
        if line.result == 2:
            return [("DRIVER_FAIL", number, None, line.size, line.device)] + self.note(line)
        return (self.taken(line) if line.change else []) + self.note(line)

    def done(self, line, kind):
        """Events of a call that succeeded."""
        number = self.entries[line.entry][0]
        if kind in ("CREATE", "IMPORT", "MULTICAST"):
            size = 0 if kind == "IMPORT" else line.size
            return [("VMM_CREATE", number, line.address, size, None if line.space in HOLDS_NONE else line.device)]
        if kind in ("RETAIN", "RESERVE", "UNRESERVE", "MAP", "UNMAP"):
            return self.virtual(line, kind)
        if kind == "PRIMARY":
            return self.one_more(line)
        if kind == "PRIMARY_RELEASE":
            return self.one_less(line)
        if kind == "GREEN":
            self.references[line.device] += 1
            return self.note(line)
        if kind == "GREEN_DESTROY":
            return self.one_less(line) + self.note(line)  # CUPTI tells of the context before the call returns
        if kind == "PRIMARY_RESET":
            return self.reset(line)
        if kind == "CONTEXT_DESTROY":
            return self.gone(line)
        return []


def seen(event):
    """An event of the ring in the same form."""
    has_entry = event.what.startswith("DRIVER") or event.what in ("CONTEXT_GONE", "VMM_CREATE")
    handle = event.what in ("VMM_CREATE", "VMM_RELEASE", "VMM_RETAIN", "CONTEXT_GONE")
    return (event.what, event.entry if has_entry else None, event.handle if handle else event.addr, event.size,
            event.device_index)


def agrees(event, wish):
    return all(want is None or got == want for got, want in zip(event, wish))


def check_note(event, line):
    """The address or handle of the call is in the note; a size and a device that the note says are the right ones."""
    assert event.result == line.result, line.entry
    if line.result:
        return
    says = (event.addr, event.handle, event.value)
    assert not line.address or line.change or line.address in says, (line.entry, vars(event))
    assert not event.size or event.size == line.size, (line.entry, line.size, vars(event))
    assert line.device < 0 or event.device_index == line.device, (line.entry, line.device, vars(event))


def main(ring_path, ledger_path):
    ring, expected = agent_ring.Ring(ring_path), Expected()
    lines = [line for line in map(Line, open(ledger_path)) if line.pid == ring.pid]
    wanted = [(line, wish) for line in lines for wish in expected.events(line)]
    driver = [event for event in ring.events if event.what.startswith(("DRIVER", "VMM", "CONTEXT"))]
    assert ring.sources["cupti"] == (1, "") and not any(ring.lost), (ring.sources, ring.lost)
    for (line, wish), event in zip(wanted, driver):
        assert agrees(seen(event), wish), "%s %d: %s, not %s" % (line.entry, line.result, seen(event), wish)
        if event.what == "DRIVER_ALLOC":
            assert SPACES[event.flags] == line.space, (line.entry, event.flags, line.space)
        if event.what == "DRIVER_NOTE":
            check_note(event, line)
        assert event.stack or event.what == "DRIVER_KEEP", line.entry
        assert not line.result or event.result == line.result or event.what in ("DRIVER_FREE", "VMM_RELEASE")
    assert len(wanted) == len(driver), (len(wanted), len(driver), Counter(event.what for event in driver))
    print(dict(Counter(event.what for event in driver)))


main(*sys.argv[1:])
