# memana export --to torch in PyTorch's own viewer, MemoryViz.js as it is, in a headless Chromium.
. "$SRC/tests/cli/lib.sh"
type chromium >/dev/null 2>&1 || skip "there is no chromium"
viz=$BUILD/export-viz
"$SRC/tests/export/memory_viz_source.sh" "$viz" >fetch.log 2>&1 || { cat fetch.log; skip "PyTorch's viewer: Debian's source package cannot be had here"; }
viewed() { # NAME TRACE...: read as Python reads it, and drawn
	"$memana" export --to torch "${@:2}" -o "$1.out" >said && python3 -B "$SRC/tests/export/memory_viz.py" "$viz/MemoryViz.js" "$1.out"
}
STANDIN_MEM=80GiB LD_LIBRARY_PATH=$standin "$memrec" -o demo.zst -- "$BUILD/samples/rl_step" --quiet --steps 1 --scale 0.2 >/dev/null 2>&1
for rank in 0 1; do
	RANK=$rank STANDIN_MEM=80GiB LD_LIBRARY_PATH=$standin "$memrec" -o trace.zst -- "$BUILD/samples/rl_step" --quiet --steps 1 --scale 0.1 >/dev/null 2>&1
done
for case in expandable hostile devices; do
	python3 "$SRC/tests/cli/import_make.py" $case.pickle $case >/dev/null
	check "an imported snapshot: $case" viewed $case $case.pickle
done
check "a run" viewed demo demo.zst
check "two processes" viewed ranks trace.rank0.zst trace.rank1.zst
check "out of memory on a GPU" viewed oom "$SRC/samples/gpu/torch_oom.zst"
