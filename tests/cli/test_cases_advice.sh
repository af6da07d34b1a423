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
	"not any('58.5 GiB' in k['evidence'] for k in d['knobs']) and any('30.0 GiB at the failed request, probably weights' in k['evidence'] for k in d['knobs'])"

# ---- what follows the micro-batch ----

begin deepspeed-467
proposes "the bucket, which is what fills it" zero_optimization.reduce_bucket_size
row per_device_train_batch_size "r['saved_bytes']['high'] < 5 * $GiB" "buckets of one size in micro-batches of many do not shrink with it"
row per_device_train_batch_size "r['saved_bytes']['high'] - r['saved_bytes']['low'] >= 2**30" "a request of which nobody can tell makes a range"
row zero_optimization.reduce_bucket_size "r['saved_bytes']['low'] >= 3.9 * $GiB and r['saved_bytes']['high'] < 8.4 * $GiB" "how many times its value it is nobody says: a range"
advises "settings of a checkpointing that is not on the stacks are for nobody" "not any('activation_checkpointing' in k['key'] for k in d['knobs'])"

# ---- the recording goes before a default ----

begin trl-3128
row vllm_gpu_memory_utilization "r['now'] == '0.64' and r['now_from'] == 'the recording' and float(r['proposed']) < 0.64 and r['fits']" \
	"36 GiB of cache and 14 of weights are no 0.3 of 79"
row vllm_tensor_parallel_size "r['saved_bytes']['high'] < 40 * $GiB" "divides the engine's weights, and not the trainer's beside them"
says "who says what it is now" '0.64 \(by the recording\) -> 0.59' advise
begin sglang-10597
row mem_fraction_static "(r['now'], r['proposed']) == ('0.83', '0.78')" "weights and cache of the engine together"
begin open-rl-99
says "nothing says what it is: a default is one, if nothing is set" 'false \(default, if not set\) -> true' advise
says "also where it is why something has no effect" 'already off \(default of .*, if it is not set\)' advise -n 0
check "$case: what is said is no default" bash -c '"$1" advise "$2"/*.zst --now actor.mb_spec.n_mbs=4 | tr -s " \n" " " | grep -qF "n_mbs 4 (--now) -> 8"' - "$memana" "$case"

# ---- caps ----

begin slime-1767
proposes "what is too long is capped, at what fits" --rollout-max-context-len
row rollout-max-context-len "216760 > int(r['proposed']) > 100000 and r['fits']" "as long as fits, and not as long as those before"
advises "logits of the forward pass are not the loss's to compute again" "not any(k['key'] == '--recompute-loss-function' for k in d['knobs'])"
begin slime-1951
row rollout-max-context-len "102738 > int(r['proposed']) > 9216 and r['fits'] and r['cost'] == 'changes results'" "as long as fits"
advises "chunks of what a backward needs are all kept" "not any(k['key'] == '--log-probs-chunk-size' for k in d['knobs'])"
begin easyr1-9
proposes "fused kernels cost nothing" actor_rollout_ref.model.use_fused_kernels

# ---- the first sentence: what to change, how much it saves, whether that is enough, how sure ----

case=deepspeed-467
says "all of it" '^Try zero_optimization.reduce_bucket_size = 250000000, now 500000000 \(default, if not set\): it saves probably 4\.[0-9] to 7\.[0-9] GiB\. 283\.4 MiB of the 23\.3 GiB needed is missing, so that is probably enough\. Out of memory' advise
begin trl-6684
says "what has to be so for it, and what to try else" '^If the model is float32 now \(the recording does not tell: print next\(model.parameters\(\)\).dtype\), try from_pretrained\(dtype\) = bfloat16.* Else try optim = adamw_8bit' advise
begin verl-6912
says "what can come back, of what is missing" '^Before any setting: .* Up to 36.0 GiB can come back so, and 10.0 GiB is missing: enough\.' advise
says "what is not enough" 'saves probably 7.7 to 8.0 GiB' advise
begin trl-3133
says "no setting does it: who does" '^Gather fewer or smaller modules at once\. None of the settings of trl .*: _move_model_to_vllm \(grpo_trainer.py:612\) of trl makes it so' advise

# ---- one order of causes for oom and advise ----

begin verl-2820
says "the engine that is awake, before the request's own size" '33.0 GiB is kept by initialize_kv_cache .*kv cache, 33.0 GiB: the engine is awake while the trainer works: .*The request itself is as large as the logits of 18,000 tokens' oom
says "the same in advise" '^Before any setting: the engine is awake while the trainer works' advise
advises "as a neighbour's, with the setting that says otherwise" "[r['reason'] for r in d['refusals']] == ['neighbour', 'setting-ignored']"
begin nemo-rl-1159
says "states of who does not train now" 'optimizer state, 33.0 GiB: the trainer does not train while the engine generates: let it take its states to the host' oom
says "the same in advise" '^Before any setting: the trainer does not train while the engine generates' advise
never "and nothing that is on the host for good is pasted" 'To paste' advise
never "no word that they go anyway, while they are there" 'states go anyway' advise -n 0
begin qwen-vl-finetune-88
says "the sample that is larger than all before, with what would have fitted" '^Before any setting: look at this sample, and cap the pixels of a picture or video \(max_pixels of the processor\): it is 16 times as large as any before, and 15.[0-9] times as large would have fitted\. Or try gradient_checkpointing' advise
begin transformers-3730
never "things that are at their usual size are no outlier" 'look at this sample' advise

# ---- rows of what only the recording tells ----

begin accelerate-2531
proposes "gradients that wait whole are reduced sooner" GradientAccumulationPlugin.sync_each_batch
row sync_each_batch "r['saved_bytes']['low'] > 30 * $GiB and r['fits'] and 'sync_each_batch=True' in r['paste']" "shards stay beside it"
never "no default that the gradients refute" 'gradient_accumulation_steps: at its floor' advise -n 0
case=deepspeed-467
advises "without whole gradients it is for nobody" "not any('sync_each_batch' in k['key'] for k in d['knobs'])"
begin nemo-rl-2871
row sequence_packing.train_mb_tokens "r['fits'] and r['only_if'] is None" "packing is on, by the stacks: its budget counts"
advises "and what packing does not read, or does not go with, is for nobody" \
	"not any(w in k['key'] for k in d['knobs'] for w in ['train_micro_batch_size', 'use_fused_linear_logprobs'])"
begin two-ranks
says "what is not evenly dealt, with the settings that deal" '^Before any setting: deal the tokens out evenly: trainer.balance_batch, actor_rollout_ref.actor.use_dynamic_bsz\. GPU 0 has 40.0 GiB less at its peak; half of that could go from here' advise
begin host-oom
says "what keeps it on the host, and what room the GPU has" '^The host is short of memory, not the GPU: turn actor_rollout_ref.actor.fsdp_config.optimizer_offload off, as 64.0 GiB of the GPU was never held' advise
begin verl-3453
never "a process that had little to do with it turns nothing off" 'offload off' advise
begin skyrl-1365
says "weights outside of the pool: the engine's version" '^Before any setting: take another version of the engine that sleeps, .* Up to 14.0 GiB can come back so, and 1000.0 MiB is missing: enough' advise
case=sglang-10597
says "an engine alone was recorded: who sends, and by which setting of each" '^Before any setting: let whoever sends the weights send fewer at once \(.*weight_chunked_mem_mb of areal.*--update-weight-buffer-size of slime' advise
never "not first what was only in the way" 'To paste' advise
