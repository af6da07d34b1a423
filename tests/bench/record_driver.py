"""record_driver.py LIBRARY report|malloc BLOCKS FRAMES THREADS - as record_driver.c, but the frames are Python's."""
import ctypes
import sys
import threading

BURST, CALL_SITES = 1024, 64
library = ctypes.CDLL(sys.argv[1])
library.burst.restype = ctypes.c_double
library.note.argtypes = [ctypes.c_uint, ctypes.c_double, ctypes.c_double]
way, blocks, frames, threads = sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
FIXED = 4 # frames of the stack: the last function, make_burst and its generator, run
EACH = BURST // CALL_SITES
FILES = ["/usr/lib/python3/dist-packages/made/nn/modules/module_%d.py" % number for number in range(8)]
bursts = blocks // BURST // threads


def made(name, number, text):
    """A function of its own, as programs have many, of ten lines."""
    space = {"library": library}
    body = "\n".join("  value_%d = [%d, free + %d]" % (i, i, i) for i in range(8))
    exec(compile("%sdef %s(thread, free):\n%s\n  return %s" % ("\n" * number, name, body, text),
                 FILES[number % len(FILES)], "exec"), space)
    return space


def chain(number):
    """Functions that call each other, the last one makes events."""
    name = "site_%d" % number
    function = made(name, number, "library.burst(thread, free, %d, %d)" % (number * EACH, EACH))[name]
    for level in range(frames - FIXED):
        name = "level_%d" % level
        space = made(name, number + level, "further(thread, free)")
        space["further"], function = function, space[name]
    return function


def make_burst(thread, free):
    return sum(function(thread, free) for function in sites) / BURST


def run(thread):
    library.begin(thread, way == "malloc", bursts)
    for _ in range(bursts):
        library.note(thread, make_burst(thread, 0), make_burst(thread, 1))


sites = [chain(number) for number in range(CALL_SITES)]
others = [threading.Thread(target=run, args=(thread,)) for thread in range(1, threads)]
for thread in others:
    thread.start()
run(0)
for thread in others:
    thread.join()
library.finish(threads)
