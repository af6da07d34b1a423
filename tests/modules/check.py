#!/usr/bin/env python3
"""check.py BUILD [CASE...] - records each training of cases.txt, and holds `memana top --by module --json` against the oracle
(oracle.py). Prints a table row for each process, last "N passed, N failed, N skipped".

Each program runs twice under memrec: once as it is, whose answer is compared, and once with the oracle. Both recordings must have
the same peak, of blocks of the same sizes: the oracle measured what the program has without it. PyTorch asks whether a mode is
there: matmul adds its bias into a new block then, which is gone soon. The oracle's log says what was there at that moment. Scratch
memory of the operator at work is not in the log: it belongs to the module that ran.

    modules    how many hold more than 1 % of the peak, by the oracle or by memana; own bytes, and with all modules inside
    worst      the largest difference of one of these: at most 2 %
    exact      weights, gradients and states of each module: the same to the byte
    outside    activations that memana has in no module and not in backward, in per cent of all: at most 5; the oracle's in brackets
    sisters    modules whose paths differ in a number and that the oracle has equal: memana has them equal to the byte
    unseen     bytes at the peak that no operator returned, in per cent of the peak
    blocks     how many allocations, by size, only one of the two runs has, of how many
    tracker    how far MemTracker's parameters, gradients and states are from the oracle's after the last step, in per cent;
               "failed": MemTracker raised
    trace      KiB of the trace, and how much larger than one with --no-modules, in per cent
"""
import collections
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
FRAMEWORKS = os.path.join(HERE, "../frameworks")
BUILD = os.path.abspath(sys.argv[1])
PYTHON = os.environ.get("PYTHON") or os.path.join(BUILD, "frameworks-venv/bin/python")
KEEP = os.environ.get("KEEP")  # a folder for the recordings; with those that are there it takes seconds
OLD = os.environ.get("ONLY") == "old"  # PyTorch 1.13 runs these, too
OPTIONS = os.environ.get("MEMREC_FLAGS", "").split()  # more words for memrec: with --no-modules every case must fail
SIZES = os.environ.get("SIZES")  # a third recording of each, for the column "trace"
PATIENCE = int(os.environ.get("TEST_TIMEOUT", 900))  # s, for a program
LEAST, OFF, OUTSIDE = 0.01, 2.0, 5.0  # a share of the peak; per cent
EXACT = ("weights", "gradients", "optimizer state")
COLUMN = {"buffers": "weights", "buckets": "gradients", "": "activations", "communication": "activations"}
NUMBER = 16  # bytes
NOWHERE = {"backward", "outside any module", "allocator slack"}
BYTES, BORN, DIED, PLACE, BACKWARD, KIND, OWNERS, ADDRESS, FOUND = range(9)
counts = {"ok": 0, "not ok": 0, "skip": 0}


def cases(names):
    with open(os.path.join(HERE, "cases.txt")) as file:
        rows = [[column.strip() for column in line.split("|")] for line in file if line.strip() and not line.startswith("#")]
    return [row for row in rows if (not names or row[1] in names) and (not OLD or row[5] == "old")]


def run(words, folder, **more):
    """(status, output); a program that takes too long is ended with all it started."""
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", PYTHONHASHSEED="0", OMP_NUM_THREADS="2", TOKENIZERS_PARALLELISM="false",
                       TORCHINDUCTOR_CACHE_DIR=os.path.join(folder, "inductor"), STEPS=os.environ.get("STEPS", "3"), **more)
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
    words = [PYTHON, os.path.join(HERE, "run.py"), file, case, folder]
    return words if ranks == "-" else [PYTHON, os.path.join(HERE, "ranks.py"), ranks] + words[1:]


