# The bytes that memana and memrec send to a terminal: no escapes, no C1 characters, and no change of the text's
# direction, for any name in a trace, a database or a command line. A file or a pipe gets the values unchanged.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/memrec.sh"
export TERM=xterm LC_ALL=C.UTF-8 # as on a terminal that shows all

on_terminal() { python3 "$SRC/tests/cli/terminal.py" "$@"; }

# Names from a snapshot, in file names, and from SQL.
evil=$(printf 'x\033[31m\302\233m\342\200\256y\342\201\246\177\377z')
python3 "$SRC/tests/cli/import_make.py" evil.pickle terminal
check "the trace" "$memana" import evil.pickle -o t.zst
cp t.zst "$evil.zst"
cp evil.pickle "$evil.pickle"
check "import" on_terminal "$memana" import "$evil.pickle" -o "$evil.2.zst"
check "load" on_terminal "$memana" load t.zst -o "$evil.db"
for command in top info verify phases steps growth oom advise retained frag "check --max-peak 1" "diff t.zst"; do
	check "${command%% *}" on_terminal "$memana" $command "$evil.zst"
done
for command in top info verify phases steps growth oom advise retained frag; do
	check "$command --json" on_terminal "$memana" $command --json "$evil.zst"
done
named() { "$memana" $1 --json "$evil.zst" >j.json && json j.json "$2"; }
check "top --json: the names are as they are" named top '"\x9bm\u202eg\u2066\x7f\u2028" in d["devices"][0]["sites"][0]["stack"][0]["function"]'
check "info --json: and so is the file's, but for what is no UTF-8" named info '"\x1b[31m\x9bm\u202ey\u2066\x7f?z.zst" in d["traces"][0]["file"]'
check "a file that is not there" on_terminal "$memana" top "$evil"
check "an option that is not there" on_terminal "$memana" top "--$evil"
select="SELECT 'a' || char(27, 155, 8238, 127) || 'b' AS \"$(printf 'n\302\233')\", 2"
check "sql" on_terminal "$memana" sql t.zst "$select"
check "sql of one column" on_terminal "$memana" sql t.zst "SELECT function FROM frame"
check "sql --json" on_terminal "$memana" sql --json t.zst "$select"
check "sql: an error" on_terminal "$memana" sql t.zst "SELECT \"$evil\""
piped() { "$memana" sql t.zst "$select" >out && printf 'a\033\302\233\342\200\256\177b\t2\n' | cmp - out; }
check "sql to a pipe: the bytes" piped
check "sql to a pipe: columns stay columns" eval '[ "$("$memana" sql t.zst "SELECT char(9, 97, 10), 2")" = "$(printf "?a?\t2")" ]'
"$memana" sql --json t.zst "$select" >j.json
check "sql --json to a file: the same names" json j.json '[list(r.values())[0] for r in d] == ["a\x1b\x9b\u202e\x7fb"]'

# memrec prints the name of the trace that it writes.
recorded() {
	mkdir -p gpu rings
	STANDIN_STATE=$PWD/gpu LD_LIBRARY_PATH=$standin on_terminal "$memrec" --ring-dir rings -o "r$evil.zst" -- \
		python3 "$SRC/tests/cli/driver_calls.py" --calls 20
}
check "memrec" recorded
check "memrec: the file has the name that was asked for" test -e "r$evil.zst"
check "memrec: a command that is not there" on_terminal "$memrec" -- "./$evil"
check "memrec: an option that is not there" on_terminal "$memrec" "--$evil"
check "memrec recover" on_terminal "$memrec" recover "$evil"
check "memrec env" on_terminal "$memrec" env -o "$evil.zst" slurm
