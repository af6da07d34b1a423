# memana frag: segments, holes, tensors that pin segments, and the bytes that emptying the cache would give back.
. "$SRC/tests/cli/lib.sh"
"$BUILD/tests/unit/test_retained" --write . || { echo "not ok traces for frag"; exit 1; }

frag() { "$memana" frag --json "$1" "${@:3}" >out.json && json out.json "$2"; }
says() { "$memana" frag "$1" "${@:3}" | tr '\n' ' ' | grep -qE -- "$2" || { "$memana" frag "$1" "${@:3}"; return 1; }; }
mib='{k[:-6]: v >> 20 for k, v in d["devices"][0].items() if k.endswith("_bytes") and k != "total_bytes"}'

check "bytes at the end of a step" frag holes.zst \
	"$mib == dict(reserved=250, allocated=62, idle=188, largest_hole=68, empty_cache=50, not_resident=0, pinned_idle=98)" --at step:1:end
check "segments by idle bytes" frag holes.zst \
	'[(s["bytes"] >> 20, s["used_bytes"] >> 20, s["largest_hole_bytes"] >> 20, s["tensors"]) for s in d["devices"][0]["segments"]] == [(100, 2, 68, 1), (50, 0, 50, 0), (100, 60, 20, 2)]' --at step:1:end
check "what pins, and since when" frag holes.zst \
	'[(p["function"], p["line"], p["phase"], p["tensor_bytes"] >> 20, p["first_step"]) for p in d["devices"][0]["pinned"]] == [("Buffer.__init__", 11, "init", 2, 1)]' --at step:1:end
check "verdict" says holes.zst '188.0 MiB of 250.0 MiB reserved \(75%\) is idle at the end of step 1; the largest hole is 68.0 MiB: .*1 segment with 98.0 MiB idle is pinned by 2.0 MiB of tensors, most by Buffer.__init__ \(train.py:11\) from init.*empty_cache\(\) would give back 50.0 MiB.*expandable_segments:True' --at step:1:end
check "the peak is another instant" frag holes.zst "$mib['allocated'] == 112 and $mib['empty_cache'] == 0 and d['devices'][0]['phase'] == 'forward'"
peak_inside() {
	"$memana" top --json --at step:1 "$1" >top.json && "$memana" frag --json --at step:1 "$1" >out.json &&
		python3 - <<-'END'
			import json
			frag, top = (json.load(open(name))["devices"][0] for name in ("out.json", "top.json"))
			assert (frag["time_ns"], frag["phase"]) == (top["peak"]["time_ns"], top["peak"]["phase"]), (frag, top)
			assert frag["reserved_bytes"] == top["peak"]["bytes"] and frag["idle_bytes"] == top["slack_bytes"] > 0
		END
}
check "a step is its peak, as top means it" peak_inside holes.zst
check "a time" frag holes.zst "$mib['reserved'] == 100 and $mib['allocated'] == 30" --at 3us
check "a time after the end" status 2 "$memana" frag --at 100s holes.zst
check "is said, with the end" one_line err 'frag: holes.zst: the recording is over by then \(it ends at '
"$BUILD/tests/unit/test_query" --write .
check "without a segment the answer is the verdict" bash -c '"$0" frag rank0.zst | tee out | grep -q "^No caching allocator holds memory" && [ "$(wc -l <out)" = 3 ]' "$memana"
check "a time in a run without a GPU" bash -c '"$0" load cpu.zst -o cpu.db >/dev/null && "$0" sql cpu.db "SELECT count(*) FROM device WHERE kind <> '"'cpu'"'" | grep -qx 0 && "$0" frag --at 0ns cpu.zst | grep -q "^No memory of a GPU was recorded"' "$memana"
check "reserved and allocated where each phase reached its peak, most in tensors" frag holes.zst \
	'[(p["phase"], p["reserved_bytes"] >> 20, p["allocated_bytes"] >> 20) for p in d["devices"][0]["phases"]] == [("init", 100, 32), ("forward", 250, 112)]'

# Expandable segments: one segment of five mappings; a mapping without tensors is somebody else's.
check "expandable segments" frag expandable.zst \
	"$mib == dict(reserved=100, allocated=40, idle=60, largest_hole=60, empty_cache=40, not_resident=0, pinned_idle=0) and d['devices'][0]['expandable_segments']" --at step:1:end
check "are one segment" frag expandable.zst '[(s["mappings"], s["bytes"] >> 20) for s in d["devices"][0]["segments"]] == [(5, 100)]' --at step:1:end
check "and are on" says expandable.zst 'Expandable segments are on already' --at step:1:end

