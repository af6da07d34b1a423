# A request that is a copy of what goes right after it, weights that the failing phase has brought itself, and whose most of a kind is.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/cases.sh"

# ---- a copy of what goes right after ----

begin verl-6733
says "who copies, and what" 'It is probably a copy of what all_gather_tensor \(_functional_collectives\.py:213\), called from get_named_tensor_buckets \(utils\.py:99\), has just made: that is as large, and 4 times before it went as soon as the copy was there\. So do not copy it: send it as it is, or in smaller pieces, or take a version that does\.' oom --brief
says "only then what fills the rest, and whose most of it is" 'version that does\. 56\.8 GiB is kept by load_model .* of pid 4200\. Of all that is in use, probably weights has most, 63\.8 GiB, 56\.8 GiB of it pid 4200.s\.' oom --brief
never "no other remedy" 'shard|offload|recompute|[Ee]xpandable|fewer tokens|KV cache' oom --brief
failure "of what, in JSON" "n['copied']['bytes'] == 6 << 30 and n['copied']['times_before'] == 4 and n['copied']['function'] == 'all_gather_tensor'"
says "and in advise, with whose code it is" '^Before any setting: let get_named_tensor_buckets \(utils\.py:104\) not copy what all_gather_tensor .* has just made \(probably: 6\.0 GiB, which go right after\): send it as it is, or in smaller pieces; that is code of verl' advise
advises "nothing is said to come back" "'come back' not in d['answer']"
row rollout.tensor_model_parallel_size "27 << 30 < r['saved_bytes']['low'] and 'twice' in str(r)" "the engine's weights over more GPUs: its cache sleeps, and takes none of what they take less"

# ---- what the phase has brought ----

advises "the weights are needed for what is done with them" "not any(k['key'].endswith('param_offload') for k in d['knobs'])"
says "the switch is on: they had gone" 'actor\.fsdp_config\.param_offload: already on: the weights had gone, and came back for this' advise -n 0
without "with others in init" '1,/^at offload/s/0\.015625/0.0078125/' elsewhere
advises "nor what was never here before" "not any(k['key'].endswith('param_offload') for k in d['knobs'])"
says "but nothing shows that it is on" 'actor\.fsdp_config\.param_offload: these bytes were brought to the GPU for this very phase' advise -n 0
case=verl-6733
without "with weights that stay from init on" '/^at offload/,/^empty-cache/d; /^at back/,/^done/d; s/kv-cache 9GiB/kv-cache 2GiB/; s/^alloc full-gateup .*/& fails/; /^alloc bucket-gateup/d' stays
row actor.fsdp_config.param_offload "6 << 30 < r['saved_bytes']['low'] and r['saved_bytes']['high'] < 8 << 30" "what was there before the phase goes"

# ---- the same in a load ----

case=verl-6733
without "in a load" '/^stack gather/,/^process/{s|ActorRolloutRefWorker.update_weights .*|from_pretrained transformers/modeling_utils.py:3677|;s|update_weights verl/workers/rollout/sglang_rollout/sglang_rollout.py|load_weights mymodel/load.py|;s|get_named_tensor_buckets verl/workers/rollout/sglang_rollout|load_tensors mymodel|;s|verl/workers/engine/fsdp/transformer_impl.py|mymodel/read.py|}' load
says "what a load copies" '6\.0 GiB asked for by load_tensors \(utils\.py:104\) .* in init .* probably a copy of what all_gather_tensor .* So do not copy it: take it as it is, or have the copy made on the host' oom --brief

# ---- no copy ----

case=verl-6733
without "where the first ones stay" '/^free full/d' first-stay
never "nothing is let go of" 'copy of what' oom
says "whose weights they are, and what helps there" 'probably weights, 63\.8 GiB, 56\.8 GiB of it pid 4200.s: spread the weights of that engine over more GPUs' oom
never "the asker's own are not in the way" 'shard the weights|offload' oom --brief
says "and in advise" '^Try actor_rollout_ref\.rollout\.tensor_model_parallel_size = twice what it is now' advise
case=verl-6733
without "all of one size" 's/^alloc \(full\|bucket\)-\(embedding\|qkvz\|out\|router\) .*/alloc \1-\2 66240*3072*4/' one-size
never "sizes are the same by chance" 'copy of what' oom
case=verl-6733
without "with one pair before" '/^alloc bucket-\(qkvz\|out\|router\)/d; s/^alloc full-embedding .*/alloc full-embedding 3255828480/; s/^alloc bucket-embedding .*/alloc bucket-embedding 3255828480/' one-pair
never "one may be so by chance" 'copy of what' oom
case=verl-6733
without "of another size" 's/^alloc bucket-gateup .*/alloc bucket-gateup 256*2048*3072*2 fails/' cast
never "a cast is no copy" 'copy of what' oom
case=verl-6733
without "with something else made in between" 's/^stack clone/stack kept\n\tupdate_weights verl\/workers\/rollout\/sglang_rollout\/sglang_rollout.py:340\n&/; s/^alloc bucket-gateup/at kept\nalloc more 800MiB\nat clone\n&/' between
never "it was not just made" 'copy of what' oom
case=verl-6733
without "gathered one by one" '/^stack clone/,/^process/s|get_named_tensor_buckets .*|&\n\tfull_tensor torch/distributed/tensor/_api.py:530\n\tall_gather_tensor torch/distributed/_functional_collectives.py:213|' one-by-one
never "what comes from other ranks is no copy of what is here" 'copy of what' oom
case=verl-6733
without "of two layers of a forward" '/^stack gather/,/^process/{s|ActorRolloutRefWorker.update_weights .*|update_actor verl/workers/engine_workers.py:611\n\tforward_step verl/workers/engine/fsdp/transformer_impl.py:711|;/sglang_rollout.py/d;s|get_named_tensor_buckets verl/workers/rollout/sglang_rollout/utils.py|forward transformers/models/qwen3/modeling_qwen3.py|;s|<genexpr>.*|attention transformers/models/qwen3/modeling_qwen3.py:70|;/torch/d}' layers
never "layers are alike" 'copy of what' oom
