#!/usr/bin/env python3
"""check.py CACHE [--snapshots FOLDER] [FRAMEWORK...] - holds every row of formats/knobs against real releases: is the key there,
as spelled, in each release from `since` on, and in none from `gone` on, and is the default the one that the row says? Sources
are read, never run (tests/rules/registry.py, finder.py). Prints a line for each key and stretch of releases with one answer, "ok" and
"not ok"; last "N passed, N failed, N skipped".

Releases that no registry has (VERSION@COMMIT) are skipped, unless FOLDER has the repository as OWNER+NAME/repo.
"""
import argparse
import os
import re
import subprocess
import sys

import yaml

import finder

SRC = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
sys.path.append(os.path.join(SRC, "tests/rules"))
import registry  # noqa: E402  shared with make test-rules

KNOBS = os.path.join(SRC, "formats/knobs")


class Knobs:
    """A file of formats/knobs. All values are texts: what YAML makes of `on` and 0.10 is no concern here."""

    def __init__(self, path):
        with open(path) as file:
            whole = yaml.load(file, yaml.BaseLoader)
        self.framework, self.rows = whole["framework"], whole["knobs"]
        self.package, self.repository = whole.get("package"), whole.get("repository")
        self.releases = [(text.partition("@")[0], text.partition("@")[2]) for text in whole["releases"]]
        self.order = {version: number for number, (version, _) in enumerate(self.releases)}
        self.keys = {name["key"] for row in self.rows for name in [row] + row.get("older", [])}

    def stretch(self, name):
        """Indices of the releases that have the name."""
        since = self.order[name["since"]] if "since" in name else 0
        return range(since, self.order[name["gone"]] if "gone" in name else len(self.releases))

    def default(self, name, release):
        """None: the row says nothing of it."""
        said = name.get("default")
        if not isinstance(said, dict):
            return said
        held = [value for version, value in said.items() if self.order[version] <= release]
        return held[-1] if held else None


def plain(key):
    return key.lstrip("-").replace("-", "_")


def same(said, found):
    """Is the default that the row says the one that was found?"""
    if found.default is finder.CHANGES:
        return said == found.shown
    if found.default is None or isinstance(found.default, bool):
        return said == {None: "null", True: "true", False: "false"}[found.default]
    if isinstance(found.default, (int, float)):
        try:
            return float(said) == float(found.default) or said == found.shown
        except ValueError:
            return said == found.shown
    return said == str(found.default)


def ends_as(source, key):
    """Does the key end as the place that its source names? Else the row shows something else than it says."""
    what = source.split(", ")[0].partition(" ")[2]
    if not what:
        return True
    if what.startswith('"'):
        return what.strip('"') in key
    if "(" in what:
        return key.split("(")[-1].rstrip(")") == what.split("(")[-1].rstrip(")")
    return plain(key).endswith(plain(what.split(".", 1)[-1] if not what.startswith("--") else what))


