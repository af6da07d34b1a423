#!/usr/bin/env python3
"""parts.py TRACE... - the bytes that modules add to a trace, part by part: a table row for each trace.

Two recordings differ in their chunks, because a busy machine writes more of them. This packs the chunks of one trace again without
the parts, one part after the other: DEFS 8 to 10, the texts of names, DEFS 11, the events of names, and which variant of a node each
event has. The figures are of zstd at its level 3.
"""
import collections
import ctypes
import os
import struct
import sys

zstd = ctypes.CDLL("libzstd.so.1")
for name in ("ZSTD_compress", "ZSTD_decompress", "ZSTD_findFrameCompressedSize", "ZSTD_compressBound"):
    getattr(zstd, name).restype = ctypes.c_size_t
zstd.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
PARTS = ("instances and nests", "texts of names", "variants of nodes", "events of names", "variants of events")
STRING, NESTS, VARIANTS, NAMED, NAME, VALUE = 1, (8, 9, 10), 11, 43, 13, 14
KINDS, LAYOUT, VARIED, COLUMN, AGAIN = 2, 3, 4, 32, 64


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


def names_of(path):
    """The texts of names: what events of names alone have."""
    texts, ids = [b""], set()
    for payload in chunks(path):
        kind, found = sections(payload)
        if kind == 2 and STRING in found:
            texts += strings(found[STRING])
        elif kind == 3:
            layout = [number(value)[0] for value in varints(found[LAYOUT])]
            masks = dict(zip(layout[::2], layout[1::2]))
            for field in NAME, VALUE:
                owners = [kind for kind in found[KINDS] if masks[kind] >> field & 1]
                ids |= {number(value)[0] for owner, value in zip(owners, varints(found.get(COLUMN + field, b""))) if owner == NAMED}
    return {texts[one] for one in ids}


def strings(data):
    _, at = number(data)
    count, at = number(data, at)
    for _ in range(count):
        size, at = number(data, at)
        yield data[at:at + size]
        at += size


def without_texts(data, names):
    kept = [text for text in strings(data) if text not in names]
    return varint(number(data)[0]) + varint(len(kept)) + b"".join(varint(len(text)) + text for text in kept)


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


def stages(kind, found, names):
    """The chunk, and then without one part after the other: [(part, sections)]"""
    if kind == 2:
        found = {section: data for section, data in found.items() if section not in NESTS}
        yield PARTS[0], found
        if STRING in found:
            found = {**found, STRING: without_texts(found[STRING], names)}
        yield PARTS[1], found
        yield PARTS[2], {section: data for section, data in found.items() if section != VARIANTS}
    elif kind == 3:
        found = without_names(found)
        yield PARTS[3], found
        yield PARTS[4], {section: data for section, data in found.items() if section != VARIED}
    elif kind == 4:
        yield PARTS[4], {section: data for section, data in found.items() if section != VARIED}


def main():
    print("| " + " | ".join(("trace", "KiB", "without modules", "larger by, %") + tuple(part + ", %" for part in PARTS)) + " |")
    print("|" + "---|" * (4 + len(PARTS)))
    for trace in sys.argv[1:]:
        names, parts = names_of(trace), collections.Counter()
        for payload in chunks(trace):
            kind, found = sections(payload)
            size = size_of(kind, found)
            for part, found in stages(kind, found, names):
                parts[part] += size - size_of(kind, found)
                size = size_of(kind, found)
        whole = os.path.getsize(trace)
        rest = whole - sum(parts.values())
        print("| %s | %.1f | %.1f | %.1f | %s |" % (trace, whole / 1024, rest / 1024, 100.0 * (whole - rest) / rest,
                                                    " | ".join("%.1f" % (100.0 * parts[part] / rest) for part in PARTS)))


main()
