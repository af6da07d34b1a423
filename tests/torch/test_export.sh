# memana export --to torch, read by the script beside torch (tests/export has PyTorch's viewer).
. "$SRC/tests/cli/lib.sh"
[ -n "$PYTHON" ] || skip "no python3 with torch"
viz=$("$PYTHON" -c 'import torch.cuda._memory_viz as viz; print(viz.__file__)') && "$PYTHON" "$viz" trace --help >/dev/null 2>&1 ||
	skip "the PyTorch here has no reader for snapshots with a history"

STANDIN_MEM=80GiB LD_LIBRARY_PATH=$standin "$memrec" -o demo.zst -- "$BUILD/samples/rl_step" --quiet >/dev/null 2>&1
python3 "$SRC/tests/cli/import_make.py" expandable.pickle expandable >/dev/null
for trace in demo.zst expandable.pickle "$SRC/samples/gpu/torch_oom.zst" "$SRC/samples/trl_grpo.zst"; do
	name=$(basename "$trace")
	"$memana" export "$trace" --to torch -o out.pickle >said
	for question in stats trace; do
		asked() { "$PYTHON" "$viz" $question out.pickle >answer 2>&1 && [ "$(wc -l <answer)" -gt 5 ] || { tail -n 3 answer; return 1; }; }
		check "$name: _memory_viz.py $question" asked
	done
done
