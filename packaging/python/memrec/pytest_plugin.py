"""The pytest plugin: `pytest --memrec` records the tests, each as a step, and holds marked tests to their limits.

    @pytest.mark.limit_gpu_memory("2 GiB")   # the most that one GPU held while the test ran, what was there before included
    @pytest.mark.limit_growth("1 MiB")       # the most that the test may leave behind

Tensors of the CPU count where no GPU is used. Without --memrec the marks say nothing, and nothing is recorded.
"""
import json
import os
import re
import subprocess
import sys
import time

import pytest

import memrec
from memrec.__main__ import program

UNITS = {"": 1, "B": 1, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40}
PATIENCE = 30  # seconds that the recorder has to write a step
APPEARS = 3    # seconds that it has to make the trace of the first memory
SHOWN = 5      # tests in the summary


def size(text):
    """Bytes of "2 GiB", "512MiB" or a number."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", str(text))
    if not match or match.group(2).upper() not in UNITS:
        raise pytest.UsageError(f"{text!r} is not a size such as '2 GiB'")
    return int(float(match.group(1)) * UNITS[match.group(2).upper()])


def words(number):
    """A size for people."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if number < 1024 or unit == "GiB":
            return f"{number} {unit}" if unit == "bytes" else f"{number:.1f} {unit}"
        number /= 1024


def pytest_addoption(parser):
    group = parser.getgroup("memrec", "GPU memory")
    group.addoption("--memrec", action="store_true", help="record GPU memory, each test as a step; trace: pytest.PID.zst")


def pytest_configure(config):
    config.addinivalue_line("markers", "limit_gpu_memory(size): with --memrec, the test fails when a GPU held more while it ran")
    config.addinivalue_line("markers", "limit_growth(size): with --memrec, the test fails when more than this is left behind")
    if config.getoption("memrec") and memrec.recorded():
        config.pluginmanager.register(Recorded(config), "memrec-recorded")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """Becomes memrec with the same pytest below it: the recorder has to be there before the first library."""
    if not config.getoption("memrec") or memrec.recorded() or config.option.help or config.option.version:
        return
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture:
        capture.suspend_global_capture(in_=True)
    itself = ["-m", "pytest"] if os.path.basename(sys.argv[0]) in ("__main__.py", "") else [sys.argv[0]]
    command = [program("memrec"), "-o", "pytest.%p.zst", "--", sys.executable, *itself, *config.invocation_params.args]
    try:
        os.execvp(command[0], command)
    except OSError as error:
        raise pytest.UsageError(f"--memrec: {command[0]}: {error.strerror}") from error


class Recorded:
    """A pytest that runs below memrec."""

    def __init__(self, config):
        self.trace = os.path.join(os.getcwd(), f"pytest.{os.getpid()}.zst")
        self.ended = 0    # steps of this process
        self.step_of = {}  # the step that a test was, by its id
        self.waits = True  # for the trace, once
        self.step = memrec.step
        memrec.step = self.count_step

    def count_step(self, function=None):
        if function is None:
            self.ended += 1
        return self.step(function) if function is None else _decorated(function)

    def figures(self):
        """{step: (most that one device held, most that it left behind)} of what is in the trace, bytes."""
        if not os.path.exists(self.trace):
            return {}
        unrecorded = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        answer = subprocess.run([program("memana"), "steps", "--json", "-n", "0", self.trace], capture_output=True, text=True, check=False,
                                env=unrecorded)
        found = {}
        for process in json.loads(answer.stdout)["processes"] if answer.stdout else []:
            before = 0
            for step in filter(lambda row: row["ended"], process["steps"]):
                peak, left = found.get(step["step"], (0, 0))
                found[step["step"]] = max(peak, step["peak_bytes"] or 0), max(left, (step["in_use_bytes"] or 0) - before)
                before = step["in_use_bytes"] or 0
        return found

    def figures_now(self):
        """The same with the step that ends here. A process without a trace has taken no memory."""
        memrec.step()
        memrec.mark("measured")  # the recorder writes a step down with the event behind it
        now = time.monotonic()
        until = now + PATIENCE
        while not os.path.exists(self.trace) and self.waits and time.monotonic() < now + APPEARS:
            time.sleep(0.05)
        self.waits = False
        figures = self.figures()
        while os.path.exists(self.trace) and self.ended not in figures and time.monotonic() < until:
            time.sleep(0.1)
            figures = self.figures()
        return figures

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item):
        memrec.step()
        memrec.mark(f"test {item.nodeid}"[:255])
        yield
        memrec.step()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item):
        self.step_of[item.nodeid] = self.ended + 1
        outcome = yield
        limits = [(mark, size(mark.args[0])) for name in ("limit_gpu_memory", "limit_growth") for mark in item.iter_markers(name)]
        if limits and not outcome.excinfo:
            try:
                self.hold(item, limits)
            except pytest.fail.Exception as broken:
                if not hasattr(outcome, "force_exception"):  # pluggy before 1.1
                    raise
                outcome.force_exception(broken)

    def hold(self, item, limits):
        """The test's step ends here, so that its figures can be read."""
        peak, left = self.figures_now().get(self.step_of[item.nodeid], (0, 0))
        for mark, limit in limits:
            most, what = (peak, "held at most") if mark.name == "limit_gpu_memory" else (left, "left behind")
            if most > limit:
                pytest.fail(f"memrec: {words(most)} {what}, the limit is {words(limit)} (memana {self.trace})", pytrace=False)

    def pytest_terminal_summary(self, terminalreporter):
        figures = self.figures_now()
        peaks = sorted(((figures[step][0], test) for test, step in self.step_of.items() if figures.get(step, (0,))[0]), reverse=True)
        if peaks:
            terminalreporter.section("GPU memory (memrec): the highest peaks")
        for peak, test in peaks[:SHOWN]:
            terminalreporter.write_line(f"{words(peak):>12}  {test}")


def _decorated(function):
    def ends_a_step(*arguments, **named):
        try:
            return function(*arguments, **named)
        finally:
            memrec.step()
    return ends_a_step
