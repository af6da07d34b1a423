# Code that torch.compile made: its totals, its frames, and the user's line that called it.
. "$SRC/tests/cli/lib.sh"
[ -n "$PYTHON" ] || skip "no python3 with torch"
command -v g++ >/dev/null || skip "torch.compile: inductor needs a C++ compiler"
export TORCHINDUCTOR_CACHE_DIR=$PWD/inductor
compiled() {
	status 0 "$memrec" -o c.zst -- "$PYTHON" "$SRC/tests/torch/compiled.py" && grep -qx 'done' out &&
		"$memana" verify --json c.zst >verified.json &&
		json verified.json 'd["traces"][0]["compared"] > 0 and not d["traces"][0]["differing"]'
}
check "a compiled function: the same result, and every total right" compiled
generated() {
	"$memana" top --json c.zst >top.json && json top.json \
		'any(f["file"].startswith("'"$TORCHINDUCTOR_CACHE_DIR"'") and f["line"] > 0 for s in d["devices"][0]["sites"] for f in s["stack"])'
}
check "the file and line of generated code" generated
caller() { json top.json 'any(f["file"].endswith("compiled.py") and f["line"] > 0 for s in d["devices"][0]["sites"] for f in s["stack"])'; }
check "and the line of the user's that called it" caller
