# memrec around a command: the command runs unchanged, gets all signals and arguments, and memrec reports errors of its
# start.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/memrec.sh"

# --- what people type wrong
refused() { status "$1" "$memrec" "${@:3}" && one_line err "$2" && [ ! -s out ]; }
check "no command is a usage error" refused 2 '^memrec: no command given \('
check "an unknown option is named" refused 2 '^memrec: --nope: no such option' --nope -- true
check "an option with two letters changed over" refused 2 '--stpes=3: no such option \(did you mean --steps\?' --stpes=3 -- true
check "a letter is named by itself" refused 2 '^memrec: -x: no such option' -x -- true
check "a missing value is told from an unknown option" refused 2 '^memrec: --depth: needs a value' --depth
check "numbers are checked" refused 2 '^memrec: --depth: must be a number from 0 to 256, not "999"' --depth 999 -- true
check "so are words" refused 2 '^memrec: --stacks: must be' --stacks python,rust -- true
check "and patterns of names" refused 2 '^memrec: --output: ' -o 'a%q' -- true
check "recover wants one file" refused 2 '^memrec: recover: ' recover
helps() { status 0 "$memrec" "$1" && grep -q -- '--ring-dir DIR' out && [ ! -s err ]; }
check "-h" helps -h
check "--help" helps --help
version() { status 0 "$memrec" --version && one_line out '^memrec [0-9]+\.[0-9]+\.[0-9]+ \([0-9a-z]+\)$'; }
check "--version" version
for word in -V version; do check "$word" bash -c 'cmp <("$0" "$1") <("$0" --version)' "$memrec" "$word"; done
check "help" bash -c 'cmp <("$0" help) <("$0" --help)' "$memrec"
check "help of a command" bash -c 'cmp <("$0" help recover) <("$0" recover --help)' "$memrec"
check "help of what memrec does without a word" bash -c 'cmp <("$0" help record) <("$0" --help)' "$memrec"
check "a long option with one dash" refused 2 '^memrec: -steps: no such option \(did you mean --steps\?' -steps 3 -- true
check "one that begins with a short one" refused 2 '^memrec: -output: no such option \(did you mean --output\?' -output t.zst -- true
check "a dash is no name for a trace" refused 2 '^memrec: --output: must be a file: standard output is the command' -o - -- true
echo 'print(1)' >train.py
check "a Python file without its Python" refused 126 '^memrec: \./train\.py: is a Python file, not a program \(memrec -- python3 \./train\.py\)$' ./train.py
check "a Python file that PATH has not" refused 127 '^memrec: train\.py: is a Python file, not a program ' train.py
check "a command with letters changed over" refused 127 '^memrec: recrod: No such file or directory \(did you mean memrec record\?\)$' recrod -- true

