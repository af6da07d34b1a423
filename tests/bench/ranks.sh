#!/usr/bin/env bash
# ranks.sh BUILD - how long an answer about very many ranks takes from the facts that their traces carry.
#
# RANKS traces (1024), each of RANK_EVENTS million events (1) and with a GPU of its own: two bytes an event of disk. RANK_FOLDER keeps them:
# a folder that has them already is measured as it is. RANK_FULL=1: top from all events, too. Figures are of this machine; the goal is ten
# seconds on two processors.
set -eu
build=$(cd "${1:-build}" && pwd)
ranks=${RANKS:-1024} million=${RANK_EVENTS:-1}
if [ "${RANK_FOLDER:-}" ]; then
	folder=$RANK_FOLDER
else
	folder=$(mktemp -d "${TMPDIR:-/tmp}/memana-ranks.XXXXXX")
	trap 'rm -rf "$folder"' EXIT
fi

# make FIRST: every second rank, with its facts
make() {
	local part=$folder.part$1 rank
	mkdir -p "$part"
	for ((rank = $1; rank < ranks; rank += 2)); do
		"$build/tests/bench/bench_format" "$million" "$part/rank$rank.zst" "$rank" 4 $((10 * (1 + rank % 7 / 6))) >/dev/null
		"$build/tests/unit/test_facts" --write "$part" >/dev/null
		mv "$part/rank$rank.zst" "$folder"
	done
	rmdir "$part"
}
if [ ! -e "$folder/rank$((ranks - 1)).zst" ]; then
	mkdir -p "$folder"
	make 0 &
	make 1
	wait
fi

# ask COMMAND...: its time and memory; a command that takes longer than RANK_SECONDS (100) ends
ask() {
	/usr/bin/time -f "%e s, %U + %S s CPU, %M KiB" -o "$folder.time" timeout "${RANK_SECONDS:-100}" "$build/memana" "$@" "$folder" >/dev/null ||
		echo "no answer" >>"$folder.time"
	printf '%-10s %s\n' "$1" "$(grep -v '^Command' "$folder.time" | paste -sd ' ')"
	rm -f "$folder.time"
}
ulimit -n 1024
echo "$ranks ranks of $million M events, $(du -sm "$folder" | cut -f 1) MiB"
for command in top growth steps retained phases oom; do ask "$command"; done
[ -z "${RANK_FULL:-}" ] || ask top --full
