# memana live and memana tui during recordings, in a real terminal: they follow, hold still, and answer. The test kills
# the reader and the recorder in turn, and the whole trace is shown at the end. No step waits for a fixed time (see
# test_tui.sh).
. "$SRC/tests/cli/lib.sh"
command -v tmux >/dev/null || skip "live in a terminal: there is no tmux"
unset SLURM_JOB_ID SLURM_PROCID
export STANDIN_MEM=80GiB STANDIN_STATE=$PWD/gpu STANDIN_SYNC_NS=60000000 ESCDELAY=500
mkdir gpu

. "$SRC/tests/cli/tmux_kit.sh"
TRIES=800 # programs that record and the analyzer share the machine
start_terminal 120 40 || skip "live in a terminal: tmux does not start"

# begin STEPS TRACE [OPTION...]: records in the background; the pid of memrec is in ./pid.
begin() {
	local steps=$1 trace=$2
	shift 2
	LD_LIBRARY_PATH=$standin "$memrec" --ring-dir . -o "$trace" -- "$BUILD/samples/rl_step" --quiet --scale 0.25 --steps "$steps" "$@" >log 2>&1 &
	echo $! >pid
}
recorded_program() { tr -d ' ' <"/proc/$(cat pid)/task/$(cat pid)/children"; }
collector() {
	grep -sla -- "--collect.*/$(recorded_program)\.ring" /proc/[0-9]*/cmdline | head -n 1 | cut -d/ -f3 | grep .
}
is_gone() { ! kill -0 "$1" 2>/dev/null; }

# step: the one that the head says; of several processes that of the first.
step() { pane | sed -n 's/^Recording: [^.]*\(\.[0-9]\)\?[^.]* in [a-z-]* of step \([0-9]*\).*/\2/p'; }
beyond() { [ "$(step || echo 0)" -gt "$1" ] 2>/dev/null; }
goes_on() { local now; until_true beyond 0; now=$(step); until_true beyond "$now" || { echo "still at step $now"; pane; return 1; }; }

# ---- one recording ----
start "$memana" live t.zst
check "a trace that is not there yet is waited for" until_true grep -q 'waiting for t.zst' err
begin 2000 t.zst
check "it opens when there is one" sees '^Recording: .* in [a-z-]+ of step'
check "held, free, the highest" sees 'Held .* free .* at most; the highest was .* at '
# The first load may see too few steps. The next one comes after nine times its duration (worker_follow.c).
TRIES=$((3 * patience)) check "who grows" sees '^Growing: .* more with every step'
check "nothing was lost" sees 'No event was lost'
check "the chart grows" goes_on
check "the bar says so" sees ' live '
keys F
check "F holds it" sees 'held at .*: the recording goes on'
held() { pane | grep -o '^ *time .*'; }
before=$(held)
check "the head goes on" goes_on
check "but not the chart" eval '[ "$(held)" = "$before" ]'
keys F
check "F follows again" sees 'following the recording'
moves() { [ "$(held)" != "$before" ]; }
check "and the chart moves on" until_true moves
keys Enter
check "into a place, while it runs" sees 'Stack, innermost first'
check "its life is known up to a moment" sees 'Recorded by [0-9]'
keys q t
check "the flame view, while it runs" sees '▏train_step'
keys q r
check "what is retained, while it runs" sees 'What outlives the step'
keys q :
check "a question" sees '^SQL:'
keys -l 'SELECT count(*) AS allocations_so_far FROM allocation'
keys Enter
check "and its answer" sees 'allocations_so_far'
keys q p
check "back in time, to the peak so far" sees 'peak: .* at '
stands() { pane | sed -n 's/^Alive at [^0-9]*\([0-9.]* [a-z]*\).*/\1/p'; } # its time; what else is said of it may change
alive=$(stands)
check "the head goes on meanwhile" goes_on
check "and the cursor stays" eval 'now=$(stands); echo "$alive, then $now"; [ -n "$alive" ] && [ "$now" = "$alive" ]'
keys F
check "F: at the newest moment again" sees 'following the recording'

# ---- the reader is killed ----
reader=$(child_of_pane 'memana live')
# A reader has the trace open to read, and no lock on it; of the ring nothing.
no_locks() {
	local file modes
	! grep -qE " $reader [0-9a-f:]*:$(stat -c %i t.zst) " /proc/locks || return 1
	! ls -l "/proc/$reader/fd" | grep '\.ring' || return 1
	for file in /proc/"$reader"/fd/*; do
		[ "$(readlink "$file")" = "$PWD/t.zst" ] && modes="${modes:-}$(sed -n 's/^flags:.*\(.\)$/\1/p' "/proc/$reader/fdinfo/${file##*/}")"
	done
	echo "opened with $modes"
	[ -n "$modes" ] && [ -z "${modes//0/}" ]
}
check "the reader holds no lock, and no ring" no_locks
check "nothing was lost" sees 'No event was lost'
kill -9 "$reader"
check "the reader is killed" ended 137
keys 'stty sane; clear' Enter
check "the recording does not notice" kill -0 "$(recorded_program)"
check "and goes on" "$memana" wait t.zst --until step:3 --timeout 60

