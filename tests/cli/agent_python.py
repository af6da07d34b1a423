"""agent_python.py TEST - runs under the agent, with RINGS naming the folder of the rings.

stacks: makes events from all kinds of frames, then compares every recorded stack with what the interpreter itself says.
expect FILE: the same without a ring to look at: writes what is to be in the trace to FILE.
ending, parts: the last moments of the interpreter, and interpreters within it.
refused: this version is not known to the agent; it must say so, record no stack and go on.
"""
import ctypes
import dis
import gc
import itertools
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import agent_hooks as hooks
import agent_python_cases as cases
import agent_ring

DEPTH, WALK = 32, 16384
DEALLOC = 48 # offset of tp_dealloc in a type
NAME_MAX, FILE_MAX = 1023, 4095 # bytes
expected = {}
addresses = itertools.count(0x1000, 0x100) # no two threads get the same one


def describe(frame):
    code = frame.f_code
    table = code.co_linetable if sys.version_info >= (3, 10) else code.co_lnotab
    return {"name": code.co_name, "qualname": getattr(code, "co_qualname", ""), "file": code.co_filename,
            "first": code.co_firstlineno, "table": table, "lasti": frame.f_lasti, "line": frame.f_lineno}


def kept(frames):
    """The parts of a stack that the agent promises to keep."""
    if len(frames) <= DEPTH:
        return frames, 0
    if len(frames) > WALK:
        return frames[:DEPTH], DEPTH
    inner, outer = DEPTH - DEPTH // 4, DEPTH // 4
    return frames[:inner] + frames[-outer:], inner


def note():
    """An address for the caller's caller, and what its stack is. No code is kept alive."""
    frame, frames = sys._getframe(1), []
    while frame:
        frames.append(frame)
        frame = frame.f_back
    frames, elided = kept(frames)
    address = next(addresses)
    expected[address] = [describe(frame) for frame in frames], elided
    return address


def event():
    hooks.report(note(), 64, 64, 64, hooks.GPU)


cases.event = event


def cut(text, size):
    """As the log has it: UTF-8, halves of surrogate pairs replaced, cut between two characters."""
    whole = "".join("\ufffd" if 0xd800 <= ord(character) < 0xe000 else character for character in text)
    return whole.encode()[:size].decode("utf-8", "ignore")


def line_at(code, lasti):
    line = None
    if hasattr(code, "co_lines"):
        for start, end, number in code.co_lines():
            if start <= lasti < end:
                line = number
    else:
        for start, number in dis.findlinestarts(code):
            if start <= lasti:
                line = number
    return line


def same_frame(ring, index, recorded, want):
    key, lasti = recorded
    seen = ring.codes[key]
    texts = {"name": cut(want["name"], NAME_MAX), "qualname": cut(want["qualname"], NAME_MAX),
             "file": cut(want["file"], FILE_MAX), "line": want["first"], "table": want["table"]}
    if seen != texts:
        return False
    if index: # in the same instruction since it was asked; event() itself has gone on to another, on the same line
        return lasti == want["lasti"] & 0xffffffff
    return line_at(event.__code__, lasti) == want["line"]


def compare(ring, event, want, elided):
    stack = ring.stacks[event.stack]
    if len(stack["python"]) != len(want) or stack["elided"] != elided:
        return "%x: %d frames, %d elided, not %d, %d" % (event.addr, len(stack["python"]), stack["elided"], len(want),
                                                        elided)
    for index, (recorded, frame) in enumerate(zip(stack["python"], want)):
        if not same_frame(ring, index, recorded, frame):
            return "%x: frame %d is %s:%s, not %s" % (event.addr, index, ring.codes[recorded[0]], recorded[1], frame)
    return None


def run_all():
    gc.disable() # its code runs between two looks at the same stack
    for case in cases.ALL:
        case()
    gc.enable()


def check(ring):
    assert ring.python_version in (sys.hexversion, sys.hexversion & 0xffff0000), hex(ring.python_version)
    assert ring.sources["python-stacks"][0] == 1, ring.sources
    assert not any(ring.lost), ring.lost
    events = {event.addr: event for event in ring.events}
    extra = [(hex(event.addr), event.seq, event.kind) for event in ring.events
             if event.addr not in expected or event is not events[event.addr]]
    assert len(events) == len(expected) == len(ring.events), (len(events), len(expected), len(ring.events), extra)
    differ = list(filter(None, (compare(ring, events[address], *want) for address, want in expected.items())))
    print("\n".join(differ) or "%d stacks are the same" % len(expected))
    sys.exit(bool(differ))


def stacks():
    """Up to 3.11 the recorder counts how often code is freed. With -OO that is undone, as another tool may do."""
    dealloc = ctypes.c_void_p.from_address(id(type(event.__code__)) + DEALLOC)
    real = dealloc.value
    event()
    counts = dealloc.value != real
    if sys.flags.optimize:
        dealloc.value = real
    elif counts != (sys.version_info < (3, 12)):
        sys.exit("counting is %d" % counts)
    run_all()
    check(hooks.ring())


