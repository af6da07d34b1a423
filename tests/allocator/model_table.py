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


def row(memana, path):
    snapshot = Plain(open(path, "rb")).load()
    if not any(entry["action"] == "alloc" for trace in snapshot["device_traces"] for entry in trace):
        return None
    actions = [entry["action"] for trace in snapshot["device_traces"] for entry in trace]
    moved = sum(action.startswith("segment_") for action in actions)
    answer = subprocess.run([memana, "frag", "--json", "--replay", CONF, path], check=True, capture_output=True).stdout
    replay = json.loads(answer)["devices"][0]["replays"][0]
    model = replay["model"]
    return (os.path.basename(path).replace(".pickle", ""), "{:,}".format(model["moments"]), moved, mib(peak_of(snapshot)),
            mib(replay["reserved_peak_bytes"]), mib(model["reserved_peak_bytes"]), "%.3f %%" % (100 * model["error"]),
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
    for cells in filter(None, (row(memana, path) for path in paths)):
        print("| %s |" % " | ".join(map(str, cells)))


if __name__ == "__main__":
    main(*sys.argv[1:])
