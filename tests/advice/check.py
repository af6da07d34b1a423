#!/usr/bin/env python3
"""check.py BUILD [CASE...] - holds what memana advise predicts against what was measured. For each row of cases.txt a program is
recorded as it is set now and as it shall be set; memana advise sees the first recording alone and says what the peak of the
second will be. Prints a table row for each case as it is done; last how many were inside their range and the median error, of
the rows that predictions were developed against, of those that were held out, and of all; and "N passed, N failed, N skipped".

    peak        of the tensors on the CPU, or of the stand-in GPU: memana top of a run's own trace
    predicted   memana advise of the first trace: a range; the error is that of its middle
    own         the peak of the second run by somebody else's count: PyTorch's profiler in a run without memrec, or what rl_step
                prints of itself. memana's measurements are held against it: 0.1 %
    phases      how many of the phases whose own peak is a tenth of it or more are inside the range that is said of them
    MemTracker  what PyTorch's own MemTracker says under FakeTensorMode of the program as it shall be set, "-" where it fails

Recordings and counts are kept in BUILD/advice, each in a folder that is named by the program, its settings and a hash of these
with the recorder, the program's sources and the frameworks' versions: after a change of memana nothing is recorded again.
MEMANA: another memana; QUICK=1: without "own" and MemTracker, which are runs of their own; ADVICE_KEPT: another folder.
"""
import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(sys.argv[1])
MEMANA = os.environ.get("MEMANA") or BUILD + "/memana"
PYTHON = os.environ.get("PYTHON") or os.path.join(BUILD, "frameworks-venv/bin/python")
KEPT = os.environ.get("ADVICE_KEPT") or os.path.join(BUILD, "advice")
PATIENCE = int(os.environ.get("TEST_TIMEOUT", 300))  # s, for a program
HELD_OUT = "held out"  # the mark of a row that nobody looked at while predictions were developed
OWN_OFF = 0.1  # per cent
LEAST_INSIDE, MEDIAN_MOST = 90, 5  # per cent: of the rows inside their range; of the median error
RECORDER = ("include/memtrace", "recorder", "formats/ring", "formats/write", "formats/trace", "formats/phase", "formats/rules")
PLAIN = ("encoder", "perceptron", "pictures")  # programs of plain.py
FRAMEWORKS = ("torch", "transformers", "trl", "accelerate", "peft", "bitsandbytes")
MIB = float(1 << 20)


def contents(*folders):
    """A hash of the sources in the folders of the tree, which are the same wherever they were built."""
    sums = hashlib.sha256()
    for folder in folders:
        for place, inner, names in os.walk(os.path.join(HERE, "../..", folder)):
            inner[:] = sorted(set(inner) - {"__pycache__"})
            for name in sorted(names):
                with open(os.path.join(place, name), "rb") as file:
                    sums.update(file.read())
    return sums.hexdigest()


def versions():
    said = subprocess.run([PYTHON, "-c", "from importlib.metadata import distributions as d\nprint(sorted((x.name, x.version)"
                           " for x in d() if x.name in %r), __import__('sys').version)" % (FRAMEWORKS,)], capture_output=True)
    return said.stdout.decode()


class Case:
    """A row of cases.txt."""

    def __init__(self, columns):
        name, words, changes, self.framework, keys, *marks = columns
        if marks not in ([], [HELD_OUT]):
            sys.exit("tests/advice/cases.txt: %s: behind the keys stands nothing or '%s'" % (name, HELD_OUT))
        self.held_out = bool(marks)
        self.name, _, self.phase = name.partition(" ")
        self.program, *self.settings = words.split()
        self.changes = [re.fullmatch(r"(.+?)=(.+?)>(.+)", change).groups() for change in changes.split()]
        self.keys = []
        for at, key in enumerate(keys.split()):
            self.keys += self.known_as(key, at)

    def known_as(self, key, at):
        """[(KEY, NOW, NEW)] as memana advise knows what changes."""
        if key == "-":
            return self.changes
        name, _, values = key.partition("=")
        return [(name, *(self.changes[at][1:] if values == "-" else values.split(">")))]

    def set(self, new):
        """Settings of the first run, or with `new` of the second."""
        return self.settings + ["%s=%s" % (setting, values[new]) for setting, *values in self.changes]

    def __str__(self):
        return ", ".join("%s %s > %s" % change for change in self.keys)


def cases(names):
    with open(os.path.join(HERE, "cases.txt")) as file:
        rows = [[column.strip() for column in line.split("|")] for line in file if line.strip() and not line.startswith("#")]
    known = list(map(Case, rows))
    for name in set(names) - {case.name for case in known}:
        sys.exit("no case of tests/advice/cases.txt is named " + name)
    return [case for case in known if not names or case.name in names]


def run(words, folder, said, **more):
    """The exit status; what the program says is in the file said. One that takes too long is ended with all it started."""
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", OMP_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false", **more)
    with open(os.path.join(folder, said), "w") as out:
        child = subprocess.Popen(words, cwd=folder, stdout=out, stderr=subprocess.STDOUT, env=environment, start_new_session=True)
        try:
            return child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            return child.wait()


