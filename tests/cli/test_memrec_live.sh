# memrec --live: records and shows in one terminal. Output, status and signals of the program do not depend on the
# screen. No step waits for a fixed time (see test_tui.sh).
. "$SRC/tests/cli/lib.sh"

export STANDIN_MEM=80GiB STANDIN_STATE=$PWD/gpu STANDIN_SYNC_NS=60000000 ESCDELAY=500
mkdir gpu

# Its output is to come out byte for byte, and tells its environment and its descriptors. Options go to rl_step; then
# 7.
cat >program <<END
#!/bin/sh
printf 'one\r\ttwo\0\377 and no end'
echo to the other stream >&2
env | sed 's/memrec\.[A-Za-z0-9]*//; s/ launch=[0-9a-f]*//; /^SHLVL=/d; /^_=/d' | sort
ls /proc/self/fd
LD_LIBRARY_PATH=$standin "$BUILD/samples/rl_step" --quiet --scale 0.1 "\$@"
echo the last line
exit 7
END
chmod +x program

# ---- no screen ----
without() { status 7 "$@" && [ "$(grep -c '^memrec: --live: ' err)" = 1 ] && grep -q "^memrec: --live: .*$why.* without the screen" err && [ ! -e t.zst.log ]; }
why='standard output is not a terminal'
check "without a terminal: a line, and the recording" without "$memrec" --live --ring-dir . -o t.zst -- ./program --steps 3
check "the trace is whole, the output where it was" eval 'grep -q "to the other stream" err && "$memana" verify t.zst >out'

command -v tmux >/dev/null || skip "memrec --live: there is no tmux"
. "$SRC/tests/cli/tmux_kit.sh"
TRIES=800 # programs that record and the analyzer share the machine
start_terminal 120 40 || skip "memrec --live: tmux does not start"

# live NAME OPTIONS-AND-COMMAND: a script that runs it with the terminal for all three streams; start keeps one of them.
live() {
	local name=$1
	shift
	echo "exec ${program:-$memrec} --live --ring-dir . $* 2>/dev/tty" >"$name"
}
# one PATTERN: the process with this in its command, of ours
one() {
	local pid
	for pid in /proc/[0-9]*; do
		[ "$pid/cwd" -ef . ] && tr '\0' ' ' <"$pid/cmdline" 2>/dev/null | grep -q -- "$1" && basename "$pid" && return
	done
	return 1
}
screen_pid() { one "^$memana live -- $PWD/"; }
rl_step_pid() { one "^$BUILD/samples/rl_step "; }
# The step that the head says, and whether it becomes another one.
step() { pane | sed -n 's/^Recording: [^.]*\(\.[0-9]\)\?[^.]* in [a-z-]* of step \([0-9]*\).*/\2/p'; }
beyond() { [ "$(step || echo 0)" -gt "$1" ] 2>/dev/null; }
goes_on() { local now; until_true beyond 0; now=$(step); until_true beyond "$now" || { echo "still at step $now"; pane; return 1; }; }
nothing_left() { [ -z "$(ls -d memrec.* 2>/dev/null)" ] || { ls -aR memrec.*; return 1; }; }

# ---- to the end ----
echo "exec $memrec --ring-dir . -o t.zst -- ./program --steps 25 >plain 2>&1 </dev/null" >plainly
start sh ./plainly
check "as it is without --live" ended 7
sed -i '/^memrec: /d' plain
echo older >t.zst.log
live whole -o t.zst -- ./program --steps 25
start sh ./whole
check "the screen opens by itself" sees '^Recording: .* in [a-z-]+ of step'
check "memana has it" screen_pid
check "the end is said" sees 'the recording has ended'
check "with the verdict" sees '^Peak .* of 80.0 GiB'
check "it stays" screen_pid
check "and so does memrec" test ! -e status
keys q
check "q: the program's own status" ended 7
check "the last words are in the terminal" sees 'memrec: next: .*memana top t.zst'
check "and the line of the trace" sees 'memrec: t.zst: peak .* [0-9]* events, '
check "and where the output is" sees 'memrec: t.zst.log: what ./program printed, '
check "nothing of the program is" lacks 'the last line'
check "the terminal is as it was" restored
check "output, environment and descriptors are the same, byte for byte" cmp plain t.zst.log
check "an older file of that name is kept" grep -qx older t.zst.log.old
check "no folder is left" nothing_left

