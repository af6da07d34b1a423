# CUDA tensors without a GPU: a double of PyTorch's caching allocator calls the real libc10 and the stand-in driver.
# The trace must equal the counts of both, event by event and at the peak. See tests/allocator/README.md.
. "$SRC/tests/cli/lib.sh"
[ -n "$PYTHON" ] || skip "CUDA tensors: no python3 with torch"
export STANDIN_CONTEXT=0

# scenario NAME [MEMREC OPTION...]: runs it; the driver's ledger, the double's account, and the trace as text. BINDING,
# DOORS (a program that clears some of them) and ENVIRONMENT may be set.
scenario() {
	local name=$1
	shift
	rm -f ledger account trace.zst
	env LD_LIBRARY_PATH="$standin" STANDIN_LEDGER="$PWD/ledger" ${ENVIRONMENT:-} "$memrec" -o trace.zst "$@" -- \
		${DOORS:-} "$PYTHON" "$SRC/tests/allocator/scenario.py" "$name" account ${BINDING:-} >out 2>err || { cat out err; return 1; }
	"$BUILD/allocator/trace_events" trace.zst >events && "$memana" top --json trace.zst >top.json &&
		"$memana" verify --json trace.zst >verify.json && "$memana" info --json trace.zst >info.json
}
equals() { python3 "$SRC/tests/cli/tensors_cuda.py" "$@"; }
agrees() { scenario "$1" && equals "${@:2}"; }

for name in default expandable pools streams sleeping saver garbage; do
	check "tensors: $name" agrees "$name"
done
if "$PYTHON" -c 'import sys, torch; sys.exit(torch.version.cuda is not None)'; then
	check "tensors: torch_loop" agrees torch_loop
else
	echo "skip tensors: torch_loop: this PyTorch has its own libc10_cuda and CUPTI"
fi
devices() { ENVIRONMENT=STANDIN_GPUS=2 agrees devices --threads; }
check "tensors: two devices" devices
check "tensors: several threads" agrees threads --threads

# If the driver itself is the allocator there are no tensor events, and nothing is missing.
async() { scenario async_backend && equals && json top.json 'd["devices"][0]["slack_bytes"] == 0'; }
check "tensors: cudaMallocAsync" async

# Cached memory goes back to the driver before the allocator gives up: the driver has refused twice by then.
ooms() {
	ENVIRONMENT=STANDIN_MEM=256MiB agrees "$1" || return 1
	python3 - <<-'END'
		import json
		oom, words = json.load(open("top.json"))["oom"], [line.split() for line in open("account")]
		told = [(int(w[3]), int(w[2])) for w in words if w[0] == "oom"]
		gave_up = [(o["requested_bytes"], o["free_bytes"]) for o in oom]
		print(gave_up, told, oom[0]["refusals"])
		assert gave_up == told and len(told) == 1 and oom[0]["refusals"] >= 2
		assert oom[-1]["phase"] == "rollout" and any(f["function"].endswith("fill") for f in oom[-1]["stack"])
	END
}
check "tensors: out of memory, and the retry before" ooms oom
check "tensors: out of memory of expandable segments" ooms expandable_oom

# A sleeping pool is alive and holds nothing; the cache of the engine is in no line of a peak that it slept through.
asleep() {
	agrees asleep && python3 - "$SRC" <<-'END'
		import json, sys
		sys.path.insert(0, sys.argv[1] + "/tests/gpu")
		import history
		absent = [e.absent for e in history.read_events(open("events"))]
		top = json.load(open("top.json"))["devices"][0]
		parts = {p["phase"]: p["bytes"] for p in top["by_phase"]}
		print(max(absent), top["peak"], parts)
		assert max(absent) > 300 << 20 and "rollout" not in parts and absent[-1] == 0
	END
}
check "tensors: asleep is alive and not resident" asleep

# After skipped steps, the trace begins with the memory that is alive then.
skips() { scenario steps --skip 2 && equals --part; }
check "tensors: the first steps left out" skips

# If only CUDA_INJECTION64_PATH reaches the process, the calls of libraries that are there already are redirected.
alone() {
	DOORS="env -u LD_PRELOAD -u NVTX_INJECTION64_PATH" BINDING=$2 scenario "$1" && equals --no-phases
}
check "tensors: the driver's door alone, calls bound lazily" alone default ""
check "tensors: the driver's door alone, calls bound early and sealed" alone expandable -now
