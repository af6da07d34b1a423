#!/usr/bin/env bash
# tidy.sh [FILE...] - what cppcheck and clang-tidy say of the programs' sources: all of them, or
# the files named. Prints what they find and a line of counts, and fails if there is anything. .clang-tidy and
# tools/cppcheck.txt say what each looks for, and why.
set -u
cd "$(dirname "$0")/.."
found=$(mktemp)
trap 'rm -f "$found"' EXIT
jobs=$(nproc)

for part in formats recorder analyzer; do
	if [ $# -gt 0 ]; then
		files=$(printf '%s\n' "$@" | grep "^$part/.*\.c$")
	else
		files=$(git ls-files --cached --others --exclude-standard "$part/*.c" | while read -r f; do [ -f "$f" ] && echo "$f"; done)
	fi
	[ -n "$files" ] || continue
	# shellcheck disable=SC2086
	cppcheck -j"$jobs" --quiet --std=c11 --enable=warning,performance,portability --max-configs=1 -Iinclude "-I$part" -D_GNU_SOURCE "-D__$(uname -m)__" \
		'-DElfW(type)=Elf64_##type' --suppressions-list=tools/cppcheck.txt \
		--template='{file}:{line}: {severity}: {message} [{id}]' $files 2>>"$found"
	printf '%s\n' $files | xargs -P "$jobs" -n 4 sh -c '
		part=$1; shift
		clang-tidy --quiet "$@" -- -std=gnu11 -Iinclude "-I$part" -D_GNU_SOURCE -DMEMREC_VERSION=\"0\" -DMEMREC_COMMIT=\"0\" -DPAGE_SCRIPT_HASH=\"0\" -DPAGE_STYLE_HASH=\"0\" -DMT_FACTS_IDENTITY=1 2>/dev/null' sh "$part" |
		grep -E "(warning|error):" >>"$found"
done
if sed "s,^$PWD/,," "$found" | sort -u | grep .; then
	echo "0 passed, 1 failed, 0 skipped"
	exit 1
fi
echo "1 passed, 0 failed, 0 skipped"
