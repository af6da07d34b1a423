# The agent inside PyTorch on the CPU: every tensor, the totals of the allocator, backward windows, exceptions.
. "$SRC/tests/cli/lib.sh"
[ -n "$PYTHON" ] || skip "agent in PyTorch: no python3 with torch"

train() {
	rm -rf rings
	mkdir rings
	MEMREC_OPTIONS="run-dir=$PWD/rings output=$PWD/trace.zst collector=$(type -P true) $1" \
		LD_PRELOAD=$BUILD/${2:-libmemrec.so} "$PYTHON" "$SRC/tests/cli/agent_torch.py" train
}
recorded() { train cpu=1 && "$PYTHON" "$SRC/tests/cli/agent_torch.py" check rings/*.ring; }
not_recorded() { train cpu=2 && [ -z "$(ls rings | grep -v '\.cpu$')" ]; }
baseline() { train cpu=1 libmemrec-nop.so && [ -z "$(ls rings)" ]; }

check "torch: every CPU tensor, and the sum is the allocator's" recorded
check "torch: no CPU tensors when they are switched off" not_recorded
check "torch: libmemrec-nop.so records nothing" baseline