# ---- the collector is killed ----
start "$memana" tui t.zst
check "memana tui follows, too" sees '^Recording: .* of step'
old=$(collector)
kill -9 "$old"
check "the collector is killed: gone" until_true is_gone "$old"
another() { local now; now=$(collector) && [ "$now" != "$old" ]; }
check "another one takes its place" until_true another
check "and the chart grows on" goes_on

# ---- the program is killed ----
kill -9 "$(recorded_program)"
check "the program is killed: the whole trace, with its verdict" sees '^Peak .* of 80.0 GiB'
keys F
check "there is nothing to follow any more" sees 'the recording has ended'
keys Enter
check "every view works as of a finished trace" sees 'born at .*freed in'
keys q Q
check "it ends clean" ended 0
check "the terminal is as it was" restored
check "nothing was said" test ! -s err
check "memrec ends" until_true is_gone "$(cat pid)"
check "no ring is left" eval '[ -z "$(ls -d memrec.* 2>/dev/null)" ]'

# ---- all of this machine; the end while somebody looks at something else ----
begin 150 here.zst
check "recordings of the working folder are found" "$memana" wait here.zst --until step:1 --timeout 60
# Other recordings of this user may run, too: one that is over when it is shown is left, and the command is given again.
whatever_runs() {
	local tries
	for tries in {1..10}; do
		start "$memana" live
		sees '^(Recording: .* of step|The recording has ended)' || return 1
		has '^Recording' && return
		keys q Q
		ended 0 || return 1
	done
	return 1
}
check "without a name: whatever runs" whatever_runs
keys Q
check "and out" ended 0
start "$memana" live here.zst gone.zst
cp here.zst gone.zst.new
check "the second one is waited for" until_true grep -q 'waiting for gone.zst' err
mv gone.zst.new gone.zst
check "the same process twice is refused" ended 2
rm gone.zst
mkdir begun && : >begun/here.zst
start "$memana" live begun
check "a folder of empty files is waited for" until_true grep -q 'waiting for begun' err
cp here.zst here.zst.new && mv here.zst.new begun/here.zst
check "it opens when a file has a trace" sees '^(Recording|Peak)'
keys Q
check "and out" ended 0
start "$memana" live here.zst t.zst
check "beside a trace that is whole" sees '^Recording: .* of step'
keys '?'
check "help" sees 'follow a running recording'
rm t.zst
kill "$(recorded_program)"
check "the recording ends meanwhile" until_true is_gone "$(cat pid)"
check "help stays" sees 'follow a running recording'
keys q
check "then the whole trace, and the other one is gone" sees '^Peak .* of 80.0 GiB'
keys q
check "q: exit status 0" ended 0

# ---- several processes ----
mkdir ranks
many() {
	local rank
	for rank in 0 1; do
		RANK=$rank MASTER_ADDR=localhost MASTER_PORT=29500 "$memrec" --ring-dir . -o ranks/trace.%r.zst -- "$BUILD/samples/rl_step" --quiet --scale 0.1 --steps 20000 &
		echo $! >pid.$rank
	done
	wait
}
LD_LIBRARY_PATH=$standin many >log 2>&1 &
ranks=$!
start "$memana" live ranks
check "a folder: its ranks are one run" sees '^Recording: .*\((rank 0\).*\(rank 1|rank 1\).*\(rank 0|2 processes)\)'
keys c c c
check "coloured by process: rank 1 is in the legend" sees 'rank 1 .*[GM]iB'
check "they grow" goes_on
for rank in 0 1; do
	cp pid.$rank pid && kill "$(recorded_program)"
done
wait $ranks
check "both end" sees '^Peak .* of 80.0 GiB'
keys Q
check "Q: exit status 0" ended 0

# ---- none ----
mkdir none && cd none
none=0
"$memana" live >out 2>err || none=$?
if grep -q 'stdin is not a terminal' err; then
	echo "skip no recording runs: this user records something else just now"
else
	check "no recording runs" eval '[ $none = 1 ] && one_line err "no recording of yours runs"'
fi
cd ..

# ---- real PyTorch, on the CPU ----
[ -n "$PYTHON" ] || skip "real PyTorch: no python3 with torch"
"$memrec" --ring-dir . -o torch.zst -- "$PYTHON" "$SRC/samples/train.py" --steps 100000 >torch.log 2>&1 &
echo $! >pid
start "$memana" live torch.zst
check "PyTorch: it follows" sees '^Recording: .* of step'
check "PyTorch: what is allocated, and what the machine has" sees 'Allocated .*free on the machine .*the highest was'
check "PyTorch: it goes on" goes_on
kill "$(recorded_program)"
check "PyTorch: the whole trace" sees '^Peak '
keys Q
check "PyTorch: it ends clean" ended 0
check "PyTorch: memrec ends" until_true is_gone "$(cat pid)"
