"""rulefile.py - the rules of formats/rules, as much of them as tests/rules holds against real releases. They are YAML of
one form, which the programs' own reader checks; what is not of that form is an error here.
"""
import re
from dataclasses import dataclass, field

LINE = re.compile(r"""^(?P<indent> *)(?P<dash>- )?(?P<key>[a-z-]+):(?:\s+(?:'(?P<quoted>(?:[^']|'')*)'|(?P<plain>[^'#\s][^#]*?)))?\s*(?:\#.*)?$""")


@dataclass
class Rule:
    file: str  # file below formats/rules
    line: int
    keys: dict = field(default_factory=dict)

    def get(self, key):
        return self.keys.get(key)


@dataclass
class RuleFile:
    rules: list
    keys: dict


def read(path, name):
    rules, top, at = [], {}, None
    with open(path) as file:
        for number, line in enumerate(file, 1):
            if not line.split("#")[0].strip():
                continue
            match = LINE.match(line.rstrip("\n"))
            if not match:
                raise SystemExit("%s:%d: not the form that tests/rules reads" % (name, number))
            key, value = match["key"], match["plain"] if match["quoted"] is None else match["quoted"].replace("''", "'")
            if not match["indent"]:
                at = key
                top[key] = value
            elif at == "rules":
                if match["dash"]:
                    rules.append(Rule(name, number))
                rules[-1].keys[key] = value
    return RuleFile(rules, top)


def spellings(pattern):
    """The alternatives of a pattern, each a pattern: those of "^(a|b_(c|d))$" are ^(a)$, ^(b_(c))$ and ^(b_(d))$. What may
    be left out, (a|b)?, is not taken apart, nor is "(^|/)".
    """
    depth, start, bars = 0, 0, []
    in_set = False
    i = 0
    while i < len(pattern):
        sign = pattern[i]
        if sign == "\\":
            i += 1
        elif in_set:
            in_set = sign != "]"
        elif sign == "[":
            in_set = True
            i += 1 if pattern[i + 1 : i + 2] != "^" else 2  # a ] that comes first is a member
        elif sign == "(":
            depth += 1
            if depth == 1:
                start, bars = i, []
        elif sign == "|":
            if depth == 0:
                return spellings(pattern[:i]) + spellings(pattern[i + 1 :])
            if depth == 1:
                bars.append(i)
        elif sign == ")":
            depth -= 1
            optional = pattern[i + 1 : i + 2] in ("?", "*")
            if depth == 0 and not optional and pattern[start : i + 1] not in ("(^|/)", "(^|\\.)"):
                edges = [start] + bars + [i]
                parts = [pattern[a + 1 : b] for a, b in zip(edges, edges[1:])]
                if len(parts) > 1 or "|" in parts[0]:
                    return [s for part in parts for inner in spellings(part) for s in spellings_after(pattern, start, i, inner)]
        i += 1
    return [pattern]


def spellings_after(pattern, start, end, inner):
    return [pattern[:start] + "(" + inner + ")" + rest for rest in spellings(pattern[end + 1 :])]


def plain(pattern):
    """A spelling as people read it."""
    for what, by in (("(^|/)", ""), ("(^|\\.)", ""), ("[\\w*+]+", "*"), ("\\.", "."), ("^", ""), ("$", "")):
        pattern = pattern.replace(what, by)
    return re.sub(r"[()]", "", re.sub(r"\\w[*+]?|\.\*", "*", pattern)) if "|" not in pattern else pattern
