#!/usr/bin/env bash
# run.sh BUILD [NAME...] - runs the unit and command tests of a build and ends with "N passed, N failed, N skipped".
# A NAME picks the tests whose file name contains it. TESTS, a list of scripts, stands for others instead, and PYTHON
# for the python3 with torch that they use.
set -u
SRC=$(cd "$(dirname "$0")/.." && pwd)
BUILD=$(cd "$1" && pwd) || exit 2
shift
export SRC BUILD LC_ALL=C.UTF-8 TZ=UTC
export PYTHONDONTWRITEBYTECODE=1 # the tree stays as it is
TMPDIR=$(mktemp -d "${TMPDIR:-/tmp}/memrec-test.XXXXXX")
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT

find_python() {
	local p
	for p in python3 /usr/bin/python3; do
		"$p" -c 'import torch' 2>/dev/null && command -v "$p" && return
	done
}
PYTHON=${PYTHON-$(find_python)}
export PYTHON

passed=0 failed=0 skipped=0

wanted() {
	local name
	[ $# -gt 1 ] || return 0
	for name in "${@:2}"; do [[ $1 == *"$name"* ]] && return 0; done
	return 1
}

# count TITLE STATUS LOG: adds up the log's verdict lines; a bad exit without one is a failure of its own.
count() {
	local p f s
	p=$(grep -c '^ok ' "$3") f=$(grep -c '^not ok ' "$3") s=$(grep -c '^skip ' "$3")
	if [ "$2" != 0 ] && [ "$f" = 0 ]; then
		echo "not ok $1: exit status $2" >>"$3"
		f=1
	fi
	if [ $((p + f + s)) = 0 ]; then
		echo "not ok $1: it checked nothing" >>"$3"
		f=1
	fi
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	printf '%-32s %d passed, %d failed, %d skipped (%ds)\n' "$1" "$p" "$f" "$s" $((SECONDS - started))
	[ "$f" = 0 ] && [ "${VERBOSE:-}" = "" ] && grep '^skip ' "$3" && return
	[ "$f" = 0 ] || cat "$3"
}

for t in ${TESTS-"$BUILD"/tests/unit/test_*}; do
	case $t in *.d | *.sh) continue ;; esac
	name=$(basename "$t")
	wanted "$name" "$@" || continue
	started=$SECONDS
	mkdir "$TMPDIR/$name"
	(cd "$TMPDIR/$name" && timeout "${TEST_TIMEOUT:-240}" "$t") >"$TMPDIR/log" 2>&1
	count "$name" $? "$TMPDIR/log"
	rm -rf "${TMPDIR:?}/$name"
done

for t in ${TESTS-"$SRC"/tests/cli/test_*.sh}; do
	name=$(basename "$t" .sh)
	wanted "$name" "$@" || continue
	started=$SECONDS
	mkdir "$TMPDIR/$name"
	(cd "$TMPDIR/$name" && timeout "${TEST_TIMEOUT:-240}" bash "$t") >"$TMPDIR/log" 2>&1 </dev/null
	count "$name" $? "$TMPDIR/log"
	rm -rf "${TMPDIR:?}/$name"
done

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
