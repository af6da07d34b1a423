# NVIDIA's own libcuda on a machine without a GPU, with its own CUPTI: it calls the agent, refuses everything in its own
# way, and a program under memrec ends as without it. All of it in a mount namespace with a /dev of its own, because this
# libcuda makes device nodes where root runs it.
. "$SRC/tests/cli/lib.sh"
[ -d "$DRIVER/driver" ] || skip "the real driver library is not here"
as_user=
[ "$(id -u)" = 0 ] || as_user=1
unshare ${as_user:+-r} -m true 2>/dev/null || skip "real driver: no root here, and user namespaces are switched off"
[ -e /proc/driver/nvidia/version ] && skip "real driver: there is a GPU here (make test-gpu)"
cuda=$DRIVER/driver
cupti12=$DRIVER/cuda12/nvidia/cuda_cupti cupti13=$DRIVER/cuda13/nvidia/cu13

# alone COMMAND...: in a /dev of its own; which nodes of the driver are there afterwards goes to ./nodes.
alone() {
	unshare ${as_user:+-r} -m bash -c '
		mkdir -p dev && mount -t tmpfs -o mode=755 none dev || exit 99
		for node in null urandom; do : >dev/$node && mount --bind /dev/$node dev/$node; done
		mkdir -m 1777 dev/shm && mount -t tmpfs none dev/shm && mount --rbind dev /dev
		"$@"
		status=$?
		ls /dev | grep nvidia >nodes
		exit $status' bash "$@"
}

cat >program.py <<'PY'
"""ACT...: what a program does with the driver and with PyTorch's allocator; ends with status 7."""
import ctypes, os, re, sys
sys.path.insert(0, os.environ["SRC"] + "/tests/cli")
def start():
    return ctypes.CDLL("libcuda.so.1").cuInit(0)
def version():
    number = ctypes.c_int()
    return ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(number)), number.value
def fork():
    child = os.fork()
    if not child:
        os._exit(start())
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
def runtime():
    count = ctypes.c_int()
    return ctypes.CDLL(os.environ["CUDART"]).cudaGetDeviceCount(ctypes.byref(count))
def mapped():
    with open("/proc/self/maps") as maps:
        return len({line.split()[-1] for line in maps if re.search(r"/libcupti[^/]*$", line)})
def load():
    ctypes.CDLL(os.environ["CUPTI"])
def tensor():
    import agent_hooks as hooks
    if hooks.library["_ZN3c1022memoryProfilingEnabledEv"]():
        hooks.alloc(0x1000, device=hooks.CPU)
for act in sys.argv[1:]:
    result = globals()[act]()
    if result is not None:
        print(act, result, flush=True)
sys.exit(7)
PY

# same ENVIRONMENT ACT...: as without memrec, to the byte; what memrec said is in ./err, what the driver left in ./nodes.
same() {
	local environment=$1
	shift
	# shellcheck disable=SC2086
	status 7 alone env $environment LD_LIBRARY_PATH="$cuda" python3 program.py "$@" || return
	mv out out.alone && mv err err.alone && mv nodes nodes.alone
	rm -f trace*.zst
	# shellcheck disable=SC2086
	status 7 alone env $environment LD_LIBRARY_PATH="$cuda" "$memrec" -- python3 program.py "$@" || return
	cmp out out.alone && [ ! -s err.alone ] && cmp nodes nodes.alone && [ "$(grep -cv '^memrec: ' err)" = 0 ] || { cat err; return 1; }
}
refuses() { # PATTERN ENVIRONMENT ACT...
	local pattern=$1
	shift
	same "$@" && grep -qx 'start 100' out && grep -qE "^memrec: process [0-9]+ used CUDA .* not recorded: $pattern" err || { cat out err; return 1; }
}
unfit="\(it does not fit the driver's version, or there is no GPU\): driver memory is not recorded; tried"

