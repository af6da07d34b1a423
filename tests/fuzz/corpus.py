"""corpus.py BUILD OUT - puts what each fuzz target begins with into OUT/TARGET.

It is made of what the tree has: golden files, the importer's snapshots, the rules, a sample program. The tree keeps in
tests/fuzz/corpus/TARGET only what the fuzzers found.
"""
import contextlib
import glob
import gzip
import os
import shutil
import sqlite3
import struct
import subprocess
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD, OUT = sys.argv[1:]
sys.path.insert(0, os.path.join(SOURCE, "tests/cli"))


def tree(*path):
    return sorted(glob.glob(os.path.join(SOURCE, *path)))


def save(target, name, data):
    with open(os.path.join(OUT, target, name), "wb") as file:
        file.write(data)


def copy(target, paths):
    for path in paths:
        shutil.copy(path, os.path.join(OUT, target))


def kept(target):
    """The inputs that the fuzzers found; large files are packed."""
    for path in tree("tests/fuzz/corpus", target, "*"):
        name = os.path.basename(path)
        with gzip.open(path) if name.endswith(".gz") else open(path, "rb") as file:
            save(target, name.removesuffix(".gz"), file.read())


# ---- one function for each target -------------------------------------------------------------------------------


def trace():
    copy("trace", tree("tests/golden/*.zst") + tree("tests/golden/bad/*.zst"))


def summary():
    subprocess.run([os.path.join(BUILD, "memrec"), "-o", os.path.join(OUT, "summary", "rl_step.zst"), "--",
                    os.path.join(BUILD, "samples/rl_step"), "--steps", "12"], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL,
                   env={**os.environ, "LD_LIBRARY_PATH": os.path.join(BUILD, "standin"), "STANDIN_MEM": "400GiB"})


def report():
    copy("report", tree("tests/golden/v1-*.zst"))


def facts():
    """Short traces, and one of a failed request."""
    copy("facts", tree("tests/golden/v1-*.zst"))
    folder = os.path.join(OUT, "facts", "case")
    os.mkdir(folder)
    subprocess.run([os.path.join(BUILD, "cases/make_case"), os.path.join(SOURCE, "tests/cases/torchtune-1046.case"), folder],
                   check=True, stdout=subprocess.DEVNULL)
    copy("facts", glob.glob(os.path.join(folder, "*.zst")))
    shutil.rmtree(folder)


