#!/usr/bin/env bash
# run.sh BUILD [FOLDER] - checks on a real GPU, and measures. Prints ok / not ok / skip lines, the tables of RESULTS.md and
# "N passed, N failed, N skipped". Small traces for samples/ are left in FOLDER/samples (FOLDER: also by OUT). README.md.
#   REPEATS=5   rounds of the measurements      PARTS="driver history order whole times"   what is run
set -u
if ! command -v nvidia-smi >/dev/null || ! nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then
	echo "skip no GPU on this machine"
	exit 0
fi
SRC=$(cd "$(dirname "$0")/../.." && pwd)
BUILD=$(cd "${1:-build}" && pwd) || exit 2
export BUILD
export PYTHONDONTWRITEBYTECODE=1 # the tree stays as it is
here=$SRC/tests/gpu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
samples=${2:-${OUT:-$work}}/samples
samples=$(mkdir -p "$samples" && cd "$samples" && pwd) || exit 2
REPEATS=${REPEATS:-5}
PARTS=${PARTS:-driver history order whole times}
memrec=$BUILD/memrec
memana=$BUILD/memana
passed=0 failed=0 skipped=0
cd "$work" || exit 2

ok() { echo "ok $*"; passed=$((passed + 1)); echo "| $* | ok |" >>checks.md; }
not_ok() { echo "not ok $*"; failed=$((failed + 1)); echo "| $* | NOT OK |" >>checks.md; }
skip() { echo "skip $*"; skipped=$((skipped + 1)); echo "| $* | skipped |" >>checks.md; }

# check TITLE COMMAND...: ok when it succeeds; what it prints is shown in any case.
check() {
	local title=$1
	shift
	if "$@" >said 2>&1; then ok "$title"; else not_ok "$title"; fi
	head -40 said | sed 's/^/# /'
}
wants() { [[ " $PARTS " == *" $1 "* ]]; }
has_torch=1
torch_wants() { [ "$has_torch" = 1 ] && wants "$1"; }
value() { python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"; }
equal() { [ "$1" = "$2" ] || { echo "$1, not $2"; return 1; }; }
torch() { python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; }

# recorded NAME COMMAND...: under memrec; NAME.zst, NAME.events and NAME.json are there afterwards.
recorded() {
	local name=$1
	shift
	timeout 300 "$memrec" ${OPTIONS:-} -o "$name.zst" -- "$@" >"$name.out" 2>"$name.err" || { cat "$name.out" "$name.err"; return 1; }
	tail -n 2 "$name.err"
	"$BUILD/allocator/trace_events" "$name.zst" >"$name.events" && "$memana" top --json "$name.zst" >"$name.json"
}

# ---- The driver's calls, by a program that counts for itself ----
driver() {
	recorded rl "$BUILD/samples/rl_step" || return 1
	equal "$(value rl.json 'd["devices"][0]["peak"]["bytes"]')" "$(sed -nE 's/.*peak ([0-9]+) bytes.*/\1/p' rl.out)" &&
		equal "$(value rl.json 'sum(t["lost"] for t in d["traces"])')" 0 && "$memana" verify rl.zst
}

# ---- PyTorch's own history, event by event ----
same_history() { # MODE
	recorded "$1" python3 "$here/workload.py" "$1" "$1.results" || return 1
	python3 "$here/history.py" "$1.results/snapshot.pickle" "$1.events" && "$memana" verify "$1.zst" &&
		equal "$(value "$1.json" 'sum(t["lost"] for t in d["traces"])')" 0
}
out_of_memory() { # both found it, and the allocator had tried again before
	equal "$(value oom.json 'sum(o["source"] == "tensor" for o in d["oom"])')" "$(value oom.results/stats.json 'd["ooms"]')" &&
		[ "$(value oom.results/stats.json 'd["retries"]')" -ge 1 ] && [ "$(value oom.json 'sum(o["refusals"] for o in d["oom"])')" -ge 1 ]
}
asleep() { # what sleeps is alive and not resident, and everything is back in the end
	python3 - "$here" <<-'END'
		import sys
		sys.path.insert(0, sys.argv[1])
		import history
		absent = [e.absent for e in history.read_events(open("sleep.events")) if e.kind in history.TENSOR]
		print("not resident: at most %d bytes" % max(absent))
		sys.exit(max(absent) < 600 << 20)
	END
}
for_samples() { # small ones to be opened by newcomers
	local mode
	for mode in train oom sleep; do
		timeout 300 "$memrec" -o "$samples/torch-$mode.zst" -- python3 "$here/workload.py" "$mode" small --small 2>&1 || return 1
	done
	ls -l "$samples"
}

# ---- The allocator's double, which stands for it on machines without a GPU ----
double() { # [MODE]: the same requests to both, on this GPU; their traces
	export PYTORCH_CUDA_ALLOC_CONF=${1:+expandable_segments:True}
	export PYTORCH_ALLOC_CONF=$PYTORCH_CUDA_ALLOC_CONF
	recorded real python3 "$here/replay.py" torch && recorded double python3 "$here/replay.py" double account "$@"
	local status=$?
	unset PYTORCH_CUDA_ALLOC_CONF PYTORCH_ALLOC_CONF
	[ "$status" = 0 ] && python3 "$here/replay.py" compare real.events double.events
}

# ---- The GPU as a whole ----
whole() {
	same_history plateaus && python3 "$here/whole_gpu.py" plateaus.events plateaus.results/stats.json plateaus.json
}

# ---- What it costs ----
times() { # KIND NAME=COMMAND...: the table goes to KIND.md
	timeout 560 python3 "$here/times.py" "$1" "$REPEATS" "${@:2}" >"$1.md"
}
launches() {
	nvcc -O2 -o launch "$here/launch.cu" || return 1
	times launches "no agent=$work/launch" \
		"agent, --no-cupti=$memrec --no-cupti -o launch.zst -- $work/launch" \
		"agent, memory callbacks=$memrec -o launch.zst -- $work/launch"
}
steps() {
	times steps "nothing=python3 $here/step_time.py off" \
		"PyTorch history, python=python3 $here/step_time.py python" \
		"PyTorch history, all=python3 $here/step_time.py all" \
		"memrec=$memrec -o step.zst -- python3 $here/step_time.py off"
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

wants driver && check "driver: peak and totals of rl_step are its own" driver
if ! torch; then
	skip "no PyTorch with CUDA here"
	has_torch=0
fi
if torch_wants history; then
	for mode in train expandable graphs mempool oom sleep; do
		check "history: $mode equals PyTorch's own" same_history "$mode"
	done
	check "history: out of memory" out_of_memory
	check "history: asleep is alive and not resident" asleep
	check "samples" for_samples
fi
if torch_wants order; then
	check "double: same events as PyTorch's allocator" double
	check "double: same events, expandable segments" double expandable
fi
if torch_wants whole; then
	check "whole GPU: the ledger and a steady remainder" whole
fi
if wants times; then
	if command -v nvcc >/dev/null; then check "an empty kernel's launch was timed" launches; else skip "no nvcc: launches"; fi
	[ "$has_torch" = 1 ] && check "a small transformer's step was timed" steps
fi

echo
heading
printf '\n| check | result |\n|---|---|\n'
cat checks.md
for table in launches steps; do
	[ -s "$table.md" ] && echo && cat "$table.md"
done
echo
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
