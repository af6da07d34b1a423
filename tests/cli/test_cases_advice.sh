# The proposals of memana advise on tests/cases, held against the recording: figures are those of the failed moment, what does not
# follow the micro-batch is not scaled with it, what the recording shows goes before a default, and the first proposal is about
# what failed.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/cases.sh"

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
row vllm_gpu_memory_utilization "r['now'] == '0.85' and r['now_from'] == 'the recording' and 0.5 <= float(r['proposed']) <= 0.6 and r['fits']" \
	"53 GiB of cache, of which 36 had come, and 14 of weights are no 0.3 of 79; and all 28 pieces have to fit"
advises "all of the series is missing, not the next piece alone" "(d['later']['from'], d['later']['count']) == ('layers', 9) and 17 * $GiB < d['later']['bytes'] < d['needed_bytes'] < 18 * $GiB"
says "and how far that carries" 'so that is enough so far\. That counts the 9 more like it that come next: 18 of 28 were there\. The work that begins after the start is not counted: leave room for it\.' advise
never "more GPUs for an engine do not make it smaller" 'vllm_tensor_parallel_size.{0,60} -> ' advise -n 0
says "who says what it is now, and that nobody says what is set" 'not told \(the engine has 0.85 of the GPU\) -> lower by at least 0.26, to 0.59 or less' advise
begin sglang-10597
row mem_fraction_static "(r['now'], r['proposed'], r['paste']) == ('0.83', '0.81', None)" "weights and cache of the engine together"
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
says "all of it" '^Try zero_optimization.reduce_bucket_size of deepspeed = half of what it is now \(500000000 by default\): it saves probably 4\.[0-9] to 7\.[0-9] GiB\. 283\.4 MiB of the 23\.3 GiB needed is missing, so that is probably enough for this request\. What comes after this request is not counted\. Out of memory' advise
begin trl-6684
says "what has to be so for it, and what to try else" '^If the model is float32 now \(the recording does not tell: print next\(model.parameters\(\)\).dtype\), try from_pretrained\(dtype\) = bfloat16.* Else try optim = adamw_8bit' advise
says "to paste is what is named first" "from_pretrained\(dtype=.bfloat16.\)" advise
begin verl-6912
says "what can come back, of what is missing" '^Before any setting: .* Up to 36.0 GiB can come back so, and 10.0 GiB is missing: enough for this request\.' advise
says "what is not enough" 'saves probably 7.7 to 8.0 GiB' advise
begin trl-3133
says "no setting does it: who does" '^Gather fewer or smaller modules at once\. None of the settings of trl .*: _move_model_to_vllm \(grpo_trainer.py:612\) makes it so, see whether it, or another version of it,' advise

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
says "the sample that is larger than all before, with what would have fitted" '^Before any setting: look at this sample, and cap the pixels of a picture or video \(max_pixels of the processor\): what is made of it is 16 times as large as any before, and 8\.8 times as much would have fitted\. Or try gradient_checkpointing' advise
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
says "what is not evenly dealt, with the settings that deal" '^Before any setting: deal the tokens out evenly: actor_rollout_ref.actor.use_dynamic_bsz; trainer.balance_batch is on by default, see that nothing turns it off\. GPU 0 has 40.0 GiB less at its peak; half of that could go from here' advise
begin host-oom
says "what keeps it on the host, and what room the GPU has" '^The host is short of memory, not the GPU: turn actor_rollout_ref.actor.fsdp_config.optimizer_offload off, as 64.0 GiB of the GPU was never held' advise
begin verl-3453
never "a process that had little to do with it turns nothing off" 'offload off' advise
begin skyrl-1365
says "weights outside of the pool: the engine's version" '^Before any setting: take another version of the engine that sleeps, .* Up to 14.0 GiB can come back so, and 1000.0 MiB is missing: enough' advise
case=sglang-10597
says "an engine alone was recorded: who sends, and by which setting of each" '^Before any setting: let whoever sends the weights send fewer at once \(.*weight_chunked_mem_mb of areal.*--update-weight-buffer-size of slime' advise
never "not first what was only in the way" 'To paste' advise

# ---- for the whole step, not for the one request ----

