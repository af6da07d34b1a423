#!/usr/bin/env bash
# installcheck.sh BINDIR BUILD - the installed memrec records the sample of BUILD on its stand-in GPU, and the installed memana reads the trace.
set -eu
bin=$(cd "$1" && pwd) build=$(cd "$2" && pwd)
make -C "$(dirname "$0")/.." --no-print-directory B="$build" standin samples >/dev/null
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
LD_LIBRARY_PATH=$build/standin "$bin/memrec" -o "$dir/trace.zst" -- "$build/samples/rl_step" --steps 1 --quiet
"$bin/memana" verify "$dir/trace.zst" >/dev/null
"$bin/memana" top "$dir/trace.zst" | head -n 4
echo "installcheck: $bin/memrec records, $bin/memana reads"