# --- the word record
by_word() { LD_LIBRARY_PATH=$standin status 0 "$memrec" "$@" -- "$BUILD/samples/rl_step" --steps 1 --quiet && [ ! -s err ] && "$memana" verify "$trace"; }
trace=one.zst
check "memrec record" by_word record -q -o one.zst
trace=two.zst
check "options before the word" by_word -q record -o two.zst
trace=three.zst
check "options on both sides" by_word -q --steps 1 record -o three.zst
mkdir -p bin
printf '#!/bin/sh\necho "a program: $*"\n' >bin/record && cp bin/record bin/env && chmod +x bin/*
program() { PATH=$PWD/bin:$PATH status 0 "$memrec" "$@" && one_line out '^a program: 1$'; }
check "a program with the name of a word" program -q -- record 1
check "the program env, recorded by name" program -q record env 1

quiet() {
	LD_LIBRARY_PATH=$standin status 0 "$memrec" -q -o quiet.zst -- "$BUILD/samples/rl_step" --steps 1 --quiet && [ ! -s err ] && [ -s quiet.zst ]
}
check "-q: a recording without a word" quiet
check "-q: errors are said" refused 4 '^memrec: .*nosuch: No such file or directory \(' -q -o nosuch/trace.zst -- true
verbose() { LD_LIBRARY_PATH=$standin status 0 "$memrec" -v -o v.zst -- "$BUILD/samples/rl_step" --steps 1 --quiet && grep -q '^memrec: the agent is .*libmemrec.so; traces go to .*v.zst$' err; }
check "-v: the agent and the trace" verbose

manual() {
	local word
	for word in $("$memrec" --help | grep -o -- ' --[a-z][a-z-]*'); do
		grep -qE "^\.It Fl (. , )?-${word#--}( |\$)" "$SRC/docs/man/memrec.1" || { echo "not in the manual: $word"; return 1; }
	done
}
check "every option is in the manual" manual

# --- what keeps the command from starting
check "an output folder that is not there" refused 4 '^memrec: .*nosuch: No such file or directory \(' \
	-o nosuch/trace.zst -- touch started
check "a name that is too long for a file" refused 4 '^memrec: x+: File name too long \(choose a shorter name with -o\)$' -o "$(printf 'x%.0s' {1..256})" -- touch started
check "an output that is a folder" refused 4 '^memrec: .*is not a regular file' -o . -- touch started
check "a ring folder that is not there" refused 4 '^memrec: nosuch: No such file' --ring-dir nosuch -- touch started
check "the command was not started then" test ! -e started
check "no such command" refused 127 '^memrec: no-such-command: No such file or directory$' -- no-such-command
echo data >plain.txt
check "not a program" refused 126 '^memrec: ./plain.txt: Permission denied$' -- ./plain.txt

# --- a command that never touches a GPU
# unread COMMAND...: with a standard error that nobody reads.
unread() { python3 -c 'import os, subprocess, sys; end = os.pipe(); os.close(end[0]); sys.exit(subprocess.call(sys.argv[1:], stderr=end[1]))' "$@"; }
no_reader() {
	LD_LIBRARY_PATH=$standin status 5 unread "$memrec" --ring-dir rings -o unread.zst -- sh -c 'python3 "$0" --calls 20; exit 5' "$SRC/tests/cli/driver_calls.py" &&
		"$memana" verify unread.zst && nothing_left
}
mkdir -p rings
check "lines that nobody reads change neither status nor trace" no_reader
check "the command still ends by SIGPIPE" status 141 "$memrec" --ring-dir rings -- sh -c 'kill -PIPE $$'
check "memrec recover, too, outlives its reader" status 3 unread "$memrec" recover "$SRC/Makefile"

echo older >trace.zst
nothing() { status "$1" "$memrec" -- "${@:2}" && one_line err '^memrec: nothing was recorded: '; }
check "nothing recorded is said in one line" nothing 0 true
check "exit status" nothing 7 sh -c 'exit 7'
own_error() { status 1 "$memrec" -- python3 -c 'import no_such_module' && grep -q '^memrec: nothing was recorded: .*status 1' err && ! grep -q 'memrec env' err; }
check "a program that ends with an error of its own is not sent to memrec env" own_error
# A launcher that drops the environment. Its Python (`python PID`) ends when memrec, process PID, has looked through /proc.
cat >looked.py <<'END'
import sys, time
def waits():
    return int([line for line in open("/proc/%s/status" % sys.argv[1]) if line.startswith("voluntary")][0].split()[1])
begin = waits()
while waits() < begin + 3:
    time.sleep(0.01)
sys.exit(int(sys.argv[2]))
END
# dropped LINES STATUS COMMAND: COMMAND has $P, a Python without the environment, $R, which is a rank, and $Q, one with it.
dropped() {
	LD_LIBRARY_PATH=$standin P="env -i $(command -v python3) looked.py" R="env -i RANK=1 $(command -v python3) looked.py" \
		Q="python3 looked.py" status "$2" "$memrec" --ring-dir rings -o d.zst -- sh -c "echo \$\$ \$PPID >ids; $3" && [ "$(grep -c 'ran without memrec' err)" = "$1" ] || { cat err; return 1; }
}
names() { read -r shell _ <ids && one_line err "process [0-9]+ \\(python[^ ]*\\).* sh \\(process $shell\\).*memrec env"; }
names_command() { one_line err 'process [0-9]+ \(python[^ ]*\).* command itself .*memrec env'; }
below() { dropped 1 "$1" "$2" && names; }
check "a launcher that dropped the environment is named" below 0 '$P $PPID 0; true'
check "and where the program then fails" below 5 '$P $PPID 5; exit $?'
check "and the last one that had it" below 3 'env -i sh -c "$P $PPID 3; exit \$?"; exit $?'
replaced() { dropped 1 4 'exec $P $PPID 4' && names_command; }
check "a command that becomes such a Python" replaced
check "a Python with the agent is none" dropped 0 6 '$Q $PPID 6; exit $?'
drives="python3 $SRC/tests/cli/driver_calls.py --calls 20"
check "beside a recording, a helper is none" dropped 0 0 "\$P \$PPID 0; $drives"
check "but a rank is" dropped 1 0 "\$R \$PPID 0; $drives"
check "exit status of a killed command" nothing 137 sh -c 'kill -9 $$'
check "exit status of a terminated command" nothing 143 sh -c 'kill -TERM $$'
missing_script() {
	status 2 "$memrec" -- python3 nosuch.py && [ "$(wc -l <err)" = 2 ] && grep -q "nosuch.py" err &&
		grep -q '^memrec: nothing was recorded' err
}
check "a script that is not there: Python's message and status" missing_script
check "an older trace is left alone" grep -qx older trace.zst
check "and not renamed" test ! -e trace.zst.old

# --- a process that would have been recorded, and could not be
limited() {
	(ulimit -f 1000 && status 0 record -o l.zst -- --calls 20) && grep -qx '20 calls' out && [ ! -e l.zst ] && nothing_left &&
		one_line err '^memrec: process [0-9]+ was not recorded: the limit on the size of files .*ulimit -f unlimited'
}
check "a limit on files that leaves no room is said" limited
no_writes() {
	(ulimit -f 0 && record -o l.zst -- --calls 20) 2>&1 | cat >l.out
	grep -qx '20 calls' l.out && grep -q 'ulimit -f unlimited' l.out && nothing_left
}
check "one that forbids writing does not harm the command" no_writes
no_collector() {
	LD_LIBRARY_PATH=$standin status 0 "$memrec" -o l.zst --ring-dir rings -- bash -c "
		export MEMREC_OPTIONS=\"\$(printf %s \"\$MEMREC_OPTIONS\" | sed 's|collector=[^ ]*|collector=/nosuch/memrec|')\"
		python3 '$SRC/tests/cli/driver_calls.py' --calls 20" &&
		one_line err '^memrec: process [0-9]+ was not recorded: the collector did not start' && nothing_left
}
check "a collector that is not there is said" no_collector

# --- streams and environment
through() { [ "$(printf 'one\ntwo\n' | "$memrec" -- cat 2>/dev/null)" = "$(printf 'one\ntwo')" ]; }
check "standard input goes through" through
preload() {
	LD_PRELOAD=/nosuch/first.so:/nosuch/second.so "$memrec" -- env 2>/dev/null |
		grep -qxE "LD_PRELOAD=$BUILD/(each/\\\$LIB/)?libmemrec.so:/nosuch/first.so:/nosuch/second.so"
}
check "LD_PRELOAD is prepended" preload
taken() {
	CUDA_INJECTION64_PATH=/other/tool.so status 0 "$memrec" -- env &&
		grep -qx 'CUDA_INJECTION64_PATH=/other/tool.so' out && grep -q '^memrec: CUDA_INJECTION64_PATH: another tool' err
}
check "a door that another tool holds is left to it" taken
doors() {
	CUDA_INJECTION64_PATH=none "$memrec" -- env 2>/dev/null >out && grep -qx "CUDA_INJECTION64_PATH=$BUILD/libmemrec.so" out &&
		grep -qx "NVTX_INJECTION64_PATH=$BUILD/libmemrec.so" out
}
check "'none' is not a tool" doors
mkdir broken
: >broken/libunwind.so.8
no_unwind() {
	LD_LIBRARY_PATH=broken status 0 "$memrec" -- true &&
		grep -qx 'memrec: native stacks are off: libunwind.so.8 not found (install libunwind8)' err
}
check "a missing libunwind is said and lived with" no_unwind
unwind_unwanted() { LD_LIBRARY_PATH=broken status 0 "$memrec" --stacks python -- true && ! grep -q libunwind err; }
check "and not missed where nobody wants it" unwind_unwanted

# --- signals. The target says on a pipe that its handlers are there, so nobody has to guess when.
mkfifo ready never
signalled() {
	local got=0
	env --default-signal=INT "$memrec" -- bash -c "trap 'exit 5' $1; echo \$\$ >ready; while :; do read -t 1 <>never; done" 2>/dev/null &
	cat ready >pid
	kill "-$1" $!
	wait $! || got=$?
	[ "$got" = 5 ] || { echo "status $got"; return 1; }
}
for signal in TERM HUP USR1 USR2 INT; do check "SIG$signal is handed on" signalled $signal; done
# Ctrl-C goes to memrec and the command alike: the command must not get it twice.
terminal() {
	python3 - "$memrec" <<'END'
import os, pty, sys
target = """
import os, signal, time
got = 0
def say(text): # not print: a handler may come while it is at work
    os.write(1, text.encode() + b"\\n")
def end(*_):
    say("SIGINT came %d times" % got)
    os._exit(6)
def count(*_):
    global got
    got += 1
signal.signal(signal.SIGINT, count)
signal.signal(signal.SIGUSR1, end)
say("ready")
while not got:
    time.sleep(0.01)
say("interrupted")
while True:
    time.sleep(1)
"""
pid, terminal = pty.fork()
if not pid:
    os.execv(sys.argv[1], [sys.argv[1], "--", sys.executable, "-c", target])
text = b""
def until(word):
    global text
    while word not in text:
        text += os.read(terminal, 4096)
until(b"ready")
os.write(terminal, b"\x03")
until(b"interrupted")
os.kill(pid, 10)
until(b"nothing was recorded")
print(text.decode())
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 6 or b"SIGINT came 1 times" not in text)
END
}
check "Ctrl-C comes once, and ends memrec only through the command" terminal
survives() {
	local got=0
	"$memrec" -- bash -c "echo \$\$ >ready; while :; do read -t 1 <>never; done" 2>err &
	cat ready >pid
	kill -TERM $!
	wait $! || got=$?
	[ "$got" = 143 ] && grep -q '^memrec: nothing was recorded' err
}
check "memrec outlives the command and says so" survives
ignored() { (trap '' HUP && "$memrec" -- bash -c 'kill -HUP $$; exit 3' 2>/dev/null); [ $? = 3 ]; }
check "an ignored SIGHUP stays ignored (nohup)" ignored
no_child_signal() { (trap '' CHLD && "$memrec" -- sh -c 'exit 9' 2>/dev/null); [ $? = 9 ]; }
check "the exit status is right where SIGCHLD is ignored" no_child_signal

# --- a recorded command
calls --calls 300 >plain.out 2>plain.err || true
LD_LIBRARY_PATH=$standin calls --calls 300 >plain.out 2>plain.err
recorded() {
	status 0 record -o r.zst -- --calls 300 --account account && cmp out plain.out && cmp <(grep -v '^memrec: ' err) plain.err
}
check "its output is the same, byte for byte" recorded
summary() {
	[ "$(grep -c '^memrec: r.zst: ' err)" = 1 ] && [ "$(grep -A 1 '^memrec: r.zst: ' err | grep -c '^memrec: ')" = 2 ] && grep -q '^memrec: Peak ' err &&
		grep -Eq '^memrec: r.zst: peak [0-9.]+ MiB, no steps, no OOM, [0-9]+ events, nothing lost, [0-9.]+ KiB$' err &&
		grep -q "^memrec: next: $memana top r.zst\$" err
}
check "the peak, then one line of what was recorded, one of what to do next" summary
check "the trace says what the target counted" agrees r.zst account
check "no ring is left" nothing_left

# A stopped collector holds the ring, but nothing of the target: whoever reads its output sees the end.
holds_nothing() {
	mkdir -p rings
	LD_LIBRARY_PATH=$standin timeout 60 "$memrec" -o h.zst --ring-dir rings -- bash -c "
		seen=\$(python3 '$SRC/tests/cli/driver_calls.py' --after stop-collector)
		readlink /proc/\$(cat collector.pid)/fd/* >fds
		kill -CONT \$(cat collector.pid)
		echo \"seen: \$seen\"" 2>err | grep -qx 'seen: 100 calls'
}
check "the end of a pipe is seen although the collector is alive" holds_nothing
# A file that it reads for a moment (a build id of a program or library, /proc, the memory of a cgroup) may be open when it is stopped.
only_its_own() {
	[ "$(grep -c '^/dev/null$' fds)" = 3 ] &&
		! grep -vE '^/dev/null$|\.ring$|/h\.zst$|^anon_inode:|^/proc/|^/sys/fs/cgroup/|^/usr/|\.so(\.[0-9]+)*$' fds
}
check "the collector holds its ring and its trace, nothing else" only_its_own
check "no ring is left behind it" nothing_left

# ---- a clock that stands still, for the program, the collector and memrec ----
cat >frozen.c <<'END'
#include <sys/time.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec *now)
{
	*now = (struct timespec){ clock == CLOCK_REALTIME ? 1000000000 : 1000, 5 };
	return 0;
}
int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	*now = (struct timeval){ zone ? 1 : 1000000000, 0 };
	return 0;
}
END
${CC:-cc} -shared -fPIC -o frozen.so frozen.c || exit 1
frozen() { # [MEMREC_OPTIONS] COMMAND...
	ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD=$PWD/frozen.so LD_LIBRARY_PATH=$standin MEMREC_OPTIONS=$1 timeout -k 5 60 "$memrec" -o z.zst --ring-dir rings -- "${@:2}" >out 2>err
}
frozen_calls() { # ACT
	rm -f z.zst*
	frozen slot-bytes=65536 bash -c 'python3 "$0" --calls 3000 "${@}"; status=$?; kill -CONT "$(cat collector.pid)"; exit $status' \
		"$SRC/tests/cli/driver_calls.py" "$@" && grep -qx '3000 calls' out && "$memana" verify z.zst && nothing_left || { cat out err; return 1; }
}
check "a clock that stands still, and a stopped collector" frozen_calls --before stop-collector
check "a clock that stands still, and collectors that are killed" frozen_calls --before say-collector --kills 9
mkfifo over
outlived() {
	local status=0
	rm -f z.zst*
	# shellcheck disable=SC2016
	frozen "" bash -c ': >begun; python3 -c "$1" "$0" >begun 2>&1 & while ! grep -q calls begun; do read -rt 0.05 <> <(:); done; exit 0' \
		"$SRC/tests/cli/driver_calls.py" 'import runpy, sys
sys.argv[1:], path = ["--calls", "10"], sys.argv[1]
runpy.run_path(path, run_name="__main__")
sys.stdout.flush()
open("over").read()' || status=$?
	timeout 20 bash -c 'echo >over' # the program may end
	[ $status = 0 ] && grep -q 'z.zst' err || { echo "exit status $status"; cat out err begun; return 1; }
}
check "a clock that stands still, and a process that outlives the command" outlived

# ---- 32-bit programs ----

# One that needs no C library, only the loader: it ends with status 7.
thirty_two() {
	printf '.globl _start\n_start: movl $1, %%eax\nmovl $7, %%ebx\nint $0x80\n' >program.s
	${CC:-cc} -m32 -nostdlib -pie -Wl,-dynamic-linker,/lib/ld-linux.so.2 -o program32 program.s 2>/dev/null && { ./program32; [ $? = 7 ]; }
}
if thirty_two; then
	silent_32() { # nothing of the loader's on its standard error, in front of a 64-bit program that is recorded
		LD_LIBRARY_PATH=$standin status 0 "$memrec" -o mixed.zst -- sh -c './program32 2>said32; echo $?; exec python3 "$0" --calls 20' \
			"$SRC/tests/cli/driver_calls.py" && [ ! -s said32 ] && [ "$(head -n 1 out)" = 7 ] && grep -q '^memrec: mixed.zst: .* [0-9]* events' err || { cat said32 out err; return 1; }
	}
	check "a 32-bit program says what it says without memrec" silent_32
else
	echo "skip a 32-bit program: none can be made or run here"
fi
