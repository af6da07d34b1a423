#!/usr/bin/env bash
# session.sh 1|2|3 [BUILD] - one of the three commands for thirty minutes on a machine with a GPU,
# ten minutes each, the most valuable first. BUILD is build-gpu-kit (make gpu-kit) unless given. $OUT is the folder
# whose files go home: at most eight of 16 MiB. The last lines are the end of OUT/log.
#   1  facts of the machine; what CUPTI shows by an injection of its own, against the recorder; rl_step
#   2  the events against PyTorch's own history; the allocator's double; the GPU as a whole; samples
#   3  PyTorch's profiler in the same process; JAX, CuPy; failures and their causes; what recording costs
set -u
cd "$(dirname "$0")/../.." || exit 2
export OUT=${OUT:-$PWD/gpu-results} SECONDS_LEFT=${SECONDS_LEFT:-570} PYTHONUNBUFFERED=1
mkdir -p "$OUT" || exit 2
export KEEP=$OUT KEEP_FILES=4
case ${1:-} in
1) PARTS="facts probe driver" KEEP_FILES=2 ;;
2) PARTS="history samples order whole" ;;
3) PARTS="profiler others failures times" ;;
*)
	sed -n '2,7s/^# //p' "$0" >&2
	exit 2
	;;
esac
export PARTS
# For a program without a CUPTI of its own, PyTorch's wheels have the one to use.
wheels=$(python3 -c 'import os, torch; print(os.path.realpath(os.path.join(torch.__path__[0], "..", "nvidia", "cu13")))' 2>/dev/null)
[ -z "$wheels" ] || [ ! -d "$wheels" ] || export CUDA_HOME=$wheels
tests/gpu/run.sh "${2:-build-gpu-kit}" "$OUT" >"$OUT/log" 2>&1
status=$?
tail -c 11000 "$OUT/log"
exit $status
