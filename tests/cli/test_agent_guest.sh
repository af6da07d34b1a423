# The agent as a guest: its records, and effects that the program must not notice. No GPU, no PyTorch and no collector:
# ctypes calls the hooks, and the test reads the ring itself.
. "$SRC/tests/cli/lib.sh"

# guest OPTIONS TEST: runs one function of agent_guest.py under the agent.
guest() {
	export RINGS=$PWD/rings
	rm -rf rings
	mkdir rings
	MEMREC_OPTIONS="run-dir=$RINGS output=$PWD/trace.zst $1" LD_PRELOAD=$BUILD/libmemrec.so \
		python3 "$SRC/tests/cli/agent_guest.py" "$2"
}

# The kernel would send SIGXFSZ, which ends the program.
limited() (
	ulimit -f 100000
	guest "$collector" no_collector_no_ring
)

alone() {
	RINGS= MEMREC_OPTIONS="output=$PWD/trace.zst $collector" LD_PRELOAD=$BUILD/libmemrec.so \
		python3 "$SRC/tests/cli/agent_guest.py" ring_in_shared_memory
}

collector="collector=$(type -P true)"
for title in no_event_no_file early_marks early_ranges_stay_balanced \
	early_ends_are_swallowed_later tensors errno_is_kept system_calls_pass nothing_is_left_behind forked_child_is_silent \
	forked_first_is_recorded forked_child_with_cuda_wakes_up exec_makes_a_second_ring threads_share_slots \
	core_dumps_are_without_it locked_memory_stays_small limits_are_the_programs wider_limits_are_enough \
	stops_when_told a_thread_is_named_when_there_is_room \
	long_texts_are_cut; do
	check "agent: $title" guest "$collector" $title
done
check "agent: more_threads_than_slots" guest "$collector slot-bytes=65536" more_threads_than_slots
check "agent: cpu_off" guest "$collector cpu=2" cpu_off
check "agent: cpu_on" guest "$collector cpu=1" cpu_on
check "agent: maps_have_no_total" guest "$collector cpu=1" maps_have_no_total
check "agent: full_ring_drops_and_counts" guest "$collector wait-ms=50 slot-bytes=65536" full_ring_drops_and_counts
check "agent: slot_wraps" guest "$collector slot-bytes=65536" slot_wraps
check "agent: depth_zero" guest "$collector depth=0" depth_zero
check "agent: native_always" guest "$collector stacks=5" native_always
check "agent: files_are_left_alone" guest "$collector stacks=5" files_are_left_alone
check "agent: python_only" guest "$collector stacks=1" python_only
check "agent: too large a file is not even tried" limited
check "agent: without a launcher the ring is in shared memory" alone
check "agent: a collector that fails leaves no ring" guest "collector=$(type -P false)" no_collector_no_ring
check "agent: a missing collector leaves no ring" guest "collector=$PWD/missing" no_collector_no_ring

# copies FIRST SECOND: two copies of the agent in one process.
copies() {
	export RINGS=$PWD/rings
	rm -rf rings
	mkdir rings
	MEMREC_OPTIONS="run-dir=$RINGS output=$PWD/trace.zst $collector" LD_PRELOAD="$1 $2" \
		timeout 20 python3 "$SRC/tests/cli/agent_guest.py" two_copies
}
cp "$BUILD/libmemrec.so" copy.so
check "agent: two copies in one process" copies "$BUILD/libmemrec.so" "$PWD/copy.so"
check "agent: two copies, the other way round" copies "$PWD/copy.so" "$BUILD/libmemrec.so"
check "agent: with the one that does nothing behind it" copies "$BUILD/libmemrec.so" "$BUILD/libmemrec-nop.so"

# jumps WAY: handlers leave the recorder by siglongjmp, 100 times, on the thread's stack or on one of their own; afterwards
# every event of the thread is there.
cat >jumps.c <<'C'
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

struct device { signed char type, index; };

void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void *, long, unsigned long, unsigned long, struct device);

static sigjmp_buf jump;
static volatile int jumps;

static void on_alarm(int number)
{
	(void)number;
	jumps++;
	siglongjmp(jump, 1);
}

static void report(long size)
{
	_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE((void *)4096, size, 64, 64, (struct device){ 1, 0 });
}

static void deep(int depth)
{
	volatile char room[512];

	memset((char *)room, depth, sizeof(room));
	if (depth)
		deep(depth - 1);
	else
		for (;;)
			report(64);
}

