# memrec attach and detach: records running programs for a while. The programs go on unharmed and can be recorded a
# second time. ROUNDS is the number of attaches to a training (default 5).
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/memrec.sh"
. "$SRC/tests/cli/interpreters.sh"
loop=$SRC/tests/cli/attach_loop.py
mkdir rings
attach() { "$memrec" attach --ring-dir rings "$@"; }

# ---- a library that reports tensors as PyTorch does ----
cat >c10.c <<'C'
struct device { signed char type, index; };
void report(void *block, long size, unsigned long total, unsigned long reserved, struct device device)
	__asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
void report(void *block, long size, unsigned long total, unsigned long reserved, struct device device)
{
	(void)block, (void)size, (void)total, (void)reserved, (void)device;
}
_Bool enabled(void) __asm__("_ZN3c1022memoryProfilingEnabledEv");
_Bool enabled(void) { return 0; }
C
cat >caller.c <<'C'
struct device { signed char type, index; };
void report(void *, long, unsigned long, unsigned long, struct device)
	__asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
_Bool enabled(void) __asm__("_ZN3c1022memoryProfilingEnabledEv");
void use(unsigned long address);
void use(unsigned long address)
{
	struct device gpu = { 1, 0 };

	enabled();
	report((void *)address, 64, 64, 64, gpu);
	report((void *)address, -64, 0, 64, gpu);
}
C
${CC:-cc} -shared -fPIC -o libc10.so c10.c
${CC:-cc} -shared -fPIC -o caller.so caller.c -L. -l:libc10.so -Wl,-rpath,"$PWD"

# begin PROGRAM...: runs it in the background; $pid.
begin() {
	rm -f stop program.out
	"$@" >program.out 2>program.err &
	pid=$!
	local tries
	for tries in {1..200}; do
		grep -qs ready program.out && return
		sleep 0.05
	done
	cat program.out program.err
	return 1
}
# finish STATUS: the program ends, with that exit status.
finish() {
	local got=0
	touch stop
	wait "$pid" || got=$?
	[ "$got" = "$1" ] || { echo "exit status $got"; cat program.out program.err; return 1; }
}
tensors() { "$memana" sql "$1" 'SELECT count(*) FROM allocation' | tail -1; }
# whole TRACE: it is whole and has events.
whole() { "$memana" verify "$1" >verify.out && [ "$(tensors "$1")" -gt 3 ]; }

# rounds PYTHON NUMBER ATTACH_OPTION...: the program has the names, the output and the exit status that it has without memrec.
rounds() {
	local python=$1 number=$2 i
	shift 2
	touch stop
	status 7 "$python" "$loop" report ./caller.so && mv out wanted.out || return
	begin "$python" "$loop" report ./caller.so || return
	for ((i = 0; i < number; i++)); do
		attach -o "t$i.zst" "$@" "$pid" && sleep 0.2 && "$memrec" detach "$pid" && whole "t$i.zst" || { kill -9 "$pid"; return 1; }
	done
	finish 7 && nothing_left && cmp wanted.out program.out && [ ! -s program.err ]
}

