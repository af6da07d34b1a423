#!/usr/bin/env bash
# modules.sh BUILD [BEFORE] - the cost of modules in stacks: ns of processor time an event at several depths of nested modules.
# The ways are the build BEFORE, which knows no modules, the build's --no-modules, and the build. All ways run at the same time and
# take turns chunk by chunk, so that each chunk is compared with its neighbours: the medians of times and of differences count.
# MODULES_PYTHON picks the interpreters.
set -eu
src=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:-build}" && pwd)
before=${2:+$(cd "$2" && pwd)}
work=$(mktemp -d "${TMPDIR:-/tmp}/memrec-modules.XXXXXX")
trap 'rm -rf "$work"' EXIT
${CC:-cc} -O2 -shared -fPIC -o "$work/loop.so" "$src/modules.c"
ways=(${before:+before} no-modules modules)

# run WAY NUMBER PYTHON DEPTH KIND
run() {
	local memrec=$build/memrec
	local -a options=()
	[ "$1" != before ] || memrec=$before/memrec
	[ "$1" != no-modules ] || options=(--no-modules)
	"$memrec" "${options[@]}" -o "$work/$1.zst" -- setarch -R "$3" "$src/modules.py" "$work/loop.so" "$4" "$5" "$work/times" "$2" "${#ways[@]}" \
		>"$work/$1.out" 2>&1
}

# measure PYTHON DEPTH KIND
measure() {
	local number pids=()
	rm -f "$work"/*.zst*
	: >"$work/times"
	truncate -s $((8 + 3 * 400 * 8)) "$work/times"
	for number in "${!ways[@]}"; do
		run "${ways[number]}" "$number" "$@" &
		pids+=($!)
	done
	for number in "${!pids[@]}"; do
		wait "${pids[number]}" || { cat "$work/${ways[number]}.out" >&2; return 1; }
	done
}

printf '%-10s %-4s %7s' Python kind nested
printf ' %12s' "${ways[@]}"
printf ' %9s %s\n' more quartiles
for python in ${MODULES_PYTHON:-python3}; do
	for kind in new old; do
		for depth in 0 1 4 8; do
			measure "$python" "$depth" "$kind"
			printf '%-10s %-4s %7s' "$("$python" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])')" "$kind" "$depth"
			python3 - "$work/times" "${#ways[@]}" <<-'END'
				import statistics, struct, sys
				count, data = int(sys.argv[2]), open(sys.argv[1], "rb").read()
				times = [struct.unpack_from("<400d", data, 8 + way * 400 * 8)[40:] for way in range(count)]  # the first chunks warm up
				more = statistics.quantiles([last - first for first, last in zip(times[0], times[-1])])
				print("".join(" %9.1f ns" % statistics.median(way) for way in times), "%+6.1f ns %+.1f to %+.1f" % (more[1], more[0], more[2]))
			END
		done
	done
done