class Recording:
    def __init__(self, trace, moment=None):
        self.trace, database = trace, trace + ".db"
        subprocess.run([BUILD + "/memana", "load", trace, "-o", database], check=True, capture_output=True)
        self.db = sqlite3.connect("file:%s?mode=ro" % database, uri=True)
        self.pid, self.rank, origin = self.db.execute("SELECT pid, rank, origin FROM process").fetchone()
        when = ["--at", "%dns" % (moment - origin)] if moment else []
        said = subprocess.run([BUILD + "/memana", "top", "--by", "module", "--json", *when, trace], check=True, capture_output=True).stdout
        device = max(json.loads(said)["devices"], key=lambda it: it["peak"]["bytes"])
        self.modules, self.peak, self.where = device["modules"], device["peak"]["bytes"], device["peak"]
        self.time = origin + device["peak"]["time_ns"]
        self.has_census = bool(self.db.execute("SELECT count(*) FROM parameter").fetchone()[0])

    def sizes(self):
        """
        ([bytes of each block that the program's threads allocated], [of those at the peak]). Gloo's come by when they please.
        Tensors of Python numbers (8 or 16 bytes) are left out: PyTorch makes one more where a mode comes between.
        """
        rows = self.db.execute("SELECT bytes, origin + alloc_time <= ?1 AND (free_time IS NULL OR origin + free_time > ?1) FROM allocation"
                               " JOIN process ON process.id = allocation.process LEFT JOIN thread ON thread.id = thread"
                               " WHERE memory = 'tensor' AND bytes > ?2 AND coalesce(thread.name, '') NOT LIKE 'pt_gloo%'", (self.time, NUMBER)).fetchall()
        return collections.Counter(size for size, _ in rows), collections.Counter(size for size, there in rows if there)

    def columns(self):
        """Without a census it says nothing of parameters."""
        return EXACT + ("activations",) if self.has_census else ("activations",)

    def column(self, kind):
        """Without a census buckets of gradients are what the module allocated."""
        return "activations" if kind == "buckets" and not self.has_census else COLUMN.get(kind, kind)

    def alive(self):
        """[(address, bytes)] at the peak, in order."""
        rows = self.db.execute("SELECT address, bytes FROM allocation JOIN process ON process.id = allocation.process WHERE memory = 'tensor'"
                               " AND origin + alloc_time <= ?1 AND (free_time IS NULL OR origin + free_time > ?1)", (self.time,))
        return sorted(rows)


def at_moment(log, recording):
    """{(place, column): bytes} by the oracle when the recording had its peak; bytes that no operator had returned."""
    begins = [begin for begin, _ in log["operators"]]
    at = bisect_right(begins, recording.time) - 1
    runs = at >= 0 and recording.time <= log["operators"][at][1]
    last = at - 1 if runs else at  # the newest operator that had ended
    there, found, held, parts = recording.alive(), collections.Counter(), 0, collections.Counter()
    for index, row in enumerate(log["storages"]):
        if row[BORN] > at or (row[DIED] is not None and row[DIED] <= at):
            continue
        size = row[BYTES]
        for when, then in log["resized"].get(str(index), ()):
            size = then if when <= last else size
        block = block_of(there, row[ADDRESS], size)
        if not size or ((row[FOUND] or row[BORN] > last) and not (block and (row[KIND] == "weights" or block[1] == size))):
            continue  # it is memory of a file or another library's, or the operator at work has it not yet
        if block and row[KIND] == "weights":
            parts[block] += size
        held += size
        for place, part in shares(log, row, size):
            found[place, recording.column(row[KIND])] += part
    rest = sum(block[1] - inside for block, inside in parts.items())  # a file that was read into one block, with all weights
    found["outside any module", "activations"] += rest
    held += rest
    move = bisect_right([time for time, _, _ in log["moves"]], recording.time) - 1
    _, place, backward = log["moves"][move] if move >= 0 else (0, -1, 0)
    found[place_name(log, place, backward), "activations"] += recording.peak - held
    return found, recording.peak - held


def block_of(there, address, size):
    """The block of the recording that has these bytes; None: it has none."""
    at = bisect_right(there, (address, 1 << 62)) - 1
    return there[at] if at >= 0 and address + size <= sum(there[at]) else None


def place_name(log, place, backward):
    return log["places"][place] if place >= 0 else "backward" if backward else "outside any module"


def shares(log, row, size):
    owners = row[OWNERS] if row[KIND] else []
    if len({name for name, _ in owners}) <= 1:
        return [(owners[0][0] if owners else place_name(log, row[PLACE], row[BACKWARD]), size)]
    return owners + [(place_name(log, row[PLACE], row[BACKWARD]), size - sum(part for _, part in owners))]


