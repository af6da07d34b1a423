"""torture.py BUILD - what is done to a recording, and what comes of it: one row each, and no row without a count of its own.

victim.c counts its calls in a file that outlives it. Each row adds up, over all its runs: the calls that were made, the events
in the traces, the events that are said to be lost, and those that are in neither; and in how many runs the program's output or
exit status was not what it is without memrec. A row is good when nothing is missing and nothing is changed.

RUNS      kills in all (500)                      KEEP_MINUTES  how long the recording with --keep takes (30)
ROWS      a regular expression: only these rows   SEED          of the random points (printed)
"""
import contextlib
import glob
import json
import mmap
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
MEMREC, MEMANA, VICTIM = (os.path.join(BUILD, name) for name in ("memrec", "memana", "torture/victim"))
LIBRARY = os.path.join(BUILD, "torture/victim_library.so")
RUNS = int(os.environ.get("RUNS", "500"))
TIMES = 3 if RUNS >= 100 else 1  # a program that makes others, in a row
KEEP_MINUTES = float(os.environ.get("KEEP_MINUTES", "30"))
SEED = int(os.environ.get("SEED", str(random.randrange(1 << 30))))
TIMEOUT = 120


class Untried(Exception):
    """This machine does not let us."""


class Count:
    """The sums of a row."""

    def __init__(self):
        self.tried = self.made = self.recorded = self.lost = self.missing = self.extra = self.changed = 0
        self.remarks = []

    def add(self, other):
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


class Counter:
    """The victim's own: begun, done, pid."""

    def __init__(self, path):
        self.path = path

    def read(self):
        with contextlib.suppress(OSError, struct.error):
            with open(self.path, "rb") as file:
                return struct.unpack("<QQQ", file.read(24))
        return 0, 0, 0


