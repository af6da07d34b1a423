#!/usr/bin/env bash
# run.sh BUILD [NAME...] - runs the unit and command tests of a build and ends with "N passed, N failed, N skipped".
# A NAME picks the tests whose file name contains it. TESTS, a list of scripts, stands for others instead, PYTHON for the
# python3 with torch that they use, and JOBS for the number of tests at a time. KEEP=1 keeps the scratch folders and says where.
set -u
SRC=$(cd "$(dirname "$0")/.." && pwd)
BUILD=$(cd "$1" && pwd) || exit 2
shift
export SRC BUILD LC_ALL=C.UTF-8 TZ=UTC
export PYTHONDONTWRITEBYTECODE=1 # the tree stays as it is
unset COLUMNS                    # reports have 80
export MEMANA_PAGER=             # nobody presses a key
TMPDIR=$(mktemp -d "${TMPDIR:-/tmp}/memrec-test.XXXXXX")
export TMPDIR
leave() { if [ -n "${KEEP:-}" ]; then echo "scratch folders: $TMPDIR"; else rm -rf "$TMPDIR"; fi; }
trap leave EXIT

# The interpreter itself: a version manager's shell script before it costs each of some two thousand checks a quarter of a second.
PATH=$(dirname "$(python3 -c 'import sys; print(sys.executable)')"):$PATH

find_python() {
	local p
	for p in python3 /usr/bin/python3; do
		"$p" -c 'import torch' 2>/dev/null && command -v "$p" && return
	done
}
PYTHON=${PYTHON-$(find_python)}
HOST_PYTHON=$(type -P python3) # with the packages that are installed for it
export PYTHON HOST_PYTHON

# Packages of python3 may run code at each start (*.pth files), for five times the time of Python alone: tests start a python3 without packages.
"$HOST_PYTHON" -m venv --without-pip "$TMPDIR/python" >/dev/null 2>&1 && PATH=$TMPDIR/python/bin:$PATH

JOBS=${JOBS:-$(($(nproc) + 1))} # some wait more than they work
passed=0 failed=0 skipped=0

wanted() {
	local name
	[ $# -gt 1 ] || return 0
	for name in "${@:2}"; do [[ $1 == *"$name"* ]] && return 0; done
	return 1
}

# count TITLE STATUS LOG SECONDS CPU: adds up the log's verdict lines; a bad exit without one is a failure of its own.
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
	printf '%-32s %d passed, %d failed, %d skipped (%ds, %.1fs of CPU)\n' "$1" "$p" "$f" "$s" "$4" "$5"
	[ "$f" = 0 ] && [ "${VERBOSE:-}" = "" ] && grep '^skip ' "$3" && return
	[ "$f" = 0 ] || cat "$3"
}

# run_one NAME PATH: in a folder of its own; leaves NAME.log, and NAME.done with the status, the seconds, and the seconds of CPU time.
run_one() {
	local name=$1 started=$SECONDS status TIMEFORMAT='%U %S'
	shift
	case $1 in *.sh) set -- bash "$1" ;; esac
	mkdir "$TMPDIR/$name"
	{ time { (cd "$TMPDIR/$name" && timeout "${TEST_TIMEOUT:-600}" "$@") >"$TMPDIR/$name.log" 2>&1 </dev/null; }; } 2>"$TMPDIR/$name.cpu"
	status=$?
	[ -n "${KEEP:-}" ] || rm -rf "${TMPDIR:?}/$name"
	echo "$status $((SECONDS - started)) $(awk '{ print $1 + $2 }' "$TMPDIR/$name.cpu")" >"$TMPDIR/$name.new" && mv "$TMPDIR/$name.new" "$TMPDIR/$name.done"
}

# collect: counts the tests that are done.
collect() {
	local file name status seconds cpu
	for file in "$TMPDIR"/*.done; do
		[ -e "$file" ] || continue
		name=$(basename "$file" .done)
		read -r status seconds cpu <"$file"
		count "$name" "$status" "$TMPDIR/$name.log" "$seconds" "$cpu"
		rm "$file" "$TMPDIR/$name".{log,cpu}
	done
}

# Tests that wait much longer than they work. Each lane runs its tests in turn, beside the others: a test that waits and starts
# late would be alone in the end. With sanitizers these tests work, and have no lanes.
lanes=("test_memrec_live.sh test_live.sh test_wait.sh" "test_samples.sh test_damage test_memrec_launch.sh")
lane_pids=
declare -A waiting # file name -> path

# start NAME PATH: as many at a time as there are processors. Lanes do not count.
start() {
	while [ "$(jobs -rp | grep -cvxF "${lane_pids:-none}")" -ge "$JOBS" ]; do
		wait -n
		collect
	done
	run_one "$@" &
}

# run_lane NAME...: those that are wanted, in turn.
run_lane() {
	local name
	for name in "$@"; do
		[ -z "${waiting[$name]:-}" ] || run_one "$name" "${waiting[$name]}"
	done
}

tests=()
for t in ${TESTS-"$SRC"/tests/cli/test_*.sh "$BUILD"/tests/unit/test_*}; do
	name=$(basename "$t")
	case $name in *.d) continue ;; esac
	wanted "${name%.sh}" "$@" || continue
	if [ "$JOBS" -gt 1 ] && [[ $BUILD != *-san ]] && [[ " ${lanes[*]} " == *" $name "* ]]; then waiting[$name]=$t; else tests+=("$t"); fi
done
for lane in "${lanes[@]}"; do
	# shellcheck disable=SC2086
	run_lane $lane &
	lane_pids+=${lane_pids:+$'\n'}$!
done
for t in "${tests[@]}"; do
	start "$(basename "$t")" "$t"
done
wait
collect

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
