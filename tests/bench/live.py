#!/usr/bin/env python3
"""live.py BUILD - what it costs to look at a recording while it runs: processor time of the reader, of the collector and of the
recorded program, with nobody looking, with `memana live`, and under `memrec --live`. LIVE_SECONDS (10) each, LIVE_ROUNDS (3)
rounds in turn; medians. The program's figure is processor time for each recorded event, for others may take processor time meanwhile.
"""
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time

BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build")
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SECONDS, ROUNDS = float(os.environ.get("LIVE_SECONDS", 10)), int(os.environ.get("LIVE_ROUNDS", 3))
SIZES = ((80, 24), (200, 60))
TICK = os.sysconf("SC_CLK_TCK")
WARM = 2.0  # s, before the clock runs


def python_with_torch():
    for python in ("python3", "/usr/bin/python3"):
        if not subprocess.run([python, "-c", "import torch"], capture_output=True).returncode:
            return python
    return None


def programs():
    """{words: (recording, environment)}; each goes on until it is ended."""
    found = {"rl_step on the stand-in GPU, 60 ms of waiting at each of its waits":
             ([BUILD + "/samples/rl_step", "--quiet", "--scale", "0.25", "--steps", "100000"],
              {"LD_LIBRARY_PATH": BUILD + "/standin", "STANDIN_MEM": "80GiB", "STANDIN_SYNC_NS": "60000000"})}
    python = shutil.which(python_with_torch() or "")
    if python:
        found["samples/train.py, PyTorch on the CPU, one thread"] = (
            [python, SOURCE + "/samples/train.py", "--steps", "100000"], {"OMP_NUM_THREADS": "1"})
    return found


# ---- processes ----

def children(pid):
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def processor_seconds(pid):
    with open("/proc/%d/stat" % pid) as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def command(pid):
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []


def until(find):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        found = find()
        if found:
            return found
        time.sleep(0.05)
    sys.exit("live.py: what is measured did not start")


def collector_of(program):
    ring = b"/%d.ring" % program
    for name in os.listdir("/proc"):
        if name.isdigit() and b"--collect" in command(int(name)) and any(word.endswith(ring) for word in command(int(name))):
            return int(name)
    return None


# ---- a terminal ----

class Terminal:
    """A program on a terminal whose user reads as fast as it writes."""

    def __init__(self, words, size, environment, folder):
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.chdir(folder)
            os.execvpe(words[0], words, dict(os.environ, TERM="xterm-256color", **environment))
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.bytes = 0

    def read(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if select.select([self.fd], [], [], max(0, end - time.monotonic()))[0]:
                try:
                    self.bytes += len(os.read(self.fd, 65536))
                except OSError:
                    time.sleep(0.05)

    def close(self):
        os.close(self.fd)


# ---- one measurement ----

class Measured:
    def __init__(self, reader, collector, event, written):
        self.reader, self.collector, self.event, self.written = reader, collector, event, written


def events_of(trace):
    """How many are in it by now."""
    said = subprocess.run([BUILD + "/memana", "info", trace], capture_output=True, text=True).stdout
    return int(re.search(r"([\d,]+) events", said)[1].replace(",", ""))


def measure(words, environment, how, size):
    folder = tempfile.mkdtemp(prefix="memrec-live.")
    trace = os.path.join(folder, "t.zst")
    record = [BUILD + "/memrec", *(["--live"] if how == "memrec --live" else []), "--cpu", "-o", trace, "--", *words]
    terminal = reader = quiet = None
    if how == "memrec --live":
        terminal = Terminal(record, size, environment, folder)
        launcher = terminal.pid
    else:
        quiet = subprocess.Popen(record, cwd=folder, env=dict(os.environ, **environment), stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        launcher = quiet.pid
    program = until(lambda: next((pid for pid in children(launcher) if command(pid)[:1] == [words[0].encode()]), None))
    if how == "memana live":
        until(lambda: os.path.exists(trace))
        terminal = Terminal([BUILD + "/memana", "live", trace], size, {}, folder)
        reader = terminal.pid
    elif terminal:
        terminal.read(1)
        reader = until(lambda: next((pid for pid in children(launcher) if b"live" in command(pid)), None))
    wait = terminal.read if terminal else time.sleep
    stepping = subprocess.Popen([BUILD + "/memana", "wait", trace, "--until", "step:1", "--timeout", "60"], stdout=subprocess.DEVNULL)
    while stepping.poll() is None:
        wait(0.1)
    wait(WARM)
    collector = until(lambda: collector_of(program))
    watched = [pid for pid in (reader, collector, program) if pid]
    events = events_of(trace)
    before, begun = {pid: processor_seconds(pid) for pid in watched}, time.monotonic()
    first = terminal.bytes if terminal else 0
    wait(SECONDS)
    spent, took = {pid: processor_seconds(pid) - before[pid] for pid in watched}, time.monotonic() - begun
    written = ((terminal.bytes if terminal else 0) - first) / took
    events = events_of(trace) - events
    os.kill(program, signal.SIGTERM)
    if quiet:
        quiet.wait()
    if terminal:
        terminal.read(1.5)
        os.kill(reader, signal.SIGTERM)
        terminal.read(0.5)
        os.waitpid(terminal.pid, 0)
        terminal.close()
    shutil.rmtree(folder, ignore_errors=True)
    return Measured(spent.get(reader, 0) / took, spent[collector] / took, spent[program] / max(events, 1), written)


def main():
    ways = [("nobody", SIZES[0])] + [(how, size) for how in ("memana live", "memrec --live") for size in SIZES]
    with open("/proc/loadavg") as file:
        print("%d processors, load %s before, %.0f s each, median of %d rounds" % (os.cpu_count(), file.read().split()[0], SECONDS, ROUNDS))
    for name, (words, environment) in programs().items():
        results = {way: [] for way in ways}
        for _ in range(ROUNDS):
            for way in ways:
                results[way].append(measure(words, environment, *way))
        print("\n%s\n%-28s %10s %10s %17s %15s" % (name, "who looks", "reader", "collector", "program", "to a terminal"))
        for (how, size), measured in results.items():
            middle = lambda what: statistics.median(getattr(one, what) for one in measured)
            print("%-28s %8.1f %% %8.1f %% %8.1f us/event %9.1f KiB/s" % (
                how if how == "nobody" else "%s, %dx%d" % (how, *size), 100 * middle("reader"), 100 * middle("collector"),
                1e6 * middle("event"), middle("written") / 1024), flush=True)
    print("\nper cent: of one processor")


main()
