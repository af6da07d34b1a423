# The samples in a trace: NVML's figures of processes and GPUs, the host's memory and its limit.
. "$SRC/tests/cli/lib.sh"
"$BUILD/tests/unit/test_samples" --write .

# --- words
"$memana" top run.zst >run.txt
block() { sed -n '/^What nvidia-smi counts/,/^$/p' run.txt | tr -s ' '; }
check "the block says when" grep -q '^What nvidia-smi counts, sampled at 70.0 ms, 10.0 ms after the peak$' run.txt
for line in 'recorded then 500.0 MiB' 'context 100.0 MiB' 'code 10.0 MiB' 'unexplained 7.0 MiB' 'this process 617.0 MiB' \
	'other processes 50.0 MiB' 'in use on the GPU 667.0 MiB of 1.0 GiB'; do
	check "the block has: $line" bash -c 'grep -qx " $0"' "$line" < <(block)
done
check "80 columns" awk 'length($0) > 80 { print; bad = 1 } END { exit bad }' run.txt
"$memana" top --json run.zst >run.json
check "JSON: the parts add up to what NVML counts" json run.json \
	'all(v["process_bytes"] == v["recorded_bytes"] + sum(v[p + "_bytes"] for p in
	("context", "code", "graph", "pool", "earlier", "unexplained")) for v in d["devices"])'
check "JSON: each phase has its own" json run.json \
	'{p["phase"]: p["recorded_bytes"] >> 20 for p in d["devices"][0]["phase_peaks"]} == {"forward": 300, "backward": 500, "other": 300}'
check "nothing of it is in the peak" json run.json \
	'd["devices"][0]["peak"]["bytes"] == 500 << 20 == sum(p["bytes"] for p in d["devices"][0]["by_owner"])'

"$memana" top oom.zst >oom.txt
check "out of memory comes first" bash -c 'head -1 oom.txt | grep -q "^Out of memory on GPU 0: "'
check "what was free is known, or bounded" bash -c '
	tr "\n" " " <oom.txt | tr -s " " >line &&
	grep -q "900.0 MiB asked for .*, 600.0 MiB free, 200.0 MiB in use by others" line &&
	grep -q "700.0 MiB asked for .*, at most 700.0 MiB free" line'
check "and that the host had room" grep -q "The host's memory was not short (cgroup 4.0 GiB of 16.0 GiB" oom.txt
"$memana" top killed.zst >killed.txt
check "the kernel's word comes first" bash -c 'head -1 killed.txt | grep -q "^This was not a GPU out-of-memory: the kernel killed"'
"$memana" top full.zst >full.txt
check "without it, less sure" bash -c 'head -1 full.txt | grep -q "^This was hardly a GPU out-of-memory"'
check "the host's line" grep -q '^Host: RSS 30.0 GiB, pinned 2.0 GiB at most; cgroup 31.0 GiB of 32.0 GiB' full.txt
"$memana" top --json full.zst >full.json
check "JSON: host" json full.json \
	'(d["host"]["rss_bytes"] >> 30, d["host"]["cgroup_limit_bytes"] >> 30, d["host"]["verdict"]) == (30, 32, "cgroup")'

# --- all bytes of the GPU at a failed request, for each shape that test_samples.c describes
cat >shapes.py <<'END'
import glob, json, re, subprocess, sys
MIB, failed, seen = 1 << 20, 0, 0
for name in sorted(glob.glob("shape_*.1.zst")):
    processes, samples, others, told = re.match(r"shape_(.)(.)(\d+)_(.)", name).groups()
    processes, others, told, seen = int(processes), int(others), int(told), seen + 1
    files = [name.replace(".1.", ".%d." % (i + 1)) for i in range(processes)]
    answer = lambda *command: json.loads(subprocess.run([sys.argv[1], *command, "--json", *files], stdout=subprocess.PIPE, check=True).stdout)
    failure = answer("oom")["failure"]
    has = {k[:-6]: v if v is None else v / MIB for k, v in failure["balance"].items() if k.endswith("_bytes")}
    held, apart = [300, 500][processes - 1], samples in "batmx"
    lone = samples == "x" and processes == 2
    beyond, more = 100 * processes + others, 50 * (samples == "m")
    free = 1000 - held - beyond - more * (not told) if told or samples != "n" else None
    want = {"total": 1000 if told or samples != "n" else 1024, "free": free, "recorded": held,
            "context": 100 * (1 if lone else processes) if apart else None, "unexplained": 0 if apart else None,
            "other_processes": others + more + 100 * lone if apart else None}
    want["unknown"] = want["total"] - sum(v or 0 for k, v in want.items() if k != "total")
    wrong = {k: (has[k], v) for k, v in want.items() if has[k] != v}
    if has["total"] != sum(v or 0 for k, v in has.items() if k != "total"):
        wrong["sum"] = has
    if free is not None and failure["unrecorded_bytes"] != (want["total"] - free - held) * MIB:
        wrong["unrecorded"] = failure["unrecorded_bytes"]
    if apart and not lone:
        then = answer("top", "--at", "oom")["devices"][0]
        wrong.update({k: (v, then[k]) for k, v in failure["balance"].items() if k in then and k not in ("total_bytes", "recorded_bytes") and v != then[k]})
    if wrong:
        failed += 1
        print(name, wrong)
