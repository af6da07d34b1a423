# The settings of memana advise on tests/cases, compared with the recording. Figures are those of the failed moment.
# Bytes that do not depend on the micro-batch are not scaled with it. A value in the recording counts before a default.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/cases.sh"

proposes() { check "$case: $1" told_document "[k['key'] for k in d['knobs']][:1] == ['$2']"; }
acts() { check "$case: $1" told_document "'$2' in [a['key'] for a in d['actions']]"; }
GiB="2**30"

# ---- figures of the moment ----

begin nemo-rl-2319

# ---- what follows the micro-batch ----

begin deepspeed-467
acts "the bucket, which is what fills it" zero_optimization.reduce_bucket_size
row per_device_train_batch_size "r['saved_bytes']['high'] - r['saved_bytes']['low'] >= 2**30" "a request of which nobody can tell makes a range"
row zero_optimization.reduce_bucket_size "r['saved_bytes']['low'] >= 3.9 * $GiB and r['saved_bytes']['high'] < 8.4 * $GiB" "how many times its value it is nobody says: a range"
advises "settings of a checkpointing that is not on the stacks are for nobody" "not any('activation_checkpointing' in k['key'] for k in d['knobs'])"

# ---- the recording goes before a default ----

begin trl-3128
row vllm_gpu_memory_utilization "r['now'] == '0.63' and r['now_from'] == 'the recording' and 0.5 <= float(r['proposed']) <= 0.6 and not r['fits']" \
	"36 GiB of cache and 14 of weights are no 0.3 of 79; room for one piece of a series is not enough"
advises "pieces come in a series, and no census tells how many" "(d['later']['from'], d['later']['count']) == ('series', 0)"
advises "more GPUs for an engine do not make it smaller" "not any('vllm_tensor_parallel_size' in k['key'] for k in d['knobs'])"
begin sglang-10597
row mem_fraction_static "(r['now'], r['proposed'], r['paste']) == ('0.83', '0.82', None)" "weights and cache of the engine together"
begin open-rl-99
check "$case: what is said is no default" bash -c '"$1" advise "$2"/*.zst --now actor.mb_spec.n_mbs=4 | tr -s " \n" " " | grep -qF "n_mbs to 8 (now: 4, --now)"' - "$memana" "$case"

# ---- nothing tells whether the model trains ----

begin first-forward
row 'checkpoint(function)' "r['only_if'] == 'the model trains'" "recomputation saves nothing without a backward"
row 'DataLoader(batch_size)' "r['only_if'] is None and r['fits']" "a smaller batch helps in any case"

# ---- caps ----

begin slime-1767
acts "what is too long is capped" --rollout-max-context-len
row rollout-max-context-len "int(r['proposed']) == 9216 and r['fits']" "as long as those before"
advises "logits of the forward pass are not the loss's to compute again" "not any(k['key'] == '--recompute-loss-function' for k in d['knobs'])"
begin slime-1951
row rollout-max-context-len "int(r['proposed']) == 9216 and r['fits'] and r['cost'] == 'changes results'" "as long as those before"
advises "chunks of what a backward needs are all kept" "not any(k['key'] == '--log-probs-chunk-size' for k in d['knobs'])"
begin easyr1-9
proposes "fused kernels cost nothing" actor_rollout_ref.model.use_fused_kernels

# ---- the first sentence: what to change, how much it saves, whether that is enough, how sure ----

begin verl-6912
begin trl-3133

# ---- one order of causes ----

begin verl-2820
begin qwen-vl-finetune-88

# ---- rows of what only the recording tells ----

begin accelerate-2531
proposes "gradients that wait whole are reduced sooner" GradientAccumulationPlugin.sync_each_batch
row sync_each_batch "r['saved_bytes']['low'] > 30 * $GiB and 'sync_each_batch=True' in r['paste']" "shards stay beside it"
case=deepspeed-467
advises "without whole gradients it is for nobody" "not any('sync_each_batch' in k['key'] for k in d['knobs'])"
begin nemo-rl-2871
row sequence_packing.train_mb_tokens "r['fits'] and r['only_if'] is None" "packing is on, by the stacks: its budget counts"
advises "and what packing does not read, or does not go with, is for nobody" \
	"not any(w in k['key'] for k in d['knobs'] for w in ['train_micro_batch_size', 'use_fused_linear_logprobs'])"

# ---- for the whole step, not for the one request ----