def flat(modules, root=None):
    """[(root, path, {column: own bytes})] of memana's tree."""
    for module in modules:
        name = module["name"] or module["outside"]
        top = root or name
        own = {column: module[column.replace(" ", "_") + "_bytes"] - sum(inner[column.replace(" ", "_") + "_bytes"] for inner in module["modules"])
               for column in EXACT}
        own["activations"] = module["own_bytes"] - sum(own.values())
        yield top, "" if root is None else name, own
        yield from flat(module["modules"], top)


def is_inside(path, outer):
    return not outer or path == outer or path.startswith((outer + ".", outer + " > "))


def models_of(said, true):
    """{model of the oracle: model of memana}: by the bytes that both have at equal paths. The numbers of models mean nothing."""
    pairs = []
    for one in {root for root, _ in true if root not in NOWHERE}:
        for two in {root for root, _ in said if root not in NOWHERE}:
            both = sum(min(sum(own.values()), sum(said.get((two, path), {}).values())) for (root, path), own in true.items() if root == one)
            pairs.append((both, one, two))
    chosen = {}
    for _, one, two in sorted(pairs, reverse=True):
        if one not in chosen and two not in chosen.values():
            chosen[one] = two
    return chosen


def split(place):
    """"Model@0:path" -> (model, path); a module in no model and what has no module are models of their own."""
    root, colon, path = place.partition(":")
    return (root, path.replace(".?", "")) if colon else (place, "")


def tables(found, recording):
    """{(root, path): {column: bytes}} of memana and of the oracle, with equal roots."""
    said, true = {}, {}
    for root, path, own in flat(recording.modules):
        said.setdefault((root, path), collections.Counter()).update(own)
    for (place, column), size in found.items():
        true.setdefault(split(place), collections.Counter())[column] += size
    roots = models_of(said, true)
    return said, {(roots.get(root, root), path): own for (root, path), own in true.items()}


def whole(table, root, path):
    sums = collections.Counter()
    for (other, inner), own in table.items():
        if other == root and is_inside(inner, path):
            sums.update(own)
    return sums


def compare(found, recording):
    """(modules compared, [(per cent, module, oracle, memana)], [(module, column, oracle, memana)] of what must be exact, sisters)"""
    said, true = tables(found, recording)
    worst, wrong, number = [], [], 0
    every = {key for key in said.keys() | true.keys()}
    every |= {(root, path.rpartition(".")[0]) for root, path in every}
    sums = {key: (whole(true, *key), whole(said, *key)) for key in every}
    columns = recording.columns()
    for key in sorted(every):
        for kind, (one, two) in (("own", (true.get(key, {}), said.get(key, {}))), ("all", sums[key])):
            one, two = (sum(side.get(column, 0) for column in columns) for side in (one, two))
            if key[0] in NOWHERE or max(one, two) < LEAST * recording.peak:
                continue
            number += kind == "all"
            worst.append((100.0 * abs(two - one) / max(one, 1) if one else 100.0, " ".join(key), kind, one, two))
        if recording.has_census and key[0] not in NOWHERE:  # bytes that a module lacks are wrong in its own row
            for column in EXACT:
                one, two = (side.get(key, {}).get(column, 0) for side in (true, said))
                if one != two:
                    wrong.append((" ".join(key), column, one, two))
    return number, sorted(worst, reverse=True), wrong, unlike(sums, columns), totals(said, true)


def unlike(sums, columns):
    """(groups of equal sisters with bytes, [those that memana has unequal])"""
    groups = collections.defaultdict(list)
    for (root, path), (one, two) in sums.items():
        if re.search(r"\d", path):
            key = root, re.sub(r"\d+", "*", path), tuple(one.get(column, 0) for column in columns)
            groups[key].append(tuple(two.get(column, 0) for column in columns))
    groups = {key: values for key, values in groups.items() if len(values) > 1 and any(key[2])}
    return len(groups), [(key, sorted(set(values))) for key, values in groups.items() if len(set(values)) > 1]


def totals(said, true):
    """Per cent of activations in no module and not in backward: memana's, the oracle's."""
    return [100.0 * table.get(("outside any module", ""), {}).get("activations", 0) / max(1, sum(own["activations"] for own in table.values()))
            for table in (said, true)]