class Run:
    """One program with one set of settings: its folder among the kept ones, and what is known of it there."""

    stamps = {}  # for a kind of program: the inputs of its recordings beside their settings

    def __init__(self, program, settings):
        self.gpu = program == "step"
        self.guest = "plain.py" if program in PLAIN else "guest.py"
        if self.gpu:
            self.words = [BUILD + "/samples/rl_step", "--quiet"] + [word for setting in settings for word in setting.split("=")]
        else:
            self.words = [PYTHON, os.path.join(HERE, self.guest), program, ".", *settings]
        key = hashlib.sha256("\0".join([self.stamp(), program, *sorted(settings)]).encode()).hexdigest()[:10]
        readable = "-".join([program] + [setting.lstrip("-") for setting in sorted(settings)])
        self.folder = os.path.join(KEPT, re.sub(r"[^A-Za-z0-9=._-]", "_", readable)[:160] + "-" + key)
        self.trace = os.path.join(self.folder, "trace.zst")
        self.command = ""

    def stamp(self):
        kind = "step" if self.gpu else self.guest
        if kind not in Run.stamps:
            with open(HERE + "/" + self.guest) as guest, open(HERE + "/../frameworks/tiny.py") as tiny:
                program = guest.read() + (tiny.read() if kind == "guest.py" else "") + versions()
            Run.stamps[kind] = contents(*RECORDER) + (contents("samples", "tests/standin") if self.gpu else program)
        return Run.stamps[kind]

    def record(self):
        """Whether there is a trace; made now where there is none of this kind."""
        recorder = [BUILD + "/memrec", *([] if self.gpu else ["--cpu"]), "-o", "trace.zst", "--"]
        more = {"LD_LIBRARY_PATH": BUILD + "/standin"} if self.gpu else {}
        self.command = shlex.join(recorder + self.words)
        if os.path.exists(self.folder + "/done"):
            return True
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        if run(recorder + self.words, self.folder, "said.txt", **more) or not os.path.exists(self.trace):
            return False
        with open(self.folder + "/done", "w") as file:
            file.write(self.command + "\n")
        return True

    def measured(self):
        """(bytes, phase, {phase: bytes}) of the peak, by memana top."""
        said = subprocess.run([MEMANA, "top", "--json", self.trace], check=True, capture_output=True)
        device = next(d for d in json.loads(said.stdout)["devices"] if d["kind"] == ("cuda" if self.gpu else "cpu"))
        return device["peak"]["bytes"], device["peak"]["phase"], {p["phase"]: p["bytes"] for p in device["phase_peaks"]}

    def counted(self, what):
        """Bytes of the peak as another counts them: in a run of its own, made once. None where it cannot."""
        path = os.path.join(self.folder, what.lower() + ".json")
        if not os.path.exists(path):
            run(self.words, self.folder, what.lower() + ".txt", **{what: path + ".new"})
            for left in ("model", "out"):  # large output of a program that nobody reads
                shutil.rmtree(os.path.join(self.folder, left), ignore_errors=True)
            if os.path.exists(self.folder + "/profile.json"):
                os.remove(self.folder + "/profile.json")
            if os.path.exists(path + ".new"):
                os.rename(path + ".new", path)
            else:
                with open(path, "w") as file:
                    json.dump({"peak": None}, file)
        with open(path) as file:
            return json.load(file)["peak"]

    def own(self):
        if not self.gpu:
            return self.counted("ADVICE_COUNT")
        with open(self.folder + "/said.txt") as file:
            return int(re.search(r"peak (\d+) bytes", file.read())[1])

    def tracked(self):
        return None if self.gpu else self.counted("ADVICE_FAKE")


def predicted(case, trace):
    """The "predicted" of memana advise, or why there is none."""
    words = [MEMANA, "advise", trace, "--framework", case.framework, "--json"]
    for key, now, new in case.keys:
        words += ["--now", "%s=%s" % (key, now), "--set", "%s=%s" % (key, new)]
    said = subprocess.run(words, capture_output=True)
    try:
        return json.loads(said.stdout)["predicted"], "it says nothing of this peak"
    except (ValueError, KeyError):
        lines = said.stderr.decode(errors="replace").splitlines()
        return None, "exit status %d%s" % (said.returncode, ": " + lines[0] if lines else "")


def range_of(prediction, phase):
    """(low, high) of the peak, or of one phase's; None where nothing is said of it."""
    said = (prediction or {}).get("peak_bytes") if not phase else next(
        (p["bytes"] for p in prediction.get("by_phase") or [] if p["phase"] == phase), None)
    return (said["low"], said["high"]) if said else None


def off(said, true):
    return 100.0 * (said - true) / true


class Group:
    """The judgement of rows that belong together."""

    def __init__(self, name):
        self.name = name
        self.errors = []  # middles of the ranges, per cent without sign
        self.inside = 0

    def judge(self, error, inside):
        self.errors.append(abs(error))
        self.inside += inside

    def end(self):
        if self.errors:
            print("%s: %d rows, %d inside their range, median error %.1f %%" % (
                self.name, len(self.errors), self.inside, statistics.median(self.errors)))


