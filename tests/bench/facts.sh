#!/usr/bin/env bash
# facts.sh BUILD - what answers cost that come from the facts of a trace, and whether each equals the answer of --full.
#
#   leak    rl_step on the stand-in GPU until its memory is full: FACTS_STEPS steps at most (6000), FACTS_MEMORY (400GiB).
#           memrec's last words are printed with the seconds since the request that failed
#   steps   1,000, 10,000 and 100,000 steps of 130 events
#   shared  two processes on one GPU, FACTS_SHARED steps each (700)
#   keep    a flight recorder of FACTS_KEEP (256MiB) that is full: FACTS_LONG steps (25000, two minutes)
#
# FACTS_RUNS="leak steps": only these. FACTS_FULL=1: --full of the flight recorder, too. A cell is processor time in seconds and memory in
# MiB. heaptrack_print reads its own file of 4 M events in the same run. Budgets: 1 s (3 s by the clock for keep) and 64 MiB.
set -eu
src=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:-build}" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/memana-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work LD_LIBRARY_PATH=$build/standin
reports=(top oom growth steps retained phases advise)

# ask NAME TRACE... : a line for each report
ask() {
	local report same name=$1
	shift
	for report in "${reports[@]}"; do
		/usr/bin/time -q -f '%U %S %e %M' -o "$work/time" "$build/memana" "$report" "$@" >"$work/answer" 2>/dev/null || [ $? = 1 ]
		same=""
		[ "$name" = keep ] && [ -z "${FACTS_FULL:-}" ] || same=$(compare "$report" "$@")
		awk -v name="$name" -v report="$report" -v same="$same" \
			'{ printf "%-14s %-9s %7.2f s  %6.2f s by the clock  %4d MiB  %s\n", name, report, $1 + $2, $3, $4 / 1024, same }' "$work/time"
	done
}
compare() { # REPORT TRACE...
	"$build/memana" "$1" --full "${@:2}" >"$work/full" 2>/dev/null || [ $? = 1 ]
	cmp -s "$work/answer" "$work/full" && echo "as --full" || echo "NOT as --full"
}
# stamp: the lines from the failed request on, with the seconds since that line
stamp() {
	local line failed=
	while read -r line; do
		[[ $line == *OUT_OF_MEMORY* ]] && failed=$EPOCHREALTIME
		[ "$failed" ] || continue
		awk -v now="$EPOCHREALTIME" -v failed="$failed" -v line="$line" 'BEGIN { printf "%6.2f s  %s\n", now - failed, line }'
	done
}

run_leak() {
	STANDIN_MEM=${FACTS_MEMORY:-400GiB} "$build/memrec" -o "$work/leak.zst" -- "$build/samples/rl_step" --steps "${FACTS_STEPS:-6000}" --quiet 2>&1 |
		stamp
	ask leak "$work/leak.zst"
}
run_steps() {
	local events before after
	mkdir "$work/steps"
	for events in 0.13 1.3 13; do
		"$build/tests/bench/bench_format" "$events" "$work/steps/$events.zst" 0 1 1 >/dev/null
		before=$(stat -c %s "$work/steps/$events.zst")
		"$build/tests/unit/test_facts" --write "$work/steps" >/dev/null
		after=$(stat -c %s "$work/steps/$events.zst")
		awk -v before="$before" -v after="$after" -v events="$events" \
			'BEGIN { printf "%s M events: %d bytes, facts are %.1f %% of these\n", events, after, 100 * (after - before) / after }'
		ask "$events M events" "$work/steps/$events.zst"
		mv "$work/steps/$events.zst" "$work"
	done
}
run_shared() {
	local rl_step="$build/samples/rl_step --steps ${FACTS_SHARED:-700} --quiet"
	mkdir "$work/shared" "$work/gpu"
	STANDIN_MEM=6000GiB STANDIN_STATE=$work/gpu "$build/memrec" -q -o "$work/shared/%p.zst" -- sh -c "$rl_step & $rl_step; wait"
	ask shared "$work/shared"
}
run_keep() {
	STANDIN_MEM=6000GiB "$build/memrec" --keep "${FACTS_KEEP:-256MiB}" -o "$work/keep.zst" -- \
		"$build/samples/rl_step" --steps "${FACTS_LONG:-25000}" --quiet 2>&1 | grep ' peak '
	ask keep "$work/keep.zst"
}
peer() {
	type -P heaptrack >/dev/null || { echo "no heaptrack"; return; }
	${CC:-cc} -O2 -fno-omit-frame-pointer -o "$work/driver" "$src/record_driver.c" -lpthread
	heaptrack -o "$work/heaptrack" "$work/driver" malloc 2000000 16 1 >/dev/null 2>&1
	/usr/bin/time -q -f '%U %S %e %M' -o "$work/time" heaptrack_print "$(echo "$work"/heaptrack.*)" >/dev/null
	awk '{ printf "%-24s %7.2f s  %6.2f s by the clock  %4d MiB  4 M events\n", "heaptrack_print", $1 + $2, $3, $4 / 1024 }' "$work/time"
}

echo "$(nproc) processors"
peer
for run in ${FACTS_RUNS:-leak steps shared keep}; do "run_$run"; done
