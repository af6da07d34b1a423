# tmux_kit.sh - functions for tests in a real terminal, after lib.sh: a test can type into tmux and read its screen. No
# step waits for a fixed time: the test presses a key when the screen shows the expected text.

# A server of our own, whose socket lies here.
export TMUX_TMPDIR=$PWD TMUX=
tm() { tmux -L screens -f /dev/null "$@"; }

# start_terminal WIDTH HEIGHT: with a shell in it. Fails where tmux does not start.
start_terminal() {
	trap 'tm kill-server 2>/dev/null' EXIT
	tm new-session -d -x "$1" -y "$2" "exec env PS1='ready> ' bash --norc --noprofile" || return 1
	tm set-option -g remain-on-exit off
}

pane() { tm capture-pane -p; }
keys() { tm send-keys "$@"; }

# With sanitizers memana takes longer to read a recording.
patience=400
[[ ${BUILD:-} != *-san ]] || patience=2400

# until_true COMMAND...: tries again, for up to TRIES times 50 ms (20 seconds; with sanitizers two minutes).
until_true() {
	local tries
	for ((tries = 0; tries < ${TRIES:-$patience}; tries++)); do
		"$@" && return
		read -rt 0.05 <> <(:) || :
	done
	return 1
}

has() { pane | grep -qE -- "$1"; }
lacks() { ! has "$1"; }

# sees WORDS: they come onto the screen.
sees() {
	until_true has "$1" || { echo "not on the screen: $1"; pane; return 1; }
}

sees_no() {
	until_true lacks "$1" || { echo "still on the screen: $1"; pane; return 1; }
}

# start COMMAND...: types the command into the shell. Its exit status goes to ./status, its messages to ./err. The
# terminal's settings before and after the command are kept.
start() {
	rm -f status before after
	keys "clear; stty -g >before; $* 2>err; echo \$? >wanted; stty -g >after; mv wanted status" Enter
}

ended() {
	until_true test -e status && [ "$(cat status)" = "$1" ] || { echo "status $(cat status 2>&1), not $1"; pane; cat err; return 1; }
}

# As it was: settings, cursor, no alternate screen, no mouse, keys as usual.
terminal_state() { tm display-message -p '#{alternate_on} #{cursor_flag} #{mouse_any_flag}#{mouse_button_flag} #{keypad_cursor_flag}#{keypad_flag}'; }
state_is() { [ "$(terminal_state)" = "$1" ]; }
restored() {
	until_true state_is "0 1 00 00" || { echo "the terminal: $(terminal_state)"; return 1; }
	cmp before after
}
taken() { until_true state_is "1 0 11 11" || { echo "the terminal: $(terminal_state)"; return 1; }; }

# child_of_pane WORDS: what the shell of the pane has started with these words in its command; without pgrep, which is not
# everywhere.
child_of_pane() {
	local pid status=1
	for pid in $(cat "/proc/$(tm display-message -p '#{pane_pid}')/task"/*/children); do
		tr '\0' ' ' <"/proc/$pid/cmdline" | grep -q "$1" && echo "$pid" && status=0
	done
	return $status
}
