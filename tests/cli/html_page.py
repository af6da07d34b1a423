#!/usr/bin/env python3
"""html_page.py CHECK PAGE [FILE...] - one check of a page of memana export --to html, in a headless Chromium."""
import base64
import gzip
import json
import re
import struct
import sys

from chromium import Page


def data_of(path):
    """The document of the page, as its script reads it."""
    with open(path, "rb") as file:
        packed = re.search(rb'id="data">([A-Za-z0-9+/=]*)</script>', file.read()).group(1)
    bytes_ = gzip.decompress(base64.b64decode(packed))
    size = struct.unpack("<I", bytes_[:4])[0]
    return json.loads(bytes_[4 : 4 + size]), bytes_[4 + size :]


def legend(page):
    return page.run("Object.fromEntries([...document.querySelectorAll('#legend li')].map((li) => [li.dataset.name, Number(li.dataset.bytes)]))")


def number(page, element, name):
    return int(float(page.run("document.getElementById(%r).dataset.%s" % (element, name))))


def expect(is_true, *facts):
    if not is_true:
        raise SystemExit("not so: " + " ".join(map(str, facts)))


def opened(page, path):
    ready = page.open(path)
    expect(ready != "failed", page.run("document.getElementById('verdict').textContent"), page.errors())
    expect(not page.errors(), page.errors())
    return page


def phase_name(word):
    return {"before": "before the recording"}.get(word, word)


def sums(page, path, top, at=None):
    """The page's numbers are those of memana top --json at the same moment, to the byte."""
    opened(page, path)
    with open(top) as file:
        devices = [device for device in json.load(file)["devices"] if device["peak"]["bytes"]]
    expect(len(devices) == page.run("page.devices.length"), len(devices))
    for i, device in enumerate(devices):
        page.run("setDevice(%d)" % i)
        if at:
            page.run("cursorToTime(ticksOf(%s))" % at)
        for by in ("phase", "category", "owner"):
            page.run("setBy(%r)" % by)
            want = {}
            for part in device["by_" + by]:
                name = phase_name(part[by]) if by == "phase" else part[by]
                want[name] = want.get(name, 0) + part["bytes"]
            want = {name: size for name, size in want.items() if size}
            expect(legend(page) == want, by, legend(page), want)
        expect(number(page, "cursor", "bytes") == device["peak"]["bytes"], "held", number(page, "cursor", "bytes"))
        expect(number(page, "cursor", "slack") == device["slack_bytes"], "slack", number(page, "cursor", "slack"))
        expect(number(page, "sites", "bytes") == device["peak"]["bytes"], "the table")
        expect(number(page, "flame", "bytes") == device["peak"]["bytes"], "the stacks")
        rows = page.run("(page.rows = 1e9, showSites(), [...document.querySelectorAll('#sites tbody tr')].map((tr) => Number(tr.dataset.count)))")
        expect(sum(rows) == sum(part["count"] for part in device["by_phase"]), "allocations", sum(rows))


def ranks(page, path, count):
    """`count` processes held bytes of the device."""
    opened(page, path)
    expect(page.run("page.onDevice.size") == len(page.run("page.doc.processes")) == int(count), page.run("page.doc.processes"))


def steps(page, path, wanted):
    """The table of steps has the rows of memana sql: step, peak and bytes at its end."""
    opened(page, path)
    rows = page.run("(page.stepRows = 1e9, showSteps(), [...document.querySelectorAll('#table-steps tbody tr')].map((tr) => "
                    "[tr.dataset.step, tr.dataset.peak, tr.dataset.held].map(Number)))")
    with open(wanted) as file:
        want = [list(row.values()) for row in json.load(file)]
    expect(rows == want and rows, rows, want)


def modules(page, path, top):
    """The outermost lines of the tree are those of memana top --by module, and add up to the peak. A click opens a line."""
    opened(page, path)
    with open(top) as file:
        device = json.load(file)["devices"][0]
    lines = page.run("page.doc.modules[0].map((line) => [line.path, line.bytes, line.parent])")
    want = [[line["name"], line["bytes"]] for line in device["modules"]]
    outermost = [line for line in lines if not line[2]]
    expect([line[1] for line in outermost] == [line[1] for line in want], lines, want)
    expect(all(name in (None, line[0]) for (name, _), line in zip(want, outermost)), lines, want)
    expect(sum(line[1] for line in want) == device["peak"]["bytes"], "sum", want)
    shown = "[...document.querySelectorAll('#tree tbody tr')].filter((tr) => !tr.hidden).length"
    few = page.run(shown)
    page.run("[...document.querySelectorAll('#tree tr:not([hidden]) .toggle')].filter((it) => it.textContent === '+').forEach((it) => it.click())")
    expect(few < page.run(shown) <= len(lines), "what is inside", few, page.run(shown))


