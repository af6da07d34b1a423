#!/usr/bin/env bash
# lint.sh - the rules of the house that a machine can check. Prints one line per breach and fails if there is any.
set -u
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
grep_in '#include ".*(recorder|formats)/' 'analyzer/*.[ch]' 'analyzer/tui/*.[ch]' | breach "analyzer/ sees include/ only"

# Private headers are found by their bare name only from their own folder.
for folder in formats recorder analyzer; do
	for header in $(sources "$folder/*.h" | xargs -r -n1 basename); do
		for other in formats recorder analyzer; do
			[ "$other" = "$folder" ] || [ -e "$other/$header" ] ||
				grep_in "#include \"$header\"" "$other/*.[ch]" "$other/tui/*.[ch]"
		done
	done
done | breach "a private header of another folder"

# Each big dependency is fenced in one file: header, the files that may include it.
while read -r header allowed; do
	grep_in "#include <$header" '*.c' '*.h' | grep -vE "^($allowed):" | grep -vE '^tests/' | breach "$header is fenced in $allowed"
done <<'FENCES'
zstd.h formats/chunk.c
xxhash.h formats/index.c
yaml.h formats/rules.c
sqlite3.h analyzer/db.c
jansson.h analyzer/json.c
elfutils/ analyzer/symbol.c
curses.h analyzer/tui/ui.c
ncurses analyzer/tui/ui.c
FENCES

# The agent lives in somebody else's process.
agent=$(sed -n 's/^agent: *//p' recorder/sources.txt | tr ' ' '\n' | sed 's,^,recorder/,' | grep -v 'options.c')
# shellcheck disable=SC2086
grep_in '(^|[^_[:alnum:]])(exit|_exit|abort|assert|malloc|calloc|realloc|free|printf|fprintf|pthread_mutex_lock|system|popen) *\(' $agent |
	grep -vE '/\* *child|^\S+:\s*\*|: \*' | breach "not in the agent"

# Text of unknown origin reaches a terminal through text.c, say.c and json.c only: see include/memtrace/clean.h.
grep_in '(^|[^_[:alnum:]])(printf\(".*%.?s|puts\([^"]|perror\()' 'analyzer/*.c' 'recorder/*.c' | grep -v '^analyzer/command.c:' | breach "text that is not cleaned"

# Functions nobody should call.
grep_in '(^|[^_[:alnum:]])(strcpy|strcat|sprintf|vsprintf|gets|strtok|alloca|atoi) *\(' '*.c' '*.h' | breach "banned function"

# Sizes: files and functions.
sources '*.c' '*.h' | xargs -r wc -l | awk '$2 != "total" && $1 > 900 { print $2 ": " $1 " lines" }' | breach "file over 900 lines"
sources '*.c' | xargs -r awk '
	FNR == 1 { start = 0 }
	/^\{/ { start = FNR }
	/^\}/ { if (start && FNR - start > 120) print FILENAME ":" start ": " FNR - start " lines"; start = 0 }' | breach "function over 120 lines"

# Nothing left for later, no machine's own paths, no trailing blanks.
grep_in '(^|[^[:alnum:]])(TODO|FIXME|XXX|HACK)([^[:alnum:]]|$)' '*.c' '*.h' '*.sh' Makefile | grep -v '^tools/lint.sh' | breach "left for later"
grep_in '(^|[^[:alnum:]_}])/(wor[k]|roo[t])/' . | grep -vE '^[^:]*\.md:' | breach "a path of one machine"
sources '*.c' '*.h' '*.sh' '*.md' '*.yaml' '*.sql' '*.mk' Makefile | xargs -r grep -nE '[[:blank:]]+$' /dev/null | breach "trailing blanks"

[ "$breaches" = 0 ] || { echo "lint: $breaches breaches" >&2; exit 1; }
