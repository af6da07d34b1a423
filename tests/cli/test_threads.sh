# Many threads: at the same time, far more than the slots of the ring, and one after the other. No event is lost. The
# program has no lock and reports no totals, so the test cannot verify totals.
. "$SRC/tests/cli/lib.sh"
${CC:-cc} -O1 -o threads "$SRC/tests/cli/agent_threads.c" -ldl -lpthread || exit 1

# On a machine with much else to do the collector may not get on for a while: they wait, however long.
export MEMREC_OPTIONS="wait-ms=60000"

# recorded HOW THREADS EVENTS: all of them, each with its thread.
recorded() {
	status 0 "$memrec" -o trace.zst -- ./threads "$@" && grep -q 'nothing lost' err || { cat out err; return 1; }
	[ "reports $(total)" = "$(cat out)" ] && [ "$(threads_of)" = "$2" ] || { cat out; total; threads_of; return 1; }
}
total() { "$memana" sql trace.zst 'SELECT count(*) + count(free_seq) FROM allocation' | tail -n 1 | tr -d ' '; }
threads_of() { "$memana" sql trace.zst 'SELECT count(DISTINCT thread) FROM allocation' | tail -n 1 | tr -d ' '; }

for threads in 100 400; do check "threads: $threads at once" recorded at-once $threads 200; done
check "threads: 2000 at once" recorded at-once 2000 100
check "threads: 10,000 in turn" recorded in-turn 10000 2

# The ring is full before the collector has started: nobody takes it for one that was killed.
slow_start() {
	printf '#!/bin/sh\nsleep 1\nexec "%s" "$@"\n' "$memrec" >slow && chmod +x slow && rm -f slow*.zst
	LD_PRELOAD=$BUILD/libmemrec.so MEMREC_OPTIONS="collector=$PWD/slow output=$PWD/slow.zst slot-bytes=65536 wait-ms=60000" \
		./threads at-once 50 3000 >out || return
	for _ in $(seq 100); do
		mv slow.*.zst trace.zst 2>/dev/null
		"$memana" info trace.zst 2>/dev/null | grep -q 'complete  *yes' && break
		read -rt 0.1 <>never
	done
	[ "reports $(total)" = "$(cat out)" ] || { cat out; total; "$memana" info trace.zst; return 1; }
}
mkfifo never
check "threads: a collector that takes long to start" slow_start