sys.exit(failed > 0 or seen != 56)
END
check "what has the bytes at a failed request adds up to the GPU" python3 shapes.py "$memana"

# --- on the stand-in: rl_step pauses where a program waits for its GPU
pause=300000000 # ns, for a look
export LD_LIBRARY_PATH=$standin STANDIN_MEM=80GiB
step() { # NAME [VARIABLE=VALUE...]: one small step, recorded
	local name=$1
	shift
	rm -rf state && mkdir state
	env STANDIN_STATE="$PWD/state" STANDIN_SYNC_NS=$pause "$@" \
		"$memrec" -o "$name.zst" -- "$BUILD/samples/rl_step" --steps 1 --scale 0.01 --quiet >program 2>err &&
		"$memana" top --json "$name.zst" >"$name.json" && "$memana" top "$name.zst" >"$name.txt" &&
		json "$name.json" "d['devices'][0]['peak']['bytes'] == $(sed -nE 's/.*peak ([0-9]+) bytes.*/\1/p' program)"
}
check "a step is recorded and looked at" step live
# A busy machine may leave no time for a look within a pause: then once more, with longer pauses.
in_a_pause() { # NAME EXPRESSION [VARIABLE=VALUE...]: of a step, recorded already
	local name=$1 expression=$2
	shift 2
	for _ in 1 2 3; do
		json "$name.json" "$expression" && return
		pause=$((pause * 4))
		step "$name" "$@"
	done
	return 1
}
check "context and code are told apart, to the byte" in_a_pause live \
	'([d["devices"][0][k] for k in ("context_bytes", "unexplained_bytes", "other_processes_bytes")] == [400 << 20, 0, 0]
	and 0 < d["devices"][0]["code_bytes"] < 10 << 20 and not d["devices"][0]["mixed"])'
check "and add up to what NVML says" json live.json 'all(v["process_bytes"] == v["used_bytes"] ==
	v["recorded_bytes"] + v["context_bytes"] + v["code_bytes"] for v in d["devices"])'
check "the source is on" bash -c '"$0" info live.zst | grep -Eq "gpu-samples +on$"' "$memana"
# A program that has been recorded for a while before it takes memory of a GPU.
cat >late.py <<'PY'
import sys
sys.path.insert(0, sys.argv[1])
import agent_hooks as hooks
for i in range(50000):
    hooks.alloc(0x100000 + 64 * i, device=hooks.CPU)
hooks.alloc(0x9000000)
PY
named_late() {
	"$memrec" --cpu -o late.zst -- python3 late.py "$SRC/tests/cli" && "$memana" sql late.zst "SELECT name, uuid, total_bytes FROM device WHERE kind = 'cuda'" |
		grep -q "^Stand-in GPU.GPU-7374.*.$((80 << 30))$"
}
check "a GPU that turns up late has its name" named_late
check "the host was looked at" json live.json 'd["host"]["available_bytes"] > 0 and d["host"]["verdict"] == ""'
check "an older driver will do" step old STANDIN_FAULT_NVML=old
check "it tells as much" in_a_pause old 'd["devices"][0]["context_bytes"] == 400 << 20' STANDIN_FAULT_NVML=old
check "a process that is not listed" step empty STANDIN_FAULT_NVML=empty
check "is not guessed at" json empty.json \
	'd["devices"][0]["unexplained_bytes"] is None and d["devices"][0]["used_bytes"] > d["devices"][0]["recorded_bytes"] > 0'
check "and the answer says so" grep -q 'NVML does not tell which bytes' empty.txt
check "a GPU that is lost to NVML" step lost STANDIN_FAULT_NVML=lost
check "memrec says so" grep -q 'without gpu-samples: the GPU has fallen off the bus' err
check "and so does the answer" grep -q '^Not recorded: gpu-samples' lost.txt
check "an NVML that hangs costs the samples only" step hang STANDIN_FAULT_NVML=hang
check "and is named" grep -q 'without gpu-samples: NVML does not answer' err

