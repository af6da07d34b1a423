"""schema.py FOLDER [FILE...] - is each document what its schema in FOLDER (docs/schema) says? Without a document: are all of them schemas?
schema.py FOLDER --each COMMAND... - the same for the documents COMMAND.*.json of each command, with an "ok" line each.
schema.py FOLDER --broken FILE... - breaks the documents, one field after the other: removed, of another type, and a field more in each
object. So a misspelt field is found, too. Prints what the schema lets pass. A field that its object need not have may be absent, and names
that are data may be any.
"""
import copy
import glob
import json
import os
import sys

import jsonschema

TYPE = "urn:memana:%s:1"


def load(folder):
    """The schemas of the folder by their $id. Each file is named for its own."""
    schemas = {}
    for path in sorted(glob.glob(f"{folder}/*.schema.json")):
        schema = json.load(open(path))
        if schema["$id"] != TYPE % os.path.basename(path).removesuffix(".schema.json"):
            sys.exit(f"{path}: its $id is {schema['$id']}")
        schemas[schema["$id"]] = schema
    return schemas


class Validators:
    """One for each schema. They find each other by $id."""

    def __init__(self, schemas):
        try:
            from referencing import Registry, Resource
            registry = Registry().with_resources((name, Resource.from_contents(one)) for name, one in schemas.items())
            options = dict.fromkeys(schemas, {"registry": registry})
        except ImportError:  # jsonschema before 4.18, which joins no fragment to a URN
            schemas = {name: json.loads(json.dumps(one).replace('"#/', f'"{name}#/')) for name, one in schemas.items()}
            options = {name: {"resolver": jsonschema.RefResolver(name, one, store=schemas)} for name, one in schemas.items()}
        self.by_type = {name: jsonschema.Draft202012Validator(one, **options[name]) for name, one in schemas.items()}

    def iter_errors(self, document):
        """A document says its type. Rows of sql are a list and say none."""
        kind = TYPE % "sql" if isinstance(document, list) else document.get("schema")
        validator = self.by_type.get(kind) if isinstance(kind, str) else None
        return validator.iter_errors(document) if validator else [jsonschema.ValidationError(f"no type: {kind}")]

    def is_valid(self, document):
        return not any(self.iter_errors(document))


def errors_of(validator, files, command=None):
    for name in files:
        document = json.load(open(name))
        if command not in (None, "sql") and document.get("schema") != TYPE % command:
            yield f"{name}: it is no {TYPE % command}"
        for error in list(validator.iter_errors(document))[:3]:
            where = "/".join(map(str, error.absolute_path))
            yield f"{name}: {where}: {error.message[:300]}"


def each(validator, commands):
    for command in commands:
        files = sorted(glob.glob(f"{command}.*.json"))
        wrong = list(errors_of(validator, files, command)) or ([] if files else ["no document"])
        print(f"{'not ok' if wrong else 'ok'} {command}: {len(files)} documents are as the schema says")
        for line in wrong[:40]:
            print(f"# {line}")
    return 0


def objects(part, key=None):
    """Each part of the schema that describes an object, with the name of its field."""
    if isinstance(part, dict):
        if "properties" in part or "additionalProperties" in part:
            yield key, part
        for name, one in part.items():
            yield from objects(one, name)
    elif isinstance(part, list):
        for one in part:
            yield from objects(one, key)


def shortened(value):
    """One of each list is enough."""
    if isinstance(value, list):
        return [shortened(one) for one in value[:1]]
    return {key: shortened(one) for key, one in value.items()} if isinstance(value, dict) else value


def fields(value, path=()):
    """Each field, as often as its path differs by more than the place in a list: (object, key, path)"""
    if isinstance(value, dict):
        for key, one in value.items():
            yield value, key, path + (key,)
            yield from fields(one, path + (key,))
    elif isinstance(value, list):
        for one in value:
            yield from fields(one, path + ("*",))


def breaks(holder, key):
    """Changes of a field: (name of the change, function that makes it)"""
    value = holder[key]
    yield "removed", lambda: holder.pop(key)
    yield "another type", lambda: holder.update({key: {"no": [value]}})
    if key == next(iter(holder)):
        yield "a field more", lambda: holder.update({"colour": 1})


def broken(validator, schemas, files):
    described = list(objects(schemas))
    may_lack = {name for _, part in described for name in set(part.get("properties", ())) - set(part.get("required", ()))}
    maps = {name for name, part in described if isinstance(part.get("additionalProperties"), dict)}
    passed, tried, seen = [], 0, set()
    for name in files:
        document = shortened(json.load(open(name)))
        for holder, key, path in list(fields(document)):
            if (document["schema"], path) in seen:
                continue
            seen.add((document["schema"], path))
            before = copy.copy(holder)
            for what, change in breaks(holder, key):
                change()
                tried += 1
                is_data = len(path) > 1 and path[-2] in maps
                fine = is_data and what != "another type" or what == "removed" and key in may_lack
                if not fine and validator.is_valid(document):
                    passed.append(f"{name}: {'/'.join(path)}: {what}")
                holder.clear()
                holder.update(before)
    print(f"{tried} broken documents, {len(passed)} of them pass", *passed[:40], sep="\n")
    return bool(passed) or not tried


def main(folder, *words):
    schemas = load(folder)
    if not words:
        for schema in schemas.values():
            jsonschema.Draft202012Validator.check_schema(schema)
        return not schemas
    validator = Validators(schemas)
    if words[0] == "--each":
        return each(validator, words[1:])
    if words[0] == "--broken":
        return broken(validator, schemas, words[1:])
    wrong = list(errors_of(validator, words))
    print(*wrong, sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