case=qwen-vl-finetune-88
advises "the text of that sample comes after its picture, as in earlier steps" "d['later']['from'] == 'earlier-steps' and 44 * $GiB < d['later']['bytes'] < 47 * $GiB"
case=slime-1767
advises "earlier steps took nothing more" "d['later'] == {'from': 'nothing', 'bytes': 0, 'count': 0}"
begin logprobs-long
advises "what came in another order is no more than the step had" "d['later']['from'] == 'nothing' and d['knobs'][0]['fits']"
case=deepspeed-467
advises "nobody knows" "d['later']['from'] == 'unknown'"

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
row bf16 "r['saved_bytes']['low'] == 0 and r['saved_bytes']['high'] < 19 * $GiB" "whole numbers of 8 bytes do not become smaller"
begin torchtune-389
advises "settings of PyTorch's AdamW, which runs here" "any(k['key'].startswith('AdamW(') for k in d['knobs'])"
case=trl-3133
advises "and not where no such optimizer was seen" "not any(k['key'].startswith('AdamW(') for k in d['knobs'] + d['idle'])"
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
begin unsloth-5168
proposes "the evaluation's own batch, however deep its loop is on the stack" per_device_eval_batch_size
advises "neither the training's, nor a loss that leaves the logits out in training alone" \
	"not any(k['key'] in ('per_device_train_batch_size', 'use_liger_kernel') for k in d['knobs'])"

# Several processes fill the host: where they grew goes before what such processes usually have too much of.

# Memory of recomputation is made twice, the first time as it was: the call that failed fails a second time.
begin skypilot-10269
advises "what would be computed again would be asked for all the same" "not any(k['key'] == '--recompute-loss-function' for k in d['knobs'])"
advises "and the states, which have most" "'--optimizer-cpu-offload' in [k['key'] for k in d['knobs']][:3]"
begin posttrainarena-29
row expandable_segments "(r['saved_bytes']['low'], r['fits']) == (0, False) and r['saved_bytes']['high'] > 10 * $GiB" "at most what lies between blocks"
advises "gradients of the same stack are no earlier call of what is no gradient" "d['later']['from'] == 'unknown'"

# A default is not taken for on if two steps were recorded and nothing was computed again.
begin verl-1932
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
without "the first micro-batch" '/^at ref$/,/^for layer 1\.\.27/{/^for layer 1\.\.27/!d}; s/1\.\.27/1..20/; s/79\.2GiB/36GiB/' first-batch
# A budget beyond which a sample ends the run: its floor is said where it is proposed, and it is not first where one sample may be all.
begin nemo-rl-4222
row policy.sequence_packing.train_mb_tokens "'a micro-batch has several samples' in r['only_if']" "which its row says"
# Nothing is trained: no setting of a backward, and none of a micro-batch for what is copies of weights.
begin transformers-8403
advises "no backward comes after a generation" "not any('checkpoint' in k['key'] for k in d['knobs'])"
begin diffusers-1441
row "DataLoader(batch_size)" "r['fits']" "no gradients are added up where nothing is trained"
begin transformers-35648
row "DataLoader(batch_size)" "'gradients of two batches' in r['effect']" "but where something is"

begin own-generate
advises "nothing is gathered where no stack shows ZeRO 3" "not any(k['key'].endswith('ds3_gather_for_generation') for k in d['knobs'])"

# ---- an engine's share of the GPU: its own, of its process, and never more than it has ----

begin vllm-2193
advises "a load that goes on: its end is in no recording" "d['later']['from'] == 'series' and not any(k['fits'] for k in d['knobs'])"
begin vllm-47654
row gpu_memory_utilization "(r['now'], r['proposed'], r['paste']) == ('0.82', '0.77', None)" "the one that wakes, without the weights of the one that sleeps"
begin sglang-23862
row mem_fraction_static "r['now'] == '0.84' and float(r['proposed']) <= 0.8" "room for another one like it: the start goes on"
row mem_fraction_static "r['now'] == '0.84'" "weights and cache of the target; a draft's are in no share"
begin ms-swift-10109
row gpu_memory_utilization "0.2 < float(r['proposed']) < 0.44 and not r['fits']" "no less than the weights, 0.19, and a little; 62 pieces of a load that goes on: no share is known to be enough, and a default that is twice what the engine has is not in force"
begin openrlhf-947
row gpu_memory_utilization "float(r['proposed']) < 0.6 and r['fits']" "less than it has, by as much as is missing"
begin skyrl-556
row gpu_memory_utilization "float(r['proposed']) < 0.6 and r['fits']" "less than it has, by as much as is missing"
begin vllm-57475
acts "as much as is missing" gpu_memory_utilization
row gpu_memory_utilization "r['saved_bytes']['high'] < $GiB" "no more of the cache than it takes"

