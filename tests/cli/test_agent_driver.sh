# The agent under the (stand-in) CUDA driver: each door, every call of a whole sample, and what goes wrong.
. "$SRC/tests/cli/lib.sh"
agent=$BUILD/libmemrec.so
options="run-dir=$PWD/rings output=$PWD/trace.zst collector=$(type -P true)"
export LD_LIBRARY_PATH=$standin

fresh() { rm -rf rings ledger; mkdir rings; }
dump() { python3 "$SRC/tests/cli/agent_ring.py" rings/*.ring 0; }

# run DOORS COMMAND...: the ring is large enough for all of it, nobody drains it.
run() {
	local doors=$1
	shift
	fresh
	STANDIN_LEDGER=$PWD/ledger MEMREC_OPTIONS="$options slot-bytes=8388608" env $doors "$@" >out 2>&1
}
all_events() {
	run "$1" "$BUILD/samples/rl_step" --steps 2 && python3 "$SRC/tests/cli/agent_driver.py" rings/*.ring ledger
}
check "driver: every call, by LD_PRELOAD and CUDA_INJECTION64_PATH" \
	all_events "LD_PRELOAD=$agent CUDA_INJECTION64_PATH=$agent NVTX_INJECTION64_PATH=$agent"
nvtx_is_on() { dump >dump && grep 'source nvtx 1' dump; }
check "driver: nvtx came by its own door" nvtx_is_on
check "driver: every call, by CUDA_INJECTION64_PATH alone" all_events "CUDA_INJECTION64_PATH=$agent"

failed_request() {
	STANDIN_FAULT_OOM_AT=3 run "CUDA_INJECTION64_PATH=$agent" "$BUILD/samples/rl_step"
	python3 "$SRC/tests/cli/agent_driver.py" rings/*.ring ledger | grep DRIVER_FAIL
}
check "driver: a request that fails" failed_request

# taken WHY [OPTION]: CUPTI is not there, the other hooks are.
taken() {
	fresh
	RINGS=$PWD/rings MEMREC_OPTIONS="$options ${2:-}" LD_PRELOAD=$agent CUDA_INJECTION64_PATH=$agent python3 -c '
import ctypes, sys
sys.path.insert(0, sys.argv[1])
import agent_hooks as hooks
assert ctypes.CDLL("libcuda.so.1").cuInit(0) == 0
hooks.alloc(0x1000)
print(hooks.ring().sources["cupti"])' "$SRC/tests/cli" | grep -- "$1"
}
by_another() { STANDIN_FAULT_SUBSCRIBED=some-tool taken '(2, .*some-tool'; }
check "driver: the subscription is taken, and by whom" by_another
check "driver: --no-cupti" taken "(0, 'not asked for" no-cupti=1

# The driver alone loads the agent, after something that looks like PyTorch.
cat >c10.c <<'C'
#include <stdbool.h>
bool _ZN3c1022memoryProfilingEnabledEv(void);
bool _ZN3c1022memoryProfilingEnabledEv(void) { return false; }
C
# sources DOORS: a fake libc10 is there, then the driver starts; prints what the agent says of its sources.
sources() {
	fresh
	${CC:-cc} -shared -fPIC -o libc10.so c10.c || return
	MEMREC_OPTIONS=$options env "$@" python3 -c '
import ctypes, os
c10, cuda = ctypes.CDLL("./libc10.so"), ctypes.CDLL("libcuda.so.1")
assert cuda.cuInit(0) == 0
context, address = ctypes.c_void_p(), ctypes.c_uint64()
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4096)) == 0' && dump >dump && cat dump
}
late() { sources CUDA_INJECTION64_PATH="$agent" && grep 'source cuda-tensors 2 memrec is not in LD_PRELOAD' dump; }
in_time() {
	sources LD_PRELOAD="$agent" CUDA_INJECTION64_PATH="$agent" && grep 'source cupti 1' dump &&
		! grep 'not in LD_PRELOAD' dump
}
check "driver: PyTorch was there before the agent" late
check "driver: the agent was there before PyTorch" in_time

# door VALUE PATTERN: the other door is open, and the driver does not call.
door() {
	fresh
	RINGS=$PWD/rings MEMREC_OPTIONS=$options LD_PRELOAD=$agent CUDA_INJECTION64_PATH=$1 python3 -c '
import sys
sys.path.insert(0, sys.argv[1])
import agent_hooks as hooks
hooks.alloc(0x1000)
print(hooks.ring().sources["cupti"])' "$SRC/tests/cli" | grep -- "$2"
}
ln -s "$agent" link.so
check "driver: another tool has the door" door /tools/other.so \
	"(2, 'another tool has CUDA_INJECTION64_PATH (/tools/other.so): driver memory is not recorded')"
check "driver: nobody has the door" door none "(-1, '')"
check "driver: our own door by another name" door "$PWD/link.so" "(-1, '')"

nvtx() {
	fresh
	RINGS=$PWD/rings MEMREC_OPTIONS=$options LD_PRELOAD=$agent python3 "$SRC/tests/cli/agent_nvtx.py"
}
check "nvtx: ranges, domains, registered and wide strings, two libraries" nvtx
