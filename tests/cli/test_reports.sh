# memana phases, steps, oom and check: verdicts and figures of runs with known figures, from traces and databases.
. "$SRC/tests/cli/lib.sh"
"$BUILD/tests/unit/test_query_reports" --write .

# words FILE PATTERN: the text, with its lines joined, matches.
words() { tr '\n' ' ' <"$1" | tr -s ' ' | grep -qE -- "$2" || { cat "$1"; return 1; }; }
# report NAME COMMAND ARG...: NAME.txt, NAME.json; the text is no wider than a terminal.
report() {
	local name=$1
	shift
	"$memana" "$@" >"$name.txt" && "$memana" "$@" --json >"$name.json" && json "$name.json" 'd["version"] == 1' &&
		awk 'length($0) > 80 { print; bad = 1 } END { exit bad }' "$name.txt"
}
# same COMMAND TRACE...: the database of the traces says the same, in text and in JSON.
same() {
	local command=$1
	shift
	local db=${1%.zst}.zdb # as long as the name of the trace: lines are broken at the same words
	"$memana" load "$@" -o "$db" >out &&
		diff <("$memana" "$command" "$@") <("$memana" "$command" "$db" | sed "s,$db,$1,") &&
		diff <("$memana" "$command" --json "$@") <("$memana" "$command" --json "$db" | sed "s,$db,$1,")
}

# --- steps
check "steps: a run that grows" report grows steps grows.zst
check "steps: JSON" json grows.json '(
	(p := d["processes"][0])["state"] == "growing" and p["growth_bytes_per_step"] == 2 << 20
	and [s["peak_bytes"] >> 20 for s in p["steps"]] == [182, 184, 186, 188, 190]
	and [s["in_use_bytes"] >> 20 for s in p["steps"]] == [62, 64, 66, 68, 70]
	and [s["change_bytes"] for s in p["steps"]] == [None] + [2 << 20] * 4
	and all(sum(c["bytes"] for c in s["in_use_by_category"]) == s["in_use_bytes"] for s in p["steps"])
	and all(s["closed_by"] == "memrec_step" and s["peak_phase"] == "forward" and s["ended"] for s in p["steps"])
	and p["growing"][0]["bytes"] == p["growth_bytes"] == 10 << 20 and d["imbalance_bytes"] is None)'
check "steps: a run that does not" report flat steps flat.zst
check "steps: says so" json flat.json '(g := d["growth"], p := d["processes"][0])[0]["state"] == p["state"] == "steady" and g["bytes"] == 0 == p["growth_bytes_per_step"]'
check "steps: too few" report short steps short.zst
check "steps: says that, too" json short.json 'd["growth"]["state"] == "unknown" and d["processes"][0]["growth_bytes"] is None'
check "steps: none" report none steps none.zst
check "steps: what to do then" words none.txt '^No ended step was recorded'
check "steps: ranks" report ranks steps rank0.zst rank1.zst
check "steps: who peaks" words ranks.txt 'Ranks: rank 1 peaks highest, 300\.0 MiB above rank 0\.'
check "steps: imbalance" json ranks.json 'd["imbalance_bytes"] == 300 << 20'
check "steps -n 2: the newest" bash -c '"$0" steps -n 2 grows.zst | grep -q "3 steps earlier"' "$memana"
check "steps: a database says the same" same steps grows.zst

# --- ranks of one GPU: they are named, and what all do alike is one row
shared=(shared0.zst shared1.zst shared2.zst)
ranks='d["growth"]["places"][0]["ranks"] == [0, 1, 2] and d["growth"]["bytes_per_step"] == 6 << 20 and len(d["growth"]["places"]) == 1'
for command in top steps; do
	check "$command: ranks of one GPU" report shared $command "${shared[@]}"
	check "$command: the ranks of what grows" json shared.json "$ranks"
	[ $command = steps ] || check "top: the rank that made the peak" json shared.json 'd["devices"][0]["peak"]["pid"] == 1002'
	check "$command: no pids" bash -c '! grep -E "pids? [0-9]" shared.txt | grep -vE "^ +rank [0-2], pid 100[0-2] "'
done
check "steps: its rank made the peak of each step" json shared.json \
	'all(s["peak_rank"] == s["peak_pid"] - 1000 for p in d["processes"] for s in p["steps"])'
