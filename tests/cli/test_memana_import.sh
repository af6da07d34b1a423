# memana import: makes traces of PyTorch's own memory snapshots, and never runs code in a pickle.
. "$SRC/tests/cli/lib.sh"
make() { python3 "$SRC/tests/cli/import_make.py" "$@"; }
import() { "$memana" import "$1.pickle" -o "$1.zst"; }
top() { "$memana" top --json "$1.zst" >"$1.json" && json "$1.json" "$2"; }
ask() { [ "$("$memana" sql "$1.zst" "$2")" = "$3" ] || { "$memana" sql "$1.zst" "$2"; return 1; }; }

for protocol in 2 3 4 5; do
	make history.pickle history $protocol
	check "protocol $protocol" import history
	check "its peak is the segment" top history 'd["devices"][0]["peak"]["bytes"] == 20 << 20'
done
phases='{p["phase"]: p["bytes"] >> 20 for p in d["devices"][0]["by_phase"]}'
check "phases from its stacks" top history "sum($phases.values()) == 20"
check "what was alive before, what came and went" ask history \
	"SELECT group_concat(printf('%d%s%d', bytes >> 20, phase, free_time IS NULL), ' ') FROM (SELECT * FROM allocation WHERE memory = 'tensor' ORDER BY alloc_seq)" \
	"4before1 8forward0 2backward0 1optimizer1"
check "nothing was freed that is not known" ask history "SELECT unknown_frees FROM process" 0
check "times are those of the snapshot" ask history \
	"SELECT group_concat(alloc_time / 1000, ' ') FROM (SELECT * FROM allocation WHERE memory = 'tensor' ORDER BY alloc_seq)" "0 0 1000 3000"
frames() { "$memana" top --json history.zst >out && json out '{s["stack"][0]["function"] for s in d["devices"][0]["sites"] if s["stack"]} == {"forward", "torch::autograd::Engine::thread_main()"}'; }
check "nor does a stack begin with the unwinder or the allocator" frames
check "the unwinder is no place" ask history "SELECT count(*) FROM frame WHERE function LIKE 'torch::unwind%'" 0
check "verify" status 0 "$memana" verify history.zst
unknown_size() { "$memana" oom history.zst | tr -s ' \n' ' ' | grep -q 'The size of the GPU is not in it: GPU 0 had its peak'; }
check "how near it came is not claimed" unknown_size

make expandable.pickle expandable
check "expandable segments" import expandable
check "mapped bytes are held, unmapped ones are not" ask expandable \
	"SELECT sum(bytes) >> 20, (SELECT sum(bytes) >> 20 FROM allocation WHERE memory = 'device' AND free_time IS NULL) FROM allocation WHERE memory = 'device'" \
	"$(printf '10\t8')"
check "an entry of a later PyTorch is left out and said" bash -c '"$0" import expandable.pickle -o e.zst | grep -q "^1 entry of unknown kinds left out"' "$memana"
check "the failed request" top expandable 'd["oom"][0]["requested_bytes"] == 64 << 20'

# A range is held in the parts that are unmapped, however many pages it has, and one forward is one run.
make growing.pickle growing >right.json
check "ranges that are unmapped in parts" import growing
growing() { "$memana" "$1" --json growing.zst >growing.json && json growing.json "(lambda right: $2)(__import__('json').load(open('right.json')))"; }
kinds='d["traces"][0]["events_by_kind"]'
check "as many events as there are parts" growing info "all($kinds[kind] == right['parts'] for kind in ('vmm-create', 'vmm-map', 'vmm-release'))"
check "and as many as there were tensors" growing info "$kinds['tensor-alloc'] == $kinds['tensor-free'] == right['tensors']"
check "one forward is one run" growing phases '[(p["phase"], p["runs"]) for v in d["devices"] for p in v["phases"]] == [("forward", 1)] * 2'
check "bytes at the end" ask growing "SELECT json_group_array(bytes) FROM (SELECT sum(bytes) AS bytes FROM allocation
	WHERE memory = 'device' AND free_time IS NULL GROUP BY device ORDER BY device)" "$(tr -d ' ' <right.json | grep -o '\[.*\]')"

