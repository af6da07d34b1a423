"""export_check.py FORMAT FILE TOP: an export against the answer of `memana top --json` for the same moment.

The bytes of each device add up to its peak. Python's own readers alone; the formats' official readers are in tests/export.
"""
import csv
import json
import re
import sys
from collections import defaultdict

FORMAT, FILE, TOP = sys.argv[1:]


def peaks():
    with open(TOP, encoding="utf-8") as file:
        devices = json.load(file)["devices"]
    named = {("CPU" if d["kind"] == "cpu" else f"GPU {d['id']}"): d["peak"]["bytes"] for d in devices}
    return {name: bytes_ for name, bytes_ in named.items() if bytes_}


def folded():
    held = defaultdict(int)
    devices = list(peaks())
    with open(FILE, encoding="utf-8", newline="\n") as file:
        for line in file:
            stack, size = line.rstrip("\n").rsplit(" ", 1)
            frames = stack.split(";")
            assert all(frames) and not re.search(r"[\x00-\x1f]", stack), line
            if len(devices) > 1:
                assert frames[0] in devices, line
            held[frames[0] if len(devices) > 1 else devices[0]] += int(size)
    return dict(held)


def speedscope():
    with open(FILE, encoding="utf-8") as file:
        document = json.load(file)
    assert set(document) == {"$schema", "exporter", "activeProfileIndex", "name", "profiles", "shared"}, set(document)
    frames = document["shared"]["frames"]
    for frame in frames:
        assert isinstance(frame["name"], str) and frame["name"] and set(frame) <= {"name", "file", "line"}, frame
        assert isinstance(frame.get("line", 1), int)
    assert len({json.dumps(frame, sort_keys=True) for frame in frames}) == len(frames)
    held = {}
    for profile in document["profiles"]:
        assert set(profile) == {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}
        assert (profile["type"], profile["unit"], profile["startValue"]) == ("sampled", "bytes", 0)
        assert len(profile["samples"]) == len(profile["weights"])
        assert all(stack and all(0 <= at < len(frames) for at in stack) for stack in profile["samples"])
        assert sum(profile["weights"]) == profile["endValue"]
        held[profile["name"].split(",")[0]] = profile["endValue"]
    return held


def rows():
    with open(FILE, "rb") as file:
        assert not re.search(rb"(?<!\r)\n", re.sub(rb'"[^"]*"', b"", file.read())), "an end of a line without CR"
    with open(FILE, encoding="utf-8", newline="") as file:
        table = list(csv.reader(file, strict=True))
    assert all(len(row) == len(table[0]) for row in table), "rows of different lengths"
    return [dict(zip(table[0], row)) for row in table[1:]]


def table():
    held = defaultdict(int)
    for row in rows():
        held["CPU" if row["device_kind"] == "cpu" else f"GPU {row['device']}"] += int(row["bytes"])
    return dict(held)


def openmetrics():
    held, parts = {}, defaultdict(lambda: defaultdict(int))
    sample = re.compile(r'^([a-z_]+)(?:\{((?:[a-z]+="(?:[^"\\\n]|\\.)*",?)*)\})? (\d+)$')
    with open(FILE, encoding="utf-8") as file:
        lines = file.read().split("\n")
    assert lines[-2:] == ["# EOF", ""]
    for line in lines[:-2]:
        if line.startswith("# "):
            continue
        name, labels, value = sample.match(line).groups()
        device = dict(re.findall(r'([a-z]+)="((?:[^"\\]|\\.)*)"', labels or "")).get("device")
        device = "CPU" if device == "cpu" else f"GPU {device}"
        if name == "memana_peak_bytes" and int(value):
            held[device] = int(value)
        elif name.startswith("memana_peak_by_"):
            parts[name][device] += int(value)
    for name, by_device in parts.items():
        assert dict(by_device) == held, (name, dict(by_device), held)
    return held


def main():
    found = {"folded": folded, "speedscope": speedscope, "csv": table, "openmetrics": openmetrics}[FORMAT]()
    assert found == peaks(), f"{found} is not {peaks()}"


main()
