"""finder.py - where the sources of a release have a setting, and its default. Sources are parsed, never run: Python by `ast`,
configurations by PyYAML.

A place is what formats/knobs/README.md calls a source: a file, and in a Python file what to look at there.

    a/b.yaml                  the key is a path in it
    a/b.py --a-flag           an argument of a parser
    a/b.py Class.one.two      a field of a class, through the classes of its fields; those it inherits, too
    a/b.py function(name)     a parameter
    a/b.h "word"              a word: in a string, or of a name

Several places, "A, B": today's first, those of older releases behind it.
"""
import ast
import re
from dataclasses import dataclass

import yaml

CHANGES = object()  # a default that is no constant


@dataclass
class Found:
    file: str
    line: int
    default: object  # a constant, or CHANGES
    shown: str  # the default as it is written
    moved: bool = False  # it is in another file than the source says


def constant(node):
    """(value, as written) of an expression."""
    if isinstance(node, ast.Call) and called(node) == "pp_int" and node.args:  # DeepSpeed's, for printing
        node = node.args[0]
    try:
        return ast.literal_eval(node), ast.unparse(node)
    except (ValueError, TypeError, SyntaxError, MemoryError):
        pass
    try:  # 512 * 1024**2
        if all(isinstance(n, (ast.BinOp, ast.operator, ast.Constant, ast.UnaryOp, ast.unaryop)) for n in ast.walk(node)):
            value = fold(node)
            return value, ast.unparse(node)
    except (ValueError, TypeError, ZeroDivisionError):
        pass
    return CHANGES, ast.unparse(node)