def expect(path):
    run_all()
    short = {address: [[cut(frame["qualname"] or frame["name"], NAME_MAX), cut(frame["file"], FILE_MAX), frame["line"]]
                       for frame in frames] for address, (frames, _) in expected.items()}
    with open(path, "w") as file:
        json.dump(short, file)


def names_of(ring, event):
    stack = ring.stacks.get(event.stack, {"python": []})
    return [ring.codes[code]["name"] for code, _ in stack["python"]]


# At the end modules are taken apart: what the last events use is held by the functions themselves.
LAST = """
import atexit, os, sys, threading
sys.path.insert(0, sys.argv[1])
import agent_hooks as hooks

def event(address, report=hooks.report, gpu=hooks.GPU, getframe=sys._getframe, write=os.write):
    frame, names = getframe(0), []
    while frame:
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    report(address, 64, 64, 64, gpu)
    write(1, ("%d %s\\n" % (address, " ".join(names))).encode())

class Last:
    def __del__(self, event=event):
        def inner():
            event(0x3000)
        inner()

def at_exit():
    event(0x2000)

def forever(started, event=event):
    event(0x4000)
    started.set()
    while True:
        event(0x5000)

event(0x1000)
atexit.register(at_exit)
sys.last = Last()
last = Last()
started = threading.Event()
threading.Thread(target=forever, args=(started,), daemon=True).start()
started.wait()
"""


def run_child(text, *args):
    done = subprocess.run([sys.executable, "-c", text, os.path.dirname(os.path.abspath(__file__))] + list(args),
                          stdout=subprocess.PIPE, check=True)
    path, = hooks.rings()
    return agent_ring.Ring(path), [line.split() for line in done.stdout.decode().splitlines()]


def ending():
    ring, lines = run_child(LAST)
    want = {}
    for address, *names in lines:
        want.setdefault(int(address), set()).add(tuple(names))
    assert {0x1000, 0x2000, 0x3000, 0x4000} <= set(want), want
    for event in ring.events:
        names = tuple(names_of(ring, event))
        last_words = event.addr == 0x5000 and names[:2] == ("event", "forever") # it may have ended between two calls
        assert names in want.get(event.addr, ()) or last_words, (hex(event.addr), names, want.get(event.addr))


PARTS = """
import sys
sys.path.insert(0, sys.argv[1])
try:
    import _interpreters as parts
    create, run = lambda: parts.create("legacy"), parts.exec
except ImportError:
    import _xxsubinterpreters as parts
    create, run = lambda: parts.create(isolated=False), parts.run_string

common = '''
import ctypes, sys, threading
sys.path.insert(0, %r)
import agent_hooks as hooks
report = ctypes.%s(None)[hooks.report.__name__]
report.argtypes, report.restype = hooks.report.argtypes, None

def event(address, depth=0):
    if depth:
        return event(address, depth - 1)
    frame, names = sys._getframe(0), []
    while frame:
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    report(address, 64, 64, 64, hooks.GPU)
    print(address, *names, flush=True)
''' % tuple(sys.argv[1:])
inside = common + '''
event(%d)
event(%d, 3)
thread = threading.Thread(target=event, args=(%d, 2))
thread.start()
thread.join()
'''
exec(common)
event(0x1000)
ids = [create(), create()]
event(0x1100)
for number, part in enumerate(ids):
    base = 0x2000 + 0x1000 * number
    run(part, inside % (base + 1, base + 2, base + 3))
    event(base)
for part in ids:
    parts.destroy(part)
event(0x9000)
"""


def parts_by(way, is_certain):
    ring, lines = run_child(PARTS, way)
    want = {int(address): names for address, *names in lines}
    assert len(want) == len(ring.events) == 11, (want, len(ring.events))
    for event in ring.events:
        names = names_of(ring, event)
        assert names == want[event.addr] or not names and not is_certain(event.addr), \
            (way, hex(event.addr), names, want[event.addr])
    os.unlink(hooks.rings()[0])


def parts():
    """
    Frames of other interpreters in the process are right where they are known for certain, else there are none. PyDLL
    keeps the GIL. Up to 3.11, while there are other interpreters, only who holds it can be asked which one this is.
    """
    new = sys.version_info >= (3, 12)
    parts_by("PyDLL", lambda address: new or address & 0xf in (0, 3))
    parts_by("CDLL", lambda address: new or address in (0x1000, 0x9000))


def refused():
    hooks.alloc(0x1000)
    ring = hooks.ring()
    state, why = ring.sources["python-stacks"]
    assert state == 2 and ("3.%d is not known" % sys.version_info[1] in why or "free-threaded" in why), (state, why)
    assert not any(stack["python"] for stack in ring.stacks.values()) and len(ring.events) == 1


if __name__ == "__main__":
    {"stacks": stacks, "expect": expect, "ending": ending, "parts": parts, "refused": refused}[sys.argv[1]](*sys.argv[2:])
