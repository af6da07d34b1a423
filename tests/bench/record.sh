#!/usr/bin/env bash
# record.sh BUILD - what an event costs in the recorded program, next to heaptrack and memray on the same stacks.
#
# Each figure is the least of RECORD_ROUNDS runs (3) of RECORD_BLOCKS blocks (200000, each allocated and freed), less
# what the same program takes by itself: with libmemrec-nop.so in place of libmemrec.so, without heaptrack, without
# memray. Figures are of this machine and noisy; compare within one run only. RECORD_PYTHON picks a python3.
set -eu
src=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:-build}" && pwd)
blocks=${RECORD_BLOCKS:-200000} rounds=${RECORD_ROUNDS:-3}
work=$(mktemp -d "${TMPDIR:-/tmp}/memrec-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT
cc=${CC:-cc}
$cc -O2 -fno-omit-frame-pointer -o "$work/driver" "$src/record_driver.c" -lpthread
$cc -O2 -shared -fPIC -DLIBRARY -o "$work/driver.so" "$src/record_driver.c"

python=$(type -P "${RECORD_PYTHON:-python3}" || true)
memray=
heaptrack=$(type -P heaptrack || true)
[ "$heaptrack" ] || echo "heaptrack is not there: no comparison (apt-get install heaptrack)"
if [ "$python" ]; then
	venv=$build/bench-$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
	[ -x "$venv/bin/python" ] || "$python" -m venv "$venv" >/dev/null 2>&1 || true
	"$venv/bin/python" -c 'import memray' 2>/dev/null ||
		timeout 120 "$venv/bin/python" -m pip install -q memray >/dev/null 2>&1 || true
	"$venv/bin/python" -c 'import memray' 2>/dev/null && memray=1 python=$venv/bin/python
fi
[ "$memray" ] || echo "memray cannot be installed: no comparison with it (pip install memray)"

# program native|python WAY FRAMES THREADS: the driver's command line, in the array `command`.
program() {
	if [ "$1" = native ]; then
		command=("$work/driver" "$2" "$blocks" "$3" "$4")
	else
		command=("$python" "$src/record_driver.py" "$work/driver.so" "$2" "$blocks" "$3" "$4")
	fi
}

# measured COMMAND...: sets alloc, free (ns), own (CPU seconds of the program) and all (of everything that ran).
measured() {
	"$work/driver" reap "$@" >"$work/out" 2>"$work/err" || { cat "$work/out" "$work/err" >&2; exit 1; }
	read -r alloc free own < <(grep -E '^[0-9.]+ [0-9.]+ [0-9.]+$' "$work/out")
	read -r all < <(sed -n 's/^cpu //p' "$work/err")
}

# Figures by name, the least of all rounds.
declare -A least
keep() { # NAME VALUE
	[ "${least[$1]:-}" ] && awk -v a="${least[$1]}" -v b="$2" 'BEGIN { exit !(a <= b) }' || least[$1]=$2
}
keep_run() { # NAME
	keep "$1.alloc" "$alloc"
	keep "$1.free" "$free"
	keep "$1.reader" "$(awk -v all="$all" -v own="$own" -v blocks="$blocks" 'BEGIN { print (all - own) * 1e9 / (2 * blocks) }')"
}
keep_bytes() { keep "$1.bytes" "$(awk -v bytes="$(stat -c %s "$2")" -v blocks="$blocks" 'BEGIN { print bytes / (2 * blocks) }')"; }

one_round() { # KIND DEPTH FRAMES THREADS
	program "$1" report "$3" "$4"
	measured env LD_PRELOAD="$build/libmemrec-nop.so" "${command[@]}"
	keep_run nop
	rm -f "$work/trace.zst"
	measured "$build/memrec" --depth "$2" -o "$work/trace.zst" -- "${command[@]}"
	keep_run memrec
	keep_bytes memrec "$work/trace.zst"
	grep -q 'nothing lost' "$work/err" || lost=yes
	program "$1" malloc "$3" "$4"
	[ "$heaptrack$memray" ] || return 0
	measured "${command[@]}"
	keep_run plain
	if [ "$heaptrack" ]; then
		rm -f "$work"/heaptrack.*
		measured "$heaptrack" -o "$work/heaptrack" "${command[@]}"
		keep_run heaptrack
		keep_bytes heaptrack "$(ls "$work"/heaptrack.*)"
	fi
	if [ "$memray" ] && [ "$1" = python ]; then
		measured "$python" -m memray run -q -f -o "$work/memray.bin" "${command[@]:1}"
		keep_run memray
	fi
}

# less NAME BASE: what NAME takes more than BASE, ns; "-": not measured.
less() {
	[ "${least[$1]:-}" ] || { echo -; return; }
	awk -v a="${least[$1]}" -v b="${least[$2]}" 'BEGIN { printf "%.0f", (a - b > 0 ? a - b : 0) }'
}
number() { # FORMAT NAME
	[ "${least[$2]:-}" ] && printf "$1" "${least[$2]}" || echo -
}
sum() { awk -v a="$1" -v b="$2" 'BEGIN { print (a == "-" ? "-" : a + b) }'; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { if (b == "-" || b <= 0) print "-"; else printf "%.2f", a / b }'; }

# verdict BUDGET_NS RATIO_MAX NS RATIO BYTES: of the architecture page; 0: there is none.
verdict() {
	awk -v ns_max="$1" -v ratio_max="$2" -v ns="$3" -v ratio="$4" -v bytes="$5" 'BEGIN {
		if (ns_max) printf " <=%d ns %s", ns_max, ns <= ns_max ? "ok" : "over"
		if (ratio_max && ratio != "-") printf " ratio<=%d %s", ratio_max, ratio <= ratio_max ? "ok" : "over"
		printf " <=4 B %s", bytes <= 4 ? "ok" : "over" }'
}

row() { # KIND DEPTH FRAMES THREADS BUDGET_NS RATIO_MAX
	local i ns heap free_ns heap_free alloc_ratio pair_ratio
	least=() lost=no
	for ((i = 0; i < rounds; i++)); do one_round "$1" "$2" "$3" "$4"; done
	ns=$(less memrec.alloc nop.alloc) heap=$(less heaptrack.alloc plain.alloc) alloc_ratio=- pair_ratio=-
	free_ns=$(less memrec.free nop.free) heap_free=$(less heaptrack.free plain.free)
	if [ "$1" = native ]; then
		alloc_ratio=$(ratio "$ns" "$heap")
		pair_ratio=$(ratio "$(sum "$ns" "$free_ns")" "$(sum "$heap" "$heap_free")")
	fi
	printf '%-7s%5s%5s%5s |%5s%6s |%6s%6s |%6s%6s |%6s%6s |%6s%6s |%6s%6s |%5s |%s\n' "$1" "$2" "$3" "$4" \
		"$ns" "$free_ns" "$heap" "$heap_free" \
		"$(less memray.alloc plain.alloc)" "$(less memray.free plain.free)" \
		"$alloc_ratio" "$pair_ratio" \
		"$(number %.2f memrec.bytes)" "$(number %.2f heaptrack.bytes)" \
		"$(number %.0f memrec.reader)" "$(number %.0f heaptrack.reader)" "$lost" \
		"$(verdict "$5" "$6" "$ns" "$alloc_ratio" "${least[memrec.bytes]}")"
}

cat <<'HEAD'
ns per event in the program; B per event on disk; ns per event in the reader (collector; heaptrack_interpret), its start
included. depth: --depth; frm: frames of the stack; thr: threads. ratio: memrec to heaptrack, of an alloc and of an
alloc with its free (memrec takes a stack at both, heaptrack only at the first). Python rows: heaptrack walks the native
frames of the interpreter, which are others, and memray follows every call of the program, which is not in its figures.
                       |   memrec   |  heaptrack  |   memray    |   ratio     |  B/event    |   reader    |      |
kind   depth  frm  thr |alloc  free | alloc  free | alloc  free | alloc  pair |memrec  heap |memrec  heap | lost | budget
HEAD
for threads in 1 2; do
	first=$((threads == 1))
	row native 0 8 $threads 0 0
	row native 64 16 $threads $((first * 300)) $first
	row native 64 32 $threads 0 0
	[ "$python" ] || continue
	row python 64 8 $threads 0 0
	row python 64 32 $threads $((first * 1000)) 0
done
[ ! "$python" ] || echo "Python: $("$python" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])')."
