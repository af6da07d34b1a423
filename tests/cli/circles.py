"""circles.py BUILD - prints each circle of object files that need each other by what they take from each other (nm), as a
line of names in order. Whoever reads one file of a circle has to read all of them."""

import glob
import os
import subprocess
import sys

PARTS = {"formats": "obj/formats", "memrec": "obj/recorder", "agent": "agent/recorder", "analyzer": "obj/analyzer"}


def needs(objects):
    """The things that each object takes from another one."""
    made, wanted = {}, {}
    told = subprocess.run(["nm", "-A", "-P", *objects], check=True, capture_output=True, text=True).stdout if objects else ""
    for line in told.splitlines():
        path, name, kind = line.replace(":", "", 1).split()[:3]
        if kind == "U":
            wanted.setdefault(path, set()).add(name)
        elif kind in "TDBRVCGSW":
            made[name] = path
    return {path: {made[name] for name in wanted.get(path, ()) if made.get(name, path) != path} for path in objects}


def reach(graph, start):
    """All that `start` needs, directly or not."""
    there, todo = set(), list(graph[start])
    while todo:
        path = todo.pop()
        if path not in there:
            there.add(path)
            todo += graph[path]
    return there


def circles(graph):
    all_of = {path: reach(graph, path) for path in graph}
    left = [path for path in graph if path in all_of[path]]
    while left:
        circle = [path for path in left if left[0] in all_of[path] and path in all_of[left[0]]]
        left = [path for path in left if path not in circle]
        yield circle


def main(build):
    for part, folder in PARTS.items():
        objects = [path for path in glob.glob("%s/%s/**/*.o" % (build, folder), recursive=True)
                   if os.path.exists(os.path.relpath(path, build).split("/", 1)[1][:-2] + ".c")]
        for circle in circles(needs(objects)):
            print(part + ":", *sorted(os.path.basename(path)[:-2] for path in circle))


main(sys.argv[1])