class Check:
    def __init__(self, files, cache, snapshots):
        self.files, self.cache, self.snapshots = files, cache, snapshots
        self.finders, self.missing = {}, {}
        self.counts = {"ok": 0, "not ok": 0, "skip": 0}
        self.faults = []

    def from_registry(self, where, package, version):
        sources = where.sources(package, version)
        return finder.Finder([name for name in sources.zip.namelist() if name != registry.DEFINED], sources.zip.read)

    def from_snapshot(self, repository, commit):
        folder = os.path.join(self.snapshots or "", repository.replace("/", "+"), "repo")
        git = ["git", "-C", folder]
        if not self.snapshots or not os.path.isdir(folder):
            raise registry.Missing("not on the registry")
        names = subprocess.run(git + ["ls-tree", "-r", "--name-only", commit], capture_output=True, text=True, check=False)
        if names.returncode:
            raise registry.Missing("the snapshot has no commit " + commit)
        paths = [name for name in names.stdout.split("\n") if name.endswith((".py", ".yaml", ".yml"))]
        return finder.Finder(paths, lambda path: subprocess.run(git + ["show", commit + ":" + path], capture_output=True, check=True).stdout)

    def open(self):
        with registry.Registry(self.cache) as where:
            for file in self.files.values():
                for version, commit in file.releases:
                    key = (file.framework, version)
                    try:
                        if commit:
                            self.finders[key] = self.from_snapshot(file.repository, commit)
                        else:
                            self.finders[key] = self.from_registry(where, file.package, version)
                    except registry.Missing as why:
                        self.missing[key] = str(why)

    def passed_on(self, file, row, release):
        """A key that is handed on: the rest of it is a key of another file, what stands before it is in the source."""
        other = self.all[row["passes"]]
        rest = [key for key in other.keys if plain(row["key"]).endswith(plain(key))]
        path = row["source"]
        if not rest:
            return None
        if path.endswith(".yaml"):
            prefix = row["key"][: -len(max(rest, key=len)) - 1] if max(rest, key=len) in row["key"] else row["key"].rpartition(".")[0]
            return release.find(path, prefix)
        return finder.Found(path, 0, finder.CHANGES, "(of %s)" % row["passes"]) if path in release.paths else None

    def one(self, file, row, name, number):
        """(verdict, where, said, found) of a name in a release."""
        version = file.releases[number][0]
        release = self.finders.get((file.framework, version))
        said = file.default(name, number)
        if release is None:
            return "skip", self.missing[file.framework, version], said, "-"
        source = name.get("source", row["source"])
        found = self.passed_on(file, row, release) if "passes" in row else release.find(source, name["key"])
        there = number in file.stretch(name)
        if found and not there:
            return "not ok", "%s has it" % found.file, said, found.shown
        if not found:
            return ("not ok", "nowhere", said, "-") if there else ("ok", "gone" if number >= file.stretch(name).stop else "not yet", "-", "-")
        where = "%s:%d" % (found.file, found.line) if found.line else found.file
        if number + 1 == len(file.releases) and found.moved:
            return "not ok", "in %s, not in its source" % found.file, said, found.shown
        if said is not None and "passes" not in row and not same(said, found):
            return "not ok", where, said, found.shown
        return "ok", where, said, found.shown

    def name(self, file, row, name):
        """A line for each stretch of releases with the same answer."""
        if "passes" not in row and not ends_as(name.get("source", row["source"]), name["key"]):
            self.line(file, "all", name["key"], "not ok", "the source names something else", "-", "-")
            return
        stretch = []
        for number, (version, _) in enumerate(file.releases):
            answer = self.one(file, row, name, number)
            alike = (answer[0], answer[1].rpartition(":")[0] or answer[1], answer[2], answer[3])
            if not stretch or stretch[-1][1] != alike:
                stretch.append([[], alike, answer])
            stretch[-1][0].append(version)
            stretch[-1][2] = answer
        for versions, _, answer in stretch:
            shown = versions[0] if len(versions) == 1 else "%s..%s" % (versions[0], versions[-1])
            self.line(file, shown, name["key"], *answer)

    def line(self, file, versions, key, verdict, where, said, found):
        self.counts[verdict] += 1
        text = "%s | %s | %s | %s | %s / %s | %s" % (file.framework, versions, key, where, "-" if said is None else said, found, verdict)
        print(text)
        if verdict == "not ok":
            self.faults.append("not ok " + text)

    def run(self):
        self.open()
        print("framework | version | key | where | default said / found | verdict")
        for file in self.files.values():
            for row in file.rows:
                for name in [row] + row.get("older", []):
                    self.name(file, row, name)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cache")
    parser.add_argument("--snapshots")
    parser.add_argument("framework", nargs="*")
    asked = parser.parse_args()
    every = [Knobs(os.path.join(KNOBS, name)) for name in sorted(os.listdir(KNOBS)) if name.endswith(".yaml")]
    unknown = set(asked.framework) - {file.framework for file in every}
    if unknown:
        parser.error("no file is about " + ", ".join(sorted(unknown)))
    check = Check({f.framework: f for f in every if not asked.framework or f.framework in asked.framework}, asked.cache, asked.snapshots)
    check.all = {file.framework: file for file in every}
    check.run()
    for (framework, version), why in sorted(check.missing.items()):
        print("skip %s %s: %s" % (framework, version, why))
    print("\n".join(check.faults))
    print("%d passed, %d failed, %d skipped" % (check.counts["ok"], check.counts["not ok"], check.counts["skip"]))
    sys.exit(bool(check.counts["not ok"]))


main()
