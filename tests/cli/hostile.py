"""hostile.py MEMANA TRACE WHAT: every command of memana on files that are broken on purpose.

The kind: traces, databases, rules or configurations. Each command must end in time and without a signal: with exit status 3 and one line
on stderr, or with an answer about what stands before the damage.
"""
import os
import random
import re
import resource
import shutil
import sqlite3
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

MEMANA, TRACE, WHAT = sys.argv[1:]
SECONDS = 60  # a hang is much longer, a sanitizer on a busy machine is not
MEMORY = 1024  # MiB

# The words on the command line if they are not just the file's name. OUT: a file of the run's own.
ARGUMENTS = {
    "load": ["FILE", "-o", "OUT"],
    "sql": ["FILE", "SELECT count(*) FROM sqlite_schema"],
    "diff": [TRACE, "FILE"],
    "check": ["FILE", "--max-peak", "1TiB"],
    "import": ["FILE", "-o", "OUT"],
    "export": ["FILE", "--to", "csv", "-o", "OUT"],
    "advise": ["FILE", "--framework", "auto"],
    "tui": None,
    "live": None,  # they wait for what is not there yet: test_live.sh, test_wait.sh
    "wait": None,
}


def commands():
    usage = subprocess.run([MEMANA, "--help"], capture_output=True, check=True, text=True).stdout
    return re.findall(r"^  (\w+) +(\S+)", usage, re.M)


def takes(command, arguments):
    if WHAT == "rules":
        return "--rules" in subprocess.run([MEMANA, command, "--help"], capture_output=True, text=True).stdout
    return ("DB" if WHAT == "databases" else "TRACE") in arguments