case=qwen-vl-finetune-88
advises "the text of that sample comes after its picture, as in earlier steps" "d['later']['from'] == 'earlier-steps' and 44 * $GiB < d['later']['bytes'] < 47 * $GiB"
says "with the words" 'That counts 45\.7 GiB more, which the step takes after it, as earlier ones did\.' advise
case=slime-1767
advises "earlier steps took nothing more" "d['later'] == {'from': 'nothing', 'bytes': 0, 'count': 0}"
says "which is said" 'so that is probably enough\. Earlier steps took nothing more after it\.' advise
begin logprobs-long
advises "what came in another order is no more than the step had" "d['later']['from'] == 'nothing' and d['knobs'][0]['fits']"
case=accelerate-2531
advises "a shard of each layer was there before" "d['later']['from'] == 'layers' and d['later']['count'] == 8"
says "which is said, too" 'That counts the 8 more like it that come next: 23 of 32 were there\.' advise
case=deepspeed-467
advises "nobody knows" "d['later']['from'] == 'unknown'"
says "which is said, too" 'so that is probably enough for this request\. What comes after this request is not counted\.' advise

# ---- what the stacks show to be on; whose model it is; what the trace's own code can take ----

case=nemo-rl-2871
proposes "the budget of packed sequences" policy.sequence_packing.train_mb_tokens
advises "chunks of log-probs need logits that stay in 16 bits: both are on" \
	"{i['key']: i['why'] for i in d['idle']}['policy.megatron_cfg.defer_fp32_logits'] == 'already on: ChunkedDistributedLogprob.forward is on the recorded stacks'"
begin nemo-rl-2882
proposes "the teacher's own setting" teacher.dynamic_batching.logprob_mb_tokens
advises "and none of the student's" "not any(k['key'].startswith('policy.') and 'max_total' not in k['key'] for k in d['knobs'])"
case=nemo-rl-2319
advises "where no teacher runs there is none" "not any(k['key'].startswith('teacher.') for k in d['knobs'] + d['idle'])"
begin ezpz-173
proposes "units" 'FullyShardedDataParallel(auto_wrap_policy)'
says "with what to write" 'FullyShardedDataParallel\(auto_wrap_policy=ModuleWrapPolicy\({Block}\)\)' advise
says "of what" 'Block is the class of the model.s layers; with fully_shard: call it on each block before the whole model' advise
case=accelerate-2531
advises "layers that are gathered one by one are units" "not any('auto_wrap_policy' in k['key'] for k in d['knobs'])"
begin transformers-22602
proposes "smaller batches: this loop gathers before it calls preprocess_logits_for_metrics" per_device_eval_batch_size
advises "and so that one saves nothing" "not any('preprocess_logits' in k['key'] for k in d['knobs'])"
# A later loop, which calls it before it gathers.
gathers_later() {
	mkdir later && sed 's,_nested_gather ,gather_function ,' "$SRC/tests/cases/transformers-22602.case" >later.case &&
		"$BUILD/cases/make_case" later.case later
}
case=later
check "later: is true" gathers_later
proposes "what makes less of the outputs before they are gathered" 'Trainer(preprocess_logits_for_metrics)'
case=transformers-22602
row per_device_eval_batch_size "r['fits'] and r['saved_bytes']['low'] > 7 * $GiB" "what is gathered follows the evaluation's batch"
advises "what is kept of all batches is another matter" "not any(k['key'] == 'eval_accumulation_steps' for k in d['knobs'])"
begin transformers-48131
proposes "fewer tokens reach the request itself, recomputing what is there does not" per_device_train_batch_size
row bf16 "r['saved_bytes']['low'] == 0 and r['saved_bytes']['high'] < 19 * $GiB and 'only floats of 32 bits' in r['evidence']" "whole numbers of 8 bytes do not become smaller"
begin torchtune-389
advises "settings of PyTorch's AdamW, which runs here" "any(k['key'].startswith('AdamW(') for k in d['knobs'])"
case=trl-3133
advises "and not where no such optimizer was seen" "not any(k['key'].startswith('AdamW(') for k in d['knobs'] + d['idle'])"
begin verl-1335
says "where the host filled up, and what helps there" '^The host is short of memory, not the GPU: save the checkpoint in shards, .* When it was last seen, in save_checkpoint \(fsdp_checkpoint_manager.py:150\), it had grown from 37\.3 GiB to 242\.4 GiB' advise
begin critic-alone
proposes "what failed is the critic's" critic.ppo_micro_batch_size_per_gpu
advises "the actor's settings do nothing for a critic of its own" "not any(k['key'].startswith('actor_rollout_ref.') for k in d['knobs'])"
begin ref-offload
advises "an offload that shows below whoever it is of, and the actor's is not" \
	"{i['key']: i['why'] for i in d['idle']}['actor_rollout_ref.ref.fsdp_config.param_offload'].startswith('already on: compute_ref_log_prob > load_fsdp_model_to_gpu') and not any('actor.fsdp_config.param_offload' in i['key'] and 'already' in i['why'] for i in d['idle'])"

