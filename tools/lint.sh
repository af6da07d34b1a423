#!/usr/bin/env bash
# lint.sh - the rules of the house that a machine can check. Prints one line per breach and fails if there is any.
set -u
shopt -s lastpipe # breach counts in this shell, behind a pipe too
cd "$(dirname "$0")/.."
breaches=0

# breach RULE: reads offending lines from standard input.
breach() {
	local line
	while IFS= read -r line; do
		echo "lint: $1: $line"
		breaches=$((breaches + 1))
	done
}

sources() { git ls-files --cached --others --exclude-standard -- "$@" 2>/dev/null | while read -r f; do [ -f "$f" ] && echo "$f"; done; }
grep_in() { # PATTERN PATHSPEC...: file:line:text, never fails
	local pattern=$1
	shift
	sources "$@" | xargs -r grep -nE -- "$pattern" /dev/null || true
}

# Includes point one way: include <- formats <- {recorder, analyzer}.
grep_in '#include "(\.\./)?(formats|recorder|analyzer)/' 'include/*.h' | breach "include/ includes nothing of ours but include/"
grep_in '#include ".*(recorder|analyzer)/' 'formats/*.[ch]' | breach "formats/ must not see recorder/ or analyzer/"
grep_in '#include ".*(analyzer|formats)/' 'recorder/*.[ch]' | breach "recorder/ sees include/ only"
grep_in '#include ".*(recorder|formats)/' 'analyzer/*.[ch]' | breach "analyzer/ sees include/ only"

# Between rooms, too, and by their doors alone: tools/rooms.txt.
rooms=tools/rooms.txt
includes() { # PATHSPEC...: "file header" of every include of ours that is not a contract
	grep_in '^#include "' "$@" | sed -E 's/^([^:]*):[0-9]*:#include "([^"]*)".*/\1 \2/' | grep -v ' memtrace/\| memrec\.h$'
}
{
	grep '^[a-z]' $rooms | sed 's/^/room /'
	includes 'formats/*.[ch]' 'recorder/*.[ch]' 'analyzer/*.[ch]' | grep -v '^recorder/agent/hooks/agent_nop.c' | sed 's/^/include /'
} | awk '
	function folder(path) { sub("/[^/]*$", "", path); return path }
	$1 == "room" {
		split($0, column, " *[|] *")
		room = $2
		number[room] = ++rooms
		count = split(column[2], header, " ")
		for (i = 1; i <= count; i++)
			door[room "/" header[i]] = 1
		next
	}
	{
		from = folder($2)
		part = $2
		sub("/.*", "", part)
		target = $3 ~ "/" ? part "/" $3 : from "/" $3
		to = folder(target)
		if (!number[to])
			print $2 ": " $3 " is in no room"
		else if ($3 ~ "/" && (to == from || !door[target]))
			print $2 ": " $3 " is not a header for other rooms"
		else if (number[to] > number[from])
			print $2 ": " $3 " is in a room above"
	}' | breach "a file names its own room, and rooms below by their doors ($rooms)"
sources 'formats/*.[ch]' 'recorder/*.[ch]' 'analyzer/*.[ch]' | sed 's,/[^/]*$,,' | sort -u | while read -r room; do
	grep -q "^$room |" $rooms || echo "$room is not in $rooms"
