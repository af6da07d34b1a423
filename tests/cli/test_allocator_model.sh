# The model of PyTorch's caching allocator (memana frag --replay). It replays recordings of the double
# (tests/allocator) and of real PyTorch, and must reserve the recorded bytes after each tensor. With other settings, it
# must reserve the bytes that the double reserves with these settings.
. "$SRC/tests/cli/lib.sh"
model() { python3 "$SRC/tests/cli/allocator_model.py" "$@"; }
frag() { "$memana" frag --json "$@" >frag.json; }
exact='all(r["model"]["error"] == r["model"]["worst_error"] == 0 and r["model"]["moments"] > 0 for v in d["devices"] for r in v["replays"])'

# record NAME [MEMREC OPTION...]: NAME.zst and NAME.account of a program of the double.
record() {
	local name=$1
	shift
	env LD_LIBRARY_PATH="$standin" STANDIN_CONTEXT=0 ${ENVIRONMENT:-} "$memrec" -o "$name.zst" "$@" -- \
		"$PYTHON" "$SRC/tests/allocator/scenario.py" "$name" "$name.account" >out 2>err
}
as_recorded() {
	record "$@" || { cat out err; return 1; }
	frag "$1.zst" --replay "" && json frag.json "$exact and d['devices'][0]['replays'][0]['reserved_peak_bytes'] > 0"
}

if [ -n "$PYTHON" ]; then
	for name in default expandable edges pools streams sleeping asleep saver garbage threads steps; do
		check "as recorded: $name" as_recorded $name
	done
	ENVIRONMENT=STANDIN_MEM=256MiB
	check "as recorded: a full GPU" as_recorded oom
	check "as recorded: a full GPU, expandable segments" as_recorded expandable_oom
	ENVIRONMENT=STANDIN_GPUS=2
	check "as recorded: two devices" as_recorded devices
	ENVIRONMENT=
	check "streams and private pools are found" json <("$memana" frag --json --replay "" pools.zst) 'd["devices"][0]["replays"][0]["pools"] == 3'
	check "pools that sleep are as they were" json <("$memana" frag --json --replay "" sleeping.zst) 'd["devices"][0]["replays"][0]["sleeping_pool_bytes"] > 300 << 20'
	check "a beginning in the middle" bash -c 'mv steps.zst whole.zst'
	check "as recorded: the first steps left out" as_recorded steps --skip 2

	# The replay predicts the figures of a real run with the other setting.
	other() { frag "$1.zst" --replay "$3" && model account "$2.account" frag.json; }
	check "expandable segments off" other expandable edges expandable_segments:False
	check "expandable segments on" other edges expandable expandable_segments:True

	# The request that fails on a smaller GPU is the one that failed there.
	smaller() {
		frag "$1.zst" --replay "$2" --limit 120MiB || return 1
		! ENVIRONMENT=STANDIN_MEM=120MiB record "$1" && model account "$1.account" frag.json limit
	}
	check "a smaller GPU" smaller default expandable_segments:False
	check "a smaller GPU, expandable segments" smaller expandable expandable_segments:True
	check "fails: in words" bash -c '"$0" frag --replay "" --limit 120MiB edges.zst | tr -s "\n " " " | grep -qE "with PyTorch.s defaults, 120.0 MiB for the process: fails at request [0-9]+, of [0-9.]+ MiB"' "$memana"
	check "once more in JSON" frag whole.zst --replay expandable_segments:True --replay max_split_size_mb:64
	check "each of the settings" json frag.json '[s["conf"] for s in d["devices"][0]["replays"][0]["settings"]] == ["expandable_segments:True", "max_split_size_mb:64"]'
	emptied() {
		frag whole.zst --replay "" --empty-after optimizer && json frag.json \
			'(lambda r: r["settings"][0]["reserved_peak_bytes"] <= r["reserved_peak_bytes"])(d["devices"][0]["replays"][0])'
	}
	check "the cache emptied after a phase" emptied
	"$memana" load whole.zst -o whole.db >/dev/null
	check "a database gives the same answer" bash -c 'cmp <("$0" frag --replay "" whole.zst) <("$0" frag --replay "" whole.db)' "$memana"
	check "80 columns" bash -c '"$0" frag --replay expandable_segments:True,max_split_size_mb:128 --limit 70GiB whole.zst | awk "length > 80 { print; bad = 1 } END { exit bad }"' "$memana"
else
	echo "skip the allocator's double: no python3 with torch"
fi

"$BUILD/tests/unit/test_query" --write .
check "no segments" bash -c '"$0" frag --json --replay "" cpu.zst >/dev/null' "$memana"
for wrong in colour:red max_split_size_mb:1 expandable_segments backend:cudaMallocAsync; do
	check "not understood: $wrong" status 2 "$memana" frag --replay $wrong cpu.zst
	check "in one line" one_line err "frag: --replay ${wrong%%:*}"
done
check "a limit that is none" status 2 "$memana" frag --replay "" --limit much cpu.zst
check "a limit for nothing" status 2 "$memana" frag --limit 5GiB cpu.zst
check "a phase that is none" status 2 "$memana" frag --replay "" --empty-after lunch cpu.zst

real=${SNAPSHOTS:-$SRC/../shared/data/snapshots}
[ -d "$real" ] || { echo "skip the allocator's model: no snapshots in $real"; exit 0; }
snapshot() { frag "$1" --replay expandable_segments:True && model snapshot "$1" frag.json; }
for pickle in "$real"/*.pickle; do
	[ "$(basename "$pickle")" = torch-expandable-segments.pickle ] || # it has no history
		check "real: $(basename "$pickle")" snapshot "$pickle"
done
