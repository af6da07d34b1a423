#!/usr/bin/env bash
# run.sh BUILD - every benchmark. Figures are of this machine and noisy; compare within one run only.
set -eu
build=$(cd "${1:-build}" && pwd)
for program in "$build"/tests/bench/bench_*; do
	case $program in
	*.d) continue ;;
	*/bench_tui) # needs a trace
		echo "== bench_tui"
		"$(dirname "$0")/tui.sh" "$build"
		continue
		;;
	esac
	echo "== $(basename "$program")"
	"$program"
done
