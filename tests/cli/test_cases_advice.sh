# What memana advise proposes on tests/cases, held against the recording: figures are those of the failed moment, what does not
# follow the micro-batch is not scaled with it, what the recording shows goes before a default, and the first proposal is about
# what failed.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/cases.sh"

told_document() {
	[ -e "$case/advise.json" ] || "$memana" advise -n 0 --json "$case"/*.zst >"$case/advise.json" || return 1
	json "$case/advise.json" "$1"
}
# row KEY EXPRESSION: true of the row r of the setting whose key ends so; `d` is the document.
row() { check "$case: $1: $3" told_document "(lambda r: r is not None and ($2))(next((r for r in d['knobs'] if r['key'].endswith('$1')), None))"; }
advises() { check "$case: $1" told_document "$2"; }
proposes() { check "$case: $1" told_document "[k['key'] for k in d['knobs']][:1] == ['$2']"; }
GiB="2**30"

# ---- figures of the moment ----

begin nemo-rl-2319
advises "a category has as many bytes in the evidence as in the table of memana oom" \
	"not any('58.5 GiB' in k['evidence'] for k in d['knobs']) and any('30.0 GiB of probably weights at the failed request' in k['evidence'] for k in d['knobs'])"

# ---- what follows the micro-batch ----

begin deepspeed-467
proposes "the bucket, which is what fills it" zero_optimization.reduce_bucket_size
row per_device_train_batch_size "r['saved_bytes']['high'] < 5 * $GiB" "buckets of one size in micro-batches of many do not shrink with it"
row per_device_train_batch_size "r['saved_bytes']['high'] - r['saved_bytes']['low'] >= 2**30" "a request of which nobody can tell makes a range"
row zero_optimization.reduce_bucket_size "r['saved_bytes']['low'] >= 3.9 * $GiB and r['saved_bytes']['high'] < 8.4 * $GiB" "how many times its value it is nobody says: a range"
advises "settings of a checkpointing that is not on the stacks are for nobody" "not any('activation_checkpointing' in k['key'] for k in d['knobs'])"
