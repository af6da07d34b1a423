# Kills of any process at any time: the trace has all completed calls. The target counts its own calls.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/memrec.sh"
random=${SEED:-$RANDOM}
echo "# SEED=$random"

# --- the target alone
killed() {
	status 137 record -o k.zst -- --calls "$1" --seed "$1" --account account --end kill && agrees k.zst account &&
		grep -Eq '^memrec: .* ended with status 137, as after signal 9 ' err
}
for calls in 1 9 200 5000; do
	check "kill -9 of the target right after call $calls" killed $calls
done
check "no ring is left" nothing_left

# --- the target and its collector: memrec folds in what they leave
both_killed() {
	status 137 record -o b.zst -- --calls "$1" --seed "$1" --account account --end kill-both &&
		grep -Eq '^memrec: the collector of process [0-9]+ died; what it left is folded in$' err && agrees b.zst account
}
for i in 1 2 3 4 5; do
	random=$((random * 1103515245 + 12345 & 0x7fffffff))
	calls=$((random / 65536 % 3000 + 1))
	check "kill -9 of target and collector after $calls calls" both_killed $calls
done
check "no ring is left by these" nothing_left
small="slot-bytes=65536 wait-ms=20000"
small_slots() { MEMREC_OPTIONS=$small both_killed 3000; }
check "kill -9 of both with most of it in the trace already" small_slots
check "nor by this" nothing_left

