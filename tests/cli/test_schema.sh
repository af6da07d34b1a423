# Every document of memana --json follows docs/schema and has no further members: golden traces, traces of the tests,
# snapshots. The cases: test_schema_cases.sh.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/schema_kit.sh"

mkdir traces && cd traces
"$BUILD/tests/unit/test_query" --write . || echo "not ok the traces"
for kind in history devices expandable cached old segments_only terminal; do
	python3 "$SRC/tests/cli/import_make.py" $kind.pickle $kind
done
cd ..
"$memana" load traces/small.zst -o first.db >out
first=first.db
for trace in "$SRC"/tests/golden/v1-*.zst traces/*; do
	check "$(basename "$trace"): answers" all "$(basename "$trace")" "$trace"
done
LD_LIBRARY_PATH=$standin STANDIN_MEM=80GiB "$memrec" -o rl_step.zst -- "$BUILD/samples/rl_step" --steps 2 >log 2>&1
check "rl_step: answers" all rl_step rl_step.zst
check "several snapshots: answers" all several traces/history.pickle traces/devices.pickle
real=$SRC/../shared/data/snapshots
for trace in "$real"/*.pickle; do
	[ -e "$trace" ] && check "$(basename "$trace"): answers" all "$(basename "$trace")" "$trace"
done
print sql rows first.db "SELECT * FROM process" && print sql tables first.db .tables
print knobs all && print knobs two trl vllm
print wait small.zst --until step:1 traces/small.zst

all_valid $reports diff sql knobs wait
check "the schemas are schemas" "$python" "$SRC/tests/cli/schema.py" "$schema"
check "each command with --json has a schema" bash -c \
	'for c in $("$0" --help | sed -n "s/^  \([a-z]*\)  *[[A-Z].*/\1/p"); do
		"$0" $c --help | grep -q -- --json || continue
		[ -e "$1/$c.schema.json" ] || { echo $c; exit 1; }
	done' "$memana" "$schema"

# A field that is missing, of another type, or too much is found, in each object of each command.
check "no broken document passes" "$python" "$SRC/tests/cli/schema.py" "$schema" --broken ./*.small.zst.json knobs.two.json

# An unknown fact is null: no process 0, no time 0, no step.
none() { json "$1.segments_only.pickle.json" "$2"; }
check "no history: no time, step, phase, process" none top \
	'all(d["devices"][0]["peak"][k] is None for k in ("time_ns", "step", "phase", "role", "pid")) and d["traces"][0]["pid"] is None and d["devices"][0]["phase_peaks"] == []'
check "no history: no start" none info \
	'all(d["traces"][0][k] is None for k in ("pid", "start_realtime_ns", "first_time_ns")) and not d["traces"][0]["has_history"] and d["traces"][0]["recorded_by"] == "pytorch"'
check "no history: frag" none frag 'all(d["devices"][0][k] is None for k in ("time_ns", "step", "phase"))'
for command in phases steps growth retained; do
	check "no history: $command says what it is" none $command '"has no history" in d["verdict"]'
done
check "no times" json top.old.pickle.json 'd["devices"][0]["peak"]["time_ns"] is None and d["devices"][0]["peak"]["phase"] == "backward"'
nulls() { "$python" -c '
import json, sys
def walk(value, key=""):
    if isinstance(value, dict):
        for k, one in value.items():
            assert not (k in ("pid", "ppid") and one == 0), sys.argv[1]
            assert not (k.endswith("_ns") and one is not None and "old" in sys.argv[1]), (sys.argv[1], k)
            walk(one)
    elif isinstance(value, list):
        for one in value:
            walk(one)
for name in sys.argv[1:]:
    walk(json.load(open(name)))' "$@"; }
check "nowhere a process 0" nulls *.pickle.json
check "nowhere a time where there are none" nulls *.old.pickle.json