def fold(node):
    """The number that an expression of numbers is; powers stay small."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -fold(node.operand)
    if isinstance(node, ast.BinOp):
        left, right = fold(node.left), fold(node.right)
        if isinstance(node.op, ast.Mult):
            return left * right
        if isinstance(node.op, ast.Div):
            return left / right
        if isinstance(node.op, ast.Pow) and 0 <= right <= 64:
            return left**right
        if isinstance(node.op, ast.LShift) and 0 <= right <= 64:
            return left << right
    raise ValueError


def keyword(call, *names):
    for word in call.keywords:
        if word.arg in names:
            return word.value
    return None


def called(call):
    """The last name of what is called."""
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def field_default(value):
    """(value, as written) of the right side of a field."""
    if value is None:
        return CHANGES, "(required)"
    if isinstance(value, ast.Call) and called(value) in ("field", "Field", "Arg", "A"):
        made = keyword(value, "default")
        if made is None and value.args and called(value) == "Field":
            made = value.args[0]
        if made is not None:
            return constant(made)
        made = keyword(value, "default_factory")
        return (CHANGES, ast.unparse(made)) if made is not None else (CHANGES, "(required)")
    return constant(value)


def aliased(statement):
    """The name that users know a pydantic field by."""
    alias = keyword(statement.value, "alias") if isinstance(statement.value, ast.Call) else None
    return alias.value if isinstance(alias, ast.Constant) else None


def words_of(annotation):
    """Names of classes in an annotation, the outermost last."""
    if annotation is None:
        return []
    names = [node.id if isinstance(node, ast.Name) else node.attr for node in ast.walk(annotation) if isinstance(node, (ast.Name, ast.Attribute))]
    for node in ast.walk(annotation):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            names += re.findall(r"\w+", node.value)
    return names


def inside(path):
    """The path as it is installed."""
    return re.sub(r"^[^/]+\.data/(purelib|platlib)/", "", path)


def alike(path, other):
    """How much two paths have in common: the pieces of their names."""
    pieces = [set(re.split(r"[/_.]", p)) - {""} for p in (path, other)]
    return len(pieces[0] & pieces[1]) - len(pieces[0] ^ pieces[1]) / 100


class Finder:
    """One release. `paths`: its files; `read(path)`: their bytes."""

    def __init__(self, paths, read):
        self.paths, self.read = [inside(path) for path in paths], read
        self.names = {inside(path): path for path in paths}
        self.trees, self.texts, self.configs = {}, {}, {}
        self.classes = None

    def text(self, path):
        if path not in self.texts:
            self.texts[path] = self.read(self.names[path]).decode("utf-8", "replace")
        return self.texts[path]

    def tree(self, path):
        """None: not of this Python."""
        if path not in self.trees:
            try:
                self.trees[path] = ast.parse(self.text(path))
            except (SyntaxError, ValueError, RecursionError):
                self.trees[path] = None
        return self.trees[path]

    def having(self, ending, word):
        """Files that may have it, the shortest paths first."""
        return sorted((p for p in self.paths if p.endswith(ending) and word in self.text(p)), key=lambda p: (p.count("/"), p))

    # --- configurations

    def config(self, path):
        if path not in self.configs:
            try:
                self.configs[path] = yaml.safe_load(self.text(path))
            except yaml.YAMLError:
                self.configs[path] = None
        return self.configs[path]

    @staticmethod
    def walk(config, key):
        for part in key.split("."):
            if not isinstance(config, dict) or part not in config:
                raise KeyError(key)
            config = config[part]
        return config

    def resolve(self, config, value, depth=0):
        """The value of ${a.b} and ${oc.select:a.b,default}."""
        match = re.fullmatch(r"\$\{(?:oc\.select:)?([\w.]+)(?:,(.*))?\}", value) if isinstance(value, str) else None
        if not match or depth > 8:
            return value
        try:
            return self.resolve(config, self.walk(config, match[1]), depth + 1)
        except KeyError:
            return yaml.safe_load(match[2]) if match[2] else None

    def in_config(self, path, key):
        config = self.config(path)
        try:
            value = self.resolve(config, self.walk(config, key))
        except KeyError:
            return None
        if isinstance(value, (dict, list)) and value:
            return Found(path, 0, CHANGES, type(value).__name__)
        last = key.split(".")[-1]
        lines = [n for n, line in enumerate(self.text(path).split("\n"), 1) if re.match(r"\s*['\"]?%s['\"]?\s*:" % re.escape(last), line)]
        return Found(path, lines[0] if len(lines) == 1 else 0, value, str(value))

    # --- parsers of arguments

    def in_parser(self, path, flag):
        for node in ast.walk(self.tree(path) or ast.Module([], [])):
            if not isinstance(node, ast.Call) or not any(isinstance(a, ast.Constant) and a.value == flag for a in node.args):
                continue
            default, action = keyword(node, "default"), keyword(node, "action")
            if default is not None:
                return Found(path, node.lineno, *constant(default))
            action = action.value if isinstance(action, ast.Constant) else None
            value = {"store_true": False, "store_false": False}.get(action)  # not given
            return Found(path, node.lineno, value, str(value))
        return None

    # --- classes and functions

    def class_named(self, name, path=None):
        """(path, node); in `path` first."""
        if self.classes is None:
            self.classes = {}
            for file in self.paths:
                if file.endswith(".py"):
                    for found in re.findall(r"^class\s+(\w+)", self.text(file), re.M):
                        self.classes.setdefault(found, []).append(file)
        files = self.classes.get(name, [])
        for file in ([path] if path in files else []) + files:
            for node in ast.walk(self.tree(file) or ast.Module([], [])):
                if isinstance(node, ast.ClassDef) and node.name == name:
                    return file, node
        return None

    def field(self, name, field, path=None, seen=()):
        """(path, statement) of a field of a class or of those that it inherits."""
        if name in seen or not (found := self.class_named(name, path)):
            return None
        file, node = found
        for statement in node.body:
            target = statement.target if isinstance(statement, ast.AnnAssign) else statement.targets[0] if isinstance(statement, ast.Assign) else None
            if isinstance(target, ast.Name) and (target.id == field or aliased(statement) == field):
                return file, statement
        for base in node.bases:
            for word in words_of(base):
                if inherited := self.field(word, field, file, seen + (name,)):
                    return inherited
        return None

    def in_class(self, path, name, fields):
        for number, part in enumerate(fields):
            found = self.field(name, part, path)
            if not found:
                return None
            file, statement = found
            if number + 1 == len(fields):
                return Found(file, statement.lineno, *self.followed(file, name, statement.value))
            inner = [w for w in words_of(getattr(statement, "annotation", None)) if self.class_named(w, file)]
            inner = [w for w in inner if self.field(w, fields[number + 1], file)]
            if not inner:
                return None
            name, path = inner[0], file
        return None

    def followed(self, file, name, value, depth=0):
        """field_default, where it is another class's field or a constant of this class: that one's."""
        other = None
        if isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name):
            other = self.field(value.value.id, value.attr, file)
        elif isinstance(value, ast.Call) and called(value) == "get_field" and len(value.args) == 2:
            other = self.field(getattr(value.args[0], "id", ""), value.args[1].value, file)
        elif isinstance(value, ast.Name):
            other = self.field(name, value.id, file)
        if other and depth < 4 and other[1].value is not None:
            return self.followed(other[0], name, other[1].value, depth + 1)
        return field_default(value)

    def in_function(self, path, name, parameter):
        for node in ast.walk(self.tree(path) or ast.Module([], [])):
            owner = isinstance(node, ast.ClassDef) and node.name == name
            if owner:
                node = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or node.name not in (name, "__init__"):
                continue
            if any("overload" in words_of(d) for d in node.decorator_list):
                continue
            pairs = list(zip(reversed(node.args.posonlyargs + node.args.args), reversed(node.args.defaults)))
            pairs += [(a, d) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults)]
            for argument, default in pairs:
                if argument.arg == parameter:
                    return Found(path, argument.lineno, *((CHANGES, "(required)") if default is None else constant(default)))
            if (owner or node.name == name) and any(a.arg == parameter for a in node.args.args + node.args.kwonlyargs):
                return Found(path, node.lineno, CHANGES, "(required)")
        return None

    def in_text(self, path, word):
        for number, line in enumerate(self.text(path).split("\n"), 1):
            if re.search(r"(?<![A-Za-z])%s(?![A-Za-z])" % re.escape(word), line):
                return Found(path, number, CHANGES, "(not in one place)")
        return None

    # --- all of them

    def at(self, path, what, key):
        if what is None:
            return self.in_config(path, key)
        if what.startswith("--"):
            return self.in_parser(path, what)
        if what.startswith('"'):
            return self.in_text(path, what.strip('"'))
        if match := re.fullmatch(r"(\w+)\((\w+)\)", what):
            return self.in_function(path, match[1], match[2])
        name, *fields = what.split(".")
        return self.in_class(path, name, fields)

    def find(self, source, key):
        """The first of the places, "A, B", that is there; else the same in another file; None."""
        places = [place.partition(" ")[::2] for place in source.split(", ")]
        for path, what in places:
            if path in self.paths and (found := self.at(path, what or None, key)):
                return found
        path, what = places[0]
        word = what if what.startswith("--") else re.split(r"[.(]", what.strip('"'))[0] or key.split(".")[-1]
        for other in sorted(self.having("." + path.rsplit(".", 1)[-1], word), key=lambda p: -alike(p, path)):
            if other != path and (found := self.at(other, what or None, key)):
                found.moved = True
                return found
        return None
