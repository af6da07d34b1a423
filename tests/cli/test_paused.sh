# memrec --paused, start, stop, mark and status: the trace has the events between start and stop, also after kills.
. "$SRC/tests/cli/lib.sh"

# paused CASE: in a folder of its own.
paused() { mkdir "$1" && cd "$1" && python3 "$SRC/tests/cli/paused.py" "$1"; }
check "never started: no trace, and the last line says what to do" paused never_started
check "a process that takes no memory gets nothing" paused takes_nothing
check "recorded is what lies between start and stop" paused start_and_stop
check "three recordings of one process are three traces" paused three_recordings
check "the program ends first" paused program_ends_first
check "a start before the process has taken memory" paused started_before_memory
check "a stop inside a step ends with that step" paused stop_waits_for_step
check "and so does one that finds events which wait to be read" paused stop_behind_a_backlog
check "--steps ends by itself, and may begin again" paused some_steps
check "marks of a user and of the program, phases" paused marks
check "--all: two processes, one without memory yet" paused two_processes
check "the child of a fork is not recorded" paused child_of_fork
check "a program that follows by exec goes on with the wish" paused next_program
check "threads that allocate all the time: 31 recordings" paused many_threads
check "two controllers at once" paused two_controllers
check "kill -9 of the controller" paused controller_is_killed
check "kill -9 of the collector, in a recording and between two" paused collector_is_killed
check "kill -9 of the program, in a recording and after one" paused program_is_killed
check "what cannot be controlled is refused" paused refusals
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	check "another user is refused, and so is another user's page" paused another_user
else
	echo "skip another user is refused: needs root and setpriv"
fi
check "without a launcher" paused without_launcher
if unshare --pid --mount --fork --mount-proc true 2>/dev/null; then
	check "a container: from inside and from outside" paused container
else
	echo "skip a container: needs unshare"
fi
if [ "$PYTHON" ]; then
	check "PyTorch on the CPU: losses and messages as without memrec" paused torch
else
	echo "skip PyTorch on the CPU: no torch"
fi
if [ "$PYTHON" ] && "$PYTHON" -c 'import sys, torch; sys.exit(torch.version.cuda is not None)'; then
	check "what PyTorch held before a start has rows" paused held_before
else
	echo "skip what PyTorch held before a start: no python3 with torch for the CPU"
fi
check "a process number that is used again" paused number_is_used_again
# Other tests can have such processes at the same time: then these are the rows.
listed() {
	"$memrec" status >out 2>err || return 1
	[ "$(wc -l <out)" -ge 2 ] || { [ ! -s out ] && grep -q '^memrec: no process of memrec --paused is there' err; }
}
check "a list without a row has no heading" listed
