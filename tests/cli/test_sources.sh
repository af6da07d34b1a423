# Inputs in place of a trace: PyTorch's snapshots, and folders of traces.
. "$SRC/tests/cli/lib.sh"
make() { python3 "$SRC/tests/cli/import_make.py" "$@"; }
TMPDIR=$PWD/tmp # nothing may be left there
mkdir "$TMPDIR"

# ---- snapshots ----
make history.pickle history
"$memana" import history.pickle -o history.zst >out
cp history.pickle short.pkl && cp history.pickle by_content

# same NAME COMMAND...: the answer about the snapshot is that about its trace, but for the names.
same() {
	local name=$1
	shift
	"$memana" "$1" "$name" "${@:2}" >direct 2>err && "$memana" "$1" history.zst "${@:2}" >imported 2>err || return 1
	diff <(sed "s/$name/X/g; s/^.*\"file_bytes\".*$//" direct) <(sed 's/history\.\(zst\|pickle\)/X/g; s/^.*"file_bytes".*$//' imported)
}
for name in history.pickle short.pkl by_content; do
	check "top $name" same "$name" top
done
for command in phases steps growth oom advise retained frag verify; do
	check "$command of a snapshot" same history.pickle "$command"
	check "$command --json of a snapshot" same history.pickle "$command" --json
done
check "check of a snapshot" status 1 "$memana" check history.pickle --max-peak 1MiB
check "info of a snapshot" bash -c '"$0" info history.pickle | grep -q tensor-alloc' "$memana"
check "sql of a snapshot" same history.pickle sql "SELECT count(*) FROM allocation"
check "diff of two" status 0 "$memana" diff history.pickle history.zst
check "load of a snapshot" status 0 "$memana" load history.pickle -o run.db
check "with its rows" bash -c '[ "$("$0" sql run.db "SELECT file FROM process")" = history.pickle ]' "$memana"
check "memana SNAPSHOT is top" bash -c 'cmp <("$0" history.pickle) <("$0" top history.pickle)' "$memana"
check "nothing is left behind" bash -c '[ -z "$(ls -A "$TMPDIR")" ]'

refused() { status "$1" "$memana" top "$2" && one_line err "$3" && [ ! -s out ]; }
make evil.pickle evil
check "code is refused" refused 3 evil.pickle '^memana: evil.pickle: holds code'
make other.pickle other
check "another pickle" refused 3 other.pickle 'not a PyTorch memory snapshot'
make bomb.pickle bomb
check "one that asks for more than any GPU has" refused 3 bomb.pickle 'beyond the limits'
check "no space for the temporary trace" bash -c 'TMPDIR=/nowhere "$0" top history.pickle 2>err; [ $? = 4 ] && [ $(wc -l <err) = 1 ]' "$memana"
size=$(stat -c %s history.pickle)
torn() {
	local cut code
	for cut in $(seq 2 41 "$size"); do
		head -c "$cut" history.pickle >torn.pickle
		code=0
		"$memana" top torn.pickle >out 2>err || code=$?
		[ $code = 3 ] && [ "$(wc -l <err)" = 1 ] || { echo "cut at $cut: exit status $code"; cat err; return 1; }
	done
}
check "torn anywhere: one line, exit 3" torn
head -c $((size - 30)) history.pickle >late.pickle
for command in top oom info; do
	check "torn late, $command: the answer, and where" bash -c '"$0" $1 late.pickle >out 2>err; [ $? = 3 ] && [ -s out ] && grep -q "everything before" err' "$memana" "$command"
done
check "and nothing is left behind of these" bash -c '[ -z "$(ls -A "$TMPDIR")" ]'

