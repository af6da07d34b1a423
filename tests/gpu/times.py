"""times.py launches|steps REPEATS NAME=COMMAND...: runs the commands in turns and compares their medians.

launches: a command prints "submit N" and "wait N", ns.      steps: a command prints JSON with "median", s.
In turns, because a GPU gets warm: each round runs every command once. Prints the rows of a table: the median over the
rounds, the lowest and the highest, and the difference to the first command.
"""
import json
import shlex
import statistics
import subprocess
import sys


def read_launches(text):
    words = dict(line.split() for line in text.splitlines() if line.startswith(("submit ", "wait ")))
    return {"launch, not waited for": float(words["submit"]) / 1e3, "launch and wait": float(words["wait"]) / 1e3}


def read_steps(text):
    return {"step": json.loads(text.splitlines()[-1])["median"] * 1e3}


KINDS = {"launches": (read_launches, "us"), "steps": (read_steps, "ms")}


def measure(command, read):
    ran = subprocess.run(shlex.split(command), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if ran.returncode:
        sys.exit("times.py: %s: exit status %d\n%s" % (command, ran.returncode, ran.stderr[-2000:]))
    return read(ran.stdout)


def rows(names, results, unit):
    """results: per name, a list of {what: value}."""
    for what in results[names[0]][0]:
        base = statistics.median(result[what] for result in results[names[0]])
        for name in names:
            values = [result[what] for result in results[name]]
            middle = statistics.median(values)
            yield "| %s | %s | %.3f %s | %.3f to %.3f | %+.1f%% |" % (
                what, name, middle, unit, min(values), max(values), 100 * (middle / base - 1))


def main(kind, repeats, *commands):
    read, unit = KINDS[kind]
    pairs = [command.split("=", 1) for command in commands]
    results = {name: [] for name, _ in pairs}
    for _ in range(int(repeats)):
        for name, command in pairs:
            results[name].append(measure(command, read))
    print("| what | with | median | lowest to highest | against the first |\n|---|---|---|---|---|")
    print("\n".join(rows([name for name, _ in pairs], results, unit)))


main(*sys.argv[1:])
