"""columns.py SRC schema|man NAME - is the page NAME.schema or NAME.man of a table of columns in docs? In docs/schema it is the
definition NAME_row. In the manual page it stands between '.\\" columns: NAME' and '.\\" end'; a table that people never see has none.
UPDATE_COLUMNS=1 in the environment puts it there.
"""
import glob
import os
import re
import sys

source, kind, name = sys.argv[1:]
page = open(f"{name}.{kind}").read()
if kind == "schema":
    files, pattern = sorted(glob.glob(f"{source}/docs/schema/*.json")), rf'^  "{name}_row": {{\n.*?^  }}'
else:
    files, pattern = [f"{source}/docs/man/memana.1"], rf'(?<=^\.\\" columns: {name}\n).*?(?=^\.\\" end$)'
found = [(path, match) for path in files if (match := re.search(pattern, open(path).read(), re.S | re.M))]
if page and not found:
    sys.exit(f"no place for {name} in {', '.join(files)}")
for path, match in found:
    if match.group() == page:
        continue
    if not os.environ.get("UPDATE_COLUMNS"):
        sys.exit(f"{path}: {name} is not as its columns say:\n{page}")
    text = open(path).read()
    with open(path, "w") as file:
        file.write(text[:match.start()] + page + text[match.end():])
