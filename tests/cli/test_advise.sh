# memana advise on the cases of tests/cases: the actions for each cause, settings with the bytes that they save,
# what-if questions, and errors of the command line.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/cases.sh"

# proposed KEY [EXPRESSION]: the row of a setting whose key ends so, `r`, of which the expression is true.
proposed() { echo "(lambda r: r and ($2))(next((r for r in d['knobs'] if r['key'].endswith('$1')), None))"; }
# action CAUSE KEY: one of the first causes, with the setting against it; refused CAUSE: without one.
action() { echo "any(a['cause'] == '$1' and (a['key'] or '').endswith('$2') for a in d['actions'])"; }
refused() { echo "any(r['reason'] == '$1' for r in d['refusals']) and any(a['cause'] == '$1' and a['key'] is None for a in d['actions'])"; }
GiB="2**30"

play_quietly() { case=$1; check "$case: is true" play "$case"; }

play_quietly nemo-rl-3005
check "$case: chunks of the log-probs" told "$(action logits logprob_chunk_size)" advise
tells "the first action is that of the first cause" \
	"d['actions'][0]['cause'] == d['causes'][0]['id'] and d['actions'][0]['action_id'] == d['causes'][0]['action_id'] and len(d['actions']) <= 3" advise
tells "512 rows of each of 4 sequences are an eighth: 9.27 GiB become 1.16, and the model's own logits stay" \
	"(lambda gone, r: r['low'] <= d['peak']['in_use_bytes'] - gone <= r['high'] < r['low'] + $GiB)(4 * 4096 * 151936 * 4 * 7 // 8, d['predicted']['with_request_bytes'])" \
	advise --now policy.logprob_batch_size=4 --set policy.logprob_chunk_size=512
says "and what to paste" 'policy: {logprob_chunk_size: 1024}' advise
tells "a value that nobody told is not made up" "not d['configuration_known']" advise

play_quietly slime-1951
check "$case: one sample was too long" told "$(proposed rollout-max-context-len "int(r['proposed']) == 9216 and r['fits'] and r['cost'] == 'changes results'")" advise
tells "chunks do nothing where a backward follows: all of them stay" "not any(k['key'] == '--log-probs-chunk-size' for k in d['knobs'])" advise

play_quietly verl-6698
check "$case: what is kept is no setting's" told "$(refused grows)" advise

play_quietly slime-1086
check "$case: the cache starves NCCL: no setting" told "$(refused allocator_idle)" advise

play_quietly host-oom
check "$case: the host: no setting of the GPU" told "$(refused host) and not d['knobs']" advise

play_quietly skyrl-1365
check "$case: the engine that sleeps and keeps 14 GiB" told "$(refused peer_awake)" advise

play_quietly verl-2820
check "$case: a smaller part for the engine" told "$(action peer_awake rollout.gpu_memory_utilization)" advise
tells "it saves where it is awake" "$(proposed rollout.gpu_memory_utilization "$GiB < r['saved_bytes']['low'] < 3 * $GiB and r['fits']")" advise
tells "what fits costs little before what costs more" \
	"(lambda c: c == sorted(c))([['free', 'some time', 'much time', 'more GPUs', 'changes results'].index(r['cost']) for r in d['knobs'] if r['fits'] and not r['only_if']])" advise
never "an engine that is not there" 'mem_fraction_static' advise

play_quietly verl-2448
tells "pieces that are all kept: smaller ones are only more of them" \
	"not any('chunk' in r['key'] or 'entropy_checkpointing' in r['key'] for r in d['knobs'])" advise
tells "a function on the stack proves that it is on" \
	"any(i['key'].endswith('entropy_from_logits_with_chunking') and 'recorded stacks' in i['why'] for i in d['idle'])" advise

play_quietly trl-6684
never "the gradients are no activations: no smaller batch" 'per_device_train_batch_size' advise

play_quietly verl-3453
check "$case: a process that did not fill the host" told "$(refused host) and not d['knobs']" advise

play_quietly open-rl-99
tells "activations: recompute them" "$(proposed gradient_checkpointing "r['fits'] and r['category'] == 'activations' and r['action_id'] == 'checkpoint'")" advise
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
check "a warning is a line of its own, behind an empty one" bash -c '"$0" advise $1 --now nothing=1 | grep -B1 "^Warning: " | head -n 1 | grep -qx ""' "$memana" "$trace"
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