check "top: one row for each place" bash -c '! "$0" top "$@" | grep -oE " train.py:[0-9]+  " | sort | uniq -d | grep .' "$memana" "${shared[@]}"
check "check: a limit of ranks" status 1 "$memana" check --growth 1KiB --json "${shared[@]}"
check "check: names the ranks" json out '[l["subject"] for l in d["limits"]] == ["rank %d on GPU 1" % i for i in range(3)] and '"$ranks"

# --- phases
check "phases" report phases phases grows.zst
check "phases: which has the peak, and what stays" words phases.txt '^Forward has the peak of GPU 0: .*keep_for_metrics \(train\.py:77\).* from init: 40\.0 MiB'
check "phases: JSON" json phases.json '(
	(p := {p["phase"]: p for p in d["devices"][0]["phases"]})["forward"]["allocated_bytes"] == 460 << 20
	and [p["forward"][k] >> 20 for k in ("peak_bytes", "left_after_run_bytes", "left_after_step_bytes", "left_at_end_bytes")] == [190, 82, 2, 10]
	and (p["forward"]["runs"], p["forward"]["allocations"]) == (5, 15)
	and p["optimizer"]["left_at_end_bytes"] == 20 << 20 and p["optimizer"]["left_at_end"][0]["function"] == "make_state")'
check "phases -n 1" bash -c '[ "$("$0" phases --json -n 1 grows.zst | grep -c "\"runs\"")" = 1 ]' "$memana"
check "phases: a database says the same" same phases grows.zst

# --- oom
check "oom: a neighbour's reserve" report neighbour oom trainer.zst engine.zst
check "oom: what failed" words neighbour.txt \
	'^Out of memory on GPU 0, pid 300, rollout: 500\.0 MiB requested, at most 124\.0 MiB free, at least 376\.0 MiB short\. Requested by compute_logits \(train\.py:55\)\.'
check "oom: JSON" json neighbour.json '(
	(f := d["failure"]) and {p["pid"]: (p["held_bytes"] >> 20, p["slack_bytes"] >> 20) for p in f["processes"]} == {200: (700, 600), 300: (200, 0)}
	and f["in_use_bytes"] == 300 << 20
	and f["stack"][0]["function"] == "compute_logits" and len(d["failures"]) == 1)'
check "oom: fragments" report fragments oom fragments.zst
check "oom: what lies in pieces" words fragments.txt 'The allocator of pid 400 keeps 450\.0 MiB that no tensor uses\. The largest hole has 150\.0 MiB\.'
check "oom: refusals are part of it" json fragments.json \
	'(len(d["failures"]), d["failure"]["refusals"], d["failure"]["largest_hole_bytes"]) == (1, 2, 150 << 20)'
check "oom: the newest of several" report full oom full.zst
check "oom: absurd" words full.txt 'compute_logits \(train\.py:55\) requests 2\.0 GiB in one piece\. The GPU has 1\.0 GiB\.'
check "oom: all are listed" bash -c '[ "$(grep -cE "^ +[12] .* forward " full.txt)" = 2 ]'
check "oom --number: the moment of that one" report first oom --number 1 full.zst
check "oom: not of the peak" json first.json \
	'd["failure"]["in_use_bytes"] == 900 << 20'
check "oom: there is no such number" status 2 "$memana" oom --number 9 full.zst
check "oom: it says so" one_line err '^memana: oom: no failed request has number 9'
check "oom: survived" report survived oom survived.zst
check "oom: it says that" words survived.txt '^A request was refused on GPU 0, forward: 500\.0 MiB requested, at most 324\.0 MiB free, at least 176\.0 MiB short; the process got as much within a second\.'
check "oom: none" report calm oom grows.zst
check "oom: none, in words" words calm.txt '^No request for GPU memory failed'
check "oom: a database says the same" same oom full.zst
check "oom: of several processes, too" same oom trainer.zst engine.zst

