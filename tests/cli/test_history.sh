# The checks of tests/gpu that use PyTorch's own history, here on the history of the allocator's double: they accept
# equal histories, and find any single change.
. "$SRC/tests/cli/lib.sh"
[ -n "$PYTHON" ] || skip "history: no python3 with torch"
export STANDIN_CONTEXT=0 STANDIN_MEM=256MiB

finds() {
	LD_LIBRARY_PATH=$standin "$memrec" -o trace.zst -- "$PYTHON" "$SRC/tests/allocator/scenario.py" "$1" account >/dev/null 2>err ||
		{ cat err; return 1; }
	"$BUILD/allocator/trace_events" trace.zst >events && python3 "$SRC/tests/cli/history_changes.py" account events
}
for name in default expandable_oom oom pools; do
	check "history: $name" finds "$name"
done

# The file that PyTorch writes, and a trace that is cut off.
accepts() { python3 "$SRC/tests/gpu/history.py" snapshot.pickle events >said && grep -q "^device 0: .* alloc" said; }
python3 - "$SRC" <<'EOF'
import pickle, sys
sys.path.insert(0, sys.argv[1] + "/tests/allocator")
import caching_allocator
with open("snapshot.pickle", "wb") as file:
    pickle.dump(caching_allocator.snapshot(caching_allocator.read_account("account")), file)
EOF
check "history: a snapshot from a file" accepts
cut_off() { head -n -1 events >less && ! python3 "$SRC/tests/gpu/history.py" snapshot.pickle less 2>err && grep -q "too early" err; }
check "history: output that is cut off" cut_off
