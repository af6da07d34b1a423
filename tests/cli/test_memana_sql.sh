# memana load and sql: the database has the facts of the trace, and sql cannot change it.
. "$SRC/tests/cli/lib.sh"
"$BUILD/tests/unit/test_query" --write .

check "load" status 0 "$memana" load small.zst -o run.db
check "load says what it did" one_line out '^run\.db: 24 events loaded'
ask() { "$memana" sql run.db "$@"; }
is() { local want=$1; shift; [ "$(ask "$@")" = "$want" ] || { ask "$@"; return 1; }; }
check "one row per allocation" is 6 "SELECT count(*) FROM allocation"
check "values are separated by tabs" is "$(printf 'init\t54525952\nforward\t50331648')" \
	"SELECT phase, sum(bytes) FROM peak_part GROUP BY phase ORDER BY 2 DESC"
check "--header" is "$(printf 'a\tb\n1\tx')" --header "SELECT 1 AS a, 'x' AS b"
check "--json" bash -c '"$0" sql --json run.db "SELECT 1 AS a, NULL AS b" | python3 -c "import json, sys; assert json.load(sys.stdin) == [dict(a=1, b=None)]"' "$memana"
streams() { # rows are out before the statement ends, and an error leaves an array without an end
	status 2 "$memana" sql --json run.db "SELECT 1 AS a UNION ALL SELECT abs(-9223372036854775807 - 1)" && one_line err 'integer overflow' &&
		[ "$(cat out)" = "$(printf '[\n {"a": 1}')" ]
}
check "--json: row by row" streams
check "--json: no rows" bash -c '[ "$("$0" sql --json run.db "SELECT 1 WHERE 0")" = "[]" ]' "$memana"
check "the schema explains itself" bash -c '"$0" sql run.db "SELECT sql FROM sqlite_schema" | grep -q -- "-- null: never freed"' "$memana"
check "foreign keys hold" is "" "SELECT * FROM pragma_foreign_key_check"
check "top of the database says the same" bash -c 'diff <("$0" top run.db | grep -v ^Next) <("$0" top small.zst | grep -v ^Next)' "$memana"
check "the same in JSON" bash -c 'cmp <("$0" top --json run.db) <("$0" top --json small.zst)' "$memana"
check "a trace can be asked at once" bash -c '[ "$("$0" sql small.zst "SELECT count(*) FROM allocation")" = 6 ]' "$memana"
check "two traces are one run" bash -c '[ "$("$0" sql rank0.zst rank1.zst "SELECT bytes >> 20 FROM peak")" = 60 ]' "$memana"

"$memana" load small.zst -o again.db >/dev/null
check "the same trace makes the same file" cmp run.db again.db

# The tables to ask, and the names that were meant.
check ".tables" bash -c '"$0" sql run.db .tables | cut -f1 | tr "\n" " " | grep -qx "allocation bytes_by_module bytes_by_place bytes_by_step live_at "' "$memana"
check ".tables says what each holds" bash -c '! "$0" sql run.db ".tables all" | grep -vP "^[a-z_]+\\t[A-Z].{15,}[.:]"' "$memana"
check ".tables NAME" bash -c '"$0" sql run.db ".tables peak%" | cut -f1 | grep -qx peak_part' "$memana"
check ".tables of a trace" bash -c 'cmp <("$0" sql small.zst .tables) <("$0" sql run.db .tables)' "$memana"
check ".schema has all of them" test "$(ask .schema | grep -c '^CREATE ')" = "$(ask ".tables all" | wc -l)"
check ".schema TABLE" is "$(ask "SELECT sql || ';' FROM sqlite_schema WHERE name = 'step'")" ".schema step"
check ".schema TABLE, as others write it" is "$(ask ".schema step")" ".schema STEP;"
check ".tables --json" bash -c '"$0" sql run.db --json .tables | python3 -c "import json, sys; assert \"live_at\" in [row[\"name\"] for row in json.load(sys.stdin)]"' "$memana"
meant() { status 2 "$memana" sql run.db "$1" && one_line err "$2" && [ ! -s out ]; }
check "a table with a letter wrong" meant "SELECT * FROM alocation" 'no such table: alocation \(did you mean allocation\?\); see .tables all; for people: allocation, .*, live_at$'
check "a column" meant "SELECT byts FROM segment" 'no such column: byts \(did you mean bytes\?\); there are: id, process, .*step$'
check "a column of another table" meant "SELECT place FROM allocation" 'no such column: place: place has it; there are: id, process, .*free_node, .*allocations$'
check "a column of a table with another name" meant "SELECT s.begintime FROM step s" 'did you mean begin_time\?\); there are: process, step, '
check "a column of no table" meant "SELECT foo" 'no such column: foo; see .schema'
check ".schema of a table that is not there" meant ".schema stpe" 'stpe: there is no such table \(did you mean step\?\); see .tables all; for people: '
check "another word with a dot" meant ".tabels" 'did you mean .tables\?'
check "names are cleaned" meant "$(printf 'SELECT * FROM \"a\033[31m\"')" 'no such table: a\?\[31m; see .tables all; for people: '