# The same run with an optimizer of one's own, of PyTorch's base class.
own_optimizer() {
	mkdir own && sed 's,torch/optim/adamw.py,torch/optim/optimizer.py,' \
		"$SRC/tests/cases/torchtune-389.case" >own.case && "$BUILD/cases/make_case" own.case own
}
case=own
check "own: is true" own_optimizer
advises "an optimizer of one's own has no arguments of AdamW's" "not any(k['key'].startswith('AdamW(') for k in d['knobs'] + d['idle'])"

# The same model under the other FSDP, whose function takes no policy.
other_fsdp() {
	mkdir fsdp2 && sed 's,_alloc_padded_unsharded_flat_param .*,alloc_all_gather_outputs torch/distributed/fsdp/_fully_shard/_fsdp_param.py:400,
		s,torch/distributed/fsdp/_\?[a-z]*_[a-z_]*\.py,torch/distributed/fsdp/_fully_shard/_fsdp_state.py,' \
		"$SRC/tests/cases/ezpz-173.case" >fsdp2.case && "$BUILD/cases/make_case" fsdp2.case fsdp2
}
case=fsdp2
check "fsdp2: is true" other_fsdp
proposes "what makes units there" 'fully_shard(module)'

# The largest part goes first, though settings about something else would make room.
begin ms-swift-7986
says "a gather that no row is about: who makes it, before settings of other bytes" '^Before any setting: gather fewer or smaller modules at once\. None of the settings of transformers .*: _move_full_model_to_vllm \(rollout_mixin.py:647\) makes it so' advise
never "nothing to paste: the other bytes come second" 'To paste' advise
begin unsloth-5168
proposes "the evaluation's own batch, however deep its loop is on the stack" per_device_eval_batch_size
advises "neither the training's, nor a loss that leaves the logits out in training alone" \
	"not any(k['key'] in ('per_device_train_batch_size', 'use_liger_kernel') for k in d['knobs'])"

# Several processes fill the host: where they grew goes before what such processes usually have too much of.
begin easyr1-50
says "where they grew, and what helps there" '^The host is short of memory, not the GPU: the 4 processes .* 191\.9 GiB together, and grew in save_checkpoint \(fsdp_checkpoint_manager.py:120\), one from 18\.6 GiB to 48\.0 GiB\. GPU 0 had .* turn the offload off first; then, .* keep less on the host beside the checkpoint .*offloaded.*no optimizer state' advise
never "no shards, where each rank grew by as much" 'in shards|rank 0 alone' advise
begin transformers-25107
says "the same while a model is loaded" 'and grew in from_pretrained \(modeling_utils.py:2700\), one from 18\.6 GiB to 147\.1 GiB: let rank 0 alone load the weights' advise

# Memory of recomputation is made twice, the first time as it was: the call that failed fails a second time.
begin skypilot-10269
advises "what would be computed again would be asked for all the same" "not any(k['key'] == '--recompute-loss-function' for k in d['knobs'])"
says "longer than all before, though no step is known" 'it has 27,136 tokens, and none before had more than 8,192\. If that is one sample, cap the length of samples; else the tokens' advise
advises "and the states, which have most" "'--optimizer-cpu-offload' in [k['key'] for k in d['knobs']][:3]"
begin posttrainarena-29
row expandable_segments "r['fits'] and 'finds room for the 11.7 GiB' in r['evidence']" "the request again, in the model"