def tracker_off(tracked, log):
    if tracked is None:
        return "-"
    if not tracked["sums"] or "tracker" not in tracked["sums"][-1]:
        return "failed"
    kinds = {"weights": ("Parameter", "Buffer"), "gradients": ("Gradient",), "optimizer state": ("Optstate",)}
    last, mine = tracked["sums"][-1]["tracker"], dict(log["last"])
    mine["weights"] = mine.get("weights", 0) + mine.get("buffers", 0)
    return ", ".join("%+.2f" % (100.0 * (sum(last.get(kind, 0) for kind in kinds[what]) - mine.get(what, 0)) / max(1, mine.get(what, 0))) for what in EXACT)


def count(verdict, words):
    counts[verdict] += 1
    print(words, flush=True)


def judge(case, plain, watched, log, tracked, size):
    found, unseen = at_moment(log, watched)
    number, worst, wrong, (groups, unequal), (outside, true_outside) = compare(found, plain)
    (made, at_peak), (also_made, also_at_peak) = plain.sizes(), watched.sizes()
    differ = sum(((made - also_made) + (also_made - made)).values())
    faults = ["the oracle changed the peak"] * (at_peak != also_at_peak or abs(plain.peak - watched.peak) > 4 * NUMBER)
    faults += ["bytes"] * bool(worst and worst[0][0] > OFF) + ["exact"] * bool(wrong) + ["sisters"] * bool(unequal) + ["outside"] * (outside > OUTSIDE)
    faults += ["no module"] * (not worst)
    count("not ok" if faults else "ok", "| %s | %s | %d | %.2f | %s | %.2f (%.2f) | %d of %d | %.1f | %d of %d | %s | %s | %s |" % (
        case, "%.1f MiB, %s" % (plain.peak / (1 << 20), plain.where["phase"]), number, worst[0][0] if worst else 0.0,
        "not told" if not plain.has_census else "no" if wrong else "yes", outside, true_outside, groups - len(unequal), groups,
        100.0 * unseen / plain.peak, differ, sum(made.values()), tracker_off(tracked, log), size, "differs: " + ", ".join(faults) if faults else "agrees"))
    for off, name, kind, one, two in [row for row in worst if row[0] > OFF][:8]:
        print("#   %s, %s: oracle %d, memana %d: %.2f %%" % (name, kind, one, two, off))
    for name, column, one, two in wrong[:8]:
        print("#   %s, %s: oracle %d, memana %d" % (name, column, one, two))
    for (root, pattern, true), values in unequal[:4]:
        print("#   sisters %s: oracle %s, memana %s" % (pattern, true, values[:4]))
    said, true = tables(found, plain)
    for name in sorted(NOWHERE):
        one, two = (sum(side.get((name, ""), {}).get(column, 0) for column in plain.columns()) for side in (true, said))
        if abs(one - two) > LEAST * plain.peak:
            print("#   %s: oracle %s, memana %s" % (name, dict(true.get((name, ""), {})), dict(said.get((name, ""), {}))))
    sys.stdout.flush()


def recordings(folder):
    """{rank: Recording}"""
    found = [Recording(os.path.join(folder, name)) for name in sorted(os.listdir(folder)) if name.endswith(".zst")]
    return {it.rank: it for it in found}


def record(file, case, ranks, folder, *options, **more):
    """False after lines that say why."""
    words = [BUILD + "/memrec", "--cpu", *OPTIONS, *options, "-o", "trace.zst", "--"] + program(file, case, ranks, folder)
    status, output = run(words, folder, **more)
    if status:
        print("#   exit status %d%s" % (status, ": longer than %d s (TEST_TIMEOUT)" % PATIENCE if status == -signal.SIGKILL else ""))
        print("\n".join("#   " + line[:200] for line in output.splitlines()[-12:]))
    return not status


def try_case(file, case, ranks, folder):
    """Runs it in folder/plain and folder/oracle."""
    for part in ("plain", "oracle", "tracker"):
        os.mkdir(os.path.join(folder, part))
    log = os.path.join(folder, "oracle", "log.%r.json")
    return record(file, case, ranks, os.path.join(folder, "plain")) and record(
        file, case, ranks, os.path.join(folder, "oracle"), ORACLE=log, ORACLE_FOR=case)