# --- check
check "check: all hold" status 0 "$memana" check grows.zst --max-peak 190MiB --growth 2MiB
check "check: a line for each" bash -c '[ "$(grep -c "^ok " out)" = 2 ] && head -1 out | grep -qx "2 limits: all hold."'
check "check: the peak" status 1 "$memana" check grows.zst --max-peak 189.9MiB --growth 2MiB
check "check: which one" bash -c 'grep -qx "not ok  max-peak  GPU 0: 190.0 MiB, limit 189.9 MiB" out && grep -q "^ok      growth" out'
check "check: growth, in percent" status 1 "$memana" check grows.zst --growth 3%
check "check: growth, in percent, holds" status 0 "$memana" check grows.zst --growth 4%
check "check: a phase" status 0 "$memana" check grows.zst --phase init --max-peak 100MiB
check "check: another phase" status 1 "$memana" check grows.zst --phase optimizer --max-peak 100MiB
check "check: what did not run cannot hold" status 1 "$memana" check grows.zst --phase critic --max-peak 100MiB
check "check: nor what was not measured" status 1 "$memana" check short.zst --growth 1%
check "check: nor a host nobody looked at" status 1 "$memana" check grows.zst --max-host 1TiB
check "check: each rank" status 1 "$memana" check rank0.zst rank1.zst --max-peak 200MiB
check "check: one of two" bash -c 'grep -q "^ok .*GPU 1: 180.0 MiB" out && grep -q "^not ok .*GPU 2: 480.0 MiB" out'
"$memana" check grows.zst --max-peak 1GiB --growth 0% --json >check.json
check "check --json" json check.json '(
	not d["ok"] and [(l["rule"], l["ok"], l["bytes"] >> 20) for l in d["limits"]] == [("max-peak", True, 190), ("growth", False, 2)])'
"$memana" load grows.zst -o grows.db >/dev/null
check "check: a database" status 1 "$memana" check grows.db --growth 1%
for bad in "--max-peak lots" "--max-peak 1GiBs" "--growth x" "--growth -1%" "--phase lunch --max-peak 1" "--phase forward" "" "--max-host" \
	"-n 3 --max-peak 1GiB" "--number 1 --max-peak 1GiB"; do
	# shellcheck disable=SC2086
	check "check refuses: ${bad:-no limit}" status 2 "$memana" check grows.zst $bad
done

# --- errors and options of all four commands
printf 'not a trace' >junk
for command in phases steps oom check; do
	more=
	[ $command = check ] && more="--max-peak 1GiB"
	# shellcheck disable=SC2086
	check "$command: not a trace" status 3 "$memana" $command junk $more
	check "$command: one line" one_line err '^memana: junk: '
	# shellcheck disable=SC2086
	check "$command: no trace" status 2 "$memana" $command $more
done
head -c 400 grows.zst >torn.zst
check "a torn trace is answered" status 0 "$memana" steps torn.zst

# --- a real process, on the stand-in: rl_step keeps something on purpose
export LD_LIBRARY_PATH=$standin STANDIN_MEM=80GiB
record() { "$memrec" -o "$1.zst" -- "$BUILD/samples/rl_step" --scale "$2" --quiet >program 2>memrec.err || tail -1 program >/dev/null; }
record rl 0.01
check "rl_step: steps" report rl steps rl.zst
check "rl_step: its leak" json rl.json '[p["function"] for p in d["growth"]["places"]] == ["keep_for_metrics"]'
check "rl_step: to the byte" json rl.json "d['growth']['bytes'] == $(sed -nE 's/.* ([0-9]+) bytes leaked.*/\1/p' program)"
check "rl_step: phases" report rl phases rl.zst
check "rl_step: the peak is in the phase that the program names" bash -c \
	'[ "$(python3 -c "import json; print(json.load(open(\"rl.json\"))[\"devices\"][0][\"phases\"][0][\"phase\"])")" = "$(sed -nE "s/.* in ([a-z-]+), .*/\1/p" program)" ]'
STANDIN_MEM=1000MiB record small 0.01
check "rl_step on a smaller GPU: oom" report small oom small.zst
check "rl_step: what was held, to the byte" json small.json '(
	(f := d["failure"])["in_use_bytes"] == f["processes"][0]["held_bytes"] == f["total_bytes"] - f["free_bytes"] > 500 << 20)'
STANDIN_MEM=600MiB record tiny 0.01
check "rl_step: the context takes what seemed to be free" report tiny oom tiny.zst
check "rl_step: that is said" words tiny.txt 'at most 402\.[0-9] MiB free, at least 400\.[0-9] MiB of these taken without a recorded call'
STANDIN_MEM=1400MiB "$memrec" -q -o leak.zst -- "$BUILD/samples/rl_step" --scale 0.01 --steps 600 --quiet >program 2>&1
check "rl_step, four micro-batches a step: its growth" report leak growth leak.zst
each=$(python3 -c 'import json; print(json.load(open("leak.json"))["growth"]["places"][0]["bytes_per_step"])')
check "rl_step: its oom" report leak oom leak.zst
check "oom: what grows, by step as growth has it" json leak.json "(c := d['causes'][0])['id'] == 'grows' and c['facts']['rate'] == $each and c['facts']['steps'] < 600"

