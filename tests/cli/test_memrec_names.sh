# The names of the traces of several processes, and the new names of older files.
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

# --- commands that are printed to be pasted are run as they stand, by a POSIX shell
pasted() { # FILE PATTERN: the command after the pattern
	local line
	line=$(sed -n "s/.*$2//p" "$1" | tail -n 1)
	echo "pasted: $line"
	[ -n "$line" ] && sh -c "$line" >pasted.out 2>&1 || { cat pasted.out; return 1; }
}
hostile() {
	local name
	for name in '$(touch x)' '`touch x`' "it's" 'a b;touch x' '-o' $'esc\033[31m' $'line\nend' '*' '"'; do
		rm -rf hostile && mkdir hostile && cd hostile && mkdir rings || return 1
		LD_LIBRARY_PATH=$standin status 0 "$memrec" --ring-dir rings -o "./$name.zst" -- python3 "$calls" --calls 20 || return 1
		[ -e "$name.zst" ] || { ls; return 1; }
		pasted err 'memrec: next: ' || return 1
		"$memana" top "./$name.zst" >top.out && PATH=$BUILD:$PATH pasted top.out 'Next: ' && PATH=$BUILD:$PATH "$memana" load "./$name.zst" -o "./$name.db" >load.out || return 1
		[ ! -e x ] || { echo "something was run"; return 1; }
		cd ..
	done
}
check "printed commands can be pasted, whatever the names are" hostile

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
	[ "$(grep -c '^memrec: trace\.[0-9]*\.zst: .* [0-9]* events' err)" = 2 ] &&
		grep -Eq "^memrec: next: $memana top trace.[0-9]+.zst trace.[0-9]+.zst\$" err
}
check "a line for each, and both in the next command" both_named
long_name() {
	local name
	name=$(printf '%0251d' 0).zst # as long as a file system takes
	rm -f ./*.zst*
	options="-o $name"
	run "python3 $calls & echo \$! >pid1; python3 $calls & echo \$! >pid2; wait" && [ "$(traces | wc -w)" = 2 ] &&
		ls | grep -q "^0*\.$(cat pid1)\.zst$" && ls | grep -q "^0*\.$(cat pid2)\.zst$" || return 1
	run "python3 $calls & wait" && run "python3 $calls & wait" && [ -s "$name" ] && [ -s "$(printf '%0251d' 0).old" ] && rm ./*.old
}
check "the longest name: what is added takes the place of its end" long_name
options=
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

# Each program of a chain takes one block, of another size.
cat >chain.py <<END
import os, sys
sys.path.insert(0, "$SRC/tests/cli")
from gpu_driver import Driver
size = int(sys.argv[1])
Driver().take(size << 20)
if size > 1:
    os.execv(sys.executable, [sys.executable, __file__, str(size - 1)])
END
# The peaks, in MiB, of all traces.
peaks() { for trace in ./*.zst; do "$memana" sql "$trace" 'SELECT bytes >> 20 FROM allocation' | tail -n 1; done | sort -n | tr '\n' ' '; }
chain() { rm -f ./*.zst* && run "python3 chain.py 6" && peaks && [ "$(peaks)" = "1 2 3 4 5 6 " ] && ! ls ./*.old; }
check "each of six programs in a row, too" chain
alone() {
	rm -f ./*.zst*
	(eval "$("$memrec" env "$@" | grep ^export)" && LD_LIBRARY_PATH=$standin exec python3 chain.py 5)
	for i in $(seq 100); do
		[ "$(peaks)" = "1 2 3 4 5 " ] && return
		read -rt 0.1 <>never
	done
	peaks
	return 1
}
mkfifo never
check "without memrec in front, too" alone -o hand.zst
RANK=3 check "and where the name tells the rank only" alone -o hand.zst

# --- two runs at once: a trace that is being written keeps its name
mkfifo go
overlapping() {
	rm -f ./*.zst*
	options=
	(run "python3 -c \"
import runpy, sys
sys.argv = ['driver_calls.py', '--calls', '100', '--seed', '1', '--account', 'account1', '--after', 'until-written']
runpy.run_path('$calls')
open('go', 'w').write('.')
open('go').read()\"") &
	timeout 20 head -c 1 go >begun
	(run "python3 $calls --seed 2 --calls 200 --account account2 & echo \$! >pid2; wait")
	(run "python3 $calls --seed 3 --calls 50 --account account3 & echo \$! >pid3; wait")
	timeout 20 bash -c ': >go'
	wait $!
	[ "$(traces | wc -w)" = 3 ] && agrees trace.zst account1 && agrees "trace.$(cat pid2).zst" account2 &&
		agrees "trace.$(cat pid3).zst" account3
}
check "two runs beside a third one: three traces, none moved away" overlapping

# --- processes that outlive the command
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
check "the variables of memrec env are enough" by_hand

# --- where the rings lie
shm_of() { # SIZE PYTHON...: the calls with a /dev/shm of their own; ./shm and ./beside: how many rings lie there and here
	unshare -m bash -c 'mount -t tmpfs -o size=$0 tmpfs /dev/shm && LD_LIBRARY_PATH=$1 "${@:3}" -c "
import glob, os, runpy, sys
sys.argv = [\"$2\"]
runpy.run_path(\"$2\")
open(\"shm\", \"w\").write(str(len(glob.glob(\"/dev/shm/memrec.*/*.ring\"))))
open(\"beside\", \"w\").write(str(len(glob.glob(\"memrec.*/*.ring\"))))"' "$1" "$standin" "$calls" "${@:2}" >out 2>err
}
places() { # SHM BESIDE SIZE COMMAND...
	rm -f shm beside ./*.zst*
	shm_of "${@:3}" && echo "in /dev/shm: $(cat shm), beside: $(cat beside)" && [ "$(cat shm) $(cat beside)" = "$1 $2" ]
}
if unshare -m mount -t tmpfs tmpfs /dev/shm 2>/dev/null; then
	check "a large /dev/shm takes the rings" places 1 0 2g "$memrec" -- python3
	check "the 64 MiB of a container are left to others" places 0 1 64m "$memrec" -- python3
	by_hand=$("$memrec" env -o hand.zst | sed -n 's/^export //p' | tr -d "'")
	check "without memrec in front a large one takes them" places 1 0 2g env $by_hand python3
	check "and a small one is left to others" places 0 1 64m env $by_hand python3
else
	echo "skip where the rings lie: mount is not permitted"
fi

# --- which GPU it is, when the program chooses it after its start
visible() {
	rm -f ./*.zst*
	STANDIN_GPUS=4 LD_LIBRARY_PATH=$standin status 0 "$memrec" -- env -u CUDA_VISIBLE_DEVICES python3 -c "
import os, runpy, sys
os.environ['CUDA_VISIBLE_DEVICES'] = '$1'
sys.argv = ['driver_calls.py']
runpy.run_path('$calls')" && "$memana" top --json trace.zst >top.json && json top.json "[d['uuid'] for d in d['devices']] == ['$2']"
}
check "CUDA_VISIBLE_DEVICES set by the program itself counts" visible 3 GPU-7374616e-642d-696e-2047-505520000004
check "and names the second GPU where it says so" visible 1,0 GPU-7374616e-642d-696e-2047-505520000002
