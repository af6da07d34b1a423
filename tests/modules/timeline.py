"""timeline.py MEMANA TRACE - on the timeline of a trace two keys, p and L, tell the layer that holds most at the peak. They tell
the one that is unlike its sisters, too. The right answers come from the JSON of memana top, which check.py holds against
the oracle."""
import json
import re
import subprocess
import sys
import tempfile
import time

KEYS = ["p", "L"]
PATIENCE = 60  # seconds until the words are there


def groups(modules, repeated=False):
    """Sisters: (inside of other sisters, parent's path, members)."""
    for module in modules:
        sisters = {}
        for child in module["modules"]:
            if child["word"].isdigit():
                sisters.setdefault(child["type"], []).append(child)
        for members in (found for found in sisters.values() if len(found) > 1):
            yield repeated, re.sub(r"\b\d+\b", "*", members[0]["name"]), members
        one = {id(child) for members in sisters.values() if len(members) > 1 for child in members}
        for child in module["modules"]:
            yield from groups([child], repeated or id(child) in one)


def expected(memana, trace):
    """Regular expressions: a layer of those that hold most, and an unlike one, of the layers or of what is inside of them."""
    document = json.loads(subprocess.run([memana, "top", "--by", "module", "--json", trace], check=True, capture_output=True).stdout)
    device = max(document["devices"], key=lambda one: one["peak"]["bytes"])
    outer, inner = None, {}
    for nested, pattern, members in groups([module for module in device["modules"] if module["name"]]):
        if nested:
            inner.setdefault(pattern, []).extend(members)
        elif outer is None or max(m["bytes"] for m in members) > max(m["bytes"] for m in outer[1]):
            outer = pattern, members
    words = [describe(*outer)]
    unlike = {pattern: members for pattern, members in inner.items() if len({m["bytes"] for m in members}) > 1}
    if unlike and words[0].startswith("All"):
        words.append(describe(*max(unlike.items(), key=lambda item: sum(m["bytes"] for m in item[1]))))
    return words


def describe(pattern, members):
    most, least = (pick(m["bytes"] for m in members) for pick in (max, min))
    if most == least:
        return r"All of %s hold" % re.escape(pattern)
    names = "|".join(re.escape(m["name"]) for m in members if m["bytes"] == most)
    kind = re.escape(members[0]["type"])  # several kinds of sisters have one pattern: the screen says the kind then
    return r"(%s) holds most of %s( \(%s\))?:" % (names, re.escape(pattern), kind)


def screen_says(memana, trace, words):
    with tempfile.TemporaryDirectory() as folder:
        def tmux(*arguments):
            return subprocess.run(["tmux", "-S", folder + "/socket", "-f", "/dev/null", *arguments], check=True, capture_output=True, text=True).stdout

        def shows(*patterns):
            end = time.monotonic() + PATIENCE
            while time.monotonic() < end:
                text = " ".join(tmux("capture-pane", "-p").split())
                if all(re.search(pattern, text) for pattern in patterns):
                    return True
                time.sleep(0.1)
            print("# %s\n# %s" % (patterns, text))
            return False

        tmux("new-session", "-d", "-x", "120", "-y", "40", memana, "tui", trace)
        try:
            if not shows("^Peak"):
                return False
            tmux("send-keys", *KEYS)
            return shows(*words)
        finally:
            tmux("kill-server")


def main(memana, trace):
    words = expected(memana, trace)
    said = screen_says(memana, trace, words)
    print("%s: %s" % ("said" if said else "not said", "; ".join(words)))
    return not said


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