# A pool that sleeps.
check "tensors without memory" frag asleep.zst \
	"$mib['not_resident'] == 180 and $mib['reserved'] == 250 and d['devices'][0]['sleeping_pool'] and not d['devices'][0]['expandable_segments']" --at step:1:end
check "exclude expandable segments" says asleep.zst 'not possible here: a pool that sleeps is in use' --at step:1:end

"$memana" load asleep.zst -o asleep.db >/dev/null
same() { "$memana" frag "$@" asleep.zst >one && "$memana" frag "$@" asleep.db >two && cmp one two; }
check "a database gives the same answer" same
check "and the same JSON" same --json --at step:1:end
check "mappings are in the database" bash -c '[ "$("$0" sql asleep.db "SELECT count(*), count(unmap_seq) FROM mapping")" = "$(printf "1\t1")" ]' "$memana"
check "foreign keys hold" python3 -c 'import sqlite3; assert not list(sqlite3.connect("asleep.db").execute("PRAGMA foreign_key_check"))'
narrow() { for t in holes expandable asleep; do "$memana" frag "$t.zst"; done | awk 'length > 80 { print; bad = 1 } END { exit bad }'; }
check "80 columns" narrow
wide() { COLUMNS=$1 "$memana" frag holes.zst | awk '{ gsub(/\033\[[0-9;]*m/, "") } length($0) > most { most = length($0) } END { print most }'; }
check "as wide as COLUMNS says" bash -c '[ "$1" -gt 90 ] && [ "$1" -le 120 ]' - "$(wide 120)"
check "but not wider than 200" bash -c '[ "$1" -gt 150 ] && [ "$1" -le 200 ]' - "$(wide 100000)"
check "and what is no width is 80" bash -c '[ "$1" -gt 60 ] && [ "$1" -le 80 ]' - "$(wide x)"

wrong() { status 2 "$memana" frag --at "$1" holes.zst && one_line err "$2"; }
check "no such moment" wrong oom '\-\-at oom: no such moment; there are: end, peak, .*start, step:1, step:1:end$'
check "no such step" wrong step:9 'no such moment; there are: '
check "no moment" wrong tomorrow 'not one of peak, oom, oom:N, step:N, step:N:end, end, or a time'
head -c 40 holes.zst >stub.zst
printf 'rules:\n  - function: x\n    colour: red\n' >bad.yaml
check "rules that are wrong" status 3 "$memana" frag --rules bad.yaml holes.zst
check "a stub" status 3 "$memana" frag stub.zst
check "in one line, too" one_line err 'stub.zst'

# Segments and holes by address, and the ledger's account of the same peak, must be the same bytes. Tensors of a snapshot have
# the bytes that were asked for: the rest of a block, less than 512 bytes, is slack to top and in use to frag.
ledger() {
	"$memana" frag --json "$1" >out.json && "$memana" top --json "$1" >top.json && python3 - "${2-0}" <<-'END'
		import json
		import sys
		frag, top = (json.load(open(name))["devices"][0] for name in ("out.json", "top.json"))
		print(frag["idle_bytes"], top["slack_bytes"], frag["reserved_bytes"], top["peak"]["bytes"])
		rest = int(sys.argv[1]) * sum(part["count"] for part in top["by_phase"])
		assert 0 <= top["slack_bytes"] - frag["idle_bytes"] <= rest and frag["idle_bytes"] > 0
		assert frag["reserved_bytes"] == top["peak"]["bytes"]
	END
}
double() {
	env STANDIN_CONTEXT=0 LD_LIBRARY_PATH="$standin" "$memrec" -o double.zst -- "$PYTHON" \
		"$SRC/tests/allocator/scenario.py" "$1" account >out 2>err && ledger double.zst
}
if [ -n "$PYTHON" ]; then
	for scenario in default expandable sleeping; do
		check "the allocator's double, $scenario" double "$scenario"
	done
else
	echo "skip frag: the allocator's double: no python3 with torch"
fi

snapshots=$SRC/../shared/data/snapshots
real() { "$memana" import "$snapshots/$1.pickle" -o real.zst >/dev/null && ledger real.zst 511; }
[ -d "$snapshots" ] || { echo "skip frag: no snapshots in $snapshots"; exit 0; }
check "a real snapshot" real torch2.6-ctx128-fullstep
check "a real snapshot of expandable segments" real torch-expandable-segments
