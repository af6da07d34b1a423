# Programs that make processes: memrec records forks, launchers, pools, daemons, and workers that inherit nothing.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/memrec.sh"
trees=$SRC/tests/cli/process_trees.py
mkdir -p rings
mkfifo never
LD_LIBRARY_PATH=$standin
export LD_LIBRARY_PATH
traces() { echo $(ls -- *.zst* 2>/dev/null); }
count() { traces | wc -w; }
fresh() { rm -f ./*.zst* account.* busy daemon go orders; }
tree() { # SCENARIO [OPTION...]: under memrec
	fresh
	status 0 "$memrec" --ring-dir rings "${@:2}" -- python3 "$trees" "$1"
}
said() { grep -qE -- "$1" err || { echo "not said: $1"; cat err; return 1; }; }
# The collectors whose ring's path matches, by pid. PATTERN must not match itself: it is an argument of grep.
collectors() { grep -laz -- "$1" /proc/[0-9]*/cmdline 2>/dev/null | cut -d/ -f3; }
# Every process that wrote an account has a trace that agrees with it, by its pid or alone.
all_agree() { # HOW MANY
	local account pid trace
	[ "$(count)" = "$1" ] && [ "$(ls account.* | wc -l)" = "$1" ] || { echo "$(traces) for $(echo account.*)"; return 1; }
	for account in account.*; do
		pid=${account#account.}
		trace=$(ls -- *".$pid.zst" 2>/dev/null || echo trace.zst)
		agrees "$trace" "$account" || return 1
	done
}

# --- fork without exec
idle() { tree idle && all_agree 1 && nothing_left; }
check "children of a recorded process leave no file, and do not write into its ring" idle
fork_first() { tree fork_first && all_agree 3 && nothing_left; }
check "children forked before the first call are processes like any other" fork_first

# --- pools and programs
for how in spawn forkserver; do
	pool() { tree $how && all_agree 2 && nothing_left; }
	check "multiprocessing: $how" pool
done
workers() {
	fresh
	status 0 env -u LD_LIBRARY_PATH "$memrec" --ring-dir rings -- "$PYTHON" "$SRC/tests/torch/loader.py" fork &&
		[ "$(traces)" = trace.zst ] && "$memana" verify trace.zst && nothing_left
}
if [ -n "$PYTHON" ]; then
	check "DataLoader workers that are forked leave no file" workers
else
	echo "skip DataLoader workers: no python3 with torch"
fi
children() { tree children && all_agree 1 && nothing_left; }
check "vfork, posix_spawn and the shell below a recorded process" children
crowd() {
	tree crowd && [ "$(grep -c '^memrec: trace' err)" = 50 ] && "$memana" top --json ./*.zst >crowd.json &&
		json crowd.json 'len(d["traces"]) == 50 and all(t["complete"] and not t["lost"] for t in d["traces"])' &&
		nothing_left && [ -z "$(collectors "$PWD/[r]ings/")" ]
}
check "200 short-lived children, 50 traces, and nothing else is left" crowd

# --- launchers
launcher() {
	tree launcher -o 'run.%h.zst' && [ "$(traces)" = "run.$(uname -n).rank0.zst run.$(uname -n).rank1.zst" ] &&
		said "^memrec: run.$(uname -n).rank1.zst: " && nothing_left
}
check "ranks of a launcher, one of them ended by SIGTERM" launcher
two_nodes() {
	fresh
	for node in one two; do
		unshare -u bash -c "hostname $node && exec \"\$@\"" - "$memrec" -o '%h/t.zst' --ring-dir rings -- \
			bash -c "for r in 0 1; do RANK=\$r python3 '$trees' work & done; wait" 2>/dev/null || return 1
	done
	[ "$(echo one/* two/*)" = "one/t.rank0.zst one/t.rank1.zst two/t.rank0.zst two/t.rank1.zst" ]
}
mkdir one two
if unshare -u hostname one 2>/dev/null; then
	check "%h tells nodes apart that have the same ranks" two_nodes
else
	echo "skip nodes with the same ranks: the host name cannot be set"
fi
chain() {
	fresh
	status 0 "$memrec" --ring-dir rings -- env -u TERM nice -n 1 timeout 60 bash -c "exec python3 '$trees' work" &&
		all_agree 1 && nothing_left
}
check "env, nice, timeout and a shell before the program" chain
nested() {
	fresh
	mkdir -p inner
	ASAN_OPTIONS=verify_asan_link_order=0 status 0 \
		"$memrec" --ring-dir rings -- bash -c "'$memrec' --ring-dir inner -- python3 '$trees' work; python3 '$trees' work" &&
		[ -s trace.zst ] && all_agree 2 && nothing_left && nothing_left inner &&
		said '^memrec: process [0-9]+ was not recorded: it is another memrec' && [ "$(grep -c '^memrec: next' err)" = 2 ]
}
check "memrec below memrec records what it starts, under another name" nested
replaced() {
	fresh
	status 0 "$memrec" --ring-dir rings -- python3 "$SRC/tests/cli/driver_calls.py" --end exec && [ "$(count)" = 2 ] &&
		"$memana" info ./*.zst >info.out && [ "$(grep -c 'ended *the process ran another program (exec)' info.out)" = 1 ] &&
		[ "$(grep -c 'ended *the process ended' info.out)" = 1 ] && nothing_left
}
check "a program that another one replaces: its trace says so" replaced

# --- an environment that is changed on the way
overwritten() {
	fresh
	status 0 "$memrec" --ring-dir rings -- env LD_PRELOAD=libz.so.1 python3 "$trees" work && all_agree 1 && nothing_left
}
check "LD_PRELOAD overwritten: driver memory is recorded all the same" overwritten
cleared() {
	fresh
	status 0 "$memrec" --ring-dir rings -- bash -c "python3 '$trees' work; env -i LD_LIBRARY_PATH=$standin \$(command -v python3) '$trees' work" &&
		[ "$(traces)" = trace.zst ] && [ "$(ls account.* | wc -l)" = 2 ] && nothing_left
}
check "an environment cleared: that process is not recorded, and not harmed" cleared

# --- odd surroundings
homeless() { tree homeless && all_agree 1 && nothing_left; }
check "a working folder that is gone" homeless
relative() {
	fresh
	ln -s "$standin" here
	LD_LIBRARY_PATH=here status 0 "$memrec" --ring-dir rings -- python3 "$trees" work && all_agree 1 &&
		"$memana" top --json trace.zst >top.json && json top.json 'd["devices"][0]["name"] == "Stand-in GPU"'
}
check "a relative LD_LIBRARY_PATH names the GPU, too" relative
no_output() {
	fresh
	mkdir -p out.d
	status 0 "$memrec" -o out.d/t.zst --ring-dir rings -- bash -c "rmdir out.d; python3 '$trees' work" &&
		said "^memrec: $TMPDIR/memrec-trace\..*/t\.[0-9]+\.zst: .* [0-9]+ events" && nothing_left
}
check "an output folder that is gone when the process begins: the trace is elsewhere, and that is said" no_output
closed() {
	fresh
	bash -c 'exec "$@" <&- >&- 2>&-' - "$memrec" --ring-dir rings -- python3 "$trees" work && all_agree 1 && nothing_left
}
check "standard streams that are closed" closed
as_closed() {
	bash -c 'exec "$@" <&- >&- 2>&-' - "$memrec" --ring-dir rings -- bash -c 'for fd in 0 1 2; do [ -e /proc/$$/fd/$fd ] && exit 9; done; exit 0'
}
check "the command finds them closed, too" as_closed
reaper() {
	fresh
	mkfifo go
	status 0 timeout 30 "$memrec" --ring-dir rings -- python3 "$trees" reaper && grep -qx "no child is left" out &&
		all_agree 1 && nothing_left
}
check "a program that adopts orphans does not adopt the collector" reaper
wall() {
	fresh
	rm -f go && mkfifo go
	status 0 timeout 30 "$memrec" --ring-dir rings -- python3 "$trees" wall && all_agree 1 && nothing_left
}
check "a thread that waits for children of all kinds" wall
# As under valgrind, where a child has a copy of the memory whatever clone is asked for.
apart() {
	fresh
	cat >apart.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
int clone(int (*function)(void *), void *stack, int flags, void *context, ...)
{
	int (*real)(int (*)(void *), void *, int, void *, ...) = dlsym(RTLD_NEXT, "clone");

	return real(function, stack, flags & ~CLONE_VM, context);
}
END
	${CC:-cc} -shared -fPIC -o apart.so apart.c || return
	status 0 "$memrec" --ring-dir rings -- bash -c 'LD_PRELOAD=$PWD/apart.so:$LD_PRELOAD exec python3 "$0" work' "$trees" &&
		all_agree 1 && nothing_left
}
check "a clone that shares no memory starts the collector" apart
masked() {
	fresh
	(umask 0777 && LD_LIBRARY_PATH=$standin exec "$memrec" --ring-dir rings -- sh -c 'umask 0777; exec python3 "$0" --calls 100' "$SRC/tests/cli/driver_calls.py") >/dev/null 2>&1
	[ "$(stat -c %a trace.zst)" = 600 ] && "$memana" verify trace.zst && nothing_left
}
check "a umask that takes every right: the trace is its owner's" masked
few_files() {
	tree few_files && grep -qx 'done' out && said '^memrec: process [0-9]+ was not recorded: ' && [ "$(count)" = 0 ] && nothing_left
}
check "no descriptor is left: said, and the program goes on" few_files
one_reason() {
	fresh
	status 0 "$memrec" --ring-dir rings -- sh -c 'ulimit -n 5; exec "$0" counter 1 10 calls' "$BUILD/torture/victim" && one_line err 'was not recorded: '
}
check "five descriptors: the reason is said, and nothing that contradicts" one_reason
fewer_files() { tree fewer_files && all_agree 1 && nothing_left; }
check "a small limit on descriptors" fewer_files

# --- what goes on after the command
daemon() {
	fresh
	mkfifo go
	status 0 "$memrec" --ring-dir rings -- python3 "$trees" daemon >/dev/null &&
		said "^memrec: process $(cat daemon) is still running and being recorded into trace" &&
		[ "$(grep -c '^memrec: trace.*events' err)" = 1 ]
}
check "a daemon: what ended is summed up, what goes on is named" daemon
finishes() {
	local collector
	collector=$(collectors "/$(cat daemon)[.]ring$")
	: >go
	wait_gone "$collector" && rm go && all_agree 2 && nothing_left
}
check "its trace gets complete when it ends" finishes

# --- processes that nobody of ours starts: Ray's workers
ray() {
	fresh
	mkfifo orders
	python3 "$trees" raylet >ray.out &
	raylet=$!
	"$memrec" env --steps 3 -o "$PWD/ray.zst" ray | sed -n "s/.*--runtime-env-json '\(.*\)' -- .*/\1/p" >order
	cat order order >orders
	wait $raylet || return 1
	for pid in $(sed -n 's/^worker \([0-9]*\): 0$/\1/p' ray.out); do
		for i in $(seq 400); do
			ls -d "/dev/shm/memrec.$(id -u).$pid" "memrec.$(id -u).$pid" >/dev/null 2>&1 || break
			read -rt 0.05 <>never
		done
		[ -s "ray.$(uname -n).$pid.zst" ] || { echo "no trace of $pid"; ls; return 1; }
	done
	all_agree 2
}
check "a daemon's workers, with nothing but the variables of memrec env ray" ray

# --- a ring that found no room in the folder of the run
elsewhere() {
	fresh
	status 0 unshare -m bash -c "mount -t tmpfs -o size=256k tmpfs rings && '$memrec' --ring-dir rings -- python3 '$trees' work" &&
		all_agree 1 && said '^memrec: trace.*: .* [0-9]+ events' && [ -z "$(ls -d memrec.* /dev/shm/memrec.*."$(ls account.* | cut -d. -f2)" 2>/dev/null)" ]
}
if unshare -m true 2>/dev/null; then
	check "a ring that lies elsewhere is waited for and summed up" elsewhere
else
	echo "skip a ring that lies elsewhere: mount is not permitted"
fi

# --- why there is no trace
unseen() { # PATTERN VARIABLE=VALUE... -- OPTION...
	local pattern=$1 variables=()
	shift
	fresh
	while [ "$1" != -- ]; do variables+=("$1"); shift; done
	shift
	status 0 env "${variables[@]}" "$memrec" --ring-dir rings "$@" -- python3 "$trees" work && [ "$(count)" = 0 ] &&
		one_line err "^memrec: process [0-9]+ used CUDA and took no tensor memory; driver calls were not recorded: $pattern" && nothing_left
}
check "no trace because another tool holds CUPTI: said" unseen 'another tool holds the CUPTI subscription.*nsys' STANDIN_FAULT_SUBSCRIBED=nsys --
check "no trace because of --no-cupti: said" unseen 'not asked for \(--no-cupti\)' -- --no-cupti
