# No files that need each other, by what their objects take from each other. Includes alone do not tell: tools/rooms.txt.
. "$SRC/tests/cli/lib.sh"

# Named here: those that there are. A ledger's events move memory and tensors, which move bytes in the ledger again, and undo
# is made of the same moves: one idea in files of readable size. A paused agent asks whether memrec start has come, and what it asks has
# to know whether a thread is inside of the agent. The start of a recording is a file of its own (agent_impl.h).
cat >expected <<'END'
formats: ledger ledger_memory ledger_tensor ledger_undo
agent: agent agent_start pause
END
same() { (cd "$SRC" && python3 tests/cli/circles.py "$BUILD") >circles && diff expected circles; }
check "no circles of files but those that are named" same

# Two that do: found, and one that only takes from them is not among them.
finds() {
	mkdir -p tree/formats tree/build/obj/formats && cd tree && local f
	echo 'int b(void); int a(void); int a(void) { return b(); }' >formats/a.c
	echo 'int a(void); int b(void); int b(void) { return a(); }' >formats/b.c
	echo 'int a(void); int c(void); int c(void) { return a(); }' >formats/c.c
	for f in a b c; do ${CC:-cc} -c -o build/obj/formats/$f.o formats/$f.c || return; done
	[ "$(python3 "$SRC/tests/cli/circles.py" build)" = "formats: a b" ]
}
check "two files that need each other are found" finds
