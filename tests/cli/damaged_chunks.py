"""damaged_chunks.py MEMANA TRACE NUMBER... - each of these chunks of the trace is cut out, changed and cut off in turn. All
reports say the same of the file: how many events are lost, whether the file is whole, and what is wrong."""
import json
import struct
import subprocess
import sys

MEMANA, TRACE, *NUMBERS = sys.argv[1:]
REPORTS = ["verify", "info", "top", "steps", "phases", "oom", "retained", "frag", "advise", "check --growth 1%"]
SAID = ["lost", "let_go", "complete", "torn", "damage"]
EVENTS = 3


def index_of(data):
    """(kind, events, offset, size) of each chunk: trace-v1.md, "Index"."""
    count, entry = struct.unpack_from("<II", data, len(data) - 24)
    first = len(data) - 24 - count * entry
    return [struct.unpack_from("<II8xQQ", data, first + i * entry) for i in range(count)]


def ask(report, path):
    run = subprocess.run([MEMANA, *report.split(), "--json", path], capture_output=True, timeout=60)
    document = json.loads(run.stdout)
    return run.returncode, {key: document["traces"][0][key] for key in SAID}, document["traces"][0].get("events")


def judge(name, data, least, lost):
    with open("damaged.zst", "wb") as file:
        file.write(data)
    answers = {report: ask(report, "damaged.zst") for report in REPORTS}
    status, said, _ = answers["verify"]
    others = {report for report in REPORTS if answers[report][1] != said}
    assert not others, (name, said, {report: answers[report] for report in others})
    assert not said["complete"], (name, said)
    assert said["lost"] >= least and (lost is None or said["lost"] == lost), (name, said, least, lost)
    assert said["torn"] or said["damage"] and status == 3, (name, status, said)


def main():
    data = open(TRACE, "rb").read()
    chunks = index_of(data)
    for i in map(int, NUMBERS):
        kind, _, offset, size = chunks[i]
        later = 0  # events up to the next checkpoint
        for other, count, *_ in chunks[i:]:
            if other == EVENTS + 1:
                break
            later += count if other == EVENTS else 0
        before = ask("verify", TRACE)[1]["lost"]
        lost = before + later if kind == EVENTS else None
        judge(f"chunk {i} cut out", data[:offset] + data[offset + size:], before, lost)
        changed = bytearray(data)
        changed[offset + size - 1] ^= 1
        judge(f"chunk {i} changed", bytes(changed), before, lost)
        judge(f"cut off in chunk {i}", data[:offset + size // 2], 0, None)


main()