# A container whose file system is read-only has /dev/shm, which is empty afterwards. Names below /tmp are hidden there: they are opened before.
read_only() { # COMMAND FILE [ARGUMENT...]
	(cd "$BUILD" && unshare -Urm sh -c 'mount -t tmpfs -o ro tmpfs /tmp && mount -t tmpfs -o ro tmpfs /var/tmp && mount -t tmpfs tmpfs /dev/shm &&
		env -u TMPDIR ./memana "$@" && [ -z "$(ls -A /dev/shm)" ]' sh "$1" - "${@:3}" <"$2")
}
if ! unshare -Urm mount -t tmpfs tmpfs /dev/shm 2>/dev/null; then
	echo "skip a read-only file system: no namespace to mount in"
else
	for command in top oom growth; do
		check "$command where only /dev/shm can be written to" read_only $command "$SRC/tests/golden/v1-run.zst"
	done
	check "the same of a snapshot" read_only top "$PWD/history.pickle"
	told() { ! read_only export "$SRC/tests/golden/v1-run.zst" --to html -o /tmp/page.html 2>err && one_line err '^memana: export: /tmp/page.html: Read-only file system$'; }
	check "export says why it can write no file" told
	check "import, too" bash -c '! unshare -Urm sh -c "mount -t tmpfs -o ro tmpfs /var/tmp && exec \"\$0\" import history.pickle -o /var/tmp/s.zst" "$0" 2>err; grep -qx "memana: import: /var/tmp/s.zst: Read-only file system" err' "$memana"
fi

# ---- folders ----
mkdir empty runs plain
check "an empty folder" refused 3 empty '^memana: empty: an empty folder'
echo hello >plain/notes.txt
check "a folder without traces" refused 3 plain '^memana: plain: no trace is in this folder'
for rank in 10 2 1; do
	make "runs/snap_rank$rank.pickle" history
done
"$memana" load history.zst -o runs/run.db >out
echo hello >runs/notes.txt
: >runs/unborn.zst
cp evil.pickle runs/model.pkl
mkdir runs/older && cp history.zst runs/older
files() { "$memana" info --json runs 2>err >info.json && json info.json "[t['file'] for t in d['traces']] == $1"; }
check "its traces, in the order of their numbers" files '["runs/snap_rank1.pickle", "runs/snap_rank2.pickle", "runs/snap_rank10.pickle"]'
check "what is none is left out with a word" one_line err '^memana: runs: ignored (.*): model.pkl, notes.txt, run.db and 1 more$'
all() { "$memana" "$@" --json runs >one 2>err && "$memana" "$@" --json runs/snap_rank1.pickle runs/snap_rank2.pickle runs/snap_rank10.pickle >two 2>err && cmp one two; }
for command in top oom advise phases steps frag retained; do
	check "$command FOLDER is about all of them" all $command
done
# An export of a recording, or PyTorch's own snapshot of the process, lies in the folder of the recording.
mkdir beside && cp "$SRC/tests/golden/v1-run.zst" beside/trace.zst && "$memana" export beside/trace.zst --to torch >out
once() {
	"$memana" top --json beside/trace.zst >alone.json && "$memana" top --json beside >both.json 2>err && python3 - <<-'END'
		import json
		alone, both = json.load(open("alone.json")), json.load(open("both.json"))
		assert both.pop("left_out") == ["beside/trace.pickle"] and both == alone, both
	END
}
check "a snapshot next to a recording does not count twice" once
check "it is named" one_line err '^memana: beside/trace.pickle: a snapshot next to a recording, left out .--all takes all.$'
check "--all takes it in" bash -c '"$0" top --all --json beside >all.json && python3 -c "import json; assert len(json.load(open(\"all.json\"))[\"traces\"]) == 2"' "$memana"
check "load FOLDER" status 0 "$memana" load runs -o all.db
check "has all of them" bash -c '[ "$("$0" sql all.db "SELECT count(*) FROM process")" = 3 ]' "$memana"
check "sql FOLDER" bash -c '[ "$("$0" sql runs "SELECT count(*) FROM process" 2>err)" = 3 ]' "$memana"
check "a folder and a trace" status 0 "$memana" top runs history.zst
cp history.zst runs/again.zst && make runs/history.pickle history
check "the same process under two names counts once" bash -c '[ "$("$0" sql runs "SELECT count(*) FROM process" 2>err)" = 4 ]' "$memana"
head -c 300 history.zst >runs/broken.zst && printf 'x' | dd of=runs/broken.zst bs=1 seek=60 conv=notrunc 2>/dev/null
check "a damaged trace is an error all the same" refused 3 runs 'runs/broken.zst'