# Another process on the same GPU, which nobody records.
neighbour() {
	local pid result
	rm -rf state && mkdir state
	STANDIN_STATE=$PWD/state STANDIN_SYNC_NS=600000000000 "$BUILD/samples/rl_step" --steps 1 --scale 0.1 --quiet >/dev/null 2>&1 &
	pid=$!
	# The neighbour waits once its weights are there. Its row is the first of the account (tests/standin/account.h).
	timeout 60 python3 - "$PWD/state/gpu0" <<-'END' || return
		import os, struct, sys, time
		held = 0
		while held < 1500 << 20:
		    time.sleep(0.01)
		    if os.path.exists(sys.argv[1]) and os.path.getsize(sys.argv[1]) >= 32:
		        held = struct.unpack("<I4xQQQ", open(sys.argv[1], "rb").read(32))[3]
	END
	STANDIN_STATE=$PWD/state STANDIN_SYNC_NS=$pause "$memrec" -o two.zst -- "$BUILD/samples/rl_step" --steps 1 \
		--scale 0.01 --quiet >/dev/null 2>err && "$memana" top --json two.zst >two.json
	result=$?
	kill "$pid"
	wait "$pid" 2>/dev/null
	return $result
}
check "a neighbour on the GPU" neighbour
counted_apart() {
	for _ in 1 2 3; do # as in_a_pause
		json two.json '(d["devices"][0]["other_processes_bytes"] > 1500 << 20
			and d["devices"][0]["unexplained_bytes"] == 0 and d["devices"][0]["context_bytes"] == 400 << 20)' && return
		pause=$((pause * 4))
		neighbour
	done
	return 1
}
check "is counted apart" counted_apart

# The driver refuses a request, and the program goes on: a sample has the free bytes.
cat >refused.py <<'END'
import ctypes
cuda, context, address = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_uint64()
cuda.cuInit(0)
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
cuda.cuCtxSetCurrent(context)
assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(300 << 20)) == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(900 << 20)) == 2
cuda.cuCtxSynchronize()
END
refused() {
	rm -rf state && mkdir state
	STANDIN_STATE=$PWD/state STANDIN_MEM=1GiB STANDIN_SYNC_NS=300000000 "$memrec" -o refused.zst -- python3 refused.py 2>err &&
		"$memana" top --json refused.zst >refused.json
}
check "the driver refuses" refused
check "what was free then comes from NVML" json refused.json \
	'[(o["requested_bytes"] >> 20, o["free_bytes"] >> 20, o["free_by"]) for o in d["oom"]] == [(900, 324, "nvml")]'

# --- a real cgroup with a limit, where one can be made
for parent in /sys/fs/cgroup/memory /sys/fs/cgroup; do
	group=$parent/memrec-test-$$
	mkdir "$group" 2>/dev/null || continue
	trap 'rmdir "$group" 2>/dev/null' EXIT
	for limit in memory.limit_in_bytes memory.max; do [ -w "$group/$limit" ] && echo 200M >"$group/$limit" && break 2; done
	rmdir "$group"
	group=
done
if [ ! -d "${group:-/nonexistent}" ]; then
	echo "skip the kernel kills: no memory cgroup can be made here"
	exit 0
fi
cat >hungry.py <<'END'
import ctypes
cuda, context, address = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_uint64()
cuda.cuInit(0)
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
cuda.cuCtxSetCurrent(context)
cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(1 << 20))
eaten = []
while len(eaten) < 1000:
    eaten.append(b"x" * (1 << 20))
END
hungry() {
	rm -rf state && mkdir state
	(echo "$BASHPID" >"$group/cgroup.procs" && STANDIN_STATE=$PWD/state exec "$memrec" -o hungry.zst -- python3 hungry.py) 2>err
	"$memana" top --json hungry.zst >hungry.json && "$memana" top hungry.zst >hungry.txt
}
check "a process that the kernel kills" hungry
check "was not the GPU's" json hungry.json 'd["host"]["verdict"] == "killed" and d["host"]["killed"] > 0'
check "the limit is known" json hungry.json 'd["host"]["cgroup_limit_bytes"] == 200 << 20'
check "and it is the first line" bash -c 'head -1 hungry.txt | grep -q "^This was not a GPU out-of-memory"'

# --- two processes of one GPU: what the first held after its --steps is in no peak, and top says of whom
rl() { STANDIN_STATE="$PWD/shared" "$memrec" "$@" -- "$BUILD/samples/rl_step" --steps 2 --scale 0.01 --quiet >program 2>err; }
mkdir shared
left_out() { # EXPECTED OPTION...: lines about the first of two recordings, one after the other
	rm -f first.zst second.zst
	rl -o first.zst "${@:2}" && rl -o second.zst && "$memana" top --all first.zst second.zst >both.txt && "$memana" info --json first.zst >first.json &&
		[ "$(tr '\n' ' ' <both.txt | grep -c "The peak of GPU 0 lacks the memory that pid $(json first.json 'd["traces"][0]["pid"]') held")" = "$1" ]
}
check "top names a process whose recording ended before the peak" left_out 1 --steps 1
check "and none that was recorded to its end" left_out 0
many() {
	local i
	for i in 1 2 3 4 5 6 7 8 9; do rl -o "many.$i.zst" --steps 1 || return; done
	rl -o many.last.zst && "$memana" top --all many.*.zst >many.txt && tr '\n' ' ' <many.txt >many.line &&
		[ "$(grep -o 'The peak of GPU 0 lacks the memory that pid' many.line | wc -l)" = 8 ] && grep -q 'memory of 1 other process\.' many.line
}
check "eight are named, and the others counted" many