def ask(command, path, options=()):
    stand_for = {"FILE": path, "OUT": f"{path}.{command}"}
    arguments = [stand_for.get(word, word) for word in ARGUMENTS.get(command, ["FILE"])]
    try:
        run = subprocess.run([MEMANA, command, *options, *arguments], capture_output=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return "none", f"still at work after {SECONDS} s"
    return run.returncode, run.stderr.decode(errors="replace")


def judge(title, command, path, must_refuse):
    code, errors = ask(command, TRACE, ["--rules", path]) if WHAT == "rules" else ask(command, path)
    problem = ""
    if code not in ((3,) if must_refuse else (0, 1, 3)):
        problem = f"exit status {code}"
    elif code == 3 and (len(errors.splitlines()) != 1 or not errors.startswith("memana: ")):
        problem = "not one line of memana's"
    elif code != 3 and errors:
        problem = "an answer, and words on stderr"
    if problem:
        print(f"# {title}: memana {command}: {problem}\n# {errors[-300:]}")
    return not problem


def make(number, content):
    path = f"broken{number}"
    if callable(content):
        content(path)
    else:
        open(path, "wb").write(content)
    return path


def try_all(title, files, must_refuse=True):
    """files: (name, bytes) or (name, function that makes the file at a path)."""
    asked = [command for command, arguments in commands()
             if ARGUMENTS.get(command, []) is not None and takes(command, arguments)]
    made = [(f"{title} ({name})", make(number, content)) for number, (name, content) in enumerate(files)]
    with ThreadPoolExecutor(4) as pool:
        good = list(pool.map(lambda one: judge(one[0][0], one[1], one[0][1], must_refuse),
                             [(file, command) for file in made for command in asked]))
    print(f"{'ok' if good and all(good) else 'not ok'} {title}")


def try_memory():
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    print(f"{'ok' if most < MEMORY else 'not ok'} {WHAT}: no command took more than {MEMORY} MiB")


# ---- traces --------------------------------------------------------------------------------------------------------


def zstd_frame(claimed, size):
    """A frame of zeros that says `claimed` bytes and has `size`, 128 KiB a block of four bytes."""
    blocks = [(128 << 10)] * (size >> 17) or [min(size, 128 << 10)]
    frame = struct.pack("<IBBQ", 0xFD2FB528, 0xC4, 0x38, claimed)  # content size of 8 bytes, checksum, window
    for i, block in enumerate(blocks):
        frame += struct.pack("<I", (block << 3) | 2 | (i == len(blocks) - 1))[:3] + b"\0"
    return frame + b"\0\0\0\0"


def traces():
    data = open(TRACE, "rb").read()
    noise = random.Random(1)
    head = data[: data.find(struct.pack("<I", 0xFD2FB528), data.find(struct.pack("<I", 0xFD2FB528)) + 1)]
    try_all("an empty trace", [("empty", b"")])
    try_all("garbage", [("bytes", noise.randbytes(5000)), ("zeros", bytes(5000)), ("text", b"hello\n" * 100)])
    try_all("a trace's beginning, then garbage", [("garbage", head + noise.randbytes(5000))])
    for title, frame in (("a chunk that says it has 4 GiB", zstd_frame(4 << 30, 1000)),
                         ("a chunk that has 4 GiB", zstd_frame(4 << 30, 4 << 30)),
                         ("a chunk that has more than it says", zstd_frame(1 << 20, 4 << 30))):
        try_all(title, [("alone", frame), ("behind a good one", head + frame)])
    cuts = [len(data) * i // 7 for i in range(1, 7)]
    try_all("cut anywhere", [(f"at {cut}", data[:cut]) for cut in cuts], must_refuse=False)
    flips = []
    for _ in range(6):
        broken = bytearray(data)
        at = noise.randrange(len(data))
        broken[at] ^= 1 << noise.randrange(8)
        flips.append((f"at {at}", bytes(broken)))
    try_all("a bit is wrong", flips, must_refuse=False)


# ---- databases -----------------------------------------------------------------------------------------------------


def changed(*statements):
    def make(path):
        shutil.copyfile("good.db", path)
        db = sqlite3.connect(path)
        db.execute("PRAGMA foreign_keys = OFF")
        db.execute("PRAGMA writable_schema = ON")
        for statement in statements:
            db.execute(statement)
        db.commit()
        db.close()

    return make


def foreign(path):
    if os.path.exists(path):
        os.remove(path)
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE peak (device, bytes)")
    db.execute("CREATE TABLE process (id)")
    db.commit()
    db.close()


def columns(path):
    db = sqlite3.connect(path)
    tables = [row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
    info = {table: db.execute(f"PRAGMA table_info({table})").fetchall() for table in tables}
    found = [(table, [row[1] for row in info[table] if not row[5]]) for table in tables]  # without primary keys
    db.close()
    return found


VALUES = ("NULL", "'x'", "''", "x'ff00'", "-1", "0", "1", "7", "1e308", "-1e308", "9e999", "0.5", str(2**31), str(2**32), str(2**53),
          str(2**62), str(2**63 - 1), str(1 - 2**63), f"{2**63 - 1} + 1", "'GPU-0'", "'tensor'", "'driver'", "'forward'")


def altered(noise, tables):
    """A few columns have other values, in one row, in some, or in all."""
    statements = []
    for _ in range(noise.randrange(1, 4)):
        table, names = noise.choice([(table, names) for table, names in tables if names])
        column = noise.choice(names)
        rows = noise.choice(("", "max", "min"))
        rows = rows and f" WHERE {column} = (SELECT {rows}({column}) FROM {table})"
        statements.append(f"UPDATE OR IGNORE {table} SET {column} = {noise.choice(VALUES)}{rows}")
    return "; ".join(statements), changed(*statements)


def databases():
    subprocess.run([MEMANA, "load", TRACE, "-o", "good.db"], check=True, capture_output=True)
    data = open("good.db", "rb").read()
    noise = random.Random(2)
    tables = columns("good.db")
    try_all("another program's database", [("foreign", foreign)])
    try_all("a database of a later version", [("version", changed("PRAGMA user_version = 999999"))])
    try_all("a database's beginning, then garbage", [("garbage", data[:100] + noise.randbytes(20000))])
    try_all("a database cut off", [(f"at {cut}", data[:cut]) for cut in (10, 99, 100, 512, len(data) // 2)],
            must_refuse=False)
    try_all("a table is gone", [(table, changed(f"DROP TABLE {table}")) for table, _ in tables[::4]])
    try_all("a column is gone", [("stack", changed("ALTER TABLE site RENAME COLUMN node TO stack"))])
    for what, value in (("words", "'x' || {0}"), ("null", "NULL")):
        try_all(f"{what} where numbers belong", [
            (" ".join(table for table, _ in some), changed(*(f"UPDATE OR IGNORE {table} SET {c} = {value.format(c)}"
                                                             for table, names in some for c in names)))
            for some in (tables[i::4] for i in range(4))], must_refuse=False)
    for number in (-1, 2**63 - 1, -(2**63) + 1):
        statements = [f"UPDATE OR IGNORE {table} SET {column} = {number}" for table, names in tables
                      for column in names if column not in ("parent", "frame")]
        try_all(f"{number} everywhere", [("numbers", changed(*statements))], must_refuse=False)
    try_all("a sum that is too large", [("bytes", changed(f"UPDATE allocation_raw SET bytes = {2**63 - 1}"))],
            must_refuse=False)
    try_all("a part that is too small", [("part", changed("UPDATE peak SET bytes = -1",
                                                          f"UPDATE peak_part SET bytes = {-2**63}"))],
            must_refuse=False)
    try_all("nothing where something belongs", [("all", changed(*(f"DELETE FROM {table}" for table, _ in tables)))],
            must_refuse=False)
    try_all("a stack without an end", [("loop", changed("UPDATE stack_node SET parent = id"))], must_refuse=False)
    try_all("values are altered", [altered(noise, tables) for _ in range(int(os.environ.get("ALTERED", "8")))], must_refuse=False)
    flips = []
    for _ in range(6):
        broken = bytearray(data)
        for _ in range(20):
            broken[noise.randrange(100, len(data))] = noise.randrange(256)
        flips.append(("pages", bytes(broken)))
    try_all("bytes are wrong", flips, must_refuse=False)


# ---- rules ---------------------------------------------------------------------------------------------------------


def rules():
    noise = random.Random(3)
    rule = b"rules:\n  - function: '^f$'\n    role: rollout\n"
    levels = [b"a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    for i in range(1, 12):
        levels.append(b"a%d: &a%d [%s]" % (i, i, b", ".join([b"*a%d" % (i - 1)] * 9)))
    try_all("garbage instead of rules", [("bytes", noise.randbytes(2000)), ("zeros", bytes(2000)),
                                         ("words", b"hello\n" * 9)])
    try_all("rules within rules", [("lists", b"[" * 100000), ("maps", b"rules: " + b"{a: " * 100000)])
    try_all("rules that grow when they are read", [("aliases", b"\n".join(levels))])
    try_all("rules without an end", [("large", rule + b"# \n" * (1 << 20)), ("many", rule + rule[7:] * 5000)])
    try_all("rules that mean nothing", [
        ("a key", rule + b"    colour: red\n"), ("a value", rule.replace(b"rollout", b"sleeping")),
        ("a pattern", rule.replace(b"^f$", b"(f")), ("a range", rule.replace(b"^f$", b"f{1,30000}")),
        ("no pattern", b"rules:\n  - role: rollout\n")])
    try_all("rules cut off", [(f"at {cut}", rule[:cut]) for cut in (9, 20, 40)])


# ---- configurations ------------------------------------------------------------------------------------------------


def nested(begin, end, levels=12):
    """Billions of things by aliases of aliases."""
    lines = [b"a0: &a0 " + begin + b"x: 1" + end if begin == b"{" else b"a0: &a0 [x]"]
    for level in range(1, levels):
        inner = b", ".join([b"*a%d" % (level - 1)] * 9)
        lines.append(b"a%d: &a%d %s%s%s" % (level, level, begin, b"<<: [" + inner + b"]" if begin == b"{" else inner, end))
    return b"\n".join(lines)


def configure(name, content, codes):
    with open("config", "wb") as file:
        for piece in content if isinstance(content, (list, tuple)) else [content]:
            file.write(piece)
    run = subprocess.run([MEMANA, "advise", "--framework", "verl", "--config", "config", TRACE], capture_output=True,
                         timeout=SECONDS)
    text, errors = run.stdout.decode(), run.stderr.decode()
    harmful = [sign for sign in text + errors if (sign < " " and sign != "\n") or "\x7f" <= sign < "\xa0" or sign == "\u202e"]
    lines = len(errors.splitlines())
    good = run.returncode in codes and lines == (run.returncode == 3) and not harmful
    if not good:
        print(f"# {name}: exit status {run.returncode}, {lines} lines, {harmful[:3]}\n# {errors[-300:]}")
    print(f"{'ok' if good else 'not ok'} a configuration: {name}")


def configurations():
    for name, content, *codes in (
            ("of 100 MB", [b"a: b\n" * (1 << 20)] * 20, 3), ("empty", b"", 3), ("lists in lists", b"[" * 200000, 3),
            ("mappings in mappings", b"a: " + b"{a: " * 100000, 3), ("too many keys", b"".join(b"k%d: 1\n" % i for i in range(70000)), 3),
            ("a NUL byte", b"a: b\0c\n", 3), ("no UTF-8", b"a: \xff\xfe\n", 3), ("a key of 3 MB", b"x" * 3000000 + b": 1", 3),
            ("a value of 3 MB", b"a: " + b"x" * 3000000, 0), ("aliases of aliases", nested(b"[", b"]"), 0),
            ("merges of merges", nested(b"{", b"}"), 0), ("pointers to themselves", b"a: ${a}\nb: ${..b}\nc: ${oc.select:c,${c}}\n", 0),
            ("a chain of pointers", b"".join(b"k%d: ${k%d}\n" % (i, i + 1) for i in range(60000)), 0),
            ("escapes of terminals", b'ppo_max_token_len_per_gpu: "\\e[31m\\x9b"\n"ppo_max_token_len_per_gp\\e]0;x\\a": 1\n'
             b'"ppo_max_token_len_per_gpu\\u202e": "\\u202e"\n', 0, 3),
            ("60,000 keys that nearly are some", b"".join(b"ppo_max_token_len_per_gp%d: 1\n" % i for i in range(60000)), 0)):
        configure(name, content, codes)


{"traces": traces, "databases": databases, "rules": rules, "configurations": configurations}[WHAT]()
try_memory()
