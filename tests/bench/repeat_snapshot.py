"""repeat_snapshot.py SNAPSHOT EVENTS FILE - makes a long memory snapshot of a short one of PyTorch's, for top.sh.

Goes through the history until it has the wanted number of entries, each time later. Allocations that stay alive are
freed in between; frees without an allocation in it are in the first time only. Stacks are shared, as PyTorch does.
Prints how many entries.
"""
import pickle
import sys

BIRTHS = {"alloc": "alloc", "segment_alloc": "segment", "segment_map": "map"}
DEATHS = {"free_requested": "alloc", "free_completed": "alloc", "segment_free": "segment", "segment_unmap": "map"}
ENDS = {"alloc": ("free_requested", "free_completed"), "segment": ("segment_free",), "map": ("segment_unmap",)}


def once_more(trace):
    """The entries that can be repeated: (again, closing): those of the history, and those that free what it leaves."""
    alive, again = {}, []
    for entry in trace:
        action = entry["action"]
        what = (BIRTHS.get(action) or DEATHS.get(action), entry.get("addr"))
        if action in DEATHS and what not in alive:
            continue
        again.append(entry)
        if action in BIRTHS:
            alive[what] = entry
        elif action in DEATHS and action != "free_requested":
            del alive[what]
    order = sorted(alive.items(), key=lambda item: item[0][0])  # tensors before their segments
    closing = [dict(entry, action=action, time_us=trace[-1].get("time_us", 0))
               for (kind, _), entry in order for action in ENDS[kind]]
    return again, closing


def later(entries, shift):
    return [dict(entry, time_us=entry["time_us"] + shift) if "time_us" in entry else dict(entry) for entry in entries]


def main(source, events, target):
    with open(source, "rb") as file:
        snapshot = pickle.load(file)
    number = max(range(len(snapshot["device_traces"])), key=lambda i: len(snapshot["device_traces"][i]))
    trace = snapshot["device_traces"][number]
    ranges = list(snapshot.get("external_annotations", []))
    times = [entry["time_us"] for entry in trace + ranges if "time_us" in entry]
    span = max(times) - min(times) + 1 if times else 0
    again, closing = once_more(trace)
    result = list(trace)
    rounds = max(0, (events - len(trace)) // (len(again) + len(closing)))
    for i in range(1, rounds + 1):
        result += later(closing, (i - 1) * span) + later(again, i * span)
        snapshot.get("external_annotations", []).extend(later(ranges, i * span))
    snapshot["device_traces"][number] = result
    with open(target, "wb") as file:
        pickle.dump(snapshot, file, protocol=4)
    print(sum(len(entries) for entries in snapshot["device_traces"]))


main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
