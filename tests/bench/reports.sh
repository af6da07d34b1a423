#!/usr/bin/env bash
# reports.sh BUILD - what each report costs on REPORTS_EVENTS million events (2) and on twice as many, in runs of several
# shapes: no step that ends and 5,300 events in a micro-batch, 130 events in each step, 130 in each micro-batch, 7 in each.
#
# Processor time of the program, least of REPORTS_ROUNDS runs (1). A report that takes much more than twice the time
# for twice the events is not linear.
set -eu
build=$(cd "${1:-build}" && pwd)
million=${REPORTS_EVENTS:-2} rounds=${REPORTS_ROUNDS:-1}
work=$(mktemp -d "${TMPDIR:-/tmp}/memana-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work

# shape NAME LAYERS PASSES, see bench_format
shape() {
	"$build/tests/bench/bench_format" "$million" "$work/$1.1" 0 "$2" "$3" >/dev/null
	"$build/tests/bench/bench_format" $((2 * million)) "$work/$1.2" 0 "$2" "$3" >/dev/null
}
seconds() { # COMMAND...
	local least= i user system
	for ((i = 0; i < rounds; i++)); do
		# the status of diff and check is their answer
		/usr/bin/time -q -o "$work/time" -f '%U %S' "$@" >/dev/null 2>&1 || [ $? = 1 ]
		read -r user system <"$work/time"
		least=$(awk -v a="$user" -v b="$system" -v c="${least:-1e9}" 'BEGIN { print a + b < c ? a + b : c }')
	done
	echo "$least"
}
answer() { # REPORT TRACE
	case $1 in
	load) rm -f "$work/run.db"; seconds "$build/memana" load "$2" -o "$work/run.db" ;;
	diff) seconds "$build/memana" diff "$2" "$2" ;;
	check) seconds "$build/memana" check "$2" --max-peak 1GiB --growth 1% ;;
	*) seconds "$build/memana" "$1" "$2" ;;
	esac
}

shape long 40 0
shape steps 1 1
shape batches 1 0
shape spans 0 0
printf '%-10s' ""
printf '%16s' "long" "many steps" "micro-batches" "many spans"
echo
for report in load phases steps growth oom frag diff check retained; do
	printf '%-10s' "$report"
	for name in long steps batches spans; do
		printf '%8.2f%8.2f' "$(answer $report "$work/$name.1")" "$(answer $report "$work/$name.2")"
	done
	echo
done
