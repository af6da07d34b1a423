"""agent_python.py stacks|refused - runs under the agent, with RINGS naming the folder of the rings.

stacks: makes events from all kinds of frames, then compares every recorded stack with what the interpreter itself says.
refused: this version is not known to the agent; it must say so, record no stack and go on.
"""
import dis
import os
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import agent_hooks as hooks

DEPTH = 32
expected = {}


def note(address):
    """The caller's stack, innermost first: (code, line)."""
    frame, stack = sys._getframe(1), []
    while frame:
        stack.append((frame.f_code, frame.f_lineno))
        frame = frame.f_back
    expected[address] = stack
    return address


def event(address):
    hooks.report(note(address), 64, 64, 64, hooks.GPU)


class Thing:
    def __init__(self, address):
        event(address)

    def __getattr__(self, name):
        event(0x2000)
        return name

    @property
    def size(self):
        event(0x2100)
        return 1


def ünïcode_naïve(address):
    event(address)


def 名前(address):
    ünïcode_naïve(address)


def generator():
    event(0x3000)
    yield 1
    event(0x3100)


async def coroutine():
    event(0x3200)


def deep(depth, address):
    if depth:
        return deep(depth - 1, address)
    event(address)


def mixed():
    list(map(lambda address: event(address), [0x4000, 0x4100]))
    [event(address) for address in (0x4200,)]
    sorted([2, 1], key=lambda value: event(0x4300 + 256 * value) or value)
    exec(compile("event(\n0x4800)", "<made \u2713 up>", "exec"), {"event": event})


def run():
    Thing(0x1000)
    Thing(0x1100).missing
    Thing(0x1200).size
    名前(0x1300)
    for _ in generator():
        event(0x1400)
    try:
        coroutine().send(None)
    except StopIteration:
        pass
    mixed()
    deep(20, 0x5000)
    deep(200, 0x5100)
    deep(900, 0x5200)
    thread = threading.Thread(target=deep, args=(3, 0x6000))
    thread.start()
    thread.join()


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


def same_frame(ring, recorded, code, line):
    key, lasti = recorded
    seen = ring.codes[key]
    table = code.co_linetable if sys.version_info >= (3, 10) else code.co_lnotab
    wanted = {"name": code.co_name, "qualname": getattr(code, "co_qualname", ""), "file": code.co_filename,
              "line": code.co_firstlineno, "table": table}
    return seen == wanted and line_at(code, lasti) == line


def kept(stack):
    """What of a stack the agent promises to keep: everything, or the innermost 3/4 and the outermost 1/4."""
    if len(stack) <= DEPTH:
        return stack, 0
    inner, outer = DEPTH - DEPTH // 4, DEPTH // 4
    return stack[:inner] + stack[-outer:], inner


def compare(ring, event, stack):
    recorded = ring.stacks[event.stack]
    want, elided = kept(stack)
    if len(recorded["python"]) != len(want) or recorded["elided"] != elided:
        return "%x: %d frames, %d elided, not %d, %d" % (event.addr, len(recorded["python"]), recorded["elided"],
                                                        len(want), elided)
    for index, (frame, (code, line)) in enumerate(zip(recorded["python"], want)):
        if not same_frame(ring, frame, code, line):
            return "%x: frame %d is %s:%s, not %s:%d" % (event.addr, index, ring.codes[frame[0]],
                                                        frame[1], code.co_name, line)
    return None


def stacks():
    run()
    ring = hooks.ring()
    assert ring.python_version == sys.hexversion or ring.python_version == sys.hexversion & 0xffff0000, \
        hex(ring.python_version)
    assert ring.sources["python-stacks"][0] == 1, ring.sources
    events = {event.addr: event for event in ring.events}
    assert len(events) == len(expected) == len(ring.events), (len(events), len(expected))
    differ = list(filter(None, (compare(ring, events[address], stack) for address, stack in expected.items())))
    print("\n".join(differ) or "%d stacks are the same" % len(expected))
    sys.exit(bool(differ))


def refused():
    hooks.alloc(0x1000)
    ring = hooks.ring()
    state, why = ring.sources["python-stacks"]
    assert state == 2 and "not known" in why or "free-threaded" in why, (state, why)
    assert not any(stack["python"] for stack in ring.stacks.values()) and len(ring.events) == 1


{"stacks": stacks, "refused": refused}[sys.argv[1]]()
