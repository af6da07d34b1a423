"""cupti_run.py ACT... - a program with CUDA and, maybe, another tool that uses CUPTI (cupti_tool.c). Runs under the
agent on the stand-in driver; prints one line for each act that has something to say.

    load FILE       load a library            init     cuInit, and a context
    alloc           take GPU memory           tensor   PyTorch reports a tensor
    use FILE        call use() of a library   nvtx     what NVTX does at its first call
    tool FILE       load the other tool       start | share | stop | finalize     what the tool does, and its result
    teardown MS     at the end of the next call it is shown the tool leaves, waits so long, and finalizes
    pound           from now on a thread makes marks, all the time
    back            makes marks until the agent has its CUPTI source again
    nap             longer than the agent waits before it comes back
    mark            a mark of the program
    hammer N        four threads take and give back memory while the tool comes and goes N times
    grow            PyTorch reports a tensor, and holds more than before
    kill            somebody whom nobody sees finalizes CUPTI (dlsym)
    calls           how many calls the tool was shown since the last time
    mapped          the libraries named like libcupti that are mapped
    wish            memrec start or memrec stop, in turns: a paused process's page says so
    source          what the agent says of its CUPTI source
    seen            how many calls the agent has recorded since the last time
    collector       waits until there is one; its pid goes into ./collector.pid
    asks            cuptiSubscribe as the program finds it by name, called
    end             writes "end" into the log of the stand-in's CUPTI, as the last thing the program does
"""
import ctypes
import glob
import os
import re
import struct
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import agent_ring

ALLOC_ID = 243  # cuMemAlloc_v2


class Program:
    def __init__(self):
        self.cuda = self.other = self.context = None
        self.shown = self.recorded = self.held = 0

    def load(self, path):
        ctypes.CDLL(path)

    def init(self):
        self.cuda, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
        assert self.cuda.cuInit(0) == 0
        assert self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
        assert self.cuda.cuCtxSetCurrent(context) == 0
        self.context = context

    def alloc(self):
        address = ctypes.c_uint64()
        assert self.cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4096)) == 0

    def tensor(self):
        import agent_hooks
        agent_hooks.alloc(0x1000)

    def grow(self):
        import agent_hooks
        self.held += 1 << 20
        agent_hooks.alloc(0x1000, self.held)

    def kill(self):
        assert ctypes.CDLL("libcupti.so.13").cuptiFinalize() == 0

    def tool(self, path):
        self.other = ctypes.CDLL(path)

    def use(self, path):
        function = ctypes.CDLL(path).use
        function.argtypes = [ctypes.c_uint64]
        function(0x2000)

    def nvtx(self):
        ctypes.CDLL(os.environ["NVTX_INJECTION64_PATH"]).InitializeInjectionNvtx2(None)

    def start(self):
        return self.other.tool_start(ALLOC_ID)

    def share(self):
        return self.other.tool_start_sharing(ALLOC_ID)

    def stop(self):
        return self.other.tool_stop()

    def finalize(self):
        return self.other.tool_finalize()

    def teardown(self, ms):
        self.other.tool_teardown(ctypes.c_long(int(ms)))

    def mark(self):
        ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]).memrec_agent_mark(b"mark")

    def pound(self):
        def work():
            while True:
                self.mark()
        threading.Thread(target=work, daemon=True).start()

    def back(self):
        deadline = time.monotonic() + 20
        while self.ring().sources["cupti"][0] not in (1, 3) and time.monotonic() < deadline:
            self.mark()
        return self.source()

    def nap(self):
        time.sleep(0.1)

    def hammer(self, rounds):
        return self.other.tool_hammer(ALLOC_ID, self.context, int(rounds))

    def mapped(self):
        with open("/proc/self/maps") as maps:
            paths = {line.split()[-1] for line in maps if re.search(r"/libcupti[^/]*$", line)}
        return " ".join(sorted(os.path.relpath(path) for path in paths))

    def calls(self):
        shown, self.shown = self.shown, self.other.tool_calls()
        return self.shown - shown

    def ring_path(self):
        """The launcher's place for it, in shared memory, or beside the trace."""
        own = "memrec.%d.%d" % (os.getuid(), os.getpid())
        places = [os.environ.get("RINGS", "."), os.path.join("/dev/shm", own), own]
        return [path for place in places for path in glob.glob(os.path.join(place, "%d*.ring" % os.getpid()))][0]

    def ring(self):
        return agent_ring.Ring(self.ring_path())

    def collector(self):
        deadline, pid = time.monotonic() + 20, 0
        while not pid and time.monotonic() < deadline:
            with open(self.ring_path(), "rb") as ring:
                ring.seek(agent_ring.AT["ended"] + 4)
                pid = struct.unpack("<I", ring.read(4))[0]
            os.sched_yield()
        with open("collector.pid", "w") as file:
            file.write(str(pid))

    def source(self):
        return "%d %s" % self.ring().sources["cupti"]

    def seen(self):
        events = len([event for event in self.ring().events if event.what == "DRIVER_ALLOC"])
        recorded, self.recorded = self.recorded, events
        return events - recorded

    def wish(self):
        path, = glob.glob(os.path.join(os.environ["RINGS"], "%d.*.control" % os.getpid()))
        with open(path, "r+b") as page:
            page.seek(8)
            wish, = struct.unpack("<I", page.read(4))
            page.seek(8)
            page.write(struct.pack("<I", wish + 1))

    def asks(self):
        return ctypes.CDLL(None).cuptiSubscribe(None, None, None)

    def end(self):
        with open(os.environ["STANDIN_CUPTI_LOG"], "a") as log:
            log.write("end\n")


def main(acts):
    program, acts = Program(), iter(acts)
    for act in acts:
        arguments = [next(acts)] if act in ("load", "tool", "use", "teardown", "hammer") else []
        result = getattr(program, act)(*arguments)
        if result is not None:
            print(act, result, flush=True)


main(sys.argv[1:])
