"""whole_gpu.py EVENTS STATS TOP: driver totals of a trace against what the GPU says it has in use.

EVENTS: output of trace_events. STATS: what the program read from the driver itself (workload.py). TOP: memana top --json.
For every sample of the GPU in the trace, the remainder is what is in use and not in the ledger: context, code and what
else no call names a size for. It must never be negative, and once the program runs it must stay as it is; what the
program read must be the ledger and that remainder. Only for a GPU that nobody else uses.
"""
import json
import sys

import history

MIB = 1 << 20
STEADY = 64 * MIB  # code is loaded late, piece by piece
QUIET = 20_000_000  # ns around a sample in which the ledger stood still


def settled(events):
    """(in use, held) of each sample around which nothing moved."""
    changes = [e.time for e in events if e.kind in history.DRIVER]
    for i, sample in enumerate(events):
        if sample.kind == "gpu-sample" and all(abs(sample.time - time) > QUIET for time in changes):
            yield sample.size, sample.held


def main(events, stats, top):
    with open(events) as file:
        events = list(history.read_events(file))
    with open(stats) as file:
        stats = json.load(file)
    with open(top) as file:
        device = json.load(file)["devices"][0]
    samples = list(settled(events))
    if not samples:
        print("no sample of the GPU is in the trace at a quiet moment")
        return 1
    remainders = [used - held for used, held in samples]
    print("%d samples, in use beside the ledger: %.1f to %.1f MiB, at the end %.1f MiB; memana says unexplained: %s" % (
        len(samples), min(remainders) / MIB, max(remainders) / MIB, remainders[-1] / MIB, device["unexplained_bytes"]))
    last = samples[-1]
    print("the program read %.1f MiB in use, the newest sample says %.1f" % (stats["device_used"] / MIB, last[0] / MIB))
    late = remainders[len(remainders) // 2:]
    return int(min(remainders) < 0 or max(late) - min(late) > STEADY or abs(stats["device_used"] - last[0]) > STEADY)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
