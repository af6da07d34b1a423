# The pages of memana oom and memana advise as a person reads them (tests/cases): whose the bytes are, by a name that tells
# something; what they are; and that a page says each thing once.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/cases.sh"

# ---- who had it made ----

begin nemo-rl-3697
says "the reference's buffers, not just a buffer's function" '75.0 GiB in 2 pieces is kept by allocate_param_and_grad_buffer \(param_and_grad_buffer.py:700\), called from setup_reference_model_state \(setup.py:1012\), 50.0 GiB of it gradients\. It was there before 12.9 GiB was asked for, .* free it first; that would have been enough' oom
never "no model is too large" 'shard' oom
says "and no setting first" '^Before any setting: free the 75\.0 GiB that setup_reference_model_state \(setup\.py:1012\) had made, when its setting up is over: something still holds it.* Up to 75\.0 GiB can come back so, and 638\.6 MiB is missing: enough' advise
never "nor to paste" 'To paste' advise
failure "for programs" "n['place']['called_from'] == {'function': 'setup_reference_model_state', 'place': 'setup.py:1012'}"

begin nemo-rl-2319
says "who pins the segments, from where, since when" '16 segments with 57.9 GiB idle are pinned by 6.1 GiB of tensors, most by MoEAlltoAllTokenDispatcher.preprocess \(token_dispatcher.py:498\), called from forward \(model.py:210\), in forward of step 1: free these, or do not keep them' oom
failure "for programs" "(n['pins']['segments'], n['pins']['idle_bytes'] >> 30, n['pins']['called_from']['place']) == (16, 57, 'model.py:210')"

begin nemo-rl-1159
says "whose step" 'is kept by step \(adamw.py:243\), called from train \(dtensor_policy_worker_v2.py:420\) of rank 0' oom

begin nemo-rl-630
says "who gathers" 'is kept by all_gather \(distributed_c10d.py:3500\), called from gather_params \(refit_utils.py:120\)' oom

begin verl-2820
says "what says it all alone has nobody behind it" 'is kept by initialize_kv_cache \(gpu_model_runner.py:2570\) of pid 4200' oom

# ---- what they are ----

begin slime-1767
says "logits in two bytes, of which four could not be had" '30.7 GiB forward \(layers.py:1050\): logits and log-probs' oom
says "why" '216,760 tokens x 75,968 words x 2 bytes, like the request that failed' top --why
says "what there is most of" 'Most of what is in use is logits and log-probs, 30.7 GiB\.' oom

case=nemo-rl-3697
failure "gradients, and their weights in half as much" "{c['category']: c['bytes'] >> 30 for c in f['by_category']} == {'gradients': 50, 'weights': 32}"
says "why" 'half as large as another buffer of gradients' top --why

case=nemo-rl-1159
says "what the engine wakes up" '18.5 GiB free, to wake up kv cache\. ' oom
says "and in what a setting moves" '40.0 GiB with the failed request, probably kv cache' advise -n 0

begin skyrl-1365
never "a tensor does not wake up" 'to wake up' oom

# ---- nothing failed: who had the peak, and what of it is out of the ordinary ----

begin trl-2806
says "a second copy, and who made it" '14.0 GiB of the 28.0 GiB of weights were made by create_reference_model \(modeling_base.py:640\), as many and as large as those of from_pretrained: a second copy' oom
says "in advise, too" '^It runs as it is: nothing failed, .* out of the ordinary is said next\. Peak .*14.0 GiB of the 28.0 GiB of weights were made by create_reference_model' advise
never "one verdict: a finding, or nothing to change" 'othing has to change' advise
says "who had it" 'Who had the peak, by what it is weights 28.0 GiB 56%' oom
begin trl-2806-beta0
never "one model is no copy" 'copy|were made by' oom

