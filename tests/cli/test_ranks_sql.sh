# memana load makes a database of each rank's trace, in processes at the same time. docs/ranks.sql names the rank with
# most bytes, its step and its place, as memana does for each trace. DuckDB comes from PyPI, once for a build.
. "$SRC/tests/cli/lib.sh"

for rank in 0 1 2; do
	RANK=$rank WORLD_SIZE=3 STANDIN_MEM=80GiB LD_LIBRARY_PATH=$standin "$memrec" -o "it's.rank%r.zst" -- "$BUILD/samples/rl_step" \
		--steps $((2 + rank)) >log 2>&1
done
check "three traces" test -s "it's.rank2.zst"

# Ten processes at once, three databases: some write the same one. The files at the end are whole.
jobs=()
for copy in 1 2 3 4 5 6 7 8 9 10; do
	"$memana" load "it's.rank$((copy % 3)).zst" -o "it's.rank$((copy % 3)).db" >"load.$copy" 2>&1 &
	jobs+=($!)
done
loads() {
	local job
	for job in "${jobs[@]}"; do wait "$job" || return 1; done
}
loads && echo "ok ten loads at once" || echo "not ok ten loads at once"
check "nothing beside the databases" test "$(ls | grep -c '\.db')" = 3
for rank in 0 1 2; do
	"$memana" load "it's.rank$rank.zst" -o alone >out 2>&1
	check "rank $rank: as a load alone" cmp "it's.rank$rank.db" alone
	"$memana" top --json "it's.rank$rank.zst" >"top.$rank.json"
	"$memana" sql "it's.rank$rank.db" "SELECT place, sum(bytes) FROM bytes_by_place GROUP BY place ORDER BY 2 DESC LIMIT 1" >"place.$rank"
done
rm -f alone

venv=$BUILD/duckdb-venv
python=$venv/bin/python
"$python" -c 'import duckdb_extension_sqlite_scanner' 2>/dev/null ||
	{ "$HOST_PYTHON" -m venv "$venv" && timeout 120 "$venv/bin/pip" install -q duckdb==1.5.5 duckdb-extension-sqlite-scanner==1.5.5; } >log 2>&1 ||
	skip "DuckDB: PyPI does not give it"
check "the query runs" bash -c '"$0" "$1" "$2" "*.db" >rows' "$python" "$SRC/tests/cli/ranks_sql.py" "$SRC/docs/ranks.sql"
for rank in 0 1 2; do
	check "rank $rank: peak, step, phase and place are those of its trace" python3 -c '
import json, sys
row = json.load(open("rows"))[2 - int(sys.argv[1])]
top = json.load(open("top.%s.json" % sys.argv[1]))
peak = top["devices"][0]["peak"]
assert row["rank"] == int(sys.argv[1]) and row["pid"] == top["traces"][0]["pid"], row
assert row["gib"] == round(peak["bytes"] / 2**30, 2) and (row["step"], row["phase"]) == (peak["step"], peak["phase"]), (row, peak)
place, held = open("place.%s" % sys.argv[1]).read().split("\t")
assert row["place"] == place and row["place_gib"] == round(int(held) / 2**30, 2), (row, place, held)' $rank
done
check "the median is the middle rank" json rows '[(row["over_median"] > 0) - (row["over_median"] < 0) for row in d] == [1, 0, -1]'