# --- a pool that sleeps, and a reserve that stays
check "oom: growth goes before fragments" report pieces oom pieces.zst
check "oom: and says how much" words pieces.txt '1\. .* keeps 320\.0 MiB of unknown kind \(5 x 64\.0 MiB\)\.'
check "oom: the pieces, and what one round adds" json pieces.json \
	'[(c["bytes"], round(c["expected_bytes"] / 2**20), c["facts"]["pieces"]) for c in d["causes"] if c["id"] == "grows"] == [(320 << 20, 64, 5)]'
check "oom: what sleeps is told apart" report sleeper oom sleeper.zst
check "oom: in words" words sleeper.txt 'allocated, but asleep 200\.0 MiB pages unmapped: not counted here'
check "oom: no segment of it is idle" json sleeper.json '(f := d["failure"])["asleep_bytes"] == 200 << 20 and f["idle_segment_bytes"] == 80 << 20'
check "steps: what sleeps" report sleeper steps sleeper.zst
check "steps: is said" words sleeper.txt 'ends with 60\.0 MiB in use\. 200\.0 MiB more is in sleeping pools, without memory then'
check "phases: what sleeps" report sleeper phases sleeper.zst
check "phases: is said" words sleeper.txt 'stays to the end is from init: 40\.0 MiB, .*\. 200\.0 MiB more is in sleeping pools, without memory then'
check "phases: a reserve that stays" report plateau phases plateau.zst
check "phases: the peak is where most of it was used" words plateau.txt '^Optimizer has the peak of GPU 0: 100\.0 MiB \(9\.8%\), as high as'
check "steps: so it is" bash -c '"$0" steps plateau.zst | tr "\n" " " | grep -q "The peak of GPU 0, 100.0 MiB, is in step 2, in optimizer"' "$memana"

# --- views for people
check "bytes_by_place" bash -c '[ "$("$0" sql grows.db "SELECT place FROM bytes_by_place LIMIT 1")" = train.py:20 ]' "$memana"
adds_up() { [ "$("$memana" sql grows.db "SELECT count(*), sum(peak.bytes = (SELECT sum(bytes) FROM $1 AS part WHERE part.device = device.number)) FROM peak JOIN device ON device.id = peak.device")" = "$(printf '1\t1')" ]; }
for view in bytes_by_place bytes_by_module; do check "$view adds up to the peak of each device" adds_up $view; done
of_steps() {
	"$memana" sql --json grows.db "SELECT step, peak_bytes, held_bytes FROM bytes_by_step WHERE device = 0" >view.json && "$memana" steps --json grows.db >out.json &&
		python3 -c 'import json; a, b = (json.load(open(f)) for f in ("view.json", "out.json")); assert len(a) > 3; want = {(s["step"], s["peak_bytes"], s["held_bytes"]) for s in b["processes"][0]["steps"]}; got = {(r["step"], r["peak_bytes"], r["held_bytes"]) for r in a}; assert want and want <= got, (want, got)'
}
check "bytes_by_step has the figures of memana steps" of_steps
check "live_at" bash -c '[ "$("$0" sql grows.db "SELECT sum(bytes) >> 20 FROM live_at WHERE moment = \"step:3:end\" AND memory = \"tensor\"")" = 66 ]' "$memana"
check "foreign keys hold" bash -c '[ -z "$("$0" sql full.zdb "SELECT * FROM pragma_foreign_key_check")" ]' "$memana"
"$memana" load grows.zst -o again.db >/dev/null
check "the same trace makes the same file" cmp grows.db again.db
if command -v sqlite3 >/dev/null; then
	check "the sqlite3 shell: every table and view" bash -c '
		for t in $(sqlite3 grows.db "SELECT name FROM sqlite_schema WHERE type IN (\"table\", \"view\")"); do
			sqlite3 grows.db "SELECT * FROM $t" >rows || exit 1
		done; sqlite3 grows.db .schema | grep -q "CREATE VIEW live_at"'
	check "the sqlite3 shell knows whose file it is" bash -c '[ "$(sqlite3 grows.db "PRAGMA application_id")" = 1835363681 ]'
fi
