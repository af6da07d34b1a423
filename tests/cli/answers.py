"""answers.py FILE: memana's JSON without what differs from run to run: times, numbers of processes, paths, the host."""
import json
import os
import re
import sys

VARIES = {"pid", "pids", "peak_pid", "file", "command", "events", "host", "sources", "traces", "uuid"}
SAMPLED = {"used_bytes", "recorded_bytes", "process_bytes", "context_bytes", "code_bytes", "graph_bytes", "pool_bytes",
           "earlier_bytes", "unexplained_bytes", "other_processes_bytes", "mixed"}


def place(frame):
    return f"{frame['function']} {os.path.basename(frame['file'] or '')}:{frame['line']}"


def timeless(verdict):
    return re.sub(r" at [0-9.]+ (us|ms|s|min|h)\b", " at TIME", verdict)


def steady(value):
    if isinstance(value, list):
        return [steady(one) for one in value]
    if not isinstance(value, dict):
        return value
    kept = {}
    for key, one in value.items():
        if key == "stack":
            kept[key] = [place(frame) for frame in one if "standin" not in (frame["file"] or "")][:4]
        elif key == "verdict" and one:
            kept[key] = timeless(one)
        elif key not in VARIES | SAMPLED and not key.endswith("_ns"):
            kept[key] = steady(one)
    return kept


print(json.dumps(steady(json.load(open(sys.argv[1]))), indent=1))
