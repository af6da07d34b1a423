# The README shows what `make demo` prints today; only times differ from run to run.
. "$SRC/tests/cli/lib.sh"

untimed() { sed -E 's/at [0-9.]+ m?s/at TIME/; s#[^ ]*/demo.zst#demo.zst#'; }
printed() { "$SRC/samples/demo.sh" "$BUILD" >demo && sed -n '/^GPU 0/,$p' demo | untimed >printed; }
check "the demo runs" printed
sed -n '/^GPU 0/,/^```/p' "$SRC/README.md" | sed '$d' | untimed >shown
check "the README shows its output" diff shown printed
