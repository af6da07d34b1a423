"""agent_modules.py DEPTH [off|little] - runs under the agent, with RINGS naming the folder of the rings: which modules is each recorded
stack inside? Compared with what the interpreter says of the frames of a made-up torch.nn.Module."""
import gc
import itertools
import os
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "agent_modules/torch/nn/modules")]
import agent_hooks as hooks
import module as made
from module import Module

DEPTH = int(sys.argv[1])
if DEPTH < 8:  # the recorder looks for calls until it has found one: a program has PyTorch once
    made.old_module = made.cells_module = lambda: Module
    made.forgetful_module = lambda closes_over: Module
INSTANCES_MAX, CLASS_BYTES = 64, 256
FAILED, PARTLY = 2, 3
expected, CASES = {}, []
addresses = itertools.count(0x1000, 0x100)


def case(function):
    CASES.append(function)
    return function


def cut(name):
    return name.encode()[:CLASS_BYTES].decode("utf-8", "ignore")


def is_call(frame):
    code = frame.f_code
    return code.co_filename == made.__file__ and code.co_name in ("_call_impl", "_wrapped_call_impl") and code.co_argcount


def index_of(number, count):
    """The recorded index of a frame; None: it is left out."""
    outer = DEPTH // 4 if count > DEPTH else 0
    inner = DEPTH - outer
    return number if number < inner else None if number < count - outer else number - (count - outer) + inner


def event():
    """Asks for memory here, and notes the modules that the frames are calls of."""
    frame, frames, calls = sys._getframe(1), [sys._getframe(0)], []
    while frame:
        frames.append(frame)
        frame = frame.f_back
    for number, frame in enumerate(frames):
        if not is_call(frame):
            continue
        argument = frame.f_code.co_varnames[0]
        if argument not in frame.f_locals:
            continue
        it = frame.f_locals[argument]
        if calls and calls[-1][0] == id(it):
            calls[-1] = id(it), type(it), number
        else:
            calls.append((id(it), type(it), number))
    want = [(address, cut(kind.__name__), index_of(number, len(frames))) for address, kind, number in calls[:INSTANCES_MAX]
            if any(base.__name__ == "Module" for base in kind.__mro__)]
    address, frame, it = next(addresses), None, None
    expected[address] = want
    frames.clear()  # it is among them
    hooks.report(address, 64, 64, 64, hooks.GPU)


def nested(kind, depth):
    module = kind()
    for _ in range(depth - 1):
        module = kind(module)
    return module


@case
def first_of_all():
    Module()(event)


@case
def outside():
    event()


@case
def kinds():
    old = made.old_module()
    for kind in (Module, old, made.cells_module()):
        kind()(event)
        for name in ("Linear", "a.b", "n" * 255, "n" * 256, "n" * 300, "\xe4" * 200, "n" + "\xe4" * 200, "\u540d" * 99):
            type(name, (kind,), {})()(event)


@case
def depths():
    for kind in (Module, made.old_module()):
        for depth in (1, 2, 3, 7, 8, 9, 16, 64, 65, 100):
            nested(kind, depth)(event)


@case
def overridden():
    class Direct(Module):
        def __call__(self, act):
            return self._call_impl(act)

    class Through(Module):
        def __call__(self, act):
            return super().__call__(act)

    class Mixed(dict, Module):
        def __init__(self):
            Module.__init__(self)

        __hash__ = object.__hash__

    for kind in (Direct, Through, Mixed):
        kind()(event)
        Module(kind())(event)


@case
def compiled():
    def compile(module):
        def call(*args):
            return module._call_impl(*args)
        module._compiled_call_impl = call
        return module

    compile(Module())(event)
    compile(Module(compile(Module())))(event)


@case
def without_self():
    for closes_over in (False, True):
        made.forgetful_module(closes_over)()(event)
    made.ACT = event
    made._call_impl()