begin graphs-awake
says "what stays of who sleeps" 'Meanwhile pid 4200 sleeps, with 45.0 GiB given back, and keeps 5.0 GiB: cuda graphs\.' oom
says "what is left of what everybody had" '^It runs as it is: nothing failed, and 8.0 GiB was never in use by anybody, so the highest is 90% of the device' advise
says "by process" 'By process rank 0, pid 4100 66.0 GiB 93%' advise
says "the one setting about what stays, and what people believe of it" 'What would be less of what stays 1. actor_rollout_ref.rollout.enforce_eager false \(default, if not set\) -> true: saves 4\.[0-9] to 5\.0 GiB.*Note: graphs do not go when the engine sleeps' advise
never "no list of what nobody needs" ' 2\. |no effect here|would not have helped' advise
says "but where it is" '8 more settings would make the peak lower all the same: -n 0 shows them' advise
says "and there it is" 'ppo_max_token_len_per_gpu .* It counts only if this was changed: ' advise -n 0

begin nccl-lazy
says "NCCL, and where it took it" '3.0 GiB of it are NCCL.s, which takes them from the driver where it is first used: 2.0 GiB in backward, 1.0 GiB in logprob\.' oom
never "nobody sleeps" 'sleeps|copy' oom

begin trainer-asleep
says "the trainer" 'Meanwhile rank 0 sleeps, with 45.0 GiB given back, and keeps 1.0 GiB: nccl\.' oom

begin two-ranks
says "the other GPU" 'GPU 0 had 37.0 GiB at most, 40.0 GiB less: what they do is not evenly shared' oom
says "in advise, too" 'GPU 0 had 37.0 GiB at most' advise

# ---- once, and in short ----

# lines AT_MOST COMMAND
short() { [ "$("$memana" "$2" "$case"/*.zst | wc -l)" -le "$1" ] || { "$memana" "$2" "$case"/*.zst; return 1; }; }

case=nemo-rl-2319
check "$case: one screen" short 40 advise
never "advise leaves what oom says to oom" 'Expandable segments are not possible' advise
says "in two sentences, and what to do" '57.9 GiB lie idle, but not in one piece: pinned by 6.1 GiB of tensors, most by MoEAlltoAllTokenDispatcher.preprocess \(token_dispatcher.py:498\)\.' advise
says "what to do first" '^Before any setting: free what pins' advise

begin verl-6698
check "$case: one screen" short 10 advise
says "once" '^No setting fixes this: drop the reference .* Out of memory .* 686.0 MiB free\. 51.0 GiB is kept, 4.6 GiB more with every micro-batch, by forward_step \(transformer_impl.py:1530\)\.' advise
never "no path to nowhere" 'zst' advise

begin slime-1086
says "free, and not free" '448.0 MiB asked for .*, at most 816.0 MiB free by what was recorded, and less in truth: others had some of it\.' oom

begin open-rl-99
says "what is counted" '443.2 MiB of the 79.9 GiB needed is missing, so that is probably enough' advise
never "no more is saved than there is" 'saves probably 58.4 to 72.7' advise
check "$case: one screen" short 40 advise

# ---- the host ----

begin verl-1335
says "what they did last, and how they grew" 'Last seen: rank 0 \(pid 2122\) in save_checkpoint \(fsdp_checkpoint_manager.py:150\), its RSS from 37.3 GiB up to 242.4 GiB; rank 1 \(pid 2347\) in save_checkpoint .* up to 177.9 GiB\.' oom
says "advise begins with the host" '^The host is short of memory, not the GPU: .* If this run did not end by itself, it was hardly a GPU out-of-memory' advise
never "and not with the GPU" 'Peak 40.0 GiB' advise

begin host-oom
says "the offload was last" 'Last seen: rank 0 \(pid 4100\) in offload_fsdp_optimizer \(fsdp_utils.py:253\), its RSS from 60.0 GiB up to 87.9 GiB\.' oom
says "advise begins with the host" '^The host is short of memory, not the GPU: .*This was hardly a GPU out-of-memory: pid 4100 was gone' advise
never "no phase that is none" ' in other' advise

begin verl-3453
never "not who had nothing to do with it" 'Last seen' oom
says "advise begins with the host" '^The host is short of memory, not the GPU: .*This was hardly a GPU out-of-memory: pid 5200 was gone' advise
