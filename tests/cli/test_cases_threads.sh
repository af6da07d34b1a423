# Ten more out-of-memory threads (tests/cases) of the training of language models by reinforcement learning, each told with its right
# answer before memana was asked: what an engine finds when it wakes up, what a load makes twice, and what a backward keeps.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/cases.sh"

# ---- what an engine finds when it wakes up ----

begin verl-5105
says "gradients that the optimizer made, and when there was less" '9\.3 GiB, 20 x 476\.0 MiB, is kept by copy_group_grads .*of rank 0 \(pid 5100\)\. 9\.3 GiB of what is in use is gradients: .*zero_grad\(set_to_none=True\)\), or offload them\. When pid 4200 woke up before, at 1\.0 s, rank 0 \(pid 5100\) had 9\.3 GiB less\.' oom
never "no states, nothing to shard" 'optimizer state:|shard|[Ee]xpandable|fewer tokens' oom
says "the same in advise" '^Before any setting: the gradients stay after their step' advise

begin nemo-rl-191
says "weights to be sent, beside a cache that needs none" '14\.2 GiB, 28 x 520\.0 MiB, is kept by get_weight_ipc_handles .*weight-update buffers: .*wake the engine.s weights first, and its cache when they have been sent' oom
never "of no known purpose" 'has no known purpose|shard|[Ee]xpandable' oom
says "no setting first" '^Before any setting: weights that are made to be sent' advise

begin nemo-rl-3322
says "states and weights, since the checkpoint" '14\.4 GiB of what is in use is optimizer state: that process let go of it before the engine woke up the last time, so there is an offload: .*When pid 4200 woke up before, at 44\.0 s, rank 0 \(pid 5100\) had 19\.1 GiB less; since then, and not before, save_checkpoint \(megatron_policy_worker\.py:2883\) has run: .*end the writer.*torch\.cuda\.ipc_collect' oom
never "no gradients" 'zero_grad|shard|[Ee]xpandable' oom
says "first in advise, with all that stays since" '^Before any setting: see what save_checkpoint \(megatron_policy_worker\.py:2883\) of rank 0 \(pid 5100\) keeps of the 19\.1 GiB .*Up to 19\.1 GiB can come back so.*since then, and not before, save_checkpoint' advise
never "an offload that worked before is not asked for" 'let it take its states to the host' advise
without "nobody had trained before" '/^at optimizer/,/^free norm/d' untrained
says "then the states may come with the training" 'let it take its states to the host' oom

begin skyrl-94
says "not the engine's own cache, which was there before" 'is kept by load_fsdp_optimizer .* had 11\.5 GiB less; since then, and not before, save_ckpt .*gc\.collect' oom
never "the cache changes little" 'empty_cache|shard|[Ee]xpandable' oom

case=skyrl-556
check "$case: is true" play "$case"
says "what has run since then" 'rank 0 \(pid 5100\) had 22\.0 GiB less; since then, and not before, save_checkpoint \(megatron_worker\.py:520\) has run' oom
case=vllm-51258
check "$case: is true" play "$case"
never "what grows with each step is told by the step" 'woke up before' oom

# ---- who is beside ----

begin skyrl-1758
says "a model that does not compute now" 'Beside it, rank 0 \(pid 5200\) has 15\.4 GiB of weights, and does not compute now: on the host meanwhile, or on a GPU of its own' oom
says "first its own setting, before one that makes the work itself slow" '^Try trainer\.ref\.fsdp_config\.cpu_offload = true, now false .* saves probably 12\.9 to 15\.3 GiB' advise
says "and the trained model's moves its own alone" '2\. trainer\.policy\.fsdp_config\.cpu_offload .* saves probably 52\.1 to 60\.7 GiB' advise
case=nemo-rl-2772
check "$case: is true" play "$case"
never "not beside what waits for its turn" 'Beside it' oom

# ---- twice ----

begin megatron-bridge-4936
says "what the load has made already" 'in init .*is kept by _initialize_state .*22\.5 GiB of optimizer state was made by generate_state_dict \(checkpointing\.py:1010\) in the same load\. .*makes once more what it has made before' oom
never "nothing of tokens, and no known purpose" 'has no known purpose|fewer tokens|[Ee]xpandable' oom
says "the same in advise" '^Before any setting: the load makes once more' advise

begin verl-6193
says "the host, and where" 'hardly a GPU out-of-memory: .*Last seen: rank 1 \(pid 5101\) in offload_megatron_model_to_cpu \(megatron_utils\.py:435\), its RSS from 46\.6 GiB up to 128\.5 GiB' oom
says "what to look for" '^The host is short of memory, not the GPU: let the offload copy into one \(pinned\) buffer that stays: if it had offloaded before, it made its copies anew .*; else offload less' advise

# ---- what is kept of the logits ----

begin trl-234
says "logits of all mini-batches" '8\.8 GiB of the 31\.0 GiB that the process has in use is kept by forward \(modeling_value_head\.py:179\), 281\.2 MiB more with every batch: no knob fixes this, drop the reference' oom
never "not recomputed" 'recompute|shard|[Ee]xpandable' oom

begin molt-121
says "chunks that are all there" '7\.1 GiB, 30 x 242\.5 MiB, is kept by log_probs_from_logits .*all pieces are there at once, kept for the backward, .*have each piece computed again in the backward' oom
never "not the gradients, though they are most" 'shard|drop the reference|[Ee]xpandable' oom
says "the same in advise" '^Before any setting: the logits come in pieces' advise

begin nemo-rl-4222
says "the gradient of what is there" '9\.9 GiB is kept by log_softmax .*logits and log-probs, with 14\.9 GiB of it in use: a request of the size of logits that are kept for the backward, .*is probably for their gradient: .*in chunks that the backward computes again' oom
never "not the activations" 'recompute activations|shard|[Ee]xpandable' oom
