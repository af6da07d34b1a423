#!/usr/bin/env python3
"""
page.py PAGE... - the speed of pages of memana export --to html in a headless Chromium without a GPU.

Columns are ms until the first picture, and medians over changes of the view, of the cursor and of the colours.
"""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from chromium import Page  # noqa: E402

MEDIAN = """((times, does) => {
	const taken = [];
	for (let i = 0; i < times; i++) {
		const begin = performance.now();
		does(i);
		taken.push(performance.now() - begin);
	}
	return taken.sort((a, b) => a - b)[times >> 1];
})"""
ZOOM = "look(-Infinity, Infinity), " + MEDIAN + "(60, (i) => { zoom(i < 30 ? 0.8 : 1.25, 0.6); draw(); })"
CURSOR = MEDIAN + "(15, (i) => { cursorTo(1 + Math.floor(i * page.device.changes / 16)); draw(); })"
COLOURS = MEDIAN + "(8, (i) => { setBy(BY[i % 3]); draw(); })"

print(f"{'page':<28}{'KiB':>8}{'changes':>10}{'first':>8}{'zoom':>8}{'cursor':>8}{'colours':>9}")
for path in sys.argv[1:]:
    with Page() as page:
        first = sorted(int(page.open(path)) for _ in range(3))[1]
        figures = [page.run(code) for code in (ZOOM, CURSOR, COLOURS)]
        changes = page.run("page.device.changes")
    print(f"{os.path.basename(path):<28}{os.path.getsize(path) // 1024:>8}{changes:>10}{first:>8}" + "".join(f"{f:>8.1f}" for f in figures[:2]) + f"{figures[2]:>9.1f}")
