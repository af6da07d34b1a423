# The peak by module against an oracle in the program: the fastest of tests/modules.
. "$SRC/tests/cli/lib.sh"
[ -n "$PYTHON" ] || skip "no python3 with torch"
check "bytes by module are the oracle's" python3 "$SRC/tests/modules/check.py" "$BUILD" convnet
