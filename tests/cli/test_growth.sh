# The growth of a run, its places and its bytes: all reports have the same numbers.
. "$SRC/tests/cli/lib.sh"
"$BUILD/tests/unit/test_growth" --write . || { echo "not ok traces for growth"; exit 1; }

# The object "growth" of each report of these traces, one a line.
told() { # NAME
	local command
	for command in top growth steps phases retained "check --growth 0"; do
		"$memana" $command --json "$1".[0-9].zst
	done | python3 -c '
import json, sys
decoder, text = json.JSONDecoder(), sys.stdin.read().lstrip()
while text:
    document, end = decoder.raw_decode(text)
    print(json.dumps(document["growth"], sort_keys=True))
    text = text[end:].lstrip()'
}
agree() { # NAME STATE BYTES
	told "$1" >told && [ "$(wc -l <told)" = 6 ] && [ "$(sort -u told | wc -l)" = 1 ] &&
		head -n 1 told | json /dev/stdin "(d['state'], d['bytes'], len(d['places'])) == ('$2', $3, $(($3 > 0)))" || { cat told; return 1; }
}
# advise says that no setting helps where something grows, and nowhere else. A little that grows is no cause.
advised() { # NAME EXPRESSION
	"$memana" advise --json "$1".[0-9].zst >advice.json &&
		json advice.json "any(r['reason'] == 'grows' for r in d['refusals']) == ($2)"
}
while read -r name state bytes; do
	check "$name: all reports agree" agree "$name" "$state" "$bytes"
	[ "$state" = growing ] || check "$name: so does advise" advised "$name" False
done <kinds.txt
for name in step batch backward third all-ranks; do check "$name: so does advise" advised "$name" True; done

# The causes of a peak: what much later steps need as well is no growth, and nothing more than before.
causes() { # NAME LIST
	"$memana" oom --json "$1".0.zst >oom.json && json oom.json \
		"[c['id'] for c in d['causes'] if c['id'] in ('grows', 'more_than_before')] == $2"
}
check "oom: a store that is full does not grow" causes store "[]"
check "oom: a leak does" causes step "['grows']"

check "check: a leak breaks a limit" status 1 "$memana" check --growth 1MiB step.0.zst
check "check: an output that is replaced does not" status 0 "$memana" check --growth 0 output.0.zst
check "one place with its ranks" bash -c '"$0" steps --json all-ranks.?.zst >all.json' "$memana"
check "each of them once" json all.json \
	'[(p["ranks"], p["processes"], p["bytes_per_step"] >> 20) for p in d["growth"]["places"]] == [(list(range(8)), 8, 16)]'
check "the GPU grows by the sum" json all.json '[(g["bytes_per_step"] >> 20, g["processes"]) for g in d["growth"]["devices"]] == [(16, 8)]'

# growth: one page. Phases are parts of the same bytes, and so are places, each with its stack.
whole='(p := d["per_step"], sum(f["bytes"] for f in d["phases"]) == sum(k["bytes"] for k in p) == d["growth"]["bytes"],
	all(sum(f["bytes"] for f in s["in_use_by_phase"]) == s["in_use_bytes"] for l in d["processes"] for s in l["steps"]),
	[k["stack"][0]["function"] for k in p] == [k["function"] for k in p] == ["keep"] * len(p))[1:] == (True,) * 3'
for name in step all-ranks third nothing step-2; do
	check "growth, $name: exit status 0" status 0 "$memana" growth "$name".?.zst
	check "growth, $name: one page" bash -c '[ "$(wc -l <out)" -le 50 ] && ! grep -qE ".{81}" out'
	"$memana" growth --json "$name".?.zst >"$name.json"
	check "growth, $name: parts of the whole" json "$name.json" "$whole"
done
check "growth: the phases at the last end" json step.json \
	'{p["phase"]: p["in_use_bytes"] >> 20 for p in d["phases"] if p["in_use_bytes"]} == {"forward": 16, "optimizer": 80, "init": 40}'
"$memana" growth third.0.zst >third.txt
# There are 12 rows at most: the first step, the last one, and between them rows of several steps with the highest peak.
check "growth: a long run in few rows" bash -c '[ "$(grep -cE "^ +[0-9]+(-[0-9]+)?[* ] " third.txt)" -le 12 ] &&
	grep -qE "^ +2-4 .* 135\.0 MiB  forward +126\.0 MiB +\+2\.0 MiB" third.txt'

# A step without an end has a row where it has the peak, or a failed request. Its held bytes may be those of the step before: the allocator keeps them.
last() { # NAME LINE...: the fourth forward
	local name=$1
	shift
	cat >"$name.case" - <(printf '%s\n' "$@" "free a4 b4") <<'END'
expect: largest
gpu GPU-1 8GiB
process trainer 100 GPU-1 0
stack train
	main train.py:10
stack forward train
	_call_impl torch/nn/modules/module.py:1762
	forward model.py:20
stack backward train
	backward torch/_tensor.py:648
	backward torch/autograd/__init__.py:353
stack optimizer train
	wrapper torch/optim/optimizer.py:485
	step torch/optim/adam.py:246
at train
alloc weights 1GiB
alloc early 512MiB
free early
for S 1..3
at forward
alloc a{S} 4GiB
alloc b{S} 2GiB
free a{S}
at backward
alloc g{S} 1GiB
free b{S} g{S}
at optimizer
alloc o{S} 1GiB
free o{S}
done
at forward
alloc a4 4GiB
alloc b4 2GiB
END
	mkdir "$name" && "$BUILD/cases/make_case" "$name.case" "$name" && "$memana" steps --json "$name/trainer.zst" >"$name.json"
}
rows() { # NAME EXPECTED: steps with ended and MiB of the peak
	json "$1.json" "[(s['step'], s['ended'], s['peak_bytes'] >> 20) for s in d['processes'][0]['steps']] == $2"
}
ended='(1, True, 7680), (2, True, 7680), (3, True, 7680)'
peak_is_last() {
	last higher "alloc c4 512MiB" "free c4" && rows higher "[$ended, (4, False, 7680)]" && "$memana" top --json higher >top.json &&
		json top.json 'd["devices"][0]["peak"]["step"] == 4' && "$memana" steps higher | grep -q 'in step 4, which did not end'
}
check "steps: the last one has the peak, by its tensors alone" peak_is_last
failed_is_last() { last failed "alloc c4 3GiB fails" && rows failed "[$ended, (4, False, 7680)]"; }
check "steps: the last one has the failed request" failed_is_last
neither() { last neither && rows neither "[$ended]"; }
check "steps: it has neither: no row" neither
bare() {
	LD_LIBRARY_PATH=$standin "$memrec" -q --depth 0 -o bare.zst -- "$BUILD/samples/rl_step" --steps 6 --quiet >/dev/null && "$memana" growth bare.zst | grep '^Growing: code without a stack keeps 98.0 MiB more'
}
check "no stacks: a place that can keep something" bare
