# The agent as a guest: what it records, and what the program must never notice. No GPU, no PyTorch, no collector: the
# hooks are called through ctypes, and the ring is read as it lies there.
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
for title in no_event_no_file early_marks tensors errno_is_kept nothing_is_left_behind forked_child_is_silent \
	forked_first_is_recorded forked_child_with_cuda_wakes_up exec_makes_a_second_ring threads_share_slots \
	stops_when_told long_texts_are_cut; do
	check "agent: $title" guest "$collector" $title
done
check "agent: cpu_off" guest "$collector cpu=2" cpu_off
check "agent: cpu_on" guest "$collector cpu=1" cpu_on
check "agent: maps_have_no_total" guest "$collector cpu=1" maps_have_no_total
check "agent: full_ring_drops_and_counts" guest "$collector wait-ms=50 slot-bytes=65536" full_ring_drops_and_counts
check "agent: slot_wraps" guest "$collector slot-bytes=65536" slot_wraps
check "agent: depth_zero" guest "$collector depth=0" depth_zero
check "agent: native_always" guest "$collector stacks=5" native_always
check "agent: python_only" guest "$collector stacks=1" python_only
check "agent: too large a file is not even tried" limited
check "agent: without a launcher the ring is in shared memory" alone
check "agent: a collector that fails leaves no ring" guest "collector=$(type -P false)" no_collector_no_ring
check "agent: a missing collector leaves no ring" guest "collector=$PWD/missing" no_collector_no_ring

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