make warm.pickle warm
check "a cache that is full from before" import warm
tensors_peak() { "$memana" top warm.zst | tr -s ' \n' ' ' | grep -q 'Peak 22.0 MiB held (0 B in tensors, 22.0 MiB slack).* Tensors alone had their most, 15.0 MiB, in forward\.'; }
check "hides when tensors had their most: said" tensors_peak

make cached.pickle cached
check "segments that no tensor was seen in" import cached
check "are slack of PyTorch's" top cached '[(d["devices"][0]["peak"]["bytes"] >> 20, d["devices"][0]["slack_bytes"] >> 20, d["devices"][0]["by_owner"][0]["owner"], len(d["devices"][0]["by_owner"]))] == [(26, 26, "pytorch", 1)]'
check "and segments in the database" ask cached \
	"SELECT group_concat(bytes >> 20, ' ') FROM (SELECT bytes FROM segment ORDER BY bytes)" "2 2 4 20"
cached_idle() { "$memana" frag --json cached.zst >frag.json && json frag.json 'd["devices"][0]["idle_bytes"] == 26 << 20'; }
check "and what frag calls idle" cached_idle

make devices.pickle devices
check "two devices" import devices
check "each with its own peak" top devices '[v["peak"]["bytes"] >> 20 for v in d["devices"]] == [2, 20]'

make old.pickle old
check "PyTorch 2.0" import old
check "the same answer" top old 'd["devices"][0]["peak"]["bytes"] == 20 << 20'
check "missing times are said" bash -c '"$0" import old.pickle -o o.zst | grep -q "has no times"' "$memana"
make segments_only.pickle segments_only
check "a list of segments alone" import segments_only
check "is what is alive" top segments_only 'd["devices"] == [] or d["devices"][0]["peak"]["bytes"] in (0, 20 << 20)'
mkdir ranks && make ranks/snap_rank_3.pickle history
check "the rank is in the name" bash -c '"$0" import ranks/snap_rank_3.pickle -o r.zst && [ "$("$0" sql r.zst "SELECT rank FROM process")" = 3 ]' "$memana"

# Facts that a snapshot lacks are not invented: neither in words nor, in the database, as a number.
words() { tr -s ' \n' ' ' <out; }
tells() { status 0 "$memana" "$1" "$2.pickle" && words | grep -qE -- "$3" || { cat out; return 1; }; }
silent() { status 0 "$memana" "$1" "$2.pickle" && ! words | grep -qE -- "$3" || { cat out; return 1; }; }
for command in top phases steps growth retained oom; do
	check "no history: $command says so, and what to do" tells $command segments_only 'has no history: .* _record_memory_history|has no history: .*_record_memory_history'
	check "no history: $command invents nothing" silent $command segments_only 'pid 0|1970| at [0-9.]+ (us|ms|s)[, ]|step [01]|in init'
done
check "no history: frag looks at the segments" tells frag segments_only 'idle in the snapshot.*Segments with most idle'
check "no history: no step in frag" silent frag segments_only 'step [01]|each phase'
check "no history: info" tells info segments_only 'history none: the snapshot lists one moment'
check "no history: no 1970, no pid in info" silent info segments_only 'pid 0|1970'
check "no times: top" silent top old ' at [0-9.]+ (us|ms|s)|pid 0'
check "no times: phases" silent phases old '[0-9.]+ (us|ms|s) '
check "the database has null" ask segments_only "SELECT pid IS NULL, start_realtime IS NULL, has_history, has_times, recorded_by FROM process" "$(printf '1\t1\t0\t0\tpytorch')"
check "one owner is no table" silent top history 'By who asked'
check "what was there before the recording, and what to do" tells top history '10.0 MiB at the peak existed before the recording: call torch.cuda.memory._record_memory_history\(\) before the model'
make cut.pickle cut
check "a history that was cut" tells top cut 'existed before the recording: the snapshot.s history was cut at its beginning \(raise max_entries'
check "its stack tells the phase where it can" bash -c '[ "$("$0" sql cut.pickle "SELECT group_concat(phase) FROM (SELECT phase FROM allocation WHERE memory = '"'tensor'"' ORDER BY address)")" = "before,forward,forward" ]' "$memana"

