"""agent_python_cases.py - programs whose stacks are hard to read; each calls event() where the agent is to look.

The functions here use event() and next_address() of agent_python.py, which puts them in before it runs ALL.
"""
import asyncio
import contextlib
import functools
import operator
import sys
import threading
import types

ALL = []


def case(function):
    ALL.append(function)
    return function


def nested(depth):
    if depth:
        return nested(depth - 1)
    return event()


@case
def plain():
    event()
    nested(3)
    nested(20)
    nested(27)
    nested(28)
    nested(200)
    nested(900)


@case
def several_events_on_one_line():
    event(), nested(1), [event() for _ in range(3)], event(
    )


class Thing:
    def __init__(self):
        event()

    def __getattr__(self, name):
        event()
        return name

    def __enter__(self):
        event()

    def __exit__(self, *_):
        event()

    def __del__(self):
        event()

    def __lt__(self, other):
        event()
        return False

    @property
    def size(self):
        event()
        return 1

    @staticmethod
    def still():
        event()

    @classmethod
    def of_class(cls):
        event()

    class Inner:
        def method(self):
            (lambda: event())()


@case
def methods():
    thing = Thing()
    thing.missing
    thing.size
    thing.still()
    thing.of_class()
    Thing.Inner().method()
    sorted([thing, thing])
    with thing:
        event()
    del thing


@case
def closures_and_comprehensions():
    def outer(depth):
        def inner():
            return outer(depth - 1) if depth else event()
        return inner()

    outer(4)
    (lambda value: (lambda: event())())(1)
    [event() for _ in range(2)]
    {event(): 1 for _ in range(1)}
    {event() for _ in range(1)}
    list(event() for _ in range(2))
    [[nested(1) for _ in range(1)] for _ in range(1)]

    class Body:
        made = event()
        all = [event() for _ in range(1)]


@case
def called_by_c():
    list(map(lambda _: event(), range(2)))
    list(filter(lambda _: nested(1), range(1)))
    sorted([2, 1], key=lambda value: event() or value)
    max([1, 2], key=lambda value: nested(2) or value)
    functools.partial(nested, 2)()
    functools.reduce(lambda a, b: event(), [1, 2, 3])
    functools.lru_cache(maxsize=None)(nested)(2)
    operator.methodcaller("still")(Thing)
    getattr(Thing, "of_class")()
    type("Made", (), {"__init__": lambda self: event()})()
    "%s" % type("Shown", (), {"__str__": lambda self: event() or ""})()

    @contextlib.contextmanager
    def managed():
        event()
        yield
        event()

    with managed():
        event()

    def wrapped(function):
        @functools.wraps(function)
        def wrapper(*args):
            return function(*args)
        return wrapper

    wrapped(wrapped(nested))(2)


def counting(count):
    for i in range(count):
        event()
        yield i


def delegating():
    event()
    yield from counting(2)
    event()


@case
def generators():
    for _ in delegating():
        event()
    running = delegating()
    next(running)
    with contextlib.suppress(KeyError):
        running.throw(KeyError)

    def cleaning():
        try:
            yield
        finally:
            event()

    running = cleaning()
    next(running)
    running.close()
    running = cleaning()
    next(running)
    del running


@case
def taking_turns():
    """As green threads do: each goes on where it was, from another place every time."""
    def worker(depth):
        for _ in range(3):
            nested(depth)
            yield

    def at_depth(depth, turn):
        return at_depth(depth - 1, turn) if depth else next(turn, None)

    turns = [worker(depth) for depth in range(4)]
    for round in range(3):
        for turn in turns:
            at_depth(round * 3, turn)


async def awaiting(depth):
    await asyncio.sleep(0)
    if depth:
        await awaiting(depth - 1)
    event()


async def streaming():
    for _ in range(2):
        event()
        yield
        await asyncio.sleep(0)


async def gathering():
    await asyncio.gather(*[awaiting(depth) for depth in range(3)])
    async for _ in streaming():
        event()
    [event() async for _ in streaming()]
    asyncio.get_running_loop().call_soon(event)
    await asyncio.sleep(0)
    await asyncio.get_running_loop().run_in_executor(None, nested, 3)


@case
def coroutines():
    asyncio.run(gathering())
    with contextlib.suppress(StopIteration):
        awaiting(0).send(None)


@case
def made_code():
    exec(compile("(event(),\n\n0 or\nevent(\n))", "<made \u2713 up>", "exec"), {"event": event})
    eval("[event() for _ in range(2)]", {"event": event})
    for number in range(3):
        exec(compile("def forward(self):\n    x = event()\n    y = event(); x = None\nforward(1)",
                     "<eval_with_key>.%d" % number, "exec"), {"event": event})
    exec(compile("\n" * 70000 + "event()", "/tmp/torchinductor_user/zz/czz.py", "exec"), {"event": event})