# --- all three: the ring waits for memrec recover
collector_only() {
	status 0 record -o c.zst -- --calls 1000 --account account --after kill-collector && agrees c.zst account &&
		grep -q '^memrec: the collector of process' err
}
check "kill -9 of the collector while the target goes on" collector_only
# The ring is too small for what comes after: another collector goes on in the same trace.
replaced() { # KILLS OPTION...
	rm -f c.zst*
	MEMREC_OPTIONS="slot-bytes=65536 wait-ms=20000" status 0 record "${@:2}" -o c.zst -- --calls 8000 --account account --kills "$1" &&
		agrees c.zst account && grep -q 'c.zst: .* nothing lost' err && [ ! -e c.zst.old ] || { cat err; return 1; }
}
check "kill -9 of the collector: another one goes on" replaced 1
check "and another one" replaced 3
check "with --keep, too" replaced 2 --keep 4MiB
# No collector comes any more: events beyond the room of the ring are lost, and counted.
given_up() {
	rm -f c.zst*
	MEMREC_OPTIONS="slot-bytes=65536 wait-ms=20" status 0 record -o c.zst -- --calls 12000 --account account --kills 9 &&
		grep -Eq 'c.zst: .* [0-9]+ events LOST' err && "$memana" sql c.zst 'SELECT count(*) + count(free_seq) + (SELECT sum(unknown_frees) FROM process) FROM allocation' >sql.out &&
		"$memana" sql c.zst 'SELECT sum(events) FROM lost_events' >lost.out && cat err sql.out lost.out &&
		[ $(($(tail -n 1 sql.out) + $(tail -n 1 lost.out))) -ge "$(json account 'd["calls"]')" ]
}
check "a collector that is killed again and again is given up, and what is lost is counted" given_up
check "no ring is left by that" nothing_left
kill_all() { # [MEMREC_OPTIONS [HOW]]
	rm -rf a.zst rings
	mkdir rings
	LD_LIBRARY_PATH=$standin MEMREC_OPTIONS=$1 "$memrec" -o a.zst --ring-dir rings -- \
		python3 "$SRC/tests/cli/driver_calls.py" --calls 3000 --account account --end "${2:-kill-all}" >/dev/null 2>&1
	# A killed collector may still be in a write: its lock on the ring goes when it is gone.
	ls rings/*/*.ring >/dev/null && flock -w 20 rings/*/*.ring true
}
# With small slots the collector must have written most of it before the end.
all_killed() { kill_all "$small" && [ -s a.zst ]; }
check "kill -9 of target, collector and memrec leaves trace and ring" all_killed
opens() { "$memana" top a.zst >/dev/null && "$memana" info a.zst >/dev/null; }
check "the trace opens as it is" opens
cp a.zst before.zst
busy() {
	exec 9<"$(ls rings/*/*.ring)"
	flock -n 9 && status 4 "$memrec" recover a.zst && one_line err 'its collector is still writing' && cmp a.zst before.zst
}
check "a ring that somebody holds is left alone" busy
exec 9<&-
recovers() { status 0 "$memrec" recover a.zst && grep -Eq '^memrec: a.zst: .* [0-9]+ events' err && agrees a.zst account; }
check "memrec recover TRACE makes it whole" recovers
check "and takes the ring away" nothing_left
again() { status 0 "$memrec" recover a.zst && one_line err 'is complete \(nothing to recover\)'; }
check "a second time there is nothing to do" again
# The end of a large process takes a while after a kill.
slow_end() { kill_all "$small" kill-slowly && kill -0 "$(basename rings/*/*.ring .ring)" && status 0 "$memrec" recover a.zst && agrees a.zst account; }
check "while the killed process is still ending, recover waits" slow_end
elsewhere() {
	all_killed && cp a.zst before.zst && echo older >w.zst && status 0 "$memrec" recover -o w.zst a.zst && agrees w.zst account &&
		cmp a.zst before.zst && [ "$(cat w.zst.old)" = older ] && nothing_left
}
check "recover -o leaves the trace as it is, and an older file as FILE.old" elsewhere
by_ring() {
	kill_all "$1" && rm -f ring.zst* && status 0 "$memrec" recover -o ring.zst rings/*/*.ring && agrees ring.zst account && nothing_left
}
check "memrec recover -o FILE RING makes a trace of ring and begun trace" by_ring "$small"
no_trace() { kill_all && rm -f a.zst && status 0 "$memrec" recover rings/*/*.ring && mv rings/*/*.zst ring.zst && agrees ring.zst account; }
check "and beside the ring where none is left, and no -o" no_trace
# A name in a stranger's ring, or in the link beside it, is never written to.
stranger() {
	kill_all && echo precious >a.zst && status 0 "$memrec" recover rings/*/*.ring && [ "$(cat a.zst)" = precious ] &&
		[ ! -e a.zst.old ] && ls rings/*/*.zst
}
check "no name in a ring is written to" stranger
rm -rf rings
unborn() { truncate -s 1M 7.ring && status 0 "$memrec" recover 7.ring && one_line err 'killed before it recorded anything'; }
check "recover of a ring in which nothing had begun" unborn
strange() { status 3 "$memrec" recover "$SRC/Makefile" && one_line err 'not a memrec trace'; }
check "recover of something else" strange
lost_ring() { all_killed && rm -r rings && status 4 "$memrec" recover a.zst && one_line err 'its ring is gone'; }
check "recover without the ring says so" lost_ring
# As on each node of a job with a shared folder: the golden trace is of a host of its own.
far_ring() {
	cp "$SRC/tests/golden/v1-crash.zst" far.zst && status 4 "$memrec" recover far.zst && one_line err 'node-7' &&
		cmp far.zst "$SRC/tests/golden/v1-crash.zst"
}
check "recover of a trace of another machine names the host and leaves the trace" far_ring
restarted() {
	cp "$SRC/tests/golden/v1-crash.zst" far.zst &&
		status 4 unshare -Uru sh -c 'hostname node-7 && exec "$0" recover far.zst' "$memrec" && one_line err 'its ring is gone'
}
if unshare -Uru hostname node-7 2>/dev/null; then
	check "recover after a restart of the trace's own machine says that the ring is gone" restarted
else
	skip "no namespace for another host name"
fi
strange_ring() {
	all_killed || return 1
	printf 'XX' | dd of="$(ls rings/*/*.ring)" bs=1 seek=8 conv=notrunc 2>/dev/null # another version
	cp a.zst before.zst
	status 3 "$memrec" recover a.zst && one_line err 'its ring cannot be read: ' && cmp a.zst before.zst && ls rings/*/*.ring >/dev/null
}
check "a ring that cannot be read is no reason to touch the trace" strange_ring
rm -rf rings
# A container ends: processes, ring and all. Events of half a second before are in the trace.
lost_all() {
	rm -f a.zst
	record -o a.zst -- --calls 200 --account account --end lose-ring >lost.out 2>&1
	! grep -q 'events have waited' lost.out && ! ls rings/*/*.ring 2>/dev/null && "$memana" top a.zst >/dev/null &&
		"$memana" sql a.zst 'SELECT count(*) FROM allocation' >sql.out && cat lost.out sql.out &&
		[ "$(tail -n 1 sql.out)" = "$(json account 'd["taken"]')" ]
}
check "the ring lost with all three: the trace has what is older than a moment" lost_all
rm -rf rings

