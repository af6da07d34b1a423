#!/usr/bin/env bash
# collector.sh BUILD [BEFORE] - the processor time of the collector: of the build BEFORE, of BUILD without the collector's own pass
# (BUILD/memrec-no-pass), and of BUILD.
#
#   driver   rl_step on the stand-in GPU, COLLECTOR_STEPS steps (404): calls of the driver, and a leak
#   tensors  COLLECTOR_BLOCKS blocks of PyTorch's allocator (600000), each allocated and freed
#
# Each figure is the median of COLLECTOR_ROUNDS runs (7), the ways in turns. The time is that of processes that left their parents
# (wait4 in record_driver.c), from their start to their end. `more`: a collector of BUILD compared with the first way.
set -eu
src=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:-build}" && pwd)
before=${2:+$(cd "$2" && pwd)}
work=$(mktemp -d "${TMPDIR:-/tmp}/memrec-collector.XXXXXX")
trap 'rm -rf "$work"' EXIT
${CC:-cc} -O2 -fno-omit-frame-pointer -o "$work/driver" "$src/record_driver.c" -lpthread
ways=(${before:+before} no-pass build)
export LD_LIBRARY_PATH=$build/standin STANDIN_MEM=400GiB

# run WAY NAME PROGRAM... : a line "seconds events" in the file NAME.WAY.
run() {
	local memrec=$build/memrec way=$1 name=$2
	[ "$way" != before ] || memrec=$before/memrec
	[ "$way" != no-pass ] || memrec=$build/memrec-no-pass
	rm -f "$work"/trace.zst*
	"$work/driver" reap "$memrec" -o "$work/trace.zst" -- "${@:3}" >"$work/out" 2>"$work/err" || { cat "$work/out" "$work/err" >&2; exit 1; }
	grep -q 'nothing lost' "$work/err" || echo "$name, $way: events were lost" >&2
	echo "$(sed -n 's/^strays //p' "$work/err") $(sed -nE 's/^memrec: .* ([0-9]+) events, .*/\1/p' "$work/err")" >>"$work/$name.$way"
}

# measure NAME PROGRAM... : a line of the table.
measure() {
	local round way
	for ((round = 0; round < ${COLLECTOR_ROUNDS:-7}; round++)); do
		for way in "${ways[@]}"; do run "$way" "$@"; done
	done
	python3 - "$work/$1" "${ways[@]}" <<-'END'
		import os, statistics, sys
		runs = [[line.split() for line in open("%s.%s" % (sys.argv[1], way))] for way in sys.argv[2:]]
		times = [statistics.median(float(run[0]) for run in way) for way in runs]
		events = statistics.median(int(run[1]) for run in runs[-1])
		print("%-8s %9d" % (os.path.basename(sys.argv[1]), events) +
		      "".join(" %8.2f s %4.0f ns" % (time, time * 1e9 / events) for time in times) +
		      " %+6.0f %%" % ((times[-1] / times[0] - 1) * 100))
	END
}

printf '%-8s %9s' program events
printf ' %18s' "${ways[@]}"
printf ' %8s\n' more
measure driver "$build/samples/rl_step" --steps "${COLLECTOR_STEPS:-404}" --quiet
measure tensors "$work/driver" report "${COLLECTOR_BLOCKS:-600000}" 16 1
