# checks.sh - what run.sh checks, part by part. Each function of a part calls `check` with a title and what must hold.

# ---- facts: the machine, for whoever reads the results ----

facts() {
	head -2 /etc/os-release
	ldd --version | head -1
	uname -r
	id -un
	df -h /dev/shm /tmp "$work"
	nvidia-smi
	nvidia-smi -q | grep -iE 'mig|confid|virtual'
	env | grep -iE '^[^=]*(cuda|ld_|nv)' | sort
	ls /dev/nvidia* /proc/driver/nvidia/gpus 2>&1
	python3 -c 'import torch; print("torch", torch.__version__, torch.__path__[0])' 2>&1 | tail -1
	limited 60 find / -xdev \( -name 'libcupti.so*' -o -name 'libcuda.so*' -o -name 'libcudart.so*' -o -name nvcc \) 2>/dev/null
	ldconfig -p | grep -E 'cupti|libcuda\.|nvidia-ml|libunwind|libelf|liblzma'
	check "facts: memrec starts" "$memrec" --version
	check "facts: memana starts" "$memana" --version
}

# ---- probe: what CUPTI shows, by an injection of its own, against what the recorder makes of it ----

# For the probe: PROBE_CUPTI, that of PyTorch's wheels, or of CUDA_HOME.
cupti_file() {
	local file
	for file in "${PROBE_CUPTI:-}" "$(python3 -c 'import os, torch; print(os.path.join(torch.__path__[0], "..", "nvidia", "cu13", "lib", "libcupti.so.13"))' 2>/dev/null)" \
		"${CUDA_HOME:-}"/lib*/libcupti.so.1[23] "${CUDA_HOME:-}"/extras/CUPTI/lib64/libcupti.so.1[23]; do
		[ -e "$file" ] && echo "$file" && return
	done
}

# probed NAME COMMAND...: once with the probe, once under memrec; both accounts of the driver's calls must agree.
probed() {
	local name=$1
	shift
	limited 90 env CUDA_INJECTION64_PATH="$BUILD/gpu/probe.so" PROBE_CUPTI="$(cupti_file)" PROBE_OUT="$work/$name.probe" "$@" \
		>"$name.alone" 2>&1 || { cat "$name.alone"; return 1; }
	recorded "$name" "$@" || return 1
	gzip -c "$name.probe" >"$out/$name.probe.gz"
	python3 "$here/probe.py" "$name.probe" "$name.events" && "$memana" verify "$name.zst"
}
# The agent comes by the driver alone.
without_preload() {
	recorded alone python3 -c 'import os, sys; os.environ.pop("LD_PRELOAD", 0); os.execvp(sys.argv[1], sys.argv[1:])' "$@" &&
		[ "$(value alone.json 'len([d for d in d["devices"] if d["kind"] == "cuda"])')" -ge 1 ] && "$memana" verify alone.zst
}
probes() {
	# shellcheck disable=SC2206
	local program=(${PROBE_PROGRAM:-python3 $here/cases.py})
	[ "$has_torch" = 1 ] || [ -n "${PROBE_PROGRAM:-}" ] || { skip "probe: no PyTorch with CUDA"; return; }
	check "probe: what CUPTI shows is in the trace" probed cases "${program[@]}"
	OPTIONS="--stacks python,native" check "probe: with native stacks everywhere" probed native "${program[@]}"
	[ "$has_torch" = 1 ] && PYTORCH_ALLOC_CONF=backend:cudaMallocAsync PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync \
		check "probe: with cudaMallocAsync" probed async "${program[@]}"
	check "probe: without LD_PRELOAD" without_preload "${program[@]}"
}

# ---- driver: by a program that counts for itself ----

driver() {
	recorded rl "$BUILD/samples/rl_step" || return 1
	equal "$(value rl.json 'd["devices"][0]["peak"]["bytes"]')" "$(sed -nE 's/.*peak ([0-9]+) bytes.*/\1/p' rl.out)" &&
		equal "$(value rl.json 'sum(t["lost"] for t in d["traces"])')" 0 && "$memana" verify rl.zst
}

