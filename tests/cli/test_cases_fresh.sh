# Out-of-memory threads that were told before memana was asked, and that it answered wrong at first: what an engine computes, what no
# token moves, and what there is one of for each thing that waits.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/cases.sh"

# ---- engines ----

begin vllm-36599
says "who asks, and what is in its way" 'get_empty_cache_for_benchmark .* kv cache.* has taken the room .*: give the engine a smaller part of the GPU' oom
says "and in advise" '^Try gpu_memory_utilization lower by 0\.0' advise

begin sglang-1030
says "the engine computes for requests, whatever its weights have" '381\.1 MiB asked for by forward_cuda \(activation\.py:36\) in rollout .*kv cache: it has taken the room in which the engine computes' oom
never "no training's words" 'shard|recompute|micro-batch|offload' oom --brief
says "and in advise" '^Try mem_fraction_static lower by 0\.02' advise
row max_prefill_tokens "r['saved_bytes']['low'] > 400 << 20" "fewer tokens of prompts at once"
advises "no sleep where nobody else works" "not any(k['key'] == 'enable_memory_saver' for k in d['knobs'])"

# ---- in the place of all that is larger ----

begin peft-1692
says "a weight in more bits, which no token moves" '896\.0 MiB asked for by _get_weight_norm .* this is a weight made over in more bits, .*no token moves it\. Compute it in 16 bits' oom
never "no sharding" 'shard the weights' oom --brief
says "and in advise" '^Before any setting: by its size this is a weight made over in more bits' advise
advises "recomputation is on: a file on the stacks shows it, whose frames have no class before Python 3.11" \
	"not any(k['key'] == 'gradient_checkpointing' for k in d['knobs'])"
without "with a request of another size" '/^alloc sum/s/28672/28000/' other-size
never "what is no weight's size is not said to be one" 'made over in more bits' oom

begin tensorrt-llm-2335
says "the pile of what was asked for" '13\.7 GiB, 161 x 86\.9 MiB, is kept by libtensorrt_llm\.so.*who asks has many of exactly this size already, .*have fewer of those at once' oom
says "and in advise" '^Before any setting: who asks has many of exactly this size already' advise

# ---- settings: what the recording shows of them, and by which frames they are found ----

begin trl-876
says "a default of another release is not what the stacks show" '^Try SFTConfig\.gradient_checkpointing = true, now false \(by the recording\)' advise
never "not already on" 'gradient_checkpointing: already on' advise -n 0
without "with the layers below checkpoint()" 's|^\(stack model\) train$|\1 train\n\tcheckpoint torch/utils/checkpoint.py:249|' below
never "what is below checkpoint() is computed again" 'gradient_checkpointing = true' advise

begin trl-2250
says "all layers gathered to generate, by the call that gathers them" '^Try unwrap_model_for_generation\(gather_deepspeed3_params\) = false, .*is enough' advise
says "in a rollout, whatever script calls it" 'in rollout at .*60\.5 GiB in 259 pieces is kept by _allgather_params_coalesced' oom

begin trl-4679
says "an evaluation that makes what the training does without" 'is 40,000 tokens x 151,936 words x 4 bytes, .*: it is the evaluation that asks, for logits that the training does without' oom
says "and in advise" '^Before any setting: it is the evaluation that asks, for logits that the training does without' advise
without "without a fused loss" 's/fused_linear_cross_entropy/linear_cross_entropy/g' unfused
never "nothing is fused in the training" 'the training does without' oom

begin llamafactory-3871
says "one process that has nobody to share with" '^Before any setting: the whole model is being loaded to this one GPU by one process: spread it over the GPUs that there are' advise
without "as a rank of several" 's/^process export 7100 GPU-1$/process export 7100 GPU-1 0/' rank
says "a rank's shards" 'nothing has sharded it yet: load it on the host' advise

# ---- what there is little of is not why ----

begin trlx-266
says "ranks in the wrong place, whatever an allocator has idle" '3 other ranks are on this device with 33\.0 GiB, .*let each rank use a device of its own' oom
never "no cache of 9 MiB" 'empty_cache' oom
says "and in advise" '^Before any setting: let each rank use a device of its own' advise

begin pytorch-20532
says "contexts of the processes that are recorded" '32 recorded processes are at work on this GPU, and their CUDA contexts have 12\.5 GiB of it, 400\.0 MiB each: let fewer processes work on this GPU' oom
says "and in advise" '^Before any setting: let fewer processes work on this GPU' advise
advises "no switch of a sharding that is not in use" "not any('fully_shard(' in k['key'] for k in d['knobs'])"

begin verl-5364
says "what the request is for has twice what nobody recorded" 'The request is for workspace, with 13\.1 GiB of it in use: the optimizer takes this workspace for all parameters at once' oom
says "and in advise" '^The optimizer takes this workspace for all parameters at once, .* Try AdamW\(fused\) \(of pytorch, in the code\) = true' advise
without "with more that nobody recorded" 's/^others GPU-1 .*/others GPU-1 10GiB/; s/^gpu GPU-1 .*/gpu GPU-1 83.2GiB/' others
says "else it goes first" '10\.[0-9] GiB of the GPU is not in any recorded call' oom

# ---- two that are trained ----

begin miles-1735
says "another model that is trained is awake" '45\.8 GiB: another model that is trained is awake on this GPU while this one wakes up: one after the other' oom
says "and in advise" '^Before any setting: another model that is trained is awake on this GPU' advise
never "no engine, where none is" 'while the engine generates|gpu_memory_utilization' advise

# ---- told before memana was asked, and answered as it was ----

begin ray-40984
says "a loss added up with its graph" '64\.0 MiB more with every step: no knob fixes this, drop the reference' oom
begin vllm-10325
says "the sampler's copies beside an engine's cache" 'each copy, cast or softmax is one more, .*kv cache: it has taken the room' oom
begin diffusers-9850
says "layers that are not computed again, though others are" '^Before any setting: recompute these layers, too: 2[0-9]\.[0-9] GiB' advise
begin nemo-rl-604
says "tokens of a micro-batch" 'as large as the logits of one micro-batch' oom
begin prime-rl-3365
says "who asks is the engine, beside its cache" 'kv cache: it has taken the room' oom
begin miles-2698
says "a micro-batch far larger than all before" 'longer than all before; cap that' oom
