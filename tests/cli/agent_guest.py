"""agent_guest.py TEST - one way in which the agent has to be a good guest. Runs under the agent, with RINGS naming the
folder of the rings; exits with 0 when all is well, else says what is not."""
import ctypes
import errno
import mmap
import os
import re
import resource
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import agent_hooks as hooks
import agent_ring


def no_event_no_file():
    hooks.library.memrec_agent_phase_push(b"alone")
    hooks.alloc(0x1000, device=hooks.XPU)
    hooks.report(None, 64, 64, 64, hooks.GPU)
    assert not hooks.rings(), hooks.rings()


def early_marks():
    hooks.library.memrec_agent_phase_push(b"init")
    thread = threading.Thread(target=hooks.library.memrec_agent_mark, args=(b"elsewhere",))
    thread.start()
    thread.join()
    before = time.monotonic_ns()
    hooks.alloc(0x1000)
    hooks.library.memrec_agent_phase_pop()
    ring = hooks.ring()
    assert [(event.what, event.name) for event in ring.events] == [
        ("PHASE_PUSH", "init"), ("MARK", "elsewhere"), ("TENSOR_ALLOC", ""), ("PHASE_POP", "")]
    assert ring.events[1].time < before < ring.events[2].time
    assert len({ring.threads[event.thread]["tid"] for event in ring.events}) == 2
    assert ring.threads[ring.events[0].thread]["flags"] == 1


def what_and_names(events):
    return [(event.what, event.name[:1]) for event in events if event.what != "MARK"]


def early_ranges_stay_balanced():
    """More than there is room for before the first memory event: whole ranges are left out, no ends alone."""
    push, pop = hooks.library.memrec_agent_phase_push, hooks.library.memrec_agent_phase_pop
    push(b"a")
    for name in (b"b" * 1000, b"c" * 1000):
        for _ in range(30):
            push(name)
        for _ in range(30):
            pop()
    for _ in range(300):
        hooks.library.memrec_agent_mark(b"m" * 1000)
        hooks.library.memrec_agent_mark(b"m")
    push(b"d")
    thread = threading.Thread(target=lambda: (push(b"e"), pop(), pop()))
    thread.start()
    thread.join()
    pop()
    pop()
    hooks.alloc(0x1000)
    ring, depth = hooks.ring(), 0
    got = what_and_names(ring.events)
    for what, _ in got[:-1]:
        depth += {"PHASE_PUSH": 1, "PHASE_POP": -1}[what]
        assert depth >= 0, got
    assert depth == 0 and got[0] == ("PHASE_PUSH", "a") and got[-2:] == [("PHASE_POP", ""), ("TENSOR_ALLOC", "")]
    names = [name for _, name in got]
    assert 5 < names.count("b") < 30 and "d" not in names and "e" not in names, names
    marks = len([event for event in ring.events if event.what == "MARK"])
    assert marks and ring.lost[0] == 600 - marks, (ring.lost, marks)


def early_ends_are_swallowed_later():
    """A range that began before the recording and was left out ends in it."""
    push, pop = hooks.library.memrec_agent_phase_push, hooks.library.memrec_agent_phase_pop
    push(b"a")
    for _ in range(300):
        hooks.library.memrec_agent_mark(b"m" * 20)
    push(b"b")
    push(b"c")
    hooks.alloc(0x1000)
    push(b"d")
    push(b"e")
    for _ in range(5):
        pop()
    push(b"f")
    pop()
    got = what_and_names(hooks.ring().events)
    assert got == [
        ("PHASE_PUSH", "a"), ("TENSOR_ALLOC", ""), ("PHASE_PUSH", "d"), ("PHASE_PUSH", "e"), ("PHASE_POP", ""),
        ("PHASE_POP", ""), ("PHASE_POP", ""), ("PHASE_PUSH", "f"), ("PHASE_POP", "")], got


