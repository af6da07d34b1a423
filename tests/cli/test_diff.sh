# memana diff: compares two runs by device, step, phase and place.
. "$SRC/tests/cli/lib.sh"
"$BUILD/tests/unit/test_retained" --write . || { echo "not ok traces for diff"; exit 1; }

# differ A B EXPRESSION [OPTION...]: exit status 1 and JSON for which the expression is true.
differ() { status 1 "$memana" diff --json "${@:4}" "$1" "$2" && json out "$3"; }
row() { echo "[(r['name'], r['a_bytes'], r['b_bytes']) for r in d['$1'] if r['change_bytes']]"; }

check "a run equals itself" status 0 "$memana" diff before.zst before.zst
check "and says so" grep -q '^A and B are equal within 1%' out
check "lines that moved are no difference" status 0 "$memana" diff --json before.zst moved.zst
check "their place is one" json out 'all(r["change_bytes"] == 0 and r["a_bytes"] is not None and r["b_bytes"] is not None for r in d["sites"])'

check "the peak" differ before.zst after.zst "$(row devices) == [('GPU 0', 52 << 20, 96 << 20)]"
check "twice the bytes per allocation" differ before.zst after.zst \
	'[(r["name"], r["phase"], r["factor"]) for r in d["sites"] if "factor" in r] == [("compute_loss (actor.py:44)", "forward", 2.0)]'
check "and half, the other way round" differ after.zst before.zst '[r["factor"] for r in d["sites"] if "factor" in r] == [0.5]'
check "a new owner" differ before.zst after.zst '[(r["a_bytes"], r["b_bytes"]) for r in d["by_owner"] if r["name"] == "libnccl"] == [(None, 32 << 20)]'
check "micro-batches" differ before.zst after.zst '(d["a_micro_batches"], d["b_micro_batches"]) == (4, 2)'
check "phases and steps" differ before.zst after.zst '[r["change_bytes"] >> 20 for r in d["step_peaks"][:2]] == [44, 44] and len(d["phase_peaks"]) >= 2'
check "parts add up to the peaks" differ before.zst after.zst \
	'all(sum(r[s] or 0 for r in d[k]) == d["devices"][0][s] for k in ("by_phase", "by_category", "by_owner", "sites") for s in ("a_bytes", "b_bytes"))'

verdict() { "$memana" diff before.zst after.zst | head -5 | tr '\n' ' ' | grep -qE "$1"; }
check "verdict: how much and where" verdict '^B takes 44.0 MiB more than A at the peak of GPU 0, 96.0 MiB instead of 52.0 MiB'
check "verdict: new owner, micro-batches" verdict 'libnccl is new in B \(32.0 MiB\). A has up to 4 micro-batches in a step, B 2.'
check "what the tables say of the bytes" bash -c '"$0" diff before.zst after.zst | tr -s " \n" " " | grep -q "twice the bytes per allocation: bf16 -> fp32?"' "$memana"
check "a tolerance" status 0 "$memana" diff --tolerance 100 before.zst moved.zst
check "half of a peak is more than 10 percent" status 1 "$memana" diff --tolerance 10% before.zst after.zst

"$memana" load before.zst -o before.db >/dev/null && "$memana" load after.zst -o after.db >/dev/null
same() {
	"$memana" diff before.zst after.zst >one
	"$memana" diff before.db after.db >two
	cmp one two
}
check "databases give the same answer" same
"$BUILD/tests/unit/test_query" --write . 2>/dev/null
check "several traces are one run" status 0 "$memana" diff rank0.zst,rank1.zst rank1.zst,rank0.zst
check "and not the same as one of them" status 1 "$memana" diff rank0.zst,rank1.zst rank0.zst
narrow() { "$memana" diff before.zst after.zst | awk 'length > 80 { print; bad = 1 } END { exit bad }'; }
check "80 columns" narrow

check "one run is too few" status 2 "$memana" diff before.zst
check "no percentage" status 2 "$memana" diff --tolerance much before.zst after.zst
printf 'rules:\n  - function: x\n    colour: red\n' >bad.yaml
printf 'rules:\n  - function: no_such_function\n    role: critic\n' >mine.yaml
check "--rules FILE" status 0 "$memana" diff --rules mine.yaml before.zst before.zst
check "with something wrong in it" status 3 "$memana" diff --rules bad.yaml before.zst before.zst
all_rows() { "$memana" diff --json -n "$1" before.zst after.zst >rows.json; json rows.json "max(len(d[key]) for key in ('devices', 'phase_peaks', 'sites')) == $2"; }
check "-n counts in JSON" all_rows 1 1
check "no file" status 4 "$memana" diff before.zst nowhere.zst
check "in one line" one_line err 'nowhere.zst'
head -c 40 after.zst >stub.zst
check "a stub" status 3 "$memana" diff before.zst stub.zst
check "in one line, too" one_line err 'stub.zst'
python3 - <<'PY'
for name in ("before", "after"):
    data = bytearray(open(name + ".zst", "rb").read())
    data[200] ^= 0x55
    open(name + "-bad.zst", "wb").write(data)
PY
check "two damaged runs" status 3 "$memana" diff before-bad.zst after-bad.zst
check "are said in one line" one_line err '^memana: before-bad.zst: .* at byte'
check "a damaged run, and none" status 4 "$memana" diff before-bad.zst nowhere.zst
check "is said in one line" one_line err 'nowhere.zst'
