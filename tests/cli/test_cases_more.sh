# Twenty-seven more out-of-memory threads (tests/cases), written down with the words that a right answer must have
# before memana was asked; the verdict, and what is proposed first. If a rule tells a kind by a sign, the same story
# without the sign is told as before: a rule that speaks of everything speaks of nothing.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/cases.sh"

# The setting that comes first.
told_document() { "$memana" advise --json "$case"/*.zst >"$case/advise.json" && json "$case/advise.json" "$1"; }
proposes() { check "$case: $1" told_document "[k['key'] for k in d['knobs']][:1] == ['$1']"; }

# ---- whose turn it is ----

begin nemo-rl-2772
says "states of who does not train now, before the request's own size" '23\.4 GiB, 72 x 333\.0 MiB, is kept by move_optimizer_to_device \(base_policy_worker\.py:210\) of rank 0 \(pid 5100\)\. 23\.4 GiB of what is in use is optimizer state: the trainer does not train while another model computes: let it take its states to the host .* The request itself is as large as the logits of 16,384 tokens' oom
never "nothing to shard first" 'shard|[Ee]xpandable|The largest part|Most of' oom
says "the same in advise" '^Before any setting: the trainer does not train while another model computes: .*Up to 23\.4 GiB can come back so, and 3\.9 GiB is missing: enough for this request' advise
without "of a student that trains meanwhile" '/fails$/{s/^/of student\nat forward\nalloc busy 512\nof teacher\nat cast\n/;s/$/\nof student\nat forward\nalloc busy2 512\nof teacher/}' at-work
never "who is at work needs what he has" 'does not train while' oom

begin nemo-rl-2775
says "weights that came back before the engine wakes" '28\.0 GiB, 28 x 1\.0 GiB, is kept by move_model .* of rank 0 \(pid 5100\)\. .*probably weights, 28\.0 GiB: the trainer does not train while the engine generates: let it take its weights to the host' oom
says "how it is known" '28 of this size, which came back: as many as had been made before and went \(28\)' top --at oom --why
never "nothing to shard, and it is known what they are" 'shard|no known purpose|[Ee]xpandable' oom
says "the same in advise" '^Before any setting: the trainer does not train while the engine generates: .*Up to 28\.0 GiB can come back so' advise

begin unsloth-3302
says "an engine that nobody told to sleep" '13\.2 GiB is kept by initialize_kv_cache .*kv cache, 13\.2 GiB: the engine in this process is awake while the trainer works: let it sleep before this \(a run that resumes, too\)' oom
never "not the optimizer" 'shard or offload|fewer tokens|[Ee]xpandable' oom
says "and its part" '^Before any setting: the engine in this process is awake .* Or try gpu_memory_utilization' advise
without "in no pool that can sleep" '/cumem_allocator/d' no-pool
never "nobody can put that to sleep" 'in this process is awake' oom

begin verl-632
says "the pool that wakes up starves beside the cache" 'It was vLLM.s pool that asked the driver, and PyTorch.s allocator beside it keeps 19\.7 GiB in empty segments, .*call torch\.cuda\.empty_cache\(\) before this' oom
says "the same in advise" '^No setting is needed: call torch\.cuda\.empty_cache\(\) in rank 0 before vLLM.s pool asks for its 58\.0 GiB\. Up to 19\.7 GiB can come back so' advise
never "no fragments, no smaller part" '[Ee]xpandable|smaller part|fewer tokens' oom

# ---- setting up ----

begin areal-845
says "whole before it is sharded" '59\.1 GiB in 383 pieces is kept by _load_pretrained_model .*probably weights, 59\.1 GiB: the model is whole on this GPU while it is loaded, and nothing has sharded it yet: load it on the host' oom
never "no more GPUs first" 'shard the weights over|fewer tokens|[Ee]xpandable' oom
says "by its name" '^Before any setting: turn actor\.fsdp\.memory_efficient_load on: the model is whole' advise
never "no other type first" '^Try|Or try' advise

without "of Megatron, which makes shards" 's#areal/engine/fsdp_engine.py#megatron/training/training.py#' shards-at-once
never "nothing is whole there" 'whole on this GPU' oom

begin skyrl-1419
says "whole on the one that sends it" '15\.0 GiB in 66 pieces is kept by _apply \(module\.py:928\), called from fsdp2_load_full_state_dict \(fsdp_utils\.py:430\).*the model is whole on this GPU while it is loaded, .*load it on the host' oom
never "what is sent is needed" 'free it first|wider|fewer tokens|[Ee]xpandable' oom
says "the same in advise" '^Before any setting: the model is whole on this GPU' advise

begin lerobot-4009
says "other ranks, by another loader" '3 other ranks are on this device with 58\.0 GiB, 35 x 560\.0 MiB of rank 2 by load_file .*One of all these belongs there, .*of the others, 2 are in the wrong place with 38\.3 GiB, which would have been enough: give safetensors .*the rank.s own device by number' oom
says "the same in advise" '^Before any setting: give safetensors \(load_file, load_model, safe_open\) the rank.s own device by number .*whatever torch\.cuda\.set_device says.*Up to 38\.3 GiB can come back so' advise
never "nothing to shard, and no argument of another call" 'shard the|fewer tokens|[Ee]xpandable|map_location' oom
without "by its module alone" 's#^\tload_file safetensors/torch.py:340#\tget_tensor loader.py:340\n\t!site-packages/safetensors/_safetensors_rust.abi3.so#; s#^\tload_model safetensors/torch.py:210##' by-its-module
says "what it is, all the same" 'give safetensors .*the rank.s own device by number' oom
case=lerobot-4009
without "of two that call themselves the first" 's/^process rank2 4102 GPU-1 2/process rank2 4102 GPU-1 0/; s/^process rank3 4103 GPU-1 3/process rank3 4103 GPU-1 0/' all-first
never "where nobody is a stranger" 'in the wrong place' oom
case=lerobot-4009
without "by nobody known" 's#safetensors/torch.py#shards.py#' by-nobody
says "which GPU a call names" 'let each rank use a device of its own \(torch\.cuda\.set_device before anything is made, and no call that names a GPU' oom

# ---- what nobody needs ----

begin pytorch-82218
says "what the attempt before has left" '12\.5 GiB of what is in use is probably activations: let go of what the attempt that failed before this one has made: its loss, or the exception with its traceback' oom
never "no pieces, no recomputation" 'not in one piece|recompute|[Ee]xpandable' oom
says "the same in advise" '^Before any setting: let go of what the attempt that failed before .*Up to 12\.5 GiB can come back so' advise
without "the first failure alone" '/^wait/,$d' first-failure
never "there was no attempt before" 'attempt' oom

begin pytorch-179443
says "twice, in two widths" '31\.9 GiB, 80 x 408\.2 MiB, is kept by foreach_reduce .*31\.9 GiB of what is in use is probably gradients: the same gradients are there in half the bytes, too: .*reduce_dtype' oom
never "not the state that comes now" 'shard or offload|zero_grad|fewer tokens|[Ee]xpandable' oom
says "the same in advise" '^Before any setting: the same gradients are there in half the bytes' advise
without "as large as no weights" 's/alloc layer{layer} 214000000/alloc layer{layer} 107000000/; s/^context.*/context 9184MiB/' no-weights-so-large
never "layers that are just larger" 'in half the bytes' oom

begin easyr1-454
says "inputs of a whole batch" '30\.0 GiB, 320 x 96\.0 MiB, is kept by _process_multi_modal_inputs .*is of no known purpose, 30\.0 GiB: what comes to the GPU before anything is computed of it, and stays, is probably the inputs of a whole batch .*one micro-batch at a time' oom
never "nothing to compute again" 'recompute|probably of no|[Ee]xpandable|drop the reference' oom
says "the same in advise" '^Before any setting: what comes to the GPU before anything is computed' advise

without "in the size of a weight" 's/^\(.alloc layer{layer}\) 250MiB/\1 96MiB/; s/^context.*/context 5336MiB/' as-weights
never "what is as large as weights may be moved ones" 'inputs of a whole batch' oom

begin sglang-4446
says "what was sent is never let go of" '63\.0 GiB of the 77\.6 GiB .* is kept by full_tensor .*more with every step: no knob fixes this' oom
says "the same in advise" '^No setting fixes this: let go of what full_tensor \(_api\.py:520\) makes for update_weights when the engine has it: .*ipc_collect' advise
never "no buckets" 'smaller buckets|fewer tokens|[Ee]xpandable' oom

begin fairscale-937
says "states of all ranks" '23\.5 GiB, 215 x 112\.0 MiB, is kept by _cuda_deserialize .*state dicts: no step needs these copies: .*be made on the host, .*by rank 0 alone' oom
says "the same in advise" '^Before any setting: no step needs these copies' advise
never "not the optimizer" 'shard or offload|fewer tokens|[Ee]xpandable' oom

# ---- one request ----

begin vllm-25597
says "NCCL finds what the engine has left" '512\.0 MiB asked for by batch_isend_irecv .* 53\.0 GiB, 61 x 890\.0 MiB, is kept by _allocate_kv_cache_tensors .*The request is for nccl, the first of it: a library asks the driver itself, where it is first used, and finds what the engine has left: give the engine a smaller part' oom
never "nothing to shard, no cache to empty" 'shard|empty_cache|[Ee]xpandable' oom
says "and how much smaller" '^Before any setting: a library asks the driver itself, .* Or try gpu_memory_utilization lower by 0\.02, to 0\.92 or less, now not told \(the engine has 0\.94 of the GPU\)' advise
never "what came after the cache is not of its share, and more is no less" '0\.97' advise -n 0
proposes gpu_memory_utilization

begin eole-327
says "objects of all ranks at once" '48\.9 GiB asked for by all_gather_object .*This one request is larger than all that is in use of any kind, 48\.9 GiB: objects are pickled, with the tensors in them, .*over a gloo group' oom
never "not the optimizer" 'shard or offload|micro-batch|[Ee]xpandable' oom
says "the same in advise" '^Before any setting: objects are pickled, with the tensors in them' advise

without "beside an engine" 's/^gpu GPU-1 79.2GiB/gpu GPU-1 139.2GiB/; s/^context 1GiB/process engine 4200 GPU-1\nstack kv\n\tinitialize_kv_cache vllm\/v1\/worker\/gpu_model_runner.py:2570\ncontext 500MiB\nat kv\nalloc kv1 29GiB\nalloc kv2 29GiB\nof trainer\ncontext 1536MiB/' beside-an-engine
never "a large request beside somebody who has as much" 'larger than all that is in use' oom

begin unsloth-5168
says "the evaluation's batch" 'The request is 28,000 tokens x 262,144 words x 2 bytes, .*it is the evaluation that asks: evaluate smaller batches \(per_device_eval_batch_size, 8 where nobody sets it' oom
never "not the training's" 'cap the tokens|shard|[Ee]xpandable' oom
says "the same in advise" '^It is the evaluation that asks: .* Try per_device_eval_batch_size = half of what it is now \(8 by default\)' advise

begin trl-4013
says "the entropy of one sample" '18\.5 GiB asked for by entropy_from_logits .*The request is 65,536 tokens x 151,936 words x 2 bytes, .*in chunks or fused' oom
never "no weights" 'shard|[Ee]xpandable|recompute' oom

begin posttrainarena-29
says "pieces, of lengths" 'has 11\.0 GiB in reserve, but not in one piece: .*or try expandable segments' oom
says "the same in advise" '^PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or free what pins the segments .* Try expandable_segments = true' advise
never "nothing to shard" 'shard|in chunks' oom

# ---- the host ----

begin easyr1-50
says "the ranks that were recorded, and what they did last" 'Of 439\.8 GiB in use there, the processes recorded here have 191\.9 GiB, the rest is somebody else.s: of ranks that were not recorded, perhaps\. Last seen: rank 0 \(pid 15034\) in save_checkpoint .* from 18\.6 GiB up to 48\.0 GiB' oom
says "the host first" '^The host is short of memory, not the GPU: the 4 processes recorded here have 191\.9 GiB together' advise
never "not somebody else first" 'most of it is somebody else' oom

# ---- eight more, which were played when the rules above were there ----

begin verl-3861
says "weights that came back before the first rollout" '15\.3 GiB, 28 x 560\.0 MiB, is kept by load_fsdp_model_to_gpu .* of rank 0 .*weights, 15\.3 GiB: the trainer does not train while the engine generates: let it take its weights to the host' oom
says "the same in advise" '^Before any setting: the trainer does not train while the engine generates' advise
never "nothing to shard" 'shard|[Ee]xpandable|empty_cache' oom

begin transformers-24067
says "states of the attempt before" '11\.2 GiB of what is in use is probably optimizer state: let go of what the attempt that failed before this one has made: its optimizer, and the model that was prepared for it' oom
says "the same in advise" '^Before any setting: let go of what the attempt that failed before' advise
never "not the size of it" 'shard or offload|fewer tokens|[Ee]xpandable' oom
without "and with nobody's before" '/^at forward$/{N;/logits 4GiB fails/d}' no-attempt
never "there was no attempt" 'attempt' oom

begin megatron-4940
says "who asks for still more, and has nearly as much as any" '14\.7 GiB, 7 x 2\.1 GiB, is kept by reduce_scatter_with_fp32_accumulation .*the buffers of all buckets are there at once, beside the gradients. own, so smaller ones do not help' oom
says "the same in advise" '^Before any setting: the buffers of all buckets are there at once' advise
never "no smaller buckets" 'in smaller buckets|[Ee]xpandable|drop the reference' oom
says "what runs only where it is on shows that it is on" 'ddp-reduce-scatter-with-fp32-accumulation true \(by the recording\) -> false: saves probably' advise -n 0

begin ms-swift-7986
says "all layers gathered at once" '54\.0 GiB, 57 x 970\.0 MiB, is kept by _allgather_params_coalesced .*fsdp gather buffers, 54\.0 GiB: gather fewer or smaller modules at once' oom
never "nothing to shard" 'shard the|fewer tokens|[Ee]xpandable' oom

begin nemo-rl-3495
says "the logits of all tokens" 'The request is 24,576 tokens x 151,936 words x 4 bytes' oom
proposes policy.dtensor_cfg.activation_checkpointing

begin skypilot-10269
says "the logits of a long sample, and who has most" 'The request is 27,136 tokens x 37,984 words x 4 bytes, .*optimizer state has most, 35\.8 GiB' oom
never "no fragments" '[Ee]xpandable|drop the reference' oom

begin slime-1845
says "the host, and what they did" 'the processes recorded here have 222\.6 GiB, the rest is somebody else.s: .*Last seen: rank 1 \(pid 6101\) in save_checkpoint' oom
says "the host first" '^The host is short of memory, not the GPU: the 2 processes recorded here have 222\.6 GiB together' advise
says "the keys that leave states out, and what that does, and the copy of the weights, where a release has that" 'no optimizer state \(--disable-weights-backuper before 0\.3\.1; --no-save-optim: a run that goes on from such a checkpoint begins with new states\)' advise
says "both halves, and not one or the other" 'keep less on the host beside the checkpoint .*, and less in it: no optimizer state' advise
never "no shards, where each rank grew by as much" 'in shards|rank 0 alone' advise
without "one rank of two" 's/^host 118GB/host 72GB/' saved-alone
says "one rank alone may gather" 'save the checkpoint in shards, each rank its own' advise
case=slime-1845


begin sglang-13940
says "who grows beside it, though nobody has steps" 'Process pid 203407 holds more and more, 12\.5 GiB more than at first, 17\.0 GiB by now, allocated by return_a_slice_tensor_with_flag .*would have been enough; look there: a smaller part of the GPU for the engine of pid 203500 only puts it off' oom
says "the same in advise, with what may hold it" '^Before any setting: see why the other process \(pid 203407\) does not free what return_a_slice_tensor_with_flag .*a pool that only grows, .*a later version may have it mended \(until then a smaller part of the GPU for the engine of pid 203500 puts it off\)\. Up to 12\.5 GiB' advise
says "all that it has by now" 'by return_a_slice_tensor_with_flag [^.]*\.py:150\), which has 17\.0 GiB by now\.' advise
row mem_fraction_static "r['fits']" "a little less is enough for this request"
never "nothing to shard" 'shard|micro-batch' oom

begin torchtitan-31
says "what asked, and not who has most" '1\.9 GiB asked for by gather_object .*As for the request, objects are pickled, .*gather objects over a gloo group.*Of all that is in use, probably optimizer state has most' oom
says "the same in advise" '^Before any setting: objects are pickled' advise
never "not the optimizer" 'shard or offload|fewer tokens|[Ee]xpandable' oom