# Bytes asked for, and the allocator's blocks: exact if the snapshot has them, else at least as PyTorch rounds.
make rounded.pickle rounded
asked() { "$memana" top --json rounded.pickle >r.json && json r.json "$1"; }
check "requested bytes and blocks" asked '[d["devices"][0][k] for k in ("requested_bytes", "block_bytes", "block_bytes_exact")] == [1000 + 3 * 1048576 + 100 + 700, 1024 + 4 * 1048576 + 512 + 1024, False]'
check "and in words" bash -c '"$0" top rounded.pickle | tr -s " \n" " " | grep -q "requested bytes, 3.0 MiB in all. PyTorch.s rounded blocks, which torch.cuda.memory_allocated counts, have at least 4.0 MiB"' "$memana"
check "exact without a history" bash -c '"$0" top --json segments_only.pickle >s.json' "$memana"
check "is what the segments say" json s.json 'd["devices"][0]["block_bytes"] == 5 << 20 and d["devices"][0]["block_bytes_exact"]'

# Hostile files.
refused() { status "$1" "$memana" import "$2" -o bad.zst && one_line err "$3" && [ ! -e bad.zst ]; }
for protocol in 2 4; do
	make evil.pickle evil $protocol
	check "code is refused (protocol $protocol)" refused 3 evil.pickle '^memana: import: evil.pickle: holds code'
	check "and was not run" bash -c '! grep -q "must never" out err'
done
make other.pickle other
check "another pickle" refused 3 other.pickle 'not a PyTorch memory snapshot'
echo hello >text.pickle
check "no pickle" refused 3 text.pickle 'not a pickle'
: >empty.pickle
check "an empty file" refused 3 empty.pickle 'not a pickle'
check "no file" refused 4 nowhere.pickle 'No such file'
check "a folder" refused 4 ranks 'import: ranks'
check "no output named" status 2 "$memana" import history.pickle
check "no snapshot named" status 2 "$memana" import -o x.zst
mkfifo pipe
# Opening a pipe waits for a writer, and a device may act when it is opened.
odd_input() { status 4 timeout 20 "$memana" import "$1" -o x.zst && one_line err "^memana: import: $1: " && [ ! -e x.zst ]; }
for odd in pipe /dev/zero /dev/ptmx; do check "no snapshot: $odd" odd_input "$odd"; done
keeps() { status 2 "$memana" import history.pickle -o "$1" && one_line err "$2" && [ "$(stat -c %F "$1")" = "$3" ]; }
check "a pipe or a device keeps its name" keeps pipe 'pipe: not a file that could be replaced' fifo
check "the snapshot is not written over" keeps history.pickle 'would replace what is read' 'regular file'
check "and is as it was" status 0 "$memana" import history.pickle -o again.zst
check "an output that cannot be written" status 4 "$memana" import history.pickle -o nowhere/x.zst

# A cut file gives the part that it has. The segments come first, so half of a file is usually no snapshot.
size=$(stat -c %s history.pickle)
torn() {
	local cut code
	for cut in $(seq 2 37 "$size"); do
		head -c "$cut" history.pickle >torn.pickle
		code=0
		"$memana" import torn.pickle -o torn.zst >out 2>err || code=$?
		[ $code = 3 ] && [ "$(wc -l <err)" = 1 ] || { echo "cut at $cut: exit status $code"; cat err; return 1; }
		[ ! -e torn.zst ] || "$memana" top torn.zst >out || return 1
		rm -f torn.zst
	done
}
check "torn anywhere: one line, exit 3, and a trace that opens or none" torn
head -c $((size - 30)) history.pickle >late.pickle
check "torn late: imported up to there" status 3 "$memana" import late.pickle -o late.zst
check "and says where" one_line err 'everything before is imported'
check "with all events before" ask late "SELECT count(*) FROM allocation WHERE memory = 'tensor'" 4

