# The README shows what `make demo` prints today; only times differ from run to run.
. "$SRC/tests/cli/lib.sh"

export LD_LIBRARY_PATH=$standin STANDIN_MEM=80GiB
untimed() { sed -E 's/at [0-9.]+ m?s/at TIME/; s#(build|\.)[^ ]*/demo.zst#demo.zst#'; }
printed() {
	"$memrec" --steps 3 -o demo.zst -- "$BUILD/samples/rl_step" >/dev/null 2>&1 && "$memana" top demo.zst | untimed >printed
}
check "the demo runs" printed
sed -n '/^GPU 0/,/^```/p' "$SRC/README.md" | sed '$d' | untimed >shown
check "the README shows its output" diff shown printed
