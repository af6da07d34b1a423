# The stand-in GPU under a real program: injection, and three counts of one run that must agree.
. "$SRC/tests/cli/lib.sh"

export LD_LIBRARY_PATH=$standin
rl_step=$BUILD/samples/rl_step
ledger() { sh "$SRC/tests/standin/ledger.sh" "$1"; }

# value FILE PATTERN: the number that PATTERN's group catches in the program's last line.
value() { tail -1 "$1" | sed -nE "s/.*$2.*/\1/p"; }

STANDIN_LEDGER=$PWD/ledger "$rl_step" --steps 2 >program 2>&1
ledger ledger >sums
peak=$(value program 'peak ([0-9]+) bytes') calls=$(value program ' ([0-9]+) driver calls')

check "rl_step fits into 80 GiB and nearly fills it" test "$peak" -gt $((60 << 30)) -a "$peak" -lt $((79 << 30))
check "its peak is in the backward pass" grep -q 'at step 2 in backward' program
check "the driver's peak is the program's" grep -qx "peak 0 $peak" sums
counted() { # the program counts what takes, maps or gives back memory
	awk -v want="$calls" '/^call cuMem/ && $2 !~ /SetAccess|GetInfo/ { n += $3 } END { exit n != want }' sums
}
check "the driver counts the program's calls" counted
check "nothing failed" grep -qx 'failed 0' sums
check "pinned memory is the host's" grep -q '^peak host [1-9]' sums

smaller() {
	STANDIN_MEM=12GiB "$rl_step" --steps 1 >small && [ "$(value small 'peak ([0-9]+) bytes')" -lt $((12 << 30)) ]
}
check "a smaller GPU gets a smaller model" smaller

out_of_memory() {
	STANDIN_MEM=30GiB status 1 "$rl_step" --scale 1 && one_line err 'CUDA_ERROR_OUT_OF_MEMORY'
}
check "a full GPU is an error" out_of_memory
third() {
	STANDIN_FAULT_OOM_AT=3 STANDIN_LEDGER=$PWD/third status 1 "$rl_step" && ledger third | grep -qx 'failed 1' &&
		awk '$2 ~ /Alloc|cuMemCreate/ { n++ } $3 == 2 { at = n } END { exit at != 3 }' third
}
check "STANDIN_FAULT_OOM_AT=3 fails the third request" third
check "wrong options are refused" status 2 "$rl_step" --scale none
no_size() { STANDIN_MEM=80GB status 2 "$rl_step" && one_line err 'STANDIN_MEM=80GB'; }
check "a variable that is no size ends the program" no_size

# A run is killed: the ledger has the memory that the run held, in whole lines.
killed() {
	mkfifo lines
	STANDIN_SLOW_NS=20000 STANDIN_LEDGER=$PWD/killed "$rl_step" --steps 1000 >lines &
	head -1 <lines >/dev/null # one step is done
	kill -KILL $!
	wait $! 2>/dev/null
	ledger killed >killed.sums && grep -q '^live 0 [1-9]' killed.sums
}
check "the ledger of a killed run adds up" killed

# The driver loads the library that CUDA_INJECTION64_PATH names, once, inside cuInit.
cat >inject.c <<'C'
#include <stdio.h>
int InitializeInjection(void);
int InitializeInjection(void) { fprintf(stderr, "injected\n"); return 1; }
C
injected() {
	${CC:-cc} -shared -fPIC -o inject.so inject.c || return
	CUDA_INJECTION64_PATH=$PWD/inject.so "$rl_step" --quiet --steps 1 >out 2>err && one_line err '^injected$'
}
check "cuInit loads the injected library" injected
not_injected() { CUDA_INJECTION64_PATH=none "$rl_step" --quiet --steps 1 >out 2>err && [ ! -s err ]; }
check "none injects nothing" not_injected

# Only the driver API is exported: no private table, no helper of ours but the hub.
exports() { ! nm -D --defined-only "$standin/$1" | awk '{ print $3 }' | grep -vE "$2"; }
check "libcuda exports the driver API" exports libcuda.so.1 '^(cu[A-Z]|standin_hub$)'
check "libcupti exports CUPTI" exports libcupti.so.13 '^cupti[A-Z]'
check "libnvidia-ml exports NVML" exports libnvidia-ml.so.1 '^nvml[A-Z]'
