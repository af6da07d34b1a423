#!/usr/bin/env bash
# demo.sh BUILD - records samples/rl_step and shows what filled the GPU. On the stand-in GPU, or on a real one where
# there is one (rl_step then scales itself to its memory). The trace stays in BUILD/demo.zst.
set -eu
build=${1:-build}
trace=$build/demo.zst
command="$build/samples/rl_step"

if nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then
	echo "On the GPU of this machine."
else
	echo "No GPU here: on the stand-in GPU (80 GiB that take no memory)."
	export LD_LIBRARY_PATH=$(cd "$build/standin" && pwd)${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} STANDIN_MEM=${STANDIN_MEM:-80GiB}
	# A GPU that others can look at, and that takes a moment to work.
	STANDIN_STATE=$(mktemp -d)
	trap 'rm -rf "$STANDIN_STATE"' EXIT
	export STANDIN_STATE STANDIN_SYNC_NS=${STANDIN_SYNC_NS:-80000000}
fi

echo "\$ memrec --steps 3 -o $trace -- $command"
"$build/memrec" --steps 3 -o "$trace" -- "$command"
echo
echo "\$ memana top $trace"
"$build/memana" top "$trace"
