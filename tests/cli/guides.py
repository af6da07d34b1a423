"""guides.py PAGE FOLDER - runs the commands of a guide, the lines `$ COMMAND` of its fences, one after the other in FOLDER. Lines below a command are what it prints:
times, sizes of files and the folder may differ, and a line `...` stands for any lines. Prints "ok" and "not ok" lines. UPDATE_PAGES=1 puts what is printed into PAGE.
"""
import os
import re
import subprocess
import sys

page, folder = sys.argv[1:]
name = os.path.basename(page)
lines = open(page, encoding="utf-8").read().split("\n")
update = bool(os.environ.get("UPDATE_PAGES"))


def alike(text):
    """One word stands for each path that may differ."""
    text = text.replace(folder, "/home/me/run").replace(os.environ["BUILD"] + "/libmemrec.so", "/usr/local/lib/memrec/libmemrec.so")
    text = text.replace(os.environ["BUILD"] + "/memrec", "/usr/local/bin/memrec")
    return [line.rstrip() for line in text.rstrip("\n").split("\n")]


def timeless(printed):
    return [re.sub(r"\b\d+(\.\d+)? (ns|us|ms|s)\b", "TIME", line) for line in printed]


def agrees(expected, printed):
    if expected == ["..."] or not expected:
        return True
    return timeless(expected) == timeless(printed)


# The shell of a reader stays the same from line to line: `. ./memrec.sh` counts for the next one.
state = os.path.join(folder, ".environment")
made, at, commands = [], 0, 0
fence = False
while at < len(lines):
    line = lines[at]
    made.append(line)
    at += 1
    if line.startswith("```"):
        fence = not fence
    if not fence or not line.startswith("$ "):
        continue
    expected = []
    while not lines[at].startswith(("$ ", "```")):
        expected.append(lines[at])
        at += 1
    script = f"set -o pipefail\n[ ! -e {state} ] || . {state}\n{line[2:]}\nstatus=$?\nexport -p >{state}\nexit $status"
    ran = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120, check=False)
    printed = alike(ran.stdout)
    # An answer may be no, and head may close a pipe: a wrong call and a damaged file have other statuses.
    good = ran.returncode in (0, 1, 141) and (update or agrees(expected, printed))
    print("ok" if good else "not ok", f"{name}: {line}")
    commands += 1
    if not good:
        print("\n".join("# " + text for text in [f"status {ran.returncode}", *printed[:12], *ran.stderr.split("\n")[:12], "expected", *expected]))
    made += printed if update and expected and expected != ["..."] else expected
if not commands:
    print("not ok", f"{name}: has no command")
if update:
    open(page, "w", encoding="utf-8").write("\n".join(made))
