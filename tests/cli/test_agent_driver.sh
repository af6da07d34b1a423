# The agent under the stand-in CUDA driver: each way into a process, every call of a whole sample, and failures.
. "$SRC/tests/cli/lib.sh"
agent=$BUILD/libmemrec.so
options="run-dir=$PWD/rings output=$PWD/trace.zst collector=$(type -P true)"
export LD_LIBRARY_PATH=$standin

fresh() { rm -rf rings ledger; mkdir rings; }
dump() { python3 "$SRC/tests/cli/agent_ring.py" rings/*.ring 0; }
events() { python3 "$SRC/tests/cli/agent_ring.py" rings/*.ring 100000; }

# run DOORS COMMAND...: runs COMMAND without a collector. The ring is large enough for all of its events.
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

# ---- Every entry of driver_entries.h ----

everything() { STANDIN_GPUS=2 STANDIN_STATE=$PWD/state "$@" python3 "$SRC/tests/cli/driver_everything.py"; }
every_entry() {
	mkdir -p state
	everything run "CUDA_INJECTION64_PATH=$agent" && python3 "$SRC/tests/cli/agent_driver.py" rings/*.ring ledger
}
check "driver: every entry, its event, address, size and device" every_entry

# The names of the list that no call of that program (which the stand-in has counted) was of.
uncalled() {
	grep -oE 'X\(cu[A-Za-z0-9_]+' "$SRC/recorder/agent/cuda/driver_entries.h" | cut -c3- | sort >listed
	sh "$SRC/tests/standin/ledger.sh" ledger | awk '/^call/ { print $2 }' | sort | comm -23 listed - >left
	cat left
	[ -s listed ] && [ ! -s left ]
}
check "driver: no entry is without a test" uncalled

# The same with memrec and memana: bytes held at the peak and at the end, on each GPU and on the host.
in_the_trace() {
	fresh && rm -rf state && mkdir state
	STANDIN_LEDGER=$PWD/ledger everything "$memrec" --ring-dir rings -o all.zst -- && "$memana" verify all.zst &&
		"$memana" top --json all.zst >top.json && "$memana" sql all.zst "SELECT coalesce(device.id, 'host'),
			total(CASE WHEN free_seq IS NULL AND memory != 'imported' THEN bytes END) FROM allocation
			JOIN device ON device.id = allocation.device GROUP BY 1" >live
	pid=$("$memana" sql all.zst "SELECT pid FROM process" | tail -1)
	awk -v pid="$pid" '$1 == pid' ledger >own && sh "$SRC/tests/standin/ledger.sh" own >sums || return
	python3 - <<-'END'
		import json
		sums = [line.split() for line in open("sums") if line.startswith(("peak", "live"))]
		peaks = {device: int(size) for what, device, size in sums if what == "peak" and device != "host"}
		live = sorted(int(size) for what, device, size in sums if what == "live")
		top = json.load(open("top.json"))
		gpus = [device for device in top["devices"] if device["kind"] == "cuda"]
		got = {str(gpu["id"]): gpu["peak"]["bytes"] for gpu in gpus}
		print(peaks, got, live, open("live").read())
		assert got == peaks and all(peaks.values())
		held = [line.split()[-1] for line in open("live")]
		assert sorted(int(float(size)) for size in held if size[0].isdigit()) == live
	END
}
check "driver: the trace of it agrees with the driver's account to the byte" in_the_trace

# ---- Devices of calls that do not name a device ----

# devices ENVIRONMENT... -- CALLS: the devices of the allocations that the Python lines CALLS make.
cat >program.py <<'PY'
import ctypes
import sys
cuda = ctypes.CDLL("libcuda.so.1")
context, address, count = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_int()
def call(name, *args):
    assert getattr(cuda, name)(*args) == 0, name
def retain(device):
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
def take():
    call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(4096))
call("cuInit", 0)
exec(sys.argv[1])
PY
devices() {
	local doors=("CUDA_INJECTION64_PATH=$agent")
	while [ "$1" != -- ]; do
		doors+=("$1")
		shift
	done
	fresh
	MEMREC_OPTIONS=$options env "${doors[@]}" python3 program.py "$2" || return
	events | sed -n 's/.* DRIVER_ALLOC device 1 \([-0-9]*\) addr.*/\1/p' | tr '\n' ' ' | tee devices
}
is() { local want=$1; shift; devices "$@" && [ "$(cat devices)" = "$want " ]; }
unseen=STANDIN_FAULT_UNKNOWN_CBID=386 # cuDevicePrimaryCtxRetain
check "device: of the context" is "1 0" STANDIN_GPUS=2 -- 'retain(1); take(); retain(0); take()'
check "device: no context is shown: that of the thread's" \
	is "1" STANDIN_GPUS=2 STANDIN_FAULT_NULL_CONTEXT=1 -- 'retain(1); take()'
