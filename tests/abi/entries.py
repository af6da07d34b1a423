"""entries.py - prints the tables of docs/driver-entries.md from recorder/agent/cuda/driver_entries.h and driver_notes.h."""
import os
import re

RECORDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../recorder/agent/cuda")
FIELDS = ("device", "addr", "size", "handle", "value")


def text_of(name):
    """A header without the ends of macro lines."""
    return re.sub(r"\s*\\\n\s*", "\n", open(os.path.join(RECORDER, name)).read())


def arguments(text):
    """The arguments of X(...), which may have parentheses themselves."""
    parts, depth = [""], 0
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == "," and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts]


def words(expression):
    """ID(a->pool) is pool, OUT(a->total) is *total, SUM(a->sizes, a->count) is sum of sizes."""
    expression = re.sub(r"a->|&|NUMBER|ID|PLACE|OF", "", expression)
    expression = re.sub(r"OUT\((\w+)\)", r"*\1", expression)
    expression = re.sub(r"IN\((\w+), (\w+)\)", r"\1->\2", expression)
    expression = re.sub(r"(POOL|GRAPH)_VALUE\(.*\)", "*value", expression)
    expression = re.sub(r"FIRST\((\w+), \w+\)", r"first of \1", expression)
    expression = re.sub(r"SUM\((\w+), \w+\)", r"sum of \1", expression)
    return re.sub(r"^\(+(.*?)\)+$", r"\1", expression)


def notes():
    says = {}
    text = text_of("driver_notes.h").replace(",\n", ", ")
    for line in text.splitlines():
        if line.startswith("X(cu"):
            entry, *fields = arguments(line[2:line.rindex(")")])
            says[entry] = ", ".join("%s: %s" % (field, words(value)) for field, value in zip(FIELDS, fields)
                                    if value not in ("0", "HERE"))
    return says


def since(version):
    return "11" if version == "11000" else "%d.%d" % (int(version) // 1000, int(version) % 1000 // 10)


def row(*cells):
    print("| " + " | ".join(cell.replace("*", r"\*") if i else cell for i, cell in enumerate(cells)) + " |")


def main():
    text, says = text_of("driver_entries.h"), notes()
    policies = re.findall(r'^X\((\w+), "(.*)"\)', text, re.M)
    classes = re.findall(r'^X\((\w+), (\w+), "(.*)"\)', text, re.M)
    print("| policy | |\n|---|---|")
    for name, meaning in policies:
        row(name, meaning)
    print("\n| class | policy | |\n|---|---|---|")
    for name, policy, meaning in classes:
        row(name, policy, meaning)
    print("\n| entry | id | class | memory | since | what the note says |\n|---|---|---|---|---|---|")
    takes = {name for name, policy, _ in classes if policy in ("TAKE", "PLACE")} | {"GRAPH_USE", "GRAPH_EXEC"}
    entry_list = text[text.index("#define CUDA_ENTRY_LIST"):]
    for group, name, number, kind, space, version in re.findall(
            r"^/\* (.+) \*/$|^X\((cu\w+), (\d+), (\w+), (\w+), (\d+)\)", entry_list, re.M):
        if group:
            print("| *%s* | | | | | |" % group)
        else:
            row(name, number, kind, space.lower() if kind in takes else "", since(version), says.get(name, ""))


main()
