# memana top --at, --why and --rules: another moment, the evidence, further rules, and errors in each.
. "$SRC/tests/cli/lib.sh"
LD_LIBRARY_PATH=$standin "$memrec" -o run.zst -- "$BUILD/samples/rl_step" --steps 2 --quiet >/dev/null 2>&1
"$BUILD/tests/unit/test_query" --write .

top() { "$memana" top --json "$@" >at.json; }
"$memana" load run.zst -o run.db >/dev/null
at_step() {
	top --at "step:$1" run.zst || return 1
	want=$("$memana" sql run.db "SELECT max(peak_bytes) FROM step_device WHERE step = $1")
	json at.json "d['at'] == 'step' and d['devices'][0]['peak']['bytes'] == $want and d['devices'][0]['peak']['step'] == $1"
}
for step in 1 2; do check "--at step:$step is the peak of the step" at_step $step; done
check "--at peak is the peak" bash -c '"$0" top --at peak run.zst | cmp - <("$0" top run.zst)' "$memana"

# Tensors at an instant: what the database has alive then.
at_time() {
	local time
	time=$("$memana" sql run.db "SELECT time FROM phase_peak WHERE phase = '$1'")
	top --at "${time}ns" run.zst || return 1
	want=$("$memana" sql run.db "SELECT bytes FROM phase_peak WHERE phase = '$1'")
	json at.json "(d['at'] == 'time' and d['devices'][0]['peak']['bytes'] == $want and
		all(sum(p['bytes'] for p in d['devices'][0][by]) == $want for by in ('by_phase', 'by_category', 'by_owner')))"
}
for phase in rollout logprob optimizer; do check "--at TIME: the peak of $phase" at_time $phase; done
check "--at 0s: nothing" bash -c '"$0" top --at 0s run.zst | grep -q "^Then: 0 B"' "$memana"

oom() { top --at oom small.zst && json at.json 'd["at"] == "oom" and len(d["devices"]) == 1 and d["devices"][0]["peak"]["time_ns"] == d["oom"][-1]["time_ns"]'; }
the_end() {
	end=$("$memana" sql run.db "SELECT max(last_time) FROM process") && top --at "${end}ns" run.zst || return 1
	want=$("$memana" sql run.db "SELECT sum(bytes) FROM live_at WHERE moment = 'end' AND in_use")
	json at.json "d['devices'][0]['peak']['bytes'] == $want"
}
check "--at TIME: the last moment there is" the_end

check "--at oom" oom
check "--at oom in words" bash -c '"$0" top --at oom small.zst | grep -q "the device held at least"' "$memana"
wrong() { status 2 "$memana" top --at "$1" "${@:3}" && one_line err "$2"; }
check "no out-of-memory error" wrong oom 'no out-of-memory error was recorded$' run.zst
check "no such step" wrong step:9 'the run has 2 steps$' run.zst
check "the step after the last" wrong step:3 'the run has 2 steps$' run.zst
check "no such time" wrong 100s 'top: --at 100\.0 s: the recording is over by then \(it ends at ' run.zst
check "no moment" wrong tomorrow 'not one of peak, oom, step:N' run.zst

# A database says the same, to the byte.
same() { diff <("$memana" top --at "$1" --json "$2") <("$memana" top --at "$1" --json "$3"); }
for at in step:1 step:2 300ms 1.2s; do check "a database: $at" same "$at" run.zst run.db; done
"$memana" load small.zst -o small.db >/dev/null
check "a database: oom" same oom small.zst small.db
check "a database: no such step" wrong step:9 'the run has 2 steps$' run.db
check "a database: no out-of-memory error" wrong oom 'no out-of-memory error was recorded$' run.db
check "a database: no such time" wrong 100s 'the recording is over by then \(it ends at ' run.db

check "--why" bash -c '"$0" top --why run.zst | grep -q "why: allocated in init; "' "$memana"
check "--why: the frame and its rule" bash -c '"$0" top --why small.zst | grep -q "phase by: linear (functional.py:114), rule pytorch.yaml:"' "$memana"
check "why, from a database" bash -c '"$0" top --why run.db >a; "$0" top --why run.zst >b; diff <(grep why: a) <(grep why: b)' "$memana"
check "why, in the database" test "$("$memana" sql run.db "SELECT count(*) > 0 FROM site WHERE evidence <> ''")" = 1

cat >mine.yaml <<'END'
rules:
  - function: '^forward$'
    file: 'model\.py$'
    role: critic
    category: kv cache
END
mine() { top --rules mine.yaml small.zst && json at.json 'any(s["phase"] == "critic" and s["decided_by"].endswith("mine.yaml:2") for s in d["devices"][0]["sites"])'; }
check "--rules: mine go first" mine
in_sql() { test "$("$memana" sql --rules mine.yaml small.zst "SELECT count(*) FROM site WHERE phase = 'critic'")" -gt 0; }
check "--rules with sql" in_sql
in_load() { "$memana" load --rules mine.yaml small.zst -o mine.db >/dev/null && test "$("$memana" sql mine.db "SELECT count(*) FROM site WHERE phase = 'critic'")" -gt 0; }
check "--rules with load" in_load
check "--rules with a report" status 0 "$memana" phases --rules mine.yaml small.zst
printf 'rules:\n  - function: x\n    colour: red\n' >bad.yaml
for command in top phases retained "load -o x.db"; do
	# shellcheck disable=SC2086
	bad() { status 3 "$memana" $command --rules bad.yaml small.zst && one_line err 'bad.yaml:3: a rule has no key'; }
	check "a wrong rules file: ${command%% *}" bad
done
check "rules for a database" bash -c '! "$0" top --rules mine.yaml run.db 2>err && grep -q "has its phases already" err' "$memana"
