#!/usr/bin/env bash
# run.sh BUILD - what can be tried of NVIDIA's own driver library without a GPU, in BUILD/driver (fetch.sh). Ends with
# "N passed, N failed, N skipped".
set -u
SRC=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd) || exit 2
if ! said=$("$SRC/tests/driver/fetch.sh" "$build/driver"); then
	echo "skip the real driver library: $(printf '%s\n' "$said" | tail -n 1)"
	echo "0 passed, 0 failed, 1 skipped"
	exit 0
fi
export DRIVER=$build/driver
TESTS=$(echo "$SRC"/tests/driver/test_*.sh)
export TESTS
"$SRC/tests/run.sh" "$build"