pythons=$(interpreters | while read -r python; do
	"$python" -c 'import sys, sysconfig
sys.exit(not (3, 9) <= sys.version_info[:2] <= (3, 14) or bool(sysconfig.get_config_var("Py_GIL_DISABLED")))' && echo "$python"
done)
version() { "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])'; }
has_remote() { "$1" -c 'import sys; sys.exit(not hasattr(sys, "remote_exec"))'; }

for method in gdb lldb; do
	command -v $method >/dev/null || { echo "skip attach: $method is not here"; continue; }
	for python in $pythons; do
		[ $method = lldb ] && count=1 || count=2
		check "attach: $method, Python $(version "$python"): recorded $count times, unharmed" rounds "$python" $count --method $method
	done
done
found=
for python in $pythons; do
	has_remote "$python" || continue
	found=1
	check "attach: sys.remote_exec, Python $(version "$python"): recorded three times, unharmed" rounds "$python" 3 --method python --python "$python"
done
[ "$found" ] || echo "skip attach: no Python has sys.remote_exec (tests/pythons.sh)"

# ---- CUPTI, late ----
# The driver's calls are seen while the process is recorded, each time, and CUPTI has a subscriber just then.
subscribed() {
	local i
	rm -f cupti.log
	begin env LD_LIBRARY_PATH="$standin" STANDIN_CUPTI_LOG="$PWD/cupti.log" "$first" "$loop" gpu ./caller.so || return
	for i in 1 2; do
		attach -q -o "gpu$i.zst" "$pid" && sleep 0.3 && "$memrec" detach -q "$pid" && sleep 0.1 && whole "gpu$i.zst" || { kill -9 "$pid"; return 1; }
		[ "$("$memana" sql "gpu$i.zst" "SELECT count(*) > 3 FROM allocation WHERE memory = 'device'" | tail -1)" = 1 ] || { kill -9 "$pid"; return 1; }
		[ "$(grep -c cuptiUnsubscribe cupti.log)" = "$i" ] || { cat cupti.log | tail; kill -9 "$pid"; return 1; }
	done
	finish 7 && nothing_left
}
first=$(head -1 <<<"$pythons")
command -v gdb >/dev/null && check "attach: CUPTI is subscribed to late, and given back" subscribed

# ---- memory from before the attach ----
# recorded TRACE: it has some thousand events, while it grows.
recorded() {
	local tries
	for tries in {1..400}; do
		[ "$(stat -c %s "$1")" -gt 32768 ] && return
		sleep 0.05
	done
	return 1
}
# earlier MODE: all that PyTorch's allocator held (told_before.py).
earlier() {
	rm -f account before.zst
	begin env LD_LIBRARY_PATH="$standin" STANDIN_CONTEXT=0 "$PYTHON" "$loop" cuda "$SRC/tests/allocator" "$1" || return
	attach -q -o before.zst "$pid" && recorded before.zst && "$memrec" detach -q "$pid" && finish 7 && whole before.zst && nothing_left || { kill -9 "$pid"; return 1; }
	BUILD=$BUILD "$PYTHON" "$SRC/tests/cli/told_before.py" before.zst
}
if [ -n "$PYTHON" ] && command -v gdb >/dev/null && "$PYTHON" -c 'import sys, torch; sys.exit(torch.version.cuda is not None)'; then
	check "attach: what PyTorch held before has rows" earlier default
	check "attach: what PyTorch held before in expandable segments has rows" earlier expandable
else
	echo "skip attach: what was there before: no python3 with torch for the CPU, or no gdb"
fi

# ---- refusals ----
# refused STATUS PATTERN COMMAND...: one line, and nothing is left.
refused() { status "$1" "${@:3}" && one_line err "$2" && nothing_left; }
check "attach: no process" refused 2 'attach: a process is needed' attach
# each STATUS PATTERN [PID]: every command that names a process says so.
each() {
	local word
	for word in attach detach start stop mark status; do
		refused "$1" "$2" ${as_user:-} "$memrec" "$word" "${@:3}" $([ $word != mark ] || echo text) || { echo "$word"; return 1; }
	done
}
check "no number: each command ends with 2" each 2 'train.py: is no process id' train.py
check "an option that is none: each command ends with 2" each 2 '--nope: no such option' --nope 1
check "a process that is not there: each command ends with 4" each 4 'process 4194303: there is no such process' 4194303
check "start: an option without its value" refused 2 '--steps: a value is needed' "$memrec" start --steps
check "attach: a method that is none" refused 2 '--method: must be auto, python, gdb or lldb' attach --method strace 1
check "attach: an option that is none" refused 2 '--stepz: no such option' attach --stepz 3 1
check "detach: no process" refused 2 'detach: a process is needed' "$memrec" detach
check "detach: a process that is not recorded" refused 4 "process $$: memrec does not record it" "$memrec" detach $$

# refused PATTERN COMMAND...: memrec refuses a process that runs the command.
of_process() {
	local wanted=$1 why
	shift
	"$@" >/dev/null 2>&1 &
	why=$!
	sleep 0.5
	refused "4" "process $why: $wanted" attach $why
	local got=$?
	kill -9 $why
	wait $why 2>/dev/null
	return $got
}
bare() { of_process 'it has loaded neither PyTorch nor CUDA yet' sleep 60; }
check "attach: a program without PyTorch" bare
cat >host.c <<'C'
#include <unistd.h>
void use(unsigned long address);
int main(void)
{
	for (;;) {
		use(4096);
		usleep(2000);
	}
}
C
${CC:-cc} -o host host.c -L. -l:caller.so -Wl,-rpath,"$PWD" -Wl,-rpath-link,"$PWD"
native() { of_process 'it has no Python' ./host; }
check "attach: a program without Python" native
cat >tracer.py <<'END'
import ctypes, sys, time
assert ctypes.CDLL(None).ptrace(0x4206, int(sys.argv[1]), None, None) == 0  # PTRACE_SEIZE
print("ready", flush=True)
time.sleep(60)
END
traced() {
	./host &
	local host=$! tracer got
	python3 tracer.py $host >tracer.out &
	tracer=$!
	sleep 1
	grep -q ready tracer.out || { kill $host $tracer; return 1; }
	refused 4 "process $host: process $tracer traces it already" attach $host
	got=$?
	kill -9 $tracer $host
	wait $tracer $host 2>/dev/null
	return $got
}
if python3 -c 'import ctypes' 2>/dev/null; then
	check "attach: another tool traces it" traced
fi
if [ "$(id -u)" = 0 ] && command -v setpriv unshare >/dev/null; then
	chmod 755 .
	if setpriv --reuid 65534 --clear-groups --inh-caps=-all test -r "$BUILD/libmemrec.so"; then
		stranger() { as_user="setpriv --reuid 65534 --clear-groups --inh-caps=-all" each 4 "process $$: it belongs to user 0" $$; }
		check "a process of another user: each command ends with 4" stranger
		# A process that hides itself from all but root: whether memrec records it cannot be known.
		hidden() {
			local why got
			setpriv --reuid 65534 --clear-groups --inh-caps=-all python3 -c 'import ctypes, time; ctypes.CDLL(None).prctl(4, 0); print("hidden", flush=True); time.sleep(60)' >hidden.out &
			why=$!
			timeout 20 sh -c 'until grep -q hidden hidden.out; do sleep 0.05; done' || return
			as_user="setpriv --reuid 65534 --clear-groups --inh-caps=-all" each 4 "process $why: (the kernel does not let memrec trace it|cannot be looked into)" $why
			got=$?
			kill -9 $why
			wait $why 2>/dev/null
			return $got
		}
		check "a process that the kernel hides: no command says that memrec does not record it" hidden
	else
		echo "skip a process of another user: another user cannot read the build"
	fi
	elsewhere() { of_process 'it runs in another mount namespace' unshare -m sleep 60; }
	check "attach: another mount namespace" elsewhere
	numbers() {
		unshare -p --fork --kill-child sleep 60 &
		local outer=$! inner got
		sleep 0.5
		inner=$(pgrep -P $outer)
		refused 4 "process $inner: it runs in another pid namespace" attach "$inner"
		got=$?
		kill -9 $outer
		wait $outer 2>/dev/null
		return $got
	}
	check "attach: another pid namespace" numbers

	# All of a pid namespace of its own: two programs, and a shell that is none of them.
	cat >all.sh <<-'END'
		rm -f stop a.out b.out
		"$1" "$2" report ./caller.so >a.out & a=$!
		"$1" "$2" report ./caller.so >b.out & b=$!
		for tries in {1..200}; do grep -qs ready a.out && grep -qs ready b.out && break; sleep 0.05; done
		"$3" attach -q --ring-dir rings --method gdb --all -o all.zst && sleep 0.3 && "$3" detach -q $a $b
		echo "status $?"
		touch stop
		wait $a
		wait $b
		exit 0
	END
	every() {
		unshare -p --fork --mount-proc bash all.sh "$first" "$loop" "$memrec" >all.out && grep -qx 'status 0' all.out &&
			for trace in all.zst all.*.zst; do whole "$trace" || return; done && [ "$(ls all*.zst | wc -l)" = 2 ] && nothing_left
	}
	command -v gdb >/dev/null && check "attach: --all" every
else
	echo "skip attach: another user, another namespace: needs root, setpriv and unshare"
fi

# ---- a main thread that does not come by ----
late() {
	begin "$1" "$loop" wait 13 ./caller.so || return
	refused 4 "process $pid: was not attached: Python's main thread has not come by within 10 s" attach --method gdb "$pid" || { kill -9 "$pid"; return 1; }
	grep -q libmemrec "/proc/$pid/maps" && { kill -9 "$pid"; echo "it has the agent"; return 1; }
	sleep 5 # the code that was left there runs, and does nothing
	finish 7 && ! grep -q libmemrec "/proc/$pid/maps" 2>/dev/null && nothing_left
}
command -v gdb >/dev/null && check "attach: a main thread that does not come by, and the code that comes too late" late "$first"

# ---- kill -9 ----
killed_collector() {
	begin "$first" "$loop" report ./caller.so && attach -q -o killed.zst "$pid" || return
	local collector
	collector=$(pgrep -f -- "--collect $PWD/rings/.*/$pid.ring") && kill -9 "$collector" && sleep 1.5 && "$memrec" detach -q "$pid" && finish 7 &&
		whole killed.zst && nothing_left
}
killed_launcher() {
	begin "$first" "$loop" report ./caller.so || return
	attach -q --duration 2 -o launcher.zst "$pid" &
	sleep 1.5
	kill -9 $!
	wait $! 2>/dev/null
	sleep 2 && finish 7 && whole launcher.zst && nothing_left
}
# The folder of a memrec that was killed before the process came by stays; the process is not recorded, and can be attached to again.
killed_early() {
	begin "$first" "$loop" report ./caller.so || return
	local i
	for i in 1 2 3 4 5 6; do
		attach -q -o "early$i.zst" "$pid" &
		sleep "0.$i"
		kill -9 $! 2>/dev/null
		wait $! 2>/dev/null
	done
	sleep 1
	"$memrec" detach -q "$pid" 2>/dev/null
	attach -q -o again.zst "$pid" && sleep 0.2 && "$memrec" detach -q "$pid" && finish 7 && whole again.zst
}
if command -v gdb >/dev/null; then
	check "attach: its collector is killed" killed_collector
	check "attach: memrec is killed while it waits: the recording ends at its time" killed_launcher
	check "attach: memrec is killed at other times" killed_early
	rm -rf rings && mkdir rings
fi

# ---- a training ----
places() { # PID: mappings with a name, descriptors, threads
	echo "$(awk 'NF > 5' "/proc/$1/maps" | wc -l)" "$(find "/proc/$1/fd" -type l | wc -l)" "$(find "/proc/$1/task" -mindepth 1 -maxdepth 1 | wc -l)"
}
unnamed() { awk 'NF <= 5' "/proc/$1/maps" | wc -l; }
# Python's allocator may take an arena more in the meantime, without more objects. Each round that left a mapping would show.
ARENAS=2
training() {
	local i first= now few=
	begin "$PYTHON" "$loop" train 0 || return
	for ((i = 0; i < ${ROUNDS:-5}; i++)); do
		attach -q -o "train$((i % 10)).zst" "$pid" && sleep 0.3 && "$memrec" detach -q "$pid" && sleep 0.1 || { kill -9 "$pid"; return 1; }
		now=$(places "$pid")
		first=${first:-$now} few=${few:-$(unnamed "$pid")}
		[ "$(unnamed "$pid")" -le $((few + ARENAS)) ] || { echo "unnamed mappings: $few after the first round, $(unnamed "$pid") after round $i"; kill "$pid"; return 1; }
		[ "$now" = "$first" ] || { echo "mappings, descriptors, threads: $first after the first round, $now after round $i"; kill "$pid"; return 1; }
	done
	finish 0 && nothing_left && for i in train?.zst; do whole "$i" || return; done
	mv losses with
	status 0 "$PYTHON" "$loop" train "$(tail -1 program.out)" && cmp losses with
}
ended() { # OPTION VALUE: memrec waits for the end, and the trace says what it was
	begin "$PYTHON" "$loop" train 0 && attach -o end.zst "$@" "$pid" 2>said && finish 0 && nothing_left && grep -q 'end.zst: peak' said && whole end.zst
}
steps() { ended --steps 3 && "$memana" info --json end.zst >info.json && json info.json 'd["traces"][0]["steps"] == 3'; }
# The recording ends with a step: no event is later than the end of the last one.
with_step() {
	begin "$PYTHON" "$loop" train 0 && attach -o step.zst "$pid" && sleep 0.5 && "$memrec" detach "$pid" && finish 0 && whole step.zst &&
		[ "$("$memana" sql step.zst 'SELECT max(alloc_seq) < (SELECT max(end_seq) FROM step) FROM allocation' | tail -1)" = 1 ]
}
if [ -n "$PYTHON" ] && command -v gdb >/dev/null; then
	check "attach: a training that is attached to ${ROUNDS:-5} times has the same losses, and nothing is left in it" training
	check "attach: --steps" steps
	unknown() { json info.json '[s["why"] for s in d["traces"][0]["sources"] if s["name"] == "cpu-tensors"] not in ([], [""])'; }
	check "attach: what the CPU held before is not known, and the trace says so" unknown
	check "attach: --duration" ended --duration 1
	check "detach: with the end of a step" with_step
else
	echo "skip attach: a training: no python3 with torch, or no gdb"
fi
