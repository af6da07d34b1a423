#!/usr/bin/env bash
# top.sh BUILD - how fast memana reads: top and load on TOP_EVENTS million events (10), top on TOP_RANKS traces (8; the
# budget is about 64) of a million each, and next to it heaptrack_print on 4 million events of its own format.
#
# Each figure is the best of TOP_ROUNDS runs (3), in turn with the peer. Figures are of this machine and noisy; compare
# within one run only.
set -eu
src=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:-build}" && pwd)
million=${TOP_EVENTS:-10} ranks=${TOP_RANKS:-8} rounds=${TOP_ROUNDS:-3}
work=$(mktemp -d "${TMPDIR:-/tmp}/memana-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT

"$build/tests/bench/bench_format" "$million" "$work/trace.zst" >/dev/null
for ((rank = 0; rank < ranks; rank++)); do
	"$build/tests/bench/bench_format" 1 "$work/rank$rank.zst" "$rank" >/dev/null
done

heaptrack_print=$(type -P heaptrack_print || true)
if [ "$heaptrack_print" ] && type -P heaptrack >/dev/null; then
	${CC:-cc} -O2 -fno-omit-frame-pointer -o "$work/driver" "$src/record_driver.c" -lpthread
	heaptrack -o "$work/heaptrack" "$work/driver" malloc 2000000 16 1 >/dev/null 2>&1
else
	heaptrack_print=
	echo "heaptrack is not there: no comparison (apt-get install heaptrack)"
fi

# Figures by name, the least of all rounds.
declare -A least
keep() { # NAME VALUE
	[ "${least[$1]:-}" ] && awk -v a="${least[$1]}" -v b="$2" 'BEGIN { exit !(a <= b) }' || least[$1]=$2
}
measure() { # NAME COMMAND...
	local name=$1 wall cpu rss
	shift
	/usr/bin/time -o "$work/time" -f '%e %U %S %M' "$@" >"$work/out" 2>&1 || { cat "$work/out" >&2; exit 1; }
	read -r wall user system rss <"$work/time"
	keep "$name.wall" "$wall"
	keep "$name.cpu" "$(awk -v a="$user" -v b="$system" 'BEGIN { print a + b }')"
	keep "$name.rss" "$rss"
}
row() { # NAME MILLION WORDS
	awk -v name="$1" -v million="$2" -v wall="${least[$1.wall]}" -v cpu="${least[$1.cpu]}" -v rss="${least[$1.rss]}" \
		-v words="$3" 'BEGIN { printf "%-16s %6.1f M events %7.2f s %7.2f s CPU %6.1f M/s %6.1f M/s of CPU %6.0f MiB  %s\n",
			name, million, wall, cpu, million / wall, million / cpu, rss / 1024, words }'
}

for ((i = 0; i < rounds; i++)); do
	measure top "$build/memana" top "$work/trace.zst"
	[ ! "$heaptrack_print" ] || measure heaptrack_print "$heaptrack_print" "$(ls "$work"/heaptrack.*)"
done
measure load "$build/memana" load "$work/trace.zst" -o "$work/run.db"
[ "$ranks" = 0 ] || measure ranks "$build/memana" top "$work"/rank*.zst

echo "$(nproc) processors"
row top "$million" "budget: 10 M/s, 256 MiB"
[ ! "$heaptrack_print" ] || row heaptrack_print 4 "the peer"
row load "$million" "budget: 2 M/s"
[ "$ranks" = 0 ] || row ranks "$ranks" "$ranks traces in one answer"