int main(int argc, char **argv)
{
	struct itimerval every = { { 0, 500 }, { 0, 500 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_NODEFER };
	stack_t stack = { .ss_sp = malloc(65536), .ss_size = 65536 };
	int i;

	if (argc > 1 && !strcmp(argv[1], "alternate")) {
		sigaltstack(&stack, NULL);
		action.sa_flags |= SA_ONSTACK;
	}
	sigaction(SIGALRM, &action, NULL);
	sigsetjmp(jump, 1);
	if (jumps < 100) {
		setitimer(ITIMER_REAL, &every, NULL);
		deep(jumps % 7);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	for (i = 0; i < 1000; i++)
		report(77);
	return 0;
}
C
jumps() {
	export RINGS=$PWD/rings
	rm -rf rings && mkdir rings
	[ -x jumps ] || ${CC:-cc} -O1 -w -o jumps jumps.c "$BUILD/libmemrec.so" || return
	MEMREC_OPTIONS="run-dir=$RINGS output=$PWD/trace.zst wait-ms=0 slot-bytes=16777216 $collector" LD_PRELOAD=$BUILD/libmemrec.so timeout 60 ./jumps "$1" || return
	python3 "$SRC/tests/cli/agent_ring.py" rings/*.ring 1000000 >dump
	after=$(grep -c "TENSOR_ALLOC.* size 77 " dump)
	echo "$after of 1000 after the jumps" && [ "$after" -ge 999 ]
}
check "agent: a handler that leaves by siglongjmp" jumps plain
check "agent: and on a signal stack of its own" jumps alternate

cat >marks.c <<'C'
#include "memrec.h"

struct device { signed char type, index; };

void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void *, long, unsigned long, unsigned long, struct device)
	__attribute__((weak));

int main(void)
{
	struct device gpu = { 1, 0 };

	memrec_phase_push("rollout");
	memrec_mark("here");
	memrec_step();
	_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE((void *)4096, 64, 64, 64, gpu);
	memrec_phase_pop();
	return 0;
}
C
cat >silent.c <<'C'
#include "memrec.h"
int main(void) { memrec_phase_push("x"); memrec_mark("x"); memrec_step(); memrec_phase_pop(); return 0; }
C

# header_with FLAGS...: what memrec.h sends arrives, however the program is built. The report to start the recording
# comes through the agent's own library, which such a program can only be linked with.
header_with() {
	export RINGS=$PWD/rings
	rm -rf rings
	mkdir rings
	${CC:-cc} -Wall -Wextra -Wpedantic -Werror -I"$SRC/include" "$@" -o marks marks.c "$BUILD/libmemrec.so" -ldl || return
	MEMREC_OPTIONS="run-dir=$RINGS output=$PWD/trace.zst $collector" LD_PRELOAD=$BUILD/libmemrec.so ./marks || return
	python3 "$SRC/tests/cli/agent_ring.py" rings/*.ring >dump
	for word in "PHASE_PUSH .*'rollout'" "MARK .*'here'" STEP_MARK TENSOR_ALLOC PHASE_POP; do
		grep "$word" dump || { cat dump; return 1; }
	done
}
header_alone() { ${CC:-cc} -I"$SRC/include" "$@" -o silent silent.c -ldl && ./silent; }
check "memrec.h: with default flags" header_with
check "memrec.h: without position independence" header_with -no-pie -fno-pic
check "memrec.h: C99" header_with -std=c99
check "memrec.h: nothing happens without memrec" header_alone -no-pie -fno-pic

asleep() {
	export RINGS=$PWD/rings
	rm -rf rings
	mkdir rings
	env -u MEMREC_OPTIONS LD_PRELOAD="$BUILD/libmemrec.so" python3 "$SRC/tests/cli/agent_guest.py" sleeps_without_options
}
check "agent: sleeps_without_options" asleep

exports() { nm -D --defined-only "$1" | awk '{ print $3 }' | sort; }
same_exports() { diff <(exports "$BUILD/libmemrec.so") <(exports "$BUILD/libmemrec-nop.so"); }
needs_only_libc() { ! readelf -d "$BUILD/libmemrec.so" | grep NEEDED | grep -v 'libc\.so\.6'; }
check "agent: libmemrec-nop.so has the same symbols" same_exports
check "agent: needs no library but libc" needs_only_libc
imports() { nm -D --undefined-only "$1" | sed -E 's/^ *U ([^@]*).*/\1/'; }
imports_nothing_of_the_kind() { ! imports "$1" | grep -xE "$2"; }
network='socket|socketpair|connect|bind|send(to|msg)?|recv(from|msg)?|getaddrinfo|gethostby.*|dns_.*|res_.*'
check "agent: imports_nothing_of_the_kind" imports_nothing_of_the_kind "$BUILD/libmemrec.so" \
	"malloc|calloc|realloc|free|posix_memalign|v?f?printf|puts|fopen|write_chk|pthread_create|pthread_mutex_.*|$network"
check "memrec imports nothing of the network" imports_nothing_of_the_kind "$memrec" "$network"
check "memana imports nothing of the network" imports_nothing_of_the_kind "$memana" "$network"