def tensors():
    hooks.alloc(0x1000, 100)
    hooks.oom(1 << 40, 100, 200, hooks.GPU)
    hooks.free(0x1000, 100)
    ring = hooks.ring()
    assert [(event.what, event.addr, event.size) for event in ring.events] == [
        ("TENSOR_ALLOC", 0x1000, 100), ("TENSOR_OOM", 0, 1 << 40), ("TENSOR_FREE", 0x1000, 100)]
    assert [event.seq for event in ring.events] == [1, 2, 3]
    assert ring.events[0].reserved == 100 and ring.sources["cuda-tensors"][0] == 1


def maps_have_no_total():
    hooks.report(0x1000, 4096, 4096, 0, hooks.CPU)
    hooks.report(0x2000, 4096, 0, 4096, hooks.CPU)
    assert [event.flags for event in hooks.ring().events] == [0, 1]


def cpu_off():
    hooks.alloc(0x1000, device=hooks.CPU)
    assert not hooks.rings() and not hooks.library._ZN3c1022memoryProfilingEnabledEv()
    hooks.alloc(0x1000)
    assert len(hooks.ring().events) == 1


def cpu_on():
    assert hooks.library._ZN3c1022memoryProfilingEnabledEv() & 0xff
    hooks.alloc(0x1000, device=hooks.CPU)
    event, = hooks.ring().events
    assert (event.device_type, event.device_index) == (0, 0)


def errno_is_kept():
    for address in (0x1000, 0x2000):
        ctypes.set_errno(errno.EXDEV)
        hooks.alloc(address)
        assert ctypes.get_errno() == errno.EXDEV


def system_calls_pass():
    """syscall() goes through the agent: six arguments, the whole result, and errno."""
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    map_page = lambda offset: call(ctypes.c_long(9), None, ctypes.c_long(4096), 3, 0x22, -1, ctypes.c_long(offset))
    assert map_page(0) > 1 << 32
    assert map_page(1) == -1 and ctypes.get_errno() == errno.EINVAL
    assert call(ctypes.c_long(157), 21, 0, 0, 0, 0) == 0 # PR_GET_SECCOMP
    assert call(ctypes.c_long(317), 99, 0, None) == -1 and ctypes.get_errno() == errno.EINVAL
    bound, ours = (ctypes.cast(function, ctypes.c_void_p).value for function in (call, hooks.library.syscall))
    assert bound == ours, "the agent does not stand in"


def nothing_is_left_behind():
    """No descriptor, no child, no signal, no changed signal mask."""
    signals = []
    signal.signal(signal.SIGCHLD, lambda *_: signals.append(1))
    before = os.listdir("/proc/self/fd"), signal.pthread_sigmask(signal.SIG_BLOCK, [])
    hooks.alloc(0x1000)
    assert (os.listdir("/proc/self/fd"), signal.pthread_sigmask(signal.SIG_BLOCK, [])) == before
    try:
        child = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        child = None
    assert child is None and not signals, (child, signals)


def mappings():
    """(the line of the mapping, its other lines) of each mapping of this process."""
    mappings = []
    for line in open("/proc/self/smaps"):
        if re.match("[0-9a-f]+-", line):
            mappings.append((line, []))
        else:
            mappings[-1][1].append(line)
    return mappings


def address_space():
    return int(open("/proc/self/statm").read().split()[0]) * 4096


def core_dumps_are_without_it():
    """Memory that comes to the process with the first event is in no core dump."""
    def ranges(all_mappings):
        return {line.split()[0] for line, _ in all_mappings}

    before = ranges(mappings())
    hooks.alloc(0x1000)
    dumped = [line for line, rest in mappings() if ".ring" in line and not any(" dd" in row for row in rest)]
    assert len([line for line, _ in mappings() if ".ring" in line]) >= 3 and not dumped, dumped
    large = [line for line, rest in mappings() if line.split()[0] not in before and not any(" dd" in row for row in rest)
             and int(rest[0].split()[1]) > 4096]
    assert not large, large


