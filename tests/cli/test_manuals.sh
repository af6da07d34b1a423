# The pages of the manual: mandoc and groff report no error, and the pages of section 5 have all statements of the
# specifications.
. "$SRC/tests/cli/lib.sh"
make -C "$SRC" --no-print-directory B="$PWD/b" "$PWD"/b/man/memrec-{trace,rules,knobs}.5 >log || cat log

command -v mandoc >/dev/null || skip "mandoc is not here"
clean() { mandoc -T lint -W warning "$1" 2>&1 | grep -v 'referenced manual not found\|outdated mandoc.db' >warnings || return 0; cat warnings; return 1; }
for page in b/man/*.5; do check "${page##*/}: no warning of mandoc" clean "$page"; done
for page in memrec.1 memana.1; do check "$page: no warning of mandoc" clean "$SRC/docs/man/$page"; done

# says PAGE FILE: each word of the specification is as often in the page as people see it.
says() {
	mandoc -T utf8 -O width=200 "$1" | col -bx >seen
	python3 - "$2" <<'PYTHON'
import re, sys
from collections import Counter
def words(text):
    return Counter(re.findall(r"\w+", text.lower()))
text = re.sub(r"<!--.*?-->|\]\([^)]*\)|^```\w*$|^[-|\s]+$", " ", open(sys.argv[1]).read(), flags=re.M)
text = re.sub(r"^# .*\n", "", text)
missing = words(text) - words(open("seen").read())
print("missing:", dict(missing))
sys.exit(bool(missing))
PYTHON
}
check "memrec-trace(5) says what the specification says" says b/man/memrec-trace.5 "$SRC/formats/trace/trace-v1.md"
check "memrec-rules(5) says what the specification says" says b/man/memrec-rules.5 "$SRC/formats/rules/README.md"
check "memrec-knobs(5) says what the specification says" says b/man/memrec-knobs.5 "$SRC/formats/knobs/README.md"

check "marks of Markdown are gone" bash -c '! mandoc -T utf8 b/man/memrec-rules.5 | col -bx | grep -E "\*\*|^#|\| *--|\\\\f[BIR]"'
sections() { diff <(sed -n 's/^## //p' "$1" | tr a-z A-Z | grep -v ERRORS) <(sed -n 's/^\.Sh //p' "$2" | sed 's/\\f.//g' | grep -vE '^(NAME|DESCRIPTION|SEE ALSO|ERRORS OF READERS)$'); }
check "sections of memrec-trace(5)" sections "$SRC/formats/trace/trace-v1.md" b/man/memrec-trace.5

if command -v groff >/dev/null; then
	groff_clean() { groff -t -k -mandoc -Tutf8 -rcR=1 -rLL=100n -ww "$1" 2>warnings >/dev/null && ! grep -v 'will not fit on one page' warnings; }
	for page in b/man/*.5 "$SRC"/docs/man/*.1; do check "${page##*/}: no warning of groff" groff_clean "$page"; done
fi
