#!/usr/bin/env bash
# loop.sh BUILD - what an event costs in a real loop, real_loop.py, where caches are cold, stacks new and the collector
# works beside it: memrec, memray and heaptrack on the same program.
#
# Processor seconds of the program alone, the least of LOOP_ROUNDS runs (5) of LOOP_STEPS steps (50), the ways in turn. Base
# is libmemrec-nop.so in place of the agent for memrec, and the program by itself for the others. LOOP_PYTHON picks a
# python3 with torch.
set -eu
src=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:-build}" && pwd)
steps=${LOOP_STEPS:-50} rounds=${LOOP_ROUNDS:-5}
work=$(mktemp -d "${TMPDIR:-/tmp}/memrec-loop.XXXXXX")
trap 'rm -rf "$work"' EXIT

for python in ${LOOP_PYTHON:-python3 /usr/bin/python3} ""; do
	[ ! "$python" ] || ! "$python" -c 'import torch' 2>/dev/null || break
done
[ "$python" ] || { echo "no python3 with torch: no real loop (LOOP_PYTHON picks one)"; exit 0; }
python=$(type -P "$python")
name=$("$python" -c 'import sys, torch; print("Python %d.%d.%d, torch" % sys.version_info[:3], torch.__version__)')

# memray comes beside the torch that is there.
venv=$build/bench-loop-$(cksum <<<"$python" | cut -d' ' -f1)
"$venv/bin/python" -c 'import memray' 2>/dev/null ||
	{ "$python" -m venv --system-site-packages "$venv" && timeout 120 "$venv/bin/python" -m pip install -q memray; } \
		>/dev/null 2>&1 || true
ways="plain nop memrec"
! type -P heaptrack >/dev/null || ways+=" heaptrack"
! "$venv/bin/python" -c 'import memray' 2>/dev/null || ways+=" memray memray-native"

# once WAY: its line "wall own" on standard output.
once() {
	local program=("$src/real_loop.py" "$steps")
	case $1 in
	plain) "$python" "${program[@]}" ;;
	nop) LD_PRELOAD=$build/libmemrec-nop.so "$python" "${program[@]}" ;;
	memrec) rm -f "$work/trace.zst" && "$build/memrec" -o "$work/trace.zst" -- "$python" "${program[@]}" 2>"$work/summary" ;;
	heaptrack) rm -f "$work"/heaptrack.* && heaptrack -o "$work/heaptrack" "$python" "${program[@]}" ;;
	memray) "$venv/bin/python" -m memray run -q -f -o "$work/memray.bin" "${program[@]}" ;;
	memray-native) "$venv/bin/python" -m memray run --native -q -f -o "$work/memray.bin" "${program[@]}" ;;
	esac 2>/dev/null | grep -E '^[0-9.]+ [0-9.]+$'
}

declare -A least
for ((i = 0; i < rounds; i++)); do
	for way in $ways; do
		read -r wall own < <(once "$way") || { echo "the loop does not run: $way" >&2; exit 1; }
		[ "${least[$way]:-}" ] && awk -v a="${least[$way]}" -v b="$own" 'BEGIN { exit !(a <= b) }' || least[$way]=$own
	done
done
# The summary counts the three steps before the clock starts, too.
recorded=$(sed -nE 's/.*[ :]([0-9]+) events.*/\1/p' "$work/summary" | head -n 1)
events=$((recorded * steps / (steps + 3)))
lost=$(grep -q 'nothing lost' "$work/summary" && echo no || echo yes)
echo "a real loop ($name): $events events in $steps steps, lost: $lost"
for way in $ways; do
	base=plain
	[ "$way" != memrec ] || base=nop
	awk -v way="$way" -v own="${least[$way]}" -v base="${least[$base]}" -v events="$events" 'BEGIN {
		printf "%-14s %7.3f s %+7.1f %% %7.0f ns for each event of the allocator\n", way, own, (own / base - 1) * 100,
			(own - base) * 1e9 / events }'
done
