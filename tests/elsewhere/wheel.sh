#!/usr/bin/env bash
# wheel.sh WHEEL TAR PROGRAMS [SUITE...] - a user without rights goes from a file to an answer in two commands: pip install and a recording, tar and a recording. The
# machines are bare Debians (minbase with python3 and venv) on which nothing was built. PROGRAMS is a build of the stand-in GPU and the sample for an old glibc; run.sh
# says what else is needed. Ends with "N passed, N failed, N skipped".
set -u
src=$(cd "$(dirname "$0")/../.." && pwd)
wheel=$(readlink -f "$1") tar=$(readlink -f "$2") programs=$(cd "$3" && pwd)
suites=("${@:4}")
[ $# -gt 3 ] || suites=(bullseye bookworm trixie)
. "$src/tests/elsewhere/inside.sh"
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
where=${WHERE:-$work}
passed=0 failed=0

check() { # NAME COMMAND...
	if "${@:2}" >"$work/log" 2>&1; then
		echo "ok $1" && passed=$((passed + 1))
	else
		echo "not ok $1" && sed 's/^/# /' "$work/log" | tail -n 20 && failed=$((failed + 1))
	fi
}
# guest COMMAND: as a user without rights, in a folder of its own; the machine is $suite.
guest() {
	inside "$where/$suite" "mkdir -p /tmp/home && cp /srv/memrec/* /tmp/home && chown -R 1234:1234 /tmp/home && cd /tmp/home &&
		exec setpriv --reuid 1234 --regid 1234 --clear-groups --no-new-privs env HOME=/tmp/home GPU=/srv/gpu bash -c '$1'"
}
record='LD_LIBRARY_PATH=$GPU' sample='$GPU/rl_step --steps 3 --quiet'
# The last words of memrec are the answer: the peak, and the line that grows.
answer='grep -q "memrec: Peak [0-9.]* GiB held of 80.0 GiB" said && grep -q "keep_for_metrics" said'
after='bin/memana verify trace.zst && bin/memana info --json trace.zst | grep -q native && bin/memana top trace.zst | grep -q ffn_forward && bin/memana oom trace.zst'

for suite in "${suites[@]}"; do
	check "$suite: a bare system" bare "$suite" python3,python3-venv
	rm -rf "$where/$suite/srv/memrec" "$where/$suite/srv/gpu"
	mkdir -p "$where/$suite/srv/memrec" "$where/$suite/srv/gpu" && cp "$wheel" "$tar" "$src/tests/elsewhere/screen.py" "$where/$suite/srv/memrec" &&
		cp "$programs"/standin/*.so* "$programs/samples/rl_step" "$where/$suite/srv/gpu" && chmod -R a+rX "$where/$suite/srv"
	check "$suite: pip install, a recording, the answer" guest "python3 -m venv env && env/bin/pip install --quiet --no-index memrec-*.whl &&
		$record env/bin/memrec -- $sample 2>said; cat said; $answer && cd env && mv ../trace.zst . && $after"
	check "$suite: tar, a recording, the answer" guest "tar xzf memrec-*.tar.gz && $record memrec-*/bin/memrec -- $sample 2>said; cat said; $answer &&
		cd memrec-*-linux-*/ && mv ../trace.zst . && $after"
	check "$suite: the timeline, in a terminal that this Debian knows nothing of" guest "tar xzf memrec-*.tar.gz && $record memrec-*/bin/memrec -q -- $sample &&
		TERM=foot python3 screen.py memrec-*-linux-*/bin/memana tui trace.zst"
done
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
