# Injection by CUDA_INJECTION64_PATH (or NVTX's variable) alone: the recording has the same tensors as with LD_PRELOAD,
# also of libraries that are loaded later. Options without a value have their defaults.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/memrec.sh"
agent=$BUILD/libmemrec.so
late=$SRC/tests/cli/agent_late.py
options="output=$PWD/trace.zst collector=$(type -P true) slot-bytes=8388608"
export LD_LIBRARY_PATH=$standin

# in_ring RINGS OPTIONS VARIABLES COMMAND...
in_ring() {
	local rings=$1 given=$2 variables=$3
	shift 3
	rm -rf "$rings"
	mkdir "$rings"
	# shellcheck disable=SC2086
	env $variables MEMREC_OPTIONS="run-dir=$PWD/$rings $options $given" "$@" >out 2>err || { cat out err; return 1; }
}
one="CUDA_INJECTION64_PATH=$agent"
all="$one NVTX_INJECTION64_PATH=$agent LD_PRELOAD=$agent"

# ---- PyTorch ----

# PyTorch's CUDA build needs the CUPTI that it brings: the stand-in's must not be found in its place.
cupti= alone=PYTHONHASHSEED=0
if [ -n "$PYTHON" ] && env -u LD_LIBRARY_PATH "$PYTHON" -c 'import sys, torch; sys.exit(torch.version.cuda is None)' 2>/dev/null; then
	mkdir driver
	ln -s "$standin/libcuda.so.1" driver
	cupti=no-cupti=1 alone="LD_LIBRARY_PATH=$PWD/driver PYTHONHASHSEED=0"
