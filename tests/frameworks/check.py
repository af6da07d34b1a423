#!/usr/bin/env python3
"""check.py BUILD [CASE...] - records each program of cases.txt and holds what memana says against the program's own account
(account.py). Prints a table row for each process as it is done, last "N passed, N failed, N skipped".

    phases      of the bytes allocated while it trained and before, how many memana has in the program's phase: >= 98 %
    helpers     the share of these bytes that threads of OpenMP and of PyTorch's pools allocated: they count in phases
    categories  bytes after the last step of the optimizer, against the sums over parameters, gradients and states: 1 %
    looks       the same at other moments, where the program says what it has then, such as after a backward: 1 %
    steps       equal
    tracker     how far MemTracker's figures are from the program's sums, where it was asked: the second opinion
"""
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from bisect import bisect_right

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(sys.argv[1])
PYTHON = os.environ.get("PYTHON") or os.path.join(BUILD, "frameworks-venv/bin/python")
OPTIONS = os.environ.get("MEMREC_FLAGS", "").split()  # more words for memrec: --depth 128
PATIENCE = int(os.environ.get("TEST_TIMEOUT", 900))  # s, for a program
PHASES_LEAST, CATEGORY_OFF = 98.0, 1.0  # per cent
WHAT = ("weights", "gradients", "optimizer state")
TRACKED = {"weights": ("Parameter", "Buffer"), "gradients": ("Gradient",), "optimizer state": ("Optstate",)}
FOREIGN = "pt_gloo_runloop"  # gloo's own threads: no caller of theirs is on their stacks, so their phase is other, by design
STARTS = re.compile(r"/(libc|libpthread|libstdc\+\+)[-.][^/]*$")  # a thread begins there, whoever starts it
HELPERS = re.compile(r"/(libgomp|libiomp5|libomp|libc10)[-.][^/]*$")
counts = {"ok": 0, "not ok": 0, "skip": 0}


def cases(names):
    with open(os.path.join(HERE, "cases.txt")) as file:
        rows = [[column.strip() for column in line.split("|")] for line in file if line.strip() and not line.startswith("#")]
    return [row for row in rows if not names or row[1] in names]


def run(words, folder, **more):
    """(status, output); a program that takes too long is ended with all it started."""
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", OMP_NUM_THREADS="2", TOKENIZERS_PARALLELISM="false", **more)
    with open(os.path.join(folder, "said.txt"), "w+") as out:
        child = subprocess.Popen(words, cwd=folder, stdout=out, stderr=subprocess.STDOUT, env=environment, start_new_session=True)
        try:
            child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        out.seek(0)
        return child.returncode, out.read()