check "a moment that is not there" meant "SELECT sum(bytes) FROM live_at WHERE moment = 'step3'" 'no such moment: step3; there are: end, .*peak, .*start, oom:1 to oom:2, step:1 to step:2, step:1:end$'
check "a moment by its number" is 1 "SELECT count(DISTINCT moment) FROM step JOIN live_at ON moment = 'step:' || step.step || ':end'"

sha256sum run.db >before
refused() { status 2 "$memana" sql run.db "$1" && one_line err '^memana: sql: ' && [ ! -s out ]; }
for statement in "INSERT INTO process SELECT * FROM process" "UPDATE peak SET bytes = 0" "DELETE FROM peak" "DROP TABLE peak" \
	"CREATE TABLE t (x)" "ATTACH 'other.db' AS other" "VACUUM INTO 'copy.db'" "PRAGMA user_version = 7" "BEGIN" \
	"SELECT 1; DELETE FROM peak" "SELEC" "SELECT * FROM nowhere" ""; do
	check "refused: ${statement:-nothing}" refused "$statement"
done
check "nothing was changed" sha256sum --quiet -c before
check "no other file was made" bash -c '[ ! -e other.db ] && [ ! -e copy.db ]'

# A load that fails leaves the old database as it was, and nothing beside it.
check "not a trace" status 3 "$memana" load before -o run.db
check "the old database is still there" sha256sum --quiet -c before
mkfifo pipe
check "a pipe or a device keeps its name" bash -c '! "$0" load small.zst -o pipe 2>err && [ -p pipe ] && grep -q "not a file that could be replaced" err' "$memana"
cp small.zst same.zst
check "a trace is not written over" bash -c '! "$0" load small.zst same.zst -o same.zst 2>err && cmp small.zst same.zst && grep -q "would replace what is read" err' "$memana"
check "no folder" status 4 "$memana" load small.zst -o nowhere/run.db
ls >left
check "no left-overs" bash -c '! grep -q "\.new-" left'
check "an older database is replaced" bash -c '"$0" load cpu.zst -o run.db >/dev/null && [ "$("$0" sql run.db "SELECT count(*) FROM allocation")" = 1 ]' "$memana"


# Told to stop in the middle of it, and where there is no room: the same. COMMAND is one of memana's, with -o out.db.
stopped() {
	python3 - "$memana" "$@" <<-'END'
		import os, signal, subprocess, sys
		stopped = 0
		for turn in range(400): # on a busy machine it is often done before we are there
		    if turn >= 20 and stopped:
		        break
		    process = subprocess.Popen(sys.argv[1:] + ["-o", "out.db"], stdout=subprocess.DEVNULL)
		    while process.poll() is None and not os.path.exists(f"out.db.new-{process.pid}"):
		        pass
		    process.send_signal(signal.SIGINT)
		    stopped += process.wait() == -signal.SIGINT
		    if any(name.startswith("out.db.new") for name in os.listdir()):
		        sys.exit("left behind")
		sys.exit(not stopped)
	END
}
no_room() {
	local got
	(ulimit -f 0; exec "$memana" "$@" -o out.db 2>&1 >/dev/null) | cat >err
	got=${PIPESTATUS[0]}
	[ $got = 4 ] && one_line err "^memana: $1: .*(File too large|no space left)" && ! ls out.db* 2>/dev/null || { echo "exit status $got"; cat err; return 1; }
}
python3 "$SRC/tests/cli/import_make.py" history.pickle history 5
for command in "load small.zst" "import history.pickle"; do
	check "stopped by Ctrl-C: ${command% *}" stopped $command
	rm -f out.db
	check "no room: ${command% *}" no_room $command
done