# ---- history: PyTorch's own, event by event ----

same_history() { # MODE
	recorded "$1" python3 "$here/workload.py" "$1" "$1.results" || return 1
	python3 "$here/history.py" "$1.results/snapshot.pickle" "$1.events" && "$memana" verify "$1.zst" &&
		equal "$(value "$1.json" 'sum(t["lost"] for t in d["traces"])')" 0
}
out_of_memory() { # both found it, and the allocator had tried again before
	equal "$(value oom.json 'sum(o["source"] == "tensor" for o in d["oom"])')" "$(value oom.results/stats.json 'd["ooms"]')" &&
		[ "$(value oom.results/stats.json 'd["retries"]')" -ge 1 ] && [ "$(value oom.json 'sum(o["refusals"] for o in d["oom"])')" -ge 1 ]
}
asleep() { # a sleeping pool is alive and not resident, and everything is back in the end
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
		limited 300 "$memrec" -o "$samples/torch-$mode.zst" -- python3 "$here/workload.py" "$mode" small --small 2>&1 || return 1
	done
	ls -l "$samples"
}
histories() {
	local mode
	for mode in $MODES; do
		check "history: $mode equals PyTorch's own" same_history "$mode"
	done
	[ ! -s oom.json ] || check "history: out of memory" out_of_memory
	[ ! -s sleep.json ] || check "history: asleep is alive and not resident" asleep
}

# ---- order: the allocator's double, which stands for it on machines without a GPU ----

double() { # [MODE]: the same requests to both, on this GPU; their traces
	local PYTORCH_CUDA_ALLOC_CONF=${1:+expandable_segments:True} PYTORCH_ALLOC_CONF=${1:+expandable_segments:True}
	export PYTORCH_CUDA_ALLOC_CONF PYTORCH_ALLOC_CONF
	recorded real python3 "$here/replay.py" torch && recorded double python3 "$here/replay.py" double account "$@" &&
		python3 "$here/replay.py" compare real.events double.events
}
orders() {
	check "double: same events as PyTorch's allocator" double
	check "double: same events, expandable segments" double expandable
}

# ---- whole: the GPU as a whole ----

whole() {
	same_history plateaus && python3 "$here/whole_gpu.py" plateaus.events plateaus.results/stats.json plateaus.json
}

# ---- profiler: PyTorch's, in the same process ----

