#!/usr/bin/env bash
# run.sh BUILD [FOLDER] - checks on a real GPU, and measures. Prints ok / not ok / skip lines, the tables of RESULTS.md and
# "N passed, N failed, N skipped". Small traces for samples/ are left in FOLDER/samples (FOLDER: also by OUT). README.md.
#   PARTS="driver history"   what is run: any of facts probe driver history samples order whole profiler others failures times
#   MODES="train oom"        which of workload.py's programs the part history runs
#   KEEP=FOLDER              what a failed check was about goes there, in archives of at most KEEP_MB each, KEEP_FILES in all
#   SECONDS_LEFT=N           how long all of it may take; what does not fit is skipped and named
#   REPEATS=5                rounds of the measurements
set -u
if ! command -v nvidia-smi >/dev/null || ! nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then
	echo "skip no GPU on this machine"
	exit 0
fi
SRC=$(cd "$(dirname "$0")/../.." && pwd)
BUILD=$(cd "${1:-build}" && pwd) || exit 2
export SRC BUILD
export PYTHONDONTWRITEBYTECODE=1 # the tree stays as it is
here=$SRC/tests/gpu
work=$(mktemp -d)
out=$(mkdir -p "${2:-${OUT:-$work}}/samples" && cd "${2:-${OUT:-$work}}" && pwd) || exit 2
samples=$out/samples
[ -z "${KEEP:-}" ] || KEEP=$(mkdir -p "$KEEP" && cd "$KEEP" && pwd) || exit 2
KEEP_MB=${KEEP_MB:-15} KEEP_FILES=${KEEP_FILES:-4}
REPEATS=${REPEATS:-5}
MODES=${MODES:-train expandable graphs mempool oom sleep compiled}
PARTS=${PARTS:-driver history samples order whole profiler others times}
memrec=$BUILD/memrec
memana=$BUILD/memana
passed=0 failed=0 skipped=0
cd "$work" || exit 2
: >checks.md

# ---- What a check is ----

ok() { echo "ok $*"; passed=$((passed + 1)); echo "| $* | ok |" >>checks.md; }
not_ok() { echo "not ok $*"; failed=$((failed + 1)); echo "| $* | NOT OK |" >>checks.md; }
skip() { echo "skip $*"; skipped=$((skipped + 1)); echo "| $* | skipped |" >>checks.md; }

# left: seconds until all of it must be over, less what is needed to end.
left() { echo $((${SECONDS_LEFT:-100000} - SECONDS - 10)); }

# limited SECONDS COMMAND...: at most so long, and not beyond the end.
limited() {
	local most=$1 rest
	shift
	rest=$(left)
	[ "$rest" -gt 0 ] || { echo "no time left"; return 124; }
	timeout -k 5 $((rest < most ? rest : most)) "$@"
}

# check TITLE COMMAND...: ok when it succeeds; what it prints is shown in any case.
check() {
	local title=$1
	shift
	if [ "$(left)" -le 0 ]; then
		skip "$title: no time left"
		return
	fi
	: >began
	if "$@" >said 2>&1; then
		ok "$title"
	else
		not_ok "$title"
		keep "$title"
	fi
	head -40 said | sed 's/^/# /'
}

# keep TITLE: the files that were written since the check began, for a look at home. Events can be made anew of a trace.
keep() {
	local name archive
	[ -n "${KEEP:-}" ] || return
	name=$(printf %s "$1" | tr -c '[:alnum:]\n' - | cut -c1-40)
	find . -type f -newer began ! -name '*.events' ! -name began >kept
	tar czf - -T kept | split -b "${KEEP_MB}m" -a 1 - "$KEEP/$name.tgz."
	for archive in "$KEEP/$name.tgz."?; do
		if [ "$(find "$KEEP" -name '*.tgz.?' | wc -l)" -gt "$KEEP_FILES" ]; then
			echo "# not kept, there would be more than $KEEP_FILES archives: $(basename "$archive")"
			rm "$archive"
		fi
	done
}

finish() {
	echo
	heading
	printf '\n| check | result |\n|---|---|\n'
	cat checks.md
	for table in launches steps; do
		[ -s "$table.md" ] && echo && cat "$table.md"
	done
	echo
	echo "$passed passed, $failed failed, $skipped skipped"
	cd / && rm -rf "$work"
	[ "$failed" = 0 ]
}
trap 'finish; exit $?' EXIT
trap 'not_ok "ended by a signal"; exit 1' INT TERM

wants() { [[ " $PARTS " == *" $1 "* ]]; }
torch_wants() { [ "$has_torch" = 1 ] && wants "$1"; }
value() { python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"; }
equal() { [ "$1" = "$2" ] || { echo "$1, not $2"; return 1; }; }

# recorded NAME COMMAND...: under memrec; NAME.zst, NAME.events and NAME.json are there afterwards.
recorded() {
	local name=$1
	shift
	# shellcheck disable=SC2086
	limited 300 "$memrec" ${OPTIONS:-} -o "$name.zst" -- "$@" >"$name.out" 2>"$name.err" || { cat "$name.out" "$name.err"; return 1; }
	tail -n 2 "$name.err"
	"$BUILD/allocator/trace_events" "$name.zst" >"$name.events" && "$memana" top --json "$name.zst" >"$name.json"
}

# heading: who was measured. The date is that of the run.
heading() {
	nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader |
		sed -E 's/^([^,]*), ([^,]*), (.*)$/## \1, \2, driver \3/'
	echo
	date -u '+%F, UTC.'
	python3 -c 'import sys, torch; print("Python %s, PyTorch %s, CUDA %s." % (sys.version.split()[0], torch.__version__, torch.version.cuda))' 2>/dev/null
	"$memrec" --version
}

has_torch=0
python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null && has_torch=1
. "$here/checks.sh"
[ "$has_torch" = 1 ] || skip "no PyTorch with CUDA here"

wants facts && facts
wants probe && probes
wants driver && check "driver: peak and totals of rl_step are its own" driver
torch_wants history && histories
torch_wants samples && check "samples" for_samples
torch_wants order && orders
torch_wants whole && check "whole GPU: the ledger and a steady remainder" whole
torch_wants profiler && profilers
wants others && others
torch_wants failures && failures
wants times && measured
exit 0