def segments(page, path, frag):
    """The map of the segments has the bytes of memana frag --at peak."""
    opened(page, path)
    with open(frag) as file:
        device = json.load(file)["devices"][0]
    shown = [number(page, "map", name) for name in ("bytes", "used", "segments")]
    expect(shown == [device["reserved_bytes"], device["allocated_bytes"], len(device["segments"])], shown)
    parts = page.run("mapOf(page.device).reduce((sum, it) => sum + it.parts.reduce((bytes, part, at) => bytes + (at % 3 === 1 ? part : 0), 0), 0)")
    expect(parts == device["allocated_bytes"], "parts", parts)


def causes(page, path, oom):
    """The first causes are those of memana oom."""
    opened(page, path)
    with open(oom) as file:
        want = [[cause["id"], cause["bytes"]] for cause in json.load(file)["causes"] if cause["bytes"] > 0][:5]
    rows = page.run("[...document.querySelectorAll('#causes li')].map((li) => [li.dataset.cause, Number(li.dataset.bytes)])")
    expect(rows == want and rows, rows, want)


def view(page):
    return page.run("[page.from, page.to]")


def use(page, path):
    """Zoom, cursor, keys, colours, theme, search, flame graph and steps do what they say."""
    opened(page, path)
    whole, box = view(page), page.run("(({left, top, width}) => [left, top, width])(document.getElementById('chart').getBoundingClientRect())")
    x, y = box[0] + box[2] / 4, box[1] + 80
    page.mouse("mouseWheel", x, y, deltaX=0, deltaY=-400)
    near = view(page)
    expect(near[1] - near[0] < (whole[1] - whole[0]) * 0.6, "wheel", whole, near)
    page.click(x, y)
    time = page.run("cursorTime()")
    expect(abs((time - near[0]) / (near[1] - near[0]) - 0.25) < 0.01, "click", time, near)
    expect(number(page, "cursor", "changes") == page.run("page.device.time.filter((time) => time <= cursorTime()).length"), "changes of the cursor")
    expect(number(page, "cursor", "bytes") == number(page, "sites", "bytes") == number(page, "flame", "bytes"), "sums at the cursor")
    page.mouse("mousePressed", x, y, button="left", clickCount=1)
    page.mouse("mouseMoved", x + 60, y, button="left", buttons=1)
    page.mouse("mouseReleased", x + 60, y, button="left", clickCount=1)
    expect(view(page)[0] < near[0], "drag", near, view(page))
    expect(page.run("cursorTime()") == time, "a drag leaves the cursor alone")
    before = number(page, "cursor", "changes")
    page.key("ArrowRight", modifiers=2)
    expect(number(page, "cursor", "changes") == before + 1, "ctrl and an arrow")
    page.run("(look(...[-20, 20].map((ticks) => page.device.time[page.device.peak - 1] + ticks)), cursorTo(page.device.peak))")
    words = page.run("document.getElementById('cursor').textContent")
    shown, unit = re.search(r" at ([0-9.]+) (s|ms|\u00b5s):", words).groups()
    away = float(shown) * {"s": 1e9, "ms": 1e6, "\u00b5s": 1e3}[unit] - page.run("nsOf(cursorTime())")
    expect(abs(away) <= page.run("page.doc.tick_ns"), "the digits of a time near by", words, away)
    page.key("0")
    expect(view(page) == whole, "0")
    page.key("+")
    expect(view(page)[1] - view(page)[0] < whole[1] - whole[0], "+")
    page.key("p")
    expect(number(page, "cursor", "bytes") == page.run("page.device.row.peak_bytes"), "p")
    page.key("c")
    expect(page.run("page.by") == "category" and sum(legend(page).values()) == number(page, "cursor", "bytes"), "c", legend(page))
    theme = page.run("document.documentElement.dataset.theme")
    page.key("t")
    expect(page.run("document.documentElement.dataset.theme") != theme, "t")
    page.key("?")
    expect(page.run("!document.getElementById('keys').hidden"), "?")
    use_tables(page)
    expect(not page.errors(), page.errors())


def use_tables(page):
    rows = number(page, "sites", "rows")
    word = page.run("document.querySelector('#sites tbody tr').lastChild.textContent")[:12]
    page.key("/")
    page.ask("Input.insertText", text=word)
    expect(0 < number(page, "sites", "rows") <= rows, "search", word, number(page, "sites", "rows"))
    page.run("document.querySelector('#sites tbody tr').click()")
    expect(page.run("document.querySelectorAll('#sites .stack li').length") > 0, "the stack of a row")
    deep = page.run("page.flame.boxes.find((box) => box.depth === 2).node")
    box = page.run("(document.getElementById('flame').scrollIntoView(), (({left, top}) => [left + page.flame.boxes.find((box) => box.depth === 2).x + 3, "
                   "top + 2 * 19 + 8])(document.getElementById('flame').getBoundingClientRect()))")
    page.click(*box)
    expect(page.run("page.root") == deep, "a frame is enlarged", deep, page.run("page.root"))
    page.run("document.querySelectorAll('#table-steps tr[data-go]')[1].click()")
    peak = int(page.run("document.querySelectorAll('#table-steps tr[data-go]')[1].dataset.peak"))
    expect(number(page, "cursor", "bytes") == peak, "the peak of a step", number(page, "cursor", "bytes"), peak)