# profiled NAME OPTION...: profiler.py's lines are in NAME.out. Its exit status is its own.
profiled() {
	local name=$1
	shift
	limited 60 "$memrec" "$@" -o "$name.zst" -- python3 "$here/profiler.py" >"$name.out" 2>"$name.err" || { cat "$name.out" "$name.err"; return 1; }
	cat "$name.out" "$name.err"
	"$BUILD/allocator/trace_events" "$name.zst" >"$name.events"
}
# all_profiles FILE CONDITION: of the number of GPU events of each profile, `n`.
all_profiles() { python3 -c 'import json,sys
ns = [json.loads(line)["gpu_events"] for line in open(sys.argv[1]) if line.startswith("{")]
print(ns); sys.exit(len(ns) != 3 or not all(eval(sys.argv[2]) for n in ns))' "$@"; }
own_profile() { limited 60 python3 "$here/profiler.py" >alone.out 2>&1; cat alone.out; all_profiles alone.out 'n > 0'; }
# One that asks for the subscription is refused, and that is said; since the middle of 2026 most do not ask.
refused_profile() {
	profiled refused || return
	if grep 'refused the CUPTI subscription' refused.err; then
		all_profiles refused.out 'n == 0'
	else
		echo "this profiler asked for no subscription" && all_profiles refused.out 'n > 0'
	fi
}
yielded_profile() { profiled yielded --yield-cupti && all_profiles yielded.out 'n > 0'; }
# Its teardown gives the subscription back inside a callback; after that the driver's calls are seen again.
back_again() {
	yielded_profile || return
	grep 'another tool had CUPTI for a while' yielded.err || echo "this profiler asked for no subscription"
	python3 - "$here" <<-'END'
		import sys
		sys.path.insert(0, sys.argv[1])
		import history
		kept = [e for e in history.read_events(open("yielded.events")) if e.kind == "driver-alloc" and e.size >= 30 << 20]
		print("driver calls for the blocks between the profiles: %d" % len(kept))
		sys.exit(len(kept) < 2)
	END
}
left_profile() { profiled left --no-cupti && all_profiles left.out 'n > 0'; }
profilers() {
	local teardown
	for teardown in 0 1; do
		export TEARDOWN_CUPTI=$teardown
		check "profiler: alone (TEARDOWN_CUPTI=$teardown)" own_profile
		check "profiler: memrec holds the subscription (TEARDOWN_CUPTI=$teardown)" refused_profile
		if [ $teardown = 1 ]; then
			check "profiler: --yield-cupti, and memrec comes back (TEARDOWN_CUPTI=1)" back_again
		else
			check "profiler: --yield-cupti (TEARDOWN_CUPTI=0)" yielded_profile
		fi
		check "profiler: --no-cupti (TEARDOWN_CUPTI=$teardown)" left_profile
	done
	unset TEARDOWN_CUPTI
}

# ---- others: programs without PyTorch ----

other() { # NAME CODE: it takes memory, and the trace has it
	recorded "$1" python3 -c "$2" || return 1
	"$memana" top "$1.zst" | head -12
	[ "$(value "$1.json" 'max(d["peak"]["bytes"] for d in d["devices"] if d["kind"] == "cuda")')" -ge $((4 << 20)) ]
}
others() {
	local name
	for name in jax cupy; do
		python3 -c "import $name" 2>/dev/null || { skip "others: no $name here"; continue; }
		case $name in
		jax) check "others: JAX" other jax 'import jax.numpy as j; print(j.ones(1 << 20).sum())' ;;
		cupy) check "others: CuPy" other cupy 'import cupy as c; print(c.ones(1 << 20).sum())' ;;
		esac
	done
}

# ---- failures: programs that run out of memory, each for a reason of its own; what memana must say first ----

failed() { # NAME
	limited 90 "$memrec" -q -o "$1.zst" -- python3 "$here/failures/$1.py" >"$1.out" 2>"$1.err"
	grep -q OutOfMemoryError "$1.err" || { tail -n 5 "$1.out" "$1.err"; return 1; }
	"$memana" oom "$1"*.zst
	"$memana" oom --json "$1"*.zst >"$1.json" && python3 "$here/failures.py" "$here/failures/$1.py" "$1.json"
}
failures() {
	local program name
	for program in "$here"/failures/*.py; do
		name=$(basename "$program" .py)
		grep -q transformers "$program" && ! python3 -c 'import transformers' 2>/dev/null && skip "failures: no transformers for $name" && continue
		check "failures: $name" failed "$name"
	done
}

# ---- times: what it costs ----

times() { # KIND SHARE NAME=COMMAND...: the table goes to KIND.md; at most SHARE percent of what is left of the time
	python3 "$here/times.py" "$1" "$REPEATS" $(($(left) * $2 / 100)) "${@:3}" >"$1.md"
}
launches() {
	nvcc -O2 -o launch "$here/launch.cu" || return 1
	times launches 30 "no agent=$work/launch" \
		"agent, --no-cupti=$memrec --no-cupti -o launch.zst -- $work/launch" \
		"agent, memory callbacks=$memrec -o launch.zst -- $work/launch"
}
steps() {
	times steps 90 "nothing=python3 $here/step_time.py off" \
		"PyTorch history, python=python3 $here/step_time.py python" \
		"PyTorch history, all=python3 $here/step_time.py all" \
		"memrec=$memrec -o step.zst -- python3 $here/step_time.py off"
}
measured() {
	if command -v nvcc >/dev/null; then check "an empty kernel's launch was timed" launches; else skip "no nvcc: launches"; fi
	[ "$has_torch" = 1 ] && check "a small transformer's step was timed" steps
	return 0
}
