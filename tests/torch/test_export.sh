# memana export --to torch, read by PyTorch's own code: the script beside torch, and the viewer's JavaScript where it can be fetched.
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

# The address is the one that PyTorch writes into its own pages.
url=$(grep -o 'https://[^"]*MemoryViz\.js' "$viz" | head -1)
script=${MEMORYVIZ:-MemoryViz.js}
[ -s "$script" ] || curl -sfL -m 30 "$url" -o "$script" 2>/dev/null || skip "the viewer's JavaScript: $url does not answer"
type chromium >/dev/null 2>&1 || skip "the viewer's JavaScript: there is no chromium"
viewed() { # TRACE: the viewer's unpickler and its plot of what is allocated, in the browser; their most is that of the file
	"$memana" export "$1" --to torch -o view.pickle >said && python3 "$SRC/tests/torch/export_view.py" "$script" view.pickle view.html &&
		timeout 120 chromium --headless --no-sandbox --disable-gpu --virtual-time-budget=60000 --dump-dom view.html >dom 2>/dev/null &&
		python3 "$SRC/tests/torch/export_view.py" compare view.pickle dom
}
check "MemoryViz.js: demo" viewed demo.zst
check "MemoryViz.js: expandable segments" viewed expandable.pickle
check "MemoryViz.js: out of memory" viewed "$SRC/samples/gpu/torch_oom.zst"