@case
def no_modules():
    """Objects that are no modules, in the place of one."""
    if DEPTH < 8:
        return
    call = made.old_module()._call_impl

    class Thing:
        forward = staticmethod(lambda act: act())

        def __getattr__(self, name):
            raise RuntimeError(name)

    Slots = type("Slots", (), {"__slots__": (), "forward": lambda self, act: act()})
    for it in (Thing(), Thing, Slots()):
        call(it, event)
        Module._call_impl(it, event)
    made.forgetful_module(False)._call_impl(3, event)
    made.cells_module()._call_impl(3, event)
    made.cells_module()._call_impl(None, event)
    made.cells_module()._call_impl("self", event)


@case
def recursion():
    class Again(Module):
        def forward(self, act, depth=3):
            self(act, depth - 1) if depth else act()

    class Two(Module):
        def forward(self, act, depth=5):
            self.other(act, depth - 1) if depth else act()

    Again()(event)
    one, other = Two(), Two()
    one.other, other.other = other, one
    one(event)


@case
def generators():
    class Yields(Module):
        def forward(self, act):
            act()
            yield
            Module()(act)
            yield

    running = Yields()(event)
    next(running)
    Module()(lambda: next(running))
    event()


@case
def threads():
    def work(module):
        for _ in range(20):
            module(event)

    models = [nested(Module, depth) for depth in range(1, 7)]
    workers = [threading.Thread(target=work, args=(model,)) for model in models + models[:2]]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


@case
def recycled():
    """Another module lies where one has died."""
    class One(Module):
        pass

    class Two(Module):
        pass

    seen, twice = {}, 0
    for number in range(300):
        module = (One, Two)[number % 3 == 0]()
        twice += seen.get(id(module), type(module)) is not type(module)
        seen[id(module)] = type(module)
        module(event)
        del module
    assert twice > 20, twice


def deeper(depth, act):
    return deeper(depth - 1, act) if depth else act()


def little():
    """Room for 8 MiB of stacks: first new ones go without their modules, then there are none; known ones stay whole."""
    def called(module, depth=24):
        address = next(addresses)
        deeper(depth, lambda: module(lambda: hooks.report(address, 64, 64, 64, hooks.GPU)))
        return address

    def modules_come():
        many.extend([called(model) for model in models])
        assert hooks.ring().sources["python-stacks"][0] == PARTLY

    def lines_come():
        for number in range(2500):
            exec(compile("%sdef site(act): act()" % ("\n" * number), "/tmp/made.py", "exec"), globals())
            deeper(24, lambda: site(event))

    models, many, known = [Module() for _ in range(14000)], [], []
    for happens in int, modules_come, lines_come:
        happens()
        known.append(called(models[0]))
    fresh = called(Module(), 3)
    ring = hooks.ring()
    events, stacks = {event.addr: event for event in ring.events}, ring.stacks
    calls = [ring.calls(events[address]) for address in many]
    bare = calls.index([])
    assert not any(ring.lost) and bare > 5000 and not any(calls[bare:]) and all(events[address].stack for address in many)
    assert [call[0] for it in calls[:bare] for call in it] == [id(model) for model in models[:bare]]
    assert len({events[address].stack for address in many[bare:]}) == 1
    for address in known:
        assert [call[0] for call in ring.calls(events[address])] == [id(models[0])]
    assert not events[fresh].stack and ring.sources["python-stacks"][0] == FAILED, ring.sources
    print(bare, "stacks with modules of", len(stacks))


def main():
    if sys.argv[2:] == ["little"]:
        return little()
    gc.disable()
    for run in CASES:
        run()
    gc.enable()
    ring = hooks.ring()
    if sys.argv[2:] == ["off"]:
        sys.exit(bool(ring.instances))
    events = {event.addr: event for event in ring.events if event.what == "TENSOR_ALLOC"}
    assert len(events) == len(expected) > 400, (len(events), len(expected))
    differ = ["%x: %s, not %s" % (address, ring.calls(events[address]), want) for address, want in expected.items()
              if ring.calls(events[address]) != want]
    print("\n".join(differ[:20]) or "%d stacks are inside the same modules" % len(expected))
    sys.exit(bool(differ))


main()
