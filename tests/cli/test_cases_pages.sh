# The pages of memana oom and memana advise as a person reads them (tests/cases): whose the bytes are, by a name that tells
# something; what they are; and that a page says each thing once.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/cases.sh"

# ---- who had it made ----

begin nemo-rl-3697
says "the reference's buffers, not just a buffer's function" '75.0 GiB in 2 pieces.* is kept by allocate_param_and_grad_buffer \(param_and_grad_buffer.py:700\), called from setup_reference_model_state \(setup.py:1012\)\. It was there before 12.9 GiB was asked for, .* free it first; that would have been enough' oom
never "no model is too large" 'shard' oom
says "and no setting first" 'Before any setting: .*free it there' advise
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
says "and in what a setting moves" '40.0 GiB of probably kv cache at the failed request' advise -n 0

begin skyrl-1365
never "a tensor does not wake up" 'to wake up' oom

# ---- the host ----

begin verl-1335
says "what they did last, and how they grew" 'Last seen: rank 0 \(pid 2122\) in save_checkpoint \(fsdp_checkpoint_manager.py:150\), its RSS from 37.3 GiB up to 242.4 GiB; rank 1 \(pid 2347\) in save_checkpoint .* up to 177.9 GiB\.' oom
says "advise begins with the host" '^If this run did not end by itself, it was hardly a GPU out-of-memory' advise
never "and not with the GPU" 'Peak 40.0 GiB' advise

begin host-oom
says "the offload was last" 'Last seen: rank 0 \(pid 4100\) in offload_fsdp_optimizer \(fsdp_utils.py:253\), its RSS from 60.0 GiB up to 87.9 GiB\.' oom
says "advise begins with the host" '^This was hardly a GPU out-of-memory: pid 4100 was gone' advise
never "no phase that is none" ' in other' advise

begin verl-3453
never "not who had nothing to do with it" 'Last seen' oom
says "advise begins with the host" '^This was hardly a GPU out-of-memory: pid 5200 was gone' advise
