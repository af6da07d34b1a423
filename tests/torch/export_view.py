"""export_view.py - PyTorch's viewer on a snapshot, without its page: its unpickler, its reading of events, its plot.

    python export_view.py MemoryViz.js SNAPSHOT PAGE     writes a page that runs them and shows what came out
    python export_view.py compare SNAPSHOT DOM           the page's answer is that of the file
"""
import base64
import json
import pickle
import re
import sys

PAGE = """<!doctype html><meta charset="utf-8"><pre id="answer"></pre><script>
%s
const bytes = Uint8Array.from(atob("%s"), c => c.charCodeAt(0));
let answer;
try {
  const snapshot = unpickle(bytes.buffer);
  annotate_snapshot(snapshot);
  answer = {categories: snapshot.categories.slice().sort(), segments: snapshot.segments.length, devices: []};
  for (let device = 0; device < snapshot.device_traces.length; device++) {
    const plot = process_alloc_data(snapshot, device, false, 15000);
    answer.devices.push({events: snapshot.device_traces[device].length, most: plot.max_size, elements: plot.elements_length});
  }
} catch (error) { answer = {error: String(error)}; }
document.getElementById("answer").textContent = JSON.stringify(answer);
</script>"""


def write(script_path, snapshot_path, page_path):
    with open(script_path, encoding="utf-8") as file:
        script = file.read()
    script = re.sub(r"^import .*$", "", script, flags=re.M)
    script = script[:script.index("const snapshot_cache")]  # from there on it draws its page
    with open(snapshot_path, "rb") as file:
        data = base64.b64encode(file.read()).decode()
    with open(page_path, "w", encoding="utf-8") as file:
        file.write(PAGE % (script.replace("</script", "<\\/script"), data))


def expected(snapshot):
    """Events as the viewer joins them, the most that is allocated, and the allocations."""
    for number, trace in enumerate(snapshot["device_traces"]):
        events = sum(entry["action"] != "free_completed" for entry in trace)
        alive, gone = {}, {}
        for entry in trace:
            if entry["action"] == "alloc":
                alive[entry["addr"]] = entry["size"]
            elif entry["action"] == "free_completed" and not alive.pop(entry["addr"], None):
                gone[entry["addr"]] = entry["size"]
        before = sum(gone.values())
        for segment in snapshot["segments"]:
            at = segment["address"]
            for block in segment["blocks"]:
                if segment["device"] == number and block["state"] == "active_allocated" and at not in alive:
                    before += block["requested_size"]
                at += block["size"]
        held, sizes, most = before, {}, 0
        for entry in trace:
            if entry["action"] == "alloc":
                sizes[entry["addr"]] = entry["size"]
                held += entry["size"]
            elif entry["action"] == "free_completed":
                held -= sizes.pop(entry["addr"], entry["size"])
            most = max(most, held) if entry["action"] in ("alloc", "free_completed") else most
        yield {"events": events, "most": most}


def compare(snapshot_path, dom_path):
    with open(snapshot_path, "rb") as file:
        snapshot = pickle.load(file)
    with open(dom_path, encoding="utf-8") as file:
        found = re.search(r'<pre id="answer">(.*?)</pre>', file.read(), re.S)
    answer = json.loads(found.group(1).replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"))
    assert "error" not in answer, answer
    assert answer["segments"] == len(snapshot["segments"])
    used = sorted({entry["category"] for trace in snapshot["device_traces"] for entry in trace if "category" in entry})
    assert answer["categories"] == used and (not used or "unknown" in used), (answer["categories"], used)
    want = list(expected(snapshot))
    assert len(want) == len(answer["devices"])
    for one, other in zip(answer["devices"], want):
        assert one["events"] == other["events"], (one, other)
        assert one["most"] == other["most"], (one, other)


compare(*sys.argv[2:]) if sys.argv[1] == "compare" else write(*sys.argv[1:])
