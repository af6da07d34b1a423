"""export_torch.py - holds a memory snapshot that memana wrote against what it was made of.

    python export_torch.py top SNAPSHOT TOP.json    the peak of each GPU, by category, is that of `memana top --json`
    python export_torch.py same SNAPSHOT WRITTEN    the events and the blocks of a snapshot, and of its export, are the same
    python export_torch.py history ACCOUNT WRITTEN  the entries are those of the allocator's double (tests/allocator)
    python export_torch.py newest WRITTEN WHOLE     of a long run the newest entries are there
"""
import collections
import json
import pathlib
import pickle
import pickletools
import sys

# Opcodes that PyTorch's viewer can read (torch/utils/viz/MemoryViz.js).
OPCODES = set("""PROTO MARK STOP NONE NEWTRUE NEWFALSE BININT BININT1 BININT2 LONG1 BINUNICODE SHORT_BINUNICODE EMPTY_DICT EMPTY_LIST APPENDS
                 SETITEMS TUPLE2 BINPUT LONG_BINPUT BINGET LONG_BINGET""".split())
MOVES = {"alloc", "free_completed", "segment_alloc", "segment_free", "segment_map", "segment_unmap", "snapshot", "oom"}


def load(path):
    with open(path, "rb") as file:
        return pickle.load(file)


def check_bytes(path):
    """The opcodes, and no batch that is larger than the viewer's stack."""
    with open(path, "rb") as file:
        text = file.read()
    protocol = text[1]
    assert protocol == 4, protocol
    if len(text) < 4 << 20:  # pickletools is slow
        found = {opcode.name for opcode, _, _ in pickletools.genops(text)}
        assert found <= OPCODES, found - OPCODES


def check_tiles(snapshot):
    """Blocks tile their segments, in order of address."""
    for segment in snapshot["segments"]:
        at = segment["address"]
        for block in segment["blocks"]:
            assert block["address"] == at and block["size"] > 0, (segment["address"], block["address"])
            at += block["size"]
        assert at == segment["address"] + segment["total_size"], segment["address"]
        used = sum(block["size"] for block in segment["blocks"] if block["state"] != "inactive")
        assert used == segment["allocated_size"], segment["address"]


def peak(trace):
    """The most that segments held, then the most in blocks; and by category."""
    segments, blocks, most = 0, {}, (0, 0, {})
    sums, total = collections.Counter(), 0
    for entry in trace:
        action, size, key = entry["action"], entry.get("size", 0), entry.get("addr")
        if action in ("segment_alloc", "segment_map"):
            segments += size
        elif action in ("segment_free", "segment_unmap"):
            segments -= size
        elif action == "alloc":
            blocks[key] = size, entry["category"]
            sums[entry["category"]] += size
            total += size
        elif action == "free_completed":
            size, category = blocks.pop(key)
            sums[category] -= size
            total -= size
        if (segments, total) > most[:2]:
            most = segments, total, dict(sums)
    return most


def top(path, top_path):
    snapshot = load(path)
    check_bytes(path)
    check_tiles(snapshot)
    with open(top_path, encoding="utf-8") as file:
        answer = json.load(file)
    devices = [device for device in answer["devices"] if device["kind"] != "cpu"] or answer["devices"]
    for device, trace in zip(devices, [trace for trace in snapshot["device_traces"] if trace]):
        held, _, categories = peak(trace)
        assert held == device["peak"]["bytes"], (held, device["peak"]["bytes"])
        want = {part["category"]: part["bytes"] for part in device["by_category"] if part["category"] != "allocator slack"}
        want["unknown"] = want.pop("other", 0)
        for category in want:
            assert categories.get(category, 0) == want[category], (category, categories, want)
        assert any(entry.get("category") == "unknown" for entry in trace), "the viewer needs an unknown one"
        assert all("phase" in entry["user_metadata"] for entry in trace if entry["action"] == "alloc")


