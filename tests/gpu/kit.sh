#!/bin/sh
# kit.sh BUILD KIT - what tests/gpu needs of BUILD goes to KIT, with the libraries that a bare machine lacks in KIT/lib.
set -e
build=$1 kit=$2
rm -rf "$kit"
mkdir -p "$kit/lib" "$kit/samples" "$kit/allocator" "$kit/gpu"
cp "$build/memrec" "$build/memana" "$build/libmemrec.so" "$build/libmemrec-nop.so" "$kit"
cp "$build/samples/rl_step" "$kit/samples"
cp -r "$build/allocator/." "$kit/allocator"
cp "$build/gpu/libsleeper.so" "$kit/gpu"
# The C library is the machine's own. libunwind is looked for by name when the agent starts.
{
	ldd "$kit/memrec" "$kit/memana" "$kit/allocator/trace_events" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }'
	/sbin/ldconfig -p | awk '$1 == "libunwind.so.8" { print $NF; exit }'
} | sort -u | grep -vE '/(libc|libm|libdl|libpthread|librt|ld-linux[^/]*)\.so' | while read -r library; do
	cp -L "$library" "$kit/lib"
done
du -sh "$kit"
