# Fourteen more out-of-memory threads (tests/cases), each written down with the words that a right answer must have before memana
# was asked: what filled the GPU is named by its bytes, place and remedy, and the setting that helped comes first.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/cases.sh"

told_document() {
	[ -e "$case/advise.json" ] || "$memana" advise --json "$case"/*.zst >"$case/advise.json" || return 1
	json "$case/advise.json" "$1"
}
proposes() { check "$case: $1" told_document "[k['key'] for k in d['knobs']][:1] == ['$2']"; }
advises_not() { check "$case: $1" told_document "not any(w in k['key'] for k in d['knobs'] for w in $2)"; }

# ---- copies and outputs that no step needs ----

begin transformers-23386
says "the state dict" '19.6 GiB in 180 pieces is kept by param_hook .*19.6 GiB of what is in use is state dicts: .*be of shards, or be made on the host and of rank 0 alone' oom
never "more than the allocator's pieces" '[Ee]xpandable|not in one piece|micro-batch' oom
proposes "on the host" 'FullStateDictConfig.offload_to_cpu'
failure "whose, and how much" "(n['rule'], n['category'], n['bytes'] >> 30) == ('largest', 'state dicts', 19)"

begin transformers-7232
says "what the evaluation keeps" '6.9 GiB is kept by torch_pad_and_concatenate .*evaluation outputs: the evaluation keeps the outputs of all its batches: .*eval_accumulation_steps' oom
never "the training is not at fault" 'micro-batch|offload the optimizer|[Ee]xpandable|of what is in use has no known' oom
proposes "to the host as it goes" eval_accumulation_steps

begin accelerate-2531
says "whole gradients" '62.5 GiB, 23 x 2.7 GiB, is kept by backward .*gradients, 62.5 GiB: the gradients are as large as the layers that are gathered, .*sync_each_batch' oom
never "no leak, no activations" 'drop the reference|recompute|workspace' oom
says "before any setting" '^The gradients are as large as the layers that are gathered, .* Try GradientAccumulationPlugin.sync_each_batch = true' advise
never "once, and no smaller batch" 'as large as the layers.*as large as the layers|batch_size = ' advise

begin nanogpt-236
says "what was loaded is there still" 'kept by _cuda_deserialize \(serialization.py:152\)\. 3.2 GiB of what is in use is state dicts: what was loaded is still there: let go of it .*map_location' oom
never "no fragments, no shards" '[Ee]xpandable|shard|fewer tokens' oom
says "before any setting" 'Before any setting: what was loaded is still there' advise

# ---- a loop of one's own ----

begin speechbrain-1850
says "activations" '17.0 GiB in 97 pieces is kept by forward \(attention.py:893\)\. Most of what is in use is probably activations, 22.9 GiB: recompute' oom
says "with what PyTorch has for it" 'Try torch.utils.checkpoint.checkpoint around each layer, .*: it saves probably 18.6 to 22.4 GiB' advise
never "what the row says is nothing to paste" 'To paste' advise
never "nothing that has no class here" 'FullyShardedDataParallel|AdamW' advise

# ---- what the request was for ----

begin verl-302
says "the cache wakes beside the state dict" '28.4 GiB, 28 x 1.0 GiB, is kept by _full_post_state_dict_hook .*The request wakes up kv cache, which slept: give the engine a smaller part of the GPU, or let what sleeps wake up later' oom
never "nothing to shard" 'shard|[Ee]xpandable|while the trainer works' oom
proposes "vLLM wakes in one piece: less of the GPU for it" actor_rollout_ref.rollout.gpu_memory_utilization

begin trl-3128
says "the engine's cache" '34.2 GiB, 18 x 1.9 GiB, is kept by _allocate_kv_cache .*The request is for kv cache, with 34.2 GiB of it in use: give the engine a smaller part of the GPU' oom
never "weights are not why" 'shard the weights|micro-batch|optimizer' oom
proposes "a smaller part" GRPOConfig.vllm_gpu_memory_utilization

begin sglang-10597
says "a second copy of the weights in the engine" '11.9 GiB in 26 pieces is kept by update_weights_from_distributed .*The request is for weight-update buffers, .*send the weights in smaller buckets' oom
never "weights are not why" 'shard the weights|micro-batch' oom
proposes "a smaller part for the engine" mem_fraction_static

begin openrlhf-698
says "the optimizer's first step, and its master weights" '29\.9 GiB is kept by __init__ \(stage_1_and_2.py:391\).*optimizer state, 29\.9 GiB: shard or offload the optimizer state. The optimizer makes it in its first step' oom
never "no smaller batch" 'micro-batch|recompute|offload them while' oom
proposes "the optimizer on the host" --ds.adam_offload
advises_not "nothing of a model that is not there" "['reward.offload', 'ref.offload']"

begin vllm-57475
says "graphs have too little room" 'The request is for cuda graphs, with 780.0 MiB of it in use: capture fewer batch sizes, .*a smaller part of the GPU for the engine.s cache' oom
never "weights are not why" 'shard the weights' oom
proposes "a smaller share" gpu_memory_utilization

begin trl-3133
says "all layers gathered at once" '59.1 GiB, 35 x 1.7 GiB, is kept by _allgather_params_coalesced .*fsdp gather buffers, 59.1 GiB: gather fewer or smaller modules at once' oom
says "no setting of it" 'None of the settings of trl' advise

begin deepspeed-467
says "two buckets" '8.4 GiB, 2 x 4.2 GiB, is kept by backward \(stage_1_and_2.py:2066\).*make the buffers there smaller: its buckets' oom
never "gradients are sharded" 'shard the gradients' oom

# ---- tokens ----

begin slime-1523
says "pieces that are all there at once" '5 x 1.2 GiB, is kept by _VocabParallelEntropy.forward .*logits and log-probs, with 15.0 GiB of it in use: the logits come in pieces, but all pieces are there at once, .*fewer tokens .*an entropy that counts for nothing' oom
never "weights are not why, chunks do not help" 'shard the weights|compute log-probs in chunks' oom
advises_not "chunks are on" "['log-probs-chunk-size']"

begin nemo-rl-2871
says "tokens times words" 'The request is 103,219 tokens x 32,768 words x 4 bytes' oom
never "recomputation is not it" 'recompute activations' oom
advises_not "chunks are for log-probs, not for the update; nor another backend" "['logprob_chunk_size', 'dtensor_cfg']"

begin qwen-vl-finetune-88
says "a sample that is longer than all before" '58.6 GiB, 30 x 2.0 GiB, is kept by Qwen2_5_VLMLP.forward .*In the steps before nothing there was larger than 125.0 MiB, now it is 2.0 GiB: .*cap that' oom
never "no leak" 'drop the reference|[Ee]xpandable' oom

# ---- others on the GPU ----

begin transformers-3730
says "other ranks are on this device" 'Beside the rank that asked, 3 other ranks are on this device with 17.3 GiB, 5.8 GiB in 74 pieces of rank 1 by _cuda .*That would have been enough: give torch\.load a map_location .*whatever device the rank has chosen' oom
never "not the optimizer" 'shard or offload|fewer tokens|in use has no known' oom
failure "the rule" "(n['rule'], n['bytes'] >> 30) == ('ranks', 17)"

# ---- advice of older cases ----

begin nemo-rl-630
proposes "smaller buckets are smaller" policy.refit_buffer_size_gb
advises_not "the backend that the stacks show" "['dtensor_cfg']"
begin nemo-rl-2319
advises_not "and the other one" "['megatron_cfg']"
begin trl-6684
check "$case: the type in which it was loaded, if it was that" told_document \
	"[(k['proposed'], k['only_if'] is not None) for k in d['knobs'] if k['key'] == 'from_pretrained(dtype)'] == [('bfloat16', True)]"
begin trl-2806
says "a second copy of the weights" 'The largest part of it is weights, 28.0 GiB\. 14.0 GiB of the 28.0 GiB of weights were made by create_reference_model' advise
begin trl-2806-beta0
never "one copy is none" 'were made by|a second copy' advise
begin nccl-lazy
says "nothing failed: in brief" 'othing failed, and 42.0 GiB was never held, so the highest is 48% of the device' advise
never "nothing to paste" 'To paste|would not have helped|at the peak' advise
says "all of it when asked" 'Settings of .* that would make the peak lower' advise -n 0
