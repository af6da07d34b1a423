#!/usr/bin/env python3
"""wheel.py TREE VERSION TAG FOLDER [LIBRARY...] - makes a wheel of an installed tree (make install DESTDIR=TREE prefix=/), without a build backend.

Programs become scripts, everything else data below the environment's prefix: memrec finds libmemrec.so in ../lib/memrec. LIBRARY is
"name|version|licence|file": what is linked in, for the licences and the list of parts (SBOM). Two runs on one tree are equal to the byte.
"""
import base64
import csv
import hashlib
import io
import json
import os
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
TIME = (1980, 1, 1, 0, 0, 0)  # the least that a zip file can say
SUMMARY = "Records what fills GPU memory in an unmodified PyTorch program, and says what to change"
LEFT_OUT = ("lib/memrec/each/",)  # links, which a zip file does not hold; memrec names the library itself then


def files_below(folder):
    """(path below the folder, path) of each file, in order."""
    for where, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(where, name)
            yield os.path.relpath(path, folder), path


def wheel_name(below, data):
    """The place of a file of the tree in the wheel; None: the file has none."""
    if below.startswith(LEFT_OUT):
        return None
    if below.startswith("bin/"):
        return f"{data}/scripts/{below[4:]}"
    return f"{data}/data/{below}"


def metadata(version):
    """The file METADATA, with the README as its text."""
    with open(os.path.join(HERE, "..", "README.md"), encoding="utf-8") as readme:
        text = readme.read()
    head = [
        "Metadata-Version: 2.1", "Name: memrec", f"Version: {version}", f"Summary: {SUMMARY}", "Requires-Python: >=3.8",
        "Classifier: Operating System :: POSIX :: Linux", "Classifier: Programming Language :: C", "Classifier: Topic :: Software Development :: Debuggers",
        "Description-Content-Type: text/markdown",
    ]
    return "\n".join(head) + "\n\n" + text


def parts(version, libraries):
    """The list of parts in CycloneDX's JSON."""
    component = [{"type": "library", "name": name, "version": at, "licenses": [{"expression": licence}]} for name, at, licence, _ in libraries]
    return json.dumps({"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
                       "metadata": {"component": {"type": "application", "name": "memrec", "version": version}}, "components": component}, indent=1)


class Wheel:
    """A zip file, and its RECORD."""

    def __init__(self, path):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self.record = []

    def add(self, name, data, mode=0o644):
        info = zipfile.ZipInfo(name, TIME)
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = (0o100000 | mode) << 16
        self.zip.writestr(info, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append((name, f"sha256={digest}", len(data)))

    def close(self, info):
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(self.record + [(f"{info}/RECORD", "", "")])
        self.add(f"{info}/RECORD", text.getvalue().encode())
        self.zip.close()


def main():
    tree, version, tag, folder = sys.argv[1:5]
    libraries = [tuple(word.split("|", 3)) for word in sys.argv[5:]]
    name = f"memrec-{version}"
    data, info = f"{name}.data", f"{name}.dist-info"
    path = os.path.join(folder, f"{name}-py3-none-{tag}.whl")
    wheel = Wheel(path)
    for below, file in files_below(os.path.join(HERE, "python")):
        if below.endswith((".py", ".typed")):
            wheel.add(below, open(file, "rb").read())
    for below, file in files_below(tree):
        target = wheel_name(below, data)
        if target:
            wheel.add(target, open(file, "rb").read(), 0o755 if os.access(file, os.X_OK) else 0o644)
    wheel.add(f"{info}/METADATA", metadata(version).encode())
    wheel.add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: memrec {version}\nRoot-Is-Purelib: false\nTag: py3-none-{tag}\n".encode())
    wheel.add(f"{info}/entry_points.txt", b"[pytest11]\nmemrec = memrec.pytest_plugin\n")
    wheel.add(f"{info}/sboms/memrec.cyclonedx.json", parts(version, libraries).encode())
    for library, _, _, file in libraries:
        wheel.add(f"{info}/licenses/{library}.txt", open(file, "rb").read())
    wheel.add(f"{info}/licenses/LICENSE", open(os.path.join(HERE, "..", "LICENSE"), "rb").read())
    wheel.close(info)
    print(path)


main()