def database(target, trace, name):
    """With the smallest pages: a mutation shall hit something."""
    path = os.path.join(OUT, target, name)
    subprocess.run([os.path.join(BUILD, "memana"), "load", trace, "-o", path], check=False, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    if not os.path.exists(path):
        return
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA page_size = 512")
        connection.execute("VACUUM")


def sql():
    for path in tree("tests/golden/v1-*.zst"):
        database("sql", path, os.path.basename(path).replace(".zst", ".db"))


def screen():
    copy("screen", tree("tests/golden/v1-*.zst") + sorted(glob.glob(os.path.join(OUT, "sql", "*.db"))))


def advice():
    """The databases of `sql`, and of runs that there is something to say about."""
    copy("advice", sorted(glob.glob(os.path.join(OUT, "sql", "*.db"))))
    for case in ("two-ranks", "trl-6684", "verl-6912"):
        folder = os.path.join(OUT, "advice", case)
        os.mkdir(folder)
        subprocess.run([os.path.join(BUILD, "cases/make_case"), os.path.join(SOURCE, f"tests/cases/{case}.case"), folder],
                       check=True, stdout=subprocess.DEVNULL)
        database("advice", folder, f"{case}.db")
        shutil.rmtree(folder)


def pickle():
    make = os.path.join(SOURCE, "tests/cli/import_make.py")
    for case in ("history", "expandable", "cached", "devices", "old", "segments_only"):
        subprocess.run([sys.executable, make, os.path.join(OUT, "pickle", case), case], check=True)
    for protocol in range(6):
        path = os.path.join(OUT, "pickle", f"history-{protocol}")
        subprocess.run([sys.executable, make, path, "history", str(protocol)], check=False, stderr=subprocess.DEVNULL)


def rules():
    copy("rules", tree("formats/rules/*.yaml"))
    save("rules", "patterns", b"rules:\n  - function: '^(a|[b-d]+)*x?\\.{1,3}$'\n    role: rollout\n    step: ends\n"
                              b"  - mark: 'F[^ ]o'\n    part: forward\ncategories:\n  forward: logits\n\0Foo.step")


def straight():
    copy("straight", sorted(glob.glob(os.path.join(OUT, "pickle", "*"))))


def knobs():
    copy("knobs", tree("formats/knobs/*.yaml"))
    save("knobs", "smallest", b"framework: a\nreleases:\n  - {version: '1', date: 2024-01-01}\nwritten: flag\nknobs:\n"
                              b"  - key: --a\n    source: a.py:1\n    what: a\n    unit: bytes\n")


# The settings of each framework: the parts of fuzz_config.c.
SETTINGS = (
    (b"verl", b"use_dynamic_bsz=True", b"actor_rollout_ref.actor.ppo_max_token_len_per_gpu=4096",
     b"python3 -m verl.trainer.main_ppo actor_rollout_ref.rollout.n=5 ++actor_rollout_ref.model.use_liger=True",
     b"expandable_segments:True,max_split_size_mb:128",
     b"defaults:\n  - ppo_trainer\n  - _self_\nactor_rollout_ref:\n  actor: &a\n    ppo_max_token_len_per_gpu: 16384\n"
     b"    use_dynamic_bsz: ${.other}\n    other: yes\n  ref: *a\n  rollout: {gpu_memory_utilization: 0.6, n: [1, 2]}\n"),
    (b"trl", b"GRPOConfig.max_completion_length=1024", b"per_device_train_batch_size=1",
     b"python grpo.py --gradient_checkpointing true --bf16", b"roundup_power2_divisions:[256:1,512:2,>:8]",
     b'{"per_device_train_batch_size": 8, "optim": "adamw_torch", "args": {"max_length": null}}'),
    (b"auto", b"--recompute-granularity=full", b"--micro-batch-size=1", b"train.py --micro-batch-size 4 --bf16",
     b"garbage_collection_threshold:0.6,backend:native", b"a: |\n  x\n  y\n? [b]\n: c\nd: !!int '1'\n"),
)


def config():
    for parts in SETTINGS:
        save("config", parts[0].decode(), b"\0".join(parts))


def elf():
    sample = os.path.join(SOURCE, "samples/engine.c")
    compiler = os.environ.get("CC", "cc").split()
    for name, options in (("dwarf5", ["-gdwarf-5"]), ("dwarf4", ["-gdwarf-4"]), ("compressed", ["-g", "-gz=zlib"]),
                          ("stripped", ["-s"])):
        subprocess.run([*compiler, "-O2", *options, "-shared", "-fPIC", "-nostdlib", "-Wl,--build-id", "-o",
                        os.path.join(OUT, "elf", name), sample], check=True)


def pyline():
    code = compile("def f(a,\n      b=(1,\n  2)):\n    for i in a:\n        try:\n            b = [x\n"
                   "                 for x in a]\n        finally:\n            del a\n" + "\n" * 200 + "    return b\n",
                   "made_up", "exec")
    function = next(constant for constant in code.co_consts if hasattr(constant, "co_code"))
    for constant in (code, function):
        for minor in (6, 9, 10, 11, 14):
            table = constant.co_lnotab if minor < 10 else constant.co_linetable
            for offset in (0, 20, 60):
                save("pyline", f"{constant.co_name.strip('<>')}-{minor}-{offset}",
                     struct.pack("<BII", minor, constant.co_firstlineno, offset) + table)


# ---- rings: the pieces of fuzz_ring.c ---------------------------------------------------------------------------


def piece(kind, data):
    return struct.pack("<BH", kind, len(data)) + data


def event(slot, kind, stack=0, device=0, name=b"", domain=b"", **fields):
    numbers = [fields.get(n, 0) for n in ("addr", "size", "total", "reserved", "handle", "offset", "value")]
    return piece(0, struct.pack("<BBIHBbQQQIi7QIIIHH", slot, 1, 0, 0, kind, 1, 0, fields.get("time", 5000), stack,
                                slot + 1, device, *numbers, fields.get("entry", 0), fields.get("result", 0),
                                fields.get("flags", 0), len(name), len(domain)) + name + domain)


def log(kind, key, data):
    return piece(1, struct.pack("<BIIQ", 1, 0, kind, key) + data)


def definitions():
    table = bytes([0x80, 0, 0xd9, 2, 0x98, 1])
    code = struct.pack("<IHHHHI", 10, 4, 9, 8, 0, len(table)) + b"step" + b"Adam.step" + b"train.py" + table
    module = struct.pack("<QQQII", 0x1000, 0x9000, 0x1000, 20, 7) + bytes(range(20)) + b"/lib/x1"
    stack = struct.pack("<HHHH", 1, 2, 0, 0) + struct.pack("<QII", 77, 4, 0) + struct.pack("<QQ", 0x2000, 0x8fff)
    threads = b"".join(log(4, serial, struct.pack("<IIII", 100 + serial, serial == 1, 4, 0) + b"main")
                       for serial in (1, 2, 3, 4))
    return threads + log(3, 0, module) + log(2, 77, code) + log(1, 500, stack)


def ring():
    driver = [event(0, 8, 500, addr=0x7f00000, size=1 << 24, entry=6), event(0, 18, 500, handle=9, size=1 << 21),
              event(1, 16, addr=0x9000000, size=1 << 24), event(1, 21, addr=0x9000000, size=1 << 21, handle=9),
              event(1, 22, addr=0x9000000, size=1 << 21), event(0, 19, handle=9), event(0, 11, 500, size=5, result=2)]
    tensors = [event(i % 4, kind, 500, addr=0x7f00000 + 512 * (i // 2), size=512, total=512, reserved=1 << 24)
               for i, kind in enumerate((1, 2) * 6)]
    marks = [event(0, 32, name=b"rollout", domain=b"verl"), event(1, 37, name=b"train"), event(0, 40), event(0, 41),
             event(1, 38), event(0, 33), event(2, 36, name=b"mark"), event(2, 39), event(0, 34, handle=3, name=b"r"),
             event(0, 35, handle=3), event(0, 3, 500, size=1 << 40), event(0, 9, 500, addr=0x7f00000)]
    everything = definitions() + b"".join(driver + tensors + marks)
    save("ring", "everything", everything)
    save("ring", "without-definitions", b"".join(tensors + marks))
    for name, offset, data in (("sizes", 8, bytes(32)), ("python-3.9", 60, struct.pack("<I", 0x030900f0)),
                               ("python-3.10", 60, struct.pack("<I", 0x030a00f0)),
                               ("steps", 28872, struct.pack("<I", 1)), ("skip", 28876, struct.pack("<I", 1)),
                               ("step-mark", 28880, b"train*"), ("keep", 29136, struct.pack("<Q", 1 << 16))):
        save("ring", name, everything + piece(2, struct.pack("<I", offset) + data))  # struct ring_header
    save("ring", "slot", everything + piece(3, struct.pack("<BH", 0, 104) + bytes(24)))


TARGETS = (trace, summary, report, facts, ring, pickle, straight, rules, knobs, config, sql, screen, advice, elf, pyline)

for target in TARGETS:
    os.makedirs(os.path.join(OUT, target.__name__), exist_ok=True)
    target()
    kept(target.__name__)