# ---- the standard error is the user's already ----
start "$memrec" --live --ring-dir . -o t.zst -- ./program --steps 100000
check "it opens" sees '^Recording: '
check "what was sent elsewhere goes there" grep -q 'to the other stream' err
check "and not into the log" eval '! grep -q "to the other stream" t.zst.log'

# ---- left early ----
keys C-c
check "Ctrl-C leaves the screen" until_true grep -q 'the screen was left; ./program goes on' err
check "the terminal is as before" until_true state_is "0 1 00 00"
check "the program goes on" rl_step_pid
check "and its recording" "$memana" wait t.zst --until step:5 --timeout 60
keys C-c
check "Ctrl-C without a screen is the program's" ended 130
check "the trace is whole" eval '"$memana" verify t.zst >out'
check "the terminal is as it was" restored

live long -o t.zst -- ./program --steps 100000
start sh ./long
check "the screen is there" sees '^Recording: '
keys q
check "q leaves it" sees 'the screen was left; ./program goes on, and prints to t.zst.log'
check "a program that is told to end" eval 'kill "$(rl_step_pid)"'
check "has its say and its status" eval 'ended 7 && tail -n 1 t.zst.log | grep -qx "the last line"'
check "the summary" sees 'memrec: next: .*memana'

# ---- the screen is killed ----
killed() {
	start sh ./long
	sees '^Recording: ' && taken && kill "-$1" "$(screen_pid)" && sees "the screen $2; ./program goes on" &&
		until_true state_is "0 1 00 00" && rl_step_pid
}
check "SIGKILL to the screen: terminal and program go on" killed KILL 'was killed \(signal 9\)'
kill "$(rl_step_pid)"
check "and the status" ended 7
check "the terminal is as it was" restored
check "SIGHUP to the screen" killed HUP 'ended with status 129'
check "a signal to memrec is the program's" eval 'kill -TERM "$(one "^$memrec --live")"; ended 143'
kill "$(rl_step_pid)"
check "the program that it started has no screen" until_true eval '! rl_step_pid'
start sh ./long
check "with the screen shown" sees '^Recording: '
kill -TERM "$(one "^$memrec --live")"
kill "$(rl_step_pid)"
check "a signal to memrec ends program and screen" ended 143
check "the terminal is as it was" restored
check "no folder is left" until_true nothing_left

# ---- memrec is killed ----
in_order() { until_true state_is "0 1 00 00" || { echo "the terminal: $(terminal_state)"; return 1; }; }
isig() { rm -f modes; keys C-u 'stty -a >modes.new; mv modes.new modes' Enter && until_true test -e modes && grep -qE '(^| )isig' modes && grep -qE '(^| )icanon' modes && grep -qE '(^| )echo ' modes; }
gone() { ! one "$1" >/dev/null; }
start sh ./long
check "a screen whose memrec will be killed" eval "sees '^Recording: ' && taken"
kill -9 "$(one "^$memrec --live")"
check "SIGKILL to memrec: its status" ended 137
check "the screen goes" until_true gone "^$memana live -- $PWD/"
check "the terminal is in order" in_order
check "and keys are signals" isig
check "the program goes on" rl_step_pid
kill "$(rl_step_pid)"
check "and ends" until_true gone "^$BUILD/samples/rl_step "
echo "$(sed 's/^exec //' long); exit \$?" >below
start sh ./below
check "below a shell that is no terminal's" eval "sees '^Recording: ' && taken"
kill -9 "$(one "^$memrec --live")"
check "SIGKILL: its status" ended 137
check "the screen goes, too" until_true gone "^$memana live -- $PWD/"
check "the terminal is in order then" in_order
keys 'stty sane; clear' Enter
kill "$(rl_step_pid)"
rm -rf memrec.*

