#!/usr/bin/env python3
"""english.py - counts sentences that are hard to read, in comments, messages and pages. docs/english.md has the rules.

    tools/english.py            fails where a room has more of a kind than tools/english.txt allows
    tools/english.py --lower    writes lower counts into tools/english.txt; never raises one
    tools/english.py PATH...    lists the sentences in these files or folders
"""
import os
import re
import subprocess
import sys

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
DATA = "tools/english.txt"
KINDS = ["openings", "so-many", "long"]
SQL = re.compile(r"\b(SELECT|INSERT|CREATE|UPDATE|VALUES|WHERE|UNION)\b")
OPENING = re.compile(r"(?!---)\W*(what|who|whose|of|that|where)\b", re.I)
SO_MANY = re.compile(r"\bso\s+many\b", re.I)
MOST_WORDS = 30
C_TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
PROSE = re.compile(r"\.(c|h|py|sh|mk|yaml|sql|md|1)$|(^|/)Makefile$")
NO_PROSE = re.compile(r"^CHANGELOG\.md$|^docs/english\.md$")  # the latter quotes bad examples


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def comment_text(comment):
    """The words of a C comment, without its frame; a line of dashes or dots ends a paragraph."""
    if comment.startswith("//"):
        return comment[2:]
    return "\n".join(re.sub(r"^\s*\*(?!/) ?", "", line) for line in comment[2:-2].split("\n"))


def from_c(text):
    """(kind of text, line, words): each comment, and each run of string literals with nothing but blanks between them."""
    message, begin, last = "", 0, None
    for token in C_TOKEN.finditer(text):
        word = token.group()
        if word.startswith("'"):
            continue
        if word.startswith("/"):
            yield "comment", line_of(text, token.start()), comment_text(word)
            continue
        if last is not None and text[last:token.start()].strip(" \t\n\\") == "":
            message += word[1:-1]
        else:
            if message:
                yield "message", begin, message
            message, begin = word[1:-1], line_of(text, token.start())
        last = token.end()
    if message:
        yield "message", begin, message


def from_hashes(text, docstrings, mark="#"):
    """Runs of comment lines; the docstrings of a Python file."""
    if docstrings:
        for match in re.finditer(r'"""(.*?)"""', text, re.S):
            yield "comment", line_of(text, match.start()), match.group(1)
    run, begin = [], 0
    for number, line in enumerate(text.split("\n") + [""], 1):
        match = re.match(r"\s*" + mark + r"+ ?(?!!)(.*)", line)
        if match:
            begin = begin if run else number
            run.append(match.group(1))
            continue
        if run:
            yield "comment", begin, "\n".join(run)
            run = []
        match = re.search(r"\s" + mark + r" ([^\"']*)$", line)
        if match:
            yield "comment", number, match.group(1)


def from_markdown(text):
    """Paragraphs, items and cells; no code, no headings."""
    text = re.sub(r"^( *)```.*?^\1```", lambda m: re.sub(r"[^\n]", "", m.group()), text, flags=re.S | re.M)
    run, begin = [], 0
    for number, line in enumerate(text.split("\n") + [""], 1):
        item = re.match(r"\s*([-*]|\d+\.) ", line)
        if line.startswith("    ") and not run or line.startswith(("#", "|", "<")) or not line.strip() or item:
            if run:
                yield "page", begin, "\n".join(run)
            run = []
            if line.startswith("|"):
                for cell in re.split(r"(?<!\\)\|", line):
                    yield "page", number, cell
            if item:
                run, begin = [line[item.end():]], number
            continue
        begin = begin if run else number
        run.append(line)


def from_manual(text):
    """Paragraphs of a manual page, man or mdoc."""
    run, begin = [], 0
    for number, line in enumerate(text.split("\n") + [".PP"], 1):
        if re.match(r"\.(PP|TP|SH|SS|IP|EX|EE|TH|Pp|It|Sh|Ss|Bl|El|Bd|Ed|nf|fi|RS|RE|\\\")", line):
            if run:
                yield "page", begin, "\n".join(run)
            run = []
            continue
        begin = begin if run else number
        run.append(re.sub(r"^\.[A-Za-z]+ ", "", line))