fi
same() {
	in_ring all "cpu=1 $cupti" "$all $alone" "$PYTHON" "$late" train &&
		in_ring one "cpu=1 $cupti" "$one $alone" "$PYTHON" "$late" train &&
		"$PYTHON" "$late" compare all/*.ring one/*.ring
}
not_asked() { in_ring one "$cupti" "$one $alone" "$PYTHON" "$late" train && ! python3 "$SRC/tests/cli/agent_ring.py" one/*.ring | grep TENSOR; }
if [ -n "$PYTHON" ]; then
	check "injection: PyTorch: one variable sees what three see" same
	# Without CUPTI, the agent sees no GPU of the stand-in: CPU tensors are recorded.
	[ -n "$cupti" ] || check "injection: PyTorch: no CPU tensors unless asked for" not_asked
else
	echo "skip injection: PyTorch: no python3 with torch"
fi

# ---- Every kind of slot ----

cat >c10.c <<'C'
struct device { signed char type, index; };
static int count;
void report(void *block, long size, unsigned long total, unsigned long reserved, struct device device)
	__asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
void report(void *block, long size, unsigned long total, unsigned long reserved, struct device device)
{
	(void)block, (void)size, (void)total, (void)reserved, (void)device;
	count++;
}
void thread_init(void *engine, int device, const void *queue, _Bool counted)
	__asm__("_ZN5torch8autograd6Engine11thread_initEiRKSt10shared_ptrINS0_10ReadyQueueEEb");
void thread_init(void *engine, int device, const void *queue, _Bool counted)
{
	(void)engine, (void)device, (void)queue, (void)counted;
}
_Bool enabled(void) __asm__("_ZN3c1022memoryProfilingEnabledEv");
_Bool enabled(void) { return 0; }
int reports(void) { return count; }
C
cat >caller.c <<'C'
struct device { signed char type, index; };
typedef void report_function(void *, long, unsigned long, unsigned long, struct device);
report_function report __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
void thread_init(void *, int, const void *, _Bool)
	__asm__("_ZN5torch8autograd6Engine11thread_initEiRKSt10shared_ptrINS0_10ReadyQueueEEb");
static report_function *const volatile table[] = { report };

void use(unsigned long first)
{
	struct device gpu = { 1, 0 };

	if (first >> 20 == 3)
		thread_init(0, 0, 0, 0);
	report((void *)first, 64, 64, 64, gpu);
	table[0]((void *)(first + 8), 64, 128, 128, gpu);
}
C
build() { ${CC:-cc} -O1 -shared -fPIC "$@"; }
build -o libc10.so c10.c
here="-L. -l:libc10.so -Wl,-rpath,$PWD"
# shellcheck disable=SC2086
for kind in "now -Wl,-z,now,-z,relro" "lazy -Wl,-z,lazy,-z,relro" "open -Wl,-z,lazy,-z,norelro" "noplt -fno-plt" \
	"sysv -Wl,--hash-style=sysv" "new -Wl,-z,now,-z,relro" "another -Wl,-z,lazy"; do
	build -o "${kind%% *}.so" caller.c ${kind#* } $here
done
kinds="./now.so ./lazy.so ./open.so ./noplt.so ./sysv.so +./new.so +./another.so"
export C10=$PWD/libc10.so

# Two calls of each library at each of its times; the real function was called every time.
slots() {
	# shellcheck disable=SC2086
	in_ring one "" "$1" python3 "$late" loads $kinds || return
	python3 - "$SRC/tests/cli" one/*.ring "$(cat out)" "$2" <<-'END'
		import sys
		sys.path.insert(0, sys.argv[1])
		import agent_ring
		ring = agent_ring.Ring(sys.argv[2])
		got = [event.addr for event in ring.events if event.what == "TENSOR_ALLOC"]
		want = [0x100000 * when + 0x1000 * i + call for when in (2, 3) for i in range(5) for call in (0, 8)]
		want = sorted(want) + [0x400000 + 0x1000 * i + call for i in range(2) for call in (0, 8)]
		before = [0x100000 + 0x1000 * i + call for i in range(5) for call in (0, 8)] if sys.argv[4] == "preloaded" else []
		assert sorted(got) == sorted(before + want), [hex(address) for address in got]
		assert sys.argv[3] == "%d" % (5 * 6 + 2 * 2), "the real function was called %s times" % sys.argv[3]
		autograd = {event.addr >> 20 for event in ring.events if ring.threads[event.thread]["flags"] & 2}
		assert autograd == {3}, autograd
		assert ring.sources["cuda-tensors"][0] == 1 and ring.sources["autograd-engine"][0] == 1
	END
}
check "injection: every kind of slot, and of libraries that are loaded later" slots "$one" late
check "injection: nothing comes twice when all doors are open" slots "$all" preloaded

# One thread loads and unloads, another one asks the driver for memory.
cat >race.py <<'EOF'
import _ctypes
import ctypes
import threading

ctypes.CDLL("./libc10.so")
cuda, context, stop = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), []
assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0


def ask():
    assert cuda.cuCtxSetCurrent(context) == 0
    address = ctypes.c_uint64()
    while not stop:
        assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4096)) == 0
        assert cuda.cuMemFree_v2(address) == 0


thread = threading.Thread(target=ask)
thread.start()
for i in range(300):
    libraries = [ctypes.CDLL("./%s.so" % name) for name in ("now", "lazy", "noplt")]
    for library in libraries:
        library.use.argtypes = [ctypes.c_uint64]
        library.use(0x1000 * (i + 1))
    for library in libraries:
        _ctypes.dlclose(library._handle)
stop.append(1)
thread.join()
EOF
race() { in_ring one "wait-ms=0" "$one" python3 race.py; }
check "injection: libraries come and go while the driver is asked" race

# ---- Defaults ----

# Waits for the collector. closed SIZE: the trace is whole, and the peak is so large. Without a launcher, who sees that
# there is one alone, its name has the pid in it.
closed() { wait_gone "$(cat collector.pid)" && "$memana" verify trace.*.zst && "$memana" top trace.*.zst | grep -F "$1"; }
fresh() { rm -rf "$1" && mkdir "$1" && cd "$1" || return; }
calls="$SRC/tests/cli/cupti_run.py init alloc collector"
no_options() (
	fresh alone
	# shellcheck disable=SC2086
	env -u MEMREC_OPTIONS "$one" python3 $calls && closed "4.0 KiB"
)
check "injection: without options: a trace in the working folder" no_options
installed() (
	fresh installed
	mkdir -p usr/bin usr/lib/memrec
	cp "$BUILD/memrec" usr/bin && cp "$agent" usr/lib/memrec && ln -s usr/lib/memrec/libmemrec.so link.so
	# shellcheck disable=SC2086
	env -u MEMREC_OPTIONS CUDA_INJECTION64_PATH="$PWD/link.so" python3 $calls && closed "4.0 KiB"
)
check "injection: without options, installed, by another name" installed
some_options() (
	fresh some
	# shellcheck disable=SC2086
	env "$one" MEMREC_OPTIONS=depth:4 python3 $calls && closed "4.0 KiB"
)
check "injection: with options that leave out where to" some_options
without_collector() (
	fresh nobody
	cp "$agent" libmemrec.so
	# shellcheck disable=SC2086
	env -u MEMREC_OPTIONS CUDA_INJECTION64_PATH="$PWD/libmemrec.so" python3 ${calls% *} &
	wait $! && [ "$(ls)" = libmemrec.so ] && [ ! -e "/dev/shm/memrec.$(id -u).$!" ]
)
check "injection: nothing is left behind where there is no memrec" without_collector
no_wish() (
	fresh nowish
	# shellcheck disable=SC2086
	env -u MEMREC_OPTIONS LD_PRELOAD="$agent" python3 ${calls% *} tensor && [ -z "$(ls)" ]
)
check "injection: LD_PRELOAD alone is no wish to be recorded" no_wish

# The tensors come from a library that was there before.
by_nvtx() (
	fresh nvtx
	env -u MEMREC_OPTIONS NVTX_INJECTION64_PATH="$agent" python3 "$SRC/tests/cli/cupti_run.py" use ../now.so nvtx \
		use ../now.so collector && closed "128 B"
)
check "injection: NVTX's variable alone" by_nvtx
