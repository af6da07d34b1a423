#!/usr/bin/env python3
"""shapes.py BUILD [REPORT...]: what each report takes for each shape of bench_shape, on N, 2 N and 4 N of its things.

Without REPORT: all of them but oom and advise. Their decisions are to be replaced; name them to see their slopes.

A cell has the slope, log2 of the ratio of processor time from 2 N to 4 N, the start of the program taken off: 1 is in
proportion, 2 is the square. "-": 4 N take too little to tell. Above SLOPE_MAX the runs are repeated, the least time counts.
SHAPES="live steps": these alone. SHAPES_FULL=1: one run of each at full size instead, seconds and MiB.
"""
import math
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

REPORTS = "info verify top load steps phases check retained frag replay diff tui".split()
SLOPE_MAX, SECONDS_MAX, TELLS, LIMIT = 1.2, 10.0, 0.15, int(os.environ.get("SHAPES_LIMIT", "20"))
FULL = bool(os.environ.get("SHAPES_FULL"))


def command(build, report, trace):
    special = {
        "load": ["load", trace, "-o", trace + ".db"],
        "check": ["check", trace, "--max-peak", "1TiB", "--growth", "1%"],
        "diff": ["diff", trace, trace],
        "replay": ["frag", "--replay", "expandable_segments:True", trace],
    }
    if report == "tui":
        return [f"{build}/tests/bench/bench_tui", "--open", trace]
    return [f"{build}/memana", *special.get(report, [report, trace])]


def cost(build, report, trace):
    """Seconds of processor and MiB of one run; math.inf seconds where the limit ended it."""
    if os.path.exists(trace + ".db"):
        os.unlink(trace + ".db")
    limited = ["prlimit", f"--cpu={LIMIT}", *command(build, report, trace)]
    child = subprocess.Popen(limited, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = 0
    if os.WIFSIGNALED(status):
        return math.inf, usage.ru_maxrss / 1024
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def slope(seconds, start):
    twice, four = (max(s - start, 1e-3) for s in seconds[-2:])
    if math.isinf(four):
        return math.inf
    return math.log2(four / twice) if four >= TELLS else None


def tell(build, report, traces, start):
    runs = [cost(build, report, trace) for trace in traces]
    seconds, mib = [run[0] for run in runs], runs[-1][1]
    for _ in range(3):
        found = slope(seconds, start[report])
        if found is None or found <= SLOPE_MAX or math.isinf(found):
            break
        seconds = [min(s, cost(build, report, trace)[0]) for s, trace in zip(seconds, traces)]
    return {"seconds": seconds, "slope": slope(seconds, start[report]), "mib": mib}


def row(build, shape, n, work, reports, start):
    traces = []
    for times in [1] if FULL else [1, 2, 4]:
        traces.append(f"{work}/{shape}.{times}")
        subprocess.run([f"{build}/tests/bench/bench_shape", shape, str(n * times), traces[-1]], check=True)
    cells = {report: tell(build, report, traces, start) if not FULL else cost(build, report, traces[0]) for report in reports}
    for trace in traces:
        shutil.rmtree(trace, ignore_errors=True)
        for path in (trace, trace + ".db"):
            if os.path.exists(path):
                os.unlink(path)
    return cells


def words(cell):
    if cell["slope"] is None:
        return "-"
    return f"{cell['slope']:.2f}{'!' if cell['slope'] > SLOPE_MAX else ''}"


def line(shape, n, cells, reports):
    if FULL:
        over = {r for r in reports if cells[r][0] > SECONDS_MAX}
        parts = [f"{cells[r][0]:7.1f}{'!' if r in over else ' '}{cells[r][1]:5.0f}" for r in reports]
    else:
        over = {r for r in reports if (cells[r]["slope"] or 0) > SLOPE_MAX}
        parts = [f"{words(cells[r]):>9}" for r in reports]
        parts.append(f"{max(cells[r]['seconds'][-1] for r in reports):7.2f} s {max(cells[r]['mib'] for r in reports):5.0f} MiB")
    print(f"{shape:<15}{n:>9}" + "".join(parts), flush=True)
    return len(over)


def main():
    build = os.path.abspath(sys.argv[1])
    reports = sys.argv[2:] or REPORTS
    listed = subprocess.run([f"{build}/tests/bench/bench_shape"], check=True, capture_output=True, text=True).stdout
    wanted = os.environ.get("SHAPES", "").split()
    table = [(name, int(full if FULL else few)) for name, few, full, _ in map(str.split, listed.splitlines())]
    table = [(name, n) for name, n in table if not wanted or name in wanted]
    with tempfile.TemporaryDirectory(prefix="memana-shapes.") as work:
        os.environ["TMPDIR"] = work
        empty = f"{work}/empty"
        subprocess.run([f"{build}/tests/bench/bench_shape", "live", "1", empty], check=True)
        start = {report: min(cost(build, report, empty)[0] for _ in range(3)) for report in reports}
        width = 13 if FULL else 9
        print(f"{'':<15}{'N':>9}" + "".join(f"{r:>{width}}" for r in reports) + ("" if FULL else "   most, at 4 N"))
        with ThreadPoolExecutor(1 if FULL else 2) as pool:
            rows = [(name, n, pool.submit(row, build, name, n, work, reports, start)) for name, n in table]
            over = sum(line(name, n, cells.result(), reports) for name, n, cells in rows)
    print(f"{over} above {'10 s' if FULL else SLOPE_MAX} (!)")


if __name__ == "__main__":
    main()
