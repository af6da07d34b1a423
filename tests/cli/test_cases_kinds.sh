# Nineteen more out-of-memory threads of kinds that no other case has (tests/cases), written down with the words that a right
# answer must have before memana was asked: a graph that is kept, gradients made whole, an evaluation that wants no backward, ..
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/cases.sh"

# ---- what nobody needs ----

begin trl-1526
says "a metric keeps its graph" '23\.9 GiB of the 41\.3 GiB .* is kept by cross_entropy \(functional\.py:3059\), 2\.0 GiB more with every step: no knob fixes this, drop the reference' oom
never "no chunks, no fewer tokens" 'in chunks|fewer tokens|[Ee]xpandable' oom

begin semseg-60
says "no backward comes" '14\.8 GiB, 72 x 210\.0 MiB, is kept by forward .*probably activations, 14\.8 GiB: no backward ran on what the same lines kept before, .*torch\.no_grad\(\) \(an evaluation' oom
never "nothing to recompute" 'recompute|optimizer|[Ee]xpandable' oom

begin nemo-rl-1147
says "gradients of the last step, while the engine wakes" '36 x 440\.0 MiB, is kept by backward .* of rank 0 \(pid 5100\)\. 15\.5 GiB of what is in use is probably gradients: the gradients stay after their step, .*zero_grad\(set_to_none=True\)' oom
never "nothing to shard" 'shard|smaller buckets|fewer tokens' oom
failure "whose, and how much" "(n['rule'], n['category'], n['place']['pid'], n['bytes']) == ('largest', 'gradients', 5100, 36 * (440 << 20))"

begin transformers-22123
says "what was loaded is there twice" '9\.8 GiB of what is in use is state dicts: a checkpoint is being loaded, .*map_location="cpu"\); nothing of it can go before the load is over' oom
never "not while the optimizer copies it" 'checkpoint = None' oom
never "no shards" 'shard|fewer tokens|[Ee]xpandable' oom

begin prime-rl-2154
says "loaded before the optimizer ran" '31\.6 GiB, 72 x 450\.0 MiB, is kept by .*called from load \(ckpt\.py:210\)\. .* optimizer state, .*what loaded it may keep it in its state dict still, .*let go of that dict .* it was there before any step of the optimizer' oom
never "the optimizer makes it where its parameters are, wherever the file was read to" 'map_location' advise
never "the activations are not why" 'fewer tokens|recompute' oom

begin torchtune-1046
says "logits of the micro-batch before" 'The request is 16,384 tokens x 128,256 words x 4 bytes, .*at most 8,192 tokens.* 3\.9 GiB of the logits is of a micro-batch whose backward is over: .*del logits' oom
never "weights are not why" 'shard|[Ee]xpandable' oom

# ---- what somebody makes for a while ----

begin transformers-46113
says "gradients made whole for their norm" '69\.1 GiB, 118 x 600\.0 MiB, is kept by all_gather_tensor .*workspace, 69\.1 GiB: the clipping keeps what it makes of each gradient .*own shards' oom
never "a little in pieces is not why" 'in reserve|[Ee]xpandable|fewer tokens|recompute|state' oom

begin torchtune-389
says "what foreach makes" '12\.3 GiB in 33 pieces is kept by _multi_tensor_adamw .*The request is for workspace, with 12\.3 GiB of it in use: the optimizer takes this workspace for all parameters at once, .*foreach=False' oom
tells "and the state is what _init_group made" "$(parts category)['optimizer state'] == 2 * (2 * (32000 * 4096 * 2) + 32 * (386 << 20))" top
never "not the micro-batch" 'fewer tokens|recompute|shard' oom

begin transformers-22602
says "outputs of all ranks" '7\.8 GiB, 8 x 1000\.0 MiB, is kept by distributed_concat .*evaluation outputs: the evaluation brings the outputs of all ranks together .*preprocess_logits_for_metrics' oom
never "not the training, and not all its batches" 'micro-batch|shard|eval_accumulation_steps' oom

begin gpt-fast-81
says "a graph for each length" '10\.2 GiB, 52 x 200\.0 MiB, is kept by _record .*The request is for cuda graphs, with 10\.2 GiB of it in use: torch\.compile records a graph for each size .*pad the inputs' oom
never "no engine is there" 'engine|shard|recompute' oom