# A killed load leaves a file. The next load of the same name removes this file. It keeps the file of a running load, a
# file that another host has locked, and files of other names.
left_by_the_dead() {
	python3 - "$memana" "$@" <<-'END'
		import fcntl, os, subprocess, sys
		command = sys.argv[1:] + ["-o", "out.db"]
		def killed():
		    for turn in range(400):
		        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
		        name = f"out.db.new-{process.pid}"
		        while process.poll() is None and not os.path.exists(name):
		            pass
		        process.kill()
		        process.wait()
		        if os.path.exists(name):
		            return name
		    sys.exit("never killed in time")
		first, second = killed(), killed()
		if os.path.exists(first):
		    sys.exit("the next one that was killed had not cleaned up")
		child = subprocess.Popen(["sleep", "0"])
		child.wait()
		dead = child.pid
		stays = [f"out.db.new-{os.getpid()}", f"out.db.new-{dead}x", "out.db.new-", f"other.db.new-{dead}", f"xout.db.new-{dead}",
		         f"out.db.new-{dead}0000000000"]
		locked, link = f"out.db.new-{dead}", f"out.db.new-0{dead}"
		for name in stays + [locked]:
		    open(name, "w").close()
		os.symlink("small.zst", link)
		with open(locked, "r+") as file:
		    fcntl.lockf(file, fcntl.LOCK_EX, 1, 1 << 30)
		    status = subprocess.run(command, stdout=subprocess.DEVNULL).returncode
		    there = [name for name in stays + [locked, link] if os.path.lexists(name)]
		    if status or os.path.exists(second) or there != stays + [locked, link]:
		        sys.exit(f"status {status}: {sorted(os.listdir())}")
		status = subprocess.run(command, stdout=subprocess.DEVNULL).returncode
		if status or os.path.exists(locked) or not os.path.exists("small.zst"):
		    sys.exit(f"status {status}: {sorted(os.listdir())}")
		for name in stays + [link]:
		    os.unlink(name)
	END
}
# A writer has its file locked from the beginning, whichever format it is.
is_locked() {
	python3 - "$memana" "$@" <<-'END'
		import fcntl, os, signal, subprocess, sys
		def locked(name):
		    try:
		        with open(name, "r+") as file:
		            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
		    except BlockingIOError:
		        return True
		    except FileNotFoundError:
		        pass
		    return False
		for turn in range(400): # it may be seen just before it is locked, or when it is whole
		    process = subprocess.Popen(sys.argv[1:] + ["-o", "out.db"], stdout=subprocess.DEVNULL)
		    name = f"out.db.new-{process.pid}"
		    while process.poll() is None and not os.path.exists(name):
		        pass
		    process.send_signal(signal.SIGSTOP)
		    found = locked(name)
		    process.kill()
		    process.wait()
		    if found:
		        sys.exit()
		sys.exit("nobody had it locked")
	END
}
for command in "load small.zst" "import history.pickle"; do
	check "killed: ${command% *}: the next one cleans up" left_by_the_dead $command
	rm -f out.db*
	check "${command% *}: what is being written is locked" is_locked $command
	rm -f out.db*
done

# held DATABASE COMMAND...: runs the command while another process holds the database.
held() {
	python3 - "$@" <<'PYTHON'
import sqlite3, subprocess, sys
holder = sqlite3.connect(sys.argv[1], isolation_level=None)
holder.execute("BEGIN EXCLUSIVE")
sys.exit(subprocess.run(sys.argv[2:]).returncode)
PYTHON
}
cp run.db held.db
is_held() { status 4 held held.db "$memana" top held.db && one_line err 'held.db: another process holds it'; }
check "a database that somebody else holds" is_held

if command -v sqlite3 >/dev/null; then
	sqlite3 foreign.db "CREATE TABLE t (x)"
	check "somebody else's database" status 3 "$memana" sql foreign.db "SELECT 1"
fi

# Numbers that JSON does not have; statistics of a stranger, by which SQLite would plan; sizes that no tensor has.
check "infinity in JSON" status 0 "$memana" sql --json run.db "SELECT 9e999 AS a, -9e999 AS b, 1.5 AS c"
check "infinity is null" json out 'd == [{"a": None, "b": None, "c": 1.5}]'
cp run.db statistics.db
cp run.db sizes.db
python3 - <<'PYTHON'
import sqlite3
with sqlite3.connect("statistics.db") as db:
    db.execute("ANALYZE")
    db.execute("UPDATE sqlite_stat1 SET stat = iif(tbl IN ('site', 'node'), '1', '100000000') WHERE idx IS NULL")
with sqlite3.connect("sizes.db") as db:
    db.execute("UPDATE site SET category = 'logits', words = 1 << 62, element = 1 << 62")
    db.execute("INSERT INTO parameter (process, census, newest, time, seq, name, pattern, what, dtype, shape, address, bytes, "
               "tied) VALUES (1, 1, 1, 0, 1, 'w', 'w', 'weights', 'float32', '4611686018427387904x4', 0, 64, 0)")
PYTHON
check "statistics of the owner or of a stranger" status 0 "$memana" frag statistics.db
plan() { "$memana" sql "$1" "EXPLAIN QUERY PLAN SELECT count(*) FROM site JOIN allocation_raw ON allocation_raw.site = site.id JOIN phase_peak ON phase_peak.phase = site.phase"; }
no_effect() { plan run.db >plan && plan statistics.db | cmp - plan; }
check "SQLite does not plan by them" no_effect
check "sizes of a stranger" status 0 "$memana" advise --json sizes.db