# ---- stopped, and brought back ----
is_stopped() { [ "$(sed 's/.*) \(.\).*/\1/' "/proc/$1/stat")" = T ]; }
runs() { ! is_stopped "$1"; }
prompt() { keys C-l; sees '^ready> *$'; }
start sh ./long
check "a screen that will be stopped" eval "sees '^Recording: ' && taken"
keys C-z
check "Ctrl-Z: the shell has the terminal" eval 'in_order && prompt'
check "the program is stopped, as without a screen" until_true is_stopped "$(rl_step_pid)"
keys fg Enter
check "fg: the screen is back" eval "taken && sees '^Recording: ' && goes_on"
keys C-z
in_order && prompt
keys bg Enter
check "bg: the program goes on" until_true runs "$(rl_step_pid)"
check "the screen waits" until_true is_stopped "$(screen_pid)"
check "and the shell keeps the terminal" eval 'in_order && prompt'
keys fg Enter
check "fg: the screen is back again" eval "taken && sees '^Recording: ' && goes_on"
kill -TSTP "$(one "^$memrec --live")"
check "memrec alone is stopped: the shell has the terminal" eval 'in_order && prompt'
check "the screen is stopped with it" until_true is_stopped "$(screen_pid)"
check "the program is not" runs "$(rl_step_pid)"
keys fg Enter
check "fg once more" eval "taken && sees '^Recording: ' && goes_on"
keys C-z
in_order && prompt
keys bg Enter
until_true runs "$(rl_step_pid)"
kill "$(rl_step_pid)"
check "an end in the background: no screen waits" until_true gone "^$memrec --live"
check "the terminal is as it was left" in_order
keys 'stty sane; clear' Enter
check "no folder is left behind" until_true nothing_left

# ---- several processes, a program that is not there, one without memory ----
live ranks -o r.zst -- sh -c "'RANK=0 ./program --steps 30 & RANK=1 ./program --steps 30; wait; exit 5'"
start sh ./ranks
check "ranks as they come" sees '^Recording: .*\((rank 0\).*\(rank 1|rank 1\).*\(rank 0|2 processes)\)'
check "and all of them in the end" sees '^Peak .* of 80.0 GiB'
keys c c c
check "rank 1 is in the legend" sees 'rank 1 .*[GM]iB'
keys q
check "the status" ended 5
check "both traces" eval '"$memana" verify r.rank0.zst r.rank1.zst >out'
live two -o p.zst -- sh -c "'./program --steps 5 & ./program --steps 30; wait'"
start sh ./two
check "names that change at the end" sees '^Peak .* of 80.0 GiB'
keys q
check "are followed" eval 'ended 0 && [ "$(ls p.*.zst | wc -l)" = 2 ]'
live missing -o m.zst -- ./nosuch
start sh ./missing
check "a program that is not there" eval 'ended 127 && [ ! -e m.zst.log ]'
live quiet -o q.zst -- sh -c "'echo said; exit 3'"
start sh ./quiet
check "a program that takes no memory: no screen, its status" ended 3
check "said as ever" sees 'memrec: nothing was recorded'
check "its output is there" grep -qx said q.zst.log

# ---- no memana ----
mkdir alone && cp "$memrec" "$BUILD/libmemrec.so" alone
program=$PWD/alone/memrec live without_memana -o n.zst -- sh -c "'echo visible; exit 6'"
start sh ./without_memana
check "without memana: the program's status" ended 6
check "a line says so" sees 'memrec: --live: memana does not lie beside memrec \(recording goes on without the screen\)'
check "and its output is where it was" sees '^visible'
