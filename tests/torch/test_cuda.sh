# PyTorch's own CUDA caching allocator without a GPU: it runs on the stand-in driver, below a double of the CUDA runtime
# (cuda_double.c). The answers must equal what the allocator says of itself, and what is known by construction.
. "$SRC/tests/cli/lib.sh"
[ -n "$PYTHON" ] || skip "CUDA's allocator: no python3 with torch"
here=$SRC/tests/torch
bash "$here/cuda_double.sh" "$BUILD" "$PYTHON" "$PWD" >log 2>&1 || skip "CUDA's allocator: $(tail -n 1 log)"

# record NAME MEMORY: the trace of a program on a GPU of this size, its answers, and the allocator's own figures.
record() {
	STANDIN_MEM=$2 LD_LIBRARY_PATH=$PWD LD_PRELOAD="$PWD/libcudart.so $standin/libcupti.so.13" \
		"$memrec" -q -o "$1.zst" -- "$PYTHON" "$here/cuda_programs.py" "$1" >stats.json 2>err
	for report in top oom growth advise verify; do "$memana" $report --json "$1.zst" >$report.json || return 1; done
}
# The peak of held and of tensor bytes, in bytes.
agrees() {
	python3 - "$1" "$memana" <<-'END'
		import json, subprocess, sys
		stats = json.load(open("stats.json"))
		top = json.load(open("top.json"))["devices"][0]
		verify = json.load(open("verify.json"))
		tensors = max(p["tensor_bytes"] for p in top["phase_peaks"])
		told = stats["reserved_bytes.all.peak"], stats["allocated_bytes.all.peak"]
		print("held, tensors", (top["peak"]["bytes"], tensors), told, verify)
		assert (top["peak"]["bytes"], tensors) == told and told[0] > 0
	END
}
train() { record train 80GiB && agrees train; }
check "a training: held and tensor bytes at their most" train

# 40 steps keep 1 MiB each: the rate, the sum since the second step, and the line.
leak() {
	record leak 80GiB && agrees leak && json growth.json "(d['growth']['bytes_per_step'], d['growth']['bytes']) == (1 << 20, 39 << 20)" &&
		json growth.json "d['growth']['places'][0]['place'] == 'cuda_programs.py:35'"
}
check "a leak: its rate and its line" leak

# 300 MiB: 64 MiB of weights and 14 pieces of a cache, each of 16 MiB; the 15th is refused with 12 MiB free.
fill() {
	record fill 700MiB && agrees fill && grep -q OutOfMemoryError err &&
		json oom.json "[d['failure'][k] for k in ('place', 'requested_bytes', 'free_bytes')] == ['cuda_programs.py:40', 16 << 20, 12 << 20]" &&
		json oom.json "[(c['place']['place'], c['bytes']) for c in d['causes']][0] == ('cuda_programs.py:40', 14 * (16 << 20))" &&
		json top.json "{c['category']: c['bytes'] for c in d['devices'][0]['by_category']}.get('weights') == 64 << 20"
}
check "out of memory while a cache is made: the request, the line of the cache, and weights that an exception frees" fill
