"""schema.py SCHEMA [COMMAND FILE...] - is each document what the schema says of the command, and nothing else? Without a
command: is the schema one?
schema.py SCHEMA --each COMMAND... - the same for the documents COMMAND.*.json of each command, with an "ok" line each.

A document may have more than the schema of its readers knows; here, what is printed has to be written down: objects are
closed, wherever the schema names their fields.
"""
import glob
import json
import sys

import jsonschema


def close(part, inside_all_of=False):
    """Fields that the schema does not name are errors; parts of an allOf only know their own."""
    if isinstance(part, list):
        return [close(one) for one in part]
    if not isinstance(part, dict):
        return part
    closed = {key: {name: close(one) for name, one in value.items()} if key == "properties" else close(value)
              for key, value in part.items()}
    if "properties" in part and not inside_all_of and "additionalProperties" not in part:
        composed = any(word in part for word in ("allOf", "anyOf", "oneOf", "if", "$ref"))
        closed["unevaluatedProperties" if composed else "additionalProperties"] = False  # the second is told in a tenth of the time
    return closed


def checked(schema, command):
    definitions = {name: close(part, name in ("device", "steps_lane_row")) for name, part in schema["$defs"].items()}
    return jsonschema.Draft202012Validator({"$ref": f"#/$defs/{command}", "$defs": definitions})


def errors_of(schema, command, files):
    validator = checked(schema, command)
    for name in files:
        for error in list(validator.iter_errors(json.load(open(name))))[:3]:
            where = "/".join(map(str, error.absolute_path))
            yield f"{name}: {where}: {error.message[:300]}"


def each(schema, commands):
    for command in commands:
        files = sorted(glob.glob(f"{command}.*.json"))
        wrong = list(errors_of(schema, command, files)) or ([] if files else ["no document"])
        print(f"{'not ok' if wrong else 'ok'} {command}: {len(files)} documents are as the schema says")
        for line in wrong[:40]:
            print(f"# {line}")
    return 0


def main(path, command=None, *files):
    schema = json.load(open(path))
    if command is None:
        jsonschema.Draft202012Validator.check_schema(schema)
        return 0
    if command == "--each":
        return each(schema, files)
    wrong = list(errors_of(schema, command, files))
    print(*wrong, sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