done | breach "a room without a name"
sed -n 's/^\([a-z][a-z/]*\) | *\([^|]*\)|.*/\1 \2/p' $rooms | while read -r room doors; do
	[ "$(sources "$room/*.[ch]" | grep -c "^$room/[^/]*$")" -le 26 ] || echo "$room: too many files"
	for door in $doors; do [ -e "$room/$door" ] || echo "$room/$door is not there"; done
done | breach "the list of rooms ($rooms)"

# Every name in CONTRIBUTING.md is there: `engine/stream.h` is the end of some path.
grep -oE '`[a-z][A-Za-z0-9_./-]*/[A-Za-z0-9_-]+\.[a-z0-9]+`' CONTRIBUTING.md | tr -d '`' | sort -u | while read -r path; do
	git ls-files --cached --others --exclude-standard | grep -qE "(^|/)$path\$" || echo "$path"
done | breach "CONTRIBUTING.md names what is not there"

# Each big dependency is fenced in one file: header, the files that may include it.
while read -r header allowed; do
	grep_in "#include <$header" '*.c' '*.h' | grep -vE "^($allowed):" | grep -vE '^tests/' | breach "$header is fenced in $allowed"
done <<'FENCES'
zstd.h formats/trace/chunk.c
xxhash.h formats/trace/index.c
yaml.h formats/rules/rules.c|formats/base/yaml_cursor.c
sqlite3.h analyzer/database/db_impl.h
jansson.h analyzer/base/json.c
elfutils/ analyzer/base/symbol.c
zlib.h analyzer/export/export_out.c
curses.h analyzer/screen/input/ui.c|analyzer/base/colour.c
term.h analyzer/screen/input/ui.c|analyzer/base/colour.c
ncurses analyzer/screen/input/ui.c
FENCES

# The agent lives in somebody else's process.
agent=$(sources 'recorder/agent/*.c' 'recorder/shared/*.c' | grep -v 'options.c')
# shellcheck disable=SC2086
grep_in '(^|[^_[:alnum:]])(exit|_exit|abort|assert|malloc|calloc|realloc|free|printf|fprintf|pthread_mutex_lock|system|popen) *\(' $agent |
	grep -vE '/\* *child|^\S+:\s*\*|: \*' | breach "not in the agent"

# Text of unknown origin reaches a terminal through text.c, say.c and json.c only: see include/memtrace/clean.h.
grep_in '(^|[^_[:alnum:]])(printf\(".*%.?s|puts\([^"]|perror\()' 'analyzer/*.c' 'recorder/*.c' | grep -v '^analyzer/report/command.c:' | breach "text that is not cleaned"

# Functions nobody should call.
grep_in '(^|[^_[:alnum:]])(strcpy|strcat|sprintf|vsprintf|gets|strtok|alloca|atoi) *\(' '*.c' '*.h' | breach "banned function"

# The page of memana export --to html: names of the run are text and never markup or code, and the script ends where it ends.
pages='analyzer/export/html/*.js'
grep_in 'innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|setAttribute\("on|</script|<!--|https?:' "$pages" | breach "not in a page"
grep_in '^.{151}' "$pages" | breach "line over 150 characters"
if command -v node >/dev/null; then
	sources "$pages" | while read -r script; do node --check "$script" 2>&1 | head -n 3; done | breach "not JavaScript (node --check)"
fi

# Sizes: files and functions.
sources '*.c' '*.h' '*.js' | xargs -r wc -l | awk '$2 != "total" && $1 > 900 { print $2 ": " $1 " lines" }' | breach "file over 900 lines"
sources '*.c' | xargs -r awk '
	FNR == 1 { start = 0 }
	/^\{/ { start = FNR }
	/^\}/ { if (start && FNR - start > 120) print FILENAME ":" start ": " FNR - start " lines"; start = 0 }' | breach "function over 120 lines"

# Layout, by .clang-format, where the formatter is the one it was made with: others break lines elsewhere.
if clang-format --version 2>/dev/null | grep -q ' version 14\.'; then
	sources '*.c' '*.h' | xargs -r clang-format --dry-run 2>&1 | sed -nE 's/^([^ :]+):([0-9]+):.*clang-format-violations.*/\1:\2/p' |
		sort -u -t: -k1,1 | breach "not as .clang-format has it (clang-format -i)"
fi

# Nothing left for later, no machine's own paths, no trailing blanks.
grep_in '(^|[^[:alnum:]])(TODO|FIXME|XXX|HACK)([^[:alnum:]]|$)' '*.c' '*.h' '*.sh' Makefile | grep -v '^tools/lint.sh' | breach "left for later"
grep_in '(^|[^[:alnum:]_}])/(wor[k]|roo[t])/' . | grep -vE '^[^:]*\.md:' | breach "a path of one machine"
sources '*.c' '*.h' '*.sh' '*.md' '*.yaml' '*.sql' '*.mk' '*.js' '*.css' '*.html' Makefile | xargs -r grep -nE '[[:blank:]]+$' /dev/null | breach "trailing blanks"

# Sentences that are hard to read: fewer, or as many as tools/english.txt says.
breach "docs/english.md" < <(tools/english.py)

[ "$breaches" = 0 ] || { echo "lint: $breaches breaches" >&2; exit 1; }