# Real snapshots, against values that somebody else computed.
real=$SRC/../shared/data/snapshots
if [ ! -d "$real" ]; then
	skip "real snapshots: $real is not there"
fi
while read -r name count peak end; do
	"$memana" import "$real/$name.pickle" -o real.zst >out && "$memana" load real.zst -o real.db >out
	check "$name: allocations, peak, end" python3 "$SRC/tests/cli/import_check.py" real.db "$count" "$peak" "$end"
	check "$name: verify" status 0 "$memana" verify real.zst
done <<'VALUES'
torch2.11-medium512-training 7591 7331061768 5119160324
torch2.11-medium128-inference 1280 35651584 0
torch2.6-ctx128-fullstep 6770 41140559876 40935749636
torch2.1-no-timestamps 3505 4780407592 1189683204
torch2.2-snapshot-entries 1935 99486724 39976976
VALUES
check "expandable segments of a real one" bash -c '"$0" import "$1" -o x.zst' "$memana" "$real/torch-expandable-segments.pickle"

# Paths of Windows are as short as others, and rounding inside blocks is no hole.
make windows.pickle windows
check "paths of Windows" import windows
check "their places" top windows \
	'{(f["file"], f["line"]) for s in d["devices"][0]["sites"] for f in s["stack"]} == {
		("C:/w/venv/Lib/site-packages/torch/functional.py", 9), ("D:/train/model.py", 5)}'
check "pinned memory is told" bash -c '"$0" import windows.pickle -o w.zst | grep -q "^pinned host memory: 2.0 MiB in 2 segments"' "$memana"
pinned() { # CASE: what was pinned when, and where the rest came from
	make "$1.pickle" "$1" && "$memana" load "$1.pickle" -o "$1.db" >/dev/null && "$memana" sql --json "$1.db" "SELECT bytes >> 20 AS mib, phase,
		free_time - alloc_time AS lived FROM allocation WHERE memory = 'pinned' ORDER BY bytes" >rows.json &&
		json rows.json '[tuple(row.values()) for row in d] == [(2, "optimizer", None), (4, "forward", 2000000), (8, "before", None)]'
}
check "pinned memory alone: a history of segments" pinned pinned
check "pinned memory alone is a history" bash -c '"$0" import pinned.pickle -o p.zst >out; ! grep -q history out && "$0" info p.zst | grep -q "complete for the recorded time"' "$memana"
check "pinned memory: a history of blocks, in lists" pinned pinned_lists
import pinned_lists >/dev/null
check "pinned memory is no device's" top pinned_lists '[(x["peak"]["bytes"] >> 20, x["kind"]) for x in d["devices"]] == [(2, "cuda")]'
"$memana" frag --json windows.pickle >frag.json
check "rounding is in use" json frag.json '[(d["idle_bytes"], d["largest_hole_bytes"]) for d in d["devices"]] == [(1 << 20, 1 << 20)]'
check "one hole is not joined" json frag.json '"expandable_segments" not in d["devices"][0]["verdict"]'
check "no totals to compare" status 0 "$memana" verify windows.pickle
check "no totals: no count" bash -c '! grep -q "compared at" out'
# A list that many others contain is not read as often: 40 KB were 60 million blocks, 17 s, 2.8 GiB.
product() {
	make "$1.pickle" "$1" && (ulimit -t 20 && status 3 "$memana" top "$1.pickle") && one_line err "$1.pickle: a value is beyond the limits of the format" &&
		status 3 "$memana" import "$1.pickle" -o "$1.zst" && [ ! -e "$1.zst" ]
}
for what in blocks host traces keys; do check "one of $what for very many" product "product_$what"; done
make empty.pickle empty
check "an empty snapshot" status 0 "$memana" frag empty.pickle
check "an empty snapshot: nothing of a CPU" bash -c '! grep -q CPU out'
