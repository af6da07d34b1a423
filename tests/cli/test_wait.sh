# memana wait during real recordings: waits until a condition holds in a running recording, with its three ends.
. "$SRC/tests/cli/lib.sh"
unset SLURM_JOB_ID SLURM_PROCID
export STANDIN_MEM=80GiB STANDIN_STATE=$PWD/gpu
mkdir gpu

# begin STEPS TRACE [OPTION...]: a run of some tenths of a second a step, in the background; the pid of memrec is in ./pid.
begin() {
	local steps=$1 trace=$2
	shift 2
	LD_LIBRARY_PATH=$standin STANDIN_SYNC_NS=20000000 "$memrec" -o "$trace" -- "$BUILD/samples/rl_step" --quiet --steps "$steps" "$@" >log 2>&1 &
	echo $! >pid
}

# The program that memrec runs.
program() { tr -d ' ' <"/proc/$(cat pid)/task/$(cat pid)/children"; }

# Until memrec is gone, which is no child of who asks.
gone() {
	local tries
	for ((tries = 0; tries < 400; tries++)); do
		kill -0 "$(cat pid)" 2>/dev/null || return 0
		read -rt 0.05 <> <(:) || :
	done
	return 1
}

# waits WANT ARGUMENT...: memana wait ends with the status. A test that hangs is one that fails.
waits() { status "$1" timeout 100 "$memana" wait "${@:2}"; }

# ---- it comes ----
came() { waits 0 late.zst --until step:2 & local waiter=$!; begin 200 late.zst; wait $waiter; }
check "a trace that is not there yet: step 2 comes" came
running() { kill -0 "$(cat pid)"; }
check "while the recording goes on" running
json_came() { waits 0 late.zst --until step:3 --json && cp out wait.came.json && json out 'd["end"] == "came" and d["step"] == 3 and d["time_ns"] > 0 and d["until"] == "step:3"'; }
check "--json says which step, and when" json_came
check "several traces: one that comes is enough" waits 0 nothing.zst late.zst --until step:1
check "--timeout: the time is over" waits 1 late.zst --until step:100000 --timeout 1
over() { waits 1 nothing.zst --until oom --timeout 1 --json; cp out wait.timeout.json; json out 'd["end"] == "timeout" and d["trace"] == "nothing.zst"'; }
check "--timeout: also of a trace that never comes" over

# ---- it does not ----
# The program is killed: its recorder says so, and the wait is over.
killed() {
	local waiter status=0
	(exec timeout 100 "$memana" wait late.zst --until step:100000 --json >ended 2>err) &
	waiter=$!
	kill "$(program)"
	gone
	wait "$waiter" || status=$?
	cp ended wait.ended.json
	[ "$status" = 1 ] && json ended 'd["end"] == "ended"'
}
check "the program is killed: exit status 1" killed
check "a trace that is whole: at once" waits 1 late.zst --until oom
check "and what is in it has come" waits 0 late.zst --until step:1

# ---- out of memory ----
oom() {
	local waiter
	waits 0 oom.zst --until oom --timeout 90 &
	waiter=$!
	STANDIN_MEM=40GiB begin 50 oom.zst --scale 0.5 --engine 3
	wait "$waiter" && one_line out 'out of memory at .* were asked for'
}
check "out of memory comes" oom
kill "$(program)" 2>/dev/null
gone

# ---- the collector dies ----
# Its place is taken by another one, which goes on with the file: so does who waits.
collector_dies() {
	local waiter
	begin 400 again.zst
	waits 0 again.zst --until step:2 || return 1
	(exec timeout 100 "$memana" wait again.zst --until step:6 >out2 2>err2) &
	waiter=$!
	kill -9 "$(collector_of)"
	wait "$waiter"
	local status=$?
	kill "$(program)"
	gone
	return $status
}
# The process that drains the ring of the program: its command line names that ring.
collector_of() {
	grep -sla -- "--collect.*/$(program)\.ring" /proc/[0-9]*/cmdline | head -n 1 | cut -d/ -f3 | grep .
}
check "the collector dies, and the next one goes on" collector_dies

# ---- folders and snapshots ----
# A folder has the traces that come into it, here after the wait has begun; other files are left out.
into_folder() {
	local waiter status=0
	mkdir runs && echo "no trace" >runs/notes.txt
	waits 0 runs --until step:2 --timeout 90 --json &
	waiter=$!
	begin 200 runs/later.zst
	wait "$waiter" || status=$?
	kill "$(program)"
	gone
	[ "$status" = 0 ] && json out 'd["trace"] == "runs/later.zst" and d["step"] == 2'
}
check "a folder: a trace that comes into it" into_folder
in_folder() {
	waits 1 runs --until step:100000 --json && json out 'd["end"] == "ended" and d["trace"] == "runs/later.zst"' &&
		cp oom.zst runs/ && waits 0 runs --until oom --json && json out 'd["trace"] == "runs/oom.zst"'
}
check "a folder of traces that ended" in_folder
folder_comes() {
	local waiter
	waits 0 new_folder --until step:1 --timeout 90 &
	waiter=$!
	mkdir new.tmp && cp late.zst new.tmp/ && mv new.tmp new_folder && wait "$waiter"
}
check "a folder that is not there yet" folder_comes
check "a folder without a trace: the time is over" eval 'mkdir none && waits 1 none --until oom --timeout 1'
python3 "$SRC/tests/cli/import_make.py" oom.pickle history 4
check "a snapshot without an out-of-memory error has ended" eval 'waits 1 oom.pickle --until oom && one_line out "oom.pickle: the recording ended without oom"'
check "a snapshot in a folder" eval 'cp oom.pickle none/ && waits 1 none --until oom --json && json out "d[\"trace\"] == \"none/oom.pickle\""'

# ---- usage ----
check "no --until" eval 'waits 2 late.zst && one_line err "--until is missing"'
check "--until of something else" eval 'waits 2 late.zst --until tomorrow && one_line err "neither oom nor step:N"'
check "--until step:0" waits 2 late.zst --until step:0
check "no trace" waits 2 --until oom
echo "this is no trace, but a text" >text.zst
check "a file that is no trace" eval 'waits 3 text.zst --until oom && one_line err "text.zst: "'
. "$SRC/tests/cli/schema_kit.sh"
all_valid wait
