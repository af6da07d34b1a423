"""times.py launches|steps REPEATS SECONDS NAME=COMMAND...: runs the commands in turns and compares their medians.

launches: a command prints "submit N" and "wait N", ns.      steps: a command prints JSON with "median", s.
In turns, because a GPU gets warm: each round runs every command once. A round that would end after SECONDS is not begun.
Prints the rows of a table: the median over the rounds, the lowest and the highest, and the difference to the first
command; below it the number of rounds.
"""
import json
import shlex
import statistics
import subprocess
import sys
import time


def read_launches(text):
    words = dict(line.split() for line in text.splitlines() if line.startswith(("submit ", "wait ")))
    return {"launch, not waited for": float(words["submit"]) / 1e3, "launch and wait": float(words["wait"]) / 1e3}


def read_steps(text):
    return {"step": json.loads(text.splitlines()[-1])["median"] * 1e3}


KINDS = {"launches": (read_launches, "us"), "steps": (read_steps, "ms")}


def measure(command, read, end):
    """The figures of one run; it is ended where the time is."""
    try:
        ran = subprocess.run(shlex.split(command), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             timeout=max(1, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        sys.exit("times.py: %s: not done when the time was over" % command)
    if ran.returncode:
        sys.exit("times.py: %s: exit status %d\n%s" % (command, ran.returncode, ran.stderr[-2000:]))
    return read(ran.stdout)


def run_rounds(pairs, repeats, read, end):
    """Per name, a list of {what: value}: as many as there are whole rounds."""
    results, longest = {name: [] for name, _ in pairs}, 0
    for _ in range(repeats):
        began = time.monotonic()
        if results[pairs[0][0]] and began + longest > end:
            break
        for name, command in pairs:
            results[name].append(measure(command, read, end))
        longest = max(longest, time.monotonic() - began)
    return results


def rows(names, results, unit):
    for what in results[names[0]][0]:
        base = statistics.median(result[what] for result in results[names[0]])
        for name in names:
            values = [result[what] for result in results[name]]
            middle = statistics.median(values)
            yield "| %s | %s | %.3f %s | %.3f to %.3f | %+.1f%% |" % (
                what, name, middle, unit, min(values), max(values), 100 * (middle / base - 1))


def main(kind, repeats, seconds, *commands):
    read, unit = KINDS[kind]
    pairs = [command.split("=", 1) for command in commands]
    results = run_rounds(pairs, int(repeats), read, time.monotonic() + float(seconds))
    print("| what | with | median | lowest to highest | against the first |\n|---|---|---|---|---|")
    print("\n".join(rows([name for name, _ in pairs], results, unit)))
    print("\n%d of %s rounds." % (len(results[pairs[0][0]]), repeats))


main(*sys.argv[1:])
