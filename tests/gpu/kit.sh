#!/bin/sh
# kit.sh BUILD KIT - what tests/gpu needs of BUILD goes to KIT, with every library but the C library in KIT/lib: what the
# programs are linked with, libunwind, which the agent opens by its name, and what these need in turn.
#
# A library that is opened by dlopen does not look where its opener would, so each of them says itself where to look
# (DT_RPATH: before everything else, for what is needed directly and by what is needed).
set -e
build=$1 kit=$2
rm -rf "$kit"
mkdir -p "$kit/lib" "$kit/samples" "$kit/allocator" "$kit/gpu"
cp "$build/memrec" "$build/memana" "$build/libmemrec.so" "$build/libmemrec-nop.so" "$kit"
cp -r "$build/each" "$kit"
cp "$build/samples/rl_step" "$kit/samples"
cp -r "$build/allocator/." "$kit/allocator"
cp "$build/gpu/libsleeper.so" "$build/gpu/probe.so" "$kit/gpu"
unwind=$(/sbin/ldconfig -p | awk '$1 == "libunwind.so.8" { print $NF; exit }')
[ -n "$unwind" ] || { echo "kit.sh: libunwind.so.8 is not here (install libunwind8)" >&2; exit 4; }
# The C library is the machine's own: one of two versions in a process would not do.
{
	echo "$unwind"
	ldd "$kit/memrec" "$kit/memana" "$kit/allocator/trace_events" "$unwind" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }'
} | sort -u | grep -vE '/(libc|libm|libdl|libpthread|librt|ld-linux[^/]*)\.so' | while read -r library; do
	cp -L "$library" "$kit/lib"
done
look_in() { patchelf --force-rpath --set-rpath "$@"; }
look_in '$ORIGIN' "$kit"/lib/*
look_in '$ORIGIN/lib' "$kit/memrec" "$kit/memana" "$kit/libmemrec.so"
look_in '$ORIGIN/../lib' "$kit/allocator/trace_events"