check "real driver: CUPTI 12.2, in a toolkit" refuses "CUPTI refuses .* error 15 $unfit $cupti12/lib/libcupti.so.12$" "CUDA_HOME=$cupti12" start start
check "real driver: CUPTI 13.0, in a wheel" refuses "CUPTI refuses .* error 999 $unfit .*/libcupti.so.13$" "CUDA_HOME=$cupti13 PATH=/usr/bin:/bin" start
check "real driver: CUPTI 12.2 is there before" refuses "CUPTI refuses .* error 15 $unfit .*libcupti.so.12$" "CUPTI=$cupti12/lib/libcupti.so.12" load start
check "real driver: CUPTI 13.0 is there before" refuses "CUPTI refuses .* error 999 $unfit .*libcupti.so.13$" "CUPTI=$cupti13/lib/libcupti.so.13" load start
# Tells more than the other; and the driver says 12.2, so 12.2 is asked first.
check "real driver: of two that of its own version" refuses "CUPTI refuses .* error 15 .*/libcupti.so.12$" "CUDA_HOME=$cupti13 CUDA_PATH=$cupti12" start
none_stays() { same "CUDA_HOME=$cupti12 CUDA_PATH=$cupti13" start mapped && grep -qx 'mapped 0' out; }
check "real driver: what was tried does not stay" none_stays
check "real driver: the version is told without cuInit" same "" version
check "real driver: cuInit in a forked child" same "CUDA_HOME=$cupti12" fork
check "real driver: the runtime 12.2" same "CUDART=$DRIVER/cuda12/nvidia/cuda_runtime/lib/libcudart.so.12" runtime runtime
check "real driver: the runtime 13.0" same "CUDART=$cupti13/lib/libcudart.so.13" runtime

# CPU tensors, before and after: with the driver's word, and its node, that there is no GPU.
# The program calls the agent's hook, which is not there without it: only what memrec said counts.
records() {
	local environment=$1
	shift
	rm -f trace*.zst
	# shellcheck disable=SC2086
	status 7 alone env $environment LD_LIBRARY_PATH="$cuda" "$memrec" -- python3 program.py "$@" &&
		grep -q '^memrec: trace.zst: .* [1-9][0-9]* events, ' err && "$memana" top trace.zst | grep -q CPU || { cat err; return 1; }
}
check "real driver: it found no GPU: CPU tensors are recorded (CUPTI 12.2)" records "CUDA_HOME=$cupti12" start tensor
check "real driver: it found no GPU: CPU tensors are recorded (CUPTI 13.0)" records "CUDA_HOME=$cupti13" start tensor
no_node() { records "" tensor && [ ! -s nodes ]; }
check "real driver: memrec asks no driver that the program did not ask" no_node

if [ -n "$PYTHON" ]; then
	torch() {
		rm -f trace*.zst
		status 0 alone env LD_LIBRARY_PATH="$cuda" CUDA_HOME="$cupti12" "$memrec" -- "$PYTHON" -c '
import ctypes, torch
print(ctypes.CDLL("libcuda.so.1").cuInit(0), torch.cuda.is_available(), torch.ones(1000).sum())' && grep -qx '100 False tensor(1000.)' out &&
			grep -q '^memrec: trace.zst: .* [1-9][0-9]* events, ' err || { cat out err; return 1; }
	}
	check "real driver: PyTorch on the CPU" torch
else
	echo "skip real driver: PyTorch: no python3 with torch"
fi

# The probe, and the first of the three commands for a machine with a GPU, as far as they go.
probe() {
	alone env LD_LIBRARY_PATH="$cuda" CUDA_INJECTION64_PATH="$BUILD/gpu/probe.so" PROBE_CUPTI="$cupti12/lib/libcupti.so.12" \
		PROBE_OUT="$PWD/probe" python3 program.py start fork >out
	[ "$(grep -c ' version 20 subscribe 15$' probe)" = 2 ] && python3 "$SRC/tests/gpu/probe.py" probe || { cat probe; return 1; }
}
mkdir -p bin && printf '#!/bin/sh\necho "GPU 0, none, 535"\n' >bin/nvidia-smi && chmod +x bin/nvidia-smi
session() {
	alone env PATH="$PWD/bin:$PATH" LD_LIBRARY_PATH="$cuda" OUT="$PWD/home" "$SRC/tests/gpu/session.sh" "$1" "$BUILD" >said 2>&1
	tail -n 1 said | grep -qE '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' && grep -q "$2" said || { cat said; return 1; }
}
check "real driver: the probe" probe
check "real driver: the first command for a GPU" session 1 'cuInit: CUDA_ERROR_NO_DEVICE\|no CUDA-capable device\|error 100'
check "real driver: the second command for a GPU" session 2 '^skip no PyTorch with CUDA'
check "real driver: the third command for a GPU" session 3 '^skip others: no cupy'