# A default is not taken for on if two steps were recorded and nothing was computed again.
begin verl-1932
says "the reference nobody needs goes first, and no other results while that is enough" '^Try actor_rollout_ref.ref.fsdp_config.param_offload = true, now false \(default, if not set\): it saves probably 13\.1 to 14\.2 GiB.*probably enough for this request\.' advise
row model.enable_gradient_checkpointing "r['now'] == 'false' and r['proposed'] == 'true'" "it was turned off, by the recording"
# A compiler's code for the model computes again without saying so: nothing is known of it then.
compiled() {
	"$memana" load "$case"/*.zst -o compiled.db >/dev/null && python3 - <<-'END' && "$memana" advise -n 0 --json compiled.db >compiled.json &&
		import sqlite3
		with sqlite3.connect("compiled.db") as database:
		    database.execute("UPDATE frame SET file = '/tmp/torchinductor_me/ab/cab.py' WHERE function = 'forward'")
	END
		json compiled.json "not any(k['key'].endswith('model.enable_gradient_checkpointing') for k in d['knobs'])"
}
check "$case: but not where the model was compiled" compiled
# A second copy of the model is no twice as many layers.
says "as many as the micro-batch before had, and no more" ' 187\.2 MiB of the 78\.4 GiB needed is missing' advise
never "27 of 28 were there" 'more like it' advise
without "the first micro-batch" '/^at ref$/,/^for layer 1\.\.27/{/^for layer 1\.\.27/!d}; s/1\.\.27/1..20/; s/79\.2GiB/36GiB/' first-batch
says "as many as one of the models has layers" 'counts the 7 more like it that come next: 20 of 28 were there' advise
case=verl-1932
# A budget beyond which a sample ends the run: its floor is said where it is proposed, and it is not first where one sample may be all.
case=nemo-rl-2882
says "the floor of a budget, at once, after what makes all of it in one piece" '^Before any setting: let distributed_vocab_topk \(model_utils\.py:1402\) cast fewer logits at a time, .* Or try teacher\.dynamic_batching\.logprob_mb_tokens = 24576, .* if no sample is longer than that \(one that is ends the run with an error\): it saves' advise
case=nemo-rl-2871
says "of one that was filled up, too" '^Before any setting: let _compute_distributed_log_softmax .* Or try policy\.sequence_packing\.train_mb_tokens = 77312, .* if no sample is longer than that' advise
begin nemo-rl-4222
never "a budget is not first where nothing tells that there are several samples" 'Or try policy\.sequence_packing' advise
row policy.sequence_packing.train_mb_tokens "'a micro-batch has several samples' in r['only_if']" "which its row says"
# Nothing is trained: no setting of a backward, and none of a micro-batch for what is copies of weights.
begin transformers-8403
advises "copies of weights are no activations of a batch" "not any(k['key'] in ('checkpoint(function)', 'DataLoader(batch_size)', 'autocast(dtype)') for k in d['knobs'])"
never "nothing is computed again where no backward comes" 'backward pass|Settings of pytorch that would help' advise
begin diffusers-1441
says "the autoencoder has a remedy of its own" '^Before any setting: nothing is trained in this process, and it is the autoencoder that asks: let it work in tiles \(enable_vae_tiling' advise
row "DataLoader(batch_size)" "r['effect'] is None and r['fits']" "no gradients are added up where nothing is trained"
never "nor on the page" 'add up the gradients' advise
begin transformers-35648
row "DataLoader(batch_size)" "'gradients of two batches' in r['effect']" "but where something is"
says "the keys and values of the layers to come are longer, too" '^Before any setting: .* 12\.4 GiB is missing: .* 2\.9 times as much would have fitted' advise

begin own-generate
advises "nothing is gathered where no stack shows ZeRO 3" "not any(k['key'].endswith('ds3_gather_for_generation') for k in d['knobs'])"

# ---- an engine's share of the GPU: its own, of its process, and never more than it has ----

begin vllm-2193
says "the other engine's, and by how much" '^Try gpu_memory_utilization of each of the 2 engines on this GPU at most 0\.47, where they are alike \(that of pid 5000 lower by at least 0\.1[0-9] in any case\), now not told \(0\.9 by default\)' advise
advises "a load that goes on: its end is in no recording" "d['later']['from'] == 'series' and not any(k['fits'] for k in d['knobs'])"
says "whose it is" 'It is about the engine of pid 5000: 2 of them are on this GPU' advise
never "no line to paste of what nobody has told" 'To paste' advise
begin vllm-47654
row gpu_memory_utilization "(r['now'], r['proposed'], r['paste']) == ('0.82', '0.77', None)" "the one that wakes, without the weights of the one that sleeps"
begin sglang-23862
row mem_fraction_static "r['now'] == '0.84' and float(r['proposed']) <= 0.8" "room for another one like it: the start goes on"
row mem_fraction_static "r['now'] == '0.84'" "weights and cache of the target; a draft's are in no share"
check "$case: where the cache is of so many tokens, more GPUs divide the weights" bash -c \
	'"$1" advise -n 0 "$2"/*.zst --now max_total_tokens=400000 | tr -s " \n" " " | grep -q "tp_size 1 (default) -> 2"' - "$memana" "$case"
begin ms-swift-10109
row gpu_memory_utilization "0.2 < float(r['proposed']) < 0.44 and not r['fits']" "no less than the weights, 0.19, and a little; 62 pieces of a load that goes on: no share is known to be enough, and a default that is twice what the engine has is not in force"
begin openrlhf-947
row gpu_memory_utilization "float(r['proposed']) < 0.6 and r['fits']" "less than it has, by as much as is missing"
begin skyrl-556
row gpu_memory_utilization "float(r['proposed']) < 0.6 and r['fits']" "less than it has, by as much as is missing"
begin vllm-57475
proposes "as much as is missing, before what slows all that is generated" gpu_memory_utilization
row gpu_memory_utilization "r['saved_bytes']['high'] < $GiB" "no more of the cache than it takes"

# ---- more GPUs ----

case=vllm-2193
never "whatever the number of its GPUs" 'tensor_parallel_size.{0,40} -> ' advise -n 0
case=verl-6912
says "why, where people try it" 'tensor_model_parallel_size: the engine fills its share of the GPU' advise -n 0
begin megatron-1746
says "one GPU was recorded: two are more" 'needs 2 GPUs, and costs much time' advise
begin easyr1-454
never "nobody tells what is set, and by default it is all that there are" 'fsdp_size.{0,20} -> ' advise -n 0
never "what fits without other GPUs goes before what takes some" 'ulysses_sequence_parallel_size.{0,30} -> ' advise
case=nemo-rl-2882
says "a default that nothing of one GPU shows" 'tensor_parallel_size 1 \(no other rank was seen\) -> 2.{0,80}needs 2 GPUs' advise -n 0
case=verl-6912
never "where others take part there may be GPUs" 'pipeline_model_parallel_size .{0,120}needs 2 GPUs' advise -n 0

# ---- trainer and engine apart: only what is of the other one goes ----

case=nemo-rl-2319
never "the trainer's own weights stay" 'colocated.enabled.{0,40} -> ' advise -n 0
begin nemo-rl-630
row colocated.enabled "7 * $GiB < r['saved_bytes']['low'] and r['saved_bytes']['high'] < 9 * $GiB" "the engine's weights, and not the trainer's beside them"
begin nemo-rl-1147
row colocated.enabled "r['saved_bytes']['high'] < 33 * $GiB" "where the engine asks, the trainer's"

# ---- what a row says of its use ----

begin deepep-99
check "$case: with the settings that it takes, it starts" told_document "(lambda p: all(w in p for w in ['--recompute-granularity full', '--recompute-method uniform', '--recompute-num-layers 1']))(next(k for k in d['knobs'] if k['key'] == '--recompute-granularity')['paste'])"
check "$case: but not over what is set" bash -c \
	'"$1" advise "$2"/*.zst --now recompute-method=block | grep -q "recompute-method uniform" && exit 1; "$1" advise "$2"/*.zst --now recompute-method=block | grep -q "recompute-num-layers 1"' - "$memana" "$case"
says "words that nothing checks are printed" 'Note: nothing goes without --offload-modules' advise -n 0
case=accelerate-2531
says "how it is set elsewhere" 'Effect: under a Trainer it is accelerator_config' advise
begin verl-302
never "a setting of the other engine" 'multi_stage_wake_up' advise -n 0
case=open-rl-99
never "of an engine that does not run" 'actor\.archon' advise -n 0
begin gradient-buffers
never "of a backend that is not there, while another one is" 'fsdp_config' advise -n 0
case=ms-swift-7986
proposes "what takes another setting comes after that, and DeepSpeed's optimizer is no optim of the Trainer" zero_optimization.offload_optimizer.device
row offload_optimizer.super_offload "r['only_if'] is not None" "it counts only with another one"
advises "which has another optimizer's name" "not any(k['key'] == 'optim' for k in d['knobs'])"

# ---- micro-batches: by tokens or by samples, from a number that nobody knows, and what follows them ----

case=own-generate
advises "fewer answers to each prompt are more prompts" "not any(k['key'] == 'GRPOConfig.num_generations' for k in d['knobs'])"
proposes "what a cache of its own goes by" GRPOConfig.max_completion_length
row max_completion_length "r['proposed'] == 'half of what it is now' and r['paste'] is None and r['fits']" "nobody knows what it is now"
idle_why() { check "$case: $1" told_document "(lambda i: $2)({i['key']: i['why'] for i in d['idle']})"; }
idle_why "null is what gradient_accumulation_steps has, and half of 1 is 1" "i['GRPOConfig.steps_per_generation'].startswith('at its floor: 1')"
idle_why "eight are one prompt's answers: TRL takes no half of them" "i['GRPOConfig.generation_batch_size'].startswith('at its floor: 8')"
check "$case: of more, a multiple" bash -c '"$1" advise -n 0 "$2"/*.zst --now generation_batch_size=24 | tr -s " \n" " " | grep -q "generation_batch_size 24 (--now) -> 8"' - "$memana" "$case"
never "no number out of nothing" 'generation_batch_size *= *1|2 \(assumed\)' advise
case=critic-alone
advises "the budget is read where dynamic batches are on: not by default" \
	"[k['only_if'] is None for k in d['knobs'] if k['key'] in ('critic.ppo_micro_batch_size_per_gpu', 'critic.ppo_max_token_len_per_gpu')] == [True, False]"
says "both in one sentence, and what decides" 'Or try critic\.ppo_micro_batch_size_per_gpu = half of what it is now \(where actor_rollout_ref\.actor\.use_dynamic_bsz is on: critic\.ppo_max_token_len_per_gpu = half of what it is now \(32768 by default\)\)' advise
says "and what becomes of a longer sample" 'Where .* is on, this is not read, but critic\.ppo_max_token_len_per_gpu .*; a sample that is longer than that ends the run with an error' advise
never "no line to paste that is not read" 'ppo_max_token_len_per_gpu=' advise
check "$case: said to be on, the budget counts and the samples do not" bash -c '"$1" advise --json "$2"/*.zst --now actor_rollout_ref.actor.use_dynamic_bsz=true >on.json' - "$memana" "$case"
check "$case: of the two the one that is read" json on.json \
	"[k['key'] for k in d['knobs'] if k['key'] in ('critic.ppo_micro_batch_size_per_gpu', 'critic.ppo_max_token_len_per_gpu')] == ['critic.ppo_max_token_len_per_gpu']"
begin verl-2828
proposes "the entropy of the log-probs goes by the same setting, and costs nothing" actor_rollout_ref.actor.entropy_from_logits_with_chunking
says "micro-batches of the same step are before it, too" 'logits of 24,576 tokens \(before it: at most 8,192 tokens\)' advise
case=unsloth-5168
never "the width of an embedding is no number of tokens" '2,048' advise
begin slime-1523
says "a budget that is not read by default, where it is the way" '--max-tokens-per-gpu .* It counts only if .*--use-dynamic-batch-size is false' advise
begin nemo-rl-3005
advises "packed by default: the samples are not read" \
	"['several samples' in k['only_if'] for k in d['knobs'] if k['key'] in ('policy.sequence_packing.logprob_mb_tokens', 'policy.logprob_batch_size')] == [True, False]"
case=nemo-rl-2871
row sequence_packing.train_mb_tokens "103219 > int(r['proposed']) > 103219 * 0.7 and r['fits']" "not half of it for a four hundredth that is missing"
case=easyr1-454
row ppo_micro_batch_size_per_gpu "r['saved_bytes']['high'] < 16 * $GiB" "the inputs of the whole batch come before it is cut"
begin transformers-7232
advises "of smaller batches there are more: all of them are kept" "all(k['saved_bytes']['high'] < 2**30 for k in d['knobs'] if k['key'] == 'per_device_eval_batch_size')"
begin areal-845
row actor.optimizer_dtype "'the model is float32 now' in r['only_if']" "a default type is no fact where nothing tells"

# ---- a default is no fact: what is made of it may be what is set, or more ----

begin vllm-52054
row gpu_memory_utilization "(r['now'], r['proposed'], r['paste']) == ('0.9', '0.88', None)" "of two releases' defaults the smaller: 0.9 may be what is set"
says "by how much, whatever it is" '^Try gpu_memory_utilization lower by 0\.02, to 0\.88 or less, now not told \(0\.9 or more by default\)' advise
# The same of a release that its files tell.
known_release() {
	mkdir known && sed 's,vllm/v1,vllm-0.33.0/vllm/v1,' "$SRC/tests/cases/vllm-52054.case" >known.case &&
		"$BUILD/cases/make_case" known.case known
}
case=known
check "known: is true" known_release
says "its own default" '^Try gpu_memory_utilization lower by 0\.02, to 0\.9 or less, now not told \(0\.92 by default\)' advise
check "known: said, it is a number to paste" bash -c '"$1" advise known/*.zst --now gpu_memory_utilization=0.9 | grep -qE -- "--gpu-memory-utilization 0.8[78]"' - "$memana"
begin vllm-25597
says "the recording refutes each of its defaults" 'gpu_memory_utilization lower by 0\.02, to 0\.92 or less, now not told \(the engine has 0\.94 of the GPU\)' advise
never "nothing to paste" '--gpu-memory-utilization 0' advise
case=transformers-48131
row per_device_train_batch_size "r['proposed'] == 'half of what it is now' and r['now'] == '8' and r['paste'] is None and r['fits']" "with 1 or 2, 4 would be more"
case=open-rl-99
row actor.mb_spec.n_mbs "r['proposed'] == 'twice what it is now' and r['paste'] is None" "with 4, 2 would be fewer"
says "what it cannot split" 'twice what it is now \(1 by default; what is one sample cannot be split\)' advise

# ---- a budget beyond which a run ends ----

begin nemo-rl-3495
proposes "a sample longer than the budget is an error in NeMo-RL, and this is probably one" policy.dtensor_cfg.activation_checkpointing
row sequence_packing.train_mb_tokens "'ends the run with an error' in r['only_if'] and 'the run ends with an error' in r['evidence']" "which the row says"
says "whose default it is: a distillation does not begin with it" 'activation_checkpointing false \(default of grpo_math_1B\.yaml, if not set\) -> true' advise
says "first what makes all of it at once, whatever is set" '^Before any setting: let get_distillation_topk_logprobs_from_logits \(model_utils\.py:1500\) cast fewer logits at a time, .*13\.9 GiB is what 7\.0 GiB of them are in float32' advise
case=slime-1767
never "not where a cap is sure to help" 'cast fewer' advise
case=slime-1951
never "where it is a micro-batch of its own" 'ends the run' advise -n 0

# ---- what a setting takes, and whose it is ----

case=skyrl-556
row optimizer_config_kwargs.optimizer_cpu_offload "all(w in r['paste'] for w in ('optimizer_cpu_offload=', 'use_precision_aware_optimizer=', 'optimizer_offload_fraction=1')) and '+' not in r['paste']" "Megatron asserts one of the others, the other is nothing by default, and SkyRL takes no +"
says "which the page says" '1\. trainer\.policy\.megatron_config\.optimizer_config_kwargs\.optimizer_cpu_offload false \(default, if not set\) -> true, with [a-z._]+\.use_precision_aware_optimizer and [a-z._]+\.optimizer_offload_fraction: saves' advise
never "whose keys these are, and not those of what is below" ' of (megatron|vllm)$| of (megatron|vllm) ' advise
case=verl-302
says "an argument of PyTorch is no setting of verl" 'FullStateDictConfig\.offload_to_cpu \(of pytorch, in the code\)' advise
case=skypilot-10269
never "slime hands Megatron's on" '[0-9]\. --[a-z-]+ of megatron' advise -n 0

# ---- forks, and front ends with keys of their own ----

case=easyr1-454
says "whose keys these are" 'What is set now is not known: EasyR1, which is on the stacks, has keys and defaults of its own, and those below are of verl\.' advise
advises "nothing is to paste, and no default is its" "d['run_by'] == 'EasyR1' and not any(k['paste'] for k in d['knobs'] if 'expandable' not in k['key']) and not any('default' in (k['now_from'] or '') for k in d['knobs'])"
proposes "what does something whatever is set" actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu
case=ms-swift-7986
advises "a front end of the Trainer" "d['run_by'] == 'ms-swift'"
case=transformers-48131
advises "and none where none is" "d['run_by'] is None"
