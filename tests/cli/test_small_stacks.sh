# Hooks on threads, fibers and signal stacks with little room: the test paints the stack to measure the bytes that a
# hook needs, and runs hooks with hardly more.
. "$SRC/tests/cli/lib.sh"
agent=$BUILD/libmemrec.so
${CC:-cc} -g -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -o paint "$SRC/tests/cli/agent_paint.c" -ldl -lpthread || exit 1
most=$(sed -n 's/^#define OWN_STACK_HOOK_BYTES \([0-9]*\)u.*/\1/p' "$SRC/recorder/agent/stacks/own_stack.h")
options="output=$PWD/trace.zst collector=$(type -P true) stacks=7 depth=256 cpu=1"
export LD_LIBRARY_PATH=$standin

# painted DOORS ACT...: what agent_paint prints.
painted() {
	local doors=$1
	shift
	rm -rf rings && mkdir rings
	# shellcheck disable=SC2086
	env MEMREC_OPTIONS="run-dir=$PWD/rings $options" $doors ./paint "$@" || { echo "exit status $?"; return 1; }
}
both="LD_PRELOAD=$agent CUDA_INJECTION64_PATH=$agent" driver="CUDA_INJECTION64_PATH=$agent"

# at_most DOORS ACT...: with the agent, no act needs more than `most` further bytes of stack.
at_most() {
	./paint "${@:2}" >without && painted "$@" >with || { cat with; return 1; }
	paste -d ' ' without with | awk -v most="$most" '
		{ print $1, $4 - $2 }
		$4 - $2 > worst { worst = $4 - $2 }
		END { exit NR == 0 || worst > most || worst == 0 }'
}
check "stack: the first event starts the recording" at_most "$both" tensor tensor free oom
check "stack: the driver's calls" at_most "$both" init driver driver driver
check "stack: the driver's calls, without LD_PRELOAD" at_most "$driver" init driver driver driver
check "stack: tensors of the CPU" at_most "$both" cpu cpu
check "stack: marks and phases, before and after" at_most "$both" mark phase tensor mark phase
check "stack: a source that is not seen is noted" at_most "$both" init cpu

# Frames are there all the same: the unwinder leaves our stack for the program's.
frames() { # ACT...
	"$memrec" -o frames.zst -- ./paint init "$@" >out 2>err && "$memana" top --json frames.zst >top.json || { cat out err; return 1; }
	names=$(python3 -c 'import json; print(*[f["function"] for f in json.load(open("top.json"))["devices"][0]["sites"][0]["stack"]])')
	echo "$names"
	[[ $names == "act_driver take_and_report $want"* ]] # the C library may have no name for its own
}
want=in_fiber check "stack: frames of a fiber with 16 KiB" frames fiber 16
want= check "stack: frames of a thread with 16 KiB" frames small 16
want=on_signal check "stack: frames of a handler with 16 KiB" frames signal 16

# A thread that may make no system calls survives, and its events are counted as lost.
sealed() { # DOORS ACT
	painted "$1" init driver "$2" driver >out && grep -qx 'sealed reached' out && python3 "$SRC/tests/cli/agent_ring.py" rings/*.ring >dump &&
		grep -Eq '^pid .* lost \(0, 0, 0, 0, 0, 0, 0, [1-9]' dump && [ "$(grep -c DRIVER_ALLOC dump)" = 2 ] || { cat out; head -3 dump; return 1; }
}
if ./paint sealed 2>/dev/null | grep -qx 'sealed reached'; then
	for act in sealed sealed_number sealed_seccomp; do
		check "stack: a thread in strict seccomp mode ($act)" sealed "$both" $act
		check "stack: a thread in strict seccomp mode ($act), without LD_PRELOAD" sealed "$driver" $act
	done
else
	echo "skip stack: a thread in strict seccomp mode: not here"
fi

small() { # KIND KIB
	[ "$(painted "$both" init "$1" "$2" | tail -n 1)" = done ] && python3 "$SRC/tests/cli/agent_ring.py" rings/*.ring >dump &&
		grep -q DRIVER_ALLOC dump && grep -q TENSOR_ALLOC dump && grep -q TENSOR_FREE dump
}
for kib in 16 20 24; do check "stack: a thread with $kib KiB" small small $kib; done
for kib in 4 8 16; do check "stack: a fiber with $kib KiB" small fiber $kib; done
for kib in 8 12 20; do check "stack: a signal stack of $kib KiB" small signal $kib; done

# memrec, its collector and memana have room of their own, and the program keeps the limit.
narrow() { (ulimit -s 64 && exec "$@"); }
limited() {
	narrow "$memrec" -o limit.zst -- "$BUILD/samples/rl_step" --quiet >out 2>err && grep -qE "peak 65.9 GiB, 3 steps, no OOM, [0-9]+ events, nothing lost" err &&
		[ "$(narrow "$memrec" -o none.zst -- sh -c 'ulimit -s' 2>err)" = 64 ] || { cat out err; return 1; }
}
check "ulimit -s 64: a recording" limited
same() { # REPORT...
	narrow "$memana" "$@" limit.zst >narrow.txt && "$memana" "$@" limit.zst >wide.txt && cmp narrow.txt wide.txt
}
for report in "top --why" oom advise "retained --full" "verify"; do
	# shellcheck disable=SC2086
	check "ulimit -s 64: memana $report" same $report
done
