# The fuzz targets without a fuzzer: on their first inputs, on inputs that fuzzers found, and on a few mutations of
# both.
. "$SRC/tests/cli/lib.sh"
ROUNDS=3

check "the corpus is made" python3 "$SRC/tests/fuzz/corpus.py" "$BUILD" corpus
for target in "$SRC"/tests/fuzz/fuzz_*.c; do
	target=$(basename "$target" .c)
	check "$target" "$BUILD/tests/fuzz/$target" -n $ROUNDS "corpus/${target#fuzz_}"
done
leftovers() { ! ls -d "$TMPDIR"/fuzz-* 2>/dev/null; }
check "nothing is left in TMPDIR" leftovers
