#!/usr/bin/env bash
# top.sh BUILD - how fast memana reads: top, load and import on four streams, next to heaptrack_print on 4 million events
# of its own format and to CPython's unpickler on the same snapshot.
#
#   synthetic  a training as bench_format makes it                              TOP_EVENTS million events (10) of each
#   snapshot   a real memory snapshot of PyTorch, repeated: TOP_SNAPSHOT, else one of ../shared, else a made one
#   driver     cuMemAlloc and cuMemFree of 65,536 sizes, 1,024 blocks alive
#   real       a training on the CPU with batches of random sizes, recorded by memrec and repeated; wants torch
#
# TOP_RANKS: traces of a million events each in one answer (8; the budget is about 64). TOP_GROWTH="0.1 1 10 100": top
# on this number of million events of each stream, too. TOP_STREAMS: only these. Each figure is the least of
# TOP_ROUNDS runs (3), in turn with the peers. Figures are of this machine and noisy; compare within one run only. The
# budgets in events a second were set where heaptrack_print made 17 M/s: as shares of that (0.47 for top, 0.15 for
# load) they say more of another machine.
set -eu
src=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:-build}" && pwd)
bench=$build/tests/bench
million=${TOP_EVENTS:-10} ranks=${TOP_RANKS:-8} rounds=${TOP_ROUNDS:-3}
work=$(mktemp -d "${TMPDIR:-/tmp}/memana-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT

# ---- the streams: $work/STREAM.base.zst, a short one ----

find_python() {
	local python
	for python in ${TOP_PYTHON:-} python3 /usr/bin/python3; do
		! "$python" -c 'import torch' 2>/dev/null || { echo "$python"; return; }
	done
}
find_snapshot() {
	local found=${TOP_SNAPSHOT:-$src/../../../shared/data/snapshots/torch2.6-ctx128-fullstep.pickle}
	[ -e "$found" ] || { found=$work/made.pickle; python3 "$src/../cli/import_make.py" "$found" history; }
	echo "$found"
}
make_synthetic() { "$bench/bench_format" 1 "$work/synthetic.base.zst" >/dev/null; }
make_driver() { "$bench/bench_driver" 1 "$work/driver.base.zst"; }
make_snapshot() {
	entries=$(python3 "$src/repeat_snapshot.py" "$(find_snapshot)" 1000000 "$work/snapshot.pickle")
	"$build/memana" import "$work/snapshot.pickle" -o "$work/snapshot.base.zst" >/dev/null
}
make_real() {
	local python
	python=$(find_python)
	[ "$python" ] || { echo "no python3 with torch: no real stream"; return 1; }
	"$build/memrec" -o "$work/real.base.zst" -- "$python" "$src/random_sizes.py" 300 >/dev/null 2>&1
}
streams=()
entries=0
for stream in ${TOP_STREAMS:-synthetic snapshot driver real}; do
	! "make_$stream" || streams+=("$stream")
done

# ---- measuring ----

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
	local name=$1 wall user system rss
	shift
	/usr/bin/time -o "$work/time" -f '%e %U %S %M' "$@" >"$work/out" 2>&1 || { cat "$work/out" >&2; exit 1; }
	read -r wall user system rss <"$work/time"
	keep "$name.wall" "$wall"
	keep "$name.cpu" "$(awk -v a="$user" -v b="$system" 'BEGIN { print a + b }')"
	keep "$name.rss" "$rss"
}
# How fast NAME is beside PEER in this run, by the clock and by the processor's time, and the share that the budget is.
share() { # NAME MILLION PEER PEER_MILLION BUDGET
	[ "${least[$3.wall]:-}" ] || return 0
	awk -v million="$2" -v wall="${least[$1.wall]}" -v cpu="${least[$1.cpu]}" -v peer="$3" -v peer_million="$4" \
		-v peer_wall="${least[$3.wall]}" -v peer_cpu="${least[$3.cpu]}" -v budget="$5" 'BEGIN {
			printf "; %.2f of %s (%.2f of CPU), budget: %s", million / wall * peer_wall / peer_million, peer,
				million / cpu * peer_cpu / peer_million, budget }'
}
row() { # NAME MILLION WORDS
	awk -v name="$1" -v million="$2" -v wall="${least[$1.wall]}" -v cpu="${least[$1.cpu]}" -v rss="${least[$1.rss]}" \
		-v words="$3" 'BEGIN { printf "%-17s %6.1f M events %7.2f s %7.2f s CPU %6.1f M/s %6.1f M/s of CPU %6.0f MiB  %s\n",
			name, million, wall, cpu, million / wall, million / cpu, rss / 1024, words }'
}
bytes_an_event() { # STREAM
	awk -v bytes="$(stat -c %s "$work/$1.zst")" -v million="$million" 'BEGIN { printf "%.2f B an event", bytes / million / 1e6 }'
}

