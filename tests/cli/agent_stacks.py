"""agent_stacks.py TEST ... - looks at stacks in the ring that a test program left in ./rings; tests/cli/test_agent_*.sh.

native FILE DEPTH   FILE has, per event, the return addresses as the program saw them
trusted FILE DEPTH  the same for stacks that nobody can follow to their end: what is there is right as far as it goes
libraries FILE PATH...   two events from each of the libraries, one after the other
foreign FILE        events of threads that Python does not know
embed FILE          events of agent_embed.c, FILE has what the interpreter saw
recorded WANT GOT   what the interpreter saw, and what the trace says; both JSON
fake | fake_refused WORDS   events of agent_fake_python.c
codes FILE          events of agent_codes.c, FILE has what they must be
options PYTHON NATIVE DEPTH   stacks have (1) or have not (0) frames, at most DEPTH
"""
import glob
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import agent_ring


class Ring(agent_ring.Ring):
    """Remembers which modules were in the log when a stack was written."""
    def __init__(self):
        path, = glob.glob("rings/*.ring")
        self.modules_at = {}
        super().__init__(path)

    def stack(self, key, at):
        super().stack(key, at)
        self.modules_at[key] = list(self.modules)

    def names(self, event):
        stack = self.stacks.get(event.stack, {"python": []})
        return [self.codes[code]["name"] for code, _ in stack["python"]]

    def path_of(self, event, address):
        for module in reversed(self.modules_at[event.stack]):
            if module["start"] < address <= module["end"]:
                return module["path"]
        return None


def seen_by_program(path):
    with open(path) as file:
        for line in file:
            address, *frames = [int(word, 16) for word in line.split()]
            yield address, frames


def compare(path, depth, exact):
    ring = Ring()
    wanted = list(seen_by_program(path))
    assert len(wanted) == len(ring.events), (len(wanted), len(ring.events))
    for event, (address, frames) in zip(ring.events, wanted):
        stack = ring.stacks[event.stack]
        got, want = list(stack["native"]), frames[:depth]
        assert event.addr == address and got and ring.path_of(event, got[0]) == ring.path_of(event, want[0])
        assert got[1:] == want[1:len(got)], ([hex(a) for a in got], [hex(a) for a in want])
        if exact:
            assert len(got) == len(want) and stack["cut"] == (len(frames) > depth), (len(got), len(want), stack["cut"])
            assert all(ring.path_of(event, address) for address in got), [ring.path_of(event, a) for a in got]
        else:
            assert len(got) >= 2
    print("%d stacks" % len(wanted))


def native(path, depth):
    compare(path, int(depth), True)


def trusted(path, depth):
    compare(path, int(depth), False)


def libraries(path, *paths):
    compare(path, 64, True)
    ring = Ring()
    got = [ring.path_of(event, ring.stacks[event.stack]["native"][1]) for event in ring.events]
    assert got == [path for path in paths for _ in range(2)], got
    addresses = {ring.stacks[event.stack]["native"][1] for event in ring.events}
    print("same place" if len(addresses) == 1 else "another place")


def foreign(path):
    """Two threads with two events each, in the second thread there is one of Python's between them; then the main one."""
    ring, wanted = Ring(), dict(seen_by_program(path))
    threads = [(event.addr, ring.names(event)) for event in ring.events]
    known = ["alloc"] + ["nested"] * 4 + ["<lambda>"]
    assert threads == [(0x1000, []), (0x1100, []), (0x1200, []), (0x10000, known), (0x1300, []),
                       (0x20000, ["alloc", "<module>"])], threads
    for event in ring.events:
        stack = ring.stacks[event.stack]["native"]
        assert list(stack[1:]) == wanted[event.addr][1:] if event.addr in wanted else not stack, hex(event.addr)
    assert len({event.thread for event in ring.events}) == 3


def embed(path):
    ring = Ring()
    with open(path) as file:
        wanted = [(int(words[0], 16), words[1:]) for words in map(str.split, file)]
    got = [(event.addr, ring.names(event)) for event in ring.events]
    outside = [(address, []) for address in (0x10, 0x20)]
    around = [[(address, []) for address in part] for part in ((0x100,), (0x200, 0x300))]
    half = len(wanted) // 2
    assert got == outside + around[0] + wanted[:half] + around[1] + around[0] + wanted[half:] + around[1], (got, wanted)
    assert half > 2 and any(len(names) > 2 for _, names in wanted)
    assert ring.sources["python-stacks"] == (1, ""), ring.sources
    assert ring.python_version >> 16 == int(os.environ["VERSION"], 16), hex(ring.python_version)
    assert all(ring.stacks[event.stack]["native"] for event in ring.events if not ring.names(event))


def recorded(want_path, got_path):
    with open(want_path) as want_file, open(got_path) as got_file:
        want, rows = json.load(want_file), json.load(got_file)
    got = {}
    for row in rows:
        if row["kind"] == "python":
            got.setdefault(str(row["address"]), []).append([row["function"], row["file"], row["line"]])
    assert set(want) == set(got), (len(want), len(got))
    for address, frames in want.items():
        assert got[address] == frames, (address, [pair for pair in zip(got[address], frames) if pair[0] != pair[1]][:2])
    print("%d stacks" % len(want))


def fake():
    ring = Ring()
    assert ring.sources["python-stacks"] == (1, ""), ring.sources
    want = [{"line": 7, "name": "inner", "qualname": "Outer.inner", "file": "made.py", "table": b"\x88\0\x80\0"},
            {"line": 3, "name": "outer", "qualname": "outer", "file": "made.py", "table": b"\x88\0\x80\0"}]
    for event in ring.events:
        python = ring.stacks[event.stack]["python"]
        assert [ring.codes[code] for code, _ in python] == want and [lasti for _, lasti in python] == [8, 4], python
    assert len(ring.events) == 2


def codes(path):
    ring = Ring()
    with open(path) as file:
        want = [(int(words[0], 16), words[1:]) for words in map(str.split, file)]
    got = [(event.addr, ring.names(event)) for event in ring.events]
    assert got == want and len(want) == 14, (got, want)
    assert sum(ring.lost) == 1, ring.lost


def fake_refused(*words):
    ring = Ring()
    state, why = ring.sources["python-stacks"]
    assert state == 2 and " ".join(words) in why and why.endswith(": no Python stacks"), (state, why)
    assert len(ring.events) == 2 and not any(stack["python"] for stack in ring.stacks.values())
    assert ring.stacks[ring.events[1].stack]["native"]
    print(why)


def options(python, native, depth):
    ring = Ring()
    lengths = {"python": set(), "native": set()}
    for event in ring.events:
        stack = ring.stacks.get(event.stack, {"python": [], "native": []})
        for kind in lengths:
            lengths[kind].add(len(stack[kind]))
    for kind, wanted in (("python", python), ("native", native)):
        assert max(lengths[kind]) <= int(depth) and (min(lengths[kind]) > 0) == (wanted == "1"), lengths
    print(lengths)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