# ---- more GPUs ----

case=vllm-2193
advises "whatever the number of its GPUs" "not any('tensor_parallel_size' in k['key'] for k in d['knobs'])"
begin easyr1-454
advises "nobody tells what is set, and by default it is all that there are" "not any('fsdp_size' in k['key'] for k in d['knobs'])"
advises "what fits without other GPUs goes before what takes some" "not any('ulysses_sequence_parallel_size' in (a['key'] or '') for a in d['actions'])"
case=verl-6912

# ---- trainer and engine apart: only what is of the other one goes ----

case=nemo-rl-2319
advises "the trainer's own weights stay" "not any('colocated.enabled' in k['key'] for k in d['knobs'])"
begin nemo-rl-630
row colocated.enabled "7 * $GiB < r['saved_bytes']['low'] and r['saved_bytes']['high'] < 9 * $GiB" "the engine's weights, and not the trainer's beside them"
begin nemo-rl-1147
row colocated.enabled "r['saved_bytes']['high'] < 33 * $GiB" "where the engine asks, the trainer's"

# ---- what a row says of its use ----

begin deepep-99
check "$case: with the settings that it takes, it starts" told_document "(lambda p: all(w in p for w in ['--recompute-granularity full', '--recompute-method uniform', '--recompute-num-layers 1']))(next(k for k in d['knobs'] if k['key'] == '--recompute-granularity')['paste'])"
check "$case: but not over what is set" bash -c \
	'"$1" advise "$2"/*.zst --now recompute-method=block | grep -q "recompute-method uniform" && exit 1; "$1" advise "$2"/*.zst --now recompute-method=block | grep -q "recompute-num-layers 1"' - "$memana" "$case"
begin verl-302
advises "a setting of the other engine" "not any('multi_stage_wake_up' in k['key'] for k in d['knobs'])"
case=open-rl-99
advises "of an engine that does not run" "not any('actor.archon' in k['key'] for k in d['knobs'])"
begin gradient-buffers
advises "of a backend that is not there, while another one is" "not any('fsdp_config' in k['key'] for k in d['knobs'])"
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
check "$case: of more, a multiple" bash -c '"$1" advise -n 0 "$2"/*.zst --now generation_batch_size=24 | tr -s " \n" " " | grep -q "generation_batch_size to 8 (now: 24, --now)"' - "$memana" "$case"
case=critic-alone
advises "the budget is read where dynamic batches are on: not by default" \
	"[k['only_if'] is None for k in d['knobs'] if k['key'] in ('critic.ppo_micro_batch_size_per_gpu', 'critic.ppo_max_token_len_per_gpu')] == [True, False]"
check "$case: said to be on, the budget counts and the samples do not" bash -c '"$1" advise --json "$2"/*.zst --now actor_rollout_ref.actor.use_dynamic_bsz=true >on.json' - "$memana" "$case"
check "$case: of the two the one that is read" json on.json \
	"[k['key'] for k in d['knobs'] if k['key'] in ('critic.ppo_micro_batch_size_per_gpu', 'critic.ppo_max_token_len_per_gpu')] == ['critic.ppo_max_token_len_per_gpu']"
begin verl-2828
proposes "the entropy of the log-probs goes by the same setting, and costs nothing" actor_rollout_ref.actor.entropy_from_logits_with_chunking
begin nemo-rl-3005
case=nemo-rl-2871
row sequence_packing.train_mb_tokens "int(r['proposed']) == 51456 and r['fits']" "half, in whole steps of 256 tokens"
begin transformers-7232
advises "of smaller batches there are more: all of them are kept" "all(k['saved_bytes']['high'] < 2**30 for k in d['knobs'] if k['key'] == 'per_device_eval_batch_size')"
begin areal-845
row actor.optimizer_dtype "'the model is float32 now' in r['only_if']" "a default type is no fact where nothing tells"

# ---- a default is no fact: what is made of it may be what is set, or more ----