def locked_memory_stays_small():
    """mlockall before and after the first event takes no page that was not needed."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mlockall(3):
        return
    hooks.alloc(0x1000)
    assert not libc.mlockall(3)
    path, = hooks.rings()
    assert os.stat(path).st_blocks * 512 < 8 << 20, os.stat(path)
    shared = int(re.search(r"RssShmem:\s+(\d+)", open("/proc/self/status").read())[1])
    assert shared < 8 << 10, shared


def limits_are_the_programs(room=64 << 20):
    """Under a limit on address space the program has fifteen parts in sixteen of what was free, and is recorded."""
    for name in ("RLIMIT_AS", "RLIMIT_DATA"):
        resource.setrlimit(getattr(resource, name), (address_space() + room,) * 2)
    first = mmap.mmap(-1, 1 << 20)  # Python's own needs are met
    used = address_space()
    hooks.alloc(0x1000)
    used = address_space() - used
    assert used < room / 2, used
    assert not hooks.rings() or len(hooks.ring().events) == 1
    first.close()
    mmap.mmap(-1, room // 2)


def wider_limits_are_enough():
    limits_are_the_programs(1 << 30)
    assert len(hooks.ring().events) == 1


def forked_child_is_silent():
    hooks.alloc(0x1000)
    pid = os.fork()
    if not pid:
        hooks.alloc(0x2000)
        hooks.library.memrec_agent_step()
        os._exit(len(hooks.rings()) != 1)
    assert os.waitpid(pid, 0)[1] == 0
    hooks.alloc(0x3000)
    assert [event.addr for event in hooks.ring().events] == [0x1000, 0x3000]


def forked_first_is_recorded():
    hooks.library.memrec_agent_phase_push(b"of the parent")
    pid = os.fork()
    if not pid:
        hooks.alloc(0x2000)
        events = hooks.ring().events
        os._exit([event.addr for event in events] != [0x2000])
    assert os.waitpid(pid, 0)[1] == 0
    hooks.alloc(0x1000)
    assert len(hooks.rings()) == 2 and len(hooks.ring().events) == 2


def forked_child_with_cuda_wakes_up():
    hooks.alloc(0x1000)
    pid = os.fork()
    if not pid:
        hooks.library.InitializeInjection()
        hooks.alloc(0x2000)
        os._exit([event.addr for event in hooks.ring().events] != [0x2000])
    assert os.waitpid(pid, 0)[1] == 0
    assert [event.addr for event in hooks.ring().events] == [0x1000]


def exec_makes_a_second_ring():
    if "AGAIN" not in os.environ:
        hooks.alloc(0x1000)
        os.environ["AGAIN"] = "1"
        os.execv(sys.executable, [sys.executable] + sys.argv)
    assert not hooks.ring().ended
    hooks.alloc(0x2000)
    first, second = (agent_ring.Ring(path) for path in sorted(hooks.rings(), key=len, reverse=True))
    assert hooks.ring().ended == 3, "the first ring has not ended by replacement"
    assert first.events[0].addr == 0x2000 and second.events[0].addr == 0x1000


def threads_share_slots():
    """More threads than slots, one after the other; then some at once."""
    def one(address):
        hooks.alloc(address)
    hooks.alloc(0x1000)
    for address in range(0x2000, 0x2000 + 600):
        thread = threading.Thread(target=one, args=(address,))
        thread.start()
        thread.join()
    barrier = threading.Barrier(20)
    def many(address):
        barrier.wait()
        for i in range(50):
            one(address + i)
    threads = [threading.Thread(target=many, args=(0x10000 * (1 + i),)) for i in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ring = hooks.ring()
    assert [event.seq for event in ring.events] == list(range(1, 1 + 1 + 600 + 1000)), len(ring.events)
    assert len({event.addr for event in ring.events}) == 1601 and not any(ring.lost), ring.lost
    assert len({event.thread for event in ring.events}) == 621
    assert os.stat(hooks.rings()[0]).st_blocks * 512 < 40 << 20, "slots of ended threads are not used again"


def more_threads_than_slots():
    """All alive at once: those without a slot of their own share one, and nothing is lost."""
    count, each = 300, 5
    barrier = threading.Barrier(count)
    def run(address):
        barrier.wait()
        for i in range(each):
            hooks.alloc(address + i)
        barrier.wait()
    hooks.alloc(0x1000)
    threads = [threading.Thread(target=run, args=(0x10000 * (1 + i),)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ring = hooks.ring()
    assert not any(ring.lost), ring.lost
    assert [event.seq for event in ring.events] == list(range(1, 2 + count * each)), len(ring.events)
    by_thread = {}
    for event in ring.events[1:]:
        by_thread.setdefault(event.thread, []).append(event.addr)
    assert len(by_thread) == count
    assert all(got == list(range(got[0], got[0] + each)) for got in by_thread.values())


def write_log_head(value):
    """Returns what was there."""
    with open(hooks.rings()[0], "r+b") as file:
        file.seek(agent_ring.AT["log_head"])
        before = file.read(8)
        file.seek(agent_ring.AT["log_head"])
        file.write(value)
    return before


def a_thread_is_named_when_there_is_room():
    """Its first event comes while the log is full; a later one names it."""
    def run():
        before = write_log_head((1 << 40).to_bytes(8, "little"))
        hooks.alloc(0x2000)
        write_log_head(before)
        assert len(hooks.ring().threads) == 1
        hooks.alloc(0x3000)
    hooks.alloc(0x1000)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    ring = hooks.ring()
    assert [event.addr for event in ring.events] == [0x1000, 0x2000, 0x3000] and not any(ring.lost), ring.lost
    assert all(event.thread in ring.threads for event in ring.events), ring.threads


def full_ring_drops_and_counts():
    count, begin = 2000, time.monotonic()
    for i in range(count):
        hooks.alloc(0x1000 + i)
    waited = time.monotonic() - begin
    ring = hooks.ring()
    assert 0 < len(ring.events) < count and len(ring.events) + ring.lost[0] == count, ring.lost
    assert [event.seq for event in ring.events] == list(range(1, 1 + len(ring.events)))
    assert 0.05 <= waited < 5, "one wait of 50 ms, not one for each: %f" % waited


def slot_wraps():
    """Plays collector: takes what is there, twice round the slot."""
    path = None
    for i in range(1500):
        hooks.alloc(0x1000 + i)
        if i % 400 == 399:
            path = path or hooks.rings()[0]
            ring = agent_ring.Ring(path)
            assert [event.addr for event in ring.events][-1] == 0x1000 + i
            with open(path, "r+b") as file:
                for slot in range(agent_ring.SLOTS):
                    at = agent_ring.AT["slot"] + slot * agent_ring.SLOT_BYTES
                    file.seek(at + agent_ring.SLOT_HEAD)
                    head = file.read(8)
                    file.seek(at + agent_ring.SLOT_TAIL)
                    file.write(head)
    ring = agent_ring.Ring(path)
    assert [event.addr for event in ring.events] == list(range(0x1000 + 1200, 0x1000 + 1500)) and not any(ring.lost)


def stops_when_told():
    hooks.alloc(0x1000)
    with open(hooks.rings()[0], "r+b") as file:
        file.seek(agent_ring.AT["stop"])
        file.write(b"\1\0\0\0")
    hooks.alloc(0x2000)
    hooks.library.memrec_agent_step()
    assert len(hooks.ring().events) == 1


def no_collector_no_ring():
    hooks.alloc(0x1000)
    hooks.alloc(0x2000)
    assert not hooks.rings()


def ring_in_shared_memory():
    hooks.alloc(0x1000)
    folder = "/dev/shm/memrec.%d.%d" % (os.getuid(), os.getpid())
    path = os.path.join(folder, "%d.ring" % os.getpid())
    ring = agent_ring.Ring(path)
    assert len(ring.events) == 1 and os.stat(folder).st_mode & 0o777 == 0o700
    os.unlink(path)
    os.rmdir(folder)


def long_texts_are_cut():
    hooks.alloc(0x1000)
    hooks.library.memrec_agent_phase_push(("x" + "\u00e4" * 5000).encode())
    hooks.library.memrec_agent_phase_push(None)
    name = hooks.ring().events[1].name
    assert name == "x" + "\u00e4" * 511, (len(name), name[-3:])


def depth_zero():
    hooks.alloc(0x1000)
    ring = hooks.ring()
    assert ring.events[0].stack == 0 and not ring.stacks


def native_always():
    hooks.alloc(0x1000)
    ring = hooks.ring()
    stack = ring.stacks[ring.events[0].stack]
    assert stack["python"] and stack["native"]
    paths = [ring.module_of(address)["path"] for address in stack["native"]]
    assert any("python" in path for path in paths) and not any("libmemrec" in path for path in paths), paths
    assert all(module["id"] for module in ring.modules if "libc.so" in module["path"])


def make_native_events(first, count):
    """Each from a call path of its own: qsort calls back in ways that depend on what it sorts."""
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    for i in range(count):
        made = []
        def call(left, right):
            if not made:
                made.append(1)
                nest(i % 40)
            return 0
        def nest(depth):
            nest(depth - 1) if depth else hooks.alloc(first + i)
        callback = compare(call)
        numbers = (ctypes.c_int * (2 + i))(*range(2 + i))
        hooks.library.qsort(numbers, ctypes.c_size_t(2 + i), ctypes.c_size_t(4), callback)


def files_are_left_alone():
    """A daemon closes all it does not know, and opens files of its own."""
    before = os.listdir("/proc/self/fd")
    hooks.alloc(0x1000)
    make_native_events(0x2000, 10)
    assert os.listdir("/proc/self/fd") == before, "a descriptor is kept"
    ring = hooks.rings()[0]
    os.closerange(3, 256)
    folder = os.environ["RINGS"]
    paths = [os.path.join(folder, "file%d" % i) for i in range(8)]
    for path in paths:
        with open(path, "wb") as file:
            file.write(b"mine" * 64)
    files = [os.open(path, os.O_RDWR) for path in paths]
    assert files[0] == 3, files
    for i in range(20): # stacks that nobody has looked at yet
        thread = threading.Thread(target=make_native_events, args=(0x3000 + 0x100 * i, 10))
        thread.start()
        thread.join()
    assert [os.lseek(file, 0, os.SEEK_CUR) for file in files] == [0] * len(files)
    for path in paths:
        with open(path, "rb") as file:
            assert file.read() == b"mine" * 64, path
    events = agent_ring.Ring(ring).events
    stacks = agent_ring.Ring(ring).stacks
    assert len(events) == 211 and all(len(stacks[event.stack]["native"]) > 5 for event in events)


def two_copies():
    """The first one records, the second sleeps, and neither calls the other."""
    hooks.library.memrec_agent_phase_push(b"once")
    hooks.alloc(0x1000)
    hooks.oom(1 << 40, 100, 200, hooks.GPU)
    hooks.library._ZN3c1022memoryProfilingEnabledEv()
    assert [event.what for event in hooks.ring().events] == ["PHASE_PUSH", "TENSOR_ALLOC", "TENSOR_OOM"]


def python_only():
    hooks.alloc(0x1000)
    ring = hooks.ring()
    stack = ring.stacks[ring.events[0].stack]
    assert stack["python"] and not stack["native"]


def sleeps_without_options():
    hooks.alloc(0x1000)
    assert hooks.library.InitializeInjection() == 1
    assert hooks.library.InitializeInjectionNvtx2(None) == 0
    assert not hooks.rings()


def main():
    globals()[sys.argv[1]]()


main()
