# memana retained: tells real growth from memory that stays, and from memory that is replaced.
. "$SRC/tests/cli/lib.sh"
"$BUILD/tests/unit/test_retained" --write . || { echo "not ok traces for retained"; exit 1; }

retained() { "$memana" retained --json "$1" "${@:3}" >out.json && json out.json "$2"; }
says() { "$memana" retained "$1" "${@:3}" | head -4 | tr '\n' ' ' | grep -qE -- "$2" || { "$memana" retained "$1" "${@:3}"; return 1; }; }

# 6 MiB of outputs at each of 4 micro-batches, until the step ends; gradients and activations are none of it.
check "growth with every micro-batch" retained batches.zst \
	'[(g["bytes_each"] >> 20, g["parts"], g["parts_of"], g["steps"], g["steps_of"], g["function"], g["line"]) for g in d["per_micro_batch"]] == [(6, 3, 4, 6, 6, "forward_step", 312)]'
check "that ends with the step is none across steps" retained batches.zst 'd["per_step"] == [] and d["steps"] == 6'
check "its verdict" says batches.zst '^forward_step \(actor.py:312\) keeps 6.0 MiB more with every micro-batch '
check "one step of them" retained batches.zst 'd["per_micro_batch"][0]["steps_of"] == 1 and d["per_micro_batch"][0]["step"] == 3' --step 3
check "that is no share of the steps" says batches.zst 'before the last one of step 3\), ' --step 3

# 3 MiB of metrics at every step; beside it a cache of changing size that is replaced.
check "growth with every step" retained leak.zst \
	'[(g["bytes"] >> 20, g["parts"], g["first"], g["function"], g["phase"]) for g in d["per_step"]] == [(18, 6, 1, "log_metrics", "logprob")]'
check "in one figure" retained leak.zst \
	'(g := d["growth"], g["state"], g["bytes"] >> 20, g["bytes_per_step"] >> 20, [p["place"] for p in g["places"]])[1:] == ("growing", 18, 3, ["metrics.py:77"])'
check "its stack" retained leak.zst '[f["function"] for f in d["per_step"][0]["stack"]] == ["log_metrics", "main"]'
check "without it nothing grows" retained clean.zst 'd["per_step"] == [] and d["per_micro_batch"] == []'
check "what stays: weights and optimizer state" retained clean.zst \
	'd["stays"] == {"weights": 40 << 20, "optimizer state": 80 << 20} and d["later_bytes"] == 9 << 20'
check "its verdict" says clean.zst '^Nothing grows over 6 steps. In use in all of them: 120.0 MiB since step 1'
check "two steps are too few" retained short.zst \
	'd["growth"]["state"] == "unknown" and sum(o["bytes"] for o in d["outlived"]) == 12 << 20'

# With no step, one and two: steps and retained ask for the same number.
asks() { "$memana" "$1" "$2" | tr '\n' ' ' | grep -q 'ended.*: record four or more steps'; }
few() {
	local trace
	for trace in "$SRC/tests/golden/v1-later.zst" "$SRC/tests/golden/v1-symbols.zst" short.zst; do
		asks retained "$trace" || { "$memana" retained "$trace" | head -5; return 1; }
	done
	asks steps short.zst
}
check "too few steps: how many to record" few

# Across phases.
check "born in rollout, alive in backward" retained leak.zst \
	'[(p["bytes"] >> 20, p["from"], p["to"], p["function"]) for p in d["places"]] == [(9, "rollout", "backward", "Cache.fill")]' \
	--from rollout --to backward
check "its verdict" says leak.zst '^9.0 MiB allocated in rollout is alive at the peak of backward' --from rollout --to backward
check "in one step" retained leak.zst 'd["phases"][0]["bytes"] == 7 << 20' --from rollout --step 3
check "nothing is an answer" says clean.zst '^Nothing that was allocated in logprob is alive' --from logprob

"$memana" load leak.zst -o leak.db >/dev/null
same() { "$memana" retained "$@" leak.zst >one && "$memana" retained "$@" leak.db >two && cmp one two; }
check "a database gives the same answer" same
check "and the same JSON" same --json --from rollout
narrow() { for t in batches leak clean short; do "$memana" retained "$t.zst"; done | awk 'length > 80 { print; bad = 1 } END { exit bad }'; }
check "80 columns" narrow

check "no such phase" status 2 "$memana" retained --from lunch leak.zst
check "says so in one line" one_line err 'retained: --from lunch: no such phase'
check "no such step" status 2 "$memana" retained --step 99 leak.zst
check "says that, too" one_line err '^memana: retained: --step 99: the run has no such step'
check "no step 0" status 2 "$memana" retained --step 0 leak.zst
check "no trace" status 2 "$memana" retained
head -c 700 leak.zst >torn.zst
head -c 40 leak.zst >stub.zst
check "a stub" status 3 "$memana" retained stub.zst
check "in one line" one_line err 'stub.zst'
