#!/usr/bin/env bash
# run.sh BUILD FUZZ_BUILD MINUTES [TARGET...] - runs each fuzz target for MINUTES minutes and
# prints the result.
#
# FUZZ_BUILD/corpus/TARGET grows from run to run; FUZZ_BUILD/found/TARGET has the inputs that broke something, and
# FUZZ_BUILD/log/TARGET.log what libFuzzer said. Exit status 1: something was found.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd) fuzz=$(cd "$2" && pwd) minutes=$3
shift 3
memory=1024 # MiB that a target may take, sanitizers included
seconds=25  # time that one input may take
tries=10    # findings after which a target has shown enough

# Every file of a target lies in memory, and goes with us, whatever became of the target.
TMPDIR=$(mktemp -d "${TMPDIR:-/dev/shm}/memrec-fuzz.XXXXXX" 2>/dev/null || mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
trap 'exit 130' INT TERM
export ASAN_OPTIONS=quarantine_size_mb=16:detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1
export LSAN_OPTIONS=suppressions=$here/elfutils.supp:print_suppressions=0

python3 "$here/corpus.py" "$build" "$TMPDIR/seeds" || exit 4
mkdir -p "$fuzz/log"
[ $# != 0 ] || set -- $(cd "$fuzz/tests/fuzz" && ls fuzz_* | grep -v '\.' | sed 's/^fuzz_//')

# final STATISTIC LOG: of all runs together. libFuzzer prints them at each end.
final() { awk -v name="stat::$1:" '$1 == name { sum += $2 } END { print sum + 0 }' "$2"; }
edges() { sed -nE 's/.* cov: ([0-9]+) .*/\1/p' "$1" | sort -n | tail -n 1; }
count() { find "$1" -type f | wc -l; }

# fuzz_one TARGET: until the time is over, a finding or not.
fuzz_one() {
	local target=$1 corpus=$fuzz/corpus/$1 found=$fuzz/found/$1 log=$fuzz/log/$1.log
	local began=$SECONDS end=$((SECONDS + minutes * 60)) before runs=0 took
	mkdir -p "$corpus" "$found"
	before=$(count "$found")
	: >"$log"
	while [ $SECONDS -lt $end ] && [ $runs -lt $tries ]; do
		"$fuzz/tests/fuzz/fuzz_$target" -max_total_time=$((end - SECONDS)) -timeout=$seconds -rss_limit_mb=$memory \
			-print_final_stats=1 -close_fd_mask=3 -artifact_prefix="$found/" "$corpus" "$TMPDIR/seeds/$target" \
			>>"$log" 2>&1
		runs=$((runs + 1))
		rm -rf "$TMPDIR"/fuzz-*
	done
	took=$((SECONDS - began))
	printf '%-8s %8s %11s %7s %7s %6s %9s\n' "$target" "$((took / 60))" "$(final number_of_executed_units "$log")" \
		"$(($(final number_of_executed_units "$log") / (took + !took)))" "$(edges "$log")" \
		"$(final new_units_added "$log")" "$(($(count "$found") - before))"
}

printf '%-8s %8s %11s %7s %7s %6s %9s\n' target minutes executions "per s" edges new findings
for target in "$@"; do
	fuzz_one "$target" | tee -a "$TMPDIR/table"
done
[ "$(awk '{ sum += $NF } END { print sum + 0 }' "$TMPDIR/table")" = 0 ]
