"""model_table.py MEMANA FOLDER - memory snapshots of PyTorch (*.pickle) with a history, replayed in the model of its
allocator: the table of docs/allocator-model.md. "segments": PyTorch's own account, from the segments at the snapshot's end
and each that came and went; "worst": the most that model and recording differ after any event, of the peak.
"""
import json
import os
import pickle
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from allocator_model import Plain, peak_of

CONF = "expandable_segments:True"


def mib(size):
    return "{:,.1f}".format(size / 2**20)


def rows(memana, path):
    """One for each device of the snapshot with a history of blocks."""
    snapshot = Plain(open(path, "rb")).load()
    answer = subprocess.run([memana, "frag", "--json", "--replay", CONF, path], check=True, capture_output=True).stdout
    devices = {device["id"]: device for device in json.loads(answer)["devices"]}
    for number, trace in enumerate(snapshot["device_traces"]):
        actions = [entry["action"] for entry in trace]
        if "alloc" not in actions:
            continue
        moved = sum(action.startswith("segment_") for action in actions)
        replay = devices[number]["replays"][0]
        model = replay["model"]
        yield (os.path.basename(path).replace(".pickle", "") + (f", device {number}" if number else ""),
               "{:,}".format(model["moments"]), moved, mib(peak_of(snapshot, number)), mib(replay["reserved_peak_bytes"]),
               mib(model["reserved_peak_bytes"]), "%.3f %%" % (100 * model["error"]),
               "%.3f %%" % (100 * model["worst_error"]), mib(replay["settings"][0]["reserved_peak_bytes"]))


def main(memana, folder):
    paths = sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".pickle")) \
        if os.path.isdir(folder) else []
    if not paths:
        print("skip the table: no memory snapshots (*.pickle) in %s; SNAPSHOTS=FOLDER names another" % folder)
        return
    print("| snapshot | moments | segment events | segments, MiB | recorded peak | the model | off by | worst | "
          "the model, %s |" % CONF)
    print("|---|---|---|---|---|---|---|---|---|")
    for path in paths:
        for cells in rows(memana, path):
            print("| %s |" % " | ".join(map(str, cells)))


if __name__ == "__main__":
    main(*sys.argv[1:])