def frames_of(entry):
    """Frames as memana import keeps them: names, files with slashes, lines; without the frames that took the stack."""
    frames = [(f["name"], "??" if f["filename"][:2] == "??" or not f["filename"] else f["filename"].replace("\\", "/"), f["line"])
              for f in entry.get("frames") or []]
    while frames and frames[0][0].startswith(("torch::unwind::", "torch::CapturedTraceback::", "torch::cuda::(anonymous namespace)::gather")):
        frames.pop(0)
    return frames


def events(snapshot):
    for trace in snapshot["device_traces"]:
        latest = 0
        for entry in trace:
            if entry["action"] not in MOVES or entry.get("category") == "unknown" and entry["action"] == "snapshot":
                continue
            latest = max(latest, entry.get("time_us") or 0)  # never back, as memana reads it
            if entry["action"] == "snapshot":
                continue
            yield (entry["action"], entry.get("addr", 0), entry.get("device_free", 0), entry["size"], latest, frames_of(entry))


def joined(found):
    """Memory that is mapped at once may come in parts: those that are unmapped one by one later."""
    all_events = []
    for event in found:
        before = all_events[-1] if all_events else None
        if before and event[0] == before[0] == "segment_map" and before[1] + before[3] == event[1] and before[4:] == event[4:]:
            event = (*before[:3], before[3] + event[3], *before[4:])
            all_events.pop()
        all_events.append(event)
    return all_events


def blocks_of(snapshot):
    for segment in snapshot["segments"]:
        at = segment["address"]
        for block in segment["blocks"]:
            if block["state"].startswith("active"):
                yield segment["device"], block.get("address", at), block["size"], block["requested_size"]
            at += block["size"]


def mapped(snapshot):
    """Bytes of segments by device."""
    sums = collections.Counter()
    for segment in snapshot["segments"]:
        sums[segment["device"]] += segment["total_size"]
    return sums


def same(path, written_path):
    one, other = load(path), load(written_path)
    check_bytes(written_path)
    check_tiles(other)
    left, right = joined(events(one)), joined(events(other))
    for number, (a, b) in enumerate(zip(left, right)):
        assert a == b, f"event {number}: {a} {b}"
    assert len(left) == len(right), (len(left), len(right))
    assert sorted(blocks_of(one)) == sorted(blocks_of(other)), (sorted(set(blocks_of(one)) ^ set(blocks_of(other)))[:4])
    assert mapped(one) == mapped(other), (mapped(one), mapped(other))
    names = [[(a["name"], a["stage"], a["time_us"]) for a in snapshot.get("external_annotations", [])] for snapshot in (one, other)]
    assert not one.get("external_annotations") or sorted(names[0], key=lambda a: a[2])[:1] == names[1][:1], names
    print(len(left), "events,", len(list(blocks_of(one))), "blocks,", len(names[1]), "annotations")


def history(account, written_path):
    """The double's own history, up to where the program took it: actions, addresses, sizes of segments."""
    sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "allocator"))
    import caching_allocator
    told = caching_allocator.snapshot(caching_allocator.read_account(account))
    one, other = ([(entry["action"], entry.get("addr"), entry["size"] if "segment" in entry["action"] else None) for entry in
                   snapshot["device_traces"][0] if entry["action"] != "snapshot"] for snapshot in (told, load(written_path)))
    assert len(one) > 100 and one == other[:len(one)], next(pair for pair in zip(one, other) if pair[0] != pair[1])
    assert not any("segment" in entry[0] and "unmap" not in entry[0] for entry in other[len(one):])


def newest(path, all_path):
    """The last entries of each device are those of the whole file; the rest is the same."""
    one, other = load(path), load(all_path)
    for short, long in zip(one.pop("device_traces"), other.pop("device_traces")):
        assert 599000 < len(short) <= 600000 < len(long), (len(short), len(long))
        assert short == long[-len(short):]
    assert one.pop("allocator_settings")["trace_alloc_overflowed"] and not other.pop("allocator_settings")
    assert one == other


{"top": top, "same": same, "history": history, "newest": newest}[sys.argv[1]](*sys.argv[2:])