class Table:
    def __init__(self):
        self.groups = [Group("developed against"), Group(HELD_OUT)]
        self.tracker_errors = []
        self.worse = self.phases = self.phases_inside = 0
        self.passed = self.failed = self.skipped = self.contested = 0

    def begin(self):
        print("| case | change | peak, MiB | in | predicted | measured | in | error, % | inside | phases | own, % | MemTracker, % |\n"
              "|---|---|---:|---|---:|---:|---|---:|---|---|---:|---:|", flush=True)

    def skip(self, case, why):
        self.skipped += 1
        print("skip %s: %s" % (case.name, why), flush=True)

    def judge(self, case, before, after, span):
        """(error, whether inside) of a row with a prediction."""
        middle = (span[0] + span[1]) / 2.0
        error, inside = off(middle, after), span[0] <= after <= span[1]
        self.groups[case.held_out].judge(error, inside)
        self.worse += middle < before < after
        self.passed += inside
        self.failed += not inside
        return error, inside

    def judge_phases(self, prediction, measured):
        """"3 of 4"."""
        ranges = {p["phase"]: p["bytes"] for p in prediction.get("by_phase") or []}
        large = [phase for phase, count in measured.items() if phase in ranges and 10 * count >= max(measured.values())]
        inside = sum(ranges[phase]["low"] <= measured[phase] <= ranges[phase]["high"] for phase in large)
        self.phases += len(large)
        self.phases_inside += inside
        return "%d of %d" % (inside, len(large))

    def row(self, case, before, after, prediction, why, own, tracked):
        """before, after: (bytes, phase, {phase: bytes})."""
        span = range_of(prediction, case.phase) if prediction else None
        shown = ["-", "-", "-", "-"]
        if span:
            error, inside = self.judge(case, before[0], after[0], span)
            shown = ["%.1f to %.1f" % (span[0] / MIB, span[1] / MIB), "%+.1f" % error, "yes" if inside else "no",
                     self.judge_phases(prediction, after[2])]
        else:
            self.skipped += 1
        if own is not None and abs(off(after[0], own)) > OWN_OFF:
            self.contested += 1
        if tracked is not None:
            self.tracker_errors.append(abs(off(tracked, after[0])))
        print("| %s | %s | %.1f | %s | %s | %.1f | %s | %s | %s | %s | %s | %s |" % (
            case.name, case, before[0] / MIB, before[1], shown[0], after[0] / MIB, after[1], *shown[1:],
            "-" if own is None else "%+.2f" % off(after[0], own), "-" if tracked is None else "%+.1f" % off(tracked, after[0])), flush=True)
        if not span:
            print("#   no prediction: " + why, flush=True)

    def end(self):
        """Whether something is not as it has to be."""
        errors, inside = sum((group.errors for group in self.groups), []), sum(group.inside for group in self.groups)
        rows, missed = len(errors), self.contested > 0
        for group in self.groups:
            group.end()
        if rows:
            share, median = 100.0 * inside / rows, statistics.median(errors)
            missed |= share < LEAST_INSIDE or median > MEDIAN_MOST or self.worse > 0
            print("%d rows with a prediction: %d inside their range (%.0f %%, at least %d), median error %.1f %% (at most %d), %d that"
                  " were to fall and rose, %d of %d phases inside" % (rows, inside, share, LEAST_INSIDE, median, MEDIAN_MOST,
                                                                      self.worse, self.phases_inside, self.phases))
        if self.tracker_errors:
            print("MemTracker: %d rows, median error %.1f %%" % (len(self.tracker_errors), statistics.median(self.tracker_errors)))
        if self.contested:
            print("%d peaks are not what the program's own count says" % self.contested)
        print("%d passed, %d failed, %d skipped" % (self.passed, self.failed, self.skipped))
        return missed


def peak_of(run_, phase):
    count, where, phases = run_.measured()
    return (phases.get(phase, 0), phase, phases) if phase else (count, where, phases)


def try_case(case, table):
    now, new = Run(case.program, case.set(0)), Run(case.program, case.set(1))
    for each in (now, new):
        if not each.record():
            with open(each.folder + "/said.txt", errors="replace") as file:
                last = [line.strip() for line in file if line.strip() and not line.startswith("memrec:")][-1:]
            return table.skip(case, "%s did not run: %s" % (" ".join(each.words[2:]), "".join(last)[:200]))
    before, after = peak_of(now, case.phase), peak_of(new, case.phase)
    prediction, why = predicted(case, now.trace)
    alone = case.phase or os.environ.get("QUICK")  # others count the peak of all, and take their time
    own, tracked = (None, None) if alone else (new.own(), new.tracked())
    table.row(case, before, after, prediction, why, own, tracked)


def main():
    table = Table()
    table.begin()
    for case in cases(sys.argv[2:]):
        try_case(case, table)
    sys.exit(table.end())


main()
