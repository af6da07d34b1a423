# Traces that end early or are damaged: memana shows the good part, and the exit code tells the two apart.
. "$SRC/tests/cli/lib.sh"
"$BUILD/tests/unit/test_query" --write .

# A killed program leaves no end: that is no error, but it is said. The last frame is the index.
size=$(stat -c %s small.zst)
cut=$(python3 - <<'PY'
data = open("small.zst", "rb").read()
print(data.rfind(b"\x5e\x2a\x4d\x18") if data.rfind(b"\x5e\x2a\x4d\x18") > 0 else max(data.rfind(bytes([0x50 + i, 0x2a, 0x4d, 0x18])) for i in range(16)))
PY
)
head -c "$cut" small.zst >noindex.zst
check "the index was found" test "$cut" -gt 0
check "without index: top" status 0 "$memana" top noindex.zst
check "without index: it is said" grep -q '^Incomplete: ' out
check "without index: the same peak" grep -q 'the peak is at least 100.0 MiB' out
check "without index: verify" status 0 "$memana" verify noindex.zst
check "without index: load" status 0 "$memana" load noindex.zst -o noindex.db

# The chunk of summaries stands behind the last events.
events_end=$(python3 -c 'import sys; print(open("small.zst", "rb").read()[:int(sys.argv[1])].rfind(bytes.fromhex("28b52ffd")))' "$cut")
head -c "$((events_end - 20))" small.zst >torn.zst
for command in top info; do
	check "torn chunk: $command" status 0 "$memana" "$command" torn.zst
done
torn() { status 3 "$memana" verify "$@" && one_line err '^memana: torn.zst: readable up to byte [0-9]+: the data ends too early$'; }
check "torn chunk: verify" torn torn.zst
check "torn chunk: verify --json" torn --json torn.zst
check "torn chunk: the document is whole" json out 'd["traces"][0]["torn"]'
check "torn chunk: verify of several" torn cpu.zst torn.zst

# A flipped byte: the good part, one line on stderr, exit 3.
python3 - "$events_end" "$cut" <<'PY'
import sys
for name, end in zip(("flipped.zst", "summary.zst"), sys.argv[1:]):
    data = bytearray(open("small.zst", "rb").read())
    data[int(end) - 30] ^= 0x55
    open(name, "wb").write(data)
PY
check "damaged summaries take no event" status 3 "$memana" top summary.zst
check "damaged summaries: one line" one_line err '^memana: summary.zst: .* at byte [0-9]+ \(no event is missing\)$'
damaged() { status 3 "$memana" "$@" && one_line err '^memana: flipped.zst: .* at byte [0-9]+ \(24 events missing'; }
check "flipped byte: top" damaged top flipped.zst
check "flipped byte: top --json still is a document" bash -c '"$0" top --json flipped.zst 2>/dev/null >f.json; python3 -c "import json; json.load(open(\"f.json\"))"' "$memana"
check "flipped byte: info" damaged info flipped.zst
check "flipped byte: info has no bytes of an event" bash -c '! grep -q "bytes per event" out'
check "flipped byte: verify" damaged verify flipped.zst
check "flipped byte: load" damaged load flipped.zst -o flipped.db
absent() { status 3 "$memana" "$@" flipped.zst && one_line err '^memana: (top|frag|oom): .* \(but flipped.zst: .* at byte [0-9]+\)$'; }
check "flipped byte: a step that may lie behind it" absent top --at step:99
check "flipped byte: frag" absent frag --at step:99
check "flipped byte: a failure that may lie behind it" absent oom --number 99
homeless() { TMPDIR=$PWD/nowhere status 4 "$memana" phases small.zst && one_line err 'phases: no temporary database could be made: No such file .*TMPDIR'; }
unwritable() { status 4 "$memana" load small.zst -o /sys/small.db && one_line err 'load: /sys/small.db: (Permission denied|Read-only file system|Operation not permitted)$'; }
check "load: a folder that takes no files" unwritable
nothing_else() {
	python3 - <<'PY'
data = bytearray(open("small.zst", "rb").read())
for i in range(7, 20):
    data[len(data) * i // 20] ^= 0x41
open("all.zst", "wb").write(data)
PY
	status 3 "$memana" top all.zst && grep -q '^No memory of a device is in the part that can be read\.$' out
}
check "all of it is damaged: top does not say that nothing was recorded" nothing_else
check "no folder for temporary files" homeless

# A limit on the size of files is no signal that ends it. The text is shorter than the limit.
limited() {
	(ulimit -f 8; status 4 "$memana" "$@") && one_line err "^memana: $1: .*(File too large|no space left).*TMPDIR"
}
for command in phases steps growth oom advise retained frag "check --growth 1%" "diff small.zst"; do
	check "a limit on the size of files: ${command%% *}" limited $command small.zst
done
check "what was good is in the database" bash -c '"$0" sql flipped.db "SELECT count(*) FROM process" | grep -qx 1' "$memana"

# Any prefix and any single flip: never a crash, never an endless loop.
survives() {
	python3 - "$memana" <<'PY'
import random, subprocess, sys
random.seed(1)
data = open("small.zst", "rb").read()
for i in range(60):
    broken = bytearray(data[:random.randrange(len(data) + 1)] if i % 2 else data)
    for _ in range(i % 3 if broken else 0):
        broken[random.randrange(len(broken))] = random.randrange(256)
    open("broken.zst", "wb").write(broken)
    for command in (["top", "--json"], ["verify"]):
        run = subprocess.run([sys.argv[1], *command, "broken.zst"], capture_output=True, timeout=20)
        assert run.returncode in (0, 1, 3), (i, run.returncode, run.stderr)
        assert run.returncode != 3 or len(run.stderr.splitlines()) == 1, (i, run.stderr)
PY
}
check "random damage" survives

# A database whose list of tables cannot be read any more: its format number (byte 47), the words of a table.
"$memana" load small.zst -o whole.db >out
python3 - <<'PY'
data = open("whole.db", "rb").read()
open("format.db", "wb").write(data[:47] + bytes([90]) + data[48:])
at = data.index(b"CREATE TABLE peak (")
open("words.db", "wb").write(data[:at] + b"CREATE UABLE" + data[at + 12:])
PY
for file in format.db words.db; do
	check "$file" status 3 "$memana" phases $file
	check "$file: one line" one_line err "^memana: $file: a damaged database .run memana load again.$"
done

# Damages each chunk in turn: all reports have the same number of lost events.
check "a chunk that is cut out, changed, or the last: all reports say the same" \
	python3 "$SRC/tests/cli/damaged_chunks.py" "$memana" "$SRC/tests/golden/v1-keep.zst" 1 3 4 13