begin axolotl-2621
says "wider elements" '3\.4 GiB asked for by prepare_model_for_kbit_training .*twice as large as weights that are there, 1\.7 GiB by from_pretrained .*probably the same in elements of twice the bytes \(float32 for 16 bits\)' oom
never "the model is needed" 'free it first|shard|fewer tokens' oom
says "briefly, too" 'The request is twice as large as weights of from_pretrained: probably the same in wider elements' advise
never "nor is anything to be freed" 'something still holds it' advise

begin ezpz-173
says "all of the model is one unit" '8\.0 GiB asked for by _reduce_grad .* 8\.0 GiB is kept by _alloc_padded_unsharded_flat_param .*fsdp gather buffers, 8\.0 GiB: gather fewer or smaller modules' oom
never "no chunks" 'in chunks|[Ee]xpandable|offload' oom

# ---- one request ----

begin nemo-rl-2882
says "the logits of all tokens" '15\.7 GiB asked for by distributed_vocab_topk .* in logprob .*The request is 32,768 tokens x 128,256 words x 4 bytes' oom
never "weights are not why" 'shard|[Ee]xpandable|recompute' oom

begin transformers-48131
says "one request, larger than all" '48\.0 GiB asked for by one_hot .*This one request is larger than all that is in use of any kind, 48\.0 GiB: make it smaller \(fewer tokens' oom
never "it is no logits" 'log-probs in chunks|words x|shard|recompute' oom

begin pytorch-123070
says "a mask" '29\.1 GiB asked for by _canonical_mask \(functional\.py:5115\) .*This one request is larger than all that is in use of any kind' oom
never "nothing to shard" 'shard|recompute|[Ee]xpandable' oom
says "briefly, too" 'The request is larger than all that is in use of any kind\.' advise

# ---- others ----

begin verifiers-85
says "a process that was left over" 'At least 45\.8 GiB of the GPU is not in any recorded call: .*left over from an earlier run\. See nvidia-smi' oom
never "nothing to shard" 'shard|micro-batch' oom

begin pytorch-135279
says "contexts" 'At least 6\.0 GiB of the GPU is not in any recorded call: contexts \(of every rank that did not choose its device first\)' oom
never "not the activations" 'recompute|fewer tokens|[Ee]xpandable' oom

begin skyrl-1768
says "pieces, and what can be done" 'has 47\.3 GiB in reserve, but not in one piece: 12 segments .*pinned by 720\.0 MiB of tensors, most by forward \(router\.py:480\).*or try expandable segments' oom
never "it is possible here" 'not possible|shard|fewer tokens' oom

begin transformers-25107
says "the host, by whom, and who was killed" 'hardly a GPU out-of-memory: pid 4105 was gone .*the processes recorded here have 1\.1 TiB\. Last seen: rank 0 \(pid 4100\) in from_pretrained .* from 18\.6 GiB up to 147\.1 GiB' oom
never "nobody else's" "somebody else's|If this run did not end by itself" oom

# ---- no thread's ----

begin loaded-model
tells "what was loaded is the model itself" "$(parts category)['weights'] == 24 * (192 << 20) and 'state dicts' not in $(parts category)" top
says "probably so, and why" 'loaded in init \(24 of this size\), and no other weights have the size: the model.s own' top --why

begin own-generate
says "the model's own cache" 'Most of what is in use is kv cache, 21\.9 GiB: the model.s own generate\(\) has the cache of all sequences at once' oom
never "no engine is there" 'smaller part of the GPU|while the trainer works' oom

begin logprobs-long
says "no backward follows" 'probably activations, 60\.0 GiB: no backward follows there, .*fewer tokens into a micro-batch of the log-probs' oom
never "nothing to recompute, and nothing kept for a backward" 'recompute activations|no_grad' oom

begin gradient-buffers
says "buffers that stay while the engine wakes" '28\.0 GiB of what is in use is gradients: the gradients. buffers stay while others use the GPU, .*offload them before this' oom
never "zero_grad is no help" 'zero_grad|shard' oom