@case
def code_that_dies():
    """The next code comes to lie where the last one lay, its names and its lines too."""
    seen, again = {}, 0
    for number in range(200):
        name = "made_%03d" % (number // 2)
        text = "%sdef %s():\n%s  event()\n%s()" % ("\n" * (number % 3), name, "  0\n" * (number % 2), name)
        code = compile(text, "<made %d>" % (number % 5), "exec")
        space = {"event": event}
        exec(code, space)
        inner = id(space[name].__code__)
        again += seen.get(inner, text) != text
        seen[inner] = text
        space.clear()
        del code
    assert again > 20, again


@case
def code_after_code():
    """From one event to the next: another code at the same address, in the same frame, at the same instruction."""
    def caller():
        event()
    last, again = None, 0
    for number in range(100):
        code = caller.__code__.replace(co_name="caller_%d" % number)
        again += id(code) == last
        last = id(code)
        types.FunctionType(code, {"event": event})()
        del code
    assert again > 20, again


@case
def code_that_differs_in_lines_alone():
    """Same name, same file, same first line, same size."""
    for number in range(50):
        lines = ["  0"] * 20
        lines[number % 20] = "  event()"
        exec(compile("def same():\n" + "\n".join(lines) + "\nsame()", "<same>", "exec"), {"event": event})


@case
def callers_of_one_size():
    """Their frames lie at one address, and each is at the same instruction."""
    space = {"event": event}
    exec("\n".join("def caller_%d(): event()" % number for number in range(4)), space)
    for _ in range(3):
        for number in range(4):
            space["caller_%d" % number]()


@case
def replaced_code():
    def one():
        event()

    def other():
        0
        event()

    one()
    one.__code__ = other.__code__
    one()
    one.__code__ = one.__code__.replace(co_name="renamed", co_firstlineno=4711, co_filename="elsewhere.py")
    one()
    types.FunctionType(one.__code__, {"event": event})()


NAMES = {"latin": "na\xefve_\xfcml\xe4\xfct", "wide": "\u540d\u524d_\u0394", "widest": "\U0001d4d0\U0001d4d1_x"}


@case
def names_that_are_not_ascii():
    for name in NAMES.values():
        exec(compile("def %s(): event()\n%s()" % (name, name), "/tmp/%s.py" % name, "exec"), {"event": event})
    exec(compile("event()", "/tmp/\udcff.py", "exec"), {"event": event})


@case
def long_names():
    for letter in ("a", "\xe4", "\u540d", "\U0001d4d0"):
        for size in (1022, 1023, 1024, 3000):
            name = letter * size
            exec(compile("def %s(): event()\n%s()" % (name, name), letter * 5000, "exec"), {"event": event})


@case
def deep():
    """More frames than the agent keeps, and than it looks at."""
    def dive():
        sys.setrecursionlimit(30000)
        nested(5000)
        nested(16000)
        nested(17000)

    threading.stack_size(512 << 20)
    run_in_thread(dive)
    threading.stack_size(0)


def run_in_thread(function, *args):
    thread = threading.Thread(target=function, args=args)
    thread.start()
    thread.join()


@case
def threads():
    run_in_thread(nested, 3)
    barrier = threading.Barrier(8)

    def together(number):
        barrier.wait()
        for depth in range(10):
            nested(number + depth)

    workers = [threading.Thread(target=together, args=(number,)) for number in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


@case
def watched():
    """Under a profiling and a tracing function, which report from inside the calls as well."""
    def watch(frame, what, _):
        if frame.f_code.co_name == "nested" and what in ("call", "line", "return"):
            event()
        return watch

    sys.setprofile(watch)
    nested(3)
    sys.setprofile(None)
    event()
    sys.settrace(watch)
    nested(3)
    sys.settrace(None)
    event()


@case
def monitored():
    monitoring = getattr(sys, "monitoring", None) # since 3.12
    if not monitoring:
        return
    monitoring.use_tool_id(3, "test")
    monitoring.register_callback(3, monitoring.events.LINE, lambda *_: nested(1) and None)
    monitoring.set_local_events(3, counting.__code__, monitoring.events.LINE)
    list(counting(2))
    monitoring.set_local_events(3, counting.__code__, 0)
    monitoring.free_tool_id(3)


@case
def failing():
    def raises():
        try:
            raise KeyError
        except KeyError:
            event()
            raise
        finally:
            nested(1)

    with contextlib.suppress(KeyError):
        raises()
    try:
        raises()
    except KeyError as error:
        nested(2)
        del error
    event()
