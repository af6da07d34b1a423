"""memory_viz.py MEMORYVIZ.JS SNAPSHOT - PyTorch's viewer, unchanged, opens a snapshot in a headless Chromium.

The viewer's unpickler and Python's read the same, and each view is drawn without an error.
"""
import base64
import functools
import http.server
import json
import os
import pickle
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "cli"))
from chromium import Page  # noqa: E402

MODULES = "/usr/share/nodejs"  # of Debian's node-d3
# The viewer imports D3 from addresses of the network; the map gives it Debian's. Its console gets what its unpickler returns.
PAGE = """<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">
<script type="importmap">{"imports": %s}</script>
<script>const log = console.log; console.log = (said) => { window.said ??= JSON.stringify(said); log(said); };</script>
<script type="module">
import {add_local_files} from "/MemoryViz.js";
add_local_files([{name: "snapshot", base64: "%s"}], "Allocator State History");
document.documentElement.dataset.ready = "yes";
</script>"""
VIEWS = ("Active Memory Timeline", "Active Cached Segment Timeline", "Allocator State History")
SHOW = """(() => { const views = document.querySelectorAll("select")[1]; views.value = %s; views.dispatchEvent(new Event("change"));
const shown = [...document.querySelectorAll("body > div")].filter((div) => div.style.display !== "none");
return shown.map((div) => [div.querySelectorAll("svg").length, div.querySelectorAll("div > pre").length]); })()"""


def imports_of(script):
    with open(script, encoding="utf-8") as file:
        wanted = [line.split('"')[1] for line in file if line.startswith("import ")]
    names = [name for name in os.listdir(MODULES) if name.startswith("d3-") or name == "internmap"]
    imports = {name: "/modules/%s/src/index.js" % name for name in names}
    for address in wanted:
        name = address.rsplit("/", 1)[1].split("@")[0]
        imports[address] = "/modules/d3/index.js" if name == "d3" else imports[name]
    return imports


class Handler(http.server.SimpleHTTPRequestHandler):
    def translate_path(self, path):
        if not path.startswith("/modules/"):
            return super().translate_path(path)
        path = os.path.join(MODULES, path[len("/modules/"):])
        return path if os.path.isfile(path) else path + ".js"  # some packages import "./nest"

    def log_message(self, *unused):
        pass


def serve(folder):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return "http://127.0.0.1:%d/" % server.server_port


def errors(page, address):
    return [error for error in page.errors() if not error.startswith("a request: " + address)]


def plain(value):
    """As JSON has it."""
    return json.loads(json.dumps(value))


def main(script, path):
    with open(path, "rb") as file:
        data = file.read()
    snapshot = pickle.loads(data)
    with tempfile.TemporaryDirectory() as folder, Page() as page:
        os.symlink(os.path.abspath(script), os.path.join(folder, "MemoryViz.js"))
        with open(os.path.join(folder, "index.html"), "w", encoding="utf-8") as file:
            file.write(PAGE % (json.dumps(imports_of(script)), base64.b64encode(data).decode()))
        address = serve(folder)
        page.ask("Page.navigate", url=address)
        end = time.monotonic() + 60
        while not page.run("document.documentElement?.dataset.ready || ''"):
            assert time.monotonic() < end and not errors(page, address), errors(page, address)
            time.sleep(0.05)
        assert json.loads(page.run("window.said")) == plain(snapshot), "the viewer reads another snapshot than Python"
        devices = [trace for trace in snapshot["device_traces"] if trace]
        for view in VIEWS:
            shown = page.run(SHOW % json.dumps(view))
            assert len(shown) == 1 and shown[0][0] >= 1, (view, shown)
        # One line for each entry; the viewer joins a block's two frees, and adds a line for the snapshot itself.
        lines = sum(entry["action"] != "free_requested" for entry in devices[0]) if devices else 0
        assert shown[0][1] >= lines, (shown, lines)
        assert not errors(page, address), errors(page, address)


main(*sys.argv[1:])