def program(file, case, ranks, folder):
    words = [PYTHON, os.path.join(HERE, file), case, folder]
    if ranks == "-":
        return words
    return [PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", ranks] + words[1:]


def loaded(trace):
    database = trace + ".db"
    subprocess.run([BUILD + "/memana", "load", trace, "-o", database], check=True, capture_output=True)
    return sqlite3.connect("file:%s?mode=ro" % database, uri=True)


def timeline(spans, ended):
    """([time], [phase]): which phase begins when. Inner spans beat outer ones; between them is "other"."""
    begun = sorted(spans, key=lambda span: (span[1], -span[2]))
    moves, stack = [], []
    for phase, begin, end in begun + [("other", ended, ended)]:
        while stack and stack[-1][1] <= begin:
            done = stack.pop()
            moves.append((done[1], stack[-1][0] if stack else "other"))
        moves.append((begin, phase))
        stack.append((phase, end))
    return [time for time, _ in moves], [phase for _, phase in moves]


def helper_nodes(database):
    """Stacks of threads that a library started to work for others. Parents have smaller ids."""
    state = {}  # node -> None: nothing but the thread's start yet; True, False
    for node, parent, kind, path in database.execute(
            "SELECT stack_node.id, parent, kind, coalesce(path, '') FROM stack_node JOIN frame ON frame.id = frame "
            "LEFT JOIN elf_file ON elf_file.id = elf_file ORDER BY stack_node.id"):
        before = state.get(parent)
        if before is None and kind == "native":
            state[node] = None if STARTS.search(path) else bool(HELPERS.search(path))
        else:
            state[node] = bool(before) and kind != "python"
    return {node for node, is_one in state.items() if is_one}


def phases_right(database, account):
    """Per cent of the bytes, {(the program's, memana's): bytes}, all bytes, those of FOREIGN threads, those of helpers."""
    times, phases = timeline([tuple(span) for span in account["spans"]], account["ended"])
    first, last = min(span[1] for span in account["spans"]), max(span[2] for span in account["spans"])
    total, foreign, helped, wrong, helpers = 0, 0, 0, {}, helper_nodes(database)
    rows = database.execute("SELECT origin + alloc_time, bytes, allocation.phase, thread.name, node FROM allocation JOIN process ON"
                            " process.id = allocation.process LEFT JOIN thread ON thread.id = thread WHERE memory = 'tensor'")
    for time, count, said, thread, node in rows:
        if not first <= time <= last:
            continue
        if thread == FOREIGN:
            foreign += count
            continue
        at = bisect_right(times, time) - 1
        total += count
        helped += count if node in helpers else 0
        if phases[at] != said:
            wrong[phases[at], said] = wrong.get((phases[at], said), 0) + count
    return 100.0 * (total - sum(wrong.values())) / max(total, 1), wrong, total, foreign, helped


def categories_of(database):
    """{category: bytes} of tensors when the last step ended."""
    rows = database.execute("SELECT category, sum(bytes) FROM live_at WHERE memory = 'tensor'"
                            " AND moment = (SELECT 'step:' || max(step) || ':end' FROM step) GROUP BY 1")
    return dict(rows.fetchall())


def categories_at(database, moment):
    """{category: bytes} of tensors at a time of CLOCK_MONOTONIC, but for those of FOREIGN threads, which let go of theirs a moment later."""
    rows = database.execute("SELECT category, sum(bytes) FROM allocation JOIN process ON process.id = allocation.process LEFT JOIN thread ON"
                            " thread.id = thread WHERE memory = 'tensor' AND origin + alloc_time <= ?1 AND (free_time IS NULL OR"
                            " origin + free_time > ?1) AND coalesce(thread.name, '') <> ?2 GROUP BY 1", (moment, FOREIGN))
    return dict(rows.fetchall())


def looks_off(database, account):
    """[words of a difference] at the last look of each name."""
    faults = []
    for name, sums in dict(account.get("looks", [])).items():
        said = categories_at(database, sums["time"])
        for what, value in categories_off(said, sums).items():
            if abs(value) > CATEGORY_OFF:
                faults.append("%s after %s %+.2f %% (%d, memana %s)" % (what, name, value, sums.get(what, 0), said))
    return faults


def off(said, true):
    return 100.0 * (said - true) / true if true else (0.0 if not said else 100.0)


def categories_off(said, sums):
    return {what: off(said.get(what, 0) + (said.get("master weights", 0) if what == "optimizer state" else 0), sums.get(what, 0))
            for what in WHAT}


def tracker_off(account):
    if not account or not account["sums"] or "tracker" not in account["sums"][-1]:
        return None
    last = account["sums"][-1]
    return [off(sum(last["tracker"].get(kind, 0) for kind in TRACKED[what]), last.get(what, 0)) for what in WHAT]


def count(verdict, words):
    counts[verdict] += 1
    print(words, flush=True)


def compare(case, words, trace, account, tracked):
    database = loaded(trace)
    right, wrong, total, foreign, helped = phases_right(database, account)
    said, sums = categories_of(database), account["sums"][-1]
    differences = categories_off(said, sums)
    steps = database.execute("SELECT steps FROM process").fetchone()[0]
    looks = looks_off(database, account)
    database.close()
    faults = looks + ["phases"] * (right < PHASES_LEAST) + [w for w in WHAT if abs(differences[w]) > CATEGORY_OFF] + ["steps"] * (steps != account["steps"])
    second = tracker_off(tracked)
    count("not ok" if faults else "ok", "| %s | %s | %.2f%s | %.1f | %s | %d of %d | %s | %s |" % (
        case, words, right, " (and %.1f %% on gloo's threads)" % (100.0 * foreign / (total + foreign)) if foreign else "", 100.0 * helped / max(total, 1), ", ".join("%+.2f" % differences[what] for what in WHAT), steps, account["steps"],
        ", ".join("%+.2f" % value for value in second) if second else "-", "differs: " + ", ".join(faults) if faults else "agrees"))
    if faults:
        for (true, told), count_ in sorted(wrong.items(), key=lambda item: -item[1])[:4]:
            print("#   %.2f %%: %s in the program, %s in memana" % (100.0 * count_ / total, true, told))
        print("#   the program: %s; memana: %s" % ({w: sums.get(w, 0) for w in WHAT}, said), flush=True)


def try_case(file, case, words, ranks, tracker, folder):
    account = os.path.join(folder, "account.%r.json")
    status, output = run([BUILD + "/memrec", "--cpu", *OPTIONS, "-o", "trace.zst", "--"] + program(file, case, ranks, folder), folder, ACCOUNT=account)
    lacks = [line for line in output.splitlines() if line.startswith("lacks ")]
    if lacks:
        return count("skip", "skip %s: %s" % (case, lacks[0]))
    traces = sorted(name for name in os.listdir(folder) if name.endswith(".zst"))
    accounts = {}
    for name in os.listdir(folder):
        if name.startswith("account."):
            with open(os.path.join(folder, name)) as opened:
                said = json.load(opened)
            accounts[said["pid"]] = said
    if status or not accounts:
        count("not ok", "| %s | %s | | | | | | did not run: exit status %s |" % (case, words, status))
        return print("\n".join("#   " + line[:200] for line in output.splitlines()[-12:]))
    tracked = None
    if tracker:
        path = os.path.join(folder, "tracked.%r.json")
        run(program(file, case, ranks, folder), folder, ACCOUNT=path, ACCOUNT_TRACKER="1")
        if os.path.exists(path.replace("%r", "0")):
            with open(path.replace("%r", "0")) as opened:
                tracked = json.load(opened)
    matched = 0
    for trace in traces:
        with_pid = loaded(os.path.join(folder, trace)).execute("SELECT pid, rank FROM process").fetchone()
        if with_pid[0] in accounts:
            matched += 1
            rank = "" if ranks == "-" else ", rank %s" % with_pid[1]
            compare(case, words + rank, os.path.join(folder, trace), accounts[with_pid[0]], tracked if not with_pid[1] else None)
    if matched != len(accounts):
        count("not ok", "| %s | %s | | | | | | %d processes, %d with a trace |" % (case, words, len(accounts), matched))


def main():
    print("| case | what | phases, %% | helpers, %% | %s, %% off | steps | MemTracker, %% off | verdict |\n|---|---|---|---|---|---|---|---|" % ", ".join(WHAT))
    for file, case, words, ranks, tracker in cases(sys.argv[2:]):
        folder = tempfile.mkdtemp(prefix="memrec-frameworks.")
        try:
            try_case(file, case, words, ranks, tracker == "tracker", folder)
        finally:
            if os.environ.get("KEEP"):
                shutil.copytree(folder, os.path.join(os.environ["KEEP"], case), dirs_exist_ok=True)
            shutil.rmtree(folder, ignore_errors=True)
    print("%d passed, %d failed, %d skipped" % (counts["ok"], counts["not ok"], counts["skip"]))
    sys.exit(bool(counts["not ok"]))


main()