class Run:
    """One recorded victim in a folder of its own: rings in rings/, traces in out/."""

    def __init__(self, folder, how, calls, seed=1, options=(), variables=None, prefix=(), shell=(), output="out/t.zst"):
        self.folder, self.how = folder, [str(word) for word in how]
        for name in ("rings", "out", "gpu"):
            os.makedirs(os.path.join(folder, name), exist_ok=True)
        self.counter = Counter(os.path.join(folder, "counter"))
        self.victim = [VICTIM, self.counter.path, str(seed), str(calls)] + self.how
        self.command = list(shell) + [MEMREC, "--ring-dir", "rings", "-o", output] + list(options) + ["--"] + list(prefix) + self.victim
        self.environment = dict(os.environ, LD_LIBRARY_PATH=os.path.join(BUILD, "standin"),
                                STANDIN_STATE=os.path.join(folder, "gpu"), STANDIN_MEM="80GiB")
        self.environment.update(variables or {})
        self.process = None

    def plain(self):
        """(exit status, output) without memrec."""
        victim = list(self.victim)
        victim[1] = os.path.join(self.folder, "plain")
        done = subprocess.run(victim, env=self.environment, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=TIMEOUT, check=False)
        for path in glob.glob(victim[1] + "*"):
            os.unlink(path)
        shutil.rmtree(os.path.join(self.folder, "gpu"))
        os.mkdir(os.path.join(self.folder, "gpu"))
        return done.returncode, done.stdout

    def start(self):
        self.out, self.err = (open(os.path.join(self.folder, name), "wb+") for name in ("stdout", "stderr"))
        self.process = subprocess.Popen(self.command, env=self.environment, cwd=self.folder, stdout=self.out, stderr=self.err,
                                        stdin=subprocess.DEVNULL, start_new_session=True)
        return self

    def finish(self):
        """(exit status, output of the program) and waits for what is left of it."""
        status = self.process.wait(TIMEOUT)
        self.wait_for_end()
        return status, self.text(self.out)

    @staticmethod
    def text(file):
        file.seek(0)
        return file.read()

    def said(self):
        return self.text(self.err).decode(errors="replace")

    def target(self):
        return self.counter.read()[2]

    def collectors(self):
        found = []
        for path in glob.glob("/proc/[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                with open(path, "rb") as file:
                    words = file.read().split(b"\0")
                if len(words) > 2 and words[1] == b"--collect" and words[2].startswith(os.path.join(self.folder, "").encode()):
                    found.append(int(path.split("/")[2]))
        return found

    def wait_for_calls(self, number):
        """Until the wanted number of calls were made, or there will be no more."""
        end = time.monotonic() + 20
        while self.counter.read()[1] < number and self.process.poll() is None and time.monotonic() < end:
            pass

    def beginners(self):
        """Alive of what was started: also a program whose launcher is dead, and that has not said yet who it is."""
        found = []
        for path in glob.glob("/proc/[0-9]*/stat"):
            with contextlib.suppress(OSError):
                with open(path, encoding="utf-8", errors="replace") as file:
                    state, _, _, session = file.read().rpartition(")")[2].split()[:4]
                if int(session) == self.process.pid and state not in "ZX":
                    found.append(int(path.split("/")[2]))
        return found

    def wait_for_end(self):
        """Target and collectors: gone."""
        end = time.monotonic() + 60
        while time.monotonic() < end and (self.beginners() or self.collectors() or alive(self.target())):
            time.sleep(0.01)

    def recover(self):
        """memrec recover for each ring that is still there: of the trace, if one was begun."""
        for ring in glob.glob(os.path.join(self.folder, "rings/*/*.ring")):
            trace = os.path.realpath(ring + ".trace") if os.path.islink(ring + ".trace") else ring
            if not os.path.exists(trace):
                trace = ring
            done = subprocess.run([MEMREC, "recover"] + (["-o", os.path.join(self.folder, "out/r.zst")] if trace == ring else []) +
                                  [trace], stderr=subprocess.PIPE, timeout=TIMEOUT, check=False)
            if done.returncode:
                return "memrec recover: " + done.stderr.decode().strip()
        return ""

    def count(self, changed, exact=True):
        """Reads all traces, and compares."""
        count = Count()
        count.tried, count.changed = 1, int(changed)
        begun = 0
        for path in glob.glob(self.counter.path + "*"):
            values = Counter(path).read()
            begun += values[0]
            count.made += values[1]
        for trace in glob.glob(os.path.join(self.folder, "out", "*.zst")):
            recorded, lost, why = ask(trace)
            count.recorded += recorded
            count.lost += lost
            count.remarks += [why] if why else []
        count.missing = max(0, count.made - count.recorded - count.lost)
        if exact:
            count.extra = max(0, count.recorded - begun)
        if count.missing or count.extra or count.changed:
            count.remarks.append(self.said().strip()[-300:])
        return count


def ask(trace):
    """(events, lost, what is wrong with it) of a trace, told by memana sql."""
    question = """SELECT (SELECT count(*) + count(free_seq) FROM allocation) + (SELECT total(unknown_frees) FROM process) AS events,
                  (SELECT total(events) FROM lost_events) AS lost"""
    done = subprocess.run([MEMANA, "sql", "--json", trace, question], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=TIMEOUT, check=False)
    if not done.stdout:
        return 0, 0, done.stderr.decode().strip()
    row = json.loads(done.stdout)[0]
    return int(row["events"]), int(row["lost"]), ""


def alive(pid):
    try:
        with open("/proc/%d/stat" % pid) as file:
            return pid > 0 and file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def kill(pid, number=signal.SIGKILL):
    with contextlib.suppress(ProcessLookupError):
        if pid > 0:
            os.kill(pid, number)


@contextlib.contextmanager
def new_folder():
    folder = tempfile.mkdtemp(prefix="torture.")
    try:
        yield folder
    finally:
        if os.path.ismount(os.path.join(folder, "out")):
            subprocess.run(["umount", os.path.join(folder, "out")], check=False)
        shutil.rmtree(folder, ignore_errors=True)


# ---- kill -9 ----

def kill_once(who, seed):
    """Records 20,000 calls, and kills `who` (letters: t target, c collector, l launcher) somewhere on the way."""
    draw = random.Random(seed)
    with new_folder() as folder:
        run = Run(folder, ["calls"], 20000, seed=seed % 4)
        want = run.plain()
        run.start()
        run.wait_for_calls(draw.randrange(20000) if draw.random() < 0.95 else 0)
        victims = list(who)
        draw.shuffle(victims)
        for victim in victims:
            pids = {"t": [run.target()], "l": [run.process.pid]}.get(victim) or run.collectors()
            for pid in pids:
                kill(pid)
            time.sleep(draw.choice((0, 0, 0.001, 0.01)))
        got = run.finish()
        wrong = run.recover()
        begun = run.target() > 0  # a launcher that is killed before it has started the program has none
        changed = begun and "t" not in who and (got if "l" not in who else (want[0], got[1])) != want
        count = run.count(changed)
        if wrong:
            count.remarks.append(wrong)
            count.missing += 1
        return count


def kills(who):
    def row():
        total = Count()
        for i in range(max(1, RUNS // 7)):
            total.add(kill_once(who, SEED + 1000003 * i + len(who)))
        return total
    return row


# ---- where the trace and the ring should go ----

def whole(how, calls, meanwhile=None, after=None, runs=1, **more):
    """A run that is not killed: with something done in the middle, and something before the recovery."""
    def row():
        total = Count()
        for i in range(runs):
            with new_folder() as folder:
                run = Run(folder, how, calls, seed=i + 1, **more)
                want = run.plain()
                run.start()
                if meanwhile:
                    run.wait_for_calls(calls // 3)
                    meanwhile(run)
                got = run.finish()
                if after:
                    after(run)
                wrong = run.recover()
                count = run.count(got != want)
                count.remarks += [wrong] if wrong else []
                total.add(count)
        return total
    return row


def mounted(size, then):
    """The output folder is a file system of `size`; `then` as whole's `after`."""
    def row():
        total = Count()
        with new_folder() as folder:
            run = Run(folder, ["calls"], 60000, variables={"MEMREC_OPTIONS": "slot-bytes=65536"})
            want = run.plain()
            if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=" + size, "tmpfs", os.path.join(folder, "out")],
                              stderr=subprocess.DEVNULL, check=False).returncode:
                raise Untried("mount is not permitted")
            got = run.start().finish()
            said = run.said()
            then(run)
            run.recover()
            total.add(run.count(got != want))
            if "disk full" not in said and "no space left" not in said:
                total.remarks.append("not said: " + said)
                total.missing += 1
        return total
    return row


def more_room(run):
    subprocess.run(["mount", "-o", "remount,size=64m", os.path.join(run.folder, "out")], check=True)


def read_only():
    """The folder may not be written to any more when the first event comes: the trace goes elsewhere, and memrec says where."""
    with new_folder() as folder:
        os.mkdir(os.path.join(folder, "tmp"))
        script = "mount -o remount,ro out && exec \"$@\""
        run = Run(folder, ["calls"], 20000, prefix=["sh", "-c", script, "-"], variables={"TMPDIR": os.path.join(folder, "tmp")})
        want = run.plain()
        if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", os.path.join(folder, "out")], stderr=subprocess.DEVNULL, check=False).returncode:
            raise Untried("mount is not permitted")
        got = run.start().finish()
        subprocess.run(["mount", "-o", "remount,rw", os.path.join(folder, "out")], check=True)
        for trace in glob.glob(os.path.join(folder, "tmp/memrec-trace.*/*.zst")):
            shutil.copy(trace, os.path.join(folder, "out"))
        count = run.count(got != want)
        count.missing += "memrec-trace." not in run.said()
        return count


def quota():
    """A file system whose owner has used up what he may."""
    with new_folder() as folder:
        image = os.path.join(folder, "image")
        with open(image, "wb") as file:
            file.truncate(32 << 20)
        run = Run(folder, ["calls"], 60000, variables={"MEMREC_OPTIONS": "slot-bytes=65536"})
        for command in (["mkfs.ext4", "-q", "-O", "quota", "-E", "quotatype=usrquota", image],
                        ["mount", "-o", "loop,usrquota", image, os.path.join(folder, "out")],
                        ["setquota", "-u", str(os.getuid()), "16", "16", "0", "0", os.path.join(folder, "out")]):
            if not shutil.which(command[0]) or subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode:
                raise Untried("no quotas here: %s" % command[0])
        want = run.plain()
        got = run.start().finish()
        return run.count(got != want)


def limited(run):
    for pid in run.collectors():
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (8192, 8192))


def vanish(run):
    """The folder of the trace goes away in the middle: what was in it cannot be counted, but it must be said."""
    shutil.rmtree(os.path.join(run.folder, "out"))


def vanished():
    with new_folder() as folder:
        run = Run(folder, ["calls"], 60000)
        want = run.plain()
        run.start()
        run.wait_for_calls(20000)
        vanish(run)
        got = run.finish()
        count = Count()
        count.tried, count.changed, count.made = 1, int(got != want), run.counter.read()[1]
        lost = re.search(r"t\.zst: .*\((\d+) events LOST\)", run.said())
        count.lost = min(count.made, int(lost[1])) if lost else 0
        count.missing = count.made - count.lost
        count.remarks.append("said: " + run.said().strip())
        return count


def shared_memory(mount_options, how=("calls",), calls=60000, meanwhile=None):
    """/dev/shm and /tmp of its own, for rings that are not told where to be."""
    def row():
        total = Count()
        with new_folder() as folder:
            script = "mount -t tmpfs -o %s tmpfs /dev/shm && exec \"$@\"" % mount_options
            run = Run(folder, how, calls, shell=["unshare", "-m", "--propagation", "private", "sh", "-c", script, "-"])
            run.command = [word for word in run.command if word not in ("--ring-dir", "rings")]
            if subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL, check=False).returncode:
                raise Untried("unshare is not permitted")
            want = run.plain()
            run.start()
            if meanwhile:
                run.wait_for_calls(calls // 3)
                meanwhile(run)
            got = run.finish()
            total.add(run.count(got != want))
        return total
    return row


def fill_shm(run):
    """Fills the /dev/shm that the target has."""
    fill = "/proc/%d/root/dev/shm/fill" % run.target()
    with contextlib.suppress(OSError):
        with open(fill, "wb") as file:
            while True:
                file.write(bytes(1 << 20))


# ---- the collector does not get on ----

def pause(run):
    for pid in run.collectors():
        kill(pid, signal.SIGSTOP)
    time.sleep(1)
    for pid in run.collectors():
        kill(pid, signal.SIGCONT)


def stop_for_good(run):
    for pid in run.collectors():
        kill(pid, signal.SIGSTOP)
    end = time.monotonic() + 60
    while alive(run.target()) and time.monotonic() < end:
        time.sleep(0.02)
    for pid in run.collectors():
        kill(pid)


# ---- other tools ----

def python_of(*options):
    """A Python program with the switches that complain of what is not in order: nothing more is said than without memrec."""
    def row():
        count = Count()
        with new_folder() as folder:
            run = Run(folder, ["calls"], 0)
            run.counter = Counter(os.path.join(folder, "none"))
            script = [sys.executable, *options, os.path.join(HERE, "../cli/driver_calls.py"), "--calls", "5000", "--account", "account"]
            plain = subprocess.run(script, cwd=folder, env=run.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            run.command = run.command[:run.command.index("--") + 1] + script
            run.start()
            status, out = run.finish()
            said = "".join(line + "\n" for line in run.said().splitlines() if not line.startswith("memrec: "))
            count = run.count((status, out + said.encode()) != (plain.returncode, plain.stdout))
            with open(os.path.join(folder, "account")) as file:
                count.made = json.load(file)["calls"]
            count.missing, count.extra = max(0, count.made - count.recorded - count.lost), 0
            count.remarks = [said] if count.missing or count.changed else []
        return count
    return row


def in_gdb():
    """gdb runs the program, and another one looks at it in the middle."""
    if not shutil.which("gdb"):
        raise Untried("no gdb")
    with new_folder() as folder:
        run = Run(folder, ["calls"], 20000, prefix=["gdb", "-q", "-batch", "-return-child-result", "-ex", "run", "--args"])
        want = run.plain()
        status, out = run.start().finish()
        total = run.count(status != want[0] or want[1] not in out)
    with new_folder() as folder:
        run = Run(folder, ["forever", "3000"], 0)
        run.start()
        run.wait_for_calls(10)
        for _ in range(3):
            subprocess.run(["gdb", "-q", "-batch", "-ex", "thread apply all backtrace", "-p", str(run.target())],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=TIMEOUT, check=False)
        status, out = run.finish()
        total.add(run.count((status, out) != (0, b"forever: " + b"0" * 16 + b"\n")))
    return total


def in_valgrind():
    """No report that is not there without memrec."""
    if not shutil.which("valgrind"):
        raise Untried("no valgrind")
    with new_folder() as folder:
        prefix = ["valgrind", "--leak-check=full", "--show-leak-kinds=definite", "--errors-for-leak-kinds=definite",
                  "--log-file=" + os.path.join(folder, "log")]
        run = Run(folder, ["at-once", "4"], 500, prefix=prefix, variables={"STANDIN_MEM": "1GiB"}) # it has no 80 GiB to lend
        want = run.plain()

        def errors():
            with open(os.path.join(folder, "log")) as file:
                return max(int(number) for number in re.findall(r"ERROR SUMMARY: (\d+)", file.read()))
        subprocess.run(prefix + [VICTIM, os.path.join(folder, "plain"), "1", "500", "at-once", "4"], env=run.environment,
                       stdout=subprocess.DEVNULL, check=False)
        os.unlink(os.path.join(folder, "plain"))
        before = errors()
        got = run.start().finish()
        count = run.count(got != want or errors() != before)
        count.remarks.append("%d reports, %d without memrec" % (errors(), before))
    return count


# ---- for long ----

def anonymous_kib(pid):
    with contextlib.suppress(OSError):
        with open("/proc/%d/status" % pid) as file:
            found = re.search(r"RssAnon:\s+(\d+)", file.read())  # a process that has ended and was not waited for has none
            return int(found[1]) if found else 0
    return 0


def keep_for_long():
    """Memory of both processes while a flight recorder runs: the second half needs no more than the first."""
    with new_folder() as folder:
        run = Run(folder, ["forever", str(int(KEEP_MINUTES * 60000))], 0, options=["--keep", "64MiB"])
        run.start()
        run.wait_for_calls(1)
        seen = []
        while run.process.poll() is None:
            time.sleep(KEEP_MINUTES * 60 / 200)
            with contextlib.suppress(IndexError):  # the collector ends at any moment
                seen.append((anonymous_kib(run.target()), anonymous_kib(run.collectors()[0])))
        status = run.process.wait()
        made = run.counter.read()[1]
        count = Count()
        count.tried, count.made, count.changed = 1, made, int(status != 0)
        trace = os.path.join(folder, "out/t.zst")
        said = re.search(r"(\d+) events.*?(nothing lost|(\d+) events LOST)", run.said())
        count.recorded, count.lost = int(said[1]), int(said[3] or 0)
        count.missing = max(0, made - count.recorded - count.lost)
        ask(trace)
        half = len(seen) // 2
        for name, values in zip(("target", "collector"), zip(*seen)):
            first, second = max(values[half // 4:half]), max(values[half:])
            count.remarks.append("%s %d KiB, then %d KiB" % (name, first, second))
            count.missing += second > first * 1.05 + 512
        count.remarks.append("trace %d MiB" % (os.path.getsize(trace) >> 20))
    return count


ROWS = [
    ("kill -9: target", kills("t")),
    ("kill -9: collector", kills("c")),
    ("kill -9: launcher", kills("l")),
    ("kill -9: target, collector", kills("tc")),
    ("kill -9: target, launcher", kills("tl")),
    ("kill -9: collector, launcher", kills("cl")),
    ("kill -9: all three", kills("tcl")),
    ("disk full, room later", mounted("64k", more_room)),
    ("disk full, and it stays so", mounted("64k", lambda run: None)),
    ("quota", quota),
    ("folder of the trace is read-only", read_only),
    ("limit on the size of files", whole(["calls"], 60000, meanwhile=limited)),
    ("folder of the trace vanishes", vanished),
    ("/dev/shm of 1 MiB", shared_memory("size=1m")),
    ("/dev/shm noexec", shared_memory("size=64m,noexec")),
    ("/dev/shm full in the middle", shared_memory("size=3m", how=("at-once", "40"), calls=3000, meanwhile=fill_shm)),
    ("collector stopped for a second", whole(["calls"], 60000, meanwhile=pause)),
    ("collector stopped for good", whole(["calls"], 60000, meanwhile=stop_for_good)),
    ("10,000 threads in turn", whole(["in-turn", 10000], 4)),
    ("2,000 threads at once", whole(["at-once", 2000], 50)),
    ("threads with the smallest stack", whole(["small", 200], 200)),
    ("signals of 1 kHz that allocate", whole(["signals", 1000], 200000)),
    ("signals in the loader's lock", whole(["loader"], 5000)),
    ("library unloaded while on stacks", whole(["unload", LIBRARY], 20000)),
    ("fork and exec", whole(["spawn", "fork"], 4000, runs=TIMES)),
    ("vfork and exec", whole(["spawn", "vfork"], 4000, runs=TIMES)),
    ("raw clone and exec", whole(["spawn", "clone"], 4000, runs=TIMES)),
    ("posix_spawn", whole(["spawn", "posix_spawn"], 4000, runs=TIMES)),
    ("fork, and calls in the copy", whole(["spawn", "copy"], 4000, runs=TIMES)),
    ("chain of 8 execs", whole(["chain", 8], 2000, runs=TIMES)),
    ("python -X dev", python_of("-X", "dev")),
    ("python -X faulthandler", python_of("-X", "faulthandler")),
    ("gdb", in_gdb),
    ("valgrind", in_valgrind),
    ("--keep for %g minutes" % KEEP_MINUTES, keep_for_long),
]


def main():
    wanted = re.compile(os.environ.get("ROWS", ""))
    form = "%-34s %6s %10s %10s %9s %8s %8s  %s"
    passed = failed = skipped = 0
    print("SEED=%d" % SEED)
    print(form % ("what is done", "tried", "calls", "recorded", "lost", "missing", "changed", "verdict"))
    for title, row in ROWS:
        if not wanted.search(title):
            continue
        try:
            count = row()
        except Untried as why:
            skipped += 1
            print(form % (title, "-", "-", "-", "-", "-", "-", "not tried: %s" % why), flush=True)
            continue
        good = count.tried and not count.missing and not count.extra and not count.changed
        passed, failed = passed + bool(good), failed + (not good)
        print(form % (title, count.tried, count.made, count.recorded, count.lost, count.missing + count.extra, count.changed,
                      "good" if good else "BAD"), flush=True)
        for remark in count.remarks[:8]:
            print("    " + remark.replace("\n", "\n    "))
    print("%d passed, %d failed, %d skipped" % (passed, failed, skipped))
    return failed != 0


sys.exit(main())
