"""registry.py - the sources of a package's release, read from where pip gets packages, without running or installing
anything. Wheels are read in ranges: of PyTorch's 500 MB only what is wanted. They are kept
in a cache, a zip for each release.
"""
import ast
import hashlib
import io
import json
import os
import re
import tarfile
import zipfile

from pip._vendor.packaging.version import Version

PATIENCE = 30  # s, for an answer
BLOCK = 4 << 20  # bytes of a wheel that are asked for at once
WHOLE_MAX = 64 << 20  # bytes of an archive that is taken whole
MEMBER_MAX = 8 << 20  # bytes of a Python file
DEFINED = "defined.json"
DEFINES = re.compile(rb"\b(?:def|class)\s+(\w+)", re.ASCII)
PLATFORMS = ["manylinux_2_%d_x86_64" % n for n in (34, 31, 28, 27, 24, 17, 12, 5)]
PLATFORMS += ["manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux1_x86_64", "linux_x86_64"]


class Missing(Exception):
    """A release, or the registry, that cannot be had; says why."""


def pack(files, path):
    """Keeps (path, bytes) as a release of the cache: whole, or not at all."""
    with zipfile.ZipFile(path + ".part", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as kept:
        defined = {}
        for name, source in files:
            kept.writestr(name, source)
            defined[name] = " ".join(word.decode() for word in DEFINES.findall(source))
        kept.writestr(DEFINED, json.dumps(defined))
    os.replace(path + ".part", path)


class Ranges(io.BufferedIOBase):
    """A file of the registry, read in blocks."""

    def __init__(self, session, link, size):
        self.session, self.link, self.size = session, link, size
        self.at, self.blocks = 0, {}

    def readable(self):
        return True

    def seekable(self):
        return True

    def tell(self):
        return self.at

    def seek(self, offset, whence=0):
        self.at = offset + (0, self.at, self.size)[whence]
        return self.at

    def block(self, number):
        if number not in self.blocks:
            first = number * BLOCK
            last = min(first + BLOCK, self.size) - 1
            answer = get(self.session, self.link, {"Range": "bytes=%d-%d" % (first, last)})
            if answer.status_code != 206 or len(answer.content) != last - first + 1:
                raise Missing("the registry gives no ranges of " + self.link.filename)
            self.blocks[number] = answer.content
        return self.blocks[number]

    def read(self, count=-1):
        end = self.size if count < 0 else min(self.at + count, self.size)
        parts = []
        while self.at < end:
            number, offset = divmod(self.at, BLOCK)
            part = self.block(number)[offset : offset + end - self.at]
            parts.append(part)
            self.at += len(part)
        return b"".join(parts)


def get(session, link, headers=(), method="GET"):
    headers = dict(headers, **{"Accept-Encoding": "identity", "Cache-Control": "no-cache"})
    answer = session.request(method, link.url_without_fragment, headers=headers, timeout=PATIENCE)
    if answer.status_code >= 400:
        raise Missing("%s: the registry answers %d" % (link.filename, answer.status_code))
    return answer


def wanted(path):
    """Python, configurations, and the header in which PyTorch parses the settings of its allocator."""
    return path.endswith((".py", ".yaml", ".yml", "AllocatorConfig.h")) and not {"tests", "test", "testing", "examples"} & set(path.split("/"))


def wheel_files(file):
    with zipfile.ZipFile(file) as wheel:
        members = [m for m in wheel.infolist() if wanted(m.filename) and m.file_size <= MEMBER_MAX]
        for member in sorted(members, key=lambda m: m.header_offset):
            yield member.filename, wheel.read(member)


def sdist_files(file):
    with tarfile.open(fileobj=file, mode="r:*") as sdist:
        for member in sdist:
            if member.isfile() and wanted(member.name) and member.size <= MEMBER_MAX:
                yield member.name.split("/", 1)[-1], sdist.extractfile(member).read()


def functions(source):
    """The qualified names of all functions of a file, as Python 3.11 and later have them in code objects."""
    names = []

    def look(node, prefix):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                names.append(prefix + child.name)
                look(child, prefix + child.name + ".<locals>.")
            elif isinstance(child, ast.ClassDef):
                look(child, prefix + child.name + ".")
            else:
                look(child, prefix)

    look(ast.parse(source), "")
    return names


class Sources:
    """The Python files of a release, from the cache; what they define is looked up when it is asked for."""

    def __init__(self, path):
        self.zip = zipfile.ZipFile(path)
        self.defined = json.loads(self.zip.read(DEFINED))  # {path: words after def and class}
        self.known = {}  # {path: names}; None: not to be parsed by this Python

    def names(self, path, piece):
        """The qualified names of the functions of a file; none where it defines nothing with `piece` in it."""
        if piece not in self.defined[path]:
            return ()
        if path not in self.known:
            try:
                self.known[path] = functions(self.zip.read(path))
            except (SyntaxError, ValueError, RecursionError):
                self.known[path] = None
        return self.known[path]


class Registry:
    """The index that pip is configured to use; asked at most once for each package and file."""

    def __init__(self, cache):
        self.cache = cache
        self.candidates = {}
        os.makedirs(cache, exist_ok=True)

    def __enter__(self):
        # pip's own machinery, for its configuration: index, proxies, certificates. It has no other door to a file's address.
        from pip._internal.commands import create_command
        from pip._internal.models.target_python import TargetPython

        command = create_command("download")
        options, _ = command.parse_args(["-", "--no-deps", "--ignore-requires-python", "--timeout", str(PATIENCE), "--retries", "1"])
        self.context = command.main_context()
        self.context.__enter__()
        self.session = command.get_default_session(options)
        target = TargetPython(platforms=PLATFORMS, py_version_info=(3, 11), implementation="cp")
        self.finder = command._build_package_finder(options, self.session, target_python=target, ignore_requires_python=True)
        return self

    def __exit__(self, *what):
        self.context.__exit__(*what)

    def releases(self, package):
        """{version: [archives]}, as the index has them."""
        if package not in self.candidates:
            found = {}
            for candidate in self.finder.find_all_candidates(package):
                if not candidate.link.is_yanked:
                    found.setdefault(candidate.version, []).append(candidate.link)
            self.candidates[package] = found
        return self.candidates[package]

    def path(self, package, version):
        return os.path.join(self.cache, "%s-%s.zip" % (package, version))

    def newest(self, package):
        """The version, as text: of the index, or, where that does not answer, the newest that is in the cache."""
        versions = [version for version in self.releases(package) if not version.is_prerelease]
        if versions:
            return str(max(versions))
        kept = [name[len(package) + 1 : -4] for name in os.listdir(self.cache) if name.startswith(package + "-") and name.endswith(".zip")]
        if kept:
            return max(kept, key=Version)
        raise Missing("the registry does not answer for " + package)

    def files(self, links):
        """The Python files of a release: (path, bytes), of its wheel where there is one."""
        link = min(links, key=lambda link: (not link.is_wheel, link.filename))
        size = int(get(self.session, link, method="HEAD").headers.get("Content-Length") or 0)
        if link.is_wheel and size > BLOCK:
            return wheel_files(Ranges(self.session, link, size))
        if not 0 < size <= WHOLE_MAX:
            raise Missing("%s: too large to be taken whole" % link.filename)
        content = get(self.session, link).content
        if link.hash and hashlib.new(link.hash_name, content).hexdigest() != link.hash:
            raise Missing("%s: not what the index says it is" % link.filename)
        return (wheel_files if link.is_wheel else sdist_files)(io.BytesIO(content))

    def keep(self, package, version, path):
        links = self.releases(package).get(Version(version))
        if not links:
            answers = self.releases(package)
            raise Missing("the registry has no %s %s" % (package, version) if answers else "the registry does not answer for " + package)
        try:
            pack(self.files(links), path)
        except (OSError, zipfile.BadZipFile, tarfile.TarError) as error:  # those of the network are OSErrors
            raise Missing("%s %s: %s" % (package, version, type(error).__name__)) from error

    def sources(self, package, version):
        path = self.path(package, version)
        if not os.path.exists(path):
            self.keep(package, version, path)
        return Sources(path)
