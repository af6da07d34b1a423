#!/usr/bin/env python3
"""check.py CACHE [FILE...] - holds every rule of formats/rules (or of FILEs of it) against real releases of the frameworks:
does the function that it names exist in the file that it names? Releases are read, never run (registry.py). Prints a table,
"ok ..." and "not ok ...", last "N passed, N failed, N skipped".

A rule is right when each of its spellings, "a" and "b" of "(a|b)", is in some release, and the rule is in the newest one of
a package that it is in at all, or says with `until:` which was the last. With `read:` it says where it was read if no
registry has it; then finding nothing is no fault.
"""
import os
import re
import sys
from collections import defaultdict

import registry
import rulefile

SRC = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
RULES = os.path.join(SRC, "formats/rules")


def packages():
    with open(os.path.join(os.path.dirname(__file__), "packages.txt")) as file:
        return [line.strip() for line in file if line.strip() and not line.startswith("#")]


def releases_in(text):
    """[(package, version)] of "verl 0.4.1, verl 0.7.1"."""
    pairs = [part.split() for part in (text or "").split(",") if part.strip()]
    if any(len(pair) != 2 for pair in pairs):
        raise SystemExit('not a list of releases ("PACKAGE VERSION, ..."): ' + text)
    return [tuple(pair) for pair in pairs]


class Releases:
    """Those that could be had, and their functions."""

    def __init__(self, where):
        self.registry = where
        self.sources = {}  # {(package, version): index}
        self.newest = {}  # {package: version}
        self.missing = {}  # {package or (package, version): why}

    def add(self, package, version):
        if (package, version) in self.sources or (package, version) in self.missing:
            return
        try:
            self.sources[package, version] = self.registry.sources(package, version)
        except registry.Missing as why:
            self.missing[package, version] = str(why)

    def add_newest(self, package):
        try:
            self.newest[package] = self.registry.newest(package)
        except registry.Missing as why:
            self.missing[package] = str(why)
        else:
            self.add(package, self.newest[package])

    def missing_of(self, rule, file):
        """Is one of those that could not be had one that the rule or its file names, or whose folder its pattern names?"""
        named = releases_in(rule.get("until")) + releases_in(file.keys.get("releases"))
        packages = {package for package, _ in named}
        gone = {what if isinstance(what, str) else what[0] for what in self.missing}
        return bool(gone & packages) or any(package.replace("-", "_") in (rule.get("file") or "") for package in gone)


class Search:
    """The places in which rules find their names; each file pattern is tried once on each path."""

    def __init__(self, releases):
        self.releases = releases
        self.paths = {}

    def in_files(self, pattern):
        if pattern not in self.paths:
            find = re.compile(pattern or "", re.ASCII).search
            self.paths[pattern] = {r: [p for p in sources.defined if find(p)] for r, sources in self.releases.sources.items()}
        return self.paths[pattern]

    def found(self, function, file):
        """{(package, version)} that have it."""
        find = re.compile(function or "", re.ASCII).search
        piece = max(re.findall(r"[A-Za-z0-9_]+(?![A-Za-z0-9_]|[?*])", re.sub(r"\\.|_[?*]", " ", function or "")), key=len, default="")
        where = set()
        for release, paths in self.in_files(file).items():
            names = (name for path in paths for name in self.releases.sources[release].names(path, piece) or ())
            if paths and (not function or any(find(name.rsplit(".", 1)[-1]) or find(name) for name in names)):
                where.add(release)
        return where

    def unreadable(self, file):
        return [path for r, paths in self.in_files(file).items() for path in paths if self.releases.sources[r].known.get(path, "") is None]


def spelled(rule):
    """[(words for people, function or None, file or None)] of a rule of frames."""
    function, file = rule.get("function"), rule.get("file")
    if function:
        return [(rulefile.plain(s), s, file) for s in rulefile.spellings(function)]
    return [("any function", None, s) for s in rulefile.spellings(file)]


def judge(rule, found, releases, read):
    """The faults of the rule, in words; None: nothing. `found`: [(spelling, file, {releases})]."""
    everywhere = set().union(*(where for _, _, where in found))
    until = releases_in(rule.get("until"))
    for release in until:
        if release in releases.missing:
            continue
        if release not in everywhere:
            return "%s %s, which it names, does not have it" % release
        package = release[0]
        if (package, releases.newest.get(package)) in everywhere:
            return "%s %s still has it: until is wrong" % (package, releases.newest[package])
    if not everywhere:
        return None if read else "found nowhere (say where it was read, with read:)"
    if not read:
        for name, file, where in found:
            if not where:
                return "%s is found nowhere" % (name if name != "any function" else rulefile.plain(file))
    ended = {package for package, _ in until}
    for package in sorted({package for package, _ in everywhere} - ended):
        if (package, releases.newest.get(package, "")) not in everywhere and releases.newest.get(package):
            return "not in %s %s, the newest (say until when, with until:)" % (package, releases.newest[package])
    return None


def words(where, releases, read):
    """The releases in short, those of a package together."""
    order = defaultdict(list)
    for package, version in where:
        order[package].append(version)
    said = ["%s %s" % (p, " ".join(sorted(v, key=lambda t: [int(n) for n in re.findall(r"\d+", t)]))) for p, v in sorted(order.items())]
    return "; ".join(said) or ("read in " + read if read else "-")


def print_rule(rule, found, releases, read):
    print("\n%s:%d  %s" % (rule.file, rule.line, rulefile.plain(rule.get("file") or "any file")))
    for name, file, where in found:
        print("    %-40s %s" % (name if rule.get("function") else rulefile.plain(file), words(where, releases, read)))


def main():
    cache, only = sys.argv[1], sys.argv[2:]
    names = only or sorted(name for name in os.listdir(RULES) if name.endswith(".yaml"))
    files = {name: rulefile.read(os.path.join(RULES, name), name) for name in names}
    named = set()
    for file in files.values():
        for text in [file.keys.get("releases")] + [rule.get("until") for rule in file.rules]:
            named.update(releases_in(text))
    counts = {"ok": 0, "not ok": 0, "skip": 0}
    faults = []
    with registry.Registry(cache) as where:
        releases = Releases(where)
        for package in packages():
            releases.add_newest(package)
        for package, version in sorted(named):
            releases.add(package, version)
    search = Search(releases)
    for name in names:
        for rule in files[name].rules:
            if rule.get("mark") or rule.get("module"):
                continue
            read = rule.get("read") or files[name].keys.get("read")
            found = [(s, file, search.found(function, file)) for s, function, file in spelled(rule)]
            print_rule(rule, found, releases, read)
            fault = judge(rule, found, releases, read)
            if fault and "nowhere" in fault and (releases.missing_of(rule, files[name]) or search.unreadable(rule.get("file"))):
                counts["skip"] += 1
                fault = "skip %s:%d: %s, and not everything could be read" % (name, rule.line, fault)
            else:
                counts["not ok" if fault else "ok"] += 1
                fault = fault and "not ok %s:%d: %s" % (name, rule.line, fault)
            if fault:
                faults.append(fault)
                print("  " + fault)
    print("\nreleases: " + words(releases.sources, releases, None))
    for what, why in releases.missing.items():
        counts["skip"] += 1
        print("skip %s: %s" % (what if isinstance(what, str) else "%s %s" % what, why))
    print("\n".join(faults))
    print("%d passed, %d failed, %d skipped" % (counts["ok"], counts["not ok"], counts["skip"]))
    sys.exit(bool(counts["not ok"]))


main()