# Only the values: the collector of cycles would take longer than the unpickler.
unpickle='import gc, os, pickle, sys; gc.disable(); pickle.load(open(sys.argv[1], "rb")); os._exit(0)'

for stream in ${streams[@]+"${streams[@]}"}; do
	"$bench/bench_repeat" "$work/$stream.base.zst" "$million" "$work/$stream.zst" >/dev/null
done
for ((i = 0; i < rounds; i++)); do
	for stream in ${streams[@]+"${streams[@]}"}; do
		measure "top $stream" "$build/memana" top "$work/$stream.zst"
	done
	[ ! "$heaptrack_print" ] || measure heaptrack_print "$heaptrack_print" "$(ls "$work"/heaptrack.*)"
	[ "$entries" = 0 ] || measure import "$build/memana" import "$work/snapshot.pickle" -o "$work/imported.zst"
	[ "$entries" = 0 ] || measure unpickler python3 -c "$unpickle" "$work/snapshot.pickle"
done
for stream in ${streams[@]+"${streams[@]}"}; do
	measure "load $stream" "$build/memana" load "$work/$stream.zst" -o "$work/run.db"
	rm -f "$work/run.db"
done

echo "$(nproc) processors"
for stream in ${streams[@]+"${streams[@]}"}; do
	row "top $stream" "$million" "$(bytes_an_event "$stream"); budget: 8 M/s, 256 MiB, 4 B$(
		share "top $stream" "$million" heaptrack_print 4 0.47)"
done
[ ! "$heaptrack_print" ] || row heaptrack_print 4 "the peer of top"
for stream in ${streams[@]+"${streams[@]}"}; do
	row "load $stream" "$million" "budget: 2.5 M/s$(share "load $stream" "$million" heaptrack_print 4 0.15)"
done
if [ "$entries" != 0 ]; then
	entries=$(awk -v n="$entries" 'BEGIN { print n / 1e6 }')
	row import "$entries" "budget: 3 times the unpickler$(share import "$entries" unpickler "$entries" 3.00)"
	row unpickler "$entries" "the peer of import"
fi

if [ "$ranks" != 0 ]; then
	for ((rank = 0; rank < ranks; rank++)); do
		"$bench/bench_format" 1 "$work/rank$rank.zst" "$rank" >/dev/null
	done
	measure ranks "$build/memana" top "$work"/rank*.zst
	row ranks "$ranks" "$ranks traces in one answer"
fi

# ---- growth: a straight line ----

[ "${TOP_GROWTH:-}" ] || exit 0
echo
echo "top, ns of processor time an event and MiB"
printf '%-12s' ''
printf '%14s M' $TOP_GROWTH
echo
for stream in ${streams[@]+"${streams[@]}"}; do
	printf '%-12s' "$stream"
	for size in $TOP_GROWTH; do
		"$bench/bench_repeat" "$work/$stream.base.zst" "$size" "$work/growth.zst" >/dev/null
		measure "$stream $size" "$build/memana" top "$work/growth.zst"
		awk -v million="$size" -v cpu="${least[$stream $size.cpu]}" -v rss="${least[$stream $size.rss]}" \
			'BEGIN { printf "%9.1f %6.0f", cpu * 1000 / million, rss / 1024 }'
	done
	echo
done
