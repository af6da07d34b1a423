# Which process writes which file, and what becomes of older files.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/memrec.sh"
calls=$SRC/tests/cli/driver_calls.py
traces() { echo $(ls -- *.zst* 2>/dev/null); }
run() { # memrec's options in $options, then a shell command
	mkdir -p rings
	LD_LIBRARY_PATH=$standin "$memrec" --ring-dir rings $options -- bash -c "$1" >out 2>err
}

# --- one process
one() { rm -f ./*.zst*; options=; run "python3 $calls --account account" && [ "$(traces)" = trace.zst ] && agrees trace.zst account; }
check "one process gets the plain name" one
older() {
	cp trace.zst first && run "python3 $calls --calls 50 --account account" &&
		[ "$(traces)" = "trace.zst trace.zst.old" ] && cmp first trace.zst.old && agrees trace.zst account
}
check "an older file is kept as FILE.old" older
nothing() { cp trace.zst first && run true && [ "$(traces)" = "trace.zst trace.zst.old" ] && cmp first trace.zst; }
check "unless nothing was recorded" nothing
ranked() { rm -f ./*.zst*; RANK=3 run "python3 $calls" && [ "$(traces)" = trace.rank3.zst ]; }
check "RANK is in the name" ranked
patterns() {
	rm -f ./*.zst*
	options='-o t.%h.%r.%p.zst' && RANK=2 run "python3 $calls & echo \$! >pid; wait" &&
		[ "$(traces)" = "t.$(uname -n).2.$(cat pid).zst" ]
}
check "%h, %r and %p" patterns
elsewhere() { rm -f ./*.zst*; mkdir -p deep/er; options='-o deep/er/t.zst' && run "cd / && python3 $calls" && [ -s deep/er/t.zst ]; }
check "a name means the folder that memrec was started in" elsewhere

# --- two processes
two() {
	rm -f ./*.zst*
	options=
	run "python3 $calls --seed 1 --calls 100 --account account1 & echo \$! >pid1
	     python3 $calls --seed 2 --calls 200 --account account2 & echo \$! >pid2; wait" &&
		[ -s "trace.$(cat pid1).zst" ] && [ -s "trace.$(cat pid2).zst" ] && [ "$(traces | wc -w)" = 2 ] &&
		agrees "trace.$(cat pid1).zst" account1 && agrees "trace.$(cat pid2).zst" account2
}
check "two processes get names by pid" two
both_named() {
	[ "$(grep -c '^memrec: trace\.[0-9]*\.zst: [0-9]* events' err)" = 2 ] &&
		grep -Eq "^memrec: next: $memana top trace.[0-9]+.zst trace.[0-9]+.zst\$" err
}
check "a line for each, and both in the next command" both_named
ranks() {
	rm -f ./*.zst*
	run "RANK=0 python3 $calls & RANK=1 python3 $calls & wait" && [ "$(traces)" = "trace.rank0.zst trace.rank1.zst" ]
}
check "two ranks get names by rank" ranks
restarted() {
	rm -f ./*.zst*
	RANK=0 run "python3 $calls; python3 $calls & echo \$! >pid; wait" && [ "$(traces)" = "trace.$(cat pid).zst trace.rank0.zst" ]
}
check "a rank that is started again does not take the first one's file" restarted
replaced() {
	rm -f ./*.zst*
	run "python3 $calls --end exec & echo \$! >pid; wait" && [ "$(traces)" = "trace.$(cat pid).2.zst trace.$(cat pid).zst" ] &&
		"$memana" verify "trace.$(cat pid).zst" && "$memana" verify "trace.$(cat pid).2.zst"
}
check "a program that exec replaces has a trace of its own" replaced

# --- processes that outlive the command
mkfifo go
outlives() {
	rm -f ./*.zst* collector.pid
	run "python3 -c \"
import os, runpy, sys
if os.fork():
	while not os.path.exists('collector.pid'): os.sched_yield()
	os._exit(0)
os.setsid()
sys.argv = ['driver_calls.py', '--calls', '100', '--account', 'account', '--after', 'say-collector']
runpy.run_path('$calls')
open('go').read()\" >/dev/null" && grep -Eq '^memrec: process [0-9]+ is still running and being recorded into trace.zst$' err
}
check "a daemon is left alone, and said to be" outlives
: >go
finishes() { wait_gone "$(cat collector.pid)" && agrees trace.zst account; }
check "its trace gets complete when it ends" finishes
check "and its collector removes the folder of the run" nothing_left

# --- without memrec in front: what `memrec env` says
by_hand() {
	rm -f ./*.zst*
	eval "$("$memrec" env -o hand.zst | grep ^export)"
	LD_LIBRARY_PATH=$standin python3 "$calls" --account account >/dev/null &
	pid=$!
	wait $pid
	for i in $(seq 200); do
		ls -d /dev/shm/memrec.*."$pid" >/dev/null 2>&1 || break
		read -rt 0.05 <>never
	done
	unset CUDA_INJECTION64_PATH NVTX_INJECTION64_PATH MEMREC_OPTIONS
	[ "$(traces)" = "hand.$(uname -n).$pid.zst" ] && agrees "$(traces)" account
}
mkfifo never
check "the variables of memrec env are enough" by_hand