def pieces(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    if path.endswith((".c", ".h")):
        return from_c(text)
    if path.endswith(".md"):
        return from_markdown(text)
    if path.endswith(".1"):
        return from_manual(text)
    return from_hashes(text, path.endswith(".py"), "--" if path.endswith(".sql") else "#")


def sentences(text):
    """The sentences of a text; a line of a picture or a table is a paragraph of its own."""
    text = text.replace("\\n", "\n\n").replace("\\t", " ")
    text = re.sub(r"^(  +\S.*|.*[^\s.:] {2,}\S.*)$", r"\n\1\n", text, flags=re.M)
    for paragraph in re.split(r"\n\s*(?:[-=*_.]{4,}|-+ [^\n]* -+)?\s*\n|\n(?=\s*[-*] )", text):
        words = " ".join(paragraph.split())
        yield from (s for s in re.split(r"(?<=[.!?;:])\"?\s+(?=[A-Z0-9`'\"(%])|(?<=[.!?]) ", words) if s)


def found(path):
    """(kind, line, sentence) of each sentence to count."""
    for source, line, text in pieces(path):
        for sentence in sentences(text):
            if source == "comment" and OPENING.match(sentence):
                yield "openings", line, sentence
            if SO_MANY.search(sentence):
                yield "so-many", line, sentence
            if len(re.findall(r"[^\W\d_]\S*", sentence)) > MOST_WORDS and not (source == "message" and SQL.search(sentence)):
                yield "long", line, sentence


def room_of(path):
    folder = os.path.dirname(path) or "."
    return "/".join(folder.split("/")[:2]) if folder.startswith(("tests/", "docs/", "samples/")) else folder


def files(paths):
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *paths],
                            capture_output=True, text=True, check=True).stdout.split("\n")
    return [path for path in sorted(set(listed)) if PROSE.search(path) and not NO_PROSE.search(path) and os.path.isfile(path)]


def counted():
    counts = {}
    for path in files(["."]):
        row = counts.setdefault(room_of(path), dict.fromkeys(KINDS, 0))
        for kind, _, _ in found(path):
            row[kind] += 1
    return counts


def allowed():
    rows = {}
    with open(DATA, encoding="utf-8") as file:
        for line in file:
            fields = line.split()
            if fields and not line.startswith("#"):
                rows[fields[0]] = dict(zip(KINDS, map(int, fields[1:])))
    return rows


HEAD = """# The sentences of each room that are hard to read (docs/english.md). `make lint` fails where a room has more than stands here;
# `make english` lowers the numbers. Two changes of one line: take either, then `make english`.
#
"""


def write(rows):
    with open(DATA, "w", encoding="utf-8") as file:
        file.write(HEAD + f"{'# room':<32}" + "".join(f"{kind:>9}" for kind in KINDS) + "\n")
        for room, row in sorted(rows.items()):
            if any(row.values()):
                file.write(f"{room:<32}" + "".join(f"{row[kind]:>9}" for kind in KINDS) + "\n")


def main(arguments):
    if arguments and arguments[0] != "--lower":
        for path in files(arguments):
            for kind, line, sentence in found(path):
                print(f"{path}:{line}: {kind}: {sentence}")
        return 0
    counts, limits = counted(), allowed()
    none = dict.fromkeys(KINDS, 0)
    if arguments:
        write({room: {kind: min(row[kind], limits.get(room, none)[kind]) for kind in KINDS} for room, row in counts.items()})
    worse = [(room, kind) for room, row in sorted(counts.items()) for kind in KINDS if row[kind] > limits.get(room, none)[kind]]
    for room, kind in worse:
        print(f"{room}: {counts[room][kind]} sentences of kind '{kind}', {limits.get(room, none)[kind]} allowed "
              f"({DATA}; tools/english.py {room} lists them; docs/english.md)")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
