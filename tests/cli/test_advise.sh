# memana advise on the cases of people who ran out of memory: the setting that helped them comes up with bytes, and where none
# helped, none is proposed; what if; what is wrong on the command line.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/cases.sh"

# proposed KEY [EXPRESSION]: the row of a setting whose key ends so, `r`, of which the expression is true.
proposed() { echo "(lambda r: r and ($2))(next((r for r in d['knobs'] if r['key'].endswith('$1')), None))"; }
first() { echo "d['knobs'] and d['knobs'][0]['key'].endswith('$1')"; }
refused() { echo "any(r['reason'] == '$1' and r['no_setting_helps'] for r in d['refusals']) and not d['knobs']"; }
GiB="2**30"

play_quietly() { case=$1; check "$case: is true" play "$case"; }

play_quietly nemo-rl-3005
check "$case: chunks of the log-probs come first" told "$(first logprob_chunk_size)" advise
tells "512 rows of each of 4 sequences are an eighth: 9.27 GiB become 1.16, and the model's own logits stay" \
	"(lambda gone, r: r['low'] <= d['peak']['in_use_bytes'] - gone <= r['high'] < r['low'] + $GiB)(4 * 4096 * 151936 * 4 * 7 // 8, d['predicted']['with_request_bytes'])" \
	advise --now policy.logprob_batch_size=4 --set policy.logprob_chunk_size=512
says "and what to paste" 'policy: logprob_chunk_size: 1024' advise
tells "a value that nobody told is not made up" "not d['configuration_known']" advise

play_quietly slime-1951
check "$case: one sample was too long" told "$(proposed rollout-max-context-len "102738 > int(r['proposed']) > 9216 and r['fits'] and r['cost'] == 'changes results'")" advise
tells "chunks do nothing where a backward follows: all of them stay" "not any(k['key'] == '--log-probs-chunk-size' for k in d['knobs'])" advise

play_quietly verl-6698
check "$case: retention: no setting" told "$(refused retention)" advise
says "says so" 'No setting fixes this.*drop the reference' advise

play_quietly nemo-rl-2619
check "$case: a neighbour that grows: no setting" told "$(refused retention)" advise

play_quietly slime-1086
check "$case: the cache starves NCCL: no setting" told "$(refused idle-cache)" advise
says "says what to do" 'empty_cache' advise

play_quietly host-oom
check "$case: the host: no setting" told "$(refused host)" advise

play_quietly skyrl-1365
tells "the engine that sleeps and keeps 14 GiB goes before settings" "d['refusals'][0]['reason'] == 'neighbour'" advise

play_quietly verl-2820
tells "a cache that should sleep, and does not" \
	"any(r['reason'] == 'setting-ignored' and 'free_cache_engine' in r['evidence'] for r in d['refusals'])" advise
tells "a smaller part for the engine saves where it is awake" "$(proposed rollout.gpu_memory_utilization "$GiB < r['saved_bytes']['low'] < 3 * $GiB and r['fits']")" advise
tells "what fits costs little before what costs more" \
	"(lambda c: c == sorted(c))([['free', 'some time', 'much time', 'more GPUs', 'changes results'].index(r['cost']) for r in d['knobs'] if r['fits'] and not r['only_if']])" advise
never "an engine that is not there" 'mem_fraction_static' advise

play_quietly verl-2448
tells "pieces that are all kept: smaller ones are only more of them" \
	"any(r['reason'] == 'setting-ignored' and 'pieces' in r['evidence'] for r in d['refusals']) and not any('chunk' in r['key'] or 'entropy_checkpointing' in r['key'] for r in d['knobs'])" advise
tells "a function on the stack proves that it is on" \
	"any(i['key'].endswith('entropy_from_logits_with_chunking') and 'recorded stacks' in i['why'] for i in d['idle'])" advise
says "the first thing comes before settings, also in the first sentence" 'Before any setting: let each piece go' advise

play_quietly trl-6684
never "the gradients are no activations: no smaller batch" 'per_device_train_batch_size' advise

play_quietly nccl-lazy
says "a run with room has nothing to change" 'nothing failed, and 42.0 GiB was never held' advise

play_quietly verl-3453
says "a process that did not fill the host" 'this one is not what filled the host' advise

play_quietly open-rl-99
tells "activations: recompute them" "$(proposed gradient_checkpointing "r['fits'] and r['category'] == 'activations'")" advise
never "Megatron's, of which nothing was seen" 'fine-grained' advise

# Questions "what if".
tells "nothing is set: nothing is predicted beside the rows" "'predicted' not in d" advise
tells "half of the micro-batches' tokens" \
	"d['predicted']['with_request_bytes']['high'] < d['peak']['in_use_bytes'] * 0.7" advise --now actor.mb_spec.n_mbs=1 --set actor.mb_spec.n_mbs=2
tells "together they save more than alone" "d['predicted']['fits'] and len(d['predicted']['settings']) == 2" advise \
	--now actor.mb_spec.n_mbs=1 --set actor.mb_spec.n_mbs=2 --set actor.gradient_checkpointing=true
tells "a size to fit: the settings, and it fits" "d['predicted']['fits'] and d['predicted']['peak_bytes']['low'] <= 40 * $GiB" advise --fit 40GiB
tells "a size that nothing reaches" "not d['predicted']['fits']" advise --fit 1GiB

tells "what a setting would add is not in the recording: no range" \
	"d['predicted'] is None and 'not in the recording' in d['not_predicted'][0]['why']" advise \
	--now actor.fsdp.offload_params=true --set actor.fsdp.offload_params=false

# Wrong.
trace=open-rl-99/*.zst
check "a key that is none: a warning" bash -c '"$0" advise $1 --now actor.mb_spec.max_token_per_mb=4096 | tr -s " \n" " " | grep -q "Warning: .*max_token_per_mb.*max_tokens_per_mb"' "$memana" "$trace"
wrong() { status 2 "$memana" advise $trace "$@" && one_line err '^memana: advise: '; }
check "no value" wrong --set actor.mb_spec.n_mbs
check "no such framework" wrong --framework nobody
check "no size" wrong --fit much
check "no trace" bash -c '"$0" advise 2>err; [ $? = 2 ] && grep -q "no trace named" err' "$memana"
printf 'a: [1\n' >torn.yaml
check "a configuration that is none" bash -c '"$0" advise $1 --config torn.yaml 2>err >out; [ $? = 3 ] && [ "$(wc -l <err)" = 1 ]' "$memana" "$trace"
check "a configuration that is not there" bash -c '"$0" advise $1 --config nowhere.yaml 2>err >out; [ $? = 4 ] && [ "$(wc -l <err)" = 1 ]' "$memana" "$trace"
printf 'actor:\n  gradient_checkpointing: true\n' >config.yaml
tells "what the configuration says is on, is not proposed" \
	"not any(r['key'] == 'actor.gradient_checkpointing' for r in d['knobs']) and any(i['key'] == 'actor.gradient_checkpointing' and 'config.yaml:2' in i['why'] for i in d['idle'])" \
	advise --config config.yaml

# The same of a database, and of what has nothing.
check "a database answers the same" bash -c '"$0" load $1 -o run.db >/dev/null && "$0" advise run.db >a && "$0" advise $1 >b && cmp a b' "$memana" "$trace"
check "nothing held: says so" bash -c '"$0" advise "$1" 2>err | grep -q "Nothing was held" && [ ! -s err ]' "$memana" "$SRC/tests/golden/v1-later.zst"
