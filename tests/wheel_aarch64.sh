#!/usr/bin/env bash
# wheel_aarch64.sh WHEEL PROGRAMS COMPILER BUILD - the wheel of `make wheel ARCH=aarch64` under qemu-user. PROGRAMS has the stand-in GPU and the sample for aarch64,
# COMPILER makes the shim. The C library is Debian's, fetched. The agent records by its assembly, its stacks, its patched slots and its collector. The answers equal those
# of BUILD. Things that an emulator cannot show are skipped with their reason. Ends with "N passed, N failed, N skipped".
set -u
SRC=$(cd "$(dirname "$0")/.." && pwd)
wheel=$(readlink -f "$1") programs=$(cd "$2" && pwd) compiler=$(readlink -f "$3") BUILD=$(cd "$4" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
passed=0 failed=0 skipped=0

skip() { echo "skip $1" && skipped=$((skipped + 1)); }
check() { # NAME COMMAND...
	if "${@:2}" >log 2>&1; then
		echo "ok $1" && passed=$((passed + 1))
	else
		echo "not ok $1" && sed 's/^/# /' log | tail -n 8 && failed=$((failed + 1))
	fi
}

library() { # Debian's package, with lists and a cache of their own
	mkdir -p apt/lists/partial apt/cache/archives/partial && : >apt/status
	local apt=(apt-get -q -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o "Dir::State::lists=$work/apt/lists" -o "Dir::Cache=$work/apt/cache"
		-o APT::Sandbox::User= -o Acquire::Languages=none -o "Dir::State::status=$work/apt/status")
	"${apt[@]}" update && "${apt[@]}" download libc6:arm64 && dpkg-deb -x libc6_*.deb root
}
check "a C library for aarch64" library
python3 -m zipfile -e "$wheel" tree
mkdir -p bin lib && cp -r tree/*.data/data/lib/memrec lib && cp tree/*.data/scripts/* bin && chmod +x bin/*

newest() { readelf -W --dyn-syms bin/* lib/memrec/* | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1; }
old_symbols() { newest && [ "$(printf '%s\nGLIBC_2.28\n' "$(newest)" | sort -V | tail -n 1)" = GLIBC_2.28 ]; }
check "no symbol of a glibc newer than 2.28" old_symbols
machine() { local file && for file in bin/* lib/memrec/*; do readelf -h "$file" | grep -q 'Machine: *AArch64' || { echo "$file"; return 1; }; done; }
check "all of it is for aarch64" machine

# arm COMMAND...: emulated. The stand-in reserves what a limit leaves; the emulator has a table for all of it.
arm() { (ulimit -v $((320 << 20)) && exec timeout 120 qemu-aarch64-static -L "$work/root" "${settings[@]}" "$@"); }
settings=()
check "memrec --version" arm bin/memrec --version
check "memana --help" arm bin/memana --help

check "a shim for the emulator" sh -c '"$0" -D_GNU_SOURCE -shared -fPIC -o shim.so "$1" -ldl' "$compiler" "$SRC/tests/elsewhere/qemu_shim.c"

# The kernel does not start programs of another processor. A script does it for the collector; memrec, which starts two programs, is left out.
printf '#!/bin/sh\nulimit -v %d\nexec qemu-aarch64-static -L "%s" "%s" "$@"\n' $((320 << 20)) "$work/root" "$work/bin/memrec" >collector && chmod +x collector
record() { # NAME OPTIONS COMMAND...: NAME.zst, whole. Without a launcher the process id is in the name.
	settings=(-E "LD_LIBRARY_PATH=$programs/standin" -E "LD_PRELOAD=$work/shim.so:$work/lib/memrec/libmemrec.so" -E "CUDA_INJECTION64_PATH=$work/lib/memrec/libmemrec.so"
		-E "NVTX_INJECTION64_PATH=$work/lib/memrec/libmemrec.so" -E "MEMREC_OPTIONS=output=$work/$1.zst collector=$work/collector $2")
	arm "${@:3}"
	local status=$? i
	settings=()
	for i in $(seq 100); do
		"$BUILD/memana" verify "$1".*.zst >verified 2>&1 && mv "$1".*.zst "$1.zst" && return $status
		sleep 0.2
	done
	cat verified
	return 1
}
check "a recording of the sample" record trace "" "$programs/samples/rl_step" --steps 2 --quiet
account() { # the account that the sample keeps of itself
	settings=(-E "LD_LIBRARY_PATH=$programs/standin") && arm "$programs/samples/rl_step" --steps 2 --quiet >said; settings=()
	bytes=$(sed -n 's/.*peak \([0-9]*\) bytes.*/\1/p' said) && [ -n "$bytes" ] && "$BUILD/memana" top --json trace.zst | grep -q "\"peak_bytes\": $bytes\|\"bytes\": $bytes"
}
check "the peak is that of the sample's own account" account
native() { "$BUILD/memana" top --why trace.zst | tee out | grep -q ffn_forward && grep -q tensor_new out && grep -q train_step out && grep -q 'main' out; }
check "native stacks from the program to the call, with names" native
sane() { "$BUILD/memana" info --json trace.zst >info.json && grep -q native info.json && "$BUILD/memana" oom trace.zst >/dev/null; }
check "the sources of the trace" sane
# Frames of the agent's own stack, or none at all, would show as stacks of one frame.
deep() { [ "$("$BUILD/memana" sql trace.zst "SELECT count(*) FROM allocation JOIN place USING (node) WHERE place LIKE 'rl_step%'" | tail -n 1 | tr -d ' ')" -gt 1000 ]; }
check "more than 1000 allocations have a place in the program" deep
for command in top steps growth oom advise frag retained; do
	same() { [ -s trace.zst ] && cmp <(arm bin/memana $command --json trace.zst) <("$BUILD/memana" $command --json trace.zst); }
	check "memana $command --json equals that of the ordinary build" same
done
check "a recording with a limit of steps, in own stacks" record few "steps=1 depth=64" "$programs/samples/rl_step" --steps 2 --quiet
screen() { TERM=xterm-256color python3 "$SRC/tests/elsewhere/screen.py" /usr/bin/env bash -c 'ulimit -v 335544320; exec qemu-aarch64-static -L "$0" "$1" tui "$2"' "$work/root" bin/memana trace.zst; }
check "memana tui" screen
skip "memrec as the launcher, and attach: qemu-user starts no program of another processor, and debuggers see the emulator"
skip "Python stacks: not tried under the emulator"
skip "a real GPU and its driver, speed, and the order of memory of real processors"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
