#!/usr/bin/env python3
"""page_picture.py PAGE PICTURE - the first screen of a page of memana export --to html, as a PNG, from a headless Chromium."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/cli"))
from chromium import Page  # noqa: E402

with Page(width=1200, height=1130) as page:
    ready, errors = page.open(sys.argv[1]), page.errors()
    if ready == "failed" or errors:
        sys.exit(f"page_picture.py: {sys.argv[1]}: {errors}")
    page.run("new Promise(requestAnimationFrame)")
    page.picture(sys.argv[2], whole=False)
