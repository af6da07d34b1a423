# No two source files need each other, by the symbols that their objects use. tools/rooms.txt checks only the includes.
. "$SRC/tests/cli/lib.sh"

# The circles that the tree has. The ledger is one idea in files of readable size: its events move memory and tensors,
# these move bytes in the ledger, and undo uses the same moves. A paused agent asks pause.c whether memrec start has come;
# pause.c asks whether a thread is inside of the agent. The start of a recording is in its own file (agent_impl.h).
cat >expected <<'END'
formats: ledger ledger_memory ledger_tensor ledger_undo
agent: agent agent_start pause
END
same() { (cd "$SRC" && python3 tests/cli/circles.py "$BUILD") >circles && diff expected circles; }
check "no circles of files but those that are named" same

# Finds two files that need each other, and not a third file that only needs them.
finds() {
	mkdir -p tree/formats tree/build/obj/formats && cd tree && local f
	echo 'int b(void); int a(void); int a(void) { return b(); }' >formats/a.c
	echo 'int a(void); int b(void); int b(void) { return a(); }' >formats/b.c
	echo 'int a(void); int c(void); int c(void) { return a(); }' >formats/c.c
	for f in a b c; do ${CC:-cc} -c -o build/obj/formats/$f.o formats/$f.c || return; done
	[ "$(python3 "$SRC/tests/cli/circles.py" build)" = "formats: a b" ]
}
check "two files that need each other are found" finds
