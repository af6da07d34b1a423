"""chromium.py - drives a headless Chromium through its pipe, with the standard library alone."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")


def program():
    """The browser of this machine; None: there is none."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Page:
    """One page of one browser. Use it with `with`."""

    def __init__(self, width=1280, height=900, dark=False, mobile=False):
        self.number, self.left, self.events, self.session = 0, b"", [], None
        self.folder = tempfile.mkdtemp(prefix="page-")
        self.start()
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(domain + ".enable")
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)
        self.ask("Emulation.setTouchEmulationEnabled", enabled=mobile)
        self.ask("Emulation.setScrollbarsHidden", hidden=True)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def start(self):
        """The browser reads requests from descriptor 3 and writes answers to 4."""
        to_read, self.out = os.pipe()
        self.into, to_write = os.pipe()
        command = 'exec 3<&{} 4>&{}; exec "$@"'.format(to_read, to_write)
        self.process = subprocess.Popen(
            ["bash", "-c", command, "chromium", program(), "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
             "--user-data-dir=" + self.folder, "--no-first-run", "--disable-extensions", "--disable-background-networking", "about:blank"],
            pass_fds=(to_read, to_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.kill()
        self.process.wait()
        os.close(self.out)
        os.close(self.into)
        shutil.rmtree(self.folder, ignore_errors=True)

    def message(self, wait):
        end = time.monotonic() + wait
        while b"\0" not in self.left:
            if not select.select([self.into], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            more = os.read(self.into, 1 << 20)
            if not more:
                raise EOFError("the browser is gone")
            self.left += more
        text, self.left = self.left.split(b"\0", 1)
        return json.loads(text)

    def ask(self, method, wait=120, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.out, json.dumps(request).encode() + b"\0")
        while True:
            answer = self.message(wait)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(answer["error"])
                return answer["result"]
            self.events.append(answer)

    def run(self, code):
        """The value of an expression on the page."""
        answer = self.ask("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description") or answer["exceptionDetails"]["text"])
        return answer["result"].get("value")

    def open(self, path):
        """Opens a file and waits until the page says that it is ready."""
        self.ask("Page.navigate", url="file://" + os.path.abspath(path))
        for _ in range(1200):
            ready = self.run("document.documentElement?.dataset.ready || ''")
            if ready:
                return ready
            time.sleep(0.05)
        raise TimeoutError("the page is never ready")

    def mouse(self, kind, x, y, **more):
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y):
        self.mouse("mouseMoved", x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)

    def key(self, key, **more):
        text = key if len(key) == 1 else ""
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, text=text, **more)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key, **more)

    def touch(self, kind, *points):
        self.ask("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)])

    def errors(self):
        """Errors of scripts, refusals of the policy, and requests that were made."""
        bad = []
        for event in self.events:
            method, told = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                bad.append(told["exceptionDetails"].get("exception", {}).get("description") or told["exceptionDetails"]["text"])
            elif method == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
                bad.append(told["entry"]["text"])
            elif method == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
                bad.append(json.dumps(told["args"]))
            elif method == "Network.requestWillBeSent" and not told["request"]["url"].startswith(("file://", "blob:", "about:")):
                bad.append("a request: " + told["request"]["url"][:80])
        return bad

    def picture(self, path, whole=True):
        clip = {"x": 0, "y": 0, "scale": 1, "width": self.run("document.documentElement.clientWidth"),
                "height": self.run("document.documentElement.scrollHeight" if whole else "window.innerHeight")}
        data = self.ask("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
