#!/usr/bin/env python3
"""parts.py BUILD TRACE... - the bytes that modules add to a trace, part by part: a table row for each trace.

Two recordings differ in their chunks, because a busy machine writes more of them. This packs the chunks of one trace again without
the parts, one part after the other: DEFS 8 to 10, the texts of names, nodes that differ in their nests alone, the events of names,
and the stacks' numbers. The figures are of zstd at its level 3.
"""
import collections
import ctypes
import os
import sqlite3
import struct
import subprocess
import sys
import tempfile

zstd = ctypes.CDLL("libzstd.so.1")
for name in ("ZSTD_compress", "ZSTD_decompress", "ZSTD_findFrameCompressedSize", "ZSTD_compressBound"):
    getattr(zstd, name).restype = ctypes.c_size_t
zstd.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
PARTS = ("instances and nests", "texts of names", "nodes", "events of names", "stacks of events")
STRING, NODE, NESTS, NAMED, STACK = 1, 4, (8, 9, 10), 43, 3
KINDS, LAYOUT, COLUMN, AGAIN = 2, 3, 32, 64


def packed(payload):
    out = ctypes.create_string_buffer(zstd.ZSTD_compressBound(ctypes.c_size_t(len(payload))))
    return zstd.ZSTD_compress(out, ctypes.c_size_t(len(out)), payload, ctypes.c_size_t(len(payload)), 3)


def chunks(path):
    """Payloads."""
    with open(path, "rb") as file:
        data = file.read()
    at = 0
    while at < len(data):
        magic, size = struct.unpack_from("<II", data, at)
        if magic & 0xfffffff0 == 0x184D2A50:
            at += 8 + size
            continue
        frame = data[at:at + zstd.ZSTD_findFrameCompressedSize(data[at:], ctypes.c_size_t(len(data) - at))]
        at += len(frame)
        out = ctypes.create_string_buffer(zstd.ZSTD_getFrameContentSize(frame, ctypes.c_size_t(len(frame))))
        zstd.ZSTD_decompress(out, ctypes.c_size_t(len(out)), frame, ctypes.c_size_t(len(frame)))
        yield out.raw


def number(data, at=0):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


def varint(value):
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def varints(data):
    """Each as bytes."""
    begin = 0
    for at, byte in enumerate(data):
        if byte < 128:
            yield data[begin:at + 1]
            begin = at + 1


def sections(payload):
    kind, at = number(payload)
    found = {}
    while at < len(payload):
        section, at = number(payload, at)
        size, at = number(payload, at)
        found[section] = payload[at:at + size]
        at += size
    return kind, found


def size_of(kind, found):
    return packed(varint(kind) + b"".join(varint(section) + varint(len(data)) + data for section, data in sorted(found.items())))


class Without:
    """The names and nodes of a trace, and the nodes' numbers without nests."""

    def __init__(self, build, trace):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "db")
            subprocess.run([build + "/memana", "load", trace, "-o", path], check=True, capture_output=True)
            database = sqlite3.connect(path)
            self.names = {row[0].encode() for row in database.execute("SELECT name FROM module_name")}
            nodes = database.execute("SELECT id, parent, frame FROM stack_node ORDER BY id").fetchall()
            database.close()
        self.id, self.parent, self.is_first, ids = {0: 0}, {}, {}, {}
        for node, parent, frame in nodes:
            key = self.id[parent or 0], frame
            self.is_first[node] = key not in ids
            self.id[node] = ids.setdefault(key, len(ids) + 1)
            self.parent[node] = self.id[parent or 0]

    def strings(self, data):
        first, at = number(data)
        count, at = number(data, at)
        kept = []
        for _ in range(count):
            size, at = number(data, at)
            if data[at:at + size] not in self.names:
                kept.append(varint(size) + data[at:at + size])
            at += size
        return varint(first) + varint(len(kept)) + b"".join(kept)

    def nodes(self, data):
        first, count, *values = (number(value)[0] for value in varints(data))
        own = [(node, frame) for node, frame in zip(range(first, first + count), values[1::2]) if self.is_first[node]]
        return varint(self.id[first]) + varint(len(own)) + b"".join(
            varint(self.id[node] - self.parent[node]) + varint(frame) for node, frame in own)

    def stacks(self, data):
        return b"".join(varint(self.id[number(value)[0]]) for value in varints(data))


def without_names(found):
    """EVENTS without those of names. Differences to them are left as they are."""
    kinds, layout = found[KINDS], [number(value)[0] for value in varints(found[LAYOUT])]
    masks = dict(zip(layout[::2], layout[1::2]))
    out = dict(found)
    out[KINDS] = bytes(kind for kind in kinds if kind != NAMED)
    out[LAYOUT] = b"".join(varint(kind) + varint(mask) for kind, mask in masks.items() if kind != NAMED)
    for field in range(AGAIN - COLUMN):
        has = [kind != NAMED for kind in kinds if masks[kind] >> field & 1]
        values = list(varints(found.get(COLUMN + field, b"")))
        if AGAIN + field in found:
            again, values = list(varints(found[AGAIN + field])), iter(values)
            pairs = [(back, next(values) if back == b"\0" else b"") for back in again]
            out[AGAIN + field] = b"".join(back for (back, _), keep in zip(pairs, has) if keep)
            out[COLUMN + field] = b"".join(value for (_, value), keep in zip(pairs, has) if keep)
        elif values:
            out[COLUMN + field] = b"".join(value for value, keep in zip(values, has) if keep)
    return out


def stages(kind, found, without):
    """The chunk, and then without one part after the other: [(part, sections)]"""
    if kind == 2:
        found = {section: data for section, data in found.items() if section not in NESTS}
        yield PARTS[0], found
        for part, section, change in ((PARTS[1], STRING, without.strings), (PARTS[2], NODE, without.nodes)):
            found = {**found, section: change(found[section])} if section in found else found
            yield part, found
    elif kind == 3:
        found = without_names(found)
        yield PARTS[3], found
        if COLUMN + STACK in found:
            yield PARTS[4], {**found, COLUMN + STACK: without.stacks(found[COLUMN + STACK])}


def main():
    print("| " + " | ".join(("trace", "KiB", "without modules", "larger by, %") + tuple(part + ", %" for part in PARTS)) + " |")
    print("|" + "---|" * (4 + len(PARTS)))
    for trace in sys.argv[2:]:
        without, parts = Without(sys.argv[1], trace), collections.Counter()
        for payload in chunks(trace):
            kind, found = sections(payload)
            size = size_of(kind, found)
            for part, found in stages(kind, found, without):
                parts[part] += size - size_of(kind, found)
                size = size_of(kind, found)
        whole = os.path.getsize(trace)
        rest = whole - sum(parts.values())
        print("| %s | %.1f | %.1f | %.1f | %s |" % (trace, whole / 1024, rest / 1024, 100.0 * (whole - rest) / rest,
                                                    " | ".join("%.1f" % (100.0 * parts[part] / rest) for part in PARTS)))


main()
