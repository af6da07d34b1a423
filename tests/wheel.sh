#!/usr/bin/env bash
# wheel.sh WHEEL BUILD - the wheel as a user gets it: symbols of glibc 2.28 at most, pip install, record, top, the timeline, python -m memrec,
# uninstall. BUILD has the stand-in GPU and the sample. Ends with "N passed, N failed, N skipped".
set -u
SRC=$(cd "$(dirname "$0")/.." && pwd)
wheel=$(readlink -f "$1") BUILD=$(cd "$2" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
passed=0 failed=0 skipped=0

check() { # NAME COMMAND...
	if "${@:2}" >log 2>&1; then
		echo "ok $1" && passed=$((passed + 1))
	else
		echo "not ok $1" && sed 's/^/# /' log | tail -n 8 && failed=$((failed + 1))
	fi
}
skip() { echo "skip $1" && skipped=$((skipped + 1)); }

python3 -m venv venv && venv/bin/python -m pip install --quiet --disable-pip-version-check auditwheel 2>/dev/null
python3 -m venv user
bin=$work/user/bin

pip() { "$bin/python" -m pip --disable-pip-version-check --no-cache-dir "$@"; }
check "pip install" pip install --quiet --no-index "$wheel"
find user -type f -o -type l | sort >with
programs="$bin/memrec $bin/memana user/lib/memrec/libmemrec.so user/lib/memrec/libmemrec-unwind.so"

newest() { # the newest symbol version of glibc that a program asks for
	objdump -T $programs | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1
}
old_symbols() { newest && [ "$(printf '%s\nGLIBC_2.28\n' "$(newest)" | sort -V | tail -n 1)" = GLIBC_2.28 ]; }
check "no symbol of a glibc newer than 2.28" old_symbols
libc_alone() { ! objdump -p $programs | grep NEEDED | grep -vE ' (libc|libm|libdl|libpthread|librt|ld-linux[a-z0-9-]*)\.so\.[0-9]$| libc\.so\.6$'; }
check "libraries of glibc alone" libc_alone
if [ -x venv/bin/auditwheel ]; then
	check "auditwheel: manylinux_2_28" bash -c 'venv/bin/auditwheel show "$0" | tr "\n" " " | grep -q manylinux_2_28_' "$wheel"
else
	skip "auditwheel: cannot be fetched"
fi

record() { LD_LIBRARY_PATH=$BUILD/standin "$bin/memrec" -o trace.zst -- "$BUILD/samples/rl_step" --steps 2 --quiet; }
check "memrec records" record
check "native stacks by the library of the wheel" bash -c '"$0" info --json trace.zst | grep -q native' "$bin/memana"
check "memana verify" "$bin/memana" verify trace.zst
same() { cmp <("$bin/memana" top --json trace.zst) <("$BUILD/memana" top --json trace.zst); }
check "memana top --json equals that of the ordinary build" same
check "memana oom" "$bin/memana" oom trace.zst
check "memana load and sql" bash -c '"$0" load -o t.db trace.zst && [ "$("$0" sql t.db "SELECT count(*) > 0 FROM site" | tail -n 1 | tr -d " ")" = 1 ]' "$bin/memana"
screen() { TERM=$1 TERMINFO=/nowhere timeout 10 python3 "$SRC/tests/elsewhere/screen.py" "$bin/memana" tui trace.zst; }
for terminal in xterm-256color tmux-256color foot; do check "memana tui on $terminal" screen "$terminal"; done

cat >marks.py <<'PYTHON'
import memrec
assert not memrec.recorded()
with memrec.phase("rollout"):
    memrec.step()
memrec.mark("done")
PYTHON
check "import memrec, not recorded" "$bin/python" marks.py
check "import memrec, recorded" "$bin/memrec" -q -- "$bin/python" -c 'import memrec; assert memrec.recorded(); memrec.phase("init").__enter__()'
check "python -m memrec" bash -c '[ "$("$0" -m memrec --version)" = "$("$1" --version)" ]' "$bin/python" "$bin/memrec"
check "python -m memrec.memana" bash -c '[ "$("$0" -m memrec.memana --version)" = "$("$1" --version)" ]' "$bin/python" "$bin/memana"

# The plugin of pytest comes with the wheel.
limits() {
	"$bin/python" -m pip install --quiet --disable-pip-version-check pytest && mkdir tests && cp "$SRC/tests/cli/gpu_driver.py" tests && cp "$SRC/tests/cli/pytest_limits.py" tests/test_limits.py &&
		(cd tests && LD_LIBRARY_PATH=$BUILD/standin "$bin/python" -m pytest -q --memrec; true) | grep -q '3 failed, 3 passed' && "$bin/python" -m pip uninstall --quiet --yes pytest pluggy iniconfig packaging pygments
}
if "$bin/python" -m pip download --quiet --disable-pip-version-check --no-deps -d download pytest 2>/dev/null; then check "pytest --memrec" limits; else skip "pytest: cannot be fetched"; fi

# A root folder with the C library alone: no terminfo, no other library.
bare() {
	local file
	mkdir -p bare/{bin,lib/memrec,tmp,proc,dev/shm,lib64,lib/x86_64-linux-gnu} && cp user/bin/mem* bare/bin && cp user/lib/memrec/* bare/lib/memrec && cp trace.zst bare
	for file in $(ldd "$bin/memana" "$bin/memrec" | grep -oE '/[^ ]+\.so[^ ]*' | sort -u); do cp --parents -L "$file" bare; done
	chroot bare /bin/memana top --json /trace.zst | grep '"bytes"' >bare.bytes
	"$bin/memana" top --json trace.zst | grep '"bytes"' | cmp - bare.bytes && [ -s bare.bytes ]
}
if [ "$(id -u)" = 0 ]; then check "in a folder with libc alone" bare; else skip "in a folder with libc alone: needs root"; fi

removed() { pip uninstall --quiet --yes memrec && [ -z "$(find user -path '*mem[ra][en][ca]*' -type f)" ]; }
check "pip uninstall leaves no file" removed
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
