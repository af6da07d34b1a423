#!/usr/bin/env python3
"""check.py CACHE [--snapshots FOLDER] [FRAMEWORK...] - holds every row of formats/knobs against real releases: is the key there,
as spelled, in each release from `since` on, and in none from `gone` on, and is the default the one that the row says? And does
some release define each function, and have each file and folder, by which a row knows its own on stacks? Sources
are read, never run (tests/rules/registry.py, finder.py). Prints a line for each key and stretch of releases with one answer, "ok" and
"not ok"; last "N passed, N failed, N skipped".

Releases that no registry has (VERSION@COMMIT) are skipped, unless FOLDER has the repository as OWNER+NAME/repo, or had it when
they were looked at before.
"""
import argparse
import io
import os
import re
import subprocess
import sys
import tarfile

import yaml

import finder

SRC = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
sys.path.append(os.path.join(SRC, "tests/rules"))
import registry  # noqa: E402  shared with make test-rules

KNOBS = os.path.join(SRC, "formats/knobs")
ON_STACKS = ("proof", "seen")  # fields whose words are functions, files and folders of stacks
# For such words: packages that have no file of knobs, and a release from before those that a file names.
BESIDE = [("liger-kernel", "0.8.5"), ("peft", "0.21.2"), ("torch-memory-saver", "0.0.10"), ("unsloth-zoo", "2026.10.9"), ("torch", "2.1.2")]
UNREAD = {"transformer_engine/": "no registry has its Python files alone"}  # the same; looked up in the repository


class Knobs:
    """A file of formats/knobs. All values are texts: what YAML makes of `on` and 0.10 is no concern here."""

    def __init__(self, path):
        with open(path) as file:
            whole = yaml.load(file, yaml.BaseLoader)
        self.framework, self.rows = whole["framework"], whole["knobs"]
        self.package, self.repository = whole.get("package"), whole.get("repository")
        self.builds_on = whole.get("builds-on", [])
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


def defines(sources, word):
    """The file of a release that has the function, or is the file or in the folder; None."""
    paths = [path for path in sources.defined if word.endswith(("/", ".py"))]
    if paths:
        fits = "/" + word
        return next((p for p in paths if fits in "/" + p and (word.endswith("/") or ("/" + p).endswith(fits))), None)
    for path, words in sources.defined.items():
        if word.split(".")[-1] in words and any(n == word or n.endswith("." + word) for n in sources.names(path, word.split(".")[-1]) or ()):
            return path
    return None


def repository_files(archive):
    """(path, bytes) of an archive of git's: examples, too, which are where some repositories have their defaults."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            if member.isfile() and member.name.endswith((".py", ".yaml", ".yml")) and member.size <= registry.MEMBER_MAX:
                yield member.name, tar.extractfile(member).read()


class Check:
    def __init__(self, files, cache, snapshots):
        self.files, self.cache, self.snapshots = files, cache, snapshots
        self.finders, self.missing = {}, {}
        self.counts = {"ok": 0, "not ok": 0, "skip": 0}
        self.faults = []
        self.opened = {}  # {(package, version), or (repository, commit): registry.Sources}

    @staticmethod
    def finder(sources):
        return finder.Finder([name for name in sources.zip.namelist() if name != registry.DEFINED], sources.zip.read)

    def sources(self, where, of, version):
        """Sources of a package's release, or of a commit of a repository ("OWNER/NAME")."""
        if (of, version) not in self.opened:
            self.opened[of, version] = self.snapshot(of, version) if "/" in of else where.sources(of, version)
        return self.opened[of, version]

    def snapshot(self, repository, commit):
        name = repository.replace("/", "+")
        path = os.path.join(self.cache, "%s-%s.zip" % (name, commit))
        folder = os.path.join(self.snapshots or "", name, "repo")
        if not os.path.exists(path):
            if not self.snapshots or not os.path.isdir(folder):
                raise registry.Missing("not on the registry")
            # Only what is read: a snapshot may lack large files.
            taken = subprocess.run(["git", "-C", folder, "archive", commit, "*.py", "*.y*ml"], capture_output=True, check=False)
            if taken.returncode:
                raise registry.Missing("the snapshot has no commit " + commit)
            registry.pack(repository_files(taken.stdout), path)
        return registry.Sources(path)

    def releases_for(self, file):
        """(package, version), or (repository, commit), where words of its stacks may be: its own, what it builds on, what has no file here, all others."""
        own = [file] + [self.all[name] for name in file.builds_on]
        rest = [other for other in self.all.values() if other not in own]

        def of(files):
            newest_first = [(f, version, commit) for f in files for version, commit in reversed(f.releases)]
            return [(f.repository, commit) if commit else (f.package, version) for f, version, commit in newest_first if commit or f.package]

        return of(own) + BESIDE + of(rest)

    def word(self, where, file, key, word):
        """A line for a word of stacks."""
        for of, version in self.releases_for(file):
            try:
                path = defines(self.sources(where, of, version), word)
            except registry.Missing:
                continue
            if path:
                self.line(file, "%s %s" % (of, version[:12]), key, "ok", path, "on stacks: " + word, "there")
                return
        unread = next((why for start, why in UNREAD.items() if word.startswith(start)), None)
        unread = unread or next((self.missing[key] for key in self.missing if key[0] == file.framework), None)
        self.line(file, "all", key, "skip" if unread else "not ok", unread or "nowhere", "on stacks: " + word, "-")

    def stacks(self, where):
        for file in self.files.values():
            for row in file.rows:
                words = [word for field in ON_STACKS for word in row.get(field, [])]
                for word in sorted({piece for word in words for piece in word.split(" > ")}):
                    self.word(where, file, row["key"], word)

    def open(self, where):
        for file in self.files.values():
            for version, commit in file.releases:
                key = (file.framework, version)
                try:
                    of = (file.repository, commit) if commit else (file.package, version)
                    self.finders[key] = self.finder(self.sources(where, *of))
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
        with registry.Registry(self.cache) as where:
            self.open(where)
            self.rows()
            self.stacks(where)

    def rows(self):
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
    asked = parser.parse_intermixed_args()
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