check "device: nobody was seen to make the context, CUPTI tells of it" is "1 0" $unseen STANDIN_GPUS=2 -- 'retain(1); take(); retain(0); take()'
asked_once() {
	is "1 1 1" $unseen STANDIN_FAULT_NO_RESOURCE=1 STANDIN_GPUS=2 STANDIN_CUPTI_LOG="$PWD/asked" -- 'retain(1); take(); take(); take()' &&
		[ "$(grep -c ' cuptiGetDeviceId 0 .* in-callback' asked)" = 1 ]
}
check "device: nor does CUPTI: it is asked, once" asked_once
asked_in_vain() {
	is "-1 -1" $unseen STANDIN_FAULT_NO_RESOURCE=1 STANDIN_FAULT_NO_DEVICE_ID=1 STANDIN_GPUS=2 STANDIN_CUPTI_LOG="$PWD/in-vain" -- \
		'retain(1); take(); take()' && [ "$(grep -c ' cuptiGetDeviceId 3 ' in-vain)" = 1 ]
}
check "device: nor does CUPTI know: nothing is said" asked_in_vain
blind="STANDIN_FAULT_NO_RESOURCE=1 STANDIN_FAULT_NO_DEVICE_ID=1"
check "device: another context's device is no answer" \
	is "1 -1" $unseen $blind STANDIN_GPUS=2 -- 'call("cuCtxCreate_v2", ctypes.byref(context), 0, 1); take(); retain(0); take()'
check "device: the context was not seen, there is one device" \
	is "0" $unseen $blind -- 'call("cuDeviceGetCount", ctypes.byref(count)); retain(0); take()'
check "device: the context was not seen, one device is visible" \
	is "0" $unseen $blind STANDIN_GPUS=2 CUDA_VISIBLE_DEVICES=1 -- 'retain(0); take()'

# A context that others may hold, too, is not thought gone: its memory is still there.
held_by_others() {
	devices $unseen -- 'retain(0); retain(0); take(); call("cuDevicePrimaryCtxRelease_v2", 0); take()' &&
		! events | grep CONTEXT_GONE
}
check "contexts: one that was not seen to be made does not go unseen" held_by_others

# Graphs beyond the tables: said, and nothing invented.
cat >many.py <<'PY'
import sys
sys.argv, here = sys.argv[:1], sys.argv[1]
sys.path.insert(0, here)
import driver_everything as driver
driver.start()
for i in range(300):
    graph = driver.out("cuGraphCreate", 0, type=driver.c_void_p)
    driver.add_node("cuGraphAddNode", graph, driver.alloc_params(1 << 21))
    execute = driver.out("cuGraphInstantiateWithFlags", driver.c_void_p(graph), 0, type=driver.c_void_p)
    driver.call("cuGraphLaunch", driver.c_void_p(execute), driver.c_void_p())
PY
many_graphs() {
	run "CUDA_INJECTION64_PATH=$agent" python3 many.py "$SRC/tests/cli" && events >dump &&
		grep 'source cupti 1 more graphs with memory nodes' dump &&
		[ "$(grep -c DRIVER_ALLOC dump)" = 256 ]
}
check "graphs: more than the recorder follows" many_graphs

# ---- The subscription, and other doors ----

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
late() { sources CUDA_INJECTION64_PATH="$agent" && grep 'source cuda-tensors 2 PyTorch was there before memrec' dump; }
in_time() {
	sources LD_PRELOAD="$agent" CUDA_INJECTION64_PATH="$agent" && grep 'source cupti 1' dump &&
		! grep 'PyTorch was there' dump
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