def phone(page, path):
    """On a phone: nothing is wider than the screen, a tap sets the cursor, two fingers zoom."""
    opened(page, path)
    expect(page.run("document.documentElement.scrollWidth") <= 390, "width", page.run("document.documentElement.scrollWidth"))
    box, whole = page.run("(({left, top, width}) => [left, top, width])(document.getElementById('chart').getBoundingClientRect())"), view(page)
    y = box[1] + 80
    page.touch("touchStart", (box[0] + box[2] / 2, y))
    page.touch("touchEnd")
    expect(abs((page.run("cursorTime()") - whole[0]) / (whole[1] - whole[0]) - 0.5) < 0.02, "tap", page.run("cursorTime()"))
    page.touch("touchStart", (box[0] + 120, y), (box[0] + 180, y))
    page.touch("touchMove", (box[0] + 60, y), (box[0] + 240, y))
    page.touch("touchEnd")
    expect(view(page)[1] - view(page)[0] < (whole[1] - whole[0]) * 0.6, "pinch", view(page))
    expect(not page.errors(), page.errors())


def dark(page, path):
    """The theme of the system is the theme of the page, and what is drawn changes with it; printed it is light."""
    opened(page, path)
    back = "getComputedStyle(document.body).backgroundColor"
    is_dark = page.run(back)
    expect(page.run("document.documentElement.dataset.theme") == "dark", "theme")
    page.run("window.dispatchEvent(new Event('beforeprint'))")
    expect(page.run(back) != is_dark, "print", is_dark)
    page.run("window.dispatchEvent(new Event('afterprint'))")
    expect(page.run(back) == is_dark, "after print")


def hostile(page, path, names):
    """Names of any kind are text: no element comes of them, the policy has nothing to refuse, and they are in the table as they are."""
    opened(page, path)
    shape = "JSON.stringify([document.querySelectorAll('script, style, img, iframe, object, link, base').length, [...document.body.children].map((e) => e.tagName)])"
    expect(page.run(shape) == '[2,["HEADER","MAIN","FOOTER","DIV"]]' or page.run(shape).startswith("[2,"), page.run(shape))
    page.run("(page.rows = 1e9, showSites(), document.querySelectorAll('#sites tbody tr').forEach((tr) => tr.click()))")
    text = page.run("document.getElementById('sites').textContent")
    with open(names) as file:
        for name in json.load(file):
            expect(name in text, "the name", repr(name))
    expect(page.run("window.hacked === undefined && document.title.endsWith('memana')"), "a name has run")
    for boxes in ("page.flame.boxes.forEach((box) => nodeWords(box.node))", "drawFlame()", "setBy('owner')"):
        page.run(boxes)
    expect(not page.errors(), page.errors())


def policy(page, path):
    """The policy refuses what the page does not bring along: other scripts, pictures, requests."""
    opened(page, path)
    page.run("(() => { const script = document.createElement('script'); script.textContent = 'window.hacked = 1'; document.body.append(script); })()")
    expect(page.run("window.hacked === undefined"), "another script has run")
    expect(page.run("fetch('https://example.org/').then(() => 'went', () => 'refused')") == "refused", "a request")
    expect(len(page.errors()) >= 2, page.errors())


def secret(page, path, *words):
    """No file of a source and no path is in the page; functions are."""
    doc, columns = data_of(path)
    text = json.dumps(doc)
    opened(page, path)
    for word in words[1:]:
        expect(word not in text and word.encode() not in columns and word not in page.run("document.documentElement.outerHTML"), word)
    expect(words[0] in text, words[0])


def thinned(page, path, top):
    """A run with too many changes: the peak is exact, and the page says how many changes are left out."""
    doc, _ = data_of(path)
    device = doc["devices"][0]
    expect(device["stretch_ns"] > 0 and device["changes"] < device["told"], device["changes"], device["told"])
    opened(page, path)
    expect("changes are here" in page.run("document.getElementById('notes').textContent"), "the note")
    expect(page.run("page.device.held.reduce((most, held) => Math.max(most, held))") == device["peak_bytes"], "the most")
    sums(page, path, top)


def at(page, path, top):
    """The page opens with its cursor at the moment that --at named."""
    opened(page, path)
    with open(top) as file:
        device = json.load(file)["devices"][0]
    expect(number(page, "cursor", "bytes") == device["peak"]["bytes"], number(page, "cursor", "bytes"), device["peak"]["bytes"])


CHECKS = {check.__name__: check for check in (sums, ranks, at, steps, modules, segments, causes, use, phone, dark, hostile, policy, secret, thinned)}
LOOKS = {"phone": {"width": 390, "height": 844, "mobile": True}, "dark": {"dark": True}}

with Page(**LOOKS.get(sys.argv[1], {})) as the_page:
    CHECKS[sys.argv[1]](the_page, *sys.argv[2:])
