#!/usr/bin/env python3
"""score.py BUILD [NAME...] [--dir DIR] [-v] - asks memana oom what happened in each case, and compares with its expect: lines.

Prints a line for each case and sums: cases, the first cause right, one of the first three, the first action right, harmful actions; the
same by project with -v. A cause is right if the detector, the place and the bytes (within 10 %) are as some expect: line says. Fields
that a line does not have are not asked.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

UNITS = {"B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def bytes_of(text):
    """4*4096+9.5GiB as make_case counts: sums of products."""
    total = 0
    for term in text.split("+"):
        product = 1
        for factor in term.split("*"):
            number, unit = re.fullmatch(r"([0-9.]+)([A-Za-z]*)", factor).groups()
            product *= float(number) * (UNITS[unit] if unit else 1)
        total += product
    return total


def read_case(path):
    """The expect: and never: lines, and the pid of each process by its name."""
    case = {"expect": [], "never": set(), "pids": {}}
    loops = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            word = line.split("#")[0].split()
            if not word:
                continue
            if word[0] == "expect:":
                row = {"cause": word[1].split("|")}
                for field in word[2:]:
                    key, value = field.split("=", 1)
                    row[key] = bytes_of(value) if key == "bytes" else value.split("|")
                case["expect"].append(row)
            elif word[0] == "never:":
                case["never"].update(word[1].split("|"))
            elif word[0] == "for":
                loops.append((word[1],) + tuple(int(end) for end in word[2].split("..")))
            elif word[0] == "done":
                loops.pop()
            elif word[0] == "process" and len(word) > 3:  # a frame may be a function of that name
                rows = [word]
                for name, first, last in loops:
                    rows = [[part.replace("{%s}" % name, str(number)) for part in row] for row in rows for number in range(first, last + 1)]
                case["pids"].update((row[1], int(row[2])) for row in rows)
    return case


def functions_of(cause):
    names = [frame.get("function") or "" for frame in cause["stack"]]
    names += [os.path.basename(frame.get("module") or "") for frame in cause["stack"]]
    names += [os.path.basename(frame.get("file") or "") for frame in cause["stack"]]
    if cause["place"]:
        names.append(cause["place"]["function"])
    return {part for name in names for part in (name, name.split(".")[-1])}


def is_near(bytes_, wanted):
    return abs(bytes_ - wanted) <= 0.1 * wanted


def misses(cause, row, pids):
    """The fields of the expect line that the cause does not have."""
    out = []
    if cause["id"] not in row["cause"]:
        out.append("cause")
    if "place" in row and not functions_of(cause) & {part for name in row["place"] for part in (name, name.split(".")[-1])}:
        out.append("place")
    if "process" in row and cause["pid"] not in [pids[name] for name in row["process"] if name in pids]:
        out.append("process")
    if "bytes" in row and not (is_near(cause["bytes"], row["bytes"]) or
                               is_near(cause["bytes"] - (cause["expected_bytes"] or 0), row["bytes"])):
        out.append("bytes")
    return out


def judge(case, causes):
    hits = [any(not misses(cause, row, case["pids"]) for row in case["expect"]) for cause in causes]
    actions = {action for row in case["expect"] for action in row.get("action", [])}
    shown = [cause["action_id"] for cause in causes[:3]]
    return {
        "first": bool(hits[:1] and hits[0]),
        "three": any(hits[:3]),
        "ten": any(hits),
        "action": bool(shown and (not actions or shown[0] in actions)),
        "harm": bool(shown and shown[0] in case["never"]),
    }


def ask(build, path):
    with tempfile.TemporaryDirectory() as folder:
        made = subprocess.run([build + "/cases/make_case", path, folder], capture_output=True, text=True)
        if made.returncode:
            return {"error": made.stderr.strip()[-200:]}
        traces = sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".zst"))
        asked = subprocess.run([build + "/memana", "oom", "-n", "10", "--json"] + traces, capture_output=True, text=True)
        if asked.returncode:
            return {"error": asked.stderr.strip()[-200:] or "exit %d" % asked.returncode}
        return json.loads(asked.stdout)


def gib(number):
    return "%.2f" % (number / 2**30)


def explain(case, answer):
    for row in case["expect"]:
        print("     want", {key: gib(value) if key == "bytes" else "|".join(value) for key, value in row.items()})
    for number, cause in enumerate(answer["causes"][:6], 1):
        nearest = min((misses(cause, row, case["pids"]) for row in case["expect"]), key=len, default=[])
        print("     %d. %-16s %7s of %-7s fits=%d %-5s %-9s %-22s %s %s pid=%s  [%s]%s" % (
            number, cause["id"], gib(cause["bytes"] - (cause["expected_bytes"] or 0)), gib(cause["bytes"]), cause["fits"], cause["need"],
            cause["known"], cause["category"], cause["place"] and cause["place"]["function"], cause["phase"], cause["pid"],
            cause["action_id"], "  <-" if not nearest else "  no " + ",".join(nearest)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build")
    parser.add_argument("name", nargs="*")
    parser.add_argument("--dir", default=os.path.dirname(os.path.abspath(__file__)))
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--missed", action="store_true", help="explain the cases of which none of the first three is right")
    options = parser.parse_args()
    names = options.name or sorted(name[:-5] for name in os.listdir(options.dir) if name.endswith(".case"))
    paths = [os.path.join(options.dir, name + ".case") for name in names]
    cases = [read_case(path) for path in paths]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda path: ask(options.build, path), paths))
    sums, projects, broken = collections.Counter(), collections.defaultdict(collections.Counter), 0
    for name, case, answer in zip(names, cases, answers):
        if "error" in answer or not case["expect"]:
            broken += "error" in answer
            print("%-26s %s" % (name, answer.get("error", "no expect: line")))
            continue
        verdict = judge(case, answer["causes"])
        for counter in (sums, projects[re.sub(r"-[0-9].*", "", name)]):
            counter["cases"] += 1
            counter.update(key for key, value in verdict.items() if value)
        print("%-26s %s" % (name, " ".join(key for key, value in verdict.items() if value)))
        if options.verbose or options.missed and not verdict["three"]:
            explain(case, answer)
    rows = sorted(projects.items()) if options.verbose else []
    print("%-16s %6s %6s %6s %6s %6s %6s" % ("", "cases", "first", "three", "ten", "action", "harm"))
    for project, row in rows + [("all", sums)]:
        print("%-16s %6d %6d %6d %6d %6d %6d" % ((project,) + tuple(row[key] for key in ("cases", "first", "three", "ten", "action", "harm"))))
    if sums["cases"]:
        print("percent          %6s %6.1f %6.1f %6.1f %6.1f %6.1f" % (("",) + tuple(
            100.0 * sums[key] / sums["cases"] for key in ("first", "three", "ten", "action", "harm"))))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