# --- without /proc nobody can see who is alive but by the process itself
no_proc() {
	unshare -m true 2>/dev/null || return 77
	mkdir -p rings
	LD_LIBRARY_PATH=$standin status 0 unshare -m "$memrec" -o p.zst --ring-dir rings -- bash -c "
		mount -t tmpfs tmpfs /proc || exit 77
		exec python3 '$SRC/tests/cli/driver_calls.py' --calls 300 --account account --after until-written" || return
	agrees p.zst account && nothing_left
}
if ldd "$memrec" | grep -q 'lib[a]san'; then
	echo "skip a pause without /proc: the sanitizer needs /proc itself"
elif (no_proc >no_proc.out 2>&1); [ $? = 77 ] || grep -q 'exit status 77' no_proc.out; then
	echo "skip a pause without /proc: mount is not permitted"
else
	check "without /proc a pause of the target is not its end" no_proc
fi

# --- memrec alone: the collector finishes, and cleans up
no_launcher() {
	LD_LIBRARY_PATH=$standin "$memrec" -o l.zst --ring-dir rings -- python3 -c "
import os, runpy, signal, sys
os.kill(os.getppid(), signal.SIGKILL)
sys.argv = ['driver_calls.py', '--calls', '500', '--account', 'account', '--after', 'say-collector']
runpy.run_path('$SRC/tests/cli/driver_calls.py')" >/dev/null 2>&1
	for i in $(seq 200); do [ -s collector.pid ] && break; read -rt 0.1 <>never; done
	wait_gone "$(cat collector.pid)" && agrees l.zst account
}
mkdir -p rings
mkfifo never
check "kill -9 of memrec: the trace gets complete all the same" no_launcher
check "and the last collector removes the folder" nothing_left

# --- told to finish
term() { status 0 record -o t.zst -- --calls 1000 --before term-collector && "$memana" verify t.zst; }
check "SIGTERM to the collector: a whole trace, the target goes on" term
check "no ring is left by it" nothing_left

# --- somebody tidies up
vanished() {
	rm -rf away && mkdir away && status 0 record -o away/v.zst -- --calls 3000 --end vanish &&
		one_line err '^memrec: away/v.zst: the trace is gone: deleted .*30[0-9][0-9] events LOST'
}
check "a trace that is deleted while it is written is not said to be there" vanished

# --- the disk is full: the trace of the collector may not grow any more
full() {
	rm -rf rings
	MEMREC_OPTIONS=slot-bytes=65536 status 0 record -o f.zst -- --calls 4000 --account account --before limit-collector &&
		grep -qx '4000 calls' out && grep -q '^memrec: disk full: f.zst ends early (free some space, then: memrec recover f.zst)$' err &&
		grep -q '^memrec: f.zst, as far as it was written: peak ' err
}
check "a full disk is said in one line, the target's result is unchanged" full
check "the trace opens up to there" "$memana" top f.zst
what_is_there() { "$memana" oom f.zst | tr -s ' \n' ' ' | grep -qE '^[0-9,]+ events? of [0-9,]+ are lost\. No request for GPU memory failed in the rest'; }
check "what is lost may have failed" what_is_there
full_recovered() { status 0 "$memrec" recover f.zst && "$memana" verify f.zst && nothing_left; }
check "memrec recover gets what was waiting in the ring" full_recovered
roomy() {
	status 0 record -o f.zst -- --calls 2000 --account account --before limit-collector &&
		grep -q '^memrec: disk full: ' err && "$memrec" recover f.zst 2>/dev/null && agrees f.zst account
}
check "while the ring has room nothing is lost by it" roomy

# --- the disk is full from the beginning
no_room() {
	mkdir -p tiny && mount -t tmpfs -o size=4k tmpfs tiny 2>/dev/null || return 77
	head -c 4096 /dev/zero >tiny/fill
	status 0 record -o tiny/t.zst -- --calls 20 && grep -qx '20 calls' out &&
		grep -Eq '^memrec: process [0-9]+ was not recorded: no space left' err && [ "$(ls tiny)" = fill ] && nothing_left
}
trap 'umount tiny 2>/dev/null' EXIT
if (no_room >no_room.out 2>&1); [ $? = 77 ]; then
	echo "skip no room for a trace at all: mount is not permitted"
else
	umount tiny
	check "no room for a trace at all is said, and nothing is left" no_room
fi
