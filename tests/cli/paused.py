"""paused.py CASE - one case of memrec --paused: a program that takes memory as it is told, and memrec start, stop, mark and status."""
import glob
import os
import signal
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD, SOURCES = os.environ["BUILD"], os.environ["SRC"]
MEMREC, MEMANA = BUILD + "/memrec", BUILD + "/memana"


class Run:
    """`memrec --paused` around `programs` guests; said(i, line) has a guest do something and waits until it is done."""

    def __init__(self, *options, paused=True, output="p.zst"):
        os.makedirs("rings", exist_ok=True)
        self.environment = dict(os.environ, LD_LIBRARY_PATH=BUILD + "/standin", STANDIN_STATE=os.path.abspath("gpu"),
                                PYTHONPATH=SOURCES + "/packaging/python")
        os.makedirs("gpu", exist_ok=True)
        self.memrec = subprocess.Popen(
            [MEMREC, *(["--paused"] if paused else []), "--ring-dir", "rings", "-o", output, *options, "--", sys.executable,
             HERE + "/paused_guest.py"], env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        self.pid = int(self.memrec.stdout.readline())

    def say(self, line):
        self.memrec.stdin.write(line + "\n")
        self.memrec.stdin.flush()
        answer = self.memrec.stdout.readline()
        assert answer == "ok\n", answer

    def end(self, status=0):
        """Ends the guest. memrec's last lines."""
        self.say("exit %d" % status)
        _, lines = self.memrec.communicate(timeout=60)
        assert self.memrec.returncode == status, (self.memrec.returncode, lines)
        assert not os.listdir("rings"), os.listdir("rings")
        return lines


def control(*words, status=0):
    """The text that memrec writes to stdout and stderr."""
    got = subprocess.run([MEMREC, *map(str, words)], capture_output=True, text=True, timeout=60)
    assert status is None or got.returncode == status, (words, got.returncode, got.stdout, got.stderr)
    return got.stdout + got.stderr


def states():
    """{pid: (state, events, steps, trace)} of memrec status."""
    rows = [line.split(None, 5) for line in control("status").splitlines()[1:]]
    return {int(row[0]): (row[1], int(row[2]), int(row[3]), row[5]) for row in rows}


def ask(trace, statement):
    got = subprocess.run([MEMANA, "sql", trace, statement], capture_output=True, text=True, check=True)
    return [tuple(line.split("\t")) for line in got.stdout.splitlines()]


def events(trace, kind):
    got = subprocess.run([MEMANA, "info", trace], capture_output=True, text=True, check=True).stdout
    return sum(int(line.split()[1].replace(",", "")) for line in got.splitlines() if line.split()[:1] == [kind])


def whole(trace, why, lossless=True):
    """The trace is complete, nothing is lost, and it ended so. Threads that take memory all the time may fill the ring: then losses are counted."""
    got = subprocess.run([MEMANA, "verify", trace], capture_output=True, text=True)
    assert not got.returncode, got.stdout + got.stderr
    (end, lost), = ask(trace, "SELECT ended, lost FROM process")
    assert end == why and (float(lost) == 0 or not lossless), (trace, end, lost)


def wait_for(condition):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, condition
        time.sleep(0.01)


def state_is(run, state):
    wait_for(lambda: states().get(run.pid, [""])[0] == state)


# ---- cases


def never_started():
    run = Run()
    run.say("calls 20")
    assert states()[run.pid] == ("paused", 0, 0, "-"), states()
    assert len(glob.glob("rings/*/*")) == 1  # its page: no ring, no trace
    lines = run.end(3)
    assert lines.count("\n") == 1 and "memrec start" in lines, lines
    assert not glob.glob("*.zst")


def takes_nothing():
    run = Run()
    assert run.pid not in states() and not glob.glob("rings/*/*")
    run.end()


def start_and_stop():
    run = Run()
    run.say("take 1000000")
    run.say("calls 20")
    control("start", run.pid)
    run.say("calls 30")
    control("stop", "--now", run.pid)
    run.say("calls 40")
    state, count, steps, trace = states()[run.pid]
    assert (state, trace) == ("ended", "p.zst") and steps == 0, states()
    whole("p.zst", "memrec stop")
    assert (events("p.zst", "driver-alloc"), events("p.zst", "driver-free")) == (30, 30)
    assert count == int(ask("p.zst", "SELECT events FROM process")[0][0])
    assert "p.zst: " in run.end()


def three_recordings():
    run = Run()
    run.say("calls 1")
    for number in (1, 2, 3):
        control("start", run.pid)
        run.say("calls %d" % (10 * number))
        control("stop", "--now", run.pid)
        run.say("calls 5")
    lines = run.end()
    for number, trace in enumerate(("p.zst", "p.2.zst", "p.3.zst"), 1):
        whole(trace, "memrec stop")
        assert events(trace, "driver-alloc") == 10 * number, trace
        assert "%s: " % trace in lines, lines


def program_ends_first():
    run = Run()
    run.say("calls 1")
    control("start", run.pid)
    run.say("calls 10")
    run.end(7)
    whole("p.zst", "the process ended")
    assert events("p.zst", "driver-alloc") == 10


def started_before_memory():
    run = Run()
    assert "process %d " % run.pid in control("start", run.pid)
    run.say("calls 10")
    state_is(run, "recording")
    run.end()
    assert events("p.zst", "driver-alloc") == 10


def wishes_of(run):
    """The number of changes of mind in the page of the process (recorder/shared/control.h)."""
    path, = glob.glob("rings/*/%d.*.control" % run.pid)
    with open(path, "rb") as page:
        return struct.unpack_from("<I", page.read(12), 8)[0]


def stop_waits_for_step():
    run = Run()
    run.say("calls 1")
    control("start", run.pid)
    for _ in range(2):
        run.say("calls 10")
        run.say("step")
    run.say("calls 3")
    wishes = wishes_of(run)
    stop = subprocess.Popen([MEMREC, "stop", str(run.pid)], stderr=subprocess.PIPE, text=True)
    wait_for(lambda: wishes_of(run) > wishes)
    assert states()[run.pid][0] == "recording"
    run.say("calls 4")
    run.say("step")
    assert stop.wait(30) == 0
    run.say("calls 50")
    run.end()
    whole("p.zst", "memrec stop")
    assert (events("p.zst", "driver-alloc"), events("p.zst", "step")) == (27, 3)


def stop_behind_a_backlog():
    """The running step is the one that runs when the stop comes, whatever the collector has still to read."""
    run = Run()
    run.say("calls 1")
    control("start", run.pid)
    run.say("calls 1")
    wait_for(lambda: states()[run.pid][1] >= 2)
    collector = collector_of(run)
    os.kill(collector, signal.SIGSTOP)
    for _ in range(3):
        run.say("calls 10")
        run.say("step")
    run.say("calls 3")
    wishes = wishes_of(run)
    stop = subprocess.Popen([MEMREC, "stop", str(run.pid)], stderr=subprocess.PIPE, text=True)
    wait_for(lambda: wishes_of(run) > wishes)
    os.kill(collector, signal.SIGCONT)
    wait_for(lambda: states()[run.pid][1] >= 34)
    run.say("calls 4")
    run.say("step")
    assert stop.wait(30) == 0
    run.end()
    whole("p.zst", "memrec stop")
    assert (events("p.zst", "driver-alloc"), events("p.zst", "step")) == (38, 4)


def some_steps():
    run = Run()
    run.say("calls 1")
    run.say("step")
    control("start", "--steps", 2, run.pid)
    for _ in range(5):
        run.say("calls 10")
        run.say("step")
    state_is(run, "ended")
    control("start", "--steps", 1, run.pid)
    for _ in range(3):
        run.say("calls 7")
        run.say("step")
    state_is(run, "ended")
    run.end()
    for trace, calls, steps in (("p.zst", 20, 2), ("p.2.zst", 7, 1)):
        whole(trace, "the steps asked for were recorded")
        assert (events(trace, "driver-alloc"), events(trace, "step")) == (calls, steps), trace


def marks():
    run = Run()
    run.say("calls 1")
    assert "is not being recorded" in control("mark", run.pid, "too early", status=4)
    control("start", run.pid)
    run.say("push rollout")
    run.say("calls 3")
    run.say("mark from the program")
    run.say("pop")
    for number in range(20):  # more than the page has room for at once
        control("mark", run.pid, "number %d" % number)
    control("mark", run.pid, "x" * 255)
    control("mark", run.pid, "x" * 256, status=2)
    assert "TEXT is one word" in control("mark", run.pid, "two", "words", status=2)
    run.end()
    whole("p.zst", "the process ended")
    assert events("p.zst", "mark") == 22
    assert ask("p.zst", "SELECT DISTINCT phase FROM allocation") == [("rollout",)]


def two_processes():
    first, second = Run(output="first.zst"), Run(output="second.zst")
    first.say("calls 2")
    control("status", first.pid)
    control("start", "--all")
    first.say("calls 10")
    second.say("calls 20")  # its first
    for run in first, second:
        state_is(run, "recording")
    control("mark", "--all", "both")
    control("stop", "--all", "--now")
    assert [states()[run.pid][0] for run in (first, second)] == ["ended", "ended"]
    control("stop", "--all", status=4)
    for run, trace, calls in ((first, "first.zst", 10), (second, "second.zst", 20)):
        run.say("exit 0")
        run.memrec.communicate(timeout=60)
        whole(trace, "memrec stop")
        assert (events(trace, "driver-alloc"), events(trace, "mark")) == (calls, 1)


def child_of_fork():
    run = Run()
    run.say("calls 1")
    control("start", run.pid)
    run.say("calls 5")
    control("stop", "--now", run.pid)
    run.say("fork")
    control("start", run.pid)
    run.say("calls 6")
    run.end()
    assert sorted(glob.glob("*.zst")) == ["p.2.zst", "p.zst"]
    assert events("p.2.zst", "driver-alloc") == 6


def next_program():
    run = Run()
    run.say("calls 1")
    control("start", run.pid)
    run.say("calls 5")
    run.say("exec")
    assert int(run.memrec.stdout.readline()) == run.pid
    run.say("calls 7")  # still wished for: the wish is the process's
    state_is(run, "recording")
    control("stop", "--now", run.pid)
    run.end()
    found = sorted((events(trace, "driver-alloc"), ask(trace, "SELECT ended FROM process")[0][0]) for trace in glob.glob("*.zst"))
    assert found == [(5, "the process ran another program (exec)"), (7, "memrec stop")], found


def many_threads():
    run = Run()
    run.say("threads 6")
    for number in range(30):
        control("start", "--steps", 2, run.pid) if number % 3 else control("start", run.pid)
        control("stop", *(["--now"] if number % 2 else []), run.pid, status=None) if not number % 3 else state_is(run, "ended")
    maps = open("/proc/%d/maps" % run.pid).read().count("\n")
    control("start", "--steps", 2, run.pid)
    state_is(run, "ended")
    assert open("/proc/%d/maps" % run.pid).read().count("\n") <= maps + 2
    run.end()
    traces = glob.glob("*.zst")
    assert len(traces) == 31, len(traces)
    for trace in traces:
        whole(trace, ask(trace, "SELECT ended FROM process")[0][0], lossless=False)


def two_controllers():
    run = Run()
    run.say("calls 1")
    for _ in range(5):
        both = [subprocess.Popen([MEMREC, "start", str(run.pid)], stderr=subprocess.PIPE) for _ in range(2)]
        while any(one.poll() is None for one in both):
            run.say("calls 1")
        assert [one.wait(30) for one in both] == [0, 0]
        run.say("calls 1")  # whoever asked last has asked before it
        state_is(run, "recording")
        run.say("calls 1")
        both = [subprocess.Popen([MEMREC, "stop", "--now", str(run.pid)], stderr=subprocess.PIPE) for _ in range(2)]
        assert sorted(one.wait(30) for one in both)[0] == 0
        state_is(run, "ended")
    run.end()
    assert len(glob.glob("*.zst")) == 5


def controller_is_killed():
    run = Run()
    run.say("calls 1")
    for number in range(20):
        one = subprocess.Popen([MEMREC, "start" if number % 2 else "stop", str(run.pid)], stderr=subprocess.DEVNULL)
        time.sleep(0.001 * number)
        one.send_signal(signal.SIGKILL)
        one.wait()
        run.say("calls 1")
    run.say("step")
    control("stop", "--now", run.pid, status=None)
    control("start", run.pid)
    run.say("calls 5")
    state_is(run, "recording")
    run.end()
    for trace in glob.glob("*.zst"):
        whole(trace, ask(trace, "SELECT ended FROM process")[0][0])


def collector_of(run):
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            words = open(path, errors="replace").read().split("\0")
        except OSError:
            continue
        if words[1:2] == ["--collect"] and "/%d.ring" % run.pid in words[2] and os.path.abspath("rings") in words[2]:
            return int(path.split("/")[2])
    raise AssertionError("no collector")


def collector_is_killed():
    run = Run()
    run.say("calls 1")
    control("start", run.pid)
    run.say("calls 10")
    wait_for(lambda: states()[run.pid][1] >= 20)
    os.kill(collector_of(run), signal.SIGKILL)
    run.say("calls 10")
    control("stop", "--now", run.pid)
    assert states()[run.pid][0] == "ended"
    os.kill(collector_of(run), signal.SIGKILL)  # between two recordings
    control("start", run.pid)
    run.say("calls 5")
    collector = collector_of(run)
    os.kill(collector, signal.SIGSTOP)  # it holds its ring when stop looks, and dies while stop waits
    stop = subprocess.Popen([MEMREC, "stop", "--now", str(run.pid)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1)
    os.kill(collector, signal.SIGKILL)
    assert stop.wait(60) == 0 and states()[run.pid][0] == "ended", states()
    run.end()
    whole("p.zst", "memrec stop")
    whole("p.2.zst", "memrec stop")
    assert (events("p.zst", "driver-alloc"), events("p.2.zst", "driver-alloc")) == (20, 5)


def program_is_killed():
    for recorded in (1, 0):
        run = Run(output="k%d.zst" % recorded)
        run.say("calls 1")
        control("start", run.pid)
        run.say("calls 10")
        if not recorded:
            control("stop", "--now", run.pid)
        os.kill(run.pid, signal.SIGKILL)
        run.memrec.communicate(timeout=60)
        assert run.memrec.returncode == 137 and not os.listdir("rings"), (run.memrec.returncode, os.listdir("rings"))
        assert events("k%d.zst" % recorded, "driver-alloc") == 10
    assert sorted(glob.glob("*.zst")) == ["k0.zst", "k1.zst"]
    assert "no such process" in control("start", run.pid, status=4)


def refusals():
    run = Run(paused=False)
    run.say("calls 3")
    assert "from its start to its end" in control("stop", run.pid, status=4)
    run.end()
    assert "was not started under" in control("start", os.getpid(), status=4)
    for words in (["start"], ["stop", "x"], ["start", "--steps", "0", "1"], ["start", "--now", "1"], ["mark", "1"],
                  ["mark", "--all"], ["status", "--nope"], ["stop", "--all", "1"]):
        control(*words, status=2)
    control("start", "--help")


def another_user():
    run = Run()
    run.say("calls 3")
    got = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", MEMREC, "start", str(run.pid)], capture_output=True, text=True)
    assert got.returncode == 4 and "belongs to user" in got.stderr, got
    assert states()[run.pid][0] == "paused"
    page, = glob.glob("rings/*/*.control")
    os.chown(page, 65534, 65534)
    assert "cannot be looked into" in control("start", run.pid, status=4)
    os.chown(page, os.geteuid(), os.getegid())
    run.end()


def without_launcher():
    """The variables of memrec env; the page lies in a folder of the process's own."""
    library = BUILD + "/libmemrec.so"
    environment = dict(os.environ, LD_LIBRARY_PATH=BUILD + "/standin", STANDIN_STATE=os.path.abspath("."), LD_PRELOAD=library,
                       CUDA_INJECTION64_PATH=library, PYTHONPATH=SOURCES + "/packaging/python",
                       MEMREC_OPTIONS="paused=1 output=%s collector=%s" % (os.path.abspath("p.zst"), MEMREC))
    guest = subprocess.Popen([sys.executable, HERE + "/paused_guest.py"], env=environment, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)

    def say(line):
        guest.stdin.write(line + "\n")
        guest.stdin.flush()
        assert guest.stdout.readline() == "ok\n"

    guest.stdout.readline()
    assert "has not taken memory" in control("start", guest.pid, status=4)
    say("calls 1")
    control("start", guest.pid)
    say("calls 3")
    control("stop", "--now", guest.pid)
    control("start", guest.pid)
    say("calls 4")
    say("exit 0")
    guest.wait()
    folder = "memrec.%d.%d" % (os.getuid(), guest.pid)
    wait_for(lambda: not glob.glob(folder) and not glob.glob("/dev/shm/" + folder))
    first, second = "p.%d.zst" % guest.pid, "p.%d.2.zst" % guest.pid
    assert (events(first, "driver-alloc"), events(second, "driver-alloc")) == (3, 4)


def container():
    """Another pid and mount namespace: memrec inside, and memrec outside, where the process has another number."""
    inside = """
        mount -t tmpfs tmpfs /dev/shm && cd "$1" || exit 9
        mkfifo lines answers
        "$MEMREC" --paused -o c.zst -- python3 "$GUEST" <lines >answers 2>said & exec 3>lines 4<answers
        told() { echo "$1" >&3; read -r answer <&4; [ "$answer" = ok ]; }
        read -r pid <&4 && told "calls 1" && "$MEMREC" start $pid && told "calls 5" && "$MEMREC" stop --now --all && echo ready >ready || exit 8
        until [ -e started ]; do sleep 0.02; done
        told "calls 6" && told "exit 0"
        wait %1"""
    environment = dict(os.environ, MEMREC=MEMREC, GUEST=HERE + "/paused_guest.py", LD_LIBRARY_PATH=BUILD + "/standin",
                       STANDIN_STATE=os.path.abspath("."), PYTHONPATH=SOURCES + "/packaging/python")
    box = subprocess.Popen(["unshare", "--pid", "--mount", "--fork", "--mount-proc", "bash", "-c", inside, "box", os.getcwd()],
                           env=environment, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: os.path.exists("ready") or box.poll() is not None)
    pid, = [pid for pid, row in states().items() if row[3].endswith("/c.zst") or row[3] == "c.zst"]
    control("start", pid)
    open("started", "w").close()
    _, said = box.communicate(timeout=60)
    assert box.returncode == 0, (box.returncode, said)
    assert (events("c.zst", "driver-alloc"), events("c.2.zst", "driver-alloc")) == (5, 6)


def torch():
    """Real PyTorch on the CPU: losses, output and messages are those of a run without memrec; its totals are right from the first event."""
    train = """
import sys, torch
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 1))
optimizer = torch.optim.Adam(model.parameters())
for line in sys.stdin:
    for _ in range(5):
        loss = model(torch.randn(32, 64)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("%.12f" % loss.item(), flush=True)
"""
    python = os.environ["PYTHON"]
    plain = subprocess.run([python, "-c", train], input="\n" * 8, capture_output=True, text=True)
    run = subprocess.Popen([MEMREC, "--paused", "--cpu", "-o", "t.zst", "--", python, "-c", train], stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    losses = []

    def go():
        run.stdin.write("\n")
        run.stdin.flush()
        losses.append(run.stdout.readline())

    go()
    pid, = [int(path.split("/")[2]) for path in glob.glob("/proc/[0-9]*/stat") if stat_parent(path) == run.pid]
    for _ in range(3):
        control("start", pid)
        go()
        control("stop", "--now", pid)
        go()
    go()
    _, said = run.communicate(timeout=120)
    assert run.returncode == 0 and "".join(losses) == plain.stdout, (losses, plain.stdout)
    assert all(line.startswith("memrec: ") for line in said.splitlines()), said
    for trace in ("t.zst", "t.2.zst", "t.3.zst"):
        whole(trace, "memrec stop")
        assert events(trace, "backward-begin") == 5, trace
        assert events(trace, "instance-name") == 5, trace  # told anew in each


def held_before():
    """PyTorch's allocator, with two threads: what it held before each start has rows, in both modes."""
    for mode in ("default", "expandable"):
        for path in glob.glob("stop"):
            os.remove(path)
        run = subprocess.Popen([MEMREC, "--paused", "-o", mode + ".zst", "--", os.environ["PYTHON"], HERE + "/attach_loop.py", "cuda", SOURCES + "/tests/allocator", mode],
                               env=dict(os.environ, LD_LIBRARY_PATH=BUILD + "/standin", STANDIN_CONTEXT="0"), stdout=subprocess.PIPE, text=True)
        assert run.stdout.readline() == "ready\n"
        pid, = [int(path.split("/")[2]) for path in glob.glob("/proc/[0-9]*/stat") if stat_parent(path) == run.pid]
        for _ in range(2):
            control("start", pid)
            wait_for(lambda: states()[pid][1] > 500)
            control("stop", "--now", pid)
        open("stop", "w").close()
        assert run.wait(60) == 7
        for trace in (mode + ".zst", mode + ".2.zst"):
            whole(trace, "memrec stop")
            subprocess.run([sys.executable, HERE + "/told_before.py", trace], check=True)


def stat_parent(path):
    try:
        return int(open(path).read().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def number_is_used_again():
    """A page of an earlier process of the same number is another one: its name has the start of the process."""
    run = Run()
    folder, = glob.glob("rings/*")
    with open("%s/%d.1.control" % (folder, run.pid), "w") as page:
        page.write("of another process")
    control("start", run.pid)
    run.say("calls 4")
    state_is(run, "recording")
    run.end()
    assert events("p.zst", "driver-alloc") == 4


globals()[sys.argv[1]]()