begin vllm-52054
# The same of a release that its files tell.
known_release() {
	mkdir known && sed 's,vllm/v1,vllm-0.33.0/vllm/v1,' "$SRC/tests/cases/vllm-52054.case" >known.case &&
		"$BUILD/cases/make_case" known.case known
}
case=known
check "known: is true" known_release
check "known: said, it is a number to paste" bash -c '"$1" advise known/*.zst --now gpu_memory_utilization=0.9 | grep -qE -- "--gpu-memory-utilization 0.8[78]"' - "$memana"
case=transformers-48131
row per_device_train_batch_size "r['proposed'] == 'half of what it is now' and r['now'] == '8' and r['paste'] is None and r['fits']" "with 1 or 2, 4 would be more"
case=open-rl-99
row actor.mb_spec.n_mbs "r['proposed'] == 'twice what it is now' and r['paste'] is None" "with 4, 2 would be fewer"

# ---- a budget beyond which a run ends ----

begin nemo-rl-3495
proposes "a sample longer than the budget is an error in NeMo-RL, and this is probably one" policy.dtensor_cfg.activation_checkpointing

# ---- what a setting takes, and whose it is ----

case=skyrl-556
row optimizer_config_kwargs.optimizer_cpu_offload "all(w in r['paste'] for w in ('optimizer_cpu_offload=', 'use_precision_aware_optimizer=', 'optimizer_offload_fraction=1')) and '+' not in r['paste']" "Megatron asserts one of the others, the other is nothing by default, and SkyRL takes no +"

# ---- forks, and front ends with keys of their own ----

case=easyr1-454
advises "nothing is to paste, and no default is its" "d['run_by'] == 'EasyR1' and not any(k['paste'] for k in d['knobs'] if 'expandable' not in k['key']) and not any('default' in (k['now_from'] or '') for k in d['knobs'])"
proposes "what does something whatever is set" actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu
case=ms-swift-7986
advises "a front end of the Trainer" "d['run_by'] == 'ms-swift'"
case=transformers-48131
advises "and none where none is" "d['run_by'] is None"

# ---- figures of one setting ----

begin areal-1438
row optimizer_dtype "r['now'] == 'float32' and r['proposed'] == 'bf16' and r['fits']" "the type of the parameters is a row"
case=gradient-buffers
row actor.megatron.param_offload "r['saved_bytes']['low'] > 40 * $GiB" "of two kinds, where more goes than one has"
case=nemo-rl-630
row colocated.enabled "r['saved_bytes']['high'] <= 8.5 * $GiB" "what the engine has goes elsewhere, and not what the trainer has"
begin pytorch-82218
row expandable_segments "r['saved_bytes']['high'] <= 936 * 2**20 and not r['fits']" "room for this one, and not for the eleven that come"
begin sglang-1030
row max_prefill_tokens "r['saved_bytes']['low'] > 400 << 20" "fewer tokens of prompts at once"
begin sglang-13940
row mem_fraction_static "r['fits']" "a little less is enough for this request"
begin skyrl-1650
row trainer.micro_train_batch_size_per_gpu "r['fits']" "in SkyRL's own key, and no default of one sample stands against it"
begin speechbrain-841
row "checkpoint(function)" "r['saved_bytes']['low'] < 19 * $GiB" "where each layer begins may stay: perhaps not all 22.8 GiB go"
row "DataLoader(batch_size)" "r['proposed'] == 'half of what it is now' and r['paste'] is None and 10 * $GiB < r['saved_bytes']['low'] < r['saved_bytes']['high'] < 13 * $GiB" \
	"half of what follows the batch, and no number out of nothing"
check "$case: a smaller batch, by a DataLoader or not" bash -c '"$1" advise "$2"/*.zst | tr -s " \n" " " | grep -qF "Put half as many samples into a batch (DataLoader(batch_size), if there is one): saves"' - "$memana" "$case"
row "autocast(dtype)" "r['saved_bytes']['low'] == 0 and r['cost'] == 'changes results' and 'float32 now' in r['only_if']" "of which type it is nobody knows"
begin transformerengine-3427
row --cuda-graph-impl "r['fits'] and r['proposed'] == 'none'" "what makes them can be left out"
begin transformers-23386
row expandable_segments "not r['fits']" "one more of them is not enough"
case=verl-2828
row expandable_segments "r['saved_bytes']['high'] < 2.2 * $GiB" "no more than is idle then, and asked again"
begin vllm-51258
row gpu_memory_utilization "r['fits']" "and until then a smaller part"
