"""allocator_model.py COMMAND ...: what the model of PyTorch's allocator says against those who know better.

    account ACCOUNT FRAG [limit]  what the double says of itself (tests/allocator): reserved and allocated bytes at
                                  their peak; with `limit`, which request failed, and of how many bytes
    snapshot PICKLE FRAG          PyTorch's own account of each device: its segments at the end, and each that came and went
FRAG: the JSON of memana frag --replay.
"""
import json
import pickle
import sys


def replays(path, device=0):
    return json.load(open(path))["devices"][device]["replays"][0]


def show(*facts):
    print(*facts)
    return facts


class Plain(pickle.Unpickler):
    def find_class(self, module, name):
        raise ValueError("code in a snapshot: %s.%s" % (module, name))


MOMENTS = ("alloc", "free_completed")


def peak_of(snapshot, device):
    """The most bytes in segments after any event of a block, going back from what is there at the end."""
    reserved = sum(segment["total_size"] for segment in snapshot["segments"] if segment["device"] == device)
    most = reserved
    for entry in reversed(snapshot["device_traces"][device]):
        if entry["action"] in MOMENTS:
            most = max(most, reserved)
        elif entry["action"] in ("segment_alloc", "segment_map"):
            reserved -= entry["size"]
        elif entry["action"] in ("segment_free", "segment_unmap"):
            reserved += entry["size"]
    return most


def snapshot(path, frag):
    made = Plain(open(path, "rb")).load()
    used = [device for device, trace in enumerate(made["device_traces"]) if trace]
    for place, device in enumerate(used):
        got, want = replays(frag, place), peak_of(made, device)
        moments = sum(entry["action"] in MOMENTS for entry in made["device_traces"][device])
        show(got, want, moments)
        assert got["reserved_peak_bytes"] == want
        assert got["model"]["error"] == got["model"]["worst_error"] == 0 and got["model"]["reserved_peak_bytes"] == want
        assert got["model"]["moments"] == moments > 0


def account(path, frag, limit=""):
    rows = [line.split() for line in open(path)]
    got = replays(frag)["settings"][0]
    if not limit:
        tensors = [(int(r[6]), int(r[5])) for r in rows if r[0] in ("alloc", "free_completed")]
        want = [max(column) for column in zip(*tensors)]
        show(got, want)
        assert got["reserved_peak_bytes"] == want[0] and got["fails"] is None
        assert 0 <= got["allocated_peak_bytes"] - want[1] <= 1 << 20  # likewise, below
        return
    failed = next(i for i, r in enumerate(rows) if r[0] == "oom")
    request = sum(r[0] == "alloc" for r in rows[:failed]) + 1
    show(got, request, rows[failed])
    assert got["fails"]["request"] == request
    assert 0 <= got["fails"]["bytes"] - int(rows[failed][4]) <= 1 << 20  # with the rest that was not split off


if __name__ == "__main__":
    {"account": account, "snapshot": snapshot}[sys.argv[1]](*sys.argv[2:])
