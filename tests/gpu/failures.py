"""failures.py PROGRAM ANSWER: whether the first cause of ANSWER (oom --json) is what the program's text expects.

A program's text has a line "expect: CAUSE ACTION FUNCTION". Words with | between them are as good as each other; - is anything.
"""
import ast
import json
import sys


def main(program, answer):
    with open(program) as file:
        text = ast.get_docstring(ast.parse(file.read()))
    wanted = text.split("expect: ")[1].split()
    cause = json.load(open(answer))["causes"][0]
    told = [cause["id"], cause["action_id"], (cause["place"] or {}).get("function", "")]
    print("told", told, "wanted", wanted)
    return all(want == "-" or word in want.split("|") for word, want in zip(told, wanted))


sys.exit(not main(*sys.argv[1:]))