def size_beside(file, case, ranks, trace):
    """"KiB, per cent": the trace of the first recording, and how much larger than one of a third, with --no-modules."""
    folder = os.path.join(os.path.dirname(os.path.dirname(trace)), "bare")
    if not SIZES and not os.path.exists(os.path.join(folder, os.path.basename(trace))):
        return "-"
    if not os.path.isdir(folder):
        os.mkdir(folder)
        if not record(file, case, ranks, folder, "--no-modules"):
            return "-"
    size, bare = os.path.getsize(trace), os.path.getsize(os.path.join(folder, os.path.basename(trace)))
    return "%.1f, %+.1f" % (size / 1024, 100.0 * (size - bare) / bare)


def judge_all(file, case, ranks, tracker, folder):
    plain, watched = (recordings(os.path.join(folder, part)) for part in ("plain", "oracle"))
    if ranks == "-":
        replay(case, next(iter(plain.values())).trace)
    tracked = None
    if tracker and not OLD:
        track(file, case, os.path.join(folder, "tracker"))
        tracked = read(os.path.join(folder, "tracker", "account.json")) or {"sums": []}
    logs = [read(os.path.join(folder, "oracle", name)) for name in sorted(os.listdir(os.path.join(folder, "oracle"))) if name.startswith("log.")]
    for log in logs:
        rank = next(rank for rank, it in watched.items() if it.pid == log["pid"])
        if log.get("moment"):  # both figures are of the run with the oracle, which does nothing else there
            watched[rank] = plain[rank] = Recording(watched[rank].trace, log["moment"])
        judge(case + ("" if ranks == "-" else ", rank %s" % rank), plain[rank], watched[rank], log, tracked,
              size_beside(file, case, ranks, plain[rank].trace))
    if len(logs) != (1 if ranks == "-" else int(ranks)):
        count("not ok", "| %s | the oracle wrote %d logs |" % (case, len(logs)))


def replay(case, trace):
    """On the timeline two keys tell the layer that holds most, and the unlike one."""
    if not shutil.which("tmux"):
        return count("skip", "# %s: the timeline: there is no tmux" % case)
    told = subprocess.run([sys.executable, os.path.join(HERE, "timeline.py"), BUILD + "/memana", trace], capture_output=True, text=True)
    return count("not ok" if told.returncode else "ok", "# %s: two keys on the timeline: %s" % (case, (told.stdout + told.stderr).strip()))


def read(path):
    if not os.path.exists(path):
        return None
    with open(path) as opened:
        return json.load(opened)


def track(file, case, folder):
    """The account of tests/frameworks with MemTracker, once; """
    path = next(path for path in (os.path.join(where, file) for where in (HERE, FRAMEWORKS)) if os.path.exists(path))
    if not os.listdir(folder):
        run([PYTHON, path, case, folder], folder, PYTHONPATH=FRAMEWORKS, ACCOUNT=os.path.join(folder, "account.json"), ACCOUNT_TRACKER="1")


def main():
    print("| case | peak | modules | worst, % | exact | outside, % | sisters equal | unseen, % | blocks | MemTracker, % | trace, KiB, % | verdict |\n|---|---|---|---|---|---|---|---|---|---|---|---|")
    for file, case, _, ranks, tracker, _ in cases(sys.argv[2:]):
        folder = os.path.join(KEEP, case) if KEEP else tempfile.mkdtemp(prefix="memrec-modules.")
        if KEEP and os.path.isdir(folder):
            judge_all(file, case, ranks, tracker, folder)
            continue
        os.makedirs(folder, exist_ok=True)
        if try_case(file, case, ranks, folder):
            judge_all(file, case, ranks, tracker, folder)
        else:
            count("not ok", "| %s | did not run |" % case)
        if not KEEP:
            shutil.rmtree(folder, ignore_errors=True)
    print("%d passed, %d failed, %d skipped" % (counts["ok"], counts["not ok"], counts["skip"]))
    sys.exit(bool(counts["not ok"]))


main()
