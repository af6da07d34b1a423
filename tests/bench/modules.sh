#!/usr/bin/env bash
# modules.sh BUILD [BEFORE] - the cost of modules in stacks: ns of processor time an event at several depths of nested modules.
# The ways are the build, its --no-modules, and the build BEFORE, which knows no modules. The ways take turns, and the least of
# MODULES_ROUNDS runs (5) counts. MODULES_PYTHON picks the interpreters.
set -eu
src=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:-build}" && pwd)
before=${2:+$(cd "$2" && pwd)}
work=$(mktemp -d "${TMPDIR:-/tmp}/memrec-modules.XXXXXX")
trap 'rm -rf "$work"' EXIT
${CC:-cc} -O2 -shared -fPIC -o "$work/loop.so" "$src/modules.c"

# once WAY PYTHON DEPTH KIND
once() {
	local memrec=$build/memrec
	local -a options=()
	[ "$1" != before ] || memrec=$before/memrec
	[ "$1" != no-modules ] || options=(--no-modules)
	rm -f "$work"/trace.zst*
	"$memrec" "${options[@]}" -o "$work/trace.zst" -- setarch -R "$2" "$src/modules.py" "$work/loop.so" "$3" "$4" 2>&1 |
		grep -xE '[0-9]+\.[0-9]'
}

printf '%-10s %-4s %7s' Python kind nested
ways="${before:+before }no-modules modules"
for way in $ways; do printf ' %12s' "$way"; done
printf ' %9s\n' more
for python in ${MODULES_PYTHON:-python3}; do
	for kind in new old; do
		for depth in 0 1 4 8; do
			declare -A least=()
			for ((round = 0; round < ${MODULES_ROUNDS:-5}; round++)); do
				for way in $ways; do
					ns=$(once "$way" "$python" "$depth" "$kind")
					[ -n "${least[$way]:-}" ] && awk "BEGIN { exit !(${least[$way]} <= $ns) }" || least[$way]=$ns
				done
			done
			printf '%-10s %-4s %7s' "$("$python" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])')" "$kind" "$depth"
			for way in $ways; do printf ' %9s ns' "${least[$way]}"; done
			awk "BEGIN { printf \" %+6.1f ns\\n\", ${least[modules]} - ${least[${ways%% *}]} }"
		done
	done
done
