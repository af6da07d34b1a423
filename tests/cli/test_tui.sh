# The timeline in a real terminal: a test can type into tmux and read its screen. No step waits for a fixed time: the
# test presses a key when the screen shows the expected text.
. "$SRC/tests/cli/lib.sh"
command -v tmux >/dev/null || skip "the timeline in a terminal: there is no tmux"
"$BUILD/tests/unit/test_tui_screens" --write .

# With sanitizers: a crash is left to the system, so that its status is that of the signal.
export ASAN_OPTIONS=handle_segv=0:handle_sigbus=0:handle_abort=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}

# On a busy machine what one key or the mouse sends may come in pieces.
export ESCDELAY=500

. "$SRC/tests/cli/tmux_kit.sh"
start_terminal 80 24 || skip "the timeline in a terminal: tmux does not start"

# The memana that the shell of the pane has started.
program() { child_of_pane 'memana tui'; }

check "the shell is there" sees 'ready>'

# ---- five questions ----
# The table of docs/screen.md: question, keys, words. Lines of the screen are joined, as a sentence may go over several.
words() { pane | tr -s ' \n' '  '; }
says() { words | grep -qF -- "$1"; }
question() {
	local key word
	local -a pressed words
	mapfile -t pressed < <(grep -oE '`[^`]+`' <<<"$2" | tr -d '`')
	mapfile -t words < <(grep -oE '`[^`]+`' <<<"$3" | tr -d '`')
	[ ${#pressed[@]} -le 4 ] && [ ${#words[@]} -gt 0 ] || { echo "keys: ${#pressed[@]}, words: ${#words[@]}"; return 1; }
	start "$memana" tui rl.zst
	sees 'Peak 77.0 GiB' && sees_no 'loading|naming|reading' || return 1
	for key in "${pressed[@]}"; do keys -- "$key"; done
	for word in "${words[@]}"; do
		until_true says "$word" || { echo "not on the screen: $word"; pane; keys Q; return 1; }
	done
	keys Q
	ended 0
}
tm resize-window -x 120 -y 40
asked=0
while IFS='|' read -r _ what pressed then _; do
	[[ $what == *'?'* && $what != *'`'* ]] || continue # a question, not the key of the help
	what=${what# }
	check "${what% }" question "$what" "$pressed" "$then"
	asked=$((asked + 1))
done <"$SRC/docs/screen.md"
check "five questions were asked" test "$asked" = 5
tm resize-window -x 80 -y 24

# ---- a session ----
start "$memana" tui rl.zst
check "it opens with the verdict" sees '^Peak 77.0 GiB of 80.0 GiB .96%. at 7.2 s'
check "the terminal is taken" taken
check "the table is there" sees 'load_layer'
check "nothing is loading any more" sees_no 'loading|naming|reading'
keys o
check "to the error" sees 'out of memory: 30.0 GiB asked for in forward at 8.2 s'
keys p
check "to the peak" sees 'peak: 77.0 GiB at 7.2 s'
check "the largest place" sees '26.0 GiB .*allocate_kv_cache|26.0 GiB .*engine.py:88'
keys + + +
check "zoom: the beginning is off the screen" sees_no '^ *time .*1 s '
keys 0
check "the whole run again" sees '^ *time .*1 s '
keys Enter
check "into the place: its stack" sees 'generate +trainer.py:40'
check "into the place: its life" sees 'born at .*freed in'
keys q
check "back" sees '^Peak 77.0 GiB'
keys t
check "the flame view" sees '▏load_layer'
tm resize-window -x 120 -y 40
check "resized: what was cut has room" sees '▏keep_for_metrics|▏create_state'
keys q
check "resized: the first screen" sees 'metrics.py:17 keep_for_metrics'
tm resize-window -x 30 -y 8
check "a window that is too small" sees '40x10 at least'
tm resize-window -x 80 -y 24
check "and large again" sees '^Peak 77.0 GiB'
keys '?'
check "help" sees 'to the out-of-memory error, then to the next one'
keys G
check "the end of the help" sees 'a step begins, with its number'
keys Escape
check "Esc leads back" sees '^Peak 77.0 GiB'
keys :
check "a question to the database" sees '^SQL:'
keys -l 'SELECT count(*) AS spans FROM phase_span'
keys Enter
check "and its answer" sees 'spans'
keys q w
check "a file for the screen" sees 'write the screen to: memana-screen.txt'
keys Enter
check "it was written" sees 'wrote 24 lines to memana-screen.txt'
check "with what was on the screen" grep -q '^Peak 77.0 GiB' memana-screen.txt

# mouse CODE X Y [m]: what terminals send for the mouse: 0 a press, 32 a drag, m a release, 64 and 65 the wheel.
mouse() { printf '\033[<%d;%d;%d%s' "$1" $(($2 + 1)) $(($3 + 1)) "${4:-M}"; }
keys 0 p
check "before the mouse" sees 'peak: 77.0 GiB at 7.2 s'
keys -l "$(mouse 0 30 5)$(mouse 0 30 5 m)"
check "a click moves the cursor" sees 'Alive at 2\.[0-9]* s'
keys -l "$(mouse 0 20 5)$(mouse 32 25 5)$(mouse 32 40 5)$(mouse 0 40 5 m)"
check "a drag marks a span" sees 'marks A and B'
keys z
check "and z shows it" sees '1\.[0-9]+ s to 3\.[0-9]+ s of 8.2 s'
keys 0
check "all again" sees '^ *time .*7 s '
keys -l "$(mouse 64 40 5)$(mouse 64 40 5)$(mouse 64 40 5)"
check "the wheel zooms in" sees ' s to .* s of 8.2 s'
keys -l "$(mouse 65 40 5)$(mouse 65 40 5)$(mouse 65 40 5)"
check "and out" sees '^ *time .*7 s '
keys -l "$(printf '\033[M \x3f&\033[M#\x3f&')"
check "a click in bytes, as older terminals send it" sees 'Alive at 2\.[0-9]* s'
keys -l "$(mouse 0 20 20)$(mouse 0 20 20 m)$(mouse 0 20 20)$(mouse 0 20 20 m)"
check "a double click enters the row" sees 'Stack, innermost first'
keys q
check "and back" sees '^Peak 77.0 GiB'
keys 0 q
check "q: exit status 0" ended 0
check "q: the terminal is as it was" restored
check "q: nothing was said" test ! -s err

# ---- other ends ----
mkdir runs && cp rl.zst "$SRC/samples/trl_grpo.zst" runs
start "$memana" tui runs
check "a trace of another run is told of" sees 'left out: 1 trace of other runs .--all takes all'
keys t s
check "s: the table of another view is not sorted" sees 'only the table of the first screen is sorted'
keys Q
check "Q leaves" ended 0

start "$memana" rl.zst
check "a trace alone opens the timeline, too" sees '^Peak 77.0 GiB'
keys C-c
check "^C: exit status" ended 130
check "^C: the terminal is as it was" restored

start "$memana" tui rl.zst
sees '^Peak 77.0 GiB'
taken
keys C-z
check "^Z: the shell has the terminal" sees 'Stopped'
check "^Z: the terminal is as it was" until_true state_is "0 1 00 00"
keys "clear; fg" Enter
check "fg: the screen is back" sees '^Peak 77.0 GiB'
check "fg: the terminal is taken" taken
rm -f status
keys q
check "fg: the end" sees 'ready>$'

for signal in TERM:143 HUP:129 SEGV:139 ABRT:134 BUS:135; do
	start "$memana" tui rl.zst
	sees '^Peak 77.0 GiB'
	taken
	until_true program >pid
	kill "-${signal%:*}" "$(cat pid)"
	check "SIG${signal%:*}: exit status" ended "${signal#*:}"
	check "SIG${signal%:*}: the terminal is as it was" restored
done

# A lost connection: the terminal is gone, and so is the program.
tm new-window "echo \$\$ >pid; exec '$memana' tui rl.zst"
check "in a window of its own" sees '^Peak 77.0 GiB'
gone() { ! kill -0 "$(cat pid)" 2>/dev/null; }
tm kill-window
check "a lost terminal: the program ends" until_true gone

# nohup: no signal tells; reading from the terminal does.
tm new-window "echo \$\$ >pid; trap '' HUP; exec '$memana' tui rl.zst"
check "in another window" sees '^Peak 77.0 GiB'
tm kill-window
check "a lost terminal without SIGHUP: the program ends" until_true gone

# ---- terminals ----
refused() { ended "$1" && one_line err "^memana: tui: $2"; }
start TERM=dumb "$memana" tui rl.zst
check "TERM=dumb" refused 4 'TERM=dumb cannot show a screen .*memana top'
start TERM=nonsense "$memana" tui rl.zst
check "TERM=nonsense: drawn as for a common terminal" sees '^Peak 77.0 GiB'
keys q
check "TERM=nonsense: the end" ended 0
check "and a line says so" grep -q '^memana: TERM=nonsense: terminfo does not know it; the screen is drawn as for xterm-256color' err
cat >no_terminfo.sh <<'SCRIPT'
for folder in /lib/terminfo /usr/share/terminfo /etc/terminfo; do
	[ ! -d "$folder" ] || mount -t tmpfs none "$folder" || exit 99
done
exec env TERM=xterm-256color "$@"
SCRIPT
if unshare -m true 2>/dev/null; then
	start unshare -m bash no_terminfo.sh "$memana" tui rl.zst
	check "no terminfo" refused 4 'TERM=xterm-256color: terminfo does not know it .install ncurses-base'
else
	echo "skip no terminfo: folders cannot be hidden here"
fi
start env -u TERM "$memana" tui rl.zst
check "no TERM" refused 4 'TERM is not set'
start TERM=dumb "$memana" rl.zst
check "a trace alone on a dumb terminal: top" ended 0
check "and it answers" sees 'smaller places|Recorded|Incomplete|Next'
start "$memana" rl.zst -n 3
check "a trace with options: top" ended 0
check "no terminal" status 4 "$memana" tui rl.zst
check "no terminal: one line" one_line err '^memana: tui: std(in|out) is not a terminal \(memana top TRACE says the same in words\)'
check "no terminal: a trace alone is for top" status 0 "$memana" rl.zst

colours() { tm capture-pane -p -e | grep -q $'\033\\[[0-9;]*[34]8\\?[;0-9]*m'; }
plain() { ! tm capture-pane -p -e | grep -qE $'\033\\[([0-9;]*;)?(3[0-8]|4[0-8]|9[0-7]|10[0-7])(;[0-9;]*)?m'; }
start TERM=screen-256color "$memana" tui rl.zst
sees '^Peak 77.0 GiB'
check "256 colours" until_true colours
keys q
ended 0
# A number is red, green and blue on terminals of true colours: forward's orange is 214 of 256, and no dark blue.
orange() { tm capture-pane -p -e | grep -q $'\033\\[[0-9;]*48;2;255;175;0'; }
printf 'direct-test|true colours,\n\tcolors#0x1000000, pairs#0x10000, RGB, setaf=\\E[%%?%%p1%%{8}%%<%%t3%%p1%%d%%e38;2;%%p1%%{65536}%%/%%d;%%p1%%{256}%%/%%{255}%%&%%d;%%p1%%{255}%%&%%d%%;m, setab=\\E[%%?%%p1%%{8}%%<%%t4%%p1%%d%%e48;2;%%p1%%{65536}%%/%%d;%%p1%%{256}%%/%%{255}%%&%%d;%%p1%%{255}%%&%%d%%;m, use=screen-256color,\n' >direct.ti
if tic -x -o terminfo direct.ti 2>/dev/null; then
	start TERMINFO=$PWD/terminfo TERM=direct-test "$memana" tui rl.zst
	check "true colours: it is there" sees '^Peak 77.0 GiB'
	check "a phase has its own" until_true orange
	keys q
	ended 0
else
	echo "skip true colours: no tic"
fi
start NO_COLOR=1 TERM=screen-256color "$memana" tui rl.zst
sees '^Peak 77.0 GiB'
check "NO_COLOR: none" plain
check "NO_COLOR: layers are letters" sees 'rrrrrrr.*[fb]'
keys q
ended 0
ascii() { ! pane | LC_ALL=C grep -q '[^ -~]'; }
start LC_ALL=C "$memana" tui rl.zst
sees '^Peak 77.0 GiB'
check "LC_ALL=C: ASCII" until_true ascii
keys q
ended 0

# ---- input ----
printf 'no trace\n' >text
start "$memana" tui text
check "not a trace: exit status 3, before the screen is taken" ended 3
check "not a trace: one line" one_line err '^memana: text: not a memrec trace'
python3 - <<'PY'
data = bytearray(open("rl.zst", "rb").read())
data[len(data) // 2] ^= 0x55
open("damaged.zst", "wb").write(data)
PY
start "$memana" tui damaged.zst
check "damaged: what is good is shown" sees 'init'
check "damaged: it is said" sees 'damaged.zst: '
keys q
check "damaged: exit status 3" ended 3
check "damaged: one line" one_line err '^memana: damaged.zst: .* at byte [0-9]+ \(.*shown\)'
start "(ulimit -f 8; exec $memana tui rl.zst)"
check "a limit on the size of files: it is said" sees 'File too large'
keys q
check "a limit on the size of files: exit status 4" ended 4
check "a limit on the size of files: one line" one_line err '^memana: .*: File too large \(TMPDIR names another folder'
